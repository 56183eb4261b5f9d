"""Over the datasets of a selection: the candidates' means and standings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from embassay.protocols.kernel.comparisons import (
    ALPHA,
    CORRECTION,
    METHOD,
    Headline,
    compared,
    mean_component,
)
from embassay.protocols.pteb.selection.choice import Candidate, Selection, select
from embassay.protocols.pteb.selection.criteria import HEADLINE
from embassay.protocols.pteb.selection.plan import TASK, Plan
from embassay.records import Component, Result
from embassay.runs.cells import CellRecord
from embassay.stats import hodges_lehmann

SHIFT = "similarity_hl"
SHARES = ("copied", "failed", "failed_ratings")
MEASURES = (HEADLINE, "edit_distance", "seconds", "length_ratio", *SHARES)
RESAMPLES = 1000

Means = Mapping[str, Mapping[str, Headline]]
"""Candidate -> measure -> its mean over the datasets."""


def summarise(
    plan: Plan, records: Sequence[CellRecord]
) -> tuple[list[Result], dict[str, Any], dict[str, Any]]:
    """The rows over datasets, the paired comparisons of candidates, and the selection for the manifest."""
    means = candidate_means(plan, records)
    rows = []
    for candidate in plan.systems:
        rows += [_row(plan, candidate.name, "", name, one) for name, one in means[candidate.name].items()]
        rows += _by_judge(plan, records, candidate.name)
    comparisons = {
        "alpha": ALPHA,
        "correction": CORRECTION,
        "method": METHOD,
        "scopes": {
            name: compared([means[one.name][name] for one in plan.systems])
            for name in (HEADLINE, "edit_distance")
        },
    }
    return rows, comparisons, as_dict(plan, means)


def selection_of(plan: Plan, records: Sequence[CellRecord]) -> Selection:
    """What the rule says of the candidates."""
    return select(_candidates(candidate_means(plan, records)), plan.request.options.rule)


def as_dict(plan: Plan, means: Means) -> dict[str, Any]:
    """The selection as the manifest holds it."""
    candidates, rule = _candidates(means), plan.request.options.rule
    return {
        "rule": str(rule),
        **asdict(select(candidates, rule)),
        "judge": plan.judges[0].name,
        "cross_judges": [one.name for one in plan.judges[1:]],
        "candidates": [asdict(one) for one in candidates],
    }


def candidate_means(plan: Plan, records: Sequence[CellRecord]) -> dict[str, dict[str, Headline]]:
    """Every measure of every candidate over the datasets, by the judge that decides."""
    return {
        one.name: {name: _over_datasets(plan, records, one.name, name) for name in MEASURES}
        for one in plan.systems
    }


def _candidates(means: Means) -> list[Candidate]:
    return [
        Candidate(
            name, own[HEADLINE].value, own["edit_distance"].value, own["seconds"].value,
            own[HEADLINE].reason or own["edit_distance"].reason,
        )
        for name, own in means.items()
    ]  # fmt: skip


def _over_datasets(
    plan: Plan, records: Sequence[CellRecord], candidate: str, measure: str, variant: str = ""
) -> Headline:
    """The unweighted mean over all datasets; none where one of them has no value."""
    parts = _parts(plan, records, candidate, measure, variant)
    for dataset, part in parts.items():
        if part.value is None:
            return Headline.none(candidate, f"{dataset}: {part.reason}")
    whole = mean_component(list(parts.values()))
    method = f"mean over {len(parts)} dataset{'s' if len(parts) > 1 else ''}, bootstrap within each"
    return Headline.of(candidate, whole, method)


def _parts(
    plan: Plan, records: Sequence[CellRecord], candidate: str, measure: str, variant: str
) -> dict[str, Component]:
    """The value on every dataset."""
    own = {one.dataset: one for one in records if (one.system, one.variant) == (candidate, variant)}
    found = {}
    for dataset in plan.datasets:
        record = own.get(dataset.name)
        if record is None or not record.done:
            reason = "not run yet" if record is None else record.reason
            found[dataset.name] = Component(None, 0, reason=reason)
        else:
            found[dataset.name] = record.components[measure]
    return found


def _by_judge(plan: Plan, records: Sequence[CellRecord], candidate: str) -> Iterator[Result]:
    """A candidate's similarity by every judge that has rated it: mean and Hodges-Lehmann estimate (table 5)."""
    present = {one.variant for one in records if one.system == candidate}
    for judge in plan.judges:
        variant = "" if judge is plan.judges[0] else f"judge={judge.name}"
        if variant not in present:
            continue
        if variant:
            yield _row(
                plan,
                candidate,
                variant,
                HEADLINE,
                _over_datasets(plan, records, candidate, HEADLINE, variant),
            )
        parts = _parts(plan, records, candidate, HEADLINE, variant)
        yield _shift(plan, candidate, variant, parts)


def _shift(plan: Plan, candidate: str, variant: str, parts: Mapping[str, Component]) -> Result:
    """The Hodges-Lehmann estimate over the dataset means, with its bootstrap interval [A14]."""
    where = ("pteb", TASK, "", "", "", variant, candidate, SHIFT)
    seed = plan.request.seed
    for dataset, part in parts.items():
        if part.value is None:
            return Result(*where, None, 0, seed=seed, reason=f"{dataset}: {part.reason}")
    means = np.array([part.value for part in parts.values()], dtype=np.float64)
    found = hodges_lehmann(means, n_resamples=RESAMPLES, seed=seed)
    low, high = (None if math.isnan(one) else one for one in (found.low, found.high))
    return Result(*where, found.estimate, found.n, low, high, found.method, seed)


def _row(plan: Plan, candidate: str, variant: str, measure: str, headline: Headline) -> Result:
    low, high = headline.interval
    if measure in SHARES and low == high:
        # None failed, or all: resampling cannot tell how far from that the truth may be.
        low = high = None
    return Result(
        "pteb", TASK, "", "", "", variant, candidate, measure, headline.value, headline.n, low, high,
        headline.method, plan.request.seed, headline.reason,
    )  # fmt: skip
