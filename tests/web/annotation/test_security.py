"""What strangers, other annotators, other sites and texts may not do."""

from __future__ import annotations

import json
import re
import sqlite3
import stat
from http.cookies import SimpleCookie

import pytest

from embassay.protocols.hume.study import ItemGoldAnswer, ShownItemRow, hash_items_and_gold, read_study, write_study
from embassay.web.annotation.service import RequestRateLimits
from embassay.web.server import HEADERS
from hume_small import small_study

from .conftest import page_of

SCRIPT = "<script>alert('x')</script><img src=x onerror=alert(1)>"
NOTHING = {"error": "There is nothing here."}


def _guess(token):
    """A link that is wrong in one sign."""
    return token[:-1] + ("A" if token[-1] != "A" else "B")


def test_links_cannot_be_guessed(service, ann) -> None:
    """43 signs of 64 kinds, of which no two links share a beginning."""
    links = [service.annotator_link("ann"), service.annotator_link("bob"), service.owner_link()]
    assert all(re.fullmatch(r"/[ao]/[A-Za-z0-9_-]{43}/", link) for link in links)
    assert len({link[3:9] for link in links}) == 3


@pytest.mark.parametrize("path", ["", "study", "items/mood-00", "tasks/mood/items"])
def test_a_wrong_link_learns_nothing(ann, browse, path) -> None:
    """The same answer as for any unknown path, whether the item exists or not."""
    token = ann.path.split("/")[2]
    client = browse()
    for wrong in (_guess(token), "x", token + "A", "..", "%00", "é" * 43, "'" * 43, token.lower()):
        answer = client.get(f"/a/{wrong}/{path}")
        assert (answer.status_code, answer.json()) == (404, NOTHING)
        assert wrong not in answer.text
    assert client.get("/nowhere").json() == NOTHING


def test_people_with_a_wrong_link_are_told_in_words(ann, browse) -> None:
    """The same page for every address that leads nowhere."""
    pages = [
        browse().get(path, headers={"Accept": "text/html,*/*"})
        for path in (f"/a/{_guess(ann.path.split('/')[2])}/", "/nowhere", "/o/x/", "/a/x/items/mood-00")
    ]
    assert {page.status_code for page in pages} == {404}
    assert len({page.text for page in pages}) == 1
    assert "There is nothing here" in pages[0].text


def test_a_mistake_of_ours_says_nothing_of_itself(service, ann, monkeypatch) -> None:
    """Neither the error nor its place; and the headers are there as always."""
    monkeypatch.setattr(service.store, "find_last_change_number_of_annotator", lambda _: 1 / 0)
    answer = ann.get("study")
    assert (answer.status_code, answer.json()) == (500, {"error": "Something went wrong on the server."})
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_a_link_opens_only_what_it_is_for(service, ann, browse) -> None:
    """An annotator's is no owner's, and the other way round."""
    client = browse()
    own, owners = ann.path.split("/")[2], service.owner_link().split("/")[2]
    for path in (f"/o/{own}/", f"/o/{own}/annotations.csv", f"/a/{owners}/", f"/a/{owners}/study"):
        assert client.get(path).json() == NOTHING
    for path in ("annotations.csv", "annotations.jsonl", "../annotations.csv"):
        assert client.get(ann.path + path).status_code == 404


def test_nobody_reaches_what_another_answered(ann, bob, owner) -> None:
    """Whatever ann asks for, nothing of bob's is in it; and her changes are her own."""
    bob.answer("topics-00", "bobs-own-group", 1, comment="bobs-own-words", flag="bobs-own-flag")
    bob.put("profile", {"name": "bobs-own-name"})
    told = [ann.get(path).text for path in ("", "study", "items/topics-00", "tasks/topics/items")]
    told.append(ann.answer("topics-00", "x", 1).text)
    told.append(ann.answer("topics-00", "y", 1).text)
    told.append(ann.post("tasks/topics/finish").text)
    assert not [text for text in told if "bobs-own" in text]
    assert bob.get("study").json()["answers"]["topics-00"]["value"] == "bobs-own-group"
    assert "bobs-own-words" in owner.get("").text


FORGED = {
    "without what the page shows": {},
    "with what another's page shows": None,
    "with a guess": {"X-CSRF-Token": "A" * 43},
    "with an odd one": {"X-CSRF-Token": "é".encode("latin-1")},
}


@pytest.mark.parametrize("headers", FORGED.values(), ids=FORGED)
def test_changes_that_no_page_of_ours_sent(ann, bob, headers) -> None:
    """Are refused, each kind of change."""
    forged = bob.headers if headers is None else headers
    body = {"value": 1, "seq": 1, "tab": "t"}
    sent = [
        ann.put("answers/mood-00", body, headers=forged),
        ann.post("tab", {"tab": "t", "take": True}, headers=forged),
        ann.post("tasks/mood/finish", headers=forged),
        ann.put("profile", {"name": "x"}, headers=forged),
    ]
    assert [one.status_code for one in sent] == [403] * 4
    assert ann.get("study").json()["answers"] == {}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"}, {"Origin": "http://localhost:9000"}, {"Origin": "null"},
        {"Origin": "http://localhost:8000.elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)  # fmt: skip
def test_other_sites_send_nothing(ann, headers) -> None:
    """Even if they knew what the page shows."""
    body = {"value": 1, "seq": 1, "tab": "t"}
    assert ann.put("answers/mood-00", body, headers={**ann.headers, **headers}).status_code == 403
    own = {"Origin": "http://localhost:8000", "Sec-Fetch-Site": "same-origin"}
    assert ann.put("answers/mood-00", body, headers={**ann.headers, **own}).status_code == 200


def test_the_public_address_is_an_origin_too(served, browse) -> None:
    """Behind a proxy that asks by another name."""
    service = served(origins=("annotate.example.org",))
    ann = page_of(browse(service), service.annotator_link("ann"))
    body = {"value": 1, "seq": 1, "tab": "t"}
    headers = {**ann.headers, "Origin": "https://annotate.example.org"}
    assert ann.put("answers/mood-00", body, headers=headers).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_forms_of_another_kind_are_refused(ann, kind) -> None:
    """What a plain form of any site could send."""
    body = json.dumps({"value": 1, "seq": 1, "tab": "t"}).encode()
    headers = {**ann.headers, "Content-Type": kind}
    answer = ann.client.put(ann.path + "answers/mood-00", content=body, headers=headers)
    assert answer.status_code in (400, 415)
    assert ann.get("study").json()["answers"] == {}


def test_long_bodies_are_refused(ann) -> None:
    """By what they say of themselves, and by what they are."""
    body = json.dumps({"value": 1, "seq": 1, "tab": "t", "comment": "x" * 70_000}).encode()
    headers = {**ann.headers, "Content-Type": "application/json"}
    for content in (body, iter([body[:50_000], body[50_000:]])):
        answer = ann.client.put(ann.path + "answers/mood-00", content=content, headers=headers)
        assert answer.status_code == 413
        assert answer.headers["content-security-policy"]
    assert ann.get("study").json()["answers"] == {}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"[" * 20_000, b'{"seq": 1' + b"0" * 5000 + b"}"])
def test_bodies_that_are_no_answer(ann, body) -> None:
    """Never an error of the server."""
    headers = {**ann.headers, "Content-Type": "application/json"}
    answer = ann.client.put(ann.path + "answers/mood-00", content=body, headers=headers)
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}


def test_too_many_wrong_links(served, browse) -> None:
    """An address that guesses learns no more; a right link gets in from behind it, seen before or not."""
    service = served(rates=RequestRateLimits(wrong_burst=3, wrong_per_second=0.0))
    client = browse(service)
    ann = page_of(client, service.annotator_link("ann"))
    codes = [client.get(f"/a/{'x' * 42}{at}/").status_code for at in range(5)]
    assert codes == [404, 404, 404, 429, 429]
    assert client.get(service.annotator_link("bob")).status_code == 200
    assert client.get(f"/a/{'x' * 43}/").status_code == 429
    assert ann.get("study").status_code == 200


def test_too_many_requests_of_one_link(served, browse) -> None:
    """One page cannot take the server from the others."""
    service = served(rates=RequestRateLimits(burst=5, per_second=0.0))
    client = browse(service)
    ann, bob = (page_of(client, service.annotator_link(name)) for name in ("ann", "bob"))
    assert [ann.get("study").status_code for _ in range(6)] == [200] * 4 + [429] * 2
    assert bob.get("study").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "items/../../../gold.jsonl", "items/..%2f..%2fgold.jsonl", "items/%2e%2e/gold", "items/mood-00%00",
        "tasks/..%2f/items", "items/", "items//etc/passwd",
    ],
)  # fmt: skip
def test_paths_lead_nowhere_else(ann, path) -> None:
    """Items and tasks are looked up by name, never by path."""
    assert ann.get(path).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/static/../owner/owner.html", "/static/%2e%2e/frame.py", "/static/..%2fframe.py", "/static//etc/passwd",
        "/static/%2fetc%2fpasswd", "/static/owner/../../../app.py", "/static/owner/..%2f..%2f..%2fapp.py", "/static/",
        "/static/owner", "/static/..%5cframe.py", "/docs", "/openapi.json", "/redoc", "/gold.jsonl", "/serve.key",
        "/answers.sqlite3",
    ],
)  # fmt: skip
def test_files_beside_the_static_ones_are_not_served(browse, path) -> None:
    """Neither those of the program nor those of the study."""
    answer = browse().get(path)
    assert (answer.status_code, answer.json()) == (404, NOTHING)


def test_methods_that_mean_nothing(ann) -> None:
    """Are refused, with the same headers as everything."""
    for method, path in (("DELETE", "answers/mood-00"), ("POST", "study"), ("PUT", ""), ("TRACE", "study")):
        answer = ann.client.request(method, ann.path + path, headers=ann.headers)
        assert answer.status_code == 405
        assert answer.headers["x-frame-options"] == "DENY"


def test_every_answer_carries_strict_headers(ann, owner) -> None:
    """Pages, data, files, refusals: nothing inline runs, nobody frames them, and no link leaves in a header."""
    client = ann.client
    answers = [
        ann.get(""), ann.get("study"), owner.get(""), owner.get("annotations.csv"), client.get("/static/annotate.css"),
        client.get("/nowhere"), client.get("/health"), ann.put("answers/mood-00", {}, headers={}),
    ]  # fmt: skip
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "'unsafe" not in HEADERS["content-security-policy"]
    assert "default-src 'none'" in HEADERS["content-security-policy"]
    caches = [answer.headers["cache-control"] for answer in answers]
    assert caches == ["no-store"] * 4 + ["no-cache"] + ["no-store"] * 3


def test_pages_have_no_inline_script_or_style(ann, owner) -> None:
    """The policy would stop them: then something would be missing."""
    for page in (ann.get("").text, owner.get("").text):
        assert re.findall(r"<script[^>]*>", page)
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", page)


@pytest.mark.parametrize("host", ["elsewhere.example", "localhost.elsewhere.example", "", "[::2]"])
def test_another_name_is_not_answered(served, browse, host) -> None:
    """A page elsewhere whose name leads to this machine gets nothing."""
    service = served(hosts=("localhost", "127.0.0.1", "::1"))
    client = browse(service)
    assert client.get(service.annotator_link("ann"), headers={"Host": host}).status_code == 421
    for own in ("localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000"):
        assert client.get("/health", headers={"Host": own}).status_code == 200


def test_scripts_in_texts_are_text(tmp_path, served, browse) -> None:
    """In items, in what people write, and in guidelines and names of the study."""
    plain = read_study(small_study(tmp_path / "plain", 3))
    task = plain.study.tasks[0].model_copy(update={
        "title": SCRIPT, "question": SCRIPT, "n": 1,
        "guidelines": f"{SCRIPT}\n\n[a](javascript:alert(1)) ![b](https://x.example/p.png) [c](data:text/html,x)",
    })  # fmt: skip
    item, gold = (
        ShownItemRow(id="i'\"<>&/1", task=task.name, payload={"text": SCRIPT}),
        ItemGoldAnswer(id="i'\"<>&/1", gold=0),
    )
    study = plain.study.model_copy(
        update={"name": SCRIPT, "tasks": [task], "content": hash_items_and_gold([item], [gold])}
    )
    service = served(write_study(tmp_path / "script", study, [item], [gold]))
    client = browse(service)
    ann = page_of(client, service.annotator_link("ann"))
    assert ann.answer("i'%22%3C%3E&%2F1", 0, 1, comment=SCRIPT, flag=SCRIPT).status_code == 200
    ann.put("profile", {"name": SCRIPT})
    owner = client.get(service.owner_link() + "?show=true").text
    for page in (ann.get("").text, owner):
        assert "<script>alert" not in page
        assert "<img" not in page
    assert owner.count("&lt;script&gt;alert") >= 5
    told = ann.get("study")
    assert told.headers["content-type"] == "application/json"
    html = told.json()["tasks"][0]["guidelines_html"]
    assert not re.search(r"<(script|img)\b", html)
    assert re.findall(r'href="([^"]*)"', html) == ["https://x.example/p.png"]
    assert "&lt;script&gt;" in html
    assert ann.get("items/i'%22%3C%3E&%2F1").json()["payload"]["text"] == SCRIPT


def test_the_store_and_the_key_say_no_link(service, study, ann) -> None:
    """Who gets a copy of the database cannot answer for anybody; the key is for its owner only."""
    token = ann.path.split("/")[2]
    key = study / "serve.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    service.close()
    held = "\n".join(sqlite3.connect(study / "answers.sqlite3").iterdump())
    assert "ann" in held
    for secret in (token, ann.form_key, key.read_text().strip()):
        assert secret not in held


def test_the_browser_cookie_is_no_key(service, ann, browse) -> None:
    """It is random, no script reads it, and it opens nothing."""
    answer = browse().get(service.annotator_link("bob"))
    (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
    assert re.fullmatch("[0-9a-f]{32}", cookie.value)
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "lax", "/")
    assert ann.client.get("/a/x/study").status_code == 404


def test_new_links_void_the_earlier_ones(service, ann, bob, browse) -> None:
    """At once, for reading and writing; the answers stay with the person."""
    ann.answer("mood-00", 1, 1)
    new = service.annotator_link("ann", renew=True)
    assert new != ann.path
    assert ann.get("study").status_code == 404
    assert ann.answer("mood-00", 2, 2).status_code == 404
    assert page_of(browse(), new).get("study").json()["answers"]["mood-00"]["value"] == 1
    assert bob.get("study").status_code == 200


def test_a_slow_body_is_not_waited_for(served) -> None:
    """A request that never ends takes no thread: it is refused after a while."""
    import anyio

    from embassay.web.annotation.app import make_annotation_app

    app, sent = make_annotation_app(served(body_seconds=0.05)), []

    async def receive():
        await anyio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "PUT", "path": "/a/x/tab", "headers": [(b"host", b"localhost")]}
    anyio.run(app, scope, receive, send)
    assert sent[0]["status"] == 408
