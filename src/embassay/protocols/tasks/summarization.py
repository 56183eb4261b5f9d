"""PTEB task 7: Spearman's correlation of how similar a machine's summary is to people's, and how people rated it
(PTEB section 5).

People's and machines' summaries are paraphrased. A machine summary has its highest similarity to any of people's
summaries of its text. `pooled`, the default, is one correlation over all summaries, as in the reference code;
`per-text` is the mean of one correlation per text, as in mteb [A10]. Texts are what is resampled: summaries of one text
depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.measures import spearman
from embassay.protocols.kernel.estimates import Estimate, Items, Lost, estimate
from embassay.protocols.tasks.task import (
    ItemTextsAndWordings,
    OriginalAndParaphrasedData,
    Place,
    PtebContext,
    Wording,
    estimate_correlation,
    iterate_texts_with_numbered_places,
    make_numbered_text_ids,
    make_skipped_items_of_reason,
    make_task_outcome,
    measure_highest_anchor_similarity,
)
from embassay.records import HumanRatedSummaries, SkippedItems, TaskOutcome

HEADLINE = "spearman"
BARE = "texts left without a reference or a summary"

Values = NDArray[np.float64]


def evaluate_system(system: Similarity, data: HumanRatedSummaries, context: PtebContext) -> TaskOutcome:
    """Score one system; items are each machine summary's `similarity` and `gold` rating, as TEXT:NUMBER.

    A summary by a person that could not be encoded leaves the others of its text; a text that has none left drops out.
    """
    items = Items()
    similar = measure_highest_anchor_similarity(system, data.references, data.summaries)
    flat, gold = np.concatenate(similar), np.concatenate(data.relevance)
    people, machines = (
        _find_unencodable_summaries(system, data, "references"),
        _find_unencodable_summaries(system, data, "summaries"),
    )
    ids = make_numbered_text_ids(data.ids, data.summaries)
    items.add(ids, flat, "similarity")
    items.add(ids, gold, "gold")
    for lost in (people, machines):
        if lost.too_many_lost_reason:
            return lost.make_task_outcome_without_score(HEADLINE, items)
    bare = [row for row, values in enumerate(similar) if np.isnan(values).all()]
    left = [row for row in range(len(data)) if row not in set(bare)]
    skipped = [*people.skipped, *machines.skipped, *make_skipped_items_of_reason(BARE, data.ids, left)]
    if context.options.summaries == "per-text":
        rho = _average_text_correlations(similar, data, left, context, skipped)
    else:
        of_text = np.repeat(np.arange(len(data)), [len(group) for group in data.summaries])
        method = f"pooled, cluster bootstrap over {len(left)} texts"
        rho = estimate_correlation(flat, gold, context, "texts", groups=of_text, method=method)
    n = int((~np.isnan(flat)).sum())
    counts = {"texts": len(left), "summaries": n}
    return make_task_outcome(HEADLINE, rho, items, n=n, skipped=skipped, counts=counts)


def list_texts(data: HumanRatedSummaries) -> Iterator[Place]:
    """List people's summaries of every text, then the machines', each with its place."""
    for row, key in enumerate(data.ids):
        yield from iterate_texts_with_numbered_places("reference", (key,), (data.references[row],))
        yield from iterate_texts_with_numbered_places("summary", (key,), (data.summaries[row],))


def replace_texts(data: HumanRatedSummaries, wording: Wording) -> OriginalAndParaphrasedData:
    """Both kinds of summaries, paraphrased. One that has none drops itself, and a text without any of either kind
    drops out."""
    people = ItemTextsAndWordings.of("reference", "references", data.ids, data.references, wording)
    machines = ItemTextsAndWordings.of("summary", "summaries", data.ids, data.summaries, wording)
    references, summaries = (people.list_reworded_text_numbers_of_items, machines.list_reworded_text_numbers_of_items)
    rows = [row for row in range(len(data)) if references[row] and summaries[row]]
    kept = _KeptTextsAndSummaries(rows, references, summaries)
    lost = (*people.lost(), *machines.lost(), *make_skipped_items_of_reason(BARE, data.ids, rows))
    original = kept.of(data, data.references, data.summaries) if lost else data
    return OriginalAndParaphrasedData(original, kept.of(data, people.after, machines.after), len(rows), len(data), lost)


@dataclass(frozen=True)
class _KeptTextsAndSummaries:
    """Which texts stay, and by the number of a text which of its summaries."""

    rows: Sequence[int]
    references: Sequence[Sequence[int]]
    summaries: Sequence[Sequence[int]]

    def of(self, data: HumanRatedSummaries, references: Any, summaries: Any) -> HumanRatedSummaries:
        """Make the data with these summaries only."""
        return HumanRatedSummaries(
            tuple(data.ids[row] for row in self.rows),
            tuple(data.texts[row] for row in self.rows),
            tuple(tuple(references[row][i] for i in self.references[row]) for row in self.rows),
            tuple(tuple(summaries[row][i] for i in self.summaries[row]) for row in self.rows),
            tuple(data.relevance[row][self.summaries[row]] for row in self.rows),
        )


def _find_unencodable_summaries(system: Similarity, data: HumanRatedSummaries, kind: str) -> Lost:
    """The `references` or `summaries` that could not be encoded."""
    groups: tuple[tuple[str, ...], ...] = getattr(data, kind)
    lost = Lost(system, make_numbered_text_ids(data.ids, groups), kind)
    lost.note_items_with_unencoded_text([text for group in groups for text in group])
    return lost


def _average_text_correlations(
    similar: Sequence[Values],
    data: HumanRatedSummaries,
    rows: Sequence[int],
    context: PtebContext,
    skipped: list[SkippedItems],
) -> Estimate | str:
    """The mean of one correlation per text of `rows`; where ratings or similarities do not vary there is none, which
    is added to `skipped`."""
    values = np.full(len(data), np.nan)
    for row in rows:
        rated = ~np.isnan(similar[row])
        values[row] = spearman(similar[row][rated], data.relevance[row][rated])
    constant = tuple(data.ids[row] for row in rows if np.isnan(values[row]))
    if constant:
        skipped.append(SkippedItems("texts whose ratings or similarities do not vary", len(constant), constant[:5]))
    if np.isnan(values).all():
        return "no text has ratings and similarities that vary"
    method = "mean per text, bootstrap over texts"
    return estimate(values[:, None], lambda means: means[..., 0], context, "texts", method)
