"""A judge whose answers stand in a file: what a model or people said once, to run the rest again without them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from embassay.data.rows import Row, key_of, number_of, shown, wrong
from embassay.data.tables import JsonLines
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.judges import NoVerdict, Ordering, Passage, Question, Verdict
from embassay.runs.folder import digest
from embassay.spec import QUERY, Spec

_COLUMNS = ("query_id", "doc_id", "grade", "score", "place", "order", "draw")

Pair = tuple[str, str]


@dataclass
class Recording:
    """What a file says, by number of the draw: `grades` of (query, document); `scores`, higher first, from which orders
    follow; `orders` of the documents that were shown together, best first."""

    grades: dict[tuple[int, Pair], int] = field(default_factory=dict)
    scores: dict[tuple[int, Pair], float] = field(default_factory=dict)
    orders: dict[tuple[int, str, frozenset[str]], tuple[str, ...]] = field(default_factory=dict)

    @property
    def repeats(self) -> bool:
        """Whether anything was recorded more than once."""
        return any(key[0] > 0 for part in (self.grades, self.scores, self.orders) for key in part)


class RecordedJudge:
    """Answers from a recording. What it does not say is Unanswered; or, where `unjudged` is a grade, that grade, and
    where `orders` is `grades`, an order by grade in which equals stay as they are shown.

    A repeat of which nothing was recorded has the answer of draw 0, see `repeats`.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        unjudged: int | None = None,
        orders: Literal["recorded", "grades"] = "recorded",
        name: str = "recorded",
    ) -> None:
        if unjudged is not None and not 1 <= unjudged <= 5:
            raise UsageError(f"unjudged is {unjudged}.", mend="Give a grade from 1 to 5, or leave it out.")
        self._said, self._unjudged, self._by_grade = recording, unjudged, orders == "grades"
        self.repeats = recording.repeats
        self.name = name
        told = [
            sorted(map(_plain, part.items()))
            for part in (recording.grades, recording.scores, recording.orders)
        ]
        self.identity = f"recorded/1:{digest(told)}:unjudged={unjudged}:orders={orders}"

    def about(self) -> Mapping[str, Any]:
        """What a manifest says."""
        return {"model": self.name, "temperature": None, "top_p": None}

    async def grade(self, question: Question, passage: Passage, *, draw: int = 0) -> Verdict:
        """See `Judge.grade`."""
        return Verdict(self._grade(question, passage, draw))

    async def order(
        self,
        question: Question,
        passages: Sequence[Passage],
        *,
        draw: int = 0,
        repair: bool = False,  # noqa: ARG002 - what it answers is whole
    ) -> Ordering:
        """See `Judge.order`: the recorded order of just these passages, else that of their scores."""
        key = question.id, frozenset(passage.id for passage in passages)
        for number in _numbers(draw):
            if said := self._said.orders.get((number, *key)):
                places = {passage.id: place for place, passage in enumerate(passages)}
                return Ordering(tuple(places[one] for one in said))
        value = self._value(question, draw, {passage.id for passage in passages})
        if value is None:
            raise _unrecorded(self.name, "order", question, passages)
        values = [value(passage) for passage in passages]
        return Ordering(tuple(sorted(range(len(passages)), key=lambda place: -values[place])))

    def _value(self, question: Question, draw: int, ids: set[str]) -> Callable[[Passage], float] | None:
        """What these passages are ordered by; None where the recording does not say."""
        for number in _numbers(draw):
            if all((number, (question.id, one)) in self._said.scores for one in ids):
                return lambda passage: self._said.scores[number, (question.id, passage.id)]
        return (lambda passage: float(self._grade(question, passage, draw))) if self._by_grade else None

    def _grade(self, question: Question, passage: Passage, draw: int) -> int:
        for number in _numbers(draw):
            found = self._said.grades.get((number, (question.id, passage.id)))
            if found is not None:
                return found
        if self._unjudged is None:
            raise _unrecorded(self.name, "grade", question, [passage])
        return self._unjudged


def _numbers(draw: int) -> Iterator[int]:
    """Where an answer is looked for: draws of a whole repeat are numbered by thousands, see `golden.refinement`."""
    yield from dict.fromkeys((draw, draw // 1000, 0))


def open_recorded(
    target: str,
    *,
    unjudged: int | None = None,
    orders: Literal["recorded", "grades"] = "recorded",
) -> RecordedJudge:
    """`recorded:FILE`, see `read_recording` and `RecordedJudge`; `recorded:sample` is what comes with the package for
    12 questions of the sample, those of `--limit 12`."""
    if not target:
        raise UsageError("The judge 'recorded' needs a file.", mend="Write recorded:FILE.jsonl.")
    path = (
        Path(str(files("embassay.data"))) / "sample" / "judgements.jsonl"
        if target == "sample"
        else Path(target)
    )
    params = {"unjudged": unjudged, "orders": orders}
    given = {key: value for key, value in params.items() if value not in (None, "recorded")}
    name = QUERY.format(Spec("recorded", target, given))
    return RecordedJudge(read_recording(path), unjudged=unjudged, orders=orders, name=name)


def read_recording(path: Path) -> Recording:
    """The answers in a JSON Lines file. A line is a grade, `{"query_id", "doc_id", "grade"}`, with `score` (higher
    first) or `place` (1 = best) where orders are to follow from it; or `{"query_id", "order": [doc_id, ...]}`, best
    first. `draw` (0 by default) numbers repeats.

    DataError with file and line for anything else, and for two answers to one question.
    """
    said = Recording()
    for row in JsonLines(path).rows(_COLUMNS):
        query, draw = key_of(row, "query_id"), _whole(row, "draw", 0)
        if row.cells.get("order") is not None:
            order = _order(row)
            _put(said.orders, (draw, query, frozenset(order)), order, row)
            continue
        key = draw, (query, key_of(row, "doc_id"))
        grade, score = number_of(row, "grade"), number_of(row, "score")
        place = number_of(row, "place")
        if grade is not None:
            if grade not in (1, 2, 3, 4, 5) or isinstance(row.cells["grade"], bool):
                raise wrong(row, "grade", "a whole number from 1 to 5")
            _put(said.grades, key, int(grade), row)
        if score is not None or place is not None:
            _put(said.scores, key, score if score is not None else -float(place or 0), row)
        if grade is None and score is None and place is None:
            raise wrong(row, "grade", "a grade, a score, a place or an order")
    return said


def _order(row: Row) -> tuple[str, ...]:
    order = row.cells["order"]
    if not isinstance(order, list) or not order or not all(isinstance(one, str | int) for one in order):
        raise wrong(row, "order", "a list of document ids, best first")
    ids = tuple(str(one) for one in order)
    if len(set(ids)) < len(ids):
        raise wrong(row, "order", "every document once")
    return ids


def _whole(row: Row, column: str, default: int) -> int:
    value = number_of(row, column)
    if value is None:
        return default
    if value < 0 or value != int(value):
        raise wrong(row, column, "a whole number, 0 or more")
    return int(value)


def _put(kept: dict[Any, Any], key: Any, value: Any, row: Row) -> None:
    if kept.setdefault(key, value) != value:
        raise DataError(
            "the same question is answered twice, differently", path=row.path, line=row.line,
            expected=shown(kept[key]), found=shown(value), mend="Keep one answer, or number repeats with draw.",
        )  # fmt: skip


def _unrecorded(name: str, what: str, question: Question, passages: Sequence[Passage]) -> NoVerdict:
    ids = ", ".join(passage.id for passage in passages[:5]) + (", ..." if len(passages) > 5 else "")
    return NoVerdict(
        f"{name} has no {what} of {ids} for the question {question.id}.", ["not recorded"], "empty"
    )


def _plain(item: tuple[Any, Any]) -> str:
    key, value = item
    return json.dumps([[sorted(one) if isinstance(one, frozenset) else one for one in key], value])
