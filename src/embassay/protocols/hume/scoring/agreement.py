"""How well the annotators of a task agree, by the coefficient of its family (spec hume 6)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from embassay.errors import UsageError
from embassay.measures import (
    absolute_difference,
    agreement_band,
    align,
    ari,
    cohen_kappa,
    fleiss,
    krippendorff_alpha,
    marks_agreement,
    mean_pairwise,
    pearson,
    percent_agreement,
    spearman,
    v_measure,
)
from embassay.protocols.hume.study import Answers, Family

Coefficient = Literal["fleiss_kappa", "ari", "spearman"]
COEFFICIENT: Mapping[Family, Coefficient] = {
    "classification": "fleiss_kappa",
    "clustering": "ari",
    "reranking": "spearman",
    "sts": "spearman",
}
"""The headline of each family."""
MIN_SHARED = 10
"""Two annotators are compared from this many items on, or where the task has fewer, from all of them."""
BANDS: Mapping[Coefficient, Literal["kappa", "correlation", "ari"]] = {
    "fleiss_kappa": "kappa",
    "ari": "ari",
    "spearman": "correlation",
}
"""How each is read in words."""


@dataclass(frozen=True)
class PeopleAgreement:
    """The `value` of a `coefficient` in words (`band`), and the others of the family in `extras`.

    `items` are those that two or more annotated, `annotations` all answers to them. NaN where a value is undefined; for
    the headline `reason` then says why, and `band` is "NA".
    """

    coefficient: Coefficient
    value: float
    band: str
    annotators: int
    items: int
    annotations: int
    extras: Mapping[str, float]
    reason: str = ""


def shared_items(answers: Answers) -> int:
    """How many items two or more annotated."""
    counts = Counter(item for own in answers.values() for item in own)
    return sum(count > 1 for count in counts.values())


def least_shared(answers: Answers, min_shared: int = MIN_SHARED) -> int:
    """How many items two annotators must share to be compared: `min_shared`, or all where fewer are shared at all."""
    return max(1, min(min_shared, shared_items(answers)))


def people_agreement(family: Family, answers: Answers, *, min_shared: int = MIN_SHARED) -> PeopleAgreement:
    """The agreement of annotators on the items they share; `answers` as `answers_by_annotator` reads them.

    A mean over pairs of annotators weighs each by the items it shares, and leaves out pairs that share fewer than
    `min_shared`, or than all where the task has fewer. Fleiss' kappa and Krippendorff's alpha are over all answers.

    Extras, by family: `cohen_kappa` (mean over pairs), `percent_agreement` as a share, `alpha` (Krippendorff's) and
    `dropped` (items that Fleiss' kappa could not use); `v_measure`; `pearson`, `absolute_difference` and `alpha`; for
    reranking `kendall`, `cohen_kappa`, `spearman_sd`, and the `comparisons` made and `skipped`.
    Source: spec hume 6. Raises UsageError where one query has marks for different numbers of documents, or for another
    family.

    >>> groups = {"ann": {"1": "x", "2": "x", "3": "y"}, "bob": {"1": "p", "2": "p", "3": "q"}}
    >>> found = people_agreement("clustering", groups)
    >>> found.value, found.band
    (1.0, 'excellent')
    """
    if family not in COEFFICIENT:
        raise UsageError(f"The family is {family!r}.", mend=f"Use one of {', '.join(COEFFICIENT)}.")
    counts = Counter(item for own in answers.values() for item in own)
    shared = [count for count in counts.values() if count > 1]
    taking_part = {name: own for name, own in answers.items() if own}
    coefficient = COEFFICIENT[family]
    least = least_shared(answers, min_shared)
    values = _values(family, taking_part, least) if len(taking_part) > 1 else {}
    value = values.pop(coefficient, math.nan)
    return PeopleAgreement(
        coefficient=coefficient,
        value=value,
        band=agreement_band(value, BANDS[coefficient]),
        annotators=len(taking_part),
        items=len(shared),
        annotations=sum(shared),
        extras=values,
        reason=_reason(family, taking_part, least) if math.isnan(value) else "",
    )


def _reason(family: Family, answers: Answers, least: int) -> str:
    if len(answers) < 2:
        return "fewer than two annotators"
    if not shared_items(answers):
        return "no item has two annotators"
    most = max(len(one.keys() & other.keys()) for one, other in combinations(answers.values(), 2))
    if most < least:
        return f"no two annotators share {least} items"
    if family == "clustering":
        return "no two annotators share two items"
    return "all answers are the same" if family == "classification" else "answers do not vary"


def _values(family: Family, answers: Answers, least: int) -> dict[str, float]:
    if family == "reranking":
        return _of_marks(answers, least)
    rows = align(answers).rows

    def mean(of: Callable[[Any, Any], Any]) -> float:
        return mean_pairwise(rows, of, min_shared=least).value

    if family == "clustering":
        return {"ari": mean(_ari), "v_measure": mean(_v_measure)}
    if family == "sts":
        pairwise = {"spearman": spearman, "pearson": pearson, "absolute_difference": absolute_difference}
        values = {name: mean(function) for name, function in pairwise.items()}
        return {**values, "alpha": _alpha(rows, "interval")}
    found = fleiss(rows)
    return {
        "fleiss_kappa": found.value,
        "cohen_kappa": mean(cohen_kappa),
        "percent_agreement": percent_agreement(rows, min_shared=least),
        "alpha": _alpha(rows, "nominal"),
        "dropped": float(found.dropped),
    }


# One item alone is with nobody: both measures would call that perfect agreement.
def _ari(one: list[str], other: list[str]) -> float:
    return ari(one, other) if len(one) > 1 else math.nan


def _v_measure(one: list[str], other: list[str]) -> float:
    return v_measure(one, other) if len(one) > 1 else math.nan


def _alpha(rows: tuple[tuple[object, ...], ...], level: Literal["nominal", "interval"]) -> float:
    return float(krippendorff_alpha(rows, level))


def _of_marks(answers: Answers, least: int) -> dict[str, float]:
    found = marks_agreement(list(answers.values()), min_shared=least)
    return {
        "spearman": found.spearman,
        "kendall": found.kendall,
        "cohen_kappa": found.kappa,
        "spearman_sd": found.spearman_sd,
        "comparisons": float(found.comparisons),
        "skipped": float(found.skipped),
    }
