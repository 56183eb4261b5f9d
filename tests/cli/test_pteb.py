"""`embassay pteb` as a user types it: the sample, a model behind a server, kills, and what is wrong."""

import json
import os
import signal
import subprocess
import time

import pytest

from stub import StubServer
from stub.paraphrasing import paraphrasing

SAMPLE = ("--tokenizer", "words", "--languages", "pooled", "--resamples", "100")


def test_run_on_the_sample(embassay, tmp_path):
    """The verdict, the table and the report's path; --json gives rows with both sides and the drop."""
    command = ("pteb", "run", "-s", "bm25", "-p", "recorded", "--runs", "3", *SAMPLE, "--out", "run")
    shown = embassay(*command)
    assert "bm25" in shown.stdout
    assert "Report: run/report.html" in shown.stdout
    rows = json.loads(embassay(*command, "--json").stdout)["results"]
    found = {(row["variant"], row["measure"]) for row in rows if row["task"] == "sts" and row["system"] == "bm25"}
    assert {("original", "spearman"), ("", "spearman"), ("", "delta"), ("", "sd")} <= found
    assert ("paraphrase:seed=1337", "spearman") in found
    assert (tmp_path / "run" / "paraphrases" / "manifest.json").exists()


def test_dry_run_sends_nothing_and_needs_no_key(embassay, tmp_path):
    """Texts, tokens, price and time of the wordings and of each system."""
    shown = embassay(
        "pteb", "run", "-s", "bm25", "-p", "openai:gpt-5-mini", "--runs", "2", "--tokenizer", "words", "--dry-run",
        "--wide", env={"OPENAI_API_KEY": ""}, width=200,
    )  # fmt: skip
    assert "paraphrases" in shown.stdout
    assert "Nothing was sent." in shown.stdout
    assert not list(tmp_path.glob("runs/*"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-p", "recrded"), "Did you mean recorded"),
        (("--runs", "2"), "or --original-only"),
        (("-p", "recorded", "--original-only"), "paraphrases nothing"),
        (("-p", "recorded", "--runs", "4"), "3 recorded paraphrases per text"),
        (("-p", "stored:nowhere"), "no set of paraphrases"),
        (("-p", "recorded", "--prompt", "variant1"), "uses no prompt"),
        (("-p", "recorded", "--on-failure", "ignore"), "'ignore' is not one of 'leave-out', 'original'"),
        (("-p", "recorded", "--exclude", "all"), "'all' is not one of 'copied'"),
        (("-p", "recorded", "--last-seed", "1443"), "Write DATASET=SEED"),
        (("-p", "recorded", "--last-seed", "other=1443"), "not one of the datasets"),
        (("-p", "recorded", "--until-ci", "0"), "points above 0"),
        (("-p", "recorded", "--runs", "1", "--until-ci", "1"), "at least two runs"),
        (("-p", "recorded", "--baseline", "minilm"), "is not one of the systems"),
        (("-p", "recorded", "-t", "stss"), "sts"),
        (("-p", "openai:x?base_url=http://127.0.0.1:9/v1", "--max-cost", "1"), "price"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(embassay, arguments, told):
    """Exit code 2 (4 for data), what, and the mend; nothing is written."""
    done = embassay("pteb", "run", "-s", "bm25", *SAMPLE, *arguments, check_code=4 if "nowhere" in arguments[1] else 2)
    assert told in done.stderr


def test_a_model_that_cannot_be_had_stops_the_run(embassay, tmp_path):
    """Exit code 3, one line with what failed; the originals are kept, and the same command goes on. A server that is
    dead is asked again for some time: `systems/encoders/test_posted.py`."""
    pytest.importorskip("openai")
    with StubServer(keys={"another"}, chat=paraphrasing()) as server:
        done = embassay(
            "pteb", "run", "-s", "bm25", "-p", f"openai:x?base_url={server.url}/v1&price=0", "-t", "sts",
            "--runs", "2", *SAMPLE, "--out", "run", check_code=3,
        )  # fmt: skip
    assert "status 401" in done.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["status"] != "finished"
    assert [cell["status"] for cell in manifest["cells"]] == ["done"] * 3


@pytest.mark.slow
def test_killed_again_and_again_no_text_is_asked_twice(tmp_path, warm):
    """kill -9 while texts are worded and while cells are done: the resumed run ends with the bytes of an
    uninterrupted one, and the server was asked for every text of every run once, but for calls in flight."""
    pytest.importorskip("openai")
    with StubServer(latency=0.02, chat=paraphrasing()) as server:
        _finish(warm, tmp_path / "whole", tmp_path / "cache-whole", server)
        once = server.requests["/v1/chat/completions"]
        server.forget()
        broken, cache = tmp_path / "broken", tmp_path / "cache-broken"
        cells = len(list((tmp_path / "whole" / "cells").glob("*.json")))
        moments = (
            lambda: server.requests["/v1/chat/completions"] > once // 3,
            lambda: len(list((broken / "cells").glob("*.json"))) >= cells // 3,
            lambda: len(list((broken / "cells").glob("*.json"))) >= 2 * cells // 3,
        )
        for come in moments:
            process = _start(warm, broken, cache, server)
            while not come():
                time.sleep(0.002)
                assert process.poll() is None, process.communicate()[1].decode()[-2000:]
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
        _finish(warm, broken, cache, server)
        # What was in flight at a kill (at most 8) was answered and not kept.
        assert once <= server.requests["/v1/chat/completions"] <= once + 3 * 8
    assert _rows(broken) == _rows(tmp_path / "whole")


def _start(warm, path, cache, server):
    # So many calls are in flight at most, and lost when the process is killed.
    model = f"openai:ruler?base_url={server.url}/v1&price=0&concurrency=8"
    command = [
        *warm.command, "pteb", "run", "-s", "bm25", "-s", "wordllama", "-t", "sts", "-t",
        "retrieval", "--runs", "3", *SAMPLE, "-p", model, "--out", str(path),
    ]  # fmt: skip
    environment = {**os.environ, "EMBASSAY_CACHE": str(cache)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _finish(warm, path, cache, server):
    process = _start(warm, path, cache, server)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors.decode()[-2000:]


def _rows(path):
    """Result rows without the seconds that answers took."""
    rows = map(json.loads, (path / "results.jsonl").read_text().splitlines())
    return [row for row in rows if row["measure"] != "seconds"]
