"""MAP of a system over the candidates that people were shown (spec hume 5)."""

from __future__ import annotations

from dataclasses import replace

from embassay.contracts import Similarity
from embassay.protocols.hume.models.described import with_method
from embassay.protocols.pteb.context import Context
from embassay.protocols.pteb.tasks import reranking
from embassay.protocols.pteb.tasks.comparison import nearest
from embassay.records import RerankingSet, TaskOutcome

HEADLINE = reranking.HEADLINE
SCORE = "similarity"
TIES = "equal similarities: irrelevant first"


def evaluate(system: Similarity, data: RerankingSet, context: Context) -> TaskOutcome:
    """Score one system; items are the `ap` of each query, and the `similarity` of each of its documents, whose place
    in the order shown is the variant."""
    similar = nearest(system, data.queries, data.candidates)
    found = reranking.evaluated(system, data, similar, context)
    columns = {name: list(values) for name, values in found.items.items()}
    for query, values in zip(data.ids, similar, strict=True):
        for place, value in enumerate(values.tolist()):
            for name, entry in zip(columns, (query, f"document={place}", SCORE, value), strict=True):
                columns[name].append(None if entry != entry else entry)
    return with_method(replace(found, items=columns), lambda method: f"similarity, {TIES}, {method}")
