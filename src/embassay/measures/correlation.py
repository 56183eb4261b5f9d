"""How alike two things are: series that move together, rankings by what they share, a text and its rewording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.measures.judgements import (
    AllRetrieved,
    Retrieved,
    Values,
    check_cutoff,
    check_option_choice,
    rank_documents,
)
from embassay.measures.registry import measure


@measure(
    "Pearson",
    direction="higher",
    range="[-1, 1]",
    needs="numbers, numbers",
    undefined="either side is constant, or there are fewer than 2 items",
    source="Pearson 1895; SAGE table 3",
)
def pearson(x: ArrayLike, y: ArrayLike) -> Values:
    """Pearson's product-moment correlation of `x` and `y` over their last axis.

    Shapes (n,) give a float; (..., n) give an array (...). Range -1 to 1, higher is better. NaN where either
    side is constant or n is below 2. Source: SAGE table 3.
    Raises UsageError for shapes that differ or values that are not finite.

    >>> round(pearson([1, 2, 3], [1, 2, 4]), 4)
    0.982
    """
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if left.shape != right.shape or not left.ndim:
        raise UsageError(
            f"Series of shapes {left.shape} and {right.shape} cannot be correlated.",
            mend="Pass two of the same shape, with one number per item.",
        )
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise UsageError(
            "A value to correlate is not finite.", mend="Remove undefined items from both sides, and count them."
        )
    if left.shape[-1] < 2:
        values = np.full(left.shape[:-1], np.nan)
    else:
        left, right = _centre_and_scale_to_unit_length(left), _centre_and_scale_to_unit_length(right)
        constant = ~(left.any(axis=-1) & right.any(axis=-1))
        # Rounding can take a correlation just beyond 1.
        values = np.where(constant, np.nan, np.clip((left * right).sum(axis=-1), -1.0, 1.0))
    return float(values) if left.ndim == 1 else values


@measure(
    "Spearman",
    direction="higher",
    range="[-1, 1]",
    needs="numbers, numbers",
    undefined="either side is constant, or there are fewer than 2 items",
    source="Spearman 1904; used for STS tasks in MTEB and PTEB",
)
def spearman(x: ArrayLike, y: ArrayLike) -> Values:
    """Spearman's rank correlation of `x` and `y` over their last axis, which is Pearson's correlation of their ranks.

    Shapes (n,) give a float; (..., n) give an array (...). Equal values get the mean of their ranks. Range -1
    to 1, higher is better. NaN where either side is constant or n is below 2. Source: Spearman 1904, with
    ties as in scipy.stats.spearmanr, which MTEB uses.
    Raises UsageError for shapes that differ or values that are not finite.

    >>> round(spearman([1, 2, 3, 3], [10, 30, 20, 40]), 4)
    0.6325
    """
    from scipy.stats import rankdata

    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    ordered = left.ndim and right.ndim and np.isfinite(left).all() and np.isfinite(right).all()
    # What cannot be ranked is refused by `pearson`, in the same words.
    return pearson(rankdata(left, axis=-1), rankdata(right, axis=-1)) if ordered else pearson(left, right)


def _centre_and_scale_to_unit_length(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre the values and scale them to length 1; all 0 where constant."""
    low, high = values.min(axis=-1, keepdims=True), values.max(axis=-1, keepdims=True)
    # Scaled to 0..1 first: squares of very large or very small values would leave the range of a float.
    scaled = np.divide(values - low, high - low, out=np.zeros_like(values), where=high > low)
    centred = scaled - scaled.mean(axis=-1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=-1, keepdims=True))
    result = np.zeros_like(values)
    np.divide(centred, length, out=result, where=high > low)
    return result


Items = Literal["common", "union"]
Floats = NDArray[np.float64]

_COMPARISONS = 1 << 22
# Items above which rows are taken one by one, in n log n: pairs grow with the square.
_WIDE = 80


def overlap(a: AllRetrieved, b: AllRetrieved, k: int) -> Values:
    """The share of documents that the first `k` of two rankings have in common: |A and B| / k.

    Rankings are ids, best first, or id -> score, of one query or, as mappings from query ids, of many: one
    value, or one per query of `a`. Range 0 to 1; short lists cannot reach 1, and a query that `b` lacks has 0.
    Source: Webber et al. 2010; spec rag 1.9.

    >>> overlap(["d1", "d2", "d3", "d4", "d5"], ["d2", "d1", "d3", "d6", "d4"], 5)
    0.8
    """
    firsts, seconds, many = _list_top_ids_of_both_rankings(a, b, k)
    shared = [len(set(first) & set(second)) for first, second in zip(firsts, seconds, strict=True)]
    values = np.array(shared, dtype=np.float64) / k
    return values if many else float(values[0])


def list_tau(a: AllRetrieved, b: AllRetrieved, k: int, items: Items = "common") -> Values:
    """Kendall's tau-b between the first `k` of two rankings.

    `common` compares the items that both have, `union` all: an item that one list lacks stands at rank k + 1 there.
    Arguments as for `overlap`. Range -1 to 1. NaN with fewer than 2 items, and where all items of one side share a
    rank. Source: Kendall 1945; spec rag 1.9.

    >>> a, b = ["d1", "d2", "d3", "d4", "d5"], ["d2", "d1", "d3", "d6", "d4"]
    >>> round(list_tau(a, b, 5), 6), round(list_tau(a, b, 5, "union"), 6)
    (0.666667, 0.6)
    """
    check_option_choice("items", items, get_args(Items))
    firsts, seconds, many = _list_top_ids_of_both_rankings(a, b, k)
    left, right = _rank_common_items_in_both_lists(firsts, seconds, k, items)
    values = compute_kendall_tau_b(left, right)
    return values if many else float(values[0])


def compute_kendall_tau_b(x: Floats, y: Floats) -> Floats:
    """Kendall's tau-b of `x` and `y` over their last axis, (q, n) -> (q,), where NaN on either side leaves an item
    out."""
    if x.shape[-1] > _WIDE:
        return np.array(list(starmap(_compute_tau_b_by_sorting, zip(x, y, strict=True))))
    first, second = np.triu_indices(x.shape[-1], 1)
    # So many rows at a time that their comparisons fit in memory.
    step = max(1, _COMPARISONS // max(1, len(first)))
    parts = [
        _compute_tau_b_by_pairs(x[start : start + step], y[start : start + step], first, second)
        for start in range(0, len(x), step)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def _compute_tau_b_by_pairs(x: Floats, y: Floats, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
    left, right = (np.sign(side[:, first] - side[:, second]) for side in (x, y))
    # A pair counts on both sides or on neither: the sizes below must be of the same pairs.
    left, right = np.where(np.isnan(right), np.nan, left), np.where(np.isnan(left), np.nan, right)
    sizes = np.sqrt(np.nansum(left**2, axis=1) * np.nansum(right**2, axis=1))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(left * right, axis=1) / sizes)


def _compute_tau_b_by_sorting(x: Floats, y: Floats) -> float:
    """Compute Kendall's tau-b of one pair of rows by sorting, in n log n."""
    from scipy.stats import kendalltau

    defined = ~(np.isnan(x) | np.isnan(y))
    return float(kendalltau(x[defined], y[defined]).statistic) if defined.sum() > 1 else float("nan")


def _list_top_ids_of_both_rankings(
    a: AllRetrieved, b: AllRetrieved, k: int
) -> tuple[list[list[str]], list[list[str]], bool]:
    """The first `k` distinct ids of each query on both sides, and whether they are of many queries."""
    check_cutoff(k)
    many = [_is_ranking_by_query(ranking) for ranking in (a, b)]
    if True in many and False in many:
        raise UsageError("One ranking is for one query, the other for many.", mend="Use one form for both.")
    if True not in many:
        return [rank_documents(a)[:k]], [rank_documents(b)[:k]], False  # type: ignore[arg-type]
    firsts: Mapping[str, Retrieved] = a  # type: ignore[assignment]
    seconds: Mapping[str, Retrieved] = b  # type: ignore[assignment]
    return (
        [rank_documents(ranking)[:k] for ranking in firsts.values()],
        [rank_documents(seconds.get(query, ()))[:k] for query in firsts],
        True,
    )


def _is_ranking_by_query(ranking: AllRetrieved) -> bool | None:
    """Whether a ranking is of many queries; None for an empty mapping."""
    if not isinstance(ranking, Mapping):
        return False
    first = next(iter(ranking.values()), None)
    return None if first is None else not isinstance(first, int | float | np.number)


def _rank_common_items_in_both_lists(
    firsts: list[list[str]], seconds: list[list[str]], k: int, items: Items
) -> tuple[Floats, Floats]:
    """Ranks of the compared items on both sides, (q, most items), NaN beyond."""
    rows: list[list[tuple[int, int]]] = []
    for first, second in zip(firsts, seconds, strict=True):
        rank_in_second = {item: rank for rank, item in enumerate(second, start=1)}
        row = [(rank, rank_in_second.get(item, k + 1)) for rank, item in enumerate(first, start=1)]
        if items == "common":
            rows.append([pair for pair in row if pair[1] <= k])  # k + 1 stands for "not there"
        else:
            rows.append(row + [(k + 1, rank_in_second[item]) for item in rank_in_second.keys() - set(first)])
    # Lists share different numbers of items; NaN fills the rest, which `compute_kendall_tau_b` leaves out.
    width = max(map(len, rows), default=0)
    table = np.full((2, len(rows), width), np.nan)
    for number, row in enumerate(rows):
        if row:
            table[:, number, : len(row)] = np.array(row, dtype=np.float64).T
    return table[0], table[1]


_ALL_CORES = -1


def edit_distance(a: str, b: str) -> float:
    """Levenshtein distance between `a` and `b` in words, divided by the length of the longer text.

    Words stand between white space; case and punctuation count; an insertion, a deletion and a substitution
    cost 1 each. 0 (same words, or none in both) to 1 (no word kept). No direction: a free rewording is large,
    and so is an unrelated text.
    Source: PTEB, section on the choice of a paraphraser; spec section 7.

    >>> edit_distance("a b c", "a x c d")
    0.5
    """
    return float(edit_distances([a], [b])[0])


def edit_distances(a: Sequence[str], b: Sequence[str]) -> NDArray[np.float64]:
    """`edit_distance` between each `a[i]` and `b[i]`: (n,). Raises UsageError for unequal lengths.

    >>> edit_distances(["a b c", ""], ["a x c d", "a"]).tolist()
    [0.5, 1.0]
    """
    if len(a) != len(b):
        raise UsageError(f"There are {len(a)} texts and {len(b)} paraphrases.", mend="Pass one paraphrase per text.")
    if not len(a):
        return np.empty(0)
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    pairs = list(starmap(_encode_words_as_characters, zip(a, b, strict=True)))
    left, right = zip(*pairs, strict=True)
    return np.asarray(cpdist(left, right, scorer=Levenshtein.normalized_distance, dtype=np.float64, workers=_ALL_CORES))


def _encode_words_as_characters(a: str, b: str) -> tuple[str, str]:
    """Both texts with every word as one character, equal characters for equal words: strings are compared
    fastest, and exactly, as hashes of words would not be."""
    letters: dict[str, str] = {}
    first, second = ("".join(letters.setdefault(word, chr(len(letters))) for word in text.split()) for text in (a, b))
    return first, second
