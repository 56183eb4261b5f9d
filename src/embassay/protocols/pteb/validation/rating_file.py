"""The rating file, one rating per row, and what came back held against the study's key."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.data.delimited import Delimited, text_lines
from embassay.data.rows import Row, Source, missing_column, nearest
from embassay.data.tables import known_suffix, table
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.tables import inert, meant
from embassay.protocols.pteb.validation.checks import Decisions, Flag, Rating
from embassay.protocols.pteb.validation.pairs import HIGHEST, LOWEST, Item
from embassay.runs.folder import to_json, write_atomic

COLUMNS = ("pair_id", "lang", "text", "text2", "rater_id", "rating", "is_dummy", "expected", "ts")
SHOWN = ("pair_id", "lang", "text", "text2", "rater_id", "rating", "ts")
"""The columns that raters see."""
NEEDED = ("pair_id", "rater_id", "rating")

_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")


@dataclass(frozen=True)
class Rated:
    """A row of a rating file: a rating from 0 to 5, or None where the cell is blank; `texts` as in the file, () where
    it has none."""

    pair_id: str
    rater_id: str
    rating: float | None
    texts: tuple[str, ...]
    ts: str
    path: Path
    line: int


def read_ratings(path: Path) -> list[Rated]:
    """The rows of a rating file, blank ratings included; rows without anything are passed over.

    CSV may be separated by commas, semicolons or tabs, and write 3,5 for 3.5: spreadsheets of half of Europe do.
    DataError, with file and line, for a file that is none, and a rating that is no number from 0 to 5.
    """
    source = source_of(path)
    for column in NEEDED:
        if column not in source.columns():
            raise missing_column(source, column)
    texts = [column for column in ("text", "text2") if column in source.columns()]
    wanted = [*NEEDED, *texts, *(["ts"] if "ts" in source.columns() else [])]
    return [_rated(row, texts) for row in source.rows(wanted) if any(cell(row, column) for column in wanted)]


def write_ratings(path: Path, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = COLUMNS) -> None:
    """Write rows with these columns, by the name's ending as CSV or JSON Lines; a missing cell is blank or null."""
    rows = list(rows)
    if known_suffix(path.name) == ".jsonl":
        lines = (to_json({column: row.get(column) for column in columns}) for row in rows)
        write_atomic(path, "".join(f"{line}\n" for line in lines))
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([inert(_written(row.get(column))) for column in columns] for row in rows)
    # Spreadsheets take a file without the mark for one in an old code page.
    write_atomic(path, buffer.getvalue().encode("utf-8-sig"))


def source_of(path: Path) -> Source:
    """The table in a file; a CSV's separator is the one of comma, semicolon and tab that its header has most of."""
    if known_suffix(path.name) != ".csv":
        return table(path)
    _, header = next(iter(text_lines(path)))
    return Delimited(path, max((",", ";", "\t"), key=header.count))


def cell(row: Row, column: str) -> str:
    """A cell as text without blanks around it; empty where there is none."""
    value = row.cells.get(column)
    return "" if value is None else str(value).strip()


def rating_of(row: Row, column: str) -> float | None:
    """The number from 0 to 5 in a cell, None where it is blank; DataError with file and line for anything else."""
    found = cell(row, column)
    if not found:
        return None
    value = float(found.replace(",", ".")) if _NUMBER.fullmatch(found) else None
    if value is None or not LOWEST <= value <= HIGHEST:
        raise DataError(
            "the rating is not on the scale", path=row.path, line=row.line, expected="a number from 0 to 5",
            found=repr(found), mend="Ask the rater, or leave the cell blank: it counts as not rated.",
        )  # fmt: skip
    return value


def _rated(row: Row, texts: Sequence[str]) -> Rated:
    pair_id, rater_id = meant(cell(row, "pair_id")), meant(cell(row, "rater_id"))
    for column, value in (("pair_id", pair_id), ("rater_id", rater_id)):
        if not value:
            raise DataError(
                f"the row has no {column}.", path=row.path, line=row.line,
                mend="Fill it in as in the file that was sent out.",
            )  # fmt: skip
    found = tuple(meant(str(row.cells.get(column) or "")) for column in texts)
    return Rated(pair_id, rater_id, rating_of(row, "rating"), found, cell(row, "ts"), row.path, row.line)


def _written(value: Any) -> Any:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else value


def collect(files: Iterable[Path], items: Mapping[str, Item], *, estimates: bool = False) -> list[Rating]:
    """The ratings in the files; blank ones are not rated and left out. Of `estimates` the rater is a language model.

    DataError, with file and line, for a pair that the study does not have, texts that are not those of the pair, and a
    pair that one rater rated twice.
    """
    found: dict[tuple[str, str], Rated] = {}
    for path in files:
        for row in read_ratings(path):
            _check_pair(row, items, estimates=estimates)
            key = (row.rater_id, row.pair_id)
            if row.rating is None:
                continue
            if key in found:
                first = found[key]
                raise DataError(
                    f"{row.rater_id} rated the pair {row.pair_id} before", path=row.path, line=row.line,
                    found=f"the other in {first.path}:{first.line}",
                    mend="Keep one of the two; raters need ids of their own.",
                )  # fmt: skip
            found[key] = row
    return [
        Rating(row.pair_id, row.rater_id, row.rating, row.ts)
        for row in found.values()
        if row.rating is not None
    ]


def check_decisions(decisions: Decisions, ratings: Sequence[Rating], items: Mapping[str, Item]) -> None:
    """UsageError for a pair or rater in the inspector's file that the study does not know."""
    raters = {one.rater_id for one in ratings}
    for what, names, known in (
        ("pair", decisions.inspected, set(items)),
        ("rater", {**decisions.cleared, **decisions.rejected}, raters),
    ):
        for name in names:
            if name not in known:
                near = nearest(name, known)
                raise UsageError(
                    f"The inspector's file has the {what} {name!r}, which the study does not.",
                    mend=f"Did you mean {near}?" if near else "Correct or remove the row.",
                )


def _check_pair(row: Rated, items: Mapping[str, Item], *, estimates: bool) -> None:
    item = items.get(row.pair_id)
    if item is None:
        raise DataError(
            f"the study has no pair {row.pair_id!r}.", path=row.path, line=row.line,
            mend="Is the file of another study, or was the cell changed?",
        )  # fmt: skip
    if row.texts and not estimates:
        ours = sorted(map(_plain, (item.text, item.text2)))
        if sorted(map(_plain, row.texts)) != ours[: len(row.texts)] and len(row.texts) == 2:
            raise DataError(
                f"the texts are not those of the pair {row.pair_id}.", path=row.path, line=row.line,
                mend="Rows have been moved, or texts edited: get the file from the rater again.",
            )  # fmt: skip


def _plain(text: str) -> str:
    """Without what spreadsheets change: line ends and blanks around."""
    return " ".join(text.split())


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
