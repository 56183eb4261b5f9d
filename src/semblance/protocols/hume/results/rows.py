"""The record of a run as rows of results."""

from __future__ import annotations

from collections.abc import Iterator

from semblance.protocols.hume.published.matrix import HUMAN
from semblance.protocols.hume.summary.record import Bar, PairRecord, Summary, SystemScore
from semblance.records import Result

PROTOCOL, OVERALL = "hume", "overall"
AGREEMENT = "agreement"
"""The variant of the rows that say how people agree: a coefficient may be called as a measure is."""


def human_rows(pair: PairRecord, seed: int) -> Iterator[Result]:
    """People's headline, each annotator and convention, agreement and ceiling."""
    yield _row(pair, HUMAN, "", pair.measure, pair.human, seed)
    for one in pair.annotators:
        said = Bar(value=one.score, n=one.items, method="simulated" if one.kind == "simulated" else "")
        yield _row(pair, HUMAN, f"annotator={one.id}", pair.measure, said, seed)
    for name, value in pair.conventions.items():
        reason = "" if value is not None else "not defined here"
        found = Bar(value=value, n=pair.human.n, reason=reason)
        yield _row(pair, HUMAN, f"convention={name}", pair.measure, found, seed)
    if pair.agreement:
        own = pair.agreement
        yield _row(pair, HUMAN, AGREEMENT, own.coefficient, own.value, seed)
        for name, value in own.extras.items():
            found = Bar(value=value, n=own.items, reason="" if value is not None else "not defined here")
            yield _row(pair, HUMAN, AGREEMENT, name, found, seed)
    if pair.ceiling:
        yield _row(pair, HUMAN, "ceiling", pair.measure, pair.ceiling, seed)


def system_rows(pair: PairRecord, one: SystemScore, seed: int) -> Iterator[Result]:
    """A system's headline."""
    yield _row(pair, one.system, "", pair.measure, one.score, seed)


def beside_rows(pair: PairRecord, one: SystemScore, seed: int) -> Iterator[Result]:
    """A system beside people: the difference on the same items, and the share of annotators below it."""
    if one.difference:
        yield _row(pair, one.system, "minus_human", pair.measure, one.difference, seed)
    if one.among_people is not None:
        share = Bar(value=one.among_people, n=len(pair.annotators), method="share of annotators below")
        yield _row(pair, one.system, "among_people", pair.measure, share, seed)


def overall_rows(summary: Summary) -> Iterator[Result]:
    """The mean of every system, and of people, over all pairs."""
    for one in summary.places:
        mean = one.mean
        yield Result(
            PROTOCOL, OVERALL, "", "", "", "", one.system, OVERALL, mean.value, mean.n, mean.low, mean.high,
            mean.method, summary.seed, mean.reason,
        )  # fmt: skip


def published_rows(summary: Summary) -> Iterator[Result]:
    """All rows of published results."""
    for pair in summary.pairs:
        yield from human_rows(pair, summary.seed)
        for one in (*pair.models, *pair.llms):
            yield from system_rows(pair, one, summary.seed)
    yield from overall_rows(summary)


def _row(pair: PairRecord, system: str, variant: str, measure: str, bar: Bar, seed: int) -> Result:
    return Result(
        PROTOCOL, pair.family, pair.dataset, "", pair.lang, variant, system, measure, bar.value, bar.n,
        bar.low, bar.high, bar.method, seed, bar.reason if bar.value is None else "",
    )  # fmt: skip
