"""How many candidates: what the next larger K brings, and dynamic K, simulated on what was measured (spec rag 3.5).

A query that is escalated costs and takes what K = 100 does, never 150: the first 50 scores are kept and 50 are added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.golden.summary import Figure
from embassay.protocols.rag.sweep.findings.ground import (
    Floats,
    Ground,
    at_cutoff,
    family_of,
    pairs_alike,
    usual_measures,
)
from embassay.protocols.rag.sweep.findings.recommendation import told_apart
from embassay.protocols.rag.sweep.findings.record import Against, Quality, Route, Step, Threshold
from embassay.protocols.rag.sweep.findings.verdict import dollars_more, ms, ms_more, percent, told, usd
from embassay.protocols.rag.sweep.stacks import SIGNALS, Measured
from embassay.protocols.rag.tradeoffs import Stack, marginal_gain
from embassay.randomness import generator


def steps(ground: Ground) -> Iterator[Step]:
    """Every step from a K to the next one of its family, for the usual measures."""
    families: dict[str, list[int]] = {}
    for i, one in enumerate(ground.configurations):
        families.setdefault(family_of(one), []).append(i)
    pairs = [
        (less, more)
        for places in families.values()
        for less, more in pairwise(sorted(places, key=lambda i: ground.configurations[i].k))
    ]
    if not pairs:
        return
    for measure in usual_measures(ground):
        less, more = np.array(pairs).T
        columns = {name: one[:, more] - one[:, less] for name, one in ground.columns(measure).items()}
        for (i, j), gain in zip(pairs, ground.figures(columns), strict=True):
            if gain.value is not None:
                yield _step(ground, i, j, measure, gain)


def _step(ground: Ground, i: int, j: int, measure: str, gain: Figure) -> Step:
    less, more = (
        Stack(ground.ids[at], float(ground.cost[at]), float(ground.latency[at]), {measure: value})
        for at, value in ((i, 0.0), (j, gain.value or 0.0))
    )
    found = marginal_gain(less, more, measure, jitter_ms=ground.jitter_ms)
    return Step(
        family=family_of(ground.configurations[i]), less=less.id, more=more.id,
        k=ground.configurations[i].k, next_k=ground.configurations[j].k, measure=measure, gain=gain,
        milliseconds=found.milliseconds, usd=found.usd, per_ms=found.per_ms, kind=found.kind,
        text=_step_in_words(gain, found.milliseconds, found.usd, ground.jitter_ms),
    )  # fmt: skip


def _step_in_words(gain: Figure, milliseconds: float, usd: float, jitter_ms: float) -> str:
    """What is gained, for how much; what cannot be told from nothing is called so."""
    value = gain.value or 0.0
    if gain.low == gain.high == value == 0:
        quality = "nothing"
    else:
        quality = numbers.change(value) if told_apart(gain) else "not told from 0"
    time = "within jitter" if abs(milliseconds) <= jitter_ms else ms_more(milliseconds)
    return f"{quality}; {time}; {dollars_more(usd)}"


Mask = NDArray[np.bool_]

BELOW: Mapping[str, bool] = {"margin": True, "entropy": False, "noise": True}
"""A small margin, an even spread of scores and a query far from its clean self ask for more (spec rag 3.5)."""
QUARTER = 25.0
ANY = "any"


@dataclass(frozen=True)
class Halves:
    """Which queries set thresholds, and which judge them: places, disjoint, together all."""

    calibration: NDArray[np.int64]
    evaluation: NDArray[np.int64]


def halves(n: int, seed: int, dataset: str) -> Halves:
    """Half of the queries (the smaller one where n is odd) to calibrate, drawn by seed, and the others.

    >>> parts = halves(5, 1, "sea")
    >>> len(parts.calibration), len(parts.evaluation)
    (2, 3)
    """
    order = generator(seed, "sweep", "routing", dataset).permutation(n)
    return Halves(np.sort(order[: n // 2]), np.sort(order[n // 2 :]))


def entropy(scores: Floats) -> float:
    """Entropy of the softmax (temperature 1) of a reranker's scores over its largest possible value: 0 where one
    candidate has it all, 1 where all are alike. Source: spec rag 3.5.

    >>> round(entropy(np.array([2.0, 1.0, 0.0, 0.0])), 6)
    0.756481
    """
    if len(scores) < 2:
        return 0.0
    shares = np.exp(scores - np.max(scores))
    shares = shares / shares.sum()
    known = shares[shares > 0]
    return float(-(known * np.log(known)).sum() / np.log(len(scores)))


def threshold(dataset: str, signal: str, values: Floats) -> Threshold | None:
    """From where on a signal fires: under the lowest quarter or above the highest of the calibration queries; None
    where it is undefined for all of them."""
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    below = BELOW[signal]
    return Threshold(dataset, signal, float(np.percentile(known, QUARTER if below else 100 - QUARTER)), below)


def fires(limit: Threshold, values: Floats) -> Mask:
    """Which queries ask for more; one whose signal is undefined does not."""
    with np.errstate(invalid="ignore"):
        return np.asarray(values < limit.value if limit.below else values > limit.value)


def any_of(masks: Iterable[Mask]) -> Mask:
    """Which queries at least one signal asks for."""
    return np.asarray(np.logical_or.reduce(list(masks)))


LESS, MORE = 50, 100
CUTOFFS = (10, 30)


@dataclass(frozen=True)
class _Route:
    """Which evaluation queries of each dataset are escalated, between which stacks, by which thresholds."""

    less: int
    more: int
    signal: str
    thresholds: tuple[Threshold, ...]
    escalated: Mapping[str, Mask]


def routes(ground: Ground) -> Iterator[Route]:
    """Every family with K = 50 and K = 100, by each signal that it has and by all of them together."""
    split = {name: halves(n, ground.seed, name) for name, n in ground.queries.items()}
    if any(not len(one.calibration) for one in split.values()):
        return
    pairs = [(j, i) for i, j in pairs_alike(ground, "k", MORE, LESS)]
    found = [route for less, more in pairs for route in _routes(ground, split, less, more)]
    base = ground.rules.measure
    measures = [name for k in CUTOFFS if (name := at_cutoff(ground.measures, base, k))] or [base]
    if found:
        yield from _told(ground, split, found, measures)


def _routes(ground: Ground, split: Mapping[str, Halves], less: int, more: int) -> Iterator[_Route]:
    alone = [one for name in SIGNALS if (one := _by_signal(ground, split, less, more, name)) is not None]
    yield from alone
    if len(alone) > 1:
        together = {name: any_of([one.escalated[name] for one in alone]) for name in ground.datasets}
        yield _Route(less, more, ANY, tuple(t for one in alone for t in one.thresholds), together)


def _by_signal(
    ground: Ground, split: Mapping[str, Halves], less: int, more: int, signal: str
) -> _Route | None:
    """None where the signal is missing on a dataset."""
    limits, masks = [], {}
    for name, half in split.items():
        values = ground.rows[name][less].signals.get(signal)
        limit = None if values is None else threshold(name, signal, values[half.calibration])
        if values is None or limit is None:
            return None
        limits.append(limit)
        masks[name] = fires(limit, values[half.evaluation])
    return _Route(less, more, signal, tuple(limits), masks)


def _told(
    ground: Ground, split: Mapping[str, Halves], found: Sequence[_Route], measures: Sequence[str]
) -> Iterator[Route]:
    """The figures of all routes, resampled together: rates, then of each measure value and differences."""
    rates = ground.figures({
        name: np.column_stack([one.escalated[name] for one in found]).astype(np.float64) for name in split
    })  # fmt: skip
    figures = {measure: _figures(ground, split, found, measure) for measure in measures}
    for i, one in enumerate(found):
        quality = [Quality(measure, figures[measure][0][i]) for measure in measures]
        against = [
            Against(k, measure, figures[measure][side][i])
            for measure in measures
            for side, k in ((1, LESS), (2, MORE))
        ]
        yield _route(ground, split, one, rates[i], quality, against)


def _figures(
    ground: Ground, split: Mapping[str, Halves], found: Sequence[_Route], measure: str
) -> list[list[Figure]]:
    """Of each route: the measure when routed, less that of the small K, less that of the large one."""
    routed, from_less, from_more = {}, {}, {}
    for name, columns in ground.columns(measure).items():
        half = columns[split[name].evaluation]
        less, more = half[:, [one.less for one in found]], half[:, [one.more for one in found]]
        routed[name] = np.where(np.column_stack([one.escalated[name] for one in found]), more, less)
        from_less[name], from_more[name] = routed[name] - less, routed[name] - more
    return [ground.figures(one) for one in (routed, from_less, from_more)]


def _route(
    ground: Ground, split: Mapping[str, Halves], one: _Route, rate: Figure, quality: Sequence[Quality],
    against: Sequence[Against],
) -> Route:  # fmt: skip
    shares = np.array([one.escalated[name].mean() for name in ground.datasets])
    costs, times = _each(ground, one, _cost), _each(ground, one, _mean_ms)
    usd_routed, ms_routed = (float(mixed(part, shares).mean()) for part in (costs, times))
    return Route(
        family=family_of(ground.configurations[one.less]),
        less=ground.ids[one.less],
        more=ground.ids[one.more],
        signal=one.signal,
        calibrated=sum(len(half.calibration) for half in split.values()),
        evaluated=sum(len(half.evaluation) for half in split.values()),
        thresholds=one.thresholds,
        escalated=rate,
        usd=usd_routed,
        usd_less=float(costs[0].mean()),
        usd_more=float(costs[1].mean()),
        milliseconds=ms_routed,
        milliseconds_less=float(times[0].mean()),
        milliseconds_more=float(times[1].mean()),
        quality=tuple(quality),
        against=tuple(against),
        text=_route_in_words(rate, usd_routed, ms_routed, quality, against),
    )


def mixed(each: Floats, shares: Floats) -> Floats:
    """What routing costs where a share of the queries is escalated: `each` is (2, n), of the small and the large K.

    >>> mixed(np.array([[1.0], [2.0]]), np.array([0.25])).tolist()
    [1.25]
    """
    return np.asarray((1 - shares) * each[0] + shares * each[1])


def _each(ground: Ground, one: _Route, of: Callable[[Measured], float]) -> Floats:
    """A number of the two stacks on each dataset: (2, datasets)."""
    return np.array([[of(ground.rows[name][i]) for name in ground.datasets] for i in (one.less, one.more)])


def _cost(one: Measured) -> float:
    return one.cost


def _mean_ms(one: Measured) -> float:
    """Mean over queries of each one's median over sessions: means mix by share, medians do not."""
    return float(np.median(one.times.total, axis=0).mean())


def _route_in_words(
    rate: Figure, usd_routed: float, ms_routed: float, quality: Sequence[Quality], against: Sequence[Against]
) -> str:
    parts = [f"{one.measure} {told(one.value)}" for one in quality if one.value.value is not None]
    compared = [
        f"{told(one.difference, signed=True)} against K {one.k}"
        for one in against
        if one.measure == quality[-1].measure and one.difference.value is not None
    ]
    deep = f" ({', '.join(compared)})" if compared else ""
    return (
        f"{percent(rate.value or 0.0)} of the queries get {MORE} candidates: {usd(usd_routed)} per 1,000 queries, "
        f"{ms(ms_routed)} in the mean, {', '.join(parts)}{deep}."
    )
