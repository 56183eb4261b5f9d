"""An object whose weights change is another system."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.systems import open_system
from embassay.systems.objects import register_systems_and_list_specs


class Trained:
    """An encoder with one weight, as a model in training has many."""

    def __init__(self) -> None:
        self.weight = 1.0

    @property
    def identity(self) -> str:
        return f"trained/{self.weight}"

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array([[self.weight, float(len(text))] for text in texts])


def test_weights_that_change_in_place_give_another_identity() -> None:
    """Else the scores of a model in training would all be those of its first evaluation."""
    model = Trained()
    (spec,) = register_systems_and_list_specs({"trained": model})
    first = open_system(spec)
    before = first.pairs(["a"], ["abc"])[0]
    assert open_system(*register_systems_and_list_specs({"trained": model})).identity == first.identity
    model.weight = 50.0
    (spec,) = register_systems_and_list_specs({"trained": model})
    second = open_system(spec)
    assert second.identity != first.identity
    assert second.pairs(["a"], ["abc"])[0] != pytest.approx(before)
