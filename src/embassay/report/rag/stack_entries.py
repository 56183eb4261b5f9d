"""Cells of a sweep's tables: scores, times, prices, sizes, and names of stacks that break well."""

from __future__ import annotations

from markupsafe import Markup

from embassay.protocols import numbers
from embassay.protocols.rag.golden.summary import Figure
from embassay.protocols.rag.sweep.findings.record import Memory, StackFacts
from embassay.protocols.rag.sweep.findings.words import ms, usd
from embassay.report.matrix import Entry

MIB = 2**20


def named(id: str, place: int | None = None) -> Markup:
    """A stack by its id, which breaks between its parts only; with its number on the frontier."""
    parts = Markup("/<wbr>").join(Markup("<span>{}</span>").format(part) for part in id.split("/"))
    return parts if place is None else Markup("{} {}").format(place, parts)


def figure_entry(value: Figure | None, *, signed: bool = False, factor: float = 1.0, sign: str = "") -> Entry:
    """A figure over its interval; why there is none."""
    if value is None or value.value is None:
        return Entry("n/a", why=value.reason if value is not None and value.reason else "not measured")
    decimals = 1 if factor == 100 else 3
    text = (numbers.change if signed else numbers.score)(value.value * factor, decimals)
    ends = (value.low, value.high) if value.low is not None and value.high is not None else ()
    small = "no interval"
    if ends:
        small = numbers.interval(ends[0] * factor, ends[1] * factor, decimals) + sign
    return Entry(text + sign, small, ",".join(f"{one * factor:.6g}" for one in (value.value, *ends)))


def ms_entry(value: float | None, few: bool = False) -> Entry:
    """A time; `few` samples stand behind it."""
    if value is None:
        return Entry("n/a", why="not timed")
    return Entry(ms(value), "few samples" if few else "", f"{value:.6g}")


def usd_entry(value: float) -> Entry:
    """A price per 1,000 queries."""
    return Entry(usd(value), exact=f"{value:.6g}")


def time_entries(one: StackFacts) -> tuple[Entry, Entry]:
    """p50 and p95 of a query."""
    total = one.time("total")
    if total is None:
        return ms_entry(None), ms_entry(None)
    return ms_entry(total.p50), ms_entry(total.p95, total.few)


def reached_entry(one: StackFacts, measure: str) -> Entry:
    """%PROC of a measure."""
    found = one.measured(measure)
    return figure_entry(found.reached if found is not None else None, factor=100, sign="%")


def score_entry(value: float | None) -> Entry:
    """A score without an interval."""
    if value is None:
        return Entry("n/a", why="not measured")
    return Entry(numbers.score(value), exact=f"{value:.6g}")


def change_entry(value: float | None) -> Entry:
    """A change in percent."""
    if value is None:
        return Entry("n/a", why="flat search finds nothing")
    return Entry(f"{numbers.change(value, 1)}%", exact=f"{value:.6g}")


def memory_entry(one: Memory) -> Entry:
    """What was measured over what the formula says."""
    parts = (one.vectors, one.graph)
    formula = None if None in parts else sum(value or 0.0 for value in parts)
    small = "" if formula is None else f"formula {_size(formula)}"
    if one.memory is None:
        return Entry("n/a", small, why="the index does not tell")
    return Entry(_size(one.memory), small, f"{one.memory}")


def _size(value: float) -> str:
    """Bytes, in the unit that suits them."""
    unit, name = (MIB, "MiB") if value >= MIB / 10 else (1024, "KiB")
    return f"{numbers.score(value / unit, 1)} {name}"
