"""Do intervals of scorings hold the truth, and tests err as often as they say? On whole populations, of which questions
are drawn by their paragraphs."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from embassay.protocols.rag.scoring.quantities import ResampledQuantity, compute_quantity_interval
from embassay.stats import clear_lead, freedom_of_units, percentile_interval, resample_means, t_test
from embassay.stats.intervals import count_items_to_decide, t_quantile
from embassay.stats.ranks import correct_p_values_by_holm, run_test_of_system_pair
from embassay.stats.resampling import count_effective_groups
from protocols.rag.scoring.populations import Population, made, of_xquad

RESAMPLES = 400


def _held(population: Population, n: int, draws: int) -> dict[str, float]:
    """Shares of so many draws of `n` questions: in which our interval holds the mean of the population and in which the
    percentiles over questions do, where there is no interval, and in which two equal systems are told apart."""
    held, plain, none, alarms = 0, 0, 0, 0
    truth = population.values[0].mean()
    for draw in range(draws):
        rng = np.random.default_rng([n, draw])
        rows, groups = population.draw(n, rng)
        values, units = population.values[0, rows], count_effective_groups(groups)
        resampled = resample_means(values, n_resamples=RESAMPLES, rng=rng, groups=groups)[:, 0]
        quantity = ResampledQuantity(float(values.mean()), resampled, n, units, int(groups.max()) + 1, (0.0, 1.0))
        ends = compute_quantity_interval(quantity)
        none += ends is None
        held += ends is not None and ends[0] <= truth <= ends[1]
        low, high = percentile_interval(resample_means(values, n_resamples=RESAMPLES, rng=rng)[:, 0])
        plain += low <= truth <= high
        # Which of two is which is drawn by paragraph: in truth they are equal.
        sign = rng.choice([-1.0, 1.0], int(groups.max()) + 1)[groups]
        apart = (population.values[0, rows] - population.values[1, rows]) * sign
        replicates = resample_means(apart, n_resamples=RESAMPLES, rng=rng, groups=groups)[:, 0]
        free = freedom_of_units(units)
        alarms += run_test_of_system_pair(0, 1, float(apart.mean()), replicates, free, scale=1.0).p < 0.05
    given = max(1, draws - none)
    return {"held": held / given, "plain": plain / draws, "none": none / draws, "alarms": alarms / draws}


def test_groups_hold_what_questions_drawn_alone_do_not() -> None:
    """120 draws of 100 questions from a made population: by groups about 95%, by questions far fewer."""
    found = _held(made(), 100, 120)
    assert 0.88 <= found["held"] <= 1.0
    assert found["plain"] < 0.85
    assert found["none"] == 0
    assert found["alarms"] <= 0.11


@pytest.mark.nightly
@pytest.mark.shared
@pytest.mark.parametrize(("n", "least"), [(10, 0.93), (25, 0.91), (50, 0.91), (100, 0.91), (300, 0.91)])
def test_on_questions_of_real_paragraphs(shared: Path, n: int, least: float) -> None:
    """XQuAD in Hindi, 500 draws: 91% at least of the intervals given hold (docs/how_sure.md has what was measured), and
    tests of equal systems err in at most 7.5%, where percentiles over questions held in as few as half."""
    found = _held(of_xquad(shared / "retrieval" / "xquad_hi"), n, 500)
    assert found["held"] >= least, found
    assert found["alarms"] <= 0.075, found


def _come_true(population: Population, n: int, draws: int) -> tuple[int, int]:
    """Of draws in which two systems cannot be told apart and a forecast is given: how many, and in how many so many
    questions more tell the two of them apart."""
    given, true = 0, 0
    for draw in range(draws):
        rng = np.random.default_rng([7, n, draw])
        a, b = rng.choice(len(population.values), 2, replace=False)
        rows, groups = population.draw(n, rng)
        apart = population.values[a, rows] - population.values[b, rows]
        error, df = _error(apart, groups)
        if error == 0 or t_test(float(apart.mean()), error, 1.0, df)[1] < 0.05:
            continue
        more = count_items_to_decide(error, n, abs(float(apart.mean())), df=df)
        if more is None or not 0 < more <= 2000:
            continue
        rows_after, groups_after = population.draw(int(np.ceil(more)), rng)
        every = np.concatenate([apart, population.values[a, rows_after] - population.values[b, rows_after]])
        error, df = _error(every, np.concatenate([groups, groups_after + groups.max() + 1]))
        given += 1
        true += abs(float(every.mean())) > t_quantile(0.975, df) * error
    return given, true


def _error(values: np.ndarray, groups: np.ndarray) -> tuple[float, float]:
    """The standard error of a mean over groups, by its sums, and its degrees of freedom."""
    sums = np.bincount(groups, values - values.mean())
    units = count_effective_groups(groups)
    return float(np.sqrt((sums**2).sum() * units / (units - 1))) / len(values), units - 1.0


@pytest.mark.nightly
@pytest.mark.shared
def test_a_forecast_comes_true_about_as_often_as_it_says(shared: Path) -> None:
    """Of two systems on XQuAD's questions; the leader's lead as it is came true in 48%."""
    population = of_xquad(shared / "retrieval" / "xquad_hi")
    found = np.sum([_come_true(population, n, 4000) for n in (40, 80, 150)], axis=0)
    assert found[0] >= 30
    assert found[1] / found[0] >= 0.65, found


def _words(population: Population, n: int, draws: int) -> dict[str, tuple[int, int]]:
    """Of so many studies of `n` questions by two to all systems: how many say sure, likely from 80 of 100, and likely
    as it was without a clear lead; and in how many of each the leader is not the best of the population."""
    found = {"sure": [0, 0], "likely": [0, 0], "ahead in 80": [0, 0]}
    systems = len(population.values)
    for draw in range(draws):
        rng = np.random.default_rng([9, n, draw])
        chosen = rng.choice(systems, int(rng.integers(2, systems + 1)), replace=False)
        rows, groups = population.draw(n, rng)
        values, truth = population.values[chosen][:, rows], population.values[chosen].mean(axis=1)
        means = values.mean(axis=1)
        order = np.argsort(-means)
        replicates = resample_means(values[order].T, n_resamples=RESAMPLES, rng=rng, groups=groups).T
        free = freedom_of_units(count_effective_groups(groups))
        gaps = [(a, b, float(means[order[a]] - means[order[b]])) for a, b in combinations(range(len(order)), 2)]
        tests = [
            run_test_of_system_pair(a, b, gap, replicates[a] - replicates[b], free, scale=1.0) for a, b, gap in gaps
        ]
        adjusted = correct_p_values_by_holm([test.p for test in tests], [gap != 0 for _, _, gap in gaps])
        alone = all(p < 0.05 for p, (a, _, _) in zip(adjusted, gaps, strict=True) if a == 0)
        plainly = float((replicates[0] > replicates[1:].max(axis=0)).mean())
        wrong = truth[order[0]] < truth.max() - 1e-12
        said = ["sure"] if alone else []
        said += ["likely"] if not alone and clear_lead(replicates, free) >= 0.8 else []
        said += ["ahead in 80"] if not alone and plainly >= 0.8 else []
        for word in said:
            found[word][0] += 1
            found[word][1] += bool(wrong)
    return {word: (given, wrong) for word, (given, wrong) in found.items()}


def test_a_wrong_leader_is_rarely_called_likely() -> None:
    """A leader is picked because it is ahead. Of three systems that are nearly equal in truth a wrong one is called
    likely in under half as many of 300 studies as without a clear lead, and sure in under 5%."""
    found = _words(made(paragraphs=60, seed=3), 60, 300)
    (likely, missed), (plain, missed_plainly) = found["likely"], found["ahead in 80"]
    assert 0 < likely < plain
    assert missed < missed_plainly / 2
    assert found["sure"][1] <= 15


@pytest.mark.nightly
@pytest.mark.shared
def test_sure_and_likely_are_as_often_wrong_as_the_docs_say(shared: Path) -> None:
    """On XQuAD's questions, 600 studies of each size: sure in at most 5%, likely in at most 20%."""
    population = of_xquad(shared / "retrieval" / "xquad_hi")
    every = [_words(population, n, 600) for n in (50, 100, 200)]
    for word, most in (("sure", 0.05), ("likely", 0.2)):
        given, wrong = np.sum([found[word] for found in every], axis=0)
        assert given >= 30
        assert wrong / given <= most, (word, given, wrong)
