"""The tables of a study: the paper's, where they say something of any study, and ours, from the record alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from embassay.protocols.hume.llms.answers import AnswersOfOneLlm
from embassay.protocols.hume.published.conversion import (
    convert_pairs_to_evaluations,
    convert_pairs_to_study,
    make_llm_and_people_score_matrix,
)
from embassay.protocols.hume.published.standings import HUMAN, build_score_matrix, rank_people_on_every_pair
from embassay.protocols.hume.published.tables import (
    dataset_scores_table,
    datasets_table,
    family_language_table,
    family_scores_table,
    make_human_gap_and_rank_table,
    make_people_llm_correlation_table,
    make_system_mean_score_table,
    model_sizes_table,
    pair_score_table,
    people_wins_table,
)
from embassay.protocols.hume.record import DatasetLanguageRecord, Summary, SystemScore
from embassay.protocols.hume.resource import resource_table
from embassay.protocols.hume.results.conclusions import (
    ComparedSystem,
    build_human_score_matrix,
    keep_pairs_with_human_score,
)
from embassay.protocols.hume.results.gaps import gap_slopes_table
from embassay.protocols.hume.study import FAMILIES, StudyTask
from embassay.protocols.hume.tables import (
    OF_PAIR,
    PAIR,
    agreement_table,
    annotator_scores_table,
    make_figure_tables,
    make_pair_trust_flags_table,
    people_beside_best_model_table,
)
from embassay.protocols.kernel.tables import (
    ColumnTable,
    Value,
    interval_columns,
    make_percentage_point_column,
    number_column,
    text,
    whole_number_column,
)

SIMULATED = "The annotators are scripts that stand in for people, so these numbers say nothing about people."
PARTLY = "Some of the annotators are scripts that stand in for people."


def study_tables(summary: Summary, contenders: Sequence[ComparedSystem]) -> Iterator[ColumnTable]:
    """Every table that has a row, marked where annotators are simulated.

    `hume_table1`, `3` to `9`, with language models `2` and `10` to `13`; `hume_overall`, `hume_pairs`,
    `hume_win_rates`; `hume_systems`, `hume_need`, `agreement`, `quality_flags`, `annotators`, `hume_resources`,
    `hume_gaps`; `hume_figure1` to `8`.
    """
    for table in _summary_tables(summary, contenders):
        if table.rows:
            yield note_simulated_annotators_in_table(table, summary)


def _summary_tables(summary: Summary, contenders: Sequence[ComparedSystem]) -> Iterator[ColumnTable]:
    ranked = [contender.system for contender in contenders if contender.ranked]
    if keep_pairs_with_human_score(summary.pairs):
        yield from _build_paper_tables(summary, contenders)
    yield people_beside_best_model_table(summary.pairs, ranked)
    yield systems_beside_people_table(summary)
    yield build_needed_sample_size_table(summary)
    yield agreement_table(summary)
    yield make_pair_trust_flags_table(summary.pairs)
    yield annotator_scores_table(summary)
    yield resource_table(summary, summary.seed)
    yield gap_slopes_table(summary)
    yield from make_figure_tables(summary)


class PeopleAndSystemTaskConditions(NamedTuple):
    """Who is scored on a task, what people had, what `systems` had, and whether that is the same."""

    task: StudyTask
    scored: str
    people: str
    systems: str
    like_for_like: bool


def task_conditions_table(tasks: Sequence[StudyTask], llms: Sequence[AnswersOfOneLlm], *, give_k: bool) -> ColumnTable:
    """Table `hume_conditions`: what people and systems were told and asked for in every task, and whether their scores
    are like for like (spec hume 11, 16)."""
    modes = {llm.mode for llm in llms}
    return ColumnTable.of(
        "hume_conditions", "HUME: what people and systems were told",
        [condition for task in tasks for condition in _iterate_task_scoring_conditions(task, modes, give_k)],
        text("family", "task.family"), text("task", "task.name"), text("lang", "task.lang"), text("scored"),
        text("people"), text("systems"), whole_number_column("like_for_like"),
        note=("To compare like for like, sample with --give-k, score with --no-give-k, or run language models with "
            "--binary."),
    )  # fmt: skip


def _iterate_task_scoring_conditions(
    task: StudyTask, modes: Collection[str], give_k: bool
) -> Iterator[PeopleAndSystemTaskConditions]:
    if task.family == "classification":
        yield PeopleAndSystemTaskConditions(
            task, "systems", "labels with their meaning", "labelled texts to learn from", False
        )
        if modes:
            yield PeopleAndSystemTaskConditions(
                task, "language models", "labels with their meaning", "the same words", True
            )
    elif task.family == "clustering":
        told = task.groups is not None
        words = {True: "the number of groups", False: "no number of groups"}
        yield PeopleAndSystemTaskConditions(task, "systems", words[told], words[give_k], told == give_k)
    elif task.family == "sts":
        scale = "a scale with words for its levels"
        yield PeopleAndSystemTaskConditions(task, "systems", scale, "nothing, because only the order counts", True)
        if modes:
            yield PeopleAndSystemTaskConditions(task, "language models", scale, "the same words", True)
    else:
        each, order = "each document relevant or not", "an order of all documents"
        yield PeopleAndSystemTaskConditions(task, "systems", each, order, False)
        for mode in sorted(modes):
            asked = each if mode == "binary" else order
            yield PeopleAndSystemTaskConditions(task, f"language models ({mode})", each, asked, mode == "binary")


def _build_paper_tables(summary: Summary, contenders: Sequence[ComparedSystem]) -> Iterator[ColumnTable]:
    """Build the paper's tables; systems without a rank stand in those of scores alone."""
    study, evaluations = (
        convert_pairs_to_study(summary.pairs, contenders),
        convert_pairs_to_evaluations(summary.pairs),
    )
    matrix, llms = (
        build_human_score_matrix(summary.pairs, contenders),
        make_llm_and_people_score_matrix(summary.pairs, contenders),
    )
    yield family_language_table(build_score_matrix(evaluations, study), rounded=False)
    if llms:
        yield family_scores_table(llms, matrix)
    yield datasets_table(study)
    for family in FAMILIES:
        if any(dataset.family == family for dataset in study.datasets):
            table = dataset_scores_table(family, evaluations, study, every_subset=True)
            # The note is of the French in the paper's files.
            yield replace(table, note="")
    yield replace(model_sizes_table(study), note="") if study.models else model_sizes_table(study)
    if llms:
        present = {pair.family for pair in llms.pairs}
        yield from (pair_score_table(llms, family) for family in FAMILIES if family in present)
        yield make_people_llm_correlation_table(llms)
    if matrix.models:
        every = rank_people_on_every_pair(matrix)
        yield from (
            make_system_mean_score_table(matrix),
            make_human_gap_and_rank_table(every),
            people_wins_table(every),
        )


def note_simulated_annotators_in_table(table: ColumnTable, summary: Summary) -> ColumnTable:
    """The table with a note, and people by another name, where scripts stand in for them."""
    if not summary.simulated:
        return table
    kinds = {annotator.kind for pair in summary.pairs for annotator in pair.annotators}
    name, note = (f"{HUMAN} (simulated)", SIMULATED) if kinds == {"simulated"} else (HUMAN, PARTLY)

    def replace_human_by_simulated_name(value: Value) -> Value:
        return name if value == HUMAN else value

    rows = tuple(tuple(replace_human_by_simulated_name(value) for value in row) for row in table.rows)
    return replace(table, rows=rows, note=" ".join(filter(None, (note, table.note))))


class SystemOnPair(NamedTuple):
    """A system on a pair."""

    pair: DatasetLanguageRecord
    score: SystemScore


def systems_beside_people_table(summary: Summary) -> ColumnTable:
    """Table `hume_systems`: every system beside people, on the same items: difference with interval and p, the share of
    annotators below it, and its score with people for gold beside that of people."""
    return ColumnTable.of(
        "hume_systems",
        "HUME: systems compared with people",
        [SystemOnPair(pair, score) for pair in summary.pairs for score in pair.list_model_and_llm_scores],
        *OF_PAIR,
        text("system", "score.system"),
        text("kind", "score.kind"),
        whole_number_column("n", "score.score.n"),
        *interval_columns("score.score", ("score", "low", "high")),
        make_percentage_point_column("human", "pair.human.value"),
        number_column("percent_of_human", "score.percent_of_human", 1),
        whole_number_column("outside_interval", "score.outside"),
        *interval_columns("score.difference", ("minus_human", "diff_low", "diff_high"), "signed"),
        number_column("p", "score.p", style="p"),
        number_column("annotators_below", "score.among_people"),
        make_percentage_point_column("against_people", "score.against_people.value"),
        make_percentage_point_column("ceiling", "pair.ceiling.value"),
        *interval_columns("score.soft", ("soft", "soft_low", "soft_high")),
        whole_number_column("failed", "score.failed"),
        text("method", "score.score.method"),
        text("reason", "score.score.reason"),
        note=(
            "minus_human comes from a paired bootstrap over items, with these annotators. against_people "
            "uses people's answers as gold, just as ceiling scores one annotator against the others; soft uses "
            "the answers of one randomly drawn annotator."
        ),
    )


def build_needed_sample_size_table(summary: Summary) -> ColumnTable:
    """Table `hume_need`: how many items or annotators would separate the best model from people."""
    return ColumnTable.of(
        "hume_need", "HUME: sample sizes that would separate the best model from people",
        [pair for pair in summary.pairs if pair.need], *PAIR, text("system", "need.system"),
        whole_number_column("n"),
        whole_number_column("annotators", lambda pair: len(pair.annotators)),
        whole_number_column("items_needed", "need.items"),
        whole_number_column("annotators_needed", "need.annotators"),
        make_percentage_point_column("smallest_difference", "need.smallest"),
        text("note", "need.note"),
        note=("Rough estimates at 80% power and a 5% significance level, assuming that the true difference equals "
            "the observed one."),
    )  # fmt: skip
