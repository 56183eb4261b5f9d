"""Where the judged documents of each query stand in a ranking: what all ranking measures need.

Ranking happens here and nowhere else, so every measure has the same rule for ties and missing documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, count, repeat
from operator import methodcaller

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError

Gains = Mapping[str, float]
"""The judgements of one query: document id -> gain; more than 0 is relevant."""
Retrieved = Sequence[str] | Mapping[str, float]
"""What was found for one query: ids, best first, or id -> score."""
Values = float | NDArray[np.float64]
"""One value for one query; one per query, in the order of the judgements, for many."""


@dataclass(frozen=True)
class Places:
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
    found: Places
    ideal: Places
    many: bool = True
    relevant: float | None = None
    worthless: float = 0.0

    def answer(self, values: NDArray[np.float64]) -> Values:
        """`values`, one per query, in the shape of the question: a float for one query."""
        return values if self.many else float(values[0])


def judge(qrels: Gains | Mapping[str, Gains], retrieved: Retrieved | Mapping[str, Retrieved]) -> Judged:
    """Place the relevant documents of one query, or of many (query id -> what one query takes).

    As in trec_eval, scores are ranked highest first, in single precision, and equal scores by document id, last
    in the alphabet first. Ids without scores are ranked as they come; of a repeated id the first counts.
    Unjudged documents and negative gains count as 0. Every judged query counts: one that was not retrieved has
    found nothing. A retrieved query without judgements is left out.

    Raises UsageError for a score that is NaN or a gain that is not finite.
    """
    many = are_many(qrels, retrieved)
    judgements: dict[str, Gains] = dict(qrels if many else {"": qrels})  # type: ignore[arg-type, dict-item]
    runs: Mapping[str, Retrieved] = retrieved if many else {"": retrieved}  # type: ignore[assignment, dict-item]
    names = list(judgements)
    sizes = np.fromiter(map(len, judgements.values()), np.int64, len(names))
    gain = numbers(map(methodcaller("values"), judgements.values()), int(sizes.sum()))
    query = np.repeat(np.arange(len(names)), sizes)
    check_each(np.isfinite(gain), "gain", names, query, "a finite number")
    relevant = gain > 0
    rank = find_ranks(judgements, [scored(runs.get(name, ())) for name in names], query, relevant)
    return Judged(
        len(names),
        _places(query, rank, gain, rank > 0),
        _in_best_order(query[relevant], gain[relevant]),
        many,
    )


def judge_arrays(gains: ArrayLike, ideal: ArrayLike) -> Judged:
    """Place relevant documents given as arrays.

    `gains` (q, k): the gain of what each query retrieved, best first, 0 for a document that is unjudged or
    absent. `ideal` (q, m): the gains of all judged documents of each query in any order, filled up with 0.
    Raises UsageError for shapes that do not fit or NaN.
    """
    found, best = np.asarray(gains, dtype=np.float64), np.asarray(ideal, dtype=np.float64)
    if found.ndim != 2 or best.ndim != 2 or len(found) != len(best):
        raise UsageError(
            f"Gains of shape {found.shape} do not go with ideal gains of shape {best.shape}.",
            mend="Give two matrices with one row per query.",
        )
    if np.isnan(found).any() or np.isnan(best).any():
        raise UsageError("A gain is NaN.", mend="Give 0 to unjudged documents.")
    query, column = np.nonzero(found > 0)
    positive = best > 0
    return Judged(
        len(found),
        Places(query, column + 1, found[query, column]),
        _in_best_order(np.nonzero(positive)[0], best[positive]),
    )


def check_cutoff(cutoff: int | None) -> None:
    """Raise UsageError for a cutoff below 1; None stands for the whole ranking."""
    if cutoff is not None and cutoff < 1:
        raise UsageError(f"The cutoff is {cutoff}.", mend="It must be 1 or more.")


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise UsageError for a `value` of the option `name` that is none of `allowed`."""
    if value not in allowed:
        raise UsageError(f"There is no {name} {value!r}.", mend=f"Use one of {', '.join(allowed)}.")


def order_in_group(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """1, 2, 3 ... within each run of equal values of the sorted array `group`.

    >>> order_in_group(np.array([4, 4, 7, 7, 7])).tolist()
    [1, 2, 1, 2, 3]
    """
    return np.arange(len(group)) - np.searchsorted(group, group) + 1


def are_many(qrels: Mapping[str, object], retrieved: object) -> bool:
    """Whether the mappings are of queries and not of documents; without any judgement, what was retrieved tells."""
    if qrels:
        return isinstance(next(iter(qrels.values())), Mapping)
    first = next(iter(retrieved.values()), None) if isinstance(retrieved, Mapping) else None
    return isinstance(first, Sequence | Mapping)


def in_order(ranking: Retrieved) -> list[str]:
    """The distinct ids of one ranking, best first; ties as in `judge`.

    >>> in_order({"a": 0.5, "b": 0.9, "c": 0.5}), in_order(["a", "b", "a"])
    (['b', 'c', 'a'], ['a', 'b'])
    """
    if not isinstance(ranking, Mapping):
        return list(scored(ranking))
    return sorted(ranking, key=lambda one: (np.float32(ranking[one]), one), reverse=True)


def scored(ranking: Retrieved) -> Mapping[str, float]:
    """Ids in order become falling scores; the first of equal ids stays."""
    if isinstance(ranking, Mapping):
        return ranking
    if isinstance(ranking, str):
        raise UsageError(
            f"What was retrieved is the text {ranking!r}.",
            mend="Give a list of document ids, or id -> score.",
        )
    scores = dict(zip(ranking, count(0, -1), strict=False))
    return (
        scores
        if len(scores) == len(ranking)
        else dict(zip(dict.fromkeys(ranking), count(0, -1), strict=False))
    )


def _places(
    query: NDArray[np.int64], rank: NDArray[np.int64], gain: NDArray[np.float64], keep: NDArray[np.bool_]
) -> Places:
    query, rank, gain = query[keep], rank[keep], gain[keep]
    order = np.lexsort((rank, query))
    return Places(query[order], rank[order], gain[order])


def _in_best_order(query: NDArray[np.int64], gain: NDArray[np.float64]) -> Places:
    order = np.lexsort((-gain, query))
    return Places(query, order_in_group(query), gain[order])


Ints = NDArray[np.int64]
Scores = Mapping[str, float]

_COMPARISONS = 1 << 20


@dataclass(frozen=True)
class _Hits:
    """Wanted documents that share their score: their queries, their positions among all that is wanted, and where
    the documents of that score begin and end in the sorted keys."""

    query: Ints
    document: Ints
    first: Ints
    end: Ints


def find_ranks(
    wanted: Mapping[str, Iterable[str]], runs: list[Scores], query: Ints, chosen: NDArray[np.bool_]
) -> Ints:
    """The rank (from 1) of every chosen document; 0 where it was not retrieved, and for the others.

    `wanted` has the documents of each query and `runs` its scores, in one order of queries; `query` and
    `chosen` have one entry per wanted document, all queries' in a row. Highest score first, scores compared
    in single precision, and equal ones by id, highest first. Raises UsageError for a score that is NaN.
    """
    sizes = np.fromiter(map(len, runs), np.int64, len(runs))
    owner = np.repeat(np.arange(len(runs)), sizes)
    scores = numbers(map(methodcaller("values"), runs), len(owner))
    check_each(~np.isnan(scores), "score", list(wanted), owner, "a number")
    looked_up = numbers(map(_scores_of, wanted.values(), runs), len(query))
    found = np.flatnonzero(chosen & ~np.isnan(looked_up))
    keys, sought = _keys(owner, scores), _keys(query[found], looked_up[found])
    # The better ones are counted instead of ranking everything: one sorted array serves all queries.
    ordered = np.sort(keys)
    end = np.searchsorted(ordered, sought, side="right")
    rank = np.zeros(len(query), dtype=np.int64)
    rank[found] = np.cumsum(sizes)[query[found]] - end + 1
    tied = np.flatnonzero((end > 1) & (ordered[end - 2] == sought))
    if len(tied):
        at = found[tied]
        hits = _Hits(query[at], at, np.searchsorted(ordered, sought[tied]), end[tied])
        rank[at] += _better_ties(wanted.values(), runs, keys, hits)
    return rank


def numbers(columns: Iterable[Iterable[float]], n: int) -> NDArray[np.float64]:
    """The `n` numbers of all columns in a row. Raises UsageError for a word."""
    try:
        return np.fromiter(chain.from_iterable(columns), np.float64, n)
    except ValueError as error:
        raise UsageError(f"A gain, grade or score is not a number: {error}.", mend="Give numbers.") from error


def check_each(good: NDArray[np.bool_], what: str, names: list[str], query: Ints, expected: str) -> None:
    """Raise UsageError where an entry is not good, naming the first query that has one."""
    bad = np.flatnonzero(~good)
    if len(bad):
        name = names[query[bad[0]]]
        where = f" of query {name!r}" if name else ""
        raise UsageError(
            f"{len(bad)} {what}{'s' if len(bad) > 1 else ''} cannot be used, the first{where}.",
            mend=f"Every {what} must be {expected}.",
        )


def _scores_of(documents: Iterable[str], run: Scores) -> Iterable[float]:
    return map(run.get, documents, repeat(np.nan))


def _keys(query: Ints, scores: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Integers that sort as (query, score in single precision)."""
    with np.errstate(over="ignore"):
        # Adding 0 turns -0 into 0, which compares equal but has other bits.
        bits = (scores.astype(np.float32) + np.float32(0)).view(np.uint32)
    negative = bits >> np.uint32(31) == 1
    ascending = np.where(negative, ~bits, bits | np.uint32(1 << 31))
    return query.astype(np.uint64) << np.uint64(32) | ascending


def _better_ties(
    wanted: Iterable[Iterable[str]], runs: list[Scores], keys: NDArray[np.uint64], hits: _Hits
) -> Ints:
    """How many documents of the same query and score have a greater id, for each of the hits.

    `keys` are those of all that was retrieved, in the order of `runs`. Only queries with a hit are looked at.
    """
    concerned = np.zeros(len(runs), dtype=bool)
    concerned[hits.query] = True
    sizes = np.fromiter(map(len, runs), np.int64, len(runs))
    order = np.argsort(keys[np.repeat(concerned, sizes)])
    ids = _objects(compress(runs, concerned.tolist()))
    skipped = np.cumsum(np.where(concerned, 0, sizes))[hits.query]
    first, end = hits.first - skipped, hits.end - skipped
    documents = _objects(wanted)[hits.document]
    counts = np.empty(len(first), dtype=np.int64)
    for block in _blocks(end - first):
        sizes = end[block] - first[block]
        which = np.repeat(np.arange(len(block)), sizes)
        within = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        greater = ids[order[first[block][which] + within]] > documents[block][which]
        counts[block] = np.bincount(which[greater.astype(bool)], minlength=len(block))
    return counts


def _objects(groups: Iterable[Iterable[str]]) -> NDArray[np.object_]:
    return np.fromiter(chain.from_iterable(groups), np.object_)


def _blocks(sizes: Ints) -> list[Ints]:
    """Positions of `sizes` in runs whose sizes sum up to about a million."""
    ends = np.cumsum(sizes)
    cuts = np.searchsorted(ends, np.arange(_COMPARISONS, ends[-1], _COMPARISONS))
    return np.split(np.arange(len(sizes)), np.unique(cuts))
