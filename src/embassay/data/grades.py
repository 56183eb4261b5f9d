"""What a judgement is worth: grade maps (spec rag 1.1) and the gains of a retrieval set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from embassay.data.cells import number_of, shown, wrong
from embassay.data.rows import Row
from embassay.data.tally import Tally
from embassay.errors import DataError, UsageError

GRADE_MAPS: Mapping[str, Mapping[float, int | None]] = {
    "identity": {1: 1, 2: 2, 3: 3, 4: 4, 5: 5},
    "binary": {1: 5, 0: 1},
    "trec3": {3: 5, 2: 4, 1: 3, 0: 1},
    "cranfield": {1: 5, 2: 4, 3: 3, 4: 2, -1: None},
}
"""Name -> (value in the file -> grade 1 to 5, None = drop the row)."""


def grade_map(text: str) -> Mapping[float, int | None]:
    """The map that `--grades` names, or writes as `value=grade,...`; UsageError if it is neither.

    >>> grade_map("2=5,1=3,0=1")
    {2.0: 5, 1.0: 3, 0.0: 1}
    """
    if text in GRADE_MAPS:
        return GRADE_MAPS[text]
    grades: dict[float, int | None] = {}
    for part in text.split(","):
        value, _, grade = part.partition("=")
        try:
            grades[float(value)] = int(grade)
            readable = 1 <= int(grade) <= 5
        except ValueError:
            readable = False
        if not readable:
            raise UsageError(
                f"Cannot read {part!r} in --grades {text}.",
                mend=f"Write {', '.join(GRADE_MAPS)}, or value=grade,... with grades from 1 to 5.",
            )
    return grades


@dataclass(frozen=True)
class Gains:
    """Value in the file -> gain; without a table the value is the gain.

    A value mapped to None is dropped and counted. One that is not in the table is dropped too, or a DataError
    if the table is `complete`.
    """

    table: Mapping[float, float | None] | None = None
    complete: bool = False

    @classmethod
    def from_grades(cls, text: str) -> Gains:
        """The gains of a grade map: gain = grade - 1 (spec rag 1.1)."""
        grades = grade_map(text)
        return cls({value: None if grade is None else grade - 1.0 for value, grade in grades.items()}, True)

    def of(self, row: Row, key: str, tally: Tally) -> float | None:
        """The gain of a judgement, None if it is dropped; a value below 0 gains 0, as in trec_eval."""
        value = number_of(row, "relevance")
        if value is None:
            raise wrong(row, "relevance", "a number")
        if self.table is None:
            if value < 0:
                tally.note("judgements below 0, read as not relevant", key)
            return max(value, 0.0)
        if self.complete and value not in self.table:
            raise DataError(
                "the judgement is not in the grade map", path=row.path, line=row.line,
                expected=", ".join(f"{known:g}" for known in self.table), found=shown(row.cells["relevance"]),
                mend="Name a fitting map with --grades, or write one as value=grade,...",
            )  # fmt: skip
        gain = self.table.get(value)
        if gain is None:
            tally.skip(f"judgements of value {value:g}", key)
        return gain


def fitting_map(values: Iterable[float]) -> str:
    """What to give `--grades` for judgements of these values: a named map that has them all, or one that spreads them
    over the grades 1 to 5.

    >>> fitting_map([0, 1]), fitting_map([0, 1, 2, 3]), fitting_map([-1, 1, 2, 3, 4]), fitting_map([0, 10])
    ('binary', 'trec3', 'cranfield', '0=1,10=5')
    """
    found = sorted(set(values))
    for name in ("binary", "trec3", "identity", "cranfield"):
        if set(found) <= set(GRADE_MAPS[name]):
            return name
    step = 4 / max(1, len(found) - 1)
    spread = [1 + round(i * step) for i in range(len(found))] if len(found) > 1 else [5]
    return ",".join(f"{value:g}={grade}" for value, grade in zip(found, spread, strict=True))
