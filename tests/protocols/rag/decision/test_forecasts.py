"""Does what more labels would buy come true? Studies of made runs whose course is known to its end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from embassay.data.judged_runs import read_entries_in_memory
from embassay.protocols.rag.decision.course import (
    DecisionSettings,
    find_study_state_from_labels,
    list_comparisons_to_decide,
)
from embassay.protocols.rag.decision.population import ComparisonItemPopulation, Labels, make_comparison_items_of_runs
from embassay.protocols.rag.decision.protocol import make_decision_study_record

POOL = 14


def made_study(seed: int, runs: int, measure: str, bar: float | None = None) -> tuple[ComparisonItemPopulation, Labels]:
    """Queries of very unlike difficulty; runs that see the grades through noise of their own, some nearly alike."""
    rng = np.random.default_rng(seed)
    noise = rng.choice([0.8, 0.9, 1.5, 3.0], runs)
    found: dict[str, dict[str, dict[str, float]]] = {f"r{run}": {} for run in range(runs)}
    labels: dict[tuple[str, str], int] = {}
    for place in range(int(rng.choice([30, 60, 90]))):
        query = f"q{place}"
        relevant = rng.random(POOL) < rng.beta(0.5, 1.5)
        grades = np.where(relevant, rng.integers(4, 6, POOL), rng.integers(1, 4, POOL))
        labels.update({(query, f"d{doc}"): int(grade) for doc, grade in enumerate(grades)})
        for run in range(runs):
            scores = grades + noise[run] * rng.standard_normal(POOL)
            found[f"r{run}"][query] = {f"d{doc}": float(score) for doc, score in enumerate(scores)}
    entries = {name: read_entries_in_memory(run, "run", name) for name, run in found.items()}
    return make_comparison_items_of_runs(entries, measure, bar), labels


def foretell(
    population: ComparisonItemPopulation, labels: Labels, seed: int, looks: int = 6
) -> Iterator[tuple[float, bool]]:
    """Each chance that is given on the way, and whether the study was over after so many labels more."""
    terms = DecisionSettings(0.05, seed, 10)
    whole = find_study_state_from_labels(population, labels, terms)
    for n in np.linspace(20, max(len(whole.asked), 21), looks).round().astype(int).tolist():
        known = {key: labels[key] for key in whole.asked[:n]}
        decision = make_decision_study_record(find_study_state_from_labels(population, known, terms), terms)
        if not decision.is_open:
            return
        yield from ((step.chance, whole.used <= decision.used + step.more) for step in decision.ahead)


def told_and_true(studies: int, measure: str, start: int = 0) -> tuple[int, float, float]:
    """Of chances from 60 to 95%: how many, their mean, and the share that came true."""
    told = []
    for seed in range(start, start + studies):
        runs = (2, 3, 5)[seed % 3]
        told += list(foretell(*made_study(seed, runs, measure), seed))
    middle = [(chance, true) for chance, true in told if 0.6 <= chance < 0.95]
    chances, came = np.mean(middle, axis=0)
    return len(middle), float(chances), float(came)


def test_every_verdict_that_lacks_counts() -> None:
    """Of three runs where one is beaten, the study waits for the other two alone; for a bar it waits for all of them.
    The chance of a decision is not that of the easiest comparison."""
    population, _ = made_study(4, 3, "Precision4+@5")
    start = find_study_state_from_labels(population, {}, DecisionSettings(0.05, 1, 10)).decided
    assert list_comparisons_to_decide(population, start, [0.1, 0.2, 0.1]) == [
        0,
        1,
    ]  # the first leads: against both others
    assert list_comparisons_to_decide(population, start, [-0.1, -0.2, -0.1]) == [1, 2]  # the third leads
    barred, _ = made_study(4, 3, "Precision4+@5", bar=0.3)
    begun = find_study_state_from_labels(barred, {}, DecisionSettings(0.05, 1, 10)).decided
    assert list_comparisons_to_decide(barred, begun, [0.0, 0.0, 0.0]) == [0, 1, 2]


def test_all_labels_end_a_study() -> None:
    """With the last label a study is over, for sure, also where no run is better."""
    last = []
    for seed in range(12):
        population, labels = made_study(seed, 2, "Precision4+@5")
        terms = DecisionSettings(0.05, seed, 10)
        whole = find_study_state_from_labels(population, labels, terms)
        known = {key: labels[key] for key in whole.asked[: len(whole.asked) - 5]}
        decision = make_decision_study_record(find_study_state_from_labels(population, known, terms), terms)
        last += [step for step in decision.ahead if decision.used + step.more == decision.needed]
    assert last
    assert {step.chance for step in last} == {1.0}


@pytest.mark.nightly
@pytest.mark.parametrize("measure", ["Precision4+@5", "nDCG@5"])
def test_a_forecast_comes_true_as_often_as_it_says(measure: str) -> None:
    """Of two, three and five runs together; the easiest comparison's chance (what was shown once) came true in half."""
    told, chance, came = told_and_true(300, measure)
    assert told >= 100
    assert came >= chance - 0.1, (told, chance, came)
