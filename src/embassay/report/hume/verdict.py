"""What a HUME run found, in words: a template filled from its record. Models above people are never named without
the agreement of those people beside them (spec hume 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from embassay.protocols import numbers
from embassay.protocols.hume.summary.record import Summary, read_summary
from embassay.report.board import Board
from embassay.report.hume.standing import Standing, of_side, standings, system_names
from embassay.report.hume.words import (
    POINTS,
    agreed,
    answerers,
    interval,
    is_range,
    pair_names,
    points,
    scored,
)
from embassay.report.names import labels
from embassay.report.record import Record
from embassay.report.verdict import Name, Sentence, Verdict

MOST = 80
"""Characters of a heading."""


def hume_verdict(record: Record, _: Board) -> Verdict:
    """The finding of the run in a record. DataError where its `summary.json` is missing or damaged."""
    return verdict_of(read_summary(record.path))


def verdict_of(summary: Summary) -> Verdict:
    """The heading and up to four sentences."""
    every, who = standings(summary), answerers(summary)
    label = labels(system_names(summary))
    if not any(one.models for one in every):
        return _alone(summary, who)
    sentences = (
        *_overall(summary, who, label),
        *_disagreed(every),
        *_extremes(every, who, label),
        *_wins(summary, every, who),
    )
    return Verdict((heading(every, who),), sentences[:4])


def heading(every: Sequence[Standing], who: str) -> str:
    """On how many pairs a model is above the interval of people, with what is known of their agreement there.

    `A model is above people’s interval on 12 of 26 pairs, 5 with low agreement`
    """
    ends = "people’s interval" if who == "people" else f"{who}’ interval"
    known, above = [one for one in every if one.side], of_side(every, "above")
    if not known:
        return f"No interval for {who}: models cannot be set against it"
    where = f" on {known[0].pair.name}"
    if len(known) == 1:
        clause = f", {_trusted([known[0]])}"
        subject = f"A model is above {ends}" if above else f"No model is above {ends}"
        fits = len(subject) + len(where) + len(clause) <= MOST
        return subject + (where if fits else "") + clause
    below = of_side(every, "below")
    if not above and below:
        said = f"Every model is below {ends} on {len(below)} of {len(known)} pairs"
        clause = f", {_trusted(below)}"
        return said + (clause if len(said) + len(clause) <= MOST else "")
    if not above:
        return f"No model is above {ends} on any of {len(known)} pairs"
    said = f"{ends} on {len(above)} of {len(known)} pairs, {_trusted(above)}"
    long = f"A model is above {said}"
    return long if len(long) <= MOST else f"Models pass {said}"


def _trusted(above: Sequence[Standing]) -> str:
    if len(above) == 1:
        known = above[0].pair.agreement
        return f"agreement {agreed(above[0].pair)}" if known is not None else "agreement unknown"
    low = sum(one.pair.trust == "low" for one in above)
    unknown = sum(one.pair.trust is None for one in above)
    if low or not unknown:
        return f"{'all' if low == len(above) else low or 'none'} with low agreement"
    return "agreement unknown" + (f" on {unknown}" if unknown < len(above) else "")


def _alone(summary: Summary, who: str) -> Verdict:
    pairs = summary.pairs
    if not pairs:
        return Verdict(("Nothing is scored yet",), (("The run has no pair of dataset and language.",),))
    first = f"{who.capitalize()} score {scored(pairs[0].human)} on {pairs[0].name}."
    how_many = numbers.counted(len(pairs), "pair")
    return Verdict(
        (f"{who.capitalize()} are scored on {how_many}, without a model beside them",),
        ((first,), ("Add models to the command to see them on the same items.",)),
    )


def _overall(summary: Summary, who: str, label: Mapping[str, str]) -> Iterator[Sentence]:
    human = next((one for one in summary.places if one.kind == "human"), None)
    ranked = [one for one in summary.places if one.rank is not None]
    if human is None or human.rank is None or len(ranked) < 2 or len(summary.pairs) < 2:
        return
    ends = interval(human.mean)
    said = points(human.mean) + (
        f" (95% {ends})" if ends and not is_range(human.mean) else f" ({ends})" if ends else ""
    )
    others = [one for one in ranked if one.kind != "human"]
    ahead = min(others, key=lambda one: one.rank or 0)
    over = _extent(human.mean.n, len(summary.pairs))
    yield (
        f"Over {over} {who} score {said}, place {human.rank} of {len(ranked)} by the mean; ",
        _name(ahead.system, label),
        f", the {'best' if human.rank > 1 else 'next'}, has {points(ahead.mean)}.",
    )


def _extent(known: int, pairs: int) -> str:
    """`all 26 pairs`; `4 of 5 pairs` where people answered no more."""
    return f"{known} of {pairs} pairs" if 0 < known < pairs else f"all {pairs} pairs"


def _disagreed(every: Sequence[Standing]) -> Iterator[Sentence]:
    low = [one.pair for one in every if one.pair.trust == "low"]
    if low:
        yield (f"Annotators agree little on {pair_names(low, 3)}: read no order of models there.",)
    elif every and all(one.pair.trust is None for one in every):
        yield (
            "Agreement is not known on any pair, so nobody can say how far a score of people may be trusted.",
        )


def _extremes(every: Sequence[Standing], who: str, label: Mapping[str, str]) -> Iterator[Sentence]:
    """The largest lead of a model, and that of people, with interval and agreement."""
    known = [(gap, one) for one in every if (gap := one.gap()) is not None and one.side]
    if not known:
        return
    gap, lowest = min(known, key=lambda item: item[0])
    if gap < 0 and lowest.best is not None:
        yield (
            "The largest lead of a model is on ", lowest.pair.name, ": ", _name(lowest.best.system, label),
            f" {points(lowest.best.score)}, {who} {scored(lowest.pair.human)}, "
            f"agreement {agreed(lowest.pair)}.",
        )  # fmt: skip
    gap, highest = max(known, key=lambda item: item[0])
    if gap > 0 and highest.best is not None:
        yield (
            f"The largest lead of {who} is {POINTS.change(gap)} points, on {highest.pair.name}: "
            f"{scored(highest.pair.human)} against {points(highest.best.score)} of ", _name(highest.best.system, label),
            ".",
        )  # fmt: skip


def _wins(summary: Summary, every: Sequence[Standing], who: str) -> Iterator[Sentence]:
    """The same by scores alone, which count otherwise than the interval in the heading."""
    ahead = sum(gap < 0 for one in every if (gap := one.gap()) is not None)
    won = {one.reference: one for one in summary.wins if one.by == "all"}
    if "best" in won and "median" in won and won["best"].wins < won["best"].pairs > 1:
        yield (
            f"By the scores alone the best model is above {who} on {ahead} of {won['best'].pairs} pairs and {who} "
            f"above it on {won['best'].wins}, above the median model on {won['median'].wins}.",
        )


def _name(system: str, label: Mapping[str, str]) -> Name:
    return Name(label.get(system, system), -1)
