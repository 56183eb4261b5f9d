"""What puts the documents found for a query in a better order, found by spec string."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embassay.contracts import Reranker, Tokenizer
from embassay.registry import Registry

if TYPE_CHECKING:
    from embassay.systems.remote.ledger import Ledger

__all__ = ["RERANKERS", "open_reranker"]

RERANKERS: Registry[Reranker] = Registry("reranker", makes=[["score"]])
"""Every reranker by name."""

RERANKERS.add(
    "overlap",
    "embassay.systems.rerankers.overlap:OverlapReranker",
    "share of the query's words that a document contains, weighted by rarity; no dependencies",
)
RERANKERS.add(
    "cross",
    "embassay.systems.rerankers.cross_encoder:CrossEncoder",
    "a sentence-transformers cross-encoder: cross:ORG/MODEL or cross:./folder",
    needs="embassay[torch]",
)
RERANKERS.add(
    "maxsim",
    "embassay.systems.rerankers.late_interaction:LateInteractionReranker",
    "late interaction over token vectors: maxsim:minilm, maxsim:wordllama, maxsim:st:ORG/MODEL, maxsim:onnx:./folder",
)
for _name in ("colbert", "multi"):
    RERANKERS.add(
        _name,
        "embassay.systems.rerankers.late_interaction:ColbertReranker",
        "a multi-vector model with its trained projection: colbert:ORG/MODEL or colbert:./folder (also multi:)",
        needs="embassay[torch]",
    )
RERANKERS.add(
    "cohere",
    "embassay.systems.rerankers.cohere:CohereReranker",
    "Cohere's reranking service: cohere:rerank-v3.5",
    needs="embassay[llm], COHERE_API_KEY",
)
RERANKERS.add(
    "voyage",
    "embassay.systems.rerankers.voyage:VoyageReranker",
    "Voyage's reranking service: voyage:rerank-2.5",
    needs="embassay[llm], VOYAGE_API_KEY",
)
RERANKERS.add(
    "jina",
    "embassay.systems.rerankers.jina:JinaReranker",
    "Jina's reranking service, or a server with its API (vLLM, llama.cpp, Infinity; base_url=)",
    needs="embassay[llm], JINA_API_KEY",
)
RERANKERS.add(
    "llm",
    "embassay.systems.rerankers.listwise:ListwiseReranker",
    "a chat model that ranks documents in sliding windows: llm:openai:gpt-5-mini",
    needs="embassay[llm]",
)


def open_reranker(text: str, *, ledger: Ledger | None = None, tokenizer: Tokenizer, seed: int = 1337) -> Reranker:
    """The reranker that a spec string names, called by its canonical spec string.

    `ledger` is what remote ones pay from (without one, from one of their own), `tokenizer` cuts what a chat
    model is shown, `seed` is for what is drawn. UsageError for unknown names and parameters, ModelError when
    a model cannot be loaded.
    """
    spec = RERANKERS.parse_spec(text)
    if ledger is None:
        from embassay.systems.remote.ledger import Ledger

        ledger = Ledger()
    return RERANKERS.build(spec, ledger=ledger, tokenizer=tokenizer, seed=seed, name=RERANKERS.format(spec))
