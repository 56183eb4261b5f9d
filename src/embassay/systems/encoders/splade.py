"""Learned sparse models (SPLADE): weights of a few hundred terms for a text, by sentence-transformers or as ONNX."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.errors import ModelError, UsageError
from embassay.systems.encoders.batches import check_vectors_finite, choose_role_prompts
from embassay.systems.encoders.multivector import (
    IndependentTextEncoder,
    Rows,
    SparseOrColbertModel,
    TextwiseMultiVectorEncoder,
)
from embassay.systems.encoders.onnx import open_tokenizer
from embassay.systems.encoders.onnx_model import OnnxComputeOptions, OnnxModelFolder, open_onnx_graph
from embassay.systems.models import compute_model_folder_checksum

_USUAL_TERMS = 300
"""Of a passage, for estimates of memory."""
_ACTIVATIONS: Mapping[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "relu": lambda logits: np.log1p(np.maximum(logits, 0)),
    "log1p_relu": lambda logits: np.log1p(np.log1p(np.maximum(logits, 0))),
}
"""What SpladePooling calls so: the logarithm comes on top of both."""


@dataclass(eq=False)
class SpladeEncoder(TextwiseMultiVectorEncoder):
    """The sparse model `target`: ORG/MODEL of the hub at `revision`, or a folder.

    A folder with model.onnx (also in onnx/, or `file`) is computed in onnxruntime, without torch, everything else by
    sentence-transformers; `backend` chooses. `max_active` keeps the largest weights of a text, the lower term where
    they are equal. `max_length` is in tokens. Texts without a role are read as documents. On a processor a text is
    alone in its batch, so that its weights depend on no other. UsageError for parameters that cannot be, ModelError
    when the model or a package is missing, or fails, or was not trained as a sparse one.
    """

    target: str
    name: str = "splade"
    revision: str | None = None
    file: str | None = None
    max_active: int | None = None
    max_length: int | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    device: str | None = None
    backend: Literal["auto", "torch", "onnx"] = "auto"

    kind = "terms"
    width = 2
    joins_chunks = True

    def __post_init__(self) -> None:
        folder = OnnxModelFolder(Path(self.target).expanduser())
        graph = folder.graph(self.file) if self.backend != "torch" and folder.path.is_dir() else None
        if self.backend == "onnx" and graph is None:
            raise ModelError(
                f"{folder.path / (self.file or 'model.onnx')} is missing.",
                mend="Export it: optimum-cli export onnx --model MODEL --task fill-mask FOLDER.",
            )
        model = _TorchSplade(self) if graph is None else _OnnxSplade(self, folder)
        self._model: _TorchSplade | _OnnxSplade = model
        self.similarity, self.uses_roles = model.similarity, model.uses_roles
        self.max_tokens = model.max_tokens
        self._alone = IndependentTextEncoder(self._encode_texts_as_sparse_rows, card=model.card, threads=graph is None)
        self.chunk_size = self._alone.chunk_size
        self.dim = model.read([""], None).shape[1]
        self.floats = 2 * min(self.max_active or _USUAL_TERMS, _USUAL_TERMS)
        self.identity = model.identity

    def count_truncated(self, texts: Sequence[str]) -> int:
        """How many of the texts have more than `max_tokens` tokens."""
        return self._model.count_truncated(texts)

    def _encode_texts_as_sparse_rows(self, texts: list[str], role: Role | None) -> list[Rows]:
        return [select_active_terms(weights, self.max_active) for weights in self._model.read(texts, role)]


def select_active_terms(weights: NDArray[np.float32], most: int | None = None) -> Rows:
    """The terms of a text that have a weight, ascending, beside it: (terms, 2); the `most` largest ones.

    >>> select_active_terms(np.array([0, 2, 0, 1], dtype=np.float32)).tolist()
    [[1.0, 2.0], [3.0, 1.0]]
    """
    terms = np.flatnonzero(weights)
    if most is not None and len(terms) > most:
        # By weight to choose, then by term again.
        terms = np.sort(terms[np.argsort(-weights[terms], kind="stable")[:most]])
    return np.column_stack([terms, weights[terms]]).astype(np.float32)


def _is_splade_model(config: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    heads = (str(architecture).endswith("ForMaskedLM") for architecture in config.get("architectures") or ())
    return own.get("model_type") == "SparseEncoder" or any(heads)


class _TorchSplade:
    """The model in sentence-transformers."""

    def __init__(self, asked: SpladeEncoder) -> None:
        self._asked = asked
        self._torch = SparseOrColbertModel(
            "SparseEncoder", asked.target, asked.revision, system="splade", device=asked.device, dtype=asked.dtype,
            trained=_is_splade_model, since="5.0"
        )  # fmt: skip
        model = self._torch.model
        if asked.max_length is not None:
            model.max_seq_length = self._torch.most(asked.max_length)
        self._limit = self._torch.limit(model.max_seq_length)
        self.card, self.max_tokens, self.uses_roles = self._torch.card, self._limit.tokens, True
        self.similarity = "cosine" if model.similarity_fn_name == "cosine" else "dot"
        self.identity = self._torch.identity(
            "splade", prompts=[asked.query_prompt, asked.document_prompt], max_length=self.max_tokens,
            max_active=asked.max_active
        )  # fmt: skip

    def read(self, texts: list[str], role: Role | None) -> NDArray[np.float32]:
        """Compute the weights of all terms for the texts, (n, terms)."""
        query, model = role == "query", self._torch.model
        encode = model.encode_query if query else model.encode_document
        prompt = self._asked.query_prompt if query else self._asked.document_prompt
        found = self._torch.ask(
            lambda: encode(
                texts, prompt=prompt, batch_size=max(1, len(texts)), show_progress_bar=False,
                convert_to_sparse_tensor=False,
            )
        )  # fmt: skip
        weights = np.asarray(found.float().cpu().numpy(), dtype=np.float32)
        return check_vectors_finite(weights, self._asked.name, self._asked.dtype)

    def count_truncated(self, texts: Sequence[str]) -> int:
        return self._limit.count_texts_over_limit(texts, self._asked.document_prompt or "")


class _OnnxSplade:
    """The model as a graph: its logits of every token and term, pooled here as its SpladePooling says (the largest of
    each term, log(1 + relu)), or weights that the graph has pooled itself."""

    card = False

    def __init__(self, asked: SpladeEncoder, folder: OnnxModelFolder) -> None:
        if asked.dtype != "float32" or asked.device or asked.revision:
            raise UsageError(
                f"{asked.name!r} is an onnxruntime graph, which does not accept dtype, device or revision.",
                mend="Leave them out, or add backend=torch.",
            )
        self._run = open_onnx_graph(folder, OnnxComputeOptions(asked.name, "onnx"), asked.file)
        self._tokenizer = open_tokenizer(folder.tokenizer())
        self.max_tokens = folder.max_tokens() if asked.max_length is None else asked.max_length
        if self.max_tokens is not None:
            self._tokenizer.enable_truncation(self.max_tokens)
        pooling = _read_pooling_settings(folder)
        self._largest = pooling.get("pooling_strategy", "max") == "max"
        name = str(pooling.get("activation_function", "relu"))
        if name not in _ACTIVATIONS:
            raise ModelError(f"{folder.path} requests the activation {name}, which is not supported.")
        self._activation = _ACTIVATIONS[name]
        shipped, default = folder.prompts()
        chosen: dict[Role | None, str | None] = {
            "query": asked.query_prompt, "document": asked.document_prompt, None: asked.document_prompt
        }  # fmt: skip
        self._prompts = choose_role_prompts(chosen, own=shipped, default=default)
        self.uses_roles = self._prompts.has_different_prompts_by_role
        config = folder.read("config_sentence_transformers.json")
        self.similarity = "cosine" if config.get("similarity_fn_name") == "cosine" else "dot"
        depends = {
            "file": asked.file, "max_length": self.max_tokens, "max_active": asked.max_active, "pooling": pooling,
            "prompts": [self._prompts.query, self._prompts.document], "version": self._run.version
        }  # fmt: skip
        checksum = compute_model_folder_checksum(folder.path)
        self.identity = f"splade:{checksum}:{json.dumps(depends, separators=(',', ':'))}"

    def read(self, texts: list[str], role: Role | None) -> NDArray[np.float32]:
        """All weights, (n, terms)."""
        prompt = self._prompts.of(role or "document")
        weights = [self._pool_term_weights(self._tokenizer.encode(prompt + text)) for text in texts]
        return np.stack(weights) if weights else np.empty((0, 0), dtype=np.float32)

    def count_truncated(self, texts: Sequence[str]) -> int:
        prompt = self._prompts.longest_prompt
        return sum(bool(row.overflowing) for row in self._tokenizer.encode_batch([prompt + text for text in texts]))

    def _pool_term_weights(self, encoding: Any) -> NDArray[np.float32]:
        logits = np.asarray(self._run([encoding])[0], dtype=np.float32)
        if logits.ndim == 1:
            return logits
        weights = self._activation(logits)
        return np.asarray(weights.max(axis=0) if self._largest else weights.sum(axis=0), dtype=np.float32)


def _read_pooling_settings(folder: OnnxModelFolder) -> Mapping[str, Any]:
    """The configuration of the module SpladePooling; nothing where the folder names none. ModelError for a folder with
    modules that are not computed here."""
    kinds = {
        str(module.get("type", "")).rpartition(".")[2]: str(module.get("path", ""))
        for module in folder.read("modules.json", list)
    }
    if unknown := set(kinds) - {"MLMTransformer", "Transformer", "SpladePooling"}:
        raise ModelError(
            f"{folder.path / 'modules.json'} has modules that ONNX cannot run: {', '.join(sorted(unknown))}.",
            mend="Add backend=torch.",
        )
    path = kinds.get("SpladePooling", "1_SpladePooling")
    config: Mapping[str, Any] = folder.read(f"{path}/config.json")
    return {key: config[key] for key in ("pooling_strategy", "activation_function") if key in config}
