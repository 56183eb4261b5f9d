"""The report of a run as one small Markdown file, made of its record alone: `report.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from embassay.protocols import numbers
from embassay.protocols.hume.summary.record import Bar, Need, PairRecord, Summary
from embassay.protocols.hume.summary.sentences import POINTS, answerers, findings
from embassay.protocols.hume.summary.standing import Beside, beside_models
from embassay.runs.files import write_atomic

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
