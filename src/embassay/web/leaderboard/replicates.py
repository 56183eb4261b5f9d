"""The replicates of runs: read where they are asked for, and kept for the columns that are shown first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from threading import Lock

from embassay.errors import EmbassayError
from embassay.protocols.compare import RunValues, read_values
from embassay.protocols.standings import Standing, read_standings
from embassay.web.leaderboard.discretion import shown_name
from embassay.web.leaderboard.finding import HEADLINES
from embassay.web.leaderboard.reading import Place, RunData

_ITEMS = ("score", "names", "noise")
"""Kinds of runs that keep no headlines: their replicates come from their items."""
At = Mapping[tuple[Place, str], Standing]
"""Standings by place and system."""


class Replicates:
    """Standings of runs at some places. `most_bytes` bounds what is kept; those asked for last stay."""

    def __init__(self, most_bytes: int = 256 * 2**20) -> None:
        self._most, self._size = most_bytes, 0
        self._kept: OrderedDict[tuple[object, ...], dict[tuple[Place, str], Standing]] = OrderedDict()
        self._lock = Lock()

    def at(self, run: RunData, places: Iterable[Place]) -> At:
        """The standings of a run at these places; empty for one that cannot have any or whose file is damaged."""
        wanted = frozenset(places)
        key = (run.name, run.folder.stamp, wanted)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        found = {(place, one.system): one for place, one in _placed(run) if place in wanted}
        with self._lock:
            if key not in self._kept:
                self._kept[key] = found
                self._size += _bytes(found)
            while self._size > self._most and len(self._kept) > 1:
                self._size -= _bytes(self._kept.popitem(last=False)[1])
        return found


def _placed(run: RunData) -> Iterator[tuple[Place, Standing]]:
    """Standings by place. A task of one dataset has its value under both; the file keeps it once."""
    datasets: dict[str, set[str]] = {}
    for work in run.work:
        datasets.setdefault(work.task, set()).add(work.dataset)
    every = [_shown(one) for one in standings_of(run)]
    known = {one.place for one in every}
    for one in every:
        yield one.place, one
        own = datasets.get(one.task, set())
        if not one.dataset and len(own) == 1:
            (dataset,) = own
            if (place := (one.task, dataset, one.measure)) not in known:
                yield place, one


def _shown(one: Standing) -> Standing:
    name = shown_name(one.system)
    return one if name == one.system else replace(one, headline=replace(one.headline, system=name))


def standings_of(run: RunData) -> tuple[Standing, ...]:
    """All standings of a run that has ended. A damaged file has none: the board shows values without ranks."""
    if run.running:
        return ()
    try:
        if (run.folder.path / HEADLINES).is_symlink():
            return ()
        if run.kind in _ITEMS:
            return read_values(run.folder.path).standings
        return read_standings(run.folder.path)
    except (EmbassayError, OSError, ValueError):
        return ()


def values_of(run: RunData) -> RunValues:
    """The same with items, for a comparison of two systems. DataError where there is nothing to compare."""
    return read_values(run.folder.path)


def _bytes(found: Mapping[tuple[Place, str], Standing]) -> int:
    return sum(one.headline.replicates.nbytes + 200 for one in found.values())
