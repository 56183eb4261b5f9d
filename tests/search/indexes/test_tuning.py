"""The tuning rule: the smallest width that is near enough to flat, and what shows it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.search.exact import exact_search
from embassay.search.indexes import open_index
from embassay.search.indexes.store import recall, tune_width

FLAT = {"RA-nWG@10": 0.8, "RA-nWG@30": 0.9}


def test_worked_example():
    """@10 is within 2% at 32 and @30 only at 64: 64, and 128 is never asked for."""
    measured = {16: (0.70, 0.80), 32: (0.79, 0.88), 64: (0.80, 0.89), 128: (0.8, 0.9)}
    asked = []

    def values_at(ef):
        asked.append(ef)
        return dict(zip(FLAT, measured[ef], strict=True))

    found = tune_width(values_at, FLAT, ladder=(16, 32, 64, 128))
    assert found.ef == 64
    assert asked == [16, 32, 64] == [step.ef for step in found.steps]
    assert found.steps[1].gaps == pytest.approx({"RA-nWG@10": 0.0125, "RA-nWG@30": 1 / 45})
    assert tune_width(values_at, FLAT, ladder=(16, 32), gap=0.02).ef is None


@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=6), flat=st.floats(0, 1), gap=st.floats(0, 0.5))
def test_the_first_that_is_near_enough(values, flat, gap):
    """No width before the answer is, and it is; a value above flat's is near enough."""
    ladder = range(1, len(values) + 1)
    found = tune_width(lambda ef: {"x": values[ef - 1]}, {"x": flat}, ladder=tuple(ladder), gap=gap)
    near = [value >= flat or (flat > 0 and (flat - value) / flat <= gap) for value in values]
    assert found.ef == (near.index(True) + 1 if True in near else None)


def test_a_graph_is_tuned_without_being_built_again(tmp_path):
    """Widths of one kept graph: recall rises until it is within 1% of exact search's."""
    rng = np.random.default_rng(3)
    corpus, queries = (rng.standard_normal((n, 32)).astype(np.float32) for n in (3000, 50))
    exact = exact_search(queries, corpus, 10)

    def values_at(ef):
        index = open_index(f"hnsw-f32?m=8&ef_construction=40&ef={ef}", corpus, folder=tmp_path)
        return {"recall@10": recall(index.search(queries, 10), exact, 10)}

    found = tune_width(values_at, {"recall@10": 1.0}, ladder=(4, 16, 64, 256, 1024), gap=0.01)
    assert found.ef is not None
    assert found.ef > 4
    assert found.steps[0].worst > 0.1
    assert len(list(tmp_path.glob("*.index"))) == 1


@pytest.mark.parametrize("wrong", [{"ladder": ()}, {"ladder": (64, 32)}, {"ladder": (0, 1)}, {"gap": -0.1}])
def test_refuses_what_is_no_ladder(wrong):
    """Nothing to climb, or no rule to stop by; and metrics that flat was not measured in."""
    with pytest.raises(UsageError, match="Cannot tune"):
        tune_width(lambda ef: FLAT, FLAT, **wrong)
    with pytest.raises(UsageError, match="ef=16 has x, but flat has RA-nWG@10"):
        tune_width(lambda ef: {"x": 1.0}, FLAT)
    with pytest.raises(UsageError, match="RA-nWG@30 is not a number"):
        tune_width(lambda ef: {**FLAT, "RA-nWG@30": float("nan")}, FLAT)
