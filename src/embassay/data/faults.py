"""Faults of single rows: the first one stops a run, a check wants to see them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from embassay.errors import DataError

_collect: ContextVar[Callable[[DataError], None] | None] = ContextVar("collect", default=None)


def fault(error: DataError) -> None:
    """Raise `error`; inside `collecting` hand it over, and the caller goes on with the next row."""
    collect = _collect.get()
    if collect is None:
        raise error
    collect(error)


@contextmanager
def collecting(collect: Callable[[DataError], None]) -> Iterator[None]:
    """Within this block readers give the faults of rows to `collect` and leave those rows out.

    What is wrong with a whole file (cut, binary, without a column) is raised as ever.
    """
    token = _collect.set(collect)
    try:
        yield
    finally:
        _collect.reset(token)


def is_collecting() -> bool:
    """Whether faults are collected, so that rows may be left out."""
    return _collect.get() is not None
