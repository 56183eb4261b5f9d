"""Do thresholds keep what they promise? Drawn labels, real pairs, 1,000 times; the promise is looked at on the rest.

    python benchmarks/bench_promises.py --data DATA [--draws 1000] > benchmarks/results/promises.md

Beside each promised threshold: the naive one (the laxest with that precision among the labels), and the oracle's (the
laxest with that precision among all pairs). DATA holds the files named in SETS; cosines and metrics are ours.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from real_text import DATA
from timing import need, parse_sizes

from embassay.randomness import make_seeded_generator
from embassay.stats.calibration import (
    choose_calibration_curve,
    compute_calibration_error,
    compute_log_losses,
    find_threshold_for_precision,
    find_threshold_for_recall,
    fit_probability_calibration,
)
from embassay.systems import open_system
from embassay.text import open_tokenizer

SETS = {
    "STS-B, from 4": ("sts/stsb_en_test.jsonl.gz", 4.0), "SICK-R, from 4": ("sts/sick_r_test_trial.jsonl.gz", 4.0),
    "STS12, from 4": ("sts/sts12_test.jsonl.gz", 4.0), "MRPC": ("pair_classification/mrpc_test.jsonl.gz", 1.0),
}  # fmt: skip
SYSTEMS = ("minilm", "wordllama", "jaccard", "bm25")
LABELS = (50, 100, 200, 400, 800)
AIMS = (0.7, 0.9)
CONFIDENCE = 0.95
Values = NDArray[np.float64]


def shrink() -> None:
    """One set, two systems and the two smallest numbers of labels."""
    global SETS, SYSTEMS, LABELS
    # Two sets: a threshold is also taken from the others.
    SETS, SYSTEMS, LABELS = dict(list(SETS.items())[:2]), ("minilm", "jaccard"), LABELS[:2]


def main() -> None:
    """Print the tables."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--data", type=Path, default=DATA)
    given.add_argument("--draws", type=int, default=1_000)
    given.add_argument("--translation", action="store_true", help="only the last table")
    asked = parse_sizes(given, draws=5)
    if asked.quick:
        shrink()
    need(asked.data / "pair_classification", "the sets of pairs")
    if asked.translation:
        translated(dict(_scored(asked.data)))
        return
    print(HEAD.format(draws=f"{asked.draws:,}"))
    scored = dict(_scored(asked.data))
    for aim in AIMS:
        print(f"\n## Precision at least {aim:g}\n")
        print("| Set | System | Labels | Given | Broken | On the rest | Naive broken | Recall | Naive | Oracle |")
        print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
        for key, (scores, same) in scored.items():
            for n in LABELS:
                print(_row(key, n, list(_drawn(scores, same, n, aim, asked.draws, key))), flush=True)
    rare(scored, asked.draws)
    print("\n## Recall at least 0.9\n\n| Set | System | Labels | Given | Broken |\n|---|---|---:|---:|---:|")
    for key, (scores, same) in scored.items():
        for n in LABELS:
            print(_recall_row(key, n, scores, same, asked.draws), flush=True)
    print("\n## Probabilities from n labels, on the rest\n")
    print("| Set | System | Labels | Log loss | As it is | Base rate | Calibration error | As it is |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for key, (scores, same) in scored.items():
        for n in LABELS[1::2]:
            print(_probabilities(key, n, scores, same), flush=True)
    translated(scored)


def _scored(data: Path) -> Iterator[tuple[tuple[str, str], tuple[Values, NDArray[np.bool_]]]]:
    for name, (file, least) in SETS.items():
        with gzip.open(data / file, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        label = "label" if "label" in rows[0] else "score"
        rows = [row for row in rows if row.get(label) is not None]
        same = np.array([float(row[label]) >= least for row in rows])
        for system in SYSTEMS:
            opened = open_system(system, tokenizer=open_tokenizer("words"), pair_corpus="reference")
            similar = opened.pairs([row["text"] for row in rows], [row["text2"] for row in rows])
            yield (name, system), (np.asarray(similar, np.float64).round(6), same)


def _drawn(
    scores: Values, same: NDArray[np.bool_], n: int, aim: float, draws: int, key: tuple[str, str]
) -> Iterator[tuple[bool, bool, bool, bool, float, float, float]]:
    """Per draw: given, broken, broken on the rest, naive broken, recall, naive recall, oracle's recall."""
    oracle = _seen(scores, same, _naive(scores, same, aim))[1]
    for draw in range(draws):
        rng = make_seeded_generator(1337, *key, str(n), str(draw))
        rows = rng.integers(0, len(scores), n)
        promised = find_threshold_for_precision(scores[rows], same[rows], aim, CONFIDENCE, rng).value
        precision, recall = _seen(scores, same, promised)
        naive = _seen(scores, same, _naive(scores[rows], same[rows], aim))
        order = rng.permutation(len(scores))
        own, rest = order[:n], order[n:]
        apart = find_threshold_for_precision(scores[own], same[own], aim, CONFIDENCE, rng).value
        on_rest = _seen(scores[rest], same[rest], apart)[0] < aim
        yield promised is not None, precision < aim, on_rest, naive[0] < aim, recall, naive[1], oracle


def rare(scored: Scored, draws: int) -> None:
    """Precision where few pairs are the same: those of a set are drawn with odds that make them so rare."""
    print(RARE)
    print("| Set | System | Share the same | Aim | Labels | Given | Broken | Recall | Oracle |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in SETS:
        for share in SHARES:
            for aim in AIMS:
                for n in RARE_LABELS:
                    key = (name, RARE_SYSTEM)
                    print(_rare_row(key, *scored[key], share, aim, n, draws), flush=True)


def _rare_row(
    key: tuple[str, str], scores: Values, same: NDArray[np.bool_], share: float, aim: float, n: int, draws: int
) -> str:
    weight = np.where(same, share / same.sum(), (1 - share) / (~same).sum())
    order = np.argsort(-scores, kind="stable")
    ranked, right, accepted = scores[order], np.cumsum((weight * same)[order]), np.cumsum(weight[order])
    found = np.zeros((draws, 3))
    for draw in range(draws):
        rng = make_seeded_generator(1337, *key, f"{share:g}", f"{aim:g}", str(n), str(draw))
        rows = rng.choice(len(scores), n, p=weight)
        value = find_threshold_for_precision(scores[rows], same[rows], aim, CONFIDENCE, rng).value
        if value is not None:
            end = int((ranked >= value).sum()) - 1
            found[draw] = 1, right[end] / accepted[end] < aim, right[end] / share
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    oracle = max((float(right[end] / share) for end in ends if right[end] >= aim * accepted[end]), default=0.0)
    given, broken, recall = found.mean(axis=0)
    return (
        f"| {key[0]} | {key[1]} | {share:.0%} | {aim:g} | {n:,} | {given:.1%} | {broken:.1%} | {recall:.3f} | "
        f"{oracle:.3f} |"
    )


def _naive(scores: Values, same: NDArray[np.bool_], aim: float) -> float | None:
    """The laxest threshold above which the sample has that precision."""
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(same[order]) / np.arange(1, len(scores) + 1)
    places = np.flatnonzero(right >= aim)
    return float(scores[order][places[-1]]) if len(places) else None


def _seen(scores: Values, same: NDArray[np.bool_], value: float | None) -> tuple[float, float]:
    """Precision and recall from a threshold on; 1 and 0 where nothing is accepted."""
    accepted = np.zeros(len(scores), bool) if value is None else scores >= value
    if not accepted.any():
        return 1.0, 0.0
    return float(same[accepted].mean()), float(same[accepted].sum() / same.sum())


def _row(key: tuple[str, str], n: int, found: list[tuple[bool, bool, bool, bool, float, float, float]]) -> str:
    given, broken, on_rest, naive_broken, recall, naive, oracle = np.array(found, float).mean(axis=0)
    shares = " | ".join(f"{one:.1%}" for one in (given, broken, on_rest, naive_broken))
    return f"| {key[0]} | {key[1]} | {n} | {shares} | {recall:.3f} | {naive:.3f} | {oracle:.3f} |"


def _recall_row(key: tuple[str, str], n: int, scores: Values, same: NDArray[np.bool_], draws: int) -> str:
    given = broken = 0
    for draw in range(draws):
        rows = make_seeded_generator(1337, *key, str(n), str(draw)).integers(0, len(scores), n)
        value = find_threshold_for_recall(scores[rows], same[rows], 0.9, CONFIDENCE).value
        given += value is not None
        broken += value is not None and _seen(scores, same, value)[1] < 0.9
    return f"| {key[0]} | {key[1]} | {n} | {given / draws:.1%} | {broken / draws:.1%} |"


def _probabilities(key: tuple[str, str], n: int, scores: Values, same: NDArray[np.bool_], draws: int = 50) -> str:
    found = []
    for draw in range(draws):
        rng = make_seeded_generator(1337, *key, str(n), str(draw))
        rows = rng.permutation(len(scores))
        own, rest = rows[:n], rows[n:]
        if min(same[own].sum(), (~same[own]).sum()) < 10:
            continue
        kind = choose_calibration_curve(scores[own], same[own], None, rng).kind
        fitted = fit_probability_calibration(kind, scores[own], same[own])(scores[rest])
        raw = scores[rest].clip(0.001, 0.999)
        base = np.full(len(rest), same[own].mean())
        found.append([
            *(compute_log_losses(one, same[rest]).mean() for one in (fitted, raw, base)),
            *(compute_calibration_error(one, same[rest]) for one in (fitted, raw)),
        ])  # fmt: skip
    if not found:
        return f"| {key[0]} | {key[1]} | {n} | too few of a label | | | | |"
    return f"| {key[0]} | {key[1]} | {n} | " + " | ".join(f"{one:.3f}" for one in np.mean(found, axis=0)) + " |"


Scored = dict[tuple[str, str], tuple[Values, NDArray[np.bool_]]]


def translated(scored: Scored) -> None:
    """Thresholds of one system in the scale of another: the set that they are used on is not the one they come from."""
    print(TRANSLATED)
    heads = "Off, number kept | Off, own | Off, other sets | Agree, own | Agree, other | Precision | Of the origin"
    print(f"| From | To | {heads} |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    every = []
    for origin, target in permutations(SYSTEMS, 2):
        rows = [
            _translated(scored, origin, target, name, share) for name in SETS for share in ACCEPTED
        ]  # fmt: skip
        every += rows
        print(f"| {origin} | {target} | {_cells(rows)} |", flush=True)
    print(f"| *all* | | {_cells(every)} |")


def _cells(rows: list[tuple[float, ...]]) -> str:
    return " | ".join(f"{one:.3f}" for one in np.mean(rows, axis=0))


def _translated(
    scored: Scored, origin: str, target: str, name: str, share: float
) -> tuple[float, float, float, float, float, float, float]:
    """Of the threshold that accepts a `share` of the set `name`: how far off is the share that the target's accepts,
    with the number kept, and linked on the set's own pairs and on the other sets; agreement, and precisions."""
    (a, same), (b, _) = scored[name, origin], scored[name, target]
    given = _reached(a, share)
    half = make_seeded_generator(1337, "halves", name).permutation(len(a))
    own, rest = half[: len(a) // 2], half[len(a) // 2 :]
    others = [one for one in SETS if one != name]
    pooled = [np.concatenate([scored[one, system][0] for one in others]) for system in (origin, target)]
    linked = {
        "kept": given, "own": _linked(a[own], b[own], given), "other": _linked(pooled[0], pooled[1], given)
    }  # fmt: skip
    accepted = a[rest] >= given
    off = {key: abs(float((b[rest] >= value).mean() - accepted.mean())) for key, value in linked.items()}
    agree = {key: float(((b[rest] >= value) == accepted).mean()) for key, value in linked.items()}
    precision = _seen(b[rest], same[rest], linked["other"])[0], _seen(a[rest], same[rest], given)[0]
    return off["kept"], off["own"], off["other"], agree["own"], agree["other"], *precision


def _linked(a: Values, b: Values, given: float) -> float:
    """The score of b that as many pairs reach as reach `given` in a; the nearest there is."""
    return _reached(b, float(np.clip((a >= given).mean(), 1 / len(a), 1.0)))


def _reached(scores: Values, share: float) -> float:
    return float(np.quantile(scores, 1 - share, method="higher"))


TRANSLATED = """
## Thresholds in another system's scale, held out by domain

A threshold of one system that accepts 10, 25 or 50% of a set is told in the scale of another, and looked at on half of
that set. *Off*: how far the share of pairs that it accepts is from the origin's: with the same number kept, linked on
the other half of the set, and linked on the three other sets (no pair of this one was seen). *Agree*: share of pairs
that both rules treat alike. *Precision*: of the threshold from the other sets, beside that of the origin. Means over
four sets and three thresholds.
"""
ACCEPTED = (0.1, 0.25, 0.5)
RARE = """
## Precision where few pairs are the same

Pairs of a set are drawn with odds by which so few of all mean the same; the promise is looked at under these odds.
"""
RARE_SYSTEM, SHARES, RARE_LABELS = "minilm", (0.01, 0.03, 0.1, 0.5), (400, 2_000, 10_000)

HEAD = """# Do thresholds keep what they promise?

A set of real pairs stands for all there are. Labels are drawn from it {draws} times, with replacement, a threshold is
chosen with 95% confidence, and its promise is looked at on all pairs. *Given*: a threshold was promised at all.
*Broken*: promised, and not true; at most 5% is what was said. *On the rest*: the same of labels drawn without
replacement, on the pairs that are left, whose own chance comes on top (and is the greater the fewer are left).
*Naive*: the laxest threshold with that precision among the labels. *Oracle*: with that precision among all pairs.
Recall counts 0 where nothing is promised.
`python benchmarks/bench_promises.py --data DATA`"""


if __name__ == "__main__":
    main()
