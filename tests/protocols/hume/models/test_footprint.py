"""What a cell of HUME will hold is estimated from the items of its task."""

from __future__ import annotations

import numpy as np

from embassay.protocols.hume.models import FewLabelledTexts, TrainingRows, estimate_cell_memory
from embassay.records import LabelledTexts, ScoredTextPairs
from embassay.systems import open_system
from embassay.text import open_tokenizer

SYSTEMS = {name: open_system(name, tokenizer=open_tokenizer("words")) for name in ("bm25", "wordllama")}


def labelled(n):
    ids = tuple(map(str, range(n)))
    return LabelledTexts(ids, ("some words of a text " * 10,) * n, tuple(str(i % 2) for i in range(n)), ("",) * n)


def test_it_grows_with_the_items_of_every_kind():
    """For vectors and for tokens; the mend is one that `hume score` has."""

    def pairs(n):
        own = labelled(n)
        return ScoredTextPairs(own.ids, own.texts, own.texts, np.zeros(n))

    def few(n):
        return FewLabelledTexts(labelled(n), TrainingRows(labelled(n), 8, ""), ("0", "1"), 10, "task")

    for made in (labelled, pairs, few):
        for system in SYSTEMS.values():
            small, large = (estimate_cell_memory(system, made(n), 100) for n in (500, 20_000))
            assert large.bytes > small.bytes
            assert "--task" in large.mend


def test_clustering_by_words_takes_its_distances_and_a_classifier_its_vectors():
    """What grows fastest has a part of its own."""
    found = estimate_cell_memory(SYSTEMS["bm25"], labelled(3000), 100)
    assert found.parts["the distances of 3,000 texts"] == 2 * 3000 * 2999
    few = FewLabelledTexts(labelled(400), TrainingRows(labelled(400), 8, ""), ("0", "1"), 10, "task")
    assert estimate_cell_memory(SYSTEMS["wordllama"], few, 100).parts["the classifier"] > 0
