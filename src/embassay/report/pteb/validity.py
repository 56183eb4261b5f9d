"""The change on valid paraphrases alone, as raters and a run give it: a line for each dataset, task and system."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.document.blocks import Block, Column, Heading, ParagraphBlock, Table, make_number_columns
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import POINTS
from embassay.protocols.pteb.validity.conclusions import DOUBT, INVALID, SHARE, VALID
from embassay.records import ResultRow
from embassay.report.board import SystemBoard
from embassay.report.record import Key, RunRecord

HOW = (
    "In points. On valid: the change on paraphrases that raters call valid, estimated from the rated items and the "
    "changes of all items. Added: what invalid paraphrases add to the change. Intervals (95%) include the sampling "
    "of the ratings; runs are held fixed. In doubt: raters could not decide."
)


def show_change_on_valid_paraphrases(
    record: RunRecord, board: SystemBoard, *, heading: bool = False
) -> Iterator[Block]:
    """Blocks on the validity of paraphrases: the table with its reading; nothing without ratings."""
    keys = [key for key in record.rows if key[-1] == VALID]
    if not keys:
        return
    if heading:
        yield Heading("Change on valid paraphrases only", "pteb-valid")
    titles = {task.name: task.short for task in board.tasks}
    labels = {row.system.name: row.label for row in board.rows}
    counts = ("Change", "On valid, 95%", "Added, 95%", "Valid", "Rated", "In doubt")
    heads: list[str | Column] = ["Task", "Dataset", "System", *make_number_columns(*counts)]
    rows = [_make_row_of_valid_paraphrase_change(record, key, titles, labels) for key in keys]
    yield Table.of("valid-changes", heads, rows)
    yield ParagraphBlock(HOW)
    for reason in dict.fromkeys(
        reason for key in keys if (reason := _explain_undefined_validity_score(record, key, titles))
    ):
        yield ParagraphBlock(reason)


def _make_row_of_valid_paraphrase_change(
    record: RunRecord, key: Key, titles: dict[str, str], labels: dict[str, str]
) -> list[str]:
    task, dataset, subset, variant, system, _ = key
    rows = {name: record.rows.get((*key[:-1], name)) for name in ("delta", VALID, INVALID, SHARE, DOUBT)}
    share, doubt = rows[SHARE], rows[DOUBT]
    valid = share.value if share is not None else None
    where = ", ".join(filter(None, (dataset or "mean", subset, variant)))
    return [
        titles.get(task, task), where, labels.get(system, system), _change_cell(rows["delta"], ends=False),
        _change_cell(rows[VALID]), _change_cell(rows[INVALID]),
        numbers.NONE if valid is None else numbers.format_percent(valid),
        "0" if share is None else numbers.format_count(share.n),
        numbers.NONE if doubt is None or doubt.value is None else numbers.format_count(round(doubt.value * doubt.n)),
    ]  # fmt: skip


def _change_cell(row: ResultRow | None, *, ends: bool = True) -> str:
    if row is None or row.value is None:
        return numbers.NONE
    text = POINTS.change(row.value)
    if not ends or row.ci_low is None or row.ci_high is None:
        return text
    return f"{text} ({POINTS.interval(row.ci_low, row.ci_high)})"


def _explain_undefined_validity_score(record: RunRecord, key: Key, titles: dict[str, str]) -> str:
    row = record.rows[key]
    where = " ".join(filter(None, (key[1], key[2])))
    return f"{titles.get(key[0], key[0])} on {where}: {row.reason}." if row.reason else ""
