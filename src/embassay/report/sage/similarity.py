"""The SAGE page: panels, why robustness is low, curves, what survives in retrieval; and what SAGE says on a card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from embassay.document.blocks import (
    Block,
    CollapsibleBlocks,
    CommandInSentence,
    Heading,
    PageFactsLine,
    PageLink,
    ParagraphBlock,
    StyledBlockGroup,
    TabbedBlocks,
)
from embassay.protocols.kernel import tables as numbers
from embassay.records import ResultRow
from embassay.report.board import (
    BoardRow,
    SystemBoard,
    WantedColumn,
    make_blocks_of_missing_values,
    make_system_values_table,
)
from embassay.report.cards.findings import (
    SystemFinding,
    format_result_with_interval,
    format_share_with_count,
    keep_rows_with_value,
    make_finding,
)
from embassay.report.items import EDIT_WORDS, POSITIONS, SEMANTIC, SUPERFICIAL, describe_edit
from embassay.report.items import SIZES as SIZE_NAMES
from embassay.report.record import RunRecord
from embassay.report.runs import ReportRun
from embassay.report.sage.guards import iterate_text_damage_guard_blocks
from embassay.report.sage.tables import (
    BY_NAME,
    Pane,
    compute_expected_similarity_after_edit,
    dataset_heat_tables,
    describe_perturbed_copy_count,
    format_two_decimals,
    is_linear_curve_expected,
    list_similarity_change_charts,
    paper_tables,
    sage_verdict,
    task_panels,
)
from embassay.text import FURTHER, FURTHER_SUPERFICIAL

KINDS = {"insertion": "inserted", "removal": "removed"}
NOISE = (*SUPERFICIAL, *FURTHER_SUPERFICIAL)
CHANGED = (*SEMANTIC, *(edit for edit in FURTHER if edit not in NOISE))
"""Edits that keep and that change the meaning; a column that a run has not is left out."""
SHARES = tuple(
    WantedColumn(heading, "share", variant, ideal=1.0)
    for heading, variant in (
        ("Summary over meaning change", "summary_over_semantic"),
        ("Noise over summary", "superficial_over_summary"),
        ("Noise over meaning change", "superficial_over_semantic"),
        ("All three", "all_three"),
    )
)
SIMILARITIES = (
    *(WantedColumn(EDIT_WORDS[edit], "similarity", edit, "noise", ideal="above") for edit in NOISE),
    WantedColumn("summary", "similarity", "summary", "shorter"),
    *(WantedColumn(EDIT_WORDS[edit], "similarity", edit, "meaning changed", ideal="below") for edit in CHANGED),
)
SIDES = (
    *(WantedColumn(EDIT_WORDS[edit], "above_summary", edit, "above the summary", ideal=1.0) for edit in NOISE),
    *(WantedColumn(EDIT_WORDS[edit], "below_summary", edit, "below the summary", ideal=1.0) for edit in CHANGED),
)


def insertion_removal_columns(
    measure: str, prefix: str, sizes: int, ideal: Callable[[float], float]
) -> tuple[WantedColumn, ...]:
    """Columns for insertions and removals at the first `sizes` sizes, the positions one below the other; `ideal` gives
    what the value of a size should be."""
    is_less_better = measure == "similarity"
    return tuple(
        WantedColumn(
            numbers.format_percent(float(p)),
            measure,
            variants[0],
            KINDS[kind],
            variants[1:],
            ideal=ideal(float(p)),
            is_less_better=is_less_better,
        )
        for kind in SIZE_NAMES
        for p in SIZE_NAMES[kind][:sizes]
        for variants in [tuple(f"{prefix}{kind}:p={p},q={q}" for q in POSITIONS)]
    )


def similarity_by_size_columns(record: RunRecord) -> tuple[WantedColumn, ...]:
    """Columns for the mean over positions at each size, with the similarity expected there."""
    linear = is_linear_curve_expected(record)
    return tuple(
        WantedColumn(
            f"{numbers.format_percent(float(p))}, expected "
            f"{format_two_decimals(compute_expected_similarity_after_edit(float(p), linear=linear))}",
            "similarity",
            f"{kind}:p={p}",
            KINDS[kind],
            ideal=compute_expected_similarity_after_edit(float(p), linear=linear),
            is_less_better=True,
        )
        for kind, sizes in SIZE_NAMES.items()
        for p in sizes
    )


def make_similarity_size_position_columns(linear: bool) -> tuple[WantedColumn, ...]:
    """Columns for each size and position; `linear` is the curve that is expected."""
    return insertion_removal_columns(
        "similarity", "", 3, partial(compute_expected_similarity_after_edit, linear=linear)
    )


RETAINED = (
    WantedColumn("with all copies", "retention", "augmented", "kept", ideal=1.0),
    WantedColumn("harmonic mean", "retention", "replaced", "kept", ideal=1.0),
    *(WantedColumn(EDIT_WORDS[edit], "retention", f"replaced:{edit}", "noise", ideal=1.0) for edit in NOISE),
    *(
        WantedColumn(EDIT_WORDS[edit], "retention", f"replaced:{edit}", "meaning changed", ideal=1.0)
        for edit in CHANGED
    ),
    *insertion_removal_columns("retention", "replaced:", 2, lambda _: 1.0),
)


def sage_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a run; nothing when no task has finished a cell."""
    record, board = run.record, run.board
    if not any(cell.status == "done" for cell in record.cells):
        return
    yield _make_sage_facts_line(record, board)
    yield sage_verdict(record, board)
    tasks = "tasks" if len(board.tasks) > 1 else "task"
    yield Heading(f"{numbers.format_small_count_in_words(len(board.tasks)).capitalize()} {tasks}", "sage-tasks")
    yield ParagraphBlock(
        "Each panel has its own scale, shown above it. Best first. Tick: estimate; bar: 95% "
        "interval. Dashed line: score of a trivial answer. Higher is better."
    )
    yield StyledBlockGroup("panels", (*task_panels(record, board), *make_blocks_of_missing_values(record, board)))
    yield from _robustness_blocks(record, board, alone)
    yield from _iterate_similarity_change_blocks(record, board, alone)
    yield from _retrieval_blocks(record, board)
    yield from iterate_text_damage_guard_blocks(record.path, heading=True)
    yield from _tables_with_heading(
        _tables_per_dataset(record, board, "preference", _preference_columns, "Human preference"),
        Heading("What people prefer", "sage-preference"),
        "Comparisons: the more similar of two summaries is predicted to be the one that people chose. Ratings: "
        "Pearson’s r between similarity and human rating, rescaled as (r + 1) / 2; 0.5 means no correlation.",
    )
    yield from _tables_with_heading(
        _iterate_headline_tables_by_dataset(record, board),
        Heading("By dataset", "sage-datasets"),
        "The headline score of each task on each dataset; the task’s score is their mean.",
        "Task",
    )
    yield from _paper_layout_blocks(record, board, alone)


def _tables_with_heading(panes: Iterator[Pane], heading: Heading, how: str, label: str = "Dataset") -> Iterator[Block]:
    """A heading, how to read what follows, and a table per dataset; nothing where no dataset has one."""
    if blocks := tuple(panes):
        yield heading
        yield ParagraphBlock(how)
        yield TabbedBlocks(label, blocks)


def _robustness_blocks(record: RunRecord, board: SystemBoard, alone: bool) -> Iterator[Block]:
    heat = partial(dataset_heat_tables, record, board, "robustness")
    yield from _tables_with_heading(
        heat(SHARES, name="shares", title="Robustness shares"),
        Heading("Why robustness is low", "sage-robustness"),
        "Share of documents for which each order of similarity holds; comparisons are strict. Robustness is the mean "
        "of the first three columns. Background: the darker, the further from 100%.",
    )
    yield from _tables_with_heading(
        heat(SIMILARITIES, format_two_decimals, name="edits", title="Similarity by edit"),
        Heading("Which edits change similarity"),
        "Mean similarity of each version to the original (1 for the original itself). Noise should stay above the "
        "summary, and changed meaning below it. Background: blue is the correct side of the summary, amber the "
        "wrong side; darker is further away.",
    )
    if alone:
        yield from _tables_with_heading(
            heat(SIDES, name="sides", title="Share of documents on the correct side of the summary"),
            Heading("On the correct side of the summary", level=3),
            "Share of documents for which the edit is on the correct side of the summary.",
        )


def _iterate_similarity_change_blocks(record: RunRecord, board: SystemBoard, alone: bool) -> Iterator[Block]:
    drawn = tuple(list_similarity_change_charts(record, board))
    if not drawn:
        return
    heat = partial(dataset_heat_tables, record, board, "sensitivity")
    yield Heading("Does similarity fall as text is added or lost?", "sage-sensitivity")
    yield ParagraphBlock(
        "Mean similarity to the original, with its 95% band, for at most four systems: the two best and the two worst. "
        "Dashed: the curve that the protocol expects. All systems are in the table "
        f"{'below' if alone else 'by size and position'}."
    )
    yield TabbedBlocks("Dataset", drawn)
    if alone:
        sizes = heat(similarity_by_size_columns(record), format_two_decimals, name="sizes", title="Similarity by size")
        yield CollapsibleBlocks("All systems by size", (TabbedBlocks("Dataset", tuple(sizes)),))
    yield from _tables_with_heading(
        heat(
            make_similarity_size_position_columns(is_linear_curve_expected(record)),
            format_two_decimals,
            name="positions",
            title="Similarity by size and position",
        ),
        Heading("By size and position", level=3),
        "Mean similarity to the original. In each cell, from top to bottom: changed at the start, in the middle, at "
        "the end. Background, by the mean of the three: amber is more similar than expected, blue less; darker is "
        "further away.",
    )
    yield from _tables_with_heading(
        _tables_per_dataset(record, board, "sensitivity", _list_similarity_sensitivity_columns, "Sensitivity"),
        Heading("Score, calibrated score, and falling at every step", level=3),
        "Calibrated: after applying the monotone map that best fits the expected curve, fitted on the other half "
        "of the documents. It shows how much of the score is due only to the scale of the cosine. Falls "
        "at every step: share of documents whose similarity falls strictly with each increase in size.",
    )


def _retrieval_blocks(record: RunRecord, board: SystemBoard) -> Iterator[Block]:
    yield from _tables_with_heading(
        dataset_heat_tables(
            record, board, "retrieval", RETAINED, format_two_decimals, name="retained", title="Share of nDCG@10 kept"
        ),
        Heading("Retrieval kept, by perturbation", "sage-retrieval"),
        "nDCG@10 as a share of nDCG@10 on the clean corpus. With all copies: the corpus also contains "
        f"{describe_perturbed_copy_count(record)} of every document, none of them relevant (the headline). All other "
        "columns: the corpus is replaced by one perturbed version; the harmonic mean of these columns is shown with "
        "the headline. Three values in a cell: changed at the start, in the middle, at the end. Background: "
        "darker means a larger loss; blue means that more is found than in the clean corpus.",
    )
    yield from _tables_with_heading(
        _tables_per_dataset(record, board, "retrieval", _ndcg_columns, "nDCG@10"),
        Heading("nDCG@10 itself", level=3),
        "Ties: share of queries with ties in the top ten; in a tie, the original ranks before its copies.",
    )


def _paper_layout_blocks(record: RunRecord, board: SystemBoard, alone: bool) -> Iterator[Block]:
    if not (printed := paper_tables(record, board)):
        return
    yield Heading("In the paper’s layout", "sage-paper")
    if not alone:
        folder = CommandInSentence("tables/")
        yield ParagraphBlock(("Tables 1 to 6 are in this run's own report, and in its folder ", folder, "."))
        return
    those = ", tasks of this run" if len(board.tasks) < 5 else ""
    yield ParagraphBlock(
        "Three decimals. Bold: the best value and all not told apart from it, if the run has tests (table "
        f"1{those}); elsewhere, nothing is bold. If a table names no dataset, values are means over datasets."
    )
    yield from printed


def _make_sage_facts_line(record: RunRecord, board: SystemBoard) -> PageFactsLine:
    datasets = {name for task in board.tasks for name in record.datasets(task.name)}
    return PageFactsLine(
        (
            "SAGE",
            numbers.format_noun_count(len(board.tasks), "task"),
            numbers.format_noun_count(len(datasets), "dataset") if len(datasets) > 1 else next(iter(datasets), ""),
            numbers.format_noun_count(len(record.list_non_reference_systems), "system"),
        ),
        (PageLink("the paper’s tables", "sage-paper"), PageLink("how to read this", "reading-sage")),
    )


def _tables_per_dataset(
    record: RunRecord, board: SystemBoard, name: str, columns: Callable[[RunRecord], Sequence[WantedColumn]], title: str
) -> Iterator[Pane]:
    """One table per dataset of a task."""
    task = BY_NAME[name]
    for i, dataset in enumerate(record.datasets(name)):
        wanted = [replace(column, dataset=dataset) for column in columns(record)]
        table = make_system_values_table(
            record, board, task, wanted, name=f"{name}-{i}", title=f"{title}, {dataset}", is_shaded=True
        )
        if table is not None:
            yield dataset, (table,)


def _list_similarity_sensitivity_columns(_: RunRecord) -> list[WantedColumn]:
    measures = {
        "sensitivity": "{}: score",
        "sensitivity_calibrated": "{}: score after calibration",
        "falls_at_every_step": "{}: falls at every step",
    }
    return [
        WantedColumn(words.format(kind.capitalize()), measure, kind)
        for kind in SIZE_NAMES
        for measure, words in measures.items()
    ]


def _ndcg_columns(_: RunRecord) -> list[WantedColumn]:
    return [
        WantedColumn("nDCG@10, clean corpus", "ndcg@10", "original"),
        WantedColumn("nDCG@10, with all copies", "ndcg@10", "augmented"),
        WantedColumn("share of rankings with ties", "tie_share", "augmented", is_less_better=True),
    ]


def _preference_columns(record: RunRecord) -> list[WantedColumn]:
    axes = dict.fromkeys(
        row.variant for row in record.rows.values() if (row.task, row.measure) == ("preference", "score")
    )
    figures = {"accuracy": "Accuracy", "precision": "Precision", "recall": "Recall", "f1": "F1"}
    return [
        *(WantedColumn(heading, measure) for measure, heading in figures.items()),
        WantedColumn("Share of ties", "tie_share", is_less_better=True),
        *(WantedColumn(f"Rating: {axis}", "score", axis) for axis in axes),
    ]


def _iterate_headline_tables_by_dataset(record: RunRecord, board: SystemBoard) -> Iterator[Pane]:
    """Headline scores by dataset, for each task that has more than one."""
    for task in board.tasks:
        wanted = [WantedColumn(dataset, task.headline, dataset=dataset) for dataset in record.datasets(task.name)]
        name, title = f"by-dataset-{task.name}", f"By dataset, {task.title}"
        table = (
            make_system_values_table(record, board, task, wanted, name=name, title=title) if len(wanted) > 1 else None
        )
        if table is not None:
            yield task.title, (table,)


RELATION = "superficial_over_semantic"
REPLACED = "replaced:"
ENOUGH = 0.5
"""A share of documents under one half is told of."""


def find_edit_system_withstands_best(run: ReportRun, row: BoardRow) -> Iterator[SystemFinding]:
    """Find a system's strength: the edit under which it keeps more of its retrieval than any other."""
    record, name = run.record, row.system.name
    others = [system.name for system in record.list_non_reference_systems if system.name != name]
    ahead: list[tuple[float, ResultRow]] = []
    for result in _list_retention_results(record, name):
        rivals = keep_rows_with_value(
            [_find_retrieval_retention_row(record, other, result.variant, result.dataset) for other in others]
        )
        if rivals and (result.value or 0.0) > max(rival.value or 0.0 for rival in rivals):
            ahead.append(((result.value or 0.0) - max(rival.value or 0.0 for rival in rivals), result))
    if ahead:
        _, most = max(ahead, key=lambda pair: pair[0])
        clause = (
            f"keeps {format_result_with_interval(most)} of its nDCG@10 when documents are "
            f"{_describe_row_edit(most)}{_format_dataset_suffix_if_several(record, most)}, the highest of all systems; "
            "no test compares these values"
        )
        yield make_finding(run, clause, weight=1, place="sage-retrieval")


def find_edit_weaknesses(run: ReportRun, row: BoardRow) -> Iterator[SystemFinding]:
    """Find a system's weaknesses: how often noise is below changed meaning, what retrieval loses to."""
    record, name = run.record, row.system.name
    relation = _find_lowest_robustness_row(
        record, lambda dataset: [_find_robustness_result(record, name, dataset, "share", RELATION)]
    )
    if relation is not None and (relation.value or 0.0) < ENOUGH:
        clause = f"keeps every kind of noise above every change of meaning for {_format_share_with_only(relation)}"
        yield make_finding(
            run, clause + _format_dataset_suffix_if_several(record, relation), weight=5, place="sage-robustness"
        )
    noise = _find_lowest_robustness_row(
        record,
        lambda dataset: [_find_robustness_result(record, name, dataset, "above_summary", e) for e in SUPERFICIAL],
    )
    if noise is not None and (noise.value or 0.0) < ENOUGH:
        clause = (
            f"rates copies {NOISY[noise.variant]} no closer than a summary for "
            f"{_format_uncounted_document_share(noise)}"
        )
        yield make_finding(
            run, clause + _format_dataset_suffix_if_several(record, noise), weight=3, place="sage-robustness"
        )
    meaning = _find_lowest_robustness_row(
        record, lambda dataset: [_find_robustness_result(record, name, dataset, "below_summary", e) for e in SEMANTIC]
    )
    if meaning is not None and (meaning.value or 0.0) < ENOUGH:
        rated = f"rates copies {NOISY[meaning.variant]} at least as close as a summary"
        clause = f"{rated} for {_format_uncounted_document_share(meaning)}"
        yield make_finding(
            run, clause + _format_dataset_suffix_if_several(record, meaning), weight=3, place="sage-robustness"
        )
    kept = _list_retention_results(record, name)
    if kept:
        least = min(kept, key=lambda result: result.value or 0.0)
        where = f"when documents are {_describe_row_edit(least)}{_format_dataset_suffix_if_several(record, least)}"
        clause = f"keeps the smallest share of its nDCG@10, {format_result_with_interval(least)}, {where}"
        yield make_finding(run, clause, weight=2, place="sage-retrieval")


def _find_robustness_result(
    record: RunRecord, system: str, dataset: str, measure: str, variant: str
) -> ResultRow | None:
    return record.find("robustness", system, measure, dataset=dataset, variant=variant)


def _format_share_with_only(row: ResultRow) -> str:
    """`only 4 of 48 (8%) documents`, `none of 48 documents`."""
    return (
        f"only {format_share_with_count(row)} {'of the ' * (row.n >= 100)}documents"
        if round((row.value or 0.0) * row.n)
        else f"none of {numbers.format_count(row.n)} documents"
    )


def _format_uncounted_document_share(row: ResultRow) -> str:
    """The share of documents that are not counted: `44 of 48 (92%) documents`, `all 48 documents`."""
    rest = 1.0 - (row.value or 0.0)
    return (
        f"{numbers.format_share_with_count(rest, row.n)} {'of the ' * (row.n >= 100)}documents"
        if round(rest * row.n) < row.n
        else f"all {numbers.format_count(row.n)} documents"
    )


def _find_lowest_robustness_row(
    record: RunRecord, rows: Callable[[str], Sequence[ResultRow | None]]
) -> ResultRow | None:
    """The row with the lowest value over the datasets of robustness."""
    values = keep_rows_with_value([row for dataset in record.datasets("robustness") for row in rows(dataset)])
    return min(values, key=lambda row: row.value or 0.0) if values else None


def _find_retrieval_retention_row(record: RunRecord, system: str, variant: str, dataset: str) -> ResultRow | None:
    return record.find("retrieval", system, "retention", dataset=dataset, variant=variant)


def _list_retention_results(record: RunRecord, system: str) -> list[ResultRow]:
    """What is kept under each edit of the corpus, on every dataset."""
    return [
        row
        for (task, dataset, _, variant, name, measure), row in record.rows.items()
        if (task, name, measure) == ("retrieval", system, "retention")
        and dataset and variant.startswith(REPLACED) and row.value is not None
    ]  # fmt: skip


NOISY = {
    "capitalize": "in capitals", "delete10": "without every tenth letter", "numerize": "with digits for letters",
    "negate": "with negations", "sentence_shuffle": "with shuffled sentences", "word_shuffle": "with shuffled words"
}  # fmt: skip
EDITED = {
    "capitalize": "in capitals", "delete10": "missing every tenth letter",
    "numerize": "with digits instead of letters",
    "negate": "negated", "sentence_shuffle": "shuffled by sentences", "word_shuffle": "shuffled by words"
}  # fmt: skip


def _describe_row_edit(row: ResultRow) -> str:
    edit = row.variant.removeprefix(REPLACED)
    return EDITED.get(edit) or f"changed, {describe_edit(edit)}"


def _format_dataset_suffix_if_several(record: RunRecord, row: ResultRow) -> str:
    return f" ({row.dataset})" if len(record.datasets(row.task)) > 1 else ""
