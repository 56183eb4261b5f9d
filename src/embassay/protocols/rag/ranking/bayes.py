"""The engine `bayes`: as many answers as it takes to know the order, and no more.

Every answer is compared with what was predicted before it came (one step ahead), by pairs: under Plackett-Luce i is put
before j with the logistic of the difference of their scores, whatever else is shown. The limits were set on simulated
judges and tried on others: `benchmarks/bench_golden_ranking.py --reliability`.

The judge's sharpness A and the grades' reliability rho differ from query to query, but not by much: each query's point
on the grid is taken as a common point g0 moved by a kernel K, of which the width is learned as well. Every query q
brings its evidences E_q over the grid; what the others say to it is

    p_q(g)  =  sum over g0 and widths of  p(g0) p(width) K(g0 -> g)  x  product over r != q of  sum_h K(g0 -> h) E_r(h)

which is exact on the grid and asks nothing of the queries but their evidences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.ranking.choice import (
    ExpectedOrderAgreement,
    estimate_agreement_of_draws_with_order,
    propose_disjoint_windows,
)
from embassay.protocols.rag.ranking.engines import (
    BayesRankingOptions,
    CandidateRanking,
    JudgeOrderAnswer,
    PoolPassage,
    PoolRanker,
    check_answers_fit_proposals,
)
from embassay.protocols.rag.ranking.posterior import (
    RELIABILITY,
    SHARPNESS,
    CandidateRankingLearner,
    Floats,
    RankingPosteriorMixturePoint,
    compute_log_prior_weights,
    draw_mixture_scores,
    estimate_utility_moments_from_grades,
)
from embassay.randomness import make_seeded_generator
from embassay.spec import COLON, Spec

STEADY, CIRCULAR = 0.4, 0.004
"""Fixed errors: pairs shown again stay as they were by more than this (excess over its variance, a shift in logits),
and yet more than this share of threes goes round in a circle. A sharp judge has the first without the second, fresh
noise the second without the first."""
AS_SHOWN = 0.05
"""The order shown comes back as the answer in more than this share of answers beyond chance."""
FAVOUR = 0.4
"""A bias for places above this, in standard deviations of utility."""
SURPRISE = 0.3
"""Pairs shown again were less probable than predicted by more than this (nats beyond their expectation, over its
variance)."""
BELOW, LEVEL, ALONE, STAYS = 0.7, 0.16, 0.6, 2.4
"""A claim of the top set comes true in logits as itself, below a half as `BELOW` times itself; plus `LEVEL`, less
`ALONE` times the share that a query's own answers are of all that the judge is known by, less `STAYS` times how far
pairs stay as they were beyond fresh noise. Fitted to simulated judges, odd and real ones among them, and tried on other
pools of theirs."""
FRESH, NOISY = 0.1, 0.008
"""The steadiness that fresh noise has too, and the share of circles from which a judge is not just sharp."""
FEW = {"spread": 3.0, "triads": 50.0, "answers": 10.0, "doubt": 30.0}
"""Added to what each figure is divided by, so that a few answers raise no alarm."""


@dataclass(frozen=True)
class AnswerReliabilitySums:
    """Sums over answers, which add up over queries. Of pairs shown before: `stayed`, how many more than expected were
    put as before, and `spread`, the variance of that; `surprise`, the log loss beyond what was expected, and `doubt`,
    its variance. Of `triads`, threes with a majority for each pair, `circles` go round. Of `answers`, `as_shown` more
    than expected are the order shown."""

    answers: float = 0.0
    stayed: float = 0.0
    spread: float = 0.0
    surprise: float = 0.0
    doubt: float = 0.0
    circles: float = 0.0
    triads: float = 0.0
    as_shown: float = 0.0

    def __add__(self, other: AnswerReliabilitySums) -> AnswerReliabilitySums:
        return AnswerReliabilitySums(**{name: value + getattr(other, name) for name, value in vars(self).items()})

    def __sub__(self, other: AnswerReliabilitySums) -> AnswerReliabilitySums:
        return AnswerReliabilitySums(**{name: value - getattr(other, name) for name, value in vars(self).items()})

    def compute_limited_figures(self, favour: float) -> Mapping[str, float]:
        """Compute the figures held against the limits, with the bias for places `favour`."""
        return {
            "steadiness": self.stayed / (self.spread + FEW["spread"]),
            "circular": self.circles / (self.triads + FEW["triads"]),
            "as_shown": self.as_shown / (self.answers + FEW["answers"]),
            "favour": favour,
            "surprise": self.surprise / (self.doubt + FEW["doubt"]),
        }

    def doubts(self, favour: float) -> tuple[str, ...]:
        """List why nothing should be claimed from the answers; none if all is well."""
        figures = self.compute_limited_figures(favour)
        reasons = {
            "fixed errors": figures["steadiness"] > STEADY and figures["circular"] > CIRCULAR,
            "order shown": figures["as_shown"] > AS_SHOWN,
            "places": abs(favour) > FAVOUR,
            "surprises": figures["surprise"] > SURPRISE,
        }
        return tuple(name for name, holds in reasons.items() if holds)

    def calibrate_claimed_chance(self, chance: float, alone: float) -> float:
        """What a claim of `chance` comes true as where these are the checks of all answers of the judge, and the
        query's own are this share of them."""
        figures = self.compute_limited_figures(0.0)
        stays = max(0.0, figures["steadiness"] - FRESH) * min(1.0, figures["circular"] / NOISY)
        # The log odds of 0 and of 1 are infinite.
        inside = min(max(chance, 0.01), 0.99)
        logit = math.log(inside / (1 - inside)) * (BELOW if inside < 0.5 else 1.0)
        return 1 / (1 + math.exp(ALONE * alone + STAYS * stays - LEVEL - logit))


class PoolAnswerChecks:
    """The answers about one pool of n as they come, with their checks."""

    def __init__(self, n: int, random: float) -> None:
        self._wins, self._random = np.zeros((n, n), dtype=np.int64), random
        self._sums = AnswerReliabilitySums()

    def add(self, order: NDArray[np.int64], place: Floats, both: Floats) -> None:
        """An answer `order` (m,), shown at `place` (m,) in -1 .. 1, where `both` (draws, n + 1) were draws of the
        scores and the bias before it came."""
        scores = both[:, order] - place * both[:, -1:]
        above, below = np.triu_indices(len(order), 1)
        chance = (1 / (1 + np.exp(scores[:, below] - scores[:, above]))).mean(axis=0)
        chance = (1 - self._random) * chance + self._random / 2
        before = self._wins[order[above], order[below]] - self._wins[order[below], order[above]]
        repeated = self._wins[order[above], order[below]] + self._wins[order[below], order[above]] > 0
        self._sums += AnswerReliabilitySums(
            1.0, *_sum_unchanged_pairs_and_variance(chance[before != 0], before[before != 0] > 0),
            *_measure_order_surprise_and_variance(chance[repeated]),
            as_shown=float((np.diff(place) > 0).all()) - self._compute_score_order_chance(scores[:, np.argsort(place)])
        )  # fmt: skip
        self._wins[order[above], order[below]] += 1

    def sum_reliability_checks(self) -> AnswerReliabilitySums:
        """Sum the reliability checks, with the circles that there are now."""
        over = (self._wins > self._wins.T).astype(np.int64)
        either = over + over.T
        circles, triads = np.trace(over @ over @ over) / 3, np.trace(either @ either @ either) / 6
        return self._sums + AnswerReliabilitySums(circles=float(circles), triads=float(triads))

    def _compute_score_order_chance(self, scores: Floats) -> float:
        """Compute how probable it is that an answer is the order in which `scores` (draws, m) stand."""
        tails = np.logaddexp.accumulate(scores[:, ::-1], axis=1)[:, ::-1]
        real = float(np.exp((scores - tails).sum(axis=1)).mean())
        return (1 - self._random) * real + self._random / math.factorial(scores.shape[1])


def _sum_unchanged_pairs_and_variance(chance: Floats, as_before: NDArray[np.bool_]) -> tuple[float, float]:
    """Of pairs that were put so with `chance`, how many more than expected are as before, and the variance."""
    expected = np.where(as_before, chance, 1 - chance)
    return float((as_before - expected).sum()), float((chance * (1 - chance)).sum())


def _measure_order_surprise_and_variance(chance: Floats) -> tuple[float, float]:
    """The log loss of pairs that were put so with `chance` beyond its expectation, and its variance."""
    odds = np.log(chance / (1 - chance))
    return float((-(1 - chance) * odds).sum()), float((chance * (1 - chance) * odds**2).sum())


WIDTHS = (0.15, 0.4, 1.0)
"""Standard deviations of log A between queries that are thought possible, alike beforehand."""
CELLS = 2.0
"""Reliability moves by this many cells of the grid for each unit of width."""
LOWEST = -300.0


def compute_shared_log_priors(evidences: Floats) -> Floats:
    """For each query the log prior over the grid that all others give it, (queries, points), of `evidences` of that
    shape (log, each query with its own constant)."""
    relative = np.maximum(evidences - evidences.max(axis=1, keepdims=True), LOWEST)
    heights, kernels = np.exp(relative), _make_smoothing_kernels()
    common = compute_log_prior_weights()
    spoken = [np.log(heights @ kernel.T) for kernel in kernels]  # (queries, points) of g0 for each width
    total = np.array([common + of_width.sum(axis=0) for of_width in spoken])  # (widths, points)
    priors = np.empty_like(heights)
    for query in range(len(heights)):
        others = total - np.array([of_width[query] for of_width in spoken])
        weights = np.exp(others - others.max())
        blurred = [weight @ kernel for weight, kernel in zip(weights, kernels, strict=True)]
        priors[query] = np.log(np.maximum(np.sum(blurred, axis=0) / weights.sum(), np.exp(LOWEST)))
    return np.asarray(priors)


@lru_cache
def _make_smoothing_kernels() -> tuple[Floats, ...]:
    """K(g0 -> g), (points, points), its rows sums of 1, for each width."""
    sharpness, reliability = np.log(SHARPNESS), np.arange(len(RELIABILITY), dtype=np.float64)
    # The points are all pairs of a sharpness and a reliability, so the kernel is a Kronecker product.
    return tuple(
        np.asarray(
            np.kron(_make_gaussian_kernel(sharpness, width), _make_gaussian_kernel(reliability, CELLS * width)),
            dtype=np.float64,
        )
        for width in WIDTHS
    )


def _make_gaussian_kernel(values: Floats, width: float) -> Floats:
    kernel = np.exp(-0.5 * ((values[:, None] - values[None, :]) / width) ** 2)
    return np.asarray(kernel / kernel.sum(axis=1, keepdims=True))


LOOK_EVERY, LOOKS = 2, 2
"""Calls between two looks at whether to stop, and how many in a row must say so."""


class RankingPosteriorState:
    """What the posterior says as it stands: mixture, draws, order."""

    def __init__(self, posterior: CandidateRankingLearner, n: int, draws: int, rng: np.random.Generator) -> None:
        self.components = posterior.components()
        self.both = draw_mixture_scores(self.components, rng.standard_normal((n + 1, draws)))
        self.scores = np.ascontiguousarray(self.both[:, :n])
        # Equal scores keep the order of candidates; rounding must not tell them apart.
        self.order = np.argsort(-np.round(self.best.mode[:n] / self.best.sharpness, 9), kind="stable")

    @property
    def best(self) -> RankingPosteriorMixturePoint:
        """The point of the grid with the largest weight."""
        return self.components[0]


class BayesRanker:
    """A Bayesian ranker of one pool; inside, candidates stand by grade, fusion rank and id."""

    def __init__(
        self, candidates: Sequence[PoolPassage], *, query: str, top: int, seed: int, options: BayesRankingOptions
    ) -> None:
        self._options, self._top = options, max(1, min(top, len(candidates)))
        self._names = (seed, "ranking", "bayes", query)
        self._given = np.array(
            sorted(range(len(candidates)), key=lambda i: _candidate_sort_key(candidates[i])), dtype=np.intp
        )
        # The inverse permutation: where each candidate, as given, stands in the sorted order.
        self._inside = np.argsort(self._given)
        spread = estimate_utility_moments_from_grades([candidates[i].grade for i in self._given])
        self._limits = options.limits(len(candidates), graded=not spread.has_mostly_tied_grades)
        self._borders = spread.list_relevance_border_places(self._top)
        self.posterior = CandidateRankingLearner(
            spread, options.batch, random=options.random, bias=options.bias, gamma=options.gamma
        )
        self._answers = PoolAnswerChecks(len(candidates), options.random)
        self.others = AnswerReliabilitySums()
        self.calls = 0
        self._exposures = np.zeros(len(candidates), dtype=np.int64)
        self._view: RankingPosteriorState | None = None
        self._claims: ExpectedOrderAgreement | None = None
        self._proposed: list[tuple[int, ...]] | None = None
        self._looked, self._sure = 0, 0
        self._stopped = "" if len(candidates) >= options.batch else "too few to judge"

    def propose_batches(self) -> Sequence[tuple[int, ...]]:
        """Batches to be judged now; none once it has stopped."""
        if self._proposed is None:
            self._stop_if_capped_or_sure()
            self._proposed = [] if self._stopped else self._propose_next_ranking_windows()
        return self._proposed

    def learn(self, answers: Sequence[JudgeOrderAnswer]) -> None:
        """Learn from the answers to all proposals."""
        check_answers_fit_proposals(self.propose_batches(), answers)
        if not answers:
            return
        orders = np.array([[self._inside[i] for i in call.order] for call in answers], dtype=np.int64)
        places = np.array([[call.shown.index(i) for i in call.order] for call in answers], dtype=np.float64)
        # From -1 for the first place to 1 for the last.
        places = 2 * places / (orders.shape[1] - 1) - 1
        for order, place in zip(orders, places, strict=True):
            self._answers.add(order, place, self._get_cached_posterior_state().both)
        self.posterior.learn_answers(orders, places)
        # add.at counts a candidate as often as it occurs, where += would count it once.
        np.add.at(self._exposures, orders.ravel(), 1)
        self.calls += len(answers)
        self.clear_cached_posterior_results()

    def sum_reliability_of_own_answers(self) -> AnswerReliabilitySums:
        """What this pool's own answers say of the model; `others` is what those of other pools do."""
        return self._answers.sum_reliability_checks()

    def clear_cached_posterior_results(self) -> None:
        """Forget what was worked out: the posterior has changed."""
        self._view = self._claims = self._proposed = None

    def ranking(self) -> CandidateRanking:
        """Rank at the best grid point; scores in standard deviations of utility, `info` their precision."""
        view, n = self._get_cached_posterior_state(), len(self._given)
        sharpness = view.best.sharpness
        precision = sharpness**2 / np.diagonal(view.best.compute_score_covariance())[:n]
        return CandidateRanking(
            order=tuple(int(i) for i in self._given[view.order]),
            scores=_convert_to_float_tuple((view.best.mode[:n] / sharpness)[self._inside]),
            exposures=tuple(int(i) for i in self._exposures[self._inside]),
            info=_convert_to_float_tuple(precision[self._inside]),
            stopped=self._stopped,
            claims=self._map_trusted_agreement_claims(),
            doubts=self._list_reasons_to_doubt_judge(),
        )

    def state(self) -> Mapping[str, Any]:
        """Describe the ranker's state: calls, the mixture's mean parameters, the checks and the claims."""
        parts = self._get_cached_posterior_state().components
        draws = self._get_cached_posterior_state().both
        sharpness = self._average_sharpness_over_components()
        return {
            "calls": self.calls,
            "cap": self._limits.cap,
            "sharpness": sharpness,
            "reliability": sum(part.weight * part.reliability for part in parts),
            "bias": self._estimate_place_bias(),
            "bias_sd": float(draws[:, -1].std()) / sharpness,
            "components": len(parts),
            "looks_in_a_row": self._sure,
            "stopped": self._stopped,
            **(self.sum_reliability_of_own_answers() + self.others).compute_limited_figures(
                self._estimate_place_bias()
            ),
            "doubts": list(self._list_reasons_to_doubt_judge()),
            **self._map_trusted_agreement_claims(),
        }

    def _propose_next_ranking_windows(self) -> list[tuple[int, ...]]:
        options, view = self._options, self._get_cached_posterior_state()
        count = min(options.at_once, self._limits.cap - self.calls)
        batches = propose_disjoint_windows(
            view.best, view.scores, view.order, self._borders, m=options.batch, count=count,
            border=options.border, rng=self._make_random_generator("choice")
        )  # fmt: skip
        return [tuple(int(self._given[i]) for i in batch) for batch in batches]

    def _stop_if_capped_or_sure(self) -> None:
        """Stop at the cap, or when the claims have been good enough at two looks in a row."""
        if self._stopped:
            return
        due = self.calls >= self._limits.first_look and self.calls >= self._looked + LOOK_EVERY
        if self._options.stop and self.calls and due:
            self._looked = self.calls
            self._sure = self._sure + 1 if self._is_order_agreement_good_enough() else 0
        if self._sure >= LOOKS:
            self._stopped = "sure"
        elif self.calls >= self._limits.cap:
            self._stopped = "cap"

    def _is_order_agreement_good_enough(self) -> bool:
        claimed, wanted = self._estimate_order_agreement(), self._options
        return (
            not self._list_reasons_to_doubt_judge()
            and claimed.set_errors_at_most_1 >= wanted.surely
            and claimed.overlap >= wanted.overlap
            and claimed.tau >= wanted.tau
        )

    def _get_cached_posterior_state(self) -> RankingPosteriorState:
        if self._view is None:
            self._view = RankingPosteriorState(
                self.posterior, len(self._given), self._options.draws, self._make_random_generator("draws")
            )
        return self._view

    def _estimate_order_agreement(self) -> ExpectedOrderAgreement:
        if self._claims is None:
            claimed, own_checks = (
                estimate_agreement_of_draws_with_order(
                    self._get_cached_posterior_state().scores, self._get_cached_posterior_state().order, self._top
                ),
                self.sum_reliability_of_own_answers(),
            )
            checks = own_checks + self.others
            alone = own_checks.answers / max(1.0, checks.answers)
            top = {name: var for name, var in vars(claimed).items() if name.startswith("set_errors")}
            held = {name: checks.calibrate_claimed_chance(chance, alone) for name, chance in top.items()}
            self._claims = replace(claimed, **held)
        return self._claims

    def _map_trusted_agreement_claims(self) -> Mapping[str, float]:
        """List the claims; none without answers, or if answers are not such as the model expects."""
        return (
            self._estimate_order_agreement().as_dict() if self.calls and not self._list_reasons_to_doubt_judge() else {}
        )

    def _list_reasons_to_doubt_judge(self) -> tuple[str, ...]:
        return (
            (self.sum_reliability_of_own_answers() + self.others).doubts(self._estimate_place_bias())
            if self.calls
            else ()
        )

    def _estimate_place_bias(self) -> float:
        """The bias for places in standard deviations of utility."""
        return float(self._get_cached_posterior_state().both[:, -1].mean()) / self._average_sharpness_over_components()

    def _average_sharpness_over_components(self) -> float:
        return float(
            np.exp(sum(part.weight * np.log(part.sharpness) for part in self._get_cached_posterior_state().components))
        )

    def _make_random_generator(self, name: str) -> np.random.Generator:
        seed, *names = self._names
        return make_seeded_generator(int(seed), *map(str, names), name, str(self.calls))


def _candidate_sort_key(candidate: PoolPassage) -> tuple[int, int, str]:
    return (-(candidate.grade or 0), candidate.rank, candidate.id)


def _convert_to_float_tuple(values: Floats | NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


class BayesianRankingEngine:
    """A posterior over all orders, from grades and answers; asked is what tells most of the order and its top."""

    def __init__(self, options: BayesRankingOptions = BayesRankingOptions()) -> None:  # noqa: B008 - frozen
        self.options = options

    @property
    def name(self) -> str:
        """With the options that are not the default, as `--ranking` takes them."""
        params = {
            field.name: getattr(self.options, field.name)
            for field in fields(self.options)
            if getattr(self.options, field.name) != field.default
        }
        return COLON.format(Spec("bayes", params=params))

    def start(self, candidates: Sequence[PoolPassage], *, query: str, top: int, seed: int) -> BayesRanker:
        """Start a Bayesian ranker of a pool."""
        return BayesRanker(candidates, query=query, top=top, seed=seed, options=self.options)

    def share(self, rankers: Mapping[str, PoolRanker]) -> None:
        """Tell every query what the others' answers say of the judge's sharpness and the grades' reliability, and
        whether they are such as the model expects."""
        asked = [ranker for ranker in rankers.values() if isinstance(ranker, BayesRanker) and ranker.calls]
        if not self.options.share or len(asked) < 2:
            return
        checks = {id(bayes_ranker): bayes_ranker.sum_reliability_of_own_answers() for bayes_ranker in asked}
        together = sum(checks.values(), AnswerReliabilitySums())
        for ranker, prior in zip(
            asked,
            compute_shared_log_priors(np.array([bayes_ranker.posterior.evidence for bayes_ranker in asked])),
            strict=True,
        ):
            ranker.posterior.log_prior, ranker.others = prior, together - checks[id(ranker)]
            ranker.clear_cached_posterior_results()
