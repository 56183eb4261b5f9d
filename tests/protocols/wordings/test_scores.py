"""Means over runs, sources, datasets and tasks, and the bootstrap of two levels."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.protocols.kernel.estimates import bootstrap_interval
from embassay.protocols.wordings.scores import (
    ParaphraseSourceRunScores,
    WordingSourceInRun,
    average_runs_and_sources,
    average_system_scores_and_drops,
)
from embassay.stats.intervals import degrees_of_freedom_of_strata


def runs(scores, originals, *, label="", noise=None, n=50):
    """Runs with these scores; `noise` (resamples,) moves all replicates alike."""
    scores, originals = np.array(scores, dtype=float), np.array(originals, dtype=float)
    moved = np.zeros((len(scores), 0)) if noise is None else np.tile(noise, (len(scores), 1))
    source = WordingSourceInRun(label, {"d": tuple(range(len(scores)))})
    draws = (scores[:, None] + moved, originals[:, None] + moved)
    return ParaphraseSourceRunScores(
        source, scores, originals, *(of[:, : moved.shape[1]] for of in draws), n, "per item"
    )


def level(*sources, system="a", seed=1):
    return average_runs_and_sources("d", system, sources, seed=seed, resamples=400)


def test_score_drop_and_standard_deviation():
    """The mean over runs, the mean difference to the originals kept in each, the spread with n - 1."""
    found = level(runs([0.6, 0.7, 0.8], [0.9, 0.9, 0.8]))
    assert found.score.value == pytest.approx(0.7)
    assert found.delta.value == pytest.approx(np.mean([-0.3, -0.2, 0.0]))
    assert found.sd == pytest.approx(np.std([0.6, 0.7, 0.8], ddof=1))


def test_one_run_has_no_spread_and_draws_items_alone():
    """Its replicates are those of the items."""
    noise = np.random.default_rng(0).normal(size=400)
    found = level(runs([0.6], [0.9], noise=noise))
    assert found.sd is None
    np.testing.assert_allclose(found.score.replicates, 0.6 + noise)
    np.testing.assert_allclose(found.delta.replicates, -0.3)
    assert found.score.method.startswith("one run; per item")


def test_items_that_cannot_be_drawn_leave_the_runs():
    """A single clustering set: the interval is over runs, and says so; with one run there is none."""
    found = level(runs([0.6, 0.7, 0.8], [0.9] * 3))
    assert found.score.replicates.std() > 0
    assert "items held fixed" in found.score.method
    alone = level(runs([0.6], [0.9]))
    assert bootstrap_interval(alone.score.replicates) == (None, None)
    assert "nothing to resample" in alone.score.method


def test_all_systems_draw_the_same_runs():
    """Two systems that are equal in every run are equal in every replicate; another seed draws others."""
    a, b = (level(runs([0.6, 0.7, 0.9], [0.9] * 3), system=name) for name in "ab")
    np.testing.assert_array_equal(a.score.replicates, b.score.replicates)
    other = level(runs([0.6, 0.7, 0.9], [0.9] * 3), seed=2)
    assert (a.score.replicates != other.score.replicates).any()


def test_a_replicate_is_undefined_only_by_a_run_that_it_draws():
    """NaN of one run does not spread to the resamples without it."""
    noise = np.zeros(400)
    one = runs([0.6, 0.7], [0.9, 0.9], noise=noise)
    one.score_draws[0, :] = np.nan
    found = level(one).score.replicates
    assert np.isnan(found).any()
    np.testing.assert_allclose(found[np.isfinite(found)], 0.7)


def test_sources_count_alike_whatever_their_runs():
    """The mean over sources of their means; the spread is that within a source."""
    found = level(runs([0.5, 0.7], [0.9] * 2, label="by=x"), runs([0.2, 0.2, 0.2, 0.2], [0.9] * 4, label="by=y"))
    assert found.score.value == pytest.approx(np.mean([0.6, 0.2]))
    assert found.sd == pytest.approx(np.sqrt(np.mean([0.02, 0.0])))
    assert "2 to 4 runs of each of 2 sources" in found.score.method


def test_over_datasets_the_runs_are_paired_by_number():
    """The spread is that of the mean over datasets, over the runs that all have."""
    first = level(runs([0.6, 0.8], [0.9] * 2))
    second = level(runs([0.4, 0.2, 0.9], [0.5] * 3))
    found = average_system_scores_and_drops([("one", first), ("two", second)], "a", noun="dataset")
    assert found.score.value == pytest.approx(np.mean([0.7, 0.5]))
    np.testing.assert_allclose(found.runs[0], [0.5, 0.5])
    assert found.sd == pytest.approx(0)


def test_nothing_missing_is_averaged_away():
    """One run without a score, but there is none for the dataset, nor over datasets; the reason goes along."""
    broken = ParaphraseSourceRunScores(
        WordingSourceInRun("", {}), reason="paraphrase:seed=1338: 6% without usable wording"
    )
    assert level(broken).score.reason.endswith("usable wording")
    found = average_system_scores_and_drops(
        [("one", level(runs([0.5], [0.5]))), ("two", level(broken))], "a", noun="dataset"
    )
    assert not found.has_score
    assert found.score.reason == "two: paraphrase:seed=1338: 6% without usable wording"


SIMULATED = {"six runs": (200, 6, 0.3, 0.5), "three runs": (200, 3, 0.3, 0.5), "few items": (60, 6, 0.3, 0.5)}


def covered(case, worlds):
    """Shares of simulations of which the 95% interval holds the score, and the drop, of all items and wordings."""
    n, many, sd_drop, sd_wording = SIMULATED[case]
    rng, hits = np.random.default_rng(7), np.zeros(2)
    for seed in range(worlds):
        items, drops = rng.normal(size=n), rng.normal(0, sd_drop, n)
        worded = items + drops + rng.normal(0, sd_wording, (many, n))
        counts = np.stack([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(300)]) / n
        source = WordingSourceInRun("", {"d": tuple(range(many))})
        originals = np.tile(items, (many, 1))
        made = ParaphraseSourceRunScores(
            source, worded.mean(1), originals.mean(1), worded @ counts.T, originals @ counts.T, n
        )
        found = average_runs_and_sources("d", "a", [made], seed=seed, resamples=300)
        for place, part in enumerate((found.score, found.delta)):
            low, high = bootstrap_interval(part.replicates)
            hits[place] += low <= 0 <= high
    return hits / worlds


@pytest.mark.nightly
@pytest.mark.parametrize("case", SIMULATED)
def test_coverage(case):
    """93% at least."""
    score, drop = covered(case, 400)
    assert 0.93 <= score <= 0.98
    assert drop >= 0.93


def test_coverage_of_a_few():
    """What `test_coverage` has more of."""
    assert min(covered("three runs", 60)) >= 0.85


def test_items_and_runs_are_what_was_resampled():
    """Two strata: a hundred items do not lend their degrees of freedom to three runs that differ."""
    noise = np.random.default_rng(0).normal(0, 1e-4, size=400)
    found = level(runs([0.6, 0.7, 0.8], [0.9] * 3, noise=noise, n=100)).score
    assert [one.units for one in found.list_separately_resampled_strata] == [100, 3]
    assert degrees_of_freedom_of_strata(found.list_separately_resampled_strata).df == pytest.approx(2, rel=0.01)
    several = level(
        runs([0.6, 0.7], [0.9] * 2, label="by=x", noise=noise), runs([0.5, 0.6], [0.9] * 2, label="by=y", noise=noise)
    ).score
    assert [one.units for one in several.list_separately_resampled_strata] == [50, 2, 2]
    over_both = average_system_scores_and_drops(
        [("one", level(runs([0.6], [0.6], noise=noise))), ("two", level(runs([0.6], [0.6])))], "a", noun="d"
    )
    assert [one.units for one in over_both.score.list_separately_resampled_strata] == [50]
