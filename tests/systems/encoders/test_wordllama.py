"""wordllama against the package whose files it reads."""

from __future__ import annotations

import logging
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from embassay.errors import ModelError
from embassay.systems import models as package_files
from embassay.systems.encoders.wordllama import WordLlama

TEXTS = [
    "A man is playing a guitar.",
    "",
    "  ",
    "naïve café — 東京 🙂",
    "<s> typed by hand </s>",
    "word " * 3000,
]


@pytest.fixture(scope="module")
def encoder():
    return WordLlama()


def test_vectors_are_those_of_the_package(encoder):
    """The same bits as the wordllama package, empty and long texts included."""
    level = logging.getLogger().level
    import wordllama

    logging.getLogger().setLevel(level)
    folder = Path(find_spec("wordllama").submodule_search_locations[0])
    package = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    assert np.array_equal(encoder.encode(TEXTS), package.embed(TEXTS))


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


@pytest.mark.slow
def test_the_package_is_not_imported():
    """Its import would bring the network library; only its files are read."""
    code = (
        "import sys; from embassay.systems.encoders.wordllama import WordLlama; WordLlama();"
        "sys.exit('wordllama' in sys.modules or 'requests' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_package_says_how_to_get_it(monkeypatch):
    """The error names the package and the command that mends it."""
    monkeypatch.setattr(package_files, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"needs the package wordllama.*pip install"):
        WordLlama()
