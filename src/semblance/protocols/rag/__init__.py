"""RAG: does the set of K passages in the prompt hold the decisive evidence, and what would mend it if not?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semblance.protocols.rag import golden
    from semblance.protocols.rag.golden.options import GoldenOptions
    from semblance.protocols.rag.scoring.api import Scoring, score
    from semblance.protocols.rag.scoring.request import ScoreRequest

__all__ = ["GoldenOptions", "ScoreRequest", "Scoring", "golden", "score"]

_HOMES = {
    "GoldenOptions": "golden.options",
    "ScoreRequest": "scoring.request",
    "Scoring": "scoring.api",
    "score": "scoring.api",
}


def __getattr__(name: str) -> Any:
    if name == "golden":
        return import_module(f"{__name__}.golden")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
