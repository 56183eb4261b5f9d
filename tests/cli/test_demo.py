"""The whole demo on less data and without minilm: its parts, what they say of themselves, and how much is printed."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import typer

from embassay.cli import demo as module
from embassay.document.terminal import MOST_NOTES
from embassay.errors import ModelError
from embassay.protocols.hume import read_summary
from embassay.protocols.rag.golden.summary import read_golden_record
from embassay.protocols.rag.scoring.score import ScoringRecord, read_scoring_record
from embassay.protocols.rag.sweep.findings import read_findings
from embassay.protocols.rag.sweep.findings.record import FILE as SWEEP
from embassay.report.hume.conclusions import hume_view
from embassay.report.rag.frontier import sweep_view
from embassay.report.rag.golden import golden_set_view
from embassay.report.rag.probes import iterate_probe_terminal_blocks
from embassay.report.rag.tables import scoring_view
from embassay.report.runs import read_report_runs
from embassay.report.terminal import make_run_terminal_blocks
from embassay.runs.folder import RunFolder
from report.pages import printed

pytestmark = pytest.mark.slow
LESS = {"DOCUMENTS": 6, "TEXTS": 40, "RUNS": 2, "QUESTIONS": 3, "BUNDLES": 6, "ITEMS": 12}
SYSTEMS = ("wordllama", "bm25", "jaccard")
LINES = 120


@dataclass(frozen=True)
class Made:
    """The folder of the demo and what it printed."""

    out: Path
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A demo of three systems."""
    out = tmp_path_factory.mktemp("demo") / "out"
    said, heard = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(heard):
        for name, value in LESS.items():
            patch.setattr(module, name, value)
        patch.setattr(module, "_list_bundled_systems", lambda: SYSTEMS)
        # Another process would know nothing of these.
        patch.setattr(module, "count_cores", lambda: 1)
        module.demo(out=out, workers=1, wide=False)
    return Made(out, said.getvalue(), heard.getvalue())


def test_it_says_little(made: Made) -> None:
    """Under 120 lines without a terminal: what starts, what ends, what was found; no cell of under a second."""
    heard = made.stderr.splitlines()
    assert len(made.stdout.splitlines()) + len(heard) < LINES
    cells = [line for line in heard if re.match(r"\d+ of \d+  \S", line)]
    took = [re.search(r"  (\d+\.\d) s(?:  |$)", line) for line in cells]
    assert all(one is not None and float(one[1]) >= 1 for one in took)
    for name in ("SAGE", "PTEB", "RAG", "HUME"):
        assert any(line.startswith(name) for line in heard)
    # Golden set, runs, sweep, two probes and the protocols: all but the scoring are runs with an end.
    assert sum(bool(re.search(r"^(?:\d+ cells|done) in ", line)) for line in heard) == len(module.PARTS) - 1


def test_every_part_is_finished_and_in_the_report(made: Made) -> None:
    """Four protocols, golden set, sweep and both probes, in one file."""
    for name in module.PARTS:
        manifest = RunFolder(made.out / name).read_manifest()
        assert manifest is not None
        assert manifest["status"] == "finished"
        assert {one["status"] for one in manifest.get("cells", ())} <= {"done"}
    kinds = {run.record.kind for run in read_report_runs([made.out / name for name in module.PARTS])}
    assert kinds == {"sage", "pteb", "hteb", "golden", "score", "sweep", "names", "noise", "hume"}
    page = (made.out / "report.html").read_text("utf-8")
    assert all(re.search(rf'id="?{kind}\b', page) for kind in kinds)


def test_the_last_table_has_every_system_of_every_protocol(made: Made) -> None:
    """What a newcomer reads first: one row per system."""
    end = made.stdout[made.stdout.index("\nSystem ") :]
    assert all(re.search(rf"^{name} +[\d−]", end, re.M) for name in SYSTEMS)
    assert all(f"{title}" in end for title in ("SAGE, 95%", "PTEB, 95%", "RAG RA-nWG@5, 95%", "HUME, 95%"))


def test_every_verdict_is_said(made: Made) -> None:
    """The heading of each run, once."""
    from embassay.report.terminal import iterate_run_verdict_blocks

    said = " ".join(made.stdout.split())
    for name in module.PARTS:
        heading = printed(iterate_run_verdict_blocks(made.out / name), unicode=False).splitlines()[0]
        assert said.count(heading) == 1


def test_no_table_has_more_than_five_notes(made: Made) -> None:
    """What each run's own command shows; the rest is counted, and is there when asked for."""
    few, every = ([len(re.findall(r"^- ", text, re.M)) for text in _rendered(made.out, wide)] for wide in (False, True))
    assert max(few) == MOST_NOTES < max(every)
    [more] = re.findall(r"^(\d+) more notes: --wide", printed(scoring_view(_score(made.out))), re.M)
    assert int(more) > 0


def test_wide_shows_the_tables(made: Made, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo that is there already is only shown again."""
    for name, value in LESS.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "_list_bundled_systems", lambda: SYSTEMS)
    monkeypatch.setattr(module, "count_cores", lambda: 1)
    module.demo(out=made.out, workers=1, wide=True)
    said = capsys.readouterr().out
    assert said.count("─────") > made.stdout.count("─────")
    assert "more note" not in said


def test_the_judge_is_the_recorded_one(made: Made) -> None:
    """Every passage of the golden set was graded by the recording, none by default; three runs are scored with it."""
    qrels = (made.out / "golden" / "export" / "qrels.tsv").read_text("utf-8").splitlines()[1:]
    path = Path(module.__file__).parents[1] / "data" / "sample" / "judgements.jsonl"
    recorded = {
        (row["query_id"], row["doc_id"]): row["grade"] for row in map(json.loads, path.read_text("utf-8").splitlines())
    }
    judged = [line.split("\t") for line in qrels]
    assert len(judged) > 40
    assert all(recorded[query, doc] == int(grade) for query, doc, grade in judged)
    assert [run.name for run in _score(made.out).runs] == ["wordllama", "bm25", "wordllama+bm25"]


def test_the_study_says_that_nobody_annotated_it(made: Made) -> None:
    """All four families; that scripts answer is said before, in the verdict and in the record."""
    assert "No people took part: 2 scripts answer" in made.stderr
    assert "simulated annotators" in made.stdout
    summary = read_summary(made.out / "hume")
    assert summary.simulated
    assert {pair.family for pair in summary.pairs} == {"classification", "clustering", "reranking", "sts"}
    assert all(len(pair.annotators) == 2 for pair in summary.pairs)


def _score(out: Path) -> ScoringRecord:
    return read_scoring_record(out / "rag" / "score.json")


def _rendered(out: Path, wide: bool) -> list[str]:
    """Each run as its own command shows it."""
    golden, sweep = (read_golden_record(out / "golden" / "golden.json"), read_findings(out / "sweep" / SWEEP))
    return [
        *(printed(make_run_terminal_blocks(out / name, wide=wide), wide=wide) for name in ("sage", "pteb")),
        printed(golden_set_view(golden, out / "golden"), wide=wide),
        printed(scoring_view(_score(out), wide=wide), wide=wide),
        printed(sweep_view(sweep, out / "sweep", wide=wide), wide=wide),
        *(printed(iterate_probe_terminal_blocks(out / name), wide=wide) for name in ("names", "noise")),
        printed(hume_view(out / "hume", wide=wide), wide=wide),
    ]  # fmt: skip


def _speak(fail: bool) -> None:
    typer.echo("heading", err=True)
    typer.echo("found")
    if fail:
        raise ModelError("It broke.", mend="Mend it.")
    typer.echo("over", err=True)


def test_what_is_done_beside_is_said_in_its_order() -> None:
    """On the stream it was said on, and an error comes after what was said before it."""
    said, error = module._run_and_capture_output_and_error(partial(_speak, False), "utf-8")
    assert error is None
    assert [one for one in said if one[1]] == [(True, "heading\n"), (False, "found\n"), (True, "over\n")]


@pytest.mark.slow
def test_an_error_of_what_is_done_beside_ends_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    """With what was said before it, from a process of its own."""
    with (
        pytest.raises(ModelError, match=r"It broke\. Mend it\."),
        module._start_in_second_process(partial(_speak, True)) as finish,
    ):
        finish()
    assert capsys.readouterr() == ("found\n", "heading\n")
