"""What Label Studio and Argilla export beyond what we write: users, skips, drafts, repeats, other shapes."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import DataError, EmbassayError
from embassay.protocols.hume.exchange.argilla import argilla_user_id
from embassay.protocols.hume.exchange.intake import import_files
from embassay.protocols.hume.study import read_study

MARKS = [
    {"from_name": f"relevant_{at}", "type": "choices", "value": {"choices": [said]}}
    for at, said in enumerate(["relevant"] * 2 + ["not relevant"] * 5)
]
KEYS = (
    "id", "data", "annotations", "result", "value", "type", "fields", "responses", "user_id", "label", "items",
    "embassay_item", "choices", "from_name",
)  # fmt: skip


def choice(value, name="label"):
    return {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": [value]}, "id": "x"}


def task(item, *annotations, **more):
    return {"id": 7, "data": {"embassay_item": item}, "annotations": list(annotations), **more}


def annotation(*result, by=1, **more):
    return {"id": 1001, "completed_by": by, "result": list(result), "was_cancelled": False, **more}


@pytest.fixture
def taken(empty, tmp_path):
    """Import a document and return what was made of it, with the rows by annotator and item."""

    def take(document, **arguments):
        path = tmp_path / "export.json"
        path.write_text(json.dumps(document))
        done = import_files(empty, [path], **arguments)
        rows = [json.loads(line) for one in done.written for line in one.read_text().splitlines()]
        return done, {(row["annotator_id"], row["item_id"]): row for row in rows}

    return take


def test_users_of_label_studio(taken):
    """A number, or an object with an e-mail address; renamed if need be."""
    document = [
        task(
            "mood-00", annotation(choice("joy"), by=3), annotation(choice("0"), by={"id": 4, "email": "b@example.com"})
        ),
        task("mood-01", annotation(choice("2"), by=3)),
    ]
    _, rows = taken(document, annotator=("3=ann",))
    assert {key: row["value"] for key, row in rows.items()} == {
        ("ann", "mood-00"): 1, ("b@example.com", "mood-00"): 0, ("ann", "mood-01"): 2,
    }  # fmt: skip


def test_times_of_label_studio(taken):
    """`lead_time` is seconds; when it was made is when it was answered."""
    _, rows = taken([task("mood-00", annotation(choice("joy"), lead_time=4.288, created_at="2026-01-01T00:00:00Z"))])
    row = rows["1", "mood-00"]
    assert (row["seconds"], row["ts"], row["kind"]) == (4.288, "2026-01-01T00:00:00Z", "person")


def test_skips_repeats_drafts_and_predictions(taken):
    """A skip is no value, with a flag; of several annotations of one person the last counts; the rest is left out."""
    document = [
        task("mood-00", annotation(was_cancelled=True)),
        task(
            "mood-01", annotation(choice("joy"), updated_at="2026-01-02"),
            annotation(choice("anger"), updated_at="2026-01-01"),
        ),
        task("mood-02", drafts=[{"result": [choice("joy")]}], predictions=[{"result": [choice("joy")]}]),
        task("mood-03", annotation()),
    ]  # fmt: skip
    done, rows = taken(document)
    assert rows["1", "mood-00"]["flag"] == "skipped"
    assert rows["1", "mood-00"]["value"] is None
    assert rows["1", "mood-01"]["value"] == 1
    assert set(rows) == {("1", "mood-00"), ("1", "mood-01")}
    assert done.left_out == {
        "earlier annotations by the same person": 1, "predictions of a model": 1, "tasks without an annotation": 1,
        "annotations without an answer": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        ("2026-11-20T10:00:00+02:00", "2026-11-20T09:00:00Z", "second"),
        ("2026-11-20T09:00:00Z", "2026-11-20T10:00:00+02:00", "first"),
        ("2026-11-20T23:30:00-05:00", "2026-11-21T01:00:00+00:00", "first"),
        ("2026-11-20T09:00:00.5", "2026-11-20T09:00:00Z", "first"),
        ("2026-11-20T09:00:00Z", "2026-11-20T11:00:00+02:00", "second"),
        (1763629200, "2026-11-20T09:00:00Z", "second"),
        ("yesterday", "2026-11-20T09:00:00Z", "second"),
        ("2026-11-20T09:00:00Z", "", "second"),
    ],
)
def test_the_latest_annotation_is_that_of_the_latest_instant(taken, first, second, counts):
    """Whatever time zones it is written in, UTC where none; where a time is none, the later in the file."""
    annotations = [annotation(choice("joy"), updated_at=first), annotation(choice("anger"), updated_at=second)]
    _, rows = taken([task("mood-01", *annotations)])
    assert rows["1", "mood-01"]["value"] == {"first": 1, "second": 2}[counts]


def test_marks_numbers_and_levels(taken):
    """Documents one by one; a level with its meaning, where the tool did not use its alias; a number; stars."""
    document = [
        task("search-00", annotation(*MARKS)),
        task("pairs-00", annotation(choice("3: much in common", "rating"))),
        task("pairs-01", annotation({"from_name": "rating", "type": "number", "value": {"number": 4}})),
        task("pairs-02", annotation({"from_name": "rating", "type": "rating", "value": {"rating": 2}})),
        task("topics-00", annotation({"from_name": "group", "type": "textarea", "value": {"text": [" a "]}})),
    ]
    _, rows = taken(document)
    assert rows["1", "search-00"]["value"] == [1, 1, 0, 0, 0, 0, 0]
    assert [rows["1", f"pairs-0{at}"]["value"] for at in range(3)] == [3, 4, 2]
    assert rows["1", "topics-00"]["value"] == "a"


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (task("mood-99"), r"task 1 \(id 7\): its item is not"),
        (task("mood-00", annotation(choice("bliss"))), r"annotation 1001: the answer to mood-00 is 'bliss'"),
        (task("search-00", annotation(*MARKS[:5])), "not every document is marked"),
        (task("mood-00", annotation(choice("joy"), by=None)), "no annotator is named"),
        (task("mood-00", {"result": "joy"}), "its result is not a list"),
        (task("mood-00", annotation({"from_name": "label"})), "lacks a type or a value"),
        (task("mood-00", annotation({**choice("joy"), "value": {"choices": ["joy", "anger"]}})), "several values"),
    ],
)
def test_mistakes_of_label_studio(taken, empty, one, told):
    """Named with task and annotation; nothing is written."""
    with pytest.raises(DataError, match=told):
        taken([one])
    assert not list((empty / "annotations").glob("*.jsonl"))


def record(item, responses):
    return {"id": item, "fields": {"text": "x"}, "responses": responses}


def test_statuses_of_argilla(taken):
    """Submitted counts, discarded is no value with a flag, drafts are left out."""
    said = [
        {"value": "1", "user_id": "u1", "status": "submitted"}, {"value": "2", "user_id": "u2", "status": "draft"},
        {"value": "0", "user_id": "u3", "status": "discarded"},
    ]  # fmt: skip
    done, rows = taken([record("mood-00", {"label": said})])
    assert {key[0]: (row["value"], row["flag"]) for key, row in rows.items()} == {
        "u1": (1, ""),
        "u3": (None, "skipped"),
    }
    assert done.left_out == {"drafts": 1}
    assert not done.remarks


def test_the_three_shapes_of_argilla(taken, tmp_path):
    """By question, flat, and as its server sends records; users by name where a file beside says who they are."""
    (tmp_path / "users.json").write_text(json.dumps({argilla_user_id("ann"): "ann"}))
    who = argilla_user_id("ann")
    values = {"document_2", "document_7"}
    nested = record("search-00", {"relevant": [{"value": sorted(values), "user_id": who}]})
    flat = {
        "id": "search-01",
        "relevant.responses": [["none"]],
        "relevant.responses.users": [who],
        "relevant.responses.status": ["submitted"],
    }
    done, rows = taken([nested])
    assert "treated as submitted" in done.remarks[0]
    assert rows["ann", "search-00"]["value"] == [0, 1, 0, 0, 0, 0, 1]
    _, rows = taken([flat])
    assert rows["ann", "search-01"]["value"] == [0] * 7
    values = {"rating": {"value": 5}, "comment": {"value": "ü"}}
    said = {"user_id": who, "status": "submitted", "updated_at": "2026-01-01", "values": values}
    served = {"items": [{"external_id": "pairs-00", "id": "0000", "fields": {}, "responses": [said]}]}
    _, rows = taken(served)
    assert (rows["ann", "pairs-00"]["value"], rows["ann", "pairs-00"]["comment"]) == (5.0, "ü")


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (record("mood-99", {}), r"record 1 \(mood-99\): its item is not"),
        (record("mood-00", {"label": [{"value": "1", "user_id": "u", "status": "late"}]}), "unknown response status"),
        (record("mood-00", {"label": [{"value": "9", "user_id": "u"}]}), "the answer to mood-00 is '9'"),
        (record("mood-00", {"label": [{"value": "1", "user_id": "u"}] * 2}), "user u answered label twice"),
        (
            record("search-00", {"relevant": [{"value": ["document_9"], "user_id": "u"}]}),
            "unknown value for the relevant documents",
        ),
        (
            record("search-00", {"relevant": [{"value": ["none", "document_1"], "user_id": "u"}]}),
            ".none of them. are marked",
        ),
        (record("mood-00", {"label": 3}), "not a list of objects"),
    ],
)
def test_mistakes_of_argilla(taken, one, told):
    """Named with the record."""
    with pytest.raises(DataError, match=told):
        taken([one])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(document=JSON, form=st.sampled_from(["label-studio", "argilla"]))
def test_any_json_is_an_error_of_ours(tmp_path_factory, document, form):
    """Never another one."""
    from embassay.protocols.hume.exchange.argilla import read_argilla_answers
    from embassay.protocols.hume.exchange.label_studio import read_label_studio_answers
    from hume_small import small_study

    place = tmp_path_factory.getbasetemp() / "any"
    if not (place / "study.json").exists():
        small_study(place, 2)
    whole = {
        "id": "mood-00", "data": {"embassay_item": "mood-00"}, "fields": {}, "annotations": document,
        "responses": document,
    }  # fmt: skip
    for one in (document, [whole]):
        (place / "x.json").write_text(json.dumps(one))
        with contextlib.suppress(EmbassayError):
            read = read_label_studio_answers if form == "label-studio" else read_argilla_answers
            read(place / "x.json", read_study(place))
