"""What few labels tell: where a study until decided stands, what people made of a judge, and what more would buy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.document.blocks import Block, Entry, Line, Table, Text, Verdict, figures
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.decision.outcome import Ahead, Decision, Standing
from embassay.protocols.rag.scoring.correction import Bought, Correction, Corrections, Off


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


def corrections_view(found: Corrections, headline: str) -> Iterator[Block]:
    """What people's grades made of the judge's: by one measure, and where the judge is off."""
    yield corrected_table(found, headline)
    yield off_table(found.off)
    yield Text(_agreement(found))
    if found.ahead:
        yield bought_table(found.ahead)


def corrected_table(found: Corrections, headline: str) -> Table:
    """Each run, and each difference, by people and judge beside either alone."""
    rows = [one for one in found.rows if one.measure == headline]
    columns = figures("Corrected, 95%", "People alone, 95%", "Judge alone", "Labels", "Worth")
    return Table(
        "corrected", "People and judge", headline, columns, tuple(map(_corrected, rows)), is_sortable=False
    )


def _corrected(one: Correction) -> Line:
    sign = "+" if one.other else ""
    ends = [f"{value:{sign}.3f}" for value in (one.value, one.low, one.high)]
    own = [f"{value:{sign}.3f}" for value in (one.alone, one.alone_low, one.alone_high)]
    return Line(
        f"{one.run} minus {one.other}" if one.other else one.run,
        (
            Entry(f"{ends[0]} {ends[1]}–{ends[2]}"), Entry(f"{own[0]} {own[1]}–{own[2]}"),
            Entry(f"{one.judge:{sign}.3f}"), Entry(f"{one.n:,} {one.unit}"),
            Entry(f"{one.effective:,.0f}" if one.slope else "judge unused"),
        ),
    )  # fmt: skip


def off_table(off: Sequence[Off]) -> Table:
    """How far the judge's grades are above people's."""
    lines = tuple(
        Line(
            one.kind,
            (
                Entry(f"{one.mean:+.2f}"),
                Entry("–" if one.low is None or one.high is None else f"{one.low:+.2f} to {one.high:+.2f}"),
                Entry(f"{one.n:,}"),
            ),
        )
        for one in off
    )
    columns = figures("Judge minus people", "95%", "Passages")
    return Table("judge-off", "Where the judge is off", "Passages", columns, lines, is_sortable=False)


def _agreement(found: Corrections) -> str:
    kappa = "" if found.kappa is None else f", weighted kappa {found.kappa:.2f}"
    return (
        f"{found.passages:,} passages of {numbers.counted(found.queries, 'query')} have both grades: "
        f"{numbers.percent(found.exact)} alike{kappa}. {found.use}"
    )


def bought_table(ahead: Sequence[Bought]) -> Table:
    """What more labels of people would buy, where runs cannot be told apart."""
    lines = tuple(
        Line(
            f"{one.run} minus {one.other}",
            (Entry(f"{one.more:,} more"), Entry(f"± {one.half:.3f}"), Entry(numbers.percent(one.chance))),
        )
        for one in ahead
    )
    columns = figures("Labels", "Interval", "Chance to tell them apart")
    return Table("bought", "What more labels would buy", "Runs", columns, lines, is_sortable=False)
