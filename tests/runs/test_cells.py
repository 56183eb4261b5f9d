"""What is kept of a cell survives the trip through JSON."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from embassay.records import HeadlineComponent, Score, SkippedItems, TaskOutcome
from embassay.runs.folder import (
    RunCell,
    convert_cell_record_to_json,
    format_value_as_json,
    make_failed_cell_record,
    make_finished_record,
    read_cell_record_from_json,
)

CELL = RunCell("robustness", "sample", "bm25", "abc", 10, job=None)


@given(
    st.lists(st.floats(allow_infinity=False), max_size=5),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.text(alphabet=st.characters(exclude_categories=["Cs"])),
)
def test_a_record_reads_back_as_it_was_written(replicates, value, text):
    """Values, replicates (missing ones too), skips and warnings come back bit by bit."""
    outcome = TaskOutcome(
        (Score("robustness", value, 3, variant=text, reason=text),),
        {"robustness": HeadlineComponent(value, 3, np.array(replicates, dtype=np.float64), text)},
        {},
        (SkippedItems(text, 2, ("a", text)),),
        (text,),
        {"documents": 3},
    )
    record = make_finished_record(CELL, outcome, 1.25)
    back = read_cell_record_from_json(json.loads(format_value_as_json(convert_cell_record_to_json(record))))
    np.testing.assert_array_equal(back.components["robustness"].replicates, record.components["robustness"].replicates)
    assert convert_cell_record_to_json(back) == convert_cell_record_to_json(record)
    assert back.done


def test_a_failed_cell_says_why():
    """A failure is a record with a reason and without scores."""
    record = make_failed_cell_record(CELL, "out of memory", 2.0)
    assert (record.done, record.reason, record.scores) == (False, "out of memory", ())
    assert read_cell_record_from_json(convert_cell_record_to_json(record)) == record
