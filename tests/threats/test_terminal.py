"""Names, texts and reasons of strangers never control a terminal, whichever command prints them."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.cli import main
from embassay.cli.terminal import (
    ControlEscapingStream,
    escape_control_characters,
    escape_control_characters_in_output,
    replace_control_characters,
)
from written_runs import write_run

EVIL = "evil\x1b[2J\x1b]0;gone\x07\x9b31m\x7f\u202egpj.exe\u2066[bold red]x[/][/nothing]"
"""Clears the screen, names the window, colours, deletes, turns around, and markup of the library that draws."""
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def told(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> str:
    """What a command prints on stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "argv", ["embassay", *map(str, arguments)])
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with pytest.raises(SystemExit):
        main.run()
    return out.getvalue() + err.getvalue()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A dataset whose name, columns, texts and labels are hostile."""
    path = tmp_path / f"{EVIL.replace('/', '')}.jsonl"
    rows = [{"id": f"{n}{EVIL}", "text": EVIL, "text2": EVIL, "label": EVIL, EVIL: n} for n in range(12)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose systems and reasons are hostile."""
    systems = [{"name": EVIL, "kind": "embedding"}, {"name": "b", "kind": "classical"}]
    cells = [
        {"task": "robustness", "dataset": EVIL, "system": EVIL, "status": "failed", "reason": EVIL, "seconds": 1.0}
    ]
    return write_run(
        tmp_path / "run", {EVIL: [0.1, 0.9, 0.4], "b": [0.5, 0.4, 0.2]}, systems=systems, cells=cells, command=EVIL,
        status="done", name=EVIL,
    )  # fmt: skip


@pytest.mark.parametrize("command", ["show", "check"])
@pytest.mark.parametrize("form", ["plain", "json"])
def test_data_of_a_stranger(
    monkeypatch: pytest.MonkeyPatch, table: Path, tmp_path: Path, command: str, form: str
) -> None:
    """`data show` and `data check`, as text and as JSON; the JSON still holds every character."""
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "cache"))
    said = told(monkeypatch, "data", command, table, *(["--json"] if form == "json" else []))
    assert "evil" in said
    assert CONTROLS.search(said) is None
    if form == "json" and command == "show":
        assert repr(EVIL)[1:-1] in repr(json.loads(said[said.index("{") :]))


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "RUN", "-a", EVIL, "-b", "b"), ("compare", "RUN", "-a", EVIL, "-b", "b", "--json"),
        ("compare", "RUN", "-a", f"nobody{EVIL}", "-b", "b"), ("gate", "RUN", "--min", f"sage.overall[{EVIL}]>=0.4"),
        ("gate", "RUN", "--min", "sage.overall[b]>=2"), ("export", "csv", "RUN", "--out", "OUT"),
        ("export", "latex", "RUN", "--out", "OUT", "--json"), ("report", "RUN"), ("--debug", "report", "NOWHERE"),
        ("report", "NOWHERE"), ("sage", "run", "-s", EVIL, "-d", EVIL, "--out", "OUT"),
        ("sage", "run", "-s", "wordllama", "-d", EVIL, "--dry-run"), ("rag", "sweep", "NOWHERE"),
        ("hume", "score", "NOWHERE"), ("cache", "info"),
    ],
)  # fmt: skip
def test_runs_of_a_stranger(
    monkeypatch: pytest.MonkeyPatch, run: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Reports, comparisons, gates, exports, and errors that repeat what was typed or found, tracebacks among them."""
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / f"cache{EVIL.replace('/', '')}"))
    places = {"RUN": run, "OUT": tmp_path / "out", "NOWHERE": tmp_path / EVIL.replace("/", "")}
    said = told(monkeypatch, *(places.get(one, one) for one in arguments))
    assert said
    assert CONTROLS.search(said) is None


def test_imports_and_rankings_of_a_stranger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Faults of published results by their files' names, and rankings by the names of queries and documents."""
    place = tmp_path / "results" / "org__model" / "1"
    place.mkdir(parents=True)
    for name, content in ((f"{EVIL.replace('/', '')}.json", b"{"), ("T.json.gz", gzip.compress(b"["))):
        (place / name).write_bytes(content)
    qrels, run = tmp_path / "qrels.jsonl", tmp_path / "run.jsonl"
    row = {"query_id": EVIL, "doc_id": EVIL}
    qrels.write_text(json.dumps({**row, "grade": 5}) + "\n")
    run.write_text(json.dumps({**row, "score": 1.0}) + "\n")
    said = told(monkeypatch, "import", "mteb", tmp_path, "--out", tmp_path / "out")
    said += told(monkeypatch, "rag", "score", "--qrels", qrels, "--run", run, "--per-query")
    said += told(monkeypatch, "rag", "score", "--qrels", run, "--run", run, "--per-query", "--json")
    assert "evil" in said
    assert CONTROLS.search(said) is None


@given(st.text())
def test_no_control_is_left(text: str) -> None:
    """In any text; and what is JSON stays the same JSON."""
    assert CONTROLS.search(escape_control_characters(text)) is None
    assert CONTROLS.search(replace_control_characters(text)) is None
    assert len(replace_control_characters(text)) == len(text)
    assert json.loads(escape_control_characters(json.dumps(text, ensure_ascii=False))) == text


def test_a_table_on_a_terminal(tmp_path: Path) -> None:
    """Behind a real terminal, where colours are drawn: only ours, and brackets are no markup."""
    pty = pytest.importorskip("pty")
    program = (
        "from embassay.cli.terminal import escape_control_characters_in_output\n"
        "from embassay.cli.terminal import print_rendered_text, print_table_to_fit_screen, make_progress_bars\n"
        f"evil = {EVIL!r}\n"
        "with escape_control_characters_in_output():\n"
        "    print_table_to_fit_screen(['a', evil], [[evil, evil]], wide=True)\n"
        "    print_rendered_text(evil); print(evil)\n"
        "    bars = make_progress_bars(); bars.start(); bars.add_task(evil, state=evil)\n"
        "    bars.console.print(evil); print(evil); bars.refresh(); bars.stop()\n"
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    drawn = b""
    try:
        while part := os.read(ours, 65536):
            drawn += part
    except OSError:  # how Linux tells that the other side is closed
        pass
    assert process.wait() == 0
    text = drawn.decode()
    assert text.count("evil") >= 5
    for hostile in ("\x1b[2J", "\x1b]0;", "\x07", "\x9b", "\u202e", "\u2066"):
        assert hostile not in text
    assert "[bold red]x[/]" in text


def test_bars_of_libraries_are_drawn() -> None:
    """What goes back to the beginning of the line, or a line up, is let through on stderr only where a write begins."""
    stream = io.StringIO()
    bars = ControlEscapingStream(stream, bars=True)
    bars.write("\r 50%")
    bars.write("\n\x1b[A")
    bars.write("name\rX")
    assert stream.getvalue() == "\r 50%\n\x1b[Aname\\u000dX"


def test_the_streams_come_back() -> None:
    """After the command, whatever became of it."""
    before = sys.stdout, sys.stderr
    with pytest.raises(ZeroDivisionError), escape_control_characters_in_output():
        raise ZeroDivisionError
    assert (sys.stdout, sys.stderr) == before
