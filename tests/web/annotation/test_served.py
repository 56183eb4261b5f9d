"""The command, as people start it: many annotate at once, it is killed, stopped, started again."""

from __future__ import annotations

import http.client
import importlib.util
import os
import signal
import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from embassay.cli import main
from hume_small import small_study
from team_database import team_database

pytest.importorskip("uvicorn")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def annotators(root):
    """The scripted annotators of the benchmark."""
    spec = importlib.util.spec_from_file_location("annotators", root / "benchmarks" / "annotators.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["annotators"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def start(annotators, tmp_path):
    """Starts a server of a study; it is killed in the end if it still runs."""
    made = []

    def started(study, *people, **more):
        made.append(annotators.Served(study, people, **more))
        return made[-1]

    yield started
    for served in made:
        served.kill()


def _command(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "embassay", "hume", *map(str, words)], capture_output=True, text=True, timeout=120,
        env={**os.environ, **environment}, check=False,
    )  # fmt: skip


PEOPLE = tuple(f"p{at}" for at in range(8))


@pytest.mark.parametrize("where", ["sqlite", "postgres"])
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(annotators, start, tmp_path, where) -> None:
    """Eight annotate at once and click twice now and then; kill -9 twice; everything is there exactly once."""
    study = annotators.made_study(tmp_path / "study", 6)
    if where == "sqlite":
        _killed_twice(annotators, start, study, None)
        return
    with team_database() as database:
        _killed_twice(annotators, start, study, database.url)


def _killed_twice(annotators, start, study, database):
    served = start(study, *PEOPLE, database=database)
    people = annotators.let_annotate(served, seconds=6, kills=2, pause=0.03)
    assert annotators.lost_or_doubled(study, served, people) == []
    assert min(len(person.acknowledged) for person in people) > 0
    assert sum(len(person.acknowledged) for person in people) > 40
    assert sum(person.unanswered for person in people) > 0
    served.stop()


def test_the_check_would_notice(annotators, start, tmp_path) -> None:
    """An answer that is said to be acknowledged and is not there, or is another."""
    study = annotators.made_study(tmp_path / "study", 3)
    served = start(study, "p")
    (person,) = annotators.let_annotate(served, seconds=1, kills=0, pause=0.05)
    (key, value) = next(iter(person.acknowledged.items()))
    person.acknowledged[key] = "another"
    assert annotators.lost_or_doubled(study, served, [person])
    person.acknowledged[key] = value
    assert annotators.lost_or_doubled(study, served, [person]) == []
    person.acknowledged[key[0], 10**6] = value
    assert annotators.lost_or_doubled(study, served, [person])


def test_it_stops_when_told_and_starts_with_the_same_links(start, tmp_path) -> None:
    """Cleanly, with nothing left beside the file of answers; the key is for its owner."""
    study = small_study(tmp_path / "study", 3)
    served = start(study, "ann", "bob")
    links, owner = dict(served.links), served.owner
    for sign in (signal.SIGINT, signal.SIGTERM):
        code, said = served.stop(sign)
        assert code == 0
        assert "Traceback" not in said
        assert "Press Ctrl-C to stop" in said
        names = {path.name for path in study.iterdir()}
        assert names == {"answers.sqlite3", "gold.jsonl", "items.jsonl", "serve.key", "study.json"}
        served.start()
        assert (served.links, served.owner) == (links, owner)
    assert stat.S_IMODE((study / "serve.key").stat().st_mode) == 0o600


def test_a_server_that_runs_takes_new_people_and_new_links(annotators, start, tmp_path) -> None:
    """Without a restart: `hume links` writes what it reads."""
    study = small_study(tmp_path / "study", 3)
    served = start(study, "ann")
    base = served.owner.split("/o/")[0]
    said = _command("links", study, "--annotator", "eve", "--public-url", base).stdout
    assert "ann (simulated)" in said
    lines = {line.split()[0]: line.split()[-1] for line in said.splitlines()}
    assert lines["ann"] == served.links["ann"]
    eve = lines["eve"]
    with urllib.request.urlopen(eve, timeout=10) as page:
        assert page.status == 200
    assert _command("links", study, "--new-links").returncode == 0
    with pytest.raises(urllib.error.HTTPError, match="404") as gone:
        urllib.request.urlopen(eve, timeout=10)
    gone.value.close()


RAW = [
    "/static/../owner/owner.html", "/static/../../../../../../../etc/passwd", "/static/..%2f..%2fapp.py",
    "/static/owner/../../owner/owner.html", "/a/../../gold.jsonl", "//gold.jsonl", "/static/%00", "/%ff", "/static/é",
]  # fmt: skip


def test_raw_requests_lead_nowhere(annotators, start, tmp_path) -> None:
    """Paths as no browser would send them, and what is no request at all."""
    served = start(small_study(tmp_path / "study", 3), "ann")
    for path in RAW:
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as plain:
            plain.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda plain=plain: plain.recv(65536), b""))
        assert answer.split()[1] in (b"404", b"400"), path
        assert b"root:" not in answer
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as plain:
        plain.sendall(b"\x16\x03\x01" * 100 + b"\r\n\r\n")
        assert plain.recv(65536).split()[1] == b"400"
    assert annotators.ask(served.port, "GET", "/health") == (200, '{"status":"ok"}')


def test_another_name_of_this_machine_is_not_answered(start, tmp_path) -> None:
    """As a page of another site would reach it."""
    served = start(small_study(tmp_path / "study", 3), "ann")
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    connection.request("GET", "/health", headers={"Host": "elsewhere.example"})
    answer = connection.getresponse()
    assert answer.status == 421
    assert "server" not in {name.lower() for name, _ in answer.getheaders()}
    connection.close()


@pytest.mark.parametrize(("more", "last"), [((), 429), (("--proxy-headers",), 404)])
def test_the_address_that_a_proxy_names_is_believed_only_if_told_so(start, tmp_path, more, last) -> None:
    """Otherwise whoever guesses links would be a new address with every request."""
    served = start(small_study(tmp_path / "study", 3), "ann", more=more)
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    codes = []
    for at in range(25):
        connection.request("GET", f"/a/{'x' * 41}{at:02}/", headers={"X-Forwarded-For": f"192.0.2.{at}"})
        answer = connection.getresponse()
        answer.read()
        codes.append(answer.status)
    connection.close()
    assert codes[:20] == [404] * 20
    assert codes[-1] == last


@pytest.fixture
def refused(monkeypatch, capsys):
    """Run a command that is refused, in this process; its exit code and both lines of what it says."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["embassay", "hume", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main.run()
        out, said = capsys.readouterr()
        assert out == ""
        lines = said.splitlines()
        assert len(lines) == 2, said
        return ended.value.code, " ".join(lines)

    return run


def test_what_cannot_be_served_is_one_clear_line(tmp_path, refused) -> None:
    """A taken port, no study, nobody to annotate, an address that is none: with a mend and no traceback."""
    study, fresh = small_study(tmp_path / "study", 3), small_study(tmp_path / "fresh", 3)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        cases = [
            ((study, "-a", "ann", "--port", port), 2, f"already listening on 127.0.0.1, port {port}"),
            ((tmp_path / "nothing", "-a", "ann"), 4, "This folder contains no study"),
            ((fresh,), 2, "Add some: --annotator ann"),
            ((study, "-a", "a/b"), 2, "'a/b' is not a valid annotator name"),
            (
                (study, "-a", "ann", "--public-url", "annotate.example"),
                2,
                "--public-url must be an http or https address",
            ),
            ((study, "-a", "ann", "--host", "192.0.2.1", "--port", "0"), 2, "Cannot listen on 192.0.2.1"),
            ((fresh, "-a", "ann", "--database", "postgresql://localhost:1/x"), 3, "does not answer"),
            ((fresh, "-a", "ann", "--database", "postgresql://a:geheim@localhost/x"), 2, "contains a password"),
        ]
        for words, code, told in cases:
            ended, said = refused("serve", *words)
            assert ended == code, said
            assert told in said
            assert "geheim" not in said
    assert not (fresh / "serve.key").exists()


def test_without_the_extra(tmp_path, refused, monkeypatch) -> None:
    """What to install, before anything is printed."""
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, said = refused("serve", small_study(tmp_path / "study", 3), "-a", "ann", "--port", "0")
    assert code == 3
    assert "pip install 'embassay[web]'" in said


def test_another_machine_may_reach_it_only_with_a_warning(tmp_path, start) -> None:
    """Links and answers would travel as plain text."""
    served = start(small_study(tmp_path / "study", 3), "ann", more=("--host", "0.0.0.0"))
    code, said = served.stop()
    assert code == 0
    assert "TLS" in said
