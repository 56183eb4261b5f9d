"""Data and runs of strangers: names that are paths lead nowhere, links are not followed, texts are never markup."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from embassay.cli.main import app
from embassay.errors import DataError
from embassay.interchange import export
from embassay.interchange.tables import load_runs_in_folders
from embassay.protocols.rag.golden.final_lists import read_final_lists
from embassay.protocols.wordings.sets import ParaphraseSet, import_paraphrases
from embassay.report import write_report
from embassay.web.leaderboard.library import RunLibrary
from embassay.web.leaderboard.routes import LeaderboardService
from written_runs import write_run

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>]]>--><!--"
CLIMB = "../../../../climbed"


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_names_that_are_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A run on data whose ids, labels, languages and texts climb: everything stays below --out, and the report of it
    holds no script of theirs."""
    inside = tmp_path / "a" / "b" / "c" / "d"
    inside.mkdir(parents=True)
    rows = [
        {"id": f"{CLIMB}{n}", "text": f"{CLIMB} Fox {n} ran. {SCRIPT}", "label": f"/etc/{CLIMB}{n % 2}", "lang": CLIMB}
        for n in range(12)
    ]
    data = inside / "..data..jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    monkeypatch.setenv("EMBASSAY_CACHE", str(inside / "cache"))
    before = _files(tmp_path)
    done = CliRunner().invoke(
        app,
        ["sage", "run", "-s", "jaccard", "-t", "clustering", "-d", str(data), "--tokenizer", "words", "--resamples",
         "50", "--out", str(inside / "out")],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    made = _files(tmp_path) - before
    assert made
    assert all(name.startswith(("a/b/c/d/out/", "a/b/c/d/cache/")) for name in made)
    assert not list(tmp_path.rglob("*climbed*"))
    page = (inside / "out" / "report.html").read_text("utf-8")
    assert _scripts(page) == _scripts(write_report(_plain_run(tmp_path)).read_text("utf-8"))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "img", "iframe", "object") or any(name.startswith("on") for name, _ in attrs):
            self.found.append((tag, any(name.startswith("on") for name, _ in attrs)))


def _scripts(page: str) -> set[tuple[str, bool]]:
    tags = _Tags()
    tags.feed(page)
    return set(tags.found)


def _plain_run(folder: Path) -> Path:
    return write_run(
        folder / "plain", {"a": [0.1, 0.9]}, systems=[{"name": "a", "kind": "embedding"}], cells=[], status="done"
    )


def test_links_in_a_folder_of_runs(tmp_path: Path) -> None:
    """A run elsewhere that a link leads to is neither served nor exported."""
    write_run(tmp_path / "private", {"secret": [0.5]}, systems=[{"name": "secret", "kind": "embedding"}], cells=[])
    runs = tmp_path / "runs"
    own = {"systems": [{"name": "own", "kind": "embedding"}], "cells": [], "status": "done"}
    write_run(runs / "own", {"own": [0.5, 0.6]}, **own)
    (runs / "link").symlink_to(tmp_path / "private")
    (runs / "own" / "report.html").symlink_to(tmp_path / "private" / "manifest.json")
    library = RunLibrary(runs)
    library.refresh_changed_runs()
    service = LeaderboardService(library)
    boards = library.wait_for_snapshot().boards.boards
    shown = b"".join(service.page(one.id).body for one in boards)
    assert b"own" in shown
    assert b"secret" not in shown
    assert service.report("own") is None
    assert [run.name for run in load_runs_in_folders([runs])] == ["own"]


def test_a_manifest_that_climbs(tmp_path: Path) -> None:
    """What a manifest says of files is looked for inside its own folder only."""
    file = tmp_path / "p.csv"
    file.write_text("text,lang,dataset,wording,run_seed\nA fox.,en,sample,One fox.,1337\n")
    made = import_paraphrases(file, tmp_path / "set")
    (source,) = made.sources
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    (kept,) = manifest["sources"][0]["datasets"].values()
    inside = tmp_path / "set" / kept["runs"][0]["file"]
    outside = tmp_path / "outside.parquet"
    outside.write_bytes(inside.read_bytes())
    assert made.rows(source, "sample", 1337)
    for climbing in ("../outside.parquet", str(outside)):
        kept["runs"][0]["file"] = climbing
        (tmp_path / "set" / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(DataError, match="outside the set"):
            ParaphraseSet.open(tmp_path / "set").rows(source, "sample", 1337)


def test_a_golden_set_that_climbs(tmp_path: Path) -> None:
    """Folders of questions are names in the run, not paths."""
    elsewhere = tmp_path / "elsewhere"
    inner = write_run(tmp_path / "golden", {"a": [0.5]}, systems=[], cells=[])
    manifest = json.loads((inner / "manifest.json").read_text())
    cell = {"task": "t", "dataset": "d", "system": "s", "status": "done", "query_id": "1", "folder": "../elsewhere"}
    manifest.update(protocol="rag", kind="golden", arguments={"options": {"top": 5}}, cells=[cell])
    (inner / "manifest.json").write_text(json.dumps(manifest))
    place = elsewhere / "s6_ranked"
    place.mkdir(parents=True)
    for name in ("_SUCCESS", "top5.jsonl"):
        (place / name).write_text("")
    with pytest.raises(Exception, match="No question") as told:
        read_final_lists(inner)
    assert type(told.value).__name__ == "UsageError"


@pytest.mark.skipif(os.name != "posix", reason="names like these are not possible elsewhere")
def test_a_file_with_a_hostile_name(tmp_path: Path) -> None:
    """As a dataset: its name ends up in file names, pages and tables, and is harmless in each."""
    data = tmp_path / f"{SCRIPT.replace('/', '')}\n$(touch climbed)`.jsonl"
    data.write_text("".join(json.dumps({"id": n, "text": f"Fox {n}.", "label": n % 2}) + "\n" for n in range(6)))
    done = CliRunner().invoke(
        app,
        ["sage", "run", "-s", "jaccard", "-t", "clustering", "-d", str(data), "--tokenizer", "words", "--resamples",
         "50", "--out", str(tmp_path / "out")],
        env={"EMBASSAY_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    names = [path.name for path in (tmp_path / "out").rglob("*")]
    assert not [name for name in names if set(name) & set("<>$`\n ()")]


def test_a_name_that_is_latex(tmp_path: Path) -> None:
    """In an exported table it is set as it reads, and reads no file."""
    evil = r"\input{/etc/passwd}\write18{id}%$^^M&#_~{}"
    run = write_run(
        tmp_path / "run", {evil: [0.1, 0.9], "b": [0.5, 0.4]},
        systems=[{"name": evil, "kind": "embedding"}, {"name": "b", "kind": "embedding"}], cells=[],
    )  # fmt: skip
    export([run], "latex", tmp_path / "out")
    made = "".join(path.read_text("utf-8") for path in (tmp_path / "out").rglob("*.tex"))
    assert "passwd" in made
    assert not re.search(r"\\input|\\write|\^\^|(?<!\\)%\$", made)


STEERING = "good\x1b[2J\x07\x00\x9b\u202egnp.exe"


def test_a_name_that_steers_a_terminal_in_every_file(tmp_path: Path) -> None:
    """Whatever is written about a run that names a system so (exports, figures, reports, a gate's files) holds none of
    its controls, and what is XML can be read."""
    run = write_run(
        tmp_path / "run", {STEERING: [0.1, 0.9, 0.4], "b": [0.5, 0.4, 0.2]},
        systems=[{"name": STEERING, "kind": "embedding"}, {"name": "b", "kind": "embedding"}], cells=[],
    )  # fmt: skip
    made = tmp_path / "made"
    for form in ("csv", "latex", "figures", "parquet"):
        export([run], form, made / form)
    write_report([run], out=made / "report.html")
    summary = CliRunner().invoke(app, ["report", str(run), "--summary", "--out", str(made / "summary.html")])
    assert summary.exit_code == 0, summary.output
    gate = ["gate", str(run), "--min", f"sage.robustness[{STEERING}]>=0.5", "--min", "sage.robustness[b]>=0.1"]
    done = CliRunner().invoke(app, [*gate, "--junit", str(made / "g.xml"), "--markdown", str(made / "g.md")])
    assert done.exit_code in (0, 1), done.output
    files = [path for path in made.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".csv", ".tex", ".svg", ".html", ".xml", ".md"}
    for path in files:
        if path.suffix in {".svg", ".xml"}:
            ElementTree.fromstring(path.read_bytes())
        if path.suffix not in {".parquet", ".pdf", ".png"}:
            assert not set(path.read_text("utf-8")) & set("\x1b\x07\x00\x9b\u202e"), path
