"""What a study until decided says: its verdict, where each comparison stands, and what more labels would buy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.document.blocks import Block, Entry, Heading, Line, Table, Verdict, figures
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.decision.record import Ahead, Decision, Standing


def decision_view(found: Decision) -> Iterator[Block]:
    """On a terminal."""
    yield Verdict((found.verdict,), tuple((one,) for one in found.lede))
    yield _standings(found)
    if found.ahead:
        yield ahead_table(found.ahead)


def _standings(found: Decision) -> Table:
    lines = tuple(
        Line(
            f"{one.a} minus {one.b or 'the bar'}",
            (Entry(f"{one.value:+.3f}"), Entry(_interval(one)), Entry(_said(one))),
        )
        for one in found.standings
    )
    columns = figures(found.measure, f"{1 - found.alpha:.0%} at every look", "Decided")
    return Table("decision", "Where it stands", "Comparison", columns, lines, is_sortable=False)


def _interval(one: Standing) -> str:
    return f"{one.low:+.3f} to {one.high:+.3f}"


def _said(one: Standing) -> str:
    if not one.sign:
        return "open"
    if one.b:
        return f"{one.better} is better"
    return "met" if one.better == one.a else "missed"


def ahead_table(ahead: Sequence[Ahead]) -> Table:
    """What more labels would buy."""
    priced = any(one.usd is not None for one in ahead)
    lines = tuple(
        Line(
            f"{one.more:,} more",
            (
                Entry(f"± {one.half:.3f}"), Entry(numbers.percent(one.chance)),
                *((Entry(f"${one.usd:,.2f}"),) if one.usd is not None else ()),
            ),
        )
        for one in ahead
    )  # fmt: skip
    titles = ("Interval", "Chance of a decision", *(("Cost",) if priced else ()))
    return Table("ahead", "What more labels would buy", "Labels", figures(*titles), lines, is_sortable=False)


def ahead_blocks(ahead: Sequence[Ahead]) -> Iterator[Block]:
    """The same under a heading, on a page."""
    if ahead:
        yield Heading("What would more labels buy?", "ahead")
        yield ahead_table(ahead)
