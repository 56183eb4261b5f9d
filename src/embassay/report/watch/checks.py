"""What a check, a comparison and a plan of a watch say on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.document.blocks import Block, BulletList, Column, Said, Table, TableCell, VerdictText, make_number_columns
from embassay.protocols.watch.compare import SystemAnswerSimilarity
from embassay.protocols.watch.history import FingerprintCheck, TextGroupChange
from embassay.protocols.watch.impact import JudgeChangeOnGoldenLabels, RankedListImpact, ScoreOrGradeChange
from embassay.protocols.watch.plan import PlannedStepCost
from embassay.protocols.watch.verdicts import format_share_with_interval
from embassay.runs.spending import format_dollars

SAYS = {
    "same": "{system} still answers as recorded",
    "noisier": "{system} gives more variable answers than recorded",
    "changed": "{system} no longer answers as recorded",
    "not comparable": "{system} cannot be compared",
}


def watch_check_view(check: FingerprintCheck) -> Iterator[Block]:
    """The verdict, what kind of change it is, whether it matters, and which texts moved."""
    yield VerdictText(
        (SAYS[check.verdict].format(system=check.system) + ".",), tuple((line,) for line in _write_check_lede(check))
    )
    if check.impact is not None:
        yield make_ranked_list_impact_table(check.impact)
    if check.thresholds:
        yield _make_threshold_validity_table(check)
    # Where all texts have changed, or none, the groups tell nothing apart.
    if check.verdict != "same" and any(0 < group.moved < group.n for group in check.groups):
        yield _make_moved_texts_by_group_table(check.groups)
    yield BulletList(tuple(_list_watch_check_notes(check)))


def _write_check_lede(check: FingerprintCheck) -> Iterator[str]:
    if check.verdict == "same":
        yield (
            f"{check.asked - check.lost:,} items were requested again; {check.moved:,} differ by more than "
            "the repeats did."
        )
        return
    yield f"{check.reason[:1].upper()}{check.reason[1:]}."
    if check.changes:
        kinds = ", ".join("kind unknown" if told.kind == "unknown" else told.kind for told in check.changes)
        yield f"What changed: {kinds} ({check.changes[0].evidence})."
    if check.impact is not None:
        yield f"Your lists: {format_share_with_interval(check.impact.states[-1].changed)} have different passages."
    if check.panel is not None:
        yield from _write_score_change_lede(check.panel)
    if check.golden is not None:
        yield from _write_golden_label_change_lede(check.golden)
    if check.part:
        yield f"What to re-embed in an index: {check.part}."


def _write_score_change_lede(panel: ScoreOrGradeChange) -> Iterator[str]:
    yield (
        f"{format_share_with_interval(panel.first)} of items have a different first passage; values differ "
        f"by {panel.error:.3g}, and between repeats by {panel.noise:.3g} (root mean square, n {panel.values:,})."
    )
    if panel.turned is not None and panel.shift is not None:
        yield (
            "The judge has changed: grades moved by "
            f"{format_share_with_interval(panel.shift, signed=True)}, and {format_share_with_interval(panel.turned)} "
            "crossed the threshold of relevance, as labels of a golden set would."
        )
    if panel.kappa is not None:
        kappa, (low, high) = panel.kappa, panel.kappa.ends
        yield f"Grades then and now: weighted kappa {kappa.point:.2f} ({low:.2f} to {high:.2f})."


def _write_golden_label_change_lede(golden: JudgeChangeOnGoldenLabels) -> Iterator[str]:
    """What became of the labels, beside how many were others already when the judge was recorded."""
    yield (
        f"Golden set {golden.name}: {format_share_with_interval(golden.now)} of a question's labels would be "
        f"different now, {format_share_with_interval(golden.then)} when recorded; change "
        f"{format_share_with_interval(golden.change, signed=True)} (n {golden.questions:,} of "
        f"{golden.of_questions:,} questions, {golden.passages:,} of {golden.of_passages:,} graded passages)."
    )
    yield (
        "Share of relevant passages, now minus that in the golden set: "
        f"{format_share_with_interval(golden.relevant, signed=True)}."
    )
    if golden.has_no_excess_label_changes:
        yield "This sample does not show that more labels differ than before."
    else:
        yield "Grade the golden set again before you compare scores on it: embassay rag golden ... --from-stage S4."


def make_ranked_list_impact_table(impact: RankedListImpact) -> Table:
    """Each state of an index, and what it does to lists."""
    rows: list[list[Said | TableCell]] = [
        [
            state.name, format_share_with_interval(state.changed), f"{state.overlap:.0%}",
            "n/a" if state.ndcg is None else format_share_with_interval(state.ndcg, signed=True),
            f"{state.changed.n:,}",
        ]
        for state in impact.states
    ]  # fmt: skip
    heads: list[str | Column] = [
        "Index",
        *make_number_columns("Lists changed, 95%", "Same passages", "nDCG@10 change, 95%", "n"),
    ]
    return Table.of("watch-lists", heads, rows)


def _make_threshold_validity_table(check: FingerprintCheck) -> Table:
    rows: list[list[Said | TableCell]] = [
        [
            f"{state.measure} {state.threshold:.3f}", "holds" if state.holds else "no longer holds",
            f"{state.accepted_before:.1%}", f"{state.accepted_now:.1%}", format_share_with_interval(state.turned),
            f"{state.equivalent:.3f}",
        ]
        for state in check.thresholds
    ]  # fmt: skip
    heads: list[str | Column] = [
        "Threshold",
        "Verdict",
        *make_number_columns("Accepted before", "now", "Decisions turned", "As many at"),
    ]
    return Table.of("watch-thresholds", heads, rows)


def _make_moved_texts_by_group_table(groups: Sequence[TextGroupChange]) -> Table:
    rows: list[list[Said | TableCell]] = [
        [group.group, f"{group.moved:,} of {group.n:,}", "n/a" if group.distance < 0 else f"{group.distance:.2g}"]
        for group in groups
    ]
    return Table.of("watch-groups", ["Texts", *make_number_columns("Beyond noise", "Median distance")], rows)


def _list_watch_check_notes(check: FingerprintCheck) -> Iterator[str]:
    yield f"Check {check.look}: p {check.p:.2g}; an alarm needs {check.level:.2g} or less."
    if check.lost:
        yield f"{check.lost:,} items have no answer and are left out."
    if check.usd is None or check.usd > 0:
        yield f"This check: {format_dollars(check.usd)}."


def iterate_system_agreement_blocks(told: SystemAnswerSimilarity) -> Iterator[Block]:
    """Show whether two systems answer alike, and where not."""
    lede = [
        f"{told.beyond:,} of {told.n:,} items differ by more than either system varies (p {told.p:.2g}); of the first "
        f"ten neighbours, {told.overlap:.0%} agree."
    ]
    lede += [f"Difference: {change.kind} ({change.evidence})." for change in told.changes]
    yield VerdictText((f"{told.first} and {told.second} are {told.verdict}.",), tuple((line,) for line in lede))
    yield _make_moved_texts_by_group_table(told.groups)
    yield BulletList((f"{told.lost:,} items have no answer and are left out.",) if told.lost else ())


def watch_plan_view(steps: Sequence[PlannedStepCost]) -> Iterator[Block]:
    """What would be asked for, a row per step."""
    rows: list[list[Said | TableCell]] = [
        [
            step.step, f"{step.texts:,}", f"{step.tokens:,}", format_dollars(step.usd),
            "not known" if step.seconds is None else _format_seconds(step.seconds)
        ]
        for step in steps
    ]  # fmt: skip
    yield Table.of("watch-plan", ["Step", *make_number_columns("Texts", "Tokens", "Price", "Time")], rows)


def _format_seconds(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds < 90 else f"{seconds / 60:,.0f} min"
