"""Whether a judge's golden set orders systems, and its engines passages, as people's judgements do.

    python benchmarks/orders_beside_people.py benchmarks/datasets/cranfield.yaml runs/golden runs/golden-locks ... \
        --runs runs/cranfield --out found.json

Systems: every TREC file of --runs on the questions of the first golden run, nDCG@10 by its grades and by people's;
Kendall's tau-b of the two orders. Engines: for every golden run its final lists by people, nDCG at their length (the
best possible: all that people judged), beside the same passages in the order of the search and of the grades.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from beside_people import read_scores
from scipy.stats import kendalltau

from embassay.data import open_dataset
from embassay.data.judged_runs import read_run_entries
from embassay.measures import ndcg
from embassay.randomness import make_seeded_generator
from embassay.runs.folder import format_value_as_json, write_file_atomically
from embassay.stats.resampling import percentile_interval, resample_means

DEPTH, RESAMPLES = 10, 2_000
Grades = Mapping[str, Mapping[str, float]]
Run = Mapping[str, Sequence[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dataset")
    parser.add_argument("golden", type=Path, nargs="+")
    parser.add_argument("--runs", type=Path, required=True, help="a folder of TREC files")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    people = open_dataset(given.dataset).load("retrieval").data.qrels
    runs = {path.stem: read_ranking(path) for path in sorted(given.runs.glob("*.trec"))}
    noted = {
        "systems": order_of_systems(given.golden[0], runs, people),
        "engines": [order_of_engine(run, people) for run in given.golden],
    }
    write_file_atomically(given.out, format_value_as_json(noted, indent=1) + "\n")


def read_ranking(path: Path) -> Run:
    """Query -> its documents, best first."""
    frame = read_run_entries(path).frame.sort("value", descending=True, maintain_order=True)
    return {str(query): own["doc"].to_list() for (query,), own in frame.group_by("query", maintain_order=True)}


def order_of_systems(golden: Path, runs: Mapping[str, Run], people: Grades) -> dict[str, Any]:
    """Mean nDCG of every system by the judge and by people, and how alike both order them."""
    judged = gains_of_judge(golden)
    usable = [query for query in judged if max(judged[query].values()) > 0 and query in people]
    rows = {}
    for name, run in runs.items():
        ranked = {query: run.get(query, ())[:DEPTH] for query in usable}
        by = [mean_ndcg({query: grades[query] for query in usable}, ranked) for grades in (judged, people)]
        rows[name] = {"judge": by[0], "people": by[1]}
    orders = [[row[who] for row in rows.values()] for who in ("judge", "people")]
    return {"questions": len(usable), "of": len(judged), "tau": tau(*orders), "rows": rows}


def gains_of_judge(golden: Path) -> dict[str, dict[str, float]]:
    """Question -> passage -> grade less one, of all that were graded."""
    gains: dict[str, dict[str, float]] = {}
    for row in read_scores(golden):
        if row["grade"] is not None:
            gains.setdefault(row["qid"], {})[row["doc_id"]] = row["grade"] - 1
    return gains


def order_of_engine(golden: Path, people: Grades) -> dict[str, Any]:
    """nDCG by people of a run's final lists, and of the same passages by their place in the search and by grade."""
    paths = sorted(golden.glob("q*/s6_ranked/*.order.jsonl"))
    lists = [[json.loads(line) for line in path.read_text("utf-8").splitlines()] for path in paths]
    told = [own for own in lists if own and own[0]["qid"] in people]
    keys = {
        "engine": lambda row: row["final_rank"],
        "grades": lambda row: (-row["grade"], row["rank_rrf"]),
        "search": lambda row: row["rank_rrf"],
    }
    values = {name: [ndcg_of(own, key, people) for own in told] for name, key in keys.items()}
    calls = sum(
        '"shown"' in line
        for path in golden.glob("q*/s6_ranked/*.calls.jsonl")
        for line in path.read_text("utf-8").splitlines()
    )
    asked = json.loads((golden / "manifest.json").read_text("utf-8"))["arguments"]
    differences = np.array(values["engine"]) - np.array(values["grades"])
    return {
        "run": golden.name, "ranking": asked["ranking"], "questions": len(told), "calls": calls,
        **{name: float(np.mean(of)) for name, of in values.items()}, "over_grades": interval(differences),
    }  # fmt: skip


def ndcg_of(rows: Sequence[Mapping[str, Any]], key: Any, people: Grades) -> float:
    """nDCG by people of one question's passages in the order of `key`."""
    ranked = [row["doc_id"] for row in sorted(rows, key=key)]
    return float(ndcg(people[rows[0]["qid"]], ranked, DEPTH))


def mean_ndcg(grades: Grades, ranked: Run) -> float:
    """Over the questions."""
    return float(np.nanmean(ndcg(grades, ranked, DEPTH)))


def tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b; None where one of them tells no two apart."""
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(kendalltau(first, second).statistic)


def interval(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    """Mean and 95% interval over questions."""
    if len(values) < 2:
        return [float(values.mean()) if len(values) else None, None, None]
    means = resample_means(values[:, None], n_resamples=RESAMPLES, rng=make_seeded_generator(1337, "orders"))
    low, high = percentile_interval(means[:, 0])
    # Of values that are all equal there is no interval.
    return [float(values.mean()), *(None if np.isnan(end) else float(end) for end in (low, high))]


if __name__ == "__main__":
    main()
