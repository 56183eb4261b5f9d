"""What is asked for, and judgements through grade maps: every value that does not fit is said, with a map that does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import embassay as eb
from embassay.data.judged_runs import read_qrels_entries
from embassay.data.retrieval import grade_map, suggest_grade_map
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.scoring.inputs import (
    count_documents_by_grade,
    map_judgement_grades,
    parse_named_path,
    read_answer_correctness_file,
    read_scoring_inputs,
    strip_format_endings,
)
from embassay.protocols.rag.scoring.options import ScoreRequest


def qrels_file(folder: Path, *values: object) -> Path:
    path = folder / "qrels.trec"
    path.write_text("".join(f"q{i % 3} 0 d{i} {value}\n" for i, value in enumerate(values)))
    return path


@pytest.mark.parametrize(
    ("values", "grades", "counts"),
    [
        ((1, 2, 3, 4, 5, 5), None, (1, 1, 1, 1, 2)),
        ((1, 0, 1, "1.0"), "binary", (1, 0, 0, 0, 3)),
        ((3, 2, 1, 0), "trec3", (1, 0, 1, 1, 1)),
        ((1, 2, 3, 4, -1), "cranfield", (0, 1, 1, 1, 1)),
        ((0, 10, 20), "0=1,10=4,20=5", (1, 0, 0, 1, 1)),
        ((1, 1), "identity", (2, 0, 0, 0, 0)),
    ],
)
def test_grade_maps(tmp_path: Path, values: tuple[object, ...], grades: str | None, counts: tuple[int, ...]) -> None:
    """Values of the file become grades from 1 to 5; what a map drops is counted."""
    found = map_judgement_grades(read_qrels_entries(qrels_file(tmp_path, *values)), grades)
    assert count_documents_by_grade(found.frame["grade"].to_numpy()) == counts
    assert found.dropped == len(values) - sum(counts)


@pytest.mark.parametrize(
    ("values", "grades", "says"),
    [
        ((1, 0), None, r":2: the judgement is not in the grades 1 to 5 .*found 0.*--grades binary"),
        ((1, 2, 0, 3), None, r":3: .*--grades trec3"),
        ((1, 2, 3, -1), None, r":4: .*found -1.*If 1 is the best value.*--grades cranfield"),
        ((1, 2), "binary", r":2: the judgement is not in the grade map binary .*0, 1; found 2.*No predefined map"),
        ((10, 20, 30), None, r":1: .*found 10.*No predefined map"),
        ((-2, 0, 1, 2, 3), None, r":1: .*--grades -2=1,0=1,1=2,2=3,3=4"),
        ((1, 1, 1), None, r":1: every judgement is 1.*--grades binary"),
        ((-1, -1), "cranfield", r"the grade map drops every judgement"),
        ((0.5, 1), "binary", r":1: .*found 0.5"),
    ],
)
def test_values_outside_the_map(tmp_path: Path, values: tuple[object, ...], grades: str | None, says: str) -> None:
    """The first line with such a value, and a map that fits all of them."""
    with pytest.raises(DataError, match=f"qrels.trec.*{says}"):
        map_judgement_grades(read_qrels_entries(qrels_file(tmp_path, *values)), grades)


@pytest.mark.parametrize(
    ("values", "gains"),
    [
        ([0, 1], [0, 4]),
        ([-1, 0, 1], [0, 0, 4]),
        ([-2, 0, 1, 2, 3], [0, 0, 1, 2, 3]),
        ([-2, 0, 1, 2, 3, 4], [0, 0, 1, 2, 3, 4]),
        ([-1, 0, 1, 2], [0, 0, 2, 4]),
        ([0, 0.5, 1], [0, 2, 4]),
        ([0, 25, 50, 100], [0, 1, 2, 4]),
        ([0, 1 / 3, 2 / 3, 1], [0, 1, 2, 3]),
        ([-1, 1], [0, 4]),
        ([-3, -2], [0, 0]),
    ],
)
def test_a_fitting_map_keeps_what_is_not_relevant(values: list[float], gains: list[int]) -> None:
    """All that is 0 or less has grade 1, which gains nothing; the others gain as they are to one another, so that nDCG
    is pytrec_eval's on the file's own values."""
    grades = grade_map(suggest_grade_map(values))
    assert [(grades[value] or 0) - 1 for value in values] == gains


@pytest.mark.parametrize(
    "values", [[1], [3.5], [1, 2], [10, 20, 30], [0, 1, 2, 3, 4, 5], [0, 7, 9], [-1, 1, 2], [-1, 1, 2, 3, 4]]
)
def test_no_map_is_offered_where_none_is_sure(values: list[float]) -> None:
    """Without a value that is not relevant, with more values than grades, and where 1 may be the best or the least."""
    assert not suggest_grade_map(values)


@given(st.sets(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 100.0]), min_size=1))
def test_a_fitting_map_never_makes_relevant_what_is_not(values: set[float]) -> None:
    """Whatever the values: a map that is offered has them all, and rises where they do."""
    if offered := suggest_grade_map(values):
        grades = grade_map(offered)
        rising = [grades[value] for value in sorted(values) if value > 0]
        assert all(grades[value] == 1 for value in values if value <= 0)
        assert offered == "identity" or rising == sorted(set(rising), key=lambda grade: grade or 0)


def test_judged_twice(tmp_path: Path) -> None:
    """Alike it is counted and taken once, differently it is an error with its line."""
    path = tmp_path / "q.trec"
    path.write_text("q 0 a 5\nq 0 b 1\nq 0 a 5\n")
    found = map_judgement_grades(read_qrels_entries(path), None)
    assert (found.frame.rows(), found.repeated) == ([("q", "a", 5), ("q", "b", 1)], 1)
    path.write_text("q 0 a 5\nq 0 b 1\n\nq 0 a 4\n")
    with pytest.raises(
        DataError, match=r"q.trec:4: query 'q' and document 'a' have two different judgements.*expected 5.*found 4"
    ):
        map_judgement_grades(read_qrels_entries(path), None)


def test_runs_without_a_judged_query() -> None:
    """They do not belong together; an id of each says why."""
    with pytest.raises(DataError, match=r"no query of the run is judged \(expected .*'1'; found 'q1'\)"):
        eb.rag.score({"1": {"a": 5}}, {"r": {"q1": ["a"]}})


DOCS = [f"doc-{i:03}" for i in range(1, 13)]
JUDGED = {f"Q{i % 3}": {doc: 5 if k < 3 else 1 for k, doc in enumerate(DOCS) if k % 3 == i} for i in range(3)}


def run_of(rename: Callable[[str], str], query: Callable[[str], str] = str) -> dict[str, dict[str, float]]:
    """A run that finds all that is judged, under other ids."""
    return {query(q): {rename(doc): 20.0 - i for i, doc in enumerate(docs)} for q, docs in JUDGED.items()}


WRITTEN = {
    "upper case": str.upper,
    "no leading zeros": lambda doc: f"doc-{int(doc[-3:])}",
    "decimals": lambda doc: f"{doc}.0",
    "chunks": lambda doc: f"{doc}#4",
    "parts": lambda doc: f"{doc}_chunk_2",
    "a path": lambda doc: f"/srv/texts/{doc}",
    "a collection": lambda doc: f"msmarco_{doc}",
    "an ending": lambda doc: f"{doc}.md",
    "quotes": lambda doc: f"'{doc}'",
    "a namespace": lambda doc: f"id:ns:texts::{doc}",
    "the number alone": lambda doc: doc[-3:],
    "invisible signs": lambda doc: f"\u200b{doc}",
    "several": lambda doc: f"/srv/{doc.upper()}.txt",
}


CHUNKS = [WRITTEN["chunks"], WRITTEN["parts"]]


@pytest.mark.parametrize("rename", CHUNKS)
def test_chunks_of_judged_documents_are_not_judged(rename: Callable[[str], str]) -> None:
    """Where no run has the judgements' ids they score 0, and the first words say why, with ids of both sides."""
    found = eb.rag.score(JUDGED, {"bad": run_of(rename)}, measures=["RR"], resamples=50)
    assert found.values["value"].to_list() == [0.0]
    [note] = [note.text for note in found.record.notes if note.text.startswith("No document of bad is judged")]
    for name in (rename("doc-001"), "doc-001", "chunks"):
        assert name in note


@pytest.mark.parametrize("rename", WRITTEN.values(), ids=WRITTEN)
def test_ids_that_are_written_otherwise(rename: Callable[[str], str]) -> None:
    """They are refused with two ids that would match, beside a good run too: no run of them is beaten."""
    alone, beside = {"bad": run_of(rename)}, {"good": run_of(str), "bad": run_of(rename)}
    for runs in [beside] if rename in CHUNKS else [alone, beside]:
        with pytest.raises(DataError, match="no document of the run is judged") as caught:
            eb.rag.score(JUDGED, runs, measures=["RR"])
        assert repr(rename("doc-001")) in caught.value.mend
        assert repr("doc-001") in caught.value.mend


@pytest.mark.parametrize("rename", [str.casefold, lambda q: f"{q}.0", lambda q: f"000{q[1:]}"])
def test_queries_that_are_written_otherwise(rename: Callable[[str], str]) -> None:
    """None of them, or all but one."""
    for kept in ("", "Q0"):
        queries = {f"Q{i}": {"a": 5, "b": 1} for i in range(20)}
        run = {q if q == kept else rename(q): {"a": 2.0} for q in queries}
        with pytest.raises(DataError, match=r"quer(y|ies) of the run is judged") as caught:
            eb.rag.score(queries, {"bad": run}, measures=["RR"])
        assert "They match if" in caught.value.mend


def test_ids_of_other_passages() -> None:
    """A run of ten documents and more, none of them judged and none like one, is of other passages; one whose ids a
    good run has, or the corpus, finds nothing; where few are judged it is a word."""
    other = {q: {f"x{q}{i}y": 9.0 - i for i in range(5)} for q in JUDGED}
    with pytest.raises(DataError, match="no document of the run is judged"):
        eb.rag.score(JUDGED, {"good": run_of(str), "other": other}, measures=["RR"])
    shared = {q: {**docs, "xQ00y": 0.5} for q, docs in run_of(str).items()}
    found = eb.rag.score(JUDGED, {"good": shared, "other": other}, measures=["RR"], resamples=50)
    assert dict(found.values.select("run", "value").iter_rows()) == {"good": 1.0, "other": 0.0}
    few = eb.rag.score({"1": {"a": 5}}, {"r": {"1": list("bcdefghijk")}}, measures=["RR"])
    assert few.values["value"].to_list() == [0.0]
    assert any(note.text.startswith("No document of r is judged") for note in few.record.notes)


def test_ids_of_the_corpus_are_right(tmp_path: Path) -> None:
    """A run that finds nothing judged is scored where the corpus has its ids."""
    other = {q: {f"x{q}{i}y": 9.0 - i for i in range(5)} for q in JUDGED}
    corpus = tmp_path / "corpus.jsonl"
    ids = [*DOCS, *(doc for docs in other.values() for doc in docs)]
    corpus.write_text("".join(f'{{"id": "{name}", "text": "Text {name} of the hall."}}\n' for name in ids))
    found = eb.rag.score(JUDGED, {"other": other}, measures=["RR"], corpus=str(corpus), resamples=50)
    assert found.values["value"].to_list() == [0.0]


def test_some_ids_that_are_written_otherwise() -> None:
    """Numbers that lost their zeros where they had some: the run is scored, and it is said."""
    judged = {f"q{i}": {f"{i:02}": 5} for i in range(20)}
    run = {q: {str(int(doc)): 1.0 for doc in docs} for q, docs in judged.items()}
    found = eb.rag.score(judged, {"r": run}, measures=["RR"], resamples=50)
    assert found.values["value"].to_list() == [0.5]
    assert any("would have one if ids were written the same way" in note.text for note in found.record.notes)


def test_a_run_that_broke_off_is_not_tested() -> None:
    """One that answers under a fifth of the judged queries has no value, and nobody beats it."""
    judged = {f"q{i}": {f"d{i}": 5, f"e{i}": 1} for i in range(12)}
    good = {q: {doc: float(grade) for doc, grade in docs.items()} for q, docs in judged.items()}
    broken = {q: good[q] for q in ("q0", "q1")}
    found = eb.rag.score(judged, {"good": good, "broken": broken}, measures=["RR"], resamples=200)
    assert dict(found.values.select("run", "value").iter_rows()) == {"good": 1.0, "broken": None}
    assert not found.record.comparisons[0].pairs
    assert all("broken" not in reading.run for reading in found.record.readings)
    alone = eb.rag.score(judged, {"broken": broken}, measures=["RR"], resamples=50, sensitivity=True)
    assert alone.verdict == "RR is not tested"
    fifth = eb.rag.score(judged, {"r": {q: good[q] for q in ("q0", "q1", "q2")}}, measures=["RR"])
    assert fifth.values["value"].to_list() == [0.25]


def test_names_of_runs(tmp_path: Path) -> None:
    """A run is called as its file, with its folder where two files have one name, or as it is told."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "bm25.trec.gz").write_text("q Q0 d 1 1 t\n")
    (tmp_path / "q").write_text("q 0 d 5\n")
    files = tuple(str(tmp_path / folder / "bm25.trec.gz") for folder in ("a", "b"))

    def names(*runs: str) -> list[str]:
        return list(read_scoring_inputs(ScoreRequest(str(tmp_path / "q"), runs)).runs)

    assert names(*files) == ["a/bm25", "b/bm25"]
    assert names(f"mine={files[0]}", files[1]) == ["mine", "bm25"]
    with pytest.raises(UsageError, match="Two runs are called 'a/bm25'"):
        names(files[0], files[0])
    assert strip_format_endings("run.jsonl.gz") == "run"
    assert parse_named_path("a=b")[0] == "a"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"runs": ()}, "no run to score"),
        ({"runs": ("a", "b", "c"), "pools": ("p", "q")}, "2 pools for 3 runs"),
        ({"runs": ("a",), "unjudged": "none"}, "zero, grade1, condense, error"),
        ({"runs": ("a",), "test": "t"}, "bootstrap, randomization"),
        ({"runs": ("a",), "resamples": 0}, "must be 1 or more"),
        ({"runs": ("a",), "cutoffs": (0,)}, "must be 1 or more"),
        ({"runs": ("a",), "mapping": {"relevence": "code"}}, "relevance"),
    ],
)
def test_requests_that_mean_nothing(arguments: dict[str, object], words: str) -> None:
    """Said before anything is read."""
    with pytest.raises(UsageError, match=words):
        ScoreRequest("q", **arguments)  # type: ignore[arg-type]


def test_python_takes_what_it_says(tmp_path: Path) -> None:
    """Paths, mappings and frames, one run or several."""
    (tmp_path / "q.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t5\n")
    (tmp_path / "r.trec").write_text("q Q0 a 1 1 t\n")
    one = eb.rag.score(tmp_path / "q.tsv", tmp_path / "r.trec", measures=["R@1"], resamples=50)
    several = [tmp_path / "r.trec", f"x={tmp_path / 'r.trec'}"]
    two = eb.rag.score(str(tmp_path / "q.tsv"), several, measures=["R@1"], resamples=50)
    assert one.values["value"].to_list() == [1.0]
    assert two.values["run"].to_list() == ["r", "x"]
    assert len(two.pairs) == 0
    assert two.record.comparisons[0].reason == "too few queries where both runs have a value"
    assert one.verdict == "r scores 1.000 on R@1"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("query,correct\nq,1\n", r"no column 'query_id'"),
        ("query_id,correct\nq,2\n", r":2: the value of 'correct' cannot be used .*a number from 0 to 1"),
        ("query_id,correct\nq,\n", r":2: .*a number from 0 to 1"),
        ("query_id,correct\nq,1\nq,0\n", r":3: query 'q' has two different answers"),
    ],
)
def test_broken_answers(tmp_path: Path, content: str, says: str) -> None:
    """The file, the line, and what it should hold."""
    path = tmp_path / "answers.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=f"answers.csv.*{says}"):
        read_answer_correctness_file(path, {})


def test_answers_of_every_format(tmp_path: Path) -> None:
    """JSONL too, truth values as 0 and 1, columns by a mapping."""
    path = tmp_path / "answers.jsonl"
    path.write_text('{"qid": 1, "correct": true}\n{"qid": "b", "correct": 0.5}\n')
    assert read_answer_correctness_file(path, {"query_id": "qid"}) == {"1": 1.0, "b": 0.5}
