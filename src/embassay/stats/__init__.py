"""How sure we are: per-item values or replicates -> intervals, tests and rank ranges, each a small record."""

from embassay.stats.bootstrap import (
    bootstrap_ci,
    paired_bootstrap,
    percentile_interval,
    resample_means,
    stratified_means,
)
from embassay.stats.corrected import corrected_interval
from embassay.stats.estimate import Estimate, Significance
from embassay.stats.freedom import NORMAL, Freedom, freedom_of_difference, freedom_of_units
from embassay.stats.intervals import fisher_z, observed_range, wilson
from embassay.stats.mixed import MixedMean, mixed_mean
from embassay.stats.multiple import holm
from embassay.stats.power import items_needed, smallest_difference
from embassay.stats.randomization import randomization_test
from embassay.stats.ranks import PairTest, compare_replicates, rank_intervals, rank_ranges
from embassay.stats.signed_rank import hodges_lehmann, wilcoxon
from embassay.stats.stability import best_shares, kendall_tau, rank_quantiles, win_probabilities
from embassay.stats.students import t_quantile, t_tail, t_test

__all__ = [
    "NORMAL",
    "Estimate",
    "Freedom",
    "MixedMean",
    "PairTest",
    "Significance",
    "best_shares",
    "bootstrap_ci",
    "compare_replicates",
    "corrected_interval",
    "fisher_z",
    "freedom_of_difference",
    "freedom_of_units",
    "hodges_lehmann",
    "holm",
    "items_needed",
    "kendall_tau",
    "mixed_mean",
    "observed_range",
    "paired_bootstrap",
    "percentile_interval",
    "randomization_test",
    "rank_intervals",
    "rank_quantiles",
    "rank_ranges",
    "resample_means",
    "smallest_difference",
    "stratified_means",
    "t_quantile",
    "t_tail",
    "t_test",
    "wilcoxon",
    "wilson",
    "win_probabilities",
]
