"""Texts to train a classifier on and texts to test it with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from embassay.data.cells import label_of
from embassay.data.intake import Intake
from embassay.data.rows import Row, Source
from embassay.data.sampling import Draw, draw_stratified
from embassay.data.views import View, distinct
from embassay.errors import DataError
from embassay.records import Classification, LabelledTexts

TRAIN, TEST = "train", "test"

Labelled = tuple[str, str, str]
"""Text, label, split."""


@dataclass(frozen=True)
class Tested(View):
    """The split `test` stands for the test side; the source's own split of that name, if another, is left out."""

    test: str

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """The rows of both sides, and of neither."""
        for path, line, cells in self.source.rows(distinct((*columns, "split"))):
            split = cells.get("split")
            if self.test != TEST and split in (self.test, TEST):
                split = TEST if split == self.test else f"not {self.test}"
            yield Row(path, line, {**cells, "split": split})


def classification(source: Source, intake: Intake, limit: int | None, seed: int) -> Classification:
    """Training and test texts with labels; rows without either, and of other splits, are skipped.

    `limit` counts the texts of each side, drawn in proportion to the labels. DataError when a side is empty
    or trains on one label only.
    """

    def parse(row: Row, key: str) -> Labelled | None:
        split = label_of(row, "split")
        if split not in (TRAIN, TEST):
            intake.tally.skip(f"in the split {split!r}" if split else "no split", key)
            return None
        texts = intake.texts(row, key, "text")
        label = label_of(row, "label")
        if texts is not None and label is None:
            intake.tally.skip("no label", key)
        return None if texts is None or label is None else (texts[0], label, split)

    taken = intake.read(source, ["text", "label", "split"], parse, Draw(None, seed))
    train, test = (_side(taken, side, limit, seed, source, intake) for side in (TRAIN, TEST))
    known = set(train.labels)
    if len(known) < 2:
        raise DataError(
            "the texts to train on have one label only", path=source.path, expected="two or more labels",
            found=train.labels[0], mend="Check the columns read as label and split (--map label=COLUMN).",
        )  # fmt: skip
    for key, label in zip(test.ids, test.labels, strict=True):
        if label not in known:
            intake.tally.note("test texts whose label is not trained on", f"{key}: {label}")
    return Classification(train, test)


def _side(
    taken: list[tuple[str, Labelled]], side: str, limit: int | None, seed: int, source: Source, intake: Intake
) -> LabelledTexts:
    rows = [(key, text, label) for key, (text, label, split) in taken if split == side]
    if not rows:
        others = ", ".join(left.reason for left in intake.tally.skipped())
        raise DataError(
            f"there is no usable row of the split {side!r}", path=source.path,
            expected="a column split that says train or test", found=others or f"{len(taken)} of the other",
            mend="Name the test split with --split, and call the other one train.",
        )  # fmt: skip
    kept = draw_stratified([key for key, _, _ in rows], [label for _, _, label in rows], limit, seed)
    ids, texts, labels = zip(*(rows[k] for k in kept), strict=True)
    intake.note_texts(ids, texts)
    return LabelledTexts(ids, texts, labels, ("",) * len(ids))
