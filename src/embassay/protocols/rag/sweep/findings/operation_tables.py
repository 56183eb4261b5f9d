"""Tables of what stacks take: indexes, scenarios, efficiency, tokens and times of rerankers."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols.rag.sweep.findings.record import Findings
from embassay.protocols.rag.sweep.findings.table_columns import (
    MEASURED,
    STACK,
    Row,
    is_reranked,
    measured,
    named,
    of_stack,
    scope,
)
from embassay.protocols.tables import Column, ColumnTable, Value


def indexes(findings: Findings) -> ColumnTable:
    """Table 7: each index against the flat one with the same vectors."""
    measures = list(
        dict.fromkeys(name for part in findings.parts for one in part.indexes for name in one.changes)
    )
    cutoffs = list(dict.fromkeys(k for part in findings.parts for one in part.indexes for k in one.recall))
    columns = (
        Column("Dataset", "text"), Column("Encoder", "text"), Column("Dimensions", decimals=0), Column("Index", "text"),
        *(Column(f"recall@{k}", decimals=3) for k in cutoffs),
        *(Column(f"{name} %", "signed", 1) for name in measures),
        Column("Retrieve ms"), Column("Flat ms"), Column("Retrieve %", "signed", 1), Column("Memory bytes", decimals=0),
        Column("Estimated bytes", decimals=0), Column("Build s", decimals=1), Column("Within 2%", "text"),
    )  # fmt: skip
    rows: list[Row] = []
    for part in findings.parts:
        for one in part.indexes:
            parts = (one.memory.vectors, one.memory.graph)
            estimate = None if None in parts else sum(value or 0.0 for value in parts)
            change = 100 * (one.retrieve_ms / one.retrieve_ms_flat - 1) if one.retrieve_ms_flat > 0 else None
            rows.append((
                scope(part), one.encoder, one.dims, one.index, *(one.recall.get(k) for k in cutoffs),
                *(one.changes.get(name) for name in measures), one.retrieve_ms, one.retrieve_ms_flat, change,
                one.memory.memory, estimate, one.build_seconds, "yes" if one.within else "no",
            ))  # fmt: skip
    note = "Changes in percent of the flat index with the same vectors."
    return ColumnTable("rag_table7", "Approximate search and quantisation", columns, tuple(rows), note)


def scenarios(findings: Findings) -> ColumnTable:
    """Table 8: the stacks that stand for ways to choose."""
    columns = (Column("Scenario", "text"), Column("How", "text"), *STACK, *named(findings, MEASURED))
    rows: list[Row] = []
    for part in findings.parts:
        for one in part.scenarios:
            stack = part.stack(one.stack) if one.stack else None
            facts: Sequence[Value] = (
                (*of_stack(part, stack), *measured(findings, stack))
                if stack is not None
                else (scope(part), f"none; nearest: {one.nearest}", *[None] * (len(columns) - 4))
            )
            rows.append((one.name, one.how, *facts))
    return ColumnTable("rag_table8", "Scenarios", columns, tuple(rows))


def efficiency(findings: Findings) -> ColumnTable:
    """Table 9: AvgPerf over the seconds of reranking and of the whole query."""
    columns = (
        Column("Rank", decimals=0), *STACK, Column("AvgPerf", decimals=3),
        Column("Per second of reranking", decimals=3),
        Column("Rerank ms", decimals=1), Column("Per second", decimals=3), Column("Total ms", decimals=1),
    )  # fmt: skip
    rows: list[Row] = []
    for part in findings.parts:
        known = [one for one in part.stacks if one.average is not None]
        known.sort(key=lambda one: (-(one.per_rerank_second or 0.0), -(one.per_second or 0.0), one.id))
        for place, one in enumerate(known, start=1):
            rerank, total = one.time("rerank"), one.time("total")
            rows.append((
                place, *of_stack(part, one), one.average, one.per_rerank_second, rerank.p50 if rerank else None,
                one.per_second, total.p50 if total else None,
            ))  # fmt: skip
    weights = ", ".join(f"{name} x {weight:g}" for name, weight in findings.asked.efficiency.items())
    note = (
        f"AvgPerf: the mean of {weights}. "
        "For a short list only: AvgPerf over seconds (p50) says nothing of how good a stack is."
    )
    return ColumnTable("rag_table9", "Efficiency", columns, tuple(rows), note)


def tokens(findings: Findings) -> ColumnTable:
    """Table 14: tokens of one candidate: query, passage and metadata."""
    columns = (*STACK, Column("Tokens per candidate", decimals=1), Column("SD", decimals=1))
    rows = [
        (*of_stack(part, one), one.tokens, one.tokens_sd)
        for part in findings.parts
        for one in part.stacks
        if is_reranked(one)
    ]
    return ColumnTable("rag_table14", "Tokens per candidate", columns, tuple(rows))


def reranking(findings: Findings, number: int, name: str) -> ColumnTable:
    """Table 15 and 16: times of one reranker, all K."""
    columns = (
        *STACK,
        Column("Rerank p50 ms", decimals=1),
        Column("Rerank p95 ms", decimals=1),
        Column("n", decimals=0),
    )
    rows = [
        (*of_stack(part, one), time.p50, time.p95, time.samples)
        for part in findings.parts
        for one in part.stacks
        if one.axes["reranker"] == name
        if (time := one.time("rerank")) is not None
    ]
    return ColumnTable(f"rag_table{number}", f"Time of {name} by K", columns, tuple(rows))
