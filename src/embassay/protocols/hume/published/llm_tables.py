"""Language models beside people: by family (table 2), by pair (10-12), and whether the same pairs are hard (13)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from embassay.protocols.hume.published.correlated import Correlation, correlated
from embassay.protocols.hume.published.llm_scores import AVERAGE, LlmScores
from embassay.protocols.hume.published.matrix import HUMAN, Matrix
from embassay.protocols.hume.published.study import Pair
from embassay.protocols.hume.study import FAMILIES, Family
from embassay.protocols.tables import Column, ColumnTable, Value

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
