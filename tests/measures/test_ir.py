"""Our measures inside ir_measures, and those of others through it."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import ir_measures
import numpy as np
import pytest
from ir_measures import NRBP, Qrel, ScoredDoc, alpha_nDCG, nDCG

import embassay.measures.ir as joined
from embassay.errors import ModelError, UsageError
from embassay.measures import MEASURES, alpha_ndcg, evaluate_graded, grade, nrbp, ra_nwg_novelty

# ir_measures 0.4.3 reads numbers with classes that Python 3.12 warns of.
pytestmark = pytest.mark.filterwarnings("ignore:ast:DeprecationWarning", "ignore:Attribute:DeprecationWarning")

BOTH = {
    "RAnWG(alpha=1)@10": "RA-nWG@10",
    "RAnWG(alpha=0.5,cap3=0.33,unjudged='condense')@5": "RA-nWG(alpha=0.5, cap3=0.33, unjudged='condense')@5",
    "NRecall(rel=4)@10": "N-Recall4+@10",
    "NRecall(rel=5)@10": "N-Recall5@10",
    "Precision4@10": "Precision4+@10",
    "Harm(rel=2)@10": "Harm@10",
    "Hit@10": "Hit@10",
    "PROC@10": "PROC@10",
    "PROC(of='N-Recall4+')@10": "PROC(of='N-Recall4+')@10",
}


@pytest.fixture(scope="module")
def collection() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """40 queries; some without a good document, one that was not answered."""
    rng = np.random.default_rng(3)
    ids = [f"d{i}" for i in range(30)]
    grades = {f"q{i}": dict(zip(ids, rng.integers(1, 4 + i % 3, 20).tolist(), strict=False)) for i in range(40)}
    runs = {q: dict(zip(rng.permutation(ids).tolist(), rng.random(30).tolist(), strict=True)) for q in grades}
    del runs["q7"]
    return grades, runs


def parsed(text: str) -> Any:
    if sys.version_info >= (3, 14):
        pytest.skip("ir_measures 0.4.3 cannot read numbers there")
    return ir_measures.parse_measure(text)


def records(qrels: dict[str, dict[str, int]], runs: dict[str, dict[str, float]]) -> tuple[list[Any], list[Any]]:
    return (
        [Qrel(q, d, g) for q, grades in qrels.items() for d, g in grades.items()],
        [ScoredDoc(q, d, s) for q, run in runs.items() for d, s in run.items()],
    )


@pytest.mark.parametrize(("theirs", "ours"), BOTH.items())
@pytest.mark.parametrize("form", ["mappings", "records"])
def test_ir_measures_computes_ours(theirs: str, ours: str, form: str, collection: Any) -> None:
    """Equal to ours query by query, NaN where undefined; the aggregate is the mean over the others."""
    measure = parsed(theirs)
    given = collection if form == "mappings" else records(*collection)
    expected = dict(zip(collection[0], evaluate_graded([ours], grade(*collection))[ours].tolist(), strict=True))
    found = {one.query_id: one.value for one in ir_measures.iter_calc([measure], *given)}
    assert found == {query: pytest.approx(value, nan_ok=True) for query, value in expected.items()}
    known = [value for value in expected.values() if not math.isnan(value)]
    assert ir_measures.calc_aggregate([measure], *given)[measure] == pytest.approx(np.mean(known))


def test_ours_and_theirs_together(collection: Any) -> None:
    """One call for both; names print in ir_measures' grammar and read back."""
    ours = parsed("RAnWG(alpha=0.5)@10")
    assert str(ours) == "RAnWG(alpha=0.5)@10"
    assert parsed(str(ours)) == ours
    assert str(parsed("RAnWG(alpha=1)@10")) == "RAnWG@10"
    results = ir_measures.calc_aggregate([ours, nDCG @ 10], *collection)
    assert 0 < results[ours] < 1
    assert 0 < results[nDCG @ 10] < 1


def test_the_source_is_the_iteration() -> None:
    """The novelty variant takes it from the judgements; documents without a grade repeat nothing."""
    qrels = [Qrel("q", "a", 5, "s1"), Qrel("q", "b", 5, "s1"), Qrel("q", "c", 4, "s2")]
    run = [ScoredDoc("q", one, -float(i)) for i, one in enumerate(["u", "a", "b", "v"])]
    measure = parsed("RAnWGNovelty(beta=0.25)@10")
    sources = {"a": 1, "b": 1, "c": 2, "u": 3, "v": 4}
    expected = ra_nwg_novelty({"a": 5, "b": 5, "c": 4}, ["u", "a", "b", "v"], 10, sources, beta=0.25)
    assert measure.calc_aggregate(qrels, run) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: parsed("RAnWG@10").calc_aggregate({"q": {"a": 0}}, {}), "must be 1, 2, 3, 4 or 5"),
        (lambda: parsed("Harm(rel=6)@10").calc_aggregate({"q": {"a": 1}}, {}), "rel is 6"),
    ],
)
def test_what_is_no_grade_is_refused(call: Any, message: str) -> None:
    """In our words."""
    with pytest.raises(UsageError, match=message):
        call()


def test_wrong_parameters_are_refused_by_ir_measures() -> None:
    """As those of its own measures: it knows what ours take."""
    for text in ("RAnWG(gamma=1)@10", "RAnWG(unjudged='no')@10", "RAnWG", "Harm(rel='x')@10"):
        with pytest.raises((AssertionError, ValueError)):
            list(parsed(text).iter_calc({"q": {"a": 1}}, {"q": {"a": 1.0}}))


def test_joining_twice_changes_nothing() -> None:
    """One provider, whatever else imports the module, and its measures by name."""
    assert {one.NAME for one in joined.DECLARED} <= ir_measures.measures.registry.keys()
    assert joined.RAnWG(alpha=0.5) @ 10 == parsed("RAnWG(alpha=0.5)@10")
    assert sum(one.NAME == "embassay" for one in ir_measures.DefaultPipeline.providers) == 1


def test_measures_of_others_are_theirs(collection: Any) -> None:
    """alpha-nDCG and NRBP on our records equal ir_measures on its own, and are undefined without a good one."""
    grades, runs = collection
    sources = {f"d{i}": i % 4 for i in range(30)}
    names = ["alpha-nDCG@10", "alpha_nDCG(alpha=0.2)@5", "NRBP(beta=0.8)"]
    ours = evaluate_graded(names, grade(grades, runs, source=sources))
    measures = [alpha_nDCG(rel=4) @ 10, alpha_nDCG(rel=4, alpha=0.2) @ 5, NRBP(rel=4, beta=0.8)]
    qrels = [Qrel(q, d, g, str(sources[d])) for q, each in grades.items() for d, g in each.items()]
    for name, measure in zip(names, measures, strict=True):
        theirs = {one.query_id: one.value for one in ir_measures.iter_calc([measure], qrels, records(*collection)[1])}
        for query, value in zip(grades, ours[name].tolist(), strict=True):
            if max(grades[query].values()) >= measure["rel"]:
                assert value == pytest.approx(theirs[query], abs=1e-9), (name, query)
            else:
                assert math.isnan(value)


def test_measures_of_others_as_functions() -> None:
    """Two of one source in a row."""
    grades = {"a": 5, "b": 4, "c": 1}
    assert alpha_ndcg(grades, ["a", "b"], 10, source=str) == pytest.approx(1)
    assert alpha_ndcg({"a": 5, "b": 5, "c": 5}, ["a", "b", "c"], 10, {"a": 1, "b": 1, "c": 2}) < 1
    assert nrbp(grades, ["a"], source=str) > nrbp(grades, ["c", "a"], source=str) > 0
    with pytest.raises(UsageError, match="need the source of each document"):
        MEASURES.build("NRBP")(grades, ["a"])


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """ir_measures cannot be imported."""
    monkeypatch.setitem(sys.modules, "ir_measures", None)


@pytest.mark.usefixtures("without")
def test_without_ir_measures_the_mend_is_said() -> None:
    """The extra is named, by the functions and by the module that joins."""
    with pytest.raises(ModelError, match=r"pip install 'embassay\[ir\]'"):
        nrbp({"a": 5}, ["a"], source=str)


def test_without_a_program_the_mend_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """ir_measures is there, what it would ask is not."""
    monkeypatch.setattr(ir_measures.providers.registry["pyndeval"], "_is_available", False)
    with pytest.raises(ModelError, match="no installed provider for NRBP"):
        nrbp({"a": 5}, ["a"], source=str)


@pytest.mark.slow
def test_the_module_without_ir_measures() -> None:
    """Importing it says what is missing, in one line and its mend; the other measures do without."""
    code = (
        "import sys; sys.modules['ir_measures'] = None; import embassay.measures\n"
        "try:\n    import embassay.measures.ir\nexcept Exception as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ModelError")
    assert "pip install 'embassay[ir]'" in done.stdout
