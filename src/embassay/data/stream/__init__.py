"""Corpora that are too large for memory: texts that lie in a file and are read from there.

    corpus = open_dataset("my_beir_folder").load("retrieval").data.corpus
    corpus.texts[5], corpus.texts[100:200], len(corpus)

A large corpus is read once, written as columns to the cache folder, and used from there by this run, its workers, and
later runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from embassay.data.stream.column import ColumnWriter, Picked, TextColumn

__all__ = ["ColumnWriter", "Picked", "TextColumn", "lies_in_file"]


def lies_in_file(texts: Sequence[str]) -> bool:
    """Whether the texts are read from a file when they are asked for, so that nobody should copy all of them."""
    return isinstance(texts, TextColumn | Picked)
