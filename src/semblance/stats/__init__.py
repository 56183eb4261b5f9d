"""How sure we are: per-item values or replicates -> intervals, tests and rank ranges, each a small record."""

from semblance.stats.bootstrap import (
    bootstrap_ci,
    paired_bootstrap,
    percentile_interval,
    resample_means,
    stratified_means,
)
from semblance.stats.corrected import corrected_interval
from semblance.stats.estimate import Estimate, Significance
from semblance.stats.freedom import NORMAL, Freedom, freedom_of_difference, freedom_of_units
from semblance.stats.intervals import fisher_z, observed_range, wilson
from semblance.stats.mixed import MixedMean, mixed_mean
from semblance.stats.multiple import holm
from semblance.stats.power import items_needed, smallest_difference
from semblance.stats.randomization import randomization_test
from semblance.stats.ranks import PairTest, compare_replicates, rank_intervals, rank_ranges
from semblance.stats.signed_rank import hodges_lehmann, wilcoxon
from semblance.stats.stability import best_shares, kendall_tau, rank_quantiles, win_probabilities
from semblance.stats.students import t_quantile, t_tail, t_test

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
