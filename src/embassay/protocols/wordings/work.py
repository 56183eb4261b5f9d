"""Doing one cell: a system on a dataset as it is, or in the wordings of one run, where enough texts have one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np

from embassay.contracts import CellPartExecutor, Similarity
from embassay.data import Dataset
from embassay.protocols.kernel import inputs
from embassay.protocols.kernel.estimates import MOST_LOST, bootstrap_interval, clip_interval_to_bounds
from embassay.protocols.kernel.groups import map_items_to_group_leader
from embassay.protocols.kernel.inputs import SystemWithCachedVectors, charge_calls_to_account, open_request_dataset
from embassay.protocols.kernel.request import DatasetRequest
from embassay.protocols.tasks import OriginalAndParaphrasedData, Task
from embassay.protocols.tasks.task import (
    PtebContext,
    PtebOptions,
    drop_failed_texts_from_paraphrases,
    estimate_dataset_part_memory,
    find_headline_bounds,
)
from embassay.protocols.wordings.records import ParaphraseOutcome, TextToParaphrase
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.records import HeadlineComponent, LoadedDataset, Score, SkippedItems, TaskOutcome
from embassay.registry import import_attribute
from embassay.runs.execution import HERE
from embassay.runs.folder import read_cell_record_from_json
from embassay.runs.forecast import CallRecordingSimilarity, Hear
from embassay.runs.memory import reserve_memory
from embassay.stats import freedom_of_units
from embassay.stats.intervals import count_resampled_units
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

_ENGLISH = frozenset({"en", "eng", "en-en", "eng-eng"})
_CROSSED = re.compile("(?P<first>[a-z]{2,3})-(?P<second>[a-z]{2,3})")


PTEB_TASKS = "embassay.protocols.tasks:TASKS"


def find_registered_task(name: str, registry: str = PTEB_TASKS) -> Task:
    """The task called `name` in the registry at "module:NAME"."""
    made: Task = import_attribute(registry).build(name)
    return made


@lru_cache(maxsize=4)
def load_language_slices(
    name: str, request: DatasetRequest, limit: int | None, seed: int, languages: str, registry: str = PTEB_TASKS
) -> tuple[LoadedDataset[Any], ...]:
    """The dataset in the task's shape, one for each of its languages, or one for all where they are `pooled`.

    Each says its language, and a limit holds for each.
    """
    what, opened = find_registered_task(name, registry), open_request_dataset(request)
    # As the reference has it, pairs of all languages are one list, and clusters are a language's own.
    if languages == "pooled" or (languages == "reference" and name != "clustering"):
        return (what.load(opened, limit, seed),)
    by_language = opened.subsets(choose_dataset_shape(what, opened))
    return tuple(replace(what.load(data, limit, seed), lang=lang) for lang, data in by_language.items())


def choose_dataset_shape(what: Task, opened: Dataset) -> str:
    """The first shape of the task that the dataset has."""
    return next(shape for shape in what.shapes if not opened.missing(shape))


def list_texts_to_paraphrase(
    name: str, parts: tuple[LoadedDataset[Any], ...], *, by_place: bool, unworded: tuple[str, ...] = ()
) -> Iterator[TextToParaphrase]:
    """Every text of a task to be paraphrased, as often as it occurs, but for those at places that begin with one of
    `unworded`; with `by_place`, occurrences of one text are told apart."""
    what = find_registered_task(name)
    multilingual = not all(part.lang in _ENGLISH for part in parts)
    for part in parts:
        for place, text in what.texts(part.data):
            if place.startswith(unworded):
                continue
            own = f"{name}:{place}" if by_place else ""
            yield TextToParaphrase(text, find_language_at_place(place, part.lang), own, multilingual)


def find_language_at_place(place: str, lang: str) -> str:
    """The language of a text: of a pair in two languages (`en-de`) each side has its own.

    >>> (find_language_at_place("second:7", "en-de"), find_language_at_place("first:7", "deu-eng"),
    ... find_language_at_place("text:7", "zh"))
    ('de', 'deu', 'zh')
    """
    crossed = _CROSSED.fullmatch(lang)
    side = place.partition(":")[0]
    return crossed[side] if crossed and side in ("first", "second") else lang


Known = Mapping[tuple[str, str, str], ParaphraseOutcome]
"""(language, text, place) -> what came of it; the place is empty where equal texts share a wording."""


SMALL, ALLOWANCE = 100, 3
"""Of fewer texts than this, so many may lack a wording: one text in twelve is 8%, and says nothing of the rest."""


@dataclass(frozen=True)
class RewordedDataset:
    """A dataset reworded, or the `reason` why it can have no score; how many texts came to what; a `warning` where more
    of them have no wording than usually may."""

    reworded: OriginalAndParaphrasedData
    reason: str = ""
    warning: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)


def make_dataset_in_original_wording(what: Task, data: Any, *, tidy: bool = False) -> RewordedDataset:
    """The data in its own words; `tidy` takes blanks out before closing punctuation [A19]."""
    n = what.size(data)
    return RewordedDataset(OriginalAndParaphrasedData(data, _tidy_blanks_in_data(what, data) if tidy else data, n, n))


def replace_texts_by_wordings(  # noqa: PLR0913
    what: Task,
    data: Any,
    lang: str,
    known: Known,
    *,
    tidy: bool = False,
    keep_failed: bool = False,
    exclude_copied: bool = False,
    unworded: tuple[str, ...] = (),
    most_lost: float = MOST_LOST,
) -> RewordedDataset:
    """The data, of language `lang`, with every text in its known wording, and the same items as they were.

    A text without a usable wording takes its item out of both sides, or stands for itself with `keep_failed`; a copy
    is a wording, unless `exclude_copied`. Over the share `most_lost` of the distinct texts without a wording there is
    no score (design.md, failed items), but of fewer than 100 texts three, or half of them, are let pass with a warning;
    copies left out on request do not count there. `tidy` is done to both sides. Texts at places that begin with one of
    `unworded` keep their own words.
    """

    def find_paraphrase(place: str, text: str) -> ParaphraseOutcome:
        own = find_language_at_place(place, lang)
        return (
            known.get((own, text, f"{what.name}:{place}"))
            or known.get((own, text, ""))
            or _make_missing_paraphrase(text, own)
        )

    def find_wording(place: str, text: str) -> str | None:
        if place.startswith(unworded):
            return text
        paraphrase = find_paraphrase(place, text)
        if not paraphrase.usable:
            return text if keep_failed else None
        return None if exclude_copied and paraphrase.outcome == "copied" else paraphrase.wording

    worded = (at for at in what.texts(data) if not at[0].startswith(unworded))
    asked = {(row.lang, row.text, row.place): row for row in starmap(find_paraphrase, worded)}
    failed = [paraphrase for paraphrase in asked.values() if not paraphrase.usable]
    reworded = what.reword(data, find_wording)
    if tidy:
        sides = (_tidy_blanks_in_data(what, reworded.original), _tidy_blanks_in_data(what, reworded.paraphrased))
        reworded = replace(reworded, original=sides[0], paraphrased=sides[1])
    counts = {"texts_asked": len(asked), "texts_not_worded": len(failed)}
    reason, warning = ("", "") if keep_failed else _find_failure_reason_and_warning(failed, len(asked), most_lost)
    return RewordedDataset(reworded, reason, warning, counts)


def _tidy_blanks_in_data(what: Task, data: Any) -> Any:
    return what.reword(data, lambda _, text: tidy_punctuation_blanks(text)).paraphrased


def _make_missing_paraphrase(text: str, lang: str) -> ParaphraseOutcome:
    return ParaphraseOutcome(text, lang, "", "", "missing", "the text is not in the set", attempts=0)


def _find_failure_reason_and_warning(failed: list[ParaphraseOutcome], asked: int, most: float) -> tuple[str, str]:
    """Why there is no score, or a warning that more than `most` were let pass; empty where few enough failed."""
    if len(failed) <= most * asked:
        return "", ""
    kinds = Counter(paraphrase.outcome for paraphrase in failed)
    told = ", ".join(f"{count} {name}" for name, count in kinds.most_common())
    share = len(failed) / asked
    happened = f"{len(failed)} of {asked} texts ({share:.1%}) could not be rewritten: {told}"
    if asked < SMALL and len(failed) <= min(ALLOWANCE, asked / 2):
        return "", f"{happened} (over {most:.0%}, accepted because there are few texts)"
    return f"{happened} (over {most:.0%}, so no score)", ""


_BEFORE_CLOSING = re.compile(r"\s+([.,;:!?%)\]}»”’])")
_AFTER_OPENING = re.compile(r"([(\[{«“‘])\s+")


def tidy_punctuation_blanks(text: str) -> str:
    """`text` without blanks before closing and after opening punctuation; runs of blanks become one.

    >>> tidy_punctuation_blanks("A man ( old ) ,  and a dog .")
    'A man (old), and a dog.'
    """
    return " ".join(_AFTER_OPENING.sub(r"\1", _BEFORE_CLOSING.sub(r"\1", text)).split())


Components = Mapping[str, HeadlineComponent]


@dataclass(frozen=True)
class WordingRunReference:
    """One run of a source on a dataset: where its wordings are kept, and what to do with the others."""

    paraphrases: Path
    source: str
    dataset: str
    seed: int
    digest: str
    on_failure: str
    exclude_copied: bool


@dataclass(frozen=True)
class PtebJob(inputs.EvaluationJob):
    """All that a worker needs to do a cell. `run` is None for the texts as they are; `original` is then the record of
    the cell that did those, for runs that lost nothing."""

    task: str
    dataset: DatasetRequest
    limit: int | None
    options: PtebOptions
    variant: str
    run: WordingRunReference | None = None
    original: Path | None = None
    registry: str = PTEB_TASKS
    evaluated_with: int | None = None
    """The seed of classifiers and k-means, where it is not the run's."""

    @property
    def what(self) -> Task:
        """The task of the job."""
        return find_registered_task(self.task, self.registry)


def evaluate_pteb_cell(
    job: PtebJob, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: CellPartExecutor = HERE
) -> TaskOutcome:
    """The outcome of one cell, with its components by language, and the counts of what was encoded and charged."""
    opened = job.open_cached_system(advance, ledger=ledger, spread=spread)
    parts = load_language_slices(job.task, job.dataset, job.limit, job.seed, job.options.languages, job.registry)
    with charge_calls_to_account(ledger, opened.system.name) as calls:
        outcomes = []
        for part in parts:
            worded = [text for _, text in job.what.texts(part.data)]
            with reserve_memory(estimate_dataset_part_memory(opened.system, part.data, worded, job.options.resamples)):
                context = _make_dataset_task_context(job, part, several=len(parts) > 1)
                outcomes.append(_CellLanguageEvaluation(job, opened, part, context).outcome())
    outcome = _join_language_outcomes(job, parts, outcomes)
    return opened.add_usage_and_warnings(outcome, calls)


def rehearse_task_encoder_calls(what: Task, data: Any, context: PtebContext, hear: Hear) -> None:
    """Do the task in vain, and tell `hear` of every call that it would make of an encoder."""
    briefly = replace(context, options=replace(context.options, resamples=1))
    what.evaluate(CallRecordingSimilarity(hear), data, briefly)


def _make_dataset_task_context(job: PtebJob, part: LoadedDataset[Any], *, several: bool) -> PtebContext:
    # The same for every system and wording, so that the same items are drawn for all.
    name = f"{part.dataset}:{part.lang}" if several else part.dataset
    groups = map_items_to_group_leader(part.data)
    seed = job.seed if job.evaluated_with is None else job.evaluated_with
    return PtebContext(name, open_tokenizer(job.tokenizer), seed, job.options, groups=groups, drawn_with=job.seed)


class _CellLanguageEvaluation:
    """One language of a cell."""

    def __init__(
        self, job: PtebJob, opened: SystemWithCachedVectors, part: LoadedDataset[Any], context: PtebContext
    ) -> None:
        self.job, self.opened, self.part, self.context = job, opened, part, context
        self.task = job.what

    def outcome(self) -> TaskOutcome:
        """The part's outcome with the component `score` and, for a run, `original`; without them a reason."""
        worded = self._reword_data()
        if worded.reason:
            return _make_undefined_outcome(self.task, worded)
        both = worded.reworded
        scored = self._evaluate_data(both.paraphrased)
        own = self._list_warnings_of_cosine_effect(both.paraphrased, scored)
        components = {"score": self._extract_headline_component(scored)}
        if self.job.run is not None:
            components["original"] = self._find_original_score_component(both)
            rest = drop_failed_texts_from_paraphrases(self.task, both, getattr(self.opened.system, "failures", {}))
            if rest is not both and all(component.value is not None for component in components.values()):
                scored, both = self._rescore_without_unencoded_texts(both, rest, components), rest
        skipped = (*both.lost, *scored.skipped)
        counts = {**scored.counts, **worded.counts}
        warnings = (*scored.warnings, *own, *filter(None, (worded.warning,)))
        return replace(scored, components=components, skipped=skipped, warnings=warnings, counts=counts)

    def _reword_data(self) -> RewordedDataset:
        data, run = self.part.data, self.job.run
        tidy = self.job.options.normalize_punctuation
        if run is None:
            return make_dataset_in_original_wording(self.task, data, tidy=tidy)
        return replace_texts_by_wordings(
            self.task, data, self.part.lang, _index_run_wordings(run), tidy=tidy,
            keep_failed=run.on_failure == "original", exclude_copied=run.exclude_copied,
            unworded=self.task.unworded(self.job.options), most_lost=self.job.options.most_lost
        )  # fmt: skip

    def _find_original_score_component(self, both: OriginalAndParaphrasedData) -> HeadlineComponent:
        """The original score on what was kept in this run: that of the whole, where it is the whole."""
        if both.has_nothing_left_out and self.job.original is not None:
            known = _read_score_components_from_record(self.job.original)
            name = f"score:{self.part.lang}"
            if known and (name in known or "score" in known):
                return known.get(name, known["score"])
        if not both.has_nothing_left_out:
            # The whole has its vectors in the cache; a part of it would be other chunks, and made anew.
            self.opened.encode_rehearsed_calls_into_memory(self._make_rehearsal_of_original_data())
        return self._extract_headline_component(self._evaluate_data(both.original))

    def _rescore_without_unencoded_texts(
        self,
        both: OriginalAndParaphrasedData,
        rest: OriginalAndParaphrasedData,
        components: dict[str, HeadlineComponent],
    ) -> TaskOutcome:
        """Both sides again without what could not be encoded in one of them."""
        self.opened.encode_rehearsed_calls_into_memory(
            self._make_rehearsal_of_original_data(), self._make_rehearsal_of_encoder_calls(both.paraphrased)
        )
        scored = self._evaluate_data(rest.paraphrased)
        components["score"] = self._extract_headline_component(scored)
        components["original"] = self._extract_headline_component(self._evaluate_data(rest.original))
        return scored

    def _make_rehearsal_of_original_data(self) -> Callable[[Hear], None]:
        """The calls for all texts as they are, kept ones since the cell of the original."""
        tidy = self.job.options.normalize_punctuation
        return self._make_rehearsal_of_encoder_calls(
            make_dataset_in_original_wording(self.task, self.part.data, tidy=tidy).reworded.paraphrased
        )

    def _make_rehearsal_of_encoder_calls(self, data: Any) -> Callable[[Hear], None]:
        return lambda hear: rehearse_task_encoder_calls(self.task, data, self.context, hear)

    def _extract_headline_component(self, scored: TaskOutcome) -> HeadlineComponent:
        return scored.components.get(self.task.headline, _make_undefined_headline_component(scored))

    def _list_warnings_of_cosine_effect(self, data: Any, scored: TaskOutcome) -> tuple[str, ...]:
        """What the cosine changes for a model that was made for another similarity: told of the texts as they are.
        Tasks that learn from vectors compare none."""
        options = self.context.options
        if self.job.run is not None or self.task.vectors or self.task.own(options):
            return ()
        briefly = replace(self.context, options=replace(options, resamples=1))
        return self.opened.describe_cosine_effect(
            scored, self.task.headline, lambda system: self.task.evaluate(system, data, briefly)
        )

    def _evaluate_data(self, data: Any) -> TaskOutcome:
        self.opened.prefetch_vectors(self._make_rehearsal_of_encoder_calls(data))
        system: Similarity = self.opened.system
        return self.task.evaluate(system, data, self.context)


def _join_language_outcomes(
    job: PtebJob, parts: Sequence[LoadedDataset[Any]], outcomes: Sequence[TaskOutcome]
) -> TaskOutcome:
    """The outcomes of all languages as one: their rows, and the mean over them."""
    headline, several = job.what.headline, len(parts) > 1
    scores: list[Score] = []
    components: dict[str, HeadlineComponent] = {}
    for name in ("score", "original"):
        by_language = {
            part.lang: outcome.components[name]
            for part, outcome in zip(parts, outcomes, strict=True)
            if name in outcome.components
        }
        if by_language:
            components[name] = average_language_components(by_language)
            components |= {f"{name}:{lang}": component for lang, component in by_language.items()} if several else {}
    methods = [outcome.scores[0].method for outcome in outcomes]
    for suffix, subset in [("", ""), *((f":{part.lang}", part.lang) for part in parts if several)]:
        if f"score{suffix}" in components:
            scores += _iterate_score_rows_of_cell(job, headline, components, suffix, subset, methods)
    items = _join_item_columns_of_languages(parts, outcomes)
    return TaskOutcome(
        tuple(scores),
        components,
        items,
        tuple(skip for outcome in outcomes for skip in outcome.skipped),
        tuple(dict.fromkeys(warning for outcome in outcomes for warning in outcome.warnings)),
        _sum_outcome_counts(outcomes),
    )


def _iterate_score_rows_of_cell(
    job: PtebJob, headline: str, components: Components, suffix: str, subset: str, methods: Sequence[str]
) -> Iterator[Score]:
    """The headline and, for a run, the drop and the original on what was kept."""
    method = methods[0] if suffix or len(methods) == 1 else f"mean over {len(methods)} languages; {methods[0]}"
    score, original = components[f"score{suffix}"], components.get(f"original{suffix}")
    least, most = bounds = find_headline_bounds(headline)
    yield _make_score_from_component(job, headline, score, subset, method, bounds)
    if original is None:
        return
    yield _make_score_from_component(
        job, "delta", subtract_components(score, original), subset, method, (least - most, most - least)
    )
    yield _make_score_from_component(job, "original", original, subset, method, bounds)


def _make_score_from_component(
    job: PtebJob, measure: str, part: HeadlineComponent, subset: str, method: str, bounds: tuple[float, float]
) -> Score:
    ends = bootstrap_interval(part.replicates, part.value, freedom_of_units(count_resampled_units(part)))
    low, high = clip_interval_to_bounds(ends, part.value, bounds)
    return Score(measure, part.value, part.n, low, high, job.variant, subset, method, part.reason)


def average_language_components(by_language: Mapping[str, HeadlineComponent]) -> HeadlineComponent:
    """The unweighted mean over languages; without a value, and with the reason, where one of them has none."""
    parts = list(by_language.values())
    for lang, part in by_language.items():
        if part.value is None:
            return HeadlineComponent(None, 0, reason=f"{lang}: {part.reason}" if len(parts) > 1 else part.reason)
    if len(parts) == 1:
        return parts[0]
    has_interval = all(len(part.replicates) for part in parts)
    replicates = np.mean([part.replicates for part in parts], axis=0) if has_interval else np.empty(0)
    value = sum(part.value for part in parts if part.value is not None) / len(parts)
    # Every language has a mean of its own: as many degrees of freedom are gone.
    units = sum(count_resampled_units(part) - 1 for part in parts) + 1
    return HeadlineComponent(value, sum(part.n for part in parts), replicates, units=units)


def subtract_components(a: HeadlineComponent, b: HeadlineComponent) -> HeadlineComponent:
    """a - b, with paired replicates where both have them; the reason of the first without a value."""
    for part in (a, b):
        if part.value is None:
            return HeadlineComponent(None, part.n, reason=part.reason)
    paired = len(a.replicates) == len(b.replicates)
    value = (a.value or 0.0) - (b.value or 0.0)
    return HeadlineComponent(value, a.n, a.replicates - b.replicates if paired else a.replicates[:0], units=a.units)


def _make_undefined_headline_component(scored: TaskOutcome) -> HeadlineComponent:
    """Make an undefined component, with the reason of the headline."""
    return HeadlineComponent(None, scored.scores[0].n, reason=scored.scores[0].reason)


def _make_undefined_outcome(what: Task, worded: RewordedDataset) -> TaskOutcome:
    none = HeadlineComponent(None, worded.reworded.kept, reason=worded.reason)
    row = Score(what.headline, None, worded.reworded.kept, reason=worded.reason)
    lost: tuple[SkippedItems, ...] = worded.reworded.lost
    return TaskOutcome((row,), {"score": none, "original": none}, {}, lost, counts=worded.counts)


def _join_item_columns_of_languages(
    parts: Sequence[LoadedDataset[Any]], outcomes: Sequence[TaskOutcome]
) -> dict[str, list[Any]]:
    """The items of all languages; the column `variant` tells languages apart where there are several."""
    columns: dict[str, list[Any]] = {"item_id": [], "variant": [], "measure": [], "value": []}
    for part, outcome in zip(parts, outcomes, strict=True):
        for name, values in outcome.items.items():
            columns[name] += [part.lang] * len(values) if name == "variant" and len(parts) > 1 else values
    return columns


def _sum_outcome_counts(outcomes: Sequence[TaskOutcome]) -> dict[str, int]:
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.counts)
    return {name: sum(outcome.counts.get(name, 0) for outcome in outcomes) for name in names}


@lru_cache(maxsize=2)
def _index_run_wordings(run: WordingRunReference) -> Known:
    rows = ParaphraseSet.open(run.paraphrases).rows(run.source, run.dataset, run.seed)
    return {(row.lang, row.text, row.place): row for row in rows}


@lru_cache(maxsize=64)
def _read_score_components_from_record(path: Path) -> Components:
    """The components of a finished cell, from its record; empty if it is not there, or lost texts that it does not
    name."""
    import json

    try:
        record = read_cell_record_from_json(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return record.components if record.done and not record.counts.get("texts_failed") else {}
