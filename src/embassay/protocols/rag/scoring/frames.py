"""Values per query as a frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from embassay.protocols.rag.scoring.measured import ANSWERS, Asked, Measured

if TYPE_CHECKING:
    import polars as pl


def per_query(
    queries: Sequence[str], measures: Iterable[Asked], measured: Iterable[Measured]
) -> pl.DataFrame:
    """`run`, `query_id`, `measure`, `value` and `reason`: queries in the order of the judgements, null for no value."""
    import polars as pl

    ids = pl.Series("query_id", list(queries), dtype=pl.String)
    asked = list(measures)
    parts = []
    for run in measured:
        for one in asked:
            value = pl.Series("value", run.columns[one.name].value, nan_to_null=True)
            parts.append(
                pl.select(
                    run=pl.lit(run.run),
                    query_id=ids,
                    measure=pl.lit(one.name),
                    value=value,
                ).with_columns(
                    reason=pl.when(value.is_null()).then(pl.lit(_reason(one))).otherwise(pl.lit(""))
                )
            )
    return pl.concat(parts)


def _reason(asked: Asked) -> str:
    if asked.facts.base == ANSWERS:
        return "not all evidence is among the first, or there is no answer"
    return "the ceiling is 0 or undefined" if len(asked.parts) > 1 else asked.undefined
