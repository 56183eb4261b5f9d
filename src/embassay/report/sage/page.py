"""The SAGE page: panels, why robustness is low, curves, what survives in retrieval, the paper's tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from embassay.protocols import numbers
from embassay.report.board import Board
from embassay.report.items.groups import EDIT_WORDS, POSITIONS, SEMANTIC, SIZES, SUPERFICIAL
from embassay.report.panels import Gap, Panel, gaps, panels
from embassay.report.record import Record
from embassay.report.sage.curves import Curves, curves, expected, is_linear
from embassay.report.sage.heat import Heat, HeatColumn, heats, two_decimals
from embassay.report.sage.paper import PaperTable, paper_tables
from embassay.report.sage.tasks import copies
from embassay.report.sage.values import ValueTable, Wanted, value_table
from embassay.report.sage.verdict import sage_verdict
from embassay.report.verdict import Verdict

KINDS = {"insertion": "inserted", "removal": "removed"}
SHARES = tuple(
    HeatColumn(heading, "share", variant)
    for heading, variant in (
        ("Summary over meaning change", "summary_over_semantic"),
        ("Noise over summary", "superficial_over_summary"),
        ("Noise over meaning change", "superficial_over_semantic"),
        ("All three", "all_three"),
    )
)
SIMILARITIES = (
    *(HeatColumn(EDIT_WORDS[edit], "similarity", edit, "noise") for edit in SUPERFICIAL),
    HeatColumn("summary", "similarity", "summary", "shorter"),
    *(HeatColumn(EDIT_WORDS[edit], "similarity", edit, "meaning changed") for edit in SEMANTIC),
)
SIDES = (
    *(HeatColumn(EDIT_WORDS[edit], "above_summary", edit, "above the summary") for edit in SUPERFICIAL),
    *(HeatColumn(EDIT_WORDS[edit], "below_summary", edit, "below the summary") for edit in SEMANTIC),
)


def spans(measure: str, prefix: str, sizes: int) -> tuple[HeatColumn, ...]:
    """Columns for insertions and removals at the first `sizes` sizes, the positions one below the other."""
    return tuple(
        HeatColumn(numbers.percent(float(p)), measure, variants[0], KINDS[kind], variants[1:])
        for kind in SIZES
        for p in SIZES[kind][:sizes]
        for variants in [tuple(f"{prefix}{kind}:p={p},q={q}" for q in POSITIONS)]
    )


def by_size(record: Record) -> tuple[HeatColumn, ...]:
    """Columns for the mean over positions at each size, with the similarity expected there."""
    linear = is_linear(record)
    return tuple(
        HeatColumn(
            f"{numbers.percent(float(p))}, expected {two_decimals(expected(float(p), linear=linear))}",
            "similarity",
            f"{kind}:p={p}",
            KINDS[kind],
        )
        for kind, sizes in SIZES.items()
        for p in sizes
    )


BY_POSITION = spans("similarity", "", 3)
RETAINED = (
    HeatColumn("with all copies", "retention", "augmented", "kept"),
    HeatColumn("harmonic mean", "retention", "replaced", "kept"),
    *(HeatColumn(EDIT_WORDS[edit], "retention", f"replaced:{edit}", "noise") for edit in SUPERFICIAL),
    *(HeatColumn(EDIT_WORDS[edit], "retention", f"replaced:{edit}", "meaning changed") for edit in SEMANTIC),
    *spans("retention", "replaced:", 2),
)


@dataclass(frozen=True)
class SagePage:
    """The content of the page; every tuple is empty when its task is not part of the run."""

    facts: tuple[str, ...]
    verdict: Verdict
    panels: tuple[Panel, ...]
    gaps: tuple[Gap, ...]
    command: str
    shares: tuple[Heat, ...]
    similarities: tuple[Heat, ...]
    sides: tuple[Heat, ...]
    curves: tuple[Curves, ...]
    sizes: tuple[Heat, ...]
    positions: tuple[Heat, ...]
    sensitivity: tuple[ValueTable, ...]
    retained: tuple[Heat, ...]
    copies: str
    ndcg: tuple[ValueTable, ...]
    preference: tuple[ValueTable, ...]
    by_dataset: tuple[ValueTable, ...]
    paper: tuple[PaperTable, ...]


def sage_page(record: Record, board: Board) -> SagePage | None:
    """The page of a record; None when no task has finished a cell."""
    if not any(cell.status == "done" for cell in record.cells):
        return None
    return SagePage(
        facts=_facts(record, board),
        verdict=sage_verdict(record, board),
        panels=panels(record, board),
        gaps=gaps(board),
        command=record.manifest.get("command", ""),
        shares=heats(record, board, "robustness", SHARES),
        similarities=heats(record, board, "robustness", SIMILARITIES, two_decimals),
        sides=heats(record, board, "robustness", SIDES),
        curves=curves(record, board),
        sizes=heats(record, board, "sensitivity", by_size(record), two_decimals),
        positions=heats(record, board, "sensitivity", BY_POSITION, two_decimals),
        sensitivity=_per_dataset(record, board, "sensitivity", _sensitivity_columns),
        retained=heats(record, board, "retrieval", RETAINED, two_decimals),
        copies=copies(record),
        ndcg=_per_dataset(record, board, "retrieval", _ndcg_columns),
        preference=_per_dataset(record, board, "preference", _preference_columns),
        by_dataset=_by_dataset(record, board),
        paper=paper_tables(record, board),
    )


def _facts(record: Record, board: Board) -> tuple[str, ...]:
    datasets = {name for task in board.tasks for name in record.datasets(task.name)}
    return (
        "SAGE",
        numbers.counted(len(board.tasks), "task"),
        numbers.counted(len(datasets), "dataset") if len(datasets) > 1 else next(iter(datasets), ""),
        numbers.counted(len(record.ranked_systems), "system"),
    )


def _per_dataset(
    record: Record, board: Board, task: str, columns: Callable[[Record, str], list[Wanted]]
) -> tuple[ValueTable, ...]:
    """One value table per dataset of a task."""
    made = (
        value_table(record, board, task, columns(record, dataset), title=dataset, name=f"{task}-{i}")
        for i, dataset in enumerate(record.datasets(task))
    )
    return tuple(table for table in made if table is not None)


def _sensitivity_columns(_: Record, dataset: str) -> list[Wanted]:
    measures = {
        "sensitivity": "{}: score",
        "sensitivity_calibrated": "{}: score after calibration",
        "falls_at_every_step": "{}: falls at every step",
    }
    return [
        Wanted(words.format(kind.capitalize()), measure, dataset, kind)
        for kind in SIZES
        for measure, words in measures.items()
    ]


def _ndcg_columns(_: Record, dataset: str) -> list[Wanted]:
    return [
        Wanted("nDCG@10, clean corpus", "ndcg@10", dataset, "original"),
        Wanted("nDCG@10, with all copies", "ndcg@10", dataset, "augmented"),
        Wanted("share of rankings with ties", "tie_share", dataset, "augmented"),
    ]


def _preference_columns(record: Record, dataset: str) -> list[Wanted]:
    axes = dict.fromkeys(
        row.variant for row in record.rows.values() if (row.task, row.measure) == ("preference", "score")
    )
    figures = {"accuracy": "Accuracy", "precision": "Precision", "recall": "Recall", "f1": "F1"}
    return [
        *(Wanted(heading, measure, dataset) for measure, heading in figures.items()),
        Wanted("Share of ties", "tie_share", dataset),
        *(Wanted(f"Rating: {axis}", "score", dataset, axis) for axis in axes),
    ]


def _by_dataset(record: Record, board: Board) -> tuple[ValueTable, ...]:
    """Headline scores by dataset, for each task that has more than one."""
    made = (
        value_table(
            record, board, task.name,
            [Wanted(dataset, task.headline, dataset) for dataset in record.datasets(task.name)],
            title=task.title, name=f"by-dataset-{task.name}",
        )
        for task in board.tasks
        if len(record.datasets(task.name)) > 1
    )  # fmt: skip
    return tuple(table for table in made if table is not None)
