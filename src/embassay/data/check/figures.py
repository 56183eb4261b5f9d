"""Numbers about the texts and records of a shape: lengths, spreads, balances of labels, judgements per query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.contracts import Tokenizer
from embassay.data.check.files import (
    NumberSpread,
    RepeatedRowCounts,
    SimilarRowPair,
    SplitTextOverlap,
    TextLengthSummary,
    ValueCounts,
)
from embassay.data.dataset import Dataset
from embassay.data.rows import RowSource, SourceRow, normalise_value_to_plain_text, skip_and_collect_faulty_rows
from embassay.data.shapes import RETRIEVAL_PARTS
from embassay.data.views import drop_repeated_columns
from embassay.errors import DataError, UsageError
from embassay.records import (
    Classification,
    HumanRatedSummaries,
    LabelledTextPairs,
    LabelledTexts,
    RerankingSet,
    RetrievalSet,
    ScoredTextPairs,
    SummaryComparisons,
    SummaryRatings,
    TextsWithParaphrases,
)

Advance = Callable[[int, int], None]
"""Told how many of how many are done."""


def ignore_progress(done: int, total: int) -> None:
    """Listens to progress and says nothing."""


Unit = Literal["characters", "words"]
SIZES: dict[Unit, int] = {"characters": 5, "words": 3}
PERMUTATIONS = 128
FOUND = 0.98
"""With what probability a pair just at the threshold becomes a candidate; more alike ones hardly ever miss."""
LEADERS = 16
"""With how many texts of each of its bands, the first ones, a text is compared at most."""
TRIES = 48
"""With how many texts altogether: a hundred thousand texts from one template must not be compared pairwise."""
_DOUBT = 4.0
"""Standard deviations that a signature may fall short of the threshold before a candidate is dropped."""
_PORTION = 4096
"""Shingles hashed, and pairs of signatures compared, at once: either takes 128 times as much memory."""


@dataclass(frozen=True)
class NearDuplicateRule:
    """When two texts count as almost equal: a Jaccard index of at least `threshold` over shingles of `unit`."""

    threshold: float = 0.8
    unit: Unit = "characters"

    def __post_init__(self) -> None:
        if not 0.3 <= self.threshold <= 1:
            raise UsageError(
                f"The near-duplicate threshold must be from 0.3 to 1, but it is {self.threshold:g}.",
                mend="Pass --near 0.8, or --no-near to skip near-duplicates.",
            )


class NearDuplicatePair(NamedTuple):
    """Positions of two texts, and the Jaccard index of their shingles."""

    first: int
    second: int
    jaccard: float


def hash_shingles(text: str, unit: Unit) -> NDArray[np.uint64]:
    """Hashes of the shingles, sorted, each once; a text shorter than one shingle is one, a blank text none."""
    spaced = " ".join(text.casefold().split())
    if unit == "characters":
        parts = np.frombuffer(spaced.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    else:
        parts = np.fromiter((_hash_word(word) for word in spaced.split()), np.uint64)
    size = min(SIZES[unit], len(parts))
    if size == 0:
        return parts
    # All shingles at once, one sign further in each turn.
    hashes = np.zeros(len(parts) - size + 1, np.uint64)
    for i in range(size):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + parts[i : i + len(hashes)] + np.uint64(1)
    return np.unique(_mix_bits(hashes))


def compute_hash_jaccard(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> float:
    """Compute the Jaccard index of two results of `hash_shingles`; 1 for two blank texts.

    >>> compute_hash_jaccard(hash_shingles("a b c d", "words"), hash_shingles("a b c e", "words"))
    0.3333333333333333
    """
    if not len(one) and not len(other):
        return 1.0
    shared = np.intersect1d(one, other, assume_unique=True).size
    return float(shared / (len(one) + len(other) - shared))


class TextMinHashSignatures:
    """The signatures of texts, shape (n, 128), uint32, and the search for pairs among them."""

    def __init__(self, texts: Sequence[str], near: NearDuplicateRule, advance: Advance = ignore_progress) -> None:
        self._texts, self._near = texts, near
        self._signatures = _sign_texts(texts, near.unit, advance)

    def pairs(
        self,
        earlier: NDArray[np.bool_] | None = None,
        later: NDArray[np.bool_] | None = None,
        advance: Advance = ignore_progress,
    ) -> list[NearDuplicatePair]:
        """Texts (`second`) that are almost an earlier one (`first`), each with one such, by position.

        `earlier` and `later`, shape (n,), say which texts may be `first` and `second`, by default all. A text
        that may be both comes after those that may only be `first`; else the position decides.
        """
        every = np.ones(len(self._texts), np.bool_)
        earlier, later = every if earlier is None else earlier, every if later is None else later
        alike: list[NearDuplicatePair] = []
        tries = np.full(len(self._texts), TRIES)
        rows = _choose_rows_per_band(self._near.threshold)
        for number, band in enumerate(_hash_signature_bands(self._signatures, rows), 1):
            for first, second in _pair_texts_by_band(band, earlier, later):
                worth = tries[second] > 0
                pairs = self._filter_pairs_by_signature(first[worth], second[worth])
                tries[pairs[:, 1]] -= 1
                confirmed = self._confirm_near_pairs(pairs.tolist())
                # One companion is enough to call a text a repeat.
                tries[[pair.second for pair in confirmed]] = 0
                alike += confirmed
            advance(number, PERMUTATIONS // rows)
        return sorted(alike, key=lambda pair: pair.second)

    def _filter_pairs_by_signature(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
        """Filter out the pairs, shape (n, 2), that the signatures already rule out."""
        threshold = self._near.threshold
        # The share of equal hashes is binomial: so many standard errors below the threshold still count.
        least = threshold - _DOUBT * np.sqrt(threshold * (1 - threshold) / PERMUTATIONS)
        pairs = np.stack([first, second], axis=1)
        likely = [
            part[(self._signatures[part[:, 0]] == self._signatures[part[:, 1]]).mean(axis=1) >= least]
            for part in np.array_split(pairs, len(pairs) // _PORTION + 1)
        ]
        return np.concatenate(likely)

    def _confirm_near_pairs(self, pairs: list[list[int]]) -> list[NearDuplicatePair]:
        """Confirm the pairs whose texts are alike enough."""

        @lru_cache(maxsize=16)
        def hash_shingles_at(position: int) -> NDArray[np.uint64]:
            return hash_shingles(self._texts[position], self._near.unit)

        compared = (
            NearDuplicatePair(a, b, compute_hash_jaccard(hash_shingles_at(a), hash_shingles_at(b))) for a, b in pairs
        )
        return [pair for pair in compared if pair.jaccard >= self._near.threshold]


def _sign_texts(texts: Sequence[str], unit: Unit, advance: Advance) -> NDArray[np.uint32]:
    from datasketch import MinHash

    # Handed over as one array per batch: datasketch would else convert every shingle by itself, 3 times as slow.
    sketch = MinHash(PERMUTATIONS, hashfunc=lambda hashes: hashes)
    table = np.empty((len(texts), PERMUTATIONS), np.uint32)
    for position, text in enumerate(texts):
        hashes = (hash_shingles(text, unit) >> np.uint64(32)).astype(np.uint32)
        sketch.clear()
        for start in range(0, len(hashes), _PORTION):
            sketch.update_batch([hashes[start : start + _PORTION]])
        table[position] = sketch.hashvalues
        if position % 256 == 255 or position + 1 == len(texts):
            advance(position + 1, len(texts))
    return table


def _choose_rows_per_band(threshold: float) -> int:
    """Choose the most rows of a band for a pair at the threshold to be found with probability `FOUND`."""
    fitting = (
        rows for rows in range(1, PERMUTATIONS + 1) if 1 - (1 - threshold**rows) ** (PERMUTATIONS // rows) >= FOUND
    )
    return max(fitting, default=1)


def _hash_signature_bands(signatures: NDArray[np.uint32], rows: int) -> Iterator[NDArray[np.uint64]]:
    """Hash each text's bands, one number each: equal where the band is, and hardly ever elsewhere.

    datasketch's own index keeps every text in a set per band and gives all that share one: a hundred thousand
    texts from one template are ten thousand million answers. Sorted numbers are bounded, and smaller.
    """
    for start in range(0, signatures.shape[1] - rows + 1, rows):
        number = np.zeros(len(signatures), np.uint64)
        for column in signatures[:, start : start + rows].T:
            number = _mix_bits(number * np.uint64(0x9E3779B97F4A7C15) + column)
        yield number


def _pair_texts_by_band(
    band: NDArray[np.uint64], earlier: NDArray[np.bool_], later: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Positions of each text's first, second, ... companion of its band, and of the text itself."""
    if not len(band):
        return
    # By band; within one, texts that can only lead come first, because only the first ones are compared.
    order = np.lexsort((later, ~earlier, band))
    places = np.arange(len(band))
    fresh = np.r_[True, np.diff(band[order]) != 0]
    # Of each place, the place where its band begins.
    starts = np.maximum.accumulate(np.where(fresh, places, 0))
    for step in range(LEADERS):
        held = places[starts + step < places]
        first, second = order[starts[held] + step], order[held]
        if not len(second):
            return
        fitting = earlier[first] & later[second]
        yield first[fitting], second[fitting]


def _mix_bits(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of hashes: a bijection spreads every bit over all (SplitMix64's finalizer)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def _hash_word(word: str) -> int:
    from zlib import crc32

    return crc32(word.encode("utf-8", "surrogatepass"))


EXAMPLES = 20
_SHOWN = 200
_TRAINED = ("train", "training")
_TESTED = ("test", "testing")

Said = Callable[[str, int, int], None]
"""Told what is going on, how much of it is done, and of how much."""


@dataclass(frozen=True)
class TableTextsWithLabels:
    """The rows of one table: id, text, the side (split) each is on, and what it is labelled as (empty: not)."""

    table: str
    ids: Sequence[str]
    texts: Sequence[str]
    sides: Sequence[str]
    labels: Sequence[str]


class RepeatedTextSearch:
    """The rows of a table by their text, white space aside, and the search for almost equal ones among them."""

    def __init__(self, texts: TableTextsWithLabels, near: NearDuplicateRule | None, say: Said) -> None:
        self._rows, self._say = texts, say
        self._first: dict[str, int] = {}
        self._same: list[int] = []
        """Row -> position of its text among the different ones."""
        for text in texts.texts:
            self._same.append(self._first.setdefault(" ".join(text.split()), len(self._first)))
        self._sketches = (
            TextMinHashSignatures(list(self._first), near, lambda done, total: say("hashing texts", done, total))
            if near is not None
            else None
        )

    def find_repeated_rows(self, side: str | None = None) -> RepeatedRowCounts:
        """Rows that repeat an earlier one, of all or of one `side`."""
        rows = [row for row, where in enumerate(self._rows.sides) if side in (None, where)]
        first: dict[int, int] = {}
        again = [(first[same], row) for row in rows if first.setdefault(same := self._same[row], row) != row]
        labels = self._rows.labels
        mask = self._make_mask_of_texts_in_rows(rows)
        near = self._find_near_duplicates(mask, mask)
        return RepeatedRowCounts(
            self._rows.table,
            len(rows),
            len(again),
            None if near is None else len(near),
            sum(labels[earlier] != labels[later] for earlier, later in again),
            self._collect_alike_examples(again, near, first, first),
        )

    def overlap(self, of: str, within: str) -> SplitTextOverlap:
        """Rows of the side `of` that are also, or nearly, on the side `within`."""
        in_within, in_of = self._map_text_to_first_row(within), self._map_text_to_first_row(of)
        rows = [row for row, side in enumerate(self._rows.sides) if side == of]
        same = [(in_within[self._same[row]], row) for row in rows if self._same[row] in in_within]
        alone = self._make_mask_of_texts_in_rows([row for text, row in in_of.items() if text not in in_within])
        near = self._find_near_duplicates(self._make_mask_of_texts_in_rows(list(in_within.values())), alone)
        nearly = None
        if near is not None:
            alike = {pair.second for pair in near}
            nearly = sum(self._same[row] in alike for row in rows)
        examples = self._collect_alike_examples(same, near, in_within, in_of)
        return SplitTextOverlap(self._rows.table, of, within, len(rows), len(same), nearly, examples)

    def measure_split_text_overlaps(self) -> tuple[SplitTextOverlap, ...]:
        """Measure the overlap of every two sides: tested on with trained on, else later with earlier."""
        sides = sorted(dict.fromkeys(filter(None, self._rows.sides)), key=_rank_split_by_training_use)
        return tuple(self.overlap(of, within) for within, of in combinations(sides, 2))

    def _find_near_duplicates(
        self, earlier: NDArray[np.bool_], later: NDArray[np.bool_]
    ) -> list[NearDuplicatePair] | None:
        if self._sketches is None:
            return None
        return self._sketches.pairs(earlier, later, lambda done, total: self._say("comparing texts", done, total))

    def _make_mask_of_texts_in_rows(self, rows: Sequence[int]) -> NDArray[np.bool_]:
        mask = np.zeros(len(self._first), np.bool_)
        mask[[self._same[row] for row in rows]] = True
        return mask

    def _map_text_to_first_row(self, side: str) -> dict[int, int]:
        """Text -> the first row of the side that has it."""
        firsts: dict[int, int] = {}
        for row, where in enumerate(self._rows.sides):
            if where == side:
                firsts.setdefault(self._same[row], row)
        return firsts

    def _collect_alike_examples(
        self,
        same: Sequence[tuple[int, int]],
        near: Sequence[NearDuplicatePair] | None,
        firsts: dict[int, int],
        seconds: dict[int, int],
    ) -> tuple[SimilarRowPair, ...]:
        exact = [self._make_similar_row_pair(earlier, later, 1.0, True) for earlier, later in same[:EXAMPLES]]
        alike = [
            self._make_similar_row_pair(firsts[pair.first], seconds[pair.second], pair.jaccard, False)
            for pair in (near or ())[:EXAMPLES]
        ]
        return (*exact, *alike)

    def _make_similar_row_pair(self, first: int, second: int, jaccard: float, exact: bool) -> SimilarRowPair:
        ids, texts = self._rows.ids, self._rows.texts
        shown = [" ".join(texts[row].split())[:_SHOWN] for row in (first, second)]
        return SimilarRowPair(ids[first], ids[second], jaccard, exact, *shown)


def _rank_split_by_training_use(side: str) -> int:
    """Rank a side of a split: what is trained on first, what is tested on last."""
    return -1 if side.lower() in _TRAINED else int(side.lower() in _TESTED)


_COLUMNS_IN_WORDS = """
    query text text2 summary summary_1 summary_2 positive negative references summaries
"""
COLUMNS = tuple(_COLUMNS_IN_WORDS.split())
"""Columns that hold texts, or lists of them."""
HELD = 2**27
"""Characters of a table that are looked at for lengths and repeats: its first rows, where it is larger."""
_BATCH = 1000
_LABELS = ("label", "score", "choice", "relevance")


@dataclass
class TableTexts:
    """The texts of one table: by column, and row by row; those of its first rows where `cut`."""

    name: str
    columns: dict[str, list[str]] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    sides: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    cut: bool = False

    def describe_unchecked_table_part(self) -> str:
        """Describe what a check of the table leaves out; empty where that is nothing."""
        if not self.cut:
            return ""
        return (
            f"{self.name}: over {HELD / 1e6:,.0f} million characters, so lengths and repeats cover only "
            f"its first {len(self.ids):,} rows. The warnings still count exact repeats in the whole corpus."
        )

    def texts(self) -> TableTextsWithLabels:
        """Make the rows of the table that are to be compared."""
        return TableTextsWithLabels(self.name, self.ids, self.rows, self.sides, self.labels)


def read_text_tables(dataset: Dataset, read: Callable[[int], None]) -> Iterator[TableTexts]:
    """The tables of a dataset that hold texts, each once; `read` is told how many rows have been read."""
    for name, source in _find_tables_with_texts(dataset).items():
        table = TableTexts(name)
        with skip_and_collect_faulty_rows(lambda _error: None):  # the loading of shapes has met them
            try:
                _read_source_rows_into_text_table(table, source, read)
            except DataError:
                continue
        yield table


def summarise_column_text_lengths(
    table: TableTexts, tokenizer: Tokenizer | None, say: Callable[[int, int], None]
) -> Iterator[TextLengthSummary]:
    """Measure the texts of each column in characters and tokens; in words without a tokenizer."""
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
        yield TextLengthSummary(
            table.name,
            column,
            summarize_number_spread([len(text) for text in texts]),
            summarize_number_spread(counts),
            counted_in,
        )


def _find_tables_with_texts(dataset: Dataset) -> dict[str, RowSource]:
    """Find the tables with texts by name; one that repeats columns of another's files is left out."""
    taken: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    named: dict[str, RowSource] = {}
    parts = {part: source for part, source in dataset.parts.items() if part != "qrels"}
    reach = {part: frozenset(o.origin_address for o in source.list_origins()) for part, source in parts.items()}
    for part in sorted(parts, key=lambda part: -len(reach[part])):
        with skip_and_collect_faulty_rows(lambda _error: None):
            columns = frozenset(parts[part].columns()) & {*COLUMNS}
        if columns and not any(columns <= names and reach[part] <= files for names, files in taken.values()):
            taken[part] = columns, reach[part]
            name = part if part in RETRIEVAL_PARTS or len(reach[part]) > 1 else parts[part].path.name
            named[name] = parts[part]
    return named


def _read_source_rows_into_text_table(table: TableTexts, source: RowSource, read: Callable[[int], None]) -> None:
    available = source.columns()
    label = next((name for name in _LABELS if name in available), "")
    names = [name for name in COLUMNS if name in available]
    columns = drop_repeated_columns((*(name for name in ("id", "split", label) if name in available), *names))
    held = 0
    for number, row in enumerate(source.rows(columns), 1):
        cells = {name: _list_cell_texts(row, name) for name in names}
        for name, texts in cells.items():
            table.columns.setdefault(name, []).extend(texts)
        joined = "\n".join(text for texts in cells.values() for text in texts)
        if joined:
            key = row.cells.get("id")
            table.ids.append(str(number if key is None else key))
            table.rows.append(joined)
            table.sides.append(str(row.cells.get("split") or ""))
            table.labels.append(normalise_value_to_plain_text(row.cells.get(label)) if label else "")
        held += len(joined)
        if held > HELD:
            table.cut = True
            return
        if number % 1000 == 0:
            read(number)


def _list_cell_texts(row: SourceRow, column: str) -> list[str]:
    value = row.cells.get(column)
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str) and text.strip()]


Figures = Mapping[str, NumberSpread | ValueCounts]
SCALES = ((0, 1), (-1, 1), (1, 5), (0, 5), (0, 10), (0, 100))
"""Scales that people rate on."""


def summarize_number_spread(values: ArrayLike) -> NumberSpread:
    """Summarize numbers by least, median, 95th percentile, greatest and mean; NaN does not count.

    >>> summarize_number_spread([1, 2, 3, float("nan")]).median
    2.0
    """
    numbers = np.asarray(values, np.float64)
    numbers = numbers[~np.isnan(numbers)]
    low, median, high, top = np.quantile(numbers, [0, 0.5, 0.95, 1]).tolist()
    return NumberSpread(len(numbers), low, median, high, top, float(numbers.mean()))


def count_value_occurrences(values: Iterable[object]) -> ValueCounts:
    """Count how often each value is there.

    >>> count_value_occurrences(["b", "a", "b"]).counts
    {'b': 2, 'a': 1}
    """
    return ValueCounts(dict(Counter(map(_format_value, values)).most_common()))


def summarize_data_values(data: Any) -> Figures:
    """Summarize a dataset's scores or labels: name -> spread or balance; empty for texts alone."""
    make = _FIGURES.get(type(data))
    return make(data) if make else {}


def find_score_scale_and_count_outliers(scores: ArrayLike) -> tuple[tuple[int, int], int] | None:
    """Find the smallest usual scale that holds 95% of the scores but not all, and how many are off.

    >>> find_score_scale_and_count_outliers([0.5] * 30 + [40.0])
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


def list_notes_on_odd_scores(data: Any) -> Iterator[str]:
    """Describe what is odd about the scores of pairs and the ratings of summaries."""
    columns: Mapping[str, ArrayLike] = (
        {"score": data.scores} if isinstance(data, ScoredTextPairs) else getattr(data, "axes", {})
    )
    for name, values in columns.items():
        if off := find_score_scale_and_count_outliers(values):
            (low, high), count = off
            most = summarize_number_spread(values)
            yield (
                f"{name}: {count:,} of {most.n:,} values lie outside the usual range, {low} to {high}; "
                f"the full range is {most.least:g} to {most.most:g}."
            )


def _summarize_labelled_texts(data: LabelledTexts) -> Figures:
    sets = (
        {"texts per set": summarize_number_spread(list(Counter(data.sets).values()))} if len(set(data.sets)) > 1 else {}
    )
    return {"labels": count_value_occurrences(data.labels), **sets}


def _summarize_classification(data: Classification) -> Figures:
    return {
        "labels to train on": count_value_occurrences(data.train.labels),
        "labels to test on": count_value_occurrences(data.test.labels),
    }


def _summarize_retrieval_set(data: RetrievalSet) -> Figures:
    gains = [gain for grades in data.qrels.values() for gain in grades.values()]
    return {
        "judgements per query": summarize_number_spread([len(grades) for grades in data.qrels.values()]),
        "relevant documents per query": summarize_number_spread(
            [sum(gain > 0 for gain in grades.values()) for grades in data.qrels.values()]
        ),
        "gains": count_value_occurrences(gains),
    }


def _summarize_reranking_set(data: RerankingSet) -> Figures:
    return {
        "candidates per query": summarize_number_spread([len(row) for row in data.relevance]),
        "relevant candidates per query": summarize_number_spread([int((row > 0).sum()) for row in data.relevance]),
        "gains": count_value_occurrences(np.concatenate(data.relevance).tolist()),
    }


def _compute_judged_summary_statistics(data: HumanRatedSummaries) -> Figures:
    return {
        "people's summaries per text": summarize_number_spread([len(row) for row in data.references]),
        "rated summaries per text": summarize_number_spread([len(row) for row in data.summaries]),
        "relevance": summarize_number_spread(np.concatenate(data.relevance)),
    }


_FIGURES: Mapping[type, Callable[[Any], Figures]] = {
    LabelledTexts: _summarize_labelled_texts,
    Classification: _summarize_classification,
    LabelledTextPairs: lambda data: {"labels": count_value_occurrences(data.labels.tolist())},
    SummaryComparisons: lambda data: {"choices": count_value_occurrences(data.choice.tolist())},
    ScoredTextPairs: lambda data: {"score": summarize_number_spread(data.scores)},
    SummaryRatings: lambda data: {
        axis: summarize_number_spread(values) for axis, values in data.axes.items() if not np.isnan(values).all()
    },
    RetrievalSet: _summarize_retrieval_set,
    RerankingSet: _summarize_reranking_set,
    HumanRatedSummaries: _compute_judged_summary_statistics,
    TextsWithParaphrases: lambda data: {
        "paraphrases per text": summarize_number_spread([len(row) for row in data.wordings])
    },
}


def _format_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
