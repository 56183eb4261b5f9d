"""The five steps from ratings to results (spec section 10): dummies, estimates, low ratings, inspection, rejection."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.measures import krippendorff_alpha
from embassay.protocols.kernel.estimates import MOST_LOST
from embassay.protocols.pteb.validation.pairs import HIGHEST, Item, Rules
from embassay.randomness import generator
from embassay.stats import Estimate, percentile_interval, resample_means, stratified_means, wilson
from embassay.stats.resampling import resampled_rows, row_counts

Fate = Literal["kept", "cleared", "rejected"]


@dataclass(frozen=True)
class Rating:
    """What one rater said of one pair, from 0 to 5; of a language model, its estimate."""

    pair_id: str
    rater_id: str
    value: float
    ts: str = ""


@dataclass(frozen=True)
class Decisions:
    """What the inspector wrote down: a rating of their own per pair, and raters cleared or rejected with the reason."""

    inspected: Mapping[str, float]
    cleared: Mapping[str, str]
    rejected: Mapping[str, str]


NO_DECISIONS = Decisions({}, {}, {})


@dataclass(frozen=True)
class Flag:
    """A rating to be inspected: why, and what the models said of the pair."""

    rating: Rating
    reasons: tuple[str, ...]
    estimates: Mapping[str, float]


@dataclass(frozen=True)
class RaterVerdict:
    """What became of one rater.

    `ratings` counts ratings of pairs proper, `missing` pairs and dummies of the rater's languages that were left
    blank; `far` are the pairs rated far from the inspector and from all models.
    """

    rater_id: str
    langs: tuple[str, ...]
    ratings: int
    missing: int
    dummies_passed: int
    dummies_failed: int
    dummies_missing: int
    flagged: int
    far: tuple[str, ...]
    fate: Fate
    reason: str


@dataclass(frozen=True)
class Checked:
    """The ratings that count, what is to be inspected, and every rater's verdict. `not_inspected` are flagged pairs
    that the inspector has not rated yet."""

    kept: tuple[Rating, ...]
    flags: tuple[Flag, ...]
    raters: tuple[RaterVerdict, ...]
    not_inspected: tuple[str, ...]


def check(
    ratings: Sequence[Rating],
    items: Mapping[str, Item],
    rules: Rules,
    *,
    estimates: Iterable[Rating] = (),
    decisions: Decisions = NO_DECISIONS,
) -> Checked:
    """Apply the five steps to the ratings of pairs and dummies alike. `items` is the key by pair id.

    `kept` are the ratings of pairs proper by raters who were not rejected.
    """
    said: dict[str, dict[str, float]] = {}
    for one in estimates:
        said.setdefault(one.pair_id, {})[one.rater_id] = one.value
    flags = tuple(
        Flag(one, reasons, said.get(one.pair_id, {}))
        for one in ratings
        if (reasons := _reasons(one, items[one.pair_id], said.get(one.pair_id, {}), rules))
    )
    raters = tuple(
        _verdict(rater, ratings, flags, items, rules, decisions)
        for rater in dict.fromkeys(one.rater_id for one in ratings)
    )
    out = {one.rater_id for one in raters if one.fate == "rejected"}
    kept = (one for one in ratings if one.rater_id not in out and not items[one.pair_id].is_dummy)
    waiting = dict.fromkeys(flag.rating.pair_id for flag in flags if not items[flag.rating.pair_id].is_dummy)
    return Checked(
        tuple(kept), flags, raters, tuple(pair for pair in waiting if pair not in decisions.inspected)
    )


def fails(rating: Rating, item: Item, rules: Rules) -> bool:
    """Whether this is a dummy rated too far from what is expected (step 1)."""
    return item.expected is not None and _apart(rating.value, item.expected, rules.dummy_tolerance)


def _reasons(rating: Rating, item: Item, estimates: Mapping[str, float], rules: Rules) -> tuple[str, ...]:
    """Why a rating is to be inspected (steps 1 to 3); a dummy that passes never is."""
    if item.expected is not None:
        far = fails(rating, item, rules)
        return (f"a dummy, expected {item.expected:g}",) if far else ()
    far_from = [
        f"{judge} estimates {value:g}"
        for judge, value in estimates.items()
        if _apart(rating.value, value, rules.deviation)
    ]
    return (*far_from, *((f"rated {rules.low:g} or lower",) if rating.value <= rules.low else ()))


def _is_far(flag: Flag, rules: Rules, decisions: Decisions) -> bool:
    """Whether the rating is far both from the inspector's and from every model's (step 5); not where one of the two
    is missing."""
    inspected = decisions.inspected.get(flag.rating.pair_id)
    if inspected is None or not flag.estimates:
        return False
    others = (inspected, *flag.estimates.values())
    return all(_apart(flag.rating.value, other, rules.deviation) for other in others)


def _apart(a: float, b: float, limit: float) -> bool:
    """Whether two ratings differ by more than `limit`; the last bits of 4.2 - 2.2 do not count."""
    return abs(a - b) > limit + 1e-9


def _verdict(
    rater: str,
    ratings: Sequence[Rating],
    flags: Sequence[Flag],
    items: Mapping[str, Item],
    rules: Rules,
    decisions: Decisions,
) -> RaterVerdict:
    own = [one for one in ratings if one.rater_id == rater]
    langs = tuple(dict.fromkeys(items[one.pair_id].lang for one in own))
    due = [item for item in items.values() if item.lang in langs]
    dummies = [one for one in own if items[one.pair_id].is_dummy]
    failed = [one for one in dummies if fails(one, items[one.pair_id], rules)]
    flagged = [flag for flag in flags if flag.rating.rater_id == rater]
    far = tuple(
        flag.rating.pair_id
        for flag in flagged
        if not items[flag.rating.pair_id].is_dummy and _is_far(flag, rules, decisions)
    )
    fate, reason = _fate(rater, failed, far, items, rules, decisions)
    return RaterVerdict(
        rater_id=rater,
        langs=langs,
        ratings=len(own) - len(dummies),
        missing=len(due) - len(own),
        dummies_passed=len(dummies) - len(failed),
        dummies_failed=len(failed),
        dummies_missing=sum(item.is_dummy for item in due) - len(dummies),
        flagged=len(flagged),
        far=far,
        fate=fate,
        reason=reason,
    )


def _fate(
    rater: str,
    failed: Sequence[Rating],
    far: Sequence[str],
    items: Mapping[str, Item],
    rules: Rules,
    decisions: Decisions,
) -> tuple[Fate, str]:
    """Step 5. The inspector's word stands above the rules, and both are told."""
    found = [
        f"rated the {items[one.pair_id].kind} pair {one.pair_id} {one.value:g}, expected "
        f"{items[one.pair_id].expected:g}"
        for one in failed
    ]
    if len(far) >= rules.repeated:
        found.append(
            f"{len(far)} ratings are more than {rules.deviation:g} from the inspector's and from every model's"
        )
    reason = "; ".join(found)
    if rater in decisions.rejected:
        return "rejected", "; ".join(filter(None, (f"inspector: {decisions.rejected[rater]}", reason)))
    if rater in decisions.cleared and reason:
        return "cleared", f"inspector: {decisions.cleared[rater]} (otherwise: {reason})"
    return ("rejected" if reason else "kept"), reason


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
