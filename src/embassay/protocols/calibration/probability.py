"""A calibration: what a similarity of one system means on pairs like those it was made from. Fitted, saved, loaded."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError, UsageError
from embassay.limits import read_bounded
from embassay.protocols.calibration.options import Promises
from embassay.protocols.tasks.task import similarity
from embassay.runs.folder import to_json, write_atomic
from embassay.stats.calibration import GRID, Chosen, Kind, band, choose, exact, fit
from embassay.stats.thresholds import Cost, Threshold, cheapest, labels_for, precise, sensitive
from embassay.systems import open_system
from embassay.text import open_tokenizer

FORMAT, VERSION = "embassay-calibration", 1
FEWEST = 10
"""Pairs of each label below which nothing is fitted."""
CORPUS = "reference"
"""Two texts are compared by themselves, so that a similarity doesn't depend on which others are asked for."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Probability:
    """How likely two texts mean the same: a share from 0 to 1 and the ends of its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f}-{self.high:.3f})"


@dataclass(frozen=True)
class Curve:
    """Through `n` labelled pairs, of which `positives` are the same: probabilities and the ends of their 95% intervals
    at `GRID` scores, with straight lines between, and the thresholds that keep a promise.

    `scores`, `probabilities`, `low` and `high` are of one length; beyond the ends the last value holds, a guess. Pairs
    that share a text are one of the `units` that bounds count.
    """

    kind: Kind
    n: int
    positives: int
    units: int
    scores: tuple[float, ...]
    probabilities: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    thresholds: tuple[Threshold, ...]
    cost: Cost | None = None

    def at(self, scores: Values) -> Values:
        """The probability at scores (n,)."""
        return np.interp(scores, self.scores, self.probabilities)

    def threshold(self, measure: str) -> Threshold:
        """That of a promise: `precision` or `recall`. UsageError for another."""
        for one in self.thresholds:
            if one.measure == measure:
                return one
        raise UsageError(f"There is no promise of {measure!r}.", mend="There are precision and recall.")


@dataclass(frozen=True)
class Calibration:
    """The curve of one system on one dataset. `spec` opens the system, `identity` is that of the one that was
    calibrated; graded pairs are the same from the grade `same_from` on."""

    system: str
    spec: str
    identity: str
    dataset: str
    fingerprint: str
    tokenizer: str
    seed: int
    same_from: float | None
    curve: Curve

    @overload
    def probability(self, first: str, second: str) -> Probability: ...  # type: ignore[overload-overlap]
    @overload
    def probability(self, first: Sequence[str], second: Sequence[str]) -> list[Probability]: ...
    def probability(self, first: Any, second: Any) -> Any:
        """How likely `first` and `second` mean the same: of two texts, or of each pair of two lists.

        ModelError when the system cannot be opened, DataError when it is not the one that was calibrated, or when a
        text cannot be encoded.
        """
        alone = isinstance(first, str)
        found = self.of(self.similarity([first] if alone else first, [second] if alone else second))
        return found[0] if alone else found

    def of(self, similarities: Sequence[float] | Values) -> list[Probability]:
        """How likely pairs of these similarities mean the same."""
        at, curve = np.asarray(similarities, dtype=np.float64), self.curve
        lines = (np.interp(at, curve.scores, line) for line in (curve.probabilities, curve.low, curve.high))
        return [Probability(*map(float, three)) for three in zip(*lines, strict=True)]

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> Values:
        """The similarities that the system gives the pairs (n,)."""
        if len(first) != len(second):
            raise UsageError(
                f"There are {len(first)} first and {len(second)} second texts.",
                mend="Give two lists of one length.",
            )
        found = similarity(self._opened, first, second)
        if np.isnan(found).any():
            place = int(np.argmax(np.isnan(found)))
            raise DataError(
                "A text could not be encoded",
                found=f"pair {place + 1}",
                mend="Leave it out, or make it shorter.",
            )
        return found

    def threshold(self, measure: str = "precision") -> float:
        """Accept what is this similar or more, for the promise of a measure: `precision` or `recall`. UsageError where
        no threshold keeps it."""
        value = self.curve.threshold(measure).value
        if value is None:
            raise UsageError(
                f"No threshold keeps the promise of {measure}.", mend="Label more pairs, or promise less."
            )
        return value

    def accepts(self, first: Sequence[str], second: Sequence[str], measure: str = "precision") -> list[bool]:
        """Whether each pair is accepted at the threshold of a promise."""
        bar = self.threshold(measure)
        return [bool(one >= bar) for one in self.similarity(first, second)]

    @cached_property
    def _opened(self) -> Any:
        tokenizer = open_tokenizer(self.tokenizer, later=True)
        system = open_system(self.spec, tokenizer=tokenizer, seed=self.seed, pair_corpus=CORPUS)
        if system.identity != self.identity:
            raise DataError(
                f"{self.system} is no longer the system that was calibrated",
                expected=self.identity, found=system.identity, mend="Run `embassay calibrate` again.",
            )  # fmt: skip
        return system

    def save(self, path: Path) -> None:
        """As JSON, in one step."""
        write_atomic(path, to_json({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1) + "\n")


def calibration(path: str | Path) -> Calibration:
    """Load what `embassay calibrate` saved: a file, or the folder of a run that has one. DataError for any other."""
    file = Path(path)
    if file.is_dir():
        found = sorted((file / "calibrations").glob("*.json"))
        if len(found) != 1:
            raise DataError(
                "There is no one calibration here" if found else "There is no calibration here", path=file,
                found=", ".join(one.name for one in found) or "none",
                mend="Give one of the files in its folder calibrations/.",
            )  # fmt: skip
        file = found[0]
    try:
        plain = json.loads(read_bounded(file).decode("utf-8"))
        if (plain.pop("format"), plain.pop("version")) != (FORMAT, VERSION):
            raise ValueError("another format")
        return Calibration(**plain | {"curve": _curve(plain["curve"])})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            "This is no calibration", path=file, expected=f"{FORMAT} {VERSION}", found=str(error) or "something else",
            mend="Give a file that `embassay calibrate` wrote.",
        ) from None  # fmt: skip


def _curve(plain: dict[str, Any]) -> Curve:
    lines = {name: tuple(map(float, plain[name])) for name in ("scores", "probabilities", "low", "high")}
    thresholds = tuple(Threshold(**one) for one in plain["thresholds"])
    cost = Cost(**plain["cost"]) if plain["cost"] else None
    return Curve(**plain | lines | {"thresholds": thresholds, "cost": cost})


def too_few(same: NDArray[np.bool_]) -> str:
    """Why nothing can be fitted; empty where it can."""
    counts = int(same.sum()), int((~same).sum())
    if min(counts) >= FEWEST:
        return ""
    return f"{counts[0]} pairs are the same and {counts[1]} are not: {FEWEST} of each are the fewest"


def fitted(
    scores: Values,
    same: NDArray[np.bool_],
    groups: NDArray[np.int64] | None,
    promises: Promises,
    rng: np.random.Generator,
) -> tuple[Curve, Chosen]:
    """The curve of scores (n,) and labels (n,), and its thresholds. Pairs of one group (n,) go together: bounds count
    one pair of each, drawn by chance."""
    chosen = choose(scores, same, groups, rng)
    grid = np.linspace(scores.min(), scores.max(), GRID)
    one = slice(None) if groups is None else _one_of_each(groups, rng)
    x, y = scores[one], same[one]
    probabilities = fit(chosen.kind, scores, same)(grid)
    low, high = band(grid, x, y)
    lines = (grid, probabilities, np.minimum(low, probabilities), np.maximum(high, probabilities))
    precision = precise(x, y, promises.precision, promises.confidence, rng)
    if precision.value is None:
        # A step of a few right pairs would ask for too few labels.
        smooth = fit("beta", scores, same)(scores)
        labels, best = labels_for(smooth, promises.precision, promises.confidence)
        tenth = y[np.argsort(-x, kind="stable")][: math.ceil(len(x) / 10)]
        most = exact(int(tenth.sum()), len(tenth), promises.confidence)[1]
        labels = None if labels is None else max(labels, len(x) + 1)
        precision = replace(precision, labels=labels, best=best, most=most)
    thresholds = (precision, sensitive(x, y, promises.recall, promises.confidence))
    cost = None
    if promises.wrong is not None and promises.missed is not None:
        cost = cheapest(x, y, promises.wrong, promises.missed, promises.confidence, rng)
    x_points, middle, bottom, top = (tuple(round(float(value), 9) for value in line) for line in lines)
    n, positives = len(same), int(same.sum())
    return Curve(chosen.kind, n, positives, len(x), x_points, middle, bottom, top, thresholds, cost), chosen


def _one_of_each(groups: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    order = rng.permutation(len(groups))
    _, first = np.unique(groups[order], return_index=True)
    return np.sort(order[first])
