"""The texts that a classifier is trained on: rows of the task's source, never an item of the study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embassay.data import Dataset
from embassay.errors import DataError, EmbassayError
from embassay.protocols.hume.folder.formats import Task
from embassay.protocols.hume.sampling.choosing import seeded
from embassay.protocols.hume.sampling.opening import has_training_rows
from embassay.protocols.hume.sampling.repeats import plain
from embassay.protocols.hume.study import Item
from embassay.protocols.opening import dataset
from embassay.protocols.request import DatasetRequest
from embassay.records import LabelledTexts

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

    >>> from embassay.protocols.hume.folder.formats import Source
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
