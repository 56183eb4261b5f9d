"""What the owner of a study sees, and what is held back from who annotates too."""

from __future__ import annotations

import json
import re

import pytest

from embassay.errors import UsageError
from embassay.measures import agreement_band
from embassay.protocols.hume.collection import collect_study_annotations, make_annotation_from_file_row
from embassay.protocols.hume.exchange.intake import import_files
from embassay.protocols.hume.resampling import agreement_intervals
from embassay.protocols.hume.scoring import people_agreement
from embassay.protocols.hume.store import BrowserAnswerAccessLog, SharedBrowserExposure, check_annotators_independent
from embassay.protocols.hume.study import AnnotationRow, read_study
from embassay.web.annotation.overview import make_study_overview
from hume_small import small_study

from .conftest import Page, page_of

MARKS = [[1, 0, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0, 0]]


def _text(html):
    """What is read of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_before_the_first_answer(owner, service) -> None:
    """What is wanted, and both links, which are the personal ones."""
    page = owner.get("").text
    assert "No answers yet: 0 of 24" in page
    assert "fewer than two annotators" in page
    for name in ("ann", "bob"):
        assert f"http://localhost:8000{service.annotator_link(name)}" in page


def test_progress_and_agreement_as_they_are(ann, bob, owner, service) -> None:
    """Counts, medians and the coefficient of the family, computed from the answers alone."""
    for at, (first, second) in enumerate(((0, 0), (1, 1), (2, 1))):
        ann.answer(f"mood-0{at}", first, at + 1, seconds=2.0 + at)
        bob.answer(f"mood-0{at}", second, at + 1, seconds=70.0)
    ann.post("tasks/mood/finish")
    page = _text(owner.get("").text)
    assert "25% of the answers are in: 6 of 24" in page
    assert "3 of 3 ✓ finished 3.0 s per item" in page
    assert "3 of 3 1 min per item" in page
    answers = {"ann": {"0": 0, "1": 1, "2": 2}, "bob": {"0": 0, "1": 1, "2": 1}}
    agreed = people_agreement("classification", answers)
    assert f"Fleiss’ kappa {agreed.value:.3f} {agreed.band}, n under 10 3 2" in page


def test_agreement_is_put_into_words_from_ten_items_on(served, browse, tmp_path) -> None:
    """Before, the values stand in the table, in grey."""
    service = served(small_study(tmp_path / "larger", 10))
    ann, bob = (page_of(browse(service), service.annotator_link(name)) for name in ("ann", "bob"))
    own = Page(browse(service), service.owner_link(), "")
    for at in range(10):
        ann.answer(f"mood-{at:02}", at % 3, at + 1)
        if at == 9:
            assert "once two people have answered the same 10 items" in own.get("").text
        bob.answer(f"mood-{at:02}", at % 3, at + 1)
    band = agreement_band(1.0, "kappa")
    assert "1.000" in _text(own.get("").text)
    assert f"Agreement so far: The mood task – {band}." in own.get("").text


def test_who_has_hardly_begun_is_left_out_of_the_agreement(served, browse, tmp_path) -> None:
    """And is named there, until as much as half as many items are answered as by the other."""
    service = served(small_study(tmp_path / "larger", 10))
    ann, bob = (page_of(browse(service), service.annotator_link(name)) for name in ("ann", "bob"))
    own = Page(browse(service), service.owner_link(), "")
    for at in range(10):
        ann.answer(f"mood-{at:02}", at % 3, at + 1)
    for at in range(5):
        bob.answer(f"mood-{at:02}", at % 3, at + 1)
        assert ("without bob" in _text(own.get("").text)) == (at < 4)


def test_what_cannot_be_judged_and_what_is_remarked(ann, owner) -> None:
    """Counted apart, and shown with the item it is about."""
    ann.answer("pairs-01", None, 1, flag="second text is missing")
    ann.answer("pairs-02", 3, 2, comment="hard\none")
    page = owner.get("").text
    assert "2 of 3" in page
    assert "1 not judged · 1 flagged" in _text(page)
    assert "second text is missing" in page
    assert "hard\none" in page


def test_drafts_and_what_was_taken_back_are_not_done(ann, owner) -> None:
    """They are work in progress."""
    ann.answer("search-00", {"draft": [1, *[None] * 6]}, 1)
    ann.answer("mood-00", 1, 2)
    ann.answer("mood-00", None, 3)
    assert "No answers yet" in owner.get("").text


def test_everybody_has_finished(ann, bob, owner) -> None:
    """Said as the finding."""
    for page in (ann, bob):
        seq = 0
        for task in page.get("study").json()["tasks"]:
            for at, item in enumerate(task["items"]):
                value = {"classification": 1, "clustering": "g", "sts": at, "reranking": MARKS[at]}[task["family"]]
                page.answer(item, value, seq := seq + 1)
            assert page.post(f"tasks/{task['name']}/finish").status_code == 200
    assert "<h1>Everybody has finished</h1>" in owner.get("").text


def test_a_script_that_annotates_is_called_one(service, owner) -> None:
    """In every table."""
    service.store.add_annotator("robot", "simulated")
    page = owner.get("").text
    assert page.count("simulated</span>") == 2
    assert "Simulated annotators are included." in page


def test_export_is_what_is_collected_and_can_be_imported(ann, bob, owner, study, tmp_path) -> None:
    """As JSONL and as CSV, in which nothing begins like a formula of a spreadsheet."""
    ann.answer("mood-01", 2, 1, comment="=1+1")
    bob.answer("search-00", MARKS[0], 1, flag='a, "b"\nc')
    bob.answer("topics-00", "-a", 2)
    found = collect_study_annotations(read_study(study))
    rows = [AnnotationRow(**json.loads(line)) for line in owner.get("annotations.jsonl").text.splitlines()]
    assert [make_annotation_from_file_row(row) for row in rows] == list(found)
    assert len(found) == 3
    answer = owner.get("annotations.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="annotations.csv"'
    assert answer.headers["content-type"].startswith("text/csv")
    assert ",'=1+1" in answer.text
    assert ",'-a," in answer.text
    for kind in ("csv", "jsonl"):
        file = tmp_path / f"sent.{kind}"
        file.write_bytes(owner.get(f"annotations.{kind}").content)
        other = small_study(tmp_path / kind, 3)
        import_files(other, [file])
        taken = {(one.annotator_id, one.item_id): one for one in collect_study_annotations(read_study(other))}
        for one in found:
            back = taken[one.annotator_id, one.item_id]
            assert (back.value, back.flag, back.comment) == (one.value, one.flag, one.comment)


def test_people_who_worked_alone_are_independent(ann, bob, service, tmp_path) -> None:
    """Each in a browser of their own; and where nobody was served there is nothing to say."""
    ann.answer("mood-00", 1, 1)
    bob.answer("mood-00", 1, 1)
    for page in (ann, bob):
        page.get("study")
    check_annotators_independent(service.folder)
    check_annotators_independent(read_study(small_study(tmp_path / "fresh", 3)))


def test_whoever_annotates_is_not_shown_others_answers(service, browse, bob) -> None:
    """The owner's link in the browser of an annotator shows progress only, until asked to show all the same; then the
    annotator has seen others' answers, the export refuses, and says whose."""
    client = browse()
    ann = page_of(client, service.annotator_link("ann"))
    ann.answer("mood-00", 1, 1)
    bob.answer("mood-00", 2, 1, comment="bobs words")
    own = Page(client, service.owner_link(), "")
    held_back = own.get("").text
    assert "Hidden" in held_back
    assert "bobs words" not in held_back
    assert "annotations.csv" not in held_back
    assert service.open_browser_activity_log.exposures() == ()
    shown = own.get("?show=true").text
    assert "bobs words" in shown
    assert service.open_browser_activity_log.exposures() == (SharedBrowserExposure("ann", ("bob",)),)
    for path in ("annotations.csv", "annotations.jsonl"):
        refused = own.get(path)
        assert refused.status_code == 409
        assert "ann" in refused.json()["error"]
        assert own.get(path + "?exposed=true").status_code == 200
    assert "Not independent" in own.get("").text
    with pytest.raises(UsageError, match=r"had shown other people's answers: ann \(shown: bob\)"):
        check_annotators_independent(service.folder)
    assert BrowserAnswerAccessLog(service.store.database).exposures() == service.open_browser_activity_log.exposures()


def test_two_links_in_one_browser_are_noticed(service, browse) -> None:
    """Where the first had answers that the second's browser was shown, and answers are given there."""
    client = browse()
    ann = page_of(client, service.annotator_link("ann"))
    ann.answer("mood-00", 1, 1)
    bob = page_of(client, service.annotator_link("bob"))
    bob.get("study")
    bob.answer("mood-00", 1, 1)
    assert service.open_browser_activity_log.exposures() == ()
    ann.get("study")
    assert service.open_browser_activity_log.exposures() == (SharedBrowserExposure("bob", ("ann",)),)


def test_an_owner_who_only_looks_exposes_nobody(service, ann, bob, owner) -> None:
    """Also when they open everybody's link to see that it works."""
    ann.answer("mood-00", 1, 1)
    bob.answer("mood-00", 1, 1)
    for link in (service.annotator_link("ann"), service.annotator_link("bob")):
        page_of(owner.client, link).get("study")
    owner.get("")
    assert owner.get("annotations.csv").status_code == 200
    assert service.open_browser_activity_log.exposures() == ()


def test_an_overview_of_nobody() -> None:
    """A study whose annotators are still to come."""
    found = make_study_overview([], {}, [], {}, {})
    assert (found.total_answers_wanted, found.decided, found.last_saved_at) == (0, 0, None)


def test_agreement_has_its_interval(served, browse, tmp_path) -> None:
    """Over items, as the results of the study have it; the number of items and people beside it."""
    service = served(small_study(tmp_path / "larger", 12))
    ann, bob = (page_of(browse(service), service.annotator_link(name)) for name in ("ann", "bob"))
    own = Page(browse(service), service.owner_link(), "")
    answers = {"ann": {}, "bob": {}}
    for at in range(12):
        for page, name, value in ((ann, "ann", at % 3), (bob, "bob", at % 3 if at % 4 else 0)):
            page.answer(f"mood-{at:02}", value, at + 1)
            answers[name][f"mood-{at:02}"] = value
    expected = agreement_intervals("classification", answers)["fleiss_kappa"]
    said = f"{expected.value:.3f} {expected.low:.2f}–{expected.high:.2f}"
    assert said in _text(own.get("").text)


def test_tasks_of_one_title_are_told_apart(served, browse, tmp_path) -> None:
    """By the name that the study gives them, wherever a title stands; a title of its own is left alone."""
    folder = small_study(tmp_path / "twins", 4)
    study = json.loads((folder / "study.json").read_text("utf-8"))
    names = [task["name"] for task in study["tasks"]]
    for task in study["tasks"][:2]:
        task["title"] = "Letters"
    (folder / "study.json").write_text(json.dumps(study), "utf-8")
    service = served(folder)
    titles = [
        task["title"] for task in page_of(browse(service), service.annotator_link("ann")).get("study").json()["tasks"]
    ]
    assert titles[:2] == [f"Letters ({name})" for name in names[:2]]
    assert "(" not in "".join(titles[2:])
    page = Page(browse(service), service.owner_link(), "").get("").text
    assert all(f"Letters ({name})" in page for name in names[:2])


def test_the_owner_sees_answers_that_a_calibration_did_not_expect(service, ann, owner) -> None:
    """A pair in the same words that people call different, and no other; nobody who annotates sees it."""
    from dataclasses import replace

    from embassay.protocols.calibration.probability import Calibration, SamenessProbability, SamenessProbabilityCurve
    from embassay.web.annotation.overview import find_pairs_contradicting_system

    curve = SamenessProbabilityCurve("beta", 100, 50, 100, (0.0, 1.0), (0.05, 0.95), (0.0, 0.9), (0.1, 1.0), ())
    made = Calibration("jaccard", "jaccard", "", "pairs", "", "words", 1, None, curve)
    likely = [
        SamenessProbability(0.95, 0.9, 1.0),
        SamenessProbability(0.05, 0.0, 0.1),
        SamenessProbability(0.5, 0.2, 0.8),
    ]
    object.__setattr__(made, "probability", lambda first, second: [likely[len(one) % 3] for one in first])
    task = next(one for one in service.folder.study.tasks if one.family == "sts")
    items = service.items_by_task[task.name][:3]
    assert find_pairs_contradicting_system(made, service.items_by_task, service.folder.study.tasks, {}) == ()
    for seq, item in enumerate(items, 1):
        ann.answer(item.id, 0, seq)
    answers = service.store.list_all_answers()
    found = find_pairs_contradicting_system(made, service.items_by_task, service.folder.study.tasks, answers)
    expected = {item.id for item in items if len(str(item.payload["text1"])) % 3 == 0}
    assert {one.item_id for one in found} == expected
    held = replace(service, calibration=made)
    from starlette.testclient import TestClient

    from embassay.web.annotation.app import make_annotation_app

    page = TestClient(make_annotation_app(held), base_url="http://127.0.0.1").get(held.owner_link()).text
    assert "Unexpected answers" in page
    for one in found:
        assert page.count(one.texts[0]) >= 1, "of a pair both are to be compared"
        assert page.count(one.texts[1]) >= 1
    assert "not expected" not in owner.get("").text
