"""What follows from the cells of a run, originals alone or with wordings: rows, comparisons, tables and drops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.parquet import read_parquet
from embassay.protocols.kernel.comparisons import (
    ALPHA,
    CORRECTION,
    METHOD,
    REFERENCE,
    SystemHeadlineValue,
    SystemStanding,
    compare_headlines_of_all_systems,
)
from embassay.protocols.kernel.estimates import bootstrap_interval
from embassay.protocols.kernel.session import RunConclusions, map_systems_to_kinds
from embassay.protocols.kernel.tables import ColumnTable, text, whole_number_column
from embassay.protocols.pteb.drops import (
    SCORES,
    ScoresInLengthBin,
    average_item_words,
    score_original_and_runs_by_length,
    summarise_words_per_text_by_dataset,
)
from embassay.protocols.pteb.plan import ParaphraserWithPrompt, PtebPlan
from embassay.protocols.pteb.tables import PtebRunRowsAndComparisons, make_pteb_tables
from embassay.protocols.wordings.protocol import (
    PARAPHRASES,
    AdaptiveRunSeeds,
    PlannedDatasetToParaphrase,
    Seeds,
    make_standings_over_wordings,
    map_systems_to_method_groups,
)
from embassay.protocols.wordings.records import make_wording_quality_rows
from embassay.protocols.wordings.scores import (
    ORIGINAL,
    OVERALL,
    RunScoresAndDrops,
    SystemsOnTask,
    TaskInRun,
    WordingRunSetup,
    WordingSourceInRun,
    list_planned_systems_and_datasets,
    list_scopes_with_systems,
    make_mixed_model_drop_rows,
    make_original_row,
    make_score_and_drop_rows,
)
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.tables import make_points_column
from embassay.protocols.wordings.work import find_registered_task as task_named
from embassay.records import ResultRow, convert_nonfinite_to_none
from embassay.runs.folder import CellRecord, RunFolder, slugify_name
from embassay.stats import Estimate, hodges_lehmann, holm, kendall_tau, rank_quantiles, wilcoxon, win_probabilities

Floats = NDArray[np.float64]
RESAMPLES = 1_000
MOST = 5_000
"""Observations whose pairs are taken."""


def compare_systems_with_baseline(scores: RunScoresAndDrops, scope: SystemsOnTask) -> dict[str, Any]:
    """`d = PTEB(baseline) - PTEB(system)` on the same wordings, for every system of a scope but the baseline.

    A dict of `baseline`, `datasets`, `systems` and `reason` (why there is no comparison at all). Each of `systems` has
    its name, a `reason` where it lacks a score, and two analyses. `pooled` takes every dataset and run as one
    observation (table 7; runs share their data, so it is optimistic), `averaged` the mean over the runs of each dataset
    (table 14). Both have the Hodges-Lehmann `shift` (fraction, positive = baseline better), `ci_low`, `ci_high`
    (percentile bootstrap, 1,000 resamples; None for `averaged`, as in the paper), the `statistic`, `p` and `p_holm`
    (over the systems of the scope) of the Wilcoxon signed-rank test, `n`, and `method`, which test it was.
    """
    baseline = scores.layout.baseline_name
    empty = {"baseline": baseline, "datasets": [], "systems": []}
    if baseline not in scope.systems:
        ranked = any(system.name == baseline for system in scores.layout.ranked)
        why = "is evaluated by a different method" if ranked else "is not ranked"
        return {**empty, "reason": f"the baseline, {baseline}, {why}"}
    if len(scope.systems) < 2:
        return {**empty, "reason": "no other system to compare with"}
    if not (level := scores.in_scope(scope.task, baseline)).has_score:
        return {**empty, "reason": f"{baseline}: {level.score.reason}"}
    systems = [_test_difference_to_baseline(scores, scope, system) for system in scope.systems if system != baseline]
    for analysis in ("pooled", "averaged"):
        _correct_p_values([system[analysis] for system in systems if system[analysis] is not None])
    names = [dataset.name for _, dataset in scores.layout.list_scope_datasets(scope.task)]
    return {**empty, "datasets": names, "systems": systems, "reason": ""}


def _test_difference_to_baseline(scores: RunScoresAndDrops, scope: SystemsOnTask, system: str) -> dict[str, Any]:
    """Both analyses of one system, without the correction."""
    level = scores.in_scope(scope.task, system)
    if not level.has_score:
        return {"system": system, "pooled": None, "averaged": None, "reason": level.score.reason}
    pooled: list[Floats] = []
    averaged: list[float] = []
    for task, dataset in scores.layout.list_scope_datasets(scope.task):
        of_baseline, of_system = (
            scores.on_dataset(task, dataset.name, name).runs for name in (scores.layout.baseline_name, system)
        )
        differences = [a - b for a, b in zip(of_baseline, of_system, strict=True)]
        pooled += differences
        averaged.append(float(np.mean([runs.mean() for runs in differences])))
    d = np.concatenate(pooled)
    return {
        "system": system,
        "pooled": _test_and_estimate_shift(d, scores.layout.seed, interval=True) if len(d) <= MOST else None,
        "averaged": _test_and_estimate_shift(np.array(averaged), scores.layout.seed, interval=False),
        "reason": "" if len(d) <= MOST else f"{len(d)} observations are too many to pool",
    }


def _test_and_estimate_shift(d: Floats, seed: int, *, interval: bool) -> dict[str, Any]:
    test = wilcoxon(d)
    shift = Estimate(None)
    if interval and len(d) > 1:
        shift = hodges_lehmann(d, n_resamples=RESAMPLES, seed=seed)
    return {
        "shift": test.point,
        "ci_low": shift.low,
        "ci_high": shift.high,
        "statistic": test.statistic,
        "p": test.p,
        "p_holm": test.p,
        "n": len(d),
        "method": test.method,
    }


def _correct_p_values(analyses: list[dict[str, Any]]) -> None:
    """Holm's correction over the systems of a scope."""
    for analysis, adjusted in zip(analyses, holm([analysis["p"] for analysis in analyses]), strict=True):
        analysis["p_holm"] = adjusted


def measure_rank_stability_over_replicates(scores: RunScoresAndDrops, scope: SystemsOnTask) -> dict[str, Any]:
    """How stable the ranking of a scope is; systems without a score are left out, and two are needed (else `reason`).

    - `systems`, best PTEB score first; `original`, `pteb` their scores; `original_rank`, `rank` (1 = best; equal scores
      share the better rank); `rank_low`, `rank_high` the ranks between which 95% of the replicates lie.
    - `beats[a][b]`: the share of replicates in which system a scores above b (equal: half); None on the diagonal.
    - `tau_original` Kendall's tau-b of the original scores and the PTEB scores, with `tau_low`, `tau_high` from paired
      replicates; `tau_runs` the mean and `tau_runs_min` the lowest tau-b of two runs (of one source), None for one run;
      `tau_sources` and `tau_sources_min` the same of the scores of two sources, None for one source.
    """
    present = [system for system in scope.systems if scores.in_scope(scope.task, system).has_score]
    present = [system for system in present if scores.original(scope.task, system).value is not None]
    levels = sorted(
        (scores.in_scope(scope.task, system) for system in present),
        key=lambda level: (-(level.score.value or 0), level.system),
    )
    names = [level.system for level in levels]
    if len(names) < 2:
        return {"systems": names, "reason": "fewer than two systems with a value"}
    originals = [scores.original(scope.task, name) for name in names]
    values = np.array([level.score.value for level in levels], dtype=np.float64)
    before = np.array([original.value for original in originals], dtype=np.float64)
    draws = _stack_replicates([level.score.replicates for level in levels])
    tau_low, tau_high = _estimate_tau_interval(
        _stack_replicates([original.replicates for original in originals]), draws
    )
    runs = [level.runs for level in levels]
    return {
        "systems": names,
        "original": before.tolist(),
        "pteb": values.tolist(),
        "original_rank": _rank_values(before),
        "rank": _rank_values(values),
        **_estimate_rank_intervals(draws),
        "tau_original": convert_nonfinite_to_none(float(kendall_tau(before, values))),
        "tau_low": tau_low,
        "tau_high": tau_high,
        **_summarise_taus("tau_runs", _compute_taus_between_runs(runs)),
        **_summarise_taus("tau_sources", _compute_tau_of_every_two_orders(_average_scores_by_paraphrase_source(runs))),
        "reason": "",
    }


def _stack_replicates(rows: list[Floats]) -> Floats | None:
    """The replicates where all are defined, (systems, resamples); None where a system has none."""
    if not all(len(row) for row in rows):
        return None
    return np.stack(rows)


def _rank_values(values: Floats) -> list[int]:
    # Equal scores share the better rank.
    return [int(1 + (values > value).sum()) for value in values]


def _estimate_rank_intervals(draws: Floats | None) -> dict[str, Any]:
    """Rank intervals and probabilities to be above, from the replicates in which all systems are defined."""
    # One set of replicates for all systems: ranks of different draws could not be set side by side.
    defined = None if draws is None else draws[:, np.isfinite(draws).all(axis=0)]
    if defined is None or not defined.shape[1]:
        return {"rank_low": [], "rank_high": [], "beats": []}
    low, high = rank_quantiles(defined)
    beats: list[list[float | None]] = [list(row) for row in win_probabilities(defined).tolist()]
    for place, row in enumerate(beats):
        row[place] = None
    return {"rank_low": low.tolist(), "rank_high": high.tolist(), "beats": beats}


def _estimate_tau_interval(before: Floats | None, after: Floats | None) -> tuple[float | None, float | None]:
    if before is None or after is None or before.shape != after.shape:
        return None, None
    # A tau needs the value of every system, before and after.
    defined = np.isfinite(np.concatenate([before, after])).all(axis=0)
    taus = np.full(len(defined), np.nan)
    taus[defined] = kendall_tau(before[:, defined].T, after[:, defined].T)
    return bootstrap_interval(taus)


def _compute_taus_between_runs(runs: list[tuple[Floats, ...]]) -> list[float]:
    """Kendall's tau-b between every two runs of one source."""
    return [
        tau for of_source in zip(*runs, strict=True) for tau in _compute_tau_of_every_two_orders(np.stack(of_source).T)
    ]


def _average_scores_by_paraphrase_source(runs: list[tuple[Floats, ...]]) -> Floats:
    """The scores of the systems by source, (sources, systems)."""
    return np.array([[of_source.mean() for of_source in of_system] for of_system in runs]).T


def _compute_tau_of_every_two_orders(orders: Floats) -> list[float]:
    """Tau-b between every two rows of (orders, systems)."""
    return [float(kendall_tau(first, second)) for first, second in combinations(orders, 2)]


def _summarise_taus(name: str, taus: list[float]) -> dict[str, float | None]:
    """The mean and minimum of the defined taus."""
    defined = [tau for tau in taus if np.isfinite(tau)]
    mean = float(np.mean(defined)) if defined else None
    return {name: mean, f"{name}_min": min(defined, default=None)}


def make_pteb_summary_and_comparisons(
    layout: WordingRunSetup, records: Sequence[CellRecord]
) -> tuple[list[ResultRow], dict[str, Any]]:
    """The summary rows of a PTEB run, and what `comparisons.json` holds.

    `records` are the run's cells in any order, finished or failed; what is missing leads to rows without a value and
    with the reason. A cell of variant `original` has the component `score`; one of a paraphrase `score` and `original`,
    the latter on the items kept in that run. All values are fractions.

    Rows, protocol `pteb`, for every system (references too):

    - variant "": the task's headline = mean over runs of the paraphrased score; `delta` = mean over runs of paraphrased
      minus original, `original` the latter (both on the items that have a wording in the run); `sd` and `delta_sd` =
      sample standard deviations of the paraphrased score and of the drop over runs. Per dataset (there `delta_runs`,
      the drop with its interval over runs alone); over datasets (dataset ""; unweighted); over tasks (task and measure
      `overall`; unweighted). With several sources the mean over the sources, and the sd within a source. Of a dataset
      with several languages also each of them, in `subset`.
    - variant of a source's label (`by=NAME`), where there are several sources: the same of each source. Controls have
      these rows alone.
    - dataset "", variant `original`: the original score over datasets; `overall` likewise.
    - dataset "", variant "": `delta_mixed`, the drop with an interval for other datasets and runs, and what that comes
      from, `delta_sd:datasets`, `delta_sd:runs`, `delta_sd:residual`.

    The dict has `alpha`, `correction`, `method` and `scopes` as SAGE's, a scope being `overall` or a task, and beside
    it `NAME:classical` where systems without vectors were evaluated by another method; further `baseline` (spec 9:
    tables 7 and 14; `compare_systems_with_baseline`) and `rank_stability`, both by scope.
    """
    scores = RunScoresAndDrops(layout, records)
    every = list(list_scopes_with_systems(layout))
    comparisons = {
        "alpha": ALPHA,
        "correction": CORRECTION,
        "method": f"{METHOD}; PTEB score, with items and runs resampled",
        "scopes": {
            scope.name: compare_headlines_of_all_systems(
                [scores.in_scope(scope.task, system).score for system in scope.systems]
            )
            for scope in every
        },
        "baseline": {
            "system": layout.baseline_name,
            "scopes": {scope.name: compare_systems_with_baseline(scores, scope) for scope in every},
        },
        "rank_stability": {scope.name: measure_rank_stability_over_replicates(scores, scope) for scope in every},
    }
    return list(_iterate_result_rows_of_all_levels(scores)), comparisons


def make_pteb_standings(layout: WordingRunSetup, records: Sequence[CellRecord]) -> Iterator[SystemStanding]:
    """Every system's PTEB score: of each task on each dataset and over them, and overall, items and runs resampled.

    Systems without vectors, where they were scored by another method, are a group of their own.
    """
    scores = RunScoresAndDrops(layout, records)
    return make_standings_over_wordings(layout, scores, scores.scopes_with_headline)


def summarise_original_scores(
    layout: WordingRunSetup, records: Sequence[CellRecord]
) -> tuple[list[ResultRow], dict[str, Any], list[SystemStanding]]:
    """Of a run without paraphrases: the rows over datasets and tasks and of each dataset (variant ""), what
    `comparisons.json` holds, and the standings; all of the scores on the texts as they are."""
    scores = RunScoresAndDrops(layout, records)
    every = list(list_scopes_with_systems(layout))
    compare = {
        scope.name: compare_headlines_of_all_systems([scores.original(scope.task, system) for system in scope.systems])
        for scope in every
    }
    comparisons = {"alpha": ALPHA, "correction": CORRECTION, "method": METHOD, "scopes": compare}
    group = map_systems_to_method_groups(layout)
    standing = [
        SystemStanding(task, dataset, headline, mean, group.get((task, system.name), REFERENCE))
        for task, headline in scores.scopes_with_headline
        for system in layout.systems
        for dataset, mean in _list_original_scores(scores, task, system.name)
    ]
    langs = {dataset.name: dataset.lang for dataset in layout.datasets}
    rows = [
        replace(
            make_original_row(layout, part.task, part.measure, part.headline),
            dataset=part.dataset, lang=langs.get(part.dataset, ""), variant="",
        )
        for part in standing
    ]  # fmt: skip
    return rows, comparisons, standing


def _list_original_scores(
    scores: RunScoresAndDrops, task: str, system: str
) -> Iterator[tuple[str, SystemHeadlineValue]]:
    """The original score on each dataset of a task (or overall, on none), then over them."""
    for dataset in () if task == OVERALL else scores.layout.list_task_datasets(task):
        yield dataset.name, scores.find_original_score_on_dataset(task, dataset.name, system)
    yield "", scores.original(task, system)


def _iterate_result_rows_of_all_levels(scores: RunScoresAndDrops) -> Iterator[ResultRow]:
    layout = scores.layout
    for task in layout.tasks:
        for dataset in layout.list_task_datasets(task.name):
            languages = scores.cells.languages(task.name, dataset.name)
            for system in layout.systems:
                for label in scores.labels:
                    level = scores.on_dataset(task.name, dataset.name, system.name, label)
                    yield from make_score_and_drop_rows(layout, task.name, task.headline, level, label, dataset)
                for lang in languages:
                    level = scores.on_dataset(task.name, dataset.name, system.name, lang=lang)
                    yield from make_score_and_drop_rows(layout, task.name, task.headline, level, "", dataset, lang)
    for name, headline in scores.scopes_with_headline:
        for system in layout.systems:
            for label in scores.labels:
                level = scores.in_scope(name, system.name, label)
                yield from make_score_and_drop_rows(layout, name, headline, level, label)
            yield make_original_row(layout, name, headline, scores.original(name, system.name))
            yield from make_mixed_model_drop_rows(scores, name, system.name)


def conclude_run(
    plan: PtebPlan,
    folder: RunFolder,
    sources: Sequence[ParaphraserWithPrompt],
    seeds: Seeds,
    records: Sequence[CellRecord],
    rows: Sequence[ResultRow],
) -> RunConclusions:
    """Draw the conclusions of a run: summary rows, comparisons of systems and all tables."""
    layout = collect_run_systems_and_seeds(plan, sources, seeds)
    summary, comparisons = make_pteb_summary_and_comparisons(layout, records)
    quality = list(_make_paraphrase_quality_rows(plan, folder, sources, seeds))
    every = [*rows, *quality, *summary]
    given = PtebRunRowsAndComparisons(
        every,
        map_systems_to_kinds(plan),
        comparisons,
        words=summarise_words_per_text_by_dataset(_list_texts_to_paraphrase(plan)),
        lengths=bin_drops_by_length(plan, folder, sources, seeds, records),
        seconds=_average_sts_run_seconds(records),
        peaks=_find_sts_memory_peaks(records),
        suites=_find_paper_suites(plan),
    )
    headlines = tuple(make_pteb_standings(layout, records))
    return RunConclusions([*quality, *summary], comparisons, tuple(make_pteb_tables(given)), headlines)


def _find_paper_suites(plan: PtebPlan) -> dict[str, frozenset[str]]:
    """The paper's suites among those of the run, with their datasets."""
    papers = ("pteb-sts", "pteb-en", "pteb-multi")
    members = {name: names for suite in plan.suites for name, names in suite.within.items() if name in papers}
    return {name: frozenset(names) for name, names in members.items()}


def conclude_run_of_originals(plan: PtebPlan, records: Sequence[CellRecord]) -> RunConclusions:
    """That of a run without paraphrases: scores, intervals and ranks, and one table of them."""
    rows, comparisons, standing = summarise_original_scores(collect_run_systems_and_seeds(plan, (), {}), records)
    kind = map_systems_to_kinds(plan)
    table = ColumnTable.of(
        "scores", "Scores on the original texts, x 100, with 95% intervals", rows, text("task"),
        text("dataset", lambda row: row.dataset or "all"), text("kind", lambda row: kind[row.system]), text("system"),
        make_points_column("orig", "value"), make_points_column("low", "ci_low"),
        make_points_column("high", "ci_high"), whole_number_column("n"),
        text("method"), text("reason"),
    )  # fmt: skip
    return RunConclusions(rows, comparisons, (table,), tuple(standing))


def build_paraphrasing_record(
    folder: RunFolder,
    sources: Sequence[ParaphraserWithPrompt],
    growth: AdaptiveRunSeeds,
    datasets: Sequence[PlannedDatasetToParaphrase],
) -> dict[str, Any]:
    """Who wrote the wordings, with which seeds, and what became of the texts; why datasets got no more runs, where a
    stored set was written for other data."""
    paraphrases = ParaphraseSet.open_or_create_in_folder(folder.path / PARAPHRASES)
    return {
        "folder": PARAPHRASES,
        "stopped": dict(growth.stopped),
        "warnings": [
            mismatch for source in sources for mismatch in _list_paraphraser_data_mismatches(source, datasets)
        ],
        "sources": [
            {
                "name": source.name,
                "label": source.label,
                "paraphraser": source.paraphraser.name,
                "identity": source.paraphraser.identity,
                **_build_paraphraser_prompt_record(paraphrases, source),
                "slug": slugify_name(source.name),
                "seeds": {of[1]: list(seeds) for of, seeds in growth.seeds.items() if of[0] == source.name},
                "outcomes": paraphrases.count_outcomes_by_dataset_and_seed(source.name)
                if source.name in paraphrases.sources
                else {},
            }
            for source in sources
        ],
    }


def _list_paraphraser_data_mismatches(
    source: ParaphraserWithPrompt, datasets: Sequence[PlannedDatasetToParaphrase]
) -> list[str]:
    compare = getattr(source.paraphraser, "describe_data_mismatches", None)
    return compare({dataset.name: dataset.fingerprint for dataset in datasets}) if compare is not None else []


def _build_paraphraser_prompt_record(paraphrases: ParaphraseSet, source: ParaphraserWithPrompt) -> dict[str, Any]:
    """What a model was told (None where none was asked), and what is known of it: its name at its server, licence,
    sampling."""
    kept = paraphrases.sources.get(source.name)
    return {"prompt": None, "about": {}} if kept is None else {"prompt": kept.prompt, "about": dict(kept.about)}


def _make_paraphrase_quality_rows(
    plan: PtebPlan, folder: RunFolder, sources: Sequence[ParaphraserWithPrompt], seeds: Seeds
) -> list[ResultRow]:
    paraphrases = ParaphraseSet.open_or_create_in_folder(folder.path / PARAPHRASES)
    results: list[ResultRow] = []
    for source in sources:
        for dataset in plan.datasets:
            for seed in seeds[source.name, dataset.name]:
                if paraphrases.has_all_wordings_of_run(source.name, dataset.name, seed):
                    rows = paraphrases.rows(source.name, dataset.name, seed)
                    name, variant = source.paraphraser.name, source.variant(seed)
                    results += make_wording_quality_rows(
                        rows, dataset=dataset.name, system=name, variant=variant, seed=seed
                    )
    return results


def _list_texts_to_paraphrase(plan: PtebPlan) -> dict[str, list[str]]:
    """Every dataset's texts that are paraphrased, as often as they stand in its first task."""
    return {
        dataset.name: [
            text
            for part in plan.parts(dataset, dataset.tasks[0].task)
            for _, text in task_named(dataset.tasks[0].task).texts(part.data)
        ]
        for dataset in plan.datasets
    }


def _average_sts_run_seconds(records: Sequence[CellRecord]) -> dict[str, float]:
    """How long each system took for one run of the STS datasets (table 8): the mean over the runs, of each summed."""
    by_system: dict[str, dict[str, list[float]]] = {}
    for record in records:
        if record.task == "sts" and record.done and record.variant != "original":
            by_system.setdefault(record.system, {}).setdefault(record.dataset, []).append(record.seconds)
    return {
        system: sum(sum(times) / len(times) for times in by_dataset.values())
        for system, by_dataset in by_system.items()
    }


def _find_sts_memory_peaks(records: Sequence[CellRecord]) -> dict[str, int]:
    """The most memory that a process held while it did an STS cell of each system."""
    peaks: dict[str, int] = {}
    for record in records:
        if record.task == "sts" and record.peak_bytes is not None:
            peaks[record.system] = max(record.peak_bytes, peaks.get(record.system, 0))
    return peaks


def collect_run_systems_and_seeds(
    plan: PtebPlan, sources: Sequence[ParaphraserWithPrompt], seeds: Mapping[tuple[str, str], tuple[int, ...]]
) -> WordingRunSetup:
    """The systems, datasets, tasks and sources of a plan, with the seeds of the runs so far."""
    request = plan.request
    return WordingRunSetup(
        *list_planned_systems_and_datasets(plan),
        tuple(TaskInRun(name, task_named(name).headline, task_named(name).vectors) for name in plan.tasks),
        tuple(
            WordingSourceInRun(
                source.label, {dataset.name: seeds[source.name, dataset.name] for dataset in plan.datasets},
                control=source.is_control,
            )
            for source in sources
        ),
        request.baseline,
        request.seed,
        request.options.resamples
    )  # fmt: skip


VALUES = {
    "sts": ("similarity", "gold"),
    "pair_classification": ("similarity", "gold"),
    "summarization": ("similarity", "gold"),
    "classification": ("correct", ""),
    "reranking": ("ap", ""),
    "retrieval": ("ndcg@10", ""),
}
"""Task -> the item measure that is compared, and the gold beside it."""


def bin_drops_by_length(
    plan: PtebPlan,
    folder: RunFolder,
    sources: Sequence[ParaphraserWithPrompt],
    seeds: Seeds,
    records: Sequence[CellRecord],
) -> dict[tuple[str, str, str], Sequence[ScoresInLengthBin]]:
    """(task, dataset, system) -> the bins, for systems whose cells are all done; references are left out."""
    done = {(record.task, record.dataset, record.system, record.variant) for record in records if record.done}
    by_place: dict[tuple[str, str, str], Sequence[ScoresInLengthBin]] = {}
    for name, dataset in list_tasks_scored_per_text(plan):
        variants = [source.variant(seed) for source in sources for seed in seeds[source.name, dataset.name]]
        words = _average_words_per_item(plan, name, dataset)
        for system in plan.systems:
            where = (name, dataset.name, system.name)
            if system.kind == "reference" or not all((*where, variant) in done for variant in (ORIGINAL, *variants)):
                continue
            if (bins := _bin_items_by_length(folder, where, variants, words)) is not None:
                by_place[where] = bins
    return by_place


def list_tasks_scored_per_text(plan: PtebPlan) -> Iterator[tuple[str, PlannedDatasetToParaphrase]]:
    """Every task with a score per text, and its datasets."""
    for dataset in plan.datasets:
        for task in dataset.tasks:
            if task.task in SCORES:
                yield task.task, dataset


def _average_words_per_item(
    plan: PtebPlan, name: str, dataset: PlannedDatasetToParaphrase
) -> dict[tuple[str, str], float]:
    """(language or "", item) -> the mean number of words of the texts it is scored by."""
    parts = plan.parts(dataset, name)
    texts: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        lang = part.lang if len(parts) > 1 else ""
        for place, written in task_named(name).texts(part.data):
            for item in list_item_ids_of_text_place(place):
                texts.setdefault((lang, item), []).append(written)
    return dict(zip(texts, average_item_words(list(texts.values())).tolist(), strict=True))


def list_item_ids_of_text_place(place: str) -> tuple[str, ...]:
    """The items whose score a text may be part of: `summary:D:3` is the item `D:3`, `query:Q:0` the item `Q`."""
    item = place.partition(":")[2]
    # An id may hold a colon itself: both readings are tried, and only the true one is an item.
    return (item, item.rpartition(":")[0]) if ":" in item else (item,)


def _bin_items_by_length(
    folder: RunFolder, where: tuple[str, str, str], variants: Sequence[str], words: Any
) -> tuple[ScoresInLengthBin, ...] | None:
    measure, gold = VALUES[where[0]]
    original = read_item_values(folder, where, ORIGINAL, measure)
    # Items that the data no longer have the words of cannot be put into a bin.
    keys = [key for key in original if key in words]
    if not keys:
        return None
    runs = [read_item_values(folder, where, variant, measure) for variant in variants]
    golds = read_item_values(folder, where, ORIGINAL, gold) if gold else None
    return score_original_and_runs_by_length(
        SCORES[where[0]],
        np.array([words[key] for key in keys]),
        make_value_array_for_items(original, keys),
        [make_value_array_for_items(run, keys) for run in runs],
        make_value_array_for_items(golds, keys) if golds is not None else None,
    )


def read_item_values(
    folder: RunFolder, where: tuple[str, str, str], variant: str, measure: str
) -> dict[tuple[str, str], float]:
    """(language or "", item) -> its value of a measure, NaN where there is none."""
    import polars as pl

    table = read_parquet(folder.locate_cell_items(*where, variant=variant)).filter(pl.col("measure") == measure)
    keys = zip(table["variant"], table["item_id"], strict=True)
    return {key: float("nan") if value is None else value for key, value in zip(keys, table["value"], strict=True)}


def make_value_array_for_items(values: Mapping[tuple[str, str], float], keys: Sequence[tuple[str, str]]) -> Floats:
    """The values of these items, (n,), NaN where there is none."""
    return np.array([values.get(key, np.nan) for key in keys], dtype=np.float64)
