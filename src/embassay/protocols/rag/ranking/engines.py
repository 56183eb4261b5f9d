"""What the four ranking engines have in common, and the engines by name, as `--ranking` takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from embassay.registry import Registry
from embassay.spec import COLON


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


MIDDLE = 3.0
"""The score of a candidate where the pool has no grade at all."""


def starting_scores(candidates: Sequence[Candidate]) -> list[float]:
    """Grades as scores; a candidate without one gets the mean of the pool's, 3 where nobody has one.

    >>> starting_scores([Candidate("a", 5, 1), Candidate("b", None, 2), Candidate("c", 4, 3)])
    [5.0, 4.5, 4.0]
    """
    known = [one.grade for one in candidates if one.grade is not None]
    mean = sum(known) / len(known) if known else MIDDLE
    return [mean if one.grade is None else float(one.grade) for one in candidates]


def order_by_grade(candidates: Sequence[Candidate]) -> tuple[int, ...]:
    """Positions by grade, best first; equal ones by their place by fusion, then by id (spec rag 4.1).

    >>> order_by_grade([Candidate("a", 3, 2), Candidate("b", 4, 3), Candidate("c", 3, 1)])
    (1, 2, 0)
    """
    scores = starting_scores(candidates)
    return tuple(
        sorted(range(len(candidates)), key=lambda i: (-scores[i], candidates[i].rank, candidates[i].id))
    )


@dataclass(frozen=True)
class Start:
    """What a ranker begins with: its query's candidates, how many places matter most, and what names its random
    choices."""

    candidates: tuple[Candidate, ...]
    query: str
    top: int
    seed: int


def is_answer(shown: Sequence[int], call: Call) -> bool:
    """Whether `call` orders exactly what was `shown`, in the order it was shown in.

    >>> is_answer((4, 2, 7), Call((4, 2, 7), (7, 4, 2))), is_answer((4, 2, 7), Call((4, 2, 7), (7, 4, 4)))
    (True, False)
    """
    return call.shown == tuple(shown) and sorted(call.order) == sorted(call.shown)


def check_answers(proposals: Sequence[tuple[int, ...]], calls: Sequence[Call]) -> None:
    """ValueError unless `calls` are the answers to `proposals`, one each, in their order."""
    if len(proposals) != len(calls) or not all(map(is_answer, proposals, calls)):
        raise ValueError(f"answers to {list(proposals)} were awaited, not {list(calls)}")


ENGINES: Registry[Engine] = Registry("engine", COLON, [["name", "start", "share"]])

_HERE = "embassay.protocols.rag.ranking"
ENGINES.add("grades", f"{_HERE}.baselines:Grades", "The order of the grades; nothing is asked", calls="0")
ENGINES.add("single_shot", f"{_HERE}.baselines:SingleShot", "The whole pool ordered in one answer", calls="1")
ENGINES.add(
    "locks", f"{_HERE}.locks:Locks", "The published refinement: locked pairs and Plackett-Luce steps",
    calls="about 3.5 per candidate",
)  # fmt: skip
ENGINES.add(
    "bayes", f"{_HERE}.bayes.engine:Bayes", "A posterior over all orders, asked where an answer tells most",
    calls="at most 1.2 per candidate, 0.9 where grades tell them apart",
)  # fmt: skip
