"""The sensitivity grid of RA-nWG."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from embassay.errors import UsageError
from embassay.measures import Graded, Weighting, grade, macro, ra_nwg, sensitivity_grid
from measures.grade_lists import pool_of, top_of

POOLS = {"q1": pool_of("10,2,1,12,15"), "q2": pool_of("2,4,10,14,20"), "q3": pool_of("0,0,0,4,4")}
SYSTEMS = {
    "one": {"q1": top_of("4 4 3 5 5"), "q2": top_of("5 4 3 3 2")},
    "two": {"q1": top_of("5 5 5 1 1"), "q2": top_of("4 4 4 3 3")},
    "three": {"q1": top_of("3 4 4 1 2"), "q2": top_of("3 3 3 3 3"), "q3": top_of("2 1")},
}


def test_every_cell_is_the_macro_score_of_its_settings() -> None:
    """24 cells; scores, orders and taus as from single calls and from scipy."""
    found = sensitivity_grid({name: grade(POOLS, one) for name, one in SYSTEMS.items()}, 5)
    assert len(found.cells) == 24
    default = found.cells[found.default]
    assert (default.alpha, default.cap4, default.cap3, default.tau) == (1, 1, 0.25, 1)
    largest = 0.0
    for cell in found.cells:
        for name, retrieved in SYSTEMS.items():
            settings = {"alpha": cell.alpha, "cap4": cell.cap4, "cap3": cell.cap3}
            expected = macro(ra_nwg(POOLS, retrieved, 5, **settings))
            assert cell.scores[name] == pytest.approx(expected.mean, abs=1e-12)
            assert cell.n_valid[name] == expected.n_valid == 2
            largest = max(largest, abs(cell.scores[name] - default.scores[name]))
        assert list(cell.order) == sorted(SYSTEMS, key=lambda name, cell=cell: -cell.scores[name])
        by_scipy = scipy.stats.kendalltau(list(cell.scores.values()), list(default.scores.values()))
        assert cell.tau == pytest.approx(by_scipy.statistic)
    assert found.largest_change == pytest.approx(largest)
    where = found.cells[found.where]
    assert abs(where.scores[found.system] - default.scores[found.system]) == pytest.approx(largest)
    assert found.lowest_tau == min(cell.tau for cell in found.cells)


def test_published_cells_of_example_b5() -> None:
    """The caps of the worked example, as cells."""
    found = sensitivity_grid({"a": grade(POOLS["q1"], top_of("4 4 3 5 5"))}, 5)
    scores = {(cell.cap4, cell.cap3): cell.scores["a"] for cell in found.cells if cell.alpha == 1}
    assert scores == pytest.approx(
        {(0.75, 0.2): 0.74, (0.75, 0.25): 0.75, (0.75, 0.33): 0.766, (1, 0.2): 0.84, (1, 0.25): 0.85, (1, 0.33): 0.866}
    )
    assert all(math.isnan(cell.tau) for cell in found.cells)
    assert math.isnan(found.lowest_tau)


def test_systems_that_differ_by_rounding_are_equal() -> None:
    """Trap T8: a difference of no more than 1e-9 orders nothing."""
    same = {"a": grade(POOLS, SYSTEMS["one"]), "b": grade(POOLS, SYSTEMS["one"]), "c": grade(POOLS, SYSTEMS["two"])}
    for cell in sensitivity_grid(same, 5).cells:
        assert cell.order.index("b") == cell.order.index("a") + 1


def test_what_counts_as_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the threshold larger than the differences, all systems would share a place and no order be left."""
    monkeypatch.setattr("embassay.measures.sets.SAME", 1.0)
    systems = {name: grade(POOLS, one) for name, one in SYSTEMS.items()}
    found = sensitivity_grid(systems, 5)
    assert {cell.order for cell in found.cells} == {tuple(SYSTEMS)}
    assert math.isnan(found.lowest_tau)


def test_the_grid_can_be_chosen() -> None:
    """Other values, other settings of the weights; the default must be on the grid."""
    systems = {"a": grade(POOLS, SYSTEMS["one"])}
    found = sensitivity_grid(systems, 5, alphas=[1], cap4s=[1], cap3s=[0.25], weighting=Weighting(fallback_w3=0.1))
    assert [cell.scores for cell in found.cells] == [found.cells[0].scores]
    assert found.largest_change == 0
    with pytest.raises(UsageError, match="lacks the default"):
        sensitivity_grid(systems, 5, alphas=[0])
    with pytest.raises(UsageError, match="no systems"):
        sensitivity_grid({}, 5)


def test_queries_without_anything_useful_are_no_score() -> None:
    """All undefined: the scores are NaN, nothing changes."""
    nothing = Graded(np.array([[3, 1, 0, 0, 0]]), np.array([[1, 2]], dtype=np.int8))
    found = sensitivity_grid({"a": nothing, "b": nothing}, 2)
    assert math.isnan(found.cells[0].scores["a"])
    assert found.cells[0].n_valid == {"a": 0, "b": 0}
    assert math.isnan(found.largest_change)
