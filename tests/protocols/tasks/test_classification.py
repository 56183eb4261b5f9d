"""Classification: scikit-learn's own figures, neighbours and their ties, what is said of convergence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from embassay.protocols.tasks import TASKS, classification
from embassay.records import Classification, LabelledTexts
from embassay.search import top_k
from embassay.systems import open_system
from embassay.text import open_tokenizer


def side(texts, labels, name):
    return LabelledTexts(
        tuple(f"{name}{i}" for i in range(len(texts))), tuple(texts), tuple(labels), ("",) * len(texts)
    )


class Overlap:
    """Similarity is the number of common words."""

    name = identity = "overlap"
    kind = "classical"

    def search(self, queries, corpus, k):
        scores = [[len(set(q.split()) & set(d.split())) for d in corpus] for q in queries]
        return top_k(np.array(scores, dtype=float), k)


def test_it_is_scikit_learns_regression(sample, context):
    """Default parameters but for the seed and the 100 iterations, on raw vectors."""
    from sklearn.linear_model import LogisticRegression

    data = sample("classification")
    system = open_system("wordllama", tokenizer=open_tokenizer("words"))
    outcome = classification.evaluate_system(system, data, context())
    model = LogisticRegression(random_state=1337, max_iter=100)
    model.fit(system.encoder.encode(data.train.texts), data.train.labels)
    right = model.predict(system.encoder.encode(data.test.texts)) == np.array(data.test.labels)
    assert outcome.scores[0].value == pytest.approx(right.mean())
    assert outcome.items["value"] == right.astype(float).tolist()
    assert outcome.counts == {"train": 54, "test": 54}


def test_neighbours_vote():
    """The label that most of the nearest have; of equally frequent ones that of the nearest; equally near training
    texts in the order of the data."""
    train = side(["a b c", "a b", "a", "b c d", "d"], ["x", "y", "y", "x", "z"], "t")
    test = side(["a b c", "d", "q"], ["x", "z", "x"], "q")
    vote = lambda k: classification.classify_by_neighbours(Overlap(), Classification(train, test), k).tolist()  # noqa: E731
    # "a b c": nearest are t0 (x, 3), then t1 (y) and t3 (x) with 2. "d": t3 (x) and t4 (z) with 1. "q": all 0.
    assert vote(1) == ["x", "x", "x"]
    assert vote(2) == ["x", "x", "x"]
    # "d": x, z, then t0 (x) with 0. "q": t0 x, t1 y, t2 y.
    assert vote(3) == ["x", "x", "y"]
    # All five, and no more where there are no more: 2 x, 2 y, 1 z; the nearest decides.
    assert vote(5) == vote(50) == ["x", "x", "x"]


def test_neighbours_are_an_option(sample, context):
    """And named in the method."""
    system = open_system("jaccard", tokenizer=open_tokenizer("words"))
    rows = [
        classification.evaluate_system(system, sample("classification"), context(neighbours=k)).scores[0]
        for k in (1, 10)
    ]
    assert [row.method for row in rows] == [
        "1 nearest neighbours, Wilson over test texts",
        "10 nearest neighbours, Wilson over test texts",
    ]


def test_a_classifier_that_did_not_converge_says_so():
    """As a remark, not as a warning on the terminal."""
    rng = np.random.default_rng(0)
    train = (rng.random((300, 40)) * 1000).astype(np.float32)
    labels = np.array([str(i % 30) for i in range(300)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predicted, notes = classification.label_by_logistic_regression(train, labels, train[:5], 1337)
    assert predicted.shape == (5,)
    assert len(notes) == 1
    assert notes[0].startswith("logistic regression: lbfgs failed to converge")


def test_labels_are_texts_and_need_not_be_known(bag, context):
    """Labels that sort or look like numbers stay what they are; a test label that is not trained on is missed."""
    train = side(["a a", "b b", "a c", "b d"], ["10", "9", "10", "9"], "t")
    test = side(["a", "b", "a b"], ["10", "9", "11"], "q")
    outcome = classification.evaluate_system(bag(), Classification(train, test), context())
    assert outcome.items["value"] == [1.0, 1.0, 0.0]


def test_one_label_has_no_classifier(bag, context):
    """In the data, or after the only text of another label failed."""
    task = TASKS.build("classification")
    train = side([*(f"a{i}" for i in range(30)), "odd"], ["x"] * 30 + ["y"], "t")
    data = Classification(train, side(["a1", "odd"], ["x", "y"], "q"))
    assert task.evaluate(bag(), data, context()).scores[0].value is not None
    one = Classification(side(["a", "b"], ["x", "x"], "t"), data.test)
    for system, given in ((bag(), one), (Overlap(), one)):
        row = task.evaluate(system, given, context()).scores[0]
        assert (row.value, row.reason) == (None, "fewer than two labels are left to train on")


def test_training_rows_are_lost_apart_from_test_rows(sample):
    """A failed training text drops its row alone, on both sides of the comparison; test texts are the items."""
    data = sample("classification")
    gone = {f"train:{data.train.ids[3]}", f"test:{data.test.ids[0]}"}
    result = classification.replace_texts(data, lambda place, text: None if place in gone else text)
    assert (result.kept, result.items) == (53, 54)
    assert result.original.train.ids == result.paraphrased.train.ids == (*data.train.ids[:3], *data.train.ids[4:])
    assert result.original.test.ids == data.test.ids[1:]
    assert [(left.reason, left.count, left.examples) for left in result.lost] == [
        ("training texts that could not be rewritten", 1, (data.train.ids[3],)),
        ("test texts that could not be rewritten", 1, (data.test.ids[0],)),
    ]
