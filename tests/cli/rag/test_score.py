"""`embassay rag score` as a user runs it."""

from __future__ import annotations

import json

import pytest

from stub.ranked import qrels, run

JUDGED = qrels(15)
FAST = ("--resamples", "200")


@pytest.fixture(autouse=True)
def files(tmp_path):
    (tmp_path / "q.tsv").write_text(
        "query-id\tcorpus-id\tscore\n"
        + "".join(f"{q}\t{d}\t{g}\n" for q, docs in JUDGED.items() for d, g in docs.items())
    )
    for i, name in enumerate(("one", "two")):
        lines = (f"{q} Q0 {d} 0 {s!r} x\n" for q, docs in run(JUDGED, i, skill=1 + i).items() for d, s in docs.items())
        (tmp_path / f"{name}.trec").write_text("".join(lines))


def test_verdict_table_notes(embassay):
    """Stdout has the verdict, both runs side by side and the reading; stderr is silent."""
    done = embassay("rag", "score", "--qrels", "q.tsv", "--run", "one.trec", "--run", "two.trec", *FAST)
    assert "on RA-nWG@10" in done.stdout.splitlines()[0]
    for words in ("one, 95%", "two", "%PROC@30", "Harm@10 (lower)", "overlap@10", "Not tested on this data"):
        assert words in done.stdout
    assert done.stderr == ""


def test_json(embassay):
    """Results with every column, values per query, names as they were spelled."""
    done = embassay(
        "rag", "score", "--qrels", "q.tsv", "--run", "one.trec", "-m", "RAnWG(alpha=1)@10", "-m", "ndcg_cut_5",
        "-m", "Harm", "-k", "3", "--json", *FAST,
    )  # fmt: skip
    found = json.loads(done.stdout)
    columns = "protocol task dataset subset lang variant system measure value n ci_low ci_high method seed reason"
    assert all(list(row) == columns.split() for row in found["results"])
    names = ["RAnWG(alpha=1)@10", "ndcg_cut_5", "Harm@3"]
    assert [row["measure"] for row in found["results"]] == names
    assert len(found["per_query"]) == len(names) * len(JUDGED)
    assert set(found["per_query"][0]) == {"run", "query_id", "measure", "value", "reason"}
    assert {row["run"] for row in found["per_query"]} == {"one"}
    none = embassay("rag", "score", "--qrels", "q.tsv", "--run", "one.trec", "--json", "--no-per-query", *FAST)
    assert json.loads(none.stdout)["per_query"] == []


def test_per_query(embassay):
    """Tab-separated lines after the notes."""
    done = embassay("rag", "score", "--qrels", "q.tsv", "--run", "one.trec", "-m", "P@5", "--per-query", *FAST)
    assert "run\tquery_id\tmeasure\tvalue\treason" in done.stdout
    assert done.stdout.count("one\tq") == len(JUDGED)


def test_folder(embassay, tmp_path):
    """`--out` keeps everything; other arguments are refused; `report` can be written of it."""
    command = ("rag", "score", "--qrels", "q.tsv", "--run", "one.trec", "--out", "s", *FAST)
    assert "Report: s/report.html" in embassay(*command).stdout
    assert (tmp_path / "s" / "report.html").stat().st_size > 10_000
    manifest = json.loads((tmp_path / "s" / "manifest.json").read_text())
    assert manifest["command"].startswith("embassay rag score --qrels q.tsv")
    assert (tmp_path / "s" / "score.json").exists()
    done = embassay(*command, "--seed", "7", check_code=2)
    assert "other arguments: seed was 0, now 7" in done.stderr


def test_options_reach_the_scoring(embassay, tmp_path):
    """Grades, pool, answers, unjudged, test, sensitivity."""
    lines = (f"{q} 0 {d} {int(g > 3)}\n" for q, docs in JUDGED.items() for d, g in docs.items())
    (tmp_path / "binary.trec").write_text("".join(lines))
    (tmp_path / "answers.csv").write_text("query_id,correct\n" + "".join(f"{q},1\n" for q in JUDGED))
    done = embassay(
        "rag", "score", "--qrels", "binary.trec", "--grades", "binary", "--run", "a=one.trec", "--run", "b=two.trec",
        "--pool", "two.trec", "--answers", "answers.csv", "--unjudged", "condense", "--test", "randomization",
        "--sensitivity", "--json", *FAST,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["judgements"]["grade_map"] == "binary"
    assert found["settings"]["unjudged"] == "condense"
    assert [one["name"] for one in found["runs"]] == ["a", "b"]
    assert all(one["pool"] == "the pool two.trec" for one in found["runs"])
    assert any(row["measure"] == "Acc|Hit@10" for row in found["results"])
    assert len(found["sensitivity"]) == 48


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--run", "one.trec", "-m", "RA-nGW@10"), 2, "RA-nWG"),
        (("--run", "nowhere.trec"), 4, "nowhere.trec: the file cannot be read"),
        (("--run", "q.tsv"), 2, "q.tsv was given both as judgements and as a run"),
        (("--run", "one.trec", "--grades", "binary"), 4, "--grades identity"),
        ((), 2, "run"),
    ],
)
def test_errors_are_one_line_and_a_code(embassay, arguments, code, words):
    """What was wrong is named, with its mend and the exit code of its kind."""
    assert words in embassay("rag", "score", "--qrels", "q.tsv", *arguments, *FAST, check_code=code).stderr
