"""What an encoder's vectors say against it, seen as they come."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Encoder, Ragged, Role

Vectors = NDArray[np.float32]

_CLOSE = 0.01
"""Of a vector's length: other batches and threads change the last bits, half precision some more."""


_SHARED = 0.5
"""More than this share of distinct texts with one vector is told: copies of a text often have the same."""
_COUNTED = 20_000
"""Of so many texts, the first, it is known which have the same vector."""
_PARALLEL = 1e-6
_SHORT, _LONG = 1e-8, 1e8
"""Lengths that the vectors of models do not have: what is made with them may be rounded away or overflow."""
_UNIT = 1e-2
"""So far from 1 may a length be, in half precision too."""


class EncoderVectorFaults:
    """What an encoder's vectors say against it: all equal or of one direction, many equal or zero, odd lengths,
    others at each call, others in another batch."""

    def __init__(self) -> None:
        self._texts = self._zeros = self._odd_lengths = 0
        self._first: Vectors | None = None
        self._equal = self._parallel = True
        self.are_units = True
        """Whether all vectors that are not zero have length 1."""
        self._alike: Counter[bytes] = Counter()
        self._made: tuple[Sequence[str], Role | None, Vectors] | None = None

    def note_vector_faults(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Note what the vectors (n, dim) of distinct texts show; the empty text may well be 0."""
        filled = vectors[[i for i, text in enumerate(texts) if text.strip()]]
        if not len(filled):
            return
        if self._texts < _COUNTED:
            self._alike.update(hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in filled)
        self._texts += len(filled)
        lengths = np.sqrt(np.einsum("nd,nd->n", filled, filled, dtype=np.float64))
        self._note_lengths(lengths)
        self._note_equal_or_parallel_vectors(filled, lengths)

    def _note_lengths(self, lengths: NDArray[np.float64]) -> None:
        there = lengths[lengths > 0]
        self._zeros += len(lengths) - len(there)
        self._odd_lengths += int(((there < _SHORT) | (there > _LONG)).sum())
        self.are_units = self.are_units and bool((np.abs(there - 1) <= _UNIT).all())

    def _note_equal_or_parallel_vectors(self, filled: Vectors, lengths: NDArray[np.float64]) -> None:
        if self._first is None:
            # A copy, because a row of the block would keep all of it in memory.
            self._first = filled[0].copy()
        self._equal = self._equal and bool((filled == self._first).all())
        if not self._parallel or not self._first.any():
            self._parallel = False
            return
        products = filled.astype(np.float64) @ self._first.astype(np.float64)
        parallel = np.abs(products) >= (1 - _PARALLEL) * lengths * np.linalg.norm(self._first.astype(np.float64))
        self._parallel = bool(parallel[lengths > 0].all())

    def note_encode_call(self, texts: Sequence[str], role: Role | None, vectors: Vectors) -> None:
        """Note what one call of `encode` gave: the first that shows something is asked again later."""
        # One text alone cannot show that its neighbours in a batch matter.
        if self._made is None or len(self._made[0]) == 1:
            self._made = texts, role, vectors

    def warnings(self, encoder: Encoder) -> tuple[str, ...]:
        """In words; asks `encoder` for half of one chunk again, and for all of it where that half differs, unless that
        costs money."""
        faults = [*getattr(encoder, "faults", ()), *self._list_vector_warnings(encoder.name)]
        if self._made is not None and not hasattr(encoder, "price"):
            faults += self._warn_of_unrepeatable_vectors(encoder, *self._made)
            self._made = None
        return tuple(faults)

    @property
    def explain_why_vectors_give_no_score(self) -> str:
        """Why no score can be made of the vectors; empty where they tell any two texts apart."""
        if self._texts < 2 or self._first is None or not self._equal:
            return ""
        same = "the same vector" if self._first.any() else "the same vector, which contains only zeros"
        return f"all {self._texts:,} texts have {same}"

    def _list_vector_warnings(self, name: str) -> Iterator[str]:
        if self._texts < 2 or self._first is None:
            return
        n = f"{self._texts:,}"
        if self.explain_why_vectors_give_no_score:
            yield f"{name}: {self.explain_why_vectors_give_no_score}, so there is nothing to score"
            return
        if self._parallel and len(self._first) > 1:
            yield f"{name}: the vectors of all {n} texts have the same direction, so every cosine is 1 or -1"
        if self._zeros:
            yield f"{name}: {self._zeros:,} of {n} texts have a vector of zeros, which is similar to nothing"
        ((_, most),) = self._alike.most_common(1)
        looked_at = self._alike.total()
        if most > max(1, self._zeros, _SHARED * looked_at):
            yield f"{name}: {most:,} of {looked_at:,} texts have the same vector and cannot be distinguished"
        if self._odd_lengths:
            yield (
                f"{name}: {self._odd_lengths:,} of {n} vectors are shorter than {_SHORT:g} or longer than {_LONG:g}, "
                "which is unusual for models; methods that learn from vectors may fail on them"
            )

    @staticmethod
    def _warn_of_unrepeatable_vectors(
        encoder: Encoder, texts: Sequence[str], role: Role | None, before: Vectors
    ) -> Iterator[str]:
        # A half shows both faults for a third of the price; all of them are asked for again only to tell which it is.
        half = max(1, len(texts) // 2)
        if not _have_different_vectors(before[:half], encoder.encode(texts[:half], role=role)):
            return
        if half == len(texts) or _have_different_vectors(before, encoder.encode(texts, role=role)):
            yield (
                f"{encoder.name}: the same {len(texts)} texts got different vectors when encoded "
                "again, so its scores are not reproducible"
            )
        else:
            yield (
                f"{encoder.name}: {half} texts got different vectors without the {len(texts) - half} "
                "texts encoded with them, so its scores depend on which texts are encoded together"
            )


def _have_different_vectors(before: Any, after: Any) -> bool:
    before, after = before.astype(np.float64), after.astype(np.float64)
    apart = np.linalg.norm(before - after, axis=1)
    # 1e-30: two zero vectors do not differ
    return bool((apart > _CLOSE * np.linalg.norm(before, axis=1) + 1e-30).any())


def compute_text_mean_rows(rows: Ragged) -> Vectors:
    """The mean row of each text, (n, width): enough to see whether two answers are the same."""
    return np.array([row.sum(axis=0) / max(1, len(row)) for row in rows], dtype=np.float32)


class _MeanRowEncoder:
    """An encoder that gives the mean row of each text."""

    def __init__(self, encoder: Any) -> None:
        self.name, self._encoder = encoder.name, encoder

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> Vectors:
        return compute_text_mean_rows(self._encoder.encode(texts, role=role))


class RaggedVectorFaults(EncoderVectorFaults):
    """What is said against an encoder of ragged vectors, by their outlines."""

    def note_vector_faults(self, texts: Sequence[str], vectors: Any) -> None:
        """Note what the rows of distinct texts show."""
        super().note_vector_faults(texts, compute_text_mean_rows(vectors))

    def note_encode_call(self, texts: Sequence[str], role: Role | None, vectors: Any) -> None:
        """Note what one call of `encode` gave."""
        super().note_encode_call(texts, role, compute_text_mean_rows(vectors))

    def warnings(self, encoder: Encoder) -> tuple[str, ...]:
        """The warnings about an encoder of ragged vectors, in words."""
        return super().warnings(_MeanRowEncoder(encoder))  # type: ignore[arg-type]
