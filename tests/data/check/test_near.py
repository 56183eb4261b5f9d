"""Near-duplicates: what is reported is real, hardly any is missed, and no data make the search explode."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from embassay.data.check import NearDuplicateRule
from embassay.data.check import figures as near
from embassay.data.check.figures import (
    PERMUTATIONS,
    TRIES,
    TextMinHashSignatures,
    Unit,
    compute_hash_jaccard,
    hash_shingles,
)
from embassay.errors import UsageError

WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "ne", "ru", "sta", "ter", "vo") for b in ("bel", "din", "gor", "han")]


def _edited(count: int, seed: int = 1) -> list[str]:
    """Random texts of 12 words, and of each a copy in which one, two or three of them are others."""
    rng = np.random.default_rng(seed)
    texts = [rng.choice(WORDS, 12).tolist() for _ in range(count)]
    copies = [list(words) for words in texts]
    for words in copies:
        for place in rng.choice(12, rng.integers(1, 4), replace=False):
            words[place] = str(rng.choice(WORDS))
    return [" ".join(words) for words in (*texts, *copies)]


def _index(one: str, other: str, unit: Unit) -> float:
    """The Jaccard index by sets of strings, without hashing."""
    sets = []
    for text in (one, other):
        parts = " ".join(text.casefold().split()) if unit == "characters" else text.casefold().split()
        size = min(len(parts), 5 if unit == "characters" else 3)
        runs = {tuple(parts[i : i + size]) for i in range(len(parts) - size + 1)} if size else set()
        sets.append(runs)
    one_set, other_set = sets
    return len(one_set & other_set) / len(one_set | other_set) if one_set | other_set else 1.0


@pytest.mark.parametrize("unit", ["characters", "words"])
@given(one=st.text(max_size=30), other=st.text(max_size=30))
def test_the_index_is_that_of_the_sets(unit: Unit, one: str, other: str) -> None:
    """Hashed or not, the shared shingles over all: any letters, blank texts and short ones included."""
    assert compute_hash_jaccard(hash_shingles(one, unit), hash_shingles(other, unit)) == pytest.approx(
        _index(one, other, unit)
    )


def test_worked_example() -> None:
    """`abcdefg` has the runs abcde bcdef cdefg, `abcdefh` has abcde bcdef cdefh: 2 shared of 4."""
    assert compute_hash_jaccard(hash_shingles("abcdefg", "characters"), hash_shingles("ABCDEFH", "characters")) == 0.5


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 0.9])
def test_pairs_are_real_and_hardly_any_is_missed(threshold: float) -> None:
    """Against all pairs compared: nothing that isn't one, and at least 95% of the texts that repeat another."""
    texts = _edited(150)
    found = TextMinHashSignatures(texts, NearDuplicateRule(threshold)).pairs()
    real: dict[tuple[int, int], float] = {}
    cut = [hash_shingles(text, "characters") for text in texts]
    for first, second in combinations(range(len(texts)), 2):
        if (alike := compute_hash_jaccard(cut[first], cut[second])) >= threshold:
            real[first, second] = alike
    assert all(real[pair.first, pair.second] == pair.jaccard for pair in found)
    repeated = {second for _, second in real}
    assert len(repeated) > 5
    assert len({pair.second for pair in found}) == len(found) >= 0.95 * len(repeated)


def test_signatures_are_the_librarys() -> None:
    """Shingles handed over as one array give what datasketch gives one by one."""
    text = "a text that is a little longer than one shingle"
    ours = TextMinHashSignatures([text], NearDuplicateRule())._signatures[0]
    plain = MinHash(PERMUTATIONS, hashfunc=int)
    for shingle in hash_shingles(text, "characters") >> np.uint64(32):
        plain.update(shingle)
    assert ours.tolist() == plain.hashvalues.tolist()


def test_sides() -> None:
    """With sides given, only what is asked for is found, wherever it stands."""
    texts = [
        "the cat sat on the mat today",
        "no such thing",
        "the cat sat on the mat today!",
        "the cat sat on the mat today?",
    ]
    sketches = TextMinHashSignatures(texts, NearDuplicateRule(0.6))
    late = np.array([True, False, False, False])
    assert [pair[:2] for pair in sketches.pairs(~late, late)] in ([(2, 0)], [(3, 0)])
    assert sketches.pairs(~late, ~late)[-1][:2] == (2, 3)
    assert sketches.pairs(late, late) == []


@pytest.mark.parametrize("alike", [True, False], ids=["above the threshold", "below it"])
def test_a_template_does_not_explode(alike: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of texts that all look alike are compared with a few each: all are found, or none."""
    compared: list[float] = []

    def counted(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> float:
        compared.append(compute_hash_jaccard(one, other))
        return compared[-1]

    monkeypatch.setattr(near, "compute_hash_jaccard", counted)
    rng = np.random.default_rng(3)
    names = [" ".join(rng.choice(WORDS, 3)) for _ in range(4000)]
    texts = [
        f"order {number}" + (" of the same old words as ever and ever" if alike else f" {name} as ever")
        for number, name in enumerate(names)
    ]
    found = TextMinHashSignatures(texts, NearDuplicateRule(0.7)).pairs()
    assert len(compared) <= TRIES * len(texts)
    assert len(found) > 3900 if alike else len(found) < 400


def test_nothing_to_compare() -> None:
    """No text, one text and blank texts are no trouble."""
    assert TextMinHashSignatures([], NearDuplicateRule()).pairs() == []
    assert TextMinHashSignatures(["x"], NearDuplicateRule()).pairs() == []
    assert len(TextMinHashSignatures(["", "x" * 20], NearDuplicateRule()).pairs()) == 0


@pytest.mark.parametrize("threshold", [0.1, 0.0, 1.2])
def test_thresholds_that_cannot_be_searched(threshold: float) -> None:
    """A threshold out of reach is refused with what can be had."""
    with pytest.raises(UsageError, match="must be from 0\\.3 to 1") as caught:
        NearDuplicateRule(threshold)
    assert "--no-near" in caught.value.mend


def test_long_texts_take_little_memory() -> None:
    """A text of a million characters is hashed in portions."""
    import tracemalloc

    tracemalloc.start()
    TextMinHashSignatures(
        ["".join(map(chr, np.random.default_rng(1).integers(97, 123, 1_000_000)))], NearDuplicateRule()
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
