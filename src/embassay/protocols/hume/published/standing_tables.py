"""People among the models as tables: by pair, by group of pairs, overall. The paper's figures are made of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from embassay.protocols.hume.published.matrix import Matrix
from embassay.protocols.hume.published.standing import Standing, places, win_rates
from embassay.protocols.hume.published.study import Pair
from embassay.protocols.tables import Column, ColumnTable, Value

_GROUPS: dict[str, Callable[[Pair], str]] = {
    "all": lambda _: "all",
    "family": lambda pair: pair.family,
    "datasets": lambda pair: pair.group,
    "language": lambda pair: pair.lang,
}


def overall_table(matrix: Matrix) -> ColumnTable:
    """Models and Human by their mean over all pairs, in points, best first (figure 1); beside it over datasets."""
    by_dataset = {one.system: one for one in places(matrix, "datasets")}
    rows = tuple(
        (
            one.rank,
            one.system,
            100 * one.overall,
            by_dataset[one.system].rank,
            100 * by_dataset[one.system].overall,
        )
        for one in places(matrix)
    )
    columns = (
        Column("rank", decimals=0), Column("system", "text"), Column("overall", decimals=1),
        Column("rank_by_dataset", decimals=0), Column("overall_by_dataset", decimals=1),
    )  # fmt: skip
    note = f"Overall is the mean over {len(matrix.pairs)} pairs. By dataset, every dataset weighs the same instead."
    return ColumnTable("hume_overall", "HUME: overall", columns, rows, note)


def pair_standing_table(standings: Sequence[Standing]) -> ColumnTable:
    """Per pair, in points: gaps, rank, position, difficulty, the models' range (figures 2, 4-7)."""
    columns = (
        Column("family", "text"), Column("dataset", "text"), Column("lang", "text"), Column("human", decimals=1),
        *(Column(name, decimals=1) for name in ("best", "median", "mean", "worst")), Column("best_model", "text"),
        *(Column(f"gap_{name}", "signed", 1) for name in ("best", "median", "mean")),
        Column("human_rank", decimals=0), Column("position"), Column("best_percent_of_human", decimals=1),
        Column("model_range", decimals=1), Column("model_sd", decimals=1), Column("difficulty", "text"),
    )  # fmt: skip
    note = "Gaps are Human minus models. Position is 0 at the worst model and 1 at the best."
    rows = tuple(_pair_row(one) for one in standings)
    return ColumnTable("hume_pairs", "HUME: people among the models, by pair", columns, rows, note)


def _pair_row(one: Standing) -> tuple[Value, ...]:
    levels = (one.human, one.best, one.median, one.mean, one.worst)
    return (
        one.pair.family, one.pair.dataset, one.pair.lang, *(100 * value for value in levels), one.best_model,
        100 * one.gap("best"), 100 * one.gap("median"), 100 * one.gap("mean"), one.rank, one.position,
        one.best_percent_of_human, 100 * one.spread, 100 * one.sd, one.difficulty,
    )  # fmt: skip


def win_table(standings: Sequence[Standing]) -> ColumnTable:
    """Pairs that people win against the best, median and mean model, by kinds of groups (figure 3)."""
    rows = tuple(
        (kind, wins.group, wins.against, wins.wins, wins.pairs, 100 * wins.rate)
        for kind, by in _GROUPS.items()
        for wins in win_rates(standings, by)
    )
    columns = (
        Column("by", "text"), Column("group", "text"), Column("against", "text"), Column("wins", decimals=0),
        Column("pairs", decimals=0), Column("win_rate", decimals=1),
    )  # fmt: skip
    return ColumnTable("hume_win_rates", "HUME: pairs that people win", columns, rows, "A tie is no win.")
