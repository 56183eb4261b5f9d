"""Tables of the record beyond the paper's: agreement, every annotator, and the items they disagree on most."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap
from typing import Any, NamedTuple

from embassay.protocols.hume.published.paper import round_points_to_two_then_one_decimal
from embassay.protocols.hume.published.standings import (
    AGREEMENT_METRIC,
    PeopleAmongModelsOnPair,
    agreement_against_gap,
    compare_people_with_models,
)
from embassay.protocols.hume.record import (
    AnnotatorAgreement,
    AnnotatorScore,
    DatasetLanguageRecord,
    DisputedItem,
    Summary,
    SystemScore,
)
from embassay.protocols.hume.study import Answers, Family, Gold, StudyItem
from embassay.protocols.kernel.tables import (
    ColumnTable,
    ComputedColumn,
    Find,
    interval_columns,
    make_percentage_point_column,
    number_column,
    text,
    whole_number_column,
)

PAIR = tuple(text(name) for name in ("family", "dataset", "lang"))
OF_PAIR = tuple(text(name, f"pair.{name}") for name in ("family", "dataset", "lang"))
"""The same of an item that has a `pair`."""
ONE_ANNOTATOR = "one annotator"
_EXTRAS_IN_WORDS = """
    fleiss_kappa cohen_kappa percent_agreement alpha ari v_measure spearman kendall pearson absolute_difference
    spearman_sd comparisons skipped dropped
"""
_EXTRAS = tuple(_EXTRAS_IN_WORDS.split())
_CONVENTIONS = ("paper", "pooled", "mean", "first", "tie_aware", "display_order", "expected")
"""The order of columns; what the record has besides comes after, by name."""
_WHOLE = frozenset({"comparisons", "skipped", "dropped"})


class DatasetLanguageAnnotator(NamedTuple):
    """Somebody who answered a pair."""

    pair: DatasetLanguageRecord
    annotator: AnnotatorScore


def agreement_table(summary: Summary) -> ColumnTable:
    """Table `agreement`: per pair the coefficient of its family with interval and band, and all others known."""
    every = [pair.agreement for pair in summary.pairs if pair.agreement]
    note = "Agreement needs two annotators. The value column has the chosen coefficient; later columns have the others."
    if any(agreement.value.low is not None for agreement in every):
        note += " Intervals come from a bootstrap over items, with these annotators."
    return ColumnTable.of(
        "agreement",
        "HUME: how well annotators agree",
        summary.pairs,
        *PAIR,
        whole_number_column("annotators", _count_pair_annotators),
        whole_number_column("items", _count_pair_items),
        whole_number_column("annotations", "agreement.annotations"),
        text("coefficient", "agreement.coefficient"),
        *(number_column(name, f"agreement.value.{name}", 3) for name in ("value", "low", "high")),
        text("band", "agreement.band"),
        text("trust"),
        *_further_coefficient_columns(every),
        text("answered_by", lambda pair: name_annotator_kind(pair.annotators)),
        text("reason", _explain_missing_agreement),
        note=note,
    )


def _count_pair_annotators(pair: DatasetLanguageRecord) -> int:
    return pair.agreement.annotators if pair.agreement else len(pair.annotators)


def _count_pair_items(pair: DatasetLanguageRecord) -> int:
    return pair.agreement.items if pair.agreement else pair.n


def _explain_missing_agreement(pair: DatasetLanguageRecord) -> str:
    if pair.agreement:
        return pair.agreement.value.reason
    return ONE_ANNOTATOR if len(pair.annotators) == 1 else ""


def _further_coefficient_columns(every: Sequence[AnnotatorAgreement]) -> Iterator[ComputedColumn]:
    """Every further coefficient, and the ends of its interval where any pair has one."""
    sure = {name for agreement in every for name, bar in agreement.intervals.items() if bar.low is not None}
    for name in _order_coefficient_names((name for agreement in every for name in agreement.extras), _EXTRAS):
        decimals = 0 if name in _WHOLE else 3
        yield number_column(name, partial(_find_extra_coefficient, name), decimals)
        for end in ("low", "high") if name in sure else ():
            yield number_column(f"{name}_{end}", partial(_find_extra_interval_end, name, end), decimals)


def _find_extra_coefficient(name: str, pair: DatasetLanguageRecord) -> float | None:
    return pair.agreement.extras.get(name) if pair.agreement else None


def _find_extra_interval_end(name: str, end: str, pair: DatasetLanguageRecord) -> float | None:
    # Of a pair whose agreement lacks this coefficient there is no interval either.
    return getattr(pair.agreement.intervals.get(name), end, None) if pair.agreement else None


def annotator_scores_table(summary: Summary) -> ColumnTable:
    """Table `annotators`: a row per annotator and pair, with the human scores that every convention makes of them."""
    names = _order_coefficient_names((name for pair in summary.pairs for name in pair.conventions), _CONVENTIONS)
    rows = [DatasetLanguageAnnotator(pair, who) for pair in summary.pairs for who in (*pair.annotators, *pair.left_out)]
    return ColumnTable.of(
        "annotators",
        "HUME: annotators and conventions",
        rows,
        *OF_PAIR,
        text("measure", "pair.measure"),
        text("annotator", "annotator.id"),
        text("answered_by", lambda row: name_annotator_kind([row.annotator])),
        whole_number_column("items", "annotator.items"),
        make_percentage_point_column("score", "annotator.score"),
        make_percentage_point_column("human", "pair.human.value"),
        *(make_percentage_point_column(f"by_{name}", f"pair.conventions.{name}") for name in names),
        number_column("seconds_per_item", "annotator.seconds", 1),
        whole_number_column("flagged", "annotator.flagged"),
        whole_number_column("counts", lambda row: row.annotator in row.pair.annotators),
        note=(
            "score is the annotator's own; human is the pair's score, by the paper's rule unless the run "
            "chose another. by_pooled scores the pooled answers; by_mean averages the annotators' "
            "scores. counts is 0 for an annotator with too few items."
        ),
    )


def name_annotator_kind(annotators: Iterable[AnnotatorScore]) -> str:
    """Name the kind of annotators: `people`, `simulated` where scripts answered, or both."""
    kinds = {annotator.kind for annotator in annotators}
    return " and ".join(word for kind, word in (("person", "people"), ("simulated", "simulated")) if kind in kinds)


OwnScores = Mapping[str, Mapping[tuple[str, str], float]]
"""System -> its score by dataset and language."""


class PairBestModel(NamedTuple):
    """A pair and the best of its ranked models, the first of equals; None where none has a score."""

    pair: DatasetLanguageRecord
    best: SystemScore | None


def people_beside_best_model_table(pairs: Sequence[DatasetLanguageRecord], ranked: Collection[str]) -> ColumnTable:
    """Table 8 of a study: people with interval and agreement, the best of the ranked models, whether it is outside."""
    note = (
        "The range of the annotators is not a 95% interval, and being outside it is not a test result, "
        "because the model's own uncertainty is ignored. For tests, see the table hume_systems."
    )
    answered = text("answered_by", lambda row: name_annotator_kind(row.pair.annotators))
    return _make_table_8(pairs, ranked, *_people_table_columns(make_percentage_point_column), answered, note=note)


def printed_people_table(
    pairs: Sequence[DatasetLanguageRecord], ranked: Collection[str], own: OwnScores | None = None
) -> ColumnTable:
    """Table 8, rounded as there; agreement is exact. `outside_interval` is its star. `own` systems have a column each,
    and one that says whether they lie outside of people's interval."""
    note = (
        "Percentages were first rounded to two decimals. The range of the annotators is not a 95% interval, and being "
        "outside an interval is not a test result, because the model's own uncertainty is ignored."
    )
    return _make_table_8(
        pairs,
        ranked,
        *_people_table_columns(_make_paper_rounded_points_column),
        *_list_own_system_columns(own or {}),
        note=note,
    )


def _make_table_8(
    pairs: Sequence[DatasetLanguageRecord], ranked: Collection[str], *fields: ComputedColumn, note: str
) -> ColumnTable:
    # The paper prints `outside_interval` as p < .05; it is no test (spec hume, ambiguity 13).
    rows = [PairBestModel(pair, _find_best_model(pair, ranked)) for pair in pairs]
    return ColumnTable.of("hume_table8", "HUME table 8: people and the best model", rows, *fields, note=note)


def _find_best_model(pair: DatasetLanguageRecord, ranked: Collection[str]) -> SystemScore | None:
    scored = [model for model in pair.models if model.system in ranked and model.score.value is not None]
    return max(scored, key=lambda model: model.score.value or 0.0, default=None)


def _people_table_columns(show: Callable[[str, str], ComputedColumn]) -> tuple[ComputedColumn, ...]:
    """The columns of table 8; `show` makes those that are in points."""
    return (
        text("category", "pair.family"), text("task", "pair.dataset"), text("lang", "pair.lang"),
        whole_number_column("n_samples", lambda row: row.pair.human.n or row.pair.n),
        whole_number_column("n_annotators", lambda row: len(row.pair.annotators)),
        whole_number_column("total_annotations", lambda row: sum(who.items for who in row.pair.annotators)),
        show("human", "pair.human.value"), show("ci_low", "pair.human.low"), show("ci_high", "pair.human.high"),
        text("ci_method", lambda row: row.pair.human.method or row.pair.human.reason),
        text("iaa_metric", lambda row: agreement_coefficient_name(row.pair)),
        number_column("iaa", "pair.agreement_value"),
        text("best_model", "best.system"), show("best_model_score", "best.score.value"),
        whole_number_column("outside_interval", "best.outside"),
    )  # fmt: skip


def _make_paper_rounded_points_column(name: str, find: Find) -> ComputedColumn:
    """A fraction in points, rounded as the paper does."""
    exact = number_column(name, find, 1)
    return replace(exact, find=lambda row: _round_fraction_to_paper_points(exact.find(row)))


def _round_fraction_to_paper_points(value: Any) -> float | None:
    return None if value is None else round_points_to_two_then_one_decimal(value)


def _list_own_system_columns(own: OwnScores) -> Iterator[ComputedColumn]:
    for name, scores in own.items():
        yield _make_paper_rounded_points_column(name, partial(_find_own_score_of_dataset_language, scores))
        yield whole_number_column(f"{name} outside", partial(_is_own_system_outside_human_range, scores))


def _find_own_score_of_dataset_language(scores: Mapping[tuple[str, str], float], row: PairBestModel) -> float | None:
    return scores.get((row.pair.dataset, row.pair.lang))


def _is_own_system_outside_human_range(scores: Mapping[tuple[str, str], float], row: PairBestModel) -> bool | None:
    return row.pair.human.excludes(_find_own_score_of_dataset_language(scores, row))


def make_pair_trust_flags_table(pairs: Sequence[DatasetLanguageRecord]) -> ColumnTable:
    """Table `quality_flags` (15): agreement in words, models above people who disagree, other marks, what to do."""
    return ColumnTable.of(
        "quality_flags", "HUME: how far scores can be trusted", pairs, *PAIR,
        text("iaa_metric", agreement_coefficient_name),
        number_column("iaa", "agreement_value"), text("agreement", "trust"),
        whole_number_column("superhuman_on_noise"), text("advice"),
        text("flags", lambda pair: "; ".join(pair.flags)),
        note="Agreement needs two annotators and is empty if there is only one.",
    )  # fmt: skip


def agreement_coefficient_name(pair: DatasetLanguageRecord) -> str:
    """What the paper calls the coefficient of a pair's agreement; empty where there is none."""
    return AGREEMENT_METRIC[pair.family] if pair.agreement else ""


def _order_coefficient_names(known: Iterable[str], order: tuple[str, ...]) -> tuple[str, ...]:
    names = set(known)
    return (*(name for name in order if name in names), *sorted(names - set(order)))


MOST = 5
LONGEST = 400
"""Characters of a text that are kept."""
_TEXTS = ("text", "text1", "text2", "query")


def find_most_disputed_items(
    family: Family, items: Sequence[StudyItem], gold: Gold, answers: Answers, *, most: int = MOST
) -> tuple[DisputedItem, ...]:
    """Up to `most` items that annotators answered differently, the most disputed first, ties by id.

    How far they are apart, from 0 to 1: classification, the share of pairs of annotators with other labels; STS, the
    widest distance of two ratings over that of all ratings of the task; reranking, the share of documents that two
    annotators marked differently, mean over pairs; clustering, the share of other items that one put with this item
    and the other did not, mean over pairs. Items with fewer than two answers are none.

    >>> items = [StudyItem("a", "t", "eng", {"text": "so so"}), StudyItem("b", "t", "eng", {"text": "good"})]
    >>> answers = {"ann": {"a": "pos", "b": "pos"}, "bob": {"a": "neg", "b": "pos"}}
    >>> [(one.item, one.apart) for one in find_most_disputed_items("classification", items,
    ... {"a": "neg", "b": "pos"}, answers)]
    [('a', 1.0)]
    """
    apart = compute_disagreement_per_item(family, items, answers)
    rows = [
        (distance, item, {name: values[item.id] for name, values in answers.items() if item.id in values})
        for item in items
        if (distance := apart[item.id]) > 0
    ]
    rows.sort(key=lambda row: (-row[0], row[1].id))
    return tuple(
        DisputedItem(
            item=item.id, texts=_shorten_item_texts(item), gold=_describe_answer(gold.get(item.id)),
            answers={name: _describe_answer(value) for name, value in given.items()}, apart=distance,
        )
        for distance, item, given in rows[:most]
    )  # fmt: skip


def compute_disagreement_per_item(family: Family, items: Sequence[StudyItem], answers: Answers) -> dict[str, float]:
    """How far annotators are apart on each item, 0 to 1 as `find_most_disputed_items` says; 0 where fewer than two
    answered."""
    distances = {}
    for item in items:
        by_name = {name: values[item.id] for name, values in answers.items() if item.id in values}
        distances[item.id] = _APART[family](item.id, by_name, answers) if len(by_name) > 1 else 0.0
    return distances


def _mean_annotator_distance(answers: Mapping[str, Any], distance: Callable[[str, str], float]) -> float:
    """The mean distance over all pairs of annotators."""
    names = list(answers)
    pairs = [(name, other) for i, name in enumerate(names) for other in names[i + 1 :]]
    return sum(starmap(distance, pairs)) / len(pairs)


def _mean_label_distance(_: str, by_name: Mapping[str, Any], __: Answers) -> float:
    return _mean_annotator_distance(by_name, lambda one, other: float(by_name[one] != by_name[other]))


def _compute_relative_rating_range(_: str, by_name: Mapping[str, Any], answers: Answers) -> float:
    every = [value for values in answers.values() for value in values.values()]
    widest = max(every) - min(every)
    return float(max(by_name.values()) - min(by_name.values())) / widest if widest else 0.0


def _mean_distance_of_annotator_marks(_: str, by_name: Mapping[str, Any], __: Answers) -> float:
    def distance(one: str, other: str) -> float:
        differ = sum(a != b for a, b in zip(by_name[one], by_name[other], strict=True))
        return float(differ / len(by_name[one]))

    return _mean_annotator_distance(by_name, distance)


def _compute_mean_annotator_distance(item: str, by_name: Mapping[str, Any], answers: Answers) -> float:
    def distance(one: str, other: str) -> float:
        common = [id for id in answers[one] if id in answers[other] and id != item]
        apart = sum((answers[one][id] == by_name[one]) != (answers[other][id] == by_name[other]) for id in common)
        return apart / len(common) if common else 0.0

    return _mean_annotator_distance(by_name, distance)


_APART: Mapping[Family, Callable[[str, Mapping[str, Any], Answers], float]] = {
    "classification": _mean_label_distance,
    "sts": _compute_relative_rating_range,
    "reranking": _mean_distance_of_annotator_marks,
    "clustering": _compute_mean_annotator_distance,
}


def _shorten_item_texts(item: StudyItem) -> tuple[str, ...]:
    texts = [str(item.payload[name]) for name in _TEXTS if item.payload.get(name)]
    return tuple(text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " …" for text in texts)


def _describe_answer(value: Any) -> str:
    """An answer in words: marks by the places of the documents, shown order, that were marked.

    >>> _describe_answer((0, 1, 1)), _describe_answer((0, 0)), _describe_answer(3.0), _describe_answer("joy")
    ('2, 3', 'none', '3', 'joy')
    """
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(str(place) for place, mark in enumerate(value, start=1) if mark) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


PANELS = {"family": "family", "group": "group", "all": "reference", "lang": "lang"}
"""The panels of figure 3 in order, by the grouping of the record: over all pairs it is the reference that differs."""


def make_figure_tables(summary: Summary) -> Iterator[ColumnTable]:
    """`hume_figure1` to `hume_figure8`, each also where it has no row."""
    ranks = [beside.standing for beside in compare_people_with_models(summary) if beside.standing]
    yield make_overall_means_figure_table(summary)
    yield make_model_spread_figure_table(ranks)
    yield make_people_wins_figure_table(summary)
    yield make_best_model_gap_figure_table(ranks)
    yield make_median_model_gap_figure_table(ranks)
    yield make_pair_difficulty_figure_table(summary)
    yield make_model_range_figure_table(ranks)
    yield make_agreement_by_gap_figure_table(ranks)


def _make_hume_figure_table(
    place: int, title: str, items: Iterable[Any], *fields: ComputedColumn, note: str
) -> ColumnTable:
    return ColumnTable.of(f"hume_figure{place}", f"HUME figure {place}: {title}", items, *fields, note=note)


def make_overall_means_figure_table(summary: Summary) -> ColumnTable:
    """F1: means over pairs, best first."""
    return _make_hume_figure_table(
        1, "overall", sorted(summary.places, key=lambda place: (place.rank is None, place.rank or 0)),
        whole_number_column("rank"), text("system"), text("kind"),
        *interval_columns("mean", ("mean", "low", "high")),
        whole_number_column("pairs", "mean.n"), number_column("parameters_millions", decimals=1),
        whole_number_column("human", lambda place: place.kind == "human"),
        note="Mean over all pairs.",
    )  # fmt: skip


def make_model_spread_figure_table(ranks: Sequence[PeopleAmongModelsOnPair]) -> ColumnTable:
    """F2: the range of the models per pair and where people are, by language."""
    family, dataset, lang = OF_PAIR
    return _make_hume_figure_table(
        2,
        "people ranked among the models, by pair",
        sorted(ranks, key=lambda rank: (rank.pair.lang, -rank.human)),
        lang,
        family,
        dataset,
        whole_number_column("models", "n_models"),
        make_percentage_point_column("min", "worst"),
        make_percentage_point_column("median"),
        make_percentage_point_column("max", "best"),
        *interval_columns("pair.human", ("human", "human_low", "human_high")),
        number_column("position"),
        whole_number_column("human_rank", "rank"),
        note="Position is 0 for the worst model and 1 for the best.",
    )


def make_people_wins_figure_table(summary: Summary) -> ColumnTable:
    """F3: in what share of the pairs people are above the models, four panels, with Wilson intervals."""
    return _make_hume_figure_table(
        3,
        "pairs won by people",
        [wins for by in PANELS for wins in summary.wins if wins.by == by],
        text("panel", lambda wins: PANELS[wins.by]),
        text("group", lambda wins: wins.reference if wins.by == "all" else wins.group),
        text("against", "reference"),
        whole_number_column("wins"),
        whole_number_column("pairs"),
        make_percentage_point_column("win_rate", "win_rate_interval.value"),
        make_percentage_point_column("low", "win_rate_interval.low"),
        make_percentage_point_column("high", "win_rate_interval.high"),
        note="A tie does not count as a win. The 95% Wilson intervals are too narrow: they treat pairs as independent, "
        "but pairs share datasets and annotators.",
    )


def make_best_model_gap_figure_table(ranks: Sequence[PeopleAmongModelsOnPair]) -> ColumnTable:
    """F4: people minus the best model, from their largest lead to their largest deficit."""
    return _make_hume_figure_table(
        4,
        "gap to the best model",
        sorted(ranks, key=lambda rank: -rank.gap()),
        *OF_PAIR,
        make_percentage_point_column("gap", PeopleAmongModelsOnPair.gap, "signed"),
        make_percentage_point_column("human"),
        make_percentage_point_column("best"),
        text("best_model"),
        whole_number_column("outside_interval", lambda rank: rank.pair.find_system_score(rank.best_model).outside),
        text("agreement", "pair.trust"),
        note="Human minus best model. Above 0, people are better.",
    )


def make_median_model_gap_figure_table(ranks: Sequence[PeopleAmongModelsOnPair]) -> ColumnTable:
    """F5: people minus the median model, by language and in it from the largest lead."""
    return _make_hume_figure_table(
        5,
        "gap to the median model, by language",
        sorted(ranks, key=lambda rank: (rank.pair.lang, -rank.gap("median"))),
        *OF_PAIR,
        make_percentage_point_column("gap", lambda rank: rank.gap("median"), "signed"),
        make_percentage_point_column("human"),
        make_percentage_point_column("median"),
        note="Human minus median model. Above 0, people are better.",
    )


def make_pair_difficulty_figure_table(summary: Summary) -> ColumnTable:
    """F6: how people do, from the easiest pair to the hardest."""
    scored = [pair for pair in summary.pairs if pair.human.value is not None]
    return _make_hume_figure_table(
        6, "how hard pairs are for people", sorted(scored, key=lambda pair: -(pair.human.value or 0.0)), *PAIR,
        *interval_columns("human", ("human", "low", "high")), text("difficulty"),
        note="Easy: 70 or more. Hard: below 50.",
    )  # fmt: skip


def make_model_range_figure_table(ranks: Sequence[PeopleAmongModelsOnPair]) -> ColumnTable:
    """F7: best minus lowest model, from the least consistent pair on."""
    return _make_hume_figure_table(
        7,
        "range of the models",
        sorted(ranks, key=lambda rank: -rank.spread),
        *OF_PAIR,
        make_percentage_point_column("range", "spread"),
        make_percentage_point_column("best"),
        make_percentage_point_column("lowest", "worst"),
        make_percentage_point_column("sd"),
        whole_number_column("models", "n_models"),
        note="Best minus worst model. The higher this is, the less consistent the models are.",
    )


def make_agreement_by_gap_figure_table(ranks: Sequence[PeopleAmongModelsOnPair]) -> ColumnTable:
    """F8, ours: agreement of people against best model minus people, over the pairs that have an agreement."""
    correlation = agreement_against_gap(ranks)
    note = "The correlation needs at least three pairs and some variation."
    if correlation.rho is not None and correlation.p is not None:
        note = f"Spearman {correlation.rho:.2f} over {correlation.n} pairs (p = {correlation.p:.3g}). Below 0, models "
        note += "lead most where people agree least."
    return _make_hume_figure_table(
        8,
        "agreement between people and the lead of the best model",
        [rank for rank in ranks if rank.people_agreement is not None],
        *OF_PAIR,
        text("coefficient", "pair.agreement.coefficient"),
        number_column("agreement", "people_agreement"),
        # The models' lead, not people's, so that the correlation falls where agreement is low.
        make_percentage_point_column("best_minus_human", lambda rank: -rank.gap(), "signed"),
        text("band", "pair.agreement.band"),
        text("trust", "pair.trust"),
        note=note,
    )
