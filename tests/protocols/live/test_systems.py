"""Retrievers beside other systems: in choices, the probe of versions, golden sets, sweeps and gates."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import embassay as eb
from embassay.data import open_dataset
from embassay.errors import UsageError
from embassay.parquet import read_parquet
from embassay.protocols.choose import ChoiceOptions
from embassay.protocols.live.systems import (
    MARK,
    SearchQuestionsAndPassages,
    digest_passages,
    make_marker_passage_text,
    read_kept_search_answers,
)
from embassay.protocols.rag.probes.options import VersionsOptions
from embassay.protocols.rag.probes.versions import probe_versions
from embassay.protocols.rag.sweep.protocol import read_sweep_measurements
from embassay.runs.folder import RunFolder
from stub import Faults, StubServer, retrieving

VERSIONS = VersionsOptions(questions=12, copies=2, resamples=50)
CHOICE = ChoiceOptions(questions=30, resamples=50)
FUNCTIONS = '''
from pathlib import Path
from embassay.systems import open_system
from embassay.text import open_tokenizer

SYSTEM = open_system("wordllama", tokenizer=open_tokenizer("words"))
CALLS = Path("calls.txt")

def find(question, k, corpus):
    """What wordllama finds in the passages that it is given."""
    with CALLS.open("a") as file:
        file.write("asked\\n")
    ids = list(corpus)
    ranked = SYSTEM.search([question], list(corpus.values()), min(k, len(ids)))
    return [(ids[place], score) for place, score in zip(ranked.indices[0].tolist(), ranked.scores[0].tolist())]

def texts(question, k, corpus):
    return [corpus[key] for key, _ in find(question, k, corpus)]

def own(question, k):
    """Documents of its own."""
    return [f"doc-{n}" for n in range(k)]

def some_fail(question, k, corpus):
    if len(question) % 3 == 0:
        raise RuntimeError("shard lost")
    return find(question, k, corpus)

def strangers(question, k, corpus):
    """The mark, where it is asked for; else documents of an older index."""
    if "marks the collection" in question:
        return [next(key for key, text in corpus.items() if text == question)]
    return [f"old-{n}" for n in range(k)]
'''


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of retrievers in the folder that is worked in."""
    (tmp_path / "mine.py").write_text(FUNCTIONS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(run: Any, system: str) -> dict[tuple[str, ...], float | None]:
    rows = RunFolder(run.path).read_results()
    return {(row.measure, row.variant, row.subset): row.value for row in rows if row.system == system and row.dataset}


@pytest.mark.parametrize("name", ["find", "texts"])
def test_the_probe_of_versions_says_of_a_retriever_what_it_says_of_its_model(functions: Path, name: str) -> None:
    """By ids, and by texts; asked once for each corpus, and nothing on the second run."""
    arguments: Any = {"out": functions / "run", "options": VERSIONS, "tokenizer": "words", "limit": 12}
    arguments["retrievers"] = [f"asked=mine.py:{name}"]
    run = probe_versions(["wordllama"], **arguments)
    assert values(run, "asked") == pytest.approx(values(run, "wordllama"), abs=1e-6, nan_ok=True)
    kept = {path.name: path.read_bytes() for path in (run.path / "retrieved").glob("*.jsonl")}
    assert len(kept) == 2
    calls = (functions / "calls.txt").read_text()
    probe_versions(["wordllama"], **arguments)
    assert (functions / "calls.txt").read_text() == calls
    assert {path.name: path.read_bytes() for path in (run.path / "retrieved").glob("*.jsonl")} == kept


def test_a_choice_takes_a_retriever_as_it_takes_its_model(functions: Path) -> None:
    """The places of every passage are the same, so both have one score, and neither is better."""
    run = eb.choose(
        ["wordllama", "jaccard"], "sample", out=functions / "run", options=CHOICE, retrievers=["asked=mine.py:find"]
    )
    ours, theirs = (
        read_parquet(run.path / "items" / "choice" / "sample" / f"{name}.parquet") for name in ("asked", "wordllama")
    )
    assert ours["item_id"].to_list() == theirs["item_id"].to_list()
    [served] = (run.path / "served").glob("*.jsonl")
    last = len(served.read_text().splitlines()) - 1
    values_of = [column["value"].to_numpy() for column in (ours, theirs)]
    # The passage in the last place of all counts as tied with what is not there.
    is_last = np.isin(values_of[0], [last, 1 / np.log2(last + 1)])
    np.testing.assert_allclose(*(np.where(is_last, 0, column) for column in values_of))
    [facts] = run.manifest["retrievers"]["asked"].values()
    assert facts["failed"] == 0
    assert facts["p50_ms"] > 0


@pytest.mark.parametrize(
    ("name", "reason"), [("own", "did not find the marker passage"), ("strangers", "not from this run")]
)
def test_one_that_searches_other_passages_is_refused(functions: Path, name: str, reason: str) -> None:
    """Before it is asked anything else where it does not find the mark; with the file to serve."""
    with pytest.raises(UsageError, match=reason) as raised:
        eb.choose(
            ["wordllama", "jaccard"], "sample", out=functions / "run", options=CHOICE, retrievers=[f"mine.py:{name}"]
        )
    [served] = (functions / "run" / "served").glob("*.jsonl")
    assert served.name in f"{raised.value} {raised.value.mend}"
    rows = [json.loads(line) for line in served.read_text().splitlines()]
    assert [row["id"] for row in rows[:-1]] == [f"p{place}" for place in range(1, len(rows))]
    assert rows[-1]["text"] == make_marker_passage_text(digest_passages([row["text"] for row in rows[:-1]]))


def test_marks_of_two_collections_differ() -> None:
    """One passage more is another collection, and so is another order."""
    calls = [
        SearchQuestionsAndPassages((), passages, 1) for passages in (("a", "b"), ("b", "a"), ("a", "b", ""), ("ab",))
    ]
    assert len({call.mark for call in calls}) == len({call.prepare_served_passages("d").name for call in calls}) == 4
    assert all(call.mark.startswith(MARK) and call.mark in call.prepare_served_passages("d").texts for call in calls)


def test_questions_that_fail_leave_a_retriever_without_a_score(functions: Path) -> None:
    """Above a twentieth; they are never passages that were not found."""
    run = probe_versions(
        ["wordllama"], out=functions / "run", options=VERSIONS, tokenizer="words", retrievers=["mine.py:some_fail"]
    )
    [row] = [
        row for row in RunFolder(run.path).read_results()
        if row.system == "some_fail" and row.measure == "current_first" and row.dataset and not row.variant
    ]  # fmt: skip
    assert row.value is None
    assert "could not be answered" in row.reason
    assert "shard lost" in row.reason


def sample_files(folder: Path) -> dict[str, str]:
    """Questions and passages of the sample, as files."""
    data = open_dataset("sample").load("retrieval").data
    places = {}
    for name, part in (("queries", data.queries), ("corpus", data.corpus)):
        rows = [json.dumps({"id": key, "text": text}) for key, text in zip(part.ids, part.texts, strict=True)]
        places[name] = str(folder / f"{name}.jsonl")
        Path(places[name]).write_text("\n".join(rows) + "\n")
    lines = [f"{query}\t{doc}\t{int(gain) + 1}" for query, row in data.qrels.items() for doc, gain in row.items()]
    places["qrels"] = str(folder / "qrels.tsv")
    Path(places["qrels"]).write_text("query-id\tcorpus-id\tscore\n" + "\n".join(lines) + "\n")
    (folder / "over.py").write_text(
        FUNCTIONS + "\nimport json\n"
        f"ROWS = [json.loads(line) for line in Path({places['corpus']!r}).read_text().splitlines()]\n"
        "CORPUS = {row['id']: row['text'] for row in ROWS}\n"
        "def search(question, k):\n    return find(question, k, CORPUS)\n"
    )
    return places


def test_a_sweep_has_a_retriever_as_one_stack(functions: Path) -> None:
    """With the quality of its model's stack and of its own answers as a run, its times and its price."""
    places = sample_files(functions)
    config = {
        "datasets": "sample", "encoder": "wordllama", "k": [20], "cutoffs": [10], "measures": ["nDCG"], "queries": 25,
        "latency": {"queries": 5, "warmup": 1, "repeats": 2, "concurrency": 2}, "rules": {"measure": "nDCG@10"},
    }  # fmt: skip
    given = ["asked=over.py:search?price=0.002"]
    run = eb.rag.sweep(config, out=functions / "run", retrievers=given)
    stacks = {stack.configuration.encoder: stack for stack in read_sweep_measurements(run.path).measured}
    asked = stacks["asked"]
    np.testing.assert_allclose(asked.quality["nDCG@10"], stacks["wordllama"].quality["nDCG@10"])
    assert asked.cost == pytest.approx(2.0)
    assert asked.times.total.shape == (2, 5)
    assert (asked.times.total > 0).all()
    answers = run.path / "asked" / "sample" / "retrieved" / "asked.jsonl"
    scored = eb.rag.score(places["qrels"], {"file": answers}, measures=["nDCG@10"], resamples=50)
    known = scored.per_query.filter(
        scored.per_query["query_id"].is_in(read_sweep_measurements(run.path).queries["sample"])
    )
    by_query = dict(zip(known["query_id"], known["value"], strict=True))
    expected = [by_query[query] for query in read_sweep_measurements(run.path).queries["sample"]]
    np.testing.assert_allclose(asked.quality["nDCG@10"], expected)
    before = answers.read_bytes()
    eb.rag.sweep(config, out=functions / "run", retrievers=given)
    assert answers.read_bytes() == before


def test_a_sweep_wants_the_price_of_a_retriever(functions: Path) -> None:
    """Stacks are compared by cost: what nobody knows is not free."""
    with pytest.raises(UsageError, match="price of the retriever find is unknown"):
        eb.rag.sweep({"datasets": "sample", "encoder": "wordllama"}, out=functions / "run", retrievers=["mine.py:find"])


def golden_rows(path: Path) -> list[tuple[Any, ...]]:
    rows = map(json.loads, (path / "export" / "golden.jsonl").read_text().splitlines())
    return [tuple(row[name] for name in ("query_id", "doc_id", "grade", "final_rank")) for row in rows]


def test_a_golden_set_pools_what_a_retriever_finds_as_it_pools_a_run(functions: Path) -> None:
    """The same passages are graded; those that fail to be asked are counted."""
    places = sample_files(functions)
    options = eb.rag.GoldenOptions(depth=5, minimum=1, top=3)
    arguments: Any = {
        "corpus": places["corpus"], "queries": places["queries"], "options": options, "ranking": "grades", "limit": 6
    }  # fmt: skip
    judge = f"simulated:{places['qrels']}"
    asked = eb.rag.golden("wordllama", judge, out=functions / "asked", retrievers=["over.py:search"], **arguments)
    answers = functions / "asked" / "retrieved" / "search.jsonl"
    exported = functions / "exported.jsonl"
    exported.write_bytes(answers.read_bytes())
    pooled = eb.rag.golden("wordllama", judge, out=functions / "pooled", add_runs=[exported], **arguments)
    ours, theirs = (golden_rows(run.path) for run in (asked, pooled))
    assert ours == theirs
    facts = asked.manifest["added_runs"]["search"]
    assert (facts["questions"], facts["live"]["failed"], facts["live"]["answered"]) == (6, 0, 6)
    before = answers.read_bytes()
    eb.rag.golden("wordllama", judge, out=functions / "asked", retrievers=["over.py:search"], **arguments)
    assert answers.read_bytes() == before


COMMAND = [sys.executable, "-m", "embassay"]


def call(folder: Path, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False, **more)


@pytest.mark.slow
def test_a_gate_holds_a_retriever_against_a_stored_run(functions: Path) -> None:
    """The model itself is no worse; one that finds other passages is; both as from files."""
    places = sample_files(functions)
    with (functions / "over.py").open("a") as file:
        file.write("\ndef worse(question, k):\n    return search(question, k)[::-1]\n")
    score = ["rag", "score", "--qrels", places["qrels"], "--queries", places["queries"], "-m", "nDCG@10"]
    made = call(functions, *score, "--retriever", "first=over.py:search", "--out", "stored")
    assert made.returncode == 0, made.stderr
    kept = call(functions, "gate", "stored", "--retriever", "again=over.py:search", "--out", "again", "--json")
    assert kept.returncode == 0, kept.stderr
    [bar] = json.loads(kept.stdout)["bars"]
    assert (bar["met"], bar["value"]) == (True, 0.0)
    fell = call(functions, "gate", "stored", "--retriever", "worse=over.py:worse", "--out", "worse", "--json")
    assert fell.returncode == 1, fell.stderr
    exported = ["--run", "worse=worse/retrieved/worse.jsonl", "--out", "file"]
    assert call(functions, *score, *exported).returncode == 0
    by_file = call(functions, "gate", "file", "--no-worse-than", "stored", "--as", "worse=first", "--json")
    assert json.loads(by_file.stdout)["bars"] == json.loads(fell.stdout)["bars"]
    tried = call(functions, "gate", "stored", "--retriever", "over.py:search", "--dry-run")
    assert tried.returncode == 0
    assert "read as" in tried.stdout


@pytest.mark.slow
def test_a_choice_by_a_server_with_faults_that_is_killed_goes_on(tmp_path: Path) -> None:
    """Refused until it serves the passages; then kill -9 on the way: nothing is lost, and but for what was in flight
    nothing is asked twice."""
    command = [
        "choose", "sample", "-s", "wordllama", "-s", "jaccard", "--retriever", "server.json", "--questions", "60",
        "--resamples", "50", "--out", "run",
    ]  # fmt: skip
    retrieving.SERVED[:] = [tmp_path / "nothing"]
    faults = Faults(refused=0.03, broken=0.03, reset=0.02)
    with StubServer(latency=0.01, faults=faults) as stub:
        template = {
            "url": f"{stub.url}/collections/{{corpus}}/search", "answer": "results", "attempts": 9, "concurrency": 4
        }  # fmt: skip
        (tmp_path / "server.json").write_text(json.dumps(template))
        refused = call(tmp_path, *command)
        assert refused.returncode != 0
        retrieving.SERVED[:] = [tmp_path / "run" / "served"]
        with subprocess.Popen([*COMMAND, *command], cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
            while not (paths := list((tmp_path / "run" / "retrieved").glob("*.jsonl"))) or (
                paths[0].read_bytes().count(b"\n") < 40
            ):
                time.sleep(0.01)
                assert process.poll() is None
            os.kill(process.pid, signal.SIGKILL)
        kept = paths[0].read_bytes().count(b"\n")
        done = call(tmp_path, *command)
        assert done.returncode == 0, done.stderr
        paid = Counter(stub.paid)
    read = [json.loads(line) for line in paths[0].read_text().splitlines()]
    assert 40 <= kept < len(read)
    questions = {row["query_id"]: row["question"] for row in read}
    assert len(questions) == len(read)
    # Ten are asked twice, four were in flight, and the mark is looked for in each session.
    asked = {text: count for text, count in paid.items() if "marks the collection" not in text}
    assert sum(count - 1 for count in asked.values()) <= 10 + 4
    served = tmp_path / "run" / "served" / paths[0].name.removeprefix("server-")
    found = read_kept_search_answers(tmp_path / "run", "server", _digest(served))
    mark = f"{MARK}{_digest(served)[:12]}"
    for text in list(questions.values())[:20]:
        hits = [name for name, _ in retrieving.find_served(served, text, len(found.lists[text]) + 1) if name != mark]
        assert [f"p{place + 1}" for place, _ in found.lists[text]] == hits[: len(found.lists[text])]


def _digest(served: Path) -> str:
    rows = [json.loads(line) for line in served.read_text().splitlines()]
    return digest_passages([row["text"] for row in rows[:-1]])


@pytest.mark.slow
def test_a_tool_of_an_mcp_server_beside_others(tmp_path: Path) -> None:
    """It serves one file at a time: the probe of versions is refused until each of its two was served."""
    pytest.importorskip("mcp")
    current = tmp_path / "current.jsonl"
    current.write_text('{"id": "d1", "text": "Nothing of the run."}\n')
    server = f"env SERVED={current} {sys.executable} {Path(__file__).parents[2] / 'stub' / 'tools.py'}"
    command = [
        "rag", "probe", "versions", "-d", "sample", "-s", "wordllama", "--tokenizer", "words", "--questions", "12",
        "--retriever", f"tool=mcp:{server}#search_served", "--out", "run",
    ]  # fmt: skip
    codes = [call(tmp_path, *command).returncode]
    for number in range(2):
        served = (tmp_path / "run" / "served").glob("*.jsonl")
        # The first is written before the second.
        current.write_bytes(sorted(served, key=lambda path: path.stat().st_mtime_ns)[number].read_bytes())
        codes.append(call(tmp_path, *command).returncode)
    assert codes == [2, 2, 0]
    lists = sorted((tmp_path / "run" / "retrieved").glob("*.lists.json"))
    assert len(lists) == 2
    for path in lists:
        kept = json.loads(path.read_text())
        assert kept["error"] == ""
        assert all(kept["lists"].values())
