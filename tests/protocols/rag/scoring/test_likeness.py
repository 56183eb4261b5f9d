"""Overlap and Kendall's tau by columns are those of the measures on lists."""

from __future__ import annotations

import numpy as np
import pytest

import embassay as eb
from embassay import measures
from stub.ranked import qrels, run


def test_likeness_is_that_of_the_measures() -> None:
    """Means over queries of `overlap` and `list_tau`, short lists and missing queries included."""
    judged = qrels(25)
    a, b = run(judged, 1), run(judged, 2, depth=7)
    b = {query: scores for query, scores in b.items() if query != "q3"}
    found = eb.rag.score(judged, {"a": a, "b": b}, measures=["Harm"], cutoffs=[5, 10], resamples=300)
    lists = {query: a[query] for query in judged}, {query: b.get(query, {}) for query in judged}
    for one in found.record.likeness:
        overlap = measures.overlap(*lists, one.cutoff)
        tau = measures.list_tau(*lists, one.cutoff)
        assert one.overlap == pytest.approx(np.mean(overlap), abs=1e-12)
        assert one.tau == pytest.approx(np.nanmean(tau), abs=1e-12)
        assert (one.n, one.tau_n) == (25, int((~np.isnan(tau)).sum()))
        assert one.overlap_low < one.overlap < one.overlap_high
    assert [one.cutoff for one in found.record.likeness] == [5, 10]


def test_nothing_in_common_has_no_tau() -> None:
    """Overlap 0 is a value; an order of nothing is none."""
    found = eb.rag.score({"q": {"a": 5}}, {"x": {"q": ["a"]}, "y": {"q": ["b"]}}, measures=["Harm@2"], resamples=50)
    [one] = found.record.likeness
    assert (one.overlap, one.tau, one.tau_n) == (0.0, None, 0)
