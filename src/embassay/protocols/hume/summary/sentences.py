"""What a record says, in sentences by fixed templates: every number is the record's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.protocols import numbers
from embassay.protocols.hume.summary.record import PairRecord, Summary
from embassay.protocols.hume.summary.standing import Beside, beside_models
from embassay.protocols.hume.summary.tables import answered_by
from embassay.protocols.numbers import Unit

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
        f"below it on {len(below)}. Outside an interval is no test."
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
