"""Arrays that wait on disk for their turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from tempfile import SpooledTemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Ranked, Spread, Tokenizer
from embassay.errors import UsageError
from embassay.search import exact as blockwise
from embassay.search.exact import blocks, cores, merge, over_shards, ranked_blocks
from embassay.systems.lexical.bags import (
    Bags,
    Numbers,
    Rows,
    Sparse,
    Tokens,
    accumulate,
    invert,
    tokenise,
    unigrams,
    weigh,
)
from embassay.systems.lexical.bm25_weights import Collection, Weighting

_IN_MEMORY = 2**26

Kept = tuple[int, tuple[tuple[str, np.dtype[Any], int], ...]]
"""Where a record begins in the file, and the name, type and length of each of its arrays."""


class Scratch(AbstractContextManager["Scratch"]):
    """Records of flat arrays, kept in memory up to 64 MiB together, beyond that in a file without a name, which is gone
    with the process however that ends. It lies in the system's folder for temporary files (`TMPDIR`)."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed by __exit__
        self._end = 0

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def keep(self, arrays: Mapping[str, NDArray[Any]]) -> Kept:
        """Put a record down. UsageError where the disk is full."""
        start = self._end
        try:
            self._file.seek(start)
            for array in arrays.values():
                self._end += self._file.write(
                    np.ascontiguousarray(array).data.cast("B") if array.size else b""
                )
        except OSError as error:
            raise UsageError(
                f"The file for what BM25 counts cannot be written ({error.strerror or error}).",
                mend="Set TMPDIR to a folder with room: about 10 bytes for every distinct term of every document.",
            ) from None
        return start, tuple((name, array.dtype, array.size) for name, array in arrays.items())

    def read(self, kept: Kept) -> dict[str, NDArray[Any]]:
        """The record."""
        start, arrays = kept
        self._file.seek(start)
        return {
            name: np.frombuffer(self._file.read(size * dtype.itemsize), dtype=dtype)
            for name, dtype, size in arrays
        }


Whole = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Postings:
    """Up to a block of documents: term t of the queries is in the documents `rows[starts[t]:starts[t + 1]]`, so many
    times each as `counts` says; `sizes` (documents,) are their tokens. Integers as narrow as they can be."""

    starts: NDArray[np.int64]
    rows: Whole
    counts: Whole
    sizes: NDArray[np.int32]

    @classmethod
    def of(cls, bags: Bags, terms: NDArray[np.int64]) -> Postings:
        """The postings of these bags for the `terms`, ascending."""
        table = invert(bags, bags.counts, terms)
        return cls(
            table.starts, _narrowed(table.places), _narrowed(table.weights), bags.sizes.astype(np.int32)
        )

    def index(self, collection: Collection) -> Sparse:
        """The weights of the terms in the documents."""
        rows = self.rows.astype(np.int32)
        weights = collection.document_weights(self.counts, self.sizes[rows])
        # What was read from the file cannot be written, for which the kernel would be compiled once more.
        return Sparse(self.starts.copy(), rows, weights, len(self.sizes))


@dataclass(frozen=True)
class ShardFacts:
    """What one shard adds to the collection: its documents and tokens, the documents with each token (`ids` are the
    tokenizer's, ascending), and its postings, a block each."""

    documents: int
    tokens: int
    ids: NDArray[np.int64]
    frequency: NDArray[np.int64]
    postings: list[Postings]


@dataclass(frozen=True)
class Queries:
    """The queries as both passes need them: the terms they have, ascending, with the tokenizer's id of each."""

    rows: Sparse
    bags: Bags
    terms: NDArray[np.int64]
    ids: NDArray[np.int64]

    @classmethod
    def of(cls, tokens: Tokens, rows: Rows, numbers: Numbers) -> Queries:
        bags = unigrams(tokens).take(rows)
        weighted, terms = weigh(bags, bags.counts)
        ids = np.fromiter(numbers, np.int64, len(numbers))
        return cls(weighted, bags, terms, ids[terms])


@dataclass(frozen=True)
class Reading:
    """The first pass. With `all_terms` the frequencies of all tokens are counted, else those of the queries."""

    tokenizer: Tokenizer
    queries: Sequence[str]
    all_terms: bool

    def __reduce__(self) -> tuple[Any, ...]:
        return Reading, (self.tokenizer, self.queries, self.all_terms)

    def __call__(self, shard: Sequence[str]) -> ShardFacts:
        numbers = self.numbers.copy()
        tokens, (rows,) = tokenise(self.tokenizer, shard, numbers=numbers)
        bags = unigrams(tokens)
        copies = np.bincount(rows, minlength=len(bags))
        frequency = np.bincount(
            bags.terms, weights=copies[bags.rows].astype(np.float64), minlength=len(numbers)
        ).astype(np.int64)
        counted = slice(None) if self.all_terms else slice(len(self.numbers))
        ids = np.fromiter(numbers, np.int64, len(numbers))[counted]
        order = np.argsort(ids)
        terms = self.asked.terms
        parts = list(blocks(len(rows), blockwise.CANDIDATE_BLOCK)) or [slice(0, 0)]
        postings = [Postings.of(bags.take(rows[part]), terms) for part in parts]
        return ShardFacts(
            len(rows), int(copies @ bags.sizes), ids[order], frequency[counted][order], postings
        )

    @property
    def numbers(self) -> Numbers:
        """The numbers of the queries' tokens."""
        return self._tokenised[1]

    @property
    def asked(self) -> Queries:
        """The queries, tokenised once in every process that has shards to read."""
        return self._tokenised[0]

    @cached_property
    def _tokenised(self) -> tuple[Queries, Numbers]:
        numbers = Numbers()
        tokens, (rows,) = tokenise(self.tokenizer, self.queries, numbers=numbers)
        return Queries.of(tokens, rows, numbers), numbers


@dataclass(frozen=True)
class Scoring:
    """The second pass: the best k of a block of documents for the queries, whose terms are weighted."""

    rows: Sparse
    floors: NDArray[np.float64]
    collection: Collection
    k: int

    def __call__(self, postings: Postings) -> Ranked:
        index = postings.index(self.collection)

        def scores(part: slice) -> NDArray[np.float64]:
            return np.asarray(self.floors[part, None] + accumulate("products", self.rows, index, part))

        return ranked_blocks(lambda _: scores, (len(self.floors), index.width), self.k, threads=cores())


def search_shards(
    reading: Reading,
    weighting: Weighting,
    shards: Sequence[Sequence[str]],
    k: int,
    spread: Spread | None,
) -> Iterator[Ranked]:
    """The best k of each shard, in order, as if all shards were one collection."""
    with Scratch() as scratch:
        totals, kept = _Totals(), list[list[Kept]]()
        for facts in over_shards(reading, shards, spread):
            totals.add(facts)
            kept.append([scratch.keep(vars(one)) for one in facts.postings])
        yield from _scored(reading.asked, totals, weighting, scratch, kept, k, spread)


def search_corpora(
    reading: Reading,
    weighting: Weighting,
    shards: Sequence[Sequence[str]],
    each: int,
    k: int,
    spread: Spread | None,
) -> Iterator[Ranked]:
    """The best k of each shard with the statistics of its corpus, which is `each` shards in a row; then, from the same
    reading, those with the statistics of all corpora together."""
    with Scratch() as scratch:
        together, totals, kept = _Totals(), list[_Totals](), list[list[Kept]]()
        for place, facts in enumerate(over_shards(reading, shards, spread)):
            if place % each == 0:
                totals.append(_Totals())
            totals[-1].add(facts)
            together.add(facts)
            kept.append([scratch.keep(vars(one)) for one in facts.postings])
        for place, own in enumerate(totals):
            part = kept[place * each : (place + 1) * each]
            yield from _scored(reading.asked, own, weighting, scratch, part, k, spread)
        yield from _scored(reading.asked, together, weighting, scratch, kept, k, spread)


def _scored(
    asked: Queries,
    totals: _Totals,
    weighting: Weighting,
    scratch: Scratch,
    kept: Sequence[Sequence[Kept]],
    k: int,
    spread: Spread | None,
) -> Iterator[Ranked]:
    """The second pass over shards of which the postings are `kept`, with the statistics of `totals`."""
    collection = totals.collection(weighting, asked.ids)
    weights = asked.bags.counts * collection.idf[asked.rows.places]
    rows = Sparse(asked.rows.starts, asked.rows.places, weights, asked.rows.width)
    scoring = Scoring(rows, collection.floors(asked.bags, weights), collection, k)
    postings = (Postings(**scratch.read(one)) for blocks_ in kept for one in blocks_)
    found = over_shards(scoring, postings, spread)
    for blocks_ in kept:
        starts = [i * blockwise.CANDIDATE_BLOCK for i in range(len(blocks_))]
        ranked = [next(found) for _ in blocks_]
        yield ranked[0] if len(ranked) == 1 else merge(ranked, starts, k)


class _Totals:
    """What is counted over the shards."""

    def __init__(self) -> None:
        self.documents, self.tokens = 0, 0
        self.ids = np.empty(0, dtype=np.int64)
        self.frequency = np.empty(0, dtype=np.int64)

    def add(self, facts: ShardFacts) -> None:
        self.documents += facts.documents
        self.tokens += facts.tokens
        if np.array_equal(self.ids, facts.ids):
            self.frequency += facts.frequency
            return
        ids, places = np.unique(np.concatenate((self.ids, facts.ids)), return_inverse=True)
        sums = np.zeros(len(ids), dtype=np.int64)
        # Each list has an id once, so that none of these additions hides another.
        sums[places[: len(self.ids)]] += self.frequency
        sums[places[len(self.ids) :]] += facts.frequency
        self.ids, self.frequency = ids, sums

    def collection(self, weighting: Weighting, ids: NDArray[np.int64]) -> Collection:
        """The statistics of the collection; its terms are those with these ids, in their order."""
        frequency = np.zeros(len(ids))
        if len(self.ids):
            frequency[:] = self.frequency[np.searchsorted(self.ids, ids)]
        return Collection.counted(weighting, frequency, self.documents, self.tokens, self.frequency)


def _narrowed(values: NDArray[Any]) -> Whole:
    """The same whole numbers from 0 in as few bytes as they fit."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
