"""Suites in runs: one name per experiment, the paper's layout of tables, and what a run lacks said everywhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import made_mirror
from embassay.data.catalogue.suites import read_all_suites
from embassay.errors import DataError, UsageError
from embassay.protocols import pteb, sage
from embassay.protocols.kernel import inputs
from embassay.protocols.kernel.inputs import open_embedding_cache
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.sage.options import Request
from embassay.protocols.sage.protocol import SageProtocol
from embassay.protocols.tasks.task import PtebOptions
from embassay.report.notes import list_run_notes
from embassay.report.record import read_run_record


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Every dataset of SAGE's and PTEB's suites, with six rows per table, as the one mirror there is."""
    root = tmp_path_factory.mktemp("mirror")
    for suite in (read_all_suites()["sage"], read_all_suites()["pteb"]):
        for one in suite.members:
            assert one.record is not None
            made_mirror.write_mirror(one.record, root, size=6, told=made_mirror.sentences)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBASSAY_DATA", str(root))
        yield root


@pytest.fixture
def part(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the mirror in which sets may be missing."""
    root = tmp_path / "part"
    for suite in ("beir", "pteb-multi"):
        for one in read_all_suites()[suite].members:
            if not (root / one.dataset).exists():
                shutil.copytree(mirror / one.dataset, root / one.dataset)
    monkeypatch.setenv("EMBASSAY_DATA", str(root))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return root


@pytest.fixture(scope="module")
def whole_sage(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`-d sage`, all of it."""
    del mirror
    return sage.run(["jaccard"], datasets=["sage"], tokenizer="words", options=sage.SageOptions(resamples=20),
                    out=tmp_path_factory.mktemp("runs") / "sage")  # fmt: skip


@pytest.fixture(scope="module")
def whole_pteb(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`-d pteb`, all of it, in two runs."""
    del mirror
    return pteb.run(["jaccard"], paraphraser="copied", runs=2, datasets=["pteb"], tokenizer="words",
                    options=PtebOptions(resamples=20), out=tmp_path_factory.mktemp("runs") / "pteb")  # fmt: skip


def _heads(run: Run, table: str) -> list[str]:
    text = (run.path / "tables" / f"{table}.md").read_text("utf-8")
    line = next(line for line in text.splitlines() if line.startswith("|"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def _firsts(run: Run, table: str, columns: int) -> list[tuple[str, ...]]:
    lines = (run.path / "tables" / f"{table}.md").read_text("utf-8").splitlines()
    rows = [line for line in lines if line.startswith("|")][2:]
    return [tuple(cell.strip() for cell in row.strip("|").split("|")[:columns]) for row in rows]


@pytest.mark.slow
def test_sage_has_the_papers_tables(whole_sage: Run) -> None:
    """One command: columns of tables 1 and 4 to 6 as printed, and overall the mean of the five tasks."""
    assert _heads(whole_sage, "sage_table1") == [
        "Model/Metric", "Clustering", "Human Pref.", "Robustness", "Sensitivity", "Retrieval", "Overall",
    ]  # fmt: skip
    assert _heads(whole_sage, "sage_table4")[1:] == ["BillSum", "CNN/DailyMail", "Scientific Papers"]
    for number in (5, 6):
        assert _heads(whole_sage, f"sage_table{number}")[1:] == [
            "Amazon Polarity", "ArguAna", "BillSum", "CNN/DailyMail", "Paul Graham", "Scientific Papers",
        ]  # fmt: skip
    row = whole_sage.table("sage_table1").filter(pl.col("system") == "jaccard").row(0)[2:]
    assert row[5] == pytest.approx(sum(row[:5]) / 5)


@pytest.mark.slow
def test_sage_counts_its_sets(whole_sage: Run) -> None:
    """Headlines, tables and manifest say how much of the suite they rest on; the forums count as one."""
    rows = whole_sage.results.filter(pl.col("dataset") == "", pl.col("system") == "jaccard")
    said = dict(zip(rows["task"], rows["method"], strict=True))
    assert "15 of 15 sets of sage" in said["retrieval"]
    assert "mean over 15 datasets" in said["retrieval"]
    assert "11 of 11 sets of sage" in said["clustering"]
    assert "32 of 32 sets of sage" in said["overall"]
    (told,) = whole_sage.manifest["suites"]
    assert (told["present"], told["sets"], len(told["parts"])) == (32, 32, 43)
    assert "3 of 3 sets of sage" in (whole_sage.path / "tables" / "sage_table4.md").read_text("utf-8")
    assert whole_sage.manifest["arguments"]["datasets"] == ["sage"]


@pytest.mark.slow
def test_pteb_has_the_papers_rows(whole_pteb: Run) -> None:
    """Table 6 of the nine STS sets, table 9 of the seven tasks in English, table 10 of the six multilingual sets."""
    names = [one.title for one in read_all_suites()["pteb-sts"].members]
    assert [row[0] for row in _firsts(whole_pteb, "pteb_table6", 1)] == [*names, "Average"]
    assert _firsts(whole_pteb, "pteb_table9", 2) == [
        ("sts", "9 datasets"), ("classification", "Banking77"), ("clustering", "TwentyNewsgroups"),
        ("pair_classification", "TwitterSemEval2015"), ("reranking", "AskUbuntuDupQuestions"),
        ("retrieval", "ArguAna"), ("summarization", "SummEval"), ("Average", ""),
    ]  # fmt: skip
    assert {row[1] for row in _firsts(whole_pteb, "pteb_table10", 2)[:-1]} == {
        "AmazonCounterfactual", "MasakhaNEWS", "RTE3", "RuBQ", "TwitterHjerne", "STS17",
    }  # fmt: skip
    for table, said in (("pteb_table9", "15 of 15 sets"), ("pteb_table10", "6 of 6 sets")):
        assert said in (whole_pteb.path / "tables" / f"{table}.md").read_text("utf-8")


@pytest.mark.slow
def test_what_is_missing_is_said(part: Path, tmp_path: Path) -> None:
    """A set that is absent, and a forum that is: 13 of 15, in the headline, the tables, the page and its verdict."""
    shutil.rmtree(part / "nfcorpus")
    shutil.rmtree(part / "cqadupstack-tex")
    run = sage.run(["jaccard"], datasets=["beir"], tokenizer="words", options=sage.SageOptions(resamples=20),
                   out=tmp_path / "run")  # fmt: skip
    row = run.results.filter(pl.col("dataset") == "", pl.col("task") == "retrieval", pl.col("system") == "jaccard")
    assert "13 of 15 sets of beir" in row["method"][0]
    assert "13 of 15 sets of beir" in (run.path / "tables" / "retrieval_augmented.md").read_text("utf-8")
    (told,) = run.manifest["suites"]
    absent = {one["dataset"]: one["set"] for one in told["parts"] if not one["present"]}
    assert absent == {"nfcorpus": "nfcorpus", "cqadupstack-tex": "cqadupstack"}
    record = read_run_record(run.path)
    first = list_run_notes(record)[0]
    assert "13 of 15" in first.what
    assert "nfcorpus" in first.what
    assert "data fetch beir" in first.mend
    page = run.report().read_text("utf-8")
    assert "13 of 15 sets of beir" in page


@pytest.mark.slow
def test_a_set_that_comes_later_joins_the_run(part: Path, tmp_path: Path) -> None:
    """The same command after the set was fetched does what is missing, and counts it."""
    kept = tmp_path / "kept"
    shutil.move(part / "nfcorpus", kept)
    arguments = {"datasets": ["beir"], "tokenizer": "words", "options": sage.SageOptions(resamples=20)}
    run = sage.run(["jaccard"], out=tmp_path / "run", **arguments)
    before = {cell["key"] for cell in run.manifest["cells"]}
    shutil.move(kept, part / "nfcorpus")
    run = sage.run(["jaccard"], out=tmp_path / "run", **arguments)
    assert before < {cell["key"] for cell in run.manifest["cells"]}
    assert run.manifest["suites"][0]["present"] == 15


def test_languages_that_are_missing_are_in_part(part: Path, tmp_path: Path) -> None:
    """A dataset without some of its languages is there, in part, and named."""
    (part / "rte3" / "test" / "it.jsonl").unlink()
    run = pteb.run(["jaccard"], paraphraser="copied", runs=1, datasets=["pteb-multi"], tokenizer="words",
                   options=PtebOptions(resamples=20), out=tmp_path / "run")  # fmt: skip
    (told,) = run.manifest["suites"]
    assert told["said"] == "6 of 6 sets of pteb-multi. rte3 only in part."
    assert {one["dataset"]: one["reason"] for one in told["parts"]}["rte3"].endswith("1 (it)")


def test_broken_files_are_errors_as_ever(part: Path, tmp_path: Path) -> None:
    """A set that is there and wrong is never left out quietly."""
    path = next((part / "scifact").glob("corpus*"))
    path.write_text(path.read_text("utf-8") + "{broken\n")
    with pytest.raises(DataError, match=r"corpus.jsonl:7"):
        sage.run(["jaccard"], datasets=["beir"], tokenizer="words", out=tmp_path / "run")


def test_nothing_of_a_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty mirror is planned as far as that goes; a run of it is an error that says what fetches it."""
    monkeypatch.setenv("EMBASSAY_DATA", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    inputs.open_request_dataset.cache_clear()
    request = Request(("jaccard",), datasets=("cqadupstack", "sample"), tokenizer="words",
                      options=sage.SageOptions())  # fmt: skip
    foreseen = SageProtocol().forecast_run_cost(request)
    members = {member.dataset for member in read_all_suites()["cqadupstack"].members}
    assert {cell.dataset for cell in foreseen.cells if cell.fetched} == {"sample"}
    assert {cell.dataset for cell in foreseen.cells if not cell.fetched} == members
    alone = SageProtocol().forecast_run_cost(replace(request, datasets=("cqadupstack",)))
    assert {cell.dataset for cell in alone.cells} == members
    for told in (foreseen, alone):
        assert told.notes[0].startswith("0 of 1 sets of cqadupstack are on this machine")
        assert "embassay data fetch cqadupstack" in told.notes[0]
        assert "cqadupstack-android" in told.notes[1]
    with pytest.raises(DataError, match="nothing from the suite 'cqadupstack'") as caught:
        SageProtocol().carry_out(request, tmp_path / "run")
    assert "embassay data fetch cqadupstack" in caught.value.mend
    assert not (tmp_path / "run" / "results.jsonl").exists()


def test_tasks_of_the_run_choose_members(mirror: Path) -> None:
    """`-t robustness` plans the three sets that are for it; a suite with none is an error."""
    del mirror
    options = sage.SageOptions()
    plan = SageProtocol().plan_run(
        Request(("jaccard",), ("robustness",), ("sage",), tokenizer="words", options=options)
    )
    assert [one.name for one in plan.datasets] == ["billsum", "cnn-dailymail", "sumpubmed"]
    assert plan.suites[0].count() == (3, 3)
    with pytest.raises(UsageError, match="has no datasets for robustness"):
        SageProtocol().plan_run(Request(("jaccard",), ("robustness",), ("beir",), tokenizer="words", options=options))


def test_suites_and_datasets_together(mirror: Path) -> None:
    """Two suites share sets, whose tasks and languages add up; what is named beside them is there once."""
    del mirror
    request = Request(("jaccard",), (), ("sage-clustering", "sage", "sample"), tokenizer="words",
                      options=sage.SageOptions())  # fmt: skip
    plan = SageProtocol().plan_run(request)
    names = [one.name for one in plan.datasets]
    assert len(names) == len(set(names)) == 44
    assert [one.name for one in plan.suites] == ["sage-clustering", "sage"]
    arguana = plan.dataset("arguana")
    assert [one.task for one in arguana.tasks] == ["sensitivity", "retrieval"]


def test_a_dry_run_prices_and_counts(part: Path) -> None:
    """What a suite lacks stands in the plan, with how large it is."""
    shutil.rmtree(part / "nfcorpus")
    request = Request(("jaccard",), (), ("beir",), tokenizer="words", options=sage.SageOptions())
    foreseen = SageProtocol().forecast_run_cost(request)
    assert "14 of 15 sets of beir" in foreseen.notes[0]
    assert foreseen.notes[1].endswith(": nfcorpus.")
    constant = next(c for c in foreseen.cells if (c.dataset, c.system) == ("nfcorpus", "constant"))
    assert (constant.items, constant.texts, constant.fetched) == (3_633, 19 * 3_633, False)
    assert json.loads(json.dumps(foreseen.as_dict()))["notes"] == list(foreseen.notes)


def test_a_run_without_suites_says_nothing_of_them(tmp_path: Path) -> None:
    """No field in the manifest, and tables as they were."""
    run = sage.run(["jaccard"], tasks=["clustering"], tokenizer="words", out=tmp_path / "run",
                   options=sage.SageOptions(resamples=20))  # fmt: skip
    assert "suites" not in run.manifest
    assert "sets of" not in (run.path / "tables" / "sage_table1.md").read_text("utf-8")


def test_the_cache_is_the_one_that_is_named_now(monkeypatch, tmp_path):
    """Opened once, and another where the variable names another folder, as notebooks do."""
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "one"))
    one = open_embedding_cache(None)
    assert open_embedding_cache(None) is one
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "other"))
    other = open_embedding_cache(None)
    assert [cache.path.parent.name for cache in (one, other)] == ["one", "other"]
    assert open_embedding_cache(tmp_path / "own").path == tmp_path / "own"


def test_a_set_without_the_columns_of_its_task_is_absent(part: Path) -> None:
    """Its tables are there and lack the judgements: the other sets of the suite are planned all the same."""
    (part / "nfcorpus" / "qrels.jsonl").unlink()
    request = Request(("jaccard",), (), ("beir",), tokenizer="words", options=sage.SageOptions())
    foreseen = SageProtocol().forecast_run_cost(request)
    assert "14 of 15 sets of beir" in foreseen.notes[0]
    assert foreseen.notes[1].endswith(": nfcorpus.")
