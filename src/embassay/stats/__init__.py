"""How sure we are: per-item values or replicates -> intervals, tests and rank ranges, each a small record."""

from embassay.stats.freedom import NORMAL, Freedom, freedom_of_difference, freedom_of_units
from embassay.stats.intervals import (
    Estimate,
    Significance,
    fisher_z,
    items_needed,
    observed_range,
    smallest_difference,
    t_quantile,
    t_tail,
    t_test,
    wilson,
)
from embassay.stats.mixed import MixedMean, mixed_mean
from embassay.stats.ranks import (
    PairTest,
    best_shares,
    compare_replicates,
    kendall_tau,
    rank_intervals,
    rank_quantiles,
    rank_ranges,
    win_probabilities,
)
from embassay.stats.resampling import (
    bootstrap_ci,
    corrected_interval,
    paired_bootstrap,
    percentile_interval,
    resample_means,
    stratified_means,
)
from embassay.stats.tests import hodges_lehmann, holm, randomization_test, wilcoxon

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
