"""Seeded draws: the same ids whatever their order, in proportion where labels count."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data import draw, draw_stratified, open_dataset
from embassay.errors import UsageError

IDS = st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=30, unique=True)


@given(IDS, st.integers(1, 35), st.integers(0, 5), st.randoms())
def test_draw_does_not_depend_on_order(ids: list[str], limit: int, seed: int, shuffler: random.Random) -> None:
    """A shuffled list draws the same ids; positions come back ascending."""
    drawn = draw(ids, limit, seed)
    shuffled = shuffler.sample(ids, len(ids))
    assert drawn == sorted(set(drawn))
    assert len(drawn) == min(limit, len(ids))
    assert {ids[n] for n in drawn} == {shuffled[n] for n in draw(shuffled, limit, seed)}


@given(IDS, st.integers(1, 30), st.integers(0, 5))
def test_smaller_draws_are_part_of_larger_ones(ids: list[str], limit: int, seed: int) -> None:
    """Raising the limit only adds."""
    assert set(draw(ids, limit, seed)) <= set(draw(ids, limit + 1, seed))


def test_draws_are_pinned() -> None:
    """The draw of a seed is the same in every version."""
    ids = [str(n) for n in range(100)]
    assert draw(ids, 5, 1337) == [19, 23, 30, 42, 55]
    assert draw(ids, 5, 1) != draw(ids, 5, 1337)
    assert draw(ids, None, 1337) == list(range(100))


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=60), st.integers(1, 70), st.integers(0, 5))
def test_stratified_draw_keeps_proportions(labels: list[str], limit: int, seed: int) -> None:
    """Every label is there while there is room, and none is a whole place off its share."""
    ids = [str(n) for n in range(len(labels))]
    drawn = draw_stratified(ids, labels, limit, seed)
    sizes, got = Counter(labels), Counter(labels[n] for n in drawn)
    assert len(drawn) == len(set(drawn)) == min(limit, len(labels))
    assert len(got) == min(len(sizes), limit)
    if len(sizes) <= limit < len(labels):
        left = (limit - len(sizes)) / max(len(labels) - len(sizes), 1)
        assert all(abs(got[label] - 1 - left * (sizes[label] - 1)) < 1 for label in sizes)


def test_stratified_draw_does_not_depend_on_order() -> None:
    """Turning the list round draws the same ids."""
    ids, labels = [str(n) for n in range(50)], ["a"] * 40 + ["b"] * 7 + ["c"] * 3
    drawn = {ids[n] for n in draw_stratified(ids, labels, 10, 3)}
    assert drawn == {ids[::-1][n] for n in draw_stratified(ids[::-1], labels[::-1], 10, 3)}


@pytest.mark.parametrize("shape", ["documents", "summarised", "labelled"])
def test_limit_draws_rows(shape: str, tmp_path: Path) -> None:
    """Two files with the same rows in another order give the same rows, each in its own order."""
    rows = [f"{n},t{n},s{n},{'xyz'[n % 3]}\n" for n in range(40)]
    for name, lines in (("a.csv", rows), ("b.csv", rows[::-1])):
        (tmp_path / name).write_text("id,text,summary,label\n" + "".join(lines))
    one, other = (open_dataset(str(tmp_path / name)).load(shape, limit=7).data for name in ("a.csv", "b.csv"))
    assert len(one) == 7
    assert list(one.ids) == sorted(one.ids, key=int)
    assert one.ids == other.ids[::-1]
    assert one.texts == tuple(f"t{key}" for key in one.ids)


def test_limit_of_labelled_is_per_set(tmp_path: Path) -> None:
    """Every set keeps the limit of texts, and all its labels."""
    rows = "".join(f"t{n},{'ab'[n % 2]},{n % 3}\n" for n in range(60))
    (tmp_path / "x.csv").write_text("text,label,set\n" + rows)
    data = open_dataset(str(tmp_path / "x.csv")).load("labelled", limit=4).data
    assert Counter(data.sets) == {"0": 4, "1": 4, "2": 4}
    assert set(zip(data.sets, data.labels, strict=True)) == {(s, label) for s in "012" for label in "ab"}


@pytest.mark.parametrize(("limit", "shape"), [(0, "documents"), (-1, "retrieval"), (1, "labelled")])
def test_limit_that_cannot_be(limit: int, shape: str) -> None:
    """A limit below 1, or below two labels, is a usage error."""
    with pytest.raises(UsageError, match=f"The limit is {limit}"):
        open_dataset("sample").load(shape, limit=limit)
