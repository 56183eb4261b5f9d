"""The reference rows: constant and random."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.systems.reference import ConstantSimilarity, RandomSimilarity


def test_constant_is_one():
    """Similarity 1, distance 0, the first texts first."""
    system = ConstantSimilarity()
    assert system.pairs(["a", ""], ["b", "c"]).tolist() == [1, 1]
    assert system.distances(["a", "b", "c"]).tolist() == [0, 0, 0]
    found = system.search(["q"], ["a", "b", "c"], 2)
    assert found.indices.tolist() == [[0, 1]]
    assert found.scores.tolist() == [[1, 1]]
    assert (system.kind, system.identity) == ("reference", "constant/1")


@given(st.text(), st.text(), st.integers(0, 9))
def test_random_is_symmetric_and_one_for_equal_texts(a, b, seed):
    """The order of a pair does not matter, and a text equals itself."""
    there, back, same = RandomSimilarity(seed=seed).pairs([a, b, a], [b, a, a])
    assert there == back
    assert same == 1


def test_random_is_uniform_and_uncorrelated():
    """20,000 pairs: mean, spread and deciles of the uniform distribution; rows do not correlate."""
    texts = [f"text {i}" for i in range(200)]
    values = RandomSimilarity().distances(texts).astype(float)
    assert values.mean() == pytest.approx(0.5, abs=0.01)
    assert values.std() == pytest.approx(12**-0.5, abs=0.01)
    share, _ = np.histogram(values, bins=10, range=(0, 1))
    np.testing.assert_allclose(share / len(values), 0.1, atol=0.01)
    square = RandomSimilarity().search(texts, [f"other {i}" for i in range(200)], 200)
    rows = np.take_along_axis(square.scores, np.argsort(square.indices, axis=1), axis=1)
    correlations = np.corrcoef(rows)[np.triu_indices(200, 1)]
    assert np.abs(correlations).max() < 0.35
    assert abs(correlations.mean()) < 0.01


def test_random_follows_the_seed():
    """Another seed, other values; the same seed, the same values."""
    a, b = ["x"] * 5, list("abcde")
    assert RandomSimilarity(seed=1).pairs(a, b).tolist() == RandomSimilarity(seed=1).pairs(a, b).tolist()
    assert RandomSimilarity(seed=1).pairs(a, b).tolist() != RandomSimilarity(seed=2).pairs(a, b).tolist()


@pytest.mark.slow
def test_random_is_the_same_in_every_process():
    """No use of Python's own hash, which differs between processes."""
    code = "from embassay.systems.reference import RandomSimilarity as R; print(R().pairs(['a'], ['b'])[0])"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == str(RandomSimilarity().pairs(["a"], ["b"])[0])
