"""Clients that log beside the errors they raise: kept from a terminal that nobody asked to show logs."""

from __future__ import annotations

import logging


def keep_quiet(logger: str) -> None:
    """Let what `logger` logs go to handlers that somebody has set up, and not to standard error where nobody has: the
    error that is raised says it already, in one line."""
    own = logging.getLogger(logger)
    if not any(isinstance(one, logging.NullHandler) for one in own.handlers):
        own.addHandler(logging.NullHandler())
