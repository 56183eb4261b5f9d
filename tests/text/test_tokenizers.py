"""Tokenizers: the contract on every text, and clear errors where cl100k is not at hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import requests
import tiktoken
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers

from embassay.contracts import Tokenizer
from embassay.errors import ModelError, UsageError
from embassay.text import TOKENIZERS, open_tokenizer
from embassay.text.tokenizers import Cl100kTokenizer, EncoderTokenizer, WordTokenizer

ANY_TEXT = st.text(st.characters(exclude_categories=()))
CASES = [
    "",
    " ",
    "\n\t ",
    " leading and trailing ",
    "don't stop",
    "日本語 text 😀👍🏽",
    "half \ud800 a pair",
    "\ud83d\ude00 whole",
    "<|endoftext|>",
    "a\u0301e\u0301",
    "\ufeffbom",
]


def utf8(text: str) -> bytes:
    """The text in UTF-8, halves of surrogate pairs as U+FFFD and halves that meet joined."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def check_contract(tokenizer: Tokenizer, texts: Sequence[str]) -> None:
    encoded = tokenizer.encode_batch(texts)
    for text, ids in zip(texts, encoded, strict=True):
        pieces = tokenizer.pieces(text)
        assert ids == tokenizer.encode(text)
        assert len(pieces) == len(ids)
        assert b"".join(pieces) == utf8(text)
        assert bool(ids) == bool(text)


def word_pieces() -> EncoderTokenizer:
    """A small WordPiece tokenizer that lower-cases, splits accents off and truncates."""
    vocabulary = {"[UNK]": 0, "do": 1, "##n": 2, "stop": 3, "text": 4, "'": 5, "t": 6, "a": 7}
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=8)
    return EncoderTokenizer("small", tokenizer)


def byte_pairs() -> EncoderTokenizer:
    """A byte-level tokenizer without merges: several tokens share a character outside ASCII."""
    alphabet = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = tokenizers.Tokenizer(models.BPE(alphabet, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return EncoderTokenizer("bytes", tokenizer)


@pytest.mark.parametrize("make", [WordTokenizer, word_pieces, byte_pairs])
def test_contract(make: type[Tokenizer]) -> None:
    """As many pieces as ids, joined they are the text; only an empty text has none."""
    check_contract(make(), CASES)


@pytest.mark.shared
def test_contract_of_cl100k(cl100k: Tokenizer) -> None:
    """cl100k keeps the contract as well; special tokens are ordinary text."""
    check_contract(cl100k, CASES)
    assert len(cl100k.encode("<|endoftext|>")) > 1


@given(st.lists(ANY_TEXT, max_size=4))
def test_contract_of_words_on_any_text(texts: list[str]) -> None:
    """Words keeps the contract whatever the text."""
    check_contract(WordTokenizer(), texts)


@given(st.lists(ANY_TEXT, max_size=4))
def test_contract_of_an_encoder_on_any_text(texts: list[str]) -> None:
    """So does the adapter, although the encoder drops and changes characters."""
    check_contract(word_pieces(), texts)


def test_words() -> None:
    """Runs of word characters and single other ones, whitespace before them, case told apart."""
    words = WordTokenizer()
    assert words.pieces("  It's  naïve_1!? ") == [
        b"  It", b"'", b"s", "  naïve_1".encode(), b"!", b"? "
    ]  # fmt: skip
    a, b, capital, again = words.encode("a b A b")
    assert len({a, b, capital}) == 3
    assert words.encode("b") == [b] == [again]
    assert words.encode(" ") == words.encode("\n\n") != words.encode("a")
    assert words.encode("") == []


def test_an_encoder_is_not_truncated_or_padded() -> None:
    """The adapter undoes the tokenizer's own limits, on a copy, and leaves special tokens out."""
    adapter = word_pieces()
    assert adapter.encode("Don stop text a") == [1, 2, 3, 4, 7]
    assert adapter.pieces("Don  stop") == [b"Do", b"n", b"  stop"]
    assert adapter.encode("\n") == [-1]


def test_identities_tell_tokenizers_apart() -> None:
    """The name alone is not the identity; equal definitions have equal ones."""
    assert word_pieces().identity == word_pieces().identity
    assert len({word_pieces().identity, byte_pairs().identity, WordTokenizer().identity}) == 3
    assert WordTokenizer().identity.startswith("words/1/")


@pytest.mark.shared
def test_cl100k_is_tiktoken(cl100k: Tokenizer) -> None:
    """The ids are tiktoken's, the identity names its version and the vocabulary."""
    encoding = tiktoken.get_encoding("cl100k_base")
    for text in CASES[:6]:
        assert cl100k.encode(text) == encoding.encode(text, disallowed_special=())
    assert tiktoken.__version__ in cl100k.identity
    assert cl100k.name == "cl100k"


def test_registry() -> None:
    """Both are listed, a name is opened once per process, a wrong one is refused."""
    assert [entry.name for entry in TOKENIZERS][:2] == ["cl100k", "words"]
    assert open_tokenizer("words") is open_tokenizer("words")
    with pytest.raises(UsageError, match="no tokenizer called 'word'"):
        open_tokenizer("word")


@pytest.mark.parametrize("folder", ["empty", ""])
def test_cl100k_offline(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without file and network: what is missing, where to put it and what else there is, in one error."""

    def refuse(address: str, timeout: float) -> None:
        assert timeout <= 5
        raise requests.ConnectionError(f"no route to {address}")

    monkeypatch.setattr(requests, "head", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / folder) if folder else "")
    with pytest.raises(ModelError, match="ConnectionError") as caught:
        Cl100kTokenizer().encode("a")
    for part in ("cl100k_base", "TIKTOKEN_CACHE_DIR", "--tokenizer words", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"):
        assert part in str(caught.value)
    assert caught.value.__suppress_context__


def test_cl100k_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cached file that is not the vocabulary is named, and left where it is."""
    file = tmp_path / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
    file.write_text("half a download")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(ModelError, match="damaged"):
        Cl100kTokenizer().encode("a")
    assert file.read_text() == "half a download"


@pytest.mark.slow
def test_cl100k_fails_without_a_network(tmp_path: Path) -> None:
    """A new process whose proxy does not answer ends with the error, and does not hang."""
    script = (
        "from embassay.text import open_tokenizer\n"
        "from embassay.errors import ModelError\n"
        "try:\n    open_tokenizer('cl100k')\nexcept ModelError as error:\n    print(error.mend)\n"
    )
    environment = {"TIKTOKEN_CACHE_DIR": str(tmp_path), "HTTPS_PROXY": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert "--tokenizer words" in done.stdout
    assert done.stderr == ""
