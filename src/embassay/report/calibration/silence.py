"""When to say nothing: from which score to answer, as a page and a terminal show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from embassay.document.blocks import Block, Column, Heading, ParagraphBlock, Said, Table, TableCell, make_number_columns
from embassay.protocols.calibration.options import ANSWERED, LOSS, SILENT, SILENT_BELOW
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import SCORE
from embassay.records import ResultRow
from embassay.report.board import BoardRow, SystemBoard
from embassay.report.record import RunRecord


def show_silence_thresholds(record: RunRecord, board: SystemBoard) -> Iterator[Block]:
    """From which score to answer, so that questions without an answer get none; no block where none were given."""
    rows = [row for row in record.rows.values() if row.measure == SILENT_BELOW]
    if not rows:
        return
    yield Heading("When not to answer", "calibration-silence")
    options = record.arguments
    for row in board.ranked:
        yield from (ParagraphBlock(text) for text in _explain_best_silence_signals(record, row, options))
    labels = {row.system.name: row.label for row in board.rows}
    heads: list[str | Column] = [
        "System", "Questions", "Signal", *make_number_columns("Answer above", "silent", "answered")
    ]  # fmt: skip
    lines: list[list[Said | TableCell]] = [
        [labels.get(row.system, row.system), row.subset, row.variant, *_list_silence_row_cells(record, row)]
        for row in _sort_silence_signals(record, rows)
    ]
    yield Table.of("silence", heads, lines)


def _sort_silence_signals(record: RunRecord, rows: Sequence[ResultRow]) -> list[ResultRow]:
    """By system and kind of question, and of each the signal first that tells answerable questions best."""
    losses = {(r.system, r.subset, r.variant): r.value or 0.0 for r in record.rows.values() if r.measure == LOSS}
    kinds = list(dict.fromkeys(row.subset for row in rows))
    return sorted(
        rows, key=lambda r: (r.system, kinds.index(r.subset), losses.get((r.system, r.subset, r.variant), 0.0))
    )


def _list_silence_row_cells(record: RunRecord, row: ResultRow) -> Iterator[TableCell]:
    where = (row.system, row.subset, row.variant)
    at = {r.measure: r for r in record.rows.values() if (r.system, r.subset, r.variant) == where}
    yield make_value_interval_cell(row)
    yield from (make_value_interval_cell(at.get(measure)) for measure in (SILENT, ANSWERED))


_SIGNALS = {
    "score": "the best score",
    "margin": "the margin between the best and the second-best score",
    "reranker": "the reranker's best score",
}


def _explain_best_silence_signals(record: RunRecord, row: BoardRow, arguments: Mapping[str, Any]) -> Iterator[str]:
    """What the best signal can do about each kind of question, and why where it can do nothing."""
    of_run = [r for r in record.rows.values() if r.measure == SILENT_BELOW and r.system == row.system.name]
    told: set[str] = set()
    for best in _sort_silence_signals(record, of_run):
        if best.subset in told:
            continue
        told.add(best.subset)
        yield _explain_best_silence_signal(record, row.label, best, arguments)


def _explain_best_silence_signal(record: RunRecord, label: str, best: ResultRow, arguments: Mapping[str, Any]) -> str:
    if best.value is None:
        return f"{label}, {best.subset} questions: {best.reason}." if best.subset else f"{label}: {best.reason}."
    silent, aim = numbers.format_percent(arguments["silent"]), numbers.format_percent(arguments["answered"])
    said = (
        f"{label}, {best.subset} questions: answer if {_SIGNALS[best.variant]} is above {SCORE.text(best.value)}. "
        f"At least {silent} of these questions then get no answer"
    )
    answered = record.find(
        "answers", best.system, ANSWERED, dataset=best.dataset, variant=best.variant, subset=best.subset
    )
    if answered is None or answered.ci_low is None:
        return f"{said}."
    confidence = numbers.format_percent(arguments["options"]["confidence"])
    short = f" It is not certain that {aim} of them get one." if answered.ci_low < arguments["answered"] else ""
    least = numbers.format_percent(answered.ci_low)
    return f"{said}, and at least {least} of questions with evidence get an answer ({confidence} confidence).{short}"


def make_value_interval_cell(row: ResultRow | None) -> TableCell:
    """A value with its interval, or why there is none."""
    if row is None or row.value is None:
        return TableCell(numbers.NONE, why=row.reason if row is not None else "no threshold")
    if row.ci_low is None or row.ci_high is None:
        return TableCell(SCORE.text(row.value), exact=str(row.value))
    ends = (row.ci_low, row.ci_high)
    return TableCell(SCORE.text(row.value), SCORE.interval(*ends), ",".join(map(str, (row.value, *ends))))
