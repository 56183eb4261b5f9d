"""The tables of a sweep: those that the source numbers (spec rag 9), by its numbers, and ours by words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from embassay.protocols.rag.sweep.configuration import NONE
from embassay.protocols.rag.sweep.findings import operation_tables as operation
from embassay.protocols.rag.sweep.findings import own_tables
from embassay.protocols.rag.sweep.findings.record import Findings, Part, StackFacts
from embassay.protocols.rag.sweep.findings.table_columns import (
    MEASURED,
    STACK,
    Row,
    is_reranked,
    measured,
    named,
    of_stack,
)
from embassay.protocols.tables import Column, ColumnTable, Value

Pick = Callable[[StackFacts], bool]


def tables(findings: Findings) -> Iterator[ColumnTable]:
    """Every table that has rows. Numbered ones hold what the source's do, of this sweep."""
    made = [*_numbered(findings), *own_tables.own(findings)]
    yield from (one for one in made if one.rows)


def _numbered(findings: Findings) -> Iterator[ColumnTable]:
    yield _quality(findings, 1, "Dense search alone", _having(mode="dense", reranker=NONE))
    yield _stacks(findings)
    yield _ceilings(findings, 3, "Ceilings (PROC) of hybrid pools", _having(mode="hybrid"))
    yield _reached(findings)
    for number, cutoff in ((5, 10), (6, 30)):
        yield _leaderboard(findings, number, cutoff)
    yield operation.indexes(findings)
    yield operation.scenarios(findings)
    yield operation.efficiency(findings)
    yield operation.tokens(findings)
    strong, lite = rerankers(findings)
    for number, name in ((15, strong), (16, lite)):
        if name:
            yield operation.reranking(findings, number, name)
    for i, k in enumerate(depths(findings)[:4]):
        if lite:
            yield _quality(findings, 17 + i, f"{lite}, K {k}", _having(reranker=lite, k=k))
        title = f"Ceilings (PROC) of dense pools, K {k}"
        yield _ceilings(findings, 21 + i, title, _having(mode="dense", reranker=NONE, k=k))


def _having(**axes: Value) -> Pick:
    """Whether a stack has these values."""
    return lambda one: all(one.axes[axis] == value for axis, value in axes.items())


def depths(findings: Findings) -> list[int]:
    """Every K of the sweep, ascending."""
    return sorted({one.axes["k"] for one in findings.parts[0].stacks})


def rerankers(findings: Findings) -> tuple[str, str]:
    """The dearest reranker, and the cheapest where there are several; empty where there is none."""
    prices: dict[str, float] = {}
    for one in findings.parts[0].stacks:
        if is_reranked(one):
            each = one.usd.get("rerank", 0.0) / max(1, one.axes["k"])
            prices[one.axes["reranker"]] = max(prices.get(one.axes["reranker"], 0.0), each)
    ordered = sorted(prices, key=lambda name: (-prices[name], name))
    return (ordered[0] if ordered else ""), (ordered[-1] if len(ordered) > 1 else "")


def _each(findings: Findings, pick: Pick) -> Iterator[tuple[Part, StackFacts]]:
    return ((part, one) for part in findings.parts for one in part.stacks if pick(one))


def _quality(findings: Findings, number: int, title: str, pick: Pick) -> ColumnTable:
    columns = (*STACK, *(Column(name, decimals=3) for name in findings.measures), *TIMES)
    rows = [
        (*of_stack(part, one), *(one.value(name) for name in findings.measures), *_times(one))
        for part, one in _each(findings, pick)
    ]
    return ColumnTable(f"rag_table{number}", title, columns, tuple(rows), "Times in ms: p50.")


TIMES = (Column("Embed ms", decimals=1), Column("Retrieve ms", decimals=1), Column("Total ms", decimals=1))


def _times(one: StackFacts) -> Iterator[Value]:
    found = {time.stage: time.p50 for time in one.times}
    return (found.get(stage) for stage in ("embed", "retrieve", "total"))


def _stacks(findings: Findings) -> ColumnTable:
    """Of each mode and reranker the best stack by the measure that decides."""
    measure, rows = findings.asked.measure, []
    for part in findings.parts:
        best: dict[tuple[str, str], StackFacts] = {}
        for one in part.stacks:
            key = (one.axes["mode"], one.axes["reranker"])
            if one.value(measure) is not None and (
                key not in best or (one.value(measure) or 0.0) > (best[key].value(measure) or 0.0)
            ):
                best[key] = one
        rows += [(*of_stack(part, one), *measured(findings, one)) for one in best.values()]
    title = f"Stacks: of each mode and reranker the best by {measure}"
    return ColumnTable("rag_table2", title, (*STACK, *named(findings, MEASURED)), tuple(rows))


def _ceilings(findings: Findings, number: int, title: str, pick: Pick) -> ColumnTable:
    columns = (*STACK, *(Column(f"PROC {name}", decimals=3) for name in findings.measures))
    rows = []
    for part, one in _each(findings, pick):
        ceilings = [found.ceiling if (found := one.measured(name)) else None for name in findings.measures]
        if any(value is not None for value in ceilings):
            rows.append((*of_stack(part, one), *ceilings))
    return ColumnTable(f"rag_table{number}", title, columns, tuple(rows))


def _reached(findings: Findings) -> ColumnTable:
    """Actual, PROC and %PROC of the stacks on the main frontier and of the recommended one."""
    columns = (
        *STACK, Column("Measure", "text"), Column("Actual", decimals=3), Column("PROC", decimals=3),
        Column("%PROC", decimals=1), Column("95% low", decimals=1), Column("95% high", decimals=1),
    )  # fmt: skip
    rows: list[Row] = []
    for part in findings.parts:
        main = set(part.frontiers[0].stacks) | {part.recommendation.stack}
        for one in part.stacks:
            for found in one.quality if one.id in main else ():
                if found.reached is not None:
                    shares = (found.reached.value, found.reached.low, found.reached.high)
                    rows.append((
                        *of_stack(part, one), found.measure, found.value.value, found.ceiling,
                        *(None if share is None else 100 * share for share in shares),
                    ))  # fmt: skip
    return ColumnTable("rag_table4", "Actual, PROC and %PROC on the frontier", columns, tuple(rows))


def _leaderboard(findings: Findings, number: int, cutoff: int) -> ColumnTable:
    base = findings.asked.measure.partition("@")[0]
    measure = f"{base}@{cutoff}"
    columns = (Column("Rank", decimals=0), *STACK, *(
        Column(name, decimals=3) for name in (measure, "95% low", "95% high", "PROC")), Column("%PROC", decimals=1),
    )  # fmt: skip
    rows: list[Row] = []
    for part in findings.parts:
        found = [(one, one.measured(measure)) for one in part.stacks]
        known = [(one, q) for one, q in found if q is not None and q.value.value is not None]
        known.sort(key=lambda pair: (-(pair[1].value.value or 0.0), pair[0].latency, pair[0].id))
        for place, (one, q) in enumerate(known, start=1):
            share = None if q.reached is None or q.reached.value is None else 100 * q.reached.value
            rows.append((
                place, *of_stack(part, one), q.value.value, q.value.low, q.value.high, q.ceiling, share
            ))  # fmt: skip
    note = "Rows in the order of the mean: neighbours whose intervals overlap need not differ."
    return ColumnTable(f"rag_table{number}", f"Leaderboard by {measure}", columns, tuple(rows), note)
