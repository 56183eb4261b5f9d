"""Where the judged documents of each query stand in a ranking: what all ranking measures need.

Ranking happens here and nowhere else, so every measure has the same rule for ties and missing documents.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress, count, repeat
from operator import methodcaller
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import DataError, UsageError

Gains = Mapping[str, float]
"""The judgements of one query: document id -> gain; more than 0 is relevant."""
Retrieved = Sequence[str] | Mapping[str, float]
"""What was found for one query: ids, best first, or id -> score."""
AllGains = Gains | Mapping[str, Gains]
AllRetrieved = Retrieved | Mapping[str, Retrieved]
"""Of one query, or of many by their ids."""
Values = float | NDArray[np.float64]
"""One value for one query; one per query, in the order of the judgements, for many."""


@dataclass(frozen=True)
class RelevantDocumentRanks:
    """Relevant documents at their ranks (1 = best), sorted by query, then rank; columns of one length."""

    query: NDArray[np.int64]
    rank: NDArray[np.int64]
    gain: NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """The documents with a gain of `queries` queries: as `found` by a ranking, and all of them in `ideal` order.

    A document is relevant from the gain `relevant` on, where that is None from any gain. `worthless` is the gain of a
    document that is worth nothing: gains above 0 on a scale that begins at 0, grades above 1 on one that begins at 1.
    `many` is false for the judgements of one query on their own.
    """

    queries: int
    found: RelevantDocumentRanks
    ideal: RelevantDocumentRanks
    many: bool = True
    relevant: float | None = None
    worthless: float = 0.0

    def answer(self, values: NDArray[np.float64]) -> Values:
        """`values`, one per query, in the shape of the question: a float for one query."""
        return values if self.many else float(values[0])


def judge(qrels: AllGains, retrieved: AllRetrieved) -> Judged:
    """Find the ranks of the relevant documents of one query, or of many (mappings from query ids).

    As in trec_eval, scores are ranked highest first, in single precision, and equal scores by document id, last
    in the alphabet first. Ids without scores are ranked as they come; of a repeated id the first counts.
    Unjudged documents and negative gains count as 0. Every judged query counts: one that was not retrieved has
    found nothing. A retrieved query without judgements is left out.

    Raises UsageError for a score that is NaN or a gain that is not finite.
    """
    many = is_mapping_by_query(qrels, retrieved)
    judgements: dict[str, Gains] = dict(qrels if many else {"": qrels})  # type: ignore[arg-type, dict-item]
    runs: Mapping[str, Retrieved] = retrieved if many else {"": retrieved}  # type: ignore[assignment, dict-item]
    names = list(judgements)
    sizes = np.fromiter(map(len, judgements.values()), np.int64, len(names))
    gain = join_number_columns(map(methodcaller("values"), judgements.values()), int(sizes.sum()))
    query = np.repeat(np.arange(len(names)), sizes)
    check_no_bad_entry_in_queries(np.isfinite(gain), "gain", names, query, "a finite number")
    relevant = gain > 0
    rank = find_document_ranks(
        judgements, [convert_ranks_to_scores(runs.get(name, ())) for name in names], query, relevant
    )
    return Judged(
        len(names),
        _sort_relevant_documents_by_rank(query, rank, gain, rank > 0),
        _rank_documents_by_gain(query[relevant], gain[relevant]),
        many,
    )


def judge_arrays(gains: ArrayLike, ideal: ArrayLike) -> Judged:
    """Find the ranks of relevant documents given as arrays.

    `gains` (q, k): the gain of what each query retrieved, best first, 0 for a document that is unjudged or
    absent. `ideal` (q, m): the gains of all judged documents of each query in any order, filled up with 0.
    Raises UsageError for shapes that do not fit or NaN.
    """
    reached, best = np.asarray(gains, dtype=np.float64), np.asarray(ideal, dtype=np.float64)
    if reached.ndim != 2 or best.ndim != 2 or len(reached) != len(best):
        raise UsageError(
            f"Gains of shape {reached.shape} do not match ideal gains of shape {best.shape}.",
            mend="Pass two matrices with one row per query.",
        )
    if np.isnan(reached).any() or np.isnan(best).any():
        raise UsageError("A gain is NaN.", mend="Use 0 for unjudged documents.")
    query, column = np.nonzero(reached > 0)
    positive = best > 0
    return Judged(
        len(reached),
        RelevantDocumentRanks(query, column + 1, reached[query, column]),
        _rank_documents_by_gain(np.nonzero(positive)[0], best[positive]),
    )


def check_cutoff(cutoff: int | None) -> None:
    """Raise UsageError for a cutoff below 1; None stands for the whole ranking."""
    if cutoff is not None and cutoff < 1:
        raise UsageError(f"The cutoff is {cutoff}, but it must be 1 or more.")


def check_option_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise UsageError for a `value` of the option `name` that is none of `allowed`."""
    if value not in allowed:
        raise UsageError(f"There is no {name} {value!r}.", mend=f"Use one of {', '.join(allowed)}.")


def count_up_within_sorted_groups(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number entries 1, 2, 3 ... within each run of equal values of the sorted array `group`.

    >>> count_up_within_sorted_groups(np.array([4, 4, 7, 7, 7])).tolist()
    [1, 2, 1, 2, 3]
    """
    # The search finds where each run begins.
    return np.arange(len(group)) - np.searchsorted(group, group) + 1


def is_mapping_by_query(qrels: Mapping[str, object], retrieved: object) -> bool:
    """Whether the mappings are of queries and not of documents; without any judgement, what was retrieved tells."""
    if qrels:
        return isinstance(next(iter(qrels.values())), Mapping)
    first = next(iter(retrieved.values()), None) if isinstance(retrieved, Mapping) else None
    return isinstance(first, Sequence | Mapping)


def rank_documents(ranking: Retrieved) -> list[str]:
    """The distinct ids of one ranking, best first; ties as in `judge`.

    >>> rank_documents({"a": 0.5, "b": 0.9, "c": 0.5}), rank_documents(["a", "b", "a"])
    (['b', 'c', 'a'], ['a', 'b'])
    """
    if not isinstance(ranking, Mapping):
        return list(convert_ranks_to_scores(ranking))
    return sorted(ranking, key=lambda document: (np.float32(ranking[document]), document), reverse=True)


def convert_ranks_to_scores(ranking: Retrieved) -> Mapping[str, float]:
    """Convert ids in order to falling scores; the first of equal ids stays."""
    if isinstance(ranking, Mapping):
        return ranking
    if isinstance(ranking, str):
        raise UsageError(
            f"The retrieved documents are a single text: {ranking!r}.",
            mend="Pass a list of document ids, or id -> score.",
        )
    scores = dict(zip(ranking, count(0, -1), strict=False))
    return scores if len(scores) == len(ranking) else dict(zip(dict.fromkeys(ranking), count(0, -1), strict=False))


def _sort_relevant_documents_by_rank(
    query: NDArray[np.int64], rank: NDArray[np.int64], gain: NDArray[np.float64], keep: NDArray[np.bool_]
) -> RelevantDocumentRanks:
    query, rank, gain = query[keep], rank[keep], gain[keep]
    order = np.lexsort((rank, query))
    return RelevantDocumentRanks(query[order], rank[order], gain[order])


def _rank_documents_by_gain(query: NDArray[np.int64], gain: NDArray[np.float64]) -> RelevantDocumentRanks:
    order = np.lexsort((-gain, query))
    return RelevantDocumentRanks(query, count_up_within_sorted_groups(query), gain[order])


Ints = NDArray[np.int64]
Scores = Mapping[str, float]

_COMPARISONS = 1 << 20


@dataclass(frozen=True)
class _TiedWantedDocuments:
    """Wanted documents that share their score: their queries, their positions among all that is wanted, and where
    the documents of that score begin and end in the sorted keys."""

    query: Ints
    document: Ints
    first: Ints
    end: Ints


def find_document_ranks(
    wanted: Mapping[str, Iterable[str]], runs: list[Scores], query: Ints, chosen: NDArray[np.bool_]
) -> Ints:
    """The rank (from 1) of every chosen document; 0 where it was not retrieved, and for the others.

    `wanted` has the documents of each query and `runs` its scores, in one order of queries; `query` and
    `chosen` have one entry per wanted document, all queries' in a row. Highest score first, scores compared
    in single precision, and equal ones by id, highest first. Raises UsageError for a score that is NaN.
    """
    sizes = np.fromiter(map(len, runs), np.int64, len(runs))
    owner = np.repeat(np.arange(len(runs)), sizes)
    scores = join_number_columns(map(methodcaller("values"), runs), len(owner))
    check_no_bad_entry_in_queries(~np.isnan(scores), "score", list(wanted), owner, "a number")
    looked_up = join_number_columns(map(_look_up_document_scores, wanted.values(), runs), len(query))
    ranked = np.flatnonzero(chosen & ~np.isnan(looked_up))
    keys, sought = (_build_score_sort_keys(owner, scores), _build_score_sort_keys(query[ranked], looked_up[ranked]))
    # The better ones are counted instead of ranking everything: one sorted array serves all queries.
    ordered = np.sort(keys)
    end = np.searchsorted(ordered, sought, side="right")
    rank = np.zeros(len(query), dtype=np.int64)
    rank[ranked] = np.cumsum(sizes)[query[ranked]] - end + 1
    # Its neighbour below has the same key: only then ids decide, which are slow to compare.
    tied = np.flatnonzero((end > 1) & (ordered[end - 2] == sought))
    if len(tied):
        wanted_at = ranked[tied]
        hits = _TiedWantedDocuments(query[wanted_at], wanted_at, np.searchsorted(ordered, sought[tied]), end[tied])
        rank[wanted_at] += _count_ties_with_greater_id(wanted.values(), runs, keys, hits)
    return rank


def join_number_columns(columns: Iterable[Iterable[float]], n: int) -> NDArray[np.float64]:
    """Join the `n` numbers of all columns in a row; UsageError for a word."""
    try:
        return np.fromiter(chain.from_iterable(columns), np.float64, n)
    except ValueError as error:
        raise UsageError(f"A gain, grade or score is not a number: {error}.", mend="Pass numbers.") from error


def check_no_bad_entry_in_queries(
    good: NDArray[np.bool_], what: str, names: list[str], query: Ints, expected: str
) -> None:
    """Raise UsageError where an entry is not good, naming the first query that has one."""
    bad = np.flatnonzero(~good)
    if len(bad):
        name = names[query[bad[0]]]
        where = f", the first for query {name!r}" if name else ""
        raise UsageError(
            f"{len(bad)} {what}{'s' if len(bad) > 1 else ''} cannot be used{where}.",
            mend=f"Every {what} must be {expected}.",
        )


def _look_up_document_scores(documents: Iterable[str], run: Scores) -> Iterable[float]:
    return map(run.get, documents, repeat(np.nan))


def _build_score_sort_keys(query: Ints, scores: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Integers that sort as (query, score in single precision)."""
    with np.errstate(over="ignore"):
        # Adding 0 turns -0 into 0, which compares equal but has other bits.
        bits = (scores.astype(np.float32) + np.float32(0)).view(np.uint32)
    negative = bits >> np.uint32(31) == 1
    # Bits of floats sort as whole numbers once those below 0 are reversed.
    ascending = np.where(negative, ~bits, bits | np.uint32(1 << 31))
    return query.astype(np.uint64) << np.uint64(32) | ascending


def _count_ties_with_greater_id(
    wanted: Iterable[Iterable[str]], runs: list[Scores], keys: NDArray[np.uint64], hits: _TiedWantedDocuments
) -> Ints:
    """How many documents of the same query and score have a greater id, for each of the hits.

    `keys` are those of all that was retrieved, in the order of `runs`. Only queries with a hit are looked at.
    """
    concerned = np.zeros(len(runs), dtype=bool)
    concerned[hits.query] = True
    sizes = np.fromiter(map(len, runs), np.int64, len(runs))
    # The same order as that of `first` and `end`: each hit's query and score are one stretch of it.
    order = np.argsort(keys[np.repeat(concerned, sizes)])
    ids = _flatten_to_object_array(compress(runs, concerned.tolist()))
    skipped = np.cumsum(np.where(concerned, 0, sizes))[hits.query]
    first, end = hits.first - skipped, hits.end - skipped
    documents = _flatten_to_object_array(wanted)[hits.document]
    counts = np.empty(len(first), dtype=np.int64)
    for block in _split_into_size_blocks(end - first):
        sizes = end[block] - first[block]
        which = np.repeat(np.arange(len(block)), sizes)
        # 0, 1, 2, ... within the stretch of each hit, one stretch after another.
        within = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        greater = ids[order[first[block][which] + within]] > documents[block][which]
        counts[block] = np.bincount(which[greater.astype(bool)], minlength=len(block))
    return counts


def _flatten_to_object_array(groups: Iterable[Iterable[str]]) -> NDArray[np.object_]:
    return np.fromiter(chain.from_iterable(groups), np.object_)


def _split_into_size_blocks(sizes: Ints) -> list[Ints]:
    """Split positions into blocks whose sizes sum up to about a million."""
    ends = np.cumsum(sizes)
    cuts = np.searchsorted(ends, np.arange(_COMPARISONS, ends[-1], _COMPARISONS))
    return np.split(np.arange(len(sizes)), np.unique(cuts))


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Weighting:
    """How grades become weights: w5 = 1, and w_g = min((b_g / b5) (n5 / n_g)^alpha, cap_g) for the others.

    `alpha` is how much rarity counts (0: not at all). `cap4` bounds the weight of grade 4 and `cap3` that of grade 3
    and below. `b4` to `b1` are base utilities, that of grade 5 being 1. Where a query has no document of grade 5 the
    weights are 1 for grade 4, `fallback_w3` for grade 3 and b_g / b4 below, without caps. `enforce_monotone` keeps a
    grade from weighing more than the one above it, which the formula allows.
    Source: Dallaire 2025, arXiv 2511.09545; the fallback and the caps as in its reference pipeline.
    """

    alpha: float = 1.0
    cap4: float = 1.0
    cap3: float = 0.25
    fallback_w3: float = 0.2
    enforce_monotone: bool = False
    b4: float = 0.5
    b3: float = 0.1
    b2: float = 0.0
    b1: float = 0.0

    def __post_init__(self) -> None:
        for name in ("alpha", "cap4", "cap3", "fallback_w3", "b4", "b3", "b2", "b1"):
            value = getattr(self, name)
            if not 0 <= value < np.inf:
                raise UsageError(f"{name} is {value}, but it must be a finite number of 0 or more.")


DEFAULT = Weighting()
_LARGEST = np.finfo(np.float64).max  # not infinite: a grade of no use stays at 0


def weights(counts: ArrayLike, weighting: Weighting = DEFAULT) -> Floats:
    """The weights of documents of grade 1 to 5, from counts (..., 5) of these grades in the graded pool: (..., 5).

    0 for a grade that the pool does not have, but where it has no grade 5 (`Weighting`).

    >>> weights([20, 14, 10, 4, 2]).round(6).tolist()
    [0.0, 0.0, 0.02, 0.25, 1.0]
    >>> weights([10, 9, 8, 3, 0]).tolist()
    [0.0, 0.0, 0.2, 1.0, 1.0]
    """
    n = np.asarray(counts, dtype=np.float64)
    base = np.array([weighting.b1, weighting.b2, weighting.b3, weighting.b4])
    caps = np.array([weighting.cap3, weighting.cap3, weighting.cap3, weighting.cap4])
    present = n[..., :4] > 0
    # The size of the pool cancels: (b_g / p_g^alpha) / (b5 / p5^alpha) = b_g (n5 / n_g)^alpha.
    with np.errstate(over="ignore"):
        rarity = (n[..., 4:] / np.where(present, n[..., :4], 1.0)) ** weighting.alpha
    rarity = np.minimum(rarity, _LARGEST)
    below = np.where(present, np.minimum(base * rarity, caps), 0.0)
    below = np.where(n[..., 4:] > 0, below, _compute_weights_without_grade_5(weighting))
    if weighting.enforce_monotone:
        # A grade that the pool does not have bounds nothing.
        bounds = np.where(present, below, np.inf)[..., ::-1]
        below = np.minimum(below, np.minimum.accumulate(bounds, axis=-1)[..., ::-1])
    return np.concatenate([below, np.ones_like(n[..., 4:])], axis=-1)


def find_pools_without_grade_5(counts: Ints) -> NDArray[np.bool_]:
    """Find the pools without a document of grade 5, whose weights differ: (..., 5) -> (...)."""
    return np.asarray(counts[..., 4] == 0)


def find_inverted_weights(counts: Ints, weighting: Weighting = DEFAULT) -> NDArray[np.bool_]:
    """Find where a document of a lower grade weighs more than one of a higher grade in the pool."""
    worth = np.where(np.asarray(counts) > 0, weights(counts, weighting), np.nan)
    highest_below = np.fmax.accumulate(worth, axis=-1)[..., :-1]
    return np.asarray((highest_below > worth[..., 1:] + 1e-9).any(axis=-1))


def sum_largest_weights(weight: Floats, counts: Ints, k: int) -> Floats:
    """The sum of the `k` largest weights, of weights (q, 5) and how many documents have them (q, 5): (q,).

    By weight, not by grade: a rare grade 3 may weigh more than a common grade 4.
    """
    # By weight and not by grade: caps and rarity may put a lower grade above a higher one.
    order = np.argsort(-weight, axis=1, kind="stable")
    worth, there = np.take_along_axis(weight, order, axis=1), np.take_along_axis(counts, order, axis=1)
    before = np.cumsum(there, axis=1) - there
    return np.asarray((np.clip(k - before, 0, there) * worth).sum(axis=1))


def _compute_weights_without_grade_5(weighting: Weighting) -> Floats:
    to_four = 1 / weighting.b4 if weighting.b4 else 0.0
    return np.array([weighting.b1 * to_four, weighting.b2 * to_four, weighting.fallback_w3, 1.0])


Grades = Mapping[str, int]
"""The graded pool of one query: document id -> grade from 1 (irrelevant) to 5 (answers clearly)."""
Pools = Grades | Mapping[str, Grades]
"""The graded pool of one query, or query id -> that of each of many."""
Unjudged = Literal["zero", "grade1", "condense", "error"]
"""What a document without a grade is: worth nothing, of grade 1, not there at all, or a mistake."""

GRADES = (1, 2, 3, 4, 5)
RELEVANT = 4
UNJUDGED = 0
ABSENT = -1
"""In `Graded.top`: a document without a grade, and a place beyond the end of the list."""


@dataclass(frozen=True)
class Graded:
    """What `q` queries retrieved, by grade.

    `counts` (q, 5): documents of grade 1, 2, 3, 4, 5 in each query's graded pool. `top` (q, w): the grade of what
    stands at each rank, repeated documents left out; `UNJUDGED` or `ABSENT` where there is none. `pool` (q, 5): how
    many of each grade the restricted pool holds that PROC is about; None stands for the whole of `top`. `sources`
    tells which documents are of one source (novelty), where that is known. `many` is false for one query on its own.
    `pool_sizes` (q,) counts the documents of the restricted pool, graded or not, and `repeated` (q,) those that a list
    named once more; None where nobody counted. `names` are those of the queries, for messages. `facets` tells which
    documents have which facets, where that is known.
    """

    counts: NDArray[np.int64]
    top: NDArray[np.int8]
    pool: NDArray[np.int64] | None = None
    sources: Sources | None = None
    many: bool = True
    pool_sizes: NDArray[np.int64] | None = None
    repeated: NDArray[np.int64] | None = None
    names: tuple[str, ...] = ()
    facets: FacetsOfQueryDocuments | None = None

    def __post_init__(self) -> None:
        shapes = [self.counts.shape, self.top.shape, *([] if self.pool is None else [self.pool.shape])]
        width = [shape[1:] for shape in (self.counts.shape, *shapes[2:])]
        if any(len(shape) != 2 for shape in shapes) or any(columns != (len(GRADES),) for columns in width):
            raise UsageError(
                f"Graded rankings cannot have arrays of shapes {', '.join(map(str, shapes))}.",
                mend="Pass counts (queries, 5), top (queries, ranks) and pool (queries, 5).",
            )
        if len({shape[0] for shape in shapes}) != 1:
            raise UsageError(
                f"The arrays of graded rankings have {' and '.join(str(shape[0]) for shape in shapes)} rows.",
                mend="Pass one row per query in each array.",
            )
        if self.top.size and not ABSENT <= self.top.min() <= self.top.max() <= GRADES[-1]:
            raise UsageError(
                f"The retrieved documents have grades from {self.top.min()} to {self.top.max()}.",
                mend="Use 1 to 5, 0 for a document without a grade, and -1 beyond the end of a list.",
            )

    def answer(self, values: Floats) -> Values:
        """`values`, one per query, in the shape of the question: a float for one query."""
        return values if self.many else float(values[0])


@dataclass(frozen=True)
class Sources:
    """Which source each document is of: codes of `top` (q, w); and the graded pool as columns of one length, sorted by
    query: `query`, `grade`, `code`."""

    top: NDArray[np.int64]
    query: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    grade: NDArray[np.int8] = field(default_factory=lambda: np.empty(0, np.int8))
    code: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(frozen=True)
class FacetsOfQueryDocuments:
    """Which facets documents have: codes of the documents of `top` (q, w), `ABSENT` beyond a list's end; and all that
    have any as columns of one length, sorted by query: `query`, `document`, `facet`."""

    top: NDArray[np.int64]
    query: NDArray[np.int64]
    document: NDArray[np.int64]
    facet: NDArray[np.int64]


def count_retrieved_grades(graded: Graded, k: int | None = None) -> Ints:
    """How many of the first `k` (None: of all) are of grade 1, 2, 3, 4, 5: (q, 5)."""
    check_cutoff(k)
    top = graded.top[:, :k]
    return np.stack([np.count_nonzero(top == grade, axis=1) for grade in GRADES], axis=1)


def count_retrieved_documents(graded: Graded, k: int | None = None) -> Ints:
    """How many distinct documents are among the first `k` (None: in all), graded or not: (q,)."""
    check_cutoff(k)
    return np.asarray(np.count_nonzero(graded.top[:, :k] != ABSENT, axis=1))


def count_pool_grades(graded: Graded) -> Ints:
    """Count the documents of each grade in the restricted pool, or in all that was retrieved."""
    return count_retrieved_grades(graded) if graded.pool is None else graded.pool


def pool_sizes(graded: Graded) -> Ints:
    """Documents in the restricted pool, with or without a grade where that is known: (q,)."""
    if graded.pool is None:
        return count_retrieved_documents(graded)
    return graded.pool.sum(axis=1) if graded.pool_sizes is None else graded.pool_sizes


def divide_where_positive(part: Floats | Ints, whole: Floats | Ints) -> Floats:
    """`part` over `whole`, (q,), NaN where `whole` is not above 0."""
    result = np.full(len(whole), np.nan)
    np.divide(part, whole, out=result, where=np.asarray(whole) > 0)
    return result


def treat_unjudged(graded: Graded, how: Unjudged, k: int | None = None) -> Graded:
    """`graded` with its unjudged documents treated as `how` says, for measures at the cutoff `k`.

    `zero` leaves them: worth nothing and no harm. `grade1` makes them irrelevant ones. `condense` takes them out, so
    that those behind move up. `error` raises DataError where one is among the first `k`.
    """
    check_option_choice("unjudged", how, get_args(Unjudged))
    if how == "zero":
        return graded
    unjudged = graded.top == UNJUDGED
    if how == "grade1":
        return replace(graded, top=np.where(unjudged, np.int8(1), graded.top))
    if how == "condense":
        return _drop_unjudged_documents(graded, unjudged)
    where = np.argwhere(unjudged[:, :k])
    if len(where):
        query, rank = where[0]
        name = repr(graded.names[query]) if graded.names else f"number {query + 1}"
        raise DataError(
            f"{len(where)} retrieved documents have no grade, the first at rank {rank + 1} of query {name}.",
            mend="Grade them, or use unjudged='zero', 'grade1' or 'condense'.",
        )
    return graded


def _drop_unjudged_documents(graded: Graded, unjudged: NDArray[np.bool_]) -> Graded:
    # Stable, so that what stays keeps its order.
    order = np.argsort(unjudged, axis=1, kind="stable")
    moved = np.take_along_axis(np.where(unjudged, np.int8(ABSENT), graded.top), order, axis=1)
    sources = graded.sources
    if sources is not None:
        sources = replace(sources, top=np.take_along_axis(sources.top, order, axis=1))
    facets = graded.facets
    if facets is not None:
        ranked = np.take_along_axis(np.where(unjudged, ABSENT, facets.top), order, axis=1)
        facets = replace(facets, top=ranked)
    return replace(graded, top=moved, sources=sources, facets=facets)


def convert_grades_to_gains(graded: Graded) -> Judged:
    """Convert graded documents to gains for the classic measures: gain = grade - 1."""
    query, column = np.nonzero(graded.top > 0)
    # The judged grades of each query, 5 to 1, each as often as it was given.
    falling = np.tile(np.array(GRADES[::-1], dtype=np.float64), len(graded.counts))
    counts = graded.counts[:, ::-1].ravel()
    owner = np.repeat(np.arange(len(graded.counts)), graded.counts.sum(axis=1))
    return Judged(
        len(graded.counts),
        RelevantDocumentRanks(query, column + 1, graded.top[query, column].astype(np.float64)),
        RelevantDocumentRanks(owner, count_up_within_sorted_groups(owner), np.repeat(falling, counts)),
        graded.many,
        relevant=RELEVANT,
        worthless=GRADES[0],
    )


Facet = Callable[[str], Hashable] | Mapping[str, Hashable] | Mapping[str, Mapping[str, Hashable]]
"""Which source or facet a document is of: a function of its id, id -> source, or query id -> id -> source."""


def grade(
    grades: Grades | Mapping[str, Grades],
    retrieved: AllRetrieved,
    pool: AllRetrieved | None = None,
    source: Facet | None = None,
) -> Graded:
    """Look up the grades of what one query retrieved, or each of many (mappings from query ids).

    `grades` are document id -> 1 to 5. `retrieved` and `pool`, the restricted pool of PROC, are ids, best
    first, or id -> score; ties and repeated ids as in `judge`. Every graded query counts; a retrieved query
    without grades is left out. `source` gives the source of a document, for the novelty variant.
    Raises UsageError for a grade that is none of 1 to 5 or a score that is NaN.

    >>> found = grade({"a": 5, "b": 4, "c": 1}, ["c", "x", "a"])
    >>> found.counts.tolist(), found.top.tolist()
    ([[1, 0, 0, 1, 1]], [[1, 0, 5]])
    """
    many = is_mapping_by_query(grades, retrieved)
    pools: Mapping[str, Grades] = grades if many else {"": grades}  # type: ignore[assignment, dict-item]
    names = list(pools)
    sizes = np.fromiter(map(len, pools.values()), np.int64, len(names))
    query = np.repeat(np.arange(len(names)), sizes)
    values = join_number_columns(map(methodcaller("values"), pools.values()), len(query))
    check_no_bad_entry_in_queries(
        np.isin(values, GRADES), "grade", names, query, "1, 2, 3, 4 or 5; map other scales first"
    )
    lists = _list_rankings_in_query_order(retrieved, names, many)
    runs = [convert_ranks_to_scores(ranking) for ranking in lists]
    top = _look_up_rank_grades(pools, runs, query, values)
    restricted = (
        None
        if pool is None
        else [convert_ranks_to_scores(ranking) for ranking in _list_rankings_in_query_order(pool, names, many)]
    )
    return Graded(
        _count_grades_by_query(query, values, len(names)),
        top,
        None if restricted is None else _count_grades_in_restricted_pools(pools, restricted, query, values),
        None if source is None else _number_document_sources(pools, runs, source, top.shape[1]),
        many,
        None if restricted is None else np.fromiter(map(len, restricted), np.int64, len(names)),
        np.array([len(ranking) - len(run) for ranking, run in zip(lists, runs, strict=True)], dtype=np.int64),
        tuple(names) if many else (),
    )


def _list_rankings_in_query_order(given: AllRetrieved, names: list[str], of_many: bool) -> list[Retrieved]:
    if not of_many:
        return [given]  # type: ignore[list-item]
    if not isinstance(given, Mapping):
        raise UsageError(
            "The grades are for many queries, but the retrieved documents are for one.",
            mend="Pass query id -> document ids or scores.",
        )
    return [given.get(name, ()) for name in names]  # type: ignore[misc]


def _look_up_rank_grades(
    pools: Mapping[str, Grades], runs: list[Scores], query: Ints, each: Floats
) -> NDArray[np.int8]:
    """The grade at each rank, (q, longest run)."""
    sizes = np.fromiter(map(len, runs), np.int64, len(runs))
    columns = np.arange(sizes.max(initial=0))
    top = np.where(columns < sizes[:, None], np.int8(UNJUDGED), np.int8(ABSENT))
    rank = find_document_ranks(pools, runs, query, np.ones(len(query), dtype=bool))
    hit = rank > 0
    top[query[hit], rank[hit] - 1] = each[hit]
    return top


def _count_grades_by_query(query: Ints, each: Floats, queries: int) -> Ints:
    cells = query * len(GRADES) + each.astype(np.int64) - 1
    return np.bincount(cells, minlength=queries * len(GRADES)).reshape(queries, len(GRADES))


def _count_grades_in_restricted_pools(
    pools: Mapping[str, Grades], restricted: list[Scores], query: Ints, each: Floats
) -> Ints:
    """Grades of the documents that the restricted pools hold, (q, 5)."""
    inside = np.fromiter(
        chain.from_iterable(
            map(pool.__contains__, grades) for grades, pool in zip(pools.values(), restricted, strict=True)
        ),
        dtype=bool,
        count=len(query),
    )
    return _count_grades_by_query(query[inside], each[inside], len(restricted))


def _number_document_sources(pools: Mapping[str, Grades], runs: list[Scores], source: Facet, width: int) -> Sources:
    """The source of each document as a number; only which are equal counts."""
    codes: dict[Hashable, int] = {}
    top = np.full((len(runs), width), ABSENT, dtype=np.int64)
    pool: list[int] = []
    for row, run, (query, grades) in zip(top, runs, pools.items(), strict=True):
        of = _make_document_source_getter(source, query)
        row[: len(run)] = [codes.setdefault(of(document), len(codes)) for document in rank_documents(run)]
        pool += [codes.setdefault(of(document), len(codes)) for document in grades]
    return Sources(
        top,
        np.repeat(np.arange(len(pools)), [len(grades) for grades in pools.values()]),
        np.array([value for grades in pools.values() for value in grades.values()], dtype=np.int8),
        np.array(pool, dtype=np.int64),
    )


def _make_document_source_getter(source: Facet, query: str) -> Callable[[str], Hashable]:
    """Make the function that gives the source of a document of this query by its id."""
    if not isinstance(source, Mapping):
        return source
    nested = isinstance(next(iter(source.values()), None), Mapping)
    known: Mapping[str, Hashable] = source.get(query, {}) if nested else source  # type: ignore[assignment]

    def find_source_of_document(document: str) -> Hashable:
        if document not in known:
            where = f" of query {query!r}" if nested else ""
            raise UsageError(f"The document {document!r}{where} has no source.", mend="Give every document a source.")
        return known[document]

    return find_source_of_document
