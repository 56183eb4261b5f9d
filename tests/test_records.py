"""The records: frozen, column-wise, and written in a fixed order."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay import records
from embassay.records import Documents, HeadlineComponent, ResultRow, RetrievalSet, Score, TaskOutcome

COLUMNS = [
    "protocol",
    "task",
    "dataset",
    "subset",
    "lang",
    "variant",
    "system",
    "measure",
    "value",
    "n",
    "ci_low",
    "ci_high",
    "method",
    "seed",
    "reason",
]


def _result(**changes: object) -> ResultRow:
    base = ResultRow("sage", "robustness", "sample", "", "en", "", "bm25", "robustness", 0.25, 48)
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


def test_every_record_is_frozen() -> None:
    """No record can be changed after it was made."""
    kinds = [value for value in vars(records).values() if dataclasses.is_dataclass(value)]
    assert len(kinds) >= 10
    assert all(kind.__dataclass_params__.frozen for kind in kinds)  # type: ignore[union-attr]
    with pytest.raises(dataclasses.FrozenInstanceError):
        _result().value = 1.0  # type: ignore[misc]


def test_result_columns_are_those_others_rely_on() -> None:
    """Names and order of the columns of `results.jsonl` are part of the interface."""
    assert list(_result().as_dict()) == COLUMNS


floats = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(floats, floats, floats, st.text(), st.integers(0, 10**9), st.none() | st.integers())
def test_results_round_trip_as_json(value, low, high, text, n, seed) -> None:
    """A result written as JSON reads back as the same result, digit for digit."""
    row = _result(value=value, ci_low=low, ci_high=high, system=text, reason=text, n=n, seed=seed)
    assert ResultRow(**json.loads(json.dumps(row.as_dict()))) == row


@pytest.mark.parametrize("column", ["protocol", "task", "dataset", "subset", "lang", "variant", "system", "measure"])
def test_the_key_tells_rows_apart(column: str) -> None:
    """Rows that differ in what they measure have different keys."""
    assert _result(**{column: "other"}).key != _result().key


@pytest.mark.parametrize("column", ["value", "n", "ci_low", "method", "seed", "reason"])
def test_the_key_does_not_depend_on_the_finding(column: str) -> None:
    """Measuring again gives a row with the same key."""
    assert _result(**{column: 7}).key == _result().key


def test_length_is_the_number_of_items() -> None:
    """A dataset is as long as its items: documents, or queries of a retrieval set."""
    documents = Documents(("a", "b"), ("x", "y"))
    assert len(documents) == 2
    assert len(RetrievalSet(documents, Documents(("q",), ("?",)), {"q": {"a": 1.0}})) == 1


def test_defaults_are_not_shared() -> None:
    """Two outcomes or components never share a mutable default."""
    one, other = (TaskOutcome((Score("m", None, 0),), {}, {}) for _ in range(2))
    assert one.counts is not other.counts
    assert HeadlineComponent(1.0, 1).replicates is not HeadlineComponent(1.0, 1).replicates
    assert HeadlineComponent(1.0, 1).replicates.dtype == np.float64
