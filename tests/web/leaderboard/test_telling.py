"""What is told about a board: updates, files, tags, sentences."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.kernel import tables as numbers
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder
from embassay.web.leaderboard.contract import BoardCell, convert_record_to_json
from embassay.web.leaderboard.library import RunLibrary
from embassay.web.leaderboard.page.rows import find_possible_leaders
from embassay.web.leaderboard.routes import (
    MOST_BYTES,
    LeaderboardService,
    ResponseCache,
    find_board_changes,
    format_board_as_csv,
    format_board_as_latex,
    is_etag_known,
    pack_response_body,
)
from leaderboard_example import example_board
from leaderboard_runs import LATE, write_sage

VALUES = st.one_of(st.none(), st.floats(0, 1).map(lambda value: float(f"{value:.8g}")))


@st.composite
def boards(draw):
    """The example with some systems, in some order, with some values."""
    board = example_board()
    order = draw(st.permutations(range(len(board.systems))))[: draw(st.integers(1, len(board.systems)))]
    systems = tuple(replace(board.systems[i], index=place) for place, i in enumerate(order))
    cells = {key: tuple(BoardCell(draw(VALUES), None, None, 9, "done", "") for _ in systems) for key in board.cells}
    ranks = {key: tuple(draw(st.sampled_from([None, (1, 1), (1, 2)])) for _ in systems) for key in board.ranks}
    best = {key: tuple(draw(VALUES) for _ in systems) for key in board.best}
    top = {key: tuple(range(draw(st.integers(0, len(systems))))) for key in board.top}
    stamp = draw(st.text("abc", min_size=4, max_size=4))
    return replace(board, systems=systems, cells=cells, ranks=ranks, best=best, top=top, stamp=stamp)


def _by_name(board):
    """What a page knows: everything by the name of a system."""
    names = [one.name for one in board.systems]
    told = {
        part: {key: dict(zip(names, own, strict=True)) for key, own in getattr(board, part).items()}
        for part in ("cells", "ranks", "best")
    }
    rows = {one.name: {**convert_record_to_json(one), "index": 0} for one in board.systems}
    top = {key: tuple(names[i] for i in own) for key, own in board.top.items()}
    return {**told, "order": names, "rows": rows, "top": top}


def _applied(known, update):
    """What the page knows after an update."""
    order = list(update.order) if update.order is not None else known["order"]
    made = {"order": order, "top": {**known["top"], **update.top}}
    made["rows"] = {name: known["rows"].get(name) for name in order}
    made["rows"] |= {one.name: {**convert_record_to_json(one), "index": 0} for one in update.systems}
    for part in ("cells", "ranks", "best"):
        made[part] = {
            key: {name: {**own, **getattr(update, part).get(key, {})}.get(name) for name in order}
            for key, own in known[part].items()
        }
    return made


@given(boards(), boards())
def test_an_update_applied_gives_the_new_board(old, new) -> None:
    """Whatever moved, came, went or changed."""
    update = find_board_changes(old, new, old.stamp)
    if old.stamp == new.stamp:
        assert (update.order, update.cells) == (None, {})
        return
    assert update.whole is False
    assert _applied(_by_name(old), update) == _by_name(new)


def test_an_update_is_never_large() -> None:
    """What would be is replaced by the advice to fetch the board."""
    old = example_board()
    many = tuple(replace(old.systems[0], name=f"{i:x}" * 9, index=i) for i in range(3000))
    cells = {
        key: tuple(BoardCell(i / 2999, i / 3001, i / 2993, i, "done", "") for i in range(3000)) for key in old.cells
    }
    new = replace(
        old, systems=many, stamp="s", cells=cells, ranks={}, best={}, top=dict.fromkeys(old.top, ())
    )  # fmt: skip
    update = find_board_changes(old, new, old.stamp)
    assert update.whole
    assert len(gzip.compress(json.dumps(convert_record_to_json(update)).encode())) < MOST_BYTES
    assert find_board_changes(None, new, "unknown").whole


def test_what_is_kept_is_bounded_and_made_once() -> None:
    """The ones asked for longest ago go."""
    kept, made = ResponseCache(most_bytes=250), []

    def make(name):
        return lambda: made.append(name) or pack_response_body(name * 100, "text/plain")

    for name in "abcab":
        kept.get(name, make(name))
    assert made == ["a", "b", "c", "a", "b"]
    kept.get("b", make("b"))
    assert made[5:] == []


@given(st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126, blacklist_characters='",'), min_size=1)))
def test_tags_are_found_in_a_list(tags) -> None:
    """Weak or strong, alone or among others."""
    own = pack_response_body("x", "text/plain").etag
    asked = ", ".join([f'"{tag}"' for tag in tags] + [own])
    assert is_etag_known(own, asked)
    assert is_etag_known(own, asked.replace("W/", ""))
    assert not is_etag_known(own, ", ".join(f'"{tag}"' for tag in tags if tag != "*") or None)


def test_what_a_spreadsheet_would_run_is_text(tmp_path) -> None:
    """A name that begins like a formula is marked as text."""
    write_sage(tmp_path / "r", {"=HYPERLINK(1)": 0.5, "@x": 0.6, "plain": 0.4})
    library = RunLibrary(tmp_path)
    library.refresh_changed_runs()
    made = library.board(library.wait_for_snapshot().boards.boards[0].id)
    firsts = {line.split(",")[0] for line in format_board_as_csv(made).splitlines()}
    assert {"'=HYPERLINK(1)", "'@x", "plain"} <= firsts


def test_a_latex_table_holds_together(tmp_path) -> None:
    """Every row has as many cells as there are columns, whatever systems are called."""
    write_sage(tmp_path / "r", {"a & b": 0.5, "c\\\\d": 0.6, "50%": 0.4})
    library = RunLibrary(tmp_path)
    library.refresh_changed_runs()
    made = library.board(library.wait_for_snapshot().boards.boards[0].id)
    lines = format_board_as_latex(made).split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert [len(re.findall(r"(?<!\\)&", line)) for line in lines] == [7, 7, 7]
    assert all(line.endswith(r" \\") and line.count(r"\\") == 1 for line in lines)


def test_every_number_of_the_verdict_is_on_the_board(tmp_path) -> None:
    """Values of the two first systems as printed; the systems called first are those whose range includes 1."""
    levels = {"alpha": 0.5, "beta": 0.501, "gamma": 0.43}
    write_sage(tmp_path / "r", levels, updated=LATE)
    library = RunLibrary(tmp_path)
    library.refresh_changed_runs()
    board = library.board(library.wait_for_snapshot().boards.boards[0].id).board
    first = [one.name for one in board.systems if (board.ranks["overall"][one.index] or (0,))[0] == 1]
    printed = [numbers.format_score(cell.value) for cell in board.cells["overall"][:2]]
    said = re.findall(r"\d\.\d{3}", board.verdict.lede)
    assert said[:2] == printed
    named = [name for name in levels if name in board.verdict.title]
    assert sorted(named) == sorted(first)


@pytest.mark.parametrize(
    ("simulated", "word", "label"),
    [(["s1", "s2"], "All", "simulated annotators"), (["s1"], "Some", "simulated annotators"), ([], "", "Human")],
)
def test_scripts_are_never_called_people(tmp_path, simulated, word, label):
    """Where scripts answered a study, the row of people says so, and the first care notice."""
    folder = RunFolder(tmp_path / "study")
    folder.path.mkdir()
    rows = [
        ResultRow("hume", "sts", "pairs", "", "eng", "", name, "spearman", value, 40)
        for name, value in (("minilm", 0.8), ("Human", 0.9))
    ]
    folder.write_results(rows)
    folder.write_manifest({
        "protocol": "hume", "status": "finished", "arguments": {}, "cells": [], "datasets": [{"name": "pairs"}],
        "systems": [{"name": "minilm", "kind": "embedding"}],
        "study": {"annotators": ["s1", "s2"], "simulated": simulated},
    })  # fmt: skip
    library = RunLibrary(tmp_path)
    library.refresh_changed_runs()
    board = library.board(library.wait_for_snapshot().boards.boards[0].id).board
    assert {one.name: one.label for one in board.systems}["Human"] == label
    told = [one for one in board.care if "simulated" in one]
    assert told == (
        [f"{word} annotators are simulated: scripts answered, not people. Their scores say nothing about people."]
        * bool(word)
    )
    assert not word or board.care[0] == told[0]


def test_a_study_of_another_shape_is_none(tmp_path):
    """Whatever stands in a manifest's study, the board is shown."""
    write_sage(tmp_path / "run", {"a": 0.5})
    path = tmp_path / "run" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "study": {"simulated": {"a": 1}, "annotators": 3}}))
    library = RunLibrary(tmp_path)
    library.refresh_changed_runs()
    assert len(library.wait_for_snapshot().boards.broken) == 1


def test_a_folder_with_several_boards_opens_on_what_each_says(tmp_path):
    """The newest version of each, with who leads and how sure; older ones in the list alone. One is its own page."""
    write_sage(tmp_path / "a", {"good": 0.7, "poor": 0.4})
    library = RunLibrary(tmp_path)
    library.refresh_changed_runs()
    service = LeaderboardService(library)
    alone = library.wait_for_snapshot().boards.boards[0].id
    assert service.page(None).body.count(b"data-board") == 1
    assert library.board(alone).board.verdict.title in service.page(None).body.decode()
    other = write_sage(tmp_path / "b", {"one": 0.5, "two": 0.5}, updated=LATE)
    for file in other.rglob("*.json*"):
        file.write_text(file.read_text().replace('"sample"', '"other"'))
    write_sage(tmp_path / "c", {"old": 0.6}, fingerprint="other", updated="2026-10-01T08:00:00+00:00")
    library.refresh_changed_runs()
    lines = library.wait_for_snapshot().boards.boards
    assert [one.newer is None for one in lines].count(True) == 2 < len(lines)
    page = service.page(None).body.decode()
    assert "data-board" not in page
    rows = page.partition("</table>")[0]
    for one in lines:
        assert f"b/{one.id}/" in page
        lead = find_possible_leaders(library.board(one.id).board)
        assert (f"b/{one.id}/" in rows) == (one.newer is None)
        if one.newer is None:
            assert all(row.label in rows for row in lead.rows[:2])


def test_how_sure_a_board_is():
    """Sure is the first place alone, likely 95 of 100 resamples, else all that may be first are named."""
    board = example_board()
    lead = board.lead
    ranked = [one.index for one in board.systems if one.group == "" and board.ranks[lead][one.index] is not None]
    assert len(ranked) > 1

    def told(ranks, best):
        own = dict(zip(ranked, ranks, strict=False))
        shares = dict(zip(ranked, best, strict=False))
        return find_possible_leaders(replace(
            board,
            ranks={lead: tuple(own.get(one.index) for one in board.systems)},
            best={lead: tuple(shares.get(one.index) for one in board.systems)},
        ))  # fmt: skip

    assert (told([(1, 1), (2, 2)], [0.99, 0.01]).level, len(told([(1, 1), (2, 2)], [0.99, 0.01]).rows)) == ("sure", 1)
    assert told([(1, 2), (1, 2)], [0.96, 0.04]).level == "likely"
    assert told([(1, 2), (1, 2)], [0.85, 0.15]).level == "open"
    undecided = told([(1, 2), (1, 2)], [0.6, 0.4])
    assert (undecided.level, len(undecided.rows)) == ("open", 2)
    assert find_possible_leaders(replace(board, ranks={lead: tuple(None for _ in board.systems)})).rows == ()


def test_how_well_people_agree_stands_with_the_columns_of_a_dataset(tmp_path):
    """With interval, n and band, as the scored study wrote it; columns over datasets say nothing."""
    path = write_sage(tmp_path / "a", {"good": 0.7, "poor": 0.4})
    (path / "tables").mkdir(exist_ok=True)
    (path / "tables" / "agreement.csv").write_text(
        "dataset,coefficient,value,low,high,items,band,trust\nsample,fleiss_kappa,0.597,0.33,0.89,18,moderate,medium\n"
    )
    library = RunLibrary(tmp_path)
    library.refresh_changed_runs()
    board = library.board(library.wait_for_snapshot().boards.boards[0].id).board
    for column in board.columns:
        assert bool(column.people) == bool(column.dataset)
        if column.dataset:
            assert column.trust == "medium"
            assert all(word in column.people for word in ("fleiss kappa 0.60", "0.33", "0.89", "n = 18", "moderate"))
