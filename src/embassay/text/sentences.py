"""Sentences: by the benchmark's rule one ends after `.`, `!` or `?` followed by whitespace."""

from __future__ import annotations

import re

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
