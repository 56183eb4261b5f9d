"""Means over datasets and judges, and pooled errors, on the paper's numbers and on numbers worked by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from embassay.protocols.pteb.judging import make_judge_rows_and_comparison, parse_model_billions
from embassay.records import HeadlineComponent, ResampledUnitGroup
from embassay.runs.folder import CellRecord
from embassay.stats import corrected_interval
from embassay.stats.intervals import degrees_of_freedom_of_strata

TABLE_2 = {
    "gemma3-27b": (88.53, 76.61, 75.13, 89.12, 83.82, 89.87, 91.42, 66.87, 87.26),
    "gpt-oss-20b": (83.75, 70.84, 66.95, 87.07, 81.95, 87.26, 88.99, 68.82, 84.50),
    "qwen3-32b": (80.94, 72.21, 70.42, 87.60, 81.55, 86.70, 87.53, 70.59, 85.67),
}
"""BIOSSES, SICK-R, STS12, STS13, STS14, STS15, STS17, STS22, STSB, as the paper prints them."""


def plan(judges, datasets):
    names = [SimpleNamespace(name=name) for name in judges]
    return SimpleNamespace(
        systems=names, datasets=[SimpleNamespace(name=name) for name in datasets],
        request=SimpleNamespace(seed=1337), lang=lambda _: "en",
    )  # fmt: skip


def record(judge, dataset, components, status="done", reason=""):
    return CellRecord("", "judge", dataset, judge, status, reason, 0.0, (), components)


def part(value, n=10, *replicates):
    return HeadlineComponent(value, n, np.array(replicates, dtype=float), "" if value is not None else "few")


def found(run, records):
    rows, comparisons = make_judge_rows_and_comparison(run, records)
    return {(row.system, row.dataset, row.measure, row.variant): row for row in rows}, comparisons


def test_averages_of_table_2():
    """83.18 and 80.02 as printed; of qwen3 80.36, the mean of its column, and not the 80.89 that is printed [A4]."""
    datasets = [f"d{i}" for i in range(9)]
    records = [
        record(judge, dataset, {"spearman": part(value / 100)})
        for judge, values in TABLE_2.items()
        for dataset, value in zip(datasets, values, strict=True)
    ]
    rows, _ = found(plan(TABLE_2, datasets), records)
    averages = [100 * rows[judge, "", "spearman", ""].value for judge in TABLE_2]
    assert averages == pytest.approx([83.18, 80.02, 80.36], abs=0.011)
    assert 100 * rows["mean of judges", "", "spearman", ""].value == pytest.approx(np.mean(averages))


def test_errors_are_pooled_over_pairs():
    """A dataset counts by its pairs in the bin, in the value and in every resample; one without any not at all."""
    name = "mae gold=[0,1)"
    records = [
        record("j", "a", {"spearman": part(0.5), "mae": part(1.0), name: part(1.0, 30, 1.0, 2.0)}),
        record("j", "b", {"spearman": part(0.7), "mae": part(1.0), name: part(3.0, 10, 2.0, 4.0)}),
        record("j", "c", {"spearman": part(0.9), "mae": part(1.0), name: part(None, 0)}),
    ]
    rows, _ = found(plan(["j"], "abc"), records)
    row = rows["j", "", "mae", "gold=[0,1)"]
    assert (row.value, row.n) == (1.5, 40)
    # Of two replicates, 1.25 and 2.5, the ends lie that near to either.
    free = degrees_of_freedom_of_strata(
        [ResampledUnitGroup(30, 0.75 * np.array([1.0, 2.0])), ResampledUnitGroup(10, 0.25 * np.array([2.0, 4.0]))]
    )
    expected = corrected_interval([1.25, 2.5], 1.5, free)
    assert (row.ci_low, row.ci_high) == pytest.approx(expected)
    assert 1.25 < row.ci_low < 1.25 + 0.025 * 1.25
    assert rows["j", "", "spearman", ""].value == pytest.approx(0.7)
    assert ("mean of judges", "", "spearman", "") not in rows


def test_a_bin_is_averaged_where_it_has_pairs_enough():
    """And says where it has not; the headline is never an average of fewer datasets."""
    name = "spearman words=over 50"
    records = [
        record("j", "a", {"spearman": part(0.5), name: part(0.4)}),
        record("j", "b", {"spearman": part(0.7), name: part(None, 3)}),
    ]
    rows, _ = found(plan(["j"], "ab"), records)
    row = rows["j", "", "spearman", "words=over 50"]
    assert row.value == 0.4
    assert "too few pairs: b" in row.method
    without = [records[0], record("j", "b", {"spearman": part(None), name: part(None)})]
    rows, _ = found(plan(["j"], "ab"), without)
    assert (rows["j", "", "spearman", ""].value, rows["j", "", "spearman", ""].reason) == (None, "b: few")


@pytest.mark.parametrize(
    ("status", "reason", "said"), [("failed", "no key", "b: no key"), (None, "", "b: not run yet")]
)
def test_a_cell_that_is_missing_leaves_no_mean(status, reason, said):
    """Of the judge and of the judges together; what the other judge has is not touched."""
    records = [record("j", d, {"spearman": part(0.5, 10, 0.4, 0.6)}) for d in "ab"]
    records.append(record("k", "a", {"spearman": part(0.3, 10, 0.2, 0.4)}))
    if status:
        records.append(record("k", "b", {}, status, reason))
    rows, comparisons = found(plan("jk", "ab"), records)
    assert rows["j", "", "spearman", ""].value == 0.5
    assert rows["k", "", "spearman", ""].reason == said
    assert rows["mean of judges", "a", "spearman", ""].value == pytest.approx(0.4)
    assert rows["mean of judges", "b", "spearman", ""].reason == f"k: {said[3:]}"
    assert comparisons["scopes"]["judge"]["reason"] == "fewer than two systems with a value"


def test_sizes_in_names():
    """Billions of parameters where the name has them, and nothing else that looks like it."""
    sizes = {
        "ollama:gemma3:270m": 0.27, "ollama:gemma3:1b": 1, "ollama:qwen3:32b": 32, "openai:Qwen3-Embedding-0.6B": 0.6,
        "openai:gpt-5-mini": None, "openai:gpt-4.1": None, "ollama:mistral-small3.2:24b?think=false": 24,
        "openai:o3?base_url=http://7b/v1": None,
    }  # fmt: skip
    assert {name: parse_model_billions(name) for name in sizes} == sizes
