"""What people and language models answered to a study, and whose answers to a task make the human score of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from embassay.errors import DataError
from embassay.protocols.hume.folder import StudyFolder, Task
from embassay.protocols.hume.folder.collection import collected
from embassay.protocols.hume.inference.layouts import People
from embassay.protocols.hume.inference.resampling import Draws
from embassay.protocols.hume.results.options import StudyRequest
from embassay.protocols.hume.scoring.measures import ApMode
from embassay.protocols.hume.scoring.people import (
    Aggregation,
    PeopleScores,
    Scored,
    human_interval,
    score_people,
    who_counts,
)
from embassay.protocols.hume.study import Annotation, Answers, Family, Who, answers_by_annotator
from embassay.runs.files import digest
from embassay.stats import Estimate


@dataclass(frozen=True)
class Worker:
    """What is known of one annotator's work on a task: how many items were answered and flagged, and the median of the
    seconds an item took."""

    id: str
    kind: Who
    answered: int
    flagged: int
    seconds: float | None


@dataclass(frozen=True)
class Answered:
    """A task with its gold and what people answered; `workers` are in the order of their ids."""

    task: Task
    items: tuple[str, ...]
    gold: dict[str, Any]
    answers: Answers
    workers: tuple[Worker, ...]

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The items that nobody answered."""
        seen = {item for own in self.answers.values() for item in own}
        return tuple(item for item in self.items if item not in seen)


def answered(folder: StudyFolder, tasks: Sequence[Task], files: Sequence[Path] = ()) -> tuple[Answered, ...]:
    """Every task with what people answered. Raises DataError for a wrong value, or where nobody answered anything."""
    every = collected(folder, files)
    by_item = {item.id: item.task for item in folder.items}
    found = []
    for task in tasks:
        own = [one for one in every if by_item[one.item_id] == task.name]
        gold = folder.gold(task.name)
        answers = answers_by_annotator(task.spec, gold, own)
        items = tuple(item.id for item in folder.items_of(task.name))
        found.append(Answered(task, items, gold, answers, tuple(_workers(own, answers))))
    if not any(own for one in found for own in one.answers.values()):
        raise DataError(
            f"Nobody has annotated {folder.path}" + (f" ({', '.join(map(str, files))})." if files else "."),
            mend="Collect answers with `embassay hume serve`, or bring them with `embassay hume import`.",
        )
    return tuple(found)


def fingerprint(every: Iterable[Answered]) -> str:
    """A fingerprint of all answers: it changes as people go on."""
    return digest([[one.task.name, {name: dict(own) for name, own in one.answers.items()}] for one in every])


def _workers(own: Sequence[Annotation], answers: Answers) -> Iterator[Worker]:
    for name, given in answers.items():
        rows = [one for one in own if one.annotator_id == name]
        times = [one.seconds for one in rows if one.seconds is not None]
        # Someone of whom a single answer is simulated is no person.
        kind: Who = "simulated" if any(one.kind == "simulated" for one in rows) else "person"
        yield Worker(
            name, kind, len(given), sum(bool(one.flag) for one in rows), median(times) if times else None
        )


@dataclass(frozen=True)
class Counting:
    """A task that somebody answered, by the rules of a request."""

    of: Answered
    request: StudyRequest

    @property
    def rule(self) -> Aggregation:
        """How several people make one score here."""
        return rule_of(self.of.task.family, self.request.aggregation)

    @property
    def draws(self) -> Draws:
        """How items are resampled."""
        return Draws(n_resamples=self.request.resamples, seed=self.request.seed)

    @cached_property
    def answers(self) -> Answers:
        """The answers of those who answered enough: see `who_counts`."""
        return who_counts(self.of.answers, self.request.min_answered)

    @cached_property
    def everybody(self) -> People:
        """All who answered enough."""
        of = self.of
        return People(of.task.spec, of.gold, self.answers, self.rule, self.request.human_ap_mode)

    @cached_property
    def counted(self) -> People:
        """Those whose answers make the human score: by the rule of the first annotator no others."""
        first = dict(list(self.everybody.taking_part.items())[:1])
        return replace(self.everybody, answers=first) if self.rule == "first" else self.everybody

    @property
    def omits(self) -> bool:
        """Whether there are items that do not count in the human score, so that they must not in a system's."""
        return len(self.counted.items) < len(self.of.items)

    @cached_property
    def people(self) -> PeopleScores:
        """What people score, by every rule."""
        return self.by(self.request.human_ap_mode)

    @cached_property
    def human(self) -> Estimate:
        """The human score by the rule, with its interval."""
        score, n = self.people.score(self.rule), len(self.counted.items)
        each = [score] if self.rule == "first" else self.people.per_annotator()
        return human_interval(self.of.task.family, score, each, n, one_annotator=self.request.one_annotator)

    def by(self, mode: ApMode) -> PeopleScores:
        """What people score where ties of marks are read in this way."""
        return self._scored(self.answers, mode)

    @cached_property
    def left_out(self) -> Mapping[str, Scored]:
        """The scores of those who answered too few."""
        few = {name: own for name, own in self.of.answers.items() if own and name not in self.answers}
        return self._scored(few, self.request.human_ap_mode).annotators if few else {}

    def _scored(self, answers: Answers, mode: ApMode) -> PeopleScores:
        return score_people(self.of.task.spec, self.of.gold, answers, human_ap_mode=mode)


def rule_of(family: Family, aggregation: Aggregation) -> Aggregation:
    """The rule that a family follows: groups of several people cannot be pooled, so their scores are averaged."""
    return "mean" if family == "clustering" and aggregation == "pooled" else aggregation
