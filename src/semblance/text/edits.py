"""Edits of characters, words and sentences, as pure functions of a text and a random bit stream."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from semblance.text.sentences import split_sentences

Draw = Callable[[int], bytes]
"""The first n bytes of the random stream that belongs to one text and one perturbation."""


def capitalize(text: str, draw: Draw) -> str:
    """Each character becomes its upper case with probability 1/4, independently (SAGE, section 5).

    Character i takes bits 2(i mod 4) and the next of byte i // 4 of the stream, and is raised when both are 0. A
    character whose upper case is longer than one character (sharp s, ligatures) stays.
    """
    quarter = np.frombuffer(draw((len(text) + 3) // 4), np.uint8)
    return _raise_where(text, _BIT_PAIRS[quarter].view(np.bool_)[: len(text)])


def capitalize_exactly(text: str, draw: Draw) -> str:
    """A quarter of the characters, rounded down, drawn without replacement, become upper case [A24]."""
    raised = np.zeros(len(text), np.bool_)
    raised[permutation(len(text), draw)[: len(text) // 4]] = True
    return _raise_where(text, raised)


# Row b: which of the four characters that byte b decides are raised, as the four bytes of one number.
_BIT_PAIRS: NDArray[np.uint32] = (
    ((np.arange(256)[:, None] >> np.arange(0, 8, 2)) & 3 == 0).astype(np.uint8).view(np.uint32).ravel()
)


def _raise_where(text: str, raised: NDArray[np.bool_]) -> str:
    upper = text.upper()
    if len(upper) != len(text):
        upper = "".join(map(_upper_character, text))
    codec, unit = ("ascii", np.dtype(np.uint8)) if text.isascii() else ("utf-32-le", np.dtype("<u4"))
    old = np.frombuffer(text.encode(codec, "surrogatepass"), unit)
    new = np.frombuffer(upper.encode(codec, "surrogatepass"), unit)
    return np.where(raised, new, old).tobytes().decode(codec, "surrogatepass")


def _upper_character(character: str) -> str:
    upper = character.upper()
    return upper if len(upper) == 1 else character


def delete_tenth(text: str, _draw: Draw, spaces: Literal["keep", "next"] = "keep") -> str:
    """The characters at positions 10, 20, 30 ... (from 1) are removed (SAGE, section 5) [A11].

    A space (U+0020) at such a position stays; with `spaces="next"` the next character that is not a space goes
    instead, if there is one.
    """
    if spaces == "next":
        return _delete_next(text)
    tens = range(0, len(text), 10)
    return "".join([text[i : i + 10] if text[i + 9 : i + 10] == " " else text[i : i + 9] for i in tens])


def _delete_next(text: str) -> str:
    kept, start = [], 0
    for position in range(9, len(text), 10):
        while text[position : position + 1] == " ":
            position += 1
        if position >= start:  # ten spaces in a row would make two positions meet
            kept.append(text[start:position])
            start = position + 1
    return "".join(kept) + text[start:]


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
    return " ".join(shuffled(text.split(), draw))


def shuffle_sentences(text: str, draw: Draw) -> str:
    """The sentences in random order, joined by one space (SAGE, section 5); see `split_sentences`."""
    return " ".join(shuffled(split_sentences(text), draw))


def shuffled(parts: list[str], draw: Draw) -> list[str]:
    """The parts in random order; under two parts take nothing from the stream."""
    if len(parts) < 2:
        return parts
    return list(itemgetter(*permutation(len(parts), draw).tolist())(parts))


def permutation(n: int, draw: Draw) -> NDArray[np.int64]:
    """A random order of n things, shape (n,): the order of n little-endian 32-bit keys, equal ones by position."""
    keys = np.frombuffer(draw(4 * n), "<u4").astype(np.uint64) << np.uint64(32)
    keys |= np.arange(n, dtype=np.uint64)
    keys.sort()
    return (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
