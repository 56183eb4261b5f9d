"""The paper's tables of people and models (1, 3-9) and ours, from result files. Scores are in points of 100.

Tables 1 and 8 hold the numbers as the paper rounds them; the others are exact in CSV and rounded once for people.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError
from embassay.limits import read_bounded
from embassay.protocols.hume.options import OneAnnotator
from embassay.protocols.hume.published.paper import (
    Evaluation,
    Model,
    Pair,
    Study,
    fraction_first,
    iso_639_3,
    of_human,
    paper_study,
    percent_first,
)
from embassay.protocols.hume.published.standings import (
    HUMAN,
    Correlation,
    Matrix,
    PairSummary,
    PeopleRank,
    by_pair,
    correlate_series,
    pair_qualities,
    pair_summaries,
    people_ranks,
    quality_table,
    rank_places,
    score_matrix,
    win_rates,
)
from embassay.protocols.hume.scoring import is_outside
from embassay.protocols.hume.study import FAMILIES, Family
from embassay.protocols.kernel.tables import Column, ColumnTable, Value

AVERAGE = "Average"
_MEND = "Give columns dataset, lang, human and one per language model, in points of 100; a row Average is left out."


@dataclass(frozen=True)
class LlmScores:
    """`values` (llms, pairs) and `human` (pairs,), fractions. Clustering is not among the pairs of the paper."""

    pairs: tuple[Pair, ...]
    llms: tuple[str, ...]
    values: NDArray[np.float64]
    human: NDArray[np.float64]


def read_llm_scores(paths: Sequence[Path], study: Study | None = None) -> LlmScores:
    """One or more CSV files with the same columns: dataset, lang, human, then a column per language model.

    Datasets go by any of their names, values are points of 100. DataError for another header, an unknown or repeated
    pair, or a value that is no number from -100 to 100.
    """
    study = study or paper_study()
    header: list[str] | None = None
    rows: dict[Pair, list[float]] = {}
    for path in paths:
        pairs, body = _parse_table(path)
        if header is not None and pairs != header:
            raise DataError("The columns differ from those of the file before", path=path, mend=_MEND)
        header = pairs
        for line, cells in body:
            pair = _find_pair(cells, study, path, line)
            if pair in rows:
                raise DataError(f"{pair.name} is there twice", path=path, line=line, mend=_MEND)
            rows[pair] = [_parse_points(text, path, line) for text in cells[2:]]
    if header is None or not rows:
        raise DataError(
            "There are no scores of language models", path=paths[0] if paths else None, mend=_MEND
        )
    values = np.array(list(rows.values())).T / 100
    # Fractions in place of points; values were divided by 100 already.
    if np.abs(values).max() <= 0.01:
        raise DataError("All values are fractions of 1", path=paths[0], expected="points of 100", mend=_MEND)
    return LlmScores(tuple(rows), tuple(header[3:]), values[1:], values[0])


def _parse_table(path: Path) -> tuple[list[str], Iterable[tuple[int, list[str]]]]:
    """The header, and line number and cells of every row but averages."""
    try:
        reader = csv.reader(io.StringIO(read_bounded(path).decode("utf-8-sig"), newline=""))
        lines = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError("The file cannot be read as CSV", path=path, found=str(error), mend=_MEND) from error
    header = lines[0][1] if lines else []
    if header[:3] != ["dataset", "lang", "human"] or len(header) < 4:
        raise DataError("The columns are others", path=path, line=1, found=", ".join(header), mend=_MEND)
    body = [(line, row) for line, row in lines[1:] if row and row[0] != AVERAGE]
    for line, row in body:
        if len(row) != len(header):
            raise DataError(
                "A row has another number of cells than the header",
                path=path, line=line, expected=str(len(header)), found=str(len(row)), mend=_MEND
            )  # fmt: skip
    return header, body


def _find_pair(cells: Sequence[str], study: Study, path: Path, line: int) -> Pair:
    pair = study.pair(cells[0], iso_639_3(cells[1]))
    if pair is None:
        raise DataError(
            "The study has no such pair of dataset and language",
            path=path, line=line, found=f"{cells[0]}, {cells[1]}", mend=_MEND
        )  # fmt: skip
    return pair


def _parse_points(text: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not -100 <= value <= 100:
        raise DataError(
            "A score is not a number of points",
            path=path,
            line=line,
            expected="-100 to 100",
            found=text,
            mend=_MEND,
        )
    return value


LLM_TABLES: dict[Family, int] = {"classification": 10, "reranking": 11, "sts": 12, "clustering": 0}
AVERAGE_LLM = "average of all LLMs"


@dataclass(frozen=True)
class SameDifficulty:
    """How the scores of people and of an LLM go together over pairs."""

    llm: str
    correlation: Correlation


def same_difficulty(scores: LlmScores, own: Sequence[str] = ()) -> tuple[SameDifficulty, ...]:
    """Table 13: every LLM, and last people against the mean of all LLMs per pair (not the mean of the correlations).
    `own` systems among the columns have a row, and no part in that mean.

    Source: spec hume 8.1; FINDINGS, HUME 9.
    """
    # The paper's mean is of its own models, whatever others are put beside them.
    theirs = [place for place, name in enumerate(scores.llms) if name not in own]
    mean = scores.values[theirs].mean(axis=0)
    series = [*zip(scores.llms, scores.values, strict=True), (AVERAGE_LLM, mean)]
    return tuple(SameDifficulty(name, correlate_series(scores.human, values)) for name, values in series)


def difficulty_table(scores: LlmScores, own: Sequence[str] = ()) -> ColumnTable:
    """Table 13."""
    rows = tuple(
        (difficulty.llm, difficulty.correlation.rho, difficulty.correlation.p, difficulty.correlation.n)
        for difficulty in same_difficulty(scores, own)
    )
    columns = (
        Column("llm", "text"),
        Column("spearman_rho"),
        Column("p_value", "p"),
        Column("pairs", decimals=0),
    )
    return ColumnTable("hume_table13", "HUME table 13: are the same pairs hard?", columns, rows)


def family_table(scores: LlmScores, matrix: Matrix | None = None) -> ColumnTable:
    """Table 2: people and LLMs by family, and over all their pairs; with `matrix` the best embedding model of each.

    The average is over pairs, not over families. Source: FINDINGS, HUME 8.
    """
    families = [family for family in FAMILIES if any(pair.family == family for pair in scores.pairs)]
    rows: list[tuple[Value, ...]] = [
        (family, *_mean_points(scores, _is_of_family(family)), *best_embedding(matrix, family))
        for family in families
    ]
    rows.append((AVERAGE, *_mean_points(scores, lambda _: True), None, None))
    columns = (
        Column("category", "text"), *(Column(name, decimals=1) for name in ("human", *scores.llms)),
        Column("best_embedding_score", decimals=1), Column("best_embedding_model", "text")
    )  # fmt: skip
    note = "The average is the mean over all pairs, not over families. People marked documents, LLMs ranked them."
    return ColumnTable("hume_table2", "HUME table 2: people and LLMs", columns, tuple(rows), note)


def pair_score_table(scores: LlmScores, family: Family) -> ColumnTable:
    """Tables 10 (classification), 11 (reranking) and 12 (sts): every pair, and their average."""
    at = [i for i, pair in enumerate(scores.pairs) if pair.family == family]
    every = 100 * np.vstack([scores.human, scores.values])
    rows: list[tuple[Value, ...]] = [
        (scores.pairs[i].dataset, scores.pairs[i].lang, *every[:, i].tolist()) for i in at
    ]
    rows.append((AVERAGE, "", *_mean_points(scores, _is_of_family(family))))
    columns = (
        Column("dataset", "text"), Column("lang", "text"),
        *(Column(name, decimals=1) for name in ("human", *scores.llms))
    )  # fmt: skip
    number = LLM_TABLES[family]
    name = f"hume_table{number}" if number else f"hume_llm_{family}"
    title = f"HUME table {number}: LLMs on {family}" if number else f"LLMs on {family}"
    return ColumnTable(name, title, columns, tuple(rows))


def best_embedding(matrix: Matrix | None, family: Family) -> tuple[float | None, str | None]:
    """The highest mean of a model over a family's pairs in points, and whose it is; None twice without a matrix."""
    means = matrix.means(_is_of_family(family)) if matrix else {}
    models = {name: mean for name, mean in means.items() if name != HUMAN and mean == mean}
    if not models:
        return None, None
    best = max(models, key=models.__getitem__)
    return 100 * models[best], best


def _is_of_family(family: Family) -> Callable[[Pair], bool]:
    return lambda pair: pair.family == family


def _mean_points(scores: LlmScores, wanted: Callable[[Pair], bool]) -> list[float | None]:
    at = [i for i, pair in enumerate(scores.pairs) if wanted(pair)]
    if not at:
        return [None] * (1 + len(scores.llms))
    means: list[float | None] = list(
        (100 * np.vstack([scores.human, scores.values])[:, at].mean(axis=1)).tolist()
    )
    return means


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
    return {**{f"{family}_{lang}": _is_in(family, lang) for family, lang in ordered}, OVERALL: lambda _: True}


def _is_in(family: Family, lang: str) -> Callable[[Pair], bool]:
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
        (
            name,
            *(
                _dataset_mean(name, of_system, dataset.name, dataset.pairs, every_subset)
                for dataset in datasets
            ),
        )
        for name, of_system in systems.items()
    )
    columns = (Column("model", "text"), *(Column(dataset.name, decimals=1) for dataset in datasets))
    number = DATASET_TABLES[family]
    name = f"hume_table{number}" if every_subset else f"hume_table{number}_study_languages"
    title = f"HUME table {number}: {family}" + ("" if every_subset else ", only the languages of the study")
    return ColumnTable(name, title, columns, rows, _DIFFERS if every_subset else "")


def _dataset_mean(
    system: str, evaluations: Sequence[Evaluation], dataset: str, pairs: Sequence[Pair], every_subset: bool
) -> float:
    langs = {pair.lang for pair in pairs}
    values = [
        e
        for e in by_pair(e for e in evaluations if e.dataset == dataset).values()
        if (every_subset or e.lang in langs) and not math.isnan(e.main_score)
    ]
    missing = sorted(langs - {e.lang for e in values})
    if missing:
        raise DataError(
            f"{system} has no result for {dataset} in {', '.join(missing)}",
            mend="Give results that hold every pair of the study.",
        )
    return 100 * sum(e.main_score for e in values) / len(values)


def pair_table(summaries: Sequence[PairSummary], own: OwnScores = MappingProxyType({})) -> ColumnTable:
    """Table 8, rounded as there; agreement is exact. `outside_interval` is its star. `own` systems have a column each,
    and one that says whether they lie outside of people's interval."""
    columns = (
        *(Column(name, "text") for name in ("category", "task", "lang")),
        *(Column(name, decimals=0) for name in ("n_samples", "n_annotators", "total_annotations")),
        *(Column(name, decimals=1) for name in ("human", "ci_low", "ci_high")), Column("ci_method", "text"),
        Column("iaa_metric", "text"), Column("iaa"), Column("best_model", "text"),
        Column("best_model_score", decimals=1), Column("outside_interval", decimals=0),
        *(column for name in own for column in (Column(name, decimals=1), Column(f"{name} outside", decimals=0)))
    )  # fmt: skip
    rows = tuple((*_pair_row(summary), *_own_cells(summary, own)) for summary in summaries)
    note = (
        "Percents were rounded to two decimals first. The range of the annotators is not a 95% interval, and a model "
        "outside an interval is not a test: the model's own uncertainty is ignored."
    )
    return ColumnTable("hume_table8", "HUME table 8: people and the best model", columns, rows, note)


def _pair_row(summary: PairSummary) -> tuple[Value, ...]:
    pair, standing, interval = summary.pair, summary.standing, summary.interval
    return (
        pair.family, pair.dataset, pair.lang, pair.n_items, len(summary.annotators), summary.total_annotations,
        *(_print_percent(value) for value in (standing.human, interval.low, interval.high)), interval.method,
        summary.agreement_metric, summary.agreement, standing.best_model, percent_first(standing.best),
        None if summary.outside is None else int(summary.outside)
    )  # fmt: skip


def _own_cells(summary: PairSummary, own: OwnScores) -> Iterator[float | int | None]:
    for scores in own.values():
        value = scores.get((summary.pair.dataset, summary.pair.lang))
        outside = None if value is None else is_outside(value, summary.interval)
        yield None if value is None else percent_first(value)
        yield None if outside is None else int(outside)


def _print_percent(value: float) -> float | None:
    return None if math.isnan(value) else percent_first(value)


def datasets_table(study: Study | None = None) -> ColumnTable:
    """Table 3: datasets, their languages and metrics."""
    rows = tuple(
        (
            dataset.family,
            dataset.name,
            "; ".join(pair.lang for pair in dataset.pairs),
            dataset.metrics[0],
            "; ".join(dataset.metrics),
        )
        for dataset in (study or paper_study()).datasets
    )
    names = ("category", "dataset", "languages", "primary_metric", "metrics")
    return ColumnTable("hume_table3", "HUME table 3: datasets", tuple(Column(n, "text") for n in names), rows)


def models_table(study: Study | None = None) -> ColumnTable:
    """Table 9: models and their size."""
    rows = tuple((model.name, model.parameters_millions) for model in (study or paper_study()).models)
    columns = (Column("model", "text"), Column("parameters_millions", decimals=1))
    note = (
        "The paper's table leaves out stella_en_1.5B_v5, which is in all its results; its size is not given."
    )
    return ColumnTable("hume_table9", "HUME table 9: models", columns, rows, note)


def every_table(
    evaluations: Sequence[Evaluation], llms: LlmScores | None = None, study: Study | None = None,
    *, one_annotator: OneAnnotator = "wilson", own: Sequence[Evaluation] = (), apart: Collection[str] = ()
) -> Iterator[ColumnTable]:  # fmt: skip
    """`hume_table1` to `9`, those of 4-7 also by the study's languages; with `llms` 2 and 10-13; then `hume_overall`,
    `hume_pairs`, `hume_win_rates` and `quality_flags`.

    `own` evaluations are of systems beside the study's: those with all pairs have rows in tables 1, 4-7 and 9 and a
    place overall, with `llms` columns in 2 and 10-12 and a row in 13; all have columns in table 8, and those that are
    `apart`, scored by another method, only there. Best, median and mean stay those of the study's models.

    DataError where results lack a pair of the study. Source: spec hume, section 9.
    """
    study = study or paper_study()
    matrix, scores = score_matrix(evaluations, study), own_scores(own)
    every, entered = (*evaluations, *own), with_own(study, scores, apart)
    wider = score_matrix(every, entered)
    beside = tuple(model.short for model in entered.models[len(study.models) :])
    columns = beside_llms(llms, {name: scores[name] for name in beside}) if llms else None
    yield main_table(wider)
    if columns:
        yield family_table(columns, matrix)
    yield datasets_table(study)
    for family in DATASET_TABLES:
        yield dataset_table(family, every, entered, every_subset=True)
        yield dataset_table(family, every, entered, every_subset=False)
    summaries = pair_summaries(evaluations, study, one_annotator=one_annotator)
    yield pair_table(summaries, scores)
    yield models_table(entered)
    if columns:
        present = {pair.family for pair in columns.pairs}
        yield from (pair_score_table(columns, family) for family in FAMILIES if family in present)
        yield difficulty_table(columns, beside)
    ranked = people_ranks(matrix)
    yield from (
        overall_table(wider),
        pair_standing_table(ranked),
        win_table(ranked),
        quality_table(pair_qualities(summaries)),
    )


OwnScores = Mapping[str, Mapping[tuple[str, str], float]]
"""System -> its score by dataset and language."""


def own_scores(own: Iterable[Evaluation]) -> OwnScores:
    """The scores of systems that no result file is of, in their order."""
    of: dict[str, dict[tuple[str, str], float]] = {}
    for evaluation in own:
        of.setdefault(evaluation.system, {})[evaluation.dataset, evaluation.lang] = evaluation.main_score
    return of


def with_own(study: Study, own: OwnScores, apart: Collection[str] = ()) -> Study:
    """The study with the systems that have a score on all of its pairs, and are not `apart`, as further models."""
    pairs = {(pair.dataset, pair.lang) for pair in study.pairs}
    whole = tuple(
        Model(name, label=name)
        for name, scores in own.items()
        if name not in apart and pairs <= scores.keys()
    )
    return replace(study, models=(*study.models, *whole))


def beside_llms(llms: LlmScores, own: OwnScores) -> LlmScores:
    """The scores of language models with further columns, those of `own` on the same pairs."""
    rows = [[scores[pair.dataset, pair.lang] for pair in llms.pairs] for scores in own.values()]
    values = np.vstack([llms.values, np.array(rows)]) if rows else llms.values
    return replace(llms, llms=(*llms.llms, *own), values=values)


_GROUPS: dict[str, Callable[[Pair], str]] = {
    "all": lambda _: "all",
    "family": lambda pair: pair.family,
    "datasets": lambda pair: pair.group,
    "language": lambda pair: pair.lang,
}


def overall_table(matrix: Matrix) -> ColumnTable:
    """Models and Human by their mean over all pairs, in points, best first (figure 1); beside it over datasets."""
    by_dataset = {place.system: place for place in rank_places(matrix, "datasets")}
    rows = tuple(
        (
            place.rank,
            place.system,
            100 * place.overall,
            by_dataset[place.system].rank,
            100 * by_dataset[place.system].overall,
        )
        for place in rank_places(matrix)
    )
    columns = (
        Column("rank", decimals=0), Column("system", "text"), Column("overall", decimals=1),
        Column("rank_by_dataset", decimals=0), Column("overall_by_dataset", decimals=1)
    )  # fmt: skip
    note = f"Overall is the mean over {len(matrix.pairs)} pairs. By dataset, every dataset weighs the same instead."
    return ColumnTable("hume_overall", "HUME: overall", columns, rows, note)


def pair_standing_table(standings: Sequence[PeopleRank]) -> ColumnTable:
    """Per pair, in points: gaps, rank, position, difficulty, the models' range (figures 2, 4-7)."""
    columns = (
        Column("family", "text"), Column("dataset", "text"), Column("lang", "text"), Column("human", decimals=1),
        *(Column(name, decimals=1) for name in ("best", "median", "mean", "worst")), Column("best_model", "text"),
        *(Column(f"gap_{name}", "signed", 1) for name in ("best", "median", "mean")),
        Column("human_rank", decimals=0), Column("position"), Column("best_percent_of_human", decimals=1),
        Column("model_range", decimals=1), Column("model_sd", decimals=1), Column("difficulty", "text")
    )  # fmt: skip
    note = "Gaps are Human minus models. Position is 0 at the worst model and 1 at the best."
    rows = tuple(_standing_row(standing) for standing in standings)
    return ColumnTable("hume_pairs", "HUME: people among the models, by pair", columns, rows, note)


def _standing_row(rank: PeopleRank) -> tuple[Value, ...]:
    levels = (rank.human, rank.best, rank.median, rank.mean, rank.worst)
    return (
        rank.pair.family, rank.pair.dataset, rank.pair.lang, *(100 * value for value in levels), rank.best_model,
        100 * rank.gap("best"), 100 * rank.gap("median"), 100 * rank.gap("mean"), rank.rank, rank.position,
        rank.best_percent_of_human, 100 * rank.spread, 100 * rank.sd, rank.difficulty
    )  # fmt: skip


def win_table(standings: Sequence[PeopleRank]) -> ColumnTable:
    """Pairs that people win against the best, median and mean model, by kinds of groups (figure 3)."""
    rows = tuple(
        (kind, wins.group, wins.against, wins.wins, wins.pairs, 100 * wins.rate)
        for kind, by in _GROUPS.items()
        for wins in win_rates(standings, by)
    )
    columns = (
        Column("by", "text"), Column("group", "text"), Column("against", "text"), Column("wins", decimals=0),
        Column("pairs", decimals=0), Column("win_rate", decimals=1)
    )  # fmt: skip
    return ColumnTable("hume_win_rates", "HUME: pairs that people win", columns, rows, "A tie is not a win.")
