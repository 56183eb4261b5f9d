"""The Gemini API's embeddings, as Google's client google-genai 3.4 asks for them (/v1) and as documented (/v1beta)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from .strict import WRONG_KEY, Shape
from .vectors import tokens, vectors
from .wire import Problem, Request

CONTEXT = 2048


class Part(Shape):
    text: Annotated[str, Field(min_length=1)]


class Content(Shape):
    parts: Annotated[list[Part], Field(min_length=1)]
    role: Literal["user"] | None = None


class Embed(Shape):
    model: str
    content: Content
    taskType: (
        Literal["RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", "SEMANTIC_SIMILARITY", "CLASSIFICATION", "CLUSTERING"] | None
    ) = None
    title: str | None = None
    outputDimensionality: Annotated[int, Field(ge=1, le=3072)] | None = None


class Batch(Shape):
    requests: Annotated[list[Embed], Field(min_length=1, max_length=100)]


def batch(request: Request) -> dict[str, Any]:
    _check_key(request)
    try:
        body = Batch.model_validate(request.json)
    except ValidationError as error:
        first = error.errors()[0]
        raise _invalid(f"Invalid value at '{'.'.join(map(str, first['loc']))}': {first['msg']}") from None
    assert request.match is not None
    model = f"models/{request.match['model']}"
    if any(one.model != model for one in body.requests):
        raise _invalid("BatchEmbedContentsRequest.model and the requests' models are not the same")
    if "embedding-2" in model and any(one.taskType for one in body.requests):
        raise _invalid("taskType is not supported by this model")
    texts = [" ".join(part.text for part in one.content.parts) for one in body.requests]
    request.inputs = texts
    dim = body.requests[0].outputDimensionality or 3072
    read = [
        f"{one.taskType}: {' '.join(text.split()[:CONTEXT])}" for one, text in zip(body.requests, texts, strict=True)
    ]
    # Shorter vectors of the first model are not of unit length.
    scale = 0.7 if dim < 3072 and "embedding-001" in model else 1.0
    answer: dict[str, Any] = {
        "embeddings": [{"values": row.tolist()} for row in vectors(read, dim, request.spoilt) * scale]
    }
    if "embedding-2" in model:
        answer["usageMetadata"] = {"promptTokenCount": sum(map(tokens, texts))}
    return answer


def _check_key(request: Request) -> None:
    shown = request.headers.get("x-goog-api-key", "")
    if not shown:
        said = "Method doesn't allow unregistered callers. Please use API Key to call this API."
        raise Problem(403, {"error": {"code": 403, "message": said, "status": "PERMISSION_DENIED"}})
    if shown == WRONG_KEY:
        raise _invalid("API key not valid. Please pass a valid API key.")


def _invalid(said: str) -> Problem:
    return Problem(400, {"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}})


ROUTES = {("POST", r"/v1(?:beta)?/models/(?P<model>[\w.-]+):batchEmbedContents"): batch}
