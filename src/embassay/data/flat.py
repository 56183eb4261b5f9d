"""From the rows of one table to the records of the flat shapes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from embassay.data.cells import choice_of, label_of, number_of
from embassay.data.intake import Intake, columns_of, nothing_usable
from embassay.data.rows import Row, Source
from embassay.data.sampling import Draw, check_limit, draw_stratified
from embassay.data.shapes import axis_columns
from embassay.data.streamed.reading import limited, read_corpus, recorded
from embassay.data.unrolled import unrolled
from embassay.errors import UsageError
from embassay.records import Comparisons, Documents, LabelledTexts, Ratings


def documents(source: Source, intake: Intake, limit: int | None, seed: int) -> Documents:
    """Texts; rows without one are skipped."""
    check_limit(limit)
    corpus = read_corpus(source, _text, intake, "texts, blank ones left out")
    return recorded(limited(corpus, limit, seed), intake)


def _text(row: Row, key: str, intake: Intake) -> str | None:
    texts = intake.texts(row, key, "text")
    return texts[0] if texts else None


def summarised(source: Source, intake: Intake, limit: int | None, seed: int) -> Documents:
    """Texts with their summaries; rows without either are skipped."""

    def parse(row: Row, key: str) -> tuple[str, ...] | None:
        return intake.texts(row, key, "text", "summary")

    ids, (texts, summaries) = columns_of(
        intake.read(source, ["text", "summary"], parse, Draw(limit, seed)), 2
    )
    intake.note_texts(ids, texts)
    for key, text, summary in zip(ids, texts, summaries, strict=True):
        if text == summary:
            intake.tally.note("summaries equal to their text", key)
    return Documents(ids, texts, summaries)


def comparisons(source: Source, intake: Intake, limit: int | None, seed: int) -> Comparisons:
    """Choices between two summaries; ties and rows without a text or summary are skipped."""

    def parse(row: Row, key: str) -> tuple[tuple[str, ...], int] | None:
        texts = intake.texts(row, key, "text", "summary_1", "summary_2")
        choice = choice_of(row, "choice")
        if texts is not None and choice is None:
            intake.tally.skip("tie or no choice", key)
        return None if texts is None or choice is None else (texts, choice)

    columns = ["text", "summary_1", "summary_2", "choice"]
    taken = intake.read(source, columns, parse, Draw(limit, seed))
    ids, (sources, first, second) = columns_of([(key, texts) for key, (texts, _) in taken], 3)
    for key, one, other in zip(ids, first, second, strict=True):
        if one == other:
            intake.tally.note("comparisons of identical summaries", key)
    return Comparisons(ids, sources, first, second, np.array([choice for _, (_, choice) in taken], np.int8))


def ratings(source: Source, intake: Intake, limit: int | None, seed: int) -> Ratings:
    """Ratings per axis, NaN where one is missing (counted); rows with none at all are skipped."""
    axes = axis_columns(source.columns())

    def parse(row: Row, key: str) -> tuple[tuple[str, ...], list[float | None]] | None:
        texts = intake.texts(row, key, "text", "summary")
        values = [number_of(row, column) for column in axes.values()]
        if texts is None:
            return None
        for axis, value in zip(axes, values, strict=True):
            if value is None:
                intake.tally.skip(f"no rating on the axis {axis}", key)
        return None if all(value is None for value in values) else (texts, values)

    taken = intake.read(source, ["text", "summary", *axes.values()], parse, Draw(limit, seed))
    ids, (sources, summaries) = columns_of([(key, texts) for key, (texts, _) in taken], 2)
    table = np.array([values for _, (_, values) in taken], np.float64)
    return Ratings(ids, sources, summaries, {axis: table[:, place] for place, axis in enumerate(axes)})


def labelled(source: Source, intake: Intake, limit: int | None, seed: int) -> LabelledTexts:
    """Texts with labels; rows without either, and sets with one label only, are skipped.

    A row may hold a list of texts and one of labels, and is a set then, as in MTEB's clustering datasets.
    `limit` counts texts per set, drawn in proportion to the labels (spec sage 7).
    """
    if limit is not None and limit < 2:
        raise UsageError(f"The limit is {limit}, but a set of labelled texts needs 2.", mend="Raise --limit.")
    source = unrolled(source, ("text", "label"))
    has_sets = "set" in source.columns()

    def parse(row: Row, key: str) -> tuple[str, ...] | None:
        texts = intake.texts(row, key, "text")
        label = label_of(row, "label")
        if texts is not None and label is None:
            intake.tally.skip("no label", key)
        group = label_of(row, "set") if has_sets else None
        return None if texts is None or label is None else (*texts, label, group or "")

    columns = ["text", "label", *(["set"] if has_sets else [])]
    ids, (texts, labels, sets) = columns_of(intake.read(source, columns, parse, Draw(None, seed)), 3)
    kept: list[int] = []
    for members in _sets(labels, sets, ids, intake).values():
        chosen = draw_stratified([ids[m] for m in members], [labels[m] for m in members], limit, seed)
        kept.extend(members[place] for place in chosen)
    if not kept:
        raise nothing_usable(source, len(ids), intake.tally.skipped())
    kept.sort()
    intake.note_texts([ids[k] for k in kept], [f"{sets[k]}\0{texts[k]}" for k in kept])
    return LabelledTexts(*(tuple(column[k] for k in kept) for column in (ids, texts, labels, sets)))


def _sets(
    labels: Sequence[str], sets: Sequence[str], ids: Sequence[str], intake: Intake
) -> dict[str, list[int]]:
    """Set -> positions of its texts, for sets with two or more labels; labels with one text get a warning."""
    members: dict[str, list[int]] = {}
    for position, group in enumerate(sets):
        members.setdefault(group, []).append(position)
    for group in list(members):
        sizes: dict[str, int] = {}
        for position in members[group]:
            sizes[labels[position]] = sizes.get(labels[position], 0) + 1
        if len(sizes) < 2:
            for position in members.pop(group):
                intake.tally.skip("in a set with only one label", ids[position])
            continue
        where = f" in set {group}" if group else ""
        for label, size in sizes.items():
            if size == 1:
                intake.tally.note("labels with only one text", f"{label}{where}")
    return members
