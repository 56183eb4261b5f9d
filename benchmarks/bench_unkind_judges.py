"""Do corrected intervals hold where questions are few, judges refuse, and people grade the first questions?

    python benchmarks/bench_unkind_judges.py --data DATA [--draws 200] [--step 10] > benchmarks/results/unkind_judges.md

DATA/llm as in `bench_corrected_judges.py`; every `--step`-th judge of a collection is taken.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from bench_corrected_judges import Sets, Values, read
from real_text import DATA
from timing import need, parse_sizes

from embassay.data.judged_runs import read_entries_in_memory
from embassay.protocols.rag.scoring.sampling import PeopleAndJudgeGrades
from embassay.randomness import make_seeded_generator
from embassay.stats.few_labels import compute_judge_corrected_mean

LABELS = (50, 100, 300)
Tables = Sequence[Values]
"""Of each question the labels of people and of the judge, (passages, 2)."""


def main() -> None:
    """Print the tables."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--data", type=Path, default=DATA)
    given.add_argument("--draws", type=int, default=200)
    given.add_argument("--step", type=int, default=10)
    asked = parse_sizes(given, draws=5, step=100)
    need(asked.data / "llm", "the grades of real judges")
    sets = read(asked.data / "llm")
    print(HEAD.format(draws=asked.draws, step=asked.step))
    clusters(sets, asked.draws, asked.step)
    refusals(sets, asked.draws, asked.step)
    order(sets, asked.draws, asked.step)


def tables_of(sets: Sets, collection: str, step: int) -> Iterator[tuple[str, Tables]]:
    """Judges of a collection with their questions."""
    judges = [judge for where, judge in sets if where == collection][::step]
    for judge in judges:
        by_query: dict[str, list[tuple[int, int]]] = {}
        for query, _, human, model in sets[collection, judge]:
            by_query.setdefault(query, []).append((human, model))
        yield judge, [np.array(rows, dtype=np.float64) for rows in by_query.values()]


def as_values(tables: Tables, what: str) -> Tables:
    """Grades as shares of the best one, or whether they are 2 and more."""
    most = max(table.max() for table in tables)
    return [table / most if what == "mean grade" else (table >= 2).astype(np.float64) for table in tables]


def redrawn(tables: Tables, rng: np.random.Generator) -> tuple[Values, Values]:
    """As many questions, drawn with replacement: labels (n, 2) and the question of each."""
    places = rng.integers(0, len(tables), len(tables))
    groups = np.repeat(np.arange(len(places)), [len(tables[place]) for place in places])
    return np.concatenate([tables[place] for place in places]), groups


def clusters(sets: Sets, draws: int, step: int) -> None:
    """Single passages of questions that are drawn anew."""
    print("\n## Few questions, drawn anew\n\n| Collection | What | Labels | Judges | Held | Lowest |")
    print("|---|---|---:|---:|---:|---:|")
    for collection in dict.fromkeys(key[0] for key in sets):
        for what in ("mean grade", "share from grade 2"):
            for n in LABELS:
                shares = []
                for judge, tables in tables_of(sets, collection, step):
                    rng, held = make_seeded_generator(1, collection, what, str(n), judge), 0
                    values = as_values(tables, what)
                    truth = float(np.concatenate(values)[:, 0].mean())
                    for _ in range(draws):
                        drawn, groups = redrawn(values, rng)
                        rows = rng.permutation(len(drawn))[:n]
                        held += holds(drawn, rows, groups, truth)
                    shares.append(held / draws)
                print(f"| {collection} | {what} | {n} | {len(shares)} | {np.mean(shares):.1%} | {min(shares):.1%} |")


def holds(drawn: Values, rows: Values, groups: Values, truth: float) -> bool:
    """Whether the interval from these rows has the truth."""
    found = compute_judge_corrected_mean(
        drawn[rows, 0], drawn[rows, 1], drawn[:, 1], groups=groups[rows], every_groups=groups
    )
    return found.value.contains(truth)


def refusals(sets: Sets, draws: int, step: int) -> None:
    """A judge who refuses so much of what is relevant; people label 100 passages that it graded, and some refused."""
    print("\n## Refused passages\n\n| Collection | Refused of the relevant | Labels of refusals | Given | Held |")
    print("|---|---:|---:|---:|---:|")
    for collection in ("LLMJudge 2024", "dl22"):
        for share in (0.03, 0.5):
            for extra in (0, 10, 30):
                found = [
                    refused(tables, share, extra, draws, make_seeded_generator(2, collection, str(share), judge))
                    for judge, tables in tables_of(sets, collection, step)
                ]
                given, held = np.nanmean(found, axis=0) if np.isfinite(found).any() else (0.0, np.nan)
                print(
                    f"| {collection} | {share:.0%} | {extra} | {given:.0%} | {'-' if given == 0 else f'{held:.1%}'} |"
                )


def refused(tables: Tables, share: float, extra: int, draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """How often there is an interval, and how often it holds."""
    values = [np.array(table) for table in as_values(tables, "share from grade 2")]
    truth = float(np.concatenate(values)[:, 0].mean())
    for table in values:
        table[(table[:, 0] == 1) & (rng.random(len(table)) < share), 1] = np.nan
    given = held = 0
    for _ in range(draws):
        drawn, groups = redrawn(values, rng)
        gone = np.isnan(drawn[:, 1])
        parts = rng.permutation(np.flatnonzero(~gone))[:100], rng.permutation(np.flatnonzero(gone))[:extra]
        rows = np.concatenate(parts)
        found = compute_judge_corrected_mean(
            drawn[rows, 0], drawn[rows, 1], drawn[:, 1], groups=groups[rows], every_groups=groups
        )
        given += bool(np.isfinite(found.value.low))
        held += found.value.contains(truth)
    return given / draws, held / given if given else np.nan


def order(sets: Sets, draws: int, step: int) -> None:
    """Questions of DL 2022 in an order of chance, whose judge may rise by a grade along the file."""
    print("\n## The order of questions\n\n| People graded | Judge | Warned |\n|---|---|---:|")
    for how in ("30 random questions", "the first 30 questions", "a fifth of the passages"):
        for drift in (0.0, 1.0):
            rates = [
                warned(tables, how, drift, max(draws // 10, 5), make_seeded_generator(3, how, str(drift), judge))
                for judge, tables in tables_of(sets, "dl22", step)
            ]
            stays = "rises by a grade" if drift else "stays the same"
            print(f"| {how} | {stays} | {np.mean(rates):.0%} |")


def warned(tables: Tables, how: str, drift: float, draws: int, rng: np.random.Generator) -> float:
    """How often something is said against the sample or the judge."""
    run = {f"q{i}": {f"d{j}": float(-j) for j in range(len(table))} for i, table in enumerate(tables)}
    entries, said = {"run": read_entries_in_memory(run, "run", "run")}, 0
    for _ in range(draws):
        people, judge = {}, {}
        places = rng.permutation(len(tables))
        drawn = set(rng.permutation(len(tables))[:30].tolist())
        for at, place in enumerate(places):
            rise = rng.random(len(tables[place])) < drift * at / len(places)
            for j, (human, model) in enumerate(tables[place]):
                judge[f"q{at}", f"d{j}"] = int(min(model + rise[j], 3)) + 1
                in_sample = at < 30 if "first" in how else at in drawn if "random" in how else rng.random() < 0.2
                if in_sample:
                    people[f"q{at}", f"d{j}"] = int(human) + 1
        # Only the questions' order is made: ranks are those of the file, and would be another finding.
        warnings = PeopleAndJudgeGrades(people, judge, entries, 0).warnings(None)
        said += any(warnings)
    return said / draws


HEAD = """# A judge, corrected by people, in unkind worlds

{draws} draws, every {step}th judge of a collection. Units of a collection stand for all there are; its questions are
drawn with replacement, then single passages of them are labelled. *Held*: the 95% interval had the mean of the
collection. `python benchmarks/bench_unkind_judges.py --data DATA`"""

if __name__ == "__main__":
    main()
