"""Grading many passages of many questions: everything is kept, nothing is asked twice, failures stay where they are."""

from __future__ import annotations

import asyncio
import json

import pytest

from embassay.errors import BudgetExceeded, ModelError, TextRefused
from embassay.protocols.rag.golden.grades import (
    find_reusable_verdicts,
    grade_all_pairs,
    make_grade_verdict_json_line,
    make_graded_candidate_row,
)
from embassay.protocols.rag.judges import (
    GradeVerdict,
    NoValidJudgement,
    Passage,
    Question,
    build_judge_record,
    open_judge,
)
from embassay.runs.store import ChatAnswerCache
from stub import StubServer
from stub.judging import judging

QUESTIONS = [Question(f"q{i}", f"Question {i}?") for i in range(4)]
ASKED = [(question, Passage(f"d{i}", f"Text {i}.")) for question in QUESTIONS for i in range(5)]


class Judge:
    """Answers what `says` makes of (question id, passage id); knows how many it was asked at once."""

    name = identity = "judge"

    def __init__(self, says=lambda *_: 3):
        self.says, self.asked, self.busy, self.most = says, [], 0, 0

    async def grade(self, question, passage, *, draw=0):
        self.asked.append((question.id, passage.id, draw))
        self.busy += 1
        self.most = max(self.most, self.busy)
        await asyncio.sleep(0.001)
        self.busy -= 1
        said = self.says(question.id, passage.id)
        if isinstance(said, Exception):
            raise said
        return GradeVerdict(said)


def run(judge, asked=ASKED, kept=None, **more):
    came = []
    keep = lambda question, passage, verdict: came.append((question.id, passage.id, verdict.grade))  # noqa: E731
    try:
        return asyncio.run(grade_all_pairs(judge, asked, kept or {}, keep, **more)), came
    except (ModelError, BudgetExceeded) as error:
        return error, came


def test_every_pair_once_and_many_at_once():
    """In the order in which they were asked for, however they come; progress counts them."""
    judge, heard = Judge(lambda _, doc: 1 + int(doc[1])), []
    found, came = run(judge, [*ASKED, *ASKED[:3]], at_once=7, progress=heard.append)
    assert list(found.verdicts) == [(question.id, passage.id) for question, passage in ASKED]
    assert [one.grade for one in found.verdicts.values()] == [1, 2, 3, 4, 5] * 4
    assert len(judge.asked) == len(came) == sum(heard) == 20
    assert judge.most == 7
    assert found.ungraded == ()
    assert found.failed == {}


def test_a_judge_that_grades_nothing_is_asked_for_few_passages():
    """Not for thousands: it stops after the first ones, with what was wrong. One that graded before goes on."""
    judge = Judge(lambda *_: NoValidJudgement("no readable answer", ("a poem",)))
    found, came = run(judge)
    assert isinstance(found, ModelError)
    assert "graded none of the first 4 passages: no readable answer" in str(found)
    assert "answers=schema" in found.mend
    assert len(judge.asked) == 4
    assert not came
    judge.asked.clear()
    found, _ = run(judge, kept={("q0", "d0"): GradeVerdict(3)})
    assert len(found.ungraded) == len(judge.asked) == 19
    judge.asked.clear()
    found, _ = run(judge, ASKED[:16])
    assert len(found.ungraded) == len(judge.asked) == 16


def test_a_judge_that_is_seldom_read_is_stopped_after_a_few_more():
    """Where most of its answers are none, a golden set would be of what is left."""
    read = {("q0", "d0"), ("q0", "d4"), ("q1", "d1"), ("q1", "d2"), ("q2", "d0"), ("q2", "d2"), ("q3", "d0")}
    says = lambda *key: 3 if key in read else NoValidJudgement("no readable answer", ("a poem",))  # noqa: E731
    judge = Judge(says)
    found, came = run(judge)
    assert "graded 7 of the first 16 passages" in str(found)
    assert (len(judge.asked), len(came)) == (16, 7)
    read.add(("q1", "d0"))
    found, came = run(Judge(says))
    assert (len(found.ungraded), len(came)) == (12, 8)


def test_what_is_kept_is_not_asked_again():
    """And is part of the result as if it had been."""
    kept = {("q1", "d2"): GradeVerdict(5), ("q9", "d9"): GradeVerdict(1)}
    judge = Judge()
    found, came = run(judge, kept=kept)
    assert found.verdicts["q1", "d2"] == GradeVerdict(5)
    assert ("q9", "d9") not in found.verdicts
    assert len(judge.asked) == len(came) == 19


def test_a_failed_pair_fails_its_question_and_no_other():
    """With the reason; nothing stands in for the grade."""
    never = NoValidJudgement("judge gave no answer.", ["out of range: 9", "empty"])
    says = {("q1", "d3"): never, ("q1", "d1"): TextRefused("too long."), ("q3", "d0"): ModelError("lost once.")}
    found, came = run(Judge(lambda *key: says.get(key, 4)))
    assert found.failed == {"q1": "no grade for d1 and 1 more: too long.", "q3": "no grade for d0: lost once."}
    assert [(one.query_id, one.doc_id) for one in found.ungraded] == [("q1", "d1"), ("q1", "d3"), ("q3", "d0")]
    assert found.ungraded[1].rejected == ("out of range: 9", "empty")
    assert len(came) == len(found.verdicts) == 17
    assert {one.grade for one in found.verdicts.values()} == {4}


def test_a_judge_that_cannot_be_had_stops_the_work():
    """After eight calls that failed with no answer since; what was answered before has been kept."""
    left = [5]

    def says(*_):
        left[0] -= 1
        return 4 if left[0] >= 0 else ModelError("no connection")

    error, came = run(Judge(says), at_once=1)
    assert isinstance(error, ModelError)
    assert str(error) == "no connection"
    assert len(came) == 5


def test_the_limit_of_cost_stops_the_work():
    """What is in flight is still kept."""
    error, came = run(Judge(lambda query, doc: BudgetExceeded("no money") if doc == "d2" else 2), at_once=5)
    assert isinstance(error, BudgetExceeded)
    assert {(query, doc) for query, doc, _ in came} >= {("q0", doc) for doc in ("d0", "d1", "d3")}
    assert len(came) < 19


def test_rows_are_reused_where_judge_and_texts_are_the_same():
    """Anything else is graded anew: another judge, another text, half a line, a grade that is none."""
    judge, pair = Judge(), ASKED[0]
    row = make_grade_verdict_json_line(pair, GradeVerdict(4, 2, ("empty",)), judge, "2026-01-01T00:00:00+00:00")
    assert json.loads(json.dumps(row)) == row
    assert find_reusable_verdicts([row], ASKED, judge) == {("q0", "d0"): GradeVerdict(4, 2, ("empty",))}
    other = Judge()
    other.identity = "other"
    assert find_reusable_verdicts([row], ASKED, other) == {}
    assert find_reusable_verdicts([row], [(pair[0], Passage("d0", "Changed."))], judge) == {}
    assert find_reusable_verdicts([row], [(Question("q0", "Changed?"), pair[1])], judge) == {}
    for spoilt in ({"grade": True}, {"grade": 6}, {"grade": "4"}, {"qid": "q7"}, {"judge": None}):
        assert find_reusable_verdicts([{**row, **spoilt}], ASKED, judge) == {}
    assert find_reusable_verdicts([{}], ASKED, judge) == {}


def test_a_row_of_s4_keeps_all_of_s3():
    """And says who graded it, how and when (spec rag 4)."""
    judge = Judge()
    merged = {"qid": "q0", "doc_id": "d0", "rank_rrf": 3, "rrf_score": 0.02, "metadata": {"title": "T"}}
    row = make_graded_candidate_row(
        merged, GradeVerdict(2), judge, build_judge_record(judge), "2026-01-01T00:00:00+00:00"
    )
    assert {name: row[name] for name in merged} == merged
    assert {name: row[name] for name in ("grade", "model", "temperature", "top_p", "ts")} == {
        "grade": 2, "model": "judge", "temperature": None, "top_p": None, "ts": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip


def test_hundreds_over_http_with_faults(tmp_path):
    """Malformed answers, refusals and calls that never bring one, many in flight: the table's grades come out, failures
    are listed, and a second run asks for nothing that was answered."""
    pytest.importorskip("openai")
    questions = [Question(f"q{i}", f"What is thing {i}?") for i in range(8)]
    asked = [(q, Passage(f"{q.id}-d{i}", f"Passage {i} of {q.id}.")) for q in questions for i in range(12)]
    table = {(q.text, p.text): 1 + (len(p.text) + i) % 5 for i, (q, p) in enumerate(asked)}
    chat = judging(table, malformed=0.1, refusing=0.02, never=0.02)
    cache = ChatAnswerCache.open(tmp_path / "answers.sqlite")
    with StubServer(chat=chat, latency=0.002) as stub:
        judge = open_judge(f"openai:judge?base_url={stub.url}/v1", cache=cache)
        judge._sleep = lambda _: asyncio.sleep(0)
        found, _ = run(judge, asked)
        paid = stub.requests["/v1/chat/completions"]
        again, _ = run(judge, asked)
        refused = sum("refus" in one.reason or "400" in one.reason for one in found.ungraded)
        assert stub.requests["/v1/chat/completions"] == paid + refused
    cache.close()
    texts = {(q.id, p.id): (q.text, p.text) for q, p in asked}
    assert all(one.grade == table[texts[key]] for key, one in found.verdicts.items())
    assert 0 < len(found.ungraded) < 20
    assert len(found.verdicts) + len(found.ungraded) == 96
    assert any(one.attempts > 1 for one in found.verdicts.values())
    assert (again.verdicts, again.failed.keys()) == (found.verdicts, found.failed.keys())
