"""The rows of a run, looked up by what identifies them, and the layout of the paper's tables 6, 9 and 10."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from embassay.contracts import Kind
from embassay.protocols.kernel.tables import Column, First, Printed, RunTable, Value, csv_text
from embassay.protocols.pteb.analysis import DatasetUsed, LengthBin, WordCount, datasets_used
from embassay.protocols.pteb.analysis.datasets import BOTH, ENGLISH, OTHER, group_of
from embassay.protocols.pteb.analysis.drops import HEADLINES, is_run, source_of
from embassay.protocols.pteb.summary.layout import CONTROLS
from embassay.records import Result

ORIGINAL = "original"
POINTS = 100
"""Scores are shown in points: 0.7543 is 75.43."""


@dataclass(frozen=True)
class Given:
    """The rows of a run and its comparisons; `kinds` are the systems in display order. `words` is table 1, `lengths`
    the drop by length of (task, dataset, system), `seconds` how long a system took for a run of the STS datasets and
    `peaks` the bytes its process held at most; each may be missing."""

    rows: Sequence[Result]
    kinds: Mapping[str, Kind]
    comparisons: Mapping[str, Any] = field(default_factory=dict)
    words: Sequence[WordCount] = ()
    lengths: Mapping[tuple[str, str, str], Sequence[LengthBin]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    peaks: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def _values(self) -> dict[tuple[str, ...], Result]:
        return {
            (row.task, row.dataset, row.variant, row.system, row.measure, row.subset): row
            for row in self.rows
        }

    @cached_property
    def datasets(self) -> tuple[DatasetUsed, ...]:
        """The datasets of the run by task."""
        return datasets_used(self.rows)

    @property
    def tasks(self) -> list[str]:
        """The tasks of the run."""
        return list(dict.fromkeys(one.task for one in self.datasets))

    def find(
        self, task: str, dataset: str, system: str, measure: str, variant: str = "", *, lang: str = ""
    ) -> Result | None:
        """A row over all languages of its dataset, or of one of several."""
        return self._values.get((task, dataset, variant, system, measure, lang))

    def points(
        self, task: str, dataset: str, system: str, measure: str, variant: str = "", *, lang: str = ""
    ) -> float | None:
        """Its value in points, None where there is no row or no value."""
        row = self.find(task, dataset, system, measure, variant, lang=lang)
        return None if row is None else points(row.value)

    def runs(self, used: DatasetUsed, system: str, lang: str, measure: str = "") -> dict[str, list[float]]:
        """The scores of the runs, or their values of another measure, by source, controls beside others left out; of a
        source without a score of some run only those that are there."""
        rows = self._runs.get((used.task, used.dataset, system, measure or used.measure, lang), [])
        own = [one for one in rows if not is_control(one[0])] or rows
        found: dict[str, list[float]] = {}
        for variant, value in own:
            found.setdefault(source_of(variant), []).append(value)
        return found

    @cached_property
    def _runs(self) -> dict[tuple[str, ...], list[tuple[str, float]]]:
        found: dict[tuple[str, ...], list[tuple[str, float]]] = {}
        for row in self.rows:
            if is_run(row.variant) and row.value is not None:
                key = (row.task, row.dataset, row.system, row.measure, row.subset)
                found.setdefault(key, []).append((row.variant, row.value))
        return found

    @property
    def labels(self) -> list[str]:
        """The labels of the sources where there are several: `by=NAME`, `prompt=NAME`."""
        return list(
            dict.fromkeys(row.variant for row in self.rows if row.variant.startswith(("by=", "prompt=")))
        )

    def systems(self) -> Iterator[tuple[Kind, str]]:
        """Kind and name of every system, in display order."""
        return ((kind, name) for name, kind in self.kinds.items())


def is_control(variant: str) -> bool:
    """Whether a variant is that of a control among several sources."""
    return source_of(variant).startswith(tuple(f"by={name}" for name in CONTROLS))


def is_multilingual(used: DatasetUsed) -> bool:
    """Whether a dataset has texts in another language than English."""
    return any(group_of(lang) in (OTHER, BOTH) for lang in used.languages)


def english_part(used: DatasetUsed) -> str | None:
    """The language (`eng`, `en-en`) of a dataset's English part; empty for all of it, None where it has none."""
    if not is_multilingual(used):
        return ""
    return next((lang for lang in used.languages if group_of(lang) == ENGLISH), None)


def headline(task: str) -> str:
    """The measure of a task's score."""
    return HEADLINES.get(task, task)


def points(value: float | None) -> float | None:
    """A fraction in points."""
    return None if value is None else POINTS * value


def mean(values: Sequence[float | None]) -> float | None:
    """The plain mean; None if any is missing or there are none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


AVERAGE = "Average"
ORIG, PTEB, DELTA, SD = Column("orig"), Column("pteb"), Column("delta", "signed"), Column("sd")
VALUES = (ORIG, PTEB, DELTA, SD, Column("delta_sd"), Column("orig_all"))
Values = tuple[float | None, ...]
"""Of `VALUES`, in points. The first three stand on the items that have a wording; `sd` is that of `pteb` over runs, as
in the paper, `delta_sd` that of `delta`, and `orig_all` the original score of all items."""


@dataclass(frozen=True)
class Entry:
    """One system in one row of the grid: see `Values`."""

    label: tuple[str, ...]
    kind: Kind
    system: str
    values: Values


@dataclass(frozen=True)
class Grid(RunTable):
    """Entries row by row. As CSV a line per entry, and with system `Average` the mean difference of the embeddings (of
    all ranked systems where there are none); in Markdown a line per row and a column per system."""

    name: str
    title: str
    labels: tuple[str, ...]
    entries: tuple[Entry, ...]
    note: str = ""

    def as_csv(self) -> str:
        """Full precision, in points."""
        lines: list[Sequence[Value]] = [[*self.labels, "kind", "system", *(column.name for column in VALUES)]]
        for label in self._rows:
            of_row = self._of(label)
            lines += [[*label, one.kind, one.system, *one.values] for one in of_row]
            lines.append([*label, "", AVERAGE, None, None, average_delta(of_row), None, None, None])
        return csv_text(lines)

    def printed(self, first: First | None = None) -> Printed:
        """`Orig. | PTEB` and below it the difference and the standard deviation over runs, two decimals."""
        del first  # its cells are changes
        systems = list(dict.fromkeys(one.system for one in self.entries))
        body = []
        for label in self._rows:
            of_row = {one.system: one for one in self._of(label)}
            cells = [_written(of_row[system]) if system in of_row else "" for system in systems]
            body.append([*label, *cells, DELTA.written(average_delta(list(of_row.values())))])
        headings = [*(label.capitalize() for label in self.labels), *systems, "Average difference"]
        aligns = "l" * len(self.labels) + "r" * (len(systems) + 1)
        return Printed(self.title, headings, aligns, body, self.note)

    @property
    def _rows(self) -> list[tuple[str, ...]]:
        return list(dict.fromkeys(one.label for one in self.entries))

    def _of(self, label: tuple[str, ...]) -> list[Entry]:
        return [one for one in self.entries if one.label == label]


def average_delta(entries: Sequence[Entry]) -> float | None:
    """The mean difference over the embeddings, or over all ranked systems where there are none."""
    ranked = [one for one in entries if one.kind != "reference"]
    embeddings = [one for one in ranked if one.kind == "embedding"]
    return mean([one.values[2] for one in embeddings or ranked])


def average_entries(entries: Sequence[Entry], label: tuple[str, ...]) -> list[Entry]:
    """The last row: the mean of every system's column. It has no standard deviation, as in the paper."""
    found = []
    for system in dict.fromkeys(one.system for one in entries):
        own = [one for one in entries if one.system == system]
        orig, pteb, delta, whole = (mean([one.values[place] for one in own]) for place in (0, 1, 2, 5))
        found.append(Entry(label, own[0].kind, system, (orig, pteb, delta, None, None, whole)))
    return found


def _written(entry: Entry) -> str:
    orig, pteb, delta, sd = entry.values[:4]
    spread = "" if sd is None else f" / ±{SD.written(sd)}"
    return f"{ORIG.written(orig)} | {PTEB.written(pteb)}<br>{DELTA.written(delta)}{spread}"
