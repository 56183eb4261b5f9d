"""What a sweep computes and what it finds computed: texts embedded, pairs reranked, indexes built."""

from __future__ import annotations

from dataclasses import asdict

from embassay.contracts import IndexFacts
from embassay.protocols.rag.sweep.measured import Counts
from embassay.protocols.rag.sweep.parts import Parts


class Counting:
    """What was computed and what was found, since the last time that it was asked."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._before = self._now()
        self._built = [0, 0]

    def index(self, facts: IndexFacts) -> None:
        """Count an index that was opened, if it is one that takes building."""
        if facts.build_seconds > 0 or facts.found:
            self._built[facts.found] += 1

    def taken(self) -> dict[str, int]:
        """The counts of `Counts`, by name."""
        now, built = self._now(), self._built
        counts = Counts(*(a - b for a, b in zip(now, self._before, strict=True)), *built)
        self._before, self._built = now, [0, 0]
        return asdict(counts)

    def _now(self) -> tuple[int, int, int, int]:
        encoded, reranked = self.parts.counts("encoder"), self.parts.counts("reranker")
        return (*encoded, *reranked)
