"""Which documents are of one source: told from their ids, for measures that discount what a source says twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embassay.measures.graded import Sources

if TYPE_CHECKING:
    import polars as pl

Ints = NDArray[np.int64]
SEPARATOR = "#"
"""Chunks are called `document#number`."""


@dataclass(frozen=True)
class SourceCodes:
    """The source of each document by its code, and the graded pool sorted by query: query, grade, source."""

    of: Ints
    query: Ints
    grade: NDArray[np.int8]
    code: Ints

    def on(self, documents: Ints) -> Sources:
        """Sources of ranked `documents` (q, w), codes of which those below 0 are no document."""
        return Sources(np.where(documents < 0, -1, self.of[documents]), self.query, self.grade, self.code)


def source_codes(codes: Sequence[Ints], texts: Sequence[pl.Series], separator: str) -> Ints:
    """The source of every document code: what stands before the last `separator` in its id, the whole id without one.

    `codes` and `texts` are the columns of all files, each code with its id.
    """
    import polars as pl

    known = pl.concat([
        pl.DataFrame({"code": code, "text": text.cast(pl.String)}).unique("code")
        for code, text in zip(codes, texts, strict=True)
    ]).unique("code")  # fmt: skip
    sources = known["text"].str.replace(f"^(.*){_escaped(separator)}.*$", "$1")
    found = np.zeros(int(known["code"].max()) + 1, np.int64)  # type: ignore[arg-type]
    found[known["code"].to_numpy()] = sources.cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
    return found


def graded_sources(of: Ints, query: Ints, grade: NDArray[np.int8], doc: Ints) -> SourceCodes:
    """The judgements (columns of one length) with their sources, sorted by query."""
    order = np.argsort(query, kind="stable")
    return SourceCodes(of, query[order], grade[order], of[doc[order]])


def _escaped(text: str) -> str:
    """For a regular expression of the library that reads the ids."""
    return "".join(f"\\x{{{ord(character):x}}}" for character in text)
