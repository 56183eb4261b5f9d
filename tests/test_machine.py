"""What this machine offers."""

import numba
import numpy as np

from embassay import machine


def test_compiles_without_a_folder_to_keep_the_result(monkeypatch):
    """A read-only installation without a home compiles anew instead of failing."""
    compile_anew = numba.njit

    def njit(*, nogil, cache=False):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return compile_anew(nogil=nogil)

    def double(values, out):
        for i in range(len(values)):
            out[i] += 2 * values[i]

    out = np.zeros(3)
    with monkeypatch.context() as patch:
        patch.setattr(numba, "njit", njit)
        compiled = machine.compile_with_numba_on_first_call(double)
    compiled(np.arange(3.0), out)
    assert out.tolist() == [0, 2, 4]
