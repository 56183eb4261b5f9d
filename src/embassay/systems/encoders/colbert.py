"""Multi-vector models (ColBERT): a vector for every token, with the trained projection, through sentence-transformers.

It reads its own folders, those of PyLate, without PyLate, and the checkpoints of Stanford's ColBERT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from embassay.contracts import Role
from embassay.systems.encoders.batches import check_vectors_finite
from embassay.systems.encoders.multivector import (
    IndependentTextEncoder,
    Rows,
    SparseOrColbertModel,
    TextwiseMultiVectorEncoder,
)

_USUAL_TOKENS = 100
"""Of a passage, for estimates of memory."""


def _is_colbert_model(config: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    return own.get("model_type") in ("MultiVectorEncoder", "ColBERT") or "HF_ColBERT" in (
        config.get("architectures") or ()
    )


@dataclass(eq=False)
class ColbertEncoder(TextwiseMultiVectorEncoder):
    """The multi-vector model `target`: ORG/MODEL of the hub at `revision`, or a folder.

    A query is read as the model reads queries (its mark, its length, its expansion by mask tokens), a document and a
    text without a role as documents, without the tokens that the model skips. `max_length` are the tokens of a document
    that are read, `query_prompt` and `document_prompt` win over the model's own. On a processor a text is alone in its
    batch, so that its vectors depend on no other. UsageError for parameters that cannot be, ModelError when the model
    or a package is missing, or fails, or has no trained projection.
    """

    target: str
    name: str = "colbert"
    revision: str | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None
    max_length: int | None = None
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    device: str | None = None

    kind = "tokens"
    uses_roles = True
    joins_chunks = True

    def __post_init__(self) -> None:
        self._torch = SparseOrColbertModel(
            "MultiVectorEncoder", self.target, self.revision, system="colbert", device=self.device, dtype=self.dtype,
            trained=_is_colbert_model, since="6.2"
        )  # fmt: skip
        model = self._torch.model
        if self.max_length is not None:
            model[0].document_length = self._torch.most(self.max_length)
        read = model[0].document_length or model.max_seq_length
        self._limit = self._torch.limit(read)
        self.max_tokens = self._limit.tokens
        self.similarity = str(model.similarity_fn_name)
        self._alone = IndependentTextEncoder(self._encode_texts_to_token_vectors, card=self._torch.card, threads=True)
        self.chunk_size = self._alone.chunk_size
        self.dim = self.width = self.encode(["dimensions"])[0].shape[1]
        self.floats = self.dim * min(self.max_tokens or _USUAL_TOKENS, _USUAL_TOKENS)
        self.identity = self._torch.identity(
            "colbert", prompts=[self.query_prompt, self.document_prompt], max_length=self.max_tokens, dim=self.dim
        )

    def count_truncated(self, texts: Sequence[str]) -> int:
        """How many of the texts have more than `max_tokens` tokens, read as documents."""
        prompt = self.document_prompt
        shipped = (self._torch.model.prompts or {}).get("document") if prompt is None else prompt
        return self._limit.count_texts_over_limit(texts, shipped or "")

    def _encode_texts_to_token_vectors(self, texts: list[str], role: Role | None) -> list[Rows]:
        model, query = self._torch.model, role == "query"
        encode = model.encode_query if query else model.encode_document
        prompt = self.query_prompt if query else self.document_prompt
        rows = self._torch.ask(
            lambda: encode(texts, prompt=prompt, batch_size=len(texts), show_progress_bar=False, convert_to_numpy=True)
        )
        return [check_vectors_finite(np.asarray(row, dtype=np.float32), self.name, self.dtype) for row in rows]
