"""The three criteria of a paraphraser on one dataset, and the cell that measures them (PTEB table 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Spread
from embassay.measures.correlation import edit_distances
from embassay.protocols.kernel.estimates import Estimate, Items, estimate
from embassay.protocols.kernel.inputs import charged
from embassay.protocols.kernel.plan import PlannedDataset
from embassay.protocols.kernel.session import Silent
from embassay.protocols.pteb.judging.agreement import Context, Figure, share
from embassay.protocols.pteb.judging.ratings import Asking, Pair, Rating, by_reason, rate, too_many
from embassay.protocols.pteb.paraphrasing.paraphrasers import judge_prompt
from embassay.protocols.pteb.paraphrasing.records import Paraphrase
from embassay.protocols.pteb.paraphrasing.sets import ParaphraseSet
from embassay.protocols.pteb.plan import Source
from embassay.protocols.pteb.protocol import Writer
from embassay.protocols.pteb.selection.plan import Job, Plan, chat_of
from embassay.records import Skipped, TaskOutcome
from embassay.runs.execution import HERE
from embassay.systems.remote import Ledger

HEADLINE = "similarity"
CRITERIA = (HEADLINE, "edit_distance", "seconds")
NOTHING = "no usable paraphrase"

Floats = NDArray[np.float64]


def ids_of(paraphrases: Sequence[object]) -> tuple[str, ...]:
    """What the texts are called in items: by their place among the distinct texts of the dataset."""
    return tuple(f"text-{i}" for i in range(len(paraphrases)))


def to_rate(paraphrases: Sequence[Paraphrase]) -> list[Pair]:
    """The pairs of text and paraphrase that a judge sees: the usable ones, in their order."""
    return [(one.text, one.wording) for one in paraphrases if one.usable]


def criteria(paraphrases: Sequence[Paraphrase], ratings: Sequence[Rating], context: Context) -> TaskOutcome:
    """Score a paraphraser on the distinct texts of a dataset, (n,); `ratings` are those of `to_rate`.

    What has no usable paraphrase or no rating is left out and counted. Over 5% without a paraphrase there is no value
    at all, over 5% of the others without a rating no similarity. Items are `similarity`, `edit_distance` and `seconds`.
    """
    ids = ids_of(paraphrases)
    unworded = by_reason("texts without a paraphrase", ids, [_why_unusable(one) for one in paraphrases])
    reason = too_many("texts had no usable paraphrase", len(paraphrases), unworded)
    rated, unrated = similarity(paraphrases, ratings, context)
    pairs = to_rate(paraphrases)
    distances = _spread(paraphrases, edit_distances(*_columns(pairs)))
    lengths = _spread(paraphrases, [len(wording) / len(text) for text, wording in pairs])
    seconds = _seconds(paraphrases)
    found = [
        rated,
        figure("edit_distance", distances, context, NOTHING),
        figure("seconds", seconds, context, "nothing was asked for"),
        figure("length_ratio", lengths, context, NOTHING),
    ]
    if reason:
        found = [Figure(one.measure, one.variant, one.n, reason) for one in found]
    found += _shares(paraphrases, ratings, context)
    items = Items()
    for name, values in (
        (HEADLINE, _values(paraphrases, ratings)),
        ("edit_distance", distances),
        ("seconds", seconds),
    ):
        items.add(ids, values, name)
    return TaskOutcome(
        scores=tuple(one.score for one in found),
        components={one.name: one.component for one in found},
        items=items.columns,
        skipped=(*unworded, *unrated),
        counts=_counts(paraphrases),
    )


def cross_check(
    paraphrases: Sequence[Paraphrase], ratings: Sequence[Rating], judge: str, context: Context
) -> TaskOutcome:
    """The similarity alone, as another judge sees it: variant `judge=NAME`."""
    rated, unrated = similarity(paraphrases, ratings, context, f"judge={judge}")
    ids, items = ids_of(paraphrases), Items()
    items.add(ids, _values(paraphrases, ratings), HEADLINE)
    return TaskOutcome((rated.score,), {HEADLINE: rated.component}, items.columns, unrated)


def similarity(
    paraphrases: Sequence[Paraphrase], ratings: Sequence[Rating], context: Context, variant: str = ""
) -> tuple[Figure, tuple[Skipped, ...]]:
    """The mean rating of the usable paraphrases, and those without a rating."""
    ids = [key for key, one in zip(ids_of(paraphrases), paraphrases, strict=True) if one.usable]
    lost = by_reason("paraphrases without a rating", ids, [one.reason for one in ratings])
    reason = too_many("paraphrases had no rating", len(ids), lost)
    values = _values(paraphrases, ratings)
    if reason:
        return Figure(HEADLINE, variant, int(np.isfinite(values).sum()), reason), lost
    return figure(HEADLINE, values, context, NOTHING, variant), lost


def figure(measure: str, values: Floats, context: Context, otherwise: str, variant: str = "") -> Figure:
    """The mean of the values that are there, resampled over all texts so that candidates are paired; `otherwise` is
    the reason where there is none."""
    n = int(np.isfinite(values).sum())
    if not n:
        return Figure(measure, variant, 0, otherwise)
    found: Estimate = estimate(
        values[:, None], lambda means: means[..., 0], context, "texts", "bootstrap over texts"
    )
    return Figure(measure, variant, n, found)


def _why_unusable(one: Paraphrase) -> str:
    return "" if one.usable else one.outcome


def _shares(paraphrases: Sequence[Paraphrase], ratings: Sequence[Rating], context: Context) -> list[Figure]:
    """How many texts came back as they were, and how many were lost on the way."""
    copied = [float(one.outcome == "copied") for one in paraphrases if one.usable]
    unrated = [float(one.value is None) for one in ratings]
    failed = np.array([float(not one.usable) for one in paraphrases])
    return [
        share("copied", _spread(paraphrases, copied), context, NOTHING),
        share("failed", failed, context, NOTHING),
        share("failed_ratings", _spread(paraphrases, unrated), context, NOTHING),
    ]


def _counts(paraphrases: Sequence[Paraphrase]) -> dict[str, int]:
    outcomes = Counter(one.outcome for one in paraphrases)
    counts = {f"texts_{name.replace(' ', '_')}": n for name, n in sorted(outcomes.items())}
    return counts | {"further_attempts": sum(max(0, one.attempts - 1) for one in paraphrases)}


def _seconds(paraphrases: Sequence[Paraphrase]) -> Floats:
    """How long every text took, failed ones too; NaN where nothing was asked for."""
    return np.array([one.seconds if one.seconds > 0 else np.nan for one in paraphrases])


def _columns(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [text for text, _ in pairs], [wording for _, wording in pairs]


def _values(paraphrases: Sequence[Paraphrase], ratings: Sequence[Rating]) -> Floats:
    """The rating of every text's paraphrase, NaN where there is none."""
    return _spread(paraphrases, [np.nan if one.value is None else one.value for one in ratings])


def _spread(paraphrases: Sequence[Paraphrase], of_usable: Sequence[float] | Floats) -> Floats:
    """Values of the usable paraphrases at the places of all, NaN at the others'."""
    values = np.full(len(paraphrases), np.nan)
    values[[i for i, one in enumerate(paraphrases) if one.usable]] = of_usable
    return values


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
