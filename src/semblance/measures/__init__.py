"""How well it did: pure functions, floats for one item, arrays for many; and the registry of their names."""

from semblance.measures.agreement import krippendorff_alpha
from semblance.measures.bands import agreement_band
from semblance.measures.borrowed import alpha_ndcg, nrbp, rbp
from semblance.measures.calls import (
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
from semblance.measures.choices import BinaryScores, binary_classification
from semblance.measures.clusters import ami, ari, v_measure
from semblance.measures.correlation import pearson, spearman
from semblance.measures.edit import edit_distance, edit_distances
from semblance.measures.flagged import Flags, flags
from semblance.measures.graded import Graded, Sources, treat_unjudged
from semblance.measures.grading import grade
from semblance.measures.judged import Judged, judge, judge_arrays
from semblance.measures.kappa import Fleiss, cohen_kappa, fleiss, fleiss_kappa, percent_agreement
from semblance.measures.lists import list_tau, overlap
from semblance.measures.marks import MarksAgreement, marks_agreement
from semblance.measures.novelty import Novelty
from semblance.measures.pairs import pair_average_precision
from semblance.measures.ranking import (
    average_precision,
    ndcg,
    ndcg_arrays,
    precision,
    recall,
    reciprocal_rank,
)
from semblance.measures.rarity import Weighting, weights
from semblance.measures.raters import Aligned, Pairwise, absolute_difference, align, mean_pairwise
from semblance.measures.registry import (
    MEASURES,
    GradedMeasure,
    Measure,
    RankingMeasure,
    evaluate,
    evaluate_graded,
)
from semblance.measures.sensitivity import Sensitivity, sensitivity_grid
from semblance.measures.summary import (
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
