"""Rows of a probe and their intervals: queries are resampled, with all their runs, never rows (spec rag 8, T24)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role, Similarity
from embassay.measures import ndcg_arrays, pearson, spearman
from embassay.measures.judgements import ABSENT, GRADES, Graded
from embassay.measures.sets import compute_normalized_recall, compute_rarity_weighted_gain
from embassay.protocols.kernel.estimates import Lost, bootstrap_interval, estimate, make_undefined_score
from embassay.protocols.kernel.groups import Labels, describe_bootstrap_units
from embassay.protocols.kernel.inputs import EvaluationContext, mask_rows_with_nan
from embassay.protocols.kernel.tables import (
    ColumnTable,
    ComputedColumn,
    Style,
    number_column,
    text,
    whole_number_column,
)
from embassay.randomness import make_seeded_generator
from embassay.records import ResultRow, RetrievalSet, Score
from embassay.stats.resampling import (
    count_draws_of_each_row,
    draw_all_resample_rows,
    iterate_resample_row_blocks,
    sum_rows_by_group,
)
from embassay.systems.cosine import scale_rows_to_unit_length

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_BLOCK = 4096


def compute_text_pair_similarities(
    system: Similarity,
    queries: Sequence[str],
    passages: Sequence[str],
    left: Ints,
    right: Ints,
    role: Role = "document",
) -> Floats:
    """The similarity of `queries[left]` and `passages[right]`, in the shape of `right`.

    `left` and `right` are places in the texts, each of which stands there once; `left` has the leading axes of `right`.
    Every pair is compared once and its value put wherever it stands, so that equal texts cannot get different values by
    their batch or place (spec rag 8, T18). An encoder is told that queries are queries and passages of this role; a
    lexical metric sees all pairs in one batch, query first, for what is normalised within a batch. NaN where a text
    could not be encoded.
    """
    whole = np.broadcast_to(left.reshape(left.shape + (1,) * (right.ndim - left.ndim)), right.shape)
    # A pair as one number: `unique` over two columns is slower.
    pairs, places = np.unique(whole.ravel() * len(passages) + right.ravel(), return_inverse=True)
    first, second = pairs // len(passages), pairs % len(passages)
    if hasattr(system, "vectors"):
        values = _compute_pair_cosines(
            _encode_unit_vectors(system, queries, "query"), _encode_unit_vectors(system, passages, role), first, second
        )
    else:
        values = system.pairs([queries[i] for i in first], [passages[i] for i in second]).astype(np.float64)
    return values[places].reshape(right.shape)


def _encode_unit_vectors(system: Any, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
    """Vectors of length 1; one that is zero stays so, and has the cosine 0 with all."""
    return scale_rows_to_unit_length(np.asarray(system.vectors(texts, role), dtype=np.float32))


def _compute_pair_cosines(
    queries: NDArray[np.float32], passages: NDArray[np.float32], first: Ints, second: Ints
) -> Floats:
    values = np.empty(len(first))
    # In blocks, because both sides of every pair are copied.
    for start in range(0, len(first), _BLOCK):
        part = slice(start, start + _BLOCK)
        values[part] = np.einsum(
            "nd,nd->n", queries[first[part]], passages[second[part]], dtype=np.float64, casting="same_kind"
        )
    # Rounding can take a cosine just beyond 1.
    return np.clip(values, -1, 1)


CUTOFF = 10
RECALL = f"N-Recall4+@{CUTOFF}"
GAIN = f"RA-nWG@{CUTOFF}"
NDCG = f"nDCG@{CUTOFF}"
MEASURES = (RECALL, GAIN, NDCG)


def find_positions_of_first_passages(system: Similarity, queries: Sequence[str], corpus: Sequence[str]) -> Ints:
    """The places in the corpus of the first `CUTOFF` passages for each query, (q, 10), -1 where there are fewer; each
    distinct query is searched for once."""
    distinct = list(dict.fromkeys(queries))
    ranked = system.search(distinct, corpus, CUTOFF)
    row = {text: place for place, text in enumerate(distinct)}
    return np.asarray(ranked.indices[[row[text] for text in queries]])


def measure_retrieval_metrics(counts: Ints, top: NDArray[np.int8]) -> Mapping[str, Floats]:
    """Each measure of `MEASURES` for every query, (q,), NaN where it is undefined: from the grades of its pool (q, 5)
    and of what was retrieved (q, 10)."""
    graded = Graded(counts, top)
    return {
        RECALL: compute_normalized_recall(graded, cutoff=CUTOFF, rel=4),
        GAIN: compute_rarity_weighted_gain(graded, cutoff=CUTOFF),
        NDCG: ndcg_arrays(np.maximum(top - 1.0, 0), _compute_ideal_gains(counts), CUTOFF),
    }


def look_up_grades_at_ranks(grades: NDArray[np.int8], indices: Ints) -> NDArray[np.int8]:
    """The grade at each rank, from the grades of all passages for each query (q, n) and places (q, k)."""
    ranked = np.take_along_axis(grades, np.maximum(indices, 0), axis=1)
    return np.asarray(np.where(indices < 0, np.int8(ABSENT), ranked))


def count_passage_grades_per_query(grades: NDArray[np.int8]) -> Ints:
    """How many passages have grade 1, 2, 3, 4, 5 for each query: (q, n) -> (q, 5)."""
    return np.stack([np.count_nonzero(grades == grade, axis=1) for grade in GRADES], axis=1)


def _compute_ideal_gains(counts: Ints) -> Floats:
    """Grade less 1 at each rank of the best ranking of a pool, (q, 10), 0 beyond it."""
    ends = np.cumsum(counts[:, ::-1], axis=1)
    # Of the ideal order, grades 5, 4, 3 ... each fill the ranks up to their end.
    passed = (np.arange(CUTOFF)[None, :, None] >= ends[:, None, :]).sum(axis=2)
    return np.asarray(np.maximum(4.0 - passed, 0))


def find_queries_with_unencoded_text(
    system: Similarity, ids: Sequence[str], texts: Callable[[int], Iterable[str]]
) -> Lost:
    """The lost ones among the queries; `texts` are all those of a query, by its place."""
    lost = Lost(system, ids, "queries")
    failures = getattr(system, "failures", {})
    if failures:
        lost.note_items_with_unencoded_text(
            [next((text for text in texts(q) if text in failures), "") for q in range(len(ids))]
        )
    return lost


CORRELATIONS = {"Spearman": spearman, "Pearson": pearson}
FEWEST = 4
"""Points that a correlation needs: three lie on a rising line once in six times."""
LINK_DRAWS = 2_000
"""Resamples behind a correlation, at most: each is ranked anew."""
_HELD = 5_000_000


@dataclass(frozen=True)
class SharedResamplesContext(EvaluationContext):
    """A context whose resamples are the same queries for every statistic of a cell, and for every system."""

    draws: int = 10_000
    together: Labels | None = field(default=None, kw_only=True, compare=False)
    """The group of each query, drawn whole: those about the same, which are no two observations; None where each is by
    itself."""

    @property
    def method(self) -> str:
        """The method by which intervals are made."""
        return describe_bootstrap_units("queries", RetrievalSet, self.together)

    @property
    def resamples(self) -> int:
        return self.draws

    def bootstrap(self, columns: Floats, purpose: str, groups: NDArray[np.int64] | None = None) -> Floats:
        """Bootstrap as `EvaluationContext` does, with one draw of queries for all statistics."""
        groups = self.together if groups is None else groups
        # Above this the counts of all draws would take too much memory.
        if self.draws * len(columns) > _HELD:
            return super().bootstrap(columns, purpose, groups)
        lost = mask_rows_with_nan(columns)
        if groups is not None:
            filled = np.column_stack([np.where(lost[:, None], 0.0, columns), ~lost])
            whole = sum_rows_by_group(filled, groups)
            drawn = _draw_resample_counts(self.seed, self.dataset, len(whole), self.draws) @ whole
            with np.errstate(invalid="ignore", divide="ignore"):
                return np.asarray(drawn[:, :-1] / drawn[:, -1:])
        counts = _draw_resample_counts(self.seed, self.dataset, len(columns), self.draws)
        sums = counts @ np.where(lost[:, None], 0.0, columns)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums / (counts @ ~lost)[:, None])

    def score_over_queries(
        self,
        measure: str,
        columns: Floats,
        statistic: Callable[[Floats], Floats] = lambda means: means[..., 0],
        *,
        variant: str = "",
        why_not: str = "",
    ) -> Score:
        """`statistic` of the means of the columns (queries,) or (queries, m) with its interval.

        A query with NaN is left out. Undefined, for the reason `why_not`, where the statistic has no value or no query
        is left.
        """
        table = columns.reshape(len(columns), -1)
        kept = int((~np.isnan(table).any(axis=1)).sum())
        if not kept:
            return make_undefined_score(measure, 0, why_not or "no query has a value", variant=variant)
        with np.errstate(invalid="ignore", divide="ignore"):
            result = estimate(table, statistic, self, "queries", self.method, groups=self.together)
        if not np.isfinite(result.value):
            return make_undefined_score(measure, result.n, why_not or "it is undefined", variant=variant)
        return result.score(measure, variant=variant)

    def links(self, x: Floats, y: Floats, names: tuple[str, str], variant: str = "") -> list[Score]:
        """Correlations of two values of each query, (queries,), over the queries that have both."""
        whole = ~(np.isnan(x) | np.isnan(y))
        x, y = x[whole], y[whole]
        return self._score_correlations(x, y, lambda rows: (x[rows], y[rows]), whole, names, variant, len(x))

    def correlate_means_over_conditions(
        self, x: Floats, y: Floats, names: tuple[str, str], variant: str
    ) -> list[Score]:
        """Correlations of the mean values under each of several conditions, (conditions, queries), over conditions;
        queries are resampled. A query that lacks a value anywhere is left out."""
        whole = np.asarray(~(np.isnan(x).any(axis=0) | np.isnan(y).any(axis=0)))
        x, y = x[:, whole], y[:, whole]
        if not whole.any():
            return [
                make_undefined_score(_name_correlation(name, names), 0, "no query has all values", variant=variant)
                for name in CORRELATIONS
            ]

        def average_resampled_conditions(rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
            return x[:, rows].mean(axis=-1).T, y[:, rows].mean(axis=-1).T

        return self._score_correlations(
            x.mean(axis=1), y.mean(axis=1), average_resampled_conditions, whole, names, variant, len(x)
        )

    def _score_correlations(
        self,
        x: Floats,
        y: Floats,
        resampled: Callable[[NDArray[np.int64]], tuple[Floats, Floats]],
        whole: NDArray[np.bool_],
        names: tuple[str, str],
        variant: str,
        n: int,
    ) -> list[Score]:
        """Both correlations of `n` points, from the queries that are `whole`."""
        scores = []
        for name, correlation in CORRELATIONS.items():
            measure = _name_correlation(name, names)
            if n < FEWEST:
                scores.append(make_undefined_score(measure, n, f"{n} points are too few", variant=variant))
                continue
            value = float(correlation(x, y))
            if np.isnan(value):
                # A correlation is undefined where one side is constant: its range is 0.
                side = names[0] if not np.ptp(x) else names[1]
                scores.append(make_undefined_score(measure, n, f"{side} does not vary", variant=variant))
                continue
            parts = [np.asarray(correlation(*resampled(rows))) for rows in self._draw_resampled_rows(whole)]
            low, high = bootstrap_interval(np.concatenate(parts))
            scores.append(Score(measure, value, n, low, high, variant=variant, method=self.method))
        return scores

    def _draw_resampled_rows(self, whole: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
        """Of the `whole_number_column` queries those of each resample, in blocks that keep memory small; groups
        are drawn with all of theirs, a resample at a time, since they are of several sizes."""
        draws, stream = min(self.draws, LINK_DRAWS), self.stream("links")
        if self.together is None:
            n = int(whole.sum())
            yield from iterate_resample_row_blocks(n, draws, stream, most=200_000 // n)
            return
        labels = self.together[whole]
        members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
        for block in iterate_resample_row_blocks(len(members), draws, stream, most=1_000):
            for drawn in block:
                yield np.concatenate([members[place] for place in drawn])[None]


@lru_cache(maxsize=2)
def _draw_resample_counts(seed: int, dataset: str, n: int, draws: int) -> Floats:
    """How often each of n queries is drawn in each resample, (draws, n)."""
    rows = draw_all_resample_rows(n, draws, make_seeded_generator(seed, "bootstrap", dataset, "queries"))
    return count_draws_of_each_row(rows).astype(np.float64)


def _name_correlation(name: str, names: tuple[str, str]) -> str:
    return f"{name}({names[0]}, {names[1]})"


SYSTEM, LANG, DATASET = text("system"), text("lang"), text("dataset")
INTERVALS = "Intervals: 95% bootstrap over queries, corrected for bias and for small samples."


class ProbeResultRows:
    """Rows of results, found by what they are of."""

    def __init__(self, rows: Iterable[ResultRow]) -> None:
        self._rows = {(row.dataset, row.system, row.variant, row.measure): row for row in rows}
        self.langs = {row.dataset: row.lang for row in self._rows.values()}
        """Dataset -> its language, in the order of the rows."""

    def find(self, dataset: str, system: str, variant: str, measure: str) -> ResultRow | None:
        """The result row of a dataset, system, variant and measure, or None."""
        return self._rows.get((dataset, system, variant, measure))

    def list_variants_with_measure(self, measure: str) -> tuple[str, ...]:
        """The variants that have a row of the measure, in order."""
        return tuple(dict.fromkeys(key[2] for key in self._rows if key[3] == measure))

    def links(self, dataset: str, system: str) -> Iterator[ResultRow]:
        """List the correlations of a system on a dataset, in order."""
        for (of_dataset, of_system, _, measure), row in self._rows.items():
            if (of_dataset, of_system) == (dataset, system) and measure.partition("(")[0] in CORRELATIONS:
                yield row

    def lines(self, systems: Sequence[str], variants: Iterable[str] = ("",)) -> Iterator[ProbeVariantTableRow]:
        """Every variant of every system, one dataset after another."""
        for (dataset, lang), system, variant in product(self.langs.items(), systems, variants):
            yield ProbeVariantTableRow(self, dataset, lang, system, variant)


@dataclass(frozen=True)
class ProbeVariantTableRow:
    """A line of a table: what there is of a variant of a system on a dataset."""

    rows: ProbeResultRows
    dataset: str
    lang: str
    system: str
    variant: str

    def find(self, measure: str) -> ResultRow | None:
        """The line's result row of a measure, or None."""
        return self.rows.find(self.dataset, self.system, self.variant, measure)


def make_measure_column(
    name: str, measure: str, end: str = "value", decimals: int = 3, style: Style = "number"
) -> ComputedColumn:
    """The value of a measure, or an `end` of its interval."""
    return number_column(name, end, decimals, style).within(lambda line: line.find(measure))


def make_measure_interval_columns(
    names: Sequence[str], measure: str, decimals: int = 3, style: Style = "number"
) -> tuple[ComputedColumn, ...]:
    """The value of a measure and its interval: columns of these three `names`."""
    ends = zip(names, ("value", "ci_low", "ci_high"), strict=True)
    return tuple(make_measure_column(name, measure, end, decimals, style) for name, end in ends)


def make_measure_and_change_columns(measure: str) -> tuple[ComputedColumn, ...]:
    """A measure, and its change with the interval."""
    names = [f"{measure} {end}" for end in ("change", "low", "high")]
    return (
        make_measure_column(measure, measure),
        *make_measure_interval_columns(names, f"{measure} change", 3, "signed"),
    )


def build_probe_correlation_table(
    rows: ProbeResultRows, systems: Sequence[str], name: str, title: str, across: str
) -> ColumnTable:
    """Every correlation of every system; `across` is the variant of those over conditions or levels."""

    def describe_resampled_unit(row: ResultRow) -> str:
        return across if row.variant == across else f"queries, {row.variant or 'base'}"

    links = (rows.links(line.dataset, line.system) for line in rows.lines(systems))
    return ColumnTable.of(
        name, title, chain.from_iterable(links), SYSTEM, DATASET, text("over", describe_resampled_unit),
        text("of", lambda row: row.measure.partition("(")[2].removesuffix(")")),
        text("correlation", lambda row: row.measure.partition("(")[0]),
        number_column("value", style="signed"), number_column("low", "ci_low", style="signed"),
        number_column("high", "ci_high", style="signed"), whole_number_column("n"),
        text("why none", "reason"),
        note=f"{INTERVALS} n counts queries, or {across}."
    )  # fmt: skip
