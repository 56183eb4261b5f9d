"""Bars that a run must clear: on scores, on ends of intervals, and against an earlier run."""

from semblance.protocols.gate.bar import Bar, read_bar
from semblance.protocols.gate.bars import judged_bars
from semblance.protocols.gate.files import as_junit, as_markdown
from semblance.protocols.gate.regression import judged_against
from semblance.protocols.gate.rows import Rows, read_rows
from semblance.protocols.gate.verdict import Verdict

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
