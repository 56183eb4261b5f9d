"""What the grades of a golden set look like: how many decisive passages a question has, and how rare they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from embassay.measures.graded import GRADES

GOOD = 4
"""From this grade on a passage is one that a reader wants (spec rag 1.4)."""


@dataclass(frozen=True)
class QueryLabels:
    """The graded pool of one question: how many passages of grade 1, 2, 3, 4, 5."""

    query_id: str
    counts: tuple[int, ...]

    @property
    def pool(self) -> int:
        """Passages with a grade."""
        return sum(self.counts)

    @property
    def good(self) -> int:
        """Those of grade 4 or 5."""
        return sum(self.counts[GOOD - 1 :])

    @property
    def prevalence(self) -> float | None:
        """Their share of the pool; None for an empty one."""
        return self.good / self.pool if self.pool else None


def query_labels(query_id: str, grades: Sequence[int]) -> QueryLabels:
    """The counts of the grades of one question's pool (S4: all that were graded, spec rag 7.3)."""
    return QueryLabels(query_id, tuple(sum(one == grade for one in grades) for grade in GRADES))


def label_summary(labels: Sequence[QueryLabels], *, validated: int = 0) -> dict[str, float | None]:
    """The label summary table (spec rag 4.2) by name of the quantity, None where no question has any; `validated` are
    questions that people have checked. Prevalence is in percent, as in the paper's table."""
    five = [one.counts[4] for one in labels]
    four = [one.counts[3] for one in labels]
    good = [one.good for one in labels]
    shares = [100 * one.prevalence for one in labels if one.prevalence is not None]
    middles = {"grade5": five, "grade4": four, "grade4plus5": good}
    found: dict[str, float | None] = {"n_queries": len(labels), "n_human_validated": validated}
    for name, values in middles.items():
        found[f"{name}_count_median"] = float(median(values)) if values else None
        found[f"{name}_count_mean"] = float(mean(values)) if values else None
    found["grade4plus5_pool_prevalence_median_percent"] = float(median(shares)) if shares else None
    found["grade4plus5_pool_prevalence_mean_percent"] = float(mean(shares)) if shares else None
    found["pool_size_median"] = float(median([one.pool for one in labels])) if labels else None
    found["queries_without_grade5"] = sum(not one for one in five)
    found["queries_without_grade4plus5"] = sum(not one for one in good)
    return found


PAPER: Mapping[str, float] = {
    "n_queries": 50,
    "n_human_validated": 20,
    "grade5_count_median": 4.0,
    "grade5_count_mean": 10.7,
    "grade4_count_median": 4.0,
    "grade4_count_mean": 7.0,
    "grade4plus5_count_median": 10.0,
    "grade4plus5_count_mean": 17.7,
    "grade4plus5_pool_prevalence_median_percent": 12.6,
}
"""What the source's own golden set has, for orientation: its corpus and questions are not ours."""
