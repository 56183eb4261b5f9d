"""Results on a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from embassay.document.blocks import Column, Table, make_number_columns
from embassay.document.terminal import draw_terminal_blocks
from embassay.report.notes import gather_run_notes
from embassay.report.runs import read_report_runs
from embassay.report.terminal import gravest_notes_view, make_run_terminal_blocks, render_report_answers
from report.pages import printed

MakeRun = Callable[..., Path]


def test_verdict_then_table_then_notes_then_path(plain_run: Path) -> None:
    """The order of the parts is fixed."""
    (plain_run / "report.html").touch()
    parts = printed(make_run_terminal_blocks(plain_run)).split("\n\n")
    assert parts[0].startswith("aster-large beats every other system\n")
    assert parts[1].startswith("Rank")
    assert parts[2].startswith("- ")
    assert parts[-1] == f"Report: {plain_run / 'report.html'}"


def test_answers_say_of_what_and_notes_how_many(plain_run: Path) -> None:
    """Behind the heading the systems and the data; at the end the gravest notes, of how many."""
    runs = read_report_runs([plain_run])
    systems = {one.name for one in runs[0].record.list_non_reference_systems}
    said = render_report_answers(runs).plain.splitlines()
    assert not said or said[0].startswith(f"Answers · {len(systems)} systems · ")
    notes = gather_run_notes(runs)
    care = printed(gravest_notes_view(runs, most=2))
    assert care.startswith(f"Read with care (2 of {len(notes)} notes)")
    assert len(re.findall(r"^- ", care, re.M)) == 2
    assert " ".join(notes[0].plain.split()) in " ".join(care.split())


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_nothing_is_wider_than_the_terminal(plain_run: Path, width: int) -> None:
    """Lines fit, apart from the path, which stays whole."""
    assert all(
        len(line) <= width
        for line in printed(make_run_terminal_blocks(plain_run), width=width).splitlines()
        if "report.html" not in line
    )


def test_columns_go_from_the_right_and_are_counted(plain_run: Path) -> None:
    """At 80 columns two tasks are hidden, and --wide shows them."""
    narrow, wide = (
        printed(make_run_terminal_blocks(plain_run), width=80),
        printed(make_run_terminal_blocks(plain_run, wide=True), width=80, wide=True),
    )
    assert "2 columns hidden, --wide shows them" in narrow
    assert "Retrieval" not in narrow
    assert "Retrieval" in wide
    assert "hidden" not in wide


def test_numbers_and_names_are_never_cut() -> None:
    """A table narrower than its first columns is still whole."""
    table = Table.of("names", ["System", *make_number_columns("Score")], [["a" * 50, "0.523"]])
    assert "a" * 50 + "  0.523" in printed([table], width=20)


def test_value_and_interval_are_one_right_aligned_pair(plain_run: Path) -> None:
    """The pair ends where its heading ends."""
    head, _, first, *_ = printed(make_run_terminal_blocks(plain_run), width=140).splitlines()[3:]
    assert "0.563 0.550–0.576" in first
    assert head.index("Overall, 95%") + len("Overall, 95%") == first.index("0.576") + len("0.576")


def test_ascii_when_that_is_all_there_is(plain_run: Path) -> None:
    """No sign beyond ASCII, states in capitals, ranges with two dots."""
    text = printed(make_run_terminal_blocks(plain_run), width=140, unicode=False)
    assert text.isascii()
    assert "0.550..0.576" in text
    assert "FAILED" in text


def test_the_strip_comes_from_100_columns_on_and_costs_no_number(make_run: MakeRun) -> None:
    """It is drawn when all columns fit beside it."""
    run = make_run()
    assert "┃" not in printed(make_run_terminal_blocks(run), width=99)
    assert "┃" in printed(make_run_terminal_blocks(run), width=130)
    assert "hidden" not in printed(make_run_terminal_blocks(run), width=130)


def test_colour_only_for_states(plain_run: Path) -> None:
    """Nothing but a state is coloured; bold is no colour."""
    text = draw_terminal_blocks(make_run_terminal_blocks(plain_run), width=140)
    coloured = {text.plain[span.start : span.end] for span in text.spans if str(span.style) not in ("bold", "")}
    assert coloured == {"✕ failed"}


def test_control_characters_do_not_reach_the_terminal() -> None:
    """A name with an escape sequence is shown without it."""
    text = printed([Table.of("names", ["System"], [["evil\x1b[31m\nname"]])])
    assert "\x1b" not in text
    assert len(text.splitlines()) == 3


def test_markup_in_names_is_text(make_run: MakeRun) -> None:
    """Square brackets are not markup."""
    run = make_run(systems={"[red]x[/red]": "classical", "bm25": "classical"})
    assert "[red]x[/red]" in printed(make_run_terminal_blocks(run))


def test_a_wrapping_column_takes_the_room_that_is_left() -> None:
    """Only the last column wraps, at spaces."""
    what = "words in common, weighted by how rare they are"
    table = Table.of("metrics", ["Name", Column("What", style="wrap")], [["bm25", what]])
    assert printed([table], width=40).splitlines()[2:] == [
        "bm25  words in common, weighted by how",
        "      rare they are",
    ]


def test_a_run_with_nothing_finished(make_run: MakeRun) -> None:
    """It says how to go on."""
    tasks = ("preference", "robustness", "sensitivity", "clustering", "retrieval")
    systems = ("aster-large", "birch-base", "jaccard", "bm25", "constant", "random")
    run = make_run(not_run=tuple((t, "sample", s) for t in tasks for s in systems), status="partial")
    text = printed(make_run_terminal_blocks(run))
    assert text.startswith("Nothing finished yet")
    assert "0 of 30 cells" in text


def test_a_pteb_run_shows_before_after_and_drop(pteb_run: Path) -> None:
    """Verdict in points lost, one table best score first, notes; what is ranked apart is told."""
    text = printed(make_run_terminal_blocks(pteb_run), width=120)
    said, table, *rest = text.split("\n\n")
    heading, lede = said.split("\n", 1)
    assert heading.startswith("Every system loses points when texts are paraphrased")
    assert "95% interval" in lede
    head, _, first, *_ = table.splitlines()
    assert head.split()[:7] == ["Rank", "System", "Orig.", "PTEB", "Change", "±", "sd"]
    assert re.match(r"1 +aster-large +85\.00 +83\.\d\d +−1\.\d\d ± 0\.\d\d +−\d\.\d\d to −\d\.\d\d", first)
    assert "jaccard and bm25 are ranked separately" in rest[0]
    assert "cannot be used: 4 too long" in rest[0].replace("\n  ", " ")


@pytest.mark.parametrize("width", [60, 80])
def test_a_pteb_table_fits_the_terminal(pteb_run: Path, width: int) -> None:
    """Columns go from the right; the name and the original score stay."""
    text = printed(make_run_terminal_blocks(pteb_run), width=width)
    assert all(len(line) <= width for line in text.splitlines() if "report.html" not in line)
    assert "--wide shows" in text


def test_a_pteb_run_in_ascii(pteb_run: Path) -> None:
    """Plus-minus, tau and minus have words or signs that every terminal knows."""
    text = printed(make_run_terminal_blocks(pteb_run), unicode=False)
    assert text.isascii()
    assert "+-" in text
