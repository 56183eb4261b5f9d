"""A server whose chat models really reword, and small data with two languages."""

from __future__ import annotations

import json

import pytest

from stub import StubServer
from stub.paraphrasing import paraphrasing


@pytest.fixture
def rewording():
    """A started server that rewords; arguments are those of `paraphrasing`, and `chat=` in its place."""
    pytest.importorskip("openai")
    started = []

    def start(failing=0.0, copying=0.0, long=0.0, **settings):
        settings.setdefault("chat", paraphrasing(failing, copying, long))
        started.append(StubServer(**settings).__enter__())
        return started[-1]

    yield start
    for server in started:
        server.__exit__(None, None, None)


def paraphraser(server, name="ruler", more=""):
    """The spec of a chat model of the server."""
    return f"openai:{name}?base_url={server.url}/v1&price=0{more}"


@pytest.fixture
def by():
    return paraphraser


SUBJECTS = (
    "the old ferry", "a small bakery", "the night train", "her red bicycle", "the village choir", "a tall lamp",
    "the tax office", "our garden gate", "the stone bridge", "his new coat", "the water mill", "a quiet street",
    "the corner shop", "their young dog", "the harbour crane", "a paper map", "the school band", "the ice rink",
    "an empty barn", "the town clock", "a broken fence", "the fish market", "the hill path", "a blue kettle",
)  # fmt: skip
DEEDS = ("was sold to a man", "is in need of help", "will close, and people say why", "made money in two years")


def made_pairs(lang="en", n=24):
    """Scored pairs: the more alike, the higher the score."""
    for i in range(n):
        subject, deed = SUBJECTS[i % len(SUBJECTS)], DEEDS[i % 4]
        other = SUBJECTS[(i + i % 3) % len(SUBJECTS)], DEEDS[(i + i % 2) % 4]
        score = 5.0 - 2.0 * (i % 3 > 0) - 1.5 * (i % 2) - 0.05 * i / n
        yield {
            "id": f"{lang}{i}", "lang": lang, "text": f"{subject} {deed}, as number {i} says",
            "text2": f"{other[0]} {other[1]}, as number {i} says", "score": round(score, 2),
        }  # fmt: skip


@pytest.fixture
def pairs():
    return made_pairs


@pytest.fixture
def write_rows(tmp_path):
    """Write rows as JSON Lines; gives the path."""

    def write(name, rows):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
        return path

    return write


@pytest.fixture
def scored(write_rows):
    """24 scored pairs in English."""
    return write_rows("scored", made_pairs())
