"""Static models of model2vec, with one made here."""

from __future__ import annotations

import shutil
import sys

import numpy as np
import pytest

from embassay.errors import ModelError, UsageError
from embassay.systems.encoders.static import StaticEncoder

VECTORS = np.array([[0, 0], [3, 4], [0, 1], [-1, 0]], dtype=np.float32)

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four words in two dimensions."""
    model2vec = pytest.importorskip("model2vec")
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "one": 1, "two": 2, "ten": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    path = tmp_path_factory.mktemp("static") / "model"
    model2vec.StaticModel(vectors=VECTORS, tokenizer=tokenizer, normalize=False).save_pretrained(path)
    return path


def test_vectors_are_means_of_token_vectors(folder):
    """Worked out by hand, and the library's own; a text without known words is zero."""
    encoder = StaticEncoder(str(folder))
    texts = ["one", "one two", "ten two one one", ""]
    expected = [[3, 4], [1.5, 2.5], [1.25, 2.25], [0, 0]]
    np.testing.assert_allclose(encoder.encode(texts), expected, rtol=1e-6)
    import model2vec

    theirs = model2vec.StaticModel.from_pretrained(folder).encode(texts)
    assert np.array_equal(encoder.encode(texts), theirs)
    assert (encoder.dim, encoder.uses_roles, encoder.encode([]).shape) == (2, False, (0, 2))


def test_long_texts_are_cut_and_counted(folder):
    """At model2vec's 512 tokens unless something else is asked for; 0 means no limit."""
    long = "one " * 512 + "ten " * 512
    usual, two, endless = (
        StaticEncoder(str(folder)),
        StaticEncoder(str(folder), max_length=2),
        StaticEncoder(str(folder), max_length=0),
    )
    np.testing.assert_allclose(usual.encode([long]), [[3, 4]])
    np.testing.assert_allclose(endless.encode([long]), [[1, 2]])
    assert np.array_equal(two.encode(["one two ten"]), two.encode(["one two"]))
    assert (usual.max_tokens, two.max_tokens, endless.max_tokens) == (512, 2, None)
    texts = ["one", "one two ten", long]
    assert [one.count_truncated(texts) for one in (usual, two, endless)] == [1, 2, 0]
    assert np.array_equal(two.encode(["one two ten"]), two.encode(["one two"]))
    assert len({usual.identity, two.identity, endless.identity}) == 3


def test_a_copy_is_the_same(folder, tmp_path):
    """By content, not by path."""
    shutil.copytree(folder, tmp_path / "copy")
    assert StaticEncoder(str(tmp_path / "copy")).identity == StaticEncoder(str(folder)).identity


def test_what_cannot_be(folder, tmp_path, monkeypatch):
    """One line each: not a model, a wrong limit, a missing package."""
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"cannot be loaded as a static model.*model\.safetensors"):
        StaticEncoder(str(tmp_path))
    with pytest.raises(UsageError, match="must not be negative"):
        StaticEncoder(str(folder), max_length=-1)
    monkeypatch.setitem(sys.modules, "model2vec", None)
    with pytest.raises(ModelError, match=r"pip install 'embassay\[static\]'"):
        StaticEncoder(str(folder))
