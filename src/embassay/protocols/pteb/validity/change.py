"""The change on valid paraphrases alone, from a few that people have rated: what it is, and how much invalid ones add.

A unit is an item in one run; it is valid where all paraphrases that its score is made of are. Of all units the change
of the score is known, of those drawn at random and rated the validity as well. What is sought is the change of the
score over valid units. The rated ones give it; that their change differs by chance from that of all units is known, so
it is taken off as far as it helps (`embassay.stats.few_labels`, the estimator of corrected judges). Scores that are no
means enter by how far each unit moves them (`embassay.stats.influence`). Units of one item are not independent: items
are what the interval is over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.protocols.pteb.drops import Score
from embassay.stats import wilson
from embassay.stats.few_labels import FEWEST, HumanAndJudgeMean, compute_judge_corrected_mean
from embassay.stats.influence import (
    ScoreWithInfluence,
    average_precision_with_influence,
    mean_with_influence,
    spearman_with_influence,
)
from embassay.stats.intervals import Estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

METHOD = "95% Student's t interval over items, including the sampling of ratings; runs held fixed"
FAR = 0.95
"""Two invalid units are added to the rated ones, so that none among thirty is not taken for none at all: one loses and
the other gains what those do on average that move the score by more than this share of all. So no value moves, and the
interval widens."""
FEWEST_RATED = 20
"""Ratings below which there is no interval."""
FEWEST_RANKED = 50
"""Ratings below which an average precision has no interval: of 30 it held in 92%."""

MOST_LEFT_OUT = 1_000
"""Rated units of which each is left out in turn; of more the linear part is as good."""


@dataclass(frozen=True)
class OriginalAndParaphrasedValues:
    """The items of a task in every run: the number of the `item` (0 on), its value as it is written and paraphrased,
    and its gold where the score needs one; each (N,)."""

    item: Ints
    original: Floats
    paraphrased: Floats
    gold: Floats | None = None


@dataclass(frozen=True)
class ValidityShareByUnit:
    """Which units were rated, (n,), and the share of raters that call each valid, (n,); NaN where nobody could say."""

    unit: Ints
    valid: Floats

    @property
    def refused(self) -> int:
        """The number of units about which nobody could say anything."""
        return int(np.isnan(self.valid).sum())


@dataclass(frozen=True)
class ScoreChangeOnValidUnits:
    """The change of a score over `all` units and over `valid` ones, and what invalid ones add to it (`invalid`, all
    minus valid), as fractions; the share of units that are valid. `rated` counts those with an answer, `refused` those
    without; `worth` is how many ratings alone would tell as much. None with a `reason` where ratings are too few."""

    all: float
    valid: Estimate | None
    invalid: Estimate | None
    share: Estimate | None
    rated: int
    refused: int
    units: int
    worth: float = 0.0
    reason: str = ""


def estimate_valid_change(
    score: Score, units: OriginalAndParaphrasedValues, ratings: ValidityShareByUnit
) -> ScoreChangeOnValidUnits:
    """The change over valid units from a random sample of rated ones.

    Where somebody could not say, the value is of the others, and the interval covers that all of these are valid, and
    that none is. UsageError for shapes that do not fit.
    """
    n = len(units.item)
    if len(ratings.unit) != len(ratings.valid) or len(units.original) != n or len(units.paraphrased) != n:
        raise UsageError("Units and ratings do not match.", mend="Pass one value per unit and per rating.")
    known = ~np.isnan(ratings.valid)
    answered = ValidityShareByUnit(ratings.unit[known], ratings.valid[known])
    everything = _compute_score_change_with_influence(score, units, np.ones(n))
    count = len(answered.unit)
    if np.isnan(everything.value):
        return _make_undefined_valid_score_change(
            ratings, count, n, float("nan"), "the score is undefined on these items"
        )
    fewest = FEWEST_RANKED if score == "average precision" else FEWEST_RATED
    if count < fewest:
        return _make_undefined_valid_score_change(
            ratings, count, n, everything.value, f"{count} items rated; at least {fewest} are needed"
        )
    if answered.valid.sum() < FEWEST:
        reason = f"{answered.valid.sum():g} of {count} rated items are valid; at least {FEWEST} are needed"
        return _make_undefined_valid_score_change(ratings, count, n, everything.value, reason)
    main = _estimate_score_change_of_valid_units(score, units, answered, everything)
    if main is None:
        return _make_undefined_valid_score_change(
            ratings, count, n, everything.value, "the score is undefined on the valid items"
        )
    ends = [main.compute_interval_ends()]
    if ratings.refused:
        filled = (ValidityShareByUnit(ratings.unit, np.where(known, ratings.valid, end)) for end in (0.0, 1.0))
        ends += [
            made.compute_interval_ends()
            for part in filled
            if (made := _estimate_score_change_of_valid_units(score, units, part, everything))
        ]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    value, whole = main.value.point, everything.value
    valid = Estimate(value, low, high, count, METHOD)
    # The rest of the whole change: its low end belongs to the high end of the valid part.
    invalid = Estimate(whole - value, whole - high, whole - low, count, METHOD)
    share = wilson(float(answered.valid.mean()), count)
    return ScoreChangeOnValidUnits(whole, valid, invalid, share, count, ratings.refused, n, main.effective)


def _make_undefined_valid_score_change(
    ratings: ValidityShareByUnit, count: int, n: int, change: float, reason: str
) -> ScoreChangeOnValidUnits:
    share = wilson(float(np.nanmean(ratings.valid)), count) if count else None
    return ScoreChangeOnValidUnits(change, None, None, share, count, ratings.refused, n, reason=reason)


def _estimate_score_change_of_valid_units(
    score: Score, units: OriginalAndParaphrasedValues, ratings: ValidityShareByUnit, everything: ScoreWithInfluence
) -> HumanAndJudgeMean | None:
    rows = ratings.unit
    rated = _select_unit_rows(units, rows)
    valid = _compute_score_change_with_influence(score, rated, ratings.valid)
    if np.isnan(valid.value):
        return None
    every = everything.value + everything.influence
    people = _compute_pseudo_values(score, rated, ratings.valid, valid)
    moves = np.abs(everything.influence)
    far = float(moves[moves >= np.quantile(moves, FAR)].mean())
    center = float(every[rows].mean())
    added = np.array([center - far, center + far])
    own = units.item.max() + 1 + np.arange(len(added))
    # Changes of scores between -1 and 1; the ends are cut at what a change can be later.
    return compute_judge_corrected_mean(
        np.r_[people, np.full(len(added), valid.value)],
        np.r_[every[rows], added],
        np.r_[every, added],
        bounds=(-2.0, 2.0),
        groups=np.r_[units.item[rows], own],
        every_groups=np.r_[units.item, own],
    )


def _compute_pseudo_values(
    score: Score, rated: OriginalAndParaphrasedValues, weight: Floats, whole: ScoreWithInfluence
) -> Floats:
    """What each rated unit says of the change over valid ones: n times that of all minus n - 1 times that of the
    others, or its linear part where there are many, (n,)."""
    n = len(weight)
    if score == "mean" or n > MOST_LEFT_OUT:
        return np.asarray(whole.value + weight * whole.influence / float(weight.mean()))
    without = np.full(n, whole.value)
    for place in np.flatnonzero(weight):
        others = weight.copy()
        others[place] = 0.0
        without[place] = _compute_score_change_with_influence(score, rated, others).value
    return np.asarray(n * whole.value - (n - 1) * without)


def _select_unit_rows(units: OriginalAndParaphrasedValues, rows: Ints) -> OriginalAndParaphrasedValues:
    gold = None if units.gold is None else units.gold[rows]
    return OriginalAndParaphrasedValues(units.item[rows], units.original[rows], units.paraphrased[rows], gold)


def _compute_score_change_with_influence(
    score: Score, units: OriginalAndParaphrasedValues, weight: Floats
) -> ScoreWithInfluence:
    before, after = (_linearise_score(score, side, units.gold, weight) for side in (units.original, units.paraphrased))
    return ScoreWithInfluence(after.value - before.value, after.influence - before.influence)


def _linearise_score(score: Score, values: Floats, gold: Floats | None, weight: Floats) -> ScoreWithInfluence:
    if score == "mean":
        return mean_with_influence(values, weight)
    if gold is None:
        raise UsageError(f"Computing {score} from similarities needs gold values.", mend="Pass gold.")
    if score == "spearman":
        return spearman_with_influence(values, gold, weight)
    return average_precision_with_influence(gold, values, weight)
