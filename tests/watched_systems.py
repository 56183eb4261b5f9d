"""Systems that answer as a test wants, and fingerprints of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np

from embassay.protocols.watch.fingerprint import SystemAnswerFingerprint
from embassay.protocols.watch.options import FingerprintRequest, OwnTextsAndQuestionsOptions
from embassay.protocols.watch.own import OwnPassagesAndQuestions
from embassay.protocols.watch.recording import record_respondent_fingerprint
from embassay.protocols.watch.respondents import VectorRespondent

WIDTH = 64
Step = Callable[[np.ndarray, Sequence[str], str | None], np.ndarray]


@dataclass
class MadeEncoder:
    """Sums of random vectors of words, at length 1: texts that share words are near. `step` is done to what it gives,
    `noise` is 1 - cosine between two answers to one text."""

    noise: float = 0.0
    step: Step | None = None
    limit: int = 10_000
    prefix: str = ""
    seed: int = 0
    name: str = "made"
    identity: str = "made/1"
    dim: int = WIDTH
    max_tokens: int | None = None
    calls: list[int] = field(default_factory=list)

    def encode(self, texts: Sequence[str], *, role: str | None = None) -> np.ndarray:
        """Vectors, (n, 64)."""
        self.calls.append(len(texts))
        vectors = np.stack([self._sum(f"{self.prefix} {text}".split()[: self.limit]) for text in texts])
        rng = np.random.default_rng([self.seed, len(self.calls)])
        vectors = vectors + np.sqrt(self.noise / WIDTH) * rng.standard_normal(vectors.shape)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        if self.step is not None:
            vectors = self.step(vectors, texts, role)
        return vectors.astype(np.float32)

    def _sum(self, words: Sequence[str]) -> np.ndarray:
        total = np.full(WIDTH, 0.01)
        for word in words:
            seed = int.from_bytes(sha256(word.lower().encode("utf-8", "replace")).digest()[:8], "little")
            total += np.random.default_rng(seed).standard_normal(WIDTH)
        return total / np.linalg.norm(total)


@dataclass
class MadeSystem:
    """What stands for a similarity with an encoder."""

    encoder: MadeEncoder
    name: str = "made"


def made(**facts: object) -> VectorRespondent:
    """A respondent of such an encoder."""
    return VectorRespondent(MadeSystem(MadeEncoder(**facts)))  # type: ignore[arg-type]


def recorded(own: OwnPassagesAndQuestions | None = None, repeats: int = 5, **facts: object) -> SystemAnswerFingerprint:
    """Its fingerprint."""
    request = FingerprintRequest(system="made", own=OwnTextsAndQuestionsOptions(), repeats=repeats)
    return record_respondent_fingerprint(made(**facts), request, own).fingerprint


WORDS = [
    *("river", "bridge", "harbour", "winter", "engine", "bread", "yeast", "salt"),
    *("school", "law", "loan", "ferry", "ice", "pole", "wheel", "doctor"),
    *("letter", "music", "violin", "garden", "apple", "virus", "vaccine", "planet"),
    *("orbit", "comet", "tax", "invoice"),
]  # fmt: skip


def made_texts(passages: int = 300) -> OwnPassagesAndQuestions:
    """Passages of made words, and twenty questions with two relevant passages each."""
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(WORDS, rng.integers(8, 60))) for _ in range(passages)]
    ids = [f"d{row}" for row in range(passages)]
    queries = [" ".join(texts[row].split()[:6]) for row in range(20)]
    gains = {f"q{row}": {f"d{row}": 2.0, f"d{row + 100}": 1.0} for row in range(20)}
    return OwnPassagesAndQuestions("made", ids, texts, [f"q{row}" for row in range(20)], queries, gains, passages, 20)
