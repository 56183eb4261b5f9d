"""The layout of the paper's tables 6, 9 and 10: original, PTEB, difference and standard deviation of every system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embassay.contracts import Kind
from embassay.protocols.pteb.tables.given import mean
from embassay.protocols.tables import Column, Value, csv_text, markdown_text

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
class Grid:
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

    def as_markdown(self) -> str:
        """`Orig. | PTEB` and below it the difference and the standard deviation over runs, two decimals."""
        systems = list(dict.fromkeys(one.system for one in self.entries))
        body = []
        for label in self._rows:
            of_row = {one.system: one for one in self._of(label)}
            cells = [_written(of_row[system]) if system in of_row else "" for system in systems]
            body.append([*label, *cells, DELTA.written(average_delta(list(of_row.values())))])
        headings = [*(label.capitalize() for label in self.labels), *systems, "Average difference"]
        marks = ["---"] * len(self.labels) + ["---:"] * (len(systems) + 1)
        return markdown_text(self.title, headings, marks, body, self.note)

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
