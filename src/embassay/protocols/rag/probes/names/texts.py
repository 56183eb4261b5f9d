"""All texts of a name probe: every condition of every bundle of every run, each distinct text once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.probes.names.bundles import CANDIDATES, Bundle, Material, bundles
from embassay.protocols.rag.probes.names.conditions import CONDITIONS

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Texts:
    """The distinct queries and passages, and where they stand: `left` (conditions, runs, queries), `right` the same
    with the five candidates as last axis."""

    conditions: tuple[str, ...]
    queries: tuple[str, ...]
    passages: tuple[str, ...]
    left: Ints
    right: Ints

    def of_query(self, query: int) -> Iterator[str]:
        """All texts of a query, under every condition and in every run."""
        yield from (self.queries[place] for place in np.unique(self.left[:, :, query]))
        yield from (self.passages[place] for place in np.unique(self.right[:, :, query]))


def all_bundles(material: Material, queries: int, runs: int, seed: int) -> list[list[Bundle]]:
    """The bundles of each run; that of run r are drawn from seed + r (spec rag 5.3)."""
    return [bundles(material, queries, seed=seed + run) for run in range(runs)]


def texts_of(by_run: Sequence[Sequence[Bundle]], conditions: Sequence[str], seed: int) -> Texts:
    """The texts of these bundles under these conditions."""
    queries, passages = dict[str, int](), dict[str, int]()
    shape = (len(conditions), len(by_run), len(by_run[0]))
    left = np.empty(shape, dtype=np.int64)
    right = np.empty((*shape, len(CANDIDATES)), dtype=np.int64)
    for c, name in enumerate(conditions):
        for run, own in enumerate(by_run):
            for q, bundle in enumerate(own):
                written = CONDITIONS[name].write(bundle, seed + run)
                left[c, run, q] = queries.setdefault(written.query, len(queries))
                right[c, run, q] = [passages.setdefault(text, len(passages)) for text in written.passages]
    return Texts(tuple(conditions), tuple(queries), tuple(passages), left, right)
