"""The label summary table."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from embassay.protocols.rag.golden.grades import PAPER, count_grades_of_pool, summarise_label_counts


def test_counts_of_a_question():
    """Grade 1 first; prevalence is the share of grades 4 and 5."""
    one = count_grades_of_pool("q", [5, 5, 4, 3, 1, 1, 1, 1])
    assert (one.counts, one.pool, one.good, one.good_passage_share) == ((4, 0, 1, 1, 2), 8, 3, 0.375)
    assert count_grades_of_pool("q", []).good_passage_share is None


def test_the_table():
    """Medians and means over questions of what each has."""
    found = summarise_label_counts(
        [
            count_grades_of_pool("a", [5, 4, 1, 1]),
            count_grades_of_pool("b", [3, 2]),
            count_grades_of_pool("c", [5] * 6 + [4] * 2),
        ],
        validated=1,
    )
    assert found == pytest.approx({
        "n_queries": 3, "n_human_validated": 1, "grade5_count_median": 1, "grade5_count_mean": 7 / 3,
        "grade4_count_median": 1, "grade4_count_mean": 1, "grade4plus5_count_median": 2,
        "grade4plus5_count_mean": 10 / 3, "grade4plus5_pool_prevalence_median_percent": 50,
        "grade4plus5_pool_prevalence_mean_percent": 50, "pool_size_median": 4, "queries_without_grade5": 1,
        "queries_without_grade4plus5": 1,
    })  # fmt: skip


def test_no_questions():
    """Nothing is 0 that is not there."""
    found = summarise_label_counts([])
    assert found["n_queries"] == 0
    assert found["grade5_count_median"] is None
    assert found["grade4plus5_pool_prevalence_median_percent"] is None


def test_agrees_with_numpy():
    """On many questions."""
    rng = np.random.default_rng(1)
    pools = [rng.integers(1, 6, rng.integers(1, 90)).tolist() for _ in range(50)]
    found = summarise_label_counts([count_grades_of_pool(str(i), pool) for i, pool in enumerate(pools)])
    good = np.array([sum(grade >= 4 for grade in pool) for pool in pools])
    share = good / np.array([len(pool) for pool in pools])
    assert found["grade4plus5_count_median"] == np.median(good)
    assert found["grade4plus5_count_mean"] == pytest.approx(good.mean())
    assert found["grade4plus5_pool_prevalence_median_percent"] == pytest.approx(100 * np.median(share))


@pytest.mark.shared
def test_the_table_of_the_source_has_these_rows(root: Path):
    """Our table names every quantity of it."""
    path = root.parent / "shared" / "reference" / "rag" / "golden_set_label_stats.csv"
    if not path.exists():
        pytest.skip("no reference tables here")
    rows = {row["quantity"]: float(row["value"]) for row in csv.DictReader(path.read_text("utf-8").splitlines())}
    assert rows == PAPER
    assert set(rows) <= set(summarise_label_counts([]))
