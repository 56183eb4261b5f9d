"""The tables of PTEB's page: scores and drops side by side, stability of the order, quality of the paraphrases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from statistics import fmean
from typing import Any

from markupsafe import Markup

from embassay.document.blocks import STEPS, LabelledTableRow, Table, make_result_cell
from embassay.document.marks import (
    CLASSES,
    LinearScale,
    draw_difference_mark,
    fit_axis_scale,
    format_percent_position,
    name_grid_class,
)
from embassay.document.plots import PlotAxis, PlotPoint, draw_scatter_plot
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import POINTS
from embassay.protocols.pteb.drops import parse_source_from_variant
from embassay.records import ResultRow
from embassay.report.board import TOP, BoardRow, SystemBoard
from embassay.report.pteb.conclusions import DELTA, ParaphraseLoss, ParaphraseLosses
from embassay.report.record import APART, OVERALL, RunRecord


@dataclass(frozen=True)
class ParaphraseLossRow:
    """A system with its losses, one per column; `is_more` beyond the first twelve."""

    row: BoardRow
    losses: tuple[ParaphraseLoss, ...]
    is_more: bool


@dataclass(frozen=True)
class ParaphraseLossTable:
    """A table; its title names what the columns are; of several the first is their mean."""

    title: str
    id: str
    columns: tuple[str, ...]
    rows: tuple[ParaphraseLossRow, ...]
    ranked: bool
    """Whether its first column is the score that the board ranks by."""


def make_paraphrase_loss_tables(losses: ParaphraseLosses) -> tuple[ParaphraseLossTable, ...]:
    """One table over the tasks, and one for each task of several datasets."""
    tasks, record = losses.board.tasks, losses.record
    tables = []
    if len(tasks) > 1:
        rows = [
            (row, [losses.find_overall_loss(row), *(losses.find_task_loss(row, task) for task in tasks)])
            for row in losses.rows
        ]
        titles = ["Mean of tasks", *(task.short for task in tasks)]
        tables.append(_make_paraphrase_loss_table("All tasks", "scores", titles, rows, losses.board.has_ranks))
    for task in tasks:
        names = record.datasets(task.name)
        if len(names) == 1 and len(tasks) > 1:
            continue
        mean = ["Mean"] if len(names) > 1 else []
        rows = [
            (
                row,
                [
                    *(losses.find_task_loss(row, task) for _ in mean),
                    *(losses.find_dataset_loss(row, task, name) for name in names),
                ],
            )
            for row in losses.rows
        ]
        ranked = len(tasks) == 1 and losses.board.has_ranks
        tables.append(_make_paraphrase_loss_table(task.title, f"scores-{task.name}", [*mean, *names], rows, ranked))
    return tuple(tables)


def _make_paraphrase_loss_table(
    title: str, name: str, columns: list[str], rows: list[tuple[BoardRow, list[ParaphraseLoss]]], ranked: bool
) -> ParaphraseLossTable:
    contenders = sum(row.system.ranked for row, _ in rows)
    lines = (
        ParaphraseLossRow(row, tuple(found), contenders > TOP and TOP <= i < contenders)
        for i, (row, found) in enumerate(rows)
    )
    return ParaphraseLossTable(title, name, tuple(columns), tuple(lines), ranked)


def change_by_source_table(losses: ParaphraseLosses) -> Table | None:
    """The change at the leading level by source (paraphraser, prompt); None for one source."""
    record, board = losses.record, losses.board
    sources = record.paraphraser_entries
    if len(sources) < 2:
        return None
    tables = []
    for row in losses.rows:
        lines = [record.find(board.lead, row.system.name, DELTA, variant=source.get("label", "")) for source in sources]
        tables.append(
            LabelledTableRow(
                row.label, tuple(make_result_cell(result, POINTS, signed=True) for result in lines), row.system.kind
            )
        )
    # Where prompts alone differ, their names say all.
    titles = tuple(
        label.removeprefix("prompt=") if (label := source.get("label", "")).startswith("prompt=") else source["name"]
        for source in sources
    )
    return Table("by-source", "Change by source, points", "System", titles, tuple(tables))


@dataclass(frozen=True)
class RankShift:
    """A system: its place before and after, the places between which 95% of the resamples lie, and how often it
    stands above each other system."""

    row: BoardRow
    before: int
    after: int
    range: str
    beats: tuple[tuple[str, int, float | None], ...]
    """Text, step of the heat and exact share, one per system of the scope."""


@dataclass(frozen=True)
class RankStabilityTable:
    """The table of rank stability in one scope."""

    title: str
    id: str
    said: str
    rows: tuple[RankShift, ...]


def rank_stability_tables(record: RunRecord, board: SystemBoard) -> tuple[RankStabilityTable, ...]:
    """The table of the leading scope and, beside it, of the systems that are ranked by themselves."""
    scopes: Mapping[str, Any] = record.compared.get("rank_stability", {})
    titles = {OVERALL: "All tasks"} | {task.name: task.title for task in board.tasks}
    titles |= {name + APART: f"{title}, classical metrics" for name, title in titles.items()}
    return tuple(
        _make_stability_table(board, titles.get(name, name), name, scopes[name])
        for name in (board.lead, board.lead + APART)
        if name in scopes and not scopes[name].get("reason")
    )


def describe_order_agreement_by_scope(record: RunRecord, board: SystemBoard) -> tuple[tuple[str, str], ...]:
    """What is said of the order on every other scope, with its title."""
    scopes: Mapping[str, Any] = record.compared.get("rank_stability", {})
    titles = {task.name: task.title for task in board.tasks if task.name != board.lead}
    found = ((title, _say_kendall_tau(scopes.get(name, {}))) for name, title in titles.items())
    return tuple((title, said) for title, said in found if said)


def _make_stability_table(board: SystemBoard, title: str, name: str, plain: Mapping[str, Any]) -> RankStabilityTable:
    systems: Sequence[str] = plain["systems"]
    ranges = zip(plain["rank_low"], plain["rank_high"], strict=True) if plain["rank_low"] else None
    words = list(starmap(numbers.format_rank_range, ranges)) if ranges else ["no interval"] * len(systems)
    beats = plain["beats"] or [()] * len(systems)
    rows = (
        RankShift(
            board.row(system), plain["original_rank"][i], plain["rank"][i], words[i],
            tuple(_format_share_cell(value) for value in beats[i]),
        )
        for i, system in enumerate(systems)
    )  # fmt: skip
    return RankStabilityTable(title, f"stability-{name.replace(':', '-')}", _say_kendall_tau(plain), tuple(rows))


def _format_share_cell(value: float | None) -> tuple[str, int, float | None]:
    if value is None:
        return numbers.NONE, 0, None
    return numbers.format_percent(value), min(STEPS, 1 + int(value * STEPS)), value


def _say_kendall_tau(plain: Mapping[str, Any]) -> str:
    """Kendall's tau-b in words, as far as it is defined."""
    parts = []
    if plain.get("tau_original") is not None:
        low, high = plain.get("tau_low"), plain.get("tau_high")
        ends = "" if low is None or high is None else f" (95% interval {numbers.format_interval(low, high, 2)})"
        parts.append(f"original and paraphrased scores: {numbers.format_score(plain['tau_original'], 2)}{ends}")
    for key, between in (("tau_runs", "two runs"), ("tau_sources", "two sources")):
        if plain.get(key) is not None:
            least = numbers.format_score(plain[f"{key}_min"], 2)
            parts.append(f"{between}: {numbers.format_score(plain[key], 2)} on average, minimum {least}")
    return f"Kendall’s τ-b between {'; '.join(parts)}." if parts else ""


TASK = "paraphrases"
REJECTED = "rejected:"
SHARES = {"copied": "Copies", "failed": "Not usable"}


@dataclass(frozen=True)
class MeanAcrossRuns:
    """A mean over runs as text, with the least and the most of one run; `exact` is for sorting."""

    text: str
    span: str = ""
    exact: float | None = None


@dataclass(frozen=True)
class ParaphraseQuality:
    """The paraphrases of one dataset by one source; `rejected` says why answers were not taken, most frequent first."""

    dataset: str
    source: str
    paraphraser: str
    texts: int
    runs: int
    figures: tuple[MeanAcrossRuns, ...]
    rejected: str


HEADINGS = ("Edit distance", "Length ratio", "Copies", "Not usable", "Retries per text")
_MEASURES = ("edit_distance", "length_ratio", "copied", "failed", "retries")


def list_paraphrase_quality_by_dataset(record: RunRecord) -> tuple[ParaphraseQuality, ...]:
    """List the quality of the paraphrases, a line per dataset and source."""
    groups: dict[tuple[str, str, str], dict[str, list[ResultRow]]] = {}
    for (task, dataset, subset, variant, system, measure), row in record.rows.items():
        if task == TASK and not subset and row.value is not None:
            of = groups.setdefault((dataset, parse_source_from_variant(variant), system), {})
            of.setdefault(measure, []).append(row)
    return tuple(_make_paraphrase_quality(*key, measures) for key, measures in groups.items())


def list_outcome_counts_by_source(record: RunRecord) -> tuple[tuple[str, str], ...]:
    """List, by source, how many texts came to what, over all datasets and runs."""
    lines = []
    for source in record.paraphraser_entries:
        counts: dict[str, int] = {}
        for runs in source.get("outcomes", {}).values():
            for outcomes in runs.values():
                for name, count in outcomes.items():
                    counts[name] = counts.get(name, 0) + count
        ordered = sorted(counts.items(), key=lambda pair: -pair[1])
        told = ", ".join(f"{numbers.format_count(count)} {name}" for name, count in ordered)
        if told:
            lines.append((source["name"], told))
    return tuple(lines)


def _make_paraphrase_quality(
    dataset: str, source: str, system: str, measures: Mapping[str, Sequence[ResultRow]]
) -> ParaphraseQuality:
    rows = next(iter(measures.values()))
    rejected = {
        name.removeprefix(REJECTED): fmean(row.value or 0.0 for row in results)
        for name, results in measures.items()
        if name.startswith(REJECTED)
    }
    often = sorted(((share, name) for name, share in rejected.items() if share), reverse=True)
    return ParaphraseQuality(
        dataset, source, system, max(row.n for row in rows), len(rows),
        tuple(_make_mean_quality_across_runs(name, measures.get(name, ())) for name in _MEASURES),
        ", ".join(f"{name} {numbers.format_percent(share, 1)}" for share, name in often)
    )  # fmt: skip


def _make_mean_quality_across_runs(name: str, rows: Sequence[ResultRow]) -> MeanAcrossRuns:
    if not rows:
        return MeanAcrossRuns(numbers.NONE)
    values = [row.value or 0.0 for row in rows]
    printed = [_format_quality(name, value) for value in (fmean(values), min(values), max(values))]
    span = f"{printed[1]}–{printed[2]}" if printed[1] != printed[2] else ""
    return MeanAcrossRuns(printed[0], span, fmean(values))


def _format_quality(name: str, value: float) -> str:
    return numbers.format_percent(value, 1) if name in SHARES else numbers.format_score(value, 2)


@dataclass(frozen=True)
class DumbbellRow:
    """One row of a chart: `name` is the dataset and `sub` its task; the other way round where there is one dataset."""

    name: str
    sub: str
    loss: ParaphraseLoss
    mark: Markup


@dataclass(frozen=True)
class SystemDropDumbbellChart:
    """The chart of one system, which its title names; rows without a drop stand last. Of `several` datasets each row
    says the task beside its dataset; the only one is not repeated."""

    title: str
    id: str
    row: BoardRow
    scale: LinearScale
    rows: tuple[DumbbellRow, ...]
    several: bool = True


def align_dumbbells_by_dataset(
    charts: Sequence[SystemDropDumbbellChart],
) -> tuple[tuple[DumbbellRow, tuple[DumbbellRow | None, ...]], ...]:
    """A row per dataset of the first chart, in its order, with that of every chart; None where one has it not."""
    by_row = [{(row.name, row.sub): row for row in chart.rows} for chart in charts]
    keys = dict.fromkeys(key for rows in by_row for key in rows)
    return tuple(
        (next(rows[key] for rows in by_row if key in rows), tuple(rows.get(key) for rows in by_row)) for key in keys
    )


def loss_dumbbell_charts(losses: ParaphraseLosses) -> tuple[SystemDropDumbbellChart, ...]:
    """A chart per ranked system, in the order of the board, each on its own scale."""
    rows = [row for row in losses.rows if row.system.ranked]
    lost = {row.system.name: _list_dataset_losses_of_system(losses, row) for row in rows}
    several = len({loss.dataset for of in lost.values() for loss in of}) > 1
    return tuple(
        _make_paraphrase_loss_dumbbell_chart(row, lost[row.system.name], several=several)
        for row in rows
        if lost[row.system.name]
    )


def _make_paraphrase_loss_dumbbell_chart(
    row: BoardRow, lost: list[ParaphraseLoss], *, several: bool
) -> SystemDropDumbbellChart:
    values = [value for loss in lost for value in _collect_loss_values(loss)]
    scale = fit_axis_scale(values, within=(-1.0, 1.0), most=5, factor=POINTS.factor)
    ordered = sorted(lost, key=_loss_sort_key)
    drawn = tuple(_make_loss_dumbbell_row(loss, scale, several=several) for loss in ordered)
    return SystemDropDumbbellChart(row.label, f"drops-{row.system.index}", row, scale, drawn, several=several)


def draw_loss_dumbbell(loss: ParaphraseLoss, scale: LinearScale) -> Markup:
    """Draw a paraphrase loss as a dumbbell: the original score, the mean, and every run.

    Line and ticks are one path in a drawing that stretches (its strokes do not).
    """
    before, after = loss.before.value, loss.after.value
    path = "".join(f"M{scale.at(run):.1f} 1v14" for run in loss.runs)
    if before is not None and after is not None:
        path = f"M{scale.at(before):.1f} 8H{scale.at(after):.1f}{path}"
    circle = (
        "" if before is None else f'<circle class="w" cx="{format_percent_position(scale.at(before))}" cy="8" r="5"/>'
    )
    return Markup(
        f'<svg class="iv {name_grid_class(scale)} k{CLASSES[loss.row.system.kind]}" aria-hidden="true">'
        f'<svg viewBox="0 0 100 16" preserveAspectRatio="none"><path d="{path}"/></svg>{circle}</svg>'
    )


def _list_dataset_losses_of_system(losses: ParaphraseLosses, row: BoardRow) -> list[ParaphraseLoss]:
    return [
        losses.find_dataset_loss(row, task, dataset)
        for task in losses.board.tasks
        for dataset in losses.record.datasets(task.name)
    ]


def _make_loss_dumbbell_row(loss: ParaphraseLoss, scale: LinearScale, *, several: bool) -> DumbbellRow:
    task = loss.task.short if loss.task else ""
    names = (loss.dataset, task) if several else (task, loss.dataset)
    return DumbbellRow(*names, loss, draw_loss_dumbbell(loss, scale))


def _collect_loss_values(loss: ParaphraseLoss) -> Sequence[float]:
    values = (loss.before.value, loss.after.value, *loss.runs)
    return [value for value in values if value is not None]


def _loss_sort_key(loss: ParaphraseLoss) -> tuple[bool, float]:
    return loss.drop is None, loss.drop or 0.0


ANALYSES = (("averaged", "averaged over runs"), ("pooled", "every run counted separately (optimistic)"))


@dataclass(frozen=True)
class SystemShiftFromBaseline:
    """One system by one analysis. `shift` is the system less the baseline: negative = the baseline is better."""

    row: BoardRow
    analysis: str
    shift: float
    low: float | None
    high: float | None
    p: float
    n: int
    method: str
    sure: bool
    mark: Markup

    @property
    def interval(self) -> str:
        """The 95% interval in points; empty where the analysis has none."""
        return "" if self.low is None or self.high is None else POINTS.interval(self.low, self.high)

    @property
    def exact(self) -> str:
        """The shift in points, and its interval, for CSV."""
        ends = (self.shift, self.low, self.high)
        return ",".join(f"{100 * end:.6g}" for end in ends if end is not None)


@dataclass(frozen=True)
class BaselineDifferencePlot:
    """A plot of the systems' differences to the baseline in one scope, and who is missing why."""

    title: str
    id: str
    baseline: BoardRow
    datasets: int
    scale: LinearScale
    rows: tuple[SystemShiftFromBaseline, ...]
    missing: tuple[tuple[BoardRow, str], ...]


def baseline_shift_plots(record: RunRecord, board: SystemBoard) -> tuple[BaselineDifferencePlot, ...]:
    """Plot the systems' shifts from the baselines, a plot per scope, the leading scope first."""
    scopes: Mapping[str, Any] = record.compared.get("baseline", {}).get("scopes", {})
    titles = {OVERALL: "All tasks"} | {task.name: task.title for task in board.tasks}
    titles |= {name + APART: f"{title}, classical metrics" for name, title in titles.items()}
    names = sorted(scopes, key=lambda name: name != board.lead)
    plots = [
        _make_difference_to_baseline_plot(record, board, titles.get(name, name), name, scopes[name]) for name in names
    ]
    shown = [plot for plot in plots if plot is not None]
    return tuple([plot for plot in shown if plot.datasets > 1] or shown[:1])


def _make_difference_to_baseline_plot(
    record: RunRecord, board: SystemBoard, title: str, name: str, plain: Mapping[str, Any]
) -> BaselineDifferencePlot | None:
    if plain.get("reason") or not plain.get("systems"):
        return None
    tested = [
        (board.row(system["system"]), key, words, system[key])
        for system in plain["systems"]
        for key, words in ANALYSES
        if system.get(key)
    ]
    edges = [
        -end
        for *_, contrast in tested
        for end in (contrast["shift"], contrast["ci_low"], contrast["ci_high"])
        if end is not None
    ]
    scale = fit_axis_scale([*edges, 0.0], within=None, factor=POINTS.factor)
    missing = tuple((board.row(row["system"]), row["reason"]) for row in plain["systems"] if row.get("reason"))
    rows = tuple(
        _make_system_baseline_difference(record, row, words, contrast, scale) for row, _, words, contrast in tested
    )
    place = name.replace(":", "-")
    return BaselineDifferencePlot(
        title, f"baseline-{place}", board.row(plain["baseline"]), len(plain["datasets"]), scale, rows, missing
    )


def _make_system_baseline_difference(
    record: RunRecord, row: BoardRow, words: str, contrast: Mapping[str, Any], scale: LinearScale
) -> SystemShiftFromBaseline:
    # The protocol's shift is baseline less system; here, as in every other plot, it is system less baseline.
    shift = -contrast["shift"]
    low, high = (None if contrast[end] is None else -contrast[end] for end in ("ci_high", "ci_low"))
    ends = (low, high) if low is not None and high is not None else (None, None)
    mark = draw_difference_mark(ends[0], shift, ends[1], row.system.kind, scale)
    sure = contrast["p_holm"] < record.alpha
    return SystemShiftFromBaseline(
        row, words, shift, ends[0], ends[1], contrast["p_holm"], contrast["n"], contrast["method"], sure, mark
    )


FEWEST, FEWEST_DISTANCES = 6, 3


@dataclass(frozen=True)
class ScoreDropChart:
    """A chart of score drops, and one sentence that says what it shows."""

    svg: Markup
    summary: str
    n: int


def plot_change_by_original_score(losses: ParaphraseLosses) -> ScoreDropChart | None:
    """Plot the change of score against the original score; None for under six points."""
    points = [
        loss
        for row in losses.rows
        if row.system.ranked
        for task in losses.board.tasks
        for dataset in losses.record.datasets(task.name)
        if (loss := losses.find_dataset_loss(row, task, dataset)).drop is not None and loss.before.value is not None
    ]
    if len(points) < FEWEST:
        return None
    x = fit_axis_scale([loss.before.value or 0.0 for loss in points], within=(-1.0, 1.0), factor=POINTS.factor)
    y = fit_axis_scale([0.0, *(loss.drop or 0.0 for loss in points)], within=None, factor=POINTS.factor)
    svg = draw_scatter_plot(
        [_loss_point(loss) for loss in points],
        PlotAxis(x, "original score, points"),
        PlotAxis(y, "change, points", 0.0),
    )
    across = f"{len(points)} points: original score on the horizontal axis, change from paraphrasing on the vertical."
    return ScoreDropChart(svg, f"{across} {_say_largest_loss(points)}", len(points))


def _say_largest_loss(points: Sequence[ParaphraseLoss]) -> str:
    """Say where most is lost, or that paraphrases cost nobody anything."""
    most = min(points, key=lambda loss: loss.drop or 0.0)
    # The least change is above 0 where every score rises: that is no loss to be the largest.
    drop = most.drop or 0.0
    if drop >= 0:
        return "No score falls."
    return (
        f"The largest loss, {POINTS.format_value_in_text(-drop)} points, is for {most.row.label} on {most.dataset}, "
        f"from {POINTS.format_value_in_text(most.before.value or 0.0)}."
    )


def _loss_point(loss: ParaphraseLoss) -> PlotPoint:
    return PlotPoint(loss.before.value or 0.0, loss.drop or 0.0, loss.row.system.kind)


def plot_change_by_edit_distance(losses: ParaphraseLosses) -> ScoreDropChart | None:
    """Change against the edit distance of the paraphrases, by source; None where under three distances are known."""
    record, board = losses.record, losses.board
    distances = _mean_edit_distances(record)
    if len(set(distances.values())) < FEWEST_DISTANCES:
        return None
    several = len({source for _, source in distances}) > 1
    found = [
        (row, dataset, distance, delta.value)
        for (dataset, source), distance in distances.items()
        for row in losses.rows
        for task in board.tasks
        if row.system.ranked
        and (
            delta := record.find(task.name, row.system.name, DELTA, dataset=dataset, variant=source if several else "")
        )
        and delta.value is not None
    ]
    if len(found) < FEWEST:
        return None
    x = fit_axis_scale([distance for _, _, distance, _ in found])
    y = fit_axis_scale([0.0, *(change for *_, change in found)], within=None, factor=POINTS.factor)
    points = [PlotPoint(distance, change, row.system.kind) for row, _, distance, change in found]
    svg = draw_scatter_plot(points, PlotAxis(x, "edit distance of the paraphrases"), PlotAxis(y, "change, points", 0.0))
    row, dataset, distance, change = min(found, key=lambda point: point[3])
    summary = (
        f"{len(found)} points: edit distance on the horizontal axis, change from paraphrasing on the vertical. The "
        f"lowest, {POINTS.change(change)} points, is for {row.label} on {dataset}, at {distance:.2f}."
    )
    return ScoreDropChart(svg, summary, len(found))


def _mean_edit_distances(record: RunRecord) -> dict[tuple[str, str], float]:
    """The mean edit distance over runs by dataset and source."""
    distances: dict[tuple[str, str], list[float]] = {}
    for (task, dataset, subset, variant, _, measure), row in record.rows.items():
        if (task, measure, subset) == (TASK, "edit_distance", "") and row.value is not None:
            distances.setdefault((dataset, parse_source_from_variant(variant)), []).append(row.value)
    return {place: round(fmean(values), 6) for place, values in distances.items()}
