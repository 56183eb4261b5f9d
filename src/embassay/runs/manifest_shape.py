"""What a manifest is made of, checked when it is read: it may come from a stranger, or from a damaged disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_Kinds = Mapping[str, type | tuple[type, ...]]

_WHOLE: _Kinds = {
    **dict.fromkeys(("protocol", "kind", "name", "status", "created", "updated", "step"), str),
    **dict.fromkeys(("arguments", "hardware", "versions", "spent"), dict),
    **dict.fromkeys(("systems", "datasets", "cells", "warnings"), list),
}
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "systems": ("name",),
    "datasets": ("name",),
    "cells": ("task", "dataset", "system", "status"),
}
_PARTS: _Kinds = {
    **dict.fromkeys(("name", "kind", "identity", "source", "lang", "fingerprint", "task", "dataset", "system"), str),
    **dict.fromkeys(("status", "reason", "variant"), str),
    **dict.fromkeys(("facts", "tasks", "counts"), dict),
    **dict.fromkeys(("skipped", "warnings"), list),
    "seconds": (int, float),
}  # fmt: skip


def check_shape(manifest: Mapping[str, Any]) -> None:
    """ValueError, with the place, where a part that others rely on is of another kind than it should be, or where a
    system, a dataset or a cell lacks what names it. What is not there at all is allowed, and so is null."""
    _check(manifest, _WHOLE, "")
    for name, needed in _NEEDED.items():
        for place, one in enumerate(manifest.get(name) or ()):
            where = f"{name}[{place}]"
            if not isinstance(one, dict):
                raise ValueError(f"{where} is no object")
            missing = [key for key in needed if not isinstance(one.get(key), str)]
            if missing:
                raise ValueError(f"{where} has no {missing[0]}")
            _check(one, _PARTS, f"{where}.")


def _check(found: Mapping[str, Any], kinds: _Kinds, where: str) -> None:
    for key, kind in kinds.items():
        value = found.get(key)
        if value is not None and not isinstance(value, kind):
            raise ValueError(f"{where}{key} is {type(value).__name__}")
        if isinstance(value, str):
            value.encode()  # ValueError too for half of a surrogate pair, which no file could hold again
