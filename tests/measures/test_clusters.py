"""V-measure, ARI and AMI: hand-worked, against scikit-learn, and at their edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from embassay.errors import UsageError
from embassay.measures import ami, ari, v_measure

groupings = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 5), min_size=n, max_size=n), st.lists(st.integers(0, 5), min_size=n, max_size=n)
    )
)


@given(groupings, st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_v_measure_is_that_of_scikit_learn(groups: tuple[list[int], list[int]], beta: float) -> None:
    """Equal to 1e-6 for every weight of completeness. Without any, scikit-learn divides by zero where the
    completeness is 0, and ours is 0."""
    if beta == 0 and metrics.completeness_score(*groups) < 1e-12:
        assert v_measure(*groups, beta=beta) == 0
        return
    expected = metrics.v_measure_score(*groups, beta=beta)
    assert v_measure(*groups, beta=beta) == pytest.approx(expected, abs=1e-6)


@given(groupings)
@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_ari_and_ami_are_those_of_scikit_learn(groups: tuple[list[int], list[int]]) -> None:
    """Equal to 1e-9."""
    assert ari(*groups) == pytest.approx(metrics.adjusted_rand_score(*groups), abs=1e-9)
    assert ami(*groups) == pytest.approx(metrics.adjusted_mutual_info_score(*groups), abs=1e-9)


def test_worked_example() -> None:
    """The check vector of the HUME specification."""
    labels, clusters = [0, 0, 0, 1, 1, 1, 2, 2, 2], [5, 5, 5, 5, 7, 7, 9, 9, 9]
    assert v_measure(labels, clusters) == pytest.approx(0.786013, abs=1e-6)
    assert ari(labels, clusters) == pytest.approx(0.642857, abs=1e-6)


def test_v_measure_by_hand() -> None:
    """h and c from the entropies of aab|b: within clusters 3/4 H(2/3, 1/3), within classes 1/2 ln 2."""
    labels, clusters = list("aabb"), [0, 0, 0, 1]
    within_classes = 0.5 * math.log(2)
    within_clusters = 0.75 * -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))
    h = 1 - within_clusters / math.log(2)
    c = 1 - within_classes / -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert v_measure(labels, clusters) == pytest.approx(2 * h * c / (h + c), abs=1e-12)


@pytest.mark.parametrize("measure", [v_measure, ari, ami])
def test_edges(measure) -> None:
    """One cluster for one label is perfect, for several labels worthless; no items are undefined."""
    assert measure(["a", "a"], [3, 3]) == 1.0
    assert measure(["a", "b", "a"], [3, 3, 3]) == pytest.approx(0.0, abs=1e-12)
    assert measure(["a"], [1]) == 1.0
    assert math.isnan(measure([], []))
    with pytest.raises(UsageError, match="2 labels and 1 clusters"):
        measure([1, 2], [1])


@given(groupings, st.permutations(range(6)))
def test_names_do_not_matter(groups: tuple[list[int], list[int]], names: list[int]) -> None:
    """Renamed, as texts, as an array or in another order of items: the same value."""
    labels, clusters = groups
    renamed = [f"c{names[cluster]}" for cluster in clusters]
    expected = v_measure(labels, clusters)
    assert v_measure(labels, renamed) == pytest.approx(expected, abs=1e-12)
    assert v_measure(np.array(labels), np.array(renamed)) == pytest.approx(expected, abs=1e-12)
    assert v_measure(labels[::-1], clusters[::-1]) == pytest.approx(expected, abs=1e-12)


def test_values_of_two_types_stay_apart() -> None:
    """The label 1 is not the label "1"."""
    assert v_measure([1, "1"], [0, 1]) == 1.0


def test_large_counts_do_not_overflow() -> None:
    """The products of pair counts of half a million items pass 64 bits."""
    labels = np.arange(500_000) % 2
    assert ari(labels, labels) == 1.0
    assert ari(labels, np.arange(500_000) // 250_000) == pytest.approx(0.0, abs=1e-4)


def test_negative_beta_is_refused() -> None:
    """A weight below 0 has no meaning."""
    with pytest.raises(UsageError, match="beta is -1"):
        v_measure([1], [1], beta=-1)
