"""The tables of a study: the paper's, where they say something of any study, and ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from embassay.protocols.hume.published.llm_tables import difficulty_table, family_table, pair_score_table
from embassay.protocols.hume.published.matrix import HUMAN, score_matrix
from embassay.protocols.hume.published.standing import standings
from embassay.protocols.hume.published.standing_tables import overall_table, pair_standing_table, win_table
from embassay.protocols.hume.published.tables import (
    dataset_table,
    datasets_table,
    main_table,
    models_table,
)
from embassay.protocols.hume.results.as_published import as_evaluations, as_llm_scores, as_study
from embassay.protocols.hume.results.concluded import Contender, matrix_of, scored_pairs
from embassay.protocols.hume.results.record_tables import (
    need_table,
    people_table,
    quality_table,
    systems_table,
)
from embassay.protocols.hume.study import FAMILIES
from embassay.protocols.hume.summary.figures import every_figure
from embassay.protocols.hume.summary.record import Summary
from embassay.protocols.hume.summary.tables import agreement_table, annotators_table
from embassay.protocols.tables import ColumnTable, Value

SIMULATED = "The annotators are scripts that stand in for people: these numbers say nothing of people."
PARTLY = "Some of the annotators are scripts that stand in for people."


def study_tables(summary: Summary, contenders: Sequence[Contender]) -> Iterator[ColumnTable]:
    """Every table that has a row, marked where annotators are simulated.

    `hume_table1`, `3` to `9`, with language models `2` and `10` to `13`; `hume_overall`, `hume_pairs`,
    `hume_win_rates`; `hume_systems`, `hume_need`, `agreement`, `quality_flags`, `annotators`; `hume_figure1` to `8`.
    """
    for table in _tables(summary, contenders):
        if table.rows:
            yield marked(table, summary)


def _tables(summary: Summary, contenders: Sequence[Contender]) -> Iterator[ColumnTable]:
    ranked = [one.system for one in contenders if one.ranked]
    if scored_pairs(summary.pairs):
        yield from _as_the_paper(summary, contenders)
    yield people_table(summary, ranked)
    yield systems_table(summary)
    yield need_table(summary)
    yield agreement_table(summary)
    yield quality_table(summary)
    yield annotators_table(summary)
    yield from every_figure(summary)


def _as_the_paper(summary: Summary, contenders: Sequence[Contender]) -> Iterator[ColumnTable]:
    """Systems that are not ranked stand in the tables of scores; best, median and ranks are of the others."""
    study, evaluations = as_study(summary.pairs, contenders), as_evaluations(summary.pairs)
    matrix, llms = matrix_of(summary.pairs, contenders), as_llm_scores(summary.pairs, contenders)
    yield main_table(score_matrix(evaluations, study), rounded=False)
    if llms:
        yield family_table(llms, matrix)
    yield datasets_table(study)
    for family in FAMILIES:
        if any(one.family == family for one in study.datasets):
            made = dataset_table(family, evaluations, study, every_subset=True)
            yield replace(made, note="")
    yield replace(models_table(study), note="") if study.models else models_table(study)
    if llms:
        present = {pair.family for pair in llms.pairs}
        yield from (pair_score_table(llms, family) for family in FAMILIES if family in present)
        yield difficulty_table(llms)
    if matrix.models:
        every = standings(matrix)
        yield from (overall_table(matrix), pair_standing_table(every), win_table(every))


def marked(table: ColumnTable, summary: Summary) -> ColumnTable:
    """The table with a note, and people by another name, where scripts stand in for them."""
    if not summary.simulated:
        return table
    kinds = {one.kind for pair in summary.pairs for one in pair.annotators}
    name, note = (f"{HUMAN} (simulated)", SIMULATED) if kinds == {"simulated"} else (HUMAN, PARTLY)

    def cell(value: Value) -> Value:
        return name if value == HUMAN else value

    rows = tuple(tuple(cell(value) for value in row) for row in table.rows)
    return replace(table, rows=rows, note=" ".join(filter(None, (note, table.note))))
