"""What may be asked: the passages, or the queries with theirs, whose grades decide between runs, and what each can do.

A comparison is a total over items: run `a` minus run `b`, or a run minus its bar, summed over queries. Where a measure
is a sum over passages (precision, harm, discounted gain) the items are passages, otherwise queries with all passages
that are among the first of any run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, starmap
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embassay.data.judged_runs import RunOrQrelsEntries
from embassay.errors import UsageError
from embassay.measures import MEASURES, evaluate_graded
from embassay.measures.judgements import ABSENT, GRADES, RELEVANT, UNJUDGED, Graded
from embassay.measures.registry import GradedMeasure, RankingMeasure
from embassay.measures.sets import HARMFUL
from embassay.spec import Spec

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Key = tuple[str, str]
"""A query and a document, by their ids."""
Labels = Mapping[Key, int]
"""Grades from 1 to 5; `UNJUDGED` for a passage that nobody can judge, which is worth nothing."""
NOT_FOUND = 0
"""The rank of a passage that is not among the first."""


@dataclass(frozen=True)
class RunContrast:
    """Run `a` against run `b`, places among the runs; against the bar where `b` is None."""

    a: int
    b: int | None


@dataclass(frozen=True)
class RankWeightedMeasure:
    """A measure that is a sum over passages: the weight of each rank, and the gain of a passage of grade 0 (nobody can
    judge it) to 5, from 0 to 1."""

    by_rank: Floats
    gain: Floats


@dataclass(frozen=True)
class DecisionMeasure:
    """The measure, its cutoff and direction, and how it is a sum over passages, None where it is none."""

    name: str
    spec: Spec
    cutoff: int
    higher: bool
    linear: RankWeightedMeasure | None


def parse_decision_measure(measure: str, *, bar: bool) -> DecisionMeasure:
    """A measure by its name. UsageError for one that is none of rankings, or has no cutoff: without it every passage of
    every list would have to be graded."""
    built = MEASURES.build(measure)
    if not isinstance(built, GradedMeasure | RankingMeasure):
        raise UsageError(f"{measure} is not a ranking measure.", mend="Use one such as Precision4+@10 or nDCG@10.")
    facts = dict(MEASURES.get(built.spec.name).facts)
    if built.spec.cutoff is None:
        raise UsageError(f"{measure} has no cutoff.", mend=f"Use {measure}@10.")
    if "sources" in facts["needs"] or "pool" in facts["needs"] or built.spec.name == "Judged":
        raise UsageError(
            f"{measure} cannot be computed from passage grades alone.",
            mend="Use a measure that can, such as Precision4+@10 or nDCG@10.",
        )
    return DecisionMeasure(
        measure,
        built.spec,
        built.spec.cutoff,
        facts["direction"] == "higher",
        _express_as_rank_weighted_sum(built.spec, bar=bar),
    )


def _express_as_rank_weighted_sum(spec: Spec, *, bar: bool) -> RankWeightedMeasure | None:
    """How a measure is a sum over passages. P and DCG are undefined for a query without a relevant passage: no matter
    where two runs are compared, which have 0 there alike, but a bar is for the mean over the other queries."""
    k = spec.cutoff or 0
    grades = np.arange(len(GRADES) + 1)
    level = int(spec.params.get("rel", HARMFUL if spec.name == "Harm" else RELEVANT))  # type: ignore[arg-type]
    plain = not set(spec.params) - {"rel"}
    if spec.name == "Precision4+" and plain:
        return RankWeightedMeasure(np.full(k, 1 / k), (grades >= level).astype(float))
    if spec.name == "Harm" and plain:
        return RankWeightedMeasure(np.full(k, 1 / k), ((grades >= 1) & (grades <= level)).astype(float))
    if spec.name == "P" and plain and not bar:
        return RankWeightedMeasure(np.full(k, 1 / k), (grades >= level).astype(float))
    if spec.name == "DCG" and not spec.params and not bar:
        return RankWeightedMeasure(4 / np.log2(np.arange(k) + 2), np.maximum(grades - 1, 0) / 4)
    return None


@dataclass(frozen=True)
class ComparisonItemPopulation:
    """The items, (n,) of them, and what each can do to the `k` comparisons.

    `keys` are all passages that are among the first of a run, `ranks` (passages, runs) where they stand, from 1,
    `NOT_FOUND` where they do not. `item` (passages,) is the item that a passage belongs to, -1 where no label of it can
    change anything. `low` and `high` (n, k) bound an item's value.
    """

    asked: DecisionMeasure
    runs: tuple[str, ...]
    queries: tuple[str, ...]
    comparisons: tuple[RunContrast, ...]
    bar: float | None
    keys: tuple[Key, ...]
    query: Ints
    ranks: Ints
    item: Ints
    low: Floats
    high: Floats
    coefficients: Floats

    @cached_property
    def passages_of_each_item(self) -> tuple[tuple[int, ...], ...]:
        """The passages of each item, best ranked first."""
        members: list[list[int]] = [[] for _ in range(len(self.low))]
        for place in np.argsort(self.best_rank_of_each_passage, kind="stable").tolist():
            if self.item[place] >= 0:
                members[self.item[place]].append(place)
        return tuple(map(tuple, members))

    @cached_property
    def best_rank_of_each_passage(self) -> Ints:
        """The best rank of each passage in any run."""
        return np.asarray(np.where(self.ranks == NOT_FOUND, self.asked.cutoff + 1, self.ranks).min(axis=1))

    @cached_property
    def cost(self) -> Ints:
        """The labels that each item takes."""
        return np.bincount(self.item[self.item >= 0], minlength=len(self.low))

    @property
    def comparison_bars(self) -> Floats:
        """What the totals are compared with, (k,)."""
        linear = self.asked.linear is not None and self.bar is not None
        return np.full(len(self.comparisons), self.bar if linear else 0.0)

    def is_item_labelled(self, item: int, labels: Labels) -> bool:
        """Whether all that an item needs is there."""
        return all(self.keys[place] in labels for place in self.passages_of_each_item[item])

    def values(self, items: Sequence[int], labels: Labels) -> Floats:
        """The values of labelled items in the comparisons, (t, k)."""
        if not len(items):
            return np.zeros((0, len(self.comparisons)))
        linear = self.asked.linear
        if linear is not None:
            grades = np.array([labels[self.keys[self.passages_of_each_item[item][0]]] for item in items])
            return np.asarray(self.coefficients[list(items)] * linear.gain[grades][:, None])
        return self._compute_query_differences(items, labels) / len(self.queries)

    def _compute_query_differences(self, items: Sequence[int], labels: Labels) -> Floats:
        """Differences of whole queries: 0 where the measure is undefined."""
        runs, k = len(self.runs), self.asked.cutoff
        top = np.full((runs, len(items), k), np.int8(ABSENT))
        counts = np.zeros((len(items), len(GRADES)), dtype=np.int64)
        for row, item in enumerate(items):
            for place in self.passages_of_each_item[item]:
                grade = labels[self.keys[place]]
                if grade != UNJUDGED:
                    counts[row, grade - 1] += 1
                for run in range(runs):
                    if self.ranks[place, run] != NOT_FOUND:
                        top[run, row, self.ranks[place, run] - 1] = grade
        scores = [evaluate_graded([self.asked.name], Graded(counts, run))[self.asked.name] for run in top]
        return np.column_stack([
            np.nan_to_num(scores[comparison.a] - (self.bar or 0.0 if comparison.b is None else scores[comparison.b]))
            for comparison in self.comparisons
        ])  # fmt: skip


def make_comparison_items_of_runs(
    runs: Mapping[str, RunOrQrelsEntries], measure: str, bar: float | None = None
) -> ComparisonItemPopulation:
    """All that may be asked about `runs`, name -> entries: every two of them, or each against the `bar`.

    UsageError for one run without a bar, and for a measure that cannot be decided like this.
    """
    asked = parse_decision_measure(measure, bar=bar is not None)
    if len(runs) < 2 and bar is None:
        raise UsageError("A single run needs a threshold to compare with.", mend="Add another --run, or set --bar.")
    if bar is not None and dict(MEASURES.get(asked.spec.name).facts)["range"] == "[0, 1]" and not 0 <= bar <= 1:
        raise UsageError(f"The threshold is {bar:g}.", mend=f"Use a threshold from 0 to 1, the range of {measure}.")
    keys, ranks, queries = pool_first_passages(runs, asked.cutoff)
    return build_comparison_items_from_ranks(asked, tuple(runs), queries, keys, ranks, bar)


def build_comparison_items_from_ranks(
    asked: DecisionMeasure,
    runs: tuple[str, ...],
    queries: tuple[str, ...],
    keys: tuple[Key, ...],
    ranks: Ints,
    bar: float | None,
) -> ComparisonItemPopulation:
    """The population of passages `keys`, by query, at these `ranks` (passages, runs) of the runs."""
    number = {query: place for place, query in enumerate(queries)}
    query = np.array([number[key[0]] for key in keys], dtype=np.int64)
    comparisons = tuple(
        RunContrast(a, None) for a in range(len(runs)) if bar is not None
    ) or tuple(starmap(RunContrast, combinations(range(len(runs)), 2)))  # fmt: skip
    build = _build_items_of_differing_passages if asked.linear is not None else _build_query_comparison_items
    item, low, high, coefficients = build(asked, comparisons, query, ranks, len(queries))
    return ComparisonItemPopulation(
        asked, runs, queries, comparisons, bar, keys, query, ranks, item, low, high, coefficients
    )


def pool_first_passages(runs: Mapping[str, RunOrQrelsEntries], k: int) -> tuple[tuple[Key, ...], Ints, tuple[str, ...]]:
    """All passages among the first `k` of any run, by query and id, their ranks (passages, runs), and the queries of
    the runs; ranked as everywhere (`scoring.placement`)."""
    import polars as pl

    columns = [f"run {place}" for place in range(len(runs))]
    every: pl.DataFrame | None = None
    for column, entries in zip(columns, runs.values(), strict=True):
        first = _rank_first_passages(entries.frame, k).rename({"rank": column})
        every = first if every is None else every.join(first, on=["query", "doc"], how="full", coalesce=True)
    assert every is not None
    every = every.fill_null(NOT_FOUND).sort("query", "doc")
    queries = pl.concat([entries.frame["query"].cast(pl.String) for entries in runs.values()]).unique().sort()
    keys = tuple(zip(every["query"].to_list(), every["doc"].to_list(), strict=True))
    return keys, every.select(columns).to_numpy().astype(np.int64), tuple(queries.to_list())


def _rank_first_passages(frame: pl.DataFrame, k: int) -> pl.DataFrame:
    import polars as pl

    ordered = frame.select(
        pl.col("query").cast(pl.String), pl.col("doc").cast(pl.String),
        # trec_eval reads scores as float32; + 0.0 makes -0 and 0 one score.
        score=pl.col("value").cast(pl.Float32, strict=False) + 0.0
    ).sort("query", "score", "doc", descending=[False, True, True])  # fmt: skip
    single = ordered.unique(["query", "doc"], keep="first", maintain_order=True)
    ranked = single.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query"))
    return ranked.filter(pl.col("rank") <= k).select("query", "doc", "rank")


Built = tuple[Ints, Floats, Floats, Floats]


def _build_items_of_differing_passages(
    asked: DecisionMeasure, comparisons: Sequence[RunContrast], query: Ints, ranks: Ints, queries: int
) -> Built:
    """A passage is an item where its weight differs: at the same rank in both runs it changes nothing."""
    assert asked.linear is not None
    by_rank = np.concatenate([[0.0], asked.linear.by_rank])
    weight = by_rank[ranks] / queries
    every = np.column_stack(
        [
            weight[:, comparison.a] - (0.0 if comparison.b is None else weight[:, comparison.b])
            for comparison in comparisons
        ]
    )
    # Where runs have it at ranks of one weight, no label of it changes anything.
    counts = (np.abs(every) > 1e-15).any(axis=1)
    item = np.full(len(query), -1)
    item[counts] = np.arange(counts.sum())
    changing = every[counts]
    return item, np.minimum(changing, 0.0), np.maximum(changing, 0.0), changing


def _build_query_comparison_items(
    asked: DecisionMeasure, comparisons: Sequence[RunContrast], query: Ints, ranks: Ints, queries: int
) -> Built:
    """A query is an item where the first passages differ; of nDCG how far they can differ is bounded by the ranks."""
    # Rank 0 is that of a passage which is not in the list: it weighs nothing.
    discount = np.concatenate([[0.0], 1 / np.log2(np.arange(asked.cutoff) + 2)])
    weight = discount[ranks]
    items: list[int] = []
    low, high, item = [], [], np.full(len(query), -1)
    places = np.split(np.arange(len(query)), np.flatnonzero(np.diff(query)) + 1) if len(query) else []
    for rows in places:
        bounds = [
            _bound_query_contribution_to_contrast(asked, weight[rows], comparison, discount[1:])
            for comparison in comparisons
        ]
        if any(ends != (0.0, 0.0) for ends in bounds):
            item[rows] = len(items)
            items.append(int(query[rows[0]]))
            low.append([ends[0] / queries for ends in bounds])
            high.append([ends[1] / queries for ends in bounds])
    shape = (len(items), len(comparisons))
    lows, highs = np.reshape(low, shape), np.reshape(high, shape)
    return item, lows, highs, np.zeros(shape)


def _bound_query_contribution_to_contrast(
    asked: DecisionMeasure, weight: Floats, comparison: RunContrast, discount: Floats
) -> tuple[float, float]:
    """The least and most that a query can bring to a comparison, `weight` (passages, runs) being discounts."""
    if comparison.b is None:
        return -1.0, 1.0
    difference = weight[:, comparison.a] - weight[:, comparison.b]
    if not difference.any():
        return 0.0, 0.0
    if asked.spec.name != "nDCG":
        return -1.0, 1.0
    # Gains are a sum of equal gains over sets of passages, so no difference beats that of the best set over its ideal.
    ideal = np.cumsum(discount)
    ends = []
    for sign in (-1.0, 1.0):
        best = np.cumsum(np.sort(np.maximum(sign * difference, 0.0))[::-1])[: len(ideal)]
        ends.append(sign * float((best / ideal[: len(best)]).max()))
    return ends[0], ends[1]
