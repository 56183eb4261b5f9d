"""Scores of language models as annotators, as tables 10-12 of the paper hold them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError
from embassay.limits import read_bounded
from embassay.protocols.hume.published.languages import iso_639_3
from embassay.protocols.hume.published.study import Pair, Study, paper_study

AVERAGE = "Average"
_MEND = "Give columns dataset, lang, human and one per language model, in points of 100; a row Average is left out."


@dataclass(frozen=True)
class LlmScores:
    """`values` (llms, pairs) and `human` (pairs,), fractions. Clustering is not among the pairs of the paper."""

    pairs: tuple[Pair, ...]
    llms: tuple[str, ...]
    values: NDArray[np.float64]
    human: NDArray[np.float64]


def read_llm_scores(paths: Sequence[Path], study: Study | None = None) -> LlmScores:
    """One or more CSV files with the same columns: dataset, lang, human, then a column per language model.

    Datasets go by any of their names, values are points of 100. DataError for another header, an unknown or repeated
    pair, or a value that is no number from -100 to 100.
    """
    study = study or paper_study()
    header: list[str] | None = None
    rows: dict[Pair, list[float]] = {}
    for path in paths:
        own, body = _parsed(path)
        if header is not None and own != header:
            raise DataError("The columns differ from those of the file before", path=path, mend=_MEND)
        header = own
        for line, cells in body:
            pair = _pair(cells, study, path, line)
            if pair in rows:
                raise DataError(f"{pair.name} is there twice", path=path, line=line, mend=_MEND)
            rows[pair] = [_number(text, path, line) for text in cells[2:]]
    if header is None or not rows:
        raise DataError(
            "There are no scores of language models", path=paths[0] if paths else None, mend=_MEND
        )
    values = np.array(list(rows.values())).T / 100
    if np.abs(values).max() <= 0.01:
        raise DataError("All values are fractions of 1", path=paths[0], expected="points of 100", mend=_MEND)
    return LlmScores(tuple(rows), tuple(header[3:]), values[1:], values[0])


def _parsed(path: Path) -> tuple[list[str], Iterable[tuple[int, list[str]]]]:
    """The header, and line number and cells of every row but averages."""
    try:
        reader = csv.reader(io.StringIO(read_bounded(path).decode("utf-8-sig"), newline=""))
        lines = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError("The file cannot be read as CSV", path=path, found=str(error), mend=_MEND) from error
    header = lines[0][1] if lines else []
    if header[:3] != ["dataset", "lang", "human"] or len(header) < 4:
        raise DataError("The columns are others", path=path, line=1, found=", ".join(header), mend=_MEND)
    body = [(line, row) for line, row in lines[1:] if row and row[0] != AVERAGE]
    for line, row in body:
        if len(row) != len(header):
            raise DataError(
                "A row has another number of cells than the header",
                path=path, line=line, expected=str(len(header)), found=str(len(row)), mend=_MEND,
            )  # fmt: skip
    return header, body


def _pair(cells: Sequence[str], study: Study, path: Path, line: int) -> Pair:
    pair = study.pair(cells[0], iso_639_3(cells[1]))
    if pair is None:
        raise DataError(
            "The study has no such pair of dataset and language",
            path=path, line=line, found=f"{cells[0]}, {cells[1]}", mend=_MEND,
        )  # fmt: skip
    return pair


def _number(text: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not -100 <= value <= 100:
        raise DataError(
            "A score is no number of points",
            path=path,
            line=line,
            expected="-100 to 100",
            found=text,
            mend=_MEND,
        )
    return value
