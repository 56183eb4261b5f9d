"""Numbers about the texts and records of a shape: lengths, spreads, balances of labels, judgements per query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from embassay.contracts import Tokenizer
from embassay.data.check.duplicates import Texts
from embassay.data.check.findings import Balance, Lengths, Spread
from embassay.data.dataset import Dataset
from embassay.data.rows import Row, Source, collecting
from embassay.data.shapes import RETRIEVAL_PARTS
from embassay.data.views import distinct
from embassay.errors import DataError
from embassay.records import (
    Classification,
    Comparisons,
    JudgedSummaries,
    LabelledPairs,
    LabelledTexts,
    Paraphrases,
    Ratings,
    RerankingSet,
    RetrievalSet,
    ScoredPairs,
)

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


Figures = Mapping[str, Spread | Balance]
SCALES = ((0, 1), (-1, 1), (1, 5), (0, 5), (0, 10), (0, 100))
"""Scales that people rate on."""


def spread(values: ArrayLike) -> Spread:
    """Least, median, 95th percentile, greatest and mean of at least one number; NaN does not count.

    >>> spread([1, 2, 3, float("nan")]).median
    2.0
    """
    numbers = np.asarray(values, np.float64)
    numbers = numbers[~np.isnan(numbers)]
    low, median, high, top = np.quantile(numbers, [0, 0.5, 0.95, 1]).tolist()
    return Spread(len(numbers), low, median, high, top, float(numbers.mean()))


def balance(values: Iterable[object]) -> Balance:
    """How often each value is there.

    >>> balance(["b", "a", "b"]).counts
    {'b': 2, 'a': 1}
    """
    return Balance(dict(Counter(map(_plain, values)).most_common()))


def figures(data: Any) -> Figures:
    """Name -> spread or balance, by what kind of record `data` is; empty where there is nothing but texts."""
    make = _FIGURES.get(type(data))
    return make(data) if make else {}


def off_scale(scores: ArrayLike) -> tuple[tuple[int, int], int] | None:
    """The smallest usual scale that holds 95% of the scores but not all, and how many are off it.

    >>> off_scale([0.5] * 30 + [40.0])
    ((0, 1), 1)
    """
    numbers = np.asarray(scores, np.float64)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return None
    for low, high in sorted(SCALES, key=lambda scale: scale[1] - scale[0]):
        off = int(((numbers < low) | (numbers > high)).sum())
        if off <= 0.05 * len(numbers):
            return ((low, high), off) if off else None
    return None


def odd_scores(data: Any) -> Iterator[str]:
    """What is odd about the scores of pairs and the ratings of summaries."""
    columns: Mapping[str, ArrayLike] = (
        {"score": data.scores} if isinstance(data, ScoredPairs) else getattr(data, "axes", {})
    )
    for name, values in columns.items():
        if off := off_scale(values):
            (low, high), count = off
            most = spread(values)
            yield (
                f"{name}: {count:,} of {most.n:,} values lie outside {low} to {high}, where the others are; they go "
                f"from {most.least:g} to {most.most:g}."
            )


def _labelled(data: LabelledTexts) -> Figures:
    sets = {"texts per set": spread(list(Counter(data.sets).values()))} if len(set(data.sets)) > 1 else {}
    return {"labels": balance(data.labels), **sets}


def _classification(data: Classification) -> Figures:
    return {"labels to train on": balance(data.train.labels), "labels to test on": balance(data.test.labels)}


def _retrieval(data: RetrievalSet) -> Figures:
    gains = [gain for grades in data.qrels.values() for gain in grades.values()]
    return {
        "judgements per query": spread([len(grades) for grades in data.qrels.values()]),
        "relevant documents per query": spread(
            [sum(gain > 0 for gain in grades.values()) for grades in data.qrels.values()]
        ),
        "gains": balance(gains),
    }


def _reranking(data: RerankingSet) -> Figures:
    return {
        "candidates per query": spread([len(row) for row in data.relevance]),
        "relevant candidates per query": spread([int((row > 0).sum()) for row in data.relevance]),
        "gains": balance(np.concatenate(data.relevance).tolist()),
    }


def _summaries(data: JudgedSummaries) -> Figures:
    return {
        "people's summaries per text": spread([len(row) for row in data.references]),
        "rated summaries per text": spread([len(row) for row in data.summaries]),
        "relevance": spread(np.concatenate(data.relevance)),
    }


_FIGURES: Mapping[type, Callable[[Any], Figures]] = {
    LabelledTexts: _labelled,
    Classification: _classification,
    LabelledPairs: lambda data: {"labels": balance(data.labels.tolist())},
    Comparisons: lambda data: {"choices": balance(data.choice.tolist())},
    ScoredPairs: lambda data: {"score": spread(data.scores)},
    Ratings: lambda data: {
        axis: spread(values) for axis, values in data.axes.items() if not np.isnan(values).all()
    },
    RetrievalSet: _retrieval,
    RerankingSet: _reranking,
    JudgedSummaries: _summaries,
    Paraphrases: lambda data: {"paraphrases per text": spread([len(row) for row in data.wordings])},
}


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
