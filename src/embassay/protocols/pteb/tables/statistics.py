"""Who differs from the baseline (tables 7 and 14), whose rank holds, and how far the drop holds elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from embassay.protocols.pteb.summary.drops import MEASURE, SPREADS
from embassay.protocols.pteb.summary.scopes import OVERALL
from embassay.protocols.pteb.tables.given import Given, points
from embassay.protocols.tables import Column, ColumnTable, Value

OPTIMISTIC = "Optimistic: the runs of a dataset share their data, so the observations are not independent."


def statistic_tables(given: Given) -> Iterator[ColumnTable]:
    """The tables of the comparisons and of the mixed effects."""
    baseline = given.comparisons.get("baseline", {})
    if any(scope["systems"] for scope in baseline.get("scopes", {}).values()):
        name = baseline["system"]
        yield _against(
            baseline, "pooled", "pteb_table7", f"PTEB table 7: {name} less each system, all runs pooled",
            OPTIMISTIC,
        )  # fmt: skip
        yield _against(
            baseline, "averaged", "pteb_table14",
            f"PTEB table 14: {name} less each system, runs averaged",
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
        for one in compared["systems"]:
            found = one[analysis] or {}
            shift = [points(found.get(key)) for key in ("shift", "ci_low", "ci_high")]
            test = [found.get(key) for key in ("p_holm", "p", "statistic", "n")]
            method = found.get("method", one["reason"])
            if found and note:
                method += "; optimistic"
            rows.append((scope, baseline["system"], one["system"], *shift, *test, method))
    columns = (
        Column("scope", "text"), Column("baseline", "text"), Column("system", "text"),
        Column("hl_shift", "signed"), Column("ci_low", "signed"), Column("ci_high", "signed"), Column("p_holm", "p"),
        Column("p", "p"), Column("statistic", decimals=1), Column("n", decimals=0), Column("method", "text"),
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
        (scope, len(found["systems"]), *(found.get(key) for key in keys), found["reason"])
        for scope, found in stability.items()
    )
    columns = (
        Column("scope", "text"), Column("systems", decimals=0), *(Column(key) for key in keys), Column("reason", "text")
    )  # fmt: skip
    return ColumnTable("rank_stability", "Kendall's tau-b of orders of the systems", columns, rows)


def _ranks(stability: Mapping[str, Any]) -> ColumnTable:
    """Rank before and after, the ranks that 95% of the replicates give, and the chance to be above the next system."""
    rows: list[tuple[Value, ...]] = []
    for scope, found in stability.items():
        for place, system in enumerate(found["systems"] if not found["reason"] else ()):
            last = place + 1 == len(found["systems"])
            above = found["beats"][place][place + 1] if found["beats"] and not last else None
            ends = [found[key][place] if found[key] else None for key in ("rank_low", "rank_high")]
            rows.append(
                (scope, system, points(found["original"][place]), points(found["pteb"][place]),
                 found["original_rank"][place], found["rank"][place], *ends, above)
            )  # fmt: skip
    whole = [Column(key, decimals=0) for key in ("original_rank", "rank", "rank_low", "rank_high")]
    columns = (
        Column("scope", "text"), Column("system", "text"), Column("orig"), Column("pteb"), *whole,
        Column("p_above_next"),
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
        *(Column(f"sd_{name}") for name in SPREADS), Column("n", decimals=0), Column("method", "text"),
    )  # fmt: skip
    return ColumnTable(
        "drop_mixed", "Drop in points, datasets and runs as random effects", columns, tuple(rows)
    )
