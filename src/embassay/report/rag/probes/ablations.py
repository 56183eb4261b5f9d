"""Forest plots of what ablations do to the name margin: one per system and language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.protocols import numbers
from embassay.protocols.numbers import Unit
from embassay.protocols.rag.probes.names.conditions import CONDITIONS
from embassay.protocols.rag.probes.names.outcome import ABSOLUTE, EXCLUDED, HEADLINE, OF_MEANS, PERCENT
from embassay.protocols.rag.probes.names.tables import GROUPS
from embassay.report.marks import difference_mark
from embassay.report.rag.probes.where import Where
from embassay.report.record import System
from embassay.report.scale import Scale, scale_of

MARGIN = Unit(1.0, 3, 3)
PERCENTS = Unit(1.0, 1, 1)
WIDEST = 200.0
"""Percent beyond which a bar ends at the edge: one wild ablation must not press all others together."""


@dataclass(frozen=True)
class Ablation:
    """A condition: its mark, and its numbers as text; `why` where it has no percentage."""

    name: str
    summary: str
    mark: Markup
    percent: str
    interval: str
    exact: str
    change: str
    change_interval: str
    of_means: str
    margin: str
    left_out: str
    why: str = ""


@dataclass(frozen=True)
class AblationForest:
    """The conditions of a system in a language, by group."""

    title: str
    id: str
    scale: Scale
    groups: tuple[tuple[str, tuple[Ablation, ...]], ...]


@dataclass(frozen=True)
class SideBySide:
    """Several forests in one table: `heads` are their titles and scales; a row per condition, by group, with its name
    and summary, and None where a forest has it not."""

    heads: tuple[tuple[str, Scale], ...]
    groups: tuple[tuple[str, tuple[tuple[str, str, tuple[Ablation | None, ...]], ...]], ...]


def side_by_side(forests: Sequence[AblationForest]) -> SideBySide | None:
    """The forests in one table; None without any."""
    if not forests:
        return None
    found = [{one.name: one for _, rows in forest.groups for one in rows} for forest in forests]
    groups: dict[str, dict[str, str]] = {}
    for forest in forests:
        for group, rows in forest.groups:
            groups.setdefault(group, {}).update({one.name: one.summary for one in rows})
    return SideBySide(
        tuple((one.title, one.scale) for one in forests),
        tuple(
            (
                group,
                tuple((name, said, tuple(own.get(name) for own in found)) for name, said in names.items()),
            )
            for group, names in groups.items()
        ),
    )


def ablation_forests(where: Where) -> tuple[AblationForest, ...]:
    """A forest per system and language that has ablations."""
    made = (_forest(where, *one, place) for place, one in enumerate(where.each()))
    return tuple(one for one in made if one.groups)


def _forest(where: Where, dataset: str, said: str, system: System, place: int) -> AblationForest:
    rows = [where.find(dataset, system.name, name, PERCENT) for name in CONDITIONS]
    ends = [end for row in rows if row for end in (row.value, row.ci_low, row.ci_high) if end is not None]
    scale = scale_of([*(max(-WIDEST, min(WIDEST, end)) for end in ends), 0.0], within=(-100.0, WIDEST))
    groups = []
    for group, title in GROUPS.items():
        found = tuple(_ablations(where, dataset, system, group, scale))
        if found:
            groups.append((title.capitalize(), found))
    title = f"{where.labels[system.name]}, {said}"
    return AblationForest(title, f"ablations-{place}", scale, tuple(groups))


def _ablations(where: Where, dataset: str, system: System, group: str, scale: Scale) -> Iterator[Ablation]:
    for name, condition in CONDITIONS.items():
        row = where.find(dataset, system.name, name, PERCENT)
        if condition.group != group or row is None:
            continue
        change = where.find(dataset, system.name, name, ABSOLUTE)
        of_means, margin, left_out = (
            where.value(dataset, system.name, name, one) for one in (OF_MEANS, HEADLINE, EXCLUDED)
        )
        known = row.value is not None and row.ci_low is not None and row.ci_high is not None
        yield Ablation(
            name,
            condition.summary,
            Markup("")
            if row.value is None
            else difference_mark(row.ci_low, row.value, row.ci_high, system.kind, scale),
            "n/a" if row.value is None else PERCENTS.change(row.value),
            PERCENTS.interval(row.ci_low or 0.0, row.ci_high or 0.0) if known else "no interval",
            ""
            if row.value is None
            else ",".join(f"{one or 0.0:.6g}" for one in (row.value, row.ci_low, row.ci_high)),
            "n/a" if change is None or change.value is None else MARGIN.change(change.value),
            ""
            if change is None or change.ci_low is None
            else MARGIN.interval(change.ci_low, change.ci_high or 0.0),
            "n/a" if of_means is None else PERCENTS.change(of_means),
            "n/a" if margin is None else MARGIN.text(margin),
            "n/a" if left_out is None else numbers.percent(left_out),
            row.reason,
        )
