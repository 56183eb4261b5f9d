"""A gate on a terminal: how it went, a row per bar, and why those that were missed or not tested were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from embassay.protocols import numbers
from embassay.protocols.gate.files import UNPAIRED, value_text, word
from embassay.protocols.gate.verdict import Verdict, summary
from embassay.report.textual import Column, folded, render_table

if TYPE_CHECKING:
    from rich.text import Text


def render_gate(
    verdicts: Sequence[Verdict], *, width: int = 80, wide: bool = False, unicode: bool = True
) -> Text:
    """The verdicts as text within `width` columns unless `wide`."""
    from rich.text import Text

    columns = [Column("Bar"), Column("Verdict"), Column("Value, 95%", right=True), Column("n", right=True)]
    rows: list[list[str | Text]] = [
        [one.bar, Text(word(one), style="red" if one.stops else ""), value_text(one), numbers.count(one.n)]
        for one in verdicts
    ]
    notes = [f"{one.bar}: {one.reason}." for one in verdicts if one.reason]
    if any(one.near for one in verdicts):
        notes.append("Near: the bar lies inside the interval, so another sample could have said otherwise.")
    reasons = dict.fromkeys(one.unpaired for one in verdicts if one.unpaired)
    notes += [f"Unpaired ({reason}): {UNPAIRED}." for reason in reasons]
    lines = [line for note in notes for line in folded(f"- {note}", width, unicode)]
    parts = [
        Text("\n").join(folded(f"{summary(verdicts)}.", width, unicode, "bold")),
        render_table(columns, rows, width=width, wide=wide, unicode=unicode),
    ]
    return Text("\n\n").join([*parts, *([Text("\n").join(lines)] if lines else [])])
