"""What answers say of the judge: on answers whose faults are known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

from embassay.protocols.rag.ranking import JudgeOrderAnswer, PoolPassage
from embassay.protocols.rag.ranking.reliability import (
    QueryOrderAnswers,
    count_candidate_exposure,
    count_contradictions_and_circles,
    estimate_judge_noise,
    estimate_place_gains,
    fit_item_score_posteriors,
    list_notes_on_judge_position_bias,
)


def answers(
    seed: int, n: int = 20, calls: int = 40, *, noise: float = 0.0, bias: float = 0.0, graded: bool = True
) -> QueryOrderAnswers:
    """A pool with utilities N(0, 1) and answers on random batches of 5: `noise` is Gaussian, `bias` is what the first
    place gains and the last loses."""
    rng = np.random.default_rng(seed)
    utilities = rng.standard_normal(n)
    candidates = tuple(
        PoolPassage(f"d{i}", int(np.clip(round(3 + u), 1, 5)) if graded else None, i + 1)
        for i, u in enumerate(utilities)
    )
    found = []
    for _ in range(calls):
        shown = rng.permutation(n)[:5]
        seen = utilities[shown] + noise * rng.standard_normal(5) + np.linspace(bias, -bias, 5)
        found.append(JudgeOrderAnswer(tuple(shown.tolist()), tuple(shown[np.argsort(-seen)].tolist())))
    return QueryOrderAnswers(candidates, tuple(found))


def of(*orders: tuple[int, ...]) -> QueryOrderAnswers:
    """Answers as given on five candidates of grade 3, shown as they were ordered."""
    candidates = tuple(PoolPassage(f"d{i}", 3, i + 1) for i in range(5))
    return QueryOrderAnswers(candidates, tuple(JudgeOrderAnswer(order, order) for order in orders))


def test_contradictions_by_hand() -> None:
    """0 over 1 twice and 1 over 0 once is one pair, contradicted; 0 over 2 twice is one that is not; 3 over 4 was seen
    once and does not count."""
    found = count_contradictions_and_circles([of((0, 1), (1, 0), (0, 1), (0, 2), (0, 2), (3, 4))])
    assert (found.pairs, found.contradicted) == (2, 1)
    assert found.share is not None
    assert found.share.value == 0.5
    assert found.share.low is None, "one query has no interval"


def test_circles_by_hand() -> None:
    """0 over 1 over 2 over 0 is a circle; 0 over 3 and 3 over 1 close a second three, which is none. A draw has no
    majority and makes no three."""
    circle = [(0, 1), (1, 2), (2, 0)]
    found = count_contradictions_and_circles([of(*circle, (0, 3), (3, 1))])
    assert (found.triads, found.circles) == (2, 1)
    assert count_contradictions_and_circles([of(*circle, (1, 0))]).triads == 0
    assert count_contradictions_and_circles([of((0, 1, 2, 3, 4))]).circles == 0
    assert count_contradictions_and_circles([of((0, 1, 2, 3, 4))]).triads == 10


def test_a_judge_without_noise_never_contradicts_itself() -> None:
    """Both shares are 0, and as they never vary there is no interval."""
    found = count_contradictions_and_circles([answers(seed) for seed in range(4)])
    assert found.pairs > 300
    assert found.share is not None
    assert found.share.value == 0
    assert found.share.low is None
    assert found.share.high is None
    assert found.circular is not None
    assert found.circular.value == 0


def test_noise_makes_contradictions_and_circles() -> None:
    """More noise, more of both."""
    shares = []
    for noise in (0.1, 0.4, 1.5):
        found = count_contradictions_and_circles([answers(seed, noise=noise) for seed in range(6)])
        assert found.share is not None
        assert found.circular is not None
        assert found.share.low < found.share.value < found.share.high
        shares.append((found.share.value, found.circular.value))
    assert shares == sorted(shares)
    assert shares[0][0] < 0.15 < 0.4 < shares[2][0]


def test_nothing_judged() -> None:
    """No answers, no candidates: nothing to tell, and no warning."""
    for queries in ([], [of()], [QueryOrderAnswers((), ())]):
        found = count_contradictions_and_circles(queries)
        assert (found.pairs, found.share, found.triads, found.circular) == (0, None, 0, None)
        assert estimate_place_gains(queries) is None
        assert estimate_judge_noise(queries) is None
        assert list_notes_on_judge_position_bias(queries) == ()
    assert count_candidate_exposure([]) is None


@pytest.mark.parametrize("graded", [True, False])
def test_a_judge_that_does_not_care_for_places(graded: bool) -> None:
    """All gains are near 0, sum to 0, and the interval of the lift holds 0."""
    found = estimate_place_gains([answers(seed, noise=0.3, graded=graded) for seed in range(8)])
    assert found is not None
    assert (found.batch, found.calls) == (5, 320)
    assert sum(gain.value for gain in found.gains) == pytest.approx(0, abs=1e-9)
    assert max(abs(gain.value) for gain in found.gains) < 0.2
    assert found.lift.low < 0 < found.lift.high


@pytest.mark.parametrize("bias", [0.4, -0.4])
def test_a_favour_for_places_is_found(bias: float) -> None:
    """What the judge adds to the first place shows, with its sign."""
    found = estimate_place_gains([answers(seed, noise=0.3, bias=bias) for seed in range(8)])
    assert found is not None
    sign = np.sign(bias)
    assert sign * found.lift.low > 0 < sign * found.lift.high
    gains = [sign * gain.value for gain in found.gains]
    assert gains == sorted(gains, reverse=True)
    assert 0.5 < sign * found.lift.value < 1.5


def test_one_query_resamples_its_answers() -> None:
    """The gains of a single query have an interval too."""
    found = estimate_place_gains([answers(1, noise=0.3, bias=0.5, calls=150)])
    assert found is not None
    assert 0 < found.lift.low < found.lift.high


def test_gains_by_hand() -> None:
    """Shown 1, 0, 2 with grades 5, 3, 3 for 0, 1, 2: by grade 0 comes first and the others share places 1 and 2. The
    answer 1, 2, 0 puts the first shown 1.5 better, the second 2 worse, the third .5 better."""
    candidates = (PoolPassage("a", 5, 3), PoolPassage("b", 3, 1), PoolPassage("c", 3, 2))
    call = JudgeOrderAnswer((1, 0, 2), (1, 2, 0))
    found = estimate_place_gains([QueryOrderAnswers(candidates, (call, call))])
    assert found is not None
    assert [gain.value for gain in found.gains] == [1.5, -2.0, 0.5]


def test_places_that_say_something_are_not_judged_by() -> None:
    """Passages shown by fusion rank, or from the best grade down: what stands first is better, so nothing is said."""
    by_rank = QueryOrderAnswers(
        tuple(PoolPassage(f"d{i}", None, i) for i in range(6)), (JudgeOrderAnswer((0, 2, 5), (2, 0, 5)),) * 3
    )
    by_grade = QueryOrderAnswers(
        tuple(PoolPassage(f"d{i}", 5 - i, 9 - i) for i in range(5)), (JudgeOrderAnswer((0, 2, 4), (2, 0, 4)),)
    )
    assert estimate_place_gains([by_rank]) is None
    assert estimate_place_gains([by_grade]) is None


def test_exposure() -> None:
    """How often candidates were shown: 0 three times, 1 and 2 once, 3 and 4 never."""
    found = count_candidate_exposure([of((0, 1), (0, 2), (0,))])
    assert found is not None
    assert (found.least, found.median, found.most, found.never) == (0, 1.0, 3, 2)


@pytest.mark.parametrize("noise", [0.1, 0.33, 0.75])
def test_the_noise_of_a_judge_is_found(noise: float) -> None:
    """The estimate is near the share of these pools' pairs that Gaussian noise of this size turns round."""
    pools = [np.random.default_rng(seed).standard_normal(16) for seed in range(3)]
    gaps = np.concatenate([(one[:, None] - one)[np.triu_indices(16, 1)] for one in pools])
    share = ndtr(-np.abs(gaps) / (noise * np.sqrt(2))).mean()
    found = estimate_judge_noise([answers(seed, n=16, calls=40, noise=noise) for seed in range(3)])
    assert found is not None
    assert found.value == pytest.approx(share, abs=0.03)
    assert found.low <= found.value <= found.high


def test_too_few_answers_say_nothing_of_noise() -> None:
    """Queries with fewer than ten answers are left out."""
    assert estimate_judge_noise([answers(1, calls=9)]) is None


def test_notes_are_sentences() -> None:
    """A favour that is sure is named, one that is not is said not to be seen."""
    favour, circles, shown = list_notes_on_judge_position_bias(
        [answers(seed, noise=0.5, bias=0.6) for seed in range(5)]
    )
    assert favour.startswith("The judge favours passages shown first: passages shown first rank +")
    assert "form a cycle" in circles
    assert shown.startswith("Passages were shown ")
    assert list_notes_on_judge_position_bias([answers(seed, noise=0.3) for seed in range(5)])[0].startswith(
        "No position bias is"
    )


def test_plackett_luce_fits_are_at_the_mode() -> None:
    """The gradient of the log posterior is 0 there, its curvature that of numerical differences, and draws scatter by
    it; for a judge without noise too."""
    judged = answers(3, n=8, calls=30)
    orders = np.array([call.order for call in judged.calls])
    means, precisions = np.zeros((2, 8)), np.array([1.0, 0.01])
    found = fit_item_score_posteriors(orders, means, precisions)

    def log_posterior(scores: NDArray[np.float64], point: int) -> float:
        total = 0.0
        for order in orders.tolist():
            for k in range(5):
                total += scores[order[k]] - np.log(np.exp(scores[order[k:]]).sum())
        return float(total - 0.5 * precisions[point] * (scores**2).sum())

    for point in range(2):
        mode = found.modes[point]
        for i in range(8):
            step = np.eye(8)[i] * 1e-3
            up, down = log_posterior(mode + step, point), log_posterior(mode - step, point)
            assert (up - down) / 2e-3 == pytest.approx(0, abs=2e-3)
            bend = (up - 2 * log_posterior(mode, point) + down) / 1e-6
            assert -bend == pytest.approx(found.precisions[point, i, i], rel=1e-2)
    draws = found.draws(np.random.default_rng(1).standard_normal((4000, 8)))
    covariance = np.cov(draws[0].T)
    np.testing.assert_allclose(covariance, np.linalg.inv(found.precisions[0]), atol=0.08)
