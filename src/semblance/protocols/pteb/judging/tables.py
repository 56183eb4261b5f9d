"""Tables 2 and 3 of the paper, and the numbers behind figures 3 and 4, from the rows of a judge run.

Correlations are shown times 100, errors on the scale 0 to 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from semblance.protocols.pteb.judging.agreement import ERROR, HEADLINE
from semblance.protocols.pteb.judging.grid import Grid, Value
from semblance.protocols.pteb.judging.summary import MEAN_OF_JUDGES
from semblance.records import Result

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


def tables(rows: Sequence[Result]) -> Iterator[Grid]:
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


def _table_2(look: Rows) -> Grid:
    rows = [
        (label, tuple(look.value(judge, dataset, HEADLINE, factor=100) for judge in look.judges))
        for label, dataset in (*((name, name) for name in look.datasets), ("Average", ""))
    ]
    title = "PTEB table 2: Spearman correlation of a judge's ratings and gold scores, x 100"
    return Grid("pteb_table2", title, "Dataset", tuple(look.judges), tuple(rows))


def _table_3(look: Rows, sizes: dict[str, float]) -> Grid:
    ordered = sorted(sizes, key=lambda judge: (sizes[judge], judge))
    rows = [(judge, (sizes[judge], look.value(judge, "", HEADLINE, factor=100))) for judge in ordered]
    title = "PTEB table 3: judges by size, mean Spearman correlation x 100"
    return Grid("pteb_table3", title, "Judge", ("Parameters (billions)", "Score"), tuple(rows))


def _figure_3(look: Rows) -> Grid:
    bins = look.bins(ERROR)
    rows = [
        (
            judge,
            (
                *(look.value(judge, "", ERROR, one) for one in bins),
                look.value(judge, "", ERROR),
                *(look.n(judge, "", ERROR, one) for one in bins),
            ),
        )
        for judge in look.judges
    ]
    labels = [one.partition("=")[2] for one in bins]
    columns = (*labels, "all", *(f"n {label}" for label in labels))
    title = "PTEB figure 3: mean absolute error of ratings by gold score, both on 0 to 5, all datasets"
    return Grid("judge_error_by_gold", title, "Judge", columns, tuple(rows))


def _figure_4(look: Rows) -> Grid:
    bins = look.bins(HEADLINE)
    system = MEAN_OF_JUDGES if len(look.judges) > 1 else next(iter(look.judges), "")
    rows = [
        (
            label,
            (
                *(look.value(system, dataset, HEADLINE, one, 100) for one in bins),
                look.value(system, dataset, HEADLINE, factor=100),
                *(look.n(system, dataset, HEADLINE, one) for one in bins),
            ),
        )
        for label, dataset in (*((name, name) for name in look.datasets), ("Average", ""))
    ]
    labels = [one.partition("=")[2] for one in bins]
    columns = (*labels, "all", *(f"n {label}" for label in labels))
    title = (
        f"PTEB figure 4: Spearman correlation x 100 by mean words of a pair, averaged over {len(look.judges)} "
        f"judge{'s' if len(look.judges) != 1 else ''}"
    )
    return Grid("judge_by_words", title, "Dataset", columns, tuple(rows))
