"""Boards of studies: what is left where people agree well, and how few items are behind a rank."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from embassay.protocols.kernel.comparisons import read_standings
from embassay.runs.folder import RunFolder
from embassay.web.leaderboard.board import collect_system_facts
from embassay.web.leaderboard.library import RunLibrary
from embassay.web.leaderboard.page.rows import find_possible_leaders
from embassay.web.leaderboard.routes import LeaderboardService
from embassay.web.leaderboard.table import BoardSystemWithRun
from leaderboard_runs import STUDY, write_hume

TRUST = {"topic": "high", "news": "low", "groups": "medium", "pairs": "high"}
LEVELS = {
    "flat": dict.fromkeys(STUDY, 0.6),
    "sure": {"topic": 0.8, "news": 0.3, "groups": 0.3, "pairs": 0.8},
    "gap": {"topic": 0.7, "groups": 0.9, "pairs": 0.7},
}


def _service(folder):
    library = RunLibrary(folder)
    library.refresh_changed_runs()
    (line,) = library.wait_for_snapshot().boards.boards
    return LeaderboardService(library), library.board(line.id).board


def _cells(service, board, *keys):
    part = json.loads(service.cells(board.id, keys).body)
    names = [one.name for one in board.systems]
    return {
        what: {key: dict(zip(names, own, strict=True)) for key, own in part[what].items()}
        for what in ("cells", "ranks")
    }


def test_scores_and_ranks_are_made_anew_over_what_people_agree_on(tmp_path):
    """The mean over the datasets of high agreement alone, with interval and ranks from the same resamples; a system
    that failed elsewhere takes part, and the order is another than over all."""
    path = write_hume(tmp_path / "a", LEVELS, TRUST)
    service, board = _service(tmp_path)
    columns = {one.key: one for one in board.columns if one.parts}
    assert {key: [dataset for _, dataset, _ in one.parts] for key, one in columns.items()} == {
        "high_agreement": ["topic", "pairs"]
    }
    found = _cells(service, board, "high_agreement", "overall")
    draws = {(one.task, one.dataset, one.system): one.headline for one in read_standings(path)}
    for name in LEVELS:
        parts = draws["classification", "topic", name], draws["sts", "", name]
        value, low, high, n, state, _ = found["cells"]["high_agreement"][name]
        assert value == pytest.approx(np.mean([one.value for one in parts]))
        assert low < value < high
        assert (n, state) == (24, "done")
    ranks = found["ranks"]["high_agreement"]
    assert [tuple(ranks[name]) for name in ("sure", "gap", "flat")] == [(1, 1), (2, 2), (3, 3)]
    whole = found["ranks"]["overall"]
    assert tuple(whole["flat"]) == (1, 1)
    assert whole["gap"] is None


def test_what_lacks_a_dataset_that_stays_has_no_value(tmp_path):
    """And says how many it has."""
    write_hume(tmp_path / "a", LEVELS, TRUST | {"news": "high"})
    service, board = _service(tmp_path)
    cell = _cells(service, board, "high_agreement")["cells"]["high_agreement"]["gap"]
    assert (cell[0], cell[4], cell[5]) == (None, "partial", "2 of 3 datasets")


def test_no_such_mean_where_people_agree_nowhere(tmp_path):
    """Nor where nobody knows; and cards and comparisons are without it."""
    write_hume(tmp_path / "a", LEVELS, dict.fromkeys(STUDY, "low"))
    _, board = _service(tmp_path)
    assert not any(one.parts for one in board.columns)
    write_hume(tmp_path / "a", LEVELS, TRUST)
    service, board = _service(tmp_path)
    for told in (service.build_system_card_response(board.id, "flat"), service.compare(board.id, "flat", "sure")):
        assert b"high_agreement" not in told.body
    lines = csv.DictReader(io.StringIO(service.build_board_download(board.id, "csv").body.decode()))
    assert {one["system"] for one in lines if one["measure"] == "high_agreement"} == set(LEVELS)


@pytest.mark.parametrize(("items", "few"), [(7, "n = 28"), (8, "")])
def test_a_rank_says_how_few_items_are_behind_it(tmp_path, items, few):
    """Under thirty on the board as a whole: on the overview and beside every rank of the board; never from thirty on.
    The datasets' columns say theirs."""
    write_hume(tmp_path / "a", LEVELS, TRUST, items=items)
    service, board = _service(tmp_path)
    assert find_possible_leaders(board).few == few
    page = service.page(board.id).body.decode()
    ranked = sum(rank is not None for rank in board.ranks[board.lead])
    assert page.count(f"<small>n = {4 * items}</small>") == (ranked if few else 0)
    assert page.count(f"<small>n = {items}</small>") == sum(bool(one.dataset and one.overview) for one in board.columns)


def test_memory_is_told_as_the_cards_know_it(tmp_path):
    """Of weights where stated, of vectors by their dimensions; else nothing."""
    facts = {"flat": {"dims": 384, "weights_mb": 127.5}, "sure": {"dims": 64}}
    write_hume(tmp_path / "a", LEVELS, TRUST, facts=facts)
    _, board = _service(tmp_path)
    told = {one.name: (one.facts.weights_mb, one.facts.vectors_mb, one.facts.index_mb) for one in board.systems}
    assert told == {"flat": (127.5, 1536.0, None), "sure": (None, 256.0, None), "gap": (None, None, None)}


def test_a_task_of_one_dataset_is_compared_on_it(tmp_path):
    """The test is kept for the task alone, and is that of its only dataset; of two datasets each has its own."""
    write_hume(tmp_path / "a", LEVELS, TRUST)
    service, board = _service(tmp_path)
    rows = {one["dataset"]: one for one in json.loads(service.compare(board.id, "flat", "sure").body)["rows"]}
    assert set(rows) == {"", *STUDY}
    for row in rows.values():
        assert row["low"] < row["difference"] < row["high"]
        assert row["p"] is not None


def test_cards_and_files_have_the_intervals_of_the_board(tmp_path):
    """Also where the run's rows were written without them."""
    path = write_hume(tmp_path / "a", LEVELS, TRUST)
    rows = [json.loads(line) for line in (path / "results.jsonl").read_text().splitlines()]
    assert rows[0]["ci_low"] is not None
    bare = [json.dumps({**row, "ci_low": None, "ci_high": None}) + "\n" for row in rows]
    (path / "results.jsonl").write_text("".join(bare))
    service, board = _service(tmp_path)
    shown = {one.key: board.cells[one.key] for one in board.columns if one.overview}
    index = next(one.index for one in board.systems if one.name == "flat")
    assert all(own[index].low is not None for own in shown.values())
    for stand in json.loads(service.build_system_card_response(board.id, "flat").body)["stands"]:
        assert stand["cell"] == list(shown[stand["column"]["key"]][index])
    told = json.loads(service.build_board_download(board.id, "json").body)["cells"]
    assert all(told[key]["flat"]["low"] == own[index].low for key, own in shown.items())


def test_memory_of_a_stack_is_that_of_its_index():
    """As measured, else what vectors and graph take by the formulas; nothing where neither is known."""
    run = SimpleNamespace(
        stacks={
            "measured": {"memory": {"vectors": 1e6, "graph": 1e6, "memory": 5_500_000}, "axes": {"dims": 384}},
            "formula": {"memory": {"vectors": 2e6, "graph": 5e5, "memory": None}},
            "bare": {"memory": {"vectors": None, "graph": None, "memory": None}},
        },
        described={}, cells_by_system={},
    )  # fmt: skip
    told = {name: collect_system_facts(BoardSystemWithRun(name, run, (), True)) for name in run.stacks}
    assert {name: one.index_mb for name, one in told.items()} == {"measured": 5.5, "formula": 2.5, "bare": None}
    assert all(one.vectors_mb is None for one in told.values())


def test_scores_as_percent_of_people(tmp_path):
    """Overall is shown first, every dataset of people has one; where people have no score there is none, and shares
    have no ranks of their own."""
    path = write_hume(tmp_path / "a", LEVELS, TRUST)
    folder = RunFolder(path)
    rows = list(folder.read_results())
    people = [replace(rows[0], task="overall", dataset="", system="Human", measure="overall", value=0.5)]
    (topic,) = [one for one in rows if one.dataset == "topic" and one.system == "flat"]
    people.append(replace(topic, system="Human", value=0.4))
    folder.write_results([*rows, *people])
    service, board = _service(tmp_path)
    shares = {one.key: one for one in board.columns if one.of}
    assert [key for key, one in shares.items() if one.overview] == ["percent_of_human"]
    assert len(shares) == 2
    (of_topic,) = set(shares) - {"percent_of_human"}
    found = _cells(service, board, "overall", *shares)
    for name in ("flat", "sure"):
        whole = found["cells"]["overall"][name][0]
        assert found["cells"]["percent_of_human"][name][0] == pytest.approx(whole / 0.5)
    assert found["cells"]["percent_of_human"]["Human"][0] == 1.0
    assert found["cells"][of_topic]["flat"][0] > 1
    assert found["cells"]["percent_of_human"]["gap"][0] is None
    assert not any(found["ranks"]["percent_of_human"].values())
    assert "% of people" in service.page(board.id).body.decode()
