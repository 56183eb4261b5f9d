"""The paper's tables and ours beside them, from the rows of a PTEB run. Scores are in points (x 100): exact in CSV, two
decimals in Markdown.

Who differs from the baseline (tables 7 and 14), whose rank holds, and what drops go with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from embassay.protocols.kernel.tables import Column, ColumnTable, Value
from embassay.protocols.pteb.drops import (
    Contrast,
    Group,
    against_distance,
    against_original,
    by_language,
    drops,
)
from embassay.protocols.pteb.scores import Given, Grid, described_tables, is_control, points, score_tables
from embassay.protocols.wordings.scores import MEASURE, OVERALL, SPREADS
from embassay.records import Result
from embassay.stats import Estimate

OPTIMISTIC = "Optimistic: the runs of a dataset share their data, so the observations are not independent."


def statistic_tables(given: Given) -> Iterator[ColumnTable]:
    """The tables of the comparisons and of the mixed effects."""
    baseline = given.comparisons.get("baseline", {})
    if any(scope["systems"] for scope in baseline.get("scopes", {}).values()):
        name = baseline["system"]
        yield _against(
            baseline, "pooled", "pteb_table7", f"PTEB table 7: {name} less each system, all runs pooled",
            OPTIMISTIC
        )  # fmt: skip
        yield _against(
            baseline, "averaged", "pteb_table14",
            f"PTEB table 14: {name} less each system, runs averaged"
        )  # fmt: skip
    stability = given.comparisons.get("rank_stability", {})
    if any(not scope["reason"] for scope in stability.values()):
        yield _orders(stability)
        yield _ranks(stability)
    yield _mixed(given)


def _against(
    baseline: Mapping[str, Any], analysis: str, name: str, title: str, note: str = ""
) -> ColumnTable:
    """The Hodges-Lehmann shift in points (positive: baseline better) and the test; STS first, as in the paper."""
    rows: list[tuple[Value, ...]] = []
    scopes = sorted(baseline["scopes"].items(), key=lambda item: item[0] != "sts")
    for scope, compared in scopes:
        for system in compared["systems"]:
            found = system[analysis] or {}
            shift = [points(found.get(key)) for key in ("shift", "ci_low", "ci_high")]
            test = [found.get(key) for key in ("p_holm", "p", "statistic", "n")]
            method = found.get("method", system["reason"])
            if found and note:
                method += "; optimistic"
            rows.append((scope, baseline["system"], system["system"], *shift, *test, method))
    columns = (
        Column("scope", "text"), Column("baseline", "text"), Column("system", "text"),
        Column("hl_shift", "signed"), Column("ci_low", "signed"), Column("ci_high", "signed"), Column("p_holm", "p"),
        Column("p", "p"), Column("statistic", decimals=1), Column("n", decimals=0), Column("method", "text")
    )  # fmt: skip
    return ColumnTable(name, title, columns, tuple(rows), note)


def _orders(stability: Mapping[str, Any]) -> ColumnTable:
    """How alike the orders of the systems are: original and paraphrased, from run to run, between sources."""
    keys = (
        "tau_original",
        "tau_low",
        "tau_high",
        "tau_runs",
        "tau_runs_min",
        "tau_sources",
        "tau_sources_min",
    )
    rows = tuple(
        (scope, len(ranks["systems"]), *(ranks.get(key) for key in keys), ranks["reason"])
        for scope, ranks in stability.items()
    )
    columns = (
        Column("scope", "text"), Column("systems", decimals=0), *(Column(key) for key in keys), Column("reason", "text")
    )  # fmt: skip
    return ColumnTable("rank_stability", "Kendall's tau-b of orders of the systems", columns, rows)


def _ranks(stability: Mapping[str, Any]) -> ColumnTable:
    """Rank before and after, the ranks that 95% of the replicates give, and the chance to be above the next system."""
    rows: list[tuple[Value, ...]] = []
    for scope, stable in stability.items():
        for place, system in enumerate(stable["systems"] if not stable["reason"] else ()):
            last = place + 1 == len(stable["systems"])
            above = stable["beats"][place][place + 1] if stable["beats"] and not last else None
            ends = [stable[key][place] if stable[key] else None for key in ("rank_low", "rank_high")]
            rows.append(
                (scope, system, points(stable["original"][place]), points(stable["pteb"][place]),
                 stable["original_rank"][place], stable["rank"][place], *ends, above)
            )  # fmt: skip
    whole = [Column(key, decimals=0) for key in ("original_rank", "rank", "rank_low", "rank_high")]
    columns = (
        Column("scope", "text"), Column("system", "text"), Column("orig"), Column("pteb"), *whole,
        Column("p_above_next")
    )  # fmt: skip
    return ColumnTable("rank_intervals", "Ranks on original and paraphrased texts", columns, tuple(rows))


def _mixed(given: Given) -> ColumnTable:
    """The drop in points with an interval for other datasets and runs, and how much these differ."""
    rows: list[tuple[Value, ...]] = []
    for task in (*given.tasks, OVERALL):
        for kind, system in given.systems():
            row = given.find(task, "", system, MEASURE)
            if row is None:
                continue
            sds = [given.points(task, "", system, f"delta_sd:{name}") for name in SPREADS]
            ends = [points(end) for end in (row.value, row.ci_low, row.ci_high)]
            rows.append((task, kind, system, *ends, *sds, row.n, row.method or row.reason))
    signed = [Column(name, "signed") for name in ("delta", "ci_low", "ci_high")]
    columns = (
        *(Column(name, "text") for name in ("task", "kind", "system")), *signed,
        *(Column(f"sd_{name}") for name in SPREADS), Column("n", decimals=0), Column("method", "text")
    )  # fmt: skip
    return ColumnTable(
        "drop_mixed", "Drop in points, datasets and runs as random effects", columns, tuple(rows)
    )


_GROUPED = (
    Column("group", "text"), Column("delta", "signed"), Column("ci_low", "signed"), Column("ci_high", "signed"),
    Column("cells", decimals=0), Column("datasets", decimals=0)
)  # fmt: skip


def relation_tables(given: Given) -> Iterator[ColumnTable]:
    """The tables of the analyses. References are left out, as their drops say nothing, and from all but the edit
    distance also controls."""
    every = [row for row in given.rows if given.kinds.get(row.system) != "reference"]
    rows = [row for row in every if not is_control(row.variant)]
    if not (measured := drops(rows).rows):
        return
    original = against_original(measured)
    lines = [
        *_groups(original.bins),
        *_contrast(original.above, f"above {points(original.high):g} minus the others"),
    ]
    related = "" if math.isnan(original.correlation) else f"Spearman of the two: {original.correlation:.2f}. "
    note = related + original.caution
    yield ColumnTable("drop_by_score", "Drop in points by original score", _GROUPED, tuple(lines), note)
    yield _languages(rows)
    if (distances := against_distance(every)).points:
        lines = [
            (
                point.source,
                point.task,
                point.dataset,
                point.system,
                point.edit_distance,
                *_points(point.delta, point.ci_low, point.ci_high),
            )
            for point in distances.points
        ]
        columns = (
            *(Column(name, "text") for name in ("source", "task", "dataset", "system")), Column("edit_distance"),
            *_GROUPED[1:4]
        )  # fmt: skip
        yield ColumnTable("drop_by_edit_distance", "Drop in points and edit distance", columns, tuple(lines))
    if given.lengths:
        yield _lengths(given)


def _languages(rows: Sequence[Result]) -> ColumnTable:
    language = by_language(drops(rows, by_language=True).rows)
    lines = [
        *_groups(language.languages), *_groups(language.groups),
        *_contrast(language.difference, "English less other languages"),
        *_contrast(language.same_datasets, "the same within datasets that have both")
    ]  # fmt: skip
    return ColumnTable("drop_by_language", "Drop in points by language", _GROUPED, tuple(lines))


def _lengths(given: Given) -> ColumnTable:
    rows: list[tuple[Value, ...]] = []
    for where, bins in given.lengths.items():
        for length_bin in bins:
            scores = (points(length_bin.original), points(length_bin.paraphrased))
            rows.append(
                (
                    *where,
                    length_bin.label,
                    length_bin.n,
                    *scores,
                    *_estimate(length_bin.delta),
                    length_bin.lost,
                    length_bin.reason,
                )
            )
    columns = (
        *(Column(name, "text") for name in ("task", "dataset", "system", "words")), Column("n", decimals=0),
        Column("orig"), Column("pteb"), *_GROUPED[1:4], Column("lost", decimals=0), Column("reason", "text")
    )  # fmt: skip
    return ColumnTable("drop_by_length", "Drop in points by length in words", columns, tuple(rows))


def _groups(groups: Sequence[Group]) -> Iterator[tuple[Value, ...]]:
    for group in groups:
        yield (group.name, *_estimate(group.delta), group.delta.n, group.datasets)


def _contrast(contrast: Contrast, name: str) -> Iterator[tuple[Value, ...]]:
    if contrast.difference is not None:
        yield (name, *_estimate(contrast.difference), contrast.difference.n, None)


def _estimate(estimate: Estimate | None) -> tuple[float | None, ...]:
    return _points(estimate.estimate, estimate.low, estimate.high) if estimate else (None, None, None)


def _points(*values: float | None) -> tuple[float | None, ...]:
    return tuple(None if value is None or math.isnan(value) else points(value) for value in values)


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
