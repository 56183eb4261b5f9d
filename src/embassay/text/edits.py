"""Edits of characters, words and sentences, as pure functions of a text and a random bit stream."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

_SENTENCE_END = re.compile(r"[.!?]\s+")


def split_sentences(text: str) -> list[str]:
    """The sentences of `text` in order, without the whitespace around them (SAGE, section 5).

    Abbreviations are not known: "Dr. Who" is two sentences. A text without an inner sentence end is one
    sentence, an empty or blank one has none.

    >>> split_sentences("It works. Does it? Yes!")
    ['It works.', 'Does it?', 'Yes!']
    """
    text = text.strip()
    if not text:
        return []
    sentences, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        sentences.append(text[start : match.start() + 1])
        start = match.end()
    sentences.append(text[start:])
    return sentences


def sentences_of_lines(text: str) -> list[str]:
    """The sentences of `text` by the rule of the first author's earlier code (SAGE [A16]): parts between line ends and
    full stops that a space follows, without the whitespace around them, each with a full stop added.

    >>> sentences_of_lines("It works. Does it?\\nYes.")
    ['It works.', 'Does it?.', 'Yes..']
    """
    parts = (part.strip() for line in text.split("\n") for part in line.split(". "))
    return [f"{part}." for part in parts if part not in ("", ".")]


Draw = Callable[[int], bytes]
"""The first n bytes of the random stream that belongs to one text and one perturbation."""


def capitalize(text: str, draw: Draw) -> str:
    """Each character becomes its upper case with probability 1/4, independently (SAGE, section 5) [A24].

    Character i takes bits 2(i mod 4) and the next of byte i // 4 of the stream, and is raised when both are
    0. A character whose upper case is longer than one character (sharp s, ligatures) stays.
    """
    drawn = np.frombuffer(draw((len(text) + 3) // 4), np.uint8)
    return _raised(text, _RAISED_BY.take(drawn, mode="clip").view(np.uint8)[: len(text)])


def capitalize_exactly(text: str, draw: Draw) -> str:
    """A quarter of the characters, rounded down, drawn without replacement, become upper case [A24]."""
    case_bits = np.zeros(len(text), np.uint8)
    case_bits[permutation(len(text), draw)[: len(text) // 4]] = _CASE_BIT
    return _raised(text, case_bits)


_CASE_BIT = 0x20  # tells an ASCII letter from its upper case
# Entry b: the case bit, or 0, for each of the four characters that byte b decides, as the bytes of one
# number.
_RAISED_BY: NDArray[np.uint32] = (
    (((np.arange(256)[:, None] >> np.arange(0, 8, 2)) & 3 == 0) * _CASE_BIT).astype(np.uint8).view(np.uint32)
).ravel()


def _raised(text: str, case_bits: NDArray[np.uint8]) -> str:
    """`text` with the characters whose `case_bits`, (characters,), are set in upper case."""
    if not text.isascii():
        return _raised_unicode(text, case_bits)
    characters = text.encode()
    old = np.frombuffer(characters, np.uint8)
    changed = old ^ np.frombuffer(characters.upper(), np.uint8)
    changed &= case_bits
    changed ^= old
    return changed.tobytes().decode()


def _raised_unicode(text: str, case_bits: NDArray[np.uint8]) -> str:
    codes = np.frombuffer(bytearray(text, "utf-32-le", "surrogatepass"), "<u4")
    changed = (codes - np.uint32(ord("a")) < 26).view(np.uint8)
    changed *= np.uint8(_CASE_BIT)
    changed &= case_bits
    codes.view(np.uint8)[::4] ^= changed
    others = np.flatnonzero(codes > 127)
    others = others[case_bits[others] != 0]
    if others.size:
        codes[others] = [_upper_code(code) for code in codes[others].tolist()]
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


@cache
def _upper_code(code: int) -> int:
    upper = chr(code).upper()
    return ord(upper) if len(upper) == 1 else code


def delete_tenth(text: str, _draw: Draw) -> str:
    """The characters at positions 10, 20, 30 ... (from 1) are removed; a space (U+0020) there stays [A11]."""
    if not text.isascii():
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        kept = np.ones(len(text), np.bool_)
        kept[9::10] = codes[9::10] == ord(" ")
        return codes[kept].tobytes().decode("utf-32-le", "surrogatepass")
    characters = bytearray(text, "ascii")
    characters[9::10] = characters[9::10].translate(_ALL_BUT_SPACE_DELETED)
    return characters.translate(None, _DELETED).decode()


_DELETED = b"\xff"  # not in ASCII
_ALL_BUT_SPACE_DELETED = bytes(byte if byte == ord(" ") else _DELETED[0] for byte in range(256))


def delete_tenth_or_next(text: str, _draw: Draw) -> str:
    """As `delete_tenth`; in place of a space, the next character that is none goes, if there is one [A11]."""
    kept, start = [], 0
    for position in range(9, len(text), 10):
        while text[position : position + 1] == " ":
            position += 1
        if position >= start:  # ten spaces in a row make two positions meet
            kept.append(text[start:position])
            start = position + 1
    return "".join(kept) + text[start:]


def delete_tenth_of_sentences(text: str, _draw: Draw) -> str:
    """In every sentence (`sentences_of_lines`) the characters at its positions 10, 20, 30 ... are removed, a space
    counting as two; the sentences are joined by a blank line. The rule of the first author's earlier code [A16]."""
    kept = []
    for sentence in sentences_of_lines(text):
        characters = list(sentence.replace(" ", "  "))
        del characters[9::10]
        kept.append("".join(characters).replace("  ", " "))
    return "\n\n".join(kept)


_DIGITS = bytes.maketrans(b"eiao", b"3140")
_DIGITS_BOTH_CASES = bytes.maketrans(b"eiaoEIAO", b"31403140")


def numerize(text: str, _draw: Draw, both_cases: bool = False) -> str:
    """e becomes 3, i 1, a 4 and o 0; capitals too with `both_cases` (SAGE, section 5).

    Letters with accents are other characters and stay.
    """
    # In UTF-8 the bytes of these letters stand for nothing else.
    table = _DIGITS_BOTH_CASES if both_cases else _DIGITS
    return text.encode("utf-8", "surrogatepass").translate(table).decode("utf-8", "surrogatepass")


def shuffle_words(text: str, draw: Draw) -> str:
    """The words (split at whitespace) in random order, joined by one space (SAGE, section 5)."""
    return " ".join(_shuffled(text.split(), draw))


def shuffle_sentences(text: str, draw: Draw) -> str:
    """The sentences in random order, joined by one space (SAGE, section 5); see `split_sentences`."""
    return " ".join(_shuffled(split_sentences(text), draw))


def shuffle_words_at_spaces(text: str, draw: Draw) -> str:
    """What stands between single spaces in random order: line ends stay within their word [A16]."""
    return " ".join(_shuffled(text.split(" "), draw))


def shuffle_sentences_of_lines(text: str, draw: Draw) -> str:
    """The sentences by `sentences_of_lines` in random order, joined by a blank line [A16]."""
    return "\n\n".join(_shuffled(sentences_of_lines(text), draw))


def _shuffled(parts: list[str], draw: Draw) -> Sequence[str]:
    """The parts in random order; under two parts take nothing from the stream."""
    if len(parts) < 2:
        return parts
    shuffled: tuple[str, ...] = itemgetter(*permutation(len(parts), draw))(parts)
    return shuffled


def permutation(n: int, draw: Draw) -> list[int]:
    """A random order of n things: that of n little-endian 32-bit keys, equal ones by position."""
    keys = np.empty(n, "<u8")
    halves = keys.view("<u4")
    halves[1::2] = np.frombuffer(draw(4 * n), "<u4")
    halves[::2] = np.arange(n)
    keys.sort()
    order: list[int] = halves[::2].tolist()
    return order
