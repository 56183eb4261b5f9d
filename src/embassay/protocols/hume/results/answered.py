"""What people and language models answered to a study: everything that is kept of it, read and checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from embassay.errors import DataError
from embassay.protocols.hume.folder import StudyFolder, Task, collected
from embassay.protocols.hume.study import Annotation, Answers, Who, answers_by_annotator
from embassay.runs.files import digest


@dataclass(frozen=True)
class Worker:
    """What is known of one annotator's work on a task: how many items were answered and flagged, and the median of the
    seconds an item took."""

    id: str
    kind: Who
    answered: int
    flagged: int
    seconds: float | None


@dataclass(frozen=True)
class Answered:
    """A task with its gold and what people answered; `workers` are in the order of their ids."""

    task: Task
    items: tuple[str, ...]
    gold: dict[str, Any]
    answers: Answers
    workers: tuple[Worker, ...]

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The items that nobody answered."""
        seen = {item for own in self.answers.values() for item in own}
        return tuple(item for item in self.items if item not in seen)


def answered(folder: StudyFolder, tasks: Sequence[Task], files: Sequence[Path] = ()) -> tuple[Answered, ...]:
    """Every task with what people answered. Raises DataError for a wrong value, or where nobody answered anything."""
    every = collected(folder, files)
    by_item = {item.id: item.task for item in folder.items}
    found = []
    for task in tasks:
        own = [one for one in every if by_item[one.item_id] == task.name]
        gold = folder.gold(task.name)
        answers = answers_by_annotator(task.spec, gold, own)
        items = tuple(item.id for item in folder.items_of(task.name))
        found.append(Answered(task, items, gold, answers, tuple(_workers(own, answers))))
    if not any(own for one in found for own in one.answers.values()):
        raise DataError(
            f"Nobody has annotated {folder.path}" + (f" ({', '.join(map(str, files))})." if files else "."),
            mend="Collect answers with `embassay hume serve`, or bring them with `embassay hume import`.",
        )
    return tuple(found)


def fingerprint(every: Iterable[Answered]) -> str:
    """A fingerprint of all answers: it changes as people go on."""
    return digest([[one.task.name, {name: dict(own) for name, own in one.answers.items()}] for one in every])


def _workers(own: Sequence[Annotation], answers: Answers) -> Iterator[Worker]:
    for name, given in answers.items():
        rows = [one for one in own if one.annotator_id == name]
        times = [one.seconds for one in rows if one.seconds is not None]
        # Someone of whom a single answer is simulated is no person.
        kind: Who = "simulated" if any(one.kind == "simulated" for one in rows) else "person"
        yield Worker(
            name, kind, len(given), sum(bool(one.flag) for one in rows), median(times) if times else None
        )
