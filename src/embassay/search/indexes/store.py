"""Built indexes on disk: found again by content, never half of one, rebuilt where they are damaged.

A file is a line of JSON (its key, the seconds that building took, what it is), the index as its library writes it, and
a checksum of both. It is written beside its place and moved there in one step, while a lock on a file of the same name
keeps a second process waiting for the first one's index instead of building its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO, Generic, TypeVar

T = TypeVar("T")
Write = Callable[[bytes], int]
Read = Callable[[int], bytes]

LAYOUT = 1
"""Of the files: another one is another key, so that no file is read as what it is not."""
_SEAL = 32
_STEP = 2**22


@dataclass(frozen=True)
class Recipe:
    """All that an index depends on: its kind, what `parameters` change when it is built (never what changes only the
    search), the library with its version, and the digest of the vectors."""

    kind: str
    parameters: Mapping[str, Any]
    library: str
    digest: str

    @property
    def key(self) -> str:
        """32 hexadecimal digits."""
        parts = [LAYOUT, self.kind, dict(self.parameters), self.library, self.digest]
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def path(self, folder: Path) -> Path:
        """Where it is kept."""
        return folder / f"{self.kind}-{self.key}.index"


@dataclass(frozen=True)
class Form(Generic[T]):
    """How an index is built, written and read."""

    build: Callable[[], T]
    write: Callable[[T, Write], None]
    read: Callable[[Read], T]


@dataclass(frozen=True)
class Kept(Generic[T]):
    """An index, the seconds its building took, its bytes on disk, and whether it was there before."""

    value: T
    seconds: float
    disk_bytes: int
    found: bool


def kept(recipe: Recipe, folder: Path | None, form: Form[T]) -> Kept[T]:
    """The index of `recipe`: from its file in `folder`, else built, and kept there; None keeps nothing.

    A damaged file is told of by a RuntimeWarning and replaced; where the folder cannot be written, the index is used
    without being kept, with a warning too.
    """
    if folder is None:
        value, seconds = _built(form)
        return Kept(value, seconds, 0, found=False)
    path = recipe.path(folder)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _locked(path):
            return _found(path, recipe, form) or _written(path, recipe, form)
    except OSError as error:
        _warn(
            f"The index {path} cannot be kept ({error}); going on without. Free the disk or choose another folder."
        )
        value, seconds = _built(form)
        return Kept(value, seconds, 0, found=False)


def _built(form: Form[T]) -> tuple[T, float]:
    started = perf_counter()
    value = form.build()
    return value, perf_counter() - started


def _found(path: Path, recipe: Recipe, form: Form[T]) -> Kept[T] | None:
    """What is kept at `path`; None if there is nothing, or nothing whole."""
    if not path.exists():
        return None
    with path.open("rb") as stream:
        head = _checked_head(stream, recipe)
        if head is not None:
            try:
                value = form.read(stream.read)
            except Exception as error:  # whatever a library raises at bytes it cannot read
                head = None
                reason = f" ({str(error).strip().splitlines()[-1][:200]})" if str(error).strip() else ""
            else:
                return Kept(value, float(head["seconds"]), path.stat().st_size, found=True)
        else:
            reason = ""
    _warn(f"The kept index {path} is damaged{reason} and is built again.")
    return None


def _checked_head(stream: BinaryIO, recipe: Recipe) -> dict[str, Any] | None:
    """The first line of a whole file, the stream behind it; None for one that is damaged or of something else."""
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


def _written(path: Path, recipe: Recipe, form: Form[T]) -> Kept[T]:
    """The index, built and written to `path` in one step."""
    _clear_parts(path)
    value, seconds = _built(form)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    about = {"kind": recipe.kind, "parameters": dict(recipe.parameters), "library": recipe.library}
    head = {"key": recipe.key, "seconds": seconds, "vectors": recipe.digest, **about}
    try:
        with temporary.open("wb") as stream:
            sealed = _Sealed(stream)
            sealed.write(json.dumps(head).encode() + b"\n")
            form.write(value, sealed.write)
            stream.write(sealed.checksum.digest())
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
        size = path.stat().st_size
    except OSError as error:
        # Built is built: a full disk costs the next run time, not this one.
        _warn(
            f"The index {path} cannot be kept ({error}); going on without. Free the disk or choose another folder."
        )
        temporary.unlink(missing_ok=True)
        size = 0
    return Kept(value, seconds, size, found=False)


@dataclass
class _Sealed:
    """A stream, and the checksum of what went into it."""

    stream: BinaryIO
    checksum: Any = field(default_factory=lambda: hashlib.blake2b(digest_size=_SEAL))

    def write(self, content: bytes) -> int:
        self.checksum.update(content)
        return self.stream.write(content)


def _clear_parts(path: Path) -> None:
    """Remove what killed processes left of this index; the lock is held, so nobody is writing it."""
    for part in path.parent.glob(f".{path.name}.*.part"):
        part.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the index's lock; the system gives it back when the process ends, however it does."""
    from filelock import lock_descriptor

    with path.with_suffix(".lock").open("a") as stream:
        lock_descriptor(stream.fileno())
        yield


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=3)


@dataclass(frozen=True)
class KeptIndexes:
    """The built indexes in `path`: how many of each kind, and their bytes."""

    path: Path
    kinds: Mapping[str, int]
    bytes: int


def kept_indexes(folder: Path) -> KeptIndexes:
    """What is kept in a folder; nothing where there is none."""
    files = sorted(folder.glob("*.index"))
    kinds = Counter(file.name.rpartition("-")[0] for file in files)
    return KeptIndexes(folder, dict(kinds), sum(file.stat().st_size for file in files))


def clear_indexes(folder: Path) -> int:
    """Delete what is kept in a folder, also what a killed build left; gives the bytes freed. An index that is open goes
    on being read."""
    freed = 0
    for file in folder.glob("*"):
        if file.is_file():
            freed += file.stat().st_size
            file.unlink()
    return freed
