"""What a system scores in other wordings: on a dataset, over the datasets of a task, and over tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.comparisons import Headline, mean_component
from embassay.protocols.pteb.summary.runs import Runs
from embassay.randomness import generator
from embassay.records import Component, Stratum
from embassay.stats.freedom import KEPT

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """One system at one level. `score` is the PTEB score (mean over runs), `original` the score of the same items as
    they were written (those with a wording in the run) and `delta` the one less the other; `runs` and `deltas` hold
    the score and the drop of every run, one array (runs,) per source."""

    system: str
    score: Headline
    original: Headline
    delta: Headline
    runs: tuple[Floats, ...] = ()
    deltas: tuple[Floats, ...] = ()

    @property
    def present(self) -> bool:
        """Whether there is a score; if not, `score.reason` says why."""
        return self.score.value is not None

    @property
    def sd(self) -> float | None:
        """Sample standard deviation of the score over runs; over several sources the root of their mean variance. None
        where a source has one run."""
        return _spread(self.runs)

    @property
    def delta_sd(self) -> float | None:
        """That of the drop: the runs may have kept other items."""
        return _spread(self.deltas)

    @classmethod
    def none(cls, system: str, reason: str) -> Level:
        """No score, and why."""
        missing = Headline.none(system, reason)
        return cls(system, missing, missing, missing)


def on_dataset(
    dataset: str,
    system: str,
    sources: Sequence[Runs],
    *,
    seed: int,
    resamples: int,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Level:
    """Mean over the runs of each source, and over the sources. Scores lie within `bounds`.

    Two-level bootstrap: a replicate takes the tasks' replicate of the items, the same in all runs and for all systems,
    and draws as many runs as there are, again the same for all systems (and tasks of the dataset, as these share its
    wordings). What item and run have together counts at both levels, so that the interval is rather too wide than too
    narrow (Owen 2007, the pigeonhole bootstrap). One run is no sample of runs: then items alone are drawn.
    """
    for runs in sources:
        if runs.reason:
            return Level.none(system, runs.reason)
    drawn = [_drawn_runs(dataset, runs, seed, resamples) for runs in sources]
    units = min(runs.n if runs.units is None else runs.units for runs in sources)
    score = _over_sources([(runs.scores, runs.score_draws) for runs in sources], drawn, units)
    original = _over_sources([(runs.originals, runs.original_draws) for runs in sources], drawn, units)
    delta = _over_sources([(runs.deltas, runs.delta_draws) for runs in sources], drawn, units)
    n, words = max(runs.n for runs in sources), _words(sources)
    return Level(
        system,
        Headline.of(system, score, words, n, bounds),
        Headline.of(system, original, f"the items of every run as they were written; {words}", n, bounds),
        Headline.of(system, delta, f"paired by item; {words}", n),
        tuple(runs.scores for runs in sources),
        tuple(runs.deltas for runs in sources),
    )


def over(levels: Sequence[tuple[str, Level]], system: str, *, noun: str) -> Level:
    """Unweighted mean over datasets or tasks, given with their names; none where one of them has no score.

    A run of the mean is made of the runs with its number; where there are more of one dataset than of another, those
    that all have (for the standard deviation over runs, not for the mean).
    """
    for name, level in levels:
        if not level.present:
            return Level.none(system, f"{name}: {level.score.reason}")
    parts = [level for _, level in levels]
    score = over_headlines([level.score for level in parts], system, noun=noun)
    original = over_headlines([level.original for level in parts], system, noun=noun)
    delta = over_headlines([level.delta for level in parts], system, noun=noun)
    return Level(
        system, score, original, delta,
        _mean_runs([level.runs for level in parts]), _mean_runs([level.deltas for level in parts]),
    )  # fmt: skip


def over_headlines(parts: Sequence[Headline], system: str, *, noun: str) -> Headline:
    """The unweighted mean of values that are all there."""
    mean = mean_component([part.component for part in parts])
    fixed = sum(not len(part.replicates) for part in parts)
    words = f"mean over {len(parts)} {noun}{'s' if len(parts) > 1 else ''}, bootstrap within each"
    if fixed:
        words += f"; {fixed} without an interval held fixed"
    if not len(mean.replicates):
        words = f"mean over {len(parts)} {noun}{'s' if len(parts) > 1 else ''}; nothing to resample"
    ends = np.mean([part.bounds for part in parts], axis=0)
    return Headline.of(system, mean, words, bounds=(float(ends[0]), float(ends[1])))


def _over_sources(
    sources: Sequence[tuple[Floats, Floats]], drawn: Sequence[Floats | None], units: int
) -> Component:
    """The mean over sources of the mean over runs. The items, which all runs share, are one stratum and the runs of
    each source another: six runs say less of runs than a hundred items of items."""
    pairs = list(zip(sources, drawn, strict=True))
    mean = mean_component([_over_runs(*source, one) for source, one in pairs])
    strata = []
    if all(draws.shape[1] for _, draws in sources):
        items = np.mean([draws[:, :KEPT].mean(axis=0) for _, draws in sources], axis=0)
        strata.append(Stratum(units, items))
    strata += [
        Stratum(len(values), one[:KEPT] @ values / len(sources))
        for (values, _), one in pairs
        if one is not None
    ]
    return replace(mean, strata=tuple(strata))


def _over_runs(values: Floats, draws: Floats, drawn: Floats | None) -> Component:
    """The mean over runs. `draws` (runs, resamples) are the replicates of the items, `drawn` (resamples, runs) the
    share that each run has in a replicate."""
    mean = float(values.mean())
    if drawn is None:
        return Component(mean, 0, draws.mean(axis=0))
    over_items = draws if draws.shape[1] else np.repeat(values[:, None], len(drawn), axis=1)
    # A run that was not drawn does not make a replicate undefined.
    return Component(mean, 0, np.where(drawn.T > 0, drawn.T * over_items, 0.0).sum(axis=0))


def _drawn_runs(dataset: str, runs: Runs, seed: int, resamples: int) -> Floats | None:
    """The share each run has in each resample of the runs, (resamples, runs)."""
    many = len(runs.scores)
    if many < 2:
        return None
    rng = generator(seed, "runs", dataset, runs.source.label)
    rows = rng.integers(0, many, size=(runs.score_draws.shape[1] or resamples, many))
    return np.asarray((rows[:, :, None] == np.arange(many)).mean(axis=1))


def _words(sources: Sequence[Runs]) -> str:
    counts = sorted({len(runs.scores) for runs in sources})
    many = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    resampled = counts[-1] > 1
    items = sources[0].score_draws.shape[1] > 0
    words = [f"mean over {many} runs" if resampled else "one run"]
    if len(sources) > 1:
        words.append(f"of each of {len(sources)} sources")
    ending = {
        (True, True): "runs resampled with the items",
        (True, False): "runs resampled, items held fixed",
        (False, True): "",
        (False, False): "nothing to resample",
    }[resampled, items]
    return "; ".join(filter(None, (" ".join(words), ending, sources[0].method)))


def _spread(sources: Sequence[Floats]) -> float | None:
    """The root of the mean variance of each source's runs, (runs,); None where one has a single run."""
    if not sources or min(map(len, sources)) < 2:
        return None
    # Equal runs have no variance; their mean may differ from them in the last bit.
    return float(np.sqrt(np.mean([np.var(runs, ddof=1) if np.ptp(runs) else 0.0 for runs in sources])))


def _mean_runs(parts: Sequence[tuple[Floats, ...]]) -> tuple[Floats, ...]:
    """Per source, the mean of the runs of the same number, as far as all parts have them."""
    means = []
    for of_source in zip(*parts, strict=True):
        common = min(map(len, of_source))
        means.append(np.mean([runs[:common] for runs in of_source], axis=0))
    return tuple(means)
