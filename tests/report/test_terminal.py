"""Results on a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.text import Text

from embassay.document.terminal import Column, render_table
from embassay.report.terminal import render_run

MakeRun = Callable[..., Path]


def lines(text: Text) -> list[str]:
    return text.plain.splitlines()


def test_verdict_then_table_then_notes_then_path(plain_run: Path) -> None:
    """The order of the parts is fixed."""
    (plain_run / "report.html").touch()
    parts = render_run(plain_run).plain.split("\n\n")
    assert parts[0] == "aster-large beats every other system"
    assert parts[2].startswith("Rank")
    assert parts[3].startswith("- ")
    assert parts[-1] == f"Report: {plain_run / 'report.html'}"


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_nothing_is_wider_than_the_terminal(plain_run: Path, width: int) -> None:
    """Lines fit, apart from the path, which stays whole."""
    assert all(
        len(line) <= width for line in lines(render_run(plain_run, width=width)) if "report.html" not in line
    )


def test_columns_go_from_the_right_and_are_counted(plain_run: Path) -> None:
    """At 80 columns two tasks are hidden, and --wide shows them."""
    narrow, wide = render_run(plain_run, width=80).plain, render_run(plain_run, width=80, wide=True).plain
    assert "2 columns hidden, --wide shows them" in narrow
    assert "Retrieval" not in narrow
    assert "Retrieval" in wide
    assert "hidden" not in wide


def test_numbers_and_names_are_never_cut() -> None:
    """A table narrower than its first columns is still whole."""
    text = render_table([Column("System"), Column("Score", right=True)], [["a" * 50, "0.523"]], width=20)
    assert "a" * 50 + "  0.523" in text.plain


def test_value_and_interval_are_one_right_aligned_pair(plain_run: Path) -> None:
    """The pair ends where its heading ends."""
    head, _, first, *_ = lines(render_run(plain_run, width=140))[4:]
    assert "0.563 0.550–0.576" in first
    assert head.index("Overall, 95%") + len("Overall, 95%") == first.index("0.576") + len("0.576")


def test_ascii_when_that_is_all_there_is(plain_run: Path) -> None:
    """No sign beyond ASCII, states in capitals, ranges with two dots."""
    text = render_run(plain_run, width=140, unicode=False).plain
    assert text.isascii()
    assert "0.550..0.576" in text
    assert "FAILED" in text


def test_the_strip_comes_from_100_columns_on_and_costs_no_number(make_run: MakeRun) -> None:
    """It is drawn when all columns fit beside it."""
    run = make_run()
    assert "┃" not in render_run(run, width=99).plain
    assert "┃" in render_run(run, width=130).plain
    assert "hidden" not in render_run(run, width=130).plain


def test_colour_only_for_states(plain_run: Path) -> None:
    """Nothing but a state is coloured; bold is no colour."""
    text = render_run(plain_run, width=140)
    coloured = {
        text.plain[span.start : span.end] for span in text.spans if str(span.style) not in ("bold", "")
    }
    assert coloured == {"✕ failed"}


def test_control_characters_do_not_reach_the_terminal() -> None:
    """A name with an escape sequence is shown without it."""
    text = render_table([Column("System")], [["evil\x1b[31m\nname"]])
    assert "\x1b" not in text.plain
    assert len(lines(text)) == 3


def test_markup_in_names_is_text(make_run: MakeRun) -> None:
    """Square brackets are not markup."""
    run = make_run(systems={"[red]x[/red]": "classical", "bm25": "classical"})
    assert "[red]x[/red]" in render_run(run).plain


def test_a_wrapping_column_takes_the_room_that_is_left() -> None:
    """Only the last column wraps, at spaces."""
    what = "words in common, weighted by how rare they are"
    text = render_table([Column("Name"), Column("What", wraps=True)], [["bm25", what]], width=40)
    assert lines(text)[2:] == ["bm25  words in common, weighted by how", "      rare they are"]


def test_a_run_with_nothing_finished(make_run: MakeRun) -> None:
    """It says how to go on."""
    tasks = ("preference", "robustness", "sensitivity", "clustering", "retrieval")
    systems = ("aster-large", "birch-base", "jaccard", "bm25", "constant", "random")
    run = make_run(not_run=tuple((t, "sample", s) for t in tasks for s in systems), status="partial")
    text = render_run(run).plain
    assert text.startswith("Nothing finished yet")
    assert "0 of 30 cells" in text


def test_a_pteb_run_shows_before_after_and_drop(pteb_run: Path) -> None:
    """Verdict in points lost, one table best score first, notes; what is ranked apart is told."""
    text = render_run(pteb_run, width=120).plain
    heading, lede, table, *rest = text.split("\n\n")
    assert heading.startswith("Every system loses points when texts are paraphrased")
    assert "95% interval" in lede
    head, _, first, *_ = table.splitlines()
    assert head.split()[:7] == ["Rank", "System", "Orig.", "PTEB", "Change", "±", "sd"]
    assert re.match(r"1 +aster-large +85\.00 +83\.\d\d +−1\.\d\d ± 0\.\d\d +−\d\.\d\d to −\d\.\d\d", first)
    assert "jaccard and bm25 are ranked by themselves" in rest[0]
    assert "cannot be used: 4 too long" in rest[0].replace("\n  ", " ")


@pytest.mark.parametrize("width", [60, 80])
def test_a_pteb_table_fits_the_terminal(pteb_run: Path, width: int) -> None:
    """Columns go from the right; the name and the original score stay."""
    text = render_run(pteb_run, width=width)
    assert all(len(line) <= width for line in lines(text) if "report.html" not in line)
    assert "--wide shows" in text.plain


def test_a_pteb_run_in_ascii(pteb_run: Path) -> None:
    """Plus-minus, tau and minus have words or signs that every terminal knows."""
    text = render_run(pteb_run, unicode=False).plain
    assert text.isascii()
    assert "+-" in text
