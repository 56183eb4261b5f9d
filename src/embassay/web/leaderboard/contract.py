"""What the server tells: the records behind every page and every JSON answer, and how pages are called.

Pages are made by `embassay.web.leaderboard.page`, which gives these functions and a folder `page/static/`:

- `render(board: Board | None, boards: Boards, *, base: str) -> str`: the page of a board; `board` is None where the
  folder has none yet.
- `render_overview(newest: Sequence[Board], boards: Boards, *, base: str) -> str`: the page of a folder with several.
- `render_card(card: SystemProfile, boards: Boards, *, base: str) -> str`: the page of one system.
- `render_error(status: int, title: str, text: str, *, base: str) -> str`: 404 and the like, without a record.

`base` is what stands before every address, all of them relative, so that a page works below any prefix: `""` for the
page at `/`, `"../../"` for `/b/ID/` and `/b/ID/system` (where `ID` is of letters, digits and dashes). A page has no
inline script or style (the policy is `default-src 'none'`; scripts, styles, images and fetches from 'self'), no nonce,
and the same record gives the same bytes: its ETag is made of them. A block of `<script type="application/json">` is
data and allowed. The addresses, after `base`:

    b/ID/                                    page of a board            (?name=... never; state is in the hash)
    b/ID/system?name=NAME                    page of a system
    static/FILE                              files of page/static/
    runs/RUN/report.html                     the report of a run, where `BoardSystemRow.report` or `Run.report` says so
    api/boards                               Boards
    api/boards/ID                            Board, with the cells of its overview columns only
    api/boards/ID/cells?column=KEY&column=.. BoardPart: the same for other columns, 40 at most (the filters use it)
    api/boards/ID/changes?since=STAMP        Changes since a board with this `stamp`; 12 KB zipped at most
    api/boards/ID/compare?a=NAME&b=NAME      SystemComparison
    api/boards/ID/system?name=NAME           SystemProfile
    api/boards/ID/download.csv .tex .json    the whole board in full precision
    health                                   {"status": "ok"}

Numbers are raw (0.8142), printed times `factor` with `decimals`. What is not there is null, with a reason beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, NamedTuple

Status = Literal["live", "stale", "done"]
"""`live`: a run of it is going on. `stale`: one says so, but nothing was heard of it for long. `done`: none is."""
State = Literal["done", "partial", "running", "failed", "not run", "undefined", "none"]
"""Of a cell. `none`: the column does not exist for this system (another method, another data set)."""


class BoardCell(NamedTuple):
    """A system in a column: `[value, low, high, n, state, reason]`."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    state: State
    reason: str


@dataclass(frozen=True)
class BrokenRunFolder:
    """A folder that looks like a run and cannot be shown; `name` is relative to the folder served."""

    name: str
    reason: str


@dataclass(frozen=True)
class ListedBoard:
    """A board in the list. `newer` is the board of the same protocol on the newest version of its data, null where this
    is it; `differs` says in what this version is another. `done` and `cells` count the cells of its runs."""

    id: str
    title: str
    protocol: str
    version: str
    status: Status
    updated: str
    systems: int
    results: int
    runs: int
    newer: str | None
    done: int = 0
    cells: int = 0
    differs: str = ""


@dataclass(frozen=True)
class BoardList:
    """All boards of the folder, newest first. `folder` is its name, never its path; `generated` is when it was read."""

    folder: str
    generated: str
    boards: tuple[ListedBoard, ...]
    broken: tuple[BrokenRunFolder, ...] = ()


@dataclass(frozen=True)
class BoardDataset:
    """A dataset of the board's version."""

    name: str
    lang: str
    n: int
    fingerprint: str


@dataclass(frozen=True)
class ListedRun:
    """A run that stands behind the board. `name` is its folder, relative; `report` its address after `base` or null;
    `status` is `live`, `stale`, `done`."""

    name: str
    status: Status
    updated: str
    done: int
    cells: int
    report: str | None = None


@dataclass(frozen=True)
class BoardColumn:
    """A measure on a task and dataset (`dataset` empty: over all). `overview`: shown before any filter; of these the
    board's own record has the cells. `n` is the largest of its cells, `reason` why it has no ranks."""

    key: str
    title: str
    task: str
    dataset: str
    lang: str
    measure: str
    unit: str
    factor: float
    decimals: int
    higher_is_better: bool
    n: int
    overview: bool
    reason: str = ""
    people: str = ""
    """How well people agree on this dataset, as a sentence; empty where nobody annotated it."""
    trust: str = ""
    """How far a score beside theirs can be relied on: `high`, `medium`, `low`; empty as above."""
    parts: tuple[tuple[str, str, str], ...] = ()
    """Of a mean over some datasets alone, those on which people agree well: the task, dataset and measure of each."""
    of: str = ""
    """Of a share of people's score, the measure that it is a share of: it has neither interval nor ranks of its own."""


@dataclass(frozen=True)
class SystemFacts:
    """What is known of a system apart from scores; null where it is not. Prices in US dollars; `seconds` is the time of
    its cells of this board. Memory in MB: of its weights, of the vectors of a million texts (32 bits a number), of a
    stack's index."""

    dims: int | None = None
    max_tokens: int | None = None
    parameters: int | None = None
    usd_per_million_tokens: float | None = None
    usd_per_thousand_queries: float | None = None
    p95_ms: float | None = None
    seconds: float | None = None
    texts_per_second: float | None = None
    licence: str = ""
    summary: str = ""
    weights_mb: float | None = None
    vectors_mb: float | None = None
    index_mb: float | None = None
    last_check: str = ""
    """What `embassay watch` last said of it, and when; empty where nobody watches it."""


@dataclass(frozen=True)
class BoardSystemRow:
    """A system of the board; rows are ordered by the lead column, ranked ones first, then those ranked apart (`group`
    is `classical`), incomplete ones (`note` says what is missing), references. `index` is the place in this order, and
    in every list of the record; between two stamps of a board only names are the same.

    `state` is that of the whole row: `done`, `running`, `partial` (a cell failed or is not there). `run` is the folder
    whose values count, `report` the address of its report after `base`; `others` are further runs of the same version
    that have it, newest first.
    """

    index: int
    name: str
    label: str
    kind: str
    group: str
    ranked: bool
    state: State
    note: str
    run: str
    report: str | None
    others: tuple[str, ...]
    facts: SystemFacts


@dataclass(frozen=True)
class BoardVerdict:
    """The verdict of a board: the finding as a sentence, and what goes with it."""

    title: str
    lede: str


@dataclass(frozen=True)
class BoardColumnData:
    """Columns with all that is known at them, each a list with an entry per system of the board.

    `ranks`: `[low, high]`, null for what is not ranked (ranks are within a `group`). `best`: the share of resamples in
    which the system is ahead of its group. `top`: per column the indices of the first of the ranked group and of all
    that no test tells apart from it: the ones in bold. `alike`: per column and system the indices of those that no
    test tells apart from it, itself left out; null for a system without tests.
    """

    stamp: str
    cells: Mapping[str, tuple[BoardCell, ...]]
    ranks: Mapping[str, tuple[tuple[int, int] | None, ...]]
    best: Mapping[str, tuple[float | None, ...]]
    top: Mapping[str, tuple[int, ...]]
    alike: Mapping[str, tuple[tuple[int, ...] | None, ...]]


@dataclass(frozen=True)
class Leaderboard:
    """A comparable table: one protocol on one version of the data. `cells`, `ranks`, `best` and `top` are those of
    `BoardColumnData` for the overview columns; `alike` is given for the lead column only. `stamp` changes when anything
    here does.
    """

    id: str
    title: str
    protocol: str
    version: str
    status: Status
    updated: str
    stamp: str
    newer: str | None
    verdict: BoardVerdict
    care: tuple[str, ...]
    data: tuple[BoardDataset, ...]
    runs: tuple[ListedRun, ...]
    lead: str
    columns: tuple[BoardColumn, ...]
    systems: tuple[BoardSystemRow, ...]
    cells: Mapping[str, tuple[BoardCell, ...]]
    ranks: Mapping[str, tuple[tuple[int, int] | None, ...]]
    best: Mapping[str, tuple[float | None, ...]]
    top: Mapping[str, tuple[int, ...]]
    alike: Mapping[str, tuple[tuple[int, ...] | None, ...]]
    older: tuple[str, ...] = ()
    """Boards of the same protocol on other versions of the data, newest first: the history."""
    method: str = ""
    """How ranks were told, for the caption."""

    def ranked(self, key: str) -> int:
        """How many are ranked at a column in the largest group: marks of ranks lie on the scale from 1 to this."""
        ranks = self.ranks.get(key, ())
        counts = Counter(system.group for system, rank in zip(self.systems, ranks, strict=False) if rank)
        return max(counts.values(), default=0)


@dataclass(frozen=True)
class BoardChanges:
    """What is new since a board with the stamp `since`. `whole` says that it is too much for one update (or that the
    server does not know `since`): then the rest is empty, and the page fetches the board again. Without change the
    answer is the same stamp and nothing else. All is by name of system, for places move. `order` are all names in
    their new order. `cells`, `ranks`, `best` hold what differs, `top` and `columns` whole entries where they differ.
    """

    since: str
    stamp: str
    whole: bool
    status: Status
    updated: str
    verdict: BoardVerdict | None = None
    care: tuple[str, ...] | None = None
    order: tuple[str, ...] | None = None
    columns: tuple[BoardColumn, ...] | None = None
    runs: tuple[ListedRun, ...] | None = None
    systems: tuple[BoardSystemRow, ...] = ()
    cells: Mapping[str, Mapping[str, BoardCell]] = field(default_factory=dict)
    ranks: Mapping[str, Mapping[str, tuple[int, int] | None]] = field(default_factory=dict)
    best: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    top: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class SystemDifferenceRow:
    """Value of a less value of b in a column (raw), with its 95% interval and p, corrected by Holm within its
    family (overall alone, parts, datasets). `smallest` is the least true difference that this test finds with 80%
    power. Null with a reason."""

    key: str
    title: str
    task: str
    dataset: str
    measure: str
    unit: str
    factor: float
    decimals: int
    higher_is_better: bool
    value_a: float | None
    value_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    smallest: float | None
    n: int
    reason: str


@dataclass(frozen=True)
class SystemComparison:
    """Two systems side by side, `paired` where the replicates of both come from the same resamples; `reason` says why
    not. `title` is the finding on the lead column."""

    a: str
    b: str
    title: str
    paired: bool
    reason: str
    rows: tuple[SystemDifferenceRow, ...]


@dataclass(frozen=True)
class SystemStandingInColumn:
    """Where a system stands in a column: its cell, its ranks of `of` systems, its chance of being best. Its rank is
    drawn on the scale from 1 to `most`, as on the board."""

    column: BoardColumn
    cell: BoardCell
    rank: tuple[int, int] | None
    of: int
    best: float | None
    most: int


@dataclass(frozen=True)
class OtherBoardStanding:
    """The same system on another board: its value in that board's lead column."""

    board: str
    title: str
    version: str
    column: BoardColumn
    cell: BoardCell
    rank: tuple[int, int] | None
    of: int


@dataclass(frozen=True)
class SystemProfile:
    """A system: who it is, where it stands in every column of the board, where else it is found. `strengths` and
    `weaknesses` are titles of columns in which no system is told to be better, and in which it is told to be worse
    than the best."""

    board: str
    title: str
    stamp: str
    system: BoardSystemRow
    identity: str
    stands: tuple[SystemStandingInColumn, ...]
    strengths: tuple[str, ...]
    weaknesses: tuple[str, ...]
    elsewhere: tuple[OtherBoardStanding, ...]


def convert_record_to_json(record: Any) -> Any:
    """A record as JSON's own types.

    >>> convert_record_to_json(BrokenRunFolder("a/b", "no manifest"))
    {'name': 'a/b', 'reason': 'no manifest'}
    """
    if is_dataclass(record) and not isinstance(record, type):
        return {field.name: convert_record_to_json(getattr(record, field.name)) for field in fields(record)}
    if isinstance(record, Mapping):
        return {key: convert_record_to_json(value) for key, value in record.items()}
    if isinstance(record, tuple | list):
        return [convert_record_to_json(value) for value in record]
    return record
