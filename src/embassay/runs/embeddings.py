"""Embeddings on disk, shared by all runs and processes of a user: one SQLite file.

Vectors are raw little-endian float32 with a checksum that is verified on every read; a damaged row is
dropped and its texts are encoded again.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Encoder, EncoderFactsWrapper, Ragged, Role, make_ragged_array
from embassay.errors import ModelError, TextRefused
from embassay.runs.conduct import EncoderVectorFaults, RaggedVectorFaults
from embassay.runs.memory import WorkMemoryEstimate, check_memory_fits
from embassay.runs.store import BaseSqliteFileStore, compute_keyed_content_hash


class RememberedEncoder(EncoderFactsWrapper):
    """`encoder`, which is not asked for texts whose vectors are all remembered. Attributes that it has beside its
    contract are reached through `encoder`."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._known: dict[Role | None, dict[str, NDArray[np.float32]]] = {}

    def encode_and_remember_calls(self, calls: Iterable[tuple[Sequence[str], Role | None]]) -> None:
        """Make these calls of `encode` and remember what they give; texts that failed too, as NaN. Ragged vectors are
        kept text by text, so that a part of a call finds its own in the cache."""
        for texts, role in () if hasattr(self.encoder, "stream") else calls:
            vectors = self.encoder.encode(texts, role=role)
            self._known.setdefault(role, {}).update(zip(texts, vectors, strict=True))

    def forget(self) -> None:
        """Remember nothing any more."""
        self._known.clear()

    def has_remembered_texts(self, texts: Sequence[str], role: Role | None) -> bool:
        """Whether a call for these texts asks the encoder nothing."""
        vectors = self._known.get(role, {})
        return all(text in vectors for text in texts)

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> NDArray[np.float32]:
        """Embeddings, (n, dim) float32: remembered where all of them are, else the encoder's."""
        if not texts or not self.has_remembered_texts(texts, role):
            return self.encoder.encode(texts, role=role)
        return np.stack([self._known[role][text] for text in texts])


_CHUNKS = """
CREATE TABLE IF NOT EXISTS chunks (
    key BLOB NOT NULL UNIQUE,
    encoder TEXT NOT NULL,
    texts INTEGER NOT NULL,
    dim INTEGER NOT NULL,
    checksum BLOB NOT NULL,
    vectors BLOB NOT NULL
)
"""
_CUTS = "CREATE TABLE IF NOT EXISTS cuts (key BLOB PRIMARY KEY, texts INTEGER NOT NULL) WITHOUT ROWID"


@dataclass(frozen=True)
class EmbeddingCacheInfo:
    """What a cache holds: `bytes` on disk, `entries` (chunks), and the texts of each encoder identity."""

    path: Path
    bytes: int
    entries: int
    encoders: Mapping[str, int]


class EmbeddingCache(BaseSqliteFileStore):
    """Chunks of vectors by key. Safe to share between threads, and between processes that open it each."""

    title = "embedding cache"
    file = "embeddings.sqlite"
    tables = (_CHUNKS, _CUTS)
    main = "chunks"
    owner = "encoder"

    def read(self, key: bytes, shape: tuple[int, int | None]) -> NDArray[np.float32] | None:
        """The vectors kept under `key`, shape `shape`, whose width may be open; None when there are none, or damaged
        ones."""
        row = self._fetch_first_row("SELECT texts, dim, checksum, CAST(vectors AS BLOB) FROM chunks WHERE key = ?", key)
        if row is None:
            return None
        texts, dim, checksum, content = row
        expected = shape[0], dim if shape[1] is None else shape[1]
        # The key is sealed in as well: an intact row under another key would be vectors of other texts.
        if (
            (texts, dim) != expected
            or checksum != compute_keyed_content_hash(key, content)
            or len(content) != 4 * texts * dim
        ):
            self.drop(key)
            return None
        return np.frombuffer(content, dtype="<f4").reshape(expected)

    def holds(self, key: bytes) -> bool:
        """Whether there are vectors under `key`, unread: damage shows when they are read."""
        return self._fetch_first_row("SELECT 1 FROM chunks WHERE key = ?", key) is not None

    def write(self, key: bytes, encoder: str, vectors: NDArray[np.float32]) -> None:
        """Keep `vectors`, (n, dim), under `key`; a key that is already there keeps what it has."""
        content = np.ascontiguousarray(vectors, dtype="<f4").data.cast("B")
        self._execute_change(
            "INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?, ?, ?)",
            key, encoder, *vectors.shape, compute_keyed_content_hash(key, content), content
        )  # fmt: skip

    def read_truncated_count(self, key: bytes) -> int | None:
        """How many texts of the chunk `key` were cut at the encoder's limit; None when that is not known."""
        row = self._fetch_first_row("SELECT texts FROM cuts WHERE key = ?", key)
        return None if row is None else int(row[0])

    def write_truncated_count(self, key: bytes, texts: int) -> None:
        """Keep how many texts of the chunk `key` were cut."""
        self._execute_change("INSERT OR IGNORE INTO cuts VALUES (?, ?)", key, texts)

    def summarise_cache_contents(self) -> EmbeddingCacheInfo:
        """What the cache holds now; zeros where it cannot be read."""
        rows = self._fetch_all_rows(
            "SELECT encoder, COUNT(*), SUM(texts) FROM chunks GROUP BY encoder ORDER BY encoder"
        )
        return EmbeddingCacheInfo(
            path=self.path,
            bytes=self._measure_file_size(),
            entries=sum(entries for _, entries, _ in rows),
            encoders={encoder: texts for encoder, _, texts in rows},
        )

    def _delete_orphan_rows(self) -> None:
        self._execute_change("DELETE FROM cuts WHERE key NOT IN (SELECT key FROM chunks)")


_CHUNK_SIZE = 64
_HOPELESS = 8
"""So many texts refused and none taken: it is the server, and not the texts."""

Vectors = NDArray[np.float32]


@dataclass
class EncodingCounts:
    """What happened so far: distinct texts of each call that were encoded, taken from the cache, and (of
    both) cut at the encoder's limit; seconds spent in the encoder."""

    encoded: int = 0
    cached: int = 0
    truncated: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class OtherMachineEncodingCounts:
    """What an encoder did on another machine, to be counted here."""

    counts: EncodingCounts
    failures: Mapping[str, str]


class CachedEncoder(EncoderFactsWrapper):
    """`encoder` behind `cache`.

    The encoder may have attributes beside its contract: `chunk_size`, texts per chunk (64 without it);
    `uses_roles`, False where a role makes no difference to its vectors, so that they are kept only once; and
    `encode_chunks` of a RemoteEncoder, which then gets all chunks that are missing at once; so does `encode_together`,
    of the same vectors as `encode`, where `joins_chunks` is True. Each chunk is kept
    the moment it is there, so an error or a budget that ends a call loses nothing that was paid for.

    `progress` is called with the number of distinct texts of each chunk as it is done, `kept` with that of each chunk
    that was made, once the cache has it. `failures`
    are the texts that could not be encoded, with the reason: asked for once, never kept, so a later run asks again.

    It pickles as its encoder and its cache's path. A copy tells nobody what it does; its `account` says it afterwards,
    for `accept` of the original.
    """

    def __init__(
        self,
        encoder: Encoder,
        cache: EmbeddingCache,
        *,
        progress: Callable[[int], None] | None = None,
        kept: Callable[[int], None] | None = None,
    ) -> None:
        self.encoder = encoder
        self.cache = cache
        self.progress = progress
        self.kept = kept
        self.counts = EncodingCounts()
        self.failures: dict[str, str] = {}
        self.conduct = EncoderVectorFaults()
        self._fetched: set[bytes] = set()
        self._away = False
        self.chunk_size: int = getattr(encoder, "chunk_size", _CHUNK_SIZE)
        self.uses_roles: bool = getattr(encoder, "uses_roles", True)

    def __getstate__(self) -> tuple[Encoder, EmbeddingCache]:
        return self.encoder, self.cache

    def __setstate__(self, state: tuple[Encoder, EmbeddingCache]) -> None:
        type(self).__init__(self, *state)
        # A copy cannot reach the progress display or the tally of the process that has the original.
        self._away = True

    def account(self) -> OtherMachineEncodingCounts | None:
        """What a copy has counted since it was last asked; None of the original, which has counted it."""
        if not self._away:
            return None
        # A copy starts at 0 again, so that nothing is counted twice.
        counts, self.counts = self.counts, EncodingCounts()
        return OtherMachineEncodingCounts(counts, dict(self.failures))

    def add_encoding_counts(self, account: OtherMachineEncodingCounts) -> None:
        """Count what a copy did, and tell of it."""
        done, mine = account.counts, self.counts
        mine.encoded += done.encoded
        mine.cached += done.cached
        mine.truncated += done.truncated
        mine.seconds += done.seconds
        self.failures.update(account.failures)
        if self.kept is not None and done.encoded:
            self.kept(done.encoded)
        self._report_progress(done.encoded + done.cached)

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> Vectors:
        """Embeddings, (n, dim) float32; equal texts have equal vectors, a text among `failures` has NaN.

        ModelError when the encoder fails, or gives another shape or values that are not finite, BudgetExceeded
        when a limit is reached, UsageError where the vectors would break a promise of memory; finished chunks are kept.
        """
        role = role if self.uses_roles else None
        distinct, chunks = self._group_distinct_texts_into_batches(texts)
        vectors = self._allocate_vectors(len(distinct), len(texts))
        for position, answer in self._iterate_chunk_vectors(chunks, role):
            start = position * self.chunk_size
            vectors[start : start + len(answer)] = answer
        row = {text: position for position, text in enumerate(distinct)}
        return vectors.take([row[text] for text in texts], axis=0)

    def _allocate_vectors(self, distinct: int, texts: int) -> Vectors:
        """Allocate the vectors of so many distinct texts."""
        # As they are made, and in the order of the texts.
        check_memory_fits(WorkMemoryEstimate({f"the vectors of {texts:,} texts": 4 * (distinct + texts) * self.dim}))
        return np.empty((distinct, self.dim), dtype=np.float32)

    def _read_chunk(self, key: bytes, n: int) -> Vectors | None:
        return self.cache.read(key, (n, self.dim))

    def _write_chunk(self, key: bytes, vectors: Vectors) -> None:
        self.cache.write(key, self.identity, vectors)

    def _make_missing_vector(self) -> Vectors:
        """Make what stands in place of the vector of a text that cannot be encoded."""
        return np.full((1, self.dim), np.nan, dtype=np.float32)

    def prefetch_embeddings(self, calls: Iterable[tuple[Sequence[str], Role | None]]) -> None:
        """Make what is missing for several calls of `encode` at once, and keep it: where a call alone has too few
        chunks to keep a server busy, all together have enough. The calls then find it. What is refused is left to
        them. Errors are those of `encode`."""
        waiting: dict[Role | None, dict[bytes, Sequence[str]]] = {}
        for texts, role in calls:
            role = role if self.uses_roles else None
            waiting.setdefault(role, {}).update(self.missing(texts, role=role))
        for role, chunks in waiting.items():
            keys, wanted = list(chunks), list(chunks.values())
            for position, answer in self._iterate_with_encoding_time(self._ask_encoder(wanted, role)):
                if not isinstance(answer, TextRefused):
                    self._check_and_cache_vectors(keys[position], wanted[position], answer, role)
                    self._fetched.add(keys[position])

    def missing(self, texts: Sequence[str], *, role: Role | None = None) -> Iterator[tuple[bytes, Sequence[str]]]:
        """The missing chunks, which `encode` would have to make, with their keys."""
        role = role if self.uses_roles else None
        for chunk in self._group_distinct_texts_into_batches(texts)[1]:
            key = make_chunk_cache_key(self.identity, role, chunk)
            if not self.cache.holds(key):
                yield key, chunk

    def _group_distinct_texts_into_batches(self, texts: Sequence[str]) -> tuple[list[str], Sequence[Sequence[str]]]:
        """The distinct texts in content order, and the chunks they are cut into."""
        # Like lengths together pad little; by content before, so that a chunk does not depend on the order of the call.
        distinct, size = sorted(sorted(set(texts)), key=len), self.chunk_size
        return distinct, _LazyTextChunks(lambda i: distinct[i * size : (i + 1) * size], -(-len(distinct) // size))

    def _iterate_chunk_vectors(
        self, chunks: Sequence[Sequence[str]], role: Role | None
    ) -> Iterator[tuple[int, Vectors]]:
        """The vectors of every chunk by its position: first what is kept, then what is made, as it comes."""
        waiting, refused = [], []
        for position, chunk in enumerate(chunks):
            key = make_chunk_cache_key(self.identity, role, chunk)
            cached = self._read_chunk(key, len(chunk))
            if cached is not None:
                self._count_cached_chunk(key, chunk)
                self.conduct.note_vector_faults(chunk, cached)
                yield position, cached
            elif (failed := next((text for text in chunk if text in self.failures), None)) is not None:
                refused.append((position, TextRefused(self.failures[failed])))
            else:
                waiting.append((position, key))
        lazy = _LazyTextChunks(lambda i: chunks[waiting[i][0]], len(waiting))
        for i, answer in self._iterate_with_encoding_time(self._ask_encoder(lazy, role)):
            position, key = waiting[i]
            if isinstance(answer, TextRefused):
                refused.append((position, answer))
            else:
                yield position, self._check_and_cache_vectors(key, chunks[position], answer, role)
        yield from self._retry_refused_in_halves(chunks, refused, role)

    def _ask_encoder(
        self, chunks: Sequence[Sequence[str]], role: Role | None
    ) -> Iterator[tuple[int, Vectors | TextRefused]]:
        """Ask the encoder for the vectors of each chunk: many at once where it can."""
        many = getattr(self.encoder, "encode_chunks", None)
        if many is not None and len(chunks):
            yield from many(chunks, role=role)
            return
        if getattr(self.encoder, "joins_chunks", False):
            together: Any = self.encoder
            yield from together.encode_together(chunks, role=role)
            return
        for position, chunk in enumerate(chunks):
            try:
                yield position, self.encoder.encode(chunk, role=role)
            except TextRefused as refusal:
                yield position, refusal

    def _retry_refused_in_halves(
        self, chunks: Sequence[Sequence[str]], refused: Sequence[tuple[int, TextRefused]], role: Role | None
    ) -> Iterator[tuple[int, Vectors]]:
        """Refused chunks, their halves asked for together; a text that is refused alone has failed."""
        parted = []
        for position, refusal in refused:
            chunk = chunks[position]
            if len(chunk) == 1:
                self._note_failed_text(chunk[0], refusal)
                self._report_progress(1)
                yield position, self._make_missing_vector()
            else:
                parted.append((position, (chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :])))
        while parted:
            # Until a text was taken one chunk is tried, lest a server that refuses all is asked for each alone.
            batch = parted if self.counts.encoded + self.counts.cached else parted[:1]
            parted = parted[len(batch) :]
            vectors = dict(self._iterate_chunk_vectors([half for _, halves in batch for half in halves], role))
            for i, (position, _) in enumerate(batch):
                yield position, np.concatenate((vectors[2 * i], vectors[2 * i + 1]))

    def _note_failed_text(self, text: str, refusal: TextRefused) -> None:
        self.failures[text] = refusal.message
        if len(self.failures) >= _HOPELESS and not self.counts.encoded + self.counts.cached:
            raise ModelError(f"The model refuses every text: {refusal.message}")

    def _iterate_with_encoding_time(
        self, steps: Iterator[tuple[int, Vectors | TextRefused]]
    ) -> Iterator[tuple[int, Vectors | TextRefused]]:
        started = perf_counter()
        for step in steps:
            self.counts.seconds += perf_counter() - started
            yield step
            started = perf_counter()

    def _count_cached_chunk(self, key: bytes, texts: Sequence[str]) -> None:
        """Count a chunk that the cache had, unless it was made for this call beforehand, and counted then."""
        if key in self._fetched:
            self._fetched.remove(key)
            return
        self.counts.cached += len(texts)
        self.counts.truncated += self._count_truncated_texts(key, texts)
        self._report_progress(len(texts))

    def _report_progress(self, texts: int) -> None:
        if self.progress is not None:
            self.progress(texts)

    def _check_and_cache_vectors(self, key: bytes, texts: Sequence[str], answer: Vectors, role: Role | None) -> Vectors:
        vectors = self._check_vectors(answer, len(texts))
        self.conduct.note_vector_faults(texts, vectors)
        self.conduct.note_encode_call(texts, role, vectors)
        self._write_chunk(key, vectors)
        self.counts.encoded += len(texts)
        if self.kept is not None:
            self.kept(len(texts))
        self.counts.truncated += self._count_truncated_texts(key, texts)
        self._report_progress(len(texts))
        return vectors

    def _count_truncated_texts(self, key: bytes, texts: Sequence[str]) -> int:
        """Count how many of the chunk's texts are too long; the count is kept beside its vectors."""
        if self.max_tokens is None:
            return 0
        cut = self.cache.read_truncated_count(key)
        if cut is None:
            cut = self.encoder.count_truncated(texts)
            self.cache.write_truncated_count(key, cut)
        return cut

    def _check_vectors(self, vectors: Vectors, n: int) -> Vectors:
        if vectors.shape != (n, self.dim):
            raise ModelError(
                f"The encoder {self.name!r} returned an array of shape {vectors.shape} for {n} texts, "
                f"expected ({n}, {self.dim})."
            )
        if vectors.dtype.kind not in "fiu":
            raise ModelError(f"The encoder {self.name!r} returned numbers of type {vectors.dtype}, expected float32.")
        if not np.isfinite(vectors).all():
            # argmin finds the first False.
            bad = int(np.argmin(np.isfinite(vectors).all(axis=1)))
            raise ModelError(f"The encoder {self.name!r} returned values that are not finite (text {bad} of {n}).")
        return np.ascontiguousarray(vectors, dtype=np.float32)


def pack_ragged_vectors(rows: Ragged) -> Vectors:
    """Ragged vectors as one array (n, floats of one text on average): how many rows each text has, all rows, and
    zeros."""
    counts = np.array([len(row) for row in rows], dtype=np.float32)  # exact up to 2^24 rows
    flat = np.concatenate([counts, *(np.ravel(row) for row in rows)])
    width = -(-len(flat) // len(rows))
    whole = np.zeros(len(rows) * width, dtype=np.float32)
    whole[: len(flat)] = flat
    return whole.reshape(len(rows), width)


def unpack_ragged_vectors(kept: Vectors, width: int) -> Ragged | None:
    """What `pack_ragged_vectors` was made of, with rows of this width; None where it cannot be."""
    n = len(kept)
    flat = kept.ravel()
    # First a count of rows for each text, then all rows, then zeros.
    counts = flat[:n].astype(np.int64)
    ends = n + width * np.cumsum(counts)
    if (counts < 0).any() or (n and not len(flat) - n < ends[-1] <= len(flat)):
        return None
    return make_ragged_array(
        [flat[end - width * c : end].reshape(c, width) for c, end in zip(counts, ends, strict=True)]
    )


class CachedRaggedEncoder(CachedEncoder):
    """An encoder of ragged vectors behind the cache. `stream` gives them as they come, so that they need not be in
    memory all at once."""

    def __init__(self, *parts: Any, **hears: Any) -> None:
        super().__init__(*parts, **hears)
        self.conduct = RaggedVectorFaults()

    @property
    def width(self) -> int:
        """The width of a row: how many values it has."""
        return int(self.encoder.width)  # type: ignore[attr-defined]

    @property
    def floats(self) -> int:
        """Values of a text, about."""
        return int(self.encoder.floats)  # type: ignore[attr-defined]

    def stream(self, texts: Sequence[str], role: Role | None = None) -> Iterator[tuple[list[int], Ragged]]:
        """Places of some of the texts and what these have, chunk by chunk, until all have been given. A text that could
        not be encoded has one row of NaN. Errors are those of `encode`."""
        role = role if self.uses_roles else None
        places: dict[str, list[int]] = defaultdict(list)
        for i, text in enumerate(texts):
            places[text].append(i)
        _, chunks = self._group_distinct_texts_into_batches(texts)
        for position, of_chunk in self._iterate_chunk_vectors(chunks, role):
            rows = [(i, vector) for text, vector in zip(chunks[position], of_chunk, strict=True) for i in places[text]]
            yield [i for i, _ in rows], make_ragged_array([vector for _, vector in rows])

    def _allocate_vectors(self, distinct: int, texts: int) -> Ragged:
        check_memory_fits(WorkMemoryEstimate({f"the vectors of {texts:,} texts": 4 * distinct * self.floats}))
        return np.empty(distinct, dtype=object)

    def _read_chunk(self, key: bytes, n: int) -> Ragged | None:
        flat = self.cache.read(key, (n, None))
        return None if flat is None else unpack_ragged_vectors(flat, self.width)

    def _write_chunk(self, key: bytes, vectors: Ragged) -> None:
        self.cache.write(key, self.identity, pack_ragged_vectors(vectors))

    def _make_missing_vector(self) -> Ragged:
        return make_ragged_array([np.full((1, self.width), np.nan, dtype=np.float32)])

    def _check_vectors(self, vectors: Any, n: int) -> Ragged:
        if len(vectors) != n or any(vector.ndim != 2 or vector.shape[1] != self.width for vector in vectors):
            raise ModelError(f"The encoder {self.name!r} did not return rows of {self.width} values for {n} texts.")
        if not all(np.isfinite(vector).all() for vector in vectors):
            raise ModelError(f"The encoder {self.name!r} returned values that are not finite.")
        return make_ragged_array([np.ascontiguousarray(vector, dtype=np.float32) for vector in vectors])


class _LazyTextChunks(Sequence[Sequence[str]]):
    """`n` chunks, each cut when it is asked for."""

    def __init__(self, cut: Callable[[int], Sequence[str]], n: int) -> None:
        self._cut, self._n = cut, n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index: int) -> Sequence[str]:  # type: ignore[override]
        if not 0 <= index < self._n:
            raise IndexError(index)
        return self._cut(index)


def make_chunk_cache_key(identity: str, role: Role | None, texts: Sequence[str]) -> bytes:
    """32 bytes that name a chunk: a hash of the encoder, the role and the texts, every length included."""
    # A text from JSON may hold half of a surrogate pair, which plain UTF-8 refuses.
    parts = [part.encode("utf-8", "surrogatepass") for part in (identity, role or "", *texts)]
    lengths = np.fromiter(map(len, parts), dtype="<u8", count=len(parts))
    digest = hashlib.blake2b(lengths.tobytes(), digest_size=32)
    digest.update(b"".join(parts))
    return digest.digest()
