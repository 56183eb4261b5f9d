"""How ratings agree with gold scores on one dataset: rank correlation, and the error by gold score and by length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Tokenizer
from embassay.errors import DataError
from embassay.protocols.kernel import inputs as context
from embassay.protocols.kernel.estimates import Estimate, Items, combine, estimate, undefined
from embassay.protocols.pteb.judging.options import JudgeOptions, RatingOptions
from embassay.protocols.pteb.judging.ratings import HIGHEST, LOWEST, Rating, by_reason, too_many
from embassay.protocols.tasks.resampling import correlated
from embassay.records import Component, Score, ScoredPairs, TaskOutcome
from embassay.stats import wilson
from embassay.text.tokenizers import Words

HEADLINE = "spearman"
ERROR = "mae"
FAILED = "failed"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Context(context.Context):
    """The dataset and seed that name the random streams, and the options; no text is cut into tokens."""

    tokenizer: Tokenizer = field(default_factory=Words)
    options: RatingOptions = field(default_factory=RatingOptions)

    @property
    def resamples(self) -> int:
        """Bootstrap resamples behind every interval."""
        return self.options.resamples


@dataclass(frozen=True)
class Share(Estimate):
    """A share of items, with Wilson's interval: none failing in a sample is no proof that none ever does."""

    def score(self, measure: str, *, variant: str = "", subset: str = "") -> Score:
        """As a row of results."""
        low, high = share_interval(self.value, self.n)
        return Score(
            measure, self.value, self.n, low, high, variant=variant, subset=subset, method="Wilson interval"
        )


def share_interval(value: float, n: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share of n items."""
    found = wilson(min(1.0, value), n)
    return found.low, found.high


@dataclass(frozen=True)
class Figure:
    """A number of a dataset, in a `variant` of it: an estimate, or the reason why there is none of these `n` items."""

    measure: str
    variant: str
    n: int
    found: Estimate | str
    subset: str = ""

    @property
    def name(self) -> str:
        """What its component is called."""
        return f"{self.measure} {self.variant}".strip()

    @property
    def score(self) -> Score:
        """As a row of results."""
        if isinstance(self.found, str):
            row = undefined(self.measure, self.n, self.found, variant=self.variant)
        else:
            row = self.found.score(self.measure, variant=self.variant)
        return replace(row, subset=self.subset)

    @property
    def component(self) -> Component:
        """As a part of a mean over datasets."""
        if isinstance(self.found, str):
            return Component(None, self.n, reason=self.found)
        return self.found.component()


@dataclass(frozen=True)
class Judged:
    """Pairs with their gold scores, lengths and languages: `gold` on 0 to 5, `words` the mean of both texts, (n,)
    each."""

    ids: tuple[str, ...]
    gold: Floats
    words: Floats
    langs: tuple[str, ...]

    @classmethod
    def of(cls, data: ScoredPairs, langs: tuple[str, ...], low: float, high: float) -> Judged:
        """The pairs of a dataset whose scores have this range."""
        gold = on_common_scale(data.scores, low, high)
        return cls(data.ids, gold, words_per_text(data.first, data.second), langs)

    @property
    def by_language(self) -> dict[str, NDArray[np.bool_]]:
        """Which pairs are in each language."""
        return {lang: np.array([one == lang for one in self.langs]) for lang in dict.fromkeys(self.langs)}


def agreement(
    ratings: Sequence[Rating], data: Judged, options: JudgeOptions, context: Context
) -> TaskOutcome:
    """Score ratings (n,) against gold; items are each pair's `rating` (missing where there is none), `gold`, `words`.

    The headline of several languages is the mean of one correlation each, which have rows of their own (subset). Pairs
    without a rating are left out and counted; over 5% there is no score. Components are named as the rows: `spearman`,
    `spearman words=1-10`, `mae`, `mae gold=[0,1)`.
    """
    values = np.array([np.nan if one.value is None else one.value for one in ratings])
    items = Items()
    for name, column in (("rating", values), ("gold", data.gold), ("words", data.words)):
        items.add(data.ids, column, name)
    lost = by_reason("pairs without a rating", data.ids, [one.reason for one in ratings])
    reason = too_many("pairs had no rating", len(ratings), lost)
    found = [replace(one, found=reason or one.found) for one in _figures(values, data, options, context)]
    found.append(share(FAILED, np.isnan(values) * 1.0, context))
    n = int(np.isfinite(values).sum())
    return TaskOutcome(
        scores=tuple(one.score for one in found),
        components={one.name: one.component for one in found if not one.subset},
        items=items.columns,
        skipped=lost,
        counts={
            "ratings": n,
            "ratings_failed": len(values) - n,
            "further_attempts": sum(one.attempts - 1 for one in ratings),
        },
    )


def share(measure: str, values: Floats, context: Context, otherwise: str = "no item") -> Figure:
    """The share of ones among the values that are there (n,); `otherwise` is the reason where there is none."""
    n = int(np.isfinite(values).sum())
    if not n:
        return Figure(measure, "", 0, otherwise)
    found = estimate(values[:, None], _mean, context, "shares")
    return Figure(measure, "", n, Share(found.value, found.n, found.replicates, found.method))


def _figures(values: Floats, data: Judged, options: JudgeOptions, context: Context) -> Iterator[Figure]:
    """The correlation and the error, of all pairs (the headline first) and of every bin."""
    yield from _headline(values, data, context)
    for one in by_words(data.words, options.word_edges):
        yield _correlation(values, data.gold, one, options.smallest_bin, context)
    whole = Bin("", np.ones(len(values), dtype=bool))
    errors = np.abs(values - data.gold)
    for one in (whole, *by_gold(data.gold, options.gold_edges)):
        yield _error(errors, one, context)


def _headline(values: Floats, data: Judged, context: Context) -> Iterator[Figure]:
    """The correlation of all pairs; of several languages the mean, and then that of each."""
    by_language = data.by_language
    parts = [
        replace(_correlation(values, data.gold, Bin("", members), 2, context, purpose=lang), subset=lang)
        for lang, members in by_language.items()
    ]
    if len(parts) == 1:
        yield replace(parts[0], subset="")
        return
    n, method = sum(part.n for part in parts), f"mean over {len(parts)} languages, bootstrap over pairs"
    estimates = [part.found for part in parts if isinstance(part.found, Estimate)]
    missing = next((f"{part.subset}: {part.found}" for part in parts if isinstance(part.found, str)), "")
    yield Figure(HEADLINE, "", n, missing or replace(combine(estimates, method), n=n))
    yield from parts


def _correlation(
    values: Floats, gold: Floats, one: Bin, least: int, context: Context, purpose: str = ""
) -> Figure:
    rating, variant = values[one.members], f"words={one.label}" if one.label else ""
    n = int(np.isfinite(rating).sum())
    if n < least:
        return Figure(HEADLINE, variant, n, f"{n or 'no'} pair{'' if n == 1 else 's'}, fewer than {least}")
    found = correlated(
        rating,
        gold[one.members],
        context,
        f"correlation {purpose or one.label}",
        method="bootstrap over pairs",
    )
    what = found.replace("similarity", "rating") if isinstance(found, str) else found
    return Figure(HEADLINE, variant, n, what)


def _error(errors: Floats, one: Bin, context: Context) -> Figure:
    inside, variant = errors[one.members], f"gold={one.label}" if one.label else ""
    n = int(np.isfinite(inside).sum())
    if not n:
        return Figure(ERROR, variant, 0, "no pair")
    found = estimate(inside[:, None], _mean, context, f"error {one.label}", "bootstrap over pairs")
    return Figure(ERROR, variant, n, found)


def _mean(means: Floats) -> Floats:
    return means[..., 0]


@dataclass(frozen=True)
class Bin:
    """A range of values by its label, and which items are in it, (n,)."""

    label: str
    members: NDArray[np.bool_]


def on_common_scale(gold: Floats, low: float, high: float) -> Floats:
    """Gold scores (n,) of the range `low` to `high` on the judge's scale, 0 to 5; DataError for one outside.

    >>> on_common_scale(np.array([1.0, 3.0, 5.0]), 1, 5).tolist()
    [0.0, 2.5, 5.0]
    """
    outside = (gold < low) | (gold > high)
    if outside.any():
        raise DataError(
            f"{int(outside.sum())} gold scores are outside their range",
            expected=f"{low:g} to {high:g}",
            found=f"{gold[outside][0]:g}",
            mend="Say the range with --gold LOW-HIGH.",
        )
    return np.asarray(LOWEST + (HIGHEST - LOWEST) * (gold - low) / (high - low), dtype=np.float64)


def by_gold(gold: Floats, edges: Sequence[float] = (1, 2, 3, 4)) -> list[Bin]:
    """Gold scores on 0 to 5 cut at the edges; an edge begins a bin, and 5 is in the last.

    >>> [(one.label, int(one.members.sum())) for one in by_gold(np.array([0.0, 1.0, 1.5, 5.0]))]
    [('[0,1)', 1), ('[1,2)', 2), ('[2,3)', 0), ('[3,4)', 0), ('[4,5]', 1)]
    """
    ends = [f"{edge:g}" for edge in (LOWEST, *edges, HIGHEST)]
    labels = [f"[{a},{b}{']' if b == ends[-1] else ')'}" for a, b in pairwise(ends)]
    return _bins(labels, np.searchsorted(np.asarray(edges), gold, side="right"))


def by_words(words: Floats, edges: Sequence[int] = (10, 20, 30, 50)) -> list[Bin]:
    """Mean word counts cut after the edges: a pair of 10.5 words on average is in `11-20`.

    >>> [(one.label, int(one.members.sum())) for one in by_words(np.array([1.0, 10.0, 10.5, 99.0]))]
    [('1-10', 2), ('11-20', 1), ('21-30', 0), ('31-50', 0), ('over 50', 1)]
    """
    starts = [1, *(edge + 1 for edge in edges)]
    labels = [f"{a}-{b}" for a, b in zip(starts, edges, strict=False)] + [f"over {edges[-1]}"]
    return _bins(labels, np.searchsorted(np.asarray(edges), words, side="left"))


def words_per_text(first: Sequence[str], second: Sequence[str]) -> Floats:
    """Mean number of words, between blanks, of the two texts of each pair, (n,)."""
    return np.array([(len(a.split()) + len(b.split())) / 2 for a, b in zip(first, second, strict=True)])


def _bins(labels: Sequence[str], places: NDArray[np.intp]) -> list[Bin]:
    return [Bin(label, np.asarray(places == place)) for place, label in enumerate(labels)]
