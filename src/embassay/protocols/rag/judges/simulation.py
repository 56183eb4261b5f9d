"""A judge that knows the judgements, and errs as much as it is told to: for tests, and to try a golden set out.

Every draw is named by the seed, the question, the passages as they are shown and the number of the draw, so that
answers depend neither on the order of calls nor on how many are made at once.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from embassay.data.judged_runs import read_qrels_entries
from embassay.data.retrieval import grade_map
from embassay.data.rows import SourceRow, format_value_for_error, make_cell_error, read_number_cell, read_row_id
from embassay.data.tables import JsonLinesTable
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.inputs import make_letter_labels
from embassay.protocols.rag.judges import (
    GradeVerdict,
    NoValidJudgement,
    Passage,
    PassageOrdering,
    Question,
    chat,
    make_unreadable_answers_error,
)
from embassay.randomness import make_seeded_generator
from embassay.runs.folder import digest_json
from embassay.spec import QUERY, Spec

_COLUMNS = ("query_id", "doc_id", "grade", "score", "place", "order", "draw")

Pair = tuple[str, str]


@dataclass
class JudgementsReadFromFile:
    """What a file says, by number of the draw: `grades` of (query, document); `scores`, higher first, from which orders
    follow; `orders` of the documents that were shown together, best first."""

    grades: dict[tuple[int, Pair], int] = field(default_factory=dict)
    scores: dict[tuple[int, Pair], float] = field(default_factory=dict)
    orders: dict[tuple[int, str, frozenset[str]], tuple[str, ...]] = field(default_factory=dict)

    @property
    def has_repeated_judgements(self) -> bool:
        """Whether anything was recorded more than once."""
        return any(key[0] > 0 for part in (self.grades, self.scores, self.orders) for key in part)


class RecordedJudge:
    """Answers from a recording. What it does not say is Unanswered; or, where `unjudged` is a grade, that grade, and
    where `orders` is `grades`, an order by grade in which equals stay as they are shown.

    A repeat of which nothing was recorded has the answer of draw 0, see `repeats`.
    """

    def __init__(
        self,
        recording: JudgementsReadFromFile,
        *,
        unjudged: int | None = None,
        orders: Literal["recorded", "grades"] = "recorded",
        name: str = "recorded",
    ) -> None:
        if unjudged is not None and not 1 <= unjudged <= 5:
            raise UsageError(f"unjudged is {unjudged}.", mend="Give a grade from 1 to 5, or leave it out.")
        self._said, self._unjudged, self._by_grade = recording, unjudged, orders == "grades"
        self.repeats = recording.has_repeated_judgements
        self.name = name
        parts = [
            sorted(map(_make_answer_sort_key, part.items()))
            for part in (recording.grades, recording.scores, recording.orders)
        ]
        self.identity = f"recorded/1:{digest_json(parts)}:unjudged={unjudged}:orders={orders}"

    def about(self) -> Mapping[str, Any]:
        """Describe the recording for a manifest."""
        return {"model": self.name, "temperature": None, "top_p": None}

    async def grade(self, question: Question, passage: Passage, *, draw: int = 0) -> GradeVerdict:
        """See `Judge.grade`."""
        return GradeVerdict(self._find_recorded_grade(question, passage, draw))

    async def order(
        self,
        question: Question,
        passages: Sequence[Passage],
        *,
        draw: int = 0,
        repair: bool = False,  # noqa: ARG002 - what it answers is whole
    ) -> PassageOrdering:
        """Order the passages as recorded for just these, else by their scores."""
        key = question.id, frozenset(passage.id for passage in passages)
        for number in _list_repeat_numbers_to_look_up(draw):
            if order := self._said.orders.get((number, *key)):
                places = {passage.id: place for place, passage in enumerate(passages)}
                return PassageOrdering(tuple(places[doc] for doc in order))
        value = self._find_passage_sort_key(question, draw, {passage.id for passage in passages})
        if value is None:
            raise _make_unrecorded_error(self.name, "order", question, passages)
        values = [value(passage) for passage in passages]
        return PassageOrdering(tuple(sorted(range(len(passages)), key=lambda place: -values[place])))

    def _find_passage_sort_key(self, question: Question, draw: int, ids: set[str]) -> Callable[[Passage], float] | None:
        """What these passages are ordered by; None where the recording does not say."""
        for number in _list_repeat_numbers_to_look_up(draw):
            if all((number, (question.id, doc)) in self._said.scores for doc in ids):
                return lambda passage: self._said.scores[number, (question.id, passage.id)]
        return (lambda passage: float(self._find_recorded_grade(question, passage, draw))) if self._by_grade else None

    def _find_recorded_grade(self, question: Question, passage: Passage, draw: int) -> int:
        for number in _list_repeat_numbers_to_look_up(draw):
            grade = self._said.grades.get((number, (question.id, passage.id)))
            if grade is not None:
                return grade
        if self._unjudged is None:
            raise _make_unrecorded_error(self.name, "grade", question, [passage])
        return self._unjudged


def _list_repeat_numbers_to_look_up(draw: int) -> Iterator[int]:
    """Where an answer is looked for: draws of a whole repeat are numbered by thousands, see `golden.refinement`."""
    yield from dict.fromkeys((draw, draw // 1000, 0))


def open_recorded_judge(
    target: str, *, unjudged: int | None = None, orders: Literal["recorded", "grades"] = "recorded"
) -> RecordedJudge:
    """`recorded:FILE`, see `read_recorded_judgements` and `RecordedJudge`; `recorded:sample` is what comes with the
    package for 12 questions of the sample, those of `--limit 12`."""
    if not target:
        raise UsageError("The judge 'recorded' needs a file.", mend="Write recorded:FILE.jsonl.")
    path = Path(str(files("embassay.data"))) / "sample" / "judgements.jsonl" if target == "sample" else Path(target)
    params = {"unjudged": unjudged, "orders": orders}
    named = {key: value for key, value in params.items() if value not in (None, "recorded")}
    name = QUERY.format(Spec("recorded", target, named))
    return RecordedJudge(read_recorded_judgements(path), unjudged=unjudged, orders=orders, name=name)


def read_recorded_judgements(path: Path) -> JudgementsReadFromFile:
    """The answers in a JSON Lines file. A line is a grade, `{"query_id", "doc_id", "grade"}`, with `score` (higher
    first) or `place` (1 = best) where orders are to follow from it; or `{"query_id", "order": [doc_id, ...]}`, best
    first. `draw` (0 by default) numbers repeats.

    DataError with file and line for anything else, and for two answers to one question.
    """
    recording = JudgementsReadFromFile()
    for row in JsonLinesTable(path).rows(_COLUMNS):
        query, draw = read_row_id(row, "query_id"), _read_whole_number_cell(row, "draw", 0)
        if row.cells.get("order") is not None:
            order = _parse_recorded_order(row)
            _add_recorded_answer(recording.orders, (draw, query, frozenset(order)), order, row)
            continue
        key = draw, (query, read_row_id(row, "doc_id"))
        grade, score = read_number_cell(row, "grade"), read_number_cell(row, "score")
        place = read_number_cell(row, "place")
        if grade is not None:
            if grade not in (1, 2, 3, 4, 5) or isinstance(row.cells["grade"], bool):
                raise make_cell_error(row, "grade", "a whole number from 1 to 5")
            _add_recorded_answer(recording.grades, key, int(grade), row)
        if score is not None or place is not None:
            _add_recorded_answer(recording.scores, key, score if score is not None else -float(place or 0), row)
        if grade is None and score is None and place is None:
            raise make_cell_error(row, "grade", "a grade, a score, a place or an order")
    return recording


def _parse_recorded_order(row: SourceRow) -> tuple[str, ...]:
    order = row.cells["order"]
    if not isinstance(order, list) or not order or not all(isinstance(doc, str | int) for doc in order):
        raise make_cell_error(row, "order", "a list of document ids, best first")
    ids = tuple(str(doc) for doc in order)
    if len(set(ids)) < len(ids):
        raise make_cell_error(row, "order", "each document once")
    return ids


def _read_whole_number_cell(row: SourceRow, column: str, default: int) -> int:
    value = read_number_cell(row, column)
    if value is None:
        return default
    if value < 0 or value != int(value):
        raise make_cell_error(row, column, "a whole number, 0 or more")
    return int(value)


def _add_recorded_answer(answers: dict[Any, Any], key: Any, value: Any, row: SourceRow) -> None:
    if answers.setdefault(key, value) != value:
        raise DataError(
            "the same question has two different answers", path=row.path, line=row.line,
            expected=format_value_for_error(answers[key]), found=format_value_for_error(value),
            mend="Keep one answer, or number repeated answers with `draw`."
        )  # fmt: skip


def _make_unrecorded_error(name: str, what: str, question: Question, passages: Sequence[Passage]) -> NoValidJudgement:
    ids = ", ".join(passage.id for passage in passages[:5]) + (", ..." if len(passages) > 5 else "")
    return NoValidJudgement(f"{name} has no {what} of {ids} for the question {question.id}.", ["not recorded"], "empty")


def _make_answer_sort_key(item: tuple[Any, Any]) -> str:
    key, value = item
    return json.dumps([[sorted(part) if isinstance(part, frozenset) else part for part in key], value])


Grades = Mapping[str, Mapping[str, int]]

_CODE = "code"
"""How some collections call the column of the judgements; looked for where no column is named and none is usual."""


def read_known_grades(path: Path, grades: str = "identity", column: str = "") -> Grades:
    """The grades in a file of judgements, or in the qrels of a folder (see `read_qrels_entries`), through a grade map
    (spec rag 1.1; `grades` as in `--grades`); `column` is the one they stand in. Rows whose value the map drops are
    left out.

    DataError, with file and line, for what cannot be read, a value that is not in the map, or two grades of one pair.
    """
    entries = read_qrels_entries(path.expanduser(), {"relevance": column or _CODE})
    values = grade_map(grades)
    judged: dict[str, dict[str, int]] = {}
    for row, (query, doc, value) in enumerate(entries.frame.iter_rows()):
        if value not in values:
            raise entries.make_entry_error(
                row, "the judgement is not in the grade map",
                expected=", ".join(f"{level:g}" for level in values), found=f"{value:g}",
                mend="Use grades= to choose a map that fits, or write one as value=grade,..."
            )  # fmt: skip
        grade = values[value]
        if grade is not None and judged.setdefault(query, {}).setdefault(doc, grade) != grade:
            raise entries.make_entry_error(
                row, f"query {query!r} and document {doc!r} have two different judgements",
                expected=f"grade {judged[query][doc]}, as before", found=f"grade {grade}",
                mend="Keep one judgement per query and document."
            )  # fmt: skip
    if not judged:
        raise DataError(
            "no judgements are left", path=path, mend="The grade map drops them all. Choose another with grades=."
        )
    return judged


T = TypeVar("T")

# The standard deviation of a standard Gumbel draw.
_GUMBEL_SD = math.pi / math.sqrt(6)
MALFORMED_GRADES = (
    "true", '{"grade": true}', '{"grade": 7}', '{"grade": 3.5}', 'Say {"grade": 4} or {"grade": 5}.',
    '{"rating": 4}', '{"grade": 4, "grade": 2}', "", '{"grade": ', "I cannot help with that.",
    '{"grade": "4"}', '{"grade": [4, 5]}'
)  # fmt: skip
"""Answers that are no grade, each in a way of its own."""


@dataclass(frozen=True)
class JudgeNoise:
    """How a simulated judge errs. Utilities are grades plus `jitter` x U(-0.5, 0.5), fixed for every passage, so that
    they round to the grade; units are grades.

    `grade_noise` and `order_noise` are standard deviations of what is added to them for each grade and each place;
    `law` is that of the orders' noise. `position` is added to the passage shown first, taken from the last, and goes
    from one to the other in equal steps. `random` is the share of answers that are drawn blindly, `malformed` the share
    of attempts that bring no answer, `failing` the share of calls that never get one.
    """

    grade_noise: float = 0.0
    order_noise: float = 0.0
    law: Literal["gaussian", "gumbel"] = "gaussian"
    jitter: float = 1.0
    position: float = 0.0
    random: float = 0.0
    malformed: float = 0.0
    failing: float = 0.0

    def __post_init__(self) -> None:
        if self.grade_noise < 0 or self.order_noise < 0:
            raise UsageError("Noise cannot be negative.", mend="Use 0 or more for grade_noise and order_noise.")
        for name in ("jitter", "random", "malformed", "failing"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} is {getattr(self, name)}.", mend="Use a number from 0 to 1.")


class SimulatedJudge:
    """Judges by `grades` (query id -> document id -> 1 to 5); what they do not name has the grade `unjudged`.

    A chunk `doc#3` has the grade of `doc` where it has none of its own.
    """

    repeats = True

    def __init__(
        self,
        grades: Grades,
        noise: JudgeNoise = JudgeNoise(),
        *,
        unjudged: int = 1,
        seed: int = 1337,
        attempts: int = 6,
        latency: float = 0.0,
        name: str = "simulated",
    ) -> None:
        if not 1 <= unjudged <= 5 or attempts < 1 or latency < 0:
            raise UsageError(
                f"A simulated judge cannot use unjudged={unjudged}, attempts={attempts}, latency={latency}.",
                mend="Use a grade from 1 to 5, at least 1 attempt, and a latency of 0 or more seconds.",
            )
        self._grades, self._noise, self._unjudged = grades, noise, unjudged
        self._seed, self._attempts, self._latency = seed, attempts, latency
        self.name = name
        errors = ":".join(f"{key}={value}" for key, value in asdict(noise).items())
        truth = digest_json({query: dict(of_query) for query, of_query in grades.items()})
        self.identity = f"simulated/1:{truth}:{errors}:unjudged={unjudged}:attempts={attempts}:seed={seed}"

    def about(self) -> Mapping[str, Any]:
        """What a manifest says."""
        return {"model": self.name, "temperature": None, "top_p": None, "attempts": self._attempts,
                "noise": asdict(self._noise)}  # fmt: skip

    def find_true_grade(self, question: Question, passage: Passage) -> int:
        """The grade that is known of a passage."""
        grades = self._grades.get(question.id, {})
        grade = grades.get(passage.id)
        return grade if grade is not None else grades.get(passage.id.rpartition("#")[0], self._unjudged)

    def compute_true_utility(self, question: Question, passage: Passage) -> float:
        """How useful the passage really is, in grades, without noise."""
        drawn = make_seeded_generator(self._seed, "utility", question.id, passage.id).random()
        return self.find_true_grade(question, passage) + self._noise.jitter * (drawn - 0.5)

    async def grade(self, question: Question, passage: Passage, *, draw: int = 0) -> GradeVerdict:
        """See `Judge.grade`."""
        about = ("grade", question.id, passage.id)
        rejected = await self._simulate_malformed_judge_answers(about, draw, chat.parse_grade_answer, MALFORMED_GRADES)
        rng = make_seeded_generator(self._seed, *about, str(draw))
        if rng.random() < self._noise.random:
            return GradeVerdict(int(rng.integers(1, 6)), len(rejected) + 1, rejected)
        noisy = self.compute_true_utility(question, passage) + self._noise.grade_noise * rng.standard_normal()
        return GradeVerdict(int(np.clip(np.rint(noisy), 1, 5)), len(rejected) + 1, rejected)

    async def order(
        self,
        question: Question,
        passages: Sequence[Passage],
        *,
        draw: int = 0,
        repair: bool = False,  # noqa: ARG002 - what it answers is whole
    ) -> PassageOrdering:
        """See `Judge.order`."""
        about = ("order", question.id, *(passage.id for passage in passages))
        names = make_letter_labels(len(passages))
        rejected = await self._simulate_malformed_judge_answers(
            about, draw, lambda text: chat.parse_order_answer(text, names), make_malformed_order_answers(names)
        )
        rng = make_seeded_generator(self._seed, *about, str(draw))
        if rng.random() < self._noise.random:
            return PassageOrdering(tuple(rng.permutation(len(passages)).tolist()), len(rejected) + 1, rejected)
        noisy = np.array([self.compute_true_utility(question, passage) for passage in passages])
        noisy += self._noise.order_noise * self._draw_judge_noise(rng, len(passages))
        # What is shown first gains as much as what is shown last loses.
        noisy += self._noise.position * np.linspace(1, -1, len(passages))
        order = tuple(np.argsort(-noisy, kind="stable").tolist())
        return PassageOrdering(order, len(rejected) + 1, rejected)

    def _draw_judge_noise(self, rng: np.random.Generator, n: int) -> Any:
        """Noise of standard deviation 1, (n,)."""
        return rng.standard_normal(n) if self._noise.law == "gaussian" else rng.gumbel(size=n) / _GUMBEL_SD

    async def _simulate_malformed_judge_answers(
        self, about: Sequence[str], draw: int, read: Callable[[str], T], malformed: Sequence[str]
    ) -> tuple[str, ...]:
        """What was wrong with the answers before the first good one. NoVerdict where there is none."""
        if self._latency:
            await asyncio.sleep(self._latency)
        if not self._noise.malformed and not self._noise.failing:
            return ()
        # Without the draw in its name: what fails once, fails at every repeat.
        hopeless = make_seeded_generator(self._seed, "failing", *about).random() < self._noise.failing
        rng = make_seeded_generator(self._seed, "malformed", *about, str(draw))
        rejected: list[str] = []
        while hopeless or rng.random() < self._noise.malformed:
            try:
                read(malformed[int(rng.integers(len(malformed)))])
            except chat.MalformedJudgement as error:
                rejected.append(str(error))
            if len(rejected) == self._attempts:
                raise make_unreadable_answers_error(self.name, rejected)
        return tuple(rejected)


def make_malformed_order_answers(names: Sequence[str]) -> tuple[str, ...]:
    """Answers that are no order of these labels, each in a way of its own."""
    whole, first = list(names), list(names[:1])
    lists = (whole[1:], [*whole, *first], [*whole[1:], "?"], [*whole[1:], *whole[1:2]])
    texts = ('{"order": "' + ", ".join(whole) + '"}', "The first is best.", "", '{"order": ["A"', '{"best": "A"}')
    return (*(f'{{"order": {_format_json_list(listing)}}}' for listing in lists), *texts)


def open_simulated_judge(
    target: str,
    *,
    grades: str = "identity",
    column: str = "",
    unjudged: int = 1,
    seed: int = 1337,
    attempts: int = 6,
    latency: float = 0.0,
    noise: JudgeNoise = JudgeNoise(),
) -> SimulatedJudge:
    """`simulated:QRELS`: the judgements in a file, or of the retrieval set in a folder, through the map `grades`.

    `column` is where they stand, where it is none of the usual names; `latency` is the seconds that every answer takes.
    """
    if not target:
        raise UsageError("The judge 'simulated' needs judgements.", mend="Write simulated:FILE.")
    arguments = {
        "grades": grades,
        "column": column,
        "unjudged": unjudged,
        "seed": seed,
        "attempts": attempts,
        **asdict(noise),
    }
    params = {key: value for key, value in arguments.items() if value != _DEFAULTS[key]}
    return SimulatedJudge(
        read_known_grades(Path(target), grades, column), noise, unjudged=unjudged, seed=seed, attempts=attempts,
        latency=latency, name=QUERY.format(Spec("simulated", target, params))
    )  # fmt: skip


_DEFAULTS = {"grades": "identity", "column": "", "unjudged": 1, "seed": 1337, "attempts": 6, **asdict(JudgeNoise())}


def _format_json_list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
