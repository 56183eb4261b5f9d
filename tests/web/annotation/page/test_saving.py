"""No answer is lost: without a connection, in two tabs, from two browsers, and after a hasty hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Visit = Callable[..., Any]
Serve = Callable[..., Any]


def _at_items(serving: Any, visit: Visit, task: str, **options: Any) -> Any:
    person = visit(serving.link + f"#item/{task}/0", **options)
    person.page.wait_for_selector(".option")
    person.settle()
    return person


def test_no_connection_then_back(serve: Serve, visit: Visit) -> None:
    """Answers wait in the browser, are counted, survive a closed tab, block the end, and are sent when it is back."""
    serving = serve("pairs")
    person = _at_items(serving, visit, "pairs")
    person.settle()
    serving.stop()
    person.press("2", "Enter", "4", "Enter", "1", "Enter", "3", "Enter")
    person.until("document.querySelector('#saved').textContent.startsWith('4 answers wait')")
    assert person.saved == "4 answers wait in this browser, not yet sent"
    assert person.page.get_by_role("button", name="Send now").is_visible()
    finish = person.page.get_by_role("button", name="Finish this task")
    assert finish.get_attribute("aria-disabled") == "true"
    asked = []
    person.page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    context = person.page.context
    with person.page.expect_event("close"):
        person.page.close(run_before_unload=True)
    assert asked == ["beforeunload"]

    serving.start()
    again = visit(serving.link, context=context)
    again.is_saved()
    order = serving.order("pairs")
    assert serving.values() == dict(zip(order, [2, 4, 1, 3], strict=True))


def test_sent_once_when_the_server_comes_back(serve: Serve, visit: Visit) -> None:
    """A page that stays open sends by itself, the newest answer to each item only."""
    serving = serve("pairs")
    person = _at_items(serving, visit, "pairs")
    person.settle()
    serving.stop()
    person.press("2", "3", "4", "Enter", "1")
    person.until("document.querySelector('#saved').textContent.startsWith('2 answers wait')")
    serving.start()
    person.is_saved(40)
    order = serving.order("pairs")
    assert serving.values() == {order[0]: 4, order[1]: 1}
    assert len([one for one in serving.service.store.changes("ann") if one.answer.item_id == order[0]]) <= 2


def test_second_tab_reads_until_it_takes_over(serve: Serve, visit: Visit) -> None:
    """One tab writes; the other says so and can take over, and then the first one reads."""
    serving = serve("pairs")
    first = _at_items(serving, visit, "pairs")
    first.press("2")
    first.is_saved()
    second = _at_items(serving, visit, "pairs", context=first.page.context)
    assert "open in another tab" in second.page.locator(".notice.reading").inner_text()
    assert second.page.locator("input:checked").get_attribute("value") == "2"
    second.press("5")
    second.settle()
    assert serving.values() == {serving.order("pairs")[0]: 2}
    second.page.get_by_role("button", name="Answer here instead").click()
    second.until("!document.querySelector('.notice.reading')")
    second.page.wait_for_selector(".option")
    first.page.wait_for_selector(".notice.reading")
    second.press("4")
    second.is_saved()
    assert serving.values() == {serving.order("pairs")[0]: 4}
    first.press("1")
    first.settle()
    assert serving.values() == {serving.order("pairs")[0]: 4}


def test_another_browser_answered_later(serve: Serve, visit: Visit) -> None:
    """What waits in one browser does not overwrite a later answer from another; the page says so."""
    serving = serve("pairs")
    first = _at_items(serving, visit, "pairs")
    first.settle()
    first.page.context.set_offline(True)
    first.press("2")
    first.until("document.querySelector('#saved').textContent.includes('waits')")
    other = _at_items(serving, visit, "pairs")
    other.page.get_by_role("button", name="Answer here instead").click()
    other.until("!document.querySelector('.notice.reading')")
    other.page.wait_for_selector(".option")
    other.press("3", "5")
    other.is_saved()
    other.page.close()
    first.page.context.set_offline(False)
    first.page.wait_for_selector(".notice", timeout=20000)
    if first.page.locator(".notice.reading").count():
        first.page.get_by_role("button", name="Answer here instead").click()
    first.page.wait_for_selector(".notice.warning", timeout=20000)
    assert "answered later in another browser" in first.page.locator(".notice.warning").inner_text()
    assert serving.values() == {serving.order("pairs")[0]: 5}
    first.page.wait_for_selector("input[value='5']:checked", state="attached")


def test_keys_that_do_not_count(serve: Serve, visit: Visit) -> None:
    """Modifiers, a held key, a second Enter at once, an unfinished word of an input method, text fields."""
    serving = serve("pairs")
    person = _at_items(serving, visit, "pairs")
    page = person.page
    person.press("Alt+2", "Meta+3")
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', {code: 'Digit2', key: '2', isComposing: true}))")
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', {code: 'Digit3', key: '3', repeat: true}))")
    assert page.locator("input:checked").count() == 0
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', {code: 'Digit4', key: '٤'}))")
    assert page.locator("input:checked").get_attribute("value") == "4", "by place, not by character"
    # In one go: on a busy machine three presses from here are no longer "at once".
    page.evaluate(
        """[['Enter', 'Enter'], ['Digit5', '5'], ['Enter', 'Enter']].forEach(([code, key]) =>
            document.dispatchEvent(new KeyboardEvent('keydown', {code, key})))"""
    )
    person.settle()
    assert page.locator(".place").inner_text() == "2 of 4"
    assert page.locator("input:checked").count() == 0, "too soon after a save"
    page.get_by_role("button", name="Flag").click()
    person.type("12 of 345")
    person.press("Enter")
    assert page.locator("input:checked").count() == 0
    assert "Flagged: 12 of 345 (saved with your answer)" in page.locator(".flagged").inner_text()


def test_single_keys_off(serve: Serve, visit: Visit) -> None:
    """Without keys of one character digits do nothing; arrows and Enter still do all of it."""
    serving = serve("pairs")
    person = _at_items(serving, visit, "pairs")
    person.page.get_by_role("button", name="Settings").click()
    person.page.get_by_label("Single-character keys").uncheck()
    person.press("Escape", "3", "?")
    assert person.page.locator("input:checked").count() == 0
    assert person.page.locator("dialog").count() == 0
    person.press("ArrowRight", "ArrowRight", "Enter")
    person.is_saved()
    assert serving.values() == {serving.order("pairs")[0]: 1}
    assert serving.service.store.annotator("ann").settings["single_keys"] is False


def test_advance_at_once(serve: Serve, visit: Visit) -> None:
    """A choice goes on by itself, with a way back for five seconds."""
    serving = serve("pairs")
    person = _at_items(serving, visit, "pairs")
    person.page.get_by_role("button", name="Settings").click()
    person.page.get_by_label("Advance at once").check()
    person.press("Escape", "3")
    assert person.page.locator(".place").inner_text() == "2 of 4"
    toast = person.page.locator("#toast")
    assert "Saved: 3, roughly the same" in toast.inner_text()
    toast.get_by_role("button", name="Undo").click()
    person.until("document.querySelector('.place').textContent === '1 of 4'")
    person.is_saved()
    assert serving.values() == {}


def test_advance_at_once_after_the_last_document(serve: Serve, visit: Visit) -> None:
    """With several documents it is the last mark that goes on."""
    serving = serve("news")
    person = _at_items(serving, visit, "news")
    person.page.get_by_role("button", name="Settings").click()
    person.page.get_by_label("Advance at once").check()
    person.press("Escape", *"122222")
    assert person.page.locator(".place").inner_text() == "1 of 2"
    person.press("2")
    assert person.page.locator(".place").inner_text() == "2 of 2"
    assert "Saved: 1 of 7 relevant." in person.page.locator("#toast").inner_text()
    person.is_saved()
    assert serving.values() == {serving.order("news")[0]: [1, 0, 0, 0, 0, 0, 0]}


def test_flag_and_cannot_judge(serve: Serve, visit: Visit) -> None:
    """A flag goes with an answer; "cannot judge" needs a reason, counts as decided, and one step takes it back."""
    serving = serve("pairs")
    person = _at_items(serving, visit, "pairs")
    page = person.page
    order = serving.order("pairs")
    page.get_by_role("button", name="Flag").click()
    page.get_by_role("button", name="Cannot judge").click()
    assert "Say briefly" in page.locator(".wrong").inner_text()
    person.type("<b>empty</b> text")
    page.get_by_label("Comment for the owner").fill("see source")
    page.get_by_role("button", name="Cannot judge").click()
    person.is_saved()
    held = serving.answers()[order[0]]
    assert (held.value, held.flag, held.comment) == (None, "<b>empty</b> text", "see source")
    assert "Cannot be judged: <b>empty</b> text" in page.locator(".flagged").inner_text()
    assert page.locator(".flagged b").count() == 0
    person.press("Backspace")
    person.is_saved()
    assert serving.answers()[order[0]].flag == ""
    page.get_by_role("button", name="Flag").click()
    person.type("odd")
    person.press("Enter", "2")
    person.is_saved()
    held = serving.answers()[order[0]]
    assert (held.value, held.flag) == (2, "odd")
    person.press("Backspace")
    person.is_saved()
    held = serving.answers()[order[0]]
    assert (held.value, held.flag) == (None, ""), "a flag without an answer would say that there can be none"
    assert "Flagged: odd" in page.locator(".flagged").inner_text()
    person.at("check/pairs")
    assert person.heading == "4 items still open"
    assert page.locator("section:has(h2:text('Flagged')) li").count() == 1


def test_flag_by_keyboard(serve: Serve, visit: Visit) -> None:
    """Enter in the reason keeps the flag and closes the window for good; an answer and a comment go with it."""
    serving = serve("pairs")
    person = _at_items(serving, visit, "pairs")
    person.press("2")
    person.tab_to("Flag")
    person.press("Enter")
    person.type("twice")
    person.tab_to("Comment")
    person.type("see item 3")
    person.page.keyboard.press("Shift+Tab")
    person.press("Enter")
    assert person.page.locator("dialog").count() == 0
    person.is_saved()
    held = serving.answers()[serving.order("pairs")[0]]
    assert (held.value, held.flag, held.comment) == (2, "twice", "see item 3")


def test_seconds_only_while_seen(serve: Serve, visit: Visit) -> None:
    """Time in which the page is hidden does not count, a long absence is noted, and time goes on after a reload."""
    serving = serve("pairs")
    person = _at_items(serving, visit, "pairs")
    page = person.page
    page.evaluate("""() => {
      window.hide = (hidden) => {
        Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
        document.dispatchEvent(new Event('visibilitychange'));
      };
    }""")
    page.evaluate("() => { later(20000); hide(true); later(400000); hide(false); later(10000); }")
    person.press("2")
    person.is_saved()
    held = serving.answers()[serving.order("pairs")[0]]
    assert held.paused == 1
    assert 30 <= held.seconds < 40
    page.reload()
    page.wait_for_selector(".option")
    person.press("3")
    person.is_saved()
    again = serving.answers()[serving.order("pairs")[0]]
    assert held.seconds < again.seconds < held.seconds + 15


def test_nothing_is_waited_for(serve: Serve, visit: Visit) -> None:
    """A choice is seen when its key is heard, the next item in the next frame, though no save has been answered."""
    serving = serve("pairs")
    person = _at_items(serving, visit, "pairs")
    page = person.page
    held: list[Any] = []
    _routed(person, held.append)
    seen = page.evaluate("""async () => {
      const press = (code, key) => document.dispatchEvent(new KeyboardEvent('keydown', {code, key, bubbles: true}));
      const chosen = () => document.querySelector('input:checked')?.value ?? null;
      const choices = [], places = [];
      for (let i = 1; i <= 5; i += 1) {
        press(`Digit${i}`, String(i));
        choices.push(chosen());
      }
      for (let i = 0; i < 3; i += 1) {
        later(200);
        press('Digit2', '2');
        later(200);
        press('Enter', 'Enter');
        await new Promise((done) => requestAnimationFrame(() => rest().then(done)));
        places.push(document.querySelector('.place').textContent);
      }
      return {choices, places};
    }""")
    assert seen["choices"] == ["1", "2", "3", "4", "5"]
    assert seen["places"] == ["2 of 4", "3 of 4", "4 of 4"]
    assert serving.values() == {}
    assert held
    page.unroute("**/answers/**")  # which lets go of those that are held
    person.is_saved()
    assert serving.values() == dict.fromkeys(serving.order("pairs")[:3], 2)


def test_hostile_texts(serve: Serve, visit: Visit, tmp_path: Any) -> None:
    """Text of the study stays text: nothing of it runs, in no view."""
    from embassay.protocols.hume.study import ShownItemRow, read_study

    from .made_study import write_made_study

    evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    folder = write_made_study(tmp_path / "evil", "pairs", "emotion", "news", "topics")
    study = read_study(folder)
    rows = [ShownItemRow(id=one.id, task=one.task, payload=_evil(one.payload, evil)) for one in study.items]
    (folder / "items.jsonl").write_text("".join(row.model_dump_json() + "\n" for row in rows), "utf-8")
    serving = type(serve("pairs"))(folder)
    person = visit(serving.link + "#item/pairs/0")
    for place in ("item/pairs/0", "item/emotion/0", "item/news/0", "sort/topics"):
        person.at(place)
        assert "<img src=x" in person.page.locator("#stage").inner_text()
        assert person.page.locator("#stage img, #stage script").count() == 0
    person.page.keyboard.type("<i>x")
    person.press("Enter")
    assert person.page.locator("#stage i").count() == 0
    serving.stop()


def _evil(payload: Any, text: str) -> Any:
    if isinstance(payload, list):
        return [_evil(one, text) for one in payload]
    if not isinstance(payload, dict):
        return text
    return {key: value if key == "id" else _evil(value, text) for key, value in payload.items()}


def _routed(person: Any, handle: Callable[[Any], None]) -> None:
    """Let `handle` answer what the page saves, from now on: under load the page's loader learns of it after a key that
    is pressed next, and that answer went to the server."""

    def handled(route: Any) -> None:
        if route.request.method == "HEAD":
            route.fulfill(headers={"x-routed": "1"})
        else:
            handle(route)

    person.page.route("**/answers/**", handled)
    person.until("fetch('answers/none', { method: 'HEAD' }).then((answer) => answer.headers.has('x-routed'))")


def _refusing(person: Any, status: int, body: dict[str, Any]) -> None:
    _routed(person, lambda route: route.fulfill(status=status, content_type="application/json", body=json.dumps(body)))


def test_an_answer_that_is_refused(serve: Serve, visit: Visit) -> None:
    """The page says why, shows what is stored, and goes on."""
    serving = serve("pairs")
    person = _at_items(serving, visit, "pairs")
    _refusing(person, 400, {"error": "This is not an answer to <b>it</b>."})
    person.press("2")
    person.page.wait_for_selector(".notice.warning")
    assert "item 1 was not saved: This is not an answer to <b>it</b>." in person.page.locator(".warning").inner_text()
    person.until("!document.querySelector('input:checked')")
    person.page.unroute("**/answers/**")
    person.press("3")
    person.is_saved()
    assert serving.values() == {serving.order("pairs")[0]: 3}


@pytest.mark.parametrize(("status", "says"), [(404, "no longer valid"), (403, "out of date"), (429, ""), (503, "")])
def test_an_answer_that_must_wait(serve: Serve, visit: Visit, status: int, says: str) -> None:
    """Where the server cannot take it now, or the link was replaced, the answer waits and is not dropped."""
    serving = serve("pairs")
    person = _at_items(serving, visit, "pairs", width=390)
    _refusing(person, status, {"error": "Not now."})
    person.press("2")
    person.until("document.querySelector('#saved').textContent === '1 answer waits in this browser, not yet sent'")
    assert says in "".join(person.page.locator(".warning").all_inner_texts())
    send = person.page.get_by_role("button", name="Send now")
    assert send.is_visible()
    assert send.evaluate("button => button.scrollWidth <= button.clientWidth"), "whole on a phone, too"
    person.page.unroute("**/answers/**")
    send.click()
    person.is_saved()
    assert send.is_hidden()
    assert serving.values() == {serving.order("pairs")[0]: 2}


def test_an_item_that_cannot_be_fetched(serve: Serve, visit: Visit) -> None:
    """The page says that it is not reached, tries again by itself, and then shows the item."""
    serving = serve("pairs")
    person = _at_items(serving, visit, "pairs")
    person.page.route("**/items/**", lambda route: route.abort())
    person.page.reload()
    person.until("document.querySelector('h1')?.textContent === 'Cannot reach the study'")
    person.at("item/pairs/2")
    assert person.heading == "Cannot reach the study"
    person.page.unroute("**/items/**")
    person.page.wait_for_selector(".option", timeout=15000)


def test_finished_in_another_browser(serve: Serve, visit: Visit) -> None:
    """What is sent to a task that was finished elsewhere is refused, and the page shows what is frozen."""
    serving = serve("pairs")
    person = _at_items(serving, visit, "pairs")
    person.press("2", "Enter", "2", "Enter", "2", "Enter", "2", "Shift+Enter")
    person.is_saved()
    assert serving.service.store.finish("ann", "pairs", serving.order("pairs")) == ()
    person.press("5")
    person.page.wait_for_selector(".notice.warning")
    assert "frozen" in person.page.locator(".warning").inner_text()
    person.until("document.querySelector('input:checked')?.value === '2'")
    person.until("document.querySelector('input:checked').disabled")
    assert set(serving.values().values()) == {2}
