"""Do thresholds of silence keep their guarantee? Real questions with and without an answer, drawn 1,000 times.

    python benchmarks/bench_silence.py --data DATA [--draws 1000] > benchmarks/results/silence.md

DATA holds retrieval/scifact, cranfield and med. All questions of a collection with evidence among the first 10, and
all without an answer, are taken for the truth; each draw takes some of both with replacement, finds a threshold, and is
held against the truth. Three sorts of questions have no answer: `far` ones of another collection, `removed` ones whose
judged passages are taken out of the lists, and `changed` ones with an entity, number, date or version changed.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from real_text import DATA
from timing import need, parse_sizes

from embassay.randomness import make_seeded_generator
from embassay.search.bm25 import BM25Index
from embassay.stats.silence import (
    SilenceAims,
    compute_log_loss_of_silence_signals,
    find_silence_threshold,
    measure_top_score_and_margin,
)
from embassay.systems import open_system
from embassay.text import open_tokenizer
from embassay.text.unanswerable import PassageWordCoverage, make_unanswerable_questions

AWAY = {"scifact": "cranfield", "cranfield": "med", "med": "cranfield"}
"""Collection -> the one whose questions are far from it."""
CUTOFF, DEPTH = 10, 50
AIMS = SilenceAims()
SIZES = (50, 100, 200)
Lists = list[list[tuple[str, float]]]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Collection:
    """Passages, questions and what is relevant, with the ids as texts."""

    passages: Mapping[str, str]
    questions: Mapping[str, str]
    relevant: Mapping[str, frozenset[str]]


def main() -> None:
    """Print the tables."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--data", type=Path, default=DATA)
    given.add_argument("--draws", type=int, default=1_000)
    asked = parse_sizes(given, draws=5)
    need(asked.data / "retrieval", "the retrieval sets")
    print(HEAD.format(draws=f"{asked.draws:,}"))
    collections = {name: _read(asked.data / "retrieval" / name) for name in AWAY}
    chosen: list[str] = []
    for name in AWAY:
        for system in ("bm25", "wordllama"):
            for sort, sides in _sides(name, collections, system).items():
                for size in SIZES:
                    print(_row((name, system, sort), sides["score"], size, asked.draws), flush=True)
                if system == "bm25":
                    chosen.append(_chosen((name, sort), sides, asked.draws))
    print(SIGNALS)
    print("\n".join(chosen))


def _read(folder: Path) -> Collection:
    def rows(name: str) -> Iterator[dict[str, Any]]:
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)

    relevant: dict[str, set[str]] = {}
    for row in rows("qrels"):
        # Cranfield's codes 1 and 2 are the grades 4 and 5 of its map; elsewhere 1 is relevant.
        if row.get("code", row.get("relevance")) in (1, 2):
            relevant.setdefault(str(row["query_id"]), set()).add(str(row["doc_id"]))
    passages = {str(row["id"]): f"{row.get('title', '')} {row['text']}" for row in rows("corpus") if row["text"]}
    questions = {str(row["id"]): row["text"] for row in rows("queries") if row.get("split") != "train"}
    return Collection(passages, questions, {key: frozenset(ids) for key, ids in relevant.items()})


def _search(collection: Collection, system: str, questions: Sequence[str]) -> Lists:
    ids, texts = list(collection.passages), list(collection.passages.values())
    if system == "bm25":
        index = BM25Index.of(ids, texts)
        return [[(hit.id, hit.score) for hit in index.search(text, DEPTH)] for text in questions]
    opened = open_system(system, tokenizer=open_tokenizer("words", later=True), seed=0)
    ranked = opened.search(list(questions), texts, DEPTH)
    return [
        [(ids[place], float(score)) for place, score in zip(places, scores, strict=True)]
        for places, scores in zip(ranked.indices, ranked.scores, strict=True)
    ]


def _sides(
    name: str, collections: Mapping[str, Collection], system: str
) -> dict[str, dict[str, tuple[Values, Values]]]:
    """Sort of question -> signal -> values of the answerable and of the unanswerable ones."""
    collection, away = collections[name], collections[AWAY[name]]
    keys = [key for key in collection.questions if collection.relevant.get(key)]
    lists = _search(collection, system, [collection.questions[key] for key in keys])
    answerable, removed = [], []
    for key, hits in zip(keys, lists, strict=True):
        relevant = collection.relevant[key]
        if any(passage in relevant for passage, _ in hits[:CUTOFF]):
            answerable.append((collection.questions[key], hits))
        removed.append((collection.questions[key], [hit for hit in hits if hit[0] not in relevant]))
    cover = PassageWordCoverage(list(collection.passages.values()))
    changed = make_unanswerable_questions(list(collection.questions.items()), cover, 200, 1337)
    sorts = {"far": list(away.questions.values()), "changed": [question.text for question in changed.questions]}
    listed = {
        sort: list(zip(texts, _search(collection, system, texts), strict=True))
        for sort, texts in sorts.items() if len(texts) >= 30
    }  # fmt: skip
    listed["removed"] = removed
    good = _signals(collection, answerable)
    return {
        sort: {signal: (good[signal], values) for signal, values in _signals(collection, asked).items()}
        for sort, asked in listed.items()
    }


def _signals(collection: Collection, asked: Sequence[tuple[str, list[tuple[str, float]]]]) -> dict[str, Values]:
    """Signal -> its value for each question, of its list; the reranker is wordllama over the first ten passages."""
    told = [measure_top_score_and_margin([score for _, score in hits]) for _, hits in asked]
    signals = {name: np.array([values[name] for values in told]) for name in ("score", "margin")}
    reranker = _reranker()
    best = []
    for text, hits in asked:
        passages = [collection.passages[passage] for passage, _ in hits[:CUTOFF]]
        similar = reranker.pairs([text] * len(passages), passages)
        best.append(float(similar.max()) if len(passages) else -np.inf)
    signals["reranker"] = np.array(best)
    return signals


_OPENED: dict[str, Any] = {}


def _reranker() -> Any:
    if "wordllama" not in _OPENED:
        _OPENED["wordllama"] = open_system("wordllama", tokenizer=open_tokenizer("words", later=True), seed=0)
    return _OPENED["wordllama"]


def _truth(good: Values, bad: Values) -> tuple[float, float]:
    """The lowest threshold that is silent on the aim of all, and what it answers of all answerable ones."""
    ranked = np.sort(bad)
    at = float(ranked[int(np.ceil(AIMS.silent * len(ranked) - 1e-9)) - 1])
    return at, float((good > at).mean())


def _row(key: tuple[str, ...], sides: tuple[Values, Values], size: int, draws: int) -> str:
    good, bad = sides
    rng = make_seeded_generator(1337, "silence", *key, str(size))
    _, reached = _truth(good, bad)
    given = broken = naive = wrong = 0
    verdicts = {"works": 0, "none works": 0, "too few": 0}
    for _ in range(draws):
        drawn_good, drawn_bad = rng.choice(good, size), rng.choice(bad, size)
        silence = find_silence_threshold(drawn_bad, drawn_good, AIMS, foresee=False)
        verdicts[silence.verdict] += 1
        if silence.above is not None:
            given += 1
            broken += (bad <= silence.above).mean() < AIMS.silent
        naive += (bad <= np.quantile(drawn_bad, AIMS.silent)).mean() < AIMS.silent
        wrong += _is_wrong(silence.verdict, silence.above, good, reached)
    shares = [given, broken, naive, *verdicts.values(), wrong]
    told = " | ".join(f"{share / draws:.1%}" for share in shares)
    return f"| {' | '.join(key)} | {len(good):,} | {len(bad):,} | {size} | {reached:.2f} | {told} |"


def _is_wrong(verdict: str, above: float | None, good: Values, reached: float) -> bool:
    if verdict == "works":
        return float((good > above).mean()) < AIMS.answered
    return verdict == "none works" and reached >= AIMS.answered


def _chosen(key: tuple[str, ...], sides: Mapping[str, tuple[Values, Values]], draws: int) -> str:
    """How often each signal is chosen of 100 questions of each side, what it answers in truth, and whether the chosen
    one's guarantee is broken."""
    rng = make_seeded_generator(1337, "signals", *key)
    picked = dict.fromkeys(sides, 0)
    broken = 0
    for _ in range(draws):
        # The same questions for every signal.
        some_good = rng.integers(0, len(sides["score"][0]), 100)
        some_bad = rng.integers(0, len(sides["score"][1]), 100)
        drawn = {name: (good[some_good], bad[some_bad]) for name, (good, bad) in sides.items()}
        best = next(iter(compute_log_loss_of_silence_signals(drawn, rng)))
        picked[best] += 1
        silence = find_silence_threshold(drawn[best][1], drawn[best][0], AIMS, len(sides), foresee=False)
        broken += silence.above is not None and (sides[best][1] <= silence.above).mean() < AIMS.silent
    reached = [f"{_truth(*sides[name])[1]:.2f}" for name in sides]
    shares = [f"{count / draws:.0%}" for count in picked.values()]
    return f"| {' | '.join([*key, *reached, *shares])} | {broken / draws:.1%} |"


HEAD = """# When to say nothing

`embassay calibrate --run RUN --qrels FILE --no-answer FILE` on three collections, each threshold found from drawn
questions {draws} times and held against all (`python benchmarks/bench_silence.py --data DATA`). The aims are the
defaults: silent on at least 0.9 of the questions without an answer, answers to at least 0.5 of those with evidence
among the first 10, both with 95% confidence.

Questions without an answer are *far* (those of another collection), *changed* (SciFact's with an entity, number, date
or version changed so that no abstract has it beside the other words; the two other collections have hardly any such
value), or *removed* (all questions, with their judged passages taken out of the lists: others may answer some).

*Reached*: the share of answerable questions above the lowest threshold that is silent on 0.9, in truth; below 0.50 no
threshold works. *Given*: draws with a threshold. *Broken*: draws whose threshold is silent on fewer than 0.9 in truth;
at most 2.5% is promised. *Naive*: the same of the sample's own 0.9 quantile. *Wrong*: verdicts "works" or "none works"
that are not so, of which at most 5% may be.

| Collection | System | Sort | With | Without | Drawn | Reached | Given | Broken | Naive | Works | None | Few | Wrong |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"""
SIGNALS = """
## Signals

Of BM25's lists, chosen by cross-validation from 100 questions of each side: the best score, its margin over the
second, and the best cosine of wordllama over the first ten passages as a reranker. *Reached* as above, *chosen* in so
many of the draws, *broken* of the guarantee of the chosen one, for which all three share the error.

| Collection | No answer | Reached, score | margin | reranker | Chosen, score | margin | reranker | Broken |
|---|---|---:|---:|---:|---:|---:|---:|---:|"""


if __name__ == "__main__":
    main()
