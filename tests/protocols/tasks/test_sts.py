"""Spearman of pairs: against scipy, its resamples, and where it has no value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from embassay.protocols.kernel.groups import map_items_to_group_leader
from embassay.protocols.tasks import sts
from embassay.records import ScoredTextPairs
from embassay.stats import corrected_interval, freedom_of_units
from embassay.stats.resampling import iterate_resample_row_blocks
from embassay.systems.cosine import Cosine


class Given:
    """A similarity that is told every pair's value."""

    name = identity = "given"
    kind = "classical"

    def __init__(self, values):
        self.values = values

    def pairs(self, a, b):
        return np.array(self.values, dtype=np.float32)


def pairs(gold, prefix=""):
    ids = tuple(f"p{i}" for i in range(len(gold)))
    return ScoredTextPairs(
        ids,
        tuple(f"{prefix}first {i}" for i in ids),
        tuple(f"{prefix}second {i}" for i in ids),
        np.array(gold, dtype=float),
    )


def test_the_value_and_every_resample_are_scipys(context):
    """Resamples are those of the run's stream; ties of similarity and gold share ranks."""
    rng = np.random.default_rng(5)
    gold, similar = rng.integers(0, 6, 60), rng.random(60).round(1)
    outcome = sts.evaluate_system(Given(similar), pairs(gold), context())
    found = outcome.components["spearman"]
    assert found.value == pytest.approx(spearmanr(similar, gold)[0], abs=1e-12)
    rows = np.concatenate(list(iterate_resample_row_blocks(60, 200, context().stream("pairs"), most=200)))
    expected = [spearmanr(similar[row], gold[row])[0] for row in rows]
    np.testing.assert_allclose(found.replicates, expected, atol=1e-12)
    ends = corrected_interval(expected, found.value, freedom_of_units(60))
    assert (outcome.scores[0].ci_low, outcome.scores[0].ci_high) == pytest.approx(ends)
    assert outcome.scores[0].method == "bootstrap over pairs"


def test_pairs_that_share_a_text_are_drawn_together(context):
    """As many draws as there are groups, each with all its pairs, also of pairs in other words."""
    rng, n = np.random.default_rng(5), 60
    gold, similar = rng.integers(0, 6, n), rng.random(n)
    data = replace(pairs(gold), first=tuple(f"text {i // 2}" for i in range(n)))
    outcome = sts.evaluate_system(
        Given(similar), pairs(gold), replace(context(), groups=map_items_to_group_leader(data))
    )
    found = outcome.components["spearman"]
    rows = np.concatenate(list(iterate_resample_row_blocks(30, 200, context().stream("pairs"), most=200)))
    both = [np.column_stack([2 * row, 2 * row + 1]).ravel() for row in rows]
    expected = [spearmanr(similar[row], gold[row])[0] for row in both]
    np.testing.assert_allclose(found.replicates, expected, atol=1e-12)
    assert (found.n, found.units) == (60, 30)
    assert outcome.scores[0].method == "cluster bootstrap over 30 groups of pairs that share a text"


def test_items_are_similarity_and_gold(context):
    """Of every pair, under its id, for what is made of them later."""
    outcome = sts.evaluate_system(Given([0.1, 0.9, 0.5]), pairs([1, 5, 2]), context())
    assert outcome.items == {
        "item_id": ["p0", "p1", "p2"] * 2,
        "variant": [""] * 6,
        "measure": ["similarity"] * 3 + ["gold"] * 3,
        "value": [0.1, 0.9, 0.5, 1.0, 5.0, 2.0],
    }


def test_float_noise_decides_nothing(context):
    """Similarities that differ by less than 1e-6 are equal."""
    noisy = [0.5 + 2e-8, 0.5 - 3e-8, 0.5, 0.7]
    values = [
        sts.evaluate_system(Given(one), pairs([4, 2, 1, 5]), context()).scores[0].value
        for one in (noisy, [0.5] * 3 + [0.7])
    ]
    assert values[0] == values[1]


def test_a_lost_pair_is_drawn_and_left_out(bag, context):
    """Pairs that one system lost are drawn for it too, so its resamples stay those of another system."""
    rng = np.random.default_rng(2)
    words = [f"w{i}" for i in range(12)]
    said = [(" ".join(rng.choice(words, 6)), " ".join(rng.choice(words, 6))) for _ in range(80)]
    data = ScoredTextPairs(
        tuple(f"p{i}" for i in range(80)), *(tuple(side) for side in zip(*said, strict=True)), rng.random(80)
    )
    marked = ScoredTextPairs(data.ids, ("rare " + data.first[0], *data.first[1:]), data.second, data.scores)
    whole, lost = (sts.evaluate_system(one, marked, context()) for one in (bag(), bag("rare")))
    assert (lost.scores[0].n, lost.skipped[0].count, lost.skipped[0].examples) == (79, 1, ("p0",))
    replicates = [one.components["spearman"].replicates for one in (whole, lost)]
    assert np.corrcoef(*replicates)[0, 1] > 0.95
    alone = Cosine(bag().encoder).pairs(data.first[1:], data.second[1:]).astype(float).round(6)
    assert lost.scores[0].value == pytest.approx(spearmanr(alone, data.scores[1:])[0], abs=1e-12)


@pytest.mark.parametrize(
    ("similar", "gold", "reason"),
    [
        ([0.5, 0.5, 0.5], [1, 2, 3], "the similarity does not vary"),
        ([0.1, 0.2, 0.3], [2, 2, 2], "the human score does not vary"),
        ([0.5], [1], "only 1 left, too few for a correlation"),
    ],
)
def test_what_does_not_vary_has_no_correlation(similar, gold, reason, context):
    """Never 0: no value, and the reason."""
    outcome = sts.evaluate_system(Given(similar), pairs(gold), context())
    assert (outcome.scores[0].value, outcome.scores[0].reason) == (None, reason)
    assert outcome.components["spearman"].reason == reason


def test_equal_texts_are_encoded_once(bag, context):
    """A text on both sides, or in many pairs, is asked for once."""
    data = ScoredTextPairs(("a", "b", "c"), ("x y", "x y", "z"), ("z", "x y", "q"), np.array([1.0, 5.0, 2.0]))
    system = bag()
    sts.evaluate_system(system, data, context())
    assert system.encoder.calls == [(["x y", "z", "q"], None)]
