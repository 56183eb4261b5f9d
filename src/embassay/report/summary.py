"""Two printed pages for whoever decides: what to use, how sure that is, under which conditions, and what it cost.

Everything is read off the same `answers` as the first screen of a report; nothing is computed anew but what a trade of
time against quality looks like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from embassay.document import marks
from embassay.document.blocks import (
    Block,
    BulletList,
    CautionNotes,
    Column,
    Figure,
    Heading,
    LabelledTableRow,
    ParagraphBlock,
    Sentence,
    StyledWords,
    Table,
    TableCell,
    convert_sentence_to_text,
    join_names_with_and,
)
from embassay.document.html import minify_html, read_minified_assets
from embassay.document.marks import CLASSES, LinearScale, LogTimeScale, fit_axis_scale, fit_log_scale
from embassay.protocols.kernel import tables as numbers
from embassay.report.answers import (
    QUESTIONS,
    ReportQuestionAnswer,
    SystemEstimateWithRanks,
    build_query_time_answer,
    describe_recommended_systems,
    list_report_answers_from_evidence,
)
from embassay.report.board import BoardValue
from embassay.report.html import POLICY_PLACE, STYLE_PLACE, build_security_policy, make_template_environment
from embassay.report.method import OWN, SAMPLE, find_dataset_licence
from embassay.report.notes import gather_run_notes
from embassay.report.overview import run_verdict
from embassay.report.record import OVERALL, shorten_names_to_labels
from embassay.report.runs import ReportRun, read_sweep_findings
from embassay.runs.folder import write_file_atomically
from embassay.runs.spending import format_dollars

STYLES = ("report.css", "answers.css", "summary.css")
LEFT, WIDE, TALL, TOP = 7, 84, 250, 14
"""The plot: percent from the left and of the width, pixels of its height and above it."""
MOST_COMMANDS, MOST_NAMED = 4, 4
TABLES = {"pairs": "Pair by pair", "places": "Ranks by the mean", "board": "Scores", "drops": "Drops"}
"""Tables of a terminal that stand on the first page where there are no answers."""
LANGUAGES = {"en": "English", "eng": "English", "fr": "French", "fra": "French", "de": "German", "deu": "German"}
"""Names of the commonest codes; others stand as they are."""
MOST_LINES, MOST_COLUMNS, MOST_NOTES = 12, 6, 6
ROOM, LETTERS = 37, 105
"""Rows of the second page, a heading counted as two, and letters of a row."""
LONGEST_COMMAND, MOST_TASKS, NAME = 300, 8, 16
"""The last: letters of a row of the column of answers."""
LEVELS = (
    ("sure", "Sure", "The paired test, adjusted for all pairs, leaves only one system in first place."),
    ("likely", "Likely", "Not significant, but clearly ahead in at least 80 of 100 resamples."),
    ("open", "Undecided", "Clearly ahead in fewer than 80 of 100. The answer shows what would decide it."),
)


@dataclass(frozen=True)
class Summary:
    """Both pages: the lines of their heads and feet, the answers with what to `use`, and the blocks of each page; one
    page where the first `is_short`. `labels` are those of all systems."""

    head: str
    systems: str
    foot: str
    answers: tuple[ReportQuestionAnswer, ...]
    use: tuple[str, str]
    first: tuple[Block, ...]
    second: tuple[Block, ...]
    labels: Mapping[str, str]

    def short(self, said: str) -> str:
        """A sentence with the labels of long names."""
        return _shorten_names_in_text(said, self.labels)

    @property
    def is_short(self) -> bool:
        """Whether the first page has neither answers nor a table or figure."""
        return not self.answers and not any(isinstance(block, Table | Figure) for block in self.first)

    @property
    def title(self) -> str:
        """The title of the first page."""
        decides = self.answers or any(isinstance(block, Figure) for block in self.first)
        return "Which system should we use?" if decides else "What was found"


@dataclass(frozen=True)
class EncoderSpeedQuality:
    """An encoder by its fastest stack: how long it takes, and how good it is."""

    system: SystemEstimateWithRanks
    quality: float
    low: float | None
    high: float | None


def write_summary_page(runs: Sequence[ReportRun], target: Path) -> Path:
    """Write the summary of the runs to `target`, in one step."""
    write_file_atomically(target, render_summary_page(runs))
    return target


def render_summary_page(runs: Sequence[ReportRun]) -> str:
    """Render the summary page as one HTML file, its style inlined, with no script."""
    page = minify_html(make_template_environment().get_template("summary.html").render(page=summarise_runs(runs)))
    style = read_minified_assets("embassay.report", STYLES) + marks.write_mark_position_css(page)
    # Before both places stands no text of data, which could hold the same words.
    return page.replace(POLICY_PLACE, build_security_policy(style, ""), 1).replace(STYLE_PLACE, style, 1)


def summarise_runs(runs: Sequence[ReportRun]) -> Summary:
    """Summarise runs: what both pages show."""
    answers = list_report_answers_from_evidence(runs)
    manifest = runs[0].record.manifest
    names = dict.fromkeys(run.record.manifest.get("name", "") for run in runs)
    updated = max(run.record.manifest.get("updated", "") for run in runs)
    title = next(iter(names)) if len(names) == 1 else numbers.format_noun_count(len(runs), "run")
    systems = {system.name for run in runs for system in run.record.list_non_reference_systems}
    notes = len(gather_run_notes(runs))
    return Summary(
        head=f"{title} · {numbers.format_date(updated)}",
        systems=(
            f"{numbers.format_noun_count(len(systems), 'system')} · "
            f"{convert_sentence_to_text(join_names_with_and([run.title for run in runs]))}"
        ),
        foot=f"Embassay {manifest.get('embassay', '')}"
        + (f" · {numbers.format_noun_count(notes, 'note')} in the full report" if notes else ""),
        answers=answers,
        use=describe_recommended_systems(answers) if answers else _describe_findings_without_answer(runs),
        first=tuple(_iterate_blocks_below_answers(runs, answers)),
        second=tuple(_second_page_blocks(runs, answers)),
        labels=_label_answer_systems(answers),
    )


def _label_answer_systems(answers: Sequence[ReportQuestionAnswer]) -> Mapping[str, str]:
    return shorten_names_to_labels(
        tuple(dict.fromkeys(contender.name for answer in answers for contender in answer.all))
    )


def _shorten_names_in_text(said: str, names: Mapping[str, str]) -> str:
    for name in sorted(names, key=len, reverse=True):
        said = said.replace(name, names[name])
    return said


def _describe_findings_without_answer(runs: Sequence[ReportRun]) -> tuple[str, str]:
    """Find the finding of the only run, which stands in for a recommendation."""
    if len(runs) > 1:
        return "No run compares two systems on the six questions of this page. Findings of the runs:", ""
    return f"{convert_sentence_to_text(run_verdict(runs[0]).heading)}.", ""


def _iterate_blocks_below_answers(
    runs: Sequence[ReportRun], answers: Sequence[ReportQuestionAnswer]
) -> Iterator[Block]:
    """Below the answers: what time buys where a sweep timed it, else the scores that the answers rest on. Where nothing
    is answered: what the runs found, with their tables."""
    if answers:
        traded = _find_fastest_stack_per_encoder(runs, answers[-1])
        yield _time_quality_figure(runs, traded) if len(traded) > 1 else _top_scores_by_answer_table(answers)
        return
    for run in runs:
        verdict = run_verdict(run)
        if len(runs) > 1:
            yield Heading((f"{run.title}: ", *verdict.heading))
        yield BulletList(verdict.lede)
        yield from _iterate_terminal_blocks_of_run(run)
    traded = _find_fastest_stack_per_encoder(
        runs, build_query_time_answer(runs, ReportQuestionAnswer(QUESTIONS[0], "not run"))
    )
    if len(traded) > 1:
        yield _time_quality_figure(runs, traded)


def _iterate_terminal_blocks_of_run(run: ReportRun) -> Iterator[Block]:
    """What a terminal shows of the run, as far as it fits across a page, and what its signs mean."""
    from embassay.report.terminal import make_run_terminal_blocks

    for table in make_run_terminal_blocks(run.record.path, wide=True):
        if isinstance(table, CautionNotes) and table.more:
            yield ParagraphBlock(
                " ".join(convert_sentence_to_text(said) if not isinstance(said, str) else said for said in table.more)
            )
        if isinstance(table, Table) and table.id in TABLES:
            columns = table.columns[:MOST_COLUMNS]
            lines = tuple(
                replace(line, entries=_list_terminal_row_cells(line, columns)) for line in table.lines[:MOST_LINES]
            )
            yield replace(
                table,
                id="",
                title=TABLES[table.id],
                columns=columns,
                lines=lines,
                style="plain",
                is_sortable=False,
                export="",
            )


def _list_terminal_row_cells(line: LabelledTableRow, columns: Sequence[str | Column]) -> tuple[TableCell, ...]:
    """The cells of a line; an interval stands in brackets behind its value, where a terminal leaves a space."""
    parts = []
    for column, entry in zip(columns, line.entries, strict=False):
        title = convert_sentence_to_text(column.title) if isinstance(column, Column) else column
        value, _, interval = entry.text.strip().partition(" ") if isinstance(entry.text, str) else ("", "", "")
        is_pair = title.endswith("95%") and bool(interval)
        parts.append(replace(entry, text=f"{value} ({interval.strip()})") if is_pair else entry)
    return tuple(parts)


def _find_fastest_stack_per_encoder(
    runs: Sequence[ReportRun], price: ReportQuestionAnswer
) -> tuple[EncoderSpeedQuality, ...]:
    """The fastest stack of each encoder of the first sweep, by time."""
    findings = next((swept for run in runs if (swept := read_sweep_findings(run)) is not None), None)
    if findings is None:
        return ()
    stacks, traded = findings.parts[0].stacks, []
    for contender in price.all:
        of_encoder = [stack for stack in stacks if stack.axes.get("encoder") == contender.name]
        fastest = min(of_encoder, key=lambda stack: (stack.latency, stack.id), default=None)
        measured = None if fastest is None else fastest.find_measured_quality(findings.asked.measure)
        if measured is not None and measured.value.value is not None:
            figure = measured.value
            traded.append(EncoderSpeedQuality(contender, measured.value.value, figure.low, figure.high))
    return tuple(traded)


def _say_time_quality_trade(fast: EncoderSpeedQuality, best: EncoderSpeedQuality, measure: str) -> str:
    """What the fastest saves against the one of the highest value: nothing is tested here, so none is first."""
    if fast is best:
        return f"{fast.system.name} is the fastest and has the highest {measure}"
    # Two significant digits: a ratio of 1.02 would read as "1 times as fast".
    times = float(f"{best.system.point / fast.system.point:.2g}")
    pace = "hardly faster than" if times <= 1 else f"{times:,g} times as fast as"
    return f"{fast.system.name} is {pace} {best.system.name}, which has the highest {measure}"


def _time_quality_figure(runs: Sequence[ReportRun], traded: Sequence[EncoderSpeedQuality]) -> Figure:
    findings = next(swept for run in runs if (swept := read_sweep_findings(run)) is not None)
    asked = findings.asked
    fast, best = traded[0], max(traded, key=lambda row: row.quality)
    title = _say_time_quality_trade(fast, best, asked.measure)
    words = "; ".join(
        f"{row.system.name}: {numbers.format_score(row.quality)}, {row.system.value:.3g} ms" for row in traded
    )
    n = numbers.format_noun_count(findings.parts[0].queries, "query")
    small = f"{asked.measure} of each encoder’s fastest stack, {n}. Tick: score; bar: 95% interval."
    drawing = _draw_time_quality_chart(traded, f"ms per query at p{asked.percentile:g} (log scale)")
    return Figure(title, Markup(drawing), words, small)


def _draw_time_quality_chart(traded: Sequence[EncoderSpeedQuality], across: str) -> str:
    edges = [edge for row in traded for edge in (row.quality, row.low, row.high) if edge is not None]
    y, x = fit_axis_scale([0.0, *edges]), fit_log_scale([row.system.point for row in traded])
    rows = "".join(
        f'<line class="g" x1="{LEFT}%" x2="{LEFT + WIDE}%" '
        f'y1="{_chart_y_position(y, tick)}" y2="{_chart_y_position(y, tick)}"/>'
        f'<text x="{LEFT - 1}%" y="{_chart_y_position(y, tick)}" dy="4" text-anchor="end">{y.label(tick)}</text>'
        for tick in y.tick_values
    )
    ticks = "".join(
        f'<text x="{_compute_x_position_of_time(x, tick):.2f}%" y="{TOP + TALL + 18}" '
        f'text-anchor="middle">{tick:g}</text>'
        for tick in x.tick_values
    )
    middle = f'<text x="{LEFT + WIDE / 2}%" y="{TOP + TALL + 38}" text-anchor="middle">{escape(across)}</text>'
    bars = "".join(_draw_speed_quality_mark(row, x, y) for row in traded)
    return f'<svg class="curve" height="{TOP + TALL + 46}">{rows}{ticks}{middle}{bars}</svg>'


def _draw_speed_quality_mark(row: EncoderSpeedQuality, x: LogTimeScale, y: LinearScale) -> str:
    """Bar, tick, name and value of a system."""
    at, down, style = (
        f"{_compute_x_position_of_time(x, row.system.point):.2f}%",
        _chart_y_position(y, row.quality),
        CLASSES[row.system.kind],
    )
    bar = ""
    if row.low is not None and row.high is not None:
        top, bottom = _chart_y_position(y, row.high), _chart_y_position(y, row.low)
        size = f'width="8" height="{bottom - top:.1f}" transform="translate(-4)"'
        bar = f'<rect class="bar {style}" x="{at}" y="{top}" {size}/>'
    return (
        f'{bar}<svg x="{at}" y="{down}" overflow="visible"><path class="tick" d="M-9 0H9"/>'
        f'<text class="name" x="14" y="-1">{escape(row.system.name)}</text>'
        f'<text x="14" y="14">{numbers.format_score(row.quality)}</text></svg>'
    )


def _compute_x_position_of_time(x: LogTimeScale, value: float) -> float:
    return LEFT + WIDE * x.at(value) / 100


def _chart_y_position(y: LinearScale, value: float) -> float:
    return round(TOP + (100 - y.at(value)) / 100 * TALL, 1)


def _top_scores_by_answer_table(answers: Sequence[ReportQuestionAnswer]) -> Table:
    """A table of the first systems of each answer: fewer where long names take the rows."""
    label, asked = _label_answer_systems(answers), sum(bool(answer.all) for answer in answers)
    long = sum(max(0, len(_shorten_names_in_text(answer.answer, label)) // NAME - 2) for answer in answers)
    lines = [
        LabelledTableRow(
            label[top.name],
            (_make_score_with_interval_cell(answer, top),),
            kind=None if top.kind == "human" else top.kind,
            group=answer.question.asks,
        )
        for answer in answers
        for top in answer.all[: max(3, (MOST_LINES - 2 * long) // asked)]
    ]
    return _make_unsortable_plain_table("Scores behind these answers", "System", ("Score, 95% interval",), lines)


def _make_score_with_interval_cell(answer: ReportQuestionAnswer, top: SystemEstimateWithRanks) -> TableCell:
    unit = answer.unit
    if top.low is None:
        return TableCell(unit.text(top.point))
    return TableCell(f"{unit.text(top.point)} ({' to '.join(map(unit.text, top.ends))})")


def _make_unsortable_plain_table(
    title: str, heading: str, columns: Sequence[str], lines: Sequence[LabelledTableRow]
) -> Table:
    heads = tuple(Column(column, style="") for column in columns)
    return Table("", title, heading, heads, tuple(lines), style="plain", is_sortable=False, export="")


def _second_page_blocks(runs: Sequence[ReportRun], answers: Sequence[ReportQuestionAnswer]) -> Iterator[Block]:
    """Conditions, data and cost; then as much as there is room for of a single run's tasks, and of the notes."""
    head, tail = (
        tuple(_iterate_recommendation_condition_blocks(runs, answers)),
        tuple(_cost_and_rerun_blocks(runs, answers)),
    )
    room = ROOM - sum(map(_estimate_block_rows, (*head, *tail)))
    tasks = tuple(_make_system_by_task_tables(runs[0], room - 3)) if answers and len(runs) == 1 else ()
    notes = gather_run_notes(runs)[: MOST_NOTES - MOST_NOTES // 2 * bool(answers)]
    care = BulletList(tuple(_shorten_names_in_text(note.plain, _label_answer_systems(answers)) for note in notes))
    fits = not answers or _estimate_block_rows(care) + 2 <= room - sum(map(_estimate_block_rows, tasks))
    yield from (*head, *tasks)
    if notes and fits:
        yield Heading("Read with care")
        yield care
    yield from tail


def _iterate_recommendation_condition_blocks(
    runs: Sequence[ReportRun], answers: Sequence[ReportQuestionAnswer]
) -> Iterator[Block]:
    yield Heading("The recommendation holds if" if answers else "This holds if")
    yield BulletList(tuple(_list_test_conditions(runs, answers)))
    if answers:
        yield Heading("How to read “sure”")
        yield BulletList(
            tuple((StyledWords(word, f"level {level}"), f" {means}") for level, word, means in LEVELS), style="levels"
        )
    yield _make_tested_item_counts_table(runs, answers)
    if untested := tuple(_untested_bullets(runs, answers)):
        yield Heading("What was not tested")
        yield BulletList(untested)


def _cost_and_rerun_blocks(runs: Sequence[ReportRun], answers: Sequence[ReportQuestionAnswer]) -> Iterator[Block]:
    yield _make_unsortable_plain_table(
        "What it costs", "Of", ("Time and money",), tuple(_list_run_cost_rows(runs, answers))
    )
    yield Heading("Run it again", level=3)
    yield from _rerun_commands(runs)


def _make_system_by_task_tables(run: ReportRun, room: int) -> Iterator[Table]:
    """Every system on every task, as many as fit: those that may be first on a task are bold, by its paired tests."""
    board = run.board
    rows = [row for row in board.rows if row.system.ranked][: min(MOST_LINES, room)]
    if len(board.tasks) < 2 or len(rows) < 2:
        return
    overall = (board.lead_title,) if board.lead == OVERALL else ()
    lines = tuple(
        LabelledTableRow(
            row.label,
            tuple(
                _make_value_cell_bold_if_best(value)
                for value in (*(row.lead for _ in overall), *row.tasks)[:MOST_TASKS]
            ),
        )
        for row in rows
    )
    columns = (*overall, *(task.short for task in board.tasks))[:MOST_TASKS]
    table = _make_unsortable_plain_table("Every task", "System", columns, lines)
    yield replace(table, note="Bold: may be first on the task, according to its paired tests.")


def _make_value_cell_bold_if_best(value: BoardValue) -> TableCell:
    return TableCell(value.text, bold=value.best)


def _estimate_block_rows(block: Block) -> int:
    """How many rows of the page a block takes, as far as its letters tell."""
    if isinstance(block, Table):
        return 3 + len(block.lines) + bool(block.note)
    if isinstance(block, BulletList):
        return sum(
            -(-len(convert_sentence_to_text(item) if isinstance(item, tuple) else item) // LETTERS)
            for item in block.items
        )
    if isinstance(block, ParagraphBlock):
        return -(-len(convert_sentence_to_text(block.said) if isinstance(block.said, tuple) else block.said) // LETTERS)
    return 2


def describe_recommendation_limits(
    runs: Sequence[ReportRun], answers: Sequence[ReportQuestionAnswer]
) -> tuple[Sentence, ...]:
    """What the recommendation of several runs holds under, then what was not tested, a sentence each."""
    held = ((f"It holds if {condition}.",) for condition in _list_test_conditions(runs, answers))
    never = (
        ("Not tested: ", *((part,) if isinstance(part, str) else part), ".")
        for part in _untested_bullets(runs, answers)
    )
    return (*held, *never)


def _list_test_conditions(runs: Sequence[ReportRun], answers: Sequence[ReportQuestionAnswer]) -> Iterator[str]:
    """List the conditions of the tests: whose texts, how many questions, how long, what machine."""
    sample = ", this project’s small sample, which shows how Embassay works but decides nothing for you"
    yield (
        "your texts are like those of "
        f"{_join_some_names(_list_dataset_names(runs))}{sample if _is_sample_data_only(runs) else ''}"
    )
    for answer in answers:
        if answer.level in ("sure", "likely", "open") and answer.question.name == "search":
            yield f"your questions resemble the {answer.n} that were asked"
    for name, limit in _list_token_limits_of_answer_systems(runs):
        yield f"your texts are shorter than {numbers.format_count(limit)} tokens; {name} cuts longer texts"
    if answers and answers[-1].level != "not run":
        hardware = runs[0].record.manifest.get("hardware", {})
        cores = numbers.format_noun_count(hardware.get("cores") or 1, "core")
        machine = f"{cores}, {hardware.get('cpu', 'processor unknown')}"
        yield f"you run on a machine like this one ({machine}); on other machines, measure again"


def _list_dataset_names(runs: Sequence[ReportRun]) -> list[str]:
    return list(dict.fromkeys(dataset["name"] for run in runs for dataset in run.record.list_dataset_manifest_entries))


def _join_some_names(names: Sequence[str]) -> str:
    if not names:
        return "this run"
    return convert_sentence_to_text(
        join_names_with_and(
            names if len(names) <= MOST_NAMED else [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more"]
        )
    )


def _is_sample_data_only(runs: Sequence[ReportRun]) -> bool:
    sources = {dataset.get("source") for run in runs for dataset in run.record.list_dataset_manifest_entries}
    return sources == {"sample"}


def _list_token_limits_of_answer_systems(runs: Sequence[ReportRun]) -> list[tuple[str, int]]:
    """Of the systems that are in an answer: the most tokens that each reads of a text."""
    leading = {name for answer in list_report_answers_from_evidence(runs) for name in answer.names}
    counts: dict[str, int] = {}
    for run in runs:
        for system in run.record.systems:
            if system.name in leading and system.facts.get("max_tokens"):
                counts[system.name] = int(system.facts["max_tokens"])
    return list(counts.items())


def _make_tested_item_counts_table(runs: Sequence[ReportRun], answers: Sequence[ReportQuestionAnswer]) -> Table:
    by_slug = {run.slug: run for run in runs}
    lines = []
    for answer in answers:
        if answer.level != "not run":
            noun = "stack" if answer.question.name == "price" else answer.question.noun
            items, source = (
                numbers.format_noun_count(answer.n, noun),
                _describe_dataset_and_licence(by_slug[answer.slug]),
            )
            lines.append(LabelledTableRow(answer.question.asks, (TableCell(items), TableCell(source))))
    if not answers:
        lines = [
            LabelledTableRow(
                run.title, (TableCell(_describe_items_by_task(run)), TableCell(_describe_dataset_and_licence(run)))
            )
            for run in runs
        ]
    return _make_unsortable_plain_table(
        "What it was tested on", "Question" if answers else "Run", ("Items", "Data, licence"), lines
    )


def _describe_items_by_task(run: ReportRun) -> str:
    """Items by task, of all datasets."""
    counts: dict[str, int] = {}
    for dataset in run.record.list_dataset_manifest_entries:
        for task, facts in (dataset.get("tasks") or {}).items():
            counts[task] = counts.get(task, 0) + facts.get("n", 0)
    if len(counts) == 1:
        return numbers.format_noun_count(next(iter(counts.values())), "item")
    return ", ".join(f"{task} {numbers.format_count(n)}" for task, n in counts.items())


WHOSE = {OWN: "own data", SAMPLE: "Embassay’s sample"}


def _describe_dataset_and_licence(run: ReportRun) -> str:
    """Its dataset with whose it is, or its licence; several are counted."""
    datasets: Sequence[Mapping[str, Any]] = run.record.list_dataset_manifest_entries
    if len(datasets) != 1:
        return numbers.format_noun_count(len(datasets), "dataset")
    licence = find_dataset_licence(datasets[0].get("source", ""))
    return f"{datasets[0]['name']}, {WHOSE.get(licence, licence)}"


def _untested_bullets(
    runs: Sequence[ReportRun], answers: Sequence[ReportQuestionAnswer]
) -> Iterator[str | tuple[str | StyledWords, ...]]:
    for answer in answers:
        if answer.level == "not run":
            asks = answer.question.asks[:1].lower() + answer.question.asks[1:]
            yield (f"{asks} (", answer.note or StyledWords(answer.how_sure, "command"), ")")
    languages = sorted(
        {dataset.get("lang") for run in runs for dataset in run.record.list_dataset_manifest_entries} - {"", None}
    )
    if languages and not {"mul", "und"} & set(languages):
        named = dict.fromkeys(LANGUAGES.get(str(language), str(language)) for language in languages)
        yield f"languages other than {convert_sentence_to_text(join_names_with_and([*named]))}"
    if any(run.record.kind in ("score", "sweep", "golden") for run in runs):
        yield "the answers that a language model writes from the retrieved passages"
    if any(run.record.kind == "sweep" for run in runs):
        yield "larger collections, in which search gets slower and harder"


def _list_run_cost_rows(
    runs: Sequence[ReportRun], answers: Sequence[ReportQuestionAnswer]
) -> Iterator[LabelledTableRow]:
    manifests = [run.record.manifest for run in runs]
    seconds = sum(session.get("seconds") or 0 for manifest in manifests for session in manifest.get("sessions", ()))
    spent = [(manifest.get("spent") or {}).get("usd", 0.0) for manifest in manifests]
    cores = numbers.format_noun_count((manifests[0].get("hardware") or {}).get("cores") or 1, "core")
    money = "price unknown" if None in spent else format_dollars(sum(spent))
    time = f"{numbers.format_duration(seconds)} on {cores}" if seconds else "time not recorded"
    yield LabelledTableRow("This evaluation", (TableCell(f"{time}; {money}"),))
    for answer in answers:
        if answer.level != "sure" and answer.more:
            more = f"about {numbers.format_noun_count(answer.more, f'more {answer.question.noun}')}"
            words = f"{more}, if the difference stays as measured"
            yield LabelledTableRow(f"To decide: {answer.question.short.lower()}", (TableCell(words),))
    if answers and answers[-1].level != "not run":
        yield LabelledTableRow("In use", (TableCell(answers[-1].how_sure),))


def _rerun_commands(runs: Sequence[ReportRun]) -> Iterator[ParagraphBlock]:
    commands = list(dict.fromkeys(run.record.manifest.get("command", "") for run in runs))
    for command in [text for text in commands if text][:MOST_COMMANDS]:
        yield ParagraphBlock((StyledWords(_truncate_command(command), "command"),))
    if any(len(command) > LONGEST_COMMAND for command in commands):
        yield ParagraphBlock("For the whole command, see the full report under Method.")
    if len(commands) > MOST_COMMANDS:
        yield ParagraphBlock(f"Other commands ({len(commands) - MOST_COMMANDS}): see the full report under Method.")


def _truncate_command(command: str) -> str:
    return command if len(command) <= LONGEST_COMMAND else f"{command[:LONGEST_COMMAND]} …"
