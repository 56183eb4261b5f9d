"""The texts of a dataset, table by table, for lengths and repeats: blank and faulty cells are passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from embassay.contracts import Tokenizer
from embassay.data.check.figures import spread
from embassay.data.check.repeats import Texts
from embassay.data.check.report import Lengths
from embassay.data.dataset import Dataset
from embassay.data.faults import collecting
from embassay.data.rows import Row, Source
from embassay.data.shapes import RETRIEVAL_PARTS
from embassay.data.views import distinct
from embassay.errors import DataError

COLUMNS = (
    *("query", "text", "text2", "summary", "summary_1", "summary_2"),
    *("positive", "negative", "references", "summaries"),
)
"""Columns that hold texts, or lists of them."""
HELD = 2**27
"""Characters of a table that are looked at for lengths and repeats: its first rows, where it is larger."""
_BATCH = 1000
_LABELS = ("label", "score", "choice", "relevance")


@dataclass
class Table:
    """The texts of one table: by column, and row by row; those of its first rows where `cut`."""

    name: str
    columns: dict[str, list[str]] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    sides: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    cut: bool = False

    def remark(self) -> str:
        """What a check of it leaves out; empty where that is nothing."""
        if not self.cut:
            return ""
        return (
            f"{self.name}: over {HELD / 1e6:,.0f} million characters. Lengths are those of its first "
            f"{len(self.ids):,} rows, and repeats are looked for among them only; the warnings of a shape count the "
            f"exact repeats of a whole corpus."
        )

    def texts(self) -> Texts:
        """The rows, to be compared."""
        return Texts(self.name, self.ids, self.rows, self.sides, self.labels)


def tables(dataset: Dataset, read: Callable[[int], None]) -> Iterator[Table]:
    """The tables of a dataset that hold texts, each once; `read` is told how many rows have been read."""
    for name, source in _sources(dataset).items():
        table = Table(name)
        with collecting(lambda _error: None):  # the loading of shapes has met them
            try:
                _fill(table, source, read)
            except DataError:
                continue
        yield table


def lengths(table: Table, tokenizer: Tokenizer | None, say: Callable[[int, int], None]) -> Iterator[Lengths]:
    """Characters and tokens of each column; words, between white space, without a tokenizer."""
    counted_in = tokenizer.name if tokenizer else "words"
    for column, texts in table.columns.items():
        if not texts:
            continue
        counts: list[int] = []
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            pieces: Any = tokenizer.encode_batch(batch) if tokenizer else (text.split() for text in batch)
            counts.extend(map(len, pieces))
            say(len(counts), len(texts))
        yield Lengths(table.name, column, spread([len(text) for text in texts]), spread(counts), counted_in)


def _sources(dataset: Dataset) -> dict[str, Source]:
    """Name -> table with texts; one that gives the same columns of some of the files of another is left out."""
    taken: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    found: dict[str, Source] = {}
    parts = {part: source for part, source in dataset.parts.items() if part != "qrels"}
    reach = {part: frozenset(o.address for o in source.origins()) for part, source in parts.items()}
    for part in sorted(parts, key=lambda part: -len(reach[part])):
        with collecting(lambda _error: None):
            columns = frozenset(parts[part].columns()) & {*COLUMNS}
        if columns and not any(columns <= names and reach[part] <= files for names, files in taken.values()):
            taken[part] = columns, reach[part]
            name = part if part in RETRIEVAL_PARTS or len(reach[part]) > 1 else parts[part].path.name
            found[name] = parts[part]
    return found


def _fill(table: Table, source: Source, read: Callable[[int], None]) -> None:
    known = source.columns()
    label = next((name for name in _LABELS if name in known), "")
    names = [name for name in COLUMNS if name in known]
    wanted = distinct((*(name for name in ("id", "split", label) if name in known), *names))
    held = 0
    for number, row in enumerate(source.rows(wanted), 1):
        cells = {name: _texts_in(row, name) for name in names}
        for name, texts in cells.items():
            table.columns.setdefault(name, []).extend(texts)
        joined = "\n".join(text for texts in cells.values() for text in texts)
        if joined:
            key = row.cells.get("id")
            table.ids.append(str(number if key is None else key))
            table.rows.append(joined)
            table.sides.append(str(row.cells.get("split") or ""))
            table.labels.append(str(row.cells.get(label) if label else ""))
        held += len(joined)
        if held > HELD:
            table.cut = True
            return
        if number % 1000 == 0:
            read(number)


def _texts_in(row: Row, column: str) -> list[str]:
    value = row.cells.get(column)
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str) and text.strip()]
