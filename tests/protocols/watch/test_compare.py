"""Whether two servers of one model answer alike: a part of the texts that differs is a difference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from embassay.protocols.watch.compare import compare_answers_of_two_systems
from embassay.protocols.watch.distances import compute_distances_relative_to_reference
from embassay.protocols.watch.options import OwnTextsAndQuestionsOptions
from embassay.protocols.watch.recording import list_items_to_ask
from watched_systems import MadeEncoder

ITEMS = list_items_to_ask("vectors", None, OwnTextsAndQuestionsOptions())
REPEATS = 3


def _answers(noise: float, seed: int) -> np.ndarray:
    return MadeEncoder(noise=noise, seed=seed).encode([item.text for item in ITEMS])


def _noise(noise: float, first: np.ndarray, seed: int) -> np.ndarray:
    return np.stack(
        [compute_distances_relative_to_reference(_answers(noise, seed + n), first) for n in range(REPEATS)], axis=1
    )


def _steady(a: np.ndarray, b: np.ndarray) -> dict[str, object]:
    """Of two sides that never vary."""
    none = np.zeros((len(a), REPEATS))
    return compare_answers_of_two_systems(ITEMS, a, b, none, none)


def _others(of: Sequence[int], a: np.ndarray) -> np.ndarray:
    b = a.copy()
    b[list(of)] = np.roll(b[list(of)], 1, axis=1)
    return b


@pytest.mark.parametrize("group", ["language", "code", "emoji"])
def test_servers_that_differ_in_some_texts_are_not_equal(group: str) -> None:
    """A smaller vocabulary changes other scripts alone: a third of the texts or fewer, and all of them for sure where
    neither side varies."""
    a = _answers(0.0, 1)
    rows = [row for row, item in enumerate(ITEMS) if item.group == group]
    told = _steady(a, _others(rows, a))
    assert told["beyond"] == len(rows) < len(ITEMS) / 3
    assert told["verdict"] != "equal"
    assert told["changes"]


def test_one_text_that_differs_is_a_difference_where_nothing_varies() -> None:
    """Deterministic servers: one other answer of 78 is no noise."""
    a = _answers(0.0, 1)
    assert _steady(a, _others([5], a))["verdict"] == "close"
    assert _steady(a, a.copy())["verdict"] == "equal"


def test_equal_servers_that_vary_are_seldom_told_apart() -> None:
    """Of 60 pairs of equal systems at a noise of 1 - cosine .001 and .0001 at most 6: 5% and two sigma."""
    alarms = 0
    for pair in range(60):
        noise = (1e-3, 1e-4)[pair % 2]
        a, b = _answers(noise, 1000 + 10 * pair), _answers(noise, 5000 + 10 * pair)
        noises = _noise(noise, a, 10_000 + 10 * pair), _noise(noise, b, 20_000 + 10 * pair)
        alarms += compare_answers_of_two_systems(ITEMS, a, b, *noises)["verdict"] != "equal"
    assert alarms <= 6
