"""Machine code for inner loops, kept between processes where there is a folder for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """A function of numbers and arrays, compiled when it is first called; it lets other threads run meanwhile."""
    try:
        return cast(F, njit(cache=True, nogil=True)(function))
    except RuntimeError:
        # numba found no folder to keep the machine code in (a read-only installation without a home).
        return cast(F, njit(nogil=True)(function))
