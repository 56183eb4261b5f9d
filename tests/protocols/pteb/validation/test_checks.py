"""The five steps: planted bad raters are exactly those rejected, and each with its reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.pteb.validation.raters import InspectorDecisionsOnRaters, RaterRating, apply_rating_checks
from embassay.protocols.wordings.pairs import LanguageAcceptanceRules, PairToRate

RULES = LanguageAcceptanceRules()


def study(n=50, lang="fra"):
    """n pairs and two dummies."""
    items = [PairToRate(f"{lang}-{i}", lang, "pair", f"text {i}", f"other {i}", None) for i in range(n)]
    items += [
        PairToRate(f"{lang}-same", lang, "nearly identical", "a.", "a", 5.0),
        PairToRate(f"{lang}-far", lang, "unrelated", "a", "z", 0.0),
    ]
    return {item.pair_id: item for item in items}


def truth(items, seed=0):
    rng = np.random.default_rng(seed)
    return {one.pair_id: float(rng.integers(3, 6)) if one.expected is None else one.expected for one in items.values()}


def test_planted_bad_raters_are_exactly_those_rejected():
    """One fails the dummies, one answers at random, one turns the scale round; good ones and a merely strict one stay.

    The inspector looks at what is flagged and knows the truth; two models err a little.
    """
    rng = np.random.default_rng(4)
    items = study()
    true = truth(items)
    noise = {pair: rng.choice([-1, 0, 0, 1]) for pair in items}

    def clip(value):
        return float(min(5, max(0, value)))

    raters = {
        "good": lambda pair: clip(true[pair] + (noise[pair] if items[pair].expected is None else 0)),
        "exact": lambda pair: true[pair],
        "strict": lambda pair: clip(true[pair] - 1) if items[pair].expected is None else true[pair],
        "careless": lambda pair: true[pair] if pair != "fra-same" else 2.0,
        "random": lambda pair: float(rng.integers(0, 6)) if items[pair].expected is None else true[pair],
        "reversed": lambda pair: 5 - true[pair] if items[pair].expected is None else true[pair],
    }
    ratings = [RaterRating(pair, rater, rate(pair)) for rater, rate in raters.items() for pair in items]
    estimates = [
        RaterRating(pair, judge, clip(true[pair] + 0.4 * rng.standard_normal()))
        for judge in ("judge-a", "judge-b")
        for pair in items
    ]
    inspected = {pair: value for pair, value in true.items() if items[pair].expected is None}
    checked = apply_rating_checks(
        ratings, items, RULES, estimates=estimates, decisions=InspectorDecisionsOnRaters(inspected, {}, {})
    )
    fates = {one.rater_id: one.fate for one in checked.raters}
    assert fates == {
        "good": "kept", "exact": "kept", "strict": "kept", "careless": "rejected", "random": "rejected",
        "reversed": "rejected",
    }  # fmt: skip
    reasons = {one.rater_id: one.reason for one in checked.raters}
    assert reasons["careless"] == "rated the nearly identical pair fra-same as 2 instead of 5"
    assert "differ by more than 2 from the inspector's and every model's" in reasons["random"]
    assert {one.rater_id for one in checked.kept} == {"good", "exact", "strict"}
    assert not any(items[one.pair_id].is_dummy for one in checked.kept)
    assert checked.not_inspected == ()


@pytest.mark.parametrize(
    ("pair", "value", "fate"),
    [("fra-same", 4.0, "kept"), ("fra-same", 3.9, "rejected"), ("fra-far", 1.0, "kept"), ("fra-far", 1.1, "rejected")],
)
def test_a_dummy_may_be_one_away(pair, value, fate):
    """Within 1 of what is expected, the limit included."""
    items = study(3)
    ratings = [RaterRating(one, "a", value if one == pair else truth(items)[one]) for one in items]
    [rater] = apply_rating_checks(ratings, items, RULES).raters
    assert rater.fate == fate
    assert rater.dummies_failed == (fate == "rejected")


def test_a_dummy_that_was_not_rated_rejects_nobody():
    """It is counted."""
    items = study(3)
    [rater] = apply_rating_checks([RaterRating("fra-0", "a", 4.0)], items, RULES).raters
    assert (rater.fate, rater.dummies_missing, rater.missing, rater.ratings) == ("kept", 2, 4, 1)


@pytest.mark.parametrize(
    ("value", "estimates", "why"),
    [
        (5.0, [3.0], ()),
        (5.0, [2.9], ("j0 estimates 2.9",)),
        (2.0, [2.0], ("rated 2 or lower",)),
        (2.1, [2.0], ()),
        (4.2, [2.2, 2.2], ()),  # 4.2 - 2.2 is 2 but for its last bits
        (5.0, [4.0, 1.0], ("j1 estimates 1",)),
        (1.0, [4.0, 3.5], ("j0 estimates 4", "j1 estimates 3.5", "rated 2 or lower")),
    ],
)
def test_what_is_flagged_and_why(value, estimates, why):
    """More than 2.0 from any estimate; 2.0 or lower."""
    items = study(1)
    said = [RaterRating("fra-0", f"j{i}", one) for i, one in enumerate(estimates)]
    checked = apply_rating_checks([RaterRating("fra-0", "a", value)], items, RULES, estimates=said)
    assert [flag.reasons for flag in checked.flags] == ([why] if why else [])
    assert checked.not_inspected == (("fra-0",) if why else ())


def test_both_inspection_and_estimates_must_be_far():
    """A rating that the inspector or one model shares counts for nothing, nor one that was not inspected or has no
    estimate; three that nobody shares reject."""
    items = study(10)
    ratings = [RaterRating(f"fra-{i}", "a", 0.0) for i in range(10)]

    def fate(inspected, judges):
        estimates = [RaterRating(f"fra-{i}", f"j{j}", value) for j, value in enumerate(judges) for i in range(10)]
        decisions = InspectorDecisionsOnRaters(inspected, {}, {})
        [rater] = apply_rating_checks(ratings, items, RULES, estimates=estimates, decisions=decisions).raters
        return rater.fate, len(rater.far)

    three = {f"fra-{i}": 4.0 for i in range(3)}
    assert fate(three, [5.0, 4.0]) == ("rejected", 3)
    assert fate(dict(list(three.items())[:2]), [5.0, 4.0]) == ("kept", 2)
    assert fate(dict.fromkeys(three, 1.0), [5.0, 4.0]) == ("kept", 0)
    assert fate(three, [5.0, 1.5]) == ("kept", 0)
    assert fate(three, []) == ("kept", 0)
    assert fate({}, [5.0]) == ("kept", 0)


def test_the_inspector_may_clear_or_reject_with_a_reason():
    """And the log says what the rules alone would have done."""
    items = study(3)
    ratings = [RaterRating("fra-same", "a", 1.0), RaterRating("fra-0", "a", 4.0), RaterRating("fra-0", "b", 4.0)]
    decisions = InspectorDecisionsOnRaters({}, {"a": "asked, had misread"}, {"b": "copied a's file"})
    first, second = apply_rating_checks(ratings, items, RULES, decisions=decisions).raters
    assert (first.fate, second.fate) == ("cleared", "rejected")
    assert first.reason == (
        "inspector: asked, had misread (otherwise: rated the nearly identical pair fra-same as 1 instead of 5)"
    )
    assert second.reason == "inspector: copied a's file"


def test_clearing_somebody_whom_nothing_speaks_against_changes_nothing():
    """They are kept, without a reason."""
    items = study(3)
    [rater] = apply_rating_checks(
        [RaterRating("fra-0", "a", 4.0)], items, RULES, decisions=InspectorDecisionsOnRaters({}, {"a": "fine"}, {})
    ).raters
    assert (rater.fate, rater.reason) == ("kept", "")


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.integers(0, 5)), max_size=40))
def test_what_is_kept_is_what_was_said_by_those_who_stay(said):
    """No rating is changed, invented or kept of a rejected rater; without estimates and dummies nobody is rejected."""
    items = study(10)
    ratings = [RaterRating(f"fra-{i}", rater, float(value)) for i, rater, value in said]
    checked = apply_rating_checks(ratings, items, RULES)
    assert list(checked.kept) == ratings
    assert all(one.fate == "kept" for one in checked.raters)
