"""Simulated years: planted changes are found, and years without one have an alarm no oftener than promised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
pytestmark = [pytest.mark.minilm, pytest.mark.nightly]
FOUND = {"fallback for 5% of requests": (3, 0.9), "weights moved by 0.5%": (30, 0.1)}
"""Changes that the first check need not find: by which check, in what share of years at least."""


@pytest.fixture(scope="module")
def power() -> Any:
    """The benchmark whose results are in docs/watch.md."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        import watch_power

        yield watch_power


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("noise", [1e-4, 1e-3, 1e-2])
def test_a_year_without_a_change_is_quiet(power: Any, noise: float, uneven: bool) -> None:
    """Of 1,000 years at most alpha have an alarm, and three standard errors."""
    rng = np.random.default_rng(3)
    alarms = sum(power.has_false_alarm(noise, rng, uneven=uneven) for _ in range(1000))
    assert alarms / 1000 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)


def test_planted_changes_are_found(power: Any) -> None:
    """Each under each noise, over 100 years: at the first check but for two, and nearly always by its name."""
    for world in power.make_worlds():
        within, least = FOUND.get(world.name, (1, 1.0))
        for noise in power.NOISES:
            rng = np.random.default_rng([5, round(noise * 1e6)])
            nights, kinds = zip(*(power.nights_until_found(world, noise, rng) for _ in range(100)), strict=True)
            share = np.mean([0 < night <= within for night in nights])
            assert share >= least, (world.name, noise, share)
            named = [world.kind in kind for kind in kinds if kind]
            assert np.mean(named) >= 0.9, (world.name, noise, kinds[:3])
