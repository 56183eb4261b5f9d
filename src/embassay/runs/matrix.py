"""Questions by systems: at which place each system has the right passage of each question, and what it has first.

matrix.json            a run's matrices, one for each dataset; of a large one the questions that matter first
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from embassay.limits import WHOLE, parse_json_written_by_embassay, read_bounded_file
from embassay.runs.folder import format_value_as_json, write_file_atomically

FILE = "matrix.json"
MOST_QUESTIONS, MOST_SYSTEMS, MOST_CELLS = 200, 12, 900
"""What is kept of a large run: a page has to open, and nobody reads more."""
FIRST, LOOKED_AT = 3, 10
"""Passages that are shown of each list, and the place up to which a passage is found."""
CLIPPED = 240
"""Characters of a passage."""
BANDS = (1, 3, LOOKED_AT)
"""Places up to which two systems do alike: first, near the first, found."""
Outcome = Literal["differ", "fail", "alike"]
_ORDER: tuple[Outcome, ...] = ("differ", "fail", "alike")


@dataclass(frozen=True)
class QuestionWithRightPassages:
    """A question, the ids of the passages that are right, and its tag and document (empty where unknown)."""

    id: str
    right: tuple[str, ...]
    text: str = ""
    tag: str = ""
    document: str = ""


@dataclass(frozen=True)
class QuestionMatrixRow:
    """A question; for each system the place of the first right passage (0: not found) and the ids of its first ones."""

    id: str
    text: str
    tag: str
    document: str
    right: tuple[str, ...]
    ranks: tuple[int, ...]
    first: tuple[tuple[str, ...], ...]

    @property
    def outcome(self) -> Outcome:
        """Whether the systems differ, all fail (no right passage among the first ten), or do alike."""
        bands = {_find_rank_band(rank) for rank in self.ranks}
        if len(bands) > 1:
            return "differ"
        return "fail" if bands == {len(BANDS)} else "alike"

    @property
    def compute_best_to_worst_gain_gap(self) -> float:
        """How much the best gains over the worst, by nDCG of one passage."""
        gains = [1 / (1 + rank) if rank else 0.0 for rank in self.ranks]
        return max(gains, default=0.0) - min(gains, default=0.0)


@dataclass(frozen=True)
class QuestionMatrix:
    """The questions of a dataset, those that matter first, and the texts of the passages that are named. `total` counts
    all questions by outcome."""

    dataset: str
    systems: tuple[str, ...]
    rows: tuple[QuestionMatrixRow, ...]
    passages: Mapping[str, str]
    total: Mapping[str, int]
    more_systems: int = 0

    @property
    def left_out(self) -> int:
        """Questions that are not among the rows."""
        return sum(self.total.values()) - len(self.rows)


def _find_rank_band(rank: int) -> int:
    return next((place for place, most in enumerate(BANDS) if 0 < rank <= most), len(BANDS))


def build_question_matrix(
    dataset: str,
    questions: Iterable[QuestionWithRightPassages],
    lists: Mapping[str, Mapping[str, Sequence[str]]],
    texts: Mapping[str, str],
    ranks: Mapping[str, Mapping[str, int]] | None = None,
) -> QuestionMatrix:
    """The matrix of a dataset. `lists` has the ranking of each question by system, best first; `ranks` the places of
    their first right passages where these are known to a greater depth than the lists."""
    systems = tuple(lists)[:MOST_SYSTEMS]
    rows = [_make_question_rank_row(question, systems, lists, ranks or {}) for question in questions]
    # Those that tell systems apart come first, the widest gap before the others; then those that nobody answers.
    rows.sort(key=lambda row: (_ORDER.index(row.outcome), -row.compute_best_to_worst_gain_gap, row.id))
    total = Counter[str](row.outcome for row in rows)
    kept = tuple(rows[: min(MOST_QUESTIONS, MOST_CELLS // max(len(systems), 1))])
    named = set[str]()
    for row in kept:
        named.update(row.right[:1], *row.first)
    clipped = {doc: _clip_text(texts[doc]) for doc in sorted(named) if doc in texts}
    return QuestionMatrix(dataset, systems, kept, clipped, dict(total), len(lists) - len(systems))


def _make_question_rank_row(
    question: QuestionWithRightPassages,
    systems: Sequence[str],
    lists: Mapping[str, Mapping[str, Sequence[str]]],
    known: Mapping[str, Mapping[str, int]],
) -> QuestionMatrixRow:
    ranks, first = [], []
    for name in systems:
        docs = lists[name].get(question.id, ())
        rank = known.get(name, {}).get(question.id)
        # A list may end before the place that is known.
        ranks.append(_find_first_right_rank(docs, question.right) if rank is None else rank)
        first.append(tuple(docs[:FIRST]))
    return QuestionMatrixRow(
        question.id, question.text, question.tag, question.document, question.right, tuple(ranks), tuple(first)
    )


def _find_first_right_rank(docs: Sequence[str], right: Sequence[str]) -> int:
    """The place of the first right passage, 0 where there is none."""
    return next((place for place, doc in enumerate(docs, 1) if doc in right), 0)


def _clip_text(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= CLIPPED else words[:CLIPPED].rsplit(" ", 1)[0] + " ..."


def write_question_matrices(run: Path, matrices: Sequence[QuestionMatrix]) -> None:
    """Write the matrices of a run that have a question."""
    plain = [asdict(matrix) for matrix in matrices if matrix.rows]
    if plain:
        write_file_atomically(run / FILE, format_value_as_json(plain) + "\n")


def read_question_matrices(run: Path) -> tuple[QuestionMatrix, ...]:
    """The matrices of a run; none where there is no file."""
    if not (run / FILE).is_file():
        return ()
    plain: Any = parse_json_written_by_embassay(read_bounded_file(run / FILE, WHOLE))
    return tuple(
        QuestionMatrix(
            **{**matrix, "systems": tuple(matrix["systems"]), "rows": tuple(map(_read_matrix_row, matrix["rows"]))}
        )
        for matrix in plain
    )


def _read_matrix_row(plain: Mapping[str, Any]) -> QuestionMatrixRow:
    first = tuple(map(tuple, plain["first"]))
    return QuestionMatrixRow(
        **{**plain, "right": tuple(plain["right"]), "ranks": tuple(plain["ranks"]), "first": first}
    )
