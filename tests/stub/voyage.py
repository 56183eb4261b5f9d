"""Voyage's embeddings and reranking, as its client voyageai 0.5 asks for them, under /voyage/v1."""

from __future__ import annotations

from base64 import b64encode
from typing import Annotated, Any, Literal

from pydantic import Field

from .strict import Shape, body_of, check_bearer, scores
from .vectors import tokens, vectors
from .wire import Problem, Request

NO_KEY = {"detail": "Provided API key is invalid."}
CONTEXT = 32_000


class Embed(Shape):
    model: str
    input: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=1000)]
    input_type: Literal["query", "document"] | None = None
    truncation: bool = True
    output_dimension: Literal[256, 512, 1024, 2048] | None = None
    output_dtype: Literal["float"] | None = None
    encoding_format: Literal["base64"] | None = None


class Rerank(Shape):
    model: str
    query: Annotated[str, Field(min_length=1)]
    documents: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=1000)]
    top_k: Annotated[int, Field(ge=1)] | None = None
    return_documents: bool = False
    truncation: bool = True


def embed(request: Request) -> dict[str, Any]:
    check_bearer(request, NO_KEY)
    body = body_of(request, Embed, "detail")
    if not body.model.startswith("voyage-"):
        raise Problem(400, {"detail": f"Model {body.model} is not supported. Supported models are ['voyage-3.5']."})
    if not body.truncation and any(tokens(text) > CONTEXT for text in body.input):
        raise Problem(400, {"detail": f"a text has more than {CONTEXT} tokens"})
    request.inputs = body.input
    read = [f"{body.input_type}: {' '.join(text.split()[:CONTEXT])}" for text in body.input]
    found = vectors(read, body.output_dimension or 1024, request.spoilt)
    encode = (lambda row: b64encode(row.tobytes()).decode()) if body.encoding_format else (lambda row: row.tolist())
    return {
        "object": "list",
        "data": [{"object": "embedding", "embedding": encode(row), "index": index} for index, row in enumerate(found)],
        "model": body.model,
        "usage": {"total_tokens": sum(map(tokens, read))},
    }


def rerank(request: Request) -> dict[str, Any]:
    check_bearer(request, NO_KEY)
    body = body_of(request, Rerank, "detail")
    request.inputs = [body.query]
    found = scores(body.query, body.documents, request.spoilt)[: body.top_k]
    used = sum(map(tokens, body.documents)) + tokens(body.query) * len(body.documents)
    return {
        "object": "list",
        "data": [{"index": index, "relevance_score": score} for index, score in found],
        "model": body.model,
        "usage": {"total_tokens": used},
    }


ROUTES = {("POST", "/voyage/v1/embeddings"): embed, ("POST", "/voyage/v1/rerank"): rerank}
