"""Are pairs of other sources noticed, and how many thresholds that are given by luck are withheld?

    python benchmarks/bench_other_pairs.py --data DATA > benchmarks/results/other_pairs.md

DATA holds STS 2012 and 2013, SICK and MRPC as named in FILES; each `source` is a world of its own.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from real_text import DATA
from scipy.stats import ks_2samp
from timing import need, parse_sizes

from embassay.protocols.calibration.shift import (
    ALPHA,
    SIMILARITY,
    compare_pair_features,
    measure_pair_features,
    sample_pair_features_each_sorted,
)
from embassay.randomness import make_seeded_generator
from embassay.stats.calibration import (
    LEAST_CHANCE,
    find_threshold_for_precision,
    fit_probability_calibration,
    withhold_unlikely_threshold,
)
from embassay.systems import open_system
from embassay.text import open_tokenizer

FILES = (
    "sts/sts12_test.jsonl.gz", "sts/sts13_test.jsonl.gz", "sts/stsb_en_test.jsonl.gz", "sts/stsb_en_dev.jsonl.gz",
    "sts/sick_r_test_trial.jsonl.gz", "pair_classification/mrpc_test.jsonl.gz",
)  # fmt: skip
SYSTEMS = ("wordllama", "jaccard", "bm25")
FEWEST, MOST, LABELLED, NEW = 700, 700, 400, 100
AIM, BAD = 0.7, 0.65
"""What is promised, and the precision below which a shift is one that matters."""
Numbers = Mapping[str, NDArray[np.float64]]
World = tuple[Numbers, NDArray[np.bool_]]


def main() -> None:
    """Print both tables."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--data", type=Path, default=DATA)
    given.add_argument("--systems", nargs="+", default=list(SYSTEMS))
    asked = parse_sizes(given, systems=["jaccard"])
    for file in FILES:
        need(asked.data / file, "a set of pairs")
    worlds = {system: worlds_of(asked.data, system) for system in asked.systems}
    print("# Thresholds on other pairs, and thresholds by luck\n\n`python benchmarks/bench_other_pairs.py --data DATA`")
    shifts(worlds)
    luck(worlds)


def worlds_of(data: Path, system: str) -> dict[str, World]:
    """The numbers of up to `MOST` pairs of each source, and whether they mean the same."""
    rows: dict[str, list[tuple[str, str, bool]]] = {}
    for file in FILES:
        with gzip.open(data / file, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                same = row["label"] == 1 if "label" in row else float(row["score"]) >= 4
                source = row.get("source") or Path(file).name.partition("_")[0]
                rows.setdefault(source, []).append((row["text"], row["text2"], same))
    opened = open_system(system, tokenizer=open_tokenizer("words"), pair_corpus="reference")
    found = {}
    for source, own in rows.items():
        if len(own) >= FEWEST:
            chosen = [own[place] for place in make_seeded_generator(1, source).permutation(len(own))[:MOST]]
            first, second, same = zip(*chosen, strict=True)
            similar = np.asarray(opened.pairs(first, second), dtype=np.float64)
            found[source] = measure_pair_features(similar, first, second), np.array(same)
    return found


def of(numbers: Numbers, rows: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """Those of some pairs."""
    return {name: values[rows] for name, values in numbers.items()}


def shifts(worlds: Mapping[str, Mapping[str, World]]) -> None:
    """A threshold from one source on another: how often 100 unlabelled pairs show it where its precision is lost."""
    print(f"\n## Shifts that left a promised precision of {AIM:g} below {BAD:g}, seen by {NEW} unlabelled pairs\n")
    print("| System | Shifts | By similarity alone | With counts of the texts | False alarms, alone | With counts |")
    print("|---|---:|---:|---:|---:|---:|")
    for system, by_source in worlds.items():
        seen, alarms = [], []
        for source, (numbers, same) in by_source.items():
            for draw in range(3):
                rng = make_seeded_generator(2, system, source, str(draw))
                order = rng.permutation(len(same))
                own, rest = order[:LABELLED], order[LABELLED:]
                threshold = find_threshold_for_precision(numbers[SIMILARITY][own], same[own], AIM, 0.95, rng).value
                reference = sample_pair_features_each_sorted(of(numbers, own), rng)
                alarms += [differs(reference, of(numbers, rng.permutation(rest)[:NEW])) for _ in range(4)]
                for other, (new, truth) in by_source.items():
                    accepted = np.zeros(1, bool) if threshold is None else new[SIMILARITY] >= threshold
                    if other != source and accepted.sum() >= 10 and truth[accepted].mean() < BAD:
                        seen.append(differs(reference, of(new, rng.permutation(len(truth))[:NEW])))
        shares = [*np.mean(seen, axis=0), *np.mean(alarms, axis=0)]
        print(f"| {system} | {len(seen)} | " + " | ".join(f"{share:.1%}" for share in shares) + " |")


def differs(reference: Mapping[str, tuple[float, ...]], new: Numbers) -> tuple[bool, bool]:
    """By similarity alone, and with all numbers."""
    alone = ks_2samp(reference[SIMILARITY], np.round(new[SIMILARITY], 4)).pvalue < ALPHA
    return bool(alone), not compare_pair_features(reference, new).is_similar_to_calibration_pairs


def luck(worlds: Mapping[str, Mapping[str, World]]) -> None:
    """Labels drawn from each source: thresholds given and broken, before and after those by luck are withheld."""
    print(f"\n## Thresholds by luck, withheld below {LEAST_CHANCE:.0%}\n")
    print("| Samples that give one | Samples | Given | Broken | Kept | Broken |\n|---|---:|---:|---:|---:|---:|")
    cells = [
        cell(numbers[SIMILARITY], same, aim, n, make_seeded_generator(3, system, source, str(aim), str(n)))
        for system, by_source in worlds.items()
        for source, (numbers, same) in by_source.items()
        for aim in (0.7, 0.9)
        for n in (100, 300)
    ]
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.7), (0.7, 1.01)):
        rows = [counts for counts in cells if counts[0] and low <= counts[1] / counts[0] < high]
        total = np.sum(rows, axis=0) if rows else np.zeros(5)
        print(f"| {low:.0%} to {min(high, 1):.0%} | " + " | ".join(f"{count:,.0f}" for count in total) + " |")


def cell(
    scores: NDArray[np.float64], same: NDArray[np.bool_], aim: float, n: int, rng: np.random.Generator
) -> tuple[int, int, int, int, int]:
    """Of 60 samples of labels with 10 of each kind: how many there are, give a threshold, broken ones, kept, broken."""
    samples = given = broken = kept = still = 0
    for _ in range(60):
        rows = rng.integers(0, len(scores), n)
        x, y = scores[rows], same[rows]
        if min(y.sum(), (~y).sum()) < 10:
            continue
        samples += 1
        threshold = find_threshold_for_precision(x, y, aim, 0.95, rng)
        if threshold.value is None:
            continue
        is_broken = bool(same[scores >= threshold.value].mean() < aim)
        is_kept = (
            withhold_unlikely_threshold(threshold, x, fit_probability_calibration("beta", x, y)(x), rng).value
            is not None
        )
        given, broken = given + 1, broken + is_broken
        kept, still = kept + is_kept, still + (is_kept and is_broken)
    return samples, given, broken, kept, still


if __name__ == "__main__":
    main()
