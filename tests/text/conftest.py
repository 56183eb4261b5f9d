"""What the tests of texts share: cl100k from the development data."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from embassay.contracts import Tokenizer
from embassay.text.tokenizers import Cl100kTokenizer

CACHED_NAME = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"


@pytest.fixture(scope="session")
def vocabulary(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiktoken cache folder that holds cl100k_base."""
    folder = tmp_path_factory.mktemp("tiktoken")
    shutil.copy(shared / "tokenizer" / "cl100k_base.tiktoken", folder / CACHED_NAME)
    return folder


@pytest.fixture(scope="session")
def cl100k(vocabulary: Path) -> Tokenizer:
    """The tokenizer of the paper."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(vocabulary))
        tokenizer = Cl100kTokenizer()
        tokenizer.pieces("opens the vocabulary, which is read at the first use")
        return tokenizer
