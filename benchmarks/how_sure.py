"""Are the intervals and tests what they say? Drawn worlds with a known truth, through the estimators that runs use.

    python benchmarks/how_sure.py [--worlds 1000] [--resamples 1000] [--seed 1] [--table intervals]

Prints Markdown tables: the share of 95% intervals that hold the true value, by measure and number of items; other
intervals beside ours; drawing items that share a text one by one and together; how often equal systems are told apart
and true ranks are missed; how often a gate raises a false alarm, and how often it finds a fall of the size that
`smallest_difference` names.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from embassay.protocols.compare import ComparableRun, SystemStandingWithItemValues, contrast_two_systems_by_test
from embassay.protocols.gate import judge_against_baseline
from embassay.protocols.kernel.comparisons import (
    OVERALL,
    SystemHeadlineValue,
    SystemStanding,
    average_headline_components,
)
from embassay.protocols.kernel.estimates import average_estimates, estimate
from embassay.protocols.rag.probes.resampling import SharedResamplesContext
from embassay.protocols.rag.scoring.quantities import ResampledQuantity
from embassay.protocols.rag.scoring.quantities import compute_quantity_interval as rag_interval
from embassay.protocols.run_values import ItemValues
from embassay.protocols.sage.preference import compute_accuracy_precision_recall_f1, map_pearson_to_unit_interval
from embassay.protocols.tasks.pair_classification import average_precision
from embassay.protocols.tasks.task import PtebContext, PtebOptions, estimate_correlation
from embassay.protocols.wordings.scores import (
    ParaphraseSourceRunScores,
    SystemScoreAndDrop,
    WordingSourceInRun,
    average_runs_and_sources,
)
from embassay.records import HeadlineComponent, ResampledUnitGroup, Score
from embassay.stats import (
    corrected_interval,
    freedom_of_units,
    rank_intervals,
    rank_ranges,
    resample_means,
    smallest_difference,
    t_test,
    wilson,
)
from embassay.stats.intervals import KEPT
from embassay.stats.resampling import resample_defined_means
from embassay.text import open_tokenizer

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]
SIZES = (25, 50, 100, 200, 400)
FEW = (3, 4, 5, 6, 7, 8, 12)
MANY = 1_000_000
TASKS = 5
OVERALL_TEST = "t, overall of five tasks, one of five sets"


@dataclass(frozen=True)
class World:
    """A measure, how its items are drawn, (n, m), and how a run estimates it. Its truth is its value on many items."""

    name: str
    draw: Draw
    of: Callable[[Floats, PtebContext], Score]


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", choices=list(TABLES), action="append")
    asked = parser.parse_args()
    setting = Setting(asked.worlds, asked.resamples, asked.seed)
    for name in asked.table or TABLES:
        title, table = TABLES[name]
        lines = table(setting)
        print(f"\n**{title}**, {asked.worlds:,} worlds, {asked.resamples:,} resamples\n")
        for line in lines:
            print(line, flush=True)


@dataclass(frozen=True)
class Setting:
    """How many worlds are drawn, how many resamples a run takes, and the seed."""

    worlds: int
    resamples: int
    seed: int

    def context(self, world: int) -> PtebContext:
        """A run's context; each world resamples in its own stream, as each dataset does."""
        options = PtebOptions(resamples=self.resamples)
        return PtebContext(f"world {world}", open_tokenizer("words"), self.seed, options)

    def rng(self, *names: object) -> np.random.Generator:
        """The stream of a table."""
        return np.random.default_rng([self.seed, *(abs(hash_of(str(name))) for name in names)])


def hash_of(name: str) -> int:
    """A number that is the same in every process."""
    return int.from_bytes(name.encode()[:8].ljust(8, b"\0"), "little") % (2**31)


def coverage(setting: Setting) -> Iterator[str]:
    """The share of intervals that hold the truth, by n."""
    yield from _coverage(WORLDS, setting)


def few(setting: Setting) -> Iterator[str]:
    """The same from few units, as clustering sets are."""
    yield from _coverage([one for one in WORLDS if one.draw is v_measures], setting, FEW)


def _coverage(worlds: Sequence[World], setting: Setting, sizes: Sequence[int] = SIZES) -> Iterator[str]:
    yield "| Measure | truth | " + " | ".join(f"n = {n}" for n in sizes) + " |"
    yield "|---|---:|" + "---:|" * len(sizes)
    for world in worlds:
        truth = world.of(world.draw(setting.rng("truth", world.name), MANY), _no_resampling(setting)).value or 0.0
        cells = [_covered(world, n, truth, setting) for n in sizes]
        yield f"| {world.name} | {truth:.3f} | " + " | ".join(cells) + " |"


def _covered(world: World, n: int, truth: float, setting: Setting) -> str:
    rng, held, defined = setting.rng(world.name, n), 0, 0
    for number in range(setting.worlds):
        row = world.of(world.draw(rng, n), setting.context(number))
        if row.ci_low is not None and row.ci_high is not None:
            defined += 1
            held += row.ci_low <= truth <= row.ci_high
    share = f"{100 * held / defined:.1f}%" if defined else "none"
    return share if defined == setting.worlds else f"{share} ({defined} of {setting.worlds})"


def _no_resampling(setting: Setting) -> PtebContext:
    return Setting(1, 2, setting.seed).context(0)


def others(setting: Setting) -> Iterator[str]:
    """Wilson's interval of accuracy, and BCa of means, beside the percentile bootstrap."""
    yield "| Measure | Interval | " + " | ".join(f"n = {n}" for n in SIZES) + " |"
    yield "|---|---|" + "---:|" * len(SIZES)
    for world in WORLDS[:4]:
        truth = float(world.draw(setting.rng("truth", world.name), MANY).mean())
        kinds = {"percentile": _percentile, "BCa": _bca, "ours": _wilson if "accuracy" in world.name else _corrected}
        for kind, ends in kinds.items():
            cells = [_held_by(ends, world, n, truth, setting) for n in SIZES]
            yield f"| {world.name} | {kind} | " + " | ".join(cells) + " |"


def _held_by(
    ends: Callable[[Floats, Floats], tuple[float, float]], world: World, n: int, truth: float, setting: Setting
) -> str:
    rng, held = setting.rng(world.name, n), 0
    for _ in range(setting.worlds):
        items = world.draw(rng, n)[:, 0]
        low, high = ends(items, resample_means(items, n_resamples=setting.resamples, rng=rng)[:, 0])
        held += low <= truth <= high
    return f"{100 * held / setting.worlds:.1f}%"


def _percentile(items: Floats, draws: Floats) -> tuple[float, float]:  # noqa: ARG001
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)


def _bca(items: Floats, draws: Floats) -> tuple[float, float]:
    """Efron 1987; the acceleration of a mean is its skewness over six times the root of n."""
    if np.ptp(items) == 0:
        return float(items[0]), float(items[0])
    mean, spread = items.mean(), items.std()
    below = np.clip(((draws < mean).mean() + (draws <= mean).mean()) / 2, 1e-4, 1 - 1e-4)
    z0, a = ndtri(below), ((items - mean) ** 3).mean() / spread**3 / 6 / np.sqrt(len(items))
    z = ndtri([0.025, 0.975])
    low, high = np.quantile(draws, ndtr(z0 + (z0 + z) / (1 - a * (z0 + z))))
    return float(low), float(high)


def _corrected(items: Floats, draws: Floats) -> tuple[float, float]:
    return corrected_interval(draws, float(items.mean()), freedom_of_units(len(items)))


def _wilson(items: Floats, draws: Floats) -> tuple[float, float]:  # noqa: ARG001
    found = wilson(float(items.mean()), len(items))
    return found.low, found.high


def equals(setting: Setting) -> Iterator[str]:
    """How often systems that differ by chance alone are told apart."""
    yield "| Test, alpha 0.05 | " + " | ".join(f"n = {n}" for n in SIZES) + " |"
    yield "|---|" + "---:|" * len(SIZES)
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * len(SIZES))
    for place, n in enumerate(SIZES):
        rng = setting.rng("equal", n)
        for _ in range(setting.worlds):
            found = _told_apart(rng, n, setting) | _overall_apart(rng, n, setting) | _ranked(rng, n, setting)
            for name, rejected in found.items():
                counts[name][place] += rejected
    for name, rejections in counts.items():
        yield f"| {name} | " + " | ".join(f"{100 * one / setting.worlds:.1f}%" for one in rejections) + " |"


def pairs_of_systems(setting: Setting) -> Iterator[str]:
    """The t test of two equal systems alone, on one task and over five: cheap enough for more worlds."""
    yield "| Test, alpha 0.05 | " + " | ".join(f"n = {n}" for n in SIZES) + " |"
    yield "|---|" + "---:|" * len(SIZES)
    for name, drawn in (("t", _one_task), (OVERALL_TEST, _overall)):
        shares = []
        for n in SIZES:
            rng = setting.rng(name, n)
            rejected = sum(_apart(drawn(rng, n, setting)) for _ in range(setting.worlds))
            shares.append(f"{100 * rejected / setting.worlds:.1f}%")
        yield f"| {name} | " + " | ".join(shares) + " |"


def _one_task(rng: np.random.Generator, n: int, setting: Setting) -> list[SystemHeadlineValue]:
    """Two systems on the same n items."""
    return [SystemHeadlineValue.of(f"s{i}", part, "") for i, part in enumerate(_two(rng, n, setting))]


def _overall(rng: np.random.Generator, n: int, setting: Setting) -> list[SystemHeadlineValue]:
    """Overall scores of SAGE: the mean of five tasks, of n, n, n, half of n items and of five clustering sets."""
    tasks = [_two(rng, units, setting) for units in (n, n, n, max(2, n // 2), 5)]
    return [
        SystemHeadlineValue.of(f"s{i}", average_headline_components(parts), "")
        for i, parts in enumerate(zip(*tasks, strict=True))
    ]


def _two(rng: np.random.Generator, n: int, setting: Setting) -> list[HeadlineComponent]:
    values = rng.beta(0.8, 0.6, n) + rng.normal(0, 0.15, (2, n))
    draws = resample_means(values.T, n_resamples=setting.resamples, rng=rng).T
    return [HeadlineComponent(float(own.mean()), n, of_own) for own, of_own in zip(values, draws, strict=True)]


def _told_apart(rng: np.random.Generator, n: int, setting: Setting) -> dict[str, bool]:
    """Five systems: the same difficulty of items, and noise of each system's own that has one law."""
    base = rng.beta(0.8, 0.6, n)
    values = np.clip(base + rng.normal(0, 0.15, (TASKS, n)), 0, 1)
    draws = resample_means(values.T, n_resamples=setting.resamples, rng=rng).T
    sides = [
        SystemStandingWithItemValues(
            SystemStanding("t", "d", "m", SystemHeadlineValue(f"s{i}", float(own.mean()), n, draws[i])),
            dict(enumerate(own)),
        )  # type: ignore[arg-type]
        for i, own in enumerate(values[:2])
    ]
    found = contrast_two_systems_by_test(*sides, seed=int(rng.integers(2**31)))
    items = found.by_item
    assert items is not None
    ranges = rank_ranges(draws, values.mean(axis=1), strata=[(ResampledUnitGroup(n, row[:KEPT]),) for row in draws])
    plain = rank_ranges(draws, values.mean(axis=1))
    error = float(np.std(draws[0] - draws[1], ddof=1))
    return {
        "t (ranks, compare, gate)": found.p < 0.05,
        "z instead of t": t_test(found.difference or 0.0, error, 1.0)[1] < 0.05,
        "random swaps": items.randomization_p < 0.05, "Wilcoxon's ranks": items.wilcoxon_p < 0.05,
        "any of ten pairs, t, Holm": any(one != (1, TASKS) for one in ranges),
        "any of ten pairs, z instead of t, Holm": any(one != (1, TASKS) for one in plain),
    }  # fmt: skip


def _overall_apart(rng: np.random.Generator, n: int, setting: Setting) -> dict[str, bool]:
    """Overall scores of SAGE; and of PTEB: n items in six or three wordings, each of which helps and harms systems as
    it happens."""
    found = {OVERALL_TEST: _apart(_overall(rng, n, setting))}
    for runs in (6, 3):
        levels = [_level(values, runs, n, setting) for values in _worded(rng, runs, n)]
        found[f"t, PTEB score, {runs} runs"] = _apart([one.score for one in levels])
    return found


def _apart(headlines: Sequence[SystemHeadlineValue]) -> bool:
    sides = [SystemStandingWithItemValues(SystemStanding("t", "", "m", one)) for one in headlines]
    return contrast_two_systems_by_test(*sides).p < 0.05


def _worded(rng: np.random.Generator, runs: int, n: int) -> list[Floats]:
    """Two systems' values of items in each run, (runs, n): items differ, and so do wordings of an item."""
    items = rng.beta(0.8, 0.6, n)
    return [
        items + rng.normal(0, 0.1, n) + rng.normal(0, 0.1, (runs, n)) + rng.normal(0, 0.005, (runs, 1)) for _ in "ab"
    ]


def _level(values: Floats, runs: int, n: int, setting: Setting) -> SystemScoreAndDrop:
    draws = resample_means(values.T, n_resamples=setting.resamples, rng=np.random.default_rng(n)).T
    source = WordingSourceInRun("", {"d": tuple(range(runs))})
    made = ParaphraseSourceRunScores(source, values.mean(axis=1), values.mean(axis=1), draws, draws, n)
    return average_runs_and_sources("d", "s", [made], seed=1, resamples=setting.resamples)


def _ranked(rng: np.random.Generator, n: int, setting: Setting) -> dict[str, bool]:
    """Five systems, the second and third equal in truth, the others 0.03 apart: is a true rank outside its range?"""
    truth = np.array([0.06, 0.03, 0.03, 0.0, -0.03])
    values = rng.beta(0.8, 0.6, n) + truth[:, None] + rng.normal(0, 0.15, (TASKS, n))
    ranks = rank_intervals(values, n_resamples=setting.resamples, rng=rng)
    wrong = any(
        not (one.low <= 1 + int((truth > own).sum()) and int((truth >= own).sum()) <= one.high)
        for one, own in zip(ranks, truth, strict=True)
    )
    return {"true rank outside its range, five systems": wrong}


def gates(setting: Setting) -> Iterator[str]:
    """Runs of one system on five tasks against an earlier run: nothing changed, and one task fell."""
    yield "| Gate, alpha 0.05, five tasks | " + " | ".join(f"n = {n}" for n in SIZES) + " |"
    yield "|---|" + "---:|" * len(SIZES)
    for title, task in (("nothing changed: any alarm", None), ("one task alone, fallen by what can be seen", 0)):
        cells = [_alarms(n, task, setting) for n in SIZES]
        yield f"| {title} | " + " | ".join(f"{100 * share:.1f}%" for share in cells) + " |"


def _alarms(n: int, fallen: int | None, setting: Setting) -> float:
    rng, alarms = setting.rng("gate", n, fallen), 0
    for _ in range(setting.worlds):
        base, now = _two_runs(rng, n, fallen, setting)
        tasks = ["task 0"] if fallen is not None else []
        alarms += not all(one.met for one in judge_against_baseline(now, base, tasks=tasks))
    return alarms / setting.worlds


def _two_runs(
    rng: np.random.Generator, n: int, fallen: int | None, setting: Setting
) -> tuple[ComparableRun, ComparableRun]:
    """A fall is what a two-sided test finds in 80% with the true standard error; the gate's test is one-sided, so it
    finds a little more."""
    standings: list[list[SystemStanding]] = [[], []]
    headlines: list[list[SystemHeadlineValue]] = [[], []]
    for task in range(TASKS):
        difficulty = rng.beta(0.8, 0.6, n)
        values = difficulty + rng.normal(0, 0.15, (2, n))
        if task == fallen:
            values[1] -= smallest_difference(0.15 * np.sqrt(2 / n), df=n - 1)
        draws = resample_means(values.T, n_resamples=setting.resamples, rng=rng).T
        for side in (0, 1):
            headline = SystemHeadlineValue("system", float(values[side].mean()), n, draws[side])
            standings[side].append(SystemStanding(f"task {task}", "", "m", headline))
            headlines[side].append(headline)
    if fallen is None:
        for side, of_side in enumerate(headlines):
            overall = SystemHeadlineValue.of(
                "system", average_headline_components([one.component for one in of_side]), ""
            )
            standings[side].append(SystemStanding(OVERALL, "", OVERALL, overall))
    manifest = {"protocol": "sage", "arguments": {}, "datasets": []}
    first, second = (ComparableRun(Path(), manifest, tuple(one), ItemValues(Path())) for one in standings)
    return first, second


def mean_of(items: Floats, context: PtebContext) -> Score:
    """The mean of the first column."""
    return estimate(items[:, [0]], lambda means: means[..., 0], context, "items").score("")


def share_of(items: Floats, context: PtebContext) -> Score:
    """The share of the items that are right."""
    return estimate(items[:, [0]], lambda means: means[..., 0], context, "items", share=True).score("")


def over_groups(items: Floats, context: PtebContext) -> Score:
    """The mean of the first column, rows of one group (second column) drawn together."""
    groups = items[:, 1].astype(np.int64)
    return estimate(items[:, [0]], lambda means: means[..., 0], context, "items", groups=groups).score("")


def ratings(items: Floats, context: PtebContext) -> Score:
    """SAGE's rating score: Pearson's correlation mapped to 0 to 1; the third column is the source."""
    x, y = items[:, :2].T
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    groups = items[:, 2].astype(np.int64) if items.shape[1] > 2 else None
    columns = np.stack([x, y, x * x, y * y, x * y], axis=1)
    return estimate(columns, map_pearson_to_unit_interval, context, "ratings", groups=groups).score("")


def choices(items: Floats, context: PtebContext) -> Score:
    """SAGE's mean of accuracy, precision, recall and F1."""
    predicted, actual = items.T
    columns = np.stack([predicted == actual, predicted * actual, predicted, actual], axis=1).astype(np.float64)
    figures = [
        estimate(columns, lambda means, i=i: compute_accuracy_precision_recall_f1(means)[..., i], context, "choices")  # type: ignore[misc]
        for i in range(4)
    ]
    return average_estimates(figures, "").score("")


def retained(items: Floats, context: PtebContext) -> Score:
    """SAGE's retention: mean of the damaged over mean of the clean."""
    return estimate(items, lambda means: means[..., 0] / means[..., 1], context, "queries").score("")


def spearman(items: Floats, context: PtebContext) -> Score:
    """Spearman's correlation over pairs; the third column is the group that is drawn together."""
    groups = items[:, 2].astype(np.int64) if items.shape[1] > 2 else None
    found = estimate_correlation(items[:, 0], items[:, 1], context, "pairs", groups=groups, method="")
    assert not isinstance(found, str)
    return found.score("")


def pairs(items: Floats, context: PtebContext) -> Score:
    """Average precision of similar pairs."""
    labels = items[:, 1].astype(np.int8)
    found = average_precision(items[:, 0], labels, np.zeros(len(items), dtype=bool), context)
    return Score("", None, 0) if isinstance(found, str) else found.score("")


def over_queries(items: Floats, context: PtebContext) -> Score:
    """`rag score`: the mean over the queries where it is defined, or a ratio of two such means (%PROC)."""
    rng = context.stream("queries")
    means = resample_defined_means(items, n_resamples=context.resamples, rng=rng)
    values = np.nanmean(items, axis=0)
    one = items.shape[1] == 1
    value = values[0] if one else values[0] / values[1]
    quantity = ResampledQuantity(
        float(value), means[:, 0] if one else means[:, 0] / means[:, 1], len(items), len(items)
    )
    low, high = rag_interval(quantity) or (None, None)
    return Score("", quantity.value, quantity.n, low, high)


def margins(items: Floats, context: PtebContext) -> Score:
    """A probe: the mean margin over queries, the runs of a query averaged first."""
    probe = SharedResamplesContext(context.dataset, context.tokenizer, context.seed, draws=context.resamples)
    return probe.score_over_queries("margin", items.mean(axis=1))


def paraphrased(runs: int) -> Callable[[Floats, PtebContext], Score]:
    """PTEB: items in so many wordings, both resampled."""

    def scored(items: Floats, context: PtebContext) -> Score:
        # In a world of very many items the truth is 0.
        if context.resamples < 10:
            return Score("", 0.0, 0)
        draws = resample_means(items, n_resamples=context.resamples, rng=context.stream("items")).T
        source = WordingSourceInRun("", {"d": tuple(range(runs))})
        values = items.mean(axis=0)
        made = ParaphraseSourceRunScores(source, values, values, draws, draws, len(items))
        seed = int(context.stream("runs").integers(2**31))
        headline = average_runs_and_sources("d", "s", [made], seed=seed, resamples=context.resamples).score
        return Score("", headline.value, headline.n, *headline.interval)

    return scored


def shares(p: float) -> Draw:
    """Right or wrong."""
    return lambda rng, n: (rng.random((n, 1)) < p).astype(np.float64)


def precisions(rng: np.random.Generator, n: int) -> Floats:
    """Per query: often 1, sometimes 0, else in between."""
    kind = rng.random(n)
    return np.where(kind < 0.35, 1.0, np.where(kind < 0.5, 0.0, rng.beta(1.2, 1.6, n)))[:, None]


def rare(rng: np.random.Generator, n: int) -> Floats:
    """RA-nWG of a weak retriever: mostly 0."""
    return np.where(rng.random(n) < 0.7, 0.0, rng.beta(2, 1, n))[:, None]


def both(rng: np.random.Generator, n: int) -> Floats:
    """nDCG in the damaged corpus and in the clean one."""
    clean = precisions(rng, n)[:, 0]
    return np.stack([clean * rng.beta(3, 1.5, n), clean], axis=1)


def rated(rho: float) -> Draw:
    """Similarity, and a human score in fifths of a point from 0 to 5."""

    def drawn(rng: np.random.Generator, n: int) -> Floats:
        x, noise = rng.normal(size=(2, n))
        y = rho * x + np.sqrt(1 - rho**2) * noise
        return np.stack([x, np.round(np.clip(2.5 + 1.3 * y, 0, 5) * 5) / 5], axis=1)

    return drawn


def chosen(rng: np.random.Generator, n: int) -> Floats:
    """A choice of two, followed in 70%."""
    actual = (rng.random(n) < 0.45).astype(np.float64)
    return np.stack([np.where(rng.random(n) < 0.7, actual, 1 - actual), actual], axis=1)


def judged(rng: np.random.Generator, n: int) -> Floats:
    """Similarity of pairs of which a third are paraphrases."""
    label = (rng.random(n) < 0.33).astype(np.float64)
    return np.stack([rng.normal(size=n) + 1.3 * label, label], axis=1)


def v_measures(rng: np.random.Generator, n: int) -> Floats:
    """V-measure of clustering sets."""
    return rng.beta(6, 8, (n, 1))


def of_sources(rho: float, each: int, of: float) -> Draw:
    """Similarity and rating of `each` summaries of a source, which share a part `of` their variance on both sides; the
    third column is the source. n counts summaries."""

    def drawn(rng: np.random.Generator, n: int) -> Floats:
        source = np.arange(n) // each
        shared, own = rng.normal(size=(2, source.max() + 1)), rng.normal(size=(2, n))
        parts = np.sqrt(of) * shared[:, source] + np.sqrt(1 - of) * own
        return np.stack([parts[0], rho * parts[0] + np.sqrt(1 - rho**2) * parts[1], source], axis=1)

    return drawn


def alike(each: int, of: float) -> Draw:
    """nDCG of queries that share a relevant document in groups of `each`, and the group."""

    def drawn(rng: np.random.Generator, n: int) -> Floats:
        group = np.arange(n) // each
        base = np.sqrt(of) * rng.normal(size=group.max() + 1)[group] + np.sqrt(1 - of) * rng.normal(size=n)
        return np.stack([ndtr(base), group], axis=1)

    return drawn


def harm(rng: np.random.Generator, n: int) -> Floats:
    """Harm@10: tenths, of one query in five none."""
    return (rng.binomial(10, 0.35, n) * (rng.random(n) > 0.2) / 10)[:, None]


def recalled(rng: np.random.Generator, n: int) -> Floats:
    """N-Recall4+@10: few decisive passages, and one query in ten has none."""
    known = np.minimum(rng.poisson(1.6, n) + 1, 10)
    values = rng.binomial(known, 0.6) / known
    return np.where(rng.random(n) < 0.1, np.nan, values)[:, None]


def of_ceiling(rng: np.random.Generator, n: int) -> Floats:
    """RA-nWG of what was found, and of the best that could have been."""
    ceiling = rng.beta(4, 1.2, n)
    return np.stack([ceiling * rng.beta(3, 1.5, n), ceiling], axis=1)


def named(rng: np.random.Generator, n: int) -> Floats:
    """Margins of a probe: ten runs of each query."""
    return rng.gamma(1.5, 0.04, (n, 1)) - 0.02 + rng.normal(0, 0.03, (n, 10))


def worded(runs: int) -> Draw:
    """Items in so many wordings: items and what paraphrasing costs them differ, and so does every wording."""

    def drawn(rng: np.random.Generator, n: int) -> Floats:
        if n == MANY:
            return np.zeros((1, runs))
        items = rng.normal(0, 0.3, (n, 1)) + rng.normal(0, 0.1, (n, 1)) + rng.normal(0, 0.15, (n, runs))
        return items + rng.normal(0, 0.005, runs)

    return drawn


WORLDS = (
    World("accuracy, 0.80", shares(0.8), share_of),
    World("accuracy, 0.95", shares(0.95), share_of),
    World("AP, nDCG per query", precisions, mean_of),
    World("RA-nWG, mostly 0", rare, mean_of),
    World("retention", both, retained),
    World("choices (mean of four)", chosen, choices),
    World("ratings (mapped Pearson)", rated(0.5), ratings),
    World("Spearman, 0.45", rated(0.45), spearman),
    World("Spearman, 0.85", rated(0.85), spearman),
    World("AP of pairs", judged, pairs),
    World("V-measure, n sets", v_measures, mean_of),
    World("`rag score` Harm@10", harm, over_queries),
    World("`rag score` N-Recall4+@10", recalled, over_queries),
    World("`rag score` %PROC@10", of_ceiling, over_queries),
    World("probe's margin, ten runs", named, margins),
    World("PTEB score, 6 runs", worded(6), paraphrased(6)),
    World("PTEB score, 3 runs", worded(3), paraphrased(3)),
)


def _alone(of: Callable[[Floats, PtebContext], Score], columns: int) -> Callable[[Floats, PtebContext], Score]:
    return lambda items, context: of(items[:, :columns], context)


CLUSTERED = (
    World("queries, 3 of a document: one by one", alike(3, 0.5), _alone(mean_of, 1)),
    World("queries, 3 of a document: together", alike(3, 0.5), over_groups),
    World("ratings, 5 of a source: one by one", of_sources(0.4, 5, 0.7), _alone(ratings, 2)),
    World("ratings, 5 of a source: together", of_sources(0.4, 5, 0.7), ratings),
    World("Spearman, 5 of a text: one by one", of_sources(0.4, 5, 0.7), _alone(spearman, 2)),
    World("Spearman, 5 of a text: together", of_sources(0.4, 5, 0.7), spearman),
)
"""Items that share something, drawn one by one and together."""


def clustered(setting: Setting) -> Iterator[str]:
    """The share of intervals that hold the truth where items share a text."""
    yield from _coverage(CLUSTERED, setting)


TABLES: dict[str, tuple[str, Callable[[Setting], Iterator[str]]]] = {
    "intervals": ("Intervals", coverage), "few": ("Intervals of few units", few), "others": ("Other intervals", others),
    "clustered": ("Items that share a text", clustered), "tests": ("Equal systems", equals),
    "two": ("Two equal systems", pairs_of_systems),
    "gates": ("Gates", gates),
}  # fmt: skip


if __name__ == "__main__":
    main()
