"""`locks`: the published refinement (spec rag 4.1): pairs that were confirmed are locked into a partial order."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import exp, log1p, sqrt
from typing import Any, Literal

from embassay.errors import UsageError
from embassay.protocols.rag.ranking.engines import (
    CandidateRanking,
    JudgeOrderAnswer,
    PoolPassage,
    PoolRanker,
    RankerInputs,
    check_answers_fit_proposals,
    convert_grades_to_scores,
    order_candidates_by_grade,
)
from embassay.randomness import draw_random_bytes
from embassay.spec import COLON, Spec

__all__ = ["PairLockRanker", "PairLockRankingEngine"]


class PartialOrder:
    """Pairs (better, worse) of n items, and what follows from them.

    What is below an item is a bit set, kept up to date as pairs come in, so that asking for a path costs nothing.
    """

    def __init__(self, n: int) -> None:
        self.pairs: list[tuple[int, int]] = []
        self._worse: list[list[int]] = [[] for _ in range(n)]
        self._below = [0] * n
        self._above = [0] * n
        self._direct_above = [0] * n

    def is_known_better(self, better: int, worse: int) -> bool:
        """Whether the pairs say, directly or through others, that one is better than the other."""
        return bool(self._below[better] >> worse & 1)

    def add(self, better: int, worse: int) -> None:
        """Add a pair; ValueError if it contradicts what is known, or is one of an item with itself."""
        if better == worse or self.is_known_better(worse, better):
            raise ValueError(f"{better} over {worse} would close a cycle")
        self.pairs.append((better, worse))
        self._worse[better].append(worse)
        self._direct_above[worse] += 1
        over, under = self._above[better] | 1 << better, self._below[worse] | 1 << worse
        for item in _list_bit_members(over):
            self._below[item] |= under
        for item in _list_bit_members(under):
            self._above[item] |= over

    def sort_items_respecting_order(self, scores: Sequence[float], ties: Sequence[int]) -> tuple[int, ...]:
        """All items, best first: always the one with the highest score among those that nothing left is better than;
        equal scores by the least of `ties`.

        >>> order = PartialOrder(5)
        >>> order.add(0, 1); order.add(4, 2)
        >>> order.sort_items_respecting_order([4.1, 5, 4.5, 4.5, 2], range(5))
        (3, 0, 1, 4, 2)
        """
        left = list(self._direct_above)
        free = [(-scores[item], ties[item], item) for item, count in enumerate(left) if not count]
        heapify(free)
        order = []
        while free:
            item = heappop(free)[2]
            order.append(item)
            for worse in self._worse[item]:
                left[worse] -= 1
                if not left[worse]:
                    heappush(free, (-scores[worse], ties[worse], worse))
        return tuple(order)


def _list_bit_members(bits: int) -> list[int]:
    members = []
    while bits:
        lowest = bits & -bits
        members.append(lowest.bit_length() - 1)
        bits ^= lowest
    return members


Pair = tuple[int, int]
"""Two positions, the better first."""


class PairLockEvidence:
    """Confirmations of pairs that are not locked yet, and the partial order of those that are (spec rag 4.1)."""

    def __init__(self, n: int, *, confirmations: int, net: bool, pending_edges: bool) -> None:
        """`net` sets what speaks against a pair off against what speaks for it. With `pending_edges` two paths of
        locked or pending pairs that share no item in between are strong evidence too (ambiguity 14)."""
        self.order = PartialOrder(n)
        self.pending: Counter[Pair] = Counter()
        self._confirmations, self._net, self._pending_edges = confirmations, net, pending_edges

    def add_order_and_lock_pairs(
        self, order: Sequence[int], is_clear: Callable[[int, int], bool], is_ahead: Callable[[int, int], bool]
    ) -> None:
        """Take in all pairs of a judged order, in that order; lock those for which there is enough.

        `is_clear` tells whether the margin of a pair is, which is enough; `is_ahead` whether its score is higher.
        """
        for better, worse in combinations(order, 2):
            # Asked anew for each pair: every lock adds paths, and a lock against one would close a cycle (T16).
            if self.order.is_known_better(better, worse) or self.order.is_known_better(worse, better):
                continue
            self.pending[better, worse] += 1
            if (
                self._is_pair_order_confirmed(better, worse)
                or is_clear(better, worse)
                or (
                    self._pending_edges and is_ahead(better, worse) and self._is_preference_implied_twice(better, worse)
                )
            ):
                self.order.add(better, worse)
                del self.pending[better, worse]
        for pair in [pair for pair in self.pending if self.order.is_known_better(*pair)]:
            del self.pending[pair]

    def _is_pair_order_confirmed(self, better: int, worse: int) -> bool:
        against = self.pending.get((worse, better), 0) if self._net else 0
        return self.pending[better, worse] - against >= self._confirmations

    def _is_preference_implied_twice(self, better: int, worse: int) -> bool:
        edges = [*self.order.pairs, *self.pending]
        return count_disjoint_paths_up_to_two(edges, better, worse) >= 2


def count_disjoint_paths_up_to_two(pairs: Iterable[Pair], better: int, worse: int) -> int:
    """How many paths there are from one item to the other that share no item in between, 2 at most; the pair itself
    is none.

    By augmenting paths in the graph where every item is split into an entry and an exit (Menger's theorem).

    >>> count_disjoint_paths_up_to_two([(0, 1), (1, 3), (0, 2), (2, 3), (0, 3)], 0, 3)
    2
    >>> count_disjoint_paths_up_to_two([(0, 1), (1, 2), (2, 3), (1, 3)], 0, 3)
    1
    """
    room: dict[tuple[int, bool], dict[tuple[int, bool], int]] = {}

    def add_graph_edge(start: tuple[int, bool], end: tuple[int, bool]) -> None:
        room.setdefault(start, {})[end] = 1
        room.setdefault(end, {}).setdefault(start, 0)

    for above, below in pairs:
        if (above, below) != (better, worse):
            add_graph_edge((above, True), (below, False))
            add_graph_edge((above, False), (above, True))
            add_graph_edge((below, False), (below, True))
    paths = 0
    while paths < 2 and _augment_flow_if_path_exists(room, (better, True), (worse, False)):
        paths += 1
    return paths


def _augment_flow_if_path_exists(
    room: Mapping[tuple[int, bool], dict[tuple[int, bool], int]], start: tuple[int, bool], end: tuple[int, bool]
) -> bool:
    """Send one unit from `start` to `end` through what room there is."""
    came_from: dict[tuple[int, bool], tuple[int, bool]] = {start: start}
    # Breadth first, so that each unit takes one of the shortest ways, as Edmonds and Karp have it.
    waiting = deque([start])
    while waiting and end not in came_from:
        node = waiting.popleft()
        for following, free in room.get(node, {}).items():
            if free and following not in came_from:
                came_from[following] = node
                waiting.append(following)
    if end not in came_from:
        return False
    while end != start:
        before = came_from[end]
        # What flows one way can be sent back the other way later.
        room[before][end] -= 1
        room[end][before] += 1
        end = before
    return True


Decay = Literal["inv_sqrt", "constant"]


def compute_lock_step_size_of_turn(turn: int, step: float, smallest: float, decay: Decay) -> float:
    """How large the step of a turn (0-based) is.

    >>> [round(compute_lock_step_size_of_turn(t, 0.05, 0.01, "inv_sqrt"), 6) for t in (0, 50, 150, 1200)]
    [0.05, 0.035355, 0.025, 0.01]
    """
    return max(smallest, step / sqrt(1 + turn / 50)) if decay == "inv_sqrt" else step


def compute_plackett_luce_step(scores: Sequence[float], size: float) -> tuple[list[float], list[float]]:
    """How the scores (m,) of candidates in the order judged, best first, change, and what is learned of each (m,).

    Of all suffixes S of the order, p being the softmax of the scores in S: the first of S gains size (1 - p), the
    others lose size p, and all learn p (1 - p). Scores are those of the start of the turn for every suffix (trap T15).

    >>> [round(change, 6) for change in compute_plackett_luce_step([4.0] * 5, 0.05)[0]]
    [0.04, 0.0275, 0.010833, -0.014167, -0.064167]
    """
    changes, information = [0.0] * len(scores), [0.0] * len(scores)
    for first in range(len(scores)):
        highest = max(scores[first:])
        weights = [exp(score - highest) for score in scores[first:]]
        total = sum(weights)
        for place, weight in enumerate(weights, start=first):
            p = weight / total
            changes[place] += size * (1 - p) if place == first else -size * p
            information[place] += p * (1 - p)
    return changes, information


def clip_score_change(change: float, most: float) -> float:
    """`change`, at most `most` in either direction."""
    return max(-most, min(most, change))


LEAST_INFORMATION = 1e-6
MOST_TURNS = 5000
"""What `max_turns=0`, no limit, comes to."""


@dataclass(frozen=True)
class PairLockRankingEngine:
    """A ranking engine that locks confirmed pairs, by default with its published reference's options.

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
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and not value >= least.get(field.name, 0):
                raise UsageError(
                    f"The engine 'locks' needs {field.name} of at least {least.get(field.name, 0)}, found {value}.",
                    mend="Use a larger value.",
                )

    @property
    def name(self) -> str:
        params = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }
        return COLON.format(Spec("locks", params=params))

    def start(self, candidates: Sequence[PoolPassage], *, query: str, top: int, seed: int) -> PoolRanker:
        return PairLockRanker(self, RankerInputs(tuple(candidates), query, top, seed))

    def share(self, rankers: Mapping[str, PoolRanker]) -> None:
        """Share nothing, as every query is on its own."""

    @property
    def max_turn_count(self) -> int:
        """The most turns that there are."""
        return min(self.max_turns or MOST_TURNS, MOST_TURNS)


class PairLockRanker:
    """Scores, information and exposures of one pool (n,), and the pairs that are locked."""

    def __init__(self, options: PairLockRankingEngine, start: RankerInputs) -> None:
        self._options, self._start = options, start
        n = len(start.candidates)
        self._ties = _rank_ids_alphabetically([candidate.id for candidate in start.candidates])
        self._scores = convert_grades_to_scores(start.candidates)
        self._information = [LEAST_INFORMATION] * n
        self._exposures = [0] * n
        self._evidence = PairLockEvidence(
            n, confirmations=options.confirmations, net=options.net_confirmations, pending_edges=options.pending_edges
        )
        self._turn, self._streak = 0, 0
        few = n < options.batch
        self._stopped = "few" if few else ""
        self._order = order_candidates_by_grade(start.candidates) if few else self._sort_candidates_respecting_locks()

    def propose_batches(self) -> Sequence[tuple[int, ...]]:
        return () if self._stopped else (self._sample_candidate_batch(),)

    def learn(self, calls: Sequence[JudgeOrderAnswer]) -> None:
        check_answers_fit_proposals(self.propose_batches(), calls)
        for call in calls:
            self._update_scores_and_locks_from_order(call.order)

    def ranking(self) -> CandidateRanking:
        return CandidateRanking(
            self._order, tuple(self._scores), tuple(self._exposures), tuple(self._information), self._stopped
        )

    def state(self) -> Mapping[str, Any]:
        ids = [candidate.id for candidate in self._start.candidates]
        return {
            "engine": self._options.name,
            "iteration": self._turn,
            "streak": self._streak,
            "rng_seed": self._compute_seed_of_turn,
            "stopped": self._stopped,
            "items": [
                {"id": name, "score": score, "info": information, "exposures": exposures}
                for name, score, information, exposures in zip(
                    ids, self._scores, self._information, self._exposures, strict=True
                )
            ],
            "locks": [[ids[better], ids[worse]] for better, worse in self._evidence.order.pairs],
            "pendings": [[ids[better], ids[worse], count] for (better, worse), count in self._evidence.pending.items()],
            "top": [ids[i] for i in self._order[: self._start.top]],
            "parameters": {**asdict(self._options), "top": self._start.top, "seed": self._start.seed},
        }

    @property
    def _compute_seed_of_turn(self) -> int:
        return self._start.seed + 2 * self._turn

    def _sample_candidate_batch(self) -> tuple[int, ...]:
        """Those shown least and known least first, with some chance; then shuffled, so that their places say nothing
        of the order so far. Positions are recorded as shown, so that labels map back (T17)."""
        n, m = len(self._scores), self._options.batch
        drawn = draw_random_bytes(8 * (n + m), self._compute_seed_of_turn, "locks", self._start.query)
        uniform = [int.from_bytes(drawn[8 * i : 8 * i + 8], "little") / 2**64 for i in range(n + m)]
        # The key of spec rag 4.1, of which the smallest are drawn.
        keys = [
            exposures + 0.3 * log1p(information) + u
            for exposures, information, u in zip(self._exposures, self._information, uniform[:n], strict=True)
        ]
        chosen = sorted(range(n), key=keys.__getitem__)[:m]
        return tuple(position for _, position in sorted(zip(uniform[n:], chosen, strict=True)))

    def _update_scores_and_locks_from_order(self, order: tuple[int, ...]) -> None:
        options = self._options
        if options.lock_after_update:
            self._update_candidate_scores(order)
            self._lock_confirmed_pairs(order)
        else:
            self._lock_confirmed_pairs(order)
            self._update_candidate_scores(order)
        if options.recenter_every and (self._turn + 1) % options.recenter_every == 0:
            mean = sum(self._scores) / len(self._scores)
            self._scores = [score - mean for score in self._scores]
        self._turn += 1
        before, self._order = self._order, self._sort_candidates_respecting_locks()
        top = self._start.top
        self._streak = self._streak + 1 if self._order[:top] == before[:top] else 0
        if self._streak >= options.stability_turns:
            self._stopped = "stable"
        elif self._turn >= options.max_turn_count:
            self._stopped = "cap"

    def _lock_confirmed_pairs(self, order: tuple[int, ...]) -> None:
        error = {i: self._options.margin_z / sqrt(max(self._information[i], LEAST_INFORMATION)) for i in order}
        scores = self._scores
        self._evidence.add_order_and_lock_pairs(
            order,
            lambda better, worse: scores[better] - error[better] > scores[worse] + error[worse],
            lambda better, worse: scores[better] > scores[worse],
        )

    def _update_candidate_scores(self, order: tuple[int, ...]) -> None:
        options = self._options
        size = compute_lock_step_size_of_turn(self._turn, options.step, options.step_min, options.decay)
        changes, information = compute_plackett_luce_step([self._scores[i] for i in order], size)
        for i, change, learned in zip(order, changes, information, strict=True):
            self._scores[i] += clip_score_change(change, options.clip)
            self._information[i] += learned
            self._exposures[i] += 1

    def _sort_candidates_respecting_locks(self) -> tuple[int, ...]:
        return self._evidence.order.sort_items_respecting_order(self._scores, self._ties)


def _rank_ids_alphabetically(ids: Sequence[str]) -> list[int]:
    """The place of each id among them in alphabetical order."""
    ranks = [0] * len(ids)
    for place, i in enumerate(sorted(range(len(ids)), key=lambda i: ids[i])):
        ranks[i] = place
    return ranks
