"""Runs (what was retrieved, with scores) and qrels (what is judged, with grades), read as columns.

    read_run(Path("bm25.trec")).frame       # query, doc, value
    read_qrels_entries(Path("qrels/test.tsv"))

TREC files, BEIR's qrels, JSON Lines, CSV and Parquet, packed or not; what a file is, its content shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay.data.judged_runs.content import (
    PARQUET,
    begins_like_json_object,
    find_first_nonblank_line,
    find_line_of_row,
    read_unpacked_bytes,
    split_nonblank_lines,
)
from embassay.data.judged_runs.direction import orient_scores_best_highest
from embassay.data.judged_runs.engines import is_engine_answer, read_engine_answers_as_run
from embassay.data.judged_runs.hits import is_document_score_pair
from embassay.data.judged_runs.layouts import (
    KEYS,
    QRELS,
    RUN,
    DelimitedFieldLayout,
    RunOrQrelsKind,
    detect_text_file_layout,
    map_needed_to_file_columns,
)
from embassay.data.judged_runs.texts import AnswerTextMatcher
from embassay.data.rows import clean_id, format_value_for_error, parse_plain_number, unescape_spreadsheet_formula
from embassay.errors import DataError
from embassay.limits import has_json_surrogate_escape_sequences, parse_bounded_json
from embassay.parquet import read_parquet

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl


Entry = tuple[str, str, float]


def parse_run_or_qrels_lines(
    path: Path, content: bytes, kind: RunOrQrelsKind, layout: DelimitedFieldLayout
) -> dict[int, Entry | None]:
    """The number of every line, and its query, document and number; DataError for the first that has none. Of
    judgements in a table a line may have no grade yet: it has None."""
    lines = _iterate_numbered_text_lines(path, content)
    if layout.header:
        next(lines)
    entries: dict[int, Entry | None] = {}
    for number, line in lines:
        fields = layout.split(line)
        if len(fields) != len(layout.fields):
            raise DataError(
                f"wrong number of columns for {_name_layout(kind, layout)}", path=path, line=number,
                expected=f"{len(layout.fields)} columns"
                + (" as in the header" if layout.header else f" ({kind.expected.partition(', or')[0]})"),
                found=f"{len(fields)}", mend=_suggest_layout_mend(layout, len(fields))
            )  # fmt: skip
        cells = dict(zip(layout.fields, fields, strict=True))
        is_ungraded = kind.name == "qrels" and layout.header and not cells["value"].strip()
        entries[number] = None if is_ungraded else parse_run_or_qrels_line(path, number, cells, kind)
    return _check_any_row_has_grade(path, entries, layout)


def parse_json_entries(path: Path, content: bytes, kind: RunOrQrelsKind, names: Mapping[str, str]) -> list[Entry]:
    """Every object as query, document and number; DataError for the first line that is not one."""
    entries = []
    for number, line in _iterate_numbered_text_lines(path, content):
        try:
            value = parse_bounded_json(line)
        except ValueError as error:
            raise DataError(
                "the line is not valid JSON", path=path, line=number, found=str(error),
                mend="JSONL needs one complete JSON object per line."
            ) from error  # fmt: skip
        if not isinstance(value, dict):
            raise DataError(
                "the line is not a JSON object", path=path, line=number, found=format_value_for_error(value),
                mend="Write one object per line (JSON Lines)."
            )  # fmt: skip
        entries.append(parse_run_or_qrels_line(path, number, {key: value.get(names[key]) for key in KEYS}, kind))
    return entries


def parse_run_or_qrels_line(path: Path, line: int, cells: Mapping[str, Any], kind: RunOrQrelsKind) -> Entry:
    """The cells KEYS of a line as an entry; DataError for one that is not what it should be."""
    for key, what in (("query", "query"), ("doc", "document")):
        if not clean_id(cells[key]):
            raise DataError(
                f"the {what} has no identifier", path=path, line=line, expected="a text or an integer",
                found=format_value_for_error(cells[key]), mend="Correct the line, or leave it out."
            )  # fmt: skip
    number = _parse_number(path, line, cells["value"], kind)
    return clean_id(cells["query"]), clean_id(cells["doc"]), number


def _parse_number(path: Path, line: int, cell: Any, kind: RunOrQrelsKind) -> float:
    number = math.nan
    if not isinstance(cell, bool) and isinstance(cell, str | int | float):
        try:
            number = parse_plain_number(cell)
        except (ValueError, OverflowError):
            number = math.nan
    if not math.isfinite(number):
        what = "score" if kind.name == "run" else "grade"
        is_truth = isinstance(cell, bool)
        mend = "Write 1 for true and 0 for false." if is_truth else "Correct the line, or leave it out."
        raise DataError(
            f"the {what} is not a number", path=path, line=line, expected="a finite number",
            found=format_value_for_error(cell), mend=mend
        )  # fmt: skip
    return number


def _iterate_numbered_text_lines(path: Path, content: bytes) -> Iterator[tuple[int, str]]:
    for number, line in split_nonblank_lines(path, content):
        yield number, line.decode("utf-8")


def _name_layout(kind: RunOrQrelsKind, layout: DelimitedFieldLayout) -> str:
    return f"{layout.title}" if layout.title else kind.name


def _suggest_layout_mend(layout: DelimitedFieldLayout, n: int) -> str:
    if n < len(layout.fields):
        return "Check that the file was written completely."
    if layout.separator == " ":
        return "If identifiers contain spaces, separate the columns with tabs."
    return "Fields must not contain the separator."


def _check_any_row_has_grade(
    path: Path, entries: dict[int, Entry | None], layout: DelimitedFieldLayout
) -> dict[int, Entry | None]:
    if entries and not any(entries.values()):
        raise DataError(
            f"none of {len(entries):,} rows has a grade", path=path, expected=f"a number in {layout.value or 'grade'}",
            mend="Fill in grades from the top; rows without a grade are left out."
        )  # fmt: skip
    if not entries:
        raise DataError(
            "there are no lines below the header" if layout.header else "the file has no lines", path=path,
            mend="Check that the file was written completely."
        )  # fmt: skip
    return entries


def parse_ranks_of_run_lines(path: Path, content: bytes, layout: DelimitedFieldLayout) -> list[float | None]:
    """The rank that each line says, None for what is none."""
    at = layout.fields.index("rank")
    lines = islice(_iterate_numbered_text_lines(path, content), int(layout.header), None)
    return [_parse_rank(layout.split(line)[at]) for _, line in lines]


def _parse_rank(cell: Any) -> float | None:
    try:
        return parse_plain_number(cell)
    except (ValueError, TypeError, OverflowError):
        return None


def parse_text_columns(content: bytes, layout: DelimitedFieldLayout) -> pl.DataFrame | None:
    """The columns KEYS of lines of fields, and `rank` where the layout has it: None where a line has other fields, or a
    number is none."""
    body = _skip_header_line(content) if layout.header else content
    if layout.separator == "," and b', "' in body:
        return None  # the careful reader knows that a blank may stand before a quotation mark
    if layout.separator != " ":
        return _read_csv_bytes_as_frame(body, layout)
    # Most files have one blank between fields; the others are made so.
    frame = None if b"\t" in body else _read_csv_bytes_as_frame(body, layout)
    return _read_csv_bytes_as_frame(_collapse_blanks(body), layout) if frame is None else frame


def _read_csv_bytes_as_frame(body: bytes, layout: DelimitedFieldLayout) -> pl.DataFrame | None:
    import polars as pl
    from polars.exceptions import PolarsError

    names = {f"column_{i}": name for i, name in enumerate(layout.fields, start=1)}
    try:
        frame = pl.read_csv(
            body, separator=layout.separator, has_header=False,
            quote_char='"' if layout.quoted or layout.separator == "," else None,
            # Ids stay as they are written: as numbers, 0042 and 42 would be one.
            schema={column: pl.Float64 if name == "value" else pl.String for column, name in names.items()}
        )  # fmt: skip
    except PolarsError:
        return None
    if any(frame.null_count().row(0)):
        # A blank line is a row of nothing; any other hole is for the careful reader to find.
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    if any(frame.null_count().row(0)):
        return None
    frame = frame.rename({column: name for column, name in names.items() if name})
    return clean_entries_frame_or_none(frame.select(*KEYS, *(["rank"] if layout.rank else [])))


def parse_run_columns_from_json_lines(content: bytes, names: Mapping[str, str]) -> pl.DataFrame | None:
    """The columns KEYS of JSON Lines, from the keys `names` (ours -> theirs), and `rank` where they name it; None where
    anything is odd."""
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    # Readers other than ours take half of a surrogate pair for NUL.
    if has_json_surrogate_escape_sequences(content):
        return None
    kinds = {theirs: pl.String if ours in ("query", "doc") else pl.Float64 for ours, theirs in names.items()}
    try:
        frame = pl.read_ndjson(content, schema=kinds)
    except (PolarsError, PanicException):
        # Some faults of polars are panics of Rust, which are no PolarsError.
        return None
    frame = frame.rename({theirs: ours for ours, theirs in names.items()}).select(list(names))
    return None if any(frame.select(KEYS).null_count().row(0)) else clean_entries_frame_or_none(frame)


def clean_entries_frame_or_none(frame: pl.DataFrame) -> pl.DataFrame | None:
    """The frame with ids without the blanks around them and ranks as numbers, or None if it has no rows, a number that
    is not finite or an id of blanks."""
    import polars as pl

    frame = frame.with_columns(pl.col("query", "doc").str.strip_chars())
    if "rank" in frame.columns:
        text = pl.col("rank").cast(pl.String, strict=False).str.strip_chars()
        frame = frame.with_columns(text.cast(pl.Float64, strict=False))
    sound = frame.select(pl.col("value").is_finite().all(), *((pl.col(key) != "").all() for key in ("query", "doc")))
    return frame if len(frame) and all(sound.row(0)) else None


def _skip_header_line(content: bytes) -> bytes:
    header = find_first_nonblank_line(content)
    return content[content.index(header) + len(header) + 1 :]


def _collapse_blanks(content: bytes) -> bytes:
    """Collapse white space inside a line to one blank, and drop it at the ends."""
    if b"\t" in content:
        content = content.replace(b"\t", b" ")
    while b"  " in content:
        content = content.replace(b"  ", b" ")
    if b"\n " in content:
        content = content.replace(b"\n ", b"\n")
    if b" \n" in content:
        content = content.replace(b" \n", b"\n")
    return content.strip(b" ")


Held = Mapping[str, Any]
"""A run or qrels in memory: query -> (document -> number, or documents in order); or a polars frame."""
_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class RunOrQrelsEntries:
    """The entries of a file in its order: a frame with `query`, `doc` (texts) and `value` (finite numbers).

    `line_of` gives the line (from 1; the row in Parquet) of entry `i` (from 0), None for what was in memory.
    """

    path: str
    format: str
    frame: pl.DataFrame
    line_of: Callable[[int], int | None] = field(default=lambda _: None, compare=False, repr=False)
    places: Mapping[str, tuple[str, int, int]] = field(default_factory=dict, compare=False, repr=False)
    """Document, start and end of what was retrieved, where the file says it."""
    notes: tuple[str, ...] = ()
    """What is to be said of how it was read."""
    is_scored: bool = True
    """Whether the numbers of a run are scores: not where they were made from ranks."""

    def make_entry_error(
        self, row: int, message: str, *, expected: str = "", found: str = "", mend: str = ""
    ) -> DataError:
        """The error for entry `row`."""
        line = self.line_of(row)
        return DataError(message, path=self.path, line=line, expected=expected, found=found, mend=mend)


def read_run_entries(
    path: Path, mapping: Mapping[str, str] = _NOTHING, known: AnswerTextMatcher | None = None
) -> RunOrQrelsEntries:
    """The lines of a run: TREC's six columns, JSONL, CSV, TSV or Parquet with `query_id`, `doc_id` and `score`; or what
    an engine answered, as JSON (`engines`), whose texts are found among the passages of `known`.

    The format is told from the content. `mapping` is target column -> the file's, where the file has it. Entries keep
    the file's order and repeats. DataError, with its line, for what is not a run.
    """
    return _read_run_or_qrels_entries(path, RUN, mapping, known=known)


def read_qrels_entries(
    path: Path, mapping: Mapping[str, str] = _NOTHING, *, split: str | None = None
) -> RunOrQrelsEntries:
    """The lines of qrels: TREC's four columns, BEIR's three, or a table with `query_id`, `doc_id` and `relevance`.

    A folder in BEIR's layout stands for its `qrels/<split>.tsv` (`test` unless one is named); in JSONL and Parquet a
    named split selects the rows whose `split` is that. Other rules as for `read_run_entries`.
    """
    entries = (
        _read_run_or_qrels_entries(_find_qrels_file(path, split), QRELS, mapping)
        if path.is_dir()
        else _read_run_or_qrels_entries(path, QRELS, mapping, split)
    )
    return replace(entries, frame=entries.frame.with_columns(_iterate_ids_without_formula_apostrophe(entries.frame)))


def _iterate_ids_without_formula_apostrophe(frame: pl.DataFrame) -> Iterator[pl.Series]:
    """The ids of judgements without the apostrophe that keeps a spreadsheet from taking one for a formula: what we give
    to be graded has it."""
    for name in ("query", "doc"):
        ids = frame[name]
        quoted = ids.filter(ids.str.starts_with("'")).unique().to_list()
        if changed := {
            text: unescape_spreadsheet_formula(text) for text in quoted if unescape_spreadsheet_formula(text) != text
        }:
            yield ids.replace(changed)


def read_entries_in_memory(held: Held | pl.DataFrame, kind: str, name: str) -> RunOrQrelsEntries:
    """The entries of a run (`kind` "run") or qrels ("qrels") in memory, called `name` in errors."""
    import polars as pl
    from polars.exceptions import PolarsError

    what = RUN if kind == "run" else QRELS
    if isinstance(held, pl.DataFrame):
        return _convert_frame_to_entries(held, Path(name), what, _NOTHING, "polars frame")
    rows = [
        (clean_id(query) or str(query), clean_id(doc) or str(doc), value)
        for query, pairs in held.items()
        for doc, value in _pair_documents_with_numbers(pairs)
    ]
    schema = dict.fromkeys(KEYS[:2], pl.String) | {"value": pl.Float64}
    try:
        frame = pl.DataFrame(rows, schema=schema, orient="row")
    except (PolarsError, TypeError, OverflowError, UnicodeEncodeError) as error:
        odd = next((row for row in rows if not _is_valid_run_entry(*row)), None)
        raise DataError(
            f"the {what.name} cannot be read", path=name, expected="ids in valid Unicode, and numbers",
            found=format_value_for_error(odd), mend="Pass query -> document -> number."
        ) from error  # fmt: skip
    if len(frame) == 0 or not frame["value"].is_finite().fill_null(value=False).all():
        raise DataError(
            f"the {what.name} has no entries" if len(frame) == 0 else "a value is not a finite number",
            path=name, mend="Pass query -> document -> number."
        )  # fmt: skip
    entries = _make_entries_from_frame(Path(name), what, "mapping", frame, lambda _: None, "")
    is_order = any(_are_unscored_documents(pairs) for pairs in held.values())
    return replace(entries, path=name, is_scored=not is_order)


def _are_unscored_documents(pairs: Any) -> bool:
    """Whether they are documents in order, without scores."""
    return not isinstance(pairs, Mapping) and not all(map(is_document_score_pair, pairs))


def _is_valid_run_entry(query: str, doc: str, value: Any) -> bool:
    try:
        # NaN does not equal itself, and encode() fails for half of a surrogate pair.
        return bool((query + doc).encode()) and float(value) == float(value)
    except (TypeError, ValueError, OverflowError):
        return False


def _pair_documents_with_numbers(values: Any) -> Sequence[tuple[str, float]]:
    """Documents with their numbers, alone or in pairs; documents in order get falling ones."""
    if not isinstance(values, Mapping | Sequence) or isinstance(values, str):
        raise DataError(
            "a query's documents cannot be read", expected="document -> number, or documents in order",
            found=format_value_for_error(values), mend="Pass query -> document -> number (runs: name -> run)."
        )  # fmt: skip
    if isinstance(values, Mapping):
        return list(values.items())
    if values and not _are_unscored_documents(values):
        return [(doc, float(score)) for doc, score in values]
    return [(doc, -float(i)) for i, doc in enumerate(values)]


def _read_run_or_qrels_entries(
    path: Path,
    kind: RunOrQrelsKind,
    mapping: Mapping[str, str],
    split: str | None = None,
    known: AnswerTextMatcher | None = None,
) -> RunOrQrelsEntries:
    content = read_unpacked_bytes(path)
    if content.startswith(PARQUET):
        return _read_parquet_entries(path, content, kind, mapping, split)
    if kind is RUN and is_engine_answer(content):
        return _read_engine_entries(path, content, mapping, known)
    if begins_like_json_object(find_first_nonblank_line(content)):
        return _read_json_run_or_qrels_entries(path, content, kind, mapping, split)
    layout = detect_text_file_layout(path, content, kind, mapping)
    frame = parse_text_columns(content, layout)
    if frame is not None:
        lines = partial(find_line_of_row, content, header=layout.header)
        return _make_entries_from_frame(path, kind, layout.title, frame, lines, layout.value)
    lines_read = parse_run_or_qrels_lines(path, content, kind, layout)
    entries = {number: entry_ for number, entry_ in lines_read.items() if entry_ is not None}
    frame = _make_query_document_value_frame(list(entries.values()))
    if layout.rank:
        frame = frame.with_columns(_make_rank_series(parse_ranks_of_run_lines(path, content, layout)))
    made = _make_entries_from_frame(path, kind, layout.title, frame, list(entries).__getitem__, layout.value)
    total = len(lines_read)
    ungraded = f"{total - len(entries):,} of {total:,} rows have no grade yet and are left out"
    return replace(made, notes=(*made.notes, ungraded)) if len(entries) < total else made


def _make_rank_series(values: Sequence[float | None]) -> pl.Series:
    import polars as pl

    return pl.Series("rank", values, dtype=pl.Float64)


def _make_entries_from_frame(
    path: Path, kind: RunOrQrelsKind, title: str, frame: pl.DataFrame, line_of: Callable[[int], int | None], value: str
) -> RunOrQrelsEntries:
    """Entries of a frame, of a run with the best number highest; `value` is what the numbers are called in the file."""
    entries = RunOrQrelsEntries(str(path), title, frame, line_of)
    if kind is not RUN:
        return entries
    run = orient_scores_best_highest(frame, value, entries.make_entry_error, by_trec=title.startswith("TREC"))
    return replace(entries, frame=run.frame, notes=run.notes, is_scored=run.is_scored)


def _read_engine_entries(
    path: Path, content: bytes, mapping: Mapping[str, str], known: AnswerTextMatcher | None
) -> RunOrQrelsEntries:
    """Read what an engine answered, as entries."""
    answers = read_engine_answers_as_run(path, content, mapping, known)
    lines = answers.lines
    return RunOrQrelsEntries(
        str(path), "engine", _make_query_document_value_frame(answers.entries), lambda row: lines[row], answers.places,
        answers.notes,
        answers.is_scored
    )  # fmt: skip


def _read_json_run_or_qrels_entries(
    path: Path, content: bytes, kind: RunOrQrelsKind, mapping: Mapping[str, str], split: str | None
) -> RunOrQrelsEntries:
    try:
        keys = list(parse_bounded_json(find_first_nonblank_line(content)))
    except ValueError:
        keys = list(kind.map_option_name_by_column.values())
    names = map_needed_to_file_columns(path, kind, keys, mapping)
    if split is not None and "split" in keys:
        content = _select_split_lines(path, content, split)
    frame = parse_run_columns_from_json_lines(content, names)
    if frame is None:
        frame = _make_query_document_value_frame(parse_json_entries(path, content, kind, names))
        if "rank" in names:
            ranks = [
                parse_bounded_json(line).get(names["rank"]) for _, line in _iterate_numbered_text_lines(path, content)
            ]
            frame = frame.with_columns(_make_rank_series([_parse_rank(rank) for rank in ranks]))
    return _make_entries_from_frame(
        path, kind, "JSONL", frame, partial(find_line_of_row, content, header=False), names["value"]
    )


def _select_split_lines(path: Path, content: bytes, split: str) -> bytes:
    """Select the lines of a split; the others become blank, so that line numbers stay."""

    def is_of_split(line: bytes) -> bool:
        try:
            return not line.strip() or parse_bounded_json(line).get("split") == split
        except (ValueError, AttributeError):
            return True  # for the careful reader to find

    chosen = [line if is_of_split(line) else b"" for line in content.split(b"\n")]
    if not any(chosen):
        raise _make_split_error(path, split)
    return b"\n".join(chosen)


def _read_parquet_entries(
    path: Path, content: bytes, kind: RunOrQrelsKind, mapping: Mapping[str, str], split: str | None
) -> RunOrQrelsEntries:
    import polars as pl

    frame = read_parquet(content, path=path)
    if split is not None and "split" in frame.columns:
        frame = frame.filter(pl.col("split") == split)
        if not len(frame):
            raise _make_split_error(path, split)
    return _convert_frame_to_entries(frame, path, kind, mapping, "Parquet")


def _convert_frame_to_entries(
    frame: pl.DataFrame, path: Path, kind: RunOrQrelsKind, mapping: Mapping[str, str], title: str
) -> RunOrQrelsEntries:
    import polars as pl

    if not len(frame):
        raise DataError("the table has no rows.", path=path, mend="Check that it was written completely.")
    columns = frame.columns
    names = map_needed_to_file_columns(path, kind, columns, mapping)
    chosen = frame.select(pl.col(theirs).alias(ours) for ours, theirs in names.items())
    right = all(chosen[key].dtype == pl.String or chosen[key].dtype.is_integer() for key in ("query", "doc"))
    numeric = chosen["value"].dtype.is_numeric()
    sound = None
    if right and numeric:
        cast = chosen.with_columns(
            pl.col("query", "doc").cast(pl.String), pl.col("value").cast(pl.Float64, strict=False)
        )
        sound = None if any(cast.select(KEYS).null_count().row(0)) else clean_entries_frame_or_none(cast)
    # Row by row, which is slower and names the row that cannot be read.
    if sound is None:
        rows = enumerate(chosen.iter_rows(named=True), start=1)
        sound = _make_query_document_value_frame(
            [parse_run_or_qrels_line(path, number, row, kind) for number, row in rows]
        )
        if "rank" in names:
            sound = sound.with_columns(_make_rank_series([_parse_rank(rank) for rank in chosen["rank"].to_list()]))
    return _make_entries_from_frame(path, kind, title, sound, lambda row: row + 1, names["value"])


def _make_query_document_value_frame(entries: Sequence[Entry]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(list(entries), schema={"query": pl.String, "doc": pl.String, "value": pl.Float64}, orient="row")


def _find_qrels_file(folder: Path, split: str | None) -> Path:
    """Find the qrels file of a folder in BEIR's layout."""
    names = [f"qrels/{split or 'test'}{end}" for end in (".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz")]
    names += [f"qrels{end}" for end in (".tsv", ".trec", ".jsonl", ".jsonl.gz", ".tsv.gz")]
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise DataError("the folder has no qrels", path=folder, expected=names[0], mend="Pass the qrels file itself.")
    return path


def _make_split_error(path: Path, split: str) -> DataError:
    return DataError(
        "no row belongs to the requested split",
        path=path,
        expected=format_value_for_error(split),
        mend="Check --split.",
    )


def sort_run_entries_by_score(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of a frame with `query`, `doc` and `value`, best first within each query, with the `score` that they are
    ranked by: in single precision, equal ones by document id, the greater first, as trec_eval does. Every ranking of a
    run file is made here."""
    import polars as pl

    # + 0.0 makes -0 and 0 one score.
    scored = frame.with_columns(score=pl.col("value").cast(pl.Float32, strict=False) + 0.0)
    return scored.sort("query", "score", "doc", descending=[False, True, True])


def rank_passages_by_question(entries: RunOrQrelsEntries) -> dict[str, list[tuple[str, float]]]:
    """Question -> passages with their scores in the order of `sort_run_entries_by_score`, each passage once; questions
    in the order of the file."""
    frame = entries.frame.select("query", "doc", "value")
    lists: dict[str, dict[str, float]] = {query: {} for query in frame["query"].unique(maintain_order=True)}
    for query, doc, score in sort_run_entries_by_score(frame).select("query", "doc", "score").iter_rows():
        lists[query].setdefault(doc, score)
    return {query: list(hits.items()) for query, hits in lists.items()}


__all__ = [
    "RunOrQrelsEntries",
    "rank_passages_by_question",
    "read_entries_in_memory",
    "read_qrels_entries",
    "read_run_entries",
    "sort_run_entries_by_score",
]
