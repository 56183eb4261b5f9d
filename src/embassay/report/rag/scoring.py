"""The page of a scoring: who is better, is it the pool or the ordering, which queries are lost; a run's card."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from embassay.contracts import Kind
from embassay.document.blocks import (
    Block,
    BulletList,
    Column,
    CommandInSentence,
    DrawingLegend,
    Figure,
    Heading,
    LabelledTableRow,
    PageFactsLine,
    PageLink,
    ParagraphBlock,
    Sentence,
    StyledBlockGroup,
    StyledWords,
    TabbedBlocks,
    Table,
    TableCell,
    VerdictText,
    append_bracketed_interval,
    file_tables,
    make_result_cell,
)
from embassay.document.marks import (
    LinearScale,
    draw_axis_labels,
    draw_difference_mark,
    draw_interval_mark,
    fit_axis_scale,
    format_percent_position,
)
from embassay.document.plots import NamedPlotLine, draw_line_chart
from embassay.parquet import read_parquet
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import VERBS, Claim
from embassay.protocols.kernel.tables import MeasureFormat
from embassay.protocols.rag.scoring.conclusions import claim_run_pair, list_comparison_claims
from embassay.protocols.rag.scoring.correction import CORRECTED
from embassay.protocols.rag.scoring.score import (
    NumberInSentence,
    RequestedMeasureDescription,
    RunComparisonByMeasure,
    RunInterpretation,
    RunPairDifference,
    ScoringRecord,
    read_scoring_record,
)
from embassay.records import ResultRow
from embassay.report.board import SystemBoard
from embassay.report.cards.findings import SystemFinding, format_result_with_interval, make_finding
from embassay.report.matrix import question_matrix_blocks
from embassay.report.notes import list_run_notes, show_gravest_notes
from embassay.report.rag.decision import show_outlook_of_undecided_runs
from embassay.report.rag.tables import (
    TASK,
    all_measures_table,
    choose_measure_number_format,
    describe_intervals,
    find_possible_leaders,
    make_tables_of_ranwg_sensitivity,
    run_overlap_table,
    scoring_advice_blocks,
)
from embassay.report.record import RunRecord
from embassay.report.runs import ReportRun, read_scoring
from embassay.runs.folder import RunFolder

TRIO = ("RA-nWG", "N-Recall4+", "Harm")
"""The measures that have a panel, where they are asked for; else the first three."""
FORESTS = 6


def make_scoring_page_blocks(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a run; of several runs its first parts. DataError where its `score.json` is damaged."""
    record, score = run.record, read_scoring_record(run.record.path / "score.json")
    settings = score.settings
    yield _score_facts(score)
    yield describe_scoring_verdict(score)
    yield from _iterate_measure_panel_blocks(record, score)
    yield from _iterate_interpretation_blocks(record, score)
    if chart := _draw_lines_by_cutoff(record, score):
        yield chart
    yield from _list_run_difference_blocks(record, score, FORESTS if alone else 1)
    yield from (show_outlook_of_undecided_runs(score) if alone and not (record.path / CORRECTED).exists() else ())
    if alike := run_overlap_table(score):
        yield alike
        yield ParagraphBlock(
            "Overlap: share of the first K that both runs contain. τ-b: how similarly the common documents are "
            "ordered; 1 is the same order. The 95% interval is shown below each value."
        )
    if alone:
        yield all_measures_table(record, score)
    words = f"Intervals: {settings.confidence:.0%}, {describe_intervals(score)}."
    all_in = f"All {len(score.measures)} measures with their intervals are in this run's own report, and in "
    elsewhere: Sentence = (all_in, CommandInSentence("tables/rag_score.csv"), ". ")
    yield ParagraphBlock((*(() if alone else elsewhere), words), id="score-measures")
    if tables := make_tables_of_ranwg_sensitivity(score)[: None if alone else 1]:
        yield Heading("Do the constants of RA-nWG matter?", "score-sensitivity")
        yield ParagraphBlock(
            "Each cell is a different choice of rarity (α) and of the caps for grades 4 and 3. τ: Kendall’s τ-b "
            "between the runs’ order and the default order; below it, the largest change in a run’s value. The darker "
            "the cell, the larger the change (under 0.01 in the lightest cells). Bold: the default."
        )
        yield TabbedBlocks("K", tuple((table.title, (table,)) for table in tables))
    yield from scoring_advice_blocks(score)
    yield from _worst_queries_blocks(record, score, MOST if alone else 6)
    yield from question_matrix_blocks(record.path) if alone else ()
    if score.notes and alone:
        yield Heading("Read with care", "score-notes")
        yield BulletList(tuple(note.text for note in score.notes))
    elif score.notes:
        yield ParagraphBlock((PageLink(f"{len(score.notes)} notes on this scoring", f"method-notes{run.mark}"),))


def scoring_verdict(record: RunRecord, _: SystemBoard) -> VerdictText:
    """The verdict on the scoring in a record."""
    return describe_scoring_verdict(read_scoring_record(record.path / "score.json"))


def describe_scoring_verdict(score: ScoringRecord) -> VerdictText:
    """The sentences of the record, with what they state of the headline measure."""
    comparison = score.find_measure_comparison(score.headline)
    claims = () if comparison is None else tuple(list_comparison_claims(comparison))
    return VerdictText((score.verdict,), tuple((sentence,) for sentence in score.lede), claims)


def _score_facts(score: ScoringRecord) -> PageFactsLine:
    judged = score.judgements
    return PageFactsLine.of(
        "score",
        "RAG, runs scored",
        numbers.format_noun_count(len(score.runs), "run"),
        judged.name,
        numbers.format_noun_count(judged.queries, "query"),
        f"{numbers.format_count(sum(judged.grades))} judgements, grades by {judged.grade_map}",
    )


def _list_panel_measures(score: ScoringRecord) -> list[str]:
    """The measures that have panels: those with a cutoff, the usual three first."""
    drawn = [measure.base for measure in score.measures if measure.cutoff is not None and measure.family != "ceiling"]
    bases = list(dict.fromkeys(drawn))
    usual = [base for base in TRIO if base in bases]
    return (usual + [base for base in bases if base not in usual])[:3]


def map_runs_to_system_kinds(record: RunRecord) -> Mapping[str, Kind]:
    """Find the kind of system that each run is a list of, by the run's name."""
    return {system.name: system.kind for system in record.systems}


def _iterate_measure_panel_blocks(record: RunRecord, score: ScoringRecord) -> Iterator[Block]:
    panels = [_measure_panel(record, score, base) for base in _list_panel_measures(score)]
    if panels:
        yield Heading("Runs side by side", "score-runs")
        pairs = PageLink("the paired differences", "score-pairs")
        yield ParagraphBlock((
            "Each panel has its own scale, shown above it. Tick: mean over queries; bar: its 95% "
            "interval. Overlapping bars are not a test: see ", pairs, ". Bold: runs that may be first, unless all may."
        ))  # fmt: skip
        yield StyledBlockGroup("panels", tuple(panels))


def _measure_panel(record: RunRecord, score: ScoringRecord, base: str) -> StyledBlockGroup:
    """A measure at every cutoff, each with its runs, best first."""
    measures = [measure_facts for measure_facts in score.measures if measure_facts.base == base]
    where = score.judgements.name
    cells = [
        (measure, run, record.find(TASK, run, measure.name, dataset=where))
        for measure in measures
        for run in _sort_runs_by_measure(score, measure.name)
    ]
    rows = [row for _, _, row in cells if row is not None and row.value is not None]
    scale, kinds = (
        fit_axis_scale(_collect_values_and_ends(rows), factor=choose_measure_number_format(measures[0].name).factor),
        map_runs_to_system_kinds(record),
    )
    lines = []
    for measure, run, row in cells:
        value = make_result_cell(
            row, choose_measure_number_format(measure.name), bold=run in find_possible_leaders(score, measure.name)
        )
        mark = draw_interval_mark(row, kinds[run], scale, width=120)
        shown = TableCell((mark, *value.text), bold=value.bold, title=value.small or value.why)
        lines.append(LabelledTableRow(run, (shown,), kinds[run], group=f"@{measure.cutoff}"))
    way = "lower is better" if measures[0].direction == "lower" else "higher is better"
    table = Table(
        "", base, "Run", (Column((draw_axis_labels(scale, labels=2), "Value"), style="num"),), tuple(lines), "marks", 3,
        is_titled=False, is_sortable=False, export=""
    )  # fmt: skip
    said_of = ParagraphBlock(", ".join(filter(None, (way, _describe_unit_counts(score, rows)))))
    return StyledBlockGroup(
        "panel", (Heading(base, f"score-panel-{_list_panel_measures(score).index(base) + 1}", 3), said_of, table)
    )


def _collect_values_and_ends(rows: Iterable[ResultRow]) -> list[float]:
    """Values and ends of intervals, for a scale."""
    return [end for row in rows for end in (row.value, row.ci_low, row.ci_high) if end is not None]


def _describe_unit_counts(score: ScoringRecord, rows: Sequence[ResultRow]) -> str:
    """Describe of how many queries, or passages that people graded, the values are."""
    values = [score.value(row.system, row.measure) for row in rows]
    counts: dict[str, set[int]] = {}
    for value in values:
        if value is not None:
            counts.setdefault(value.unit, set()).add(value.n)
    return ", ".join(_format_count_range(min(n), max(n), unit) for unit, n in counts.items())


def _format_count_range(least: int, most: int, units: str) -> str:
    if least == most:
        return f"{numbers.format_count(least)} {units}" if least != 1 else f"1 {SINGULAR[units]}"
    return f"{numbers.format_count(least)} to {numbers.format_count(most)} {units}"


SINGULAR = {"queries": "query", "passages": "passage"}


def _sort_runs_by_measure(score: ScoringRecord, measure: str) -> list[str]:
    comparison = score.find_measure_comparison(measure)
    ranked = comparison.runs if comparison else ()
    return [*ranked, *(run.name for run in score.runs if run.name not in ranked)]


def _draw_lines_by_cutoff(record: RunRecord, score: ScoringRecord) -> Figure | None:
    """Lines of the headline's measure over its cutoffs, where there are several."""
    base = next((measure.base for measure in score.measures if measure.name == score.headline), "")
    measures = [measure for measure in score.measures if measure.base == base and measure.cutoff]
    if len(measures) < 2:
        return None
    ks = sorted({measure.cutoff or 0 for measure in measures})
    series = [_make_run_line_by_cutoff(record, score, run.name, measures, ks[-1]) for run in score.runs]
    curves = [line for line in series if line.points]
    if not curves:
        return None
    ends = "; ".join(f"{line.name} {numbers.format_score(line.points[-1][1].value or 0.0)}" for line in curves)
    scale = fit_axis_scale(_collect_values_and_ends(row for line in curves for _, row in line.points))
    drawn = draw_line_chart(series, [(k / ks[-1], str(k)) for k in ks], scale, "K, passages read")
    summary = f"{base} at K from {ks[0]} to {ks[-1]}. At K = {ks[-1]}: {ends}."
    return Figure(f"{base} by K", drawn, summary, "band: 95%; at most four runs")


def _make_run_line_by_cutoff(
    record: RunRecord, score: ScoringRecord, run: str, measures: Sequence[RequestedMeasureDescription], most: int
) -> NamedPlotLine:
    """The values of a run by cutoff, each at its share of the largest."""
    points = [
        (measure.cutoff or 0, record.find(TASK, run, measure.name, dataset=score.judgements.name))
        for measure in measures
    ]
    placed = [(k / most, row) for k, row in points if row is not None and row.value is not None]
    return NamedPlotLine(run, tuple(sorted(placed, key=lambda point: point[0])), map_runs_to_system_kinds(record)[run])


MOST = 12
Values = Mapping[tuple[str, str], float]
"""Query and measure to value, where a run has one."""


def _worst_queries_blocks(record: RunRecord, score: ScoringRecord, most: int) -> Iterator[Block]:
    if not (lines := list_worst_query_table_rows(record, score)[:most]):
        return
    yield Heading("Queries that lose most", "score-worst")
    yield ParagraphBlock((
        f"Queries with the lowest {score.headline}, averaged over runs, and their average losses. A single query has "
        "no interval; it shows what happened, not which run is better. All queries are in ",
        CommandInSentence("tables/rag_per_query.csv"), " and ", CommandInSentence("items/"), "."
    ))  # fmt: skip
    heads = (*(run.name for run in score.runs), "Mean", "Lost in the ordering", "Lost in the pool")
    yield Table(
        "worst-queries", "Queries that lose most", "Query", tuple(Column(head, style="num") for head in heads), lines,
        "values", 3, is_titled=False, is_sortable=False, export="copy"
    )  # fmt: skip


def list_worst_query_table_rows(record: RunRecord, score: ScoringRecord) -> tuple[LabelledTableRow, ...]:
    """The first by their mean over the runs, worst first; those where the headline is undefined are none."""
    measure = next((measure_facts for measure_facts in score.measures if measure_facts.name == score.headline), None)
    if measure is None:
        return ()
    names = (score.headline, f"PROC@{measure.cutoff}")
    runs = [_read_query_values(record, score, run.name, names) for run in score.runs]
    queries = dict.fromkeys(query for values in runs for query, _ in values)
    means = {query: _mean_over_runs([values.get((query, names[0])) for values in runs]) for query in queries}
    valued = {query: value for query, value in means.items() if value is not None}
    sign = -1.0 if measure.direction == "lower" else 1.0
    ordered = sorted(valued, key=lambda query: (sign * valued[query], query))[:MOST]
    return tuple(
        _make_worst_query_line(query, valued[query], runs, names, i) for i, query in enumerate(ordered, start=1)
    )


def _make_worst_query_line(
    query: str, mean: float, runs: Sequence[Values], names: tuple[str, str], place: int
) -> LabelledTableRow:
    """The value of each run, their mean, and what they lose to ordering and pool in the mean."""
    values = [values.get((query, names[0])) for values in runs]
    ceiling = _mean_over_runs([values.get((query, names[1])) for values in runs])
    lost = ceiling is not None and names[0].startswith("RA-nWG")
    cells = (
        *("n/a" if value is None else numbers.format_score(value) for value in values),
        numbers.format_score(mean),
        numbers.format_score((ceiling or 0.0) - mean) if lost else numbers.NONE,
        numbers.format_score(1.0 - (ceiling or 0.0)) if lost else numbers.NONE,
    )
    id = f"score-query-{place}"
    return LabelledTableRow((PageLink(query, id),), tuple(map(TableCell, cells)), id=id)


def _mean_over_runs(values: Sequence[float | None]) -> float | None:
    """The mean over the runs that have a value; None where none has."""
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if defined else None


def _read_query_values(record: RunRecord, score: ScoringRecord, run: str, measures: tuple[str, ...]) -> Values:
    import polars as pl

    path = RunFolder(record.path).locate_cell_items(TASK, score.judgements.name, run)
    if not path.exists():
        return {}
    frame = read_parquet(path).filter(pl.col("measure").is_in(list(measures)) & pl.col("value").is_not_null())
    rows = frame.select("item_id", "measure", "value").iter_rows()
    return {(query, measure): value for query, measure, value in rows if value == value}


def _list_run_difference_blocks(record: RunRecord, score: ScoringRecord, most: int) -> Iterator[Block]:
    """Blocks on the differences of run pairs by the first `most` measures, the headline first."""
    compared = [comparison for comparison in score.comparisons if comparison.pairs]
    compared.sort(key=lambda comparison: comparison.measure != score.headline)
    if compared:
        yield Heading("Which differences are significant", "score-pairs")
        yield ParagraphBlock(
            "Differences are paired by item: first run minus second, with its 95% interval and p after Holm’s "
            "correction for all pairs of the measure. To the right of the line, the first run is higher."
        )
        tables = [run_pairs_table(record, comparison, i) for i, comparison in enumerate(compared[:most])]
        yield TabbedBlocks("Measure", tuple((table.title, (table,)) for table in tables))


def run_pairs_table(record: RunRecord, compared: RunComparisonByMeasure, place: int) -> Table:
    """The pairs of one measure: `a` less `b` as a drawing and as text, and in words."""
    unit = choose_measure_number_format(compared.measure)
    ends = [end for pair in compared.pairs for end in (pair.low, pair.high, pair.difference) if end is not None]
    scale = fit_axis_scale([*ends, 0.0], within=None, factor=unit.factor)
    heads, kinds = (
        (f"{compared.measure}, difference, 95%", "p (Holm)", _name_units_of_paired_differences(compared)),
        map_runs_to_system_kinds(record),
    )
    return Table(
        f"pairs-{place}", compared.measure, "Runs",
        (Column("", scale, "bar"), *(Column(head, style="num") for head in heads), Column("In words", style="")),
        tuple(_run_pair_line(pair, unit, scale, kinds[pair.a]) for pair in compared.pairs), "forest", 3,
        is_titled=False,
        caption=f"Differences between runs, {compared.measure}"
    )  # fmt: skip


def _name_units_of_paired_differences(compared: RunComparisonByMeasure) -> str:
    """What the pairs are paired over: queries, or what people graded."""
    units = dict.fromkeys(pair.unit for pair in compared.pairs)
    return " or ".join(units).capitalize()


def _run_pair_line(pair: RunPairDifference, unit: MeasureFormat, scale: LinearScale, kind: Kind) -> LabelledTableRow:
    claim = claim_run_pair(pair, "")
    bounded = pair.low is not None and pair.high is not None
    change = unit.change(pair.difference)
    interval = unit.interval(pair.low or 0.0, pair.high or 0.0) if bounded else "no interval"
    known = [value for value in (pair.difference, pair.low, pair.high) if value is not None]
    exact = ",".join(f"{value * unit.factor:.6g}" for value in known)
    return LabelledTableRow(
        f"{pair.a} − {pair.b}",
        (
            TableCell((draw_difference_mark(pair.low, pair.difference, pair.high, kind, scale),)),
            TableCell(append_bracketed_interval(change, interval), exact=exact),
            TableCell(numbers.format_p_value(pair.p_adjusted), bold=bool(pair.better)),
            TableCell(numbers.format_count(pair.n)),
            TableCell(_format_claim_verdict(claim, pair)),
        ),
    )


def _format_claim_verdict(claim: Claim, pair: RunPairDifference) -> str:
    """The claim as a cell of the table."""
    if claim.relation == "level":
        return "cannot be told apart"
    if claim.relation == "higher":
        return f"{pair.judged_less} has fewer graded passages"
    return f"{claim.subject} {VERBS[claim.relation]} {claim.others[0]}"


PERCENT = MeasureFormat(100.0, 1, 1)
FINDINGS = {
    "pool": "the pool", "ordering": "the ordering", "both": "both", "little": "little is lost",
    "open": "not told", "untold": "not told"
}  # fmt: skip


CEILING_COLUMNS = ("RA-nWG", "PROC", "%PROC", "Lost in the ordering", "Lost in the pool")


def _iterate_interpretation_blocks(record: RunRecord, score: ScoringRecord) -> Iterator[Block]:
    """Every reading of the scoring, cutoff by cutoff."""
    kinds = map_runs_to_system_kinds(record)
    if not (ordered := sorted(score.readings, key=lambda reading: reading.cutoff)):
        return
    yield Heading("Is more lost in the pool or in the ordering?", "score-ceilings")
    yield ParagraphBlock(
        "From 0 to 1, left to right: what the run reaches, what a perfect order of its pool would add, and what no "
        "order of that pool can reach. Lines: 95% intervals of the two boundaries. PROC: the best that reordering "
        "could reach. %PROC: the share of PROC that is reached."
    )
    yield DrawingLegend((("q4", "reached"), ("q2", "lost in the ordering"), ("q0", "lost in the pool")))
    columns = (
        Column("", LinearScale(0.0, 1.0, 1.0), "bar"), *(Column(head, style="num") for head in CEILING_COLUMNS),
        Column("Loses more", style="")
    )  # fmt: skip
    yield Table(
        "ceilings",
        "Reached, lost in the ordering and lost in the pool, by run and K",
        "Run",
        columns,
        tuple(_make_reached_and_lost_share_row(reading, kinds[reading.run]) for reading in ordered),
        digits=3,
        is_titled=False,
    )
    yield BulletList(tuple(_interpretation_sentences(ordered)))


def _interpretation_sentences(ordered: Sequence[RunInterpretation]) -> Iterator[Sentence]:
    """What each reading says, once where several runs share a reason for saying nothing; figures stand in the table."""
    runs_of: dict[str, list[str]] = {}
    for reading in ordered:
        text = reading.text.partition(": ")[2] or reading.text
        text = text.rpartition(", but ")[2] if reading.finding == "untold" else text
        runs_of.setdefault(text, []).append(f"{reading.run}@{reading.cutoff}")
    for text, runs in runs_of.items():
        yield (StyledWords(", ".join(runs), "b"), f": {text}")


def _make_reached_and_lost_share_row(reading: RunInterpretation, kind: Kind) -> LabelledTableRow:
    """The drawing, the figures under the headings of CEILING_COLUMNS, and which loss is larger."""
    figures = {evidence.what.partition("@")[0].lower(): evidence for evidence in reading.evidence}
    entries = (
        _make_estimate_and_interval_cell(figures.get(name.lower()), PERCENT if name == "%PROC" else numbers.SCORE)
        for name in CEILING_COLUMNS
    )
    mark = _draw_reached_and_lost_bar(figures.get("ra-nwg"), figures.get("proc"))
    larger = TableCell(FINDINGS.get(reading.finding, reading.finding))
    return LabelledTableRow(f"{reading.run}@{reading.cutoff}", (TableCell((mark,)), *entries, larger), kind)


def _make_estimate_and_interval_cell(evidence: NumberInSentence | None, unit: MeasureFormat) -> TableCell:
    """The figure over its interval."""
    if evidence is None:
        return TableCell("n/a", why="undefined on these judgements")
    ends = () if evidence.low is None else evidence.ends
    sign = "%" if unit is PERCENT else ""
    small = unit.interval(*ends) + sign if ends else "no interval"
    exact = ",".join(f"{value:.6g}" for value in (evidence.value, *ends))
    return TableCell(unit.text(evidence.point) + sign, small, exact)


def _draw_reached_and_lost_bar(reached: NumberInSentence | None, ceiling: NumberInSentence | None) -> Markup:
    """From 0 to 1: reached, lost in the ordering, lost in the pool; whiskers over the intervals of the two borders."""
    if reached is None:
        return Markup("")
    actual = _clamp_to_unit_interval(reached.point)
    best = max(actual, _clamp_to_unit_interval(ceiling.point)) if ceiling is not None else actual
    parts = [
        f'<rect class="q4" width="{format_percent_position(100 * actual)}"/>',
        f'<rect class="q2" x="{format_percent_position(100 * actual)}" '
        f'width="{format_percent_position(100 * (best - actual))}"/>',
        f'<rect class="q0" x="{format_percent_position(100 * best)}" '
        f'width="{format_percent_position(100 * (1 - best))}"/>',
        *(_draw_interval_whisker(evidence) for evidence in (reached, ceiling) if evidence is not None),
    ]
    return Markup(f'<svg class="gaps" aria-hidden="true">{"".join(parts)}</svg>')


def _draw_interval_whisker(evidence: NumberInSentence) -> str:
    if evidence.low is None:
        return ""
    low, high = (format_percent_position(100 * _clamp_to_unit_interval(end)) for end in evidence.ends)
    return f'<line class="z" x1="{low}" x2="{high}" y1="8" y2="8"/>'


def _clamp_to_unit_interval(value: float) -> float:
    return min(1.0, max(0.0, value))


def find_scoring_strengths(run: ReportRun, system: str) -> Iterator[SystemFinding]:
    """Find a system's strength in a scoring: that it is, or may be, first by the headline measure."""
    placed = _find_rank_range_and_value(run, system)
    if placed is None:
        return
    (low, high), of, measure = placed
    if high == 1:
        yield make_finding(run, f"beats every other retrieval run in {measure}", weight=3, place="score-runs")
    elif low == 1:
        clause = f"may be first of {numbers.format_noun_count(of, 'retrieval run')} in {measure}"
        yield make_finding(run, clause, weight=2, place="score-runs")


def find_scoring_weaknesses(run: ReportRun, system: str) -> Iterator[SystemFinding]:
    """Find a system's weakness in a scoring: that every other run beats it."""
    placed = _find_rank_range_and_value(run, system)
    if placed is not None and placed[0] == (placed[1], placed[1]):
        yield make_finding(run, f"is beaten by every other retrieval run in {placed[2]}", weight=3, place="score-runs")


def _find_rank_range_and_value(run: ReportRun, system: str) -> tuple[tuple[int, int], int, str] | None:
    """Its rank range, of how many runs, and the value; None where it is not ranked among two or more."""
    score = read_scoring(run)
    if score is None:
        return None
    scope = run.record.find_task_comparisons(TASK)
    ranges = scope.ranges.get(system)
    row = run.record.find(TASK, system, score.headline, dataset=score.judgements.name)
    if ranges is None or row is None or row.value is None or len(scope.systems) < 2:
        return None
    return (ranges, len(scope.systems), f"{score.headline}, with {format_result_with_interval(row)}")


def make_most_evidence_stack_verdict(record: RunRecord, _: SystemBoard) -> VerdictText:
    """Which stack's sessions surface the most evidence, and whether the second can be told apart from it."""
    dataset = next(iter(record.datasets("sessions")), "")
    rows = {
        system.name: record.find("sessions", system.name, "evidence", dataset=dataset)
        for system in record.list_non_reference_systems
    }
    known = {name: row for name, row in rows.items() if row is not None and row.value is not None}
    if not known:
        return VerdictText(("No session could be scored.",))
    order = sorted(known, key=lambda name: (-(known[name].value or 0.0), name))
    claims = tuple(
        Claim(name, "is", "evidence", value=known[name].value, low=known[name].ci_low, high=known[name].ci_high)
        for name in order
    )
    first = known[order[0]]
    heading = f"Sessions of {order[0]} find {numbers.format_percent(first.value or 0.0)} of the evidence"
    lede = [f"{name}: {numbers.format_percent(known[name].value or 0.0)}." for name in order[1:]]
    lede += [
        f"{pair['first']} and {pair['second']} cannot be told apart."
        for pair in _read_csv_rows(record.path / "tables" / "sessions_pairs.csv")
        if float(pair["p (Holm)"]) >= record.alpha
    ]
    return VerdictText((heading,), ((" ".join(lede),),) if lede else (), claims)


def _read_csv_rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def search_sessions_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of sessions: what calls surfaced together, what that took, and stacks compared."""
    del alone
    yield make_most_evidence_stack_verdict(run.record, run.board)
    yield from show_gravest_notes(list_run_notes(run.record), run.mark)
    for name in ("sessions", "sessions_effort", "sessions_pairs"):
        for table in file_tables(run.record.path, name):
            yield Heading(table.title, table.id)
            yield table
    yield ParagraphBlock(("Figures of every session: ", CommandInSentence(str(run.record.path / "sessions.jsonl"))))
