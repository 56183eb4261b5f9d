"""Whether a judge repeats itself, measured against other libraries and against what is known of a simulated judge."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score

from embassay.protocols.rag.golden.checks import (
    JudgedPassageOrder,
    RepeatedJudgements,
    compare_judgements_with_repeat,
    compute_weighted_kappa,
    count_grade_transitions,
    count_swapped_and_all_pairs,
    estimate_grade_agreement,
    estimate_share_of_swapped_pairs,
    repeat_judge_calls,
    sample_keys_across_questions,
)
from embassay.protocols.rag.judges import Passage, Question
from embassay.protocols.rag.judges.simulation import JudgeNoise, SimulatedJudge

PAIRS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=80)


@given(PAIRS)
def test_kappa_is_that_of_scikit_learn(pairs):
    """With quadratic weights; undefined where all is one grade."""
    found = float(compute_weighted_kappa(count_grade_transitions(pairs).astype(float)))
    if len({grade for pair in pairs for grade in pair}) == 1:
        assert np.isnan(found)
        return
    first, second = zip(*pairs, strict=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        assert found == pytest.approx(
            cohen_kappa_score(first, second, weights="quadratic", labels=[1, 2, 3, 4, 5]), abs=1e-12
        )


@given(PAIRS)
def test_figures_of_grades(pairs):
    """As counted by hand; each inside its own interval, where there is one."""
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    found = estimate_grade_agreement(count_grade_transitions(pairs)[None])
    assert found["exact"].value == pytest.approx((first == second).mean())
    assert found["within_one"].value == pytest.approx((np.abs(first - second) <= 1).mean())
    assert found["shift"].value == pytest.approx((second - first).mean())
    assert {one.n for one in found.values()} == {len(pairs)}
    for name in ("exact", "within_one", "shift"):
        one = found[name]
        if one.low is not None:
            assert one.low - 1e-9 <= one.value <= one.high + 1e-9


@given(st.integers(2, 12).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.permutations(range(n)))))
def test_swapped_pairs_are_those_of_kendall(orders):
    """tau = 1 - 2 x share."""
    one, other = orders
    wrong, pairs = count_swapped_and_all_pairs(one, other)
    places = [np.argsort(order) for order in orders]
    assert 1 - 2 * wrong / pairs == pytest.approx(kendalltau(*places).statistic)


def test_intervals_are_over_questions():
    """Grades of one question hang together: fifty alike in each say no more than one."""
    rng = np.random.default_rng(3)
    agree = rng.random(40) < 0.7
    pairs = [[(3, 3 if one else 5)] * 50 for one in agree]
    clustered = estimate_grade_agreement(np.array([count_grade_transitions(own) for own in pairs]))["exact"]
    single = estimate_grade_agreement(np.array([count_grade_transitions(own[:1]) for own in pairs]))["exact"]
    assert clustered.value == single.value == agree.mean()
    assert (clustered.low, clustered.high) == pytest.approx((single.low, single.high))
    assert clustered.n == 2_000


@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(0, 80), st.integers(0, 3))
def test_a_sample_is_spread_over_questions(sizes, n, seed):
    """No question has more than one above another that still has some; always the same for a seed."""
    keys = [(f"q{i}", f"d{j}") for i, size in enumerate(sizes) for j in range(size)]
    chosen = sample_keys_across_questions(keys, n, seed)
    assert len(chosen) == min(n, len(keys))
    assert chosen == [key for key in keys if key in set(chosen)] == sample_keys_across_questions(keys, n, seed)
    taken = [sum(key[0] == f"q{i}" for key in chosen) for i in range(len(sizes))]
    spare = [count for count, size in zip(taken, sizes, strict=True) if count < size]
    assert not spare or max(taken) - min(spare) <= 1


def pool(questions=30, passages=10):
    asked = [(Question(f"q{i}", ""), Passage(f"d{j}", "")) for i in range(questions) for j in range(passages)]
    grades = {f"q{i}": {f"d{j}": 1 + (i + j) % 5 for j in range(passages)} for i in range(questions)}
    return asked, grades


def judged_twice(noise, asked, grades, lists=3):
    """First and second judgements of everything by a simulated judge."""
    judge = SimulatedJudge(grades, noise)

    async def both():
        first = {(q.id, p.id): (await judge.grade(q, p)).grade for q, p in asked}
        orders = []
        for q in dict.fromkeys(q for q, _ in asked):
            own = tuple(p for other, p in asked if other == q)
            for start in range(0, lists):
                shown = own[start : start + 5]
                orders.append(JudgedPassageOrder(q, shown, (await judge.order(q, shown)).order))
        return first, orders, await repeat_judge_calls(judge, asked, orders)

    return asyncio.run(both())


def test_a_judge_without_noise_repeats_itself():
    """Everything is 1, nothing is discordant."""
    asked, grades = pool()
    found = compare_judgements_with_repeat(*judged_twice(JudgeNoise(), asked, grades))
    assert (found.items, found.queries, found.calls, found.failed) == (300, 30, 90, 0)
    assert (found.exact.value, found.within_one.value, found.kappa.value, found.shift.value) == (1, 1, 1, 0)
    assert found.discordant.value == 0
    assert np.array(found.table).sum() == np.trace(np.array(found.table)) == 300


def test_noise_shows():
    """In every figure, and the same figures come out again."""
    asked, grades = pool()
    found = compare_judgements_with_repeat(*judged_twice(JudgeNoise(grade_noise=0.7, order_noise=0.7), asked, grades))
    assert 0.4 < found.exact.value < 0.75
    assert found.exact.value < found.within_one.value < 1
    assert found.kappa.low < found.kappa.value < found.kappa.high < 1
    assert abs(found.shift.value) < 0.15
    assert 0.1 < found.discordant.value < 0.35
    assert found.discordant.low < found.discordant.value < found.discordant.high
    assert (
        compare_judgements_with_repeat(*judged_twice(JudgeNoise(grade_noise=0.7, order_noise=0.7), asked, grades))
        == found
    )


def test_failures_are_counted_and_left_out():
    """They are no disagreement."""
    asked, grades = pool()
    judge = SimulatedJudge(grades, JudgeNoise(failing=0.2))
    first = {(q.id, p.id): grades[q.id][p.id] for q, p in asked}
    found = compare_judgements_with_repeat(first, [], asyncio.run(repeat_judge_calls(judge, asked, [])))
    assert found.exact.value == 1
    assert 30 < found.failed < 90
    assert found.items == 300 - found.failed
    assert (found.calls, found.discordant) == (0, None)


def test_nothing_judged_twice():
    """Has a reason in place of figures."""
    found = compare_judgements_with_repeat({}, [], RepeatedJudgements({}, [], 0))
    assert (found.items, found.exact, found.reason) == (0, None, "no item was judged twice")


def test_one_question_alone():
    """Its lists are the sample then; one list alone has no interval."""
    q = Question("q", "")
    shown = tuple(Passage(f"d{i}", "") for i in range(3))
    one, other = JudgedPassageOrder(q, shown, (0, 1, 2)), JudgedPassageOrder(q, shown, (2, 1, 0))
    assert estimate_share_of_swapped_pairs([(one, (1, 0, 2)), (other, (2, 1, 0))]).value == pytest.approx(1 / 6)
    alone = estimate_share_of_swapped_pairs([(one, (1, 0, 2))])
    assert (alone.value, alone.low, alone.n) == (pytest.approx(1 / 3), None, 1)
