"""A small study of all four families, made here, with gold that tests know."""

from __future__ import annotations

from pathlib import Path
from random import Random

from embassay.protocols.hume.study import (
    Family,
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

LABELS = [
    LabelChoice(value=0, name="sadness", description="the writer feels sad"),
    LabelChoice(value=1, name="joy", description="the writer feels glad"),
    LabelChoice(value=2, name="anger", description="the writer is angry"),
]
ANCHORS = {"0": "unrelated", "3": "much in common", "5": "the same meaning"}
_WORDS = ("river", "letter", "stone", "violin", "harbour", "winter", "market", "garden", "engine", "island")
_TITLES = {
    "classification": ("mood", "Which feeling does the text express?", "Choose the single best label."),
    "clustering": ("topics", "Which texts are about the same?", "Give texts of one topic the same group."),
    "reranking": ("search", "Which documents answer the query?", "Mark every document that answers it."),
    "sts": ("pairs", "How alike are the two texts in meaning?", "Rate the meaning, not the words."),
}


def small_study(path: Path, n: int = 12, *, families: tuple[Family, ...] = tuple(_TITLES)) -> Path:  # type: ignore[assignment]
    """Write it, `n` items per task, and return its folder."""
    made = [_task(family, n) for family in families]
    items = [item for _, rows, _ in made for item in rows]
    gold = [one for _, _, rows in made for one in rows]
    study = StudyFile(
        name="small", seed=7, tasks=[task for task, _, _ in made], content=hash_items_and_gold(items, gold),
        guidelines="g1",
    )  # fmt: skip
    return write_study(path, study, items, gold)


def _task(family: Family, n: int) -> tuple[StudyTask, list[ShownItemRow], list[ItemGoldAnswer]]:
    name, question, guidelines = _TITLES[family]
    random = Random(f"{family} {n}")
    payloads, gold = zip(*(_item(family, at, random) for at in range(n)), strict=True)
    ids = [f"{name}-{at:02}" for at in range(n)]
    task = StudyTask(
        name=name, family=family, lang="eng", title=f"The {name} task", question=question, guidelines=guidelines, n=n,
        labels=LABELS if family == "classification" else [],
        scale=RatingScale(anchors=ANCHORS) if family == "sts" else None,
        practice=[PracticeItem(payload={"text": "A practice text."}, answer=1, explanation="It is glad.")]
        if family == "classification" else [],
        source=StudyItemSource(dataset=name),
    )  # fmt: skip
    items = [ShownItemRow(id=one, task=name, payload=payload) for one, payload in zip(ids, payloads, strict=True)]
    return task, items, [ItemGoldAnswer(id=one, gold=value) for one, value in zip(ids, gold, strict=True)]


def _item(family: Family, at: int, random: Random) -> tuple[dict[str, object], object]:
    first, second = (f"{random.choice(_WORDS)} {random.choice(_WORDS)} number {at} {side}" for side in "ab")
    if family == "classification":
        return {"text": f'A text of {first}, <b>bold & "quoted"</b>, line\ntwo'}, at % len(LABELS)
    if family == "clustering":
        return {"text": f"A note on {first}"}, f"topic {at % 3}"
    if family == "sts":
        return {"text1": f"Of {first}", "text2": f"Of {second}"}, round(random.uniform(0, 5), 2)
    grades = [2, 1, 0, 0, 0, 0, 1]
    random.shuffle(grades)
    documents = [
        {"id": f"d{at}-{place}", "text": f"{random.choice(_WORDS)} {place} of {first}"} for place in range(len(grades))
    ]
    return {"query": f"What of {first}?", "documents": documents}, grades
