"""Ollama's own interface: /api/embed and /api/chat. Stricter than Ollama, which passes over unknown fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from .chat import Turn, reply_of
from .strict import Shape, body_of
from .vectors import DIM, tokens, vectors
from .wire import Problem, Request

CONTEXT = 2048
DIMS = {"nomic-embed-text": 768}


class Options(Shape):
    num_ctx: Annotated[int, Field(ge=1)] | None = None
    num_predict: int | None = None
    seed: int | None = None
    temperature: Annotated[float, Field(ge=0)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=1)] | None = None


class Embed(Shape):
    model: str
    input: list[str] | str
    truncate: bool = True
    dimensions: Annotated[int, Field(ge=1)] | None = None
    keep_alive: str | int | None = None
    options: Options = Options()


class Message(Shape):
    role: Literal["system", "user", "assistant"]
    content: str


class Chat(Shape):
    model: str
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool = True
    format: Literal["json"] | dict[str, Any] | None = None
    think: bool | Literal["low", "medium", "high"] | None = None
    keep_alive: str | int | None = None
    options: Options = Options()


def embed(request: Request) -> dict[str, Any]:
    body = body_of(request, Embed, "error")
    _check_model(body.model)
    texts = [body.input] if isinstance(body.input, str) else body.input
    longest = body.options.num_ctx or CONTEXT
    if not body.truncate and any(tokens(text) > longest for text in texts):
        raise Problem(400, {"error": "the input length exceeds the context length"})
    request.inputs = texts
    found = vectors(
        [" ".join(text.split()[:longest]) for text in texts],
        body.dimensions or DIMS.get(body.model.partition(":")[0], DIM),
        request.spoilt,
    )
    return {
        "model": body.model,
        "embeddings": found.tolist(),
        "total_duration": 1,
        "load_duration": 1,
        "prompt_eval_count": sum(map(tokens, texts)),
    }


def chat(request: Request) -> dict[str, Any]:
    body = body_of(request, Chat, "error")
    _check_model(body.model)
    if body.stream:
        raise Problem(400, {"error": "the stub does not stream"})
    assert request.server is not None
    turn = Turn(body.model, [message.model_dump() for message in body.messages], request.json)
    if body.think and body.model.startswith("plain"):
        raise Problem(400, {"error": f'"{body.model}" does not support thinking'})
    request.server.bodies.append(request.json)
    reply = reply_of(request.server.chat, turn)
    request.inputs = [turn.last]
    message = {"role": "assistant", "content": reply.text}
    if reply.thinking:
        message["thinking"] = reply.thinking
    return {
        "model": body.model,
        "created_at": "2026-01-01T00:00:00Z",
        "message": message,
        "done": True,
        "done_reason": reply.finish,
        "total_duration": 1,
        "prompt_eval_count": turn.input_tokens,
        "eval_count": reply.output_tokens,
    }


def _check_model(model: str) -> None:
    if model.startswith("missing"):
        raise Problem(404, {"error": f'model "{model}" not found, try pulling it first'})


ROUTES = {("POST", "/api/embed"): embed, ("POST", "/api/chat"): chat}
