"""Where a run loses against the ideal: documents its pool lacks, and documents its order leaves behind.

    1 - RA-nWG = (1 - PROC) + (PROC - RA-nWG): lost in the pool, and lost in the ordering

Both are means over the same queries, in the same unit, so they can be compared. These columns are measured beside what
the user asked for, under names of their own, and resampled with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.measures import evaluate_graded
from embassay.measures.grades import Graded, treat_unjudged
from embassay.protocols.rag.scoring.placement import NOBODY, Board, Hits, Placed, pool_of
from embassay.protocols.rag.scoring.values import Columns, Measured

Floats = NDArray[np.float64]
_MANY = 5
"""Among so many runs fusions are looked for, and unions made."""
DEPTHS = {10: 50, 30: 100}
"""The source's advice: candidates to fetch for a cutoff (spec rag 9)."""


@dataclass(frozen=True)
class Union:
    """A pool made of two runs: the run `fused`, or where there is none their lists taken in turn. It holds `depth`
    distinct documents, as many as the lists it is compared with: halves of two lists share documents, and would lose
    for being fewer."""

    a: str
    b: str
    cutoff: int
    depth: int
    fused: str = ""

    @property
    def gain(self) -> str:
        """The column of what it holds more than the better of the two at that depth."""
        return f"hybrid gain {self.a} {self.b} {self.fused}@{self.cutoff}"

    @property
    def ceiling(self) -> str:
        """The column of its PROC."""
        return f"hybrid PROC {self.a} {self.b} {self.fused}@{self.cutoff}"


@dataclass(frozen=True)
class Beside:
    """Columns by run, under names of their own, and those of them to resample: run, column, and a second run for the
    difference (empty: none)."""

    columns: Mapping[str, Mapping[str, Columns]]
    wanted: tuple[tuple[str, str, str], ...]
    unions: tuple[Union, ...]

    def with_columns(self, measured: Measured) -> Measured:
        """The run's values with these columns beside them."""
        return replace(measured, columns={**measured.columns, **self.columns[measured.run]})


def beside(board: Board, cutoffs: Sequence[int], unjudged: Any) -> Beside:
    """All columns that readings and guidance need."""
    columns = {
        run.name: {**loss_columns(run.graded, cutoffs, unjudged), **depth_columns(run, cutoffs)}
        for run in board.runs
    }
    made = unions(board, cutoffs)
    for run, more in union_columns(board, made):
        columns[run] |= more
    wanted = [(run, name, "") for run, own in columns.items() for name in own]
    for a, b in combinations(board.runs, 2):
        if same_documents(a, b):
            reached = [loss_names(k)["reached"] for k in cutoffs]
            wanted += [pair for name in reached for pair in ((a.name, name, b.name), (b.name, name, a.name))]
    return Beside(columns, tuple(wanted), made)


def loss_names(k: int) -> dict[str, str]:
    """What is measured at `k` -> the name of its column."""
    names = ("reached", "ceiling", "share", "pool", "ordering", "excess", "total")
    return {name: f"reading {name}@{k}" for name in names}


def loss_columns(graded: Graded, cutoffs: Iterable[int], unjudged: Any) -> dict[str, Columns]:
    """The columns of `loss_names` for every cutoff: `excess` is what the ordering loses more than the pool."""
    columns: dict[str, Columns] = {}
    for k in cutoffs:
        found = evaluate_graded([f"RA-nWG@{k}", f"PROC@{k}"], treat_unjudged(graded, unjudged, k))
        reached, ceiling = found.values()
        names = loss_names(k)
        each = {
            "reached": reached, "ceiling": ceiling, "pool": 1 - ceiling, "ordering": ceiling - reached,
            "excess": 2 * ceiling - reached - 1, "total": 1 - reached,
        }  # fmt: skip
        columns |= {names[name]: Columns(value, (value,)) for name, value in each.items()}
        columns[names["share"]] = Columns(reached, (reached, ceiling))
    return columns


def depth_name(k: int) -> str:
    """The column of what is lost where only the source's number of candidates is fetched for `k`."""
    return f"depth loss@{k}"


def depth_columns(run: Placed, cutoffs: Iterable[int]) -> dict[str, Columns]:
    """What PROC loses if the list is cut at the depth that the source advises; for cutoffs it has advice for and lists
    that are deeper."""
    columns: dict[str, Columns] = {}
    for k in cutoffs:
        if k in DEPTHS and run.graded.pool is None and run.documents.shape[1] > DEPTHS[k]:
            whole, cut = (_ceiling(run.graded, pool, k) for pool in (None, _cut(run, DEPTHS[k])))
            columns[depth_name(k)] = Columns(whole - cut, (whole - cut,))
    return columns


def unions(board: Board, cutoffs: Iterable[int]) -> tuple[Union, ...]:
    """The unions worth looking at, where runs' own lists are their pools: fusions among the runs, or else every two
    runs that are deep enough."""
    own = [run for run in board.runs if run.graded.pool is None]
    fusions = _fusions(own) if len(own) <= _MANY else []
    if fusions:
        return tuple(
            Union(a.name, b.name, k, min(run.documents.shape[1] for run in (a, b, c)), c.name)
            for k in cutoffs
            for a, b, c in fusions
        )
    made = []
    for k in cutoffs:
        deep = [run for run in own if run.documents.shape[1] >= 2 * k]
        for a, b in combinations(deep[:_MANY], 2):
            if not same_documents(a, b):
                made.append(Union(a.name, b.name, k, min(a.documents.shape[1], b.documents.shape[1])))
    return tuple(made)


def union_columns(board: Board, made: Sequence[Union]) -> list[tuple[str, dict[str, Columns]]]:
    """For each union, by its first run: the columns of its ceiling and of its gain over the better of the two."""
    by_name = {run.name: run for run in board.runs}
    found = []
    for one in made:
        a, b = by_name[one.a], by_name[one.b]
        alone = [_ceiling(run.graded, _cut(run, one.depth), one.cutoff) for run in (a, b)]
        better = max(alone, key=lambda values: float(np.nansum(values)))
        pool = _cut(by_name[one.fused], one.depth) if one.fused else _in_turn(a, b, one.depth)
        both = _ceiling(a.graded, pool, one.cutoff)
        gain = both - better
        found.append((one.a, {one.ceiling: Columns(both, (both,)), one.gain: Columns(gain, (gain,))}))
    return found


def _fusions(runs: Sequence[Placed]) -> list[tuple[Placed, Placed, Placed]]:
    """Runs with all their documents from two others, which both bring some that the other lacks: (a, b, fusion)."""
    keys = {run.name: _keys(run) for run in runs}
    within = {(c.name, a.name): np.isin(keys[c.name], keys[a.name]) for c in runs for a in runs if c is not a}
    found = []
    for c in runs:
        for a, b in combinations([run for run in runs if run is not c], 2):
            in_a, in_b = within[c.name, a.name], within[c.name, b.name]
            if (in_a | in_b).all() and not in_a.all() and not in_b.all():
                found.append((a, b, c))
    return found


def _keys(run: Placed) -> NDArray[np.int64]:
    """Query and document of all that a run has, as one number each."""
    query, rank = np.nonzero(run.documents != NOBODY)
    return np.asarray(query << 32 | run.documents[query, rank])


def same_documents(a: Placed, b: Placed) -> bool:
    """Whether one run is the other in another order: the same documents for every query."""
    if a.documents.shape != b.documents.shape or not np.array_equal(a.sizes, b.sizes):
        return False
    return bool((np.sort(a.documents, axis=1) == np.sort(b.documents, axis=1)).all())


def _ceiling(graded: Graded, pool: NDArray[np.int64] | None, k: int) -> Floats:
    return evaluate_graded([f"PROC@{k}"], replace(graded, pool=pool, pool_sizes=None))[f"PROC@{k}"]


def _cut(run: Placed, depth: int) -> NDArray[np.int64]:
    return pool_of(_chosen(run.hits, run.hits.rank <= depth), run.graded)


def _in_turn(a: Placed, b: Placed, depth: int) -> NDArray[np.int64]:
    """The pool of the first `depth` distinct documents of both lists: the first of each, the second, and so on."""
    width = max(run.documents.shape[1] for run in (a, b))
    padded = [
        np.pad(run.documents, ((0, 0), (0, width - run.documents.shape[1])), constant_values=NOBODY)
        for run in (a, b)
    ]
    turns = np.stack(padded, axis=2).reshape(len(a.documents), -1)
    query, turn = np.nonzero(turns != NOBODY)
    keys = query << 32 | turns[query, turn]
    new = np.zeros(turns.shape, dtype=bool)
    first = np.unique(keys, return_index=True)[1]
    new[query[first], turn[first]] = True
    chosen = keys[(new & (np.cumsum(new, axis=1) <= depth))[query, turn]]
    parts = [_chosen(run.hits, np.isin(run.hits.query << 32 | run.hits.document, chosen)) for run in (a, b)]
    query, document, grade = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("query", "document", "grade")
    )
    _, once = np.unique(query << 32 | document, return_index=True)
    return pool_of(Hits(query[once], once, grade[once], document[once]), a.graded)


def _chosen(hits: Hits, keep: NDArray[np.bool_]) -> Hits:
    return Hits(hits.query[keep], hits.rank[keep], hits.grade[keep], hits.document[keep])
