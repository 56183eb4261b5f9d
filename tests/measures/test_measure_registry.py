"""Measures by name: spelling, facts, and properties that hold for every one of them."""

from __future__ import annotations

import ast
import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.measures import MEASURES, Judged, Measure, RankingMeasure, evaluate
from embassay.measures.registry import measure

RANKING = ({"a": 2, "b": 1, "c": 0}, {"a": 0.9, "b": 0.8, "c": 0.7}, {"a": 0.1, "b": 0.2, "x": 0.9})
GROUPS = ([0, 0, 1, 1, 2, 2], [5, 5, 6, 6, 7, 7], [0, 1, 2, 0, 1, 2])
NUMBERS = ([1.0, 2.0, 4.0], [2.0, 4.0, 8.0], [3.0, 2.0, 1.0])
CHOICES = ([1, 0, 1, 0], [1, 0, 1, 0], [0, 1, 1, 1])
PAIRS = ([1, 0, 1, 0], [0.9, 0.2, 0.8, 0.1], [0.2, 0.9, 0.1, 0.8])
GRADED = ({"a": 5, "b": 5, "c": 4, "d": 3, "e": 1}, {"a": 0.9, "b": 0.8, "c": 0.7}, {"e": 0.9, "x": 0.8, "a": 0.1})
FACETS = ({"a": ["x"], "b": ["y"], "c": ["x", "y"]}, ["c", "a"], ["a", "n"])
# Spelling -> what is right, a perfect answer, a worse one. A new measure adds its row here.
TABLE: dict[str, tuple[Any, Any, Any]] = {
    "nDCG@10": RANKING,
    "nDCG": RANKING,
    "nDCG(gain='exponential')@10": RANKING,
    "AP@100": RANKING,
    "AP": RANKING,
    "RR@10": RANKING,
    "R@2": RANKING,
    "P@2": RANKING,
    "R(rel=2)@2": RANKING,
    "RA-nWG@3": GRADED,
    "RA-nWG(alpha=0.5, b4=0.4, normalise_by='pool')@2": GRADED,
    "RA-nWG-novelty@3": GRADED,
    "RA-nWG-novelty(beta=0.25, occurrence='rank')@3": GRADED,
    "N-Recall4+@3": GRADED,
    "N-Recall4+(unjudged='grade1')@3": GRADED,
    "N-Recall5@2": GRADED,
    "N-Recall(rel=3)@3": GRADED,
    "Precision4+@3": GRADED,
    "Harm@3": GRADED,
    "Harm(rel=1)@3": GRADED,
    "UDCG@1": GRADED,
    "Hit@3": GRADED,
    "PROC@3": GRADED,
    "PROC(of='N-Recall4+')@3": GRADED,
    "Judged@3": GRADED,
    "RBP(p=0.001)": GRADED,
    "alpha-nDCG@3": GRADED,
    "NRBP(beta=0.001)": GRADED,
    "Facet-Recall@2": FACETS,
    "Facet-alpha-nDCG@2": FACETS,
    "Facet-alpha-nDCG(alpha=1.0)@2": FACETS,
    "Redundancy@2": (FACETS[0], ["a", "c"], ["c", "a"]),
    "Complementarity@2": (FACETS[0], ["a", "b"], ["b", "c"]),
    "V-measure": GROUPS,
    "V-measure(beta=2.0)": GROUPS,
    "ARI": GROUPS,
    "AMI": GROUPS,
    "Pearson": NUMBERS,
    "Spearman": NUMBERS,
    "PairAP": PAIRS,
    "Accuracy": CHOICES,
    "Precision": CHOICES,
    "Recall": CHOICES,
    "F1": CHOICES,
    "F1(positive=0)": CHOICES,
}
FACTS = {"direction", "range", "needs", "undefined", "source"}


def value(measure: Measure, right: Any, answer: Any) -> float:
    """Measures of choices take the answer first, as their function does."""
    needs = dict(entry(measure).facts)["needs"]
    if "predicted" in needs:
        return measure(answer, right)
    # All of one source, or NRBP would ask for all sources at once.
    return measure(right, answer, None, len) if "sources" in needs else measure(right, answer)


def entry(measure: Measure) -> Any:
    return MEASURES.get(measure.spec.name)


@pytest.mark.parametrize("text", TABLE)
def test_text_and_measure_are_inverse(text: str) -> None:
    """The text of a measure reads back as an equal one, and equality follows the text."""
    measure = MEASURES.build(text)
    assert str(measure) == text
    assert MEASURES.build(str(measure)) == measure
    assert hash(MEASURES.build(text)) == hash(measure)
    assert MEASURES.format(MEASURES.parse_spec(text)) == text


def test_defaults_are_left_out_of_the_text() -> None:
    """Writing a default out names the same measure."""
    assert str(MEASURES.build("nDCG(gain='linear')@10")) == "nDCG@10"
    assert MEASURES.build("V-measure(beta=1)") == MEASURES.build("V-measure")


def test_every_measure_is_in_the_table_and_tells_its_facts() -> None:
    """A new measure is tested on arrival and documented in `embassay list measures`."""
    assert {one.name for one in MEASURES} == {MEASURES.parse_spec(text).name for text in TABLE}
    for one in MEASURES:
        facts = dict(one.facts)
        assert set(facts) == FACTS, one.name
        assert all(facts.values()), one.name
        assert facts["direction"] in ("higher", "lower")
        low, high = ast.literal_eval(facts["range"])
        assert low < high
        assert one.summary.endswith(".")


@pytest.mark.parametrize("text", TABLE)
def test_perfect_is_best_and_worse_is_within_bounds(text: str) -> None:
    """A perfect answer reaches the good end of the range, a worse one does not; nothing is changed."""
    measure = MEASURES.build(text)
    right, perfect, worse = TABLE[text]
    before = copy.deepcopy(TABLE[text])
    facts = dict(entry(measure).facts)
    low, high = ast.literal_eval(facts["range"])
    # Of n documents that share nothing the largest has an n-th: the end is never reached.
    best = 0.5 if measure.spec.name == "Complementarity" else high if facts["direction"] == "higher" else low
    assert value(measure, right, perfect) == pytest.approx(best)
    assert low <= value(measure, right, worse) <= high
    assert value(measure, right, worse) != pytest.approx(best)
    assert value(measure, right, worse) == value(measure, right, worse)
    assert TABLE[text] == before


def test_every_measure_has_its_row_in_the_documentation() -> None:
    """The reference says of each measure what the registry says; the page about measures names each kind."""
    page = Path(__file__).parents[2] / "docs" / "reference" / "measures.md"
    lines = page.read_text(encoding="utf-8").replace("\\", "").splitlines()
    rows = {name: line for line in lines if line.startswith("| [`") for name in line.split(" | ")[0].split("`")[1::2]}
    for one in MEASURES:
        facts = dict(one.facts)
        low, high = ast.literal_eval(facts["range"])
        for cell in (f"{low:g} to {high:g}", facts["direction"], facts["undefined"]):
            assert f"| {cell} |" in rows[one.name], one.name


def test_a_ranking_measure_takes_one_query_or_many() -> None:
    """As its public function does."""
    measure = MEASURES.build("RR@10")
    assert measure({"a": 1}, ["x", "a"]) == 0.5
    assert measure({"q": {"a": 1}}, {"q": ["x", "a"]}).tolist() == [0.5]


def test_evaluate_answers_as_asked() -> None:
    """Values under the names given, equal to those of each measure on its own."""
    qrels = {"q1": {"a": 2, "b": 1}, "q2": {"c": 0}}
    runs = {"q1": {"b": 0.4, "a": 0.4, "z": 0.9}}
    names = ["nDCG(gain='linear')@10", "AP@100"]
    answers = evaluate([*names, MEASURES.build("P@2")], qrels, runs)
    assert list(answers) == [*names, "P@2"]
    for name in answers:
        assert np.array_equal(answers[name], MEASURES.build(name)(qrels, runs), equal_nan=True)


def test_measures_travel() -> None:
    """A measure can be sent to another process."""
    measure = MEASURES.build("nDCG@10")
    assert pickle.loads(pickle.dumps(measure))({"a": 1}, ["a"]) == 1.0
    assert isinstance(measure, RankingMeasure)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nDGC@10", "Did you mean nDCG"),
        ("P", "needs a cutoff. Write P@10"),
        ("P@0", "cutoff is 0"),
        ("ARI@10", "ARI"),
        ("nDCG(k=10)", "no parameter 'k'"),
        ("V-measure(beta='much')", "beta as float"),
    ],
)
def test_misspelt_measures_are_refused(text: str, message: str) -> None:
    """With what was wrong and the nearest right spelling."""
    with pytest.raises(UsageError, match=message):
        MEASURES.build(text)


def test_a_cutoff_that_could_never_be_given_is_refused() -> None:
    """Before the star nothing after the at sign would reach it."""

    def last(judged: Judged, cutoff: int | None = None) -> float:
        return float(judged.queries)

    facts = dict.fromkeys(("range", "needs", "undefined", "source"), "none")
    with pytest.raises(UsageError, match="keyword-only") as caught:
        measure("LastOfAll", direction="higher", **facts)(last)
    assert "def last(judged, *, cutoff" in caught.value.mend
    assert "LastOfAll" not in MEASURES


def test_arguments_in_another_order_are_named() -> None:
    """Not an attribute that a list does not have."""
    with pytest.raises(UsageError, match="found dict, dict and list"):
        evaluate({"q": {"a": 1}}, {"q": ["a"]}, ["nDCG@10"])  # type: ignore[arg-type]


def test_only_measures_of_rankings_are_evaluated_on_rankings() -> None:
    """The others need other data."""
    with pytest.raises(UsageError, match="ARI is not a measure of rankings"):
        evaluate(["ARI"], {}, {})
