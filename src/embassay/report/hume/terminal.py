"""`embassay hume score` on a terminal: the finding, people and the best model pair by pair, notes, the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embassay.protocols import numbers
from embassay.protocols.hume.summary.record import Summary, read_summary
from embassay.report.hume.averages import averages
from embassay.report.hume.standing import Standing, standings, system_names
from embassay.report.hume.verdict import verdict_of
from embassay.report.hume.words import POINTS, agreed, answerers, interval, is_range, percent, points
from embassay.report.names import labels
from embassay.report.notes import notes_of
from embassay.report.record import read_record
from embassay.report.textual import Column, folded, notes_below, render_table
from embassay.report.verdict import plain

if TYPE_CHECKING:
    from rich.text import Text

Cells = list["str | Text"]
_LEADERS = 5


def render_hume(run: Path, *, width: int = 80, wide: bool = False, unicode: bool = True) -> Text:
    """A HUME run as text, within `width` columns unless `wide`. DataError where the folder has no `summary.json`."""
    from rich.text import Text

    folder = Path(run)
    summary = read_summary(folder)
    verdict, label = verdict_of(summary), labels(system_names(summary))
    parts = [Text("\n").join(folded(plain(verdict.heading), width, unicode, "bold"))]
    if verdict.lede:
        parts.append(Text("\n").join(folded(" ".join(map(plain, verdict.lede)), width, unicode)))
    if summary.pairs:
        rows = [_row(one, label) for one in standings(summary)]
        parts.append(render_table(_columns(summary), rows, width=width, wide=wide, unicode=unicode))
    if wide and summary.places:
        parts.append(render_table(*_places(summary, label), width=width, wide=wide, unicode=unicode))
    notes = [note.plain for note in notes_of(read_record(folder))]
    notes += [*_llms(summary, label), *_leaders(summary, label)]
    parts += notes_below(notes, width=width, wide=wide, unicode=unicode, signs=list(_signs(summary)))
    report = folder / "report.html"
    parts.append(Text(f"Report: {report}" if report.exists() else f"Tables: {folder / 'tables'}"))
    return Text("\n\n").join(parts)


def _columns(summary: Summary) -> list[Column]:
    who = answerers(summary).capitalize().removesuffix(" annotators")
    right = ("n", f"{who}, 95%")
    return [
        Column("Pair"), *(Column(title, right=True) for title in right), Column("Agreement"),
        Column("Best", right=True), Column("Difference", right=True), Column("Model"),
        Column("Of people", right=True), Column("Paired, 95%", right=True),
    ]  # fmt: skip


def _row(one: Standing, label: Mapping[str, str]) -> Cells:
    pair, best = one.pair, one.best
    agreement = agreed(pair) + (" !" if pair.trust == "low" else "")
    people = f"{points(pair.human)} {interval(pair.human)}{' r' if is_range(pair.human) else '  '}"
    cells: Cells = [pair.name, numbers.count(pair.n), people, agreement]
    if best is None:
        return [*cells, numbers.NONE, numbers.NONE, "no model", numbers.NONE, numbers.NONE]
    gap, paired = one.gap(), best.difference
    return [
        *cells, points(best.score) + ("*" if best.outside else " "),
        numbers.NONE if gap is None else POINTS.change(-gap), label[best.system],
        percent(best.percent_of_human), numbers.NONE if paired is None else interval(paired),
    ]  # fmt: skip


def _places(summary: Summary, label: Mapping[str, str]) -> tuple[list[Column], list[Cells]]:
    columns = [
        Column("Place", right=True),
        Column("Who"),
        Column("Mean over pairs", right=True),
        Column("Kind"),
    ]
    rows: list[Cells] = [
        [
            numbers.NONE if one.rank is None else str(one.rank),
            answerers(summary).capitalize() if one.kind == "human" else label.get(one.system, one.system),
            points(one.mean) if one.mean.value is not None else one.mean.reason or "n/a", one.kind,
        ]
        for one in summary.places
    ]  # fmt: skip
    return columns, rows


def _llms(summary: Summary, label: Mapping[str, str]) -> Iterator[str]:
    found = averages(summary)
    if found is None:
        return
    said = ", ".join(
        f"{label[row.name]} {POINTS.text(row.overall.value)}"
        for row in found.llms
        if row.overall.value is not None
    )
    people = found.people.overall.value
    beside = "" if people is None else f"; {answerers(summary)} on the same pairs {POINTS.text(people)}"
    yield f"Language models as annotators, mean over {numbers.counted(found.pairs, 'pair')}: {said}{beside}."


def _leaders(summary: Summary, label: Mapping[str, str]) -> Iterator[str]:
    ranked = [one for one in summary.places if one.rank is not None][:_LEADERS]
    if len(summary.pairs) < 2 or len(ranked) < 2:
        return
    who = answerers(summary)
    named = (
        f"{one.rank} {who if one.kind == 'human' else label.get(one.system, one.system)} {points(one.mean)}"
        for one in ranked
    )
    yield f"Places by the mean over pairs: {', '.join(named)}."


def _signs(summary: Summary) -> Iterator[str]:
    every: Sequence[Standing] = standings(summary)
    if any(one.best is not None and one.best.outside for one in every):
        yield (
            f"* outside the interval of {answerers(summary)}. It is no test: the model’s own uncertainty plays no part."
        )
    if any(is_range(one.pair.human) for one in every):
        yield "r: from the lowest to the highest annotator, which is no 95% interval. All others are at 95%."
    if any(one.pair.trust == "low" for one in every):
        yield "! low agreement: kappa or ARI under 0.4, Spearman under 0.6."
    yield f"Points are a hundred times the measure. Difference: best model less {answerers(summary)}."
