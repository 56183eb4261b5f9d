"""The tail of an index: by hand, planted, with ties and by tag."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from embassay.cli.main import build_app_with_commands
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.probes.tail import (
    RecallTailRequest,
    compare_index_recall_tails,
    compute_recall_of_exact_lists,
)


def write_run(path: Path, lists: dict[str, list[str]]) -> str:
    lines = [
        f"{query} Q0 {doc} {rank} {100 - rank} t\n" for query, docs in lists.items() for rank, doc in enumerate(docs, 1)
    ]
    path.write_text("".join(lines))
    return str(path)


def planted(tmp_path: Path) -> tuple[str, str, str]:
    """20 questions of 20 passages: three find 1, 2 and 3 of them, four find 16, and the others 18 to 20, so that the
    mean is .80 and the least .05; the bad ones have a filter that one passage in a hundred passes."""
    wanted = {f"q{row:02}": [f"d{row}-{place}" for place in range(20)] for row in range(20)}
    kept = [1, 2, 3, *[16] * 4, *[18] * 4, *[19] * 2, *[20] * 7]
    assert sum(kept) / 400 == 0.8
    found = {
        query: [*docs[:n], *(f"other-{place}" for place in range(20 - n))]
        for (query, docs), n in zip(wanted.items(), kept, strict=True)
    }
    rows = [
        {"id": query, "text": "?", "tags": ["passes 1%" if n < 4 else "passes all"]}
        for query, n in zip(wanted, kept, strict=True)
    ]
    queries = tmp_path / "queries.jsonl"
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return write_run(tmp_path / "ann.trec", found), write_run(tmp_path / "exact.trec", wanted), str(queries)


def test_a_mean_that_hides_questions_is_named(tmp_path: Path) -> None:
    """Mean .8, least .05: the questions behind it are named, and the tag that they share."""
    run, exact, queries = planted(tmp_path)
    tails = compare_index_recall_tails(RecallTailRequest((run,), exact, 20, queries=queries))
    every, rare, usual = tails.tails
    assert (every.mean, every.least, every.n, every.bad) == (pytest.approx(0.8), 0.05, 20, 3)
    assert every.p5 == 0.05
    assert every.worst[:3] == (("q00", 0.05), ("q01", 0.1), ("q02", 0.15))
    assert (rare.group, rare.mean, rare.bad) == ("passes 1%", pytest.approx(0.1), 3)
    assert (usual.group, usual.bad) == ("passes all", 0)
    [sentence] = tails.describe_index_tails()
    assert "q00 (0.05)" in sentence
    assert "3 of 20" in sentence


def test_ties_missing_lists_and_short_lists(tmp_path: Path) -> None:
    """Of equal scores at the border any counts; a question without a list has recall 0; one that exact search has fewer
    passages for is compared on these."""
    exact = {"q": [("a", 3.0), ("b", 2.0), ("c", 2.0)], "r": [("a", 1.0)], "s": [("a", 1.0)]}
    found = {"q": [("a", 0.9), ("c", 0.8)], "r": [("z", 0.9), ("a", 0.5)]}
    assert compute_recall_of_exact_lists(found, exact, 2) == {"q": 1.0, "r": 1.0, "s": 0.0}
    assert compute_recall_of_exact_lists(found, exact, 1) == {"q": 1.0, "r": 0.0, "s": 0.0}
    run = write_run(tmp_path / "r.trec", {"q": ["a"], "extra": ["b"]})
    whole = write_run(tmp_path / "e.trec", {"q": ["a", "b"], "s": ["a"]})
    tails = compare_index_recall_tails(RecallTailRequest((f"mine={run}",), whole, 2))
    assert tails.tails[0].missing == 1
    assert tails.tails[0].mean == 0.25
    assert len(tails.notes) == 3


def test_the_command(tmp_path: Path) -> None:
    """The sentence first, then the table; JSON and a folder have the same; files that do not belong are refused."""
    run, exact, queries = planted(tmp_path)
    words = ["rag", "probe", "tail", "--run", run, "--exact", exact, "-k", "20", "--queries", queries]
    told = CliRunner().invoke(build_app_with_commands("rag"), [*words, "--out", str(tmp_path / "out")])
    assert told.exit_code == 0, told.output
    assert told.output.startswith("ann: mean recall@20 0.800, 5th percentile 0.050, minimum 0.050")
    assert "passes 1%" in told.output
    plain = json.loads(CliRunner().invoke(build_app_with_commands("rag"), [*words, "--json"]).stdout)
    kept = json.loads((tmp_path / "out" / "tail.json").read_text())
    assert plain["tails"] == kept["tails"]
    strange = write_run(tmp_path / "strange.trec", {"x": ["a"]})
    with pytest.raises(DataError, match="no question in common with the exact search"):
        compare_index_recall_tails(RecallTailRequest((strange,), exact))
    for wrong in ({"cutoff": 0}, {"floor": 0.0}):
        with pytest.raises(UsageError):
            RecallTailRequest((run,), exact, **wrong)  # type: ignore[arg-type]
