"""The nouns everything shares: datasets in the shapes tasks need, and results.

All are frozen and column-wise: position i of every column of a record belongs to the same item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def convert_nonfinite_to_none(value: float) -> float | None:
    """What a record may hold: a number, or None for NaN and infinity, which JSON cannot say."""
    return value if np.isfinite(value) else None


@dataclass(frozen=True)
class Documents:
    """Texts, their summaries where the dataset has them, the language that each row states ("" for none), where
    there is such a column, and the titles with which texts begin, where somebody asked for them: as many as texts, or
    None.

    Columns are read-only; those of a large corpus lie in a file and are read from there.
    """

    ids: Sequence[str]
    texts: Sequence[str]
    summaries: Sequence[str] | None = None
    langs: Sequence[str] | None = None
    titles: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class SummaryComparisons:
    """Human choices between two summaries of one source: `choice` is 0 for `first`, 1 for `second`."""

    ids: tuple[str, ...]
    sources: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    choice: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class SummaryRatings:
    """Human ratings of summaries on named axes; NaN where a rating is missing."""

    ids: tuple[str, ...]
    sources: tuple[str, ...]
    summaries: tuple[str, ...]
    axes: Mapping[str, NDArray[np.float64]]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with a gold label each, in one or more independent sets."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    sets: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Classification:
    """Texts to train a classifier on, and texts to test it with; both without sets."""

    train: LabelledTexts
    test: LabelledTexts

    def __len__(self) -> int:
        return len(self.test)


@dataclass(frozen=True)
class ScoredTextPairs:
    """Pairs of texts with a human score of their similarity, on the scale of the dataset."""

    ids: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class LabelledTextPairs:
    """Pairs of texts that belong together (`labels` 1) or do not (0)."""

    ids: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    labels: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class RerankingSet:
    """Queries (one or more texts each) with their candidates; `relevance[i]` are gains, 0 = not relevant."""

    ids: tuple[str, ...]
    queries: tuple[tuple[str, ...], ...]
    candidates: tuple[tuple[str, ...], ...]
    relevance: tuple[NDArray[np.float64], ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class HumanRatedSummaries:
    """Texts with summaries by people (`references`) and by machines, and people's rating of each of the latter."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    summaries: tuple[tuple[str, ...], ...]
    relevance: tuple[NDArray[np.float64], ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class TextsWithParaphrases:
    """Texts, each once, and other wordings of each."""

    texts: tuple[str, ...]
    wordings: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def runs(self) -> int:
        """How many wordings every text has at least: so many runs can be paraphrased with them."""
        return min(map(len, self.wordings), default=0)

    def map_text_to_wordings(self) -> dict[str, tuple[str, ...]]:
        """Text -> its wordings."""
        return dict(zip(self.texts, self.wordings, strict=True))


@dataclass(frozen=True)
class RetrievalSet:
    """A corpus, queries and graded judgements; `qrels[query_id][doc_id]` is a gain, 0 = not relevant."""

    corpus: Documents
    queries: Documents
    qrels: Mapping[str, Mapping[str, float]]

    def __len__(self) -> int:
        return len(self.queries)


@dataclass(frozen=True)
class SkippedItems:
    """Items left out, and why: shown in every report, never averaged away."""

    reason: str
    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoadedDataset(Generic[T]):
    """One dataset in one shape: the records, what was left out, and what identifies the bytes they came from."""

    data: T
    dataset: str
    lang: str
    fingerprint: str
    skipped: tuple[SkippedItems, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Score:
    """One measured value of one system on one dataset, before it is placed in a run.

    `value` is None when the measure is undefined, and then `reason` says why. `n` counts the items behind it.
    """

    measure: str
    value: float | None
    n: int
    ci_low: float | None = None
    ci_high: float | None = None
    variant: str = ""
    subset: str = ""
    method: str = ""
    reason: str = ""


@dataclass(frozen=True)
class ResultRow:
    """One row of results, long form. `dataset` is empty for a value over all datasets of a task."""

    protocol: str
    task: str
    dataset: str
    subset: str
    lang: str
    variant: str
    system: str
    measure: str
    value: float | None
    n: int
    ci_low: float | None = None
    ci_high: float | None = None
    method: str = ""
    seed: int | None = None
    reason: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """What makes the row unique in a run."""
        return (
            self.protocol, self.task, self.dataset, self.subset, self.lang,
            self.variant, self.system, self.measure
        )  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """The row as written to `results.jsonl`, columns in their fixed order."""
        # Not `asdict`, which copies each of these plain values: a run has tens of thousands of rows.
        return dict(vars(self))


@dataclass(frozen=True)
class ResampledUnitGroup:
    """What was resampled by itself: the number of its `units` (items, groups of them, sets, runs), and what it adds to
    a value in each of some resamples, (k,)."""

    units: int
    draws: NDArray[np.float64]


@dataclass(frozen=True)
class HeadlineComponent:
    """One of the numbers a task's headline is the mean of, on one dataset.

    `replicates` are its bootstrap replicates, (resamples,), empty where it has no interval. Systems evaluated on the
    same data share their resamples, so replicate b of one and of another are a pair. `units` are what was resampled, if
    not the `n` items (groups of items, clustering sets); `strata` is filled where several were, each by itself.
    """

    value: float | None
    n: int
    replicates: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    reason: str = ""
    units: int | None = None
    strata: tuple[ResampledUnitGroup, ...] = ()


@dataclass(frozen=True)
class TaskOutcome:
    """All that evaluating one system on one dataset for one task yields.

    `scores` hold exactly one headline (empty variant and subset, measure = the task's headline measure), the mean of
    `components`. `items` are per-item values in long form, equal-length columns `item_id`, `variant`, `measure`,
    `value`. `counts` are texts, pairs and the like.
    """

    scores: tuple[Score, ...]
    components: Mapping[str, HeadlineComponent]
    items: Mapping[str, list[Any]]
    skipped: tuple[SkippedItems, ...] = ()
    warnings: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    rankings: Mapping[str, list[Any]] = field(default_factory=dict)
    """Retrieval only: what was found, columns `query_id version rank doc_id edit score gain`."""
