"""From the rows of one table to pairs of texts, scored or labelled."""

from __future__ import annotations

import numpy as np

from embassay.data.cells import binary_of, number_of
from embassay.data.intake import Intake, columns_of
from embassay.data.rows import Row, Source
from embassay.data.sampling import Draw, draw_stratified
from embassay.data.unrolled import unrolled
from embassay.errors import DataError
from embassay.records import LabelledPairs, ScoredPairs


def pairs(source: Source, intake: Intake, limit: int | None, seed: int) -> ScoredPairs:
    """Pairs with a score; rows without a text or a score are skipped."""
    source = unrolled(source, ("text", "text2", "score"))

    def parse(row: Row, key: str) -> tuple[tuple[str, ...], float] | None:
        texts = intake.texts(row, key, "text", "text2")
        score = number_of(row, "score")
        if texts is not None and score is None:
            intake.tally.skip("no score", key)
        return None if texts is None or score is None else (texts, score)

    taken = intake.read(source, ["text", "text2", "score"], parse, Draw(limit, seed))
    ids, (first, second) = columns_of([(key, texts) for key, (texts, _) in taken], 2)
    _note_repeats(ids, first, second, intake)
    return ScoredPairs(ids, first, second, np.array([score for _, (_, score) in taken], np.float64))


def labelled_pairs(source: Source, intake: Intake, limit: int | None, seed: int) -> LabelledPairs:
    """Pairs that belong together or not, drawn in proportion to the labels.

    Rows without a text or a label are skipped. DataError for a label that is neither 0 nor 1, and when all
    pairs have one label.
    """
    source = unrolled(source, ("text", "text2", "label"))

    def parse(row: Row, key: str) -> tuple[tuple[str, ...], int] | None:
        texts = intake.texts(row, key, "text", "text2")
        label = binary_of(row, "label")
        if texts is not None and label is None:
            intake.tally.skip("no label", key)
        return None if texts is None or label is None else (texts, label)

    taken = intake.read(source, ["text", "text2", "label"], parse, Draw(None, seed))
    labels = [label for _, (_, label) in taken]
    if len(set(labels)) < 2:
        raise DataError(
            "all pairs have the same label", path=source.path, expected="pairs of label 0 and of label 1",
            found=f"{len(labels)} of label {labels[0]}", mend="Check the column read as label (--map label=COLUMN).",
        )  # fmt: skip
    kept = draw_stratified([key for key, _ in taken], [str(label) for label in labels], limit, seed)
    ids, (first, second) = columns_of([(taken[k][0], taken[k][1][0]) for k in kept], 2)
    _note_repeats(ids, first, second, intake)
    return LabelledPairs(ids, first, second, np.array([labels[k] for k in kept], np.int8))


def _note_repeats(
    ids: tuple[str, ...], first: tuple[str, ...], second: tuple[str, ...], intake: Intake
) -> None:
    # As one text each: the second text of many pairs is rightly the same.
    intake.note_texts(ids, [f"{one}\0{other}" for one, other in zip(first, second, strict=True)], "pair")
