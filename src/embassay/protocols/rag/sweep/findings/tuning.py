"""Which fusion of two lists to use: tuned on some questions and judged on others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.sweep.findings.arrays import Floats, StackArrays
from embassay.protocols.rag.sweep.findings.record import USE, FusionTuning
from embassay.protocols.rag.sweep.stacks import StackConfiguration
from embassay.randomness import make_seeded_generator
from embassay.stats import Estimate, t_quantile
from embassay.stats.intervals import compute_normal_critical_value

FOLDS, ROUNDS = 5, 20
"""Parts that questions are split into, and how often, each time at random."""
LEAST = 30
"""Questions, of those that share a relevant document one, below which no fusion is recommended."""
Labels = NDArray[np.int64]


def iterate_cross_validated_fusion_choices(ground: StackArrays) -> Iterator[FusionTuning]:
    """Choose which of the stacks that differ in their fusion alone to use, by the deciding measure.

    The best of many has too high a value on the questions that chose it. So questions are split into `FOLDS` parts, and
    each part is scored by the fusion that does best on the others. Whether the best one is better than the usual one is
    tested with all that were tried at once (the largest of their bootstrap t statistics), as the values of
    cross-validation depend on one another: an interval over them would be too narrow.
    """
    columns = ground.columns(ground.rules.measure)
    for places in _group_stacks_differing_in_fusion(ground.configurations):
        yield _tune_fusion_family(ground, places, {name: column[:, places] for name, column in columns.items()})


def _group_stacks_differing_in_fusion(configurations: Sequence[StackConfiguration]) -> Iterator[list[int]]:
    """Places of the stacks that differ in their fusion alone, the usual one first."""
    families: dict[StackConfiguration, list[int]] = {}
    for place, configuration in enumerate(configurations):
        if configuration.mode == "hybrid":
            families.setdefault(replace(configuration, fusion=StackConfiguration.fusion), []).append(place)
    for usual, places in families.items():
        if len(places) > 1:
            yield sorted(places, key=lambda place, usual=usual: configurations[place] != usual)  # type: ignore[misc]


def _tune_fusion_family(ground: StackArrays, places: list[int], columns: Mapping[str, Floats]) -> FusionTuning:
    """Tune one family of fusions; `columns` are by dataset (queries, fusions)."""
    values = {name: _blank_partly_defined_rows(column) for name, column in columns.items()}
    folds = [_tune_fusion_on_dataset(ground, name, column) for name, column in values.items()]
    means = ground.values(values)
    chosen = int(np.argmax(np.nan_to_num(means, nan=-np.inf)))
    honest, best = float(np.mean([fold.honest for fold in folds])), float(means[chosen])
    independent = sum(fold.groups for fold in folds)
    gain = _estimate_gain_of_chosen_fusion(ground, values, chosen, independent)
    verdict = _phrase_fusion_tuning_verdict(independent, gain)
    fusions = tuple(ground.configurations[place].fusion for place in places)
    refused = [place for place in places[1:] if verdict != USE or place != places[chosen]]
    return FusionTuning(
        ground.ids[places[0]], tuple(ground.ids[place] for place in refused), fusions, fusions[chosen],
        None if np.isnan(best) else best, None if np.isnan(honest) else honest, gain,
        float(np.mean([fold.shares[chosen] for fold in folds])), independent, verdict
    )  # fmt: skip


def _blank_partly_defined_rows(column: Floats) -> Floats:
    """Blank by NaN all fusions of a question for which one has no value."""
    return np.where(np.isnan(column).any(axis=1, keepdims=True), np.nan, column)


def _estimate_gain_of_chosen_fusion(
    ground: StackArrays, values: Mapping[str, Floats], chosen: int, independent: int
) -> Estimate:
    """Estimate the chosen fusion's gain over the first, with an interval for all fusions at once."""
    n = sum(int((~np.isnan(column[:, 0])).sum()) for column in values.values())
    differences = {name: column[:, 1:] - column[:, :1] for name, column in values.items()}
    means, replicates = ground.values(differences), ground.replicates(differences)
    spread = np.nanstd(replicates, axis=0)
    if independent < 2 or not (spread > 0).any() or not chosen:
        gain = float(means[chosen - 1]) if chosen and n else 0.0
        return Estimate(gain, n=n, reason="the first fusion scores best" if n else "no question has a value")
    with np.errstate(invalid="ignore", divide="ignore"):
        largest = np.nanmax(np.abs(replicates - means) / spread, axis=1)
    # As far as Student's t is wider than a normal law with so few questions.
    wider = t_quantile(0.975, independent - 1) / compute_normal_critical_value(0.95)
    half = float(np.quantile(largest, 0.95)) * wider * float(spread[chosen - 1])
    gain = float(means[chosen - 1])
    return Estimate(gain, gain - half, gain + half, n, "bootstrap over queries, all fusions at once")


def _phrase_fusion_tuning_verdict(independent: int, gain: Estimate) -> str:
    if independent < LEAST:
        return "too few questions to tune on"
    return USE if gain.low is not None and gain.low > 0 else "not shown to be better"


@dataclass(frozen=True)
class CrossValidatedFusionMean:
    """The mean by the fusion that did best on other questions, how often each was picked, (fusions,), and how many
    questions are independent."""

    honest: float
    shares: Floats
    groups: int


def _tune_fusion_on_dataset(ground: StackArrays, name: str, values: Floats) -> CrossValidatedFusionMean:
    defined = ~np.isnan(values[:, 0])
    labels = ground.groups.get(name)
    groups = (np.arange(len(values)) if labels is None else np.asarray(labels))[defined]
    picked, shares = cross_validate_fusion_choice(
        values[defined], groups, make_seeded_generator(ground.seed, "sweep", "fusion", name)
    )
    return CrossValidatedFusionMean(float(picked.mean()) if len(picked) else np.nan, shares, len(np.unique(groups)))


def cross_validate_fusion_choice(values: Floats, groups: Labels, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Of values (q, fusions) those of the fusion with the best mean on the other folds' questions, (q,), the mean over
    rounds, and how often each was picked, (fusions,); the first of equals. Questions of one of the `groups` (q,) are in
    one fold."""
    names, group_of = np.unique(groups, return_inverse=True)
    picked, shares = np.zeros(len(values)), np.zeros(values.shape[1])
    folds = min(FOLDS, len(names))
    if folds < 2:
        return values[:, 0].copy(), shares
    for _ in range(ROUNDS):
        # A permutation modulo the folds makes them equally large, at random.
        fold_of = (rng.permutation(len(names)) % folds)[group_of.reshape(-1)]
        for fold in range(folds):
            is_held = fold_of == fold
            best = int(np.argmax(values[~is_held].mean(axis=0)))
            picked[is_held] += values[is_held, best] / ROUNDS
            shares[best] += 1 / (ROUNDS * folds)
    return picked, shares
