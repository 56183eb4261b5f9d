"""Values with their intervals, as rows of results."""

from __future__ import annotations

import numpy as np

import embassay as eb
from embassay.protocols.kernel.estimates import Estimate
from embassay.protocols.tasks.task import find_headline_bounds
from embassay.runs.folder import RunFolder


def test_an_interval_stays_within_what_its_measure_can_be() -> None:
    """Student's t of few units knows no end of a scale; a value outside is
    within its interval all the same."""
    made = Estimate(0.5, 6, np.random.default_rng(1).normal(0.5, 0.3, 400), "bootstrap")
    free, share, signed = (
        made.score("m"),
        made.score("m", bounds=find_headline_bounds("map")),
        made.score("m", bounds=find_headline_bounds("spearman")),
    )
    assert free.ci_low is not None
    assert free.ci_low < 0
    assert (share.ci_low, share.ci_high) == (0.0, 1.0)
    assert (signed.ci_low, signed.ci_high) == (free.ci_low, 1.0)
    assert made.score("m", bounds=(0.6, 1.0)).ci_low == 0.5


def test_no_row_of_a_small_run_leaves_its_scale(tmp_path) -> None:
    """Six pairs, three of a kind: the rows of cells, datasets, tasks and of all tasks."""
    rows = [{"text": f"word{n} a", "text2": f"word{n} {'b' if n % 2 else 'c d'}", "label": n % 2} for n in range(6)]
    run = eb.pteb.run(
        ["jaccard"], original_only=True, datasets=[rows], tasks=("pair_classification",), tokenizer="words",
        out=tmp_path / "run", options=eb.pteb.PtebOptions(resamples=100),
    )  # fmt: skip
    rows_read = RunFolder(run.path).read_results()
    ends = [(row.ci_low, row.ci_high) for row in rows_read if row.ci_low is not None]
    assert ends
    assert all(low >= 0 and high <= 1 for low, high in ends), ends
