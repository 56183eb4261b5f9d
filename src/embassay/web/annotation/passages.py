"""Grading passages until it is decided: the task that people see, whose turn a passage is, and what grades say.

The answers are kept as those of every study. What follows from them is replayed: a server that was killed asks for the
next passage, and nobody is asked twice. A grade whose block is whole steers what is asked next; it is frozen, and added
to `labels.jsonl` in the folder, which `embassay rag score --until-decided` reads.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from embassay.errors import DataError
from embassay.measures.judgements import UNJUDGED
from embassay.protocols.hume.store import AnswerStore, SavedAnswer
from embassay.protocols.hume.study import (
    PracticeItem,
    RatingScale,
    StudyFile,
    StudyFolder,
    StudyItem,
    StudyItemSource,
    StudyTask,
)
from embassay.protocols.rag.decision.course import LabellingStudyState
from embassay.protocols.rag.decision.population import Key
from embassay.protocols.rag.decision.protocol import (
    LABELS,
    POOL,
    DecisionStudyRecord,
    append_passage_grades,
    make_decision_study_record,
    read_decision_study,
    read_passage_grades,
    write_waiting_passages_and_decision,
)
from embassay.runs.folder import digest_json

TASK = "passages"
QUESTION = "How well does the passage answer the question?"
ANCHORS = {
    "1": "no help", "2": "touches on it", "3": "partial", "4": "much of the answer", "5": "answers it"
}  # fmt: skip
GUIDELINES = """Grade how useful **one passage** is for answering **one question**.

Judge the passage on its own: use no other knowledge, and do not guess what the rest of its document says. Grade its
usefulness for the exact question, not for the topic.

| Grade | The passage |
|---|---|
| 5 | answers the question clearly, or contains what the answer needs |
| 4 | contains a large part of the answer, but not all of it |
| 3 | is related, but does not suffice for an answer |
| 2 | only touches on the question |
| 1 | does not help |

If a passage cannot be judged because it is broken or in a language you do not read, flag it. Others grade other
passages; the ones you get depend on what has been graded. You can change a grade until its block is complete.
"""
PRACTICE = (
    PracticeItem(
        payload={
            "query": "how long does bread dough rest before baking",
            "passage": "After the second kneading cover the dough and let it rest for 45 minutes, then bake it.",
        },
        answer=5,
        explanation="It says how long.",
    ),
    PracticeItem(
        payload={
            "query": "how long does bread dough rest before baking",
            "passage": "Resting lets the gluten relax, and dough that rests too short tears when it is shaped.",
        },
        answer=3,
        explanation="It is about resting but does not say how long.",
    ),
    PracticeItem(
        payload={
            "query": "how long does bread dough rest before baking",
            "passage": "The oldest bakery of the town sells eleven kinds of bread and opens at six.",
        },
        answer=1,
        explanation="It mentions bread but contains none of the answer.",
    ),
)


def open_decision_study(path: Path) -> StudyFolder:
    """The study in a folder of `rag score --until-decided` as one to serve. DataError where it has no texts."""
    study = read_decision_study(path)
    if study.texts is None:
        raise DataError(
            "the study has no passage texts to show", path=path / POOL,
            mend="Create the study with --corpus FILE and --queries FILE."
        )  # fmt: skip
    texts = study.texts
    items = tuple(
        StudyItem(make_passage_id(place), TASK, "mixed",
            {"query": texts.queries[query], "passage": texts.documents[doc]})
        for place, (query, doc) in enumerate(study.population.keys)
        if study.population.item[place] >= 0
    )  # fmt: skip
    task = StudyTask(
        name=TASK, family="sts", lang="mixed", title="Passages", question=QUESTION, guidelines=GUIDELINES, n=len(items),
        scale=RatingScale(low=1, high=5, step=1, anchors=ANCHORS), practice=list(PRACTICE),
        source=StudyItemSource(dataset=path.name)
    )  # fmt: skip
    content = digest_json([[item.id, dict(item.payload)] for item in items])
    written = StudyFile(
        name=path.resolve().name, seed=study.terms.seed, tasks=[task], content=content,
        guidelines=digest_json([GUIDELINES, QUESTION, ANCHORS])
    )  # fmt: skip
    return StudyFolder(path, written, items)


def make_passage_id(place: int) -> str:
    """The id of a passage by its place in the pool."""
    return f"p{place}"


class PassageGrading:
    """The study of a folder while people grade it: safe between threads."""

    def __init__(self, path: Path, store: AnswerStore) -> None:
        self.path, self._store, self._lock = path, store, Lock()
        self.study = read_decision_study(path)
        self._held: tuple[Any, LabellingStudyState, DecisionStudyRecord] | None = None

    @cached_property
    def _item_ids_by_key(self) -> Mapping[Key, str]:
        return {key: make_passage_id(place) for place, key in enumerate(self.study.population.keys)}

    @cached_property
    def _keys_by_item_id(self) -> Mapping[str, Key]:
        return {item: key for key, item in self._item_ids_by_key.items()}

    def update_labelling_study_state(self) -> tuple[LabellingStudyState, DecisionStudyRecord]:
        """Where the study stands with the answers that are stored now; written to the folder where that is new."""
        with self._lock:
            fixed = read_passage_grades(self.path / LABELS, None, {})
            labels = {**self._collect_median_grades(), **fixed}
            mark = tuple(sorted(labels.items()))
            if self._held is None or self._held[0] != mark:
                course = self.study.replay_study_with_labels(labels)
                new = [(key, labels[key]) for key in course.counted if key not in fixed]
                if new:
                    append_passage_grades(self.path / LABELS, new)
                decision = make_decision_study_record(course, self.study.terms)
                write_waiting_passages_and_decision(self.path, self.study, course, decision)
                self._held = mark, course, decision
            return self._held[1:]

    def order(self, annotator: str) -> tuple[str, ...]:
        """What this annotator has answered, then what is theirs to grade, then what others have not come to yet."""
        course, _ = self.update_labelling_study_state()
        answers = self._store.list_all_answers()
        mine_first = [
            item
            for item, answer in answers.get(annotator, {}).items()
            if answer.is_annotator_done_with_item and item in self._keys_by_item_id
        ]
        taken = {
            item for other in answers.values() for item, answer in other.items() if answer.is_annotator_done_with_item
        }
        asked = [self._item_ids_by_key[key] for key in course.asked]
        place = {item: at for at, item in enumerate(asked)}
        waiting = [item for key in course.waiting if (item := self._item_ids_by_key[key]) not in taken]
        people = [person.id for person in self._store.annotators()]
        turn, many = people.index(annotator) if annotator in people else 0, max(len(people), 1)
        # Every so-many-th place is one person's, so that two do not grade the same passage at a time.
        mine = [item for item in waiting if place[item] % many == turn]
        rest = [item for item in waiting if place[item] % many != turn]
        mine_first.sort(key=lambda item: (answers[annotator][item].seq, item))
        return (*mine_first, *mine, *rest)

    def is_passage_grade_fixed(self, item: str) -> bool:
        """Whether a passage's grade steered what was asked since."""
        return self._keys_by_item_id.get(item) in read_passage_grades(self.path / LABELS, None, {})

    def list_asked_passages(self) -> tuple[str, ...]:
        """All passages that were asked for so far."""
        return tuple(self._item_ids_by_key[key] for key in self.update_labelling_study_state()[0].asked)

    def describe_grading_for_page(self) -> dict[str, Any]:
        """What the annotators' page is told: no run's name is in it, which could sway a grade."""
        _, decision = self.update_labelling_study_state()
        return {"open": decision.is_open, "used": decision.used, "needed": decision.needed, "waiting": decision.waiting}

    def _collect_median_grades(self) -> dict[Key, int]:
        """A grade for each passage that somebody decided: the lower median of people's, `UNJUDGED` where all of them
        say that it cannot be judged."""
        answers: dict[str, list[SavedAnswer]] = {}
        for by_item in self._store.list_all_answers().values():
            for item, answer in by_item.items():
                if answer.is_annotator_done_with_item and item in self._keys_by_item_id:
                    answers.setdefault(item, []).append(answer)
        return {self._keys_by_item_id[item]: _median_grade(of_item) for item, of_item in answers.items()}


def _median_grade(answers: list[SavedAnswer]) -> int:
    grades = [int(answer.value) for answer in answers if answer.has_scorable_value]
    return statistics.median_low(grades) if grades else UNJUDGED
