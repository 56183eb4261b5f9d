"""How the texts of a call are put together for a model, on all cores or on a card.

A batch on one thread gives the same bits however many cores there are; the threads of a numeric library would
not.

A card that is given 32 texts at a time is idle for the most part. But how a library multiplies depends on the shape of
what it is given, and with that, in the last digit, the vectors. So batches are never cut in another way: those of equal
width are laid one under the other, and the first time that such a shape comes up its vectors are compared, bit by bit,
with those of each batch alone. A shape that fails is never used again.
"""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError

Batch = list[int]
"""Rows of the call's texts."""


def of_equal_length(lengths: Sequence[int], tokens: int) -> list[Batch]:
    """Rows of equal length, at most `tokens` tokens together: nothing is padded, so no text's vector depends
    on the texts beside it. The most expensive batches come first."""
    by_length: dict[int, Batch] = defaultdict(list)
    for row, length in enumerate(lengths):
        by_length[length].append(row)
    batches = []
    for length in sorted(by_length, reverse=True):
        rows, size = by_length[length], max(1, tokens // max(1, length))
        batches += [rows[start : start + size] for start in range(0, len(rows), size)]
    return batches


def of_similar_length(texts: Sequence[str], size: int) -> list[Batch]:
    """Rows by length in characters, `size` together, long ones first; a function of the set of texts."""
    rows = sorted(range(len(texts)), key=lambda row: (-len(texts[row]), texts[row]))
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def on_all_cores(
    work: Callable[[Batch], None], batches: Sequence[Batch], *, start: Callable[[], None] | None = None
) -> None:
    """`work` for every batch, in as many threads as there are cores; `start` is called in each thread first."""
    if not batches:
        return
    with ThreadPoolExecutor(min(available_cores(), len(batches)), initializer=start) as pool:
        list(pool.map(work, batches))


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


Vectors = NDArray[np.float32]

_GAIN = 1.1
"""Twice as many tokens together must be so much faster, each, for more to be tried."""
_HOPELESS = 8
"""So many shapes refused and none admitted: batches are done alone from then on."""


@dataclass(frozen=True)
class Padded:
    """A batch as the model takes it: `rows` texts, all filled up to `width` tokens. A batch that cannot be laid
    together with others has no width."""

    rows: int
    width: int | None
    features: Any

    @property
    def tokens(self) -> int:
        """Filling included."""
        return self.rows * (self.width or 0)


@dataclass
class Joined:
    """`run` gives the vectors (rows, dim) of one batch or several of one width, in order; `halve` a batch in two of the
    same width; `no_memory` says that an error means the card is full."""

    run: Callable[[Sequence[Padded]], Vectors]
    halve: Callable[[Padded], tuple[Padded, Padded]]
    no_memory: Callable[[Exception], bool]
    clock: Callable[[], float] = perf_counter
    tokens: int = 0
    """At most so many are done together; grows until that no longer pays."""
    same: dict[tuple[int, int], bool] = field(default_factory=dict)
    """Rows and width of what was tried, and whether every vector was as it is alone."""
    _rate: float = 0.0
    _settled: bool = False
    _warned: bool = False

    def __call__(self, batches: Sequence[Padded]) -> list[Vectors]:
        """The vectors of each batch. ModelError where not even one text fits on the card."""
        found: list[Vectors | None] = [None] * len(batches)
        widths: dict[int | None, list[int]] = defaultdict(list)
        for place, batch in enumerate(batches):
            widths[batch.width].append(place)
        for width, places in widths.items():
            while places:
                taken = self._next(batches, places, alone=width is None or self._hopeless)
                group, places = places[:taken], places[taken:]
                done = self._done([batches[place] for place in group])
                for place, vectors in zip(group, done, strict=True):
                    found[place] = vectors
        return [vectors for vectors in found if vectors is not None]

    @property
    def _hopeless(self) -> bool:
        return len(self.same) >= _HOPELESS and not any(self.same.values())

    def _next(self, batches: Sequence[Padded], places: Sequence[int], *, alone: bool) -> int:
        """How many of the places to take together: one at least, more while they have at most `tokens`."""
        taken, tokens = 1, batches[places[0]].tokens
        self.tokens = max(self.tokens, tokens)
        while not alone and taken < len(places) and tokens + batches[places[taken]].tokens <= self.tokens:
            tokens += batches[places[taken]].tokens
            taken += 1
        return taken

    def _done(self, group: Sequence[Padded]) -> list[Vectors]:
        shape = (sum(batch.rows for batch in group), group[0].width or 0)
        if len(group) == 1 or self.same.get(shape) is False:
            return self._each(group)
        try:
            start = self.clock()
            found = self._parts(self.run(group), group)
            seconds = self.clock() - start
        except Exception as error:
            if not self.no_memory(error):
                raise
            self.tokens, self._settled = max(1, self.tokens // 2), True
            middle = len(group) // 2
            return [*self._done(group[:middle]), *self._done(group[middle:])]
        if shape not in self.same:
            alone = self._each(group)
            self.same[shape] = all(a.tobytes() == b.tobytes() for a, b in zip(found, alone, strict=True))
            return alone
        self._learn(sum(batch.tokens for batch in group), seconds)
        return found

    def _each(self, group: Sequence[Padded]) -> list[Vectors]:
        found = []
        for batch in group:
            start = self.clock()
            found.append(self._alone(batch))
            self._learn(batch.tokens, self.clock() - start)
        return found

    def _alone(self, batch: Padded) -> Vectors:
        try:
            return self.run([batch])
        except Exception as error:
            if not self.no_memory(error):
                raise
            if batch.rows == 1:
                raise ModelError(
                    "The card has no room for a single text.",
                    mend="Try a smaller max_length, or EMBASSAY_DEVICE=cpu.",
                ) from error
        self._warn()
        one, other = self.halve(batch)
        return np.concatenate([self._alone(one), self._alone(other)])

    def _parts(self, vectors: Vectors, group: Sequence[Padded]) -> list[Vectors]:
        ends = np.cumsum([batch.rows for batch in group])[:-1]
        return [np.ascontiguousarray(part) for part in np.split(vectors, ends)]

    def _learn(self, tokens: int, seconds: float) -> None:
        """Twice as many from now on, if as many as are allowed were done, and faster than before."""
        if self._settled or 2 * tokens <= self.tokens or seconds <= 0:
            return
        rate = tokens / seconds
        if rate >= _GAIN * self._rate:
            self._rate, self.tokens = rate, 2 * self.tokens
        else:
            self._settled = True

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                "The card has no room for a whole batch, so it is done in halves; its vectors may differ in the last "
                "digit from those of a larger card. A smaller batch_size is part of the encoder's identity.",
                RuntimeWarning,
                stacklevel=2,
            )
