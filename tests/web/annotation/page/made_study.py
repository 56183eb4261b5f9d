"""A small study of all four families, written by us, with Arabic texts and a task of many labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from embassay.protocols.hume.study import (
    ItemGoldAnswer,
    LabelChoice,
    PracticeItem,
    RatingScale,
    ShownItemRow,
    StudyFile,
    StudyItemSource,
    StudyTask,
    hash_items_and_gold,
    write_study,
)

SOURCE = StudyItemSource(dataset="made")
ANCHORS = {
    "0": "unrelated", "1": "same topic only", "2": "share some details", "3": "roughly the same, key point differs",
    "4": "nearly the same", "5": "same meaning",
}  # fmt: skip
EMOTIONS = {
    "sadness": "loss, disappointment, loneliness", "joy": "happiness, relief, pride",
    "love": "affection, longing, caring", "anger": "annoyance, rage, resentment", "fear": "worry, anxiety, terror",
    "surprise": "astonishment, good or bad",
}  # fmt: skip
PAIRS = [
    ("A woman is slicing a large onion on a wooden board.", "Somebody cuts vegetables in a kitchen."),
    ("The ferry left ten minutes late.", "The boat departed with a short delay."),
    ("He repaired the gate before the rain came.", "Prices of wheat fell again in May."),
    ("Two boys kick a ball against a wall.", "Children are playing with a ball outside."),
]
FEELINGS = [
    "i keep checking my phone even though i know the results will not come before monday",
    "she left her scarf here and i cannot bring myself to wash it",
    "who put salt in the sugar jar again",
    "they named the new bridge after my grandmother",
]
QUERY = "groundwater contamination near the former solvent plant: where was it found?"
DOCUMENTS = [
    "The plant closed in 1998 after inspectors found leaking drums behind the east hall.",
    "Residents were given bottled water for six weeks while the town tested every well.",
    "The town's annual fair drew eight thousand visitors, more than in any year before.",
    "A later study measured the same compounds in three private wells north of the river. The samples were taken in "
    "spring and again in autumn.\n\nThe authors note that none of the wells served as a source of drinking water at "
    "the time, and that the direction of flow under the river is not known well enough to say where the compounds "
    "came from.",
    "Council minutes record a dispute over who should pay for the fence.",
    "The company that ran the plant had been founded by two brothers.",
    "Guidelines for household wells advise testing once a year.",
]
TITLES = [
    "Rotation curves without dark matter", "Adaptive control of a two-wheel robot", "Low-power radio for soil sensors",
    "Counting lattice points in thin shells", "Pulsation of cool giants", "Sparse attention for long documents",
]  # fmt: skip
ARABIC = [("السماء صافية هذا المساء", "المساء جميل والسماء بلا غيوم"), ("وصل القطار متأخرا", "أكل الولد تفاحة")]
TONES = [
    "admiration", "amusement", "anger", "annoyance", "approval", "confusion", "curiosity", "desire", "disgust",
    "embarrassment", "fear", "gratitude", "relief", "remorse",
]  # fmt: skip


def write_made_study(path: Path, *names: str) -> Path:
    """The study with these tasks, all when none is named."""
    tasks = [(task, rows) for task, rows in _every_task() if not names or task.name in names]
    items = [row for _, rows in tasks for row, _ in rows]
    gold = [ItemGoldAnswer(id=row.id, gold=value) for _, rows in tasks for row, value in rows]
    study = StudyFile(
        name="spring study", seed=7, tasks=[task for task, _ in tasks], content=hash_items_and_gold(items, gold),
        guidelines="made",
    )  # fmt: skip
    return write_study(path, study, items, gold)


def _every_task() -> list[tuple[StudyTask, list[tuple[ShownItemRow, Any]]]]:
    return [_pairs(), _halves(), _emotions(), _tones(), _news(), _topics(), _arabic()]


def _task(name: str, family: Any, title: str, question: str, n: int, lang: str = "eng", **more: Any) -> StudyTask:
    guidelines = f"Read **both** the text and the question.\n\n- Judge what is said, not how.\n- {question}"
    return StudyTask(
        name=name, family=family, lang=lang, title=title, question=question, guidelines=guidelines, n=n, source=SOURCE,
        **more,
    )  # fmt: skip


def _rows(name: str, payloads: list[dict[str, Any]], gold: list[Any]) -> list[tuple[ShownItemRow, Any]]:
    return [
        (ShownItemRow(id=f"{name}/{i}", task=name, payload=payload), right)
        for i, (payload, right) in enumerate(zip(payloads, gold, strict=True))
    ]


def _pairs() -> tuple[StudyTask, list[tuple[ShownItemRow, Any]]]:
    practice = [
        PracticeItem(
            payload={"text1": "A dog barks.", "text2": "A hound is barking."}, answer=5,
            explanation="Both say the same in other words.",
        )
    ]  # fmt: skip
    question = "How close in meaning are these two texts?"
    task = _task(
        "pairs", "sts", "Sentence pairs", question, len(PAIRS), scale=RatingScale(anchors=ANCHORS), practice=practice
    )
    return task, _rows("pairs", [{"text1": a, "text2": b} for a, b in PAIRS], [2, 4, 0, 3])


def _halves() -> tuple[StudyTask, list[tuple[ShownItemRow, Any]]]:
    task = _task(
        "halves", "sts", "Pairs in half steps", "How close in meaning are these two texts?", 2,
        scale=RatingScale(step=0.5, anchors=ANCHORS),
    )  # fmt: skip
    return task, _rows("halves", [{"text1": a, "text2": b} for a, b in PAIRS[:2]], [2.5, 4])


def _emotions() -> tuple[StudyTask, list[tuple[ShownItemRow, Any]]]:
    labels = [LabelChoice(value=i, name=name, description=EMOTIONS[name]) for i, name in enumerate(EMOTIONS)]
    practice = [
        PracticeItem(payload={"text": "at last the fever is down"}, answer=1, explanation="Relief belongs to joy."),
        PracticeItem(payload={"text": "the door slammed again"}, answer=3, explanation="Annoyance belongs to anger."),
        PracticeItem(payload={"text": "what was that noise"}, answer=4, explanation="Worry belongs to fear."),
    ]
    task = _task(
        "emotion", "classification", "Emotion", "Which emotion does the writer express most?", 4, labels=labels,
        practice=practice,
    )  # fmt: skip
    return task, _rows("emotion", [{"text": text} for text in FEELINGS], [4, 0, 3, 5])


def _tones() -> tuple[StudyTask, list[tuple[ShownItemRow, Any]]]:
    labels = [LabelChoice(value=name, name=name) for name in TONES]
    task = _task("tones", "classification", "Fine emotions", "Which emotion is it?", 2, labels=labels)
    return task, _rows("tones", [{"text": text} for text in FEELINGS[:2]], ["fear", "remorse"])


def _news() -> tuple[StudyTask, list[tuple[ShownItemRow, Any]]]:
    def payload(query: str, texts: list[str]) -> dict[str, Any]:
        return {"query": query, "documents": [{"id": f"d{i}", "text": text} for i, text in enumerate(texts)]}

    practice = [
        PracticeItem(
            payload=payload("opening hours of the library", ["Open from nine to six.", "It was built in 1911."]),
            answer=[1, 0], explanation="Only the first answers the query.",
        )
    ]  # fmt: skip
    payloads = [payload(QUERY, DOCUMENTS), payload("who founded the company", DOCUMENTS[::-1])]
    task = _task(
        "news", "reranking", "News passages", "Which of the 7 documents answer the query?", 2, practice=practice
    )
    return task, _rows("news", payloads, [[1, 1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0]])


def _topics() -> tuple[StudyTask, list[tuple[ShownItemRow, Any]]]:
    practice = [
        PracticeItem(
            payload={"texts": ["Prime gaps", "Spiral arms", "Dwarf galaxies"]}, answer=["m", "g", "g"],
            explanation="Two of them are on galaxies.",
        )
    ]  # fmt: skip
    task = _task(
        "topics", "clustering", "Paper topics", "Put texts on the same topic into the same group", len(TITLES),
        practice=practice,
    )  # fmt: skip
    return task, _rows("topics", [{"text": text} for text in TITLES], ["a", "c", "c", "m", "a", "c"])


def _arabic() -> tuple[StudyTask, list[tuple[ShownItemRow, Any]]]:
    task = _task(
        "arabic", "sts", "أزواج الجمل", "ما مدى تقارب معنى النصين؟", len(ARABIC), lang="ara",
        scale=RatingScale(anchors=ANCHORS),
    )  # fmt: skip
    return task, _rows("arabic", [{"text1": a, "text2": b} for a, b in ARABIC], [4, 0])
