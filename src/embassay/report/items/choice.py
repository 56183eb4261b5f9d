"""Which items go into the page when there are too many: the worst of every measure, and a random sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.randomness import generator
from embassay.report.items.groups import Group

BUDGET = 10_000_000
SHARED = 190_000
"""The budget of a report of several runs: each run has a report of its own with more of its items."""
SHORTEST = 180
"""Characters of a text at most in a report of several runs; that of each run has more."""
MOST = 4_000
FEWEST, LEAST = 20, 5
"""Items that a group has at least, in a report of one run and of several."""
BYTES_PER_VALUE = 5
BYTES_PER_ITEM = 1_500


def rooms(needs: Sequence[tuple[int, int]], budget: int = BUDGET, fewest: int = FEWEST) -> list[int]:
    """How many items of each group fit the page's budget, from (items, values per item) of the groups.

    What a small group does not need is shared by the larger ones. A group never has more than 4,000 items, and
    never fewer than `fewest` unless it has no more.
    """
    costs = [BYTES_PER_ITEM + BYTES_PER_VALUE * values for _, values in needs]
    wanted = [min(items, MOST) for items, _ in needs]
    found, left = [0] * len(needs), budget
    for waiting, i in enumerate(sorted(range(len(needs)), key=lambda i: wanted[i] * costs[i])):
        share = left // (len(needs) - waiting) // costs[i]
        found[i] = min(wanted[i], max(fewest, share))
        left = max(0, left - found[i] * costs[i])
    return found


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
