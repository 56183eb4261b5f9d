"""The course of a study: which passages are asked for, in which order, and what is decided after every label.

All of it follows from the runs, the measure, the seed and the labels: a study that was killed is replayed to where it
was. Items are drawn in blocks. People may label a block and the next one in any order; what chances and guesses of a
block are made of are the labels of the blocks before the last, so that they never depend on what they are chances of.
A foretold value that is wrong costs labels and never the truth: what is drawn corrects it (`stats.sequences`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embassay.measures.judgements import GRADES, UNJUDGED
from embassay.protocols.rag.decision.population import ComparisonItemPopulation, Floats, Ints, Key, Labels
from embassay.protocols.rag.scoring.options import SequentialLabellingRequest
from embassay.randomness import make_seeded_generator
from embassay.stats.sequences import (
    PopulationBeforeBlock,
    SequentialDrawEstimates,
    decide_totals_against_bars,
    draw_weighted_item_order,
    join_sequential_draws,
    make_sequential_draws_of_block,
)

BANDS = np.array([1, 2, 4, 6, 11])
"""First ranks of the bands by which passages are told apart."""
_FIRST_GUESS, _SHY, _STRENGTH = 0.3, 0.5, 5.0
LEAST_SPREAD = 0.2
"""No passage is thought surer than this, so that a surprise costs no more than a few draws."""


@dataclass(frozen=True)
class RemainingItemValueForecast:
    """What is foretold of the items that are left: `values` (n, k), and `weight` (n,), what chances are like."""

    values: Floats
    weight: Floats


class UnlabelledItemForecaster:
    """Foretells from ranks, from the grades of a judge (`guide`) where there are some, and from labels so far."""

    def __init__(self, population: ComparisonItemPopulation, guide: Labels) -> None:
        self._population = population
        self._guide = guide
        self._judged = np.array([guide.get(key, UNJUDGED) for key in population.keys], dtype=np.int64)
        band = np.searchsorted(BANDS, population.best_rank_of_each_passage, side="right")
        shared = np.minimum((population.ranks > 0).sum(axis=1), 2)
        first = np.where(population.ranks > 0, population.ranks, population.asked.cutoff + 1).argmin(axis=1)
        cell = ((first * (len(BANDS) + 1) + band) * 3 + shared) * (len(GRADES) + 1) + self._judged
        self._cell = np.unique(cell, return_inverse=True)[1]
        self._query_guess = self._estimate_query_values_from_judge_grades() if population.asked.linear is None else None

    def forecast_unlabelled_items(
        self, labelled: Sequence[int], labels: Labels, active: NDArray[np.bool_]
    ) -> RemainingItemValueForecast:
        """From `labelled` items (places) with their `labels`, for the comparisons that are still `active` (k,)."""
        if self._population.asked.linear is not None:
            return self._forecast_unlabelled_passages(labelled, labels, active)
        return self._forecast_values_of_unlabelled_queries(labelled, labels, active)

    def _forecast_unlabelled_passages(
        self, labelled: Sequence[int], labels: Labels, active: NDArray[np.bool_]
    ) -> RemainingItemValueForecast:
        population = self._population
        assert population.asked.linear is not None
        members = np.array([places[0] for places in population.passages_of_each_item], dtype=np.int64)
        labelled_at = members[list(labelled)]
        gain = population.asked.linear.gain[[labels[population.keys[place]] for place in labelled_at]]
        likely = self._estimate_expected_passage_gains(labelled_at, gain)[members]
        # The spread of a gain of 0 or 1; a guess near either is less sure than it looks.
        spread = np.maximum(np.sqrt(likely * (1 - likely)), LEAST_SPREAD)
        reach = np.abs(population.coefficients[:, active]).max(axis=1, initial=0.0)
        return RemainingItemValueForecast(population.coefficients * likely[:, None], reach * spread)

    def _estimate_expected_passage_gains(self, labelled: Ints, gain: Floats) -> Floats:
        """The expected gain of every passage: each cell leans on the judge's grade, and that on all labels."""
        assert self._population.asked.linear is not None
        overall = (gain.sum() + _FIRST_GUESS * _STRENGTH) / (len(gain) + _STRENGTH)
        by_grade = self._population.asked.linear.gain * _SHY + overall * (1 - _SHY)
        by_grade[UNJUDGED] = overall
        wider = _shrink_cell_gains_to_prior(self._judged, labelled, gain, by_grade[self._judged])
        return _shrink_cell_gains_to_prior(self._cell, labelled, gain, wider)

    def _forecast_values_of_unlabelled_queries(
        self, labelled: Sequence[int], labels: Labels, active: NDArray[np.bool_]
    ) -> RemainingItemValueForecast:
        population = self._population
        values = np.zeros_like(population.low)
        if self._query_guess is not None and self._guide:
            foretold = self._query_guess
            y = population.values(labelled, labels)
            x = foretold[list(labelled)]
            # Least squares through 0, pulled towards a slope of one half by the weight of the prior.
            slope = ((x * y).sum() + _SHY * _compute_weight_of_query_prior(foretold)) / (
                (x**2).sum() + _compute_weight_of_query_prior(foretold)
            )
            values = np.clip(foretold * np.clip(slope, 0.0, 1.0), population.low, population.high)
        width = (population.high - population.low)[:, active].max(axis=1, initial=0.0) / 4
        reach = np.sqrt(width**2 + (values[:, active] ** 2).max(axis=1, initial=0.0))
        return RemainingItemValueForecast(values, reach / np.sqrt(population.cost))

    def _estimate_query_values_from_judge_grades(self) -> Floats:
        """What the judge's grades say of every query."""
        every = {key: int(grade) for key, grade in zip(self._population.keys, self._judged, strict=True)}
        return self._population.values(range(len(self._population.low)), every)


def _compute_weight_of_query_prior(foretold: Floats) -> float:
    """The weight of the prior: as much as five queries weigh."""
    return float(_STRENGTH * (foretold**2).mean()) + 1e-12


def _shrink_cell_gains_to_prior(cell: Ints, labelled: Ints, gain: Floats, prior: Floats) -> Floats:
    """The mean gain of each passage's cell, leaning on the `prior` of the passage."""
    size = int(cell.max()) + 1
    count = np.bincount(cell[labelled], minlength=size)
    total = np.bincount(cell[labelled], weights=gain, minlength=size)
    # As if so many more passages had been labelled, each with the gain that the prior says.
    return np.asarray((total[cell] + _STRENGTH * prior) / (count[cell] + _STRENGTH))


AHEAD = 2
"""Blocks that may be labelled at a time."""


@dataclass(frozen=True)
class DecisionSettings:
    """How sure a decision is to be, the seed, the labels of a block, and a judge's grades that guide the choice."""

    alpha: float = SequentialLabellingRequest.alpha
    seed: int = SequentialLabellingRequest.seed
    block: int = SequentialLabellingRequest.block
    """At first; later blocks are an eighth of what is labelled."""
    guide: Labels = field(default_factory=dict)


@dataclass(frozen=True)
class ComparisonVerdicts:
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
class LabellingStudyState:
    """Where a study stands. `drawn` are the items of `draws`, in order; `waiting` passages that shall be labelled now,
    in order; `asked` are all that ever were, `counted` those whose blocks are whole. `used` is how many labels stand
    behind the decision, `given` how many there are, `unasked` those that nobody asked for.
    """

    population: ComparisonItemPopulation
    draws: SequentialDrawEstimates
    drawn: tuple[int, ...]
    decided: ComparisonVerdicts
    waiting: tuple[Key, ...]
    asked: tuple[Key, ...]
    counted: tuple[Key, ...]
    used: int
    given: int
    unasked: int

    @property
    def max_labels_needed(self) -> int:
        """The labels that there are to ask for at most."""
        return int(self.population.cost.sum())


def find_study_state_from_labels(
    population: ComparisonItemPopulation, labels: Labels, terms: DecisionSettings
) -> LabellingStudyState:
    """Replay a study up to the labels that there are."""
    return _DecisionStudyReplay(population, labels, terms).replay_blocks_to_study_state()


class _DecisionStudyReplay:
    def __init__(self, population: ComparisonItemPopulation, labels: Labels, terms: DecisionSettings) -> None:
        self.population, self.labels, self.terms = population, labels, terms
        self.chooser = UnlabelledItemForecaster(population, terms.guide)
        self.left = np.ones(len(population.low), dtype=bool)
        self.blocks: list[list[int]] = []
        self.parts: list[SequentialDrawEstimates] = [_make_empty_sequential_draws(len(population.comparisons))]
        self.drawn: list[int] = []
        self.decisions = [decide_comparisons(population, self.parts[0], terms.alpha)]
        self.counted: list[int] = []

    def replay_blocks_to_study_state(self) -> LabellingStudyState:
        """Replay block after block, until one is not labelled whole or nothing is left to decide."""
        ahead: list[list[int]] = []
        for order, left, names in self._draw_item_blocks():
            whole = not ahead and self._add_labelled_part_of_block(order, left, names)
            if self.decisions[-1].done:
                return self._build_study_state([])
            if not whole:
                ahead.append(names)
                if len(ahead) == AHEAD:
                    break
        return self._build_study_state([item for names in ahead for item in names])

    def _draw_item_blocks(self) -> Iterator[tuple[Ints, PopulationBeforeBlock, list[int]]]:
        """The next block: places in what is left, what that is, and the items."""
        while self.left.any():
            number = len(self.blocks)
            places = np.flatnonzero(self.left)
            # Labels of blocks that are still being labelled must not decide what is drawn next.
            before = [item for names in self.blocks[: max(number - AHEAD + 1, 0)] for item in names]
            active = self._find_open_comparisons(max(number - AHEAD + 1, 0))
            guess = self.chooser.forecast_unlabelled_items(before, self.labels, active)
            # No weight is 0: every passage that is left can be drawn.
            weight = np.maximum(guess.weight[places], guess.weight.max() * 1e-9 + 1e-300)
            left = PopulationBeforeBlock(
                self.population.low[places], self.population.high[places], guess.values[places], weight
            )
            order = draw_weighted_item_order(
                weight, make_seeded_generator(self.terms.seed, "until decided", str(number))
            )
            order = order[: self._choose_next_block_size(order, places)]
            names = places[order].tolist()
            self.left[names] = False
            self.blocks.append(names)
            yield order, left, names

    def _choose_next_block_size(self, order: Ints, places: Ints) -> int:
        """As many items as have a block's labels, one at least."""
        labels = sum(int(self.population.cost[names].sum()) for names in self.blocks)
        room = max(self.terms.block, labels // 8)
        return max(1, int(np.searchsorted(np.cumsum(self.population.cost[places[order]]), room, "right")))

    def _find_open_comparisons(self, blocks: int) -> NDArray[np.bool_]:
        """The comparisons that the first `blocks` left open."""
        decided = self.decisions[min(blocks, len(self.decisions) - 1)]
        return find_comparisons_open_for_best_run(self.population, decided)

    def _add_labelled_part_of_block(self, order: Ints, left: PopulationBeforeBlock, names: list[int]) -> bool:
        """Add what is labelled of a block, up to the first item that is not; whether that is all of it."""
        ready = 0
        while ready < len(names) and self.population.is_item_labelled(names[ready], self.labels):
            ready += 1
        drawn_sum = sum((part.values.sum(axis=0) for part in self.parts), np.zeros(left.low.shape[1]))
        if ready:
            values = self.population.values(names[:ready], self.labels)
            # The chances are those of the whole block, whatever of it is labelled.
            self.parts.append(make_sequential_draws_of_block(left, order[:ready], values, drawn_sum))
            self.drawn += names[:ready]
            self.decisions.append(
                decide_comparisons(self.population, join_sequential_draws(self.parts), self.terms.alpha)
            )
        if ready == len(names) or self.decisions[-1].done:
            self.counted += names[:ready]
        return ready == len(names)

    def _build_study_state(self, ahead: Sequence[int]) -> LabellingStudyState:
        population, decided = self.population, self.decisions[-1]
        used = self.drawn[: decided.since] if decided.done else self.drawn
        asked = [
            population.keys[place] for item in [*self.drawn, *ahead] for place in population.passages_of_each_item[item]
        ]
        asked = list(dict.fromkeys(asked))
        waiting = [] if decided.done else [key for key in asked if key not in self.labels]
        counted = [population.keys[place] for item in self.counted for place in population.passages_of_each_item[item]]
        keys = set(population.keys)
        labelled = sum(key in keys for key in self.labels)
        unasked = labelled - sum(key in self.labels for key in asked)
        return LabellingStudyState(
            population, join_sequential_draws(self.parts), tuple(self.drawn), decided, tuple(waiting), tuple(asked),
            tuple(counted),
            int(population.cost[used].sum()), labelled, unasked
        )  # fmt: skip


def _make_empty_sequential_draws(k: int) -> SequentialDrawEstimates:
    return SequentialDrawEstimates(*(np.zeros((0, k)) for _ in range(7)))


def decide_comparisons(
    population: ComparisonItemPopulation, draws: SequentialDrawEstimates, alpha: float
) -> ComparisonVerdicts:
    """What the draws decide. All comparisons together are wrong in at most `alpha` of studies."""
    k = len(population.comparisons)
    if len(draws) == 0 and not len(population.low):
        return ComparisonVerdicts(np.zeros(k, int), np.zeros(k, int), None, True, 0, True)
    # Bonferroni: all comparisons together keep alpha.
    verdict = decide_totals_against_bars(draws, population.comparison_bars, alpha / max(k, 1))
    sign = np.where(verdict.above >= 0, 1, np.where(verdict.below >= 0, -1, 0))
    at = np.where(sign > 0, verdict.above, verdict.below)
    exhausted = len(draws) == len(population.low)
    best, since = _find_unbeaten_run(population, sign, at)
    if population.bar is not None:
        # Against a bar every run has its own answer, and it is over when the last of them is there.
        best, since = None, int(at.max()) if (sign != 0).all() else -1
    done = since >= 0 or exhausted
    certain = exhausted or bool((verdict.certain | (sign == 0)).all() and done)
    return ComparisonVerdicts(sign, at, best, done, since if since >= 0 else len(draws), certain)


def _find_unbeaten_run(population: ComparisonItemPopulation, sign: Ints, at: Ints) -> tuple[int | None, int]:
    """The one run that none is known to beat, and after how many draws it is the only one; (None, -1) with several."""
    beaten = _map_beaten_runs_to_decision_draw(population, sign, at)
    left = [run for run in range(len(population.runs)) if run not in beaten]
    return (left[0], max(beaten.values())) if len(left) == 1 and beaten else (None, -1)


def _map_beaten_runs_to_decision_draw(population: ComparisonItemPopulation, sign: Ints, at: Ints) -> dict[int, int]:
    """The runs that another one is known to be better than, and after how many draws that was known first."""
    better = 1 if population.asked.higher else -1
    beaten: dict[int, int] = {}
    for comparison, result, when in zip(population.comparisons, sign.tolist(), at.tolist(), strict=True):
        if comparison.b is not None and result:
            loser = comparison.b if result == better else comparison.a
            beaten[loser] = min(when, beaten.get(loser, when))
    return beaten


def find_comparisons_open_for_best_run(
    population: ComparisonItemPopulation, decided: ComparisonVerdicts
) -> NDArray[np.bool_]:
    """Those that can still change which run is best: of two runs that no other is known to beat."""
    beaten = _map_beaten_runs_to_decision_draw(population, decided.sign, decided.at).keys()
    return np.array([
        sign == 0 and (comparison.b is None or not {comparison.a, comparison.b} & beaten)
        for comparison, sign in zip(population.comparisons, decided.sign, strict=True)
    ])  # fmt: skip


def list_comparisons_to_decide(
    population: ComparisonItemPopulation, decided: ComparisonVerdicts, values: Sequence[float]
) -> list[int]:
    """The comparisons that have to be decided before the study is, by their estimated `values` (k,): those of the run
    that is likely the best with every other one that nothing is known to beat; for a bar, all that are open."""
    if population.bar is not None:
        return np.flatnonzero(decided.sign == 0).tolist()
    beaten = _map_beaten_runs_to_decision_draw(population, decided.sign, decided.at)
    better = 1 if population.asked.higher else -1
    lead = {run: 0.0 for run in range(len(population.runs)) if run not in beaten}
    alive = [
        (place, comparison.a, comparison.b)
        for place, comparison in enumerate(population.comparisons)
        if comparison.b is not None and {comparison.a, comparison.b} <= lead.keys()
    ]
    for place, a, b in alive:
        lead[a] += better * values[place]
        lead[b] -= better * values[place]
    likely = max(lead, key=lambda run: lead[run])
    return [place for place, a, b in alive if likely in (a, b)]
