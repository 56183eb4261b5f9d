"""Arrays that wait on disk come back as they were."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from embassay.errors import UsageError
from embassay.systems.lexical import bm25 as module
from embassay.systems.lexical.bm25 import SpillingArrayStore

ARRAY = st.sampled_from(["uint8", "uint16", "int32", "int64"]).flatmap(lambda dtype: arrays(dtype, st.integers(0, 20)))


@given(records=st.lists(st.tuples(ARRAY, ARRAY), max_size=5), in_memory=st.sampled_from([1, 2**20]))
def test_what_is_read_is_what_was_kept(records, in_memory):
    """In any order, from memory and from a file, empty arrays too."""
    before = module._IN_MEMORY
    module._IN_MEMORY = in_memory
    try:
        with SpillingArrayStore() as scratch:
            places = [scratch.keep({"a": a, "b": b}) for a, b in records]
            for place, (a, b) in reversed(list(zip(places, records, strict=True))):
                found = scratch.read(place)
                assert (found["a"].dtype, found["b"].dtype) == (a.dtype, b.dtype)
                np.testing.assert_array_equal(found["a"], a)
                np.testing.assert_array_equal(found["b"], b)
    finally:
        module._IN_MEMORY = before


def test_a_full_disk_is_said_with_the_mend(monkeypatch):
    """No traceback: where the file lies, and how much room it wants."""

    def full(_):
        raise OSError(28, "No space left on device")

    with SpillingArrayStore() as scratch:
        monkeypatch.setattr(scratch._file, "write", full, raising=False)
        with pytest.raises(UsageError, match=r"No space left on device(.|\n)*TMPDIR"):
            scratch.keep({"a": np.arange(3)})
