"""What damaged names cost in recall: the passages of a collection are signed, its questions ask for the author, and
names are damaged there as in the bundles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor, Similarity
from embassay.data.shapes import check_mapping_targets
from embassay.measures.judgements import RELEVANT
from embassay.protocols.kernel import inputs
from embassay.protocols.kernel.estimates import Items
from embassay.protocols.kernel.forecast import TaskWorkloadForForecast
from embassay.protocols.kernel.inputs import charge_calls_to_account
from embassay.protocols.kernel.plan import PlannedDataset, PlannedTask, check_unique_dataset_names
from embassay.protocols.kernel.tables import ColumnTable, number_column
from embassay.protocols.rag.probes import plan
from embassay.protocols.rag.probes.bundles import (
    CONDITIONS,
    AuthorName,
    NameProbeQuerySpecification,
    make_or_read_authors_and_topics,
    misspell_name,
)
from embassay.protocols.rag.probes.names import (
    ABSOLUTE,
    ACROSS,
    CONDITION,
    NEAR_MISS,
    PERCENT,
    make_name_probe_texts_and_collections,
    measure_right_passage_margins,
)
from embassay.protocols.rag.probes.options import BASE, Lang, NamesRequest
from embassay.protocols.rag.probes.plan import NAMES_VERSION, ProbePlan, make_cell_key, make_probe_cell
from embassay.protocols.rag.probes.questions import NoiseQuestions, list_probed_languages, load_noise_probe_questions
from embassay.protocols.rag.probes.resampling import (
    DATASET,
    INTERVALS,
    MEASURES,
    RECALL,
    SYSTEM,
    ProbeResultRows,
    ProbeVariantTableRow,
    SharedResamplesContext,
    build_probe_correlation_table,
    find_positions_of_first_passages,
    find_queries_with_unencoded_text,
    make_measure_and_change_columns,
    measure_retrieval_metrics,
)
from embassay.randomness import draw_random_bytes
from embassay.records import HeadlineComponent, ResultRow, Score, TaskOutcome
from embassay.runs.execution import HERE
from embassay.runs.forecast import Hear
from embassay.runs.memory import WorkMemoryEstimate, reserve_memory
from embassay.systems import open_system
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer, split_sentences

Floats = NDArray[np.float64]
TASK = "signatures"
ASKED: Mapping[Lang, str] = {"en": "Works by {A}: {T}", "fr": "Travaux de {A} : {T}"}
"""How a question of a collection asks for its author (ours)."""
RIVALS = 50
"""So many passages compete with the right ones of a question: those that BM25 finds first."""


@dataclass(frozen=True)
class AuthorSignatures:
    """The author that each question asks for, who signed each passage, and who signs it where impostors have nearly
    the author's name."""

    authors: tuple[AuthorName, ...]
    signers: tuple[AuthorName, ...]
    near_signers: tuple[AuthorName, ...]


def assign_authors_to_questions(posed: NoiseQuestions, people: Sequence[AuthorName], seed: int) -> AuthorSignatures:
    """Questions that share a relevant passage ask for one author, who signed what is relevant to them; all other
    passages have signers drawn from `seed`, so that an author has works on other topics too.

    As near misses, the passages that come first for a question but are relevant to none are signed by its author's
    name with 1, 2 or 3 letters changed. Where a passage is relevant to questions of two authors, the last signed it.
    """
    distinct = tuple(dict.fromkeys(people))
    together = posed.together()
    groups = range(len(posed)) if together is None else together.tolist()
    authors = tuple(distinct[group % len(distinct)] for group in groups)
    signers = [_draw_signing_author(distinct, seed, place) for place in range(len(posed.corpus))]
    own = dict[int, AuthorName]()
    for author, grades in zip(authors, posed.grades, strict=True):
        own |= {place: author for place, grade in grades.items() if grade >= RELEVANT}
    for place, author in own.items():
        signers[place] = author
    # Who answers a question keeps the name that it asks for.
    near_signers = list(signers)
    for place, question in _map_passages_to_rival_question(posed).items():
        if place not in own:
            near_signers[place] = _misspell_person(authors[question], 1 + place % 3)
    return AuthorSignatures(authors, tuple(signers), tuple(near_signers))


def _draw_signing_author(people: Sequence[AuthorName], seed: int, place: int) -> AuthorName:
    drawn = int.from_bytes(draw_random_bytes(8, seed, "signer", str(place)), "big")
    return people[drawn % len(people)]


def _map_passages_to_rival_question(posed: NoiseQuestions) -> Mapping[int, int]:
    """Passage -> the question that it comes first for, by words alone; passages that come first for none are left
    out."""
    ranked = open_system("bm25", tokenizer=open_tokenizer("words")).search(list(posed.texts), posed.corpus, RIVALS)
    rivals = dict[int, int]()
    # Rank by rank, so that a passage goes to the question that it comes first for.
    for of_rank in ranked.indices.T.tolist():
        for question, place in enumerate(of_rank):
            if place >= 0:
                rivals.setdefault(place, question)
    return rivals


def _misspell_person(person: AuthorName, distance: int) -> AuthorName:
    given, _, family = misspell_name(person.name, distance).rpartition(" ")
    return AuthorName(given, family)


@dataclass(frozen=True)
class CollectionUnderCondition:
    """A collection under one condition: its questions (q,) and passages (n,) as they are written."""

    queries: tuple[str, ...]
    passages: tuple[str, ...]


def add_author_signatures_to_collection(
    posed: NoiseQuestions, signatures: AuthorSignatures, condition: str, seed: int
) -> CollectionUnderCondition:
    """The collection as a condition writes it: the author stands behind the first sentence of a passage, and before
    the question. A passage without text stays so."""
    is_near = condition == NEAR_MISS
    signers = signatures.near_signers if is_near else signatures.signers
    # A near miss is in who signs; how texts are written is that of the base.
    write = CONDITIONS[BASE if is_near else condition].write
    asked = zip(signatures.authors, posed.texts, strict=True)
    stored = zip(signers, posed.corpus, strict=True)
    queries = (write(_make_one_text_bundle(posed.lang, author, text), seed).query for author, text in asked)
    passages = (
        write(_make_one_text_bundle(posed.lang, signer, *_split_off_first_sentence(text)), seed).passages[0]
        if text.strip()
        else text
        for signer, text in stored
    )
    return CollectionUnderCondition(tuple(queries), tuple(passages))


def _make_one_text_bundle(lang: Lang, author: AuthorName, title: str, body: str = "") -> NameProbeQuerySpecification:
    """A question, or a passage, as a bundle of its own, in which it stands first."""
    return NameProbeQuerySpecification(
        0, lang, author, (author, author, author), title, title, ASKED[lang], "{T}", body
    )


def _split_off_first_sentence(text: str) -> tuple[str, str]:
    """The first sentence of a text that has one, and the rest."""
    title = split_sentences(text)[0]
    return title, text.strip().removeprefix(title).strip()


@dataclass(frozen=True)
class SignedCollectionConditions:
    """The conditions that change a collection, `base` first, and how each writes it."""

    posed: NoiseQuestions
    signatures: AuthorSignatures
    names: tuple[str, ...]
    seed: int

    def make_collection_under_condition(self, condition: str) -> CollectionUnderCondition:
        """The collection under one of the conditions."""
        return add_author_signatures_to_collection(self.posed, self.signatures, condition, self.seed)


@lru_cache(maxsize=2)
def make_collection_conditions(request: NamesRequest, source: str, lang: Lang) -> SignedCollectionConditions:
    """The damages to a dataset in a language. An ablation that changes no text of it is left out: it can cost
    nothing."""
    posed = load_noise_probe_questions(request.of_collections(), source, lang)
    people = make_or_read_authors_and_topics(lang, **request.files).people
    signatures = assign_authors_to_questions(posed, people, request.seed)
    plain = add_author_signatures_to_collection(posed, signatures, BASE, request.seed)
    names = [
        name
        for name in request.wanted_conditions
        if name == BASE or add_author_signatures_to_collection(posed, signatures, name, request.seed) != plain
    ]
    return SignedCollectionConditions(posed, signatures, tuple(names), request.seed)


def rehearse_encoder_calls(damages: SignedCollectionConditions, hear: Hear) -> bool:
    """Rehearse the calls that an encoder gets: a search under each condition."""
    for name in damages.names:
        signed = damages.make_collection_under_condition(name)
        hear(list(dict.fromkeys(signed.queries)), "query")
        hear(signed.passages, "document")
    return True


def measure_signed_collection_retrieval(
    system: Similarity, damages: SignedCollectionConditions
) -> Mapping[str, Mapping[str, Floats]]:
    """Condition -> measure -> its value for every question, (q,), NaN where it is undefined."""
    counts = damages.posed.counts()
    by_condition = {}
    for name in damages.names:
        signed = damages.make_collection_under_condition(name)
        indices = find_positions_of_first_passages(system, signed.queries, signed.passages)
        by_condition[name] = measure_retrieval_metrics(counts, damages.posed.top(indices))
    return by_condition


@dataclass(frozen=True)
class NameSignatureProbeJob(inputs.EvaluationJob):
    """All that a worker needs to do a cell of a collection."""

    source: str
    lang: Lang
    request: NamesRequest


def evaluate_cell(
    job: NameSignatureProbeJob,
    advance: Callable[[int], None],
    *,
    ledger: Ledger | None = None,
    spread: CellPartExecutor = HERE,
) -> TaskOutcome:
    """The outcome of one cell, with how many texts were encoded and taken from the cache."""
    request = job.request
    damages = make_collection_conditions(request, job.source, job.lang)
    posed = damages.posed
    opened = job.open_cached_system(advance, ledger=ledger, spread=spread)
    context = SharedResamplesContext(
        posed.dataset, open_tokenizer(request.tokenizer), request.seed, request.resamples,
        together=posed.together()
    )  # fmt: skip
    need = estimate_cell_memory(request, job.source, job.lang, opened.system)
    with reserve_memory(need), charge_calls_to_account(ledger, opened.system.name) as requests:
        opened.prefetch_vectors(partial(rehearse_encoder_calls, damages))
        values = measure_signed_collection_retrieval(opened.system, damages)
        lost = find_queries_with_unencoded_text(
            opened.system, posed.ids, lambda query: _list_query_texts_by_condition(damages, query)
        )
        if lost.too_many_lost_reason:
            result = lost.make_task_outcome_without_score(RECALL, Items(), posed.skipped)
        else:
            for of_queries in chain.from_iterable(by_measure.values() for by_measure in values.values()):
                of_queries[lost.lost_mask] = np.nan
            margins = _measure_probe_margin_changes(opened.system, request, job.lang, damages.names)
            result = build_signature_probe_outcome(posed.ids, values, margins, context)
            skipped = (*posed.skipped, *lost.skipped)
            result = replace(result, skipped=skipped, warnings=posed.warnings)
    return opened.add_usage_and_warnings(result, requests, compares=True)


def _list_query_texts_by_condition(damages: SignedCollectionConditions, query: int) -> Iterator[str]:
    author, text = damages.signatures.authors[query], damages.posed.texts[query]
    for name in damages.names:
        condition = CONDITIONS[BASE if name == NEAR_MISS else name]
        yield condition.write(_make_one_text_bundle(damages.posed.lang, author, text), damages.seed).query


def _measure_probe_margin_changes(
    system: Similarity, request: NamesRequest, lang: Lang, conditions: Sequence[str]
) -> Floats:
    """What each ablation among the conditions does to the name margin of the bundles: (conditions - 1,)."""
    texts, _ = make_name_probe_texts_and_collections(request, lang)
    means = measure_right_passage_margins(system, texts).name.mean(axis=(1, 2))
    places = [texts.conditions.index(name) for name in conditions]
    return np.asarray(means[places[1:]] - means[places[0]])


def build_signature_probe_outcome(
    ids: Sequence[str], values: Mapping[str, Mapping[str, Floats]], margins: Floats, context: SharedResamplesContext
) -> TaskOutcome:
    """The outcome of a cell: each measure under each condition, its change against the base, which stands first, and
    over conditions the correlation with what the probe's margin loses, `margins` (conditions - 1,)."""
    items = Items()
    scores = []
    for name, by_measure in values.items():
        variant = "" if name == BASE else name
        for measure, of_queries in by_measure.items():
            scores.append(context.score_over_queries(measure, of_queries, variant=variant))
            items.add(list(ids), of_queries, measure, variant)
    scores += _score_condition_changes(values, margins, context)
    headline = next(score for score in scores if score.measure == RECALL)
    components = {RECALL: HeadlineComponent(headline.value, headline.n, np.empty(0), headline.reason)}
    return TaskOutcome(tuple(scores), components, items.columns)


def _score_condition_changes(
    values: Mapping[str, Mapping[str, Floats]], margins: Floats, context: SharedResamplesContext
) -> Iterator[Score]:
    for measure in MEASURES:
        plain = values[BASE][measure]
        changes = {name: by_measure[measure] - plain for name, by_measure in values.items() if name != BASE}
        for name, of_queries in changes.items():
            yield context.score_over_queries(f"{measure} change", of_queries, variant=name)
        if changes:
            # The probe is a forecast made before: what varies between resamples is the loss alone.
            known = np.repeat(margins[:, None], len(plain), axis=1)
            names = ABSOLUTE, f"{measure} change"
            yield from context.correlate_means_over_conditions(known, np.stack(list(changes.values())), names, ACROSS)


def estimate_cell_memory(request: NamesRequest, source: str, lang: Lang, system: Similarity) -> WorkMemoryEstimate:
    """Estimate the memory of a cell: the collection under one condition, and the probe's texts."""
    damages, (texts, _) = (
        make_collection_conditions(request, source, lang),
        make_name_probe_texts_and_collections(request, lang),
    )
    signed = damages.make_collection_under_condition(BASE)
    places = len(signed.queries) * len(damages.names)
    sizes = plan.ProbeComparisonCounts(texts.right.size, places, len(signed.queries), request.resamples)
    return plan.estimate_probe_system_memory(
        system, [*texts.queries, *signed.queries], [*texts.passages, *signed.passages], sizes,
        "Use a smaller collection, or fewer questions (--limit)"
    )  # fmt: skip


def add_collection_cells(bundled: ProbePlan) -> ProbePlan:
    """The plan of a name probe with the cells of its datasets. UsageError for a dataset in neither language."""
    check_mapping_targets(dict(bundled.request.mapping))
    request = bundled.request
    tokenizer = open_tokenizer(request.tokenizer)
    datasets, cells, efforts = list(bundled.datasets), list(bundled.cells), list(bundled.efforts)
    for source in dict.fromkeys(request.datasets):
        for lang in list_probed_languages(request.of_collections(), source):
            damages = make_collection_conditions(request, source, lang)
            posed = damages.posed
            units = (len(posed) + len(posed.corpus)) * len(damages.names)
            planned = PlannedTask(TASK, len(posed), units, posed.skipped, posed.warnings)
            datasets.append(PlannedDataset(source, posed.dataset, lang, posed.fingerprint, (planned,)))
            in_groups = posed.together() is not None
            for system in bundled.systems:
                key = make_cell_key(
                    TASK, NAMES_VERSION, system, posed.fingerprint, tokenizer, request, in_groups=in_groups
                )
                job = NameSignatureProbeJob(
                    system.spec, request.seed, request.tokenizer, bundled.cache, source, lang, request
                )
                cells.append(make_probe_cell(TASK, posed.dataset, system, key, units, job))
            efforts.append(partial(_estimate_signature_probe_effort, request, source, lang, units))
    check_unique_dataset_names(dataset.name for dataset in datasets)
    return replace(bundled, datasets=tuple(datasets), cells=tuple(cells), efforts=tuple(efforts))


def _estimate_signature_probe_effort(
    request: NamesRequest, source: str, lang: Lang, units: int
) -> TaskWorkloadForForecast:
    damages = make_collection_conditions(request, source, lang)
    posed = damages.posed
    tokens = sum(map(len, posed.corpus)) * len(damages.names) // 4
    return TaskWorkloadForForecast(
        TASK, posed.dataset, len(posed), units, tokens, partial(rehearse_encoder_calls, damages), posed.corpus,
        posed.texts, "search", footprint=partial(estimate_cell_memory, request, source, lang)
    )  # fmt: skip


def build_probe_signature_tables(
    rows: ProbeResultRows, probed: ProbeResultRows, systems: Sequence[str]
) -> Iterator[ColumnTable]:
    """The tables of the collections, beside the rows of the probe."""

    def find_bundle_margin_change(line: ProbeVariantTableRow) -> ResultRow | None:
        """What the ablation does to the margin of bundles in the same language, in percent."""
        dataset = next(name for name, lang in probed.langs.items() if lang == line.lang)
        return probed.find(dataset, line.system, line.variant, PERCENT)

    lines = rows.lines(systems, ("", *CONDITIONS))
    yield ColumnTable.of(
        "name_losses", "Retrieval lost when names are damaged",
        [line for line in lines if line.find(RECALL) is not None], DATASET, SYSTEM, CONDITION,
        number_column("margin %", "value", 1, "signed").within(find_bundle_margin_change),
        *chain.from_iterable(map(make_measure_and_change_columns, MEASURES)),
        note=("Author names are added to passages and questions. Change is relative to the base; margin % is "
            f"the ablation's change in the probe's name margin. {INTERVALS}")
    )  # fmt: skip
    yield build_probe_correlation_table(
        rows, systems, "name_forecasts", "Correlations of the probe's margin and recall lost, over conditions", ACROSS
    )
