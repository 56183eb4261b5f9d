"""Figures: every row with a value is drawn, names as text, the same bytes each time, and without matplotlib a mend."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest

from embassay.errors import UsageError
from embassay.interchange import export
from embassay.interchange.papers import DRAWINGS, make_run_figures, plot_run_figure
from embassay.interchange.side_by_side import read_texts_with_paraphrases
from embassay.interchange.tables import load_runs_in_folders
from embassay.protocols.kernel.outcome import open_run
from written_runs import write_run

pytest.importorskip("matplotlib")


def rows_of(run: Path, table: str) -> list[dict[str, str]]:
    """A table as the run wrote it."""
    with (run / "tables" / f"{table}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "name", ["sage", *(pytest.param(name, marks=pytest.mark.slow) for name in ("hume", "pteb", "rag"))]
)
def test_every_run_has_figures(real_runs: Path, name: str) -> None:
    """Its scores, and each figure of a table that is drawn; every row is drawn or counted as left out."""
    run = load_runs_in_folders([real_runs / name])[0]
    found = {one.name: one for one in make_run_figures(run)}
    assert "scores" in found
    for drawing in DRAWINGS:
        if drawing.table in found:
            rows = rows_of(run.path, drawing.table)
            assert found[drawing.table].rows + found[drawing.table].left == len(rows)
            if drawing.form == "intervals":
                assert found[drawing.table].rows == sum(bool(row[drawing.x]) for row in rows)
    if name == "hume":
        assert {f"hume_figure{i}" for i in range(1, 9)} - set(found) <= {"hume_figure8"}


@pytest.mark.slow
def test_a_figure_goes_by_its_number_too(real_runs: Path) -> None:
    """As the paper has it."""
    assert plot_run_figure(real_runs / "pteb", "pteb_figure7").name == "scores_by_dataset"
    assert {one.paper_figure_name for one in DRAWINGS} >= {f"pteb_figure{number}" for number in (3, 4, 6, 7, 8)}


def test_figure_5_has_texts_beside_their_paraphrases(real_runs: Path) -> None:
    """Each text and what each run made of it, as text that can be searched for."""
    figure = plot_run_figure(real_runs / "pteb", "pteb_figure5")
    texts = list(read_texts_with_paraphrases(real_runs / "pteb"))
    assert (figure.name, figure.rows) == ("side_by_side", len(texts))
    drawn = figure.files["svg"].decode()
    for text in texts:
        assert escape(" ".join(text.text.split()[:4])) in drawn
        for wording in text.wordings:
            assert f"{wording.seed}: {escape(' '.join(wording.wording.split()[:3]))}" in drawn
    assert figure.files == plot_run_figure(real_runs / "pteb", "pteb_figure5").files


def test_names_are_text_and_both_forms_are_what_they_say(real_runs: Path) -> None:
    """A reader of the SVG finds every system by its name; a PDF is one."""
    one = plot_run_figure(real_runs / "sage")
    svg = one.files["svg"].decode("utf-8")
    assert all(name in svg for name in ("jaccard", "levenshtein"))
    assert svg == one._repr_svg_()
    assert one.files["pdf"].startswith(b"%PDF")


def test_the_same_bytes_each_time(real_runs: Path) -> None:
    """No date, no random id."""
    assert plot_run_figure(real_runs / "rag").files == plot_run_figure(real_runs / "rag").files


@pytest.mark.slow
def test_a_folder_has_all_and_a_file_one(real_runs: Path, tmp_path: Path) -> None:
    """Files by run and figure; several figures do not fit one file, which is said with their names."""
    done = export([real_runs / "sage", real_runs / "rag"], "figures", tmp_path / "all")
    files = sorted(path.name for path in (tmp_path / "all").iterdir())
    assert done.files == len(files) - 1, "and references.bib"
    assert "sage-scores.svg" in files
    assert "rag-scores.pdf" in files
    export([real_runs / "rag"], "figures", tmp_path / "one.pdf", table="scores")
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "all" / "rag-scores.pdf").read_bytes()
    with pytest.raises(UsageError) as told:
        export([real_runs / "sage", real_runs / "rag"], "figures", tmp_path / "two.svg")
    assert "scores" in told.value.mend
    assert not (tmp_path / "two.svg").exists()


def test_what_is_not_there_is_said_with_what_is(real_runs: Path, tmp_path: Path) -> None:
    """A figure that no run has, and a file of another kind."""
    with pytest.raises(UsageError) as told:
        open_run(real_runs / "sage").plot("frontier")
    assert "scores" in told.value.mend
    with pytest.raises(UsageError):
        plot_run_figure(real_runs / "sage").save(tmp_path / "figure.png")
    assert plot_run_figure(real_runs / "sage").save(tmp_path / "figure.svg").exists()


def test_without_matplotlib_there_is_a_command_to_paste(real_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The core install has none."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError) as told:
        plot_run_figure(real_runs / "sage")
    assert "embassay[figures]" in told.value.mend


def test_names_with_control_characters_leave_a_figure_and_a_table_whole(tmp_path: Path) -> None:
    """What steers a terminal, and what XML cannot hold, is a � in every form that is text."""
    forged = "good\x1b[2J\x07\x00\u202egnp.exe"
    run = write_run(tmp_path / "run", {forged: [0.25, 0.75] * 10, "other": [0.2, 0.7] * 10})
    export([run], "csv", tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_text("utf-8")
    assert "good�[2J" in text
    assert not set(text) & set("\x1b\x07\x00\u202e")
    [scores] = [one for one in make_run_figures(load_runs_in_folders([run])[0]) if one.name == "scores"]
    content = scores.files["svg"].decode()
    assert not set(content) & set("\x1b\x07\x00\u202e")
    ElementTree.fromstring(content)
