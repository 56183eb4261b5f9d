"""What a run says first of every system: one figure with its interval and rank, on a terminal and on the overview."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from embassay.contracts import Kind
from embassay.document.blocks import (
    Block,
    BulletList,
    Column,
    Table,
    convert_sentence_to_text,
    join_names_with_and,
    make_number_columns,
)
from embassay.document.marks import LinearScale, fit_axis_scale
from embassay.document.terminal import is_table_within_width
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.comparisons import read_standings
from embassay.protocols.kernel.tables import MeasureFormat
from embassay.records import ResultRow
from embassay.report.board import BoardValue, collect_values_and_ends, is_protocol_with_task_board
from embassay.report.record import APART, OVERALL, RunRecord, SystemOfRun
from embassay.report.runs import ReportRun, list_report_systems_with_labels, read_hume_summary, read_scoring

if TYPE_CHECKING:
    from embassay.protocols.hume.record import Summary

KINDS = ("embedding", "classical", "llm", "reference")
"""What systems are; the runs of a scoring are none of these."""


@dataclass(frozen=True)
class SystemHeadlineFigure:
    """A system's figure in one run. `rank` are the places that the run's own paired tests leave it among the systems
    that one method scored, None without tests; `apart`: these are not the first of its fields. `note` stands beside a
    figure that is missing."""

    kind: Kind
    value: BoardValue
    rank: tuple[int, int] | None = None
    apart: bool = False
    note: str = ""

    @property
    def rank_range(self) -> str:
        """`1–2`; empty without a rank."""
        return numbers.format_rank_range(*self.rank) if self.rank else ""


@dataclass(frozen=True)
class RunHeadlines:
    """The figures of one run, systems in its order. `measure` is what they are; `people` says, in a study, what people
    score and their place, which is by the mean: the tests are of systems, people are none."""

    run: str
    measure: str
    unit: MeasureFormat
    leaders: Mapping[str, SystemHeadlineFigure]
    people: str = ""

    @property
    def scale(self) -> LinearScale:
        """Of the run's column, in its unit."""
        return fit_axis_scale(
            collect_values_and_ends(leader.value for leader in self.leaders.values()), factor=self.unit.factor
        )

    @property
    def is_shown_in_points(self) -> bool:
        """Whether the figures are a hundred times the measure."""
        return self.unit.factor != 1


def find_run_headlines(run: ReportRun) -> RunHeadlines | None:
    """Find the headlines of a run; None where it ranks or places nothing."""
    made = (
        _collect_board_headlines(run)
        if is_protocol_with_task_board(run.record.kind)
        else _collect_scoring_headlines(run) or _collect_hume_headlines(run)
    )
    return made if made is not None and made.leaders else None


def list_systems_for_table_of_runs(every: Sequence[RunHeadlines]) -> Mapping[str, Kind]:
    """The systems that a table of several runs shows, with their kind, references last: those of the first run, and
    those in two or more. The others are left to the table of their run, unless no two runs share any."""
    kinds: dict[str, list[Kind]] = {}
    for run in every:
        for name, leader in run.leaders.items():
            kinds.setdefault(name, []).append(leader.kind)
    least = min(2, max(map(len, kinds.values()), default=0))
    first = every[0].leaders if every else {}
    # A run of retrieval that bears a system's name is of that system's kind.
    found = {
        name: min(own, key=lambda kind: kind not in KINDS)
        for name, own in kinds.items()
        if name in first or len(own) >= least
    }
    return dict(sorted(found.items(), key=lambda pair: pair[1] == "reference"))


def _collect_board_headlines(run: ReportRun) -> RunHeadlines:
    """Collect the headlines of SAGE and PTEB: overall, or the only task; ranks are the board's."""
    board = run.board
    what = "overall" if board.lead == OVERALL else board.lead_title
    leaders = {
        row.system.name: _make_system_headline(run.record, board.lead, row.system, row.lead, row.note)
        for row in board.rows
        if row.system.ranked or row.lead.value is not None
    }
    return RunHeadlines(run.title, what, board.unit, leaders)


def _collect_scoring_headlines(run: ReportRun) -> RunHeadlines | None:
    """RAG: the measure that the scoring leads with; ranks are those of its paired bootstrap (specification 1.9)."""
    score = read_scoring(run)
    if score is None:
        return None
    from embassay.report.rag.tables import TASK, choose_measure_number_format

    record, unit, best = (
        run.record,
        choose_measure_number_format(score.headline),
        run.record.find_task_comparisons(TASK).best,
    )
    leaders = {}
    for system in record.systems:
        row = record.find(TASK, system.name, score.headline, dataset=score.judgements.name)
        if row is not None and row.value is not None:
            leaders[system.name] = _make_system_headline(
                record, TASK, system, BoardValue("value", row, system.name in best, unit=unit)
            )
    return RunHeadlines(run.title, score.headline, unit, leaders)


def _collect_hume_headlines(run: ReportRun) -> RunHeadlines | None:
    """HUME: the mean over all pairs. Models are ranked by paired tests over the items, like everywhere; people stand
    among them by the mean, as the study's table has it (specification 8)."""
    summary = read_hume_summary(run)
    if summary is None:
        return None
    from embassay.protocols.hume.results.markdown import POINTS

    record, best = run.record, run.record.find_task_comparisons(OVERALL).best
    behind = {row.system: row.headline for row in read_standings(record.path) if row.task == OVERALL}
    leaders = {}
    for place in summary.places:
        bar = place.mean
        if place.kind == "human" or bar.value is None:
            continue
        ends_of = bar.low, bar.high
        if bar.low is None and place.system in behind:
            # With few pairs the mean has no interval over pairs: that over items, which ranks come from, stands for it.
            ends_of = behind[place.system].interval
        row = ResultRow(
            "hume", OVERALL, "", "", "", "", place.system, OVERALL, bar.value, bar.n, *ends_of, bar.method,
            summary.seed or 0, ""
        )  # fmt: skip
        value = BoardValue("value", row, place.system in best, unit=POINTS)
        leaders[place.system] = _make_system_headline(record, OVERALL, SystemOfRun(0, place.system, place.kind), value)
    measure = f"mean of {numbers.format_noun_count(len(summary.pairs), 'pair')}"
    return RunHeadlines(run.title, measure, POINTS, leaders, _say_people_score_and_place(summary))


def _say_people_score_and_place(summary: Summary) -> str:
    from embassay.protocols.hume.results.markdown import POINTS, describe_kind_of_answerers

    human = next((place for place in summary.places if place.kind == "human"), None)
    if human is None or human.mean.value is None:
        return ""
    ranked = sum(place.rank is not None for place in summary.places)
    place = "" if human.rank is None else f", rank {human.rank} of {ranked} by the mean"
    return f"{describe_kind_of_answerers(summary)} {POINTS.text(human.mean.value)}{place}"


def _make_system_headline(
    record: RunRecord, scope: str, system: SystemOfRun, value: BoardValue, note: str = ""
) -> SystemHeadlineFigure:
    rank = record.rank_range(scope, system.name) if value.value is not None and system.ranked else None
    main = record.find_task_comparisons(scope)
    apart = rank is not None and not main.name.endswith(APART) and system.name not in main.ranges
    return SystemHeadlineFigure(system.kind, value, rank, apart, note)


def iterate_headlines_of_runs(runs: Sequence[ReportRun]) -> Iterator[RunHeadlines]:
    """List the headlines of those runs that have them."""
    yield from (made for run in runs if (made := find_run_headlines(run)) is not None)


_APART = "*"


def make_headline_table_blocks(found: Sequence[RunHeadlines], width: int = 80) -> Iterator[Block]:
    """A row per system, two columns per run; side by side as far as `width` allows, then in tables below one another,
    so that nothing is hidden."""
    systems = tuple(list_systems_for_table_of_runs(found))
    yield from (_headlines_table(part, systems) for part in _split_runs_to_fit_page_width(found, systems, width))
    yield BulletList(tuple(_headline_notes(found)))


def format_headline_value_and_rank(run: RunHeadlines, system: str) -> tuple[str, str]:
    """Format value with interval, and rank range; a dash for a system that the run has not."""
    leader = run.leaders.get(system)
    if leader is None:
        return numbers.NONE, numbers.NONE
    value = " ".join(filter(None, (leader.value.text, leader.value.interval)))
    return value, leader.rank_range + _APART * leader.apart if leader.rank else numbers.NONE


def _run_column_title(run: RunHeadlines) -> str:
    """`SAGE, 95%`: what is overall goes without saying, and a study's mean stands in the notes."""
    return f"{run.run}, 95%" if run.people or run.measure == "overall" else f"{run.run} {run.measure}, 95%"


def _headlines_table(leads: Sequence[RunHeadlines], systems: Sequence[str]) -> Table:
    heads = [column for run in leads for column in (*make_number_columns(_run_column_title(run)), Column("Rank"))]
    rows = (
        [name, *(cell for run in leads for cell in format_headline_value_and_rank(run, name))]
        for name in systems
        if any(name in run.leaders for run in leads)
    )
    return Table.of("headlines", ("System", *heads), rows)


def _split_runs_to_fit_page_width(
    leads: Sequence[RunHeadlines], systems: Sequence[str], width: int
) -> Iterator[Sequence[RunHeadlines]]:
    """The runs in as few equal parts as fit."""
    for count in range(1, len(leads) + 1):
        size = ceil(len(leads) / count)
        parts = [leads[i : i + size] for i in range(0, len(leads), size)]
        if count == len(leads) or all(is_table_within_width(_headlines_table(part, systems), width) for part in parts):
            yield from parts
            return


def _headline_notes(leads: Sequence[RunHeadlines]) -> Iterator[str]:
    points = convert_sentence_to_text(join_names_with_and([run.run for run in leads if run.is_shown_in_points]))
    yield "Higher is better. " + (f"In points (100 times the measure): {points}." if points else "")
    yield (
        ("Rank: the ranks that paired tests allow, within each run. Overlapping intervals are not a test.")
        if any(leader.rank for run in leads for leader in run.leaders.values())
        else "No ranks, because there is nothing to test."
    )
    if any(leader.apart for run in leads for leader in run.leaders.values()):
        yield f"{_APART} Ranked separately, because their scores come from another method."
    for run in leads:
        if run.people:
            yield f"{run.run}: {run.measure}; {run.people}."
    alone = len({name for run in leads for name in run.leaders} - set(list_systems_for_table_of_runs(leads)))
    if alone:
        yield f"Only in a later run: {numbers.format_noun_count(alone, 'system')}; see that run's table."


MOST_ROWS = 300


@dataclass(frozen=True)
class RunHeadlineColumn:
    """The column of a run's headlines: its title over the scale of its figures."""

    title: str
    scale: LinearScale


@dataclass(frozen=True)
class SystemHeadlineRow:
    """A system by its label and number; a leader per column, None where the run has not got it."""

    label: str
    index: int
    kind: Kind
    leaders: tuple[SystemHeadlineFigure | None, ...]


@dataclass(frozen=True)
class HeadlinesTableOfRuns:
    """The table of several runs' headlines, and a sentence on the people of each study."""

    columns: tuple[RunHeadlineColumn, ...]
    lines: tuple[SystemHeadlineRow, ...]
    people: tuple[str, ...]

    @property
    def apart(self) -> bool:
        """Whether some ranks are of systems that another method scored."""
        return any(leader is not None and leader.apart for line in self.lines for leader in line.leaders)


def combine_run_headlines(runs: Sequence[ReportRun]) -> HeadlinesTableOfRuns | None:
    """Combine the headlines of runs in a table; None where fewer than two have a figure of a system."""
    leads = list(iterate_headlines_of_runs(runs))
    if len(leads) < 2:
        return None
    kinds = list_systems_for_table_of_runs(leads)
    labels = {system.name: (label, system.index) for system, label in list_report_systems_with_labels(runs)}
    names = list(kinds)[:MOST_ROWS]
    columns = [run for run in leads if any(name in run.leaders for name in names)]
    return HeadlinesTableOfRuns(
        tuple(RunHeadlineColumn(_title_run_with_measure(column), column.scale) for column in columns),
        tuple(
            SystemHeadlineRow(*labels[name], kinds[name], tuple(column.leaders.get(name) for column in columns))
            for name in names
        ),
        tuple(f"{column.run}: {column.people}." for column in columns if column.people),
    )


def _title_run_with_measure(run: RunHeadlines) -> str:
    return f"{run.run}, {run.measure}{', points' if run.is_shown_in_points else ''}"
