"""Table 11, the distribution of ratings (figure 6) and the log of rejections, as rows and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.protocols.kernel.tables import Column, ColumnTable, Value
from embassay.protocols.pteb.validation.checks import RaterVerdict
from embassay.protocols.pteb.validation.languages import CLASSES, LanguageResult
from embassay.records import Result
from embassay.stats import Estimate

TASK = "validation"
TOTAL = "Total"
VERDICTS = {True: "accepted", False: "rejected", None: "no verdict"}


def rows(results: Sequence[LanguageResult], system: str, seed: int) -> Iterator[Result]:
    """The results: per language (`subset` and `lang`) and of all together (both empty; `mul` as `lang`).

    `mean_rating` and `median_rating` are on the scale of 0 to 5; `share_at_threshold`, `ratings` and `pairs` (variant
    `rating=0` to `rating=5`) are shares; `accepted` is 1 or 0; of all, 1 where every language is.
    """
    for one in results:
        none = one.reason or "no rating counts"
        accepted = None if one.accepted is None else float(one.accepted)
        yield _row(one, system, seed, "mean_rating", one.mean, none)
        median = _plain(one.median, one.ratings, "over ratings")
        yield _row(one, system, seed, "median_rating", median, none)
        yield _row(one, system, seed, "share_at_threshold", one.share, none)
        undefined = "no pair has two ratings, or all ratings are the same"
        yield _row(one, system, seed, "alpha", one.alpha, undefined)
        rule = _plain(accepted, one.rated, "the rules of the study")
        yield _row(one, system, seed, "accepted", rule, none)
        for measure, counts in (("ratings", one.rating_counts), ("pairs", one.pair_counts)):
            for grade, count in zip(CLASSES, counts, strict=True):
                n = sum(counts)
                share = _plain(count / n if n else None, n, "nearest whole number, halves upward")
                yield _row(one, system, seed, measure, share, none, f"rating={grade}")


def tables(
    results: Sequence[LanguageResult], raters: Sequence[RaterVerdict], threshold: float
) -> Iterator[ColumnTable]:
    """`pteb_table11`, `rating_distribution` and `raters`."""
    yield _table_11(results, threshold)
    yield _distribution(results)
    yield _raters(raters)


def verdict(one: LanguageResult, results: Sequence[LanguageResult]) -> str:
    """The verdict in words; of all languages together, how many were accepted."""
    if one.lang:
        return VERDICTS[one.accepted]
    langs = [other for other in results if other.lang]
    return f"{sum(other.accepted is True for other in langs)} of {len(langs)} accepted"


def _row(
    one: LanguageResult,
    system: str,
    seed: int,
    measure: str,
    found: Estimate | None,
    reason: str,
    variant: str = "",
) -> Result:
    """A row of a language; without a value, with the reason, where nothing was found."""
    place = ("pteb", TASK, "", one.lang, one.lang or "mul", variant, system, measure)
    if found is None:
        return Result(*place, None, one.rated, seed=seed, reason=reason)
    interval = (_known(found.low), _known(found.high))
    return Result(*place, found.estimate, found.n, *interval, found.method, seed)


def _table_11(results: Sequence[LanguageResult], threshold: float) -> ColumnTable:
    columns = (
        Column("lang", "text"), Column("n_pairs", decimals=0), Column("n_incomplete", decimals=0),
        Column("n_ratings", decimals=0),
        Column("raters", decimals=0), Column("raters_rejected", decimals=0),
        Column("mean_similarity"), Column("ci_low"), Column("ci_high"), Column("median_similarity"),
        Column("share_at_threshold"), Column("alpha"), Column("alpha_low"), Column("alpha_high"),
        Column("verdict", "text"), Column("reason", "text"),
    )  # fmt: skip
    body = tuple(
        (
            one.lang or TOTAL, one.rated, one.incomplete, one.ratings, one.raters, one.rejected, *_three(one.mean),
            one.median, None if one.share is None else one.share.estimate, *_three(one.alpha),
            verdict(one, results), one.reason,
        )
        for one in results
    )  # fmt: skip
    note = (
        f"Ratings from 0 to 5; a language is accepted at a mean of {threshold:g} or more. The total is the mean of the "
        "languages; medians are over ratings; alpha is Krippendorff's, ordinal."
    )
    return ColumnTable("pteb_table11", "PTEB table 11: human validation", columns, body, note)


def _distribution(results: Sequence[LanguageResult]) -> ColumnTable:
    columns = (
        Column("lang", "text"),
        Column("of", "text"),
        *(Column(str(one), decimals=0) for one in CLASSES),
    )
    body: tuple[tuple[Value, ...], ...] = tuple(
        (one.lang or TOTAL, what, *counts)
        for one in results
        for what, counts in (("ratings", one.rating_counts), ("pairs", one.pair_counts))
    )
    note = "Counted at the nearest whole number, halves upward; a pair is the mean of its ratings."
    return ColumnTable("rating_distribution", "PTEB figure 6: ratings", columns, body, note)


def _raters(raters: Sequence[RaterVerdict]) -> ColumnTable:
    columns = (
        Column("rater_id", "text"), Column("lang", "text"), Column("ratings", decimals=0),
        Column("missing", decimals=0), Column("dummies_passed", decimals=0), Column("dummies_failed", decimals=0),
        Column("dummies_missing", decimals=0), Column("flagged", decimals=0), Column("far", decimals=0),
        Column("fate", "text"), Column("reason", "text"),
    )  # fmt: skip
    body = tuple(
        (
            one.rater_id, "; ".join(one.langs), one.ratings, one.missing, one.dummies_passed, one.dummies_failed,
            one.dummies_missing, one.flagged, len(one.far), one.fate, one.reason,
        )
        for one in raters
    )  # fmt: skip
    return ColumnTable("raters", "Raters, and why any was rejected", columns, body)


def _three(found: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if found is None else (found.estimate, _known(found.low), _known(found.high))


def _known(value: float) -> float | None:
    return value if value == value else None


def _plain(value: float | None, n: int, method: str) -> Estimate | None:
    return None if value is None else Estimate(value, float("nan"), float("nan"), n, method)
