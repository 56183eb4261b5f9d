"""Several rankings made one: fusion by rank and by score, a share of the words' score, and a reranker's order."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Reranker
from embassay.errors import ModelError, UsageError
from embassay.search.bm25 import split_words
from embassay.spec import QUERY, Spec

Shingle = tuple[str, ...]
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class DeduplicatedPositions:
    """Positions of the candidates that stay, in order, and for each that was dropped (`copies`) the position of the
    kept one that it is most similar to, the earliest of equals."""

    kept: tuple[int, ...]
    copies: Mapping[int, int]


def find_distinct_text_positions(texts: Sequence[str], threshold: float, size: int = 3) -> DeduplicatedPositions:
    """Keep the first of near copies: a text goes whose similarity with an earlier kept one is at least `threshold`.

    Similarity is `compute_shingle_jaccard` of word shingles, in [0, 1],
    so a threshold above 1 drops none. UsageError for a threshold
    that is not above 0 and a size below 1. Source: RAG spec, section 9 (near-duplicate removal before reranking); it
    names no measure, this is Broder's resemblance (Compression and Complexity of Sequences, 1997).

    >>> find_distinct_text_positions(["a b c d", "e f g h", "a b c d!"], 0.8)
    DeduplicatedPositions(kept=(0, 1), copies={2: 0})
    """
    if not threshold > 0 or size < 1:
        raise UsageError(
            f"Near-duplicates cannot be found with the threshold {threshold:g} and sequences of {size} words.",
            mend="The threshold must be above 0 and at most 1; a sequence needs 1 or more words.",
        )
    sizes: dict[int, int] = {}
    copies: dict[int, int] = {}
    having: dict[Shingle, list[int]] = defaultdict(list)
    for position, text in enumerate(texts):
        grams = collect_word_shingles(text, size)
        similarity, earlier = _find_nearest_kept_text(grams, having, sizes)
        if similarity >= threshold:
            copies[position] = earlier
            continue
        sizes[position] = len(grams)
        for shingle in grams:
            having[shingle].append(position)
    return DeduplicatedPositions(tuple(sizes), copies)


def compute_shingle_jaccard(a: str, b: str, size: int = 3) -> float:
    """Common shingles over all shingles of two texts, in [0, 1]; 1 for two texts without words.

    >>> compute_shingle_jaccard("the cat sat down", "The cat sat up.")
    0.3333333333333333
    """
    first, other = collect_word_shingles(a, size), collect_word_shingles(b, size)
    return len(first & other) / len(first | other)


def collect_word_shingles(text: str, size: int = 3) -> frozenset[Shingle]:
    """The runs of `size` consecutive words of a text, as a set; of a shorter text, all its words as one run.

    Words are those of our BM25: case and punctuation make no difference. A text without words has one empty run.
    """
    terms = split_words(text)
    return frozenset(tuple(terms[start : start + size]) for start in range(max(1, len(terms) - size + 1)))


def _find_nearest_kept_text(
    grams: frozenset[Shingle], having: Mapping[Shingle, Sequence[int]], sizes: Mapping[int, int]
) -> tuple[float, int]:
    """Find the nearest kept text and its similarity; (-inf, -1) where none shares a shingle."""
    common = Counter(position for shingle in grams for position in having.get(shingle, ()))
    best = (-math.inf, -1)
    # In order, so that of equally similar texts the first is named.
    for position in sorted(common):
        # Jaccard's index: shingles in common over those of either.
        similarity = common[position] / (len(grams) + sizes[position] - common[position])
        if similarity > best[0]:
            best = similarity, position
    return best


MISSING = 1_000_000_000
"""The rank, among ties, of what a list does not hold."""


@dataclass(frozen=True)
class FusedDocument:
    """A document, its fused score, and its rank (from 1) in each list, None where that does not hold it."""

    id: str
    score: float
    ranks: tuple[int | None, ...]


FusionKind = Literal["rrf", "convex", "dbsf"]


@dataclass(frozen=True)
class FusionRule:
    """How two lists become one.

    `rrf` adds 1 / (c + rank), `convex` scores scaled from the least that there can be (-1 of a cosine, 0 of BM25) to
    the list's best, `dbsf` scores scaled from three standard deviations below the list's mean to three above. `weight`
    (0 to 1) is that of the first list, the second has the rest. `c` None is the sweep's own, usually 60. Sources:
    Cormack et al. (SIGIR 2009); Bruch, Gai and Ingber (TOIS 2023), their TM2C2; Qdrant's distribution-based score
    fusion.
    """

    kind: FusionKind = "rrf"
    weight: float = 0.5
    c: float | None = None

    @property
    def text(self) -> str:
        """The rule as a spec string, without what is as usual.

        >>> FusionRule().text, FusionRule("convex", 0.7).text, FusionRule("rrf", 0.5, 20).text
        ('rrf', 'convex?weight=0.7', 'rrf?c=20')
        """
        given = {"weight": self.weight, "c": self.c}
        usual = {"weight": FusionRule.weight, "c": None}
        params = {name: value for name, value in given.items() if value is not None and value != usual[name]}
        return QUERY.format(Spec(self.kind, "", params))


def parse_fusion_rule(text: str) -> FusionRule:
    """The rule that a spec string names: `rrf`, `rrf?c=20&weight=0.3`, `convex?weight=0.7`, `dbsf`. UsageError for
    another name or parameter, and for a weight outside of 0 to 1.

    >>> parse_fusion_rule("rrf?c=20")
    FusionRule(kind='rrf', weight=0.5, c=20.0)
    """
    spec = QUERY.parse(text)
    kinds: tuple[FusionKind, ...] = get_args(FusionKind)
    kind = next((kind for kind in kinds if kind == spec.name), None)
    if kind is None or spec.target:
        raise UsageError(
            f"There is no fusion rule {text!r}.", mend=f"Use {', '.join(kinds)}, if needed with ?weight=0.3."
        )
    allowed = ("weight", "c") if spec.name == "rrf" else ("weight",)
    if unknown := [name for name in spec.params if name not in allowed]:
        raise UsageError(f"{spec.name} has no parameter {unknown[0]!r}.", mend=f"It has {' and '.join(allowed)}.")
    numbers = {name: _parse_fusion_rule_number(text, name, value) for name, value in spec.params.items()}
    if not 0 <= numbers.get("weight", 0.5) <= 1 or numbers.get("c", 0.0) < 0:
        raise UsageError(f"{text!r} has a value out of range.", mend="Use a weight from 0 to 1, and c >= 0.")
    return FusionRule(kind, **numbers)


def _parse_fusion_rule_number(text: str, name: str, value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{name} in {text!r} is {value}.", mend="Give a number.")
    return number


@dataclass(frozen=True)
class ScoredList:
    """Ids, best first, with their scores, and the least score that there can be."""

    ids: Sequence[str]
    scores: Sequence[float]
    least: float


def fuse_two_ranked_lists(
    first: ScoredList, second: ScoredList, rule: FusionRule, c: float = 60.0
) -> list[FusedDocument]:
    """The union of two lists by a rule; `c` is that of a `rrf` that has none. What a list does not hold has 0 of it.

    Ties are as in `fuse_by_reciprocal_rank`, which plain `rrf` equals. UsageError for a `c` that is negative or no
    number, ModelError for scores that are not finite.
    """
    lists = (first, second)
    weights = (2 * rule.weight, 2 * (1 - rule.weight))
    if rule.kind == "rrf":
        scaled = [_reciprocal_ranks(side.ids, c if rule.c is None else rule.c) for side in lists]
    else:
        scale = _scale_scores_from_least if rule.kind == "convex" else _scale_scores_by_spread
        scaled = [_map_first_scores(side, scale(side)) for side in lists]
    # One exact sum: the order of the lists must not decide what ties.
    return _order_union_of_rankings(
        [side.ids for side in lists],
        lambda key: math.fsum(weight * side.get(key, 0.0) for weight, side in zip(weights, scaled, strict=True)),
    )


def _map_first_scores(side: ScoredList, scores: Scores) -> dict[str, float]:
    """Map each id to its score; one that a list holds twice counts where it stands first."""
    return dict(zip(reversed(side.ids), reversed(scores.tolist()), strict=True))


def _scale_scores_from_least(side: ScoredList) -> Scores:
    scores = _convert_to_finite_scores(side)
    span = scores.max(initial=side.least) - side.least
    return np.asarray((scores - side.least) / span) if span > 0 else np.zeros(len(scores))


def _scale_scores_by_spread(side: ScoredList) -> Scores:
    scores = _convert_to_finite_scores(side)
    spread = float(scores.std()) if len(scores) else 0.0
    # Scores that are all one stand in the middle.
    return np.asarray((scores - scores.mean()) / (6 * spread) + 0.5) if spread > 0 else np.full(len(scores), 0.5)


def _convert_to_finite_scores(side: ScoredList) -> Scores:
    scores = np.asarray(side.scores, dtype=np.float64)
    if not np.isfinite(scores).all():
        raise ModelError("Some candidate scores are not finite.")
    return scores


def fuse_by_reciprocal_rank(rankings: Sequence[Sequence[str]], c: float = 60.0) -> list[FusedDocument]:
    """The union of rankings (best first, ids) by the sum of 1 / (c + rank), ranks from 1, 0 for a list without it.

    Ties go to the better rank in the first list, then in the second, and so on, then to the lower id. An id that a list
    holds twice counts once, where it stands first. UsageError for a `c` that is negative or no number. Source: Cormack,
    Clarke and Büttcher (SIGIR 2009); tie order of the RAG spec, 3.4 and 4.

    >>> [(one.id, round(one.score, 6)) for one in fuse_by_reciprocal_rank([["a", "b"], ["b"]])]
    [('b', 0.032522), ('a', 0.016393)]
    """
    shares = [_reciprocal_ranks(ranking, c) for ranking in rankings]
    # One exact sum: the order of the lists must not decide what ties.
    return _order_union_of_rankings(rankings, lambda key: math.fsum(share[key] for share in shares if key in share))


def _reciprocal_ranks(ranking: Sequence[str], c: float) -> dict[str, float]:
    if not (c >= 0 and math.isfinite(c)):
        raise UsageError(f"The RRF constant c is {c}, but it must be 0 or more.", mend="Try 60.")
    return {key: 1 / (c + rank) for key, rank in _rank_ids(ranking).items()}


def _order_union_of_rankings(rankings: Sequence[Sequence[str]], score: Callable[[str], float]) -> list[FusedDocument]:
    places = [_rank_ids(ranking) for ranking in rankings]
    ids = dict.fromkeys(key for ranking in rankings for key in ranking)
    fused = [FusedDocument(key, score(key), tuple(ranks.get(key) for ranks in places)) for key in ids]
    return sorted(fused, key=lambda hit: (-hit.score, *(rank or MISSING for rank in hit.ranks), hit.id))


def _rank_ids(ranking: Sequence[str]) -> dict[str, int]:
    return {key: rank for rank, key in enumerate(dict.fromkeys(ranking), start=1)}


def add_bm25_boost_to_scores(
    scores: NDArray[np.floating[Any]], words: NDArray[np.floating[Any]], weight: float
) -> Scores:
    """`standardised(scores) + weight * standardised(words)` over one query's candidates, (n,), in [0, 1 + weight].

    `scores` are a reranker's or inner products, higher is better; `words` is the BM25 score of each candidate, 0 where
    it shares no word with the query (`BM25Index.scores`). A weight of 0 gives `scores` back as they are. UsageError for
    a weight that is negative or no number and lists that are not as long, ModelError for scores that are not finite.
    Source: RAG spec, section 9 (BM25 feature added to rerank scores); how both are brought to one scale is ours.

    >>> add_bm25_boost_to_scores(np.array([2.0, 4.0, 3.0]), np.array([9.0, 0.0, 0.0]), 0.5).tolist()
    [0.5, 1.0, 0.5]
    """
    if not (weight >= 0 and math.isfinite(weight)):
        raise UsageError(f"The weight of the lexical score is {weight}, but it must be 0 or more.")
    if scores.ndim != 1 or scores.shape != words.shape:
        raise UsageError(
            f"Cannot add lexical scores of shape {words.shape} to scores of shape {scores.shape}.",
            mend="Pass one score per candidate for both.",
        )
    if not (np.isfinite(scores).all() and np.isfinite(words).all()):
        raise ModelError("Some candidate scores are not finite.")
    if weight == 0:
        return np.asarray(scores, dtype=np.float64)
    return np.asarray(scale_scores_to_unit_range(scores) + weight * scale_scores_to_unit_range(words), dtype=np.float64)


def scale_scores_to_unit_range(scores: NDArray[np.floating[Any]]) -> Scores:
    """Scores from 0 (the list's lowest) to 1 (its highest), linearly; all 0 where they are all equal.

    A list without differences says nothing of which candidate is better, so it must not move any.

    >>> scale_scores_to_unit_range(np.array([3.0, 5.0, 4.0])).tolist()
    [0.0, 1.0, 0.5]
    """
    values = np.asarray(scores, dtype=np.float64)
    if not values.size or values.min() == values.max():
        return np.zeros(len(values))
    low, high = values.min(), values.max()
    return np.asarray((values - low) / (high - low))


@dataclass(frozen=True)
class Reranked:
    """Ids, best first, with their scores."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]


def rerank(reranker: Reranker, query: str, ids: Sequence[str], texts: Sequence[str], k: int | None = None) -> Reranked:
    """The best k (by default all) of the documents `ids` with these `texts`, by the reranker's scores.

    Equal scores keep the order in which the documents were found. UsageError when ids and texts are not as
    many or k is below 1, ModelError for scores that are not one finite number for each document.
    """
    if len(ids) != len(texts) or (k is not None and k < 1):
        raise UsageError(
            f"Cannot rerank {len(ids)} ids with {len(texts)} texts and k={k}.",
            mend="Pass one text for each id, and a k of at least 1.",
        )
    scores = np.asarray(reranker.score(query, texts), dtype=np.float64)
    if scores.shape != (len(ids),) or not np.isfinite(scores).all():
        raise ModelError(
            f"The reranker {reranker.name!r} did not return one finite score for each of {len(ids)} documents."
        )
    order = np.argsort(-scores, kind="stable")[:k]
    return Reranked(tuple(ids[i] for i in order), tuple(scores[order].tolist()))
