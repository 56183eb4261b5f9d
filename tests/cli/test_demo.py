"""The demo's RAG part: a golden set by the recorded judge, runs scored with it, a sweep and both probes; and HUME's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embassay.cli.demo import _run_hume, _run_probes, _run_rag, _run_sweep, show_headlines
from embassay.cli.running import Display
from embassay.protocols.hume import read_summary
from embassay.runs.folder import RunFolder


@pytest.mark.slow
def test_rag_on_the_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All questions are graded and ordered, three runs scored; the judge is said to be recorded."""
    monkeypatch.setattr("embassay.cli.demo.QUESTIONS", 3)
    _run_rag(("wordllama", "bm25", "jaccard"), tmp_path, Display(False, False))
    said = capsys.readouterr()
    assert "The judge of 3 questions is recorded" in said.err
    assert "3 of 3 questions" in said.out
    assert "wordllama+bm25" in said.out

    golden = RunFolder(tmp_path / "golden").read_manifest()
    assert golden is not None
    assert (golden["protocol"], golden["kind"], golden["status"]) == ("rag", "golden", "finished")
    score = json.loads((tmp_path / "rag" / "score.json").read_text("utf-8"))
    assert [run["name"] for run in score["runs"]] == ["wordllama", "bm25", "wordllama+bm25"]

    # Every passage of the golden set was graded by the recording, none by default.
    assert golden["systems"]
    qrels = (tmp_path / "golden" / "export" / "qrels.tsv").read_text("utf-8").splitlines()[1:]
    path = Path(__file__).parents[2] / "src" / "embassay" / "data" / "sample" / "judgements.jsonl"
    recorded = {
        (row["query_id"], row["doc_id"]): row["grade"]
        for row in map(json.loads, path.read_text("utf-8").splitlines())
    }
    judged = [line.split("\t") for line in qrels]
    assert len(judged) > 80
    assert all(recorded[query, doc] == int(grade) for query, doc, grade in judged)

    # What the demo ends with: here of the one run that scores systems.
    show_headlines([tmp_path / "rag"])
    said = capsys.readouterr()
    assert "RAG RA-nWG@5, 95%" in said.out
    assert all(f"\n{run['name']} " in said.out for run in score["runs"])


def test_sweep_and_probes_on_the_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stack is recommended, and both probes have margins of 0 where every author is masked."""
    monkeypatch.setattr("embassay.cli.demo.BUNDLES", 6)
    _run_sweep(("wordllama",), tmp_path / "sweep", Display(False, False))
    _run_probes(("wordllama",), tmp_path, Display(False, False))
    said = capsys.readouterr().out
    assert "Use wordllama/" in said
    assert "With every author masked the margin is exactly 0" in " ".join(said.split())
    for name in ("sweep", "names", "noise"):
        manifest = RunFolder(tmp_path / name).read_manifest()
        assert manifest is not None
        assert (manifest["protocol"], manifest["status"]) == ("rag", "finished")
        assert {one["status"] for one in manifest["cells"]} == {"done"}


def test_a_study_that_scripts_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All four families; that nobody annotated is said before, in the verdict and in the record."""
    monkeypatch.setattr("embassay.cli.demo.ITEMS", 12)
    _run_hume(("wordllama", "jaccard"), tmp_path, Display(False, False))
    said = capsys.readouterr()
    assert "Nobody did: 2 scripts answer" in said.err
    assert "simulated annotators" in said.out.partition("\n")[0]
    summary = read_summary(tmp_path / "hume")
    assert summary.simulated
    assert {pair.family for pair in summary.pairs} == {"classification", "clustering", "reranking", "sts"}
    assert all(len(pair.annotators) == 2 and len(pair.models) == 2 for pair in summary.pairs)
