"""What a system makes of noisy questions: how near they are to what is meant, and what is found for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.measures import list_tau, overlap
from embassay.protocols.rag.probes.found import CUTOFF, firsts, values
from embassay.protocols.rag.probes.noise.questions import Questions
from embassay.protocols.rag.probes.noise.wordings import Variant
from embassay.protocols.rag.probes.similarities import similarities
from embassay.runs.rehearsal import Hear

Floats = NDArray[np.float64]
COSINE = "similarity"
OVERLAP, TAU = f"overlap@{CUTOFF}", f"tau@{CUTOFF}"


@dataclass(frozen=True)
class Asked:
    """The distinct wordings, and where they stand: `places` (variants, runs, questions), -1 where there is none."""

    texts: tuple[str, ...]
    places: NDArray[np.int64]


def asked_of(variants: Sequence[Variant]) -> Asked:
    """The wordings of these variants, the clean questions first."""
    known: dict[str, int] = {}
    places = np.array(
        [
            [
                [-1 if text is None else known.setdefault(text, len(known)) for text in run]
                for run in one.texts
            ]
            for one in variants
        ]
    )
    return Asked(tuple(known), places)


def rehearse(questions: Questions, asked: Asked, hear: Hear) -> bool:
    """Tell of the calls that an encoder gets: the wordings with what is meant, and the corpus."""
    needs = questions.references if questions.role == "query" else ()
    hear(list(dict.fromkeys([*asked.texts, *needs])), "query")
    hear(questions.corpus, "document")
    return True


def cosines(system: Similarity, questions: Questions, asked: Asked) -> Floats:
    """The similarity of every wording with its question's reference, (variants, runs, questions), NaN without one."""
    references = list(dict.fromkeys(questions.references))
    own = np.array([references.index(text) for text in questions.references])
    there = asked.places >= 0
    right = np.broadcast_to(own, asked.places.shape)
    found = np.full(asked.places.shape, np.nan)
    found[there] = similarities(
        system, asked.texts, references, asked.places[there], right[there], questions.role
    )
    return found


def retrieval(system: Similarity, questions: Questions, asked: Asked) -> Mapping[str, Floats]:
    """Measure -> its value for every wording, (variants, runs, questions), NaN without one; `overlap` and `tau` are
    with what the clean question finds."""
    there = asked.places >= 0
    by_text = firsts(system, asked.texts, questions.corpus)
    indices = by_text[np.maximum(asked.places, 0)].reshape(-1, by_text.shape[1])
    n = len(questions)
    counts, rounds = questions.counts(), len(indices) // n
    top = np.concatenate([questions.top(indices[i * n : (i + 1) * n]) for i in range(rounds)])
    found = dict(values(np.tile(counts, (rounds, 1)), top))
    clean = np.tile(indices[:n], (rounds, 1))
    found |= _likeness(clean, indices)
    shaped = {name: of_rows.reshape(asked.places.shape) for name, of_rows in found.items()}
    return {name: np.where(there, of_rows, np.nan) for name, of_rows in shaped.items()}


def _likeness(clean: NDArray[np.int64], other: NDArray[np.int64]) -> dict[str, Floats]:
    first, second = (
        {str(row): _ids(one) for row, one in enumerate(side.tolist())} for side in (clean, other)
    )
    return {
        OVERLAP: np.asarray(overlap(first, second, CUTOFF)),
        TAU: np.asarray(list_tau(first, second, CUTOFF)),
    }


def _ids(places: list[int]) -> list[str]:
    return [str(place) for place in places if place >= 0]
