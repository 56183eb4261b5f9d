"""Whose answers to a task make the human score of a run, and on which items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from embassay.protocols.hume.beyond.people import People
from embassay.protocols.hume.beyond.resampling import Draws
from embassay.protocols.hume.results.answered import Answered
from embassay.protocols.hume.results.request import StudyRequest
from embassay.protocols.hume.scoring.interval import human_interval
from embassay.protocols.hume.scoring.marked import ApMode
from embassay.protocols.hume.scoring.people import Aggregation, PeopleScores, Scored, score_people, who_counts
from embassay.protocols.hume.study import Answers, Family
from embassay.stats import Estimate


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
