"""`embassay hume score` as a user types it."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from hume_scored import scored_study

QUICK = ("--tokenizer", "words", "--resamples", "200")


def table(folder, name):
    """A table of a run as people read it: the cells of the Markdown."""
    lines = (folder / "tables" / f"{name}.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]


def printed(reference, number):
    with (reference / f"table{number}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def reference(root):
    folder = root / ".." / "shared" / "reference" / "hume"
    if not folder.exists():
        pytest.skip("the published figures are absent")
    return folder.resolve()


@pytest.mark.shared
def test_the_papers_tables_from_its_results(embassay, reference, tmp_path):
    """Issue 7, point 1: 210 of 210 cells, 224 of 224, 26 of 26 rows with 14 stars, people fourth, wins 4, 16, 16."""
    llms = [word for n in (10, 11, 12) for word in ("--llm-scores", reference / f"table{n}.csv")]
    done = embassay(
        "hume", "score", "--from-mteb", reference / "results.json.gz", *llms, "--out", "run", "--wide", width=200
    )
    run = tmp_path / "run"
    ours, paper = {row["model"]: row for row in table(run, "hume_table1")}, printed(reference, 1)
    cells = [(ours[row["model"]][name], row[name]) for row in paper for name in row if name != "model"]
    assert len(cells) == 225
    assert [pair for pair in cells if pair[0] != pair[1]] == []
    cells = []
    for number in range(4, 8):
        ours = {row["model"]: row for row in table(run, f"hume_table{number}")}
        cells += [(ours[row["model"]][n], row[n]) for row in printed(reference, number) for n in row if n != "model"]
    assert len(cells) == 224
    assert [pair for pair in cells if pair[0] != pair[1]] == []
    ours, paper = table(run, "hume_table8"), printed(reference, 8)
    same = ("task", "lang", "n_samples", "human", "ci_low", "ci_high", "best_model_score")
    assert [[row[name] for name in same] for row in ours] == [[row[name] for name in same] for row in paper]
    assert [row["outside_interval"] for row in ours] == [row["significant"] for row in paper]
    assert sum(row["outside_interval"] == "1" for row in ours) == 14
    assert [row["win_rate"] for row in table(run, "hume_win_rates")[:3]] == ["15.4", "61.5", "61.5"]
    assert [row["wins"] for row in table(run, "hume_win_rates")[:3]] == ["4", "16", "16"]
    overall = {row["system"]: row for row in table(run, "hume_overall")}
    assert (overall["Human"]["rank"], overall["Human"]["overall"]) == ("4", "77.6")
    for number in (10, 11, 12):
        ours, paper = table(run, f"hume_table{number}"), printed(reference, number)
        assert [list(row.values())[1:] for row in ours[:-1]] == [
            [row[name] for name in list(row)[1:]] for row in paper[:-1]
        ]
    rhos = [row["spearman_rho"] for row in table(run, "hume_table13")]
    wrong = [a for a, b in zip(rhos, printed(reference, 13), strict=True) if a != b["spearman_rho"]]
    assert wrong == ["0.51"]
    best = {row["category"]: row["best_embedding_model"] for row in table(run, "hume_table2")}
    assert best["reranking"] == "multilingual-e5-large"
    assert "rank 4 of 14" in done.stdout
    assert "STS22 (ara)" in done.stdout
    rows = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    assert len([row for row in rows if not row["variant"] and row["task"] != "overall"]) == 26 * 14 + 19 * 9
    summary = json.loads((run / "summary.json").read_text())
    assert round(summary["agreement_against_gap"]["value"], 4) == -0.7353
    assert round(summary["agreement_against_gap_p"], 5) == 0.00117


def test_a_study(embassay, tmp_path):
    """The finding, a row per task, notes; tables, record and page."""
    study = scored_study(tmp_path / "data")
    done = embassay("hume", "score", study, "-s", "wordllama", "-s", "jaccard", *QUICK, "--out", "run", width=160)
    for words in ("Over all 4 pairs", "groups (eng)", "search (eng)", "report.html", "a different method"):
        assert words in done.stdout
    run = tmp_path / "run"
    assert {"summary.json", "manifest.json", "results.jsonl", "report.html", "tables", "items"} <= {
        path.name for path in run.iterdir()
    }
    assert json.loads((run / "manifest.json").read_text())["status"] == "finished"
    again = embassay("hume", "score", study, "-s", "wordllama", "-s", "jaccard", *QUICK, "--out", "run", "--json")
    rows = json.loads(again.stdout)["results"]
    assert {row["system"] for row in rows} == {"wordllama", "jaccard", "Human"}
    refused = embassay("hume", "score", study, "-s", "bm25", *QUICK, "--out", "run", check_code=2)
    assert "other arguments" in refused.stderr


def test_what_it_will_take(embassay, tmp_path):
    """A cell per task and system; nothing is written."""
    study = scored_study(tmp_path / "data")
    done = embassay("hume", "score", study, "-s", "wordllama", "-s", "jaccard", *QUICK, "--dry-run", "--json")
    cells = json.loads(done.stdout)["cells"]
    assert [(one["task"], one["dataset"]) for one in cells[::2]] == [
        ("classification", "topic"), ("clustering", "groups"), ("reranking", "search"), ("sts", "pairs")
    ]  # fmt: skip
    of_vectors = [one for one in cells if one["system"] == "wordllama"]
    assert [one["items"] for one in of_vectors] == [12] * 4
    assert of_vectors[3]["texts"] == 24
    assert not (tmp_path / "run").exists()


def test_broken_studies_are_told_in_one_line(embassay, tmp_path):
    """What and where, a mend, exit code 4; nothing is begun. More of them in tests/protocols/hume/results."""
    study = scored_study(tmp_path / "data", families=("classification",))
    words = ("hume", "score", study, "-s", "jaccard", *QUICK, "--out", "run")
    answers = study / "annotations" / "ann.jsonl"
    answers.write_text(answers.read_text() + '{"item_id": \n')
    done = embassay(*words, check_code=4)
    assert "ann.jsonl:13" in done.stderr
    assert len(done.stderr.splitlines()) <= 3
    shutil.rmtree(study / "annotations")
    done = embassay(*words, check_code=4)
    assert "Nobody has annotated" in done.stderr
    assert "embassay hume serve" in done.stderr
    assert not (tmp_path / "run").exists()


def test_wrong_commands(embassay, tmp_path):
    study = scored_study(tmp_path / "data", families=("sts",))
    for words, arguments in (
        ("no system called 'jacard'", (study, "-s", "jacard", *QUICK)),
        ("--task has no effect", ("--from-mteb", "x", "-s", "jaccard", "-t", "sts")), ("There is nothing to score", ()),
    ):  # fmt: skip
        done = embassay("hume", "score", *arguments, "--out", "run", check_code=2)
        assert words in done.stderr
    missing = embassay("hume", "score", "--from-mteb", "x.json", "--out", "run", check_code=4)
    assert "no such file or folder" in missing.stderr


@pytest.mark.slow
def test_killed_and_resumed_it_ends_with_the_same_bytes(embassay, tmp_path, warm):
    """kill -9 after the first cells: the same command does the others only, and all files are those of a whole run."""
    study = scored_study(tmp_path / "data")
    words = ("hume", "score", study, "-s", "wordllama", "-s", "jaccard", "-s", "levenshtein", *QUICK, "--out")
    embassay(*words, "whole", env={"EMBASSAY_CACHE": str(tmp_path / "one")})
    environment = {**os.environ, "EMBASSAY_CACHE": str(tmp_path / "two")}
    process = subprocess.Popen(
        [*warm.command, *map(str, words), "cut"], cwd=tmp_path, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    cells = tmp_path / "cut" / "cells"
    while process.poll() is None and not (cells.exists() and len(list(cells.glob("*.json"))) > 1):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    before = {path: path.stat().st_mtime_ns for path in cells.glob("*.json")}
    embassay(*words, "cut", env={"EMBASSAY_CACHE": str(tmp_path / "two")})
    assert len(before) >= 2
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    whole = tmp_path / "whole"
    same = [path for path in whole.rglob("*") if path.suffix in (".csv", ".md", ".parquet", ".jsonl")]
    same = [path for path in same if path.name != "spending.jsonl"] + [whole / "summary.json"]
    assert len(same) > 50
    for path in same:
        assert (tmp_path / "cut" / path.relative_to(whole)).read_bytes() == path.read_bytes(), path
