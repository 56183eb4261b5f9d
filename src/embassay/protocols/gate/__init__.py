"""Bars that a run must clear: on scores, on ends of intervals, and against an earlier run."""

from embassay.protocols.gate.bars import Bar, Rows, Verdict, read_bar, read_rows
from embassay.protocols.gate.verdict import Gate, as_junit, as_markdown, gate, judged_against, judged_bars

__all__ = [
    "Bar",
    "Gate",
    "Rows",
    "Verdict",
    "as_junit",
    "as_markdown",
    "gate",
    "judged_against",
    "judged_bars",
    "read_bar",
    "read_rows",
]
