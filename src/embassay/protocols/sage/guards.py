"""What guards a search against damaged text: cleaning, a second search by words, reranking, or refusing to answer?
(asked for in SAGE's conclusion as defensive architectures; measures and rule are ours)

Questions, or documents, are damaged by an edit. For the system alone and behind each guard it is measured how much of
the clean nDCG@10 of the system alone is kept; what a guard takes is timed. The cheapest that keeps enough is named by
the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import RankedCandidates, Similarity
from embassay.errors import ModelError
from embassay.protocols.kernel.estimates import Estimate, Items, Lost, make_undefined_score
from embassay.protocols.kernel.groups import Labels, describe_bootstrap_units, find_item_groups
from embassay.protocols.kernel.tables import ColumnTable, number_column, text
from embassay.protocols.sage.retrieval import K, list_gains_per_query, list_ideal_gains, ndcg
from embassay.protocols.sage.tasks import SageContext, make_edit_for_run_options, parse_edit_list
from embassay.randomness import draw_random_bytes, make_seeded_generator
from embassay.records import ResultRow, RetrievalSet, Score, TaskOutcome
from embassay.runs.folder import CellRecord
from embassay.search.fusion import fuse_by_reciprocal_rank
from embassay.stats.resampling import count_effective_groups, resample_defined_means
from embassay.systems import open_system
from embassay.systems.cleanup import TextCleanupSteps
from embassay.systems.rerankers import open_reranker

T = TypeVar("T")
Floats = NDArray[np.float64]
HEADLINE = "kept"
RESTORED, ANSWERED, PRICE = "restored", "answered", "change of clean"
CLEAN, ALONE = "clean", "alone"
DEPTH = 50
"""Documents of each ranking that are fused, and that a reranker sees."""
LEAST_ANSWERED = 0.8
"""Share of the questions that a threshold has to leave answered to be a guard."""
TASK = "guards"
TIME = "us_per_query "
"""Counts of a cell begin so: the microseconds that a guard takes for a question, by its name."""


@dataclass(frozen=True)
class EditedQueriesAndCorpus:
    """Questions and the documents that they search, under one edit or none."""

    name: str
    queries: Sequence[str]
    corpus: Sequence[str]


@dataclass(frozen=True)
class JudgedRanking:
    """What was found for every question, best first, and its nDCG@10, (q,), NaN where the question is not answered."""

    ranked: RankedCandidates
    ndcg: Floats


class GuardedSystemSearches:
    """A system on a retrieval set, with what its guards are made of; each search is done once, and what a guard takes
    beside it is timed."""

    def __init__(self, system: Similarity, data: RetrievalSet, context: SageContext) -> None:
        self.system, self.data, self.context = system, data, context
        self.options = context.options
        self.seconds: dict[str, list[float]] = {}
        self._gains, self._ideal = list_gains_per_query(data), list_ideal_gains(data)
        self._alone: dict[str, JudgedRanking] = {}

    def search_unguarded(self, asked: EditedQueriesAndCorpus) -> JudgedRanking:
        """What the system finds."""
        if asked.name not in self._alone:
            self._alone[asked.name] = self.make_judged_ranking_with_ndcg(
                self.system.search(asked.queries, asked.corpus, DEPTH)
            )
        return self._alone[asked.name]

    def make_judged_ranking_with_ndcg(self, ranked: RankedCandidates) -> JudgedRanking:
        """With its nDCG."""
        return JudgedRanking(ranked, ndcg(self._gains, ranked.indices[:, :K], self._ideal, self.context))

    def run_and_time_guard_work(self, guard: str, work: Callable[[], T]) -> T:
        """What the work gives; its time counts for the guard."""
        begun = time.perf_counter()
        result = work()
        self.seconds.setdefault(guard, []).append(time.perf_counter() - begun)
        return result

    def compute_microseconds_by_guard(self) -> dict[str, int]:
        """Microseconds for a question, by guard."""
        per_search = {guard: sum(spent) / len(spent) for guard, spent in self.seconds.items()}
        return {f"{TIME}{guard}": round(1e6 * spent / len(self.data)) for guard, spent in per_search.items()}


def search_after_cleaning_queries_or_corpus(
    bench: GuardedSystemSearches, asked: EditedQueriesAndCorpus
) -> JudgedRanking:
    """Search after cleaning what comes in: the questions, or the documents."""
    cleanup = TextCleanupSteps(bench.options.guard_clean)
    queries, corpus = asked.queries, asked.corpus
    cleanup("Lists are read before the time is taken.")
    if bench.options.guard_side == "queries":
        queries = bench.run_and_time_guard_work("cleaning", lambda: cleanup.clean_texts_without_cache(asked.queries))
    else:
        corpus = bench.run_and_time_guard_work("cleaning", lambda: cleanup.clean_texts_without_cache(asked.corpus))
    return bench.make_judged_ranking_with_ndcg(bench.system.search(queries, corpus, DEPTH))


def search_and_fuse_two_systems(bench: GuardedSystemSearches, asked: EditedQueriesAndCorpus) -> JudgedRanking:
    """Search with a second system too, and fuse both rankings by reciprocal ranks."""
    other = open_system(bench.options.guard_hybrid, tokenizer=bench.context.tokenizer, seed=bench.context.seed)
    own = bench.search_unguarded(asked).ranked

    def fuse_rankings() -> RankedCandidates:
        found = other.search(asked.queries, asked.corpus, DEPTH)
        indices, scores = np.full_like(own.indices, -1), np.full_like(own.scores, -np.inf)
        for row, both in enumerate(zip(own.indices.tolist(), found.indices.tolist(), strict=True)):
            lists = [[str(place) for place in ranking if place >= 0] for ranking in both]
            fused = fuse_by_reciprocal_rank(lists)[: indices.shape[1]]
            indices[row, : len(fused)] = [int(hit.id) for hit in fused]
            scores[row, : len(fused)] = [hit.score for hit in fused]
        return RankedCandidates(indices, scores)

    return bench.make_judged_ranking_with_ndcg(bench.run_and_time_guard_work("hybrid", fuse_rankings))


def rerank_first_documents(bench: GuardedSystemSearches, asked: EditedQueriesAndCorpus) -> JudgedRanking:
    """Rerank the first documents; equal ones stay in the system's order."""
    reranker = open_reranker(bench.options.guard_rerank, tokenizer=bench.context.tokenizer, seed=bench.context.seed)
    own = bench.search_unguarded(asked).ranked

    def rerank_documents() -> RankedCandidates:
        indices, scores = own.indices.copy(), own.scores.copy()
        for row, query in enumerate(asked.queries):
            places = own.indices[row][own.indices[row] >= 0]
            values = reranker.score(query, [asked.corpus[place] for place in places.tolist()])
            order = np.argsort(-values, kind="stable")
            indices[row, : len(places)], scores[row, : len(places)] = places[order], values[order]
        return RankedCandidates(indices, scores)

    return bench.make_judged_ranking_with_ndcg(bench.run_and_time_guard_work("rerank", rerank_documents))


def refuse_unsure_questions(bench: GuardedSystemSearches, asked: EditedQueriesAndCorpus) -> JudgedRanking:
    """Questions whose first document is less similar than a threshold are not answered: the lowest with which those
    that are keep enough, and that leaves `LEAST_ANSWERED` of them; found on one half of the questions for the other."""
    own = bench.search_unguarded(asked)
    clean = bench.search_unguarded(make_unedited_search(bench.data)).ndcg
    # A question is refused by a threshold that it had no part in.
    values, sure = own.ndcg.copy(), own.ranked.scores[:, 0]
    halves = _split_questions_in_halves(bench.data, bench.context.seed)
    for half in (False, True):
        here, there = halves == half, halves != half
        wanted = bench.options.guard_keep * float(np.mean(clean[there])) if there.any() else 0.0
        values[here & (sure < find_lowest_answer_threshold(sure[there], own.ndcg[there], wanted))] = np.nan
    return JudgedRanking(own.ranked, values)


def find_lowest_answer_threshold(sure: Floats, values: Floats, wanted: float) -> float:
    """The lowest of the similarities (n,) from which on the mean of the values is at least `wanted`, of those that
    leave `LEAST_ANSWERED` of them; where none does, that with the highest mean.

    >>> find_lowest_answer_threshold(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), np.array([0.0, 1.0, 1.0, 1.0, 1.0]), 0.9)
    0.2
    """
    order = np.argsort(sure, kind="stable")
    most = int((1 - LEAST_ANSWERED) * len(order) + 1e-9)
    means = [float(values[order[start:]].mean()) for start in range(min(most + 1, len(order)))]
    if not means:
        return -np.inf
    # Where no threshold keeps enough, the one that keeps most does as well as can be.
    start = next((place for place, mean in enumerate(means) if mean >= wanted), int(np.argmax(means)))
    return float(sure[order[start]]) if start else -np.inf


def _split_questions_in_halves(data: RetrievalSet, seed: int) -> NDArray[np.bool_]:
    """Split questions in halves, (q,); those that share a relevant document go to one."""
    groups = find_item_groups(data)
    names = data.queries.ids if groups is None else [str(label) for label in groups.tolist()]
    return np.array([draw_random_bytes(1, seed, "half", name)[0] % 2 == 1 for name in names])


GUARDS: Mapping[str, Callable[[GuardedSystemSearches, EditedQueriesAndCorpus], JudgedRanking]] = {
    "cleaning": search_after_cleaning_queries_or_corpus,
    "hybrid": search_and_fuse_two_systems,
    "rerank": rerank_first_documents,
    "threshold": refuse_unsure_questions,
}
"""By name; the last is named where no other does."""


def make_unedited_search(data: RetrievalSet) -> EditedQueriesAndCorpus:
    """Make the search of the questions and documents as they are."""
    return EditedQueriesAndCorpus(CLEAN, data.queries.texts, data.corpus.texts)


def make_search_with_edited_texts(data: RetrievalSet, edit: str, context: SageContext) -> EditedQueriesAndCorpus:
    """Make the search with one side, questions or documents, under an edit."""
    damage = make_edit_for_run_options(edit, context)
    if context.options.guard_side == "queries":
        return EditedQueriesAndCorpus(edit, damage(data.queries.texts, data.queries.ids), data.corpus.texts)
    return EditedQueriesAndCorpus(edit, data.queries.texts, damage(data.corpus.texts, data.corpus.ids))


def measure_guards_against_text_edits(system: Similarity, data: RetrievalSet, context: SageContext) -> TaskOutcome:
    """Measure what a system keeps under every edit, alone and behind every guard."""
    bench = GuardedSystemSearches(system, data, context)
    edits = parse_edit_list(context.options.guard_edits)
    searches = [make_unedited_search(data), *(make_search_with_edited_texts(data, edit, context) for edit in edits)]
    columns, reasons = dict[str, Floats](), dict[str, str]()
    for asked in searches:
        columns[asked.name] = bench.search_unguarded(asked).ndcg
        for name, guard in GUARDS.items():
            try:
                columns[f"{asked.name}:{name}"] = guard(bench, asked).ndcg
            except ModelError as error:
                reasons[name] = str(error)
    lost = Lost(system, data.queries.ids, "queries")
    for asked in searches:
        lost.note_items_with_unencoded_text(asked.queries)
    if lost.too_many_lost_reason:
        return lost.make_task_outcome_without_score(HEADLINE, Items())
    for column in columns.values():
        column[lost.lost_mask] = np.nan
    return _make_guarded_retrieval_outcome(columns, reasons, edits, bench, lost)


def _make_guarded_retrieval_outcome(
    columns: Mapping[str, Floats],
    reasons: Mapping[str, str],
    edits: Sequence[str],
    bench: GuardedSystemSearches,
    lost: Lost,
) -> TaskOutcome:
    over = GuardShareEstimator(bench.context, find_item_groups(bench.data))
    whole = over.estimate_share_kept(columns[CLEAN], np.mean([columns[edit] for edit in edits], axis=0), most=1.0)
    items, scores = Items(), [whole.score(HEADLINE)]
    for variant, column in columns.items():
        scores.append(over.estimate_question_mean(column).score(f"ndcg@{K}", variant=variant))
        items.add(bench.data.queries.ids, column, f"ndcg@{K}", variant)
    for name in GUARDS:
        if name in reasons:
            scores += [
                make_undefined_score(HEADLINE, 0, reasons[name], variant=f"{edit}:{name}") for edit in edits
            ]  # fmt: skip
            continue
        change = columns[f"{CLEAN}:{name}"] - columns[CLEAN]
        scores.append(over.estimate_question_mean(change).score(PRICE, variant=name))
    for edit in edits:
        scores.append(over.estimate_share_kept(columns[CLEAN], columns[edit]).score(HEADLINE, variant=edit))
        known = [name for name in GUARDS if name not in reasons]
        scores += [score for name in known for score in _make_guard_scores(columns, edit, name, over)]
    return TaskOutcome(
        tuple(scores),
        {HEADLINE: whole.component()},
        items.columns,
        lost.skipped,
        counts=bench.compute_microseconds_by_guard(),
    )


def _make_guard_scores(
    columns: Mapping[str, Floats], edit: str, name: str, over: GuardShareEstimator
) -> Iterator[Score]:
    variant = f"{edit}:{name}"
    clean, damaged, guarded = columns[CLEAN], columns[edit], columns[variant]
    yield over.estimate_share_kept(clean, guarded).score(HEADLINE, variant=variant)
    restored = over.estimate_share_restored(clean, damaged, guarded)
    # False for NaN alone.
    if restored.value > 0 or restored.value <= 0:
        yield restored.score(RESTORED, variant=variant)
    else:
        yield make_undefined_score(RESTORED, restored.n, "the edit does not lower the score", variant=variant)
    if name == "threshold":
        yield over.estimate_question_mean((~np.isnan(guarded)).astype(float), is_share=True).score(
            ANSWERED, variant=variant
        )


@dataclass(frozen=True)
class GuardShareEstimator:
    """Estimates of a guard's shares, of means each over the questions that have a value."""

    context: SageContext
    groups: Labels | None

    def estimate_question_mean(self, column: Floats, *, is_share: bool = False) -> Estimate:
        """The mean of the questions' values."""
        return self._estimate_statistic([column], lambda means: means[..., 0], is_share=is_share)

    def estimate_share_kept(self, clean: Floats, kept: Floats, *, most: float = np.inf) -> Estimate:
        """Estimate how much of the clean mean is kept."""
        return self._estimate_statistic([clean, kept], lambda means: np.minimum(means[..., 1] / means[..., 0], most))

    def estimate_share_restored(self, clean: Floats, damaged: Floats, guarded: Floats) -> Estimate:
        """Estimate how much of what the damage took comes back; NaN where it took nothing."""

        def compute_share_restored(means: Floats) -> Floats:
            loss = np.where(means[..., 0] > means[..., 1], means[..., 0] - means[..., 1], np.nan)
            return np.asarray((means[..., 2] - means[..., 1]) / loss)

        return self._estimate_statistic([clean, damaged, guarded], compute_share_restored)

    def _estimate_statistic(
        self, columns: Sequence[Floats], statistic: Callable[[Floats], Floats], *, is_share: bool = False
    ) -> Estimate:
        table = np.column_stack(columns)
        has_value = ~np.isnan(table[:, 0])
        n, method = int(has_value.sum()), describe_bootstrap_units("queries", RetrievalSet, self.groups)
        if not n or np.isnan(table).all(axis=0).any():
            return Estimate(float("nan"), 0, np.empty(0), method)
        rng = make_seeded_generator(self.context.seed, "guards", self.context.dataset)
        drawn = resample_defined_means(table, n_resamples=self.context.resamples, rng=rng, groups=self.groups)
        units = None if self.groups is None else count_effective_groups(self.groups[has_value])
        with np.errstate(invalid="ignore", divide="ignore"):
            value, values = float(statistic(np.nanmean(table, axis=0))), np.asarray(statistic(drawn))
        return Estimate(value, n, values, method, is_share and self.groups is None, units)


def make_damage_guard_table(
    records: Sequence[CellRecord], rows: Sequence[ResultRow], keep: float
) -> Iterator[ColumnTable]:
    """Tabulate what each system keeps by damage, alone and guarded, and the cheapest guard."""
    lines = [line for record in records if record.task == TASK for line in _list_guard_rows(record, rows, keep)]
    if not lines:
        return
    yield ColumnTable.of(
        "sage_guards", f"Guards that keep {keep:.0%} of the clean nDCG@{K}", lines, text("dataset"), text("system"),
        text("damage"), text("guard"), number_column(HEADLINE, "kept.value", 3),
        number_column("low", "kept.ci_low", 3),
        number_column("high", "kept.ci_high", 3), number_column("ms per question", "milliseconds", 3),
        text("cheapest"),
        note=("kept: share of the unguarded system's clean nDCG. cheapest: the fastest guard that keeps enough and "
            "answers every question, or else a threshold that keeps enough; sure: the whole interval is high enough.")
    )  # fmt: skip


class GuardTableRow(NamedTuple):
    """What one guard keeps (`guard` empty: the system alone), and whether it is the cheapest that keeps enough."""

    dataset: str
    system: str
    damage: str
    guard: str
    kept: ResultRow
    milliseconds: float | None
    cheapest: str


def _list_guard_rows(record: CellRecord, rows: Sequence[ResultRow], keep: float) -> Iterator[GuardTableRow]:
    own = {
        row.variant: row
        for row in rows
        if (row.task, row.dataset, row.system, row.measure) == (TASK, record.dataset, record.system, HEADLINE)
    }
    for edit in (variant for variant in own if variant and variant.rpartition(":")[2] not in GUARDS):
        chosen = find_cheapest_guard(own, edit, record.counts, keep)
        for name in (ALONE, *GUARDS):
            kept = own.get(edit if name == ALONE else f"{edit}:{name}")
            if kept is not None:
                spent = record.counts.get(f"{TIME}{name}")
                mark = "" if name != chosen else "sure" if (kept.ci_low or 0.0) >= keep else "likely"
                time_of = None if spent is None else spent / 1000
                yield GuardTableRow(record.dataset, record.system, edit, name, kept, time_of, mark)


def find_cheapest_guard(kept: Mapping[str, ResultRow], edit: str, counts: Mapping[str, int], keep: float) -> str | None:
    """The system alone where it keeps enough, else the fastest guard that answers all and does, else a threshold that
    does; None where nothing does."""
    names = [ALONE, *sorted(GUARDS, key=lambda name: counts.get(f"{TIME}{name}", np.inf))]
    for name in names:
        row = kept.get(edit if name == ALONE else f"{edit}:{name}")
        if row is not None and row.value is not None and row.value >= keep:
            return name
    return None
