"""The runs of one board joined: which run speaks for each system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.web.leaderboard.reading import Place, RunData, Score, Work


@dataclass(frozen=True)
class Entrant:
    """A system and the run that speaks for it; `others` are further runs that have it, newest first. `finished`: the
    run has ended for it and no cell of it is missing."""

    name: str
    run: RunData
    others: tuple[RunData, ...]
    finished: bool

    @property
    def described(self) -> Mapping[str, Any]:
        """What the manifest says of it; empty for people, and stacks of a sweep."""
        return self.run.described.get(self.name, {})

    @property
    def work(self) -> tuple[Work, ...]:
        """Its cells."""
        return self.run.work_of.get(self.name, ())

    def score(self, place: Place) -> Score | None:
        """Its row at a place, None where there is none."""
        return self.run.scores.get(place, {}).get(self.name)


def entrants(runs: Sequence[RunData]) -> tuple[Entrant, ...]:
    """Every system of the runs, once. The newest run in which it is finished counts, else the newest."""
    newest = sorted(runs, key=lambda run: (run.updated, run.name), reverse=True)
    having: dict[str, list[RunData]] = {}
    for run in newest:
        for name in run.systems:
            having.setdefault(name, []).append(run)
    return tuple(_entrant(name, own) for name, own in having.items())


def _entrant(name: str, runs: Sequence[RunData]) -> Entrant:
    done = [run for run in runs if _finished(run, name)]
    chosen = done[0] if done else runs[0]
    return Entrant(name, chosen, tuple(run for run in runs if run is not chosen), bool(done))


def _finished(run: RunData, name: str) -> bool:
    return not run.running and all(one.status == "done" for one in run.work_of.get(name, ()))
