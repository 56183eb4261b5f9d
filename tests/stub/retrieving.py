"""A search server: POST /search with `query` and `k`, GET /find/QUESTION."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
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


def refuse(request: Request) -> dict[str, Any]:
    del request
    return {"error": "index not ready"}


SERVED: list[Path] = []
"""The folder of a run's served passages: /collections/NAME/search searches NAME.jsonl there."""


@cache
def words_of(path: Path) -> dict[str, set[str]]:
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return {row["id"]: set(row["text"].lower().split()) for row in rows}


def find_served(path: Path, question: str, k: int) -> list[tuple[str, float]]:
    """Ids of the passages that share the most words with the question, those of few words first, with their scores."""
    asked = set(question.lower().split())
    scores = {name: len(asked & words) + 1 / (1 + len(words)) for name, words in words_of(path).items()}
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:k]


def search_collection(request: Request) -> dict[str, Any]:
    assert request.match
    body = request.json
    request.inputs = [body["query"]]
    found = find_served(SERVED[-1] / f"{request.match[1]}.jsonl", body["query"], body["k"])
    return {"results": [{"id": name, "score": score} for name, score in found]}


ROUTES = {
    ("POST", "/refusing"): refuse,
    ("POST", "/search"): search,
    ("POST", "/collections/(.+)/search"): search_collection,
    ("GET", "/find/(.+)"): find_by_path,
}
