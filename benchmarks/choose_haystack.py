"""How many passages a choice must search: its regret against the truth of a whole corpus, by how many were drawn.

    python benchmarks/choose_haystack.py --data DATA --work WORK med cranfield > benchmarks/results/choose_haystack.md

The systems are those of choose_collections.py (without `rouge`, which is slow). Truth is nDCG@10 of up to 150 of the
collection's own questions over all its passages. Of each number of passages two draws are made, and the same sets of
three to eight systems are chosen among. WORK keeps vectors.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import choose_collections
import numpy as np
from choose_collections import COLLECTIONS, Collection, Files, Search, all_systems, capped
from numpy.typing import NDArray

from embassay.protocols.choose.options import ChoiceOptions
from embassay.protocols.choose.questions import (
    FAMILIES,
    compute_nearness_to_first_rank,
    cut_rankings_at_ties,
    find_passage_ranks,
    take_passage_sentences_for_questions,
)
from embassay.randomness import make_seeded_generator

WHOLE = 6_000
DRAWN = (240, 500, 1_000, 1_500)
DRAWS, SETS = 2, 500
ASKED = ChoiceOptions().questions
Values = NDArray[np.float64]


def main() -> None:
    """Print a line for each collection and number of passages."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--data", type=Path, required=True)
    given.add_argument("--work", type=Path, required=True)
    given.add_argument("names", nargs="+", choices=list(COLLECTIONS))
    asked = given.parse_args()
    choose_collections.SHORT = choose_collections.LONG = WHOLE
    systems = all_systems(asked.work / "vectors")
    del systems["rouge"]
    print("# How many passages a choice must search\n\nMade by `benchmarks/choose_haystack.py`.\n")
    print("| Collection | Passages | Drawn | Regret | By draw | Rank correlation | At random |", flush=True)
    print("|---|---:|---:|---:|---|---:|---:|", flush=True)
    for name in asked.names:
        one = capped(COLLECTIONS[name](Files(asked.data), name))
        for line in lines_of(one, systems):
            print(line, flush=True)


def lines_of(one: Collection, systems: Mapping[str, Search]) -> Iterator[str]:
    """Of each number of passages: the mean regret, that of each draw, and how well all systems are ordered."""
    texts = list(one.texts.values())
    judged = one.gains_by_row()
    truth = np.array(
        [
            np.mean(choose_collections.ndcg_of(search(list(one.queries.values()), texts), judged))
            for search in systems.values()
        ]
    )
    rng = make_seeded_generator(3, "haystack", one.name)
    sets = [rng.choice(len(truth), rng.integers(3, 9), replace=False) for _ in range(SETS)]
    lot = np.mean([truth[rows].max() - truth[rows].mean() for rows in sets])
    for most in (*(n for n in DRAWN if n < len(texts)), len(texts)):
        scores = [score_systems(one, systems, most, draw) for draw in range(DRAWS)]
        regrets = [
            np.mean([truth[rows].max() - truth[rows[score[rows].argmax()]] for rows in sets]) for score in scores
        ]
        order = np.mean([np.corrcoef(_ranks(score), _ranks(truth))[0, 1] for score in scores])
        yield (
            f"| {one.name} | {len(texts):,} | {most:,} | {np.mean(regrets):.4f} | "
            f"{', '.join(f'{value:.4f}' for value in regrets)} | {order:.2f} | {lot:.4f} |"
        )


def score_systems(one: Collection, systems: Mapping[str, Search], most: int, draw: int) -> Values:
    """The score of each system by the questions of so many passages, among these."""
    order = make_seeded_generator(draw, "haystack", "passages", one.name).permutation(len(one.texts))
    drawn = [list(one.texts)[row] for row in sorted(order[:most].tolist())]
    taken = take_passage_sentences_for_questions(
        [one.texts[doc] for doc in drawn], [one.titles.get(doc, "") for doc in drawn], ASKED, 1337 + draw
    )
    return np.array([np.mean(list(_nearness(search, taken.texts, taken.questions))) for search in systems.values()])


def _nearness(search: Search, texts: Sequence[str], questions: Mapping[str, Sequence[object]]) -> Iterator[float]:
    for family in FAMILIES:
        asked: list = list(questions.get(family, ()))
        top = cut_rankings_at_ties(search([question.text for question in asked], list(texts)))
        yield float(
            compute_nearness_to_first_rank(
                find_passage_ranks(top, np.array([question.row for question in asked]))
            ).mean()
        )


def _ranks(values: Values) -> Values:
    return np.argsort(np.argsort(values)).astype(np.float64)


if __name__ == "__main__":
    main()
