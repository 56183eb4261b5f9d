"""What few labels tell: where a study until decided stands, what people made of a judge, and what more would buy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from embassay.document.blocks import Block, Entry, Line, Table, Text, Verdict, figures
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.quantities import JudgeBias, Quantity, ahead, undecided
from embassay.protocols.rag.decision.outcome import Ahead, Decision, Standing
from embassay.protocols.rag.scoring.correction import Bought, Correction, Corrections, Off
from embassay.protocols.rag.scoring.score import Score
from embassay.report.notes import outlook_table


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


def undecided_blocks(score: Score, price: float | None = None) -> Iterator[Block]:
    """What more judged questions would buy for the two runs that are nearest to a decision by the headline, of those
    that cannot be told apart and may be first. A question costs as many labels as those of the file have."""
    compared = next((one for one in score.comparisons if one.measure == score.headline and one.pairs), None)
    if compared is None:
        return
    first = {run for run, low in zip(compared.runs, compared.rank_low, strict=True) if low == 1}
    pairs = [
        one for one in compared.pairs if not one.better and one.high > one.low and {one.a, one.b} & first
    ]
    if not pairs:
        return
    one = max(pairs, key=lambda pair: abs(pair.difference) / (pair.high - pair.low))
    rows = undecided(one.difference, (one.high - one.low) / 2, one.n, len(compared.pairs))
    labels = score.judgements.documents / max(score.judgements.queries, 1)
    title = f"What more questions like these would buy, {one.a} minus {one.b}"
    yield Text(f"{title}:")
    yield outlook_table(title, "Questions", rows, labels=[labels] * len(rows), price=price)


def corrections_view(found: Corrections, headline: str, price: float | None = None) -> Iterator[Block]:
    """What people's grades made of the judge's: by one measure, and where the judge is off."""
    yield corrected_table(found, headline)
    yield off_table(found.off)
    yield Text(_agreement(found))
    if found.ahead:
        yield bought_table(found.ahead, price)


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


def quantities_blocks(
    found: Sequence[Quantity],
    off: Sequence[JudgeBias],
    title: str,
    bar: float | None = None,
    price: float | None = None,
    labels: float | None = None,
) -> Iterator[Block]:
    """Means by people and judge beside either alone, what the judge is worth, where it is off, and what more labels
    would buy, at a `price` each; a unit takes so many `labels`, one where they are left out."""
    if not found:
        return
    lines = tuple(Line(one.name, tuple(map(Entry, _figures(one)))) for one in found)
    heads = figures("Corrected, 95%", "People alone, 95%", "Judge alone", "Labels", "Worth")
    yield Table(f"quantities-{title}", title, title, heads, lines, is_sortable=False)
    biased = tuple(
        Line(one.said, (Entry(f"{one.mean:+.2f}"), Entry(_bias_ends(one)), Entry(f"{one.n:,}")))
        for one in off
    )
    if biased:
        columns = figures("Judge minus people", "95%", "Labels")
        yield Table(
            f"off-{title}", "Where the judge is off", "It says, or where", columns, biased, is_sortable=False
        )
    yield Text(f"{found[0].name.capitalize()}: {found[0].use}.")
    if rows := ahead(found[0], bar):
        chance = "" if bar is None else "Chance of a decision"
        takes = None if labels is None else [labels] * len(rows)
        title_of = "Labels" if labels is None else "Units"
        made = outlook_table(
            "What more labels would buy", title_of, rows, labels=takes, price=price, chance=chance
        )
        yield replace(made, id=f"ahead-{title}")


def _figures(one: Quantity) -> Iterator[str]:
    yield f"{one.value:.3f} {_ends(one.low, one.high)}"
    yield f"{one.alone:.3f} {_ends(one.alone_low, one.alone_high)}"
    yield f"{one.judge:.3f}"
    yield f"{one.n:,} of {one.total:,}"
    yield f"{one.worth:,.0f}" if one.is_helped else "judge unused"


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3f}–{high:.3f}"


def _bias_ends(one: JudgeBias) -> str:
    return "–" if one.low is None or one.high is None else f"{one.low:+.2f} to {one.high:+.2f}"


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


def bought_table(ahead: Sequence[Bought], price: float | None = None) -> Table:
    """What more labels of people would buy, where runs cannot be told apart; with what they cost at a `price` each."""
    lines = tuple(
        Line(
            f"{one.run} minus {one.other}",
            (
                Entry(f"{one.more:,} more {one.unit}"),
                *(() if price is None else (Entry(_cost(one, price)),)),
                Entry(f"± {one.half:.3f}"),
                Entry(numbers.percent(one.chance)),
            ),
        )
        for one in ahead
    )
    columns = figures(
        "Labels", *(() if price is None else ("Cost",)), "Interval", "Chance to tell them apart"
    )
    return Table("bought", "What more labels would buy", "Runs", columns, lines, is_sortable=False)


def _cost(one: Bought, price: float) -> str:
    return f"${one.more * one.labels * price:,.2f}"
