"""Models of sentence-transformers that give many vectors for a text, asked for one text at a time on a processor."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Ragged, Role, make_ragged_array
from embassay.errors import ModelError, UsageError
from embassay.machine import read_requested_device
from embassay.systems.encoders.batches import Batch, ModelTokenLimit, batch_by_similar_length, run_batches_on_all_cores
from embassay.systems.models import (
    OF_LIBRARY,
    PICKLED,
    SAFE_WEIGHTS,
    find_weights_and_library,
    format_first_error_line,
    import_model_library,
    is_pickle_refusal,
    read_model_configuration,
)

Rows = NDArray[np.float32]
_ON_CARD = 64
# Texts at a time: enough for all cores, and few enough that what is kept of them is soon kept.
_WINDOW = 256


class IndependentTextEncoder:
    """Chunks of texts whose vectors depend on no other text: on a processor a text is a chunk and a batch of its own,
    and as many are read at once as there are cores; a card gets chunks of 64. `read(texts, role)` is the model."""

    def __init__(self, read: Callable[[list[str], Role | None], list[Rows]], *, card: bool, threads: bool) -> None:
        self._read, self.card, self._threads = read, card, threads
        self.chunk_size = _ON_CARD if card else 1

    def encode(self, texts: Sequence[str], role: Role | None) -> Ragged:
        """The rows of each text."""
        result: list[Rows] = [np.empty(0, dtype=np.float32)] * len(texts)

        def fill_rows(rows: Batch) -> None:
            for row, vectors in zip(rows, self._read([texts[row] for row in rows], role), strict=True):
                result[row] = vectors

        batches = batch_by_similar_length(texts, _ON_CARD if self.card else 1)
        if self.card or not batches:
            for batch in batches:
                fill_rows(batch)
            return make_ragged_array(result)
        start = self._set_torch_to_one_thread if self._threads else None
        # The first call fixes how the tokenizer cuts and pads, which threads must not do at the same time.
        for part in (batches[:1], batches[1:]):
            run_batches_on_all_cores(fill_rows, part, start=start)
        return make_ragged_array(result)

    def iterate_encoded_chunks_by_position(
        self, chunks: Sequence[Sequence[str]], role: Role | None
    ) -> Iterator[tuple[int, Ragged]]:
        """The rows of every chunk by its position, some chunks at a time."""
        places = iter(range(len(chunks)))
        while window := list(islice(places, max(1, _WINDOW // self.chunk_size))):
            texts = [list(chunks[i]) for i in window]
            rows = iter(self.encode([text for chunk in texts for text in chunk], role))
            for i, chunk in zip(window, texts, strict=True):
                yield i, make_ragged_array([next(rows) for _ in chunk])

    @staticmethod
    def _set_torch_to_one_thread() -> None:
        import torch

        torch.set_num_threads(1)


class TextwiseMultiVectorEncoder:
    """An encoder of many vectors for a text, which depend on no other text."""

    _alone: IndependentTextEncoder

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> Ragged:
        """The rows of each text, as the model gives them: (rows, width) float32."""
        return self._alone.encode(texts, role)

    def encode_together(
        self, chunks: Sequence[Sequence[str]], *, role: Role | None = None
    ) -> Iterator[tuple[int, Ragged]]:
        """Encode all chunks together, and give the result of each by its position."""
        return self._alone.iterate_encoded_chunks_by_position(chunks, role)


class SparseOrColbertModel:
    """A model of sentence-transformers' class `kind` in torch: `target` of the hub at `revision`, or a folder.

    `trained(configs)` says whether what config.json and config_sentence_transformers.json hold is such a model; from
    any other the library would make one with layers that nobody has trained, which is refused. `call(model, texts,
    role, **how)` gives its rows.
    """

    def __init__(
        self, kind: str, target: str, revision: str | None, *, system: str, device: str | None, dtype: str,
        trained: Callable[[Mapping[str, Any], Mapping[str, Any]], bool], since: str
    ) -> None:  # fmt: skip
        what = {"SparseEncoder": "Sparse models", "MultiVectorEncoder": "Multi-vector models"}[kind]
        mend = "Install it: pip install 'embassay[torch]'"
        load = partial(import_model_library, "sentence_transformers", what=what, mend=mend)
        self.weights, library = find_weights_and_library(load, target, revision, system=system)
        self.name = f"{system}:{target}"
        if not hasattr(library, kind):
            raise ModelError(
                f"{what} need sentence-transformers {since}, but {library.__version__} is installed.",
                mend="Install it: pip install -U 'embassay[torch]'",
            )
        if not trained(read_model_configuration(self.weights), read_model_configuration(self.weights, OF_LIBRARY)):
            raise ModelError(
                f"{self.name!r} is not a {kind}: the missing layers would be random, not trained.",
                mend="Use a trained model of that kind; st: is for ordinary embedding models.",
            )
        self.model = self._load_model(getattr(library, kind), device, dtype)
        self.card = self.model.device.type == "cuda"
        self.version = self._list_library_versions(library)

    def ask(self, call: Callable[[], Any]) -> Any:
        """Call the model and give what the call gives. ModelError where it fails."""
        try:
            return call()
        except Exception as error:  # transformers and torch have no root in common
            raise ModelError(f"{self.name!r} failed while encoding: {format_first_error_line(error)}") from error

    def limit(self, tokens: Any) -> ModelTokenLimit:
        """Counts what has more tokens than that."""
        return ModelTokenLimit(getattr(self.model, "tokenizer", None), tokens)

    def most(self, asked: int) -> int:
        """Check that the model has places for the tokens asked for, and give them; UsageError where not."""
        config = getattr(getattr(self.model[0], "auto_model", None), "config", None)
        most = getattr(config, "max_position_embeddings", None)
        if most is not None and asked > most:
            raise UsageError(f"max_length={asked} is not possible: {self.name!r} reads 1 to {most} tokens.")
        return asked

    def _load_model(self, kind: Any, device: str | None, dtype: str) -> Any:
        import torch

        try:
            model = kind(
                self.weights.location, revision=self.weights.commit, local_files_only=self.weights.cached,
                device=device or read_requested_device()
            )  # fmt: skip
            model.to(getattr(torch, dtype))
        except Exception as error:  # hub, safetensors, transformers and torch have no root in common
            if is_pickle_refusal(error):
                raise ModelError(f"{self.name!r} is not loaded: {PICKLED}.", mend=SAFE_WEIGHTS) from error
            raise ModelError(
                f"{self.name!r} cannot be loaded: {format_first_error_line(error)}",
                mend="Check that its files are complete.",
            ) from error
        return model

    def _list_library_versions(self, library: Any) -> list[str]:
        import torch
        import transformers

        return [library.__version__, transformers.__version__, torch.__version__]

    def identity(self, system: str, **depends: Any) -> str:
        """Everything the vectors depend on."""
        depends |= {"dtype": str(next(self.model.parameters()).dtype), "device": self.model.device.type}
        facts = json.dumps({**depends, "versions": self.version}, separators=(",", ":"))
        return f"{system}:{self.weights.identity}:{facts}"
