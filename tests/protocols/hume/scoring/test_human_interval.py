"""The interval of every pair of the study, as the paper prints it."""

from __future__ import annotations

import pytest

from embassay.errors import UsageError
from embassay.protocols.hume.scoring import bootstrap_map_over_queries, human_score_interval, score_people_answers
from embassay.protocols.hume.study import TaskSpec
from embassay.stats import bootstrap_ci

# HUME section 10.1: score, items, annotators' scores (for the first two families only their number matters), interval
# in points, best model in points, and whether it is starred.
PAIRS = {
    "Emotion": ("classification", 0.458333, 48, (0, 0), 32.6, 59.7, 75.4, True),
    "MultiSent ara": ("classification", 0.95, 40, (0,), 83.5, 98.6, 77.5, True),
    "MultiSent eng": ("classification", 0.775, 40, (0, 0), 62.5, 87.7, 95.5, True),
    "MultiSent nob": ("classification", 0.85, 40, (0,), 70.9, 92.9, 75.0, False),
    "MultiSent rus": ("classification", 0.925, 40, (0,), 80.1, 97.4, 81.25, False),
    "Toxic": ("classification", 0.733333, 45, (0, 0), 59.0, 84.0, 86.7, True),
    "Tweet": ("classification", 0.844444, 45, (0, 0), 71.2, 92.3, 90.9, False),
    "ArXiv": ("clustering", 0.492154, 30, (0.631687, 0.352622), 35.3, 63.2, 84.6, True),
    "Reddit": ("clustering", 0.688119, 30, (0.743945, 0.632292), 63.2, 74.4, 100, True),
    "SIB200 ara": ("clustering", 0.760156, 30, (0.760156,), 58.4, 87.8, 78.8, False),
    "SIB200 dan": ("clustering", 0.626621, 30, (0.626621,), 44.9, 77.6, 76.0, False),
    "SIB200 eng": ("clustering", 0.539980, 30, (0.662509, 0.417451), 41.7, 66.3, 83.3, True),
    "SIB200 rus": ("clustering", 0.680515, 30, (0.680515,), 50.2, 81.9, 77.7, False),
    "WikiCities": ("clustering", 0.975745, 30, (1.0, 0.951490), 95.1, 100, 100, False),
    "Core17": ("reranking", 0.852183, 20, (0.868254, 0.836111), 83.6, 86.8, 98.8, True),
    "News21": ("reranking", 0.926779, 31, (0.940604, 0.912954), 91.3, 94.1, 100, True),
    "Robust04": ("reranking", 0.884516, 49, (0.947522, 0.821510), 82.2, 94.8, 98.8, True),
    "Wikipedia dan": ("reranking", 0.914286, 30, (0.914286,), 76.2, 97.3, 95.0, False),
    "Wikipedia eng": ("reranking", 0.823611, 30, (0.890873, 0.756349), 75.6, 89.1, 90.6, True),
    "Wikipedia nob": ("reranking", 0.897619, 30, (0.897619,), 74.1, 96.4, 92.3, False),
    "SICK-R": ("sts", 0.826478, 40, (0, 0), 69.4, 90.5, 94.1, True),
    "STS12": ("sts", 0.912131, 50, (0, 0), 84.9, 94.9, 92.0, False),
    "STS22 ara": ("sts", 0.675452, 30, (0,), 41.7, 83.3, 40.9, True),
    "STS22 eng": ("sts", 0.783585, 30, (0, 0), 59.0, 89.2, 82.9, False),
    "STS22 rus": ("sts", 0.587268, 30, (0,), 28.8, 78.2, 69.5, False),
    "STSB": ("sts", 0.803532, 50, (0, 0), 67.7, 88.4, 90.9, True),
}  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS)
def test_table_8(pair: str) -> None:
    """Both ends within .1 point, and the star of the best model."""
    family, score, n, annotators, low, high, best, starred = PAIRS[pair]
    found = human_score_interval(family, score, annotators, n)
    assert (100 * found.low, 100 * found.high) == pytest.approx((low, high), abs=0.1)
    assert (found.value, found.n) == (score, n)
    assert found.excludes(best / 100) is starred


def test_fourteen_stars() -> None:
    """Of 26 pairs."""
    assert (sum(row[-1] for row in PAIRS.values()), len(PAIRS)) == (14, 26)


def test_options() -> None:
    """No interval from one annotator or too few ratings; Bonett and Wright's; ends are inside."""
    nothing = human_score_interval("reranking", 0.9, [0.9], 30, one_annotator="none")
    assert nothing.low is None
    assert nothing.method == "none: one annotator"
    assert nothing.excludes(0.1) is None
    assert human_score_interval("sts", 0.5, [0.5], 3).method == "none: fewer than 4 items"
    wide = human_score_interval("sts", 0.826478, [0.8, 0.7], 40, error="bonett-wright")
    assert (wide.low, wide.high) == pytest.approx((0.666108, 0.913806), abs=1e-6)
    span = human_score_interval("clustering", 0.6, [0.7, 0.5], 30)
    assert span.method == "range of 2 annotators"
    assert not span.excludes(0.7)
    assert span.excludes(0.71)


def test_bootstrap_over_queries() -> None:
    """The human MAP, and the interval of the queries' means over annotators; one seed, one interval."""
    gold = {f"{i:02}": (1, 0, 0) for i in range(12)}
    hit, two, miss = (1, 0, 0), (1, 1, 0), (0, 0, 1)
    answers = {
        "a": dict(zip(gold, [hit] * 8 + [miss] * 4, strict=True)),
        "b": dict(zip(gold, [hit] * 6 + [two] * 6, strict=True)),
    }
    found = bootstrap_map_over_queries(gold, answers)
    expected = bootstrap_ci([1] * 6 + [0.75] * 2 + [(1 / 3 + 0.5) / 2] * 4)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.value == pytest.approx(score_people_answers(TaskSpec("t", "reranking", "eng"), gold, answers).score())
    assert found.low < found.value < found.high
    assert found == bootstrap_map_over_queries(gold, answers)
    assert len({bootstrap_map_over_queries(gold, answers, seed=seed) for seed in range(8)}) > 1
    with pytest.raises(UsageError, match="Nobody answered"):
        bootstrap_map_over_queries(gold, {"a": {}})


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("retrieval", 0.5, [0.5], 30), {}, "family is 'retrieval'"),
        (("sts", 0.5, [], 30), {}, "0 annotators"),
        (("clustering", 0.5, [0.5], 0), {}, "0 items"),
        (("clustering", 0.5, [0.5], 30), {"one_annotator": "range"}, "one_annotator is 'range'"),
        (("classification", 1.5, [0.5], 30), {}, "has no interval"),
    ],
)
def test_refused(arguments: tuple, options: dict, message: str) -> None:
    """With what is wrong."""
    with pytest.raises(UsageError, match=message):
        human_score_interval(*arguments, **options)
