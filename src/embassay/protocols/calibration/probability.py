"""A calibration: what a similarity of one system means on pairs like its own, and how thresholds carry over."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError, UsageError
from embassay.limits import parse_json_written_by_embassay, read_bounded_file
from embassay.parquet import read_parquet
from embassay.protocols.calibration.options import ThresholdPromises
from embassay.protocols.calibration.shift import (
    FEATURES,
    NewPairDifferences,
    PairShiftWatch,
    Reference,
    compare_pair_features,
    measure_pair_features,
    sample_pair_features_each_sorted,
)
from embassay.protocols.tasks.task import measure_pair_similarity
from embassay.randomness import make_seeded_generator
from embassay.runs.folder import RunFolder, build_versioned_dataclass, format_value_as_json, write_file_atomically
from embassay.stats import Estimate
from embassay.stats.calibration import (
    GRID,
    AcceptanceThreshold,
    CalibrationCurveChoice,
    CheapestThreshold,
    Kind,
    ThresholdChanceWithMoreLabels,
    choose_calibration_curve,
    compute_clopper_pearson,
    compute_mean_band_half_width,
    compute_mean_probability_of_top_pairs,
    compute_probability_band,
    count_fewest_pairs_to_accept,
    count_labels_for_chance,
    find_cheapest_threshold,
    find_threshold_for_precision,
    find_threshold_for_recall,
    fit_probability_calibration,
    make_recall_threshold_chance_function,
    withhold_unlikely_threshold,
)
from embassay.stats.few_labels import MoreLabelsOutlook
from embassay.stats.resampling import draw_all_resample_rows
from embassay.systems import open_system
from embassay.text import open_tokenizer

FORMAT, VERSION = "embassay-calibration", 1
MORE = (50, 100, 200, 400)
"""How many more labels are asked about."""
FEWEST = 10
"""Pairs of each label below which nothing is fitted."""
CORPUS = "reference"
"""Two texts are compared by themselves, so that a similarity doesn't depend on which others are asked for."""

Values = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SamenessProbability(Estimate):
    """How likely two texts mean the same: a share from 0 to 1 and the ends of its 95% interval."""

    def __str__(self) -> str:
        return "{:.3f} ({:.3f}-{:.3f})".format(self.point, *self.ends)


@dataclass(frozen=True)
class SamenessProbabilityCurve:
    """Through `n` labelled pairs, of which `positives` are the same: probabilities and the ends of their 95% intervals
    at `GRID` scores, with straight lines between, and the thresholds that keep a promise.

    `scores`, `probabilities`, `low` and `high` are of one length; beyond the ends the last value holds, a guess. Pairs
    that share a text are one of the `units` that bounds count.
    """

    kind: Kind
    n: int
    positives: int
    units: int
    scores: tuple[float, ...]
    probabilities: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    thresholds: tuple[AcceptanceThreshold, ...]
    cost: CheapestThreshold | None = None

    def at(self, scores: Values) -> Values:
        """The probabilities that the curve gives at scores (n,)."""
        return np.interp(scores, self.scores, self.probabilities)

    def threshold(self, measure: str) -> AcceptanceThreshold:
        """Find the threshold of a promise, `precision` or `recall`; UsageError for another."""
        for threshold in self.thresholds:
            if threshold.measure == measure:
                return threshold
        raise UsageError(f"There is no guarantee for {measure!r}.", mend="Use precision or recall.")


@dataclass(frozen=True)
class Calibration:
    """The curve of one system on one dataset. `spec` opens the system, `identity` is that of the one that was
    calibrated; graded pairs are the same from the grade `same_from` on."""

    system: str
    spec: str
    identity: str
    dataset: str
    fingerprint: str
    tokenizer: str
    seed: int
    same_from: float | None
    curve: SamenessProbabilityCurve
    reference: Reference = field(default_factory=dict)
    """Numbers of the labelled pairs, by which new ones are compared with them; empty in files of before."""

    @overload
    def probability(self, first: str, second: str) -> SamenessProbability: ...  # type: ignore[overload-overlap]
    @overload
    def probability(self, first: Sequence[str], second: Sequence[str]) -> list[SamenessProbability]: ...
    def probability(self, first: Any, second: Any) -> Any:
        """Estimate how likely `first` and `second` mean the same: two texts, or each pair of lists.

        ModelError when the system cannot be opened, DataError when it is not the one that was calibrated, or when a
        text cannot be encoded.
        """
        chances = self._interpolate_probabilities(self._measure_similarities_and_warn(first, second))
        return chances[0] if isinstance(first, str) else chances

    def of(self, similarities: Sequence[float] | Values) -> list[SamenessProbability]:
        """How likely pairs of these similarities (n,) mean the same. DataError for one that is no number."""
        try:
            at = np.asarray(similarities, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError):
            # What makes no array of numbers ends in the same error as a NaN within one.
            at = np.array([np.nan])
        if np.isnan(at).any():
            raise DataError("A similarity is not a number", found=f"{similarities!r:.80}", mend="Leave it out.")
        self._warn_of_unlike_pairs(measure_pair_features(at, (), ()))
        return self._interpolate_probabilities(at)

    def compare(self, first: Sequence[str], second: Sequence[str]) -> NewPairDifferences:
        """How these pairs (n,) differ from the labelled ones. UsageError where the file has no numbers of them."""
        return self.compare_pairs_and_return_similarities(first, second)[0]

    def compare_pairs_and_return_similarities(
        self, first: Sequence[str], second: Sequence[str]
    ) -> tuple[NewPairDifferences, Values]:
        """Compare pairs with the labelled ones, and return their similarities (n,) as well."""
        self._require_reference_pair_features()
        similar = self.similarity(first, second)
        return compare_pair_features(self.reference, measure_pair_features(similar, first, second)), similar

    def _require_reference_pair_features(self) -> None:
        if not self.reference:
            raise UsageError(
                "The file has no description of its labelled pairs.",
                mend="Run `embassay calibrate` again to write one.",
            )

    def _measure_similarities_and_warn(self, first: Any, second: Any) -> Values:
        """Similarities of pairs, which are compared with the labelled ones."""
        similar = self.similarity(first, second)
        self._warn_of_unlike_pairs(
            measure_pair_features(similar, _convert_texts_to_list(first), _convert_texts_to_list(second))
        )
        return similar

    def _warn_of_unlike_pairs(self, numbers: Mapping[str, Values]) -> None:
        if text := self._make_shift_watch_of_reference_pairs.describe_pair_shift_if_detected(numbers):
            warnings.warn(f"{self.system} on {self.dataset}: {text}", RuntimeWarning, stacklevel=4)

    @cached_property
    def _make_shift_watch_of_reference_pairs(self) -> PairShiftWatch:
        return PairShiftWatch(self.reference)

    def _interpolate_probabilities(self, at: Values) -> list[SamenessProbability]:
        curve = self.curve
        lines = (np.interp(at, curve.scores, line) for line in (curve.probabilities, curve.low, curve.high))
        return [SamenessProbability(float(p), float(low), float(high)) for p, low, high in zip(*lines, strict=True)]

    def similarity(self, first: str | Sequence[str], second: str | Sequence[str]) -> Values:
        """The similarities that the system gives the pairs (n,); of two texts, of one pair."""
        if isinstance(first, str) != isinstance(second, str):
            raise UsageError("One argument is a text, the other a list.", mend="Give two texts, or two lists of texts.")
        first, second = _convert_texts_to_list(first), _convert_texts_to_list(second)
        if len(first) != len(second):
            raise UsageError(
                f"There are {len(first)} first and {len(second)} second texts.",
                mend="Give two lists of the same length.",
            )
        for place, pair in enumerate(zip(first, second, strict=True), 1):
            if not all(isinstance(text, str) and text.strip() for text in pair):
                raise DataError(
                    "A text is empty or not a string", found=f"pair {place}: {pair!r:.80}",
                    mend="Leave it out: the calibration had no such pair."
                )  # fmt: skip
        similar = measure_pair_similarity(self._open_calibrated_system, first, second)
        if np.isnan(similar).any():
            place = int(np.argmax(np.isnan(similar)))
            raise DataError(
                "A text could not be encoded", found=f"pair {place + 1}", mend="Leave it out, or make it shorter."
            )
        return similar

    def threshold(self, measure: str = "precision") -> float:
        """Accept what is this similar or more, for the promise of a measure: `precision` or `recall`. UsageError where
        no threshold keeps it."""
        value = self.curve.threshold(measure).value
        if value is None:
            raise UsageError(
                f"No threshold guarantees this {measure}.", mend=f"Label more pairs, or require less {measure}."
            )
        return value

    @overload
    def accepts_as_same(self, first: str, second: str, measure: str = "precision") -> bool: ...  # type: ignore[overload-overlap]
    @overload
    def accepts_as_same(
        self, first: Sequence[str], second: Sequence[str], measure: str = "precision"
    ) -> list[bool]: ...
    def accepts_as_same(self, first: Any, second: Any, measure: str = "precision") -> Any:
        """Whether two texts, or each pair of two lists, are accepted at the threshold of a promise."""
        bar = self.threshold(measure)
        accepted = [bool(score >= bar) for score in self._measure_similarities_and_warn(first, second)]
        return accepted[0] if isinstance(first, str) else accepted

    @cached_property
    def _open_calibrated_system(self) -> Any:
        if not self.spec:
            raise UsageError(
                f"{self.system} is a run, so it cannot score texts here; only its scores are calibrated.",
                mend="Use of(scores), or compare a score with threshold().",
            )
        tokenizer = open_tokenizer(self.tokenizer, later=True)
        system = open_system(self.spec, tokenizer=tokenizer, seed=self.seed, pair_corpus=CORPUS)
        if system.identity != self.identity:
            raise DataError(
                f"{self.system} is no longer the system that was calibrated",
                expected=self.identity, found=system.identity, mend="Run `embassay calibrate` again."
            )  # fmt: skip
        return system

    def save(self, path: Path) -> None:
        """Save the calibration as JSON, in one step."""
        write_file_atomically(path, self._format_calibration_as_json(indent=1) + "\n")

    def _format_calibration_as_json(self, indent: int | None = None) -> str:
        return format_value_as_json({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=indent)


def _convert_texts_to_list(texts: Any) -> list[str]:
    """Give one text or several as a list; UsageError for what is neither."""
    try:
        return [texts] if isinstance(texts, str) else list(texts)
    except TypeError:
        raise UsageError(
            f"{texts!r:.80} is not a list of texts.", mend="Give two texts, or two lists of texts."
        ) from None


def calibration(path: str | Path) -> Calibration:
    """Load what `embassay calibrate` saved: a file, or the folder of a run that has one. DataError for any other."""
    file = Path(path)
    if not file.exists():
        raise DataError("There is no such file", path=file, mend="Give a file that `embassay calibrate` wrote.")
    if file.is_dir():
        files = sorted((file / "calibrations").glob("*.json"))
        if len(files) != 1:
            raise DataError(
                "There are several calibrations here" if files else "There is no calibration here", path=file,
                found=", ".join(name.name for name in files) or "none",
                mend="Give one of the files in the run's folder calibrations/."
            )  # fmt: skip
        file = files[0]
    try:
        return _parse_calibration(parse_json_written_by_embassay(read_bounded_file(file)))
    except (OSError, ValueError) as error:
        raise DataError(
            "This is not a calibration",
            path=file, expected=f"{FORMAT} {VERSION}", found=str(error) or "something else",
            mend="Give a file that `embassay calibrate` wrote."
        ) from None  # fmt: skip


def _parse_calibration(plain: Any) -> Calibration:
    """A calibration from its JSON; ValueError for a field that is missing, unknown, of another type, or of a value that
    no calibration has: a file may have been edited."""
    made = build_versioned_dataclass(Calibration, plain, FORMAT, VERSION)
    if unknown := _find_unknown_field(plain, json.loads(made._format_calibration_as_json())):
        raise ValueError(f"an unknown field {unknown!r}")
    _check_curve(made.curve)
    _parse_labelled_pair_features(made.reference)
    if made.seed < 0:
        raise ValueError(f"the seed is {made.seed}")
    return made


def _find_unknown_field(given: Any, known: Any) -> str:
    """Find the first field that a record does not have; empty where it has all."""
    if isinstance(given, list) and isinstance(known, list):
        return next(filter(None, map(_find_unknown_field, given, known)), "")
    if not isinstance(given, dict) or not isinstance(known, dict):
        return ""
    extra = next((name for name in given if name not in known), "")
    return extra or next(filter(None, (_find_unknown_field(value, known[name]) for name, value in given.items())), "")


def _check_curve(curve: SamenessProbabilityCurve) -> None:
    """ValueError for a curve that nothing fits: counts that don't add up, and lines that fall or leave their range."""
    _check_curve_lines(*map(np.array, (curve.scores, curve.probabilities, curve.low, curve.high)))
    if not 0 <= curve.positives <= curve.n or not 0 < curve.units <= curve.n:
        raise ValueError(f"{curve.positives} positives and {curve.units} units of {curve.n} pairs")
    measures = [threshold.measure for threshold in curve.thresholds]
    if len(set(measures)) < len(measures):
        raise ValueError("two thresholds for one measure")
    for threshold in curve.thresholds:
        if not 0 < threshold.confidence < 1 or not 0 <= threshold.aim <= 1:
            raise ValueError(f"a guarantee of {threshold.aim:g} with {threshold.confidence:g} confidence")
        if not 0 <= threshold.right <= threshold.accepted <= threshold.n:
            raise ValueError(f"{threshold.right} right of {threshold.accepted} accepted of {threshold.n} pairs")


def _parse_labelled_pair_features(plain: Mapping[str, Any]) -> Reference:
    """The numbers of the labelled pairs; ValueError for what no calibration has."""
    reference = {name: tuple(map(float, values)) for name, values in plain.items()}
    sizes = {len(values) for values in reference.values()}
    if reference and (len(sizes) != 1 or 0 in sizes or not reference.keys() <= FEATURES.keys()):
        raise ValueError("inconsistent numbers for the labelled pairs")
    if not all(np.isfinite(values).all() for values in reference.values()):
        raise ValueError("numbers that are not finite for the labelled pairs")
    return reference


def _check_curve_lines(scores: Values, probabilities: Values, low: Values, high: Values) -> None:
    """ValueError for lines that no calibration has: a file may have been edited."""
    if not 0 < len(scores) == len(probabilities) == len(low) == len(high):
        raise ValueError("lines of different lengths")
    if not (np.isfinite(scores).all() and (np.diff(scores) >= 0).all()):
        raise ValueError("scores that are not in ascending order")
    if not ((low >= 0) & (low <= probabilities) & (probabilities <= high) & (high <= 1)).all():
        raise ValueError("a probability outside its interval, or outside 0 to 1")


def explain_too_few_labels(
    same: NDArray[np.bool_],
    yes: tuple[str, str] = ("pair is the same", "pairs are the same"),
    no: tuple[str, str] = ("is not", "are not"),
) -> str:
    """Why nothing can be fitted; empty where it can. `yes` and `no` say what the two kinds are, of one and of more."""
    counts = int(same.sum()), int((~same).sum())
    if min(counts) >= FEWEST:
        return ""
    counted = (f"{count:,} {forms[count != 1]}" for count, forms in zip(counts, (yes, no), strict=True))
    return f"{' and '.join(counted)}: at least {FEWEST} of each are needed"


def fit_calibration_curve(
    scores: Values,
    same: NDArray[np.bool_],
    groups: NDArray[np.int64] | None,
    promises: ThresholdPromises,
    rng: np.random.Generator,
) -> tuple[SamenessProbabilityCurve, CalibrationCurveChoice]:
    """The curve of scores (n,) and labels (n,), and its thresholds. Pairs of one group (n,) go together: bounds count
    one pair of each, drawn by chance."""
    chosen = choose_calibration_curve(scores, same, groups, rng)
    grid = np.linspace(scores.min(), scores.max(), GRID)
    rows = slice(None) if groups is None else _draw_pair_per_group(groups, rng)
    x, y = scores[rows], same[rows]
    through = fit_probability_calibration(chosen.kind, scores, same)
    probabilities = through(grid)
    low, high = compute_probability_band(grid, x, y)
    # Curve and band are fitted apart, the band to one pair of each group, and may cross.
    lines = (grid, probabilities, np.minimum(low, probabilities), np.maximum(high, probabilities))
    precision = find_threshold_for_precision(x, y, promises.precision, promises.confidence, rng)
    recall = find_threshold_for_recall(x, y, promises.recall, promises.confidence)
    # A step of a few right pairs would ask for too few labels.
    smooth = (through if chosen.kind == "beta" else fit_probability_calibration("beta", scores, same))(x)
    precision = withhold_unlikely_threshold(precision, x, smooth, rng)
    if precision.value is None or recall.value is None:
        precision, recall = _add_forecasts_to_missing_thresholds(precision, recall, (x, y, smooth), rng)
    thresholds = (precision, recall)
    cost = None
    if promises.wrong is not None and promises.missed is not None:
        cost = find_cheapest_threshold(x, y, promises.wrong, promises.missed, promises.confidence, rng)
    x_points, middle, bottom, top = (tuple(round(float(value), 9) for value in line) for line in lines)
    n, positives = len(same), int(same.sum())
    return SamenessProbabilityCurve(
        chosen.kind, n, positives, len(x), x_points, middle, bottom, top, thresholds, cost
    ), chosen


def _add_forecasts_to_missing_thresholds(
    precision: AcceptanceThreshold,
    recall: AcceptanceThreshold,
    of: tuple[Values, NDArray[np.bool_], Values],
    rng: np.random.Generator,
) -> tuple[AcceptanceThreshold, AcceptanceThreshold]:
    """Those that cannot be promised, with what more labels would buy. `of` are scores, labels and smooth probabilities
    (n,)."""
    x, y, smooth = of
    n = len(x)
    halves: list[float] = []

    def attach_more_labels_outlook(
        threshold: AcceptanceThreshold, chance: Callable[[int], float]
    ) -> AcceptanceThreshold:
        more = count_labels_for_chance(chance)
        # Once for both promises: the interval of a probability is the same for either.
        halves.extend(compute_mean_band_half_width(x, smooth, n + step, rng) for step in MORE[len(halves) :])
        rows = tuple(MoreLabelsOutlook(step, half, chance(step)) for step, half in zip(MORE, halves, strict=True))
        return replace(threshold, labels=None if more is None else n + more, ahead=rows)

    if precision.value is None:
        top = y[np.argsort(-x, kind="stable")][: count_fewest_pairs_to_accept(n, precision.aim, precision.confidence)]
        most = compute_clopper_pearson(int(top.sum()), len(top), precision.confidence)[1]
        precision = replace(
            precision,
            best=compute_mean_probability_of_top_pairs(smooth, precision.aim, precision.confidence),
            most=most,
        )
        if (precision.best or 0.0) > precision.aim:
            chance = ThresholdChanceWithMoreLabels(x, y, smooth, precision.aim, precision.confidence)
            precision = attach_more_labels_outlook(precision, chance)
    if recall.value is None and y.any():
        recall = attach_more_labels_outlook(
            recall, make_recall_threshold_chance_function(int(y.sum()), n, recall.aim, recall.confidence)
        )
    return precision, recall


def sample_reference_features(
    similar: Values,
    texts: tuple[Sequence[str], Sequence[str]],
    groups: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> Reference:
    """What a file keeps of pairs (n,) with these similarities: numbers of one pair of each group."""
    rows = np.arange(len(similar)) if groups is None else _draw_pair_per_group(groups, rng)
    first, second = ([column[row] for row in rows] if column else [] for column in texts)
    return sample_pair_features_each_sorted(measure_pair_features(similar[rows], first, second), rng)


def _draw_pair_per_group(groups: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    # `unique` takes the first of each group, so the order decides; sorted after, the pairs stand as in the data.
    order = rng.permutation(len(groups))
    _, first = np.unique(groups[order], return_index=True)
    return np.sort(order[first])


DRAWS = 1_000


@dataclass(frozen=True)
class SystemPairScores:
    """The pairs of a cell that was fitted, in the order of the data: ids, similarities (n,), whether they are the same
    (n,). Pairs that the system lost are not there."""

    ids: list[str]
    similar: Values
    same: NDArray[np.bool_]


def read_pair_scores_from_cell(path: Path) -> SystemPairScores | None:
    """Read a system's pair scores from a cell's items; None of a cell that was not fitted."""
    if not path.exists():
        return None
    frame = read_parquet(path, ["item_id", "measure", "value"])
    of = {name: frame.filter(frame["measure"] == name) for name in ("similarity", "same", "probability")}
    if of["probability"].is_empty():
        return None
    encoded = of["similarity"]["value"].is_not_null()
    similar, same = (of[name].filter(encoded) for name in ("similarity", "same"))
    ids: list[str] = similar["item_id"].to_list()
    return SystemPairScores(ids, similar["value"].to_numpy().astype(np.float64), same["value"].to_numpy() == 1)


@dataclass(frozen=True, kw_only=True)
class ThresholdTranslation(Estimate):
    """A threshold of `origin`, `given`, in the scale of `target`: `value` accepts as many of the same pairs. With the
    95% interval over pairs like them, the share accepted, the share on which both rules agree, and the precision of
    each (None where nothing is accepted). `elsewhere` is what the other datasets of the run give, and `off` by what
    share of this one's pairs that accepts more or fewer: the error of a translation without data of one's own; None in
    a run of one dataset."""

    dataset: str
    origin: str
    target: str
    given: float
    accepted: float
    agree: float
    precision: tuple[float | None, float | None]
    elsewhere: float | None = None
    off: float | None = None


def translate_thresholds(
    run: Path, origin: str, given: float, targets: Sequence[str] = ()
) -> list[ThresholdTranslation]:
    """A threshold of one system of a calibration run in the scales of others, by default of all, on every dataset.

    Pairs that one of the two lost don't count. UsageError for a name that the run has not, DataError for a folder that
    is no calibration's.
    """
    folder = RunFolder(run)
    record = folder.read_manifest()
    if record is None or record.get("protocol") != "calibration":
        raise DataError("There is no calibration here", path=run, mend="Give the --out folder of `embassay calibrate`.")
    names = {system["name"]: system["kind"] for system in record["systems"]}
    for name in (origin, *targets):
        if name not in names:
            raise UsageError(f"The run has no system {name!r}.", mend=f"It has {', '.join(names)}.")
    others = targets or [name for name, kind in names.items() if kind != "reference" and name != origin]
    translated = []
    for other in others:
        cells = {}
        for dataset, task in ((row["name"], next(iter(row["tasks"]))) for row in record["datasets"]):
            a, b = (
                read_pair_scores_from_cell(folder.locate_cell_items(task, dataset, name)) for name in (origin, other)
            )
            if a is not None and b is not None:
                cells[dataset] = (a, b)
        for dataset, (a, b) in cells.items():
            rng = make_seeded_generator(record["arguments"]["seed"], "translation", dataset)
            translation = translate_threshold(dataset, (origin, a), (other, b), given, rng)
            translated.append(
                _add_translation_from_other_datasets(
                    translation,
                    [_select_common_scores(*cells[name]) for name in cells if name != dataset],
                    _select_common_scores(a, b),
                )
            )
    return translated


def _add_translation_from_other_datasets(
    translation: ThresholdTranslation, others: Sequence[tuple[Values, Values]], own: tuple[Values, Values]
) -> ThresholdTranslation:
    """With what other datasets give, where there are some on which the given threshold tells pairs apart."""
    if not others:
        return translation
    a, b = (np.concatenate([pair[side] for pair in others]) for side in (0, 1))
    share = float((a >= translation.given).mean())
    if not 0 < share < 1:
        return translation
    value = _find_score_at_share(b, share)
    return replace(
        translation, elsewhere=value, off=float((own[1] >= value).mean() - (own[0] >= translation.given).mean())
    )


def _select_common_scores(first: SystemPairScores, second: SystemPairScores) -> tuple[Values, Values]:
    """Select the scores of the pairs that both systems have."""
    rows, others = _match_common_rows(first, second)
    return first.similar[rows], second.similar[others]


def _match_common_rows(first: SystemPairScores, second: SystemPairScores) -> tuple[list[int], list[int]]:
    places = {key: place for place, key in enumerate(second.ids)}
    rows = [place for place, key in enumerate(first.ids) if key in places]
    return rows, [places[first.ids[place]] for place in rows]


def translate_threshold(
    dataset: str,
    origin: tuple[str, SystemPairScores],
    target: tuple[str, SystemPairScores],
    given: float,
    rng: np.random.Generator,
) -> ThresholdTranslation:
    """Equipercentile linking: it needs no labels, which only say how well both do. UsageError where `given` accepts all
    or none of the pairs, which says nothing of where it lies."""
    (name, origins), (other, targets) = origin, target
    rows, others = _match_common_rows(origins, targets)
    a, same = origins.similar[rows], origins.same[rows]
    b, same_b = targets.similar[others], targets.same[others]
    share = float((a >= given).mean()) if rows else 0.0
    if not 0 < share < 1:
        raise UsageError(
            f"{name} at {given:g} accepts {'all' if share else 'none'} of the {len(rows)} pairs of {dataset}.",
            mend=f"Give a threshold between {a.min():.3f} and {a.max():.3f}." if rows else "Calibrate on other pairs.",
        )
    drawn = draw_all_resample_rows(len(a), DRAWS, rng)
    shares = (a[drawn] >= given).mean(axis=1)
    low, high = np.quantile(
        [_find_score_at_share(b[draw], part) for draw, part in zip(drawn, shares, strict=True)], [0.025, 0.975]
    )
    value = _find_score_at_share(b, share)
    return ThresholdTranslation(
        value, float(low), float(high), len(a), dataset=dataset, origin=name, target=other, given=given, accepted=share,
        agree=float(((a >= given) == (b >= value)).mean()),
        precision=(_compute_precision(same, a >= given), _compute_precision(same_b, b >= value))
    )  # fmt: skip


def _find_score_at_share(scores: Values, share: float) -> float:
    """Find the score that a share of all reaches."""
    # A score that a pair has: between two of them the share would be the same, and the choice ours.
    return float(np.quantile(scores, 1 - share, method="higher")) if share else float(scores.max())


def _compute_precision(same: NDArray[np.bool_], accepted: NDArray[np.bool_]) -> float | None:
    return float(same[accepted].mean()) if accepted.any() else None
