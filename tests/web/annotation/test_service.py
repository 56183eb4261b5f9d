"""Adjudicators over HTTP: what they see, what they may answer, and what nobody else sees of it."""

from __future__ import annotations

import json

import pytest

from embassay.errors import UsageError
from embassay.protocols.hume.store import SubmittedAnswer
from embassay.web.annotation.service import StudyRequestRules, open_study_service

from .conftest import page_of

MARKS = {"ann": [1, 0, 0, 0, 0, 0, 1], "bob": [1, 1, 0, 0, 0, 0, 1]}


@pytest.fixture
def service(study):
    made = open_study_service(study, ["ann", "bob"], adjudicators=["judy"], options=StudyRequestRules())
    yield made
    made.close()


@pytest.fixture
def judy(service, browse):
    return page_of(browse(), service.annotator_link("judy"))


def _answer(service, who, item, value, seq=1, **more):
    task = service.items[item].task
    service.store.save(who, task, SubmittedAnswer(item, value, seq, 1.0, tab="t", **more))


@pytest.fixture
def disputed(service):
    """A label of two, a rating, marks, and one that both agree on."""
    for seq, (ann, bob, item) in enumerate(
        [(0, 1, "mood-00"), (1, 1, "mood-01"), (1.0, 5.0, "pairs-00"), (2.0, 3.0, "pairs-01")], 1
    ):
        _answer(service, "ann", item, ann, seq)
        _answer(service, "bob", item, bob, seq)
    for who, marks in MARKS.items():
        _answer(service, who, "search-00", marks, 9, comment=f"note of {who[0]}")


def test_nothing_to_decide_yet(judy):
    """The page says so, and no task can be finished before it began."""
    told = judy.get("study").json()
    assert (told["tasks"], told["adjudicates"]) == ([], True)
    assert judy.post("tasks/mood/finish").status_code == 409
    assert judy.get("items/mood-00").status_code == 404


def test_they_see_disputes_with_answers_and_without_names(judy, disputed):
    """The farthest apart first, with counts; of marks how many each document has."""
    told = judy.get("study").json()
    assert {task["name"]: task["items"] for task in told["tasks"]} == {
        "mood": ["mood-00"], "pairs": ["pairs-00", "pairs-01"], "search": ["search-00"],
    }  # fmt: skip
    shown = {
        item: judy.get(f"items/{item}").json()["payload"]["others"] for item in ("mood-00", "pairs-00", "search-00")
    }
    assert shown["mood-00"]["values"] == [{"value": 0, "people": 1}, {"value": 1, "people": 1}]
    assert [one["value"] for one in shown["pairs-00"]["values"]] == [1.0, 5.0]
    assert shown["search-00"]["marks"] == [2, 1, 0, 0, 0, 0, 2]
    assert shown["search-00"]["remarks"] == ["note of a", "note of b"]
    text = json.dumps([told, shown])
    assert '"ann"' not in text
    assert '"bob"' not in text


def test_a_decision_is_kept_as_an_answer_is(judy, disputed, service):
    """Exactly once, with its history; it counts for nobody's score, and an undisputed item is not theirs."""
    assert judy.answer("mood-00", 1, 1).status_code == 200
    assert judy.answer("mood-00", 1, 1).json()["seq"] == 1
    assert judy.answer("mood-00", 7, 2).status_code == 400
    assert judy.answer("mood-01", 1, 3).status_code == 404
    decisions = service.store.list_adjudicator_decisions()["judy"]
    assert {item: one.value for item, one in decisions.items()} == {"mood-00": 1}
    assert set(service.store.list_all_answers()) == {"ann", "bob"}
    assert [one.answer.value for one in service.store.changes("judy")] == [1]
    assert judy.post("tasks/mood/finish", {"tab": "t"}).json() == {"finished": True}
    assert judy.answer("mood-00", 0, 4).json()["why"] == "frozen"


def test_what_was_decided_stays_when_people_agree_later(judy, disputed, service):
    """It is still there to be looked at and changed."""
    judy.answer("mood-00", 1, 1)
    _answer(service, "ann", "mood-00", 1, 50)
    (mood,) = [task for task in judy.get("study").json()["tasks"] if task["name"] == "mood"]
    assert mood["items"] == ["mood-00"]
    assert "others" not in judy.get("items/mood-00").json()["payload"]
    assert judy.answer("mood-00", 0, 2).status_code == 200


def test_whoever_was_shown_answers_must_not_annotate(service, browse, disputed):
    """The browser of an adjudicator has seen them: annotating there is noticed. Deciding itself is not."""
    client = browse()
    judy = page_of(client, service.annotator_link("judy"))
    judy.get("items/mood-00")
    judy.answer("mood-00", 1, 1)
    assert service.open_browser_activity_log.exposures() == ()
    page_of(client, service.annotator_link("ann")).answer("mood-01", 0, 60)
    assert [(one.annotator, one.others) for one in service.open_browser_activity_log.exposures()] == [("ann", ("bob",))]


def test_annotators_see_nothing_of_it(ann, disputed, judy):
    """Neither others' answers nor decisions, in any answer of the server."""
    judy.answer("mood-00", 1, 1)
    assert "others" not in ann.get("items/mood-00").text
    assert "adjudicates" not in ann.get("study").text
    assert ann.get("study").json()["answers"]["mood-00"]["value"] == 0


def test_the_owner_sees_how_far_they_are(service, browse, disputed, judy):
    """And their link, apart from those of annotators."""
    judy.answer("pairs-00", 3.0, 1)
    page = browse().get(service.owner_link()).text
    row = page.split('<h2 id="adjudication">')[1].split("</table>")[0]
    cells = [part.split("</tr>")[0] for part in row.split("<tr>")[2:]]
    (pairs,) = [one for one in cells if "pairs" in one]
    assert ('<td class="num">2</td>' in pairs, '<td class="num">1</td>' in pairs) == (True, True)
    assert service.annotator_link("judy") in page


def test_profiles_over_http(study, browse):
    """Only what the study asks, only what it offers; adjudicators are not asked."""
    told = json.loads((study / "study.json").read_text())
    (study / "study.json").write_text(json.dumps({**told, "profile": ["expertise"]}))
    made = open_study_service(study, ["ann"], adjudicators=["judy"], options=StudyRequestRules())
    try:
        ann, judy = (page_of(browse(made), made.annotator_link(who)) for who in ("ann", "judy"))
        (asked,) = ann.get("study").json()["about"]["asked"]
        assert asked["key"] == "expertise"
        settings = {"single_keys": True, "advance": False, "theme": "system"}
        for about, status in (({"expertise": "expert"}, 200), ({"expertise": "guru"}, 400), ({"age": "25–34"}, 400)):
            body = {"name": None, "settings": settings, "about": about}
            assert ann.put("profile", body).status_code == status
        assert ann.get("study").json()["about"]["said"] == {"expertise": "expert"}
        assert "about" not in judy.get("study").json()
        judy.put("profile", {"name": None, "settings": settings, "about": {"expertise": "none"}})
        assert made.store.list_profile_answers() == {"ann": {"expertise": "expert"}}
    finally:
        made.close()


def test_passages_until_decided_have_no_adjudicator(study):
    """Each is graded once."""
    with pytest.raises(UsageError, match="Passages cannot"):
        open_study_service(study, ["ann"], adjudicators=["judy"], until_decided=True)
