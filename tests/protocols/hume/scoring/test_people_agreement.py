"""Agreement by family: the spec's check values, and what is undefined."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.measures import krippendorff_alpha
from embassay.protocols.hume.scoring import PeopleAgreement, keep_annotators_by_coverage, people_agreement


def agreed(family: str, *raters: list) -> PeopleAgreement:
    """Agreement of raters who all answered items 00, 01, ..., but for those with None."""
    by_item = [{f"{i:02}": v for i, v in enumerate(values) if v is not None} for values in raters]
    return people_agreement(family, {f"rater {i}": own for i, own in enumerate(by_item)})


def test_classification() -> None:
    """HUME section 6: both examples."""
    found = agreed("classification", list("aabbccabca"), list("abbbcaabcc"))
    assert (found.value, found.extras["cohen_kappa"]) == pytest.approx((0.548872, 0.552239), abs=1e-6)
    assert found.extras["percent_agreement"] == pytest.approx(0.7)
    assert found.extras["alpha"] == pytest.approx(1 - (1 - 1 / 20) * (1 - found.value))
    assert (found.coefficient, found.band, found.reason) == ("fleiss_kappa", "moderate", "")
    assert (found.annotators, found.items, found.annotations) == (2, 10, 20)
    poor = agreed(
        "classification", ["neg", "pos", "pos", "pos", "neu", "neg"], ["neg", "neg", "neu", "pos", "pos", "neu"]
    )
    assert (poor.value, poor.extras["cohen_kappa"]) == pytest.approx((-0.021277, 0), abs=1e-6)
    assert poor.band == "poor"


def test_sts() -> None:
    """HUME section 6."""
    r1, r2 = [0, 1, 1, 3, 5, 4, 2, 4], [2, 0, 2, 1, 4, 5, 4, 3]
    found = agreed("sts", r1, r2)
    assert found.value == pytest.approx(0.615854, abs=1e-6)
    assert (found.coefficient, found.band) == ("spearman", "moderate")
    assert found.extras["absolute_difference"] == 1.375
    assert found.extras["alpha"] == krippendorff_alpha([r1, r2], "interval")


def test_clustering() -> None:
    """HUME section 6; annotators' ids are their own."""
    found = agreed("clustering", list("000111222"), list("555577999"))
    assert (found.value, found.extras["v_measure"]) == pytest.approx((0.642857, 0.786013), abs=1e-6)
    assert (found.coefficient, found.band) == ("ari", "substantial")


def test_reranking() -> None:
    """HUME section 6; a query with a constant vector is skipped and counted."""
    one, other = (1, 1, 1, 0, 0, 0, 0), (1, 1, 0, 1, 0, 0, 0)
    found = agreed("reranking", [one, one], [other, (0,) * 7])
    assert [found.value, found.extras["kendall"]] == pytest.approx([0.416667] * 2, abs=1e-6)
    # Kappa is defined where one vector is constant: 0, no better than chance.
    assert found.extras["cohen_kappa"] == pytest.approx(0.416667 / 2, abs=1e-6)
    assert (found.extras["comparisons"], found.extras["skipped"], found.extras["spearman_sd"]) == (1, 1, 0)
    assert found.band == "moderate"


def test_only_shared_items_count() -> None:
    """Items that one annotator has alone are nothing to agree on."""
    found = agreed("classification", ["a", "b", "a", None], ["a", "b", None, "b"])
    assert (found.value, found.items, found.annotations, found.extras["dropped"]) == (1, 2, 4, 2)
    assert found.band == "excellent"


@pytest.mark.parametrize(
    ("family", "raters", "reason"),
    [
        ("classification", [["a", "b"]], "fewer than two annotators"),
        ("sts", [[1, 2], [None, None]], "fewer than two annotators"),
        ("classification", [["a", None], [None, "a"]], "no item was answered by two annotators"),
        ("clustering", [["a", None], [None, "a"]], "no item was answered by two annotators"),
        ("clustering", [["a", "b"], [None, "a"]], "no two annotators share two items"),
        ("classification", [["a", "a"], ["a", "a"]], "all answers are the same"),
        ("sts", [[1, 2], [3, 3]], "answers do not vary"),
        ("reranking", [[(1, 0)], [(1, 1)]], "answers do not vary"),
    ],
)
def test_undefined_is_na_with_a_reason(family: str, raters: list, reason: str) -> None:
    """Never 0."""
    found = agreed(family, *raters)
    assert math.isnan(found.value)
    assert (found.band, found.reason) == ("NA", reason)


answered = st.integers(2, 3).flatmap(
    lambda raters: st.lists(
        st.lists(st.none() | st.integers(0, 3), min_size=raters, max_size=raters), min_size=1, max_size=8
    )
)


@given(answered, st.permutations("wxyz"), st.sampled_from(["classification", "clustering", "sts"]))
def test_bounds_and_names(items: list[list[int | None]], names: list[str], family: str) -> None:
    """At most 1, or NaN with a reason; labels may be renamed for all, cluster ids for each annotator alone."""
    raters = [list(row) for row in zip(*items, strict=True)]
    found = agreed(family, *raters)
    assert math.isnan(found.value) == bool(found.reason) == (found.band == "NA")
    assert math.isnan(found.value) or -1 <= found.value <= 1
    if family == "sts":
        return
    turned = [
        [v if v is None else names[(v + own * (family == "clustering")) % 4] for v in row]
        for own, row in enumerate(raters)
    ]
    renamed = agreed(family, *turned)
    assert renamed.value == pytest.approx(found.value, nan_ok=True)
    assert renamed.extras == pytest.approx(found.extras, nan_ok=True)


def test_another_family_is_refused() -> None:
    """With the families there are."""
    with pytest.raises(UsageError, match="family is 'retrieval'"):
        agreed("retrieval", [1], [1])


ONE, TWO = [0, 1, 2, 3, 4, 5, 1, 2, 3, 4], [2, 0, 3, 1, 5, 4, 0, 4, 2, 5]


def test_three_answers_of_a_third_do_not_turn_the_agreement_of_two() -> None:
    """Two who finished agree as they did, whatever someone says who stopped after three of ten items."""
    alone = agreed("sts", ONE, TWO)
    third = [0, 2, 3, *[None] * 7]
    assert agreed("sts", ONE, TWO, third).value == pytest.approx(alone.value)
    by_item = [{f"{i}": v for i, v in enumerate(row) if v is not None} for row in (ONE, TWO, third)]
    answers = dict(zip("abc", by_item, strict=True))
    assert list(keep_annotators_by_coverage(answers)) == ["a", "b"]
    assert list(keep_annotators_by_coverage(answers, 0.0)) == ["a", "b", "c"]
    counted = people_agreement("sts", keep_annotators_by_coverage(answers))
    assert (counted.value, counted.annotators, counted.annotations) == (alone.value, 2, 20)
    assert counted.extras == alone.extras


def test_too_few_shared_items_are_told() -> None:
    """The minimum is ten or all: twelve items of which nobody shares ten have no mean over pairs, and say why."""
    rows = [[*range(8), *[None] * 4], [None] * 4 + [*range(8)], [*range(4), *[None] * 4, *range(4)]]
    found = agreed("sts", *rows)
    assert math.isnan(found.value)
    assert found.reason == "no two annotators share 10 items"
    assert agreed("sts", [1, 2, 3], [1, 2, 3]).value == pytest.approx(1)


def test_halves_are_kept_where_work_is_shared_out() -> None:
    """Each item goes to two of four people: nobody answered half of all items, and all of them count."""
    answers = {name: dict.fromkeys(map(str, range(at * 10, at * 10 + 20)), 1) for at, name in enumerate("abcd")}
    assert list(keep_annotators_by_coverage(answers)) == list("abcd")
