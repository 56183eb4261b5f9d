"""The cached encoder: nothing is encoded twice, and a vector does not depend on how it was asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embassay.errors import ModelError, TextRefused, UsageError
from embassay.runs.embeddings import CachedEncoder, EmbeddingCache, make_chunk_cache_key
from embassay.runs.memory import enforce_memory_limit
from embassay.systems.encoders.minilm import MiniLMEncoder
from embassay.systems.encoders.wordllama import WordLlamaEncoder


class CallEncoder:
    """Vectors that give away the call: a text's place in it, the call's size, and the text's length."""

    name, identity, dim, max_tokens, chunk_size = "call", "call:1", 3, 5, 4

    def __init__(self):
        self.calls = []
        self.fail_at = None

    def encode(self, texts, *, role=None):
        if self.fail_at == len(self.calls):
            raise ModelError("out of order")
        self.calls.append((list(texts), role))
        return np.array([[place, len(texts), len(text)] for place, text in enumerate(texts)], dtype=np.float32)

    def count_truncated(self, texts):
        return sum(len(text) > self.max_tokens for text in texts)


@pytest.fixture
def cache(tmp_path):
    opened = EmbeddingCache.open(tmp_path / "embeddings.sqlite")
    yield opened
    opened.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=8), max_size=30), random=st.randoms())
def test_a_vector_depends_on_the_set_of_texts_only(cache, texts, random):
    """Order, repetition and what is cached make no difference; equal texts have equal vectors."""
    cache.clear()
    fresh = CachedEncoder(CallEncoder(), cache).encode(texts)
    again = texts + random.choices(texts, k=5) if texts else []
    random.shuffle(again)
    again += texts
    encoder = CallEncoder()
    cached = CachedEncoder(encoder, cache).encode(again)
    assert fresh.shape == (len(texts), 3)
    assert encoder.calls == []
    by_text = {text: vector.tobytes() for text, vector in zip(again, cached, strict=True)}
    assert [by_text[text] for text in again] == [vector.tobytes() for vector in cached]
    assert [by_text[text] for text in texts] == [vector.tobytes() for vector in fresh]


def test_chunks_are_cut_in_content_order(cache):
    """Distinct texts, shorter first and then by code point, a fixed number at a time."""
    encoder = CallEncoder()
    CachedEncoder(encoder, cache).encode(["ccc", "b", "a", "bb", "a", "", "aa"])
    assert encoder.calls == [(["", "a", "b", "aa"], None), (["bb", "ccc"], None)]


def test_counts_add_up(cache):
    """Encoded and cached texts of every call, and those that were cut in either case."""
    encoder = CallEncoder()
    first, second = CachedEncoder(encoder, cache), CachedEncoder(encoder, cache)
    done = []
    second.progress = done.append
    first.encode(["a", "b", "a", "longer text", "c", "another one"])
    second.encode(["a", "b", "longer text", "c", "another one"])
    second.encode(["new"])
    assert (first.counts.encoded, first.counts.cached, first.counts.truncated) == (5, 0, 2)
    assert (second.counts.encoded, second.counts.cached, second.counts.truncated) == (1, 5, 2)
    assert first.counts.seconds > 0
    assert done == [4, 1, 1]


def test_a_failure_keeps_the_chunks_before_it(cache):
    """What was encoded before the encoder failed is not encoded again."""
    texts = [f"{i:02}" for i in range(12)]
    encoder = CallEncoder()
    encoder.fail_at = 2
    with pytest.raises(ModelError, match="out of order"):
        CachedEncoder(encoder, cache).encode(texts)
    encoder.fail_at = None
    CachedEncoder(encoder, cache).encode(texts)
    assert [call for call, _ in encoder.calls] == [texts[:4], texts[4:8], texts[8:]]


def test_roles_are_kept_apart_only_where_they_matter(cache):
    """An encoder without roles is asked once, without a role."""
    encoder = CallEncoder()
    cached = CachedEncoder(encoder, cache)
    cached.encode(["a"], role="query")
    cached.encode(["a"], role="document")
    cached.encode(["a"])
    assert [role for _, role in encoder.calls] == ["query", "document", None]
    encoder.uses_roles = False
    cached = CachedEncoder(encoder, cache)
    cached.encode(["b"], role="query")
    cached.encode(["b"], role="document")
    assert encoder.calls[3:] == [(["b"], None)]


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.zeros((1, 3), dtype=np.float32), r"shape \(1, 3\) for 2 texts, expected \(2, 3\)"),
        (np.array([[0, 0, 0], [0, np.nan, 0]], dtype=np.float32), r"not finite \(text 1 of 2\)"),
    ],
)
def test_wrong_vectors_are_an_error_and_never_kept(cache, vectors, message):
    """A shape or a value that cannot be right stops the run."""

    class Wrong(CallEncoder):
        def encode(self, texts, *, role=None):
            return vectors

    with pytest.raises(ModelError, match=message):
        CachedEncoder(Wrong(), cache).encode(["a", "b"])
    assert cache.summarise_cache_contents().entries == 0


@given(st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
def test_keys_differ_when_texts_do(a, b):
    """No two lists of texts share a key, however they are cut."""
    assert (make_chunk_cache_key("e", None, a) == make_chunk_cache_key("e", None, b)) == (a == b)


def test_keys_differ_by_encoder_and_role():
    """The same texts have a key for each encoder and each role."""
    keys = {make_chunk_cache_key(e, role, ["a"]) for e in ("e", "f") for role in (None, "query", "document")}
    assert len(keys) == 6


def test_keys_and_identities_are_frozen():
    """A change here makes every user's cache worthless: it needs a reason."""
    assert make_chunk_cache_key("e:1", "query", ["", "naïve", "\ud800"]).hex() == (
        "ed155fdadd264268f2183bbc36ff15156b68190a8c8db4ba52a2e129d0321f4e"
    )
    assert MiniLMEncoder(backend="onnx").identity == "minilm:53aa51172d142c89:be50c3628f2bf5bb:tokens=256:graph=1"
    assert WordLlamaEncoder.identity == "wordllama:64b47a2dc493cb8e:93248f2a9ec36c7b"
    assert (MiniLMEncoder.chunk_size, WordLlamaEncoder.chunk_size) == (64, 1024)


def test_a_cache_that_keeps_nothing_changes_nothing(cache):
    """Without a disk the vectors are the same."""
    texts = [f"text {i % 9}" for i in range(20)]
    kept = CachedEncoder(CallEncoder(), cache).encode(texts)
    cache.close()
    assert np.array_equal(CachedEncoder(CallEncoder(), cache).encode(texts), kept)


class Server(CallEncoder):
    """Takes many chunks at once and answers in another order; refuses texts with a `!`, fails at `dead`."""

    def encode_chunks(self, chunks, *, role=None):
        self.batches = [*getattr(self, "batches", []), len(chunks)]
        for position in reversed(range(len(chunks))):
            chunk = chunks[position]
            if "dead" in chunk:
                raise ModelError("gone")
            self.calls.append((list(chunk), role))
            if any("!" in text for text in chunk):
                yield position, TextRefused("not allowed")
            else:
                yield position, self.vectors(chunk)

    def vectors(self, chunk):
        return np.array([[len(text), *map(ord, text[:2].ljust(2))] for text in chunk], dtype=np.float32)


def test_all_missing_chunks_are_asked_for_at_once(cache):
    """A server gets what is missing in one call; answers come in any order, rows in the order asked."""
    texts = [f"{i:02}" for i in range(20)]
    encoder = Server()
    cached = CachedEncoder(encoder, cache)
    cached.encode(texts[:8])
    done = []
    cached.progress = done.append
    vectors = cached.encode(texts)
    assert encoder.batches == [2, 3]
    assert np.array_equal(vectors, encoder.vectors(texts))
    assert (cached.counts.encoded, cached.counts.cached, done) == (20, 8, [4] * 5)


def test_what_was_answered_before_a_failure_is_kept(cache):
    """A server that dies in the middle costs only what it did not answer."""
    texts = [*(f"{i:03}" for i in range(6)), *(f"{i:05}" for i in range(8)), "dead"]
    encoder = Server()
    with pytest.raises(ModelError, match="gone"):
        CachedEncoder(encoder, cache).encode(texts)
    answered = encoder.calls[:]
    cached = CachedEncoder(encoder, cache)
    encoder.calls.clear()
    assert sum(len(chunk) for _, chunk in cached.missing(texts)) == len(texts) - sum(len(call) for call, _ in answered)
    with pytest.raises(ModelError, match="gone"):
        cached.encode(texts)
    assert not [call for call in encoder.calls if call in answered]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_refused_text_fails_alone(cache, at_once):
    """The chunk is halved until the refused texts are known: they are NaN, all others have their vectors."""
    texts = [f"{i:02}" for i in range(14)] + ["x!", "y!"]
    encoder = Server()
    if not at_once:

        class Serial(CallEncoder):
            def encode(self, chunk, *, role=None):
                if any("!" in text for text in chunk):
                    raise TextRefused("not allowed")
                return encoder.vectors(chunk)

        cached = CachedEncoder(Serial(), cache)
    else:
        cached = CachedEncoder(encoder, cache)
    vectors = cached.encode(texts)
    assert cached.failures == {"x!": "not allowed", "y!": "not allowed"}
    assert np.isnan(vectors[14:]).all()
    assert np.array_equal(vectors[:14], encoder.vectors(texts[:14]))
    assert cached.counts.encoded == 14
    encoder.calls.clear()
    again = CachedEncoder(encoder, cache)
    assert np.array_equal(again.encode(texts), vectors, equal_nan=True)
    assert all(any("!" in text for text in call) for call, _ in encoder.calls), "only refused calls are repeated"
    assert again.counts.cached == 14


def test_a_server_that_refuses_everything_is_not_asked_for_every_text(cache):
    """When no text is taken it is the server's failure, found with a few calls."""
    encoder = Server()
    with pytest.raises(ModelError, match="The model refuses every text: not allowed"):
        CachedEncoder(encoder, cache).encode([f"{i}!" for i in range(400)])
    assert len(encoder.calls) < 100 + 20


def test_several_calls_are_fetched_at_once(cache):
    """All chunks of the calls to come go out together; the calls find them, and counts and progress count once."""
    encoder, done = Server(), []
    cached = CachedEncoder(encoder, cache, progress=done.append)
    calls = [([f"{i:02}" for i in range(6)], "query"), ([f"{i:02}" for i in range(6, 20)], None)]
    cached.prefetch_embeddings(calls)
    assert encoder.batches in ([6], [2, 4])
    for texts, role in calls:
        cached.encode(texts, role=role)
    assert sum(encoder.batches) == 6
    assert (cached.counts.encoded, cached.counts.cached, sum(done)) == (20, 0, 20)
    cached.encode(calls[0][0], role="query")
    assert (cached.counts.encoded, cached.counts.cached, sum(done)) == (20, 6, 26)


def test_what_is_refused_beforehand_is_found_by_its_call(cache):
    """Fetching leaves a refused chunk alone; the call that needs it halves it."""
    texts = ["aa", "b!", "cc", "dd"]
    cached = CachedEncoder(Server(), cache)
    cached.prefetch_embeddings([(texts, None)])
    assert not cached.failures
    vectors = cached.encode(texts)
    assert np.isnan(vectors[1]).all()
    assert np.isfinite(vectors[[0, 2, 3]]).all()
    assert list(cached.failures) == ["b!"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell")
def test_vectors_that_would_break_a_promise_are_not_made(cache):
    """Whatever asks for them: the figure and the mend, before the encoder is asked."""

    class Wide:
        name = identity = "wide"
        dim, max_tokens = 2**26, None

        def encode(self, texts, *, role=None):
            raise AssertionError

    with (
        enforce_memory_limit(2**30),
        pytest.raises(UsageError, match=r"4 GiB for the vectors of 8 texts(.|\n)*--memory"),
    ):
        CachedEncoder(Wide(), cache).encode(list("abcdefgh"))


class Odd:
    """An encoder with one of the vices of `Conduct`."""

    identity, dim, max_tokens, chunk_size = "odd:1", 2, None, 4

    def __init__(self, vice):
        self.name, self._vice, self._calls = vice, vice, 0

    def encode(self, texts, *, role=None):
        self._calls += 1
        vectors = np.array([[len(text), 1 + text.count("a")] for text in texts], dtype=np.float32)
        if self._vice == "equal":
            vectors[:] = 1
        if self._vice == "zero":
            vectors[:] = 0
        if self._vice == "one direction":
            vectors[:, 1] = vectors[:, 0]
        if self._vice == "some zero":
            vectors[[text.startswith("b") for text in texts]] = 0
        if self._vice == "shared":
            vectors[[text[0] in "bcd" for text in texts]] = 7
        if self._vice in ("long", "short"):
            vectors *= np.float32(1e30 if self._vice == "long" else 1e-30)
        if self._vice == "changing":
            vectors[:, 1] += self._calls
        if self._vice == "batched":
            vectors[:, 1] += len(texts)
        return vectors + 1j if self._vice == "complex" else vectors

    def count_truncated(self, texts):
        return 0


TEXTS = ["a", "bb", "ccc", "dada", "eeeee"]


@pytest.mark.parametrize(
    ("vice", "said"),
    [
        ("none", ()),
        ("equal", ("all 5 texts have the same vector, so ",)),
        ("zero", ("all 5 texts have the same vector, which contains only zeros",)),
        ("one direction", ("the vectors of all 5 texts have the same direction",)),
        ("some zero", ("1 of 5 texts have a vector of zeros",)),
        ("shared", ("3 of 5 texts have the same vector",)),
        ("long", ("5 of 5 vectors are shorter than 1e-08 or longer than 1e+08",)),
        ("short", ("5 of 5 vectors are shorter than 1e-08 or longer than 1e+08",)),
        ("changing", ("different vectors when encoded again",)),
        ("batched", ("2 texts got different vectors without the 2",)),
    ],
)
def test_what_vectors_say_against_their_encoder(cache, vice, said):
    """Equal vectors, zeros, others at each call and others in another batch are each one warning, said once."""
    encoder = CachedEncoder(Odd(vice), cache)
    encoder.encode(TEXTS)
    found = encoder.conduct.warnings(encoder.encoder)
    assert len(found) == len(said)
    assert all(words in one and one.startswith(f"{vice}: ") for words, one in zip(said, found, strict=True))
    # Two chunks, half of one again, and all of it only to tell which vice it is.
    assert encoder.encoder._calls == (4 if vice in ("changing", "batched") else 3)
    again = CachedEncoder(Odd(vice), cache)
    again.encode(TEXTS)
    kept = again.conduct.warnings(again.encoder)
    assert kept == (() if vice in ("changing", "batched") else found)
    assert again.encoder._calls == 0


def test_complex_numbers_are_refused(cache):
    """Half of each would be dropped without a word."""
    with pytest.raises(ModelError, match="numbers of type complex64"):
        CachedEncoder(Odd("complex"), cache).encode(TEXTS)


@pytest.mark.filterwarnings("ignore:The embedding cache")
def test_without_a_cache_no_text_is_asked_for_twice(tmp_path):
    """What is fetched beforehand, to keep a server busy, is read back after; without a cache it was bought twice."""
    (tmp_path / "file").write_text("")
    encoder = CallEncoder()
    cached = CachedEncoder(encoder, EmbeddingCache.open(tmp_path / "file" / "embeddings.sqlite"))
    texts = [str(number) for number in range(10)]
    cached.prefetch_embeddings([(texts, None)])
    asked = len(encoder.calls)
    cached.encode(texts)
    assert len(encoder.calls) == asked == 3
    cached.cache.close()
