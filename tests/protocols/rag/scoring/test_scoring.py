"""A scoring's values are those of the measures themselves, of trec_eval, and of sums done by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import pytrec_eval

import embassay as eb
from embassay import measures
from embassay.data import open_dataset
from embassay.errors import DataError, UsageError
from stub.ranked import Qrels, Run, qrels, run

ROOT = Path(__file__).parents[4]
DATA = ROOT / ".." / "shared" / "data"

TREC = {
    "nDCG": "ndcg", "nDCG@10": "ndcg_cut_10", "AP": "map", "AP@10": "map_cut_10", "RR": "recip_rank",
    "R@10": "recall_10", "P@10": "P_10",
}  # fmt: skip
FAST = {"resamples": 200}


def by_query(scoring: eb.rag.Scoring, run: str, measure: str) -> dict[str, float | None]:
    """The values of a run by query."""
    frame = scoring.per_query.filter(pl.col("run") == run, pl.col("measure") == measure)
    return dict(zip(frame["query_id"], frame["value"], strict=True))


def assert_as_trec_eval(scoring: eb.rag.Scoring, name: str, judged: Qrels, retrieved: Run) -> None:
    """Classic measures of a run equal pytrec-eval's with gain = grade - 1 and relevant from grade 4 on, query by query;
    where no document is relevant, ours is undefined."""
    gains = {query: {doc: grade - 1 for doc, grade in docs.items()} for query, docs in judged.items()}
    wanted = {one.replace("_cut_", "_cut.").replace("recall_", "recall.").replace("P_", "P.") for one in TREC.values()}
    theirs = pytrec_eval.RelevanceEvaluator(gains, wanted, relevance_level=3).evaluate(retrieved)
    for ours, their in TREC.items():
        least = 2 if ours.startswith("nDCG") else 4
        for query, value in by_query(scoring, name, ours).items():
            if any(grade >= least for grade in judged[query].values()):
                assert value == pytest.approx(theirs.get(query, {}).get(their, 0.0), abs=1e-12), (ours, query)
            else:
                assert value is None


@pytest.mark.parametrize("levels", [None, 2])
def test_classic_measures_are_those_of_trec_eval(levels: int | None) -> None:
    """Also where many scores are equal, and the order of ids decides."""
    judged = qrels()
    retrieved = run(judged, 1, levels=levels)
    found = eb.rag.score(judged, {"r": retrieved}, measures=list(TREC), **FAST)
    assert_as_trec_eval(found, "r", judged, retrieved)


SETS = ("RA-nWG@10", "N-Recall4+@10", "N-Recall5@5", "Precision4+@10", "Harm@10", "Hit@30", "PROC@10", "Judged@10")


def test_set_measures_are_those_of_the_measures() -> None:
    """The columnar way gives what `grade` and the measures give on mappings."""
    judged = qrels()
    runs = {name: run(judged, seed, levels=3) for seed, name in enumerate("ab")}
    found = eb.rag.score(judged, runs, measures=SETS, **FAST)
    for name, retrieved in runs.items():
        expected = measures.evaluate_graded(SETS, measures.grade(judged, retrieved))
        for measure, values in expected.items():
            mine = [np.nan if value is None else value for value in by_query(found, name, measure).values()]
            np.testing.assert_array_equal(mine, values)


def test_pools() -> None:
    """PROC is about the pool that is given: one for all runs, or one per run in order."""
    judged = qrels()
    runs = {name: run(judged, seed) for seed, name in enumerate("ab")}
    pools = [run(judged, seed, depth=45) for seed in (7, 8)]
    for given in (pools[:1], pools):
        found = eb.rag.score(judged, runs, pools=given, measures=["PROC@10"], **FAST)
        for i, (name, retrieved) in enumerate(runs.items()):
            graded = measures.grade(judged, retrieved, given[min(i, len(given) - 1)])
            values = measures.evaluate_graded(["PROC@10"], graded)["PROC@10"]
            mine = [np.nan if value is None else value for value in by_query(found, name, "PROC@10").values()]
            np.testing.assert_array_equal(mine, values)


def test_percent_proc_is_the_ratio_of_means() -> None:
    """Over the queries where both are defined; a ceiling of 0 counts in the means, not by itself."""
    judged = qrels()
    retrieved = run(judged, 1)
    names = ["%PROC@10", "%PROC_NR4@10", "%PROC(of='Precision4+')@5"]
    found = eb.rag.score(judged, {"r": retrieved}, measures=names, **FAST)
    graded = measures.grade(judged, retrieved)
    pairs = {
        "%PROC@10": ("RA-nWG@10", "PROC@10"),
        "%PROC_NR4@10": ("N-Recall4+@10", "PROC_NR4@10"),
        "%PROC(of='Precision4+')@5": ("Precision4+@5", "PROC_P4@5"),
    }
    for name, pair in pairs.items():
        reached, ceiling = measures.evaluate_graded(pair, graded).values()
        both = ~np.isnan(reached) & ~np.isnan(ceiling)
        value = found.record.value("r", name)
        assert value is not None
        assert value.value == pytest.approx(reached[both].sum() / ceiling[both].sum(), abs=1e-12)
        assert value.n == both.sum()


def test_percent_proc_as_a_mean_of_ratios() -> None:
    """The option of the specification: every query's own ratio, where its ceiling is above 0."""
    judged = qrels()
    retrieved = run(judged, 1)
    name = "%PROC(per_query_mean=True)@10"
    value = eb.rag.score(judged, {"r": retrieved}, measures=[name], **FAST).record.value("r", name)
    reached, ceiling = measures.evaluate_graded(["RA-nWG@10", "PROC@10"], measures.grade(judged, retrieved)).values()
    expected = measures.percent_proc(reached, ceiling, per_query_mean=True)
    assert value is not None
    assert (value.value, value.n) == (pytest.approx(expected.share, abs=1e-12), expected.n_valid)


def test_worked_example_of_the_specification() -> None:
    """Row A of spec rag 2: pool 2,4,10,14,20 and 5 4 4 4 3 3 3 3 2 2 retrieved."""
    pool = [5] * 2 + [4] * 4 + [3] * 10 + [2] * 14 + [1] * 20
    grades = {f"d{i:02}": grade for i, grade in enumerate(pool)}
    top = ["d00", "d02", "d03", "d04", "d06", "d07", "d08", "d09", "d16", "d17"]
    names = ["RA-nWG@10", "N-Recall4+@10", "N-Recall5@10", "Precision4+@10", "Harm@10", "Hit@10", "RA-nWG@20"]
    found = eb.rag.score({"q": grades}, {"r": {"q": top}}, measures=names, **FAST)
    expected = [0.594156, 0.666667, 0.5, 0.4, 0.2, 0, 0.571875]
    assert found.values["value"].to_list() == pytest.approx(expected, abs=1e-6)


def test_a_query_that_a_run_lacks_has_retrieved_nothing() -> None:
    """It counts in every mean, and is counted; queries without judgements are left out, and counted."""
    judged = {"q1": {"a": 5, "b": 1}, "q2": {"a": 5}}
    found = eb.rag.score(judged, {"r": {"q1": ["a"], "other": ["a"]}}, measures=["N-Recall4+@5", "Harm@2"], **FAST)
    assert found.values["value"].to_list() == [0.5, 0.0]
    facts = found.record.runs[0]
    assert (facts.missing, facts.unknown, facts.queries) == (1, 1, 1)
    notes = {note.kind: note.text for note in found.record.notes}
    assert "r lacks 1 of 2 judged queries: each counts as an empty result." in notes["missing"]
    assert "1 query without judgements" in notes["unknown"]


def test_judgements_of_one_grade_are_said() -> None:
    """No order is better than another then, and a score of 1 means nothing."""
    found = eb.rag.score({"q": {"a": 4, "b": 4}}, {"r": {"q": ["a"]}}, measures=["R@2"], **FAST)
    notes = {note.kind: note for note in found.record.notes}
    assert notes["one grade"].count == 4


def test_a_document_named_again_counts_once() -> None:
    """Where it is ranked best; it is counted."""
    frame = pl.DataFrame({"query_id": ["q"] * 4, "doc_id": ["x", "a", "x", "b"], "score": [4.0, 3.0, 2.0, 1.0]})
    found = eb.rag.score({"q": {"a": 5, "b": 4}}, {"r": frame}, measures=["R@2", "R@3"], **FAST)
    assert found.values["value"].to_list() == [0.5, 1.0]
    assert found.record.runs[0].repeated == 1
    assert any(note.kind == "repeated" and note.count == 1 for note in found.record.notes)


@pytest.mark.parametrize(
    ("unjudged", "precision", "harm", "judged"),
    [("zero", 0.5, 0.0, 0.5), ("grade1", 0.5, 0.5, 0.5), ("condense", 0.5, 0.5, 0.5)],
)
def test_unjudged_documents(unjudged: str, precision: float, harm: float, judged: float) -> None:
    """Worth nothing, of grade 1, or taken out before the cut; Judged tells of them in any case."""
    found = eb.rag.score(
        {"q": {"a": 5, "b": 1}}, {"r": {"q": ["a", "x", "b"]}}, unjudged=unjudged,
        measures=["Precision4+@2", "Harm@2", "Judged@2"], **FAST,
    )  # fmt: skip
    assert found.values["value"].to_list() == [precision, harm, judged]


def test_unjudged_documents_as_an_error() -> None:
    """It names the query and rank."""
    with pytest.raises(DataError, match="rank 2 of query 'q'"):
        eb.rag.score({"q": {"a": 5}}, {"r": {"q": ["a", "x"]}}, unjudged="error", **FAST)


def test_answers() -> None:
    """Acc|Hit is the mean correctness where all evidence was found, with its count."""
    judged = {f"q{i}": {"a": 5, "b": 4} for i in range(4)}
    retrieved = {"q0": ["a", "b"], "q1": ["b", "a"], "q2": ["a"], "q3": ["a", "b"]}
    answers = {"q0": 1.0, "q1": 0.5, "q2": 1.0}
    found = eb.rag.score(judged, {"r": retrieved}, answers=answers, measures=["Hit@2"], cutoffs=[2], **FAST)
    value = found.record.value("r", "Acc|Hit@2")
    assert value is not None
    assert (value.value, value.n, value.total) == (0.75, 2, 4)
    assert any("covers 2 queries with all evidence found and an answer" in note.text for note in found.record.notes)
    with pytest.raises(UsageError, match=r"Acc\|Hit needs the answers"):
        eb.rag.score(judged, {"r": retrieved}, measures=["Acc|Hit@2"], **FAST)
    with pytest.raises(DataError, match="no answer belongs to a judged query"):
        eb.rag.score(judged, {"r": retrieved}, answers={"x": 1.0}, **FAST)


def test_measures_by_name() -> None:
    """Names are kept as given; one without a cutoff is taken at each, if it needs one; unknown ones are said."""
    judged = qrels(5)
    found = eb.rag.score(
        judged, {"r": run(judged, 1)}, measures=["RAnWG(alpha=0.5)", "AP", "P@5"], cutoffs=[3, 7], **FAST
    )
    assert found.values["measure"].to_list() == ["RAnWG(alpha=0.5)@3", "RAnWG(alpha=0.5)@7", "AP", "P@5"]
    for name, words in {"RA-nGW@10": "RA-nWG", "V-measure": "not a ranking measure", "%nDCG@10": "%nDCG@10"}.items():
        with pytest.raises(UsageError, match=words):
            eb.rag.score(judged, {"r": run(judged, 1)}, measures=[name], **FAST)


def test_an_undefined_measure_says_why() -> None:
    """No value, a reason, and a verdict that says so."""
    found = eb.rag.score({"q": {"a": 2, "b": 1}}, {"r": {"q": ["a"]}}, measures=["RA-nWG@10", "Harm@1"], **FAST)
    value = found.record.value("r", "RA-nWG@10")
    assert value is not None
    assert (value.value, value.n) == (None, 0)
    assert value.reason.startswith("all graded documents have zero weight")
    assert found.verdict == "RA-nWG@10 is undefined on these judgements"
    assert found.per_query["reason"].to_list() == ["all graded documents have zero weight", ""]


def test_same_seed_same_numbers() -> None:
    """The record is a function of the inputs and the seed."""
    judged = qrels(12)
    runs = {name: run(judged, seed) for seed, name in enumerate("ab")}
    one, again, other = (eb.rag.score(judged, runs, seed=seed, **FAST).record for seed in (3, 3, 4))
    assert one == again
    assert one.values != other.values


@pytest.mark.shared
@pytest.mark.skipif(not DATA.is_dir(), reason="the development datasets are not beside the checkout")
def test_cranfield(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Cranfield's grades by the spec's map: as trec_eval on gains 5 - code, and 222 of 225 queries have a pool."""
    monkeypatch.setenv("EMBASSAY_DATA", str(DATA))
    data = open_dataset(str(ROOT / "benchmarks" / "datasets" / "cranfield.yaml")).load("retrieval").data
    rng = np.random.default_rng(0)
    retrieved = {
        query: {
            doc: float(rng.normal() + data.qrels.get(query, {}).get(doc, 0)) for doc in rng.choice(data.corpus.ids, 100)
        }
        for query in data.queries.ids
    }
    found = eb.rag.score(
        DATA / "retrieval" / "cranfield" / "qrels.jsonl.gz", {"r": retrieved}, grades="cranfield",
        mapping={"relevance": "code"}, measures=[*TREC, "RA-nWG@10"], **FAST,
    )  # fmt: skip
    assert found.record.judgements.dropped == 225
    assert len(found.per_query["query_id"].unique()) == 225
    judged = {query: {doc: int(gain) + 1 for doc, gain in gains.items()} for query, gains in data.qrels.items()}
    assert_as_trec_eval(found, "r", judged, retrieved)
    value = found.record.value("r", "RA-nWG@10")
    assert value is not None
    assert value.n == 222


def test_queries_that_find_themselves_first_are_told_of() -> None:
    """Where that document is not judged relevant, and in more than a few queries."""
    judged = {"a": {"a": 1, "b": 4}, "b": {"c": 4}, "c": {"c": 5, "a": 1}}
    first = {"a": ["a", "b"], "b": ["b", "c"], "c": ["c", "a"]}
    behind = {"a": ["b", "a"], "b": ["c", "b"], "c": ["c", "a"]}
    found = eb.rag.score(judged, {"first": first, "behind": behind}, measures=["RR"], **FAST)
    told = [(one.run, one.count) for one in found.record.notes if one.kind == "own document first"]
    assert told == [("first", 2)]


def test_own_documents_are_left_out_of_runs_pools_and_judgements() -> None:
    """A query by example finds itself first; without it the scores are those of lists that never held it."""
    judged = {"a": {"a": 5, "b": 4, "c": 1}, "b": {"a": 4, "c": 2}}
    with_self = {"a": ["a", "c", "b"], "b": ["b", "a", "c"]}
    without = {"a": ["c", "b"], "b": ["a", "c"]}
    measures = ["nDCG@2", "P@1", "R@2", "PROC(of='RA-nWG')@2"]
    bare = {"a": {"b": 4, "c": 1}, "b": judged["b"]}
    expected = eb.rag.score(bare, {"r": without}, measures=measures, **FAST)
    found = eb.rag.score(judged, {"r": with_self}, measures=measures, exclude_self=True, **FAST)
    assert found.per_query.equals(expected.per_query)
    assert [(one.run, one.count) for one in found.record.notes if one.kind == "own document"] == [("r", 2)]
    kept = eb.rag.score(judged, {"r": with_self}, measures=["nDCG@2"], **FAST)
    assert kept.values["value"].item() != found.values["value"][0]
    with pytest.raises(DataError, match="query's own document"):
        eb.rag.score({"a": {"a": 5}}, {"r": {"a": ["a"]}}, exclude_self=True, **FAST)
