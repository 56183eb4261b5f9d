"""The numbers of the paper's figures, and of ours, as tables (F1 to F8 of spec hume 9). In points of 100."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.protocols.hume.published.standings import Standing, correlated
from embassay.protocols.hume.summary.record import PairRecord, Summary, Wins, beside_models
from embassay.protocols.hume.summary.tables import PAIR, points
from embassay.protocols.kernel.tables import Column, ColumnTable, Value
from embassay.stats import wilson

PANELS = {"family": "family", "group": "group", "all": "reference", "lang": "lang"}
"""The panels of figure 3 in order, by the grouping of the record: over all pairs it is the reference that differs."""
Known = tuple[PairRecord, Standing]


def every_figure(summary: Summary) -> Iterator[ColumnTable]:
    """`hume_figure1` to `hume_figure8`, each also where it has no row."""
    known = [(one.pair, one.standing) for one in beside_models(summary) if one.standing]
    yield overall_figure(summary)
    yield spread_figure(known)
    yield wins_figure(summary)
    yield best_gap_figure(known)
    yield median_gap_figure(known)
    yield difficulty_figure(summary)
    yield range_figure(known)
    yield agreement_figure(known)


def overall_figure(summary: Summary) -> ColumnTable:
    """F1: means over pairs, best first."""
    rows = tuple(
        (
            one.rank, one.system, one.kind, points(one.mean.value), points(one.mean.low), points(one.mean.high),
            one.mean.n, one.parameters_millions, int(one.kind == "human"),
        )
        for one in sorted(summary.places, key=lambda one: (one.rank is None, one.rank or 0))
    )  # fmt: skip
    columns = (
        Column("rank", decimals=0), Column("system", "text"), Column("kind", "text"), Column("mean", decimals=1),
        Column("low", decimals=1), Column("high", decimals=1), Column("pairs", decimals=0),
        Column("parameters_millions", decimals=1), Column("human", decimals=0),
    )  # fmt: skip
    return ColumnTable("hume_figure1", "HUME figure 1: overall", columns, rows, "Mean over all pairs.")


def spread_figure(known: list[Known]) -> ColumnTable:
    """F2: the range of the models per pair and where people are, by language."""
    columns = (
        Column("lang", "text"), Column("family", "text"), Column("dataset", "text"), Column("models", decimals=0),
        *(Column(name, decimals=1) for name in ("min", "median", "max", "human", "human_low", "human_high")),
        Column("position"), Column("human_rank", decimals=0),
    )  # fmt: skip
    rows = tuple(
        (
            pair.lang, pair.family, pair.dataset, one.n_models,
            *(100 * value for value in (one.worst, one.median, one.best, one.human)),
            points(pair.human.low), points(pair.human.high), one.position, one.rank,
        )
        for pair, one in sorted(known, key=lambda item: (item[0].lang, -item[1].human))
    )  # fmt: skip
    note = "Position is 0 at the lowest model and 1 at the best."
    return ColumnTable("hume_figure2", "HUME figure 2: people among the models, by pair", columns, rows, note)


def wins_figure(summary: Summary) -> ColumnTable:
    """F3: in what share of the pairs people are above the models, four panels, with Wilson intervals."""
    rows = tuple(
        (panel, one.reference if by == "all" else one.group, one.reference, one.wins, one.pairs, *_rate(one))
        for by, panel in PANELS.items()
        for one in summary.wins
        if one.by == by
    )
    columns = (
        *(Column(name, "text") for name in ("panel", "group", "against")), Column("wins", decimals=0),
        Column("pairs", decimals=0), *(Column(name, decimals=1) for name in ("win_rate", "low", "high")),
    )  # fmt: skip
    note = (
        "A tie is no win. Intervals are 95% Wilson, as if the pairs were drawn independently; pairs share datasets and "
        "annotators, so they are too narrow."
    )
    return ColumnTable("hume_figure3", "HUME figure 3: pairs that people win", columns, rows, note)


def best_gap_figure(known: list[Known]) -> ColumnTable:
    """F4: people minus the best model, from their largest lead to their largest deficit."""
    columns = (
        *PAIR, Column("gap", "signed", 1), Column("human", decimals=1), Column("best", decimals=1),
        Column("best_model", "text"), Column("outside_interval", decimals=0), Column("agreement", "text"),
    )  # fmt: skip
    rows = tuple(
        (
            *_names(pair), 100 * one.gap(), 100 * one.human, 100 * one.best, one.best_model,
            _outside(pair, one.best_model), pair.trust or "",
        )
        for pair, one in sorted(known, key=lambda item: -item[1].gap())
    )  # fmt: skip
    note = "Human minus best model: above 0 people are better."
    return ColumnTable("hume_figure4", "HUME figure 4: gap to the best model", columns, rows, note)


def median_gap_figure(known: list[Known]) -> ColumnTable:
    """F5: people minus the median model, by language and in it from the largest lead."""
    columns = (*PAIR, Column("gap", "signed", 1), Column("human", decimals=1), Column("median", decimals=1))
    rows = tuple(
        (*_names(pair), 100 * one.gap("median"), 100 * one.human, 100 * one.median)
        for pair, one in sorted(known, key=lambda item: (item[0].lang, -item[1].gap("median")))
    )
    note = "Human minus median model: above 0 people are better."
    return ColumnTable(
        "hume_figure5", "HUME figure 5: gap to the median model, by language", columns, rows, note
    )


def difficulty_figure(summary: Summary) -> ColumnTable:
    """F6: how people do, from the easiest pair to the hardest."""
    scored = [(pair, pair.human.value) for pair in summary.pairs if pair.human.value is not None]
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (*_names(pair), 100 * value, points(pair.human.low), points(pair.human.high), pair.difficulty or "")
        for pair, value in sorted(scored, key=lambda item: -item[1])
    )
    columns = (
        *PAIR, Column("human", decimals=1), Column("low", decimals=1), Column("high", decimals=1),
        Column("difficulty", "text"),
    )  # fmt: skip
    return ColumnTable(
        "hume_figure6",
        "HUME figure 6: how hard pairs are for people",
        columns,
        rows,
        "Easy from 70, hard below 50.",
    )


def range_figure(known: list[Known]) -> ColumnTable:
    """F7: best minus lowest model, from the least consistent pair on."""
    columns = (
        *PAIR, *(Column(name, decimals=1) for name in ("range", "best", "lowest", "sd")), Column("models", decimals=0)
    )  # fmt: skip
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (*_names(pair), *(100 * value for value in (one.spread, one.best, one.worst, one.sd)), one.n_models)
        for pair, one in sorted(known, key=lambda item: -item[1].spread)
    )
    note = "Best minus lowest model: the higher, the less consistent the models are."
    return ColumnTable("hume_figure7", "HUME figure 7: range of the models", columns, rows, note)


def agreement_figure(known: list[Known]) -> ColumnTable:
    """F8, ours: agreement of people against best model minus people, over the pairs that have an agreement."""
    both = [
        (pair, one, pair.agreement, pair.agreement.value.value)
        for pair, one in known
        if pair.agreement and pair.agreement.value.value is not None
    ]
    columns = (
        *PAIR, Column("coefficient", "text"), Column("agreement"), Column("best_minus_human", "signed", 1),
        Column("band", "text"), Column("trust", "text"),
    )  # fmt: skip
    rows = tuple(
        (*_names(pair), agreement.coefficient, value, -100 * one.gap(), agreement.band, pair.trust or "")
        for pair, one, agreement, value in both
    )
    found = correlated([value for *_, value in both], [-one.gap() for _, one, *_ in both])
    note = "Fewer than three pairs, or no variation: no correlation."
    if found.rho is not None and found.p is not None:
        note = f"Spearman {found.rho:.2f} over {found.n} pairs (p = {found.p:.3g}): below 0, models stand above people "
        note += "where people agree least."
    title = "HUME figure 8: agreement of people and lead of the best model"
    return ColumnTable("hume_figure8", title, columns, rows, note)


def _names(pair: PairRecord) -> tuple[str, str, str]:
    return pair.family, pair.dataset, pair.lang


def _outside(pair: PairRecord, system: str) -> Value:
    found = next((one.outside for one in (*pair.models, *pair.llms) if one.system == system), None)
    return None if found is None else int(found)


def _rate(one: Wins) -> tuple[float | None, float | None, float | None]:
    if not one.pairs:
        return None, None, None
    found = wilson(one.wins / one.pairs, one.pairs)
    return 100 * found.estimate, 100 * found.low, 100 * found.high
