"""The commands, their output and their exit codes."""

import json
import shutil
import subprocess
import sys

import pytest

from stub import StubServer

RUN = ("sage", "run", "--tokenizer", "words", "--limit", "8", "--resamples", "100")


def test_help_names_the_commands(embassay):
    """Every command is on the first page."""
    out = embassay("--help").stdout
    for command in ("demo", "list", "sage", "report", "cache"):
        assert command in out


@pytest.mark.parametrize("what", ["systems", "datasets", "tasks", "measures", "perturbations", "tokenizers", "indexes"])
def test_list(embassay, what):
    """Each list prints a table, and an array with --json."""
    rows = json.loads(embassay("list", what, "--json").stdout)
    assert rows
    assert all(row["name"] and row["summary"] for row in rows)
    assert rows[0]["name"] in embassay("list", what).stdout


def test_list_models(embassay):
    """What is known of models: figures on the terminal, prompts and where they are from with --json."""
    rows = {row["name"]: row for row in json.loads(embassay("list", "models", "--json").stdout)}
    assert rows["intfloat/multilingual-e5-small"]["query_prompt"] == "query: "
    assert all(row["source"] for row in rows.values())
    assert "text-embedding-3-small" in embassay("list", "models").stdout


TWO = (*RUN, "-s", "jaccard", "-s", "levenshtein", "-t", "robustness", "-t", "preference", "--out", "one")


@pytest.fixture(scope="module")
def finished(warm, tmp_path_factory):
    """The folder that the run `one` lies in."""
    folder = tmp_path_factory.mktemp("finished")
    subprocess.run([*warm.command, *TWO], cwd=folder, capture_output=True, check=True)
    return folder


@pytest.fixture
def run(finished, tmp_path):
    """A copy of it, for a test to change."""
    return shutil.copytree(finished / "one", tmp_path / "one")


def test_a_run_prints_its_verdict_and_where_the_report_is(embassay, run):
    """Stdout has the verdict, the table and the report's path; a second call resumes and prints the same."""
    done = embassay(*TWO)
    assert "levenshtein" in done.stdout
    assert "report.html" in done.stdout
    assert "done already" in done.stderr
    assert (run / "report.html").stat().st_size > 5_000


def test_other_arguments_are_a_usage_error(embassay, run):
    """Exit code 2, what differs, and the mend."""
    done = embassay(*RUN, "-s", "jaccard", "-t", "robustness", "--out", "one", check_code=2)
    assert "other arguments" in done.stderr
    assert "--out" in done.stderr


def test_report_is_written_again(embassay, run):
    """`report` needs the folder alone."""
    (run / "report.html").unlink()
    assert "report.html" in embassay("report", "one").stdout
    assert (run / "report.html").exists()
    embassay("report", "nowhere", check_code=4)


def test_json_is_one_object_on_stdout(embassay):
    """Machine output on stdout, talk on stderr, every column in every row."""
    done = embassay(*RUN, "-s", "jaccard", "-t", "sensitivity", "--json")
    results = json.loads(done.stdout)["results"]
    columns = "protocol task dataset subset lang variant system measure value n ci_low ci_high method seed reason"
    assert all(list(row) == columns.split() for row in results)
    assert {row["task"] for row in results} == {"sensitivity", "overall"}


def test_dry_run_writes_nothing(embassay, tmp_path):
    """The plan has cells, texts, tokens, time and disk, and no folder is made."""
    done = embassay(*RUN, "-s", "wordllama", "--dry-run", "--wide")
    for word in ("cells", "tokens", "robustness", "wordllama", "MB"):
        assert word in done.stdout
    assert not (tmp_path / "runs").exists()
    plan = json.loads(embassay(*RUN, "-s", "wordllama", "--dry-run", "--json").stdout)
    assert {cell["system"] for cell in plan["cells"]} == {"wordllama", "constant", "random"}


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("-s", "bm52"), 2, "bm25"),
        (("-s", "bm25", "-t", "clusterin"), 2, "clustering"),
        (("-s", "bm25", "-d", "nowhere.jsonl"), 2, "nowhere.jsonl"),
        (("-s", "bm25", "-d", "broken.jsonl"), 4, "broken.jsonl:2"),
        (("-s", "bm25?k2=1"), 2, "k2"),
        (("-s", "bm25", "--curve", "wavy"), 2, "wavy"),
        (("-s", "bm25", "--map", "text"), 2, "--map"),
        (("-s", "bm25", "--tokenizer", "nope"), 2, "nope"),
        ((), 2, "system"),
    ],
)
def test_errors_are_one_line_and_a_code(embassay, tmp_path, args, code, words):
    """What was wrong is named, without a traceback, with the exit code of its kind."""
    (tmp_path / "broken.jsonl").write_text('{"text": "fine"}\n{"text": \n')
    assert words in embassay("sage", "run", "--tokenizer", "words", "--limit", "8", *args, check_code=code).stderr


def test_a_missing_vocabulary_is_a_model_error(embassay, tmp_path):
    """cl100k without its file says how to get it, and does not fall back."""
    environment = {"TIKTOKEN_CACHE_DIR": str(tmp_path / "empty"), "HTTPS_PROXY": "http://127.0.0.1:9"}
    done = embassay("sage", "run", "-s", "bm25", env=environment, check_code=3)
    assert "TIKTOKEN_CACHE_DIR" in done.stderr
    assert "--tokenizer words" in done.stderr


@pytest.mark.slow
def test_debug_shows_the_traceback(tmp_path):
    """With --debug the error is raised."""
    command = [sys.executable, "-m", "embassay", "--debug", "sage", "run", "-s", "bm52", "--tokenizer", "words"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Traceback" in done.stderr
    assert done.returncode != 0


def test_cache(embassay):
    """What was encoded is there, and clearing empties it."""
    embassay(*RUN, "-s", "wordllama", "-t", "sensitivity", "--out", "one")
    info = json.loads(embassay("cache", "info", "--json").stdout)
    assert info["entries"] > 0
    assert "texts" in embassay("cache", "info").stdout
    assert "MB" in embassay("cache", "clear").stdout
    assert json.loads(embassay("cache", "info", "--json").stdout)["entries"] == 0


def test_a_limit_of_cost_is_exit_code_5(embassay, tmp_path):
    """One line says what was spent of what, and the command that goes on; a higher limit finishes."""
    pytest.importorskip("openai")
    with StubServer() as stub:
        system = f"openai:stub?base_url={stub.url}/v1&dimensions=16&price=1"
        command = (*RUN, "-s", system, "-t", "preference", "-t", "robustness", "--out", "paid")
        plan = embassay(*command, "--dry-run", "--wide").stdout
        assert "Nothing was sent." in plan
        assert not stub.requests["/v1/embeddings"]
        done = embassay(*command, "--max-cost", "0.0005", check_code=5)
        assert "cost limit of $0.0005 is reached" in done.stderr
        assert "Finished work is kept in paid." in done.stderr
        assert "Resume with a higher --max-cost: embassay sage run" in done.stderr
        assert "Spent $" in embassay(*command, "--max-cost", "1").stderr
        embassay(*RUN, "-s", system.removesuffix("&price=1"), "--max-cost", "1", check_code=2)
