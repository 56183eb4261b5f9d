"""Insertion and removal: exact counts and places, in every tokenizer."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.contracts import Tokenizer
from embassay.text.perturbations import (
    compute_floor_of_share,
    insert_needle,
    make_needle_of_token_count,
    remove_token_span,
)
from embassay.text.tokenizers import (
    _KEPT_TOKENS,
    TokenByteEndCache,
    WordTokenizer,
    encode_as_utf8,
    find_tokenizer_byte_ends,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()))
SHARES = st.sampled_from([0.0, 0.15, 0.29, 0.5, 0.9, 1.0])
WORDS = WordTokenizer()


@given(st.integers(0, 100), st.integers(0, 10**6))
def test_floor_is_exact(hundredths: int, n: int) -> None:
    """The floor is that of the decimal number, never one less because of binary fractions."""
    assert compute_floor_of_share(hundredths / 100, n) == Fraction(hundredths, 100) * n // 1


@given(ANY_TEXT, SHARES, SHARES)
def test_insertion(text: str, p: float, q: float) -> None:
    """floor(p * n) needle tokens, at least 1, lie between the halves, cut at floor(q * length)."""
    at = compute_floor_of_share(q, len(text))
    count = max(1, compute_floor_of_share(p, len(WORDS.encode(text))))
    edited = insert_needle(text, WORDS, p, q)
    assert edited == text[:at] + make_needle_of_token_count(WORDS, count) + text[at:]
    assert len(edited) - len(text) == len(make_needle_of_token_count(WORDS, count))


@given(ANY_TEXT, SHARES, SHARES)
def test_removal(text: str, p: float, q: float) -> None:
    """floor(p * n) pieces are gone, at least 1, from piece floor(q * (n - k)) on; the rest is untouched."""
    pieces = WORDS.pieces(text)
    n = len(pieces)
    k = min(n, max(1, compute_floor_of_share(p, n)))
    start = compute_floor_of_share(q, n - k)
    rest = b"".join(pieces[:start] + pieces[start + k :])
    assert remove_token_span(text, WORDS, p, q) == rest.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("p", "q", "rest"),
    [
        (0.2, 0, " c d e f g h i j"),
        (0.2, 0.5, "a b c d g h i j"),
        (0.2, 1, "a b c d e f g h"),
        (0.01, 0, " b c d e f g h i j"),
        (1.0, 0.5, ""),
    ],
)
def test_removal_by_hand(p: float, q: float, rest: str) -> None:
    """Two of ten tokens at the start, in the middle, at the end; at least one; all."""
    assert remove_token_span("a b c d e f g h i j", WORDS, p, q) == rest


@pytest.mark.shared
def test_a_cut_character_becomes_a_replacement(cl100k: Tokenizer) -> None:
    """Half of an emoji's bytes removed leaves U+FFFD."""
    text = "🫠🫠"
    assert len(cl100k.encode(text)) > 2
    assert "\ufffd" in remove_token_span(text, cl100k, 0.15, 0.5)


def _score(counts: list[tuple[float, float]]) -> float:
    """1 - mean error of the ideal F measure against the expected 1 / (1 + p), from (p, F) pairs."""
    return 1 - sum(abs(f - 1 / (1 + p)) for p, f in counts) / len(counts)


def test_closed_forms() -> None:
    """An ideal F measure on token counts scores .8798 for insertion and .8687 for removal (section 13)."""
    text = " ".join(f"word{i}" for i in range(10_000))
    n, inserted, removed = 10_000, [], []
    for q in (0.0, 0.5, 1.0):
        for p in (0.15, 0.5, 1.0):
            m = len(WORDS.encode(insert_needle(text, WORDS, p, q)))
            inserted.append((p, 2 * n / (n + m)))
        for p in (0.15, 0.5, 0.9):
            m = len(WORDS.encode(remove_token_span(text, WORDS, p, q)))
            removed.append((p, 2 * m / (n + m)))
    assert _score(inserted) == pytest.approx(0.8798, abs=1e-4)
    assert _score(removed) == pytest.approx(0.8687, abs=1e-4)


def test_ends_are_kept_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text is tokenized once while there is room; past the room all is forgotten and work goes on."""
    monkeypatch.setattr("embassay.text.tokenizers._KEPT_TOKENS", 5)
    seen = []

    class Counting(WordTokenizer):
        def pieces(self, text: str) -> list[bytes]:
            seen.append(text)
            return super().pieces(text)

    ends = TokenByteEndCache(Counting())
    for text in ("a b c", "a b c", "d e", "f g", "a b c"):
        assert ends(text).tolist() == list(range(1, len(text) + 1, 2))
    assert seen == ["a b c", "d e", "f g", "a b c"]
    assert _KEPT_TOKENS == 1 << 24
    assert find_tokenizer_byte_ends(WORDS) is find_tokenizer_byte_ends(WORDS)


@given(ANY_TEXT)
def test_utf8_of_any_text(text: str) -> None:
    """Any text has bytes: its own where UTF-8 can hold it, U+FFFD for half a pair."""
    assert len(encode_as_utf8(text).decode()) <= len(text)
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert encode_as_utf8(text).decode() == text
