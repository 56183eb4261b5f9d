"""Average precision of pairs: against scikit-learn, its resamples, and a single label."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from embassay.protocols.tasks import TASKS, pair_classification
from embassay.records import LabelledTextPairs
from embassay.stats.resampling import iterate_resample_row_blocks
from embassay.systems import open_system
from embassay.text import open_tokenizer


def test_the_value_and_every_resample_are_scikit_learns(context, sample):
    """With a coarse similarity, whose ties count as one step."""
    data = sample("pair_classification")
    system = open_system("jaccard", tokenizer=open_tokenizer("words"))
    similar = system.pairs(data.first, data.second).astype(float).round(6)
    assert len(set(similar)) < len(data)
    found = pair_classification.evaluate_system(system, data, context()).components["average_precision"]
    assert found.value == pytest.approx(average_precision_score(data.labels, similar), abs=1e-12)
    rows = np.concatenate(list(iterate_resample_row_blocks(len(data), 200, context().stream("pairs"), most=200)))
    expected = [average_precision_score(data.labels[row], similar[row]) for row in rows]
    np.testing.assert_allclose(found.replicates, expected, atol=1e-12)


def test_chance_is_the_share_of_pairs_that_belong_together(context, sample):
    """A similarity that says nothing scores it, whatever the order of the pairs."""
    data = sample("pair_classification")
    value = (
        pair_classification.evaluate_system(open_system("constant", tokenizer=open_tokenizer("words")), data, context())
        .scores[0]
        .value
    )
    assert value == pytest.approx(data.labels.mean())


def test_one_label_has_no_value(bag, context):
    """Where only one kind of pair is left."""
    data = LabelledTextPairs(("a", "b"), ("x", "y"), ("x z", "q"), np.array([1, 1], dtype=np.int8))
    outcome = TASKS.build("pair_classification").evaluate(bag(), data, context())
    assert (outcome.scores[0].value, outcome.scores[0].reason) == (None, "all remaining pairs have the same label")
