"""What a system costs in money and time, and whether something cheaper or faster does as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from embassay.document.blocks import Part as Word
from embassay.document.blocks import Sentence, listed
from embassay.protocols.kernel import tables as numbers
from embassay.report.board import Row, name
from embassay.report.record import APART, OVERALL, Record
from embassay.report.runs import ReportRun, sweep_of
from embassay.runs.spending import dollars

if TYPE_CHECKING:
    from embassay.protocols.rag.sweep.findings.record import Part, StackFacts

FASTER = 1.2
"""So many times as fast is faster: less may be the machine's mood."""


@dataclass(frozen=True)
class RunCost:
    """What one run took of a system, in words; empty where it does not apply. `cut` are texts longer than it reads."""

    run: str
    time: str
    encoded: str
    cached: str
    cut: str
    pace: str
    paid: str


@dataclass(frozen=True)
class AgainstPrice:
    """Its price, sentences that weigh price and time against the scores, and what each run took."""

    price: str
    sentences: tuple[Sentence, ...]
    runs: tuple[RunCost, ...]


def against_price(runs: Sequence[ReportRun], row: Row) -> AgainstPrice:
    """The figures of all runs that have the system."""
    sentences = [*_faster(runs, row), *(one for run in runs for one in _stacks(run, row.system.name))]
    costs = (_of_run(run, row.system.name) for run in runs)
    return AgainstPrice(
        _price(runs, row.system.name), tuple(sentences), tuple(one for one in costs if one is not None)
    )


def speed(record: Record, system: str) -> float | None:
    """Texts encoded per second of its cells, all work included; None where it encoded none."""
    cells = [cell for cell in record.cells if cell.system == system and cell.status == "done"]
    encoded = sum(cell.counts.get("texts_encoded", 0) for cell in cells)
    seconds = sum(cell.seconds or 0.0 for cell in cells)
    return encoded / seconds if encoded and seconds else None


def price_of(runs: Sequence[ReportRun], system: str) -> tuple[str, float | None, str]:
    """Who sets its price (`server`, `sweep` or nobody), US dollars per million tokens, and the day of the price."""
    for run in runs:
        facts = run.record.by_name[system].facts
        if "usd_per_million_tokens" in facts:
            return "server", facts["usd_per_million_tokens"], run.record.manifest.get("updated", "")
    for run in runs:
        prices = run.record.manifest.get("prices") or {}
        if system in (prices.get("tokens") or {}):
            return "sweep", float(prices["tokens"][system]), str(prices.get("date", ""))
    return "", None, ""


def _price(runs: Sequence[ReportRun], system: str) -> str:
    source, price, day = price_of(runs, system)
    if source == "server":
        known = (
            "" if price is None else f"{dollars(price)} per million tokens, as known on {numbers.date(day)}"
        )
        return f"Price: {known or 'not known'}."
    if source == "sweep" and price:
        return f"Price: {dollars(price)} per million tokens, as the sweep was told, prices of {numbers.date(day)}."
    return "Price: none is asked; it runs on one’s own machine."


def _of_run(run: ReportRun, system: str) -> RunCost | None:
    record = run.record
    cells = [cell for cell in record.cells if cell.system == system]
    done = [cell for cell in cells if cell.status == "done"]
    spent = ((record.manifest.get("spent") or {}).get("systems") or {}).get(system) or {}
    seconds = sum(cell.seconds or 0.0 for cell in done)
    if record.kind == "score" or not (seconds or spent):
        return None
    encoded, cached, cut = (
        sum(cell.counts.get(key, 0) for cell in cells)
        for key in ("texts_encoded", "texts_cached", "texts_truncated")
    )
    pace, seen = speed(record, system), encoded + cached
    return RunCost(
        run=run.title,
        time=numbers.duration(seconds) if done else "",
        encoded=numbers.count(encoded) if seen else "",
        cached=numbers.count(cached) if seen else "",
        cut=numbers.percent(min(1.0, cut / seen), 1) if seen else "",
        pace=numbers.count(round(pace)) if pace is not None else "",
        paid=dollars(spent.get("usd")) if spent.get("requests") else "",
    )


def _faster(runs: Sequence[ReportRun], row: Row) -> Iterator[Sentence]:
    """Of the first run with ranks: faster encoders that it does not beat, or that it beats all of them."""
    run = next((one for one in runs if one.board.has_ranks and row.system.name in one.record.by_name), None)
    if run is None:
        return
    record, own = run.record, speed(run.record, row.system.name)
    if own is None or not run.board.row(row.system.name).rank:
        return
    paces = [(one, speed(record, one.system.name)) for one in (*run.board.ranked, *run.board.apart)]
    faster = [(one, pace) for one, pace in paces if pace is not None and pace > FASTER * own]
    level = [(one, pace) for one, pace in faster if not _beats(run, row, one)]
    on = "overall" if run.board.lead == OVERALL else f"on {run.board.lead_title.lower()}"
    if level:
        said: list[Word] = []
        for one, pace in level[:3]:
            said += [
                *([", "] if said else []),
                name(one),
                f" ({numbers.count(round(pace))} texts per second)",
            ]
        head = f"Faster than its {numbers.count(round(own))} texts per second, and not beaten by it {on}"
        yield (f"{head} in {run.title}: ", *said, ".")
    elif faster:
        names = listed([name(one) for one, _ in faster[:3]])
        yield (f"It beats every faster encoder {on} in {run.title}: ", *names, ".")


def _beats(run: ReportRun, a: Row, b: Row) -> bool:
    for scope in (run.record.scope(run.board.lead), run.record.scope(run.board.lead + APART)):
        pair = scope.pair(a.system.name, b.system.name)
        if pair is not None:
            return pair.difference > 0 and pair.p_adjusted < run.record.alpha
    return False


def _stacks(run: ReportRun, system: str) -> Iterator[Sentence]:
    """The best stack of a sweep that it is part of, with its price and time."""
    found = sweep_of(run)
    if found is None or not found.parts:
        return
    from embassay.protocols.rag.sweep.findings.recommendation import usd

    part, measure = found.parts[0], found.asked.measure
    own = [one for one in part.stacks if system in (one.axes.get("encoder"), one.axes.get("reranker"))]
    known = [one for one in own if one.value(measure) is not None]
    if not known:
        return
    best = max(known, key=lambda one: one.value(measure) or 0.0)
    yield (
        f"Its best stack of {len(own)} in {run.title} is ", f"{best.id}: {measure} {_quality(best, measure)}, "
        f"{_ms(best.latency)} at p{found.asked.percentile:.0f}, {usd(best.cost)} per 1,000 queries (prices of "
        f"{numbers.date(found.asked.priced_on)}), {_standing(part, best)}.",
    )  # fmt: skip


def _quality(stack: StackFacts, measure: str) -> str:
    found = stack.measured(measure)
    if found is None or found.value.value is None:
        return "n/a"
    ends = found.value.low, found.value.high
    text = numbers.score(found.value.value)
    return text if ends[0] is None or ends[1] is None else f"{text} ({numbers.interval(ends[0], ends[1])})"


def _standing(part: Part, stack: StackFacts) -> str:
    if stack.id == part.recommendation.stack:
        return "the one that the sweep recommends"
    return "on the frontier" if stack.on else "dominated by another one"


def _ms(value: float) -> str:
    return f"{value:.1f} ms" if value < 99.5 else f"{value:.0f} ms"
