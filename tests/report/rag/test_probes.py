"""Pages and terminal output of the probes: every number is one of the run's, nothing is wider than it may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import embassay as eb
from embassay.document.blocks import Figure, VerdictText, convert_sentence_to_text
from embassay.protocols.kernel.tables import format_change, format_score
from embassay.report import write_report
from embassay.report.rag.name_probe import PERCENTS, name_probe_page
from embassay.report.rag.probes import iterate_probe_terminal_blocks, noise_page
from embassay.report.runs import ReportRun, read_report_runs
from report.pages import every, printed, tables

SMALL: dict[str, Any] = {"queries": 6, "runs": 2, "tokenizer": "words", "resamples": 100}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return eb.rag.probe_names(["jaccard", "bm25"], out=tmp_path_factory.mktemp("names") / "run", **SMALL).path


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return eb.rag.probe_noise(["jaccard"], out=tmp_path_factory.mktemp("noise") / "run", **SMALL).path


def only(path: Path) -> ReportRun:
    return read_report_runs([path])[0]


def test_forests_have_every_ablation_in_its_group(names: Path) -> None:
    run = only(names)
    page = tuple(name_probe_page(run, True))
    forests = [table for id, table in tables(page).items() if id.startswith("ablations-")]
    assert [forest.title for forest in forests] == [
        "jaccard, English", "bm25, English", "jaccard, French", "bm25, French",
    ]  # fmt: skip
    assert [title for title, _ in forests[0].groups] == ["Identity-destroying", "Orthography and formatting", "Layout"]
    rows = {line.label: [convert_sentence_to_text(one.text) for one in line.entries] for line in forests[0].lines}
    assert len(rows) == 10
    _, percent, _, margin, *_ = rows["hard name mask"]
    assert percent.startswith(format_change(-100.0, 1))
    assert margin == "0.000"
    found = run.record.find("names", "jaccard", "d_name change %", dataset="bundled-en", variant="gibberish_name")
    assert found is not None
    assert found.value is not None
    mark, percent, *_ = rows["gibberish name"]
    assert percent.startswith(PERCENTS.change(found.value))
    assert " t" in mark


def test_the_verdict_says_what_the_rows_say(names: Path, noise: Path) -> None:
    run = only(names)
    (verdict,) = every(name_probe_page(run, True), VerdictText)
    said = " ".join(map(convert_sentence_to_text, verdict.lede))
    assert len(convert_sentence_to_text(verdict.heading)) <= 80
    rows = [row for key, row in run.record.rows.items() if key[3] == "" and key[5] == "d_name"]
    assert format_score(max(row.value or 0 for row in rows)) in said
    assert format_score(min(row.value or 0 for row in rows)) in said
    assert "exactly 0" in said
    (verdict,) = every(noise_page(only(noise), True), VerdictText)
    assert len(convert_sentence_to_text(verdict.heading)) <= 80
    assert verdict.lede


def test_curves_are_of_every_level_and_name_their_ends(noise: Path) -> None:
    page = tuple(noise_page(only(noise), True))
    curves = every(page, Figure)
    assert [one.title for one in curves] == ["English", "French"]
    for one in curves:
        assert one.drawing.count("<polygon") == 2
        assert "jaccard, rules" in one.drawing
    assert [line.label for line in tables(page)["drops"].lines] == [
        "jaccard, English", "jaccard, English, rules", "jaccard, French", "jaccard, French, rules",
    ]  # fmt: skip


def test_both_in_one_report(names: Path, noise: Path, tmp_path: Path) -> None:
    page = write_report([names, noise], out=tmp_path / "both.html").read_text("utf-8")
    for words in (
        "What the name margin depends on",
        "Similarity to the meaning, by level of noise",
        "Small talk around questions",
    ):
        assert words in page
    assert len(page) < 400_000


@pytest.mark.parametrize("unicode", [True, False])
def test_it_fits_eighty_columns(names: Path, noise: Path, unicode: bool) -> None:
    for path in (names, noise):
        text = printed(iterate_probe_terminal_blocks(path), unicode=unicode)
        shown = [line for line in text.splitlines() if str(path) not in line]
        assert max(map(len, shown)) <= 80
        assert "columns hidden" in text
        assert unicode or text.replace(str(path), "").isascii()
        assert len(printed(iterate_probe_terminal_blocks(path), wide=True).splitlines()[6]) > 80 or path == noise


def test_a_run_with_one_condition(tmp_path: Path) -> None:
    """No verdict on what moves the margin, no chart, and every part that is left."""
    out = tmp_path / "run"
    eb.rag.probe_names(["jaccard"], out=out, langs=["fr"], conditions=["remove_label"], **{**SMALL, "runs": 1})
    page = tuple(name_probe_page(only(out), True))
    assert not every(page, Figure)
    assert tables(page)["margins"].lines[0].entries[-1].why == "one run only"
    assert convert_sentence_to_text(every(page, VerdictText)[0].heading).startswith("How far names separate")
    assert "French" in printed(iterate_probe_terminal_blocks(out))
