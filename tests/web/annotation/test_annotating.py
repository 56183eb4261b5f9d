"""What an annotator's page asks for and sends, by the contract of both."""

from __future__ import annotations

import builtins
import io
import json
import os
from pathlib import Path

import pytest

from embassay.protocols.hume.collection import collect_study_annotations
from embassay.protocols.hume.study import read_study
from embassay.web.annotation.service import open_study_service


@pytest.fixture(params=["sqlite", "postgres"])
def database(request):
    """The contract holds over both."""
    if request.param == "sqlite":
        return None
    server = request.getfixturevalue("team")
    server.clear()
    return server.url


MARKS = [1, 0, 0, 1, 0, 0, 0]


def test_the_study_as_one_annotator_meets_it(ann, bob) -> None:
    """Tasks with labels, scale and practice, items in an order of their own that stays, and no text of an item."""
    told = ann.get("study").json()
    assert told["study"] == "small"
    assert told["annotator"] == {
        "name": None, "settings": {"single_keys": True, "advance": False, "theme": "system"},
    }  # fmt: skip
    assert (told["answers"], told["seq"], told["guidelines_version"]) == ({}, 0, "1")
    assert [task["family"] for task in told["tasks"]] == ["classification", "clustering", "reranking", "sts"]
    mood, *_, pairs = told["tasks"]
    assert set(mood) == {
        "name", "family", "lang", "dir", "title", "question", "labels", "scale", "guidelines_html", "practice", "n",
        "items", "finished",
    }  # fmt: skip
    assert [label["name"] for label in mood["labels"]] == ["sadness", "joy", "anger"]
    assert pairs["scale"]["high"] == 5
    assert mood["practice"][0]["answer"] == 1
    assert ann.get("study").json()["tasks"] == told["tasks"]
    others = bob.get("study").json()["tasks"]
    assert [task["items"] for task in others] != [task["items"] for task in told["tasks"]]
    assert [sorted(task["items"]) for task in others] == [sorted(task["items"]) for task in told["tasks"]]
    assert "A text of" not in json.dumps(told)


def test_items_are_what_is_shown_and_no_more(ann, study) -> None:
    """One by one and a task at once, in the own order; gold is in neither."""
    rows = {row["id"]: row for row in map(json.loads, (study / "items.jsonl").read_text().splitlines())}
    told = ann.get("study").json()
    for task in told["tasks"]:
        whole = ann.get(f"tasks/{task['name']}/items").json()["items"]
        assert [one["id"] for one in whole] == task["items"]
        for item in whole:
            assert item == ann.get(f"items/{item['id']}").json() == rows[item["id"]]


@pytest.mark.parametrize(
    ("item", "value", "kept"),
    [
        ("mood-00", 2, 2), ("mood-00", "2", 2), ("topics-01", " west ", "west"), ("topics-01", 3, "3"),
        ("search-02", MARKS, MARKS), ("search-02", [True, *[False] * 6], [1, *[0] * 6]), ("pairs-00", 4, 4.0),
        ("search-00", {"draft": [1, None, 0, None, None, None, None]}, {"draft": [1, None, 0, None, None, None, None]}),
        ("mood-00", None, None), ("mood-00", "", None),
    ],
)  # fmt: skip
def test_answers_are_stored_in_the_form_of_their_family(ann, item, value, kept) -> None:
    """And come back with the study."""
    saved = ann.answer(item, value, 1, comment="why not").json()
    assert saved["seq"] == 1
    told = ann.get("study").json()
    assert told["seq"] == 1
    assert told["answers"] == {item: {"value": kept, "flag": "", "comment": "why not", "seconds": 2.0, **saved}}


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ("mood-00", 3), ("mood-00", "sadness"), ("mood-00", 1.5), ("mood-00", [0]), ("mood-00", {"draft": [1]}),
        ("mood-00", True), ("topics-00", 1.5), ("topics-00", "x" * 81), ("topics-00", "\0"), ("topics-00", "\ud800"),
        ("topics-00", ["a"]), ("search-00", MARKS[:6]), ("search-00", [2, *MARKS[1:]]), ("search-00", 1),
        ("search-00", "1001000"), ("search-00", [None, *MARKS[1:]]), ("search-00", {"draft": [1]}),
        ("search-00", {"draft": [2, *[None] * 6]}), ("search-00", {"draft": "1111111"}), ("search-00", {"other": 1}),
        ("pairs-00", 3.5), ("pairs-00", -1), ("pairs-00", 6), ("pairs-00", "much"), ("pairs-00", True),
        ("pairs-00", 10**400), ("pairs-00", {}), ("pairs-00", [3]),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused_in_a_sentence(ann, item, value) -> None:
    """And nothing of it is stored, nor repeated."""
    body = {"value": value, "seq": 1, "tab": "t"}
    answer = ann.client.put(
        f"{ann.path}answers/{item}", content=json.dumps(body).encode(),
        headers={**ann.headers, "content-type": "application/json"},
    )  # fmt: skip
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}
    assert str(value) not in answer.text
    assert ann.get("study").json()["answers"] == {}


@pytest.mark.parametrize(
    "change",
    [
        {"seq": 0}, {"seq": 2**60}, {"seq": "1"}, {"seq": None}, {"seconds": -1}, {"seconds": 1e9}, {"tab": ""},
        {"tab": "x" * 65}, {"comment": "x" * 4001}, {"comment": "\0"}, {"flag": 5}, {"paused": -1}, {"more": 1},
        {"annotator": "bob"},
    ],
)  # fmt: skip
def test_fields_of_another_kind_or_length_are_refused(ann, change) -> None:
    """Also those nobody knows."""
    answer = ann.answer("mood-00", 1, **{"seq": 1, **change})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("Cannot read")
    assert ann.get("study").json()["answers"] == {}


def test_sent_twice_it_is_stored_once(ann) -> None:
    """The same number with the same answer is acknowledged again; an older or another one is not taken."""
    first = ann.answer("mood-00", 1, 4)
    assert ann.answer("mood-00", 1, 4).json() == first.json()
    for value, seq in ((1, 3), (2, 4)):
        late = ann.answer("mood-00", value, seq)
        assert late.status_code == 409
        assert late.json()["answer"]["value"] == 1
        assert late.json()["answer"]["seq"] == 4


def test_undo_takes_an_answer_back(ann) -> None:
    """Without a reason it is open again."""
    ann.answer("mood-00", 1, 1)
    assert ann.answer("mood-00", None, 2).status_code == 200
    told = ann.get("study").json()
    assert (told["answers"], told["seq"]) == ({}, 2)


def test_one_tab_writes_at_a_time(ann) -> None:
    """The second is told so, until it takes over; then the first is."""
    assert ann.post("tab", {"tab": "one"}).json() == {"writes": True}
    assert ann.post("tab", {"tab": "two", "take": False}).json() == {"writes": False}
    assert ann.answer("mood-00", 1, 1, tab="two").status_code == 409
    assert ann.post("tab", {"tab": "two", "take": True}).json() == {"writes": True}
    refused = ann.answer("mood-00", 1, 1, tab="one")
    assert (refused.status_code, refused.json()["why"]) == (409, "another_tab")
    assert ann.answer("mood-00", 1, 1, tab="two").status_code == 200


def test_a_task_is_finished_and_then_frozen(ann) -> None:
    """Not while an item is open; one that cannot be judged is decided, with a reason."""
    ann.answer("mood-00", 1, 1)
    ann.answer("mood-01", None, 2, flag=" not in this language ")
    early = ann.post("tasks/mood/finish")
    assert early.status_code == 409
    assert (early.json()["open"], early.json()["flagged"]) == (["mood-02"], ["mood-01"])
    ann.answer("mood-02", 0, 3)
    assert ann.post("tasks/mood/finish", {"tab": "other"}).status_code == 409
    assert ann.post("tasks/mood/finish").status_code == 200
    assert ann.answer("mood-00", 2, 4).status_code == 409
    told = ann.get("study").json()
    assert [task["finished"] for task in told["tasks"]] == [True, False, False, False]
    assert told["answers"]["mood-01"]["flag"] == "not in this language"


def test_name_and_settings_are_kept(ann, bob) -> None:
    """Each has their own."""
    settings = {"single_keys": False, "advance": True, "theme": "dark"}
    assert ann.put("profile", {"name": "  Ann  ", "settings": settings}).status_code == 200
    assert ann.get("study").json()["annotator"] == {"name": "Ann", "settings": settings}
    assert bob.get("study").json()["annotator"]["name"] is None
    assert ann.put("profile", {"name": "x", "settings": {"theme": "pink"}}).status_code == 400


def test_another_start_goes_on_where_the_last_one_stopped(ann, service, study, browse) -> None:
    """With the same link and the same answers."""
    ann.answer("mood-00", 1, 1)
    again = open_study_service(study)
    try:
        assert again.annotator_link("ann") == service.annotator_link("ann") == ann.path
        assert browse(again).get(ann.path + "study").json() == ann.get("study").json()
    finally:
        again.close()


def test_what_was_stored_is_collected(ann, bob, study) -> None:
    """As annotations, with what cannot be judged and without drafts and what was taken back."""
    ann.answer("mood-00", 1, 1)
    ann.answer("search-00", MARKS, 2, comment="hm")
    ann.answer("search-01", {"draft": [1, *[None] * 6]}, 3)
    ann.answer("mood-01", 1, 4)
    ann.answer("mood-01", None, 5)
    bob.answer("pairs-02", None, 1, flag="empty text")
    found = {(one.annotator_id, one.item_id): one for one in collect_study_annotations(read_study(study))}
    assert {key: one.value for key, one in found.items()} == {
        ("ann", "mood-00"): 1, ("ann", "search-00"): tuple(MARKS), ("bob", "pairs-02"): None,
    }  # fmt: skip
    assert found["ann", "search-00"].comment == "hm"
    assert found["bob", "pairs-02"].flag == "empty text"
    assert all(one.seconds == 2.0 and one.kind == "person" and one.ts for one in found.values())


def test_gold_is_never_opened(tmp_path, study, served, browse, monkeypatch) -> None:
    """The server works where there is none; and where there is one, nothing opens it, whatever is asked."""
    opened = []
    for module, name in ((builtins, "open"), (io, "open"), (os, "open")):
        real = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda path, *rest, _real=real, **more: opened.append(str(path)) or _real(path, *rest, **more)
        )
    _whole_round(served(study), browse)
    assert any(path.endswith("items.jsonl") for path in opened)
    assert not [path for path in opened if "gold" in Path(path).name]
    (study / "gold.jsonl").unlink()
    _whole_round(served(study), browse)


def _whole_round(service, browse):
    from .conftest import page_of

    client = browse(service)
    ann = page_of(client, service.annotator_link("ann"))
    for task in ann.get("study").json()["tasks"]:
        ann.get(f"tasks/{task['name']}/items")
        for item in task["items"]:
            assert ann.get(f"items/{item}").status_code == 200
    ann.answer("mood-00", 1, ann.get("study").json()["seq"] + 1)
    owner = service.owner_link()
    for path in ("", "?show=true", "annotations.csv?exposed=true", "annotations.jsonl?exposed=true"):
        assert client.get(owner + path).status_code == 200


def test_a_database_that_goes_away(team, study, browse) -> None:
    """The page is told to wait, without details, and the same answer is stored once it is back."""
    from .conftest import page_of

    team.clear()
    service = open_study_service(study, ["ann"], database=team.url)
    try:
        ann = page_of(browse(service), service.annotator_link("ann"))
        assert ann.answer("mood-00", 1, 1).status_code == 200
        team.stop()
        away = [ann.answer("mood-01", 2, 2), ann.get("study"), ann.client.get("/health")]
        assert [one.status_code for one in away] == [503] * 3
        assert "PostgreSQL" not in "".join(one.text for one in away)
        team.start()
        assert ann.answer("mood-01", 2, 2).status_code == 200
        assert set(ann.get("study").json()["answers"]) == {"mood-00", "mood-01"}
    finally:
        team.start()
        service.close()
