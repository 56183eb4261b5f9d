"""A choice: which system to use on documents without labels, and how sure that is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embassay.protocols.choose.options import ChoiceOptions
    from embassay.protocols.choose.protocol import choose

__all__ = ["ChoiceOptions", "choose"]

_HOMES = {"ChoiceOptions": "options", "choose": "protocol"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
