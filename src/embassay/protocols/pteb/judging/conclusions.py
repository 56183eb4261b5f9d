"""Over the datasets and judges of a run: means, pooled errors, and which judges can be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from embassay.protocols.kernel.comparisons import (
    ALPHA,
    CORRECTION,
    METHOD,
    Headline,
    compared,
    mean_component,
    weighted,
)
from embassay.protocols.pteb.judging.agreement import ERROR, FAILED, HEADLINE, share_interval
from embassay.protocols.pteb.judging.plan import TASK, Plan
from embassay.records import Component, Result
from embassay.runs.cells import CellRecord

MEAN_OF_JUDGES = "mean of judges"

Records = Mapping[tuple[str, str], CellRecord]
"""By judge and dataset."""


def summarise(plan: Plan, records: Sequence[CellRecord]) -> tuple[list[Result], dict[str, Any]]:
    """The rows over datasets and over judges, and the paired comparison of the judges' means."""
    found = {(record.system, record.dataset): record for record in records}
    over = {judge.name: _over_datasets(plan, found, judge.name) for judge in plan.systems}
    rows = [_row(plan, "", name, one) for names in over.values() for name, one in names.items()]
    if len(plan.systems) > 1:
        rows += _over_judges(plan, found, over)
    comparisons = {
        "alpha": ALPHA,
        "correction": CORRECTION,
        "method": METHOD,
        "scopes": {TASK: compared([names[HEADLINE] for names in over.values()])},
    }
    return rows, comparisons


def figure_names(records: Records) -> list[str]:
    """The names of all components, those of a correlation, of its bins, of the error and of its bins."""
    some = next((record for record in records.values() if record.done), None)
    return list(some.components) if some is not None else [HEADLINE]


def _over_datasets(plan: Plan, records: Records, judge: str) -> dict[str, Headline]:
    """Every figure of a judge over the datasets."""
    datasets = [dataset.name for dataset in plan.datasets]
    names = figure_names(records)
    for name in datasets:
        record = records.get((judge, name))
        if record is None or not record.done:
            reason = f"{name}: {record.reason if record is not None else 'not run yet'}"
            return {figure: Headline.none(judge, reason) for figure in names}
    parts = {figure: {name: records[judge, name].components[figure] for name in datasets} for figure in names}
    return {figure: _together(judge, figure, parts[figure]) for figure in names}


def _together(judge: str, figure: str, parts: Mapping[str, Component]) -> Headline:
    """One figure over the datasets: errors pool the pairs, correlations are averaged."""
    known = {name: part for name, part in parts.items() if part.value is not None}
    if figure in (HEADLINE, ERROR, FAILED) and len(known) < len(parts):
        name, part = next((name, part) for name, part in parts.items() if part.value is None)
        return Headline.none(judge, f"{name}: {part.reason}")
    if not known:
        return Headline.none(judge, next(iter(parts.values())).reason)
    several = f"{len(known)} dataset{'s' if len(known) > 1 else ''}"
    if not figure.startswith(HEADLINE):
        whole = _pooled(list(known.values()))
        method = "Wilson interval" if figure == FAILED else "bootstrap within each"
        return Headline.of(judge, whole, f"pairs of {several}, {method}")
    whole = mean_component(list(known.values()))
    method = f"mean over {several}, bootstrap within each"
    if len(known) < len(parts):
        method += f"; too few pairs: {', '.join(name for name in parts if name not in known)}"
    return Headline.of(judge, whole, method)


def _pooled(parts: Sequence[Component]) -> Component:
    """The mean over the items of all parts; a part of one item is held fixed in the resamples."""
    n = np.array([part.n for part in parts], dtype=np.float64)
    values = np.array([part.value for part in parts], dtype=np.float64)
    resamples = max(len(part.replicates) for part in parts)
    columns = [
        part.replicates if len(part.replicates) else np.full(resamples, part.value, dtype=np.float64)
        for part in parts
    ]
    shares = n / n.sum()
    replicates = shares @ np.array(columns).reshape(len(n), -1)
    return Component(float(values @ shares), int(n.sum()), replicates, strata=weighted(parts, shares))


def _over_judges(
    plan: Plan, records: Records, over: Mapping[str, Mapping[str, Headline]]
) -> Iterator[Result]:
    """The correlation, of all pairs and by length, averaged over the judges (figure 4)."""
    judges = [judge.name for judge in plan.systems]
    names = [name for name in figure_names(records) if name.startswith(HEADLINE)]
    for dataset in plan.datasets:
        cells = {judge: records.get((judge, dataset.name)) for judge in judges}
        for name in names:
            parts = {
                judge: cell.components[name] if cell is not None and cell.done else _missing(cell)
                for judge, cell in cells.items()
            }
            yield _row(plan, dataset.name, name, _mean_of_judges(parts))
    for name in names:
        yield _row(plan, "", name, _mean_of_judges({judge: over[judge][name].component for judge in judges}))


def _missing(record: CellRecord | None) -> Component:
    return Component(None, 0, reason="not run yet" if record is None else record.reason)


def _mean_of_judges(parts: Mapping[str, Component]) -> Headline:
    """The judges rated the same pairs, so their resamples are paired, and the pairs count once."""
    for judge, part in parts.items():
        if part.value is None:
            reason = f"{judge}: {part.reason}"
            return Headline(MEAN_OF_JUDGES, None, part.n, np.empty(0), reason=reason)
    whole = mean_component(list(parts.values()))
    n = max(part.n for part in parts.values())
    return Headline.of(MEAN_OF_JUDGES, whole, f"mean of {len(parts)} judges", n)


def _row(plan: Plan, dataset: str, figure: str, headline: Headline) -> Result:
    measure, _, variant = figure.partition(" ")
    low, high = headline.interval
    if measure == FAILED and headline.value is not None:
        low, high = share_interval(headline.value, headline.n)
    lang = plan.lang(dataset) if dataset else ""
    return Result(
        "pteb", TASK, dataset, "", lang, variant, headline.system, measure, headline.value, headline.n, low, high,
        headline.method, plan.request.seed, headline.reason,
    )  # fmt: skip
