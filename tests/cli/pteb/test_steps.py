"""`pteb judge` and `pteb paraphrasers` as a user runs them: output, exit codes, a limit of cost, a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter

import pytest

from stub import StubServer

pytest.importorskip("openai")

LESS = ("--resamples", "50")


def chat(turn):
    """Judges by the length of the texts, paraphrases by turning the words round."""
    if "<text1>" in turn.last:
        return json.dumps({"score": 4.1 + len(turn.last) % 9 / 10})
    return " ".join(reversed(turn.last.split())) if turn.model != "copier" else turn.last


@pytest.fixture
def stub():
    with StubServer(chat=chat) as server:
        yield server


@pytest.fixture
def spec(stub):
    return lambda name, more="": f"openai:{name}?base_url={stub.url}/v1{more}"


@pytest.fixture
def pairs(tmp_path):
    """A file of 120 pairs."""
    rows = [
        {"id": str(i), "lang": "en", "text": f"text number {i} is here", "text2": f"and {i} again", "score": i % 6}
        for i in range(120)
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_judge(embassay, spec, stub, pairs, tmp_path):
    """The table and the report on stdout; a second call asks nothing and prints the same."""
    command = (
        "pteb",
        "judge",
        "-j",
        spec("one"),
        "-j",
        spec("two"),
        "-d",
        pairs,
        "--limit",
        "20",
        *LESS,
        "--out",
        "run",
    )
    done = embassay(*command)
    assert "report.html" in done.stdout
    assert "openai:one" in done.stdout
    asked = stub.requests["/v1/chat/completions"]
    assert asked == 40
    assert embassay(*command).stdout == done.stdout
    assert stub.requests["/v1/chat/completions"] == asked
    assert (tmp_path / "run" / "tables" / "pteb_table2.md").exists()
    embassay(*command, "--seed", "1", check_code=2)


def test_json(embassay, spec):
    """One object with every row."""
    done = embassay("pteb", "judge", "-j", spec("one"), "--limit", "12", *LESS, "--json")
    rows = json.loads(done.stdout)["results"]
    assert {row["task"] for row in rows} == {"judge"}
    assert {"spearman", "mae", "failed"} <= {row["measure"] for row in rows}


def test_dry_run_and_limits(embassay, spec, stub, pairs, tmp_path):
    """What would be asked and what it costs, without asking; a limit that is too low stops the run, resumable."""
    judge = spec("one", "&price=5&price_output=20")
    data = ("-d", pairs, "--limit", "20")
    done = embassay("pteb", "judge", "-j", judge, *data, "--dry-run", width=200)
    assert "20 requests" in done.stdout
    assert "$0." in done.stdout
    assert not stub.requests
    assert not (tmp_path / "runs").exists()
    low = ("pteb", "judge", "-j", judge, *data, *LESS, "--out", "run", "--max-cost")
    assert "--max-cost" in embassay(*low, "0.008", check_code=5).stderr
    embassay(*low, "5")
    assert stub.requests["/v1/chat/completions"] == 20
    assert "price" in embassay("pteb", "judge", "-j", spec("two"), "--max-cost", "1", check_code=2).stderr


def test_paraphrasers(embassay, spec, tmp_path):
    """The choice and its reason, and a warning when a model judges itself; the paraphrases can be replayed."""
    done = embassay(
        "pteb", "paraphrasers", "-p", spec("turner"), "-p", spec("copier"), "-p", "recorded", "--judge", spec("turner"),
        "--cross-judge", spec("other"), "--limit", "12", *LESS, "--out", "run",
    )  # fmt: skip
    assert "report.html" in done.stdout
    assert "Selected: openai:turner" in done.stderr
    assert (done.stdout + done.stderr).count("judges its own paraphrases") == 1
    table = (tmp_path / "run" / "tables" / "pteb_table4.md").read_text()
    assert "it copies" in table
    plan = embassay(
        "pteb", "paraphrasers", "-p", "copied", "--judge", spec("fresh"), "--limit", "10", "--dry-run", width=200
    )
    assert "requests" in plan.stdout
    assert "copied" in embassay(
        "pteb", "paraphrasers", "-p", "coppied", "--judge", spec("fresh"), check_code=2
    ).stderr  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("step", ["judge", "paraphrasers"])
def test_killed_it_asks_for_nothing_twice(step, stub, spec, pairs, tmp_path, warm):
    """But for what was in flight when it died; the results are those of a run that was not killed."""
    stub.latency = 0.05
    seen = Counter()
    stub.chat = lambda turn: (seen.update([(turn.model, turn.last, turn.body["seed"])]), chat(turn))[1]
    head = ["-j", spec("one")] if step == "judge" else ["-p", spec("turner"), "--judge", spec("one")]
    limits = "&concurrency=8"
    command = [*warm.command, "pteb", step, *(one + limits if "://" in one else one for one in head)]

    def start(out, cache):
        return subprocess.Popen(
            [*command, "-d", str(pairs), *LESS, "--json", "--out", str(tmp_path / out)],
            env={**os.environ, "EMBASSAY_CACHE": str(tmp_path / cache)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    for goal in (30, 80):
        process = start("run", "cache")
        while len(seen) < goal:
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        while stub.in_flight:
            time.sleep(0.01)
    process = start("run", "cache")
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors.decode()
    assert sum(seen.values()) - len(seen) <= 2 * 8
    found = json.loads(out)["results"]
    whole = json.loads(start("whole", "cache").communicate(timeout=120)[0])["results"]
    assert [row for row in found if row["measure"] != "seconds"] == [
        row for row in whole if row["measure"] != "seconds"
    ]
