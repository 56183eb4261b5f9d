"""An ONNX model's graph and folder: loaded, or made from the weights of a plain BERT model."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError, UsageError
from embassay.limits import parse_bounded_json
from embassay.machine import count_cores as available_cores
from embassay.systems.encoders.batches import complete_model_prompts_by_role
from embassay.systems.models import OF_LIBRARY, format_first_error_line

if TYPE_CHECKING:
    from tokenizers import Encoding


Backend = Literal["auto", "onnx", "openvino"]
Precision = Literal["float32", "int8"]
Arrays = Mapping[str, NDArray[Any]]

VARIABLE = "EMBASSAY_BACKEND"
_SAME_IN_BOTH = {"f32", "i32", "i64", "boolean", "string"}
"""OpenVINO computes half precision and quantised weights in another way than onnxruntime."""
_OPENVINO = re.compile(r"openvino-[\w.]+")


@dataclass(frozen=True)
class OnnxComputeOptions:
    """How a model shall be computed, as its spec string has it; `system` is its name, for messages, and `beside` the
    command that goes with the extra's. UsageError for what cannot be."""

    system: str
    backend: Backend = "auto"
    weights: Precision = "float32"
    beside: str = ""

    def __post_init__(self) -> None:
        if self.weights == "int8" and self.backend == "openvino":
            raise UsageError(
                f"{self.system!r} has int8 weights, which need onnxruntime.", mend="Leave backend=openvino out."
            )

    @property
    def mend(self) -> str:
        """How a package that is missing is installed."""
        extra = "openvino" if self.chosen == "openvino" else "onnx"
        return " && ".join(filter(None, (f"Install it: pip install 'embassay[{extra}]'", self.beside)))

    @property
    def tokens(self) -> int:
        """Tokens that a batch may have. int8 rounds what goes into a product by the largest number in it, so a text is
        alone there: its vector depends on no other."""
        return 1 if self.weights == "int8" else 1024

    @property
    def chosen(self) -> Backend:
        """The backend that is asked for here or else by `$EMBASSAY_BACKEND`; UsageError where that names none."""
        named = os.environ.get(VARIABLE, "").strip().lower() or "auto"
        if named not in get_args(Backend):
            raise UsageError(
                f"{VARIABLE} is {named!r}, which is not a backend.", mend="Set it to auto, onnx or openvino."
            )
        if self.weights == "int8":
            return "onnx"
        return named if self.backend == "auto" else self.backend  # type: ignore[return-value]


class OnnxModelLoadError(Exception):
    """A model that cannot be loaded; what is wrong, to stand behind the name of its file."""


class LoadedOnnxModel(Protocol):
    """A loaded model. `inputs` are its inputs with their types, `outputs` its outputs with their ranks, `version` what
    computes it."""

    inputs: Mapping[str, np.dtype[Any]]
    outputs: Mapping[str, int]
    version: str

    def __call__(self, output: str, inputs: Arrays) -> NDArray[Any]:
        """One of the outputs; threads may call at the same time."""
        ...


def load_onnx_model(model: Path | bytes, asked: OnnxComputeOptions) -> LoadedOnnxModel:
    """The ONNX model of a file, or serialised. ModelError where a package is missing, Unusable where the model cannot
    be loaded."""
    backend = asked.chosen
    if backend != "onnx":
        try:
            import openvino
        except ImportError as error:
            if backend == "openvino":
                raise ModelError(
                    f"{asked.system} needs the package {error.name}, which is not installed.", mend=asked.mend
                ) from error
        else:
            if (vino := _compile_in_openvino(openvino, model, forced=backend == "openvino")) is not None:
                return vino
    try:
        import onnxruntime
    except ImportError as error:
        raise ModelError(
            f"{asked.system} needs the package {error.name}, which is not installed.", mend=asked.mend
        ) from error
    return _OnnxRuntimeModel(onnxruntime, _quantize_weights_to_int8(model, asked) if asked.weights == "int8" else model)


def parse_openvino_version_from_identity(identity: str) -> str | None:
    """The OpenVINO that an encoder of this identity computes in, `openvino-2026.4.1`; None where it does not."""
    match = _OPENVINO.search(identity)
    return match[0] if match else None


class _OnnxRuntimeModel:
    def __init__(self, onnxruntime: Any, model: Path | bytes) -> None:
        options = onnxruntime.SessionOptions()
        # One thread a batch, as `batches` says; threads of its own would also change the last bits.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        source = model if isinstance(model, bytes) else str(model)
        try:
            self._session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's errors have no public root
            raise OnnxModelLoadError(
                f"is not a model that onnxruntime can load: {format_first_error_line(error)}"
            ) from error
        self.inputs: Mapping[str, np.dtype[Any]] = {
            entry.name: np.dtype(entry.type[len("tensor(") : -1]) for entry in self._session.get_inputs()
        }
        self.outputs: Mapping[str, int] = {
            output.name: len(output.shape or ()) for output in self._session.get_outputs()
        }
        self.version = str(onnxruntime.__version__)

    def __call__(self, output: str, inputs: Arrays) -> NDArray[Any]:
        return np.asarray(self._session.run([output], dict(inputs))[0])


def _compile_in_openvino(openvino: Any, model: Path | bytes, *, forced: bool) -> _OpenVinoStreams | None:
    """The model in OpenVINO; None where it cannot be there, or might be another, and it was not asked for."""
    try:
        graph = openvino.Core().read_model(model if isinstance(model, bytes) else str(model))
        if forced or _has_backend_independent_types(graph):
            return _OpenVinoStreams(openvino, graph)
    except Exception as error:  # its errors are RuntimeError and what its parts raise
        if forced:
            raise OnnxModelLoadError(
                f"is not a model that OpenVINO can load: {format_first_error_line(error)}"
            ) from error
    return None


def _has_backend_independent_types(model: Any) -> bool:
    return all(
        out.get_element_type().get_type_name() in _SAME_IN_BOTH for node in model.get_ops() for out in node.outputs()
    )


class _OpenVinoStreams:
    """As many streams as there are cores, of one thread each; a call takes a free one."""

    def __init__(self, openvino: Any, model: Any) -> None:
        cores = available_cores()
        # Left to itself it computes in bfloat16 where the processor can.
        self._compiled = openvino.compile_model(model, "CPU", {
            "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": cores, "INFERENCE_NUM_THREADS": cores,
            "ENABLE_CPU_PINNING": False
        })  # fmt: skip
        self._free: deque[Any] = deque()
        self.inputs: Mapping[str, np.dtype[Any]] = {
            entry.get_any_name(): entry.get_element_type().to_dtype() for entry in self._compiled.inputs
        }
        self.outputs: Mapping[str, int] = {
            output.get_any_name(): len(output.get_partial_shape()) for output in self._compiled.outputs
        }
        self.version = f"openvino-{openvino.__version__.partition('-')[0]}"

    def __call__(self, output: str, inputs: Arrays) -> NDArray[Any]:
        try:
            request = self._free.pop()
        except IndexError:
            request = self._compiled.create_infer_request()
        try:
            return np.asarray(request.infer(dict(inputs), share_inputs=True)[output])
        finally:
            self._free.append(request)  # of a deque, whose ends need no lock


def _quantize_weights_to_int8(model: Path | bytes, asked: OnnxComputeOptions) -> bytes:
    """The model with the weights of its products as int8, a scale for each column; what they are multiplied with is
    rounded as it comes. 7 bits, because processors without VNNI add two products in 16."""
    try:
        import onnx
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError as error:
        raise ModelError(
            f"{asked.system} needs the package {error.name}, which is not installed.", mend=asked.mend
        ) from error
    try:
        whole = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(model)
        # Without this mark the quantiser warns, through the root logger, that the model was not run through its shape
        # inference, which does not know fused operators.
        whole.metadata_props.add(key="onnx.quant.pre_process", value="onnxruntime.quant")
        with TemporaryDirectory() as folder:
            path = Path(folder) / "int8.onnx"
            quantize_dynamic(
                whole, path, op_types_to_quantize=["MatMul", "Attention", "Gemm"], weight_type=QuantType.QInt8,
                per_channel=True, reduce_range=True, extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT}
            )  # fmt: skip
            return path.read_bytes()
    except Exception as error:  # the quantiser's errors have no root in common
        raise OnnxModelLoadError(f"cannot be quantized to int8: {format_first_error_line(error)}") from error


Weights = Mapping[str, NDArray[np.float32]]

VERSION = 1
"""Raised whenever the graph could give other bits; part of an encoder's identity."""

_FUSED = "com.microsoft"
# The epsilon of BERT's layer normalisation.
_EPSILON = 1e-12


def build_bert_onnx_graph(weights: Weights, heads: int) -> bytes:
    """The model as serialised ONNX: `input_ids` (batch, length) int32 to `hidden` (batch, length, dim).

    There is no attention mask and no token type: every text of a batch fills the whole length, so that its
    hidden states do not depend on the texts beside it. The fused operators are those of onnxruntime; GELU
    is the exact one (erf). `weights` has the tensor names of transformers' BertModel.
    """
    graph = _BertGraphBuilder(weights)
    hidden = graph.add_embeddings()
    layers = sum(name.endswith("attention.self.query.weight") for name in weights)
    for layer in range(layers):
        hidden = graph.add_layer(f"encoder.layer.{layer}.", hidden, heads)
    return graph.serialise_graph(hidden)


class _BertGraphBuilder:
    """Nodes and constants collected so far; every method adds some and gives the name of its output."""

    def __init__(self, weights: Weights) -> None:
        from onnx import helper, numpy_helper

        self._weights = weights
        self._helper = helper
        self._to_tensor = numpy_helper.from_array
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def add_embeddings(self) -> str:
        words = self._weights["embeddings.word_embeddings.weight"]
        # Every token has type 0, so its embedding joins the positions'.
        positions = (
            self._weights["embeddings.position_embeddings.weight"]
            + self._weights["embeddings.token_type_embeddings.weight"][0]
        )
        inputs = [
            "input_ids", "", self._add_constant("words", words), self._add_constant("positions", positions), "",
            *self._add_norm_weights_to_graph("embeddings.LayerNorm.")
        ]  # fmt: skip
        self._add_node("EmbedLayerNormalization", inputs, ["embedded", "mask_index"], epsilon=_EPSILON)
        return "embedded"

    def add_layer(self, prefix: str, hidden: str, heads: int) -> str:
        parts = [f"{prefix}attention.self.{part}." for part in ("query", "key", "value")]
        # The fused node takes the kernels of query, key and value side by side.
        kernel = np.concatenate([self._weights[part + "weight"] for part in parts]).T
        bias = np.concatenate([self._weights[part + "bias"] for part in parts])
        inputs = [hidden, self._add_constant(prefix + "qkv", kernel), self._add_constant(prefix + "qkv_bias", bias)]
        attended = self._add_node("Attention", inputs, [prefix + "attended"], num_heads=heads)
        hidden = self._project_and_add(prefix + "attention.output.", attended, hidden)
        wide = self._add_matmul(prefix + "intermediate.dense.", hidden)
        bias_name = self._add_weight_constant_to_graph(prefix + "intermediate.dense.bias")
        wide = self._add_node("BiasGelu", [wide, bias_name], [prefix + "gelu"])
        return self._project_and_add(prefix + "output.", wide, hidden)

    def serialise_graph(self, output: str) -> bytes:
        from onnx import TensorProto

        value = self._helper.make_tensor_value_info
        dim = len(self._weights["embeddings.LayerNorm.bias"])
        self._add_node("Identity", [output], ["hidden"], domain="")
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
            self._add_matmul(prefix + "dense.", wide),
            residual,
            *self._add_norm_weights_to_graph(prefix + "LayerNorm."),
            self._add_weight_constant_to_graph(prefix + "dense.bias"),
        ]
        return self._add_node("SkipLayerNormalization", inputs, [prefix + "out"], epsilon=_EPSILON)

    def _add_matmul(self, prefix: str, name: str) -> str:
        kernel = self._add_constant(prefix + "kernel", self._weights[prefix + "weight"].T)
        return self._add_node("MatMul", [name, kernel], [prefix + "product"], domain="")

    def _add_norm_weights_to_graph(self, prefix: str) -> list[str]:
        return [
            self._add_weight_constant_to_graph(prefix + "weight"),
            self._add_weight_constant_to_graph(prefix + "bias"),
        ]

    def _add_weight_constant_to_graph(self, name: str) -> str:
        return self._add_constant(name, self._weights[name])

    def _add_constant(self, name: str, array: NDArray[np.float32]) -> str:
        self._constants.append(self._to_tensor(np.ascontiguousarray(array, dtype=np.float32), name))
        return name

    def _add_node(
        self, operator: str, inputs: list[str], outputs: list[str], *, domain: str = _FUSED, **attributes: Any
    ) -> str:
        self._nodes.append(self._helper.make_node(operator, inputs, outputs, domain=domain, **attributes))
        return outputs[0]


Pooling = Literal["mean", "cls", "last", "max"]

_GRAPHS = ("model.onnx", "onnx/model.onnx")
_KNOWN_MODULES = {"Transformer", "Pooling", "Normalize"}
_POOLING_KEYS: Mapping[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_max_tokens": "max",
}
_POOLING_NAMES: Mapping[str, Pooling] = {"mean": "mean", "cls": "cls", "lasttoken": "last", "max": "max"}
_NO_LIMIT = 10**9
"""transformers writes a number near 1e30 for a tokenizer without a limit."""


@dataclass(frozen=True)
class OnnxModelFolder:
    """A model's folder, in the layout of sentence-transformers or of an export by optimum. Its methods raise
    ModelError, naming the file, for what is missing or cannot be read."""

    path: Path

    def graph(self, file: str | None = None) -> Path | None:
        """The ONNX file: `file`, else model.onnx here or in onnx/; None where there is none."""
        names = _GRAPHS if file is None else (file,)
        return next((self.path / name for name in names if (self.path / name).is_file()), None)

    def tokenizer(self) -> Path:
        """The path of the tokenizer's file, tokenizer.json."""
        path = self.path / "tokenizer.json"
        if not path.is_file():
            raise ModelError(
                f"{path} is missing, so texts cannot be tokenized.",
                mend="Save it with transformers: AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER).",
            )
        return path

    def read_pooling(self) -> Pooling | None:
        """How token vectors become one, as 1_Pooling/config.json has it; None where it is not said."""
        name = self._find_module_folder("Pooling", "1_Pooling") + "/config.json"
        config = self.read(name)
        if not config:
            return None
        # The mode is either named, or has a switch that is on.
        mode = config.get("pooling_mode")
        chosen = [mode] if mode is not None else [key for key, on in config.items() if on is True]
        modes = [key for key in chosen if key.startswith("pooling_mode") or mode is not None]
        names = {**_POOLING_KEYS, **_POOLING_NAMES}
        if config.get("include_prompt") is False:
            modes.append("include_prompt false")
        if len(modes) != 1 or modes[0] not in names:
            raise ModelError(
                f"{self.path / name} requests {' with '.join(modes) or 'no pooling'}, which is not one of "
                f"{', '.join(_POOLING_NAMES)}.",
                mend="Use st:./folder, which needs torch.",
            )
        return names[modes[0]]

    def has_normalize_module(self) -> bool:
        """Whether modules.json has a module that brings vectors to length 1."""
        return any(kind == "Normalize" for kind, _ in self.list_module_kinds_and_folders())

    def list_module_kinds_and_folders(self) -> list[tuple[str, str]]:
        """Kind and folder of each module of modules.json; none where there is no such file."""
        listed = self.read("modules.json", list)
        modules = [(str(part.get("type", "")).rpartition(".")[2], str(part.get("path", ""))) for part in listed]
        unknown = [kind for kind, _ in modules if kind not in _KNOWN_MODULES]
        if unknown:
            raise ModelError(
                f"{self.path / 'modules.json'} has modules that onnx: cannot run: {', '.join(unknown)}.",
                mend="Use st:./folder, which needs torch.",
            )
        return modules

    def max_tokens(self) -> int | None:
        """The limit in tokens: that of sentence_bert_config.json, else of tokenizer_config.json, if any."""
        for name, key in (
            ("sentence_bert_config.json", "max_seq_length"),
            ("tokenizer_config.json", "model_max_length"),
        ):
            limit = self.read(name).get(key)
            if isinstance(limit, int) and limit < _NO_LIMIT:
                return limit
        return None

    def is_lower_case_wanted(self) -> bool:
        """Whether sentence_bert_config.json wants texts in lower case."""
        return bool(self.read("sentence_bert_config.json").get("do_lower_case"))

    def prompts(self) -> tuple[dict[str, str | None], str | None]:
        """The prompts of config_sentence_transformers.json by name, and the name of the default one."""
        config = self.read(OF_LIBRARY)
        shipped = config.get("prompts")
        own = complete_model_prompts_by_role(shipped if isinstance(shipped, dict) else {})
        return own, config.get("default_prompt_name")

    def similarity(self) -> str:
        """How config_sentence_transformers.json says that vectors are compared; by default the cosine."""
        name = self.read(OF_LIBRARY).get("similarity_fn_name")
        return name if isinstance(name, str) and name else "cosine"

    def read(self, name: str, kind: type = dict) -> Any:
        """A JSON file as `kind`; an empty one where there is no such file."""
        path = self.path / name
        if not path.is_file():
            return kind()
        try:
            content = parse_bounded_json(path.read_text("utf-8"), halves=True)
        except (OSError, ValueError) as error:
            raise ModelError(f"{path} cannot be read: {error}.") from error
        if not isinstance(content, kind):
            raise ModelError(f"{path} should contain {kind.__name__}, found {type(content).__name__}.")
        return content

    def _find_module_folder(self, kind: str, usual: str) -> str:
        return next((path for name, path in self.list_module_kinds_and_folders() if name == kind), usual)


def open_onnx_folder(target: str) -> OnnxModelFolder:
    """The folder `target`; UsageError where none is named, ModelError where there is none."""
    path = Path(target).expanduser()
    if not target:
        raise UsageError("onnx needs a folder.", mend="Write onnx:./folder.")
    if not path.is_dir():
        raise ModelError(
            f"There is no folder {target}.",
            mend="onnx: needs a folder with model.onnx and tokenizer.json; for a model on the hub, use st:ORG/MODEL.",
        )
    return OnnxModelFolder(path)


_EXPORT = "Export it: optimum-cli export onnx --model MODEL --task feature-extraction FOLDER."
_PLAIN_BERT = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
}
"""What `build_bert_onnx_graph` can build; a key that is left out has transformers' default, which is this."""


class OnnxGraph:
    """An ONNX model, and how its inputs are made from tokens.

    `gives_sentences` says whether its output is one vector per text; otherwise it is one per token. ModelError
    when it wants or gives what is not known here.
    """

    _inputs = ("input_ids", "attention_mask", "token_type_ids", "position_ids")

    def __init__(self, graph: LoadedOnnxModel, origin: Path) -> None:
        self.origin = origin
        self.version = graph.version
        self._graph = graph
        unknown = set(graph.inputs) - set(self._inputs)
        if unknown:
            raise ModelError(
                f"{origin} needs unknown inputs: {', '.join(sorted(unknown))}.",
                mend="Export it for feature extraction: optimum-cli export onnx --task feature-extraction.",
            )
        self._output = self._choose_graph_output(graph.outputs)

    def __call__(self, encodings: Sequence[Encoding]) -> NDArray[Any]:
        """The output for texts with equally many tokens: (n, length, dim) or (n, dim)."""
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        possible = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([encoding.type_ids for encoding in encodings], dtype=np.int64),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        inputs = {name: possible[name].astype(kind) for name, kind in self._graph.inputs.items()}
        try:
            return self._graph(self._output, inputs)
        except Exception as error:  # the errors of onnxruntime and OpenVINO have no public root
            reason = format_first_error_line(error)
            raise ModelError(f"{self.origin} failed on texts of {ids.shape[1]} tokens: {reason}") from error

    def _choose_graph_output(self, ranks: Mapping[str, int]) -> str:
        """The sentence vectors if the graph has them, else the first output of one vector per token."""
        sentences = [
            name for name, rank in ranks.items() if rank == 2 and (name == "sentence_embedding" or len(ranks) == 1)
        ]
        tokens = [name for name, rank in ranks.items() if rank == 3]
        self.gives_sentences = bool(sentences)
        if not sentences and not tokens:
            raise ModelError(f"{self.origin} outputs neither token nor sentence vectors, but {', '.join(ranks)}.")
        return (sentences or tokens)[0]


def open_onnx_graph(folder: OnnxModelFolder, asked: OnnxComputeOptions, file: str | None = None) -> OnnxGraph:
    """The folder's graph: `file`, else model.onnx, else one made from model.safetensors; computed as `asked`.
    ModelError where none of them is there or can be used."""
    path = folder.graph(file)
    if path is not None:
        return _load_onnx_graph(path, path, asked)
    if file is not None:
        raise ModelError(f"{folder.path / file} is missing.")
    weights, config = folder.path / "model.safetensors", folder.read("config.json")
    if not weights.is_file():
        raise ModelError(f"{folder.path / 'model.onnx'} is missing, and so is onnx/model.onnx.", mend=_EXPORT)
    differing = [f"{key} {config.get(key)}" for key, value in _PLAIN_BERT.items() if config.get(key, value) != value]
    if differing or "model_type" not in config:
        raise ModelError(
            f"{folder.path} has no model.onnx, and a graph can be built from safetensors only for plain BERT, not "
            f"for {', '.join(differing) or 'an unknown model'}.",
            mend=_EXPORT,
        )
    return _load_onnx_graph(_build_bert_model(weights, int(config["num_attention_heads"]), asked), weights, asked)


def _build_bert_model(path: Path, heads: int, asked: OnnxComputeOptions) -> bytes:
    from safetensors.numpy import load_file

    weights = load_file(path)
    prefix = "bert." if "bert.embeddings.word_embeddings.weight" in weights else ""
    try:
        return build_bert_onnx_graph({name.removeprefix(prefix): value for name, value in weights.items()}, heads)
    except KeyError as error:
        raise ModelError(f"{path} has no tensor {error}, so it is not a plain BERT model.") from error
    except ImportError as error:
        raise ModelError(
            f"{asked.system} needs the package {error.name}, which is not installed.", mend=asked.mend
        ) from error


def _load_onnx_graph(model: Path | bytes, origin: Path, asked: OnnxComputeOptions) -> OnnxGraph:
    try:
        return OnnxGraph(load_onnx_model(model, asked), origin)
    except OnnxModelLoadError as error:
        raise ModelError(f"{origin} {error}") from error
