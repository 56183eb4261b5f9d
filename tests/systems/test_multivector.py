"""Systems with many vectors for a text: what is alike, found, cached and left out."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from embassay.contracts import make_ragged_array
from embassay.errors import ModelError, UsageError
from embassay.runs.embeddings import CachedRaggedEncoder, EmbeddingCache, pack_ragged_vectors, unpack_ragged_vectors
from embassay.search.maxsim import compute_maxsim
from embassay.systems import SYSTEMS, open_system
from embassay.systems.multivector import MaxSim, SparseProductSimilarity
from embassay.text import open_tokenizer

TEXTS = ["the red fox", "a red fox sleeps", "stock prices fell", "", "the red fox", "fox fox"]
WORDS = sorted({word for text in TEXTS for word in text.split()})


class Tokens:
    """A token vector for each word: a direction of its own, tilted by the role."""

    name, identity, kind, width, dim, floats = "tokens", "tokens/1", "tokens", 16, 16, 160
    similarity, max_tokens = "maxsim", None
    chunk_size = 1

    def __init__(self, similarity="maxsim"):
        self.similarity = similarity
        self.calls = 0

    def encode(self, texts, *, role=None):
        self.calls += len(texts)
        return make_ragged_array([self.rows(text, role) for text in texts])

    def rows(self, text, role):
        rng = [np.random.default_rng([WORDS.index(word), role == "query"]) for word in text.split()]
        made = [one.standard_normal(16) for one in rng] or [np.ones(16)]
        return np.array([one / np.linalg.norm(one) for one in made], dtype=np.float32)

    def count_truncated(self, texts):
        return 0


class Terms(Tokens):
    """A weight for each word."""

    name, identity, kind, width, dim = "terms", "terms/1", "terms", 2, 100

    def rows(self, text, role):
        terms = sorted(set(text.split()))
        scale = 2 if role == "query" else 1
        return np.array([[WORDS.index(one), scale * text.split().count(one)] for one in terms] or [[99, 1]], np.float32)


def test_late_interaction_of_two_texts_is_the_mean_of_both_directions():
    """Symmetric, 1 for equal texts, 0 for an empty one with any other."""
    model = Tokens()
    system = MaxSim(model)
    found = system.pairs(TEXTS, TEXTS[::-1])
    back = system.pairs(TEXTS[::-1], TEXTS)
    np.testing.assert_allclose(found, back, atol=1e-6)
    a, b = (model.rows(TEXTS[i], None) for i in (1, 4))
    assert found[1] == pytest.approx((compute_maxsim(a, b) / len(a) + compute_maxsim(b, a) / len(b)) / 2, abs=1e-6)
    assert system.pairs(TEXTS, TEXTS).tolist() == [1.0] * 6
    assert system.pairs([""], ["fox"]).tolist() == [0.0]
    distances = system.distances(TEXTS)
    rows, columns = np.triu_indices(6, 1)
    pairs = system.pairs([TEXTS[i] for i in rows], [TEXTS[j] for j in columns])
    np.testing.assert_allclose(distances, 1 - pairs, atol=2e-6)
    assert distances[3] == 0.0  # the first and the fifth text are one


def test_sparse_texts_are_compared_by_cosine_and_found_by_product():
    """Search has the model's own score, with the query read as one."""
    system = SparseProductSimilarity(Terms())
    assert system.pairs(["the red fox"], ["a red fox sleeps"])[0] == pytest.approx(2 / np.sqrt(3 * 4))
    assert system.pairs(TEXTS, TEXTS).tolist() == [1.0] * 6
    ranked = system.search(["red fox"], TEXTS, 4)
    assert ranked.indices[0].tolist() == [0, 1, 4, 5]
    assert ranked.scores[0].tolist() == [4.0, 4.0, 4.0, 4.0]
    by_cosine = SparseProductSimilarity(Terms("cosine")).search(["red fox"], TEXTS, 2)
    assert by_cosine.scores[0, 0] == pytest.approx(2 / np.sqrt(2 * 3), abs=1e-6)
    distances = system.distances(TEXTS)
    assert distances[3] == 0.0
    assert distances[2] == 1.0


@pytest.mark.parametrize("similarity", ["maxsim", "meanmaxsim"])
def test_a_search_has_the_scores_of_the_model(similarity):
    """The sum over the query's tokens, or the mean where the model was trained so; an empty document comes last."""
    model = Tokens(similarity)
    ranked = MaxSim(model).search(["red fox"], TEXTS, 6)
    query = model.rows("red fox", "query")
    share = 2 if similarity == "meanmaxsim" else 1
    wanted = [compute_maxsim(query, model.rows(text, "document")) if text else -2 for text in TEXTS]
    for place, score in zip(ranked.indices[0], ranked.scores[0], strict=True):
        assert score == pytest.approx(wanted[place] / share, abs=1e-6)
    assert ranked.indices[0, -1] == 3


@pytest.mark.parametrize(("model", "system"), [(Tokens, MaxSim), (Terms, SparseProductSimilarity)])
def test_behind_the_cache_a_text_is_read_once_and_search_streams(tmp_path, model, system):
    """The same values; a second opening encodes nothing, and a part of a call is found too."""
    bare = system(model())
    encoder = model()
    cached = CachedRaggedEncoder(encoder, EmbeddingCache.open(tmp_path / "embeddings.sqlite"))
    behind = system(cached, model=encoder)
    np.testing.assert_array_equal(behind.pairs(TEXTS, TEXTS[::-1]), bare.pairs(TEXTS, TEXTS[::-1]))
    found, wanted = behind.search(["red fox"], TEXTS, 4), bare.search(["red fox"], TEXTS, 4)
    np.testing.assert_array_equal(found.indices, wanted.indices)
    np.testing.assert_array_equal(found.scores, wanted.scores)
    again = model()
    warm = system(CachedRaggedEncoder(again, EmbeddingCache.open(tmp_path / "embeddings.sqlite")), model=again)
    few = bare.search(["red fox"], TEXTS[:2], 2)
    np.testing.assert_array_equal(warm.search(["red fox"], TEXTS[:2], 2).scores, few.scores)
    assert again.calls == 0
    assert not cached.conduct.warnings(encoder)


def test_a_copy_that_another_process_gets_encodes_as_the_original_does(tmp_path):
    """Ray sends systems with their encoders: a copy knows too that its vectors are ragged."""
    cached = CachedRaggedEncoder(Tokens(), EmbeddingCache.open(tmp_path / "embeddings.sqlite"))
    copy = pickle.loads(pickle.dumps(cached))
    for own, sent in zip(cached.encode(TEXTS), copy.encode(TEXTS), strict=True):
        np.testing.assert_array_equal(own, sent)
    fresh = pickle.loads(pickle.dumps(CachedRaggedEncoder(Tokens(), EmbeddingCache.open(tmp_path / "other.sqlite"))))
    assert len(fresh.encode(TEXTS)) == len(TEXTS)
    assert not fresh.conduct.warnings(Tokens())


def test_ragged_vectors_come_back_from_the_cache_as_they_were():
    """Any numbers of rows; a damaged record is none."""
    rows = make_ragged_array(
        [np.arange(6, dtype=np.float32).reshape(3, 2), np.empty((0, 2), np.float32), np.ones((1, 2), np.float32)]
    )
    kept = pack_ragged_vectors(rows)
    assert kept.shape[0] == 3
    for one, other in zip(unpack_ragged_vectors(kept, 2), rows, strict=True):
        np.testing.assert_array_equal(one, other)
    kept[0, 0] = 50
    assert unpack_ragged_vectors(kept, 2) is None


def test_a_model_that_gives_no_rows_is_told_so(tmp_path):
    """By name."""

    class Broken(Tokens):
        def rows(self, text, role):
            return np.full((1, 16), np.nan, np.float32)

    class Narrow(Tokens):
        def rows(self, text, role):
            return np.ones((1, 3), np.float32)

    for model in (Broken(), Narrow()):
        with pytest.raises(ModelError, match="tokens"):
            MaxSim(CachedRaggedEncoder(model, EmbeddingCache.open(tmp_path / "embeddings.sqlite")), model=model).pairs(
                ["a"], ["b"]
            )


def test_transforms_of_one_vector_are_refused(monkeypatch):
    """dims and the like have nothing to cut here."""
    entry = SYSTEMS.get("colbert")
    monkeypatch.setattr("embassay.systems.encoders.colbert.ColbertEncoder", lambda target, name="": Tokens())
    assert entry.name == "colbert"
    system = open_system("colbert:any", tokenizer=open_tokenizer("words"))
    assert system.name == "colbert:any"
    assert isinstance(system, MaxSim)
    with pytest.raises(UsageError, match="dims"):
        open_system("colbert:any?dims=8", tokenizer=open_tokenizer("words"))
