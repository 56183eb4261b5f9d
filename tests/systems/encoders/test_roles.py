"""Models of sentence-transformers that read queries and documents in ways of their own, against the library itself."""

from __future__ import annotations

import json

import numpy as np
import pytest

from embassay.errors import ModelError
from embassay.runs.embeddings import CachedEncoder, EmbeddingCache
from embassay.systems.encoders.sentence_transformers import SentenceTransformer
from embassay.systems.objects import CallerObjectEncoder

# The libraries warn of their own future.
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

TEXTS = ["where is the hen", "a fox digs under the fence by the barn where", "hen", "", "tell the hen : ask a fox"]
WORDS = dict.fromkeys(word for text in TEXTS for word in text.split())
PROMPTS = {"query": "ask : ", "document": "", "same": "tell : "}


@pytest.fixture(scope="module")
def library():
    return pytest.importorskip("sentence_transformers")


@pytest.fixture(scope="module")
def parts(library, tmp_path_factory):
    """What makes the small models: a tokenizer, and a folder with a BERT of two layers that nobody has trained."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(5)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {word: i for i, word in enumerate([*special, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", pair="[CLS] $A $B", special_tokens=[("[CLS]", vocabulary["[CLS]"])]
    )
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=32,
    )  # fmt: skip
    bert = BertModel(config)
    with torch.no_grad():
        bert.embeddings.word_embeddings.weight.normal_(0, 1)
    folder = tmp_path_factory.mktemp("bert")
    bert.save_pretrained(folder)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", model_max_length=32
    )
    fast.save_pretrained(folder)
    return tokenizer, str(folder)


def static_routes(library, parts, **router):
    """A model whose first module routes queries and documents to static vectors of their own."""
    from sentence_transformers import models

    routes = [models.StaticEmbedding(parts[0], embedding_dim=16) for _ in range(2)]
    return [models.Router.for_query_document([routes[0]], [routes[1]], **router)]


def dense_routes(library, parts, widths=(8, 8), **pooling):
    """One transformer for all, and a dense layer of its own for queries and for documents."""
    from sentence_transformers import models

    dense = [models.Dense(16, width) for width in widths]
    rest = models.Router.for_query_document([dense[0]], [dense[1]], default_route="document")
    return [models.Transformer(parts[1]), models.Pooling(16, **pooling), rest]


def read_routes(library, parts):
    """A transformer of its own for queries and for documents, which read other numbers of tokens."""
    from sentence_transformers import models

    short, long = (models.Transformer(parts[1], max_seq_length=tokens) for tokens in (3, 9))
    return [models.Router.for_query_document([short, models.Pooling(16)], [long, models.Pooling(16)])]


def plain(library, parts):
    """A transformer and a mean."""
    from sentence_transformers import models

    return [models.Transformer(parts[1]), models.Pooling(16)]


MODELS = {
    "static routes": (static_routes, {}, {}),
    "static routes, queries by default": (static_routes, {"default_route": "query"}, {}),
    "dense routes": (dense_routes, {}, {}),
    "dense routes after prompts": (dense_routes, {}, {"prompts": PROMPTS, "default_prompt_name": "same"}),
    "dense routes, prompts left out": (dense_routes, {"include_prompt": False}, {"prompts": PROMPTS}),
    "routes that read": (read_routes, {}, {"prompts": {"query": "ask : ", "document": "tell : "}}),
    "prompts": (plain, {}, {"prompts": PROMPTS}),
    "a default prompt": (plain, {}, {"prompts": PROMPTS, "default_prompt_name": "same"}),
    "the query's by default": (plain, {}, {"prompts": PROMPTS, "default_prompt_name": "query"}),
}


@pytest.fixture(params=MODELS)
def model(request, library, parts, tmp_path):
    """The library's model as it is opened from a folder, and the folder."""
    import torch

    torch.manual_seed(7)
    make, options, more = MODELS[request.param]
    library.SentenceTransformer(modules=make(library, parts, **options), device="cpu", **more).save(str(tmp_path))
    return library.SentenceTransformer(str(tmp_path), device="cpu"), str(tmp_path)


def expected(model):
    """What the library gives by role."""
    return {
        "query": model.encode_query(TEXTS), "document": model.encode_document(TEXTS), None: model.encode(TEXTS),
    }  # fmt: skip


def test_queries_and_documents_are_encoded_as_by_the_library(model):
    """On its own, on the way of a card, through the cache, and as an object of the caller."""
    theirs, folder = model
    own = SentenceTransformer(folder, device="cpu")
    cached = CachedEncoder(own, EmbeddingCache.open())
    given = CallerObjectEncoder(theirs, "mine")
    assert own.uses_roles
    for role, vectors in expected(theirs).items():
        np.testing.assert_allclose(own.encode(TEXTS, role=role), vectors, atol=1e-6)
        np.testing.assert_allclose(cached.encode(TEXTS, role=role), vectors, atol=1e-6)
        np.testing.assert_allclose(given.encode(TEXTS, role=role), vectors, atol=1e-6)
        ((_, together),) = own.encode_together([TEXTS], role=role)
        np.testing.assert_allclose(together, vectors, atol=1e-6)


def test_another_identity_than_before_routes_were_followed(library, parts, tmp_path):
    """So that no vector of the wrong route is taken from a cache."""
    routed, without = tmp_path / "routed", tmp_path / "without"
    library.SentenceTransformer(modules=static_routes(library, parts), device="cpu").save(str(routed))
    library.SentenceTransformer(modules=plain(library, parts), device="cpu").save(str(without))
    assert '"routes":true' in SentenceTransformer(str(routed), device="cpu").identity
    plainly = SentenceTransformer(str(without), device="cpu")
    assert "routes" not in plainly.identity
    assert not plainly.uses_roles


def test_token_vectors_and_limits_are_those_of_the_route(library, parts, tmp_path):
    """Queries of three tokens and documents of nine; what is too long is counted by the documents' limit."""
    library.SentenceTransformer(modules=read_routes(library, parts), device="cpu").save(str(tmp_path))
    own = SentenceTransformer(str(tmp_path), device="cpu")
    text = TEXTS[1]
    read = [len(own.encode_token_vectors([text], role=role)[0]) for role in ("query", "document")]
    assert read == [2, 8]  # and [CLS]
    assert own.max_tokens == 9
    assert own.count_truncated([text, "a fox digs under"]) == 1


def test_routes_that_cannot_be_compared_are_refused(library, parts, tmp_path):
    """Vectors of 8 dimensions for queries and of 6 for documents."""
    modules = dense_routes(library, parts, widths=(8, 6))
    library.SentenceTransformer(modules=modules, device="cpu").save(str(tmp_path))
    with pytest.raises(ModelError, match="8 dimensions and documents with 6"):
        SentenceTransformer(str(tmp_path), device="cpu")


def test_a_passage_prompt_is_the_documents_where_it_has_none_of_its_own(library, parts, tmp_path):
    """As the library describes `encode_document`; the empty prompt that it writes for a document is one."""
    library.SentenceTransformer(modules=plain(library, parts), device="cpu").save(str(tmp_path))
    path = tmp_path / "config_sentence_transformers.json"
    said = json.loads(path.read_text("utf-8"))
    for prompts, chosen in (
        ({"query": "ask : ", "passage": "tell : "}, "tell : "),
        ({"query": "ask : ", "document": "", "passage": "tell : "}, ""),
    ):
        path.write_text(json.dumps({**said, "prompts": prompts}), "utf-8")
        assert SentenceTransformer(str(tmp_path), device="cpu").prompts.document == chosen
