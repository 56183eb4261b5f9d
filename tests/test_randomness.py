"""Random streams: fixed by a seed and names, independent of each other and of everything else."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.randomness import draw_random_bytes, make_seeded_generator

GOLDEN = [
    ((1337, "word_shuffle", "doc-1"), "810674a09874a6aed85ace6c39889df6"),
    ((1337,), "876585ea692aa1e576faeae9ff97b3ef"),
    ((0, "é", "\ud800"), "d2c9bac281b692e4"),
]


@pytest.mark.parametrize(("key", "expected"), GOLDEN)
def test_golden_bytes(key: tuple, expected: str) -> None:
    """The stream of a seed and its names never changes: published runs depend on it."""
    assert draw_random_bytes(len(expected) // 2, *key).hex() == expected


def test_the_stream_is_shake_128_of_the_joined_key() -> None:
    """Anyone can make the same bytes: SHAKE-128 of seed and names joined by the unit separator."""
    assert draw_random_bytes(16, 7, "a", "b") == hashlib.shake_128(b"7\x1fa\x1fb").digest(16)


@given(st.integers(), st.lists(st.text(), max_size=3), st.integers(0, 40), st.integers(0, 40))
def test_a_shorter_draw_is_the_start_of_a_longer_one(seed: int, names: list[str], n: int, m: int) -> None:
    """How many bytes are asked for does not change them."""
    short, long = sorted((n, m))
    assert draw_random_bytes(long, seed, *names)[:short] == draw_random_bytes(short, seed, *names)


def test_streams_differ_by_seed_and_by_every_name() -> None:
    """Each seed, purpose and item has its own stream, and names are not run together."""
    keys = [
        (1, "a", "b"),
        (2, "a", "b"),
        (1, "a", "c"),
        (1, "c", "b"),
        (1, "ab"),
        (1, "a"),
        (1,),
        (11, "a"),
        (1, "1", "a"),
    ]
    assert len({draw_random_bytes(16, *key) for key in keys}) == len(keys)


def test_the_generator_is_a_fixed_bit_stream() -> None:
    """The generator's raw bits, which numpy promises not to change, follow from seed and names alone."""
    raw = make_seeded_generator(1337, "bootstrap", "sample", "documents").bit_generator.random_raw(3)
    assert raw.tolist() == [4914219769547459270, 11819477536316934094, 555970544860903935]


def test_streams_are_independent_of_order() -> None:
    """Drawing from one stream leaves the others where they were."""
    first = make_seeded_generator(3, "a")
    first.random(1000)
    assert make_seeded_generator(3, "b").random() == make_seeded_generator(3, "b").random()
    np.random.default_rng(0).random(5)
    assert make_seeded_generator(3, "a").random() == make_seeded_generator(3, "a").random()


def test_streams_of_neighbouring_items_are_unrelated() -> None:
    """The streams of doc-1, doc-2, ... do not resemble each other: their correlations are those of noise."""
    draws = np.stack([make_seeded_generator(1337, "doc", str(i)).random(2000) for i in range(20)])
    correlation = np.corrcoef(draws)[np.triu_indices(20, k=1)]
    assert np.abs(correlation).max() < 5 / np.sqrt(2000)
    assert abs(draws.mean() - 0.5) < 0.01


def test_bytes_are_uniform() -> None:
    """Over many items every value of a byte is about as frequent (chi-square, far from its 255 expected)."""
    drawn = np.frombuffer(b"".join(draw_random_bytes(16, 1, "x", str(i)) for i in range(4000)), dtype=np.uint8)
    counts = np.bincount(drawn, minlength=256)
    chi_square = ((counts - 250) ** 2 / 250).sum()
    assert 150 < chi_square < 370
