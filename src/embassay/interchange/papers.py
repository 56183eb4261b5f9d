"""Runs for papers: tables in LaTeX, figures as SVG and PDF.

Colour and sign mean what they mean in the report: the kind of a system. Nothing is computed here.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from embassay.contracts import Kind
from embassay.errors import UsageError
from embassay.interchange.side_by_side import NAME, NUMBER, draw_texts_with_wordings_figure, read_texts_with_paraphrases
from embassay.interchange.tables import (
    LoadedRunFolder,
    ScoreColumn,
    SystemScoreTable,
    load_runs_in_folders,
    make_wide_score_table,
)
from embassay.limits import read_bounded_file
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import (
    MeasureFormat,
    choose_measure_format_of_protocol,
    escape_latex,
    replace_control_characters,
)
from embassay.records import ResultRow
from embassay.runs.folder import write_file_atomically
from embassay.stats import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["DRAWINGS", "PaperFigure", "TableChartPlan", "make_run_figures", "plot_run_figure"]

WIDEST = 4
"""Columns of values that fit a page; a table with more comes in parts."""


def format_value_with_interval(
    value: float, low: float | None, high: float | None, unit: MeasureFormat, *, bold: bool
) -> str:
    """A value in its unit, with its interval small beside it where there is one."""
    text = escape_latex(unit.text(value))
    text = rf"\textbf{{{text}}}" if bold else text
    return text if low is None or high is None else rf"{text} {{\scriptsize {escape_latex(unit.interval(low, high))}}}"


def write_latex_table(table: SystemScoreTable) -> str:
    r"""The table of a run, in parts where it has many columns; to be read with `\input`, needs booktabs and graphicx.

    The columns over datasets, or all where there are none such. Missing values are n/a, their reasons below; a column
    that nobody has a value in is left out, which is said there too.
    """
    every = table.places_of_mean_columns
    valued = [i for i in every if any(_has_result_value(cells[i]) for cells in table.cells)]
    chosen = valued or [*every]
    empty = [i for i in every if i not in chosen]
    parts = [chosen[i : i + WIDEST] for i in range(0, len(chosen), WIDEST)]
    head = rf"% Made by Embassay from {escape_latex(table.run.name)}, manifest {table.run.manifest_digest}."
    lines = [head, r"% Needs \usepackage{booktabs,graphicx}."]
    for number, places in enumerate(parts, start=1):
        of = f", part {number} of {len(parts)}" if len(parts) > 1 else ""
        lines += [
            "",
            *_iterate_latex_lines_of_table_part(table, places, of, number, empty if number == len(parts) else ()),
        ]
    return "\n".join(lines) + "\n"


def _has_result_value(row: ResultRow | None) -> bool:
    return row is not None and row.value is not None


def _iterate_latex_lines_of_table_part(
    table: SystemScoreTable, places: Sequence[int], of: str, number: int, empty: Sequence[int] = ()
) -> Iterator[str]:
    unit, ranked = choose_measure_format_of_protocol(table.run.protocol_name), any(table.ranks)
    yield from (r"\begin{table}", r"\centering", r"\small", r"\setlength{\tabcolsep}{4pt}")
    yield rf"\caption{{{_write_table_caption(table, unit, of)}}}"
    yield rf"\label{{tab:embassay-{_format_latex_label(table.run.name)}-{number}}}"
    # Only shrunk where it is too wide: a narrow table blown up would have huge letters.
    yield r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    yield rf"\begin{{tabular}}{{{'r' if ranked else ''}l{'r' * len(places)}}}"
    yield r"\toprule"
    yield from _write_column_heads([table.columns[i] for i in places], ["Rank"] if ranked else [])
    group = table.groups[0] if table.groups else 0
    for i, system in enumerate(table.systems):
        if table.groups[i] != group:
            group = table.groups[i]
            yield r"\midrule"
        values = [_format_latex_cell(table.cells[i][j], system in table.first[j], unit) for j in places]
        rank = table.ranks[i]
        place = [escape_latex(numbers.format_rank_range(*rank)) if rank else ""] if ranked else []
        yield " & ".join([*place, escape_latex(system), *values]) + r" \\"
    yield from (r"\bottomrule", r"\end{tabular}}")
    if reasons := [*_list_missing_reasons(table, places), *_describe_empty_columns(table, empty)]:
        yield r"\par\smallskip\footnotesize " + " ".join(reasons)
    yield r"\end{table}"


def _write_column_heads(columns: Sequence[ScoreColumn], before: Sequence[str]) -> Iterator[str]:
    """Write the heads of columns: what each is of, and below it the measure if that differs."""
    titles = [_escape_latex_words(column.title.removesuffix(column.measure) or column.measure) for column in columns]
    yield " & ".join([*before, "System", *titles]) + r" \\"
    measures = [_escape_latex_words(column.measure) if column.measure != column.title else "" for column in columns]
    if any(measures):
        yield " & ".join([*([""] * len(before)), "", *measures]) + r" \\"
    yield r"\midrule"


def _escape_latex_words(name: str) -> str:
    return escape_latex(name.replace("_", " "))


def _write_table_caption(table: SystemScoreTable, unit: MeasureFormat, of: str) -> str:
    sentences = [f"{escape_latex(table.run.title)}{of}."]
    if any(row is not None and row.ci_low is not None for cells in table.cells for row in cells):
        sentences.append(r"Values with 95\% intervals.")
    if unit.factor != 1:
        sentences.append(rf"Values are times {unit.factor:g}.")
    if any(table.ranks):
        sentences.append("Rank: the ranks that the tests allow, among the systems between two horizontal lines.")
    if any(table.first):
        sentences.append("Bold: may be first according to the tests.")
    return " ".join(sentences)


def _format_latex_cell(row: ResultRow | None, best: bool, unit: MeasureFormat) -> str:
    if row is None:
        return "--"
    if row.value is None:
        return "n/a"
    return format_value_with_interval(row.value, row.ci_low, row.ci_high, unit, bold=best)


def _list_missing_reasons(table: SystemScoreTable, places: Sequence[int]) -> Iterator[str]:
    """List why values are missing: each reason once, with whom it is true of."""
    reasons: dict[str, list[str]] = {}
    for system, cells in zip(table.systems, table.cells, strict=True):
        for j in places:
            row = cells[j]
            if row is not None and row.value is None:
                reasons.setdefault(f"{table.columns[j].title}: {row.reason or 'no value'}", []).append(system)
    for reason, systems in reasons.items():
        yield f"{escape_latex(', '.join(systems))}, {escape_latex(reason)}."


def _describe_empty_columns(table: SystemScoreTable, empty: Sequence[int]) -> Iterator[str]:
    """Describe which columns nobody has a value in, each with its first reason."""
    for j in empty:
        reasons = dict.fromkeys(row.reason for cells in table.cells if (row := cells[j]) is not None and row.reason)
        reason = next(iter(reasons), "no value")
        yield f"{_escape_latex_words(table.columns[j].title)} is left out: {escape_latex(reason)}."


def _format_latex_label(text: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text)


WIDE, ROW, MOST_ROWS, MOST_PANELS, MOST_SERIES = 6.0, 0.24, 60, 6, 8
"""Inches of a figure and of a row; rows, panels and lines that one figure shows at most."""
SIGNS: Mapping[str, tuple[str, str, bool]] = {
    "embedding": ("#0B62A8", "o", True),
    "classical": ("#C95B0C", "s", False),
    "llm": ("#0F9676", "^", True),
    "human": ("#561A66", "D", True),
    "reference": ("#566070", "_", True),
}
"""Colour, marker and whether it is filled, by the kind of a system."""
LINES = ("#0B62A8", "#C95B0C", "#0F9676", "#561A66", "#566070", "#7A4D00", "#B3261E", "#1A1F26")
STYLE: dict[Any, Any] = {
    "font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#7C8796",
    "axes.titlesize": 9, "axes.titleweight": "bold", "axes.titlelocation": "left", "legend.frameon": False,
    # The salt makes ids in SVG the same at every export; text stays text in both forms.
    "svg.hashsalt": "embassay", "svg.fonttype": "none", "pdf.fonttype": 42, "font.family": "DejaVu Sans"
}  # fmt: skip
ENDS: Mapping[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "Embassay"},
    "pdf": {"CreationDate": None, "Creator": "Embassay", "Producer": None},
}
"""The forms of a file, and what it says of itself: nothing that changes from day to day."""


@dataclass(frozen=True)
class TableChartPlan:
    """How the table of that name is drawn.

    `intervals`: a row each, called by `names`, a mark at `x` with a bar from `low` to `high`; with `also` (a column,
    its low, its high) a second mark per row, of people. `scatter`: `x` (in logarithms where `is_log`) against `y`.
    `lines`: a line per row over the columns that begin with one of `over`, or all that are numbers.
    """

    table: str
    form: Literal["intervals", "scatter", "lines"]
    title: str
    axis: str
    names: tuple[str, ...]
    x: str = ""
    low: str = ""
    high: str = ""
    y: str = ""
    up: str = ""
    also: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    zero: bool = False
    is_log: bool = False

    @property
    def paper_figure_name(self) -> str:
        """The name of the figure after its paper, such as `pteb_figure7`; empty for one of ours.

        >>> TableChartPlan("judge_by_words", "lines", "PTEB, figure 4: by words", "", ()).paper_figure_name
        'pteb_figure4'
        """
        paper, _, place = self.title.partition(", figure ")
        return f"{paper.lower()}_figure{place.partition(':')[0]}" if place else ""


WITHOUT_SCORES = ("golden", "sweep")
"""Runs whose rows are counts, or too many stacks for a figure."""
POINTS = "points (x 100)"
DRAWINGS = (
    TableChartPlan("sensitivity_similarity_by_variant", "lines", "Similarity as text is added or removed",
        "similarity",
        ("system",), over=("insertion", "removal")),
    TableChartPlan("robustness_by_edit", "lines", "Similarity after each edit", "similarity", ("system",)),
    TableChartPlan("judge_error_by_gold", "lines", "PTEB, figure 3: rating error by gold score",
        "mean absolute error", ("Judge",)),
    TableChartPlan("judge_by_words", "lines", "PTEB, figure 4: Spearman correlation by words per pair",
        POINTS, ("Dataset",)),
    TableChartPlan("rating_distribution", "lines", "PTEB, figure 6: human ratings",
        "number of ratings, or of pairs by mean rating",
        ("lang", "of")),
    TableChartPlan("scores_by_dataset", "intervals", "PTEB, figure 7: change under paraphrase", POINTS,
        ("task", "dataset", "system"), "delta", "delta_low", "delta_high", zero=True),
    TableChartPlan("drop_by_edit_distance", "scatter", "PTEB, figure 8: change against edit distance",
        "mean edit distance", ("system",), "edit_distance", y="delta", up=POINTS),
    TableChartPlan("hteb_profiles", "intervals", "HTEB: axis profiles, change from the original", POINTS,
        ("system", "axis"),
        "change", "low", "high", zero=True),
    TableChartPlan("hume_figure1", "intervals", "HUME, figure 1: overall scores", POINTS, ("system",), "mean",
        "low", "high"),
    TableChartPlan("hume_figure2", "intervals", "HUME, figure 2: models (range) and people by dataset", POINTS,
        ("dataset", "lang"), "median", "min", "max", also=("human", "human_low", "human_high")),
    TableChartPlan("hume_figure3", "intervals", "HUME, figure 3: share of datasets where people win", "percent",
        ("panel", "group", "against"), "win_rate", "low", "high"),
    TableChartPlan("hume_figure4", "intervals", "HUME, figure 4: people minus the best model", POINTS,
        ("dataset", "lang"), "gap", zero=True),
    TableChartPlan("hume_figure5", "intervals", "HUME, figure 5: people minus the median model", POINTS,
        ("dataset", "lang"), "gap", zero=True),
    TableChartPlan("hume_figure6", "intervals", "HUME, figure 6: how hard a dataset is for people", POINTS,
        ("dataset", "lang"), "human", "low", "high"),
    TableChartPlan("hume_figure7", "intervals", "HUME, figure 7: range of the models", POINTS,
        ("dataset", "lang"), "range"),
    TableChartPlan("hume_figure8", "scatter", "HUME, figure 8: agreement and the best model's lead",
        "agreement", ("dataset", "lang"), "agreement", y="best_minus_human", up=POINTS),
    TableChartPlan("rag_frontier", "scatter", "Quality and latency on the frontier", "p50, ms per query",
        ("Encoder", "Reranker"),
        "p50 ms", y="RA-nWG@10", up="RA-nWG@10", is_log=True),
    TableChartPlan("rag_table12", "lines", "Similarity as small talk is added", "similarity",
        ("system", "lang", "wording"),
        over=("level",)),
    TableChartPlan("name_margin_en", "intervals", "Name margin, English", "change", ("system", "condition"),
        "change", "change low", "change high", zero=True)
)  # fmt: skip


@dataclass(frozen=True)
class PaperFigure:
    """A figure by its name, as files by their ends (`svg`, `pdf`); `left` are rows without a value, or past what one
    figure shows."""

    name: str
    files: Mapping[str, bytes]
    rows: int
    left: int

    def save(self, path: Path | str) -> Path:
        """Write it to a file that ends in .svg or .pdf; where it is. UsageError for another end."""
        target = Path(path)
        if (end := target.suffix.lstrip(".")) not in self.files:
            raise UsageError(f"{target} is not a figure file.", mend="Use a name that ends in .svg or .pdf.")
        write_file_atomically(target, self.files[end])
        return target

    def _repr_svg_(self) -> str:
        """In a notebook: the figure."""
        return self.files["svg"].decode("utf-8")


def make_run_figures(run: LoadedRunFolder, only: str = "") -> list[PaperFigure]:
    """The figures that a run has numbers for: `scores`, then those of its tables; with `only` that one.

    UsageError without matplotlib.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        mend = "Install it with: pip install 'embassay[figures]'."
        raise UsageError("Exporting figures needs matplotlib, which is not installed.", mend=mend) from error
    with mpl.rc_context(STYLE):
        scored = only in ("", "scores") and run.kind not in WITHOUT_SCORES
        drawn = [*(_draw_score_panels(run) if scored else ()), *_draw_table_figures(run, only)]
        if only in ("", NAME, NUMBER) and run.kind == "pteb" and (texts := list(read_texts_with_paraphrases(run.path))):
            drawn.append(_render_figure_files(NAME, draw_texts_with_wordings_figure(texts), len(texts), 0))
        return drawn


def plot_run_figure(folder: Path, name: str = "scores") -> PaperFigure:
    """One figure of a run folder. UsageError for one that it has no numbers for, with those there are."""
    run = load_runs_in_folders([folder])[0]
    figures = make_run_figures(run, name)
    if not figures:
        names = ", ".join(drawn.name for drawn in make_run_figures(run)) or "none"
        raise UsageError(f"{folder} has no figure {name!r}.", mend=f"There is {names}.")
    return figures[0]


def _draw_table_figures(run: LoadedRunFolder, only: str) -> Iterator[PaperFigure]:
    for drawing in DRAWINGS:
        path = run.path / "tables" / f"{drawing.table}.csv"
        names = ("", drawing.table, drawing.table.removeprefix("rag_"), drawing.paper_figure_name)
        if only in names and path.is_file():
            rows = list(csv.DictReader(io.StringIO(read_bounded_file(path).decode("utf-8"))))
            yield from _draw_planned_figure(drawing, rows, _map_systems_to_kinds(run))


def _map_systems_to_kinds(run: LoadedRunFolder) -> dict[str, Kind]:
    return {system["name"]: system.get("kind", "embedding") for system in run.manifest.get("systems", ())}


def _draw_score_panels(run: LoadedRunFolder) -> Iterator[PaperFigure]:
    """Draw a panel per task: every system's score with its interval, in the table's order."""
    table = make_wide_score_table(run)
    places = [
        i
        for i in table.places_of_mean_columns
        if any(_has_system_score(table, j, i) for j in range(len(table.systems)))
    ]
    if not places:
        return
    shown = places[:MOST_PANELS]
    height = ROW * min(len(table.systems), MOST_ROWS) + 0.6
    # Two panels a row, rounded up.
    down = -(-len(shown) // 2) if len(shown) > 1 else 1
    figure = _make_panel_figure(height * down, down, 1 if len(shown) == 1 else 2)
    for axes, place in zip(figure.axes, shown, strict=False):
        _draw_score_panel(axes, table, place, _map_systems_to_kinds(run))
    for axes in figure.axes[len(shown) :]:
        axes.remove()
    cells = [(j, i) for i in places for j in range(len(table.systems))]
    rows = sum(_has_system_score(table, j, i) for j, i in cells if i in shown)
    yield _render_figure_files("scores", figure, rows, len(cells) - rows)


def _has_system_score(table: SystemScoreTable, system: int, place: int) -> bool:
    row = table.cells[system][place]
    return row is not None and row.value is not None


def _draw_score_panel(axes: Axes, table: SystemScoreTable, place: int, kinds: Mapping[str, Kind]) -> None:
    unit, column = choose_measure_format_of_protocol(table.run.protocol_name), table.columns[place]
    marks = []
    for j, system in enumerate(table.systems[:MOST_ROWS]):
        row = table.cells[j][place]
        value = None if row is None or row.value is None else row.value * unit.factor
        ends = (None, None) if row is None else (row.ci_low, row.ci_high)
        low, high = (None if end is None else end * unit.factor for end in ends)
        marks.append(NamedEstimate(value, low, high, name=system, kind=kinds.get(system, "embedding")))
    _draw_mark_rows(axes, marks)
    axes.set_title(column.title.replace("_", " "))


@dataclass(frozen=True, kw_only=True)
class NamedEstimate(Estimate):
    """A value with its interval, called `name`."""

    name: str
    kind: str = "embedding"


def _draw_mark_rows(axes: Axes, marks: Sequence[NamedEstimate], names: Sequence[str] = ()) -> None:
    """Draw rows of marks from the top down; a name without a value keeps its row."""
    for place, mark in enumerate(marks):
        colour, sign, filled = SIGNS.get(mark.kind, SIGNS["embedding"])
        if mark.low is not None and mark.high is not None:
            axes.plot(
                [mark.low, mark.high], [place, place], color=colour, linewidth=2.2, alpha=0.45, solid_capstyle="butt"
            )
        if mark.value is not None:
            inside = colour if filled else "white"
            axes.plot([mark.value], [place], sign, color=colour, markersize=4.5, markerfacecolor=inside)
    shown = [replace_control_characters(name) for name in names or [mark.name for mark in marks]]
    axes.set_yticks(range(len(shown)), labels=shown)
    # Upside down: the first row is on top.
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.grid(axis="x", color="#DDE1E6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)


def _draw_planned_figure(
    drawing: TableChartPlan, rows: Sequence[Mapping[str, str]], kinds: Mapping[str, Kind]
) -> Iterator[PaperFigure]:
    # A run of an earlier version may lack a column, and then has no such figure.
    if not rows or any(name not in rows[0] for name in (*drawing.names, drawing.x, drawing.y) if name):
        return
    draw = {"intervals": _draw_intervals, "scatter": _draw_scatter, "lines": _draw_line_per_row}[drawing.form]
    figure, shown = draw(drawing, rows, kinds)
    if shown:
        yield _render_figure_files(drawing.table, figure, shown, len(rows) - shown)


def _draw_intervals(
    drawing: TableChartPlan, rows: Sequence[Mapping[str, str]], kinds: Mapping[str, Kind]
) -> tuple[Figure, int]:
    shown = [row for row in rows if _read_cell_number(row, drawing.x) is not None][:MOST_ROWS]
    figure = _make_panel_figure(ROW * len(shown) + 0.9)
    axes = figure.axes[0]
    marks = [
        NamedEstimate(
            _read_cell_number(row, drawing.x),
            _read_cell_number(row, drawing.low),
            _read_cell_number(row, drawing.high),
            name=_format_row_name(drawing, row),
            kind=_find_row_system_kind(row, kinds),
        )
        for row in shown
    ]
    _draw_mark_rows(axes, marks)
    if drawing.also:
        value, low, high = drawing.also
        people = [
            NamedEstimate(
                _read_cell_number(row, value),
                _read_cell_number(row, low),
                _read_cell_number(row, high),
                name="",
                kind="human",
            )
            for row in shown
        ]
        _draw_mark_rows(axes, people, [mark.name for mark in marks])
    if drawing.zero:
        axes.axvline(0, color="#1A1F26", linewidth=0.8)
    axes.set_title(drawing.title)
    axes.set_xlabel(drawing.axis)
    return figure, len(shown)


def _draw_scatter(
    drawing: TableChartPlan, rows: Sequence[Mapping[str, str]], kinds: Mapping[str, Kind]
) -> tuple[Figure, int]:
    figure = _make_panel_figure(3.6)
    named: set[str] = set()
    axes, shown = figure.axes[0], 0
    for row in rows:
        x, y = _read_cell_number(row, drawing.x), _read_cell_number(row, drawing.y)
        if x is None or y is None:
            continue
        colour, sign, filled = SIGNS.get(_find_row_system_kind(row, kinds), SIGNS["embedding"])
        axes.plot([x], [y], sign, color=colour, markersize=4.5, markerfacecolor=colour if filled else "white")
        # One label per name: a system has a point for each of its datasets.
        if (name := _format_row_name(drawing, row)) not in named and len(named) < MOST_SERIES * 2:
            axes.annotate(name, (x, y), xytext=(5, 3), textcoords="offset points", fontsize=7)
            named.add(name)
        shown += 1
    if drawing.is_log:
        axes.set_xscale("log")
    axes.margins(x=0.15)
    axes.grid(color="#DDE1E6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(drawing.title)
    axes.set_xlabel(drawing.axis)
    axes.set_ylabel(drawing.up)
    return figure, shown


def _draw_line_per_row(
    drawing: TableChartPlan, rows: Sequence[Mapping[str, str]], _kinds: Mapping[str, Kind]
) -> tuple[Figure, int]:
    """A line per row over the columns; those of a count of items (`n ...`) and of all bins are no places."""
    heads = [
        name
        for name in rows[0]
        if name not in ("kind", "all", *drawing.names)
        and not name.startswith("n ")
        and (not drawing.over or name.startswith(drawing.over))
        and any(_read_cell_number(row, name) is not None for row in rows)
    ]
    figure = _make_panel_figure(3.6)
    axes, shown = figure.axes[0], 0
    for row in rows:
        points = [(i, value) for i, name in enumerate(heads) if (value := _read_cell_number(row, name)) is not None]
        if points and shown < MOST_SERIES:
            across, up = zip(*points, strict=True)
            line: dict[str, Any] = {
                "marker": "osD^vP*X"[shown],
                "markersize": 4,
                "linewidth": 1.2,
                "color": LINES[shown],
            }
            axes.plot(across, up, label=_format_row_name(drawing, row), **line)
            shown += 1
    upright = max(map(len, heads), default=0) > 10
    axes.set_xticks(
        range(len(heads)),
        labels=list(map(replace_control_characters, heads)),
        rotation=90 if upright else 0,
        fontsize=7,
    )
    axes.grid(axis="y", color="#DDE1E6", linewidth=0.6)
    axes.set_title(drawing.title)
    axes.set_ylabel(drawing.axis)
    if shown:
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=7)
    return figure, shown


def _read_cell_number(row: Mapping[str, str], name: str) -> float | None:
    try:
        return float(row[name]) if name and row.get(name) else None
    except ValueError:
        return None


def _format_row_name(drawing: TableChartPlan, row: Mapping[str, str]) -> str:
    return str(replace_control_characters(", ".join(row[name] for name in drawing.names if row[name])))


def _find_row_system_kind(row: Mapping[str, str], kinds: Mapping[str, Kind]) -> str:
    """Find the kind of a row's system, in the row itself or in the manifest."""
    return row.get("kind") or kinds.get(row.get("system") or row.get("Encoder") or "", "embedding")


def _make_panel_figure(height: float, down: int = 1, across: int = 1) -> Figure:
    """Make a figure of panels without pyplot, which keeps every figure and asks for a display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDE * (1.2 if across > 1 else 1), max(1.4, height)), layout="constrained")
    FigureCanvasAgg(figure)
    figure.subplots(down, across)
    return figure


def _render_figure_files(name: str, figure: Figure, rows: int, left: int) -> PaperFigure:
    files = {}
    for end, said in ENDS.items():
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            # A letter that the font lacks is a box in PDF; in SVG it is text all the same.
            warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
            figure.savefig(buffer, format=end, metadata=said)
        # Names of strangers may hold what XML cannot.
        files[end] = (
            replace_control_characters(buffer.getvalue().decode()).encode() if end == "svg" else buffer.getvalue()
        )
    return PaperFigure(name, files, rows, left)
