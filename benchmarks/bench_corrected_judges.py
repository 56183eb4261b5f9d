"""Do intervals of a judge corrected by people hold what they say, and what is the judge worth?

    python benchmarks/bench_corrected_judges.py --data DATA [--draws 1000] > benchmarks/results/corrected_judges.md

DATA/llm holds grades of real judges beside NIST's: `judge_llmjudge2024`, `judge_dl21_dl22_9llms` and
`judge_trecrag25_umbrela2`, each `.jsonl.gz` with `query_id, doc_id, human_grade, judge, llm_grade`.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from real_text import DATA
from timing import need, parse_sizes

from embassay.measures import evaluate_graded, grade
from embassay.measures.agreement import cohen_kappa
from embassay.randomness import make_seeded_generator
from embassay.stats.few_labels import compute_judge_corrected_mean

Values = NDArray[np.float64]
LABELS = (30, 100, 300)
KAPPAS = (0.2, 0.4, 0.6, 0.8, 0.9)
ALL = 3_000
"""Units that the judge has labelled in each draw."""


@dataclass(frozen=True)
class Held:
    """Over draws: how often the interval held, that of people alone, and widths and worth beside theirs."""

    corrected: float
    alone: float
    width: float
    widest: float
    worth: float


def main() -> None:
    """Print the tables."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--data", type=Path, default=DATA)
    given.add_argument("--draws", type=int, default=1_000)
    asked = parse_sizes(given, draws=5)
    need(asked.data / "llm", "the grades of real judges")
    print(HEAD.format(draws=f"{asked.draws:,}", all=f"{ALL:,}"))
    simulated(asked.draws)
    one_sided(asked.draws)
    sets = read(asked.data / "llm")
    passages(sets, asked.draws)
    queries(sets, asked.draws)


def simulated(draws: int) -> None:
    """Judges that are right with a chance, and otherwise give the grade of another passage."""
    print("\n## Simulated judges\n")
    print("| What is labelled | Kappa | Labels | Held | People alone | Width | Widest | A label is worth |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    worlds = {
        "share relevant, 10%": np.repeat([0.0, 1.0], [90, 10]), "share relevant, 30%": np.repeat([0.0, 1.0], [70, 30]),
        "mean of five grades": np.repeat([0.0, 0.25, 0.5, 0.75, 1.0], [50, 15, 15, 10, 10]),
    }  # fmt: skip
    for name, people in worlds.items():
        for kappa in KAPPAS:
            for n in LABELS:
                rng = make_seeded_generator(1337, name, str(kappa), str(n))
                found = held(rng, people, None, n, draws, kappa)
                print(f"| {name} | {kappa:g} | {n} | {_cells(found)} |", flush=True)


def one_sided(draws: int) -> None:
    """Judges who call relevant what is not, or the reverse, and are right otherwise."""
    print("\n## Judges who err to one side\n")
    print("| What is labelled | Judge | Wrong | Labels | Held | People alone | Width | Widest | A label is worth |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for share in (0.1, 0.3):
        people = np.repeat([0.0, 1.0], [round(100 * (1 - share)), round(100 * share)])
        for name, rates in (("lenient", (0.05, 0.1, 0.2)), ("strict", (0.1, 0.2, 0.4))):
            for rate in rates:
                for n in LABELS:
                    rng = make_seeded_generator(1337, name, str(share), str(rate), str(n))
                    found = held(rng, people, _erring(name == "lenient", rate), n, draws)
                    what = f"share relevant, {share:.0%} | {name} | {rate:.0%}"
                    print(f"| {what} | {n} | {_cells(found)} |", flush=True)


Judge = Callable[[np.random.Generator, Values], Values]


def _erring(is_lenient: bool, rate: float) -> Judge:
    def judge(rng: np.random.Generator, people: Values) -> Values:
        wrong = (people == (0.0 if is_lenient else 1.0)) & (rng.random(len(people)) < rate)
        return np.where(wrong, 1 - people, people)

    return judge


def held(
    rng: np.random.Generator, people: Values, judge: Values | Judge | None, n: int, draws: int, kappa: float = 0.0
) -> Held:
    """The values of all units stand for all there are; `ALL` are drawn with replacement, `n` of them labelled."""
    truth, rows = float(people.mean()), []
    for _ in range(draws):
        drawn = rng.choice(len(people), ALL)
        y = people[drawn]
        if judge is None:
            x = np.where(rng.random(ALL) < kappa, y, rng.permutation(y))
        else:
            x = judge(rng, y) if callable(judge) else judge[drawn]
        found = compute_judge_corrected_mean(y[:n], x[:n], x)
        rows.append((
            found.value.contains(truth), found.alone.contains(truth),
            found.value.width / found.alone.width, found.effective / n,
        ))  # fmt: skip
    table = np.array(rows, float)
    means = table.mean(axis=0)
    return Held(means[0], means[1], means[2], float(table[:, 2].max()), means[3])


def _cells(one: Held) -> str:
    return f"{one.corrected:.1%} | {one.alone:.1%} | {one.width:.2f} | {one.widest:.3f} | {one.worth:.2f}"


Rows = Sequence[tuple[str, str, int, int]]
Sets = Mapping[tuple[str, str], Rows]


def read(folder: Path) -> Sets:
    """Query, document, NIST's grade and the judge's, by collection and judge; grades out of range are left out."""
    found: dict[tuple[str, str], list[tuple[str, str, int, int]]] = defaultdict(list)
    for collection, row in _rows(folder):
        if row["human_grade"] is None or row["llm_grade"] is None or not 0 <= row["llm_grade"] <= 4:
            continue
        judge = " ".join(filter(None, (row["judge"], row.get("prompt"))))
        if row.get("run") in (None, 0):
            key = collection or row["collection"], judge
            found[key].append((row["query_id"], row["doc_id"], int(row["human_grade"]), int(row["llm_grade"])))
    return found


def _rows(folder: Path) -> Iterator[tuple[str, dict[str, object]]]:
    files = {"judge_llmjudge2024": "LLMJudge 2024", "judge_dl21_dl22_9llms": "", "judge_trecrag25_umbrela2": "RAG 2025"}
    for file, collection in files.items():
        with gzip.open(folder / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                yield collection, json.loads(line)


def passages(sets: Sets, draws: int) -> None:
    """Labels of single passages: the mean grade, and the share of relevant ones."""
    print("\n## Real judges, passages\n")
    print("Over the judges of a collection: the mean, and the lowest and highest.\n")
    print("| Collection | Judges | Kappa | What | Labels | Held | Lowest | Highest | Widest | A label is worth |")
    print("|---|---:|---|---|---:|---:|---:|---:|---:|---|")
    for collection in dict.fromkeys(key[0] for key in sets):
        judges = {judge: rows for (where, judge), rows in sets.items() if where == collection}
        kappas = [cohen_kappa([row[2] for row in rows], [row[3] for row in rows]) for rows in judges.values()]
        top = max(row[2] for rows in judges.values() for row in rows)
        for what in ("mean grade", "share from grade 2"):
            for n in LABELS:
                found = []
                for judge, rows in judges.items():
                    table = np.array([row[2:] for row in rows], float)
                    values = table / top if what == "mean grade" else (table >= 2).astype(float)
                    rng = make_seeded_generator(1337, collection, judge, what, str(n))
                    found.append(held(rng, values[:, 0], values[:, 1], n, draws))
                ends = f"{min(kappas):.2f} to {max(kappas):.2f}"
                print(f"| {collection} | {len(judges)} | {ends} | {what} | {n} | {_over(found)} |", flush=True)


def _over(found: Sequence[Held]) -> str:
    shares, worth = [one.corrected for one in found], [one.worth for one in found]
    return (
        f"{np.mean(shares):.1%} | {min(shares):.1%} | {max(shares):.1%} | {max(one.widest for one in found):.3f} "
        f"| {np.mean(worth):.2f} ({min(worth):.2f} to {max(worth):.2f})"
    )


def queries(sets: Sets, draws: int) -> None:
    """Labels of whole queries: measures of a ranking, of DL 2021 and 2022 together."""
    print("\n## Real judges, whole queries\n")
    print("The ranking is by the grades of another judge, the first of the file; DL 2021 and 2022 together.\n")
    print("| Measure | Judges | Labelled queries | Held | Lowest | Highest | Widest | A label is worth |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    names = list(dict.fromkeys(judge for where, judge in sets if where.lower().startswith("dl2")))
    both = {name: [row for where, judge in sets if judge == name for row in sets[where, judge]] for name in names}
    runs = _ranked(both[names[0]])
    for measure in ("nDCG@10", "Precision4+@10", "RA-nWG@10", "N-Recall4+@10", "Harm@10"):
        pairs = {name: _measured(measure, both[name], runs) for name in names[1:]}
        for n in LABELS[:2]:
            found = [
                held(make_seeded_generator(1337, measure, name, str(n)), *pair, n, draws)
                for name, pair in pairs.items()
            ]
            print(f"| {measure} | {len(found)} | {n} | {_over(found)} |", flush=True)


def _ranked(rows: Rows) -> dict[str, list[str]]:
    """Documents by a judge's grade, equal ones by a hash."""
    by_query: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for query, doc, _, given in rows:
        by_query[query].append((-given, hashlib.sha256(doc.encode()).hexdigest(), doc))
    return {query: [doc for _, _, doc in sorted(own)] for query, own in by_query.items()}


def _measured(measure: str, rows: Rows, runs: Mapping[str, list[str]]) -> tuple[Values, Values]:
    """By people and by the judge, over the queries where both are defined."""
    found = []
    for column in (2, 3):
        pool: dict[str, dict[str, int]] = defaultdict(dict)
        for row in rows:
            pool[row[0]][row[1]] = min(int(row[column]), 3) + (1 if row[column] < 2 else 2)
        kept = {query: own for query, own in pool.items() if query in runs}
        found.append(evaluate_graded([measure], grade(kept, {query: runs[query] for query in kept}))[measure])
    known = ~(np.isnan(found[0]) | np.isnan(found[1]))
    return found[0][known], found[1][known]


HEAD = """# A judge, corrected by people

{draws} draws in each row. The units of a set stand for all there are: {all} are drawn with replacement for the judge,
and the first 30, 100 or 300 of them have people's labels as well. *Held*: the 95% interval had the mean of the set.
*Width*: of the corrected interval over that of people alone; *widest*: its largest in any draw. *A label is worth*: as
many labels of people alone. `python benchmarks/bench_corrected_judges.py --data DATA`"""

if __name__ == "__main__":
    main()
