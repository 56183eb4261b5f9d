"""A small collection made of the bundles, to see whether a margin that shrinks costs recall. It is ours (spec rag 5.5
gives none).

The passages of all runs' bundles are the collection. For the query of a bundle a passage has

    grade 5   right author, right topic (C1)
    grade 3   right author, another topic (C3)
    grade 2   another author, right topic (C2a, C2b)
    grade 1   neither (C4)

and so has every passage of other bundles, by who signs it and what it is on, whatever an ablation makes of the names.
Over 15 runs some 28 impostors and both forms of C1 are on a query's topic: more than fit into the first ten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.probes.names.bundles import CANDIDATES, Bundle
from embassay.protocols.rag.probes.names.conditions import CONDITIONS
from embassay.randomness import random_bytes

Place = tuple[int, int, int]
"""Run, place of the bundle in it, place of the passage in the bundle."""


@dataclass(frozen=True)
class Corpus:
    """Where each passage of the collection stands in the bundles, in the order of the collection, and the grade of each
    for each query, (queries, passages)."""

    places: tuple[Place, ...]
    grades: NDArray[np.int8]


def corpus_of(by_run: Sequence[Sequence[Bundle]], seed: int) -> Corpus:
    """The collection of these bundles: a passage that runs share stands there once.

    Its order is drawn from the seed, so that texts which an ablation makes equal are found in no order of merit.
    """
    places: dict[tuple[object, ...], Place] = {}
    for run, own in enumerate(by_run):
        for q, bundle in enumerate(own):
            for slot, (signer, topic) in enumerate(zip(bundle.signers, bundle.topics, strict=True)):
                # C2a and C2b differ under near misses: who stands where is a part of what a passage is.
                places.setdefault((q, CANDIDATES[slot], signer, topic, bundle.title), (run, q, slot))
    found = list(places.values())
    lang = by_run[0][0].lang
    keys = np.frombuffer(random_bytes(8 * len(found), seed, "order of the collection", lang), dtype="<u8")
    ordered = [found[place] for place in np.argsort(keys, kind="stable")]
    return Corpus(tuple(ordered), _grades(by_run, ordered))


def written(
    by_run: Sequence[Sequence[Bundle]], corpus: Corpus, condition: str, seed: int
) -> tuple[list[str], list[list[str]]]:
    """The texts of the collection under a condition, and the queries of each run; one seed for all runs, so that an
    author has one name in the whole collection."""
    made = [[CONDITIONS[condition].write(bundle, seed) for bundle in own] for own in by_run]
    passages = [made[run][q].passages[slot] for run, q, slot in corpus.places]
    return passages, [[one.query for one in own] for own in made]


def _grades(by_run: Sequence[Sequence[Bundle]], places: Sequence[Place]) -> NDArray[np.int8]:
    passages = [(by_run[run][q].signers[slot], by_run[run][q].topics[slot]) for run, q, slot in places]
    people, topics = dict[object, int](), dict[str, int]()
    signer = np.array([people.setdefault(one, len(people)) for one, _ in passages])
    topic = np.array([topics.setdefault(one, len(topics)) for _, one in passages])
    author = np.array([people[bundle.author] for bundle in by_run[0]])
    on = np.array([topics[bundle.topic] for bundle in by_run[0]])
    right_author, right_topic = author[:, None] == signer[None], on[:, None] == topic[None]
    return np.where(right_author, np.where(right_topic, 5, 3), np.where(right_topic, 2, 1)).astype(np.int8)
