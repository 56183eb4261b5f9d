"""From the cells of a PTEB run to what is said of it: scores, drops, their intervals, and who is told from whom."""

from embassay.protocols.pteb.summary.conclusions import standings, summarise, summarise_originals
from embassay.protocols.wordings.levels import (
    Layout,
    RunDataset,
    RunSource,
    RunSystem,
    RunTask,
    more_runs_needed,
)

__all__ = [
    "Layout",
    "RunDataset",
    "RunSource",
    "RunSystem",
    "RunTask",
    "more_runs_needed",
    "standings",
    "summarise",
    "summarise_originals",
]
