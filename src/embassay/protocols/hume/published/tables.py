"""The paper's tables of people and models (1, 3-9) and ours, from result files. Scores are in points of 100.

Tables 1 and 8 hold the numbers as the paper rounds them; the others are exact in CSV and rounded once for people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from embassay.errors import DataError
from embassay.protocols.hume.published.language_models import (
    LlmScores,
    difficulty_table,
    family_table,
    pair_score_table,
)
from embassay.protocols.hume.published.pairs import PairSummary, pair_summaries, qualities, quality_table
from embassay.protocols.hume.published.paper import Pair, Study, fraction_first, paper_study, percent_first
from embassay.protocols.hume.published.result_files import Evaluation, of_human
from embassay.protocols.hume.published.standings import (
    HUMAN,
    Matrix,
    Standing,
    by_pair,
    places,
    score_matrix,
    standings,
    win_rates,
)
from embassay.protocols.hume.scoring.people import OneAnnotator
from embassay.protocols.hume.study import FAMILIES, Family
from embassay.protocols.kernel.tables import Column, ColumnTable, Value

DATASET_TABLES: dict[Family, int] = {"clustering": 4, "classification": 5, "reranking": 6, "sts": 7}
OVERALL = "overall"
_DIFFERS = (
    "Every language that a result file holds counts, as in the paper, also one that nobody annotated: French, in the "
    "files of 12 of its 13 models. Those means do not compare with Human; see the table by the study's languages."
)


def main_table(matrix: Matrix, *, rounded: bool = True) -> ColumnTable:
    """Table 1: models and Human by family and language; its first row counts the datasets. `rounded` as the paper is,
    or exact."""
    groups = column_groups(matrix)
    means = [matrix.means(wanted) for wanted in groups.values()]
    counts = tuple(str(len(matrix.where(wanted))) for wanted in groups.values())
    rows: list[tuple[Value, ...]] = [("n_datasets", *counts)]
    rows += [
        (system, *(fraction_first(mean[system]) if rounded else 100 * mean[system] for mean in means))
        for system in (*matrix.models, HUMAN)
    ]
    columns = (Column("model", "text"), *(Column(name, decimals=1) for name in groups))
    note = "Overall is the mean over all pairs of dataset and language."
    note += " Fractions were rounded to four decimals first." if rounded else ""
    return ColumnTable("hume_table1", "HUME table 1: people and models", columns, tuple(rows), note)


def column_groups(matrix: Matrix) -> dict[str, Callable[[Pair], bool]]:
    """The columns of table 1: `classification_ara` and so on, and `overall` last."""
    present = {(pair.family, pair.lang) for pair in matrix.pairs}
    ordered = [(family, lang) for family in FAMILIES for lang in sorted(x for f, x in present if f == family)]
    return {**{f"{family}_{lang}": _in(family, lang) for family, lang in ordered}, OVERALL: lambda _: True}


def _in(family: Family, lang: str) -> Callable[[Pair], bool]:
    return lambda pair: (pair.family, pair.lang) == (family, lang)


def human_leads(matrix: Matrix) -> list[str]:
    """The columns of table 1, overall left out, where people are strictly above every model.

    The paper's caption says five of fourteen; its figures give four (spec hume, ambiguity 6).
    """
    means = {name: matrix.means(wanted) for name, wanted in column_groups(matrix).items() if name != OVERALL}
    return [name for name, mean in means.items() if all(mean[HUMAN] > mean[m] for m in matrix.models)]


def dataset_table(
    family: Family, evaluations: Iterable[Evaluation], study: Study | None = None, *, every_subset: bool
) -> ColumnTable:
    """Tables 4 (clustering), 5 (classification), 6 (reranking) and 7 (sts): the mean of every dataset over languages.

    With `every_subset` over all that a result file holds, French with it, which gives the printed cells; without over
    the study's languages, which compares models with people. DataError where a system lacks a dataset or language.
    Source: FINDINGS, HUME 4; spec hume, ambiguity 20.
    """
    study, every = study or paper_study(), list(evaluations)
    datasets = [dataset for dataset in study.datasets if dataset.family == family]
    systems = {model.short: [e for e in every if e.system == model.name] for model in study.models}
    systems[HUMAN] = of_human(every, study)
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (name, *(_mean(name, own, dataset.name, dataset.pairs, every_subset) for dataset in datasets))
        for name, own in systems.items()
    )
    columns = (Column("model", "text"), *(Column(dataset.name, decimals=1) for dataset in datasets))
    number = DATASET_TABLES[family]
    name = f"hume_table{number}" if every_subset else f"hume_table{number}_study_languages"
    title = f"HUME table {number}: {family}" + ("" if every_subset else ", only the languages of the study")
    return ColumnTable(name, title, columns, rows, _DIFFERS if every_subset else "")


def _mean(
    system: str, own: Sequence[Evaluation], dataset: str, pairs: Sequence[Pair], every_subset: bool
) -> float:
    langs = {pair.lang for pair in pairs}
    found = [
        e
        for e in by_pair(e for e in own if e.dataset == dataset).values()
        if (every_subset or e.lang in langs) and not math.isnan(e.main_score)
    ]
    missing = sorted(langs - {e.lang for e in found})
    if missing:
        raise DataError(
            f"{system} has no result for {dataset} in {', '.join(missing)}",
            mend="Give results that hold every pair of the study.",
        )
    return 100 * sum(e.main_score for e in found) / len(found)


def pair_table(summaries: Sequence[PairSummary]) -> ColumnTable:
    """Table 8, rounded as there; agreement is exact. `outside_interval` is its star."""
    columns = (
        *(Column(name, "text") for name in ("category", "task", "lang")),
        *(Column(name, decimals=0) for name in ("n_samples", "n_annotators", "total_annotations")),
        *(Column(name, decimals=1) for name in ("human", "ci_low", "ci_high")), Column("ci_method", "text"),
        Column("iaa_metric", "text"), Column("iaa"), Column("best_model", "text"),
        Column("best_model_score", decimals=1), Column("outside_interval", decimals=0),
    )  # fmt: skip
    rows = tuple(_pair_row(one) for one in summaries)
    note = (
        "Percents were rounded to two decimals first. The range of the annotators is no 95% interval, and a model "
        "outside an interval is not a test: the model's own uncertainty plays no part."
    )
    return ColumnTable("hume_table8", "HUME table 8: people and the best model", columns, rows, note)


def _pair_row(one: PairSummary) -> tuple[Value, ...]:
    pair, standing, interval = one.pair, one.standing, one.interval
    return (
        pair.family, pair.dataset, pair.lang, pair.n_items, len(one.annotators), one.total_annotations,
        *(_printed(value) for value in (standing.human, interval.low, interval.high)), interval.method,
        one.agreement_metric, one.agreement, standing.best_model, percent_first(standing.best),
        None if one.outside is None else int(one.outside),
    )  # fmt: skip


def _printed(value: float) -> float | None:
    return None if math.isnan(value) else percent_first(value)


def datasets_table(study: Study | None = None) -> ColumnTable:
    """Table 3: datasets, their languages and metrics."""
    rows = tuple(
        (one.family, one.name, "; ".join(pair.lang for pair in one.pairs), one.metrics[0], "; ".join(one.metrics))
        for one in (study or paper_study()).datasets
    )  # fmt: skip
    names = ("category", "dataset", "languages", "primary_metric", "metrics")
    return ColumnTable("hume_table3", "HUME table 3: datasets", tuple(Column(n, "text") for n in names), rows)


def models_table(study: Study | None = None) -> ColumnTable:
    """Table 9: models and their size."""
    rows = tuple((one.name, one.parameters_millions) for one in (study or paper_study()).models)
    columns = (Column("model", "text"), Column("parameters_millions", decimals=1))
    note = (
        "The paper's table leaves out stella_en_1.5B_v5, which is in all its results; its size is not given."
    )
    return ColumnTable("hume_table9", "HUME table 9: models", columns, rows, note)


def every_table(
    evaluations: Sequence[Evaluation], llms: LlmScores | None = None, study: Study | None = None,
    *, one_annotator: OneAnnotator = "wilson",
) -> Iterator[ColumnTable]:  # fmt: skip
    """`hume_table1` to `9`, those of 4-7 also by the study's languages; with `llms` 2 and 10-13; then `hume_overall`,
    `hume_pairs`, `hume_win_rates` and `quality_flags`.

    DataError where results lack a pair of the study. Source: spec hume, section 9.
    """
    study = study or paper_study()
    matrix = score_matrix(evaluations, study)
    yield main_table(matrix)
    if llms:
        yield family_table(llms, matrix)
    yield datasets_table(study)
    for family in DATASET_TABLES:
        yield dataset_table(family, evaluations, study, every_subset=True)
        yield dataset_table(family, evaluations, study, every_subset=False)
    summaries = pair_summaries(evaluations, study, one_annotator=one_annotator)
    yield pair_table(summaries)
    yield models_table(study)
    if llms:
        present = {pair.family for pair in llms.pairs}
        yield from (pair_score_table(llms, family) for family in FAMILIES if family in present)
        yield difficulty_table(llms)
    every = standings(matrix)
    yield from (
        overall_table(matrix),
        pair_standing_table(every),
        win_table(every),
        quality_table(qualities(summaries)),
    )


_GROUPS: dict[str, Callable[[Pair], str]] = {
    "all": lambda _: "all",
    "family": lambda pair: pair.family,
    "datasets": lambda pair: pair.group,
    "language": lambda pair: pair.lang,
}


def overall_table(matrix: Matrix) -> ColumnTable:
    """Models and Human by their mean over all pairs, in points, best first (figure 1); beside it over datasets."""
    by_dataset = {one.system: one for one in places(matrix, "datasets")}
    rows = tuple(
        (
            one.rank,
            one.system,
            100 * one.overall,
            by_dataset[one.system].rank,
            100 * by_dataset[one.system].overall,
        )
        for one in places(matrix)
    )
    columns = (
        Column("rank", decimals=0), Column("system", "text"), Column("overall", decimals=1),
        Column("rank_by_dataset", decimals=0), Column("overall_by_dataset", decimals=1),
    )  # fmt: skip
    note = f"Overall is the mean over {len(matrix.pairs)} pairs. By dataset, every dataset weighs the same instead."
    return ColumnTable("hume_overall", "HUME: overall", columns, rows, note)


def pair_standing_table(standings: Sequence[Standing]) -> ColumnTable:
    """Per pair, in points: gaps, rank, position, difficulty, the models' range (figures 2, 4-7)."""
    columns = (
        Column("family", "text"), Column("dataset", "text"), Column("lang", "text"), Column("human", decimals=1),
        *(Column(name, decimals=1) for name in ("best", "median", "mean", "worst")), Column("best_model", "text"),
        *(Column(f"gap_{name}", "signed", 1) for name in ("best", "median", "mean")),
        Column("human_rank", decimals=0), Column("position"), Column("best_percent_of_human", decimals=1),
        Column("model_range", decimals=1), Column("model_sd", decimals=1), Column("difficulty", "text"),
    )  # fmt: skip
    note = "Gaps are Human minus models. Position is 0 at the worst model and 1 at the best."
    rows = tuple(_standing_row(one) for one in standings)
    return ColumnTable("hume_pairs", "HUME: people among the models, by pair", columns, rows, note)


def _standing_row(one: Standing) -> tuple[Value, ...]:
    levels = (one.human, one.best, one.median, one.mean, one.worst)
    return (
        one.pair.family, one.pair.dataset, one.pair.lang, *(100 * value for value in levels), one.best_model,
        100 * one.gap("best"), 100 * one.gap("median"), 100 * one.gap("mean"), one.rank, one.position,
        one.best_percent_of_human, 100 * one.spread, 100 * one.sd, one.difficulty,
    )  # fmt: skip


def win_table(standings: Sequence[Standing]) -> ColumnTable:
    """Pairs that people win against the best, median and mean model, by kinds of groups (figure 3)."""
    rows = tuple(
        (kind, wins.group, wins.against, wins.wins, wins.pairs, 100 * wins.rate)
        for kind, by in _GROUPS.items()
        for wins in win_rates(standings, by)
    )
    columns = (
        Column("by", "text"), Column("group", "text"), Column("against", "text"), Column("wins", decimals=0),
        Column("pairs", decimals=0), Column("win_rate", decimals=1),
    )  # fmt: skip
    return ColumnTable("hume_win_rates", "HUME: pairs that people win", columns, rows, "A tie is no win.")
