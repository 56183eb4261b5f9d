"""`embassay hteb` as a user types it: a run offline, texts alone, the authors' files, people, and what is wrong."""

import json
import os
import signal
import subprocess
import time

import pytest

from stub import StubServer
from stub.transforming import transforming

OFFLINE = (
    "--transformer", "recorded", "-t", "sts", "--limit", "14", "--languages", "reference", "--runs", "1", "--tokenizer",
    "words", "--resamples", "60",
)  # fmt: skip


@pytest.fixture
def model():
    pytest.importorskip("openai")
    with StubServer(chat=transforming(copying=0.1)) as server:
        yield server, f"ollama:ruler?base_url={server.url}&name=stub&price=1"


def test_the_sample_has_a_profile_without_any_model(embassay, tmp_path):
    """A verdict by axis, the axes of every system, a report; --json gives the rows of each axis."""
    command = ("hteb", "run", "-s", "jaccard", *OFFLINE, "--out", "run")
    shown = embassay(*command).stdout
    assert " axis" in shown
    assert "Δ language" in shown
    rows = json.loads(embassay(*command, "--json").stdout)["results"]
    variants = {row["variant"] for row in rows if row["system"] == "jaccard"}
    assert {"axis:style", "axis:length", "axis:language", "style_change", "translation", ""} <= variants
    assert "hteb-profiles" in (tmp_path / "run" / "report.html").read_text("utf-8")


def test_texts_go_out_and_come_back(embassay, tmp_path, model):
    """Transformed, exported in the authors' layout, imported, and scored without the model."""
    server, spec = model
    more = ("-d", "sample", "-t", "sts", "--limit", "5")
    plan = json.loads(
        embassay("hteb", "transform", "--transformer", spec, "--runs", "1", *more, "--dry-run", "--json").stdout
    )
    calls = sum(cell["requests"] for cell in plan["cells"])
    assert not server.requests
    counts = json.loads(
        embassay("hteb", "transform", "--transformer", spec, "--runs", "1", *more, "--out", "texts", "--json").stdout
    )
    assert {one["transformation"] for one in counts} >= {"paraphrasing", "cross_translation"}
    assert 0.9 * calls <= sum(server.requests.values()) <= calls
    said = embassay("hteb", "export", "texts", *more, "--generator", "org/model", "--out", "root").stdout
    assert said.count("data.parquet") == 8
    embassay("hteb", "import", "root", "--out", "set")
    asked = sum(server.requests.values())
    run = ("hteb", "run", "-s", "jaccard", *more, "--runs", "1", "--tokenizer", "words", "--resamples", "60")
    embassay(*run, "--transformer", "stored:set", "--out", "run")
    assert sum(server.requests.values()) == asked
    drawn = embassay(
        "hteb", "validate", "sample", "run", "--pairs", "4", "--transformations", "style", "--out", "study"
    )
    assert "3 transformations" in drawn.stdout
    assert "paraphrasing" in embassay("hteb", "validate", "score", "study").stdout


def test_a_folder_without_texts_is_told(embassay):
    """As data that cannot be read."""
    done = embassay(
        "hteb", "run", "-s", "jaccard", "--tokenizer", "words", "--transformer", "stored:nowhere", check_code=4
    )
    assert "nowhere" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--transformer", "recorded", "--transformations", "expanson"), "expansion"),
        (("--transformer", "recorded", "--runs", "2"), "--runs 1"),
        (("--transformer", "recorded", "--transformations", "backtranslation"), "backtranslation"),
        (("--transformer", "stored:"), "stored:FOLDER"),
        (("--transformer", "recorded", "--failed", "drop"), "leave-out"),
        (("--transformer", "recorded", "--family", "e5"), "BILLIONS"),
        (("--transformer", "recorded", "--top-k", "0"), "top_k"),
    ],
)
def test_mistakes_are_told_in_a_line_with_their_mend(embassay, words, told):
    """Before any work, and never with a traceback."""
    done = embassay("hteb", "run", "-s", "jaccard", "--tokenizer", "words", *words, check_code=2)
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_killed_and_gone_on_elsewhere_nothing_is_paid_twice_and_the_bytes_are_the_same(tmp_path, warm):
    """All eight transformations: kill -9 among the calls, and again among the cells; then two
    workers and another hash seed end with the bytes of an undisturbed run. What was in flight may be asked again."""
    pytest.importorskip("openai")
    with StubServer(latency=0.02, chat=transforming(copying=0.05, empty=0.02)) as server:

        def start(name, *more, **environment):
            model = f"ollama:ruler?base_url={server.url}&name=stub&concurrency=8"
            command = [*warm.command, "hteb", "run", "-s", "jaccard", "-t", "sts", "--limit", "8", "--runs", "1",
                       "--tokenizer", "words", "--resamples", "50", "--failed", "reference", "--transformer", model,
                       "--out", str(tmp_path / name), *more]  # fmt: skip
            environment = {**os.environ, "EMBASSAY_CACHE": str(tmp_path / f"cache-{name}"), **environment}
            return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

        def finish(*given, **environment):
            process = start(*given, **environment)
            errors = process.communicate(timeout=300)[1].decode()
            assert process.returncode == 0, errors[-2000:]

        def calls():
            return sum(server.requests.values())

        finish("whole")
        once = calls()
        server.forget()
        cells = tmp_path / "broken" / "cells"
        for come in (lambda: calls() > once // 2, lambda: len(list(cells.glob("*.json"))) > 6):
            process = start("broken")
            while not come():
                time.sleep(0.002)
                assert process.poll() is None, process.communicate()[1].decode()[-2000:]
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
        finish("broken", "--workers", "2", PYTHONHASHSEED="7")
        assert once <= calls() <= once + 2 * 8
    for name in ("results.jsonl", "tables/hteb_cells.csv", "tables/hteb_texts.csv"):
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
