"""A judge's grades beside people's: of a golden run, over the passages that both can be asked about.

    python benchmarks/beside_people.py benchmarks/datasets/cranfield.yaml runs/golden --out found.json

AUC: of two passages of a question, one relevant by people and one not, how often the relevant one has the higher grade
(ties count half), and the same for the order of the search. Kappa: relevant or not, by people and by a grade of 4 or 5.
A passage that nobody judged counts as not relevant, as these collections have it. Intervals are over questions.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from embassay.data import open_dataset
from embassay.measures import cohen_kappa
from embassay.randomness import make_seeded_generator
from embassay.runs.folder import format_value_as_json, write_file_atomically

GOOD, RESAMPLES = 4, 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dataset")
    parser.add_argument("run", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    qrels = open_dataset(given.dataset).load("retrieval").data.qrels
    write_file_atomically(given.out, format_value_as_json(compared(read_scores(given.run), qrels), indent=1) + "\n")


def read_scores(run: Path) -> list[dict[str, Any]]:
    """Every passage of a golden run with its grade and its place in the fused lists."""
    paths = sorted(run.glob("q*/s4_scores/*.scores.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def compared(rows: Sequence[Mapping[str, Any]], qrels: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """AUC of the judge and of the search, and kappa, with how much each rests on."""
    graded = [row for row in rows if row["grade"] is not None]
    by_query: dict[str, list[Mapping[str, Any]]] = {}
    for row in graded:
        by_query.setdefault(row["qid"], []).append(row)
    relevant = {(row["qid"], row["doc_id"]): qrels.get(row["qid"], {}).get(row["doc_id"], 0) > 0 for row in graded}
    pairs = {
        name: np.array([_pairs(own, relevant, sign, key) for own in by_query.values()], dtype=np.float64)
        for name, sign, key in (("judge", 1, "grade"), ("search", -1, "rank_rrf"))
    }
    people = [relevant[row["qid"], row["doc_id"]] for row in graded]
    judged = [row["grade"] >= GOOD for row in graded]
    return {
        "questions": len(by_query), "passages": len(graded), "ungraded": len(rows) - len(graded),
        "relevant": sum(people), "graded_4_or_5": sum(judged),
        "kappa": _kappa(people, judged), "kappa_interval": _kappa_interval(by_query, relevant),
        **{f"auc_{name}": _auc(counts) for name, counts in pairs.items()},
    }  # fmt: skip


def _kappa(people: Sequence[bool], judged: Sequence[bool]) -> float | None:
    """None where one of them says the same of all."""
    return float(cohen_kappa(people, judged)) if len(set(people)) > 1 and len(set(judged)) > 1 else None


def _kappa_interval(
    by_query: Mapping[str, Sequence[Mapping[str, Any]]], relevant: Mapping[tuple[str, str], bool]
) -> list[float] | None:
    """95% of kappa, whole questions resampled; None for two or fewer."""
    if len(by_query) <= 2:
        return None
    own = [[(relevant[row["qid"], row["doc_id"]], row["grade"] >= GOOD) for row in rows] for rows in by_query.values()]
    drawn = make_seeded_generator(1337, "beside people", "kappa").integers(len(own), size=(RESAMPLES, len(own)))
    values = []
    for places in drawn.tolist():
        pairs = [pair for place in places for pair in own[place]]
        value = _kappa([people for people, _ in pairs], [judged for _, judged in pairs])
        values += [] if value is None else [value]
    return [float(end) for end in np.quantile(values, (0.025, 0.975))] if values else None


def _pairs(
    rows: Sequence[Mapping[str, Any]], relevant: Mapping[tuple[str, str], bool], sign: int, key: str
) -> tuple[float, int]:
    """Pairs of a relevant passage and another that `key` orders rightly, and all such pairs."""
    values: dict[bool, list[float]] = {True: [], False: []}
    for row in rows:
        values[relevant[row["qid"], row["doc_id"]]].append(sign * row[key])
    better = [float(one > other) + 0.5 * (one == other) for one in values[True] for other in values[False]]
    return sum(better), len(better)


def _auc(counts: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    """The share over all questions with its interval, and the pairs."""
    total = counts.sum(axis=0)
    if not total[1]:
        return [None, None, None, 0]
    drawn = make_seeded_generator(1337, "beside people").integers(len(counts), size=(RESAMPLES, len(counts)))
    sums = counts[drawn].sum(axis=1)
    shares = sums[sums[:, 1] > 0]
    low, high = np.quantile(shares[:, 0] / shares[:, 1], (0.025, 0.975)) if len(counts) > 2 else (None, None)
    return [float(total[0] / total[1]), None if low is None else float(low), None if high is None else float(high),
            int(total[1])]  # fmt: skip


if __name__ == "__main__":
    main()
