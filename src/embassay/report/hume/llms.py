"""Language models as annotators by family, people above them and the best model of each family below."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.protocols import numbers
from embassay.protocols.hume.published.correlated import correlated
from embassay.protocols.hume.summary.record import Summary
from embassay.report.hume.averages import AverageRow, Averages, Mean, averages
from embassay.report.hume.standing import system_names
from embassay.report.hume.words import COEFFICIENT, FAMILIES, POINTS, answerers, named
from embassay.report.names import labels

Cell = tuple[str, str, str]
"""A text, what stands under it, the exact value."""
FEWEST = 5
"""Pairs from which on it is told whether the same ones are hard."""


@dataclass(frozen=True)
class LlmRow:
    """Means with, under each, the difference to people (a model's name for the best ones); answers that failed."""

    label: str
    kind: str
    cells: tuple[Cell, ...]
    failed: str


@dataclass(frozen=True)
class Llms:
    """The table; `said` is a sentence on where language models stand."""

    columns: tuple[str, ...]
    rows: tuple[LlmRow, ...]
    pairs: int
    left_out: str
    said: str
    has_failed: bool
    has_rho: bool


def llms(summary: Summary) -> Llms | None:
    """The table of means; None without language models."""
    found = averages(summary)
    if found is None:
        return None
    label = labels(system_names(summary))
    who = answerers(summary)
    counts = [mean.pairs for mean in found.people.means]
    heads = [*(FAMILIES[family] for family in found.families), "All"]
    columns = tuple(f"{head}, {numbers.counted(n, 'pair')}" for head, n in zip(heads, counts, strict=True))
    hard = _hardness(summary, found) if found.pairs >= FEWEST else {}
    columns += ("Same pairs hard, ρ",) if hard else ()
    rows = tuple(_row(row, found, who, label, hard) for row in found.rows)
    absent = [
        one for one in FAMILIES if one not in found.families and any(p.family == one for p in summary.pairs)
    ]
    return Llms(
        columns,
        rows,
        found.pairs,
        ", ".join(map(named, absent)),
        _said(found, who),
        any(row.failed for row in found.rows),
        bool(hard),
    )


def _hardness(summary: Summary, found: Averages) -> dict[str, Cell]:
    """Spearman of a language model's scores and people's over the pairs of both, with its p. Source: spec hume 8.1."""
    made = {}
    for row in found.llms:
        both = [
            (pair.human.value, one.score.value)
            for pair in summary.pairs
            for one in pair.llms
            if one.system == row.name and one.score.value is not None and pair.human.value is not None
        ]
        one = correlated([human for human, _ in both], [score for _, score in both])
        known = one.rho is not None and one.p is not None
        made[row.name] = (
            (COEFFICIENT.text(one.rho or 0.0), f"p {numbers.p_value(one.p or 0.0)}", f"{one.rho:.6g}")
            if known
            else (numbers.NONE, "", "")
        )
    return made


def _row(row: AverageRow, found: Averages, who: str, label: dict[str, str], hard: dict[str, Cell]) -> LlmRow:
    name = {"human": who.capitalize(), "best": "Best model of each"}.get(
        row.kind, label.get(row.name, row.name)
    )
    kind = {"best": "embedding"}.get(row.kind, row.kind)
    cells = tuple(
        _cell(mean, base, row.kind, label) for mean, base in zip(row.means, found.people.means, strict=True)
    )
    cells += (hard.get(row.name, ("", "", "")),) if hard else ()
    return LlmRow(name, kind, cells, "" if row.kind != "llm" else str(row.failed))


def _cell(mean: Mean, people: Mean, kind: str, label: dict[str, str]) -> Cell:
    """Text, what stands under it, exact value."""
    if mean.value is None:
        return numbers.NONE, "", ""
    exact = f"{100 * mean.value:.6g}"
    if kind == "best":
        return POINTS.text(mean.value), label.get(mean.of, mean.of), exact
    if kind == "human" or people.value is None or mean.pairs != people.pairs:
        few = f"{numbers.counted(mean.pairs, 'pair')}" if mean.pairs != people.pairs else ""
        return POINTS.text(mean.value), few, exact
    return POINTS.text(mean.value), POINTS.change(mean.value - people.value), exact


def _said(found: Averages, who: str) -> str:
    """In how many families the best language model is below people, by the means."""
    below = []
    for i, family in enumerate(found.families):
        known = [mean.value for row in found.llms if (mean := row.means[i]).value is not None]
        people = found.people.means[i].value
        if known and people is not None and max(value for value in known if value is not None) < people:
            below.append(named(family))
    if not below:
        return f"In no family do all language models stay below {who} by the mean."
    return f"All language models stay below {who} on {' and '.join(filter(None, (', '.join(below[:-1]), below[-1])))}."
