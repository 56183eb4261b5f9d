"""Boards of any size as the server's records, with values that a seed decides, for pages that are looked at."""

from __future__ import annotations

import random
from dataclasses import replace

from embassay.web.leaderboard.contract import (
    BoardCell,
    BoardChanges,
    BoardColumn,
    BoardColumnData,
    BoardDataset,
    BoardList,
    BoardSystemRow,
    BoardVerdict,
    Leaderboard,
    ListedRun,
    SystemComparison,
    SystemDifferenceRow,
    SystemFacts,
    SystemProfile,
    SystemStandingInColumn,
)
from embassay.web.leaderboard.routes import find_board_changes
from leaderboard_example import example_boards

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
TASKS = ("preference", "robustness", "sensitivity", "clustering", "retrieval")
LANGS = ("en", "de", "fr", "ar")
_WORDS = ("aster", "birch", "cedar", "dogwood", "elm", "fir", "gingko", "hazel", "iris", "juniper")
_ENDS = ("large", "base", "small", "multilingual", "mini", "instruct", "xl", "v2")


class Made:
    """A board with all that the server tells of it: `systems` in all, `datasets` for each task."""

    def __init__(self, systems: int = 14, datasets: int = 3, *, seed: int = 7, hostile: bool = False) -> None:
        self.rng = random.Random(seed)
        self.hostile = hostile
        self.columns = _columns(datasets, hostile)
        self.names = _names(systems, hostile)
        self.values = self._values()
        self.stamp = "stamp-1"
        self._boards: dict[str, Leaderboard] = {}

    def _values(self) -> dict[str, list[BoardCell]]:
        strength = [0.62 - 0.3 * i / len(self.names) + self.rng.gauss(0, 0.01) for i in range(len(self.names))]
        values: dict[str, list[BoardCell]] = {}
        for place, column in enumerate(self.columns):
            own = []
            for index in range(len(self.names)):
                value = min(0.99, max(0.01, strength[index] + self.rng.gauss(0, 0.03) + 0.02 * (place % 5)))
                half = 0.01 + 0.02 * self.rng.random()
                own.append(BoardCell(value, value - half, value + half, column.n, "done", ""))
            values[column.key] = own
        self._gaps(values)
        order = sorted(range(len(self.names) - 3), key=lambda i: -(values["overall"][i].value or 0.0))
        order += range(len(self.names) - 3, len(self.names))
        self.names = [self.names[i] for i in order]
        return {key: [own[i] for i in order] for key, own in values.items()}

    def _gaps(self, values: dict[str, list[BoardCell]]) -> None:
        """The last but two is running, the last but one failed, the last is chance."""
        running, failed, chance = len(self.names) - 3, len(self.names) - 2, len(self.names) - 1
        reason = HOSTILE if self.hostile else "out of memory"
        for key in ("overall", "retrieval"):
            values[key][running] = BoardCell(None, None, None, 0, "running", "2 of 3 datasets")
            values[key][failed] = BoardCell(None, None, None, 0, "failed", reason)
        for own in values.values():
            own[chance] = BoardCell(0.25, 0.24, 0.26, 100, "done", "")

    def move(self, name: str, to: float) -> None:
        """A system gets another overall score, and with it another place."""
        self.board  # noqa: B018  what pages were told so far
        index, half = self.names.index(name), 0.01
        self.values["overall"][index] = BoardCell(to, to - half, to + half, 3000, "done", "")
        ranked = sorted(range(len(self.names) - 3), key=lambda i: -_of(self.values["overall"][i]))
        order = [*ranked, *range(len(self.names) - 3, len(self.names))]
        self.names = [self.names[i] for i in order]
        self.values = {key: [own[i] for i in order] for key, own in self.values.items()}
        self.stamp = f"stamp-{len(self._boards) + 1}"

    def part(self, keys: tuple[str, ...]) -> BoardColumnData:
        ranked = range(len(self.names) - 3)
        ranks, best, top, alike = {}, {}, {}, {}
        for key in keys:
            own = self.values[key]
            near = {i: tuple(j for j in ranked if j != i and abs(_of(own[i]) - _of(own[j])) < 0.02) for i in ranked}
            first = max(ranked, key=lambda i: _of(own[i]))
            ranges = {
                i: (
                    1 + sum(_of(own[j]) - _of(own[i]) >= 0.02 for j in ranked),
                    len(ranked) - sum(_of(own[i]) - _of(own[j]) >= 0.02 for j in ranked),
                )
                for i in ranked
            }
            ranks[key] = tuple(ranges.get(i) for i in range(len(self.names)))
            best[key] = (
                tuple(1 / (1 + len(near[first])) if i in (first, *near[first]) else 0.0 for i in ranked) + (None,) * 3
            )
            top[key] = (first, *near[first])
            alike[key] = tuple(near.get(i) for i in range(len(self.names)))
        return BoardColumnData(self.stamp, {key: tuple(self.values[key]) for key in keys}, ranks, best, top, alike)

    @property
    def board(self) -> Leaderboard:
        """The board as it stands; made once for each stamp."""
        if self.stamp not in self._boards:
            self._boards[self.stamp] = self._made()
        return self._boards[self.stamp]

    def _made(self) -> Leaderboard:
        keys = tuple(one.key for one in self.columns if one.overview)
        part = self.part(keys)
        firsts = [self.names[i] for i in part.top["overall"]]
        systems = tuple(self._system(i) for i in range(len(self.names)))
        return Leaderboard(
            "sage-1f2e3d4c", HOSTILE if self.hostile else "SAGE on own data", "sage", "1f2e3d4c", "live",
            "2026-11-22T14:02:10+00:00", self.stamp, None,
            BoardVerdict(
                f"{len(firsts)} systems may be first",
                f"{firsts[0]} is ahead; the data cannot tell all of them apart.",
            ),
            (f"1 cell failed: {self.names[-2]} on retrieval has no value, so it has no rank.",),
            tuple(
                BoardDataset(one.dataset, one.lang, one.n, "b3139b58d6994a30fccb51c660941328")
                for one in self.columns if one.dataset and one.task == "retrieval"
            ),
            (
                ListedRun("own/sage", "live", "2026-11-22T14:02:10+00:00", 190, 210),
                ListedRun("own/old", "done", "2026-11-20T08:00:00+00:00", 10, 10),
            ),
            "overall", self.columns, systems,
            part.cells, part.ranks, part.best, part.top, {"overall": part.alike["overall"]}, ("sage-99aa00bb",),
            "Ranks are by paired bootstrap z tests, Holm over all pairs, alpha 0.05.",
        )  # fmt: skip

    def _system(self, index: int) -> BoardSystemRow:
        name = self.names[index]
        kind = "reference" if name == "random" else "classical" if name in ("bm25", "jaccard") else "embedding"
        ranked = index < len(self.names) - 3
        state = "done" if ranked or kind == "reference" else "running" if index == len(self.names) - 3 else "partial"
        note = "" if state == "done" else "mean of the 4 finished tasks 0.466"
        size = sum(map(ord, name))
        facts = SystemFacts() if kind != "embedding" else SystemFacts(
            (256, 384, 768, 1024, 3072)[size % 5], 512, (8 + size % 600) * 1_000_000,
            None if size % 7 == 0 else 0.01 * 3 ** (size % 6), None, None, 3.0 + size % 400,
            12.0 + 9 * (size % 500), "Apache-2.0",
            HOSTILE if self.hostile else "An embedding model made up for a test.",
        )  # fmt: skip
        return BoardSystemRow(
            index, name, name.rpartition("/")[2] if len(name) > 28 else name, kind,
            "reference" if kind == "reference" else "",
            ranked, state, note, "own/sage", None, (), facts,
        )  # fmt: skip

    @property
    def boards(self) -> BoardList:
        first, *others = example_boards().boards
        board = self.board
        line = replace(
            first, title=board.title, systems=len(board.systems), results=len(board.columns) * len(board.systems)
        )
        return replace(example_boards(), folder=HOSTILE if self.hostile else "runs", boards=(line, *others))

    def changes(self, since: str) -> BoardChanges:
        return find_board_changes(self._boards.get(since), self.board, since)

    def comparison(self, a: str, b: str) -> SystemComparison:
        i, j = self.names.index(a), self.names.index(b)
        rows = tuple(self._contrast(column, i, j) for column in self.columns)
        return SystemComparison(a, b, f"{a} cannot be told apart from {b} overall.", True, "", rows)

    def _contrast(self, column: BoardColumn, i: int, j: int) -> SystemDifferenceRow:
        p, q = self.values[column.key][i], self.values[column.key][j]
        facts = (
            column.key, column.title, column.task, column.dataset, column.measure, "score", 1.0, 3, True,
            p.value, q.value,
        )  # fmt: skip
        if p.value is None or q.value is None:
            return SystemDifferenceRow(*facts, None, None, None, None, None, None, 0, (p.reason or q.reason))
        difference = p.value - q.value
        chance = 0.0004 if abs(difference) > 0.04 else 0.31
        return SystemDifferenceRow(
            *facts, difference, difference - 0.03, difference + 0.03, chance, chance, 0.043, column.n, ""
        )

    def card(self, name: str) -> SystemProfile:
        index = self.names.index(name)
        part = self.part(tuple(self.values))
        stands = tuple(
            SystemStandingInColumn(
                one,
                part.cells[one.key][index],
                part.ranks[one.key][index],
                len(self.names) - 3,
                part.best[one.key][index],
                len(self.names) - 3,
            )
            for one in self.columns
        )
        board = self.board
        return SystemProfile(
            board.id,
            board.title,
            board.stamp,
            board.systems[index],
            "cosine(made:1)",
            stands,
            ("Retrieval",),
            ("Overall",),
            (),
        )


def _of(cell: BoardCell) -> float:
    return cell.value or 0.0


def _columns(datasets: int, hostile: bool) -> tuple[BoardColumn, ...]:
    made = [BoardColumn("overall", "Overall", "overall", "", "", "overall", "", 1.0, 3, True, 3000, True)]
    made += [BoardColumn(task, task.capitalize(), task, "", "", task, "", 1.0, 3, True, 600, True) for task in TASKS]
    for task in TASKS:
        for i in range(datasets):
            name = HOSTILE if hostile and i == 0 else f"data{i + 1}"
            title = f"{task.capitalize()} · {name}"
            made.append(
                BoardColumn(
                    f"{task}/{name}", title, task, name, LANGS[i % len(LANGS)], task, "", 1.0, 3, True, 200, False
                )
            )
    return tuple(made)


def _names(systems: int, hostile: bool) -> list[str]:
    fixed = [HOSTILE if hostile else "cedar-api", "iris-api", "random"]
    names = ["bm25", "jaccard", "st:some-organisation/aster-embed-multilingual-large"]
    i = 0
    while len(names) + len(fixed) < systems:
        word, end = _WORDS[i % len(_WORDS)], _ENDS[(i // len(_WORDS)) % len(_ENDS)]
        names.append(f"{word}-{end}" + (f"-{i // 80}" if i >= 80 else ""))
        i += 1
    if hostile:
        names[2] = HOSTILE + "2"
    return names + fixed
