"""The tables that the source does not number: stacks, frontiers, other choices, steps, effects, routing, guidance."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.protocols.rag.golden.summary import Figure
from embassay.protocols.rag.sweep.findings.record import Findings, Memory, StackFacts
from embassay.protocols.rag.sweep.findings.table_columns import (
    MEASURED,
    STACK,
    Row,
    measured,
    named,
    of_stack,
    scope,
)
from embassay.protocols.tables import Column, ColumnTable

ENDS = (Column("95% low", "signed", 3), Column("95% high", "signed", 3))
DATASET = Column("Dataset", "text")


def own(findings: Findings) -> Iterator[ColumnTable]:
    """`rag_stacks`, `rag_frontier`, `rag_alternatives`, `rag_shares`, `rag_steps`, `rag_effects`, `rag_routing`,
    `rag_guidance` and `rag_left_out`."""
    yield _stacks(findings)
    yield _frontiers(findings)
    yield _alternatives(findings)
    yield _shares(findings)
    yield _steps(findings)
    yield _effects(findings)
    yield _routing(findings)
    yield _guidance(findings)
    yield _left(findings)


def _stacks(findings: Findings) -> ColumnTable:
    parts = sorted({name for part in findings.parts for one in part.stacks for name in one.usd})
    columns = (
        *STACK, *named(findings, MEASURED), *(Column(f"USD {name}", decimals=4) for name in parts),
        Column("AvgPerf", decimals=3), *TOGETHER, *MEMORY, Column("Frontiers", "text"),
    )  # fmt: skip
    rows = [
        (
            *of_stack(part, one), *measured(findings, one), *(one.usd.get(name) for name in parts), one.average,
            *_together(one), *_memory(one.memory), "; ".join(one.on),
        )
        for part in findings.parts
        for one in part.stacks
    ]  # fmt: skip
    note = "USD by part, per 1,000 queries; what a generator reads decides nothing. Bytes over all datasets together."
    return ColumnTable("rag_stacks", "Every stack", columns, tuple(rows), note)


TOGETHER = (
    Column("At once", decimals=0),
    Column("p50 ms at once", decimals=1),
    Column("p95 ms at once", decimals=1),
)
MEMORY = tuple(
    Column(name, decimals=0)
    for name in ("Vector bytes, formula", "Graph bytes, formula", "Disk bytes", "Memory bytes")
)


def _together(one: StackFacts) -> Row:
    """Times with several queries in flight, where they were taken."""
    return (
        (None, None, None) if one.together is None else (one.concurrency, one.together.p50, one.together.p95)
    )


def _memory(one: Memory) -> Row:
    return one.vectors, one.graph, one.disk, one.memory


def _frontiers(findings: Findings) -> ColumnTable:
    columns = (Column("Frontier", "text"), Column("Measure", "text"), *STACK, *named(findings, MEASURED))
    rows: list[Row] = []
    for part in findings.parts:
        by_id = {one.id: one for one in part.stacks}
        for frontier in part.frontiers:
            for id in frontier.stacks:
                one = by_id[id]
                rows.append((
                    frontier.name, frontier.measure, *of_stack(part, one), *measured(findings, one)
                ))  # fmt: skip
    return ColumnTable("rag_frontier", "Frontiers", columns, tuple(rows))


def _alternatives(findings: Findings) -> ColumnTable:
    columns = (
        DATASET, Column("Recommended", "text"), Column("Other", "text"), Column("Stack", "text"),
        Column("Quality", "signed", 3), *ENDS, Column("ms", "signed", 1), Column("USD per 1,000", "signed", 4),
    )  # fmt: skip
    rows = [
        (
            scope(part),
            part.recommendation.stack,
            one.kind,
            one.stack,
            *_ends(one.quality),
            one.milliseconds,
            one.usd,
        )
        for part in findings.parts
        for one in part.recommendation.alternatives
    ]
    return ColumnTable("rag_alternatives", "Other choices, less the recommended one", columns, tuple(rows))


def _shares(findings: Findings) -> ColumnTable:
    columns = (DATASET, Column("Axis", "text"), Column("Winner", "text"), Column("Share", decimals=3))
    rows: list[Row] = []
    for part in findings.parts:
        found = part.recommendation
        if found.share is not None:
            rows.append((scope(part), "stack", found.stack, found.share))
        rows += [
            (scope(part), one.axis or "stack", one.name, one.share)
            for one in (*found.runners, *found.by_axis)
        ]
    note = f"Of {findings.asked.resamples} resamples of queries and timed queries."
    return ColumnTable("rag_shares", "How often the rule takes what", columns, tuple(rows), note)


def _steps(findings: Findings) -> ColumnTable:
    columns = (
        DATASET, Column("Family", "text"), Column("K", decimals=0), Column("Next K", decimals=0),
        Column("Measure", "text"), Column("Gain", "signed", 3), *ENDS, Column("ms more", "signed", 1),
        Column("USD more", "signed", 4), Column("Per ms", "signed", 7), Column("Kind", "text"),
    )  # fmt: skip
    rows = [
        (
            scope(part), one.family, one.k, one.next_k, one.measure, *_ends(one.gain), one.milliseconds, one.usd,
            one.per_ms, one.kind,
        )
        for part in findings.parts
        for one in part.steps
    ]  # fmt: skip
    return ColumnTable("rag_steps", "What a larger K brings", columns, tuple(rows))


def _effects(findings: Findings) -> ColumnTable:
    columns = (
        DATASET, Column("Axis", "text"), Column("Value", "text"), Column("Less", "text"), Column("Pairs", decimals=0),
        Column("Measure", "text"), Column("Difference", "signed", 3), *ENDS, Column("ms", "signed", 1),
        Column("USD", "signed", 4),
    )  # fmt: skip
    rows = [
        (
            scope(part), one.axis, one.value, one.other, one.pairs, one.measure, *_ends(one.quality),
            one.milliseconds.value, one.usd,
        )
        for part in findings.parts
        for one in part.effects
    ]  # fmt: skip
    return ColumnTable("rag_effects", "What each axis does, all else equal", columns, tuple(rows))


def _routing(findings: Findings) -> ColumnTable:
    measures = list(
        dict.fromkeys(
            (one.measure, one.k) for part in findings.parts for route in part.routes for one in route.against
        )
    )
    columns = (
        DATASET, Column("Family", "text"), Column("Signal", "text"), Column("Queries", decimals=0),
        Column("Escalated", decimals=3), Column("USD"), Column("USD at 50"), Column("USD at 100"),
        Column("Mean ms", decimals=1), Column("ms at 50", decimals=1), Column("ms at 100", decimals=1),
        *(
            column
            for name, k in measures
            for column in (Column(f"{name} less K {k}", "signed", 3), *(Column(f"{end} ({name}, {k})", "signed", 3)
                for end in ("low", "high")))
        ),
    )  # fmt: skip
    rows: list[Row] = []
    for part in findings.parts:
        for one in part.routes:
            found = {(other.measure, other.k): other.difference for other in one.against}
            differences = [value for key in measures for value in _ends(found[key])]
            rows.append((
                scope(part), one.family, one.signal, one.evaluated, one.escalated.value, one.usd, one.usd_less,
                one.usd_more, one.milliseconds, one.milliseconds_less, one.milliseconds_more, *differences,
            ))  # fmt: skip
    return ColumnTable("rag_routing", "Routing between K 50 and K 100", columns, tuple(rows))


def _guidance(findings: Findings) -> ColumnTable:
    columns = (DATASET, Column("Advice", "text"), Column("On this data", "text"), Column("Why", "text"))
    rows = [(scope(part), one.line, one.status, one.text) for part in findings.parts for one in part.guidance]
    return ColumnTable("rag_guidance", "The source's advice", columns, tuple(rows))


def _left(findings: Findings) -> ColumnTable:
    columns = (DATASET, Column("Stack", "text"), Column("State", "text"), Column("Reason", "text"))
    rows = [
        (one.dataset, one.configuration, "failed" if one.failed else "skipped", one.reason)
        for one in findings.left
    ]
    return ColumnTable("rag_left_out", "Combinations that were not measured", columns, tuple(rows))


def _ends(value: Figure) -> tuple[float | None, float | None, float | None]:
    return value.value, value.low, value.high
