"""What goes with the gap between people and models: slopes over the pairs of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from embassay.errors import UsageError
from embassay.protocols.hume.published.standings import PairWithPeopleRank, compare_people_with_models
from embassay.protocols.hume.record import DatasetLanguageRecord, Summary
from embassay.protocols.hume.resource import language_resource_class
from embassay.protocols.kernel.tables import (
    ColumnTable,
    ComputedColumn,
    format_noun_count,
    make_percentage_point_column,
    text,
    whole_number_column,
)
from embassay.stats import Estimate
from embassay.stats.regression import estimate_least_squares_slopes

FEW_PAIRS = 40
"""Pairs below which only large slopes can be told from none."""
PER_SLOPE = 8
"""Pairs for each slope of a joint fit; with fewer, none is made."""


class GapProperty(NamedTuple):
    """What may go with a gap: its name, the step that a slope is of, and its value for a pair; None: not known."""

    name: str
    step: str
    find: Callable[[DatasetLanguageRecord], float | None]


def _compute_ten_times_agreement(pair: DatasetLanguageRecord) -> float | None:
    value = pair.agreement.value.value if pair.agreement else None
    return None if value is None else 10 * value


def _has_leak_flag(pair: DatasetLanguageRecord) -> float:
    return float(any("overlap" in flag or "leak" in flag for flag in pair.flags))


PROPERTIES = (
    GapProperty("length", "10 words an item", lambda pair: None if pair.words is None else pair.words / 10),
    GapProperty("agreement", "0.1", _compute_ten_times_agreement),
    GapProperty("language resources", "1 class", lambda pair: language_resource_class(pair.lang)),
    GapProperty("train and test overlap", "yes", _has_leak_flag),
)


@dataclass(frozen=True)
class PeopleModelGapSlope:
    """Points by which people minus the median model changes with a step of a property: alone, and with the others
    held."""

    of: GapProperty
    pairs: int
    alone: Estimate | None
    joint: Estimate | None
    reason: str


def gap_slopes_table(summary: Summary) -> ColumnTable:
    """Table `hume_gaps`: least-squares slopes of people minus the median model, with HC3 intervals over pairs."""
    models = [models for models in compare_people_with_models(summary) if models.standing]
    warning = f" With only {len(models)} pairs, only large slopes can be detected." if len(models) < FEW_PAIRS else ""
    return ColumnTable.of(
        "hume_gaps",
        "HUME: properties associated with people minus the median model",
        _iterate_people_model_gap_slopes(models),
        text("property", "of.name"),
        text("per", "of.step"),
        whole_number_column("pairs"),
        *_make_slope_columns("alone", ""),
        *_make_slope_columns("joint", "joint_"),
        text("reason"),
        note="Slopes are in points per step, with HC3 intervals over pairs; joint slopes control for the other "
        f"properties. A property associated with the gap does not necessarily cause it.{warning}",
    )


def _make_slope_columns(find: str, prefix: str) -> Iterator[ComputedColumn]:
    for name, end in (("slope", "value"), ("low", "low"), ("high", "high")):
        yield make_percentage_point_column(f"{prefix}{name}", f"{find}.{end}", "signed")


@dataclass(frozen=True)
class HumanGapRegressionSlopes:
    """Slopes of columns, or why there are none."""

    slopes: tuple[Estimate, ...] = ()
    reason: str = ""


def _iterate_people_model_gap_slopes(models: Sequence[PairWithPeopleRank]) -> Iterator[PeopleModelGapSlope]:
    values = {of: [of.find(beside.pair) for beside in models] for of in PROPERTIES}
    gaps = [beside.standing.gap("median") for beside in models if beside.standing]
    alone = {of: _fit_model_people_gap_slopes(gaps, [values[of]]) for of in PROPERTIES}
    fitted = [of for of in PROPERTIES if alone[of].slopes]
    together = _fit_model_people_gap_slopes(gaps, [values[of] for of in fitted])
    # Empty where the properties together have no fit.
    joint = dict(zip(fitted, together.slopes, strict=False))
    for of in PROPERTIES:
        pairs = sum(value is not None for value in values[of])
        reason = alone[of].reason or (f"no joint fit: {together.reason}" if together.reason else "")
        yield PeopleModelGapSlope(of, pairs, next(iter(alone[of].slopes), None), joint.get(of), reason)


def _fit_model_people_gap_slopes(
    gaps: Sequence[float], columns: Sequence[Sequence[float | None]]
) -> HumanGapRegressionSlopes:
    """Over the pairs of which all columns are known."""
    rows = [i for i in range(len(gaps)) if all(column[i] is not None for column in columns)]
    if not columns or len(rows) < PER_SLOPE * len(columns):
        return HumanGapRegressionSlopes(
            reason=f"{len(rows)} pairs are too few to fit {format_noun_count(len(columns), 'slope')}"
        )
    x = np.array([[column[i] for column in columns] for i in rows], dtype=np.float64)
    try:
        return HumanGapRegressionSlopes(estimate_least_squares_slopes(x, np.array([gaps[i] for i in rows])))
    except UsageError as error:
        return HumanGapRegressionSlopes(reason=error.message.rstrip(".").lower())
