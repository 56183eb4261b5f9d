"""The columns of a board: what was measured, in the order of a reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module

from embassay.protocols.compare import higher_is_better
from embassay.protocols.numbers import POINTS, unit_of
from embassay.protocols.standings import OVERALL
from embassay.report.tasks import PLACES
from embassay.web.leaderboard.contract import Column
from embassay.web.leaderboard.reading import Place, RunData
from embassay.web.leaderboard.versions import language_of

MOST_SHOWN = 9
"""Columns of the overview: more do not fit a page, and every system's cell of each is sent."""
_DERIVED = ("PROC ", "%PROC ", "PROC@", "%PROC@")
"""Measures of RAG that say another one over again, as a share of what could be reached."""
_COMMANDS = ("score", "sweep", "names", "noise")
_PARTIAL = "mean_of_present"


def columns_of(kind: str, runs: Sequence[RunData]) -> tuple[Column, ...]:
    """Every place of the runs as a column: overall, tasks, then datasets and further measures; `overview` marks those
    shown first."""
    places = [place for place in _places(runs) if place[2] != _PARTIAL]
    keys = _keys(kind, places)
    langs = {
        str(one["name"]): language_of(run, one)
        for run in reversed(runs)
        for one in run.manifest.get("datasets") or ()
    }
    only = len({dataset for _, dataset, _ in places if dataset}) == 1
    made = [_column(kind, place, keys[place], langs, alone=only) for place in places]
    shown = {one.key for one in _overview(kind, made, _with_interval(runs))}
    ordered = sorted(made, key=lambda one: (one.key not in shown, one.task != OVERALL))
    return tuple(replace(one, overview=one.key in shown) for one in ordered)


def place_of(column: Column) -> Place:
    """Where the values of a column are."""
    return column.task, column.dataset, column.measure


@lru_cache(maxsize=8)
def task_names(kind: str) -> Mapping[str, tuple[str, str]]:
    """By task, in their order: what a column is called, and the task's headline measure; empty where no list is."""
    if kind not in PLACES:
        return {}
    return {one.name: (one.short, one.headline) for one in import_module(PLACES[kind]).TASKS}


def _places(runs: Sequence[RunData]) -> list[Place]:
    """All places, tasks in their order, those over datasets before the datasets'. A task of one dataset has its values
    on that until the run ends; its column is there from the beginning."""
    found = dict.fromkeys(place for run in runs for place in run.scores)
    for run in runs:
        names = task_names(run.kind)
        tasks = dict.fromkeys(one.task for one in run.work if one.task in names)
        found |= dict.fromkeys((task, "", names[task][1]) for task in tasks)
        if len(tasks) == len(names) > 0:
            found[OVERALL, "", OVERALL] = None
    order = {
        task: place for place, task in enumerate([OVERALL, *(n for r in runs for n in task_names(r.kind))])
    }
    return sorted(found, key=lambda place: (order.get(place[0], len(order)), place[1] != ""))


def _keys(kind: str, places: Sequence[Place]) -> dict[Place, str]:
    """Short addresses: the measure is named only where it is not the task's headline and others are at its place."""
    headlines = {OVERALL: OVERALL, **{task: headline for task, (_, headline) in task_names(kind).items()}}
    shared = Counter((task, dataset) for task, dataset, _ in places)

    def named(place: Place) -> bool:
        task, dataset, measure = place
        return headlines.get(task) != measure and (task in headlines or shared[task, dataset] > 1)

    return {
        place: "/".join(part for part in (*place[:2], place[2] if named(place) else "") if part)
        for place in places
    }


def _with_interval(runs: Sequence[RunData]) -> frozenset[Place]:
    return frozenset(
        place
        for run in runs
        for place, own in run.scores.items()
        if any(low is not None for _, low, *_ in own.values())
    )


def _overview(kind: str, columns: Sequence[Column], sure: Collection[Place]) -> Sequence[Column]:
    """Overall and the tasks' headlines; where there are none, the first measures that have an interval, as written."""
    names = {OVERALL: OVERALL, **{task: headline for task, (_, headline) in task_names(kind).items()}}
    over = [one for one in columns if not one.dataset and names.get(one.task, one.measure) == one.measure]
    first: dict[str, Column] = {}
    for one in over:
        first.setdefault(one.task, one)
    lost = [one for one in columns if (one.task, one.dataset, one.measure) == (OVERALL, "", "delta")]
    chosen = [*first.values(), *(lost if kind == "pteb" else ())]
    if any(one.task != OVERALL for one in chosen):
        return chosen[:MOST_SHOWN]
    rest = [one for one in columns if one.dataset and not one.measure.startswith(_DERIVED)]
    certain = [one for one in rest if place_of(one) in sure]
    return [*chosen, *(certain or rest)][:MOST_SHOWN]


def _column(kind: str, place: Place, key: str, langs: Mapping[str, str], *, alone: bool) -> Column:
    task, dataset, measure = place
    unit = unit_of(kind)
    return Column(
        key, _title(kind, place, key, alone), task, dataset, langs.get(dataset, ""), measure,
        "points" if unit is POINTS else "", unit.factor, unit.decimals, _more_is_better(measure), 0, False,
    )  # fmt: skip


@lru_cache(maxsize=10_000)
def _more_is_better(measure: str) -> bool:
    """Kept, since a name that no registry knows is first looked for among its neighbours."""
    return higher_is_better(measure)


def _title(kind: str, place: Place, key: str, alone: bool) -> str:
    """Task, dataset and measure, without what goes without saying: the headline measure, and, of a command with one
    task and measures of many names, the task and its only dataset."""
    task, dataset, measure = place
    if task == OVERALL and not dataset:
        return {OVERALL: "Overall", "delta": "Change"}.get(measure, f"Overall · {measure}")
    if kind in _COMMANDS:
        return " · ".join((measure, *([dataset] if dataset and not alone else ())))
    short, headline = task_names(kind).get(task, (_words(task), ""))
    named = key.endswith(f"/{measure}") and measure != headline
    return " · ".join((short, *([dataset] if dataset else ()), *([measure] if named else ())))


def _words(task: str) -> str:
    return task.upper() if task == "sts" else task.replace("_", " ").capitalize()
