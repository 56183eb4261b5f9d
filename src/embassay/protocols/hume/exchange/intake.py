"""What comes in is checked whole before anything is written: items, annotators, values, and what is there already."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embassay.errors import DataError, UsageError
from embassay.protocols.hume.answers import checked_value
from embassay.protocols.hume.exchange.held import Key, filed, served
from embassay.protocols.hume.exchange.incoming import Incoming
from embassay.protocols.hume.folder.formats import AnnotationRow
from embassay.protocols.hume.folder.reading import ANNOTATIONS, StudyFolder
from embassay.runs.files import slug, write_atomic

_MARKS = re.compile(r"\s*\[?\s*[01](?:[\s,;]*[01])*\s*\]?\s*")
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,80}")


@dataclass(frozen=True)
class Names:
    """Who annotators are: `only` names those whose file does not say so, `renamed` maps what a file calls somebody."""

    only: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, given: Sequence[str]) -> Names:
        """From `--annotator ann` or `--annotator 3=ann`. Raises UsageError for several names without a `=`."""
        plain = [one for one in given if "=" not in one]
        if len(plain) > 1:
            raise UsageError(
                f"{len(plain)} annotators are named without saying who is who.",
                mend="Write --annotator 3=ann.",
            )
        pairs = (one.partition("=") for one in given if "=" in one)
        return cls(plain[0].strip() if plain else "", {old.strip(): new.strip() for old, _, new in pairs})

    def of(self, one: Incoming) -> str:
        """The annotator of an answer; "" where nobody says."""
        return self.renamed.get(one.annotator_id, one.annotator_id) or self.only


def checked_rows(folder: StudyFolder, answers: Iterable[Incoming], names: Names) -> list[AnnotationRow]:
    """The answers as rows of the study. Raises DataError for the first that cannot be one, saying how many cannot: an
    item that the study has not, nobody's answer, a value that the task does not know, the same answer twice."""
    rows: dict[Key, tuple[AnnotationRow, Incoming]] = {}
    faults: list[DataError] = []
    items = {item.id: item for item in folder.items}
    for one in answers:
        try:
            row = _row(folder, items, one, names)
            key = row.annotator_id, row.item_id
            if key in rows:
                first = rows[key][1].at
                where = f"line {first.line}" if first.line else first.words
                raise one.at.fault(
                    f"the answer of {row.annotator_id} to {row.item_id} is there twice, before in {first.path.name}, "
                    f"{where}",
                    mend="Keep one of them.",
                )
            rows[key] = row, one
        except DataError as error:
            faults.append(error)
    if faults:
        raise _together(faults)
    return [row for row, _ in rows.values()]


def _row(folder: StudyFolder, items: Mapping[str, Any], one: Incoming, names: Names) -> AnnotationRow:
    annotator = names.of(one)
    if one.item_id not in items:
        raise one.at.fault(
            f"{one.item_id} is no item of the study",
            mend="Give answers to this study: its ids are in items.jsonl.",
        )
    if not annotator:
        raise one.at.fault("nobody is named as annotator", mend="Say who it was: --annotator NAME.")
    if not _NAME.fullmatch(annotator):
        raise one.at.fault("the annotator's name is too long or no plain text", found=repr(annotator)[:60])
    item = items[one.item_id]
    task = folder.task(item.task)
    try:
        value = checked_value(
            task, item.payload, _listed(one.value) if task.family == "reranking" else one.value
        )
    except DataError as error:
        raise one.at.fault(
            f"the answer to {one.item_id} is {one.value!r}"[:200],
            mend=error.mend or "Give a value of the task.",
        ) from None
    return AnnotationRow(
        item_id=one.item_id, annotator_id=annotator, value=value, ts=one.ts, seconds=one.seconds, kind=one.kind,
        flag=one.flag, comment=one.comment,
    )  # fmt: skip


def _listed(value: Any) -> Any:
    """Marks that a table has as text: `[1, 0]`, `1 0`, `1;0` or `10`."""
    if not isinstance(value, str) or not _MARKS.fullmatch(value):
        return value
    return [int(sign) for sign in value if sign in "01"]


def _together(faults: Sequence[DataError]) -> DataError:
    first, more = faults[0], len(faults) - 1
    if not more:
        return first
    return DataError(
        f"{first.what} (and {more} more such lines)", path=first.path, line=first.line, expected=first.expected,
        found=first.found, mend=first.mend,
    )  # fmt: skip


def check_new(folder: StudyFolder, rows: Sequence[AnnotationRow], *, replace: bool) -> int:
    """How many of the rows take the place of one that is there. Raises UsageError where any would and `replace` is not
    set, and always for answers in the store of `hume serve`, which belong to its annotators."""
    new = {(row.annotator_id, row.item_id) for row in rows}
    stored = {(row.annotator_id, row.item_id) for row in served(folder)} & new
    if stored:
        who = ", ".join(sorted({annotator for annotator, _ in stored}))
        raise UsageError(
            f"{who} answered {len(stored)} of these items on the pages of `embassay hume serve`.",
            mend="Import under another name: --annotator OLD=NEW.",
        )
    before = {(row.annotator_id, row.item_id): path for path, held in filed(folder).items() for row in held}
    again = [key for key in before if key in new]
    if again and not replace:
        who = ", ".join(sorted({annotator for annotator, _ in again}))
        raise UsageError(
            f"The study has {len(again)} of these answers of {who} already, in {before[again[0]].name}.",
            mend="Put these in their place with --replace.",
        )
    return len(again)


def write_rows(folder: StudyFolder, rows: Sequence[AnnotationRow]) -> list[Path]:
    """Put the rows into one file for each annotator, in place of earlier answers of theirs to the same items, whichever
    file has them."""
    new = {(row.annotator_id, row.item_id) for row in rows}
    files = filed(folder)
    changed: dict[Path, list[AnnotationRow]] = {}
    targets = {folder.path / ANNOTATIONS / f"{slug(row.annotator_id)}.jsonl" for row in rows}
    for path, held in files.items():
        kept = [row for row in held if (row.annotator_id, row.item_id) not in new]
        if len(kept) < len(held):
            changed[path] = kept
    for row in rows:
        path = folder.path / ANNOTATIONS / f"{slug(row.annotator_id)}.jsonl"
        changed.setdefault(path, list(files.get(path, ()))).append(row)
    order = {item.id: place for place, item in enumerate(folder.items)}
    # New answers first: a crash in between leaves one twice, which is said, never none.
    for path, held in sorted(changed.items(), key=lambda one: one[0] not in targets):
        held.sort(key=lambda row: (row.annotator_id, order[row.item_id]))
        if held:
            write_atomic(path, "".join(row.model_dump_json() + "\n" for row in held))
        else:
            path.unlink()
    return sorted(targets)
