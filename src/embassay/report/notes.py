"""What to know before trusting a number: failures, cuts, gaps, small samples, each with its count."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from embassay.document.blocks import Care, Entry, Line, Link, Table, join_names, number_columns, plain_text
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.estimates import ONE_SET
from embassay.protocols.kernel.quantities import forecast_undecided
from embassay.report.board import leading_scope, list_tasks
from embassay.report.record import FEW, OVERALL, Record, label_names
from embassay.report.runs import ReportRun
from embassay.stats.few_labels import Outlook

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
class Note:
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


def care_blocks(notes: Sequence[Note], mark: str = "", most: int = 3) -> Iterator[Care]:
    """The gravest notes on a page, with the way to all; nothing where there are none."""
    if notes:
        more = (Link(f"See all {len(notes)} notes", f"method-notes{mark}"),) if len(notes) > most else ()
        yield Care(tuple(note.plain for note in notes[:most]), more=(more,) if more else ())


def gather_notes(runs: Sequence[ReportRun]) -> tuple[Note, ...]:
    """The notes of all runs, each with its run where there are several; the gravest first."""
    notes = [(run, note) for run in runs for note in list_notes(run.record)]
    left = [Note("left out", f"{folder.path} is left out: {folder.reason}.") for folder in runs[0].left]
    if len(runs) == 1:
        return (*left, *(note for _, note in notes))
    named = [replace(note, what=f"{run.title}: {note.what}", slug=run.slug) for run, note in notes]
    return tuple(
        sorted(
            [*left, *named],
            key=lambda note: GRAVITY.index(note.kind) if note.kind in GRAVITY else len(GRAVITY),
        )
    )


def weigh_notes(notes: Sequence[Note], slugs: Collection[str]) -> tuple[tuple[Note, ...], int]:
    """The notes with those first that can change an answer, and how many these are: grave ones, of the runs that the
    answers rest on (`slugs`) or of all."""
    first = [note for note in notes if note.kind in GRAVITY and note.slug in {"", *slugs}]
    return (*first, *(note for note in notes if note not in first)), len(first)


def list_notes(record: Record) -> tuple[Note, ...]:
    """All notes, the gravest first."""
    if record.kind in RAG:
        from embassay.report.rag.tables import rag_notes

        return tuple(Note(*parts) for parts in rag_notes(record))
    if record.kind == "hume":
        return tuple(_hume_notes(record))
    if record.kind == "mteb":
        return tuple(_mteb_notes(record))
    return (
        *_suite_notes(record),
        *_failed_notes(record), *_waiting_notes(record), *_unwritten_notes(record), *_missing_overall_notes(record),
        *_protocol_notes(record),
        *_truncated_notes(record),
        *_small_notes(record),
        *_few_sets_notes(record), *_skipped_notes(record), *_warning_notes(record), *_comparison_notes(record)
    )  # fmt: skip


def _mteb_notes(record: Record) -> Iterator[Note]:
    """What is known of published results: files that could not be read, tasks with several versions of their data."""
    imported = record.manifest.get("imported") or {}
    if faults := imported.get("faults"):
        what = f"{numbers.format_counted(faults, 'file')} could not be read."
        yield Note("lost", what, "Their scores are missing.", "`embassay import` names them.")
    warned = [
        f"{dataset['name']}: {warning}"
        for dataset in record.manifest.get("datasets", ())
        for facts in (dataset.get("tasks") or {}).values()
        for warning in facts.get("warnings", ())
    ]
    if len(warned) > MOST_WARNINGS:
        tasks = {warning.partition(":")[0] for warning in warned}
        what = (
            f"{len(tasks)} of {numbers.format_counted(len(record.manifest['datasets']), 'task')} have "
            "warnings, the first:"
        )
        yield Note(
            "warning", f"{what} {warned[0]}.", "Scores on other versions of the data cannot be compared."
        )
    yield from (Note("warning", f"{text}.") for text in warned[: 0 if len(warned) > MOST_WARNINGS else None])
    missing = [
        system.name for system in record.systems if record.value(OVERALL, system.name, OVERALL) is None
    ]
    if missing and len(missing) < len(record.systems):
        what = f"{len(missing)} of {numbers.format_counted(len(record.systems), 'system')} lack a task."
        yield Note("partial", what, "They have no mean over all tasks and come last.")
    for warning in record.manifest.get("warnings", ()):
        yield Note("warning", str(warning))


def _hume_notes(record: Record) -> Iterator[Note]:
    """Those of its record; what its datasets warn of is among them."""
    from embassay.protocols.hume.record import FILE, read_summary
    from embassay.report.hume.conclusions import hume_notes

    notes = (
        [Note(*parts) for parts in hume_notes(read_summary(record.path))]
        if (record.path / FILE).exists()
        else []
    )
    yield from (note for note in notes if note.kind == "simulated")
    yield from (*_failed_notes(record), *_waiting_notes(record))
    yield from (note for note in notes if note.kind != "simulated")
    yield from _truncated_notes(record)
    yield from _cell_warnings(record)


def _failed_notes(record: Record) -> Iterator[Note]:
    label = label_names([system.name for system in record.systems])
    failed = sorted((c for c in record.cells if c.status == "failed"), key=lambda c: (c.system, c.reason))
    for (system, reason), group in groupby(failed, key=lambda cell: (cell.system, cell.reason)):
        cells = list(group)
        places = list(dict.fromkeys(f"{cell.task} on {cell.dataset}" for cell in cells))
        where = ", ".join(places[:4]) + (f" and {len(places) - 4} more" if len(places) > 4 else "")
        yield Note(
            "failed",
            f"{len(cells)} of {numbers.format_counted(len(record.cells), 'cell')} failed: "
            f"{label.get(system, system)}, {where} ({reason or 'no reason was recorded'}).",
            "The system is not ranked where a value is missing.",
            "Repeat the command to try again.",
        )


def _suite_notes(record: Record) -> Iterator[Note]:
    """What a run lacks of the suites that it names."""
    from embassay.protocols.kernel.plan import list_suite_notes

    for what, consequence, mend in list_suite_notes(record.manifest.get("suites") or ()):
        yield Note("partial", what, consequence, mend)


def _unwritten_notes(record: Record) -> Iterator[Note]:
    """Noisy questions that a rewriter of a probe made nothing of."""
    for name, failed in (record.manifest.get("rewriting_failures") or {}).items():
        what = numbers.format_counted(failed["texts"], "noisy question")
        yield Note(
            "lost",
            f"{what} could not be rewritten by {name} ({failed['first']}).",
            "They are left out, before and after rewriting; if over 5% fail, there is no value.",
            "Repeat the command to try again.",
        )


def _waiting_notes(record: Record) -> Iterator[Note]:
    waiting = sum(cell.status == "not run" for cell in record.cells)
    if waiting:
        yield Note(
            "not run",
            f"{waiting} of {numbers.format_counted(len(record.cells), 'cell')} "
            + ("has" if waiting == 1 else "have")
            + " not run yet.",
            "Scores over all datasets are missing wherever a cell is missing.",
            "Repeat the command to continue.",
        )


def _missing_overall_notes(record: Record) -> Iterator[Note]:
    absent = [task.name for task in list_tasks(record) if not record.datasets(task.name)]
    if record.kind == "sage" and absent and leading_scope(record) != OVERALL:
        verb = "was" if len(absent) == 1 else "were"
        what = f"No overall score: {plain_text(join_names(absent))} {verb} not part of the run."
        yield Note("partial", what, "Overall is the mean of all five tasks.")


def _protocol_notes(record: Record) -> Iterator[Note]:
    """What only this protocol has to say."""
    if record.kind == "pteb":
        from embassay.report.pteb.notes import pteb_notes

        for kind, what, consequence, mend in pteb_notes(record):
            yield Note(kind, what, consequence, mend)


def _truncated_notes(record: Record) -> Iterator[Note]:
    label = label_names([system.name for system in record.systems])
    for system in record.ranked_systems:
        cells = [cell for cell in record.cells if cell.system == system.name]
        cut = sum(cell.counts.get("texts_truncated", 0) for cell in cells)
        if not cut:
            continue
        seen = sum(cell.counts.get("texts_encoded", 0) + cell.counts.get("texts_cached", 0) for cell in cells)
        tasks = ", ".join(dict.fromkeys(cell.task for cell in cells if cell.counts.get("texts_truncated")))
        limit = system.facts.get("max_tokens")
        how_many = numbers.format_share(cut / seen, seen) if seen >= cut else numbers.format_count(cut)
        yield Note(
            "truncated",
            f"{how_many} texts were cut at the input limit of {label[system.name]}"
            + (f", {numbers.format_count(limit)} tokens" if limit else "")
            + f" ({tasks}).",
            "Text beyond the limit does not count in its similarities.",
        )


def _small_notes(record: Record) -> Iterator[Note]:
    """Headlines of few items: one note of those whose values are grey, one of those whose intervals are wide."""
    tasks: dict[tuple[int, str], set[str]] = {}
    by_name = {task.name: task for task in list_tasks(record)}
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
            f"n = {n} on {plain_text(join_names(datasets))} ({names})"
            for (n, names), datasets in places.items()
            if (n < FEW) is grey
        ]
        if told:
            more = f"; and {len(told) - MOST_PLACES} more" if len(told) > MOST_PLACES else ""
            yield Note(
                "small n", f"{'; '.join(told[:MOST_PLACES])}{more}.", few, "Use more items if you can."
            )


def _few_sets_notes(record: Record) -> Iterator[Note]:
    """Clustering is resampled over sets: with few of them its intervals and tests are rough. One set alone is resampled
    over its texts, and its n counts them."""
    rows = [
        record.find("clustering", system.name, "v_measure", dataset=dataset)
        for system in record.ranked_systems
        for dataset in record.datasets("clustering")
    ]
    counts = {
        row.n for row in rows if row is not None and row.value is not None and ONE_SET not in row.method
    }
    if counts and max(counts) < FEW:
        what = f"Clustering intervals come from {numbers.format_counted(max(counts), 'set')}."
        yield Note("small n", what, "They and the ranks are rough.", "More sets help, not more texts.")


def _skipped_notes(record: Record) -> Iterator[Note]:
    lost: dict[tuple[str, str, str], int] = {}
    for dataset in record.manifest.get("datasets", ()):
        for task, facts in (dataset.get("tasks") or {}).items():
            for skip in facts.get("skipped", ()):
                lost[task, dataset["name"], skip["reason"]] = skip["count"]
    of_systems = _skipped_by_systems(record)
    for key, counts in of_systems.items():
        done = [
            cell for cell in record.cells if cell.status == "done" and (cell.task, cell.dataset) == key[:2]
        ]
        if {cell.system for cell in done} == set(counts):
            lost[key] = max(lost.get(key, 0), *counts.values())
    for (task_name, dataset, reason), count in lost.items():
        yield Note(
            "skipped",
            f"{numbers.format_counted(count, 'item')} of {dataset} left out of {task_name}: {reason}.",
        )
    label = label_names([system.name for system in record.systems])
    for (task_name, dataset, reason), counts in of_systems.items():
        for system, count in counts.items() if (task_name, dataset, reason) not in lost else ():
            what = f"{numbers.format_counted(count, 'item')} of {dataset} left out of {task_name}"
            yield Note("skipped", f"{what} for {label[system]} alone: {reason}.")


def _skipped_by_systems(record: Record) -> dict[tuple[str, str, str], dict[str, int]]:
    """What cells left out: task, dataset and reason to system to count."""
    by_reason: dict[tuple[str, str, str], dict[str, int]] = {}
    for cell in record.cells:
        for skip in cell.skipped:
            counts = by_reason.setdefault((cell.task, cell.dataset, skip["reason"]), {})
            counts[cell.system] = max(counts.get(cell.system, 0), skip["count"])
    return by_reason


def _warning_notes(record: Record) -> Iterator[Note]:
    of_run = [str(warning) for warning in record.manifest.get("warnings", ())]
    yield from (Note("warning", warning) for warning in dict.fromkeys(of_run))
    where: dict[str, dict[str, None]] = {}
    for dataset in record.manifest.get("datasets", ()):
        for task, facts in (dataset.get("tasks") or {}).items():
            for warning in facts.get("warnings", ()):
                where.setdefault(warning, {})[f"{task} on {dataset['name']}"] = None
    yield from _cell_warnings(record, where, of_run)


def _cell_warnings(
    record: Record, where: dict[str, dict[str, None]] | None = None, of_run: Collection[str] = ()
) -> Iterator[Note]:
    """What cells warn of, after what is known already; each once with its places, and what the run says not again."""
    where = {} if where is None else where
    for cell in record.cells:
        for warning in cell.warnings:
            where.setdefault(warning, {})[f"{cell.task} on {cell.dataset}"] = None
    for warning, places in where.items():
        if warning in of_run:
            continue
        yield Note("warning", f"{warning.rstrip('.')} ({', '.join(places)}).")


def _comparison_notes(record: Record) -> Iterator[Note]:
    for name, scope in record.scopes.items():
        if scope.reason and len(scope.systems) > 1:
            yield Note("no ranks", f"No ranks on {name}: {scope.reason}.")


def outlook_table(
    title: str,
    of: str,
    rows: Sequence[Outlook],
    *,
    names: Sequence[str] = (),
    labels: Sequence[float] | None = None,
    price: float | None = None,
    chance: str = "Chance of telling them apart",
    unit: numbers.Unit = numbers.SCORE,
) -> Table:
    """A line per step, after what it is for in `names`; with the `labels` that each unit of it takes, and what these
    cost at a `price` in US dollars. `chance` is the head of that column, which is left out where it is empty."""
    takes = labels or [1.0] * len(rows)
    lines = tuple(
        Line(
            f"{name}{outlook.more:,} more",
            (
                *(() if labels is None else (Entry(f"about {outlook.more * each:,.0f}"),)),
                *(() if price is None else (Entry(f"${outlook.more * each * price:,.2f}"),)),
                Entry(f"± {unit.text(outlook.half)}"),
                *((Entry(numbers.format_percent(outlook.chance)),) if chance else ()),
            ),
        )
        for name, outlook, each in zip([f"{name}: " for name in names] or [""] * len(rows), rows, takes, strict=True)
    )  # fmt: skip
    heads = [*(["Labels"] if labels is not None else []), *(["Cost"] if price is not None else [])]
    columns = number_columns(*heads, "Interval", *([chance] if chance else []))
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


def open_table(
    title: str, of: str, found: Sequence[UndecidedDifference], *, most: int | None = None, price: float | None = None,
    chance: str = "Chance of telling them apart", unit: numbers.Unit = numbers.SCORE
) -> Table:  # fmt: skip
    """What more units would buy for each difference, those that are nearest to a decision first, `most` of them."""
    nearest = sorted(found, key=lambda gap: -abs(gap.difference) / gap.half)[:most]
    steps = [
        (gap, step)
        for gap in nearest
        for step in forecast_undecided(gap.difference, gap.half, gap.n, gap.tests)
    ]
    labelled = all(gap.labels for gap in nearest)
    names = [gap.name for gap, _ in steps if gap.name]
    return outlook_table(
        title, of, [step for _, step in steps], names=names, chance=chance, unit=unit,
        labels=[gap.labels for gap, _ in steps] if labelled else None, price=price if labelled else None
    )  # fmt: skip
