"""The paper's tables and ours beside them, from the rows of a PTEB run. Scores are in points (x 100): exact in CSV, two
decimals in Markdown.

Who differs from the baseline (tables 7 and 14), whose rank holds, and what drops go with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from embassay.contracts import Kind
from embassay.protocols.kernel.tables import ColumnTable, ComputedColumn, number_column, text, whole_number_column
from embassay.protocols.pteb.drops import (
    DropGroupContrast,
    MeanDropOfGroup,
    ScoresInLengthBin,
    analyse_drops_by_language,
    measure_score_drops,
    pair_drops_with_edit_distances,
    relate_drops_to_original_scores,
)
from embassay.protocols.pteb.scores import (
    PtebRunRowsAndComparisons,
    ScoreGrid,
    is_control_paraphraser_variant,
    make_non_score_tables,
    make_score_tables,
)
from embassay.protocols.wordings.scores import MEASURE, OVERALL, SPREADS
from embassay.protocols.wordings.tables import make_points_column, make_signed_points_column
from embassay.records import ResultRow
from embassay.stats import Estimate

OPTIMISTIC = "Intervals and p values are optimistic because a dataset's runs share data and are not independent."


def make_comparison_tables(given: PtebRunRowsAndComparisons) -> Iterator[ColumnTable]:
    """The tables of the comparisons and of the mixed effects."""
    baseline = given.comparisons.get("baseline", {})
    name = baseline.get("system", "")
    for analysis, table, title, note in (
        ("pooled", "pteb_table7", f"PTEB table 7: {name} minus each system, all runs pooled", OPTIMISTIC),
        ("averaged", "pteb_table14", f"PTEB table 14: {name} minus each system, runs averaged", ""),
    ):
        if _has_testable_comparison(baseline, analysis):
            yield _make_hodges_lehmann_shift_table(baseline, analysis, table, title, note)
    stability = given.comparisons.get("rank_stability", {})
    if any(not scope["reason"] for scope in stability.values()):
        yield _make_rank_stability_table(stability)
        yield _make_rank_intervals_table(stability)
    yield _make_mixed_effects_table(given)


def _has_testable_comparison(baseline: Mapping[str, Any], analysis: str) -> bool:
    """Whether some system was compared on two observations or more: of one, no test says anything."""
    compared = (system for scope in baseline.get("scopes", {}).values() for system in scope["systems"])
    return any(system[analysis] is None or system[analysis]["n"] > 1 for system in compared)


def _make_hodges_lehmann_shift_table(
    baseline: Mapping[str, Any], analysis: str, name: str, title: str, note: str = ""
) -> ColumnTable:
    """The Hodges-Lehmann shift in points (positive: baseline better) and the test; STS first, as in the paper."""
    caution = "; optimistic" if note else ""
    return ColumnTable.of(
        name,
        title,
        _list_hodges_lehmann_shifts(baseline, analysis, caution),
        text("scope"),
        text("baseline"),
        text("system"),
        make_signed_points_column("hl_shift", "shift"),
        make_signed_points_column("ci_low"),
        make_signed_points_column("ci_high"),
        number_column("p_holm", style="p"),
        number_column("p", style="p"),
        number_column("statistic", decimals=1),
        whole_number_column("n"),
        text("method"),
        note=note,
    )


def _list_hodges_lehmann_shifts(baseline: Mapping[str, Any], analysis: str, caution: str) -> Iterator[dict[str, Any]]:
    """What came of an analysis, scope by scope and system by system; where it was not made its method says why."""
    for scope, compared in sorted(baseline["scopes"].items(), key=lambda item: item[0] != "sts"):
        for system in compared["systems"]:
            # None where the test could not be made, for the system's reason.
            found = system[analysis]
            method = found.get("method", system["reason"]) + caution if found else system["reason"]
            names = {"scope": scope, "baseline": baseline["system"], "system": system["system"]}
            yield {**(found or {}), **names, "method": method}


def _make_rank_stability_table(stability: Mapping[str, Any]) -> ColumnTable:
    """How alike the orders of the systems are: original and paraphrased, from run to run, between sources."""
    keys = ("tau_original", "tau_low", "tau_high", "tau_runs", "tau_runs_min", "tau_sources", "tau_sources_min")
    return ColumnTable.of(
        "rank_stability", "Kendall's tau-b between rankings of the systems",
        [{**ranks, "scope": scope} for scope, ranks in stability.items()],
        text("scope"), whole_number_column("systems", lambda ranks: len(ranks["systems"])),
        *map(number_column, keys), text("reason"),
    )  # fmt: skip


class RankedSystem(NamedTuple):
    """The system at a place of the `ranks` of a scope."""

    scope: str
    ranks: Mapping[str, Any]
    place: int


def _make_rank_intervals_table(stability: Mapping[str, Any]) -> ColumnTable:
    """Rank before and after, the ranks that 95% of the replicates give, and the chance to be above the next system."""
    rows = [
        RankedSystem(scope, ranks, place)
        for scope, ranks in stability.items()
        for place in range(0 if ranks["reason"] else len(ranks["systems"]))
    ]
    return ColumnTable.of(
        "rank_intervals", "Ranks on original and paraphrased texts", rows,
        text("scope"), text("system", partial(_get_system_rank_by_key, "systems")),
        make_points_column("orig", partial(_get_system_rank_by_key, "original")),
        make_points_column("pteb", partial(_get_system_rank_by_key, "pteb")),
        *(whole_number_column(key, partial(_get_system_rank_by_key, key)) for key in ("original_rank", "rank",
            "rank_low", "rank_high")),
        number_column("p_above_next", _find_chance_above_next),
    )  # fmt: skip


def _get_system_rank_by_key(key: str, row: RankedSystem) -> Any:
    values = row.ranks[key]
    return values[row.place] if values else None


def _find_chance_above_next(row: RankedSystem) -> float | None:
    beats, below = row.ranks["beats"], row.place + 1
    return beats[row.place][below] if beats and below < len(row.ranks["systems"]) else None


class MixedEffectsDrop(NamedTuple):
    """The drop of a system on a task, datasets and runs as random effects."""

    task: str
    kind: Kind
    system: str
    drop: ResultRow


def _make_mixed_effects_table(given: PtebRunRowsAndComparisons) -> ColumnTable:
    """The drop in points with an interval for other datasets and runs, and how much these differ."""
    rows = [
        MixedEffectsDrop(task, kind, system, drop)
        for task in (*given.tasks, OVERALL)
        for kind, system in given.systems()
        if (drop := given.find(task, "", system, MEASURE))
    ]
    return ColumnTable.of(
        "drop_mixed", "Drop in points, with datasets and runs as random effects", rows,
        text("task"), text("kind"), text("system"), make_signed_points_column("delta", "drop.value"),
        make_signed_points_column("ci_low", "drop.ci_low"), make_signed_points_column("ci_high", "drop.ci_high"),
        *(number_column(f"sd_{name}", partial(_find_random_effect_deviation, given, name)) for name in SPREADS),
        whole_number_column("n", "drop.n"),
        text("method", lambda row: row.drop.method or row.drop.reason),
    )  # fmt: skip


def _find_random_effect_deviation(given: PtebRunRowsAndComparisons, name: str, row: MixedEffectsDrop) -> float | None:
    return given.find_value_in_points(row.task, "", row.system, f"delta_sd:{name}")


def _make_delta_and_interval_columns(*ends: str) -> Iterator[ComputedColumn]:
    """A change and its interval in points, which stand at these three places."""
    for name, find in zip(("delta", "ci_low", "ci_high"), ends, strict=True):
        yield make_signed_points_column(name, find)


_GROUPED = (
    text("group", "name"), *_make_delta_and_interval_columns("delta.value", "delta.low", "delta.high"),
    whole_number_column("cells", "delta.n"),
    whole_number_column("datasets")
)  # fmt: skip


class DropGroupDifference(NamedTuple):
    """The difference of two groups, as a row below them."""

    name: str
    delta: Estimate
    datasets: None = None


def make_drop_analysis_tables(given: PtebRunRowsAndComparisons) -> Iterator[ColumnTable]:
    """The tables of the analyses. References are left out, as their drops say nothing, and from all but the edit
    distance also controls."""
    every = [row for row in given.rows if given.kinds.get(row.system) != "reference"]
    rows = [row for row in every if not is_control_paraphraser_variant(row.variant)]
    if not (measured := measure_score_drops(rows).rows):
        return
    original = relate_drops_to_original_scores(measured)
    related = "" if math.isnan(original.correlation) else f"Spearman correlation: {original.correlation:.2f}. "
    above = _make_contrast_rows(original.above, f"above {100 * original.high:g} minus the others")
    yield ColumnTable.of(
        "drop_by_score", "Drop in points by original score", [*original.bins, *above], *_GROUPED,
        note=related + original.caution,
    )  # fmt: skip
    yield _make_drop_by_language_table(rows)
    if (distances := pair_drops_with_edit_distances(every)).points:
        yield ColumnTable.of(
            "drop_by_edit_distance", "Drop in points and edit distance", distances.points,
            text("source"), text("task"), text("dataset"), text("system"), number_column("edit_distance"),
            *_make_delta_and_interval_columns("delta", "ci_low", "ci_high"),
        )  # fmt: skip
    if given.lengths:
        yield _make_drop_by_length_table(given)


def _make_drop_by_language_table(rows: Sequence[ResultRow]) -> ColumnTable:
    language = analyse_drops_by_language(measure_score_drops(rows, by_language=True).rows)
    groups: list[MeanDropOfGroup | DropGroupDifference] = [
        *language.languages, *language.groups,
        *_make_contrast_rows(language.difference, "English minus other languages"),
        *_make_contrast_rows(language.same_datasets, "the same within datasets that have both")
    ]  # fmt: skip
    return ColumnTable.of("drop_by_language", "Drop in points by language", groups, *_GROUPED)


class DropInLengthBin(NamedTuple):
    """The drop of a system on the texts of a length."""

    task: str
    dataset: str
    system: str
    bin: ScoresInLengthBin


def _make_drop_by_length_table(given: PtebRunRowsAndComparisons) -> ColumnTable:
    rows = [DropInLengthBin(*where, length) for where, bins in given.lengths.items() for length in bins]
    return ColumnTable.of(
        "drop_by_length", "Drop in points by length in words", rows,
        text("task"), text("dataset"), text("system"), text("words", "bin.label"),
        whole_number_column("n", "bin.n"),
        make_points_column("orig", "bin.original"), make_points_column("pteb", "bin.paraphrased"),
        *_make_delta_and_interval_columns("bin.delta.value", "bin.delta.low", "bin.delta.high"),
        whole_number_column("lost", "bin.lost"), text("reason", "bin.reason"),
    )  # fmt: skip


def _make_contrast_rows(contrast: DropGroupContrast, name: str) -> Iterator[DropGroupDifference]:
    if contrast.difference is not None:
        yield DropGroupDifference(name, contrast.difference)


__all__ = ["PtebRunRowsAndComparisons", "make_pteb_tables"]


def make_pteb_tables(given: PtebRunRowsAndComparisons) -> Iterator[ScoreGrid | ColumnTable]:
    """All tables that the run can fill: `pteb_table6`, `9`, `10`, `12` and by dataset and source; `pteb_table7`, `14`,
    `rank_stability`, `rank_intervals`, `drop_mixed`; `drop_by_*`; `pteb_table1`, `8`, `13`, `paraphrase_quality`."""
    if not given.datasets:
        return
    yield from make_score_tables(given)
    yield from make_comparison_tables(given)
    yield from make_drop_analysis_tables(given)
    yield from make_non_score_tables(given)
