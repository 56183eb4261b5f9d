"""Passages graded until it is decided: whose turn it is, what is kept, and two people with a server that dies."""

from __future__ import annotations

import importlib.util
import json
import sys
import time

import pytest

from embassay.data.judged_runs import read_entries_in_memory
from embassay.protocols.rag.decision.course import DecisionSettings
from embassay.protocols.rag.decision.population import make_comparison_items_of_runs
from embassay.protocols.rag.decision.protocol import (
    SCHEMA,
    DecisionStudyRecord,
    DecisionStudySetup,
    QueryAndDocumentTexts,
    read_decision_study,
    read_passage_grades,
    save_decision_study,
)
from embassay.runs.folder import read_json_record
from embassay.web.annotation.service import open_study_service

pytest.importorskip("fastapi")

QUERIES = 24


def made_study(path, block=6):
    """Two runs of which the first finds what is right, in passages that say their grade."""
    queries = [f"q{i}" for i in range(QUERIES)]
    right = {query: {f"{query}-a{i}": 5.0 - i for i in range(3)} for query in queries}
    wrong = {query: {f"{query}-b{i}": 5.0 - i for i in range(3)} for query in queries}
    population = make_comparison_items_of_runs(
        {"good": read_entries_in_memory(right, "run", "good"), "bad": read_entries_in_memory(wrong, "run", "bad")},
        "Precision4+@3",
    )
    # No two are alike: whoever waits for the next one waits for another text.
    documents = {
        doc: f"A passage of grade {grade_of(doc)}, number {place}." for place, (_, doc) in enumerate(population.keys)
    }
    texts = QueryAndDocumentTexts({query: f"What is {query}?" for query in queries}, documents)
    save_decision_study(path, DecisionStudySetup(population, DecisionSettings(0.05, 1, block), texts))
    return path


def grade_of(doc):
    """What is right about a passage of the study."""
    return 5 if "-a" in doc else 1


@pytest.fixture
def service(tmp_path):
    """The study, served to ann and bob."""
    found = open_study_service(made_study(tmp_path / "study"), ["ann", "bob"], until_decided=True)
    yield found
    found.close()


def _client(service, name):
    from starlette.testclient import TestClient

    from embassay.web.annotation.app import make_annotation_app

    client = TestClient(make_annotation_app(service), base_url="http://127.0.0.1")
    link = service.annotator_link(name)
    key = client.get(link).text.partition('name="csrf" content="')[2].partition('"')[0]
    return client, link, {"X-CSRF-Token": key}


def _next(client, link):
    told = client.get(f"{link}study").json()
    return told, [item for item in told["tasks"][0]["items"] if item not in told["answers"]]


def _answer(person, item, seq, value):
    client, link, headers = person
    body = {"value": value, "seconds": 1.0, "flag": "", "comment": "", "seq": seq, "tab": "t", "paused": 0}
    return client.put(f"{link}answers/{item}", json=body, headers=headers)


def _grade(service, item):
    doc = service.grading.study.population.keys[int(item[1:])][1]
    return grade_of(doc)


def test_two_people_grade_until_it_is_decided(service) -> None:
    """Each passage goes to one of them; no page names a run; the grades that count are in the file, once each."""
    people = {name: _client(service, name) for name in ("ann", "bob")}
    for turn in range(200):
        name = ("ann", "bob")[turn % 2]
        told, waiting = _next(*people[name][:2])
        if not told["until_decided"]["open"]:
            break
        assert "good" not in json.dumps(told)
        if waiting:
            assert _answer(people[name], waiting[0], turn + 1, _grade(service, waiting[0])).status_code == 200
    _, found = service.grading.update_labelling_study_state()
    assert (found.why, found.best) == ("decided", "good")
    assert found.used < found.needed
    answers = service.store.list_all_answers()
    assert answers["ann"]
    assert not set(answers["ann"]) & set(answers["bob"])
    labels = read_passage_grades(service.grading.path / "labels.jsonl", None, {})
    assert {key: grade_of(key[1]) for key in labels} == labels
    # What follows from the file alone is what the pages said.
    again = read_decision_study(service.grading.path).replay_study_with_labels(labels)
    assert (again.decided.best, again.used) == (0, found.used)
    assert (
        read_json_record(service.grading.path / "decision.json", DecisionStudyRecord, schema=SCHEMA, what="", mend="")
        == found
    )


def test_a_grade_that_steered_what_was_asked_stands(service) -> None:
    """Before its block is whole it can be changed, afterwards not; the same answer sent again is acknowledged."""
    ann = _client(service, "ann")
    seq = 0
    first = None
    while not service.grading.update_labelling_study_state()[0].counted:
        _, waiting = _next(*ann[:2])
        seq += 1
        assert _answer(ann, waiting[0], seq, _grade(service, waiting[0])).status_code == 200
        first = first or waiting[0]
        if seq == 1:
            seq += 1
            assert _answer(ann, first, seq, 3).status_code == 200
    refused = _answer(ann, first, seq + 1, 1)
    assert refused.status_code == 409
    assert refused.json()["why"] == "counted"
    assert refused.json()["answer"]["value"] == 3
    assert _answer(ann, first, 2, 3).status_code == 200


def test_grades_are_from_1_to_5_and_a_flag_is_worth_nothing(service) -> None:
    """A passage that nobody can judge counts as found and worth nothing; other numbers are refused."""
    ann = _client(service, "ann")
    _, waiting = _next(*ann[:2])
    for value in (0, 6, 2.5, "4+"):
        assert _answer(ann, waiting[0], 1, value).status_code == 400
    client, link, headers = ann
    body = {"value": None, "seconds": 1.0, "flag": "broken", "comment": "", "seq": 1, "tab": "t", "paused": 0}
    assert client.put(f"{link}answers/{waiting[0]}", json=body, headers=headers).status_code == 200
    key = service.grading.study.population.keys[int(waiting[0][1:])]
    assert service.grading._collect_median_grades() == {key: 0}


def test_the_owner_sees_where_it_stands(service) -> None:
    """The comparison with its interval, before any answer too."""
    from starlette.testclient import TestClient

    from embassay.web.annotation.app import make_annotation_app

    page = TestClient(make_annotation_app(service), base_url="http://127.0.0.1").get(service.owner_link()).text
    assert "Not decided after 0 labels" in page
    assert "good" in page


def test_served_without_its_option_the_mend_is_the_option(tmp_path) -> None:
    """And where the option is too much, what the folder lacks is named, not what the system calls that."""
    from typer.testing import CliRunner

    from embassay.cli.main import build_app_with_commands
    from embassay.errors import DataError, UsageError
    from hume_small import small_study

    told = CliRunner().invoke(build_app_with_commands("hume"), ["hume", "serve", str(made_study(tmp_path / "a"))])
    assert isinstance(told.exception, UsageError)
    assert told.exception.mend == "Add --until-decided."
    other = small_study(tmp_path / "b", 3)
    told = CliRunner().invoke(build_app_with_commands("hume"), ["hume", "serve", str(other), "--until-decided"])
    assert isinstance(told.exception, DataError)
    assert "found no terms.json" in str(told.exception)


@pytest.fixture(scope="module")
def annotators(root):
    """The scripted annotators of the benchmark: their server can be killed."""
    spec = importlib.util.spec_from_file_location("annotators", root / "benchmarks" / "annotators.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["annotators"] = module
    spec.loader.exec_module(module)
    return module


SHOWN = "[...document.querySelectorAll('section.text .data')].at(-1)?.innerText ?? ''"
HEADING = "document.querySelector('h1')?.innerText ?? ''"
"""What is read in one go: between two looks the page may show another view."""


def _press(page, grade) -> None:
    """Grade the passage that is shown, by keyboard, and wait for the next view."""
    place = page.evaluate(SHOWN)
    page.wait_for_timeout(200)
    page.keyboard.press(str(grade))
    page.wait_for_timeout(60)
    page.keyboard.press("Enter")
    end = time.monotonic() + 30
    while place and page.evaluate(SHOWN) == place:
        if time.monotonic() > end or page.evaluate(HEADING) != "How well does the passage answer the question?":
            return
        page.wait_for_timeout(30)


@pytest.mark.browser
def test_two_people_in_browsers_and_a_server_that_is_killed(annotators, tmp_path) -> None:
    """By keyboard, kill -9 in the middle: it goes on where it was, every grade is there once, and it is decided."""
    import chromium

    study = made_study(tmp_path / "study")
    served = annotators.Served(study, ("ann", "bob"), more=("--until-decided",))
    graded = {"ann": 0, "bob": 0}
    with chromium.opened() as browser:
        pages = {}
        for name in graded:
            page = browser.new_context(viewport={"width": 1000, "height": 800}).new_page()
            page.goto(served.links[name])
            page.get_by_role("button", name="Start").click()
            page.get_by_role("button", name="Skip the practice").click()
            pages[name] = page
        killed = False
        for turn in range(400):
            name = ("ann", "bob")[turn % 2]
            page = pages[name]
            page.wait_for_selector("h1")
            head, text = page.evaluate(f"[{HEADING}, {SHOWN}]")
            if head == "The study is decided":
                break
            if head != "How well does the passage answer the question?":
                page.keyboard.press("Enter")
                page.wait_for_timeout(300)
                continue
            _press(page, 5 if "grade 5" in text else 1)
            graded[name] += 1
            if sum(graded.values()) == 9 and not killed:
                killed = True
                page.wait_for_timeout(300)
                served.kill()
                served.start()
        for page in pages.values():
            page.get_by_role("button", name="Check again").click() if page.get_by_role(
                "button", name="Check again"
            ).count() else None
    assert killed
    served.stop()
    found = read_json_record(study / "decision.json", DecisionStudyRecord, schema=SCHEMA, what="", mend="")
    assert (found.why, found.best) == ("decided", "good")
    assert found.used <= sum(graded.values())
    labels = read_passage_grades(study / "labels.jsonl", None, {})
    assert {key: grade_of(key[1]) for key in labels} == labels
    rows = (study / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(rows) == len(labels)
