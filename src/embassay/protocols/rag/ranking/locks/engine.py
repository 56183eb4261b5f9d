"""The turns of `locks`: whom to show, what the answer changes, and when to stop (spec rag 4.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import log1p, sqrt
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.rag.ranking.answers import check_answers
from embassay.protocols.rag.ranking.engine import Call, Candidate, Ranker, Ranking
from embassay.protocols.rag.ranking.locks.evidence import Evidence
from embassay.protocols.rag.ranking.locks.step import Decay, clipped, plackett_luce_step, step_size
from embassay.protocols.rag.ranking.starting import Start, order_by_grade, starting_scores
from embassay.randomness import random_bytes
from embassay.spec import COLON, Spec

LEAST_INFORMATION = 1e-6
MOST_TURNS = 5000
"""What `max_turns=0`, no limit, comes to."""


@dataclass(frozen=True)
class Locks:
    """The published refinement with all its knobs; the defaults are those of its reference.

    `batch` candidates are shown in a turn. It stops when the ordered top has stayed the same for `stability_turns`, or
    after `max_turns` (0: 5,000). A pair is locked by `confirmations`, or when the scores are apart by `margin_z`
    standard errors of each. Scores move by a step of `step`, falling to `step_min` by `decay`, no more than `clip` in
    a turn; every `recenter_every` turns their mean is set to 0 (0: never). Not in the reference: `net_confirmations`
    sets contradicting answers off against each other, `lock_after_update` looks at the margin after the step instead
    of before it, `pending_edges` lets pairs count as evidence that are not locked yet.
    """

    batch: int = 5
    stability_turns: int = 15
    confirmations: int = 2
    max_turns: int = 0
    margin_z: float = 1.0
    step: float = 0.05
    step_min: float = 0.01
    clip: float = 0.20
    decay: Decay = "inv_sqrt"
    recenter_every: int = 50
    net_confirmations: bool = False
    lock_after_update: bool = False
    pending_edges: bool = False

    def __post_init__(self) -> None:
        least = {"batch": 2, "stability_turns": 1, "confirmations": 1, "max_turns": 0, "recenter_every": 0}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, int | float) and not value >= least.get(one.name, 0):
                raise UsageError(
                    f"The engine 'locks' needs {one.name} of at least {least.get(one.name, 0)}, found {value}.",
                    mend="Give a larger one.",
                )

    @property
    def name(self) -> str:
        params = {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if getattr(self, one.name) != one.default
        }
        return COLON.format(Spec("locks", params=params))

    def start(self, candidates: Sequence[Candidate], *, query: str, top: int, seed: int) -> Ranker:
        return LocksRanker(self, Start(tuple(candidates), query, top, seed))

    def share(self, rankers: Mapping[str, Ranker]) -> None:
        """Every query is on its own."""

    @property
    def last_turn(self) -> int:
        """No more turns than this."""
        return min(self.max_turns or MOST_TURNS, MOST_TURNS)


class LocksRanker:
    """Scores, information and exposures of one pool (n,), and the pairs that are locked."""

    def __init__(self, options: Locks, start: Start) -> None:
        self._options, self._start = options, start
        n = len(start.candidates)
        self._ties = _ranks([one.id for one in start.candidates])
        self._scores = starting_scores(start.candidates)
        self._information = [LEAST_INFORMATION] * n
        self._exposures = [0] * n
        self._evidence = Evidence(
            n,
            confirmations=options.confirmations,
            net=options.net_confirmations,
            pending_edges=options.pending_edges,
        )
        self._turn, self._streak = 0, 0
        few = n < options.batch
        self._stopped = "few" if few else ""
        self._order = order_by_grade(start.candidates) if few else self._sorted()

    def proposals(self) -> Sequence[tuple[int, ...]]:
        return () if self._stopped else (self._sample(),)

    def learn(self, calls: Sequence[Call]) -> None:
        check_answers(self.proposals(), calls)
        for call in calls:
            self._learn(call.order)

    def ranking(self) -> Ranking:
        return Ranking(
            self._order,
            tuple(self._scores),
            tuple(self._exposures),
            tuple(self._information),
            self._stopped,
        )

    def state(self) -> Mapping[str, Any]:
        ids = [one.id for one in self._start.candidates]
        return {
            "engine": self._options.name,
            "iteration": self._turn,
            "streak": self._streak,
            "rng_seed": self._turn_seed,
            "stopped": self._stopped,
            "items": [
                {"id": name, "score": score, "info": information, "exposures": exposures}
                for name, score, information, exposures in zip(
                    ids, self._scores, self._information, self._exposures, strict=True
                )
            ],
            "locks": [[ids[better], ids[worse]] for better, worse in self._evidence.order.pairs],
            "pendings": [
                [ids[better], ids[worse], count] for (better, worse), count in self._evidence.pending.items()
            ],
            "top": [ids[i] for i in self._order[: self._start.top]],
            "parameters": {**asdict(self._options), "top": self._start.top, "seed": self._start.seed},
        }

    @property
    def _turn_seed(self) -> int:
        return self._start.seed + 2 * self._turn

    def _sample(self) -> tuple[int, ...]:
        """Those shown least and known least first, with some chance; then shuffled, so that their places say nothing
        of the order so far. Positions are recorded as shown, so that labels map back (T17)."""
        n, m = len(self._scores), self._options.batch
        drawn = random_bytes(8 * (n + m), self._turn_seed, "locks", self._start.query)
        uniform = [int.from_bytes(drawn[8 * i : 8 * i + 8], "little") / 2**64 for i in range(n + m)]
        keys = [
            exposures + 0.3 * log1p(information) + u
            for exposures, information, u in zip(self._exposures, self._information, uniform[:n], strict=True)
        ]
        chosen = sorted(range(n), key=keys.__getitem__)[:m]
        return tuple(one for _, one in sorted(zip(uniform[n:], chosen, strict=True)))

    def _learn(self, order: tuple[int, ...]) -> None:
        options = self._options
        if options.lock_after_update:
            self._move(order)
            self._lock(order)
        else:
            self._lock(order)
            self._move(order)
        if options.recenter_every and (self._turn + 1) % options.recenter_every == 0:
            mean = sum(self._scores) / len(self._scores)
            self._scores = [score - mean for score in self._scores]
        self._turn += 1
        before, self._order = self._order, self._sorted()
        top = self._start.top
        self._streak = self._streak + 1 if self._order[:top] == before[:top] else 0
        if self._streak >= options.stability_turns:
            self._stopped = "stable"
        elif self._turn >= options.last_turn:
            self._stopped = "cap"

    def _lock(self, order: tuple[int, ...]) -> None:
        error = {
            i: self._options.margin_z / sqrt(max(self._information[i], LEAST_INFORMATION)) for i in order
        }
        scores = self._scores
        self._evidence.judged(
            order,
            lambda better, worse: scores[better] - error[better] > scores[worse] + error[worse],
            lambda better, worse: scores[better] > scores[worse],
        )

    def _move(self, order: tuple[int, ...]) -> None:
        options = self._options
        size = step_size(self._turn, options.step, options.step_min, options.decay)
        changes, information = plackett_luce_step([self._scores[i] for i in order], size)
        for i, change, learned in zip(order, changes, information, strict=True):
            self._scores[i] += clipped(change, options.clip)
            self._information[i] += learned
            self._exposures[i] += 1

    def _sorted(self) -> tuple[int, ...]:
        return self._evidence.order.sorted(self._scores, self._ties)


def _ranks(ids: Sequence[str]) -> list[int]:
    """The place of each id among them in alphabetical order."""
    ranks = [0] * len(ids)
    for place, i in enumerate(sorted(range(len(ids)), key=lambda i: ids[i])):
        ranks[i] = place
    return ranks
