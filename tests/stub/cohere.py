"""Cohere's embeddings and reranking (version 2), as its client cohere 7.3 asks for them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from .strict import Shape, body_of, check_bearer, scores
from .vectors import tokens, vectors
from .wire import Problem, Request

DIMS = {"embed-v4.0": 1536}
CONTEXT = {"embed-v4.0": 128_000}
NO_KEY = {"message": "invalid api token"}


class Embed(Shape):
    model: str
    texts: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=96)]
    input_type: Literal["search_document", "search_query", "classification", "clustering"]
    embedding_types: Annotated[list[Literal["float"]], Field(min_length=1)]
    truncate: Literal["NONE", "START", "END"] = "END"
    output_dimension: Literal[256, 512, 1024, 1536] | None = None


class Rerank(Shape):
    model: str
    query: Annotated[str, Field(min_length=1)]
    documents: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=1000)]
    top_n: Annotated[int, Field(ge=1)] | None = None
    max_tokens_per_doc: Annotated[int, Field(ge=1)] | None = None


def embed(request: Request) -> dict[str, Any]:
    check_bearer(request, NO_KEY)
    body = body_of(request, Embed)
    if body.output_dimension and body.model not in DIMS:
        raise Problem(400, {"message": "output_dimension is only for embed-v4 and newer models"})
    longest = CONTEXT.get(body.model, 512)
    if body.truncate == "NONE" and any(tokens(text) > longest for text in body.texts):
        raise Problem(400, {"message": f"too many tokens: a text has more than {longest}"})
    request.inputs = body.texts
    dim = body.output_dimension or DIMS.get(body.model, 1024)
    # The type of a text changes its vector; the end of a text that is too long does not.
    read = [f"{body.input_type}: {' '.join(text.split()[:longest])}" for text in body.texts]
    return {
        "id": "stub",
        "texts": body.texts,
        "embeddings": {"float": vectors(read, dim, request.spoilt).tolist()},
        "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": sum(map(tokens, body.texts))}},
        "response_type": "embeddings_by_type",
    }


def rerank(request: Request) -> dict[str, Any]:
    check_bearer(request, NO_KEY)
    body = body_of(request, Rerank)
    request.inputs = [body.query]
    found = scores(body.query, body.documents, request.spoilt)[: body.top_n]
    return {
        "id": "stub",
        "results": [{"index": index, "relevance_score": score} for index, score in found],
        "meta": {"billed_units": {"search_units": -(-len(body.documents) // 100)}},
    }


ROUTES = {("POST", "/v2/embed"): embed, ("POST", "/v2/rerank"): rerank}
