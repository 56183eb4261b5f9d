"""Table 11: its arithmetic, its intervals, and when there is no verdict."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from statistics import fmean, median

import numpy as np
import pytest

from embassay.measures import krippendorff_alpha
from embassay.protocols.pteb.validation.raters import RaterRating, apply_rating_checks, summarise_language_ratings
from embassay.protocols.pteb.validation.scoring import make_rating_result_rows, make_study_rating_tables
from embassay.protocols.wordings.pairs import LanguageAcceptanceRules, PairToRate

REFERENCE = Path(__file__).parents[4] / ".." / "shared" / "reference" / "pteb" / "table11.csv"
RULES = LanguageAcceptanceRules()
PUBLISHED = {
    "ara": (4.43, 5), "fra": (3.78, 4), "deu": (4.40, 5), "hau": (3.34, 4), "rus": (4.16, 5), "spa": (4.01, 4),
    "swa": (3.91, 4), "tur": (4.40, 5),
}  # fmt: skip
"""Table 11: mean and median of 100 ratings."""


def pairs(lang, n):
    return [PairToRate(f"{lang}-{i}", lang, "pair", f"t{i}", f"o{i}", None) for i in range(n)]


def results_of(ratings, items, *, per_pair=2, rules=RULES):
    checked = apply_rating_checks(ratings, {item.pair_id: item for item in items}, rules)
    return summarise_language_ratings(checked.kept, items, checked.raters, rules, per_pair=per_pair, seed=1337)


def with_mean(mean, middle, n=100):
    """n whole ratings from 0 to 5 with this mean and median."""
    values = [middle] * n
    excess = round(mean * n) - sum(values)
    step = 1 if excess > 0 else -1
    end = 5 if excess > 0 else 0
    place = 0
    # Only the first half moves away from the middle, so it stays the median.
    while excess:
        moved = min(abs(excess), abs(end - middle))
        values[place] += step * moved
        excess -= step * moved
        place += 1
    assert place < n / 2
    return values


def test_published_table_11():
    """Ratings with the published means and medians give the published verdicts, and totals 4.05 and 4."""
    items, ratings = [], []
    for lang, (mean, middle) in PUBLISHED.items():
        own = pairs(lang, 50)
        items += own
        values = with_mean(mean, middle)
        ratings += [RaterRating(own[i % 50].pair_id, f"{lang}-{i // 50}", float(v)) for i, v in enumerate(values)]
    *each, total = results_of(ratings, items)
    assert {one.lang: (round(one.mean.value, 2), one.median) for one in each} == PUBLISHED
    assert all(one.accepted for one in each)
    assert round(total.mean.value, 2) == 4.05
    assert total.mean.value == pytest.approx(fmean(mean for mean, _ in PUBLISHED.values()))
    assert (total.ratings, total.rated, total.accepted) == (800, 400, True)
    table = next(make_study_rating_tables((*each, total), (), 3.0))
    assert [row[0] for row in table.rows] == [*PUBLISHED, "Total"]


@pytest.mark.shared
@pytest.mark.skipif(not REFERENCE.exists(), reason="the paper's numbers are not here")
def test_published_table_11_from_the_reference():
    """The means and medians above are those of the paper, and its total is their mean."""
    with REFERENCE.open(newline="") as stream:
        found = list(csv.DictReader(stream))
    for row in found[:-1]:
        assert (float(row["mean_similarity"]), float(row["median_similarity"])) == PUBLISHED[row["iso"]]
    assert float(found[-1]["mean_similarity"]) == round(fmean(m for m, _ in PUBLISHED.values()), 2)


def test_every_number_is_a_direct_computation():
    """Mean over pairs, median over ratings, share, alpha, both distributions."""
    rng = np.random.default_rng(2)
    items = pairs("fra", 40)
    table = rng.integers(0, 6, size=(2, 40)).astype(float)
    ratings = [RaterRating(f"fra-{i}", f"r{r}", table[r, i]) for r in range(2) for i in range(40)]
    one, total = results_of(ratings, items)
    means = table.mean(axis=0)
    assert one.mean.value == pytest.approx(means.mean())
    assert one.mean.low < one.mean.value < one.mean.high
    error = means.std(ddof=1) / math.sqrt(40)
    assert one.mean.high - one.mean.low == pytest.approx(2 * 1.96 * error, rel=0.15)
    assert one.median == median(table.ravel())
    assert one.share.value == pytest.approx((means >= 3).mean())
    assert one.alpha.value == pytest.approx(krippendorff_alpha(table))
    assert one.alpha.low < one.alpha.value < one.alpha.high
    assert one.rating_counts == tuple((table == grade).sum() for grade in range(6))
    assert one.pair_counts == tuple((np.floor(means + 0.5) == grade).sum() for grade in range(6))
    assert one.accepted == (means.mean() >= 3)
    assert total.mean.value == pytest.approx(one.mean.value)


def test_the_threshold_is_reached_at_the_threshold():
    """3.00 is accepted, 2.99 is not; another threshold may be fixed."""
    items = pairs("fra", 100)
    exact = [RaterRating(f"fra-{i}", "a", 3.0) for i in range(100)]
    below = [*exact[:-1], RaterRating("fra-99", "a", 2.0)]
    assert results_of(exact, items, per_pair=1)[0].accepted
    assert not results_of(below, items, per_pair=1)[0].accepted
    assert not results_of(exact, items, per_pair=1, rules=LanguageAcceptanceRules(threshold=3.01))[0].accepted


def test_pairs_with_one_rating_count_as_pairs():
    """And are told; a pair is the mean of what it has."""
    items = pairs("fra", 2)
    ratings = [RaterRating("fra-0", "a", 5.0), RaterRating("fra-0", "b", 3.0), RaterRating("fra-1", "a", 2.0)]
    one, _ = results_of(ratings, items)
    assert one.mean.value == pytest.approx((4 + 2) / 2)
    assert (one.rated, one.incomplete, one.ratings) == (2, 1, 3)


def test_over_five_percent_of_pairs_without_a_rating_there_is_no_verdict():
    """The reason is told, and no mean of the rest; at 5% there still is one."""
    items = pairs("fra", 40)
    enough = [RaterRating(f"fra-{i}", "a", 4.0) for i in range(38)]
    one, total = results_of(enough, items, per_pair=1)
    assert (one.accepted, one.rated) == (True, 38)
    one, total = results_of(enough[:-1], items, per_pair=1)
    assert (one.accepted, one.mean) == (None, None)
    assert one.reason == "3 of 40 pairs have no valid rating (over 5%, so no verdict)"
    assert (total.accepted, total.mean, total.reason) == (None, None, "no verdict on fra")


def test_a_language_that_nobody_rated_has_no_numbers():
    """None with a reason in every row, never 0."""
    items = [*pairs("fra", 5), *pairs("deu", 5)]
    results = results_of([RaterRating(f"fra-{i}", "a", 4.0) for i in range(5)], items, per_pair=1)
    found = {(row.subset, row.measure, row.variant): row for row in make_rating_result_rows(results, "openai:x", 1337)}
    assert found["fra", "mean_rating", ""].value == 4
    for key, row in found.items():
        if key[0] == "deu":
            assert row.value is None
            assert row.reason
    assert found["", "accepted", ""].value is None


def test_rows_have_one_key_each_and_say_what_they_are():
    """As results of the protocol: per language and of all."""
    items = pairs("fra", 20)
    ratings = [RaterRating(f"fra-{i}", r, float(i % 6)) for i in range(20) for r in "ab"]
    found = list(make_rating_result_rows(results_of(ratings, items), "openai:x", 1337))
    assert len({row.key for row in found}) == len(found)
    assert {(row.protocol, row.task, row.dataset, row.system) for row in found} == {
        ("pteb", "validation", "", "openai:x")
    }
    assert {(row.subset, row.lang) for row in found} == {("fra", "fra"), ("", "mul")}
    shares = [row.value for row in found if row.measure == "ratings" and row.subset]
    assert sum(shares) == pytest.approx(1)
    assert all(row.n and row.seed == 1337 and row.method for row in found)


def test_intervals_of_the_mean_cover():
    """About 95% of the intervals hold the true mean of the pairs."""
    rng = np.random.default_rng(8)
    items = pairs("fra", 50)
    held = 0
    for _ in range(120):
        values = np.clip(np.round(rng.normal(3.6, 1.1, 50)), 0, 5)
        one, _total = results_of(
            [RaterRating(f"fra-{i}", "a", float(v)) for i, v in enumerate(values)], items, per_pair=1
        )
        # The mean of the rounded and clipped normal distribution.
        held += one.mean.low <= 3.5537 <= one.mean.high
    assert held >= 106
