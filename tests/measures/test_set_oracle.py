"""The set measures against a plain reading of their definitions on random pools, and their properties."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.measures import (
    MEASURES,
    Weighting,
    count_over_one,
    evaluate_graded,
    grade,
    macro,
    percent_proc,
    proc,
    ra_nwg,
    weights,
)

K = 10
NAMES = [
    *("RA-nWG@10", "RA-nWG(alpha=0.5, cap3=0.33, cap4=0.75)@10", "RA-nWG(unjudged='condense')@10"),
    *("RA-nWG-novelty@10", "RA-nWG-novelty(beta=0.2, ideal='plain', occurrence='rank')@10"),
    "RA-nWG-novelty(occurrence='rank', unjudged='condense')@10",
    *("N-Recall4+@10", "N-Recall5@10", "Precision4+@10", "Harm@10", "Harm(unjudged='grade1')@10", "Hit@10"),
    *("PROC@10", "PROC_NR4@10", "PROC_NR5@10", "PROC_P4@10", "Judged@10"),
]


def source(document: str) -> str:
    return document[-1]


def collection(queries: int) -> dict[str, tuple[dict[str, int], list[str], list[str]]]:
    """Grades, a list that also has documents without a grade, and a pool; empty and one-sided ones among them."""
    rng = np.random.default_rng(1)
    made = {}
    for number in range(queries):
        ids = [f"d{i:02}" for i in range(40)]
        n = int(rng.integers(0, 31))
        shape = rng.dirichlet([0.5] * 5)
        grades = dict(zip(ids[:n], (1 + rng.choice(5, n, p=shape)).tolist(), strict=True))
        retrieved = rng.permutation(ids)[: rng.integers(0, 25)].tolist()
        made[f"q{number}"] = (grades, retrieved, rng.permutation(ids)[: rng.integers(0, 25)].tolist())
    return made


def utilities(pool: list[int], alpha: float = 1, cap4: float = 1, cap3: float = 0.25) -> dict[int, float]:
    """Section 1.2 word for word: base utilities over prevalence to the power of alpha, over that of grade 5."""
    if 5 not in pool:
        return {5: 1, 4: 1, 3: 0.2, 2: 0, 1: 0}
    share = {g: pool.count(g) / len(pool) for g in (3, 4, 5)}
    rarity = {g: b / share[g] ** alpha if share[g] else 0 for g, b in ((3, 0.1), (4, 0.5), (5, 1.0))}
    return {5: 1, 4: min(rarity[4] / rarity[5], cap4), 3: min(rarity[3] / rarity[5], cap3), 2: 0, 1: 0}


def discounted(items: list[tuple[float, str]], beta: float, best_first: bool) -> list[float]:
    """Weights of (weight, source) with all but the first of a source times beta."""
    seen: set[str] = set()
    values = []
    for weight, key in sorted(items, key=lambda item: -item[0]) if best_first else items:
        values.append(weight * (beta if key in seen else 1))
        seen.add(key)
    return values


def divided(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan


def by_definition(grades: dict[str, int], retrieved: list[str], pool: list[str]) -> Iterator[float]:
    """The values of NAMES, in plain Python."""
    top, all_grades = retrieved[:K], list(grades.values())
    known = [grades[one] for one in top if one in grades]
    restricted = [grades[one] for one in pool if one in grades]
    w = utilities(all_grades)
    for worth, found in (
        (w, known),
        (utilities(all_grades, 0.5, 0.75, 0.33), known),
        (w, [grades[one] for one in [one for one in retrieved if one in grades][:K]]),
    ):
        best = sum(sorted((worth[g] for g in all_grades), reverse=True)[:K])
        yield divided(sum(worth[g] for g in found), best)
    items = [(w.get(grades.get(one, 0), 0.0), source(one)) for one in top]
    ideal = discounted([(w[g], source(one)) for one, g in grades.items()], 0.5, best_first=True)
    yield divided(sum(discounted(items, 0.5, best_first=True)), sum(sorted(ideal, reverse=True)[:K]))
    plain = sum(sorted((w[g] for g in all_grades), reverse=True)[:K])
    yield divided(sum(discounted(items, 0.2, best_first=False)), plain)
    graded_only = [(w[grades[one]], source(one)) for one in retrieved if one in grades][:K]
    best = sum(sorted(ideal, reverse=True)[:K])
    yield divided(sum(discounted(graded_only, 0.5, best_first=False)), best)
    good, best = (sum(g >= 4 for g in all_grades), sum(g == 5 for g in all_grades))
    good_found, best_found = sum(g >= 4 for g in known), sum(g == 5 for g in known)
    yield divided(good_found, min(K, good))
    yield divided(best_found, min(K, best))
    yield good_found / K
    harmful = sum(g <= 2 for g in known)
    yield harmful / K
    yield (harmful + len(top) - len(known)) / K
    wanted = {one for one, g in grades.items() if g >= 4}
    yield float(wanted <= set(top)) if wanted else math.nan
    yield divided(sum(sorted((w[g] for g in restricted), reverse=True)[:K]), plain)
    yield divided(min(K, sum(g >= 4 for g in restricted)), min(K, good))
    yield divided(min(K, sum(g == 5 for g in restricted)), min(K, best))
    yield min(K, sum(g >= 4 for g in restricted)) / K
    yield divided(len(known), len(top))


@pytest.mark.parametrize("queries", [1000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_agrees_with_the_definitions(queries: int) -> None:
    """All queries at once equal a plain reading of the specification, query by query, NaN included."""
    made = collection(queries)
    grades, retrieved, pools = ({query: one[part] for query, one in made.items()} for part in range(3))
    values = evaluate_graded(NAMES, grade(grades, retrieved, pools, source))
    expected = np.array([list(by_definition(*one)) for one in made.values()])
    for name, column in zip(NAMES, expected.T, strict=True):
        assert np.allclose(values[name], column, atol=1e-9, rtol=0, equal_nan=True), name
        assert macro(values[name])[1:] == (int((~np.isnan(column)).sum()), queries)
    undefined = {name: int(np.isnan(values[name]).sum()) for name in NAMES}
    assert undefined["Harm@10"] == undefined["Precision4+@10"] == undefined["PROC_P4@10"] == 0
    assert undefined["N-Recall5@10"] > undefined["N-Recall4+@10"] == undefined["Hit@10"] > undefined["RA-nWG@10"] > 0


counts = st.tuples(*[st.integers(0, 40)] * 5)
documents = st.dictionaries(st.sampled_from([f"d{i}" for i in range(15)]), st.integers(1, 5), max_size=15)
lists = st.lists(st.sampled_from([f"d{i}" for i in range(18)]), unique=True)


@given(counts, st.floats(0, 4), st.floats(0, 2), st.floats(0, 2))
def test_weights_have_a_closed_form(counts: tuple[int, ...], alpha: float, cap4: float, cap3: float) -> None:
    """The size of the pool cancels: w4 = min(0.5 (n5 / n4)^alpha, cap4), w3 = min(0.1 (n5 / n3)^alpha, cap3)."""
    n3, n4, n5 = counts[2:]
    found = weights(counts, Weighting(alpha, cap4, cap3)).tolist()
    if not n5:
        assert found == [0, 0, 0.2, 1, 1]
        return
    w4 = min(0.5 * (n5 / n4) ** alpha, cap4) if n4 else 0
    w3 = min(0.1 * (n5 / n3) ** alpha, cap3) if n3 else 0
    assert found == [0, 0, pytest.approx(w3, rel=1e-12), pytest.approx(w4, rel=1e-12), 1]
    by_prevalence = utilities([g for g, n in enumerate(counts, 1) for _ in range(n)], alpha, cap4, cap3)
    assert found == [pytest.approx(by_prevalence[g], rel=1e-9) for g in (1, 2, 3, 4, 5)]


@given(documents, lists, st.integers(1, 12), st.randoms(use_true_random=False))
def test_the_order_of_the_first_k_does_not_count(
    grades: dict[str, int], retrieved: list[str], k: int, random: Any
) -> None:
    """Set measures are of a set, the novelty variant by best occurrence too; all within 0 and 1."""
    first, rest = retrieved[:k], retrieved[k:]
    shuffled = random.sample(first, len(first)) + rest
    names = [name.replace("@10", f"@{k}") for name in NAMES if "rank" not in name and "condense" not in name]
    one, other = (evaluate_graded(names, grade(grades, order, source=source)) for order in (retrieved, shuffled))
    for name in names:
        assert np.allclose(one[name], other[name], atol=1e-12, equal_nan=True), name
        assert np.isnan(one[name]) or 0 <= one[name] <= 1 + 1e-9, name


@given(documents, lists, st.integers(1, 12), st.floats(0, 2))
def test_a_ceiling_is_not_below_what_was_reached(
    grades: dict[str, int], retrieved: list[str], k: int, alpha: float
) -> None:
    """PROC of the list itself is at least the measure, and reached by the list in its best order."""
    worth = dict(enumerate(weights([list(grades.values()).count(g) for g in (1, 2, 3, 4, 5)], Weighting(alpha)), 1))
    ordered = sorted(retrieved, key=lambda one: -worth.get(grades.get(one, 0), -1))
    best = proc(grades, retrieved, k, alpha=alpha)
    assert ra_nwg(grades, ordered, k, alpha=alpha) == pytest.approx(best, nan_ok=True)
    assert not ra_nwg(grades, retrieved, k, alpha=alpha) > best + 1e-9
    for of in ("N-Recall4+", "N-Recall5", "Precision4+"):
        assert not MEASURES.build(f"{of}@{k}")(grades, retrieved) > proc(grades, retrieved, k, of=of) + 1e-9
    reached = MEASURES.build(f"N-Recall4+@{k}")(grades, retrieved)
    assert percent_proc(reached, proc(grades, retrieved, k, of="N-Recall4+")).n_over == 0


@given(documents, lists, st.integers(1, 12))
def test_more_of_the_list_is_never_less(grades: dict[str, int], retrieved: list[str], k: int) -> None:
    """What is found grows with the list; a whole pool in its list is perfect."""
    for cut in range(len(retrieved)):
        shorter, longer = (ra_nwg(grades, retrieved[:n], k) for n in (cut, cut + 1))
        assert not shorter > longer + 1e-12
    everything = ra_nwg(grades, list(grades), max(k, len(grades), 1))
    assert everything == 1 or math.isnan(everything)
    assert count_over_one(everything) == 0
