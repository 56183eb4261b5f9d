"""Scoring what people answered: per annotator, pooled, with the intervals and the agreement of the study."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, groupby, starmap
from typing import Any, Literal

import numpy as np

from embassay.errors import UsageError
from embassay.measures import (
    absolute_difference,
    agreement_band,
    align,
    ami,
    ari,
    cohen_kappa,
    fleiss,
    krippendorff_alpha,
    marks_agreement,
    mean_pairwise,
    ndcg_arrays,
    pearson,
    percent_agreement,
    spearman,
    v_measure,
)
from embassay.protocols.hume.options import AP_MODES, Aggregation, ApMode, OneAnnotator, StudyRequest
from embassay.protocols.hume.study import FAMILIES, Answers, Family, Gold, Label, TaskSpec
from embassay.stats import Estimate, bootstrap_ci, fisher_z, observed_range, wilson


def classification_scores(gold: Sequence[Label], answers: Sequence[Label]) -> dict[str, float]:
    """Scores of a classification, 0 to 1: accuracy, macro f1, precision, recall, and weighted f1.

    Over the labels that gold or answers hold; 0 where a label was never answered (precision) or is never gold (recall).
    Source: spec hume 4, with scikit-learn's names and zero_division=0. Raises UsageError for unequal lengths or no
    items.

    >>> round(classification_scores(list("nnppuu"), list("nnupun"))["f1"], 6)
    0.655556
    """
    if len(gold) != len(answers) or not len(gold):
        raise UsageError(
            f"There are {len(gold)} gold labels and {len(answers)} answers.",
            mend="Pass one of each per item, and at least one item.",
        )
    true, predicted = Counter(gold), Counter(answers)
    right = Counter(a for a, b in zip(gold, answers, strict=True) if a == b)
    # In the order of the items and not a set's: a sum of floats depends on it.
    labels = list(true | predicted)
    # The same as 2pr / (p + r), and defined where precision or recall is not.
    f1 = {label: 2 * right[label] / (true[label] + predicted[label]) for label in labels}
    return {
        "accuracy": right.total() / len(gold),
        "f1": sum(f1.values()) / len(labels),
        "f1_weighted": sum(true[label] * f1[label] for label in labels) / len(gold),
        "precision": sum(right[label] / predicted[label] for label in labels if predicted[label]) / len(labels),
        "recall": sum(right[label] / true[label] for label in labels if true[label]) / len(labels),
    }


def majority_vote(votes: Iterable[Label], order: Sequence[Label] = ()) -> Label:
    """The label with the most votes; among equals the first in `order`, or the smallest where no order is given.

    Two people who disagree are always a tie: so the order decides on half of a hard task. Source: spec hume 4, 11.5.
    Raises UsageError for no votes, a vote that is not in the order, or labels that cannot be sorted.

    >>> majority_vote(["b", "a"]), majority_vote(["b", "a"], order=["b", "a"])
    ('a', 'b')
    """
    counted = Counter(votes)
    if not counted:
        raise UsageError("Nobody voted.", mend="Leave out the items without an answer.")
    best = [label for label, times in counted.items() if times == max(counted.values())]
    if order:
        unknown = counted.keys() - set(order)
        if unknown:
            raise UsageError(
                f"Not a label of the task: {', '.join(sorted(map(str, unknown)))}.", mend="List every label, in order."
            )
        return min(best, key=list(order).index)
    try:
        return min(best)
    except TypeError:
        raise UsageError(
            "Labels that mix numbers and text cannot be ordered.", mend="List the task's labels in order."
        ) from None


def clustering_scores(gold: Sequence[Hashable], answers: Sequence[Hashable]) -> dict[str, float]:
    """Scores of one annotator's groups against gold groups: `v_measure`, `ari` and `ami`.

    All are 0 where the annotator made one group of everything, or gold has only one: also where these are the same.
    Source: spec hume 4. Raises UsageError for unequal lengths or no items.

    >>> round(clustering_scores("aaabbbccc", "555577999")["v_measure"], 6)
    0.786013
    """
    _check_equal_lengths(len(gold), len(answers))
    if len(set(gold)) == 1 or len(set(answers)) == 1:
        return {"v_measure": 0.0, "ari": 0.0, "ami": 0.0}
    return {"v_measure": v_measure(gold, answers), "ari": ari(gold, answers), "ami": ami(gold, answers)}


def sts_scores(gold: Sequence[float], answers: Sequence[float]) -> dict[str, float]:
    """Scores of ratings against gold ratings: `spearman`, `pearson` and `mse`.

    The correlations are 0 where either side is constant. Source: spec hume 4. Raises UsageError for unequal lengths,
    no items or values that are not finite.

    >>> round(sts_scores([0, 1, 2, 3, 4, 5, 2.5, 3.5], [0, 1, 1, 3, 5, 4, 2, 4])["spearman"], 6)
    0.951876
    """
    _check_equal_lengths(len(gold), len(answers))
    error = np.asarray(gold, dtype=np.float64) - np.asarray(answers, dtype=np.float64)
    return {
        "spearman": _nan_to_zero(float(spearman(gold, answers))),
        "pearson": _nan_to_zero(float(pearson(gold, answers))),
        "mse": float((error**2).mean()),
    }


def _nan_to_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _check_equal_lengths(gold: int, answers: int) -> None:
    if gold != answers or not gold:
        raise UsageError(
            f"There are {gold} gold values and {answers} answers.",
            mend="Pass one of each per item, and at least one item.",
        )


CUTOFF = 10


def reranking_scores(
    gold: Sequence[Sequence[int]], answers: Sequence[Sequence[float]], *, human_ap_mode: ApMode = "tie_aware"
) -> dict[str, float]:
    """`map`, `mrr_at_10` and `ndcg_at_10`: means over queries, 0 to 1, of one annotator's marks (or any scores per
    document, as the mean marks of several annotators) against gold grades, documents in the order displayed.

    Source: spec hume 4. Raises UsageError as `average_precision_of_marks` does, or for no queries.

    >>> round(reranking_scores([[1, 1, 1, 0, 0, 0, 0]], [[1, 1, 0, 1, 0, 0, 0]])["ndcg_at_10"], 6)
    0.967468
    """
    if len(gold) != len(answers) or not len(gold):
        raise UsageError(
            f"There are {len(gold)} gold queries and {len(answers)} answers.",
            mend="Pass one of each per query, and at least one query.",
        )
    pairs = list(zip(gold, answers, strict=True))
    every = {
        "map": [average_precision_of_marks(*pair, human_ap_mode=human_ap_mode) for pair in pairs],
        "mrr_at_10": list(starmap(_reciprocal_rank, pairs)),
        "ndcg_at_10": list(starmap(_marks_ndcg, pairs)),
    }
    return {name: math.fsum(values) / len(values) for name, values in every.items()}


def average_precision_of_marks(
    gold: Sequence[int], marks: Sequence[float], *, human_ap_mode: ApMode = "tie_aware"
) -> float:
    """Average precision of marks per document (n,) against grades above 0 for the relevant ones (n,), 0 to 1.

    Marked documents are one tie, the others another. `tie_aware` takes a tie as one step, with the precision at its
    end; `display_order` breaks it by the order displayed; `expected` is the mean over all orders within ties.
    Source: spec hume 4; for `expected` McSherry and Najork 2008.
    Raises UsageError for unequal lengths, no relevant document or another mode.

    >>> [round(average_precision_of_marks([1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0], human_ap_mode=mode),
    ... 4) for mode in AP_MODES]
    [0.75, 1.0, 0.8403]
    """
    _check_marks(gold, marks)
    if human_ap_mode not in AP_MODES:
        raise UsageError(f"human_ap_mode is {human_ap_mode!r}.", mend=f"Use one of {', '.join(AP_MODES)}.")
    blocks = [[1] * (grade > 0) + [0] * (grade <= 0) for grade in _order_gold_by_marks(gold, marks)]
    if human_ap_mode != "display_order":
        order = _order_documents_by_marks(marks)
        groups = groupby(order, key=lambda place: marks[place])
        blocks = [[int(gold[place] > 0) for place in group] for _, group in groups]
    terms, above, hits = [], 0, 0
    for block in blocks:
        size, relevant = len(block), sum(block)
        if human_ap_mode == "expected":
            terms.extend(_list_expected_precision_per_tie_place(above, hits, size, relevant))
        else:
            terms.append(relevant * (hits + relevant) / (above + size))
        above, hits = above + size, hits + relevant
    # Exactly rounded, so that the order of the documents does not move the last bit.
    return min(math.fsum(terms) / hits, 1.0)


def _list_expected_precision_per_tie_place(above: int, hits: int, size: int, relevant: int) -> list[float]:
    """What each place of a tie adds in the mean over its orders: how likely a relevant document is there, times the
    precision then to be expected."""
    share = (relevant - 1) / (size - 1) if size > 1 else 0.0
    return [
        relevant / size * (hits + 1 + place * share) / (above + place + 1) if relevant else 0.0 for place in range(size)
    ]


def _order_documents_by_marks(marks: Sequence[float]) -> list[int]:
    # Python's sort is stable: documents with equal marks stay in the order displayed.
    return sorted(range(len(marks)), key=lambda place: -marks[place])


def _order_gold_by_marks(gold: Sequence[int], marks: Sequence[float]) -> list[int]:
    return [gold[place] for place in _order_documents_by_marks(marks)]


def _reciprocal_rank(gold: Sequence[int], marks: Sequence[float]) -> float:
    ranks = (rank for rank, grade in enumerate(_order_gold_by_marks(gold, marks)[:CUTOFF], start=1) if grade > 0)
    return 1 / rank if (rank := next(ranks, 0)) else 0.0


def _marks_ndcg(gold: Sequence[int], marks: Sequence[float]) -> float:
    gains = np.array([_order_gold_by_marks(gold, marks)], dtype=np.float64)
    return float(ndcg_arrays(gains, np.array([gold], dtype=np.float64), CUTOFF, gain="exponential")[0])


def _check_marks(gold: Sequence[int], marks: Sequence[float]) -> None:
    if len(gold) != len(marks):
        raise UsageError(
            f"A query has {len(gold)} gold grades but {len(marks)} marks.", mend="Pass one of each per document."
        )
    if not any(grade > 0 for grade in gold):
        raise UsageError("A query has no relevant document.", mend="Leave the query out, because it has no score.")


Coefficient = Literal["fleiss_kappa", "ari", "spearman"]
COEFFICIENT: Mapping[Family, Coefficient] = {
    "classification": "fleiss_kappa",
    "clustering": "ari",
    "reranking": "spearman",
    "sts": "spearman",
}
"""The headline of each family."""
BANDS: Mapping[Coefficient, Literal["kappa", "correlation", "ari"]] = {
    "fleiss_kappa": "kappa",
    "ari": "ari",
    "spearman": "correlation",
}
"""How each is read in words."""


@dataclass(frozen=True)
class PeopleAgreement:
    """The `value` of a `coefficient` in words (`band`), and the others of the family in `extras`.

    `items` are those that two or more annotated, `annotations` all answers to them. NaN where a value is undefined; for
    the headline `reason` then says why, and `band` is "NA".
    """

    coefficient: Coefficient
    value: float
    band: str
    annotators: int
    items: int
    annotations: int
    extras: Mapping[str, float]
    reason: str = ""


def count_shared_items(answers: Answers) -> int:
    """How many items two or more annotated."""
    counts = Counter(item for given in answers.values() for item in given)
    return sum(count > 1 for count in counts.values())


def choose_min_shared_items(answers: Answers, min_shared: int = StudyRequest.min_shared) -> int:
    """How many items two annotators must share to be compared: `min_shared`, or all where fewer are shared at all."""
    return max(1, min(min_shared, count_shared_items(answers)))


def people_agreement(family: Family, answers: Answers, *, min_shared: int = StudyRequest.min_shared) -> PeopleAgreement:
    """The agreement of annotators on the items they share; `answers` as `answers_by_annotator` reads them.

    A mean over pairs of annotators weighs each by the items it shares, and leaves out pairs that share fewer than
    `min_shared`, or than all where the task has fewer. Fleiss' kappa and Krippendorff's alpha are over all answers.

    Extras, by family: `cohen_kappa` (mean over pairs), `percent_agreement` as a share, `alpha` (Krippendorff's) and
    `dropped` (items that Fleiss' kappa could not use); `v_measure`; `pearson`, `absolute_difference` and `alpha`; for
    reranking `kendall`, `cohen_kappa`, `spearman_sd`, and the `comparisons` made and `skipped`.
    Source: spec hume 6. Raises UsageError where one query has marks for different numbers of documents, or for another
    family.

    >>> groups = {"ann": {"1": "x", "2": "x", "3": "y"}, "bob": {"1": "p", "2": "p", "3": "q"}}
    >>> found = people_agreement("clustering", groups)
    >>> found.value, found.band
    (1.0, 'excellent')
    """
    if family not in COEFFICIENT:
        raise UsageError(f"The family is {family!r}.", mend=f"Use one of {', '.join(COEFFICIENT)}.")
    counts = Counter(item for given in answers.values() for item in given)
    shared = [count for count in counts.values() if count > 1]
    taking_part = {name: given for name, given in answers.items() if given}
    coefficient = COEFFICIENT[family]
    least = choose_min_shared_items(answers, min_shared)
    values = _compute_agreement_by_coefficient(family, taking_part, least) if len(taking_part) > 1 else {}
    value = values.pop(coefficient, math.nan)
    return PeopleAgreement(
        coefficient=coefficient,
        value=value,
        band=agreement_band(value, BANDS[coefficient]),
        annotators=len(taking_part),
        items=len(shared),
        annotations=sum(shared),
        extras=values,
        reason=_explain_missing_agreement(family, taking_part, least) if math.isnan(value) else "",
    )


def _explain_missing_agreement(family: Family, answers: Answers, least: int) -> str:
    if len(answers) < 2:
        return "fewer than two annotators"
    if not count_shared_items(answers):
        return "no item was answered by two annotators"
    most = max(len(one.keys() & other.keys()) for one, other in combinations(answers.values(), 2))
    if most < least:
        return f"no two annotators share {least} items"
    if family == "clustering":
        return "no two annotators share two items"
    return "all answers are the same" if family == "classification" else "answers do not vary"


def _compute_agreement_by_coefficient(family: Family, answers: Answers, least: int) -> dict[str, float]:
    if family == "reranking":
        return _mark_agreement(answers, least)
    rows = align(answers).rows

    def mean(of: Callable[[Any, Any], Any]) -> float:
        return mean_pairwise(rows, of, min_shared=least).value

    if family == "clustering":
        return {"ari": mean(_ari_or_nan), "v_measure": mean(_compute_v_measure_or_nan)}
    if family == "sts":
        pairwise = {"spearman": spearman, "pearson": pearson, "absolute_difference": absolute_difference}
        values = {name: mean(function) for name, function in pairwise.items()}
        return {**values, "alpha": _alpha_or_nan(rows, "interval")}
    kappa = fleiss(rows)
    return {
        "fleiss_kappa": kappa.value,
        "cohen_kappa": mean(cohen_kappa),
        "percent_agreement": percent_agreement(rows, min_shared=least),
        "alpha": _alpha_or_nan(rows, "nominal"),
        "dropped": float(kappa.dropped),
    }


# One item alone is with nobody: both measures would call that perfect agreement.
def _ari_or_nan(one: list[str], other: list[str]) -> float:
    return ari(one, other) if len(one) > 1 else math.nan


def _compute_v_measure_or_nan(one: list[str], other: list[str]) -> float:
    return v_measure(one, other) if len(one) > 1 else math.nan


def _alpha_or_nan(rows: tuple[tuple[object, ...], ...], level: Literal["nominal", "interval"]) -> float:
    return float(krippendorff_alpha(rows, level))


def _mark_agreement(answers: Answers, least: int) -> dict[str, float]:
    agreement = marks_agreement(list(answers.values()), min_shared=least)
    return {
        "spearman": agreement.spearman,
        "kendall": agreement.kendall,
        "cohen_kappa": agreement.kappa,
        "spearman_sd": agreement.spearman_sd,
        "comparisons": float(agreement.comparisons),
        "skipped": float(agreement.skipped),
    }


Scorer = Callable[[list[Any], list[Any]], dict[str, float]]

MAIN: Mapping[Family, str] = {
    "classification": "accuracy",
    "clustering": "v_measure",
    "reranking": "map",
    "sts": "spearman",
}
"""The measure of each family that the study reports."""
POOLED_FIRST: frozenset[Family] = frozenset({"classification", "sts"})
"""Families whose answers the paper pools before they are scored; in the others it averages scores."""


@dataclass(frozen=True)
class ScoresByMeasure:
    """Scores, by measure, over so many items."""

    scores: Mapping[str, float]
    items: int


@dataclass(frozen=True)
class PeopleScores:
    """Every convention of a human score. `annotators` are in the order of their ids, those without an answer left out.

    `mean` is the mean over annotators of each measure. `pooled` scores the answers put together: the vote, the mean
    rating, the mean marks as scores to rank by; None for clustering, where one's groups are not another's. `items` is
    how many items anyone answered.
    """

    family: Family
    annotators: Mapping[str, ScoresByMeasure]
    mean: Mapping[str, float]
    pooled: ScoresByMeasure | None
    items: int

    def scores(self, aggregation: Aggregation = "paper") -> Mapping[str, float]:
        """All measures by one convention: `paper` is `pooled` for classification and STS and `mean` for clustering and
        reranking; `first` is the first annotator. Raises UsageError for another, and for pooled clusters."""
        if aggregation == "paper":
            aggregation = "pooled" if self.family in POOLED_FIRST else "mean"
        if aggregation == "mean":
            return self.mean
        if aggregation == "first":
            return next(iter(self.annotators.values())).scores
        if aggregation != "pooled":
            raise UsageError(f"The aggregation is {aggregation!r}.", mend="Use paper, pooled, mean or first.")
        if self.pooled is None:
            raise UsageError("Clusterings by several people cannot be pooled.", mend="Use paper or mean.")
        return self.pooled.scores

    def score(self, aggregation: Aggregation = "paper") -> float:
        """People's score by the family's main measure and by one convention."""
        return self.scores(aggregation)[MAIN[self.family]]

    def main_score_per_annotator(self) -> list[float]:
        """The main measure of each annotator."""
        return [annotator.scores[MAIN[self.family]] for annotator in self.annotators.values()]


def keep_annotators_by_coverage(answers: Answers, min_answered: float = StudyRequest.min_answered) -> Answers:
    """The annotators of `answers` who answered at least the share `min_answered` of what the one with most answers did.

    It is a share of the most, not of the items: where each item goes to two of five people, all of them count, and so
    they do half-way through a study. Someone who gave up after three of ten items would have as much of a say in a mean
    over annotators as those who finished.

    >>> sorted(keep_annotators_by_coverage({"ann": dict.fromkeys("abcd", 1), "bob": dict.fromkeys("ab", 1),
    ... "cy": {"a": 1}}))
    ['ann', 'bob']
    """
    most = max((len(given) for given in answers.values()), default=0)
    return {name: given for name, given in answers.items() if given and len(given) >= min_answered * most}


def score_people_answers(
    task: TaskSpec, gold: Gold, answers: Answers, *, human_ap_mode: ApMode = "tie_aware"
) -> PeopleScores:
    """Score the answers of every annotator, over the items that annotator answered, and their pooled answers, over the
    items that anyone answered.

    `gold` and `answers` are as `map_items_to_gold_values` and `answers_by_annotator` read them. Source: spec hume 4.
    Raises UsageError where nobody answered, or an item has no gold.

    >>> task = TaskSpec("colours", "classification", "eng")
    >>> found = score_people_answers(task, {"1": "a", "2": "b"}, {"x": {"1": "a", "2": "a"}, "y": {"1": "b", "2": "b"}})
    >>> found.main_score_per_annotator(), found.score(), found.score("mean")
    ([0.5, 0.5], 0.5, 0.5)
    """
    answered = {annotator: given for annotator, given in sorted(answers.items()) if given}
    items = sorted({item for given in answered.values() for item in given})
    if not items:
        raise UsageError(f"Nobody answered any item of {task.name}.", mend="Pass annotations of this task.")
    if missing := [item for item in items if item not in gold]:
        raise UsageError(f"Item {missing[0]} of {task.name} has no gold.", mend="Pass the gold of every item.")
    scorer = _family_scorer(task.family, human_ap_mode)
    annotators = {annotator: _score_answered_items(scorer, gold, given) for annotator, given in answered.items()}
    each = [annotator.scores for annotator in annotators.values()]
    mean = {name: math.fsum(scores[name] for scores in each) / len(each) for name in each[0]}
    together = pool_annotator_answers(task, answered)
    pooled = None if together is None else _score_answered_items(scorer, gold, together)
    return PeopleScores(task.family, annotators, mean, pooled, len(items))


def pool_annotator_answers(task: TaskSpec, answers: Answers) -> dict[str, Any] | None:
    """One answer per item from those of all who answered it, by item id: the majority's label (ties to the first of the
    task's labels, else the smallest), the mean rating, or the mean mark of every document. None for clustering."""
    if task.family == "clustering":
        return None
    items = sorted({item for by_item in answers.values() for item in by_item})
    votes_of = {item: [by_item[item] for by_item in answers.values() if item in by_item] for item in items}
    if task.family == "classification":
        return {item: majority_vote(votes, task.labels) for item, votes in votes_of.items()}
    return {item: np.mean(votes, axis=0).tolist() for item, votes in votes_of.items()}


def _family_scorer(family: Family, human_ap_mode: ApMode) -> Scorer:
    scorers: dict[Family, Scorer] = {
        "classification": classification_scores,
        "clustering": clustering_scores,
        "reranking": partial(reranking_scores, human_ap_mode=human_ap_mode),
        "sts": sts_scores,
    }
    return scorers[family]


def _score_answered_items(scorer: Scorer, gold: Gold, given: Mapping[str, Any]) -> ScoresByMeasure:
    items = sorted(given)
    return ScoresByMeasure(scorer([gold[item] for item in items], [given[item] for item in items]), len(items))


# Fisher's z needs more than three: its variance is 1 / (n - 3).
_LEAST_PAIRS = 4


def human_score_interval(
    family: Family,
    score: float,
    annotators: Sequence[float],
    n: int,
    *,
    one_annotator: OneAnnotator = "wilson",
    error: Literal["fisher", "bonett-wright"] = "fisher",
    confidence: float = 0.95,
) -> Estimate:
    """The paper's interval of a human `score` over `n` items, from the score of every one of `annotators`.

    Classification: Wilson's, with n items however many annotations. STS: Fisher's, or Bonett and Wright's by `error`.
    Clustering and reranking: from the lowest to the highest annotator, which is no confidence interval; for one
    annotator Wilson's as if the score were a share (what was done in the paper), or by `one_annotator` "none" None.
    None for ratings of fewer than 4 items. `method` says which it is. For reranking
    `bootstrap_map_over_queries` is the better one.
    Source: spec hume 7; HUME table 8. Raises UsageError for another family or option, no annotators, no items or a
    score out of range.

    >>> human_score_interval("clustering", 0.4921545, [0.631687, 0.352622], 30).low
    0.352622
    """
    _check_interval_arguments(family, annotators, n, one_annotator)
    if family == "classification":
        return wilson(score, n, confidence=confidence)
    if family == "sts":
        if n < _LEAST_PAIRS:
            return _make_score_without_interval(score, n, f"none: fewer than {_LEAST_PAIRS} items")
        return fisher_z(score, n, confidence=confidence, error=error)
    if len(annotators) > 1:
        return replace(observed_range(annotators, n, "annotators"), value=score)
    if one_annotator == "none":
        return _make_score_without_interval(score, n, "none: one annotator")
    return wilson(score, n, confidence=confidence)


def bootstrap_map_over_queries(
    gold: Gold, answers: Answers, *, human_ap_mode: ApMode = "tie_aware", seed: int = 1337
) -> Estimate:
    """The MAP of people on a reranking task, with a bootstrap interval over queries: what other queries could have
    given. A query's value is the mean over its annotators, so with gaps the MAP may differ from the paper's.

    Source: spec hume 7 (the option for reranking). Raises UsageError where nobody answered.

    >>> bootstrap_map_over_queries({"q": (1, 0), "r": (0, 1)}, {"a": {"q": (1, 0), "r": (1, 0)}}).value
    0.75
    """
    queries = sorted({query for given in answers.values() for query in given})
    if not queries:
        raise UsageError("Nobody answered any query.", mend="Pass annotations of this task.")
    every = [
        [
            average_precision_of_marks(gold[query], given[query], human_ap_mode=human_ap_mode)
            for given in answers.values()
            if query in given
        ]
        for query in queries
    ]
    return bootstrap_ci([math.fsum(values) / len(values) for values in every], seed=seed)


def _make_score_without_interval(score: float, n: int, why: str) -> Estimate:
    return Estimate(score, n=n, method=why)


def _check_interval_arguments(family: str, annotators: Sequence[float], n: int, one_annotator: str) -> None:
    if family not in FAMILIES:
        raise UsageError(f"The family is {family!r}.", mend=f"Use one of {', '.join(FAMILIES)}.")
    if one_annotator not in ("wilson", "none"):
        raise UsageError(f"one_annotator is {one_annotator!r}.", mend="Use wilson or none.")
    if not len(annotators) or n < 1:
        raise UsageError(
            f"{len(annotators)} annotators and {n} items give no score.", mend="Pass at least one of each."
        )
