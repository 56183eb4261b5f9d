"""What the store of a study holds, as annotations: what scoring and export read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from embassay.protocols.hume.answers.records import Annotator, Saved
from embassay.protocols.hume.answers.store import AnswerStore
from embassay.protocols.hume.study import Annotation


def stored_annotations(store: AnswerStore) -> tuple[Annotation, ...]:
    """All answers that are decided or commented, by annotator and item; `value` is None where an item was left open or
    could not be judged. What was taken back and says nothing is left out."""
    answers = store.all_answers()
    return tuple(
        _annotation(annotator, answer)
        for annotator in store.annotators()
        for answer in _telling(answers.get(annotator.id, {}))
    )


def _telling(answers: dict[str, Saved]) -> Iterator[Saved]:
    return (one for one in answers.values() if one.is_complete or one.flag or one.comment)


def _annotation(annotator: Annotator, answer: Saved) -> Annotation:
    value: Any = answer.value if answer.is_complete else None
    return Annotation(
        answer.item_id, annotator.id, tuple(value) if isinstance(value, list) else value, answer.saved_at,
        answer.seconds, annotator.kind, answer.flag, answer.comment,
    )  # fmt: skip
