"""Tables 2 and 3 of the paper, and the numbers behind figures 3 and 4, from the rows of a judge run.

Correlations are shown times 100, errors on the scale 0 to 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from embassay.protocols.kernel.tables import Column, ColumnTable, Value
from embassay.protocols.pteb.judging.agreement import ERROR, HEADLINE
from embassay.protocols.pteb.judging.conclusions import MEAN_OF_JUDGES
from embassay.records import Result

_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])")


class Rows:
    """The rows of a run by what tells them apart."""

    def __init__(self, rows: Sequence[Result]) -> None:
        self._rows = {(row.system, row.dataset, row.measure, row.variant): row for row in rows}
        self.datasets = list(dict.fromkeys(row.dataset for row in rows if row.dataset))
        self.judges = list(dict.fromkeys(row.system for row in rows if row.system != MEAN_OF_JUDGES))

    def value(self, system: str, dataset: str, measure: str, variant: str = "", factor: float = 1.0) -> Value:
        """The value, times a factor."""
        row = self._rows.get((system, dataset, measure, variant))
        return None if row is None or row.value is None else factor * row.value

    def n(self, system: str, dataset: str, measure: str, variant: str) -> int:
        """How many pairs are behind it."""
        row = self._rows.get((system, dataset, measure, variant))
        return 0 if row is None else row.n

    def bins(self, measure: str) -> list[str]:
        """The variants of the measure, in their order."""
        variants = (variant for _, _, name, variant in self._rows if name == measure and variant)
        return list(dict.fromkeys(variants))


def tables(rows: Sequence[Result]) -> Iterator[ColumnTable]:
    """All tables that the rows can fill."""
    look = Rows(rows)
    yield _table_2(look)
    sizes = {judge: size for judge in look.judges if (size := billions(judge)) is not None}
    if len(sizes) > 1:
        yield _table_3(look, sizes)
    yield _figure_3(look)
    yield _figure_4(look)


def billions(name: str) -> float | None:
    """The size of a model, in billions of parameters, as its name says it; None where it does not.

    >>> billions("ollama:gemma3:270m"), billions("openai:Qwen3-4B?base_url=http://x/7b"), billions("openai:gpt-5-mini")
    (0.27, 4.0, None)
    """
    found = _SIZE.search(name.partition("?")[0].lower())
    return None if found is None else float(found[1]) / (1 if found[2] == "b" else 1000)


def _table_2(look: Rows) -> ColumnTable:
    rows = [
        (label, *(look.value(judge, dataset, HEADLINE, factor=100) for judge in look.judges))
        for label, dataset in _places(look)
    ]
    title = "PTEB table 2: Spearman correlation of a judge's ratings and gold scores, x 100"
    columns = (Column("Dataset", "text"), *map(Column, look.judges))
    return ColumnTable("pteb_table2", title, columns, tuple(rows))


def _table_3(look: Rows, sizes: dict[str, float]) -> ColumnTable:
    ordered = sorted(sizes, key=lambda judge: (sizes[judge], judge))
    rows = [(judge, sizes[judge], look.value(judge, "", HEADLINE, factor=100)) for judge in ordered]
    title = "PTEB table 3: judges by size, mean Spearman correlation x 100"
    columns = (Column("Judge", "text"), Column("Parameters (billions)"), Column("Score"))
    return ColumnTable("pteb_table3", title, columns, tuple(rows))


def _figure_3(look: Rows) -> ColumnTable:
    title = "PTEB figure 3: mean absolute error of ratings by gold score, both on 0 to 5, all datasets"
    rows = [(judge, *_by_bin(look, judge, "", ERROR)) for judge in look.judges]
    return ColumnTable("judge_error_by_gold", title, _columns("Judge", look.bins(ERROR)), tuple(rows))


def _figure_4(look: Rows) -> ColumnTable:
    system = MEAN_OF_JUDGES if len(look.judges) > 1 else next(iter(look.judges), "")
    title = (
        f"PTEB figure 4: Spearman correlation x 100 by mean words of a pair, averaged over {len(look.judges)} "
        f"judge{'s' if len(look.judges) != 1 else ''}"
    )
    rows = [(label, *_by_bin(look, system, dataset, HEADLINE)) for label, dataset in _places(look)]
    return ColumnTable("judge_by_words", title, _columns("Dataset", look.bins(HEADLINE)), tuple(rows))


def _places(look: Rows) -> list[tuple[str, str]]:
    """Every dataset and the mean over them, as tables and rows call them."""
    return [*((name, name) for name in look.datasets), ("Average", "")]


def _by_bin(look: Rows, system: str, dataset: str, measure: str) -> tuple[Value, ...]:
    """The value of every bin and of all of them, and the pairs in every bin."""
    factor = 100 if measure == HEADLINE else 1
    bins = look.bins(measure)
    values = (look.value(system, dataset, measure, one, factor) for one in (*bins, ""))
    return (*values, *(look.n(system, dataset, measure, one) for one in bins))


def _columns(heading: str, bins: Sequence[str]) -> tuple[Column, ...]:
    labels = [one.partition("=")[2] for one in bins]
    counts = (Column(f"n {label}", decimals=0) for label in labels)
    return (Column(heading, "text"), *map(Column, labels), Column("all"), *counts)
