"""The ranks of chosen documents in scored rankings, many queries at once, by trec_eval's rule for ties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, compress, repeat
from operator import methodcaller

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError

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
