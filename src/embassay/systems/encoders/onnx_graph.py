"""The graph of an ONNX folder: loaded, or made from the weights of a plain BERT model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError
from embassay.systems.encoders.bert_graph import bert_graph
from embassay.systems.encoders.onnx_backends import Asked, Computed, Unusable, load_graph
from embassay.systems.encoders.onnx_folder import OnnxFolder
from embassay.systems.libraries import first_line

if TYPE_CHECKING:
    from tokenizers import Encoding

_EXPORT = "Export it: optimum-cli export onnx --model MODEL --task feature-extraction FOLDER."
_PLAIN_BERT = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
}
"""What `bert_graph` can build; a key that is left out has transformers' default, which is this."""


class OnnxGraph:
    """An ONNX model, and how its inputs are made from tokens.

    `gives_sentences` says whether its output is one vector per text; otherwise it is one per token. ModelError
    when it wants or gives what is not known here.
    """

    _inputs = ("input_ids", "attention_mask", "token_type_ids", "position_ids")

    def __init__(self, graph: Computed, origin: Path) -> None:
        self.origin = origin
        self.version = graph.version
        self._graph = graph
        unknown = set(graph.inputs) - set(self._inputs)
        if unknown:
            raise ModelError(
                f"{origin} asks for inputs that are not known: {', '.join(sorted(unknown))}.",
                mend="Export it for feature extraction: optimum-cli export onnx --task feature-extraction.",
            )
        self._output = self._chosen(graph.outputs)

    def __call__(self, encodings: Sequence[Encoding]) -> NDArray[Any]:
        """The output for texts with equally many tokens: (n, length, dim) or (n, dim)."""
        ids = np.array([one.ids for one in encodings], dtype=np.int64)
        made = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([one.type_ids for one in encodings], dtype=np.int64),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        wanted = {name: made[name].astype(kind) for name, kind in self._graph.inputs.items()}
        try:
            return self._graph(self._output, wanted)
        except Exception as error:  # the errors of onnxruntime and OpenVINO have no public root
            reason = first_line(error)
            raise ModelError(f"{self.origin} failed on texts of {ids.shape[1]} tokens: {reason}") from error

    def _chosen(self, ranks: Mapping[str, int]) -> str:
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


def open_graph(folder: OnnxFolder, asked: Asked, file: str | None = None) -> OnnxGraph:
    """The folder's graph: `file`, else model.onnx, else one made from model.safetensors; computed as `asked`.
    ModelError where none of them is there or can be used."""
    path = folder.graph(file)
    if path is not None:
        return _loaded(path, path, asked)
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
    return _loaded(_bert(weights, int(config["num_attention_heads"]), asked), weights, asked)


def _bert(path: Path, heads: int, asked: Asked) -> bytes:
    from safetensors.numpy import load_file

    weights = load_file(path)
    prefix = "bert." if "bert.embeddings.word_embeddings.weight" in weights else ""
    try:
        return bert_graph({name.removeprefix(prefix): value for name, value in weights.items()}, heads)
    except KeyError as error:
        raise ModelError(f"{path} has no tensor {error}, so it is not a plain BERT model.") from error
    except ImportError as error:
        raise ModelError(
            f"{asked.system} needs the package {error.name}, which is not installed.", mend=asked.mend
        ) from error


def _loaded(model: Path | bytes, origin: Path, asked: Asked) -> OnnxGraph:
    try:
        return OnnxGraph(load_graph(model, asked), origin)
    except Unusable as error:
        raise ModelError(f"{origin} {error}") from error
