"""What the four engines have in common: `grades`, `single_shot`, `locks` and `bayes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class Candidate:
    """A passage of one query's pool: its grade (None where it could not be had) and its place by fusion, 1 = best."""

    id: str
    grade: int | None
    rank: int


@dataclass(frozen=True)
class Call:
    """One answer of the judge: positions of candidates in the order `shown`, and the same positions, best first."""

    shown: tuple[int, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class Ranking:
    """The order of all candidates, best first, as positions; per candidate (n,) its score and how often it was shown.

    `info` is how much is known of each (its own scale for each engine). `stopped` says in a word why no more is asked.
    `claims` are what the engine itself expects of its order: `tau`, `overlap`, `set_errors_at_most_1` ..., empty where
    it claims nothing. `doubts` name in a word or two what it found that forbids it to claim anything.
    """

    order: tuple[int, ...]
    scores: tuple[float, ...]
    exposures: tuple[int, ...]
    info: tuple[float, ...]
    stopped: str
    claims: Mapping[str, float] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


class Ranker(Protocol):
    """The ranking of one query's pool in the making. The same seed and answers give the same proposals and ranking,
    so that a killed run is resumed by telling a new ranker the answers that were kept."""

    def proposals(self) -> Sequence[tuple[int, ...]]:
        """Batches to be judged now, each a tuple of positions in the order they are to be shown. Several are disjoint
        and independent: they may be asked at once. None: it is done."""
        ...

    def learn(self, calls: Sequence[Call]) -> None:
        """The answers to all proposals, in their order."""
        ...

    def ranking(self) -> Ranking:
        """The order as it stands, at any time."""
        ...

    def state(self) -> Mapping[str, Any]:
        """What a checkpoint shows to people, as plain JSON: turns, streak, locks, hyper-parameters ..."""
        ...


class Engine(Protocol):
    """A way to rank, with its options. One engine ranks all queries of a run."""

    @property
    def name(self) -> str:
        """As `--ranking` names it."""
        ...

    def start(self, candidates: Sequence[Candidate], *, query: str, top: int, seed: int) -> Ranker:
        """Begin with a pool; its first `top` places matter most. Random choices derive from `seed` and `query`."""
        ...

    def share(self, rankers: Mapping[str, Ranker]) -> None:
        """Called after every round, when all rankers (by query id, done ones too) have learned: an engine may let them
        know what the others have found out about the judge. Most do nothing."""
        ...
