"""The inspector's file: a rating of their own for each pair, and raters cleared or rejected."""

from __future__ import annotations

from pathlib import Path

from embassay.data.rows import Row, missing_column, nearest
from embassay.errors import DataError
from embassay.protocols.pteb.validation.checks import Decisions
from embassay.protocols.pteb.validation.rating_file import cell, rating_of, source_of

COLUMNS = ("pair_id", "rater_id", "inspection", "decision", "reason")
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
    for row in source.rows([column for column in COLUMNS if column in source.columns()]):
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
