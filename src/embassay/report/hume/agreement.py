"""How far people's scores can be trusted: agreement by pair, against the models' lead, by annotator; disputes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap

from markupsafe import Markup

from embassay.data.intake import find_language_by_code
from embassay.document.marks import LinearScale, fit_axis_scale
from embassay.document.plots import PlotAxis, PlotPoint, draw_scatter_plot
from embassay.protocols.hume.published.standings import EASY, HARD
from embassay.protocols.hume.record import AnnotatorAgreement, AnnotatorScore, DatasetLanguageRecord, Summary
from embassay.protocols.hume.results.markdown import POINTS, describe_kind_of_answerers
from embassay.protocols.hume.study import FAMILIES, Family
from embassay.protocols.kernel import tables as numbers
from embassay.report.hume.families import (
    COEFFICIENT,
    COEFFICIENTS,
    CONVENTIONS,
    COUNTS,
    TITLES,
    DatasetLanguageModelScores,
    draw_agreement,
    draw_value_strip,
    format_agreement,
    format_interval_ends,
    format_score_with_interval,
)

LIMITS: dict[Family, tuple[float, float]] = {
    "classification": (0.4, 0.6), "clustering": (0.4, 0.6), "reranking": (0.6, 0.7), "sts": (0.6, 0.7)
}  # fmt: skip
"""Below the first agreement is low, above the second high (spec hume 8)."""
HAIR = 0.02
WORDS = {"easy": f"{100 * EASY:.0f} or more", "moderate": "between", "hard": f"under {100 * HARD:.0f}"}


@dataclass(frozen=True)
class DatasetLanguageAgreementRow:
    """A pair: its coefficient between the thresholds, its word, the others."""

    name: str
    mark: Markup
    coefficient: str
    value: str
    interval: str
    exact: str
    why: str
    word: str
    trust: str
    annotators: str
    extras: str
    advice: str


@dataclass(frozen=True)
class AgreementTable:
    """All pairs with two or more annotators, on one scale; `alone` are the names of the others."""

    rows: tuple[DatasetLanguageAgreementRow, ...]
    scale: LinearScale
    alone: tuple[str, ...]


@dataclass(frozen=True)
class LowAgreementDatasetLanguage:
    """A pair that is too noisy to rank models on: agreement, people and the best model, what to do."""

    name: str
    agreement: str
    people: str
    best: str
    side: str
    above: bool
    advice: str


@dataclass(frozen=True)
class FamilyDifficultyRow:
    """A family: its pairs on one line by people's score, and how many are easy, moderate and hard."""

    title: str
    mark: Markup
    counts: str


@dataclass(frozen=True)
class FamilyDifficulties:
    """The families on one scale, and a sentence on all pairs."""

    rows: tuple[FamilyDifficultyRow, ...]
    scale: LinearScale
    said: str


def make_dataset_agreement_table(pairs: Sequence[DatasetLanguageRecord]) -> AgreementTable:
    """Agreement in full."""
    agreements = [pair.agreement for pair in pairs if pair.agreement is not None]
    ends = [
        end
        for agreement in agreements
        for end in (agreement.value.value, agreement.value.low, agreement.value.high)
        if end is not None
    ]
    scale = make_agreement_axis_scale(ends)
    rows = tuple(_agreement_row(pair, pair.agreement, scale) for pair in pairs if pair.agreement is not None)
    return AgreementTable(
        rows, scale, tuple(pair.name for pair in pairs if pair.agreement is None and len(pair.annotators) == 1)
    )


def make_agreement_axis_scale(values: Sequence[float], factor: float = 1.0) -> LinearScale:
    """The scale of agreement: from 0 to 1, or as far below 0 as the values go."""
    low = min([0.0, *(value for value in values if value < -HAIR)])
    return LinearScale(math.floor(low / 0.2) * 0.2, 1.0, 0.2, factor)


def _agreement_row(
    pair: DatasetLanguageRecord, agreement: AnnotatorAgreement, scale: LinearScale
) -> DatasetLanguageAgreementRow:
    bar = agreement.value
    # The script of the page sorts by exact numbers; people see rounded ones.
    ends = [f"{end:.6g}" for end in (bar.value, bar.low, bar.high) if end is not None]
    return DatasetLanguageAgreementRow(
        name=pair.name,
        mark=draw_agreement(bar, LIMITS[pair.family], scale),
        coefficient=COEFFICIENTS.get(agreement.coefficient, agreement.coefficient),
        value="n/a" if bar.value is None else COEFFICIENT.text(bar.value),
        interval=format_interval_ends(bar, COEFFICIENT),
        exact="" if bar.value is None else ",".join(ends if len(ends) == 3 else ends[:1]),
        why=bar.reason,
        word=agreement.band,
        trust=pair.trust or "",
        annotators=f"{agreement.annotators}, {numbers.format_noun_count(agreement.items, 'item')}",
        extras=", ".join(
            _describe_coefficient(name, value)
            for name, value in agreement.extras.items()
            if value is not None and (value or name not in COUNTS)
        ),
        advice=pair.advice,
    )


def _describe_coefficient(name: str, value: float) -> str:
    said = COEFFICIENTS.get(name, name.replace("_", " "))
    if name in COUNTS:
        return f"{said} {value:.0f}"
    return (
        f"{said} {numbers.format_percent(value)}"
        if name == "percent_agreement"
        else f"{said} {COEFFICIENT.text(value)}"
    )


def find_low_agreement_datasets(every: Sequence[DatasetLanguageModelScores]) -> tuple[LowAgreementDatasetLanguage, ...]:
    """The pairs with low agreement, those with a model above people first."""
    low = [models for models in every if models.pair.trust == "low"]
    low.sort(key=lambda models: not models.pair.superhuman_on_noise)
    return tuple(
        LowAgreementDatasetLanguage(
            models.pair.name,
            format_agreement(models.pair),
            format_score_with_interval(models.pair.human),
            "no model" if models.best is None else format_score_with_interval(models.best.score),
            models.side,
            models.pair.superhuman_on_noise,
            models.pair.advice,
        )
        for models in low
    )


def rate_dataset_difficulty_for_humans(pairs: Sequence[DatasetLanguageRecord]) -> FamilyDifficulties:
    """How hard the pairs are for people: easy from 70 points, hard under 50."""
    values = [pair.human.value for pair in pairs if pair.human.value is not None]
    scale = make_agreement_axis_scale(values, factor=100.0)
    rows = tuple(
        FamilyDifficultyRow(
            TITLES[family], _draw_pair_difficulty_strip(of_family, scale), _format_difficulty_counts(of_family)
        )
        for family in FAMILIES
        if (of_family := [pair for pair in pairs if pair.family == family])
    )
    hard = [pair.name for pair in pairs if pair.difficulty == "hard"]
    ends = f" Hard: {', '.join(hard[:6])}{' and others' if len(hard) > 6 else ''}." if hard else ""
    return FamilyDifficulties(
        rows,
        scale,
        f"Of {numbers.format_noun_count(len(pairs), 'pair')}: {_format_difficulty_counts(pairs)}.{ends}",
    )


def _draw_pair_difficulty_strip(pairs: Sequence[DatasetLanguageRecord], scale: LinearScale) -> Markup:
    known = [
        (pair.human.value, f"{pair.name} {format_score_with_interval(pair.human)}")
        for pair in pairs
        if pair.human.value is not None
    ]
    return draw_value_strip(known, (HARD, EASY), scale)


def _format_difficulty_counts(pairs: Sequence[DatasetLanguageRecord]) -> str:
    counts = {word: sum(pair.difficulty == word for pair in pairs) for word in WORDS}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "none scored"


FEWEST = 4
LABELLED = 2
"""So many pairs with the largest leads have their name beside them."""


@dataclass(frozen=True)
class LeadByAgreementScatter:
    """The scatter and what it says."""

    svg: Markup
    summary: str
    said: str
    n: int


def plot_model_lead_by_agreement(
    summary: Summary, every: Sequence[DatasetLanguageModelScores]
) -> LeadByAgreementScatter | None:
    """A point per pair with agreement and a model; None under four of them."""
    known = [
        (models.pair.agreement.value.value, -gap, models)
        for models in every
        if models.pair.agreement is not None and models.pair.agreement.value.value is not None
        and (gap := models.gap()) is not None
    ]  # fmt: skip
    if len(known) < FEWEST:
        return None
    largest = sorted(known, key=lambda item: -item[1])[:LABELLED]
    points = [_make_agreement_and_lead_point(*item, named=item in largest) for item in known]
    who = describe_kind_of_answerers(summary)
    ahead = [y for _, y, _ in known]
    drawn = draw_scatter_plot(
        points,
        PlotAxis(make_agreement_axis_scale([x for x, _, _ in known]), "agreement of annotators"),
        PlotAxis(
            fit_axis_scale([0.0, *ahead], within=(0.0, 1.0) if min(ahead) >= 0 else None, factor=100.0),
            f"best model minus {who}, points", 0.0, "" if min(ahead) >= 0 else f"below: {who} lead",
        )
    )  # fmt: skip
    said = _say_agreement_gap_correlation(summary, len(known))
    return LeadByAgreementScatter(
        drawn, f"Lead of the best model against agreement, {len(known)} pairs. {said}", said, len(known)
    )


def _make_agreement_and_lead_point(
    agreement: float, ahead: float, models: DatasetLanguageModelScores, *, named: bool
) -> PlotPoint:
    return PlotPoint(agreement, ahead, "embedding", models.pair.name if named else "")


def _say_agreement_gap_correlation(summary: Summary, n: int) -> str:
    bar = summary.agreement_against_gap
    if bar is None or bar.value is None:
        return ""
    p = summary.agreement_against_gap_p
    test = "" if p is None else f", p {numbers.format_p_value(p)}"
    way = (
        "The less annotators agree, the further ahead models are"
        if bar.value < 0
        else "The more annotators agree, the further ahead models are"
    )
    sure = way if p is not None and p < 0.05 else "No clear relation"
    return f"{sure}: Spearman {COEFFICIENT.text(bar.value)} over {n} pairs{test}."


@dataclass(frozen=True)
class AnnotatorRow:
    """An annotator on a pair; `seconds` is the median time of an item."""

    pair: str
    id: str
    simulated: bool
    score: str
    exact: str
    items: str
    seconds: str
    flagged: str


@dataclass(frozen=True)
class AnnotatorTable:
    """All of them; a column that nobody has a value in is left out."""

    rows: tuple[AnnotatorRow, ...]
    has_seconds: bool
    has_flags: bool


@dataclass(frozen=True)
class ScoresByConventionRow:
    """A pair: its score by each convention of the table, the text and the exact value; the first is the one used."""

    pair: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class HumanScoreByConventionTable:
    """The human score by convention, where a pair has several annotators."""

    columns: tuple[str, ...]
    rows: tuple[ScoresByConventionRow, ...]


def annotators_table(pairs: Sequence[DatasetLanguageRecord]) -> AnnotatorTable:
    """Make the table of annotators, with the rows of all pairs."""
    every = [(pair, annotator) for pair in pairs for annotator in (*pair.annotators, *pair.left_out)]
    return AnnotatorTable(
        tuple(starmap(_annotator_row, every)),
        any(annotator.seconds is not None for _, annotator in every),
        any(annotator.flagged for _, annotator in every),
    )


def _annotator_row(pair: DatasetLanguageRecord, annotator: AnnotatorScore) -> AnnotatorRow:
    items = f"{annotator.items} of {pair.n}" if annotator.items < pair.n else numbers.format_count(annotator.items)
    items += "" if annotator in pair.annotators else ", left out"
    return AnnotatorRow(
        pair.name,
        annotator.id,
        annotator.kind == "simulated",
        POINTS.text(annotator.score),
        f"{100 * annotator.score:.6g}",
        items,
        numbers.NONE if annotator.seconds is None else numbers.format_duration(annotator.seconds),
        str(annotator.flagged),
    )


def scores_by_convention_table(pairs: Sequence[DatasetLanguageRecord]) -> HumanScoreByConventionTable | None:
    """The table; None where no pair has more than one annotator."""
    several = [pair for pair in pairs if len(pair.annotators) > 1]
    names = [name for name in CONVENTIONS if any(record.conventions.get(name) is not None for record in several)]
    if len(names) < 2:
        return None
    return HumanScoreByConventionTable(
        tuple(CONVENTIONS[name] for name in names),
        tuple(
            ScoresByConventionRow(
                record.name, tuple(_format_points_with_sort_key(record.conventions.get(name)) for name in names)
            )
            for record in several
        ),
    )


def _format_points_with_sort_key(value: float | None) -> tuple[str, str]:
    return ("–", "") if value is None else (POINTS.text(value), f"{100 * value:.6g}")


@dataclass(frozen=True)
class DisputedItemRow:
    """An item: its texts, gold, every answer with who gave it, and how far apart they are in percent."""

    item: str
    texts: tuple[str, ...]
    gold: str
    answers: tuple[tuple[str, str], ...]
    apart: str
    exact: str


@dataclass(frozen=True)
class DisputedItemsOfDataset:
    """The items of one pair; `title` names it."""

    title: str
    lang: str
    is_marked: bool
    rows: tuple[DisputedItemRow, ...]


def list_disputed_items_by_pair(pairs: Sequence[DatasetLanguageRecord]) -> tuple[DisputedItemsOfDataset, ...]:
    """The pairs that have such items. Reranking is answered by the places of documents (`is_marked`)."""
    return tuple(
        DisputedItemsOfDataset(
            pair.name, _browser_language_tag(pair.lang), pair.family == "reranking",
            tuple(
                DisputedItemRow(
                    item.item, item.texts, item.gold, tuple(item.answers.items()), numbers.format_percent(item.apart),
                    f"{100 * item.apart:.6g}",
                )
                for item in pair.disputed
            ),
        )
        for pair in pairs
        if pair.disputed
    )  # fmt: skip


def _browser_language_tag(code: str) -> str:
    """The tag that browsers know: two letters where a language has them.

    >>> _browser_language_tag("eng"), _browser_language_tag("nob"), _browser_language_tag("fil")
    ('en', 'nb', 'fil')
    """
    return str(find_language_by_code(code))
