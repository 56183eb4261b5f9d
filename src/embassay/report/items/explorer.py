"""The data of the Items page, one block of JSON: which items go in, and the worst for readers without script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.kernel import tables as numbers
from embassay.randomness import generator
from embassay.registry import attribute
from embassay.report.board import Board
from embassay.report.items.groups import (
    REPLACED,
    SPANS,
    Excerpts,
    Group,
    Judged,
    Part,
    Source,
    edit_words,
    read_groups,
    shortened,
)
from embassay.report.record import Record
from embassay.report.runs import Run
from embassay.runs.folder import RunFolder

BUDGET = 10_000_000
SHARED = 190_000
"""The budget of a report of several runs: each run has a report of its own with more of its items."""
SHORTEST = 180
"""Characters of a text at most in a report of several runs; that of each run has more."""
MOST = 4_000
FEWEST, LEAST = 20, 5
"""Items that a group has at least, in a report of one run and of several."""
BYTES_PER_VALUE = 5
BYTES_PER_ITEM = 1_500


def rooms(needs: Sequence[tuple[int, int]], budget: int = BUDGET, fewest: int = FEWEST) -> list[int]:
    """How many items of each group fit the page's budget, from (items, values per item) of the groups.

    What a small group does not need is shared by the larger ones. A group never has more than 4,000 items, and
    never fewer than `fewest` unless it has no more.
    """
    costs = [BYTES_PER_ITEM + BYTES_PER_VALUE * values for _, values in needs]
    wanted = [min(items, MOST) for items, _ in needs]
    found, left = [0] * len(needs), budget
    for waiting, i in enumerate(sorted(range(len(needs)), key=lambda i: wanted[i] * costs[i])):
        share = left // (len(needs) - waiting) // costs[i]
        found[i] = min(wanted[i], max(fewest, share))
        left = max(0, left - found[i] * costs[i])
    return found


def kept(group: Group, most: int, seed: int) -> NDArray[np.int64]:
    """Indices of the items that go into the page, in their order.

    All of them if they fit. Else one half the worst (measure by measure in turn, lowest mean over systems
    first), the other half drawn with the seed from the rest.
    """
    n = len(group.ids)
    if n <= most:
        return np.arange(n)
    orders = [np.argsort(means, kind="stable") for means in group.means]
    worst: dict[int, None] = {}
    for place in range(n):
        for order in orders:
            if len(worst) < most // 2:
                worst[int(order[place])] = None
        if len(worst) >= most // 2:
            break
    rest = np.setdiff1d(np.arange(n), np.fromiter(worst, dtype=np.int64))
    rng = generator(seed, "report", group.kind.name, group.dataset)
    drawn = rng.choice(rest, size=most - len(worst), replace=False)
    return np.sort(np.concatenate([np.fromiter(worst, dtype=np.int64), drawn]))


SCALE = 10_000
EXCERPT = 60
FEW_MEASURES = 1
"""Of every group in the table of worst items, in a report of several runs."""
FIRST_FIELDS = ("query", "text", "test", "summary", "first", "source")


@dataclass(frozen=True)
class Worst:
    """The item on which the systems do worst by one measure: the mean of their values there."""

    group: int
    measure: int
    title: str
    measure_title: str
    item: str
    mean: str
    excerpt: str


@dataclass(frozen=True)
class ItemPage:
    """The content of the page: what is left out, the worst items, and the data of the explorer."""

    facts: tuple[str, ...]
    left_out: tuple[str, ...]
    worst: tuple[Worst, ...]
    data: dict[str, Any]


def item_page(record: Record, board: Board) -> ItemPage | None:
    """The page of a record; None when the run kept no items."""
    return items_of((Run(record, board),))


def items_of(runs: Sequence[Run]) -> ItemPage | None:
    """The page of all runs; None when none kept items."""
    found = [(run, group) for run in runs for group in read_groups(run.record) if group.ids]
    if not found:
        return None
    groups = [group for _, group in found]
    seed = runs[0].record.arguments.get("seed") or 0
    excerpts = Excerpts() if len(runs) == 1 else Excerpts(SHORTEST)
    needs = [(len(group.ids), len(group.systems) * len(group.measures)) for group in groups]
    sizes = rooms(needs) if len(runs) == 1 else rooms(needs, SHARED, LEAST)
    chosen = [kept(group, most, seed) for group, most in zip(groups, sizes, strict=True)]
    made = [
        _group(run, group, rows, excerpts, several=len(runs) > 1)
        for (run, group), rows in zip(found, chosen, strict=True)
    ]
    worst = [
        one
        for i, (group, rows) in enumerate(zip(groups, chosen, strict=True))
        for one in _worst(i, group, rows, made[i], excerpts, most=None if len(runs) == 1 else FEW_MEASURES)
    ]
    total = sum(len(group.ids) for group in groups)
    systems = {system.name for group in groups for system in group.systems}
    return ItemPage(
        facts=(numbers.counted(total, "item"), numbers.counted(len(systems), "system")),
        left_out=tuple(_left_out(groups, chosen) if len(runs) == 1 else _left_out_of_several(groups, chosen)),
        worst=tuple(worst),
        data={
            **excerpts.packed(),
            "cut": excerpts.cut,
            "edits": {edit: edit_words(edit) for edit in (*REPLACED, *(one[0] for one in SPANS))},
            "copies": ["", *REPLACED],
            "groups": made,
        },
    )


def _group(
    run: Run, group: Group, rows: NDArray[np.int64], excerpts: Excerpts, *, several: bool
) -> dict[str, Any]:
    """A group as the script reads it."""
    record = run.record
    folder = RunFolder(record.path)
    ids = [group.ids[row] for row in rows.tolist()]
    judged = Judged(folder, group.kind.task, group.dataset)
    return {
        "kind": group.kind.name,
        "title": (f"{run.title}: " if several else "") + f"{group.kind.title}, {group.dataset}",
        "noun": group.kind.noun,
        "lang": group.lang,
        "total": len(group.ids),
        "systems": [system.index for system in group.systems],
        "measures": [{"title": one.title, "edit": one.edit} for one in group.measures],
        "ids": ids,
        "values": [
            [_integers(column) for column in measure] for measure in group.values[:, :, rows].tolist()
        ],
        **_part(group.kind.name)(Source(record, folder, group, ids, judged, excerpts)),
    }


def _part(name: str) -> Callable[[Source], Part]:
    """What makes the part of a kind of item; of SAGE's by the kind's name."""
    module = {"reworded": "pteb.drops", "values": "items.groups"}.get(name, "sage.edits")
    return attribute(f"embassay.report.{module}:{name}")  # type: ignore[no-any-return]


def _integers(column: Sequence[float]) -> list[int | None]:
    """Ten-thousandths, None where missing."""
    return [None if value != value else round(value * SCALE) for value in column]


def _left_out(groups: Sequence[Group], chosen: Sequence[NDArray[np.int64]]) -> list[str]:
    """Which groups are shown in part, and which part."""
    return [
        f"{group.kind.title}, {group.dataset}: {numbers.count(len(rows))} of "
        f"{numbers.counted(len(group.ids), group.kind.noun)}, one half the worst by every measure, "
        "the other half drawn with the seed. All are in items/."
        for group, rows in zip(groups, chosen, strict=True)
        if len(rows) < len(group.ids)
    ]


def _left_out_of_several(groups: Sequence[Group], chosen: Sequence[NDArray[np.int64]]) -> list[str]:
    """The same in one sentence."""
    shown, total = sum(map(len, chosen)), sum(len(group.ids) for group in groups)
    if shown == total:
        return []
    return [
        f"{numbers.count(shown)} of {numbers.counted(total, 'item')} are in this report of several runs: where not "
        "all, one half the worst by every measure, the other half drawn with the seed. The report of each run has "
        "more, its folder items/ all."
    ]


def _worst(
    index: int,
    group: Group,
    rows: NDArray[np.int64],
    made: dict[str, Any],
    excerpts: Excerpts,
    *,
    most: int | None,
) -> list[Worst]:
    """For each of the first `most` measures the item with the lowest mean over systems."""
    found = []
    for m, measure in enumerate(group.measures[:most]):
        means = group.means[m, rows]
        if not np.isfinite(means).any():
            continue
        place = int(np.nanargmin(means))
        found.append(
            Worst(
                index, m, made["title"], measure.title, made["ids"][place],
                numbers.score(float(means[place])), _first_text(made, place, excerpts),
            )
        )  # fmt: skip
    return found


def _first_text(made: dict[str, Any], place: int, excerpts: Excerpts) -> str:
    field = next((name for name in FIRST_FIELDS if name in made["fields"]), None)
    return "" if field is None else shortened(excerpts.texts[made["fields"][field][place]], EXCERPT)
