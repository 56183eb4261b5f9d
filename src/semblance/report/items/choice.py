"""Which items go into the page when there are too many: the worst of every measure, and a random sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semblance.randomness import generator
from semblance.report.items.groups import Group

BUDGET = 10_000_000
MOST = 4_000
FEWEST = 20
BYTES_PER_VALUE = 5
BYTES_PER_ITEM = 1_500


def room(groups: int, values_per_item: int) -> int:
    """How many items of a group fit its part of the page's 10 MB: 4,000 at most, 20 at least."""
    per_item = BYTES_PER_ITEM + BYTES_PER_VALUE * values_per_item
    return max(FEWEST, min(MOST, BUDGET // (max(1, groups) * per_item)))


def kept(group: Group, most: int, seed: int) -> NDArray[np.int64]:
    """Indices of the items that go into the page, in their order.

    All of them if they fit. Else one half the worst (measure by measure in turn, lowest mean over systems
    first), the other half drawn with the seed from the rest.
    """
    n = len(group.ids)
    if n <= most:
        return np.arange(n)
    orders = [np.argsort(means, kind="stable") for means in group.means]
    worst: dict[int, None] = {}
    for place in range(n):
        for order in orders:
            if len(worst) < most // 2:
                worst[int(order[place])] = None
        if len(worst) >= most // 2:
            break
    rest = np.setdiff1d(np.arange(n), np.fromiter(worst, dtype=np.int64))
    rng = generator(seed, "report", group.kind.name, group.dataset)
    drawn = rng.choice(rest, size=most - len(worst), replace=False)
    return np.sort(np.concatenate([np.fromiter(worst, dtype=np.int64), drawn]))
