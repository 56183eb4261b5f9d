"""How sure we are: per-item values or replicates -> intervals, tests and rank ranges, each a small record."""

from semblance.stats.bootstrap import (
    bootstrap_ci,
    paired_bootstrap,
    percentile_interval,
    resample_means,
    stratified_means,
)
from semblance.stats.estimate import Estimate, Significance
from semblance.stats.intervals import fisher_z, observed_range, wilson
from semblance.stats.mixed import MixedMean, mixed_mean
from semblance.stats.multiple import holm
from semblance.stats.power import items_needed, smallest_difference
from semblance.stats.randomization import randomization_test
from semblance.stats.ranks import PairTest, compare_replicates, rank_intervals, rank_ranges, z_test
from semblance.stats.signed_rank import hodges_lehmann, wilcoxon
from semblance.stats.stability import kendall_tau, rank_quantiles, win_probabilities

__all__ = [
    "Estimate",
    "MixedMean",
    "PairTest",
    "Significance",
    "bootstrap_ci",
    "compare_replicates",
    "fisher_z",
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
    "wilcoxon",
    "wilson",
    "win_probabilities",
    "z_test",
]
