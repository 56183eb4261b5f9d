"""How sure we are: per-item values or replicates -> intervals, tests and rank ranges, each a small record."""

from semblance.stats.bootstrap import (
    bootstrap_ci,
    paired_bootstrap,
    percentile_interval,
    resample_means,
    stratified_means,
)
from semblance.stats.estimate import Estimate, Significance
from semblance.stats.intervals import fisher_z, wilson
from semblance.stats.multiple import holm
from semblance.stats.randomization import randomization_test
from semblance.stats.ranks import PairTest, compare_replicates, rank_intervals, rank_ranges
from semblance.stats.signed_rank import hodges_lehmann, wilcoxon

__all__ = [
    "Estimate",
    "PairTest",
    "Significance",
    "bootstrap_ci",
    "compare_replicates",
    "fisher_z",
    "hodges_lehmann",
    "holm",
    "paired_bootstrap",
    "percentile_interval",
    "randomization_test",
    "rank_intervals",
    "rank_ranges",
    "resample_means",
    "stratified_means",
    "wilcoxon",
    "wilson",
]
