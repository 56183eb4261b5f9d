"""Pairs that people should look at, in a file, and the decisions that came back."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from embassay.data.delimited import Delimited
from embassay.data.rows import Row, missing_column, nearest
from embassay.errors import DataError
from embassay.protocols.kernel.tables import inert, meant
from embassay.protocols.pteb.validation.checks import Decisions, Flag
from embassay.protocols.pteb.validation.pairs import Item
from embassay.protocols.pteb.validation.rating_file import cell, rating_of, source_of
from embassay.runs.files import write_atomic

DECISION_COLUMNS = ("pair_id", "rater_id", "inspection", "decision", "reason")
DECISIONS = ("clear", "reject")


def read_decisions(path: Path) -> Decisions:
    """Read a CSV or JSON Lines file with the columns `pair_id` and `inspection` (the inspector's rating from 0 to 5),
    and `rater_id`, `decision` (clear or reject) and `reason` in rows about a rater; other columns are passed over.

    The file that `score` writes, `inspect.csv`, has them. DataError, with file and line, for a rating off the scale,
    two ratings of one pair, a decision without a reason, and one that is neither.
    """
    source = source_of(path)
    for column in ("pair_id", "inspection"):
        if column not in source.columns():
            raise missing_column(source, column)
    inspected: dict[str, float] = {}
    decided: dict[str, dict[str, str]] = {name: {} for name in DECISIONS}
    for row in source.rows([column for column in DECISION_COLUMNS if column in source.columns()]):
        pair_id, value = cell(row, "pair_id"), rating_of(row, "inspection")
        if value is not None:
            if inspected.get(pair_id, value) != value:
                raise DataError(
                    f"the pair {pair_id} was inspected twice, with different ratings.", path=path, line=row.line,
                    mend="Keep one of them.",
                )  # fmt: skip
            inspected[pair_id] = value
        _decide(row, decided)
    return Decisions(inspected, decided["clear"], decided["reject"])


def _decide(row: Row, decided: dict[str, dict[str, str]]) -> None:
    decision, rater, reason = (cell(row, column) for column in ("decision", "rater_id", "reason"))
    if not decision:
        return
    if decision not in DECISIONS:
        near = nearest(decision, DECISIONS)
        raise DataError(
            "the decision is neither clear nor reject", path=row.path, line=row.line, found=repr(decision),
            mend=f"Did you mean {near}?" if near else "Leave it blank where the rules are to decide.",
        )  # fmt: skip
    if not (rater and reason):
        raise DataError(
            f"a decision needs a {'reason' if rater else 'rater_id'}.", path=row.path, line=row.line,
            mend="Every decision is logged with its reason.",
        )  # fmt: skip
    others = decided[DECISIONS[1 - DECISIONS.index(decision)]]
    if rater in others:
        raise DataError(
            f"the rater {rater} is both cleared and rejected.",
            path=row.path,
            line=row.line,
            mend="Keep one of them.",
        )
    decided[decision][rater] = reason


FILE = "inspect.csv"
INSPECTION_COLUMNS = (
    "pair_id", "rater_id", "lang", "text", "text2", "translation", "translation2", "rating", "why", "estimates",
    "inspection", "decision", "reason",
)  # fmt: skip
"""The inspector fills in `inspection` (a rating of their own); translations are for the inspector; `decision` (clear or
reject) and `reason` are about the rater."""


def keep_list(path: Path, flags: Sequence[Flag], items: Mapping[str, Item]) -> int:
    """Write the list, or add to it what it does not have: not a cell of what is there is changed, and a list that has
    everything is not touched. Returns how many rows are new."""
    header, rows, delimiter = _kept(path)
    known = {(row.get("pair_id", ""), meant(row.get("rater_id", ""))) for row in rows}
    new = [
        _row(flag, items[flag.rating.pair_id])
        for flag in flags
        if (flag.rating.pair_id, flag.rating.rater_id) not in known
    ]
    if new or not path.exists():
        columns = [*header, *(name for name in INSPECTION_COLUMNS if name not in header)]
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, columns, delimiter=delimiter, lineterminator="\r\n", restval="")
        writer.writeheader()
        writer.writerows([*rows, *new])
        write_atomic(path, buffer.getvalue().encode("utf-8-sig"))
    return len(new)


def _kept(path: Path) -> tuple[list[str], list[dict[str, str]], str]:
    """Header, rows and separator of the list as it is."""
    if not path.exists():
        return [], [], ","
    source = source_of(path)
    columns = list(source.columns())
    rows = [{column: cell(row, column) for column in columns} for row in source.rows(columns)]
    return columns, rows, source.delimiter if isinstance(source, Delimited) else ","


def _row(flag: Flag, item: Item) -> dict[str, Any]:
    return {
        "pair_id": item.pair_id,
        "rater_id": inert(flag.rating.rater_id),
        "lang": item.lang,
        "text": inert(item.text),
        "text2": inert(item.text2),
        "rating": f"{flag.rating.value:g}",
        "why": "; ".join(flag.reasons),
        "estimates": "; ".join(f"{judge}: {value:g}" for judge, value in flag.estimates.items()),
    }
