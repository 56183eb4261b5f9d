"""What a system scores in other wordings: on a dataset, over a task's datasets, over tasks; and the rows of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.kernel.comparisons import Headline, mean_component
from embassay.protocols.pteb.summary.runs import ORIGINAL, OVERALL, Cells, Layout, RunDataset, Runs, over_runs
from embassay.randomness import generator
from embassay.records import Component, Result, Stratum
from embassay.runs.folder import CellRecord
from embassay.stats import MixedMean, mixed_mean
from embassay.stats.intervals import KEPT
from embassay.stats.resampling import rows_of_resamples

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
    rows = rows_of_resamples(many, runs.score_draws.shape[1] or resamples, rng)
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


ONE_RUN = "one run has no standard deviation"


def level_rows(
    layout: Layout, task: str, headline: str, level: Level, label: str,
    dataset: RunDataset | None = None, subset: str = "",
) -> Iterator[Result]:  # fmt: skip
    """The PTEB score, the original on the same items, the drop, and the standard deviations over runs of score and drop
    of a system at one level; `subset` is one language of a dataset. On a dataset also `delta_runs`: the drop with the
    interval over runs alone, which is what --until-ci narrows."""
    name, lang = (dataset.name, subset or dataset.lang) if dataset else ("", "")
    where = (name, subset, lang, label, level.system)
    for measure, part in ((headline, level.score), ("original", level.original), ("delta", level.delta)):
        low, high = part.interval
        yield Result(
            "pteb",
            task,
            *where,
            measure,
            part.value,
            part.n,
            low,
            high,
            part.method,
            layout.seed,
            part.reason,
        )
    runs = min(map(len, level.runs), default=0)
    for measure, sd in (("sd", level.sd), ("delta_sd", level.delta_sd)):
        reason = "" if sd is not None else level.score.reason or ONE_RUN
        yield Result(
            "pteb", task, *where, measure, sd, runs if sd is not None else 0,
            method=_method_of_spread(level) if sd is not None else "", seed=layout.seed, reason=reason,
        )  # fmt: skip
    half = over_runs(level.deltas) if dataset else None
    if half is not None and (drop := level.delta.value) is not None:
        yield Result(
            "pteb", task, *where, "delta_runs", drop, runs, drop - half, drop + half,
            f"95% t interval over {runs} runs: other paraphrases of these very texts", layout.seed,
        )  # fmt: skip


def original_row(layout: Layout, task: str, headline: str, original: Headline) -> Result:
    """The original score over datasets or tasks."""
    low, high = original.interval
    return Result(
        "pteb", task, "", "", "", ORIGINAL, original.system, headline, original.value, original.n, low, high,
        original.method, layout.seed, original.reason,
    )  # fmt: skip


def _method_of_spread(level: Level) -> str:
    runs = min(map(len, level.runs))
    words = f"sample standard deviation over {runs} runs"
    return words + (f", root mean square of {len(level.runs)} sources" if len(level.runs) > 1 else "")


ALL = ""
"""The label of the mean over all sources but controls."""


class Scores:
    """The levels of a run by task (or `overall`), dataset, system and source."""

    def __init__(self, layout: Layout, records: Sequence[CellRecord]) -> None:
        self.layout = layout
        self.cells = Cells(records)
        # Every scope is asked for by rows, comparisons and ranks; the replicates of a dataset are made once.
        self.on_dataset = cache(self._on_dataset)
        self.in_scope = cache(self._in_scope)

    @property
    def labels(self) -> tuple[str, ...]:
        """All sources together, and each by itself where there are several."""
        # A single source beside controls has no label: it is all of the mean.
        return tuple(dict.fromkeys((ALL, *(source.label for source in self.layout.sources if source.label))))

    @property
    def scopes(self) -> list[tuple[str, str]]:
        """The tasks and `overall`, with the measure of their headline."""
        return [*((task.name, task.headline) for task in self.layout.tasks), (OVERALL, OVERALL)]

    def parts(self, scope: str) -> list[tuple[str, RunDataset]]:
        """The tasks and datasets that make up a task or `overall`."""
        names = [task.name for task in self.layout.tasks if scope in (OVERALL, task.name)]
        return [(name, dataset) for name in names for dataset in self.layout.of_task(name)]

    def original(self, scope: str, system: str) -> Headline:
        """The original score over the datasets of a task, or over tasks."""
        if scope == OVERALL:
            names = [task.name for task in self.layout.tasks]
            parts, noun = [(name, self.original(name, system)) for name in names], "task"
        else:
            datasets = [dataset.name for _, dataset in self.parts(scope)]
            parts, noun = (
                [
                    (name, replace(self.cells.original(scope, name, system), bounds=self._bounds(scope)))
                    for name in datasets
                ],
                "dataset",
            )
        for name, part in parts:
            if part.value is None:
                return Headline.none(system, f"{name}: {part.reason}")
        return over_headlines([part for _, part in parts], system, noun=noun)

    def _on_dataset(self, task: str, dataset: str, system: str, label: str = ALL, lang: str = "") -> Level:
        sources = [
            self.cells.runs(task, dataset, system, source, lang) for source in self.layout.sources_of(label)
        ]
        return on_dataset(
            dataset, system, sources, seed=self.layout.seed, resamples=self.layout.resamples, bounds=self._bounds(task)
        )  # fmt: skip

    def _bounds(self, task: str) -> tuple[float, float]:
        """What scores of a task lie between: correlations from -1, shares from 0."""
        measure = next(one.headline for one in self.layout.tasks if one.name == task)
        return (-1.0 if measure in ("spearman", "pearson") else 0.0), 1.0

    def _in_scope(self, scope: str, system: str, label: str = ALL) -> Level:
        if scope == OVERALL:
            tasks = [task.name for task in self.layout.tasks]
            levels = [(name, self.in_scope(name, system, label)) for name in tasks]
            return over(levels, system, noun="task")
        levels = [
            (dataset.name, self.on_dataset(scope, dataset.name, system, label))
            for _, dataset in self.parts(scope)
        ]
        return over(levels, system, noun="dataset")


MEASURE = "delta_mixed"
SPREADS = {"datasets": "sd_rows", "runs": "sd_columns", "residual": "sd_residual"}
ONE_VALUE = "one dataset and one run say nothing of others"
UNKNOWN = "cannot be told from the rest"


def drop_rows(scores: Scores, scope: str, system: str) -> Iterator[Result]:
    """`delta_mixed` of a task or `overall`, and the standard deviations between datasets, between runs and of the rest.

    The bootstrap intervals of `delta` hold for these datasets; this one takes datasets and runs as samples of others
    (`embassay.stats.mixed_mean`), with the weights that make it the mean of the same drops.
    """
    found = mixed_drop(scores, scope, system)
    row = partial(Result, "pteb", scope, "", "", "", "", system, seed=scores.layout.seed)
    if isinstance(found, str):
        yield row(MEASURE, None, 0, reason=found)
        return
    low, high = (None if np.isnan(end) else end for end in (found.low, found.high))
    method = _method_of_mean(found, len(scores.parts(scope)))
    yield row(MEASURE, found.estimate, found.n, low, high, method)
    for name, field in SPREADS.items():
        sd = getattr(found, field)
        if np.isnan(sd):
            yield row(f"delta_sd:{name}", None, found.n, reason=ONE_VALUE if found.n == 1 else UNKNOWN)
        else:
            yield row(f"delta_sd:{name}", sd, found.n, method=method)


def mixed_drop(scores: Scores, scope: str, system: str) -> MixedMean | str:
    """The mean drop with datasets as rows and runs as columns, or why there is none."""
    total = scores.in_scope(scope, system)
    if not total.present:
        return total.score.reason
    parts = scores.parts(scope)
    tasks = [task for task, _ in parts]
    values: list[float] = []
    weights: list[float] = []
    rows: list[tuple[str, str]] = []
    columns: list[tuple[int, int]] = []
    for task, dataset in parts:
        sources = scores.on_dataset(task, dataset.name, system).deltas
        share = 1 / (len(set(tasks)) * tasks.count(task) * len(sources))
        for source, deltas in enumerate(sources):
            values += deltas.tolist()
            weights += [share / len(deltas)] * len(deltas)
            rows += [(task, dataset.name)] * len(deltas)
            columns += [(source, run) for run in range(len(deltas))]
    return mixed_mean(values, rows, columns, weights=weights)


def _method_of_mean(found: MixedMean, datasets: int) -> str:
    """What was taken as a sample of what."""
    if found.n == 1:
        return ONE_VALUE
    sample = "dataset and run as random effects"
    if datasets == 1:
        sample = "one dataset: holds for other runs on it"
    elif datasets == found.n:
        sample = "one run: holds for other datasets"
    if np.isnan(found.df):
        return f"{sample}; no variation"
    return f"{sample}; t with {found.df:.1f} degrees of freedom (Satterthwaite)"
