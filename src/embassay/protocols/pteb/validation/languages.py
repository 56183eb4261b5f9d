"""What the ratings say of every language: table 11, and what the paper leaves out beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from embassay.measures import krippendorff_alpha
from embassay.protocols.kernel.estimates import MOST_LOST
from embassay.protocols.pteb.validation.checks import RaterVerdict, Rating
from embassay.protocols.pteb.validation.pairs import Item
from embassay.protocols.pteb.validation.rules import HIGHEST, Rules
from embassay.randomness import generator
from embassay.stats import Estimate, percentile_interval, resample_means, stratified_means, wilson
from embassay.stats.resampling import resampled_rows, row_counts

RESAMPLES = 1000
CLASSES = tuple(range(int(HIGHEST) + 1))


@dataclass(frozen=True)
class LanguageResult:
    """One language, or all of them (`lang` empty).

    `pairs` were drawn, `rated` have a rating that counts and `incomplete` of those fewer than were asked for. `mean`
    is over pairs (of all: the mean of the languages' means), `median` over ratings. `share` is of pairs at the
    threshold or above. `alpha` is Krippendorff's, ordinal, over pairs; None where it is undefined. Of the two
    distributions, 0 to 5, each rating (the mean of each pair) is counted at its nearest whole number, halves upward.
    `accepted` is None, with the `reason`, where there is no verdict.
    """

    lang: str
    pairs: int
    rated: int
    incomplete: int
    ratings: int
    raters: int
    rejected: int
    mean: Estimate | None
    median: float | None
    share: Estimate | None
    alpha: Estimate | None
    rating_counts: tuple[int, ...]
    pair_counts: tuple[int, ...]
    accepted: bool | None
    reason: str = ""


def language_results(
    kept: Sequence[Rating], items: Iterable[Item], raters: Sequence[RaterVerdict], rules: Rules, *,
    per_pair: int, seed: int,
) -> tuple[LanguageResult, ...]:  # fmt: skip
    """Every language in the order of the study, then all of them. `per_pair` ratings of each pair were asked for."""
    pairs = [item for item in items if not item.is_dummy]
    langs = list(dict.fromkeys(item.lang for item in pairs))
    table = {lang: _Ratings(lang, kept, pairs, raters, per_pair) for lang in langs}
    each = [_result(own, _mean(own, seed), rules, seed) for own in table.values()]
    if not each:
        return ()
    whole = _Ratings("", kept, pairs, raters, per_pair)
    return (*each, _result(whole, _mean_of_means(list(table.values()), each, seed), rules, seed, each))


class _Ratings:
    """The ratings of one language (all: "") as a table, a row per rater and a column per pair, NaN where missing."""

    def __init__(
        self,
        lang: str,
        kept: Sequence[Rating],
        pairs: Sequence[Item],
        raters: Sequence[RaterVerdict],
        per_pair: int,
    ) -> None:
        ids = [item.pair_id for item in pairs if lang in ("", item.lang)]
        columns = {pair: column for column, pair in enumerate(ids)}
        own = [one for one in kept if one.pair_id in columns]
        rows = {rater: row for row, rater in enumerate(dict.fromkeys(one.rater_id for one in own))}
        self.lang = lang
        self.verdicts = [one for one in raters if not lang or lang in one.langs]
        self.table = np.full((max(len(rows), 1), len(ids)), np.nan)
        for one in own:
            self.table[rows[one.rater_id], columns[one.pair_id]] = one.value
        self.values = [one.value for one in own]
        given = (~np.isnan(self.table)).sum(axis=0)
        self.rated = given > 0
        self.incomplete = int((self.rated & (given < per_pair)).sum())
        self.pair_means: NDArray[np.float64] = (
            np.nansum(self.table[:, self.rated], axis=0) / given[self.rated]
        )

    @property
    def too_few(self) -> str:
        """Why there is no verdict; empty where enough pairs have a rating."""
        pairs = len(self.rated)
        missing = pairs - int(self.rated.sum())
        if missing <= MOST_LOST * pairs and missing < pairs:
            return ""
        return f"{missing} of {pairs} pairs have no rating that counts (over {MOST_LOST:.0%}, so no verdict)"


def _result(
    own: _Ratings, mean: Estimate | None, rules: Rules, seed: int, each: Sequence[LanguageResult] = ()
) -> LanguageResult:
    reason = own.too_few
    open_langs = [one.lang for one in each if one.accepted is None]
    if open_langs:
        reason = f"no verdict on {', '.join(open_langs)}"
    accepted = None if reason or mean is None else mean.estimate >= rules.threshold
    if each and accepted is not None:
        accepted = all(one.accepted for one in each)
    high = int((own.pair_means >= rules.threshold).sum())
    n = len(own.pair_means)
    return LanguageResult(
        lang=own.lang,
        pairs=len(own.rated),
        rated=n,
        incomplete=own.incomplete,
        ratings=len(own.values),
        raters=len(own.verdicts),
        rejected=sum(one.fate == "rejected" for one in own.verdicts),
        mean=None if reason else mean,
        median=median(own.values) if own.values else None,
        share=wilson(high / n, n) if n else None,
        alpha=_alpha(own, seed),
        rating_counts=_counted(own.values),
        pair_counts=_counted(own.pair_means.tolist()),
        accepted=accepted,
        reason=reason,
    )


def _mean(own: _Ratings, seed: int) -> Estimate | None:
    values = own.pair_means
    if len(values) < 2:
        return None if not len(values) else Estimate(float(values[0]), math.nan, math.nan, 1, "one pair")
    draws = resample_means(values, n_resamples=RESAMPLES, rng=_stream(seed, own.lang))[:, 0]
    method = f"95% percentile bootstrap over pairs, {RESAMPLES} resamples"
    return Estimate(float(values.mean()), *percentile_interval(draws), len(values), method)


def _mean_of_means(tables: Sequence[_Ratings], each: Sequence[LanguageResult], seed: int) -> Estimate | None:
    means = [one.mean for one in each]
    if any(mean is None for mean in means):
        return None
    draws = stratified_means(
        [own.pair_means for own in tables], n_resamples=RESAMPLES, rng=_stream(seed, "")
    )[:, 0]
    method = f"mean of languages, 95% percentile bootstrap over pairs in each, {RESAMPLES} resamples"
    value = fmean(mean.estimate for mean in means if mean is not None)
    return Estimate(value, *percentile_interval(draws), sum(one.rated for one in each), method)


def _alpha(own: _Ratings, seed: int) -> Estimate | None:
    value = krippendorff_alpha(own.table)
    twice = int(((~np.isnan(own.table)).sum(axis=0) > 1).sum())
    if math.isnan(float(value)):
        return None
    n = own.table.shape[1]
    rng = _stream(seed, f"{own.lang} alpha")
    draws = np.concatenate(
        [
            np.asarray(krippendorff_alpha(own.table, counts=row_counts(rows)))
            for rows in resampled_rows(n, RESAMPLES, rng, most=RESAMPLES)
        ]
    )
    method = f"Krippendorff's alpha, ordinal, 95% percentile bootstrap over pairs, {RESAMPLES} resamples"
    return Estimate(float(value), *percentile_interval(draws), twice, method)


def _counted(values: Sequence[float]) -> tuple[int, ...]:
    nearest = [math.floor(value + 0.5) for value in values]
    return tuple(nearest.count(one) for one in CLASSES)


def _stream(seed: int, purpose: str) -> np.random.Generator:
    return generator(seed, "bootstrap", "validation", purpose)
