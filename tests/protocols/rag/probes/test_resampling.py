"""Queries are resampled, never rows (spec rag 8, T24); correlations say why there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embassay.protocols.rag.probes.names import group_queries_by_author_or_topic
from embassay.protocols.rag.probes.options import NamesRequest
from embassay.protocols.rag.probes.questions import NoiseQuestions
from embassay.protocols.rag.probes.resampling import SharedResamplesContext
from embassay.text import open_tokenizer

WORDS = open_tokenizer("words")


def context(draws: int = 4_000, dataset: str = "one") -> SharedResamplesContext:
    return SharedResamplesContext(dataset, WORDS, 5, draws)


def test_more_runs_of_the_same_queries_say_nothing_more() -> None:
    """Fifteen equal runs give the interval of one: with rows resampled it would be a quarter as wide."""
    values = np.random.default_rng(1).normal(size=40)
    once = context().score_over_queries("m", values)
    often = context().score_over_queries("m", np.tile(values, (15, 1)).mean(axis=0))
    assert (often.ci_low, often.ci_high) == pytest.approx((once.ci_low, once.ci_high))
    assert once.ci_low is not None
    assert once.ci_high is not None
    width, error = once.ci_high - once.ci_low, values.std(ddof=1) / np.sqrt(40)
    assert width == pytest.approx(2 * 1.96 * error, rel=0.1)


@pytest.mark.parametrize("n", [7, 2_000])
def test_held_and_streamed_draws_leave_lost_queries_out(n: int) -> None:
    """Both ways of resampling give the mean of what is known an interval around it."""
    values = np.linspace(0, 1, n)
    values[2] = np.nan
    score = context().score_over_queries("m", values)
    assert score.n == n - 1
    assert score.value == pytest.approx(np.nanmean(values))
    assert score.ci_low is not None
    assert score.value is not None
    assert score.ci_high is not None
    assert score.ci_low < score.value < score.ci_high


def test_differences_of_equal_columns_are_exactly_nothing() -> None:
    score = context().score_over_queries("m", np.zeros(9))
    assert (score.value, score.ci_low, score.ci_high) == (0, None, None)


def test_undefined_values_have_a_reason() -> None:
    nothing = context().score_over_queries("m", np.full(4, np.nan))
    divided = context().score_over_queries("m", np.zeros((4, 2)), lambda m: m[..., 0] / m[..., 1], why_not="by 0")
    assert (nothing.value, nothing.reason) == (None, "no query has a value")
    assert (divided.value, divided.reason) == (None, "by 0")


def test_links_over_queries() -> None:
    x = np.arange(30.0)
    spearman, pearson = context().links(x, np.append(x[:-1] ** 3, np.nan), ("a", "b"), "v")
    assert (spearman.measure, spearman.variant, spearman.n) == ("Spearman(a, b)", "v", 29)
    assert spearman.value == pytest.approx(1)
    assert pearson.value is not None
    assert 0.8 < pearson.value < 1
    assert pearson.ci_low is not None
    assert pearson.ci_low < pearson.value
    few, _ = context().links(x[:3], x[:3], ("a", "b"))
    same, _ = context().links(x, np.ones(30), ("a", "b"))
    assert few.reason == "3 points are too few"
    assert same.reason == "b does not vary"


def test_links_of_means_correlate_conditions() -> None:
    """Noise of queries is averaged away before: conditions lie on a line, queries do not."""
    noise = np.random.default_rng(2).normal(size=(6, 80))
    x = np.arange(6.0)[:, None] + noise
    y = 2 * np.arange(6.0)[:, None] + noise[::-1]
    spearman, pearson = context().correlate_means_over_conditions(x, y, ("a", "b"), "all")
    assert spearman.n == 6
    assert spearman.value == pytest.approx(1)
    assert pearson.value is not None
    assert pearson.value > 0.98
    lost = np.where(np.arange(80) < 80, np.nan, x)
    assert context().correlate_means_over_conditions(lost, y, ("a", "b"), "all")[0].reason == "no query has all values"


def test_queries_about_the_same_are_drawn_together() -> None:
    """Fifty queries that are ten, five times each: the interval is that of the ten, and not of fifty; a correlation's
    too."""
    rng = np.random.default_rng(4)
    ten, other = rng.normal(size=10), rng.normal(size=10)
    alone = context(2_000)
    grouped = replace(alone, together=np.repeat(np.arange(10), 5))
    of_ten = alone.score_over_queries("m", ten)
    of_fifty = grouped.score_over_queries("m", np.repeat(ten, 5))
    assert of_fifty.ci_low == pytest.approx(of_ten.ci_low)
    assert of_fifty.ci_high == pytest.approx(of_ten.ci_high)
    assert "10 groups" in of_fifty.method
    assert alone.score_over_queries("m", np.repeat(ten, 5)).ci_low > of_ten.ci_low
    [single, _] = alone.links(ten, other, ("a", "b"))
    [whole, _] = grouped.links(np.repeat(ten, 5), np.repeat(other, 5), ("a", "b"))
    assert whole.value == pytest.approx(single.value)
    assert whole.ci_low == pytest.approx(single.ci_low, abs=0.02)
    assert whole.ci_high == pytest.approx(single.ci_high, abs=0.02)


def test_which_queries_are_about_the_same() -> None:
    """There are a hundred authors and topics: of 120 queries the last twenty are about those of the first. Questions
    of the noise probe are about the same where they share a useful passage, or their words."""
    assert group_queries_by_author_or_topic(NamesRequest(systems=("jaccard",), queries=100), "en") is None
    labels = group_queries_by_author_or_topic(NamesRequest(systems=("jaccard",), queries=120), "en")
    assert labels is not None
    assert labels[100:].tolist() == labels[:20].tolist()
    assert len(set(labels.tolist())) == 100
    texts = ("Why?", "When?", "Who?", "why?", *(f"What of {n}?" for n in range(16)))
    grades = ({1: 5}, {2: 5, 9: 2}, {1: 4}, {3: 5}, *({n: 5, 9: 2} for n in range(20, 36)))
    posed = NoiseQuestions("d", "en", tuple(map(str, range(20))), texts, texts, "document", texts * 3, grades, "")
    found = posed.together()
    assert found is not None
    assert found[:4].tolist() == [0, 1, 0, 0]
    assert len(set(found.tolist())) == 18
