"""How well it did: pure functions, floats for one item, arrays for many; and the registry of their names."""

from embassay.measures.agreement import krippendorff_alpha
from embassay.measures.bands import agreement_band
from embassay.measures.borrowed import alpha_ndcg, nrbp, rbp
from embassay.measures.calls import (
    graded_precision,
    harm,
    hit,
    hit_feasible,
    judged_share,
    n_recall,
    proc,
    ra_nwg,
    ra_nwg_novelty,
)
from embassay.measures.choices import BinaryScores, binary_classification
from embassay.measures.clusters import ami, ari, v_measure
from embassay.measures.correlation import pearson, spearman
from embassay.measures.edit import edit_distance, edit_distances
from embassay.measures.flagged import Flags, flags
from embassay.measures.graded import Graded, Sources, treat_unjudged
from embassay.measures.grading import grade
from embassay.measures.judged import Judged, judge, judge_arrays
from embassay.measures.kappa import Fleiss, cohen_kappa, fleiss, fleiss_kappa, percent_agreement
from embassay.measures.lists import list_tau, overlap
from embassay.measures.marks import MarksAgreement, marks_agreement
from embassay.measures.novelty import Novelty
from embassay.measures.pairs import pair_average_precision
from embassay.measures.ranking import (
    average_precision,
    ndcg,
    ndcg_arrays,
    precision,
    recall,
    reciprocal_rank,
)
from embassay.measures.rarity import Weighting, weights
from embassay.measures.raters import Aligned, Pairwise, absolute_difference, align, mean_pairwise
from embassay.measures.registry import (
    MEASURES,
    GradedMeasure,
    Measure,
    RankingMeasure,
    evaluate,
    evaluate_graded,
)
from embassay.measures.sensitivity import Sensitivity, sensitivity_grid
from embassay.measures.summary import (
    HitAccuracy,
    Macro,
    PercentProc,
    accuracy_given_hit,
    count_over_one,
    macro,
    percent_proc,
)

__all__ = [
    "MEASURES",
    "Aligned",
    "BinaryScores",
    "Flags",
    "Fleiss",
    "Graded",
    "GradedMeasure",
    "HitAccuracy",
    "Judged",
    "Macro",
    "MarksAgreement",
    "Measure",
    "Novelty",
    "Pairwise",
    "PercentProc",
    "RankingMeasure",
    "Sensitivity",
    "Sources",
    "Weighting",
    "absolute_difference",
    "accuracy_given_hit",
    "agreement_band",
    "align",
    "alpha_ndcg",
    "ami",
    "ari",
    "average_precision",
    "binary_classification",
    "cohen_kappa",
    "count_over_one",
    "edit_distance",
    "edit_distances",
    "evaluate",
    "evaluate_graded",
    "flags",
    "fleiss",
    "fleiss_kappa",
    "grade",
    "graded_precision",
    "harm",
    "hit",
    "hit_feasible",
    "judge",
    "judge_arrays",
    "judged_share",
    "krippendorff_alpha",
    "list_tau",
    "macro",
    "marks_agreement",
    "mean_pairwise",
    "n_recall",
    "ndcg",
    "ndcg_arrays",
    "nrbp",
    "overlap",
    "pair_average_precision",
    "pearson",
    "percent_agreement",
    "percent_proc",
    "precision",
    "proc",
    "ra_nwg",
    "ra_nwg_novelty",
    "rbp",
    "recall",
    "reciprocal_rank",
    "sensitivity_grid",
    "spearman",
    "treat_unjudged",
    "v_measure",
    "weights",
]
