"""The leaderboard as it is reached over HTTP, from a real process."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import psutil
import pytest

from embassay.web.leaderboard.folders import display_system_name
from leaderboard_runs import EARLY, LATE, TASKS, Running, write_sage

pytestmark = pytest.mark.slow

LOCAL = "st:/srv/someone/secret/models/own"
OWN = display_system_name(LOCAL)
SCRIPT = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs of one version, an older version, a run that cannot be read, and links to what lies elsewhere."""
    top = tmp_path_factory.mktemp("served")
    root = top / "runs"
    write_sage(
        root / "first", {"good": 0.7, "bm25": 0.4, "chance": 0.1}, kinds={"bm25": "classical", "chance": "reference"},
        facts={"dims": 384, "usd_per_million_tokens": 0.02},
    )  # fmt: skip
    second = {SCRIPT: 0.69, "broken": 0.5, LOCAL: 0.3}
    write_sage(root / "deep" / "er" / "second", second, updated=LATE, failing=[("broken", "retrieval")])
    (root / "deep" / "er" / "second" / "report.html").write_text("<!doctype html><title>Second</title>")
    write_sage(root / "old", {"good": 0.6}, fingerprint="other", updated="2026-10-01T08:00:00+00:00")
    (root / "torn").mkdir()
    (root / "torn" / "manifest.json").write_text('{"schema": 1, "protocol": ')
    write_sage(top / "secret" / "run", {"hidden": 0.9})
    for path in (top / "secret" / "run" / "report.html", top / "secret" / "report.html"):
        path.write_text("secret")
    (root / "linked").symlink_to(top / "secret" / "run")
    (root / "first" / "report.html").symlink_to(top / "secret" / "report.html")
    return root


@pytest.fixture(scope="module")
def server(folder, serve):
    """One server for all that only ask."""
    return serve(folder, "--allow-host", "boards.example.org", "--root-path", "/team/boards/")


def test_two_hundred_at_once_are_all_answered_alike(server) -> None:
    """None is turned away or gets another's answer, and the server holds no open files and little memory for them."""
    paths = ["/api/boards", *(f"/api/boards/{one['id']}" for one in server.boards())]
    alone = [server.get(path).json for path in paths]
    process = psutil.Process(server.process.pid)

    def ask(number: int) -> list[bool]:
        return [server.get(paths[k % len(paths)]).json == alone[k % len(paths)] for k in range(number, number + 3)]

    with ThreadPoolExecutor(200) as clients:
        assert all(all(one) for one in clients.map(ask, range(200)))
        held = process.memory_info().rss
        assert all(all(one) for one in clients.map(ask, range(200)))
    assert process.memory_info().rss < held + 2**26
    assert process.num_fds() < 64


def test_what_each_address_gives(server) -> None:
    """Boards by version, newest first, joined over runs; a page, cells, comparison, card and files of each."""
    new, old = server.boards()
    assert (new["protocol"], new["systems"], new["runs"], new["newer"]) == ("sage", 6, 2, None)
    assert (old["systems"], old["newer"], old["status"]) == (1, new["id"], "done")
    assert (new["differs"], old["differs"]) == ("", "the runs have different data for sample")
    (broken,) = server.get("/api/boards").json["broken"]
    assert broken["name"] == "torn"
    assert broken["reason"].startswith("the manifest cannot be read")
    board = server.board()
    assert [one["name"] for one in board["systems"]] == ["good", SCRIPT, "bm25", OWN, "broken", "chance"]
    assert [one["ranked"] for one in board["systems"]] == [True] * 4 + [False] * 2
    assert board["ranks"]["overall"][:4] == [[1, 1], [2, 2], [3, 3], [4, 4]]
    assert board["ranks"]["overall"][4:] == [None, None]
    assert board["cells"]["overall"][4][4] == "failed"
    assert "out of memory" in board["cells"]["overall"][4][5]
    assert [one["key"] for one in board["columns"] if one["overview"]] == ["overall", *TASKS]
    assert board["older"] == [old["id"]]
    place = f"/api/boards/{board['id']}"
    part = server.get(f"{place}/cells?column=preference/sample").json
    assert len(part["cells"]["preference/sample"]) == 6
    assert part["ranks"]["preference/sample"] == board["ranks"]["preference"]
    compared = server.get(f"{place}/compare?a=good&b=bm25").json
    assert compared["paired"]
    assert compared["title"].startswith("good beats bm25 by ")
    own = server.get(f"{place}/compare?a=bm25&b={quote(OWN)}").json
    assert own["title"].startswith("bm25 beats st:…/own"), "compared under its own name, shown without its folder"
    card = server.get(f"{place}/system?name=good").json
    assert card["strengths"][0] == "Overall"
    assert card["elsewhere"][0]["board"] == old["id"]
    for path in ("/", f"/b/{board['id']}/", f"/b/{board['id']}/system?name=good"):
        page = server.get(path, accept="text/html")
        assert (page.status, page.text[:15]) == (200, "<!doctype html>"), path
    assert server.get("/health").json == {"status": "ok"}
    assert server.get(f"/b/{board['id']}").headers["location"] == f"{board['id']}/"


def test_files_have_every_digit(folder, server) -> None:
    """CSV and JSON hold the very numbers of the runs, null and a reason where there is none; LaTeX is escaped."""
    place = f"/api/boards/{server.boards()[0]['id']}"
    rows = [json.loads(line) for line in (folder / "first" / "results.jsonl").read_text().splitlines()]
    exact = {(row["system"], row["task"], row["dataset"]): row["value"] for row in rows}
    answer = server.get(f"{place}/download.csv")
    assert answer.headers["content-disposition"].startswith("attachment")
    table = list(csv.DictReader(io.StringIO(answer.text)))
    read = {(row["system"], row["task"], row["dataset"]): row for row in table}
    assert all(float(read[key]["value"]) == value for key, value in exact.items())
    failed = read["broken", "retrieval", "sample"]
    assert (failed["value"], failed["state"], failed["reason"]) == ("", "failed", "out of memory")
    whole = server.get(f"{place}/download.json").json
    assert whole["cells"]["overall"]["good"]["value"] == exact["good", "overall", ""]
    assert whole["cells"]["retrieval"]["broken"]["value"] is None
    tex = server.get(f"{place}/download.tex").text
    assert r"\textbf{0.7" in tex
    assert r"\textless{}script\textgreater{}" in tex
    assert tex.count(r" \\") == 7


def test_what_is_unchanged_is_not_sent_again(server) -> None:
    """Every answer has a tag; 304 without a body for whoever has it, zipped for whoever takes that."""
    name = server.boards()[0]["id"]
    stamp = server.board()["stamp"]
    for path in (
        "/", f"/b/{name}/", "/api/boards", f"/api/boards/{name}", f"/api/boards/{name}/changes?since={stamp}",
        f"/api/boards/{name}/download.csv", "/static/main.js",
    ):  # fmt: skip
        first = server.get(path)
        again = server.get(path, if_none_match=first.headers["etag"])
        assert (again.status, again.body) == (304, b""), path
        assert server.get(path, if_none_match='"other"').status == 200
        assert again.headers["etag"] == first.headers["etag"]
        small = server.get(path, accept_encoding="gzip")
        assert small.text == first.text
        assert small.headers["etag"] == first.headers["etag"]
    assert server.get("/", accept_encoding="gzip").headers["content-encoding"] == "gzip"
    assert "content-encoding" not in server.get("/", accept_encoding="gzip;q=0").headers


def test_only_reading_is_answered(server) -> None:
    """HEAD has the headers of GET; everything else is refused, with a body or without."""
    head, get = server.get("/", "HEAD"), server.get("/")
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", get.headers["etag"])
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert server.get("/api/boards", method).status == 405
    assert server.get("/api/boards", "POST", b"x" * 10).status == 413
    policy = get.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert get.headers["x-content-type-options"] == "nosniff"
    assert "server" not in get.headers


def test_nothing_outside_the_folder_is_given(server) -> None:
    """Paths that climb, links to elsewhere and names that are no runs all lead to nothing."""
    assert "hidden" not in json.dumps([server.board(0), server.board(1)])
    for path in (
        "/runs/../secret/report.html", "/runs/%2e%2e/secret/report.html", "/runs/..%2fsecret/report.html",
        "/runs//etc/passwd/report.html", "/runs/first/../../secret/report.html", "/runs/linked/report.html",
        "/runs/first/report.html", "/static/../render.py", "/static/%2e%2e/render.py", "/static/..%2frender.py",
        "/runs/first/manifest.json", "/runs/first/results.jsonl", "/api/boards/..", "/b/../", "/runs/torn/report.html",
    ):  # fmt: skip
        answer = server.get(path)
        assert answer.status in (404, 308), path
        assert not re.search(rb"secret|root:", answer.body), path


def test_no_answer_tells_where_the_folder_lies(folder, server) -> None:
    """Names of runs are relative; neither the folder's path nor those in manifests come out."""
    name = server.boards()[0]["id"]
    for path in (
        "/", f"/b/{name}/system?name=good", "/api/boards", f"/api/boards/{name}", f"/api/boards/{name}/download.csv",
        f"/api/boards/{name}/download.json", f"/api/boards/{name}/system?name=good", "/nothing",
        f"/api/boards/{name}/compare?a=good&b=bm25",
    ):  # fmt: skip
        text = server.get(path, accept="text/html").text
        assert not re.search(f"{re.escape(str(folder.parent))}|/srv/someone", text), path


def test_script_in_a_name_stays_text(server) -> None:
    """Pages hold it escaped only."""
    name = server.boards()[0]["id"]
    for path in ("/", f"/b/{name}/system?name={quote(SCRIPT)}"):
        text = server.get(path).text
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text


def test_other_names_of_this_machine_are_not_answered(server) -> None:
    """A name that leads here is how another site's page would get in; one that is allowed is answered."""
    assert server.get("/", host="evil.example.com").status == 421
    assert server.get("/", host="boards.example.org").status == 200
    assert server.get("/", host=f"localhost:{server.port}").status == 200


def test_below_a_prefix(server) -> None:
    """With the prefix or without it; no address in a page begins at the root."""
    name = server.boards()[0]["id"]
    page = server.get(f"/team/boards/b/{name}/")
    assert page.status == 200
    assert page.body == server.get(f"/b/{name}/").body
    assert server.get("/team/boards").headers["location"] == "boards/"
    assert server.get("/team/boards/static/main.js").status == 200
    for path in ("/", f"/b/{name}/", f"/b/{name}/system?name=good"):
        assert not re.findall(r'(?:href|src|action)="(?:/|https?:)', server.get(path).text), path


def test_a_board_grows_while_its_run_goes_on(tmp_path, serve) -> None:
    """Cells show as they end, without a rank; a page that asks for changes gets those alone, then ranks at the end."""
    write_sage(tmp_path / "before", {"known": 0.6})
    running = Running(tmp_path / "now", ["fresh", "dying"])
    server = serve(tmp_path)
    board = server.board()
    assert board["status"] == "live"
    assert [one["state"] for one in board["systems"]] == ["done", "running", "running"]
    place = f"/api/boards/{board['id']}"
    running.end_cell("fresh", "preference", 0.8)
    running.fail_cell("dying", "robustness", "no memory left")

    def changed():
        found = server.get(f"{place}/changes?since={board['stamp']}").json
        return found if "dying" in found["cells"].get("robustness", {}) and found["cells"].get("preference") else None

    news = server.until(changed)
    assert news["whole"] is False
    assert news["order"] in (None, ["known", "fresh", "dying"], ["known", "dying", "fresh"])
    assert news["cells"]["preference"]["fresh"][0] == pytest.approx(0.8, abs=0.05)
    assert news["cells"]["robustness"]["dying"][4:] == ["failed", "no memory left"]
    assert "known" not in json.dumps(news["cells"])
    assert server.board()["ranks"]["preference"] == [None, None, None]
    write_sage(tmp_path / "now", {"fresh": 0.8, "dying": 0.3}, updated=LATE)
    done = server.until(lambda: (found := server.board())["status"] == "done" and found)
    assert [one["name"] for one in done["systems"]] == ["fresh", "known", "dying"]
    assert done["ranks"]["overall"] == [[1, 1], [2, 2], [3, 3]]


def test_a_run_of_which_nothing_is_heard_is_stale(tmp_path, serve) -> None:
    """Its board says so, and keeps what it has."""
    running = Running(tmp_path / "now", ["fresh"])
    running.end_cell("fresh", "preference", 0.8)
    for path in (tmp_path / "now").rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    server = serve(tmp_path)
    board = server.board()
    assert (board["status"], board["runs"][0]["status"]) == ("stale", "stale")
    assert any("possibly killed: now" in line for line in board["care"])
    assert board["cells"]["preference"][0][0] == pytest.approx(0.8, abs=0.05)


def test_the_newest_finished_run_of_a_system_counts(tmp_path, serve) -> None:
    """And the board says that there are others; a newer run that goes on does not replace it."""
    write_sage(tmp_path / "a", {"twice": 0.5}, updated=EARLY)
    write_sage(tmp_path / "b", {"twice": 0.6, "once": 0.4}, updated=LATE)
    Running(tmp_path / "c", ["twice"])
    board = serve(tmp_path).board()
    row = next(one for one in board["systems"] if one["name"] == "twice")
    assert (row["run"], sorted(row["others"])) == ("b", ["a", "c"])
    assert board["cells"]["overall"][row["index"]][0] == pytest.approx(0.6, abs=0.05)
    assert any("in several runs" in line for line in board["care"])


def test_after_a_crash_the_same_answers(tmp_path, serve) -> None:
    """A killed server leaves nothing behind; its successor gives the same bytes and tags."""
    write_sage(tmp_path / "a", {"one": 0.5, "two": 0.6})
    server = serve(tmp_path)
    name = server.boards()[0]["id"]
    paths = (f"/api/boards/{name}", f"/api/boards/{name}/download.csv")
    before, files = [server.get(path) for path in paths], sorted(tmp_path.rglob("*"))
    server.kill()
    server.start()
    after = [server.get(path) for path in paths]
    assert [one.body for one in before] == [one.body for one in after]
    assert [one.headers["etag"] for one in before] == [one.headers["etag"] for one in after]
    assert sorted(tmp_path.rglob("*")) == files, "a folder that is served is only read"


def test_an_empty_folder_fills(tmp_path, serve) -> None:
    """It has a page that says what to do, and the first run appears by itself."""
    server = serve(tmp_path)
    assert server.get("/").status == 200
    assert server.boards() == []
    write_sage(tmp_path / "first", {"one": 0.5})
    server.until(server.boards)
    assert (
        server.board()["verdict"]["title"] == "one scores 0.500 overall"
        or "one scores" in server.board()["verdict"]["title"]
    )


def test_a_report_of_a_run_is_given_out_locked_in(server) -> None:
    """With a policy that lets its own script run and nothing else, in an origin of its own."""
    reports = {one["name"]: one["report"] for one in server.board()["systems"]}
    assert (reports["broken"], reports["good"]) == ("runs/deep/er/second/report.html", None)
    answer = server.get("/runs/deep/er/second/report.html")
    assert answer.status == 200
    assert "Second" in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in policy
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy


def test_addresses_that_lack_or_name_too_much(server) -> None:
    """A sentence and a 4xx, never a 500."""
    name = server.boards()[0]["id"]
    place = f"/api/boards/{name}"
    many = "&".join(f"column=preference&column=x{i}" for i in range(60))
    for path, status in {
        f"{place}/compare?a=good": 400, f"{place}/compare?a=good&b=good": 404, f"{place}/compare?a=good&b=no": 404,
        f"{place}/cells": 400, f"{place}/cells?{many}": 404, f"{place}/system": 400, f"{place}/system?name=%ff%00": 404,
        f"{place}/download.exe": 404, "/api/boards/none": 404, "/b/none/": 404, "/b/none": 404,
        "/b/x%0d%0aset-cookie:y": 404, f"{place}/changes?since=%00": 200,
    }.items():  # fmt: skip
        assert server.get(path).status == status, path
    page = server.get("/b/none/", accept="text/html")
    assert page.status == 404
    assert 'href="../../' in page.text
    assert server.get(f"{place}/changes?since=never").json["whole"] is True


def test_what_cannot_be_served_is_said(tmp_path) -> None:
    """No folder, a file, a wrong prefix: one line and the mend."""
    from typer.testing import CliRunner

    from embassay.cli.main import app
    from embassay.errors import UsageError

    (tmp_path / "file").write_text("x")
    for arguments in (["nowhere"], [str(tmp_path / "file")], [str(tmp_path), "--root-path", "no slash"]):
        result = CliRunner().invoke(app, ["serve", *arguments])
        assert isinstance(result.exception, UsageError)
        assert result.exception.mend
