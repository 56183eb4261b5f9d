"""The texts that are transformed, slot by slot in the order of the reference, and tasks with whole corpora."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import chain, starmap
from typing import Any

import numpy as np

from embassay.contracts import Similarity
from embassay.data import Dataset
from embassay.data.rows import read_row_id, read_text_cell
from embassay.protocols.hteb.options import (
    PIVOTS,
    REFERENCE,
    TARGETS,
    HtebOptions,
    TextTransformation,
    TransformOptions,
    draw_text_language,
    draw_translation_language,
    exclude_own_languages,
    make_text_seed,
    parse_language_names,
)
from embassay.protocols.tasks import TASK_NAMES, OriginalAndParaphrasedData, Task, Wording, reranking
from embassay.protocols.tasks import TASKS as PTEB
from embassay.protocols.tasks.retrieval import ORPHANS
from embassay.protocols.tasks.retrieval import list_texts as query_texts
from embassay.protocols.tasks.task import (
    Place,
    PtebContext,
    VectorSimilarity,
    list_rows_without_wording_as_skipped,
    make_skipped_items_of_reason,
    select_rows_of_each_field,
)
from embassay.protocols.wordings.records import TextToParaphrase
from embassay.protocols.wordings.work import find_language_at_place
from embassay.records import Documents, LoadedDataset, RerankingSet, RetrievalSet, TaskOutcome
from embassay.registry import Registry
from embassay.systems.own import compute_similarity_matrix_by_name, find_model_own_similarity

REGISTRY = "embassay.protocols.hteb.slots:TASKS"
CORPUS = ("document:", "title:", "candidate:")
"""Beginnings of the places that are a corpus."""

TASKS: Registry[Task] = Registry("task")
"""PTEB's seven tasks; in retrieval the corpus is transformed too, title and body apart."""


def _list_excluded_parts(options: Any) -> tuple[str, ...]:
    return CORPUS if options.corpus == "queries-only" else ()


def _uses_reference_similarity(options: Any) -> bool:
    return bool(options.candidates == REFERENCE)


def _load_retrieval_set_with_titles(dataset: Dataset, limit: int | None, seed: int) -> LoadedDataset[RetrievalSet]:
    loaded = dataset.load("retrieval", limit=limit, seed=seed)
    titles = list_document_titles(dataset, loaded.data.corpus)
    corpus = replace(loaded.data.corpus, titles=titles)
    return replace(loaded, data=replace(loaded.data, corpus=corpus))


def list_document_titles(dataset: Dataset, corpus: Documents) -> tuple[str, ...]:
    """The title of each document, "" where it has none."""
    source = dataset.parts["corpus"]
    if "title" not in source.columns():
        return ("",) * len(corpus)
    rows = getattr(source, "source", source).rows(("id", "title"))
    titles = {read_row_id(row, "id"): read_text_cell(row, "title") or "" for row in rows}
    return tuple(titles.get(key, "") for key in corpus.ids)


def strip_title(text: str, title: str) -> str:
    """Strip the title from a document's text.

    >>> strip_title("Foxes Red ones.", "Foxes"), strip_title("Red ones.", ""), strip_title("Foxes", "Foxes")
    ('Red ones.', 'Red ones.', '')
    """
    return text[len(title) :].removeprefix(" ") if title and text.startswith(title) else text


def list_corpus_and_query_texts(data: RetrievalSet) -> Iterator[Place]:
    """The title and the body of every document, then the queries."""
    titles = data.corpus.titles or ("",) * len(data.corpus)
    for key, text, title in zip(data.corpus.ids, data.corpus.texts, titles, strict=True):
        if title:
            yield f"title:{key}", title
        yield f"document:{key}", strip_title(text, title)
    yield from query_texts(data)


def reword_corpus_and_queries(data: RetrievalSet, wording: Wording) -> OriginalAndParaphrasedData:
    """Documents and queries transformed. A document of which a part has no wording drops out of the corpus and of the
    judgements, and with it a query that has no other relevant one."""
    documents, titles, said = [], [], list[int]()
    of = data.corpus.titles or ("",) * len(data.corpus)
    for row, (key, text, title) in enumerate(zip(data.corpus.ids, data.corpus.texts, of, strict=True)):
        body = strip_title(text, title)
        head = wording(f"title:{key}", title) if title else ""
        rest = wording(f"document:{key}", body) if body.strip() else body
        if head is not None and rest is not None:
            said.append(row)
            titles.append(head)
            documents.append(" ".join(part for part in (head.strip(), rest.strip()) if part))
    queries = list(starmap(wording, query_texts(data)))
    whole = len(said) == len(data.corpus)
    corpus = data.corpus if whole else select_rows_of_each_field(data.corpus, said)
    judged = _filter_qrels_to_documents(data, set(corpus.ids)) if not whole else data.qrels
    worded = [row for row, text in enumerate(queries) if text is not None]
    kept = [row for row in worded if any(gain > 0 for gain in judged[data.queries.ids[row]].values())]
    asked = data.queries if len(kept) == len(data) else select_rows_of_each_field(data.queries, kept)
    qrels = {query: judged[query] for query in asked.ids}
    lost = (
        *list_rows_without_wording_as_skipped("queries", data.queries.ids, worded),
        *list_rows_without_wording_as_skipped("documents", data.corpus.ids, said),
        *make_skipped_items_of_reason(
            ORPHANS, [data.queries.ids[row] for row in worded], _list_kept_places(worded, kept)
        ),
    )
    original = RetrievalSet(corpus, asked, qrels) if lost else data
    paraphrased = RetrievalSet(
        replace(corpus, texts=tuple(documents), titles=tuple(titles)),
        replace(asked, texts=tuple(queries[row] for row in kept)),
        qrels,
    )
    return OriginalAndParaphrasedData(original, paraphrased, len(kept), len(data), lost)


def _filter_qrels_to_documents(data: RetrievalSet, documents: set[str]) -> dict[str, dict[str, float]]:
    return {
        query: {doc: gain for doc, gain in data.qrels[query].items() if doc in documents} for query in data.queries.ids
    }


def _list_kept_places(of: Sequence[int], kept: Sequence[int]) -> list[int]:
    stays = set(kept)
    return [place for place, row in enumerate(of) if row in stays]


def evaluate_reranking(system: Similarity, data: RerankingSet, context: PtebContext) -> TaskOutcome:
    """Reranking by cosine; or, as in the reference, queries and candidates encoded by their roles and compared as the
    model compares [H11]. Equal similarities are one step of a query's curve, as in scikit-learn (spec hteb 7)."""
    by_step = reranking.average_precision_by_steps
    if getattr(context.options, "candidates", "") != REFERENCE or not isinstance(system, VectorSimilarity):
        return reranking.evaluate_system(system, data, context, by_step)
    queries, candidates = (list(dict.fromkeys(chain(*texts))) for texts in (data.queries, data.candidates))
    asked, offered = system.vectors(queries, "query"), system.vectors(candidates, "document")
    row, column = ({text: i for i, text in enumerate(texts)} for texts in (queries, candidates))
    by = find_model_own_similarity(getattr(system, "encoder", None))
    # The best of a query's texts; fmax leaves out those that were lost.
    similar = [
        np.fmax.reduce(
            compute_similarity_matrix_by_name(
                by, asked[[row[text] for text in query]], offered[[column[text] for text in shown]]
            )
        )
        for query, shown in zip(data.queries, data.candidates, strict=True)
    ]
    return reranking.evaluate_reranking_by_similarities(system, data, similar, context, by_step)


def _make_task_factory(name: str) -> Callable[[], Task]:
    def make() -> Task:
        reworded = PTEB.build(name)
        task = replace(reworded, unworded=lambda options: (*_list_excluded_parts(options), *reworded.unworded(options)))
        if name == "reranking":
            return replace(task, evaluate=evaluate_reranking, own=_uses_reference_similarity)
        if name != "retrieval":
            return task
        return replace(
            task,
            load=_load_retrieval_set_with_titles,
            texts=list_corpus_and_query_texts,
            reword=reword_corpus_and_queries,
        )

    return make


for _entry in TASK_NAMES:
    TASKS.register(_entry, PTEB.get(_entry).summary)(_make_task_factory(_entry))


@dataclass(frozen=True)
class TransformationSlot(TextToParaphrase):
    """A text to be transformed: its number among those of the task on the dataset that are not blank (-1: it is), the
    language it is written in, the one that it goes to or through, by their names; empty where there is none."""

    ordinal: int = -1
    written: str = ""
    language: str = ""

    def seed(self, run: int, *, independent: bool) -> int:
        """What its answers are drawn with in the run with this seed."""
        return make_text_seed(run, self.ordinal) if independent else run


def list_text_slots(
    name: str, parts: Sequence[LoadedDataset[Any]], options: HtebOptions
) -> Iterator[tuple[str, str, str]]:
    """(place, text, label of the languages) of every slot of a task, in the order of the reference: of pairs all left
    texts first, of candidates the relevant ones first."""
    what = TASKS.build(name)
    kept = what.unworded(options)
    places = [
        (place, text, part.lang)
        for part in parts
        for place, text in (
            _list_query_and_candidate_texts(part.data) if name == "reranking" else what.texts(part.data)
        )
        if not place.startswith(kept)
    ]
    if name in ("sts", "pair_classification"):
        places.sort(key=lambda place: place[0].startswith("second:"))
    yield from places


def _list_query_and_candidate_texts(data: Any) -> Iterator[Place]:
    for row, key in enumerate(data.ids):
        yield from ((f"query:{key}:{i}", text) for i, text in enumerate(data.queries[row]))
        gains = data.relevance[row]
        order = sorted(range(len(gains)), key=lambda i: not gains[i] > 0)
        yield from ((f"candidate:{key}:{i}", data.candidates[row][i]) for i in order)


@dataclass(frozen=True)
class NumberedTextSlots:
    """The slots of one task on one dataset, numbered."""

    task: str
    dataset: str
    rows: tuple[tuple[str, str, str, int], ...]
    """(place, text, label of the languages, ordinal)."""

    @classmethod
    def of(
        cls, name: str, dataset: str, parts: Sequence[LoadedDataset[Any]], options: HtebOptions
    ) -> NumberedTextSlots:
        """Number the slots of the parts of a dataset."""
        rows, ordinal = [], 0
        for place, text, label in list_text_slots(name, parts, options):
            blank = not text.strip()
            rows.append((place, text, label, -1 if blank else ordinal))
            ordinal += not blank
        return cls(name, dataset, tuple(rows))

    def list_slots_to_fill(
        self, of: TextTransformation, seed: int, options: TransformOptions
    ) -> Iterator[TransformationSlot]:
        """What is asked for in the run with this seed, as often as it occurs. Equal texts share a place where they are
        asked for alike."""
        several = len({label for _, _, label, _ in self.rows}) > 1
        apart = of.drawn or options.seeds == "independent" or (of.common and several)
        titled: dict[str, int] = {}
        for place, text, label, ordinal in self.rows:
            drawn = ordinal
            if place.startswith(("title:", "document:")) and options.documents == "one-language":
                drawn = titled.setdefault(place.partition(":")[2], ordinal)
            lang = find_language_at_place(place, label)
            languages = parse_language_names(lang, varieties=options.arabic == "reference")
            yield TransformationSlot(
                text, lang, f"{self.task}:{place}" if apart else "", ordinal=ordinal, written=" or ".join(languages),
                language=self._choose_target_language(of, seed, drawn, languages, label,
                    options) if ordinal >= 0 else ""
            )  # fmt: skip

    def _choose_target_language(
        self, of: TextTransformation, seed: int, ordinal: int, codes: Sequence[str], label: str,
        options: TransformOptions
    ) -> str:  # fmt: skip
        """The language that a slot goes to, or through."""
        if of.common:
            both = parse_language_names(label, varieties=options.arabic == "reference")
            return draw_translation_language(
                find_dataset_name_in_reference(self.dataset), seed, exclude_own_languages(TARGETS, both)
            )
        if not of.drawn:
            return ""
        chosen = exclude_own_languages(PIVOTS if of.name == "backtranslation" else TARGETS, codes)
        if options.seeds == "independent":
            return chosen[make_text_seed(seed, ordinal) % len(chosen)]
        return draw_text_language(seed, ordinal, chosen)


def deduplicate_slots(slots: Iterable[TransformationSlot]) -> tuple[TransformationSlot, ...]:
    """Keep each slot once by language, text and place."""
    return tuple({(slot.lang, slot.text, slot.place): slot for slot in slots}.values())


def find_dataset_name_in_reference(dataset: str) -> str:
    """Find the reference's name of a dataset of the catalogue; another name stays.

    >>> find_dataset_name_in_reference("stsbenchmark"), find_dataset_name_in_reference(
    ...     "scifact"), find_dataset_name_in_reference("mine")
    ('stsbenchmark-sts', 'SciFact', 'mine')
    """
    return _map_catalogue_to_reference_names().get(dataset, dataset)


@cache
def read_reference_dataset_settings() -> Mapping[str, Mapping[str, Any]]:
    """The reference's name of a dataset -> what `datasets.toml` says of it."""
    document = tomllib.loads(files(__package__).joinpath("datasets.toml").read_text("utf-8"))
    return {entry["name"]: entry for entry in document["dataset"]}


def find_catalogue_name_of_dataset(dataset: str) -> str:
    """Find the catalogue's name of a dataset of the reference; another name stays.

    >>> find_catalogue_name_of_dataset("stsbenchmark-sts"), find_catalogue_name_of_dataset("mine")
    ('stsbenchmark', 'mine')
    """
    return (
        str(read_reference_dataset_settings()[dataset]["catalogue"])
        if dataset in read_reference_dataset_settings()
        else dataset
    )


@cache
def _map_catalogue_to_reference_names() -> dict[str, str]:
    return {entry["catalogue"]: name for name, entry in read_reference_dataset_settings().items()}
