"""Questions by systems, as a grid of a page and as a table of a terminal: people believe what they can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from embassay.document.blocks import (
    Block,
    Heading,
    ParagraphBlock,
    QuestionGridRow,
    QuestionTopResultsGrid,
    RightOrWrongPassage,
    Table,
    TableCell,
    clip_text,
    make_number_columns,
)
from embassay.protocols.kernel import tables as numbers
from embassay.report.record import shorten_names_to_labels
from embassay.runs.matrix import BANDS, LOOKED_AT, QuestionMatrix, QuestionMatrixRow, read_question_matrices

OUTCOMES = {"": "all", "differ": "systems differ", "fail": "all fail", "alike": "all alike"}
"""What rows are filtered by."""
STEPS = (4, 3, 2, 0)
"""The ground of a place: first, near the first, found, beyond."""
PRINTED = 20
"""Questions that a terminal shows."""
MEANS = (
    "The rank of the right passage; – if it was not found. Systems differ if one ranks it first, in the top "
    f"{BANDS[1]} or in the top {LOOKED_AT} and another does not. All fail if none ranks it in the top {LOOKED_AT}."
)


def question_matrix_blocks(run: Path) -> Iterator[Block]:
    """The blocks of a run's question matrices, as grids; nothing where it has no matrix."""
    for number, matrix in enumerate(read_question_matrices(run)):
        if not number:
            yield Heading("Question by question", "matrix")
        yield _make_question_by_system_grid(matrix, f"matrix-{number}" if number else "matrix-grid")


def question_matrix_view(run: Path) -> Iterator[Block]:
    """The first questions of each matrix on a terminal, those that tell systems apart before the others."""
    for matrix in read_question_matrices(run):
        yield ParagraphBlock(_describe_outcome_totals(matrix))
        label = _label_systems(matrix)
        names = [label[system] for system in matrix.systems]
        rows: list[list[str | TableCell]] = [
            [clip_text(row.text or row.id, 36), *(TableCell(_format_rank(rank)) for rank in row.ranks)]
            for row in matrix.rows[:PRINTED]
        ]
        yield Table.of("matrix", ["Question", *make_number_columns(*names)], rows)
        more = sum(matrix.total.values()) - len(rows)
        if more > 0:
            yield ParagraphBlock(
                f"{numbers.format_noun_count(more, 'more question')}; the report also shows their passages."
            )


def _label_systems(matrix: QuestionMatrix) -> dict[str, str]:
    """The systems' names; of stacks what not all of them share, for the others stand in a narrow column."""
    parts = {system: system.split("/") for system in matrix.systems}
    shared = set[str]().union(*parts.values()).intersection(*parts.values()) if len(parts) > 1 else set()
    short = {system: "/".join(part for part in own if part not in shared) for system, own in parts.items()}
    if "/" not in "".join(matrix.systems) or len(set(short.values())) < len(short) or not all(short.values()):
        return shorten_names_to_labels(list(matrix.systems))
    return short


def _make_question_by_system_grid(matrix: QuestionMatrix, id: str) -> QuestionTopResultsGrid:
    label = _label_systems(matrix)
    names = tuple(label[system] for system in matrix.systems)
    total = sum(matrix.total.values())
    outcomes = [
        (value, words, matrix.total.get(value, 0) if value else total)
        for value, words in OUTCOMES.items()
        if not value or matrix.total.get(value)
    ]
    return QuestionTopResultsGrid(
        id,
        f"Questions by systems on {matrix.dataset}",
        names,
        tuple(_make_question_grid_row(row, matrix, names) for row in matrix.rows),
        tuple(outcomes),
        " ".join((MEANS, *_describe_left_out_questions(matrix))),
    )


def _describe_left_out_questions(matrix: QuestionMatrix) -> Iterator[str]:
    if matrix.left_out:
        yield (
            f"The {len(matrix.rows):,} questions that matter most are shown, starting with those on which systems "
            f"differ; {matrix.left_out:,} are left out."
        )
    if matrix.more_systems:
        yield f"{numbers.format_noun_count(matrix.more_systems, 'more system')} left out."


def _make_question_grid_row(row: QuestionMatrixRow, matrix: QuestionMatrix, names: Sequence[str]) -> QuestionGridRow:
    right = set(row.right)

    def make_right_or_wrong_passage(doc: str) -> RightOrWrongPassage:
        return RightOrWrongPassage(doc, matrix.passages.get(doc, ""), doc in right)

    # Variants of a system often have the same first passages, which are read once.
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, docs in zip(names, row.first, strict=True):
        alike.setdefault(docs, []).append(name)
    first = tuple((", ".join(of), tuple(map(make_right_or_wrong_passage, docs))) for docs, of in alike.items())
    # What nobody has among the first is shown after them.
    is_shown = not right.isdisjoint(chain.from_iterable(row.first))
    answer = None if is_shown or not row.right else make_right_or_wrong_passage(row.right[0])
    ranks = tuple((rank, _pick_rank_shade(rank)) for rank in row.ranks)
    return QuestionGridRow(row.text or row.id, row.outcome, row.tag, row.document, ranks, first, answer)


def _pick_rank_shade(rank: int) -> int:
    return next((step for step, most in zip(STEPS, BANDS, strict=False) if 0 < rank <= most), STEPS[-1])


def _format_rank(rank: int) -> str:
    return str(rank) if rank else numbers.NONE


def _describe_outcome_totals(matrix: QuestionMatrix) -> str:
    """`200 questions on docs: 81 differ, 40 all fail, 79 alike`."""
    counted = numbers.format_noun_count(sum(matrix.total.values()), "question")
    said = ", ".join(f"{matrix.total[name]:,} {words}" for name, words in OUTCOMES.items() if matrix.total.get(name))
    return f"{counted} on {matrix.dataset}: {said}. Ranks of the right passage."
