"""Columns that several tables share: which stack it is, and what was measured of it."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols.rag.sweep.configuration import NONE
from embassay.protocols.rag.sweep.findings.record import Findings, Part, StackFacts
from embassay.protocols.tables import Column, Value

Row = tuple[Value, ...]

ALL = "all"
STACK = (
    Column("Dataset", "text"), Column("Stack", "text"), Column("Encoder", "text"), Column("Dimensions", decimals=0),
    Column("Index", "text"), Column("K", decimals=0), Column("Reranker", "text"), Column("Mode", "text"),
)  # fmt: skip
MEASURED = (
    Column("USD per 1,000"), Column("p50 ms", decimals=1), Column("p95 ms", decimals=1), Column("n", decimals=0),
)  # fmt: skip


def scope(part: Part) -> str:
    """The dataset, or `all`."""
    return part.dataset or ALL


def of_stack(part: Part, one: StackFacts) -> Row:
    """Under STACK."""
    axes = one.axes
    return (
        scope(part), one.id, axes["encoder"], axes["dims"], axes["index"], axes["k"], axes["reranker"], axes["mode"],
    )  # fmt: skip


def named(findings: Findings, columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns with one for each measure after them."""
    return (*columns, *(Column(name, decimals=3) for name in findings.measures))


def measured(findings: Findings, one: StackFacts) -> Row:
    """Under MEASURED and the measures."""
    total = one.time("total")
    times: Row = (None, None, None) if total is None else (total.p50, total.p95, total.samples)
    return one.cost, *times, *(one.value(name) for name in findings.measures)


def is_reranked(one: StackFacts) -> bool:
    """Whether a reranker orders its candidates."""
    return bool(one.axes["reranker"] != NONE)
