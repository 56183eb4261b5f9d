"""Every system over all runs of a report: one row per system, one column per run that ranks or places it."""

from __future__ import annotations

from collections.abc import Sequence

from semblance.contracts import Kind
from semblance.protocols import numbers
from semblance.protocols.numbers import POINTS, SCORE
from semblance.report.cards.sources import score_of, summary_of
from semblance.report.gathered import Run, rows_of, systems_of
from semblance.report.hume.words import POINTS as PEOPLE
from semblance.report.matrix import Entry, Line, Matrix, entry
from semblance.report.rag.matrices import TASK
from semblance.report.record import OVERALL
from semblance.report.tasks import PLACES

KINDS = ("embedding", "classical", "llm")
NOTHING = Entry("not run", why="not part of the run")
MOST_ROWS = 300


def together(runs: Sequence[Run]) -> Matrix | None:
    """The table; None where fewer than two runs have a score of a system. Where some systems are in several runs, those
    in one alone are left to the page of that run."""
    found = [(title, cells) for run in runs for title, cells in _columns(run) if cells]
    if len({title.partition(",")[0] for title, _ in found}) < 2:
        return None
    label = {system.name: name for system, name in systems_of(runs)}
    order = [row.system for row in rows_of(sorted(runs, key=lambda run: run.record.kind not in PLACES))]
    kinds = _kinds(runs)
    counts = {one.name: sum(one.name in cells for _, cells in found) for one in order if one.name in kinds}
    least = min(2, max(counts.values(), default=0)) or 1
    shown = [one.name for one in order if counts.get(one.name, 0) >= least][:MOST_ROWS]
    columns = [(title, cells) for title, cells in found if any(name in cells for name in shown)]
    lines = tuple(
        Line(label[name], tuple(cells.get(name, NOTHING) for _, cells in columns), kinds[name])
        for name in shown
    )
    return Matrix(
        "together", "Leading scores", "System", tuple(title for title, _ in columns), lines, digits=3
    )  # fmt: skip


def _kinds(runs: Sequence[Run]) -> dict[str, Kind]:
    """What is compared: models and metrics, neither references nor runs of retrieval."""
    return {one.name: one.kind for run in runs for one in run.record.systems if one.kind in KINDS}


Cells = dict[str, Entry]


def _columns(run: Run) -> list[tuple[str, Cells]]:
    kind = run.record.kind
    if kind in PLACES:
        return [_board(run)]
    makers = {"score": _score, "hume": _hume}
    return makers[kind](run) if kind in makers else []


def _board(run: Run) -> tuple[str, Cells]:
    board = run.board
    what = "overall" if board.lead == OVERALL else board.lead_title
    points = ", points" if board.unit is POINTS else ""
    cells = {}
    for row in board.rows:
        if row.system.ranked:
            made = entry(row.lead.row, board.unit, bold=row.lead.best)
            rank = f"rank {row.rank}" + (" of its kind" if row in board.apart else "") if row.rank else ""
            small = " · ".join(filter(None, (made.small, rank))) if row.lead.value is not None else row.note
            text = made.text if row.lead.value is not None else row.lead.text
            cells[row.system.name] = Entry(text, small, made.exact, 0, made.why, made.bold)
    return f"{run.title}, {what}{points}", cells


def _score(run: Run) -> list[tuple[str, Cells]]:
    score = score_of(run)
    if score is None:
        return []
    best = run.record.scope(TASK).best
    cells = {
        one.name: entry(row, SCORE, bold=one.name in best)
        for one in run.record.systems
        if (row := run.record.find(TASK, one.name, score.headline, dataset=score.judgements.name)) is not None
    }
    return [(f"{run.title}, {score.headline}", cells)]


def _hume(run: Run) -> list[tuple[str, Cells]]:
    """The mean over pairs and, beside it, the place among all and people."""
    summary = summary_of(run)
    if summary is None:
        return []
    ranked = sum(one.rank is not None for one in summary.places)
    cells = {}
    for one in summary.places:
        if one.kind == "human" or one.mean.value is None:
            continue
        place = f"place {one.rank} of {ranked}" if one.rank is not None else "no place"
        exact = f"{one.mean.value * PEOPLE.factor:.6g}"
        cells[one.system] = Entry(PEOPLE.text(one.mean.value), place, exact)
    human = next((one.mean.value for one in summary.places if one.kind == "human"), None)
    beside = "" if human is None else f" (people {PEOPLE.text(human)})"
    if summary.simulated:
        beside = beside.replace("people", "scripts")
    pairs = numbers.counted(len(summary.pairs), "pair")
    return [(f"{run.title}, mean of {pairs}{beside}", cells)]
