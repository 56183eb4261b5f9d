"""SPLADE and ColBERT models made here, beside the library's own scores; what was not trained is refused."""

from __future__ import annotations

import json
import shutil
import string

import numpy as np
import pytest

from embassay.errors import ModelError
from embassay.systems import open_system
from embassay.systems.encoders.colbert import ColbertEncoder
from embassay.systems.encoders.splade import SpladeEncoder, select_active_terms
from embassay.systems.rerankers import open_reranker
from embassay.text import open_tokenizer

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
TEXTS = [
    "The red fox sleeps in its den.",
    "Where does the fox sleep, and why there?",
    "Stock prices fell again on Tuesday!",
    "naïve café, 東京",
    "word " * 90,
]
QUERIES = ["where does the red fox sleep", "prices"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory, minilm_folder):
    """A random BERT of one layer, with and without a head for words."""
    pytest.importorskip("sentence_transformers")
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, BertModel

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(str(minilm_folder))
    size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    config = BertConfig(max_position_embeddings=64, **size)
    folder = tmp_path_factory.mktemp("bert")
    for name, model in (("words", BertForMaskedLM(config)), ("plain", BertModel(config))):
        if name == "words":
            model.cls.predictions.bias.data.fill_(-0.4)
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return folder


@pytest.fixture(scope="module")
def splade(parts):
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling

    model = SparseEncoder(modules=[MLMTransformer(str(parts / "words")), SpladePooling()], device="cpu")
    model.max_seq_length = 48
    model.save_pretrained(str(parts / "splade"))
    return parts / "splade"


@pytest.fixture(scope="module")
def colbert(parts):
    import torch
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.base.modules.dense import Dense
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    torch.manual_seed(1)
    at = {"module_input_name": "token_embeddings"}
    model = MultiVectorEncoder(
        modules=[
            Transformer(str(parts / "plain")), Dense(32, 8, bias=False, activation_function=torch.nn.Identity(), **at),
            MultiVectorMask(skiplist_words=list(string.punctuation)), Normalize(**at),
        ],
        device="cpu", prompts={"query": "[Q] ", "document": "[D] "},
    )  # fmt: skip
    model.save_pretrained(str(parts / "colbert"))
    return parts / "colbert"


@pytest.fixture(scope="module")
def pylate(colbert, parts):
    """The same weights as PyLate saves them: a transformer and its own Dense, everything else in one configuration."""
    folder = parts / "pylate"
    shutil.copytree(colbert, folder)
    for name in ("2_MultiVectorMask", "3_Normalize"):
        shutil.rmtree(folder / name)
    (folder / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
    ]))  # fmt: skip
    (folder / "1_Dense" / "config.json").write_text(json.dumps(
        {"in_features": 32, "out_features": 8, "bias": False, "activation_function": "torch.nn.modules.linear.Identity"}
    ))  # fmt: skip
    (folder / "config_sentence_transformers.json").write_text(json.dumps({
        "model_type": "ColBERT", "prompts": {}, "default_prompt_name": None, "similarity_fn_name": "MaxSim",
        "query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 32, "document_length": 40,
        "do_query_expansion": True, "attend_to_expansion_tokens": False, "skiplist_words": list(string.punctuation),
    }))  # fmt: skip
    return folder


def library_scores(kind, folder):
    """Every query and document by the library itself."""
    import sentence_transformers as library

    model = getattr(library, kind)(str(folder), device="cpu")
    return np.asarray(model.similarity(model.encode_query(QUERIES), model.encode_document(TEXTS)).cpu())


def searched(spec):
    """The same by our search, as a matrix."""
    found = open_system(spec, tokenizer=open_tokenizer("words")).search(QUERIES, TEXTS, len(TEXTS))
    out = np.empty(found.scores.shape)
    np.put_along_axis(out, found.indices, found.scores, axis=1)
    return out


def test_splade_scores_are_the_librarys(splade):
    """To 1e-5 of the score, and as many terms; the largest of them where that is asked for."""
    theirs = library_scores("SparseEncoder", splade)
    np.testing.assert_allclose(searched(f"splade:{splade}"), theirs, rtol=1e-5, atol=1e-6)
    model = SpladeEncoder(str(splade))
    assert (model.dim, model.max_tokens, model.similarity) == (30522, 48, "dot")
    assert model.count_truncated(TEXTS) == 1
    few = SpladeEncoder(str(splade), max_active=20)
    for whole, cut in zip(model.encode(TEXTS), few.encode(TEXTS), strict=True):
        assert len(cut) == 20 < len(whole)
        assert set(cut[:, 1]) <= set(whole[:, 1])
        assert cut[:, 1].min() >= np.sort(whole[:, 1])[-20]
    assert few.identity != model.identity


def test_a_graph_gives_the_same_weights_without_torch(splade, parts):
    """Logits of an export, pooled here."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from safetensors.numpy import load_file

    folder = parts / "splade-onnx"
    shutil.copytree(splade, folder)
    (folder / "model.safetensors").unlink()
    (folder / "model.onnx").write_bytes(_logits(onnx, load_file(splade / "model.safetensors")))
    torch_rows, graph_rows = SpladeEncoder(str(splade)), SpladeEncoder(str(folder))
    assert graph_rows.identity != torch_rows.identity
    assert graph_rows.max_tokens == 48
    for one, other in zip(torch_rows.encode(TEXTS), graph_rows.encode(TEXTS), strict=True):
        assert set(one[:, 0]) == set(other[:, 0])
        np.testing.assert_allclose(one[:, 1], other[:, 1], rtol=1e-4, atol=1e-5)
    assert graph_rows.count_truncated(TEXTS) == 1


def _logits(onnx, weights):
    """The graph of a BERT with its head for words: what `build_bert_onnx_graph` makes of the encoder, and the head
    behind it."""
    from embassay.systems.encoders.onnx_model import build_bert_onnx_graph

    weights = {name.removeprefix("bert."): value for name, value in weights.items()}
    model = onnx.load_from_string(build_bert_onnx_graph(weights, 2))
    helper, graph = onnx.helper, model.graph
    head = {
        "dense": weights["cls.predictions.transform.dense.weight"].T,
        "dense_bias": weights["cls.predictions.transform.dense.bias"],
        "scale": weights["cls.predictions.transform.LayerNorm.weight"],
        "shift": weights["cls.predictions.transform.LayerNorm.bias"],
        "words_out": weights["embeddings.word_embeddings.weight"].T,
        "words_bias": weights["cls.predictions.bias"],
    }
    for name, value in head.items():
        graph.initializer.append(onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
    graph.node.extend([
        helper.make_node("MatMul", ["hidden", "dense"], ["d1"]),
        helper.make_node("BiasGelu", ["d1", "dense_bias"], ["d2"], domain="com.microsoft"),
        helper.make_node("LayerNormalization", ["d2", "scale", "shift"], ["d3"], epsilon=1e-12, axis=-1),
        helper.make_node("MatMul", ["d3", "words_out"], ["d4"]),
        helper.make_node("Add", ["d4", "words_bias"], ["logits"]),
    ])  # fmt: skip
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["batch", "length", 30522]))
    return model.SerializeToString()


def test_colbert_scores_are_the_librarys_as_system_and_as_reranker(colbert):
    """To 1e-5, with the trained projection, the query's mark and the skipped punctuation."""
    theirs = library_scores("MultiVectorEncoder", colbert)
    np.testing.assert_allclose(searched(f"colbert:{colbert}"), theirs, rtol=0, atol=1e-5)
    reranker = open_reranker(f"multi:{colbert}", tokenizer=open_tokenizer("words"))
    np.testing.assert_allclose(reranker.score(QUERIES[0], TEXTS), theirs[0], rtol=0, atol=1e-5)
    assert reranker.score(QUERIES[0], []).shape == (0,)
    assert reranker.score("fox", ["", "fox"]).argmax() == 1
    model = ColbertEncoder(str(colbert))
    # [CLS], d of the mark, fox, fox and [SEP]: brackets and full stop are skipped.
    assert model.dim == 8
    assert model.encode(["fox. fox"])[0].shape == (5, 8)


def test_pylates_folders_are_read_without_pylate(pylate):
    """With queries filled up to 32 tokens, as they were trained."""
    theirs = library_scores("MultiVectorEncoder", pylate)
    np.testing.assert_allclose(searched(f"colbert:{pylate}"), theirs, rtol=0, atol=1e-5)
    model = ColbertEncoder(str(pylate))
    assert model.encode(["fox"], role="query")[0].shape == (32, 8)
    assert model.max_tokens == 40


def test_vectors_depend_on_no_other_text(colbert, splade):
    """The same bits alone and among others, in any order."""
    for model in (ColbertEncoder(str(colbert)), SpladeEncoder(str(splade))):
        together = model.encode(TEXTS)
        for text, rows in zip(TEXTS[::-1], together[::-1], strict=True):
            np.testing.assert_array_equal(model.encode([text])[0], rows)
        chunks = dict(model.encode_together([[text] for text in TEXTS]))
        for place, rows in enumerate(together):
            np.testing.assert_array_equal(chunks[place][0], rows)


def test_what_nobody_has_trained_is_refused(parts, tmp_path):
    """The library would add random layers; an ordinary model is told to use st:."""
    with pytest.raises(ModelError, match="random"):
        ColbertEncoder(str(parts / "plain"))
    with pytest.raises(ModelError, match="random"):
        SpladeEncoder(str(parts / "plain"))
    with pytest.raises(ModelError, match="folder"):
        ColbertEncoder(str(tmp_path / "nowhere"))
    with pytest.raises(ModelError, match=r"model\.onnx"):
        SpladeEncoder(str(parts / "words"), backend="onnx")


def test_active_terms():
    """The largest ones, the lower term of equal weights."""
    weights = np.array([0, 3, 1, 3, 2], dtype=np.float32)
    assert select_active_terms(weights, 2).tolist() == [[1.0, 3.0], [3.0, 3.0]]
    assert select_active_terms(weights, 1).tolist() == [[1.0, 3.0]]


@pytest.mark.nightly
def test_sage_pteb_and_a_sweep_are_done_with_them(splade, colbert, tmp_path):
    """Every task of SAGE and PTEB has a score for either kind, and a sweep finds and reranks with them."""
    import embassay as eb

    specs = [f"splade:{splade}?max_length=32", f"colbert:{colbert}?max_length=32"]
    few = {"tokenizer": "words", "limit": 3}
    options = eb.sage.SageOptions(resamples=20, retrieval_edits="negate", document_cap=2)
    run = eb.sage.run(specs, options=options, out=tmp_path / "sage", **few)
    overall = run.results.filter((run.results["dataset"] == "") & run.results["system"].is_in(specs))
    scored = set(overall.filter(overall["value"].is_not_null())["task"])
    assert scored >= {"preference", "robustness", "sensitivity", "clustering"}
    assert all(cell["status"] == "done" for cell in run.manifest["cells"])
    run = eb.pteb.run(specs, paraphraser="recorded", runs=1, out=tmp_path / "pteb",
                      options=eb.pteb.PtebOptions(resamples=20), **few)  # fmt: skip
    assert all(cell["status"] == "done" for cell in run.manifest["cells"])
    assert len({cell["task"] for cell in run.manifest["cells"]}) == 7
    eb.rag.sweep({
        "datasets": "sample", "encoder": specs, "k": [10], "queries": 3, "mode": ["dense", "hybrid"],
        "reranker": ["none", f"colbert:{colbert}"], "measures": ["RA-nWG"], "cutoffs": [10],
        "latency": {"queries": 1, "warmup": 0, "repeats": 1, "concurrency": 1},
    }, out=tmp_path / "sweep")  # fmt: skip
    from embassay.protocols.rag.sweep.protocol import read_sweep_measurements

    sweep = read_sweep_measurements(tmp_path / "sweep")
    assert (len(sweep.measured), len(sweep.skipped)) == (8, 0)
