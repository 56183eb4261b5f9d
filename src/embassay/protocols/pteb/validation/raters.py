"""The rating file, one rating per row, and what came back held against the study's key."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.data.lines import DelimitedTable
from embassay.data.rows import (
    SourceRow,
    escape_spreadsheet_formula,
    find_nearest_name,
    make_missing_column_error,
    unescape_spreadsheet_formula,
)
from embassay.errors import DataError, UsageError
from embassay.measures import krippendorff_alpha
from embassay.protocols.kernel.estimates import MOST_LOST
from embassay.protocols.kernel.tables import format_csv_sheet
from embassay.protocols.wordings.pairs import (
    HIGHEST,
    LOWEST,
    LanguageAcceptanceRules,
    PairToRate,
    open_rating_table,
    read_stripped_cell,
)
from embassay.randomness import make_seeded_generator
from embassay.runs.folder import write_file_atomically
from embassay.stats import Estimate, percentile_interval, resample_means, stratified_means, wilson
from embassay.stats.resampling import count_draws_of_each_row, iterate_resample_row_blocks

Fate = Literal["kept", "cleared", "rejected"]


@dataclass(frozen=True)
class RaterRating:
    """What one rater said of one pair, from 0 to 5; of a language model, its estimate."""

    pair_id: str
    rater_id: str
    value: float
    ts: str = ""


@dataclass(frozen=True)
class InspectorDecisionsOnRaters:
    """What the inspector wrote down: a rating of their own per pair, and raters cleared or rejected with the reason."""

    inspected: Mapping[str, float]
    cleared: Mapping[str, str]
    rejected: Mapping[str, str]


NO_DECISIONS = InspectorDecisionsOnRaters({}, {}, {})


@dataclass(frozen=True)
class FlaggedRating:
    """A rating to be inspected: why, and what the models said of the pair."""

    rating: RaterRating
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
class CheckedRatings:
    """The ratings that count, what is to be inspected, and every rater's verdict. `not_inspected` are flagged pairs
    that the inspector has not rated yet."""

    kept: tuple[RaterRating, ...]
    flags: tuple[FlaggedRating, ...]
    raters: tuple[RaterVerdict, ...]
    not_inspected: tuple[str, ...]


def apply_rating_checks(
    ratings: Sequence[RaterRating],
    items: Mapping[str, PairToRate],
    rules: LanguageAcceptanceRules,
    *,
    estimates: Iterable[RaterRating] = (),
    decisions: InspectorDecisionsOnRaters = NO_DECISIONS,
) -> CheckedRatings:
    """Apply the five steps to the ratings of pairs and dummies alike. `items` is the key by pair id.

    `kept` are the ratings of pairs proper by raters who were not rejected.
    """
    by_rater: dict[str, dict[str, float]] = {}
    for estimate in estimates:
        by_rater.setdefault(estimate.pair_id, {})[estimate.rater_id] = estimate.value
    flags = tuple(
        FlaggedRating(rating, reasons, by_rater.get(rating.pair_id, {}))
        for rating in ratings
        if (
            reasons := _list_reasons_to_inspect_rating(
                rating, items[rating.pair_id], by_rater.get(rating.pair_id, {}), rules
            )
        )
    )
    raters = tuple(
        _judge_rater(rater, ratings, flags, items, rules, decisions)
        for rater in dict.fromkeys(rating.rater_id for rating in ratings)
    )
    out = {rater.rater_id for rater in raters if rater.fate == "rejected"}
    kept = (rating for rating in ratings if rating.rater_id not in out and not items[rating.pair_id].is_dummy)
    waiting = dict.fromkeys(flag.rating.pair_id for flag in flags if not items[flag.rating.pair_id].is_dummy)
    return CheckedRatings(
        tuple(kept), flags, raters, tuple(pair for pair in waiting if pair not in decisions.inspected)
    )


def is_dummy_rated_wrongly(rating: RaterRating, item: PairToRate, rules: LanguageAcceptanceRules) -> bool:
    """Whether this is a dummy rated too far from what is expected (step 1)."""
    return item.expected is not None and _are_ratings_apart(rating.value, item.expected, rules.dummy_tolerance)


def _list_reasons_to_inspect_rating(
    rating: RaterRating, item: PairToRate, estimates: Mapping[str, float], rules: LanguageAcceptanceRules
) -> tuple[str, ...]:
    """Why a rating is to be inspected (steps 1 to 3); a dummy that passes never is."""
    if item.expected is not None:
        far = is_dummy_rated_wrongly(rating, item, rules)
        return (f"a dummy, expected {item.expected:g}",) if far else ()
    far_from = [
        f"{judge} estimates {value:g}"
        for judge, value in estimates.items()
        if _are_ratings_apart(rating.value, value, rules.deviation)
    ]
    return (*far_from, *((f"rated {rules.low:g} or lower",) if rating.value <= rules.low else ()))


def _is_far_from_inspector_and_models(
    flag: FlaggedRating, rules: LanguageAcceptanceRules, decisions: InspectorDecisionsOnRaters
) -> bool:
    """Whether the rating is far both from the inspector's and from every model's (step 5); not where one of the two
    is missing."""
    inspected = decisions.inspected.get(flag.rating.pair_id)
    if inspected is None or not flag.estimates:
        return False
    others = (inspected, *flag.estimates.values())
    return all(_are_ratings_apart(flag.rating.value, other, rules.deviation) for other in others)


def _are_ratings_apart(a: float, b: float, limit: float) -> bool:
    """Whether two ratings differ by more than `limit`; the last bits of 4.2 - 2.2 do not count."""
    return abs(a - b) > limit + 1e-9


def _judge_rater(
    rater: str,
    ratings: Sequence[RaterRating],
    flags: Sequence[FlaggedRating],
    items: Mapping[str, PairToRate],
    rules: LanguageAcceptanceRules,
    decisions: InspectorDecisionsOnRaters,
) -> RaterVerdict:
    own = [rating for rating in ratings if rating.rater_id == rater]
    langs = tuple(dict.fromkeys(items[rating.pair_id].lang for rating in own))
    # A rater owes only the languages that they rated in.
    due = [item for item in items.values() if item.lang in langs]
    dummies = [rating for rating in own if items[rating.pair_id].is_dummy]
    failed = [rating for rating in dummies if is_dummy_rated_wrongly(rating, items[rating.pair_id], rules)]
    flagged = [flag for flag in flags if flag.rating.rater_id == rater]
    far = tuple(
        flag.rating.pair_id
        for flag in flagged
        if not items[flag.rating.pair_id].is_dummy and _is_far_from_inspector_and_models(flag, rules, decisions)
    )
    fate, reason = _decide_rater_acceptance(rater, failed, far, items, rules, decisions)
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


def _decide_rater_acceptance(
    rater: str,
    failed: Sequence[RaterRating],
    far: Sequence[str],
    items: Mapping[str, PairToRate],
    rules: LanguageAcceptanceRules,
    decisions: InspectorDecisionsOnRaters,
) -> tuple[Fate, str]:
    """Step 5. The inspector's word stands above the rules, and both are told."""
    counts = [
        f"rated the {items[rating.pair_id].kind} pair {rating.pair_id} as {rating.value:g} instead of "
        f"{items[rating.pair_id].expected:g}"
        for rating in failed
    ]
    if len(far) >= rules.repeated:
        counts.append(
            f"{len(far)} ratings differ by more than {rules.deviation:g} from the inspector's and every model's"
        )
    reason = "; ".join(counts)
    if rater in decisions.rejected:
        return "rejected", "; ".join(filter(None, (f"inspector: {decisions.rejected[rater]}", reason)))
    if rater in decisions.cleared and reason:
        return "cleared", f"inspector: {decisions.cleared[rater]} (otherwise: {reason})"
    return ("rejected" if reason else "kept"), reason


RESAMPLES = 1000
CLASSES = tuple(range(int(HIGHEST) + 1))


@dataclass(frozen=True)
class LanguageRatingResult:
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


def summarise_language_ratings(
    kept: Sequence[RaterRating], items: Iterable[PairToRate], raters: Sequence[RaterVerdict],
    rules: LanguageAcceptanceRules, *,
    per_pair: int, seed: int
) -> tuple[LanguageRatingResult, ...]:  # fmt: skip
    """Every language in the order of the study, then all of them. `per_pair` ratings of each pair were asked for."""
    pairs = [item for item in items if not item.is_dummy]
    langs = list(dict.fromkeys(item.lang for item in pairs))
    table = {lang: _RatingTable(lang, kept, pairs, raters, per_pair) for lang in langs}
    results = [
        _summarize_ratings_of_language(ratings, _estimate_mean_rating(ratings, seed), rules, seed)
        for ratings in table.values()
    ]
    if not results:
        return ()
    whole = _RatingTable("", kept, pairs, raters, per_pair)
    return (
        *results,
        _summarize_ratings_of_language(
            whole, _estimate_mean_rating_over_languages(list(table.values()), results, seed), rules, seed, results
        ),
    )


class _RatingTable:
    """The ratings of one language (all: "") as a table, a row per rater and a column per pair, NaN where missing."""

    def __init__(
        self,
        lang: str,
        kept: Sequence[RaterRating],
        pairs: Sequence[PairToRate],
        raters: Sequence[RaterVerdict],
        per_pair: int,
    ) -> None:
        ids = [item.pair_id for item in pairs if lang in ("", item.lang)]
        columns = {pair: column for column, pair in enumerate(ids)}
        shared = [rating for rating in kept if rating.pair_id in columns]
        rows = {rater: row for row, rater in enumerate(dict.fromkeys(rating.rater_id for rating in shared))}
        self.lang = lang
        self.verdicts = [rater for rater in raters if not lang or lang in rater.langs]
        # One row at least: a language that nobody rated still has its pairs as columns.
        self.table = np.full((max(len(rows), 1), len(ids)), np.nan)
        for rating in shared:
            self.table[rows[rating.rater_id], columns[rating.pair_id]] = rating.value
        self.values = [rating.value for rating in shared]
        counts = (~np.isnan(self.table)).sum(axis=0)
        self.rated = counts > 0
        self.incomplete = int((self.rated & (counts < per_pair)).sum())
        self.pair_means: NDArray[np.float64] = np.nansum(self.table[:, self.rated], axis=0) / counts[self.rated]

    @property
    def too_few_ratings_reason(self) -> str:
        """Why there is no verdict; empty where enough pairs have a rating."""
        pairs = len(self.rated)
        missing = pairs - int(self.rated.sum())
        if missing <= MOST_LOST * pairs and missing < pairs:
            return ""
        return f"{missing} of {pairs} pairs have no valid rating (over {MOST_LOST:.0%}, so no verdict)"


def _summarize_ratings_of_language(
    ratings: _RatingTable,
    mean: Estimate | None,
    rules: LanguageAcceptanceRules,
    seed: int,
    results: Sequence[LanguageRatingResult] = (),
) -> LanguageRatingResult:
    reason = ratings.too_few_ratings_reason
    open_langs = [result.lang for result in results if result.accepted is None]
    if open_langs:
        reason = f"no verdict on {', '.join(open_langs)}"
    accepted = None if reason or mean is None else mean.point >= rules.threshold
    if results and accepted is not None:
        accepted = all(result.accepted for result in results)
    high = int((ratings.pair_means >= rules.threshold).sum())
    n = len(ratings.pair_means)
    return LanguageRatingResult(
        lang=ratings.lang,
        pairs=len(ratings.rated),
        rated=n,
        incomplete=ratings.incomplete,
        ratings=len(ratings.values),
        raters=len(ratings.verdicts),
        rejected=sum(verdict.fate == "rejected" for verdict in ratings.verdicts),
        mean=None if reason else mean,
        median=median(ratings.values) if ratings.values else None,
        share=wilson(high / n, n) if n else None,
        alpha=_estimate_krippendorff_alpha(ratings, seed),
        rating_counts=_count_rating_values(ratings.values),
        pair_counts=_count_rating_values(ratings.pair_means.tolist()),
        accepted=accepted,
        reason=reason,
    )


def _estimate_mean_rating(ratings: _RatingTable, seed: int) -> Estimate | None:
    values = ratings.pair_means
    if len(values) < 2:
        return None if not len(values) else Estimate(float(values[0]), n=1, method="one pair")
    draws = resample_means(values, n_resamples=RESAMPLES, rng=_make_bootstrap_generator(seed, ratings.lang))[:, 0]
    method = f"95% percentile bootstrap over pairs, {RESAMPLES} resamples"
    return Estimate(float(values.mean()), *percentile_interval(draws), len(values), method)


def _estimate_mean_rating_over_languages(
    tables: Sequence[_RatingTable], results: Sequence[LanguageRatingResult], seed: int
) -> Estimate | None:
    means = [result.mean for result in results]
    if any(mean is None for mean in means):
        return None
    # Each language by itself, as the mean over languages weighs them alike.
    draws = stratified_means(
        [table.pair_means for table in tables], n_resamples=RESAMPLES, rng=_make_bootstrap_generator(seed, "")
    )[:, 0]
    method = f"mean of languages, 95% percentile bootstrap over pairs in each, {RESAMPLES} resamples"
    value = fmean(mean.point for mean in means if mean is not None)
    return Estimate(value, *percentile_interval(draws), sum(result.rated for result in results), method)


def _estimate_krippendorff_alpha(ratings: _RatingTable, seed: int) -> Estimate | None:
    value = krippendorff_alpha(ratings.table)
    # Only pairs with two ratings or more enter alpha.
    twice = int(((~np.isnan(ratings.table)).sum(axis=0) > 1).sum())
    if math.isnan(float(value)):
        return None
    n = ratings.table.shape[1]
    rng = _make_bootstrap_generator(seed, f"{ratings.lang} alpha")
    draws = np.concatenate(
        [
            np.asarray(krippendorff_alpha(ratings.table, counts=count_draws_of_each_row(rows)))
            for rows in iterate_resample_row_blocks(n, RESAMPLES, rng, most=RESAMPLES)
        ]
    )
    method = f"Krippendorff's alpha, ordinal, 95% percentile bootstrap over pairs, {RESAMPLES} resamples"
    return Estimate(float(value), *percentile_interval(draws), twice, method)


def _count_rating_values(values: Sequence[float]) -> tuple[int, ...]:
    # Halves upward; `round` would take them to the even number.
    nearest = [math.floor(value + 0.5) for value in values]
    return tuple(nearest.count(rating) for rating in CLASSES)


def _make_bootstrap_generator(seed: int, purpose: str) -> np.random.Generator:
    return make_seeded_generator(seed, "bootstrap", "validation", purpose)


NEEDED = ("pair_id", "rater_id", "rating")

_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")


@dataclass(frozen=True)
class RatingFileRow:
    """A row of a rating file: a rating from 0 to 5, or None where the cell is blank; `texts` as in the file, () where
    it has none."""

    pair_id: str
    rater_id: str
    rating: float | None
    texts: tuple[str, ...]
    ts: str
    path: Path
    line: int


def read_rating_file_rows(path: Path) -> list[RatingFileRow]:
    """The rows of a rating file, blank ratings included; rows without anything are passed over.

    CSV may be separated by commas, semicolons or tabs, and write 3,5 for 3.5: spreadsheets of half of Europe do.
    DataError, with file and line, for a file that is none, and a rating that is no number from 0 to 5.
    """
    source = open_rating_table(path)
    for column in NEEDED:
        if column not in source.columns():
            raise make_missing_column_error(source, column)
    texts = [column for column in ("text", "text2") if column in source.columns()]
    wanted = [*NEEDED, *texts, *(["ts"] if "ts" in source.columns() else [])]
    return [
        _read_rated_row(row, texts)
        for row in source.rows(wanted)
        if any(read_stripped_cell(row, column) for column in wanted)
    ]


def read_rating_cell(row: SourceRow, column: str) -> float | None:
    """The number from 0 to 5 in a cell, None where it is blank; DataError with file and line for anything else."""
    text = read_stripped_cell(row, column)
    if not text:
        return None
    value = float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else None
    if value is None or not LOWEST <= value <= HIGHEST:
        raise DataError(
            "the rating is not on the scale", path=row.path, line=row.line, expected="a number from 0 to 5",
            found=repr(text), mend="Ask the rater, or leave the cell blank to count it as unrated."
        )  # fmt: skip
    return value


def _read_rated_row(row: SourceRow, texts: Sequence[str]) -> RatingFileRow:
    pair_id, rater_id = (
        unescape_spreadsheet_formula(read_stripped_cell(row, "pair_id")),
        unescape_spreadsheet_formula(read_stripped_cell(row, "rater_id")),
    )
    for column, value in (("pair_id", pair_id), ("rater_id", rater_id)):
        if not value:
            raise DataError(
                f"the row has no {column}.", path=row.path, line=row.line,
                mend="Fill it in as in the file that was sent out."
            )  # fmt: skip
    meanings = tuple(unescape_spreadsheet_formula(str(row.cells.get(column) or "")) for column in texts)
    return RatingFileRow(
        pair_id, rater_id, read_rating_cell(row, "rating"), meanings, read_stripped_cell(row, "ts"), row.path, row.line
    )


def collect_ratings_from_files(
    files: Iterable[Path], items: Mapping[str, PairToRate], *, estimates: bool = False
) -> list[RaterRating]:
    """The ratings in the files; blank ones are not rated and left out. Of `estimates` the rater is a language model.

    DataError, with file and line, for a pair that the study does not have, texts that are not those of the pair, and a
    pair that one rater rated twice.
    """
    by_pair: dict[tuple[str, str], RatingFileRow] = {}
    for path in files:
        for row in read_rating_file_rows(path):
            _check_row_matches_pair(row, items, estimates=estimates)
            key = (row.rater_id, row.pair_id)
            if row.rating is None:
                continue
            if key in by_pair:
                first = by_pair[key]
                raise DataError(
                    f"{row.rater_id} has already rated the pair {row.pair_id}", path=row.path, line=row.line,
                    found=f"another rating in {first.path}:{first.line}",
                    mend="Keep one of the two. Every rater needs a unique id."
                )  # fmt: skip
            by_pair[key] = row
    return [
        RaterRating(row.pair_id, row.rater_id, row.rating, row.ts) for row in by_pair.values() if row.rating is not None
    ]


def check_inspected_pairs_and_raters_exist(
    decisions: InspectorDecisionsOnRaters, ratings: Sequence[RaterRating], items: Mapping[str, PairToRate]
) -> None:
    """UsageError for a pair or rater in the inspector's file that the study does not know."""
    raters = {rating.rater_id for rating in ratings}
    for what, names, known in (
        ("pair", decisions.inspected, set(items)),
        ("rater", {**decisions.cleared, **decisions.rejected}, raters),
    ):
        for name in names:
            if name not in known:
                near = find_nearest_name(name, known)
                raise UsageError(
                    f"The inspector's file has the {what} {name!r}, which the study does not have.",
                    mend=f"Did you mean {near}?" if near else "Correct or remove the row.",
                )


def _check_row_matches_pair(row: RatingFileRow, items: Mapping[str, PairToRate], *, estimates: bool) -> None:
    item = items.get(row.pair_id)
    if item is None:
        raise DataError(
            f"the study has no pair {row.pair_id!r}.", path=row.path, line=row.line,
            mend="Check whether the file belongs to another study or the cell was changed."
        )  # fmt: skip
    if row.texts and not estimates:
        ours = sorted(map(_normalize_blanks_of_text, (item.text, item.text2)))
        if sorted(map(_normalize_blanks_of_text, row.texts)) != ours[: len(row.texts)] and len(row.texts) == 2:
            raise DataError(
                f"the texts differ from those of the pair {row.pair_id}.", path=row.path, line=row.line,
                mend="Rows were moved or texts were edited. Get the file from the rater again."
            )  # fmt: skip


def _normalize_blanks_of_text(text: str) -> str:
    """Without what spreadsheets change: line ends and blanks around."""
    return " ".join(text.split())


DECISION_COLUMNS = ("pair_id", "rater_id", "inspection", "decision", "reason")
DECISIONS = ("clear", "reject")


def read_inspector_decisions(path: Path) -> InspectorDecisionsOnRaters:
    """Read a CSV or JSON Lines file with the columns `pair_id` and `inspection` (the inspector's rating from 0 to 5),
    and `rater_id`, `decision` (clear or reject) and `reason` in rows about a rater; other columns are passed over.

    The file that `score` writes, `inspect.csv`, has them. DataError, with file and line, for a rating off the scale,
    two ratings of one pair, a decision without a reason, and one that is neither.
    """
    source = open_rating_table(path)
    for column in ("pair_id", "inspection"):
        if column not in source.columns():
            raise make_missing_column_error(source, column)
    inspected: dict[str, float] = {}
    decided: dict[str, dict[str, str]] = {name: {} for name in DECISIONS}
    for row in source.rows([column for column in DECISION_COLUMNS if column in source.columns()]):
        pair_id, value = read_stripped_cell(row, "pair_id"), read_rating_cell(row, "inspection")
        if value is not None:
            if inspected.get(pair_id, value) != value:
                raise DataError(
                    f"the pair {pair_id} was inspected twice, with different ratings.", path=path, line=row.line,
                    mend="Keep one of them."
                )  # fmt: skip
            inspected[pair_id] = value
        _add_inspector_decision(row, decided)
    return InspectorDecisionsOnRaters(inspected, decided["clear"], decided["reject"])


def _add_inspector_decision(row: SourceRow, decided: dict[str, dict[str, str]]) -> None:
    decision, rater, reason = (read_stripped_cell(row, column) for column in ("decision", "rater_id", "reason"))
    if not decision:
        return
    if decision not in DECISIONS:
        near = find_nearest_name(decision, DECISIONS)
        raise DataError(
            "the decision is neither clear nor reject", path=row.path, line=row.line, found=repr(decision),
            mend=f"Did you mean {near}?" if near else "Leave it blank to let the rules decide."
        )  # fmt: skip
    if not (rater and reason):
        raise DataError(
            f"a decision needs a {'reason' if rater else 'rater_id'}.", path=row.path, line=row.line,
            mend="Fill it in, because every decision is logged with its reason."
        )  # fmt: skip
    others = decided[DECISIONS[1 - DECISIONS.index(decision)]]
    if rater in others:
        raise DataError(
            f"the rater {rater} is both cleared and rejected.", path=row.path, line=row.line, mend="Keep one of them."
        )
    decided[decision][rater] = reason


FILE = "inspect.csv"
_INSPECTION_COLUMNS_IN_WORDS = """
    pair_id rater_id lang text text2 translation translation2 rating why estimates inspection decision reason
"""
INSPECTION_COLUMNS = tuple(_INSPECTION_COLUMNS_IN_WORDS.split())
"""The inspector fills in `inspection` (a rating of their own); translations are for the inspector; `decision` (clear or
reject) and `reason` are about the rater."""


def update_inspection_list(path: Path, flags: Sequence[FlaggedRating], items: Mapping[str, PairToRate]) -> int:
    """Write the list, or add to it what it does not have: not a cell of what is there is changed, and a list that has
    everything is not touched. Returns how many rows are new."""
    header, rows, delimiter = _read_rater_inspection_table(path)
    listed = {(row.get("pair_id", ""), unescape_spreadsheet_formula(row.get("rater_id", ""))) for row in rows}
    new = [
        _make_flagged_rating_row(flag, items[flag.rating.pair_id])
        for flag in flags
        if (flag.rating.pair_id, flag.rating.rater_id) not in listed
    ]
    if new or not path.exists():
        columns = [*header, *(name for name in INSPECTION_COLUMNS if name not in header)]
        cells = ([row.get(column, "") for column in columns] for row in [*rows, *new])
        # The byte order mark tells spreadsheets that it is UTF-8.
        write_file_atomically(path, format_csv_sheet([columns, *cells], delimiter).encode("utf-8-sig"))
    return len(new)


def _read_rater_inspection_table(path: Path) -> tuple[list[str], list[dict[str, str]], str]:
    """Header, rows and separator of the list as it is."""
    if not path.exists():
        return [], [], ","
    source = open_rating_table(path)
    columns = list(source.columns())
    rows = [{column: read_stripped_cell(row, column) for column in columns} for row in source.rows(columns)]
    return columns, rows, source.delimiter if isinstance(source, DelimitedTable) else ","


def _make_flagged_rating_row(flag: FlaggedRating, item: PairToRate) -> dict[str, Any]:
    return {
        "pair_id": item.pair_id,
        "rater_id": escape_spreadsheet_formula(flag.rating.rater_id),
        "lang": item.lang,
        "text": escape_spreadsheet_formula(item.text),
        "text2": escape_spreadsheet_formula(item.text2),
        "rating": f"{flag.rating.value:g}",
        "why": "; ".join(flag.reasons),
        "estimates": "; ".join(f"{judge}: {value:g}" for judge, value in flag.estimates.items()),
    }
