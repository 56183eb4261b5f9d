"""The PTEB page: drops by dataset, scores side by side, the baseline, stability, paraphrases, the paper's tables."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.protocols import numbers
from embassay.report.board import Board
from embassay.report.matrix import Matrix
from embassay.report.panels import Gap, gaps
from embassay.report.pteb.against import Against, against_distance, against_original
from embassay.report.pteb.baseline import BaselinePlot, baseline_plots
from embassay.report.pteb.dumbbells import Dumbbell, Dumbbells, dumbbells, side_by_side
from embassay.report.pteb.losses import PARAPHRASE, Losses
from embassay.report.pteb.quality import HEADINGS, Quality, outcome_lines, qualities
from embassay.report.pteb.scores import ScoreTable, score_tables, source_table
from embassay.report.pteb.stability import Stability, orders, stabilities
from embassay.report.pteb.verdict import pteb_verdict
from embassay.report.pteb.wordings import Wordings, wordings
from embassay.report.record import Record
from embassay.report.tablefiles import FileTable, file_tables
from embassay.report.verdict import Verdict

ALONE = ("pteb-table1", "pteb-table8", "pteb-table12", "pteb-table13")
"""The tables of the run whose numbers stand nowhere else on the page: word counts, costs, prompts, datasets."""

BESIDE = 3
"""Systems that stand side by side in a report of several runs; that of the run alone has all."""


@dataclass(frozen=True)
class PtebPage:
    """The content of the page; what the run does not have is empty."""

    facts: tuple[str, ...]
    verdict: Verdict
    dumbbells: tuple[Dumbbells, ...]
    beside: tuple[tuple[Dumbbell, tuple[Dumbbell | None, ...]], ...]
    scores: tuple[ScoreTable, ...]
    by_source: Matrix | None
    gaps: tuple[Gap, ...]
    command: str
    baseline: tuple[BaselinePlot, ...]
    stability: tuple[Stability, ...]
    orders: tuple[tuple[str, str], ...]
    against: Against | None
    distance: Against | None
    headings: tuple[str, ...]
    quality: tuple[Quality, ...]
    several_sources: bool
    outcomes: tuple[tuple[str, str], ...]
    wordings: tuple[Wordings, ...]
    wordings_reason: str
    drops: tuple[FileTable, ...]
    tables: tuple[FileTable, ...]


def pteb_page(record: Record, board: Board) -> PtebPage | None:
    """The page of a record; None when no task has finished a cell."""
    if not any(cell.status == "done" for cell in record.cells):
        return None
    losses = Losses(record, board)
    charts = dumbbells(losses)
    texts, reason = wordings(record)
    quality = qualities(record)
    files = file_tables(record.path)
    return PtebPage(
        facts=_facts(record, board),
        verdict=pteb_verdict(record, board),
        dumbbells=charts,
        beside=side_by_side(charts[:BESIDE]),
        scores=score_tables(losses),
        by_source=source_table(losses),
        gaps=gaps(board),
        command=record.manifest.get("command", ""),
        baseline=baseline_plots(record, board),
        stability=stabilities(record, board),
        orders=orders(record, board),
        against=against_original(losses),
        distance=against_distance(losses),
        headings=HEADINGS,
        quality=quality,
        several_sources=len({one.source for one in quality}) > 1,
        outcomes=outcome_lines(record),
        wordings=texts,
        wordings_reason=reason,
        drops=tuple(table for table in files if table.id.startswith("drop-by-")),
        tables=tuple(table for table in files if table.id in ALONE),
    )


def _facts(record: Record, board: Board) -> tuple[str, ...]:
    datasets = {name for task in board.tasks for name in record.datasets(task.name)}
    runs = {
        variant.rpartition("seed=")[2]
        for _, _, _, variant, _, _ in record.rows
        if variant.startswith(PARAPHRASE)
    }
    sources = record.manifest.get("paraphrases", {}).get("sources", ())
    by = (
        f" by {sources[0]['name']}" if len(sources) == 1 else f" by {len(sources)} sources" if sources else ""
    )
    return (
        "PTEB",
        numbers.counted(len(board.tasks), "task"),
        numbers.counted(len(datasets), "dataset") if len(datasets) > 1 else next(iter(datasets), ""),
        numbers.counted(len(record.ranked_systems), "system"),
        f"{numbers.counted(len(runs), 'run')}{by}",
    )
