"""The novelty variant of RA-nWG: the worked example, its options, and the exactness of its ideal."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.measures import MEASURES, grade, ra_nwg, ra_nwg_novelty, weights

LIST = "5p1 4p1 4p2 4p2 3p3 3p3 3p4 3p1 2p5 2p6"
USEFUL = "5p1 5p2 4p1 4p2 4p2 4p3 3p1 3p3 3p3 3p4 3p7 3p7 3p7 3p7 3p7 3p7"


def ids(documents: str) -> list[str]:
    """`5p1`, the grade and the source, as ids that are all different: equal ones are numbered."""
    seen: dict[str, int] = {}
    for one in documents.split():
        seen[one] = seen.get(one, 0) + 1
    return [f"{one}-{i}" for one in seen for i in range(seen[one])]


def source(document: str) -> str:
    return document[1:].partition("-")[0]


def example() -> tuple[dict[str, int], list[str]]:
    """The pool of example A with the sources of the worked example, and its list in its order."""
    irrelevant = [f"2p{i}-0" for i in range(5, 19)] + [f"1p{i}-0" for i in range(20)]
    grades = {one: int(one[0]) for one in [*ids(USEFUL), *irrelevant]}
    order = ["5p1-0", "4p1-0", "4p2-0", "4p2-1", "3p3-0", "3p3-1", "3p4-0", "3p1-0", "2p5-0", "2p6-0"]
    return grades, order


def test_worked_example() -> None:
    """Discounted gain 1.56 over the novelty ideal 2.685 or the plain one 3.08, by either occurrence."""
    grades, order = example()
    assert sorted(order) == sorted(ids(LIST))
    assert (
        weights([20, 14, 10, 4, 2]).tolist()
        == weights([sum(g == n for g in grades.values()) for n in (1, 2, 3, 4, 5)]).tolist()
    )
    for occurrence in ("best", "rank"):
        score = ra_nwg_novelty(grades, order, 10, source, occurrence=occurrence)
        assert score == pytest.approx(0.581006, abs=1e-6)
        assert score * 2.685 == pytest.approx(1.56, abs=1e-6)
        plain = ra_nwg_novelty(grades, order, 10, source, occurrence=occurrence, ideal="plain")
        assert plain == pytest.approx(0.506494, abs=1e-6)


def test_only_rank_looks_at_the_order() -> None:
    """With the first two swapped the 5 is the repeat: 1.185 by rank, still 1.56 by best."""
    grades, order = example()
    swapped = [order[1], order[0], *order[2:]]
    assert ra_nwg_novelty(grades, swapped, 10, source) * 2.685 == pytest.approx(1.56, abs=1e-6)
    by_rank = ra_nwg_novelty(grades, swapped, 10, source, occurrence="rank")
    assert by_rank * 2.685 == pytest.approx(1.185, abs=1e-6)


def test_without_a_discount_it_is_ra_nwg() -> None:
    """beta = 1, or a source per document."""
    grades, order = example()
    assert ra_nwg_novelty(grades, order, 10, source, beta=1) == pytest.approx(ra_nwg(grades, order, 10))
    assert ra_nwg_novelty(grades, order, 10, str) == pytest.approx(ra_nwg(grades, order, 10))


def test_by_name_and_by_key() -> None:
    """The source may be a mapping; the settings may be in the name."""
    grades, order = example()
    keys = {one: source(one) for one in [*grades, *order]}
    measure = MEASURES.build("RA-nWG(beta=0.25, ideal='plain')@10")
    assert str(measure) == "RA-nWG-novelty(beta=0.25, ideal='plain')@10"
    expected = ra_nwg_novelty(grades, order, 10, source, beta=0.25, ideal="plain")
    assert measure(grade(grades, order, source=keys)) == expected
    assert str(MEASURES.build("RAnWGNovelty(beta=0.5)@10")) == "RA-nWG-novelty@10"


documents = st.dictionaries(
    st.tuples(st.sampled_from("abc"), st.integers(0, 2)).map(lambda key: f"{key[0]}{key[1]}"),
    st.integers(1, 5),
    min_size=1,
)


@given(documents, st.integers(1, 4), st.floats(0, 1))
def test_the_ideal_is_the_best_set(grades: dict[str, int], k: int, beta: float) -> None:
    """No set of k documents scores above 1, and the best scores 1."""
    best = [
        ra_nwg_novelty(grades, list(chosen), k, source=lambda one: one[0], beta=beta)
        for chosen in combinations(grades, min(k, len(grades)))
    ]
    if max(grades.values()) > 2:
        assert max(best) == pytest.approx(1)


def test_what_is_missing_is_said() -> None:
    """No sources, a source that is not known, settings out of range."""
    with pytest.raises(UsageError, match="need the source of each document"):
        MEASURES.build("RA-nWG-novelty@10")({"a": 5}, ["a"])
    with pytest.raises(UsageError, match="document 'b' has no source"):
        ra_nwg_novelty({"a": 5, "b": 4}, ["a"], 10, {"a": "x"})
    with pytest.raises(UsageError, match=r"beta is 1\.5"):
        MEASURES.build("RA-nWG-novelty(beta=1.5)@10")
    with pytest.raises(UsageError, match="no occurrence 'worst'"):
        MEASURES.build("RA-nWG-novelty(occurrence='worst')@10")
