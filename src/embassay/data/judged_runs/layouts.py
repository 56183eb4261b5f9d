"""How the columns of runs and judgements are laid out: what a header calls them, and what stands where without one."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from embassay.data.judged_runs.content import find_first_nonblank_line, find_line_of_row
from embassay.data.lines import is_number
from embassay.data.rows import find_nearest_name
from embassay.errors import DataError

KEYS = ("query", "doc", "value")
"""The columns that every reader gives."""

RANKS = ("rank", "position", "pos", "ranking", "place")
"""What a column of ranks is called, 1 (or 0) the best."""
DISTANCES = ("distance", "dist", "_distance", "vector_distance")
"""What a column of distances is called. Some engines call similarities so, too."""

NAMES = {
    "query": ("query_id", "query-id", "qid", "query"),
    "doc": ("doc_id", "corpus-id", "document_id", "docid", "doc-id", "corpus_id", "docno", "pid", "doc"),
}


@dataclass(frozen=True)
class RunOrQrelsKind:
    """What a file is to hold: `run` or `qrels`. `target` is what its number is called in `--map`, `names` are the
    columns it is looked for in, best first; `fields` maps the number of columns without a header to what they are."""

    name: str
    target: str
    names: tuple[str, ...]
    fields: Mapping[int, tuple[str, ...]]
    expected: str
    other: str

    @property
    def map_option_name_by_column(self) -> dict[str, str]:
        """Our column -> what it is called in `--map`."""
        return {"query": "query_id", "doc": "doc_id", "value": self.target}


RUN = RunOrQrelsKind(
    "run", "score", ("score", "sim", "similarity", *DISTANCES, *RANKS),
    {6: ("query", "", "doc", "rank", "value", "")},
    "6 columns: query Q0 document rank score tag", "qrels"
)  # fmt: skip
QRELS = RunOrQrelsKind(
    "qrels", "relevance", ("relevance", "grade", "score", "rel", "label", "judgement", "judgment"),
    {4: ("query", "", "doc", "value"), 3: ("query", "doc", "value")},
    "4 columns: query 0 document grade, or 3: query document grade", "run"
)  # fmt: skip


@dataclass(frozen=True)
class DelimitedFieldLayout:
    """Lines of fields: what is called so in words, the byte between fields (a blank stands for any of ASCII's white
    space), what each field is (empty: not used), whether a header comes first, and whether texts stand in quotation
    marks."""

    title: str
    separator: str
    fields: tuple[str, ...]
    header: bool = False
    quoted: bool = False
    value: str = ""
    """What the file calls its numbers, if it does."""

    def split(self, line: str) -> list[str]:
        """The fields of a line."""
        if self.separator == " ":
            # Not `str.split`: an id may hold a blank that is none to the tools that wrote it, such as U+00A0.
            return [field for field in _BLANKS.split(line) if field]
        if self.quoted or self.separator == ",":
            return next(csv.reader([line], delimiter=self.separator, skipinitialspace=True))
        return line.split(self.separator)

    @property
    def rank(self) -> bool:
        """Whether a field says the rank."""
        return "rank" in self.fields


_BLANKS = re.compile(r"[ \t\v\f\r]+")


def _detect_headerless_layout(separator: str, line: str) -> DelimitedFieldLayout:
    """Detect how a line is split: pandas puts texts into quotation marks between tabs, too."""
    start = line.lstrip().partition(separator)[0].rstrip()
    in_marks = len(start) > 1 and start.startswith('"') and start.endswith('"')
    return DelimitedFieldLayout("", separator, (), quoted=separator == "\t" and in_marks)


def detect_text_file_layout(
    path: Path, content: bytes, kind: RunOrQrelsKind, mapping: Mapping[str, str]
) -> DelimitedFieldLayout:
    """The layout of a text file by its first line that is not blank; DataError if that fits none."""
    first = find_first_nonblank_line(content).decode("utf-8")
    for separator in "\t", ",", " ":
        headed = _read_header_layout(path, kind, _detect_headerless_layout(separator, first), first, mapping)
        if headed is not None:
            return headed
    by_tabs = _detect_headerless_layout("\t", first)
    tabs, blanks = by_tabs.split(first), DelimitedFieldLayout("", " ", ()).split(first)
    # Tabs alone separate where ids hold blanks: the two then differ in number.
    apart = len(tabs) in kind.fields and (by_tabs.quoted or len(tabs) != len(blanks))
    if (n := len(tabs if apart else blanks)) in kind.fields:
        title = f"TREC {kind.name}" if n != 3 else "BEIR qrels"
        return DelimitedFieldLayout(title, "\t" if apart else " ", kind.fields[n], quoted=apart and by_tabs.quoted)
    raise _make_unknown_layout_error(path, content, kind, first)


def map_needed_to_file_columns(
    path: Path, kind: RunOrQrelsKind, columns: Sequence[str], mapping: Mapping[str, str]
) -> dict[str, str]:
    """Our column -> theirs, by `--map` where it names one that is there and by its usual names otherwise; DataError
    for one that is missing. `rank` is among them where a run has such a column besides its scores."""
    chosen = {}
    for key, target in kind.map_option_name_by_column.items():
        usual = kind.names if key == "value" else NAMES[key]
        names = (mapping[target], *usual) if target in mapping else usual
        name = next((name for name in names if name in columns), None)
        if name is None:
            near = find_nearest_name(mapping.get(target, target), columns) or "COLUMN"
            raise DataError(
                f"there is no column {mapping.get(target, target)!r}", path=path,
                found="columns " + ", ".join(columns), mend=f"Map it with --map {target}={near}."
            )  # fmt: skip
        chosen[key] = name
    ranks = [name for name in columns if name.strip().lower() in RANKS and name not in chosen.values()]
    if kind is RUN and ranks:
        chosen["rank"] = ranks[0]
    return chosen


def _read_header_layout(
    path: Path, kind: RunOrQrelsKind, layout: DelimitedFieldLayout, first: str, mapping: Mapping[str, str]
) -> DelimitedFieldLayout | None:
    """The layout under a header, None if the line is none: a header names query and document."""
    names = [field.strip() for field in layout.split(first)]
    lowered = {name.lower() for name in names}
    mapped = {mapping[target] for target in kind.map_option_name_by_column.values() if target in mapping}
    if not (mapped & set(names) or all(lowered & set(NAMES[key]) for key in NAMES)):
        return None
    if len(names) < 3:
        return None
    heads = names if mapped & set(names) else [name.lower() for name in names]
    columns = {theirs: ours for ours, theirs in map_needed_to_file_columns(path, kind, heads, mapping).items()}
    title = {"\t": "TSV", ",": "CSV", " ": "text"}[layout.separator] + " with a header"
    fields = tuple(columns.get(name, "") for name in heads)
    value = heads[fields.index("value")]
    return DelimitedFieldLayout(title, layout.separator, fields, header=True, quoted=layout.quoted, value=value)


def _make_unknown_layout_error(path: Path, content: bytes, kind: RunOrQrelsKind, first: str) -> DataError:
    fields = DelimitedFieldLayout("", " ", ()).split(first)
    n = len(fields)
    # Of judgements the second of four columns is 0. A run of three or four may end in a score or a rank, as MS MARCO's.
    is_short_run = n == 3 or (n == 4 and fields[1] not in ("0", "Q0"))
    if kind is RUN and is_short_run and is_number(fields[-1]):
        header = "query_id doc_id rank, or query_id doc_id score" if n == 3 else "query_id doc_id rank score"
        mend = f"If it is a run, add a header line: {header}. If it contains judgements, pass it with --qrels."
    elif n in (RUN if kind is QRELS else QRELS).fields:
        mend = f"This looks like {'a run' if kind.other == 'run' else 'qrels'}: pass it with --{kind.other}."
    elif ";" in first:
        mend = "Separate the columns with commas or tabs, not semicolons, and write decimals with a point."
    elif first.lstrip().startswith("["):
        mend = "Write JSON Lines: one object per line, without an enclosing list."
    else:
        mend = "Separate the columns with commas, spaces or tabs, or pass JSONL or Parquet with --map."
    return DataError(
        f"this is not a valid line of a {kind.name}{' file' if kind is QRELS else ''}",
        path=path, line=find_line_of_row(content, 0, header=False), expected=kind.expected,
        found=f"{n} column{'s' if n != 1 else ''}", mend=mend
    )  # fmt: skip
