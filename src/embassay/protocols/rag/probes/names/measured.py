"""What a system makes of the bundles: margins under every condition, and what it retrieves of them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.protocols.rag.probes.found import counts_of, firsts, graded_top, values
from embassay.protocols.rag.probes.names.bundles import Bundle
from embassay.protocols.rag.probes.names.corpus import corpus_of, written
from embassay.protocols.rag.probes.names.margins import Margins, margins
from embassay.protocols.rag.probes.names.texts import Texts
from embassay.protocols.rag.probes.similarities import similarities
from embassay.runs.rehearsal import Hear

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Collections:
    """The collection of the bundles under each condition (`passages`), its queries by run, and the grades."""

    passages: Mapping[str, Sequence[str]]
    queries: Mapping[str, Sequence[Sequence[str]]]
    grades: NDArray[np.int8]


def collections_of(by_run: Sequence[Sequence[Bundle]], conditions: Sequence[str], seed: int) -> Collections:
    """The collections of these bundles under these conditions."""
    corpus = corpus_of(by_run, seed)
    made = {name: written(by_run, corpus, name, seed) for name in conditions}
    return Collections(
        {name: passages for name, (passages, _) in made.items()},
        {name: queries for name, (_, queries) in made.items()},
        corpus.grades,
    )


def rehearse(texts: Texts, collections: Collections, hear: Hear) -> bool:
    """Tell of the two calls that an encoder gets: all queries, all passages."""
    asked = (one for runs in collections.queries.values() for run in runs for one in run)
    stored = (one for passages in collections.passages.values() for one in passages)
    hear(list(dict.fromkeys([*texts.queries, *asked])), "query")
    hear(list(dict.fromkeys([*texts.passages, *stored])), "document")
    return True


def margins_of(system: Similarity, texts: Texts) -> Margins:
    """The margins of every bundle, each (conditions, runs, queries)."""
    return margins(similarities(system, texts.queries, texts.passages, texts.left, texts.right))


def retrieval_of(system: Similarity, collections: Collections) -> Mapping[str, Floats]:
    """Measure -> its value for every query, (conditions, runs, queries)."""
    counts = counts_of(collections.grades)
    found: dict[str, list[Floats]] = {}
    for name, passages in collections.passages.items():
        runs = collections.queries[name]
        indices = firsts(system, [text for run in runs for text in run], passages)
        own = np.tile(np.arange(len(counts)), len(runs))
        top = graded_top(collections.grades[own], indices)
        for measure, of_query in values(counts[own], top).items():
            found.setdefault(measure, []).append(of_query.reshape(len(runs), -1))
    return {measure: np.stack(of_conditions) for measure, of_conditions in found.items()}
