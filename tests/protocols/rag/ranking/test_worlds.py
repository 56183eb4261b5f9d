"""The simulated worlds of `benchmarks/ranking_worlds.py`, and what the engines do on them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from math import atan, pi
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from embassay.protocols.rag.ranking import CandidateRanking
from embassay.protocols.rag.ranking.engines import ENGINES

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def worlds() -> ModuleType:
    """The benchmark's module; it is no part of the package."""
    spec = spec_from_file_location("ranking_worlds", ROOT / "benchmarks" / "ranking_worlds.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["ranking_worlds"] = module
    spec.loader.exec_module(module)
    return module


def means(played: Sequence[Any]) -> dict[str, float]:
    """Over pools, at the end."""
    names = ("calls", "tau", "overlap")
    return {name: float(np.mean([getattr(one.final, name) for one in played])) for name in names}


def simulated(worlds: ModuleType, spec: str, seeds: int, **judge: float) -> dict[str, float]:
    engine, world = ENGINES.build(spec), worlds.WORLDS["normal"]
    how = {"disagreement": 0.0} | judge
    return means(
        [worlds.play(engine, worlds.draw_pool(world, seed), max_calls=6000, seed=seed, **how) for seed in range(seeds)]
    )


def test_pools_are_as_the_worlds_say(worlds: ModuleType) -> None:
    """Sizes, grades 1 to 5 or none, variance 1 over many pools; a seed draws the same pool again."""
    for world in worlds.WORLDS.values():
        pools = [worlds.draw_pool(world, seed) for seed in range(60)]
        assert all(len(pool.candidates) == len(pool.utilities) == world.n for pool in pools)
        grades = {one.grade for pool in pools for one in pool.candidates}
        assert grades == ({None} if world.grader is None else {1, 2, 3, 4, 5})
        if world.utilities != "heavy":
            assert np.var(np.concatenate([pool.utilities for pool in pools])) == pytest.approx(1, abs=0.25)
        again = worlds.draw_pool(world, 3)
        assert again.candidates == pools[3].candidates
        assert again.truth.tolist() == pools[3].truth.tolist()


def test_noise_is_scaled_to_the_disagreement(worlds: ModuleType) -> None:
    """For normal utilities and Gaussian noise the share is atan(scale) / pi; answers have it too."""
    assert worlds.noise_scale("normal", "gaussian", 0.0) == 0
    for share in worlds.DISAGREEMENTS:
        scale = worlds.noise_scale("normal", "gaussian", share)
        assert atan(scale) / pi == pytest.approx(share, rel=0.02)
    world = worlds.WORLDS["gumbel"]
    wrong = pairs = 0
    for seed in range(40):
        pool = worlds.draw_pool(world, seed)
        judge = worlds.SimulatedJudge(pool, worlds.noise_scale("normal", "gumbel", 0.1), seed)
        rng = np.random.default_rng(seed)
        for _ in range(25):
            seen = pool.utilities[list(judge.answer(rng.permutation(40)[:5].tolist()).order)]
            wrong += int(np.triu(seen[:, None] < seen[None, :], 1).sum())
            pairs += 10
    assert wrong / pairs == pytest.approx(0.1, abs=0.015)


def test_a_look_by_hand(worlds: ModuleType) -> None:
    """Of utilities 4 3 2 1 the order 0 2 1 3 has one of 6 pairs wrong, and half of the top 2."""
    ranking = CandidateRanking((0, 2, 1, 3), (0.0,) * 4, (0,) * 4, (0.0,) * 4, "", {"tau": 0.5})
    look = worlds.look(ranking, np.array([4.0, 3.0, 2.0, 1.0]), 2, at=7, calls=5)
    assert (look.at, look.calls, look.overlap, look.set_errors) == (7, 5, 0.5, 1)
    assert look.tau == pytest.approx(1 - 2 / 6)
    assert look.tau_inside == 1.0
    assert look.claims == {"tau": 0.5}


def test_looks_are_at_the_calls_asked_for(worlds: ModuleType) -> None:
    """A look is at the order with so many calls, and the last at the end; an engine that stops stays as it is."""
    pool = worlds.draw_pool(worlds.WORLDS["n=20"], 1)
    played = worlds.play(ENGINES.build("locks:stability_turns=2"), pool, 0.1, max_calls=500, at=(0, 4, 400))
    assert [look.calls for look in played.looks[:2]] == [0, 4]
    assert played.looks[2].calls == played.final.calls == len(played.calls) < 400
    assert played.looks[0].tau < played.final.tau


def test_biased_and_random_answers(worlds: ModuleType) -> None:
    """A favour for the first place shows where utilities are alike; answers that are any order at all do too."""
    pool = worlds.draw_pool(worlds.WORLDS["position bias"], 1)
    alike = replace(pool, utilities=np.zeros(40))
    assert worlds.SimulatedJudge(alike, 1e-9, 1).answer((7, 3, 9)).order == (7, 3, 9)
    pool = worlds.draw_pool(worlds.WORLDS["random answers"], 1)
    judge = worlds.SimulatedJudge(pool, 0.0, 1)
    best = tuple(pool.truth[:5].tolist())
    blind = sum(judge.answer(best).order != best for _ in range(1000))
    assert 25 <= blind <= 80


def test_locks_learn_from_a_faultless_judge(worlds: ModuleType) -> None:
    """A few pools of what the nightly test has more of: far better than the grades, in some 3.5 calls per candidate."""
    found, grades = simulated(worlds, "locks", 4), simulated(worlds, "grades", 4)
    assert found["tau"] > 0.92 > 0.75 > grades["tau"]
    assert 110 <= found["calls"] <= 190


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("turns", "calls", "tau", "overlap"), [(3, 52, 0.86, 0.96), (15, 162, 0.97, 0.995), (50, 249, 0.99, 1.0)]
)
def test_locks_without_noise(worlds: ModuleType, turns: int, calls: int, tau: float, overlap: float) -> None:
    """Spec rag 4.2, 20 pools of 40: within .05 of its tau and overlap, and 20% of its turns."""
    found = simulated(worlds, f"locks:stability_turns={turns}", 20)
    assert found["calls"] == pytest.approx(calls, rel=0.2)
    assert found["tau"] == pytest.approx(tau, abs=0.05)
    assert found["overlap"] == pytest.approx(overlap, abs=0.05)


@pytest.mark.nightly
def test_locks_with_noise(worlds: ModuleType) -> None:
    """Noise of .3: turns and overlaps as spec rag 4.2 has them, and tau no lower.

    Its tau for a single shot, .73, cannot come from the law it states (rag 9): under that a single answer misorders
    atan(.3) / pi of the pairs, so that tau is 1 - 2 x .0928 = .814 on average, which is what is found. The same goes
    for its .81 of `locks`, which falls short of a single answer's.
    """
    found = simulated(worlds, "locks", 20, scale=0.3)
    assert found["calls"] == pytest.approx(158, rel=0.2)
    assert found["overlap"] == pytest.approx(0.975, abs=0.05)
    assert found["tau"] > 0.81
    single = simulated(worlds, "single_shot", 20, scale=0.3)
    assert single["overlap"] == pytest.approx(0.95, abs=0.05)
    assert single["tau"] == pytest.approx(1 - 2 * atan(0.3) / pi, abs=0.03)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("share", "turns", "calls", "tau", "overlap"),
    [
        (0.03, 15, 154, 0.939, 0.970), (0.10, 15, 144, 0.869, 0.935), (0.20, 15, 140, 0.746, 0.880),
        (0.03, 3, 56, 0.860, None), (0.10, 3, 50, 0.817, None), (0.20, 3, 54, 0.763, None),
    ],
)  # fmt: skip
def test_locks_as_an_independent_program_has_it(
    worlds: ModuleType, share: float, turns: int, calls: int, tau: float, overlap: float | None
) -> None:
    """The same law, simulated by another program with 20 pools of its own."""
    found = simulated(worlds, f"locks:stability_turns={turns}", 40, disagreement=share)
    assert found["calls"] == pytest.approx(calls, rel=0.2)
    assert found["tau"] == pytest.approx(tau, abs=0.04)
    if overlap is not None:
        assert found["overlap"] == pytest.approx(overlap, abs=0.03)


def test_grades_as_an_independent_program_has_them(worlds: ModuleType) -> None:
    """The order of the grades has a tau of .644 there."""
    assert simulated(worlds, "grades", 60)["tau"] == pytest.approx(0.644, abs=0.02)


def test_stable_orders_of_judges_by_hand(worlds: ModuleType) -> None:
    """Without noise every judge's own order is that of what it likes; equals are left to chance."""
    for world in worlds.ODD.values():
        judge = worlds.SimulatedJudge(worlds.draw_pool(world, 1), 0.0, 1)
        if world.habit != "two minds":
            order = np.argsort(-judge.stable, kind="stable")
            assert (np.diff(judge._likes[0][order]) <= 1e-12).all(), world.name
    chance = worlds.own_within(0, [0, 1, 2], np.array([3.0, 2.0, 1.0, 1.0]), 3)
    assert chance == pytest.approx(0.5)
    assert worlds.own_within(1, [0, 1, 3], np.array([3.0, 2.0, 1.0, 1.0]), 3) == 1
    assert worlds.own_within(1, [2, 3], np.array([3.0, 2.0, 1.0, 0.0]), 2) == 0


def reliability(worlds: ModuleType, names: Sequence[str], seeds: range, together: int) -> Any:
    """Claimed P(at most 1 wrong) and whether it is true, at three looks of every pool; (looks, 2)."""
    engine, pairs = ENGINES.build("bayes:stop=false"), []
    for name in names:
        for share in worlds.DISAGREEMENTS[: 1 if name in worlds.REAL else None]:
            for start in range(seeds.start, seeds.stop, together):
                pools = [worlds.draw_pool(worlds.ALL[name], seed) for seed in range(start, start + together)]
                at = (20, 28, 36)
                for one in worlds.play_together(engine, pools, share, max_calls=36, at=at, seed=start):
                    pairs += [
                        (look.claims["set_errors_at_most_1"], look.own_within_1)
                        for look in one.looks[:-1]
                        if look.claims
                    ]
    return np.array(pairs)


@pytest.mark.slow
def test_claims_are_of_the_judges_own_order(worlds: ModuleType) -> None:
    """A few pools of what the nightly test has many of: fresh noise is claimed for, fixed errors are not."""
    pairs = reliability(worlds, ["taste"], range(50_000, 50_002), 2)
    assert len(pairs) >= 15
    engine, world = ENGINES.build("bayes:stop=false"), worlds.ALL["intransitive"]
    pools = [worlds.draw_pool(world, seed) for seed in range(50_000, 50_004)]
    for one in worlds.play_together(engine, pools, 0.2, max_calls=36):
        assert one.ranking.doubts == ("fixed errors",)
        assert not one.ranking.claims


@pytest.mark.nightly
def test_what_is_claimed_comes_true(worlds: ModuleType) -> None:
    """Pooled over judges that are as the model has them, judges that are not, and real ones where the data are."""
    real = list(worlds.REAL) if worlds.LOGS.exists() else []
    names = [name for name in worlds.WORLDS if not name.startswith("n=")] + list(worlds.ODD) + real
    pairs = reliability(worlds, names, range(60_000, 60_020), 10)
    bins = np.digitize(pairs[:, 0], [0.2, 0.4, 0.6, 0.8, 0.9, 0.97])
    for number in range(7):
        claimed, true = pairs[bins == number].mean(axis=0)
        # Three standard errors of 20 pools a cell, of which looks at one pool are alike.
        assert abs(claimed - true) < 0.05 + 0.03, f"claimed {claimed:.2f}, true {true:.2f}"
