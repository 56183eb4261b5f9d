"""The file that a person edits: final lists of some questions, one passage per row, with a place and a grade to change.

CSV, or tab-separated by the name's ending, as spreadsheets read and write it. `item` names the passage whatever a
spreadsheet makes of ids; all other columns but `place`, `grade` and `remark` are for the reader and are not read back.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from embassay.data.delimited import Delimited
from embassay.data.lines import text_lines
from embassay.data.rows import Row, missing_column
from embassay.data.tables import known_suffix
from embassay.errors import DataError, UsageError
from embassay.protocols.spreadsheets import inert
from embassay.randomness import generator
from embassay.runs.files import digest, write_atomic

EDITED = ("place", "grade", "remark")
NEEDED = ("item", *EDITED)
JUDGES = ("judge_place", "judge_grade")
"""Columns of what the judge said, left out of a blind check."""
ENDINGS = (".csv", ".tsv")

_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)?")


@dataclass(frozen=True)
class Listed:
    """A passage of a final list: its place (1 = best) and grade by the judge (None where it gave none), its text."""

    doc_id: str
    place: int
    grade: int | None
    text: str


@dataclass(frozen=True)
class FinalList:
    """The final list of one question, best first."""

    query_id: str
    question: str
    passages: tuple[Listed, ...]


@dataclass(frozen=True)
class Edited:
    """What a person said of one passage; None and "" where nothing."""

    query_id: str
    doc_id: str
    place: float | None
    grade: int | None
    remark: str


def item_of(query_id: str, doc_id: str) -> str:
    """The name of a passage in the file: it says nothing of its place, and no spreadsheet takes it for a number."""
    return f"i{digest([query_id, doc_id])[:10]}"


def write_check(
    path: Path, lists: Sequence[FinalList], *, blind: bool = False, excerpt: int = 800, seed: int = 1337
) -> None:
    """Write the file. Places and grades are the judge's, to be changed where they are wrong; or in a `blind` one they
    are empty, and the passages of a question stand in an order drawn by `seed`. Texts are cut at `excerpt` characters.

    UsageError for an ending that is not known.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=_delimiter(path), lineterminator="\r\n")
    writer.writerow(_columns(blind))
    for one in lists:
        for passage in _shuffled(one, seed) if blind else one.passages:
            row = _row(one, passage, excerpt, blind)
            writer.writerow([row[column] for column in _columns(blind)])
    # Spreadsheets take a file without the mark for one in an old code page.
    write_atomic(path, buffer.getvalue().encode("utf-8-sig"))


def read_check(path: Path, lists: Sequence[FinalList]) -> tuple[list[Edited], bool]:
    """What stands in an edited file of these lists, and whether it was a blind one.

    Rows may be in any order, separators commas, semicolons or tabs, and 1,5 is 1.5. DataError with file and line for a
    passage that is not in the lists or stands twice, one that is missing, and places and grades that are none.
    """
    items = {item_of(one.query_id, p.doc_id): (one, p) for one in lists for p in one.passages}
    source = _source(path)
    for column in NEEDED:
        if column not in source.columns():
            raise missing_column(source, column)
    found: dict[str, Edited] = {}
    lines: dict[str, int] = {}
    for row in source.rows(NEEDED):
        if not any(_cell(row, column) for column in NEEDED):
            continue
        item = _cell(row, "item")
        if item not in items:
            raise _fault(row, "the passage is in no final list", "an item of the file that was written",
                         item, "Restore the column `item`, and check with the run that the file is from.")  # fmt: skip
        if item in found:
            raise _fault(row, "the passage stands twice", f"the item once, as on line {lines[item]}", item,
                         "Delete one of the two rows.")  # fmt: skip
        whose, passage = items[item]
        found[item] = Edited(whose.query_id, passage.doc_id, _place(row), _grade(row), _cell(row, "remark"))
        lines[item] = row.line
    if not found:
        raise DataError(
            "the file has no rows", path=path, mend="Write it anew with `embassay rag check sample`."
        )
    _check_whole(path, found, lines, lists)
    return list(found.values()), "judge_place" not in source.columns()


def _check_whole(
    path: Path, found: Mapping[str, Edited], lines: Mapping[str, int], lists: Sequence[FinalList]
) -> None:
    """DataError if a question has rows, but not all of them."""
    for one in lists:
        wanted = [item_of(one.query_id, passage.doc_id) for passage in one.passages]
        there = [item for item in wanted if item in found]
        if there and len(there) < len(wanted):
            missing = next(item for item in wanted if item not in found)
            raise DataError(
                f"question {one.query_id} lacks a passage", path=path, line=max(lines[item] for item in there),
                expected=f"all {len(wanted)} rows of the question, {missing} among them", found=str(len(there)),
                mend="Restore the row; leave place and grade blank where you have nothing to say.",
            )  # fmt: skip


def _columns(blind: bool) -> tuple[str, ...]:
    judges = () if blind else JUDGES
    return ("item", "query_id", "question", "place", "grade", "remark", *judges, "doc_id", "text")


def _shuffled(one: FinalList, seed: int) -> Iterator[Listed]:
    for place in generator(seed, "human check", one.query_id).permutation(len(one.passages)).tolist():
        yield one.passages[place]


def _row(one: FinalList, passage: Listed, excerpt: int, blind: bool) -> dict[str, object]:
    grade = "" if passage.grade is None else passage.grade
    said = ("", "") if blind else (passage.place, grade)
    return {
        "item": item_of(one.query_id, passage.doc_id),
        "query_id": inert(one.query_id),
        "question": inert(_cut(one.question, excerpt)),
        "place": said[0],
        "grade": said[1],
        "remark": "",
        "judge_place": passage.place,
        "judge_grade": grade,
        "doc_id": inert(passage.doc_id),
        "text": inert(_cut(passage.text, excerpt)),
    }


def _cut(text: str, most: int) -> str:
    """One line of at most so many characters, cut between words."""
    line = " ".join(text.replace("\0", " ").split())
    if len(line) <= most:
        return line
    head = line[: most - 1]
    return (head.rpartition(" ")[0] or head) + "…"


def _delimiter(path: Path) -> str:
    ending = known_suffix(path.name)
    if ending not in ENDINGS:
        raise UsageError(f"A check cannot be written to {path}.", mend="Let its name end in .csv or .tsv.")
    return "\t" if ending == ".tsv" else ","


def _source(path: Path) -> Delimited:
    _delimiter(path)
    _, header = next(iter(text_lines(path)))
    return Delimited(path, max((",", ";", "\t"), key=header.count))


def _cell(row: Row, column: str) -> str:
    return str(row.cells.get(column) or "").strip()


def _place(row: Row) -> float | None:
    found = _cell(row, "place")
    if not found:
        return None
    value = float(found.replace(",", ".")) if _NUMBER.fullmatch(found) else math.nan
    if not 0 < value <= 1_000_000:
        raise _fault(row, "the place cannot be read", "a number above 0 (1 = best; 2.5 goes between 2 and 3), or blank",
                     found, "Correct it, or leave it blank where you have nothing to say.")  # fmt: skip
    return value


def _grade(row: Row) -> int | None:
    found = _cell(row, "grade")
    if not found:
        return None
    # A spreadsheet may write 4 as 4.0.
    whole = re.fullmatch(r"([1-5])(?:[.,]0+)?", found)
    if whole is None:
        raise _fault(row, "the grade cannot be read", "1, 2, 3, 4, 5 or blank", found,
                     "Correct it, or leave it blank where you have nothing to say.")  # fmt: skip
    return int(whole[1])


def _fault(row: Row, what: str, expected: str, found: str, mend: str) -> DataError:
    return DataError(what, path=row.path, line=row.line, expected=expected, found=repr(found), mend=mend)
