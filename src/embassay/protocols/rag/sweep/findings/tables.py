"""The tables of a sweep: those that the source numbers (spec rag 9), by its numbers, and ours by words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from embassay.protocols.kernel.tables import Column, ColumnTable, Value
from embassay.protocols.rag.golden.summary import Figure
from embassay.protocols.rag.sweep.findings.record import Findings, Memory, Part, StackFacts
from embassay.protocols.rag.sweep.stacks import GENERATE, NONE, SPARSE, WHOLE

Row = tuple[Value, ...]

ALL = "all"
STACK = (
    Column("Dataset", "text"), Column("Stack", "text"), Column("Encoder", "text"), Column("Dimensions", decimals=0),
    Column("Index", "text"), Column("K", decimals=0), Column("Reranker", "text"), Column("Mode", "text")
)  # fmt: skip
MEASURED = (
    Column("USD per 1,000"), Column("p50 ms", decimals=1), Column("p95 ms", decimals=1), Column("n", decimals=0)
)  # fmt: skip


def part_scope(part: Part) -> str:
    """The dataset, or `all`."""
    return part.dataset or ALL


def of_stack(part: Part, stack: StackFacts) -> Row:
    """Under STACK."""
    axes = stack.axes
    return (
        part_scope(part), stack.id, axes["encoder"], axes["dims"], axes["index"], axes["k"], axes["reranker"],
        axes["mode"]
    )  # fmt: skip


def with_measures(findings: Findings, columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns with one for each measure after them."""
    return (*columns, *(Column(name, decimals=3) for name in findings.measures))


def measured_cells(findings: Findings, stack: StackFacts) -> Row:
    """Under MEASURED and the measures."""
    total = stack.time("total")
    samples = None if total is None else total.samples
    return (
        stack.cost,
        *percentiles(stack, "total"),
        samples,
        *(stack.value(name) for name in findings.measures),
    )


def is_reranked(stack: StackFacts) -> bool:
    """Whether a reranker orders its candidates."""
    return bool(stack.axes["reranker"] != NONE)


ENDS = (Column("95% low", "signed", 3), Column("95% high", "signed", 3))
DATASET = Column("Dataset", "text")


def own_tables(findings: Findings) -> Iterator[ColumnTable]:
    """`rag_stacks`, `rag_frontier`, `rag_alternatives`, `rag_shares`, `rag_steps`, `rag_effects`, `rag_routing`,
    `rag_guidance` and `rag_left_out`."""
    yield _stacks_table(findings)
    yield _frontiers_table(findings)
    yield _alternatives_table(findings)
    yield _shares_table(findings)
    yield _steps_table(findings)
    yield _effects_table(findings)
    yield _routing_table(findings)
    yield _guidance_table(findings)
    yield _left_table(findings)


def _stacks_table(findings: Findings) -> ColumnTable:
    parts = sorted({name for part in findings.parts for stack in part.stacks for name in stack.usd})
    columns = (
        *STACK, *with_measures(findings, MEASURED), *(Column(f"USD {name}", decimals=4) for name in parts),
        Column("AvgPerf", decimals=3), *TOGETHER, *MEMORY, Column("Frontiers", "text")
    )  # fmt: skip
    rows = [
        (
            *of_stack(part, stack), *measured_cells(findings, stack), *(stack.usd.get(name) for name in parts),
            stack.average,
            *_load_cells(stack), *_memory_cells(stack.memory), "; ".join(stack.on),
        )
        for part in findings.parts
        for stack in part.stacks
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


def _load_cells(stack: StackFacts) -> Row:
    """Times with several queries in flight, where they were taken."""
    return (
        (None, None, None)
        if stack.together is None
        else (stack.concurrency, stack.together.p50, stack.together.p95)
    )


def _memory_cells(memory: Memory) -> Row:
    return memory.vectors, memory.graph, memory.disk, memory.memory


def _frontiers_table(findings: Findings) -> ColumnTable:
    columns = (
        Column("Frontier", "text"),
        Column("Measure", "text"),
        *STACK,
        *with_measures(findings, MEASURED),
    )
    rows: list[Row] = []
    for part in findings.parts:
        by_id = {stack.id: stack for stack in part.stacks}
        for frontier in part.frontiers:
            for id in frontier.stacks:
                facts = by_id[id]
                rows.append((
                    frontier.name, frontier.measure, *of_stack(part, facts), *measured_cells(findings, facts)
                ))  # fmt: skip
    return ColumnTable("rag_frontier", "Frontiers", columns, tuple(rows))


def _alternatives_table(findings: Findings) -> ColumnTable:
    columns = (
        DATASET, Column("Recommended", "text"), Column("Other", "text"), Column("Stack", "text"),
        Column("Quality", "signed", 3), *ENDS, Column("ms", "signed", 1), Column("USD per 1,000", "signed", 4)
    )  # fmt: skip
    rows = [
        (
            part_scope(part),
            part.recommendation.stack,
            alternative.kind,
            alternative.stack,
            *_value_cells(alternative.quality),
            alternative.milliseconds,
            alternative.usd,
        )
        for part in findings.parts
        for alternative in part.recommendation.alternatives
    ]
    return ColumnTable("rag_alternatives", "Other choices minus the recommended one", columns, tuple(rows))


def _shares_table(findings: Findings) -> ColumnTable:
    columns = (DATASET, Column("Axis", "text"), Column("Winner", "text"), Column("Share", decimals=3))
    rows: list[Row] = []
    for part in findings.parts:
        recommendation = part.recommendation
        if recommendation.share is not None:
            rows.append((part_scope(part), "stack", recommendation.stack, recommendation.share))
        rows += [
            (part_scope(part), share.axis or "stack", share.name, share.share)
            for share in (*recommendation.runners, *recommendation.by_axis)
        ]
    note = f"Of {findings.asked.resamples} resamples of queries and timed queries."
    return ColumnTable("rag_shares", "How often the rule takes what", columns, tuple(rows), note)


def _steps_table(findings: Findings) -> ColumnTable:
    columns = (
        DATASET, Column("Family", "text"), Column("K", decimals=0), Column("Next K", decimals=0),
        Column("Measure", "text"), Column("Gain", "signed", 3), *ENDS, Column("ms more", "signed", 1),
        Column("USD more", "signed", 4), Column("Per ms", "signed", 7), Column("Kind", "text")
    )  # fmt: skip
    rows = [
        (
            part_scope(part), step.family, step.k, step.next_k, step.measure, *_value_cells(step.gain),
            step.milliseconds, step.usd,
            step.per_ms, step.kind,
        )
        for part in findings.parts
        for step in part.steps
    ]  # fmt: skip
    return ColumnTable("rag_steps", "What a larger K brings", columns, tuple(rows))


def _effects_table(findings: Findings) -> ColumnTable:
    columns = (
        DATASET, Column("Axis", "text"), Column("Value", "text"), Column("Less", "text"), Column("Pairs", decimals=0),
        Column("Measure", "text"), Column("Difference", "signed", 3), *ENDS, Column("ms", "signed", 1),
        Column("USD", "signed", 4)
    )  # fmt: skip
    rows = [
        (
            part_scope(part), effect.axis, effect.value, effect.other, effect.pairs, effect.measure,
            *_value_cells(effect.quality),
            effect.milliseconds.value, effect.usd,
        )
        for part in findings.parts
        for effect in part.effects
    ]  # fmt: skip
    return ColumnTable("rag_effects", "What each axis does, all else equal", columns, tuple(rows))


def _routing_table(findings: Findings) -> ColumnTable:
    measures = list(
        dict.fromkeys(
            (against.measure, against.k)
            for part in findings.parts
            for route in part.routes
            for against in route.against
        )
    )
    columns = (
        DATASET, Column("Family", "text"), Column("Signal", "text"), Column("Queries", decimals=0),
        Column("Escalated", decimals=3), Column("USD"), Column("USD at 50"), Column("USD at 100"),
        Column("Mean ms", decimals=1), Column("ms at 50", decimals=1), Column("ms at 100", decimals=1),
        *(
            column
            for name, k in measures
            for column in (Column(f"{name} minus K {k}", "signed", 3), *(Column(f"{end} ({name}, {k})", "signed", 3)
                for end in ("low", "high")))
        )
    )  # fmt: skip
    rows: list[Row] = []
    for part in findings.parts:
        for way in part.routes:
            by_k = {(other.measure, other.k): other.difference for other in way.against}
            differences = [value for key in measures for value in _value_cells(by_k[key])]
            rows.append((
                part_scope(part), way.family, way.signal, way.evaluated, way.escalated.value, way.usd, way.usd_less,
                way.usd_more, way.milliseconds, way.milliseconds_less, way.milliseconds_more, *differences
            ))  # fmt: skip
    return ColumnTable("rag_routing", "Routing between K 50 and K 100", columns, tuple(rows))


def _guidance_table(findings: Findings) -> ColumnTable:
    columns = (DATASET, Column("Advice", "text"), Column("On this data", "text"), Column("Why", "text"))
    rows = [
        (part_scope(part), advice.line, advice.status, advice.text)
        for part in findings.parts
        for advice in part.guidance
    ]
    return ColumnTable("rag_guidance", "The source's advice", columns, tuple(rows))


def _left_table(findings: Findings) -> ColumnTable:
    columns = (DATASET, Column("Stack", "text"), Column("State", "text"), Column("Reason", "text"))
    rows = [
        (left.dataset, left.configuration, "failed" if left.failed else "skipped", left.reason)
        for left in findings.left
    ]
    return ColumnTable("rag_left_out", "Combinations that were not measured", columns, tuple(rows))


def _value_cells(value: Figure) -> tuple[float | None, float | None, float | None]:
    return value.value, value.low, value.high


def indexes(findings: Findings) -> ColumnTable:
    """Table 7: each index against the flat one with the same vectors."""
    measures = list(
        dict.fromkeys(name for part in findings.parts for index in part.indexes for name in index.changes)
    )
    cutoffs = list(
        dict.fromkeys(k for part in findings.parts for index in part.indexes for k in index.recall)
    )
    has_ef = any(quality.ef is not None for part in findings.parts for quality in part.indexes)
    columns = (
        Column("Dataset", "text"), Column("Encoder", "text"), Column("Dimensions", decimals=0), Column("Index", "text"),
        *(Column(f"recall@{k}", decimals=3) for k in cutoffs),
        *(Column(f"{name} %", "signed", 1) for name in measures),
        Column("Retrieve ms"), Column("Retrieve p95 ms"), Column("Flat ms"), Column("Flat p95 ms"),
        Column("Retrieve %", "signed", 1), Column("Memory bytes", decimals=0),
        Column("Estimated bytes", decimals=0), Column("Build s", decimals=1), Column("Within 2%", "text"),
        *([Column("ef found", decimals=0)] if has_ef else [])
    )  # fmt: skip
    rows: list[Row] = []
    for part in findings.parts:
        for index in part.indexes:
            parts = (index.memory.vectors, index.memory.graph)
            estimate = None if None in parts else sum(value or 0.0 for value in parts)
            change = (
                100 * (index.retrieve_ms / index.retrieve_ms_flat - 1) if index.retrieve_ms_flat > 0 else None
            )
            rows.append((
                part_scope(part), index.encoder, index.dims, index.index, *(index.recall.get(k) for k in cutoffs),
                *(index.changes.get(name) for name in measures), index.retrieve_ms, index.retrieve_p95,
                index.retrieve_ms_flat, index.retrieve_p95_flat, change,
                index.memory.memory, estimate, index.build_seconds, "yes" if index.within else "no",
                *([index.ef] if has_ef else [])
            ))  # fmt: skip
    note = "Changes in percent of the flat index with the same vectors."
    return ColumnTable("rag_table7", "Approximate search and quantisation", columns, tuple(rows), note)


def scenarios(findings: Findings) -> ColumnTable:
    """Table 8: the stacks that stand for ways to choose."""
    columns = (Column("Scenario", "text"), Column("How", "text"), *STACK, *with_measures(findings, MEASURED))
    rows: list[Row] = []
    for part in findings.parts:
        for scenario in part.scenarios:
            stack = part.stack(scenario.stack) if scenario.stack else None
            facts: Sequence[Value] = (
                (*of_stack(part, stack), *measured_cells(findings, stack))
                if stack is not None
                else (part_scope(part), f"none; nearest: {scenario.nearest}", *[None] * (len(columns) - 4))
            )
            rows.append((scenario.name, scenario.how, *facts))
    return ColumnTable("rag_table8", "Scenarios", columns, tuple(rows))


def efficiency(findings: Findings) -> ColumnTable:
    """Table 9: AvgPerf over the seconds of reranking and of the whole query, its answer with it where one is made."""
    answered = any(stack.time(WHOLE) for part in findings.parts for stack in part.stacks)
    columns = (
        Column("Rank", decimals=0), *STACK, Column("AvgPerf", decimals=3),
        Column("Per second of reranking", decimals=3),
        *milliseconds("Rerank"), Column("Per second", decimals=3), *milliseconds("Total"),
        *((*milliseconds("Answer"), *milliseconds("End to end")) if answered else ())
    )  # fmt: skip
    rows: list[Row] = []
    for part in findings.parts:
        ranked = [stack for stack in part.stacks if stack.average is not None]
        ranked.sort(key=lambda row: (-(row.per_rerank_second or 0.0), -(row.per_second or 0.0), row.id))
        for place, facts in enumerate(ranked, start=1):
            rows.append((
                place, *of_stack(part, facts), facts.average, facts.per_rerank_second, *percentiles(facts, "rerank"),
                facts.per_second, *percentiles(facts, "total"),
                *((*percentiles(facts, GENERATE), *percentiles(facts, WHOLE)) if answered else ())
            ))  # fmt: skip
    weights = ", ".join(f"{name} x {weight:g}" for name, weight in findings.asked.efficiency.items())
    note = (
        f"AvgPerf: the mean of {weights}. "
        "For a short list only: AvgPerf over seconds (p50) says nothing of how good a stack is."
    )
    return ColumnTable("rag_table9", "Efficiency", columns, tuple(rows), note)


def milliseconds(stage: str) -> tuple[Column, Column]:
    """The columns of a stage's times: p50 under the stage's name, and p95."""
    return Column(f"{stage} ms", decimals=1), Column(f"{stage} p95 ms", decimals=1)


def percentiles(stack: StackFacts, stage: str) -> tuple[float | None, float | None]:
    """p50 and p95 of a stage, under `milliseconds`."""
    time = stack.time(stage)
    return (None, None) if time is None else (time.p50, time.p95)


def tokens(findings: Findings) -> ColumnTable:
    """Table 14: tokens of one candidate: query, passage and metadata."""
    columns = (*STACK, Column("Tokens per candidate", decimals=1), Column("SD", decimals=1))
    rows = [
        (*of_stack(part, stack), stack.tokens, stack.tokens_sd)
        for part in findings.parts
        for stack in part.stacks
        if is_reranked(stack)
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
        (*of_stack(part, stack), time.p50, time.p95, time.samples)
        for part in findings.parts
        for stack in part.stacks
        if stack.axes["reranker"] == name
        if (time := stack.time("rerank")) is not None
    ]
    return ColumnTable(f"rag_table{number}", f"Time of {name} by K", columns, tuple(rows))


Pick = Callable[[StackFacts], bool]


def sweep_tables(findings: Findings) -> Iterator[ColumnTable]:
    """Every table that has rows. Numbered ones hold what the source's do, of this sweep."""
    every = [*_numbered_tables(findings), *own_tables(findings)]
    yield from (table for table in every if table.rows)


def _numbered_tables(findings: Findings) -> Iterator[ColumnTable]:
    yield _quality_table(findings, 1, "Dense search alone", _has_values(mode="dense", reranker=NONE))
    yield _best_stacks(findings)
    yield replace(
        _quality_table(findings, 1, "Search by words alone", _has_values(mode=SPARSE, reranker=NONE)),
        name="rag_sparse",
    )
    yield _ceilings_table(findings, 3, "Ceilings (PROC) of hybrid pools", _has_values(mode="hybrid"))
    yield _reached_table(findings)
    for number, cutoff in ((5, 10), (6, 30)):
        yield _leaderboard_table(findings, number, cutoff)
    yield indexes(findings)
    yield scenarios(findings)
    yield efficiency(findings)
    yield tokens(findings)
    strong, lite = end_rerankers(findings)
    for number, name in ((15, strong), (16, lite)):
        if name:
            yield reranking(findings, number, name)
    for i, k in enumerate(sweep_depths(findings)[:4]):
        if lite:
            yield _quality_table(findings, 17 + i, f"{lite}, K {k}", _has_values(reranker=lite, k=k))
        title = f"Ceilings (PROC) of dense pools, K {k}"
        yield _ceilings_table(findings, 21 + i, title, _has_values(mode="dense", reranker=NONE, k=k))


def _has_values(**axes: Value) -> Pick:
    """Whether a stack has these values."""
    return lambda stack: all(stack.axes[axis] == value for axis, value in axes.items())


def sweep_depths(findings: Findings) -> list[int]:
    """Every K of the sweep, ascending."""
    return sorted({stack.axes["k"] for stack in findings.parts[0].stacks})


def end_rerankers(findings: Findings) -> tuple[str, str]:
    """The dearest reranker, and the cheapest where there are several; empty where there is none."""
    prices: dict[str, float] = {}
    for stack in findings.parts[0].stacks:
        if is_reranked(stack):
            price = stack.usd.get("rerank", 0.0) / max(1, stack.axes["k"])
            prices[stack.axes["reranker"]] = max(prices.get(stack.axes["reranker"], 0.0), price)
    ordered = sorted(prices, key=lambda name: (-prices[name], name))
    return (ordered[0] if ordered else ""), (ordered[-1] if len(ordered) > 1 else "")


def _picked_stacks(findings: Findings, pick: Pick) -> Iterator[tuple[Part, StackFacts]]:
    return ((part, stack) for part in findings.parts for stack in part.stacks if pick(stack))


def _quality_table(findings: Findings, number: int, title: str, pick: Pick) -> ColumnTable:
    columns = (*STACK, *(Column(name, decimals=3) for name in findings.measures), *TIMES)
    rows = [
        (
            *of_stack(part, stack),
            *(stack.value(name) for name in findings.measures),
            *(value for stage in ("embed", "retrieve", "total") for value in percentiles(stack, stage)),
        )
        for part, stack in _picked_stacks(findings, pick)
    ]
    return ColumnTable(f"rag_table{number}", title, columns, tuple(rows), "Times in ms: p50, and p95.")


TIMES = (*milliseconds("Embed"), *milliseconds("Retrieve"), *milliseconds("Total"))


def _best_stacks(findings: Findings) -> ColumnTable:
    """Of each mode and reranker the best stack by the measure that decides."""
    measure, rows = findings.asked.measure, []
    for part in findings.parts:
        best: dict[tuple[str, str], StackFacts] = {}
        for stack in part.stacks:
            key = (stack.axes["mode"], stack.axes["reranker"])
            if stack.value(measure) is not None and (
                key not in best or (stack.value(measure) or 0.0) > (best[key].value(measure) or 0.0)
            ):
                best[key] = stack
        rows += [(*of_stack(part, facts), *measured_cells(findings, facts)) for facts in best.values()]
    title = f"Stacks: of each mode and reranker the best by {measure}"
    return ColumnTable("rag_table2", title, (*STACK, *with_measures(findings, MEASURED)), tuple(rows))


def _ceilings_table(findings: Findings, number: int, title: str, pick: Pick) -> ColumnTable:
    columns = (*STACK, *(Column(f"PROC {name}", decimals=3) for name in findings.measures))
    rows = []
    for part, stack in _picked_stacks(findings, pick):
        ceilings = [
            quality.ceiling if (quality := stack.measured(name)) else None for name in findings.measures
        ]
        if any(value is not None for value in ceilings):
            rows.append((*of_stack(part, stack), *ceilings))
    return ColumnTable(f"rag_table{number}", title, columns, tuple(rows))


def _reached_table(findings: Findings) -> ColumnTable:
    """Actual, PROC and %PROC of the stacks on the main frontier and of the recommended one."""
    columns = (
        *STACK, Column("Measure", "text"), Column("Actual", decimals=3), Column("PROC", decimals=3),
        Column("%PROC", decimals=1), Column("95% low", decimals=1), Column("95% high", decimals=1)
    )  # fmt: skip
    rows: list[Row] = []
    for part in findings.parts:
        main = set(part.frontiers[0].stacks) | {part.recommendation.stack}
        for stack in part.stacks:
            for quality in stack.quality if stack.id in main else ():
                if quality.reached is not None:
                    shares = (quality.reached.value, quality.reached.low, quality.reached.high)
                    rows.append((
                        *of_stack(part, stack), quality.measure, quality.value.value, quality.ceiling,
                        *(None if share is None else 100 * share for share in shares)
                    ))  # fmt: skip
    return ColumnTable("rag_table4", "Actual, PROC and %PROC on the frontier", columns, tuple(rows))


def _leaderboard_table(findings: Findings, number: int, cutoff: int) -> ColumnTable:
    base = findings.asked.measure.partition("@")[0]
    measure = f"{base}@{cutoff}"
    columns = (Column("Rank", decimals=0), *STACK, *(
        Column(name, decimals=3) for name in (measure, "95% low", "95% high", "PROC")), Column("%PROC", decimals=1)
    )  # fmt: skip
    rows: list[Row] = []
    for part in findings.parts:
        rows_of = [(stack, stack.measured(measure)) for stack in part.stacks]
        ranked = [(stack, q) for stack, q in rows_of if q is not None and q.value.value is not None]
        ranked.sort(key=lambda pair: (-(pair[1].value.value or 0.0), pair[0].latency, pair[0].id))
        for place, (facts, q) in enumerate(ranked, start=1):
            share = None if q.reached is None or q.reached.value is None else 100 * q.reached.value
            rows.append((
                place, *of_stack(part, facts), q.value.value, q.value.low, q.value.high, q.ceiling, share
            ))  # fmt: skip
    note = "Rows in the order of the mean: neighbours whose intervals overlap need not differ."
    return ColumnTable(f"rag_table{number}", f"Leaderboard by {measure}", columns, tuple(rows), note)
