"""The word edit distance: golden values, a plain second computation and invariances."""

from __future__ import annotations

from typing import Any

import pytest
import rapidfuzz.process
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.measures import edit_distance, edit_distances

texts = st.lists(st.sampled_from(["a", "b", "A", "B.", "-1", "\U0001f600"]), max_size=8).map(" ".join)


def by_table(a: list[str], b: list[str]) -> int:
    """Levenshtein's distance by the textbook's table."""
    row = list(range(len(b) + 1))
    for i, word in enumerate(a, start=1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(b, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("a b c", "a x c d", 2 / 4),  # spec section 13.4
        ("", "", 0.0),
        (" \n", "", 0.0),
        ("", "one two", 1.0),
        ("The cat sat", "the cat sat", 1 / 3),  # case counts
        ("stop it", "stop it.", 1 / 2),  # punctuation belongs to its word
        ("a  b\tc", "a b c", 0.0),
        ("one two three four", "four three two one", 1.0),
    ],
)
def test_golden_values(a: str, b: str, expected: float) -> None:
    """Worked by hand."""
    assert edit_distance(a, b) == expected


@given(texts, texts)
def test_agrees_with_the_table(a: str, b: str) -> None:
    """Equal to the plain computation, symmetric, within 0 to 1, and 0 for the same words only."""
    first, second = a.split(), b.split()
    longer = max(len(first), len(second))
    value = edit_distance(a, b)
    assert value == (by_table(first, second) / longer if longer else 0)
    assert edit_distance(b, a) == value
    assert 0 <= value <= 1
    assert (value == 0) == (first == second)


@given(st.lists(st.tuples(texts, texts), max_size=5))
def test_many_pairs_are_each_pair(pairs: list[tuple[str, str]]) -> None:
    """The vectorised form gives what the single one gives."""
    values = edit_distances([a for a, _ in pairs], [b for _, b in pairs])
    assert values.tolist() == [edit_distance(a, b) for a, b in pairs]


def test_unequal_lengths_are_refused() -> None:
    """One wording per text."""
    with pytest.raises(UsageError, match="2 texts and 1 paraphrases"):
        edit_distances(["a", "b"], ["a"])


def test_many_pairs_are_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's paraphrases are measured at once, on all cores, and not pair by pair."""
    calls: list[int] = []
    compare = rapidfuzz.process.cpdist

    def counted(left: list[str], right: list[str], **more: Any) -> Any:
        calls.append(len(left))
        assert more["workers"] == -1
        return compare(left, right, **more)

    monkeypatch.setattr(rapidfuzz.process, "cpdist", counted)
    many = [f"{number} {number % 7} words" for number in range(300)]
    assert edit_distances(many, many[::-1]).shape == (300,)
    assert calls == [300]
