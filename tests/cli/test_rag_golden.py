"""`embassay rag golden` as a user types it: the sample, a model behind a server, kills in every stage, mistakes."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from stub import StubServer
from stub.judging import judging

QUICK = ("--depth", "6", "--minimum", "5", "--top", "4", "--ranking", "locks:stability_turns=2")
SAMPLE = ("rag", "golden", "-d", "sample", "-s", "wordllama", "--limit", "3", *QUICK)
_TIMES = re.compile(r'"(?:ts|cut_ts)": "[^"]*"')


@pytest.fixture(scope="module")
def grades(root, tmp_path_factory):
    """What is known of the sample's questions, as qrels."""
    path = tmp_path_factory.mktemp("grades") / "sample.qrels"
    rows = (root / "src/embassay/data/sample/questions.jsonl").read_text("utf-8").splitlines()
    lines = [f"{row['id']} 0 {doc} {grade}\n" for row in map(json.loads, rows) for doc, grade in row["grades"].items()]
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def finished(warm, grades, tmp_path_factory):
    """A run on the sample: the folder that it lies in, its arguments, what it showed."""
    folder = tmp_path_factory.mktemp("finished")
    arguments = (*SAMPLE, "--judge", f"simulated:{grades}", "--out", "run")
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "EMBASSAY_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [*warm.command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return folder, arguments, done.stdout


def test_run_on_the_sample(embassay, tmp_path, finished):
    """The verdict, the stages, tokens, and where the judgements are; --json gives rows and values per question."""
    folder, command, shown = finished
    shutil.copytree(folder / "run", tmp_path / "run")
    assert "3 of 3 questions have graded, ordered passages" in shown
    assert "Tokens per candidate (words)" in shown
    assert "run/export/qrels.tsv" in shown
    said = json.loads(embassay(*command, "--json").stdout)
    assert said["results"][0]["measure"] == "grade4plus5_count_median"
    assert {row["measure"] for row in said["per_query"]} >= {"pool", "grade_5", "kept", "calls"}
    told = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert told["config"]["depth"] == {"value": 6, "from": "command line"}
    assert told["config"]["overlap"] == {"value": 70, "from": "default"}


def test_the_set_scores_a_run(embassay, tmp_path, finished):
    """What is exported is what `rag score` takes."""
    qrels = finished[0] / "run" / "export" / "qrels.tsv"
    rows = [line.split("\t") for line in qrels.read_text().splitlines()[1:]]
    lines = [f"{query} Q0 {doc} {place} {100 - place} mine\n" for place, (query, doc, _) in enumerate(rows, 1)]
    (tmp_path / "mine.run").write_text("".join(lines))
    shown = embassay("rag", "score", "--qrels", qrels, "--run", "mine.run", "-m", "N-Recall4+@10")
    assert "N-Recall4+@10" in shown.stdout


def test_dry_run_sends_nothing_and_needs_no_key(embassay, tmp_path):
    """Calls of the judge, tokens, price and time, stage by stage."""
    shown = embassay(
        *SAMPLE, "-j", "openai:gpt-5-mini", "--rewriter", "llm:openai:gpt-5-mini", "--repeat", "10", "--dry-run",
        "--wide", env={"OPENAI_API_KEY": ""}, width=200,
    ).stdout  # fmt: skip
    for stage in ("S1 rewrite", "S1 vectors", "S2 vectors", "S4 grade", "S6 order", "repeat"):
        assert stage in shown
    assert "Nothing was sent." in shown
    assert not list(tmp_path.glob("runs/*"))
    plan = json.loads(embassay(*SAMPLE, "-j", "openai:gpt-5-mini", "--dry-run", "--json").stdout)
    requests = {cell["task"]: cell["requests"] for cell in plan["cells"]}
    assert (requests["S4 grade"], requests["S6 order"]) == (36, 126)
    assert plan["usd"] > 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-s", "bm25"), "makes no vectors"),
        (("--judge", "openai:nobody-knows", "--max-cost", "1"), "price of 'openai:nobody-knows' is unknown"),
        (("--confirmations", "1", "--ranking", "grades"), "has no option confirmations (source: command line)"),
    ],
)
def test_mistakes_are_one_line_and_a_mend(embassay, tmp_path, grades, arguments, told):
    """Exit code 2, nothing made."""
    done = embassay(
        *SAMPLE, "--judge", f"simulated:{grades}", "--out", "run", *arguments, check_code=2,
        env={"OPENAI_API_KEY": "x"},
    )  # fmt: skip
    assert told in done.stderr
    assert not (tmp_path / "run").exists()


def test_failed_questions_are_said_loudly(embassay, tmp_path, grades):
    """Exit code 3; over 5% in capitals; each is listed with its stage."""
    judge = f"simulated:{grades}?failing=0.2"
    done = embassay(*SAMPLE, "--judge", judge, "--failed", "leave-out", "--out", "run", check_code=3)
    assert "OVER 5% OF THE QUESTIONS FAILED" in done.stderr
    assert "repeat the command to try again" in done.stderr
    assert "?answers=schema" in done.stderr
    assert "--failed ungraded" in done.stderr
    assert "3 of 3 questions failed: law-q3 (S4), law-q6 (S4), rivers-q1 (S4)." in done.stdout


def start(warm, out, cache, *arguments):
    command = [*warm.command, *map(str, arguments), "--out", str(out)]
    environment = {**os.environ, "EMBASSAY_CACHE": str(cache)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(warm, out, cache, *arguments):
    process = start(warm, out, cache, *arguments)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors.decode()[-2000:]


def artefacts(run):
    """The files of all stages and what is exported, time stamps aside."""
    paths = [*run.glob("q*/*/**/*"), *run.glob("export/**/*"), run / "results.jsonl"]
    return {
        path.relative_to(run).as_posix(): _TIMES.sub('"ts"', path.read_text("utf-8"))
        for path in sorted(paths)
        if path.is_file() and path.name not in ("manifest.json", "README.md")
    }


KILLS = ("s1_rewrites", "s2_candidates", "s3_merge", "s4_scores", "s5_pruned", "s6_ranked")
CONCURRENCY = 4


@pytest.mark.slow
def test_killed_in_every_stage_it_ends_with_the_same_artefacts(tmp_path, warm):
    """kill -9 as soon as a stage has left its first file, six times over on one run: the artefacts are those of an
    uninterrupted one, and the model was asked for nothing twice but what was in flight."""
    pytest.importorskip("openai")
    with StubServer(latency=0.01, chat=judging(noise=0.5, malformed=0.05)) as server:
        model = f"openai:judge?base_url={server.url}/v1&price=0&concurrency={CONCURRENCY}"
        arguments = (*SAMPLE, "--judge", model)
        finish(warm, tmp_path / "whole", tmp_path / "cache-whole", *arguments)
        once = server.requests["/v1/chat/completions"]
        server.forget()
        broken, cache = tmp_path / "broken", tmp_path / "cache"
        for folder in KILLS:
            killed = start(warm, broken, cache, *arguments)
            kill_when(killed, lambda folder=folder: any(broken.glob(f"q*/{folder}/*")))
        finish(warm, broken, cache, *arguments)
        assert once <= server.requests["/v1/chat/completions"] <= once + len(KILLS) * CONCURRENCY
    assert artefacts(broken) == artefacts(tmp_path / "whole")


def kill_when(process, there):
    while not there():
        time.sleep(0.002)
        assert process.poll() is None, process.communicate()[1].decode()[-2000:]
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


@pytest.mark.slow
def test_an_interrupt_says_how_to_resume_without_redoing(tmp_path, grades, warm):
    """Exit code 130, what is done is exported, and the command leaves out --force: it would begin anew."""
    judge = f"simulated:{grades}?latency=0.05"
    process = start(warm, tmp_path / "run", tmp_path / "cache", *SAMPLE, "--judge", judge, "--force")
    while not any((tmp_path / "run").glob("q*/s4_scores/*")):
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    text = errors.decode()
    assert process.returncode == 130, text
    assert "Resume with: embassay rag golden -d sample" in text
    assert "--force" not in text.split("Resume with:")[1]
    assert "Traceback" not in text
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "partial"
    assert (tmp_path / "run" / "golden.json").exists()


@pytest.mark.slow
def test_the_budget_stops_and_a_higher_one_goes_on(tmp_path, embassay):
    """Exit code 5 with everything kept; the run ends like one that was never stopped, and paid for nothing twice."""
    pytest.importorskip("openai")
    with StubServer(chat=judging()) as server:
        arguments = (
            *SAMPLE,
            "--judge",
            f"openai:judge?base_url={server.url}/v1&price=20&price_output=20",
            "--out",
            "run",
        )
        done = embassay(*arguments, "--max-cost", "0.2", check_code=5)
        assert "Resume with a higher --max-cost" in done.stderr
        stopped = server.requests["/v1/chat/completions"]
        embassay(*arguments, "--max-cost", "20")
        both = server.requests["/v1/chat/completions"]
        embassay(*arguments[:-1], "whole", env={"EMBASSAY_CACHE": str(tmp_path / "other")})
        assert 0 < stopped < both == server.requests["/v1/chat/completions"] - both
    assert artefacts(tmp_path / "run") == artefacts(tmp_path / "whole")
