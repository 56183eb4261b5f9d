"""The noise probe's measures: how similarity falls, what rewriting brings back, the rows of results (spec rag 5.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.errors import UsageError
from embassay.measures import list_tau, overlap
from embassay.protocols.kernel.estimates import MOST_LOST, Items, undefined
from embassay.protocols.rag.probes.questions import NOISIEST, Questions, Variant, level_name
from embassay.protocols.rag.probes.resampling import METHOD, ProbeContext
from embassay.protocols.rag.probes.similarities import CUTOFF, MEASURES, firsts, similarities, values
from embassay.records import Component, Score, TaskOutcome
from embassay.runs.forecast import Hear

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


@dataclass(frozen=True)
class Drop:
    """From the clean question to the noisiest: absolute, and as a share of the clean cosine (NaN where that is 0)."""

    absolute: float
    share: float


def share_lost(clean: Floats, noisy: Floats) -> Floats:
    """1 - noisy / clean, value by value; NaN where the clean cosine is 0."""
    return np.asarray(1 - noisy / np.where(clean == 0, np.nan, clean))


def recovery(clean: Floats, noisy: Floats, rewritten: Floats) -> Floats:
    """(rewritten - noisy) / (clean - noisy), value by value; NaN where noise cost nothing."""
    return np.asarray((rewritten - noisy) / np.where(clean > noisy, clean - noisy, np.nan))


def drop(clean: float, noisy: float) -> Drop:
    """What is lost between two mean cosines.

    >>> result = drop(0.818, 0.522)
    >>> round(result.absolute, 3), round(100 * result.share, 1)
    (0.296, 36.2)
    """
    lost = clean - noisy
    return Drop(lost, float(share_lost(np.array(clean), np.array(noisy))))


def recovered(clean: Floats, noisy: Floats, rewritten: Floats) -> float:
    """The share of the loss that rewriting brings back: of the means over the questions, each (n,).

    1: as good as the clean question, 0: nothing gained, below 0: made worse. NaN where noise cost nothing. UsageError
    for unequal lengths.

    >>> round(recovered(np.array([0.9]), np.array([0.5]), np.array([0.8])), 6)
    0.75
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (clean, noisy, rewritten)]
    if len({side.shape for side in sides}) != 1 or not sides[0].size:
        raise UsageError(
            "The three sides are not of the same questions.", mend="Give one cosine each of every question."
        )
    return float(recovery(*(side.mean() for side in sides)))


TASK = "noise"
HEADLINE = "drop"
SHARE = "drop %"
RECOVERED = "recovered"
ACROSS = "levels"
"""The variant of rows over all levels."""


def outcome(
    ids: Sequence[str], variants: Sequence[Variant], values: Mapping[str, Floats], context: ProbeContext
) -> TaskOutcome:
    """The outcome of a cell; arrays are (variants, runs, questions), the clean questions first.

    The headline, with an empty variant, is the drop of the cosine from the clean question to the noisiest.
    """
    means = {name: rows.mean(axis=1) for name, rows in values.items()}
    by_name = {one.name: place for place, one in enumerate(variants)}
    # The headline stands first.
    scores = list(_drop(means[COSINE], by_name[level_name(NOISIEST)], "", context))
    for place, one in enumerate(variants):
        scores += _variant(place, one, by_name, means, context)
    scores += _across(means, context)
    headline = scores[0]
    components = {HEADLINE: Component(headline.value, headline.n, np.empty(0), headline.reason)}
    return TaskOutcome(tuple(scores), components, _items(ids, variants, values))


def _variant(
    place: int, one: Variant, by_name: Mapping[str, int], means: Mapping[str, Floats], context: ProbeContext
) -> Iterator[Score]:
    if one.rewriter and (lost := int(np.isnan(means[COSINE][place]).sum())) > MOST_LOST * len(
        means[COSINE][place]
    ):
        n = len(means[COSINE][place])
        reason = f"{lost} of {n} queries have no rewriting (over {MOST_LOST:.0%}, so no score)"
        yield from (undefined(name, n - lost, reason, variant=one.name) for name in means)
        return
    for name, of_questions in means.items():
        yield context.over_queries(name, of_questions[place], variant=one.name)
    if place == 0:
        return
    yield from _drop(means[COSINE], place, one.name, context)
    noisy = by_name[level_name(one.level)]
    if one.rewriter and one.level:
        columns = means[COSINE][[0, noisy, place]].T
        yield context.over_queries(
            RECOVERED,
            columns,
            lambda m: recovery(m[..., 0], m[..., 1], m[..., 2]),
            variant=one.name,
            why_not="noise costs no similarity",
        )
    for name in MEASURES:
        yield from _paired(f"{name} change", means[name][place] - means[name][0], one.name, context)
        if one.rewriter:
            yield from _paired(f"{name} gain", means[name][place] - means[name][noisy], one.name, context)
        if not one.rewriter:
            change = means[COSINE][place] - means[COSINE][0]
            names = f"{COSINE} change", f"{name} change"
            yield from context.links(change, means[name][place] - means[name][0], names, one.name)


def _drop(cosines: Floats, place: int, variant: str, context: ProbeContext) -> Iterator[Score]:
    """What is lost against the clean question, absolute and in percent of it."""
    yield context.over_queries(HEADLINE, cosines[0] - cosines[place], variant=variant)
    pair = cosines[[0, place]].T
    yield context.over_queries(
        SHARE,
        pair,
        lambda m: 100 * share_lost(m[..., 0], m[..., 1]),
        variant=variant,
        why_not="the clean cosine is 0",
    )


def _paired(measure: str, differences: Floats, variant: str, context: ProbeContext) -> Iterator[Score]:
    """The mean difference with its interval, and its two-sided p: twice the smaller share of resampled differences on
    either side of 0, one added to count and total."""
    row = context.over_queries(measure, differences, variant=variant)
    yield row
    if row.value is None or row.n < 2:
        return
    replicates = context.bootstrap(differences[:, None], "queries")[:, 0]
    smaller = min(int((replicates <= 0).sum()), int((replicates >= 0).sum()))
    p = min(1.0, 2 * (smaller + 1) / (len(replicates) + 1))
    yield Score(f"p({measure})", p, row.n, variant=variant, method=f"paired {METHOD}")


def _across(means: Mapping[str, Floats], context: ProbeContext) -> Iterator[Score]:
    """Over levels, as asked and rewritten: does what moves a question further also cost more recall?"""
    changes = {name: of_questions[1:] - of_questions[0] for name, of_questions in means.items()}
    usable = ~np.isnan(changes[COSINE]).all(axis=1)
    for name in MEASURES:
        names = f"{COSINE} change", f"{name} change"
        yield from context.links_of_means(changes[COSINE][usable], changes[name][usable], names, ACROSS)


def _items(
    ids: Sequence[str], variants: Sequence[Variant], values: Mapping[str, Floats]
) -> Mapping[str, list[object]]:
    """A value of every measure for every wording; `item_id` is query@run."""
    items = Items()
    runs = next(iter(values.values())).shape[1]
    keys = [f"{key}@{run}" for run in range(runs) for key in ids]
    for place, one in enumerate(variants):
        for name, rows in values.items():
            items.add(keys, rows[place].ravel(), name, one.name)
    return items.columns
