"""A probe on a terminal: verdict, one table, notes, the report's path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from embassay.protocols import numbers
from embassay.protocols.numbers import SCORE, Unit
from embassay.protocols.rag.probes.found import RECALL
from embassay.protocols.rag.probes.names import outcome as names
from embassay.protocols.rag.probes.names.conditions import CONDITIONS
from embassay.protocols.rag.probes.noise import outcome as noise
from embassay.protocols.rag.probes.noise.measured import COSINE
from embassay.protocols.rag.probes.noise.wordings import NOISIEST, level_name
from embassay.records import Result
from embassay.report.gathered import gathered
from embassay.report.names import labels
from embassay.report.notes import notes_of
from embassay.report.overview import run_verdict
from embassay.report.rag.probes.where import Where
from embassay.report.record import read_record
from embassay.report.textual import Column, folded, notes_below, render_table
from embassay.report.verdict import plain

if TYPE_CHECKING:
    from rich.text import Text

PERCENTS = Unit(1.0, 1, 1)
Cells = list["str | Text"]


def render_probe(run: Path, *, width: int = 80, wide: bool = False, unicode: bool = True) -> Text:
    """A probe as text, within `width` columns unless `wide`. DataError when the folder holds no run."""
    from rich.text import Text

    shown = gathered((read_record(run),))[0]
    where, verdict = Where(shown.record), run_verdict(shown)
    parts = [Text("\n").join(folded(plain(verdict.heading), width, unicode, "bold"))]
    if verdict.lede:
        parts.append(Text("\n").join(folded(" ".join(map(plain, verdict.lede)), width, unicode)))
    columns, rows = _names(where) if where.task == names.TASK else _noise(where)
    if rows:
        parts.append(render_table(columns, rows, width=width, wide=wide, unicode=unicode))
    notes = [note.plain for note in notes_of(shown.record)]
    parts += notes_below(notes, width=width, wide=wide, unicode=unicode)
    parts.append(Text(f"Tables: {run / 'tables'}"))
    if (run / "report.html").exists():
        parts.append(Text(f"Report: {run / 'report.html'}"))
    return Text("\n\n").join(parts)


def _names(where: Where) -> tuple[tuple[Column, ...], list[Cells]]:
    """A row per system and language: base margin with interval, name/topic, percent under each ablation."""
    asked = [
        name
        for name in CONDITIONS
        if any(where.find(dataset, system.name, name, names.PERCENT) for dataset, _, system in where.each())
    ]
    columns = (
        Column("System"), Column("Lang"), Column("Margin, 95%", right=True), Column("/topic", right=True),
        *(Column(_short(name), right=True) for name in asked),
    )  # fmt: skip
    rows: list[Cells] = []
    for dataset, said, system in where.each():
        ratio = where.value(dataset, system.name, "", names.RATIO)
        percents = (where.value(dataset, system.name, name, names.PERCENT) for name in asked)
        rows.append(
            [
                where.labels[system.name], said, _with_interval(where.find(dataset, system.name, "", names.HEADLINE)),
                "n/a" if ratio is None else SCORE.text(ratio),
                *("n/a" if one is None else f"{numbers.change(one, 0)}%" for one in percents),
            ]
        )  # fmt: skip
    return columns, rows


def _short(condition: str) -> str:
    """The first word that says what is done.

    >>> _short("hard_name_mask"), _short("gibberish_name"), _short("edit_distance_near_miss")
    ('mask', 'gibberish', 'near miss')
    """
    return _SHORT[condition]


_SHORT = {
    "hard_name_mask": "mask", "gibberish_name": "gibberish", "edit_distance_near_miss": "near miss",
    "remove_label": "label", "strip_diacritics": "accents", "initials_form": "initials",
    "name_order_inversion": "order", "case_punct_perturb": "case", "author_position_shift": "position",
    "unicode_normalization_stress": "unicode",
}  # fmt: skip


def _noise(where: Where) -> tuple[tuple[Column, ...], list[Cells]]:
    """A row per system and dataset, as asked and after each rewriter."""
    columns = (
        Column("System"), Column("Data"), Column("Wording"), Column("Level 0", right=True),
        Column(f"Level {NOISIEST}", right=True), Column("Drop, 95%", right=True), Column("Drop %", right=True),
        Column("Recovered", right=True), Column(RECALL, right=True), Column("Change, 95%", right=True),
    )  # fmt: skip
    return columns, list(_noise_rows(where))


def _noise_rows(where: Where) -> Iterator[Cells]:
    called = labels(where.rewriters)
    for dataset, said, system in where.each():
        for rewriter in ("", *where.rewriters):
            clean, noisy = level_name(0, rewriter), level_name(NOISIEST, rewriter)
            found = [
                where.value(dataset, system.name, *one)
                for one in (
                    (clean, COSINE),
                    (noisy, COSINE),
                    (noisy, noise.SHARE),
                    (noisy, noise.RECOVERED),
                    (noisy, RECALL),
                )
            ]
            first, last, share, back, recall = found
            yield [
                where.labels[system.name], said, called.get(rewriter, "as asked"), _number(first), _number(last),
                _with_interval(where.find(dataset, system.name, noisy, noise.HEADLINE)),
                "n/a" if share is None else PERCENTS.text(share), _number(back) if rewriter else "", _number(recall),
                _with_interval(where.find(dataset, system.name, noisy, f"{RECALL} change"), signed=True),
            ]  # fmt: skip


def _number(value: float | None) -> str:
    return "n/a" if value is None else SCORE.text(value)


def _with_interval(row: Result | None, *, signed: bool = False) -> str:
    if row is None or row.value is None:
        return "n/a"
    text = SCORE.change(row.value) if signed else SCORE.text(row.value)
    ends = "" if row.ci_low is None or row.ci_high is None else f" {SCORE.interval(row.ci_low, row.ci_high)}"
    return text + ends
