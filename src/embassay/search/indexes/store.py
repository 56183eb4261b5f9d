"""Built indexes on disk: found again by content, never half of one, rebuilt where they are damaged.

A file is a line of JSON (its key, the seconds that building took, what it is), the index as its library writes it, and
a checksum of both. It is written beside its place and moved there in one step, while a lock on a file of the same name
keeps a second process waiting for the first one's index instead of building its own.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import RankedCandidates
from embassay.errors import UsageError
from embassay.search.exact import cut_range_into_blocks


def compute_recall_per_query(found: RankedCandidates, exact: RankedCandidates, k: int) -> NDArray[np.float64]:
    """The share of each query's first k of exact search that are among its first k found, (q,), 0 to 1.

    By number: of vectors that tie at place k, the one that exact search keeps counts. Where there are fewer than k to
    find, those are all; where there are none, 1. UsageError for another number of queries, and for rankings shorter
    than k. Source: spec rag 3.4, index quality check.
    """
    q, depth = exact.indices.shape
    if len(found.indices) != q or k < 1 or min(depth, found.indices.shape[1]) < k:
        raise UsageError(
            f"Cannot compare the top {k} of rankings {found.indices.shape} and {exact.indices.shape}.",
            mend="Search both with the same queries, to a depth of at least k.",
        )
    wanted = exact.indices[:, :k]
    # One pair of a query and a number is one integer.
    most = max(int(wanted.max(initial=0)), int(found.indices.max(initial=0))) + 2
    offsets = np.arange(q)[:, None] * most + 1
    hit = np.isin(wanted + offsets, found.indices[:, :k] + offsets) & (wanted >= 0)
    there = np.count_nonzero(wanted >= 0, axis=1)
    return np.where(there == 0, 1.0, np.count_nonzero(hit, axis=1) / np.maximum(there, 1))


def recall(found: RankedCandidates, exact: RankedCandidates, k: int) -> float:
    """The mean of `compute_recall_per_query`. UsageError without queries.

    >>> one = RankedCandidates(np.array([[4, 7]]), np.array([[0.9, 0.8]]))
    >>> other = RankedCandidates(np.array([[7, 5]]), np.array([[0.8, 0.7]]))
    >>> recall(other, one, 2)
    0.5
    """
    values = compute_recall_per_query(found, exact, k)
    if not len(values):
        raise UsageError("Recall needs at least one query.", mend="Search with at least one.")
    return float(values.mean())


LADDER = (16, 32, 64, 128, 256, 512)
# Spec rag 3.4 asks for a gap to flat of at most 1 to 2%.
GAP = 0.02
AUTO = "auto"
"""A search width that is to be found."""
WITHIN = 0.01


def find_smallest_search_width(
    values_at: Callable[[int], Mapping[str, float]], *, gap: float = WITHIN, most: int = 2**15
) -> int:
    """The smallest search width whose recalls (1 is exact) are all at least 1 - `gap`; `most` where none is.

    Widths are doubled from 1 until one is wide enough, and the smallest between it and the one before is found by
    halving: recall that falls again with more width, by a hair, does not matter. UsageError for a gap that is no share.

    >>> find_smallest_search_width(lambda ef: {"10": min(1.0, 0.9 + ef / 200), "30": min(1.0, 0.8 + ef / 100)})
    19
    """
    if not 0 <= gap < 1 or most < 1:
        raise UsageError(
            f"Cannot find a search width up to {most} with a gap of {gap:g}.",
            mend="Use a gap of at least 0 and below 1, and a width of at least 1.",
        )

    def is_search_width_sufficient(ef: int) -> bool:
        # The rounding of 1 - gap must not ask for a wider search.
        return min(values_at(ef).values()) >= 1 - gap - 1e-12

    low, high = 0, 1
    while high < most and not is_search_width_sufficient(high):
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_search_width_sufficient(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class SearchWidthMetricGaps:
    """A search width that was tried: each metric's value, and how far it is below flat's as a share of that (negative
    where it is above)."""

    ef: int
    values: Mapping[str, float]
    gaps: Mapping[str, float]

    @property
    def worst(self) -> float:
        """The largest gap."""
        return max(self.gaps.values())


@dataclass(frozen=True)
class TunedSearchWidth:
    """The smallest width of the ladder whose metrics are all within `gap` of flat's, None if none is; what was tried,
    in order, ends with it."""

    ef: int | None
    gap: float
    flat: Mapping[str, float]
    steps: tuple[SearchWidthMetricGaps, ...]


def tune_width(
    values_at: Callable[[int], Mapping[str, float]],
    flat: Mapping[str, float],
    *,
    ladder: Sequence[int] = LADDER,
    gap: float = GAP,
) -> TunedSearchWidth:
    """Raise the search width until no metric is more than `gap` (a share, 0.01 to 0.02) below its value with flat.

    `values_at(ef)` measures the index at that width, `flat` has the same metrics of exact search; higher is better, as
    for RA-nWG@10 and @30. Wider searches are not tried once one is near enough. A metric that flat has at 0 has no gap
    unless it is below. UsageError for an empty or descending ladder, a negative gap, and metrics that are not the same
    or no numbers. Source: spec rag 3.4.

    >>> found = tune_width(lambda ef: {"RA-nWG@10": 0.8 * (1 - 1 / ef)}, {"RA-nWG@10": 0.8}, gap=0.02)
    >>> found.ef, [round(step.worst, 2) for step in found.steps]
    (64, [0.06, 0.03, 0.02])
    """
    if not ladder or sorted(set(ladder)) != list(ladder) or ladder[0] < 1 or gap < 0 or not flat:
        raise UsageError(
            f"Cannot tune over the search widths {list(ladder)} to a gap of {gap} in {len(flat)} metrics.",
            mend="Pass widths of 1 or more in ascending order, a gap of at least 0, and at least one metric.",
        )
    steps: list[SearchWidthMetricGaps] = []
    for ef in ladder:
        steps.append(_compare_search_width_with_flat(ef, values_at(ef), flat))
        if steps[-1].worst <= gap:
            return TunedSearchWidth(ef, gap, flat, tuple(steps))
    return TunedSearchWidth(None, gap, flat, tuple(steps))


def _compare_search_width_with_flat(
    ef: int, values: Mapping[str, float], flat: Mapping[str, float]
) -> SearchWidthMetricGaps:
    if values.keys() != flat.keys():
        raise UsageError(
            f"ef={ef} has {', '.join(sorted(values)) or 'nothing'}, but flat has {', '.join(sorted(flat))}.",
            mend="Measure the same metrics with both.",
        )
    undefined = [name for name in flat if not (isfinite(values[name]) and isfinite(flat[name]))]
    if undefined:
        raise UsageError(f"{undefined[0]} is not a number at ef={ef} or with flat.", mend="Leave this metric out.")
    return SearchWidthMetricGaps(
        ef, values, {name: _compute_relative_loss(value, flat[name]) for name, value in values.items()}
    )


def _compute_relative_loss(value: float, reference: float) -> float:
    lost = reference - value
    if reference:
        return lost / abs(reference)
    return 0.0 if lost <= 0 else float("inf")


T = TypeVar("T")
Write = Callable[[bytes], int]
Read = Callable[[int], bytes]

LAYOUT = 1
"""Of the files: another one is another key, so that no file is read as what it is not."""
_SEAL = 32
_STEP = 2**22


@dataclass(frozen=True)
class IndexRecipe:
    """All that an index depends on: its kind, what `parameters` change when it is built (never what changes only the
    search), the library with its version, and the digest of the vectors."""

    kind: str
    parameters: Mapping[str, Any]
    library: str
    digest: str

    @property
    def key(self) -> str:
        """The key of the recipe: 32 hexadecimal digits."""
        parts = [LAYOUT, self.kind, dict(self.parameters), self.library, self.digest]
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def path(self, folder: Path) -> Path:
        """The path at which the index is kept."""
        return folder / f"{self.kind}-{self.key}.index"


@dataclass(frozen=True)
class IndexBuilderAndSerializer(Generic[T]):
    """How an index is built, written and read."""

    build: Callable[[], T]
    write: Callable[[T, Write], None]
    read: Callable[[Read], T]


@dataclass(frozen=True)
class LoadedOrBuiltIndex(Generic[T]):
    """An index, the seconds its building took, its bytes on disk, and whether it was there before."""

    value: T
    seconds: float
    disk_bytes: int
    found: bool


def load_or_build_index(
    recipe: IndexRecipe, folder: Path | None, form: IndexBuilderAndSerializer[T]
) -> LoadedOrBuiltIndex[T]:
    """The index of `recipe`: from its file in `folder`, else built, and kept there; None keeps nothing.

    A damaged file is told of by a RuntimeWarning and replaced; where the folder cannot be written, the index is used
    without being kept, with a warning too.
    """
    if folder is None:
        value, seconds = _build_index_and_measure_seconds(form)
        return LoadedOrBuiltIndex(value, seconds, 0, found=False)
    path = recipe.path(folder)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _hold_index_lock(path):
            return _read_kept_index(path, recipe, form) or _build_and_write_index(path, recipe, form)
    except OSError as error:
        _issue_runtime_warning(
            f"The index {path} cannot be stored ({error}) and is used without storing it. Free disk space or "
            "choose another folder."
        )
        value, seconds = _build_index_and_measure_seconds(form)
        return LoadedOrBuiltIndex(value, seconds, 0, found=False)


def _build_index_and_measure_seconds(form: IndexBuilderAndSerializer[T]) -> tuple[T, float]:
    started = perf_counter()
    value = form.build()
    return value, perf_counter() - started


def _read_kept_index(
    path: Path, recipe: IndexRecipe, form: IndexBuilderAndSerializer[T]
) -> LoadedOrBuiltIndex[T] | None:
    """What is kept at `path`; None if there is nothing, or nothing whole."""
    if not path.exists():
        return None
    with path.open("rb") as stream:
        head = _read_checked_index_header(stream, recipe)
        if head is not None:
            try:
                value = form.read(stream.read)
            except Exception as error:  # whatever a library raises at bytes it cannot read
                head = None
                reason = f" ({str(error).strip().splitlines()[-1][:200]})" if str(error).strip() else ""
            else:
                return LoadedOrBuiltIndex(value, float(head["seconds"]), path.stat().st_size, found=True)
        else:
            reason = ""
    _issue_runtime_warning(f"The stored index {path} is damaged{reason} and will be rebuilt.")
    return None


def _read_checked_index_header(stream: BinaryIO, recipe: IndexRecipe) -> dict[str, Any] | None:
    """The first line of a whole file, the stream behind it; None for one that is damaged or of something else."""
    # The checksum stands behind the content.
    size = os.fstat(stream.fileno()).st_size - _SEAL
    checksum = hashlib.blake2b(digest_size=_SEAL)
    left = size
    while left > 0 and (content := stream.read(min(left, _STEP))):
        checksum.update(content)
        left -= len(content)
    if size < 0 or stream.read(_SEAL) != checksum.digest():
        return None
    stream.seek(0)
    head = json.loads(stream.readline())
    return head if head["key"] == recipe.key else None


def _build_and_write_index(
    path: Path, recipe: IndexRecipe, form: IndexBuilderAndSerializer[T]
) -> LoadedOrBuiltIndex[T]:
    """The index, built and written to `path` in one step."""
    _remove_partial_files(path)
    value, seconds = _build_index_and_measure_seconds(form)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    about = {"kind": recipe.kind, "parameters": dict(recipe.parameters), "library": recipe.library}
    head = {"key": recipe.key, "seconds": seconds, "vectors": recipe.digest, **about}
    try:
        with temporary.open("wb") as stream:
            sealed = _ChecksummedStream(stream)
            sealed.write(json.dumps(head).encode() + b"\n")
            form.write(value, sealed.write)
            stream.write(sealed.checksum.digest())
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
        size = path.stat().st_size
    except OSError as error:
        # Built is built: a full disk costs the next run time, not this one.
        _issue_runtime_warning(
            f"The index {path} cannot be stored ({error}) and is used without storing it. Free disk space or "
            "choose another folder."
        )
        temporary.unlink(missing_ok=True)
        size = 0
    return LoadedOrBuiltIndex(value, seconds, size, found=False)


@dataclass
class _ChecksummedStream:
    """A stream, and the checksum of what went into it."""

    stream: BinaryIO
    checksum: Any = field(default_factory=lambda: hashlib.blake2b(digest_size=_SEAL))

    def write(self, content: bytes) -> int:
        self.checksum.update(content)
        return self.stream.write(content)


def _remove_partial_files(path: Path) -> None:
    """Remove what killed processes left of this index; the lock is held, so nobody is writing it."""
    for part in path.parent.glob(f".{path.name}.*.part"):
        part.unlink(missing_ok=True)


@contextmanager
def _hold_index_lock(path: Path) -> Iterator[None]:
    """Hold the index's lock; the system gives it back when the process ends, however it does."""
    from filelock import lock_descriptor

    with path.with_suffix(".lock").open("a") as stream:
        lock_descriptor(stream.fileno())
        yield


def _issue_runtime_warning(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=3)


@dataclass(frozen=True)
class KeptIndexCounts:
    """The built indexes in `path`: how many of each kind, and their bytes."""

    path: Path
    kinds: Mapping[str, int]
    bytes: int


def count_stored_indexes_by_kind(folder: Path) -> KeptIndexCounts:
    """What is kept in a folder; nothing where there is none."""
    files = sorted(folder.glob("*.index"))
    kinds = Counter(file.name.rpartition("-")[0] for file in files)
    return KeptIndexCounts(folder, dict(kinds), sum(file.stat().st_size for file in files))


def delete_kept_indexes_and_count_bytes(folder: Path) -> int:
    """Delete what is kept in a folder, also what a killed build left; gives the bytes freed. An index that is open goes
    on being read."""
    freed = 0
    for file in folder.glob("*"):
        if file.is_file():
            freed += file.stat().st_size
            file.unlink()
    return freed


def release_mapped_rows(array: NDArray[Any]) -> None:
    """Tell the system that these rows of a file mapped for reading are not needed now; read again, they are the same.

    Does nothing for other arrays, for maps that may be written, and where the system cannot be told (Windows).
    """
    origin: Any = array
    mode = None
    while isinstance(origin, np.ndarray):
        mode = getattr(origin, "mode", mode)
        origin = origin.base
    # Of a private copy (mode "c") changed pages would be lost.
    if mode != "r" or not isinstance(origin, mmap.mmap) or not hasattr(origin, "madvise") or not array.size:
        return
    low, high = np.lib.array_utils.byte_bounds(array)
    first = int(np.frombuffer(origin, dtype=np.uint8).__array_interface__["data"][0])
    start = (low - first) // mmap.PAGESIZE * mmap.PAGESIZE
    origin.madvise(mmap.MADV_DONTNEED, start, high - first - start)


Floats = NDArray[np.float32]
Vectors = Floats | Sequence[Floats]
"""Float32 (n, d), or shards of it: a sequence of (n_i, d)."""

_READ_BYTES = 2**25


def list_vector_shards(vectors: Vectors) -> Sequence[Floats]:
    """The shards of `vectors`; an array is its own only one."""
    return [vectors] if isinstance(vectors, np.ndarray) else vectors


def measure_shards_shape(vectors: Vectors) -> tuple[int, int]:
    """Vectors and dimensions of all shards together."""
    if isinstance(vectors, np.ndarray):
        return vectors.shape[0], vectors.shape[1]
    shapes = [shard.shape for shard in vectors]
    return sum(n for n, _ in shapes), shapes[0][1]


def check_vectors(vectors: Vectors) -> Vectors:
    """`vectors`, if they are float32 with two axes and one number of dimensions; UsageError otherwise."""
    shapes = []
    for shard in list_vector_shards(vectors):
        if not isinstance(shard, np.ndarray) or shard.dtype != np.float32 or shard.ndim != 2:
            kind = f"{shard.dtype} {shard.shape}" if isinstance(shard, np.ndarray) else type(shard).__name__
            raise UsageError(
                f"An index cannot be built from {kind}.", mend="Pass float32 vectors, shape (n, dimensions)."
            )
        shapes.append(shard.shape)
    if len({dim for _, dim in shapes}) != 1 or shapes[0][1] == 0:
        raise UsageError(
            f"An index cannot be built from shards of shapes {shapes[:5]}.",
            mend="Pass at least one shard, all with the same number of dimensions (1 or more).",
        )
    return vectors


def hash_vectors(vectors: Vectors) -> str:
    """A fingerprint of shape and values, 32 hexadecimal digits, the same however the vectors are cut into shards."""
    n, dim = measure_shards_shape(vectors)
    digest = hashlib.blake2b(f"{n} {dim} <f4 ".encode(), digest_size=16)
    for rows in iterate_vector_blocks(vectors):
        digest.update(np.ascontiguousarray(rows, dtype="<f4").data.cast("B"))
    return digest.hexdigest()


def iterate_vector_blocks(vectors: Vectors) -> Iterator[Floats]:
    """The vectors in order, 32 MiB or less at a time."""
    for shard in list_vector_shards(vectors):
        size = max(1, _READ_BYTES // (4 * shard.shape[1]))
        yield from (shard[rows] for rows in cut_range_into_blocks(len(shard), size))
