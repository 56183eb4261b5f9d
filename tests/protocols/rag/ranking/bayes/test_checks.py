"""What the answers paid for say of the model: figures by hand, and judges that are not as it expects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from embassay.protocols.rag.ranking.bayes import AnswerReliabilitySums, BayesianRankingEngine, PoolAnswerChecks
from embassay.protocols.rag.ranking.engines import BayesRankingOptions, JudgeOrderAnswer, PoolPassage
from embassay.randomness import make_seeded_generator

N, TOP = 30, 15


def test_pairs_shown_again_are_held_against_what_was_predicted():
    """Two passages, scores 1 and 0 without doubt and no bias; shown thrice."""
    both = np.tile([1.0, 0.0, 0.0], (7, 1))
    answers = PoolAnswerChecks(2, 0.0)
    place = np.array([-1.0, 1.0])
    answers.add(np.array([0, 1]), place, both)
    first = answers.sum_reliability_checks()
    assert (first.answers, first.stayed, first.spread, first.doubt) == (1, 0, 0, 0)
    assert first.as_shown == pytest.approx(1 - expit(1))
    answers.add(np.array([0, 1]), place[::-1], both)
    answers.add(np.array([1, 0]), place, both)
    sums, p = answers.sum_reliability_checks(), expit(1)
    assert sums.stayed == pytest.approx((1 - p) + (0 - p))
    assert sums.spread == pytest.approx(2 * p * (1 - p))
    entropy = -p * np.log(p) - (1 - p) * np.log(1 - p)
    assert sums.surprise == pytest.approx(-np.log(p) - np.log(1 - p) - 2 * entropy)
    assert sums.doubt == pytest.approx(2 * p * (1 - p))  # odds of 1, squared
    assert sums.as_shown == pytest.approx((1 - p) + (0 - (1 - p)) + (1 - (1 - p)))


def test_a_favour_that_is_known_is_no_surprise():
    """What stands first is predicted to win where the bias says so."""
    both = np.tile([0.0, 0.0, 3.0], (5, 1))
    answers = PoolAnswerChecks(2, 0.0)
    answers.add(np.array([0, 1]), np.array([-1.0, 1.0]), both)
    assert answers.sum_reliability_checks().as_shown == pytest.approx(1 - expit(6))


def test_circles_and_sums_over_queries():
    answers = PoolAnswerChecks(4, 0.02)
    for pair in ([0, 1], [1, 2], [2, 0], [0, 3]):
        answers.add(np.array(pair), np.array([-1.0, 1.0]), np.zeros((3, 5)))
    one = answers.sum_reliability_checks()
    assert (one.circles, one.triads) == (1, 1)
    both = one + one
    assert (both.circles, both.triads, both.answers) == (2, 2, 8)


@pytest.mark.parametrize(
    ("checks", "favour", "doubts"),
    [
        (AnswerReliabilitySums(), 0.0, ()),
        (AnswerReliabilitySums(stayed=60, spread=100, circles=20, triads=2000), 0.0, ("fixed errors",)),
        (AnswerReliabilitySums(stayed=60, spread=100, circles=2, triads=2000), 0.0, ()),
        (AnswerReliabilitySums(stayed=10, spread=100, circles=20, triads=2000), 0.0, ()),
        (AnswerReliabilitySums(stayed=1, spread=1, circles=1, triads=10), 0.0, ()),
        (AnswerReliabilitySums(as_shown=10, answers=100), 0.0, ("order shown",)),
        (AnswerReliabilitySums(surprise=50, doubt=100), 0.0, ("surprises",)),
        (AnswerReliabilitySums(), -0.6, ("places",)),
    ],
)
def test_what_forbids_a_claim(checks, favour, doubts):
    """Steady without circles is sharp, circles without steadiness are noise, and a few answers raise no alarm."""
    assert checks.doubts(favour) == doubts


def test_a_claim_is_what_comes_true():
    """Small ones nearer to a half, less where a query stands alone or pairs stay though there are circles."""
    many = AnswerReliabilitySums(answers=360, stayed=10, spread=250, circles=40, triads=3000)
    assert many.calibrate_claimed_chance(0.95, 0.1) == pytest.approx(expit(np.log(19) + 0.16 - 0.06))
    assert many.calibrate_claimed_chance(0.1, 0.1) == pytest.approx(expit(-0.7 * np.log(9) + 0.16 - 0.06))
    assert 0 < many.calibrate_claimed_chance(0.0, 0.1) < 0.1 < 0.9 < many.calibrate_claimed_chance(1.0, 0.1) < 1
    assert many.calibrate_claimed_chance(0.8, 1.0) < many.calibrate_claimed_chance(0.8, 0.1)
    steady = AnswerReliabilitySums(answers=360, stayed=85, spread=250, circles=55, triads=3000)
    assert not steady.doubts(0.0)
    assert steady.calibrate_claimed_chance(0.85, 0.1) < many.calibrate_claimed_chance(0.85, 0.1) - 0.05
    sharp = AnswerReliabilitySums(answers=360, stayed=200, spread=250, circles=0, triads=3000)
    assert sharp.calibrate_claimed_chance(0.85, 0.1) == pytest.approx(many.calibrate_claimed_chance(0.85, 0.1))
    chances = [many.calibrate_claimed_chance(chance, 0.1) for chance in np.linspace(0, 1, 21)]
    assert chances == sorted(chances)


def pools(seed, count=4):
    rng = make_seeded_generator(seed, "checks pools")
    utilities = rng.standard_normal((count, N))
    grades = np.clip(np.round(3 + utilities + 0.5 * rng.standard_normal((count, N))), 1, 5).astype(int)
    return utilities, [[PoolPassage(f"d{i}", int(grade), i + 1) for i, grade in enumerate(row)] for row in grades]


def played(judge, *, stop=False):
    """The rankers of four pools that share `judge`(pool, shown, rng) -> scores of those shown, to their ends."""
    utilities, candidates = pools(3)
    engine = BayesianRankingEngine(BayesRankingOptions(stop=stop))
    rankers = {str(q): engine.start(candidates[q], query=str(q), top=TOP, seed=1) for q in range(len(candidates))}
    rng = make_seeded_generator(3, "checks judge")
    going = True
    while going:
        going = False
        for query, ranker in rankers.items():
            calls = []
            for shown in ranker.propose_batches():
                seen = judge(utilities[int(query)], list(shown), rng)
                calls.append(JudgeOrderAnswer(shown, tuple(shown[k] for k in np.argsort(-seen, kind="stable"))))
            ranker.learn(calls)
            going = going or bool(calls)
        engine.share(rankers)
    return list(rankers.values())


def fresh(utilities, shown, rng):
    return utilities[shown] + 0.4 * rng.standard_normal(len(shown))


def intransitive(utilities, shown, rng):
    """One number for each pair, for good; a batch is ordered by wins."""
    table = np.triu(make_seeded_generator(5, "pairs").standard_normal((N, N)), 1)
    margins = utilities[shown][:, None] - utilities[shown] + 1.5 * (table - table.T)[np.ix_(shown, shown)]
    return (margins > 0).sum(axis=1) + 1e-3 * margins.sum(axis=1)


def lazy(utilities, shown, rng):
    return -np.arange(len(shown)) if rng.random() < 0.4 else fresh(utilities, shown, rng)


def test_fresh_noise_is_claimed_for():
    for ranker in played(fresh):
        assert not ranker.ranking().doubts
        assert ranker.ranking().claims
        assert ranker.state()["doubts"] == []


@pytest.mark.parametrize(("judge", "doubt"), [(intransitive, "fixed errors"), (lazy, "order shown")])
def test_a_judge_that_is_otherwise_is_not_claimed_for_nor_stopped_early(judge, doubt):
    """The order is there, the claims are not; what was found stands in the state, and all calls are used."""
    for ranker in played(judge, stop=True):
        found = ranker.ranking()
        assert doubt in found.doubts
        assert not found.claims
        assert found.stopped == "cap"
        assert doubt in ranker.state()["doubts"]
        assert sorted(found.order) == list(range(N))
