"""Verdicts as files for other programs: JUnit's XML, and Markdown for the page of a build."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from embassay.protocols import numbers
from embassay.protocols.gate.verdict import Verdict


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
    """Met or missed, whether it was near, and whether its test was weaker than it could be."""
    return ("met" if one.met else "MISSED") + ", near" * one.near + ", unpaired" * bool(one.unpaired)


def why(one: Verdict) -> str:
    """Why it was missed, and why it was not paired."""
    return "; ".join(filter(None, (one.reason, f"not paired: {one.unpaired}" if one.unpaired else "")))


def as_junit(verdicts: Sequence[Verdict]) -> str:
    """A test suite of one case per bar, XML."""
    missed = [one for one in verdicts if not one.met]
    suite = ElementTree.Element(
        "testsuite",
        name="embassay gate",
        tests=str(len(verdicts)),
        failures=str(len(missed)),
        errors="0",
        skipped="0",
    )
    for one in verdicts:
        name = _clean(one.bar + " (unpaired)" * bool(one.unpaired))
        case = ElementTree.SubElement(suite, "testcase", classname="embassay.gate", name=name)
        if not one.met:
            failure = ElementTree.SubElement(case, "failure", message=_clean(why(one)), type="bar")
            failure.text = _clean(f"{one.bar}: {value_text(one)} (n = {one.n}); {why(one)}")
        if one.unpaired:
            said = ElementTree.SubElement(case, "system-out")
            said.text = _clean(f"Not paired ({one.unpaired}): {UNPAIRED}.")
    ElementTree.indent(suite)
    return "<?xml version='1.0' encoding='utf-8'?>\n" + ElementTree.tostring(suite, encoding="unicode") + "\n"


def as_markdown(verdicts: Sequence[Verdict]) -> str:
    """A heading that says how it went, and a table."""
    missed = sum(not one.met for one in verdicts)
    title = "all bars met" if not missed else f"{missed} of {numbers.counted(len(verdicts), 'bar')} missed"
    lines = [
        f"### Embassay gate: {title}",
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
