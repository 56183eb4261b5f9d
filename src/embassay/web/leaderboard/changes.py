"""What is new on a board since a page last heard of it, small enough to be asked for every few seconds."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from embassay.web.leaderboard.contract import Board, Changes, SystemRow, as_plain

MOST_BYTES = 12 * 1024
"""Zipped. A page that gets no more than this fetches the board again, which is about as much."""
T = TypeVar("T")


def changes(old: Board | None, new: Board, since: str) -> Changes:
    """The update from `old` (None: unknown) to `new`; `whole` where it would be too large."""
    if old is None:
        return Changes(since, new.stamp, True, new.status, new.updated)
    if old.stamp == new.stamp:
        return Changes(since, new.stamp, False, new.status, new.updated)
    made = _difference(old, new, since)
    size = len(gzip.compress(json.dumps(as_plain(made), ensure_ascii=False).encode("utf-8", "replace"), 6))
    return made if size <= MOST_BYTES else Changes(since, new.stamp, True, new.status, new.updated)


def _difference(old: Board, new: Board, since: str) -> Changes:
    order = tuple(one.name for one in new.systems)
    return Changes(
        since, new.stamp, False, new.status, new.updated,
        None if old.verdict == new.verdict else new.verdict,
        None if old.care == new.care else new.care,
        None if order == tuple(one.name for one in old.systems) else order,
        None if old.columns == new.columns else tuple(one for one in new.columns if one.overview),
        None if old.runs == new.runs else new.runs,
        tuple(_moved(old, new)),
        _by_name(old, new, old.cells, new.cells),
        _by_name(old, new, old.ranks, new.ranks),
        _by_name(old, new, old.best, new.best),
        _top(old, new),
    )  # fmt: skip


def _moved(old: Board, new: Board) -> list[SystemRow]:
    """Rows that say something else, their place apart: the order tells that."""
    known = {one.name: one for one in old.systems}
    return [
        one for one in new.systems
        if one.name not in known or as_plain(known[one.name]) | {"index": 0} != as_plain(one) | {"index": 0}
    ]  # fmt: skip


def _by_name(
    old: Board, new: Board, before: Mapping[str, Sequence[Any]], now: Mapping[str, Sequence[Any]]
) -> dict[str, dict[str, Any]]:
    """Per column the systems whose entry differs."""
    found: dict[str, dict[str, Any]] = {}
    for key, entries in now.items():
        known = dict(zip((one.name for one in old.systems), before.get(key, ()), strict=False))
        own = {
            one.name: entry
            for one, entry in zip(new.systems, entries, strict=True)
            if one.name not in known or known[one.name] != entry
        }
        if own:
            found[key] = own
    return found


def _top(old: Board, new: Board) -> dict[str, tuple[str, ...]]:
    def names(board: Board, key: str) -> tuple[str, ...]:
        return tuple(board.systems[i].name for i in board.top.get(key, ()))

    return {
        key: names(new, key) for key in new.top if key not in old.top or names(old, key) != names(new, key)
    }
