"""How the pages of HUME call measures, intervals, agreement, and those who answered."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols import numbers
from embassay.protocols.hume.study import Family
from embassay.protocols.hume.summary.record import Bar, PairRecord, Summary
from embassay.protocols.numbers import Unit

POINTS = Unit(100.0, 1, 1)
"""HUME's points: a hundred times the measure, one decimal."""
COEFFICIENT = Unit(1.0, 2, 2)
FAMILIES: dict[Family, str] = {
    "classification": "Classification", "clustering": "Clustering", "reranking": "Reranking", "sts": "STS"
}  # fmt: skip


def named(family: Family) -> str:
    """A family inside a sentence."""
    return FAMILIES[family] if FAMILIES[family].isupper() else FAMILIES[family].lower()


COEFFICIENTS = {
    "fleiss_kappa": "Fleiss’ κ", "cohen_kappa": "Cohen’s κ", "ari": "ARI", "spearman": "Spearman",
    "kendall": "Kendall’s τ-b", "alpha": "Krippendorff’s α", "percent_agreement": "equal answers",
    "v_measure": "V-measure", "pearson": "Pearson", "absolute_difference": "mean distance",
    "spearman_sd": "SD over queries", "dropped": "items dropped", "comparisons": "queries compared",
    "skipped": "queries skipped",
}  # fmt: skip
COUNTS = ("dropped", "comparisons", "skipped")
CONVENTIONS = {
    "paper": "By the rule", "pooled": "Answers pooled", "mean": "Mean of annotators", "first": "First annotator",
    "tie_aware": "Tie-aware AP", "display_order": "AP in display order", "expected": "AP expected over ties",
}  # fmt: skip
MEASURES = {"v_measure": "V-measure", "map": "MAP", "spearman": "Spearman"}
ALONE = "one annotator"


def answerers(summary: Summary | PairRecord) -> str:
    """Who answered: people, scripts that stand in for them, or both."""
    pairs = summary.pairs if isinstance(summary, Summary) else (summary,)
    kinds = {one.kind for pair in pairs for one in pair.annotators}
    return {"simulated": "simulated annotators"}.get(next(iter(kinds)), "people") if len(kinds) == 1 else (
        "annotators" if kinds else "people"
    )  # fmt: skip


def is_range(bar: Bar) -> bool:
    """Whether an interval runs from the lowest to the highest annotator: that is none at 95%."""
    return "range" in bar.method.lower() or "annotator" in bar.method.lower()


def points(bar: Bar) -> str:
    """A score in points, `n/a` where it has none."""
    return "n/a" if bar.value is None else POINTS.text(bar.value)


def percent(share: float | None) -> str:
    """Percent of human, one decimal; it can pass 100."""
    return numbers.NONE if share is None else f"{numbers.score(share, 1)}%"


def interval(bar: Bar, unit: Unit = POINTS) -> str:
    """The ends of an interval; empty where there is none."""
    return "" if bar.low is None or bar.high is None else unit.interval(bar.low, bar.high)


def scored(bar: Bar) -> str:
    """A score with what its interval is: `91.2 (95% 84.9–94.9)`, `49.2 (annotators 35.3–63.2)`."""
    ends = interval(bar)
    return points(bar) + (f" ({'annotators' if is_range(bar) else '95%'} {ends})" if ends else "")


def agreed(pair: PairRecord) -> str:
    """Agreement as word and value: `fair 0.39`; `one annotator`, or why there is none."""
    found = pair.agreement
    if found is not None and found.value.value is not None:
        return f"{found.band} {COEFFICIENT.text(found.value.value)}"
    if found is not None and found.value.reason:
        return found.value.reason
    if pair.human.value is None:
        return "nobody answered" if not pair.annotators else "n/a"
    return ALONE if len(pair.annotators) == 1 else "not known"


def pair_names(pairs: Sequence[PairRecord], most: int = 4) -> str:
    """The first few pairs by name, and how many more."""
    named = [pair.name for pair in pairs[:most]]
    if len(pairs) > most:
        named.append(f"{len(pairs) - most} more")
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1]))) if named else ""
