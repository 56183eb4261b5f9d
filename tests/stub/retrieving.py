"""A search server: POST /search with `query` and `k`, GET /find/QUESTION."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from .wire import Request

DOCUMENTS = {
    "refund": "A refund takes five days and is asked for in the shop.",
    "helmet": "A helmet is worn in the hall.",
    "bus": "The bus leaves the station at nine.",
    "cellar": "The cellar is locked after dark.",
}


def find(question: str, k: int) -> list[str]:
    """Ids of the documents that share the most words with the question, the first in the alphabet where alike."""
    asked = set(question.lower().strip("?.").split())
    shared = {name: len(asked & set(text.lower().strip(".").split())) for name, text in DOCUMENTS.items()}
    return sorted(DOCUMENTS, key=lambda name: (-shared[name], name))[:k]


def search(request: Request) -> dict[str, Any]:
    body = request.json
    request.inputs = [body["query"]]
    found = find(body["query"], body["k"])
    hits = [{"id": name, "score": 1 / rank} for rank, name in enumerate(found, start=1)]
    return {"query": body["query"], "took": 3, "data": {"results": hits}}


def find_by_path(request: Request) -> list[str]:
    assert request.match
    question = unquote(request.match[1])
    request.inputs = [question]
    return find(question, 4)


ROUTES = {("POST", "/search"): search, ("GET", "/find/(.+)"): find_by_path}
