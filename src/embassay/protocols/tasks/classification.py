"""PTEB task 2: accuracy of a classifier trained on the vectors of the training texts (PTEB section 5).

Training and test texts are paraphrased, labels are kept; no label is sampled down, so figures are higher than those
of today's mteb (8 texts per label, 10 repetitions). A system without vectors classifies by nearest neighbours: the
label most of the `neighbours` training texts most similar to a test text have, and of labels that equally many have
that of the nearest; equally similar training texts come in the order of the data.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.protocols.kernel.estimates import Items, Lost, estimate
from embassay.protocols.tasks.task import (
    OriginalAndParaphrasedData,
    Place,
    PtebContext,
    VectorSimilarity,
    Wording,
    apply_wording_to_texts,
    iterate_texts_with_item_places,
    make_paraphrased_data_of_rows,
    make_task_outcome,
)
from embassay.records import Classification, LabelledTexts, TaskOutcome

HEADLINE = "accuracy"
# max_iter as in the paper (spec pteb 5).
ITERATIONS = 100
ONE_LABEL = "fewer than two labels are left to train on"

Labels = NDArray[np.str_]
Vectors = NDArray[np.float32]


def evaluate_system(system: Similarity, data: Classification, context: PtebContext) -> TaskOutcome:
    """Score one system; items say of each test text whether its label was `correct`."""
    vectors = _encode_training_and_test(system, data)
    train, test = (Lost(system, data.train.ids, "training texts"), Lost(system, data.test.ids, "test texts"))
    train.note_items_with_unencoded_text(data.train.texts)
    test.note_items_with_unencoded_text(data.test.texts)
    for lost in (train, test):
        if lost.too_many_lost_reason:
            return lost.make_task_outcome_without_score(HEADLINE, Items())
    learnt, asked = ~train.lost_mask, ~test.lost_mask
    labels = np.array(data.train.labels)[learnt]
    if len(set(labels.tolist())) < 2:
        return make_task_outcome(HEADLINE, ONE_LABEL, Items(), n=int(asked.sum()), counts={})
    notes: list[str] = []
    if vectors is None:
        how = f"{context.options.neighbours} nearest neighbours"
        predicted = classify_by_neighbours(system, data, context.options.neighbours)
    else:
        how = "logistic regression"
        predicted = np.full(len(data), "", dtype=labels.dtype)
        predicted[asked], notes = label_by_logistic_regression(
            vectors[0][learnt], labels, vectors[1][asked], context.seed
        )
    correct = np.where(asked, predicted == np.array(data.test.labels), np.nan)
    items = Items()
    items.add(data.test.ids, correct, "correct")
    method = f"{how}, bootstrap over test texts"
    share = estimate(correct[:, None], lambda means: means[..., 0], context, "test texts", method, share=True)
    return make_task_outcome(
        HEADLINE, share, items, n=share.n, skipped=(*train.skipped, *test.skipped), warnings=notes,
        counts={"train": len(labels), "test": share.n}
    )  # fmt: skip


def label_by_logistic_regression(train: Vectors, labels: Labels, test: Vectors, seed: int) -> tuple[Labels, list[str]]:
    """The label of each test vector (m, dim) by logistic regression on `train` (n, dim), scikit-learn's defaults but
    for the seed; and what it has to say, such as that it did not converge."""
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # One thread, so that the last bits do not depend on how many cells run at once.
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(limits=1):
        warnings.simplefilter("always")
        classifier = LogisticRegression(random_state=seed, max_iter=ITERATIONS)
        predicted = classifier.fit(train, labels).predict(test)
    notes = [f"logistic regression: {str(note.message).partition(chr(10))[0].rstrip('.')}" for note in caught]
    return np.asarray(predicted), list(dict.fromkeys(notes))


def classify_by_neighbours(system: Similarity, data: Classification, k: int) -> Labels:
    """The label of each test text by the `k` training texts most similar to it."""
    names, codes = np.unique(np.array(data.train.labels), return_inverse=True)
    nearest = system.search(data.test.texts, data.train.texts, min(k, len(codes))).indices
    near = np.where(nearest < 0, -1, codes[nearest])
    votes = (near[:, :, None] == near[:, None, :]).sum(axis=2)
    votes[near < 0] = 0
    # The first of the most frequent: neighbours are in order of similarity.
    winner = near[np.arange(len(near)), votes.argmax(axis=1)]
    return np.asarray(names[winner])


def list_texts(data: Classification) -> Iterator[Place]:
    """List the training texts at `train:ID` and the test texts at `test:ID`."""
    yield from iterate_texts_with_item_places("train", data.train.ids, data.train.texts)
    yield from iterate_texts_with_item_places("test", data.test.ids, data.test.texts)


def replace_texts(data: Classification, wording: Wording) -> OriginalAndParaphrasedData:
    """Replace both sides by paraphrases; a text that has none drops its row. The test texts are items."""
    train, test = (
        _reword_labelled_texts(side, name, wording) for name, side in (("train", data.train), ("test", data.test))
    )
    whole = train.has_nothing_left_out and test.has_nothing_left_out
    return OriginalAndParaphrasedData(
        data if whole else Classification(train.original, test.original),
        Classification(train.paraphrased, test.paraphrased),
        test.kept,
        test.items,
        (*train.lost, *test.lost),
    )


def _reword_labelled_texts(side: LabelledTexts, name: str, wording: Wording) -> OriginalAndParaphrasedData:
    texts = apply_wording_to_texts(iterate_texts_with_item_places(name, side.ids, side.texts), wording)
    rows = [row for row, text in enumerate(texts) if text is not None]
    return make_paraphrased_data_of_rows(
        side, {"texts": texts}, rows, "training texts" if name == "train" else "test texts"
    )


def _encode_training_and_test(system: Similarity, data: Classification) -> tuple[Vectors, Vectors] | None:
    """Of the training and of the test texts; None for a system that has none."""
    if not isinstance(system, VectorSimilarity):
        return None
    return system.vectors(data.train.texts), system.vectors(data.test.texts)
