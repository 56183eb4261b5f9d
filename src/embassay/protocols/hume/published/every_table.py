"""All tables that published results can fill, in the paper's order and then ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.protocols.hume.published.evaluations import Evaluation
from embassay.protocols.hume.published.llm_scores import LlmScores
from embassay.protocols.hume.published.llm_tables import difficulty_table, family_table, pair_score_table
from embassay.protocols.hume.published.matrix import score_matrix
from embassay.protocols.hume.published.pair_summary import pair_summaries
from embassay.protocols.hume.published.quality import qualities, quality_table
from embassay.protocols.hume.published.standing import standings
from embassay.protocols.hume.published.standing_tables import overall_table, pair_standing_table, win_table
from embassay.protocols.hume.published.study import Study, paper_study
from embassay.protocols.hume.published.tables import (
    DATASET_TABLES,
    dataset_table,
    datasets_table,
    main_table,
    models_table,
    pair_table,
)
from embassay.protocols.hume.scoring.interval import OneAnnotator
from embassay.protocols.hume.study import FAMILIES
from embassay.protocols.tables import ColumnTable


def every_table(
    evaluations: Sequence[Evaluation], llms: LlmScores | None = None, study: Study | None = None,
    *, one_annotator: OneAnnotator = "wilson",
) -> Iterator[ColumnTable]:  # fmt: skip
    """`hume_table1` to `9`, those of 4-7 also by the study's languages; with `llms` 2 and 10-13; then `hume_overall`,
    `hume_pairs`, `hume_win_rates` and `quality_flags`.

    DataError where results lack a pair of the study. Source: spec hume, section 9.
    """
    study = study or paper_study()
    matrix = score_matrix(evaluations, study)
    yield main_table(matrix)
    if llms:
        yield family_table(llms, matrix)
    yield datasets_table(study)
    for family in DATASET_TABLES:
        yield dataset_table(family, evaluations, study, every_subset=True)
        yield dataset_table(family, evaluations, study, every_subset=False)
    summaries = pair_summaries(evaluations, study, one_annotator=one_annotator)
    yield pair_table(summaries)
    yield models_table(study)
    if llms:
        present = {pair.family for pair in llms.pairs}
        yield from (pair_score_table(llms, family) for family in FAMILIES if family in present)
        yield difficulty_table(llms)
    every = standings(matrix)
    yield from (
        overall_table(matrix),
        pair_standing_table(every),
        win_table(every),
        quality_table(qualities(summaries)),
    )
