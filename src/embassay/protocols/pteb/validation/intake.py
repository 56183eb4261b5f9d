"""Ratings and estimates that came back, held against the study's key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from embassay.data.rows import nearest
from embassay.errors import DataError, UsageError
from embassay.protocols.pteb.validation.checks import Decisions, Rating
from embassay.protocols.pteb.validation.rating_file import Rated, read_ratings
from embassay.protocols.pteb.validation.sampling import Item


def collect(files: Iterable[Path], items: Mapping[str, Item], *, estimates: bool = False) -> list[Rating]:
    """The ratings in the files; blank ones are not rated and left out. Of `estimates` the rater is a language model.

    DataError, with file and line, for a pair that the study does not have, texts that are not those of the pair, and a
    pair that one rater rated twice.
    """
    found: dict[tuple[str, str], Rated] = {}
    for path in files:
        for row in read_ratings(path):
            _check_pair(row, items, estimates=estimates)
            key = (row.rater_id, row.pair_id)
            if row.rating is None:
                continue
            if key in found:
                first = found[key]
                raise DataError(
                    f"{row.rater_id} rated the pair {row.pair_id} before", path=row.path, line=row.line,
                    found=f"the other in {first.path}:{first.line}",
                    mend="Keep one of the two; raters need ids of their own.",
                )  # fmt: skip
            found[key] = row
    return [
        Rating(row.pair_id, row.rater_id, row.rating, row.ts)
        for row in found.values()
        if row.rating is not None
    ]


def check_decisions(decisions: Decisions, ratings: Sequence[Rating], items: Mapping[str, Item]) -> None:
    """UsageError for a pair or rater in the inspector's file that the study does not know."""
    raters = {one.rater_id for one in ratings}
    for what, names, known in (
        ("pair", decisions.inspected, set(items)),
        ("rater", {**decisions.cleared, **decisions.rejected}, raters),
    ):
        for name in names:
            if name not in known:
                near = nearest(name, known)
                raise UsageError(
                    f"The inspector's file has the {what} {name!r}, which the study does not.",
                    mend=f"Did you mean {near}?" if near else "Correct or remove the row.",
                )


def _check_pair(row: Rated, items: Mapping[str, Item], *, estimates: bool) -> None:
    item = items.get(row.pair_id)
    if item is None:
        raise DataError(
            f"the study has no pair {row.pair_id!r}.", path=row.path, line=row.line,
            mend="Is the file of another study, or was the cell changed?",
        )  # fmt: skip
    if row.texts and not estimates:
        ours = sorted(map(_plain, (item.text, item.text2)))
        if sorted(map(_plain, row.texts)) != ours[: len(row.texts)] and len(row.texts) == 2:
            raise DataError(
                f"the texts are not those of the pair {row.pair_id}.", path=row.path, line=row.line,
                mend="Rows have been moved, or texts edited: get the file from the rater again.",
            )  # fmt: skip


def _plain(text: str) -> str:
    """Without what spreadsheets change: line ends and blanks around."""
    return " ".join(text.split())
