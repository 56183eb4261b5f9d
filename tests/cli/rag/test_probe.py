"""`embassay rag probe` as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from stub import StubServer
from stub.wire import Problem

QUICK = ("--queries", "5", "--runs", "2", "--tokenizer", "words", "--resamples", "100")
NAMES = ("rag", "probe", "names", "-s", "bm25", "-s", "jaccard", *QUICK)
ONE = ("rag", "probe", "names", "-s", "jaccard", *QUICK)
NOISE = ("rag", "probe", "noise", "-s", "bm25", "-s", "jaccard", *QUICK)


def test_names(embassay, tmp_path):
    """Verdict, margins with intervals, a percent per ablation; tables and a report with its page."""
    done = embassay(*NAMES, "--lang", "en", "--out", "run", "--wide", width=200)
    assert "With every author masked, the margin is exactly 0" in " ".join(done.stdout.split())
    line = next(one for one in done.stdout.splitlines() if one.startswith("bm25"))
    assert "English" in line
    assert "−100%" in line
    tables = {path.name for path in (tmp_path / "run" / "tables").iterdir()}
    assert {"rag_table10.csv", "rag_table11.md", "name_margin_en.csv", "name_retrieval.md", "name_links.csv"} <= tables
    assert "name_margin_fr.csv" not in tables
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "What the name margin depends on" in page
    assert "edit distance near miss" in page


def test_names_on_the_sample(embassay, tmp_path):
    """What damaged names cost in each language of the sample, on the terminal, in tables and on the page."""
    done = embassay(*ONE, "-d", "sample", "--limit", "5", "--out", "run", "--wide", width=200)
    assert "N-Recall4+@10 in sample-fr, and its change by ablation:" in done.stdout
    tables = {path.name for path in (tmp_path / "run" / "tables").iterdir()}
    assert {"name_losses.csv", "name_forecasts.md"} <= tables
    assert "How damaged names change recall in your collections" in (tmp_path / "run" / "report.html").read_text(
        "utf-8"
    )


def test_noise_on_the_sample(embassay, tmp_path):
    """Level 0 to 4, drop, recovery, and what retrieval loses, in both languages of the sample."""
    done = embassay(*NOISE, "-d", "sample", "--limit", "4", "--out", "run", "--wide", width=200)
    assert "Recovered" in done.stdout
    assert "sample-fr" in done.stdout
    tables = {path.name for path in (tmp_path / "run" / "tables").iterdir()}
    assert {"rag_table12.csv", "rag_table13.md", "noise_retrieval.csv", "noise_links.md"} <= tables
    assert "What retrieval loses" in (tmp_path / "run" / "report.html").read_text("utf-8")


def test_json_and_resume(embassay, tmp_path):
    """One object on stdout; the same command does nothing again, other arguments are refused."""
    command = (*ONE, "--lang", "fr", "--condition", "gibberish_name", "--out", "run", "--json")
    first, second = (json.loads(embassay(*command).stdout) for _ in range(2))
    assert first["results"] == second["results"]
    variants = {row["variant"] for row in first["results"]}
    assert variants == {"", "gibberish_name", "conditions"}
    assert {row["protocol"] for row in first["results"]} == {"rag"}
    sessions = json.loads((tmp_path / "run" / "manifest.json").read_text())["sessions"]
    assert [one["cells_done"] for one in sessions] == [1, 0]
    assert "--out" in embassay(*command, "--seed", "4", check_code=2).stderr


@pytest.mark.parametrize("command", [NAMES, NOISE])
def test_a_dry_run_writes_nothing(embassay, tmp_path, command):
    """Every cell with what it takes."""
    plan = json.loads(embassay(*command, "-s", "wordllama", "--dry-run", "--json", "--out", "run").stdout)
    assert not (tmp_path / "run").exists()
    assert len(plan["cells"]) == 6
    assert next(one for one in plan["systems"] if one["system"] == "wordllama")["texts"] > 0


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((*NAMES, "--condition", "giberish"), 2, "gibberish_name"),
        ((*NAMES, "--people", "none.csv"), 4, "none.csv"),
        ((*NOISE, "--rewriter", "ruls"), 2, "Did you mean rules?"),
        ((*NOISE, "-d", "sample", "--reference", "need"), 2, "--reference passage"),
        ((*NOISE, "--rewriter", "llm:openai:m?base_url=http://127.0.0.1:9/v1", "--max-cost", "1"), 2, "price"),
    ],
)
def test_mistakes_are_one_line(embassay, tmp_path, arguments, code, told):
    """What was wrong is named, with the exit code of its kind."""
    done = embassay(*arguments, "--out", "run", check_code=code, env={"OPENAI_API_KEY": "k"})
    assert told in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_failing_system_is_exit_code_3(embassay):
    """The others are done and shown; the failure has its reason, and the same command tries again."""

    def broken(request):
        if "embeddings" in request.path:
            raise Problem(400, "no such model")

    with StubServer(check=broken) as server:
        spec = f"openai:x?base_url={server.url}/v1&dimensions=8&price=0"
        done = embassay(*ONE, "-s", spec, "--lang", "en", "--out", "run", check_code=3, env={"OPENAI_API_KEY": "k"})
    assert "1 of 2 cells failed" in done.stderr
    assert "jaccard" in done.stdout


@pytest.mark.slow
def test_killed_it_goes_on_and_ends_with_the_same_rows(embassay, tmp_path, warm):
    """kill -9 in the middle, then the same command: rows equal an uninterrupted run's."""
    command = (*NAMES, "-s", "wordllama", "-s", "levenshtein")
    embassay(*command, "--out", "whole", env={"EMBASSAY_CACHE": str(tmp_path / "one")})
    environment = {**os.environ, "EMBASSAY_CACHE": str(tmp_path / "two")}
    process = subprocess.Popen(
        [*warm.command, *command, "--out", "broken"], cwd=tmp_path, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    cells = tmp_path / "broken" / "cells"
    while not (cells.exists() and list(cells.glob("*.json"))):
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    embassay(*command, "--out", "broken", env={"EMBASSAY_CACHE": str(tmp_path / "two")})
    rows = [(tmp_path / name / "results.jsonl").read_text() for name in ("whole", "broken")]
    assert rows[0] == rows[1]
