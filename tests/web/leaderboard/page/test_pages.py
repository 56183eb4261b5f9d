"""What is rendered without a browser: escaped, the same each time, in the report's colours."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import embassay.report
from embassay.web.leaderboard.contract import BoardList, SystemFacts
from embassay.web.leaderboard.page import STATIC, render_board_page, render_error_page, render_system_page, rows
from leaderboard_example import example_board, example_boards, example_card

from .made_board import HOSTILE, Made

TOKEN = re.compile(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)")


def test_colours_are_the_reports() -> None:
    """Every colour of the style sheet is a token, and every token has the report's two values."""
    style = (STATIC / "leaderboard.css").read_text("utf-8")
    report = (Path(embassay.report.__file__).parent / "assets" / "report.css").read_text("utf-8")
    theirs = {name: pair for name, *pair in TOKEN.findall(report)}
    ours = {name: pair for name, *pair in TOKEN.findall(style)}
    assert len(ours) == 18
    assert ours == {name: theirs[name] for name in ours}
    rules = style.partition("--sans")[2].partition("@page")[0]
    assert not re.findall(r"#[0-9A-Fa-f]{3,8}\b(?=[;,) ])", rules)


def test_the_same_record_gives_the_same_bytes() -> None:
    """Also at another base; the base stands before every address."""
    first = render_board_page(example_board(), example_boards(), base="")
    assert first == render_board_page(example_board(), example_boards(), base="")
    below = render_board_page(example_board(), example_boards(), base="../../")
    assert not re.findall(r'(?:href|src)="?(?:/|https?:|static|api|b/)', below)


def test_no_inline_script_or_style() -> None:
    """The policy allows none."""
    for page in (
        render_board_page(example_board(), example_boards(), base=""),
        render_system_page(example_card(), example_boards(), base=""),
    ):
        assert not re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]* src=)", page)


@pytest.mark.parametrize("made", [Made(hostile=True)])
def test_text_of_data_is_escaped(made: Made) -> None:
    """In names, datasets, reasons, folder and title."""
    for page in (
        render_board_page(made.board, made.boards, base=""),
        render_system_page(made.card(HOSTILE), made.boards, base=""),
        render_board_page(None, made.boards, base=""),
        render_error_page(404, HOSTILE, HOSTILE, base=""),
    ):
        assert "<img" not in page
        assert "<script>" not in page
        assert "onerror=alert(1)&gt;" in page


def test_a_folder_without_results_says_what_to_do() -> None:
    """What, why, next."""
    page = render_board_page(None, BoardList("runs", "", ()), base="")
    assert "Nothing finished yet" in page
    assert "embassay sage run" in page


def test_every_state_has_its_word() -> None:
    """Failed and running cells, with their reasons; a system without a rank under its own heading."""
    page = render_board_page(example_board(), example_boards(), base="")
    said = ("✕ failed", "retrieval: out of memory", "◔ running", "2 of 3 tasks finished", "bm25")
    for one in (*said, "Not ranked: a task is missing", "References, not ranked"):
        assert one in page
    assert "<b>0.000</b>" in page


def test_an_older_version_says_so() -> None:
    """With a link to the newest."""
    page = render_board_page(replace(example_board(), newer="sage-77"), example_boards(), base="../../")
    assert "older version of the data" in page
    assert 'href="../../b/sage-77/"' in page


def test_facts_that_are_not_known_are_left_out() -> None:
    """And zero is known."""
    assert rows.system_facts(SystemFacts()) == []
    assert rows.system_facts(SystemFacts(usd_per_million_tokens=0.0, dims=1024)) == [
        ("Dimensions", "1,024"), ("Price per million tokens", "$0"),
    ]  # fmt: skip


def test_scripts_use_no_markup_from_text() -> None:
    """No way from a text to elements, and no address outside."""
    for path in STATIC.glob("*.js"):
        text = path.read_text("utf-8")
        assert not re.findall(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|DOMParser", text
        ), path
        assert set(re.findall(r"https?://[^\"']+", text)) <= {"http://www.w3.org/2000/svg"}, path
        assert len(text.splitlines()) < 220, path
