"""What the four ranking engines have in common, the engines by name, and the options of `bayes`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from embassay.errors import UsageError
from embassay.randomness import draw_random_bytes
from embassay.registry import Registry
from embassay.spec import COLON, Spec


@dataclass(frozen=True)
class PoolPassage:
    """A passage of one query's pool: its grade (None where it could not be had) and its place by fusion, 1 = best."""

    id: str
    grade: int | None
    rank: int


@dataclass(frozen=True)
class JudgeOrderAnswer:
    """One answer of the judge: positions of candidates in the order `shown`, and the same positions, best first."""

    shown: tuple[int, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class CandidateRanking:
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


class PoolRanker(Protocol):
    """The ranking of one query's pool in the making. The same seed and answers give the same proposals and ranking,
    so that a killed run is resumed by telling a new ranker the answers that were kept."""

    def propose_batches(self) -> Sequence[tuple[int, ...]]:
        """Batches to be judged now, each a tuple of positions in the order they are to be shown. Several are disjoint
        and independent: they may be asked at once. None: it is done."""
        ...

    def learn(self, calls: Sequence[JudgeOrderAnswer]) -> None:
        """Learn from the answers to all proposals, in their order."""
        ...

    def ranking(self) -> CandidateRanking:
        """Rank the candidates as it stands, at any time."""
        ...

    def state(self) -> Mapping[str, Any]:
        """Describe the ranker's state for checkpoints, as plain JSON: turns, streak, locks and the like."""
        ...


class RankingEngine(Protocol):
    """A way to rank, with its options. One engine ranks all queries of a run."""

    @property
    def name(self) -> str:
        """As `--ranking` names it."""
        ...

    def start(self, candidates: Sequence[PoolPassage], *, query: str, top: int, seed: int) -> PoolRanker:
        """Start ranking a pool, whose first `top` places matter most; chance is by `seed` and `query`."""
        ...

    def share(self, rankers: Mapping[str, PoolRanker]) -> None:
        """Called after every round, when all rankers (by query id, done ones too) have learned: an engine may let them
        know what the others have found out about the judge. Most do nothing."""
        ...


MIDDLE = 3.0
"""The score of a candidate where the pool has no grade at all."""


def convert_grades_to_scores(candidates: Sequence[PoolPassage]) -> list[float]:
    """Convert grades to scores; one without gets the mean of the pool's, 3 where nobody has one.

    >>> convert_grades_to_scores([PoolPassage("a", 5, 1), PoolPassage("b", None, 2),
    ... PoolPassage("c", 4, 3)])
    [5.0, 4.5, 4.0]
    """
    grades = [candidate.grade for candidate in candidates if candidate.grade is not None]
    mean = sum(grades) / len(grades) if grades else MIDDLE
    return [mean if candidate.grade is None else float(candidate.grade) for candidate in candidates]


def order_candidates_by_grade(candidates: Sequence[PoolPassage]) -> tuple[int, ...]:
    """Positions by grade, best first; equal ones by their place by fusion, then by id (spec rag 4.1).

    >>> order_candidates_by_grade([PoolPassage("a", 3, 2), PoolPassage("b", 4, 3), PoolPassage("c", 3, 1)])
    (1, 2, 0)
    """
    scores = convert_grades_to_scores(candidates)
    return tuple(sorted(range(len(candidates)), key=lambda i: (-scores[i], candidates[i].rank, candidates[i].id)))


@dataclass(frozen=True)
class RankerInputs:
    """What a ranker begins with: its query's candidates, how many places matter most, and what names its random
    choices."""

    candidates: tuple[PoolPassage, ...]
    query: str
    top: int
    seed: int


def orders_exactly_shown_batch(shown: Sequence[int], call: JudgeOrderAnswer) -> bool:
    """Whether `call` orders exactly what was `shown`, in the order it was shown in.

    >>> (orders_exactly_shown_batch((4, 2, 7), JudgeOrderAnswer((4, 2, 7), (7, 4, 2))),
    ... orders_exactly_shown_batch((4, 2, 7), JudgeOrderAnswer((4, 2, 7), (7, 4, 4))))
    (True, False)
    """
    return call.shown == tuple(shown) and sorted(call.order) == sorted(call.shown)


def check_answers_fit_proposals(proposals: Sequence[tuple[int, ...]], calls: Sequence[JudgeOrderAnswer]) -> None:
    """ValueError unless `calls` are the answers to `proposals`, one each, in their order."""
    if len(proposals) != len(calls) or not all(map(orders_exactly_shown_batch, proposals, calls)):
        raise ValueError(f"answers to {list(proposals)} were expected, not {list(calls)}")


ENGINES: Registry[RankingEngine] = Registry("engine", COLON, [["name", "start", "share"]])

_HERE = "embassay.protocols.rag.ranking"
ENGINES.add("grades", f"{_HERE}.engines:GradeRankingEngine", "Order by grade, without further judge calls", calls="0")
ENGINES.add(
    "single_shot",
    f"{_HERE}.engines:SingleShotRankingEngine",
    "The whole pool ordered in a single judge call",
    calls="1",
)
ENGINES.add(
    "locks", f"{_HERE}.locks:PairLockRankingEngine", "The published refinement: locked pairs and Plackett-Luce steps",
    calls="about 3.5 per candidate"
)  # fmt: skip
ENGINES.add(
    "bayes", f"{_HERE}.bayes:BayesianRankingEngine",
    "A posterior over all orders; makes the most informative judge calls",
    calls="at most 1.2 per candidate, 0.9 if grades differ"
)  # fmt: skip


@dataclass(frozen=True)
class GradeRankingEngine:
    """A ranking engine by grade, then by place by fusion, then by id; nothing is judged."""

    @property
    def name(self) -> str:
        return "grades"

    def start(self, candidates: Sequence[PoolPassage], *, query: str, top: int, seed: int) -> PoolRanker:  # noqa: ARG002
        return GradesRanker(tuple(candidates))

    def share(self, rankers: Mapping[str, PoolRanker]) -> None:
        """Share nothing between queries, as nothing is judged."""


@dataclass(frozen=True)
class GradesRanker:
    """A ranker by grades, whose ranking is there from the beginning."""

    candidates: tuple[PoolPassage, ...]

    def propose_batches(self) -> Sequence[tuple[int, ...]]:
        return ()

    def learn(self, calls: Sequence[JudgeOrderAnswer]) -> None:
        check_answers_fit_proposals((), calls)

    def ranking(self) -> CandidateRanking:
        n = len(self.candidates)
        scores = tuple(convert_grades_to_scores(self.candidates))
        return CandidateRanking(order_candidates_by_grade(self.candidates), scores, (0,) * n, (0.0,) * n, "grades")

    def state(self) -> Mapping[str, Any]:
        return {"engine": "grades", "iteration": 0, "stopped": "grades"}


Shown = Literal["fusion", "grades", "shuffled"]


@dataclass(frozen=True)
class SingleShotRankingEngine:
    """One answer orders all candidates. `shown` is the order in which they stand in the prompt: by `fusion`, which
    says nothing of grades, by `grades`, or `shuffled` anew for each seed."""

    shown: Shown = "fusion"
    repair: ClassVar[bool] = True
    """An answer that leaves candidates out is mended: they come last, by grade."""

    @property
    def name(self) -> str:
        params = {} if self.shown == "fusion" else {"shown": self.shown}
        return COLON.format(Spec("single_shot", params=params))

    def start(self, candidates: Sequence[PoolPassage], *, query: str, top: int, seed: int) -> PoolRanker:  # noqa: ARG002
        return SingleShotRanker(
            self.name, tuple(candidates), self._order_candidates_for_prompt(candidates, query, seed)
        )

    def share(self, rankers: Mapping[str, PoolRanker]) -> None:
        """There is nothing to share."""

    def _order_candidates_for_prompt(self, candidates: Sequence[PoolPassage], query: str, seed: int) -> tuple[int, ...]:
        if self.shown == "grades":
            return order_candidates_by_grade(candidates)
        if self.shown == "fusion":
            return tuple(sorted(range(len(candidates)), key=lambda i: (candidates[i].rank, candidates[i].id)))
        keys = {i: draw_random_bytes(8, seed, "single_shot", query, str(i)) for i in range(len(candidates))}
        return tuple(sorted(keys, key=keys.__getitem__))


class SingleShotRanker:
    """A ranker that keeps the order of the grades until the one answer is there."""

    def __init__(self, name: str, candidates: tuple[PoolPassage, ...], shown: tuple[int, ...]) -> None:
        self._name, self._candidates = name, candidates
        self._proposals = (shown,) if len(shown) > 1 else ()
        self._order = order_candidates_by_grade(candidates)
        self._calls = 0

    def propose_batches(self) -> Sequence[tuple[int, ...]]:
        return self._proposals

    def learn(self, calls: Sequence[JudgeOrderAnswer]) -> None:
        check_answers_fit_proposals(self._proposals, calls)
        for call in calls:
            self._order, self._proposals, self._calls = call.order, (), 1

    def ranking(self) -> CandidateRanking:
        n = len(self._candidates)
        scores = convert_grades_to_scores(self._candidates)
        if self._calls:
            for place, position in enumerate(self._order):
                scores[position] = float(n - place)
        return CandidateRanking(
            self._order, tuple(scores), (self._calls,) * n, (float(self._calls),) * n, self._stop_reason
        )

    def state(self) -> Mapping[str, Any]:
        return {"engine": self._name, "iteration": self._calls, "stopped": self._stop_reason}

    @property
    def _stop_reason(self) -> str:
        return "" if self._proposals else "once" if self._calls else "few"


@dataclass(frozen=True)
class BayesRankingOptions:
    """How to ask and when to stop; what follows from it for a pool is in `BayesCallLimits`.

    `batch` passages are shown at a time, `at_once` disjoint batches asked per round. Of answers, `random` are thought
    to be any order at all; `bias` is how far a bias for places may reach, in standard deviations of utility (0: none is
    thought of). A batch is worth its information as a share of log batch!, plus `border` times the wrong pairs across
    the border of the top set that it should mend. `gamma` sharpens the weights of hyper-parameters. No more than `cap`
    calls per passage are asked for batches of 5, fewer for larger ones. With `stop`, asking ends before when the claims
    reach `surely`, `overlap` and `tau` at two looks in a row. With `share`, queries share what they learn of the judge.
    """

    batch: int = 5
    at_once: int = 1
    cap: float = 0.9
    stop: bool = True
    surely: float = 0.9
    overlap: float = 0.97
    tau: float = 0.94
    share: bool = True
    random: float = 0.02
    bias: float = 0.3
    border: float = 0.6
    gamma: float = 1.0
    draws: int = 400

    def __post_init__(self) -> None:
        for name, low, high in _BAYES_RANGES:
            value = getattr(self, name)
            if not low <= value <= high:
                raise UsageError(
                    f"The ranking engine 'bayes' needs {name} from {low:g} to {high:g}, found {value!r}.",
                    mend=f"Use a value in that range, or omit it to use {getattr(BayesRankingOptions, name)!r}.",
                )

    def limits(self, n: int, *, graded: bool) -> BayesCallLimits:
        """For a pool of n. A batch of m is counted as m - 1 steps of sorting; without grades a third more is needed."""
        per_item = 4 / (self.batch - 1)
        cap = self.cap if graded else self.cap * 4 / 3
        return BayesCallLimits(first_look=round(0.5 * per_item * n), cap=max(1, round(cap * per_item * n)))


@dataclass(frozen=True)
class BayesCallLimits:
    """Calls before the first look at whether to stop, and calls at most."""

    first_look: int
    cap: int


_BAYES_RANGES = (
    ("batch", 2, 20),
    ("at_once", 1, 1000),
    ("cap", 0.0, 1000.0),
    ("surely", 0.0, 1.0),
    ("overlap", 0.0, 1.0),
    ("tau", -1.0, 1.0),
    ("random", 0.0, 0.5),
    ("bias", 0.0, 10.0),
    ("border", 0.0, 100.0),
    ("gamma", 0.1, 10.0),
    ("draws", 64, 100_000),
)


def estimate_engine_calls(engine: str, pool: int) -> int:
    """Estimate the calls that an engine makes for a pool, by the registry; else one per candidate.

    >>> (estimate_engine_calls("bayes", 40), estimate_engine_calls("locks", 40),
    ... estimate_engine_calls("grades", 40), estimate_engine_calls("single_shot", 40))
    (48, 140, 0, 1)
    """
    calls = dict(ENGINES.get(ENGINES.parse_spec(engine).name).facts).get("calls", "1 per candidate")
    number = float((re.search(r"[0-9.]*[0-9]", calls) or ["1"])[0])
    return round(number * pool) if "per candidate" in calls else round(number)
