"""A server whose paraphrasers reword a known share of the words, and whose judges rate by a known rule."""

from __future__ import annotations

import json
import re
from hashlib import blake2b

import numpy as np
import pytest

from stub import StubServer
from stub.chat import Reply

pytest.importorskip("openai")

SHARE = {"free-27b": 0.8, "timid-20b": 0.4, "copier-1b": 0.0, "inventor-8b": 1.0}
"""Share of the words that each paraphraser replaces."""
OFFSET = {"fair": 0.0, "kind": 0.4, "harsh": -0.4, "free-27b": 0.5}
"""What each judge adds to the common rating."""
_TEXTS = re.compile(r"<text1>\n(.*)\n</text1>\n<text2>\n(.*)\n</text2>", re.DOTALL)


def chance(*parts: str) -> float:
    """A number from 0 to 1, always the same for the same parts."""
    return int.from_bytes(blake2b("|".join(parts).encode(), digest_size=6).digest()) / 2**48


def reworded(name: str, text: str) -> str:
    """What a paraphraser writes."""
    if name == "inventor-8b":
        return " ".join("invented" for _ in text.split())
    return " ".join(
        f"{word}ish" if chance(name, text, str(i)) < SHARE[name] else word for i, word in enumerate(text.split())
    )


def rating(judge: str, text: str, paraphrase: str) -> float:
    """What a judge says of a paraphrase."""
    if text == paraphrase:
        return 5.0
    common = 1.0 if "invented" in paraphrase else 4.3
    return round(common + OFFSET[judge] + 0.4 * (chance(judge, text, paraphrase) - 0.5), 3)


class Models:
    """The behaviour of the stub's chat models; `spoil` maps (model, text) to another answer."""

    def __init__(self):
        self.spoil, self.seen = {}, []

    def __call__(self, turn):
        pair = _TEXTS.fullmatch(turn.last)
        self.seen.append((turn.model, turn.last))
        if (said := self.spoil.get((turn.model, pair[1] if pair else turn.last))) is not None:
            return said
        if pair:
            return json.dumps({"score": rating(turn.model, *pair.groups())})
        return Reply(reworded(turn.model, turn.last))


@pytest.fixture
def models():
    return Models()


@pytest.fixture
def stub(models):
    with StubServer(chat=models, latency=0.002) as server:
        yield server


def spec_at(stub):
    """From the name of a model to its spec."""
    return lambda name, more="": f"openai:{name}?base_url={stub.url}/v1{more}"


@pytest.fixture
def spec(stub):
    """A model of the stub by its name."""
    return spec_at(stub)


@pytest.fixture
def write_pairs(tmp_path):
    """Write a file of pairs; gives its path."""
    return pairs_in(tmp_path)


def pairs_in(folder):
    """Writes a file of pairs there, of which one text is in two; gives its path."""

    def write(name, n):
        rng = np.random.default_rng(len(name))
        words = ["the", "quick", "brown", "fox", "jumps", "over", "one", "lazy", "dog", "sings", "in", "old", "trees"]
        texts = [f"{name} {i} " + " ".join(rng.choice(words, 8)) for i in range(2 * n - 1)]
        texts.append(texts[0])
        path = folder / f"{name}.jsonl"
        rows = [
            {"id": f"{name}-{i}", "lang": "en", "text": texts[i], "text2": texts[n + i], "score": 2.5} for i in range(n)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write
