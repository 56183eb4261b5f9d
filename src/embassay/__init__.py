"""Embassay: does similarity mean what people think it means, under the conditions it will really meet?

The parts load when they are first used: `embassay.sage`, `embassay.measures`, `embassay.stats` and so on.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = [
    "__version__", "data", "hume", "interchange", "measures", "pteb", "rag", "report", "sage", "search", "stats",
    "systems", "text",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("sage", "pteb", "rag", "hume"):
        return import_module(f"embassay.protocols.{name}")
    if name in __all__:
        return import_module(f"embassay.{name}")
    raise AttributeError(f"module 'embassay' has no attribute {name!r}")
