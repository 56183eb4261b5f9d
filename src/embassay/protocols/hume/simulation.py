"""Scripted annotators, who know the gold and err in a known way: they stand in for people where there are none.

For demonstrations, tests and loads of a server. Every answer is marked `simulated`, and tables say so: nobody
annotated, and a score of theirs says nothing about people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.hume.folder import AnnotationRow, Scale, StudyFolder, Task
from embassay.protocols.hume.study import Family, Who
from embassay.randomness import random_bytes

KIND: Who = "simulated"
Chance = Callable[..., float]
"""A number in (0, 1) by what it is for: the same for the same words."""


def simulated_rows(folder: StudyFolder, annotators: int, *, noise: float, seed: int) -> list[AnnotationRow]:
    """The answers of several scripted annotators to a whole study: `simulated-1` and so on."""
    golds = {task.name: folder.gold(task.name) for task in folder.study.tasks}
    return [
        row
        for number in range(1, annotators + 1)
        for task in folder.study.tasks
        for row in simulated(task, golds[task.name], f"{KIND}-{number}", noise=noise, seed=seed)
    ]


def simulated(
    task: Task, gold: Mapping[str, Any], annotator_id: str, *, noise: float, seed: int
) -> list[AnnotationRow]:
    """The answers of one scripted annotator to every item of a task, in the order of `gold`.

    `noise` in [0, 1] is, by family: the chance that a label is another one, drawn evenly; that a mark is toggled; that
    a text is moved to another group, drawn evenly; and for ratings the standard deviation of a normal error, as a share
    of the scale, before the rating is rounded to a step and held on the scale. Two annotators err independently; the
    answers do not depend on the order of items. Raises UsageError for a noise outside [0, 1].
    """
    if not 0 <= noise <= 1:
        raise UsageError(f"The noise is {noise:g}.", mend="Give a share between 0 and 1.")

    def chance(*names: str) -> float:
        drawn = random_bytes(8, seed, "simulated", task.name, annotator_id, *names)
        return (int.from_bytes(drawn, "big") + 0.5) / 2**64

    answers = _ANSWERS[task.family](task, gold, noise, chance)
    return [
        AnnotationRow(
            item_id=item,
            annotator_id=annotator_id,
            value=value,
            seconds=round(3 + 27 * chance("seconds", item), 1),
            kind=KIND,
        )
        for item, value in answers.items()
    ]


def _labels(task: Task, gold: Mapping[str, Any], noise: float, chance: Chance) -> dict[str, Any]:
    labels = task.spec.labels or tuple(sorted(set(gold.values()), key=str))
    return {item: _other(label, labels, noise, chance, item) for item, label in gold.items()}


def _groups(_task: Task, gold: Mapping[str, Any], noise: float, chance: Chance) -> dict[str, Any]:
    clusters = tuple(dict.fromkeys(gold.values()))
    moved = {item: _other(cluster, clusters, noise, chance, item) for item, cluster in gold.items()}
    # Named as someone would who met the texts in this order: gold names would be telling.
    names = {cluster: f"group {place}" for place, cluster in enumerate(dict.fromkeys(moved.values()), 1)}
    return {item: names[cluster] for item, cluster in moved.items()}


def _ratings(task: Task, gold: Mapping[str, Any], noise: float, chance: Chance) -> dict[str, Any]:
    scale = task.scale or Scale()
    spread = noise * (scale.high - scale.low)
    return {
        item: on_scale(
            rating + (NormalDist(0, spread).inv_cdf(chance("rating", item)) if spread else 0), scale
        )
        for item, rating in gold.items()
    }


def _marks(_task: Task, gold: Mapping[str, Any], noise: float, chance: Chance) -> dict[str, Any]:
    return {
        item: [
            int((grade > 0) != (chance("mark", item, str(place)) < noise))
            for place, grade in enumerate(grades)
        ]
        for item, grades in gold.items()
    }


def check_nobody_answered(folder: StudyFolder) -> None:
    """Raises UsageError where people have answered the study: scripts would count beside them in every score."""
    from embassay.protocols.hume.answers import has_store, open_store, stored_annotations
    from embassay.protocols.hume.collection import collected

    found = list(collected(folder))
    if has_store(folder):
        store = open_store(folder, read_only=True)
        try:
            found += stored_annotations(store)
        finally:
            store.close()
    people = sorted({one.annotator_id for one in found if one.kind == "person"})
    if people:
        raise UsageError(
            f"People have answered this study ({', '.join(people)}): scripts would count beside them in every score.",
            mend="Sample it once more into another folder, and simulate there.",
        )


def on_scale(rating: float, scale: Scale) -> float:
    """The step of the scale nearest to a rating, the higher of two; its ends are the limits.

    >>> on_scale(2.4, Scale(step=0.5)), on_scale(7.0, Scale())
    (2.5, 5.0)
    """
    steps = int((scale.high - scale.low) / scale.step + 1e-9)
    step = int((rating - scale.low) / scale.step + 0.5) if rating > scale.low else 0
    return float(scale.low + min(step, steps) * scale.step)


def _other(own: Any, among: Sequence[Any], noise: float, chance: Chance, item: str) -> Any:
    """With the chance `noise` another one of `among`."""
    others = [one for one in among if one != own]
    if not others or chance("errs", item) >= noise:
        return own
    return others[int(chance("which", item) * len(others))]


_ANSWERS: Mapping[Family, Callable[[Task, Mapping[str, Any], float, Chance], dict[str, Any]]] = {
    "classification": _labels,
    "clustering": _groups,
    "sts": _ratings,
    "reranking": _marks,
}
