"""What to know before trusting a number: failures, cuts, gaps, small samples, each with its count."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, starmap

from embassay.document.blocks import (
    CautionNotes,
    LabelledTableRow,
    PageLink,
    Table,
    TableCell,
    convert_sentence_to_text,
    join_names_with_and,
    make_number_columns,
)
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.estimates import ONE_SET
from embassay.protocols.kernel.quantities import forecast_difference_with_more_items
from embassay.report.board import choose_leading_scope, list_protocol_tasks
from embassay.report.record import FEW, OVERALL, RunRecord
from embassay.report.runs import ReportRun
from embassay.stats.few_labels import MoreLabelsOutlook

SMALL = 30
MOST_PLACES = 4
"""Sizes that a note of few items lists."""
MOST_WARNINGS = 3
"""Warnings of published tasks that are told one by one."""
RAG = ("golden", "score", "sweep")
"""Runs whose notes stand in a record of their own."""
GRAVITY = ("simulated", "control", "left out", "failed", "not run", "partial", "lost", "truncated")
"""The kinds of note that come first when those of several runs are put together."""


@dataclass(frozen=True)
class RunNote:
    """One thing to know: what happened (with its count), what follows, and what mends it; `slug` is the page of the run
    that it is of, empty where it is of all or of the only one."""

    kind: str
    what: str
    consequence: str = ""
    mend: str = ""
    slug: str = ""

    @property
    def plain(self) -> str:
        """The note as one line."""
        return " ".join(part for part in (self.what, self.consequence, self.mend) if part)


def show_gravest_notes(notes: Sequence[RunNote], mark: str = "", most: int = 3) -> Iterator[CautionNotes]:
    """The gravest notes on a page, with the way to all; nothing where there are none."""
    if notes:
        more = (PageLink(f"See all {len(notes)} notes", f"method-notes{mark}"),) if len(notes) > most else ()
        yield CautionNotes(tuple(note.plain for note in notes[:most]), more=(more,) if more else ())


def gather_run_notes(runs: Sequence[ReportRun]) -> tuple[RunNote, ...]:
    """The notes of all runs, each with its run where there are several; the gravest first."""
    notes = [(run, note) for run in runs for note in list_run_notes(run.record)]
    left = [RunNote("left out", f"{folder.path} is left out: {folder.reason}.") for folder in runs[0].left]
    if len(runs) == 1:
        return (*left, *(note for _, note in notes))
    named = [replace(note, what=f"{run.title}: {note.what}", slug=run.slug) for run, note in notes]
    return tuple(
        sorted([*left, *named], key=lambda note: GRAVITY.index(note.kind) if note.kind in GRAVITY else len(GRAVITY))
    )


def sort_and_count_decisive_notes(notes: Sequence[RunNote], slugs: Collection[str]) -> tuple[tuple[RunNote, ...], int]:
    """The notes with those first that can change an answer, and how many these are: grave ones, of the runs that the
    answers rest on (`slugs`) or of all."""
    first = [note for note in notes if note.kind in GRAVITY and note.slug in {"", *slugs}]
    return (*first, *(note for note in notes if note not in first)), len(first)


def list_run_notes(record: RunRecord) -> tuple[RunNote, ...]:
    """All notes, the gravest first."""
    if record.kind in RAG:
        from embassay.report.rag.tables import rag_notes

        return tuple(starmap(RunNote, rag_notes(record)))
    if record.kind == "hume":
        return tuple(_hume_notes(record))
    if record.kind == "mteb":
        return tuple(_mteb_notes(record))
    return (
        *_list_notes_of_missing_suite_parts(record),
        *_failed_cell_notes(record), *_list_notes_of_cells_not_run(record), *_iterate_failed_rewriting_notes(record),
        *_missing_overall_notes(record),
        *_protocol_notes(record),
        *_truncated_text_notes(record),
        *_few_items_notes(record),
        *_few_cluster_sets_notes(record), *_skipped_item_notes(record), *_warning_notes(record),
        *_missing_ranks_notes(record)
    )  # fmt: skip


def _mteb_notes(record: RunRecord) -> Iterator[RunNote]:
    """What is known of published results: files that could not be read, tasks with several versions of their data."""
    imported = record.manifest.get("imported") or {}
    if faults := imported.get("faults"):
        what = f"{numbers.format_noun_count(faults, 'file')} could not be read."
        yield RunNote("lost", what, "Their scores are missing.", "`embassay import` lists them.")
    warned = [
        f"{dataset['name']}: {warning}"
        for dataset in record.list_dataset_manifest_entries
        for facts in (dataset.get("tasks") or {}).values()
        for warning in facts.get("warnings", ())
    ]
    if len(warned) > MOST_WARNINGS:
        tasks = {warning.partition(":")[0] for warning in warned}
        what = (
            f"{len(tasks)} of {numbers.format_noun_count(len(record.manifest['datasets']), 'task')} have "
            "warnings. The first:"
        )
        yield RunNote("warning", f"{what} {warned[0]}.", "Scores on other versions of the data cannot be compared.")
    yield from (RunNote("warning", f"{text}.") for text in warned[: 0 if len(warned) > MOST_WARNINGS else None])
    missing = [system.name for system in record.systems if record.value(OVERALL, system.name, OVERALL) is None]
    if missing and len(missing) < len(record.systems):
        what = f"{len(missing)} of {numbers.format_noun_count(len(record.systems), 'system')} lack a task."
        yield RunNote("partial", what, "They have no mean over all tasks and come last.")
    for warning in record.manifest.get("warnings", ()):
        yield RunNote("warning", str(warning))


def _hume_notes(record: RunRecord) -> Iterator[RunNote]:
    """Notes on a HUME run, those of its record; what its datasets warn of is among them."""
    from embassay.protocols.hume.record import FILE, read_summary
    from embassay.report.hume.conclusions import hume_notes

    notes = list(starmap(RunNote, hume_notes(read_summary(record.path)))) if (record.path / FILE).exists() else []
    yield from (note for note in notes if note.kind == "simulated")
    yield from (*_failed_cell_notes(record), *_list_notes_of_cells_not_run(record))
    yield from (note for note in notes if note.kind != "simulated")
    yield from _truncated_text_notes(record)
    yield from _iterate_cell_warning_notes(record)


def _failed_cell_notes(record: RunRecord) -> Iterator[RunNote]:
    label = record.system_labels
    failed = sorted((c for c in record.cells if c.status == "failed"), key=lambda c: (c.system, c.reason))
    for (system, reason), group in groupby(failed, key=lambda cell: (cell.system, cell.reason)):
        cells = list(group)
        places = list(dict.fromkeys(f"{cell.task} on {cell.dataset}" for cell in cells))
        where = ", ".join(places[:4]) + (f" and {len(places) - 4} more" if len(places) > 4 else "")
        yield RunNote(
            "failed",
            f"{len(cells)} of {numbers.format_noun_count(len(record.cells), 'cell')} failed: "
            f"{label.get(system, system)}, {where} ({reason or 'no reason was recorded'}).",
            "The system is not ranked where a value is missing.",
            "Repeat the command to try again.",
        )


def _list_notes_of_missing_suite_parts(record: RunRecord) -> Iterator[RunNote]:
    """Notes on what a run lacks of the suites that it names."""
    from embassay.protocols.kernel.plan import list_incomplete_suite_notes

    for what, consequence, mend in list_incomplete_suite_notes(record.manifest.get("suites") or ()):
        yield RunNote("partial", what, consequence, mend)


def _iterate_failed_rewriting_notes(record: RunRecord) -> Iterator[RunNote]:
    """Notes on noisy questions that a rewriter of a probe made nothing of."""
    for name, failed in (record.manifest.get("rewriting_failures") or {}).items():
        what = numbers.format_noun_count(failed["texts"], "noisy question")
        yield RunNote(
            "lost",
            f"{what} could not be rewritten by {name} ({failed['first']}).",
            "They are left out before and after rewriting; if over 5% fail, there is no value.",
            "Repeat the command to try again.",
        )


def _list_notes_of_cells_not_run(record: RunRecord) -> Iterator[RunNote]:
    waiting = sum(cell.status == "not run" for cell in record.cells)
    if waiting:
        yield RunNote(
            "not run",
            f"{waiting} of {numbers.format_noun_count(len(record.cells), 'cell')} "
            + ("has" if waiting == 1 else "have")
            + " not run yet.",
            "Scores over all datasets are missing wherever a cell is missing.",
            "Repeat the command to continue.",
        )


def _missing_overall_notes(record: RunRecord) -> Iterator[RunNote]:
    absent = [task.name for task in list_protocol_tasks(record) if not record.datasets(task.name)]
    if record.kind == "sage" and absent and choose_leading_scope(record) != OVERALL:
        verb = "was" if len(absent) == 1 else "were"
        what = f"No overall score: {convert_sentence_to_text(join_names_with_and(absent))} {verb} not part of the run."
        yield RunNote("partial", what, "Overall is the mean of all five tasks.")


def _protocol_notes(record: RunRecord) -> Iterator[RunNote]:
    """Notes that only this protocol has to say."""
    if record.kind == "pteb":
        from embassay.report.pteb.notes import pteb_notes

        for kind, what, consequence, mend in pteb_notes(record):
            yield RunNote(kind, what, consequence, mend)


def _truncated_text_notes(record: RunRecord) -> Iterator[RunNote]:
    label = record.system_labels
    for system in record.list_non_reference_systems:
        cells = [cell for cell in record.cells if cell.system == system.name]
        cut = sum(cell.counts.get("texts_truncated", 0) for cell in cells)
        if not cut:
            continue
        seen = sum(cell.counts.get("texts_encoded", 0) + cell.counts.get("texts_cached", 0) for cell in cells)
        tasks = ", ".join(dict.fromkeys(cell.task for cell in cells if cell.counts.get("texts_truncated")))
        limit = system.facts.get("max_tokens")
        how_many = (
            numbers.format_share_with_count(cut / seen, seen) + " of the" * (seen >= 100)
            if seen >= cut
            else numbers.format_count(cut)
        )
        yield RunNote(
            "truncated",
            f"{how_many} texts were cut at the input limit of {label[system.name]}"
            + (f", {numbers.format_count(limit)} tokens" if limit else "")
            + f" ({tasks}).",
            "Text beyond the limit does not affect its similarities.",
        )


def _few_items_notes(record: RunRecord) -> Iterator[RunNote]:
    """Notes on headlines of few items: one on those in grey, one on those with wide intervals."""
    tasks: dict[tuple[int, str], set[str]] = {}
    by_name = {task.name: task for task in list_protocol_tasks(record)}
    for row in record.rows.values():
        task = by_name.get(row.task)
        is_headline = task is not None and row.measure == task.headline and not row.variant and not row.subset
        if is_headline and row.dataset and row.value is not None and row.n < SMALL:
            tasks.setdefault((row.n, row.dataset), set()).add(row.task)
    places: dict[tuple[int, str], list[str]] = {}
    for (n, dataset), names in sorted(tasks.items()):
        places.setdefault((n, ", ".join(sorted(names))), []).append(dataset)
    for grey, few in ((True, "Their values are shown in grey."), (False, "Intervals are wide.")):
        told = [
            f"n = {n} on {convert_sentence_to_text(join_names_with_and(datasets))} ({names})"
            for (n, names), datasets in places.items()
            if (n < FEW) is grey
        ]
        if told:
            more = f"; and {len(told) - MOST_PLACES} more" if len(told) > MOST_PLACES else ""
            yield RunNote("small n", f"{'; '.join(told[:MOST_PLACES])}{more}.", few, "Use more items if possible.")


def _few_cluster_sets_notes(record: RunRecord) -> Iterator[RunNote]:
    """Clustering is resampled over sets: with few of them its intervals and tests are rough. One set alone is resampled
    over its texts, and its n counts them."""
    rows = [
        record.find("clustering", system.name, "v_measure", dataset=dataset)
        for system in record.list_non_reference_systems
        for dataset in record.datasets("clustering")
    ]
    counts = {row.n for row in rows if row is not None and row.value is not None and ONE_SET not in row.method}
    if counts and max(counts) < FEW:
        what = f"Clustering intervals come from {numbers.format_noun_count(max(counts), 'set')}."
        yield RunNote("small n", what, "These intervals and the ranks are rough.", "Use more sets, not more texts.")


def _skipped_item_notes(record: RunRecord) -> Iterator[RunNote]:
    lost: dict[tuple[str, str, str], int] = {}
    for dataset in record.list_dataset_manifest_entries:
        for task, facts in (dataset.get("tasks") or {}).items():
            for skip in facts.get("skipped", ()):
                lost[task, dataset["name"], skip["reason"]] = skip["count"]
    of_systems = _count_skipped_by_system(record)
    for key, counts in of_systems.items():
        done = [cell for cell in record.cells if cell.status == "done" and (cell.task, cell.dataset) == key[:2]]
        if {cell.system for cell in done} == set(counts):
            lost[key] = max(lost.get(key, 0), *counts.values())
    for (task_name, dataset, reason), count in lost.items():
        yield RunNote(
            "skipped", f"{numbers.format_noun_count(count, 'item')} of {dataset} left out of {task_name}: {reason}."
        )
    label = record.system_labels
    for (task_name, dataset, reason), counts in of_systems.items():
        for system, count in counts.items() if (task_name, dataset, reason) not in lost else ():
            what = f"{numbers.format_noun_count(count, 'item')} of {dataset} left out of {task_name}"
            yield RunNote("skipped", f"{what} for {label[system]} only: {reason}.")


def _count_skipped_by_system(record: RunRecord) -> dict[tuple[str, str, str], dict[str, int]]:
    """Count the items that cells left out: task, dataset and reason to system to count."""
    by_reason: dict[tuple[str, str, str], dict[str, int]] = {}
    for cell in record.cells:
        for skip in cell.skipped:
            counts = by_reason.setdefault((cell.task, cell.dataset, skip["reason"]), {})
            counts[cell.system] = max(counts.get(cell.system, 0), skip["count"])
    return by_reason


def _warning_notes(record: RunRecord) -> Iterator[RunNote]:
    of_run = [str(warning) for warning in record.manifest.get("warnings", ())]
    yield from (RunNote("warning", warning) for warning in dict.fromkeys(of_run))
    where: dict[str, dict[str, None]] = {}
    for dataset in record.list_dataset_manifest_entries:
        for task, facts in (dataset.get("tasks") or {}).items():
            for warning in facts.get("warnings", ()):
                where.setdefault(warning, {})[f"{task} on {dataset['name']}"] = None
    yield from _iterate_cell_warning_notes(record, where, of_run)


def _iterate_cell_warning_notes(
    record: RunRecord, where: dict[str, dict[str, None]] | None = None, of_run: Collection[str] = ()
) -> Iterator[RunNote]:
    """What cells warn of, after what is known already; each once with its places, and what the run says not again."""
    where = {} if where is None else where
    for cell in record.cells:
        for warning in cell.warnings:
            where.setdefault(warning, {})[f"{cell.task} on {cell.dataset}"] = None
    for warning, places in where.items():
        if warning in of_run:
            continue
        yield RunNote("warning", f"{warning.rstrip('.')} ({', '.join(places)}).")


def _missing_ranks_notes(record: RunRecord) -> Iterator[RunNote]:
    for name, scope in record.scopes.items():
        if scope.reason and len(scope.systems) > 1:
            yield RunNote("no ranks", f"No ranks for {name} ({scope.reason}).")


def make_more_labels_outlook_table(
    title: str,
    of: str,
    rows: Sequence[MoreLabelsOutlook],
    *,
    names: Sequence[str] = (),
    labels: Sequence[float] | None = None,
    price: float | None = None,
    chance: str = "Chance of telling them apart",
    unit: numbers.MeasureFormat = numbers.SCORE,
) -> Table:
    """A line per step, after what it is for in `names`; with the `labels` that each unit of it takes, and what these
    cost at a `price` in US dollars. `chance` is the head of that column, which is left out where it is empty."""
    takes = labels or [1.0] * len(rows)
    lines = tuple(
        LabelledTableRow(
            f"{name}{outlook.more:,} more",
            (
                *(() if labels is None else (TableCell(f"about {outlook.more * each:,.0f}"),)),
                *(() if price is None else (TableCell(f"${outlook.more * each * price:,.2f}"),)),
                TableCell(f"± {unit.text(outlook.half)}"),
                *((TableCell(numbers.format_percent(outlook.chance)),) if chance else ()),
            ),
        )
        for name, outlook, each in zip([f"{name}: " for name in names] or [""] * len(rows), rows, takes, strict=True)
    )  # fmt: skip
    heads = [*(["Labels"] if labels is not None else []), *(["Cost"] if price is not None else [])]
    columns = make_number_columns(*heads, "Interval", *([chance] if chance else []))
    return Table("next-labels", title, of, columns, lines, is_sortable=False)


@dataclass(frozen=True)
class UndecidedDifference:
    """A difference that is not decided: whose it is, half of its 95% interval over `n` units, one of so many `tests`.
    A unit takes so many `labels`, 0 where that is not known."""

    name: str
    difference: float
    half: float
    n: int
    tests: int = 1
    labels: float = 0.0


def undecided_outlook_table(
    title: str, of: str, found: Sequence[UndecidedDifference], *, most: int | None = None, price: float | None = None,
    chance: str = "Chance of telling them apart", unit: numbers.MeasureFormat = numbers.SCORE
) -> Table:  # fmt: skip
    """What more units would buy for each difference, those that are nearest to a decision first, `most` of them."""
    nearest = sorted(found, key=lambda gap: -abs(gap.difference) / gap.half)[:most]
    steps = [
        (gap, step)
        for gap in nearest
        for step in forecast_difference_with_more_items(gap.difference, gap.half, gap.n, gap.tests)
    ]
    labelled = all(gap.labels for gap in nearest)
    names = [gap.name for gap, _ in steps if gap.name]
    return make_more_labels_outlook_table(
        title, of, [step for _, step in steps], names=names, chance=chance, unit=unit,
        labels=[gap.labels for gap, _ in steps] if labelled else None, price=price if labelled else None
    )  # fmt: skip
