"""The rows of results that a cell gives."""

from __future__ import annotations

from embassay.records import Result
from embassay.runs.cells import CellRecord


def cell_rows(
    protocol: str, record: CellRecord, headline: str, *, lang: str, seed: int, by_language: bool = False
) -> list[Result]:
    """The rows of a cell that has ended; of one that failed, its headline without a value, and the reason.

    `lang` is the dataset's language; with `by_language` subsets are languages, and their rows say so.
    """
    where = (protocol, record.task, record.dataset)
    if not record.done:
        named = (record.variant, record.system, headline)
        return [Result(*where, "", lang, *named, None, 0, seed=seed, reason=record.reason)]
    return [
        Result(
            *where, score.subset, (by_language and score.subset) or lang, score.variant, record.system,
            score.measure, score.value, score.n, score.ci_low, score.ci_high, score.method, seed, score.reason,
        )
        for score in record.scores
    ]  # fmt: skip
