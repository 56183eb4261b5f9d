"""What computes an ONNX model on the processor: onnxruntime, or OpenVINO, which is faster and gives the same to 1e-5.

Each call runs on one thread, that of a batch (`batches`), so the bits do not depend on the number of cores. Which
backend it was is part of an encoder's identity. OpenVINO is taken by itself where it is installed, but only for graphs
of float32, which both compute alike; `$EMBASSAY_BACKEND` says otherwise for all models of a machine. Weights become
int8 only where that is asked for, and then in onnxruntime.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError, UsageError
from embassay.systems.encoders.batches import available_cores
from embassay.systems.weights import first_line

Backend = Literal["auto", "onnx", "openvino"]
Precision = Literal["float32", "int8"]
Arrays = Mapping[str, NDArray[Any]]

VARIABLE = "EMBASSAY_BACKEND"
_SAME_IN_BOTH = {"f32", "i32", "i64", "boolean", "string"}
"""OpenVINO computes half precision and quantised weights in another way than onnxruntime."""
_OPENVINO = re.compile(r"openvino-[\w.]+")


@dataclass(frozen=True)
class Asked:
    """How a model shall be computed, as its spec string has it; `system` is its name, for messages, and `beside` the
    command that goes with the extra's. UsageError for what cannot be."""

    system: str
    backend: Backend = "auto"
    weights: Precision = "float32"
    beside: str = ""

    def __post_init__(self) -> None:
        if self.weights == "int8" and self.backend == "openvino":
            raise UsageError(
                f"{self.system!r} has int8 weights, and those are computed in onnxruntime.",
                mend="Leave backend=openvino out.",
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
        here = os.environ.get(VARIABLE, "").strip().lower() or "auto"
        if here not in get_args(Backend):
            raise UsageError(
                f"{VARIABLE} is {here!r}, which is no backend.", mend="Set it to auto, onnx or openvino."
            )
        if self.weights == "int8":
            return "onnx"
        return here if self.backend == "auto" else self.backend  # type: ignore[return-value]


class Unusable(Exception):
    """A model that cannot be loaded; what is wrong, to stand behind the name of its file."""


class Computed(Protocol):
    """A loaded model. `inputs` are its inputs with their types, `outputs` its outputs with their ranks, `version` what
    computes it."""

    inputs: Mapping[str, np.dtype[Any]]
    outputs: Mapping[str, int]
    version: str

    def __call__(self, output: str, inputs: Arrays) -> NDArray[Any]:
        """One of the outputs; threads may call at the same time."""
        ...


def load_graph(model: Path | bytes, asked: Asked) -> Computed:
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
            if (found := _in_openvino(openvino, model, forced=backend == "openvino")) is not None:
                return found
    try:
        import onnxruntime
    except ImportError as error:
        raise ModelError(
            f"{asked.system} needs the package {error.name}, which is not installed.", mend=asked.mend
        ) from error
    return _OnnxRuntime(onnxruntime, _int8(model, asked) if asked.weights == "int8" else model)


def openvino_of(identity: str) -> str | None:
    """The OpenVINO that an encoder of this identity computes in, `openvino-2026.4.1`; None where it does not."""
    found = _OPENVINO.search(identity)
    return found[0] if found else None


class _OnnxRuntime:
    def __init__(self, onnxruntime: Any, model: Path | bytes) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        given = model if isinstance(model, bytes) else str(model)
        try:
            self._session = onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's errors have no public root
            raise Unusable(f"is no model that onnxruntime can load: {first_line(error)}") from error
        self.inputs: Mapping[str, np.dtype[Any]] = {
            one.name: np.dtype(one.type[len("tensor(") : -1]) for one in self._session.get_inputs()
        }
        self.outputs: Mapping[str, int] = {
            one.name: len(one.shape or ()) for one in self._session.get_outputs()
        }
        self.version = str(onnxruntime.__version__)

    def __call__(self, output: str, inputs: Arrays) -> NDArray[Any]:
        return np.asarray(self._session.run([output], dict(inputs))[0])


def _in_openvino(openvino: Any, model: Path | bytes, *, forced: bool) -> _OpenVino | None:
    """The model in OpenVINO; None where it cannot be there, or might be another, and it was not asked for."""
    try:
        found = openvino.Core().read_model(model if isinstance(model, bytes) else str(model))
        if forced or _is_plain(found):
            return _OpenVino(openvino, found)
    except Exception as error:  # its errors are RuntimeError and what its parts raise
        if forced:
            raise Unusable(f"is no model that OpenVINO can load: {first_line(error)}") from error
    return None


def _is_plain(model: Any) -> bool:
    return all(
        out.get_element_type().get_type_name() in _SAME_IN_BOTH
        for node in model.get_ops()
        for out in node.outputs()
    )


class _OpenVino:
    """As many streams as there are cores, of one thread each; a call takes a free one."""

    def __init__(self, openvino: Any, model: Any) -> None:
        cores = available_cores()
        # Left to itself it computes in bfloat16 where the processor can.
        self._compiled = openvino.compile_model(model, "CPU", {
            "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": cores, "INFERENCE_NUM_THREADS": cores,
            "ENABLE_CPU_PINNING": False,
        })  # fmt: skip
        self._free: deque[Any] = deque()
        self.inputs: Mapping[str, np.dtype[Any]] = {
            one.get_any_name(): one.get_element_type().to_dtype() for one in self._compiled.inputs
        }
        self.outputs: Mapping[str, int] = {
            one.get_any_name(): len(one.get_partial_shape()) for one in self._compiled.outputs
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
            self._free.append(request)


def _int8(model: Path | bytes, asked: Asked) -> bytes:
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
            made = Path(folder) / "int8.onnx"
            quantize_dynamic(
                whole, made, op_types_to_quantize=["MatMul", "Attention", "Gemm"], weight_type=QuantType.QInt8,
                per_channel=True, reduce_range=True, extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
            )  # fmt: skip
            return made.read_bytes()
    except Exception as error:  # the quantiser's errors have no root in common
        raise Unusable(f"cannot have int8 weights: {first_line(error)}") from error
