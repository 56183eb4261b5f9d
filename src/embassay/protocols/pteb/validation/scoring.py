"""From rating files to a finished folder: the five steps, table 11, the list to inspect and the log of rejections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from embassay import __version__
from embassay.errors import UsageError
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel.outcome import format_current_utc_time, summarise_run_spending
from embassay.protocols.kernel.quantities import (
    JudgeAssistedMean,
    JudgeBias,
    estimate_judge_assisted_mean,
    judge_assisted_means_table,
    judge_biases_table,
    measure_judge_bias_by_score,
)
from embassay.protocols.kernel.tables import (
    ColumnTable,
    format_noun_count,
    number_column,
    text,
    whole_number_column,
    write_tables,
)
from embassay.protocols.pteb.judging import add_rating_cost_to_forecast
from embassay.protocols.pteb.options import JudgeRatingOptions
from embassay.protocols.pteb.paraphrasing import load_similarity_judge_prompt
from embassay.protocols.pteb.ratings import Judge, JudgeRatingInstructions, Pair, check_judge_specs, rate_text_pairs
from embassay.protocols.pteb.validation.raters import (
    CLASSES,
    FILE,
    NO_DECISIONS,
    CheckedRatings,
    LanguageRatingResult,
    RaterRating,
    RaterVerdict,
    apply_rating_checks,
    check_inspected_pairs_and_raters_exist,
    collect_ratings_from_files,
    read_inspector_decisions,
    summarise_language_ratings,
    update_inspection_list,
)
from embassay.protocols.pteb.validation.study import DrawnStudy
from embassay.protocols.wordings.pairs import PairToRate, make_rating_sheet, write_rating_table
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder, collect_hardware_facts, list_package_versions, slugify_name
from embassay.runs.forecast import CellForecast, RunForecast
from embassay.runs.spending import RunSpendingJournal
from embassay.stats import Estimate
from embassay.systems.remote import Ledger

ESTIMATES = "estimates"


def write_model_ratings_of_pairs(
    study: DrawnStudy,
    judges: Sequence[str],
    *,
    ledger: Ledger | None = None,
    cache: Path | None = None,
    options: JudgeRatingOptions = JudgeRatingOptions(),  # noqa: B008 - frozen
    hear: Callable[[int], None] = lambda _: None,
) -> list[Path]:
    """Have each of the models rate every pair and dummy, and keep a rating file of each in the study's folder.

    Which text is the paraphrase is hidden from them as from people. A pair without a usable answer stays blank. Answers
    are kept in the answer cache, so nothing is asked twice. UsageError for a spec that is none, ModelError for a model
    that cannot be had, BudgetExceeded at the ledger's limit.
    """
    paths = []
    for judge in _open_judges(study, judges):
        with judge.open_judge_with_cached_answers(ledger, cache) as chat:
            rows, pairs = _make_judge_rating_sheet_and_pairs(study, chat.name)
            with opening.charge_calls_to_account(ledger, chat.name):
                ratings = rate_text_pairs(chat, pairs, _make_rating_instructions(study, options), hear)
        path = study.path / ESTIMATES / f"{slugify_name(chat.name)}.csv"
        write_rating_table(path, [{**row, "rating": rating.value} for row, rating in zip(rows, ratings, strict=True)])
        paths.append(path)
    return paths


def forecast_model_ratings(
    study: DrawnStudy,
    judges: Sequence[str],
    *,
    cache: Path | None = None,
    options: JudgeRatingOptions = JudgeRatingOptions(),  # noqa: B008 - frozen
) -> RunForecast:
    """What the estimates will take beyond the answers that are kept; nothing is sent."""
    costs = []
    for judge in _open_judges(study, judges):
        name = judge.open().name
        _, pairs = _make_judge_rating_sheet_and_pairs(study, name)
        head = CellForecast("validation", "", name, len(pairs), 0, 0)
        costs.append(add_rating_cost_to_forecast(head, judge, pairs, _make_rating_instructions(study, options), cache))
    return RunForecast(tuple(costs))


def _open_judges(study: DrawnStudy, specs: Sequence[str]) -> list[Judge]:
    check_judge_specs(specs)
    # Of both texts together: the model reads them in one question.
    longest = max(len(f"{item.text}{item.text2}".encode()) for item in study.items)
    return [Judge(spec, longest) for spec in dict.fromkeys(specs)]


def _make_judge_rating_sheet_and_pairs(study: DrawnStudy, judge: str) -> tuple[list[dict[str, Any]], list[Pair]]:
    """The pairs as a judge sees them, with the rows they are from."""
    # In an order of its own and with the sides drawn, exactly as a person gets them.
    rows = make_rating_sheet(study.items, judge, study.seed)
    return rows, [(row["text"], row["text2"]) for row in rows]


def _make_rating_instructions(study: DrawnStudy, options: JudgeRatingOptions) -> JudgeRatingInstructions:
    return JudgeRatingInstructions(load_similarity_judge_prompt().text, options, study.seed)


def list_model_rating_files(study: DrawnStudy) -> list[Path]:
    """The estimates that the study's folder has."""
    folder = study.path / ESTIMATES
    return sorted(folder.iterdir()) if folder.is_dir() else []


TASK = "validation"
TOTAL = "Total"
VERDICTS = {True: "accepted", False: "rejected", None: "no verdict"}


def make_rating_result_rows(results: Sequence[LanguageRatingResult], system: str, seed: int) -> Iterator[ResultRow]:
    """The results: per language (`subset` and `lang`) and of all together (both empty; `mul` as `lang`).

    `mean_rating` and `median_rating` are on the scale of 0 to 5; `share_at_threshold`, `ratings` and `pairs` (variant
    `rating=0` to `rating=5`) are shares; `accepted` is 1 or 0; of all, 1 where every language is.
    """
    for result in results:
        none = result.reason or "no rating counts"
        accepted = None if result.accepted is None else float(result.accepted)
        yield _make_language_result_row(result, system, seed, "mean_rating", result.mean, none)
        median = _make_estimate_if_known(result.median, result.ratings, "over ratings")
        yield _make_language_result_row(result, system, seed, "median_rating", median, none)
        yield _make_language_result_row(result, system, seed, "share_at_threshold", result.share, none)
        undefined = "no pair has two ratings, or all ratings are the same"
        yield _make_language_result_row(result, system, seed, "alpha", result.alpha, undefined)
        rule = _make_estimate_if_known(accepted, result.rated, "the rules of the study")
        yield _make_language_result_row(result, system, seed, "accepted", rule, none)
        for measure, counts in (("ratings", result.rating_counts), ("pairs", result.pair_counts)):
            for grade, count in zip(CLASSES, counts, strict=True):
                n = sum(counts)
                share = _make_estimate_if_known(count / n if n else None, n, "nearest whole number, halves rounded up")
                yield _make_language_result_row(result, system, seed, measure, share, none, f"rating={grade}")


def make_study_rating_tables(
    results: Sequence[LanguageRatingResult], raters: Sequence[RaterVerdict], threshold: float
) -> Iterator[ColumnTable]:
    """Make the tables `pteb_table11`, `rating_distribution` and `raters`."""
    yield _make_human_validation_table(results, threshold)
    yield _make_rating_counts_table(results)
    yield _make_raters_table(raters)


def make_corrected_mean_rows(
    found: Sequence[JudgeCorrectedLanguageRating], system: str, seed: int
) -> Iterator[ResultRow]:
    """`mean_corrected` of each judge (variant) and language."""
    for language in found:
        mean = language.mean
        place = (
            "pteb", TASK, "", language.lang, language.lang or "mul", language.judge, system, "mean_corrected"
        )  # fmt: skip
        method = f"people's ratings of {mean.n:,} of {mean.total:,} pairs and the judge's ratings of all; {mean.use}"
        yield ResultRow(*place, mean.value, mean.n, mean.low, mean.high, method, seed)


def make_corrected_mean_tables(found: Sequence[JudgeCorrectedLanguageRating]) -> Iterator[ColumnTable]:
    """`corrected_judges` and `judge_bias`."""
    named = [(f"{language.judge}, {language.lang or TOTAL}", language) for language in found]
    title = "Mean ratings by people and judge"
    yield judge_assisted_means_table("corrected_judges", title, [(name, language.mean) for name, language in named])
    yield judge_biases_table("judge_bias", [(name, off) for name, language in named for off in language.off])


def describe_rating_verdict_of_language(result: LanguageRatingResult, results: Sequence[LanguageRatingResult]) -> str:
    """The verdict in words; of all languages together, how many were accepted."""
    if result.lang:
        return VERDICTS[result.accepted]
    langs = [other for other in results if other.lang]
    return f"{sum(other.accepted is True for other in langs)} of {len(langs)} accepted"


def _make_language_result_row(
    result: LanguageRatingResult,
    system: str,
    seed: int,
    measure: str,
    estimate: Estimate | None,
    reason: str,
    variant: str = "",
) -> ResultRow:
    """A row of a language; without a value, with the reason, where nothing was found."""
    place = ("pteb", TASK, "", result.lang, result.lang or "mul", variant, system, measure)
    if estimate is None:
        return ResultRow(*place, None, result.rated, seed=seed, reason=reason)
    return ResultRow(*place, estimate.value, estimate.n, estimate.low, estimate.high, estimate.method, seed)


_LANG = text("lang", lambda result: result.lang or TOTAL)


class RatingClassCounts(NamedTuple):
    """How many ratings or pairs of a language are in each class."""

    lang: str
    of: str
    counts: Sequence[int]


def _make_human_validation_table(results: Sequence[LanguageRatingResult], threshold: float) -> ColumnTable:
    return ColumnTable.of(
        "pteb_table11", "PTEB table 11: human validation", results, _LANG, whole_number_column("n_pairs", "rated"),
        whole_number_column("n_incomplete", "incomplete"),
        whole_number_column("n_ratings", "ratings"), whole_number_column("raters"),
        whole_number_column("raters_rejected", "rejected"), number_column("mean_similarity", "mean.value"),
        number_column("ci_low", "mean.low"), number_column("ci_high", "mean.high"),
        number_column("median_similarity", "median"), number_column("share_at_threshold", "share.value"),
        number_column("alpha", "alpha.value"), number_column("alpha_low", "alpha.low"),
        number_column("alpha_high", "alpha.high"),
        text("verdict", lambda result: describe_rating_verdict_of_language(result, results)),
        text("reason"),
        note=f"Ratings range from 0 to 5. A language is accepted at a mean of {threshold:g} or more. The total is the "
        "mean over languages, medians are over ratings, and alpha is Krippendorff's ordinal alpha.",
    )  # fmt: skip


def _make_rating_counts_table(results: Sequence[LanguageRatingResult]) -> ColumnTable:
    rows = [
        RatingClassCounts(result.lang, what, counts)
        for result in results
        for what, counts in (("ratings", result.rating_counts), ("pairs", result.pair_counts))
    ]
    return ColumnTable.of(
        "rating_distribution", "PTEB figure 6: ratings", rows, _LANG, text("of"),
        *(whole_number_column(str(rating), partial(_read_count_of_rating_class, place)) for place,
            rating in enumerate(CLASSES)),
        note="Ratings are rounded to the nearest whole number, halves up. A pair's rating is the mean of its ratings.",
    )  # fmt: skip


def _read_count_of_rating_class(place: int, row: RatingClassCounts) -> int:
    return row.counts[place]


def _make_raters_table(raters: Sequence[RaterVerdict]) -> ColumnTable:
    counts = ("ratings", "missing", "dummies_passed", "dummies_failed", "dummies_missing", "flagged")
    return ColumnTable.of(
        "raters", "Raters and reasons for rejection", raters, text("rater_id"),
        text("lang", lambda rater: "; ".join(rater.langs)), *map(whole_number_column, counts),
        whole_number_column("far", lambda rater: len(rater.far)), text("fate"), text("reason"),
    )  # fmt: skip


def _make_estimate_if_known(value: float | None, n: int, method: str) -> Estimate | None:
    return None if value is None else Estimate(value, n=n, method=method)


@dataclass(frozen=True)
class JudgeCorrectedLanguageRating:
    """The mean rating of all pairs of a language (all: ""), from people's ratings of some and a `judge`'s of all, and
    how far the judge lies above people by what it says."""

    lang: str
    judge: str
    mean: JudgeAssistedMean
    off: tuple[JudgeBias, ...]


def correct_means_by_judges(
    study: DrawnStudy, kept: Sequence[RaterRating], estimates: Sequence[RaterRating]
) -> Iterator[JudgeCorrectedLanguageRating]:
    """For each judge that has rated more pairs than people have, and each language, then all pairs together.

    People's pairs are those with a rating that counts; a pair is the mean of its ratings.
    """
    pairs = [item for item in study.items if not item.is_dummy]
    people: dict[str, list[float]] = {}
    for rating in kept:
        people.setdefault(rating.pair_id, []).append(rating.value)
    langs = list(dict.fromkeys(item.lang for item in pairs))
    for judge in dict.fromkeys(rating.rater_id for rating in estimates):
        values = {rating.pair_id: rating.value for rating in estimates if rating.rater_id == judge}
        for lang in [*langs, *([""] if len(langs) > 1 else [])]:
            ids = [item.pair_id for item in pairs if lang in ("", item.lang)]
            rated = [pair for pair in ids if pair in people]
            if not any(pair in values for pair in rated):
                continue
            mine = np.array([float(np.mean(people[pair])) for pair in rated])
            # Pairs that the judge gave no number are a stratum by itself, which people's ratings tell.
            theirs, every = (np.array([values.get(pair, np.nan) for pair in some]) for some in (rated, ids))
            mean = estimate_judge_assisted_mean("mean rating", mine, theirs, every, bounds=(0.0, 5.0))
            # Of all languages together the judge may be off by language: those are the strata.
            spoken = {item.pair_id: item.lang for item in pairs}
            both = ~np.isnan(theirs)
            strata = [spoken[pair] for pair, is_known in zip(rated, both, strict=True) if is_known]
            off = measure_judge_bias_by_score(mine[both], theirs[both], strata)
            yield JudgeCorrectedLanguageRating(lang, judge, mean, off)


@dataclass(frozen=True)
class ScoredRatingStudy:
    """A study with all its ratings: what was checked, the results per language and, last, of all, and warnings."""

    study: DrawnStudy
    ratings: tuple[RaterRating, ...]
    checked: CheckedRatings
    results: tuple[LanguageRatingResult, ...]
    warnings: tuple[str, ...]
    corrected: tuple[JudgeCorrectedLanguageRating, ...] = ()

    @property
    def accepted(self) -> tuple[str, ...]:
        """The languages that were accepted."""
        return tuple(result.lang for result in self.results if result.lang and result.accepted)


def score_rating_study(
    study: DrawnStudy, files: Sequence[Path] = (), *, estimates: Sequence[Path] = (), decisions: Path | None = None
) -> ScoredRatingStudy:
    """Apply the study's rules to the rating files, by default those in its folder, and to the folder's estimates and
    `estimates`. `decisions` is the inspector's file, by default the list in the folder where there is one.

    UsageError where nothing was rated, DataError with file and line for files that are not what they should be.
    """
    items = {item.pair_id: item for item in study.items}
    ratings = collect_ratings_from_files(files or study.list_rater_files(), items)
    if not ratings:
        raise UsageError(
            f"There are no ratings for the study in {study.path}.",
            mend="Put the raters' files into for-raters/, or pass them.",
        )
    said = collect_ratings_from_files([*list_model_rating_files(study), *estimates], items, estimates=True)
    listed = study.path / FILE
    file = decisions or (listed if listed.exists() else None)
    decided = read_inspector_decisions(file) if file else NO_DECISIONS
    check_inspected_pairs_and_raters_exist(decided, ratings, items)
    checked = apply_rating_checks(ratings, items, study.rules, estimates=said, decisions=decided)
    results = summarise_language_ratings(
        checked.kept, study.items, checked.raters, study.rules, per_pair=study.raters, seed=study.seed
    )
    warnings = [*_list_study_warnings(study, checked, said, items), *_describe_verdict_doubts(results, study)]
    corrected = tuple(correct_means_by_judges(study, checked.kept, said))
    return ScoredRatingStudy(study, tuple(ratings), checked, results, tuple(warnings), corrected)


def write_scored_rating_study(scored: ScoredRatingStudy, *, command: str = "") -> RunFolder:
    """Write what came of the study into its folder, as a run folder that `embassay report` reads, with the list to
    inspect (`inspect.csv`) and all ratings with the key (`ratings.csv`)."""
    study = scored.study
    folder = RunFolder(study.path)
    update_inspection_list(study.path / FILE, scored.checked.flags, {item.pair_id: item for item in study.items})
    found = [
        *make_rating_result_rows(scored.results, study.system, study.seed),
        *make_corrected_mean_rows(scored.corrected, study.system, study.seed),
    ]
    folder.write_results(found)
    write_tables(study.path, make_study_rating_tables(scored.results, scored.checked.raters, study.rules.threshold))
    if scored.corrected:
        write_tables(study.path, make_corrected_mean_tables(scored.corrected))
    write_rating_table(study.path / "ratings.csv", _list_all_ratings_with_their_texts(scored))
    folder.write_manifest(_make_rating_study_manifest(scored, command, folder))
    return folder


def _list_study_warnings(
    study: DrawnStudy, checked: CheckedRatings, estimates: Sequence[RaterRating], items: Mapping[str, PairToRate]
) -> list[str]:
    judges = dict.fromkeys(rating.rater_id for rating in estimates)
    told = []
    if not judges:
        told.append("No language model has rated the pairs, so no rater can be rejected for deviating ratings.")
    if study.system in judges:
        told.append(f"{study.system} rates its own paraphrases.")
    for judge in judges:
        blank = len(items) - sum(rating.rater_id == judge for rating in estimates)
        if blank:
            told.append(f"{judge} has no estimate for {blank} of {len(items)} pairs.")
    if checked.not_inspected:
        told.append(f"{len(checked.not_inspected)} flagged pairs have not been inspected yet; see {FILE}.")
    blank = sum(rater.missing for rater in checked.raters)
    if blank:
        told.append(f"Raters left {format_noun_count(blank, 'rating')} blank.")
    short = [
        lang for lang, facts in study.facts["languages"].items() if facts["pairs"] < study.facts["sample"]["pairs"]
    ]
    if short:
        told.append(f"Fewer pairs than requested were available in {', '.join(short)}.")
    return told


def _describe_verdict_doubts(results: Sequence[LanguageRatingResult], study: DrawnStudy) -> Iterator[str]:
    """What speaks against relying on a language's verdict."""
    for result in results:
        if not result.lang:
            continue
        if result.incomplete:
            few = f"{result.incomplete} of {result.pairs} pairs"
            yield f"{few} in {result.lang} have fewer than {study.raters} valid ratings."
        if result.mean is not None and result.mean.contains(study.rules.threshold):
            near = f"The threshold is within the interval of {result.lang}"
            yield f"{near}, so other pairs could reverse the verdict."
        if result.alpha is not None and result.alpha.ends[0] <= 0:
            yield f"The raters of {result.lang} may agree no better than chance (alpha {result.alpha.point:.2f})."


def _list_all_ratings_with_their_texts(scored: ScoredRatingStudy) -> list[dict[str, Any]]:
    """All ratings, those of dummies and of rejected raters too, in the shared format; `text` is the original."""
    items = {item.pair_id: item for item in scored.study.items}
    return [
        {
            **items[rating.pair_id].as_dict(),
            "rater_id": rating.rater_id,
            "rating": rating.value,
            "is_dummy": int(items[rating.pair_id].is_dummy),
            "ts": rating.ts,
        }
        for rating in scored.ratings
    ]


def _make_rating_study_manifest(scored: ScoredRatingStudy, command: str, folder: RunFolder) -> dict[str, Any]:
    study, checked = scored.study, scored.checked
    previous = folder.read_manifest() or {}
    with closing(RunSpendingJournal(folder.spending_path, format_current_utc_time("milliseconds"))) as spending:
        paid = summarise_run_spending(spending, None)
    return {
        "embassay": __version__,
        "protocol": "pteb",
        "name": study.path.name,
        "status": "finished" if not checked.not_inspected else "partial",
        "created": previous.get("created", study.facts["created"]),
        "updated": format_current_utc_time(),
        "command": command,
        "step": "validation",
        "arguments": {**study.facts["sample"], "rules": study.rules.as_dict(), "source": study.facts["source"]},
        "systems": [{"name": study.system, "kind": "llm", "identity": study.facts["identity"], "facts": {}}],
        "datasets": [],
        "hardware": collect_hardware_facts(),
        "versions": list_package_versions(),
        "cells": [],
        "study": study.facts,
        "rules": study.rules.list_rule_sentences(),
        "raters": [asdict(rater) for rater in checked.raters],
        "languages": [
            {"lang": result.lang, "pairs": result.pairs, "rated": result.rated, "incomplete": result.incomplete}
            for result in scored.results
        ],
        "not_inspected": list(checked.not_inspected),
        "warnings": list(scored.warnings),
        "spent": paid,
        "problems": {"failed_cells": 0},
    }
