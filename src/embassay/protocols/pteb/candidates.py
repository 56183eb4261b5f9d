"""From a request to the cells of a selection, and what they will take."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor
from embassay.data.shapes import check_mapping_targets
from embassay.errors import UsageError
from embassay.measures.correlation import edit_distances
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel import plan as planning
from embassay.protocols.kernel import request
from embassay.protocols.kernel.estimates import Items, estimate
from embassay.protocols.kernel.inputs import charge_calls_to_account
from embassay.protocols.kernel.plan import (
    PlannedDataset,
    PlannedSystem,
    PlannedTask,
    check_unique_dataset_names,
    choose_tasks_for_dataset,
    plan_datasets_and_suites,
)
from embassay.protocols.kernel.request import SYSTEMS, option
from embassay.protocols.kernel.session import SilentListener, make_unknown_price_error
from embassay.protocols.pteb.judging import (
    ANSWER_TOKENS,
    ModelRequestLoad,
    PlannedStepOnScoredPairs,
    add_question_cost_to_forecast,
)
from embassay.protocols.pteb.options import JudgeRatingOptions
from embassay.protocols.pteb.paraphrasing import (
    PARAPHRASERS,
    LLMParaphraser,
    load_similarity_judge_prompt,
    open_paraphrase_prompt,
    open_paraphraser,
)
from embassay.protocols.pteb.plan import ParaphraserWithPrompt
from embassay.protocols.pteb.ratings import (
    Judge,
    JudgeRating,
    JudgeRatingInstructions,
    JudgingMeasureEstimate,
    Pair,
    RatingEvaluationContext,
    check_judge_specs,
    collect_chat_facts,
    estimate_share_of_ones,
    explain_too_many_lost,
    format_text_pair,
    group_lost_items_by_reason,
    plan_judges,
    rate_text_pairs,
)
from embassay.protocols.wordings import records
from embassay.protocols.wordings.protocol import ParaphraseSetFiller
from embassay.protocols.wordings.records import ParaphraseOutcome, Paraphraser, ParaphraseSamplingAndRetryOptions
from embassay.protocols.wordings.records import TextToParaphrase as AskedText
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.work import list_texts_to_paraphrase, load_language_slices
from embassay.records import SkippedItems, TaskOutcome, TextsWithParaphrases
from embassay.runs.execution import HERE
from embassay.runs.folder import RunCell, digest_json
from embassay.runs.forecast import CellForecast, RunForecast
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import estimate_server_tokens

TIE = 0.005
"""Edit distances this close are equal at the two decimals of table 4."""


@dataclass(frozen=True)
class CandidateParaphraserMeans:
    """A paraphraser's means over the datasets: `similarity` as judged, 0 to 5; normalised word `edit_distance`,
    0 to 1; `seconds` per text. None where there is no value; `reason` says why one that is needed is missing."""

    name: str
    similarity: float | None
    edit_distance: float | None
    seconds: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class CandidateSelectionRule:
    """What a candidate must reach at least to be taken."""

    similarity: float = 4.0
    edit_distance: float = 0.1

    def __str__(self) -> str:
        return (
            "The rule selects the largest edit distance among candidates with a mean similarity of at least "
            f"{self.similarity:g} and an edit distance of at least {self.edit_distance:g} (below that, a candidate "
            "counts as a copy). Ties (to two decimals) go to the shorter runtime."
        )


@dataclass(frozen=True)
class ParaphraserSelectionResult:
    """What the rule says: the name taken (empty: none), why, who is on the front, and why each other one is out."""

    selected: str
    because: str
    front: tuple[str, ...]
    rejected: dict[str, str]


def select_paraphraser(
    candidates: Sequence[CandidateParaphraserMeans], rule: CandidateSelectionRule = CandidateSelectionRule()
) -> ParaphraserSelectionResult:
    """Select a paraphraser among the candidates by the rule.

    >>> table_4 = [CandidateParaphraserMeans("gemma3-27b", 4.26, 0.81, 0.27),
    ... CandidateParaphraserMeans("gpt-oss-20b", 4.44, 0.55, 1.24)]
    >>> select_paraphraser(table_4).selected
    'gemma3-27b'
    """
    rejected = {
        candidate.name: why
        for candidate in candidates
        if (why := _explain_unfit_paraphraser_candidate(candidate, rule))
    }
    fit = [candidate for candidate in candidates if candidate.name not in rejected]
    front = tuple(candidate.name for candidate in select_undominated_paraphrasers(candidates))
    if not fit:
        return ParaphraserSelectionResult("", "no candidate meets the rule", front, rejected)
    most = max(_require_known_value(candidate.edit_distance) for candidate in fit)
    tied = [candidate for candidate in fit if most - _require_known_value(candidate.edit_distance) <= TIE]
    # Speed first; then what tells equally fast ones apart, so that the order of the command line does not.
    best = min(
        tied,
        key=lambda candidate: (
            _get_seconds_or_infinity(candidate),
            -_require_known_value(candidate.edit_distance),
            candidate.name,
        ),
    )
    return ParaphraserSelectionResult(best.name, _explain_chosen_paraphraser(best, fit, tied), front, rejected)


def select_undominated_paraphrasers(candidates: Sequence[CandidateParaphraserMeans]) -> list[CandidateParaphraserMeans]:
    """The candidates, in their order, that no other beats: more similar, more reworded and faster, or as good in all
    and better in one. One without a similarity or edit distance is on no front; an unknown runtime counts as the
    longest."""
    rated = [one for one in candidates if one.similarity is not None and one.edit_distance is not None]
    return [candidate for candidate in rated if not any(_dominates_candidate(other, candidate) for other in rated)]


def _dominates_candidate(a: CandidateParaphraserMeans, b: CandidateParaphraserMeans) -> bool:
    first, second = _list_candidate_criterion_values(a), _list_candidate_criterion_values(b)
    return first != second and all(x >= y for x, y in zip(first, second, strict=True))


def _list_candidate_criterion_values(candidate: CandidateParaphraserMeans) -> tuple[float, float, float]:
    """All of them larger for better."""
    return (
        _require_known_value(candidate.similarity),
        _require_known_value(candidate.edit_distance),
        -_get_seconds_or_infinity(candidate),
    )


def _explain_unfit_paraphraser_candidate(candidate: CandidateParaphraserMeans, rule: CandidateSelectionRule) -> str:
    if candidate.similarity is None or candidate.edit_distance is None:
        return candidate.reason or "some of its values are missing"
    if candidate.similarity < rule.similarity:
        return f"a similarity of {candidate.similarity:.2f}, under {rule.similarity:g}, so it changes the meaning"
    if candidate.edit_distance < rule.edit_distance:
        return f"an edit distance of {candidate.edit_distance:.2f}, under {rule.edit_distance:g}, so it copies"
    return ""


def _explain_chosen_paraphraser(
    best: CandidateParaphraserMeans, fit: Sequence[CandidateParaphraserMeans], tied: Sequence[CandidateParaphraserMeans]
) -> str:
    distance = f"an edit distance of {_require_known_value(best.edit_distance):.2f}"
    if len(fit) == 1:
        return f"the only candidate that meets the rule, with {distance}"
    if len(tied) == 1:
        return f"which has the largest edit distance of the {len(fit)} that meet the rule: {distance}"
    return f"with {distance}, tied with {len(tied) - 1} other{'s' if len(tied) > 2 else ''}, and the shortest runtime"


def _require_known_value(value: float | None) -> float:
    assert value is not None
    return value


def _get_seconds_or_infinity(candidate: CandidateParaphraserMeans) -> float:
    return math.inf if candidate.seconds is None else candidate.seconds


@dataclass(frozen=True)
class ParaphraserSelectionOptions(JudgeRatingOptions):
    """Options for selecting a paraphraser, which is step 2."""

    least_similarity: float = option(4.0, "Minimum mean similarity rating for a candidate, from 0 to 5.", point="A7")
    least_edit_distance: float = option(
        0.1, "Minimum edit distance of a candidate; below it, the candidate counts as copying."
    )
    cross_check: Literal["selected", "all"] = option(
        "selected", "Have the other judges rate only the selected candidate, or all candidates."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.least_similarity <= 5:
            raise UsageError(f"least_similarity is {self.least_similarity}.", mend="Use a number from 0 to 5.")
        if not 0 < self.least_edit_distance <= 1:
            raise UsageError(
                f"least_edit_distance is {self.least_edit_distance}.",
                mend="Use a number above 0, up to 1; at 0, a candidate that copies would pass.",
            )

    @property
    def candidate_selection_rule(self) -> CandidateSelectionRule:
        """The rule that selects."""
        return CandidateSelectionRule(self.least_similarity, self.least_edit_distance)


VERSION = 2
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class ParaphraserSelectionRequest(request.RunRequest):
    """The arguments of a selection; `systems` are the candidates, which `judge` rates, and `cross_judges` as well."""

    systems: tuple[str, ...] = option(
        MISSING,
        "A candidate paraphraser: a chat model, `stored:FOLDER`, or a control.",
        name="--paraphraser -p",
        group=SYSTEMS,
    )
    tokenizer: str = ""
    judge: str = option(
        "", "The chat model that rates the candidates; choose it with `pteb judge`.", name="--judge -j", group=SYSTEMS
    )
    cross_judges: tuple[str, ...] = option(
        (), "Another judge that checks the selection.", name="--cross-judge", group=SYSTEMS
    )
    prompt: str = option("default", "Prompt: default, variant1 to variant3, or a text file.", group=SYSTEMS)
    generation: ParaphraseSamplingAndRetryOptions = field(default_factory=ParaphraseSamplingAndRetryOptions)
    options: ParaphraserSelectionOptions = field(default_factory=ParaphraserSelectionOptions)

    def __post_init__(self) -> None:
        if not self.systems:
            raise UsageError("No paraphraser was given.", mend="Pass one, such as ollama:gemma3:27b.")
        if not self.judge:
            raise UsageError("No judge was given.", mend="Pass a language model, such as ollama:gemma3:27b.")

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        plain = super().as_dict()
        del plain["tokenizer"], plain["tasks"], plain["grades"]
        return {**plain, "generation": self.generation.as_dict(), "options": self.options.as_dict()}


TASK = "paraphrasers"
PAIRS = "sts"
"""The task whose texts are paraphrased."""


@dataclass(frozen=True)
class ParaphraserRatingJob:
    """A cell: a candidate on a dataset, rated by a judge."""

    candidate: str
    dataset: str
    judge: Judge


@dataclass(frozen=True)
class ParaphraserSelectionPlan(planning.Plan):
    """A selection, as far as it is known: the candidates are its systems."""

    request: ParaphraserSelectionRequest
    sources: tuple[ParaphraserWithPrompt, ...] = ()
    judges: tuple[PlannedSystem, ...] = ()
    """The judge that decides, then the others."""
    longest: int = 0

    def list_texts_to_rewrite(self, dataset: PlannedDataset) -> list[AskedText]:
        """The distinct texts of a dataset, in the order of the data."""
        return list_distinct_dataset_texts(self.request, dataset.source)

    def add_cells_of_other_judges(self, candidates: Sequence[str]) -> ParaphraserSelectionPlan:
        """The plan, and cells in which the other judges rate these candidates."""
        more = [
            _make_candidate_cell(self, candidate, dataset, judge, f"judge={judge.name}")
            for candidate in self.systems
            if candidate.name in candidates
            for judge in self.judges[1:]
            for dataset in self.datasets
        ]
        return replace(self, cells=(*self.cells, *more))


def make_plan(
    request: ParaphraserSelectionRequest, answers: Path | None = None, ledger: Ledger | None = None
) -> ParaphraserSelectionPlan:
    """Open every candidate, judge and dataset, and cut the work into cells, one per candidate and dataset.

    `answers` is the file of kept answers. Raises UsageError for a dataset without pairs, for names that are unknown or
    without a price where the cost is limited, ModelError for a model that cannot be opened.
    """
    check_mapping_targets(request.mapping)
    check_judge_specs([request.judge, *request.cross_judges])
    datasets, suites = plan_datasets_and_suites(
        request, (PAIRS,), lambda source: _plan_dataset(source, request), plain=True
    )
    check_unique_dataset_names(dataset.name for dataset in datasets)
    texts = [asked.text for dataset in datasets for asked in list_distinct_dataset_texts(request, dataset.source)]
    longest = max((len(text.encode()) for text in texts), default=0)
    sources = _open_candidates(request, datasets, longest, answers, ledger)
    candidates = [_plan_candidate_paraphraser(text, source, ledger) for text, source in sources.items()]
    # A pair holds a text and a paraphrase that may be longer.
    judges = plan_judges([request.judge, *request.cross_judges], 6 * longest, ledger)
    plan = ParaphraserSelectionPlan(
        request, tuple(candidates), datasets, cache=answers, suites=suites, sources=tuple(sources.values()),
        judges=tuple(judges), longest=6 * longest
    )  # fmt: skip
    cells = [
        _make_candidate_cell(plan, candidate, dataset, judges[0]) for dataset in datasets for candidate in candidates
    ]
    plan = replace(plan, cells=tuple(cells))
    everyone = [candidate.name for candidate in candidates]
    return plan.add_cells_of_other_judges(everyone) if request.options.cross_check == "all" else plan


def list_distinct_dataset_texts(request: ParaphraserSelectionRequest, source: str) -> list[AskedText]:
    """The distinct texts of a dataset, in the order of the data."""
    parts = load_language_slices(PAIRS, request.dataset(source), request.limit, request.seed, "each")
    asked = list_texts_to_paraphrase(PAIRS, parts, by_place=False)
    return list({(text.lang, text.text): text for text in asked}.values())


def find_chat_model_of_paraphraser(paraphraser: Paraphraser) -> Any:
    """The language model that a paraphraser is; None for one that asks nobody."""
    return paraphraser.chat.model if isinstance(paraphraser, LLMParaphraser) else None


def _plan_dataset(source: str, request: ParaphraserSelectionRequest) -> PlannedDataset:
    how = request.dataset(source)
    dataset = opening.open_request_dataset(how)
    choose_tasks_for_dataset(source, dataset, [PlannedStepOnScoredPairs(TASK)])
    parts = load_language_slices(PAIRS, how, request.limit, request.seed, "each")
    n = len(list_distinct_dataset_texts(request, source))
    task = PlannedTask(
        TASK,
        n,
        n,
        tuple(skip for part in parts for skip in part.skipped),
        tuple(dict.fromkeys(warning for part in parts for warning in part.warnings)),
    )
    return PlannedDataset(source, dataset.name, dataset.lang, dataset.fingerprint, (task,))


def _open_candidates(
    request: ParaphraserSelectionRequest,
    datasets: Sequence[PlannedDataset],
    longest: int,
    answers: Path | None,
    ledger: Ledger | None,
) -> dict[str, ParaphraserWithPrompt]:
    """Every candidate, opened, by its spec."""
    prompt = open_paraphrase_prompt(request.prompt)
    opened: dict[str, ParaphraserWithPrompt] = {}
    for text in dict.fromkeys(request.systems):
        paraphraser = open_paraphraser(
            text, prompt=prompt, generation=request.generation, ledger=ledger, cache=answers,
            recorded=_collect_recorded_wordings(request, datasets), longest=longest
        )  # fmt: skip
        if paraphraser.name not in {source.name for source in opened.values()}:
            opened[text] = ParaphraserWithPrompt("", paraphraser.name, paraphraser, prompt)
    return opened


def _collect_recorded_wordings(
    request: ParaphraserSelectionRequest, datasets: Sequence[PlannedDataset]
) -> Mapping[str, TextsWithParaphrases]:
    """The wordings that datasets bring themselves."""
    opened = {dataset.name: opening.open_request_dataset(request.dataset(dataset.source)) for dataset in datasets}
    return {
        name: dataset.load("paraphrases").data for name, dataset in opened.items() if not dataset.missing("paraphrases")
    }


def _plan_candidate_paraphraser(text: str, source: ParaphraserWithPrompt, ledger: Ledger | None) -> PlannedSystem:
    paraphraser, chat = source.paraphraser, find_chat_model_of_paraphraser(source.paraphraser)
    if chat is None:
        entry = PARAPHRASERS.get(PARAPHRASERS.style.parse(text).name)
        facts: dict[str, Any] = {"summary": entry.summary}
    else:
        price = getattr(chat, "price", None)
        if price is None and ledger is not None and ledger.max_usd is not None:
            raise make_unknown_price_error(paraphraser.name)
        facts = collect_chat_facts(text, chat, price)
    return PlannedSystem(text, paraphraser.name, paraphraser.identity, "llm", facts)


def _make_candidate_cell(
    plan: ParaphraserSelectionPlan,
    candidate: PlannedSystem,
    dataset: PlannedDataset,
    judge: PlannedSystem,
    variant: str = "",
) -> RunCell:
    request = plan.request
    key = digest_json(
        {
            "protocol": "pteb",
            "step": TASK,
            "version": VERSION,
            "variant": variant,
            "system": [candidate.name, candidate.identity],
            "judge": [judge.name, judge.identity],
            "dataset": [dataset.name, dataset.fingerprint],
            "limit": request.limit,
            "seed": request.seed,
            "ratings": [value for name, value in request.options.as_dict().items() if not name.startswith("least_")],
        }
    )
    job = ParaphraserRatingJob(candidate.name, dataset.name, Judge(judge.spec, plan.longest))
    # A text is paraphrased and its paraphrase rated; for a second judge only rated.
    units = dataset.tasks[0].n * (1 if variant else 2)
    # All of them wait for the judge's server, whoever paraphrases.
    return RunCell(TASK, dataset.name, candidate.name, key, units, job, remote=True, variant=variant)


def forecast_selection_cost(plan: ParaphraserSelectionPlan) -> RunForecast:
    """The cost of every candidate and every judge on every dataset: paraphrases are taken to be as long as their
    texts, and ratings not to be there yet. The other judges rate one candidate, or all."""
    return RunForecast(tuple(_forecast_paraphraser_selection_cells(plan)))


def _forecast_paraphraser_selection_cells(plan: ParaphraserSelectionPlan) -> Iterator[CellForecast]:
    everyone = plan.request.options.cross_check == "all"
    for dataset in plan.datasets:
        asked = plan.list_texts_to_rewrite(dataset)
        for source in plan.sources:
            yield _forecast_paraphrases(plan, source, dataset, asked)
        for judge in plan.judges:
            rated = len(plan.sources) if judge is plan.judges[0] or everyone else 1
            yield _forecast_ratings(plan, judge, dataset, asked, rated)


def _forecast_paraphrases(
    plan: ParaphraserSelectionPlan,
    source: ParaphraserWithPrompt,
    dataset: PlannedDataset,
    asked: Sequence[records.TextToParaphrase],
) -> CellForecast:
    head = CellForecast(TASK, dataset.name, source.paraphraser.name, len(asked), 0, 0)
    paraphraser = source.paraphraser
    if not isinstance(paraphraser, LLMParaphraser):
        return head
    [seed] = paraphraser.seeds(1, plan.request.seed, dataset=dataset.name)
    fresh = [text for text in asked if not paraphraser.is_text_free_of_cost(text, seed)]
    questions = [paraphraser.question(text, seed) for text in fresh]
    read = sum(estimate_server_tokens([message.content for message in question.messages]) for question in questions)
    written = estimate_server_tokens([text.text for text in fresh])
    return add_question_cost_to_forecast(
        head, paraphraser.chat.model, ModelRequestLoad(len(asked), len(fresh), read, written)
    )


def _forecast_ratings(
    plan: ParaphraserSelectionPlan,
    judge: PlannedSystem,
    dataset: PlannedDataset,
    asked: Sequence[records.TextToParaphrase],
    candidates: int,
) -> CellForecast:
    n = candidates * len(asked)
    prompt = estimate_server_tokens([load_similarity_judge_prompt().text, format_text_pair("", "")])
    texts = estimate_server_tokens([text.text for text in asked])
    head = CellForecast(TASK, dataset.name, judge.name, n, 0, 0)
    chat = Judge(judge.spec, plan.longest).open()
    return add_question_cost_to_forecast(
        head, chat, ModelRequestLoad(n, n, n * prompt + 2 * candidates * texts, n * ANSWER_TOKENS)
    )


HEADLINE = "similarity"
NOTHING = "no usable paraphrase"

Floats = NDArray[np.float64]


def make_paraphrase_ids(paraphrases: Sequence[object]) -> tuple[str, ...]:
    """What the texts are called in items: by their place among the distinct texts of the dataset."""
    return tuple(f"text-{i}" for i in range(len(paraphrases)))


def select_usable_paraphrase_pairs(paraphrases: Sequence[ParaphraseOutcome]) -> list[Pair]:
    """The pairs of text and paraphrase that a judge sees: the usable ones, in their order."""
    return [(paraphrase.text, paraphrase.wording) for paraphrase in paraphrases if paraphrase.usable]


def score_paraphraser_by_criteria(
    paraphrases: Sequence[ParaphraseOutcome], ratings: Sequence[JudgeRating], context: RatingEvaluationContext
) -> TaskOutcome:
    """Score a paraphraser on the distinct texts of a dataset, (n,); `ratings` are those of
    `select_usable_paraphrase_pairs`.

    What has no usable paraphrase or no rating is left out and counted. Over 5% without a paraphrase there is no value
    at all, over 5% of the others without a rating no similarity. Items are `similarity`, `edit_distance` and
    `seconds`.
    """
    ids = make_paraphrase_ids(paraphrases)
    unusable = ["" if paraphrase.usable else paraphrase.outcome for paraphrase in paraphrases]
    unworded = group_lost_items_by_reason("texts without a paraphrase", ids, unusable)
    reason = explain_too_many_lost("texts had no usable paraphrase", len(paraphrases), unworded)
    rated, unrated = estimate_mean_similarity_rating(paraphrases, ratings, context)
    pairs = select_usable_paraphrase_pairs(paraphrases)
    texts, wordings = [text for text, _ in pairs], [wording for _, wording in pairs]
    distances = _spread_usable_values_over_all(paraphrases, edit_distances(texts, wordings))
    lengths = _spread_usable_values_over_all(paraphrases, [len(wording) / len(text) for text, wording in pairs])
    seconds = _list_paraphrasing_seconds(paraphrases)
    figures = [
        rated,
        estimate_mean_of_rated_texts("edit_distance", distances, context, NOTHING),
        estimate_mean_of_rated_texts("seconds", seconds, context, "nothing was requested"),
        estimate_mean_of_rated_texts("length_ratio", lengths, context, NOTHING),
    ]
    if reason:
        figures = [JudgingMeasureEstimate(each.measure, each.variant, each.n, reason) for each in figures]
    # Shares stand whatever was lost: they are what tells how much that is.
    figures += _estimate_copied_and_lost_shares(paraphrases, ratings, context)
    items = Items()
    items.add(ids, _list_text_ratings(paraphrases, ratings), HEADLINE)
    items.add(ids, distances, "edit_distance")
    items.add(ids, seconds, "seconds")
    return TaskOutcome(
        scores=tuple(each.score for each in figures),
        components={each.name: each.component for each in figures},
        items=items.columns,
        skipped=(*unworded, *unrated),
        counts=_count_paraphrase_outcomes(paraphrases),
    )


def score_similarity_by_other_judge(
    paraphrases: Sequence[ParaphraseOutcome],
    ratings: Sequence[JudgeRating],
    judge: str,
    context: RatingEvaluationContext,
) -> TaskOutcome:
    """Score the similarity alone, as another judge sees it: variant `judge=NAME`."""
    rated, unrated = estimate_mean_similarity_rating(paraphrases, ratings, context, f"judge={judge}")
    ids, items = make_paraphrase_ids(paraphrases), Items()
    items.add(ids, _list_text_ratings(paraphrases, ratings), HEADLINE)
    return TaskOutcome((rated.score,), {HEADLINE: rated.component}, items.columns, unrated)


def estimate_mean_similarity_rating(
    paraphrases: Sequence[ParaphraseOutcome],
    ratings: Sequence[JudgeRating],
    context: RatingEvaluationContext,
    variant: str = "",
) -> tuple[JudgingMeasureEstimate, tuple[SkippedItems, ...]]:
    """The mean rating of the usable paraphrases, and those without a rating."""
    ids = [
        key for key, paraphrase in zip(make_paraphrase_ids(paraphrases), paraphrases, strict=True) if paraphrase.usable
    ]
    lost = group_lost_items_by_reason("paraphrases without a rating", ids, [rating.reason for rating in ratings])
    reason = explain_too_many_lost("paraphrases had no rating", len(ids), lost)
    values = _list_text_ratings(paraphrases, ratings)
    if reason:
        return JudgingMeasureEstimate(HEADLINE, variant, int(np.isfinite(values).sum()), reason), lost
    return estimate_mean_of_rated_texts(HEADLINE, values, context, NOTHING, variant), lost


def estimate_mean_of_rated_texts(
    measure: str, values: Floats, context: RatingEvaluationContext, otherwise: str, variant: str = ""
) -> JudgingMeasureEstimate:
    """The mean of the values that are there, resampled over all texts so that candidates are paired; `otherwise` is
    the reason where there is none."""
    n = int(np.isfinite(values).sum())
    if not n:
        return JudgingMeasureEstimate(measure, variant, 0, otherwise)
    mean = estimate(values[:, None], lambda means: means[..., 0], context, "texts", "bootstrap over texts")
    return JudgingMeasureEstimate(measure, variant, n, mean)


def _estimate_copied_and_lost_shares(
    paraphrases: Sequence[ParaphraseOutcome], ratings: Sequence[JudgeRating], context: RatingEvaluationContext
) -> list[JudgingMeasureEstimate]:
    """How many texts came back as they were, and how many were lost on the way."""
    copied = [float(paraphrase.outcome == "copied") for paraphrase in paraphrases if paraphrase.usable]
    unrated = [float(rating.value is None) for rating in ratings]
    failed = np.array([float(not paraphrase.usable) for paraphrase in paraphrases])
    return [
        estimate_share_of_ones("copied", _spread_usable_values_over_all(paraphrases, copied), context, NOTHING),
        estimate_share_of_ones("failed", failed, context, NOTHING),
        estimate_share_of_ones(
            "failed_ratings", _spread_usable_values_over_all(paraphrases, unrated), context, NOTHING
        ),
    ]


def _count_paraphrase_outcomes(paraphrases: Sequence[ParaphraseOutcome]) -> dict[str, int]:
    outcomes = Counter(paraphrase.outcome for paraphrase in paraphrases)
    counts = {f"texts_{name.replace(' ', '_')}": n for name, n in sorted(outcomes.items())}
    return counts | {"further_attempts": sum(max(0, paraphrase.attempts - 1) for paraphrase in paraphrases)}


def _list_paraphrasing_seconds(paraphrases: Sequence[ParaphraseOutcome]) -> Floats:
    """How long every text took, failed ones too; NaN where nothing was asked for."""
    return np.array([paraphrase.seconds if paraphrase.seconds > 0 else np.nan for paraphrase in paraphrases])


def _list_text_ratings(paraphrases: Sequence[ParaphraseOutcome], ratings: Sequence[JudgeRating]) -> Floats:
    """The rating of every text's paraphrase, NaN where there is none."""
    return _spread_usable_values_over_all(
        paraphrases, [np.nan if rating.value is None else rating.value for rating in ratings]
    )


def _spread_usable_values_over_all(
    paraphrases: Sequence[ParaphraseOutcome], of_usable: Sequence[float] | Floats
) -> Floats:
    """Values of the usable paraphrases at the places of all, NaN at the others'."""
    values = np.full(len(paraphrases), np.nan)
    values[[i for i, paraphrase in enumerate(paraphrases) if paraphrase.usable]] = of_usable
    return values


@dataclass(frozen=True)
class ParaphraserSelectionWorker:
    """The work of a selection in this process: the opened candidates are not opened again for every cell, and what
    they write is kept in the run's set at once. `answers` is the file of kept answers."""

    plan: ParaphraserSelectionPlan
    paraphrases: ParaphraseSet
    answers: Path | None

    def evaluate(
        self,
        job: ParaphraserRatingJob,
        advance: Callable[[int], None],
        *,
        ledger: Ledger | None = None,
        spread: CellPartExecutor = HERE,
    ) -> TaskOutcome:
        """The outcome of one cell, with the answers of the judge that were asked for and had, and its calls. A server
        does the work: there is nothing to spread."""
        del spread
        source = next(source for source in self.plan.sources if source.name == job.candidate)
        dataset = next(dataset for dataset in self.plan.datasets if dataset.name == job.dataset)
        paraphrases = self._paraphrase_dataset(source, dataset, advance, ledger or Ledger())
        ratings, counts = self._rate_paraphrases(job, paraphrases, advance, ledger)
        context = RatingEvaluationContext(dataset.name, seed=self.plan.request.seed, options=self.plan.request.options)
        judge = self.plan.judges[0]
        if job.judge.spec != judge.spec:
            outcome = score_similarity_by_other_judge(paraphrases, ratings, job.judge.open().name, context)
        else:
            outcome = score_paraphraser_by_criteria(paraphrases, ratings, context)
        warnings = warn_of_self_judging(source, job.judge.open())
        return replace(outcome, counts={**outcome.counts, **counts}, warnings=warnings)

    def _paraphrase_dataset(
        self, source: ParaphraserWithPrompt, dataset: PlannedDataset, advance: Callable[[int], None], ledger: Ledger
    ) -> list[ParaphraseOutcome]:
        """What the candidate makes of every distinct text, in their order."""
        [seed] = source.paraphraser.seeds(1, self.plan.request.seed, dataset=dataset.name)
        writer = ParaphraseSetFiller(self.paraphrases, ledger, _WordingProgressListener(advance))
        asked = tuple(self.plan.list_texts_to_rewrite(dataset))
        writer.write([dataset], [source], {(source.name, dataset.name): (seed,)}, lambda *_: asked)
        rows = {(row.lang, row.text): row for row in self.paraphrases.rows(source.name, dataset.name, seed)}
        return [rows[text.lang, text.text] for text in self.plan.list_texts_to_rewrite(dataset)]

    def _rate_paraphrases(
        self,
        job: ParaphraserRatingJob,
        paraphrases: list[ParaphraseOutcome],
        advance: Callable[[int], None],
        ledger: Ledger | None,
    ) -> tuple[list[JudgeRating], dict[str, int]]:
        request = self.plan.request
        asking = JudgeRatingInstructions(load_similarity_judge_prompt().text, request.options, request.seed)
        with (
            job.judge.open_judge_with_cached_answers(ledger, self.answers) as chat,
            charge_calls_to_account(ledger, chat.name) as calls,
        ):
            ratings = rate_text_pairs(chat, select_usable_paraphrase_pairs(paraphrases), asking, advance)
        return ratings, {"answers_asked": chat.counts.asked, "answers_cached": chat.counts.cached, **calls}


def warn_of_self_judging(source: ParaphraserWithPrompt, judge: Any) -> tuple[str, ...]:
    """A warning where a candidate is judged by itself."""
    chat = find_chat_model_of_paraphraser(source.paraphraser)
    name = getattr(chat, "model", None)
    if name is None or name != getattr(judge, "model", None):
        return ()
    return (f"{name} judges its own paraphrases, and models tend to favour their own. Compare with other judges.",)


class _WordingProgressListener(SilentListener):
    """Counts texts that are worded as progress of the cell."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance

    def advanced_by(self, texts: int) -> None:
        """So many more of them are there."""
        self._advance(texts)
