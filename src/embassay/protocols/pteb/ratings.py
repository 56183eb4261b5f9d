"""Ratings: what a judge is asked, what counts as an answer, and what none came for.

The judge is told in a system message to rate how similar two texts are in meaning, from 0 to 5, and gets the two in
the user's message and nothing else: no gold, no name, no hint at where they are from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from embassay.contracts import ChatMessage, ChatModel, Tokenizer
from embassay.data import DATASETS
from embassay.data.catalogue.entries import read_catalogue_entries
from embassay.errors import DataError, ModelError, TextRefused, UsageError
from embassay.protocols.kernel import inputs as context
from embassay.protocols.kernel.estimates import (
    MOST_LOST,
    Estimate,
    Items,
    average_estimates,
    estimate,
    make_undefined_score,
)
from embassay.protocols.kernel.plan import PlannedSystem
from embassay.protocols.kernel.protocol import EvaluationProtocol
from embassay.protocols.kernel.session import make_unknown_price_error
from embassay.protocols.pteb.options import JudgeRatingOptions, JudgingRunOptions
from embassay.protocols.pteb.paraphrasing import (
    adapt_chat_for_rewording,
    find_model_licence,
    load_similarity_judge_prompt,
)
from embassay.protocols.tasks.task import estimate_correlation
from embassay.records import HeadlineComponent, Score, ScoredTextPairs, SkippedItems, TaskOutcome
from embassay.runs.store import CachedChatModel, ChatAnswerCache, ChatQuestion
from embassay.stats import wilson
from embassay.systems.chat import CHAT_MODELS, open_chat
from embassay.systems.chat.answers import strip_code_fence
from embassay.systems.remote import Ledger
from embassay.systems.remote.calls import iterate_finished_jobs
from embassay.systems.remote.ledger import TokenPrice
from embassay.text.tokenizers import WordTokenizer


@dataclass(frozen=True)
class Judge:
    """A model that rates pairs; `longest` is the UTF-8 bytes of the longest pair of the whole run, from which a server
    that must be told gets the size of its context."""

    spec: str
    longest: int = 0

    def open(self, ledger: Ledger | None = None) -> ChatModel:
        """The model; one for all cells of a run, so that what is learnt of its server's pace is not learnt again."""
        return _open_similarity_judge_chat(self, ledger)

    @property
    def token_price(self) -> TokenPrice | None:
        """What its tokens cost; None where that is not known."""
        price = getattr(self.open(), "price", None)
        return price if isinstance(price, TokenPrice) else None

    @contextmanager
    def open_judge_with_cached_answers(self, ledger: Ledger | None, cache: Path | None) -> Iterator[CachedChatModel]:
        """The model behind the answers in the file `cache`, by default the user's."""
        with closing(ChatAnswerCache.open(cache)) as answers:
            yield CachedChatModel(self.open(ledger), answers)


@lru_cache(maxsize=16)
def _open_similarity_judge_chat(judge: Judge, ledger: Ledger | None) -> ChatModel:
    return adapt_chat_for_rewording(open_chat(judge.spec, ledger=ledger), load_similarity_judge_prompt(), judge.longest)


def check_judge_specs(specs: Sequence[str]) -> None:
    """UsageError for a spec that names no language model, and for none at all."""
    if not specs:
        raise UsageError("No language model was given.", mend="Pass one, such as ollama:gemma3:27b.")
    for spec in specs:
        CHAT_MODELS.parse_spec(spec)


def plan_judges(specs: Sequence[str], longest: int, ledger: Ledger | None) -> list[PlannedSystem]:
    """The judges, each once however it was spelled. UsageError for one without a price where the cost is limited."""
    judges = [make_planned_system_of_judge(Judge(spec, longest), ledger) for spec in dict.fromkeys(specs)]
    return list({system.name: system for system in judges}.values())


def make_planned_system_of_judge(judge: Judge, ledger: Ledger | None) -> PlannedSystem:
    """One judge as a plan knows it."""
    chat, price = judge.open(ledger), judge.token_price
    if price is None and ledger is not None and ledger.max_usd is not None:
        raise make_unknown_price_error(chat.name)
    return PlannedSystem(judge.spec, chat.name, chat.identity, "llm", collect_chat_facts(judge.spec, chat, price))


def collect_chat_facts(spec: str, chat: ChatModel, price: TokenPrice | None) -> dict[str, Any]:
    """The facts that a chat model's card shows."""
    told = {
        "licence": find_model_licence(spec) or None,
        "num_ctx": getattr(chat, "num_ctx", None),
        "usd_per_million_input": price.usd_per_million_input if price else None,
        "usd_per_million_output": price.usd_per_million_output if price else None,
        "summary": CHAT_MODELS.get(CHAT_MODELS.parse_spec(spec).name).summary,
    }
    return {name: value for name, value in told.items() if value is not None}


LOWEST, HIGHEST = 0.0, 5.0
SEED_STEP = 1_000_003
"""Added to the seed at every further attempt: the same seed would bring the same answer."""

_AT_ONCE = 512
"""Pairs that are worked on at once; the model's own pace decides how many requests are in flight."""
_HOPELESS = 8
"""So many calls in a row that fail for no reason of their pair mean that the judge cannot be had."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

Pair = tuple[str, str]


# Its name is in the schema that the model is asked with, so in the key of every kept answer: it stays.
class JudgeAnswer(BaseModel):
    """The JSON that a judge answers with."""

    model_config = ConfigDict(extra="forbid", strict=True)

    score: float = Field(ge=LOWEST, le=HIGHEST, allow_inf_nan=False)


class NoRatingError(ValueError):
    """An answer that is no rating; says what is wrong with it."""


@dataclass(frozen=True)
class JudgeRating:
    """What came of one pair: a value from 0 to 5, or None and why; `attempts` answers were drawn."""

    value: float | None
    attempts: int
    reason: str = ""


@dataclass(frozen=True)
class JudgeRatingInstructions:
    """How every pair of a run is rated: the judge's instructions, the options and the seed of the first attempt."""

    prompt: str
    options: JudgeRatingOptions
    seed: int

    def question(self, pair: Pair, attempt: int = 0) -> ChatQuestion:
        """The question for attempt number `attempt` (from 0) at rating a pair."""
        messages = [ChatMessage("system", self.prompt), ChatMessage("user", format_text_pair(*pair))]
        sampling = self.options.make_answer_sampling(self.seed + SEED_STEP * attempt)
        return ChatQuestion(messages, sampling, JudgeAnswer if self.options.answers == "schema" else None)


def format_text_pair(first: str, second: str) -> str:
    """The user's message: both texts as they are, each between tags of its own.

    >>> print(format_text_pair("A fox.", "A vixen."))
    <text1>
    A fox.
    </text1>
    <text2>
    A vixen.
    </text2>
    """
    return f"<text1>\n{first}\n</text1>\n<text2>\n{second}\n</text2>"


def parse_rating(text: str) -> float:
    """The rating that an answer consists of, 0 to 5: `{"score": 3.5}`, in a code fence or not, or `3.5`.

    Anything else is NoRating, be the number in it ever so plain: in `4/5`, `Score: 4` and in reasoning, which number
    is meant would be a guess.

    >>> parse_rating('{"score": 3.5}'), parse_rating(" 4 ")
    (3.5, 4.0)
    """
    text = strip_code_fence(text)
    # A bare number is put into the object, so that one model checks both.
    said = f'{{"score": {text}}}' if _NUMBER.fullmatch(text) else text
    try:
        return JudgeAnswer.model_validate_json(said).score
    except ValidationError as error:
        kinds = {fault["type"] for fault in error.errors(include_url=False, include_input=False)}
        beyond = kinds <= {"greater_than_equal", "less_than_equal", "finite_number"}
        raise NoRatingError("a rating out of range" if beyond else "an answer that is not a rating") from None


def rate_text_pairs(
    chat: CachedChatModel,
    pairs: Sequence[Pair],
    asking: JudgeRatingInstructions,
    hear: Callable[[int], None] = lambda _: None,
) -> list[JudgeRating]:
    """A rating for each of the pairs, (n,), many asked for at once and equal pairs once.

    What is no rating is asked for again with another seed, up to `asking.options.attempts` answers. `hear` gets the
    number of pairs that are done, now and then. ModelError for a judge that cannot be had and
    BudgetExceeded are raised after what was in flight has come into the cache.
    """
    # A pair that stands twice is asked once: the answer would be the same, and cost twice.
    distinct = list(dict.fromkeys(pairs))
    hear(len(pairs) - len(distinct))
    asker = _LlmPairRater(chat, asking)
    by_pair: dict[Pair, JudgeRating] = {}
    for position, rating in iterate_finished_jobs((partial(asker.rated, pair) for pair in distinct), at_once=_AT_ONCE):
        by_pair[distinct[position]] = rating
        hear(1)
    return [by_pair[pair] for pair in pairs]


class _LlmPairRater:
    """Asks for one pair's rating after another, each until there is one."""

    def __init__(self, chat: CachedChatModel, asking: JudgeRatingInstructions) -> None:
        self.chat, self.asking = chat, asking
        self._hopeless = 0

    async def rated(self, pair: Pair) -> JudgeRating:
        """What comes of a pair; ModelError once so many calls in a row have failed that the judge cannot be had."""
        rating = JudgeRating(None, 0)
        for attempt in range(self.asking.options.attempts):
            rating = replace(await self._attempt_rating(pair, attempt), attempts=attempt + 1)
            if rating.value is not None:
                break
        return rating

    async def _attempt_rating(self, pair: Pair, attempt: int) -> JudgeRating:
        question = self.asking.question(pair, attempt)
        try:
            answer = await self.chat.complete(question.messages, sampling=question.sampling, schema=question.schema)
        # The pair was refused, so the judge is there: it counts for no outage.
        except TextRefused as error:
            self._hopeless = 0
            return JudgeRating(None, 1, str(error))
        except ModelError as error:
            self._hopeless += 1
            # In a row and over all pairs: a judge that is gone must not be asked for each of ten thousand.
            if self._hopeless >= _HOPELESS:
                raise
            return JudgeRating(None, 1, str(error))
        self._hopeless = 0
        try:
            return JudgeRating(parse_rating(answer.text), 1)
        except NoRatingError as error:
            return JudgeRating(None, 1, str(error))


_EXAMPLES = 5


def group_lost_items_by_reason(what: str, ids: Sequence[str], reasons: Iterable[str]) -> tuple[SkippedItems, ...]:
    """The items (n,) that have a reason why they are lost, an empty one being none, grouped by it; reasons that differ
    only in numbers count as one. `what` names them: `pairs without a rating`.

    >>> group_lost_items_by_reason("pairs without a rating", ["p1", "p2"], ["", "down (3 attempts)."])
    (SkippedItems(reason='pairs without a rating: down (3 attempts)', count=1, examples=('p2',)),)
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for key, reason in zip(ids, reasons, strict=True):
        if reason:
            # `429 after 3 attempts` and `429 after 2 attempts` are one reason.
            groups.setdefault(re.sub(r"\d+", "0", reason), []).append((key, reason.rstrip(".")))
    return tuple(
        SkippedItems(f"{what}: {members[0][1]}", len(members), tuple(key for key, _ in members[:_EXAMPLES]))
        for members in groups.values()
    )


def explain_too_many_lost(what: str, n: int, lost: Sequence[SkippedItems]) -> str:
    """Why there can be no score of `n` items of which so many are lost; empty where few enough are."""
    count = sum(skip.count for skip in lost)
    if count <= MOST_LOST * n:
        return ""
    reason = max(lost, key=lambda skip: skip.count).reason.partition(": ")[2]
    return f"{count} of {n} {what}, mostly: {reason} (over {MOST_LOST:.0%}, so no score)"


USUAL = (0.0, 5.0)
_RANGE = re.compile(r"(?:(?P<name>.+)=)?(?P<low>-?\d+(?:\.\d+)?)-(?P<high>-?\d+(?:\.\d+)?)")

Range = tuple[float, float]


def parse_gold_score_ranges(given: Sequence[str]) -> Mapping[str, Range]:
    """Ranges by the dataset's name, "" for all others. UsageError for what is no range.

    >>> parse_gold_score_ranges(["sick=1-5", "0-4"])
    {'sick': (1.0, 5.0), '': (0.0, 4.0)}
    """
    ranges: dict[str, Range] = {}
    for text in given:
        match = _RANGE.fullmatch(text.strip())
        low, high = (float(match["low"]), float(match["high"])) if match else USUAL
        if match is None or not low < high:
            raise UsageError(
                f"{text!r} is not a range of gold scores.", mend="Write LOW-HIGH or DATASET=LOW-HIGH, such as sick=1-5."
            )
        ranges[match["name"] or ""] = (low, high)
    return ranges


def find_gold_range_with_warning(
    given: Mapping[str, Range], source: str, name: str, scores: NDArray[np.float64]
) -> tuple[Range, str]:
    """The range of a dataset's scores, and a warning where it was taken for granted.

    It is what was given, else what the catalogue says, else 0 to 5. UsageError where scores are outside of it.
    """
    stated = given.get(name) or given.get("") or _find_catalogue_gold_range(source)
    low, high = stated or USUAL
    if len(scores) and (scores.min() < low or scores.max() > high):
        raise UsageError(
            f"The gold scores of {name!r} range from {scores.min():g} to {scores.max():g}, which is outside "
            f"{low:g} to {high:g}.",
            mend=f"Pass their range: --gold {name}=LOW-HIGH.",
        )
    if stated is not None:
        return (low, high), ""
    return (USUAL, f"Gold scores are assumed to range from 0 to 5. If not, pass their range: --gold {name}=LOW-HIGH.")


def _find_catalogue_gold_range(source: str) -> Range | None:
    """What the catalogue says of a dataset that is named and not a path."""
    if Path(source).exists():
        return None
    name = DATASETS.style.parse(source).name
    if name == "sample":
        return USUAL
    record = read_catalogue_entries().get(name)
    return (record.gold[0], record.gold[1]) if record is not None and record.gold else None


class PairRatingStep(EvaluationProtocol):
    """A step of PTEB in which language models rate pairs."""

    name = "pteb"
    reads_folder = True
    by_task = False

    def check_prices_known(self, plan: Any, max_usd: float | None) -> None:
        """Planning has looked at them."""


HEADLINE = "spearman"
ERROR = "mae"
FAILED = "failed"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RatingEvaluationContext(context.EvaluationContext):
    """The dataset and seed that name the random streams, and the options; no text is cut into tokens."""

    tokenizer: Tokenizer = field(default_factory=WordTokenizer)
    options: JudgeRatingOptions = field(default_factory=JudgeRatingOptions)

    @property
    def resamples(self) -> int:
        """Bootstrap resamples behind every interval."""
        return self.options.resamples


def compute_wilson_interval(value: float, n: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share of n items."""
    return wilson(min(1.0, value), n).ends


@dataclass(frozen=True)
class JudgingMeasureEstimate:
    """A number of a dataset, in a `variant` of it: an estimate, or the reason why there is none of these `n` items."""

    measure: str
    variant: str
    n: int
    found: Estimate | str
    subset: str = ""

    @property
    def name(self) -> str:
        """What its component is called."""
        return f"{self.measure} {self.variant}".strip()

    @property
    def score(self) -> Score:
        """As a row of results."""
        if isinstance(self.found, str):
            row = make_undefined_score(self.measure, self.n, self.found, variant=self.variant)
        else:
            row = self.found.score(self.measure, variant=self.variant)
        return replace(row, subset=self.subset)

    @property
    def component(self) -> HeadlineComponent:
        """As a part of a mean over datasets."""
        if isinstance(self.found, str):
            return HeadlineComponent(None, self.n, reason=self.found)
        return self.found.component()


@dataclass(frozen=True)
class PairsWithGoldAndLength:
    """Pairs with their gold scores, lengths and languages: `gold` on 0 to 5, `words` the mean of both texts, (n,)
    each."""

    ids: tuple[str, ...]
    gold: Floats
    words: Floats
    langs: tuple[str, ...]

    @classmethod
    def of(cls, data: ScoredTextPairs, langs: tuple[str, ...], low: float, high: float) -> PairsWithGoldAndLength:
        """The pairs of a dataset whose scores have this range."""
        gold = rescale_gold_to_judge_scale(data.scores, low, high)
        return cls(data.ids, gold, average_words_per_pair(data.first, data.second), langs)

    @property
    def language_masks(self) -> dict[str, NDArray[np.bool_]]:
        """Which pairs are in each language."""
        return {lang: np.array([own == lang for own in self.langs]) for lang in dict.fromkeys(self.langs)}


def score_agreement(
    ratings: Sequence[JudgeRating],
    data: PairsWithGoldAndLength,
    options: JudgingRunOptions,
    context: RatingEvaluationContext,
) -> TaskOutcome:
    """Score ratings (n,) against gold; items are each pair's `rating` (missing where there is none), `gold`, `words`.

    The headline of several languages is the mean of one correlation each, which have rows of their own (subset). Pairs
    without a rating are left out and counted; over 5% there is no score. Components are named as the rows: `spearman`,
    `spearman words=1-10`, `mae`, `mae gold=[0,1)`.
    """
    values = np.array([np.nan if rating.value is None else rating.value for rating in ratings])
    items = Items()
    for name, column in (("rating", values), ("gold", data.gold), ("words", data.words)):
        items.add(data.ids, column, name)
    lost = group_lost_items_by_reason("pairs without a rating", data.ids, [rating.reason for rating in ratings])
    reason = explain_too_many_lost("pairs had no rating", len(ratings), lost)
    measured = [
        replace(figure, found=reason or figure.found)
        for figure in _iterate_rating_correlations_and_errors(values, data, options, context)
    ]
    measured.append(estimate_share_of_ones(FAILED, np.isnan(values) * 1.0, context))
    n = int(np.isfinite(values).sum())
    return TaskOutcome(
        scores=tuple(figure.score for figure in measured),
        components={figure.name: figure.component for figure in measured if not figure.subset},
        items=items.columns,
        skipped=lost,
        counts={
            "ratings": n,
            "ratings_failed": len(values) - n,
            "further_attempts": sum(rating.attempts - 1 for rating in ratings),
        },
    )


def estimate_share_of_ones(
    measure: str, values: Floats, context: RatingEvaluationContext, otherwise: str = "no item"
) -> JudgingMeasureEstimate:
    """The share of ones among the values that are there (n,); `otherwise` is the reason where there is none."""
    n = int(np.isfinite(values).sum())
    if not n:
        return JudgingMeasureEstimate(measure, "", 0, otherwise)
    return JudgingMeasureEstimate(
        measure,
        "",
        n,
        estimate(values[:, None], _take_first_column_of_means, context, "shares", "bootstrap over items", share=True),
    )


def _iterate_rating_correlations_and_errors(
    values: Floats, data: PairsWithGoldAndLength, options: JudgingRunOptions, context: RatingEvaluationContext
) -> Iterator[JudgingMeasureEstimate]:
    """The correlation and the error, of all pairs (the headline first) and of every bin."""
    yield from _estimate_correlation_by_language(values, data, context)
    for part in bin_by_word_count(data.words, options.word_bin_edges):
        yield _estimate_correlation_in_value_bin(values, data.gold, part, options.smallest_bin, context)
    whole = ValueBin("", np.ones(len(values), dtype=bool))
    errors = np.abs(values - data.gold)
    for part in (whole, *bin_by_gold_score(data.gold, options.gold_bin_edges)):
        yield _estimate_rating_error_in_bin(errors, part, context)


def _estimate_correlation_by_language(
    values: Floats, data: PairsWithGoldAndLength, context: RatingEvaluationContext
) -> Iterator[JudgingMeasureEstimate]:
    """The correlation of all pairs; of several languages the mean, and then that of each."""
    by_language = data.language_masks
    parts = [
        replace(
            _estimate_correlation_in_value_bin(values, data.gold, ValueBin("", members), 2, context, purpose=lang),
            subset=lang,
        )
        for lang, members in by_language.items()
    ]
    if len(parts) == 1:
        yield replace(parts[0], subset="")
        return
    n, method = sum(part.n for part in parts), f"mean over {len(parts)} languages, bootstrap over pairs"
    estimates = [part.found for part in parts if isinstance(part.found, Estimate)]
    missing = next((f"{part.subset}: {part.found}" for part in parts if isinstance(part.found, str)), "")
    yield JudgingMeasureEstimate(HEADLINE, "", n, missing or replace(average_estimates(estimates, method), n=n))
    yield from parts


def _estimate_correlation_in_value_bin(
    values: Floats, gold: Floats, part: ValueBin, least: int, context: RatingEvaluationContext, purpose: str = ""
) -> JudgingMeasureEstimate:
    rating, variant = values[part.members], f"words={part.label}" if part.label else ""
    n = int(np.isfinite(rating).sum())
    if n < least:
        return JudgingMeasureEstimate(
            HEADLINE, variant, n, f"{n or 'no'} pair{'' if n == 1 else 's'}, fewer than {least}"
        )
    rho = estimate_correlation(
        rating, gold[part.members], context, f"correlation {purpose or part.label}", method="bootstrap over pairs"
    )
    what = rho.replace("similarity", "rating") if isinstance(rho, str) else rho
    return JudgingMeasureEstimate(HEADLINE, variant, n, what)


def _estimate_rating_error_in_bin(
    errors: Floats, part: ValueBin, context: RatingEvaluationContext
) -> JudgingMeasureEstimate:
    inside, variant = errors[part.members], f"gold={part.label}" if part.label else ""
    n = int(np.isfinite(inside).sum())
    if not n:
        return JudgingMeasureEstimate(ERROR, variant, 0, "no pair")
    mean = estimate(
        inside[:, None], _take_first_column_of_means, context, f"error {part.label}", "bootstrap over pairs"
    )
    return JudgingMeasureEstimate(ERROR, variant, n, mean)


def _take_first_column_of_means(means: Floats) -> Floats:
    return means[..., 0]


@dataclass(frozen=True)
class ValueBin:
    """A range of values by its label, and which items are in it, (n,)."""

    label: str
    members: NDArray[np.bool_]


def rescale_gold_to_judge_scale(gold: Floats, low: float, high: float) -> Floats:
    """Gold scores (n,) of the range `low` to `high` on the judge's scale, 0 to 5; DataError for one outside.

    >>> rescale_gold_to_judge_scale(np.array([1.0, 3.0, 5.0]), 1, 5).tolist()
    [0.0, 2.5, 5.0]
    """
    outside = (gold < low) | (gold > high)
    if outside.any():
        raise DataError(
            f"{int(outside.sum())} gold scores are outside their range",
            expected=f"{low:g} to {high:g}",
            found=f"{gold[outside][0]:g}",
            mend="Pass the range with --gold LOW-HIGH.",
        )
    return np.asarray(LOWEST + (HIGHEST - LOWEST) * (gold - low) / (high - low), dtype=np.float64)


def bin_by_gold_score(gold: Floats, edges: Sequence[float] = (1, 2, 3, 4)) -> list[ValueBin]:
    """Gold scores on 0 to 5 cut at the edges; an edge begins a bin, and 5 is in the last.

    >>> [(one.label, int(one.members.sum())) for one in bin_by_gold_score(np.array([0.0, 1.0, 1.5, 5.0]))]
    [('[0,1)', 1), ('[1,2)', 2), ('[2,3)', 0), ('[3,4)', 0), ('[4,5]', 1)]
    """
    ends = [f"{edge:g}" for edge in (LOWEST, *edges, HIGHEST)]
    labels = [f"[{a},{b}{']' if b == ends[-1] else ')'}" for a, b in pairwise(ends)]
    return _make_bins_from_labels_and_indices(labels, np.searchsorted(np.asarray(edges), gold, side="right"))


def bin_by_word_count(words: Floats, edges: Sequence[int] = (10, 20, 30, 50)) -> list[ValueBin]:
    """Mean word counts cut after the edges: a pair of 10.5 words on average is in `11-20`.

    >>> [(one.label, int(one.members.sum())) for one in bin_by_word_count(np.array([1.0, 10.0, 10.5, 99.0]))]
    [('1-10', 2), ('11-20', 1), ('21-30', 0), ('31-50', 0), ('over 50', 1)]
    """
    starts = [1, *(edge + 1 for edge in edges)]
    labels = [f"{a}-{b}" for a, b in zip(starts, edges, strict=False)] + [f"over {edges[-1]}"]
    return _make_bins_from_labels_and_indices(labels, np.searchsorted(np.asarray(edges), words, side="left"))


def average_words_per_pair(first: Sequence[str], second: Sequence[str]) -> Floats:
    """Mean number of words, between blanks, of the two texts of each pair, (n,)."""
    return np.array([(len(a.split()) + len(b.split())) / 2 for a, b in zip(first, second, strict=True)])


def _make_bins_from_labels_and_indices(labels: Sequence[str], places: NDArray[np.intp]) -> list[ValueBin]:
    return [ValueBin(label, np.asarray(places == place)) for place, label in enumerate(labels)]
