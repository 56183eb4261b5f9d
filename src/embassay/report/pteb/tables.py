"""The tables of PTEB's page: scores and drops side by side, stability of the order, quality of the paraphrases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from embassay.document.blocks import Line, Table
from embassay.document.tables import STEPS, entry
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import POINTS
from embassay.protocols.pteb.analysis.drops import source_of
from embassay.records import Result
from embassay.report.board import TOP, Board, Row
from embassay.report.pteb.losses import DELTA, Loss, Losses
from embassay.report.record import APART, OVERALL, Record


@dataclass(frozen=True)
class ScoreRow:
    """A system with its losses, one per column; `is_more` beyond the first twelve."""

    row: Row
    losses: tuple[Loss, ...]
    is_more: bool


@dataclass(frozen=True)
class ScoreTable:
    """A table; its title names what the columns are; of several the first is their mean."""

    title: str
    id: str
    columns: tuple[str, ...]
    rows: tuple[ScoreRow, ...]
    ranked: bool
    """Whether its first column is the score that the board ranks by."""


def score_tables(losses: Losses) -> tuple[ScoreTable, ...]:
    """One table over the tasks, and one for each task of several datasets."""
    tasks, record = losses.board.tasks, losses.record
    made = []
    if len(tasks) > 1:
        rows = [
            (row, [losses.overall(row), *(losses.on_task(row, task) for task in tasks)])
            for row in losses.rows
        ]
        titles = ["Mean of tasks", *(task.short for task in tasks)]
        made.append(_table("All tasks", "scores", titles, rows, losses.board.has_ranks))
    for task in tasks:
        names = record.datasets(task.name)
        if len(names) == 1 and len(tasks) > 1:
            continue
        mean = ["Mean"] if len(names) > 1 else []
        rows = [
            (
                row,
                [
                    *(losses.on_task(row, task) for _ in mean),
                    *(losses.on_dataset(row, task, one) for one in names),
                ],
            )
            for row in losses.rows
        ]
        ranked = len(tasks) == 1 and losses.board.has_ranks
        made.append(_table(task.title, f"scores-{task.name}", [*mean, *names], rows, ranked))
    return tuple(made)


def _table(
    title: str, name: str, columns: list[str], rows: list[tuple[Row, list[Loss]]], ranked: bool
) -> ScoreTable:
    contenders = sum(row.system.ranked for row, _ in rows)
    made = (
        ScoreRow(row, tuple(found), contenders > TOP and TOP <= i < contenders)
        for i, (row, found) in enumerate(rows)
    )
    return ScoreTable(title, name, tuple(columns), tuple(made), ranked)


def source_table(losses: Losses) -> Table | None:
    """The change at the leading level by source (paraphraser, prompt); None for one source."""
    record, board = losses.record, losses.board
    sources = record.manifest.get("paraphrases", {}).get("sources", ())
    if len(sources) < 2:
        return None
    made = []
    for row in losses.rows:
        found = [
            record.find(board.lead, row.system.name, DELTA, variant=one.get("label", "")) for one in sources
        ]
        made.append(Line(row.label, tuple(entry(one, POINTS, signed=True) for one in found), row.system.kind))
    # Where prompts alone differ, their names say all.
    titles = tuple(
        label.removeprefix("prompt=")
        if (label := one.get("label", "")).startswith("prompt=")
        else one["name"]
        for one in sources
    )
    return Table("by-source", "Change by source, points", "System", titles, tuple(made))


@dataclass(frozen=True)
class Held:
    """A system: its place before and after, the places between which 95% of the resamples lie, and how often it
    stands above each other system."""

    row: Row
    before: int
    after: int
    range: str
    beats: tuple[tuple[str, int, float | None], ...]
    """Text, step of the heat and exact share, one per system of the scope."""


@dataclass(frozen=True)
class Stability:
    """One scope."""

    title: str
    id: str
    said: str
    rows: tuple[Held, ...]


def stabilities(record: Record, board: Board) -> tuple[Stability, ...]:
    """The table of the leading scope and, beside it, of the systems that are ranked by themselves."""
    scopes: Mapping[str, Any] = record.compared.get("rank_stability", {})
    titles = {OVERALL: "All tasks"} | {task.name: task.title for task in board.tasks}
    titles |= {name + APART: f"{title}, classical metrics" for name, title in titles.items()}
    return tuple(
        _stability(board, titles.get(name, name), name, scopes[name])
        for name in (board.lead, board.lead + APART)
        if name in scopes and not scopes[name].get("reason")
    )


def orders(record: Record, board: Board) -> tuple[tuple[str, str], ...]:
    """What is said of the order on every other scope, with its title."""
    scopes: Mapping[str, Any] = record.compared.get("rank_stability", {})
    titles = {task.name: task.title for task in board.tasks if task.name != board.lead}
    found = ((title, _said(scopes.get(name, {}))) for name, title in titles.items())
    return tuple((title, said) for title, said in found if said)


def _stability(board: Board, title: str, name: str, plain: Mapping[str, Any]) -> Stability:
    systems: Sequence[str] = plain["systems"]
    ranges = zip(plain["rank_low"], plain["rank_high"], strict=True) if plain["rank_low"] else None
    words = [numbers.rank(low, high) for low, high in ranges] if ranges else ["no interval"] * len(systems)
    beats = plain["beats"] or [()] * len(systems)
    rows = (
        Held(
            board.row(system), plain["original_rank"][i], plain["rank"][i], words[i],
            tuple(_share(value) for value in beats[i]),
        )
        for i, system in enumerate(systems)
    )  # fmt: skip
    return Stability(title, f"stability-{name.replace(':', '-')}", _said(plain), tuple(rows))


def _share(value: float | None) -> tuple[str, int, float | None]:
    if value is None:
        return numbers.NONE, 0, None
    return numbers.percent(value), min(STEPS, 1 + int(value * STEPS)), value


def _said(plain: Mapping[str, Any]) -> str:
    """Kendall's tau-b in words, as far as it is defined."""
    parts = []
    if plain.get("tau_original") is not None:
        low, high = plain.get("tau_low"), plain.get("tau_high")
        ends = "" if low is None or high is None else f" (95% interval {numbers.interval(low, high, 2)})"
        parts.append(f"original and paraphrased scores {numbers.score(plain['tau_original'], 2)}{ends}")
    for key, between in (("tau_runs", "two runs"), ("tau_sources", "two sources")):
        if plain.get(key) is not None:
            least = numbers.score(plain[f"{key}_min"], 2)
            parts.append(f"{between} {numbers.score(plain[key], 2)} on average, {least} at least")
    return f"Kendall’s τ-b between {'; '.join(parts)}." if parts else ""


TASK = "paraphrases"
REJECTED = "rejected:"
SHARES = {"copied": "Copies", "failed": "Not usable"}


@dataclass(frozen=True)
class Figure:
    """A mean over runs as text, with the least and the most of one run; `exact` is for sorting."""

    text: str
    span: str = ""
    exact: float | None = None


@dataclass(frozen=True)
class Quality:
    """The paraphrases of one dataset by one source; `rejected` says why answers were not taken, most frequent first."""

    dataset: str
    source: str
    paraphraser: str
    texts: int
    runs: int
    figures: tuple[Figure, ...]
    rejected: str


HEADINGS = ("Edit distance", "Length ratio", "Copies", "Not usable", "Retries per text")
_MEASURES = ("edit_distance", "length_ratio", "copied", "failed", "retries")


def qualities(record: Record) -> tuple[Quality, ...]:
    """A line per dataset and source."""
    found: dict[tuple[str, str, str], dict[str, list[Result]]] = {}
    for (task, dataset, subset, variant, system, measure), row in record.rows.items():
        if task == TASK and not subset and row.value is not None:
            of = found.setdefault((dataset, source_of(variant), system), {})
            of.setdefault(measure, []).append(row)
    return tuple(_quality(*key, measures) for key, measures in found.items())


def outcome_lines(record: Record) -> tuple[tuple[str, str], ...]:
    """Of each source, how many texts came to what, over all datasets and runs."""
    lines = []
    for source in record.manifest.get("paraphrases", {}).get("sources", ()):
        counts: dict[str, int] = {}
        for runs in source.get("outcomes", {}).values():
            for outcomes in runs.values():
                for name, count in outcomes.items():
                    counts[name] = counts.get(name, 0) + count
        ordered = sorted(counts.items(), key=lambda one: -one[1])
        told = ", ".join(f"{numbers.count(count)} {name}" for name, count in ordered)
        if told:
            lines.append((source["name"], told))
    return tuple(lines)


def _quality(dataset: str, source: str, system: str, measures: Mapping[str, Sequence[Result]]) -> Quality:
    rows = next(iter(measures.values()))
    rejected = {
        name.removeprefix(REJECTED): fmean(row.value or 0.0 for row in found)
        for name, found in measures.items()
        if name.startswith(REJECTED)
    }
    often = sorted(((share, name) for name, share in rejected.items() if share), reverse=True)
    return Quality(
        dataset, source, system, max(row.n for row in rows), len(rows),
        tuple(_figure(name, measures.get(name, ())) for name in _MEASURES),
        ", ".join(f"{name} {numbers.percent(share, 1)}" for share, name in often),
    )  # fmt: skip


def _figure(name: str, rows: Sequence[Result]) -> Figure:
    if not rows:
        return Figure(numbers.NONE)
    values = [row.value or 0.0 for row in rows]
    printed = [_printed(name, value) for value in (fmean(values), min(values), max(values))]
    span = f"{printed[1]}–{printed[2]}" if printed[1] != printed[2] else ""
    return Figure(printed[0], span, fmean(values))


def _printed(name: str, value: float) -> str:
    return numbers.percent(value, 1) if name in SHARES else numbers.score(value, 2)
