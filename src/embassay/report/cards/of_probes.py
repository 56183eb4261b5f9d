"""What the probes say of one system: what names and small talk do to its similarities."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.protocols.numbers import Unit
from embassay.protocols.rag.probes.found import RECALL
from embassay.protocols.rag.probes.names.conditions import CONDITIONS
from embassay.protocols.rag.probes.names.outcome import HEADLINE, PERCENT
from embassay.protocols.rag.probes.noise.outcome import SHARE
from embassay.protocols.rag.probes.noise.wordings import NOISIEST, level_name
from embassay.records import Result
from embassay.report.cards.findings import Finding, figure, finding, known, percents
from embassay.report.gathered import Run
from embassay.report.rag.probes.where import Where

PERCENTS = Unit(1.0, 1, 1)
MASK = "hard_name_mask"
"""The ablation that takes all of the margin by definition."""


def names_good(run: Run, system: str) -> Iterator[Finding]:
    """That the right passage stays ahead of impostors."""
    where = Where(run.record)
    rows = _of(where, system, "", HEADLINE)
    if rows and all(row.ci_low is not None and row.ci_low > 0 for row in rows):
        least = min(rows, key=lambda row: row.value or 0.0)
        yield finding(
            run, f"tells the right name from impostors by {figure(least)}{_in(where, least)}", weight=1
        )


def names_bad(run: Run, system: str) -> Iterator[Finding]:
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


def noise_bad(run: Run, system: str) -> Iterator[Finding]:
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
