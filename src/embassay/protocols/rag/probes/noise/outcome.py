"""From what a system makes of noisy questions to the rows of results (spec rag 5.4, 5.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.estimates import Items, undefined
from embassay.protocols.lost import MOST_LOST
from embassay.protocols.rag.probes.found import MEASURES
from embassay.protocols.rag.probes.noise.drops import recovery, share_lost
from embassay.protocols.rag.probes.noise.measured import COSINE
from embassay.protocols.rag.probes.noise.wordings import NOISIEST, Variant, level_name
from embassay.protocols.rag.probes.resampling import METHOD, ProbeContext
from embassay.records import Component, Score, TaskOutcome

Floats = NDArray[np.float64]
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
