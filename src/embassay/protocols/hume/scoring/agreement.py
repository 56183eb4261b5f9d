"""How well the annotators of a task agree, by the coefficient of its family (spec hume 6)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

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


def people_agreement(family: Family, answers: Answers) -> PeopleAgreement:
    """The agreement of annotators on the items they share; `answers` as `answers_by_annotator` reads them.

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
    counts = [sum(item in own for own in answers.values()) for item in align(answers).items]
    shared = [count for count in counts if count > 1]
    taking_part = {name: own for name, own in answers.items() if own}
    coefficient = COEFFICIENT[family]
    values = _values(family, taking_part) if len(taking_part) > 1 else {}
    value = values.pop(coefficient, math.nan)
    return PeopleAgreement(
        coefficient=coefficient,
        value=value,
        band=agreement_band(value, BANDS[coefficient]),
        annotators=len(taking_part),
        items=len(shared),
        annotations=sum(shared),
        extras=values,
        reason=_reason(family, len(taking_part), len(shared)) if math.isnan(value) else "",
    )


def _reason(family: Family, annotators: int, items: int) -> str:
    if annotators < 2:
        return "fewer than two annotators"
    if not items:
        return "no item has two annotators"
    if family == "clustering":
        return "no two annotators share two items"
    return "all answers are the same" if family == "classification" else "answers do not vary"


def _values(family: Family, answers: Answers) -> dict[str, float]:
    if family == "reranking":
        return _of_marks(answers)
    rows = align(answers).rows
    if family == "clustering":
        return {
            name: mean_pairwise(rows, of).value for name, of in (("ari", _ari), ("v_measure", _v_measure))
        }
    if family == "sts":
        pairwise = {"spearman": spearman, "pearson": pearson, "absolute_difference": absolute_difference}
        values = {name: mean_pairwise(rows, function).value for name, function in pairwise.items()}
        return {**values, "alpha": _alpha(rows, "interval")}
    found = fleiss(rows)
    return {
        "fleiss_kappa": found.value,
        "cohen_kappa": mean_pairwise(rows, cohen_kappa).value,
        "percent_agreement": percent_agreement(rows),
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


def _of_marks(answers: Answers) -> dict[str, float]:
    found = marks_agreement(list(answers.values()))
    return {
        "spearman": found.spearman,
        "kendall": found.kendall,
        "cohen_kappa": found.kappa,
        "spearman_sd": found.spearman_sd,
        "comparisons": float(found.comparisons),
        "skipped": float(found.skipped),
    }
