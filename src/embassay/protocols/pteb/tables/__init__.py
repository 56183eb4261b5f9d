"""The paper's tables and ours beside them, from the rows of a PTEB run. Scores are in points (x 100): exact in CSV, two
decimals in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.protocols.kernel.tables import ColumnTable
from embassay.protocols.pteb.tables.scores import Given, Grid, described_tables, score_tables
from embassay.protocols.pteb.tables.statistics import relation_tables, statistic_tables

__all__ = ["Given", "tables"]


def tables(given: Given) -> Iterator[Grid | ColumnTable]:
    """All tables that the run can fill: `pteb_table6`, `9`, `10`, `12` and by dataset and source; `pteb_table7`, `14`,
    `rank_stability`, `rank_intervals`, `drop_mixed`; `drop_by_*`; `pteb_table1`, `8`, `13`, `paraphrase_quality`."""
    if not given.datasets:
        return
    yield from score_tables(given)
    yield from statistic_tables(given)
    yield from relation_tables(given)
    yield from described_tables(given)
