"""Whether people's grades look drawn at random, and whether the judge stays the same."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.data.judged_runs import read_entries_in_memory
from embassay.protocols.rag.scoring.sampling import PeopleAndJudgeGrades

QUERIES, DEPTH = 60, 10
KEYS = [(f"q{i}", f"d{j}") for i in range(QUERIES) for j in range(DEPTH)]


RUN = {f"q{i}": {f"d{j}": float(DEPTH - j) for j in range(DEPTH)} for i in range(QUERIES)}
RUNS = {"run": read_entries_in_memory(RUN, "run", "run")}


def grades(seed, drift=0.0):
    """People's grades, and a judge's that rise by `drift` along the file."""
    rng = np.random.default_rng(seed)
    people = rng.integers(1, 6, len(KEYS))
    rise = drift * np.repeat(np.arange(QUERIES) / QUERIES, DEPTH)
    judge = np.clip(np.round(people + rng.normal(0, 0.8, len(KEYS)) + rise), 1, 5).astype(int)
    return dict(zip(KEYS, people.tolist(), strict=True)), dict(zip(KEYS, judge.tolist(), strict=True))


def warnings_of(people, judge, chosen):
    some = {key: grade for key, grade in people.items() if chosen(key)}
    return list(PeopleAndJudgeGrades(some, judge, RUNS, 0).warnings(DEPTH))


def test_the_first_questions_are_no_random_sample() -> None:
    people, judge = grades(1)
    assert any("spread" in text for text in warnings_of(people, judge, lambda key: int(key[0][1:]) < 30))


def test_a_judge_that_drifts_is_noticed_in_random_questions() -> None:
    people, judge = grades(2, drift=2.0)
    drawn = set(np.random.default_rng(3).permutation(QUERIES)[:30].tolist())
    assert any("drifts" in text for text in warnings_of(people, judge, lambda key: int(key[0][1:]) in drawn))


def test_passages_at_the_top_and_those_a_judge_likes_are_no_random_sample() -> None:
    people, judge = grades(4)
    rng = np.random.default_rng(5)
    top = {key for key in KEYS if int(key[1][1:]) < 3 and rng.random() < 0.7}
    assert any("rank" in text for text in warnings_of(people, judge, top.__contains__))
    liked = {key for key in KEYS if judge[key] >= 4 and rng.random() < 0.5}
    assert any("mean grade" in text for text in warnings_of(people, judge, liked.__contains__))


@pytest.mark.parametrize(("draws", "most"), [(25, 2), pytest.param(1000, 20, marks=pytest.mark.nightly)])
def test_a_random_sample_is_hardly_ever_suspected(draws, most) -> None:
    """Whole questions and single passages, with a judge that stays the same."""
    found = 0
    for draw in range(draws):
        people, judge = grades(100 + draw)
        rng = np.random.default_rng(draw)
        drawn = set(rng.permutation(QUERIES)[:30].tolist())
        loose = {key for key in KEYS if rng.random() < 0.2}
        found += bool(warnings_of(people, judge, lambda key, drawn=drawn: int(key[0][1:]) in drawn))
        found += bool(warnings_of(people, judge, loose.__contains__))
    assert found <= 2 * most
