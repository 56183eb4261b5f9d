"""People beside models, from the record: who stands where on a pair, means by family, and how the pages call them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import Literal

from embassay.protocols.hume.study import FAMILIES, Family
from embassay.protocols.hume.summary.record import Bar, PairRecord, Summary, SystemScore
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import Unit

POINTS = Unit(100.0, 1, 1)
"""HUME's points: a hundred times the measure, one decimal."""
COEFFICIENT = Unit(1.0, 2, 2)
TITLES: dict[Family, str] = {
    "classification": "Classification", "clustering": "Clustering", "reranking": "Reranking", "sts": "STS"
}  # fmt: skip


def named(family: Family) -> str:
    """A family inside a sentence."""
    return TITLES[family] if TITLES[family].isupper() else TITLES[family].lower()


COEFFICIENTS = {
    "fleiss_kappa": "Fleiss’ κ", "cohen_kappa": "Cohen’s κ", "ari": "ARI", "spearman": "Spearman",
    "kendall": "Kendall’s τ-b", "alpha": "Krippendorff’s α", "percent_agreement": "equal answers",
    "v_measure": "V-measure", "pearson": "Pearson", "absolute_difference": "mean distance",
    "spearman_sd": "SD over queries", "dropped": "items dropped", "comparisons": "queries compared",
    "skipped": "queries skipped",
}  # fmt: skip
COUNTS = ("dropped", "comparisons", "skipped")
CONVENTIONS = {
    "paper": "By the rule", "pooled": "Answers pooled", "mean": "Mean of annotators", "first": "First annotator",
    "tie_aware": "Tie-aware AP", "display_order": "AP in display order", "expected": "AP expected over ties",
}  # fmt: skip
MEASURES = {"v_measure": "V-measure", "map": "MAP", "spearman": "Spearman"}
ALONE = "one annotator"


def answerers(summary: Summary | PairRecord) -> str:
    """Who answered: people, scripts that stand in for them, or both."""
    pairs = summary.pairs if isinstance(summary, Summary) else (summary,)
    kinds = {one.kind for pair in pairs for one in pair.annotators}
    return {"simulated": "simulated annotators"}.get(next(iter(kinds)), "people") if len(kinds) == 1 else (
        "annotators" if kinds else "people"
    )  # fmt: skip


def is_range(bar: Bar) -> bool:
    """Whether an interval runs from the lowest to the highest annotator: that is none at 95%."""
    return "range" in bar.method.lower() or "annotator" in bar.method.lower()


def points(bar: Bar) -> str:
    """A score in points, `n/a` where it has none."""
    return "n/a" if bar.value is None else POINTS.text(bar.value)


def percent(share: float | None) -> str:
    """Percent of human, one decimal; it can pass 100."""
    return numbers.NONE if share is None else f"{numbers.score(share, 1)}%"


def interval(bar: Bar, unit: Unit = POINTS) -> str:
    """The ends of an interval; empty where there is none."""
    return "" if bar.low is None or bar.high is None else unit.interval(bar.low, bar.high)


def scored(bar: Bar) -> str:
    """A score with what its interval is: `91.2 (95% 84.9–94.9)`, `49.2 (annotators 35.3–63.2)`."""
    ends = interval(bar)
    return points(bar) + (f" ({'annotators' if is_range(bar) else '95%'} {ends})" if ends else "")


def agreed(pair: PairRecord) -> str:
    """Agreement as word and value: `fair 0.39`; `one annotator`, or why there is none."""
    found = pair.agreement
    if found is not None and found.value.value is not None:
        return f"{found.band} {COEFFICIENT.text(found.value.value)}"
    if found is not None and found.value.reason:
        return found.value.reason
    if pair.human.value is None:
        return "nobody answered" if not pair.annotators else "n/a"
    return ALONE if len(pair.annotators) == 1 else "not known"


def pair_names(pairs: Sequence[PairRecord], most: int = 4) -> str:
    """The first few pairs by name, and how many more."""
    named = [pair.name for pair in pairs[:most]]
    if len(pairs) > most:
        named.append(f"{len(pairs) - most} more")
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1]))) if named else ""


@dataclass(frozen=True)
class Standing:
    """A pair with the models that have a score on it, best first."""

    pair: PairRecord
    models: tuple[SystemScore, ...]

    @property
    def best(self) -> SystemScore | None:
        """The model with the highest score, the first of equals in the record."""
        return self.models[0] if self.models else None

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """What the models score, highest first."""
        return tuple(one.score.value for one in self.models if one.score.value is not None)

    @property
    def median(self) -> float | None:
        """The models' median."""
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


def standings(summary: Summary) -> tuple[Standing, ...]:
    """Every pair, in the order of the record, with the models that are ranked beside people: those that were scored on
    every pair, or all where none was."""
    ranked = {one.system for one in summary.places if one.rank is not None and one.kind != "human"}
    return tuple(_standing(pair, ranked) for pair in summary.pairs)


def _standing(pair: PairRecord, ranked: Collection[str]) -> Standing:
    known = [
        one for one in pair.models if one.score.value is not None and (not ranked or one.system in ranked)
    ]
    return Standing(pair, tuple(sorted(known, key=lambda one: -(one.score.value or 0.0))))


def system_names(summary: Summary) -> tuple[str, ...]:
    """Every model and language model of the record, each once."""
    return tuple(dict.fromkeys(one.system for pair in summary.pairs for one in (*pair.models, *pair.llms)))


def of_side(standings: Sequence[Standing], side: str) -> list[Standing]:
    """The pairs on which the best model lies there."""
    return [one for one in standings if one.side == side]


@dataclass(frozen=True)
class Mean:
    """A mean over so many pairs, None over none; `of` names the system where it is not that of the row."""

    value: float | None
    pairs: int
    of: str = ""


@dataclass(frozen=True)
class AverageRow:
    """The means of one who answered, by family in the order of the table, then over all its pairs."""

    name: str
    kind: Literal["human", "llm", "best"]
    means: tuple[Mean, ...]
    failed: int = 0

    @property
    def overall(self) -> Mean:
        """Over all pairs, every pair once: not the mean of the families."""
        return self.means[-1]


@dataclass(frozen=True)
class Averages:
    """The rows: people first, the language models by their mean, the best model of each family last."""

    families: tuple[Family, ...]
    pairs: int
    rows: tuple[AverageRow, ...]

    @property
    def people(self) -> AverageRow:
        """The row of people."""
        return self.rows[0]

    @property
    def llms(self) -> tuple[AverageRow, ...]:
        """The rows of language models."""
        return tuple(row for row in self.rows if row.kind == "llm")


def averages(summary: Summary) -> Averages | None:
    """The means over the pairs that a language model answered; None where none did. Source: spec hume 8.1."""
    pairs = [one for one in summary.pairs if one.llms]
    if not pairs:
        return None
    families = tuple(family for family in FAMILIES if any(one.family == family for one in pairs))
    names = dict.fromkeys(one.system for pair in pairs for one in pair.llms)
    rows = [_row(name, "llm", pairs, families, _of(name), _failed(name, pairs)) for name in names]
    rows.sort(key=lambda row: -(row.overall.value or 0.0))
    people = _row("", "human", pairs, families, lambda pair: pair.human.value)
    return Averages(families, len(pairs), (people, *rows, *_best(pairs, families)))


def _row(
    name: str, kind: Literal["human", "llm"], pairs: Sequence[PairRecord], families: Sequence[Family],
    value: Callable[[PairRecord], float | None], failed: int = 0,
) -> AverageRow:  # fmt: skip
    means = [_mean([one for one in pairs if one.family == family], value) for family in families]
    return AverageRow(name, kind, (*means, _mean(pairs, value)), failed)


def _mean(pairs: Sequence[PairRecord], value: Callable[[PairRecord], float | None]) -> Mean:
    known = [found for one in pairs if (found := value(one)) is not None]
    return Mean(fmean(known) if known else None, len(known))


def _of(name: str) -> Callable[[PairRecord], float | None]:
    return lambda pair: next((one.score.value for one in pair.llms if one.system == name), None)


def _failed(name: str, pairs: Sequence[PairRecord]) -> int:
    return sum(one.failed for pair in pairs for one in pair.llms if one.system == name)


def _best(pairs: Sequence[PairRecord], families: Sequence[Family]) -> list[AverageRow]:
    """The model with the highest mean, in each family and over all: a model with a score on every pair of it."""
    groups = [*([one for one in pairs if one.family == family] for family in families), list(pairs)]
    found = [_leader(group) for group in groups]
    return [AverageRow("", "best", tuple(found))] if any(one.of for one in found) else []


def _leader(pairs: Sequence[PairRecord]) -> Mean:
    scores: dict[str, list[float]] = {}
    for pair in pairs:
        for one in pair.models:
            if one.score.value is not None:
                scores.setdefault(one.system, []).append(one.score.value)
    whole = {name: fmean(own) for name, own in scores.items() if len(own) == len(pairs)}
    if not whole:
        return Mean(None, 0)
    name = max(whole, key=lambda one: whole[one])
    return Mean(whole[name], len(pairs), name)
