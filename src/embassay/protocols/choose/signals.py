"""Questions that documents ask of themselves: no labels, no model.

A sentence is taken out of a passage and looked for: a system that understands the passage finds it. Such a question has
the passage's own words, which favours systems that match words; so it is asked again without some or all of the words
it shares with its passage, as keywords, with typing errors, and with words that keep similar company in the
documents. Titles are questions where there are any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Ranked
from embassay.randomness import generator
from embassay.search.bm25 import words
from embassay.text.chunking import sentence_ends
from embassay.text.questions import CRUMBS

FAMILIES = ("title", "sentence", "half", "apart", "keywords", "typos", "reworded")
FITTED = ("sentence", "half")
"""Families that count in a choice; the others gave nothing more on public collections, and are shown."""
AGREED = ("sentence", "half", "reworded")
"""Families whose rankings say how much systems agree."""
DEPTH = 100
"""Places that are looked at for the passage that a question was made of."""
TIED = 10
"""Passages from which on a tie at the end of a ranking says that the system knows nothing of them."""
MISSED = 150
"""The place of a passage that isn't among those."""
COMMON = 0.1
"""Share of the passages from which on a word says nothing of what a passage is about."""
FEWEST = 3
"""Words that a question has at least."""
KEYWORDS = 4
TYPING = 0.3
"""Share of the longer words that get a typing error."""


@dataclass(frozen=True)
class Question:
    """What is looked for, and the row of the passage that it was made of."""

    row: int
    text: str


@dataclass(frozen=True)
class Probe:
    """Passages from which questions were taken out, and the questions by family. `halved` of the passages asked have no
    sentence to spare, and ask with a half."""

    texts: tuple[str, ...]
    questions: Mapping[str, tuple[Question, ...]]
    halved: int = 0


def probe(texts: Sequence[str], titles: Sequence[str], most: int, seed: int) -> Probe:
    """Take a sentence, and the title where it begins with one, out of up to `most` of the passages."""
    bodies = list(texts)
    frequency = Counter(word for body in bodies for word in set(words(body)))
    neighbours = Neighbours(bodies, frequency)
    order = generator(seed, "choose", "passages").permutation(len(bodies)).tolist()
    found: dict[str, list[Question]] = {family: [] for family in FAMILIES}
    taken = halved = 0
    for row in order:
        if taken == most:
            break
        rng = generator(seed, "choose", str(row), bodies[row][:64])
        cut = taken_out(_without_title(bodies[row], titles[row]), rng)
        if cut is None:
            continue
        taken += 1
        asked, bodies[row], half = cut
        halved += half
        if titles[row].strip():
            found["title"].append(Question(row, titles[row].replace(CRUMBS, " ").strip()))
        for family, text in asked_again(asked, bodies[row], frequency, len(bodies), neighbours, rng):
            found[family].append(Question(row, text))
    return Probe(tuple(bodies), {name: tuple(one) for name, one in found.items() if one}, halved)


def told_apart(found: Ranked) -> NDArray[np.int64]:
    """The passages of rankings, -1 from where on they stand in the order of the documents: ten or more that tie with
    the last. A system that finds no word of a question has not found what happens to stand first."""
    last = np.where(found.indices >= 0, found.scores, np.inf).min(axis=1, keepdims=True)
    tied = found.scores <= last
    return np.where(tied & (tied.sum(axis=1, keepdims=True) >= TIED), -1, found.indices)


def ranks(top: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of passage `rows[i]` in the ranking `top[i]`, from 1; 0 where it is not among those."""
    hits = top == rows[:, None]
    return np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, 0)


def gains(places: NDArray[np.int64]) -> NDArray[np.float64]:
    """nDCG of questions that one passage answers: 1 / log2(rank + 1), 0 where it was not found."""
    return np.where(places > 0, 1 / np.log2(np.maximum(places, 1) + 1), 0.0)


def nearness(places: NDArray[np.int64]) -> NDArray[np.float64]:
    """How near the first place each passage was: 1 - log rank / log 150, from 0 (not found) to 1 (first). Its mean
    tells systems apart also where none finds much among the first ten."""
    return np.asarray(1 - np.log(np.where(places > 0, places, MISSED)) / log(MISSED))


def taken_out(body: str, rng: np.random.Generator) -> tuple[str, str, bool] | None:
    """A sentence and the passage without it; of a passage of one sentence its first or second half, and True. None
    where too few words would be left on either side."""
    ends = list(sentence_ends(body))
    spans = [(a, b) for a, b in pairwise([0, *ends]) if _is_prose(body[a:b])]
    if len(spans) < 2:
        parts = pieces(body)
        if len(parts) < 2 * (FEWEST + 1):
            return None
        middle = len(parts) // 2
        halves = joined(parts[:middle], body), joined(parts[middle:], body)
        first = int(rng.integers(2))
        return halves[first], halves[1 - first], True
    start, end = spans[int(rng.integers(len(spans)))]
    return body[start:end].strip(), f"{body[:start].rstrip()} {body[end:].lstrip()}".strip(), False


def _is_prose(text: str) -> bool:
    """Whether a sentence can be asked: no heading, row of a table, entry of a list or code, and five words or more."""
    found = text.strip()
    return len(words(found)) >= FEWEST + 2 and not found.startswith(("#", "|", "```", "<", "- ", "* "))


def asked_again(
    asked: str,
    rest: str,
    frequency: Mapping[str, int],
    n: int,
    neighbours: Neighbours,
    rng: np.random.Generator,
) -> Iterator[tuple[str, str]]:
    """The sentence in every wording that leaves it enough words."""
    yield "sentence", asked
    parts, own = pieces(asked), set(words(rest))
    telling = {key for part in parts for key in words(part) if frequency[key] <= COMMON * n}
    rare = sorted(telling, key=lambda key: (frequency[key], key))
    shared = [key for key in rare if key in own]
    for family, gone in (("half", shared[: (len(shared) + 1) // 2]), ("apart", shared)):
        left = [part for part in parts if not set(words(part)) & set(gone)]
        if len(left) >= FEWEST:
            yield family, joined(left, asked)
    best = dict.fromkeys(key for part in parts for key in words(part) if key in rare and frequency[key] > 1)
    kept = set(sorted(best, key=lambda key: (frequency[key], key))[:KEYWORDS])
    if len(kept) >= FEWEST - 1:
        yield "keywords", joined([key for key in best if key in kept], asked)
    yield "typos", joined([mistyped(part, rng) for part in parts], asked)
    replaced = [neighbours.instead(part, shared, own) for part in parts]
    yield "reworded", joined(replaced, asked)


def mistyped(word: str, rng: np.random.Generator) -> str:
    """The word with two letters exchanged, one lost or one doubled, three times in ten; short words as they are."""
    if len(word) < 4 or rng.random() >= TYPING:
        return word
    place, kind = int(rng.integers(len(word) - 2)) + 1, int(rng.integers(3))
    if kind == 0:
        return word[: place - 1] + word[place] + word[place - 1] + word[place + 1 :]
    return word[:place] + word[place] * (2 if kind == 1 else 0) + word[place + 1 :]


class Neighbours:
    """Words that are found in the same passages as others, by the user's own documents."""

    def __init__(
        self, texts: Sequence[str], frequency: Mapping[str, int], dims: int = 64, most: int = 8000
    ) -> None:
        from scipy.sparse import csr_array
        from scipy.sparse.linalg import svds

        usual = sorted(frequency.items(), key=lambda one: (-one[1], one[0]))
        known = [key for key, n in usual if 1 < n <= COMMON * len(texts)][:most]
        self.places = {key: place for place, key in enumerate(known)}
        self.known: list[str] = known
        rows, columns, values = [], [], []
        for row, text in enumerate(texts):
            for key, tf in Counter(words(text)).items():
                if key in self.places:
                    rows.append(row)
                    columns.append(self.places[key])
                    values.append((1 + log(tf)) * log(len(texts) / frequency[key]))
        k = min(dims, len(texts) - 1, len(known) - 1)
        if k < 2:
            self.vectors = np.zeros((len(known), 1))
            return
        table = csr_array((values, (rows, columns)), shape=(len(texts), len(known)))
        start = generator(0, "svd").normal(size=min(table.shape))
        _, s, v = svds(table, k=k, v0=start)
        found = v.T * s
        self.vectors = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)

    def instead(self, part: str, shared: Sequence[str], own: set[str]) -> str:
        """The word nearest in company that the passage hasn't; the part itself where it is not shared."""
        keys = [key for key in words(part) if key in shared and key in self.places]
        if not keys:
            return part
        near = np.argsort(-(self.vectors @ self.vectors[self.places[keys[0]]]), kind="stable")[:20]
        for place in near.tolist():
            if self.known[place] not in own and self.known[place] != keys[0]:
                return str(self.known[place])
        return part


def pieces(text: str) -> list[str]:
    """The parts of a text between blanks; of one without blanks its words."""
    found = text.split()
    return words(text) if is_unspaced(text) else found


def is_unspaced(text: str) -> bool:
    """Whether a text is written without blanks, as Chinese and Japanese are."""
    return 4 * len(text.split()) < len(words(text))


def joined(parts: Sequence[str], text: str) -> str:
    """The parts as a text written like `text`: with blanks, or without."""
    return ("" if is_unspaced(text) else " ").join(parts)


def _without_title(text: str, title: str) -> str:
    title = title.strip()
    if title and text.lstrip().casefold().startswith(title.casefold()):
        return text.lstrip()[len(title) :].lstrip(" .\n:-") or text
    return text
