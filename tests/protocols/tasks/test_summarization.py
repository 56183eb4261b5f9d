"""Summarization: the nearest reference, pooled and per text, resampled by text."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from embassay.protocols.tasks import summarization
from embassay.records import HumanRatedSummaries
from embassay.stats.resampling import iterate_resample_row_blocks
from embassay.systems.cosine import Cosine

WORDS = [f"w{i}" for i in range(15)]


def judged(n=40, summaries=4, references=3, seed=1):
    """Texts of random words, whose summaries have ratings that say nothing; ids d0, d1 ..."""
    rng = np.random.default_rng(seed)

    def some(count, name, one):
        return tuple(f"{name}{one}.{i} " + " ".join(rng.choice(WORDS, 6)) for i in range(count))

    return HumanRatedSummaries(
        tuple(f"d{i}" for i in range(n)),
        tuple(f"text {i}" for i in range(n)),
        tuple(some(references, "r", i) for i in range(n)),
        tuple(some(summaries, "s", i) for i in range(n)),
        tuple(rng.integers(1, 6, summaries).astype(float) for _ in range(n)),
    )


def best(bag, data):
    """The highest cosine of every summary to a reference of its text, (texts, summaries)."""
    system = Cosine(bag().encoder)
    return np.array(
        [
            [max(system.pairs([r], [s])[0] for r in references) for s in summaries]
            for references, summaries in zip(data.references, data.summaries, strict=True)
        ],
        dtype=float,
    ).round(6)


def test_pooled_over_all_summaries(bag, context):
    """One correlation of all; a resample draws texts, each with all its summaries."""
    data = judged()
    similar, gold = best(bag, data), np.array(data.relevance)
    outcome = summarization.evaluate_system(bag(), data, context())
    found = outcome.components["spearman"]
    assert found.value == pytest.approx(spearmanr(similar.ravel(), gold.ravel())[0], abs=1e-9)
    rows = np.concatenate(list(iterate_resample_row_blocks(40, 200, context().stream("texts"), most=200)))
    expected = [spearmanr(similar[row].ravel(), gold[row].ravel())[0] for row in rows]
    np.testing.assert_allclose(found.replicates, expected, atol=1e-9)
    assert outcome.scores[0].method == "pooled, cluster bootstrap over 40 texts"
    assert (outcome.scores[0].n, outcome.counts) == (160, {"texts": 40, "summaries": 160})


def test_per_text(bag, context):
    """The mean of a correlation per text; a text whose ratings do not vary has none, and is counted."""
    data = judged(summaries=8)
    flat = HumanRatedSummaries(
        data.ids, data.texts, data.references, data.summaries, (np.full(8, 3.0), *data.relevance[1:])
    )
    similar = best(bag, flat)
    outcome = summarization.evaluate_system(bag(), flat, context(summaries="per-text"))
    each = [spearmanr(a, b)[0] for a, b in zip(similar[1:], flat.relevance[1:], strict=True)]
    assert outcome.scores[0].value == pytest.approx(np.mean(each), abs=1e-9)
    assert outcome.scores[0].method == "mean per text, bootstrap over texts"
    assert [(left.reason, left.count, left.examples) for left in outcome.skipped] == [
        ("texts whose ratings or similarities do not vary", 1, ("d0",))
    ]
    single = judged(summaries=1)
    row = summarization.evaluate_system(bag(), single, context(summaries="per-text")).scores[0]
    assert (row.value, row.reason) == (None, "no text has ratings and similarities that vary")


def test_items_name_text_and_number(bag, context):
    """Similarity and rating of every machine summary."""
    outcome = summarization.evaluate_system(bag(), judged(2, summaries=2), context())
    assert outcome.items["item_id"] == ["d0:0", "d0:1", "d1:0", "d1:1"] * 2
    assert outcome.items["measure"] == ["similarity"] * 4 + ["gold"] * 4


@pytest.mark.parametrize("how", ["pooled", "per-text"])
def test_lost_encodings(how, bag, context):
    """A lost summary drops itself, a lost reference leaves the others, and without any its text drops out."""
    data = judged()
    marks = ("s3.1 ", "r5.0 ", "r7.0 ", "r7.1 ", "r7.2 ")
    outcome = summarization.evaluate_system(bag(*marks), data, context(summaries=how))
    gone = {"summary:d3:1", "reference:d5:0", *(f"reference:d7:{i}" for i in range(3))}
    rest = summarization.replace_texts(data, lambda place, text: None if place in gone else text)
    expected = summarization.evaluate_system(bag(), rest.original, context(summaries=how))
    assert outcome.scores[0].value == pytest.approx(expected.scores[0].value, abs=1e-12)
    assert outcome.scores[0].n == expected.scores[0].n == 155
    assert [(left.reason, left.count) for left in outcome.skipped[:3]] == [
        ("references that could not be encoded: Too long: 9,000 tokens", 4),
        ("summaries that could not be encoded: Too long: 9,000 tokens", 1),
        (summarization.BARE, 1),
    ]
    assert [(left.reason, left.count) for left in rest.lost] == [
        ("references that could not be rewritten", 4),
        ("summaries that could not be rewritten", 1),
        (summarization.BARE, 1),
    ]
    assert (rest.kept, rest.items, len(rest.paraphrased.summaries[3])) == (39, 40, 3)
