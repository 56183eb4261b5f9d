"""The page of a name probe: the margins, what ablations do to them, and whether that costs recall."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from embassay.contracts import Kind
from embassay.protocols import numbers
from embassay.protocols.numbers import SCORE, Unit
from embassay.protocols.rag.probes.found import MEASURES, RECALL
from embassay.protocols.rag.probes.names.conditions import CONDITIONS
from embassay.protocols.rag.probes.names.outcome import (
    ACROSS,
    HEADLINE,
    MARGINS,
    PERCENT,
    RATIO,
    SD,
)
from embassay.report.board import Board
from embassay.report.matrix import Entry, Line, Matrix, entry
from embassay.report.rag.probes.ablations import AblationForest, SideBySide, ablation_forests, side_by_side
from embassay.report.rag.probes.links import links
from embassay.report.rag.probes.where import Where
from embassay.report.record import Record
from embassay.report.scale import scale_of
from embassay.report.scatter import Axis, Point, scatter
from embassay.report.verdict import Sentence, Verdict

PERCENTS = Unit(1.0, 1, 1)
MASK = "hard_name_mask"
IDENTITY = tuple(name for name, one in CONDITIONS.items() if one.group == "identity")
TITLES = {"d_name": "Name margin", "d_topic": "Topic margin", "d_both": "Both"}

BESIDE = 4
"""Systems and languages that stand side by side in a report of several runs; that of the run alone has all."""


@dataclass(frozen=True)
class NamesPage:
    """The content of the page; parts without data are empty or None."""

    facts: tuple[str, ...]
    verdict: Verdict
    margins: Matrix
    forests: tuple[AblationForest, ...]
    beside: SideBySide | None
    chart: Markup | None
    chart_title: str
    chart_summary: str
    retrieval: tuple[Matrix, ...]
    links: Matrix | None
    how: str


def names_page(record: Record, _: Board) -> NamesPage:
    """The page of a record."""
    where, arguments = Where(record), record.arguments
    chart, title, summary = _chart(where)
    forests = ablation_forests(where)
    return NamesPage(
        facts=_facts(where),
        verdict=names_verdict(record, _),
        margins=base_margins(where),
        forests=forests,
        beside=side_by_side(forests[:BESIDE]),
        chart=chart,
        chart_title=title,
        chart_summary=summary,
        retrieval=tuple(_retrieval(where)),
        links=links(
            where, HEADLINE, (*((name, f"queries, {name}") for name in IDENTITY), (ACROSS, "all conditions"))
        ),
        how=f"95%, bootstrap over queries with all their runs, corrected for bias and few queries, "
        f"{numbers.count(arguments.get('resamples', 0))} resamples, seed {arguments.get('seed')}",
    )


def names_verdict(record: Record, _: Board) -> Verdict:
    """What moves the margin: the identity of names, or how they are written."""
    where = Where(record)
    moved = [(group, percent, row) for group, percent, row in _moved(where)]
    if not any(where.each()):
        return Verdict(("No margin is finished yet.",))
    identity = [abs(percent) for group, percent, _ in moved if group == "identity"]
    form = [abs(percent) for group, percent, _ in moved if group != "identity"]
    if not identity or not form:
        heading = "How far names hold the right passage apart from impostors"
    elif min(identity) > max(form):
        heading = "Whose name it is moves the margin more than how it is written"
    else:
        heading = "How a name is written can move the margin as much as whose it is"
    return Verdict((heading,), tuple(_lede(where)))


def _moved(where: Where) -> Iterator[tuple[str, float, str]]:
    """Group, percent and name of every ablation with a percentage, of embedding models where there are any; the mask
    is left out: it takes all by definition."""
    each = list(where.each())
    models = [one for one in each if one[2].kind == "embedding"] or each
    for dataset, _, system in models:
        for name, condition in CONDITIONS.items():
            value = where.value(dataset, system.name, name, PERCENT)
            if value is not None and name != MASK:
                yield condition.group, value, name


def _lede(where: Where) -> Iterator[Sentence]:
    found = [
        (row.value, where.labels[system.name], said, row)
        for dataset, said, system in where.each()
        if (row := where.find(dataset, system.name, "", HEADLINE)) is not None and row.value is not None
    ]
    if not found:
        return
    value, label, said, row = max(found, key=lambda one: one[0])
    ends = f" ({SCORE.interval(row.ci_low, row.ci_high or 0.0)})" if row.ci_low is not None else ""
    if len(found) == 1:
        yield (f"The name margin of {label} in {said} is {SCORE.text(value)}{ends}.",)
    else:
        least = min(found, key=lambda one: one[0])
        yield (
            f"The name margin is largest for {label} in {said}, {SCORE.text(value)}{ends}, and smallest for "
            f"{least[1]} in {least[2]}, {SCORE.text(least[0])}; scales of systems differ.",
        )
    masked = [where.value(dataset, system.name, MASK, HEADLINE) for dataset, _, system in where.each()]
    known = [one for one in masked if one is not None]
    if known and all(one == 0 for one in known):
        yield ("With every author masked the margin is exactly 0, as it must be.",)
    elif known:
        yield ("With every author masked a margin is not 0: equal texts get unequal similarities.",)


def base_margins(where: Where) -> Matrix:
    """A row per system and language: the three margins, the ratio of two, and how runs differ."""
    lines = []
    for dataset, said, system in where.each():
        cells = [entry(where.find(dataset, system.name, "", one), SCORE) for one in (*MARGINS, RATIO)]
        spread = where.find(dataset, system.name, "", SD)
        known = spread is not None and spread.value is not None
        cells.append(
            Entry(f"{spread.value:.4f}", f"{numbers.counted(spread.n, 'run')}", f"{spread.value:.6g}")
            if known and spread is not None and spread.value is not None
            else Entry("n/a", why="one run only")
        )
        lines.append(Line(f"{where.labels[system.name]}, {said}", tuple(cells), system.kind))
    columns = (*(TITLES[one] for one in MARGINS), "Name/topic", "SD between runs")
    return Matrix("margins", "Base margins", "System", columns, tuple(lines), digits=3)


def _retrieval(where: Where) -> Iterator[Matrix]:
    """A table per measure: a row per condition, a column per system and language."""
    each = list(where.each())
    columns = tuple(f"{where.labels[system.name]}, {said}" for _, said, system in each)
    for measure in MEASURES:
        lines = []
        for name in CONDITIONS:
            variant = "" if name == "base" else name
            rows = [where.find(dataset, system.name, variant, measure) for dataset, _, system in each]
            if any(row is not None for row in rows):
                lines.append(Line(name, tuple(entry(row, SCORE) for row in rows)))
        if lines:
            place = MEASURES.index(measure)
            yield Matrix(
                f"name-retrieval-{place}",
                measure,
                "Condition",
                columns,
                tuple(lines),
                digits=3,
                is_sorted=True,
            )


def _chart(where: Where) -> tuple[Markup | None, str, str]:
    """Change of the margin across, change of recall up, a point per ablation: of the first system and language that
    loses recall anywhere."""
    for dataset, said, system in where.each():
        found = list(_points(where, dataset, system.name))
        points = [point for _, point in found]
        if len(points) < 4 or len({one.y for one in points}) < 2:
            continue
        x = Axis(
            scale_of([*(one.x for one in points), 0.0], within=(-100.0, 100.0)),
            "Name margin, change in percent",
        )
        y = Axis(scale_of([*(one.y for one in points), 0.0], within=None), f"{RECALL}, change")
        label = f"{where.labels[system.name]}, {said}"
        said_points = "; ".join(
            f"{name} {PERCENTS.change(one.x)} percent, {SCORE.change(one.y)}" for name, one in found
        )
        return scatter(points, x, y), f"Margin lost and recall lost, {label}", f"{label}: {said_points}."
    return None, "", ""


def _points(where: Where, dataset: str, system: str) -> Iterator[tuple[str, Point]]:
    """Each ablation with its place."""
    for name, condition in CONDITIONS.items():
        percent = where.value(dataset, system, name, PERCENT)
        lost = where.value(dataset, system, name, f"{RECALL} change")
        if percent is not None and lost is not None:
            kind: Kind = "embedding" if condition.group == "identity" else "classical"
            label = name.replace("_", " ") if condition.group == "identity" else ""
            yield name, Point(percent, lost, kind, label)


def _facts(where: Where) -> tuple[str, ...]:
    arguments = where.record.arguments
    queries = min(arguments.get("queries", 0), arguments.get("limit") or arguments.get("queries", 0))
    return (
        "RAG, name probe",
        numbers.counted(len(where.systems), "system"),
        ", ".join(dict.fromkeys(said for _, said, _ in where.each())),
        f"{numbers.counted(queries, 'query')} × {numbers.counted(arguments.get('runs', 0), 'run')}",
    )
