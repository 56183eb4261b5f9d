"""Transforms of vectors: hand-worked values, and what quantisation promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from embassay.systems.cosine import Cosine, TransformedEncoder, VectorTransformOptions

VECTORS = np.array([[3, -4, 12], [0, 0, 5], [0, 0, 0]], dtype=np.float32)
rows = arrays(np.float32, (5, 8), elements=st.floats(-1e3, 1e3, width=32))


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (VectorTransformOptions(), VECTORS),
        (VectorTransformOptions(dims=2), [[3, -4], [0, 0], [0, 0]]),
        # Normalised after it is cut: 3 and -4 over 5.
        (VectorTransformOptions(dims=2, normalize=True), [[0.6, -0.8], [0, 0], [0, 0]]),
        # 127 / 12 = 10.583...; times 3 and -4 is 31.75 and -42.33.
        (VectorTransformOptions(quantize="int8"), [[32, -42, 127], [0, 0, 127], [0, 0, 0]]),
        (VectorTransformOptions(dims=2, quantize="int8"), [[95, -127], [0, 0], [0, 0]]),
        (VectorTransformOptions(quantize="binary"), [[1, -1, 1], [-1, -1, 1], [0, 0, 0]]),
        (VectorTransformOptions(quantize="float16"), [np.float16([3 / 13, -4 / 13, 12 / 13]), [0, 0, 1], [0, 0, 0]]),
    ],
)  # fmt: skip
def test_values(transform, expected):
    """Derived by hand."""
    found = transform(VECTORS)
    assert found.dtype == np.float32
    assert np.array_equal(found, np.array(expected, dtype=np.float32))


@given(rows, st.sampled_from(["float32", "float16", "int8", "binary"]), st.booleans(), st.integers(1, 8))
def test_a_row_depends_on_no_other(vectors, quantize, normalize, dims):
    """Alone and together, the same bits; the argument is left as it was."""
    transform = VectorTransformOptions(dims=dims, normalize=normalize, quantize=quantize)
    before = vectors.copy()
    together = transform(vectors)
    assert np.array_equal(vectors, before)
    assert np.array_equal(together, np.concatenate([transform(row[None]) for row in vectors]))
    assert together.shape == (5, dims)


@given(rows, st.sampled_from(["float16", "int8", "binary"]), st.sampled_from([0.25, 2.0, 1024.0]))
def test_length_makes_no_difference_to_quantised_vectors(vectors, quantize, scale):
    """A code says where a vector points; powers of two, so that scaling itself rounds nothing."""
    transform = VectorTransformOptions(quantize=quantize)
    vectors = np.where(np.abs(vectors) < 1e-3, 0, vectors).astype(np.float32)
    assert np.array_equal(transform(vectors), transform(vectors * np.float32(scale)))


def test_a_text_that_could_not_be_encoded_stays_so():
    """NaN rows are NaN after every transform, and no code of numbers."""
    vectors = np.full((1, 4), np.nan, dtype=np.float32)
    for quantize in ("float32", "float16", "int8", "binary"):
        assert np.isnan(VectorTransformOptions(quantize=quantize, normalize=True)(vectors)).all()


def test_no_texts():
    """No texts give no rows."""
    for quantize in ("float32", "float16", "int8", "binary"):
        assert VectorTransformOptions(dims=2, quantize=quantize)(np.empty((0, 3), np.float32)).shape == (0, 2)


class Fixed:
    """An encoder of random vectors, one for each text by its number."""

    name, identity, dim, max_tokens, failures = "fixed", "fixed/1", 96, 7, {"lost": "why"}
    vectors = np.random.default_rng(0).normal(size=(40, 96)).astype(np.float32)

    def encode(self, texts, *, role=None):
        return self.vectors[[int(text) for text in texts]]

    def encode_chunks(self, chunks, *, role=None):
        raise NotImplementedError

    def count_truncated(self, texts):
        return len(texts)


def test_cosine_of_binary_vectors_is_hamming():
    """1 - 2 * the share of dimensions whose signs differ."""
    texts = [str(i) for i in range(40)]
    found = Cosine(TransformedEncoder(Fixed(), VectorTransformOptions(quantize="binary"))).pairs(
        texts, texts[1:] + texts[:1]
    )
    signs = Fixed.vectors > 0
    differ = (signs != np.roll(signs, -1, axis=0)).mean(axis=1)
    np.testing.assert_allclose(found, 1 - 2 * differ, atol=1e-6)


@pytest.mark.parametrize(("quantize", "close"), [("float16", 1e-3), ("int8", 0.02)])
def test_rounding_keeps_the_cosine(quantize, close):
    """Half precision to a thousandth, eight bits to two hundredths."""
    texts = [str(i) for i in range(40)]
    exact = Cosine(Fixed()).distances(texts)
    found = Cosine(TransformedEncoder(Fixed(), VectorTransformOptions(quantize=quantize))).distances(texts)
    assert 0 < np.abs(found - exact).max() < close


def test_it_speaks_for_its_encoder():
    """All but the vectors is the encoder's own, whatever else it has to say; its chunks would be untransformed."""
    encoder = TransformedEncoder(Fixed(), VectorTransformOptions(dims=8))
    assert (encoder.name, encoder.dim, encoder.max_tokens, encoder.count_truncated(["a"])) == ("fixed", 8, 7, 1)
    assert encoder.failures == {"lost": "why"}
    assert not hasattr(encoder, "encode_chunks")
    assert encoder.identity == "fixed/1>dims=8,normalize=False,quantize=float32"
