"""Jina's reranking, and that of servers that speak like it, under /jina/v1."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from .strict import Shape, body_of, check_bearer, scores
from .vectors import tokens
from .wire import Request


class Rerank(Shape):
    model: str
    query: Annotated[str, Field(min_length=1)]
    documents: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=2048)]
    top_n: Annotated[int, Field(ge=1)] | None = None
    return_documents: bool = True


def rerank(request: Request) -> dict[str, Any]:
    check_bearer(request, {"detail": "Unauthorized"})
    body = body_of(request, Rerank, "detail", status=422)
    request.inputs = [body.query]
    results = []
    for index, score in scores(body.query, body.documents, request.spoilt)[: body.top_n]:
        shown = {"document": {"text": body.documents[index]}} if body.return_documents else {}
        results.append({"index": index, "relevance_score": score, **shown})
    used = sum(map(tokens, body.documents)) + tokens(body.query) * len(body.documents)
    return {"model": body.model, "object": "list", "usage": {"total_tokens": used}, "results": results}


ROUTES = {("POST", "/jina/v1/rerank"): rerank}
