"""Runs (what was retrieved, with scores) and qrels (what is judged, with grades), read as columns.

    read_run(Path("bm25.trec")).frame       # query, doc, value
    read_qrels(Path("qrels/test.tsv"))

TREC files, BEIR's qrels, JSON Lines, CSV and Parquet, packed or not; what a file is, its content shows.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay.data.judged_runs.engines import Known, answered, is_answer
from embassay.data.rows import nearest, plain_number, shown
from embassay.errors import DataError
from embassay.limits import ROWS, WHOLE, bounded_json, may_hold_halves, read_bounded, reading, unpacked
from embassay.parquet import read_parquet

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl


PARQUET = b"PAR1"
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"


def read_content(path: Path) -> bytes:
    r"""All bytes of `path`, unpacked if they are gzipped, whatever its name says.

    Text comes without a UTF-8 byte order mark and with \n for \r\n and \r. DataError for a file that cannot be read,
    is larger than the limits, empty, cut or damaged, UTF-16, binary (unless Parquet) or not UTF-8, with the line where
    there is one.
    """
    try:
        with reading(path.name):
            content = read_bounded(path, WHOLE)
    except OSError as error:
        raise DataError(
            "the file cannot be read", path=path, found=error.strerror or str(error),
            mend="Check its name, and that you may read it.",
        ) from error  # fmt: skip
    if content.startswith(_GZIP):
        content = _unpacked(path, content)
    if content.startswith(PARQUET):
        return content
    if not content.removeprefix(_BOM).strip():
        raise DataError(
            "the file is empty.", path=path, mend="Check that it was written or downloaded completely."
        )
    if len(content) > ROWS.most and content.count(b"\n") > ROWS.most:
        raise ROWS.exceeded(path)
    return _text(path, content)


def line_at(content: bytes, offset: int) -> int:
    """The number, from 1, of the line that the byte at `offset` stands in."""
    return content.count(b"\n", 0, offset) + 1


def first_line(content: bytes) -> bytes:
    """The first line that is not blank; there is one in what `read_content` gives."""
    start = 0
    while True:
        end = content.find(b"\n", start)
        line = content[start:] if end < 0 else content[start:end]
        if line.strip() or end < 0:
            return line
        start = end + 1


def nth_line(content: bytes, row: int, *, header: bool) -> int:
    """The number of the line that holds row `row` (from 0): blank lines, and a header, are none."""
    wanted = row + header
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            if wanted == 0:
                return number
            wanted -= 1
    raise IndexError(row)


def _unpacked(path: Path, content: bytes) -> bytes:
    try:
        return unpacked(content, path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            "the gzip file is cut off or damaged", path=path, found=str(error),
            mend="Copy or download it again.",
        ) from error  # fmt: skip


def _text(path: Path, content: bytes) -> bytes:
    if content.startswith(_UTF16):
        raise DataError("the file is UTF-16", path=path, expected="UTF-8", mend="Save it as UTF-8.")
    content = content.removeprefix(_BOM)
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\0" in content:
        raise DataError(
            "the file is binary", path=path, line=line_at(content, content.index(b"\0")),
            expected="text in UTF-8, or Parquet", found="a NUL byte",
            mend="Give a TREC, TSV, CSV, JSONL or Parquet file.",
        )  # fmt: skip
    if not content.isascii():
        _check_utf8(path, content)
    return content


def _check_utf8(path: Path, content: bytes) -> None:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = line_at(content, error.start)
        place = error.start - content.rfind(b"\n", 0, error.start)
        raise DataError(
            f"byte {place} of the line is not UTF-8", path=path, line=line,
            found=f"0x{content[error.start]:02x}", mend="Save the file as UTF-8.",
        ) from error  # fmt: skip


KEYS = ("query", "doc", "value")
"""The columns that every reader gives."""

_NAMES = {
    "query": ("query_id", "query-id", "qid", "query"),
    "doc": ("doc_id", "corpus-id", "document_id", "docid", "doc-id", "corpus_id", "docno", "pid", "doc"),
}


@dataclass(frozen=True)
class Kind:
    """What a file is to hold: `run` or `qrels`. `target` is what its number is called in `--map`, `names` are the
    columns it is looked for in, best first; `fields` maps the number of columns without a header to what they are."""

    name: str
    target: str
    names: tuple[str, ...]
    fields: Mapping[int, tuple[str, ...]]
    expected: str
    other: str

    @property
    def targets(self) -> dict[str, str]:
        """Our column -> what it is called in `--map`."""
        return {"query": "query_id", "doc": "doc_id", "value": self.target}


RUN = Kind(
    "run", "score", ("score", "sim", "similarity"), {6: ("query", "", "doc", "", "value", "")},
    "6 columns: query Q0 document rank score tag", "qrels",
)  # fmt: skip
QRELS = Kind(
    "qrels", "relevance", ("relevance", "grade", "score", "rel", "label", "judgement", "judgment"),
    {4: ("query", "", "doc", "value"), 3: ("query", "doc", "value")},
    "4 columns: query 0 document grade, or 3: query document grade", "run",
)  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """Lines of fields: what is called so in words, the byte between fields (a blank stands for any white space), what
    each field is (empty: not used), and whether a header comes first."""

    title: str
    separator: str
    fields: tuple[str, ...]
    header: bool = False

    def split(self, line: str) -> list[str]:
        """The fields of a line."""
        if self.separator == " ":
            return line.split()
        if self.separator == ",":
            import csv

            return next(csv.reader([line]))
        return line.split(self.separator)


def layout_of(path: Path, content: bytes, kind: Kind, mapping: Mapping[str, str]) -> Layout:
    """The layout of a text file by its first line that is not blank; DataError if that fits none."""
    first = first_line(content).decode("utf-8")
    for separator in "\t", ",", " ":
        fields = Layout("", separator, ()).split(first)
        if layout := _headed(path, kind, fields, separator, mapping):
            return layout
    tabs, blanks = first.split("\t"), first.split()
    # Tabs alone separate where ids hold blanks: the two then differ in number.
    apart = len(tabs) in kind.fields and len(tabs) != len(blanks)
    if (n := len(tabs if apart else blanks)) in kind.fields:
        title = f"TREC {kind.name}" if n != 3 else "BEIR qrels"
        return Layout(title, "\t" if apart else " ", kind.fields[n])
    raise _unknown(path, content, kind, first)


def chosen_columns(
    path: Path, kind: Kind, columns: Sequence[str], mapping: Mapping[str, str]
) -> dict[str, str]:
    """Our column -> theirs, by `--map` where it names one that is there and by its usual names otherwise; DataError
    for one that is missing."""
    chosen = {}
    for key, target in kind.targets.items():
        usual = kind.names if key == "value" else _NAMES[key]
        names = (mapping[target], *usual) if target in mapping else usual
        name = next((name for name in names if name in columns), None)
        if name is None:
            near = nearest(mapping.get(target, target), columns) or "COLUMN"
            raise DataError(
                f"there is no column {mapping.get(target, target)!r}", path=path,
                found="columns " + ", ".join(columns), mend=f"Name it with --map {target}={near}.",
            )  # fmt: skip
        chosen[key] = name
    return chosen


def _headed(
    path: Path, kind: Kind, fields: Sequence[str], separator: str, mapping: Mapping[str, str]
) -> Layout | None:
    """The layout under a header, None if the line is none: a header names query and document."""
    names = [field.strip() for field in fields]
    lowered = {name.lower() for name in names}
    mapped = {mapping[target] for target in kind.targets.values() if target in mapping}
    if not (mapped & set(names) or all(lowered & set(_NAMES[key]) for key in _NAMES)):
        return None
    if len(names) < 3:
        return None
    heads = names if mapped & set(names) else [name.lower() for name in names]
    columns = {theirs: ours for ours, theirs in chosen_columns(path, kind, heads, mapping).items()}
    title = {"\t": "TSV", ",": "CSV", " ": "text"}[separator] + " with a header"
    return Layout(title, separator, tuple(columns.get(name, "") for name in heads), header=True)


def _unknown(path: Path, content: bytes, kind: Kind, first: str) -> DataError:
    n = len(first.split())
    if n in (RUN if kind is QRELS else QRELS).fields:
        mend = f"This looks like {'a run' if kind.other == 'run' else 'qrels'}: give it with --{kind.other}."
    elif ";" in first:
        mend = "Separate the columns by commas or tabs, not by semicolons, and write decimals with a point."
    elif first.lstrip().startswith("["):
        mend = "Write JSON Lines: one object per line, no list around them."
    else:
        mend = "Separate the columns by commas, blanks or tabs, or give JSONL or Parquet with --map."
    return DataError(
        f"the line is not one of a {kind.name} file" if kind is QRELS else "the line is not one of a run",
        path=path, line=nth_line(content, 0, header=False), expected=kind.expected,
        found=f"{n} column{'s' if n != 1 else ''}", mend=mend,
    )  # fmt: skip


Entry = tuple[str, str, float]


def text_entries(path: Path, content: bytes, kind: Kind, layout: Layout) -> list[Entry]:
    """Every line as query, document and number; DataError for the first that is not."""
    lines = _lines(content)
    if layout.header:
        next(lines)
    entries = []
    for number, line in lines:
        fields = layout.split(line)
        if len(fields) != len(layout.fields):
            raise DataError(
                f"the line does not have the columns of {_of(kind, layout)}", path=path, line=number,
                expected=f"{len(layout.fields)} columns"
                + (" as in the header" if layout.header else f" ({kind.expected.partition(', or')[0]})"),
                found=f"{len(fields)}", mend=_mend(layout, len(fields)),
            )  # fmt: skip
        entries.append(entry(path, number, dict(zip(layout.fields, fields, strict=True)), kind))
    return _some(path, entries, layout)


def json_entries(path: Path, content: bytes, kind: Kind, names: Mapping[str, str]) -> list[Entry]:
    """Every object as query, document and number; DataError for the first line that is not one."""
    entries = []
    for number, line in _lines(content):
        try:
            value = bounded_json(line)
        except ValueError as error:
            raise DataError(
                "the line is not valid JSON", path=path, line=number, found=str(error),
                mend="JSONL holds one complete JSON object per line.",
            ) from error  # fmt: skip
        if not isinstance(value, dict):
            raise DataError(
                "the line is not a JSON object", path=path, line=number, found=shown(value),
                mend="Write one object per line (JSON Lines).",
            )  # fmt: skip
        entries.append(entry(path, number, {key: value.get(names[key]) for key in KEYS}, kind))
    return entries


def entry(path: Path, line: int, cells: Mapping[str, Any], kind: Kind) -> Entry:
    """The cells KEYS of a line as an entry; DataError for one that is not what it should be."""
    for key, what in (("query", "query"), ("doc", "document")):
        cell = cells[key]
        if isinstance(cell, bool) or not isinstance(cell, str | int) or not str(cell).strip():
            raise DataError(
                f"the {what} has no identifier", path=path, line=line, expected="a text or an integer",
                found=shown(cell), mend="Correct the line, or leave it out.",
            )  # fmt: skip
    return str(cells["query"]), str(cells["doc"]), _number(path, line, cells["value"], kind)


def _number(path: Path, line: int, cell: Any, kind: Kind) -> float:
    number = math.nan
    if not isinstance(cell, bool) and isinstance(cell, str | int | float):
        try:
            number = plain_number(cell)
        except (ValueError, OverflowError):
            number = math.nan
    if not math.isfinite(number):
        what = "score" if kind.name == "run" else "grade"
        raise DataError(
            f"the {what} is not a number", path=path, line=line, expected="a finite number",
            found=shown(cell), mend="Correct the line, or leave it out.",
        )  # fmt: skip
    return number


def _lines(content: bytes) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield number, line.decode("utf-8")


def _of(kind: Kind, layout: Layout) -> str:
    return f"{layout.title}" if layout.title else kind.name


def _mend(layout: Layout, n: int) -> str:
    if n < len(layout.fields):
        return "Check that the file was written completely."
    if layout.separator == " ":
        return "Identifiers must not hold blanks; separate the columns by tabs if they do."
    return "Put no separator inside a field."


def _some(path: Path, entries: list[Entry], layout: Layout) -> list[Entry]:
    if not entries:
        raise DataError(
            "there is no line below the header" if layout.header else "the file has no lines", path=path,
            mend="Check that the file was written completely.",
        )  # fmt: skip
    return entries


def text_columns(content: bytes, layout: Layout) -> pl.DataFrame | None:
    """The columns KEYS of lines of fields: None where a line has other fields, or a number is none."""
    body = _below_header(content) if layout.header else content
    if layout.separator != " ":
        return _parsed(body, layout)
    # Most files have one blank between fields; the others are made so.
    frame = None if b"\t" in body else _parsed(body, layout)
    return _parsed(_single_blanks(body), layout) if frame is None else frame


def _parsed(body: bytes, layout: Layout) -> pl.DataFrame | None:
    import polars as pl
    from polars.exceptions import PolarsError

    names = {f"column_{i}": name for i, name in enumerate(layout.fields, start=1)}
    try:
        frame = pl.read_csv(
            body, separator=layout.separator, has_header=False,
            quote_char='"' if layout.separator == "," else None,
            schema={column: pl.Float64 if name == "value" else pl.String for column, name in names.items()},
        )  # fmt: skip
    except PolarsError:
        return None
    if any(frame.null_count().row(0)):
        # A blank line is a row of nothing; any other hole is for the careful reader to find.
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    if any(frame.null_count().row(0)):
        return None
    frame = frame.rename({column: name for column, name in names.items() if name})
    return checked(frame.select(KEYS))


def json_columns(content: bytes, names: Mapping[str, str]) -> pl.DataFrame | None:
    """The columns KEYS of JSON Lines, from the keys `names` (ours -> theirs); None where anything is odd."""
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    if may_hold_halves(content):
        return None
    kinds = {names[key]: pl.Float64 if key == "value" else pl.String for key in KEYS}
    try:
        frame = pl.read_ndjson(content, schema=kinds)
    except (PolarsError, PanicException):
        return None
    frame = frame.rename({theirs: ours for ours, theirs in names.items()}).select(KEYS)
    return None if any(frame.null_count().row(0)) else checked(frame)


def checked(frame: pl.DataFrame) -> pl.DataFrame | None:
    """The frame, or None if it has no rows, a number that is not finite or an id of blanks."""
    import polars as pl

    sound = frame.select(
        pl.col("value").is_finite().all(),
        *((pl.col(key).str.strip_chars() != "").all() for key in ("query", "doc")),
    )
    return frame if len(frame) and all(sound.row(0)) else None


def _below_header(content: bytes) -> bytes:
    header = first_line(content)
    return content[content.index(header) + len(header) + 1 :]


def _single_blanks(content: bytes) -> bytes:
    """The text with one blank wherever white space stood inside a line, and none at its ends."""
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
class Entries:
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

    def fault(
        self, row: int, message: str, *, expected: str = "", found: str = "", mend: str = ""
    ) -> DataError:
        """The error for entry `row`."""
        line = self.line_of(row)
        return DataError(message, path=self.path, line=line, expected=expected, found=found, mend=mend)


def read_run(path: Path, mapping: Mapping[str, str] = _NOTHING, known: Known | None = None) -> Entries:
    """The lines of a run: TREC's six columns, JSONL, CSV, TSV or Parquet with `query_id`, `doc_id` and `score`; or what
    an engine answered, as JSON (`engines`), whose texts are found among the passages of `known`.

    The format is told from the content. `mapping` is target column -> the file's, where the file has it. Entries keep
    the file's order and repeats. DataError, with its line, for what is not a run.
    """
    return _read(path, RUN, mapping, known=known)


def read_qrels(path: Path, mapping: Mapping[str, str] = _NOTHING, *, split: str | None = None) -> Entries:
    """The lines of qrels: TREC's four columns, BEIR's three, or a table with `query_id`, `doc_id` and `relevance`.

    A folder in BEIR's layout stands for its `qrels/<split>.tsv` (`test` unless one is named); in JSONL and Parquet a
    named split selects the rows whose `split` is that. Other rules as for `read_run`.
    """
    if path.is_dir():
        return _read(_in_folder(path, split), QRELS, mapping)
    return _read(path, QRELS, mapping, split)


def entries_of(held: Held | pl.DataFrame, kind: str, name: str) -> Entries:
    """The entries of a run (`kind` "run") or qrels ("qrels") in memory, called `name` in errors."""
    import polars as pl
    from polars.exceptions import PolarsError

    what = RUN if kind == "run" else QRELS
    if isinstance(held, pl.DataFrame):
        return _of_frame(held, Path(name), what, _NOTHING, "polars frame")
    rows = [(str(query), str(doc), value) for query, pairs in held.items() for doc, value in _pairs(pairs)]
    schema = dict.fromkeys(KEYS[:2], pl.String) | {"value": pl.Float64}
    try:
        frame = pl.DataFrame(rows, schema=schema, orient="row")
    except (PolarsError, TypeError, OverflowError, UnicodeEncodeError) as error:
        odd = next((row for row in rows if not _is_entry(*row)), None)
        raise DataError(
            f"the {what.name} cannot be read", path=name, expected="ids of whole characters, and numbers",
            found=shown(odd), mend="Give query -> document -> number.",
        ) from error  # fmt: skip
    if len(frame) == 0 or not frame["value"].is_finite().fill_null(value=False).all():
        raise DataError(
            f"the {what.name} has no entries" if len(frame) == 0 else "a value is not a finite number",
            path=name, mend="Give query -> document -> number.",
        )  # fmt: skip
    return Entries(name, "mapping", frame)


def _is_entry(query: str, doc: str, value: Any) -> bool:
    try:
        return bool((query + doc).encode()) and float(value) == float(value)
    except (TypeError, ValueError, OverflowError):
        return False


def _pairs(values: Any) -> Sequence[tuple[str, float]]:
    """Documents with their numbers; documents in order get falling ones."""
    if not isinstance(values, Mapping | Sequence) or isinstance(values, str):
        raise DataError(
            "a query's documents cannot be read", expected="document -> number, or documents in order",
            found=shown(values), mend="Give query -> document -> number, and runs by name.",
        )  # fmt: skip
    if isinstance(values, Mapping):
        return list(values.items())
    return [(doc, -float(i)) for i, doc in enumerate(values)]


def _read(
    path: Path,
    kind: Kind,
    mapping: Mapping[str, str],
    split: str | None = None,
    known: Known | None = None,
) -> Entries:
    content = read_content(path)
    if content.startswith(PARQUET):
        return _parquet(path, content, kind, mapping, split)
    if kind is RUN and is_answer(content):
        return _answers(path, content, mapping, known)
    if first_line(content).lstrip().startswith(b"{"):
        return _json_lines(path, content, kind, mapping, split)
    layout = layout_of(path, content, kind, mapping)
    if kind is RUN:
        _check_ranks(path, content, layout)
    frame = text_columns(content, layout)
    if frame is None:
        frame = _framed(text_entries(path, content, kind, layout))
    return Entries(str(path), layout.title, frame, partial(nth_line, content, header=layout.header))


_LOOKED_AT, _LEAST_STEPS = 1_000, 10
"""Lines that are looked at for ranks, and steps from a rank to the next that say something."""


def _check_ranks(path: Path, content: bytes, layout: Layout) -> None:
    """DataError where the score rises with every rank: it is a distance, and by score the last would be the best."""
    names = [name.strip().lower() for name in layout.split(first_line(content).decode("utf-8"))]
    if layout.header and "rank" not in names:
        return
    at = names.index("rank") if layout.header else 3
    query, value = layout.fields.index("query"), layout.fields.index("value")
    before, steps = ("", 0.0, 0.0), 0
    for number, line in islice(_lines(content), int(layout.header), _LOOKED_AT):
        try:
            fields = layout.split(line)
            now = (fields[query], float(fields[at]), float(fields[value]))
        except (ValueError, IndexError):
            return  # for the careful reader to find
        if now[0] == before[0] and now[1] == before[1] + 1:
            if not now[2] > before[2]:
                return
            steps += 1
            if steps == _LEAST_STEPS:
                rise = f"{before[2]:g} at rank {before[1]:g}, {now[2]:g} at rank {now[1]:g}", number
        before = now
    if steps >= _LEAST_STEPS:
        raise DataError(
            "the scores rise with the rank", path=path, line=rise[1], expected="the highest score at the first rank",
            found=rise[0], mend="If they are distances, put a minus before each; else leave the ranks away (0).",
        )  # fmt: skip


def _answers(path: Path, content: bytes, mapping: Mapping[str, str], known: Known | None) -> Entries:
    """What an engine answered, as entries."""
    answers = answered(path, content, mapping, known)
    lines = answers.lines
    return Entries(
        str(path), "engine", _framed(answers.entries), lambda row: lines[row], answers.places, answers.notes
    )


def _json_lines(
    path: Path, content: bytes, kind: Kind, mapping: Mapping[str, str], split: str | None
) -> Entries:
    try:
        keys = list(bounded_json(first_line(content)))
    except ValueError:
        keys = list(kind.targets.values())
    names = chosen_columns(path, kind, keys, mapping)
    if split is not None and "split" in keys:
        content = _of_split(path, content, split)
    frame = json_columns(content, names)
    if frame is None:
        frame = _framed(json_entries(path, content, kind, names))
    return Entries(str(path), "JSONL", frame, partial(nth_line, content, header=False))


def _of_split(path: Path, content: bytes, split: str) -> bytes:
    """The lines of a split; the others become blank, so that line numbers stay."""

    def kept(line: bytes) -> bool:
        try:
            return not line.strip() or bounded_json(line).get("split") == split
        except (ValueError, AttributeError):
            return True  # for the careful reader to find

    chosen = [line if kept(line) else b"" for line in content.split(b"\n")]
    if not any(chosen):
        raise _no_split(path, split)
    return b"\n".join(chosen)


def _parquet(
    path: Path, content: bytes, kind: Kind, mapping: Mapping[str, str], split: str | None
) -> Entries:
    import polars as pl

    frame = read_parquet(content, path=path)
    if split is not None and "split" in frame.columns:
        frame = frame.filter(pl.col("split") == split)
        if not len(frame):
            raise _no_split(path, split)
    return _of_frame(frame, path, kind, mapping, "Parquet")


def _of_frame(frame: pl.DataFrame, path: Path, kind: Kind, mapping: Mapping[str, str], title: str) -> Entries:
    import polars as pl

    if not len(frame):
        raise DataError("the table has no rows.", path=path, mend="Check that it was written completely.")
    columns = frame.columns
    names = chosen_columns(path, kind, columns, mapping)
    chosen = frame.select(pl.col(theirs).alias(ours) for ours, theirs in names.items())
    right = all(chosen[key].dtype == pl.String or chosen[key].dtype.is_integer() for key in ("query", "doc"))
    numeric = chosen["value"].dtype.is_numeric()
    cast = chosen.select(
        pl.col("query", "doc").cast(pl.String), pl.col("value").cast(pl.Float64, strict=False)
    ) if right and numeric else None  # fmt: skip
    if cast is None or any(cast.null_count().row(0)) or checked(cast) is None:
        rows = enumerate(chosen.iter_rows(named=True), start=1)
        cast = _framed([entry(path, number, row, kind) for number, row in rows])
    return Entries(str(path), title, cast, lambda row: row + 1)


def _framed(entries: Sequence[Entry]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(
        list(entries), schema={"query": pl.String, "doc": pl.String, "value": pl.Float64}, orient="row"
    )


def _in_folder(folder: Path, split: str | None) -> Path:
    """The qrels file of a folder in BEIR's layout."""
    names = [f"qrels/{split or 'test'}{end}" for end in (".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz")]
    names += [f"qrels{end}" for end in (".tsv", ".trec", ".jsonl", ".jsonl.gz", ".tsv.gz")]
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise DataError(
            "the folder has no qrels", path=folder, expected=names[0], mend="Give the qrels file itself."
        )
    return path


def _no_split(path: Path, split: str) -> DataError:
    return DataError(
        "no row is of the split asked for", path=path, expected=shown(split), mend="Check --split."
    )


__all__ = ["Entries", "entries_of", "read_qrels", "read_run"]
