"""What a study asks of people, and who decides where they disagree, in a browser by keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from chromium import axe_findings
from embassay.protocols.hume.store import Draft

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_welcome_page_asks_what_the_study_asks(
    serve: Callable[..., Any], visit: Callable[..., Any]
) -> None:
    """Kept at once, by keyboard; what is left open is no answer; what waits is sent when the server is back, and the
    page shows it again."""
    serving = serve("pairs", profile=("language", "expertise"))
    ann = visit(serving.link, width=390, height=844, color_scheme="dark", bypass_csp=True)
    assert ann.page.locator("select").count() == 2
    assert axe_findings(ann.page) == []
    ann.tab_to("How well do you read English?")
    ann.page.keyboard.press("ArrowDown")
    ann.settle()
    assert serving.service.store.profiles() == {"ann": {"language:eng": "native"}}
    serving.stop()
    ann.tab_to("Which describes you best?")
    ann.page.keyboard.press("ArrowDown")
    ann.settle()
    serving.start()
    ann.page.reload()
    ann.page.wait_for_selector("h1")
    ann.settle()
    assert serving.service.store.profiles() == {"ann": {"language:eng": "native", "expertise": "expert"}}
    assert ann.page.locator("select").evaluate_all("all => all.map((one) => one.value)") == [
        "native",
        "expert",
    ]
    ann.press("Enter")
    assert "#welcome" not in ann.page.url


def _answer(serving: Any, who: str, **values: Any) -> None:
    store = serving.service.store
    store.add_annotator(who)
    for seq, (name, value) in enumerate(values.items(), 1):
        task, _, place = name.rpartition("_")
        store.save(who, task, Draft(f"{task}/{place}", value, seq, 2.0, tab=who))


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
    assert {item: one.value for item, one in serving.service.store.decisions()["judy"].items()} == {
        "emotion/3": 5, "emotion/1": 1,
    }  # fmt: skip
    judy.at("sort/topics")
    letters = judy.page.locator(".others li").all_inner_texts()
    assert [one[:1] for one in letters] == ["A", "B"]
    assert axe_findings(judy.page, within="#stage") == []
    assert serving.answers().keys() == {
        "emotion/0",
        "emotion/1",
        "emotion/3",
        *(f"topics/{n}" for n in range(6)),
    }
