"""A run's table for a paper: booktabs, values with their intervals, ranks, bold for who may be first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.interchange.tables import Column, Wide
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import Unit, escape, unit_of
from embassay.records import Result

WIDEST = 4
"""Columns of values that fit a page; a table with more comes in parts."""


def value_with_interval(
    value: float, low: float | None, high: float | None, unit: Unit, *, bold: bool
) -> str:
    """A value in its unit, with its interval small beside it where there is one."""
    text = escape(unit.text(value))
    text = rf"\textbf{{{text}}}" if bold else text
    return (
        text if low is None or high is None else rf"{text} {{\scriptsize {escape(unit.interval(low, high))}}}"
    )


def latex_table(table: Wide) -> str:
    r"""The table of a run, in parts where it has many columns; to be read with `\input`, needs booktabs and graphicx.

    The columns over datasets, or all where there are none such. Missing values are n/a, their reasons below.
    """
    chosen = table.over_datasets
    parts = [chosen[i : i + WIDEST] for i in range(0, len(chosen), WIDEST)]
    head = rf"% Made by Embassay from {escape(table.run.name)}, manifest {table.run.manifest_digest}."
    lines = [head, r"% Needs \usepackage{booktabs,graphicx}."]
    for number, places in enumerate(parts, start=1):
        of = f", part {number} of {len(parts)}" if len(parts) > 1 else ""
        lines += ["", *_part(table, places, of, number)]
    return "\n".join(lines) + "\n"


def _part(table: Wide, places: Sequence[int], of: str, number: int) -> Iterator[str]:
    unit, ranked = unit_of(table.run.protocol), any(table.ranks)
    yield from (r"\begin{table}", r"\centering", r"\small", r"\setlength{\tabcolsep}{4pt}")
    yield rf"\caption{{{_caption(table, unit, of)}}}"
    yield rf"\label{{tab:embassay-{_label(table.run.name)}-{number}}}"
    yield r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    yield rf"\begin{{tabular}}{{{'r' if ranked else ''}l{'r' * len(places)}}}"
    yield r"\toprule"
    yield from _heads([table.columns[i] for i in places], ["Rank"] if ranked else [])
    group = table.groups[0] if table.groups else 0
    for i, system in enumerate(table.systems):
        if table.groups[i] != group:
            group = table.groups[i]
            yield r"\midrule"
        values = [_value(table.cells[i][j], system in table.first[j], unit) for j in places]
        rank = table.ranks[i]
        place = [escape(numbers.rank(*rank)) if rank else ""] if ranked else []
        yield " & ".join([*place, escape(system), *values]) + r" \\"
    yield from (r"\bottomrule", r"\end{tabular}}")
    if reasons := list(_reasons(table, places)):
        yield r"\par\smallskip\footnotesize " + " ".join(reasons)
    yield r"\end{table}"


def _heads(columns: Sequence[Column], before: Sequence[str]) -> Iterator[str]:
    """What each column is of, and below it the measure, where that is another word."""
    titles = [_words(column.title.removesuffix(column.measure) or column.measure) for column in columns]
    yield " & ".join([*before, "System", *titles]) + r" \\"
    measures = [_words(column.measure) if column.measure != column.title else "" for column in columns]
    if any(measures):
        yield " & ".join([*([""] * len(before)), "", *measures]) + r" \\"
    yield r"\midrule"


def _words(name: str) -> str:
    return escape(name.replace("_", " "))


def _caption(table: Wide, unit: Unit, of: str) -> str:
    said = [f"{escape(table.run.title)}{of}."]
    if any(row is not None and row.ci_low is not None for cells in table.cells for row in cells):
        said.append(r"Values with 95\% intervals.")
    if unit.factor != 1:
        said.append(rf"Values are times {unit.factor:g}.")
    if any(table.ranks):
        said.append("Rank: the places that the tests allow, among those between two rules.")
    if any(table.first):
        said.append("Bold: may be first.")
    return " ".join(said)


def _value(row: Result | None, best: bool, unit: Unit) -> str:
    if row is None:
        return "--"
    if row.value is None:
        return "n/a"
    return value_with_interval(row.value, row.ci_low, row.ci_high, unit, bold=best)


def _reasons(table: Wide, places: Sequence[int]) -> Iterator[str]:
    """Why values are missing: each reason once with whom it is true of."""
    found: dict[str, list[str]] = {}
    for system, cells in zip(table.systems, table.cells, strict=True):
        for j in places:
            row = cells[j]
            if row is not None and row.value is None:
                found.setdefault(f"{table.columns[j].title}: {row.reason or 'no value'}", []).append(system)
    for reason, systems in found.items():
        yield f"{escape(', '.join(systems))}, {escape(reason)}."


def _label(text: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text)
