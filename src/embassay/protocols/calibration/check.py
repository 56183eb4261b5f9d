"""`embassay calibrate check`: whether pairs are like those of a calibration, and whether labelled ones bear out its
promises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.data import Dataset, open_dataset
from embassay.data.rows import make_missing_column_error, read_text_cell
from embassay.errors import DataError
from embassay.protocols.calibration.probability import Calibration, calibration
from embassay.protocols.calibration.shift import FEWEST_COMPARED, NewPairDifferences
from embassay.protocols.calibration.slices import make_pairs_loader, mark_pairs_of_same_meaning
from embassay.stats.calibration import compute_clopper_pearson

MOST_PAIRS = 100_000
"""New pairs that are read at most; so many tell more than anybody asks."""


@dataclass(frozen=True)
class CalibrationPromiseCheck:
    """What became of a promise on `n` new pairs with labels: what was said of `measure`, and the share that it is of,
    with its exact 95% interval; None where that is of nothing."""

    measure: str
    aim: float
    threshold: float
    share: float | None
    low: float
    high: float
    n: int

    @property
    def is_promised_precision_missed(self) -> bool:
        """Whether the interval leaves the promise out."""
        return self.high < self.aim


@dataclass(frozen=True)
class CalibrationShiftCheck:
    """How new pairs differ from those of a calibration; `accepted` of each promise's threshold, and what became of it
    where the pairs are labelled."""

    system: str
    dataset: str
    likeness: NewPairDifferences
    accepted: Mapping[str, float]
    kept: tuple[CalibrationPromiseCheck, ...]
    left_out: int

    @property
    def is_calibration_usable(self) -> bool:
        """Whether nothing speaks against using the calibration on such pairs."""
        return self.likeness.is_similar_to_calibration_pairs and not any(
            promise.is_promised_precision_missed for promise in self.kept
        )

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, with what follows from it."""
        return {
            **asdict(self),
            "is_alike": self.likeness.is_similar_to_calibration_pairs,
            "is_passed": self.is_calibration_usable,
        }


def check_calibration_on_new_pairs(
    path: str | Path, dataset: str | Path, *, mapping: Mapping[str, str] | None = None, split: str | None = None
) -> CalibrationShiftCheck:
    """Compare the pairs of a dataset (`text`, `text2`, labels or not) with those of a saved calibration. DataError for
    files that are not what they should be, or with fewer than 30 pairs."""
    saved = calibration(path)
    opened = open_dataset(dataset, mapping=mapping or {}, split=split)
    first, second, same = _load_pairs_with_same_labels(saved, opened) or _load_unlabelled_pairs(opened)
    kept = [row for row, pair in enumerate(zip(first, second, strict=True)) if all(pair)]
    if len(kept) < FEWEST_COMPARED:
        raise DataError(
            "There are too few pairs to compare", path=str(dataset), expected=f"{FEWEST_COMPARED} or more",
            found=str(len(kept)), mend="Add more pairs of the kind that you use the calibration for."
        )  # fmt: skip
    left, right = ([column[row] for row in kept] for column in (first, second))
    likeness, similar = saved.compare_pairs_and_return_similarities(left, right)
    bars = {bar.measure: bar.value for bar in saved.curve.thresholds if bar.value is not None}
    accepted = {measure: float((similar >= value).mean()) for measure, value in bars.items()}
    truth = None if same is None else same[kept]
    told = () if truth is None else tuple(_check_threshold_promises(saved, similar, truth))
    return CalibrationShiftCheck(saved.system, saved.dataset, likeness, accepted, told, len(first) - len(kept))


Pairs = tuple[Sequence[str], Sequence[str], NDArray[np.bool_] | None]


def _load_pairs_with_same_labels(saved: Calibration, opened: Dataset) -> Pairs | None:
    """The pairs with labels, or grades where the calibration was of grades; None where there are none."""
    shapes = ("labelled_pairs",) if saved.same_from is None else ("pairs", "labelled_pairs")
    shape = next((shape for shape in shapes if not opened.missing(shape)), None)
    if shape is None:
        return None
    data = make_pairs_loader((shape,))(opened, MOST_PAIRS, saved.seed).data
    return data.first, data.second, mark_pairs_of_same_meaning(data, saved.same_from)


def _load_unlabelled_pairs(opened: Dataset) -> Pairs:
    source = opened.parts.get("labelled_pairs") or next(iter(opened.parts.values()))
    for name in ("text", "text2"):
        if name not in source.columns():
            raise make_missing_column_error(source, name, target=name)
    pairs: list[tuple[str, str]] = []
    for row in source.rows(("text", "text2")):
        pairs.append((read_text_cell(row, "text") or "", read_text_cell(row, "text2") or ""))
        if len(pairs) == MOST_PAIRS:
            break
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs], None


def _check_threshold_promises(
    saved: Calibration, similar: NDArray[np.float64], same: NDArray[np.bool_]
) -> Iterator[CalibrationPromiseCheck]:
    for bar in saved.curve.thresholds:
        if bar.value is None:
            continue
        accepted = similar >= bar.value
        of = int(accepted.sum() if bar.measure == "precision" else same.sum())
        hits = int((accepted & same).sum())
        low, high = compute_clopper_pearson(hits, of, 0.95) if of else (0.0, 1.0)
        yield CalibrationPromiseCheck(bar.measure, bar.aim, bar.value, hits / of if of else None, low, high, of)
