"""A study that systems can be scored on: texts about three things, what to train on, and people who answered."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from embassay.protocols.hume.study import (
    AnnotationRow,
    Family,
    ItemGoldAnswer,
    LabelChoice,
    ShownItemRow,
    StudyFile,
    StudyItemSource,
    StudyTask,
    Who,
    hash_items_and_gold,
    write_annotations,
    write_study,
)

WORDS = {
    "food": ("soup", "bread", "oven", "butter", "salad", "kitchen", "dinner", "cheese", "onion", "recipe"),
    "music": ("violin", "choir", "melody", "concert", "drummer", "piano", "song", "chord", "opera", "rhythm"),
    "sport": ("goal", "race", "team", "coach", "stadium", "runner", "match", "tennis", "medal", "referee"),
}
TOPICS = tuple(WORDS)
N = 12
FAMILIES: tuple[Family, ...] = ("classification", "clustering", "reranking", "sts")
PEOPLE = {"ann": 0.1, "bob": 0.3}
"""Annotators and how often they err."""


def text_about(topic: str, random: Random, words: int = 6) -> str:
    """A text with words of a topic."""
    return " ".join(["the", *random.choices(WORDS[topic], k=words)])


def scored_study(folder: Path, *, families: Sequence[Family] = FAMILIES, people: Mapping[str, float] = PEOPLE,
                 kind: Who = "person") -> Path:  # fmt: skip
    """Write a study of 12 items per family with training texts beside it, and what `people` answered."""
    random = Random(11)
    train = folder / "train.csv"
    folder.mkdir(parents=True, exist_ok=True)
    with train.open("w", newline="") as file:
        rows = [
            (f"t{at}", text_about(TOPICS[at % 3], random), TOPICS[at % 3], "train" if at < 90 else "test")
            for at in range(120)
        ]
        csv.writer(file).writerows([("id", "text", "label", "split"), *rows])
    made = [_task(family, train, random) for family in families]
    items, gold = ([row for part in made for row in part[place]] for place in (1, 2))
    study = StudyFile(
        name="scored", seed=7, tasks=[task for task, _, _ in made], content=hash_items_and_gold(items, gold),
        guidelines="g",
    )  # fmt: skip
    path = write_study(folder / "study", study, items, gold)
    annotate(path, items, gold, people, kind=kind)
    return path


def annotate(
    path: Path, items: Sequence[ShownItemRow], gold: Sequence[ItemGoldAnswer], people: Mapping[str, float], *,
    kind: Who = "person"
) -> None:  # fmt: skip
    """Write what people answered: the gold, and every so often something else."""
    known = {one.id: one.gold for one in gold}
    for name, noise in people.items():
        random = Random(name)
        rows = [
            AnnotationRow(
                item_id=item.id, annotator_id=name, value=_answer(item, known[item.id], noise, random),
                seconds=float(random.randint(3, 20)), kind=kind,
            )
            for item in items
        ]  # fmt: skip
        write_annotations(path, name, rows)


def _answer(item: ShownItemRow, gold: Any, noise: float, random: Random) -> Any:
    err = random.random() < noise
    if item.task in ("topic", "groups"):
        return random.choice(TOPICS) if err else gold
    if item.task == "pairs":
        return min(5, max(0, round(gold + (random.choice((-2, 2)) if err else 0))))
    return [int((grade > 0) != (random.random() < noise)) for grade in gold]


def _task(family: Family, train: Path, random: Random) -> tuple[StudyTask, list[ShownItemRow], list[ItemGoldAnswer]]:
    name = {"classification": "topic", "clustering": "groups", "reranking": "search", "sts": "pairs"}[family]
    made = [_item(family, at, random) for at in range(N)]
    task = StudyTask(
        name=name, family=family, lang="eng", title=name, question="What is it?", guidelines="Choose.", n=N,
        labels=[LabelChoice(value=one, name=one) for one in TOPICS] if family == "classification" else [],
        source=StudyItemSource(dataset=str(train)),
    )  # fmt: skip
    ids = [f"{name}-{at:02}" for at in range(N)]
    return (
        task,
        [ShownItemRow(id=one, task=name, payload=payload) for one, (payload, _) in zip(ids, made, strict=True)],
        [ItemGoldAnswer(id=one, gold=gold) for one, (_, gold) in zip(ids, made, strict=True)],
    )


def _item(family: Family, at: int, random: Random) -> tuple[dict[str, Any], Any]:
    topic, other = TOPICS[at % 3], TOPICS[(at + 1) % 3]
    if family in ("classification", "clustering"):
        return {"text": text_about(topic, random)}, topic
    if family == "sts":
        words = text_about(topic, random).split()
        kept = at % 6
        changed = [*words[: kept + 1], *random.choices(WORDS[other], k=6 - kept)]
        return {"text1": " ".join(words), "text2": " ".join(changed)}, float(kept)
    grades = [1, 0, 2, 0, 0]
    random.shuffle(grades)
    documents = [
        {"id": f"d{at}-{place}", "text": text_about(topic if grade else random.choice((other, topic)), random)}
        for place, grade in enumerate(grades)
    ]
    return {"query": text_about(topic, random, 3), "documents": documents}, grades
