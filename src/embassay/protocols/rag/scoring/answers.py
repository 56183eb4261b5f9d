"""Whether the answers were right: a file of `query_id, correct`, for Acc|Hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.data.cells import key_of, number_of, wrong
from embassay.data.rows import missing_column
from embassay.data.tables import table
from embassay.errors import DataError


def read_answers(path: Path, mapping: Mapping[str, str]) -> dict[str, float]:
    """Query -> how right its answer is, 0 to 1, from JSONL, CSV, TSV or Parquet with `query_id` and `correct`.

    DataError with its line for a row without one of them, a value outside 0 to 1 and a query that is there twice with
    different ones. `mapping` is target column -> the file's.
    """
    source = table(path)
    names = {target: mapping.get(target, target) for target in ("query_id", "correct")}
    for target, name in names.items():
        if name not in source.columns():
            raise missing_column(source, name, target=target)
    found: dict[str, float] = {}
    for row in source.rows(tuple(names.values())):
        query = key_of(row, names["query_id"])
        cell = row.cells.get(names["correct"])
        value = float(cell) if isinstance(cell, bool) else number_of(row, names["correct"])
        if value is None or not 0 <= value <= 1:
            raise wrong(row, names["correct"], "a number from 0 to 1")
        if found.setdefault(query, value) != value:
            raise DataError(
                f"query {query!r} is answered twice, differently", path=path, line=row.line,
                expected=f"{found[query]:g}, as before", found=f"{value:g}", mend="Keep one row per query.",
            )  # fmt: skip
    return found


def answers_of(answers: Mapping[str, float], queries: Sequence[str], where: str) -> NDArray[np.float64]:
    """The correctness of each query's answer, (q,), NaN for one without; DataError if none has one."""
    values = np.array([answers.get(query, np.nan) for query in queries], dtype=np.float64)
    if ((values < 0) | (values > 1)).any():
        raise DataError("an answer is not from 0 to 1", path=where, mend="1 is right, 0 is wrong.")
    if np.isnan(values).all():
        raise DataError(
            "no answer is to a judged query", path=where, expected=f"queries such as {queries[0]!r}",
            found=", ".join(map(repr, list(answers)[:3])), mend="Check that answers and qrels belong together.",
        )  # fmt: skip
    return values
