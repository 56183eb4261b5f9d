"""wordllama against what the package gave whose files are bundled."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from embassay.errors import ModelError
from embassay.systems.encoders import wordllama
from embassay.systems.encoders.wordllama import WordLlamaEncoder

TEXTS = ["A man is playing a guitar.", "", "  ", "naïve café — 東京 🙂", "<s> typed by hand </s>", "word " * 3000]


@pytest.fixture(scope="module")
def encoder():
    return WordLlamaEncoder()


def test_vectors_are_those_of_the_package(encoder):
    """The same bits that wordllama 0.4.0.post1 gave for these texts, empty and long ones included: its
    `WordLlamaEncoder.load(...).embed(TEXTS)`, recorded, since the package needs a compiler on most machines."""
    vectors = encoder.encode(TEXTS)
    assert vectors[0, :3].tolist() == [0.02471923828125, 0.32768741250038147, -0.00030517578125]
    assert vectors[5, :3].tolist() == [-1.1079555749893188, -0.2691877782344818, -0.3634330928325653]
    digest = hashlib.sha256(vectors.astype("<f4").tobytes()).hexdigest()
    assert digest == "64bd77fd95139c7447e6019f60d8572771cc6ca37635a1f74210423e23537ee5"


def test_a_vector_does_not_depend_on_company(encoder):
    """The same bits alone and together."""
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert np.array_equal(encoder.encode(TEXTS), alone)


def test_nothing_is_truncated(encoder):
    """There is no limit, so no text is too long."""
    assert encoder.max_tokens is None
    assert encoder.count_truncated(TEXTS) == 0


def test_no_texts(encoder):
    """No texts give no rows."""
    assert encoder.encode([]).shape == (0, 256)


@pytest.mark.parametrize("name", ["l2_supercat_256.safetensors", "l2_supercat_tokenizer_config.json"])
@pytest.mark.parametrize("damage", ["absent", "other"])
def test_a_missing_or_damaged_file_says_how_to_get_it(monkeypatch, tmp_path, name, damage):
    """The error names the file and the command that mends it."""
    for path in wordllama.FILES.iterdir():
        if path.name != name:
            (tmp_path / path.name).symlink_to(path)
        elif damage == "other":
            (tmp_path / name).write_bytes(b"something else")
    monkeypatch.setattr(wordllama, "FILES", tmp_path)
    with pytest.raises(ModelError, match=rf"{name}.*pip install .*embassay"):
        WordLlamaEncoder()


def test_the_licence_and_the_source_come_along():
    """Whoever has the files has the terms of their author beside them."""
    assert "Copyright (c) 2024 Lee Miller" in (wordllama.FILES / "LICENSE").read_text()
    assert "wordllama 0.4.0.post1" in (wordllama.FILES / "NOTICE.md").read_text()
