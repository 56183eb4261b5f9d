"""A golden set that a watched judge graded: which of its passages the judge is asked for, and what a change does to its
labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.data import draw
from embassay.errors import DataError, UsageError
from embassay.measures.judgements import RELEVANT
from embassay.protocols.watch.fingerprint import Fingerprint, GoldenLabels, Packed, WatchItem
from embassay.protocols.watch.impact import mean_change
from embassay.protocols.watch.options import RecordRequest
from embassay.protocols.watch.respondents import Answers
from embassay.randomness import make_generator
from embassay.spec import QUERY
from embassay.stats import Estimate

PASSAGES = 10
"""Passages of a question that the judge is asked for: they stand for all that it graded."""
GROUP = "golden"
"""What the items of a golden set are called among the texts of a fingerprint."""


@dataclass(frozen=True)
class GradedQuestion:
    """A question of a golden set, its text as the judge read it, and the passages that have a grade, 1 to 5."""

    id: str
    text: str
    passages: tuple[str, ...]
    grades: tuple[int, ...]


@dataclass(frozen=True)
class GoldenSet:
    """The questions that are asked for again, each with the passages drawn, of so many `questions` and `passages` that
    have a grade."""

    name: str
    drawn: tuple[GradedQuestion, ...]
    questions: int
    passages: int

    def items(self) -> tuple[WatchItem, ...]:
        """What the judge is asked."""
        return tuple(
            WatchItem(f"golden {one.id}", GROUP, one.text, "query", own=True, others=one.passages)
            for one in self.drawn
        )

    def labels(self, items: Sequence[WatchItem], width: int) -> GoldenLabels:
        """What the golden set says of the items that come from it, `width` passages each at most."""
        rows = tuple(row for row, item in enumerate(items) if item.group == GROUP)
        grades = np.zeros((len(rows), width), dtype=np.int32)
        for row, one in zip(grades, self.drawn, strict=True):
            row[: len(one.grades)] = one.grades
        return GoldenLabels(self.name, self.questions, self.passages, rows, Packed.of(grades, "i4"))


def read_golden_set(request: RecordRequest) -> GoldenSet | None:
    """The part of the golden set that the judge is asked for, drawn at random; None where none is named.

    UsageError for a golden set of another judge, DataError for a folder that holds none.
    """
    if request.golden is None:
        return None
    from embassay.protocols.rag.golden.summary import read_golden

    folder = Path(request.golden).expanduser()
    made = read_golden(folder / "golden.json")
    if _model_of(made.settings.judge) != _model_of(request.name):
        raise UsageError(
            f"The golden set in {folder} was graded by {made.settings.judge}, not by {request.name}.",
            mend="Watch the judge that graded it, or leave --golden out.",
        )
    asked_as = str(dict(made.settings.parameters.get("S4", {})).get("judge_question", "original"))
    graded = _read_questions(
        folder / "export" / "golden.jsonl", "rewrite" if asked_as == "rewrite" else "question"
    )
    seed = request.own.seed
    chosen = draw([one.id for one in graded], request.own.questions, seed)
    drawn = tuple(_draw_passages(graded[row], seed) for row in chosen)
    return GoldenSet(folder.name, drawn, len(graded), sum(len(one.grades) for one in graded))


def _model_of(text: str) -> tuple[str, str | None]:
    """A judge without the parameters that say where and how it is asked."""
    spec = QUERY.parse(text)
    return spec.name, spec.target


def _read_questions(path: Path, field: str) -> list[GradedQuestion]:
    from embassay.protocols.rag.golden.stages import read_rows

    if not path.is_file():
        raise DataError(
            "This golden set has no graded passages", path=path, expected="a line for each graded passage",
            found="no such file", mend="The same `embassay rag golden` command finishes it."
        )  # fmt: skip
    found: dict[str, tuple[str, list[str], list[int]]] = {}
    for row in read_rows(path):
        try:
            key, text, passage, grade = (
                str(row["query_id"]),
                str(row[field]),
                str(row["text"]),
                row["grade"],
            )
            if grade is not None and (type(grade) is not int or not 1 <= grade <= 5):
                raise ValueError(f"grade {grade!r}")
        except (KeyError, ValueError) as error:
            raise DataError(
                "A line is no graded passage", path=path, expected=f"query_id, {field}, text, and grade 1 to 5",
                found=str(error), mend="The same `embassay rag golden` command writes the file anew."
            ) from error  # fmt: skip
        if grade is not None:
            _, passages, grades = found.setdefault(key, (text, [], []))
            passages.append(passage)
            grades.append(grade)
    if not found:
        raise DataError(
            "This golden set has no graded passages", path=path, mend="Finish it, or leave --golden out."
        )
    return [
        GradedQuestion(key, text, tuple(passages), tuple(grades))
        for key, (text, passages, grades) in found.items()
    ]


def _draw_passages(one: GradedQuestion, seed: int) -> GradedQuestion:
    order = make_generator(seed, "watch", GROUP, one.id).permutation(len(one.passages))
    places = sorted(order[:PASSAGES].tolist())
    passages, grades = (tuple(column[place] for place in places) for column in (one.passages, one.grades))
    return GradedQuestion(one.id, one.text, passages, grades)


@dataclass(frozen=True)
class GoldenEffect:
    """What has become of the labels of a golden set, of the questions and passages that were asked for again.

    A label is whether a passage is relevant: a grade of 4 or 5. Of a question's labels, in the mean over questions, the
    share that the judge gave otherwise when it was recorded, `then`, and the share that it gives otherwise `now`; their
    difference, `change`; and the `relevant` share now less that in the golden set.
    """

    name: str
    questions: int
    of_questions: int
    passages: int
    of_passages: int
    then: Estimate
    now: Estimate
    change: Estimate
    relevant: Estimate

    @property
    def holds(self) -> bool:
        """Whether no more labels are others than when the judge was recorded, as far as this sample can say."""
        return self.change.low <= 0


def golden_effect(fingerprint: Fingerprint, rows: Sequence[int], now: Answers) -> GoldenEffect | None:
    """Of answers (n, width) to the items in `rows` (n,); None where none of them is of a golden set."""
    golden = fingerprint.golden
    if golden is None:
        return None
    place_of = {row: place for place, row in enumerate(rows)}
    told = [place for place, row in enumerate(golden.rows) if row in place_of]
    if not told:
        return None
    items = [golden.rows[place] for place in told]
    grades = golden.grades.unpack()[told]
    is_graded = grades > 0
    first, last = (fingerprint.values[items], now[[place_of[row] for row in items]])
    label, was, is_now = (side >= RELEVANT for side in (grades, first, last))
    then_off, now_off = (_mean_rows(side != label, is_graded) for side in (was, is_now))
    relevant = _mean_rows(is_now.astype(float) - label, is_graded)
    return GoldenEffect(
        golden.name, len(told), golden.questions, int(is_graded.sum()), golden.passages,
        _share_of(then_off), _share_of(now_off), mean_change(now_off - then_off), mean_change(relevant)
    )  # fmt: skip


def _mean_rows(
    values: NDArray[np.float64] | NDArray[np.bool_], counted: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The mean of each row (q, width) over what counts."""
    return np.asarray(np.where(counted, values, 0).sum(axis=1) / counted.sum(axis=1), dtype=np.float64)


def _share_of(values: NDArray[np.float64]) -> Estimate:
    """The mean of shares, whose interval stays within 0 and 1."""
    mean = mean_change(values)
    return Estimate(mean.estimate, max(0.0, mean.low), min(1.0, mean.high), mean.n, mean.method)
