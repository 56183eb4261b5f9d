"""What the owner of a study sees of it: how far everybody is, how well they agree, and what they remarked."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embassay.protocols.hume.answers import Annotator, Saved
from embassay.protocols.hume.folder import Task
from embassay.protocols.hume.study import Item, read_value

if TYPE_CHECKING:
    from embassay.protocols.hume.scoring.agreement import PeopleAgreement

AnswersBy = Mapping[str, Mapping[str, Saved]]
_EXCERPT = 160


@dataclass(frozen=True)
class Progress:
    """How far one annotator is with one task. `complete` answers have a value; of `decided` ones the rest could not be
    judged. `median_seconds` is over decided items, None before the first."""

    annotator: Annotator
    task: str
    items: int
    decided: int
    complete: int
    flagged: int
    median_seconds: float | None
    finished_at: str | None


@dataclass(frozen=True)
class TaskOverview:
    """A task, everybody's progress, and the agreement on the items that two or more have answered; `left_out` of it are
    those who have answered too few (`who_counts`)."""

    task: Task
    items: int
    progress: tuple[Progress, ...]
    agreement: PeopleAgreement
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Remark:
    """A flag or a comment, with the beginning of the item it is about."""

    annotator: Annotator
    task: str
    item_id: str
    excerpt: str
    flag: str
    comment: str
    saved_at: str


@dataclass(frozen=True)
class Overview:
    """All of it. `last_saved_at` is None before the first answer."""

    annotators: tuple[Annotator, ...]
    tasks: tuple[TaskOverview, ...]
    remarks: tuple[Remark, ...]
    last_saved_at: str | None

    @property
    def wanted(self) -> int:
        """How many answers there are when all is done."""
        return sum(one.items for task in self.tasks for one in task.progress)

    @property
    def decided(self) -> int:
        """How many there are."""
        return sum(one.decided for task in self.tasks for one in task.progress)

    @property
    def done(self) -> tuple[Annotator, ...]:
        """Who has finished every task."""
        return tuple(
            one for one in self.annotators
            if all(p.finished_at for task in self.tasks for p in task.progress if p.annotator.id == one.id)
        )  # fmt: skip


def overview(
    tasks: Sequence[Task],
    items: Mapping[str, Sequence[Item]],
    annotators: Sequence[Annotator],
    answers: AnswersBy,
    finished: Mapping[str, Mapping[str, str]],
) -> Overview:
    """The overview of a study: its tasks, their items by task, and what the store holds. No gold is needed."""
    saved = [one.saved_at for own in answers.values() for one in own.values()]
    return Overview(
        tuple(annotators),
        tuple(_task(task, items[task.name], annotators, answers, finished) for task in tasks),
        tuple(_remarks(items, annotators, answers)),
        max(saved, default=None),
    )


def _task(
    task: Task,
    items: Sequence[Item],
    annotators: Sequence[Annotator],
    answers: AnswersBy,
    finished: Mapping[str, Mapping[str, str]],
) -> TaskOverview:
    progress = []
    for annotator in annotators:
        own = answers.get(annotator.id, {})
        given = [own[item.id] for item in items if item.id in own]
        decided = [one for one in given if one.is_decided]
        times = [one.seconds for one in decided if one.seconds]
        progress.append(
            Progress(
                annotator, task.name, len(items), len(decided), sum(one.is_complete for one in given),
                sum(bool(one.flag) for one in given), statistics.median(times) if times else None,
                finished.get(annotator.id, {}).get(task.name),
            )
        )  # fmt: skip
    return TaskOverview(task, len(items), tuple(progress), *_agreement(task, items, answers))


def _agreement(
    task: Task, items: Sequence[Item], answers: AnswersBy
) -> tuple[PeopleAgreement, tuple[str, ...]]:
    # The numeric libraries wait for the first look: a server that was killed is up again sooner.
    from embassay.protocols.hume.scoring.agreement import people_agreement
    from embassay.protocols.hume.scoring.people import who_counts

    read: dict[str, dict[str, Any]] = {}
    for annotator in sorted(answers):
        own = answers[annotator]
        read[annotator] = {
            item.id: _value(task, item, own[item.id].value)
            for item in items
            if item.id in own and own[item.id].is_complete
        }
    counted = who_counts(read)
    few = tuple(name for name, own in read.items() if own and name not in counted)
    return people_agreement(task.family, counted), few


def _value(task: Task, item: Item, value: Any) -> Any:
    like = (0,) * len(item.payload.get("documents", ())) if task.family == "reranking" else None
    return read_value(task.spec, value, f"The answer to {item.id}", like=like)


def _remarks(
    items: Mapping[str, Sequence[Item]], annotators: Sequence[Annotator], answers: AnswersBy
) -> list[Remark]:
    """The latest first."""
    found = [
        Remark(annotator, task, item.id, excerpt(item), one.flag, one.comment, one.saved_at)
        for annotator in annotators
        for task, own in items.items()
        for item in own
        if (one := answers.get(annotator.id, {}).get(item.id)) is not None and (one.flag or one.comment)
    ]
    return sorted(found, key=lambda one: (one.saved_at, one.annotator.id, one.item_id), reverse=True)


def excerpt(item: Item) -> str:
    """The beginning of what an item shows first: its text, its query or the first of its two texts."""
    shown = (item.payload.get(name) for name in ("text", "query", "text1"))
    text = " ".join(str(next((one for one in shown if one), "")).split())
    return text if len(text) <= _EXCERPT else text[:_EXCERPT].rstrip() + " …"
