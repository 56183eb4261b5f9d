"""A task of a study as a pair of the record: people by every rule, and systems beside them on the same items."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from embassay.protocols.hume.beyond.agreement_interval import agreement_intervals
from embassay.protocols.hume.beyond.ceiling import human_ceiling
from embassay.protocols.hume.beyond.power import needed
from embassay.protocols.hume.published.quality import ADVICE, trust
from embassay.protocols.hume.published.standing import difficulty
from embassay.protocols.hume.results.answered import Answered
from embassay.protocols.hume.results.bars import as_bar, known, no_bar
from embassay.protocols.hume.results.beside_people import alone, beside_people
from embassay.protocols.hume.results.contestants import Contestant
from embassay.protocols.hume.results.counting import Counting
from embassay.protocols.hume.results.named import Named
from embassay.protocols.hume.results.request import StudyRequest
from embassay.protocols.hume.scoring.agreement import people_agreement
from embassay.protocols.hume.scoring.marked import AP_MODES
from embassay.protocols.hume.scoring.people import MAIN, Scored, who_counts
from embassay.protocols.hume.study import Answers
from embassay.protocols.hume.summary.record import Agreement, Annotator, Bar, Need, PairRecord, SystemScore
from embassay.stats import Estimate

NOBODY = "nobody annotated it"
TOO_FEW = ": too few, left out of the human score and the agreement"


def study_pair(
    of: Answered, request: StudyRequest, contestants: Sequence[Contestant], ranked: Sequence[str], name: Named
) -> PairRecord:
    """The pair of a task; `ranked` are the systems among which the best is looked for."""
    task = of.task
    head = PairRecord(
        task=task.name, dataset=name.dataset, lang=task.lang, family=task.family, measure=MAIN[task.family],
        group=name.group, n=len(of.items), human=no_bar(NOBODY),
        flags=_flags(of, who_counts(of.answers, request.min_answered)),
        models=tuple(alone(one) for one in contestants if one.kind != "llm"),
        llms=tuple(alone(one) for one in contestants if one.kind == "llm"),
    )  # fmt: skip
    if not any(of.answers.values()):
        return head
    return _completed(Counting(of, request), head, contestants, ranked)


def _completed(
    counting: Counting, head: PairRecord, contestants: Sequence[Contestant], ranked: Sequence[str]
) -> PairRecord:
    human, agreement = counting.human, _agreement(counting)
    level = trust(head.family, agreement.value.value if agreement else None)
    systems = beside_people(counting, contestants)
    best = max(
        (one for one in systems if one.system in ranked and one.score.value is not None),
        key=lambda one: one.score.value or 0, default=None,
    )  # fmt: skip
    return head.model_copy(
        update={
            "human": as_bar(human),
            "annotators": _annotators(counting, counting.people.annotators),
            "left_out": _annotators(counting, counting.left_out),
            "conventions": _conventions(counting),
            "agreement": agreement,
            "ceiling": as_bar(human_ceiling(counting.everybody, counting.draws).value),
            "models": tuple(one for one in systems if one.kind != "llm"),
            "llms": tuple(one for one in systems if one.kind == "llm"),
            "difficulty": difficulty(human.estimate),
            "trust": level,
            "superhuman_on_noise": level == "low" and best is not None and _above(best, human),
            "advice": ADVICE if level == "low" else "",
            "need": _need(counting, best, contestants),
        }
    )


def _annotators(counting: Counting, scored: Mapping[str, Scored]) -> tuple[Annotator, ...]:
    main = MAIN[counting.of.task.family]
    workers = {one.id: one for one in counting.of.workers}
    return tuple(
        Annotator(
            id=name, kind=workers[name].kind, score=own.scores[main], items=own.items,
            seconds=workers[name].seconds, flagged=workers[name].flagged,
        )
        for name, own in scored.items()
    )  # fmt: skip


def _conventions(counting: Counting) -> dict[str, float | None]:
    people = counting.people
    found: dict[str, float | None] = {
        "paper": people.score("paper"), "pooled": None if people.pooled is None else people.score("pooled"),
        "mean": people.score("mean"), "first": people.score("first"),
    }  # fmt: skip
    if counting.of.task.family == "reranking":
        found |= {mode: counting.by(mode).score(counting.rule) for mode in AP_MODES}
    return found


def _agreement(counting: Counting) -> Agreement | None:
    family, answers, least = counting.of.task.family, counting.answers, counting.request.min_shared
    found = people_agreement(family, answers, min_shared=least)
    if found.annotators < 2:
        return None
    intervals = agreement_intervals(family, answers, counting.draws, min_shared=least)
    own = intervals.pop(found.coefficient, None)
    value = Bar(
        value=known(found.value), low=known(own.low) if own else None, high=known(own.high) if own else None,
        n=found.items, method=own.method if own else "", reason=found.reason or (own.reason if own else ""),
    )  # fmt: skip
    return Agreement(
        coefficient=found.coefficient, value=value, band=found.band, annotators=found.annotators,
        items=found.items, annotations=found.annotations,
        extras={name: known(extra) for name, extra in found.extras.items()},
        intervals={name: as_bar(one) for name, one in intervals.items()},
    )  # fmt: skip


def _need(counting: Counting, best: SystemScore | None, contestants: Sequence[Contestant]) -> Need | None:
    values = {one.system: one.values for one in contestants}
    if best is None or not values[best.system]:
        return None
    found = needed(counting.counted, values[best.system])
    return Need(
        system=best.system, items=found.items, annotators=found.annotators, smallest=known(found.smallest),
        note=found.note,
    )  # fmt: skip


def _above(best: SystemScore, human: Estimate) -> bool:
    return not math.isnan(human.high) and (best.score.value or 0.0) > human.high


def _flags(of: Answered, counted: Answers) -> tuple[str, ...]:
    n, open_items = len(of.items), len(of.unanswered)
    said = list(of.task.notes)
    if 0 < open_items < n:
        said.append(f"{open_items} of {n} items answered by nobody: left out for systems, too")
    said += [
        f"{one.id} answered {one.answered} of {n} items" + ("" if one.id in counted else TOO_FEW)
        for one in of.workers
        if one.answered < n - open_items
    ]
    return tuple(said)
