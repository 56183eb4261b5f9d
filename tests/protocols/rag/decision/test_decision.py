"""A study until decided, from files to a decision: the folder, the loop of a judge, and the command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from embassay.errors import BudgetExceeded, DataError, TextRefused, Unanswered, UsageError
from embassay.protocols.rag.decision import protocol
from embassay.protocols.rag.decision.protocol import (
    SCHEMA,
    DecisionStudyRecord,
    read_decision_study,
    read_passage_grades,
    run_decision_study,
)
from embassay.protocols.rag.scoring.options import SequentialLabellingRequest
from embassay.runs.folder import read_json_record

QUERIES, DEPTH = 30, 3
GOOD, BAD = 5, 1


def grade_of(doc):
    """What is right about a passage."""
    return GOOD if "-a" in doc else BAD


@pytest.fixture
def files(tmp_path):
    """Two runs of which the first finds what is right, with texts, and judgements of all."""
    for name, letter in (("first", "a"), ("second", "b")):
        lines = (
            f"q{query} Q0 q{query}-{letter}{rank} {rank} {10 - rank} {name}\n"
            for query in range(QUERIES)
            for rank in range(1, DEPTH + 1)
        )
        (tmp_path / f"{name}.trec").write_text("".join(lines))
    docs = [f"q{query}-{letter}{rank}" for query in range(QUERIES) for letter in "ab" for rank in range(1, DEPTH + 1)]
    texts = (json.dumps({"id": doc, "text": f"About {doc}."}) + "\n" for doc in docs)
    (tmp_path / "documents.jsonl").write_text("".join(texts))
    asked = (json.dumps({"id": f"q{query}", "text": f"What is {query}?"}) + "\n" for query in range(QUERIES))
    (tmp_path / "queries.jsonl").write_text("".join(asked))
    truth = (
        json.dumps({"query_id": doc.partition("-")[0], "doc_id": doc, "relevance": grade_of(doc)}) + "\n"
        for doc in docs
    )
    (tmp_path / "truth.jsonl").write_text("".join(truth))
    return tmp_path


def request(files, **more):
    runs = tuple(str(files / f"{name}.trec") for name in ("first", "second"))
    return SequentialLabellingRequest(
        **{"labels": str(files / "labels.jsonl"), "runs": runs, "measure": "Precision4+@3", "block": 6, **more}
    )


def with_judge(files, **more):
    texts = {"corpus": str(files / "documents.jsonl"), "queries": str(files / "queries.jsonl")}
    return request(files, judge=f"simulated:{files / 'truth.jsonl'}", **texts, **more)


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_judge_is_asked_until_it_is_decided(files) -> None:
    """Its grades are in the file of labels, once each; asked again, nothing is bought and the answer is the same."""
    found = run_decision_study(with_judge(files), files / "study")
    assert (found.why, found.best) == ("decided", "first")
    assert found.used < found.needed
    kept = rows(files / "labels.jsonl")
    assert len({(row["query_id"], row["doc_id"]) for row in kept}) == len(kept) >= found.used
    assert all(row["relevance"] == grade_of(row["doc_id"]) for row in kept)
    assert rows(files / "study" / "ask.jsonl") == []
    assert (
        read_json_record(files / "study" / "decision.json", DecisionStudyRecord, schema=SCHEMA, what="", mend="")
        == found
    )
    assert run_decision_study(with_judge(files), files / "study") == found
    assert rows(files / "labels.jsonl") == kept


def test_what_a_judge_said_before_it_failed_is_kept(files, monkeypatch) -> None:
    """At the limit of cost, too: the next call goes on with it."""
    opened = protocol.open_judge

    class Poor:
        def __init__(self, judge):
            self.judge, self.asked = judge, 0

        async def grade(self, question, passage):
            self.asked += 1
            if self.asked > 9:
                raise BudgetExceeded("Over the limit.", mend="Raise --max-cost.")
            return await self.judge.grade(question, passage)

    monkeypatch.setattr(protocol, "open_judge", lambda *given, **more: Poor(opened(*given, **more)))
    with pytest.raises(BudgetExceeded):
        run_decision_study(with_judge(files), files / "study")
    assert len(rows(files / "labels.jsonl")) == 9
    monkeypatch.setattr(protocol, "open_judge", opened)
    assert run_decision_study(with_judge(files), files / "study").best == "first"


@pytest.mark.parametrize("error", [TextRefused("status 400"), Unanswered("nothing")])
def test_passages_that_a_judge_does_not_take_do_not_stop_it(files, monkeypatch, error) -> None:
    """They count as ones that nobody can judge, and the same command does not ask again; where it takes none at all the
    error is raised, and nothing is kept."""
    opened = protocol.open_judge

    class Picky:
        def __init__(self, judge, takes):
            self.judge, self.takes = judge, takes

        async def grade(self, question, passage):
            if not self.takes(passage.id):
                raise error
            return await self.judge.grade(question, passage)

    def picky(takes):
        monkeypatch.setattr(protocol, "open_judge", lambda *given, **more: Picky(opened(*given, **more), takes))

    picky(lambda _: False)
    with pytest.raises(TextRefused):
        run_decision_study(with_judge(files), files / "study")
    assert not (files / "labels.jsonl").exists()
    picky(lambda doc: not doc.endswith("b3"))
    found = run_decision_study(with_judge(files), files / "study")
    assert (found.why, found.best) == ("decided", "first")
    grades = {row["doc_id"]: row["relevance"] for row in rows(files / "labels.jsonl")}
    assert {grade for doc, grade in grades.items() if doc.endswith("b3")} == {0}
    assert all(grade for doc, grade in grades.items() if not doc.endswith("b3"))
    assert run_decision_study(with_judge(files), files / "study") == found


@pytest.mark.parametrize("bar", [-0.1, 7.0])
def test_a_bar_that_no_run_can_meet_is_refused(files, bar: float) -> None:
    with pytest.raises(UsageError, match="from 0 to 1"):
        run_decision_study(with_judge(files, bar=bar), files / "study")


def test_a_judge_needs_texts_and_a_file_of_lines(files) -> None:
    with pytest.raises(UsageError, match="needs the texts that it grades"):
        request(files, judge="simulated:x")
    with pytest.raises(UsageError, match="cannot be added"):
        run_decision_study(with_judge(files, labels=str(files / "labels.tsv")))


def test_people_go_round_by_round(files) -> None:
    """Each call lists what to grade next, until a decision; a label that nobody asked for stands aside."""
    path = files / "labels.jsonl"
    path.write_text(json.dumps({"query_id": "q29", "doc_id": "q29-b3", "relevance": 1}) + "\n")
    for _ in range(60):
        found = run_decision_study(request(files), files / "study")
        if not found.is_open:
            break
        asked = rows(files / "study" / "ask.jsonl")
        assert 0 < len(asked) == found.waiting
        assert found.ahead or not found.used
        with path.open("a") as file:
            for row in asked:
                file.write(json.dumps({**row, "relevance": grade_of(row["doc_id"])}) + "\n")
    assert (found.why, found.best) == ("decided", "first")
    assert found.unasked in (0, 1)
    assert found.unused_label_count == found.given - found.used >= found.unasked
    assert ("set aside" in " ".join(found.lede)) == (found.unused_label_count > 0)


def test_a_bar_is_met_or_missed(files) -> None:
    """Each run by itself."""
    found = run_decision_study(with_judge(files, bar=0.5), files / "study")
    assert {one.a: one.sign for one in found.standings} == {"first": 1, "second": -1}
    assert "first met and second missed the threshold 0.5" in found.verdict


def test_equal_runs_end_without_a_decision(files) -> None:
    """All that could matter is labelled, or nothing could."""
    (files / "twin.trec").write_text((files / "first.trec").read_text())
    runs = (str(files / "first.trec"), str(files / "twin.trec"))
    assert run_decision_study(request(files, runs=runs)).why == "equal"


def test_another_study_is_refused(files) -> None:
    run_decision_study(request(files), files / "study")
    assert read_decision_study(files / "study").population.runs == ("first", "second")
    with pytest.raises(UsageError, match="another study"):
        run_decision_study(request(files, alpha=0.1), files / "study")
    (files / "study" / "pool.jsonl").write_text("{")
    with pytest.raises(DataError, match="no decision study"):
        read_decision_study(files / "study")


@pytest.mark.parametrize(("grades", "what"), [([6], "grade"), ([2.5], "grade"), ([2, 2, 3], "two grades")])
def test_labels_that_are_none_are_named_with_their_line(tmp_path, grades, what) -> None:
    path = tmp_path / "labels.jsonl"
    lines = (json.dumps({"query_id": "q1", "doc_id": "d", "relevance": grade}) + "\n" for grade in grades)
    path.write_text("".join(lines))
    with pytest.raises(DataError, match=what) as told:
        read_passage_grades(path, None, {})
    assert told.value.line == len(grades)


def test_the_command_asks_and_decides(files) -> None:
    """Says what to grade and how to go on; with a judge, what is decided and after how many labels."""
    from embassay.cli.main import build_app_with_commands

    app, runner = build_app_with_commands("rag", "list"), CliRunner()
    runs = [word for name in ("first", "second") for word in ("--run", str(files / f"{name}.trec"))]
    words = ["rag", "score", "--until-decided", "--qrels", str(files / "labels.jsonl"), *runs, "-m", "Precision4+@3"]
    told = runner.invoke(app, [*words, "--out", str(files / "study"), "--label-price", "0.5"])
    assert told.exit_code == 0, told.output
    assert "Not decided after 0 labels" in told.output
    assert "ask.jsonl" in told.output
    texts = ["--corpus", str(files / "documents.jsonl"), "--queries", str(files / "queries.jsonl")]
    judge = ["--judge", f"simulated:{files / 'truth.jsonl'}", *texts, "--json"]
    told = runner.invoke(app, [*words, *judge, "--out", str(files / "judged")])
    assert told.exit_code == 0, told.output
    assert json.loads(told.output)["best"] == "first"
    for wrong in (["-m", "nDCG@3"], ["--bar", "0.1", "--alpha", "0.7"], ["-m", "nDCG"]):
        told = runner.invoke(app, [*words, *wrong])
        assert isinstance(told.exception, UsageError), told.output
    told = runner.invoke(app, ["rag", "score", "--qrels", str(files / "truth.jsonl"), *runs, "--bar", "0.3"])
    assert isinstance(told.exception, UsageError)


def test_runs_of_texts_are_matched_as_by_the_plain_command(files) -> None:
    """Questions and passages by their words: the same study as by ids, and the same labels decide it."""
    texts = {row["id"]: row["text"] for row in rows(files / "documents.jsonl")}
    asked = {row["id"]: row["text"] for row in rows(files / "queries.jsonl")}
    for name in ("first", "second"):
        lists: dict[str, list[str]] = {}
        for line in (files / f"{name}.trec").read_text().splitlines():
            query, _, doc, *_ = line.split()
            lists.setdefault(asked[query], []).append(texts[doc])
        answers = [{"user_input": query, "retrieved_contexts": found} for query, found in lists.items()]
        (files / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in answers))
    by_id = run_decision_study(with_judge(files, labels=str(files / "by_id.jsonl")))
    runs = tuple(str(files / f"{name}.jsonl") for name in ("first", "second"))
    by_text = run_decision_study(with_judge(files, runs=runs, labels=str(files / "by_text.jsonl")))
    assert by_text == by_id
    assert (files / "by_text.jsonl").read_text() == (files / "by_id.jsonl").read_text()


def test_values_are_of_these_queries() -> None:
    """A population's total at all labels is the difference of the means that `rag score` gives."""
    import embassay as eb
    from embassay.data.judged_runs import read_entries_in_memory
    from embassay.protocols.rag.decision.population import make_comparison_items_of_runs
    from stub.ranked import qrels, run

    judged = qrels(20, 4)
    runs = {name: run(judged, seed, skill=skill) for name, seed, skill in (("a", 1, 2.0), ("b", 2, 0.5))}
    for measure in ("Precision4+@5", "nDCG@5"):
        population = make_comparison_items_of_runs(
            {name: read_entries_in_memory(one, "run", name) for name, one in runs.items()}, measure
        )
        labels = {key: judged[key[0]].get(key[1], 0) for key in population.keys}
        total = population.values(range(len(population.low)), labels).sum()
        found = eb.rag.score(judged, runs, measures=[measure], resamples=10)
        values = [found.record.value(name, measure).value for name in ("a", "b")]
        if measure == "Precision4+@5":
            assert total == pytest.approx(values[0] - values[1])
        else:
            assert np.sign(total) == np.sign(values[0] - values[1])
