"""The paper's tables of people and models (1 to 13) and ours, from result files. Scores are in points of 100.

Tables 1 and 8 hold the numbers as the paper rounds them; the others are exact in CSV and rounded once for people.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import NamedTuple

import numpy as np

from embassay.errors import DataError
from embassay.limits import read_bounded_file
from embassay.protocols.hume.options import OneAnnotator
from embassay.protocols.hume.published.conversion import convert_results_to_dataset_records
from embassay.protocols.hume.published.paper import (
    PaperDataset,
    PaperDatasetInOneLanguage,
    PaperEmbeddingModel,
    PublishedEvaluation,
    PublishedStudy,
    convert_to_iso_639_3,
    load_hume_paper_study,
    round_fraction_first,
    select_human_evaluations_by_revision,
)
from embassay.protocols.hume.published.standings import (
    HUMAN,
    REFERENCES,
    AnyPair,
    ModelAndPeopleScores,
    PeopleAmongModelsOnPair,
    SpearmanCorrelation,
    build_score_matrix,
    compute_spearman_correlation,
    count_people_wins_by_group,
    index_evaluations_by_pair,
    rank_models_by_mean_score,
    rank_people_on_every_pair,
)
from embassay.protocols.hume.record import By
from embassay.protocols.hume.study import FAMILIES, Family
from embassay.protocols.hume.tables import OF_PAIR, OwnScores, make_pair_trust_flags_table, printed_people_table
from embassay.protocols.kernel.tables import (
    ColumnTable,
    ComputedColumn,
    Value,
    make_percentage_point_column,
    number_column,
    text,
    whole_number_column,
)

AVERAGE = "Average"
_MEND = "Use columns dataset, lang and human, plus one per language model; scores x 100. An Average row is ignored."


def read_llm_scores(paths: Sequence[Path], study: PublishedStudy | None = None) -> ModelAndPeopleScores:
    """Language models beside people, from one or more CSV files with the same columns: dataset, lang, human, then a
    column per language model. Clustering is not among the pairs of the paper.

    Datasets go by any of their names, values are points of 100. DataError for another header, an unknown or repeated
    pair, or a value that is no number from -100 to 100.
    """
    study = study or load_hume_paper_study()
    header: list[str] | None = None
    rows: dict[PaperDatasetInOneLanguage, list[float]] = {}
    for path in paths:
        pairs, body = _parse_llm_score_table(path)
        if header is not None and pairs != header:
            raise DataError("The columns differ from those of the previous file", path=path, mend=_MEND)
        header = pairs
        for line, cells in body:
            pair = _find_pair_of_row(cells, study, path, line)
            if pair in rows:
                raise DataError(f"{pair.name} appears twice", path=path, line=line, mend=_MEND)
            rows[pair] = [_parse_score_in_points(text, path, line) for text in cells[2:]]
    if header is None or not rows:
        raise DataError("No language model scores were found", path=paths[0] if paths else None, mend=_MEND)
    values = np.array(list(rows.values())).T / 100
    # Fractions in place of points; values were divided by 100 already.
    if np.abs(values).max() <= 0.01:
        raise DataError("All values are fractions", path=paths[0], expected="values x 100", mend=_MEND)
    return ModelAndPeopleScores(tuple(rows), tuple(header[3:]), values[1:], values[0])


def _parse_llm_score_table(path: Path) -> tuple[list[str], Iterable[tuple[int, list[str]]]]:
    """The header, and line number and cells of every row but averages."""
    try:
        reader = csv.reader(io.StringIO(read_bounded_file(path).decode("utf-8-sig"), newline=""))
        lines = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError("The file cannot be read as CSV", path=path, found=str(error), mend=_MEND) from error
    header = lines[0][1] if lines else []
    if header[:3] != ["dataset", "lang", "human"] or len(header) < 4:
        raise DataError("Unexpected columns", path=path, line=1, found=", ".join(header), mend=_MEND)
    body = [(line, row) for line, row in lines[1:] if row and row[0] != AVERAGE]
    for line, row in body:
        if len(row) != len(header):
            raise DataError(
                "A row and the header have different numbers of cells",
                path=path, line=line, expected=str(len(header)), found=str(len(row)), mend=_MEND
            )  # fmt: skip
    return header, body


def _find_pair_of_row(cells: Sequence[str], study: PublishedStudy, path: Path, line: int) -> PaperDatasetInOneLanguage:
    pair = study.pair(cells[0], convert_to_iso_639_3(cells[1]))
    if pair is None:
        raise DataError(
            "The study has no such dataset-language pair",
            path=path, line=line, found=f"{cells[0]}, {cells[1]}", mend=_MEND
        )  # fmt: skip
    return pair


def _parse_score_in_points(text: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        # NaN lies in no range, so what is no number is turned down with what is too large.
        value = np.nan
    if not -100 <= value <= 100:
        raise DataError(
            "A score is not a valid number", path=path, line=line, expected="-100 to 100", found=text, mend=_MEND
        )
    return value


LLM_TABLES: dict[Family, int] = {"classification": 10, "reranking": 11, "sts": 12, "clustering": 0}
AVERAGE_LLM = "average of all LLMs"


@dataclass(frozen=True)
class PeopleLlmCorrelation:
    """How the scores of people and of an LLM go together over pairs."""

    llm: str
    correlation: SpearmanCorrelation


def correlate_people_with_each_llm(
    llms: ModelAndPeopleScores, own: Sequence[str] = ()
) -> tuple[PeopleLlmCorrelation, ...]:
    """Table 13: every LLM, and last people against the mean of all LLMs per pair (not the mean of the correlations).
    `own` systems among the columns have a row, and no part in that mean.

    Source: spec hume 8.1; FINDINGS, HUME 9.
    """
    # The paper's mean is of its own models, whatever others are put beside them.
    theirs = [place for place, name in enumerate(llms.models) if name not in own]
    mean = llms.values[theirs].mean(axis=0)
    series = [*zip(llms.models, llms.values, strict=True), (AVERAGE_LLM, mean)]
    return tuple(
        PeopleLlmCorrelation(name, compute_spearman_correlation(llms.human, values)) for name, values in series
    )


def make_people_llm_correlation_table(llms: ModelAndPeopleScores, own: Sequence[str] = ()) -> ColumnTable:
    """Table 13: how the scores of people and of LLMs correlate over pairs."""
    return ColumnTable.of(
        "hume_table13", "HUME table 13: pair difficulty for people and LLMs", correlate_people_with_each_llm(llms, own),
        text("llm"),
        number_column("spearman_rho", "correlation.rho"),
        number_column("p_value", "correlation.p", style="p"),
        whole_number_column("pairs", "correlation.n"),
    )  # fmt: skip


class PeopleAndLlmScoreRow(NamedTuple):
    """A row of people's and language models' `scores`: a pair's, or their means; of a family also the `best` embedding
    model's mean in points, and its name."""

    name: str
    scores: Mapping[str, float]
    lang: str = ""
    best: tuple[float | None, str | None] = (None, None)


def _people_and_llm_columns(llms: ModelAndPeopleScores) -> Iterator[ComputedColumn]:
    """People, and every language model."""
    yield _make_score_column("human", HUMAN)
    for name in llms.models:
        yield _make_score_column(name, name)


def _make_score_column(heading: str, system: str) -> ComputedColumn:
    return make_percentage_point_column(heading, lambda row: row.scores.get(system))


def family_scores_table(llms: ModelAndPeopleScores, matrix: ModelAndPeopleScores | None = None) -> ColumnTable:
    """Table 2: people and LLMs by family, and over all their pairs; with `matrix` the best embedding model of each.

    The average is over pairs, not over families. Source: FINDINGS, HUME 8.
    """
    present = {pair.family for pair in llms.pairs}
    rows = [
        PeopleAndLlmScoreRow(
            family,
            llms.average_scores_over_pairs(_make_family_filter(family)),
            best=best_embedding_model(matrix, family),
        )
        for family in FAMILIES
        if family in present
    ]
    return ColumnTable.of(
        "hume_table2",
        "HUME table 2: people and LLMs",
        [*rows, PeopleAndLlmScoreRow(AVERAGE, llms.average_scores_over_pairs())],
        text("category", "name"),
        *_people_and_llm_columns(llms),
        number_column("best_embedding_score", lambda row: row.best[0], 1),
        text("best_embedding_model", lambda row: row.best[1]),
        note="The average is the mean over all pairs, not over families. People marked documents; LLMs ranked them.",
    )


def pair_score_table(llms: ModelAndPeopleScores, family: Family) -> ColumnTable:
    """Tables 10 (classification), 11 (reranking) and 12 (sts): every pair, and their average."""
    names = (HUMAN, *llms.models)
    columns = zip(llms.pairs, np.vstack([llms.human, llms.values]).T.tolist(), strict=True)
    rows = [
        PeopleAndLlmScoreRow(pair.dataset, dict(zip(names, scores, strict=True)), pair.lang)
        for pair, scores in columns
        if pair.family == family
    ]
    # A family without a pair has no mean, not one of 0.
    rows.append(
        PeopleAndLlmScoreRow(AVERAGE, llms.average_scores_over_pairs(_make_family_filter(family)) if rows else {})
    )
    table = LLM_TABLES[family]
    name = f"hume_table{table}" if table else f"hume_llm_{family}"
    title = f"HUME table {table}: LLMs on {family}" if table else f"LLMs on {family}"
    return ColumnTable.of(name, title, rows, text("dataset", "name"), text("lang"), *_people_and_llm_columns(llms))


def best_embedding_model(matrix: ModelAndPeopleScores | None, family: Family) -> tuple[float | None, str | None]:
    """The highest mean of a model over a family's pairs in points, and whose it is; None twice without a matrix."""
    means = matrix.average_scores_over_pairs(_make_family_filter(family)) if matrix else {}
    models = {name: mean for name, mean in means.items() if name != HUMAN and mean == mean}
    if not models:
        return None, None
    best = max(models, key=models.__getitem__)
    return 100 * models[best], best


def _make_family_filter(family: Family) -> Callable[[AnyPair], bool]:
    return lambda pair: pair.family == family


DATASET_TABLES: dict[Family, int] = {"clustering": 4, "classification": 5, "reranking": 6, "sts": 7}
OVERALL, COUNTS = "overall", "n_datasets"
_DIFFERS = (
    "As in the paper, every language in a result file counts, even French, which nobody annotated but 12 of its 13 "
    "models include. Those means are not comparable with Human; see the table for the study's languages."
)


def family_language_table(matrix: ModelAndPeopleScores, *, rounded: bool = True) -> ColumnTable:
    """Table 1: models and Human by family and language; its first row counts the datasets. `rounded` as the paper is,
    or exact."""
    show = round_fraction_first if rounded else _convert_to_exact_points
    columns = {
        name: _make_column_of_system_means(matrix, wanted, show)
        for name, wanted in make_pair_filters_by_column(matrix).items()
    }
    note = "overall is the mean over all dataset-language pairs."
    note += " Fractions were first rounded to four decimals." if rounded else ""
    return ColumnTable.of(
        "hume_table1", "HUME table 1: people and models", [COUNTS, *matrix.models, HUMAN], text("model", str),
        *(number_column(name, column.get, 1) for name, column in columns.items()), note=note,
    )  # fmt: skip


def _convert_to_exact_points(score: float) -> float:
    return 100 * score


def _make_column_of_system_means(
    matrix: ModelAndPeopleScores, wanted: Callable[[AnyPair], bool], show: Callable[[float], float]
) -> dict[str, Value]:
    # A count is a text, so that it has no decimals in a column of scores.
    means = {system: show(mean) for system, mean in matrix.average_scores_over_pairs(wanted).items()}
    return {COUNTS: str(len(matrix.where(wanted))), **means}


def make_pair_filters_by_column(matrix: ModelAndPeopleScores) -> dict[str, Callable[[AnyPair], bool]]:
    """The columns of table 1: `classification_ara` and so on, and `overall` last."""
    present = {(pair.family, pair.lang) for pair in matrix.pairs}
    ordered = [(family, lang) for family in FAMILIES for lang in sorted(x for f, x in present if f == family)]
    return {
        **{f"{family}_{lang}": _make_family_language_filter(family, lang) for family, lang in ordered},
        OVERALL: lambda _: True,
    }


def _make_family_language_filter(family: Family, lang: str) -> Callable[[AnyPair], bool]:
    return lambda pair: (pair.family, pair.lang) == (family, lang)


def dataset_scores_table(
    family: Family,
    evaluations: Iterable[PublishedEvaluation],
    study: PublishedStudy | None = None,
    *,
    every_subset: bool,
    own: OwnScores | None = None,
) -> ColumnTable:
    """Tables 4 (clustering), 5 (classification), 6 (reranking) and 7 (sts): the mean of every dataset over languages.

    With `every_subset` over all that a result file holds, French with it, which gives the printed cells; without over
    the study's languages, which compares models with people. Systems of `own` that are none of the study's have a row
    where they have a dataset of the family whole, and empty cells for the others. DataError where a model of the study
    lacks a dataset or language.
    Source: FINDINGS, HUME 4; spec hume, ambiguity 20.
    """
    study, every, own = study or load_hume_paper_study(), list(evaluations), own or {}
    datasets = [dataset for dataset in study.datasets if dataset.family == family]
    systems = {model.short: [e for e in every if e.system == model.name] for model in study.models}
    systems |= {
        name: [e for e in every if e.system == name]
        for name, scores in own.items()
        if name not in systems and any(_has_all_dataset_languages(scores, dataset) for dataset in datasets)
    }
    systems[HUMAN] = select_human_evaluations_by_revision(every, study)
    table = DATASET_TABLES[family]
    name = f"hume_table{table}" if every_subset else f"hume_table{table}_study_languages"
    title = f"HUME table {table}: {family}" + ("" if every_subset else ", study languages only")
    return ColumnTable.of(
        name, title, systems.items(), text("model", lambda row: row[0]),
        *(number_column(dataset.name, partial(_average_dataset_languages, dataset, every_subset, own),
            1) for dataset in datasets),
        note=_DIFFERS if every_subset else "",
    )  # fmt: skip


def _has_all_dataset_languages(scores: Mapping[tuple[str, str], float], dataset: PaperDataset) -> bool:
    """Whether scores by dataset and language hold all languages of a dataset."""
    return all((dataset.name, pair.lang) in scores for pair in dataset.pairs)


def _average_dataset_languages(
    dataset: PaperDataset, every_subset: bool, own: OwnScores, row: tuple[str, Sequence[PublishedEvaluation]]
) -> float | None:
    """The mean of a system over the languages of a dataset, in points; None where a system of `own` lacks one."""
    system, evaluations = row
    if system in own and not _has_all_dataset_languages(own[system], dataset):
        return None
    langs = {pair.lang for pair in dataset.pairs}
    values = [
        e
        for e in index_evaluations_by_pair(e for e in evaluations if e.dataset == dataset.name).values()
        if (every_subset or e.lang in langs) and not math.isnan(e.main_score)
    ]
    missing = sorted(langs - {e.lang for e in values})
    if missing:
        raise DataError(
            f"{system} has no result for {dataset.name} in {', '.join(missing)}",
            mend="Pass results that cover every pair in the study.",
        )
    return 100 * sum(e.main_score for e in values) / len(values)


def datasets_table(study: PublishedStudy | None = None) -> ColumnTable:
    """Table 3: datasets, their languages and metrics."""
    return ColumnTable.of(
        "hume_table3", "HUME table 3: datasets", (study or load_hume_paper_study()).datasets,
        text("category", "family"),
        text("dataset", "name"), text("languages", lambda dataset: "; ".join(pair.lang for pair in dataset.pairs)),
        text("primary_metric", lambda dataset: dataset.metrics[0]),
        text("metrics", lambda dataset: "; ".join(dataset.metrics)),
    )  # fmt: skip


def model_sizes_table(study: PublishedStudy | None = None) -> ColumnTable:
    """Table 9: models and their size."""
    return ColumnTable.of(
        "hume_table9", "HUME table 9: models", (study or load_hume_paper_study()).models, text("model", "name"),
        number_column("parameters_millions", decimals=1),
        note="The paper's table omits stella_en_1.5B_v5: it is in all results, but the paper does not state its size.",
    )  # fmt: skip


def build_all_paper_tables(
    evaluations: Sequence[PublishedEvaluation], llms: ModelAndPeopleScores | None = None,
    study: PublishedStudy | None = None,
    *, one_annotator: OneAnnotator = "wilson", own: Sequence[PublishedEvaluation] = (), apart: Collection[str] = ()
) -> Iterator[ColumnTable]:  # fmt: skip
    """`hume_table1` to `9`, those of 4-7 also by the study's languages; with `llms` 2 and 10-13; then `hume_overall`,
    `hume_pairs`, `hume_win_rates` and `quality_flags`.

    `own` evaluations are of systems beside the study's: those with whole datasets have rows in tables 4-7, those with
    all pairs in 1 and 9 too and a place overall, with `llms` columns in 2 and 10-12 and a row in 13; all have columns
    in table 8, and those that are `apart`, scored by another method, only there. Best, median and mean stay those of
    the study's models.

    DataError where results lack a pair of the study. Source: spec hume, section 9.
    """
    study = study or load_hume_paper_study()
    matrix, scores = build_score_matrix(evaluations, study), group_scores_by_system(own)
    every, entered = (*evaluations, *own), add_complete_systems_to_study(study, scores, apart)
    wider = build_score_matrix(every, entered)
    beside = tuple(model.short for model in entered.models[len(study.models) :])
    columns = _add_own_llm_scores(llms, {name: scores[name] for name in beside}) if llms else None
    with_people = {name: of for name, of in scores.items() if name not in apart}
    yield family_language_table(wider)
    if columns:
        yield family_scores_table(columns, matrix)
    yield datasets_table(study)
    for family in DATASET_TABLES:
        yield dataset_scores_table(family, every, entered, every_subset=True, own=with_people)
        yield dataset_scores_table(family, every, entered, every_subset=False, own=with_people)
    records = convert_results_to_dataset_records(evaluations, study, one_annotator=one_annotator)
    yield printed_people_table(records, matrix.models, scores)
    yield model_sizes_table(entered)
    if columns:
        present = {pair.family for pair in columns.pairs}
        yield from (pair_score_table(columns, family) for family in FAMILIES if family in present)
        yield make_people_llm_correlation_table(columns, beside)
    ranked = rank_people_on_every_pair(matrix)
    yield from (
        make_system_mean_score_table(wider),
        make_human_gap_and_rank_table(ranked),
        people_wins_table(ranked),
        make_pair_trust_flags_table(records),
    )


def group_scores_by_system(own: Iterable[PublishedEvaluation]) -> OwnScores:
    """The scores of systems that no result file is of, in their order."""
    of: dict[str, dict[tuple[str, str], float]] = {}
    for evaluation in own:
        of.setdefault(evaluation.system, {})[evaluation.dataset, evaluation.lang] = evaluation.main_score
    return of


def add_complete_systems_to_study(study: PublishedStudy, own: OwnScores, apart: Collection[str] = ()) -> PublishedStudy:
    """The study with the systems that have a score on all of its pairs, and are not `apart`, as further models."""
    pairs = {(pair.dataset, pair.lang) for pair in study.pairs}
    complete = tuple(
        PaperEmbeddingModel(name, label=name)
        for name, scores in own.items()
        if name not in apart and pairs <= scores.keys()
    )
    return replace(study, models=(*study.models, *complete))


def _add_own_llm_scores(llms: ModelAndPeopleScores, own: OwnScores) -> ModelAndPeopleScores:
    """The scores of language models with further columns, those of `own` on the same pairs."""
    keys = [(pair.dataset, pair.lang) for pair in llms.pairs]
    return llms.add_models_to_score_matrix({name: [scores[key] for key in keys] for name, scores in own.items()})


def make_system_mean_score_table(matrix: ModelAndPeopleScores) -> ColumnTable:
    """Models and Human by their mean over all pairs, in points, best first (figure 1); beside it over datasets."""
    by_dataset = {place.system: place for place in rank_models_by_mean_score(matrix, "datasets")}
    return ColumnTable.of(
        "hume_overall", "HUME: overall", rank_models_by_mean_score(matrix), whole_number_column("rank"),
        text("system"), make_percentage_point_column("overall"),
        whole_number_column("rank_by_dataset", lambda place: by_dataset[place.system].rank),
        make_percentage_point_column("overall_by_dataset", lambda place: by_dataset[place.system].overall),
        note=f"overall is the mean over {len(matrix.pairs)} pairs; overall_by_dataset weights every dataset equally.",
    )  # fmt: skip


def make_human_gap_and_rank_table(ranks: Sequence[PeopleAmongModelsOnPair]) -> ColumnTable:
    """Per pair, in points: gaps, rank, position, difficulty, the models' range (figures 2, 4-7)."""
    return ColumnTable.of(
        "hume_pairs",
        "HUME: people ranked among the models, by pair",
        ranks,
        *OF_PAIR,
        *map(make_percentage_point_column, ("human", "best", "median", "mean", "worst")),
        text("best_model"),
        *(make_percentage_point_column(f"gap_{name}", methodcaller("gap", name), "signed") for name in REFERENCES),
        whole_number_column("human_rank", "rank"),
        number_column("position"),
        number_column("best_percent_of_human", decimals=1),
        make_percentage_point_column("model_range", "spread"),
        make_percentage_point_column("model_sd", "sd"),
        text("difficulty", "people_difficulty"),
        note="Gaps are Human minus the model. Position is 0 for the worst model and 1 for the best.",
    )


_KINDS: dict[By, str] = {"all": "all", "family": "family", "group": "datasets", "lang": "language"}


def people_wins_table(ranks: Sequence[PeopleAmongModelsOnPair]) -> ColumnTable:
    """Pairs that people win against the best, median and mean model, by kinds of groups (figure 3)."""
    return ColumnTable.of(
        "hume_win_rates",
        "HUME: pairs won by people",
        [wins for by in _KINDS for wins in count_people_wins_by_group(ranks, by)],
        text("by", lambda wins: _KINDS[wins.by]),
        text("group"),
        text("against", "reference"),
        whole_number_column("wins"),
        whole_number_column("pairs"),
        make_percentage_point_column("win_rate", "share_won"),
        note="A tie does not count as a win.",
    )
