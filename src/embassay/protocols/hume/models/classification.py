"""Accuracy of a classifier trained on few texts per label, never items of the study: mean over repeats (spec hume 5).

A system without vectors classifies by the training texts nearest to an item, those of the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.data import Dataset
from embassay.errors import DataError, EmbassayError
from embassay.protocols.hume.folder.files import Task
from embassay.protocols.hume.sampling.pools import plain, seeded
from embassay.protocols.hume.sampling.sources import has_training_rows
from embassay.protocols.hume.study import Item
from embassay.protocols.kernel.estimates import Items, Lost, estimate
from embassay.protocols.kernel.inputs import dataset
from embassay.protocols.kernel.request import DatasetRequest
from embassay.protocols.tasks.classification import ONE_LABEL, neighbours, regression
from embassay.protocols.tasks.comparison import Embedding, outcome
from embassay.protocols.tasks.task import Context
from embassay.records import Classification, LabelledTexts, TaskOutcome

HEADLINE = "accuracy"
CORRECT, LABEL = "correct", "label"
Labels = NDArray[np.str_]
Predict = Callable[[list[int]], tuple[Labels, list[str]]]
"""From rows to train on to the label of every text, and what there is to say."""


@dataclass(frozen=True)
class FewLabelled:
    """Texts to label, and what to learn from in each of the `repeats`. `labels` are those of the task, in order."""

    test: LabelledTexts
    training: Training
    labels: tuple[str, ...]
    repeats: int
    task: str

    def __len__(self) -> int:
        return len(self.test)


def evaluate(system: Similarity, data: FewLabelled, context: Context) -> TaskOutcome:
    """Score one system. Items are, of each text, the share of repeats that label it `correct`, and the `label` most of
    them give it, as its number in `data.labels`."""
    draws = [drawn_rows(data.training, repeat, context.seed, data.task) for repeat in range(data.repeats)]
    used = sorted({row for draw in draws for row in draw})
    learnt = _rows(data.training.rows, used)
    how, predict = _predictor(system, data, learnt, used, context)
    train, test = Lost(system, learnt.ids, "training texts"), Lost(system, data.test.ids, "texts")
    train.see_texts(learnt.texts)
    test.see_texts(data.test.texts)
    for lost in (train, test):
        if lost.too_many:
            return lost.without_score(HEADLINE, Items())
    gone = {used[row] for row in train.rows}
    kept = [[row for row in draw if row not in gone] for draw in draws]
    if any(len({data.training.rows.labels[row] for row in draw}) < 2 for draw in kept):
        return outcome(HEADLINE, ONE_LABEL, Items(), n=len(data), counts={})
    said = [predict(draw) for draw in kept]
    predicted = np.stack([labels for labels, _ in said])
    right = (predicted == np.array(data.test.labels)).mean(axis=0)
    right[test.mask] = np.nan
    items = Items()
    items.add(data.test.ids, right, CORRECT)
    items.add(data.test.ids, _most_given(predicted, data.labels, test.mask), LABEL)
    method = (
        f"{how}, {data.training.per_label} training texts per label, mean of {data.repeats} draws, "
        "bootstrap over texts"
    )
    found = estimate(right[:, None], lambda means: means[..., 0], context, "test texts", method)
    notes = [*data.training.notes, *_short(data), *dict.fromkeys(note for _, own in said for note in own)]
    return outcome(
        HEADLINE, found, items, n=found.n, skipped=(*train.skipped, *test.skipped), warnings=notes,
        counts={"train": len(used), "test": found.n},
    )  # fmt: skip


def _predictor(
    system: Similarity, data: FewLabelled, learnt: LabelledTexts, used: Sequence[int], context: Context
) -> tuple[str, Predict]:
    """How the texts are labelled, and the function that does. Every training text that any repeat draws is encoded
    once."""
    test = data.test
    if not isinstance(system, Embedding):
        k = context.options.neighbours

        def nearest(rows: list[int]) -> tuple[Labels, list[str]]:
            return neighbours(system, Classification(_rows(data.training.rows, rows), test), k), []

        return f"{k} nearest neighbours", nearest
    place = {row: i for i, row in enumerate(used)}
    vectors, asked = system.vectors(learnt.texts), system.vectors(test.texts)
    # What could not be encoded is left out of the score; numbers must stand there all the same.
    asked = np.nan_to_num(asked)

    def learn(rows: list[int]) -> tuple[Labels, list[str]]:
        labels = np.array([data.training.rows.labels[row] for row in rows])
        return regression(vectors[[place[row] for row in rows]], labels, asked, context.seed)

    return "logistic regression", learn


def _most_given(
    predicted: NDArray[np.str_], labels: Sequence[str], lost: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The number of the label that most repeats give each text, the first in order of equals: (repeats, n) -> (n,)."""
    votes = np.stack([(predicted == label).sum(axis=0) for label in labels])
    return np.asarray(np.where(lost, np.nan, votes.argmax(axis=0)))


def _short(data: FewLabelled) -> list[str]:
    """Labels that have fewer training texts than every repeat should draw."""
    rows, wanted = data.training.rows, data.training.per_label
    counts = {label: rows.labels.count(label) for label in sorted(set(rows.labels))}
    found = [f"label {label}: {n} of {wanted} training texts" for label, n in counts.items() if n < wanted]
    missing = [label for label in data.labels if label not in counts]
    return found + [f"label {label}: no training text, so it is never given" for label in missing]


def _rows(rows: LabelledTexts, kept: Sequence[int]) -> LabelledTexts:
    return LabelledTexts(
        *(tuple(column[k] for k in kept) for column in (rows.ids, rows.texts, rows.labels, rows.sets))
    )


PER_LABEL = (("emotion", 16), ("toxic", 16), ("tweet", 32))
"""Training texts per label of the datasets of the paper, by a word of their name; the others take `OTHERS`."""
OTHERS = 8


@dataclass(frozen=True)
class Training:
    """Rows to train on, `per_label` of each label in every repeat; `notes` say what is not as it should be."""

    rows: LabelledTexts
    per_label: int
    fingerprint: str
    notes: tuple[str, ...] = ()


def training_of(task: Task, items: Sequence[Item], per_label: int | None) -> Training:
    """The rows that a classification task may be trained on: the training split of its source, or where it has none
    the rows that were not drawn. Texts that are items and labels that are not the task's are left out.

    Raises DataError where the source cannot be opened, or is left with fewer than two labels.
    """
    source = task.source
    try:
        request = DatasetRequest(
            source.dataset, tuple(sorted(source.mapping.items())), source.split, source.grades
        )
        opened = dataset(request)
        split = has_training_rows(opened)
        shape = "classification" if split else "labelled"
        loaded = _subset(opened, shape, source.lang).load(shape)
    except EmbassayError as error:
        raise DataError(
            f"The texts to train on for {task.name} cannot be read from {source.dataset}: {error.message}",
            mend="Run where the study was sampled, or choose other tasks with --task.",
        ) from error
    rows: LabelledTexts = loaded.data.train if split else loaded.data
    kept = _left(rows, items, task)
    if len(set(kept.labels)) < 2:
        raise DataError(
            f"The source of {task.name}, {source.dataset}, has no two labels left to train on.",
            mend="Sample the task from data with a training split.",
        )
    changed = source.fingerprint and loaded.fingerprint != source.fingerprint
    notes = ("the source has changed since the study was sampled",) if changed else ()
    return Training(kept, per_label or usual_per_label(task), loaded.fingerprint, notes)


def usual_per_label(task: Task) -> int:
    """How many texts per label the paper trains on (spec hume 5).

    >>> from embassay.protocols.hume.folder.files import Source
    >>> about = dict(family="classification", lang="eng", title="", question="", guidelines="", n=2)
    >>> usual_per_label(Task(name="toxic-chat", source=Source(dataset="x"), **about))
    16
    """
    name = f"{task.name} {task.source.dataset}".lower()
    return next((number for word, number in PER_LABEL if word in name), OTHERS)


def drawn_rows(training: Training, repeat: int, seed: int, task: str) -> list[int]:
    """The positions of the rows that a repeat trains on: `per_label` of every label, all of a label with fewer. The
    same for every system."""
    labels = training.rows.labels
    taken: dict[str, list[int]] = {}
    for place in seeded(training.rows.ids, seed, "training", task, str(repeat)):
        own = taken.setdefault(labels[place], [])
        if len(own) < training.per_label:
            own.append(place)
    return sorted(place for own in taken.values() for place in own)


def _subset(opened: Dataset, shape: str, lang: str) -> Dataset:
    """The rows of the task's language, cut as items were drawn from them, so that the fingerprint is the same."""
    subsets = opened.subsets(shape)
    if lang and len(subsets) > 1 and lang not in subsets:
        raise DataError(f"it has no rows in {lang} any more")
    return subsets.get(lang, next(iter(subsets.values())))


def _left(rows: LabelledTexts, items: Sequence[Item], task: Task) -> LabelledTexts:
    seen = {plain(str(item.payload.get("text", ""))) for item in items}
    known = {str(label.value) for label in task.labels}
    kept = [
        place
        for place, (text, label) in enumerate(zip(rows.texts, rows.labels, strict=True))
        if plain(text) not in seen and (not known or label in known)
    ]
    return LabelledTexts(
        *(tuple(column[k] for k in kept) for column in (rows.ids, rows.texts, rows.labels, rows.sets))
    )
