"""Doing one cell of a selection: have a dataset's texts paraphrased, and the paraphrases rated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from embassay.contracts import Spread
from embassay.protocols.opening import charged
from embassay.protocols.planning import PlannedDataset
from embassay.protocols.pteb.judging.agreement import Context
from embassay.protocols.pteb.judging.rating import Asking, Rating, rate
from embassay.protocols.pteb.paraphrasing.prompts import judge_prompt
from embassay.protocols.pteb.paraphrasing.records import Paraphrase
from embassay.protocols.pteb.paraphrasing.set import ParaphraseSet
from embassay.protocols.pteb.selection.criteria import criteria, cross_check, to_rate
from embassay.protocols.pteb.selection.plan import Job, Plan, chat_of
from embassay.protocols.pteb.sources import Source
from embassay.protocols.pteb.writing import Writer
from embassay.protocols.session import Silent
from embassay.records import TaskOutcome
from embassay.runs.execution import HERE
from embassay.systems.remote import Ledger


@dataclass(frozen=True)
class Work:
    """The work of a selection in this process: the opened candidates are not opened again for every cell, and what
    they write is kept in the run's set at once. `answers` is the file of kept answers."""

    plan: Plan
    paraphrases: ParaphraseSet
    answers: Path | None

    def evaluate(
        self,
        job: Job,
        advance: Callable[[int], None],
        *,
        ledger: Ledger | None = None,
        spread: Spread = HERE,
    ) -> TaskOutcome:
        """The outcome of one cell, with the answers of the judge that were asked for and had, and its calls. A server
        does the work: there is nothing to spread."""
        del spread
        source = next(one for one in self.plan.sources if one.name == job.candidate)
        dataset = next(one for one in self.plan.datasets if one.name == job.dataset)
        found = self._paraphrased(source, dataset, advance, ledger or Ledger())
        ratings, counts = self._rated(job, found, advance, ledger)
        context = Context(dataset.name, seed=self.plan.request.seed, options=self.plan.request.options)
        judge = self.plan.judges[0]
        if job.judge.spec != judge.spec:
            outcome = cross_check(found, ratings, job.judge.open().name, context)
        else:
            outcome = criteria(found, ratings, context)
        warnings = same_model(source, job.judge.open())
        return replace(outcome, counts={**outcome.counts, **counts}, warnings=warnings)

    def _paraphrased(
        self, source: Source, dataset: PlannedDataset, advance: Callable[[int], None], ledger: Ledger
    ) -> list[Paraphrase]:
        """What the candidate makes of every distinct text, in their order."""
        [seed] = source.paraphraser.seeds(1, self.plan.request.seed, dataset=dataset.name)
        only = cast(Any, replace(self.plan, datasets=(dataset,)))
        writer = Writer(self.paraphrases, ledger, _Heard(advance))
        writer.write(only, [source], {(source.name, dataset.name): (seed,)})
        rows = {(one.lang, one.text): one for one in self.paraphrases.rows(source.name, dataset.name, seed)}
        return [rows[one.lang, one.text] for one in self.plan.asked(dataset)]

    def _rated(
        self,
        job: Job,
        found: list[Paraphrase],
        advance: Callable[[int], None],
        ledger: Ledger | None,
    ) -> tuple[list[Rating], dict[str, int]]:
        request = self.plan.request
        asking = Asking(judge_prompt().text, request.options, request.seed)
        with (
            job.judge.with_kept_answers(ledger, self.answers) as chat,
            charged(ledger, chat.name) as calls,
        ):
            ratings = rate(chat, to_rate(found), asking, advance)
        return ratings, {"answers_asked": chat.counts.asked, "answers_cached": chat.counts.cached, **calls}


def same_model(source: Source, judge: Any) -> tuple[str, ...]:
    """A warning where a candidate is judged by itself."""
    chat = chat_of(source.paraphraser)
    name = getattr(chat, "model", None)
    if name is None or name != getattr(judge, "model", None):
        return ()
    return (
        f"{name} judges its own paraphrases: models tend to favour their own wording. Heed other judges.",
    )


class _Heard(Silent):
    """Counts texts that are worded as progress of the cell."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance

    def advanced_by(self, texts: int) -> None:
        """So many more of them are there."""
        self._advance(texts)
