"""The smallest edit that flips an order: what is ordered, what is changed, how few changes are found, and chance."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import embassay as eb
from embassay.errors import UsageError
from embassay.protocols.sage.attack import (
    PairsMoreSimilarThanOthers,
    estimate_random_flip_shares,
    evaluate_word_attack,
    find_smallest_edits,
    list_small_errors_of_word,
    make_own_summary_similarity_orders,
    order_pairs_by_rating,
)
from embassay.protocols.sage.options import SageOptions
from embassay.protocols.sage.tasks import SageContext
from embassay.records import Documents, LabelledTextPairs, ScoredTextPairs
from embassay.text import open_tokenizer


class Common:
    """The share of letters of the first text that stand in the same place in the second."""

    name = identity = "common"
    kind = "classical"

    def pairs(self, a: Any, b: Any) -> Any:
        return np.array([self._share(*pair) for pair in zip(a, b, strict=True)])

    def _share(self, first: str, second: str) -> float:
        same = sum(one == other for one, other in zip(first, second, strict=False))
        return same / max(len(first), len(second), 1)


def scored(*scores: float) -> ScoredTextPairs:
    ids = tuple(f"p{place}" for place in range(len(scores)))
    return ScoredTextPairs(ids, tuple(f"a{key}" for key in ids), tuple(f"b{key}" for key in ids), np.array(scores))


def test_high_pairs_stand_above_low_ones() -> None:
    """From three quarters of the scale up, and to two fifths of it down, wherever it begins."""
    orders = order_pairs_by_rating(scored(5, 4, 3, 2, 1), 7)
    assert orders.ids == ("p0", "p1")
    assert set(orders.lower_second) <= {"bp3", "bp4"}
    assert orders == order_pairs_by_rating(scored(5, 4, 3, 2, 1), 7)
    labels = LabelledTextPairs(("x", "y"), ("a", "c"), ("b", "d"), np.array([1, 0], dtype=np.int8))
    assert order_pairs_by_rating(labels, 7) == PairsMoreSimilarThanOthers(("x",), ("a",), ("b",), ("c",), ("d",))
    assert not len(order_pairs_by_rating(scored(3, 3), 7))
    assert not len(order_pairs_by_rating(scored(), 7))


def test_a_document_stands_nearer_its_own_summary() -> None:
    orders = make_own_summary_similarity_orders(Documents(("1", "2"), ("long one", "long two"), ("one", "two")))
    assert orders.second == ("one", "two")
    assert orders.lower_first == ("long one", "long two")
    assert orders.lower_second == ("two", "one")


def test_small_errors_keep_the_word_recognisable() -> None:
    assert list_small_errors_of_word("heron") == ("HERON", "h3r0n", "heon", "hreon")
    assert list_small_errors_of_word("UP") == ()
    assert list_small_errors_of_word("42") == ()


@pytest.mark.parametrize("limit", [0.9, 0.7, 0.5])
def test_as_few_changes_as_there_can_be(limit: float) -> None:
    """Against all ways to change up to three words; letters count alone, so that the search by steps is exact."""
    text = "the tide turns at noon"
    [attack] = find_smallest_edits(Common(), [text], [text], np.array([limit]), budget=3)
    words = text.split()

    def variants(count: int) -> Any:
        for places in combinations(range(len(words)), count):
            for forms in product(*(list_small_errors_of_word(words[place]) for place in places)):
                changed = dict(zip(places, forms, strict=True))
                yield " ".join(changed.get(place, word) for place, word in enumerate(words))

    fewest = next((n for n in (1, 2, 3) if any(Common()._share(text, other) < limit for other in variants(n))), None)
    assert fewest == (attack.changes if attack.flips else None)
    assert attack.similarity == pytest.approx(Common()._share(text, attack.text), abs=1e-6)


def test_a_wider_search_never_needs_more() -> None:
    first, second = (["the tide turns at noon today"] * 2, ["a tide turns again at noon", "noon is the turn of tides"])
    limits = np.array([0.05, 0.02])
    narrow, wide = (find_smallest_edits(Common(), first, second, limits, budget=4, beam=beam) for beam in (1, 8))
    for one, other in zip(narrow, wide, strict=True):
        assert other.flips >= one.flips
        assert not one.flips or other.changes <= one.changes


def test_what_cannot_be_changed_is_not_flipped() -> None:
    [attack] = find_smallest_edits(Common(), ["7 8"], ["7 8"], np.array([0.5]))
    assert (attack.text, attack.changes, attack.flips) == ("7 8", 0, False)
    with pytest.raises(UsageError, match="budget"):
        find_smallest_edits(Common(), ["a"], ["a"], np.array([0.5]), budget=0)


def test_chance_grows_with_the_number_of_changes() -> None:
    """The same draws at every number, by the seed and the item alone."""
    orders = PairsMoreSimilarThanOthers(
        ("1", "2"), ("the tide turns",) * 2, ("the tide turns",) * 2, ("x", "y"), ("x", "y")
    )
    limits = np.array([0.8, 0.5])
    shares = estimate_random_flip_shares(Common(), orders, limits, 3, 7)
    assert shares.shape == (2, 3)
    assert (np.diff(shares, axis=1) >= 0).all()
    assert 0 <= shares.min() <= shares.max() <= 1
    assert np.array_equal(shares, estimate_random_flip_shares(Common(), orders, limits, 3, 7))
    swapped = PairsMoreSimilarThanOthers(
        *(
            tuple(reversed(column))
            for column in (orders.ids, orders.first, orders.second, orders.lower_first, orders.lower_second)
        )
    )
    assert np.array_equal(shares[::-1], estimate_random_flip_shares(Common(), swapped, limits[::-1], 3, 7))


def test_an_order_that_is_wrong_at_first_is_not_attacked() -> None:
    """It counts in `right` alone; a tie is no order."""
    data = PairsMoreSimilarThanOthers(
        ("1", "2", "3"), ("tide", "tide", "tide"), ("tide", "moon", "tide"), ("x", "x", "y"), ("q", "x", "y")
    )
    context = SageContext("mine", open_tokenizer("words"), 7, SageOptions(resamples=50, attack_budget=2))
    outcome = evaluate_word_attack(Common(), data, context)
    value = {(score.measure, score.variant): (score.value, score.n) for score in outcome.scores}
    assert value["right", ""] == (pytest.approx(1 / 3), 3)
    assert value["flipped", "changes=1"][1] == 1
    assert outcome.counts == {"orders": 3, "attacked": 1}


def test_similarities_that_hang_on_their_batch_are_not_compared(tmp_path: Path) -> None:
    run = eb.sage.run(
        ["bm25", "bm25?normalise=self"], tasks=["attack"], limit=20, tokenizer="words",
        options=SageOptions(resamples=50, attack_budget=1), out=tmp_path / "run"
    )  # fmt: skip
    rows = run.results.filter((pl.col("measure") == "withstood") & (pl.col("dataset") == "sample"))
    value = {row["system"]: row for row in rows.iter_rows(named=True)}
    assert value["bm25"]["value"] is None
    assert "bm25?normalise=self" in value["bm25"]["reason"]
    assert value["bm25?normalise=self"]["value"] is not None


def test_a_run_on_the_sample(tmp_path: Path) -> None:
    """Every share is the mean of its items; the task is done where it is asked for, and is no part of the score."""
    options = SageOptions(resamples=100, attack_budget=3)
    run = eb.sage.run(["jaccard"], tasks=["attack"], limit=40, tokenizer="words", options=options, out=tmp_path / "run")
    rows = run.results.filter((pl.col("system") == "jaccard") & (pl.col("dataset") == "sample"))
    value = {(row["measure"], row["variant"]): row for row in rows.iter_rows(named=True)}
    items = pl.read_parquet(tmp_path / "run" / "items" / "attack" / "sample" / "jaccard.parquet")
    for (measure, variant), row in value.items():
        if measure in ("right", "withstood", "flipped", "flipped by chance"):
            own = items.filter((pl.col("measure") == measure) & (pl.col("variant") == variant))["value"]
            assert row["value"] == pytest.approx(own.drop_nulls().drop_nans().mean())
    assert value["withstood", ""]["value"] == pytest.approx(1 - value["flipped", "changes=3"]["value"])
    assert value["flipped", "changes=3"]["value"] > value["flipped by chance", "changes=3"]["value"]
    assert value["withstood", ""]["ci_low"] < value["withstood", ""]["value"]
    table = run.table("sage_attack")
    assert table["withstood"][table["system"].to_list().index("jaccard")] == value["withstood", ""]["value"]
    assert (
        "attack"
        not in eb.sage.run(["jaccard"], limit=3, tokenizer="words", options=options, out=tmp_path / "all")
        .results["task"]
        .unique()
    )


def test_the_overall_score_leads_only_where_all_five_tasks_are_there(tmp_path: Path) -> None:
    """An attack beside four of them makes no fifth, on the page and on the board."""
    from embassay.report.board import choose_leading_scope
    from embassay.report.record import read_run_record

    tasks = ["preference", "robustness", "sensitivity", "clustering", "attack"]
    options = SageOptions(resamples=20, attack_budget=1)
    run = eb.sage.run(
        ["jaccard", "rouge"], tasks=tasks, limit=4, tokenizer="words", options=options, out=tmp_path / "run"
    )
    assert choose_leading_scope(read_run_record(run.path)) == "preference"
