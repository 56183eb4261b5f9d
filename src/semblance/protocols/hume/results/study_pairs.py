"""A task of a study as a pair of the record: people by every rule, and systems beside them on the same items."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semblance.protocols.hume.beyond.against_people import against_people
from semblance.protocols.hume.beyond.agreement_interval import agreement_intervals
from semblance.protocols.hume.beyond.among import among_people
from semblance.protocols.hume.beyond.bars import as_bar
from semblance.protocols.hume.beyond.ceiling import human_ceiling
from semblance.protocols.hume.beyond.paired import Compared, compare_with_people
from semblance.protocols.hume.beyond.people import People, people_rows, row_score
from semblance.protocols.hume.beyond.power import needed
from semblance.protocols.hume.beyond.resampling import Draws, no_interval, resampled
from semblance.protocols.hume.published.quality import ADVICE, trust
from semblance.protocols.hume.published.standing import difficulty, percent_of_human
from semblance.protocols.hume.results.answered import Answered
from semblance.protocols.hume.results.bars import bar_of, known, no_bar
from semblance.protocols.hume.results.contestants import Contestant, on_items
from semblance.protocols.hume.results.named import Named
from semblance.protocols.hume.results.request import StudyRequest
from semblance.protocols.hume.scoring.agreement import people_agreement
from semblance.protocols.hume.scoring.interval import human_interval, is_outside
from semblance.protocols.hume.scoring.marked import AP_MODES
from semblance.protocols.hume.scoring.people import MAIN, Aggregation, PeopleScores, score_people
from semblance.protocols.hume.study import Family
from semblance.protocols.hume.summary.record import Agreement, Annotator, Bar, Need, PairRecord, SystemScore
from semblance.stats import Estimate

NOBODY = "nobody annotated it"


def study_pair(
    of: Answered, request: StudyRequest, contestants: Sequence[Contestant], ranked: Sequence[str], name: Named
) -> PairRecord:
    """The pair of a task; `ranked` are the systems among which the best is looked for."""
    task = of.task
    head = PairRecord(
        task=task.name, dataset=name.dataset, lang=task.lang, family=task.family, measure=MAIN[task.family],
        group=name.group, n=len(of.items), human=no_bar(NOBODY), flags=_flags(of),
        models=tuple(_alone(one) for one in contestants if one.kind != "llm"),
        llms=tuple(_alone(one) for one in contestants if one.kind == "llm"),
    )  # fmt: skip
    if not any(of.answers.values()):
        return head
    return _Pair(of, request).completed(head, contestants, ranked)


@dataclass(frozen=True)
class _Pair:
    """A task that somebody answered."""

    of: Answered
    request: StudyRequest

    def completed(
        self, head: PairRecord, contestants: Sequence[Contestant], ranked: Sequence[str]
    ) -> PairRecord:
        people = self.scored(self.request.human_ap_mode)
        human = self.interval(people)
        agreement = self.agreement()
        found = agreement.value.value if agreement else None
        systems = self.beside(people, human, contestants)
        best = max(
            (one for one in systems if one.system in ranked and one.score.value is not None),
            key=lambda one: one.score.value or 0, default=None,
        )  # fmt: skip
        level = trust(head.family, found)
        return head.model_copy(
            update={
                "human": bar_of(human),
                "annotators": self.annotators(people),
                "conventions": self.conventions(people),
                "agreement": agreement,
                "ceiling": as_bar(human_ceiling(self.people, self.draws).value),
                "models": tuple(one for one in systems if one.kind != "llm"),
                "llms": tuple(one for one in systems if one.kind == "llm"),
                "difficulty": difficulty(human.estimate),
                "trust": level,
                "superhuman_on_noise": level == "low" and best is not None and _above(best, human),
                "advice": ADVICE if level == "low" else "",
                "need": self.need(best, contestants),
            }
        )

    @property
    def rule(self) -> Aggregation:
        return rule_of(self.of.task.family, self.request.aggregation)

    @property
    def people(self) -> People:
        of = self.of
        return People(of.task.spec, of.gold, of.answers, self.rule, self.request.human_ap_mode)

    @property
    def draws(self) -> Draws:
        return Draws(n_resamples=self.request.resamples, seed=self.request.seed)

    def scored(self, mode: str) -> PeopleScores:
        of = self.of
        return score_people(of.task.spec, of.gold, of.answers, human_ap_mode=mode)  # type: ignore[arg-type]

    def interval(self, people: PeopleScores) -> Estimate:
        score = people.score(self.rule)
        each = [score] if self.rule == "first" else people.per_annotator()
        return human_interval(
            self.of.task.family, score, each, people.items, one_annotator=self.request.one_annotator
        )

    def annotators(self, people: PeopleScores) -> tuple[Annotator, ...]:
        main = MAIN[self.of.task.family]
        workers = {one.id: one for one in self.of.workers}
        return tuple(
            Annotator(
                id=name, kind=workers[name].kind, score=own.scores[main], items=own.items,
                seconds=workers[name].seconds, flagged=workers[name].flagged,
            )
            for name, own in people.annotators.items()
        )  # fmt: skip

    def conventions(self, people: PeopleScores) -> dict[str, float | None]:
        pooled = None if people.pooled is None else people.score("pooled")
        found: dict[str, float | None] = {
            "paper": people.score("paper"), "pooled": pooled, "mean": people.score("mean"),
            "first": people.score("first"),
        }  # fmt: skip
        if self.of.task.family == "reranking":
            found |= {mode: self.scored(mode).score(self.rule) for mode in AP_MODES}
        return found

    def agreement(self) -> Agreement | None:
        family, answers = self.of.task.family, self.of.answers
        found = people_agreement(family, answers)
        if found.annotators < 2:
            return None
        intervals = agreement_intervals(family, answers, self.draws)
        own = intervals.get(found.coefficient)
        value = Bar(
            value=known(found.value), low=known(own.low) if own else None, high=known(own.high) if own else None,
            n=found.items, method=own.method if own else "", reason=found.reason or (own.reason if own else ""),
        )  # fmt: skip
        return Agreement(
            coefficient=found.coefficient, value=value, band=found.band, annotators=found.annotators,
            items=found.items, annotations=found.annotations,
            extras={name: known(extra) for name, extra in found.extras.items()},
        )  # fmt: skip

    def beside(
        self, people: PeopleScores, human: Estimate, contestants: Sequence[Contestant]
    ) -> list[SystemScore]:
        able = on_items(contestants, self.people.items)
        compared = compare_with_people(self.people, {one.system: one.values for one in able}, self.draws)
        return [self.one(people, human, one, compared.get(one.system)) for one in contestants]

    def one(
        self, people: PeopleScores, human: Estimate, own: Contestant, compared: Compared | None
    ) -> SystemScore:
        score = self.on_answered(own)
        value = score.value
        if value is None or compared is None:
            return _alone(own).model_copy(update={"score": score})
        difference = as_bar(compared.difference)
        return _alone(own).model_copy(
            update={
                "score": score,
                "outside": is_outside(value, human),
                "percent_of_human": percent_of_human(value, human.estimate),
                "difference": difference,
                "p": known(compared.difference.p),
                "among_people": among_people(value, people.per_annotator()).estimate,
                "against_people": as_bar(against_people(self.people, own.answers, self.draws)),
            }
        )

    def on_answered(self, own: Contestant) -> Bar:
        """The score on the items that people answered: with the interval of the cell where that is all of them."""
        if own.score.value is None or (own.kind != "llm" and not self.of.unanswered):
            return own.score
        items = [item for item in self.people.items if item in own.values]
        if not items:
            return no_bar("no item that people answered")
        family, spec = self.of.task.family, self.of.task.spec
        gold = people_rows(self.people, items).gold
        row = [own.values[item] for item in items]

        def score(counts: np.ndarray) -> np.ndarray:
            return row_score(spec, gold, row, counts)

        if family == "clustering":
            found = no_interval(float(score(np.ones((1, len(items))))[0]), len(items), "")
        else:
            found = resampled(score, len(items), self.draws)[0]
        said = ", ".join(filter(None, (re.sub(", bootstrap over .*", "", own.score.method), found.method)))
        # Of several runs of a language model the score is the mean over runs, not that of mean answers.
        value = found.estimate if self.of.unanswered else own.score.value
        return Bar(
            value=known(value), low=known(found.low), high=known(found.high), n=len(items), method=said,
            reason="" if not math.isnan(value) else found.reason,
        )  # fmt: skip

    def need(self, best: SystemScore | None, contestants: Sequence[Contestant]) -> Need | None:
        values = {one.system: one.values for one in contestants}
        if best is None or not values[best.system]:
            return None
        found = needed(self.people, values[best.system])
        return Need(
            system=best.system, items=found.items, annotators=found.annotators, smallest=known(found.smallest),
            note=found.note,
        )  # fmt: skip


def rule_of(family: Family, aggregation: Aggregation) -> Aggregation:
    """The rule that a family follows: groups of several people cannot be pooled, so their scores are averaged."""
    return "mean" if family == "clustering" and aggregation == "pooled" else aggregation


def _above(best: SystemScore, human: Estimate) -> bool:
    return not math.isnan(human.high) and (best.score.value or 0.0) > human.high


def _alone(one: Contestant) -> SystemScore:
    return SystemScore(system=one.system, kind=one.kind, score=one.score, failed=one.failed, notes=one.notes)


def _flags(of: Answered) -> tuple[str, ...]:
    n, open_items = len(of.items), len(of.unanswered)
    said = list(of.task.notes)
    if 0 < open_items < n:
        said.append(f"{open_items} of {n} items answered by nobody: left out for systems, too")
    said += [
        f"{one.id} answered {one.answered} of {n} items"
        for one in of.workers
        if one.answered < n - open_items
    ]
    return tuple(said)
