"""Are decisions that are looked at after every label false as seldom as they say, and how many labels do they take?

    python benchmarks/bench_decisions.py validity [--studies 10000]
    python benchmarks/bench_decisions.py labels --data DATA --runs RUNS [--studies 40]
    python benchmarks/bench_decisions.py forecasts --data DATA --runs RUNS [--studies 150]

Their output is `benchmarks/results/until_decided.md`. RUNS holds what `benchmarks/rag_runs.py --depth 30` wrote, DATA
the judgements.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import t as student
from timing import parse_sizes

from embassay.data.judged_runs import RunOrQrelsEntries, read_entries_in_memory, read_run_entries
from embassay.machine import count_cores
from embassay.protocols.rag.decision.course import DecisionSettings, find_study_state_from_labels
from embassay.protocols.rag.decision.population import (
    ComparisonItemPopulation,
    Key,
    Labels,
    make_comparison_items_of_runs,
)
from embassay.protocols.rag.decision.protocol import make_decision_study_record
from embassay.randomness import make_seeded_generator

ALPHA = 0.05
POWER = 0.9
EACH = 4
"""Studies of one made-up set, with draws of their own."""
MEASURE = "Precision4+@10"
CODES = {1: 5, 2: 4, 3: 3, 4: 2, -1: 1}
"""Cranfield's codes as grades."""
Judge = Callable[[NDArray[np.int64], np.random.Generator], NDArray[np.int64]]


def _noisy(share: float) -> Judge:
    """Right in this share, otherwise the grade of another passage: the share is Cohen's kappa."""

    def judge(true: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return np.where(rng.random(len(true)) < share, true, rng.permutation(true))

    return judge


def _drifting(true: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Right at first, and the reverse at last."""
    turned = rng.random(len(true)) < np.linspace(0, 1, len(true))
    return np.where(turned, 6 - true, true)


JUDGES: Mapping[str, Judge | None] = {
    "no judge": None,
    "kappa 0.2": _noisy(0.2),
    "kappa 0.6": _noisy(0.6),
    "kappa 0.9": _noisy(0.9),
    "biased, two grades up": lambda true, rng: np.minimum(true + 2, 5),  # noqa: ARG005
    "drifting from right to reversed": _drifting,
    "lazy, always 3": lambda true, rng: np.full(len(true), 3),  # noqa: ARG005
    "hostile, always reversed": lambda true, rng: 6 - true,  # noqa: ARG005
}


def main() -> None:
    """Print the tables."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("what", nargs="?", choices=("validity", "labels", "forecasts"), default="validity")
    given.add_argument("--studies", type=int, default=0)
    given.add_argument("--data", type=Path)
    given.add_argument("--runs", type=Path)
    asked = parse_sizes(given, studies=20)
    if asked.what == "validity":
        validity(asked.studies or 10_000)
    elif asked.what == "forecasts":
        forecasts(asked.data, asked.runs, asked.studies or 150)
    else:
        labels_used(asked.data, asked.runs, asked.studies or 40)


def validity(studies: int) -> None:
    """Studies of runs that are exactly equal, and of a run that is exactly at its bar: every decision is false."""
    print(HEAD.format(studies=f"{studies:,}", others=f"{studies // 10:,}", each=EACH))
    worlds = {"Two equal runs": (2, ""), "Three equal runs": (3, ""), "At the bar": (1, ""), "nDCG@5": (2, "nDCG@5")}
    wrong = {
        title: _false(studies if title == "Two equal runs" else studies // 10, *world)
        for title, world in worlds.items()
    }
    print(f"| Guide | {' | '.join(worlds)} |\n|---|" + "---:|" * len(worlds))
    for name in JUDGES:
        print(f"| {name} | " + " | ".join(f"{wrong[title][name]:.2%}" for title in worlds) + " |")


def _false(studies: int, runs: int, measure: str) -> dict[str, float]:
    """By guide, the share of studies that decided something at any look. Each set has its own seed, so the number of
    cores changes nothing."""
    wrong: Counter[str] = Counter()
    with ProcessPoolExecutor(count_cores()) as pool:
        for one in pool.map(partial(_wrong, runs, measure), range(studies // EACH), chunksize=4):
            wrong.update(one)
    return {name: wrong[name] / studies for name in JUDGES}


def _wrong(runs: int, measure: str, number: int) -> dict[str, int]:
    """By guide, how many studies of one made-up set decided something."""
    rng = make_seeded_generator(1337, "equal", str(runs), measure, str(number))
    entries, labels = _equal(rng, runs)
    population = (
        make_comparison_items_of_runs(entries, measure or "Precision4+@5") if runs > 1 else _at_bar(entries, labels)
    )
    wrong = dict.fromkeys(JUDGES, 0)
    for name, judge in JUDGES.items():
        for turn in range(EACH):
            guide = {} if judge is None else _guide(population, labels, judge, rng)
            course = find_study_state_from_labels(
                population, labels, DecisionSettings(ALPHA, number * EACH + turn, 10, guide)
            )
            wrong[name] += bool(course.decided.sign.any())
    return wrong


def _at_bar(entries: Mapping[str, RunOrQrelsEntries], labels: Labels) -> ComparisonItemPopulation:
    """The first run, and as its bar what it has."""
    one = {"a": entries["a"]}
    free = make_comparison_items_of_runs(one, "Precision4+@5", 0.0)
    return make_comparison_items_of_runs(one, "Precision4+@5", float(free.values(range(len(free.low)), labels).sum()))


def _equal(rng: np.random.Generator, runs: int) -> tuple[dict[str, RunOrQrelsEntries], Labels]:
    """Queries in groups, within which the runs change places: so each has the same score."""
    names = "abc"[: max(runs, 2)]
    found: dict[str, dict[str, dict[str, float]]] = {name: {} for name in names}
    labels: dict[tuple[str, str], int] = {}
    for group in range(32 // len(names)):
        pool = [f"d{i}" for i in range(9)]
        share = rng.beta(1, 3)
        grades = np.where(rng.random(len(pool)) < share, 5, rng.integers(1, 4, len(pool)))
        lists = [rng.permutation(pool)[:5] for _ in names]
        for turn in range(len(names)):
            query = f"q{group * len(names) + turn}"
            labels.update({(query, doc): int(grade) for doc, grade in zip(pool, grades, strict=True)})
            for i, name in enumerate(names):
                own = lists[(i + turn) % len(names)]
                found[name][query] = {str(doc): 1.0 - place / 10 for place, doc in enumerate(own)}
    return {name: read_entries_in_memory(run, "run", name) for name, run in found.items()}, labels


def _guide(population: ComparisonItemPopulation, labels: Labels, judge: Judge, rng: np.random.Generator) -> Labels:
    true = np.array([labels[key] for key in population.keys])
    return dict(zip(population.keys, judge(true, rng).tolist(), strict=True))


def labels_used(data: Path, runs: Path, studies: int) -> None:
    """Labels to a decision between every two runs, beside a fixed number of queries with all their passages graded."""
    judges = {name: JUDGES[name] for name in ("no judge", "kappa 0.2", "kappa 0.6", "kappa 0.9")}
    print(LABELS_HEAD.format(studies=studies, measure=MEASURE))
    print("| Set | Better | Worse | Difference | Labels in all | Fixed | " + " | ".join(judges) + " | Wrong |")
    print("|---|---|---|---:|---:|---:|" + "---:|" * (len(judges) + 1))
    ratios: dict[str, list[float]] = {name: [] for name in judges}
    planned: dict[str, list[tuple[float, float]]] = {}
    for name in ("cranfield", "scifact"):
        worlds = list(_worlds(name, data, runs))
        plan = _fixed([one[1:] for one in worlds])
        for (a, b), population, labels in worlds:
            fixed, difference = _fixed([(population, labels)]), _difference(population, labels)
            used, wrong = {}, 0
            for kind, judge in judges.items():
                courses = [
                    find_study_state_from_labels(population, labels, DecisionSettings(
                        ALPHA, seed, 20, {} if judge is None else _guide(
                            population, labels, judge, make_seeded_generator(seed, name, a, b, kind)
                        ),
                    ))
                    for seed in range(studies)
                ]  # fmt: skip
                wrong += sum(one.decided.best != (0 if difference > 0 else 1) for one in courses)
                used[kind] = float(np.median([one.used for one in courses]))
                ratios[kind].append(used[kind] / fixed)
                planned.setdefault(kind, []).append((used[kind], used[kind] / plan))
            better, worse = (a, b) if difference > 0 else (b, a)
            cells = " | ".join(f"{used[kind]:,.0f}" for kind in judges)
            print(
                f"| {name} | {better} | {worse} | {abs(difference):.4f} | {population.cost.sum():,} | {fixed:,.0f} "
                f"| {cells} | {wrong} of {studies * len(judges)} |", flush=True,
            )  # fmt: skip
        print(f"| {name} | *one plan for all ten* | | | | {plan:,.0f} | " + " | " * len(judges) + "|", flush=True)
    print("\nMedian over the twenty pairs of the labels used, as a share of those of the fixed n:\n")
    print("| Guide | Of one told the difference | Of one plan for all pairs |")
    print("|---|---:|---:|")
    for kind in judges:
        over = np.median([ratio for _, ratio in planned[kind]])
        print(f"| {kind} | {np.median(ratios[kind]):.2f} | {over:.2f} |")


def _worlds(name: str, data: Path, runs: Path) -> Iterator[tuple[tuple[str, str], ComparisonItemPopulation, Labels]]:
    found, grades = _read_world(name, data, runs)
    for a, b in combinations(found, 2):
        population = make_comparison_items_of_runs({a: found[a], b: found[b]}, MEASURE)
        yield (a, b), population, {key: grades.get(key, 1) for key in population.keys}


def _read_world(name: str, data: Path, runs: Path) -> tuple[dict[str, RunOrQrelsEntries], dict[Key, int]]:
    """The runs of a set, and people's grades: 5 where a set knows relevant documents only."""
    grades: dict[Key, int] = {}
    with gzip.open(data / "retrieval" / name / "qrels.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            grades[str(row["query_id"]), str(row["doc_id"])] = CODES[row["code"]] if "code" in row else 5
    return {path.stem: read_run_entries(path) for path in sorted((runs / name).glob("*.trec"))}, grades


@dataclass(frozen=True)
class Foretold:
    """A chance that a study's decision was given after some more labels, and whether it came."""

    kind: str
    chance: float
    came: bool


FORECAST_RUNS = {"a bar": 1, "two runs": 2, "three runs": 3, "five runs": 5}
FORECAST_SETS = ("cranfield", "scifact", "med", "cosqa", "xquad_hi")
FORECAST_BINS = (0.05, 0.2, 0.4, 0.6, 0.75, 0.9, 1.0)


def forecasts(data: Path, runs: Path, studies: int) -> None:
    """How often what more labels would buy comes true: of chances in each bin, the share that did."""
    print(FORECAST_HEAD.format(studies=studies, sets=", ".join(FORECAST_SETS)))
    told: list[Foretold] = []
    with ProcessPoolExecutor(count_cores()) as pool:
        for name in FORECAST_SETS:
            for of_study in pool.map(partial(_foretell, name, data, runs), range(studies), chunksize=4):
                told += of_study
    bins = list(zip((0.0, *FORECAST_BINS), FORECAST_BINS, strict=False))
    print("| Said | " + " | ".join(f"to {high:.0%}" for _, high in bins) + " |")
    print("|---|" + "---:|" * len(bins))
    for kind in (*(f"{runs}, {by}" for runs in FORECAST_RUNS for by in ("passages", "queries")), ""):
        mine = [one for one in told if one.kind.startswith(kind)]
        cells = [[one for one in mine if low <= one.chance and (one.chance < high or high == 1)] for low, high in bins]
        print(f"| {kind or 'all'} | " + " | ".join(_said_and_came(cell) for cell in cells) + " |")


def _said_and_came(told: list[Foretold]) -> str:
    if len(told) < 20:
        return "–"
    said, came = (np.mean([getattr(one, name) for one in told]) for name in ("chance", "came"))
    return f"{said:.0%}: {came:.0%} of {len(told):,}"


def _foretell(name: str, data: Path, runs: Path, number: int) -> list[Foretold]:
    """One study of drawn runs, measure, queries and judge: what is forecast on the way, and what came."""
    rng = make_seeded_generator(1337, "forecast", name, str(number))
    every, grades = _read_world(name, data, runs)
    kind = str(rng.choice(list(FORECAST_RUNS)))
    chosen = rng.choice(list(every), FORECAST_RUNS[kind], replace=False).tolist()
    measure = str(rng.choice([MEASURE, "Precision4+@5", "nDCG@10"]))
    queries = every[chosen[0]].frame["query"].cast(pl.String).unique().sort()
    kept = set(rng.permutation(queries.to_numpy())[: int(rng.choice([30, 60, 120, 225]))].tolist())
    part = {
        run: replace(every[run], frame=every[run].frame.filter(pl.col("query").cast(pl.String).is_in(kept)))
        for run in chosen
    }
    population = make_comparison_items_of_runs(
        part, measure, float(rng.uniform(0.02, 0.4)) if kind == "a bar" else None
    )
    labels = {key: grades.get(key, 1) for key in population.keys}
    judge = JUDGES[str(rng.choice(["no judge", "kappa 0.6", "kappa 0.9"]))]
    terms = DecisionSettings(ALPHA, number, 20, {} if judge is None else _guide(population, labels, judge, rng))
    by = "queries" if population.asked.linear is None else "passages"
    return list(_follow_forecasts(f"{kind}, {by}", population, labels, terms))


def _follow_forecasts(
    kind: str, population: ComparisonItemPopulation, labels: Labels, terms: DecisionSettings
) -> Iterator[Foretold]:
    whole = find_study_state_from_labels(population, labels, terms)
    for n in np.unique(np.geomspace(20, max(len(whole.asked), 21), 10).round().astype(int)).tolist():
        course = find_study_state_from_labels(population, {key: labels[key] for key in whole.asked[:n]}, terms)
        decision = make_decision_study_record(course, terms)
        if not decision.is_open:
            return
        # Where nothing is better, the study ends with the last label: that is an answer, too.
        yield from (Foretold(kind, step.chance, whole.used <= decision.used + step.more) for step in decision.ahead)


def _difference(population: ComparisonItemPopulation, labels: Labels) -> float:
    return float(population.values(range(len(population.low)), labels).sum())


def _fixed(worlds: list[tuple[ComparisonItemPopulation, Labels]], draws: int = 400) -> float:
    """The labels of the fewest queries, drawn at random with all passages graded, from which a t test (with the
    correction for a finite population) decides rightly in `POWER` of draws over all of these worlds."""
    per_query = [_per_query(population, labels) for population, labels in worlds]
    total = len(per_query[0])
    cost = float(np.mean([np.bincount(one.query).mean() for one, _ in worlds]))
    for n in np.unique(np.round(np.geomspace(5, total, 50)).astype(int)).tolist():
        right = []
        for values in per_query:
            rng = make_seeded_generator(1337, "fixed", str(n))
            truth = np.sign(values.mean())
            drawn = np.stack([values[rng.permutation(total)[:n]] for _ in range(draws)])
            error = drawn.std(axis=1, ddof=1) / n**0.5 * max(1 - n / total, 0.0) ** 0.5
            mean = drawn.mean(axis=1)
            far = np.abs(mean) > student.ppf(1 - ALPHA / 2, n - 1) * error + 1e-15
            right.append((far & (np.sign(mean) == truth)).mean())
        if np.mean(right) >= POWER:
            return float(n * cost)
    return float(total * cost)


def _per_query(population: ComparisonItemPopulation, labels: Labels) -> NDArray[np.float64]:
    values = np.zeros(len(population.queries))
    every = population.values(range(len(population.low)), labels)[:, 0]
    for item, value in enumerate(every.tolist()):
        values[population.query[population.passages_of_each_item[item][0]]] += value * len(values)
    return values


HEAD = """# Until it is decided

## False decisions

{studies} studies of two equal runs and {others} of each other kind, {each} of each made-up set, looked at after every
label until a decision or the last label, alpha 5%. The runs are exactly equal, or the run is exactly at its bar, so
whatever is decided is false. 32 queries, nine passages each, five of them per run. *Guide*: the judge whose grades
steer what is asked and what is foretold.
`python benchmarks/bench_decisions.py validity`
"""
LABELS_HEAD = """
## Labels to a decision

{measure}, alpha 5%, median of {studies} studies for each guide. *Labels in all*: passages whose grade can matter.
*Fixed*: the labels of the fewest queries, all their passages graded, by which a t test decides rightly in 90% of draws;
it is told the true difference, which nobody knows before. *One plan*: the same where one number has to do for all ten
pairs.
`python benchmarks/bench_decisions.py labels --data DATA --runs RUNS`
"""
FORECAST_HEAD = """
## Forecasts

What more labels would achieve, as it stands on the screen, beside what came: {studies} studies of each of {sets},
of two to five lexical runs or one against a threshold, Precision4+@5 or @10 or nDCG@10, 30 to 225 queries, a judge or
none, forecast at ten looks on the way. Cells: the mean of the chances said, and the share that came true.
`python benchmarks/bench_decisions.py forecasts --data DATA --runs RUNS`
"""

if __name__ == "__main__":
    main()
