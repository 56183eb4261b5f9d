"""Twelve measures of graded rankings with bootstrap intervals, and the classic four of them against their peers.

Runs are synthetic: 10,000 queries with 100 retrieved documents each; about 40 of a query's documents are graded from 1
to 5, the higher the rarer, and some pools have no 5 or nothing good at all, so that measures are undefined there. The
set measures have no peer: the whole of ours, intervals included, stands against pytrec-eval and ir_measures computing
the four classic ones from the same mappings, without intervals. The rows from arrays start from grades in rank order.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np
import pytrec_eval
from numpy.typing import NDArray
from timing import Comparison, compare, seconds, show

from embassay.measures import Graded, evaluate_graded, grade, macro, sensitivity_grid
from embassay.randomness import make_seeded_generator
from embassay.stats import percentile_interval
from embassay.stats.resampling import resample_defined_means

RETRIEVED, GRADED, DOCUMENTS = 100, 40, 50_000
SHARES = [0.55, 0.2, 0.12, 0.08, 0.05]
"""Of grades 1 to 5."""
SET = ["RA-nWG@10", "RA-nWG@30", "N-Recall4+@10", "N-Recall5@10", "Precision4+@10", "Harm@10", "Hit@10", "PROC@10"]
CLASSIC = {"nDCG@10": "ndcg_cut.10", "AP": "map", "RR": "recip_rank", "R@100": "recall.100"}
IR_MEASURES = ["nDCG@10", "AP(rel=3)", "RR(rel=3)", "R(rel=3)@100"]
"""Their gains are grade - 1."""
LIMIT = 3.0

Grades = dict[str, dict[str, int]]
Runs = dict[str, dict[str, float]]


def collection(queries: int) -> tuple[Grades, Runs]:
    """Random grades and runs; half of what is graded was retrieved."""
    rng = np.random.default_rng(0)
    grades: Grades = {}
    runs: Runs = {}
    for query in range(queries):
        ids = [f"d{i}" for i in rng.choice(DOCUMENTS, RETRIEVED + GRADED // 2, replace=False)]
        graded = ids[RETRIEVED - GRADED // 2 :]
        grades[f"q{query}"] = dict(zip(graded, (1 + rng.choice(5, GRADED, p=SHARES)).tolist(), strict=True))
        runs[f"q{query}"] = dict(zip(ids[:RETRIEVED], rng.random(RETRIEVED).tolist(), strict=True))
    return grades, runs


def with_intervals(graded: Graded, resamples: int) -> dict[str, tuple[float, int, float, float]]:
    """Mean, number of queries and interval of every measure, each over the queries where it is defined."""
    values = evaluate_graded([*SET, *CLASSIC], graded)
    means = resample_defined_means(
        np.column_stack(list(values.values())), n_resamples=resamples, rng=make_seeded_generator(1)
    )
    return {
        name: (macro(column).mean, macro(column).n_valid, *percentile_interval(replicates))
        for (name, column), replicates in zip(values.items(), means.T, strict=True)
    }


def pytrec(grades: Grades, runs: Runs) -> Callable[[], Any]:
    gains = {query: {one: grade - 1 for one, grade in each.items()} for query, each in grades.items()}
    return lambda: pytrec_eval.RelevanceEvaluator(gains, set(CLASSIC.values()), relevance_level=3).evaluate(runs)


def through_ir_measures(grades: Grades, runs: Runs) -> Callable[[], Any]:
    gains = {query: {one: grade - 1 for one, grade in each.items()} for query, each in grades.items()}
    measures = [ir_measures.parse_measure(name) for name in IR_MEASURES]
    return lambda: list(ir_measures.iter_calc(measures, gains, runs))


def check(graded: Graded, theirs: dict[str, dict[str, float]]) -> None:
    """Stop unless the classic four equal pytrec-eval's."""
    values = evaluate_graded(list(CLASSIC), graded)
    for ours, name in CLASSIC.items():
        expected = np.array([one[name.replace(".", "_")] for one in theirs.values()])
        known = ~np.isnan(values[ours])
        worst = float(np.abs(values[ours][known] - expected[known]).max())
        assert worst < 1e-6, f"{ours} differs from {name} by {worst}"


def processor_seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def rows(grades: Grades, runs: Runs, resamples: int, repeats: int) -> list[Comparison]:
    graded = grade(grades, runs)
    trec, ir = pytrec(grades, runs), through_ir_measures(grades, runs)
    check(graded, trec())
    _undefined(graded)
    classic = ", ".join(CLASSIC)
    systems = {f"system {i}": Graded(graded.counts, np.roll(graded.top, i, axis=1)) for i in range(5)}
    grid = seconds(lambda: sensitivity_grid(systems, 10))
    print(f"sensitivity grid, 24 cells, {len(systems)} systems: {grid:.2f} s")
    return [
        compare(
            f"12 measures, {resamples:,} resamples, arrays (peer: pytrec-eval, the classic 4, no intervals)",
            lambda: with_intervals(graded, resamples),
            trec,
            repeats,
        ),
        compare(
            f"12 measures, {resamples:,} resamples, dicts (peer: the same)",
            lambda: with_intervals(grade(grades, runs), resamples),
            trec,
            repeats,
        ),
        compare(
            "12 measures, dicts (peer: the same)",
            lambda: evaluate_graded([*SET, *CLASSIC], grade(grades, runs)),
            trec,
            repeats,
        ),
        compare(
            f"{classic}, arrays (peer: pytrec-eval)", lambda: evaluate_graded(list(CLASSIC), graded), trec, repeats
        ),
        compare(
            f"{classic}, dicts (peer: pytrec-eval)",
            lambda: evaluate_graded(list(CLASSIC), grade(grades, runs)),
            trec,
            repeats,
        ),
        compare(
            f"{classic}, dicts (peer: ir_measures)",
            lambda: evaluate_graded(list(CLASSIC), grade(grades, runs)),
            ir,
            repeats,
        ),
    ]


def _undefined(graded: Graded) -> None:
    """Say of how many queries each measure is."""
    values: dict[str, NDArray[np.float64]] = evaluate_graded([*SET, *CLASSIC], graded)
    print("queries:", ", ".join(f"{name} {macro(column).n_valid:,}" for name, column in values.items()))


def main(arguments: list[str] | None = None) -> list[Comparison]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, fewer repeats")
    quick = parser.parse_args(arguments).quick
    queries, resamples, repeats = (1000, 1000, 3) if quick else (10_000, 10_000, 5)
    grades, runs = collection(queries)
    found = rows(grades, runs, resamples, repeats)
    # What a machine that does nothing else takes: wall time counts the others' work too.
    cpu = min(processor_seconds(lambda: with_intervals(grade(grades, runs), resamples)) for _ in range(3))
    show(f"Set measures ({queries:,} queries x {RETRIEVED} x {len(SET) + len(CLASSIC)})", found)
    verdict = "within" if cpu < LIMIT else "OVER"
    print(f"12 measures from dicts to intervals: {cpu:.2f} s of processor time, {verdict} {LIMIT} s")
    return found


if __name__ == "__main__":
    main()
