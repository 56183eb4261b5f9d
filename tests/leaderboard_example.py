"""A board with every state that a page must show, without a server: systems of all kinds, missing cells, ranges."""

from __future__ import annotations

from embassay.web.leaderboard.contract import (
    BoardCell,
    BoardColumn,
    BoardDataset,
    BoardList,
    BoardSystemRow,
    BoardVerdict,
    BrokenRunFolder,
    Leaderboard,
    ListedBoard,
    ListedRun,
    OtherBoardStanding,
    SystemFacts,
    SystemProfile,
    SystemStandingInColumn,
)

TITLES = {"overall": "Overall", "preference": "Preference", "robustness": "Robustness", "retrieval": "Retrieval"}


def example_boards() -> BoardList:
    """Two versions of SAGE's data, a board of imported results, and a folder that cannot be read."""
    return BoardList(
        "runs",
        "2026-11-22T01:40:00+00:00",
        (
            ListedBoard(
                "sage-1f2e3d4c", "SAGE on sample", "sage", "1f2e3d4c", "live", "2026-11-22T01:39:41+00:00",
                6, 1840, 2, None, 34, 40,
            ),
            ListedBoard(
                "sage-99aa00bb", "SAGE on sample", "sage", "99aa00bb", "done", "2026-11-01T10:00:00+00:00",
                3, 900, 1, "sage-1f2e3d4c", 15, 15,
            ),
            ListedBoard(
                "mteb-0a0b0c0d", "MTEB results, 3 tasks", "mteb", "0a0b0c0d", "stale",
                "2026-10-01T10:00:00+00:00", 2, 6, 2, None, 6, 6,
            ),
        ),
        (BrokenRunFolder("old/run <7>", "the manifest cannot be read: Expecting value: line 1 column 1"),),
    )  # fmt: skip


def example_board() -> Leaderboard:
    """Six systems: two that cannot be told apart, a running one, a failed one, one with script as its name, chance."""
    names = (
        "minilm",
        "wordllama",
        "bm25",
        "org/a-model-with-a-very-long-name-v2",
        "<script>alert(1)</script>",
        "random",
    )
    return Leaderboard(
        "sage-1f2e3d4c", "SAGE on sample", "sage", "1f2e3d4c", "live", "2026-11-22T01:39:41+00:00", "stamp-1", None,
        BoardVerdict(
            "minilm and wordllama may be first",
            "Overall 0.603 and 0.598 of three tasks. The data cannot tell them apart.",
        ),
        ("1 cell failed: org/a-model-with-a-very-long-name-v2 on retrieval has no value, so it has no rank.",),
        (
            BoardDataset("sample", "mul", 144, "b3139b58d6994a30fccb51c660941328"),
            BoardDataset("scifact", "en", 300, "77ab"),
        ),
        (
            ListedRun("a/sage", "live", "2026-11-22T01:39:41+00:00", 24, 30),
            ListedRun("b", "done", "2026-11-20T08:00:00+00:00", 10, 10, "runs/b/report.html"),
        ),
        "overall",
        (*map(example_column, TITLES), example_column("retrieval/scifact", overview=False)),
        tuple(_row(index, name) for index, name in enumerate(names)),
        {key: _cells(shift) for shift, key in enumerate(TITLES)},
        dict.fromkeys(TITLES, ((1, 2), (1, 2), (1, 1), None, None, None)),
        dict.fromkeys(TITLES, (0.62, 0.38, 1.0, None, None, None)),
        dict.fromkeys(TITLES, (0, 1)),
        {"overall": ((1,), (0,), (), None, None, None)},
        ("sage-99aa00bb",),
        "Ranks from paired bootstrap tests, Holm over all pairs, alpha 0.05.",
    )  # fmt: skip


def example_column(key: str, *, overview: bool = True) -> BoardColumn:
    """A column of the example."""
    task, _, dataset = key.partition("/")
    return BoardColumn(
        key, f"{TITLES[task]} · {dataset}" if dataset else TITLES[task], task, dataset, "en" if dataset else "",
        task, "", 1.0, 3, True, 300 if dataset else 144, overview,
    )  # fmt: skip


def example_card() -> SystemProfile:
    """The first system of the example."""
    board = example_board()
    stands = tuple(
        SystemStandingInColumn(
            column, board.cells[column.key][0], board.ranks[column.key][0], 2, board.best[column.key][0], 2
        )
        for column in board.columns
        if column.overview
    )
    elsewhere = OtherBoardStanding(
        "sage-99aa00bb", "SAGE on sample", "99aa00bb", board.columns[0], board.cells["overall"][0], (1, 1), 3
    )
    return SystemProfile(
        board.id, board.title, board.stamp, board.systems[0], "cosine(minilm:53aa)", stands,
        ("Overall", "Robustness"), (), (elsewhere,),
    )  # fmt: skip


def _row(index: int, name: str) -> BoardSystemRow:
    group = "classical" if name == "bm25" else "reference" if name == "random" else ""
    state, note = "done", ""
    if index == 3:
        state, note = "partial", "retrieval failed; mean of the 2 finished tasks 0.512"
    if index == 4:
        state, note = "running", "2 of 3 tasks finished"
    kind = group if group else "embedding"
    facts = SystemFacts(
        384, 256, 22_713_216, 0.02, None, None, 12.5, 800.0, "Apache-2.0", "a small sentence transformer"
    )
    return BoardSystemRow(
        index, name, name if len(name) <= 28 else name.partition("/")[2] or name, kind, group, index < 3,
        state, note, "a/sage" if index != 1 else "b", None if index != 1 else "runs/b/report.html",
        ("b",) if index == 0 else (), facts if kind == "embedding" else SystemFacts(),
    )  # fmt: skip


def _cells(shift: int) -> tuple[BoardCell, ...]:
    value = 0.603 - shift / 50
    return (
        BoardCell(value, value - 0.02, value + 0.02, 144, "done", ""),
        BoardCell(value - 0.005, value - 0.03, value + 0.015, 144, "done", ""),
        BoardCell(value - 0.1, value - 0.12, value - 0.08, 144, "done", ""),
        BoardCell(None, None, None, 0, "failed", "retrieval: out of memory"),
        BoardCell(None, None, None, 0, "running", "2 of 3 cells"),
        BoardCell(0.0, None, None, 6, "done", ""),
    )
