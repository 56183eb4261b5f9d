"""Bars on scores and on ends of their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from embassay.protocols.gate.bar import Bar
from embassay.protocols.gate.rows import Rows
from embassay.protocols.gate.verdict import Verdict
from embassay.records import Result


def judged_bars(bars: Sequence[Bar], rows: Rows) -> Iterator[Verdict]:
    """The verdict on every bar. Without a value, or the interval that it asks for, a bar is not tested, and the gate
    stops: what was asked for is not shown. UsageError for a bar that means no row."""
    for bar in bars:
        yield _judged(bar, rows.find(bar))


def _judged(bar: Bar, row: Result) -> Verdict:
    verdict = Verdict(
        bar.text, None, row.value, row.ci_low, row.ci_high, row.n, scale=bar.protocol, stops=True
    )
    held = {"value": row.value, "lower": row.ci_low, "upper": row.ci_high}[bar.end]
    if held is None:
        why = row.reason or "no value"
        return replace(verdict, reason=why if row.value is None else "the score has no interval")
    low, high = row.ci_low, row.ci_high
    near = low is not None and high is not None and low <= bar.number <= high
    if bar.met(held):
        return replace(verdict, met=True, near=near, stops=False)
    return replace(
        verdict, met=False, near=near, reason=f"{bar.end} {held:.4g} is not {bar.sign} {bar.number:g}"
    )
