"""Models as ONNX, in onnxruntime or OpenVINO: a folder with a graph and a tokenizer, without torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.errors import ModelError, UsageError
from embassay.systems.encoders.batches import (
    Batch,
    PromptTask,
    batch_by_equal_length,
    choose_model_facts_for_prompts,
    choose_role_prompts,
    find_token_positions_after_prompt,
    run_batches_on_all_cores,
    warn_if_prompts_missing,
)
from embassay.systems.encoders.onnx_model import (
    VERSION,
    Backend,
    OnnxComputeOptions,
    OnnxModelFolder,
    Precision,
    open_onnx_folder,
    open_onnx_graph,
)
from embassay.systems.models import compute_model_folder_checksum

if TYPE_CHECKING:
    from tokenizers import Encoding


@dataclass(eq=False)
class OnnxEncoder:
    """The model in the folder `target`, which has tokenizer.json, model.onnx (also in onnx/, or `file`) or, for plain
    BERT models, model.safetensors, and optionally the configuration of sentence-transformers.

    `pooling` and `max_length` (tokens) override the folder's configuration, prompts too (see `choose_role_prompts`).
    Batches, `backend` and `weights` are those of MiniLM: a vector does not depend on other texts nor on the
    number of cores.
    UsageError for parameters that cannot be; ModelError, naming the file, when something is missing.
    """

    target: str
    name: str = "onnx"
    file: str | None = None
    pooling: Literal["configured", "mean", "cls", "last", "max"] = "configured"
    max_length: int | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None
    prompt: str | None = None
    family: str | None = None
    task: PromptTask = ""
    backend: Backend = "auto"
    weights: Precision = "float32"

    chunk_size = 64

    def __post_init__(self) -> None:
        folder = open_onnx_folder(self.target)
        self._asked = OnnxComputeOptions(self.name, self.backend, self.weights)
        self._run = open_onnx_graph(folder, self._asked, self.file)
        self.tokenizer = open_tokenizer(folder.tokenizer())
        self._lower = folder.is_lower_case_wanted()
        self._normalize = folder.has_normalize_module()
        self._pooling = folder.read_pooling() if self.pooling == "configured" else self.pooling
        if self._pooling is None and not self._run.gives_sentences:
            raise ModelError(
                f"{folder.path / '1_Pooling' / 'config.json'} is missing, so the pooling mode is unknown.",
                mend="Add ?pooling=mean, cls or last, as stated in the model card.",
            )
        self._folder = folder
        self._set_prompts()
        self.similarity = folder.similarity()
        self.max_tokens = self._set_input_truncation_length(folder)
        self.dim = self.encode([""]).shape[1]
        self.identity = self._build_identity(folder)

    def with_task_prompt(self, task: PromptTask, name: str) -> OnnxEncoder:
        """The same loaded model with the prompt that it ships for a task, under another name."""
        twin = copy(self)
        twin.task, twin.name = task, name
        twin._set_prompts()
        twin.identity = twin._build_identity(self._folder)
        return twin

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> NDArray[np.float32]:
        """Vectors, (n, dim), at length 1 where the folder says so; longer texts are cut at `max_tokens`."""
        encodings = self._tokenize_with_prompt(texts, self.prompts.of(role))
        rows: list[NDArray[np.float32]] = [np.empty(0, dtype=np.float32)] * len(texts)

        def fill_vectors(batch: Batch) -> None:
            for row, vector in zip(batch, self._embed_encodings([encodings[row] for row in batch]), strict=True):
                rows[row] = vector

        run_batches_on_all_cores(
            fill_vectors, batch_by_equal_length([len(encoding.ids) for encoding in encodings], self._asked.tokens)
        )
        return np.stack(rows) if rows else np.empty((0, self.dim), dtype=np.float32)

    def encode_token_vectors(self, texts: Sequence[str], *, role: Role | None = None) -> list[NDArray[np.float32]]:
        """The output for each of a text's own tokens, (tokens, width) per text. UsageError where the graph gives only
        whole texts."""
        if self._run.gives_sentences:
            raise UsageError(
                f"The graph {self._run.origin} gives one vector per text, but no token vectors.",
                mend="Export it with last_hidden_state as its output.",
            )
        prompt = self.prompts.of(role)
        before = prompt.lower() if self._lower else prompt
        encodings = self._tokenize_with_prompt(texts, prompt)
        tokens: list[NDArray[np.float32]] = [np.empty(0, dtype=np.float32)] * len(texts)

        def fill_token_vectors(batch: Batch) -> None:
            for row, hidden in zip(batch, self._run([encodings[row] for row in batch]), strict=True):
                tokens[row] = np.asarray(
                    hidden[find_token_positions_after_prompt(encodings[row], before)], dtype=np.float32
                )

        run_batches_on_all_cores(
            fill_token_vectors, batch_by_equal_length([len(encoding.ids) for encoding in encodings], self._asked.tokens)
        )
        return tokens

    def count_truncated(self, texts: Sequence[str]) -> int:
        """How many of the texts have more than `max_tokens` tokens, the longest prompt included."""
        return sum(
            bool(encoding.overflowing) for encoding in self._tokenize_with_prompt(texts, self.prompts.longest_prompt)
        )

    def _set_prompts(self) -> None:
        shipped, default = self._folder.prompts()
        chosen: dict[Role | None, str | None] = {
            "query": self.query_prompt, "document": self.document_prompt, None: self.prompt
        }  # fmt: skip
        known = choose_model_facts_for_prompts(self.family, None)
        self.prompts = choose_role_prompts(chosen, own=shipped, default=default, known=known, task=self.task)
        warn_if_prompts_missing(self.prompts, chosen, known, system=self.name, model=self._folder.path.name)
        self.uses_roles = self.prompts.has_different_prompts_by_role

    def _tokenize_with_prompt(self, texts: Sequence[str], prompt: str) -> list[Encoding]:
        whole = [prompt + text for text in texts]
        encodings: list[Encoding] = self.tokenizer.encode_batch(
            [text.lower() for text in whole] if self._lower else whole
        )
        return encodings

    def _embed_encodings(self, encodings: Sequence[Encoding]) -> NDArray[np.float32]:
        """The vectors of texts with equally many tokens."""
        hidden = self._run(encodings)
        if hidden.ndim == 3:
            hidden = _pool_hidden_states(hidden, self._pooling)
        vectors = np.asarray(hidden, dtype=np.float32)
        if not self._normalize:
            return vectors
        lengths = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
        # A vector of zeros stays one.
        return np.asarray(vectors / np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)

    def _set_input_truncation_length(self, folder: OnnxModelFolder) -> int | None:
        limit = folder.max_tokens() if self.max_length is None else self.max_length
        if limit is None:
            return None
        if limit <= self.tokenizer.num_special_tokens_to_add(False):
            raise UsageError(f"max_length={limit} leaves no room for text after the special tokens.")
        self.tokenizer.enable_truncation(limit)
        return limit

    def _build_identity(self, folder: OnnxModelFolder) -> str:
        depends = {
            "file": self.file, "pooling": self._pooling, "max_length": self.max_tokens,
            "prompts": [self.prompts.query, self.prompts.document, self.prompts.plain],
            "versions": [VERSION, self._run.version], **({"weights": "int8"} if self.weights == "int8" else {})
        }  # fmt: skip
        return f"onnx:{compute_model_folder_checksum(folder.path)}:{json.dumps(depends, separators=(',', ':'))}"


def open_tokenizer(path: Path) -> Any:
    """The tokenizer of a tokenizer.json, which neither cuts nor pads. ModelError where it is none."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises Exception itself
        raise ModelError(f"{path} cannot be read as a tokenizer: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _pool_hidden_states(hidden: NDArray[Any], pooling: str | None) -> NDArray[Any]:
    """One vector per text, (n, dim), of hidden states without padding."""
    if pooling == "cls":
        return hidden[:, 0]
    if pooling == "last":
        return hidden[:, -1]
    if pooling == "max":
        return np.asarray(hidden.max(axis=1))
    return np.asarray(hidden.mean(axis=1, dtype=np.float32))  # half precision would add up in half
