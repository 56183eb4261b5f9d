"""The vendors the stub speaks like."""

from __future__ import annotations

import re

from . import control, openai
from .server import Handler

MODULES = (control, openai)


def routes() -> list[tuple[str, re.Pattern[str], Handler]]:
    """Every endpoint: method, pattern of the whole path, and who answers."""
    return [
        (method, re.compile(pattern), handler)
        for module in MODULES
        for (method, pattern), handler in module.ROUTES.items()
    ]
