"""Bars that a run must clear: on scores, on ends of intervals, and against an earlier run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from embassay.errors import UsageError
from embassay.protocols.compare import (
    ComparableRun,
    HasRunFolder,
    Place,
    ReplicatePairingVerdict,
    SystemContrast,
    SystemStandingWithItemValues,
    compute_one_sided_p,
    contrast_two_systems_by_test,
    determine_replicate_pairing,
    determine_replicate_pairing_at_place,
    explain_differing_datasets,
    find_run_folder,
    is_higher_measure_better,
    read_comparable_run,
)
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import MISSING_LABELS, Claim, make_count_claim, select_claims_of_kind
from embassay.protocols.kernel.comparisons import OVERALL
from embassay.protocols.kernel.outcome import render_terminal_view, render_view_as_html
from embassay.protocols.kernel.quantities import REACH, forecast_detection_with_more_items
from embassay.protocols.kernel.tables import escape_markdown_cell, format_noun_count, strip_control_characters
from embassay.protocols.run_values import is_value_place_selected
from embassay.protocols.thresholds import (
    RequiredResultScore,
    ResultsForThresholds,
    parse_score_threshold,
    read_results_for_thresholds,
)
from embassay.records import ResultRow
from embassay.runs.folder import find_run_folders
from embassay.stats import Estimate, holm
from embassay.stats.few_labels import MoreLabelsOutlook, forecast_extra_labels

MORE = (50, 400)
"""How many more items are told of where a bar is undecided."""

_NOT_THERE = "not in this run (-s tests only the systems it names; --as NEW=OLD maps a renamed system)"


@dataclass(frozen=True, kw_only=True)
class ThresholdVerdict(Estimate):
    """A bar, the value that was held against it with its interval, and whether it was met: None where there was no
    value, or no interval, to hold against it.

    `near` says that the bar lies inside the interval: another sample could have said otherwise. `reason` is filled
    where it was missed or not tested.
    """

    bar: str
    met: bool | None
    near: bool = False
    scale: str = ""
    """The protocol, by which numbers are printed."""
    is_change: bool = False
    """Whether the value is a difference to another run."""
    unpaired: str = ""
    """Why its test could not pair the items of the two runs, and sees less; empty where it did."""
    stops: bool = False
    """Whether the gate stops for it: missed; or not tested where it had to be, for a bar of its own, for a score that
    is gone, and for a fall that no interval can be held against."""
    ahead: tuple[MoreLabelsOutlook, ...] = ()
    """What more items would achieve, for a score that is lower than it was, but not by a test."""


STATES: Mapping[bool | None, str] = {True: "met", False: "missed", None: "not tested"}


def make_bar_verdict_claims(verdicts: Sequence[ThresholdVerdict]) -> tuple[Claim, ...]:
    """Make the claims of how many bars are met, and of each that was tested whether it is kept."""
    counts = (
        make_count_claim(kind, sum(verdict.met is state for verdict in verdicts), len(verdicts))
        for state, kind in STATES.items()
    )
    tested = (
        Claim(
            verdict.bar, "keeps" if verdict.met else "misses", "bar", value=verdict.value, low=verdict.low,
            high=verdict.high,
        )
        for verdict in verdicts
        if verdict.met is not None
    )  # fmt: skip
    return (*counts, *tested)


def describe_threshold_verdict_counts(verdicts: Sequence[ThresholdVerdict]) -> str:
    """Summarise how many bars were met; what was not tested counts for neither side.

    >>> one = [ThresholdVerdict(None, bar="a", met=met) for met in (True, True, None)]
    >>> describe_threshold_verdict_counts(one), describe_threshold_verdict_counts(one[
    ...     :2]), describe_threshold_verdict_counts(one[2:])
    ('2 of 3 thresholds are met; 1 is not tested', 'All 2 thresholds are met', 'No threshold could be tested')
    """
    every = len(verdicts)
    met, missed, untested = (
        claim.n for claim in select_claims_of_kind(make_bar_verdict_claims(verdicts), *STATES.values())
    )
    if untested == every:
        return "No threshold could be tested" + (
            ": the gate fails" if any(verdict.stops for verdict in verdicts) else ""
        )
    rest = f"; {untested} {'is' if untested == 1 else 'are'} not tested" if untested else ""
    fatal = sum(verdict.met is None and verdict.stops for verdict in verdicts)
    if fatal:
        who = "and" if fatal == untested else f"{fatal} of which"
        rest += f" {who} {'fails' if fatal == 1 else 'fail'} the gate"
    if missed:
        return f"{missed} of {format_noun_count(every, 'threshold')} missed{rest}"
    if rest:
        return f"{met} of {format_noun_count(every, 'threshold')} {'is' if met == 1 else 'are'} met{rest}"
    return "The threshold is met" if every == 1 else f"All {format_noun_count(every, 'threshold')} are met"


def format_verdict_value(verdict: ThresholdVerdict) -> str:
    """The value with its interval as people read it."""
    unit = numbers.choose_measure_format_of_protocol(verdict.scale)
    if verdict.value is None:
        return "n/a"
    text = unit.change(verdict.value) if verdict.is_change else unit.text(verdict.value)
    return text if verdict.low is None else f"{text} {unit.interval(*verdict.ends)}"


UNPAIRED = "the errors of both runs add up, so only a larger drop is detected"


def describe_gate_verdict(verdict: ThresholdVerdict) -> str:
    """Met, missed or not tested (in capitals where the gate fails for it), whether it was near, and whether its test
    was weaker than it could be."""
    return (
        {True: "met", False: "MISSED", None: "NOT TESTED" if verdict.stops else "not tested"}[verdict.met]
        + ", near" * verdict.near
        + ", unpaired" * bool(verdict.unpaired)
    )


def describe_gain_of_more_items(verdict: ThresholdVerdict) -> str:
    """What more items would achieve for a bar that lies inside the interval, or for a fall that is no loss yet: how
    wide it
    would be, and the chance of a decision; empty for others.

    >>> near = ThresholdVerdict(0.52, 0.46, 0.58, 100, bar="rag.score.P@10[a]>=0.5", met=True, near=True, scale="rag")
    >>> describe_gain_of_more_items(near)
    'undecided at n 100; 50 more: ± 0.049, 1% chance of a decision; 400 more: ± 0.027, 33% chance of a decision'
    """
    if verdict.ahead:
        return _format_more_labels_outlook(verdict, verdict.ahead)
    if not verdict.near or verdict.is_change or verdict.value is None or verdict.low is None or verdict.high is None:
        return ""
    half, away = ((verdict.high - verdict.low) / 2, abs(verdict.value - parse_score_threshold(verdict.bar).number))
    steps = forecast_extra_labels(away, half, verdict.n, 10**9, steps=MORE, finite=False)
    return _format_more_labels_outlook(verdict, steps) if steps else ""


def _format_more_labels_outlook(verdict: ThresholdVerdict, steps: Sequence[MoreLabelsOutlook]) -> str:
    unit = numbers.choose_measure_format_of_protocol(verdict.scale)
    told = [f"{step.more} more: ± {unit.text(step.half)}, {step.chance:.0%} chance of a decision" for step in steps]
    return "; ".join([f"undecided at n {verdict.n:,}", *told])


def explain_bar_not_met(verdict: ThresholdVerdict) -> str:
    """Explain why a bar was missed or not tested, and why it was not paired."""
    return "; ".join(filter(None, (verdict.reason, f"not paired: {verdict.unpaired}" if verdict.unpaired else "")))


def format_verdicts_as_junit(verdicts: Sequence[ThresholdVerdict]) -> str:
    """A test suite of one case per bar, XML. What is not tested is an error where the gate stops for it, else
    skipped."""
    kinds = [_name_junit_outcome(one) for one in verdicts]
    suite = ElementTree.Element(
        "testsuite",
        name="embassay gate",
        tests=str(len(verdicts)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(kinds.count("skipped")),
    )
    for verdict, kind in zip(verdicts, kinds, strict=True):
        # XML cannot hold control characters.
        name = strip_control_characters(verdict.bar + " (unpaired)" * bool(verdict.unpaired))
        case = ElementTree.SubElement(suite, "testcase", classname="embassay.gate", name=name)
        if kind:
            told = ElementTree.SubElement(
                case, kind, message=strip_control_characters(explain_bar_not_met(verdict)), type="bar"
            )
            told.text = strip_control_characters(
                f"{verdict.bar}: {format_verdict_value(verdict)} (n = {verdict.n}); {explain_bar_not_met(verdict)}"
            )
        if verdict.unpaired:
            said = ElementTree.SubElement(case, "system-out")
            said.text = strip_control_characters(f"Not paired ({verdict.unpaired}): {UNPAIRED}.")
    ElementTree.indent(suite)
    return "<?xml version='1.0' encoding='utf-8'?>\n" + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _name_junit_outcome(verdict: ThresholdVerdict) -> str:
    if verdict.met is None:
        return "error" if verdict.stops else "skipped"
    return "" if verdict.met else "failure"


def format_verdicts_as_markdown(verdicts: Sequence[ThresholdVerdict]) -> str:
    """A heading that says how it went, and a table."""
    lines = [
        f"### Embassay gate: {describe_threshold_verdict_counts(verdicts)}",
        "",
        "| Threshold | Value, 95% CI | n | Verdict | Why |",
        "|---|---:|---:|---|---|",
    ]
    lines += [
        f"| `{escape_markdown_cell(verdict.bar)}` | {format_verdict_value(verdict)} | {verdict.n:,} | "
        f"{describe_gate_verdict(verdict)} | {escape_markdown_cell(explain_bar_not_met(verdict))} |"
        for verdict in verdicts
    ]
    lines += ["", "Near: the threshold is inside the interval, so another sample could change the verdict."]
    if any(verdict.unpaired for verdict in verdicts):
        lines += ["", f"Unpaired: {UNPAIRED}."]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _SystemRegressionTest:
    place: Place
    system: str
    found: SystemContrast | None
    p: float = math.nan
    reason: str = ""
    """Why it is not a test; empty where it is one."""
    stops: bool = False
    fall: float = 0.0
    """How far it fell beyond the margin."""
    unpaired: str = ""
    """Why the items of the two runs are not paired; empty where they are."""
    ungraded: str = ""
    """Why a drop is not a verdict: the gap may only reflect missing grades."""


def judge_against_baseline(
    now: ComparableRun,
    base: ComparableRun,
    *,
    alpha: float = 0.05,
    margin: float = 0.0,
    systems: Sequence[str] = (),
    tasks: Sequence[str] = (),
    measures: Sequence[str] = (),
) -> tuple[ThresholdVerdict, ...]:
    """Whether each ranked system of the earlier run is no worse now, at every headline over datasets.

    A test says worse where the difference is below -`margin` (above, where lower is better) with a one-sided p, by Holm
    over all tests of the call, below `alpha`: with nothing changed, the chance of any false alarm is at most about
    alpha. Runs whose items differ are tested unpaired, which every verdict says: such a test needs a larger fall. What
    has no value in one of the runs, no interval, or did not change on any item is not tested; the gate stops for a
    value that is gone, for a fall without an interval, and for one that may be due to missing labels alone, as
    `compare` says of the two. Raises UsageError for runs of two protocols, or where nothing is left to compare.
    """
    if now.protocol_name != base.protocol_name:
        raise UsageError(
            f"{base.path} is a {base.protocol_name} run and {now.path} a {now.protocol_name} run.",
            mend="Give runs of the same protocol.",
        )
    base.check(systems)
    how = determine_replicate_pairing(now.manifest, base.manifest)
    tests = [
        _test_system_against_baseline(
            now, base, place, system, how=determine_replicate_pairing_at_place(how, place, now, base), margin=margin
        )
        for place in _split_means_into_shared_datasets(now, base, _list_headline_result_keys(base, tasks, measures))
        for system in systems or [one.system for one in base.at(place)]
        if _has_system_value(base, place, system) or _has_system_value(now, place, system)
    ]
    if not tests:
        raise UsageError(f"{base.path} has no score to compare with.", mend="Leave out -s, -t or -m.")
    return tuple(_make_threshold_verdicts(tests, alpha, margin, now.protocol_name))


def _has_system_value(run: ComparableRun, place: Place, system: str) -> bool:
    found = run.find_system_standing(place, system)
    return found is not None and found.headline.value is not None


def _list_headline_result_keys(base: ComparableRun, tasks: Sequence[str], measures: Sequence[str]) -> list[Place]:
    """List the headline places over datasets, or a run's own where it has no such places."""
    named = [place for place in base.value_places if is_value_place_selected(place, tasks, measures)]
    return [place for place in named if not place[1]] or named


def _split_means_into_shared_datasets(
    now: ComparableRun, base: ComparableRun, places: Sequence[Place]
) -> Iterator[Place]:
    """The places, with those over datasets that are not the same in both runs taken apart into the datasets that both
    have; as they are where they have none, or are overall."""
    for place in places:
        task, _, measure = place
        shared = base.list_task_datasets(task) & now.list_task_datasets(task)
        if not explain_differing_datasets(now, base, place) or task == OVERALL or not shared:
            yield place
            continue
        yield from ((task, name, measure) for name in sorted(shared))


def _test_system_against_baseline(
    now: ComparableRun, base: ComparableRun, place: Place, system: str, *, how: ReplicatePairingVerdict, margin: float
) -> _SystemRegressionTest:
    """Test a system at a place in both runs, paired or not as the measure allows."""
    return replace(_test_change_from_earlier_run(now, base, place, system, how.paired, margin), unpaired=how.reason)


def _test_change_from_earlier_run(
    now: ComparableRun, base: ComparableRun, place: Place, system: str, paired: bool, margin: float
) -> _SystemRegressionTest:
    before, after = base.find_system_standing(place, system), now.find_system_standing(place, system)
    if before is None or before.headline.value is None:
        return _SystemRegressionTest(place, system, None, reason="no value in the earlier run")
    if after is None or after.headline.value is None:
        why = after.headline.reason if after else _NOT_THERE
        return _SystemRegressionTest(place, system, None, reason=f"no value now: {why}", stops=True)
    if data := explain_differing_datasets(now, base, place):
        shared = base.list_task_datasets(place[0]) & now.list_task_datasets(place[0])
        return _SystemRegressionTest(place, system, None, reason=data, stops=not shared)
    found = contrast_two_systems_by_test(
        SystemStandingWithItemValues(after), SystemStandingWithItemValues(before), paired=paired
    )
    # Turned so that higher is better and moved by the margin: below 0 is a fall.
    sign = 1.0 if is_higher_measure_better(place[2]) else -1.0
    shifted = replace(found, difference=sign * (found.difference or 0.0) + margin)
    # There is no p without an error: runs that are equal throughout have 1, others a reason instead.
    if math.isnan(found.p):
        same = found.error == 0 and found.difference == 0
        if same and None not in (*after.headline.interval, *before.headline.interval):
            return _SystemRegressionTest(place, system, found, 1.0)
        fell = (shifted.difference or 0.0) < 0
        why = f"it became worse, but perhaps by chance: {found.reason}" if fell else found.reason
        return _SystemRegressionTest(place, system, found, reason=why, stops=fell)
    fall = max(0.0, -(shifted.difference or 0.0))
    return _SystemRegressionTest(
        place,
        system,
        found,
        compute_one_sided_p(shifted),
        fall=fall,
        ungraded=_explain_drop_by_missing_labels(found, now, base),
    )


def _explain_drop_by_missing_labels(found: SystemContrast, now: ComparableRun, base: ComparableRun) -> str:
    """Explain why a fall may come of missing labels; empty where it does not."""
    less = now.find_less_judged_run(base, found.measure, (found.a, found.b), found.difference)
    when = {"first": "are graded now than", "second": "were graded"}.get(less)
    return f"fewer of its passages {when} before: {MISSING_LABELS.removesuffix('.')}" if when else ""


def _make_threshold_verdicts(
    tests: Sequence[_SystemRegressionTest], alpha: float, margin: float, protocol: str
) -> Iterator[ThresholdVerdict]:
    tested = [one.p for one in tests if one.p < 1]
    corrected = iter(holm(tested) if tested else ())
    measures: dict[str, set[str]] = {}
    for test in tests:
        measures.setdefault(test.place[0], set()).add(test.place[2])
    for test in tests:
        task, dataset, measure = test.place
        what = f"{task}.{measure}" if len(measures[task]) > 1 else task
        inside = f"{test.system},dataset={dataset}" if dataset else test.system
        bar = f"{protocol}.{what}[{inside}] no worse" + (f" than -{margin:g}" if margin else "")
        p = next(corrected) if test.p < 1 else test.p
        made = _make_threshold_verdict(test, bar, p, alpha, protocol)
        yield (
            replace(made, ahead=_forecast_drop_detection_with_more_items(test, alpha / len(tested)))
            if made.met and test.fall
            else made
        )


def _forecast_drop_detection_with_more_items(
    test: _SystemRegressionTest, alpha: float
) -> tuple[MoreLabelsOutlook, ...]:
    """What more items would achieve for a fall that is not found: half of the 95% interval of the difference, and the
    chance that a one-sided test at `alpha` finds it."""
    if test.found is None or not test.found.error > 0:
        return ()
    return forecast_detection_with_more_items(test.fall, REACH * test.found.error, test.found.n, alpha, MORE)


def _make_threshold_verdict(
    test: _SystemRegressionTest, bar: str, p: float, alpha: float, protocol: str
) -> ThresholdVerdict:
    found = test.found
    made = ThresholdVerdict(
        None, bar=bar, met=None, reason=test.reason, scale=protocol, is_change=True, stops=test.stops
    )
    if found is None:
        return made
    made = replace(made, value=found.difference, low=found.low, high=found.high, n=found.n)
    if test.reason:
        return made
    worse = p < alpha
    # A fall that missing labels alone may explain is no loss, and no pass either: the gate stops until they are there.
    if worse and test.ungraded:
        return replace(made, reason=test.ungraded, unpaired=test.unpaired, stops=True)
    reason = f"p {p:.3g} (one-sided, Holm) is below {alpha:g}" if worse else ""
    return replace(made, met=not worse, reason=reason, unpaired=test.unpaired, stops=worse)


def iterate_score_threshold_verdicts(
    bars: Sequence[RequiredResultScore], rows: ResultsForThresholds
) -> Iterator[ThresholdVerdict]:
    """The verdict on every bar. Without a value, or the interval that it asks for, a bar is not tested, and the gate
    stops: what was asked for is not shown. UsageError for a bar that means no row."""
    for bar in bars:
        yield _judge_score_against_threshold(bar, rows.find(bar))


def _judge_score_against_threshold(bar: RequiredResultScore, row: ResultRow) -> ThresholdVerdict:
    verdict = ThresholdVerdict(
        *(row.value, row.ci_low, row.ci_high, row.n), bar=bar.text, met=None, scale=bar.protocol, stops=True
    )
    held = {"value": row.value, "lower": row.ci_low, "upper": row.ci_high}[bar.end]
    if held is None:
        why = row.reason or "no value"
        return replace(verdict, reason=why if row.value is None else "the score has no interval")
    low, high = row.ci_low, row.ci_high
    near = low is not None and high is not None and low <= bar.number <= high
    if bar.is_met_by(held):
        return replace(verdict, met=True, near=near, stops=False)
    return replace(verdict, met=False, near=near, reason=f"{bar.end} {held:.4g} is not {bar.sign} {bar.number:g}")


def describe_judge_deviation_from_people(folder: Path) -> Iterator[str]:
    """How far the judge of a run is from the people who corrected it, by their grade and by rank."""
    from embassay.protocols.rag.scoring.correction import CORRECTED, read_judge_corrections

    for path in find_run_folders(folder):
        if not (path / CORRECTED).is_file():
            continue
        corrections = read_judge_corrections(path / CORRECTED)
        kinds = (
            f"{off.kind} {off.mean:+.2f}" + ("" if off.low is None else f" ({off.low:+.2f} to {off.high:+.2f})")
            for off in corrections.off
        )
        yield f"{path.name}: the judge's grades minus people's: {', '.join(kinds)}. {corrections.use}"


@dataclass(frozen=True)
class QualityGateResult:
    """What became of every bar, and where a corrected judge is off. Printed, it is what the command says."""

    verdicts: tuple[ThresholdVerdict, ...]
    judge: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing stops: no bar is missed, and none that had to be tested is untested."""
        return not any(verdict.stops for verdict in self.verdicts)

    @property
    def is_every_bar_met(self) -> bool:
        """Whether every bar was tested and met."""
        return all(verdict.met for verdict in self.verdicts)

    def format_junit(self) -> str:
        """The verdicts as JUnit XML."""
        return format_verdicts_as_junit(self.verdicts)

    def markdown(self) -> str:
        """Format the verdicts as a Markdown table."""
        return format_verdicts_as_markdown(self.verdicts) + "".join(f"\n{one}\n" for one in self.judge)

    def __str__(self) -> str:
        """Verdict and table in 80 columns."""
        return render_terminal_view("gate_verdicts_view", self.verdicts, self.judge)

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        return render_view_as_html("gate_verdicts_view", self.verdicts, self.judge)


def parse_system_renames(pairs: Sequence[str]) -> dict[str, str]:
    """Old name of a system -> its new one, of pairs NEW=OLD. UsageError for what is none.

    >>> parse_system_renames(["st:./new=st:./released"])
    {'st:./released': 'st:./new'}
    """
    names = {}
    for pair in pairs:
        new, sign, old = pair.rpartition("=")
        if not (new and sign and old):
            raise UsageError(f"{pair!r} does not name two systems.", mend="Write NEW=OLD.")
        names[old] = new
    return names


def gate(
    run: str | Path | HasRunFolder,
    *bars: str,
    no_worse_than: str | Path | HasRunFolder | None = None,
    names: Mapping[str, str] = {},
    alpha: float = 0.05,
    margin: float = 0.0,
    systems: Sequence[str] = (),
    tasks: Sequence[str] = (),
    measures: Sequence[str] = (),
) -> QualityGateResult:
    """Hold a run against bars such as `"sage.overall[minilm]>=0.45@lower"`, and against an earlier run.

    A bar is on a score, or with @lower or @upper on an end of its 95% interval. `no_worse_than` asks by paired tests
    whether any system became worse by more than `margin`, in the measure's unit; `alpha` is the chance of a false alarm
    over all of them; `systems`, `tasks` and `measures` keep these alone; `names` are systems that were called otherwise
    in the earlier run, old -> new. A score without a value, or without the
    interval that a test needs, is not tested: neither met nor missed.

    Raises UsageError without a bar, or for one that cannot be read or means no score; DataError for a folder without a
    run.
    """
    if not bars and no_worse_than is None:
        raise UsageError(
            "There is no threshold.", mend="Add one such as 'sage.overall[SYSTEM]>=0.45', or an earlier run."
        )
    if not 0 < alpha < 1:
        raise UsageError(f"alpha is {alpha:g}.", mend="Give a number between 0 and 1.")
    folder = find_run_folder(run)
    read = [parse_score_threshold(text) for text in bars]
    verdicts = list(iterate_score_threshold_verdicts(read, read_results_for_thresholds(folder))) if read else []
    if no_worse_than is not None:
        verdicts += judge_against_baseline(
            read_comparable_run(folder),
            read_comparable_run(find_run_folder(no_worse_than)).rename_systems(names),
            alpha=alpha,
            margin=margin,
            systems=systems,
            tasks=tasks,
            measures=measures,
        )
    return QualityGateResult(tuple(verdicts), tuple(describe_judge_deviation_from_people(folder)))


__all__ = [
    "QualityGateResult",
    "ThresholdVerdict",
    "format_verdicts_as_junit",
    "format_verdicts_as_markdown",
    "gate",
    "iterate_score_threshold_verdicts",
    "judge_against_baseline",
    "parse_system_renames",
]
