"""A server whose chat model does the eight transformations, and data for every task."""

from __future__ import annotations

import json

import pytest

from stub import StubServer
from stub.transforming import transforming


@pytest.fixture
def transformer(monkeypatch, tmp_path):
    """Starts a server and gives it with its model's spec; arguments are those of `transforming`, and `chat=`."""
    pytest.importorskip("openai")
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "cache"))
    started = []

    def start(*, chat=None, more="", **shares):
        started.append(StubServer(chat=chat or transforming(**shares)).__enter__())
        return started[-1], f"ollama:ruler?base_url={started[-1].url}&name=stub{more}"

    yield start
    for server in started:
        server.__exit__(None, None, None)


@pytest.fixture
def pairs(tmp_path):
    """Sixteen scored pairs, English or of the labels given."""

    def write(n=16, lang=None, name="pairs"):
        rows = [
            {
                "id": f"p{i}", "text": f"The {word} was sold to a man, number {i}.",
                "text2": f"A man bought the {word} as number {i}.", "score": 5.0 - (i * 7 % 5),
                **({"lang": lang} if lang else {}),
            }
            for i, word in zip(range(n), ("ferry", "bakery", "train", "bicycle", "lamp", "gate") * n, strict=False)
        ]  # fmt: skip
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return path

    return write
