"""The methods of an outcome's rows in more words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from embassay.records import TaskOutcome


def with_method(found: TaskOutcome, said: Callable[[str], str]) -> TaskOutcome:
    """The outcome with what `said` makes of the method of every row that has one."""
    scores = tuple(replace(one, method=said(one.method)) if one.method else one for one in found.scores)
    return replace(found, scores=scores)
