"""People and models on the same items: rows in groups by family, on one scale; language models beside people.

People are a plum diamond. Their interval is a line: solid at 95%, dashed with caps from the lowest to the highest
annotator. Models are a pale box from the lowest to the highest with a tick at the median (pages 3 and 4).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import Literal

from markupsafe import Markup, escape

from embassay.document.marks import (
    CLASSES,
    LinearScale,
    draw_aria_hidden_marks,
    draw_range_bar,
    fit_axis_scale,
    format_percent_position,
    name_grid_class,
)
from embassay.protocols.hume.published.standings import compute_spearman_correlation
from embassay.protocols.hume.record import DatasetLanguageRecord, Summary, SystemScore
from embassay.protocols.hume.results.markdown import POINTS, describe_kind_of_answerers
from embassay.protocols.hume.study import FAMILIES, Family
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import MeasureFormat
from embassay.report.record import FEW, shorten_names_to_labels
from embassay.stats import Estimate

COEFFICIENT = MeasureFormat(1.0, 2, 2)
TITLES: dict[Family, str] = {
    "classification": "Classification", "clustering": "Clustering", "reranking": "Reranking", "sts": "STS"
}  # fmt: skip


def format_task_family(family: Family) -> str:
    """A family inside a sentence."""
    return TITLES[family] if TITLES[family].isupper() else TITLES[family].lower()


COEFFICIENTS = {
    "fleiss_kappa": "Fleiss’ κ", "cohen_kappa": "Cohen’s κ", "ari": "ARI", "spearman": "Spearman",
    "kendall": "Kendall’s τ-b", "alpha": "Krippendorff’s α", "percent_agreement": "equal answers",
    "v_measure": "V-measure", "pearson": "Pearson", "absolute_difference": "mean distance",
    "spearman_sd": "SD over queries", "dropped": "items dropped", "comparisons": "queries compared",
    "skipped": "queries skipped"
}  # fmt: skip
COUNTS = ("dropped", "comparisons", "skipped")
CONVENTIONS = {
    "paper": "By the rule", "pooled": "Answers pooled", "mean": "Mean of annotators", "first": "First annotator",
    "tie_aware": "Tie-aware AP", "display_order": "AP in display order", "expected": "AP expected over ties"
}  # fmt: skip
MEASURES = {"v_measure": "V-measure", "map": "MAP", "spearman": "Spearman"}
ALONE = "one annotator"


def has_interval_over_annotators(bar: Estimate) -> bool:
    """Whether an interval runs from the lowest to the highest annotator: that is none at 95%."""
    return "range" in bar.method.lower() or "annotator" in bar.method.lower()


def format_score_in_points(bar: Estimate) -> str:
    """A score in points, `n/a` where it has none."""
    return "n/a" if bar.value is None else POINTS.text(bar.value)


def format_percent_of_human(share: float | None) -> str:
    """Percent of human, one decimal; it can pass 100."""
    return numbers.NONE if share is None else f"{numbers.format_score(share, 1)}%"


def format_percent_of_human_if_agreed(pair: DatasetLanguageRecord, share: float | None) -> str:
    """Percent of human on a pair; none where people agree poorly, for then their score says little of people."""
    agreement = pair.agreement
    if agreement is not None and agreement.band in ("poor", "none"):
        return numbers.NONE
    return format_percent_of_human(share)


def format_interval_ends(bar: Estimate, unit: MeasureFormat = POINTS) -> str:
    """The ends of an interval; empty where there is none."""
    return "" if bar.low is None else unit.interval(*bar.ends)


def format_score_with_interval(bar: Estimate) -> str:
    """A score with what its interval is: `91.2 (95% 84.9–94.9)`, `49.2 (annotators 35.3–63.2)`."""
    ends = format_interval_ends(bar)
    return format_score_in_points(bar) + (
        f" ({'annotators' if has_interval_over_annotators(bar) else '95%'} {ends})" if ends else ""
    )


def format_agreement(pair: DatasetLanguageRecord) -> str:
    """Agreement as word and value: `fair 0.39`; `one annotator`, or why there is none."""
    agreement = pair.agreement
    if agreement is not None and agreement.value.value is not None:
        return f"{agreement.band} {COEFFICIENT.text(agreement.value.value)}"
    if agreement is not None and agreement.value.reason:
        return agreement.value.reason
    if pair.human.value is None:
        return "nobody answered" if not pair.annotators else "n/a"
    return ALONE if len(pair.annotators) == 1 else "not known"


def format_first_pair_names(pairs: Sequence[DatasetLanguageRecord], most: int = 4) -> str:
    """The first few pairs by name, and how many more."""
    named = [pair.name for pair in pairs[:most]]
    if len(pairs) > most:
        named.append(f"{len(pairs) - most} more")
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1]))) if named else ""


@dataclass(frozen=True)
class DatasetLanguageModelScores:
    """A pair with the models that have a score on it, best first."""

    pair: DatasetLanguageRecord
    models: tuple[SystemScore, ...]

    @property
    def best(self) -> SystemScore | None:
        """The model with the highest score, the first of equals in the record."""
        return self.models[0] if self.models else None

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """What the models score, highest first."""
        return tuple(model.score.value for model in self.models if model.score.value is not None)

    @property
    def median(self) -> float | None:
        """The median of the models' scores."""
        return median(self.scores) if self.scores else None

    def gap(self, reference: str = "best") -> float | None:
        """People less the best or median model: above 0 people are better."""
        other = self.median if reference == "median" else next(iter(self.scores), None)
        human = self.pair.human.value
        return None if human is None or other is None else human - other

    @property
    def side(self) -> str:
        """Where the best model lies by the interval of people: `above`, `inside`, `below`, empty without one."""
        if self.best is None or self.best.outside is None:
            return ""
        gap = self.gap()
        return "inside" if not self.best.outside else "above" if gap is not None and gap < 0 else "below"


def list_ranked_models_per_pair(summary: Summary) -> tuple[DatasetLanguageModelScores, ...]:
    """Every pair, in the order of the record, with the models that are ranked beside people: those that were scored on
    every pair, or all where none was."""
    ranked = {place.system for place in summary.places if place.rank is not None and place.kind != "human"}
    return tuple(_rank_pair_models(pair, ranked) for pair in summary.pairs)


def _rank_pair_models(pair: DatasetLanguageRecord, ranked: Collection[str]) -> DatasetLanguageModelScores:
    known = [model for model in pair.models if model.score.value is not None and (not ranked or model.system in ranked)]
    return DatasetLanguageModelScores(pair, tuple(sorted(known, key=lambda score: -(score.score.value or 0.0))))


def list_models_of_hume_record(summary: Summary) -> tuple[str, ...]:
    """Every model and language model of the record, each once."""
    return tuple(dict.fromkeys(score.system for pair in summary.pairs for score in (*pair.models, *pair.llms)))


def keep_pairs_by_best_model_side(
    standings: Sequence[DatasetLanguageModelScores], side: str
) -> list[DatasetLanguageModelScores]:
    """The pairs on which the best model lies there."""
    return [standing for standing in standings if standing.side == side]


@dataclass(frozen=True)
class MeanOverDatasetLanguagePairs:
    """A mean over so many pairs, None over none; `of` names the system where it is not that of the row."""

    value: float | None
    pairs: int
    of: str = ""


@dataclass(frozen=True)
class FamilyMeansRow:
    """The means of one who answered, by family in the order of the table, then over all its pairs."""

    name: str
    kind: Literal["human", "llm", "best"]
    means: tuple[MeanOverDatasetLanguagePairs, ...]
    failed: int = 0

    @property
    def mean_over_all_pairs(self) -> MeanOverDatasetLanguagePairs:
        """The mean over all pairs, every pair once: not the mean of the families."""
        return self.means[-1]


@dataclass(frozen=True)
class FamilyMeansTable:
    """The rows: people first, the language models by their mean, the best model of each family last."""

    families: tuple[Family, ...]
    pairs: int
    rows: tuple[FamilyMeansRow, ...]

    @property
    def people(self) -> FamilyMeansRow:
        """The row of people."""
        return self.rows[0]

    @property
    def llms(self) -> tuple[FamilyMeansRow, ...]:
        """The rows of language models."""
        return tuple(row for row in self.rows if row.kind == "llm")


def make_family_means_table(summary: Summary) -> FamilyMeansTable | None:
    """The means over the pairs that a language model answered; None where none did. Source: spec hume 8.1."""
    pairs = [pair for pair in summary.pairs if pair.llms]
    if not pairs:
        return None
    # In one order, whatever order the record has.
    families = tuple(family for family in FAMILIES if any(pair.family == family for pair in pairs))
    names = dict.fromkeys(llm.system for pair in pairs for llm in pair.llms)
    rows = [
        _make_family_means_row(
            name, "llm", pairs, families, _make_llm_score_lookup(name), _count_failed_answers_of_llm(name, pairs)
        )
        for name in names
    ]
    rows.sort(key=lambda row: -(row.mean_over_all_pairs.value or 0.0))
    people = _make_family_means_row("", "human", pairs, families, lambda pair: pair.human.value)
    return FamilyMeansTable(
        families, len(pairs), (people, *rows, *_make_best_model_per_task_family_row(pairs, families))
    )


def _make_family_means_row(
    name: str, kind: Literal["human", "llm"], pairs: Sequence[DatasetLanguageRecord], families: Sequence[Family],
    value: Callable[[DatasetLanguageRecord], float | None], failed: int = 0
) -> FamilyMeansRow:  # fmt: skip
    means = [_mean_over_pairs([pair for pair in pairs if pair.family == family], value) for family in families]
    return FamilyMeansRow(name, kind, (*means, _mean_over_pairs(pairs, value)), failed)


def _mean_over_pairs(
    pairs: Sequence[DatasetLanguageRecord], value: Callable[[DatasetLanguageRecord], float | None]
) -> MeanOverDatasetLanguagePairs:
    values = [score for pair in pairs if (score := value(pair)) is not None]
    return MeanOverDatasetLanguagePairs(fmean(values) if values else None, len(values))


def _make_llm_score_lookup(name: str) -> Callable[[DatasetLanguageRecord], float | None]:
    return lambda pair: next((llm.score.value for llm in pair.llms if llm.system == name), None)


def _count_failed_answers_of_llm(name: str, pairs: Sequence[DatasetLanguageRecord]) -> int:
    return sum(llm.failed for pair in pairs for llm in pair.llms if llm.system == name)


def _make_best_model_per_task_family_row(
    pairs: Sequence[DatasetLanguageRecord], families: Sequence[Family]
) -> list[FamilyMeansRow]:
    """The model with the highest mean, in each family and over all: a model with a score on every pair of it."""
    groups = [*([pair for pair in pairs if pair.family == family] for family in families), list(pairs)]
    leaders = [_find_highest_model_mean(group) for group in groups]
    return [FamilyMeansRow("", "best", tuple(leaders))] if any(mean.of for mean in leaders) else []


def _find_highest_model_mean(pairs: Sequence[DatasetLanguageRecord]) -> MeanOverDatasetLanguagePairs:
    scores: dict[str, list[float]] = {}
    for pair in pairs:
        for model in pair.models:
            if model.score.value is not None:
                scores.setdefault(model.system, []).append(model.score.value)
    # A mean over some of the pairs would not compare.
    whole = {name: fmean(values) for name, values in scores.items() if len(values) == len(pairs)}
    if not whole:
        return MeanOverDatasetLanguagePairs(None, 0)
    name = max(whole, key=lambda one: whole[one])
    return MeanOverDatasetLanguagePairs(whole[name], len(pairs), name)


DIAMOND = "M0-6 5 0 0 6-5 0Z"
TRIANGLE = "M0-6 6 5H-6Z"
UPPER = 7
"""Pixels down to the line of people; the box of models lies below it."""
CAP = 4


def draw_system_kind_sign(kind: str) -> Markup:
    """Draw the sign of a kind of system, which stands before a name in running text."""
    return Markup('<i class="{}"></i>').format(CLASSES[kind])


def draw_people_and_models(
    human: Estimate, models: Sequence[float], middle: float | None, scale: LinearScale
) -> Markup:
    """Draw the line of a pair: people above, the models' range below."""
    parts = [_draw_model_range(models, middle, scale), _draw_human_interval(human, scale)]
    if human.value is not None:
        parts.append(_draw_marker(human.value, DIAMOND, "n", scale))
    return draw_aria_hidden_marks(f"iv pm {name_grid_class(scale)}", "".join(parts))


def draw_value_marker(value: float, kind: str, scale: LinearScale) -> Markup:
    """Draw one value as the shape of its kind."""
    if kind == "classical":
        return draw_aria_hidden_marks(
            f"iv {name_grid_class(scale)}", f'<rect class="c p" x="{format_percent_position(scale.at(value))}"/>'
        )
    path = {"human": DIAMOND, "llm": TRIANGLE}.get(kind)
    if path:
        return draw_aria_hidden_marks(
            f"iv {name_grid_class(scale)}", _draw_marker(value, path, CLASSES[kind], scale, down=8)
        )
    circle = f'<circle class="{CLASSES[kind]}" cx="{format_percent_position(scale.at(value))}" cy="8" r="5"/>'
    return draw_aria_hidden_marks(f"iv {name_grid_class(scale)}", circle)


def draw_bar_from_zero(value: float, scale: LinearScale) -> Markup:
    """Draw a bar from the zero line, plum where people lead, blue where models do."""
    start, end = sorted((scale.at(0), scale.at(value)))
    colour = "n" if value > 0 else "e"
    drawn = (
        f'<rect class="{colour}" x="{format_percent_position(start)}" width="{format_percent_position(end - start)}"/>'
    )
    return draw_aria_hidden_marks(f"iv {name_grid_class(scale)}", drawn + _draw_vertical_line("z", scale.at(0)))


def draw_agreement(value: Estimate, limits: Sequence[float], scale: LinearScale) -> Markup:
    """Draw agreement as bar and tick, with both thresholds as dashed lines."""
    return draw_range_bar(value.value, value.low, value.high, "n", scale, lines=limits)


def draw_interval_bar(value: Estimate, kind: str, scale: LinearScale) -> Markup:
    """Draw an interval as a bar, and its value as a tick."""
    return draw_range_bar(value.value, value.low, value.high, CLASSES[kind], scale)


def draw_value_strip(values: Sequence[tuple[float, str]], limits: Sequence[float], scale: LinearScale) -> Markup:
    """Draw values as diamonds on one line with thresholds; each says its name when pointed at."""
    dashed = "".join(_draw_vertical_line("d", scale.at(limit)) for limit in limits)
    return draw_aria_hidden_marks(
        f"iv {name_grid_class(scale)}",
        dashed + "".join(_draw_marker(value, DIAMOND, "n", scale, down=8, title=name) for value, name in values),
    )


def _draw_model_range(models: Sequence[float], middle: float | None, scale: LinearScale) -> str:
    if not models:
        return ""
    start, end = scale.at(min(models)), scale.at(max(models))
    box = (
        f'<rect class="q3" x="{format_percent_position(start)}" '
        f'width="{format_percent_position(max(end - start, 0.3))}"/>'
    )
    return (
        box if middle is None else box + f'<rect class="e" x="{format_percent_position(scale.at(middle))}" width="2"/>'
    )


def _draw_human_interval(human: Estimate, scale: LinearScale) -> str:
    if human.low is None:
        return ""
    low, high = (format_percent_position(scale.at(end)) for end in human.ends)
    line = f'<line x1="{low}" x2="{high}" y1="{UPPER}" y2="{UPPER}"'
    if not has_interval_over_annotators(human):
        return f"{line}/>"
    caps = (f'<line x1="{x}" x2="{x}" y1="{UPPER - CAP}" y2="{UPPER + CAP}"/>' for x in (low, high))
    return f'{line} stroke-dasharray="3 2"/>{"".join(caps)}'


def _draw_marker(
    value: float, path: str, colour: str, scale: LinearScale, *, down: int = UPPER, title: str = ""
) -> str:
    said = f"<title>{escape(title)}</title>" if title else ""
    at = format_percent_position(scale.at(value))
    return f'<svg x="{at}" y="{down}" overflow="visible"><path class="{colour}" d="{path}">{said}</path></svg>'


def _draw_vertical_line(name: str, x: float) -> str:
    return f'<line class="{name}" x1="{format_percent_position(x)}" x2="{format_percent_position(x)}" y2="100%"/>'


@dataclass(frozen=True)
class PeopleVsModelRow:
    """A pair: the drawing, people and the best model as text, agreement in a word. `few` items are shown grey."""

    dataset: str
    lang: str
    mark: Markup
    people: str
    interval: str
    people_exact: str
    best: str
    best_exact: str
    side: str
    agreement: str
    low: bool
    noisy: bool
    few: bool
    n: int


@dataclass(frozen=True)
class PeopleVsModelChart:
    """The rows by family, each with its measure; one scale for all."""

    scale: LinearScale
    groups: tuple[tuple[str, tuple[PeopleVsModelRow, ...]], ...]
    has_ranges: bool
    most_models: int
    has_unranked: bool


def make_people_vs_models_by_pair_chart(
    every: Sequence[DatasetLanguageModelScores], *, has_ranges: bool
) -> PeopleVsModelChart:
    """Make the chart of people's scores on all pairs, beside the models'."""
    scale = fit_axis_scale(_collect_scores_for_chart_scale(every), most=5, factor=100.0)
    groups = [
        (
            f"{TITLES[family]}, {_format_measure_names(of_family)}",
            tuple(_make_people_vs_model_row(models, scale) for models in of_family),
        )
        for family in FAMILIES
        if (of_family := [models for models in every if models.pair.family == family])
    ]
    return PeopleVsModelChart(
        scale,
        tuple(groups),
        has_ranges,
        max((len(models.models) for models in every), default=0),
        any(len(models.models) < len(models.pair.models) for models in every),
    )


def format_exact_points_and_ends(bar: Estimate) -> str:
    """Value and ends in points, for sorting and CSV; empty without a value."""
    values = [bar.point, *(() if bar.low is None else bar.ends)]
    return "" if bar.value is None else ",".join(f"{100 * number:.6g}" for number in values)


def _collect_scores_for_chart_scale(every: Sequence[DatasetLanguageModelScores]) -> list[float]:
    ends: list[float] = []
    for models in every:
        human = models.pair.human
        ends += [end for end in (human.value, human.low, human.high) if end is not None]
        ends += models.scores
    return ends


def _format_measure_names(own: Sequence[DatasetLanguageModelScores]) -> str:
    return ", ".join(
        dict.fromkeys(MEASURES.get(models.pair.measure, models.pair.measure.replace("_", " ")) for models in own)
    )


def _make_people_vs_model_row(models: DatasetLanguageModelScores, scale: LinearScale) -> PeopleVsModelRow:
    pair, best = models.pair, models.best
    return PeopleVsModelRow(
        dataset=pair.dataset,
        lang=pair.lang,
        mark=draw_people_and_models(pair.human, models.scores, models.median, scale),
        people=format_score_in_points(pair.human),
        interval=format_interval_ends(pair.human) or pair.human.reason or "no interval",
        people_exact=format_exact_points_and_ends(pair.human),
        best="no model" if best is None else format_score_in_points(best.score),
        best_exact="" if best is None else format_exact_points_and_ends(Estimate(value=best.score.value)),
        side=models.side,
        agreement=format_agreement(pair),
        low=pair.trust == "low",
        noisy=pair.superhuman_on_noise,
        few=pair.n < FEW,
        n=pair.n,
    )


Cell = tuple[str, str, str]
"""A text, what stands under it, the exact value."""
FEWEST = 5
"""Pairs from which on it is told whether the same ones are hard."""


@dataclass(frozen=True)
class LlmMeansRow:
    """Means with, under each, the difference to people (a model's name for the best ones); answers that failed."""

    label: str
    kind: str
    cells: tuple[Cell, ...]
    failed: str


@dataclass(frozen=True)
class LlmMeansTable:
    """The table; `said` is a sentence on where language models stand."""

    columns: tuple[str, ...]
    rows: tuple[LlmMeansRow, ...]
    pairs: int
    left_out: str
    said: str
    has_failed: bool
    has_rho: bool


def llm_means_table(summary: Summary) -> LlmMeansTable | None:
    """The table of means; None without language models."""
    means = make_family_means_table(summary)
    if means is None:
        return None
    label = shorten_names_to_labels(list_models_of_hume_record(summary))
    who = describe_kind_of_answerers(summary)
    counts = [mean.pairs for mean in means.people.means]
    heads = [*(TITLES[family] for family in means.families), "All"]
    columns = tuple(f"{head}, {numbers.format_noun_count(n, 'pair')}" for head, n in zip(heads, counts, strict=True))
    hard = _format_llm_correlations_with_people(summary, means) if means.pairs >= FEWEST else {}
    columns += ("Correlation of pair difficulty, ρ",) if hard else ()
    rows = tuple(_make_llm_means_row(row, means, who, label, hard) for row in means.rows)
    absent = [
        title for title in TITLES if title not in means.families and any(p.family == title for p in summary.pairs)
    ]
    return LlmMeansTable(
        columns,
        rows,
        means.pairs,
        ", ".join(map(format_task_family, absent)),
        _say_families_below_people(means, who),
        any(row.failed for row in means.rows),
        bool(hard),
    )


def _format_llm_correlations_with_people(summary: Summary, means: FamilyMeansTable) -> dict[str, Cell]:
    """Spearman of a language model's scores and people's over the pairs of both, with its p. Source: spec hume 8.1."""
    hard = {}
    for row in means.llms:
        both = [
            (pair.human.value, llm.score.value)
            for pair in summary.pairs
            for llm in pair.llms
            if llm.system == row.name and llm.score.value is not None and pair.human.value is not None
        ]
        correlation = compute_spearman_correlation([human for human, _ in both], [score for _, score in both])
        tested = correlation.rho is not None and correlation.p is not None
        hard[row.name] = (
            (
                COEFFICIENT.text(correlation.rho or 0.0),
                f"p {numbers.format_p_value(correlation.p or 0.0)}",
                f"{correlation.rho:.6g}",
            )
            if tested
            else (numbers.NONE, "", "")
        )
    return hard


def _make_llm_means_row(
    row: FamilyMeansRow, means: FamilyMeansTable, who: str, label: dict[str, str], hard: dict[str, Cell]
) -> LlmMeansRow:
    name = {"human": who.capitalize(), "best": "Best model per family"}.get(row.kind, label.get(row.name, row.name))
    kind = {"best": "embedding"}.get(row.kind, row.kind)
    cells = tuple(
        _mean_cell(mean, base, row.kind, label) for mean, base in zip(row.means, means.people.means, strict=True)
    )
    cells += (hard.get(row.name, ("", "", "")),) if hard else ()
    return LlmMeansRow(name, kind, cells, "" if row.kind != "llm" else str(row.failed))


def _mean_cell(
    mean: MeanOverDatasetLanguagePairs, people: MeanOverDatasetLanguagePairs, kind: str, label: dict[str, str]
) -> Cell:
    """Text, what stands under it, exact value."""
    if mean.value is None:
        return numbers.NONE, "", ""
    exact = f"{100 * mean.value:.6g}"
    if kind == "best":
        return POINTS.text(mean.value), label.get(mean.of, mean.of), exact
    if kind == "human" or people.value is None or mean.pairs != people.pairs:
        few = f"{numbers.format_noun_count(mean.pairs, 'pair')}" if mean.pairs != people.pairs else ""
        return POINTS.text(mean.value), few, exact
    return POINTS.text(mean.value), POINTS.change(mean.value - people.value), exact


def _say_families_below_people(means: FamilyMeansTable, who: str) -> str:
    """In how many families the best language model is below people, by the means."""
    below = []
    for i, family in enumerate(means.families):
        known = [mean.value for row in means.llms if (mean := row.means[i]).value is not None]
        people = means.people.means[i].value
        if known and people is not None and max(value for value in known if value is not None) < people:
            below.append(format_task_family(family))
    if not below:
        return f"No family has all language models below {who} by the mean."
    return f"All language models are below {who} on {' and '.join(filter(None, (', '.join(below[:-1]), below[-1])))}."
