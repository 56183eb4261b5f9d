"""The rows and tables of a golden run, made from its record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from embassay.protocols.rag.golden.summary import Figure, Golden
from embassay.protocols.tables import Column, ColumnTable, Value
from embassay.records import Result

TASK = "golden"
HEADLINE = "grade4plus5_count_median"


def result_rows(golden: Golden, dataset: str, lang: str) -> list[Result]:
    """One row per quantity, the headline first."""
    found = dict(_quantities(golden))
    ordered = {HEADLINE: found[HEADLINE], **found} if HEADLINE in found else found
    return [
        Result(
            "rag", TASK, dataset, "", lang, "", golden.settings.judge, name, one.value, one.n, one.low, one.high,
            seed=golden.settings.seed, reason=one.reason or ("" if one.value is not None else "no question is done"),
        )
        for name, one in ordered.items()
    ]  # fmt: skip


def _quantities(golden: Golden) -> Iterator[tuple[str, Figure]]:
    done = sum(one.status == "done" for one in golden.queries)
    for name, value in golden.labels.items():
        yield name, Figure(value, n=done)
    yield "queries_failed", Figure(float(len(golden.failed)), n=len(golden.queries))
    if golden.tokens is not None:
        yield "tokens_per_candidate_mean", Figure(golden.tokens.mean, n=golden.tokens.n)
        yield "tokens_per_candidate_sd", Figure(golden.tokens.sd, n=golden.tokens.n)
    if golden.ranking is not None:
        yield "calls_per_query", Figure(golden.ranking.calls_per_query, n=done)
        for name, value in golden.ranking.claims.items():
            yield f"claimed_{name}", Figure(value, n=done)
        if golden.ranking.contradictions is not None:
            yield "contradicted_pairs", golden.ranking.contradictions.share
            if golden.ranking.contradictions.noise is not None:
                yield "judge_noise", golden.ranking.contradictions.noise
    if golden.repeated is not None and not golden.repeated.reason:
        for name in ("exact", "within_one", "kappa", "shift", "discordant"):
            one = getattr(golden.repeated, name)
            if one is not None:
                yield f"repeat_{name}", one


def tables(golden: Golden) -> list[ColumnTable]:
    """The label summary, tokens per candidate (the source's table 14), stages, queries, and the judge's repeats."""
    found = [_labels(golden.labels), _stages(golden), _queries(golden)]
    if golden.tokens is not None:
        found.append(_tokens(golden))
    if golden.repeated is not None and golden.repeated.table:
        found.append(_repeats(golden.repeated.table))
    return found


def _labels(labels: Mapping[str, float | None]) -> ColumnTable:
    columns = (Column("quantity", "text"), Column("value"))
    return ColumnTable("label_summary", "Labels of the golden set", columns, tuple(labels.items()))


def _stages(golden: Golden) -> ColumnTable:
    columns = (
        Column("stage", "text"), Column("does", "text"), Column("done", decimals=0), Column("kept", decimals=0),
        Column("failed", decimals=0), Column("seconds", decimals=1), Column("counts", "text"),
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = [
        (one.name, one.title, one.done, one.kept, one.failed, one.seconds, _said(one.counts))
        for one in golden.stages
    ]
    return ColumnTable("stages", "Stages", columns, tuple(rows))


def _queries(golden: Golden) -> ColumnTable:
    numbers = ("pool", "grade 5", "grade 4", "grade 3", "grade 2", "grade 1", "kept", "calls")
    columns = (
        Column("query_id", "text"), Column("status", "text"),
        *(Column(name, decimals=0) for name in numbers),
        Column("stopped", "text"), Column("reason", "text"),
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    for one in golden.queries:
        grades: tuple[Value, ...] = tuple(reversed(one.grades)) or (None,) * 5
        rows.append(
            (one.query_id, one.status, one.pool, *grades, one.kept, one.calls, one.stopped, one.reason)
        )
    return ColumnTable("queries", "Questions", columns, tuple(rows))


def _tokens(golden: Golden) -> ColumnTable:
    tokens = golden.tokens
    assert tokens is not None
    columns = (
        Column("tokenizer", "text"), Column("candidates", decimals=0), Column("mean", decimals=1),
        Column("sd", decimals=1), Column("median", decimals=0), Column("largest", decimals=0),
    )  # fmt: skip
    row = (tokens.tokenizer, tokens.n, tokens.mean, tokens.sd, tokens.median, tokens.largest)
    return ColumnTable("rag_table14", "Tokens per candidate, question and passage together", columns, (row,))


def _repeats(table: tuple[tuple[int, ...], ...]) -> ColumnTable:
    columns = (
        Column("first grade", decimals=0),
        *(Column(f"then {grade}", decimals=0) for grade in range(1, 6)),
    )
    rows = tuple((grade, *row) for grade, row in enumerate(table, start=1))
    return ColumnTable("judge_repeats", "The same passages graded twice", columns, rows)


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
