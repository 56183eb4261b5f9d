"""Do old texts lose more by paraphrase than fresh ones reworded as much? What a model may have learnt by heart.

PTEB suspects that scores on public texts are too high because models were trained on them. A text is *fresh* where its
owner says that no model can have seen it. Both kinds are compared in bins of the same edit distance, so that it isn't
the paraphraser that made the difference. What else tells old from fresh (topic, style, difficulty, people) is in it
still: a difference is a suspicion and no proof, and none is no acquittal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.measures import edit_distances
from embassay.protocols.kernel.tables import ColumnTable, text, whole_number_column
from embassay.protocols.pteb.conclusions import (
    VALUES,
    list_item_ids_of_text_place,
    list_tasks_scored_per_text,
    make_value_array_for_items,
    read_item_values,
)
from embassay.protocols.pteb.drops import FEWEST_TEXTS, SCORES, Score, resample_deltas, score_resamples
from embassay.protocols.pteb.plan import ParaphraserWithPrompt, PtebPlan
from embassay.protocols.wordings.protocol import PARAPHRASES, PlannedDatasetToParaphrase, Seeds
from embassay.protocols.wordings.scores import ORIGINAL
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.tables import make_signed_points_column
from embassay.protocols.wordings.work import find_registered_task as task_named
from embassay.randomness import draw_random_bytes
from embassay.runs.folder import CellRecord, RunFolder
from embassay.stats import Estimate, percentile_interval

Floats = NDArray[np.float64]
EDGES = (0.2, 0.4, 0.6, 0.8)
"""Where one bin of edit distances ends and the next begins."""
METHOD = "95% percentile bootstrap over items within bins"
EXCESS = (("excess", "value"), ("low", "low"), ("high", "high"))
BEYOND = (("beyond", "value"), ("beyond_low", "low"), ("beyond_high", "high"))
LIMITS = (
    "Old and fresh texts differ in more than age (topic, style, difficulty, annotators), so a positive difference "
    "suggests memorisation but does not prove it, and 0 does not rule it out."
)


@dataclass(frozen=True)
class RewordedItemScores:
    """The items of one dataset: how far each is reworded, the mean over its texts and runs (0 to 1), its value as it is
    and in every run, and its gold where the score needs one; each (n,), NaN where there is none."""

    name: str
    distance: Floats
    original: Floats
    runs: tuple[Floats, ...]
    gold: Floats | None = None


@dataclass(frozen=True)
class FreshnessLossesByDistance:
    """What both kinds lose at one distance, as fractions, from `old` and `fresh` items; None with a `reason` where
    either is too few."""

    label: str
    old: int
    fresh: int
    old_loss: float | None = None
    fresh_loss: float | None = None
    replicates: Floats | None = None
    """Of the loss of old texts minus that of fresh ones."""
    reason: str = ""


@dataclass(frozen=True)
class ExcessLossOfOldTexts:
    """How much more old texts lose than fresh ones at equal distance: the mean over the bins that have both, each
    weighed by how many items it rests on, with its 95% interval (NaN where nothing varies); None with a `reason` where
    no bin has both."""

    bins: tuple[FreshnessLossesByDistance, ...]
    difference: Estimate | None
    reason: str = ""
    replicates: Floats | None = None
    """Of the difference, the same resamples for all systems on the same items."""


def subtract_untrained_excess_loss(
    trained: ExcessLossOfOldTexts, untrained: Sequence[ExcessLossOfOldTexts]
) -> Estimate | None:
    """The excess of a trained system minus the mean of those that learnt nothing, with its 95% interval: what these
    have as well is no memory, but what else tells old texts from fresh ones. None where either has no excess, or on
    other bins."""
    known = [excess for excess in untrained if excess.difference is not None and excess.replicates is not None]
    own = trained.replicates
    if trained.difference is None or own is None or not known:
        return None
    usable = [[part.reason == "" for part in excess.bins] for excess in (trained, *known)]
    if any(bins != usable[0] for bins in usable):
        return None
    others = np.mean([excess.replicates for excess in known if excess.replicates is not None], axis=0)
    mean = float(np.mean([excess.difference.point for excess in known if excess.difference is not None]))
    ends = percentile_interval(own - others)
    return Estimate(trained.difference.point - mean, *ends, trained.difference.n, METHOD)


def measure_excess_loss_of_old(
    score: Score,
    old: Sequence[RewordedItemScores],
    fresh: Sequence[RewordedItemScores],
    *,
    edges: Sequence[float] = EDGES,
    seed: int = 1337,
) -> ExcessLossOfOldTexts:
    """What old texts lose beyond fresh ones that are reworded as much.

    Each dataset is scored by itself in each bin, so that scales of different data are not mixed; a kind's loss is the
    mean over its datasets by their items. Bins with under 10 items of a dataset leave that out. Items are resampled
    within bins. UsageError without a dataset of either kind.
    """
    if not old or not fresh:
        raise UsageError(
            "The comparison needs both old and fresh datasets.",
            mend="Name some, but not all, of the datasets with --fresh.",
        )
    bins = tuple(
        _compare_losses_in_distance_bin(score, old, fresh, ends, seed) for ends in pairwise((-np.inf, *edges, np.inf))
    )
    usable = [part for part in bins if part.replicates is not None]
    if not usable:
        return ExcessLossOfOldTexts(bins, None, f"no edit distance bin has {FEWEST_TEXTS} items of both kinds")
    # Of two means the smaller side decides how well their difference is known.
    weights = np.array([part.old * part.fresh / (part.old + part.fresh) for part in usable])
    weights /= weights.sum()
    values = np.array([(part.old_loss or 0.0) - (part.fresh_loss or 0.0) for part in usable])
    replicates = weights @ np.stack([part.replicates for part in usable if part.replicates is not None])
    n = sum(part.old + part.fresh for part in usable)
    difference = Estimate(float(weights @ values), *percentile_interval(replicates), n, METHOD)
    return ExcessLossOfOldTexts(bins, difference, replicates=replicates)


def _compare_losses_in_distance_bin(
    score: Score,
    old: Sequence[RewordedItemScores],
    fresh: Sequence[RewordedItemScores],
    ends: tuple[float, float],
    seed: int,
) -> FreshnessLossesByDistance:
    label = f"{max(ends[0], 0):g} to {min(ends[1], 1):g}"
    first, second = (_measure_loss_of_kind_in_distance_bin(score, texts, ends, seed) for texts in (old, fresh))
    if first.replicates is None or second.replicates is None:
        reason = f"old or fresh texts have fewer than {FEWEST_TEXTS} items or no score"
        return FreshnessLossesByDistance(label, first.n, second.n, reason=reason)
    replicates = first.replicates - second.replicates
    return FreshnessLossesByDistance(label, first.n, second.n, first.loss, second.loss, replicates)


class DatasetKindScoreLossInBin(NamedTuple):
    """What the datasets of one kind lose in a bin, with replicates; None where no dataset has a score."""

    n: int
    loss: float = 0.0
    replicates: Floats | None = None


def _measure_loss_of_kind_in_distance_bin(
    score: Score, texts: Sequence[RewordedItemScores], ends: tuple[float, float], seed: int
) -> DatasetKindScoreLossInBin:
    parts = [
        part for dataset in texts if (part := _measure_loss_in_distance_bin(score, dataset, ends, seed)) is not None
    ]
    n = sum(part.n for part in parts)
    if not n:
        return DatasetKindScoreLossInBin(0)
    weights = np.array([part.n / n for part in parts])
    losses = np.array([part.loss for part in parts])
    replicates = weights @ np.stack([part.replicates for part in parts if part.replicates is not None])
    return DatasetKindScoreLossInBin(n, float(weights @ losses), replicates)


def _measure_loss_in_distance_bin(
    score: Score, texts: RewordedItemScores, ends: tuple[float, float], seed: int
) -> DatasetKindScoreLossInBin | None:
    members = (texts.distance > ends[0]) & (texts.distance <= ends[1]) & ~np.isnan(texts.original)
    original = texts.original[members]
    runs = [run[members] for run in texts.runs]
    kept = [~np.isnan(run) for run in runs]
    if min((int(mask.sum()) for mask in kept), default=0) < FEWEST_TEXTS:
        return None
    gold = None if texts.gold is None else texts.gold[members]
    scored = partial(score_resamples, score, gold)
    after = [_score_kept_items(scored, run, mask) for run, mask in zip(runs, kept, strict=True)]
    before = [_score_kept_items(scored, original, mask) for mask in kept]
    loss = float(np.mean(before) - np.mean(after))
    if np.isnan(loss):
        return None
    # A stream of its own, so that bins and datasets vary independently.
    stream = int.from_bytes(draw_random_bytes(4, seed, "freshness", texts.name, f"{ends[0]:g}"))
    replicates = -resample_deltas(scored, original, runs, kept, stream)
    return DatasetKindScoreLossInBin(int(members.sum()), loss, replicates)


def _score_kept_items(scored: partial[Floats], values: Floats, kept: NDArray[np.bool_]) -> float:
    return float(scored(values, kept[None, :].astype(np.int64))[0])


def average_rewording_distances(
    plan: PtebPlan, task: str, dataset: PlannedDatasetToParaphrase, wordings: Sequence[Mapping[str, str]]
) -> dict[tuple[str, str], float]:
    """(language or "", item) -> how far its texts are reworded, the mean over texts and runs; `wordings` are those of
    each run by text. An item of which no text is reworded has none."""
    parts = plan.parts(dataset, task)
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for part in parts:
        lang = part.lang if len(parts) > 1 else ""
        for place, written in task_named(task).texts(part.data):
            known = [(written, run[written]) for run in wordings if written in run]
            for item in list_item_ids_of_text_place(place):
                pairs.setdefault((lang, item), []).extend(known)
    return {key: _average_edit_distance(own) for key, own in pairs.items() if own}


def _average_edit_distance(pairs: Sequence[tuple[str, str]]) -> float:
    return float(edit_distances([pair[0] for pair in pairs], [pair[1] for pair in pairs]).mean())


class FreshnessLossTableRow(NamedTuple):
    """The losses of a system on a task at one distance, or over all distances that both kinds have."""

    task: str
    system: str
    distance: str
    old: int
    fresh: int
    old_loss: float | None
    fresh_loss: float | None
    excess: Estimate | None
    reason: str
    beyond: Estimate | None = None


def make_freshness_tables(
    plan: PtebPlan,
    folder: RunFolder,
    sources: Sequence[ParaphraserWithPrompt],
    seeds: Seeds,
    records: Sequence[CellRecord],
) -> Iterator[ColumnTable]:
    """`pteb_fresh`: for every system and task that has datasets of both kinds, what each loses at equal distance."""
    names = find_fresh_datasets(plan)
    if not names:
        return
    lines = list(_list_freshness_rows(plan, folder, sources, seeds, records, names))
    yield ColumnTable.of(
        "pteb_fresh", "Loss in points on old and fresh texts at equal edit distance", lines, text("task"),
        text("system"), text("edit distance", "distance"), whole_number_column("old"),
        whole_number_column("fresh"),
        make_signed_points_column("old_loss"), make_signed_points_column("fresh_loss"),
        *(make_signed_points_column(name, f"excess.{end}") for name, end in EXCESS),
        *(make_signed_points_column(name, f"beyond.{end}") for name, end in BEYOND), text("reason"),
        note="Loss: original minus paraphrased score. Excess: loss on old minus loss on fresh texts. Beyond: an "
        f"embedding model's excess minus the mean excess of the run's untrained metrics. {LIMITS}",
    )  # fmt: skip


def find_fresh_datasets(plan: PtebPlan) -> frozenset[str]:
    """The datasets of the run that are said to be fresh. UsageError for one that is none of the run."""
    by_name = {dataset.name: dataset.name for dataset in plan.datasets}
    by_name |= {dataset.source: dataset.name for dataset in plan.datasets}
    for name in plan.request.fresh:
        if name not in by_name:
            raise UsageError(
                f"--fresh names {name!r}, which is not a dataset of this run.",
                mend=f"Its datasets are {', '.join(dataset.name for dataset in plan.datasets)}.",
            )
    return frozenset(by_name[name] for name in plan.request.fresh)


class DatasetParaphraseDistances(NamedTuple):
    """A dataset of a task: how far each of its items is reworded, and the variants of its runs."""

    dataset: str
    distances: Mapping[tuple[str, str], float]
    variants: Sequence[str]


def _list_freshness_rows(
    plan: PtebPlan,
    folder: RunFolder,
    sources: Sequence[ParaphraserWithPrompt],
    seeds: Seeds,
    records: Sequence[CellRecord],
    names: frozenset[str],
) -> Iterator[FreshnessLossTableRow]:
    done = {(record.task, record.dataset, record.system, record.variant) for record in records if record.done}
    kinds_of = {system.name: system.kind for system in plan.systems if system.kind != "reference"}
    for task, datasets in _measure_rewording_distance_by_task(plan, folder, sources, seeds).items():
        by_system: dict[str, ExcessLossOfOldTexts] = {}
        for system in kinds_of:
            kinds: dict[bool, list[RewordedItemScores]] = {False: [], True: []}
            for reworded in datasets:
                where = (task, reworded.dataset, system)
                if all((*where, variant) in done for variant in (ORIGINAL, *reworded.variants)):
                    kinds[reworded.dataset in names].append(_read_reworded_items(folder, where, reworded))
            old, fresh = kinds[False], kinds[True]
            if old and fresh:
                by_system[system] = measure_excess_loss_of_old(SCORES[task], old, fresh, seed=plan.request.seed)
        untrained = [excess for system, excess in by_system.items() if kinds_of[system] == "classical"]
        for system, excess in by_system.items():
            beyond = subtract_untrained_excess_loss(excess, untrained) if kinds_of[system] == "embedding" else None
            yield from _make_freshness_rows(task, system, excess, beyond)


def _measure_rewording_distance_by_task(
    plan: PtebPlan, folder: RunFolder, sources: Sequence[ParaphraserWithPrompt], seeds: Seeds
) -> dict[str, list[DatasetParaphraseDistances]]:
    """Measure how far the items of datasets are reworded, for each task with a score per text."""
    by_task: dict[str, list[DatasetParaphraseDistances]] = {}
    for task, dataset in list_tasks_scored_per_text(plan):
        distances = average_rewording_distances(
            plan, task, dataset, _read_wordings(folder, sources, seeds, dataset.name)
        )
        variants = [source.variant(seed) for source in sources for seed in seeds[source.name, dataset.name]]
        by_task.setdefault(task, []).append(DatasetParaphraseDistances(dataset.name, distances, variants))
    return by_task


def _read_wordings(
    folder: RunFolder, sources: Sequence[ParaphraserWithPrompt], seeds: Seeds, dataset: str
) -> list[dict[str, str]]:
    """The usable wordings of each run, by text."""
    paraphrases = ParaphraseSet.open_or_create_in_folder(folder.path / PARAPHRASES)
    runs = []
    for source in sources:
        for seed in seeds[source.name, dataset]:
            if paraphrases.has_all_wordings_of_run(source.name, dataset, seed):
                rows = paraphrases.rows(source.name, dataset, seed)
                runs.append({row.text: row.wording for row in rows if row.usable})
    return runs


def _read_reworded_items(
    folder: RunFolder, where: tuple[str, str, str], reworded: DatasetParaphraseDistances
) -> RewordedItemScores:
    """The items of a cell that are reworded, with their values."""
    measure, gold = VALUES[where[0]]
    original = read_item_values(folder, where, ORIGINAL, measure)
    # An item without any usable wording has no distance, and stands in no bin.
    keys = [key for key in original if key in reworded.distances]
    golds = read_item_values(folder, where, ORIGINAL, gold) if gold else None
    runs = (read_item_values(folder, where, variant, measure) for variant in reworded.variants)
    return RewordedItemScores(
        reworded.dataset,
        make_value_array_for_items(reworded.distances, keys),
        make_value_array_for_items(original, keys),
        tuple(make_value_array_for_items(run, keys) for run in runs),
        None if golds is None else make_value_array_for_items(golds, keys),
    )


def _make_freshness_rows(
    task: str, system: str, excess: ExcessLossOfOldTexts, beyond: Estimate | None
) -> Iterator[FreshnessLossTableRow]:
    for part in excess.bins:
        difference = None
        if part.replicates is not None and part.old_loss is not None and part.fresh_loss is not None:
            ends = percentile_interval(part.replicates)
            difference = Estimate(part.old_loss - part.fresh_loss, *ends, part.old + part.fresh, METHOD)
        yield FreshnessLossTableRow(
            task, system, part.label, part.old, part.fresh, part.old_loss, part.fresh_loss, difference, part.reason
        )  # fmt: skip
    old, fresh = (sum(getattr(part, side) for part in excess.bins) for side in ("old", "fresh"))
    yield FreshnessLossTableRow(task, system, "all", old, fresh, None, None, excess.difference, excess.reason, beyond)
