"""A run of which fewer passages are graded is not declared worse by a comparison either."""

from __future__ import annotations

from pathlib import Path

import embassay as eb
from embassay.protocols.compare import compare_systems, fields, read_values
from embassay.protocols.compare_claims import contrast_claim, field_claims
from embassay.protocols.kernel.tables import SCORE
from embassay.report.terminal import contrast_verdict


def test_a_run_that_is_judged_less_is_not_worse_in_a_comparison(tmp_path: Path) -> None:
    """The second run's odd passages were never graded: p is small, and no rank, verdict or claim goes by it."""
    judged = {f"q{i}": {f"q{i}-{j}": 1 + (i + j) % 5 for j in range(10)} for i in range(30)}
    old = {query: list(grades) for query, grades in judged.items()}
    new = {query: [f"new{j}" if j % 2 else f"{query}-{j}" for j in range(10)] for query in judged}
    runs = {"old": old, "new": new}
    eb.rag.score(judged, runs, measures=["nDCG@10", "Harm@10"], resamples=300, out=tmp_path / "scored")
    run = read_values(tmp_path / "scored")
    found = compare_systems(run, "new", "old", measures=["nDCG@10"])
    [one] = found.contrasts
    assert one.p_adjusted < 0.05
    assert one.judged_less == "new"
    assert contrast_claim(one).relation == "higher"
    said = contrast_verdict(one, SCORE, found.among)
    assert said.startswith("old scores higher than new")
    assert "missing labels" in said
    field = next(iter(fields(run, measures=["nDCG@10"])))
    assert [(entrant.rank_low, entrant.rank_high) for entrant in field.entrants] == [(1, 2), (1, 2)]
    assert {claim.subject for claim in field_claims(field)} == {"old", "new"}
    # And a run that is judged alike is worse: the same documents, in the worst order or nearly so.
    poor = {query: sorted(grades, key=lambda key: grades[key]) for query, grades in judged.items()}
    poor |= {f"q{i}": [*poor[f"q{i}"][3:], *poor[f"q{i}"][:3]] for i in range(10)}
    good = {query: sorted(grades, key=lambda key: -grades[key]) for query, grades in judged.items()}
    eb.rag.score(
        judged, {"good": good, "poor": poor}, measures=["nDCG@10"], resamples=300, out=tmp_path / "fair"
    )
    fair = compare_systems(read_values(tmp_path / "fair"), "good", "poor")
    assert contrast_claim(fair.contrasts[0]).relation == "beats"
