"""The PTEB page: drops by dataset, scores side by side, paraphrases of single items; and what PTEB says on a card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.document.blocks import (
    Block,
    Table,
    VerdictText,
    convert_sentence_to_text,
    file_tables,
    join_names_with_and,
)
from embassay.errors import EmbassayError
from embassay.parquet import read_parquet
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import POINTS
from embassay.protocols.pteb.drops import TextWithWordings, draw_texts_with_wordings
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.records import ResultRow
from embassay.report.board import BoardRow, SystemBoard, make_blocks_of_missing_values
from embassay.report.cards.findings import SystemFinding, format_result_with_interval, format_task_name, make_finding
from embassay.report.items import LENGTHS, DatasetItemValues, ItemGroupPageInputs, ItemKind, Measure, Part
from embassay.report.pteb.conclusions import (
    PARAPHRASE,
    TASKS,
    TEXTS,
    ParaphraseLoss,
    ParaphraseLosses,
    find_only_control_source,
    pteb_verdict,
)
from embassay.report.pteb.tables import (
    HEADINGS,
    BaselineDifferencePlot,
    DumbbellRow,
    ParaphraseLossTable,
    ParaphraseQuality,
    RankStabilityTable,
    ScoreDropChart,
    SystemDropDumbbellChart,
    align_dumbbells_by_dataset,
    baseline_shift_plots,
    change_by_source_table,
    describe_order_agreement_by_scope,
    list_outcome_counts_by_source,
    list_paraphrase_quality_by_dataset,
    loss_dumbbell_charts,
    make_paraphrase_loss_tables,
    plot_change_by_edit_distance,
    plot_change_by_original_score,
    rank_stability_tables,
)
from embassay.report.pteb.validity import show_change_on_valid_paraphrases
from embassay.report.record import RunRecord, SystemOfRun
from embassay.report.runs import ReportRun
from embassay.runs.folder import RunFolder

ALONE = ("pteb-table1", "pteb-table8", "pteb-table12", "pteb-table13", "pteb-fresh")
"""The tables of the run whose numbers stand nowhere else on the page: word counts, costs, prompts, datasets, old texts
against fresh ones."""

BESIDE = 3
"""Systems that stand side by side in a report of several runs; that of the run alone has all."""


@dataclass(frozen=True)
class PtebPage:
    """The content of the page; what the run does not have is empty."""

    facts: tuple[str, ...]
    verdict: VerdictText
    dumbbells: tuple[SystemDropDumbbellChart, ...]
    beside: tuple[tuple[DumbbellRow, tuple[DumbbellRow | None, ...]], ...]
    scores: tuple[ParaphraseLossTable, ...]
    by_source: Table | None
    missing: tuple[Block, ...]
    valid: tuple[Block, ...]
    baseline: tuple[BaselineDifferencePlot, ...]
    stability: tuple[RankStabilityTable, ...]
    orders: tuple[tuple[str, str], ...]
    against: ScoreDropChart | None
    distance: ScoreDropChart | None
    headings: tuple[str, ...]
    quality: tuple[ParaphraseQuality, ...]
    several_sources: bool
    outcomes: tuple[tuple[str, str], ...]
    wordings: tuple[SampledWordings, ...]
    wordings_reason: str
    drops: tuple[Table, ...]
    tables: tuple[Table, ...]


def make_pteb_page_content(record: RunRecord, board: SystemBoard) -> PtebPage | None:
    """Make the PTEB page of a record; None when no task has finished a cell."""
    if not any(cell.status == "done" for cell in record.cells):
        return None
    losses = ParaphraseLosses(record, board)
    charts = loss_dumbbell_charts(losses)
    texts, reason = sample_wordings_or_explain_absence(record)
    quality = list_paraphrase_quality_by_dataset(record)
    files = file_tables(record.path)
    sources = {row.source for row in quality}
    drops = tuple(table for table in files if table.id.startswith("drop-by-"))
    return PtebPage(
        facts=_describe_pteb_run(record, board),
        verdict=pteb_verdict(record, board),
        dumbbells=charts,
        beside=align_dumbbells_by_dataset(charts[:BESIDE]),
        scores=make_paraphrase_loss_tables(losses),
        by_source=change_by_source_table(losses),
        missing=tuple(make_blocks_of_missing_values(record, board)),
        valid=tuple(show_change_on_valid_paraphrases(record, board, heading=True)),
        baseline=baseline_shift_plots(record, board),
        stability=rank_stability_tables(record, board),
        orders=describe_order_agreement_by_scope(record, board),
        against=plot_change_by_original_score(losses),
        distance=plot_change_by_edit_distance(losses),
        headings=HEADINGS,
        quality=quality,
        several_sources=len(sources) > 1,
        outcomes=list_outcome_counts_by_source(record),
        wordings=texts,
        wordings_reason=reason,
        drops=drops,
        tables=tuple(table for table in files if table.id in ALONE),
    )


def _describe_pteb_run(record: RunRecord, board: SystemBoard) -> tuple[str, ...]:
    datasets = {name for task in board.tasks for name in record.datasets(task.name)}
    runs = {variant.rpartition("seed=")[2] for _, _, _, variant, _, _ in record.rows if variant.startswith(PARAPHRASE)}
    sources = record.paraphraser_entries
    by = f" by {sources[0]['name']}" if len(sources) == 1 else f" by {len(sources)} sources" if sources else ""
    return (
        "PTEB",
        numbers.format_noun_count(len(board.tasks), "task"),
        numbers.format_noun_count(len(datasets), "dataset") if len(datasets) > 1 else next(iter(datasets), ""),
        numbers.format_noun_count(len(record.list_non_reference_systems), "system"),
        f"{numbers.format_noun_count(len(runs), 'run')}{by}",
    )


LITTLE = 0.02
"""Two points: a larger loss must lie outside the interval for a system to be good at keeping its score."""


def find_paraphrase_strengths(run: ReportRun, row: BoardRow) -> Iterator[SystemFinding]:
    """Find that little can be lost, over all or on some tasks, where the interval says so."""
    losses = ParaphraseLosses(run.record, run.board)
    every = losses.leading(row)
    if _is_paraphrase_loss_surely_small(every):
        clause = f"loses little or nothing {_phrase_when_texts_are_reworded(run)}: {_format_change(every.delta)}"
        yield make_finding(run, clause, weight=2, place="pteb-drops")
        return
    held = [
        f"{format_task_name(task)} {_format_change(loss.delta)}"
        for task in run.board.tasks
        if (loss := losses.find_task_loss(row, task)).delta is not None and _is_paraphrase_loss_surely_small(loss)
    ]
    if held:
        named = convert_sentence_to_text(join_names_with_and(held[:4]))
        clause = f"loses little or nothing {_phrase_when_texts_are_reworded(run)} on {named}"
        yield make_finding(run, clause, weight=1, place="pteb-drops")


def describe_uncertain_losses(run: ReportRun, row: BoardRow) -> Iterator[str]:
    """List the losses of which nobody knows whether they are much or nothing."""
    every = ParaphraseLosses(run.record, run.board).leading(row)
    if (
        every.delta is not None
        and every.delta.ci_low is not None
        and not _is_paraphrase_loss_surely_small(every)
        and not _is_certain_loss(every)
    ):
        change = _format_change(every.delta)
        yield f"It is uncertain whether it loses points {_phrase_when_texts_are_reworded(run)}: {change}."


def find_paraphrase_weaknesses(run: ReportRun, row: BoardRow) -> Iterator[SystemFinding]:
    """Find the loss over all, and the dataset that loses most, where intervals lie below 0."""
    losses = ParaphraseLosses(run.record, run.board)
    every = losses.leading(row)
    if _is_certain_loss(every):
        yield make_finding(
            run,
            f"loses {_format_loss_points(every)} {_phrase_when_texts_are_reworded(run)}",
            weight=5,
            place="pteb-drops",
        )
    worst = [
        loss
        for task in run.board.tasks
        for dataset in run.record.datasets(task.name)
        if _is_certain_loss(loss := losses.find_dataset_loss(row, task, dataset))
    ]
    if worst:
        most = min(worst, key=lambda loss: loss.drop or 0.0)
        where = format_task_name(most.task) if most.task is not None else ""
        where += f" of {most.dataset}" if len({loss.dataset for loss in worst}) > 1 else ""
        clause = f"loses most {_phrase_when_texts_are_reworded(run)} on {where}, {_format_loss_points(most)}"
        yield make_finding(run, clause, weight=4, place="pteb-drops")


def _phrase_when_texts_are_reworded(run: ReportRun) -> str:
    """Say `when texts are paraphrased`, or what the run's only control does instead."""
    return TEXTS[find_only_control_source(run.record)][0]


def _is_paraphrase_loss_surely_small(loss: ParaphraseLoss) -> bool:
    """Whether its interval leaves out all but a little loss."""
    change = loss.delta
    return change is not None and change.value is not None and change.ci_low is not None and change.ci_low >= -LITTLE


def _is_certain_loss(loss: ParaphraseLoss) -> bool:
    """Whether its interval lies below 0."""
    change = loss.delta
    return change is not None and change.value is not None and change.ci_high is not None and change.ci_high < 0


def _format_loss_points(loss: ParaphraseLoss) -> str:
    """`4.1 points (3.3–4.9)`: a loss without its sign."""
    change = loss.delta
    if change is None or change.value is None or change.ci_low is None or change.ci_high is None:
        return ""
    return (
        f"{POINTS.format_value_in_text(-change.value)} points "
        f"({POINTS.format_interval_in_text(-change.ci_high, -change.ci_low)})"
    )


def _format_change(change: ResultRow | None) -> str:
    """`−1.7 points (−5.4 to 2.0)`."""
    return "" if change is None else format_result_with_interval(change, POINTS).replace(" (", " points (", 1)


COUNT = 6
MOST_PLACES = 8
"""Datasets (of every source) whose texts are shown: the first so many."""


@dataclass(frozen=True)
class SampledWordings:
    """Texts of one dataset by one source, which the title names."""

    title: str
    texts: tuple[TextWithWordings, ...]


def sample_wordings_or_explain_absence(record: RunRecord) -> tuple[tuple[SampledWordings, ...], str]:
    """Texts of every dataset and source, drawn with the seed; or why they cannot be shown."""
    if not (record.path / "paraphrases").is_dir():
        return (), ""
    try:
        kept = ParaphraseSet.open(record.path)
        places = [(source, dataset) for source in kept.sources.values() for dataset in source.datasets]
        places = places[:MOST_PLACES]
        # All of them together stay about as long, however many datasets there are.
        count = max(2, COUNT // max(1, len(places)))
        rows = [
            _sample_texts_with_wordings(kept, source.name, dataset, count, len(kept.sources) > 1)
            for source, dataset in places
        ]
    except EmbassayError as error:
        return (), f"The paraphrases cannot be shown: {error}"
    return tuple(wording for wording in rows if wording.texts), ""


def _sample_texts_with_wordings(
    kept: ParaphraseSet, source: str, dataset: str, count: int, several: bool
) -> SampledWordings:
    runs = {seed: kept.rows(source, dataset, seed) for seed in kept.list_kept_seeds(source, dataset)}
    title = f"{dataset}, {source}" if several else dataset
    return SampledWordings(title, draw_texts_with_wordings(runs, count=count))


VALUES = {
    "sts": "similarity", "classification": "correct", "clustering": "v_measure", "pair_classification": "similarity",
    "reranking": "ap", "retrieval": "ndcg@10", "summarization": "similarity"
}  # fmt: skip
"""The value of an item of each task."""
FIELDS = {
    "sts": ("first", "second"), "classification": ("test",), "pair_classification": ("first", "second"),
    "reranking": ("query",), "retrieval": ("query",), "summarization": ("summary",)
}  # fmt: skip
NOUNS = {
    "sts": "pair", "classification": "text", "clustering": "set", "pair_classification": "pair", "reranking": "query",
    "retrieval": "query", "summarization": "summary"
}  # fmt: skip
WORDS = {
    "similarity": "similarity", "correct": "right label", "v_measure": "V-measure", "ap": "average precision",
    "ndcg@10": "nDCG@10"
}  # fmt: skip
BETWEEN = " · "
"""Between an item and its language, where two languages have an item of one name."""
MOST = 2_000
"""Wordings of a group's items by all runs that go into the page; where there are more, those of the first run alone."""

Values = NDArray[np.float64]
Column = dict[str, float]


def list_pteb_item_groups(record: RunRecord) -> tuple[DatasetItemValues, ...]:
    """The items of every task and dataset that a ranked system has values for."""
    langs = record.dataset_languages
    groups = (
        _read_paraphrase_drop_item_group(record, task.name, task.title, dataset, langs.get(dataset, ""))
        for task in TASKS
        for dataset in record.datasets(task.name)
    )
    return tuple(group for group in groups if group is not None)


def make_reworded_item_data(source: ItemGroupPageInputs) -> Part:
    """The texts of every item, their wordings by run, and the gold score where the task has one."""
    record, group = source.record, source.group
    names = FIELDS.get(group.kind.task, ())
    variants = _list_paraphrase_variants(record, group.kind.task, group.dataset)
    wordings = len(source.ids) * len(names) * len(variants)
    runs = list(islice(_read_wordings_by_run(record, group.dataset), 1 if wordings > MOST else None))
    texts = {name: [_find_item_text(source, name, item) for item in source.ids] for name in names}
    add = source.excerpts.add
    return {
        "fields": {name: [add(text, LENGTHS["query"]) for text in column] for name, column in texts.items()},
        "runs": [title for title, _ in runs],
        "allRuns": len(variants),
        "wordings": {
            name: [[_find_wording_excerpt_number(source, known, text) for _, known in runs] for text in column]
            for name, column in texts.items()
        },
        "gold": _read_gold_scores(source),
        "value": WORDS[VALUES[group.kind.task]],
    }


def _read_paraphrase_drop_item_group(
    record: RunRecord, task: str, title: str, dataset: str, lang: str
) -> DatasetItemValues | None:
    folder, measure = RunFolder(record.path), VALUES[task]
    variants = _list_paraphrase_variants(record, task, dataset)
    systems: list[SystemOfRun] = []
    before: list[Column] = []
    after: list[list[Column]] = []
    for system in record.list_non_reference_systems:
        original = _read_item_values_of_variant(folder, task, dataset, system.name, "original", measure)
        if original:
            systems.append(system)
            before.append(original)
            after.append(
                [
                    _read_item_values_of_variant(folder, task, dataset, system.name, variant, measure)
                    for variant in variants
                ]
            )
    if not systems:
        return None
    ids = tuple(before[0])
    old = np.array([[column.get(item, np.nan) for item in ids] for column in before])
    new = np.array([[_average_item_over_runs([column.get(item) for column in runs]) for item in ids] for runs in after])
    words = WORDS[measure]
    measures = (
        Measure(("change", ""), f"change of {words}, mean over runs"),
        Measure(("original", ""), f"{words}, original"),
        Measure(("paraphrased", ""), f"{words}, mean over runs"),
    )
    kind = ItemKind("reworded", task, title, NOUNS[task], measures)
    return DatasetItemValues(kind, dataset, lang, ids, tuple(systems), measures, np.stack([new - old, old, new]))


def _average_item_over_runs(values: Sequence[float | None]) -> float:
    """Average an item's values over the runs that kept it."""
    defined = [value for value in values if value is not None and value == value]
    return sum(defined) / len(defined) if defined else float("nan")


def _list_paraphrase_variants(record: RunRecord, task: str, dataset: str) -> list[str]:
    cells = (cell for cell in record.cells if (cell.task, cell.dataset) == (task, dataset))
    return list(dict.fromkeys(cell.variant for cell in cells if cell.variant.startswith(PARAPHRASE)))


def _read_item_values_of_variant(
    folder: RunFolder, task: str, dataset: str, system: str, variant: str, measure: str
) -> Column:
    """The value of every item; empty where the cell kept none."""
    import polars as pl

    path = folder.locate_cell_items(task, dataset, system, variant=variant)
    if not path.exists():
        return {}
    frame = read_parquet(path, ["item_id", "variant", "measure", "value"])
    rows = list(frame.filter(pl.col("measure") == measure).select("item_id", "variant", "value").iter_rows())
    # An id that occurs in several languages gets its language.
    often = Counter(item for item, _, _ in rows)
    return {
        item if often[item] == 1 else item + BETWEEN + lang: float("nan") if value is None else value
        for item, lang, value in rows
    }


def _find_item_text(source: ItemGroupPageInputs, field: str, item: str) -> str:
    """The text of an item; of a query in several wordings the first."""
    name = item.partition(BETWEEN)[0]
    return source.judged.text(field, name) or source.judged.text(field, f"{name}:0") or ""


def _read_wordings_by_run(record: RunRecord, dataset: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The title of every run of every source, with the wording of each text."""
    sources = record.paraphraser_entries
    for source in sources:
        title = f"{source['name']}, " if len(sources) > 1 else ""
        for seed in source.get("seeds", {}).get(dataset, ()):
            wordings = _read_wordings(str(record.path), source["name"], dataset, seed)
            if wordings:
                yield f"{title}{seed}", wordings


@lru_cache(maxsize=64)
def _read_wordings(path: str, source: str, dataset: str, seed: int) -> Mapping[str, str]:
    """The wording of every text of a run; empty where the set cannot be read."""
    from pathlib import Path

    try:
        rows = ParaphraseSet.open(Path(path)).rows(source, dataset, seed)
    except EmbassayError:
        return {}
    return {row.text: row.wording for row in rows if row.usable}


def _find_wording_excerpt_number(source: ItemGroupPageInputs, wordings: Mapping[str, str], text: str) -> int:
    """The number of the excerpt; -1 where there is no wording."""
    wording = wordings.get(text)
    return -1 if wording is None else source.excerpts.add(wording, LENGTHS["query"])


def _read_gold_scores(source: ItemGroupPageInputs) -> list[float | None]:
    """The gold score of every item; empty where the task has none."""
    group = source.group
    gold: dict[str, Any] = _read_item_values_of_variant(
        source.folder, group.kind.task, group.dataset, group.systems[0].name, "original", "gold"
    )
    return [gold.get(item) for item in source.ids] if gold else []
