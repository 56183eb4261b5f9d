"""Language models as annotators beside people, as the paper's tables 2 and 10-13 hold them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError
from embassay.limits import read_bounded
from embassay.protocols.hume.published.paper import Pair, Study, iso_639_3, paper_study
from embassay.protocols.hume.published.standings import HUMAN, Correlation, Matrix, correlated
from embassay.protocols.hume.study import FAMILIES, Family
from embassay.protocols.kernel.tables import Column, ColumnTable, Value

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


LLM_TABLES: dict[Family, int] = {"classification": 10, "reranking": 11, "sts": 12, "clustering": 0}
AVERAGE_LLM = "average of all LLMs"


@dataclass(frozen=True)
class SameDifficulty:
    """How the scores of people and of an LLM go together over pairs."""

    llm: str
    correlation: Correlation


def same_difficulty(scores: LlmScores) -> tuple[SameDifficulty, ...]:
    """Table 13: every LLM, and last people against the mean of all LLMs per pair (not the mean of the correlations).

    Source: spec hume 8.1; FINDINGS, HUME 9.
    """
    series = [*zip(scores.llms, scores.values, strict=True), (AVERAGE_LLM, scores.values.mean(axis=0))]
    return tuple(SameDifficulty(name, correlated(scores.human, values)) for name, values in series)


def difficulty_table(scores: LlmScores) -> ColumnTable:
    """Table 13."""
    rows = tuple(
        (one.llm, one.correlation.rho, one.correlation.p, one.correlation.n)
        for one in same_difficulty(scores)
    )
    columns = (
        Column("llm", "text"),
        Column("spearman_rho"),
        Column("p_value", "p"),
        Column("pairs", decimals=0),
    )
    return ColumnTable("hume_table13", "HUME table 13: are the same pairs hard?", columns, rows)


def family_table(scores: LlmScores, matrix: Matrix | None = None) -> ColumnTable:
    """Table 2: people and LLMs by family, and over all their pairs; with `matrix` the best embedding model of each.

    The average is over pairs, not over families. Source: FINDINGS, HUME 8.
    """
    families = [family for family in FAMILIES if any(pair.family == family for pair in scores.pairs)]
    rows: list[tuple[Value, ...]] = [
        (family, *_points(scores, _of(family)), *best_embedding(matrix, family)) for family in families
    ]
    rows.append((AVERAGE, *_points(scores, lambda _: True), None, None))
    columns = (
        Column("category", "text"), *(Column(name, decimals=1) for name in ("human", *scores.llms)),
        Column("best_embedding_score", decimals=1), Column("best_embedding_model", "text"),
    )  # fmt: skip
    note = "The average is the mean over all pairs, not over families. People marked documents, LLMs ranked them."
    return ColumnTable("hume_table2", "HUME table 2: people and LLMs", columns, tuple(rows), note)


def pair_score_table(scores: LlmScores, family: Family) -> ColumnTable:
    """Tables 10 (classification), 11 (reranking) and 12 (sts): every pair, and their average."""
    at = [i for i, pair in enumerate(scores.pairs) if pair.family == family]
    every = 100 * np.vstack([scores.human, scores.values])
    rows: list[tuple[Value, ...]] = [
        (scores.pairs[i].dataset, scores.pairs[i].lang, *every[:, i].tolist()) for i in at
    ]
    rows.append((AVERAGE, "", *_points(scores, _of(family))))
    columns = (
        Column("dataset", "text"), Column("lang", "text"),
        *(Column(name, decimals=1) for name in ("human", *scores.llms)),
    )  # fmt: skip
    number = LLM_TABLES[family]
    name = f"hume_table{number}" if number else f"hume_llm_{family}"
    title = f"HUME table {number}: LLMs on {family}" if number else f"LLMs on {family}"
    return ColumnTable(name, title, columns, tuple(rows))


def best_embedding(matrix: Matrix | None, family: Family) -> tuple[float | None, str | None]:
    """The highest mean of a model over a family's pairs in points, and whose it is; None twice without a matrix."""
    means = matrix.means(_of(family)) if matrix else {}
    models = {name: mean for name, mean in means.items() if name != HUMAN and mean == mean}
    if not models:
        return None, None
    best = max(models, key=models.__getitem__)
    return 100 * models[best], best


def _of(family: Family) -> Callable[[Pair], bool]:
    return lambda pair: pair.family == family


def _points(scores: LlmScores, wanted: Callable[[Pair], bool]) -> list[float | None]:
    at = [i for i, pair in enumerate(scores.pairs) if wanted(pair)]
    if not at:
        return [None] * (1 + len(scores.llms))
    means: list[float | None] = list(
        (100 * np.vstack([scores.human, scores.values])[:, at].mean(axis=1)).tolist()
    )
    return means
