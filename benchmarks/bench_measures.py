"""Measures of rankings against pytrec-eval, and the bootstrap against scipy's best single call.

Runs are synthetic: 10,000 queries with 100 retrieved documents each, 10 of them judged 0 to 3. Both sides
start from the same mappings; the rows from arrays start from the gains in rank order, which pytrec-eval
cannot take.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import pytrec_eval
import scipy.stats
from numpy.typing import NDArray
from timing import Comparison, compare, seconds, show

from embassay.measures import MEASURES, RankingMeasure, evaluate, judge_arrays, ndcg, ndcg_arrays
from embassay.randomness import make_seeded_generator
from embassay.stats import resample_means

RETRIEVED, JUDGED, DOCUMENTS = 100, 10, 50_000
OURS = ["nDCG@10", "AP", "R@100"]
THEIRS = {"ndcg_cut.10", "map", "recall.100"}
SYSTEMS, ITEMS = 20, 1000

Qrels = dict[str, dict[str, int]]
Runs = dict[str, dict[str, float]]


def collection(queries: int, *, levels: int | None) -> tuple[Qrels, Runs]:
    """Random judgements and runs; scores from `levels` values, or all different."""
    rng = np.random.default_rng(0)
    qrels: Qrels = {}
    runs: Runs = {}
    for query in range(queries):
        ids = [f"d{i}" for i in rng.choice(DOCUMENTS, RETRIEVED, replace=False)]
        scores = rng.random(RETRIEVED) if levels is None else rng.integers(0, levels, RETRIEVED) / levels
        runs[f"q{query}"] = dict(zip(ids, scores.tolist(), strict=True))
        gains = rng.integers(0, 4, JUDGED).tolist()
        qrels[f"q{query}"] = dict(zip(ids[:: RETRIEVED // JUDGED], gains, strict=True))
    return qrels, runs


def arrays(qrels: Qrels, runs: Runs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gains in rank order (queries, 100), and of the judged documents (queries, 10)."""
    ranked = [sorted(run, key=lambda one: (run[one], one), reverse=True) for run in runs.values()]
    found = [[gains.get(one, 0) for one in ids] for gains, ids in zip(qrels.values(), ranked, strict=True)]
    ideal = [list(gains.values()) for gains in qrels.values()]
    return np.array(found, dtype=np.float64), np.array(ideal, dtype=np.float64)


def pytrec(qrels: Qrels, runs: Runs, measures: set[str]) -> Callable[[], Any]:
    return lambda: pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(runs)


def from_arrays(found: NDArray[np.float64], ideal: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    judged = judge_arrays(found, ideal)
    measures = [MEASURES.build(name) for name in OURS]
    return [one.compute(judged) for one in measures if isinstance(one, RankingMeasure)]


def ranking_rows(queries: int, repeats: int) -> list[Comparison]:
    qrels, runs = collection(queries, levels=None)
    found, ideal = arrays(qrels, runs)
    tied_qrels, tied_runs = collection(queries, levels=20)
    one, three = pytrec(qrels, runs, {"ndcg_cut.10"}), pytrec(qrels, runs, THEIRS)
    together = ", ".join(OURS)
    return [
        compare("nDCG@10, arrays", lambda: ndcg_arrays(found, ideal, 10), one, repeats),
        compare(f"{together}, arrays", lambda: from_arrays(found, ideal), three, repeats),
        compare("nDCG@10, dicts", lambda: ndcg(qrels, runs, 10), one, repeats),
        compare(f"{together}, dicts", lambda: evaluate(OURS, qrels, runs), three, repeats),
        compare(
            f"{together}, dicts, 20 score levels",
            lambda: evaluate(OURS, tied_qrels, tied_runs),
            pytrec(tied_qrels, tied_runs, THEIRS),
            repeats,
        ),
    ]


def bootstrap_row(resamples: int, repeats: int) -> Comparison:
    table = np.random.default_rng(1).random((SYSTEMS, ITEMS))

    def theirs(batch: int) -> Any:
        return scipy.stats.bootstrap(
            (table,), np.mean, axis=-1, n_resamples=resamples, method="percentile", batch=batch, rng=1
        )

    def ours() -> Any:
        return resample_means(table.T, n_resamples=resamples, rng=make_seeded_generator(1))

    # One call for all systems, with the batch that suits this machine best.
    batch = min((20, 50, 100, 200, 500), key=lambda size: seconds(lambda: theirs(size)))
    name = f"bootstrap, {SYSTEMS} x {ITEMS:,}, {resamples:,} resamples (scipy: one call, batch {batch})"
    return compare(name, ours, lambda: theirs(batch), repeats)


def main(arguments: list[str] | None = None) -> list[Comparison]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, fewer repeats")
    quick = parser.parse_args(arguments).quick
    queries, resamples, repeats = (1000, 1000, 3) if quick else (10_000, 10_000, 7)
    rows = [*ranking_rows(queries, repeats), bootstrap_row(resamples, repeats)]
    show(f"Measures against pytrec-eval ({queries:,} queries x {RETRIEVED}) and scipy", rows)
    return rows


if __name__ == "__main__":
    main()
