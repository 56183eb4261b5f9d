"""What a generator is shown of a run: the first passages for each question, distractors in the place of the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice

from embassay.protocols.rag.answers.options import DistractorCountAndNearness
from embassay.protocols.rag.judges import Question
from embassay.protocols.rag.sweep.collection import SweepCollection
from embassay.randomness import draw_random_bytes
from embassay.search.bm25 import BM25Index

USEFUL, HARMFUL = 4, 2
REFERENCES = 5
"""So many useful passages are shown to the grader where people wrote no answer."""
SKIPPED = 20
"""Distractors of middle nearness share fewer words with the question than so many others."""


@dataclass(frozen=True)
class QuestionWithPassages:
    """A question with the positions of the passages that the generator gets, the first of them `planted`, and what is
    known to be right."""

    row: int
    question: Question
    places: tuple[int, ...]
    reference: tuple[str, ...]
    planted: int = 0


def iterate_questions_with_run_passages(
    collection: SweepCollection, run: Mapping[str, Sequence[str]], k: int, references: Mapping[str, Sequence[str]]
) -> Iterator[QuestionWithPassages]:
    """The questions with passages of the run that the corpus has, and a reference; others are left to be counted."""
    place = {key: position for position, key in enumerate(collection.ids)}
    for row, (key, question) in enumerate(zip(collection.query_ids, collection.queries, strict=True)):
        useful = sorted(
            (p for p, grade in collection.grades[row].items() if grade >= USEFUL),
            key=lambda p: (-collection.grades[row][p], p),
        )
        reference = references.get(key) or [collection.texts[p] for p in useful[:REFERENCES]]
        places = tuple(dict.fromkeys(place[doc] for doc in run.get(key, ()) if doc in place))[:k]
        if reference:
            yield QuestionWithPassages(row, Question(key, question), places, tuple(reference))


@dataclass(frozen=True)
class DistractorPlanter:
    """Puts passages that are of no use before those of a run: graded 1 or 2, or judged by nobody, and not among the
    run's own. Of two numbers of one nearness the smaller is a part of the larger."""

    collection: SweepCollection
    index: BM25Index
    seed: int

    def plant_prompt_distractors(
        self, prompt: QuestionWithPassages, planting: DistractorCountAndNearness
    ) -> QuestionWithPassages:
        """The prompt with distractors before the run's passages, in the place of its last ones. There are fewer where
        too few passages share a word with the question."""
        places = {
            "near": self._pick_near_distractors,
            "middle": self._pick_middling_distractors,
            "random": self._draw_random_distractors,
        }[planting.nearness]
        planted = tuple(islice(places(prompt, planting.number), planting.number))
        own = prompt.places[: max(0, len(prompt.places) - len(planted))]
        return replace(prompt, places=(*planted, *own), planted=len(planted))

    def _pick_near_distractors(self, prompt: QuestionWithPassages, number: int) -> list[int]:
        """Those that share most with the question in words of what was judged of no use, then of what nobody
        judged."""
        grades = self.collection.grades[prompt.row]
        free = self._find_passages_usable_as_distractors(prompt, 10 * number)
        # Stable: in each part by words in common.
        return sorted(free, key=lambda place: place not in grades)

    def _pick_middling_distractors(self, prompt: QuestionWithPassages, number: int) -> list[int]:
        return self._find_passages_usable_as_distractors(prompt, 10 * number + SKIPPED)[SKIPPED:]

    def _find_passages_usable_as_distractors(self, prompt: QuestionWithPassages, depth: int) -> list[int]:
        """What may be planted among the passages that share words with the question, most words first."""
        known = len(prompt.places) + len(self.collection.grades[prompt.row])
        hits = self.index.search(prompt.question.text, depth + known)
        return [place for hit in hits if self._is_plantable_distractor(prompt, place := self.index.place(hit.id))]

    def _draw_random_distractors(self, prompt: QuestionWithPassages, _: int) -> Iterator[int]:
        """Passages of the whole collection in an order drawn from the seed, each once."""
        size, seen = len(self.collection.ids), set[int]()
        for draw in islice(count(), 100 * size):
            stream = ("distractor", prompt.question.id, str(draw))
            place = int.from_bytes(draw_random_bytes(8, self.seed, *stream), "big") % size
            if place not in seen and self._is_plantable_distractor(prompt, place):
                seen.add(place)
                yield place

    def _is_plantable_distractor(self, prompt: QuestionWithPassages, place: int) -> bool:
        grade = self.collection.grades[prompt.row].get(place, 0)
        return place not in prompt.places and grade <= HARMFUL
