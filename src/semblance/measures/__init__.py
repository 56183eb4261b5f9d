"""How well it did: pure functions, floats for one item, arrays for many; and the registry of their names."""

from semblance.measures.agreement import krippendorff_alpha
from semblance.measures.choices import BinaryScores, binary_classification
from semblance.measures.clusters import ami, ari, v_measure
from semblance.measures.correlation import pearson, spearman
from semblance.measures.edit import edit_distance, edit_distances
from semblance.measures.graded import Graded
from semblance.measures.grading import grade
from semblance.measures.judged import Judged, judge, judge_arrays
from semblance.measures.pairs import pair_average_precision
from semblance.measures.ranking import (
    average_precision,
    ndcg,
    ndcg_arrays,
    precision,
    recall,
    reciprocal_rank,
)
from semblance.measures.registry import (
    MEASURES,
    GradedMeasure,
    Measure,
    RankingMeasure,
    evaluate,
    evaluate_graded,
)

from semblance.measures import ceiling as _ceiling  # isort: skip  # noqa: F401

__all__ = [
    "MEASURES",
    "BinaryScores",
    "Graded",
    "GradedMeasure",
    "Judged",
    "Measure",
    "RankingMeasure",
    "ami",
    "ari",
    "average_precision",
    "binary_classification",
    "edit_distance",
    "edit_distances",
    "evaluate",
    "evaluate_graded",
    "grade",
    "judge",
    "judge_arrays",
    "krippendorff_alpha",
    "ndcg",
    "ndcg_arrays",
    "pair_average_precision",
    "pearson",
    "precision",
    "recall",
    "reciprocal_rank",
    "spearman",
    "v_measure",
]
