"""The engine `bayes` as a whole."""

from __future__ import annotations

from math import isfinite

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from embassay.errors import UsageError
from embassay.protocols.rag.ranking.bayes import BayesianRankingEngine
from embassay.protocols.rag.ranking.engines import ENGINES, BayesRankingOptions, JudgeOrderAnswer, PoolPassage
from embassay.randomness import make_seeded_generator

N, TOP = 40, 20


def pool(seed, n=N, graded=True):
    """Utilities, and candidates with grades from them."""
    rng = make_seeded_generator(seed, "bayes pool")
    utilities = rng.standard_normal(n)
    grades = np.clip(np.round(3 + utilities + 0.5 * rng.standard_normal(n)), 1, 5).astype(int)
    return utilities, [PoolPassage(f"d{i}", int(g) if graded else None, i + 1) for i, g in enumerate(grades)]


def answer(shown, utilities, rng=None, noise=0.0):
    seen = utilities[list(shown)] + (noise * rng.standard_normal(len(shown)) if noise else 0.0)
    return JudgeOrderAnswer(tuple(shown), tuple(shown[k] for k in np.argsort(-seen, kind="stable")))


def play(engine, candidates, utilities, calls, *, noise=0.0, seed=1, top=TOP):
    """The ranker after so many calls or when it stops, and all that was shown."""
    rng = make_seeded_generator(seed, "bayes judge")
    ranker = engine.start(candidates, query="q", top=top, seed=seed)
    shown = []
    while len(shown) < calls and (batches := ranker.propose_batches()):
        ranker.learn([answer(one, utilities, rng, noise) for one in batches])
        shown += batches
    return ranker, shown


def tau(ranking, utilities):
    places = np.empty(len(utilities))
    places[list(ranking.order)] = np.arange(len(utilities))
    return kendalltau(-places, utilities).statistic


@pytest.mark.parametrize("pools", [3, pytest.param(16, marks=pytest.mark.nightly)])
def test_a_judge_without_noise_is_followed_within_24_calls(pools):
    taus = []
    for seed in range(pools):
        utilities, candidates = pool(seed)
        taus.append(tau(play(BayesianRankingEngine(), candidates, utilities, 24, seed=seed)[0].ranking(), utilities))
    assert np.mean(taus) >= 0.95


def test_same_seed_same_calls_and_another_seed_others():
    utilities, candidates = pool(3)
    runs = [play(BayesianRankingEngine(), candidates, utilities, 8, noise=0.3, seed=seed) for seed in (1, 1, 2)]
    assert runs[0][1] == runs[1][1] != runs[2][1]
    assert runs[0][0].ranking() == runs[1][0].ranking()
    assert runs[0][0].state() == runs[1][0].state()


def test_a_new_ranker_told_the_answers_proposes_the_same():
    """A killed run is resumed like that. Looking at the ranking in between changes nothing."""
    utilities, candidates = pool(4)
    first, shown = play(BayesianRankingEngine(), candidates, utilities, 6)
    again = BayesianRankingEngine().start(candidates, query="q", top=TOP, seed=1)
    for batch in shown:
        again.ranking()
        assert again.propose_batches() == again.propose_batches() == [batch]
        again.learn([answer(batch, utilities)])
    assert again.propose_batches() == first.propose_batches()


def test_relabelled_grades_and_another_order_of_candidates_change_nothing():
    utilities, candidates = pool(5)
    ranker, shown = play(BayesianRankingEngine(), candidates, utilities, 8)
    ids = [tuple(candidates[i].id for i in one) for one in shown]
    relabelled = [PoolPassage(one.id, 100 * one.grade**2, one.rank) for one in candidates]
    assert play(BayesianRankingEngine(), relabelled, utilities, 8)[1] == shown
    mixed = np.random.default_rng(0).permutation(N)
    moved, moved_shown = play(BayesianRankingEngine(), [candidates[i] for i in mixed], utilities[mixed], 8)
    assert [tuple(candidates[mixed[i]].id for i in one) for one in moved_shown] == ids
    assert [mixed[i] for i in moved.ranking().order] == list(ranker.ranking().order)
    np.testing.assert_array_equal(np.array(moved.ranking().scores), np.array(ranker.ranking().scores)[mixed])


@given(
    st.lists(st.one_of(st.none(), st.integers(1, 5)), max_size=12),
    st.integers(0, 15),
    st.integers(2, 5),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_any_pool_and_any_answers_end_in_an_order_of_all(grades, top, batch, at_once, chance):
    """Proposals are disjoint batches of the size asked for, and no more than the cap of them."""
    candidates = [PoolPassage(f"d{i}", grade, i + 1) for i, grade in enumerate(grades)]
    ranker = BayesianRankingEngine(BayesRankingOptions(batch=batch, at_once=at_once)).start(
        candidates, query="q", top=top, seed=1
    )
    calls = 0
    while batches := ranker.propose_batches():
        flat = [i for one in batches for i in one]
        assert len(flat) == len(set(flat)) == batch * len(batches)
        assert len(batches) <= at_once
        calls += len(batches)
        ranker.learn([JudgeOrderAnswer(one, tuple(chance.sample(one, len(one)))) for one in batches])
    found = ranker.ranking()
    assert sorted(found.order) == list(range(len(grades)))
    assert sum(found.exposures) == batch * calls
    assert calls <= ranker.state()["cap"]
    assert found.stopped in ("sure", "cap") if len(grades) >= batch else found.stopped == "too few to judge"
    assert all(map(isfinite, (*found.scores, *found.info, *found.claims.values())))


def test_fewer_than_a_batch_stand_by_grade_then_fusion_rank():
    candidates = [PoolPassage("a", 3, 2), PoolPassage("b", 5, 4), PoolPassage("c", 3, 1), PoolPassage("d", 1, 3)]
    ranker = BayesianRankingEngine().start(candidates, query="q", top=TOP, seed=1)
    assert ranker.propose_batches() == []
    assert ranker.ranking().order == (1, 2, 0, 3)
    assert not ranker.ranking().claims


def test_grades_come_first_until_a_judge_was_asked():
    _, candidates = pool(6)
    order = BayesianRankingEngine().start(candidates, query="q", top=TOP, seed=1).ranking().order
    assert order == tuple(sorted(range(N), key=lambda i: (-candidates[i].grade, candidates[i].rank)))


def test_without_grades_a_third_more_is_asked():
    _, graded = pool(7)
    _, bare = pool(7, graded=False)
    caps = [BayesianRankingEngine().start(one, query="q", top=TOP, seed=1).state()["cap"] for one in (graded, bare)]
    assert caps == [36, 48]


def test_a_sure_judge_is_asked_less():
    """Without noise the claims hold at two looks in a row long before the cap, and are true."""
    utilities, candidates = pool(8)
    ranker, shown = play(BayesianRankingEngine(), candidates, utilities, 1000)
    found = ranker.ranking()
    assert found.stopped == "sure"
    assert len(shown) < 36
    assert found.claims["set_errors_at_most_1"] >= 0.9
    assert tau(found, utilities) > 0.94


def test_a_bias_for_places_is_noticed():
    """A judge that adds .5 to what is first and takes it from what is last."""
    utilities, candidates = pool(9)
    found = []
    for bias in (0.5, 0.0):
        ranker = BayesianRankingEngine(BayesRankingOptions(stop=False)).start(candidates, query="q", top=TOP, seed=1)
        for _ in range(24):
            (shown,) = ranker.propose_batches()
            seen = utilities[list(shown)] + np.linspace(bias, -bias, len(shown))
            ranker.learn([JudgeOrderAnswer(shown, tuple(shown[k] for k in np.argsort(-seen)))])
        found.append(ranker.state())
    assert found[0]["bias"] > 3 * found[0]["bias_sd"]
    assert abs(found[1]["bias"]) < 3 * found[1]["bias_sd"]


def test_queries_share_what_they_learn_of_the_judge():
    """After 8 calls each, four queries know better how noisy it is than one by itself, in the same way every time."""
    found = {}
    for share in (True, False, True):
        engine = BayesianRankingEngine(BayesRankingOptions(share=share))
        rankers, pools = {}, {}
        for seed in range(4):
            pools[f"q{seed}"] = pool(seed)
            rankers[f"q{seed}"] = engine.start(pools[f"q{seed}"][1], query=f"q{seed}", top=TOP, seed=1)
        rng = make_seeded_generator(1, "shared judge")
        for _ in range(8):
            for query, ranker in rankers.items():
                ranker.learn([answer(one, pools[query][0], rng, 1.0) for one in ranker.propose_batches()])
            engine.share(rankers)
        state = rankers["q0"].state()
        assert found.setdefault(share, state) == state
    # Taken as noise of a standard deviation of utility, its sharpness is about 1.5; the prior's median is 5.
    assert found[True]["sharpness"] < found[False]["sharpness"]


def test_larger_batches_need_fewer_calls():
    batch = 10
    utilities, candidates = pool(10)
    ranker, shown = play(BayesianRankingEngine(BayesRankingOptions(batch=batch)), candidates, utilities, 1000)
    assert len(shown) <= round(0.9 * N * 4 / (batch - 1))
    assert tau(ranker.ranking(), utilities) > 0.93


@pytest.mark.parametrize(("name", "value"), [("batch", 1), ("gamma", 0.0), ("random", 0.9), ("at_once", 0)])
def test_options_out_of_range_are_named(name, value):
    with pytest.raises(UsageError, match=name):
        BayesRankingOptions(**{name: value})


def test_its_name_holds_every_option_that_is_not_the_default():
    """What a resumed run compares, and what `--ranking` takes."""
    engine = ENGINES.build("bayes:batch=8,stop=false")
    assert isinstance(engine, BayesianRankingEngine)
    assert engine.options == BayesRankingOptions(batch=8, stop=False)
    assert engine.name == "bayes:batch=8,stop=false"
    assert ENGINES.build("bayes").name == "bayes"


def test_answers_to_something_else_are_no_answers():
    utilities, candidates = pool(11)
    ranker = BayesianRankingEngine().start(candidates, query="q", top=TOP, seed=1)
    (shown,) = ranker.propose_batches()
    with pytest.raises(ValueError, match="were expected"):
        ranker.learn([answer(shown[::-1], utilities)])
