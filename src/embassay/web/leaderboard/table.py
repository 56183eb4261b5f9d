"""A board before its ranks: the runs of one version joined, its columns in the order of a reader, its cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import starmap
from typing import Any

from embassay.protocols.compare import is_higher_measure_better
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.comparisons import CLASSICAL, OVERALL, REFERENCE
from embassay.protocols.kernel.tables import POINTS, choose_measure_format_of_protocol
from embassay.report.board import PLACES
from embassay.web.leaderboard.contract import BoardCell, BoardColumn, State
from embassay.web.leaderboard.folders import (
    LoadedRunData,
    Place,
    RunFolderCellStatus,
    Score,
    dataset_language,
    digest_comparable_run_settings,
)
from embassay.web.leaderboard.ranking import At, RunStandingsCache, average_standings


@dataclass(frozen=True)
class BoardSystemWithRun:
    """A system and the run that speaks for it; `others` are further runs that have it, newest first. `finished`: the
    run has ended for it and no cell of it is missing."""

    name: str
    run: LoadedRunData
    others: tuple[LoadedRunData, ...]
    finished: bool

    @property
    def described(self) -> Mapping[str, Any]:
        """What the manifest says of it; empty for people, and stacks of a sweep."""
        return self.run.described.get(self.name, {})

    @property
    def cell_statuses_of_system(self) -> tuple[RunFolderCellStatus, ...]:
        """Its cells."""
        return self.run.cells_by_system.get(self.name, ())

    def score(self, place: Place) -> Score | None:
        """The system's score at a place, None where there is none."""
        return self.run.scores.get(place, {}).get(self.name)


def find_board_entrants(runs: Sequence[LoadedRunData]) -> tuple[BoardSystemWithRun, ...]:
    """Every system of the runs, once. The newest run in which it is finished counts, else the newest."""
    newest = sorted(runs, key=lambda run: (run.updated, run.name), reverse=True)
    having: dict[str, list[LoadedRunData]] = {}
    for run in newest:
        for name in run.systems:
            having.setdefault(name, []).append(run)
    return tuple(starmap(_make_entrant, having.items()))


def _make_entrant(name: str, runs: Sequence[LoadedRunData]) -> BoardSystemWithRun:
    done = [run for run in runs if _is_system_finished(run, name)]
    chosen = done[0] if done else runs[0]
    return BoardSystemWithRun(name, chosen, tuple(run for run in runs if run is not chosen), bool(done))


def _is_system_finished(run: LoadedRunData, name: str) -> bool:
    return not run.is_running and all(work.status == "done" for work in run.cells_by_system.get(name, ()))


MOST_SHOWN = 9
"""Columns of the overview: more do not fit a page, and every system's cell of each is sent."""
_DERIVED = ("PROC ", "%PROC ", "PROC@", "%PROC@")
"""Measures of RAG that say another one over again, as a share of what could be reached."""
_COMMANDS = ("score", "sweep", "names", "noise")
_PARTIAL = "mean_of_present"


def make_board_columns(kind: str, runs: Sequence[LoadedRunData]) -> tuple[BoardColumn, ...]:
    """Every place of the runs as a column: overall, tasks, then datasets and further measures; `overview` marks those
    shown first."""
    places = [place for place in _list_task_dataset_measures(runs) if place[2] != _PARTIAL]
    keys = _make_short_place_addresses(kind, places)
    langs = {
        str(dataset["name"]): dataset_language(run, dataset)
        for run in reversed(runs)
        for dataset in run.manifest.get("datasets") or ()
    }
    only = len({dataset for _, dataset, _ in places if dataset}) == 1
    people = {name: people_of for run in reversed(runs) for name, people_of in run.people.items()}
    columns = [
        replace(_make_column(kind, place, keys[place], langs, alone=only), people=words, trust=trust)
        for place in places
        for words, trust in (people.get(place[1], ("", "")),)
    ]
    shown = {column.key for column in _pick_overview_columns(kind, columns, _find_columns_with_score_interval(runs))}
    ordered = sorted(columns, key=lambda column: (column.key not in shown, column.task != OVERALL))
    marked = [replace(column, overview=column.key in shown) for column in ordered]
    first, rest = ([column for column in marked if column.overview is yes] for yes in (True, False))
    return (*first, *_human_score_percent_columns(marked, runs), *rest, *_people_agreed_mean_columns(columns))


HUMAN, SHARE = "Human", "percent_of_human"
"""The row of people in a study's results, and the measure of the columns that hold scores as a share of theirs."""


def _human_score_percent_columns(
    columns: Sequence[BoardColumn], runs: Sequence[LoadedRunData]
) -> Iterator[BoardColumn]:
    """Scores as percent of people's, overall and for every dataset that people have a score on; overall comes first."""
    for column in columns:
        if any(HUMAN in run.scores.get(find_column_task_dataset_measure(column), {}) for run in runs):
            title = "% of people" if column.task == OVERALL else f"{column.title}, % of people"
            yield replace(
                column,
                key=SHARE if column.task == OVERALL else f"{column.key}/{SHARE}",
                title=title,
                measure=SHARE,
                unit="percent",
                factor=100.0,
                decimals=1,
                overview=column.overview and column.task == OVERALL,
                people="",
                trust="",
                of=column.measure,
            )


AGREED = "high_agreement"
"""The key of the means over what people agree on, and their measure."""


def _people_agreed_mean_columns(columns: Sequence[BoardColumn]) -> Iterator[BoardColumn]:
    """The overall score and the tasks' once more, as means over the datasets alone on which people agree well."""
    headlines = {
        column.task: column for column in columns if not column.dataset and not column.measure.startswith(_PARTIAL)
    }
    agreed = [
        column
        for column in columns
        if column.trust == "high" and column.measure == _find_measure_of_task_mean(headlines, column)
    ]
    for task, whole in headlines.items():
        parts = tuple(find_column_task_dataset_measure(column) for column in agreed if task in (OVERALL, column.task))
        if parts:
            yield replace(
                whole, key=AGREED if task == OVERALL else f"{AGREED}/{task}", title=f"{whole.title}, high agreement",
                measure=AGREED, overview=False, parts=parts
            )  # fmt: skip


def _find_measure_of_task_mean(headlines: Mapping[str, BoardColumn], column: BoardColumn) -> str:
    """The measure of a task's mean over its datasets; of a task without one any measure."""
    return headlines[column.task].measure if column.task in headlines else column.measure


def find_column_task_dataset_measure(column: BoardColumn) -> Place:
    """Where the values of a column are."""
    return column.task, column.dataset, column.measure


@lru_cache(maxsize=8)
def list_task_titles_and_measures(kind: str) -> Mapping[str, tuple[str, str]]:
    """By task, in their order: what a column is called, and the task's headline measure; empty where no list is."""
    if kind not in PLACES:
        return {}
    return {task.name: (task.short, task.headline) for task in import_module(PLACES[kind]).TASKS}


def _list_task_dataset_measures(runs: Sequence[LoadedRunData]) -> list[Place]:
    """All places, tasks in their order, those over datasets before the datasets'. A task of one dataset has its values
    on that until the run ends; its column is there from the beginning."""
    places = dict.fromkeys(place for run in runs for place in run.scores)
    for run in runs:
        names = list_task_titles_and_measures(run.kind)
        tasks = dict.fromkeys(work.task for work in run.work if work.task in names)
        places |= dict.fromkeys((task, "", names[task][1]) for task in tasks)
        if len(tasks) == len(names) > 0:
            places[OVERALL, "", OVERALL] = None
    order = {
        task: place
        for place, task in enumerate([OVERALL, *(n for r in runs for n in list_task_titles_and_measures(r.kind))])
    }
    return sorted(places, key=lambda place: (order.get(place[0], len(order)), place[1] != ""))


def _make_short_place_addresses(kind: str, places: Sequence[Place]) -> dict[Place, str]:
    """Short addresses: the measure is named only where it is not the task's headline and others are at its place."""
    headlines = {
        OVERALL: OVERALL,
        **{task: headline for task, (_, headline) in list_task_titles_and_measures(kind).items()},
    }
    shared = Counter((task, dataset) for task, dataset, _ in places)

    def is_measure_needed_in_key(place: Place) -> bool:
        task, dataset, measure = place
        return headlines.get(task) != measure and (task in headlines or shared[task, dataset] > 1)

    return {
        place: "/".join(part for part in (*place[:2], place[2] if is_measure_needed_in_key(place) else "") if part)
        for place in places
    }


def _find_columns_with_score_interval(runs: Sequence[LoadedRunData]) -> frozenset[Place]:
    return frozenset(
        place
        for run in runs
        for place, scores in run.scores.items()
        if any(low is not None for _, low, *_ in scores.values())
    )


def _pick_overview_columns(kind: str, columns: Sequence[BoardColumn], sure: Collection[Place]) -> Sequence[BoardColumn]:
    """Overall and the tasks' headlines; where there are none, the first measures that have an interval, as written."""
    names = {
        OVERALL: OVERALL,
        **{task: headline for task, (_, headline) in list_task_titles_and_measures(kind).items()},
    }
    over = [
        column for column in columns if not column.dataset and names.get(column.task, column.measure) == column.measure
    ]
    first: dict[str, BoardColumn] = {}
    for column in over:
        first.setdefault(column.task, column)
    lost = [column for column in columns if (column.task, column.dataset, column.measure) == (OVERALL, "", "delta")]
    chosen = [*first.values(), *(lost if kind == "pteb" else ())]
    if any(column.task != OVERALL for column in chosen):
        return chosen[:MOST_SHOWN]
    rest = [column for column in columns if column.dataset and not column.measure.startswith(_DERIVED)]
    certain = [column for column in rest if find_column_task_dataset_measure(column) in sure]
    return [*chosen, *(certain or rest)][:MOST_SHOWN]


def _make_column(kind: str, place: Place, key: str, langs: Mapping[str, str], *, alone: bool) -> BoardColumn:
    task, dataset, measure = place
    unit = choose_measure_format_of_protocol(kind)
    return BoardColumn(
        key, _column_title(kind, place, key, alone), task, dataset, langs.get(dataset, ""), measure,
        "points" if unit is POINTS else "", unit.factor, unit.decimals, _is_higher_better(measure), 0, False
    )  # fmt: skip


@lru_cache(maxsize=10_000)
def _is_higher_better(measure: str) -> bool:
    """Kept, since a name that no registry knows is first looked for among its neighbours."""
    return is_higher_measure_better(measure)


def _column_title(kind: str, place: Place, key: str, alone: bool) -> str:
    """Task, dataset and measure, without what goes without saying: the headline measure, and, of a command with one
    task and measures of many names, the task and its only dataset."""
    task, dataset, measure = place
    if task == OVERALL and not dataset:
        return {OVERALL: "Overall", "delta": "Change"}.get(measure, f"Overall · {measure}")
    if kind in _COMMANDS:
        return " · ".join((measure, *([dataset] if dataset and not alone else ())))
    short, headline = list_task_titles_and_measures(kind).get(task, (_title_task(task), ""))
    named = key.endswith(f"/{measure}") and measure != headline
    return " · ".join((short, *([dataset] if dataset else ()), *([measure] if named else ())))


def _title_task(task: str) -> str:
    return task.upper() if task == "sts" else task.replace("_", " ").capitalize()


def make_board_cell(entrant: BoardSystemWithRun, column: BoardColumn) -> BoardCell:
    """The cell of a system in a column."""
    if column.parts:
        return _mean_over_parts_cell(entrant, column)
    if column.of:
        return _human_score_percent_cell(entrant, column)
    place = find_column_task_dataset_measure(column)
    score = entrant.score(place) or _find_score_of_task_with_one_dataset(entrant, place)
    if score is not None:
        value, low, high, n, reason = score
        if value is not None:
            return BoardCell(value, low, high, n, "done", "")
        if not _list_waiting_cells(_find_cells_behind_value(entrant, place)) and not _list_failed_cells(
            _find_cells_behind_value(entrant, place)
        ):
            return BoardCell(None, None, None, n, "undefined", reason or "no value was recorded")
    return _missing_value_cell(entrant, _find_cells_behind_value(entrant, place), place)


def _human_score_percent_cell(entrant: BoardSystemWithRun, column: BoardColumn) -> BoardCell:
    """The score as a share of people's in the same run; none where people scored 0 or below, of which nothing is a
    share."""
    place = column.task, column.dataset, column.of
    whole, people = (
        make_board_cell(entrant, replace(column, measure=column.of, of="")),
        entrant.run.scores.get(place, {}),
    )
    if whole.value is None:
        return whole
    theirs = people[HUMAN][0] if HUMAN in people else None
    if theirs is None or theirs <= 0:
        return _empty_cell("undefined", "no human score to compare with")
    return BoardCell(whole.value / theirs, None, None, whole.n, "done", "")


def _mean_over_parts_cell(entrant: BoardSystemWithRun, column: BoardColumn) -> BoardCell:
    """The mean over the parts; none where one of them has no value."""
    scores = [entrant.score(part) for part in column.parts]
    pairs = [(score[0], score[3]) for score in scores if score is not None and score[0] is not None]
    if len(pairs) < len(scores):
        state: State = "running" if entrant.run.is_running else "partial" if pairs else "none"
        return _empty_cell(state, f"{len(pairs)} of {numbers.format_noun_count(len(scores), 'dataset')}")
    return BoardCell(sum(value for value, _ in pairs) / len(pairs), None, None, sum(n for _, n in pairs), "done", "")


def _find_score_of_task_with_one_dataset(entrant: BoardSystemWithRun, place: Place) -> Score | None:
    """While a run goes on, a task of one dataset has its value there: a mean of one."""
    task, dataset, measure = place
    if dataset or task == OVERALL or not entrant.run.is_running:
        return None
    only = {work.dataset for work in entrant.cell_statuses_of_system if work.task == task}
    return entrant.score((task, only.pop(), measure)) if len(only) == 1 else None


def _find_cells_behind_value(entrant: BoardSystemWithRun, place: Place) -> Sequence[RunFolderCellStatus]:
    """The cells of the run that the value is made of."""
    task, dataset, _ = place
    return [
        work
        for work in entrant.cell_statuses_of_system
        if (task == OVERALL or work.task == task) and (not dataset or work.dataset == dataset)
    ]


def _list_waiting_cells(work: Sequence[RunFolderCellStatus]) -> list[RunFolderCellStatus]:
    return [part for part in work if part.status == "not run"]


def _list_failed_cells(work: Sequence[RunFolderCellStatus]) -> list[RunFolderCellStatus]:
    return [part for part in work if part.status == "failed"]


def _missing_value_cell(entrant: BoardSystemWithRun, work: Sequence[RunFolderCellStatus], place: Place) -> BoardCell:
    """Why there is no value: a failed cell first, then one not done, then that there is nothing to be."""
    failed, waiting = _list_failed_cells(work), _list_waiting_cells(work)
    if failed:
        where = f"{failed[0].task}, {failed[0].dataset}: " if len(work) > 1 else ""
        return _empty_cell("failed", where + (failed[0].reason or "no reason was recorded"))
    if waiting:
        done = f"{numbers.format_count(len(work) - len(waiting))} of {numbers.format_noun_count(len(work), 'cell')}"
        if entrant.run.is_running:
            return _empty_cell("running", done)
        return _empty_cell("partial" if len(waiting) < len(work) else "not run", done)
    if work and entrant.run.is_running:
        return _empty_cell("running", "its cells are done; the mean is computed when the run ends")
    if work and place[0] == OVERALL:
        return _empty_cell("undefined", "no mean over all tasks")
    return _empty_cell("none", "not part of its run")


def _empty_cell(state: State, reason: str) -> BoardCell:
    return BoardCell(None, None, None, 0, state, reason)


PEOPLE = "people"
_ORDER = {"": 0, CLASSICAL: 1, PEOPLE: 2, REFERENCE: 4}
_INCOMPLETE = 3


@dataclass(frozen=True)
class LeaderboardSystemRow:
    """A system in its place: its group, its cells in the overview columns (by key), whether it is complete."""

    entrant: BoardSystemWithRun
    group: str
    kind: str
    cells: Mapping[str, BoardCell]
    complete: bool

    @property
    def name(self) -> str:
        """Whose it is."""
        return self.entrant.name


@dataclass(frozen=True)
class DataVersionRuns:
    """All runs of one version; `runs` are newest first."""

    id: str
    kind: str
    version: str
    runs: tuple[LoadedRunData, ...]

    @cached_property
    def columns(self) -> tuple[BoardColumn, ...]:
        """All columns of the board, those of the overview first."""
        return make_board_columns(self.kind, self.runs)

    @cached_property
    def overview(self) -> tuple[BoardColumn, ...]:
        """The columns shown first."""
        return tuple(column for column in self.columns if column.overview)

    @cached_property
    def entering_systems(self) -> tuple[BoardSystemWithRun, ...]:
        """Every system that enters the board, once."""
        return find_board_entrants(self.runs)

    @cached_property
    def lead(self) -> BoardColumn | None:
        """The column that orders the board: overall where a system has it, else the first that any has; None without
        columns."""
        valued = (
            column
            for column in self.overview
            if any(make_board_cell(entrant, column).value is not None for entrant in self.entering_systems)
        )
        return next(valued, self.overview[0] if self.overview else None)

    def compute_column_standings(self, replicates: RunStandingsCache, columns: Sequence[BoardColumn]) -> At:
        """Standings at some columns, each system's from the run that speaks for it."""
        places = frozenset(
            place for column in columns for place in column.parts or (find_column_task_dataset_measure(column),)
        )
        speaking: dict[str, set[str]] = {}
        for entrant in self.entering_systems:
            speaking.setdefault(entrant.run.name, set()).add(entrant.name)
        plain = {
            (place, system): standing
            for run in self.runs
            if run.name in speaking
            for (place, system), standing in replicates.at(run, places).items()
            if system in speaking[run.name]
        }
        return plain | {
            (find_column_task_dataset_measure(column), entrant.name): average_standings(
                find_column_task_dataset_measure(column), [plain[part, entrant.name] for part in column.parts]
            )
            for column in columns
            for entrant in self.entering_systems
            if column.parts and all((part, entrant.name) in plain for part in column.parts)
        }

    def order_board_systems(self, standings: At) -> tuple[LeaderboardSystemRow, ...]:
        """The systems in their order: ranked ones best first, those ranked apart, people, incomplete ones,
        references."""
        groups = {system: standing.group for (_, system), standing in standings.items()}
        members = [self._make_placed_system(entrant, groups.get(entrant.name)) for entrant in self.entering_systems]
        return tuple(sorted(members, key=self._make_board_system_sort_key))

    def _make_placed_system(self, entrant: BoardSystemWithRun, group: str | None) -> LeaderboardSystemRow:
        cells = {column.key: make_board_cell(entrant, column) for column in self.overview}
        kind = str(entrant.described.get("kind") or ("person" if self.kind == "hume" else "stack"))
        if kind == "reference":
            group = REFERENCE
        elif kind == "person":
            group = PEOPLE
        leads = self.lead is not None and cells[self.lead.key].value is not None
        whole = all(cell.state in ("done", "undefined", "none") for cell in cells.values())
        return LeaderboardSystemRow(entrant, group or "", kind, cells, leads and whole)

    def _make_board_system_sort_key(self, member: LeaderboardSystemRow) -> tuple[int, bool, float, str]:
        value = member.cells[self.lead.key].value if self.lead is not None else None
        place = _ORDER[member.group] if member.complete or member.group == REFERENCE else _INCOMPLETE
        sign = 1.0 if self.lead is not None and self.lead.higher_is_better else -1.0
        return place, value is None, -sign * (value or 0.0), member.name


def join_version_runs(runs: Sequence[LoadedRunData]) -> DataVersionRuns:
    """The runs of one version as one board."""
    newest = sorted(runs, key=lambda run: (run.updated, run.name), reverse=True)
    version, kind = digest_comparable_run_settings(newest[0]), newest[0].kind
    return DataVersionRuns(f"{kind}-{version}", kind, version, tuple(newest))
