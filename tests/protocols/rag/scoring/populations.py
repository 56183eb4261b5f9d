"""Whole populations of questions with what systems score on each, so that the truth is known: questions in groups that
share a paragraph, values of 0 and 1 with many ties, scores near 1."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CUT = 10


@dataclass(frozen=True)
class Population:
    """`values` (systems, questions) and the paragraph of each question."""

    values: Floats
    paragraph: Ints

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Questions and their groups: paragraphs at random with all their questions, until there are `n`."""
        rows: list[int] = []
        groups: list[int] = []
        members = [np.flatnonzero(self.paragraph == one).tolist() for one in range(self.paragraph.max() + 1)]
        while len(rows) < n:
            own = members[rng.integers(len(members))]
            groups += [groups[-1] + 1 if groups else 0] * len(own)
            rows += own
        return np.array(rows[:n]), np.array(groups[:n])


def of_xquad(folder: Path) -> Population:
    """1,190 questions on 240 paragraphs: Hit@1 of words, of character trigrams and of pairs of words."""
    corpus, queries, qrels = (_rows(folder / f"{name}.jsonl.gz") for name in ("corpus", "queries", "qrels"))
    place = {row["id"]: i for i, row in enumerate(corpus)}
    relevant = {row["query_id"]: place[row["doc_id"]] for row in qrels}
    wanted = np.array([relevant[row["id"]] for row in queries])
    kinds = ({"analyzer": "word"}, {"analyzer": "char_wb", "ngram_range": (3, 3)}, {"ngram_range": (1, 2)})
    values = []
    for kind in kinds:
        vectors = TfidfVectorizer(sublinear_tf=True, **kind)
        texts = vectors.fit_transform([row["text"] for row in corpus])
        scores = (vectors.transform([row["text"] for row in queries]) @ texts.T).toarray()
        values.append((scores.argmax(axis=1) == wanted).astype(np.float64))
    paragraphs = np.unique(wanted, return_inverse=True)[1]
    return Population(np.array(values), paragraphs)


def made(paragraphs: int = 120, systems: int = 3, seed: int = 0) -> Population:
    """The same in small, from a seed: 2 to 9 questions on each, found or not as the paragraph is easy or not."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 10, paragraphs)
    ease = rng.normal(1.2, 1.0, paragraphs)[:, None] + rng.normal(0, 0.4, (paragraphs, systems))
    paragraph = np.repeat(np.arange(paragraphs), sizes)
    chance = 1 / (1 + np.exp(-ease[paragraph]))
    return Population((rng.random(chance.shape) < chance).astype(np.float64).T, paragraph)


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]
