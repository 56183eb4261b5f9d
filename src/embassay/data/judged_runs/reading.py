"""From a path, or an object in memory, to the entries of a run or of qrels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay.data.cells import shown
from embassay.data.judged_runs import careful, columns
from embassay.data.judged_runs.content import PARQUET, first_line, nth_line, read_content
from embassay.data.judged_runs.layouts import KEYS, QRELS, RUN, Kind, chosen_columns, layout_of
from embassay.errors import DataError
from embassay.parquet import read_parquet

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

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

    def fault(
        self, row: int, message: str, *, expected: str = "", found: str = "", mend: str = ""
    ) -> DataError:
        """The error for entry `row`."""
        line = self.line_of(row)
        return DataError(message, path=self.path, line=line, expected=expected, found=found, mend=mend)


def read_run(path: Path, mapping: Mapping[str, str] = _NOTHING) -> Entries:
    """The lines of a run: TREC's six columns, JSONL, CSV, TSV or Parquet with `query_id`, `doc_id` and `score`.

    The format is told from the content. `mapping` is target column -> the file's, where the file has it. Entries keep
    the file's order and repeats. DataError, with its line, for what is not a run.
    """
    return _read(path, RUN, mapping)


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

    what = RUN if kind == "run" else QRELS
    if isinstance(held, pl.DataFrame):
        return _of_frame(held, Path(name), what, _NOTHING, "polars frame")
    rows = [(str(query), str(doc), value) for query, given in held.items() for doc, value in _pairs(given)]
    frame = pl.DataFrame(
        rows, schema=dict.fromkeys(KEYS[:2], pl.String) | {"value": pl.Float64}, orient="row"
    )
    if len(frame) == 0 or not frame["value"].is_finite().all():
        raise DataError(
            f"the {what.name} has no entries" if len(frame) == 0 else "a value is not a finite number",
            path=name, mend="Give query -> document -> number.",
        )  # fmt: skip
    return Entries(name, "mapping", frame)


def _pairs(given: Any) -> Sequence[tuple[str, float]]:
    """Documents with their numbers; documents in order get falling ones."""
    if not isinstance(given, Mapping | Sequence) or isinstance(given, str):
        raise DataError(
            "a query's documents cannot be read", expected="document -> number, or documents in order",
            found=shown(given), mend="Give query -> document -> number, and runs by name.",
        )  # fmt: skip
    if isinstance(given, Mapping):
        return list(given.items())
    return [(doc, -float(i)) for i, doc in enumerate(given)]


def _read(path: Path, kind: Kind, mapping: Mapping[str, str], split: str | None = None) -> Entries:
    content = read_content(path)
    if content.startswith(PARQUET):
        return _parquet(path, content, kind, mapping, split)
    if first_line(content).lstrip().startswith(b"{"):
        return _json_lines(path, content, kind, mapping, split)
    layout = layout_of(path, content, kind, mapping)
    frame = columns.text_columns(content, layout)
    if frame is None:
        frame = _framed(careful.text_entries(path, content, kind, layout))
    return Entries(str(path), layout.title, frame, partial(nth_line, content, header=layout.header))


def _json_lines(
    path: Path, content: bytes, kind: Kind, mapping: Mapping[str, str], split: str | None
) -> Entries:
    try:
        keys = list(json.loads(first_line(content)))
    except ValueError:
        keys = list(kind.targets.values())
    names = chosen_columns(path, kind, keys, mapping)
    if split is not None and "split" in keys:
        content = _of_split(path, content, split)
    frame = columns.json_columns(content, names)
    if frame is None:
        frame = _framed(careful.json_entries(path, content, kind, names))
    return Entries(str(path), "JSONL", frame, partial(nth_line, content, header=False))


def _of_split(path: Path, content: bytes, split: str) -> bytes:
    """The lines of a split; the others become blank, so that line numbers stay."""

    def kept(line: bytes) -> bool:
        try:
            return not line.strip() or json.loads(line).get("split") == split
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
    own = frame.columns
    names = chosen_columns(path, kind, own, mapping)
    chosen = frame.select(pl.col(theirs).alias(ours) for ours, theirs in names.items())
    right = all(chosen[key].dtype == pl.String or chosen[key].dtype.is_integer() for key in ("query", "doc"))
    numeric = chosen["value"].dtype.is_numeric()
    cast = chosen.select(
        pl.col("query", "doc").cast(pl.String), pl.col("value").cast(pl.Float64, strict=False)
    ) if right and numeric else None  # fmt: skip
    if cast is None or any(cast.null_count().row(0)) or columns.checked(cast) is None:
        rows = enumerate(chosen.iter_rows(named=True), start=1)
        cast = _framed([careful.entry(path, number, row, kind) for number, row in rows])
    return Entries(str(path), title, cast, lambda row: row + 1)


def _framed(entries: Sequence[careful.Entry]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(
        list(entries), schema={"query": pl.String, "doc": pl.String, "value": pl.Float64}, orient="row"
    )


def _in_folder(folder: Path, split: str | None) -> Path:
    """The qrels file of a folder in BEIR's layout."""
    names = [f"qrels/{split or 'test'}{end}" for end in (".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz")]
    names += [f"qrels{end}" for end in (".tsv", ".trec", ".jsonl", ".jsonl.gz", ".tsv.gz")]
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        raise DataError(
            "the folder has no qrels", path=folder, expected=names[0], mend="Give the qrels file itself."
        )
    return found


def _no_split(path: Path, split: str) -> DataError:
    return DataError(
        "no row is of the split asked for", path=path, expected=shown(split), mend="Check --split."
    )
