"""Late chunking: a document is read whole, and a passage's vector is the mean of its own tokens' vectors there.

A passage that says "it" then has a vector that knows what "it" is. This needs an encoder that gives the vectors of
tokens, and whose own vectors are their mean; any other would be measured as something it was not trained to be. Source:
Guenther and others, Late Chunking (2024), with windows for documents that are longer than the encoder reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role

VERSION = "late/1"
"""Part of the keys of what is kept; raised when other vectors come of the same documents."""
ROLE: Role = "document"
Vectors = NDArray[np.float32]
Ints = NDArray[np.int64]


class LateChunkEncoder(Protocol):
    """An encoder whose vectors are the mean of its tokens' vectors, and that gives those."""

    @property
    def dim(self) -> int:
        """Dimensions of its vectors."""
        ...

    @property
    def no_late_chunks(self) -> str:
        """Why its passages cannot be read so; empty where they can."""
        ...

    @property
    def token_room(self) -> int | None:
        """How many of a document's own tokens it reads at once; None for any number."""
        ...

    def locate_text_tokens(self, texts: Sequence[str]) -> list[Ints]:
        """First character and end of each of a text's own tokens, (tokens, 2) per text, none cut off."""
        ...

    def encode_token_vectors(self, texts: Sequence[str], *, role: Role | None = None) -> list[Vectors]:
        """The vector of each of these tokens, as many as it reads, (tokens, width) per text."""
        ...

    def finish_mean_vectors(self, means: Vectors) -> Vectors:
        """What the encoder does with a mean of token vectors, (n, width), until it is a vector, (n, dim)."""
        ...


@dataclass(frozen=True)
class DocumentWithPassages:
    """A text, and the characters (first, end) of its passages, in its order."""

    text: str
    passages: tuple[tuple[int, int], ...]


def explain_no_late_chunks(encoder: Any) -> str:
    """Why an encoder cannot read passages within their document; empty where it can."""
    # Beneath the cache nothing but this stands before a model.
    if hasattr(encoder, "_cleanup"):
        return "it cleans texts, so token positions shift"
    if not hasattr(encoder, "locate_text_tokens"):
        return "it gives no contextual token vectors, unlike sentence-transformers models (st:) and minilm"
    return str(encoder.no_late_chunks)


@dataclass(frozen=True)
class PassageWindow:
    """Passages `first` up to `last` of a document, characters `start` to `end`, read together; `ahead` and `behind` are
    the tokens that it has before each passage and after it, (last - first,), without end at the document's own ends."""

    first: int
    last: int
    start: int
    end: int
    ahead: NDArray[np.float64]
    behind: NDArray[np.float64]


def plan_token_windows_of_passages(
    places: Ints, passages: Sequence[tuple[int, int]], room: int | None
) -> list[PassageWindow]:
    """The windows of a document: as many passages in each as fit into `room` tokens, and from half of it on the next.
    A passage that does not fit has a window of its own."""
    # Tokens with a character in common with a passage: of a token on a border both have it.
    first_token = np.searchsorted(places[:, 1], [start for start, _ in passages], side="right")
    after_token = np.searchsorted(places[:, 0], [end for _, end in passages], side="left")
    most = len(places) if room is None else room
    windows, first, n = [], 0, len(passages)
    while first < n:
        last = first + 1
        while last < n and after_token[last] - first_token[first] <= most:
            last += 1
        ahead = (first_token[first:last] - first_token[first]).astype(np.float64)
        behind = (after_token[last - 1] - after_token[first:last]).astype(np.float64)
        # At an end of the document there is no more context to be had.
        ahead = ahead if first else ahead + np.inf
        behind = behind if last < n else behind + np.inf
        end = max(end for _, end in passages[first:last])
        windows.append(PassageWindow(first, last, passages[first][0], end, ahead, behind))
        if last == n:
            break
        half = first_token[first] + most / 2
        # At least one passage on, and never past the next one that has no window yet.
        first = min(max(first + 1, int(np.searchsorted(first_token, half))), last)
    return windows


def choose_window_with_most_context(windows: Sequence[PassageWindow], n: int) -> list[int]:
    """For each of n passages the window in which it is farthest from an end that is not the document's; the first of
    several."""
    best, chosen = np.full(n, -1.0), [0] * n
    for number, window in enumerate(windows):
        margins = np.minimum(window.ahead, window.behind)
        for passage, margin in enumerate(margins.tolist(), window.first):
            if margin > best[passage]:
                best[passage], chosen[passage] = margin, number
    return chosen


def encode_late_chunks(encoder: LateChunkEncoder, documents: Sequence[DocumentWithPassages]) -> list[Vectors]:
    """The vectors of each document's passages, (passages, dim); zeros for one without tokens. Which documents are given
    together may move the last digit, as with any batch."""
    places, room = encoder.locate_text_tokens([document.text for document in documents]), encoder.token_room
    plans = [
        plan_token_windows_of_passages(place, document.passages, room)
        for place, document in zip(places, documents, strict=True)
    ]
    read = iter(_encode_windows_as_token_vectors(encoder, documents, plans))
    means: list[Vectors | None] = []
    for document, windows in zip(documents, plans, strict=True):
        own = [next(read) for _ in windows]
        chosen = choose_window_with_most_context(windows, len(document.passages))
        means += [own[number].mean(*passage) for number, passage in zip(chosen, document.passages, strict=True)]
    vectors = np.zeros((len(means), encoder.dim), dtype=np.float32)
    full = [row for row, mean in enumerate(means) if mean is not None]
    if full:
        vectors[full] = encoder.finish_mean_vectors(np.stack([mean for mean in means if mean is not None]))
    return np.split(vectors, np.cumsum([len(document.passages) for document in documents])[:-1])


def _encode_windows_as_token_vectors(
    encoder: LateChunkEncoder, documents: Sequence[DocumentWithPassages], plans: Sequence[Sequence[PassageWindow]]
) -> list[_WindowTokenVectors]:
    """Every window of every document, in order."""
    slices: list[str] = []
    starts: list[int] = []
    for document, windows in zip(documents, plans, strict=True):
        slices += [document.text[window.start : window.end] for window in windows]
        starts += [window.start for window in windows]
    states = encoder.encode_token_vectors(slices, role=ROLE)
    # A window that is cut into tokens by itself may have one more, which is then not read.
    places = [place[: len(state)] for place, state in zip(encoder.locate_text_tokens(slices), states, strict=True)]
    return list(starmap(_WindowTokenVectors, zip(starts, places, states, strict=True)))


@dataclass(frozen=True)
class _WindowTokenVectors:
    """Tokens of a window that begins at a character: where each stands from there, (tokens, 2), and its vector,
    (tokens, width)."""

    begins: int
    places: Ints
    states: Vectors

    def mean(self, start: int, end: int) -> Vectors | None:
        """The mean of the tokens that have a character in the passage, (width,); None where none has."""
        inside = (self.places[:, 1] > start - self.begins) & (self.places[:, 0] < end - self.begins)
        if not inside.any():
            return None
        return np.asarray(self.states[inside].mean(axis=0, dtype=np.float64), dtype=np.float32)
