"""Hybrid annotation on HUME's published scores: accuracy against the share of people's work.

    python benchmarks/hybrid_annotation.py --llm-scores table10.csv [--studies 200] [--errors 0.02 0.1 0.25 0.4]
    python benchmarks/hybrid_annotation.py --study STUDY [--people 0.46 0.8] [--out FILE]

The answers themselves are not public, so they are drawn: of every classification pair N items, people right as often
as HUME's were, and a language model as often as the file's column says. Of the model's errors a planted part is bias,
the same in every draw, which agreement cannot see; the rest is noise, drawn anew each time. Accuracy is against gold,
the mean over studies with its standard error.

With `--study`, the answers are a real model's: those of a study of one classification task that `embassay hume annotate
STUDY --llm NAME --runs 3` has asked for. People are still drawn, right as often as `--people` says.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from embassay.protocols.hume.llms.answers import read_llm_answers
from embassay.protocols.hume.llms.protocol import (
    LlmAnswerAcceptanceOptions,
    divide_task_items,
    group_answers_of_runs_by_item,
)
from embassay.protocols.hume.published.paper import load_hume_paper_study
from embassay.protocols.hume.results.contestants import read_answered_tasks
from embassay.protocols.hume.study import read_study

LABELS = {"EmotionClassification": 6, "TweetSentimentExtraction": 3}
"""Labels of a dataset; two of the others."""
DRAWS = 3
Pair = tuple[str, int, int, float, float]
"""Name, items, labels, how often people are right, and the model."""


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--llm-scores", type=Path)
    parser.add_argument("--study", type=Path, help="A study that a language model annotated, three times an item.")
    parser.add_argument("--people", type=float, nargs="*", default=[0.46, 0.8], help="How often people are right.")
    parser.add_argument("--out", type=Path, help="The rows of a study as JSON, too.")
    parser.add_argument("--llm", default="gpt41_full")
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument(
        "--errors", type=float, nargs="*", default=[], help="Planted error rates in place of the model's own."
    )
    given = parser.parse_args()
    if given.study:
        annotated(given.study, given.people, given.studies, given.out)
        return
    pairs = list(_pairs(given.llm_scores, given.llm))
    if given.errors:
        curve(pairs, given.errors, given.studies)
        return
    print("| bias | policy | people's share | accuracy | tasks called biased |\n|---:|---|---:|---:|---:|")
    for bias in (0.0, 0.5, 1.0):
        for row in table(pairs, bias, given.studies):
            print(f"| {bias:.0%} | {' | '.join(row)} |")


def annotated(study: Path, people: Sequence[float], studies: int, out: Path | None) -> None:
    """Print accuracy by policy for a real model's answers, and people who are right so often."""
    folder = read_study(study)
    (task,) = (
        task
        for task in read_answered_tasks(folder, folder.study.tasks, anyone=False)
        if task.task.family == "classification"
    )
    gold = folder.gold(task.task.name)
    (drawn,) = filter(None, (group_answers_of_runs_by_item(answers, task) for answers in read_llm_answers(folder)))
    draws = {item: values for item, values in drawn.items() if len(values) > 1}
    rows = [
        {"people": right, "policy": name, "share": share, "accuracy": accuracy, "sd": sd, "biased": biased}
        for right in people
        for name, share, accuracy, sd, biased in _policies(draws, gold, right, studies)
    ]
    print("| people right | policy | people's share | accuracy | called biased |\n|---:|---|---:|---:|---:|")
    for row in rows:
        print(
            f"| {row['people']:.0%} | {row['policy']} | {row['share']:.0%} "
            f"| {100 * row['accuracy']:.1f} (SD {100 * row['sd']:.1f}) | {row['biased']:.0%} |"
        )
    if out:
        agreed = sum(len(set(map(str, drawn))) == 1 for drawn in draws.values())
        out.write_text(json.dumps({"items": len(draws), "agreed": agreed, "rows": rows}, indent=1), encoding="utf-8")


def _policies(
    draws: dict[str, list[object]], gold: dict[str, object], right: float, studies: int
) -> Iterator[tuple[str, float, float, float, float]]:
    """Name, people's share, accuracy with its standard deviation over draws of people, and how often the task is called
    biased: the model alone, the hybrid by the size of its sample, people alone."""
    alone = float(np.mean([drawn[0] == gold[item] for item, drawn in draws.items()]))
    yield "model alone", 0.0, alone, 0.0, 0.0
    names = sorted({str(value) for value in gold.values()})
    for check in (0.0, 0.2):
        found = []
        for seed in range(studies):
            rng = np.random.default_rng([seed, 7])
            people = {
                item: gold[item] if rng.random() < right else str(rng.choice([n for n in names if n != gold[item]]))
                for item in draws
            }
            done = divide_task_items(
                "study", "classification", draws, people, LlmAnswerAcceptanceOptions(check=check, seed=seed)
            )
            used = [draws[item][0] if done.why[item] == "agreed" else people[item] for item in draws]
            hits = [value == gold[item] for value, item in zip(used, draws, strict=True)]
            found.append((done.share_of_people, float(np.mean(hits)), float(done.biased)))
        share, accuracy, biased = np.mean(found, axis=0)
        yield f"hybrid, sample {check:.0%}", share, accuracy, float(np.std([row[1] for row in found])), biased
    yield "people alone", 1.0, right, (right * (1 - right) / len(draws)) ** 0.5, 0.0


def curve(pairs: list[Pair], errors: list[float], studies: int) -> None:
    """Print accuracy against people's share for planted error rates, beside the same work given out at random."""
    print("| error | bias | sample | people's share | accuracy | same work at random | people alone |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for error in errors:
        planted = [(*pair[:4], 1 - error) for pair in pairs]
        alone = float(np.mean([_people(planted, seed)[1] for seed in range(studies)]))
        for bias in (0.0, 0.5, 1.0):
            for check in (0.0, 0.2):
                found = np.array([_study(planted, bias, check, seed) for seed in range(studies)])
                share, accuracy, _ = found.mean(axis=0)
                spread = found[:, 1].std(ddof=1) / np.sqrt(studies)
                at_random = share * alone + (1 - share) * (1 - error)
                print(
                    f"| {error:.0%} | {bias:.0%} | {check:.0%} | {share:.0%} "
                    f"| {100 * accuracy:.1f} ± {100 * spread:.1f} | {100 * at_random:.1f} | {100 * alone:.1f} |"
                )


def table(pairs: list[Pair], bias: float, studies: int) -> Iterator[tuple[str, str, str, str]]:
    """Rows of policies: the model alone, hybrids by the size of the sample, people alone."""
    policies = {"model alone": None, **{f"hybrid, sample {share:.0%}": share for share in (0.0, 0.1, 0.2, 0.4)}}
    for name, check in policies.items():
        found = [_study(pairs, bias, check, seed) for seed in range(studies)]
        yield name, *_row(found)
    yield "people alone", *_row([_people(pairs, seed) for seed in range(studies)])


def _row(found: list[tuple[float, float, float]]) -> tuple[str, str, str]:
    share, accuracy, biased = np.mean(found, axis=0)
    error = np.std([one[1] for one in found], ddof=1) / np.sqrt(len(found))
    return f"{share:.0%}", f"{100 * accuracy:.1f} ± {100 * error:.1f}", f"{biased:.0%}"


def _pairs(path: Path, llm: str) -> Iterator[Pair]:
    study = load_hume_paper_study()
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            pair = study.pair(row["dataset"], row["lang"])
            if pair is not None and row["dataset"] != "Average":
                labels = LABELS.get(pair.dataset, 2)
                yield pair.name, pair.n_items, labels, float(row["human"]) / 100, float(row[llm]) / 100


def _answers(rng: np.random.Generator, gold: np.ndarray, labels: int, right: float) -> np.ndarray:
    off = rng.integers(1, labels, len(gold))
    return np.where(rng.random(len(gold)) < right, gold, (gold + off) % labels)


def _study(pairs: list[Pair], bias: float, check: float | None, seed: int) -> tuple[float, float, float]:
    """The share of people's work, the accuracy of what comes of it, the share of tasks that are called biased."""
    rng, share, accuracy, biased = np.random.default_rng([seed, round(10 * bias)]), [], [], []
    for name, n, labels, human, model in pairs:
        gold = rng.integers(0, labels, n)
        people = _answers(rng, gold, labels, human)
        # Of the errors `bias` are the same in every draw.
        fixed = _answers(rng, gold, labels, 1 - bias * (1 - model))
        noise = (1 - bias) * (1 - model) / max(1 - bias * (1 - model), 1e-9)
        draws = np.stack([np.where(fixed == gold, _answers(rng, gold, labels, 1 - noise), fixed) for _ in range(DRAWS)])
        if check is None:
            share.append(0.0)
            accuracy.append(float((draws[0] == gold).mean()))
            biased.append(0.0)
            continue
        items = [f"{seed}-{place}" for place in range(n)]
        options = LlmAnswerAcceptanceOptions(check=check, seed=seed)
        found = divide_task_items(
            name, "classification",
            {item: [int(one) for one in draws[:, i]] for i, item in enumerate(items)},
            {item: int(people[i]) for i, item in enumerate(items)}, options,
        )  # fmt: skip
        # In a real study nobody answers what the model keeps; here everybody has.
        kept = np.array([found.why[item] == "agreed" for item in items])
        used = np.where(kept, draws[0], people)
        share.append(found.share_of_people)
        accuracy.append(float((used == gold).mean()))
        biased.append(float(found.biased))
    return float(np.mean(share)), float(np.mean(accuracy)), float(np.mean(biased))


def _people(pairs: list[Pair], seed: int) -> tuple[float, float, float]:
    rng, accuracy = np.random.default_rng([seed, 99]), []
    for _, n, labels, human, _ in pairs:
        gold = rng.integers(0, labels, n)
        accuracy.append(float((_answers(rng, gold, labels, human) == gold).mean()))
    return 1.0, float(np.mean(accuracy)), 0.0


if __name__ == "__main__":
    main()
