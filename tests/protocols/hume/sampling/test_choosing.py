"""Which items are taken: counts by rule, the same whatever the order of the file."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import DataError
from embassay.protocols.hume.sampling.pools import (
    draw_equally_per_label,
    draw_items_of_gold_clusters,
    draw_most_relevant_documents,
    draw_pairs_by_score_bin,
    seeded_order,
    share_places_round_robin,
)

ids_and_labels = st.lists(st.sampled_from("abcd"), min_size=1, max_size=60).map(
    lambda labels: ([f"i{place}" for place in range(len(labels))], labels)
)


@given(ids_and_labels, st.integers(1, 40), st.integers(0, 5))
def test_equal_per_label(pool: tuple[list[str], list[str]], n: int, seed: int) -> None:
    """Every label has as many items, or all it has; no item twice; never more than asked for."""
    ids, labels = pool
    choice = draw_equally_per_label(ids, labels, n, seed)
    held, taken = Counter(labels), Counter(labels[place] for place in choice.positions)
    assert len(set(choice.positions)) == len(choice.positions) <= n
    each = n // len(held)
    if each:
        assert taken == {label: min(each, size) for label, size in held.items()}
    else:
        assert set(taken.values()) == {1}
        assert len(choice.positions) == n
    assert bool(choice.notes) == (not each or any(size < each for size in held.values()) or each * len(held) < n)


@given(ids_and_labels, st.integers(2, 20), st.randoms())
def test_the_order_of_the_file_does_not_matter(pool: tuple[list[str], list[str]], n: int, random) -> None:
    """The ids drawn are the same when the rows are shuffled."""
    rows = list(zip(*pool, strict=True))
    drawn = {rows[place][0] for place in draw_equally_per_label(*pool, n, 7).positions}
    random.shuffle(rows)
    ids, labels = zip(*rows, strict=True)
    assert {ids[place] for place in draw_equally_per_label(ids, labels, n, 7).positions} == drawn


def test_a_short_label_gives_all_and_it_is_said() -> None:
    """As the spec asks: take all and note it."""
    ids = [f"i{place}" for place in range(23)]
    choice = draw_equally_per_label(ids, ["joy"] * 20 + ["fear"] * 3, 20, 1)
    assert Counter(["joy"] * 20 + ["fear"] * 3)["fear"] == sum(place >= 20 for place in choice.positions)
    assert choice.notes == ("13 items, not 20: labels with fewer than 10 items contribute all of them: fear 3",)


@pytest.mark.parametrize(
    ("n", "clusters", "groups", "sizes"),
    [(30, 10, None, [5] * 6), (40, 7, None, [8] * 5), (30, 5, None, [6] * 5), (12, 3, None, [4] * 3),
     (20, 10, 4, [5] * 4), (32, 10, None, [5] * 6)],
)  # fmt: skip
def test_sizes_of_gold_groups(n: int, clusters: int, groups: int | None, sizes: list[int]) -> None:
    """6 clusters of 5 as in the paper, 5 where they divide better, and what is asked for."""
    labels = [f"c{place % clusters}" for place in range(clusters * 20)]
    choice = draw_items_of_gold_clusters([str(place) for place in range(len(labels))], labels, n, 3, groups)
    assert sorted(Counter(labels[place] for place in choice.positions).values()) == sizes
    assert bool(choice.notes) == (sum(sizes) < n)


def test_large_clusters_go_before_small_ones() -> None:
    """A cluster without enough items is drawn only if it must be, and it is said."""
    labels = ["big"] * 9 + ["mid"] * 8 + ["tiny"] * 2
    ids = [str(place) for place in range(len(labels))]
    assert {labels[place] for place in draw_items_of_gold_clusters(ids, labels, 8, 1, 2).positions} == {"big", "mid"}
    assert draw_items_of_gold_clusters(ids, labels, 12, 1, 3).notes == (
        "10 items, not 12: 4 for each of 3 clusters, 1 of which have fewer",
    )


@pytest.mark.parametrize(("labels", "n"), [(["one"] * 9, 6), (["one", "two"] * 9, 3), (["a", "b", "c", "c"], 6)])
def test_what_cannot_be_grouped(labels: list[str], n: int) -> None:
    """One cluster, or one item of each."""
    with pytest.raises(DataError, match="too few to group"):
        draw_items_of_gold_clusters([str(place) for place in range(len(labels))], labels, n, 1)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=80), st.integers(1, 50), st.integers(0, 3))
def test_pairs_by_bins(scores: list[float], n: int, seed: int) -> None:
    """As many as there are, at most `n`; no bin that has room is more than one behind another."""
    ids = [f"p{place}" for place in range(len(scores))]
    choice = draw_pairs_by_score_bin(ids, scores, [(f"{key}a", f"{key}b") for key in ids], n, seed)
    assert len(set(choice.positions)) == len(choice.positions) == min(n, len(scores))
    low, width = min(scores), (max(scores) - min(scores)) / 5 or 1.0

    def bins(places) -> Counter[int]:
        return Counter(min(int((scores[place] - low) / width), 4) for place in places)

    held, taken = bins(range(len(scores))), bins(choice.positions)
    assert all(taken[one] == held[one] or taken[one] >= max(taken.values()) - 1 for one in held)


def test_a_text_is_in_one_pair_only_as_far_as_there_are_enough() -> None:
    """Of six pairs in one bin, three share a text: the others go first."""
    texts = [("same", f"x{place}") for place in range(3)] + [(f"y{place}", f"z{place}") for place in range(3)]
    ids = [f"p{place}" for place in range(6)]
    places = draw_pairs_by_score_bin(ids, [1.0] * 6, texts, 4, 11).positions
    assert sum(place < 3 for place in places) == 1
    assert len(draw_pairs_by_score_bin(ids, [1.0] * 6, texts, 6, 11).positions) == 6


@given(st.dictionaries(st.integers(0, 6), st.integers(0, 9), min_size=1), st.integers(0, 40))
def test_places_are_shared(room: dict[int, int], n: int) -> None:
    """All places are given while there is room, and none twice ahead of another with room."""
    places = share_places_round_robin(room, n)
    assert sum(places.values()) == min(n, sum(room.values()))
    assert all(
        places[key] <= room[key] and (places[key] == room[key] or places[key] + 1 >= max(places.values()))
        for key in room
    )


@given(st.dictionaries(st.text("abc", min_size=1), st.integers(0, 4)), st.integers(1, 4))
def test_the_most_relevant_go_first(gains: dict[str, int], upto: int) -> None:
    """None of gain 0, and none left out that gains more than one taken."""
    taken = draw_most_relevant_documents(gains, upto, 5, "q")
    rest = [gain for document, gain in gains.items() if document not in taken]
    assert len(taken) == min(upto, sum(gain > 0 for gain in gains.values()))
    assert all(gains[document] > 0 and gains[document] >= max(rest, default=0) for document in taken)


def test_seeds_differ() -> None:
    """Another seed or another name is another order; ids that repeat are no problem."""
    ids = [str(place) for place in range(30)]
    assert len({tuple(seeded_order(ids, seed, name)) for seed in (1, 2) for name in "xy"}) == 4
    assert sorted(seeded_order(["a", "a"], 1)) == [0, 1]
