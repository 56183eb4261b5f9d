"""The tables of a scoring: on a terminal, and every measure of every run, how alike runs are, what constants change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from embassay.document.blocks import (
    Block,
    CautionNotes,
    Column,
    Heading,
    LabelledTableRow,
    Said,
    StyledWords,
    Table,
    TableCell,
    VerdictText,
    choose_heat_step,
    make_number_columns,
    make_result_cell,
)
from embassay.document.blocks import ParagraphBlock as Paragraph
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import LOWER, VERBS
from embassay.protocols.rag.golden.summary import GoldenQuerySummary, read_golden_record
from embassay.protocols.rag.golden.trust import list_judge_warnings
from embassay.protocols.rag.scoring.conclusions import (
    NEXT,
    claim_run_pair,
    is_lower_better,
    orient_interval_to_positive_difference,
)
from embassay.protocols.rag.scoring.score import (
    BOOTSTRAP,
    RaNwgSensitivityCell,
    RequestedMeasureDescription,
    RunMeasureValue,
    RunPairDifference,
    ScoringRecord,
    read_scoring_record,
)
from embassay.protocols.rag.scoring.tables import describe_bootstrap_unit
from embassay.protocols.rag.sweep.findings.record import FILE, SweepFindings, read_findings
from embassay.report.record import RunRecord

if TYPE_CHECKING:
    import polars as pl

STOPPED = {
    "sure": "certain enough",
    "cap": "all calls used",
    "stable": "the top ranks stayed the same",
    "few": "too few to judge",
    "too few to judge": "too few to judge",
    "": "not ordered by the judge",
}
"""Why an engine asked no more."""
CLAIMS = {
    "set_errors_at_most_0": "P(no wrong passage among the first {top})",
    "set_errors_at_most_1": "P(at most one wrong passage among the first {top})",
    "set_errors_at_most_2": "P(at most two wrong passages among the first {top})",
    "overlap": "share of the first {top} that is right",
    "tau": "Kendall’s τ with the judge’s own order",
}
"""What an engine may claim of its order, the surest way to say it first."""
DOUBTS = {
    "fixed errors": (
        "the judge repeats the same pair orders, yet they form cycles, so its errors are systematic, not random"
    ),
    "order shown": "too many answers only repeat the order in which passages were shown",
    "places": "passages shown first or last gain too much from their position",
    "surprises": "pairs shown again are ordered differently than the judge's answers predict",
}
"""Why an engine claims nothing of its order: what it found of the judge."""


def shorten_judge_name(name: str) -> str:
    """A judge's spec without the folder and the parameters.

    >>> (shorten_judge_name("simulated:/data/cranfield/qrels.jsonl?grades=cranfield"),
    ... shorten_judge_name("ollama:gemma3:27b"))
    ('simulated:qrels.jsonl', 'ollama:gemma3:27b')
    """
    target = name.partition("?")[0]
    kind, colon, path = target.partition(":")
    return f"{kind}{colon}{path.rpartition('/')[2]}" if path.startswith(("/", ".", "~")) else target


def explain_failed_question(query: GoldenQuerySummary, judge: str) -> str:
    """Why a question failed, the judge by its short name."""
    return f"{query.reason.replace(judge, shorten_judge_name(judge)).rstrip('.')}."


def describe_failed_questions(failed: Sequence[GoldenQuerySummary], most: int = 4) -> str:
    """The first failed questions with the stage each failed in, and how many more."""
    named = ", ".join(f"{query.query_id} ({query.stage})" for query in failed[:most])
    return named + (f" and {len(failed) - most} more" if len(failed) > most else "")


NoteParts = tuple[str, str, str, str]


def rag_notes(record: RunRecord) -> Iterator[NoteParts]:
    """The notes of a RAG run, the gravest first; none where its record is not written yet."""
    if record.kind == "golden" and (record.path / "golden.json").exists():
        yield from _golden_notes(record)
    if record.kind == "sweep" and (record.path / FILE).exists():
        yield from _sweep_notes(read_findings(record.path / FILE))
    if record.kind == "score" and (record.path / "score.json").exists():
        for note in read_scoring_record(record.path / "score.json").notes:
            yield "warning", note.text, "", ""


def _sweep_notes(findings: SweepFindings) -> Iterator[NoteParts]:
    failed = [left for left in findings.left if left.failed]
    if failed:
        yield (
            "failed",
            f"{numbers.format_noun_count(len(failed), 'combination')} failed: {failed[0].configuration} on "
            f"{failed[0].dataset} ({failed[0].reason}){', and others' if len(failed) > 1 else ''}.",
            "They are not on any frontier.",
            "Repeat the command to retry them.",
        )
    for text in findings.parts[0].notes:
        yield "warning", text, "", ""


def _golden_notes(record: RunRecord) -> Iterator[NoteParts]:
    golden = read_golden_record(record.path / "golden.json")
    failed, total = golden.failed, len(golden.queries)
    if failed:
        yield (
            "failed",
            f"{len(failed)} of {numbers.format_noun_count(total, 'question')} failed: "
            f"{describe_failed_questions(failed)}.",
            "They are not in the golden set.",
            "Repeat the command to retry them.",
        )
    waiting = [query for query in golden.queries if query.status not in ("done", "failed")]
    if waiting:
        yield (
            "not run",
            f"{len(waiting)} of {numbers.format_noun_count(total, 'question')} "
            f"{'is' if len(waiting) == 1 else 'are'} not finished.",
            "They are not in the golden set.",
            "Repeat the command to continue.",
        )
    for text in list_judge_warnings(golden):
        yield "judge", text, "", ""
    for text in golden.notes:
        if not (failed and "questions failed" in text):
            yield "warning", text, "", ""


SIDE_BY_SIDE = 3
"""So many runs stand side by side; more stand one below the other."""
_PAIRS = 6
DEFAULT_CELL = "* marks the default cell; change and tau are relative to it."
PERCENT = numbers.MeasureFormat(100.0, 1, 1)


def scoring_view(score: ScoringRecord, wide: bool = False) -> Iterator[Block]:
    """A scoring: verdict, tables, notes."""
    yield VerdictText((score.verdict,), tuple((sentence,) for sentence in score.lede))
    yield _make_rag_run_score_table(score)
    if score.sensitivity:
        yield _constant_sensitivity_table(score)
    signs = (DEFAULT_CELL,) if any(cell.default for cell in score.sensitivity) else ()
    yield CautionNotes(tuple(_score_remarks(score, wide)), more=signs)


def iterate_query_value_lines(frame: pl.DataFrame) -> Iterator[str]:
    """Every value as a line of run, query, measure, value and reason between tabs, under a header."""
    yield "run\tquery_id\tmeasure\tvalue\treason"
    for run, query, measure, value, reason in frame.iter_rows():
        yield f"{run}\t{query}\t{measure}\t{'n/a' if value is None else repr(value)}\t{reason}"


def format_value_with_interval(value: RunMeasureValue | None) -> str:
    """A value with its interval; `n/a` where it is undefined."""
    if value is None:
        return numbers.NONE
    if value.value is None:
        return "n/a"
    unit = choose_measure_number_format(value.measure)
    sign = "%" if unit is PERCENT else ""
    text = f"{unit.text(value.value)}{sign}"
    return text if value.low is None else f"{text} {unit.interval(*value.ends)}{sign}"


def choose_measure_number_format(measure: str) -> numbers.MeasureFormat:
    """%PROC is a percentage, all others are scores."""
    return PERCENT if measure.startswith("%") else numbers.SCORE


def _make_rag_run_score_table(score: ScoringRecord) -> Table:
    if len(score.runs) == 1:
        return _scores_by_cutoff_table(score)
    return _make_score_table_of_few_runs(score) if len(score.runs) <= SIDE_BY_SIDE else _make_many_runs_table(score)


def _scores_by_cutoff_table(score: ScoringRecord) -> Table:
    """One run: a row per measure, a column per cutoff."""
    [run] = score.runs
    cutoffs = list(dict.fromkeys(measure.cutoff for measure in score.measures))
    names = {(measure.base, measure.cutoff): measure for measure in score.measures}
    titles = [("whole list" if k is None else f"@{k}") + (", 95%" if i == 0 else "") for i, k in enumerate(cutoffs)]
    rows = []
    for base in dict.fromkeys(measure.base for measure in score.measures):
        at = [names.get((base, k)) for k in cutoffs]
        label = next(_label_measure_with_direction(measure, base) for measure in at if measure)
        rows.append(
            [
                label,
                *(
                    format_value_with_interval(score.value(run.name, measure.name) if measure else None)
                    for measure in at
                ),
            ]
        )
    return Table.of("cutoffs", ("Measure", *make_number_columns(*titles)), rows)


def _make_score_table_of_few_runs(score: ScoringRecord) -> Table:
    """A few runs: a row per measure, a column per run; who may be first is bold."""
    titles = (run.name + (", 95%" if i == 0 else "") for i, run in enumerate(score.runs))
    rows: list[list[Said | TableCell]] = []
    for measure in score.measures:
        first = find_possible_leaders(score, measure.name)
        cells = [
            TableCell(format_value_with_interval(score.value(run.name, measure.name)), bold=run.name in first)
            for run in score.runs
        ]
        rows.append([_label_measure_with_direction(measure, measure.name), *cells])
    return Table.of("runs", ("Measure", *make_number_columns(*titles)), rows)


def _make_many_runs_table(score: ScoringRecord) -> Table:
    """Many runs: a row per run, best first by the headline, its interval, and the other measures without theirs."""
    comparison = score.find_measure_comparison(score.headline)
    ranked = list(comparison.runs) if comparison else []
    order = [*ranked, *(run.name for run in score.runs if run.name not in ranked)]
    others = [measure for measure in score.measures if measure.name != score.headline]
    titles = (f"{score.headline}, 95%", *(_label_measure_with_direction(measure, measure.name) for measure in others))
    ranks = (
        dict(zip(ranked, zip(comparison.rank_low, comparison.rank_high, strict=False), strict=False))
        if comparison
        else {}
    )
    rows = []
    for name in order:
        rank = numbers.format_rank_range(*ranks[name]) if name in ranks else numbers.NONE
        values = [_format_value_alone(score.value(name, measure.name)) for measure in others]
        rows.append([rank, name, format_value_with_interval(score.value(name, score.headline)), *values])
    return Table.of("ranks", ("Rank", "Run", *make_number_columns(*titles)), rows, at=1)


def _format_value_alone(value: RunMeasureValue | None) -> str:
    if value is None or value.value is None:
        return format_value_with_interval(value)
    unit = choose_measure_number_format(value.measure)
    return unit.text(value.value) + ("%" if unit is PERCENT else "")


def _label_measure_with_direction(measure: RequestedMeasureDescription, name: str) -> str:
    """The measure with a mark where lower is better."""
    return f"{name} (lower)" if measure.direction == "lower" else name


def _constant_sensitivity_table(score: ScoringRecord) -> Table:
    names = [run.name for run in score.runs]
    heads: list[str | Column] = [*make_number_columns("K", "alpha", "cap4", "cap3", *names, "change", "tau"), "order"]
    rows = []
    for cell in score.sensitivity:
        values = [cell.values[name] for name in names]
        rows.append([
            f"{cell.cutoff}{'*' if cell.default else ''}", f"{cell.alpha:g}", f"{cell.cap4:g}", f"{cell.cap3:g}",
            *("n/a" if value is None else numbers.format_score(value) for value in values),
            "n/a" if cell.largest_change is None else numbers.format_score(cell.largest_change),
            "n/a" if cell.tau is None else numbers.format_score(cell.tau, 2), " > ".join(cell.order)
        ])  # fmt: skip
    return Table.of("sensitivity", heads, rows, at=len(heads) - 1)


def _score_remarks(score: ScoringRecord, wide: bool) -> Iterator[str]:
    lede = " ".join(score.lede)
    headline = next(measure for measure in score.measures if measure.name == score.headline)
    for reading in score.readings:
        near = wide or len(score.runs) == 1 or headline.cutoff in (None, reading.cutoff)
        if near and reading.text not in lede:
            advice = NEXT.get(reading.finding, "")
            yield reading.text.removesuffix(advice).rstrip() if advice and advice in lede else reading.text
            lede += advice
    comparison = score.find_measure_comparison(score.headline)
    pairs = comparison.pairs if comparison else ()
    for pair in pairs[: None if wide else _PAIRS]:
        if not (pairs.index(pair) == 0 and score.lede):
            yield _say_pair_difference(score, pair)
    if len(pairs) > _PAIRS and not wide:
        yield f"{numbers.format_noun_count(len(pairs) - _PAIRS, 'more pair')}: --wide shows them."
    yield from _say_run_overlap(score, wide)
    yield from _guidance_sentences(score)
    yield from (note.text for note in score.notes)
    yield f"Intervals: {describe_intervals(score)}. Ties: {score.settings.ties}."


def describe_intervals(score: ScoringRecord) -> str:
    """How the intervals of a scoring were made; resamples and seed where it was by them."""
    settings = score.settings
    if settings.intervals != BOOTSTRAP:
        return settings.intervals
    return (
        f"{describe_bootstrap_unit(score).lower()}, {numbers.format_count(settings.resamples)} resamples, seed "
        f"{settings.seed}"
    )


def _say_pair_difference(score: ScoringRecord, pair: RunPairDifference) -> str:
    unit = choose_measure_number_format(score.headline)
    ends = orient_interval_to_positive_difference(pair)
    interval = f" ({unit.interval(*ends)})" if ends else ""
    gap = f"{unit.text(abs(pair.difference))}{interval}, p {numbers.format_p_value(pair.p_adjusted)} (Holm)"
    claim = claim_run_pair(pair, score.headline)
    if claim.relation == "level":
        return f"{pair.a} and {pair.b} cannot be told apart on {score.headline}: {gap}."
    less = f"; {pair.judged_less} has fewer graded passages, so this is not a verdict" if pair.judged_less else ""
    # Of Harm and its like the better run has less.
    is_lower = claim.relation == "higher" and is_lower_better(score, score.headline)
    verb = LOWER if is_lower else VERBS[claim.relation]
    return f"{claim.subject} {verb} {claim.others[0]} on {score.headline} by {gap}{less}."


def _say_run_overlap(score: ScoringRecord, wide: bool) -> Iterator[str]:
    cutoffs = sorted({pair.cutoff for pair in score.likeness})[: None if wide else 1]
    few = [pair for pair in score.likeness if pair.cutoff in cutoffs]
    for pair in few if wide else few[:_PAIRS]:
        shared = numbers.format_score(pair.overlap)
        if pair.overlap_low is not None and pair.overlap_high is not None:
            shared += f" ({numbers.format_interval(pair.overlap_low, pair.overlap_high)})"
        tau = "tau n/a" if pair.tau is None else f"tau of the common documents {numbers.format_score(pair.tau)}"
        yield f"{pair.a} and {pair.b}: overlap@{pair.cutoff} {shared}, {tau}."


def _guidance_sentences(score: ScoringRecord) -> Iterator[str]:
    tested = [guidance for guidance in score.guidance if guidance.status != "not tested"]
    yield from (f"{guidance.text}" for guidance in tested)
    untested = [guidance.knob for guidance in score.guidance if guidance.status == "not tested"]
    if untested:
        yield f"Not tested on this data: {', '.join(untested)}."


TASK = "score"
STEADY = 0.01
"""A change of a run's value under this is drawn lightest."""


def all_measures_table(record: RunRecord, score: ScoringRecord) -> Table:
    """A row per measure, a column per run; bold: who may be first, where not all may."""
    runs = [run.name for run in score.runs]
    return Table(
        "measures", "Every measure", "Measure", tuple(runs),
        tuple(_make_measure_scores_row(record, score, measure, runs) for measure in score.measures), digits=3
    )  # fmt: skip


def format_measure_and_direction(measure: RequestedMeasureDescription) -> str:
    """The measure as the user spelled it, and that lower is better where it is."""
    return f"{measure.name} (lower is better)" if measure.direction == "lower" else measure.name


def _make_measure_scores_row(
    record: RunRecord, score: ScoringRecord, measure: RequestedMeasureDescription, runs: Sequence[str]
) -> LabelledTableRow:
    bold, unit = find_possible_leaders(score, measure.name), choose_measure_number_format(measure.name)
    rows = ((run, record.find(TASK, run, measure.name, dataset=score.judgements.name)) for run in runs)
    return LabelledTableRow(
        format_measure_and_direction(measure), tuple(make_result_cell(row, unit, bold=run in bold) for run, row in rows)
    )


def find_possible_leaders(score: ScoringRecord, measure: str) -> frozenset[str]:
    """The runs that may be first by a measure; none where all may."""
    comparison = score.find_measure_comparison(measure)
    if comparison is None:
        return frozenset()
    ranks = zip(comparison.runs, comparison.rank_low, strict=False)
    firsts = frozenset(run for run, low in ranks if low == 1)
    return firsts if len(firsts) < len(score.runs) else frozenset()


def run_overlap_table(score: ScoringRecord) -> Table | None:
    """A row per pair of runs: overlap and tau of their first K; None for one run."""
    cutoffs = list(dict.fromkeys(pair.cutoff for pair in score.likeness))
    pairs = {(pair.a, pair.b, pair.cutoff): pair for pair in score.likeness}
    columns = [title for k in cutoffs for title in (f"Overlap@{k}", f"τ-b of the common@{k}")]
    lines = []
    for a, b in dict.fromkeys((pair.a, pair.b) for pair in score.likeness):
        cells: list[TableCell] = []
        for k in cutoffs:
            pair = pairs.get((a, b, k))
            if pair is None:
                cells += [TableCell("n/a", why="not computed")] * 2
                continue
            cells += [
                _interval_entry(pair.overlap, pair.overlap_low, pair.overlap_high),
                _interval_entry(pair.tau, pair.tau_low, pair.tau_high, why="fewer than two common documents"),
            ]
        lines.append(LabelledTableRow(f"{a}, {b}", tuple(cells)))
    return (
        Table("alike", "How similar two runs are", "Runs", tuple(columns), tuple(lines), style="heat grid lines")
        if lines
        else None
    )


def _interval_entry(value: float | None, low: float | None, high: float | None, why: str = "") -> TableCell:
    if value is None:
        return TableCell("n/a", why=why)
    ends = (low, high) if low is not None and high is not None else ()
    exact = ",".join(f"{end:.6g}" for end in (value, *ends))
    return TableCell(
        numbers.format_score(value),
        numbers.format_interval(*ends) if ends else "no interval",
        exact,
        choose_heat_step(max(0.0, value)),
    )


def make_tables_of_ranwg_sensitivity(score: ScoringRecord) -> tuple[Table, ...]:
    """The 24 settings of RA-nWG's constants, a table per cutoff: tau-b of the runs' order against that of the default,
    and the largest change of a run's value."""
    cutoffs = list(dict.fromkeys(cell.cutoff for cell in score.sensitivity))
    return tuple(
        _make_ranwg_sensitivity_table(k, [cell for cell in score.sensitivity if cell.cutoff == k]) for k in cutoffs
    )


def _make_ranwg_sensitivity_table(cutoff: int, cells: Sequence[RaNwgSensitivityCell]) -> Table:
    caps = list(dict.fromkeys((cell.cap4, cell.cap3) for cell in cells))
    by_key = {(cell.alpha, cell.cap4, cell.cap3): cell for cell in cells}
    lines = (
        LabelledTableRow(
            f"α = {alpha:g}", tuple(_make_sensitivity_table_cell(by_key.get((alpha, *cap))) for cap in caps)
        )
        for alpha in dict.fromkeys(cell.alpha for cell in cells)
    )
    titles = tuple(f"caps {cap4:g}, {cap3:g}" for cap4, cap3 in caps)
    return Table(
        f"grid-{cutoff}", f"RA-nWG@{cutoff}", "Rarity", titles, tuple(lines), style="heat grid lines", is_sortable=False
    )


def _make_sensitivity_table_cell(cell: RaNwgSensitivityCell | None) -> TableCell:
    if cell is None or cell.largest_change is None:
        return TableCell("n/a", why="not defined at this setting")
    tau = "" if cell.tau is None else f"τ {numbers.format_score(cell.tau, 2)}"
    moved = "default" if cell.default else f"moves {numbers.format_score(cell.largest_change)}"
    step = 1 if cell.largest_change < STEADY else min(5, 1 + choose_heat_step(cell.largest_change / (10 * STEADY)))
    exact = f"{cell.largest_change if cell.tau is None else cell.tau:.6g}"
    return TableCell(tau or moved, moved if tau else "", exact, step, bold=cell.default)


STATES = {"holds": "good", "does not hold": "failed", "open": "partial"}


def scoring_advice_blocks(score: ScoringRecord) -> Iterator[Block]:
    """What the scoring advises, how far this data bears it out, and what it did not test."""
    if not score.guidance:
        return
    yield Heading("What to try next", "score-guidance")
    lines = (
        LabelledTableRow(
            guidance.knob,
            (TableCell(guidance.finding), TableCell((StyledWords(guidance.status, style),)), TableCell(guidance.text)),
        )
        for guidance in score.guidance
        if guidance.status != "not tested"
        for style in [f"state {STATES.get(guidance.status, '')}".strip()]
    )
    heads = ("For", "On this data", "Why")
    yield Table("", "Advice", "Advice", heads, tuple(lines), "plain", 3, is_titled=False, is_sortable=False, export="")
    if untested := [guidance.knob for guidance in score.guidance if guidance.status == "not tested"]:
        yield Paragraph(f"Not tested on this data (each needs its own run): {', '.join(untested)}.")
