"""Do people find transformed texts adequate and fluent? Pairs are drawn, rated and summed up (spec hteb 11).

FOLDER/study.json          what was drawn from where
FOLDER/key.jsonl           which text is the transformed one, and which pairs are dummies: not for raters
FOLDER/for-raters/         instructions.md, and a file for every transformation and rater
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from embassay.data.rows import SourceRow, make_missing_column_error, unescape_spreadsheet_formula
from embassay.errors import DataError, UsageError
from embassay.limits import parse_bounded_json, read_bounded_file
from embassay.measures import gwet_ac2, spearman
from embassay.measures.agreement import percent_agreement
from embassay.protocols.hteb.options import TRANSFORMATIONS
from embassay.protocols.kernel.tables import ColumnTable, number_column, text, whole_number_column, write_tables
from embassay.protocols.wordings.pairs import (
    CandidateWording,
    PairSampleSize,
    PairToRate,
    group_candidate_wordings_by_language,
    make_rating_sheet,
    open_rating_table,
    read_stripped_cell,
    sample_language_pairs_with_dummies,
    write_rating_table,
)
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.tables import iterate_columns_of_sequence_values
from embassay.randomness import make_seeded_generator
from embassay.runs.folder import format_value_as_json, slugify_name, write_file_atomically, write_json
from embassay.stats import percentile_interval, resample_means, wilson
from embassay.stats.resampling import count_draws_of_each_row, iterate_resample_row_blocks

SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
GOOD = 3.0
"""The rating from which on a text is good enough."""
TOLERANCE = 1.0
"""How far a dummy may be rated from what is expected."""
RESAMPLES = 1_000
_WHOLE = re.compile(r"[1-5]([.,]0+)?")
FORMAT = "embassay-hteb-validation"
RATERS = "for-raters"
ADEQUACY, FLUENCY = "adequacy", ("fluency", "fluency2")
COLUMNS = ("pair_id", "text", "text2", "rater_id", ADEQUACY, *FLUENCY)
CRITERIA = ("adequacy", "fluency")

INSTRUCTIONS = """\
# Do two texts say the same thing, and are they well written?

Each row has two texts. A program made one of them from the other; you are not told which. The new text may be
paraphrased, longer, shorter, or in another language. Give whole numbers from 1 to 5.

`adequacy` (of both texts together):

- 5: everything the shorter text says is in the longer one, and nothing contradicts it.
- 3: the main point is the same, but something important is missing, added or different.
- 1: they say different things.

`fluency` (of `text`) and `fluency2` (of `text2`):

- 5: as a good writer of that language would write it.
- 3: clear, with mistakes.
- 1: hardly understandable.

How to rate:

- More or fewer details are not a fault if the main meaning is the same.
- Leave a row blank if you do not read both languages well.
- Rate the rows in the order of your file, without a translator and without asking others.
- Some pairs are nearly identical and some are unrelated. That is intended.
"""


def draw_rating_study(
    of: ParaphraseSet, target: Path, size: PairSampleSize, *, transformations: Sequence[str] = (),
    datasets: Sequence[str] = (),
    langs: Sequence[str] = ()
) -> tuple[PairToRate, ...]:  # fmt: skip
    """Draw pairs of every transformation of a set, with dummies among them, and write the raters' files.

    UsageError where `target` holds anything, and for a transformation, dataset or language that the set does not have.
    """
    if target.exists() and any(target.iterdir()):
        raise UsageError(
            f"{target} is not empty, and studies are never overwritten.", mend="Choose another --out folder."
        )
    chosen = [kind for kind in TRANSFORMATIONS if kind in of.sources and kind in (transformations or of.sources)]
    if missing := [transformation for transformation in transformations if transformation not in chosen]:
        raise UsageError(f"{of.path} has no transformation {missing[0]!r}.", mend=f"It has {', '.join(of.sources)}.")
    if not chosen:
        raise UsageError(f"{of.path} has no transformation.", mend="Give the folder of `embassay hteb run`.")
    items = tuple(
        item
        for name in chosen
        for item in sample_language_pairs_with_dummies(_list_candidate_wordings(of, name, datasets, langs), name, size)
    )
    for name in chosen:
        of_lang = [item for item in items if item.lang == name]
        for place in range(1, size.raters + 1):
            rater = f"{name}-rater{place}"
            rows = make_rating_sheet(of_lang, rater, size.seed)
            write_rating_table(target / RATERS / f"{slugify_name(rater)}.csv", rows, columns=COLUMNS)
    write_file_atomically(target / RATERS / "instructions.md", INSTRUCTIONS)
    write_file_atomically(target / "key.jsonl", "".join(f"{format_value_as_json(item.as_dict())}\n" for item in items))
    facts = {"format": FORMAT, "texts": str(of.path), "seed": size.seed, "pairs": size.pairs, "raters": size.raters}
    # Last, so that a folder with it is whole.
    write_json(target / "study.json", facts)
    return items


def _list_candidate_wordings(
    of: ParaphraseSet, name: str, datasets: Sequence[str], langs: Sequence[str]
) -> list[CandidateWording]:
    offered = group_candidate_wordings_by_language(of, name, datasets=datasets)
    if unknown := [lang for lang in langs if lang not in offered]:
        raise UsageError(f"{name} has no text in {unknown[0]!r}.", mend=f"There are {', '.join(sorted(offered))}.")
    pool = [candidate for lang in langs or sorted(offered) for candidate in offered[lang]]
    if len({candidate.paraphrase.text for candidate in pool}) < 2:
        raise UsageError(f"{name} has fewer than two texts.", mend="Use more data.")
    return pool


@dataclass(frozen=True)
class AdequacyAndFluencyRating:
    """What one rater said of a pair: adequacy, and fluency of the transformed text; NaN where a cell is blank."""

    pair_id: str
    rater_id: str
    adequacy: float
    fluency: float


@dataclass(frozen=True)
class CriterionRatingResult:
    """One criterion of one transformation over the raters who passed. `mean` and the AC2 have intervals over pairs;
    `share` is of pairs at 3 or more, by Wilson. None where there is nothing to say."""

    transformation: str
    criterion: str
    pairs: int
    ratings: int
    raters: int
    rejected: int
    mean: float | None
    mean_ends: tuple[float | None, float | None]
    median: float | None
    share: float | None
    share_ends: tuple[float | None, float | None]
    linear: float | None
    quadratic: float | None
    quadratic_ends: tuple[float | None, float | None]
    equal: float | None


class SimilarityAdequacyCorrelation(NamedTuple):
    """Spearman's correlation, over `pairs`, of a system's similarity and people's adequacy; `transformation` is empty
    for all."""

    system: str
    transformation: str
    rho: float | None
    pairs: int


@dataclass(frozen=True)
class ValidationStudyResult:
    """What came of a study; `rejected` are raters with the dummies that they rated wrong."""

    outcomes: tuple[CriterionRatingResult, ...]
    rejected: Mapping[str, tuple[str, ...]]
    drift: tuple[SimilarityAdequacyCorrelation, ...] = ()


def read_study(path: Path) -> tuple[dict[str, Any], tuple[PairToRate, ...]]:
    """The facts and the key of a study. DataError where there is none."""
    try:
        facts = parse_bounded_json(read_bounded_file(path / "study.json"))
        if facts["format"] != FORMAT:
            raise ValueError(f"format {facts['format']}")
        lines = read_bounded_file(path / "key.jsonl").decode("utf-8").splitlines()
        rows = [{k: v for k, v in parse_bounded_json(line).items() if k != "is_dummy"} for line in lines]
        return facts, tuple(PairToRate(**row) for row in rows)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            "there is no study here", path=path, found=str(error)[:80],
            mend="Give the folder that `embassay hteb validate sample` wrote."
        ) from error  # fmt: skip


def score_rating_study(path: Path, files: Sequence[Path] = (), systems: Sequence[str] = ()) -> ValidationStudyResult:
    """Sum up the ratings of a study, by default those in its raters' files, and write its tables. Each of `systems` is
    asked how similar it finds the rated pairs: a strong correlation with adequacy would say that a drop comes from bad
    texts. DataError, with file and line, for a rating that is off the scale or of no pair of the study."""
    facts, items = read_study(path)
    key = {item.pair_id: item for item in items}
    given = files or sorted(path.joinpath(RATERS).glob("*.csv"))
    ratings = [rating for file in given for rating in _iterate_criteria_ratings(file, key)]
    rejected = _find_rejected_raters(ratings, key)
    kept = [row for row in ratings if row.rater_id not in rejected and not key[row.pair_id].is_dummy]
    outcomes = tuple(
        _summarise_criterion_ratings(name, criterion, kept, ratings, rejected, key, int(facts["seed"]))
        for name in dict.fromkeys(item.lang for item in items)
        for criterion in CRITERIA
    )
    scored = ValidationStudyResult(outcomes, rejected, tuple(_correlate_similarity_with_adequacy(systems, kept, items)))
    write_tables(path, list(make_validation_tables(scored)))
    return scored


def _iterate_criteria_ratings(file: Path, key: Mapping[str, PairToRate]) -> Iterator[AdequacyAndFluencyRating]:
    source = open_rating_table(file)
    for column in COLUMNS:
        if column not in source.columns():
            raise make_missing_column_error(source, column)
    seen: set[tuple[str, str]] = set()
    for row in source.rows(COLUMNS):
        pair, rater = (
            unescape_spreadsheet_formula(read_stripped_cell(row, "pair_id")),
            unescape_spreadsheet_formula(read_stripped_cell(row, "rater_id")),
        )
        if not pair and not rater:
            continue
        if pair not in key:
            raise DataError("the study has no such pair", path=row.path, line=row.line, found=repr(pair),
                            mend="Give the files that you sent to the raters.")  # fmt: skip
        if (pair, rater) in seen:
            raise DataError(f"{rater} has already rated the pair {pair}", path=row.path, line=row.line)
        seen.add((pair, rater))
        values = [_parse_rating_cell(row, column) for column in (ADEQUACY, *FLUENCY)]
        turned = unescape_spreadsheet_formula(str(row.cells.get("text") or "")) != key[pair].text
        yield AdequacyAndFluencyRating(pair, rater, values[0], values[1] if turned else values[2])


def _parse_rating_cell(row: SourceRow, column: str) -> float:
    text = read_stripped_cell(row, column)
    if not text:
        return float("nan")
    if not _WHOLE.fullmatch(text):
        raise DataError(
            f"the {column} is not on the scale", path=row.path, line=row.line, expected="a whole number from 1 to 5",
            found=repr(text), mend="Ask the rater, or leave the cell blank to count it as unrated."
        )  # fmt: skip
    return float(text[0])


def _find_rejected_raters(
    ratings: Sequence[AdequacyAndFluencyRating], key: Mapping[str, PairToRate]
) -> dict[str, tuple[str, ...]]:
    """Raters who rated a dummy more than 1 away from what is expected: 5 for a nearly identical pair, 1 for another."""
    out: dict[str, tuple[str, ...]] = {}
    for rating in ratings:
        item = key[rating.pair_id]
        if item.expected is not None and abs(rating.adequacy - max(item.expected, SCALE[0])) > TOLERANCE:
            out[rating.rater_id] = (*out.get(rating.rater_id, ()), rating.pair_id)
    return out


def _summarise_criterion_ratings(
    name: str, criterion: str, kept: Sequence[AdequacyAndFluencyRating], given: Sequence[AdequacyAndFluencyRating],
    rejected: Mapping[str, object], key: Mapping[str, PairToRate], seed: int
) -> CriterionRatingResult:  # fmt: skip
    table = _make_rating_matrix([rating for rating in kept if key[rating.pair_id].lang == name], criterion)
    raters = {rating.rater_id for rating in given if key[rating.pair_id].lang == name}
    out = len(raters & set(rejected))
    values = table[~np.isnan(table)]
    if not len(values):
        none = (None, None)
        return CriterionRatingResult(
            name, criterion, 0, 0, len(raters), out, None, none, None, None, none, None, None, none, None
        )
    means = np.nanmean(table[:, ~np.isnan(table).all(axis=0)], axis=0)
    draws = resample_means(
        means[:, None], n_resamples=RESAMPLES, rng=_make_random_generator(seed, name, criterion, "mean")
    )
    high = wilson(int((means >= GOOD).sum()) / len(means), len(means))
    linear, quadratic = (
        _nan_to_none(gwet_ac2(_convert_table_to_lists(table), way, scale=SCALE)) for way in ("linear", "quadratic")
    )
    return CriterionRatingResult(
        name, criterion, len(means), len(values), len(raters), out, float(means.mean()),
        _compute_percentile_interval(draws[:, 0]) if len(means) > 1 else (None, None), median(values.tolist()),
        high.point, high.ends, linear, quadratic, _bootstrap_ac2(table, seed, name, criterion),
        _nan_to_none(percent_agreement(_convert_table_to_lists(table))) if len(table) > 1 else None
    )  # fmt: skip


def _make_rating_matrix(ratings: Sequence[AdequacyAndFluencyRating], criterion: str) -> NDArray[np.float64]:
    """A row per rater and a column per pair, NaN where missing."""
    rows = {rater: i for i, rater in enumerate(dict.fromkeys(rating.rater_id for rating in ratings))}
    columns = {pair: i for i, pair in enumerate(dict.fromkeys(rating.pair_id for rating in ratings))}
    table = np.full((len(rows), len(columns)), np.nan)
    for rating in ratings:
        table[rows[rating.rater_id], columns[rating.pair_id]] = getattr(rating, criterion)
    return table


def _convert_table_to_lists(table: NDArray[np.float64]) -> list[list[float | None]]:
    return [[None if value != value else value for value in row] for row in table.tolist()]


def _bootstrap_ac2(table: NDArray[np.float64], seed: int, *names: str) -> tuple[float | None, float | None]:
    """The 95% percentile bootstrap over pairs."""
    n = table.shape[1]
    if n < 2 or len(table) < 2:
        return None, None
    rng = _make_random_generator(seed, *names, "ac2")
    draws = np.concatenate(
        [
            np.asarray(gwet_ac2(_convert_table_to_lists(table), scale=SCALE, counts=count_draws_of_each_row(rows)))
            for rows in iterate_resample_row_blocks(n, RESAMPLES, rng, most=RESAMPLES)
        ]
    )
    defined = draws[np.isfinite(draws)]
    # Resamples without a value are left out, unless they are one in twenty or more.
    return _compute_percentile_interval(defined) if len(defined) > 0.95 * RESAMPLES else (None, None)


def _compute_percentile_interval(draws: NDArray[np.float64]) -> tuple[float | None, float | None]:
    """The percentile interval of the draws; (None, None) where they do not vary."""
    low, high = percentile_interval(draws)
    return (None, None) if np.isnan(low) else (low, high)


def _make_random_generator(seed: int, *names: str) -> np.random.Generator:
    return make_seeded_generator(seed, "hteb validation", *names)


def _nan_to_none(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _correlate_similarity_with_adequacy(
    systems: Sequence[str], kept: Sequence[AdequacyAndFluencyRating], items: Sequence[PairToRate]
) -> Iterator[SimilarityAdequacyCorrelation]:
    """How a system's similarity of original and transformed text goes with people's adequacy, on pairs rated."""
    from embassay.systems import open_system
    from embassay.text import open_tokenizer

    rated: dict[str, list[float]] = {}
    for rating in kept:
        if rating.adequacy == rating.adequacy:
            rated.setdefault(rating.pair_id, []).append(rating.adequacy)
    for spec in systems:
        # The order of similarities alone counts, so each model is asked as it was made to be.
        system = open_system(spec, tokenizer=open_tokenizer("words"), compared="own")
        own = [item for item in items if item.pair_id in rated]
        similar = np.asarray(system.pairs([item.text for item in own], [item.text2 for item in own]), dtype=np.float64)
        adequate = np.array([np.mean(rated[item.pair_id]) for item in own])
        for name in ("", *dict.fromkeys(item.lang for item in own)):
            chosen = np.array([name in ("", item.lang) for item in own])
            both = chosen & np.isfinite(similar)
            rho = float(spearman(similar[both], adequate[both])) if both.sum() > 2 else float("nan")
            yield SimilarityAdequacyCorrelation(system.name, name, _nan_to_none(rho), int(both.sum()))


def make_validation_tables(scored: ValidationStudyResult) -> Iterator[ColumnTable]:
    """Ratings by transformation and criterion, and the drift check where systems were asked."""
    yield ColumnTable.of(
        "hteb_ratings", "HTEB: people's ratings of the texts", scored.outcomes, text("transformation"),
        text("criterion"), whole_number_column("pairs"), whole_number_column("ratings"),
        text("rejected", lambda outcome: f"{outcome.rejected} of {outcome.raters}"), number_column("mean"),
        *iterate_columns_of_sequence_values(("mean_low", "mean_high"), attrgetter("mean_ends")),
        number_column("median", decimals=1),
        number_column("share_3_or_more", "share"),
        *iterate_columns_of_sequence_values(("share_low", "share_high"), attrgetter("share_ends")),
        number_column("ac2_quadratic", "quadratic"),
        *iterate_columns_of_sequence_values(("ac2_low", "ac2_high"), attrgetter("quadratic_ends")),
        number_column("ac2_linear", "linear"),
        number_column("equal"),
        note="Ratings from 1 to 5. AC2: Gwet's AC2 with quadratic and linear weights. `equal`: share of "
        "equal ratings.",
    )  # fmt: skip
    if scored.drift:
        yield ColumnTable.of(
            "hteb_drift", "HTEB: does a drop come from bad texts?", scored.drift, text("system"),
            text("transformation", lambda drift: drift.transformation or "all"), number_column("rho"),
            whole_number_column("pairs"),
            note="Spearman correlation of similarity and adequacy. A strong correlation would suggest that "
                "drops come from bad texts.",
        )  # fmt: skip
