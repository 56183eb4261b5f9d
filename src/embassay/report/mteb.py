"""The page of imported results of MTEB: scores as they were published, without items and so without tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.document.blocks import (
    Block,
    Heading,
    LabelledTableRow,
    PageFactsLine,
    ParagraphBlock,
    Sentence,
    SystemNameInSentence,
    Table,
    TableCell,
    VerdictText,
)
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim
from embassay.protocols.kernel.tables import SCORE
from embassay.records import ResultRow
from embassay.report.board import SystemBoard
from embassay.report.notes import list_run_notes, show_gravest_notes
from embassay.report.record import OVERALL, RunRecord
from embassay.report.runs import ReportRun

MAIN = "main_score"
UNPAIRED = "from the published intervals, with unpaired tests, because published scores lack item-level results"
MOST_ROWS, MOST_COLUMNS = 300, 24
"""Systems and tasks in a table; all are in results.jsonl."""


def mteb_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a run: means by type of task, then every task, a table per type."""
    del alone
    record = run.record
    types, names, notes = _list_task_types(record), _sort_systems_by_mean(record), list_run_notes(record)
    yield PageFactsLine.of(
        "mteb", "MTEB, published results", numbers.format_noun_count(len(names), "system"),
        numbers.format_noun_count(sum(len(record.datasets(kind)) for kind in types), "task"),
        numbers.format_date(record.manifest.get("updated", ""))
    )  # fmt: skip
    yield mteb_verdict(record, run.board)
    yield from show_gravest_notes(notes, run.mark)
    yield from map(ParagraphBlock, _note_left_out_results(record, names, types))
    yield Heading("Main scores", "mteb-tables")
    yield ParagraphBlock(
        "Scores as published; higher is better. Systems are ordered by their mean over all tasks, and those with a "
        "missing task come last. A mean over task types is not a score for any of them."
    )
    if means := _means_table(record, names, types):
        yield means
    yield from (_scores_by_task_table(record, names, kind) for kind in types)


def mteb_verdict(record: RunRecord, _: SystemBoard) -> VerdictText:
    """How much was published, and whose mean is the highest: a fact, no finding."""
    tasks = sum(len(record.datasets(kind)) for kind in _list_task_types(record))
    heading = (
        f"{numbers.format_noun_count(len(_sort_systems_by_mean(record)), 'system')} on "
        f"{numbers.format_noun_count(tasks, 'task')}, as published"
    )
    untested = (
        "Published scores lack item-level results, so there is no interval, no test and no rank."
        if not record.find_task_comparisons(OVERALL).pairs
        else f"Ranks are {UNPAIRED}.",
    )
    claims = _state_highest_mean(record)
    return VerdictText((heading,), (*_say_highest_mean(record, claims), untested), claims)


def _state_highest_mean(record: RunRecord) -> tuple[Claim, ...]:
    """Whose mean over all tasks is the highest, of two systems or more that have one."""
    values = {
        system.name: row.value for system in record.systems
        if (row := record.find(OVERALL, system.name, OVERALL)) is not None and row.value is not None
    }  # fmt: skip
    if len(values) < 2:
        return ()
    best = max(values, key=lambda name: values[name])
    others = tuple(name for name in values if name != best)
    return (Claim(best, "most", OVERALL, others, values[best], of=len(values)),)


def _say_highest_mean(record: RunRecord, claims: Sequence[Claim]) -> Iterator[Sentence]:
    label = record.system_labels
    for claim in claims:
        of, value = (numbers.format_noun_count(claim.of, "system"), SCORE.format_value_in_text(claim.value or 0.0))
        who = SystemNameInSentence(label[claim.subject], record.systems_by_name[claim.subject].index)
        yield (f"Among {of} with a score on every task, ", who, f" has the highest mean: {value}.")


def _list_task_types(record: RunRecord) -> tuple[str, ...]:
    """The types of task, in the order of the rows."""
    return tuple(dict.fromkeys(key[0] for key in record.rows if key[0] != OVERALL))


def _sort_systems_by_mean(record: RunRecord) -> list[str]:
    """The systems with results: by their mean over all tasks, then those without one."""
    means = {system.name: record.value(OVERALL, system.name, OVERALL) for system in record.systems}
    having = {key[4] for key, row in record.rows.items() if row.value is not None}
    names = [name for name in means if name in having]
    return sorted(names, key=lambda name: (means[name] is None, -(means[name] or 0.0)))


def _means_table(record: RunRecord, names: Sequence[str], types: Sequence[str]) -> Table | None:
    """A row per system: the mean over all tasks, and by type where the run has it."""
    columns = [(OVERALL, OVERALL, "All tasks")]
    columns += [
        (kind, MAIN, _format_task_type(kind)) for kind in types if any(record.find(kind, name, MAIN) for name in names)
    ]
    if len(columns) < 2 and not any(record.find(OVERALL, name, OVERALL) for name in names):
        return None
    rows = {name: [record.find(task, name, measure) for task, measure, _ in columns] for name in names[:MOST_ROWS]}
    return _scores_table(record, "mteb-means", "Means over tasks", [title for _, _, title in columns], rows)


def _scores_by_task_table(record: RunRecord, names: Sequence[str], kind: str) -> Table:
    datasets = record.datasets(kind)[:MOST_COLUMNS]
    rows = {
        name: [record.find(kind, name, MAIN, dataset=dataset) for dataset in datasets] for name in names[:MOST_ROWS]
    }
    filled = {name: row for name, row in rows.items() if any(result is not None for result in row)}
    return _scores_table(record, f"mteb-{kind.replace('_', '-')}", _format_task_type(kind), list(datasets), filled)


def _scores_table(
    record: RunRecord, id: str, title: str, columns: Sequence[str], rows: dict[str, list[ResultRow | None]]
) -> Table:
    label = record.system_labels
    lines = tuple(
        LabelledTableRow(
            label[name], tuple(_make_published_score_cell(row) for row in row_of), record.systems_by_name[name].kind
        )
        for name, row_of in rows.items()
    )
    return Table(id, title, "System", tuple(columns), lines, digits=3)


def _make_published_score_cell(row: ResultRow | None) -> TableCell:
    """A score; with its interval where a run of ours published it with one."""
    if row is None:
        return TableCell("not run", why="not published")
    if row.value is None:
        return TableCell("n/a", why=row.reason or "no value was recorded")
    bounded = row.ci_low is not None and row.ci_high is not None
    interval = SCORE.interval(row.ci_low or 0.0, row.ci_high or 0.0) if bounded else ""
    ends = f",{row.ci_low:.6g},{row.ci_high:.6g}" if bounded else ""
    return TableCell(SCORE.text(row.value), interval, f"{row.value:.6g}{ends}")


def _note_left_out_results(record: RunRecord, names: Sequence[str], types: Sequence[str]) -> list[str]:
    notes = []
    if len(names) > MOST_ROWS:
        notes.append(
            f"{numbers.format_count(len(names) - MOST_ROWS)} of {numbers.format_noun_count(len(names), 'system')}"
        )
    wide = [kind for kind in types if len(record.datasets(kind)) > MOST_COLUMNS]
    notes += [
        f"{len(record.datasets(kind)) - MOST_COLUMNS} of "
        f"{numbers.format_noun_count(len(record.datasets(kind)), 'task')} of {_format_task_type(kind).lower()}"
        for kind in wide
    ]
    return [f"{what} are not shown here; all are in results.jsonl." for what in notes]


def _format_task_type(kind: str) -> str:
    word = kind.replace("_", " ")
    return word.upper() if kind == "sts" else word[:1].upper() + word[1:]
