"""What both probes share: looking rows up, links to retrieval, the probe on a terminal, and what it says on cards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from embassay.document.blocks import Block, Care, Column, Command, Line, Table, Text, figures
from embassay.document.tables import entry
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import SCORE, Unit
from embassay.protocols.rag.probes import names as names
from embassay.protocols.rag.probes import noise as noise
from embassay.protocols.rag.probes.bundles import CONDITIONS
from embassay.protocols.rag.probes.names import HEADLINE, PERCENT
from embassay.protocols.rag.probes.noise import COSINE, SHARE
from embassay.protocols.rag.probes.questions import NOISIEST, level_name
from embassay.protocols.rag.probes.resampling import MEASURES, RECALL
from embassay.records import Result
from embassay.report.cards.findings import Finding, figure, finding, known, percents
from embassay.report.notes import notes_of
from embassay.report.overview import run_verdict
from embassay.report.record import Record, System, labels, read_record
from embassay.report.runs import ReportRun, gathered
from embassay.report.terminal import where

LANGUAGES = {"en": "English", "fr": "French"}


@dataclass(frozen=True)
class Where:
    """A record of a probe, by system and dataset."""

    record: Record

    @cached_property
    def task(self) -> str:
        return self.record.kind

    @cached_property
    def datasets(self) -> tuple[tuple[str, str], ...]:
        """Name and language of each dataset that has rows, in the order of the run."""
        langs = {row.dataset: row.lang for row in self.record.rows.values()}
        return tuple((name, langs[name]) for name in self.record.datasets(self.task) if name in langs)

    @cached_property
    def systems(self) -> tuple[System, ...]:
        return self.record.systems

    @cached_property
    def labels(self) -> dict[str, str]:
        """System -> what it is called where there is little room."""
        return labels([one.name for one in self.record.systems])

    def said(self, dataset: str, lang: str) -> str:
        """What a dataset is called: by its language where that tells it apart."""
        bare = {name: name.rpartition("-")[0] for name, _ in self.datasets if name.endswith(f"-{lang}")}
        return LANGUAGES.get(lang, lang) if bare.get(dataset) in ("bundled", "own") else dataset

    def each(self) -> Iterator[tuple[str, str, System]]:
        """Dataset, what it is called, and system: all that has a headline row."""
        for dataset, lang in self.datasets:
            for system in self.systems:
                if any(key[1] == dataset and key[4] == system.name for key in self._keys):
                    yield dataset, self.said(dataset, lang), system

    @cached_property
    def rewriters(self) -> tuple[str, ...]:
        """The rewriters of a noise probe, in order."""
        found = (key[3].partition(":")[2] for key in self.record.rows if key[3].startswith("level="))
        return tuple(dict.fromkeys(one for one in found if one))

    def find(self, dataset: str, system: str, variant: str, measure: str) -> Result | None:
        """The row, or None."""
        return self.record.find(self.task, system, measure, dataset=dataset, variant=variant)

    def value(self, dataset: str, system: str, variant: str, measure: str) -> float | None:
        """Its value, or None."""
        row = self.find(dataset, system, variant, measure)
        return None if row is None else row.value

    @cached_property
    def _keys(self) -> tuple[tuple[str, ...], ...]:
        return tuple(key for key, row in self.record.rows.items() if row.value is not None)


CORRELATION = Unit(1.0, 2, 2)
KIND = "Spearman"


def links(where: Where, of: str, variants: tuple[tuple[str, str], ...]) -> Table | None:
    """Spearman's correlation of the change of `of` with that of each retrieval measure, a row per system, dataset and
    variant (its name and what it is called); None where there is none."""
    lines = []
    for dataset, said, system in where.each():
        for variant, words in variants:
            rows = [
                where.find(dataset, system.name, variant, f"{KIND}({of} change, {measure} change)")
                for measure in MEASURES
            ]
            if any(row is not None for row in rows):
                cells = tuple(entry(row, CORRELATION, signed=True) for row in rows)
                lines.append(Line(f"{where.labels[system.name]}, {said}, {words}", cells, system.kind))
    if not any(cell.exact for line in lines for cell in line.entries):
        return None
    columns = tuple(f"{measure}" for measure in MEASURES)
    return Table(f"{where.task}-links", f"Correlation with the change of {of}", "Over", columns, tuple(lines))


PERCENTS = Unit(1.0, 1, 1)


def probe_view(run: Path) -> Iterator[Block]:
    """A probe; DataError when the folder holds no run."""
    shown = gathered((read_record(run),))[0]
    here = Where(shown.record)
    yield run_verdict(shown)
    yield _names(here) if here.task == names.TASK else _noise(here)
    yield Care(tuple(note.plain for note in notes_of(shown.record)))
    yield Text(("Tables: ", Command(str(run / "tables"))))
    yield from where(run)


def _names(where: Where) -> Table:
    """A row per system and language: base margin with interval, name/topic, percent under each ablation."""
    asked = [
        name
        for name in CONDITIONS
        if any(where.find(dataset, system.name, name, names.PERCENT) for dataset, _, system in where.each())
    ]
    heads: list[str | Column] = ["System", "Lang", *figures("Margin, 95%", "/topic", *map(_short, asked))]
    rows = []
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
    return Table.of("names", heads, rows)


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


def _noise(where: Where) -> Table:
    """A row per system and dataset, as asked and after each rewriter."""
    titles = ("Level 0", f"Level {NOISIEST}", "Drop, 95%", "Drop %", "Recovered", RECALL, "Change, 95%")
    return Table.of("noise", ("System", "Data", "Wording", *figures(*titles)), _noise_rows(where))


def _noise_rows(where: Where) -> Iterator[list[str]]:
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


MASK = "hard_name_mask"
"""The ablation that takes all of the margin by definition."""


def name_strengths(run: ReportRun, system: str) -> Iterator[Finding]:
    """That the right passage stays ahead of impostors."""
    where = Where(run.record)
    rows = _of(where, system, "", HEADLINE)
    if rows and all(row.ci_low is not None and row.ci_low > 0 for row in rows):
        least = min(rows, key=lambda row: row.value or 0.0)
        yield finding(
            run, f"tells the right name from impostors by {figure(least)}{_in(where, least)}", weight=1
        )


def name_weaknesses(run: ReportRun, system: str) -> Iterator[Finding]:
    """The language with the least margin where it can be 0, and the ablation that takes most."""
    where = Where(run.record)
    rows = _of(where, system, "", HEADLINE)
    unsure = [row for row in rows if row.ci_low is not None and row.ci_low <= 0]
    if unsure:
        least = min(unsure, key=lambda row: row.value or 0.0)
        yield finding(
            run,
            f"cannot be told to know the right name from impostors{_in(where, least)}: {figure(least)}",
            weight=3,
        )
    lost = [
        row for name in CONDITIONS if name != MASK for row in _of(where, system, name, PERCENT) if _below(row)
    ]
    if lost:
        most = min(lost, key=lambda row: row.value or 0.0)
        clause = (
            f"changes its name margin by {percents(most, PERCENTS)} under {most.variant.replace('_', ' ')}"
            f"{_in(where, most)}"
        )
        yield finding(run, clause, weight=1, place="names-ablations")


def noise_weaknesses(run: ReportRun, system: str) -> Iterator[Finding]:
    """What the noisiest questions take of its similarity, and of recall where that can be told from 0."""
    where = Where(run.record)
    drops = [row for row in _of(where, system, "", SHARE) if row.ci_low is not None and row.ci_low > 0]
    if drops:
        most = max(drops, key=lambda row: row.value or 0.0)
        clause = f"loses {percents(most, PERCENTS)} of the similarity to what is meant to small talk{_in(where, most)}"
        yield finding(run, clause, weight=2, place="noise-levels")
    recall = [row for row in _of(where, system, level_name(NOISIEST), f"{RECALL} change") if _below(row)]
    if recall:
        most = min(recall, key=lambda row: row.value or 0.0)
        yield finding(
            run, f"changes {RECALL} by {figure(most)} under small talk{_in(where, most)}", weight=3,
            place="noise-retrieval",
        )  # fmt: skip


def _of(where: Where, system: str, variant: str, measure: str) -> list[Result]:
    return known([where.find(dataset, system, variant, measure) for dataset, _ in where.datasets])


def _below(row: Result) -> bool:
    return row.ci_high is not None and row.ci_high < 0


def _in(where: Where, row: Result) -> str:
    said = {name: where.said(name, lang) for name, lang in where.datasets}
    return f" in {said.get(row.dataset, row.dataset)}" if len(said) > 1 else ""
