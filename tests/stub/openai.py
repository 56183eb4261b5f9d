"""OpenAI's embeddings and chat completions."""

from __future__ import annotations

import base64
from typing import Any

from .chat import Turn, reply_of
from .vectors import DIM, tokens, vectors
from .wire import Problem, Request

LARGEST = 2048


def embeddings(request: Request) -> dict[str, Any]:
    body = request.json
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    if not texts or len(texts) > LARGEST or not all(texts):
        raise Problem(400, f"input: 1 to {LARGEST} texts that are not empty")
    request.inputs = list(texts)
    found = vectors(texts, int(body.get("dimensions", DIM)), request.spoilt)
    encode = _base64 if body.get("encoding_format") == "base64" else list
    used = sum(map(tokens, texts))
    return {
        "object": "list",
        "model": body["model"],
        "data": [{"object": "embedding", "index": i, "embedding": encode(row.tolist())} for i, row in enumerate(found)],
        "usage": {"prompt_tokens": used, "total_tokens": used},
    }


def completions(request: Request) -> dict[str, Any]:
    body = request.json
    assert request.server is not None
    turn = Turn(body["model"], body["messages"], body)
    request.server.bodies.append(body)
    reply = reply_of(request.server.chat, turn)
    request.inputs = [turn.last]
    message = {"role": "assistant", "content": reply.text}
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    return {
        "id": "stub",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
        "usage": {
            "prompt_tokens": turn.input_tokens,
            "completion_tokens": reply.output_tokens,
            "total_tokens": turn.input_tokens + reply.output_tokens,
        },
    }


def _base64(values: list[float]) -> str:
    import numpy as np

    return base64.b64encode(np.array(values, dtype="<f4").tobytes()).decode()


ROUTES = {("POST", ".*/embeddings"): embeddings, ("POST", ".*/chat/completions"): completions}
