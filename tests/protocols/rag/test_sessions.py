"""Sessions of many searches: a table worked by hand, joined lists refused, replays bounded and true re-runs within."""

from __future__ import annotations

import gzip
import json
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from embassay.cli.main import build_app_with_commands
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.sessions import (
    SessionScoringRequest,
    SessionSearchCall,
    measure_search_session,
    read_search_sessions,
    replay_and_score_sessions,
    write_session_run_folder,
)

BY_HAND = [
    # q1: half after call 1, all after call 2, d2 and "Refund time" come again.
    {"query_id": "q1", "call": 1, "query": "refund time", "documents": ["d1", "d2"], "seconds": 1, "cost": 0.5},
    {"query_id": "q1", "call": 2, "query": "Refund  time", "documents": ["d2", "d3"], "seconds": 2, "cost": 0.25},
    # q2: nothing, nothing, then the only one; the calls stand in the file in another order.
    {"query_id": "q2", "call": 3, "query": "c", "documents": ["d9"], "seconds": 4, "cost": 1},
    {"query_id": "q2", "call": 1, "query": "a", "documents": ["d4"], "seconds": 1, "cost": 1},
    {"query_id": "q2", "call": 2, "query": "b", "documents": ["d5", "d4"], "seconds": 1, "cost": 1},
    # q3: never; q4: at once; q5 has no evidence.
    {"query_id": "q3", "query": "x", "documents": ["d7"], "seconds": 1, "cost": 1},
    {"query_id": "q4", "query": "y", "documents": ["d8"], "seconds": 1, "cost": 0},
    {"query_id": "q5", "query": "z", "documents": ["d1"]},
]
EVIDENCE = {"q1": ["d1", "d3"], "q2": ["d9"], "q3": ["d6"], "q4": ["d8"], "q-unasked": ["d1"]}


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def qrels(tmp_path: Path) -> Path:
    lines = [f"{query}\t{doc}\t5\n" for query, docs in EVIDENCE.items() for doc in docs]
    path = tmp_path / "qrels.tsv"
    path.write_text("query-id\tcorpus-id\tscore\n" + "".join(lines) + "q5\td1\t1\n")
    return path


def test_a_table_worked_by_hand(qrels: Path, tmp_path: Path) -> None:
    """Evidence after calls, recovery, effort to full evidence and repeats of four sessions."""
    file = write_rows(tmp_path / "agent.jsonl", BY_HAND)
    scored = replay_and_score_sessions(SessionScoringRequest(str(qrels), (str(file),)))
    rows = {row.measure: (row.value, row.n) for row in scored.rows}
    assert rows == {
        "evidence@call1": (1.5 / 4, 4),  # .5, 0, 0, 1
        "evidence@call2": (2 / 4, 4),  # 1, 0, 0, 1
        "evidence@call3": (3 / 4, 4),  # 1, 1, 0, 1
        "evidence": (3 / 4, 4),
        "full": (3 / 4, 4),
        "recovered": (1 / 2, 2),  # of q2 and q3
        "calls": (7 / 4, 4),
        "calls_to_full": (2.0, 3),  # 2, 3, 1
        "seconds_to_full": (10 / 3, 3),  # 3, 6, 1
        "usd_to_full": (3.75 / 3, 3),  # .75, 3, 0
        "repeated_documents": ((1 / 2 + 1 / 3) / 2, 2),  # q1: d2 of d2, d3; q2: d4 of d5, d4, d9
        "repeated_queries": (0.5, 2),  # q1: its one later query; q2: none of two
    }
    low, high = next((row.ci_low, row.ci_high) for row in scored.rows if row.measure == "evidence")
    assert low is not None
    assert high is not None
    assert low < 0.75 <= high
    assert scored.notes == (
        "agent: 1 questions with evidence have no session, and do not count",
        "agent: 1 sessions belong to questions without judged evidence, and do not count",
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query_id": "q", "documents": ["d1", "d2", "d1"]}, "joined into one"),
        (
            {"query_id": "q", "documents": [{"id": f"d{place}", "score": s} for place, s in enumerate((9, 8, 9, 7))]},
            "joined into one",
        ),
        ({"query_id": "q", "documents": "d1"}, "not a call|no call"),
        ({"documents": ["d1"]}, "not a call"),
        ({"query_id": "q", "call": 0, "documents": []}, "call number"),
        ({"query_id": "q", "documents": [{"text": "?"}]}, "no id"),
        ({"query_id": "q", "documents": ["d1"], "seconds": "fast"}, "seconds"),
        ({"query_id": "q", "documents": ["d1"], "cost": -1}, "cost"),
    ],
)
def test_what_is_no_call_is_refused(row: dict[str, Any], message: str, tmp_path: Path) -> None:
    """With file and line; so are lists of several searches joined into one."""
    path = write_rows(tmp_path / "s.jsonl", [{"query_id": "q0", "documents": []}, row])
    with pytest.raises(DataError, match=message) as told:
        read_search_sessions(path)
    assert told.value.line == 2


def test_lists_of_one_search_are_taken(tmp_path: Path) -> None:
    """Falling scores, rising distances, equal ones, numbers as ids; a call that stands twice, and no call, are not."""
    rows: list[dict[str, Any]] = [
        {"query_id": "q", "documents": [{"id": 1, "score": 0.1}, {"doc_id": "2", "score": 0.2}]},
        {"query_id": "q", "documents": [{"id": "3", "score": 2}, {"id": "4", "score": 2}, {"id": "5"}]},
    ]
    calls = read_search_sessions(write_rows(tmp_path / "s.jsonl", rows))["q"]
    assert [call.documents for call in calls] == [("1", "2"), ("3", "4", "5")]
    twice = [{"query_id": "q", "call": 1, "documents": []}] * 2
    with pytest.raises(DataError, match="appears twice"):
        read_search_sessions(write_rows(tmp_path / "twice.jsonl", twice))
    with pytest.raises(DataError, match="empty"):
        read_search_sessions(write_rows(tmp_path / "empty.jsonl", []))
    (tmp_path / "odd.jsonl").write_text("{")
    with pytest.raises(DataError, match="JSON"):
        read_search_sessions(tmp_path / "odd.jsonl")
    with pytest.raises(DataError, match="cannot be read"):
        read_search_sessions(tmp_path / "nowhere.jsonl")


DOCUMENTS = {
    f"d{number}": f"{('alpha', 'beta', 'gamma', 'delta')[number % 4]} part {number} see part {(number * 7) % 40}"
    for number in range(40)
}


def search(score: Callable[[str, str], float], query: str, k: int = 3) -> list[str]:
    return sorted(DOCUMENTS, key=lambda key: (-score(query, DOCUMENTS[key]), key))[:k]


def words(query: str, text: str) -> float:
    return len(set(query.split()) & set(text.split()))


def letters(query: str, text: str) -> float:
    return sum(min(query.count(sign), text.count(sign)) for sign in set(query))


def run_agent(score: Callable[[str, str], float], calls: int = 3) -> dict[str, tuple[SessionSearchCall, ...]]:
    """A scripted agent: asks for a part, then for whatever the first document found refers to."""
    sessions = {}
    for number in range(20):
        query, made = f"part {number}", []
        for _ in range(calls):
            hits = search(score, query)
            made.append(SessionSearchCall(query, tuple(hits)))
            query = " ".join(DOCUMENTS[hits[0]].split()[-2:])
        sessions[f"q{number}"] = tuple(made)
    return sessions


def test_true_reruns_lie_within_the_bounds_of_replays() -> None:
    """The same scripted agent on another stack: what its own queries surface is never outside the bounds; where every
    call answers as recorded, low and high are the value."""
    recorded, rerun = run_agent(words), run_agent(letters)
    exact = 0
    for key, calls in recorded.items():
        evidence = frozenset({f"d{(int(key[1:]) * 7) % 40}", f"d{(int(key[1:]) * 49) % 40}"})
        replayed = [SessionSearchCall(call.query, tuple(search(letters, call.query))) for call in calls]
        bounds = measure_search_session(replayed, evidence, calls)
        true = measure_search_session(rerun[key], evidence).last
        assert bounds.low <= true <= bounds.high
        same = measure_search_session(calls, evidence, calls)
        assert same.low == same.high == same.last
        exact += bounds.low == bounds.high
    assert exact < 20


def write_agent(path: Path) -> Path:
    return write_rows(path, [
        {"query_id": key, "query": call.query, "documents": list(call.documents)}
        for key, calls in run_agent(words).items()
        for call in calls
    ])  # fmt: skip


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, Path]:
    """Recorded sessions, judgements of them, and a module with a retriever that counts its calls and fails on q3."""
    qrels = tmp_path / "judged.tsv"
    lines = [f"q{number}\td{(number * 7) % 40}\t5\n" for number in range(20)]
    qrels.write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    log = tmp_path / "asked.txt"

    def find(query: str) -> list[str]:
        with log.open("a") as file:
            file.write(f"{query}\n")
        if query == "part 3":
            raise ValueError("down")
        return search(letters, query)

    module = types.ModuleType("letterwise")
    module.find = find  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "letterwise", module)
    return write_agent(tmp_path / "agent.jsonl"), qrels, log


def test_recorded_queries_are_replayed(replay: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """A retriever is asked each recorded query once; a failed call takes its session out, and is told; a second run
    asks only what failed."""
    agent, qrels, log = replay
    request = SessionScoringRequest(str(qrels), (str(agent),), retrievers=("other=letterwise:find",))
    scored = replay_and_score_sessions(request, tmp_path / "run")
    recorded, other = scored.stacks
    assert len(recorded.figures) == 20
    assert other.is_replay
    assert other.failed == 20 - len(other.figures) > 0
    assert all(one.low <= one.last <= one.high for one in other.figures.values())
    assert scored.pairs[0].n == len(other.figures)
    asked = log.read_text().splitlines()
    write_session_run_folder(scored, request, tmp_path / "run")
    replay_and_score_sessions(request, tmp_path / "run")
    again = log.read_text().splitlines()[len(asked) :]
    assert set(again) == {"part 3"}
    assert (tmp_path / "run" / "tables" / "sessions_pairs.csv").exists()
    lines = (tmp_path / "run" / "sessions.jsonl").read_text().splitlines()
    assert len(lines) == 20 + len(other.figures)
    with pytest.raises(UsageError, match="other arguments"):
        write_session_run_folder(scored, SessionScoringRequest(str(qrels), (str(agent),)), tmp_path / "run")


def test_the_command(qrels: Path, tmp_path: Path) -> None:
    """Tables and notes on the terminal, rows as JSON, a folder with a page; what does not go together is refused."""
    file = write_rows(tmp_path / "agent.jsonl", BY_HAND)
    once = write_rows(tmp_path / "once.jsonl", [row for row in BY_HAND if row.get("call", 1) == 1])
    base = ["rag", "score", "--qrels", str(qrels), "--sessions", str(file), "--sessions", f"single={once}"]
    told = CliRunner().invoke(build_app_with_commands("rag"), [*base, "--out", str(tmp_path / "run")])
    assert told.exit_code == 0, told.output
    assert "single: every session has one call" in " ".join(told.output.split())
    assert "Evidence found by sessions" in (tmp_path / "run" / "report.html").read_text()
    plain = CliRunner().invoke(build_app_with_commands("rag"), [*base, "--json"])
    rows = json.loads(plain.stdout)["results"]
    assert {row["system"] for row in rows} == {"agent", "single"}
    for more in (["--run", str(once)], ["--until-decided"], ["--measure", "RR@10"]):
        refused = CliRunner().invoke(build_app_with_commands("rag"), [*base, *more])
        assert isinstance(refused.exception, UsageError), more
    no_text = SessionScoringRequest(str(qrels), (str(once),), retrievers=("a:b",))
    write_rows(once, [{"query_id": "q1", "documents": ["d1"]}])
    with pytest.raises(UsageError, match="no text"):
        replay_and_score_sessions(no_text)
    (tmp_path / "none.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t3\n")
    with pytest.raises(DataError, match="no question has evidence"):
        replay_and_score_sessions(SessionScoringRequest(str(tmp_path / "none.tsv"), (str(file),)))


def test_files_are_read_as_runs_are(tmp_path: Path) -> None:
    """With a byte order mark, packed, with blank lines; of UTF-16 and a damaged line the file and line are told."""
    plain = write_rows(tmp_path / "plain.jsonl", BY_HAND)
    content = plain.read_bytes()
    expected = read_search_sessions(plain)
    for name, changed in (
        ("mark.jsonl", b"\xef\xbb\xbf" + content), ("packed.jsonl", gzip.compress(content)),
        ("windows.jsonl", content.replace(b"\n", b"\r\n\r\n")),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(changed)
        assert read_search_sessions(tmp_path / name) == expected
    (tmp_path / "wide.jsonl").write_bytes(content.decode().encode("utf-16"))
    with pytest.raises(DataError, match="UTF-16"):
        read_search_sessions(tmp_path / "wide.jsonl")
    (tmp_path / "odd.jsonl").write_bytes(b"\n" + content.replace(b"refund", b"r\xe9fund", 1))
    with pytest.raises(DataError, match="not UTF-8") as raised:
        read_search_sessions(tmp_path / "odd.jsonl")
    assert "odd.jsonl:2" in str(raised.value)


def test_a_replay_counts_no_more_documents_than_the_agent_saw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a call that recorded one document the first counts, whatever the longest call recorded; with --depth that
    many."""
    module = types.ModuleType("deep")
    found = {"x": ["d4", "d5", "d9"], "y": ["d8", "d1"]}
    vars(module)["find"] = lambda question, k: found[question][:k]
    monkeypatch.setitem(sys.modules, "deep", module)
    rows = [
        {"query_id": "q4", "query": "x", "documents": ["d7"]},
        {"query_id": "q4", "query": "y", "documents": ["d2", "d3"]},
    ]
    qrels = tmp_path / "qrels.tsv"
    qrels.write_text("query-id\tcorpus-id\tscore\nq4\td9\t5\nq4\td8\t5\n")
    given: Any = {
        "qrels": str(qrels),
        "sessions": (str(write_rows(tmp_path / "agent.jsonl", rows)),),
        "retrievers": ("deep:find",),
    }
    shares = [
        replay_and_score_sessions(SessionScoringRequest(**given, **more)).stacks[1].figures["q4"].after
        for more in ({}, {"depth": 3})
    ]
    assert shares == [(0.0, 0.5), (0.5, 1.0)]
