"""The noise probe: how far small talk moves a question: its cells, doing one, and its tables (spec rag 5.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor, Similarity
from embassay.data.shapes import check_mapping_targets
from embassay.errors import UsageError
from embassay.measures import list_tau, overlap
from embassay.protocols.kernel import inputs
from embassay.protocols.kernel.estimates import MOST_LOST, Items, make_undefined_score
from embassay.protocols.kernel.forecast import TaskWorkloadForForecast
from embassay.protocols.kernel.inputs import charge_calls_to_account
from embassay.protocols.kernel.plan import PlannedDataset, PlannedTask, check_unique_dataset_names
from embassay.protocols.kernel.tables import ColumnTable, ComputedColumn, number_column, text, whole_number_column
from embassay.protocols.rag.probes import plan
from embassay.protocols.rag.probes.options import NoiseRequest
from embassay.protocols.rag.probes.plan import (
    NOISE_VERSION,
    ProbePlan,
    estimate_dataset_effort,
    make_cell_key,
    make_probe_cell,
    plan_probe_systems,
)
from embassay.protocols.rag.probes.questions import (
    LEVELS,
    NOISIEST,
    Lang,
    NoiseQuestions,
    QuestionWordingsAtNoiseLevel,
    RewritingStore,
    add_small_talk_at_all_levels,
    apply_rewritings_to_variants,
    list_probed_languages,
    load_noise_probe_questions,
    name_noise_level,
)
from embassay.protocols.rag.probes.resampling import (
    CUTOFF,
    DATASET,
    INTERVALS,
    LANG,
    MEASURES,
    RECALL,
    SYSTEM,
    ProbeResultRows,
    ProbeVariantTableRow,
    SharedResamplesContext,
    build_probe_correlation_table,
    compute_text_pair_similarities,
    find_positions_of_first_passages,
    find_queries_with_unencoded_text,
    make_measure_and_change_columns,
    make_measure_column,
    make_measure_interval_columns,
    measure_retrieval_metrics,
)
from embassay.protocols.rag.rewriters import open_rewriter
from embassay.records import HeadlineComponent, ResultRow, Score, TaskOutcome
from embassay.runs.execution import HERE
from embassay.runs.forecast import Hear
from embassay.runs.memory import WorkMemoryEstimate, reserve_memory
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

Floats = NDArray[np.float64]
COSINE = "similarity"
OVERLAP, TAU = f"overlap@{CUTOFF}", f"tau@{CUTOFF}"


@dataclass(frozen=True)
class DistinctWordings:
    """The distinct wordings, and where they stand: `places` (variants, runs, questions), -1 where there is none."""

    texts: tuple[str, ...]
    places: NDArray[np.int64]


def collect_distinct_wordings(variants: Sequence[QuestionWordingsAtNoiseLevel]) -> DistinctWordings:
    """The wordings of these variants, the clean questions first."""
    numbers: dict[str, int] = {}
    places = np.array(
        [
            [[-1 if text is None else numbers.setdefault(text, len(numbers)) for text in run] for run in variant.texts]
            for variant in variants
        ]
    )
    return DistinctWordings(tuple(numbers), places)


def rehearse_encoder_calls(questions: NoiseQuestions, asked: DistinctWordings, hear: Hear) -> bool:
    """Rehearse the calls that an encoder gets: wordings with references, and the corpus."""
    needs = questions.references if questions.role == "query" else ()
    hear(list(dict.fromkeys([*asked.texts, *needs])), "query")
    hear(questions.corpus, "document")
    return True


def measure_cosines_to_reference(system: Similarity, questions: NoiseQuestions, asked: DistinctWordings) -> Floats:
    """The similarity of every wording with its question's reference, (variants, runs, questions), NaN without one."""
    references = list(dict.fromkeys(questions.references))
    meant = np.array([references.index(text) for text in questions.references])
    asked_here = asked.places >= 0
    right = np.broadcast_to(meant, asked.places.shape)
    similar = np.full(asked.places.shape, np.nan)
    similar[asked_here] = compute_text_pair_similarities(
        system, asked.texts, references, asked.places[asked_here], right[asked_here], questions.role
    )
    return similar


def measure_wording_retrieval(
    system: Similarity, questions: NoiseQuestions, asked: DistinctWordings
) -> Mapping[str, Floats]:
    """Measure -> its value for every wording, (variants, runs, questions), NaN without one; `overlap` and `tau` are
    with what the clean question finds."""
    asked_here = asked.places >= 0
    by_text = find_positions_of_first_passages(system, asked.texts, questions.corpus)
    indices = by_text[np.maximum(asked.places, 0)].reshape(-1, by_text.shape[1])
    n = len(questions)
    counts, rounds = questions.counts(), len(indices) // n
    # Wordings lie variant by variant and run by run; in each the questions stand in the same order.
    top = np.concatenate([questions.top(indices[i * n : (i + 1) * n]) for i in range(rounds)])
    by_measure = dict(measure_retrieval_metrics(np.tile(counts, (rounds, 1)), top))
    clean = np.tile(indices[:n], (rounds, 1))
    by_measure |= _measure_list_agreement(clean, indices)
    shaped = {name: of_rows.reshape(asked.places.shape) for name, of_rows in by_measure.items()}
    return {name: np.where(asked_here, of_rows, np.nan) for name, of_rows in shaped.items()}


def _measure_list_agreement(clean: NDArray[np.int64], other: NDArray[np.int64]) -> dict[str, Floats]:
    first, second = (
        {str(row): _convert_places_to_text_ids(places) for row, places in enumerate(side.tolist())}
        for side in (clean, other)
    )
    return {OVERLAP: np.asarray(overlap(first, second, CUTOFF)), TAU: np.asarray(list_tau(first, second, CUTOFF))}


def _convert_places_to_text_ids(places: list[int]) -> list[str]:
    return [str(place) for place in places if place >= 0]


@dataclass(frozen=True)
class NoiseCosineDrop:
    """From the clean question to the noisiest: absolute, and as a share of the clean cosine (NaN where that is 0)."""

    absolute: float
    share: float


def compute_share_of_cosine_lost(clean: Floats, noisy: Floats) -> Floats:
    """1 - noisy / clean, value by value; NaN where the clean cosine is 0."""
    return np.asarray(1 - noisy / np.where(clean == 0, np.nan, clean))


def measure_recovery_per_question(clean: Floats, noisy: Floats, rewritten: Floats) -> Floats:
    """(rewritten - noisy) / (clean - noisy), value by value; NaN where noise cost nothing."""
    return np.asarray((rewritten - noisy) / np.where(clean > noisy, clean - noisy, np.nan))


def compute_cosine_drop(clean: float, noisy: float) -> NoiseCosineDrop:
    """What is lost between two mean cosines.

    >>> result = compute_cosine_drop(0.818, 0.522)
    >>> round(result.absolute, 3), round(100 * result.share, 1)
    (0.296, 36.2)
    """
    lost = clean - noisy
    return NoiseCosineDrop(lost, float(compute_share_of_cosine_lost(np.array(clean), np.array(noisy))))


def compute_recovered_loss_share(clean: Floats, noisy: Floats, rewritten: Floats) -> float:
    """The share of the loss that rewriting brings back: of the means over the questions, each (n,).

    1: as good as the clean question, 0: nothing gained, below 0: made worse. NaN where noise cost nothing. UsageError
    for unequal lengths.

    >>> round(compute_recovered_loss_share(np.array([0.9]), np.array([0.5]), np.array([0.8])), 6)
    0.75
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (clean, noisy, rewritten)]
    if len({side.shape for side in sides}) != 1 or not sides[0].size:
        raise UsageError("clean, noisy and rewritten differ in shape.", mend="Give one cosine per question in each.")
    return float(measure_recovery_per_question(*(side.mean() for side in sides)))


TASK = "noise"
HEADLINE = "drop"
SHARE = "drop %"
RECOVERED = "recovered"
ACROSS = "levels"
"""The variant of rows over all levels."""


def build_noise_probe_outcome(
    ids: Sequence[str],
    variants: Sequence[QuestionWordingsAtNoiseLevel],
    values: Mapping[str, Floats],
    context: SharedResamplesContext,
) -> TaskOutcome:
    """The outcome of a cell; arrays are (variants, runs, questions), the clean questions first.

    The headline, with an empty variant, is the drop of the cosine from the clean question to the noisiest.
    """
    means = {name: rows.mean(axis=1) for name, rows in values.items()}
    by_name = {variant.name: place for place, variant in enumerate(variants)}
    # The headline stands first.
    scores = list(_score_cosine_drop(means[COSINE], by_name[name_noise_level(NOISIEST)], "", context))
    for place, variant in enumerate(variants):
        scores += _score_noise_variant(place, variant, by_name, means, context)
    scores += _correlate_cosine_with_recall(means, context)
    headline = scores[0]
    components = {HEADLINE: HeadlineComponent(headline.value, headline.n, np.empty(0), headline.reason)}
    return TaskOutcome(tuple(scores), components, _make_item_value_columns(ids, variants, values))


def _score_noise_variant(
    place: int,
    variant: QuestionWordingsAtNoiseLevel,
    by_name: Mapping[str, int],
    means: Mapping[str, Floats],
    context: SharedResamplesContext,
) -> Iterator[Score]:
    if variant.rewriter and (lost := int(np.isnan(means[COSINE][place]).sum())) > MOST_LOST * len(means[COSINE][place]):
        n = len(means[COSINE][place])
        reason = f"{lost} of {n} queries could not be rewritten (over {MOST_LOST:.0%}, so no score)"
        yield from (make_undefined_score(name, n - lost, reason, variant=variant.name) for name in means)
        return
    for name, of_questions in means.items():
        yield context.score_over_queries(name, of_questions[place], variant=variant.name)
    if place == 0:
        return
    yield from _score_cosine_drop(means[COSINE], place, variant.name, context)
    noisy = by_name[name_noise_level(variant.level)]
    if variant.rewriter and variant.level:
        columns = means[COSINE][[0, noisy, place]].T
        yield context.score_over_queries(
            RECOVERED,
            columns,
            lambda m: measure_recovery_per_question(m[..., 0], m[..., 1], m[..., 2]),
            variant=variant.name,
            why_not="noise does not lower the similarity",
        )
    for name in MEASURES:
        yield from _score_paired_difference(
            f"{name} change", means[name][place] - means[name][0], variant.name, context
        )
        if variant.rewriter:
            yield from _score_paired_difference(
                f"{name} gain", means[name][place] - means[name][noisy], variant.name, context
            )
        if not variant.rewriter:
            change = means[COSINE][place] - means[COSINE][0]
            names = f"{COSINE} change", f"{name} change"
            yield from context.links(change, means[name][place] - means[name][0], names, variant.name)


def _score_cosine_drop(cosines: Floats, place: int, variant: str, context: SharedResamplesContext) -> Iterator[Score]:
    """What is lost against the clean question, absolute and in percent of it."""
    yield context.score_over_queries(HEADLINE, cosines[0] - cosines[place], variant=variant)
    pair = cosines[[0, place]].T
    yield context.score_over_queries(
        SHARE,
        pair,
        lambda m: 100 * compute_share_of_cosine_lost(m[..., 0], m[..., 1]),
        variant=variant,
        why_not="the clean cosine is 0",
    )


def _score_paired_difference(
    measure: str, differences: Floats, variant: str, context: SharedResamplesContext
) -> Iterator[Score]:
    """The mean difference with its interval, and its two-sided p: twice the smaller share of resampled differences on
    either side of 0, one added to count and total."""
    row = context.score_over_queries(measure, differences, variant=variant)
    yield row
    if row.value is None or row.n < 2:
        return
    replicates = context.bootstrap(differences[:, None], "queries")[:, 0]
    smaller = min(int((replicates <= 0).sum()), int((replicates >= 0).sum()))
    p = min(1.0, 2 * (smaller + 1) / (len(replicates) + 1))
    yield Score(f"p({measure})", p, row.n, variant=variant, method=f"paired {context.method}")


def _correlate_cosine_with_recall(means: Mapping[str, Floats], context: SharedResamplesContext) -> Iterator[Score]:
    """Over levels, as asked and rewritten: does what moves a question further also cost more recall?"""
    changes = {name: of_questions[1:] - of_questions[0] for name, of_questions in means.items()}
    usable = ~np.isnan(changes[COSINE]).all(axis=1)
    for name in MEASURES:
        names = f"{COSINE} change", f"{name} change"
        yield from context.correlate_means_over_conditions(
            changes[COSINE][usable], changes[name][usable], names, ACROSS
        )


def _make_item_value_columns(
    ids: Sequence[str], variants: Sequence[QuestionWordingsAtNoiseLevel], values: Mapping[str, Floats]
) -> Mapping[str, list[object]]:
    """A value of every measure for every wording; `item_id` is query@run."""
    items = Items()
    runs = next(iter(values.values())).shape[1]
    keys = [f"{key}@{run}" for run in range(runs) for key in ids]
    for place, variant in enumerate(variants):
        for name, rows in values.items():
            items.add(keys, rows[place].ravel(), name, variant.name)
    return items.columns


@dataclass(frozen=True)
class NoiseProbeJob(inputs.EvaluationJob):
    """All that a worker needs to do a cell; `rewriters` are identities by name, whose rewritings are in `folder`."""

    source: str
    lang: Lang
    request: NoiseRequest
    rewriters: Mapping[str, str]
    folder: Path


def evaluate_cell(
    job: NoiseProbeJob, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: CellPartExecutor = HERE
) -> TaskOutcome:
    """The outcome of one cell, with how many texts were encoded and taken from the cache."""
    request, tokenizer = job.request, open_tokenizer(job.request.tokenizer)
    posed = load_noise_probe_questions(request, job.source, job.lang)
    variants = make_all_question_variants(posed, request, {name: _read_rewritings(job, name) for name in job.rewriters})
    asked = collect_distinct_wordings(variants)
    opened = job.open_cached_system(advance, ledger=ledger, spread=spread)
    context = SharedResamplesContext(
        posed.dataset, tokenizer, request.seed, request.resamples, together=posed.together()
    )

    def rehearse_wording_calls(hear: Hear) -> bool:
        return rehearse_encoder_calls(posed, asked, hear)

    need = _estimate_noise_probe_memory(opened.system, posed, asked, request)
    with reserve_memory(need), charge_calls_to_account(ledger, opened.system.name) as requests:
        opened.prefetch_vectors(rehearse_wording_calls)
        opened.encode_rehearsed_calls_into_memory(rehearse_wording_calls)
        near = measure_cosines_to_reference(opened.system, posed, asked)
        lost = find_queries_with_unencoded_text(
            opened.system, posed.ids, lambda q: _list_reference_and_wordings(posed, variants, q)
        )
        if lost.too_many_lost_reason:
            result = lost.make_task_outcome_without_score(HEADLINE, Items(), posed.skipped)
        else:
            values = {COSINE: near, **measure_wording_retrieval(opened.system, posed, asked)}
            for rows in values.values():
                rows[..., lost.lost_mask] = np.nan
            result = build_noise_probe_outcome(posed.ids, variants, values, context)
            result = replace(result, skipped=(*posed.skipped, *lost.skipped), warnings=posed.warnings)
    missing = {
        "rewritings_missing": len(
            {lacking for variant in variants for lacking in _list_rewriter_and_unrewritten_text(variants, variant)}
        )
    }
    return opened.add_usage_and_warnings(result, {**requests, **missing}, compares=True)


def make_all_question_variants(
    own: NoiseQuestions, request: NoiseRequest, rewritings: Mapping[str, Mapping[str, str]]
) -> Sequence[QuestionWordingsAtNoiseLevel]:
    """Every wording: small talk at each level, then what each rewriter made of all of them."""
    noisy = add_small_talk_at_all_levels(own, request.runs, request.seed)
    return [
        *noisy,
        *(
            variant
            for name, texts in rewritings.items()
            for variant in apply_rewritings_to_variants(noisy, name, texts)
        ),
    ]


def rehearse_cell_encoder_calls(request: NoiseRequest, source: str, lang: Lang, hear: Hear) -> bool:
    """Tell of the calls that a cell makes of an encoder, as far as they are known: rewritings are taken to be as many
    texts as there are wordings."""
    posed = load_noise_probe_questions(request, source, lang)
    return rehearse_encoder_calls(
        posed, collect_distinct_wordings(make_all_question_variants(posed, request, {})), hear
    )


def estimate_cell_memory(request: NoiseRequest, source: str, lang: Lang, system: Similarity) -> WorkMemoryEstimate:
    """Estimate the memory of a cell; a rewriting is taken to be as long as its question."""
    posed = load_noise_probe_questions(request, source, lang)
    asked = collect_distinct_wordings(make_all_question_variants(posed, request, {}))
    every = 1 + len(dict.fromkeys(request.rewriters))
    return _estimate_noise_probe_memory(
        system, posed, replace(asked, texts=asked.texts * every, places=np.tile(asked.places, (every, 1, 1))), request
    )


def _estimate_noise_probe_memory(
    system: Similarity, posed: NoiseQuestions, asked: DistinctWordings, request: NoiseRequest
) -> WorkMemoryEstimate:
    sizes = plan.ProbeComparisonCounts(asked.places.size, asked.places.size, len(posed), request.resamples)
    return plan.estimate_probe_system_memory(
        system, [*asked.texts, *posed.references], posed.corpus, sizes,
        "Use a smaller corpus, or fewer queries (--limit)"
    )  # fmt: skip


def _read_rewritings(job: NoiseProbeJob, name: str) -> Mapping[str, str]:
    return RewritingStore(job.folder, job.rewriters[name]).read()


def _list_reference_and_wordings(
    posed: NoiseQuestions, variants: Sequence[QuestionWordingsAtNoiseLevel], query: int
) -> Iterator[str]:
    yield posed.references[query]
    for variant in variants:
        yield from (run[query] or "" for run in variant.texts)


def _list_rewriter_and_unrewritten_text(
    variants: Sequence[QuestionWordingsAtNoiseLevel], variant: QuestionWordingsAtNoiseLevel
) -> Iterator[tuple[str, str | None]]:
    """The texts of which a rewriter has made nothing."""
    noisy = variants[variant.level]
    for run, before in zip(variant.texts, noisy.texts, strict=True):
        yield from ((variant.rewriter, old) for text, old in zip(run, before, strict=True) if text is None)


def plan_noise_probe(
    request: NoiseRequest, folder: Path, cache: Path | None = None, ledger: Ledger | None = None
) -> ProbePlan:
    """The plan of a noise probe; rewritings are kept in `folder`. Errors as for names; UsageError also for a dataset in
    neither language."""
    check_mapping_targets(dict(request.mapping))
    tokenizer = open_tokenizer(request.tokenizer)
    systems = plan_probe_systems(request, tokenizer, ledger)
    opened = [open_rewriter(spec, ledger=ledger, seed=request.seed) for spec in dict.fromkeys(request.rewriters)]
    rewriters = {rewriter.name: rewriter.identity for rewriter in opened}
    datasets, cells, efforts = [], [], []
    for source in dict.fromkeys(request.datasets):
        for lang in list_probed_languages(request, source):
            posed = load_noise_probe_questions(request, source, lang)
            units = len(posed) * (1 + 4 * request.runs) * (1 + len(rewriters)) + len(posed.corpus)
            planned = PlannedTask(TASK, len(posed), units, posed.skipped, posed.warnings)
            datasets.append(PlannedDataset(source, posed.dataset, lang, posed.fingerprint, (planned,)))
            for system in systems:
                key = make_cell_key(
                    TASK,
                    NOISE_VERSION,
                    system,
                    posed.fingerprint,
                    tokenizer,
                    request,
                    rewriters,
                    in_groups=posed.together() is not None,
                )
                job = NoiseProbeJob(
                    system.spec, request.seed, request.tokenizer, cache, source, lang, request, rewriters, folder
                )  # fmt: skip
                cells.append(make_probe_cell(TASK, posed.dataset, system, key, units, job))
            efforts.append(partial(_estimate_noise_effort, request, source, lang, units))
    check_unique_dataset_names(dataset.name for dataset in datasets)
    return ProbePlan(
        request=request, systems=systems, datasets=tuple(datasets), cells=tuple(cells),
        tokenizer_identity=tokenizer.identity, cache=cache, task=TASK, efforts=tuple(efforts),
        rewriters=tuple(opened)
    )  # fmt: skip


def _estimate_noise_effort(request: NoiseRequest, source: str, lang: Lang, units: int) -> TaskWorkloadForForecast:
    def rehearse_noise_encoding(hear: Hear) -> bool:
        return rehearse_cell_encoder_calls(request, source, lang, hear)

    posed = load_noise_probe_questions(request, source, lang)
    wordings = units - len(posed.corpus)
    effort = estimate_dataset_effort(TASK, posed.dataset, len(posed), posed.corpus, rehearse_noise_encoding, wordings)
    # A rewriting is a text that nobody has yet: each is counted as long as the question.
    return TaskWorkloadForForecast(
        effort.task,
        effort.dataset,
        effort.items,
        units,
        effort.tokens,
        rehearse_noise_encoding,
        posed.corpus,
        posed.texts,
        "search",
        footprint=partial(estimate_cell_memory, request, source, lang),
    )


def build_noise_probe_tables(rows: ProbeResultRows, systems: Sequence[str]) -> Iterator[ColumnTable]:
    """The tables of a noise probe."""
    yield _make_cosine_by_noise_level_table(rows, systems)
    yield _build_cosine_drops_table(rows, systems)
    yield _make_noisy_retrieval_table(rows, systems)
    yield build_probe_correlation_table(
        rows, systems, "noise_links", "Correlations of similarity and retrieval, over queries and levels", ACROSS
    )


def _describe_question_rewriting_of_row(line: ProbeVariantTableRow) -> str:
    rewriter = _parse_variant_rewriter(line.variant)
    return f"rewritten by {rewriter}" if rewriter else "as asked"


WORDING = text("wording", _describe_question_rewriting_of_row)


def _make_cosine_by_noise_level_table(rows: ProbeResultRows, systems: Sequence[str]) -> ColumnTable:
    levels = [_make_level_cosine_column(level) for level in range(len(LEVELS))]
    lines = rows.lines(systems, [name_noise_level(0, rewriter) for rewriter in _list_rewriters(rows)])
    return ColumnTable.of(
        "rag_table12", "Similarity of the question to its reference, by noise level",
        [line for line in lines if any(field.find(line) is not None for field in levels)],
        SYSTEM, DATASET, LANG, WORDING, *levels
    )  # fmt: skip


def _make_level_cosine_column(level: int) -> ComputedColumn:
    def find_cosine_at_level(line: ProbeVariantTableRow) -> ResultRow | None:
        variant = name_noise_level(level, _parse_variant_rewriter(line.variant))
        return line.rows.find(line.dataset, line.system, variant, COSINE)

    return number_column(f"level {level}", "value", 3).within(find_cosine_at_level)


def _build_cosine_drops_table(rows: ProbeResultRows, systems: Sequence[str]) -> ColumnTable:
    lines = rows.lines(systems, [name_noise_level(NOISIEST, rewriter) for rewriter in _list_rewriters(rows)])
    return ColumnTable.of(
        "rag_table13", f"Drop in similarity from level 0 to level {NOISIEST}, and how much rewriting recovers",
        # Questions as asked keep their line where nothing could be measured.
        [line for line in lines if not _parse_variant_rewriter(line.variant) or line.find(HEADLINE) is not None],
        SYSTEM, DATASET, LANG, WORDING, *make_measure_interval_columns(("drop", "drop low", "drop high"), HEADLINE),
        *make_measure_interval_columns(("drop %", "% low", "% high"), SHARE, 1),
        *make_measure_interval_columns(("recovered", "recovered low", "recovered high"), RECOVERED), note=INTERVALS
    )  # fmt: skip


def _make_noisy_retrieval_table(rows: ProbeResultRows, systems: Sequence[str]) -> ColumnTable:
    wordings = product(_list_rewriters(rows), range(len(LEVELS)))
    lines = rows.lines(systems, [name_noise_level(level, rewriter) for rewriter, level in wordings])
    changes = (
        (*make_measure_and_change_columns(name), make_measure_column(f"{name} p", f"p({name} change)", style="p"))
        for name in MEASURES
    )
    return ColumnTable.of(
        "noise_retrieval", "Retrieval with noisy questions", [line for line in lines if line.find(RECALL) is not None],
        SYSTEM, DATASET, LANG, whole_number_column("level", _get_noise_level_of_table_row), WORDING,
        *chain.from_iterable(changes),
        make_measure_column(OVERLAP, OVERLAP), make_measure_column(TAU, TAU),
        note="Change is relative to the clean question, with p from the paired bootstrap; overlap and tau compare "
            "the two rankings. "
        f"{INTERVALS}"
    )  # fmt: skip


def _list_rewriters(rows: ProbeResultRows) -> list[str]:
    """None (as asked), and those that were asked for."""
    return list(dict.fromkeys(["", *map(_parse_variant_rewriter, rows.list_variants_with_measure(COSINE))]))


def _parse_variant_rewriter(variant: str) -> str:
    return variant.partition(":")[2]


def _get_noise_level_of_table_row(line: ProbeVariantTableRow) -> int:
    names = [name_noise_level(level) for level in range(len(LEVELS))]
    return names.index(line.variant.partition(":")[0])
