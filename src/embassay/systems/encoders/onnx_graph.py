"""The graph of an ONNX folder: loaded, or made from the weights of a plain BERT model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError
from embassay.systems.encoders.bert_graph import bert_graph
from embassay.systems.encoders.onnx_folder import OnnxFolder

if TYPE_CHECKING:
    from tokenizers import Encoding

_INSTALL = "Install it: pip install 'embassay[onnx]'"
_EXPORT = "Export it: optimum-cli export onnx --model MODEL --task feature-extraction FOLDER."
_PLAIN_BERT = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
}
"""What `bert_graph` can build; a key that is left out has transformers' default, which is this."""


class OnnxGraph:
    """An ONNX model in onnxruntime, on one thread, and how its inputs are made from tokens.

    `gives_sentences` says whether its output is one vector per text; otherwise it is one per token. ModelError
    when it wants or gives what is not known here.
    """

    _inputs = ("input_ids", "attention_mask", "token_type_ids", "position_ids")

    def __init__(self, session: Any, origin: Path) -> None:
        self.origin = origin
        self._session = session
        self._types = {one.name: np.dtype(one.type[len("tensor(") : -1]) for one in session.get_inputs()}
        unknown = set(self._types) - set(self._inputs)
        if unknown:
            raise ModelError(
                f"{origin} asks for inputs that are not known: {', '.join(sorted(unknown))}.",
                mend="Export it for feature extraction: optimum-cli export onnx --task feature-extraction.",
            )
        self._output = self._chosen({one.name: len(one.shape or ()) for one in session.get_outputs()})

    def __call__(self, encodings: Sequence[Encoding]) -> NDArray[Any]:
        """The output for texts with equally many tokens: (n, length, dim) or (n, dim)."""
        ids = np.array([one.ids for one in encodings], dtype=np.int64)
        made = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([one.type_ids for one in encodings], dtype=np.int64),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        wanted = {name: made[name].astype(kind) for name, kind in self._types.items()}
        try:
            return np.asarray(self._session.run([self._output], wanted)[0])
        except Exception as error:  # onnxruntime's errors have no public root
            reason = str(error).strip().splitlines()[0]
            raise ModelError(f"{self.origin} failed on texts of {ids.shape[1]} tokens: {reason}") from error

    def _chosen(self, ranks: dict[str, int]) -> str:
        """The sentence vectors if the graph has them, else the first output of one vector per token."""
        sentences = [
            name
            for name, rank in ranks.items()
            if rank == 2 and (name == "sentence_embedding" or len(ranks) == 1)
        ]
        tokens = [name for name, rank in ranks.items() if rank == 3]
        self.gives_sentences = bool(sentences)
        if not sentences and not tokens:
            raise ModelError(
                f"{self.origin} gives neither token nor sentence vectors, but {', '.join(ranks)}."
            )
        return (sentences or tokens)[0]


def open_graph(folder: OnnxFolder, file: str | None = None) -> OnnxGraph:
    """The folder's graph: `file`, else model.onnx, else one made from model.safetensors. ModelError where none
    of them is there or can be used."""
    path = folder.graph(file)
    if path is not None:
        return OnnxGraph(_session(str(path), path), path)
    if file is not None:
        raise ModelError(f"{folder.path / file} is missing.")
    weights, config = folder.path / "model.safetensors", folder.read("config.json")
    if not weights.is_file():
        raise ModelError(f"{folder.path / 'model.onnx'} is missing, in onnx/ too.", mend=_EXPORT)
    other = [
        f"{key} {config.get(key)}" for key, value in _PLAIN_BERT.items() if config.get(key, value) != value
    ]
    if other or "model_type" not in config:
        raise ModelError(
            f"{folder.path} has no model.onnx, and a graph can be made from safetensors for plain BERT only, "
            f"not for {', '.join(other) or 'an unknown model'}.",
            mend=_EXPORT,
        )
    return OnnxGraph(_session(_bert(weights, int(config["num_attention_heads"])), weights), weights)


def _bert(path: Path, heads: int) -> bytes:
    from safetensors.numpy import load_file

    weights = load_file(path)
    prefix = "bert." if "bert.embeddings.word_embeddings.weight" in weights else ""
    try:
        return bert_graph({name.removeprefix(prefix): value for name, value in weights.items()}, heads)
    except KeyError as error:
        raise ModelError(f"{path} has no tensor {error}, so it is not a plain BERT model.") from error
    except ImportError as error:
        raise ModelError(
            f"onnx needs the package {error.name}, which is not installed.", mend=_INSTALL
        ) from error


def _session(model: str | bytes, origin: Path) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise ModelError(
            f"onnx needs the package {error.name}, which is not installed.", mend=_INSTALL
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no public root
        reason = str(error).strip().splitlines()[0]
        raise ModelError(f"{origin} is no model that onnxruntime can load: {reason}") from error
