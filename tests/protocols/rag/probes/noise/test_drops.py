"""The published drops follow from the published cosines (spec rag 6, item 8)."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.protocols.rag.probes.noise import compute_cosine_drop, compute_recovered_loss_share


@pytest.mark.parametrize(
    ("clean", "noisy", "absolute", "percent"),
    [
        (0.818, 0.522, 0.296, 36.2),
        (0.936, 0.559, 0.377, 40.3),
        (0.828, 0.593, 0.235, 28.4),
        (0.908, 0.634, 0.274, 30.2),
    ],
)
def test_published_drops(clean: float, noisy: float, absolute: float, percent: float) -> None:
    result = compute_cosine_drop(clean, noisy)
    assert result.absolute == pytest.approx(absolute, abs=1e-9)
    assert round(100 * result.share, 1) == percent


def test_recovery() -> None:
    clean, noisy = np.array([0.9, 0.7]), np.array([0.5, 0.5])
    assert compute_recovered_loss_share(clean, noisy, clean) == pytest.approx(1)
    assert compute_recovered_loss_share(clean, noisy, noisy) == pytest.approx(0)
    assert compute_recovered_loss_share(clean, noisy, noisy - 0.1) < 0
    assert np.isnan(compute_recovered_loss_share(noisy, clean, clean))
    assert np.isnan(compute_cosine_drop(0.0, 0.1).share)
    with pytest.raises(UsageError):
        compute_recovered_loss_share(clean, noisy, np.array([0.5]))
