"""ONNX folders: MiniLM against minilm and torch, and small graphs whose vectors are known by hand."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from embassay.errors import ModelError, UsageError
from embassay.protocols.kernel.inputs import open_bare_encoder
from embassay.systems.encoders import batches
from embassay.systems.encoders.onnx import OnnxEncoder

pytestmark = pytest.mark.skipif(
    not all(find_spec(name) for name in ("onnx", "onnxruntime")), reason="needs the onnx extra"
)
WORDS = ["[UNK]", "[CLS]", "one", "two", "ten"]
TABLE = np.array([[0, 0], [1, 1], [2, 0], [0, 4], [-3, 6]], dtype=np.float32)


@pytest.fixture(scope="module")
def exported(tmp_path_factory, minilm_folder):
    """MiniLM as an ONNX folder: the graph made from its weights, without the weights themselves."""
    from safetensors.numpy import load_file

    from embassay.systems.encoders.onnx_model import build_bert_onnx_graph

    folder = tmp_path_factory.mktemp("onnx") / "model"
    shutil.copytree(minilm_folder, folder)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(
        build_bert_onnx_graph(load_file(folder / "model.safetensors"), heads=12)
    )
    (folder / "model.safetensors").unlink()
    return folder


def write_tiny(folder: Path, output: str = "last_hidden_state", extra_input: str = "") -> Path:
    """A model whose token vectors are rows of TABLE plus a hundredth of their position, times the mask; with
    `sentence_embedding` their sum over the text."""
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    value, node = helper.make_tensor_value_info, helper.make_node
    nodes = [
        node("Gather", ["table", "input_ids"], ["words"]),
        node("Cast", ["position_ids"], ["place"], to=TensorProto.FLOAT),
        node("Mul", ["place", "hundredth"], ["small"]),
        node("Unsqueeze", ["small", "last"], ["wide"]),
        node("Add", ["words", "wide"], ["placed"]),
        node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["seen", "last"], ["seen_wide"]),
        node("Mul", ["placed", "seen_wide"], ["hidden"]),
        node("ReduceSum", ["hidden", "middle"], [output], keepdims=0)
        if output == "sentence_embedding"
        else node("Identity", ["hidden"], [output]),
    ]
    shape = ["n", 2] if output == "sentence_embedding" else ["n", "length", 2]
    inputs = ["input_ids", "attention_mask", "position_ids", *([extra_input] if extra_input else [])]
    graph = helper.make_graph(
        nodes, "tiny", [value(name, TensorProto.INT64, ["n", "length"]) for name in inputs],
        [value(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(array, name) for name, array in (
            ("table", TABLE), ("hundredth", np.float32(0.01)), ("last", np.array([2])), ("middle", np.array([1])),
        )],
    )  # fmt: skip
    folder.mkdir(exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    tokenizer = Tokenizer(models.WordLevel({word: row for row, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 1)])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def write_json(folder: Path, **files: object) -> Path:
    """JSON files by name, `__` for a folder."""
    for name, content in files.items():
        path = folder / (name.replace("__", "/") + ".json")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    return folder


@pytest.fixture
def tiny(tmp_path):
    return write_tiny(tmp_path / "tiny")


@pytest.mark.slow
@pytest.mark.minilm
def test_minilm_as_onnx_gives_the_vectors_of_minilm(exported, varied_texts):
    """A text's vector is the same to 1e-6; so are dimensions, limit and the texts that are cut."""
    from embassay.systems.encoders.minilm import MiniLMEncoder

    encoder, minilm = OnnxEncoder(str(exported)), MiniLMEncoder()
    np.testing.assert_allclose(encoder.encode(varied_texts), minilm.encode(varied_texts), rtol=0, atol=1e-6)
    assert (encoder.dim, encoder.max_tokens, encoder.uses_roles) == (384, 256, False)
    assert encoder.count_truncated(varied_texts) == 1
    assert encoder.encode([]).shape == (0, 384)


@pytest.mark.minilm
@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_minilm_as_onnx_gives_the_vectors_of_torch(exported, minilm_folder, varied_texts):
    """To 1e-4 at least; in fact to a few 1e-7."""
    pytest.importorskip("sentence_transformers")
    from embassay.systems.encoders.sentence_transformers import SentenceTransformer

    torch = SentenceTransformer(str(minilm_folder), device="cpu").encode(varied_texts)
    np.testing.assert_allclose(OnnxEncoder(str(exported)).encode(varied_texts), torch, rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.minilm
def test_a_plain_bert_needs_no_graph(exported, minilm_folder, varied_texts):
    """The graph is made from its safetensors, with the same bits."""
    without = OnnxEncoder(str(minilm_folder))
    assert np.array_equal(without.encode(varied_texts), OnnxEncoder(str(exported)).encode(varied_texts))
    assert without.identity != OnnxEncoder(str(exported)).identity


@pytest.mark.minilm
def test_a_vector_does_not_depend_on_company_or_cores(exported, varied_texts, monkeypatch):
    """The same bits alone, in any company and order, and on one core."""
    encoder = OnnxEncoder(str(exported))
    together = encoder.encode(varied_texts)
    monkeypatch.setattr(batches, "count_cores", lambda: 1)
    assert np.array_equal(together, np.concatenate([encoder.encode([text]) for text in varied_texts]))


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        # [CLS] one two: (1, 1), (2.01, .01), (.02, 4.02)
        ("mean", [1.01, 1.6766667]),
        ("cls", [1, 1]),
        ("last", [0.02, 4.02]),
        ("max", [2.01, 4.02]),
    ],
)
def test_pooling(pooling, expected, tiny):
    """Worked out by hand; what the folder's configuration says and what a parameter says do the same."""
    found = OnnxEncoder(str(tiny), pooling=pooling).encode(["one two"])
    np.testing.assert_allclose(found, [expected], rtol=1e-6)
    key = {"mean": "mean_tokens", "cls": "cls_token", "last": "lasttoken", "max": "max_tokens"}[pooling]
    write_json(tiny, **{"1_Pooling__config": {f"pooling_mode_{key}": True, "include_prompt": True}})
    assert np.array_equal(OnnxEncoder(str(tiny)).encode(["one two"]), found)
    write_json(tiny, **{"1_Pooling__config": {"pooling_mode": "lasttoken" if pooling == "last" else pooling}})
    assert np.array_equal(OnnxEncoder(str(tiny)).encode(["one two"]), found)


def test_modules_normalize(tiny):
    """(1, 1) at length 1; the pooling's folder is the one that modules.json names."""
    kinds = {"": "models.Transformer", "pool": "models.Pooling", "2_Normalize": "models.Normalize"}
    write_json(
        tiny,
        modules=[{"path": path, "type": f"sentence_transformers.{kind}"} for path, kind in kinds.items()],
        pool__config={"pooling_mode_cls_token": True},
    )
    np.testing.assert_allclose(OnnxEncoder(str(tiny)).encode(["ten"]), [[0.5**0.5, 0.5**0.5]], rtol=1e-6)


def test_sentence_vectors_are_taken_as_they_are(tmp_path):
    """A graph that pools by itself needs no configuration: (1, 1) + (2.01, .01)."""
    folder = write_tiny(tmp_path / "tiny", output="sentence_embedding")
    np.testing.assert_allclose(OnnxEncoder(str(folder)).encode(["one"]), [[3.01, 1.01]], rtol=1e-6)


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({}, None),
        ({"tokenizer_config": {"model_max_length": 1e30}}, None),
        ({"tokenizer_config": {"model_max_length": 3}}, 3),
        ({"tokenizer_config": {"model_max_length": 3}, "sentence_bert_config": {"max_seq_length": 2}}, 2),
    ],
)
def test_limit(files, limit, tiny):
    """The most particular file wins; what is cut is counted, prompts too."""
    encoder = OnnxEncoder(str(write_json(tiny, **files)), pooling="last")
    assert encoder.max_tokens == limit
    assert encoder.count_truncated(["one", "one two", "one two ten"]) == {None: 0, 3: 1, 2: 2}[limit]
    if limit:
        assert np.array_equal(encoder.encode(["one two ten"]), encoder.encode(["one two"[: 3 if limit == 2 else 7]]))
        prompted = OnnxEncoder(str(tiny), pooling="last", query_prompt="one ")
        assert prompted.count_truncated(["one", "one two"]) == {3: 1, 2: 2}[limit]
    assert OnnxEncoder(str(tiny), pooling="last", max_length=9).max_tokens == 9


def test_prompts_and_lower_case(tiny):
    """As sentence-transformers configures them."""
    write_json(
        tiny,
        config_sentence_transformers={"prompts": {"query": "ONE ", "doc": "x"}, "default_prompt_name": "doc"},
        sentence_bert_config={"do_lower_case": True},
    )
    encoder = OnnxEncoder(str(tiny), pooling="max", document_prompt="")
    assert encoder.uses_roles
    plain = OnnxEncoder(str(tiny), pooling="max", query_prompt="", document_prompt="", prompt="")
    assert not plain.uses_roles
    assert np.array_equal(encoder.encode(["TEN"], role="query"), plain.encode(["one ten"]))
    assert np.array_equal(encoder.encode(["TEN"], role="document"), plain.encode(["ten"]))


def test_the_prompt_for_a_task_and_weights_that_are_loaded_once(tiny):
    """`task=` is one of a few; where the model ships no prompt for it nothing changes, and nothing is encoded twice."""
    write_json(tiny, config_sentence_transformers={"prompts": {"STS": "one ", "query": "two "}})
    plain, sts, clustering = (
        open_bare_encoder(f"onnx:{tiny}?pooling=max{more}", "words", 1)
        for more in ("", "&task=sts", "&task=clustering")
    )
    assert np.array_equal(sts.encode(["ten"]), plain.encode(["one ten"]))
    assert np.array_equal(sts.encode(["ten"], role="query"), plain.encode(["ten"], role="query"))
    assert sts._run is plain._run
    assert sts.identity != plain.identity == clustering.identity
    with pytest.raises(UsageError, match="task"):
        open_bare_encoder(f"onnx:{tiny}?pooling=max&task=stss", "words", 1)


def test_identity_is_the_content_and_the_parameters(tiny, tmp_path):
    """Not the path."""
    first = OnnxEncoder(str(tiny), pooling="cls").identity
    shutil.copytree(tiny, tmp_path / "copy")
    assert OnnxEncoder(str(tmp_path / "copy"), pooling="cls").identity == first
    others = [OnnxEncoder(str(tiny), pooling="max"), OnnxEncoder(str(tiny), pooling="cls", max_length=5)]
    others += [OnnxEncoder(str(tiny), pooling="cls", prompt="one ")]
    assert len({first, *(one.identity for one in others)}) == 4


class TestWhatIsMissing:
    """One line that names the file and what to do."""

    def refused(self, message, folder, error=ModelError, **parameters):
        with pytest.raises(error, match=message) as caught:
            OnnxEncoder(str(folder), **parameters)
        assert "\n" not in str(caught.value)

    def test_folder(self, tmp_path):
        self.refused(r"no folder .*nothing.*with model\.onnx and tokenizer\.json", tmp_path / "nothing")
        self.refused("needs a folder", "", UsageError)

    def test_graph(self, tiny):
        self.refused(r"other\.onnx is missing", tiny, file="other.onnx")
        (tiny / "model.onnx").write_bytes(b"not a graph")
        self.refused(r"model\.onnx is not a model that onnxruntime can load", tiny)
        (tiny / "model.onnx").unlink()
        self.refused(r"model\.onnx is missing.*optimum-cli export", tiny)
        (tiny / "model.safetensors").touch()
        write_json(tiny, config={"model_type": "mpnet", "hidden_act": "gelu"})
        self.refused("only for plain BERT, not for model_type mpnet", tiny)

    def test_tensor(self, tiny):
        from safetensors.numpy import save_file

        (tiny / "model.onnx").unlink()
        save_file({"x": np.zeros(2, dtype=np.float32)}, tiny / "model.safetensors")
        write_json(tiny, config={"model_type": "bert", "num_attention_heads": 2})
        self.refused("has no tensor 'embeddings", tiny)

    def test_tokenizer(self, tiny):
        (tiny / "tokenizer.json").write_text("{}")
        self.refused(r"tokenizer\.json cannot be read as a tokenizer", tiny, pooling="cls")
        (tiny / "tokenizer.json").unlink()
        self.refused(r"tokenizer\.json is missing.*save_pretrained", tiny, pooling="cls")

    def test_pooling(self, tiny):
        self.refused(r"1_Pooling/config\.json is missing.*\?pooling=mean, cls or last", tiny)
        write_json(tiny, **{"1_Pooling__config": {"pooling_mode_weightedmean_tokens": True}})
        self.refused(r"config\.json requests pooling_mode_weightedmean_tokens.*st:\./folder", tiny)
        write_json(tiny, **{"1_Pooling__config": {"pooling_mode": "mean", "include_prompt": False}})
        self.refused("mean with include_prompt false", tiny)

    def test_module(self, tiny):
        write_json(tiny, modules=[{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])
        self.refused(r"modules\.json has modules that onnx: cannot run: Dense", tiny)

    def test_broken_configuration(self, tiny):
        (tiny / "modules.json").write_text("[")
        self.refused(r"modules\.json cannot be read", tiny)
        (tiny / "modules.json").write_text("{}")
        self.refused(r"modules\.json should contain list, found dict", tiny)

    def test_inputs_and_outputs(self, tmp_path):
        folder = write_tiny(tmp_path / "past", extra_input="past_key_values")
        self.refused("unknown inputs: past_key_values.*feature-extraction", folder, pooling="last")

    def test_limit(self, tiny):
        self.refused("max_length=1 leaves no room", tiny, UsageError, pooling="cls", max_length=1)

    def test_extra(self, tiny, monkeypatch):
        for package in ("onnxruntime", "openvino"):
            monkeypatch.setitem(sys.modules, package, None)
        self.refused(r"needs the package onnxruntime.*embassay\[onnx\]", tiny)
