"""A BERT encoder as an ONNX graph, made from its safetensors weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = Mapping[str, NDArray[np.float32]]

VERSION = 1
"""Raised whenever the graph could give other bits; part of an encoder's identity."""

_FUSED = "com.microsoft"
_EPSILON = 1e-12


def bert_graph(weights: Weights, heads: int) -> bytes:
    """The model as serialised ONNX: `input_ids` (batch, length) int32 to `hidden` (batch, length, dim).

    There is no attention mask and no token type: every text of a batch fills the whole length, so that its
    hidden states do not depend on the texts beside it. The fused operators are those of onnxruntime; GELU
    is the exact one (erf). `weights` has the tensor names of transformers' BertModel.
    """
    graph = _Graph(weights)
    hidden = graph.embeddings()
    layers = sum(name.endswith("attention.self.query.weight") for name in weights)
    for layer in range(layers):
        hidden = graph.layer(f"encoder.layer.{layer}.", hidden, heads)
    return graph.serialised(hidden)


class _Graph:
    """Nodes and constants collected so far; every method adds some and gives the name of its output."""

    def __init__(self, weights: Weights) -> None:
        from onnx import helper, numpy_helper

        self._weights = weights
        self._helper = helper
        self._to_tensor = numpy_helper.from_array
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def embeddings(self) -> str:
        words = self._weights["embeddings.word_embeddings.weight"]
        # Every token has type 0, so its embedding joins the positions'.
        positions = (
            self._weights["embeddings.position_embeddings.weight"]
            + self._weights["embeddings.token_type_embeddings.weight"][0]
        )
        inputs = [
            "input_ids", "", self._constant("words", words), self._constant("positions", positions), "",
            *self._norm("embeddings.LayerNorm."),
        ]  # fmt: skip
        self._node("EmbedLayerNormalization", inputs, ["embedded", "mask_index"], epsilon=_EPSILON)
        return "embedded"

    def layer(self, prefix: str, hidden: str, heads: int) -> str:
        parts = [f"{prefix}attention.self.{part}." for part in ("query", "key", "value")]
        kernel = np.concatenate([self._weights[part + "weight"] for part in parts]).T
        bias = np.concatenate([self._weights[part + "bias"] for part in parts])
        inputs = [hidden, self._constant(prefix + "qkv", kernel), self._constant(prefix + "qkv_bias", bias)]
        attended = self._node("Attention", inputs, [prefix + "attended"], num_heads=heads)
        hidden = self._project_and_add(prefix + "attention.output.", attended, hidden)
        wide = self._matmul(prefix + "intermediate.dense.", hidden)
        bias_name = self._stored(prefix + "intermediate.dense.bias")
        wide = self._node("BiasGelu", [wide, bias_name], [prefix + "gelu"])
        return self._project_and_add(prefix + "output.", wide, hidden)

    def serialised(self, output: str) -> bytes:
        from onnx import TensorProto

        value = self._helper.make_tensor_value_info
        dim = len(self._weights["embeddings.LayerNorm.bias"])
        self._node("Identity", [output], ["hidden"], domain="")
        graph = self._helper.make_graph(
            self._nodes,
            "bert",
            [value("input_ids", TensorProto.INT32, ["batch", "length"])],
            [value("hidden", TensorProto.FLOAT, ["batch", "length", dim])],
            self._constants,
        )
        opsets = [self._helper.make_opsetid("", 17), self._helper.make_opsetid(_FUSED, 1)]
        model = self._helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return bytes(model.SerializeToString())

    def _project_and_add(self, prefix: str, wide: str, residual: str) -> str:
        inputs = [
            self._matmul(prefix + "dense.", wide), residual, *self._norm(prefix + "LayerNorm."),
            self._stored(prefix + "dense.bias"),
        ]  # fmt: skip
        return self._node("SkipLayerNormalization", inputs, [prefix + "out"], epsilon=_EPSILON)

    def _matmul(self, prefix: str, name: str) -> str:
        kernel = self._constant(prefix + "kernel", self._weights[prefix + "weight"].T)
        return self._node("MatMul", [name, kernel], [prefix + "product"], domain="")

    def _norm(self, prefix: str) -> list[str]:
        return [self._stored(prefix + "weight"), self._stored(prefix + "bias")]

    def _stored(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _constant(self, name: str, array: NDArray[np.float32]) -> str:
        self._constants.append(self._to_tensor(np.ascontiguousarray(array, dtype=np.float32), name))
        return name

    def _node(
        self, operator: str, inputs: list[str], outputs: list[str], *, domain: str = _FUSED, **attributes: Any
    ) -> str:
        self._nodes.append(self._helper.make_node(operator, inputs, outputs, domain=domain, **attributes))
        return outputs[0]
