"""What a golden set is given away as: read back by our own readers, and by others'."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from embassay.cli.main import app
from embassay.data import open_dataset
from embassay.data.judged_runs import read_qrels_entries
from embassay.errors import DataError
from embassay.protocols.rag.golden.final_lists import FinishedGoldenQuestion, RetrievablePassage, export_golden_set


def row(doc, grade, rank, final=None, **more):
    place = {} if final is None else {"final_rank": final, "final_score": 5.0 - final}
    return {"qid": "q", "question": "?", "query_rewrite": "!", "doc_id": doc, "text": f"Text of {doc}.", "grade": grade,
            "rank_rrf": rank, "source": "both", **place, **more}  # fmt: skip


CORPUS = [RetrievablePassage(f"d{i}", f"Text of d{i} says something of its own: {i}.", f"Title {i}") for i in range(6)]
QUESTIONS = [
    FinishedGoldenQuestion(
        "q1", "What is one?", "one", [row("d1", 1, 1), row("d2", 5, 2, 1), row("d3", 4, 3, 2), row("d4", 4, 4)]
    ),
    FinishedGoldenQuestion("q2", "What is two?", "two", [row("d5", 3, 1, 2), row("d0", 5, 2, 1)]),
]
ABOUT = {"Judge": "recorded", "Seed": 1337}


def graded(path):
    entries = read_qrels_entries(path)
    return {(query, doc): value for query, doc, value in entries.frame.iter_rows()}


def test_qrels_are_read_back_as_the_grades_that_went_in(tmp_path):
    """In TREC's format and in BEIR's."""
    wanted = {(one.id, own["doc_id"]): own["grade"] for one in QUESTIONS for own in one.rows}
    export_golden_set(tmp_path, QUESTIONS, CORPUS, ABOUT)
    assert graded(tmp_path / "qrels.tsv") == graded(tmp_path / "qrels.trec") == wanted
    assert (tmp_path / "qrels.trec").read_text().splitlines()[:3] == ["q1 0 d2 5", "q1 0 d3 4", "q1 0 d4 4"]


def test_trec_eval_reads_them(tmp_path):
    """The reference implementation, as it stands."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    export_golden_set(tmp_path, QUESTIONS, CORPUS, ABOUT)
    with (tmp_path / "qrels.trec").open() as stream:
        qrels = pytrec_eval.parse_qrel(stream)
    assert qrels["q1"] == {"d2": 5, "d3": 4, "d4": 4, "d1": 1}


def test_the_folder_is_a_dataset(tmp_path):
    """`-d` retrieves from it, with gains of grade - 1, so that grade 1 is relevant to nobody; `data check` has nothing
    to say."""
    export_golden_set(tmp_path, QUESTIONS, CORPUS, ABOUT)
    data = open_dataset(str(tmp_path / "beir")).load("retrieval").data
    assert data.corpus.ids == tuple(one.id for one in CORPUS)
    assert data.queries.ids == ("q1", "q2")
    assert data.qrels == {"q1": {"d2": 4, "d3": 3, "d4": 3, "d1": 0}, "q2": {"d0": 4, "d5": 2}}
    said = CliRunner().invoke(app, ["data", "check", str(tmp_path / "beir"), "--json"])
    assert said.exit_code == 0, said.output


def test_everything_is_in_the_lines(tmp_path):
    """By question, ordered passages first in their order, then by grade and place of fusion."""
    export_golden_set(tmp_path, QUESTIONS, CORPUS, ABOUT)
    rows = [json.loads(line) for line in (tmp_path / "golden.jsonl").read_text("utf-8").split("\n") if line]
    assert [(one["query_id"], one["doc_id"]) for one in rows] == [
        ("q1", "d2"), ("q1", "d3"), ("q1", "d4"), ("q1", "d1"), ("q2", "d0"), ("q2", "d5"),
    ]  # fmt: skip
    assert rows[0] == {
        "query_id": "q1", "question": "What is one?", "rewrite": "one", "doc_id": "d2", "grade": 5, "final_rank": 1,
        "text": "Text of d2.", "rank_rrf": 2, "source": "both", "final_score": 4.0,
    }  # fmt: skip
    assert rows[2]["final_rank"] is None


def test_what_has_no_grade_is_not_judged(tmp_path):
    """It stands in the lines, never in the qrels."""
    export_golden_set(
        tmp_path, [FinishedGoldenQuestion("q", "?", "!", [row("a", None, 1), row("b", 2, 2)])], CORPUS, ABOUT
    )
    assert graded(tmp_path / "qrels.tsv") == {("q", "b"): 2}
    assert '"doc_id": "a", "grade": null' in (tmp_path / "golden.jsonl").read_text()


def test_the_readme_says_what_it_is(tmp_path):
    export_golden_set(tmp_path, QUESTIONS, CORPUS, ABOUT)
    text = (tmp_path / "README.md").read_text()
    assert "2 questions, 6 graded passages" in text
    assert "- Judge: recorded" in text


IDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8).filter(
    lambda name: name == name.strip()  # blanks around an id are no part of it to readers
)


@given(st.dictionaries(IDS, st.dictionaries(IDS, st.integers(1, 5), min_size=1, max_size=5), min_size=1, max_size=4))
def test_any_id_survives(tmp_path_factory, grades):
    """TREC's file is only there where its format can hold them; both say the same as went in."""
    folder = tmp_path_factory.mktemp("export")
    questions = [
        FinishedGoldenQuestion(query, "?", "!", [row(doc, grade, i) for i, (doc, grade) in enumerate(own.items())])
        for query, own in grades.items()
    ]
    written = export_golden_set(folder, questions, [], ABOUT)
    wanted = {(query, doc): grade for query, own in grades.items() for doc, grade in own.items()}
    assert graded(folder / "qrels.tsv") == wanted
    if "trec" in written:
        assert graded(folder / "qrels.trec") == wanted
    else:
        assert any(name.split() != [name] for key in wanted for name in key)


@pytest.mark.parametrize("name", ["a\tb", "a\nb", " ", "a\rb"])
def test_ids_that_no_qrels_can_hold(tmp_path, name):
    """Are refused before anything is written."""
    with pytest.raises(DataError, match="cannot be written to qrels"):
        export_golden_set(tmp_path, [FinishedGoldenQuestion("q", "?", "!", [row(name, 2, 1)])], [], ABOUT)
    assert list(tmp_path.iterdir()) == []
