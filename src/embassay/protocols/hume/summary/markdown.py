"""The report of a run as one small Markdown file, in sentences by fixed templates: every number is the record's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from embassay.protocols.hume.summary.record import Bar, Beside, Need, PairRecord, Summary, beside_models
from embassay.protocols.hume.summary.tables import answered_by
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import Unit
from embassay.runs.folder import write_atomic

FILE = "report.md"
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_ALIGNED = ("---", "---:", "---:", "---", "---", "---:", "---:")


def report_markdown(summary: Summary) -> str:
    """Verdict, main table, flags and advice. Text of data is escaped: it cannot become markup."""
    parts = [
        f"# {safe(summary.title)}",
        *_simulated(summary),
        "## What it says",
        "\n".join(f"- {safe(sentence)}" for sentence in findings(summary)),
        "## Pairs",
        _table(summary),
        _reading(summary),
    ]
    for title, lines in (("## Flags", [*_flags(summary)]), ("## What to do", [*_advice(summary)])):
        if lines:
            parts += [title, "\n".join(f"- {safe(line)}" for line in lines)]
    return "\n\n".join(parts) + "\n"


def write_markdown(folder: Path, summary: Summary) -> Path:
    """Write `report.md` of a run and return it."""
    write_atomic(folder / FILE, report_markdown(summary))
    return folder / FILE


def safe(text: str) -> str:
    """Text on one line, with what Markdown or HTML would read as markup escaped.

    >>> print(safe("a|b <b>"))
    a\\|b \\<b\\>
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _simulated(summary: Summary) -> Iterator[str]:
    if summary.simulated:
        kinds = {one.kind for pair in summary.pairs for one in pair.annotators}
        who = "All" if kinds == {"simulated"} else "Some"
        yield (
            f"**{who} annotators are simulated: scripts answered, not people.** Their scores show that the measurement "
            "works; they say nothing about people."
        )


def _table(summary: Summary) -> str:
    headings = ("pair", "n", answerers(summary), "agreement", "best model", "gap", "ceiling")
    rows = [headings, _ALIGNED, *(_row(one) for one in beside_models(summary))]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(one: Beside) -> tuple[str, ...]:
    pair, standing = one.pair, one.standing
    best, gap = numbers.NONE, numbers.NONE
    if standing:
        mark = "\\*" if _is_outside(pair, standing.best_model) else ""
        best = f"{safe(standing.best_model)} {POINTS.text(standing.best)}{mark}"
        gap = POINTS.change(standing.gap())
    return (
        safe(pair.name), str(pair.n), _scored(pair.human), safe(_agreed(pair)), best, gap,
        _scored(pair.ceiling) if pair.ceiling else numbers.NONE,
    )  # fmt: skip


def _is_outside(pair: PairRecord, system: str) -> bool:
    return any(one.outside for one in (*pair.models, *pair.llms) if one.system == system)


def _scored(bar: Bar) -> str:
    if bar.value is None:
        return "n/a"
    ends = bar.low is not None and bar.high is not None
    return POINTS.text(bar.value) + (f" ({POINTS.interval(bar.low or 0.0, bar.high or 0.0)})" if ends else "")


def _agreed(pair: PairRecord) -> str:
    found = pair.agreement
    if found is None or found.value.value is None:
        return (found.value.reason if found else "") or (
            "one annotator" if len(pair.annotators) == 1 else "n/a"
        )
    return f"{found.band} {numbers.score(found.value.value, 2)} ({found.coefficient})"


def _reading(summary: Summary) -> str:
    methods = sorted({pair.human.method for pair in summary.pairs if pair.human.method})
    who = answerers(summary)
    said = f"Points of 100. Gap is {who} minus the best model. \\* outside the interval of {who}."
    said += " Ceiling: one annotator scored against the others."
    return said + (f" Intervals: {safe('; '.join(methods))}." if methods else "")


def _flags(summary: Summary) -> Iterator[str]:
    for pair in summary.pairs:
        yield from (f"{pair.name}: {flag.rstrip('.')}." for flag in pair.flags)
    yield from summary.notes


def _advice(summary: Summary) -> Iterator[str]:
    for advice in dict.fromkeys(pair.advice for pair in summary.pairs if pair.advice):
        names = ", ".join(pair.name for pair in summary.pairs if pair.advice == advice)
        yield f"{names}: {advice}"
    for pair in summary.pairs:
        if pair.need and (sentence := _need(pair, pair.need)):
            yield f"{pair.name}: {sentence}"


def _need(pair: PairRecord, need: Need) -> str:
    if need.items is not None and need.items <= pair.n:
        return (
            f"{numbers.counted(pair.n, 'item')} are enough to set {need.system} apart from {answerers(pair)}."
        )
    ways = []
    if need.items is not None:
        ways.append(f"{numbers.counted(need.items, 'item')} ({pair.n} now) with these annotators")
    if need.annotators:
        now = len(pair.annotators)
        ways.append(f"{numbers.counted(need.annotators, 'annotator')} ({now} now) with these items")
    said = f"to set {need.system} apart takes about {', or '.join(ways)}." if ways else ""
    least = f"This study could show a difference of {POINTS.said(need.smallest)}." if need.smallest else ""
    return " ".join(filter(None, (said, least, need.note)))


POINTS = Unit(100.0, 1, 1)
_NAMED = 5


def findings(summary: Summary) -> Iterator[str]:
    """The verdict: places, models beyond the interval of people, how people agree, and wins."""
    every, who = beside_models(summary), answerers(summary)
    if not summary.pairs:
        yield "The run has no pair of dataset and language."
        return
    yield from _overall(summary, who)
    yield from _beyond(every, who)
    yield from _agreement(summary.pairs)
    yield from _wins(summary, who)
    yield from _lead(summary)


def answerers(of: Summary | PairRecord) -> str:
    """`people`, `simulated annotators`, or `annotators` where there were both."""
    pairs = of.pairs if isinstance(of, Summary) else (of,)
    kinds = answered_by(one for pair in pairs for one in pair.annotators)
    return {"people": "people", "simulated": "simulated annotators", "": "people"}.get(kinds, "annotators")


def _overall(summary: Summary, who: str) -> Iterator[str]:
    human = next((one for one in summary.places if one.kind == "human" and one.rank is not None), None)
    ranked = [one for one in summary.places if one.rank is not None and one.kind != "human"]
    if human is None or human.mean.value is None or not ranked:
        return
    best = min(ranked, key=lambda one: one.rank or 0)
    yield (
        f"Over {numbers.counted(human.mean.n or len(summary.pairs), 'pair')} {who} score "
        f"{POINTS.said(human.mean.value)}, place {human.rank} of {len(ranked) + 1}; "
        f"the best model, {best.system}, has {POINTS.said(best.mean.value or 0.0)}."
    )


def _beyond(every: Sequence[Beside], who: str) -> Iterator[str]:
    known = [one for one in every if one.standing and one.pair.human.low is not None]
    if not known:
        yield f"No pair has both a model and an interval of {who}: nothing can be set against it."
        return
    above = [one.pair for one in known if _best(one) > (one.pair.human.high or 0.0)]
    below = [one.pair for one in known if _best(one) < (one.pair.human.low or 0.0)]
    yield (
        f"The best model is above the interval of {who} on {len(above)} of {numbers.counted(len(known), 'pair')}, "
        f"below it on {len(below)}. Outside an interval is not a test."
    )
    noise = [pair for pair in above if pair.superhuman_on_noise]
    if noise:
        yield (
            f"On {len(noise)} of those above, annotators agree little: {named(noise)}. A model above people who "
            "disagree may have learned labels that they do not share."
        )


def _best(one: Beside) -> float:
    return one.standing.best if one.standing else 0.0


def _agreement(pairs: Sequence[PairRecord]) -> Iterator[str]:
    known = [pair for pair in pairs if pair.trust]
    alone = len(pairs) - len(known)
    if known:
        count = {word: sum(pair.trust == word for pair in known) for word in ("high", "medium", "low")}
        yield (
            f"Agreement is high on {count['high']}, medium on {count['medium']} and low on {count['low']} of "
            f"{numbers.counted(len(known), 'pair')}: read models by the high ones first."
        )
    if alone:
        yield f"Agreement is unknown on {numbers.counted(alone, 'pair')}."


def _wins(summary: Summary, who: str) -> Iterator[str]:
    won = {one.reference: one for one in summary.wins if one.by == "all"}
    if {"best", "median"} <= won.keys():
        yield (
            f"{who.capitalize()} are above the best model on {won['best'].wins} of {won['best'].pairs} pairs, and "
            f"above the median model on {won['median'].wins}."
        )


def _lead(summary: Summary) -> Iterator[str]:
    found = summary.agreement_against_gap
    if found is None or found.value is None:
        return
    p = summary.agreement_against_gap_p
    tail = f", p {'' if p < 0.001 else '= '}{numbers.p_value(p)}" if p is not None else ""
    yield (
        f"Agreement and the lead of the best model go together with a Spearman correlation of "
        f"{numbers.score(found.value, 2)} over {found.n} pairs{tail}: below 0, models lead where people agree least."
    )


def named(pairs: Sequence[PairRecord]) -> str:
    """The first few pairs by name, and how many more."""
    first = ", ".join(pair.name for pair in pairs[:_NAMED])
    return first + (f" and {len(pairs) - _NAMED} more" if len(pairs) > _NAMED else "")
