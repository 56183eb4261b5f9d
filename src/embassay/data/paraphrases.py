"""Other wordings of texts, written beforehand."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.data.cells import text_of, texts_of
from embassay.data.faults import fault
from embassay.data.intake import Intake, nothing_usable
from embassay.data.rows import Row, Source
from embassay.data.sampling import Draw
from embassay.data.views import distinct
from embassay.errors import DataError
from embassay.records import Paraphrases

PAIRED = {"text": "paraphrases", "text2": "paraphrases2"}
"""Column of a text -> the column of its paraphrases."""


def paraphrases(source: Source, intake: Intake, limit: int | None, seed: int) -> Paraphrases:
    """Each text once with its other wordings; rows of blank texts and texts without a wording are skipped.

    A row with `text2` and `paraphrases2` gives two texts. DataError for a text that comes again with others.
    """
    known: dict[str, tuple[str, ...]] = {}
    draw = Draw[tuple[str, tuple[str, ...]]](limit, seed)
    for row, text, wordings in _given(source, intake):
        if text in known:
            if known[text] != wordings:
                fault(_differs(row, text))
            continue
        known[text] = wordings
        draw.offer(text, (text, wordings))
    if not known:
        raise nothing_usable(
            source, sum(left.count for left in intake.tally.skipped()), intake.tally.skipped()
        )
    texts, others = zip(*draw.taken(), strict=True)
    return Paraphrases(texts, others)


def _given(source: Source, intake: Intake) -> Iterator[tuple[Row, str, tuple[str, ...]]]:
    columns = {text: others for text, others in PAIRED.items() if others in source.columns()}
    lang = ("lang",) if "lang" in source.columns() else ()
    for row in source.rows(distinct((*columns, *columns.values(), *lang))):
        for column, others in columns.items():
            try:
                text = text_of(row, column)
                wordings = tuple(one for one in texts_of(row, others) if one)
            except DataError as error:
                fault(error)
                continue
            if text is None or not wordings:
                intake.tally.skip(f"no {column if text is None else others}", f"line {row.line}")
                continue
            intake.see_lang(row)
            yield row, text, wordings


def _differs(row: Row, text: str) -> DataError:
    return DataError(
        f"the text {text[:40]!r} came before with other paraphrases", path=row.path, line=row.line,
        mend="Give a text the same paraphrases wherever it stands.",
    )  # fmt: skip
