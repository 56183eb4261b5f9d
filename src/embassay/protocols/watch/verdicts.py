"""A check as CI reads it: what fails, as JUnit XML and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from embassay.protocols.kernel.tables import escape_markdown_cell, strip_control_characters
from embassay.protocols.watch.history import FingerprintCheck
from embassay.protocols.watch.options import FailOn
from embassay.stats import Estimate


@dataclass(frozen=True)
class WatchFinding:
    """One thing that a check says: whether it is `kept` (None: not tested), and why."""

    name: str
    kept: bool | None
    value: str
    n: int
    why: str


def is_check_failed(check: FingerprintCheck, fail_on: FailOn) -> bool:
    """Whether CI is to stop: for any difference, for a change beyond noise, or only where own lists change. What cannot
    be compared always stops it, and so does a change whose lists were not measured."""
    if check.verdict == "same":
        return any(not state.holds for state in check.thresholds)
    if check.verdict == "not comparable" or fail_on == "any":
        return True
    if fail_on == "changed":
        return check.verdict == "changed"
    return check.has_changed_lists is not False


def list_fingerprint_check_findings(check: FingerprintCheck) -> Iterator[WatchFinding]:
    """List the findings of a check: on the answers, the lists and each threshold."""
    kinds = "; ".join(f"{change.kind}: {change.evidence}" for change in check.changes)
    kept = None if check.verdict == "not comparable" else check.verdict == "same"
    why = "" if kept else "; ".join(filter(None, (check.reason, kinds)))
    yield WatchFinding(f"answers of {check.system}", kept, check.verdict, check.asked - check.lost, why)
    if check.impact is not None:
        anew = check.impact.states[-1]
        told = "" if anew.ndcg is None else f"nDCG@10 {format_share_with_interval(anew.ndcg, signed=True)}"
        changed = anew.changed
        yield WatchFinding(
            "own lists", not check.has_changed_lists, f"{format_share_with_interval(changed)} change", changed.n, told
        )
    if check.panel is not None:
        told = f"{format_share_with_interval(check.panel.first)} of items"
        yield WatchFinding("first passages", check.panel.first.point == 0, told, check.panel.first.n, "")
        if (turned := check.panel.turned) is not None:
            yield WatchFinding(
                "labels of a golden set",
                turned.point == 0,
                f"{format_share_with_interval(turned)} are reversed",
                turned.n,
                "",
            )
    if (golden := check.golden) is not None:
        told = (
            f"{format_share_with_interval(golden.now)} would change now, compared with "
            f"{format_share_with_interval(golden.then)} when recorded"
        )
        why = f"change {format_share_with_interval(golden.change, signed=True)}"
        yield WatchFinding(f"labels of {golden.name}", golden.has_no_excess_label_changes, told, golden.questions, why)
    for state in check.thresholds:
        yield WatchFinding(
            f"{state.measure} threshold {state.threshold:.3f} of {state.file}", state.holds,
            f"{state.turned.point:.1%} of decisions are reversed", state.turned.n,
            "" if state.holds else f"a threshold of {state.equivalent:.3f} accepts as many as before"
        )  # fmt: skip


def format_share_with_interval(value: Estimate, *, signed: bool = False) -> str:
    """A share in percent, or a signed change, with its interval.

    >>> (format_share_with_interval(Estimate(0.5, 0.4, 0.6, 90, "")),
    ... format_share_with_interval(Estimate(-0.1, -0.2, 0, 9, ""), signed=True))
    ('50% (40-60%)', '-0.100 (-0.200 to 0.000)')
    """
    low, high = value.ends
    if signed:
        return f"{value.point:+.3f} ({low:.3f} to {high:.3f})"
    return f"{value.point:.0%} ({100 * low:.0f}-{high:.0%})"


WORDS = {True: "kept", False: "CHANGED", None: "NOT TESTED"}


def format_check_as_markdown(check: FingerprintCheck) -> str:
    """A heading that says how it went, and a table."""
    lines = [
        f"### Embassay watch: {escape_markdown_cell(check.system)} is {check.verdict}",
        "",
        "| What | Found, 95% CI | n | Verdict | Why |",
        "|---|---:|---:|---|---|",
    ]
    lines += [
        f"| {escape_markdown_cell(told.name)} | {told.value} | {told.n:,} | {WORDS[told.kept]} "
        f"| {escape_markdown_cell(told.why)} |"
        for told in list_fingerprint_check_findings(check)
    ]
    lines += ["", f"Check {check.look}: p {check.p:.2g}, level {check.level:.2g}. Re-embed: {check.part or 'nothing'}."]
    return "\n".join(lines) + "\n"


def format_check_as_junit(check: FingerprintCheck) -> str:
    """A test suite of one case per finding, XML."""
    told = list(list_fingerprint_check_findings(check))
    states = [finding.kept for finding in told]
    suite = ElementTree.Element(
        "testsuite", name="embassay watch", tests=str(len(told)), failures=str(states.count(False)),
        errors=str(states.count(None)), skipped="0"
    )  # fmt: skip
    for finding in told:
        case = ElementTree.SubElement(
            suite, "testcase", classname="embassay.watch", name=strip_control_characters(finding.name)
        )
        if not finding.kept:
            kind = "error" if finding.kept is None else "failure"
            fault = ElementTree.SubElement(case, kind, message=strip_control_characters(finding.why), type="watch")
            fault.text = strip_control_characters(f"{finding.name}: {finding.value} (n = {finding.n}); {finding.why}")
    ElementTree.indent(suite)
    return "<?xml version='1.0' encoding='utf-8'?>\n" + ElementTree.tostring(suite, encoding="unicode") + "\n"
