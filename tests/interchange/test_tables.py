"""CSV, Parquet and LaTeX: every digit, null with its reason, and LaTeX that compiles."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import DataError, UsageError
from embassay.interchange import export, long_frame
from embassay.interchange.papers import write_latex_table
from embassay.interchange.tables import load_run_folder, load_runs_in_folders, make_wide_score_table
from embassay.protocols.kernel.tables import escape_latex
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder, format_value_as_json
from written_runs import write_run

HOSTILE = r"\input{/etc/passwd} & 100% $x$ #1 ~^_{}<>|" + '" -- [x] é中\n\\\\end{tabular}'


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two systems, a hostile name among them, and one without a value."""
    write_run(tmp_path / "runs" / "one", {"good": [0.9, 0.8, 0.7] * 9, HOSTILE: [0.1, 0.2, 0.3] * 9})
    folder = RunFolder(tmp_path / "runs" / "one")
    missing = ResultRow("sage", "robustness", "", "", "", "", "lost", "robustness", None, 0, reason='it, "broke"\nhere')
    folder.write_results([*folder.read_results(), missing])
    scope = {"systems": ["good", HOSTILE], "rank_low": [1, 1], "rank_high": [1, 2], "best": ["good"], "pairs": []}
    (folder.path / "comparisons.json").write_text(
        format_value_as_json({"scopes": {"overall": scope, "robustness": scope}})
    )
    return folder.path


def csv_rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        yield from csv.DictReader(stream)


def test_csv_keeps_everything(run: Path, tmp_path: Path) -> None:
    """Long: every field of every row comes back equal. Wide: value, interval, n, reason by system."""
    export([run], "csv", tmp_path / "out")
    rows = list(csv_rows(tmp_path / "out" / "results.csv"))
    for text, row in zip(rows, RunFolder(run).read_results(), strict=True):
        assert text["run"] == "one"
        assert len(text["manifest"]) == 32
        for name, value in vars(row).items():
            assert text[name] == ("" if value is None else str(value) if not isinstance(value, float) else repr(value))
    wide = {row["system"]: row for row in csv_rows(tmp_path / "out" / "one.csv")}
    assert (wide["good"]["rank_low"], wide[HOSTILE]["rank_high"]) == ("1", "2")
    assert float(wide["good"]["robustness low"]) < float(wide["good"]["robustness"])
    assert (wide["lost"]["robustness"], wide["lost"]["robustness reason"]) == ("", 'it, "broke"\nhere')
    assert wide["lost"]["overall reason"] == "not part of the run"


def test_parquet_has_types_and_nulls(run: Path, tmp_path: Path) -> None:
    export([run], "parquet", tmp_path / "all.parquet")
    frame = pl.read_parquet(tmp_path / "all.parquet")
    rows = RunFolder(run).read_results()
    assert frame["value"].to_list() == [row.value for row in rows]
    assert frame.schema["ci_low"] == pl.Float64
    assert frame.schema["n"] == pl.Int64
    assert frame.filter(system="lost")["reason"].item() == 'it, "broke"\nhere'
    assert frame.equals(long_frame(load_runs_in_folders([run])))


def test_latex_says_rank_interval_first_and_reason(run: Path) -> None:
    text = write_latex_table(make_wide_score_table(load_run_folder(run)))
    assert r"1 & good & \textbf{0.800} {\scriptsize" in text
    assert "1--2 & " in text
    assert "Bold: may be first according to the tests." in text
    assert "n/a" in text
    assert r"lost, robustness: it, ''broke'' here." in text
    assert r"\textbackslash{}input\{/etc/passwd\}" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}}") == 1


def test_latex_leaves_out_what_nobody_has(run: Path) -> None:
    """An overall score that the run's tasks do not allow is no column of n/a: the note says why it is missing."""
    folder = RunFolder(run)
    rows = [replace(row, value=None, ci_low=None, ci_high=None, reason="preference was not part of the run")
            if row.task == "overall" else row for row in folder.read_results()]  # fmt: skip
    folder.write_results(rows)
    table = make_wide_score_table(load_run_folder(run))
    before, _, note = write_latex_table(table).partition(r"\footnotesize ")
    assert "overall" not in before
    assert "overall" in note
    assert "preference was not part of the run" in note
    aligns = re.search(r"begin\{tabular\}\{(\w+)\}", before)
    assert aligns is not None
    assert len(aligns[1]) == before.split(r"\toprule")[1].split(r"\\")[0].count("&") + 1


MARKS = re.compile(
    r"\\text(backslash|asciitilde|asciicircum|less|greater|bar)\{\}|\\ldots\{\}|\$(\\times|-)\$|\{[\[\]]\}|\\[&%$#_{}]|\{\}"
)


@given(st.text(max_size=20))
def test_no_text_is_a_command(text: str) -> None:
    """Nothing of it is left but letters, and the marks that we put there ourselves."""
    escaped = MARKS.sub("", escape_latex(text))
    assert not set(escaped) & set("\\{}$&%#_^~\n\r")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no TeX: apt-get install texlive-latex-recommended")
def test_it_compiles(run: Path, real_runs: Path, tmp_path: Path) -> None:
    """Tables of all protocols and of hostile names, without an error and without a line that leaves the page."""
    export([run, real_runs], "latex", tmp_path / "all.tex")
    export([real_runs], "latex", tmp_path / "one", table="sage_table1")
    export([real_runs], "latex", tmp_path / "one", table="pteb_table9")
    papers = "".join(rf"\input{{{path.relative_to(tmp_path)}}}" for path in sorted((tmp_path / "one").glob("*.tex")))
    (tmp_path / "page.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}\input{all.tex}"
        + papers + r"\end{document}"
    )  # fmt: skip
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"], cwd=tmp_path, capture_output=True,
        text=True, errors="replace",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "page.pdf").stat().st_size > 1000
    assert "Overfull" not in done.stdout


def test_groups_and_columns_of_real_runs(real_runs: Path) -> None:
    """Headlines alone where there are some, all measures of `rag score`; parts of a wide table."""
    wide = {run.kind: make_wide_score_table(run) for run in load_runs_in_folders([real_runs])}
    assert {column.measure for column in wide["sage"].columns} == {"human_preference", "overall"}
    assert {column.measure for column in wide["pteb"].columns} == {"spearman", "average_precision", "overall"}
    assert {column.measure for column in wide["score"].columns} >= {"RA-nWG@10", "Harm@10"}
    assert wide["score"].ranks[0] is not None
    assert write_latex_table(wide["score"]).count(r"\begin{table}") > 3


def test_one_table_of_each_run_with_what_to_cite(real_runs: Path, tmp_path: Path) -> None:
    """As the run wrote it; a run that has none is counted, a name that nobody has is refused with those there are."""
    done = export([real_runs], "latex", tmp_path / "out", table="sage_table1")
    [path] = tmp_path.glob("out/*.tex")
    assert r"\label{tab:sage-table1}" in path.read_text("utf-8")
    assert done.files == 1
    assert done.rows == len(
        {row.system for one in load_runs_in_folders([real_runs]) if one.kind == "sage" for row in one.rows}
    )
    assert {one.reason for one in done.left_out} == {"has no table sage_table1"}
    cited = (tmp_path / "out" / "references.bib").read_text("utf-8")
    assert cited.count("@") == 5
    assert "goel2025sage" in cited
    with pytest.raises(UsageError, match="sage_table2"):
        export([real_runs], "latex", tmp_path / "out", table="sage_table9")
    with pytest.raises(UsageError, match="latex"):
        export([real_runs], "csv", tmp_path / "out", table="sage_table1")


def test_a_run_of_an_earlier_version_is_told_how_to_get_its_table(run: Path, tmp_path: Path) -> None:
    """It has the CSV alone."""
    (run / "tables").mkdir(exist_ok=True)
    (run / "tables" / "sage_table1.csv").write_text("a,b\n")
    with pytest.raises(UsageError, match="same --out"):
        export([run], "latex", tmp_path / "t.tex", table="sage_table1")


def test_names_of_files_and_wrong_places(run: Path, tmp_path: Path) -> None:
    """Runs of one name get a number; a file where a folder should be, and no run, are said."""
    shutil.copytree(run, tmp_path / "more" / "one")
    done = export([run, tmp_path / "more"], "latex", tmp_path / "out")
    assert sorted(path.name for path in done.out.iterdir()) == ["one-2.tex", "one.tex", "references.bib"]
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        export([run], "csv", tmp_path / "file")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        export([run], "csv", tmp_path / "folder.csv")
    with pytest.raises(DataError, match="no run here"):
        export([tmp_path / "folder.csv"], "csv", tmp_path / "x.csv")
    with pytest.raises(UsageError, match="no format 'xml'"):
        export([run], "xml", tmp_path / "x")  # type: ignore[arg-type]


def test_the_same_run_is_the_same_bytes(run: Path, tmp_path: Path) -> None:
    for form, name in (("csv", "a.csv"), ("parquet", "a.parquet"), ("latex", "a.tex")):
        first, second = (export([run], form, tmp_path / str(i) / name).out.read_bytes() for i in range(2))  # type: ignore[arg-type]
        assert first == second
