"""What a sweep computes and what it finds computed: texts embedded, pairs reranked, indexes built."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from semblance.protocols.rag.sweep.measured import Counts
from semblance.protocols.rag.sweep.parts import Parts


class Counting:
    """What was computed and what was found, since the last time that it was asked."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._before = self._now()
        self._built = [0, 0]

    @contextmanager
    def index(self, kept: Path) -> Iterator[None]:
        """Count the index that is opened inside, as built where a file appears under `kept`."""
        before = _files(kept)
        yield
        self._built[_files(kept) == before] += 1

    def taken(self) -> dict[str, int]:
        """The counts of `Counts`, by name."""
        now, built = self._now(), self._built
        counts = Counts(*(a - b for a, b in zip(now, self._before, strict=True)), *built)
        self._before, self._built = now, [0, 0]
        return asdict(counts)

    def _now(self) -> tuple[int, int, int, int]:
        encoded, reranked = self.parts.counts("encoder"), self.parts.counts("reranker")
        return (*encoded, *reranked)


def _files(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*")} if folder.is_dir() else set()
