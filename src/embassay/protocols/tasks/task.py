"""What a PTEB task is: the texts that are paraphrased, the data with other wordings, the evaluation of both."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import starmap
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role, Similarity
from embassay.errors import UsageError
from embassay.measures.summary import resample_spearman
from embassay.protocols.kernel import inputs as context
from embassay.protocols.kernel.estimates import (
    MOST_LOST,
    Estimate,
    Items,
    Lost,
    make_undefined_score,
    sum_skipped_items_by_reason,
)
from embassay.protocols.kernel.forecast import (
    count_vector_dimensions,
    estimate_text_memory_bytes,
    estimate_token_bytes_of_texts,
    pairwise_distance_bytes,
    replicate_bytes,
    sum_memory_footprint,
    vector_bytes,
)
from embassay.protocols.kernel.request import MOST_RESAMPLES, STATISTICS, check_option_values, option
from embassay.records import (
    HeadlineComponent,
    LabelledTextPairs,
    LabelledTexts,
    LoadedDataset,
    RetrievalSet,
    Score,
    ScoredTextPairs,
    SkippedItems,
    TaskOutcome,
)
from embassay.runs.memory import WorkMemoryEstimate
from embassay.stats.resampling import count_draws_of_each_row, iterate_resample_row_blocks

if TYPE_CHECKING:
    from embassay.data import Dataset


@dataclass(frozen=True)
class PtebOptions:
    """Options of the seven tasks. `[An]` is the ambiguity of the paper each one settles (docs/pteb.md)."""

    languages: Literal["each", "pooled"] = option("each", "Average the languages' scores, or pool them.", point="A9")
    classification_texts: Literal["both", "test"] = option(
        "both", "Rewrite training and test texts, or only test texts."
    )
    summaries: Literal["pooled", "per-text"] = option(
        "pooled", "Correlate over all summaries, or average one correlation per text.", point="A10"
    )
    own_document: Literal["before", "after"] = option(
        "before", "Drop a query's own document before or after taking the top ten.", point="A8"
    )
    exclude_own: bool = option(False, "Leave out a query's own document in retrieval; always on for ArguAna.")
    normalize_punctuation: bool = option(
        False, "Remove spaces before closing punctuation in originals and paraphrases.", point="A19"
    )
    most_lost: float = option(
        MOST_LOST, "Give no score if more than this share of a task's texts have no usable rewrite."
    )
    neighbours: int = option(10, "Number of nearest neighbours for classifying without vectors.")
    clustering_cap: int = option(
        10_000, "Maximum number of texts to cluster without vectors; larger sets are sampled by label."
    )
    resamples: int = option(1_000, "Bootstrap resamples per interval.", most=MOST_RESAMPLES, group=STATISTICS)

    def __post_init__(self) -> None:
        check_option_values(self)
        if not 0 <= self.most_lost < 1:
            raise UsageError(f"most_lost is {self.most_lost}.", mend="Use a share of at least 0 and below 1.")

    def as_dict(self) -> dict[str, Any]:
        """Every option with its value, as saved in a manifest."""
        return asdict(self)


Wording = Callable[[str, str], str | None]
"""From a text's place and the text to its other wording; None where there is none. A place says which text of
which item it is, `first:ID`, `candidate:ID:3`; places of one dataset in one shape are distinct."""


@dataclass(frozen=True)
class OriginalAndParaphrasedData:
    """A dataset before and after paraphrasing, item by item the same: what has no other wording is in neither.

    `kept` and `items` count items (pairs, texts, queries ...); `lost` says what was left out, by kind.
    """

    original: Any
    paraphrased: Any
    kept: int
    items: int
    lost: tuple[SkippedItems, ...] = ()

    @property
    def has_nothing_left_out(self) -> bool:
        """Whether nothing was left out, so that `original` is all of the data."""
        return not self.lost


@dataclass(frozen=True)
class Task:
    """One task. A dataset joins when it has all columns of at least one of the `shapes`.

    `evaluate` gives an outcome whose headline row (measure = `headline`, no variant) has its component of that name
    with bootstrap replicates drawn per item (`context.stream`), so that two systems, or the same items in two wordings,
    are paired. `texts` are the (place, text) of every text that is paraphrased, in the order of the data;
    `reword` applies a wording to them, and `unworded` are the beginnings of the places whose texts keep their own words
    under these options. `own` says whether vectors are compared as their model was made for, and not by cosine.
    `vectors` says that an encoder's vectors are needed and another method stands in for systems that have
    none (design.md, similarity-only systems).
    """

    name: str
    title: str
    shapes: tuple[str, ...]
    headline: str
    evaluate: Callable[[Similarity, Any, PtebContext], TaskOutcome]
    load: Callable[[Dataset, int | None, int], LoadedDataset[Any]]
    texts: Callable[[Any], Iterator[tuple[str, str]]]
    reword: Callable[[Any, Wording], OriginalAndParaphrasedData]
    size: Callable[[Any], int] = len
    vectors: bool = False
    unworded: Callable[[PtebOptions], tuple[str, ...]] = lambda _: ()
    own: Callable[[PtebOptions], bool] = lambda _: False


T = TypeVar("T")
WITHOUT_WORDING = "that could not be rewritten"
_EXAMPLES = 5

Place = tuple[str, str]
"""A place and its text."""


def iterate_texts_with_item_places(kind: str, ids: Sequence[str], texts: Sequence[str]) -> Iterator[Place]:
    """List each text with its place `KIND:ID`."""
    return ((f"{kind}:{key}", text) for key, text in zip(ids, texts, strict=True))


def iterate_texts_with_numbered_places(
    kind: str, ids: Sequence[str], texts: Sequence[Sequence[str]]
) -> Iterator[Place]:
    """The place `KIND:ID:NUMBER` of each of the texts that an item has."""
    for key, group in zip(ids, texts, strict=True):
        yield from ((f"{kind}:{key}:{number}", text) for number, text in enumerate(group))


def make_numbered_text_ids(ids: Sequence[str], texts: Sequence[Sequence[str]]) -> list[str]:
    """`ID:NUMBER` of each of the texts that an item has."""
    return [f"{key}:{number}" for key, group in zip(ids, texts, strict=True) for number in range(len(group))]


def apply_wording_to_texts(place: Iterable[Place], wording: Wording) -> list[str | None]:
    """The other wording of every text."""
    return list(starmap(wording, place))


@dataclass(frozen=True)
class ItemTextsAndWordings:
    """The texts of every item, and their other wordings where they have one."""

    noun: str
    ids: Sequence[str]
    before: Sequence[Sequence[str]]
    after: Sequence[Sequence[str | None]]

    @classmethod
    def of(
        cls, kind: str, noun: str, ids: Sequence[str], texts: Sequence[Sequence[str]], wording: Wording
    ) -> ItemTextsAndWordings:
        """Collect the texts at the places `KIND:ID:NUMBER`, named `noun`, with their wordings."""
        said = [
            apply_wording_to_texts(iterate_texts_with_numbered_places(kind, (key,), (group,)), wording)
            for key, group in zip(ids, texts, strict=True)
        ]
        return cls(noun, ids, texts, said)

    @property
    def list_reworded_text_numbers_of_items(self) -> list[list[int]]:
        """The numbers of the texts of each item that have another wording."""
        return [[i for i, text in enumerate(group) if text is not None] for group in self.after]

    def lost(self) -> tuple[SkippedItems, ...]:
        """List the texts that were not paraphrased, as left out."""
        flat = [text for group in self.after for text in group]
        kept = [row for row, text in enumerate(flat) if text is not None]
        return list_rows_without_wording_as_skipped(self.noun, make_numbered_text_ids(self.ids, self.before), kept)


def list_pair_texts(data: Any) -> Iterator[Place]:
    """Both texts of every pair (`ids`, `first`, `second`)."""
    yield from iterate_texts_with_item_places("first", data.ids, data.first)
    yield from iterate_texts_with_item_places("second", data.ids, data.second)


def paraphrase_both_texts_of_pairs(data: Any, wording: Wording) -> OriginalAndParaphrasedData:
    """Pairs (`ids`, `first`, `second` and one array more) with both texts paraphrased; a pair needs both."""
    first = apply_wording_to_texts(iterate_texts_with_item_places("first", data.ids, data.first), wording)
    second = apply_wording_to_texts(iterate_texts_with_item_places("second", data.ids, data.second), wording)
    rows = [row for row, pair in enumerate(zip(first, second, strict=True)) if None not in pair]
    return make_paraphrased_data_of_rows(data, {"first": first, "second": second}, rows, "pairs")


def make_paraphrased_data_of_rows(
    data: Any, texts: dict[str, list[str | None]], rows: Sequence[int], noun: str
) -> OriginalAndParaphrasedData:
    """These rows of a record of columns, with `texts` in place of the columns so called."""
    whole = len(rows) == len(data)
    original = data if whole else select_rows_of_each_field(data, rows)
    columns = {name: tuple(column[row] for row in rows) for name, column in texts.items()}
    lost = list_rows_without_wording_as_skipped(noun, data.ids, rows)
    return OriginalAndParaphrasedData(original, replace(original, **columns), len(rows), len(data), lost)


def select_rows_of_each_field(data: Any, rows: Sequence[int]) -> Any:
    """Select these rows of a record whose fields are tuples or arrays of one length, or None."""
    return replace(data, **{name: _select_column_rows(column, rows) for name, column in vars(data).items()})


def list_rows_without_wording_as_skipped(
    noun: str, ids: Sequence[str], kept: Iterable[int]
) -> tuple[SkippedItems, ...]:
    """List the rows that are not kept, as left out for want of a wording."""
    return make_skipped_items_of_reason(f"{noun} {WITHOUT_WORDING}", ids, kept)


def make_skipped_items_of_reason(reason: str, ids: Sequence[str], kept: Iterable[int]) -> tuple[SkippedItems, ...]:
    """List the rows that are not kept, as left out for a reason; nothing where all are kept."""
    stays = set(kept)
    gone = [key for row, key in enumerate(ids) if row not in stays]
    return (SkippedItems(reason, len(gone), tuple(gone[:_EXAMPLES])),) if gone else ()


def _select_column_rows(column: Any, rows: Sequence[int]) -> Any:
    if isinstance(column, np.ndarray):
        return column[list(rows)]
    return None if column is None else tuple(column[row] for row in rows)


@dataclass(frozen=True)
class PtebContext(context.EvaluationContext):
    """The seed (of everything but paraphrasing), the run's tokenizer and the options; `dataset` names the random
    streams, and is followed by the language where a dataset has several."""

    options: PtebOptions = field(default_factory=PtebOptions)
    drawn_with: int | None = field(default=None, kw_only=True)
    """The seed of the bootstrap, where it is not `seed`: then classifiers and k-means alone follow that."""

    @property
    def resamples(self) -> int:
        "The number of bootstrap resamples per interval."
        return self.options.resamples

    def stream(self, purpose: str) -> np.random.Generator:
        """The random stream of the bootstrap, see `kernel.inputs.Context`."""
        if self.drawn_with in (None, self.seed):
            return super().stream(purpose)
        return replace(self, seed=self.drawn_with).stream(purpose)


_KEPT = 2
"""Vectors of the texts as they are are remembered beside those of a run's paraphrases."""


def estimate_dataset_part_memory(
    system: Similarity, data: Any, worded: Sequence[str], resamples: int
) -> WorkMemoryEstimate:
    """The estimate for one system on one part of a dataset, of which `worded` are the texts that are reworded."""
    corpus: Sequence[str] = data.corpus.texts if isinstance(data, RetrievalSet) else ()
    n, dim = len(worded) + len(corpus), count_vector_dimensions(system)
    parts = {
        "texts": 3 * estimate_text_memory_bytes(worded) + estimate_text_memory_bytes(corpus),
        "replicates": replicate_bytes(len(worded), 8, resamples),
    }
    if dim:
        parts["vectors"] = _KEPT * vector_bytes(n, dim)
    else:
        parts["tokens"] = 2 * (estimate_token_bytes_of_texts(worded) + estimate_token_bytes_of_texts(corpus))
        if isinstance(data, LabelledTexts):
            largest = max(Counter(data.sets).values(), default=0)
            parts[f"the distances of {largest:,} texts"] = pairwise_distance_bytes(largest)
    return sum_memory_footprint(parts, "Use fewer items (--limit).")


DECIMALS = 6
"""Similarities are rounded before they are ranked, so that float noise decides nothing."""


@runtime_checkable
class VectorSimilarity(Protocol):
    """A similarity that has vectors: `systems.cosine.Cosine`, and what stands in for it."""

    def vectors(self, texts: Sequence[str], role: Role | None = None) -> NDArray[np.float32]:
        """The texts' vectors, (n, dim)."""
        ...

    def compare_indexed_pairs(
        self, texts: Sequence[str], left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Similarity of `texts[left[i]]` and `texts[right[i]]`, (n,)."""
        ...


def measure_pair_similarity(system: Similarity, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
    """Similarity of `first[i]` and `second[i]`, (n,), to 1e-6; NaN where a text could not be encoded.

    One call, so one batch to metrics that compare within a batch; an encoder sees every distinct text once.
    """
    if not isinstance(system, VectorSimilarity):
        return _round_similarity(system.pairs(first, second))
    place = {text: row for row, text in enumerate(dict.fromkeys((*first, *second)))}
    left, right = (np.array([place[text] for text in side], dtype=np.int64) for side in (first, second))
    return _round_similarity(system.compare_indexed_pairs(list(place), left, right))


def make_pair_similarities_and_items(
    system: Similarity, data: LabelledTextPairs | ScoredTextPairs, gold: NDArray[Any], name: str = "gold"
) -> tuple[NDArray[np.float64], Lost, Items]:
    """The similarity of each pair, (n,), the pairs that were lost, and the items: `similarity` and what people say."""
    similar = measure_pair_similarity(system, data.first, data.second)
    lost, items = Lost(system, data.ids, "pairs"), Items()
    lost.note_items_with_undefined_similarity(similar, data.first, data.second)
    items.add(data.ids, similar, "similarity")
    items.add(data.ids, gold, name)
    return similar, lost, items


def measure_highest_anchor_similarity(
    system: Similarity, anchors: Sequence[Sequence[str]], texts: Sequence[Sequence[str]]
) -> list[NDArray[np.float64]]:
    """Of every item, each text's highest similarity to any of the item's anchors, (texts,); NaN where the text, or
    all of the anchors, could not be encoded."""
    first = [anchor for group, others in zip(anchors, texts, strict=True) for anchor in group for _ in others]
    second = [text for group, others in zip(anchors, texts, strict=True) for _ in group for text in others]
    sizes = [(len(group), len(others)) for group, others in zip(anchors, texts, strict=True)]
    cuts = np.cumsum([rows * columns for rows, columns in sizes], dtype=np.int64)
    parts = np.split(measure_pair_similarity(system, first, second), cuts)[:-1]
    # fmax, and not max: an anchor that was lost leaves the others.
    return [np.fmax.reduce(part.reshape(size), axis=0) for part, size in zip(parts, sizes, strict=True)]


def _round_similarity(values: NDArray[np.float32]) -> NDArray[np.float64]:
    # Zero has one sign, and equal values compare equal.
    return np.asarray(np.round(values.astype(np.float64), DECIMALS) + 0.0)


NOT_ENCODED = "texts that could not be encoded in the original or rewritten form"


def drop_failed_texts_from_paraphrases(
    task: Task, both: OriginalAndParaphrasedData, failures: Collection[str]
) -> OriginalAndParaphrasedData:
    """`both` without the texts of which one wording is among `failures` (the texts that a system could not encode), and
    without what they take along; `both` itself where there are none."""
    after, before = dict(task.texts(both.paraphrased)), dict(task.texts(both.original))
    gone = [place for place, text in before.items() if text in failures or after[place] in failures]
    if not gone:
        return both
    without = set(gone)
    rest = task.reword(both.original, lambda place, _: None if place in without else after[place])
    taken = tuple(left for left in rest.lost if not left.reason.endswith(WITHOUT_WORDING))
    lost = (*both.lost, SkippedItems(NOT_ENCODED, len(gone), tuple(gone[:5])), *taken)
    return replace(rest, items=both.items, lost=lost)


_LEAST = {"spearman": -1.0, "pearson": -1.0, "skill": -math.inf}
"""The least that a headline can be where that is not 0: probabilities may be worse than the base rate."""


def find_headline_bounds(measure: str) -> tuple[float, float]:
    """Give the bounds of a task's headline: a correlation from -1, a share from 0."""
    return _LEAST.get(measure, 0.0), 1.0


def make_task_outcome(
    headline: str,
    estimate: Estimate | str,
    items: Items,
    *,
    n: int,
    scores: Iterable[Score] = (),
    skipped: Iterable[SkippedItems] = (),
    warnings: Iterable[str] = (),
    counts: Mapping[str, int],
) -> TaskOutcome:
    """The outcome whose headline is `found`, or has no value for the reason that `found` is. `n` counts the items."""
    left_out, noted = sum_skipped_items_by_reason(skipped), tuple(warnings)
    if isinstance(estimate, str):
        row = make_undefined_score(headline, n, estimate)
        component = HeadlineComponent(None, n, reason=estimate)
    else:
        row = replace(estimate.score(headline, bounds=find_headline_bounds(headline)), n=n)
        units = estimate.n if estimate.units is None else estimate.units
        component = replace(estimate.component(), n=n, units=None if units == n else units)
    return TaskOutcome((row, *scores), {headline: component}, items.columns, left_out, noted, counts)


_DRAWS = 1 << 18

OfCounts = Callable[[NDArray[np.int64]], NDArray[np.float64]]


@dataclass(frozen=True)
class TaskReplicates:
    """Replicates, (resamples,), and how many units with an item that counts were drawn."""

    replicates: NDArray[np.float64]
    units: int


def resample_statistic(
    statistic: OfCounts,
    context: context.EvaluationContext,
    purpose: str,
    *,
    lost: NDArray[np.bool_],
    groups: NDArray[np.int64] | None = None,
) -> TaskReplicates:
    """`statistic` (counts (b, n) -> (b,)) on each of the run's resamples of the n items, or of `groups` of them (n,).

    Lost items are drawn like the others, so that systems that lost different ones stay paired, and then count 0.
    No replicates, for no interval, where there are fewer than two units.
    """
    of_item = np.arange(len(lost)) if groups is None else groups
    units, many = len(set(of_item[~lost].tolist())), int(of_item.max(initial=-1)) + 1
    if units < 2:
        return TaskReplicates(np.empty(0), units)
    parts = []
    for rows in iterate_resample_row_blocks(many, context.resamples, context.stream(purpose), most=_DRAWS // len(lost)):
        counts = count_draws_of_each_row(rows) if groups is None else count_draws_of_each_row(rows)[:, groups]
        counts[:, lost] = 0
        parts.append(statistic(counts))
    return TaskReplicates(np.concatenate(parts), units)


def estimate_correlation(
    similar: NDArray[np.float64],
    gold: NDArray[np.float64],
    context: context.EvaluationContext,
    purpose: str,
    *,
    groups: NDArray[np.int64] | None = None,
    method: str,
) -> Estimate | str:
    """Spearman's correlation of `similar` and `gold`, (n,); the reason where it is not defined.

    Items whose `similar` is NaN are lost. `groups` (n,) are the items that are drawn together, 0 .. m - 1.
    """
    lost = np.isnan(similar)
    kept = ~lost
    if kept.sum() < 2:
        return f"only {int(kept.sum())} left, too few for a correlation"
    for name, values in (("similarity", similar[kept]), ("human score", gold[kept])):
        if (values == values[0]).all():
            return f"the {name} does not vary"

    def resample_spearman_by_counts(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        return resample_spearman(similar, gold, counts)

    value = float(resample_spearman_by_counts(kept[None, :].astype(np.int64))[0])
    draws = resample_statistic(resample_spearman_by_counts, context, purpose, lost=lost, groups=groups)
    return Estimate(value, int(kept.sum()), draws.replicates, method, units=draws.units)
