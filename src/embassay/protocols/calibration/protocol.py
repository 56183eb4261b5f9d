"""Calibration as a declaration: one task over labelled or graded pairs, and a file per system and dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.errors import DataError
from embassay.protocols.calibration.options import CalibrationOptions, ThresholdPromises
from embassay.protocols.calibration.probability import (
    CORPUS,
    Calibration,
    SamenessProbabilityCurve,
    explain_too_few_labels,
    fit_calibration_curve,
    read_pair_scores_from_cell,
    sample_reference_features,
)
from embassay.protocols.calibration.slices import (
    DAMAGED,
    EDITED,
    PairsWithSliceColumns,
    make_pairs_loader,
    mark_pairs_of_same_meaning,
    measure_probability_gaps,
)
from embassay.protocols.kernel import evaluation
from embassay.protocols.kernel.estimates import Estimate, Statistic, bootstrap_column_statistics, make_undefined_score
from embassay.protocols.kernel.evaluation import Fields, Task, TaskProtocol
from embassay.protocols.kernel.groups import map_items_to_group_leader
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import Plan, PlannedSystem
from embassay.protocols.kernel.session import CellRunAttempt, SilentListener
from embassay.protocols.kernel.tables import Column, ColumnTable, RunTable, number_column, text, whole_number_column
from embassay.protocols.tasks.task import make_pair_similarities_and_items, make_task_outcome
from embassay.randomness import make_seeded_generator
from embassay.records import LoadedDataset, ResultRow, Score, TaskOutcome
from embassay.registry import Registry
from embassay.runs.execution import Workers
from embassay.runs.folder import RunFolder, slugify_name
from embassay.stats.calibration import (
    AcceptanceThreshold,
    CalibrationCurveChoice,
    CheapestThreshold,
    bin_pairs_by_probability,
    compute_calibration_error,
    compute_clopper_pearson,
    compute_log_losses,
    count_fewest_pairs_to_accept,
)
from embassay.stats.intervals import wilson

HEADLINE = "skill"
CHANCE, HALF = "chance_of_threshold", "half_interval"
"""What more labels would achieve: the chance that the threshold can be promised, and half of a probability's
interval."""
GIVEN = "chance_given"
"""How often labels like these give a threshold at all."""
TWENTIETHS = 20
"""Points of a curve of precision and recall."""

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class CalibrationContext(evaluation.TaskContext):
    """The context of a task, with the options of a calibration."""

    options: CalibrationOptions = field(default_factory=CalibrationOptions)


def fit_system_on_pairs(system: Similarity, data: PairsWithSliceColumns, context: CalibrationContext) -> TaskOutcome:
    """Fit one system on the pairs; items are each pair's `similarity`, `same` and held-out `probability`."""
    same = mark_pairs_of_same_meaning(data, context.options.same_from)
    similar, lost, items = make_pair_similarities_and_items(system, data.pairs, same, "same")
    if lost.too_many_lost_reason:
        return lost.make_task_outcome_without_score(HEADLINE, items)
    kept = np.flatnonzero(~lost.lost_mask)
    n, counts = len(kept), {"pairs": len(kept)}
    groups = _renumber_groups(context.number_item_groups(data.ids), kept)
    if reason := explain_too_few_labels(same[kept]) or _explain_too_few_independent_pairs(same[kept], groups):
        return make_task_outcome(HEADLINE, reason, items, n=n, skipped=lost.skipped, counts=counts)
    curve, chosen = fit_sameness_probability_curve(similar[kept], same[kept], groups, context)
    held = np.full(len(data), np.nan)
    held[kept] = chosen.held_out
    items.add(data.ids, held, "probability")
    measured = score_heldout_probabilities(held[kept], same[kept], groups, context)
    scores = [
        *make_score_rows_of_calibration(similar[kept], same[kept], held[kept], curve, measured),
        *measure_probability_gaps(system, data, held, same, kept, curve, context),
    ]
    warnings = tuple(_list_pair_warnings(data, n, curve.units, context.options.same_from))
    return make_task_outcome(
        HEADLINE, measured[HEADLINE], items, n=n, scores=scores, skipped=lost.skipped, warnings=warnings, counts=counts
    )


def _explain_too_few_independent_pairs(same: Mask, groups: NDArray[np.int64] | None) -> str:
    """Why pairs that share texts are too few; empty where they aren't."""
    if groups is None:
        return ""
    kinds = np.unique(np.column_stack([groups, same]), axis=0)[:, 1] == 1
    reason = explain_too_few_labels(kinds)
    return f"if pairs that share a text count once, {reason}" if reason else ""


def _list_pair_warnings(data: PairsWithSliceColumns, n: int, units: int, same_from: float | None) -> Iterator[str]:
    if units < n:
        yield f"pairs that share a text count as one: {n:,} pairs form {units:,} groups, on which guarantees are based"
    if same_from is not None and not data.is_graded:
        yield f"pairs have labels, not grades, so --same-from {same_from:g} has no effect"


def fit_sameness_probability_curve(
    similar: Values, same: Mask, groups: NDArray[np.int64] | None, context: Any
) -> tuple[SamenessProbabilityCurve, CalibrationCurveChoice]:
    """Fit the curve of a cell's pairs, the same whenever it is made."""
    # As bytes, since the cache wants arguments that can be hashed.
    tied = None if groups is None else groups.astype(np.int64).tobytes()
    scores = similar.astype(np.float64).tobytes()
    return _fit_dataset_curve(
        scores, same.tobytes(), tied, context.options.threshold_promises, context.seed, context.dataset
    )


@lru_cache(maxsize=16)
def _fit_dataset_curve(
    scores: bytes, same: bytes, groups: bytes | None, promises: ThresholdPromises, seed: int, dataset: str
) -> tuple[SamenessProbabilityCurve, CalibrationCurveChoice]:
    tied = None if groups is None else np.frombuffer(groups, dtype=np.int64)
    rng = make_seeded_generator(seed, "bootstrap", dataset, "calibration")
    return fit_calibration_curve(np.frombuffer(scores), np.frombuffer(same, dtype=np.bool_), tied, promises, rng)


def _renumber_groups(groups: NDArray[np.int64] | None, kept: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Renumber the groups of the rows that are kept, from 0 on."""
    if groups is None:
        return None
    _, numbers = np.unique(groups[kept], return_inverse=True)
    # Groups of one pair each tie nothing together.
    return numbers if len(np.unique(numbers)) < len(kept) else None


def score_heldout_probabilities(
    held: Values, same: Mask, groups: NDArray[np.int64] | None, context: CalibrationContext, noun: str = "pairs"
) -> dict[str, Estimate]:
    """What is measured of held-out probabilities (n,): log loss, Brier score, the share that is the same, and as skill
    the share of the uncertainty that similarity takes away, 1 less log loss over that of the base rate."""
    base = np.full(len(same), same.mean())
    columns = np.column_stack([
        compute_log_losses(held, same), compute_log_losses(base, same), (held - same) ** 2, same.astype(float)
    ])  # fmt: skip
    of: dict[str, Statistic] = {
        HEADLINE: lambda means: 1 - means[..., 0] / means[..., 1], "log_loss": lambda means: means[..., 0],
        "brier": lambda means: means[..., 2], "share_same": lambda means: means[..., 3]
    }  # fmt: skip
    return bootstrap_column_statistics(columns, of, context, noun, f"bootstrap over {noun}", groups=groups)


def make_score_rows_of_calibration(
    similar: Values,
    same: Mask,
    held: Values,
    curve: SamenessProbabilityCurve,
    found: Mapping[str, Estimate],
    noun: str = "pairs",
) -> Iterator[Score]:
    """What was `found` of held-out probabilities (n,) besides skill, the thresholds of the curve with what they promise
    or cost, and the precision and recall of all."""
    yield from (estimate.score(name) for name, estimate in found.items() if name != HEADLINE)
    method = "10 bins of equal size, held out; biased upward by chance"
    yield Score("calibration_error", compute_calibration_error(held, same), len(same), method=method)
    for place, cut in enumerate(bin_pairs_by_probability(held, same), 1):
        tenth = f"tenth {place}"
        yield Score("foretold", cut.foretold, cut.n, subset=tenth, method="mean held-out probability")
        yield Score("came_true", cut.came, cut.n, cut.low, cut.high, subset=tenth, method="exact binomial")
    yield from (row for threshold in curve.thresholds for row in _list_threshold_promise_scores(threshold, noun))
    yield from _list_mistake_cost_scores(curve.cost)
    yield from _list_precision_recall_by_share(similar, same)


def _list_threshold_promise_scores(threshold: AcceptanceThreshold, noun: str) -> Iterator[Score]:
    """The threshold, and what the sample has above it: the promised share is at least what was asked."""
    promise = f"{threshold.measure} at least {threshold.aim:g} with {threshold.confidence:.0%} confidence"
    method = f"{promise}, exact binomial"
    if threshold.value is None:
        yield make_undefined_score(
            "threshold",
            threshold.n,
            explain_missing_threshold(threshold, noun),
            variant=threshold.measure,
            method=method,
        )
        for step in threshold.ahead:
            n, where = threshold.n + step.more, f"{step.more:,} more labels"
            by = "by the smooth curve through these labels"
            for name, value in ((CHANCE, step.chance), (HALF, step.half)):
                yield Score(name, value, n, variant=threshold.measure, subset=where, method=by)
        return
    yield Score("threshold", threshold.value, threshold.n, variant=threshold.measure, method=method)
    if threshold.chance is not None:
        by = "share of simulated label samples that yield a threshold, from the smooth curve through these labels"
        yield Score(GIVEN, threshold.chance, threshold.n, variant=threshold.measure, method=by)
    for name, hits, of in (
        ("precision", threshold.right, threshold.accepted),
        ("recall", threshold.right, threshold.positives),
    ):
        estimate = wilson(hits / of, of)
        sample = "Wilson, in the sample used to choose the threshold"
        yield Score(
            f"sample_{name}", hits / of, of, estimate.low, estimate.high, variant=threshold.measure, method=sample
        )


def explain_missing_threshold(threshold: AcceptanceThreshold, noun: str = "pairs") -> str:
    """Why there is no threshold, and how many labels would do."""
    labelled = f"{threshold.n:,} labels are not enough"
    if threshold.is_threshold_withheld_as_lucky:
        given = f"{threshold.chance:.0%} of such samples yield a threshold, so a threshold found here could be luck"
        labelled = f"{labelled} ({given})"
    if threshold.labels is not None:
        more = threshold.labels - threshold.n
        # To two significant digits.
        return f"{labelled}: about {round(more, 2 - len(str(more))):,} more are needed"
    if threshold.best is None or threshold.most is None:
        return labelled
    count = count_fewest_pairs_to_accept(threshold.n, threshold.aim, threshold.confidence)
    top = f"the {count:,} {'most similar' if noun == 'pairs' else 'highest'} {noun} reach {threshold.best:.2f}"
    if threshold.most >= threshold.aim:
        return f"{labelled}, and it is unclear how many would be enough: {top}, at most {threshold.most:.2f}"
    return f"no number of labels would be enough: {top}"


def _list_mistake_cost_scores(cost: CheapestThreshold | None) -> Iterator[Score]:
    """What mistakes cost at the cheapest threshold, and by accepting all or nothing, per pair of the other half."""
    if cost is None:
        return
    method = f"chosen on one half, measured on the other; wrong {cost.wrong:g}, missed {cost.missed:g}"
    nothing = "" if cost.value is not None else "accepting nothing is cheapest"
    yield Score("threshold", cost.value, cost.n, variant="cost", method=method, reason=nothing)
    yield Score("cost", cost.mean, cost.n, None, cost.most, variant="cost", method=method)
    for name, value in (("all", cost.always), ("nothing", cost.never)):
        yield Score("cost", value, cost.n, variant=f"accept {name}", method=method)


def _list_precision_recall_by_share(similar: Values, same: Mask) -> Iterator[Score]:
    """Precision with its exact interval, and recall, where a twentieth, two, three ... of the labels are accepted; at
    each alone, with no promise."""
    order = np.argsort(-similar, kind="stable")
    ranked, right = similar[order], np.cumsum(same[order])
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    for step in range(1, TWENTIETHS + 1):
        # Of equal scores all are accepted or none.
        end = int(last[np.searchsorted(last, len(ranked) * step // TWENTIETHS - 1)]) + 1
        hits, where = int(right[end - 1]), f"{step} of {TWENTIETHS}"
        low, high = compute_clopper_pearson(hits, end, 0.95)
        sample = "exact binomial, in the sample"
        yield Score("precision", hits / end, end, low, high, subset=where, method=sample)
        yield Score("recall", hits / int(right[-1]), int(right[-1]), subset=where, method="in the sample")


def pairs() -> Task:
    """How likely do two texts mean the same, given their similarity?"""
    return _make_pairs_task(("labelled_pairs", "pairs"))


def make_graded_pairs_task() -> Task:
    """The same of a dataset's grades, where it has both labels and grades."""
    return _make_pairs_task(("pairs", "labelled_pairs"))


def _make_pairs_task(shapes: tuple[str, ...]) -> Task:
    def collect_text_fields(data: PairsWithSliceColumns) -> Fields:
        return {"text": (data.ids, data.first), "text2": (data.ids, data.second)}

    return Task(
        "pairs", "Pairs", shapes, HEADLINE, 2, fit_system_on_pairs, make_pairs_loader(shapes), collect_text_fields
    )


TASKS: Registry[Task] = Registry("task", makes=[("name", "headline")])
TASKS.add("pairs", "embassay.protocols.calibration.protocol:pairs", "the probability that two texts mean the same")
GRADED: Registry[Task] = Registry("task", makes=[("name", "headline")])
GRADED.add(
    "pairs",
    "embassay.protocols.calibration.protocol:make_graded_pairs_task",
    "the probability that two graded texts mean the same",
)


class CalibrationProtocol(TaskProtocol):
    """The protocol of what a similarity means: skill, thresholds and probability."""

    name = "calibration"
    version = 6
    tasks = TASKS
    paper = ("pairs",)
    context = CalibrationContext
    options = CalibrationOptions
    pair_corpus = CORPUS
    bounds: ClassVar = (-1.0, 1.0)

    def make_task_context(self, loaded: LoadedDataset[Any], *arguments: Any, **more: Any) -> Any:
        """Make the context of a task, with the groups of pairs that share a text."""
        context = super().make_task_context(loaded, *arguments, **more)
        return replace(context, groups=map_items_to_group_leader(loaded.data.pairs))

    def texts(self, task: Task, data: PairsWithSliceColumns, options: CalibrationOptions) -> int:
        """Count the texts that a system sees, edited ones too; refuse grades without a cut."""
        mark_pairs_of_same_meaning(data, options.same_from)
        edited = min(EDITED, len(data)) * len(DAMAGED) if options.edits else 0
        return super().texts(task, data, options) + edited

    def run_cells(self, session: CellRunAttempt, listener: SilentListener) -> None:
        """Run the cells, and write a calibration file for each that is done."""
        session.do(listener)
        for system in session.plan.systems:
            for dataset in session.plan.datasets:
                calibration = self._make_calibration(session.plan, system, dataset.name, dataset.source)
                if calibration is not None:
                    calibration.save(self.find_calibration_file(system.name, dataset.name))

    def find_calibration_file(self, system: str, dataset: str) -> Path:
        """Find the file of a system's calibration on a dataset."""
        return self.folder.path / "calibrations" / f"{slugify_name(system)}--{slugify_name(dataset)}.json"

    def _make_calibration(self, plan: Plan, system: PlannedSystem, dataset: str, source: str) -> Calibration | None:
        request = plan.request
        values = read_pair_scores_from_cell(self.folder.locate_cell_items("pairs", dataset, system.name))
        if values is None:
            return None
        loaded = self.load_task_data(request, source, "pairs")
        context = self.make_task_context(loaded, None, request.seed, request.options)
        groups = _renumber_groups(context.number_item_groups(values.ids), np.arange(len(values.ids)))
        curve, _ = fit_sameness_probability_curve(values.similar, values.same, groups, context)
        rows = {key: row for row, key in enumerate(loaded.data.ids)}
        texts = tuple([column[rows[key]] for key in values.ids] for column in (loaded.data.first, loaded.data.second))
        rng = make_seeded_generator(request.seed, "reference", dataset)
        reference = sample_reference_features(values.similar, (texts[0], texts[1]), groups, rng)
        return Calibration(
            system.name, system.spec, system.identity, dataset, loaded.fingerprint, request.tokenizer, request.seed,
            request.options.same_from, curve, reference
        )  # fmt: skip

    @classmethod
    def of(cls, options: CalibrationOptions) -> CalibrationProtocol:
        """Make the protocol for these options: a cut asks for grades where there are labels as well."""
        return cls() if options.same_from is None else GradedCalibrationProtocol()

    def format_python_call(self, request: Any, out: Path) -> str:
        """The call from Python that makes the run, for its manifest."""
        return f"embassay.calibrate({list(request.systems)!r}, datasets={list(request.datasets)!r}, out={str(out)!r})"

    def tables(self, plan: Plan, rows: Sequence[ResultRow]) -> Iterator[RunTable]:
        """Make the tables of thresholds, and of where the probability stops holding."""
        yield from super().tables(plan, rows)
        yield make_threshold_promises_table(rows)
        yield from make_lowest_mistake_cost_table(rows)
        yield from make_more_labels_table(rows)
        yield make_calibration_gap_table(rows)


class GradedCalibrationProtocol(CalibrationProtocol):
    """The calibration protocol for grades, which a cut makes labels of."""

    tasks = GRADED


def make_threshold_promises_table(rows: Sequence[ResultRow]) -> ColumnTable:
    """Make the table of every promise: the threshold to accept from, and what the sample has."""
    cells: dict[tuple[str, str, str], dict[str, ResultRow]] = {}
    for row in rows:
        if row.variant in ("precision", "recall"):
            cells.setdefault((row.system, row.dataset, row.variant), {})[row.measure] = row
    return ColumnTable.of(
        "calibration_thresholds", "Thresholds with a guarantee", cells.values(), text("system", "threshold.system"),
        text("dataset", "threshold.dataset"),
        text("promise", lambda cell: cell["threshold"].method.partition(",")[0]),
        number_column("accept from", "threshold.value", 3),
        number_column("precision seen", "sample_precision.value", 3),
        number_column("recall seen", "sample_recall.value", 3), text("why not", "threshold.reason"),
        note=("The guarantee holds for pairs like these; the observed values are from the sample used to choose the "
            "threshold.")
    )  # fmt: skip


def make_lowest_mistake_cost_table(rows: Sequence[ResultRow]) -> Iterator[ColumnTable]:
    """Make the table of where mistakes cost least; none where no cost was asked for."""
    cells: dict[tuple[str, str], dict[str, ResultRow]] = {}
    for row in rows:
        if row.measure == "cost" or (row.measure, row.variant) == ("threshold", "cost"):
            name = row.variant if row.measure == "cost" else "threshold"
            cells.setdefault((row.system, row.dataset), {})[name] = row
    if cells:
        yield ColumnTable.of(
            "calibration_costs", "Where mistakes cost least", cells.values(), text("system", "cost.system"),
            text("dataset", "cost.dataset"), text("costs", lambda cell: cell["cost"].method.partition("; ")[2]),
            number_column("accept from", "threshold.value", 3), number_column("cost", "cost.value", 3),
            number_column("at most", "cost.ci_high", 3),
            number_column("accepting all", "accept all.value", 3),
            number_column("accepting nothing", "accept nothing.value", 3),
            whole_number_column("labels", "cost.n"),
            text("why not", "threshold.reason"),
            note="The threshold is chosen on half of the labels; costs are per label of the other half."
        )  # fmt: skip


def make_more_labels_table(rows: Sequence[ResultRow]) -> Iterator[ColumnTable]:
    """Make the table of what more labels would achieve for the promises that lack them."""
    place = attrgetter("system", "dataset", "variant", "subset")
    halves = {place(row): row.value for row in rows if row.measure == HALF}
    chances = [row for row in rows if row.measure == CHANCE]
    if chances:
        yield ColumnTable.of(
            "calibration_next_labels", "What more labels would achieve", chances, text("system"), text("dataset"),
            text("promise", "variant"), whole_number_column("labels", "n"),
            number_column("chance of a threshold", "value", 3),
            number_column("half of the interval", lambda row: halves[place(row)], 3),
            note="Chance that a threshold can be guaranteed, and half the width of a probability's 95% "
            "interval, averaged over pairs."
        )  # fmt: skip


def make_calibration_gap_table(rows: Sequence[ResultRow]) -> ColumnTable:
    """Make the table of what came true minus what was foretold, by kind of pair."""
    gap_rows = [row for row in rows if row.measure == "gap"]
    kinds = list(dict.fromkeys(row.subset for row in gap_rows))
    values = {(row.system, row.dataset, row.subset): row.value for row in gap_rows}
    cells = dict.fromkeys((row.system, row.dataset) for row in gap_rows)
    columns = (
        Column("system", "text"),
        Column("dataset", "text"),
        *(Column(kind, "signed", decimals=3) for kind in kinds),
    )
    return ColumnTable(
        "calibration_gaps", "Where the probability is too high or too low", columns,
        tuple((*cell, *(values.get((*cell, kind)) for kind in kinds)) for cell in cells),
        "Share of pairs with the same meaning, minus the mean probability; below 0, the system is overconfident."
    )  # fmt: skip


def check_any_calibrated(out: Path) -> None:
    """Check that some system could be calibrated on a dataset; DataError where none could."""
    folder = RunFolder(out)
    manifest = folder.read_manifest() or {"systems": ()}
    real = {system["name"] for system in manifest["systems"] if system["kind"] != "reference"}
    rows = [row for row in folder.read_results() if row.system in real and row.measure == HEADLINE and row.dataset]
    if any(row.value is not None for row in rows):
        return
    raise DataError(
        "Nothing could be calibrated",
        found=next((row.reason for row in rows if row.reason), "no result"),
        mend="Label more pairs of the rarer kind (same or different).",
    )


def calibrate(
    systems: Sequence[Any] | Mapping[str, Any],
    *,
    datasets: Sequence[Any] | Mapping[str, Any] = ("sample",),
    out: str | Path | None = None,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Calibrate systems on labelled or graded pairs, resuming what is unfinished in `out`, and return the run.

    Arguments are those of `TaskProtocol.run`; `options` are `CalibrationOptions`.
    """
    options = arguments.get("options") or CalibrationOptions()
    return CalibrationProtocol.of(options).run(
        systems, datasets=datasets, out=out, workers=workers, cache=cache, listener=listener, max_usd=max_usd,
        **arguments
    )  # fmt: skip
