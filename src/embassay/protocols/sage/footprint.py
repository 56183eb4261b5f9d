"""What a cell of SAGE holds in memory, by its task: pairs, distances, or a shard of a corpus."""

from __future__ import annotations

from collections import Counter
from typing import Any

from embassay.contracts import Similarity
from embassay.protocols.kernel.forecast import (
    dimensions,
    distances,
    footprint,
    replicates,
    text_bytes,
    token_bytes,
    vectors,
)
from embassay.protocols.sage.edits import chosen_edits
from embassay.protocols.sage.options import ALL, SageOptions
from embassay.records import LabelledTexts, RetrievalSet
from embassay.runs.memory import Footprint
from embassay.search.blocks import SHARD

_BATCHES = {"preference": 3, "robustness": 2, "sensitivity": 2}
"""Texts of an item that are compared in one call."""


def needed(task: str, system: Similarity, data: Any, fields: Any, options: SageOptions) -> Footprint:
    """The estimate for one system on one dataset; `fields` are the task's texts (`Task.fields`)."""
    if isinstance(data, RetrievalSet):
        return _retrieval(system, data, options)
    if isinstance(data, LabelledTexts):
        return _clustering(system, data, options)
    texts = max((column for _, column in fields.values()), key=len)
    n = len(texts) * _BATCHES.get(task, 8)
    parts = {"texts": text_bytes(texts, n), "replicates": replicates(len(texts), 40, options.resamples)}
    parts |= _compared(system, texts, n)
    return footprint(parts, "Use fewer items (--limit).")


def _compared(system: Similarity, texts: Any, n: int) -> dict[str, int]:
    """What `n` of the texts are while they are compared in pairs."""
    dim = dimensions(system)
    return {"vectors": vectors(2 * n, dim)} if dim else {"tokens": token_bytes(texts, 2 * n)}


def _clustering(system: Similarity, data: LabelledTexts, options: SageOptions) -> Footprint:
    largest = max(Counter(data.sets).values(), default=0)
    embedding = system.kind == "embedding"
    n = min(largest, options.embedding_cap if embedding else options.string_cap)
    parts = {f"the distances of {n:,} texts": distances(n), "texts": text_bytes(data.texts, n)}
    dim = dimensions(system)
    parts |= {"vectors": vectors(n, dim)} if dim else {"tokens": token_bytes(data.texts, n)}
    return footprint(parts, f"Cluster fewer texts (--{'embedding' if embedding else 'string'}-cap, --limit).")


def _retrieval(system: Similarity, data: RetrievalSet, options: SageOptions) -> Footprint:
    """One shard is held at a time, and the best of every version."""
    chosen = options.retrieval_edits
    versions = 19 if chosen == ALL else 1 + len(chosen_edits(chosen))
    shard, queries, texts = min(SHARD, len(data.corpus)), len(data), data.corpus.texts
    dim = dimensions(system)
    parts = {
        # As they are, edited, and as the keys of what is looked up.
        f"a shard's {shard:,} texts": 3 * text_bytes(texts, shard),
        "what was found": 16 * queries * 11 * (4 * versions + 8),
        "replicates": replicates(queries, versions + 2, options.resamples),
    }
    if dim:
        parts["vectors"] = vectors(shard, dim) + vectors(queries, dim)
    else:
        asked = data.queries.texts
        parts["tokens"] = token_bytes(texts, shard) + token_bytes(asked)
    return footprint(parts, "Search a smaller corpus (--limit)")
