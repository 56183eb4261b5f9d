"""From the margins of every bundle to the rows of results: means, changes with intervals, and the link to recall."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.estimates import Items
from embassay.protocols.rag.probes.names.margins import LEAST_MARGIN, Margins, change, over_runs
from embassay.protocols.rag.probes.resampling import ProbeContext
from embassay.records import Component, Score, TaskOutcome

Floats = NDArray[np.float64]
TASK = "names"
HEADLINE = "d_name"
MARGINS = ("d_name", "d_topic", "d_both")
SD = "d_name SD between runs"
RATIO = "d_name/d_topic"
ABSOLUTE = "d_name change"
PERCENT = "d_name change %"
OF_MEANS = "d_name change % of means"
EXCLUDED = "rows without percent"
ACROSS = "conditions"
"""The variant of rows over all conditions."""
TOO_SMALL = f"no row has a base margin of {LEAST_MARGIN} or more"


def outcome(
    conditions: Sequence[str], found: Margins, retrieval: Mapping[str, Floats], context: ProbeContext
) -> TaskOutcome:
    """The outcome of a cell; arrays are (conditions, runs, queries), the base condition first.

    Rows of an ablation have its name as variant, those of the base none. A query with NaN is left out.
    """
    of = dict(zip(MARGINS, (found.name, found.topic, found.both), strict=True))
    values = {**of, **retrieval}
    scores = list(_base(of, values, context))
    for place, name in enumerate(conditions[1:], start=1):
        scores += _ablation(place, name, values, context)
    scores += _across(values, context)
    headline = scores[0]
    components = {HEADLINE: Component(headline.value, headline.n, np.empty(0), headline.reason)}
    return TaskOutcome(tuple(scores), components, _items(conditions, values))


def _base(of: Mapping[str, Floats], values: Mapping[str, Floats], context: ProbeContext) -> Iterator[Score]:
    yield from _levels(0, "", values, context)
    both = np.column_stack([_per_query(of["d_name"][0]), _per_query(of["d_topic"][0])])
    yield context.over_queries(RATIO, both, lambda m: m[..., 0] / m[..., 1], why_not="d_topic is 0")
    for measure in values:
        if measure not in MARGINS:
            pair = _per_query(of["d_name"][0]), _per_query(values[measure][0])
            yield from context.links(*pair, (HEADLINE, measure))


def _levels(place: int, variant: str, values: Mapping[str, Floats], context: ProbeContext) -> Iterator[Score]:
    """The mean of every measure, and how the name margin's varies between runs."""
    for measure, of_rows in values.items():
        yield context.over_queries(measure, _per_query(of_rows[place]), variant=variant)
    rows = _whole(values[HEADLINE][place])
    runs = over_runs(rows) if rows.size else None
    sd = None if runs is None or np.isnan(runs.sd) else runs.sd
    yield Score(
        SD, sd, rows.shape[0], variant=variant, method="over run means, ddof 1",
        reason="" if sd is not None else "there is one run only",
    )  # fmt: skip


def _ablation(place: int, name: str, values: Mapping[str, Floats], context: ProbeContext) -> Iterator[Score]:
    yield from _levels(place, name, values, context)
    base, ablated = values[HEADLINE][0], values[HEADLINE][place]
    yield context.over_queries(ABSOLUTE, _per_query(ablated - base), variant=name)
    yield from _percents(base, ablated, name, context)
    for measure in values:
        if measure in MARGINS:
            continue
        difference = _per_query(values[measure][place]) - _per_query(values[measure][0])
        yield context.over_queries(f"{measure} change", difference, variant=name)
        names = ABSOLUTE, f"{measure} change"
        yield from context.links(_per_query(ablated - base), difference, names, name)


def _percents(base: Floats, ablated: Floats, name: str, context: ProbeContext) -> Iterator[Score]:
    """The mean of the rows' percents, the ratio of means and the share of rows left out: sums over the runs of each
    query, so that queries can be resampled."""
    known = ~np.isnan(base + ablated).any(axis=0)
    base, ablated = base[:, known], ablated[:, known]
    kept = base >= LEAST_MARGIN
    rows = np.where(kept, 100 * (ablated - base) / np.where(kept, base, 1), 0.0)
    sums = np.column_stack([part.sum(axis=0) for part in (rows, kept, kept * base, kept * ablated)])
    yield context.over_queries(
        PERCENT, sums, lambda m: m[..., 0] / m[..., 1], variant=name, why_not=TOO_SMALL
    )
    ratio = context.over_queries(
        OF_MEANS, sums, lambda m: 100 * (m[..., 3] / m[..., 2] - 1), variant=name, why_not=TOO_SMALL
    )
    yield ratio
    share = change(base, ablated).excluded_share if base.size else None
    yield Score(EXCLUDED, share, base.size, variant=name, reason="" if base.size else "no query has a value")


def _across(values: Mapping[str, Floats], context: ProbeContext) -> Iterator[Score]:
    """Over conditions: does what shrinks the margin more also cost more recall?"""
    changes = {name: _changes(of_rows) for name, of_rows in values.items()}
    for measure in values:
        if measure not in MARGINS:
            names = ABSOLUTE, f"{measure} change"
            yield from context.links_of_means(changes[HEADLINE], changes[measure], names, ACROSS)


def _changes(of_rows: Floats) -> Floats:
    """Each query's mean change under every ablation, (ablations, queries)."""
    means = np.stack([_per_query(one) for one in of_rows])
    return np.asarray(means[1:] - means[0])


def _per_query(rows: Floats) -> Floats:
    """Means over runs: (runs, queries) -> (queries,), NaN where a run has none."""
    return np.asarray(rows.mean(axis=0))


def _whole(rows: Floats) -> Floats:
    """The columns of queries that every run has a value of."""
    return np.asarray(rows[:, ~np.isnan(rows).any(axis=0)])


def _items(conditions: Sequence[str], values: Mapping[str, Floats]) -> Mapping[str, list[object]]:
    """A value of every measure for every condition, run and query; `item_id` is query@run."""
    items = Items()
    runs, queries = values[HEADLINE].shape[1:]
    ids = [f"{query:03d}@{run}" for run in range(runs) for query in range(queries)]
    for place, name in enumerate(conditions):
        for measure, of_rows in values.items():
            items.add(ids, of_rows[place].ravel(), measure, "" if place == 0 else name)
    return items.columns
