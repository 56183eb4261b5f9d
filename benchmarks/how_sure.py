"""Are the intervals and tests what they say? Drawn worlds with a known truth, through the estimators that runs use.

    python benchmarks/how_sure.py [--worlds 1000] [--resamples 1000] [--seed 1]

Prints Markdown tables: the share of 95% intervals that hold the true value, by measure and number of items; Wilson's
and the BCa interval beside the percentile bootstrap where they apply; how often equal systems are told apart; how often
a gate raises a false alarm, and how often it finds a fall of the size that `smallest_difference` names.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from semblance.protocols.compare import RunValues, Side, contrast
from semblance.protocols.compare.items import ItemValues
from semblance.protocols.comparisons import Headline
from semblance.protocols.estimates import Estimate, combine, estimate
from semblance.protocols.gate import judged_against
from semblance.protocols.pteb.context import Context
from semblance.protocols.pteb.options import PtebOptions
from semblance.protocols.pteb.tasks.pair_classification import average_precision
from semblance.protocols.pteb.tasks.resampling import correlated
from semblance.protocols.sage.preference import choice_figures, mapped_pearson
from semblance.protocols.standings import Standing
from semblance.stats import rank_ranges, resample_means, wilson
from semblance.text import open_tokenizer

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]
SIZES = (25, 50, 100, 200, 400)
MANY = 2_000_000
TASKS = 5


@dataclass(frozen=True)
class World:
    """A measure, how its items are drawn, (n, m), and how a run estimates it. Its truth is its value on many items."""

    name: str
    draw: Draw
    of: Callable[[Floats, Context], Estimate]


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    setting = Setting(asked.worlds, asked.resamples, asked.seed)
    for title, lines in (
        ("Intervals", coverage(setting)), ("Other intervals", others(setting)), ("Equal systems", equals(setting)),
        ("Gates", gates(setting)),
    ):  # fmt: skip
        print(f"\n**{title}**, {asked.worlds:,} worlds, {asked.resamples:,} resamples\n")
        for line in lines:
            print(line, flush=True)


@dataclass(frozen=True)
class Setting:
    """How many worlds are drawn, how many resamples a run takes, and the seed."""

    worlds: int
    resamples: int
    seed: int

    def context(self, world: int) -> Context:
        """A run's context; each world resamples in its own stream, as each dataset does."""
        options = PtebOptions(resamples=self.resamples)
        return Context(f"world {world}", open_tokenizer("words"), self.seed, options)

    def rng(self, *names: object) -> np.random.Generator:
        """The stream of a table."""
        return np.random.default_rng([self.seed, *(abs(hash_of(str(name))) for name in names)])


def hash_of(name: str) -> int:
    """A number that is the same in every process."""
    return int.from_bytes(name.encode()[:8].ljust(8, b"\0"), "little") % (2**31)


def coverage(setting: Setting) -> Iterator[str]:
    """The share of intervals that hold the truth, by n."""
    yield "| Measure | truth | " + " | ".join(f"n = {n}" for n in SIZES) + " |"
    yield "|---|---:|" + "---:|" * len(SIZES)
    for world in WORLDS:
        truth = world.of(world.draw(setting.rng("truth", world.name), MANY), _no_resampling(setting)).value
        cells = [_covered(world, n, truth, setting) for n in SIZES]
        yield f"| {world.name} | {truth:.3f} | " + " | ".join(cells) + " |"


def _covered(world: World, n: int, truth: float, setting: Setting) -> str:
    rng, held, defined = setting.rng(world.name, n), 0, 0
    for number in range(setting.worlds):
        row = world.of(world.draw(rng, n), setting.context(number)).score(world.name)
        if row.ci_low is not None and row.ci_high is not None:
            defined += 1
            held += row.ci_low <= truth <= row.ci_high
    share = f"{100 * held / defined:.1f}%" if defined else "none"
    return share if defined == setting.worlds else f"{share} ({defined} of {setting.worlds})"


def _no_resampling(setting: Setting) -> Context:
    return Setting(1, 2, setting.seed).context(0)


def others(setting: Setting) -> Iterator[str]:
    """Wilson's interval of accuracy, and BCa of means, beside the percentile bootstrap."""
    yield "| Measure | Interval | " + " | ".join(f"n = {n}" for n in SIZES) + " |"
    yield "|---|---|" + "---:|" * len(SIZES)
    for world in WORLDS[:4]:
        truth = float(world.draw(setting.rng("truth", world.name), MANY).mean())
        kinds = {
            "percentile": _percentile,
            "BCa": _bca,
            **({"Wilson": _wilson} if "accuracy" in world.name else {}),
        }
        for kind, ends in kinds.items():
            cells = [_held_by(ends, world, n, truth, setting) for n in SIZES]
            yield f"| {world.name} | {kind} | " + " | ".join(cells) + " |"


def _held_by(
    ends: Callable[[Floats, Floats], tuple[float, float]],
    world: World,
    n: int,
    truth: float,
    setting: Setting,
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


def _wilson(items: Floats, draws: Floats) -> tuple[float, float]:  # noqa: ARG001
    found = wilson(float(items.mean()), len(items))
    return found.low, found.high


def equals(setting: Setting) -> Iterator[str]:
    """How often systems that differ by chance alone are told apart."""
    yield "| Test, alpha 0.05 | " + " | ".join(f"n = {n}" for n in SIZES) + " |"
    yield "|---|" + "---:|" * len(SIZES)
    counts = {
        name: [0] * len(SIZES) for name in ("z by bootstrap", "swaps", "Wilcoxon", "any of 10 pairs, Holm")
    }
    for place, n in enumerate(SIZES):
        rng = setting.rng("equal", n)
        for _ in range(setting.worlds):
            for name, rejected in _told_apart(rng, n, setting).items():
                counts[name][place] += rejected
    for name, found in counts.items():
        yield f"| {name} | " + " | ".join(f"{100 * one / setting.worlds:.1f}%" for one in found) + " |"


def _told_apart(rng: np.random.Generator, n: int, setting: Setting) -> dict[str, bool]:
    """Five systems: the same difficulty of items, and noise of each system's own that has one law."""
    base = rng.beta(0.8, 0.6, n)
    values = np.clip(base + rng.normal(0, 0.15, (TASKS, n)), 0, 1)
    draws = resample_means(values.T, n_resamples=setting.resamples, rng=rng).T
    sides = [
        Side(Standing("t", "d", "m", Headline(f"s{i}", float(own.mean()), n, draws[i])), dict(enumerate(own)))  # type: ignore[arg-type]
        for i, own in enumerate(values[:2])
    ]
    found = contrast(*sides, seed=int(rng.integers(2**31)))
    items = found.by_item
    assert items is not None
    ranges = rank_ranges(draws, values.mean(axis=1))
    return {
        "z by bootstrap": found.p < 0.05, "swaps": items.randomization_p < 0.05, "Wilcoxon": items.wilcoxon_p < 0.05,
        "any of 10 pairs, Holm": any(one != (1, TASKS) for one in ranges),
    }  # fmt: skip


def gates(setting: Setting) -> Iterator[str]:
    """Runs of one system on five tasks against an earlier run: nothing changed, and one task fell."""
    yield "| Gate, alpha 0.05, five tasks | " + " | ".join(f"n = {n}" for n in SIZES) + " |"
    yield "|---|" + "---:|" * len(SIZES)
    for title, task in (
        ("nothing changed: any alarm", None),
        ("one task alone, fallen by what can be seen", 0),
    ):
        cells = [_alarms(n, task, setting) for n in SIZES]
        yield f"| {title} | " + " | ".join(f"{100 * share:.1f}%" for share in cells) + " |"


def _alarms(n: int, fallen: int | None, setting: Setting) -> float:
    rng, alarms = setting.rng("gate", n, fallen), 0
    for _ in range(setting.worlds):
        base, now = _two_runs(rng, n, fallen, setting)
        tasks = ["task 0"] if fallen is not None else []
        alarms += not all(one.met for one in judged_against(now, base, tasks=tasks))
    return alarms / setting.worlds


def _two_runs(
    rng: np.random.Generator, n: int, fallen: int | None, setting: Setting
) -> tuple[RunValues, RunValues]:
    """A fall is 2.80 true standard errors of the difference, which a two-sided test finds in 80%; the gate's test is
    one-sided, so it finds a little more."""
    standings: list[list[Standing]] = [[], []]
    for task in range(TASKS):
        difficulty = rng.beta(0.8, 0.6, n)
        values = difficulty + rng.normal(0, 0.15, (2, n))
        if task == fallen:
            values[1] -= 2.8016 * 0.15 * np.sqrt(2 / n)
        draws = resample_means(values.T, n_resamples=setting.resamples, rng=rng).T
        for side in (0, 1):
            headline = Headline("system", float(values[side].mean()), n, draws[side])
            standings[side].append(Standing(f"task {task}", "", "m", headline))
    manifest = {"protocol": "sage", "arguments": {}, "datasets": []}
    first, second = (RunValues(Path(), manifest, tuple(one), ItemValues(Path())) for one in standings)
    return first, second


def mean_of(items: Floats, context: Context) -> Estimate:
    """The mean of the first column."""
    return estimate(items[:, [0]], lambda means: means[..., 0], context, "items")


def share_of(items: Floats, context: Context) -> Estimate:
    """The share of the items that are right."""
    return estimate(items[:, [0]], lambda means: means[..., 0], context, "items", share=True)


def ratings(items: Floats, context: Context) -> Estimate:
    """SAGE's rating score: Pearson's correlation mapped to 0 to 1."""
    x, y = items.T
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    return estimate(np.stack([x, y, x * x, y * y, x * y], axis=1), mapped_pearson, context, "ratings")


def choices(items: Floats, context: Context) -> Estimate:
    """SAGE's mean of accuracy, precision, recall and F1."""
    predicted, actual = items.T
    columns = np.stack([predicted == actual, predicted * actual, predicted, actual], axis=1).astype(
        np.float64
    )
    figures = [
        estimate(columns, lambda means, i=i: choice_figures(means)[..., i], context, "choices")  # type: ignore[misc]
        for i in range(4)
    ]
    return combine(figures, "")


def retained(items: Floats, context: Context) -> Estimate:
    """SAGE's retention: mean of the damaged over mean of the clean."""
    return estimate(items, lambda means: means[..., 0] / means[..., 1], context, "queries")


def spearman(items: Floats, context: Context) -> Estimate:
    """Spearman's correlation over pairs."""
    found = correlated(items[:, 0], items[:, 1], context, "pairs", method="")
    assert not isinstance(found, str)
    return found


def pairs(items: Floats, context: Context) -> Estimate:
    """Average precision of similar pairs."""
    labels = items[:, 1].astype(np.int8)
    found = average_precision(items[:, 0], labels, np.zeros(len(items), dtype=bool), context)
    return Estimate(float("nan"), 0, np.empty(0), "") if isinstance(found, str) else found


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
)


if __name__ == "__main__":
    main()
