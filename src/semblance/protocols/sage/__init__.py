"""SAGE: human preference, robustness, sensitivity, clustering and retrieval under corruption.

Goel, Lee, Ramchandran, "SAGE: A Realistic Benchmark for Semantic Understanding", NeurIPS 2025 workshop.
"""

from __future__ import annotations

from typing import Any

__all__ = ["TASKS", "Request", "SageOptions", "SageRun", "make_plan", "run"]

_HOMES = {
    "TASKS": "tasks",
    "Request": "request",
    "SageOptions": "options",
    "SageRun": "session",
    "make_plan": "plan",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def run(*args: Any, **kwargs: Any) -> Any:
    """Evaluate systems with SAGE: see `semblance.protocols.sage.session.run`."""
    from semblance.protocols.sage.session import run as start

    return start(*args, **kwargs)
