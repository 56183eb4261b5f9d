"""The name probe: one right passage among impostors: its cells, doing one, and its tables (spec rag 5.1-5.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from math import lcm
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor, Similarity
from embassay.errors import UsageError
from embassay.protocols.kernel import inputs
from embassay.protocols.kernel.estimates import Items
from embassay.protocols.kernel.forecast import TaskWorkloadForForecast
from embassay.protocols.kernel.groups import Labels, group_items_sharing_things
from embassay.protocols.kernel.inputs import charge_calls_to_account
from embassay.protocols.kernel.plan import PlannedDataset, PlannedTask
from embassay.protocols.kernel.tables import ColumnTable, text
from embassay.protocols.rag.probes import plan
from embassay.protocols.rag.probes.bundles import (
    CANDIDATES,
    CONDITIONS,
    BundleAuthorsAndTopics,
    NameProbeQuerySpecification,
    make_name_probe_bundles,
    make_or_read_authors_and_topics,
    misspell_name,
)
from embassay.protocols.rag.probes.options import Lang, NamesRequest
from embassay.protocols.rag.probes.plan import (
    NAMES_VERSION,
    ProbePlan,
    estimate_dataset_effort,
    make_cell_key,
    make_probe_cell,
    plan_probe_systems,
)
from embassay.protocols.rag.probes.resampling import (
    INTERVALS,
    LANG,
    MEASURES,
    SYSTEM,
    ProbeResultRows,
    ProbeVariantTableRow,
    SharedResamplesContext,
    build_probe_correlation_table,
    compute_text_pair_similarities,
    count_passage_grades_per_query,
    find_positions_of_first_passages,
    find_queries_with_unencoded_text,
    look_up_grades_at_ranks,
    make_measure_and_change_columns,
    make_measure_column,
    make_measure_interval_columns,
    measure_retrieval_metrics,
)
from embassay.randomness import draw_random_bytes
from embassay.records import HeadlineComponent, Score, TaskOutcome
from embassay.runs.execution import HERE
from embassay.runs.folder import digest_json
from embassay.runs.forecast import Hear
from embassay.runs.memory import WorkMemoryEstimate, reserve_memory
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class DistinctBundleTexts:
    """The distinct queries and passages, and where they stand: `left` (conditions, runs, queries), `right` the same
    with the five candidates as last axis."""

    conditions: tuple[str, ...]
    queries: tuple[str, ...]
    passages: tuple[str, ...]
    left: Ints
    right: Ints

    def list_bundle_texts_of_query(self, query: int) -> Iterator[str]:
        """All texts of a query, under every condition and in every run."""
        yield from (self.queries[place] for place in np.unique(self.left[:, :, query]))
        yield from (self.passages[place] for place in np.unique(self.right[:, :, query]))


def make_name_probe_bundles_per_run(
    material: BundleAuthorsAndTopics, queries: int, runs: int, seed: int
) -> list[list[NameProbeQuerySpecification]]:
    """The bundles of each run; that of run r are drawn from seed + r (spec rag 5.3)."""
    return [make_name_probe_bundles(material, queries, seed=seed + run) for run in range(runs)]


def collect_bundle_texts(
    by_run: Sequence[Sequence[NameProbeQuerySpecification]], conditions: Sequence[str], seed: int
) -> DistinctBundleTexts:
    """The texts of these bundles under these conditions."""
    queries, passages = dict[str, int](), dict[str, int]()
    shape = (len(conditions), len(by_run), len(by_run[0]))
    left = np.empty(shape, dtype=np.int64)
    right = np.empty((*shape, len(CANDIDATES)), dtype=np.int64)
    for c, name in enumerate(conditions):
        for run, of_run in enumerate(by_run):
            for q, bundle in enumerate(of_run):
                written = CONDITIONS[name].write(bundle, seed + run)
                left[c, run, q] = queries.setdefault(written.query, len(queries))
                right[c, run, q] = [passages.setdefault(text, len(passages)) for text in written.passages]
    return DistinctBundleTexts(tuple(conditions), tuple(queries), tuple(passages), left, right)


Place = tuple[int, int, int]
"""Run, place of the bundle in it, place of the passage in the bundle."""


@dataclass(frozen=True)
class BundlePassagePositionsAndGrades:
    """Where each passage of the collection stands in the bundles, in the order of the collection, and the grade of each
    for each query, (queries, passages)."""

    places: tuple[Place, ...]
    grades: NDArray[np.int8]


def locate_bundle_passages_in_corpus(
    by_run: Sequence[Sequence[NameProbeQuerySpecification]], seed: int
) -> BundlePassagePositionsAndGrades:
    """The collection of these bundles: a passage that runs share stands there once.

    Its order is drawn from the seed, so that texts which an ablation makes equal are found in no order of merit.
    """
    places: dict[tuple[object, ...], Place] = {}
    for run, of_run in enumerate(by_run):
        for q, bundle in enumerate(of_run):
            for slot, (signer, topic) in enumerate(zip(bundle.passage_signers, bundle.passage_topics, strict=True)):
                # C2a and C2b differ under near misses: who stands where is a part of what a passage is.
                places.setdefault((q, CANDIDATES[slot], signer, topic, bundle.title), (run, q, slot))
    distinct = list(places.values())
    lang = by_run[0][0].lang
    # Raw bytes, not a generator's permutation: equal in every version of numpy.
    keys = np.frombuffer(draw_random_bytes(8 * len(distinct), seed, "order of the collection", lang), dtype="<u8")
    ordered = [distinct[place] for place in np.argsort(keys, kind="stable")]
    return BundlePassagePositionsAndGrades(tuple(ordered), _grade_bundle_passages(by_run, ordered))


def compose_corpus_and_queries(
    by_run: Sequence[Sequence[NameProbeQuerySpecification]],
    corpus: BundlePassagePositionsAndGrades,
    condition: str,
    seed: int,
) -> tuple[list[str], list[list[str]]]:
    """The texts of the collection under a condition, and the queries of each run; one seed for all runs, so that an
    author has one name in the whole collection."""
    texts = [[CONDITIONS[condition].write(bundle, seed) for bundle in of_run] for of_run in by_run]
    passages = [texts[run][q].passages[slot] for run, q, slot in corpus.places]
    return passages, [[text.query for text in of_run] for of_run in texts]


def _grade_bundle_passages(
    by_run: Sequence[Sequence[NameProbeQuerySpecification]], places: Sequence[Place]
) -> NDArray[np.int8]:
    passages = [(by_run[run][q].passage_signers[slot], by_run[run][q].passage_topics[slot]) for run, q, slot in places]
    people, topics = dict[object, int](), dict[str, int]()
    signer = np.array([people.setdefault(person, len(people)) for person, _ in passages])
    topic = np.array([topics.setdefault(subject, len(topics)) for _, subject in passages])
    author = np.array([people[bundle.author] for bundle in by_run[0]])
    on = np.array([topics[bundle.topic] for bundle in by_run[0]])
    right_author, right_topic = author[:, None] == signer[None], on[:, None] == topic[None]
    return np.where(right_author, np.where(right_topic, 5, 3), np.where(right_topic, 2, 1)).astype(np.int8)


Floats = NDArray[np.float64]
LEAST_MARGIN = 0.02
"""A base margin below this is too small to take a percentage of."""


@dataclass(frozen=True)
class RightPassageMargins:
    """How much closer the right passage is to the query than others are; arrays of one shape.

    `name`: than the closer impostor on the topic; `topic`: than the same author on another topic; `both`: than another
    author on another topic.
    """

    name: Floats
    topic: Floats
    both: Floats


def compute_right_passage_margins(similarities: Floats) -> RightPassageMargins:
    """The margins from the similarities of a query to C1, C2a, C2b, C3, C4: (..., 5) -> (...).

    >>> one = compute_right_passage_margins(np.array([0.71, 0.55, 0.58, 0.42, 0.25]))
    >>> round(float(one.name), 2), round(float(one.topic), 2), round(float(one.both), 2)
    (0.13, 0.29, 0.46)
    """
    values = np.asarray(similarities, dtype=np.float64)
    if values.shape[-1:] != (5,):
        raise UsageError(
            f"Similarities of shape {values.shape} do not form bundles.", mend="Give 5 per bundle, on the last axis."
        )
    right = values[..., 0]
    impostors = values[..., 1:3].max(axis=-1)
    return RightPassageMargins(right - impostors, right - values[..., 3], right - values[..., 4])


@dataclass(frozen=True)
class MeanOverRuns:
    """The mean of run means, and their standard deviation (ddof 1; NaN for one run)."""

    mean: float
    sd: float
    runs: int


def average_queries_then_runs(values: Floats) -> MeanOverRuns:
    """From (runs, queries): each run's mean over its queries, then over the runs.

    >>> result = average_queries_then_runs(np.array([[0.161], [0.158], [0.163], [0.157], [0.161]]))
    >>> round(result.mean, 3), round(result.sd, 6)
    (0.16, 0.002449)
    """
    means = np.asarray(values, dtype=np.float64).mean(axis=1)
    sd = float(means.std(ddof=1)) if len(means) > 1 else float("nan")
    return MeanOverRuns(float(means.mean()), sd, len(means))


@dataclass(frozen=True)
class AblationMarginChange:
    """An ablation against the base, over the same rows (run, query).

    `percent` is the mean of the rows' changes in percent, over the `kept` rows of `rows`: those whose base margin is
    `LEAST_MARGIN` at least. `ratio_percent` is the change of the means over the same rows, `absolute` the mean change
    over all rows. NaN where no row is kept.
    """

    percent: float
    ratio_percent: float
    absolute: float
    kept: int
    rows: int

    @property
    def share_of_rows_without_percent(self) -> float:
        """The share of rows that no percentage is taken of."""
        return 1 - self.kept / self.rows


def measure_margin_change(base: Floats, ablated: Floats, *, least: float = LEAST_MARGIN) -> AblationMarginChange:
    """What an ablation does to a margin; both (runs, queries) or (rows,), the same rows.

    >>> result = measure_margin_change(np.array([0.2, 0.1, 0.015, 0.3]), np.array([0.05, 0.04, 0.0, 0.06]))
    >>> round(result.percent, 6), round(result.ratio_percent, 6), result.kept
    (-71.666667, -75.0, 3)
    """
    before, after = np.asarray(base, dtype=np.float64).ravel(), np.asarray(ablated, dtype=np.float64).ravel()
    if before.shape != after.shape or not len(before):
        raise UsageError(
            f"{len(before)} margins cannot be compared with {len(after)}.", mend="Give the same rows for both."
        )
    kept = before >= least
    absolute = float((after - before).mean())
    if not kept.any():
        return AblationMarginChange(float("nan"), float("nan"), absolute, 0, len(before))
    rows = 100 * (after[kept] - before[kept]) / before[kept]
    ratio = 100 * (after[kept].mean() / before[kept].mean() - 1)
    return AblationMarginChange(float(rows.mean()), float(ratio), absolute, int(kept.sum()), len(before))


@dataclass(frozen=True)
class BundleCollectionsByCondition:
    """The collection of the bundles under each condition (`passages`), its queries by run, and the grades."""

    passages: Mapping[str, Sequence[str]]
    queries: Mapping[str, Sequence[Sequence[str]]]
    grades: NDArray[np.int8]


def make_name_probe_texts_by_condition(
    by_run: Sequence[Sequence[NameProbeQuerySpecification]], conditions: Sequence[str], seed: int
) -> BundleCollectionsByCondition:
    """The collections of these bundles under these conditions."""
    corpus = locate_bundle_passages_in_corpus(by_run, seed)
    texts = {name: compose_corpus_and_queries(by_run, corpus, name, seed) for name in conditions}
    return BundleCollectionsByCondition(
        {name: passages for name, (passages, _) in texts.items()},
        {name: queries for name, (_, queries) in texts.items()},
        corpus.grades,
    )


def rehearse_encoder_calls(texts: DistinctBundleTexts, collections: BundleCollectionsByCondition, hear: Hear) -> bool:
    """Rehearse the two calls that an encoder gets: all queries, all passages."""
    asked = (text for runs in collections.queries.values() for run in runs for text in run)
    stored = (passage for passages in collections.passages.values() for passage in passages)
    hear(list(dict.fromkeys([*texts.queries, *asked])), "query")
    hear(list(dict.fromkeys([*texts.passages, *stored])), "document")
    return True


def measure_right_passage_margins(system: Similarity, texts: DistinctBundleTexts) -> RightPassageMargins:
    """The margins of every bundle, each (conditions, runs, queries)."""
    return compute_right_passage_margins(
        compute_text_pair_similarities(system, texts.queries, texts.passages, texts.left, texts.right)
    )


def measure_bundle_retrieval(system: Similarity, collections: BundleCollectionsByCondition) -> Mapping[str, Floats]:
    """Measure -> its value for every query, (conditions, runs, queries)."""
    counts = count_passage_grades_per_query(collections.grades)
    by_measure: dict[str, list[Floats]] = {}
    for name, passages in collections.passages.items():
        runs = collections.queries[name]
        indices = find_positions_of_first_passages(system, [text for run in runs for text in run], passages)
        repeated = np.tile(np.arange(len(counts)), len(runs))
        top = look_up_grades_at_ranks(collections.grades[repeated], indices)
        for measure, of_query in measure_retrieval_metrics(counts[repeated], top).items():
            by_measure.setdefault(measure, []).append(of_query.reshape(len(runs), -1))
    return {measure: np.stack(of_conditions) for measure, of_conditions in by_measure.items()}


TASK = "names"
HEADLINE = "d_name"
MARGINS = ("d_name", "d_topic", "d_both")
SD = "d_name SD between runs"
RATIO = "d_name/d_topic"
ABSOLUTE = "d_name change"
PERCENT = "d_name change %"
OF_MEANS = "d_name change % of means"
EXCLUDED = "rows without percent"
ACROSS = "conditions"
"""The variant of rows over all conditions."""
TOO_SMALL = f"no row has a base margin of {LEAST_MARGIN} or more"


def build_name_probe_outcome(
    conditions: Sequence[str],
    found: RightPassageMargins,
    retrieval: Mapping[str, Floats],
    context: SharedResamplesContext,
) -> TaskOutcome:
    """The outcome of a cell; arrays are (conditions, runs, queries), the base condition first.

    Rows of an ablation have its name as variant, those of the base none. A query with NaN is left out.
    """
    of = dict(zip(MARGINS, (found.name, found.topic, found.both), strict=True))
    values = {**of, **retrieval}
    scores = list(_score_base_condition(of, values, context))
    for place, name in enumerate(conditions[1:], start=1):
        scores += _score_ablation_changes(place, name, values, context)
    scores += _correlate_margin_with_recall(values, context)
    headline = scores[0]
    components = {HEADLINE: HeadlineComponent(headline.value, headline.n, np.empty(0), headline.reason)}
    return TaskOutcome(tuple(scores), components, _make_item_value_columns(conditions, values))


def _score_base_condition(
    of: Mapping[str, Floats], values: Mapping[str, Floats], context: SharedResamplesContext
) -> Iterator[Score]:
    yield from _score_condition_means(0, "", values, context)
    columns = np.column_stack(
        [_average_queries_over_runs(of["d_name"][0]), _average_queries_over_runs(of["d_topic"][0])]
    )
    yield context.score_over_queries(RATIO, columns, lambda m: m[..., 0] / m[..., 1], why_not="d_topic is 0")
    for measure in values:
        if measure not in MARGINS:
            pair = _average_queries_over_runs(of["d_name"][0]), _average_queries_over_runs(values[measure][0])
            yield from context.links(*pair, (HEADLINE, measure))


def _score_condition_means(
    place: int, variant: str, values: Mapping[str, Floats], context: SharedResamplesContext
) -> Iterator[Score]:
    """The mean of every measure, and how the name margin's varies between runs."""
    for measure, of_rows in values.items():
        yield context.score_over_queries(measure, _average_queries_over_runs(of_rows[place]), variant=variant)
    rows = _keep_complete_columns(values[HEADLINE][place])
    runs = average_queries_then_runs(rows) if rows.size else None
    sd = None if runs is None or np.isnan(runs.sd) else runs.sd
    yield Score(
        SD, sd, rows.shape[0], variant=variant, method="over run means, ddof 1",
        reason="" if sd is not None else "there is only one run"
    )  # fmt: skip


def _score_ablation_changes(
    place: int, name: str, values: Mapping[str, Floats], context: SharedResamplesContext
) -> Iterator[Score]:
    yield from _score_condition_means(place, name, values, context)
    base, ablated = values[HEADLINE][0], values[HEADLINE][place]
    yield context.score_over_queries(ABSOLUTE, _average_queries_over_runs(ablated - base), variant=name)
    yield from _score_percent_changes_after_ablation(base, ablated, name, context)
    for measure in values:
        if measure in MARGINS:
            continue
        difference = _average_queries_over_runs(values[measure][place]) - _average_queries_over_runs(values[measure][0])
        yield context.score_over_queries(f"{measure} change", difference, variant=name)
        names = ABSOLUTE, f"{measure} change"
        yield from context.links(_average_queries_over_runs(ablated - base), difference, names, name)


def _score_percent_changes_after_ablation(
    base: Floats, ablated: Floats, name: str, context: SharedResamplesContext
) -> Iterator[Score]:
    """The mean of the rows' percents, the ratio of means and the share of rows left out: sums over the runs of each
    query, so that queries can be resampled."""
    whole = ~np.isnan(base + ablated).any(axis=0)
    base, ablated = base[:, whole], ablated[:, whole]
    kept = base >= LEAST_MARGIN
    # Rows that are left out are divided by 1, because their margin may be 0.
    rows = np.where(kept, 100 * (ablated - base) / np.where(kept, base, 1), 0.0)
    sums = np.column_stack([part.sum(axis=0) for part in (rows, kept, kept * base, kept * ablated)])
    yield context.score_over_queries(PERCENT, sums, lambda m: m[..., 0] / m[..., 1], variant=name, why_not=TOO_SMALL)
    ratio = context.score_over_queries(
        OF_MEANS, sums, lambda m: 100 * (m[..., 3] / m[..., 2] - 1), variant=name, why_not=TOO_SMALL
    )
    yield ratio
    share = measure_margin_change(base, ablated).share_of_rows_without_percent if base.size else None
    yield Score(EXCLUDED, share, base.size, variant=name, reason="" if base.size else "no query has a value")


def _correlate_margin_with_recall(values: Mapping[str, Floats], context: SharedResamplesContext) -> Iterator[Score]:
    """Over conditions: does what shrinks the margin more also cost more recall?"""
    changes = {name: _average_changes_per_query(of_rows) for name, of_rows in values.items()}
    for measure in values:
        if measure not in MARGINS:
            names = ABSOLUTE, f"{measure} change"
            yield from context.correlate_means_over_conditions(changes[HEADLINE], changes[measure], names, ACROSS)


def _average_changes_per_query(of_rows: Floats) -> Floats:
    """Each query's mean change under every ablation, (ablations, queries)."""
    means = np.stack([_average_queries_over_runs(row) for row in of_rows])
    return np.asarray(means[1:] - means[0])


def _average_queries_over_runs(rows: Floats) -> Floats:
    """Means over runs: (runs, queries) -> (queries,), NaN where a run has none."""
    return np.asarray(rows.mean(axis=0))


def _keep_complete_columns(rows: Floats) -> Floats:
    """The columns of queries that every run has a value of."""
    return np.asarray(rows[:, ~np.isnan(rows).any(axis=0)])


def _make_item_value_columns(conditions: Sequence[str], values: Mapping[str, Floats]) -> Mapping[str, list[object]]:
    """A value of every measure for every condition, run and query; `item_id` is query@run."""
    items = Items()
    runs, queries = values[HEADLINE].shape[1:]
    ids = [f"{query:03d}@{run}" for run in range(runs) for query in range(queries)]
    for place, name in enumerate(conditions):
        for measure, of_rows in values.items():
            items.add(ids, of_rows[place].ravel(), measure, "" if place == 0 else name)
    return items.columns


@dataclass(frozen=True)
class NameProbeJob(inputs.EvaluationJob):
    """All that a worker needs to do a cell; `lang` and `dataset` are those of the cell."""

    lang: Lang
    dataset: str
    request: NamesRequest


def evaluate_cell(
    job: NameProbeJob, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: CellPartExecutor = HERE
) -> TaskOutcome:
    """The outcome of one cell, with how many texts were encoded and taken from the cache."""
    request = job.request
    tokenizer = open_tokenizer(request.tokenizer)
    texts, collections = make_name_probe_texts_and_collections(request, job.lang)
    opened = job.open_cached_system(advance, ledger=ledger, spread=spread)
    context = SharedResamplesContext(
        job.dataset,
        tokenizer,
        request.seed,
        request.resamples,
        together=group_queries_by_author_or_topic(request, job.lang),
    )

    def rehearse_bundle_calls(hear: Hear) -> bool:
        return rehearse_encoder_calls(texts, collections, hear)

    with (
        reserve_memory(estimate_cell_memory(request, job.lang, opened.system)),
        charge_calls_to_account(ledger, opened.system.name) as requests,
    ):
        opened.prefetch_vectors(rehearse_bundle_calls)
        opened.encode_rehearsed_calls_into_memory(rehearse_bundle_calls)
        margins = measure_right_passage_margins(opened.system, texts)
        lost = find_queries_with_unencoded_text(
            opened.system, [f"{q:03d}" for q in range(request.size)], texts.list_bundle_texts_of_query
        )
        if lost.too_many_lost_reason:
            result = lost.make_task_outcome_without_score(HEADLINE, Items())
        else:
            retrieval = measure_bundle_retrieval(opened.system, collections)
            for of_rows in (margins.name, margins.topic, margins.both, *retrieval.values()):
                of_rows[..., lost.lost_mask] = np.nan
            result = replace(
                build_name_probe_outcome(request.wanted_conditions, margins, retrieval, context), skipped=lost.skipped
            )
    return opened.add_usage_and_warnings(result, requests, compares=True)


def group_queries_by_author_or_topic(request: NamesRequest, lang: Lang) -> Labels | None:
    """The group of each query: those of one author or topic, of which a probe of many queries has several; None where
    each is by itself."""
    (drawn,) = make_name_probe_bundles_per_run(
        make_or_read_authors_and_topics(lang, **request.files), request.size, 1, request.seed
    )
    return group_items_sharing_things([{f"author {bundle.author}", f"topic {bundle.topic}"} for bundle in drawn])


@lru_cache(maxsize=2)
def make_name_probe_texts_and_collections(
    request: NamesRequest, lang: Lang
) -> tuple[DistinctBundleTexts, BundleCollectionsByCondition]:
    """The texts of the bundles in a language, and the collections of them; two stay in memory."""
    by_run = make_name_probe_bundles_per_run(
        make_or_read_authors_and_topics(lang, **request.files), request.size, request.runs, request.seed
    )
    texts = collect_bundle_texts(by_run, request.wanted_conditions, request.seed)
    return texts, make_name_probe_texts_by_condition(by_run, request.wanted_conditions, request.seed)


def estimate_cell_memory(request: NamesRequest, lang: Lang, system: Similarity) -> WorkMemoryEstimate:
    """Estimate the memory that a cell will hold."""
    texts, collections = make_name_probe_texts_and_collections(request, lang)
    asked = [text for runs in collections.queries.values() for run in runs for text in run]
    stored = [passage for passages in collections.passages.values() for passage in passages]
    places = sum(map(len, collections.queries.values())) * request.size
    sizes = plan.ProbeComparisonCounts(texts.right.size, places, request.size, request.resamples)
    asked, stored = (list(dict.fromkeys([*texts.queries, *asked])), list(dict.fromkeys([*texts.passages, *stored])))
    return plan.estimate_probe_system_memory(system, asked, stored, sizes, "Use fewer --queries, --runs or conditions")


def rehearse_cell_encoder_calls(request: NamesRequest, lang: Lang, hear: Hear) -> bool:
    """Rehearse the calls that a cell makes of an encoder."""
    return rehearse_encoder_calls(*make_name_probe_texts_and_collections(request, lang), hear)


NEAR_MISS = "edit_distance_near_miss"


def plan_names_probe(request: NamesRequest, cache: Path | None = None, ledger: Ledger | None = None) -> ProbePlan:
    """The plan of a name probe. UsageError for too few authors or topics, DataError for a list that cannot be read,
    ModelError for a system that cannot be opened."""
    tokenizer = open_tokenizer(request.tokenizer)
    systems = plan_probe_systems(request, tokenizer, ledger)
    kind = "own" if request.people or request.topics else "bundled"
    datasets, cells, efforts = [], [], []
    for lang in dict.fromkeys(request.langs):
        of = make_or_read_authors_and_topics(lang, **request.files)
        if NEAR_MISS in request.wanted_conditions:
            _check_names_can_be_misspelled(of)
        name = f"{kind}-{lang}"
        units = _count_texts_asked_of_encoder(partial(rehearse_cell_encoder_calls, request, lang))
        in_groups = group_queries_by_author_or_topic(request, lang) is not None
        planned = PlannedTask(TASK, request.size, units, (), _note_repeated_author_topic_pairs(of, request.size))
        fingerprint = digest_json([lang, [person.name for person in of.people], list(of.topics)])
        datasets.append(PlannedDataset(kind, name, lang, fingerprint, (planned,)))
        for system in systems:
            key = make_cell_key(TASK, NAMES_VERSION, system, fingerprint, tokenizer, request, in_groups=in_groups)
            job = NameProbeJob(system.spec, request.seed, request.tokenizer, cache, lang, name, request)
            cells.append(make_probe_cell(TASK, name, system, key, units, job))
        efforts.append(partial(_estimate_names_effort, request, lang, name))
    return ProbePlan(
        request=request, systems=systems, datasets=tuple(datasets), cells=tuple(cells),
        tokenizer_identity=tokenizer.identity, cache=cache, task=TASK, efforts=tuple(efforts)
    )  # fmt: skip


def _count_texts_asked_of_encoder(rehearse: Callable[[Hear], bool]) -> int:
    """How many texts an encoder is asked for."""
    asked: list[int] = []
    rehearse(lambda texts, _: asked.append(len(texts)))
    return sum(asked)


def _check_names_can_be_misspelled(of: BundleAuthorsAndTopics) -> None:
    """UsageError for a name that cannot be missed by as many letters as the ablation does."""
    for person in of.people:
        misspell_name(person.name, 3)


def _note_repeated_author_topic_pairs(of: BundleAuthorsAndTopics, queries: int) -> tuple[str, ...]:
    people, topics = len(set(of.people)), len(set(of.topics))
    if queries <= lcm(people, topics):
        return ()
    return (f"{queries} queries of {people} authors and {topics} topics: some author-topic pairs occur more than once",)


def _estimate_names_effort(request: NamesRequest, lang: Lang, name: str) -> TaskWorkloadForForecast:
    def rehearse_names_encoding(hear: Hear) -> bool:
        return rehearse_cell_encoder_calls(request, lang, hear)

    texts, _ = make_name_probe_texts_and_collections(request, lang)
    effort = estimate_dataset_effort(
        TASK, name, request.size, texts.passages, rehearse_names_encoding, texts.right.size
    )
    return replace(effort, footprint=partial(estimate_cell_memory, request, lang))


GROUPS = {"base": "base", "identity": "identity-destroying", "orthography": "orthography and formatting",
          "layout": "layout"}  # fmt: skip
CONDITION = text("condition", lambda line: line.variant or "base")


def build_name_probe_tables(
    rows: ProbeResultRows, systems: Sequence[str], request: NamesRequest
) -> Iterator[ColumnTable]:
    """The tables of a name probe."""
    size = f"{request.size} queries x {request.runs} runs"
    yield _build_base_margins_table(rows, systems, size)
    yield _build_name_topic_margin_ratio_table(rows, systems, size)
    for dataset, lang in rows.langs.items():
        yield _make_name_margin_by_ablation_table(rows, systems, dataset, lang, size)
    yield _make_ablation_recall_table(rows, systems)
    yield build_probe_correlation_table(
        rows, systems, "name_links", "Correlations of name margin and retrieval, over queries and conditions", ACROSS
    )


def _build_base_margins_table(rows: ProbeResultRows, systems: Sequence[str], size: str) -> ColumnTable:
    margins = (make_measure_interval_columns((name, f"{name} low", f"{name} high"), name) for name in MARGINS)
    return ColumnTable.of(
        "rag_table10", f"Base margins: {size}", rows.lines(systems), SYSTEM, LANG, *chain.from_iterable(margins),
        make_measure_column("SD between runs", SD, decimals=4), note=INTERVALS
    )  # fmt: skip


def _build_name_topic_margin_ratio_table(rows: ProbeResultRows, systems: Sequence[str], size: str) -> ColumnTable:
    return ColumnTable.of(
        "rag_table11", f"Mean name margin divided by mean topic margin: {size}", rows.lines(systems), SYSTEM, LANG,
        *make_measure_interval_columns(("name/topic", "low", "high"), RATIO), note=INTERVALS
    )  # fmt: skip


def _make_name_margin_by_ablation_table(
    rows: ProbeResultRows, systems: Sequence[str], dataset: str, lang: str, size: str
) -> ColumnTable:
    return ColumnTable.of(
        f"name_margin_{lang}", f"Name margin under ablations, {lang}: {size}",
        [line for line in _list_ablation_table_rows(rows, systems) if line.dataset == dataset],
        SYSTEM, text("group", lambda line: GROUPS[CONDITIONS[line.variant or "base"].group]), CONDITION,
        make_measure_column("d_name", HEADLINE), make_measure_column("SD between runs", SD, decimals=4),
        *make_measure_interval_columns(("change", "change low", "change high"), ABSOLUTE, 3, "signed"),
        *make_measure_interval_columns(("percent", "percent low", "percent high"), PERCENT, 1, "signed"),
        make_measure_column("percent of means", OF_MEANS, decimals=1, style="signed"),
        make_measure_column("rows left out", EXCLUDED),
        note="percent is the mean change over rows with a base margin of 0.02 or more (the last column has the "
            f"share of other rows); percent of means is the change in the means of the same rows. {INTERVALS}"
    )  # fmt: skip


def _make_ablation_recall_table(rows: ProbeResultRows, systems: Sequence[str]) -> ColumnTable:
    return ColumnTable.of(
        "name_retrieval",
        "Retrieval under ablations",
        _list_ablation_table_rows(rows, systems),
        SYSTEM,
        LANG,
        CONDITION,
        make_measure_column("d_name", HEADLINE),
        *chain.from_iterable(map(make_measure_and_change_columns, MEASURES)),
        note="Retrieval from the passages of all bundles (not in the paper). Grades: 5 = right author and topic, "
        f"3 = right author, 2 = right topic, 1 = neither. Change is relative to the base. {INTERVALS}",
    )


def _list_ablation_table_rows(rows: ProbeResultRows, systems: Sequence[str]) -> Iterator[ProbeVariantTableRow]:
    lines = rows.lines(systems, _list_probe_conditions(rows))
    return (line for line in lines if line.find(HEADLINE) is not None)


def _list_probe_conditions(rows: ProbeResultRows) -> tuple[str, ...]:
    """The base (no variant) and the ablations that were asked for."""
    present = set(rows.list_variants_with_measure(HEADLINE))
    return tuple(condition for condition in ("", *CONDITIONS) if condition in present)
