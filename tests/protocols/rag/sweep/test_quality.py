"""Values per query against the measures of one query, ceilings, and signals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.measures import n_recall, proc, ra_nwg
from embassay.protocols.rag.sweep.collection import SweepCollection
from embassay.protocols.rag.sweep.measurement import (
    compute_margins_of_first_over_tenth,
    compute_pool_ceilings,
    compute_score_entropies,
    make_graded_lists_and_pools,
    measure_index_recall,
    measure_list_quality,
)

MEASURES = ("RA-nWG@3", "N-Recall4+@3", "Harm@3", "nDCG@3")


def _collection(grades):
    n = len(grades)
    ids = tuple(f"d{i}" for i in range(12))
    queries = tuple(f"q{i}" for i in range(n))
    return SweepCollection("set", "set", "en", "f", ids, ids, queries, queries, tuple(grades), tuple(range(n)))


lists = st.lists(st.integers(0, 11), unique=True, max_size=12)
judgements = st.dictionaries(st.integers(0, 11), st.integers(1, 5), min_size=1, max_size=8)


@given(st.lists(st.tuples(judgements, lists, lists), min_size=1, max_size=4))
def test_values_are_those_of_single_queries(cases):
    """The whole path by position gives what the measures give for one query by name; NaN where they give none."""
    collection = _collection([grades for grades, _, _ in cases])
    seen = make_graded_lists_and_pools(collection, [ranked for _, ranked, _ in cases], [pool for *_, pool in cases])
    values, tops = measure_list_quality(MEASURES, seen), compute_pool_ceilings(MEASURES, seen)
    assert values.keys() == set(MEASURES)
    assert tops.keys() == {"RA-nWG@3", "N-Recall4+@3"}
    for row, (grades, ranked, pool) in enumerate(cases):
        named = {f"d{place}": grade for place, grade in grades.items()}
        retrieved, candidates = [f"d{place}" for place in ranked], [f"d{place}" for place in pool]
        assert values["RA-nWG@3"][row] == pytest.approx(ra_nwg(named, retrieved, 3), nan_ok=True)
        assert values["N-Recall4+@3"][row] == pytest.approx(n_recall(named, retrieved, 3), nan_ok=True)
        assert tops["RA-nWG@3"][row] == pytest.approx(proc(named, candidates, 3), nan_ok=True)


@given(st.lists(st.tuples(judgements, lists), min_size=1, max_size=4))
def test_nothing_is_above_its_ceiling(cases):
    """A list whose pool it comes from never beats that pool."""
    seen = make_graded_lists_and_pools(
        _collection([grades for grades, _ in cases]), [own for _, own in cases], [own for _, own in cases]
    )
    values, tops = measure_list_quality(MEASURES, seen), compute_pool_ceilings(MEASURES, seen)
    for name, top in tops.items():
        assert np.all((values[name] <= top + 1e-12) | np.isnan(top))


def test_entropy_is_the_spec_s_example():
    """Scores 2, 1, 0, 0: H = 1.048705, over ln 4 0.756481 (spec rag 3.5)."""
    found = compute_score_entropies([np.array([2.0, 1.0, 0.0, 0.0]), np.zeros(60), None, np.array([1.0])])
    assert found[:2] == pytest.approx([0.756481, 1.0], abs=1e-6)
    assert np.isnan(found[2:]).all()
    late = np.concatenate([np.zeros(50), np.full(10, 900.0)])
    assert compute_score_entropies([late])[0] == pytest.approx(1.0)


def test_margin_is_first_less_tenth():
    """NaN where there is no tenth."""
    found = compute_margins_of_first_over_tenth([tuple(range(20, 0, -1)), (1.0, 0.5)])
    assert found[0] == 9
    assert np.isnan(found[1])


def test_recall_is_the_share_of_the_exact_ones():
    """Order does not count, and a short exact list is its own measure."""
    assert measure_index_recall([[1, 2, 3], [4]], [[3, 2, 9], [4]], [2, 3]) == {2: 0.75, 3: pytest.approx(5 / 6)}
