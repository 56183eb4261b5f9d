"""A golden set on a terminal: what came out, one table of labels, calls and claims, notes, where it lies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

from embassay.protocols import numbers
from embassay.protocols.rag.golden.summary import Figure, Golden
from embassay.report.rag.golden import LABELS, verdict_of
from embassay.report.rag.ordering import doubts, stops, targets
from embassay.report.rag.words import CLAIMS, failed_list
from embassay.report.textual import Column, folded, notes_below, render_table
from embassay.report.verdict import plain

if TYPE_CHECKING:
    from rich.text import Text

CHECK = "human_check.csv"
COLUMNS = (
    Column("Quantity"), Column("Median", right=True), Column("Mean", right=True), Column("From", right=True),
    Column("To", right=True), Column("What it is", wraps=True),
)  # fmt: skip
Cells = list["str | Text"]


def render_golden(
    golden: Golden, run: Path, *, width: int = 80, wide: bool = False, unicode: bool = True
) -> Text:
    """A golden set as text: verdict, table, notes and paths, within `width` columns unless `wide`."""
    from rich.text import Text

    verdict = verdict_of(golden)
    parts = [Text("\n").join(folded(plain(verdict.heading), width, unicode, "bold"))]
    lede = " ".join(map(plain, verdict.lede))
    parts += [Text("\n").join(folded(lede, width, unicode))] if lede else []
    parts.append(render_table(COLUMNS, list(_rows(golden)), width=width, wide=wide, unicode=unicode))
    parts += notes_below(_notes(golden), width=width, wide=wide, unicode=unicode)
    parts.append(Text("\n".join(_paths(golden, run))))
    return Text("\n\n").join(parts)


def _rows(golden: Golden) -> Iterator[Cells]:
    """Labels, calls, claims and steadiness, one row each."""
    for name, title in LABELS:
        found = (golden.labels.get(f"{name}_{of}") for of in ("median", "mean"))
        values = (numbers.NONE if one is None else f"{one:.1f}" for one in found)
        yield [title, *values, "", "", "passages per question"]
    calls = [one.calls for one in golden.queries if one.status == "done"]
    if any(calls):
        spread = (f"{median(calls):g}", f"{mean(calls):.1f}", str(min(calls)), str(max(calls)))
        yield ["Calls", *spread, "orders by the judge per question"]
    yield from _claims(golden)
    yield from _steadiness(golden)


def _claims(golden: Golden) -> Iterator[Cells]:
    """What the engine claims: that for which it has a target, or all where it has none."""
    done = [one.claims for one in golden.queries if one.status == "done"]
    wanted = targets(golden.settings.ranking)
    for name in wanted or CLAIMS:
        values = [one[name] for one in done if name in one]
        if values:
            figures = (median(values), mean(values), min(values), max(values))
            aim = f"; stops at {wanted[name]:g}" if wanted else ""
            words = CLAIMS[name].format(top=golden.settings.top) + aim
            yield ["Claimed", *(numbers.score(one) for one in figures), words]


def _steadiness(golden: Golden) -> Iterator[Cells]:
    """What was judged twice: the value and its interval."""
    again, ranking = golden.repeated, golden.ranking
    found: list[tuple[str, Figure | None, str]] = []
    if again is not None and not again.reason:
        found.append(("Same grade", again.exact, "share of passages graded twice"))
        found.append(("Turned round", again.discordant, "share of pairs that a repeat orders otherwise"))
    if ranking is not None and ranking.contradictions is not None:
        found.append(
            ("Contradicted", ranking.contradictions.share, "share of pairs shown twice and put both ways")
        )
    for title, one, what in found:
        if one is not None and one.value is not None:
            ends = ("" if end is None else numbers.score(end) for end in (one.low, one.high))
            yield [title, "", numbers.score(one.value), *ends, f"{what}; 95% interval"]


def _notes(golden: Golden) -> Iterator[str]:
    if golden.failed:
        total = numbers.counted(len(golden.queries), "question")
        yield f"{len(golden.failed)} of {total} failed: {failed_list(golden.failed)}."
    if said := stops(golden):
        yield said
    if said := doubts(golden):
        yield said
    yield from golden.ranking.notes if golden.ranking is not None else ()
    if golden.repeated is None or golden.repeated.reason:
        why = golden.repeated.reason if golden.repeated is not None else "--repeat asks some items again"
        yield f"Nothing was judged twice: {why}."
    if golden.tokens is not None:
        one = golden.tokens
        yield (
            f"Tokens per candidate ({one.tokenizer}): mean {one.mean:.1f}, SD {one.sd:.1f}, n = {numbers.count(one.n)}."
        )
    yield from (note for note in golden.notes if not (golden.failed and "questions failed" in note))


def _paths(golden: Golden, run: Path) -> Iterator[str]:
    if "qrels" in golden.exports:
        yield f"Judgements: {run / golden.exports['qrels']}"
    check = run / CHECK
    if check.exists():
        yield f"For a person to edit: {check}, then embassay rag check score {run} {check}"
    report = run / "report.html"
    if report.exists():
        yield f"Report: {report}"
