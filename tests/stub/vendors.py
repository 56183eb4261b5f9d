"""The vendors the stub speaks like."""

from __future__ import annotations

import re

from . import cohere, control, gemini, jina, ollama, openai, retrieving, voyage
from .server import Handler

# OpenAI last: its paths end as others' do.
MODULES = (control, cohere, gemini, jina, ollama, retrieving, voyage, openai)


def routes() -> list[tuple[str, re.Pattern[str], Handler]]:
    """Every endpoint: method, pattern of the whole path, and who answers."""
    return [
        (method, re.compile(pattern), handler)
        for module in MODULES
        for (method, pattern), handler in module.ROUTES.items()
    ]
