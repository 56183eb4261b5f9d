"""The course of a study: which passages are asked for, in which order, and what is decided after every label.

All of it follows from the runs, the measure, the seed and the labels: a study that was killed is replayed to where it
was. Items are drawn in blocks. People may label a block and the next one in any order; what chances and guesses of a
block are made of are the labels of the blocks before the last, so that they never depend on what they are chances of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.decision.chances import Chooser
from embassay.protocols.rag.decision.options import DecisionRequest
from embassay.protocols.rag.decision.population import Ints, Key, Labels, Population
from embassay.randomness import generator
from embassay.stats.sequences import Draws, Left, block, block_order, joined, verdicts

AHEAD = 2
"""Blocks that may be labelled at a time."""


@dataclass(frozen=True)
class Terms:
    """How sure a decision is to be, the seed, the labels of a block, and a judge's grades that guide the choice."""

    alpha: float = DecisionRequest.alpha
    seed: int = DecisionRequest.seed
    block: int = DecisionRequest.block
    """At first; later blocks are an eighth of what is labelled."""
    guide: Labels = field(default_factory=dict)


@dataclass(frozen=True)
class Decided:
    """What each comparison came to: 1 where it is above its bar, -1 below, 0 open; `at` is after how many draws.

    `best` is the run that every other one is worse than, None where there is none; for a bar, None. `done` says that
    nothing is left to decide, `since` after how many draws, and `certain` that no label that is missing could change
    it.
    """

    sign: Ints
    at: Ints
    best: int | None
    done: bool
    since: int
    certain: bool


@dataclass(frozen=True)
class Course:
    """Where a study stands. `drawn` are the items of `draws`, in order; `waiting` passages that shall be labelled now,
    in order; `asked` are all that ever were, `counted` those whose blocks are whole. `used` is how many labels stand
    behind the decision, `given` how many there are, `unasked` those that nobody asked for.
    """

    population: Population
    draws: Draws
    drawn: tuple[int, ...]
    decided: Decided
    waiting: tuple[Key, ...]
    asked: tuple[Key, ...]
    counted: tuple[Key, ...]
    used: int
    given: int
    unasked: int

    @property
    def needed(self) -> int:
        """The labels that there are to ask for at most."""
        return int(self.population.cost.sum())


def follow(population: Population, labels: Labels, terms: Terms) -> Course:
    """Replay a study up to the labels that there are."""
    return _Replay(population, labels, terms).course()


class _Replay:
    def __init__(self, population: Population, labels: Labels, terms: Terms) -> None:
        self.population, self.labels, self.terms = population, labels, terms
        self.chooser = Chooser(population, terms.guide)
        self.left = np.ones(len(population.low), dtype=bool)
        self.blocks: list[list[int]] = []
        self.parts: list[Draws] = [_nothing(len(population.comparisons))]
        self.drawn: list[int] = []
        self.decisions = [decisions(population, self.parts[0], terms.alpha)]
        self.counted: list[int] = []

    def course(self) -> Course:
        """Block after block, until one is not labelled whole or nothing is left to decide."""
        ahead: list[list[int]] = []
        for order, left, names in self._drawn():
            whole = not ahead and self._take(order, left, names)
            if self.decisions[-1].done:
                return self._told([])
            if not whole:
                ahead.append(names)
                if len(ahead) == AHEAD:
                    break
        return self._told([item for names in ahead for item in names])

    def _drawn(self) -> Iterator[tuple[Ints, Left, list[int]]]:
        """The next block: places in what is left, what that is, and the items."""
        while self.left.any():
            number = len(self.blocks)
            places = np.flatnonzero(self.left)
            before = [item for names in self.blocks[: max(number - AHEAD + 1, 0)] for item in names]
            active = self._active(max(number - AHEAD + 1, 0))
            guess = self.chooser.guess(before, self.labels, active)
            weight = np.maximum(guess.weight[places], guess.weight.max() * 1e-9 + 1e-300)
            left = Left(
                self.population.low[places], self.population.high[places], guess.values[places], weight
            )
            order = block_order(weight, generator(self.terms.seed, "until decided", str(number)))
            order = order[: self._size(order, places)]
            names = places[order].tolist()
            self.left[names] = False
            self.blocks.append(names)
            yield order, left, names

    def _size(self, order: Ints, places: Ints) -> int:
        """As many items as have a block's labels, one at least."""
        labels = sum(int(self.population.cost[names].sum()) for names in self.blocks)
        room = max(self.terms.block, labels // 8)
        return max(1, int(np.searchsorted(np.cumsum(self.population.cost[places[order]]), room, "right")))

    def _active(self, blocks: int) -> NDArray[np.bool_]:
        """The comparisons that the first `blocks` left open."""
        decided = self.decisions[min(blocks, len(self.decisions) - 1)]
        return open_comparisons(self.population, decided)

    def _take(self, order: Ints, left: Left, names: list[int]) -> bool:
        """Add what is labelled of a block, up to the first item that is not; whether that is all of it."""
        ready = 0
        while ready < len(names) and self.population.is_labelled(names[ready], self.labels):
            ready += 1
        known = sum((part.values.sum(axis=0) for part in self.parts), np.zeros(left.low.shape[1]))
        if ready:
            values = self.population.values(names[:ready], self.labels)
            # The chances are those of the whole block, whatever of it is labelled.
            self.parts.append(block(left, order[:ready], values, known))
            self.drawn += names[:ready]
            self.decisions.append(decisions(self.population, joined(self.parts), self.terms.alpha))
        if ready == len(names) or self.decisions[-1].done:
            self.counted += names[:ready]
        return ready == len(names)

    def _told(self, ahead: Sequence[int]) -> Course:
        population, decided = self.population, self.decisions[-1]
        used = self.drawn[: decided.since] if decided.done else self.drawn
        asked = [
            population.keys[place] for item in [*self.drawn, *ahead] for place in population.members[item]
        ]
        asked = list(dict.fromkeys(asked))
        waiting = [] if decided.done else [key for key in asked if key not in self.labels]
        counted = [population.keys[place] for item in self.counted for place in population.members[item]]
        known = set(population.keys)
        given = sum(key in known for key in self.labels)
        unasked = given - sum(key in self.labels for key in asked)
        return Course(
            population, joined(self.parts), tuple(self.drawn), decided, tuple(waiting), tuple(asked),
            tuple(counted),
            int(population.cost[used].sum()), given, unasked,
        )  # fmt: skip


def _nothing(k: int) -> Draws:
    return Draws(*(np.zeros((0, k)) for _ in range(7)))


def decisions(population: Population, draws: Draws, alpha: float) -> Decided:
    """What the draws decide. All comparisons together are wrong in at most `alpha` of studies."""
    k = len(population.comparisons)
    if len(draws) == 0 and not len(population.low):
        return Decided(np.zeros(k, int), np.zeros(k, int), None, True, 0, True)
    found = verdicts(draws, population.bars, alpha / max(k, 1))
    sign = np.where(found.above >= 0, 1, np.where(found.below >= 0, -1, 0))
    at = np.where(sign > 0, found.above, found.below)
    exhausted = len(draws) == len(population.low)
    best, since = _best(population, sign, at)
    if population.bar is not None:
        best, since = None, int(at.max()) if (sign != 0).all() else -1
    done = since >= 0 or exhausted
    certain = exhausted or bool((found.certain | (sign == 0)).all() and done)
    return Decided(sign, at, best, done, since if since >= 0 else len(draws), certain)


def _best(population: Population, sign: Ints, at: Ints) -> tuple[int | None, int]:
    """The one run that none is known to beat, and after how many draws it is the only one; (None, -1) with several."""
    beaten = _beaten(population, sign, at)
    left = [run for run in range(len(population.runs)) if run not in beaten]
    return (left[0], max(beaten.values())) if len(left) == 1 and beaten else (None, -1)


def _beaten(population: Population, sign: Ints, at: Ints) -> dict[int, int]:
    """The runs that another one is known to be better than, and after how many draws that was known first."""
    better = 1 if population.asked.higher else -1
    found: dict[int, int] = {}
    for comparison, result, when in zip(population.comparisons, sign.tolist(), at.tolist(), strict=True):
        if comparison.b is not None and result:
            loser = comparison.b if result == better else comparison.a
            found[loser] = min(when, found.get(loser, when))
    return found


def open_comparisons(population: Population, decided: Decided) -> NDArray[np.bool_]:
    """Those that can still change which run is best: of two runs that no other is known to beat."""
    beaten = _beaten(population, decided.sign, decided.at).keys()
    return np.array([
        sign == 0 and (comparison.b is None or not {comparison.a, comparison.b} & beaten)
        for comparison, sign in zip(population.comparisons, decided.sign, strict=True)
    ])  # fmt: skip
