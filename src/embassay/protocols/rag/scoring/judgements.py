"""From the lines of qrels to grades from 1 to 5."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embassay.data.grades import fitting_map, grade_map
from embassay.data.judged_runs import Entries
from embassay.measures.graded import GRADES

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Graded1To5:
    """Judgements as grades: a frame with `query`, `doc` and `grade` (1 to 5), each query and document once.

    `dropped` judgements have a value that the map leaves out, `repeated` ones stand there twice alike.
    """

    frame: pl.DataFrame
    grade_map: str
    dropped: int
    repeated: int


def graded(qrels: Entries, grades: str | None) -> Graded1To5:
    """The judgements through the grade map `grades`, `identity` if it is None.

    DataError for a value that the map does not have (naming one that fits), for a query and document with two
    judgements that differ, and where nothing is left. Without a map, judgements that are all the lowest grade are one
    too: that is how binary qrels look on this scale.
    """
    import polars as pl

    table = grade_map(grades or "identity")
    values = qrels.frame["value"].unique().to_list()
    unknown = [value for value in values if value not in table]
    if unknown or (grades is None and values == [1.0]):
        raise _unfitting(qrels, grades, table, values, unknown)
    kept = {float(value): grade for value, grade in table.items() if grade is not None}
    frame = qrels.frame.with_row_index("row").filter(pl.col("value").is_in(list(kept)))
    if not len(frame):
        raise qrels.fault(0, "the grade map leaves no judgement", mend="Name another with --grades.")
    frame = frame.with_columns(
        pl.col("value").replace_strict(list(kept), list(kept.values()), return_dtype=pl.Int8).alias("grade")
    )
    single = frame
    if _may_repeat(frame):
        _check_repeats(qrels, frame)
        single = frame.unique(["query", "doc"], keep="first", maintain_order=True)
    return Graded1To5(
        single.select("query", "doc", "grade"), grades or "identity",
        len(qrels.frame) - len(frame), len(frame) - len(single),
    )  # fmt: skip


def counts_by_grade(grade: NDArray[np.int8]) -> tuple[int, ...]:
    """How many are of grade 1, 2, 3, 4, 5."""
    return tuple(int(np.count_nonzero(grade == one)) for one in GRADES)


def _unfitting(
    qrels: Entries,
    grades: str | None,
    table: Mapping[float, int | None],
    values: Iterable[float],
    unknown: list[float],
) -> Exception:
    fitting = fitting_map(values)
    if not unknown:
        return qrels.fault(
            0, "every judgement is 1, the lowest of five grades", expected="grades from 1 to 5", found="only 1",
            mend="If 1 means relevant, add --grades binary; if they are grades, --grades identity.",
        )  # fmt: skip
    first = int(qrels.frame["value"].is_in(unknown).arg_true()[0])
    value = qrels.frame["value"][first]
    named = f"the grade map {grades}" if grades else "the grades 1 to 5"
    return qrels.fault(
        first, f"the judgement is not in {named}", expected=", ".join(f"{known:g}" for known in sorted(table)),
        found=f"{value:g}", mend=f"The file's values fit --grades {fitting}; or write a map as value=grade,...",
    )  # fmt: skip


def _may_repeat(frame: pl.DataFrame) -> bool:
    """False where no query and document stand there twice; by hashes, so it may be true for others as well."""
    import polars as pl

    both = pl.col("query").hash(1) ^ pl.col("doc").hash(2)
    return int(frame.select(both.n_unique()).item()) < len(frame)


def _check_repeats(qrels: Entries, frame: pl.DataFrame) -> None:
    """DataError for the first line that judges a query and document otherwise than a line before."""
    import polars as pl

    first = pl.col("grade").first().over("query", "doc")
    differing = frame.with_columns(first.alias("before")).filter(pl.col("grade") != pl.col("before"))
    if len(differing):
        row = differing.row(0, named=True)
        before = frame.filter((pl.col("query") == row["query"]) & (pl.col("doc") == row["doc"]))["value"][0]
        raise qrels.fault(
            row["row"], f"query {row['query']!r} and document {row['doc']!r} are judged twice, differently",
            expected=f"{before:g}, as before", found=f"{row['value']:g}",
            mend="Keep one judgement of each query and document.",
        )  # fmt: skip
