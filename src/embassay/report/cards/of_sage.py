"""What SAGE says of one system: which edits it withstands and which move it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from embassay.protocols import numbers
from embassay.records import Result
from embassay.report.board import Row
from embassay.report.cards.findings import Finding, figure, finding, known, share
from embassay.report.gathered import Run
from embassay.report.items.groups import SEMANTIC, SUPERFICIAL, edit_words
from embassay.report.record import Record

RELATION = "superficial_over_semantic"
REPLACED = "replaced:"
ENOUGH = 0.5
"""A share of documents under one half is told of."""


def good(run: Run, row: Row) -> Iterator[Finding]:
    """The edit under which it keeps more of its retrieval than any other system."""
    record, name = run.record, row.system.name
    others = [one.name for one in record.ranked_systems if one.name != name]
    ahead: list[tuple[float, Result]] = []
    for one in _kept(record, name):
        rivals = known([_retention(record, other, one.variant, one.dataset) for other in others])
        if rivals and (one.value or 0.0) > max(rival.value or 0.0 for rival in rivals):
            ahead.append(((one.value or 0.0) - max(rival.value or 0.0 for rival in rivals), one))
    if ahead:
        _, most = max(ahead, key=lambda pair: pair[0])
        clause = (
            f"keeps {figure(most)} of its nDCG@10 where documents are {_edited(most)}{_on(record, most)}, the highest "
            "value of all; no test compares these"
        )
        yield finding(run, clause, weight=1, place="sage-retrieval")


def bad(run: Run, row: Row) -> Iterator[Finding]:
    """How often noise is put below a change of meaning, by which edits, and what retrieval loses most to."""
    record, name = run.record, row.system.name
    relation = _least(record, lambda dataset: [_share(record, name, dataset, "share", RELATION)])
    if relation is not None and (relation.value or 0.0) < ENOUGH:
        clause = f"keeps every kind of noise above every change of meaning on {_only(relation)} documents"
        yield finding(run, clause + _on(record, relation), weight=5, place="sage-robustness")
    noise = _least(
        record, lambda dataset: [_share(record, name, dataset, "above_summary", e) for e in SUPERFICIAL]
    )
    if noise is not None and (noise.value or 0.0) < ENOUGH:
        clause = (
            f"puts a text {NOISY[noise.variant]} no higher than its own summary on {_others(noise)} documents"
        )
        yield finding(run, clause + _on(record, noise), weight=3, place="sage-robustness")
    meaning = _least(
        record, lambda dataset: [_share(record, name, dataset, "below_summary", e) for e in SEMANTIC]
    )
    if meaning is not None and (meaning.value or 0.0) < ENOUGH:
        clause = (
            f"puts a text {NOISY[meaning.variant]} no lower than its summary on {_others(meaning)} documents"
        )
        yield finding(run, clause + _on(record, meaning), weight=3, place="sage-robustness")
    kept = _kept(record, name)
    if kept:
        least = min(kept, key=lambda one: one.value or 0.0)
        where = f"where documents are {_edited(least)}{_on(record, least)}"
        clause = f"keeps least of its nDCG@10, {figure(least)}, {where}"
        yield finding(run, clause, weight=2, place="sage-retrieval")


def _share(record: Record, system: str, dataset: str, measure: str, variant: str) -> Result | None:
    return record.find("robustness", system, measure, dataset=dataset, variant=variant)


def _only(row: Result) -> str:
    """`only 4 of 48 (8%)`, `none of 48`."""
    return f"only {share(row)}" if round((row.value or 0.0) * row.n) else f"none of {numbers.count(row.n)}"


def _others(row: Result) -> str:
    """The share of items that are not counted: `44 of 48 (92%)`, `all of 48`."""
    rest = 1.0 - (row.value or 0.0)
    return numbers.share(rest, row.n) if round(rest * row.n) < row.n else f"all of {numbers.count(row.n)}"


def _least(record: Record, rows: Callable[[str], Sequence[Result | None]]) -> Result | None:
    """The row with the lowest value over the datasets of robustness."""
    found = known([row for dataset in record.datasets("robustness") for row in rows(dataset)])
    return min(found, key=lambda row: row.value or 0.0) if found else None


def _retention(record: Record, system: str, variant: str, dataset: str) -> Result | None:
    return record.find("retrieval", system, "retention", dataset=dataset, variant=variant)


def _kept(record: Record, system: str) -> list[Result]:
    """What is kept under each edit of the corpus, on every dataset."""
    return [
        row
        for (task, dataset, _, variant, name, measure), row in record.rows.items()
        if (task, name, measure) == ("retrieval", system, "retention")
        and dataset and variant.startswith(REPLACED) and row.value is not None
    ]  # fmt: skip


NOISY = {
    "capitalize": "in capitals", "delete10": "without every tenth letter", "numerize": "with digits for letters",
    "negate": "that is negated", "sentence_shuffle": "of shuffled sentences", "word_shuffle": "of shuffled words",
}  # fmt: skip
EDITED = {
    "capitalize": "in capitals", "delete10": "missing every tenth letter",
    "numerize": "written with digits for letters",
    "negate": "negated", "sentence_shuffle": "shuffled by sentences", "word_shuffle": "shuffled by words",
}  # fmt: skip


def _edited(row: Result) -> str:
    edit = row.variant.removeprefix(REPLACED)
    return EDITED.get(edit) or f"changed, {edit_words(edit)}"


def _on(record: Record, row: Result) -> str:
    return f" ({row.dataset})" if len(record.datasets(row.task)) > 1 else ""
