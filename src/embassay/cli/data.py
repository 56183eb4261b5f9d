"""`embassay data`: what datasets there are, what one holds, fetching them, checking a file."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from embassay.cli.options import PrintOptions, TitledCommandApp, add_options_from_record_parameters, stopping_at_memory
from embassay.cli.terminal import (
    measure_screen_width_and_charset,
    print_as_json,
    print_table_to_fit_screen,
    print_view_blocks,
)
from embassay.cli.terminal import print_rendered_text as print_text
from embassay.data.catalogue.suites import DatasetSuite, find_records_and_file_members, find_suite
from embassay.document.blocks import Column, Table, make_number_columns
from embassay.errors import DataError, Interrupted, UsageError
from embassay.protocols.kernel.request import DATA, OUTPUT, RunRequest, option, redeclare_option
from embassay.protocols.kernel.tables import format_noun_count, format_percent

if TYPE_CHECKING:
    from embassay.cli.progress import StderrProgressNotice
    from embassay.contracts import Tokenizer
    from embassay.data.catalogue.entries import CatalogueDatasetRecord
    from embassay.data.catalogue.hub import FetchedTable
    from embassay.data.check.files import (
        CheckedFileProfile,
        DataCheckReport,
        DatasetShapeCheck,
        DocumentFolderCounts,
        Fault,
        NumberSpread,
        RepeatedRowCounts,
        ShapeReachableByMapping,
        SimilarRowPair,
        SplitTextOverlap,
        TextLengthSummary,
        ValueCounts,
    )

app = TitledCommandApp("Check your data; list and fetch public datasets.")


@dataclass(frozen=True)
class CatalogueFilter:
    """A filter on the datasets of the catalogue."""

    protocol: Literal["sage", "pteb", "hteb", "rag", "hume"] | None = option(
        None, "Only datasets that this protocol uses.", group=DATA
    )
    task: Literal[
        "preference", "robustness", "sensitivity", "clustering", "retrieval", "sts", "classification",
        "pair_classification", "reranking", "summarization"
    ] | None = option(None, "Only datasets that this task uses.", name="--task -t")  # fmt: skip


@dataclass(frozen=True)
class DataCheckOptions:
    """Options for how data are read, and what is looked for in them."""

    mapping: Mapping[str, str] = redeclare_option(RunRequest, "mapping")
    split: str | None = redeclare_option(RunRequest, "split")
    grades: str | None = redeclare_option(RunRequest, "grades")
    against: str | None = option(None, "Other data, such as training data, to check for the same texts.", group=DATA)
    near: float = option(0.8, "Minimum Jaccard index for two texts to count as near-duplicates.")
    by_words: bool = option(False, "Compare sequences of 3 words instead of 5 characters.", name="--by-words")
    no_near: bool = option(False, "Find exact duplicates only.", name="--no-near")


@app.callback()
def group() -> None:
    """Check your data; list and fetch public datasets."""


@app.command("list")
@add_options_from_record_parameters()
def list_datasets(chosen: CatalogueFilter, shown: PrintOptions) -> None:
    """List the datasets of the catalogue and where each is read from.

    Example: embassay data list --task retrieval
    """

    from embassay.data.catalogue.entries import list_dataset_overviews

    listed = list(list_dataset_overviews(chosen.protocol or "", chosen.task or ""))
    if shown.json:
        print_as_json([asdict(overview) for overview in listed])
        return
    columns = [
        "name",
        "place",
        "size",
        "tasks",
        *(["protocols", "lang", "licence", "hub"] if shown.wide else []),
        "title",
    ]
    print_table_to_fit_screen(
        columns,
        [[_format_table_cell(getattr(overview, column)) for column in columns] for overview in listed],
        wide=shown.wide,
    )


@app.command("show")
@add_options_from_record_parameters(wide=False)
def show(
    name: Annotated[str, typer.Argument(help="A catalogue name or a path.", metavar="NAME")], shown: PrintOptions
) -> None:
    """Show a dataset (facts, source and first rows) or a suite.

    Example: embassay data show sample
    """
    from embassay.data.catalogue.entries import make_card_of_catalogue_dataset
    from embassay.data.sources import prefer_path_over_catalogue

    name = prefer_path_over_catalogue(name)
    if suite := find_suite(name):
        _show_dataset_suite(suite, json=shown.json)
        return
    facts = make_card_of_catalogue_dataset(name)
    if shown.json:
        print_as_json(facts.as_dict())
        return
    typer.echo("\n".join(facts.lines()))


def _show_dataset_suite(suite: DatasetSuite, *, json: bool) -> None:
    members = [member.as_dict() for member in suite.members]
    if json:
        facts = {"name": suite.name, "title": suite.title, "source": suite.source, "protocol": suite.protocol}
        print_as_json({**facts, "sets": len(suite.sets), "members": members})
        return
    source = f" ({suite.source})" if suite.source else ""
    _print_folded_lines([f"{suite.name}: {suite.title}{source}. {format_noun_count(len(suite.sets), 'set')}.", ""])
    columns = ("dataset", "tasks", "langs", "split", "group", "place", "title")
    rows = [[_format_language_names_or_count(member[column]) for column in columns] for member in members]
    print_table_to_fit_screen(list(columns), rows, wide=True)


def _format_language_names_or_count(value: str | list[str]) -> str:
    return value if isinstance(value, str) else " ".join(value) if len(value) < _LANGS else f"{len(value)} languages"


@app.command("fetch")
@add_options_from_record_parameters(wide=False)
def fetch(
    chosen: CatalogueFilter,
    shown: PrintOptions,
    name: Annotated[list[str] | None, typer.Argument(help="Names of datasets or suites.", metavar="NAME…")] = None,
) -> None:
    """Download datasets from the hub.

    Existing files are kept.

    Example: embassay data fetch beir
    """
    fetch_datasets(name or [], chosen.protocol or "", chosen.task or "", json=shown.json)


@app.command("check")
@stopping_at_memory
@add_options_from_record_parameters()
def check(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH…", help="Your data, or catalogue names. Each is checked separately.")
    ],
    asked: DataCheckOptions,
    shown: PrintOptions,
) -> None:
    """Show what your data can be used for, and what is wrong with it.

    Exit code 4: some of the data cannot be used.

    Example: embassay data check my.jsonl --against train.jsonl
    """
    usable = [_report_whether_data_are_usable(path, asked, shown) for path in paths]
    if not all(usable):
        raise typer.Exit(DataError.exit_code)


def _report_whether_data_are_usable(path: str, asked: DataCheckOptions, shown: PrintOptions) -> bool:
    """Check the data at a path, print the report, and return whether a run can use them."""
    from embassay.cli.progress import StderrProgressNotice
    from embassay.data.check import DataCheckRequest, NearDuplicateRule

    nearness = None if asked.no_near else NearDuplicateRule(asked.near, "words" if asked.by_words else "characters")
    with StderrProgressNotice() as waiting:
        check = DataCheckRequest(
            path,
            dict(asked.mapping),
            asked.split,
            asked.grades,
            asked.against,
            nearness,
            _load_cl100k_tokenizer_if_cached(),
            waiting,
        )
        report = check.report()
    if shown.json:
        print_as_json(report.as_dict())
    else:
        print_data_check_report(report, wide=shown.wide)
    return report.usable


def _load_cl100k_tokenizer_if_cached() -> Tokenizer | None:
    """cl100k where its file is at hand: a check needs no network."""
    from embassay.text import open_tokenizer
    from embassay.text.tokenizers import is_vocabulary_cached

    return open_tokenizer("cl100k") if is_vocabulary_cached() else None


def _format_table_cell(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(value)
    return f"{value:,}" if isinstance(value, int) and value else "" if value == 0 else str(value)


_EXAMPLES = 3
_LABELS = 5
_LANGS = 6
_SHOWN = 60


def print_data_check_report(report: DataCheckReport, *, wide: bool) -> None:
    """Print a report, in tables and notes that fit the screen; `wide` shows every column of them."""
    _print_folded_lines([f"{report.path}: {_describe_data_check_verdict(report)}"])
    for file in report.files:
        _show_checked_file(file, wide)
    if report.documents is not None:
        _show_document_summary(report.documents, wide)
    if report.shapes:
        _print_table(["Shape", "Items", "Serves"], map(_build_shape_row, report.shapes), wide)
    _print_titled_notes("To know", report.remarks)
    _print_titled_notes("Stops a run", map(_describe_fault, report.faults))
    _print_titled_notes("Almost", map(_describe_missing_columns_for_tasks, report.near_misses))
    _print_suggested_command(report.command)
    if report.documents is None:  # else it is said above
        _print_titled_notes(
            "Left out",
            _merge_equal_lines_of_shapes((shape.shape, _list_skipped_row_reasons(shape)) for shape in report.shapes),
        )
    _print_titled_notes(
        "Kept, but odd", _merge_equal_lines_of_shapes((shape.shape, shape.warnings) for shape in report.shapes)
    )
    figures = _merge_equal_lines_of_shapes((shape.shape, _list_shape_statistic_lines(shape)) for shape in report.shapes)
    _print_titled_notes("Numbers", figures)
    _show_text_lengths(report.lengths, wide)
    _print_titled_notes(
        "Repeated texts", (line for repeat in report.repeats for line in _list_repeated_row_lines(repeat, report))
    )
    _print_titled_notes(
        "Overlapping texts",
        (line for overlap in report.overlaps for line in _list_split_overlap_lines(overlap, report)),
    )


def _describe_data_check_verdict(report: DataCheckReport) -> str:
    ready = [shape for shape in report.shapes if shape.ready]
    if not ready:
        return "cannot be used as it is."
    stopped = [shape.shape for shape in report.shapes if not shape.ready]
    tasks = list(dict.fromkeys(task for shape in ready for task in shape.tasks))
    langs = "no language stated" if not report.langs else f"language {', '.join(report.langs)}"
    more = f" It cannot be used as {', '.join(stopped)}: see below." if stopped else ""
    return f"usable for {', '.join(tasks)} ({langs}).{more}"


def _show_checked_file(file: CheckedFileProfile, wide: bool) -> None:
    size = f"{file.bytes:,} bytes" if file.bytes < 100_000 else f"{file.bytes / 1e6:,.1f} MB"
    facts = [file.format or "no known format", file.encoding.partition(", line")[0], file.line_ends]
    blank = f"{format_noun_count(file.blank, 'blank line')} skipped" if file.blank else ""
    facts += [format_noun_count(file.rows, "row"), blank, size]
    _print_folded_lines([f"{file.path}: {', '.join(filter(None, facts))}"])
    rows = []
    for column in file.columns:
        kinds = [kind for kind in column.kinds if kind != "empty"]
        distinct = ">1,000" if column.distinct is None else f"{column.distinct:,}"
        empty = f"{column.kinds.get('empty', 0):,}"
        rows.append([column.name, " ".join(kinds) or "-", empty, distinct, _cut_text(column.example)])
    if rows:
        _print_table(["Column", "Holds", "Empty", "Values", "For example"], rows, wide)


def _show_document_summary(files: DocumentFolderCounts, wide: bool) -> None:
    """What was read by kind, what was left out and why, and the languages."""
    rows = [[kind, f"{count:,}", "read"] for kind, count in files.documents.items()]
    rows += [["", f"{skip.count:,}", f"{skip.reason} ({', '.join(skip.examples)})"] for skip in files.skipped]
    _print_table(["Documents", "Files", ""], rows, wide)
    size, overlap = (f"{files.chunk:,} words", f", with {files.overlap} words of overlap" if files.overlap else "")
    cut = f"in passages of at most {size}{overlap}. For shorter passages, use DIR?chunk=100."
    lines = [f"{files.characters:,} characters, {cut}"]
    if unusual := {name: count for name, count in files.encodings.items() if not name.startswith("utf")}:
        lines.append(f"Read as {_format_named_counts(unusual)}; all other files as UTF-8 or by their byte order mark.")
    lines.append(f"Languages stated: {_format_named_counts(files.stated, 'none')}.")
    if files.told is None:
        lines.append("To detect the languages of the texts: pip install 'embassay[llm]'.")
    else:
        lines.append(
            f"Languages detected in {format_noun_count(files.looked_at, 'document')}: "
            f"{_format_named_counts(files.told, 'not sure')}."
        )
    _print_titled_notes("About the documents", (*lines, *files.notes))


def _format_named_counts(counts: Mapping[str, int], nothing: str = "") -> str:
    return ", ".join(f"{name or nothing} {count:,}" for name, count in counts.items()) or nothing


def _describe_missing_columns_for_tasks(miss: ShapeReachableByMapping) -> str:
    return f"{', '.join(miss.tasks)}: {miss.mend or 'needs ' + ', '.join(miss.missing) + ' as well'}"


def _build_shape_row(shape: DatasetShapeCheck) -> list[str]:
    return [shape.shape, f"{shape.items:,}" if shape.ready else "stopped", ", ".join(shape.tasks)]


def _describe_fault(fault: Fault) -> str:
    if fault.count == 1:
        return f"{fault.example} {fault.mend}".strip()
    lines = ", ".join(map(str, fault.lines)) + (", ..." if fault.count > len(fault.lines) else "")
    return f"{fault.count:,} times, on lines {lines}. First case: {fault.example} {fault.mend}".strip()


def _merge_equal_lines_of_shapes(told: Iterable[tuple[str, Iterable[str]]]) -> Iterator[str]:
    """Merge equal lines: each is given once, with the shapes it is said of."""
    shapes: dict[str, list[str]] = {}
    for shape, lines in told:
        for line in lines:
            shapes.setdefault(line, []).append(shape)
    for line, names in shapes.items():
        yield f"{', '.join(names)}: {line}"


def _list_skipped_row_reasons(shape: DatasetShapeCheck) -> Iterator[str]:
    for skip in shape.skipped:
        yield f"{skip.reason}: {skip.count:,} ({', '.join(skip.examples)})"


def _list_shape_statistic_lines(shape: DatasetShapeCheck) -> Iterator[str]:
    from embassay.data.check.files import NumberSpread

    for name, figure in shape.figures.items():
        described = (
            _format_number_spread(figure) if isinstance(figure, NumberSpread) else _describe_label_balance(figure)
        )
        yield f"{name}: {described}"


def _format_number_spread(spread: NumberSpread) -> str:
    return f"{spread.least:g} to {spread.most:g}, median {spread.median:g}, mean {spread.mean:.2f}"


def _describe_label_balance(balance: ValueCounts) -> str:
    shares = [f"{label}: {count:,} ({format_percent(count / balance.n)})" for label, count in balance.counts.items()]
    if len(shares) <= _LABELS:
        return ", ".join(shares)
    return f"{len(shares):,} different; most frequent: {', '.join(shares[:2])}; least frequent: {shares[-1]}"


def _show_text_lengths(lengths: Sequence[TextLengthSummary], wide: bool) -> None:
    """Medians, 95th percentiles and maxima; the table is named where there are several."""
    named = len({length.table for length in lengths}) > 1
    rows = []
    for length in lengths:
        numbers = [(part.median, part.p95, part.most) for part in (length.characters, length.tokens)]
        quantiles = [f"{value:,.0f}" for three in numbers for value in three]
        rows.append([*([length.table] if named else []), length.column, f"{length.characters.n:,}", *quantiles])
    if rows:
        unit = "Words" if lengths[0].counted_in == "words" else f"{lengths[0].counted_in} tokens"
        texts = ("Table", "Texts") if named else ("Texts",)
        heads: list[str | Column] = [
            *texts,
            *make_number_columns("Count", "Characters", "95%", "Most", unit, "95%", "Most"),
        ]
        print_text("")
        print_view_blocks([Table.of("lengths", heads, rows)], wide)


def _list_repeated_row_lines(repeats: RepeatedRowCounts, report: DataCheckReport) -> Iterator[str]:
    odd = f", {repeats.conflicting:,} of them with a different label or score" if repeats.conflicting else ""
    near = _format_near_duplicate_count(repeats.near, report)
    yield f"{repeats.table}: {repeats.exact:,} exact repeats in {repeats.texts:,} texts{odd}; {near}."
    yield from _list_alike_row_examples(repeats.examples)


def _list_split_overlap_lines(overlap: SplitTextOverlap, report: DataCheckReport) -> Iterator[str]:
    near = _format_near_duplicate_count(overlap.near, report)
    yield (
        f"{overlap.table}: {overlap.exact:,} of {overlap.texts:,} rows of {overlap.of} have an exact copy in "
        f"{overlap.within}; {near}."
    )
    yield from _list_alike_row_examples(overlap.examples)


def _format_near_duplicate_count(near: int | None, report: DataCheckReport) -> str:
    return (
        "near-duplicates were not searched for"
        if near is None
        else f"near-duplicates (Jaccard index {report.threshold:g} or more): {near:,}"
    )


def _list_alike_row_examples(examples: Sequence[SimilarRowPair]) -> Iterator[str]:
    exact = [example for example in examples if example.exact][:_EXAMPLES]
    near = sorted((example for example in examples if not example.exact), key=lambda example: -example.jaccard)[
        :_EXAMPLES
    ]
    for alike in exact:
        yield _cut_text(
            f"  {alike.second} equals {alike.first}: {alike.first_text}", measure_screen_width_and_charset().width
        )
    for alike in near:
        line = f"  {alike.second} is nearly the same as {alike.first} ({alike.jaccard:.2f}): {alike.second_text}"
        yield _cut_text(line, measure_screen_width_and_charset().width)


def _print_titled_notes(title: str, lines: Iterable[str]) -> None:
    if printed := list(lines):
        _print_folded_lines([title, *(line if line.startswith("  ") else f"- {line}" for line in printed)])


def _print_suggested_command(command: str) -> None:
    """A command to paste, whose lines belong together."""
    if command:
        from rich.text import Text

        long = len(command) > measure_screen_width_and_charset().width - 2
        _print_folded_lines(["Try"])
        print_text(Text("  " + (command.replace(" --map ", " \\\n    --map ", 1) if long else command)))


def _print_table(titles: Sequence[str], rows: Iterable[Sequence[str]], wide: bool, *, numbers: bool = False) -> None:
    print_text("")
    print_table_to_fit_screen(titles, list(rows), wide=wide, numbers=numbers)


def _print_folded_lines(lines: Sequence[str]) -> None:
    """A paragraph, folded at spaces: paths stay whole."""
    from rich.text import Text

    print_text("")
    for number, line in enumerate(lines):
        folded = textwrap.wrap(
            line.lstrip(),
            measure_screen_width_and_charset().width,
            initial_indent=" " * (len(line) - len(line.lstrip())),
            subsequent_indent="  " if number else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        print_text(Text("\n".join(folded)))


def _cut_text(text: str, length: int = _SHOWN) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


def fetch_datasets(names: Sequence[str], protocol: str, task: str, *, json: bool) -> None:
    """Fetch the named datasets, or those of a protocol and a task; of the latter what needs an agreement is only said.

    DataError at the end if one could not be fetched, Interrupted on Ctrl-C; the others are kept.
    """

    from embassay.cli.progress import StderrProgressNotice
    from embassay.data.catalogue.entries import find_data_mirror_folder

    fetched: list[FetchedTable] = []
    failed: list[DataError] = []
    try:
        with StderrProgressNotice() as waiting:
            for record in _find_dataset_records(names, protocol, task):
                _fetch_dataset_or_collect_error(record, fetched, failed, waiting)
    except KeyboardInterrupt:
        raise Interrupted(
            f"Stopped. Finished files are kept in {find_data_mirror_folder()}.",
            mend="Run the same command to continue.",
        ) from None
    _show_fetched_tables(fetched, json=json)
    if failed:
        raise DataError(
            f"Datasets that could not be fetched: {len(failed)}. First error: {failed[0].message}", mend=failed[0].mend
        )


def _fetch_dataset_or_collect_error(
    record: CatalogueDatasetRecord, fetched: list[FetchedTable], failed: list[DataError], waiting: StderrProgressNotice
) -> None:
    from embassay.data.catalogue.hub import fetch_tables_into_mirror

    if record.hub and not record.is_pinned_to_commit:
        _say_on_stderr(f"{record.name}: no revision is pinned, so your copy may differ from other people's")
    try:
        fetched += fetch_tables_into_mirror(record, lambda doing, done, total: waiting(doing, done, total or 0))
    except DataError as error:
        _say_on_stderr(f"{record.name}: {error.message}")
        failed.append(error)


def _find_dataset_records(names: Sequence[str], protocol: str, task: str) -> list[CatalogueDatasetRecord]:

    from embassay.data.catalogue.entries import list_dataset_overviews, read_catalogue_entries

    if bool(names) == bool(protocol or task):
        raise UsageError(
            "There is nothing to fetch.",
            mend="Name datasets, a protocol or a task. For example: embassay data fetch beir.",
        )
    if names:
        records, files = find_records_and_file_members(dict.fromkeys(names))
        for path in files:
            _say_on_stderr(f"{path}: left out, because it is your own file")
        return _select_fetchable_records(records) if any(find_suite(name) for name in names) else records
    used = [
        read_catalogue_entries()[overview.name]
        for overview in list_dataset_overviews(protocol, task)
        if overview.name in read_catalogue_entries()
    ]
    return _select_fetchable_records(used)


def _select_fetchable_records(used: Sequence[CatalogueDatasetRecord]) -> list[CatalogueDatasetRecord]:
    """Those that a hub holds; the others are said."""
    for record in used:
        if not record.hub:
            _say_on_stderr(f"{record.name}: left out, because it must be fetched by hand. {record.by_hand}")
    return [record for record in used if record.hub]


def _show_fetched_tables(fetched: Sequence[FetchedTable], *, json: bool) -> None:
    if json:
        typer.echo(dumps([{**asdict(table), "path": str(table.path)} for table in fetched]))
        return
    for table in fetched:
        rows = "was there" if table.rows is None else f"{table.rows:,} rows"
        typer.echo(f"{table.dataset} {table.table}: {rows}, {table.path}")


def _say_on_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class TraceConversionOptions:
    """Options for what is made of traces."""

    files: tuple[Path, ...] = option(
        MISSING, "JSON Lines files from OTLP, OpenInference (Phoenix) or Langfuse.", name="FILE..."
    )
    out: Path = option(MISSING, "A new folder for questions, runs and sessions.", group=OUTPUT)
    mask: bool = option(
        False, "Mask e-mail and IP addresses, telephone, card and account numbers, and names after a title.",
        name="--mask"
    )  # fmt: skip
    mask_words: Path | None = option(
        None, "Also mask the words in this file, one per line, such as names.", value="FILE"
    )
    near: float = option(0.9, "Minimum Jaccard index at which two questions are merged.")
    limit: int | None = option(
        None, "Maximum number of questions, divided equally among the stacks.", least=1, group=DATA
    )
    seed: int = redeclare_option(RunRequest, "seed")


@app.command("traces")
@stopping_at_memory
@add_options_from_record_parameters(wide=False)
def traces(asked: TraceConversionOptions, shown: PrintOptions) -> None:
    """Turn traces into questions, runs and search sessions.

    Reads OpenTelemetry (GenAI), OpenInference and Langfuse spans. Near-duplicate questions are merged.

    Example: embassay data traces spans.jsonl --out traced --mask
    """
    from embassay.interchange.traces import import_search_traces_as_runs
    from embassay.runs.folder import format_value_as_json

    done = import_search_traces_as_runs(
        asked.files, asked.out, mask=asked.mask, mask_words=asked.mask_words, near=asked.near,
        limit=asked.limit, seed=asked.seed
    )  # fmt: skip
    if shown.json:
        print_text(format_value_as_json({**vars(done), "notes": list(done.notes())}, indent=1))
        return
    runs = ", ".join(f"{name} ({count:,})" for name, count in done.runs.items()) or "none"
    print_text(f"{format_noun_count(done.questions, 'question')} from {done.spans:,} spans. Runs: {runs}.")
    for note in done.notes():
        print_text(f"- {note}.")
    print_text(f"Folder: {done.folder}")
