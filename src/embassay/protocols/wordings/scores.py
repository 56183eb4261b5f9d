"""What a system scores in other wordings: on a dataset, over a task's datasets, over tasks; and the rows of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.contracts import Kind
from embassay.errors import UsageError
from embassay.protocols.kernel.comparisons import SystemHeadlineValue, average_headline_components, stack_replicates
from embassay.protocols.kernel.estimates import TOO_FEW, clip_drop_interval
from embassay.protocols.tasks.task import find_headline_bounds
from embassay.randomness import make_seeded_generator
from embassay.records import HeadlineComponent, ResampledUnitGroup, ResultRow
from embassay.runs.folder import CellRecord
from embassay.stats import MixedMean, mixed_mean
from embassay.stats.intervals import KEPT, count_resampled_units, t_quantile
from embassay.stats.resampling import draw_all_resample_rows

ORIGINAL = "original"
CONTROLS = ("copied", "permuted")
"""Paraphrasers that nobody wants the score of: it is shown beside the others'."""


@dataclass(frozen=True)
class SystemInRun:
    """A system of the run. `vectors` is False for one that other methods stand in for where a task needs vectors."""

    name: str
    kind: Kind
    vectors: bool = True

    @property
    def ranked(self) -> bool:
        """References stand beside the others, and are neither ranked nor compared."""
        return self.kind != "reference"


@dataclass(frozen=True)
class TaskInRun:
    """A task of the run: the measure of its headline, and whether it needs vectors (`Task.vectors`)."""

    name: str
    headline: str
    vectors: bool = False


@dataclass(frozen=True)
class DatasetInRun:
    """A dataset with the tasks it is used for; `lang` is what its result rows say, `languages` are all of them."""

    name: str
    lang: str
    tasks: tuple[str, ...]
    languages: tuple[str, ...] = ()


def list_planned_systems_and_datasets(plan: Any) -> tuple[tuple[SystemInRun, ...], tuple[DatasetInRun, ...]]:
    """Those of a plan, as the layout of its run has them."""
    return (
        tuple(SystemInRun(system.name, system.kind, system.kind == "embedding") for system in plan.systems),
        tuple(_make_dataset_in_run(dataset) for dataset in plan.datasets),
    )


def _make_dataset_in_run(dataset: Any) -> DatasetInRun:
    languages = dict.fromkeys(lang for langs in dataset.languages.values() for lang in langs)
    return DatasetInRun(dataset.name, dataset.lang, tuple(part.task for part in dataset.tasks), tuple(languages))


@dataclass(frozen=True)
class WordingSourceInRun:
    """Where wordings come from: a paraphraser with a prompt, and its seeds per dataset, one for every run.

    `label` tells several sources apart, as variants spell it: `by=NAME`, `prompt=NAME`, `by=NAME,prompt=NAME`; it is
    empty where there is one source. A `control` (the text itself, its words in another order) stands beside the others:
    it has rows of its own, and is no part of the mean over sources unless there are only controls.
    """

    label: str
    seeds: Mapping[str, tuple[int, ...]]
    control: bool = False
    prefix: str = "paraphrase:"

    def variant(self, seed: int) -> str:
        """The variant of the cells of one run: `paraphrase:seed=1337`, `paraphrase:by=NAME,seed=1337`."""
        return self.prefix + ",".join(filter(None, (self.label, f"seed={seed}")))


@dataclass(frozen=True)
class WordingRunSetup:
    """The whole run. `baseline` is the system others are compared with; empty, it is the first embedding."""

    systems: tuple[SystemInRun, ...]
    datasets: tuple[DatasetInRun, ...]
    tasks: tuple[TaskInRun, ...]
    sources: tuple[WordingSourceInRun, ...]
    baseline: str = ""
    seed: int = 1337
    resamples: int = 1_000
    protocol: str = "pteb"

    @property
    def ranked(self) -> tuple[SystemInRun, ...]:
        """All systems but the references."""
        return tuple(system for system in self.systems if system.ranked)

    @property
    def baseline_name(self) -> str:
        """The name of the baseline: as asked for, else the first embedding, else the first system."""
        names = [
            *(system.name for system in self.ranked if system.kind == "embedding"),
            *(system.name for system in self.ranked),
        ]
        return self.baseline or next(iter(names), "")

    def select_sources(self, label: str) -> tuple[WordingSourceInRun, ...]:
        """The source with this label, or for the empty one all that the PTEB score is the mean of."""
        if label:
            return tuple(source for source in self.sources if source.label == label)
        return tuple(source for source in self.sources if not source.control) or self.sources

    def list_task_datasets(self, task: str) -> Iterator[DatasetInRun]:
        """The datasets of a task, in the order of the run."""
        return (dataset for dataset in self.datasets if task in dataset.tasks)

    def list_scope_datasets(self, scope: str) -> list[tuple[str, DatasetInRun]]:
        """List the tasks and datasets that make up a task or `overall`."""
        names = [task.name for task in self.tasks if scope in (OVERALL, task.name)]
        return [(name, dataset) for name in names for dataset in self.list_task_datasets(name)]


OVERALL = "overall"


@dataclass(frozen=True)
class SystemsOnTask:
    """A task, or `overall`, and the systems that were evaluated on it by one method."""

    name: str
    task: str
    systems: tuple[str, ...]


def list_scopes_with_systems(layout: WordingRunSetup) -> Iterator[SystemsOnTask]:
    """`overall` and every task, references left out.

    Where a task needs vectors, systems that have none were evaluated by another method and are never ranked with the
    others: they have a scope `NAME:classical` of their own (or NAME, when no system has vectors).
    """
    needing = {task.name for task in layout.tasks if task.vectors}
    for name in (OVERALL, *(task.name for task in layout.tasks)):
        everyone = tuple(system.name for system in layout.ranked)
        having = tuple(system.name for system in layout.ranked if system.vectors)
        differs = bool(needing) if name == OVERALL else name in needing
        if not differs or not having or having == everyone:
            yield SystemsOnTask(name, name, everyone)
            continue
        yield SystemsOnTask(name, name, having)
        yield SystemsOnTask(f"{name}:classical", name, tuple(system for system in everyone if system not in having))


Floats = NDArray[np.float64]


def _make_empty_array() -> Floats:
    return np.empty(0)


@dataclass(frozen=True)
class ParaphraseSourceRunScores:
    """The runs of one source on one dataset: `scores` (runs,) in its wordings and `originals` (runs,) on the items that
    were kept in each, with the replicates of both, (runs, resamples); the latter have no column where the items cannot
    be resampled. `units` are what is resampled, if not the `n` items. `reason` says why there are none. `method` is the
    task's own, of one run."""

    source: WordingSourceInRun
    scores: Floats = field(default_factory=_make_empty_array)
    originals: Floats = field(default_factory=_make_empty_array)
    score_draws: Floats = field(default_factory=_make_empty_array)
    original_draws: Floats = field(default_factory=_make_empty_array)
    n: int = 0
    method: str = ""
    reason: str = ""
    units: int | None = None

    @property
    def paraphrase_score_changes_by_run(self) -> Floats:
        """Paraphrased minus original, (runs,)."""
        return self.scores - self.originals

    @property
    def delta_replicates(self) -> Floats:
        """The replicates of the score deltas, paired by item, (runs, resamples)."""
        return self.score_draws - self.original_draws


class RunCellRecords:
    """The records of a run by what identifies them."""

    def __init__(self, records: Sequence[CellRecord]) -> None:
        self._records = {(cell.task, cell.dataset, cell.system, cell.variant): cell for cell in records}

    def languages(self, task: str, dataset: str) -> tuple[str, ...]:
        """List the languages that have scores of their own, where a dataset has several."""
        records = (record for key, record in self._records.items() if key[:2] == (task, dataset))
        names = dict.fromkeys(name for record in records for name in record.components)
        return tuple(name.removeprefix("score:") for name in names if name.startswith("score:"))

    def original(self, task: str, dataset: str, system: str) -> SystemHeadlineValue:
        """Find the score on all items as they were written."""
        record = self._records.get((task, dataset, system, ORIGINAL))
        parts = _find_cell_components_or_reason(record, "score")
        if isinstance(parts, str):
            return SystemHeadlineValue.none(system, parts)
        return SystemHeadlineValue.of(system, parts[0], _describe_score_method(record))

    def runs(
        self, task: str, dataset: str, system: str, source: WordingSourceInRun, lang: str = ""
    ) -> ParaphraseSourceRunScores:
        """The score of every run of a source; none of them where one is missing, as a mean over what happens to be
        there is not the mean that was asked for. `lang` is one language of a dataset that has several."""
        pairs: list[tuple[HeadlineComponent, HeadlineComponent]] = []
        method, suffix = "", f":{lang}" if lang else ""
        for seed in source.seeds.get(dataset, ()):
            record = self._records.get((task, dataset, system, source.variant(seed)))
            parts = _find_cell_components_or_reason(record, f"score{suffix}", f"original{suffix}")
            if isinstance(parts, str):
                return ParaphraseSourceRunScores(source, reason=f"{source.variant(seed)}: {parts}")
            pairs.append((parts[0], parts[1]))
            method = method or _describe_score_method(record, lang)
        if not pairs:
            return ParaphraseSourceRunScores(source, reason="no run")
        scores, originals = zip(*pairs, strict=True)
        # Together, so that runs and originals have one width where some have no replicates.
        draws = stack_replicates([*scores, *originals])
        return ParaphraseSourceRunScores(
            source, _collect_component_values(scores), _collect_component_values(originals),
            draws[: len(pairs)], draws[len(pairs) :],
            max(part.n for part in scores), method, units=min(count_resampled_units(part) for part in scores)
        )  # fmt: skip


def _find_cell_components_or_reason(record: CellRecord | None, *names: str) -> list[HeadlineComponent] | str:
    """The components of a finished cell, or why it has no score."""
    if record is None:
        return "not run yet"
    if not record.done:
        return record.reason
    for name in names:
        part = record.components.get(name)
        if part is None or part.value is None:
            reasons = [part.reason if part else "", *(score.reason for score in record.scores)]
            return next(filter(None, reasons), "no score")
    return [record.components[name] for name in names]


def _describe_score_method(record: CellRecord | None, lang: str = "") -> str:
    methods = [score.method for score in record.scores if score.subset == lang] if record else []
    return next(filter(None, methods), "")


def _collect_component_values(parts: Sequence[HeadlineComponent]) -> Floats:
    return np.array([part.value for part in parts], dtype=np.float64)


CONFIDENCE = 0.95


def compute_drop_half_widths(deltas: ArrayLike) -> NDArray[np.float64]:
    """Half the width of the 95% t interval of each system's mean drop, (systems, runs) -> (systems,).

    In the unit of `deltas`: t(0.975, runs - 1) x sample sd / sqrt(runs), a sample being the runs of one dataset.
    Infinite with one run; NaN for a system that lacks a run. Raises UsageError for other shapes, or no runs.

    >>> compute_drop_half_widths([[-0.010, -0.012, -0.014]]).round(4).tolist()
    [0.005]
    """
    values = np.asarray(deltas, dtype=np.float64)
    if values.ndim != 2 or not values.shape[1]:
        raise UsageError(
            f"The drops have the shape {values.shape}.", mend="Give (systems, runs), with at least one run."
        )
    systems, runs = values.shape
    if runs == 1:
        return np.full(systems, math.inf)
    spread = np.std(values, axis=1, ddof=1) / math.sqrt(runs)
    return np.asarray(t_quantile(0.5 + CONFIDENCE / 2, runs - 1) * spread)


def compute_half_width_over_sources(sources: Sequence[NDArray[np.float64]]) -> float | None:
    """Half the width of the 95% t interval of a drop that is the mean of several sources' means over runs, (runs,)
    each; None where one has a single run. Of one source it is `compute_drop_half_widths`.

    >>> round(compute_half_width_over_sources([np.array([-0.010, -0.012, -0.014])]), 4)
    0.005
    """
    if not sources or min(map(len, sources)) < 2:
        return None
    variance = sum(float(np.var(runs, ddof=1)) / len(runs) for runs in sources) / len(sources) ** 2
    # Pooled over sources, as their runs are taken to vary alike.
    freedom = sum(len(runs) - 1 for runs in sources)
    return float(t_quantile(0.5 + CONFIDENCE / 2, freedom)) * math.sqrt(variance)


def needs_more_runs(deltas: ArrayLike, points: float) -> bool:
    """Whether any system's drop on a dataset is still known to less than +- `points` (1 point = 0.01).

    `deltas` (systems, runs) are fractions, Paraphrased minus original. A system with NaN for a run (it has no score
    there) is not waited for, as more runs would not mend it; so without any other the answer is no.
    Raises UsageError for other shapes, no runs, or `points` that are not positive.

    >>> drops = [[-0.010, -0.012, -0.014]]
    >>> needs_more_runs(drops, points=0.4), needs_more_runs(drops, points=0.5)
    (True, False)
    """
    if not points > 0:
        raise UsageError(f"The target half-width is {points} points.", mend="Use a number above 0, such as 0.5.")
    values = np.asarray(deltas, dtype=np.float64)
    return bool((100 * compute_drop_half_widths(values)[~np.isnan(values).any(axis=-1)] > points).any())


@dataclass(frozen=True)
class SystemScoreAndDrop:
    """One system at one level. `score` is the PTEB score (mean over runs), `original` the score of the same items as
    they were written (those with a wording in the run) and `delta` the one less the other; `runs` and `deltas` hold
    the score and the drop of every run, one array (runs,) per source."""

    system: str
    score: SystemHeadlineValue
    original: SystemHeadlineValue
    delta: SystemHeadlineValue
    runs: tuple[Floats, ...] = ()
    deltas: tuple[Floats, ...] = ()

    @property
    def has_score(self) -> bool:
        """Whether there is a score; if not, `score.reason` says why."""
        return self.score.value is not None

    @property
    def sd(self) -> float | None:
        """Sample standard deviation of the score over runs; over several sources the root of their mean variance. None
        where a source has one run."""
        return _compute_run_deviation(self.runs)

    @property
    def delta_sd(self) -> float | None:
        """The standard deviation of the drop over runs, which may have kept other items."""
        return _compute_run_deviation(self.deltas)

    @classmethod
    def none(cls, system: str, reason: str) -> SystemScoreAndDrop:
        """Make a level without a score, for a reason."""
        missing = SystemHeadlineValue.none(system, reason)
        return cls(system, missing, missing, missing)


def average_runs_and_sources(
    dataset: str,
    system: str,
    sources: Sequence[ParaphraseSourceRunScores],
    *,
    seed: int,
    resamples: int,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> SystemScoreAndDrop:
    """Mean over the runs of each source, and over the sources. Scores lie within `bounds`.

    Two-level bootstrap: a replicate takes the tasks' replicate of the items, the same in all runs and for all systems,
    and draws as many runs as there are, again the same for all systems (and tasks of the dataset, as these share its
    wordings). What item and run have together counts at both levels, so that the interval is rather too wide than too
    narrow (Owen 2007, the pigeonhole bootstrap). One run is no sample of runs: then items alone are drawn.
    """
    for runs in sources:
        if runs.reason:
            return SystemScoreAndDrop.none(system, runs.reason)
    drawn = [_draw_run_shares_in_resamples(dataset, runs, seed, resamples) for runs in sources]
    units = min(runs.n if runs.units is None else runs.units for runs in sources)
    score = _average_score_over_paraphrase_sources([(runs.scores, runs.score_draws) for runs in sources], drawn, units)
    original = _average_score_over_paraphrase_sources(
        [(runs.originals, runs.original_draws) for runs in sources], drawn, units
    )
    delta = _average_score_over_paraphrase_sources(
        [(runs.paraphrase_score_changes_by_run, runs.delta_replicates) for runs in sources], drawn, units
    )
    n, words = max(runs.n for runs in sources), _describe_mean_over_sources(sources)
    return SystemScoreAndDrop(
        system,
        SystemHeadlineValue.of(system, score, words, n, bounds),
        SystemHeadlineValue.of(system, original, f"the original items that every run has; {words}", n, bounds),
        SystemHeadlineValue.of(
            system, delta, f"paired by item; {words}", n, (bounds[0] - bounds[1], bounds[1] - bounds[0])
        ),
        tuple(runs.scores for runs in sources),
        tuple(runs.paraphrase_score_changes_by_run for runs in sources),
    )


def average_system_scores_and_drops(
    levels: Sequence[tuple[str, SystemScoreAndDrop]], system: str, *, noun: str
) -> SystemScoreAndDrop:
    """Unweighted mean over datasets or tasks, given with their names; none where one of them has no score.

    A run of the mean is made of the runs with its number; where there are more of one dataset than of another, those
    that all have (for the standard deviation over runs, not for the mean).
    """
    for name, level in levels:
        if not level.has_score:
            return SystemScoreAndDrop.none(system, f"{name}: {level.score.reason}")
    parts = [level for _, level in levels]
    score = average_headlines_of_one_system([level.score for level in parts], system, noun=noun)
    original = average_headlines_of_one_system([level.original for level in parts], system, noun=noun)
    delta = average_headlines_of_one_system([level.delta for level in parts], system, noun=noun)
    return SystemScoreAndDrop(
        system, score, original, delta,
        _average_parts_per_run_number([level.runs for level in parts]),
        _average_parts_per_run_number([level.deltas for level in parts])
    )  # fmt: skip


def average_headlines_of_one_system(
    parts: Sequence[SystemHeadlineValue], system: str, *, noun: str
) -> SystemHeadlineValue:
    """The unweighted mean of values that are all there."""
    mean = average_headline_components([part.component for part in parts])
    fixed = sum(not len(part.replicates) for part in parts)
    words = f"mean over {len(parts)} {noun}{'s' if len(parts) > 1 else ''}, bootstrap within each"
    if fixed:
        words += f"; {fixed} without an interval held fixed"
    if not len(mean.replicates):
        words = f"mean over {len(parts)} {noun}{'s' if len(parts) > 1 else ''}; nothing to resample"
    ends = np.mean([part.bounds for part in parts], axis=0)
    return SystemHeadlineValue.of(system, mean, words, bounds=(float(ends[0]), float(ends[1])))


def _average_score_over_paraphrase_sources(
    sources: Sequence[tuple[Floats, Floats]], drawn: Sequence[Floats | None], units: int
) -> HeadlineComponent:
    """The mean over sources of the mean over runs. The items, which all runs share, are one stratum and the runs of
    each source another: six runs say less of runs than a hundred items of items."""
    pairs = list(zip(sources, drawn, strict=True))
    mean = average_headline_components([_average_paraphrase_runs_of_source(*source, runs) for source, runs in pairs])
    strata = []
    if all(draws.shape[1] for _, draws in sources):
        # `KEPT` draws tell the variance of a stratum well enough; the headline file keeps them all.
        items = np.mean([draws[:, :KEPT].mean(axis=0) for _, draws in sources], axis=0)
        strata.append(ResampledUnitGroup(units, items))
    strata += [
        ResampledUnitGroup(len(values), runs[:KEPT] @ values / len(sources))
        for (values, _), runs in pairs
        if runs is not None
    ]
    return replace(mean, strata=tuple(strata))


def _average_paraphrase_runs_of_source(values: Floats, draws: Floats, drawn: Floats | None) -> HeadlineComponent:
    """The mean over runs. `draws` (runs, resamples) are the replicates of the items, `drawn` (resamples, runs) the
    share that each run has in a replicate."""
    mean = float(values.mean())
    if drawn is None:
        return HeadlineComponent(mean, 0, draws.mean(axis=0))
    # Items that cannot be resampled stand still, and only runs vary.
    over_items = draws if draws.shape[1] else np.repeat(values[:, None], len(drawn), axis=1)
    # A run that was not drawn does not make a replicate undefined.
    return HeadlineComponent(mean, 0, np.where(drawn.T > 0, drawn.T * over_items, 0.0).sum(axis=0))


def _draw_run_shares_in_resamples(
    dataset: str, runs: ParaphraseSourceRunScores, seed: int, resamples: int
) -> Floats | None:
    """The share each run has in each resample of the runs, (resamples, runs)."""
    many = len(runs.scores)
    if many < 2:
        return None
    # Neither system nor task is in the stream's name: all see the same runs drawn, so that differences are paired.
    rng = make_seeded_generator(seed, "runs", dataset, runs.source.label)
    rows = draw_all_resample_rows(many, runs.score_draws.shape[1] or resamples, rng)
    return np.asarray((rows[:, :, None] == np.arange(many)).mean(axis=1))


def _describe_mean_over_sources(sources: Sequence[ParaphraseSourceRunScores]) -> str:
    counts = sorted({len(runs.scores) for runs in sources})
    many = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    resampled = counts[-1] > 1
    items = sources[0].score_draws.shape[1] > 0
    words = [f"mean over {many} runs" if resampled else "one run"]
    if len(sources) > 1:
        words.append(f"of each of {len(sources)} sources")
    with_runs = "runs resampled with the items" if items else "runs resampled, items held fixed"
    ending = with_runs if resampled else "" if items else "nothing to resample"
    return "; ".join(filter(None, (" ".join(words), ending, sources[0].method)))


def _compute_run_deviation(sources: Sequence[Floats]) -> float | None:
    """The root of the mean variance of each source's runs, (runs,); None where one has a single run."""
    if not sources or min(map(len, sources)) < 2:
        return None
    # Equal runs have no variance; their mean may differ from them in the last bit.
    return float(np.sqrt(np.mean([np.var(runs, ddof=1) if np.ptp(runs) else 0.0 for runs in sources])))


def _average_parts_per_run_number(parts: Sequence[tuple[Floats, ...]]) -> tuple[Floats, ...]:
    """Per source, the mean of the runs of the same number, as far as all parts have them."""
    means = []
    for of_source in zip(*parts, strict=True):
        common = min(map(len, of_source))
        means.append(np.mean([runs[:common] for runs in of_source], axis=0))
    return tuple(means)


ONE_RUN = "one run has no standard deviation"


def _append_wide_interval_note(method: str, had: float | None, has: float | None) -> str:
    """Add to the method that an interval was too wide to say anything."""
    return f"{method}; {TOO_FEW}" if had is not None and has is None else method


def make_score_and_drop_rows(
    layout: WordingRunSetup, task: str, headline: str, level: SystemScoreAndDrop, label: str,
    dataset: DatasetInRun | None = None, subset: str = ""
) -> Iterator[ResultRow]:  # fmt: skip
    """The PTEB score, the original on the same items, the drop, and the standard deviations over runs of score and drop
    of a system at one level; `subset` is one language of a dataset. On a dataset also `delta_runs`: the drop with the
    interval over runs alone, which is what --until-ci narrows."""
    name, lang = (dataset.name, subset or dataset.lang) if dataset else ("", "")
    where = (name, subset, lang, label, level.system)
    for measure, part in ((headline, level.score), ("original", level.original), ("delta", level.delta)):
        low, high = ends = part.interval
        if measure == "delta":
            low, high = clip_drop_interval(*ends, part.bounds, part.bounds[1])
        method = _append_wide_interval_note(part.method, ends[0], low)
        yield ResultRow(
            layout.protocol, task, *where, measure, part.value, part.n, low, high, method, layout.seed, part.reason
        )  # fmt: skip
    runs = min(map(len, level.runs), default=0)
    for measure, sd in (("sd", level.sd), ("delta_sd", level.delta_sd)):
        reason = "" if sd is not None else level.score.reason or ONE_RUN
        yield ResultRow(
            layout.protocol, task, *where, measure, sd, runs if sd is not None else 0,
            method=_describe_score_deviation_method(level) if sd is not None else "", seed=layout.seed, reason=reason
        )  # fmt: skip
    half = compute_half_width_over_sources(level.deltas) if dataset else None
    if half is not None and (drop := level.delta.value) is not None:
        # A drop lies between the bounds of the score, the original taken off both.
        least, most = (end - (level.original.value or 0.0) for end in level.score.bounds)
        low, high = clip_drop_interval(drop - half, drop + half, (least, most), most - least)
        method = f"95% t interval over {runs} runs, for other paraphrases of the same texts"
        yield ResultRow(
            layout.protocol, task, *where, "delta_runs", drop, runs, low, high,
            _append_wide_interval_note(method, drop, low), layout.seed
        )  # fmt: skip


def make_original_row(layout: WordingRunSetup, task: str, headline: str, original: SystemHeadlineValue) -> ResultRow:
    """Make the result row of the original score over datasets or tasks."""
    low, high = original.interval
    return ResultRow(
        layout.protocol, task, "", "", "", ORIGINAL, original.system, headline, original.value, original.n, low, high,
        original.method, layout.seed, original.reason
    )  # fmt: skip


def _describe_score_deviation_method(level: SystemScoreAndDrop) -> str:
    runs = min(map(len, level.runs))
    words = f"sample standard deviation over {runs} runs"
    return words + (f", root mean square of {len(level.runs)} sources" if len(level.runs) > 1 else "")


ALL = ""
"""The label of the mean over all sources but controls."""


class RunScoresAndDrops:
    """The levels of a run by task (or `overall`), dataset, system and source."""

    def __init__(self, layout: WordingRunSetup, records: Sequence[CellRecord]) -> None:
        self.layout = layout
        self.cells = RunCellRecords(records)
        # Every scope is asked for by rows, comparisons and ranks; the replicates of a dataset are made once.
        self._on_dataset, self._in_scope = (
            cache(self._compute_dataset_score_and_drop),
            cache(self._compute_scope_score_and_drop),
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of all sources together, and of each by itself where there are several."""
        # A single source beside controls has no label: it is all of the mean.
        return tuple(dict.fromkeys((ALL, *(source.label for source in self.layout.sources if source.label))))

    @property
    def scopes_with_headline(self) -> list[tuple[str, str]]:
        """The tasks and `overall`, with the measure of their headline."""
        return [*((task.name, task.headline) for task in self.layout.tasks), (OVERALL, OVERALL)]

    def original(self, scope: str, system: str) -> SystemHeadlineValue:
        """Find the original score over the datasets of a task, or over tasks."""
        if scope == OVERALL:
            names = [task.name for task in self.layout.tasks]
            parts, noun = [(name, self.original(name, system)) for name in names], "task"
        else:
            names, noun = [of.name for _, of in self.layout.list_scope_datasets(scope)], "dataset"
            parts = [(name, self.find_original_score_on_dataset(scope, name, system)) for name in names]
        for name, part in parts:
            if part.value is None:
                return SystemHeadlineValue.none(system, f"{name}: {part.reason}")
        return average_headlines_of_one_system([part for _, part in parts], system, noun=noun)

    def find_original_score_on_dataset(self, task: str, dataset: str, system: str) -> SystemHeadlineValue:
        """The original score on a dataset."""
        return replace(self.cells.original(task, dataset, system), bounds=self._find_score_bounds(task))

    def on_dataset(self, task: str, dataset: str, system: str, label: str = ALL, lang: str = "") -> SystemScoreAndDrop:
        """A system on a dataset, in the wordings of a source or of all; `lang` is one language of several."""
        return self._on_dataset(task, dataset, system, label, lang)

    def in_scope(self, scope: str, system: str, label: str = ALL) -> SystemScoreAndDrop:
        """Find the level of a system over the datasets of a task, or over tasks."""
        return self._in_scope(scope, system, label)

    def _compute_dataset_score_and_drop(
        self, task: str, dataset: str, system: str, label: str, lang: str
    ) -> SystemScoreAndDrop:
        sources = [self.cells.runs(task, dataset, system, source, lang) for source in self.layout.select_sources(label)]
        return average_runs_and_sources(
            dataset, system, sources, seed=self.layout.seed, resamples=self.layout.resamples,
            bounds=self._find_score_bounds(task)
        )  # fmt: skip

    def _find_score_bounds(self, task: str) -> tuple[float, float]:
        """Give the bounds of a task's scores: correlations from -1, shares from 0."""
        measure = next(run_task.headline for run_task in self.layout.tasks if run_task.name == task)
        return find_headline_bounds(measure)

    def _compute_scope_score_and_drop(self, scope: str, system: str, label: str) -> SystemScoreAndDrop:
        if scope == OVERALL:
            tasks = [task.name for task in self.layout.tasks]
            levels = [(name, self.in_scope(name, system, label)) for name in tasks]
            return average_system_scores_and_drops(levels, system, noun="task")
        levels = [
            (dataset.name, self.on_dataset(scope, dataset.name, system, label))
            for _, dataset in self.layout.list_scope_datasets(scope)
        ]
        return average_system_scores_and_drops(levels, system, noun="dataset")


MEASURE = "delta_mixed"
SPREADS = {"datasets": "sd_rows", "runs": "sd_columns", "residual": "sd_residual"}
ONE_VALUE = "one dataset and one run say nothing about others"
UNKNOWN = "cannot be separated from the rest"


def make_mixed_model_drop_rows(scores: RunScoresAndDrops, scope: str, system: str) -> Iterator[ResultRow]:
    """`delta_mixed` of a task or `overall`, and the standard deviations between datasets, between runs and of the rest.

    The bootstrap intervals of `delta` hold for these datasets; this one takes datasets and runs as samples of others
    (`embassay.stats.mixed_mean`), with the weights that make it the mean of the same drops.
    """
    mean = estimate_mixed_effects_mean_drop(scores, scope, system)
    row = partial(ResultRow, "pteb", scope, "", "", "", "", system, seed=scores.layout.seed)
    if isinstance(mean, str):
        yield row(MEASURE, None, 0, reason=mean)
        return
    bounds = scores.in_scope(scope, system).delta.bounds
    low, high = clip_drop_interval(mean.low, mean.high, bounds, bounds[1])
    method = _append_wide_interval_note(
        _describe_mean_method(mean, len(scores.layout.list_scope_datasets(scope))), mean.low, low
    )
    yield row(MEASURE, mean.value, mean.n, low, high, method)
    for name, spread in SPREADS.items():
        sd = getattr(mean, spread)
        if np.isnan(sd):
            yield row(f"delta_sd:{name}", None, mean.n, reason=ONE_VALUE if mean.n == 1 else UNKNOWN)
        else:
            yield row(f"delta_sd:{name}", sd, mean.n, method=method)


def estimate_mixed_effects_mean_drop(scores: RunScoresAndDrops, scope: str, system: str) -> MixedMean | str:
    """The mean drop with datasets as rows and runs as columns, or why there is none."""
    total = scores.in_scope(scope, system)
    if not total.has_score:
        return total.score.reason
    parts = scores.layout.list_scope_datasets(scope)
    tasks = [task for task, _ in parts]
    values: list[float] = []
    weights: list[float] = []
    rows: list[tuple[str, str]] = []
    columns: list[tuple[int, int]] = []
    for task, dataset in parts:
        sources = scores.on_dataset(task, dataset.name, system).deltas
        # A task weighs as much as another, whatever number of datasets it has.
        share = 1 / (len(set(tasks)) * tasks.count(task) * len(sources))
        for source, deltas in enumerate(sources):
            values += deltas.tolist()
            weights += [share / len(deltas)] * len(deltas)
            rows += [(task, dataset.name)] * len(deltas)
            columns += [(source, run) for run in range(len(deltas))]
    return mixed_mean(values, rows, columns, weights=weights)


def _describe_mean_method(mean: MixedMean, datasets: int) -> str:
    """Describe what the mean took as a sample of what."""
    if mean.n == 1:
        return ONE_VALUE
    sample = "dataset and run as random effects"
    if datasets == 1:
        sample = "one dataset: applies to other runs on it"
    elif datasets == mean.n:
        sample = "one run: applies to other datasets"
    if np.isnan(mean.df):
        return f"{sample}; no variation"
    return f"{sample}; t with {mean.df:.1f} degrees of freedom (Satterthwaite)"
