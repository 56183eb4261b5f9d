"""Thresholds of silence: by hand, by simulation, and where none can work."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, norm

from embassay.errors import UsageError
from embassay.stats.silence import (
    SilenceAims,
    compute_log_loss_of_silence_signals,
    count_least_unanswerable,
    find_silence_threshold,
    measure_top_score_and_margin,
)

AIMS = SilenceAims()


def test_the_threshold_is_an_order_statistic() -> None:
    """Of 100 scores the 96th: P(Binomial(100, .9) <= 95) is .976, of 94 it is .942; the bound wants .975."""
    scores = np.arange(1.0, 101.0)
    silence = find_silence_threshold(scores, np.arange(90.0, 190.0), AIMS)
    assert silence.above == 96
    assert silence.silent is not None
    assert (silence.silent.hits, silence.silent.n) == (96, 100)
    assert silence.answered is not None
    assert (silence.answered.hits, silence.answered.n) == (93, 100)
    assert silence.answered.low == pytest.approx(float(beta.ppf(0.025, 93, 8)))
    assert silence.verdict == "works"


def test_few_questions_have_no_threshold_and_are_told_how_many_do() -> None:
    """0.9 ** 36 is the first power below 0.025; twenty times two are more than that."""
    rng = np.random.default_rng(1)
    silence = find_silence_threshold(rng.normal(size=20), rng.normal(6, 1, size=40), AIMS)
    assert (silence.verdict, silence.above, silence.least, silence.times) == ("too few", None, 36, 2)
    assert count_least_unanswerable(AIMS, 2) == math.ceil(math.log(0.0125) / math.log(0.9))


def test_a_useless_score_is_told() -> None:
    """Both sides are one distribution: a threshold that is silent in nine of ten answers one of ten."""
    rng = np.random.default_rng(2)
    silence = find_silence_threshold(rng.normal(size=200), rng.normal(size=200), AIMS)
    assert silence.verdict == "none works"
    reversed_score = find_silence_threshold(rng.normal(3, 1, size=200), rng.normal(size=200), AIMS)
    assert reversed_score.verdict == "none works"


@pytest.mark.parametrize(("apart", "right"), [(4.0, "works"), (0.5, "none works")])
@pytest.mark.parametrize("tied", [False, True])
def test_guarantees_hold_in_a_thousand_draws(apart: float, right: str, tied: bool) -> None:
    """Silence is kept, and no verdict is wrong, in 95 of 100 draws; rounded scores, which tie, change nothing."""
    rng = np.random.default_rng(3)

    def draw(mean: float) -> np.ndarray:
        scores = rng.normal(mean, 1, size=80)
        return scores.round(0) if tied else scores

    broken = wrong = 0
    for _ in range(1_000):
        silence = find_silence_threshold(draw(0.0), draw(apart), AIMS)
        if silence.above is not None:
            at = np.floor(silence.above) + 0.5 if tied else silence.above
            broken += norm.cdf(at) < AIMS.silent
        wrong += silence.verdict not in (right, "too few")
    assert broken <= 50
    assert wrong <= 50


def test_empty_lists_are_silent() -> None:
    """A question with nothing retrieved is never answered, and counts on both sides."""
    bad = np.append(np.full(30, -math.inf), np.arange(40.0))
    good = np.append(np.full(10, -math.inf), np.full(90, 100.0))
    silence = find_silence_threshold(bad, good, AIMS)
    assert silence.answered is not None
    assert silence.answered.hits == 90
    only_empty = find_silence_threshold(np.full(50, -math.inf), good, AIMS)
    assert only_empty.above == -math.inf
    assert only_empty.answered is not None
    assert only_empty.answered.hits == 90


def test_the_signal_that_tells_more_comes_first() -> None:
    """By held-out log loss; a signal of noise is last, whatever it is called."""
    rng = np.random.default_rng(4)
    noise = rng.normal(size=60), rng.normal(size=60)
    clear = rng.normal(3, 1, size=60), np.append(rng.normal(size=59), -math.inf)
    losses = compute_log_loss_of_silence_signals({"a noise": noise, "b clear": clear}, np.random.default_rng(5))
    assert list(losses) == ["b clear", "a noise"]
    assert losses["b clear"] < 0.4 < math.log(2) - 0.05 < losses["a noise"]


def test_what_a_list_tells_of_itself() -> None:
    """A list of one passage has no margin."""
    assert measure_top_score_and_margin([0.5]) == {"score": 0.5, "margin": -math.inf}
    assert measure_top_score_and_margin([]) == {"score": -math.inf, "margin": -math.inf}


def test_what_cannot_be_compared_is_refused() -> None:
    """No number, no question, no share."""
    for bad, good in ((np.array([np.nan]), np.ones(3)), (np.ones(3), np.ones(0))):
        with pytest.raises(UsageError):
            find_silence_threshold(bad, good, AIMS)
    with pytest.raises(UsageError, match="silent is 1"):
        SilenceAims(silent=1.0)
