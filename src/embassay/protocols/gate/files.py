"""Verdicts as files for other programs: JUnit's XML, and Markdown for the page of a build."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from embassay.protocols.gate.bars import Verdict, summary
from embassay.protocols.kernel import tables as numbers


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
