"""RA-nWG and its companions: the worked examples of the specification, options, and what is undefined."""

from __future__ import annotations

import math

import numpy as np
import pytest

from embassay.errors import DataError, UsageError
from embassay.measures import (
    MEASURES,
    Graded,
    Weighting,
    evaluate_graded,
    flags,
    grade,
    graded_precision,
    harm,
    hit,
    hit_feasible,
    judged_share,
    macro,
    n_recall,
    proc,
    ra_nwg,
    weights,
)
from measures.grade_lists import pool_of, top_of

NA = math.nan
A, B, C, D = "2,4,10,14,20", "10,2,1,12,15", "0,3,8,9,10", "0,0,0,12,18"
A_TOP, F_TOP = "5 4 4 4 3 3 3 3 2 2", "5 4 3 3 2 2 1 1 1 1"
# id: pool, top, K, w4, w3, G_obs, G_ideal, RA-nWG, NR4+, NR5, P4+, Harm, Hit
EXAMPLES = {
    "A": (A, A_TOP, 10, 0.25, 0.02, 1.83, 3.08, 0.594156, 0.666667, 0.5, 0.4, 0.2, 0),
    "A5": (A, A_TOP, 5, 0.25, 0.02, 1.77, 2.75, 0.643636, 0.8, 0.5, 0.8, 0, 0),
    "A20": (A, A_TOP, 20, 0.25, 0.02, 1.83, 3.20, 0.571875, 0.666667, 0.5, 0.2, 0.1, 0),
    "B caps": (B, "5 5 5 5 4 3 2 1 1 1", 10, 1.0, 0.25, 5.25, 10, 0.525, 0.5, 0.4, 0.5, 0.4, 0),
    "B5": (B, "4 4 3 5 5", 5, 1.0, 0.25, 4.25, 5, 0.85, 0.8, 0.4, 0.8, 0, 0),
    "C fallback": (C, "4 4 3 2 1", 5, 1, 0.2, 2.2, 3.4, 0.647059, 0.666667, NA, 0.4, 0.4, 0),
    "C10": (C, "4 3 3 3 3 2 2 1 1 1", 10, 1, 0.2, 1.8, 4.4, 0.409091, 0.333333, NA, 0.1, 0.5, 0),
    "D all NA": (D, "2 2 1 1 1", 5, 1, 0.2, 0, 0, NA, NA, NA, 0, 1.0, NA),
    "E K>pool": ("1,2,1,1,1", "5 4 4 3 2 1", 10, 0.25, 0.1, 1.6, 1.6, 1.0, 1.0, 1.0, 0.3, 0.2, 1),
    "E4": ("1,2,1,1,1", "5 4 3 2", 10, 0.25, 0.1, 1.35, 1.6, 0.84375, 0.666667, 1.0, 0.2, 0.1, 0),
    "F": (A, F_TOP, 10, 0.25, 0.02, 1.29, 3.08, 0.418831, 0.333333, 0.5, 0.2, 0.6, 0),
    "I": ("5,100,2,10,3", "5x3 4x6 3x1", 10, 0.025, 0.25, 3.4, 5.575, 0.609865, 0.9, 0.6, 0.9, 0, 0),
    "J": ("1,0,6,3,10", "3 3 3 5 1", 5, 0, 0.016667, 1.05, 1.066667, 0.984375, 1.0, 1.0, 0.2, 0.2, 1),
    "K": ("0,0,4,6,10", "3 3 2 1 1", 5, 1, 0.2, 0.4, 0.8, 0.5, NA, NA, 0, 0.6, NA),
}
NAMES = ("RA-nWG", "N-Recall4+", "N-Recall5", "Precision4+", "Harm", "Hit")


def about(expected: float) -> object:
    return pytest.approx(expected, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_worked_examples(example: tuple[object, ...]) -> None:
    """Every figure of the specification's table, by function and by name, to 1e-6."""
    counts, top, k, w4, w3, observed, ideal, *expected = example
    grades, retrieved = pool_of(counts), top_of(top)
    by_function = [
        ra_nwg(grades, retrieved, k),
        n_recall(grades, retrieved, k),
        n_recall(grades, retrieved, k, level=5),
        graded_precision(grades, retrieved, k),
        harm(grades, retrieved, k),
        hit(grades, retrieved, k),
    ]
    assert by_function == [about(value) for value in expected]
    by_name = evaluate_graded([f"{name}@{k}" for name in NAMES], grade(grades, retrieved))
    assert [float(values[0]) for values in by_name.values()] == [about(value) for value in expected]
    worth = weights([int(n) for n in counts.split(",")][::-1])
    assert worth[2:].tolist() == [about(w3), about(w4), 1]
    if ideal:
        assert by_function[0] * ideal == about(observed)


def test_a_rare_grade_3_may_weigh_more_than_a_common_4() -> None:
    """Example I, continued: the ideal is by weight, so 5x5 3x2 4x3 is perfect and 5x5 4x5 is not."""
    grades = pool_of("5,100,2,10,3")
    assert ra_nwg(grades, top_of("5x5 3x2 4x3"), 10) == about(1.0)
    assert ra_nwg(grades, top_of("5x5 4x5"), 10) == about(0.919283)
    assert flags(grade(grades, []), 10).grade_inversion.tolist() == [True]
    assert weights([3, 10, 2, 100, 5], Weighting(enforce_monotone=True)).tolist() == [0, 0, 0.025, 0.025, 1]
    assert ra_nwg(grades, top_of("5x5 4x5"), 10, enforce_monotone=True) == about(1.0)


def test_an_inversion_is_of_grades_that_the_pool_has() -> None:
    """Capped weights that are equal invert nothing (B), nor does a grade that is not there (J)."""
    assert flags(grade(pool_of(B), []), 10).grade_inversion.tolist() == [False]
    assert flags(grade(pool_of("1,0,6,3,10"), []), 10).grade_inversion.tolist() == [False]
    assert flags(grade(pool_of("1,2,0,0,0"), []), 10).counts()["grade_inversion"] == 0


def test_monotone_weights_are_not_bounded_by_a_grade_that_is_not_there() -> None:
    """Example J has no grade 4: its grade 3 keeps its weight."""
    assert ra_nwg(pool_of("1,0,6,3,10"), top_of("3 3 3 5 1"), 5, enforce_monotone=True) == about(0.984375)


@pytest.mark.parametrize(
    ("alpha", "expected", "w4", "w3"),
    [
        (0, 0.659091, 0.5, 0.1),
        (0.5, 0.623291, 0.353553, 0.044721),
        (1, 0.594156, 0.25, 0.02),
        (2, 0.552862, 0.125, 0.004),
    ],
)
def test_alpha_of_example_a(alpha: float, expected: float, w4: float, w3: float) -> None:
    """The strength of the rarity weight."""
    assert ra_nwg(pool_of(A), top_of(A_TOP), 10, alpha=alpha) == about(expected)
    assert weights([20, 14, 10, 4, 2], Weighting(alpha=alpha))[2:].tolist() == [about(w3), about(w4), 1]
    by_name = MEASURES.build(f"RAnWG(alpha={alpha})@10")
    assert by_name(pool_of(A), top_of(A_TOP)) == about(expected)


@pytest.mark.parametrize(
    ("cap4", "cap3", "expected"),
    [(0.75, 0.2, 0.74), (0.75, 0.25, 0.75), (0.75, 0.33, 0.766), (1, 0.2, 0.84), (1, 0.25, 0.85), (1, 0.33, 0.866)],
)
def test_caps_of_example_b5(cap4: float, cap3: float, expected: float) -> None:
    """Both caps bind: the raw weights are 2.5 and 1."""
    assert ra_nwg(pool_of(B), top_of("4 4 3 5 5"), 5, cap4=cap4, cap3=cap3) == about(expected)


def test_alpha_0_still_has_caps() -> None:
    """Trap T4."""
    assert weights([1, 1, 1, 1, 1], Weighting(alpha=0, cap4=0.3, cap3=0.05)).tolist() == [0, 0, 0.05, 0.3, 1]


def test_proc_of_example_f() -> None:
    """Weights and the ideal are those of the whole graded pool, the documents those of the restricted one."""
    grades, pool = pool_of(A), list(pool_of("1,2,5,6,6"))
    assert proc(grades, pool, 10) == about(0.519481)
    assert proc(grades, pool, 10, of="N-Recall4+") == about(0.5)
    assert proc(grades, pool, 10, of="N-Recall5") == about(0.5)
    assert proc(grades, pool, 10, of="Precision4+") == about(0.3)
    found = grade(grades, top_of(F_TOP), pool)
    values = evaluate_graded(["RA-nWG@10", "PROC@10", "PROC_NR4@10"], found)
    assert values["RA-nWG@10"] / values["PROC@10"] == about(0.80625)
    assert values["PROC_NR4@10"] == about(0.5)
    assert ra_nwg(grades, top_of(F_TOP), 10, normalise_by="pool", pool=pool) == about(0.80625)


def test_proc_of_a_list_is_of_the_whole_list() -> None:
    """Without a pool the restricted pool is what was retrieved, beyond the first K too."""
    grades = pool_of(A)
    assert MEASURES.build("PROC@5")(grades, top_of("1 1 1 1 1 5 5")) == about(2 / 2.75)
    assert proc(grades, top_of("1 1 1 1 1 5 5"), 5) == about(2 / 2.75)


def test_macro_leaves_undefined_queries_out() -> None:
    """RA-nWG@10 over A, F, C10, D: the mean of three of four."""
    lists = {"A": (A, A_TOP), "F": (A, F_TOP), "C10": (C, "4 3 3 3 3 2 2 1 1 1"), "D": (D, "2 2 1 1 1")}
    grades = {name: pool_of(counts) for name, (counts, _) in lists.items()}
    values = ra_nwg(grades, {name: top_of(top) for name, (_, top) in lists.items()}, 10)
    assert macro(values).mean == about(0.474026)
    assert macro(values)[1:] == (3, 4)
    assert math.isnan(macro([NA, NA]).mean)


def test_many_queries_are_an_array_in_the_order_of_the_grades() -> None:
    """One value per graded query: one without an answer has found nothing, one without grades is left out."""
    grades = {"q2": {"a": 5, "b": 1}, "q1": {"a": 4}}
    retrieved = {"q1": {"a": 0.1, "x": 0.9}, "q3": ["a"]}
    assert ra_nwg(grades, retrieved, 2).tolist() == [0, 1]
    assert harm(grades, retrieved, 2).tolist() == [0, 0]
    assert hit_feasible(grades, 1).tolist() == [True, True]
    assert judged_share(grades, retrieved, 2).tolist() == [about(NA), 0.5]
    assert proc(grades, {"q1": ["x"]}, 2).tolist() == [0, 0]


def test_ties_and_repeats_follow_the_rule_of_rankings() -> None:
    """Equal scores by id, last in the alphabet first; the first of equal ids counts, and repeats are counted."""
    assert hit({"a": 5, "b": 1}, {"a": 0.5, "b": 0.5}, 1) == 0
    assert hit({"b": 5, "a": 1}, {"a": 0.5, "b": 0.5}, 1) == 1
    found = grade({"a": 5, "b": 1}, ["b", "b", "a"])
    assert found.top.tolist() == [[1, 5]]
    assert flags(found, 2).counts() == {
        "fallback": 0,
        "grade_inversion": 0,
        "hit_feasible": 1,
        "repeated": 1,
        "unjudged": 0,
    }


def test_documents_without_a_grade() -> None:
    """Worth nothing and no harm; or irrelevant; or not there; or a mistake that names the query."""
    grades, retrieved = {"a": 5, "b": 4, "c": 1}, ["x", "a", "y", "b"]
    assert n_recall(grades, retrieved, 2) == 0.5
    assert n_recall(grades, retrieved, 2, unjudged="condense") == 1
    assert ra_nwg(grades, retrieved, 2, unjudged="condense") == 1
    assert harm(grades, retrieved, 4) == 0
    assert harm(grades, retrieved, 4, unjudged="grade1") == 0.5
    assert judged_share(grades, retrieved, 1) == 0
    assert judged_share(grades, retrieved) == 0.5
    assert [int(flags(grade(grades, retrieved), k).unjudged[0]) for k in (1, 2, 4)] == [1, 1, 2]
    with pytest.raises(DataError, match="2 retrieved documents have no grade, the first at rank 1 of query 'q'"):
        harm({"q": grades}, {"q": retrieved}, 4, unjudged="error")
    assert harm({"q": grades}, {"q": retrieved[1:2]}, 4, unjudged="error").tolist() == [0]
    assert MEASURES.build("N-Recall4+(unjudged='condense')@2")(grades, retrieved) == 1


def test_short_lists() -> None:
    """Precision and harm divide by K, or by what was retrieved if asked to; then nothing is undefined."""
    grades, how = {"a": 5, "c": 1}, "retrieved"
    assert graded_precision(grades, ["a", "c"], 10) == 0.1
    assert graded_precision(grades, ["a", "c"], 10, short_list_denominator=how) == 0.5
    assert graded_precision(grades, ["a", "c"], 1, short_list_denominator=how) == 1
    assert harm(grades, ["a", "c"], 10, short_list_denominator=how) == 0.5
    assert harm(grades, [], 10, short_list_denominator=how) == about(NA)
    assert proc(grades, ["a", "x"], 10, of="Precision4+", short_list_denominator=how) == 0.5
    assert graded_precision(grades, [], 10) == harm(grades, [], 10) == 0


def test_hits_that_cannot_be() -> None:
    """More good documents than places: never a hit, and not feasible. None at all: undefined, or 1 if asked."""
    grades = pool_of("2,2,0,0,0")
    assert hit(grades, list(grades), 3) == 0
    assert hit_feasible(grades, 3) is False
    assert hit_feasible(grades, 4) is True
    assert hit(pool_of(D), [], 3, vacuous=True) == 1
    assert MEASURES.build("Hit(vacuous=True)@3")(pool_of(D), []) == 1


def test_levels_and_base_utilities() -> None:
    """The grades that count as relevant or harmful, and what a grade is worth, can be chosen."""
    grades = pool_of("1,1,1,1,1")
    assert harm(grades, top_of("3 2 1"), 3, level=1) == about(1 / 3)
    assert harm(grades, top_of("3 2 1"), 3, level=3) == 1
    assert n_recall(grades, top_of("3 5"), 3, level=3) == about(2 / 3)
    assert MEASURES.build("N-Recall3+@3")(grades, top_of("3 5")) == about(2 / 3)
    assert weights([1, 1, 1, 1, 1], Weighting(b4=0.8, b3=0.2, b2=0.1)).tolist() == [0, 0.1, 0.2, 0.8, 1]
    assert weights([1, 1, 1, 1, 0], Weighting(b4=0.8, b2=0.1, fallback_w3=0.3)).tolist() == [0, 0.125, 0.3, 1, 1]
    assert ra_nwg(pool_of("0,0,4,6,10"), top_of("3 3 2"), 5, fallback_w3=0.5) == about(0.5)


def test_arrays_alone_are_enough() -> None:
    """`Graded` can be made from counts and grades in rank order; what is wrong with them is said."""
    counts = np.array([[20, 14, 10, 4, 2]])
    top = np.array([[5, 4, 4, 4, 3, 3, 3, 3, 2, 2]], dtype=np.int8)
    assert MEASURES.build("RA-nWG@10")(Graded(counts, top)).tolist() == [about(0.594156)]
    with pytest.raises(UsageError, match=r"shapes \(1, 4\)"):
        Graded(counts[:, :4], top)
    with pytest.raises(UsageError, match="1 and 2 rows"):
        Graded(counts, np.vstack([top, top]))
    with pytest.raises(UsageError, match="grades from 0 to 7"):
        Graded(counts, np.array([[7, 0]]))


def test_values_above_1_are_shown() -> None:
    """Trap T6: nothing is clipped where a list holds what the pool lacks."""
    assert ra_nwg(pool_of(A), top_of("5 5"), 2, normalise_by="pool", pool=top_of("5")) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ra_nwg({"q": {"a": 0}}, {"q": ["a"]}, 5), "1 grade cannot be used, the first for query 'q'"),
        (lambda: harm({"a": 2.5}, ["a"], 5), "must be 1, 2, 3, 4 or 5"),
        (lambda: harm({"a": "good"}, ["a"], 5), "grade or score is not a number.*'good'"),
        (lambda: harm({"a": 2}, ["a"], 0), "cutoff is 0"),
        (lambda: harm({"a": 2}, ["a"], 5, unjudged="no"), "no unjudged 'no'. Use one of zero, grade1"),
        (lambda: harm({"a": 2}, ["a"], 5, level=6), "rel is 6"),
        (lambda: hit({"a": 2}, ["a"], 5, level=0), "rel is 0"),
        (lambda: harm({"a": 2}, ["a"], 5, short_list_denominator="n"), "no short_list_denominator 'n'"),
        (lambda: ra_nwg({"a": 2}, ["a"], 5, normalise_by="n"), "no normalise_by 'n'"),
        (lambda: proc({"a": 2}, ["a"], 5, of="Harm"), "no measure 'Harm'"),
        (lambda: ra_nwg({"a": 2}, ["a"], 5, alpha=-1), "alpha is -1"),
        (lambda: ra_nwg({"a": 2}, ["a"], 5, cap3=NA), "cap3 is nan"),
        (lambda: ra_nwg({"q": {"a": 2}}, ["a"], 5), "grades are for many queries"),
        (lambda: evaluate_graded(["ARI"], grade({"a": 2}, ["a"])), "ARI is not a measure of rankings"),
        (lambda: MEASURES.build("RA-nWG"), "needs a cutoff. Write RA-nWG@10"),
        (lambda: MEASURES.build("RA-nGW@10"), "Did you mean RA-nWG"),
        (lambda: MEASURES.build("RA-nWG(gamma=1)@10"), "parameters: alpha, cap4, cap3, fallback_w3"),
    ],
)
def test_what_cannot_be_measured_is_refused(call: object, message: str) -> None:
    """With what was found and the mend."""
    with pytest.raises(UsageError, match=message):
        call()


def test_an_extreme_alpha_is_no_overflow() -> None:
    """Infinitely rare is capped like very rare."""
    assert weights([0, 0, 1, 1, 9], Weighting(alpha=1000)).tolist() == [0, 0, 0.25, 1, 1]
    assert weights([0, 0, 9, 9, 1], Weighting(alpha=1000)).tolist() == [0, 0, 0, 0, 1]


def test_udcg_by_hand():
    """Relevant 1, grade 3 a distractor of weight 1/3, grade 2 of half of that; as the authors' formula."""
    from embassay.measures import evaluate_graded, grade
    from embassay.measures.programs import measured_udcg, udcg

    found = grade({"q": {"a": 5, "b": 3, "c": 2, "d": 1}}, {"q": ["a", "b", "c", "d", "x"]})
    mean = (1 - 1 / 3 - 1 / 6) / 5
    assert evaluate_graded(["UDCG@5"], found)["UDCG@5"][0] == pytest.approx(1 / (1 + np.exp(-mean)))
    assert udcg({"a": 5, "b": 3, "c": 2, "d": 1}, [*"abcdx"], 5) == pytest.approx(1 / (1 + np.exp(-mean)))
    assert measured_udcg([True, False], [0.9, 0.6]) == pytest.approx(1 / (1 + np.exp(-(0.9 - 0.2) / 2)))
    assert measured_udcg([True, False, False], [1, 1, 0.5]) == pytest.approx(1 / (1 + np.exp(-(1 - 1 / 3 - 1 / 6) / 3)))
    assert np.isnan(measured_udcg([], []))
    with pytest.raises(UsageError):
        measured_udcg([True], [1.5])
