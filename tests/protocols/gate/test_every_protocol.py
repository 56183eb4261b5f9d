"""A gate holds a run of every protocol, by every kind of threshold."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.gate import iterate_score_threshold_verdicts
from embassay.protocols.thresholds import (
    KEYS,
    End,
    RequiredResultScore,
    parse_score_threshold,
    read_results_for_thresholds,
)
from embassay.records import ResultRow
from embassay.report.record import KINDS
from embassay.runs.folder import RunFolder
from equality.runs import RUNS, Recorded, carry_out
from published_sample import bundle
from written_runs import write_run

FEW = ("--tokenizer", "words", "--resamples", "60")
SMALL = {
    "sage": ["sage", "run", "-s", "jaccard", "-t", "preference", "--limit", "8", *FEW],
    "pteb": ["pteb", "run", "-s", "jaccard", "-t", "sts", "-p", "recorded", "--limit", "8", "--runs", "2", *FEW],
    "original": ["pteb", "run", "-s", "jaccard", "-t", "sts", "--original-only", "--limit", "8", *FEW],
    "hteb": ["hteb", "run", "-s", "jaccard", "--transformer", "recorded", "-t", "sts", "--limit", "14",
             "--languages", "reference", "--runs", "1", *FEW],
    "calibration": ["calibrate", "-s", "jaccard", "--limit", "120", *FEW],
    "choose": ["choose", "sample", "-s", "jaccard", "-s", "bm25", "--limit", "40", "--resamples", "60"],
    "versions": ["rag", "probe", "versions", "-d", "sample", "-s", "jaccard", "--limit", "12"],
    "trace": ["rag", "trace", "-d", "sample", "-s", "jaccard", "--reranker", "overlap", "-k", "5", "--limit", "6"],
}  # fmt: skip
SESSIONS = Recorded(
    [["rag", "score", "--qrels", "qrels.tsv", "--sessions", "agent.jsonl", "--sessions", "other.jsonl"]],
    {
        "qrels.tsv": "".join(f"q{n}\td{n}\t5\n" for n in range(8)),
        **{
            f"{name}.jsonl": "".join(
                f'{{"query_id": "q{n}", "call": {call}, "query": "a{call}", "documents": ["d{n + call - late}"]}}\n'
                for n in range(8)
                for call in (1, 2)
            )
            for name, late in (("agent", 1), ("other", 2))
        },
    },
)
TEN = {"paraphrasers": "selection", "score": "scoring", **{name: name for name in RUNS}}
BY_PEOPLE = {"validation", "questions"}
"""Kinds without a row of a score until people or a writer answered."""
COMPARED = {
    *("sage", "pteb", "original", "hteb", "score", "names", "hume", "mteb", "calibration", "choose", "versions")
}
"""Kinds whose systems can be held against an earlier run's."""
SIGNS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


@pytest.fixture(scope="module", params=[kind for kind in KINDS if kind not in BY_PEOPLE])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A run of each kind, made by its command."""
    kind, top = request.param, tmp_path_factory.mktemp("gated")
    if kind == "mteb":
        run = Recorded([["import", str(bundle(top / "bundle.json"))]])
    elif kind == "sessions":
        run = SESSIONS
    else:
        run = Recorded([SMALL[kind]]) if kind in SMALL else RUNS[TEN[kind]]
    return kind, carry_out(run, kind, top)


def _bar(row: ResultRow, sign: str, number: float, end: End) -> RequiredResultScore:
    where = {key: getattr(row, key) for key in KEYS}
    return RequiredResultScore(row.protocol, row.task, row.measure, row.system, sign, number, end, where)


def _ends(row: ResultRow) -> Sequence[tuple[End, float | None]]:
    return ("value", row.value), ("lower", row.ci_low), ("upper", row.ci_high)


@pytest.mark.slow
def test_every_score_is_held_by_every_sign_at_every_end(made: tuple[str, Path]) -> None:
    """A bar read from its text finds its own row, and is met where the sign says so."""
    _, folder = made
    rows, held = read_results_for_thresholds(folder), 0
    for row in RunFolder(folder).read_results():
        for end, value in _ends(row):
            if value is None:
                continue
            for sign, compares in SIGNS.items():
                bar = parse_score_threshold(_bar(row, sign, round(value, 5), end).text)
                [verdict] = iterate_score_threshold_verdicts([bar], rows)
                assert (verdict.value, verdict.met) == (row.value, compares(value, bar.number)), bar.text
                held += 1
    assert held >= 12


@pytest.mark.slow
def test_every_kind_is_held_against_itself_or_says_why_not(made: tuple[str, Path]) -> None:
    kind, folder = made
    if kind in COMPARED:
        assert eb.gate(folder, no_worse_than=folder).passed
        return
    with pytest.raises(DataError, match="no headlines") as caught:
        eb.gate(folder, no_worse_than=folder)
    assert "same --out" not in caught.value.mend


def test_what_lies_in_a_run_is_no_run_of_its_own(tmp_path: Path) -> None:
    """A set of paraphrases, a stage of a golden set, and a copy of a run: alone, one folder above, and two."""
    run = write_run(tmp_path / "may" / "one" / "run", {"a": [0.25, 0.75] * 10})
    for name, manifest in (("paraphrases", "{}"), ("stage", '{"inputs": []}')):
        (run / name).mkdir()
        (run / name / "manifest.json").write_text(manifest)
    write_run(run / "copy", {"a": [0.5, 1.0] * 10})
    for folder in (run, run.parent, tmp_path):
        gate = eb.gate(folder, "sage.overall[a]>=0.5", "sage.overall[a]<=0.5")
        assert [verdict.value for verdict in gate.verdicts] == [0.5, 0.5]
        assert gate.is_every_bar_met


def test_a_bar_in_points_is_refused(tmp_path: Path) -> None:
    """Tables of PTEB show 41.20 for .412: a bar of 40 would always be missed, and one of <=40 always met."""
    run = write_run(tmp_path / "run", {"a": [0.25, 0.75] * 10}, protocol="pteb")
    folder = RunFolder(run)
    folder.write_results([replace(row, protocol="pteb") for row in folder.read_results()])
    assert eb.gate(run, "pteb.overall[a]<=0.6").is_every_bar_met
    for text in ("pteb.overall[a]>=40", "pteb.overall[a]<=60@upper"):
        with pytest.raises(UsageError, match="between 0 and 1"):
            eb.gate(run, text)


def test_brackets_and_signs_in_names() -> None:
    bar = parse_score_threshold("pteb.judge.mae[my>=1[x], dataset=a,b, variant=gold=[0,1)] <= 0.5@upper")
    assert (bar.system, bar.where) == ("my>=1[x]", {"dataset": "a,b", "variant": "gold=[0,1)"})
    assert (bar.sign, bar.number, bar.end) == ("<=", 0.5, "upper")
    assert parse_score_threshold(bar.text) == bar
