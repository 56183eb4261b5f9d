"""What goes from machine to machine: callables as bytes, errors as values, so that they keep kind and words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from embassay.runs.cluster.library import library
from embassay.runs.engines.attempt import in_words


@dataclass(frozen=True)
class Raised:
    """What a piece of work raised."""

    error: Exception


def raised(error: Exception) -> Raised:
    """The error, or its words in one that can be sent where it cannot."""
    try:
        unpacked(packed(error))
    except Exception:
        return Raised(RuntimeError(in_words(error)))
    return Raised(error)


def packed(what: Any) -> bytes:
    """Anything that Ray can send, as bytes that can be compared and kept."""
    return bytes(library().cloudpickle.dumps(what))


def unpacked(content: bytes) -> Any:
    """The inverse; only of what this run has packed itself."""
    return library().cloudpickle.loads(content)
