"""Calibration as a declaration: one task over labelled or graded pairs, and a file per system and dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.data import Dataset
from embassay.errors import UsageError
from embassay.protocols.calibration.options import CalibrationOptions
from embassay.protocols.calibration.probability import (
    CORPUS,
    Calibration,
    Curve,
    fitted,
    read_pairs,
    too_few,
)
from embassay.protocols.kernel import evaluation
from embassay.protocols.kernel.estimates import (
    Estimate,
    Items,
    Lost,
    estimate,
    named_groups,
    undefined,
)
from embassay.protocols.kernel.evaluation import Fields, Task, TaskProtocol
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import Plan, PlannedSystem
from embassay.protocols.kernel.session import Session, Silent
from embassay.protocols.kernel.tables import Column, ColumnTable, RunTable
from embassay.protocols.tasks.task import outcome, similarity
from embassay.records import LabelledPairs, Loaded, Result, Score, ScoredPairs, TaskOutcome
from embassay.registry import Registry
from embassay.runs.execution import Workers
from embassay.runs.folder import slug
from embassay.stats.calibration import Threshold, bins, calibration_error, log_losses
from embassay.stats.intervals import wilson
from embassay.text import PERTURBATIONS, perturb_all

HEADLINE = "skill"
BOOTSTRAP = "bootstrap over pairs"
DAMAGED = {
    "capitalize": "copies in capitals", "delete10": "copies with letters lost",
    "numerize": "copies with digits for letters", "negate": "negated copies",
}  # fmt: skip
"""How the second text is edited, and what those pairs are called; all but the last keep its meaning."""
EDITED = 200
"""Pairs whose second text is edited, at most."""
NEGATION = frozenset(
    ["no", "not", "never", "none", "nobody", "nothing", "neither", "nor", "cannot", "without", "n't"]
)


@dataclass(frozen=True)
class Context(evaluation.Context):
    """With the options of a calibration."""

    options: CalibrationOptions = field(default_factory=CalibrationOptions)


Pairs = LabelledPairs | ScoredPairs


def evaluate(system: Similarity, data: Pairs, context: Context) -> TaskOutcome:
    """Fit one system on the pairs; items are each pair's `similarity`, `same` and held-out `probability`."""
    items, same = Items(), labels(data, context.options.same_from)
    similar = similarity(system, data.first, data.second)
    lost = Lost(system, data.ids, "pairs")
    lost.see(similar, data.first, data.second)
    items.add(data.ids, similar, "similarity")
    items.add(data.ids, same, "same")
    if lost.too_many:
        return lost.without_score(HEADLINE, items)
    kept = np.flatnonzero(~lost.mask)
    n, counts = len(kept), {"pairs": len(kept)}
    if reason := too_few(same[kept]):
        return outcome(HEADLINE, reason, items, n=n, skipped=lost.skipped, counts=counts)
    groups = _numbers(context.grouped(data.ids), kept)
    curve, chosen = fit_pairs(similar[kept], same[kept], groups, context)
    held = np.full(len(data), np.nan)
    held[kept] = chosen.held_out
    items.add(data.ids, held, "probability")
    found = _skill(held[kept], same[kept], groups, context)
    scores = [
        *_quality(held[kept], same[kept], groups, context),
        *(row for one in curve.thresholds for row in _promised(one)),
        *_slices(data, held, same, kept, context),
        *(_edits(system, data, same, kept, curve, context) if context.options.edits else ()),
    ]
    warnings: tuple[str, ...] = ()
    if groups is not None:
        warnings = (
            f"{n:,} pairs share texts: promises and bounds count {curve.units:,} of them, one of each group",
        )
    return outcome(
        HEADLINE, found, items, n=n, scores=scores, skipped=lost.skipped, warnings=warnings, counts=counts
    )


def fit_pairs(
    similar: NDArray[np.float64], same: NDArray[np.bool_], groups: NDArray[np.int64] | None, context: Any
) -> Any:
    """The curve of a cell, the same whenever it is made."""
    return fitted(similar, same, groups, context.options.promises, context.stream("calibration"))


def labels(data: Pairs, same_from: float | None) -> NDArray[np.bool_]:
    """Whether each pair means the same, (n,). UsageError for grades where none is named."""
    if isinstance(data, LabelledPairs):
        return np.asarray(data.labels == 1)
    if same_from is None and len(set(data.scores.tolist())) > 2:
        raise UsageError(
            f"Pairs have grades from {data.scores.min():g} to {data.scores.max():g}.",
            mend="Say from which grade on two texts mean the same, for example --same-from 4.",
        )
    return np.asarray(data.scores >= (data.scores.max() if same_from is None else same_from))


def _numbers(groups: NDArray[np.int64] | None, kept: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The groups of the rows that are kept, from 0 on."""
    if groups is None:
        return None
    _, numbers = np.unique(groups[kept], return_inverse=True)
    return numbers if len(np.unique(numbers)) < len(kept) else None


def _skill(
    held: NDArray[np.float64], same: NDArray[np.bool_], groups: NDArray[np.int64] | None, context: Context
) -> Estimate:
    """The share of the uncertainty that similarity takes away: 1 less held-out log loss over that of the base rate."""
    base = np.full(len(same), same.mean())
    columns = np.column_stack([log_losses(held, same), log_losses(base, same)])
    return estimate(
        columns,
        lambda means: 1 - means[..., 0] / means[..., 1],
        context,
        "pairs",
        BOOTSTRAP,
        groups=groups,
    )


def _quality(
    held: NDArray[np.float64], same: NDArray[np.bool_], groups: NDArray[np.int64] | None, context: Context
) -> Iterator[Score]:
    columns = {
        "log_loss": log_losses(held, same),
        "brier": (held - same) ** 2,
        "share_same": same.astype(float),
    }
    for name, column in columns.items():
        yield estimate(
            column[:, None],
            lambda means: means[..., 0],
            context,
            "pairs",
            BOOTSTRAP,
            groups=groups,
        ).score(name)
    method = "10 bins of as many pairs, held out; biased upwards by chance"
    yield Score("calibration_error", calibration_error(held, same), len(same), method=method)
    for place, one in enumerate(bins(held, same), 1):
        tenth = f"tenth {place}"
        yield Score("foretold", one.foretold, one.n, subset=tenth, method="mean held-out probability")
        yield Score("came_true", one.came, one.n, one.low, one.high, subset=tenth, method="exact binomial")


def _promised(one: Threshold) -> Iterator[Score]:
    """The threshold, and what the sample has above it: the promised share is at least what was asked."""
    method = f"{one.measure} at least {one.aim:g} with {one.confidence:.0%} confidence, exact binomial"
    if one.value is None:
        yield undefined("threshold", one.n, without(one), variant=one.measure, method=method)
        return
    yield Score("threshold", one.value, one.n, variant=one.measure, method=method)
    for name, hits, of in (("precision", one.right, one.accepted), ("recall", one.right, one.positives)):
        found = wilson(hits / of, of)
        sample = "Wilson, in the sample the threshold was chosen in"
        yield Score(
            f"sample_{name}", hits / of, of, found.low, found.high, variant=one.measure, method=sample
        )


def without(one: Threshold) -> str:
    """Why there is no threshold, and how many labels would do."""
    labelled = f"{one.n:,} labels don't suffice"
    if one.labels is not None:
        return f"{labelled}: about {one.labels - one.n:,} more"
    if one.best is None or one.most is None:
        return labelled
    if one.most >= one.aim:
        seen = f"the most similar tenth of the pairs reaches {one.best:.2f}, at most {one.most:.2f}"
        return f"{labelled}, and don't tell how many would: {seen}"
    return f"no number of labels would do: the most similar tenth of the pairs reaches {one.best:.2f}"


def _slices(
    data: Pairs, held: NDArray[np.float64], same: NDArray[np.bool_], kept: NDArray[np.int64], context: Context
) -> Iterator[Score]:
    """What came true less what was foretold, by kind of pair: 0 where the probability holds."""
    for name, mask in slices(data, kept):
        rows = kept[mask]
        if len(rows) >= 2:
            gap = same[rows] - held[rows]
            yield estimate(
                gap[:, None], lambda means: means[..., 0], context, f"slice {name}", BOOTSTRAP
            ).score("gap", subset=name)


def slices(data: Pairs, kept: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The kinds of pairs that are looked at by themselves, and which of the kept rows each has."""
    lengths = np.array([len(data.first[row]) + len(data.second[row]) for row in kept])
    low, high = np.quantile(lengths, [1 / 3, 2 / 3])
    yield "short pairs", lengths <= low
    yield "medium pairs", (lengths > low) & (lengths <= high)
    yield "long pairs", lengths > high
    denied = np.array([_denied(data.first[row]) != _denied(data.second[row]) for row in kept])
    yield "pairs with one negation", denied
    yield "pairs with none or two", ~denied


def _denied(text: str) -> bool:
    words = text.lower().replace("n't", " n't").replace("’", "'").split()
    return not NEGATION.isdisjoint(word.strip('.,;:!?"()') for word in words)


def _edits(
    system: Similarity,
    data: Pairs,
    same: NDArray[np.bool_],
    kept: NDArray[np.int64],
    curve: Curve,
    context: Context,
) -> Iterator[Score]:
    """What came true less what was foretold where the second text is damaged, which leaves its meaning, or negated,
    which of a pair that was the same leaves none."""
    rows = np.sort(context.stream("edited").permutation(kept)[:EDITED])
    for name in DAMAGED:
        chosen = rows[same[rows]] if name == "negate" else rows
        truth = np.zeros(len(chosen)) if name == "negate" else same[chosen].astype(float)
        first, second = ([column[row] for row in chosen] for column in (data.first, data.second))
        edit = PERTURBATIONS.build(name, tokenizer=context.tokenizer, needle_text="")
        edited = perturb_all(edit, second, [data.ids[row] for row in chosen], context.seed)
        changed = np.array([a != b for a, b in zip(second, edited, strict=True)], dtype=bool)
        similar = similarity(system, first, edited)
        gap = np.where(changed & ~np.isnan(similar), truth - curve.at(similar), np.nan)
        yield estimate(gap[:, None], lambda means: means[..., 0], context, f"edit {name}", BOOTSTRAP).score(
            "gap", subset=DAMAGED[name]
        )


def pairs() -> Task:
    """How likely do two texts mean the same, given their similarity?"""

    def load(dataset: Dataset, limit: int | None, seed: int) -> Loaded[Any]:
        shape = "labelled_pairs" if not dataset.missing("labelled_pairs") else "pairs"
        return dataset.load(shape, limit=limit, seed=seed)

    def fields(data: Pairs) -> Fields:
        return {"text": (data.ids, data.first), "text2": (data.ids, data.second)}

    return Task("pairs", "Pairs", ("labelled_pairs", "pairs"), HEADLINE, 2, evaluate, load, fields)


TASKS: Registry[Task] = Registry("task", makes=[("name", "headline")])
TASKS.add(
    "pairs", "embassay.protocols.calibration.protocol:pairs", "the probability that two texts mean the same"
)


class Calibrations(TaskProtocol):
    """What a similarity means: skill, thresholds that keep a promise, and where the probability stops holding."""

    name = "calibration"
    version = 1
    tasks = TASKS
    paper = ("pairs",)
    context = Context
    options = CalibrationOptions
    pair_corpus = CORPUS
    bounds: ClassVar = (-1.0, 1.0)

    def context_of(self, loaded: Loaded[Any], *arguments: Any, **more: Any) -> Any:
        """With the groups of pairs that share a text."""
        found = super().context_of(loaded, *arguments, **more)
        return replace(found, groups=named_groups(loaded.data))

    def texts(self, task: Task, data: Any, options: CalibrationOptions) -> int:
        """With the edited ones. Grades without a cut are refused here, before any work."""
        labels(data, options.same_from)
        edited = min(EDITED, len(data)) * len(DAMAGED) if options.edits else 0
        return super().texts(task, data, options) + edited

    def work(self, session: Session, listener: Silent) -> None:
        """The cells, and a file for each that is done."""
        session.do(listener)
        for system in session.plan.systems:
            for dataset in session.plan.datasets:
                made = self._calibration(session.plan, system, dataset.name, dataset.source)
                if made is not None:
                    made.save(self.file_of(system.name, dataset.name))

    def file_of(self, system: str, dataset: str) -> Path:
        """Where a calibration is."""
        return self.folder.path / "calibrations" / f"{slug(system)}--{slug(dataset)}.json"

    def _calibration(
        self, plan: Plan, system: PlannedSystem, dataset: str, source: str
    ) -> Calibration | None:
        request = plan.request
        values = read_pairs(self.folder.items_path("pairs", dataset, system.name))
        if values is None:
            return None
        loaded = self.loaded(request, source, "pairs")
        context = self.context_of(loaded, None, request.seed, request.options)
        groups = _numbers(context.grouped(values.ids), np.arange(len(values.ids)))
        curve, _ = fit_pairs(values.similar, values.same, groups, context)
        return Calibration(
            system.name, system.spec, system.identity, dataset, loaded.fingerprint, request.tokenizer, request.seed,
            request.options.same_from, curve,
        )  # fmt: skip

    def call(self, request: Any, out: Path) -> str:
        """The call from Python that makes the run, for its manifest."""
        return f"embassay.calibrate({list(request.systems)!r}, datasets={list(request.datasets)!r}, out={str(out)!r})"

    def tables(self, plan: Plan, rows: Sequence[Result]) -> Iterator[RunTable]:
        """Thresholds, and where the probability stops holding."""
        yield from super().tables(plan, rows)
        yield thresholds_table(rows)
        yield gaps_table(rows)


def thresholds_table(rows: Sequence[Result]) -> ColumnTable:
    """Every promise: accept from which similarity on, and what the sample has there."""
    cell: dict[tuple[str, str, str], dict[str, Result]] = {}
    for row in rows:
        if row.variant in ("precision", "recall"):
            cell.setdefault((row.system, row.dataset, row.variant), {})[row.measure] = row
    body = [
        (system, dataset, found["threshold"].method.partition(",")[0], *_line(found))
        for (system, dataset, _), found in cell.items()
    ]
    columns = (
        Column("system", "text"), Column("dataset", "text"), Column("promise", "text"),
        Column("accept from", decimals=3),
        Column("precision seen", decimals=3), Column("recall seen", decimals=3), Column("why not", "text"),
    )  # fmt: skip
    return ColumnTable(
        "calibration_thresholds", "Thresholds with a promise", columns, tuple(body),
        "What is promised holds for pairs like these; what is seen is of the sample the threshold was chosen in.",
    )  # fmt: skip


def _line(found: Mapping[str, Result]) -> Iterator[Any]:
    for measure in ("threshold", "sample_precision", "sample_recall"):
        yield found[measure].value if measure in found else None
    yield found["threshold"].reason


def gaps_table(rows: Sequence[Result]) -> ColumnTable:
    """Came true minus foretold, by kind of pair."""
    own = [row for row in rows if row.measure == "gap"]
    kinds = list(dict.fromkeys(row.subset for row in own))
    found = {(row.system, row.dataset, row.subset): row.value for row in own}
    cells = dict.fromkeys((row.system, row.dataset) for row in own)
    columns = (
        Column("system", "text"),
        Column("dataset", "text"),
        *(Column(kind, "signed", decimals=3) for kind in kinds),
    )
    return ColumnTable(
        "calibration_gaps", "Where the probability stops holding", columns,
        tuple((*one, *(found.get((*one, kind)) for kind in kinds)) for one in cells),
        "Share that means the same minus the mean probability; below 0 the system is too sure.",
    )  # fmt: skip


def calibrate(
    systems: Sequence[Any] | Mapping[str, Any],
    *,
    datasets: Sequence[Any] | Mapping[str, Any] = ("sample",),
    out: str | Path | None = None,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Calibrate systems on labelled or graded pairs, resuming what is unfinished in `out`, and return the run.

    Arguments are those of `TaskProtocol.run`; `options` are `CalibrationOptions`.
    """
    return Calibrations().run(
        systems, datasets=datasets, out=out, workers=workers, cache=cache, listener=listener, max_usd=max_usd,
        **arguments,
    )  # fmt: skip
