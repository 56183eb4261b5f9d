"""Bars that a run must clear: on scores, on ends of intervals, and against an earlier run."""

from embassay.protocols.gate.bars import Bar, read_bar
from embassay.protocols.gate.files import as_junit, as_markdown
from embassay.protocols.gate.regression import judged_against
from embassay.protocols.gate.rows import Rows, read_rows
from embassay.protocols.gate.verdict import Verdict, judged_bars

__all__ = [
    "Bar",
    "Rows",
    "Verdict",
    "as_junit",
    "as_markdown",
    "judged_against",
    "judged_bars",
    "read_bar",
    "read_rows",
]
