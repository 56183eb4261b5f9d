"""A judge that knows the judgements: without noise it is right, with noise it errs as much as it is told to."""

from __future__ import annotations

import asyncio
import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.inputs import make_letter_labels
from embassay.protocols.rag.judges import NoValidJudgement, Passage, Question, open_judge
from embassay.protocols.rag.judges.chat import MalformedJudgement, parse_grade_answer, parse_order_answer
from embassay.protocols.rag.judges.simulation import (
    MALFORMED_GRADES,
    JudgeNoise,
    SimulatedJudge,
    make_malformed_order_answers,
)

Q = Question("q", "Why?")
GRADES = {"q": {f"d{i}": 1 + i % 5 for i in range(40)}}
POOL = [Passage(f"d{i}", "text") for i in range(40)]


def simulated(seed=1337, attempts=6, **noise):
    return SimulatedJudge(GRADES, JudgeNoise(**noise), seed=seed, attempts=attempts)


def graded(judge, passages=POOL, **more):
    async def every():
        return [await judge.grade(Q, passage, **more) for passage in passages]

    return asyncio.run(every())


def ordered(judge, passages, **more):
    return asyncio.run(judge.order(Q, passages, **more))


def test_without_noise_it_is_right():
    """Grades are the known ones, orders follow them, and equal grades always stand the same way round."""
    judge = simulated()
    assert [one.grade for one in graded(judge)] == [GRADES["q"][one.id] for one in POOL]
    shown = POOL[:25]
    best = [shown[place] for place in ordered(judge, shown).order]
    grades = [GRADES["q"][one.id] for one in best]
    assert grades == sorted(grades, reverse=True)
    mixed = random.Random(1).sample(shown, len(shown))
    assert [mixed[place] for place in ordered(judge, mixed).order] == best


def test_what_is_not_judged_is_irrelevant():
    """Grade 1 unless another is given; a chunk has the grade of its document."""
    judge = simulated()
    strange, chunk = Passage("other", ""), Passage("d4#3", "")
    assert [one.grade for one in graded(judge, [strange, chunk])] == [1, 5]
    assert graded(SimulatedJudge(GRADES, unjudged=2), [strange])[0].grade == 2


def over_draws(judge, passages, draws):
    """The positions of all orders of a list, one per draw."""

    async def every():
        return [(await judge.order(Q, passages, draw=draw)).order for draw in range(draws)]

    return asyncio.run(every())


@given(st.permutations(range(6)), st.integers(0, 3))
def test_answers_do_not_depend_on_the_order_of_calls(order, draw):
    """Nor on what else is asked."""
    noise = {"grade_noise": 1.0, "order_noise": 1.0, "random": 0.1, "malformed": 0.2}
    one, other = simulated(**noise), simulated(**noise)
    straight = {passage.id: graded(one, [passage], draw=draw)[0] for passage in POOL[:6]}
    mixed = {POOL[i].id: graded(other, [POOL[i]], draw=draw)[0] for i in order}
    assert mixed == straight
    assert ordered(other, POOL[:5], draw=draw) == ordered(one, POOL[:5], draw=draw)


def test_draws_differ_and_seeds_differ():
    """A repeat is a judgement of its own; the same one comes back when it is asked again."""
    judge = simulated(grade_noise=1.0, order_noise=1.0)
    assert graded(judge) == graded(judge) != graded(judge, draw=1)
    assert ordered(judge, POOL) != ordered(judge, POOL, draw=1)
    assert graded(judge) != graded(simulated(seed=1, grade_noise=1.0))


@pytest.mark.parametrize("law", ["gaussian", "gumbel"])
def test_noise_is_as_large_as_asked(law):
    """Two passages that are a grade apart are misordered as often as the law says: Phi(-1 / (sd sqrt 2)) for both
    kinds of noise, near enough."""
    judge = SimulatedJudge({"q": {"a": 4, "b": 3}}, JudgeNoise(order_noise=1.0, law=law, jitter=0.0), seed=5)
    pair = [Passage("a", ""), Passage("b", "")]
    wrong = np.mean([order == (1, 0) for order in over_draws(judge, pair, 2_000)])
    assert wrong == pytest.approx(0.24 if law == "gaussian" else 0.217, abs=0.03)


def test_grades_are_as_noisy_as_asked():
    """A grade of 3 with noise of one grade stays 3 in 38% of the draws (1 - 2 Phi(-0.5))."""
    judge = SimulatedJudge({}, JudgeNoise(grade_noise=1.0, jitter=0.0), unjudged=3, seed=2)
    drawn = np.array([one.grade for one in graded(judge, [Passage(f"d{i}", "") for i in range(2_000)])])
    assert (drawn == 3).mean() == pytest.approx(0.383, abs=0.035)
    assert abs(drawn.mean() - 3) < 0.07


def test_places_have_a_pull():
    """With a bias for the first place, the same two come out as they are shown."""
    judge = SimulatedJudge({"q": {"a": 4, "b": 4}}, JudgeNoise(position=2.0), seed=1)
    pair = [Passage("a", ""), Passage("b", "")]
    assert ordered(judge, pair).order == ordered(judge, pair[::-1]).order == (0, 1)


def test_blind_answers():
    """All drawn by chance: every grade, every order."""
    judge = simulated(random=1.0)
    assert {one.grade for one in graded(judge)} == {1, 2, 3, 4, 5}
    pairs = over_draws(judge, POOL[:4], 200)
    assert np.mean([one.index(0) < one.index(3) for one in pairs]) == pytest.approx(0.5, abs=0.12)


def test_malformed_answers_are_counted_and_fail_at_the_sixth():
    """With the words of the strict reader; answers themselves do not change with their share."""
    plain, clumsy = simulated(grade_noise=1.0), simulated(grade_noise=1.0, malformed=0.4)
    some = graded(clumsy, POOL[:20])
    assert [one.grade for one in some] == [one.grade for one in graded(plain, POOL[:20])]
    assert any(one.attempts > 1 for one in some)
    assert all(len(one.rejected) == one.attempts - 1 for one in some)
    with pytest.raises(NoValidJudgement, match="in 6 attempts") as told:
        graded(simulated(failing=1.0))
    assert len(told.value.rejected) == 6
    with pytest.raises(NoValidJudgement, match="in 2 attempts"):
        ordered(simulated(malformed=1.0, attempts=2), POOL[:5])


def test_calls_that_fail_fail_again():
    """A share of the calls never get an answer, whichever draw."""
    judge, lost = simulated(failing=0.3), []
    for passage in POOL:
        try:
            graded(judge, [passage])
        except NoValidJudgement:
            lost.append(passage)
            with pytest.raises(NoValidJudgement):
                graded(judge, [passage], draw=3)
    assert 4 <= len(lost) <= 20


@pytest.mark.parametrize("text", MALFORMED_GRADES)
def test_what_it_says_is_really_no_grade(text):
    with pytest.raises(MalformedJudgement):
        parse_grade_answer(text)


@pytest.mark.parametrize("n", [2, 5])
def test_what_it_says_is_really_no_order(n):
    names = make_letter_labels(n)
    for text in make_malformed_order_answers(names):
        with pytest.raises(MalformedJudgement):
            parse_order_answer(text, names)
    assert len(make_malformed_order_answers(names)) >= 8


QRELS = {
    "trec": ("qrels.trec", "1 0 184 1\n1 0 29 2\n1 0 31 -1\n"),
    "beir": ("qrels.tsv", "query-id\tcorpus-id\tscore\n1\t184\t1\n1\t29\t2\n1\t31\t-1\n"),
    "jsonl": (
        "q.jsonl",
        '{"query_id": "1", "doc_id": "184", "code": 1}\n{"query_id": "1", "doc_id": "29", "code": 2}\n'
        '{"query_id": "1", "doc_id": "31", "code": -1}\n',
    ),
}


@pytest.mark.parametrize("kind", QRELS)
def test_it_is_opened_from_a_file(tmp_path, kind):
    """Of any usual format, through a grade map; its name and identity say everything."""
    name, content = QRELS[kind]
    (tmp_path / name).write_text(content)
    judge = open_judge(f"simulated:{tmp_path / name}?grades=cranfield&order_noise=0.5&position=0.1", seed=7)
    passages = [Passage("184", ""), Passage("29", ""), Passage("31", ""), Passage("other", "")]
    found = [asyncio.run(judge.grade(Question("1", ""), one)).grade for one in passages]
    assert found == [5, 4, 1, 1]
    assert judge.name == f"simulated:{tmp_path / name}?grades=cranfield&order_noise=0.5&position=0.1&seed=7"
    assert open_judge(judge.name).identity == judge.identity
    assert open_judge(judge.name, seed=8).identity == judge.identity


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("1 0 184 7\n", "not in the grade map"),
        ("1 0 184 1\n1 0 184 2\n", "two different judgements"),
        ("1 0 184 -1\n", "no judgements are left"),
        ("1 0 184\n1\n", "2: "),
    ],
)
def test_judgements_that_cannot_be_used(tmp_path, content, what):
    """Are named with their line."""
    path = tmp_path / "qrels.trec"
    path.write_text(content)
    with pytest.raises(DataError, match=what):
        open_judge(f"simulated:{path}?grades=cranfield")


@pytest.mark.parametrize(
    "wrong", ["order_noise=-1", "random=2", "law=uniform", "unjudged=6", "attempts=0", "noise=1", "jitter=2"]
)
def test_parameters_that_mean_nothing(tmp_path, wrong):
    (tmp_path / "q.trec").write_text("1 0 184 1\n")
    with pytest.raises(UsageError):
        open_judge(f"simulated:{tmp_path / 'q.trec'}?{wrong}")


def test_every_pair_is_ordered_alike_where_utilities_tell():
    """The order of a list is the order of its pairs: nothing but utility decides without noise."""
    judge = simulated()
    shown = POOL[:8]
    order = ordered(judge, shown).order
    for a, b in combinations(range(8), 2):
        first = ordered(judge, [shown[a], shown[b]]).order[0]
        assert (order.index(a) < order.index(b)) == (first == 0)
