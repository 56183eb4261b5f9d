"""Questions about documents: what a model writes is checked, planted bad answers are found, nothing is asked twice."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embassay.data import open_dataset
from embassay.data.documents import PlacedPassage
from embassay.document.blocks import convert_sentence_to_text
from embassay.errors import BudgetExceeded, DataError, UsageError
from embassay.protocols.kernel.session import SilentListener
from embassay.protocols.questions.checks import (
    find_question_fault,
    find_quotation_span,
    is_copy_of_passage,
    measure_longest_shared_run,
    mistype_question,
)
from embassay.protocols.questions.drafts import _find_quotation_span_in_body, find_positions_of_near_duplicates
from embassay.protocols.rag import QuestionsOptions, QuestionsRequest
from embassay.protocols.rag.questions.protocol import QuestionSetProtocol, questions
from embassay.report.rag.questions import describe_questions_verdict
from stub.asking import PLANTED, asking
from stub.chat import Reply, Turn
from stub.paraphrasing import share
from stub.server import StubServer

TOPICS = ("bread", "cheese", "copper", "granite", "harbour", "lantern", "meadow", "orchard", "pepper", "quarry")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Ten documents of two sections, every passage over 25 words long."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for topic in TOPICS:
        sections = "".join(
            f"## Rules on {topic} {part}s\n\n"
            f"The {part} of {topic} is kept in the {topic} hall behind the northern gate. "
            f"Whoever wants {topic} {part} must write to the {topic} office before noon on a working day. "
            f"No {part} of {topic} leaves the hall without the seal of the keeper, who counts it twice.\n\n"
            for part in ("weight", "colour")
        )
        (folder / f"{topic}.md").write_text(f"# About {topic}\n\n{sections}")
    return folder


def told(run: Any) -> dict[str, dict[str, int]]:
    return {cell["variant"]: cell["counts"] for cell in run.manifest["cells"]}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def llm(stub: StubServer, more: str = "") -> str:
    return f"openai:stub?base_url={stub.url}/v1{more}"


def test_documents_ask_themselves(corpus: Path, tmp_path: Path) -> None:
    """Without a model: the set is a dataset, every question has its answer in the corpus, and none is answered by its
    own words."""
    run = questions(corpus, out=tmp_path / "run", options=QuestionsOptions(n=6))
    found = lines(run.path / "export" / "queries.jsonl")
    assert Counter(one["tags"][0] for one in found) == {"title": 6, "heading": 6, "sentence": 6}
    data = open_dataset(str(run.path / "export")).load("retrieval").data
    assert len(data.queries) == 18
    texts = dict(zip(data.corpus.ids, data.corpus.texts, strict=True))
    for key, text in zip(data.queries.ids, data.queries.texts, strict=True):
        for passage in data.qrels[key]:
            assert text not in texts[passage]
    again = questions(corpus, out=tmp_path / "again", options=QuestionsOptions(n=6))
    for name in ("queries.jsonl", "corpus.jsonl", "qrels.tsv"):
        assert (again.path / "export" / name).read_bytes() == (run.path / "export" / name).read_bytes()


def test_documents_that_ask_nothing_are_told(tmp_path: Path) -> None:
    """A script that goes on would search for no question: the command ends like one on a file at fault."""
    from typer.testing import CliRunner

    from embassay.cli.main import build_app_with_commands

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nThe shop opens at nine.\n")
    words = ["rag", "questions", "--corpus", str(tmp_path / "docs"), "--out", str(tmp_path / "asked")]
    told = CliRunner().invoke(build_app_with_commands("rag"), words)
    assert isinstance(told.exception, DataError)
    assert "No question about these documents was kept" in str(told.exception)


def test_a_model_writes_and_what_it_writes_is_grounded(corpus: Path, tmp_path: Path) -> None:
    """Each kept question has a span of its document as evidence, users' own come first, and shares are told."""
    users = tmp_path / "users.jsonl"
    users.write_text('{"id": "fact-1", "text": "Where do I ask for copper?"}\n')
    with StubServer(chat=asking()) as stub:
        run = questions(
            corpus, out=tmp_path / "run", llm=llm(stub), queries=str(users), kinds=("fact", "typo", "sentence"),
            options=QuestionsOptions(n=5),
        )  # fmt: skip
    found = lines(run.path / "export" / "queries.jsonl")
    assert found[0]["id"] == "user-fact-1"  # an id of ours is not taken for a user's
    texts = {path.name: path.read_text() for path in corpus.iterdir()}
    spans = lines(run.path / "export" / "spans.jsonl")
    assert len(spans) == sum(counts.get("kept", 0) for kind, counts in told(run).items() if kind != "sentence")
    for one in spans:
        assert texts[one["document"]][one["start"] : one["end"]] == one["text"]
    shares = run.manifest["shares"]
    assert shares["users"]["questions"] == 1
    assert sum(one["share"] for one in shares.values()) == pytest.approx(1)
    whole = {one["passage"] for one in lines(run.path / "drafts.jsonl")}
    before = {one.id: one.body for one in _placed(corpus)}
    after = {one["id"]: one["text"] for one in lines(run.path / "export" / "corpus.jsonl")}
    assert all(after[key] == before[key] for key in whole)  # nothing is taken out of what a model was asked about


def _placed(corpus: Path) -> tuple[PlacedPassage, ...]:
    from embassay.data.documents import read_corpus_passages_with_origin

    return read_corpus_passages_with_origin(open_dataset(str(corpus)))


@pytest.mark.parametrize(
    ("planted", "outcome"),
    [
        ("unanswerable", "not answerable"), ("copied", "copied"), ("foreign", "wrong language"),
        ("ungrounded", "ungrounded"), ("telling", "speaks of the passage"),
    ],
)  # fmt: skip
def test_planted_bad_questions_are_found(planted: str, outcome: str, corpus: Path, tmp_path: Path) -> None:
    """None of them is kept, and each is counted under its reason."""
    assert planted in PLANTED
    with StubServer(chat=asking(always=planted)) as stub:
        run = questions(
            corpus, out=tmp_path / "run", llm=llm(stub), kinds=("fact",), options=QuestionsOptions(n=4, attempts=2)
        )
    assert told(run) == {"fact": {outcome: 4}}
    assert lines(run.path / "export" / "queries.jsonl") == []
    [row] = run.results.rows(named=True)
    assert (row["value"], row["n"]) == (0.0, 4)
    assert row["ci_high"] > 0.3


def test_a_share_of_bad_ones_is_left_out(corpus: Path, tmp_path: Path) -> None:
    """The rest is kept; kept and lost add up to what was asked."""
    with StubServer(chat=asking(dict.fromkeys(PLANTED, 0.08))) as stub:
        run = questions(
            corpus,
            out=tmp_path / "run",
            llm=llm(stub),
            kinds=("fact",),
            options=QuestionsOptions(n=20, attempts=1, near=1.0),
        )
    counts = told(run)["fact"]
    assert sum(counts.values()) == 20
    assert 5 <= counts["kept"] < 20


def test_nothing_is_asked_twice(corpus: Path, tmp_path: Path) -> None:
    """A run that is done, and one that lost its last line, ask only for what is not there."""
    with StubServer(chat=asking()) as stub:
        given: dict[str, Any] = {
            "llm": llm(stub), "kinds": ("fact",), "options": QuestionsOptions(n=6), "cache": tmp_path / "answers",
        }  # fmt: skip
        run = questions(corpus, out=tmp_path / "run", **given)
        first, exported = stub.requests.total(), (run.path / "export" / "queries.jsonl").read_bytes()
        drafts = run.path / "drafts.jsonl"
        content = drafts.read_text().splitlines(keepends=True)
        drafts.write_text("".join(content[:-1]) + content[-1][:40])
        (tmp_path / "answers").unlink()
        questions(corpus, out=tmp_path / "run", **given)
        assert stub.requests.total() - first == 2  # one draft: written and checked
        assert (run.path / "export" / "queries.jsonl").read_bytes() == exported
        foreseen = QuestionSetProtocol().forecast_run_cost(
            QuestionsRequest(str(corpus), **{k: v for k, v in given.items() if k != "cache"}), out=run.path
        )
        assert sum(one.requests or 0 for one in foreseen.cells) == 0
    with pytest.raises(UsageError, match="other arguments: kinds"):
        questions(corpus, out=tmp_path / "run", **{**given, "kinds": ("typo",)})
    drafts.write_text("{}\n" + drafts.read_text())
    with pytest.raises(DataError, match=r"drafts.jsonl:1"):
        questions(corpus, out=tmp_path / "run", **given)


def test_money_is_limited(corpus: Path, tmp_path: Path) -> None:
    """The forecast says what it takes, and the limit stops it with what is done kept."""
    with StubServer(chat=asking()) as stub:
        priced = llm(stub, "&price=100&price_output=100&concurrency=1")
        request = QuestionsRequest(str(corpus), priced, kinds=("fact",), options=QuestionsOptions(n=8))
        usd = QuestionSetProtocol().forecast_run_cost(request).usd
        assert usd is not None
        with pytest.raises(BudgetExceeded):
            questions(
                corpus, out=tmp_path / "run", llm=priced, kinds=("fact",), options=request.options, max_usd=usd / 2
            )
        done = len(lines(tmp_path / "run" / "drafts.jsonl"))
        assert 0 < done < 8
        with pytest.raises(UsageError, match="price"):
            questions(corpus, out=tmp_path / "other", llm=llm(stub), kinds=("fact",), max_usd=1.0)


class Hearing(SilentListener):
    """Keeps what was said of the cost."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def reckoned(self, line: str) -> None:
        """Keep it."""
        self.lines.append(line)


def uneven(turn: Turn) -> Reply | str:
    """A writer and checker of whose questions three in ten are bad, whose answers are 3 to 200 words long, and who now
    and then refuses a passage."""
    at = share(turn.last + "length")
    said = asking({"unanswerable": 0.1, "copied": 0.1, "telling": 0.1})(turn)
    if at > 0.97:
        return Reply("", finish="content_filter")
    found = json.loads(str(said))
    if "answer" in found:
        found["answer"] = " ".join(["word"] * round(3 + 200 * at**4))
    return json.dumps(found)


@pytest.mark.slow
def test_what_is_foreseen_after_the_first_is_what_is_spent(tmp_path: Path) -> None:
    """200 questions: the price that the run tells at half of them and the one in the end differ by a tenth at most, and
    what is forecast of the other half in a dry run then does too; before, the sums are those of one attempt and of
    all."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for i in range(210):
        rest = " ".join(f"{TOPICS[(i + k) % 10]} {i * 7 + k}" for k in range(3 + i % 40))
        (folder / f"{i}.md").write_text(
            f"# Number {i}\n\nThe keeper of hall {i} counts every {TOPICS[i % 10]} twice before the seal is set. "
            f"Whoever wants {TOPICS[i % 10]} from {i} must write to the office before noon. It also holds {rest}.\n"
        )
    hearing = Hearing()
    with StubServer(chat=uneven) as stub:
        priced = llm(stub, "&price=1000&price_output=4000")
        given: dict[str, Any] = {"kinds": ("fact", "typo"), "options": QuestionsOptions(n=100, near=1.0)}
        request = QuestionsRequest(str(folder), priced, **given)
        before = QuestionSetProtocol().forecast_run_cost(request)
        run = questions(folder, out=tmp_path / "run", llm=priced, listener=hearing, **given)
        asked = stub.requests.total()
    spent = run.manifest["spent"]["usd"]
    sums = [[float(one.replace(",", "")) for one in re.findall(r"\$([\d,.]*\d)", line)] for line in hearing.lines]
    assert [int(line.split()[0]) for line in hearing.lines] == [25, 50, 100]
    assert all(low <= expected <= high for _, expected, low, high in sums)
    print(spent, sums)
    assert [expected for _, expected, *_ in sums] == pytest.approx([spent] * 3, rel=0.1)
    assert all(low <= spent <= high for *_, low, high in sums)
    assert sums[-1][3] - sums[-1][2] < sums[0][3] - sums[0][2]
    calls = sum(one.requests or 0 for one in before.cells)
    assert calls < asked < 3 * calls
    assert any("every first draft" in note for note in before.notes)
    kept = (run.path / "drafts.jsonl").read_text().splitlines(keepends=True)
    (run.path / "drafts.jsonl").write_text("".join(kept[:100]))
    after = QuestionSetProtocol().forecast_run_cost(request, out=run.path)
    there = [json.loads(line) for line in kept[:100]]
    calls = sum(
        one["attempts"] + sum(o in ("kept", "not answerable") for o in (*one["rejected"], one["outcome"]))
        for one in there
    )
    assert calls + sum(one.requests or 0 for one in after.cells) == pytest.approx(asked, rel=0.1)


@pytest.mark.slow
def test_a_kill_loses_nothing(corpus: Path, tmp_path: Path) -> None:
    """kill -9 in the middle; the same command goes on, pays for no draft twice and ends with the same set."""
    with StubServer(chat=asking(), latency=0.2, queue=2) as stub:
        command = [
            sys.executable, "-m", "embassay", "rag", "questions", "--corpus", str(corpus), "--llm", llm(stub),
            "-k", "fact", "--n", "12", "--out", str(tmp_path / "run"),
        ]  # fmt: skip
        here = {**os.environ, "OPENAI_API_KEY": "x", "EMBASSAY_CACHE": str(tmp_path / "cache")}
        process = subprocess.Popen(command, env=here, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        drafts = tmp_path / "run" / "drafts.jsonl"
        while not drafts.exists() or drafts.read_text().count("\n") < 3:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before, asked = drafts.read_text().count("\n"), stub.requests.total()
        assert before < 12
        subprocess.run(command, env=here, check=True, capture_output=True)
        assert stub.requests.total() - asked <= 2 * (12 - before) + 2
        whole = (tmp_path / "run" / "export" / "queries.jsonl").read_bytes()
        fresh = [*command[:-1], str(tmp_path / "fresh")]
        subprocess.run(fresh, env=here, check=True, capture_output=True)
    assert (tmp_path / "fresh" / "export" / "queries.jsonl").read_bytes() == whole


def test_requests_that_mean_nothing() -> None:
    for given, said in (
        ({"kinds": ("fact",)}, "no|none is named"),
        ({"llm": "x", "kinds": ("facts",)}, "Did you mean fact"),
        ({"llm": "x", "kinds": ("language",)}, "--into de"),
    ):
        with pytest.raises(UsageError, match=said):
            QuestionsRequest("docs", **given)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        QuestionsOptions(copied=0)


PASSAGE = PlacedPassage(
    "p", "The engine burns oil at night, and gas by day. It rests on Sundays in the northern hall.", lang="en"
)


@pytest.mark.parametrize(
    ("question", "kind", "outcome"),
    [
        ("When does this machine use gas?", "fact", None),
        ("The engine burns oil at night?", "fact", "copied"),
        ("engine oil night", "keywords", None),
        ("burns oil at", "keywords", "copied"),
        ("When does this machine use gas?", "keywords", "of another kind"),
        ("which fuel by day", "keywords", "of another kind"),
        ("engine rest days hall schedule of the northern machine on Sundays", "keywords", "of another kind"),
        ("When does this machine use gas?", "procedure", "of another kind"),
        ("How is the machine fuelled by day?", "procedure", None),
        ("When does this machine use gas?", "comparison", "of another kind"),
        ("What differs between its fuel by day and the other?", "comparison", None),
        ("What is described in the passage?", "fact", "speaks of the passage"),
        ("What is the primary outcome of the study?", "fact", "speaks of the passage"),
        ("What do the authors of it burn?", "fact", "speaks of the passage"),
        ("What does this paper say of gas?", "fact", "speaks of the passage"),
        ("What is the study of machines called?", "fact", None),
        ("What dissolves the paper?", "fact", None),
        ("x" * 301, "fact", "too long"),
        ("", "fact", "nothing to ask"),
        ("エンジンはいつガスを使いますか", "fact", "wrong language"),
    ],
)
def test_checks_that_need_no_model(question: str, kind: str, outcome: str | None) -> None:
    found = find_question_fault(question, kind, PASSAGE, QuestionsOptions())
    assert (found[0] if found else None) == outcome


def test_runs_of_words_and_spans() -> None:
    assert measure_longest_shared_run(["a", "b", "c"], ["c", "a", "b", "a"]) == 2
    assert is_copy_of_passage("one two three four five six", "x one two three four five six y", "fact", 1.0)
    assert find_quotation_span("It  burns\noil.", "“Burns oil …”") == (4, 13)
    assert find_quotation_span("It burns oil.", "gas") is None


def test_a_quotation_is_found_under_marks_of_markdown():
    """A real model's, of this documentation: it leaves out the stars, three times refused as ungrounded."""
    body = "- **Hard negatives** are the query's own candidates, else documents that\n  BM25 ranks (`--negatives`)."
    quote = "Hard negatives are the query's own candidates, else documents that BM25 ranks (`--negatives`)."
    start, end = find_quotation_span(body, quote)
    assert body[start:end].startswith("Hard negatives** are")
    assert body[start:end].endswith("(`--negatives`)")
    assert find_quotation_span(body, "Hard positives are the query's own candidates") is None
    assert find_quotation_span("a * b is a product", "a * b is") == (0, 8)


def test_typing_errors_change_letters_within_words() -> None:
    """One or two, the same for the same seed, and no word is lost."""
    question = "Where does everybody who wants copper have to write before noon?"
    found = mistype_question(question, 1, "p")
    assert found == mistype_question(question, 1, "p") != question
    pairs = zip(question.split(), found.split(), strict=True)
    assert sum(a != b for a, b in pairs) in (1, 2)


def test_near_repeats_keep_the_first() -> None:
    texts = [
        "How long does a refund take?",
        "how long does a  refund take?",
        "How long does a refund take now?",
        "Why?",
    ]
    assert find_positions_of_near_duplicates(texts, 0.6) == [1, 2]
    assert find_positions_of_near_duplicates(texts, 1.0) == [1]


@pytest.mark.parametrize(
    ("evidence", "body"),
    [
        ("The engine burns oil", "The engine burns oil"),
        ("Engines\nThe engine burns oil", "The engine burns oil"),
        ("All about Engines", None),
        ("a turbine", None),
    ],
)
def test_a_quotation_of_what_was_shown(evidence: str, body: str | None) -> None:
    """Title and body are shown as one: a quotation may begin in the title, and its rest is in the body."""
    passage = replace(PASSAGE, title="All about Engines")
    place = _find_quotation_span_in_body(passage, evidence)
    assert (passage.body[slice(*place)] if place else None) == body


def test_questions_without_an_answer(corpus: Path, tmp_path: Path) -> None:
    """Near ones are made of the questions asked, far ones are not of this domain; they stand in a file of their own,
    and neither judgements nor answerable questions change."""
    users = tmp_path / "users.jsonl"
    users.write_text(
        '{"id": "u1", "text": "Who counted 12 weights of copper twice?"}\n'
        '{"id": "u2", "text": "Where does the keeper stand?"}\n'
    )
    options = QuestionsOptions(n=6)
    run = questions(corpus, out=tmp_path / "run", queries=str(users), options=options, no_answer=("near", "far"))
    rows = lines(run.path / "export" / "no_answer.jsonl")
    near = [row for row in rows if row["kind"] == "near"]
    assert [(row["of"], row["was"], row["changed"]) for row in near] == [("u1", "12", "number")]
    assert sum(row["kind"] == "far" for row in rows) == 6
    plain = questions(corpus, out=tmp_path / "plain", queries=str(users), options=options)
    for name in ("queries.jsonl", "corpus.jsonl", "qrels.tsv"):
        assert (run.path / "export" / name).read_bytes() == (plain.path / "export" / name).read_bytes()
    assert not (plain.path / "export" / "no_answer.jsonl").exists()
    assert told(run)["far"] == {"kept": 6}
    assert told(run)["near"]["kept"] == 1
    assert {kind: told(run)[kind] for kind in told(plain)} == told(plain)


def test_a_near_question_of_a_model_is_checked_against_more_than_its_passage(corpus: Path, tmp_path: Path) -> None:
    """One that a passage answers is not kept, with the reason; the others are, and resume asks nothing again."""
    options = QuestionsOptions(n=4, attempts=2)
    with StubServer(chat=asking()) as stub:
        run = questions(
            corpus, out=tmp_path / "answered", llm=llm(stub), kinds=("fact",), options=options, no_answer=("near",)
        )  # fmt: skip
        assert told(run)["near"] == {"answered": 4}
    with StubServer(chat=asking(always="unanswerable")) as stub:
        words: Any = {"llm": llm(stub), "kinds": ("fact",), "options": options, "no_answer": ("near",)}
        run = questions(corpus, out=tmp_path / "kept", **words)
        assert told(run)["near"] == {"kept": 4}
        rows = lines(run.path / "export" / "no_answer.jsonl")
        assert {row["changed"] for row in rows} == {"by a model"}
        assert all(row["text"].startswith("Which zeppelin") for row in rows)
        asked = len(stub.requests)
        questions(corpus, out=tmp_path / "kept", **words)
        assert len(stub.requests) == asked


def test_far_questions_of_ones_own(corpus: Path, tmp_path: Path) -> None:
    """A table of another domain; without --no-answer far it is asked for nothing."""
    far = tmp_path / "far.csv"
    far.write_text(
        "text\nHow long does sourdough rise?\nIs copper weight kept in the copper hall behind the northern gate?\n"
    )
    run = questions(corpus, out=tmp_path / "run", far=str(far), no_answer=("far",), kinds=("title",))
    assert [row["text"] for row in lines(run.path / "export" / "no_answer.jsonl")] == ["How long does sourdough rise?"]
    assert told(run)["far"] == {"kept": 1, "a passage has most of its words": 1}
    with pytest.raises(UsageError, match="--far"):
        QuestionsRequest(str(corpus), far=str(far))
    with pytest.raises(UsageError, match="nigh"):
        QuestionsRequest(str(corpus), no_answer=("nigh",))


def test_a_model_goes_by_its_label_not_its_address() -> None:
    """Where it is served is not the reader's."""
    asked = [{"source": "openai:small?base_url=http://127.0.0.1:8091/v1&concurrency=4"}, {"source": "documents"}]
    said = " ".join(convert_sentence_to_text(sentence) for sentence in describe_questions_verdict(asked, {}).lede)
    assert said == "Of these 50% from openai:small, 50% from the documents themselves."
