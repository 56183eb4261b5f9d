"""What adjudicators see: the items of a study that people answered differently, with the answers and without names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

from embassay.protocols.hume.adjudication import Dispute, disputes
from embassay.protocols.hume.answers.store import AnswerStore, Saved
from embassay.protocols.hume.collection import filed, rows_of_store
from embassay.protocols.hume.folder import AnnotationRow, StudyFolder, Task
from embassay.runs.folder import digest


class Adjudication:
    """The disputes of a study that is served: safe between threads, and made anew when somebody has answered since.

    Files of annotations are read once, at the first look; what is in the store is read each time.
    """

    def __init__(self, folder: StudyFolder, store: AnswerStore) -> None:
        self._folder, self._store, self._lock = folder, store, Lock()
        self._held: tuple[str, Mapping[str, tuple[Dispute, ...]]] | None = None

    @cached_property
    def _filed(self) -> Sequence[AnnotationRow]:
        return [row for rows in filed(self._folder).values() for row in rows]

    def rows(self) -> list[AnnotationRow]:
        """Everybody's answers, those of files first."""
        return [*self._filed, *rows_of_store(self._store)]

    def disputes(self) -> Mapping[str, tuple[Dispute, ...]]:
        """Those of every task by its name, the farthest apart first."""
        rows = self.rows()
        mark = digest([[row.annotator_id, row.item_id, row.value, row.flag, row.comment] for row in rows])
        with self._lock:
            if self._held is None or self._held[0] != mark:
                found = {task.name: disputes(self._folder, task, rows) for task in self._folder.study.tasks}
                self._held = mark, found
            return self._held[1]

    def order(self, adjudicator: str, task: str) -> tuple[str, ...]:
        """The items of a task to decide, the farthest apart first; what was decided stays, also where the people have
        agreed since."""
        now = tuple(one.item for one in self.disputes()[task])
        own = {item.id for item in self._folder.items_of(task)}
        made = self._store.answers(adjudicator)
        before = tuple(
            item for item, one in made.items() if item in own and not one.is_empty and item not in now
        )
        return (*now, *before)

    def shown(self, task: Task, item: str) -> dict[str, Any]:
        """What people answered to an item, for the page; empty where nobody disputes it any more."""
        every = self.disputes()[task.name]
        found = next((one for one in every if one.item == item), None)
        return {} if found is None else {"others": others_shown(task, found, every)}

    def answerers(self, item: str) -> tuple[str, ...]:
        """Who answered an item: a browser that is shown it was shown theirs."""
        return tuple(sorted({row.annotator_id for row in self.rows() if row.item_id == item}))

    def decided(self) -> dict[str, dict[str, int]]:
        """How many items of each task every adjudicator has decided."""
        tasks = {item.id: item.task for item in self._folder.items}
        return {
            one.id: dict(Counter(tasks[item] for item, saved in made.items() if saved.is_decided))
            for one, made in self._made()
        }

    def _made(self) -> list[tuple[Any, Mapping[str, Saved]]]:
        made = self._store.decisions()
        return [(one, made.get(one.id, {})) for one in self._store.adjudicators()]


def others_shown(task: Task, dispute: Dispute, every: Sequence[Dispute]) -> dict[str, Any]:
    """A dispute as the page reads it: how many people said what, by family; groups with the number of their texts."""
    values = [value for _, value in dispute.given]
    told: dict[str, Any] = {
        "people": len(values), "refused": dispute.refused, "remarks": list(dispute.remarks),
    }  # fmt: skip
    if task.family == "reranking":
        return told | {"marks": [sum(marks) for marks in zip(*values, strict=True)]}
    if task.family == "clustering":
        sizes = Counter(given for one in every for given in one.given)
        return told | {
            "groups": [
                {"letter": letter, "group": value, "texts": sizes[letter, value]}
                for letter, value in dispute.given
            ]
        }
    counts = Counter(values)
    return told | {"values": [{"value": value, "people": counts[value]} for value in dict.fromkeys(values)]}
