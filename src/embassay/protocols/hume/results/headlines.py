"""The headlines of systems with their replicates: what is compared in this run, and by comparisons and gates later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from embassay.protocols.comparisons import ALPHA, CORRECTION, METHOD, Headline, compared, mean_component
from embassay.protocols.hume.results.concluded import Contender
from embassay.protocols.hume.results.plan import Plan
from embassay.protocols.hume.scoring.people import MAIN
from embassay.protocols.hume.study import FAMILIES
from embassay.protocols.standings import CLASSICAL, OVERALL, RANKED, Standing
from embassay.runs.cells import CellRecord


def standings(
    plan: Plan, records: Sequence[CellRecord], contenders: Sequence[Contender]
) -> tuple[Standing, ...]:
    """Every system's headline on each task, over the tasks of a family, and over all that people annotated."""
    return tuple(_standings(plan, records, [one for one in contenders if one.kind != "llm"]))


def comparisons(every: Sequence[Standing]) -> dict[str, Any]:
    """Which systems the items tell apart, overall and by family, as in comparisons.json.

    Those that another method scored have a scope `NAME:classical` of their own.
    """
    scopes: dict[str, list[Headline]] = {}
    for one in every:
        if not one.dataset:
            name = one.task if one.group == RANKED else f"{one.task}:{one.group}"
            scopes.setdefault(name, []).append(one.headline)
    return {
        "alpha": ALPHA, "correction": CORRECTION, "method": METHOD,
        "scopes": {name: compared(own) for name, own in scopes.items()},
    }  # fmt: skip


def _standings(plan: Plan, records: Sequence[CellRecord], systems: Sequence[Contender]) -> Iterator[Standing]:
    held = {(one.dataset, one.system): one for one in records}
    tasks = [one.task for one in plan.answered if any(one.answers.values())]
    for one in systems:
        group = RANKED if one.ranked else CLASSICAL
        own = {task.name: _headline(held.get((task.name, one.system)), one.system) for task in tasks}
        yield Standing(OVERALL, "", OVERALL, _mean(one.system, own), group)
        for family in FAMILIES:
            of_family = {task.name: own[task.name] for task in tasks if task.family == family}
            if of_family:
                yield Standing(family, "", MAIN[family], _mean(one.system, of_family), group)
            if len(of_family) > 1:
                yield from (
                    Standing(family, name, MAIN[family], found, group) for name, found in of_family.items()
                )


def _headline(record: CellRecord | None, system: str) -> Headline:
    if record is None or not record.done:
        return Headline.none(system, (record.reason if record else "") or "not run yet")
    headline = record.scores[0]
    component = record.components.get(headline.measure)
    if component is None or component.value is None:
        return Headline.none(system, headline.reason)
    return Headline.of(system, component, headline.method)


def _mean(system: str, headlines: Mapping[str, Headline]) -> Headline:
    """The mean over tasks; without a value where one of them has none."""
    for name, one in headlines.items():
        if one.value is None:
            return Headline.none(system, f"{name}: {one.reason}")
    if len(headlines) == 1:
        return next(iter(headlines.values()))
    mean = mean_component([one.component for one in headlines.values()])
    method = f"mean over {len(headlines)} tasks"
    return Headline.of(system, mean, method)
