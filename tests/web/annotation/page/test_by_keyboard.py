"""A person annotates each family by keyboard alone, in a real browser against the real server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Visit = Callable[..., Any]
Serve = Callable[..., Any]


def _begin(person: Any, name: str = "Ann") -> None:
    """From the welcome page to the instructions."""
    assert person.heading == "Welcome"
    person.tab_to("Your name")
    person.type(name)
    person.press("Enter")


def _finish(person: Any, serving: Any, task: str) -> None:
    person.is_saved()
    assert person.heading == "All items are decided"
    person.tab_to("Finish this task")
    person.press("Enter")
    person.until("document.querySelector('h1').textContent === 'Thank you'")
    assert task in serving.service.store.finished()["ann"]


def test_sentence_pairs(serve: Serve, visit: Visit) -> None:
    """Practice, choices, a closed tab, undo after coming back, finish; then nothing changes any more."""
    serving = serve("pairs")
    person = visit(serving.link)
    _begin(person)
    assert person.heading == "Sentence pairs"
    person.press("Enter")
    assert "does not count" in person.page.locator(".practice").inner_text()
    person.press("3", "Enter")
    assert "5, same meaning" in person.page.locator(".explained").inner_text()
    assert "You answered: 3" in person.page.locator(".explained").inner_text()
    person.press("Enter")
    assert serving.answers() == {}
    person.press("2", "Enter", "4", "Enter", "0")
    person.is_saved()
    order = serving.order("pairs")
    assert serving.values() == {order[0]: 2, order[1]: 4, order[2]: 0}
    context = person.page.context
    person.page.close()

    again = visit(serving.link, context=context)
    again.page.wait_for_selector("input:checked", state="attached")
    assert again.page.locator(".place").inner_text() == "3 of 4"
    again.press("Backspace")
    again.is_saved()
    assert order[2] not in serving.values()
    again.press("Backspace")
    assert again.page.locator(".place").inner_text() == "2 of 4"
    again.is_saved()
    assert serving.values() == {order[0]: 2}
    again.press("3", "ArrowRight", "Enter", "5", "Enter", "ArrowRight", "Enter")
    _finish(again, serving, "pairs")
    assert serving.values() == {order[0]: 2, order[1]: 4, order[2]: 5, order[3]: 0}
    again.at("item/pairs/0")
    again.press("5", "Backspace")
    again.settle()
    assert serving.values()[order[0]] == 2


def test_half_steps(serve: Serve, visit: Visit) -> None:
    """With a step of a half the arrows go by halves and digits choose whole levels."""
    serving = serve("halves")
    person = visit(serving.link)
    _begin(person)
    person.press("Enter", "2", "ArrowRight", "Enter", "ArrowLeft", "ArrowLeft", "Enter")
    order = serving.order("halves")
    _finish(person, serving, "halves")
    assert serving.values() == {order[0]: 2.5, order[1]: 4.5}


def test_labels(serve: Serve, visit: Visit) -> None:
    """Digits go by place, arrows by row and column; Enter without a choice says what is missing."""
    serving = serve("emotion")
    person = visit(serving.link)
    _begin(person)
    person.tab_to("Skip the practice")
    person.press("Enter", "Enter")
    assert person.page.locator("#status").inner_text() == "Choose a label first."
    person.press("5", "Enter", "Numpad1")
    assert person.page.locator("input:checked").count() == 0, "without Num Lock it is the key End"
    person.press("Shift+Numpad1", "ArrowDown", "Enter")
    person.press("2", "ArrowRight", "ArrowLeft", "ArrowLeft", "Enter", "6", "Shift+Enter")
    assert person.page.locator(".place").inner_text() == "3 of 4"
    person.press("Enter", "Enter")
    _finish(person, serving, "emotion")
    order = serving.order("emotion")
    assert serving.values() == {order[0]: 4, order[1]: 3, order[2]: 0, order[3]: 5}


def test_many_labels(serve: Serve, visit: Visit) -> None:
    """More than ten labels: letters open the field that finds them, Enter takes the first, 0 is the tenth."""
    serving = serve("tones")
    person = visit(serving.link)
    _begin(person)
    person.press("Enter", "r")
    person.type("em")
    assert person.page.locator(".option:not([hidden])").all_inner_texts() == ["remorse"]
    person.press("Enter", "Enter", "0", "Enter")
    _finish(person, serving, "tones")
    order = serving.order("tones")
    assert serving.values() == {order[0]: "remorse", order[1]: "embarrassment"}


def test_documents(serve: Serve, visit: Visit) -> None:
    """Each document gets its mark and the next open one follows; Enter waits for all; drafts are kept."""
    serving = serve("news")
    person = visit(serving.link)
    _begin(person)
    person.press("Enter", "1", "2", "Enter")
    assert "Matches the instructions" in person.page.locator(".explained").inner_text()
    person.press("Enter", "1", "1", "2", "Enter")
    order = serving.order("news")
    assert "4 documents still open" in person.page.locator("#status").inner_text()
    person.is_saved()
    assert serving.values() == {order[0]: {"draft": [1, 1, 0, None, None, None, None]}}
    context = person.page.context
    person.page.close()

    again = visit(serving.link, context=context)
    again.page.wait_for_selector(".row[aria-current]")
    assert "4" in again.page.locator(".row[aria-current] .n").inner_text()
    again.press("Backspace", "ArrowDown", "1", "2", "1", "2", "2", "Enter")
    again.press("ArrowUp", "ArrowDown", "ArrowDown", *("2" * 7), "Enter")
    _finish(again, serving, "news")
    assert serving.values() == {order[0]: [1, 1, 0, 1, 0, 1, 0], order[1]: [0] * 7}


def test_groups(serve: Serve, visit: Visit) -> None:
    """Names are typed, digits use the groups there are, a step back undoes, and Enter ends it when all is sorted."""
    serving = serve("topics")
    person = visit(serving.link)
    _begin(person)
    person.tab_to("Skip the practice")
    person.press("Enter")
    person.type("stars")
    person.press("Enter", "1")
    person.type("robots 2")
    person.press("Enter", "2", "1", "Backspace", "Enter")
    assert "2 texts still to sort" in person.page.locator("#status").inner_text()
    person.press("ArrowDown", "2")
    person.type("STA")
    person.press("ArrowDown", "Enter")
    person.is_saved()
    groups = sorted(serving.values().values())
    assert groups == ["1 stars", "1 stars", "1 stars", "2 robots 2", "2 robots 2", "2 robots 2"]
    person.press("Enter")
    _finish(person, serving, "topics")


def test_rename_and_merge(serve: Serve, visit: Visit) -> None:
    """A group gets another name, two become one, and one step back parts them again."""
    serving = serve("topics")
    person = visit(serving.link)
    _begin(person)
    person.tab_to("Skip the practice")
    person.press("Enter")
    for name in ("a", "b"):
        person.type(name)
        person.press("Enter")
    person.tab_to("Rename or merge b")
    person.press("Enter")
    person.page.keyboard.press("Control+a")
    person.type("beta")
    person.press("Enter")
    person.is_saved()
    assert sorted(serving.values().values()) == ["1 a", "2 beta"]
    person.page.get_by_role("button", name="Rename or merge beta").click()
    person.page.get_by_role("dialog").get_by_role("button", name="a", exact=True).click()
    person.is_saved()
    assert sorted(serving.values().values()) == ["1 a", "1 a"]
    person.press("Backspace")
    person.is_saved()
    assert sorted(serving.values().values()) == ["1 a", "2 beta"]


def test_a_text_in_no_group(serve: Serve, visit: Visit) -> None:
    """A text that cannot be judged waits no longer; the focus stays on a text that was chosen by Tab."""
    serving = serve("topics")
    person = visit(serving.link + "#sort/topics")
    person.page.wait_for_selector(".card")
    order = serving.order("topics")
    person.tab_to(person.page.locator(".unsorted .card").nth(1).inner_text())
    person.press("Enter")
    assert person.page.evaluate("document.activeElement.dataset.id") == order[1]
    assert person.page.locator(".card[aria-pressed=true]").get_attribute("data-id") == order[1]
    person.tab_to("Flag")
    person.press("Enter")
    person.type("cut off")
    person.tab_to("Cannot judge")
    person.press("Enter")
    assert person.page.locator(".unsorted h2").all_inner_texts() == ["To sort: 5 left", "Cannot be judged"]
    person.at("sort/topics")
    person.type("all")
    person.press("Enter", "1", "1", "1", "1")
    person.is_saved()
    assert person.page.locator(".unsorted h2").first.inner_text() == "All texts are sorted"
    person.page.locator("#question").focus()
    person.press("Enter")
    _finish(person, serving, "topics")
    assert set(serving.values().values()) == {"1 all"}
    assert serving.answers()[order[1]].value is None


def test_several_tasks(serve: Serve, visit: Visit) -> None:
    """The list of tasks says how far each is; the next one follows a finished one."""
    serving = serve("halves", "arabic")
    person = visit(serving.link)
    _begin(person)
    assert person.heading == "Your tasks"
    person.tab_to("Begin Pairs in half steps")
    person.press("Enter", "Enter", "1", "Enter", "2", "Enter")
    _finish(person, serving, "halves")
    person.tab_to("Next:")
    person.press("Enter", "Enter", "1", "Enter")
    person.tab_to("Tasks")
    person.press("Enter")
    states = person.page.locator(".tasks .state").all_inner_texts()
    assert states == ["✓ finished", "◔ started"]


def test_enter_alone_leads_to_the_first_item(serve: Serve, visit: Visit) -> None:
    """From the welcome page to the first open task, its instructions and its practice."""
    person = visit(serve("pairs", "emotion").link)
    person.press("Enter")
    person.until("document.querySelector('h1').textContent === 'Your tasks'")
    person.press("Enter")
    person.until("document.querySelector('h1').textContent !== 'Your tasks'")
    person.press("Enter")
    assert person.page.locator(".practice").count() == 1


def test_practice_explains_a_right_answer_too(serve: Serve, visit: Visit) -> None:
    """It says so, and why, and nothing else; a wrong one also what was answered."""
    person = visit(serve("emotion").link + "#practice/emotion/0")
    person.page.wait_for_selector(".practice")
    person.settle()
    person.press("2", "Enter")
    explained = person.page.locator(".explained")
    assert explained.locator("> *").count() == 2
    right = explained.inner_text().split("\n")
    assert [line for line in right if line] == ["✓ Matches the instructions", "Relief belongs to joy."]
    person.press("Backspace")
    person.at("told/emotion")
    person.at("practice/emotion/0")
    person.press("1", "Enter")
    wrong = [line for line in explained.inner_text().split("\n") if line]
    assert wrong == ["The instructions give: joy", "You answered: sadness", "Relief belongs to joy."]
    grounds = explained.locator("> *").evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
    assert len(set(grounds)) == 1
