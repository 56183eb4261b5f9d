"""Any model of mteb's registry, loaded and asked as mteb does it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.errors import ModelError, UsageError
from embassay.machine import choose_cuda_card, read_requested_device
from embassay.systems.encoders.batches import ModelTokenLimit
from embassay.systems.models import find_model_weights, format_first_error_line, import_model_library

_SYMMETRIC, _SEARCH = "STSBenchmark", "MSMARCO"
"""Tasks whose prompts stand for all: of texts without a role, of queries and documents."""


@dataclass(eq=False)
class MtebEncoder:
    """The model that mteb's registry calls `target`, at `revision` or the one that mteb names.

    Prompts depend on the task: texts without a role are encoded as for STSBenchmark, queries and documents as for
    MSMARCO; all as for `task`, a task of mteb, if given. On a CPU a model runs on one thread, so vectors do not
    depend on the number of cores. Paid services are refused. UsageError for them and for unknown names, ModelError
    when the model or a package is missing or fails.
    """

    target: str
    name: str = "mteb"
    revision: str | None = None
    task: str | None = None
    device: str | None = None
    batch_size: int = 32

    def __post_init__(self) -> None:
        library = _import_mteb()
        meta = self._find_model_meta(library)
        weights = meta.revision
        if meta.open_weights and meta.framework:
            # Asked first: without a network, loading would try for more than a minute.
            weights = find_model_weights(str(meta.name), meta.revision, system="st").identity
        self._tasks = {
            role: _find_mteb_task(library, self.task or default).metadata
            for role, default in ((None, _SYMMETRIC), ("query", _SEARCH), ("document", _SEARCH))
        }
        self._model = self._load_registered_mteb_model(meta)
        inner = getattr(self._model, "model", None)
        self._limit = ModelTokenLimit(getattr(inner, "tokenizer", None), getattr(inner, "max_seq_length", None))
        self.max_tokens = self._limit.tokens
        self.similarity = _find_model_similarity(meta, inner)
        self.chunk_size = max(64, self.batch_size)
        self.dim = self.encode([" "]).shape[1]
        depends = {
            "task": self.task, "batch": self.batch_size, "device": self.device or choose_cuda_card(),
            "versions": [version(package) for package in ("mteb", "transformers", "torch")]
        }  # fmt: skip
        self.identity = f"mteb:{meta.name}@{weights}:{json.dumps(depends, separators=(',', ':'))}"

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> NDArray[np.float32]:
        """Vectors as mteb gets them for its tasks, (n, dim)."""
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        import torch

        # torch keeps the number of threads by thread: in one of our own the caller's stays as it is.
        with ThreadPoolExecutor(1, initializer=partial(torch.set_num_threads, 1)) as thread:
            try:
                out = thread.submit(self._encode_with_mteb, texts, role).result()
            except Exception as error:  # a model of the registry may raise anything
                raise ModelError(f"{self.name!r} failed while encoding: {format_first_error_line(error)}") from error
        return np.asarray(out.float().cpu() if isinstance(out, torch.Tensor) else out, dtype=np.float32)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """How many of the texts have more than `max_tokens` tokens, prompts left out."""
        return self._limit.count_texts_over_limit(texts)

    def _encode_with_mteb(self, texts: Sequence[str], role: Role | None) -> Any:
        from datasets import Dataset
        from mteb.types import PromptType
        from torch.utils.data import DataLoader

        inputs = DataLoader(Dataset.from_dict({"text": list(texts)}), batch_size=self.batch_size)
        return self._model.encode(
            inputs, task_metadata=self._tasks[role], hf_split="test", hf_subset="default",
            prompt_type=None if role is None else PromptType(role),
            batch_size=self.batch_size, show_progress_bar=False
        )  # fmt: skip

    def _find_model_meta(self, library: Any) -> Any:
        try:
            meta = library.get_model_meta(self.target, revision=self.revision, fetch_from_hf=False)
        except KeyError as error:
            raise UsageError(
                f"{error.args[0]}".splitlines()[0], mend="Run `mteb available-models` to see all."
            ) from error
        except ValueError as error:
            raise UsageError(format_first_error_line(error)) from error
        if "API" in meta.framework:
            raise UsageError(
                f"{self.target} is a service that mteb would call itself, bypassing a run's limits and accounting.",
                mend="Use its vendor's prefix: openai:, cohere:, voyage: or gemini:.",
            )
        return meta

    def _load_registered_mteb_model(self, meta: Any) -> Any:
        try:
            model = meta.load_model(device=self.device or read_requested_device())
        except Exception as error:  # a model of the registry may raise anything
            raise ModelError(
                f"{self.name!r} cannot be loaded: {format_first_error_line(error)}",
                mend="Install any package it needs; if it needs files, load it once with mteb while online.",
            ) from error
        if not callable(getattr(model, "encode", None)):
            raise ModelError(f"{self.name!r} is not an encoder but a model for {', '.join(meta.model_type)}.")
        return model


def _find_model_similarity(meta: Any, inner: Any) -> str:
    """How the model's vectors are compared, by sentence-transformers' names: as mteb lists it, or as the model says."""
    listed = getattr(meta, "similarity_fn_name", None)
    name = getattr(listed, "value", listed) or getattr(inner, "similarity_fn_name", None)
    return str(getattr(name, "value", name) or "cosine")


def _find_mteb_task(library: Any, name: str) -> Any:
    try:
        return library.get_task(name)
    except KeyError as error:
        raise UsageError(f"mteb has no task {name!r}.", mend="See `mteb available-tasks`.") from error


def _import_mteb() -> Any:
    return import_model_library("mteb", what="mteb's models", mend="Install it: pip install 'embassay[mteb]'")
