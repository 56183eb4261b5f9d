"""What the runs of a report say of each question of the first screen: who was compared, with which values, and how far
that may be believed. Every kind of run feeds the questions that it answers, the best evidence first: people's labels,
then a golden set that a model graded, then a choice without labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Kind
from embassay.protocols.compare import is_higher_measure_better
from embassay.protocols.kernel import tables
from embassay.protocols.kernel.comparisons import CLASSICAL, OVERALL, RANKED, REFERENCE, SystemStanding, read_standings
from embassay.protocols.kernel.tables import POINTS, SCORE, MeasureFormat
from embassay.report.runs import ReportRun, read_hume_summary, read_scoring, read_sweep_findings
from embassay.stats import NORMAL, Estimate, Freedom, freedom_of_difference
from embassay.stats.intervals import find_pooled_degrees_of_differences

if TYPE_CHECKING:
    from embassay.protocols.rag.sweep.findings.record import SweepDatasetFindings

__all__ = ["Basis", "RunEvidenceOnQuestion", "SystemEstimateWithRanks", "collect_question_evidence"]

Basis = Literal["quality", "share", "groups", "choice"]
"""What a value is: how good a system is at something that people want (`quality`), the share of it that is kept under
a change whatever it was (`share`), topics recovered (`groups`), or a belief without labels (`choice`). A recommendation
rests on `quality`."""
RESAMPLES = 2000


@dataclass(frozen=True, kw_only=True)
class SystemEstimateWithRanks(Estimate):
    """A system's value at a question, its 95% interval where there is one, and the places that its run's tests leave it
    (None without tests)."""

    name: str
    kind: Kind | Literal["human"]
    ranks: tuple[int, int] | None = None


@dataclass(frozen=True)
class RunEvidenceOnQuestion:
    """What a run says of a question: contenders best first, and their paired resamples, (systems, resamples). `note`
    says why it answers nothing after all, `equal` names what knows nothing and scores as much as the leader, `uneven`
    why its systems don't compare; `people` and `beside` are those of an answer. Without an outlook the resamples don't
    tell what more of what is counted would do. `free` are the degrees of the difference of the first two.

    `means` says what the values are, where that is not the question's own caption; `basis` what they are worth.
    `floor` is the best value of a reference, which whoever may be first has to pass. `told` and `chance` stand in for
    what resamples would say where a run keeps none: a sentence, and in how many of 100 the leader is ahead; `may` are
    then those that may be first, and so many more items are `needed`.
    """

    run: ReportRun
    contenders: tuple[SystemEstimateWithRanks, ...]
    replicates: NDArray[np.float64]
    n: int
    unit: MeasureFormat
    note: str = ""
    equal: str = ""
    uneven: str = ""
    people: SystemEstimateWithRanks | None = None
    beside: str = ""
    has_outlook: bool = True
    free: Freedom = NORMAL
    means: str = ""
    basis: Basis = "quality"
    floor: float | None = None
    told: str = ""
    chance: int | None = None
    may: tuple[str, ...] = ()
    needed: int | None = None


def _standings_evidence(
    run: ReportRun, kinds: Sequence[str], task: str, unit: MeasureFormat, *, means: str = "", basis: Basis = "quality"
) -> RunEvidenceOnQuestion | None:
    """The evidence in a run's standings on a task, of the systems that one method scored."""
    if run.record.kind not in kinds:
        return None
    every = [row for row in read_standings(run.record.path) if row.task == task and not row.dataset]
    # One group only: what two methods scored cannot be ranked together.
    for group in (RANKED, CLASSICAL):
        ours = [row for row in every if row.group == group and row.headline.value is not None]
        if len(ours) > 1:
            scope = task if group == RANKED else f"{task}:{group}"
            known = [row.headline for row in every if row.group == REFERENCE and row.headline.value is not None]
            evidence = _build_standings_evidence(run, ours, scope, unit, collections=basis == "groups")
            best = max(known, key=lambda headline: headline.value or 0.0, default=None)
            floor = None if best is None else best.value
            is_reached = floor is not None and floor >= evidence.contenders[0].point
            equal = f"a baseline that ignores the text ({best.system})" if best and is_reached else ""
            return replace(evidence, equal=equal, floor=floor, means=means, basis=basis)
    return None


def _build_standings_evidence(
    run: ReportRun, standings: Sequence[SystemStanding], scope: str, unit: MeasureFormat, *, collections: bool
) -> RunEvidenceOnQuestion:
    sign = 1.0 if is_higher_measure_better(standings[0].measure) else -1.0
    ordered = sorted(standings, key=lambda standing: (-sign * (standing.headline.value or 0.0), standing.system))
    lengths = {len(standing.headline.replicates) for standing in ordered}
    replicates = (
        sign * np.stack([standing.headline.replicates for standing in ordered])
        if len(lengths) == 1
        else np.empty((len(ordered), 0))
    )
    kinds, ranges = (
        {system.name: system.kind for system in run.record.systems},
        run.record.find_task_comparisons(scope).ranges,
    )
    contenders = [
        SystemEstimateWithRanks(
            float(standing.headline.value or 0.0),
            *standing.headline.interval,
            name=standing.system,
            kind=kinds.get(standing.system, "embedding"),
            ranks=ranges.get(standing.system),
        )
        for standing in ordered
    ]
    strata = [one.headline.list_separately_resampled_strata for one in ordered]
    free = freedom_of_difference(*strata[:2], most=find_pooled_degrees_of_differences(strata))
    evidence = RunEvidenceOnQuestion(run, tuple(contenders), replicates, ordered[0].headline.n, unit, free=free)
    if not collections:
        return evidence
    sets, whole = _count_collections_and_check_resampled(run, ordered[0].system)
    return replace(evidence, n=sets, has_outlook=whole or sets >= LEAST_COLLECTIONS)


LEAST_COLLECTIONS = 5
"""Below so many collections nothing is sure."""


OVER_SETS = re.compile(r"over ([\d,]+) sets?\b")


def _count_collections_and_check_resampled(run: ReportRun, system: str) -> tuple[int, bool]:
    """How many collections a system was asked to group, and whether these are what was resampled: a dataset of one is
    resampled over its texts, which says nothing of other collections."""
    methods = {
        row.dataset: row.method
        for row in run.record.rows.values()
        if (row.task, row.system, row.measure, row.subset) == ("clustering", system, "v_measure", "")
        and row.dataset
        and row.variant in ("", "original")
    }
    matches = [OVER_SETS.search(method) for method in methods.values()]
    many = [int(match[1].replace(",", "")) if match else 1 for match in matches]
    return sum(many), all(matches) and bool(matches)


def _scoring_evidence(run: ReportRun, *, labels: bool) -> RunEvidenceOnQuestion | None:
    """Of a scoring by people's labels, or by a golden set: its leading measure, with the values and the tests of its
    record, corrected by people or not."""
    score = read_scoring(run)
    if score is None or _has_model_graded_judgements(run, score.judgements.path) == labels:
        return None
    from embassay.protocols.rag.scoring.conclusions import find_less_judged_run
    from embassay.protocols.rag.scoring.standings import read_scored_runs
    from embassay.report.rag.tables import TASK, choose_measure_number_format

    headline, scored = score.headline, read_scored_runs(run.record.path)
    ours = [
        standing for standing in scored.standings if standing.measure == headline and len(standing.headline.replicates)
    ]
    if len(ours) < 2:
        return None
    evidence = _build_standings_evidence(run, ours, TASK, choose_measure_number_format(headline), collections=False)
    other = find_less_judged_run(score)
    uneven = f"{other[0]} has fewer graded passages; use rag golden --add-run" if other is not None else ""
    return replace(evidence, uneven=uneven, means=f"{headline} by {'labels' if labels else 'a golden set'}")


def _has_model_graded_judgements(run: ReportRun, path: str) -> bool:
    """Whether judgements come out of a golden run, whose grades a model gave. A path is as the command had it, so it is
    looked for from every folder above the run too."""
    starts = (Path(), *run.record.path.resolve().parents[:MOST_ABOVE])
    folders = [folder for start in starts for folder in (start / path, *(start / path).parents[:2])]
    return any((folder / GOLDEN).is_file() for folder in folders)


GOLDEN = "golden.json"
MOST_ABOVE = 4
"""Folders above a run from which its command may have been given."""


def _make_sweep_evidence_on_encoders(run: ReportRun, *, labels: bool) -> RunEvidenceOnQuestion | None:
    """Of a sweep: every encoder by its best stack. A sweep tests no ranks, so an encoder is at most likely first: where
    it beats every other one in stacks that differ in nothing else."""
    findings = read_sweep_findings(run)
    if findings is None or _has_model_graded_judgements(run, _find_judgement_source(run)) == labels:
        return None
    part, measure = findings.parts[0], findings.asked.measure
    best: dict[str, Any] = {}
    for stack in part.stacks:
        name, value = str(stack.axes.get("encoder") or ""), stack.value(measure)
        if name and value is not None and (name not in best or value > (best[name].value(measure) or 0.0)):
            best[name] = stack
    kinds = {system.name: system.kind for system in run.record.systems}
    contenders = [
        SystemEstimateWithRanks(figure.value, figure.low, figure.high, name=name, kind=kinds.get(name, "embedding"))
        for name, stack in best.items()
        if (quality := stack.find_measured_quality(measure)) is not None and (figure := quality.value).value is not None
    ]
    ordered = tuple(sorted(contenders, key=lambda contender: (-contender.point, contender.name)))
    if len(ordered) < 2:
        return None
    beaten = _find_encoders_beaten_by_another(part, measure)
    may = tuple(row.name for row in ordered if row.name not in beaten)
    is_first = may == (ordered[0].name,)
    told = "ahead with all else equal" if is_first else "no encoder beats all others with all else equal"
    taken = next((stack for stack in part.stacks if stack.id == part.recommendation.stack), None)
    if is_first and taken is not None and taken.axes.get("encoder") != may[0]:
        is_first, told = False, f"the sweep's rule selects {taken.axes.get('encoder')}"
    return RunEvidenceOnQuestion(
        run, ordered, np.empty((len(ordered), 0)), part.queries, SCORE,
        means=f"{measure} of its best stack, by {'labels' if labels else 'a golden set'}",
        told=told, chance=LIKELY if is_first else 0, may=may or tuple(row.name for row in ordered)
    )  # fmt: skip


LIKELY = 80
"""Resamples of 100 from which a leader is likely first."""


def _find_encoders_beaten_by_another(part: SweepDatasetFindings, measure: str) -> set[str]:
    """The encoders that another one beats in stacks that differ in nothing else, by the interval of the difference."""
    beaten: set[str] = set()
    for effect in part.effects:
        low, high = effect.quality.low, effect.quality.high
        if effect.axis != "encoder" or effect.measure != measure or low is None or high is None:
            continue
        if low > 0:
            beaten.add(effect.other)
        elif high < 0:
            beaten.add(effect.value)
    return beaten


def _find_judgement_source(run: ReportRun) -> str:
    """Where a sweep has its questions and judgements from."""
    datasets: Sequence[Mapping[str, Any]] = run.record.arguments.get("datasets") or ()
    return str(datasets[0].get("source", "")) if datasets else ""


LEAST_CHANCE = 0.05
"""Who is less likely the best than this is out of a choice."""


def _choice_evidence(run: ReportRun) -> RunEvidenceOnQuestion | None:
    """Evidence of a choice: how likely each system is the best, by the documents and the labels."""
    choice = next(iter(run.record.compared.get("choice", {}).items()), None) if run.record.kind == "choose" else None
    if choice is None:
        return None
    dataset, told = choice
    contenders = [
        SystemEstimateWithRanks(row.value, name=system.name, kind=system.kind)
        for system in run.record.list_non_reference_systems
        if (row := run.record.find("choice", system.name, "p_best", dataset=dataset)) is not None
        and row.value is not None
    ]
    # The pick is the one with the least expected loss, which need not be the likeliest.
    ordered = tuple(sorted(contenders, key=lambda row: (row.name != told["pick"], -row.point, row.name)))
    if len(ordered) < 2:
        return None
    judged = tables.format_noun_count(told["judged"], "judged question") if told["judged"] else "no labels"
    chance, near = tables.format_percent(told["p_best"]), tables.format_percent(told["p_near"])
    return RunEvidenceOnQuestion(
        run, ordered, np.empty((len(ordered), 0)), told["judged"] or told["questions"], SCORE,
        means=f"chance of being best; {judged}", basis="choice",
        told=f"{chance} best, {near} within {told['tolerance']:g} of the best",
        chance=LIKELY if told["says"] == told["pick"] else 0, needed=told["labels"],
        may=tuple(row.name for row in ordered if row.point >= LEAST_CHANCE or row is ordered[0])
    )  # fmt: skip


def _make_human_study_evidence(run: ReportRun) -> RunEvidenceOnQuestion | None:
    """Evidence of a study: systems on the items that people had; scripts in their place are no people."""
    evidence, summary = _standings_evidence(run, ("hume",), OVERALL, POINTS), read_hume_summary(run)
    if evidence is None or summary is None:
        return None
    from embassay.protocols.hume.results.markdown import describe_kind_of_answerers

    if describe_kind_of_answerers(summary) == "people":
        human = next((place.mean for place in summary.places if place.kind == "human"), None)
        won = next((wins for wins in summary.wins if (wins.by, wins.reference) == ("all", "best")), None)
        beside = f"people lead on {won.wins} of {tables.format_noun_count(won.pairs, 'task')}" if won else ""
        if human is None or human.value is None:
            return replace(evidence, beside=beside)
        people = SystemEstimateWithRanks(human.value, human.low, human.high, name="people", kind="human")
        return replace(evidence, people=people, beside=beside)
    return replace(evidence, note="scripts answered; for answers from people, use hume serve")


def _paraphrase_evidence(run: ReportRun, kind: str) -> RunEvidenceOnQuestion | None:
    """The overall score on reworded texts; of a run of clustering alone that is no more than grouping."""
    tasks = {task for task, *_ in run.record.rows} - {OVERALL}
    basis: Basis = "share" if tasks == {"clustering"} else "quality"
    return _standings_evidence(run, (kind,), OVERALL, POINTS, basis=basis)


def _find_evidence_on_robustness(run: ReportRun) -> RunEvidenceOnQuestion | None:
    """Evidence of robustness: who only ignores noise reaches a third, and nobody leads with no more."""
    evidence = _standings_evidence(run, ("sage",), "robustness", SCORE, means=STABLE, basis="share")
    if evidence is None or evidence.contenders[0].point > ONLY_NOISE + ROUNDING:
        return evidence
    return replace(
        evidence,
        equal=evidence.equal or "a system that only ignores noise",
        floor=max(evidence.floor or 0.0, ONLY_NOISE),
    )


ONLY_NOISE, ROUNDING = 1 / 3, 1e-9
KEPT = "share of search quality kept"
STABLE = "keeps noise closer than a changed meaning"
PARAPHRASED = "search quality on paraphrased texts"
Finder = Callable[[ReportRun], RunEvidenceOnQuestion | None]
FINDERS: Mapping[str, Sequence[Finder]] = {
    "search": (
        lambda run: _scoring_evidence(run, labels=True),
        lambda run: _standings_evidence(run, ("original",), "retrieval", POINTS, means="nDCG@10 by labels"),
        lambda run: _make_sweep_evidence_on_encoders(run, labels=True),
        lambda run: _scoring_evidence(run, labels=False),
        lambda run: _make_sweep_evidence_on_encoders(run, labels=False),
        lambda run: _standings_evidence(run, ("pteb",), "retrieval", POINTS, means=PARAPHRASED),
        _choice_evidence,
    ),
    "reworded": (lambda run: _paraphrase_evidence(run, "pteb"), lambda run: _paraphrase_evidence(run, "hteb")),
    "damaged": (
        lambda run: _standings_evidence(run, ("sage",), "retrieval", SCORE, means=KEPT, basis="share"),
        _find_evidence_on_robustness,
    ),
    "groups": (
        lambda run: _standings_evidence(run, ("sage",), "clustering", SCORE, basis="groups"),
        lambda run: _standings_evidence(run, ("pteb", "original"), "clustering", POINTS, basis="groups"),
    ),
    "people": (_make_human_study_evidence,),
}
"""Where evidence on a question is looked for, the best first."""


def collect_question_evidence(question: str, runs: Sequence[ReportRun]) -> Iterator[RunEvidenceOnQuestion]:
    """What the runs say of a question, the best evidence first."""
    # Finders before runs: the best kind of evidence in any run comes before a lesser one in the first.
    for find in FINDERS[question]:
        for run in runs:
            evidence = find(run)
            if evidence is not None and len(evidence.contenders) > 1:
                yield evidence
