"""People against models: places by the mean over pairs, gaps, paired differences, and what a system can hope for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from markupsafe import Markup

from embassay.document.blocks import Table
from embassay.document.marks import SHARES, LinearScale, draw_difference_mark, fit_axis_scale
from embassay.protocols.hume.record import (
    DatasetLanguageRecord,
    PeopleWinCount,
    Summary,
    SystemMeanAndRank,
    SystemScore,
)
from embassay.protocols.hume.results.markdown import POINTS, describe_kind_of_answerers
from embassay.protocols.hume.study import FAMILIES
from embassay.protocols.kernel import tables as numbers
from embassay.report.hume.families import (
    TITLES,
    DatasetLanguageModelScores,
    draw_bar_from_zero,
    draw_interval_bar,
    draw_value_marker,
    format_agreement,
    format_exact_points_and_ends,
    format_first_pair_names,
    format_interval_ends,
    format_percent_of_human,
    format_percent_of_human_if_agreed,
    format_score_in_points,
    list_models_of_hume_record,
)
from embassay.report.notes import UndecidedDifference, undecided_outlook_table
from embassay.report.record import shorten_names_to_labels
from embassay.stats import Estimate, wilson
from embassay.stats.tests import holm

REFERENCES: tuple[Literal["best", "median", "mean"], ...] = ("best", "median", "mean")


@dataclass(frozen=True)
class RankedPlaceRow:
    """One of the ranked: place, name, mean with interval, size in words, percent of human."""

    place: str
    label: str
    kind: str
    mark: Markup
    mean: str
    interval: str
    exact: str
    size: str
    share: str
    reason: str


@dataclass(frozen=True)
class RankedPlaceGroups:
    """The ranked, best first, then those that are not, under the reason; on one scale."""

    groups: tuple[tuple[str, tuple[RankedPlaceRow, ...]], ...]
    scale: LinearScale
    has_sizes: bool
    has_intervals: bool


@dataclass(frozen=True)
class HumanWinRow:
    """A group of pairs: in how many people win."""

    label: str
    mark: Markup
    text: str


@dataclass(frozen=True)
class HumanWinPanel:
    """Groups of one kind, against one reference."""

    title: str
    rows: tuple[HumanWinRow, ...]


def make_people_and_models_rank_chart(summary: Summary) -> RankedPlaceGroups | None:
    """The ranking; None for one pair or nobody to rank."""
    shown = [place for place in summary.places if place.rank is not None or place.kind != "llm"]
    if len(summary.pairs) < 2 or len(shown) < 2:
        return None
    label = shorten_names_to_labels([place.system for place in shown if place.kind != "human"])
    ends = [end for row in shown for end in (row.mean.value, row.mean.low, row.mean.high) if end is not None]
    human = next((place.mean.value for place in shown if place.kind == "human"), None)
    scale = fit_axis_scale(ends, factor=100.0)
    rows = tuple(
        _make_ranked_system_row(row, label.get(row.system, ""), human, describe_kind_of_answerers(summary), scale)
        for row in shown
    )
    groups = [("", tuple(row for row in rows if not row.reason))]
    groups.extend(
        (_explain_unranked(reason), tuple(row for row in rows if row.reason == reason))
        for reason in dict.fromkeys(row.reason for row in rows if row.reason)
    )
    return RankedPlaceGroups(
        tuple((title, own) for title, own in groups if own), scale,
        any(place.parameters_millions for place in shown), any(row.interval for row in rows)
    )  # fmt: skip


def _make_ranked_system_row(
    place: SystemMeanAndRank, label: str, human: float | None, who: str, scale: LinearScale
) -> RankedPlaceRow:
    bar = place.mean
    whole = bar.low is not None
    share = 100 * bar.value / human if bar.value is not None and human and human > 0 else None
    mark = (
        Markup("")
        if bar.value is None
        else draw_interval_bar(bar, place.kind, scale)
        if whole
        else draw_value_marker(bar.value, place.kind, scale)
    )
    return RankedPlaceRow(
        place=numbers.NONE if place.rank is None else str(place.rank),
        label=who.capitalize() if place.kind == "human" else label,
        kind=place.kind,
        mark=mark,
        mean=format_score_in_points(bar),
        interval=format_interval_ends(bar),
        exact=format_exact_points_and_ends(bar),
        size=_format_parameter_count(place.parameters_millions),
        share="" if place.kind == "human" else format_percent_of_human(share),
        reason=bar.reason if place.rank is None else "",
    )


def _explain_unranked(reason: str) -> str:
    return reason[0].upper() + reason[1:] if "not ranked" in reason else f"Not ranked: {reason}"


def _format_parameter_count(millions: float | None) -> str:
    """`22.7 M`, `7.1 B`.

    >>> _format_parameter_count(22.7), _format_parameter_count(7111), _format_parameter_count(None)
    ('23 M', '7.1 B', '–')
    """
    if millions is None:
        return numbers.NONE
    return f"{millions / 1000:.1f} B" if millions >= 1000 else f"{millions:.0f} M"


def human_win_panels(summary: Summary) -> tuple[HumanWinPanel, ...]:
    """Against each reference over all pairs; then against the best model by family, group and language."""
    every = [wins for wins in summary.wins if wins.by == "all"]
    every.sort(key=lambda wins: REFERENCES.index(wins.reference))
    panels = [
        HumanWinPanel(
            "All pairs, against the", tuple(_make_human_win_row(wins, f"{wins.reference} model") for wins in every)
        )
    ]
    for by, title in (("family", "By task family"), ("group", "By dataset group"), ("lang", "By language")):
        of_group = [wins for wins in summary.wins if wins.by == by and wins.reference == "best" and wins.group]
        if len(of_group) > 1:
            of_group.sort(key=lambda wins: -wins.pairs)
            named = [_group_title(wins.group) for wins in of_group]
            panels.append(HumanWinPanel(title, tuple(map(_make_human_win_row, of_group, named))))
    return tuple(panel for panel in panels if panel.rows)


def _group_title(name: str) -> str:
    return next((TITLES[family] for family in FAMILIES if family == name), name.removesuffix(" datasets"))


def _make_human_win_row(wins: PeopleWinCount, label: str) -> HumanWinRow:
    rate = wilson(wins.wins / wins.pairs, wins.pairs)
    return HumanWinRow(label, draw_interval_bar(rate, "human", SHARES), f"{wins.wins} of {wins.pairs}")


@dataclass(frozen=True)
class HumanGapRow:
    """A pair: its bar, the gap, and the score it is taken from (with the model's name where it is one model's)."""

    dataset: str
    mark: Markup
    gap: str
    exact: str
    other: str
    model: str
    share: str


@dataclass(frozen=True)
class HumanGapChart:
    """The pairs against one reference, in groups by language: the language with the largest mean gap first."""

    title: str
    id: str
    scale: LinearScale
    groups: tuple[tuple[str, tuple[HumanGapRow, ...]], ...]
    is_best: bool


def build_human_gap_charts(summary: Summary, every: Sequence[DatasetLanguageModelScores]) -> tuple[HumanGapChart, ...]:
    """Build the charts of the gap against the best model, then against the median one."""
    label = shorten_names_to_labels(list_models_of_hume_record(summary))
    charts = (_build_human_gap_chart(reference, title, every, label) for reference, title in (
        ("best", "the best model"), ("median", "the median model")
    ))  # fmt: skip
    return tuple(chart for chart in charts if chart.groups)


def _build_human_gap_chart(
    reference: str, title: str, every: Sequence[DatasetLanguageModelScores], label: dict[str, str]
) -> HumanGapChart:
    gaps = [(gap, rank) for rank in every if (gap := rank.gap(reference)) is not None]
    scale = fit_axis_scale([0.0, *(gap for gap, _ in gaps)], within=None, factor=100.0)
    by_lang: dict[str, list[tuple[float, DatasetLanguageModelScores]]] = {}
    for gap, models in sorted(gaps, key=lambda item: -item[0]):
        by_lang.setdefault(models.pair.lang, []).append((gap, models))
    # Stable: languages of equal means keep the order of their largest gap.
    order = sorted(by_lang, key=lambda lang: -fmean(gap for gap, _ in by_lang[lang]))
    return HumanGapChart(
        title, f"gaps-{reference}", scale,
        tuple(
            (lang, tuple(_make_human_gap_row(gap, rank, reference, scale, label) for gap,
                rank in by_lang[lang])) for lang in order
        ),
        reference == "best"
    )  # fmt: skip


def _make_human_gap_row(
    gap: float, models: DatasetLanguageModelScores, reference: str, scale: LinearScale, label: dict[str, str]
) -> HumanGapRow:
    best = models.best if reference == "best" else None
    other = format_score_in_points(best.score) if best is not None else POINTS.text(models.median or 0.0)
    return HumanGapRow(
        models.pair.dataset, draw_bar_from_zero(gap, scale), POINTS.change(gap), f"{100 * gap:.6g}", other,
        label[best.system] if best is not None else "",
        format_percent_of_human_if_agreed(models.pair, best.percent_of_human) if best is not None else ""
    )  # fmt: skip


ALPHA = 0.05


@dataclass(frozen=True)
class PeopleDifferenceRow:
    """A system less people: drawing, text, p after Holm's correction, its place among the annotators, in words."""

    label: str
    kind: str
    mark: Markup
    difference: str
    interval: str
    exact: str
    p: str
    sure: bool
    among: str
    words: str


@dataclass(frozen=True)
class SystemDifferencesOnPair:
    """The systems of one pair, the highest first; the title says how well its annotators agree."""

    title: str
    id: str
    scale: LinearScale
    rows: tuple[PeopleDifferenceRow, ...]
    has_among: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class HumanDifferencesByDatasetLanguage:
    """The systems of several pairs side by side: `heads` are the pairs with their scales, a line has a row per pair,
    None where the system was not scored on it."""

    heads: tuple[tuple[str, LinearScale], ...]
    lines: tuple[tuple[str, str, tuple[PeopleDifferenceRow | None, ...]], ...]
    has_among: bool
    reasons: tuple[str, ...]


def merge_pair_difference_plots(plots: Sequence[SystemDifferencesOnPair]) -> HumanDifferencesByDatasetLanguage | None:
    """The plots in one table, systems in the order of their mean place; None without a plot."""
    if not plots:
        return None
    by_label = [{row.label: row for row in plot.rows} for plot in plots]
    kinds = {row.label: row.kind for plot in plots for row in plot.rows}
    places = {
        # Places as shares, since pairs have different numbers of systems.
        name: fmean(list(rows).index(name) / len(rows) for rows in by_label if name in rows)
        for name in kinds
    }
    lines = tuple(
        (name, kinds[name], tuple(rows.get(name) for rows in by_label))
        for name in sorted(kinds, key=lambda kind: places[kind])
    )
    return HumanDifferencesByDatasetLanguage(
        tuple((plot.title, plot.scale) for plot in plots), lines, any(plot.has_among for plot in plots),
        tuple(dict.fromkeys(reason for plot in plots for reason in plot.reasons))
    )  # fmt: skip


def find_pairs_undecided_vs_people(
    summary: Summary, every: Sequence[DatasetLanguageModelScores]
) -> tuple[UndecidedDifference, ...]:
    """The pairs on which the best model cannot be told apart from people, by its paired difference and Holm's
    correction over the systems of the pair. An item takes a label of each annotator."""
    rows, label = [], shorten_names_to_labels(list_models_of_hume_record(summary))
    for models in every:
        best, tested = (
            models.best,
            [own for own in _sort_scores_by_difference_to_people(models.pair) if own.p is not None],
        )
        if best is None or best not in tested or best.difference is None:
            continue
        low, high = best.difference.low, best.difference.high
        p = holm([own.p or 0.0 for own in tested])[tested.index(best)]
        if p >= ALPHA and low is not None and high is not None and high > low:
            name = f"{label[best.system]} on {models.pair.name}"
            people = len(models.pair.annotators)
            n, value = best.difference.n or models.pair.n, best.difference.value or 0.0
            rows.append(UndecidedDifference(name, value, (high - low) / 2, n, len(tested), people))
    return tuple(rows)


def make_outlook_table_of_undecided_pairs(
    summary: Summary, every: Sequence[DatasetLanguageModelScores], most: int | None = None, price: float | None = None
) -> Table | None:
    """Make the table of undecided pairs: what more items would achieve for each; None without any."""
    rows = find_pairs_undecided_vs_people(summary, every)
    title = (
        "What more items would achieve: the chance to separate the best model "
        f"from {describe_kind_of_answerers(summary)}"
    )
    table = undecided_outlook_table(title, "Items", rows, most=most, price=price, chance="Chance", unit=POINTS)
    return replace(table, id="hume-next") if rows else None


def make_pair_difference_plots(summary: Summary) -> tuple[SystemDifferencesOnPair, ...]:
    """A plot for every pair with differences; published results have none, as they have no items."""
    label = shorten_names_to_labels(list_models_of_hume_record(summary))
    known = [(pair, gaps) for pair in summary.pairs if (gaps := _sort_scores_by_difference_to_people(pair))]
    return tuple(_make_system_differences_on_pair(pair, gaps, i, label) for i, (pair, gaps) in enumerate(known))


def _sort_scores_by_difference_to_people(pair: DatasetLanguageRecord) -> list[SystemScore]:
    gaps = [
        score for score in (*pair.models, *pair.llms)
        if score.difference is not None and score.difference.value is not None
    ]  # fmt: skip
    return sorted(gaps, key=lambda score: -_find_difference_value_or_zero(score))


def _find_difference_value_or_zero(score: SystemScore) -> float:
    return 0.0 if score.difference is None else score.difference.value or 0.0


def _make_system_differences_on_pair(
    pair: DatasetLanguageRecord, gaps: Sequence[SystemScore], place: int, label: dict[str, str]
) -> SystemDifferencesOnPair:
    ends = [
        end for score in gaps if score.difference is not None
        for end in (score.difference.value, score.difference.low, score.difference.high) if end is not None
    ]  # fmt: skip
    scale = fit_axis_scale([0.0, *ends], within=None, factor=100.0)
    tested = [score for score in gaps if score.p is not None]
    adjusted = dict(zip((score.system for score in tested), holm([score.p or 0.0 for score in tested]), strict=True))
    rows = tuple(_make_people_difference_row(pair, score, adjusted.get(score.system), scale, label) for score in gaps)
    agreement = f"agreement {format_agreement(pair)}" if pair.agreement else format_agreement(pair)
    return SystemDifferencesOnPair(
        f"{pair.name}, {agreement}", f"against-{place}", scale, rows,
        any(score.among_people is not None for score in gaps),
        tuple(
            dict.fromkeys(why.rstrip(".") for score in gaps if score.difference and (why := score.difference.reason))
        )
    )  # fmt: skip


def _make_people_difference_row(
    pair: DatasetLanguageRecord, score: SystemScore, p: float | None, scale: LinearScale, label: dict[str, str]
) -> PeopleDifferenceRow:
    bar = score.difference
    assert bar is not None
    value = bar.value or 0.0
    sure = p is not None and p < ALPHA
    return PeopleDifferenceRow(
        label=label[score.system],
        kind=score.kind,
        mark=draw_difference_mark(bar.low, value, bar.high, score.kind, scale),
        difference=POINTS.change(value),
        interval=format_interval_ends(bar) or "no interval",
        exact=format_exact_points_and_ends(bar),
        p="n/a" if p is None else numbers.format_p_value(p),
        sure=sure,
        among=numbers.NONE
        if score.among_people is None
        else _format_annotators_below(score.among_people, len(pair.annotators)),
        words=_describe_difference_from_people(pair, value, p, sure=sure),
    )


def _format_annotators_below(share: float, annotators: int) -> str:
    """Say how many annotators score below, ties as halves."""
    return f"{share * annotators:.1f} of {annotators}".replace(".0 of", " of")


def _describe_difference_from_people(pair: DatasetLanguageRecord, value: float, p: float | None, *, sure: bool) -> str:
    who = describe_kind_of_answerers(pair)
    if p is None:
        return "not tested"
    if not sure:
        return f"cannot be told apart from {who}"
    if value < 0:
        return f"below {who}"
    return f"above {who}, whose agreement is low" if pair.trust == "low" else f"above {who}"


Cell = tuple[str, str, str]
"""A value, what stands under it, and exactly."""


@dataclass(frozen=True)
class HumanCeilingRow:
    """A pair: an annotator against the others, the best model against the same answers, what would separate it."""

    name: str
    ceiling: Cell
    model: Cell
    system: str
    items: str
    annotators: str
    smallest: str


@dataclass(frozen=True)
class HumanCeilingTable:
    """The rows of the pairs that have a ceiling or a need."""

    rows: tuple[HumanCeilingRow, ...]
    has_ceiling: bool
    has_need: bool
    notes: tuple[str, ...]


def score_ceilings_table(summary: Summary, every: Sequence[DatasetLanguageModelScores]) -> HumanCeilingTable | None:
    """Make the table of ceilings; None where no pair has a ceiling or a need."""
    label = shorten_names_to_labels(list_models_of_hume_record(summary))
    told = [models for models in every if models.pair.ceiling is not None or models.pair.need is not None]
    if not told:
        return None
    return HumanCeilingTable(
        tuple(_ceiling_row(models, label) for models in told),
        any(models.pair.ceiling is not None for models in told),
        any(models.pair.need is not None for models in told),
        _explain_missing_ceilings([models.pair for models in told]),
    )


def _explain_missing_ceilings(pairs: Sequence[DatasetLanguageRecord]) -> tuple[str, ...]:
    """Explain why ceilings are missing, once for all pairs where they are."""
    where: dict[str, list[DatasetLanguageRecord]] = {}
    for pair in pairs:
        bar, need = pair.ceiling, pair.need
        if bar is not None and bar.low is None and bar.reason:
            where.setdefault(f"no interval for the ceiling: {bar.reason.rstrip('.')}", []).append(pair)
        if need is not None and need.note:
            where.setdefault(need.note.rstrip("."), []).append(pair)
    return tuple(f"{format_first_pair_names(own)}: {why}." for why, own in where.items())


def _ceiling_row(models: DatasetLanguageModelScores, label: Mapping[str, str]) -> HumanCeilingRow:
    pair, need, best = models.pair, models.pair.need, models.best
    system = need.system if need is not None else best.system if best is not None else ""
    return HumanCeilingRow(
        name=pair.name,
        ceiling=_make_estimate_cell(pair.ceiling),
        model=_make_estimate_cell(None if best is None else best.against_people),
        system=label.get(system, system),
        items=_format_items_needed(None if need is None else need.items, pair.n, "item"),
        annotators=_format_items_needed(None if need is None else need.annotators, len(pair.annotators), "annotator"),
        smallest=numbers.NONE if need is None or need.smallest is None else POINTS.text(need.smallest),
    )


def _make_estimate_cell(bar: Estimate | None) -> Cell:
    if bar is None:
        return numbers.NONE, "", ""
    return (
        format_score_in_points(bar),
        format_interval_ends(bar) or ("no interval" if bar.value is not None else ""),
        format_exact_points_and_ends(bar),
    )


def _format_items_needed(needed: int | None, have: int, noun: str) -> str:
    """Format the items needed in all, and how many more: `380 items (340 more)`.

    >>> [_format_items_needed(needed, 40, "item") for needed in (380, 30, None)]
    ['380 items (340 more)', '30 items, which is enough', 'n/a']
    """
    if needed is None:
        return "n/a"
    more = f" ({numbers.format_count(needed - have)} more)" if needed > have else ", which is enough"
    return numbers.format_noun_count(needed, noun) + more
