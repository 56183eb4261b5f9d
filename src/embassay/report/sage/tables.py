"""Tables and drawings of SAGE's page: a panel per task, values on a heat, curves, the paper's tables beside ours.

SAGE in words: its five tasks, how often noise stays above changed meaning, and who leads which task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from embassay.document.blocks import (
    Block,
    Column,
    Figure,
    Heading,
    LabelledTableRow,
    ParagraphBlock,
    Part,
    Sentence,
    StyledBlockGroup,
    StyledWords,
    Table,
    TableCell,
    VerdictText,
    choose_diverging_heat_step,
    convert_sentence_to_text,
    join_names_with_and,
)
from embassay.document.marks import (
    LinearScale,
    draw_axis_labels,
    draw_grey_ticks,
    draw_interval_mark,
    draw_reference_label,
    fit_axis_scale,
)
from embassay.document.plots import (
    HEIGHT,
    LEFT,
    MOST_LINES,
    WIDE,
    PlotLine,
    compute_plot_y_position,
    draw_grid_bands_lines_and_points,
    draw_line_legend_sign,
    draw_line_names,
    draw_scale_labels,
    make_system_plot_lines,
)
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import (
    Claim,
    describe_leaders_beating_baselines,
    make_count_claim,
    make_leader_claims,
)
from embassay.protocols.sage.tables import GROUPS, SageTable, make_sage_tables
from embassay.protocols.sage.tasks import RETRIEVAL_EDITS
from embassay.records import ResultRow
from embassay.report.board import (
    TOP,
    BoardRow,
    BoardTask,
    BoardValue,
    SystemBoard,
    WantedColumn,
    collect_values_and_ends,
    count_items_of_system_score,
    find_task_value,
    list_possible_leaders_above_reference,
    make_missing_board_value,
    make_system_table_row,
)
from embassay.report.cards.findings import find_reference_line_score
from embassay.report.record import OVERALL, RunRecord

TASKS = (
    BoardTask(
        "preference", "Human preference", "Preference", "human_preference", "agreement with people",
        "comparisons and ratings",
        "agrees best with people",
        "Comparisons: the more similar of two summaries is predicted to be the one that people chose; "
        "the figures are accuracy, precision, recall and F1. Ratings: Pearson correlation between similarity and "
        "rating on each axis, rescaled as (r + 1) / 2. The score is the mean of the two parts, each of which is the "
        "mean of its figures.",
        "0.5 means chance for accuracy and no correlation for ratings; it is not half of the maximum.",
        0.5, "chance",
    ),
    BoardTask(
        "robustness", "Robustness", "Robustness", "robustness", "mean of three shares",
        "documents",
        "is the most robust",
        "Each document has three superficial edits (capitals, deleted letters, digits for letters), three"
        " edits that change its meaning (negation, shuffled sentences, shuffled words) and its summary. "
        "Three relations are checked per document, all strict: the summary is more similar than every meaning "
        "change; every superficial edit is more similar than the summary; and every superficial edit is more "
        "similar than every meaning change. The score is the mean of the three shares.",
        "A system that only ignores noise already scores 0.333.",
        1 / 3, "one of three",
    ),
    BoardTask(
        "sensitivity", "Sensitivity", "Sensitivity", "sensitivity", "1 − mean error against the expectation",
        "documents",
        "is the most sensitive",
        "A needle text is inserted, or a span removed, at three sizes and three positions. Similarity is "
        "expected to be 1 / (1 + p) when a share p of the tokens is inserted or removed. The score is 1 −"
        " the mean distance from that value, over insertions and removals.",
        "An insensitive system does not score 0: a constant 1 scores 0.683, and a constant two thirds scores 0.881.",
        None, "always 1", "constant",
    ),
    BoardTask(
        "clustering", "Clustering", "Clustering", "v_measure", "V-measure",
        "texts",
        "clusters best",
        "Complete linkage on 1 − similarity, with as many clusters as there are labels. The score is the"
        " V-measure against the labels, averaged over sets, then over datasets.",
        "Random clusterings of small sets score above 0: V-measure is not corrected for chance.",
        None, "random", "random",
    ),
    BoardTask(
        "retrieval", "Retrieval", "Retrieval", "retention", "share of nDCG@10 kept",
        "queries",
        "keeps most of its retrieval",
        "Each document has {copies}. The score is nDCG@10 on the corpus with all copies (none of them"
        " relevant) as a share of nDCG@10 on the clean corpus. Also shown: the share kept "
        "when the corpus is replaced by one perturbed version, and the harmonic mean of these.",
        "The score is a share of the system's own clean result, so a poor retriever can keep everything because it has "
        "little to lose.",
        None, "random", "random",
    )
)  # fmt: skip
BEYOND = (
    BoardTask(
        "attack", "Attack", "Attack", "withstood", "share of orders kept", "orders", "withstands most attacks",
        "A search adds small errors to the words of a pair that people call similar until the system prefers a "
        "dissimilar pair or the budget is spent. The score is the share of orders that are not flipped.",
        "Only orders that the system gets right are attacked, so a weak system is attacked on easy orders.",
        None, "random", "random",
    ),
    BoardTask(
        "guards", "Guards", "Guards", "kept", "share of nDCG@10 kept without a guard", "queries", "keeps most "
            "without a guard",
        "Questions, or documents, are damaged by each edit. The score is the share of the clean nDCG@10 kept "
        "without a guard, over the edits; the table sage_guards shows the share kept behind each guard.",
        "A poor retriever can keep everything because it has little to lose.", None, "random", "random",
    )
)  # fmt: skip
"""Tasks that a run does where it is told to, and that are no part of the overall score."""
_MANY = 4
"""Edits that are named one by one."""


def describe_tasks(record: RunRecord) -> tuple[BoardTask, ...]:
    """Describe the SAGE tasks of a run, which may have searched some perturbed versions only."""
    edits = describe_perturbed_copy_count(record)
    shown = (*TASKS, *(task for task in BEYOND if record.datasets(task.name)))
    return tuple(replace(task, how=task.how.replace("{copies}", edits)) for task in shown)


def describe_perturbed_copy_count(record: RunRecord) -> str:
    """How many perturbed copies of every document the run has searched."""
    rows = (row.variant for row in record.rows.values() if row.task == "retrieval")
    edits = dict.fromkeys(row.removeprefix("replaced:") for row in rows if row.startswith("replaced:"))
    every = len(RETRIEVAL_EDITS)
    if not edits or set(edits) == set(RETRIEVAL_EDITS):
        return f"{every} perturbed copies"
    named = f" ({', '.join(edits)})" if len(edits) <= _MANY else ""
    own = sum(edit in RETRIEVAL_EDITS for edit in edits)
    more = f" and {len(edits) - own} more" if own < len(edits) else ""
    return f"{own} of the paper's {every} perturbed copies{more}{named}"


BY_NAME = {task.name: task for task in (*TASKS, *BEYOND)}


RELATION = "superficial_over_semantic"
MOST_NAMES = 3


def sage_verdict(record: RunRecord, board: SystemBoard) -> VerdictText:
    """The verdict of the SAGE page."""
    noise, places = (tuple(_state_noise_above_change(record, board)), tuple(_make_task_leader_claims(record, board)))
    if not noise and not places:
        return VerdictText(("SAGE: no ranked system has finished a task",), ())
    leader = _state_single_leader(record, board)
    heading = _format_noise_claim_heading(noise[0]) if noise else _leader_heading(board, leader)
    lede = (*_say_noise_above_change_shares(record, board, noise), *_say_task_leaders(board, places))
    return VerdictText(heading, lede, (*noise, *places, *(() if noise else (leader,))))


def list_noise_above_change_shares(record: RunRecord, board: SystemBoard) -> list[ResultRow]:
    """How often noise stays above changed meaning: a row per ranked system and dataset with a value."""
    relations = (
        record.find("robustness", row.system.name, "share", dataset=dataset, variant=RELATION)
        for row in (*board.ranked, *board.unranked)
        for dataset in record.datasets("robustness")
    )
    return [row for row in relations if row is not None and row.value is not None]


def _state_noise_above_change(record: RunRecord, board: SystemBoard) -> Iterator[Claim]:
    """How many systems keep noise above changed meaning on most documents of a dataset, and whose share is the largest;
    none without values."""
    rows = list_noise_above_change_shares(record, board)
    if not rows:
        return
    half = {row.system for row in rows if (row.value or 0) > 0.5}
    where = " of a dataset" if len(record.datasets("robustness")) > 1 else ""
    yield make_count_claim("noise", len(half), len({row.system for row in rows}), where)
    most = max(rows, key=lambda row: row.value or 0)
    others = tuple(dict.fromkeys(row.system for row in rows if row.system != most.system))
    n = round((most.value or 0.0) * most.n)
    yield Claim(most.system, "most", "share", others, most.value, n=n, of=most.n, kind=most.dataset)


def _format_noise_claim_heading(claim: Claim) -> Sentence:
    keep, what = "ranks" if claim.n == 1 else "rank", "noise above changed meaning for most documents"
    if not claim.n:
        return (f"No system ranks {what}",)
    return (f"{claim.n} of {numbers.format_noun_count(claim.of, 'system')} {keep} {what}{claim.subject}",)


def _state_single_leader(record: RunRecord, board: SystemBoard) -> Claim:
    """Who alone may be first on the first task that has such a one; else of how many tasks none has."""
    for task in board.tasks:
        first = record.find_task_comparisons(task.name).first
        if len(first) == 1:
            return make_leader_claims(task.name, first, record.find_task_comparisons(task.name).systems)[0]
    return make_count_claim("leaders", 0, len(board.tasks))


def _leader_heading(board: SystemBoard, claim: Claim) -> Sentence:
    if claim.relation == "counts":
        return (f"SAGE: {numbers.format_noun_count(claim.of, 'task')}, no task with a single leader",)
    return (board.name_system_in_sentence(claim.subject), f" {BY_NAME[claim.measure].superlative}")


def _say_noise_above_change_shares(record: RunRecord, board: SystemBoard, claims: Sequence[Claim]) -> list[Sentence]:
    """The largest share of documents on which noise stays above changed meaning, and what caps the score."""
    if not claims:
        return []
    most = claims[-1]
    return [
        _say_largest_noise_above_change(record, board, most)
        if most.value
        else _say_no_noise_above_change(record, most),
        ("A system that only ignores noise already scores one third, so see the shares, not only the score.",),
    ]


def _say_largest_noise_above_change(record: RunRecord, board: SystemBoard, claim: Claim) -> Sentence:
    where = f" on {claim.kind}" if len(record.datasets("robustness")) > 1 else ""
    of = "documents" if claim.of < 100 else "of the documents"
    share = f"{numbers.format_share_with_count(claim.value or 0, claim.of)} {of}{where}"
    return (
        board.name_system_in_sentence(claim.subject),
        f" does best: it ranks every superficial edit above every meaning change for {share}.",
    )


def _say_no_noise_above_change(record: RunRecord, claim: Claim) -> Sentence:
    n = count_items_of_system_score(record, BY_NAME["robustness"], claim.subject)
    return (f"No system ranks every superficial edit above every meaning change for any of {n:,} documents.",)


def _make_task_leader_claims(record: RunRecord, board: SystemBoard) -> Iterator[Claim]:
    """Who may be first on the tasks that have ranks."""
    for task in board.tasks:
        scope = record.find_task_comparisons(task.name)
        if len(scope.systems) < 2:
            continue
        first = list_possible_leaders_above_reference(board, scope.first, task.name)
        below = len(scope.first) - len(first)
        yield from make_leader_claims(task.name, first, scope.systems, kind="place", below=below)


def _say_task_leaders(board: SystemBoard, claims: Sequence[Claim]) -> list[Sentence]:
    """Who may be first, tasks with the same answer together."""
    first_on: dict[str, list[Claim]] = {}
    for claim in claims:
        first_on.setdefault(claim.measure, []).append(claim)
    tasks_of: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for task, of_task in first_on.items():
        key = tuple(claim.subject for claim in of_task), describe_leaders_beating_baselines(of_task[0])
        tasks_of.setdefault(key, []).append(BY_NAME[task].short.lower())
    return [_say_leaders_of_tasks(board, *key, tasks) for key, tasks in tasks_of.items()]


def _say_leaders_of_tasks(board: SystemBoard, first: tuple[str, ...], left_out: str, tasks: list[str]) -> Sentence:
    where = convert_sentence_to_text(join_names_with_and(tasks))
    if len(first) > MOST_NAMES:
        return (
            f"{numbers.format_small_count_in_words(len(first)).capitalize()} "
            f"systems may be first on {where}{left_out}.",
        )
    names: list[Part] = [board.name_system_in_sentence(system) for system in first]
    return (
        "Only " if len(first) == 1 else "",
        *join_names_with_and(names, "or"),
        f" may be first on {where}{left_out}.",
    )


Printed = Callable[[float], str]
Pane = tuple[str, tuple[Block, ...]]


def format_two_decimals(value: float) -> str:
    """Format a share of a score, or a similarity, with two decimals for a heat cell."""
    return numbers.format_score(value, 2)


def dataset_heat_tables(
    record: RunRecord, board: SystemBoard, task: str, columns: Sequence[WantedColumn],
    printed: Printed = numbers.format_percent, *, name: str, title: str
) -> Iterator[Pane]:  # fmt: skip
    """A heat table per dataset of the task, under how many items it rests on; columns without any row are left out."""
    for i, dataset in enumerate(record.datasets(task)):
        rows = board.sort_rows_by_score_on_task(task)
        values = {
            (row.system.name, column): [
                record.find(task, row.system.name, column.measure, dataset=dataset, variant=variant)
                for variant in (column.variant, *column.below)
            ]
            for row in rows
            for column in columns
        }
        shown = [column for column in columns if any(values[row.system.name, column][0] is not None for row in rows)]
        if not shown:
            continue
        lines = []
        for place, row in enumerate(rows):
            summary = record.find(task, row.system.name, "similarity", dataset=dataset, variant="summary")
            middle = summary.value if summary is not None else None
            entries = [
                _heat_entry(record, task, dataset, row, values[row.system.name, column], printed, column, middle)
                for column in shown
            ]
            if not any(entry.exact for entry in entries):
                entries = [replace(entries[0], span=len(shown))]
            lines.append(make_system_table_row(row, tuple(entries), place, rows))
        ranked = {row.system.name for row in rows if row.system.ranked}
        stacks = [stack for (system, _), stack in values.items() if system in ranked]
        results = [result for stack in stacks for result in stack if result and result.value is not None]
        is_stacked = any(column.below for column in shown)
        table = Table(
            f"{name}-{i}", title, "System", tuple(Column(column.heading, None, "", column.group) for column in shown),
            tuple(lines), "heat stacked" if is_stacked else "heat", 3, is_titled=False,
            export="copy" if is_stacked else "yes", caption=f"{title}, {dataset}"
        )  # fmt: skip
        widest = _describe_widest_interval(results, printed is numbers.format_percent)
        yield dataset, (ParagraphBlock(_describe_item_counts(results) + widest), table)


def _heat_entry(
    record: RunRecord,
    task: str,
    dataset: str,
    row: BoardRow,
    stack: Sequence[ResultRow | None],
    printed: Printed,
    wanted: WantedColumn,
    summary: float | None,
) -> TableCell:
    """The ground, and the value that is sorted by, are those of the mean where several stand in the cell."""
    result = stack[0]
    values = [part.value for part in stack if part is not None and part.value is not None]
    if result is not None and len(values) == len(stack):
        # A cell without one of its values has no mean, as over the others it would be of something else.
        mean = sum(values) / len(values)
        shown = result if len(stack) == 1 else replace(result, value=mean, ci_low=None, ci_high=None)
        return TableCell(
            "\n".join(map(printed, values)),
            "",
            BoardValue("value", shown).exact,
            _pick_heat_step(mean, wanted, summary),
        )
    cells = [
        cell for cell in record.list_system_cells_of_task_by_dataset(task, row.system.name) if cell.dataset == dataset
    ]
    value = make_missing_board_value(record, cells, result)
    return TableCell(value.sentence, why=value.reason or value.text)


def _pick_heat_step(value: float, wanted: WantedColumn, summary: float | None) -> int:
    """The step of a value on a heat that diverges from what it should be."""
    if wanted.ideal is None:
        return 0
    if not isinstance(wanted.ideal, str):
        off = value - wanted.ideal
        return choose_diverging_heat_step(-off if wanted.is_less_better else off)
    if summary is None:
        return 0
    return choose_diverging_heat_step(value - summary if wanted.ideal == "above" else summary - value)


def _describe_item_counts(results: Sequence[ResultRow]) -> str:
    counts = sorted({result.n for result in results})
    if not counts:
        return "Nothing finished yet"
    if len(counts) == 1:
        return f"n = {numbers.format_count(counts[0])} per row"
    return f"n from {numbers.format_count(counts[0])} to {numbers.format_count(counts[-1])} per row"


def _describe_widest_interval(results: Sequence[ResultRow], in_percent: bool) -> str:
    halves = [
        (result.ci_high - result.ci_low) / 2
        for result in results
        if result.ci_low is not None and result.ci_high is not None
    ]
    if not halves:
        return "; no intervals."
    width = f"{100 * max(halves):.1f} points" if in_percent else numbers.format_score(max(halves))
    return f"; largest half-width of a 95% interval: {width}."


PAPER = ("sage_table1", "sage_table2", "sage_table3", "sage_table4", "sage_table5", "sage_table6")
SCOPES = {
    "Clustering": "clustering", "Human Pref.": "preference", "Robustness": "robustness",
    "Sensitivity": "sensitivity", "Retrieval": "retrieval", "Overall": OVERALL
}  # fmt: skip
MEASURES = {task.headline for task in BY_NAME.values()} | {OVERALL, "accuracy", "precision", "recall", "f1", "score"}
"""All that tables 1 to 6 are made of; a run has ten times as many rows."""


def paper_tables(record: RunRecord, board: SystemBoard) -> tuple[Table, ...]:
    """Tables 1 to 6, as far as the run has their tasks."""
    kinds = {system.name: system.kind for system in record.systems}
    rows = [row for row in record.rows.values() if row.measure in MEASURES and row.variant.count("=") == 0]
    by_name = {table.name: table for table in make_sage_tables(rows, kinds)}
    return tuple(
        _paper_table(record, board, by_name[name]) for name in PAPER if name in by_name and by_name[name].columns
    )


def _paper_table(record: RunRecord, board: SystemBoard, table: SageTable) -> Table:
    lines = tuple(
        LabelledTableRow(
            board.row(system).label,
            tuple(_make_score_entry_bold_if_best(record, board, table, system, i) for i in range(len(values))),
            group=heading,
        )
        for kind, heading in GROUPS
        for row_kind, system, values in _order_paper_rows(board, table)
        if row_kind == kind
    )
    columns = tuple(Column(name, style="num") for name in table.columns)
    return Table(table.name, table.title, "Model/Metric", columns, lines, "paper", 3, is_sortable=False, has_latex=True)


def _order_paper_rows(board: SystemBoard, table: SageTable) -> list[tuple[str, str, tuple[float | None, ...]]]:
    place = {row.system.name: i for i, row in enumerate(board.rows)}
    return sorted(table.rows, key=lambda row: place[row[1]])


def _make_score_entry_bold_if_best(
    record: RunRecord, board: SystemBoard, table: SageTable, system: str, place: int
) -> TableCell:
    """A value to three decimals or `n/a`; bold when it is the best or cannot be told apart from it."""
    exact = next(values for _, name, values in table.rows if name == system)[place]
    scope = _name_comparison_scope_of_column(record, table, place)
    bold = scope in record.scopes and system in record.find_task_comparisons(scope).best
    value = _find_system_score_in_scope(record, board, system, scope) if scope else None
    full = value.exact if value is not None else "" if exact is None else numbers.format_significant_digits(exact)
    text = "n/a" if exact is None else numbers.format_score(exact)
    return TableCell(
        text,
        exact=full,
        why="" if full else value.reason if value is not None and value.reason else "no value",
        bold=bold,
    )


def _name_comparison_scope_of_column(record: RunRecord, table: SageTable, place: int) -> str:
    """The scope whose tests cover a column: table 1's tasks, and table 4 when robustness has one dataset."""
    if table.name == "sage_table1":
        return SCOPES[table.columns[place]]
    return "robustness" if table.name == "sage_table4" and len(record.datasets("robustness")) == 1 else ""


def _find_system_score_in_scope(record: RunRecord, board: SystemBoard, system: str, scope: str) -> BoardValue | None:
    if scope == OVERALL:
        row = record.find(OVERALL, system, OVERALL)
        return BoardValue("value" if row is not None and row.value is not None else "undefined", row)
    if scope not in {task.name for task in board.tasks}:
        return None
    return find_task_value(record, record.systems_by_name[system], BY_NAME[scope])


def task_panels(record: RunRecord, board: SystemBoard) -> Iterator[Block]:
    """A panel for each task of the run."""
    for place, task in enumerate(board.tasks):
        rows = [
            (row, row.tasks[place])
            for row in board.sort_rows_by_score_on_task(task.name)
            if row.system.ranked and row.tasks[place].value is not None
        ]
        caution = (ParagraphBlock(task.caution),) if task.caution else ()
        heading = Heading(task.title, f"panel-{task.name}", 3)
        table = _task_score_table(record, task, rows)
        yield StyledBlockGroup(
            "panel", (heading, ParagraphBlock(_format_task_panel_subtitle(record, task, rows)), table, *caution)
        )


def _task_score_table(record: RunRecord, task: BoardTask, rows: Sequence[tuple[BoardRow, BoardValue]]) -> Table:
    """The systems of a task, those beyond the first twelve as ticks until asked for; a line at its trivial value."""
    trivial = find_reference_line_score(record, task)
    scale = fit_axis_scale(
        [*collect_values_and_ends(value for _, value in rows), *([] if trivial is None else [trivial])]
    )
    lines, foot = [], []
    for i, (row, value) in enumerate(rows):
        mark = draw_interval_mark(
            value.row, row.system.kind, scale, width=120, reference=trivial, few=value.few
        )  # fmt: skip
        entry = TableCell(
            (mark, value.text), style="grey" if value.few else "", bold=value.best and not value.few,
            title=value.interval or "no interval"
        )  # fmt: skip
        lines.append(
            LabelledTableRow(row.label, (entry,), row.system.kind, "more" if i >= TOP else "", row.system.name)
        )
    if rest := [value.value or 0.0 for _, value in rows[TOP:]]:
        foot.append(LabelledTableRow(f"{len(rest)} more", (TableCell((draw_grey_ticks(rest, scale),)),), style="rest"))
    if trivial is not None:
        label = draw_reference_label(trivial, f"{task.trivial_label} {numbers.format_score(trivial)}", scale)
        foot.append(LabelledTableRow("", (TableCell((label,)),)))
    return Table(
        "", task.title, "System", (Column((draw_axis_labels(scale, labels=2), "Value"), style="num"),), tuple(lines),
        "marks", 3,
        is_titled=False, is_sortable=False, export="", foot=tuple(foot)
    )  # fmt: skip


def _format_task_panel_subtitle(record: RunRecord, task: BoardTask, rows: Sequence[tuple[BoardRow, BoardValue]]) -> str:
    """What the value is, on which data, and how many items stand behind it."""
    datasets = record.datasets(task.name)
    where = numbers.format_noun_count(len(datasets), "dataset") if len(datasets) > 1 else datasets[0]
    counts = {count_items_of_system_score(record, task, row.system.name) for row, _ in rows}
    n = f", {numbers.format_count(counts.pop())} {task.items}" if len(counts) == 1 else ""
    return f"{task.unit}; {where}{n}"


ROOM = 16
"""Characters of a name that fit beside the plot, on a phone too."""
SIZES = {"insertion": (0.15, 0.5, 1.0), "removal": (0.15, 0.5, 0.9)}
TITLES = {"insertion": "text is inserted", "removal": "text is removed"}


@dataclass(frozen=True)
class SimilarityBySize:
    """A system's mean similarity at each size that has a value."""

    row: BoardRow
    points: tuple[tuple[float, ResultRow], ...]


def list_similarity_change_charts(record: RunRecord, board: SystemBoard) -> Iterator[Pane]:
    """The charts of each dataset that has values, one for each kind of change."""
    for dataset in record.datasets("sensitivity"):
        found = [(kind, _list_similarity_by_size_curves(record, board, dataset, kind)) for kind in SIZES]
        if charts := tuple(
            _draw_similarity_by_edit_size(kind, lines, linear=is_linear_curve_expected(record))
            for kind, lines in found
            if lines
        ):
            yield dataset, (StyledBlockGroup("two", charts),)


def is_linear_curve_expected(record: RunRecord) -> bool:
    """Whether the run was told to expect 1 - p instead of 1 / (1 + p) [A15]."""
    return (record.arguments.get("options") or {}).get("curve") == "linear"


def compute_expected_similarity_after_edit(size: float, *, linear: bool = False) -> float:
    """The similarity the protocol expects when a share `size` is inserted or removed."""
    return 1 - size if linear else 1 / (1 + size)


def select_best_and_worst_systems(rows: Sequence[SimilarityBySize]) -> tuple[SimilarityBySize, ...]:
    """At most four of the systems, ordered by score: the two best and the two worst."""
    return tuple(rows) if len(rows) <= MOST_LINES else (*rows[:2], *rows[-2:])


def _list_similarity_by_size_curves(
    record: RunRecord, board: SystemBoard, dataset: str, kind: str
) -> tuple[SimilarityBySize, ...]:
    courses = []
    for row in board.sort_rows_by_score_on_task("sensitivity"):
        if not row.system.ranked:
            continue
        results = [
            (size, record.find("sensitivity", row.system.name, "similarity", dataset=dataset,
                               variant=f"{kind}:p={size:g}"))
            for size in SIZES[kind]
        ]  # fmt: skip
        points = tuple((size, row) for size, row in results if row is not None and row.value is not None)
        if points:
            courses.append(SimilarityBySize(row, points))
    return select_best_and_worst_systems(courses)


def _draw_similarity_by_edit_size(kind: str, lines: tuple[SimilarityBySize, ...], *, linear: bool) -> Figure:
    values = collect_values_and_ends(BoardValue("value", result) for line in lines for _, result in line.points)
    y = fit_axis_scale([*values, 1.0, 0.0])
    tracks = make_system_plot_lines([(line.row.system.kind, line.points) for line in lines], y)
    after = ("expected", compute_plot_y_position(y, compute_expected_similarity_after_edit(1.0, linear=linear)))
    parts = [
        draw_scale_labels(y),
        draw_grid_bands_lines_and_points(tracks, y, _draw_expected_similarity_curve(y, linear=linear)),
        _draw_size_axis(SIZES[kind]),
        draw_line_names(tracks, [line.row.label for line in lines], plain=[after]),
    ]
    svg = Markup(f'<svg class="curve" height="{HEIGHT + 40}">{"".join(parts)}</svg>')
    small = f"n = {numbers.format_count(lines[0].points[0][1].n)}"
    return Figure(
        f"As {TITLES[kind]}", svg, _describe_similarity_curves(kind, lines), small, legend=_curve_legend(lines, tracks)
    )


def _curve_legend(lines: Sequence[SimilarityBySize], tracks: Sequence[PlotLine]) -> tuple[Sentence, ...]:
    """Markers with names, when a name is too long to stand whole at the end of its line."""
    if all(len(line.row.label) <= ROOM for line in lines):
        return ()
    signs = (Markup(f'<svg viewBox="-12 -7 24 14">{draw_line_legend_sign(track)}</svg>') for track in tracks)
    return tuple((drawn, " ", StyledWords(line.row.label, "bdi")) for drawn, line in zip(signs, lines, strict=True))


def _describe_similarity_curves(kind: str, lines: Sequence[SimilarityBySize]) -> str:
    ends = "; ".join(f"{line.row.label} {numbers.format_score(line.points[-1][1].value or 0.0, 2)}" for line in lines)
    return f"Mean similarity as {TITLES[kind]}. At the largest size: {ends}."


def _draw_expected_similarity_curve(y: LinearScale, *, linear: bool) -> str:
    steps = [i / 20 for i in range(21)]
    points = " ".join(
        f"{100 * p:.0f},{compute_plot_y_position(y, compute_expected_similarity_after_edit(p, linear=linear))}"
        for p in steps
    )
    return f'<polyline class="expected" points="{points}"/>'


def _draw_size_axis(sizes: Sequence[float]) -> str:
    ticks = "".join(
        f'<text x="{LEFT + WIDE * size:.2f}%" y="{HEIGHT + 24}" '
        f'text-anchor="middle">{numbers.format_percent(size)}</text>'
        for size in (0.0, *sizes)
    )
    return f'{ticks}<text x="{LEFT + WIDE / 2}%" y="{HEIGHT + 39}" text-anchor="middle">share of the tokens</text>'
