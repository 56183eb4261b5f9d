"""How ratings agree with gold: every number against a direct computation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from embassay.protocols.pteb.options import JudgingRunOptions
from embassay.protocols.pteb.ratings import (
    JudgeRating,
    PairsWithGoldAndLength,
    RatingEvaluationContext,
    score_agreement,
)
from embassay.records import ScoredTextPairs
from embassay.stats import wilson

OPTIONS = JudgingRunOptions(resamples=200)


def pairs(n=400, *, low=1.0, high=5.0, seed=0):
    rng = np.random.default_rng(seed)
    texts = [" ".join(["word"] * int(rng.integers(1, 60))) for _ in range(2 * n)]
    scores = np.round(rng.uniform(low, high, n), 1)
    return ScoredTextPairs(tuple(f"p{i}" for i in range(n)), tuple(texts[:n]), tuple(texts[n:]), scores)


def judged(data, noise=0.5, failed=()):
    rng = np.random.default_rng(1)
    gold = 5 * (data.scores - 1) / 4
    values = np.clip(gold + rng.normal(0, noise, len(gold)), 0, 5)
    return [
        JudgeRating(None, 6, "no rating") if i in failed else JudgeRating(float(v), 1) for i, v in enumerate(values)
    ]


def outcome(ratings, data, options=OPTIONS, langs=()):
    context = RatingEvaluationContext("data", options=options)
    return score_agreement(
        ratings, PairsWithGoldAndLength.of(data, langs or ("en",) * len(data), 1, 5), options, context
    )


def rows(found):
    return {(row.measure, row.variant): row for row in found.scores if not row.subset}


def test_every_figure_is_a_direct_computation():
    """Failed pairs are in none, on both sides; bins by gold on 0 to 5 and by the mean of both lengths."""
    data, failed = pairs(), {3, 77, 200}
    ratings = judged(data, failed=failed)
    found = rows(outcome(ratings, data))
    kept = np.array([i for i in range(400) if i not in failed])
    values = np.array([ratings[i].value for i in kept])
    gold = 5 * (data.scores[kept] - 1) / 4
    words = np.array([(len(data.first[i].split()) + len(data.second[i].split())) / 2 for i in kept])
    assert found["spearman", ""].value == pytest.approx(spearmanr(values, data.scores[kept]).statistic)
    assert found["mae", ""].value == pytest.approx(np.abs(values - gold).mean())
    direct = wilson(3 / 400, 400)
    assert found["failed", ""].value == pytest.approx(3 / 400)
    assert (found["failed", ""].ci_low, found["failed", ""].ci_high) == pytest.approx((direct.low, direct.high))
    for low, high, label in ((0, 1, "[0,1)"), (1, 2, "[1,2)"), (2, 3, "[2,3)"), (3, 4, "[3,4)"), (4, 6, "[4,5]")):
        inside = (gold >= low) & (gold < high)
        row = found["mae", f"gold={label}"]
        assert (row.n, row.value) == (inside.sum(), pytest.approx(np.abs(values - gold)[inside].mean()))
        assert row.ci_low < row.value < row.ci_high
    for above, most, label in ((0, 10, "1-10"), (10, 20, "11-20"), (20, 30, "21-30"), (30, 50, "31-50")):
        inside = (words > above) & (words <= most)
        row = found["spearman", f"words={label}"]
        assert row.n == inside.sum()
        assert row.value == pytest.approx(spearmanr(values[inside], gold[inside]).statistic)


def test_a_bin_with_few_pairs_has_its_n_alone():
    """Under ten, or as the options say; an empty one has no error either."""
    data = pairs(9)
    found = rows(outcome(judged(data), data))
    assert found["spearman", ""].value is not None
    bins = [row for (measure, variant), row in found.items() if measure == "spearman" and variant]
    assert sum(row.n for row in bins) == 9
    assert all(row.value is None and "fewer than 10" in row.reason for row in bins)
    few = rows(outcome(judged(data), data, JudgingRunOptions(resamples=50, smallest_bin=2)))
    assert any(row.value is not None for (m, v), row in few.items() if m == "spearman" and v)
    empty = rows(
        outcome([JudgeRating(1.0, 1)] * 2, ScoredTextPairs(("a", "b"), ("x", "y"), ("x", "z"), np.array([1.0, 2.0])))
    )
    assert (empty["mae", "gold=[4,5]"].value, empty["mae", "gold=[4,5]"].reason) == (None, "no pair")
    assert empty["spearman", ""].reason == "the rating does not vary"


def test_over_five_percent_failed_is_no_score():
    """With the reason, and the count by reason; the share that failed is still told. At 5% there is a score."""
    data = pairs()
    good = outcome(judged(data, failed=set(range(20))), data)
    assert rows(good)["spearman", ""].value is not None
    bad = outcome(judged(data, failed=set(range(21))), data)
    found = rows(bad)
    assert {row.value for (measure, _), row in found.items() if measure != "failed"} == {None}
    assert found["spearman", ""].reason == "21 of 400 pairs had no rating, mostly: no rating (over 5%, so no score)"
    assert found["failed", ""].value == pytest.approx(21 / 400)
    assert [(one.reason, one.count) for one in bad.skipped] == [("pairs without a rating: no rating", 21)]
    assert bad.counts == {"ratings": 379, "ratings_failed": 21, "further_attempts": 105}


def test_the_headline_comes_first_and_has_replicates():
    """Two judges of the same pairs are resampled alike, whichever of them failed somewhere."""
    data = pairs()
    one, other = outcome(judged(data), data), outcome(judged(data, noise=2.0, failed={5}), data)
    assert (one.scores[0].measure, one.scores[0].variant) == ("spearman", "")
    a, b = one.components["spearman"].replicates, other.components["spearman"].replicates
    assert len(a) == len(b) == 200
    same = outcome(judged(data, failed={5}), data).components["spearman"].replicates
    assert np.abs(same - a).max() < 0.01
    assert np.std(a - b) > 0


def test_items_hold_everything():
    """Rating, gold and words of every pair, a rating that is missing as missing."""
    data = pairs(30)
    items = outcome(judged(data, failed={4}), data).items
    assert set(items["measure"]) == {"rating", "gold", "words"}
    assert items["value"][4] is None
    assert items["item_id"][4] == "p4"


def test_languages_have_a_correlation_each():
    """The headline is their mean, for one correlation over all would reward a judge for the languages' levels."""
    data = pairs(100)
    langs = ("en",) * 60 + ("de",) * 40
    ratings = [
        JudgeRating(one.value * (0.2 if lang == "de" else 1), 1) for one, lang in zip(judged(data), langs, strict=True)
    ]
    found = outcome(ratings, data, langs=langs)
    each = {row.subset: row for row in found.scores if row.subset}
    direct = {
        lang: spearmanr([ratings[i].value for i in range(*part)], data.scores[slice(*part)]).statistic
        for lang, part in (("en", (0, 60)), ("de", (60, 100)))
    }
    assert {lang: row.value for lang, row in each.items()} == pytest.approx(direct)
    headline = found.scores[0]
    assert (headline.value, headline.n) == (pytest.approx(np.mean(list(direct.values()))), 100)
    assert headline.ci_low < headline.value < headline.ci_high
    flat = outcome(
        [JudgeRating(1.0, 1) if lang == "de" else one for one, lang in zip(ratings, langs, strict=True)],
        data,
        langs=langs,
    )
    assert (flat.scores[0].value, flat.scores[0].reason) == (None, "de: the rating does not vary")
