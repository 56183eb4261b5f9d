"""`embassay hume annotate` as a user types it: kills, limits, mistakes, plans."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from embassay.protocols.hume.llms.annotator import format_item_for_llm
from embassay.protocols.hume.study import read_study
from embassay.randomness import draw_random_bytes
from hume_small import LABELS, small_study
from stub import StubServer
from stub.annotating import annotating

KEY = {"OPENAI_API_KEY": "a-key"}


@pytest.fixture
def study(tmp_path):
    return small_study(tmp_path / "study")


def known_of(study):
    """Gold by the texts of the items."""
    folder = read_study(study)
    names = {label.value: label.name for label in LABELS}
    known = {}
    for task in folder.study.tasks:
        gold = folder.gold(task.name)
        for item in folder.select_task_items(task.name):
            payload = item.payload
            texts = tuple(payload.values())
            if task.family == "reranking":
                texts = (payload["query"], *(one["text"] for one in payload["documents"]))
            known[texts] = names[gold[item.id]] if task.family == "classification" else gold[item.id]
    return known


def spec(stub, more=""):
    return f"openai:stub?base_url={stub.url}/v1{more}"


def kept_rows(study):
    """Items and runs that the file of answers has, whole lines only."""
    lines = [line for path in (study / "llm").glob("*.jsonl") for line in path.read_bytes().split(b"\n")[:-1]]
    return {(row["item_id"], row["run"]) for row in map(json.loads, lines)}


def questions(study, rows):
    """What was sent for them: the item as shown, and the seed of the run."""
    folder = read_study(study)
    items = {item.id: format_item_for_llm(folder.study.task(item.task), item.payload) for item in folder.items}
    seeds = [int.from_bytes(draw_random_bytes(4, 1337, "hume llm", str(run), "0")) >> 1 for run in range(2)]
    return {(items[item], seeds[run]) for item, run in rows}


@pytest.mark.slow
def test_killed_again_and_again_nothing_is_asked_twice(study, tmp_path, warm):
    """kill -9 twice in the middle, resumed: what was kept is never sent again, and the file is that of one go."""
    known = known_of(study)
    whole = small_study(tmp_path / "whole")
    with StubServer(chat=annotating(known, wrong=0.3, spread=2.0, misplaced=1.5), latency=0.15, queue=4) as stub:
        command = [*warm.command, "hume", "annotate"]
        arguments = ["--llm", spec(stub), "--runs", "2"]
        environment = {**os.environ, **KEY, "EMBASSAY_CACHE": str(tmp_path / "cache")}
        for answered in (15, 40):
            process = subprocess.Popen(
                [*command, str(study), *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            while len(kept_rows(study)) < answered:
                assert process.poll() is None, process.stderr.read().decode()[-2000:]
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
            # What the server still works on was sent before.
            while stub.in_flight:
                time.sleep(0.05)
            before, asked_before = kept_rows(study), len(stub.bodies)
        done = subprocess.run(
            [*command, str(study), *arguments], env=environment, capture_output=True, text=True, check=True
        )
        assert "Traceback" not in done.stderr
        again = {(body["messages"][1]["content"], body["seed"]) for body in stub.bodies[asked_before:]}
        assert again
        assert not again & questions(study, before)
        environment["EMBASSAY_CACHE"] = str(tmp_path / "another")
        subprocess.run([*command, str(whole), *arguments], env=environment, capture_output=True, check=True)
    (broken_file,), (whole_file,) = ((path / "llm").glob("*.jsonl") for path in (study, whole))
    assert broken_file.read_bytes() == whole_file.read_bytes()
    assert len(broken_file.read_text().splitlines()) == 72


def test_what_it_says(embassay, study):
    """A row for each task, what is left out and why, what it cost; as JSON too."""
    with StubServer(chat=annotating(known_of(study))) as stub:
        done = embassay("hume", "annotate", study, "--llm", spec(stub, "&price=1&price_output=2"), env=KEY, width=160)
        for words in ("mood", "search", "pairs", "12", "embassay hume score"):
            assert words in done.stdout
        assert "Left out: topics." in done.stderr
        assert "Spent $0." in done.stderr
        again = embassay("hume", "annotate", study, "--llm", spec(stub, "&price=1&price_output=2"), "--json", env=KEY)
        assert stub.requests["/v1/chat/completions"] == 36
    said = json.loads(again.stdout)
    assert [one["statuses"] for one in said["annotated"]] == [{"ok": 12}] * 3
    assert said["left_out"] == ["topics"]
    assert said["spent"]["usd"] > 0


def test_a_plan_sends_nothing(embassay, study):
    """And needs no key."""
    done = embassay("hume", "annotate", study, "--llm", "openai:gpt-5-mini", "--dry-run", "--json")
    plan = json.loads(done.stdout)
    assert [cell["requests"] for cell in plan["cells"]] == [12, 12, 12]
    assert plan["usd"] > 0
    assert not (study / "llm").exists()


def test_failed_calls_are_an_error_at_the_end(embassay, study):
    """Exit code 3, and the same command tries them again."""
    with StubServer(chat=annotating(known_of(study), refusing=0.2)) as stub:
        done = embassay("hume", "annotate", study, "--llm", spec(stub), env=KEY, check_code=3)
        assert "calls failed" in done.stderr
        stub.chat = annotating(known_of(study))
        embassay("hume", "annotate", study, "--llm", spec(stub), env=KEY)


def test_the_limit_of_cost_is_exit_code_5(embassay, study):
    """With the command that goes on."""
    with StubServer(chat=annotating(known_of(study)), latency=0.01) as stub:
        llm = spec(stub, "&price=1&price_output=1")
        done = embassay("hume", "annotate", study, "--llm", llm, "--max-cost", "0.004", env=KEY, check_code=5)
        assert "Resume with a higher --max-cost: embassay hume annotate" in done.stderr
        kept = sum(len(path.read_text().splitlines()) for path in (study / "llm").glob("*.jsonl"))
        assert kept == stub.paid.total() < 36


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--llm", "opnai:gpt-5"), 2, "opnai"),
        (("--llm", "openai:x", "--task", "topics"), 2, "cannot annotate topics"),
        (("--llm", "openai:x", "--task", "mod"), 2, "no task 'mod'"),
        (("--llm", "openai:x?temperature=9"), 2, "temperature is 9"),
        (("--llm", "openai:nobody", "--max-cost", "1"), 2, "price of 'openai:nobody' is unknown"),
    ],
)
def test_mistakes_are_one_line_and_a_mend(embassay, study, arguments, code, told):
    done = embassay("hume", "annotate", study, *arguments, env=KEY, check_code=code)
    assert told in done.stderr


def test_no_study_is_said(embassay, tmp_path):
    done = embassay("hume", "annotate", tmp_path, "--llm", "openai:x", env=KEY, check_code=4)
    assert "contains no study" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_says_what_is_kept_and_how_to_resume(study, tmp_path, warm, name):
    """Exit code 130, no traceback, and whole lines only."""
    environment = {**os.environ, **KEY, "EMBASSAY_CACHE": str(tmp_path / "cache")}
    with StubServer(chat=annotating(known_of(study)), latency=1.0, queue=2) as stub:
        process = subprocess.Popen(
            [*warm.command, "hume", "annotate", str(study), "--llm", spec(stub)], env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        while len(kept_rows(study)) < 4:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(getattr(signal, name))
        errors = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130, errors
    assert "Resume with: embassay hume annotate" in errors
    assert "Traceback" not in errors
    assert 4 <= len(kept_rows(study)) < 36
