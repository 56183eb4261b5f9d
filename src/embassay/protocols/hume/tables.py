"""Tables of the record beyond the paper's: agreement, every annotator, and the items they disagree on most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from embassay.protocols.hume.published.standings import PeopleRank, correlate_series
from embassay.protocols.hume.record import (
    Agreement,
    Annotator,
    Disputed,
    PairRecord,
    Summary,
    Wins,
    beside_models,
)
from embassay.protocols.hume.study import Answers, Family, Gold, Item
from embassay.protocols.kernel.tables import Column, ColumnTable, Value
from embassay.stats import wilson

PAIR = tuple(Column(name, "text") for name in ("family", "dataset", "lang"))
Cells = tuple[tuple[str, str], ...]
"""Columns of further coefficients: the name, and `_low` or `_high` for an end of its interval."""
ONE_ANNOTATOR = "one annotator"
_EXTRAS = (
    "fleiss_kappa", "cohen_kappa", "percent_agreement", "alpha", "ari", "v_measure", "spearman", "kendall", "pearson",
    "absolute_difference", "spearman_sd", "comparisons", "skipped", "dropped"
)  # fmt: skip
_CONVENTIONS = ("paper", "pooled", "mean", "first", "tie_aware", "display_order", "expected")
"""The order of columns; what the record has besides comes after, by name."""
_WHOLE = frozenset({"comparisons", "skipped", "dropped"})


def agreement_table(summary: Summary) -> ColumnTable:
    """Table `agreement`: per pair the coefficient of its family with interval and band, and all others known."""
    cells = _coefficient_cells([pair.agreement for pair in summary.pairs if pair.agreement])
    columns = (
        *PAIR, Column("annotators", decimals=0), Column("items", decimals=0), Column("annotations", decimals=0),
        Column("coefficient", "text"), Column("value", decimals=3), Column("low", decimals=3),
        Column("high", decimals=3), Column("band", "text"), Column("trust", "text"),
        *(Column(name + end, decimals=0 if name in _WHOLE else 3) for name, end in cells),
        Column("answered_by", "text"), Column("reason", "text")
    )  # fmt: skip
    rows = tuple(_agreement_row(pair, cells) for pair in summary.pairs)
    note = "Agreement takes two annotators. The coefficient's own value stands under value, the others beside it."
    if any(pair.agreement and pair.agreement.value.low is not None for pair in summary.pairs):
        note += " Intervals are bootstrap over items, with these annotators."
    return ColumnTable("agreement", "HUME: how well annotators agree", columns, rows, note)


def annotators_table(summary: Summary) -> ColumnTable:
    """Table `annotators`: a row per annotator and pair, with the human scores that every convention makes of them."""
    names = _order_names((name for pair in summary.pairs for name in pair.conventions), _CONVENTIONS)
    columns = (
        *PAIR, Column("measure", "text"), Column("annotator", "text"), Column("answered_by", "text"),
        Column("items", decimals=0), Column("score", decimals=1), Column("human", decimals=1),
        *(Column(f"by_{name}", decimals=1) for name in names), Column("seconds_per_item", decimals=1),
        Column("flagged", decimals=0), Column("counts", decimals=0)
    )  # fmt: skip
    rows = tuple(
        _annotator_row(pair, annotator, names)
        for pair in summary.pairs
        for annotator in (*pair.annotators, *pair.left_out)
    )
    note = (
        "Score is the annotator's own; human is the pair's score, by the paper's rule unless the run chose another. "
        "by_pooled scores the answers put together, by_mean averages the scores of annotators. Who answered too "
        "few items does not count (0)."
    )
    return ColumnTable("annotators", "HUME: annotators and conventions", columns, rows, note)


def answered_by(annotators: Iterable[Annotator]) -> str:
    """`people`, `simulated` where scripts answered, or both."""
    kinds = {annotator.kind for annotator in annotators}
    return " and ".join(
        word for kind, word in (("person", "people"), ("simulated", "simulated")) if kind in kinds
    )


def _agreement_row(pair: PairRecord, cells: Cells) -> tuple[Value, ...]:
    agreement = pair.agreement
    who = answered_by(pair.annotators)
    if agreement is None:
        empty: tuple[Value, ...] = (None,) * len(cells)
        return (
            *_pair_names(pair), len(pair.annotators), pair.n, None, "", None, None, None, "", "", *empty, who,
            ONE_ANNOTATOR if len(pair.annotators) == 1 else ""
        )  # fmt: skip
    bar = agreement.value
    return (
        *_pair_names(pair), agreement.annotators, agreement.items, agreement.annotations, agreement.coefficient,
        bar.value, bar.low, bar.high, agreement.band, pair.trust or "",
        *(_extra_value(agreement, *cell) for cell in cells), who, bar.reason
    )  # fmt: skip


def _coefficient_cells(every: Sequence[Agreement]) -> Cells:
    """Every further coefficient, and the ends of its interval where any pair has one."""
    sure = {name for agreement in every for name, bar in agreement.intervals.items() if bar.low is not None}
    names = _order_names((name for agreement in every for name in agreement.extras), _EXTRAS)
    return tuple((name, end) for name in names for end in (("", "_low", "_high") if name in sure else ("",)))


def _extra_value(agreement: Agreement, name: str, end: str) -> float | None:
    if not end:
        return agreement.extras.get(name)
    bar = agreement.intervals.get(name)
    return None if bar is None else bar.low if end == "_low" else bar.high


def _annotator_row(pair: PairRecord, annotator: Annotator, names: tuple[str, ...]) -> tuple[Value, ...]:
    conventions = (pair.conventions.get(name) for name in names)
    return (
        *_pair_names(pair), pair.measure, annotator.id, answered_by([annotator]), annotator.items,
        100 * annotator.score,
        in_points(pair.human.value), *(in_points(value) for value in conventions), annotator.seconds, annotator.flagged,
        int(annotator in pair.annotators)
    )  # fmt: skip


def in_points(value: float | None) -> float | None:
    """A fraction in points of 100; None stays."""
    return None if value is None else 100 * value


def _order_names(known: Iterable[str], order: tuple[str, ...]) -> tuple[str, ...]:
    names = set(known)
    return (*(name for name in order if name in names), *sorted(names - set(order)))


MOST = 5
LONGEST = 400
"""Characters of a text that are kept."""
_TEXTS = ("text", "text1", "text2", "query")


def most_disputed(
    family: Family, items: Sequence[Item], gold: Gold, answers: Answers, *, most: int = MOST
) -> tuple[Disputed, ...]:
    """Up to `most` items that annotators answered differently, the most disputed first, ties by id.

    How far they are apart, from 0 to 1: classification, the share of pairs of annotators with other labels; STS, the
    widest distance of two ratings over that of all ratings of the task; reranking, the share of documents that two
    annotators marked differently, mean over pairs; clustering, the share of other items that one put with this item
    and the other did not, mean over pairs. Items with fewer than two answers are none.

    >>> items = [Item("a", "t", "eng", {"text": "so so"}), Item("b", "t", "eng", {"text": "good"})]
    >>> answers = {"ann": {"a": "pos", "b": "pos"}, "bob": {"a": "neg", "b": "pos"}}
    >>> [(one.item, one.apart) for one in most_disputed("classification", items, {"a": "neg", "b": "pos"}, answers)]
    [('a', 1.0)]
    """
    apart = how_apart(family, items, answers)
    rows = [
        (distance, item, {name: values[item.id] for name, values in answers.items() if item.id in values})
        for item in items
        if (distance := apart[item.id]) > 0
    ]
    rows.sort(key=lambda row: (-row[0], row[1].id))
    return tuple(
        Disputed(
            item=item.id, texts=_item_texts(item), gold=_say_answer(gold.get(item.id)),
            answers={name: _say_answer(value) for name, value in given.items()}, apart=distance,
        )
        for distance, item, given in rows[:most]
    )  # fmt: skip


def how_apart(family: Family, items: Sequence[Item], answers: Answers) -> dict[str, float]:
    """How far annotators are apart on each item, 0 to 1 as `most_disputed` says; 0 where fewer than two answered."""
    distances = {}
    for item in items:
        by_name = {name: values[item.id] for name, values in answers.items() if item.id in values}
        distances[item.id] = _APART[family](item.id, by_name, answers) if len(by_name) > 1 else 0.0
    return distances


def _of_pairs(answers: Mapping[str, Any], distance: Callable[[str, str], float]) -> float:
    """The mean distance over all pairs of annotators."""
    names = list(answers)
    pairs = [(name, other) for i, name in enumerate(names) for other in names[i + 1 :]]
    return sum(distance(one, other) for one, other in pairs) / len(pairs)


def _label_distance(_: str, by_name: Mapping[str, Any], __: Answers) -> float:
    return _of_pairs(by_name, lambda one, other: float(by_name[one] != by_name[other]))


def _rating_distance(_: str, by_name: Mapping[str, Any], answers: Answers) -> float:
    every = [value for values in answers.values() for value in values.values()]
    widest = max(every) - min(every)
    return float(max(by_name.values()) - min(by_name.values())) / widest if widest else 0.0


def _mark_distance(_: str, by_name: Mapping[str, Any], __: Answers) -> float:
    def distance(one: str, other: str) -> float:
        differ = sum(a != b for a, b in zip(by_name[one], by_name[other], strict=True))
        return float(differ / len(by_name[one]))

    return _of_pairs(by_name, distance)


def _group_distance(item: str, by_name: Mapping[str, Any], answers: Answers) -> float:
    def distance(one: str, other: str) -> float:
        common = [id for id in answers[one] if id in answers[other] and id != item]
        apart = sum(
            (answers[one][id] == by_name[one]) != (answers[other][id] == by_name[other]) for id in common
        )
        return apart / len(common) if common else 0.0

    return _of_pairs(by_name, distance)


_APART: Mapping[Family, Callable[[str, Mapping[str, Any], Answers], float]] = {
    "classification": _label_distance, "sts": _rating_distance, "reranking": _mark_distance,
    "clustering": _group_distance
}  # fmt: skip


def _item_texts(item: Item) -> tuple[str, ...]:
    texts = [str(item.payload[name]) for name in _TEXTS if item.payload.get(name)]
    return tuple(text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " …" for text in texts)


def _say_answer(value: Any) -> str:
    """An answer in words: marks by the places of the documents, shown order, that were marked.

    >>> _say_answer((0, 1, 1)), _say_answer((0, 0)), _say_answer(3.0), _say_answer("joy"), _say_answer(None)
    ('2, 3', 'none', '3', 'joy', '')
    """
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(str(place) for place, mark in enumerate(value, start=1) if mark) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


PANELS = {"family": "family", "group": "group", "all": "reference", "lang": "lang"}
"""The panels of figure 3 in order, by the grouping of the record: over all pairs it is the reference that differs."""
Known = tuple[PairRecord, PeopleRank]


def every_figure(summary: Summary) -> Iterator[ColumnTable]:
    """`hume_figure1` to `hume_figure8`, each also where it has no row."""
    pairs = [(model.pair, model.standing) for model in beside_models(summary) if model.standing]
    yield overall_figure(summary)
    yield spread_figure(pairs)
    yield wins_figure(summary)
    yield best_gap_figure(pairs)
    yield median_gap_figure(pairs)
    yield difficulty_figure(summary)
    yield range_figure(pairs)
    yield agreement_figure(pairs)


def overall_figure(summary: Summary) -> ColumnTable:
    """F1: means over pairs, best first."""
    rows = tuple(
        (
            place.rank, place.system, place.kind, in_points(place.mean.value), in_points(place.mean.low),
            in_points(place.mean.high), place.mean.n, place.parameters_millions, int(place.kind == "human"),
        )
        for place in sorted(summary.places, key=lambda place: (place.rank is None, place.rank or 0))
    )  # fmt: skip
    columns = (
        Column("rank", decimals=0), Column("system", "text"), Column("kind", "text"), Column("mean", decimals=1),
        Column("low", decimals=1), Column("high", decimals=1), Column("pairs", decimals=0),
        Column("parameters_millions", decimals=1), Column("human", decimals=0)
    )  # fmt: skip
    return ColumnTable("hume_figure1", "HUME figure 1: overall", columns, rows, "Mean over all pairs.")


def spread_figure(known: list[Known]) -> ColumnTable:
    """F2: the range of the models per pair and where people are, by language."""
    columns = (
        Column("lang", "text"), Column("family", "text"), Column("dataset", "text"), Column("models", decimals=0),
        *(Column(name, decimals=1) for name in ("min", "median", "max", "human", "human_low", "human_high")),
        Column("position"), Column("human_rank", decimals=0)
    )  # fmt: skip
    rows = tuple(
        (
            pair.lang, pair.family, pair.dataset, rank.n_models,
            *(100 * value for value in (rank.worst, rank.median, rank.best, rank.human)),
            in_points(pair.human.low), in_points(pair.human.high), rank.position, rank.rank,
        )
        for pair, rank in sorted(known, key=lambda item: (item[0].lang, -item[1].human))
    )  # fmt: skip
    note = "Position is 0 at the lowest model and 1 at the best."
    return ColumnTable("hume_figure2", "HUME figure 2: people among the models, by pair", columns, rows, note)


def wins_figure(summary: Summary) -> ColumnTable:
    """F3: in what share of the pairs people are above the models, four panels, with Wilson intervals."""
    rows = tuple(
        (
            panel,
            wins.reference if by == "all" else wins.group,
            wins.reference,
            wins.wins,
            wins.pairs,
            *_win_rate(wins),
        )
        for by, panel in PANELS.items()
        for wins in summary.wins
        if wins.by == by
    )
    columns = (
        *(Column(name, "text") for name in ("panel", "group", "against")), Column("wins", decimals=0),
        Column("pairs", decimals=0), *(Column(name, decimals=1) for name in ("win_rate", "low", "high"))
    )  # fmt: skip
    note = (
        "A tie is not a win. Intervals are 95% Wilson, as if the pairs were drawn independently; pairs share datasets "
        "and annotators, so they are too narrow."
    )
    return ColumnTable("hume_figure3", "HUME figure 3: pairs that people win", columns, rows, note)


def best_gap_figure(known: list[Known]) -> ColumnTable:
    """F4: people minus the best model, from their largest lead to their largest deficit."""
    columns = (
        *PAIR, Column("gap", "signed", 1), Column("human", decimals=1), Column("best", decimals=1),
        Column("best_model", "text"), Column("outside_interval", decimals=0), Column("agreement", "text")
    )  # fmt: skip
    rows = tuple(
        (
            *_pair_names(pair), 100 * rank.gap(), 100 * rank.human, 100 * rank.best, rank.best_model,
            _outside_flag(pair, rank.best_model), pair.trust or "",
        )
        for pair, rank in sorted(known, key=lambda item: -item[1].gap())
    )  # fmt: skip
    note = "Human minus best model: above 0 people are better."
    return ColumnTable("hume_figure4", "HUME figure 4: gap to the best model", columns, rows, note)


def median_gap_figure(known: list[Known]) -> ColumnTable:
    """F5: people minus the median model, by language and in it from the largest lead."""
    columns = (*PAIR, Column("gap", "signed", 1), Column("human", decimals=1), Column("median", decimals=1))
    rows = tuple(
        (*_pair_names(pair), 100 * rank.gap("median"), 100 * rank.human, 100 * rank.median)
        for pair, rank in sorted(known, key=lambda item: (item[0].lang, -item[1].gap("median")))
    )
    note = "Human minus median model: above 0 people are better."
    return ColumnTable(
        "hume_figure5", "HUME figure 5: gap to the median model, by language", columns, rows, note
    )


def difficulty_figure(summary: Summary) -> ColumnTable:
    """F6: how people do, from the easiest pair to the hardest."""
    scored = [(pair, pair.human.value) for pair in summary.pairs if pair.human.value is not None]
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (
            *_pair_names(pair),
            100 * value,
            in_points(pair.human.low),
            in_points(pair.human.high),
            pair.difficulty or "",
        )
        for pair, value in sorted(scored, key=lambda item: -item[1])
    )
    columns = (
        *PAIR, Column("human", decimals=1), Column("low", decimals=1), Column("high", decimals=1),
        Column("difficulty", "text")
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
        (
            *_pair_names(pair),
            *(100 * value for value in (rank.spread, rank.best, rank.worst, rank.sd)),
            rank.n_models,
        )
        for pair, rank in sorted(known, key=lambda item: -item[1].spread)
    )
    note = "Best minus lowest model: the higher, the less consistent the models are."
    return ColumnTable("hume_figure7", "HUME figure 7: range of the models", columns, rows, note)


def agreement_figure(known: list[Known]) -> ColumnTable:
    """F8, ours: agreement of people against best model minus people, over the pairs that have an agreement."""
    both = [
        (pair, rank, pair.agreement, pair.agreement.value.value)
        for pair, rank in known
        if pair.agreement and pair.agreement.value.value is not None
    ]
    columns = (
        *PAIR, Column("coefficient", "text"), Column("agreement"), Column("best_minus_human", "signed", 1),
        Column("band", "text"), Column("trust", "text")
    )  # fmt: skip
    rows = tuple(
        (
            *_pair_names(pair),
            agreement.coefficient,
            value,
            -100 * rank.gap(),
            agreement.band,
            pair.trust or "",
        )
        for pair, rank, agreement, value in both
    )
    correlation = correlate_series([value for *_, value in both], [-rank.gap() for _, rank, *_ in both])
    note = "Fewer than three pairs, or no variation: no correlation."
    if correlation.rho is not None and correlation.p is not None:
        note = f"Spearman {correlation.rho:.2f} over {correlation.n} pairs (p = {correlation.p:.3g}): below 0, models "
        note += "stand above people where people agree least."
    title = "HUME figure 8: agreement of people and lead of the best model"
    return ColumnTable("hume_figure8", title, columns, rows, note)


def _pair_names(pair: PairRecord) -> tuple[str, str, str]:
    return pair.family, pair.dataset, pair.lang


def _outside_flag(pair: PairRecord, system: str) -> Value:
    outside = next((score.outside for score in (*pair.models, *pair.llms) if score.system == system), None)
    return None if outside is None else int(outside)


def _win_rate(wins: Wins) -> tuple[float | None, float | None, float | None]:
    if not wins.pairs:
        return None, None, None
    estimate = wilson(wins.wins / wins.pairs, wins.pairs)
    return 100 * estimate.estimate, 100 * estimate.low, 100 * estimate.high
