"""Whether pairs are like those that a calibration was made on: then its promises hold for them, else nothing does.

A threshold is a promise about pairs like the labelled ones. Similarities alone often look alike where texts do not, so
both texts of a pair are compared as well, by what can be counted without knowing their language. Texts are not kept:
of each calibration pair its file has these numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

SIMILARITY = "similarity"
FEATURES = {
    SIMILARITY: "similarity",
    "length": "characters per text",
    "ratio": "length of the shorter text divided by the longer",
    "common": "share of words in common",
    "word": "characters per word",
    "capitals": "share of capital letters",
    "digits": "share of digits",
    "marks": "share of other characters",
    "foreign": "share of non-ASCII letters",
}
"""What is compared, and what it is called."""
KEPT = 500
"""Calibration pairs whose numbers are kept at most."""
FEWEST_COMPARED = 30
"""New pairs below which nothing is compared: a test would find only what one sees."""
ALPHA = 0.01
"""How often pairs that are like them are taken for others, at most."""
_DIGITS = 4


def measure_pair_features(similar: Values, first: Sequence[str], second: Sequence[str]) -> dict[str, Values]:
    """The numbers of pairs (n,) by name; of scores alone (no texts), the similarity alone."""
    if not len(first):
        return {SIMILARITY: similar}
    rows = np.array(list(starmap(_compute_text_pair_features, zip(first, second, strict=True))), dtype=np.float64)
    names = [name for name in FEATURES if name != SIMILARITY]
    return {SIMILARITY: similar} | {name: rows[:, place] for place, name in enumerate(names)}


def _compute_text_pair_features(first: str, second: str) -> tuple[float, ...]:
    texts = first + second
    own, other = set(first.lower().split()), set(second.lower().split())
    letters = sum(map(str.isalpha, texts))
    blanks = sum(map(str.isspace, texts))
    digits = sum(map(str.isdigit, texts))
    words = len(first.split()) + len(second.split())
    size = max(len(texts), 1)
    return (
        len(texts) / 2,
        min(len(first), len(second)) / max(len(first), len(second), 1),
        len(own & other) / max(len(own | other), 1),
        (size - blanks) / max(words, 1),
        sum(map(str.isupper, texts)) / max(letters, 1),
        digits / size,
        (size - letters - blanks - digits) / size,
        sum(letter.isalpha() and not letter.isascii() for letter in texts) / max(letters, 1),
    )


Reference = Mapping[str, tuple[float, ...]]
"""The numbers of calibration pairs, by name."""


def sample_pair_features_each_sorted(
    numbers: Mapping[str, Values], rng: np.random.Generator
) -> dict[str, tuple[float, ...]]:
    """Sample the features of at most `KEPT` pairs, each sorted, so that no row is any pair's."""
    size = len(numbers[SIMILARITY])
    rows = rng.permutation(size)[:KEPT]
    return {
        name: tuple(round(float(value), _DIGITS) for value in np.sort(values[rows])) for name, values in numbers.items()
    }


@dataclass(frozen=True)
class CalibrationPairFeatureShift:
    """One number of calibration pairs and of new ones: the medians, how far their distributions are apart (0 to 1), and
    the p-value with all that is compared taken into account."""

    name: str
    calibrated: float
    new: float
    distance: float
    p: float


@dataclass(frozen=True)
class NewPairDifferences:
    """How `n` new pairs differ from those of a calibration, by each number, the most different first."""

    n: int
    differences: tuple[CalibrationPairFeatureShift, ...]

    @property
    def is_similar_to_calibration_pairs(self) -> bool:
        """Whether the new pairs are like those of the calibration."""
        return all(difference.p >= ALPHA for difference in self.differences)

    def __str__(self) -> str:
        """What differs most, in words."""
        worst = self.differences[0]
        if self.is_similar_to_calibration_pairs:
            return f"{self.n:,} pairs look like the calibration pairs"
        return (
            f"{self.n:,} pairs differ from the calibration pairs, mostly in {FEATURES[worst.name]}: median "
            f"{worst.new:.3g} instead of {worst.calibrated:.3g}"
        )


def compare_pair_features(reference: Reference, numbers: Mapping[str, Values]) -> NewPairDifferences:
    """By Kolmogorov and Smirnov for each number, with Bonferroni's correction: one that differs is enough, and it says
    which."""
    from scipy.stats import ks_2samp

    names = [name for name in FEATURES if name in reference and name in numbers]
    differences = []
    for name in names:
        # Rounded as the kept numbers are, or equal ones would differ.
        kept, new = np.array(reference[name]), np.round(numbers[name], _DIGITS)
        test = ks_2samp(kept, new, method="asymp")
        p = min(float(test.pvalue) * len(names), 1.0)
        differences.append(
            CalibrationPairFeatureShift(name, float(np.median(kept)), float(np.median(new)), float(test.statistic), p)
        )
    return NewPairDifferences(
        len(numbers[SIMILARITY]),
        tuple(sorted(differences, key=lambda difference: (difference.p, -difference.distance))),
    )


WATCHED = 100
"""Pairs that come one by one are compared when there are so many."""


class PairShiftWatch:
    """Compares what a calibration is asked about with what it was made on: a list of pairs at once, single ones when
    there are `WATCHED`."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference
        self._waiting: list[Mapping[str, Values]] = []

    def describe_pair_shift_if_detected(self, numbers: Mapping[str, Values]) -> str:
        """Warn of pairs that differ from the reference; empty where they are alike or too few."""
        if not self._reference:
            return ""
        if len(numbers[SIMILARITY]) < FEWEST_COMPARED:
            self._waiting.append(numbers)
            if sum(len(part[SIMILARITY]) for part in self._waiting) < WATCHED:
                return ""
            names = set.intersection(*(set(part) for part in self._waiting))
            numbers = {name: np.concatenate([part[name] for part in self._waiting]) for name in names}
            self._waiting = []
        likeness = compare_pair_features(self._reference, numbers)
        if likeness.is_similar_to_calibration_pairs:
            return ""
        return f"{likeness}. No guarantee applies to them: label some of them and calibrate again."
