"""A run held against bars and an earlier run: a verdict on each, and the gate over all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from embassay.errors import UsageError
from embassay.protocols.compare import (
    Contrast,
    InFolder,
    Place,
    RunValues,
    Side,
    contrast,
    folder_of,
    higher_is_better,
    one_sided,
    pairing,
    read_values,
)
from embassay.protocols.compare.values import wanted
from embassay.protocols.gate.bars import Bar, Rows, Verdict, read_bar, read_rows, summary
from embassay.protocols.kernel import tables as numbers
from embassay.records import Result
from embassay.registry import attribute
from embassay.stats import holm


def value_text(one: Verdict) -> str:
    """The value with its interval as people read it."""
    unit = numbers.unit_of(one.scale)
    if one.value is None:
        return "n/a"
    text = unit.change(one.value) if one.is_change else unit.text(one.value)
    if one.low is None or one.high is None:
        return text
    return f"{text} {unit.interval(one.low, one.high)}"


UNPAIRED = "the errors of both runs add up, so only a larger fall is found"


def word(one: Verdict) -> str:
    """Met, missed or not tested, whether it was near, and whether its test was weaker than it could be."""
    return (
        {True: "met", False: "MISSED", None: "not tested"}[one.met]
        + ", near" * one.near
        + ", unpaired" * bool(one.unpaired)
    )


def why(one: Verdict) -> str:
    """Why it was missed or not tested, and why it was not paired."""
    return "; ".join(filter(None, (one.reason, f"not paired: {one.unpaired}" if one.unpaired else "")))


def as_junit(verdicts: Sequence[Verdict]) -> str:
    """A test suite of one case per bar, XML. What is not tested is an error where the gate stops for it, else
    skipped."""
    kinds = [_kind(one) for one in verdicts]
    suite = ElementTree.Element(
        "testsuite",
        name="embassay gate",
        tests=str(len(verdicts)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(kinds.count("skipped")),
    )
    for one, kind in zip(verdicts, kinds, strict=True):
        name = _clean(one.bar + " (unpaired)" * bool(one.unpaired))
        case = ElementTree.SubElement(suite, "testcase", classname="embassay.gate", name=name)
        if kind:
            told = ElementTree.SubElement(case, kind, message=_clean(why(one)), type="bar")
            told.text = _clean(f"{one.bar}: {value_text(one)} (n = {one.n}); {why(one)}")
        if one.unpaired:
            said = ElementTree.SubElement(case, "system-out")
            said.text = _clean(f"Not paired ({one.unpaired}): {UNPAIRED}.")
    ElementTree.indent(suite)
    return "<?xml version='1.0' encoding='utf-8'?>\n" + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _kind(one: Verdict) -> str:
    if one.met is None:
        return "error" if one.stops else "skipped"
    return "" if one.met else "failure"


def as_markdown(verdicts: Sequence[Verdict]) -> str:
    """A heading that says how it went, and a table."""
    lines = [
        f"### Embassay gate: {summary(verdicts)}",
        "",
        "| Bar | Value, 95% | n | Verdict | Why |",
        "|---|---:|---:|---|---|",
    ]
    lines += [
        f"| `{_cell(one.bar)}` | {value_text(one)} | {one.n:,} | {word(one)} | {_cell(why(one))} |"
        for one in verdicts
    ]
    lines += ["", "Near: the bar lies inside the interval, so another sample could have said otherwise."]
    if any(one.unpaired for one in verdicts):
        lines += ["", f"Unpaired: {UNPAIRED}."]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return _clean(text).replace("|", "\\|").replace("`", "'").replace("<", "&lt;").replace("\n", " ")


def _clean(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return "".join(one if one.isprintable() or one in "\t\n" else " " for one in text)


@dataclass(frozen=True)
class _Test:
    place: Place
    system: str
    found: Contrast | None
    p: float = math.nan
    reason: str = ""
    """Why it is not a test; empty where it is one."""
    stops: bool = False


def judged_against(
    now: RunValues,
    base: RunValues,
    *,
    alpha: float = 0.05,
    margin: float = 0.0,
    systems: Sequence[str] = (),
    tasks: Sequence[str] = (),
    measures: Sequence[str] = (),
) -> tuple[Verdict, ...]:
    """Whether each ranked system of the earlier run is no worse now, at every headline over datasets.

    A test says worse where the difference is below -`margin` (above, where lower is better) with a one-sided p, by Holm
    over all tests of the call, below `alpha`: with nothing changed, the chance of any false alarm is at most about
    alpha. Runs whose items differ are tested unpaired, which every verdict says: such a test needs a larger fall. What
    has no value in one of the runs, no interval, or did not change on any item is not tested; the gate stops for a
    value that is gone, and for a fall without an interval. Raises UsageError for runs of two protocols, or where
    nothing is left to compare.
    """
    if now.protocol != base.protocol:
        raise UsageError(
            f"{base.path} is a {base.protocol} run and {now.path} a {now.protocol} run.",
            mend="Give runs of one protocol.",
        )
    base.check(systems)
    how = pairing(now.manifest, base.manifest)
    tests = [
        _tested(now, base, place, system, paired=how.paired, margin=margin)
        for place in _places(base, tasks, measures)
        for system in systems or [one.system for one in base.at(place)]
        if base.standing(place, system) is not None
    ]
    if not tests:
        raise UsageError(f"{base.path} has nothing of that to compare with.", mend="Leave out -s, -t or -m.")
    return tuple(_verdicts(tests, alpha, margin, now.protocol, how.reason))


def _places(base: RunValues, tasks: Sequence[str], measures: Sequence[str]) -> list[Place]:
    """Over datasets, where the run has that; a run of one kind of dataset has its own only."""
    named = [place for place in base.places if wanted(place, tasks, measures)]
    return [place for place in named if not place[1]] or named


def _tested(
    now: RunValues, base: RunValues, place: Place, system: str, *, paired: bool, margin: float
) -> _Test:
    before, after = base.standing(place, system), now.standing(place, system)
    if before is None or before.headline.value is None:
        return _Test(place, system, None, reason="it had no value before")
    if after is None or after.headline.value is None:
        why = after.headline.reason if after else "not in this run"
        return _Test(place, system, None, reason=f"no value now: {why}", stops=True)
    found = contrast(Side(after), Side(before), paired=paired)
    sign = 1.0 if higher_is_better(place[2]) else -1.0
    shifted = replace(found, difference=sign * (found.difference or 0.0) + margin)
    if math.isnan(found.p):
        same = found.error == 0 and found.difference == 0
        if same and None not in (*after.headline.interval, *before.headline.interval):
            return _Test(place, system, found, 1.0)
        fell = (shifted.difference or 0.0) < 0
        why = f"it fell, and it cannot be said whether by chance: {found.reason}" if fell else found.reason
        return _Test(place, system, found, reason=why, stops=fell)
    return _Test(place, system, found, one_sided(shifted))


def _verdicts(
    tests: Sequence[_Test], alpha: float, margin: float, protocol: str, unpaired: str
) -> Iterator[Verdict]:
    tested = [one.p for one in tests if one.p < 1]
    corrected = iter(holm(tested) if tested else ())
    measures: dict[str, set[str]] = {}
    for one in tests:
        measures.setdefault(one.place[0], set()).add(one.place[2])
    for one in tests:
        task, dataset, measure = one.place
        what = f"{task}.{measure}" if len(measures[task]) > 1 else task
        inside = f"{one.system},dataset={dataset}" if dataset else one.system
        bar = f"{protocol}.{what}[{inside}] no worse" + (f" than -{margin:g}" if margin else "")
        p = next(corrected) if one.p < 1 else one.p
        yield _verdict(one, bar, p, alpha, protocol, unpaired)


def _verdict(one: _Test, bar: str, p: float, alpha: float, protocol: str, unpaired: str) -> Verdict:
    found = one.found
    made = Verdict(bar, None, None, reason=one.reason, scale=protocol, is_change=True, stops=one.stops)
    if found is None:
        return made
    low, high = (None if math.isnan(end) else end for end in (found.low, found.high))
    made = replace(made, value=found.difference, low=low, high=high, n=found.n)
    if one.reason:
        return made
    worse = p < alpha
    reason = f"p {p:.3g} (one-sided, Holm) is below {alpha:g}" if worse else ""
    return replace(made, met=not worse, reason=reason, unpaired=unpaired, stops=worse)


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


@dataclass(frozen=True)
class Gate:
    """What became of every bar. Printed, it is what the command says."""

    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing stops: no bar is missed, and none that had to be tested is untested."""
        return not any(one.stops for one in self.verdicts)

    @property
    def met(self) -> bool:
        """Whether every bar was tested and met."""
        return all(one.met for one in self.verdicts)

    def junit(self) -> str:
        """The verdicts as JUnit XML."""
        return as_junit(self.verdicts)

    def markdown(self) -> str:
        """The verdicts as a Markdown table."""
        return as_markdown(self.verdicts)

    def __str__(self) -> str:
        """Verdict and table in 80 columns."""
        return str(attribute("embassay.report.comparisons:render_gate")(self.verdicts).plain)


def gate(
    run: str | Path | InFolder,
    *bars: str,
    no_worse_than: str | Path | InFolder | None = None,
    alpha: float = 0.05,
    margin: float = 0.0,
    systems: Sequence[str] = (),
    tasks: Sequence[str] = (),
    measures: Sequence[str] = (),
) -> Gate:
    """Hold a run against bars such as `"sage.overall[minilm]>=0.45@lower"`, and against an earlier run.

    A bar is on a score, or with @lower or @upper on an end of its 95% interval. `no_worse_than` asks by paired tests
    whether any system became worse by more than `margin`, in the measure's unit; `alpha` is the chance of a false alarm
    over all of them; `systems`, `tasks` and `measures` keep these alone. A score without a value, or without the
    interval that a test needs, is not tested: neither met nor missed.

    Raises UsageError without a bar, or for one that cannot be read or means no score; DataError for a folder without a
    run.
    """
    if not bars and no_worse_than is None:
        raise UsageError(
            "There is no bar.", mend="Give one, 'sage.overall[SYSTEM]>=0.45', or an earlier run."
        )
    if not 0 < alpha < 1:
        raise UsageError(f"alpha is {alpha:g}.", mend="Give a number between 0 and 1.")
    folder = folder_of(run)
    read = [read_bar(text) for text in bars]
    verdicts = list(judged_bars(read, read_rows(folder))) if read else []
    if no_worse_than is not None:
        verdicts += judged_against(
            read_values(folder), read_values(folder_of(no_worse_than)), alpha=alpha, margin=margin,
            systems=systems, tasks=tasks, measures=measures,
        )  # fmt: skip
    return Gate(tuple(verdicts))
