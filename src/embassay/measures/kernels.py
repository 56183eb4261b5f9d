"""The compiled parts of measures; apart, and imported only where they are asked for, because numba loads slowly.

A cluster is known by its place, one of its members. The distance of i < j is `distances[starts[i] + j]`.
A place's nearest neighbour, once found, stays its nearest until that neighbour merges: under complete linkage
distances only grow. `nearest` keeps it, -1 where it has to be looked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embassay.machine import compile_with_numba_on_first_call

Counts = NDArray[np.int64]
Groups = NDArray[np.int64]


@compile_with_numba_on_first_call
def compute_spearman_of_resamples(x: Groups, y: Groups, counts: Counts) -> NDArray[np.float64]:
    """Rank correlation of every row of counts; `x` and `y` are the items' places among the distinct values."""
    values = np.empty(len(counts))
    ranks_x, ranks_y = np.empty(x.max() + 1), np.empty(y.max() + 1)
    for row in range(len(counts)):
        drawn = counts[row]
        spread = _fill_mean_ranks_and_sum_squares(x, drawn, ranks_x) * _fill_mean_ranks_and_sum_squares(
            y, drawn, ranks_y
        )
        together = 0.0
        for i in range(len(drawn)):
            together += drawn[i] * ranks_x[x[i]] * ranks_y[y[i]]
        values[row] = together / np.sqrt(spread) if spread > 0 else np.nan
    return values


@compile_with_numba_on_first_call
def _fill_mean_ranks_and_sum_squares(group: Groups, drawn: Counts, ranks: NDArray[np.float64]) -> float:
    """Write each group's mean rank less the mean of all into `ranks`, and return the sum of their squares."""
    ranks[:] = 0.0
    total = 0
    for i in range(len(drawn)):
        ranks[group[i]] += drawn[i]
        total += drawn[i]
    below, squares = 0.0, 0.0
    for g in range(len(ranks)):
        size = ranks[g]
        # A group's mean rank is below + (size + 1) / 2, that of all (total + 1) / 2.
        ranks[g] = below + (size - total) / 2
        squares += size * ranks[g] * ranks[g]
        below += size
    return squares


@compile_with_numba_on_first_call
def compute_average_precision_of_resamples(
    order: NDArray[np.int64], last: NDArray[np.bool_], labels: NDArray[np.bool_], counts: Counts
) -> NDArray[np.float64]:
    """Average precision of every row of counts. `order` are the items by falling score, `last` marks those after
    which the score changes."""
    values = np.empty(len(counts))
    for row in range(len(counts)):
        drawn = counts[row]
        seen, hits, before, area = 0, 0, 0, 0.0
        for place in range(len(order)):
            item = order[place]
            seen += drawn[item]
            if labels[item]:
                hits += drawn[item]
            # Pairs of one score come together, so a step is taken at the last of them.
            if last[place] and hits > before:
                area += (hits - before) * hits / seen
                before = hits
        values[row] = area / hits if hits else np.nan
    return values


Distances = NDArray[np.float32]
Places = NDArray[np.int64]


@compile_with_numba_on_first_call
def find_nearest_items_by_distances(distances: Distances, n: int) -> tuple[Places, Distances, bool]:
    """Of each item the nearest other (the lowest of several), its distance, and whether all are finite."""
    nearest = np.full(n, -1, dtype=np.int64)
    near = np.full(n, np.inf, dtype=np.float32)
    finite = True
    # The pairs lie row by row: (0, 1), (0, 2), ... (0, n - 1), (1, 2), ...
    at = 0
    for i in range(n):
        row_near, row_nearest = near[i], nearest[i]
        for j in range(i + 1, n):
            distance = distances[at]
            at += 1
            finite &= np.isfinite(distance)
            if distance < row_near:
                row_near, row_nearest = distance, j
            if distance < near[j]:
                near[j], nearest[j] = distance, i
        near[i], nearest[i] = row_near, row_nearest
    return nearest, near, finite


@compile_with_numba_on_first_call
def merge_all_clusters(distances: Distances, nearest: Places, near: Distances) -> tuple[Places, Places, Distances]:
    """The n - 1 merges in the order the nearest-neighbour chain finds them: lower place, upper place (which
    the merged cluster takes) and height. All three arguments are overwritten."""
    n = len(nearest)
    lower, upper = np.empty(n - 1, dtype=np.int64), np.empty(n - 1, dtype=np.int64)
    heights = np.empty(n - 1, dtype=np.float32)
    starts, active = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(n):
        # So that i < j is at starts[i] + j of scipy's condensed form.
        starts[i], active[i] = i * (2 * n - i - 3) // 2 - 1, i
    chain = np.empty(n, dtype=np.int64)
    length = 0
    for merge in range(n - 1):
        left = active[: n - merge]
        if length == 0:
            chain[0], length = left[0], 1
        while True:
            tip = chain[length - 1]
            if nearest[tip] < 0:
                nearest[tip], near[tip] = _find_nearest_cluster_and_distance(distances, starts, left, tip)
            neighbour, height = nearest[tip], near[tip]
            if length > 1:
                before = chain[length - 2]
                # As near as any, the one before wins: else a chain of equal distances would go round.
                if distances[starts[min(tip, before)] + max(tip, before)] <= height:
                    neighbour = before
                    break
            chain[length] = neighbour
            length += 1
        # The rest of the chain stays: a merge brings nothing nearer to what is before it.
        length -= 2
        low, high = min(tip, neighbour), max(tip, neighbour)
        lower[merge], upper[merge], heights[merge] = low, high, height
        nearest[high], near[high] = _merge_distances_and_find_nearest(distances, starts, left, low, high)
        for place in left:
            if place != high and (nearest[place] == low or nearest[place] == high):
                nearest[place] = -1
        _remove_place_from_array(left, low)
    return lower, upper, heights


@compile_with_numba_on_first_call
def _find_nearest_cluster_and_distance(
    distances: Distances, starts: Places, left: Places, place: int
) -> tuple[int, np.float32]:
    """The nearest of the clusters `left`, the lowest of several, and its distance."""
    at = _find_index_in_ascending_places(left, place)
    nearest, near = -1, np.float32(np.inf)
    # The distance of two lies in the row of the lower one: of those before `place`, in their own rows.
    for other in left[:at]:
        distance = distances[starts[other] + place]
        if distance < near:
            nearest, near = other, distance
    row = starts[place]
    for other in left[at + 1 :]:
        distance = distances[row + other]
        if distance < near:
            nearest, near = other, distance
    return nearest, near


@compile_with_numba_on_first_call
def _merge_distances_and_find_nearest(
    distances: Distances, starts: Places, left: Places, low: int, high: int
) -> tuple[int, np.float32]:
    """Give `high` the larger of its distance and that of `low` to every other cluster; the nearest of them,
    the lowest of several, and its distance."""
    first, second = _find_index_in_ascending_places(left, low), _find_index_in_ascending_places(left, high)
    row_low, row_high = starts[low], starts[high]
    nearest, near = -1, np.float32(np.inf)
    # Three loops, because the row that has a distance changes where `other` passes `low` and `high`.
    for other in left[:first]:
        row = starts[other]
        distance = max(distances[row + low], distances[row + high])
        distances[row + high] = distance
        if distance < near:
            nearest, near = other, distance
    for other in left[first + 1 : second]:
        at = starts[other] + high
        distance = max(distances[row_low + other], distances[at])
        distances[at] = distance
        if distance < near:
            nearest, near = other, distance
    for other in left[second + 1 :]:
        distance = max(distances[row_low + other], distances[row_high + other])
        distances[row_high + other] = distance
        if distance < near:
            nearest, near = other, distance
    return nearest, near


@compile_with_numba_on_first_call
def _remove_place_from_array(left: Places, place: int) -> None:
    """Move what follows `place` one forward; the last stays."""
    for at in range(_find_index_in_ascending_places(left, place), len(left) - 1):
        left[at] = left[at + 1]


@compile_with_numba_on_first_call
def _find_index_in_ascending_places(left: Places, place: int) -> int:
    """Where `place` stands in `left`, which is ascending and holds it. (numba takes seconds to compile its own
    `np.searchsorted`.)"""
    first, last = 0, len(left) - 1
    while first < last:
        middle = (first + last) // 2
        if left[middle] < place:
            first = middle + 1
        else:
            last = middle
    return first
