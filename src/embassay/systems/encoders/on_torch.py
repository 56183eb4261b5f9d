"""Chunks of texts through a sentence-transformers model on a card: cut into tokens ahead, batches laid together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError
from embassay.systems.encoders.batches import of_similar_length
from embassay.systems.encoders.joined import Joined, Padded
from embassay.systems.libraries import first_line

WINDOW = 32
"""Chunks whose batches may be laid together: 8,192 texts."""
_NO_MEMORY = ("out of memory", "cublas_status_alloc_failed")


class OnTorch:
    """`model` with batches of `batch` texts of similar length, called `name` in errors."""

    def __init__(self, model: Any, batch: int, name: str) -> None:
        self._model, self._batch, self._name = model, batch, name
        self._joined = Joined(self._vectors, _halves, is_out_of_memory)

    def chunks(
        self, chunks: Sequence[Sequence[str]], prompt: str
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The vectors of every chunk by its position. The next ones are cut into tokens while the card works."""
        places = iter(range(len(chunks)))
        with ThreadPoolExecutor(1) as pool:

            def ahead() -> Any:
                # Chunks are read here, since they may be made as they are asked for.
                some = [(place, chunks[place]) for place in islice(places, WINDOW)]
                return pool.submit(self._window, some, prompt) if some else None

            waiting = ahead()
            while waiting is not None:
                window, waiting = waiting.result(), ahead()
                yield from self._of_window(window)

    def _window(self, chunks: Sequence[tuple[int, Sequence[str]]], prompt: str) -> list[Any]:
        """Position, number of texts, rows of each batch, and batches of each chunk."""
        window = []
        for place, texts in chunks:
            rows = of_similar_length(texts, self._batch)
            batches = [self._padded([texts[row] for row in batch], prompt) for batch in rows]
            window.append((place, len(texts), rows, batches))
        return window

    def _of_window(self, window: Sequence[Any]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        try:
            found = iter(self._joined([batch for _, _, _, batches in window for batch in batches]))
        except ModelError:
            raise
        except Exception as error:  # transformers and torch have no root in common
            raise ModelError(f"{self._name!r} failed while encoding: {first_line(error)}") from error
        for place, n, rows, _ in window:
            parts = [next(found) for _ in rows]
            width = parts[0].shape[1] if parts else 0
            vectors = np.empty((n, width), dtype=np.float32)
            for batch, part in zip(rows, parts, strict=True):
                vectors[batch] = part
            yield place, vectors

    def _padded(self, texts: list[str], prompt: str) -> Padded:
        features = self._model.preprocess(texts, prompt=prompt)
        ids = features.get("input_ids")
        # Some models lay the texts of a batch in one row, without filling.
        filled = ids is not None and ids.ndim == 2 and len(ids) == len(texts)
        return Padded(len(texts), int(ids.shape[1]) if filled else None, features)

    def _vectors(self, group: Sequence[Padded]) -> NDArray[np.float32]:
        import torch

        joined = dict(group[0].features)
        for name, value in joined.items():
            if isinstance(value, torch.Tensor):
                whole = torch.cat([one.features[name] for one in group]) if len(group) > 1 else value
                joined[name] = whole.to(self._model.device, non_blocking=True)
        with torch.inference_mode():
            found = self._model(joined)["sentence_embedding"]
        return np.asarray(found.float().cpu().numpy(), dtype=np.float32)


def _halves(batch: Padded) -> tuple[Padded, Padded]:
    """The upper and the lower rows of a batch, as wide as before."""
    import torch

    middle = batch.rows // 2
    parts = []
    for rows in (slice(0, middle), slice(middle, batch.rows)):
        features = {
            name: value[rows] if isinstance(value, torch.Tensor) and len(value) == batch.rows else value
            for name, value in dict(batch.features).items()
        }
        parts.append(Padded(rows.stop - rows.start, batch.width, features))
    torch.cuda.empty_cache()
    return parts[0], parts[1]


def is_out_of_memory(error: Exception) -> bool:
    """Whether the error says that the card is full."""
    said = str(error).lower()
    return type(error).__name__ == "OutOfMemoryError" or any(words in said for words in _NO_MEMORY)
