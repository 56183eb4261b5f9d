"""Systems on the items that people annotated, by the ordinary evaluation of each family (spec hume 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor, Similarity, Tokenizer
from embassay.data import Dataset
from embassay.errors import DataError, EmbassayError
from embassay.protocols.hume.sampling.pools import has_training_rows, normalise_text_for_comparison, seeded_order
from embassay.protocols.hume.study import Family, StudyFolder, StudyItem, StudyTask, read_study
from embassay.protocols.kernel import inputs
from embassay.protocols.kernel.estimates import Items, Lost, estimate
from embassay.protocols.kernel.forecast import count_vector_dimensions, estimate_bytes_of_cached_vectors
from embassay.protocols.kernel.inputs import charge_calls_to_account, open_request_dataset
from embassay.protocols.kernel.request import DatasetRequest
from embassay.protocols.tasks import clustering, reranking, sts
from embassay.protocols.tasks import task as footprint
from embassay.protocols.tasks.classification import ONE_LABEL, classify_by_neighbours, label_by_logistic_regression
from embassay.protocols.tasks.task import (
    PtebContext,
    PtebOptions,
    VectorSimilarity,
    make_task_outcome,
    measure_highest_anchor_similarity,
)
from embassay.records import Classification, LabelledTexts, RerankingSet, ScoredTextPairs, TaskOutcome
from embassay.runs.execution import HERE
from embassay.runs.forecast import CallRecordingSimilarity, Hear
from embassay.runs.memory import WorkMemoryEstimate, reserve_memory
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

LABELS_HEADLINE = "accuracy"
CORRECT, LABEL = "correct", "label"
Labels = NDArray[np.str_]
Predict = Callable[[list[int]], tuple[Labels, list[str]]]
"""From rows to train on to the label of every text, and what there is to say."""


@dataclass(frozen=True)
class FewLabelledTexts:
    """Texts to label, and what to learn from in each of the `repeats`. `labels` are those of the task, in order."""

    test: LabelledTexts
    training: TrainingRows
    labels: tuple[str, ...]
    repeats: int
    task: str

    def __len__(self) -> int:
        return len(self.test)


def evaluate_few_label_system(system: Similarity, data: FewLabelledTexts, context: PtebContext) -> TaskOutcome:
    """Score one system. Items are, of each text, the share of repeats that label it `correct`, and the `label` most of
    them give it, as its number in `data.labels`."""
    draws = [draw_training_rows(data.training, repeat, context.seed, data.task) for repeat in range(data.repeats)]
    # The rows of all repeats together, so that each is encoded once however often it is drawn.
    used = sorted({row for draw in draws for row in draw})
    learnt = _select_rows_of_labelled_texts(data.training.rows, used)
    how, predict = _make_label_predictor(system, data, learnt, used, context)
    train, test = Lost(system, learnt.ids, "training texts"), Lost(system, data.test.ids, "texts")
    train.note_items_with_unencoded_text(learnt.texts)
    test.note_items_with_unencoded_text(data.test.texts)
    for lost in (train, test):
        if lost.too_many_lost_reason:
            return lost.make_task_outcome_without_score(LABELS_HEADLINE, Items())
    gone = {used[row] for row in train.rows}
    kept = [[row for row in draw if row not in gone] for draw in draws]
    if any(len({data.training.rows.labels[row] for row in draw}) < 2 for draw in kept):
        return make_task_outcome(LABELS_HEADLINE, ONE_LABEL, Items(), n=len(data), counts={})
    said = [predict(draw) for draw in kept]
    predicted = np.stack([labels for labels, _ in said])
    right = (predicted == np.array(data.test.labels)).mean(axis=0)
    right[test.lost_mask] = np.nan
    items = Items()
    items.add(data.test.ids, right, CORRECT)
    items.add(data.test.ids, _vote_label_over_repeats(predicted, data.labels, test.lost_mask), LABEL)
    method = (
        f"{how}, {data.training.per_label} training texts per label, mean of {data.repeats} draws, bootstrap over texts"
    )
    accuracy = estimate(right[:, None], lambda means: means[..., 0], context, "test texts", method)
    notes = [
        *data.training.notes,
        *_describe_scarce_labels(data),
        *dict.fromkeys(note for _, own in said for note in own),
    ]
    return make_task_outcome(
        LABELS_HEADLINE, accuracy, items, n=accuracy.n, skipped=(*train.skipped, *test.skipped), warnings=notes,
        counts={"train": len(used), "test": accuracy.n}
    )  # fmt: skip


def _make_label_predictor(
    system: Similarity, data: FewLabelledTexts, learnt: LabelledTexts, used: Sequence[int], context: PtebContext
) -> tuple[str, Predict]:
    """How the texts are labelled, and the function that does. Every training text that any repeat draws is encoded
    once."""
    test = data.test
    if not isinstance(system, VectorSimilarity):
        k = context.options.neighbours

        def predict_labels_by_neighbours(rows: list[int]) -> tuple[Labels, list[str]]:
            return classify_by_neighbours(
                system, Classification(_select_rows_of_labelled_texts(data.training.rows, rows), test), k
            ), []

        return f"{k} nearest neighbours", predict_labels_by_neighbours
    place = {row: i for i, row in enumerate(used)}
    vectors, asked = system.vectors(learnt.texts), system.vectors(test.texts)
    # What could not be encoded is left out of the score; numbers must stand there all the same.
    asked = np.nan_to_num(asked)

    def predict_by_regression(rows: list[int]) -> tuple[Labels, list[str]]:
        labels = np.array([data.training.rows.labels[row] for row in rows])
        return label_by_logistic_regression(vectors[[place[row] for row in rows]], labels, asked, context.seed)

    return "logistic regression", predict_by_regression


def _vote_label_over_repeats(
    predicted: NDArray[np.str_], labels: Sequence[str], lost: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The number of the label that most repeats give each text, the first in order of equals: (repeats, n) -> (n,)."""
    votes = np.stack([(predicted == label).sum(axis=0) for label in labels])
    return np.asarray(np.where(lost, np.nan, votes.argmax(axis=0)))


def _describe_scarce_labels(data: FewLabelledTexts) -> list[str]:
    """Labels that have fewer training texts than every repeat should draw."""
    rows, wanted = data.training.rows, data.training.per_label
    counts = {label: rows.labels.count(label) for label in sorted(set(rows.labels))}
    short = [f"label {label}: {n} of {wanted} training texts" for label, n in counts.items() if n < wanted]
    missing = [label for label in data.labels if label not in counts]
    return short + [f"label {label}: no training texts, so it is never predicted" for label in missing]


def _select_rows_of_labelled_texts(rows: LabelledTexts, kept: Sequence[int]) -> LabelledTexts:
    return LabelledTexts(*(tuple(column[k] for k in kept) for column in (rows.ids, rows.texts, rows.labels, rows.sets)))


PER_LABEL = (("emotion", 16), ("toxic", 16), ("tweet", 32))
"""Training texts per label of the datasets of the paper, by a word of their name; the others take `OTHERS`."""
OTHERS = 8


@dataclass(frozen=True)
class TrainingRows:
    """Rows to train on, `per_label` of each label in every repeat; `notes` say what is not as it should be."""

    rows: LabelledTexts
    per_label: int
    fingerprint: str
    notes: tuple[str, ...] = ()


def find_training_rows(task: StudyTask, items: Sequence[StudyItem], per_label: int | None) -> TrainingRows:
    """The rows that a classification task may be trained on: the training split of its source, or where it has none
    the rows that were not drawn. Texts that are items and labels that are not the task's are left out.

    Raises DataError where the source cannot be opened, or is left with fewer than two labels.
    """
    source = task.source
    try:
        request = DatasetRequest(source.dataset, tuple(sorted(source.mapping.items())), source.split, source.grades)
        opened = open_request_dataset(request)
        split = has_training_rows(opened)
        shape = "classification" if split else "labelled"
        loaded = _select_language_rows(opened, shape, source.lang).load(shape)
    except EmbassayError as error:
        raise DataError(
            f"The training texts for {task.name} cannot be read from {source.dataset}: {error.message}",
            mend="Run where the study was sampled, or choose other tasks with --task.",
        ) from error
    rows: LabelledTexts = loaded.data.train if split else loaded.data
    kept = _exclude_study_texts_from_training(rows, items, task)
    if len(set(kept.labels)) < 2:
        raise DataError(
            f"The source of {task.name}, {source.dataset}, no longer has two labels to train on.",
            mend="Sample the task from data with a training split.",
        )
    changed = source.fingerprint and loaded.fingerprint != source.fingerprint
    notes = ("the source has changed since the study was sampled",) if changed else ()
    return TrainingRows(kept, per_label or get_paper_training_texts_per_label(task), loaded.fingerprint, notes)


def get_paper_training_texts_per_label(task: StudyTask) -> int:
    """How many texts per label the paper trains on (spec hume 5).

    >>> from embassay.protocols.hume.study import StudyItemSource
    >>> about = dict(family="classification", lang="eng", title="", question="", guidelines="", n=2)
    >>> get_paper_training_texts_per_label(StudyTask(name="toxic-chat", source=StudyItemSource(dataset="x"), **about))
    16
    """
    name = f"{task.name} {task.source.dataset}".lower()
    return next((number for word, number in PER_LABEL if word in name), OTHERS)


def draw_training_rows(training: TrainingRows, repeat: int, seed: int, task: str) -> list[int]:
    """The positions of the rows that a repeat trains on: `per_label` of every label, all of a label with fewer. The
    same for every system."""
    labels = training.rows.labels
    taken: dict[str, list[int]] = {}
    # The system is not in the stream's name: all learn from the same rows in each repeat.
    for place in seeded_order(training.rows.ids, seed, "training", task, str(repeat)):
        of_label = taken.setdefault(labels[place], [])
        if len(of_label) < training.per_label:
            of_label.append(place)
    return sorted(place for of_label in taken.values() for place in of_label)


def _select_language_rows(opened: Dataset, shape: str, lang: str) -> Dataset:
    """The rows of the task's language, cut as items were drawn from them, so that the fingerprint is the same."""
    subsets = opened.subsets(shape)
    if lang and len(subsets) > 1 and lang not in subsets:
        raise DataError(f"it no longer has rows in {lang}")
    return subsets.get(lang, next(iter(subsets.values())))


def _exclude_study_texts_from_training(
    rows: LabelledTexts, items: Sequence[StudyItem], task: StudyTask
) -> LabelledTexts:
    seen = {normalise_text_for_comparison(str(item.payload.get("text", ""))) for item in items}
    values = {str(label.value) for label in task.labels}
    kept = [
        place
        for place, (text, label) in enumerate(zip(rows.texts, rows.labels, strict=True))
        if normalise_text_for_comparison(text) not in seen and (not values or label in values)
    ]
    return LabelledTexts(*(tuple(column[k] for k in kept) for column in (rows.ids, rows.texts, rows.labels, rows.sets)))


VECTORS: frozenset[Family] = frozenset({"classification", "clustering"})
"""Families that take vectors: a system without them does these by another method (design.md)."""
Evaluate = Callable[[Similarity, Any, PtebContext], TaskOutcome]


@dataclass(frozen=True)
class StudyTaskEvaluationSettings:
    """What the evaluations can be told: `per_label` None as in the paper, and whether systems are told the number of
    gold clusters."""

    per_label: int | None = None
    repeats: int = 10
    give_k: bool = True


def choose_family_evaluation(family: Family, settings: StudyTaskEvaluationSettings) -> Evaluate:
    """How a family is evaluated: its headline is the family's main measure."""
    every: Mapping[Family, Evaluate] = {
        "classification": evaluate_few_label_system,
        "clustering": partial(clustering.evaluate_system, give_k=settings.give_k),
        "reranking": evaluate_reranking_system,
        "sts": _evaluate_pair_similarity,
    }
    return every[family]


def build_evaluation_data_from_gold(
    task: StudyTask, items: Sequence[StudyItem], gold: Mapping[str, Any], settings: StudyTaskEvaluationSettings
) -> Any:
    """The items with gold in the form that the family's evaluation takes. DataError for items that lack a text, and
    where there is nothing to train on."""
    if task.family == "sts":
        return scored_pairs(items, gold)
    if task.family == "reranking":
        return reranking_set(items, gold)
    texts = make_labelled_texts_of_study_items(items, gold)
    if task.family == "clustering":
        return texts
    labels = tuple(str(label.value) for label in task.labels) or tuple(sorted(set(texts.labels)))
    training = find_training_rows(task, items, settings.per_label)
    # Labels of the training rows too: a system may give one that the task does not name.
    names = tuple(dict.fromkeys((*labels, *sorted(set(training.rows.labels)))))
    return FewLabelledTexts(texts, training, names, settings.repeats, task.name)


def fingerprint_training_data(data: Any) -> str:
    """What besides the study itself the scores depend on: the source of training texts."""
    return data.training.fingerprint if isinstance(data, FewLabelledTexts) else ""


def list_texts_encoded_by_system(data: Any) -> list[str]:
    """Every text that a system sees, for sizes and speed; of training texts as many as one repeat draws."""
    if isinstance(data, FewLabelledTexts):
        drawn = data.training.per_label * len(set(data.training.rows.labels))
        # Which rows are drawn needs the hash of every id; the first as many stand in for them.
        return [*data.training.rows.texts[: drawn * data.repeats], *data.test.texts]
    if isinstance(data, ScoredTextPairs):
        return [*data.first, *data.second]
    if isinstance(data, RerankingSet):
        return [text for group in (*data.queries, *data.candidates) for text in group]
    return list(data.texts)


def _evaluate_pair_similarity(system: Similarity, data: ScoredTextPairs, context: PtebContext) -> TaskOutcome:
    return rewrite_score_methods(sts.evaluate_system(system, data, context), lambda method: f"similarity, {method}")


def make_labelled_texts_of_study_items(items: Sequence[StudyItem], gold: Mapping[str, Any]) -> LabelledTexts:
    """Texts with their gold label or cluster, as one set."""
    return LabelledTexts(
        tuple(item.id for item in items),
        tuple(_read_item_text(item, "text") for item in items),
        tuple(str(gold[item.id]) for item in items),
        ("",) * len(items),
    )


def scored_pairs(items: Sequence[StudyItem], gold: Mapping[str, Any]) -> ScoredTextPairs:
    """Pairs of texts with their gold rating."""
    return ScoredTextPairs(
        tuple(item.id for item in items),
        tuple(_read_item_text(item, "text1") for item in items),
        tuple(_read_item_text(item, "text2") for item in items),
        np.array([gold[item.id] for item in items], dtype=np.float64),
    )


def reranking_set(items: Sequence[StudyItem], gold: Mapping[str, Any]) -> RerankingSet:
    """Queries with their candidates in the order shown, and the gold grades of these."""
    return RerankingSet(
        tuple(item.id for item in items),
        tuple((_read_item_text(item, "query"),) for item in items),
        tuple(_read_item_documents(item, len(gold[item.id])) for item in items),
        tuple(np.array(gold[item.id], dtype=np.float64) for item in items),
    )


def _read_item_text(item: StudyItem, name: str) -> str:
    value = item.payload.get(name)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"Item {item.id} of {item.task} has no {name}.", mend="Restore the study as it was sampled.")
    return value


def _read_item_documents(item: StudyItem, grades: int) -> tuple[str, ...]:
    documents = item.payload.get("documents")
    texts = [document.get("text") for document in documents or () if isinstance(document, Mapping)]
    # An empty document is one that people saw, too: only what is no text is a fault.
    if len(texts) != grades or not all(isinstance(text, str) for text in texts):
        raise DataError(
            f"Item {item.id} of {item.task} has {len(texts)} documents but {grades} grades.",
            mend="Restore the study as it was sampled.",
        )
    return tuple(map(str, texts))


SCORE = "similarity"
TIES = "ties: irrelevant documents first"


def evaluate_reranking_system(system: Similarity, data: RerankingSet, context: PtebContext) -> TaskOutcome:
    """Score one system; items are the `ap` of each query, and the `similarity` of each of its documents, whose place
    in the order shown is the variant."""
    similar = measure_highest_anchor_similarity(system, data.queries, data.candidates)
    task_outcome = reranking.evaluate_reranking_by_similarities(system, data, similar, context)
    columns = {name: list(values) for name, values in task_outcome.items.items()}
    for query, values in zip(data.ids, similar, strict=True):
        for place, value in enumerate(values.tolist()):
            for name, entry in zip(columns, (query, f"document={place}", SCORE, value), strict=True):
                columns[name].append(None if entry != entry else entry)
    return rewrite_score_methods(replace(task_outcome, items=columns), lambda method: f"similarity, {TIES}, {method}")


def rewrite_score_methods(task_outcome: TaskOutcome, said: Callable[[str], str]) -> TaskOutcome:
    """Rewrite the method that every row of an outcome names, by the function `said`."""
    scores = tuple(
        replace(score, method=said(score.method)) if score.method else score for score in task_outcome.scores
    )
    return replace(task_outcome, scores=scores)


@dataclass(frozen=True)
class StudyCellJob(inputs.EvaluationJob):
    """All that a worker needs to do a cell. `content` is the study's, so that a changed study is read anew."""

    study: Path
    content: str
    task: str
    settings: StudyTaskEvaluationSettings
    resamples: int
    neighbours: int


def evaluate_cell(
    job: StudyCellJob, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: CellPartExecutor = HERE
) -> TaskOutcome:
    """Evaluate one system on one task; its outcome, with the texts encoded and cached."""
    tokenizer = open_tokenizer(job.tokenizer)
    data, family = load_task_data(job.study, job.content, job.task, job.settings)
    context = _make_cell_context(job, tokenizer)
    opened = job.open_cached_system(advance, ledger=ledger, spread=spread)
    with (
        reserve_memory(estimate_cell_memory(opened.system, data, job.resamples)),
        charge_calls_to_account(ledger, opened.system.name) as calls,
    ):
        opened.prefetch_vectors(lambda hear: rehearse_cell_encoder_calls(job, hear))
        opened.encode_rehearsed_calls_into_memory(lambda hear: rehearse_cell_encoder_calls(job, hear))
        outcome = choose_family_evaluation(family, job.settings)(opened.system, data, context)
    return opened.add_usage_and_warnings(outcome, calls, compares=family in ("reranking", "sts"))


def rehearse_cell_encoder_calls(job: StudyCellJob, hear: Hear) -> bool:
    """Report the encoder calls that a cell would make, without doing its work."""
    data, family = load_task_data(job.study, job.content, job.task, job.settings)
    context = _make_cell_context(replace(job, resamples=1), open_tokenizer(job.tokenizer))
    choose_family_evaluation(family, replace(job.settings, give_k=True))(CallRecordingSimilarity(hear), data, context)
    return True


@lru_cache(maxsize=64)
def load_task_data(study: Path, content: str, task: str, settings: StudyTaskEvaluationSettings) -> tuple[Any, Any]:
    """The data of a task, read once per process, and its family."""
    folder = _read_study_cached(study, content)
    spec = folder.task(task)
    return build_evaluation_data_from_gold(
        spec, folder.select_task_items(task), folder.gold(task), settings
    ), spec.family


@lru_cache(maxsize=2)
def _read_study_cached(path: Path, content: str) -> StudyFolder:  # noqa: ARG001 - part of what is remembered
    return read_study(path)


def _make_cell_context(job: StudyCellJob, tokenizer: Tokenizer) -> PtebContext:
    options = PtebOptions(resamples=job.resamples, neighbours=job.neighbours)
    return PtebContext(job.task, tokenizer, job.seed, options)


_LEARNT = 4 * 8
"""Bytes of a value while a classifier learns from it and applies what it has learnt."""


def estimate_cell_memory(system: Similarity, data: Any, resamples: int) -> WorkMemoryEstimate:
    """The estimate for one system on the items of a task (`build_evaluation_data_from_gold`): that of PTEB for as many
    texts, with what a classifier of vectors takes."""
    texts, dim = list_texts_encoded_by_system(data), count_vector_dimensions(system)
    found = footprint.estimate_dataset_part_memory(system, data, texts, resamples)
    parts = dict(found.parts)
    if dim:
        parts["vectors"] += estimate_bytes_of_cached_vectors(len(texts), dim)
        if isinstance(data, FewLabelledTexts):
            parts["the classifier"] = _LEARNT * len(texts) * dim
    return replace(found, parts=parts, mend="Sample fewer items, or score fewer tasks (--task)")
