"""BM25, against rank-bm25 on the same tokens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi, BM25Plus
from scipy.spatial.distance import squareform

from embassay.errors import UsageError
from embassay.systems.lexical.bm25 import BM25
from embassay.systems.lexical.terms import list_letter_ngrams, list_word_terms
from embassay.text import open_tokenizer

WORDS = open_tokenizer("words")
TEXT = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f"]), max_size=9).map(" ".join)
FILLED = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f"]), min_size=1, max_size=9).map(" ".join)
PEERS = {"plus": BM25Plus, "okapi": BM25Okapi}


def oracle(queries, corpus, variant="plus", **parameters) -> np.ndarray:
    """rank-bm25's scores, (queries, corpus)."""
    peer = PEERS[variant]([WORDS.encode(text) for text in corpus], **parameters)
    return np.array([peer.get_scores(WORDS.encode(query)) for query in queries])


def dense(ranked, n) -> np.ndarray:
    """The score of every candidate from a ranking of all of them."""
    scores = np.empty((len(ranked.indices), n))
    np.put_along_axis(scores, ranked.indices[:, :n], ranked.scores[:, :n], axis=1)
    return scores


@pytest.mark.parametrize("variant", PEERS)
@given(
    queries=st.lists(TEXT, min_size=1, max_size=4),
    corpus=st.lists(TEXT, min_size=1, max_size=8).filter(any),
    k1=st.sampled_from([0.5, 1.5]),
    b=st.sampled_from([0.0, 0.75, 0.95]),
)
def test_search_scores_equal_rank_bm25(variant, queries, corpus, k1, b):
    """Repeated query tokens, unknown ones, empty queries and documents: the peer's numbers."""
    found = BM25(tokenizer=WORDS, variant=variant, k1=k1, b=b).search(queries, corpus, len(corpus))
    expected = oracle(queries, corpus, variant, k1=k1, b=b)
    np.testing.assert_allclose(dense(found, len(corpus)), expected, atol=1e-9)


@given(st.lists(FILLED, min_size=1, max_size=5), st.lists(st.lists(FILLED, max_size=4), min_size=1, max_size=3))
def test_shards_share_one_collection(queries, shards):
    """idf and mean length are those of all shards together."""
    corpus = [text for shard in shards for text in shard]
    if not corpus:
        return
    expected = oracle(queries, corpus)
    start = 0
    for shard, ranked in zip(shards, BM25(tokenizer=WORDS).search_shards(queries, shards, 4), strict=True):
        scores = expected[:, start : start + len(shard)]
        np.testing.assert_allclose(dense(ranked, len(shard)), scores, atol=1e-9)
        start += len(shard)


def test_the_same_bag_of_words_ties():
    """Documents that differ only in order have one score, and the first of them wins."""
    corpus = ["c a b a d", "x y z", "a b a c d", "d c b a a"]
    found = BM25(tokenizer=WORDS).search(["a b d q"], corpus, 4)
    assert found.indices.tolist() == [[0, 2, 3, 1]]
    assert len(set(found.scores[0, :3])) == 1


@pytest.mark.parametrize("variant", PEERS)
@given(st.lists(st.tuples(FILLED, FILLED), min_size=1, max_size=8))
def test_pairs_are_the_batch_mapped_to_its_range(variant, pairs):
    """min-max over the pairs of the call; candidates are the collection, references the queries."""
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    raw = np.diag(oracle(a, b, variant))
    spread = raw.max() - raw.min()
    found = BM25(tokenizer=WORDS, variant=variant).pairs(a, b)
    if spread > 1e-9:
        np.testing.assert_allclose(found, (raw - raw.min()) / spread, atol=1e-6)


def test_a_batch_of_one_score_is_one():
    """There is no range to map to."""
    assert BM25(tokenizer=WORDS).pairs(["a b", "a b"], ["a c", "a c"]).tolist() == [1, 1]


@given(st.lists(st.tuples(FILLED, FILLED), min_size=1, max_size=8))
def test_self_normalised_pairs(pairs):
    """Score over the reference's score for itself, both with the statistics of the candidates."""
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    found = BM25(tokenizer=WORDS, normalise="self").pairs(a, b)
    for i, (x, y) in enumerate(pairs):
        own = self_score(x, b)
        expected = 1.0 if x == y else min(oracle([x], b)[0, i] / own, 1) if own > 0 else 0.0
        assert found[i] == pytest.approx(expected, abs=1e-6)


def self_score(text: str, corpus: list[str]) -> float:
    """BM25+ of `text` for itself, as a document beside `corpus`, written out."""
    tokens, documents = WORDS.encode(text), [WORDS.encode(c) for c in corpus]
    mean = sum(map(len, documents)) / len(documents)
    score = 0.0
    for token in tokens:
        df, tf = sum(token in d for d in documents), tokens.count(token)
        if df:
            length = 1.5 * (0.25 + 0.75 * len(tokens) / mean)
            score += np.log((len(documents) + 1) / df) * (1 + tf * 2.5 / (tf + length))
    return score


def test_distances_follow_the_score_matrix():
    """Scores of all for all, symmetrised by mean, min-max off the diagonal, 1 minus."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefghij"), rng.integers(1, 9))) for _ in range(25)]
    scores = oracle(texts, texts)
    mean = (scores + scores.T) / 2
    off = mean[~np.eye(len(texts), dtype=bool)]
    expected = 1 - (mean - off.min()) / (off.max() - off.min())
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(squareform(BM25(tokenizer=WORDS).distances(texts)), expected, atol=1e-6)


def test_equal_scores_throughout_have_no_distance():
    """One score for all pairs: similarity 1, as for pairs."""
    assert BM25(tokenizer=WORDS).distances(["a b", "b a", "a b"]).tolist() == [0, 0, 0]


class Renumbered:
    """Words with other ids: high, negative and in another order."""

    name = identity = "renumbered"

    def encode_batch(self, texts):
        return [[(-1) ** i * (i * 2_654_435_761 % 2**40) for i in ids] for ids in WORDS.encode_batch(texts)]


def test_a_tokenizers_numbering_does_not_matter():
    """Ids name tokens and no more: the same bytes under another numbering."""
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(list("abcdefghijklm"), rng.integers(1, 30))) for _ in range(30)]
    one, other = BM25(tokenizer=WORDS), BM25(tokenizer=Renumbered())
    assert one.pairs(texts, texts[::-1]).tobytes() == other.pairs(texts, texts[::-1]).tobytes()
    assert one.distances(texts).tobytes() == other.distances(texts).tobytes()
    assert one.search(texts, texts, 30).scores.tobytes() == other.search(texts, texts, 30).scores.tobytes()


HARBOURS = [
    "港口黎明开放", "图书馆中午关门", "ท่าเรือเปิดตอนเช้า", "ห้องสมุดปิดตอนเที่ยง", "Die Hafenmeisterin", "Libraries close"
]  # fmt: skip


@pytest.mark.parametrize(("terms", "listed"), [("words", list_word_terms), ("letters", list_letter_ngrams)])
def test_terms_are_counted_as_rank_bm25_counts_them(terms, listed):
    """In place of the tokenizer's tokens, in search; pairs stay in 0 to 1."""
    system = BM25(tokenizer=WORDS, terms=terms)
    peer = BM25Plus([list(listed(text)) for text in HARBOURS])
    queries = ["港口几点开放", "ท่าเรือ", "des Hafenmeisters", ""]
    expected = np.array([peer.get_scores(list(listed(query))) for query in queries])
    np.testing.assert_allclose(dense(system.search(queries, HARBOURS, 6), 6), expected, atol=1e-9)
    pairs = system.pairs(HARBOURS, HARBOURS[::-1])
    assert 0 <= pairs.min() <= pairs.max() <= 1
    assert system.identity != BM25(tokenizer=WORDS).identity


def test_words_of_scripts_without_spaces_are_found():
    """And with letters an inflected word; a tokenizer's words are whole sentences of Chinese."""
    queries = ["港口", "ท่าเรือ", "Hafenmeister"]
    firsts = {
        terms: BM25(tokenizer=WORDS, terms=terms).search(queries, HARBOURS, 1)
        for terms in ("tokens", "words", "letters")
    }
    assert firsts["letters"].indices[:, 0].tolist() == [0, 2, 4]
    assert firsts["words"].indices[:2, 0].tolist() == [0, 2]
    assert firsts["words"].scores[2, 0] == 0
    assert firsts["tokens"].scores[0, 0] == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"terms": "letter"}, "no terms 'letter'.*Did you mean 'letters'"),
        ({"variant": "plsu"}, "no variant 'plsu'.*Did you mean 'plus'"),
        ({"normalise": "z"}, "no normalise 'z'.*minmax and self"),
        ({"b": 1.5}, "b=1.5"),
        ({"k1": -1.0}, "k1=-1"),
    ],
)
def test_refuses_unknown_parameters(parameters, message):
    """The message names the value and what is known."""
    with pytest.raises(UsageError, match=message):
        BM25(tokenizer=WORDS, **parameters)


@pytest.mark.shared
@pytest.mark.parametrize("variant", PEERS)
def test_real_texts_equal_rank_bm25(abstracts, claims, variant):
    """Search and pairs on SciFact, to 1e-6."""
    system = BM25(tokenizer=WORDS, variant=variant)
    expected = oracle(claims, abstracts, variant)
    found = system.search(claims, abstracts, 10)
    np.testing.assert_allclose(found.scores, np.sort(expected)[:, ::-1][:, :10], atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(expected, found.indices, 1), found.scores, atol=1e-6)
    a, b = claims, abstracts[: len(claims)]
    raw = np.diag(oracle(a, b, variant))
    scaled = (raw - raw.min()) / (raw.max() - raw.min())
    np.testing.assert_allclose(system.pairs(a, b), scaled, atol=1e-6)


@given(st.lists(st.tuples(FILLED, FILLED), min_size=1, max_size=8))
def test_the_reference_alone_can_be_the_corpus(pairs):
    """corpus=reference: rank-bm25's score of the reference, as the only document, for the other text; then min-max."""
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    raw = np.array([oracle([y], [x])[0, 0] for x, y in pairs])
    found = BM25(tokenizer=WORDS, corpus="reference").pairs(a, b)
    spread = raw.max() - raw.min()
    np.testing.assert_allclose(found, (raw - raw.min()) / spread if spread > 1e-9 else 1.0, atol=1e-6)


def test_alone_no_pair_depends_on_another():
    """With `normalise=self` and the reference as corpus a pair has its score whatever else is compared."""
    bm25 = BM25(tokenizer=WORDS, corpus="reference", normalise="self")
    alone = bm25.pairs(["a b c d"], ["a b x"])
    beside = bm25.pairs(["a b c d", "a a a"], ["a b x", "q"])
    assert 0 < alone[0] == beside[0] < 1
    assert bm25.pairs(["a b"], ["a b"])[0] == 1


def test_what_a_protocol_compares_with_gives_way_to_the_spec():
    """`pair_corpus` is the default, `corpus` the user's word; each shows in the identity."""
    of_sage = BM25(tokenizer=WORDS, pair_corpus="reference")
    assert of_sage.identity == BM25(tokenizer=WORDS, corpus="reference").identity
    assert BM25(tokenizer=WORDS, corpus="batch", pair_corpus="reference").identity == BM25(tokenizer=WORDS).identity
    assert of_sage.identity != BM25(tokenizer=WORDS).identity


def test_okapi_has_no_corpus_of_one():
    """Its idf is negative there: asked for, an error; as a default, the batch."""
    with pytest.raises(UsageError, match="okapi"):
        BM25(tokenizer=WORDS, variant="okapi", corpus="reference")
    default = BM25(tokenizer=WORDS, variant="okapi", pair_corpus="reference")
    assert default.identity == BM25(tokenizer=WORDS, variant="okapi").identity
    with pytest.raises(UsageError, match="batch"):
        BM25(tokenizer=WORDS, corpus="batc")


@pytest.mark.parametrize("variant", PEERS)
def test_corpora_have_their_own_statistics_and_then_one(variant):
    """First every corpus as `search` alone ranks it, then every shard as if all corpora were one."""
    shards = [["a b", "c c d"], ["a e"], ["b b b", "f"], ["a a", "d e f"]]
    queries, bm25 = ["a b", "c d e"], BM25(tokenizer=WORDS, variant=variant)
    found = list(bm25.search_corpora(queries, shards, 2, 3))
    assert len(found) == 8
    apart = [one for pair in (shards[:2], shards[2:]) for one in bm25.search_shards(queries, pair, 3)]
    for one, expected in zip(found, [*apart, *bm25.search_shards(queries, shards, 3)], strict=True):
        np.testing.assert_array_equal(one.indices, expected.indices)
        np.testing.assert_allclose(one.scores, expected.scores, atol=1e-12)
