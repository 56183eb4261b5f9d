"""Calibration files that were changed by hand: read as they are, or refused, never a raw exception."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import embassay as eb
from embassay.errors import DataError, EmbassayError
from embassay.protocols.calibration.probability import Calibration, SamenessProbabilityCurve
from embassay.stats.calibration import AcceptanceThreshold, CheapestThreshold
from embassay.stats.few_labels import MoreLabelsOutlook
from embassay.systems import open_system
from embassay.text import open_tokenizer

THRESHOLDS = (
    AcceptanceThreshold("precision", 0.9, 0.95, 0.5, 40, 20, 10, 9, best=0.9, ahead=(MoreLabelsOutlook(50, 0.1, 0.5),)),
    AcceptanceThreshold("recall", 0.9, 0.95, None, 40, 20, labels=100),
)
CURVE = SamenessProbabilityCurve(
    "beta", 40, 20, 40, (0.0, 0.5, 1.0), (0.1, 0.5, 0.9), (0.0, 0.4, 0.8), (0.2, 0.6, 1.0), THRESHOLDS,
    CheapestThreshold(0.5, 1.0, 1.0, 0.95, 20, 0.1, 0.2, 0.5, 0.5),
)  # fmt: skip
ODD = (
    None, True, -1, 0.5, 1e308, 10**400, "", "x", "1", "\ud800", "jaccard?x=1", "jaccard?w=[1]", "python:os:getcwd",
    "(((", [], [1], ["a"], {}, {"a": 1},
)  # fmt: skip


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A calibration of jaccard on disk."""
    identity = open_system("jaccard", tokenizer=open_tokenizer("words"), pair_corpus="reference").identity
    path = tmp_path / "saved.json"
    Calibration("jaccard", "jaccard", identity, "sample", "f", "words", 1, None, CURVE).save(path)
    return path


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from _places(part, (*at, key))


def _changed(plain: Any, at: tuple[Any, ...], value: Any) -> Any:
    """The value in place of another; `...` takes it out."""
    if not at:
        return value
    whole = copy.deepcopy(plain)
    inner = whole
    for key in at[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return whole


def _use(path: Path) -> None:
    read = eb.calibration(path)
    for use in (
        lambda: read.probability("a fox", "the fox"), lambda: read.of([0.3]), lambda: read.threshold("recall"),
        lambda: read.accepts_as_same(["a fox"], ["the fox"]),
    ):  # fmt: skip
        try:
            use()
        except EmbassayError:
            continue


def test_as_it_was_saved(saved: Path) -> None:
    """Every field comes back, whole numbers among floats too."""
    assert asdict(eb.calibration(saved).curve) == asdict(CURVE)
    assert eb.calibration(saved).accepts_as_same("a fox", "a fox")
    assert eb.calibration(saved).probability("a fox", "a fox").value == 0.9


@pytest.mark.slow
def test_every_field_with_every_odd_value(saved: Path) -> None:
    plain = json.loads(saved.read_text())
    tampered = saved.with_name("tampered.json")
    for at in _places(plain):
        for value in ODD if not at else (*ODD, ...):
            tampered.write_text(json.dumps(_changed(plain, at, value)))
            try:
                _use(tampered)
            except EmbassayError:
                continue


@pytest.mark.parametrize(
    ("at", "value", "fault"),
    [
        (("seed",), "1", "seed"), (("tokenizer",), ["words"], "tokenizer"), (("spec",), 3, "spec"),
        (("more",), 1, "unknown field 'more'"), (("curve", "cost", "more"), 1, "unknown field 'more'"),
        (("curve", "thresholds", 0, "ahead", 0, "half"), "x", "half"), (("curve", "positives"), 41, "41 positives"),
        (("curve", "thresholds", 0, "right"), 11, "11 right of 10 accepted"), (("curve", "n"), ..., "curve.n"),
        (("curve", "thresholds", 1, "measure"), "precision", "two thresholds"), (("seed",), -1, "seed is -1"),
        (("curve", "scores", 0), 0.7, "not in ascending"), (("curve", "high", 0), 0.05, "outside its interval"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_field(saved: Path, at: tuple[Any, ...], value: Any, fault: str) -> None:
    saved.write_text(json.dumps(_changed(json.loads(saved.read_text()), at, value)))
    with pytest.raises(DataError, match=fault):
        eb.calibration(saved)
