"""What is retrieved, graded: agreement with the public measures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from embassay.measures import n_recall, ndcg, ra_nwg
from embassay.protocols.rag.probes.resampling import (
    GAIN,
    NDCG,
    RECALL,
    count_passage_grades_per_query,
    find_positions_of_first_passages,
    look_up_grades_at_ranks,
    measure_retrieval_metrics,
)
from embassay.systems import open_system
from embassay.text import open_tokenizer


@given(arrays(np.int8, (2, 14), elements=st.integers(1, 5)), st.integers(1, 14))
def test_values_are_those_of_the_measures(grades: np.ndarray, retrieved: int) -> None:
    indices = np.full((2, 10), -1)
    indices[:, : min(10, retrieved)] = np.arange(14)[::-1][: min(10, retrieved)]
    found = measure_retrieval_metrics(count_passage_grades_per_query(grades), look_up_grades_at_ranks(grades, indices))
    for query in range(2):
        pool = {str(place): int(grade) for place, grade in enumerate(grades[query])}
        run = [str(place) for place in indices[query] if place >= 0]
        gains = {key: grade - 1 for key, grade in pool.items()}
        expected = {RECALL: n_recall(pool, run, 10), GAIN: ra_nwg(pool, run, 10), NDCG: ndcg(gains, run, 10)}
        for measure, value in expected.items():
            assert found[measure][query] == pytest.approx(value, nan_ok=True)


def test_each_distinct_query_is_searched_for_once() -> None:
    system = open_system("bm25", tokenizer=open_tokenizer("words"))
    found = find_positions_of_first_passages(system, ["tides", "ants", "tides"], ["of ants", "of tides"])
    assert found.shape == (3, 10)
    assert found[:, 0].tolist() == [1, 0, 1]
    assert (found[:, 2:] == -1).all()
