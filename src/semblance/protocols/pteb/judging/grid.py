"""A table of named rows and columns, as the files of a run hold it."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

Value = float | int | str | None


@dataclass(frozen=True)
class Grid:
    """Rows by their label, `heading` being what the labels are; None where there is no value."""

    name: str
    title: str
    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Value, ...]], ...]

    def as_csv(self) -> str:
        """Full precision, empty where there is no value."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([self.heading, *self.columns])
        for label, values in self.rows:
            writer.writerow([label, *("" if one is None else one for one in values)])
        return stream.getvalue()

    def as_markdown(self) -> str:
        """Two decimals, `n/a` where there is no value."""
        lines = [f"**{self.title}**", "", f"| {self.heading} | {' | '.join(map(_safe, self.columns))} |"]
        lines.append("|---|" + "---:|" * len(self.columns))
        for label, values in self.rows:
            lines.append(f"| {_safe(label)} | {' | '.join(map(_shown, values))} |")
        return "\n".join(lines) + "\n"


def _shown(value: Value) -> str:
    if value is None:
        return "n/a"
    return f"{value:.2f}" if isinstance(value, float) else _safe(str(value))


def _safe(text: str) -> str:
    return text.replace("|", "\\|")
