"""What a threshold of one system is on another's scale, from pairs that both have scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError, UsageError
from embassay.parquet import read_parquet
from embassay.randomness import generator
from embassay.runs.folder import RunFolder
from embassay.stats.resampling import rows_of_resamples

DRAWS = 1_000
Values = NDArray[np.float64]


@dataclass(frozen=True)
class ScoredByOne:
    """The pairs of a cell that was fitted, in the order of the data: ids, similarities (n,), whether they are the same
    (n,). Pairs that the system lost are not there."""

    ids: list[str]
    similar: Values
    same: NDArray[np.bool_]


def read_pairs(path: Path) -> ScoredByOne | None:
    """Those of a cell's items; None of a cell that was not fitted."""
    if not path.exists():
        return None
    frame = read_parquet(path, ["item_id", "measure", "value"])
    of = {name: frame.filter(frame["measure"] == name) for name in ("similarity", "same", "probability")}
    if of["probability"].is_empty():
        return None
    known = of["similarity"]["value"].is_not_null()
    similar, same = (of[name].filter(known) for name in ("similarity", "same"))
    ids: list[str] = similar["item_id"].to_list()
    return ScoredByOne(ids, similar["value"].to_numpy().astype(np.float64), same["value"].to_numpy() == 1)


@dataclass(frozen=True)
class Translation:
    """A threshold of `origin`, `given`, in the scale of `target`: `value` accepts as many of the same pairs. With the
    95% interval over pairs like them, the share accepted, the share on which both rules agree, and the precision of
    each (None where nothing is accepted)."""

    dataset: str
    origin: str
    target: str
    given: float
    value: float
    low: float
    high: float
    accepted: float
    agree: float
    precision: tuple[float | None, float | None]
    n: int


def translations(run: Path, origin: str, given: float, targets: Sequence[str] = ()) -> list[Translation]:
    """A threshold of one system of a calibration run in the scales of others, by default of all, on every dataset.

    Pairs that one of the two lost don't count. UsageError for a name that the run has not, DataError for a folder that
    is no calibration's.
    """
    folder = RunFolder(run)
    record = folder.read_manifest()
    if record is None or record.get("protocol") != "calibration":
        raise DataError(
            "There is no calibration here", path=run, mend="Give the --out of `embassay calibrate`."
        )
    names = {one["name"]: one["kind"] for one in record["systems"]}
    for name in (origin, *targets):
        if name not in names:
            raise UsageError(f"The run has no system {name!r}.", mend=f"It has {', '.join(names)}.")
    others = targets or [name for name, kind in names.items() if kind != "reference" and name != origin]
    found = []
    for dataset in (one["name"] for one in record["datasets"]):
        pairs = {name: read_pairs(folder.items_path("pairs", dataset, name)) for name in (origin, *others)}
        for other in others:
            a, b = pairs[origin], pairs[other]
            if a is not None and b is not None:
                rng = generator(record["arguments"]["seed"], "translation", dataset)
                found.append(translate(dataset, (origin, a), (other, b), given, rng))
    return found


def translate(
    dataset: str,
    origin: tuple[str, ScoredByOne],
    target: tuple[str, ScoredByOne],
    given: float,
    rng: np.random.Generator,
) -> Translation:
    """Equipercentile linking: it needs no labels, which only say how well both do. UsageError where `given` accepts all
    or none of the pairs, which says nothing of where it lies."""
    (name, one), (other, two) = origin, target
    places = {key: place for place, key in enumerate(two.ids)}
    rows = [place for place, key in enumerate(one.ids) if key in places]
    a, same = one.similar[rows], one.same[rows]
    b = two.similar[[places[one.ids[place]] for place in rows]]
    share = float((a >= given).mean()) if rows else 0.0
    if not 0 < share < 1:
        raise UsageError(
            f"{name} from {given:g} on accepts {'all' if share else 'none'} of the {len(rows)} pairs of {dataset}.",
            mend=f"Give a threshold between {a.min():.3f} and {a.max():.3f}."
            if rows
            else "Calibrate on other pairs.",
        )
    drawn = rows_of_resamples(len(a), DRAWS, rng)
    shares = (a[drawn] >= given).mean(axis=1)
    low, high = np.quantile(
        [_reached(b[draw], part) for draw, part in zip(drawn, shares, strict=True)], [0.025, 0.975]
    )
    value = _reached(b, share)
    return Translation(
        dataset, name, other, given, value, float(low), float(high), share,
        float(((a >= given) == (b >= value)).mean()),
        (_precision(same, a >= given), _precision(same, b >= value)), len(a),
    )  # fmt: skip


def _reached(scores: Values, share: float) -> float:
    """The score that a share of all reaches."""
    return float(np.quantile(scores, 1 - share, method="higher")) if share else float(scores.max())


def _precision(same: NDArray[np.bool_], accepted: NDArray[np.bool_]) -> float | None:
    return float(same[accepted].mean()) if accepted.any() else None
