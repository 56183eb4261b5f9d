"""Accuracy of a classifier trained on few texts per label, the mean over repeats with other texts (spec hume 5).

A system without vectors classifies by the training texts nearest to an item, those of the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.protocols.estimates import Items, estimate
from embassay.protocols.hume.models.training import Training, drawn_rows
from embassay.protocols.lost import Lost
from embassay.protocols.pteb.context import Context
from embassay.protocols.pteb.tasks.classification import ONE_LABEL, neighbours, regression
from embassay.protocols.pteb.tasks.comparison import Embedding
from embassay.protocols.pteb.tasks.outcomes import outcome
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
