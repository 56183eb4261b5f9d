"""A server whose judges know the gold scores and err by a known amount, and the data that they judge."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from statistics import NormalDist

import numpy as np
import pytest

from stub import StubServer

pytest.importorskip("openai")

NOISE = {"sharp-27b": 0.3, "blunt-4b": 2.0, "flat-1b": 9.0}
"""Standard deviation of each judge's error."""
_TEXTS = re.compile(r"<text1>\n(.*)\n</text1>\n<text2>\n(.*)\n</text2>", re.DOTALL)


def error(judge: str, first: str, second: str) -> float:
    """What a judge adds to the gold score of a pair: drawn from a normal distribution by a hash of all."""
    share = int.from_bytes(blake2b(f"{judge}|{first}|{second}".encode(), digest_size=6).digest()) + 1
    return NOISE[judge] * NormalDist().inv_cdf(share / (2**48 + 2))


def rating(judge: str, first: str, second: str, gold: float) -> float:
    """A judge's rating of a pair whose gold score is on 0 to 5."""
    return round(min(5.0, max(0.0, gold + error(judge, first, second))), 3)


class Judges:
    """The behaviour of the stub's chat models; `gold` maps pairs to gold scores on 0 to 5, `spoil` (judge, first) to
    another answer."""

    def __init__(self):
        self.gold, self.spoil, self.seen = {}, {}, []

    def __call__(self, turn):
        first, second = _TEXTS.fullmatch(turn.last).groups()
        self.seen.append((turn.model, first, second, turn.body["seed"]))
        spoilt = self.spoil.get((turn.model, first))
        if spoilt is not None:
            return spoilt
        return json.dumps({"score": rating(turn.model, first, second, self.gold[first, second])})


@pytest.fixture
def judges():
    return Judges()


@pytest.fixture
def stub(judges):
    with StubServer(chat=judges) as server:
        yield server


@pytest.fixture
def spec(stub):
    """A judge of the stub by its name."""
    return lambda name, more="": f"openai:{name}?base_url={stub.url}/v1{more}"


@pytest.fixture
def write_pairs(tmp_path, judges):
    """Write a file of pairs with scores of a range, and tell the judges; gives the path."""

    def write(name, n, *, low=0.0, high=5.0, longest=60):
        rng = np.random.default_rng(len(name))
        rows = []
        for i in range(n):
            texts = [f"{name} {i} {side} " + "word " * int(rng.integers(0, longest)) for side in "ab"]
            score = round(float(rng.uniform(low, high)), 2)
            rows.append({"id": f"{name}-{i}", "text": texts[0].strip(), "text2": texts[1].strip(), "score": score})
            judges.gold[rows[-1]["text"], rows[-1]["text2"]] = 5 * (score - low) / (high - low)
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps({**row, "lang": "en"}) + "\n" for row in rows))
        return path

    return write
