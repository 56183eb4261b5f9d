"""The peak is that of the time between, where the system can begin anew."""

import numpy as np

from embassay.runs.memory import PeakMemory


def test_the_peak_holds_what_was_there_meanwhile():
    """A large array shows in the peak, also after it is gone."""
    before = PeakMemory()
    array = np.ones(64 << 20, dtype=np.uint8)
    held = before.bytes
    del array
    assert held is not None
    assert held > 64 << 20
    assert before.bytes >= held
