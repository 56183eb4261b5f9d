"""What people reach against each other, and a system among them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from embassay.errors import UsageError
from embassay.measures import spearman, v_measure
from embassay.protocols.hume.ceiling import (
    interval_for_share_of_people,
    leave_one_out_human_ceiling,
    score_system_against_all_but_one,
    score_system_against_random_annotator,
    share_of_people_below,
)
from embassay.protocols.hume.resampling import PeopleAnswers
from embassay.protocols.hume.results.contestants import convert_estimate_for_record
from embassay.protocols.hume.study import Family, TaskSpec
from embassay.randomness import make_seeded_generator

R1, R2 = [0, 1, 1, 3, 5, 4, 2, 4], [2, 0, 2, 1, 4, 5, 4, 3]


def people(family: Family, *raters: list) -> PeopleAnswers:
    """Raters who answered items 00, 01, ..., but for those with None."""
    answers = {
        f"rater {number}": {f"{i:02}": value for i, value in enumerate(values) if value is not None}
        for number, values in enumerate(raters)
    }
    return PeopleAnswers(TaskSpec("t", family, "eng"), {}, answers)


def test_two_raters_of_labels() -> None:
    """With two, each scores the share on which they agree: HUME section 6, 7 of 10."""
    found = leave_one_out_human_ceiling(people("classification", list("aabbccabca"), list("abbbcaabcc")))
    assert found.annotators == {"rater 0": 0.7, "rater 1": 0.7}
    assert (found.value.value, found.items) == (0.7, 10)
    assert found.value.low < 0.7 < found.value.high


def test_three_raters_of_labels() -> None:
    """A tie of the others gives a half to one of its two labels, and nothing to a third."""
    found = leave_one_out_human_ceiling(people("classification", list("xxxx"), list("xyyz"), list("xxzz")))
    # Item by item, of rater 0: x against {x, x} 1, {y, x} 1/2, {y, z} 0, {z, z} 0.
    assert found.annotators["rater 0"] == pytest.approx(1.5 / 4)
    # Rater 1: x against {x, x} 1, y against {x, x} 0, y against {x, z} 0, z against {x, z} 1/2.
    assert found.annotators["rater 1"] == pytest.approx(1.5 / 4)
    # Rater 2: x 1, x against {x, y} 1/2, z against {x, y} 0, z against {x, z} 1/2.
    assert found.annotators["rater 2"] == pytest.approx(2 / 4)


def test_ratings() -> None:
    """Two: their Spearman correlation, .615854 in HUME section 6; three: each with the others' mean."""
    assert leave_one_out_human_ceiling(people("sts", R1, R2)).value.value == pytest.approx(0.615854, abs=1e-6)
    third = [0.5, 1, 2, 2, 5, 5, 3, 3]
    found = leave_one_out_human_ceiling(people("sts", R1, R2, third))
    assert found.annotators["rater 2"] == pytest.approx(
        spearman(third, [(a + b) / 2 for a, b in zip(R1, R2, strict=True)])
    )


def test_marks() -> None:
    """A document is relevant that at least half of the others marked; a query where there is none is dropped."""
    a, b, c = (1, 1, 0, 0), (1, 0, 1, 0), (0, 0, 0, 0)
    found = leave_one_out_human_ceiling(people("reranking", [a], [b], [c]))
    # Against {b, c} documents 0 and 2 are relevant: marking 0 and 1 finds one in the first tie, the other in the last.
    assert found.annotators["rater 0"] == pytest.approx(0.5 * 0.5 + 0.5 * 0.5)
    # Against {a, b} 0, 1 and 2 are; marking nothing is one tie of four.
    assert found.annotators["rater 2"] == pytest.approx(3 / 4)
    two = leave_one_out_human_ceiling(people("reranking", [a, a, a, b], [b, c, a, b]))
    assert two.dropped == 1
    # Rater 1 is asked on all four queries, and scores one tie of four on the second, where rater 0 marked two.
    assert two.annotators["rater 1"] == pytest.approx((0.5 + 0.5 + 1 + 1) / 4)
    assert two.annotators["rater 0"] == pytest.approx((0.5 + 1 + 1) / 3)


def test_groups() -> None:
    """The mean V-measure against each other, without an interval."""
    x, y, z = list("000111222"), list("555577999"), list("000000111")
    found = leave_one_out_human_ceiling(people("clustering", x, y, z))
    assert found.annotators["rater 0"] == pytest.approx((v_measure(x, y) + v_measure(x, z)) / 2)
    assert found.value.low is None
    assert "copies" in found.value.reason


def test_none() -> None:
    """One annotator, or two without a common item, have no ceiling; nobody at all is an error."""
    alone = leave_one_out_human_ceiling(people("sts", R1))
    assert (convert_estimate_for_record(alone.value).value, convert_estimate_for_record(alone.value).reason) == (
        None,
        "only one annotator, so there are no others to compare with",
    )
    apart = leave_one_out_human_ceiling(people("sts", [1, 2, None, None], [None, None, 3, 4]))
    assert convert_estimate_for_record(apart.value).reason == "no item was answered by two annotators"
    with pytest.raises(UsageError, match="Nobody"):
        leave_one_out_human_ceiling(people("sts"))


@pytest.mark.parametrize("family", ["classification", "clustering", "sts", "reranking"])
def test_a_copy_of_a_person_is_near_the_ceiling(family: Family) -> None:
    """A system that answers as one more such person scores as people do against each other."""
    rng = make_seeded_generator(8, "copy")

    def rater() -> list:
        noisy = [i % 4 if rng.random() < 0.7 else int(rng.integers(4)) for i in range(600)]
        if family == "reranking":
            return [tuple(int(rng.random() < (0.8 if place < 3 else 0.1)) for place in range(7)) for _ in noisy]
        return [str(one) if family == "clustering" else one for one in noisy]

    study, system = people(family, rater(), rater(), rater()), rater()
    answers = {f"{i:02}": value for i, value in enumerate(system)}
    assert score_system_against_all_but_one(study, answers).value == pytest.approx(
        leave_one_out_human_ceiling(study).value.value, abs=0.05
    )


def test_a_soft_score_is_the_share_of_people_who_say_so() -> None:
    """Of labels: counted by hand; with two annotators it is the score against people; STS: a mean of correlations."""
    votes = [["x", "x", "y"], ["x", "y", "y"], ["x", "x", "x"]]
    study = people("classification", *map(list, zip(*votes, strict=True)))
    system = {"00": "x", "01": "x", "02": "y"}
    assert score_system_against_random_annotator(study, system).value == pytest.approx((2 / 3 + 1 / 3 + 0) / 3)
    two = people("sts", R1, R2)
    answers = {f"{i:02}": float(value) for i, value in enumerate([0, 2, 1, 3, 5, 4, 2, 3])}
    expected = sum(spearmanr(rated, list(answers.values())).statistic for rated in (R1, R2)) / 2
    assert score_system_against_random_annotator(two, answers).value == pytest.approx(expected)
    assert score_system_against_random_annotator(two, answers).value == pytest.approx(
        score_system_against_all_but_one(two, answers).value
    )
    assert score_system_against_random_annotator(people("sts", R1), answers).value is None


def test_against_people_needs_two() -> None:
    """One annotator cannot be left out; no common item says so."""
    assert score_system_against_all_but_one(people("sts", R1), {"00": 1.0}).value is None
    assert "and the system" in score_system_against_all_but_one(people("sts", R1, R2), {}).reason


def test_among_people() -> None:
    """Ties count half, and two people leave nearly everything open."""
    assert share_of_people_below(0.5, [0.4, 0.5, 0.6, 0.5]).value == 0.5
    two = share_of_people_below(0.9, [0.4, 0.5])
    # Clopper and Pearson's lower end of 2 of 2 solves p^2 = .025.
    assert (two.low, two.high) == (pytest.approx(math.sqrt(0.025)), 1.0)
    assert share_of_people_below(0.1, [0.4]).high == pytest.approx(0.975)
    assert interval_for_share_of_people(0.5, 4) == share_of_people_below(0.5, [0.4, 0.5, 0.6, 0.5])
    with pytest.raises(UsageError, match="share is"):
        interval_for_share_of_people(1.2, 2)
    with pytest.raises(UsageError, match="score is NaN"):
        share_of_people_below(math.nan, [0.5])
    with pytest.raises(UsageError, match="annotators"):
        share_of_people_below(0.5, [])


@given(st.integers(1, 8), st.floats(0.001, 0.999))
def test_among_people_holds_its_level(k: int, share: float) -> None:
    """Over all outcomes of k people, the interval holds the true share in at least 95%."""
    held = 0.0
    for below in range(k + 1):
        found = share_of_people_below(0.5, [0.0] * below + [1.0] * (k - below))
        if found.low <= share <= found.high:
            held += math.comb(k, below) * share**below * (1 - share) ** (k - below)
    assert held >= 0.95 - 1e-9
