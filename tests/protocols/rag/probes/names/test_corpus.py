"""The collection made of the bundles: who signs what decides the grade, whatever names are made into."""

from __future__ import annotations

from collections import Counter

import numpy as np

from embassay.protocols.rag.probes.bundles import make_or_read_authors_and_topics
from embassay.protocols.rag.probes.names import (
    compose_corpus_and_queries,
    locate_bundle_passages_in_corpus,
    make_name_probe_bundles_per_run,
)

BY_RUN = make_name_probe_bundles_per_run(make_or_read_authors_and_topics("en"), 12, 4, 3)
CORPUS = locate_bundle_passages_in_corpus(BY_RUN, 3)


def test_grades_follow_author_and_topic() -> None:
    passages, queries = compose_corpus_and_queries(BY_RUN, CORPUS, "base", 3)
    for q, bundle in enumerate(BY_RUN[0]):
        for text, grade in zip(passages, CORPUS.grades[q], strict=True):
            author, topic = f" {bundle.author.name}." in text, f"'{bundle.topic}'" in text
            assert grade == {(True, True): 5, (True, False): 3, (False, True): 2, (False, False): 1}[author, topic]
    assert len(queries) == 4
    assert all(bundle.topic in text for own in queries for bundle, text in zip(BY_RUN[0], own, strict=True))


def test_every_query_has_its_own_passages_and_impostors() -> None:
    for row in CORPUS.grades:
        counts = Counter(row.tolist())
        assert counts[5] >= 1
        assert counts[2] >= 4
        assert counts[3] >= 1


def test_ablations_keep_grades_and_order() -> None:
    """Under the mask all on a topic are one text: their order is drawn, so ties are no order of merit."""
    base, _ = compose_corpus_and_queries(BY_RUN, CORPUS, "base", 3)
    masked, _ = compose_corpus_and_queries(BY_RUN, CORPUS, "hard_name_mask", 3)
    named, _ = compose_corpus_and_queries(BY_RUN, CORPUS, "gibberish_name", 3)
    assert len(base) == len(masked) == len(named) == CORPUS.grades.shape[1]
    place = np.argmax(CORPUS.grades, axis=1) / len(base)
    assert 0.05 < place.mean() < 0.6
    assert locate_bundle_passages_in_corpus(BY_RUN, 3).places == CORPUS.places
    assert locate_bundle_passages_in_corpus(BY_RUN, 4).places != CORPUS.places
    # One author has one identifier in the whole collection.
    author = BY_RUN[0][0].author
    ids = {
        text.split("Author: ")[1]
        for text, (run, q, slot) in zip(named, CORPUS.places, strict=True)
        if BY_RUN[run][q].passage_signers[slot] == author
    }
    assert len(ids) == 1
