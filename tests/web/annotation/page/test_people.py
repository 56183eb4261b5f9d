"""What a study asks of people, and who decides where they disagree, in a browser by keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from chromium import COLOURS, axe_findings
from embassay.protocols.hume.store import SubmittedAnswer

from ..test_grading import grade_of, made_study
from .conftest import Serving

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_welcome_page_asks_what_the_study_asks(serve: Callable[..., Any], visit: Callable[..., Any]) -> None:
    """Kept at once, by keyboard; what is left open is no answer; what waits is sent when the server is back, and the
    page shows it again."""
    serving = serve("pairs", profile=("language", "expertise"))
    ann = visit(serving.link, width=390, height=844, color_scheme="dark", bypass_csp=True)
    assert ann.page.locator("select").count() == 2
    assert axe_findings(ann.page) == []
    ann.tab_to("How well do you read English?")
    ann.page.keyboard.press("ArrowDown")
    ann.settle()
    assert serving.service.store.list_profile_answers() == {"ann": {"language:eng": "native"}}
    serving.stop()
    ann.tab_to("Which describes you best?")
    ann.page.keyboard.press("ArrowDown")
    ann.settle()
    serving.start()
    ann.page.reload()
    ann.page.wait_for_selector("h1")
    ann.settle()
    assert serving.service.store.list_profile_answers() == {"ann": {"language:eng": "native", "expertise": "expert"}}
    assert ann.page.locator("select").evaluate_all("all => all.map((one) => one.value)") == ["native", "expert"]
    ann.press("Enter")
    assert "#welcome" not in ann.page.url


def _answer(serving: Any, who: str, **values: Any) -> None:
    store = serving.service.store
    store.add_annotator(who)
    for seq, (name, value) in enumerate(values.items(), 1):
        task, _, place = name.rpartition("_")
        store.save(who, task, SubmittedAnswer(f"{task}/{place}", value, seq, 2.0, tab=who))


def test_deciding_by_keyboard(serve: Callable[..., Any], visit: Callable[..., Any]) -> None:
    """The farthest apart first, with what people answered and no name; decisions survive a server that went away, and
    groups show whose text was with whom by letters."""
    serving = serve("emotion", "topics", adjudicators=("judy",))
    topics = {f"topics_{place}": f"{place % 2 + 1} g{place % 2}" for place in range(6)}
    _answer(serving, "ann", emotion_0=4, emotion_1=0, emotion_3=5, **topics)
    _answer(serving, "bob", emotion_0=4, emotion_1=1, emotion_3=2, **{**topics, "topics_0": "2 g1"})
    _answer(serving, "eve", emotion_1=1, emotion_3=3)
    judy = visit(serving.link_of("judy"), bypass_csp=True)
    assert "decide" in judy.page.locator(".lede").inner_text()
    judy.at("item/emotion/0")
    assert judy.page.locator(".others li").all_inner_texts() == ["1 × love", "1 × anger", "1 × surprise"]
    assert not re.search(r"\b(ann|bob|eve)\b", judy.page.locator("body").inner_text())
    assert axe_findings(judy.page) == []
    judy.press("6", "Enter")
    assert judy.page.locator(".others li").first.inner_text() == "2 × joy"
    serving.stop()
    judy.press("2")
    judy.until("document.querySelector('#saved').textContent.includes('not yet sent')")
    serving.start()
    judy.is_saved()
    assert {item: one.value for item, one in serving.service.store.list_adjudicator_decisions()["judy"].items()} == {
        "emotion/3": 5, "emotion/1": 1,
    }  # fmt: skip
    judy.at("sort/topics")
    letters = judy.page.locator(".others li").all_inner_texts()
    assert [one[:1] for one in letters] == ["A", "B"]
    # Both put 2 and 4 together, and one of them 0 with these.
    judy.page.locator(".card[data-id='topics/2']").click()
    beside = judy.page.eval_on_selector_all(".card", "all => all.map(one => [one.dataset.id, one.dataset.with || ''])")
    assert {name: len(said.split(", ")) for name, said in beside if said} == {"topics/4": 2, "topics/0": 1}
    assert axe_findings(judy.page, within="#stage") == []
    assert serving.answers().keys() == {"emotion/0", "emotion/1", "emotion/3", *(f"topics/{n}" for n in range(6))}


def _readable(page: Any) -> list[str]:
    """What axe finds in light, and of colours in dark."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    found = axe_findings(page, least="serious")
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    found += axe_findings(page, only=COLOURS, least="serious")
    page.emulate_media(color_scheme="light")
    return found


QUESTION = "How well does the passage answer the question?"


def test_grading_by_keyboard(tmp_path: Path, visit: Callable[..., Any]) -> None:
    """From the welcome page over practice until it is decided, without a mouse; every page reads well and asks no
    questions
    but its server."""
    pytest.importorskip("axe_playwright_python")
    serving = Serving(made_study(tmp_path / "study"), until_decided=True)
    try:
        ann = visit(serving.link, bypass_csp=True)
        hosts: set[str | None] = set()
        ann.page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
        found = {"welcome": _readable(ann.page)}
        ann.press("Enter")
        found["instructions"] = _readable(ann.page)
        ann.press("Enter")
        found["practice"] = _readable(ann.page)
        while "Practice" in ann.page.locator("#stage").inner_text():
            ann.press("5", "Enter")
            found["explained"] = _readable(ann.page) if "explained" not in found else []
            ann.press("Enter")
        assert ann.heading == QUESTION
        found["passage"] = _readable(ann.page)
        graded = 0
        while ann.heading != "The study is decided" and graded < 150:
            if ann.heading == QUESTION:
                text = ann.page.locator("section.text .data").last.inner_text()
                ann.press("5" if "grade 5" in text else "1")
                graded += 1
            ann.press("Enter")
        assert ann.heading == "The study is decided"
        found["decided"] = _readable(ann.page)
        assert {place: one for place, one in found.items() if one} == {}
        assert hosts <= {"127.0.0.1"}
        _, standing = serving.service.grading.update_labelling_study_state()
        assert (standing.why, standing.best) == ("decided", "good")
        values = {
            serving.service.grading.study.population.keys[int(item[1:])][1]: value
            for item, value in serving.values().items()
        }
        assert values == {doc: grade_of(doc) for doc in values}
    finally:
        serving.stop()
