"""Rows of a probe, found by what they are of, and what its tables share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from embassay.protocols.rag.probes.resampling import CORRELATIONS
from embassay.protocols.tables import Column, ColumnTable, Value
from embassay.records import Result

SYSTEM, LANG, DATASET = Column("system", "text"), Column("lang", "text"), Column("dataset", "text")
CHANGE = ("change", "low", "high")
INTERVALS = "Intervals are 95% bootstrap over queries, corrected for bias and for how few they are."


class Rows:
    """Rows of results, found by what they are of."""

    def __init__(self, rows: Iterable[Result]) -> None:
        self._rows = {(one.dataset, one.system, one.variant, one.measure): one for one in rows}
        self.langs = {one.dataset: one.lang for one in self._rows.values()}
        """Dataset -> its language, in the order of the rows."""

    def find(self, dataset: str, system: str, variant: str, measure: str) -> Result | None:
        """The row, or None."""
        return self._rows.get((dataset, system, variant, measure))

    def value(self, dataset: str, system: str, variant: str, measure: str) -> Value:
        """Its value, None where there is none."""
        row = self.find(dataset, system, variant, measure)
        return None if row is None else row.value

    def with_interval(
        self, dataset: str, system: str, variant: str, measure: str
    ) -> tuple[Value, Value, Value]:
        """Value, low and high."""
        row = self.find(dataset, system, variant, measure)
        return (None, None, None) if row is None else (row.value, row.ci_low, row.ci_high)

    def variants(self, measure: str) -> tuple[str, ...]:
        """The variants that have a row of the measure, in order."""
        return tuple(dict.fromkeys(key[2] for key in self._rows if key[3] == measure))

    def links(self, dataset: str, system: str) -> Iterator[Result]:
        """Its correlations, in order."""
        for (of_dataset, of_system, _, measure), row in self._rows.items():
            if (of_dataset, of_system) == (dataset, system) and measure.partition("(")[0] in CORRELATIONS:
                yield row

    def each(self, systems: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        """Dataset, language and system, one dataset after another."""
        for dataset, lang in self.langs.items():
            yield from ((dataset, lang, system) for system in systems)


def link_table(rows: Rows, systems: Sequence[str], name: str, title: str, across: str) -> ColumnTable:
    """Every correlation of every system; `across` is the variant of those over conditions or levels."""
    columns = (
        SYSTEM, DATASET, Column("over", "text"), Column("of", "text"), Column("correlation", "text"),
        Column("value", "signed"), Column("low", "signed"), Column("high", "signed"), Column("n", decimals=0),
        Column("why none", "text"),
    )  # fmt: skip
    body: list[tuple[Value, ...]] = []
    for dataset, _, system in rows.each(systems):
        for row in rows.links(dataset, system):
            kind, _, of = row.measure.removesuffix(")").partition("(")
            over = across if row.variant == across else f"queries, {row.variant or 'base'}"
            body.append(
                (system, dataset, over, of, kind, row.value, row.ci_low, row.ci_high, row.n, row.reason)
            )
    return ColumnTable(name, title, columns, tuple(body), f"{INTERVALS} n counts queries, or {across}.")
