"""The tables of a study: the paper's, where they say something of any study, and ours, from the record alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from embassay.protocols.hume.llms.answers import LlmAnswers
from embassay.protocols.hume.published.conversion import as_evaluations, as_llm_scores, as_study
from embassay.protocols.hume.published.standings import AGREEMENT_METRIC, HUMAN, people_ranks, score_matrix
from embassay.protocols.hume.published.tables import (
    dataset_table,
    datasets_table,
    difficulty_table,
    family_table,
    main_table,
    models_table,
    overall_table,
    pair_score_table,
    pair_standing_table,
    win_table,
)
from embassay.protocols.hume.record import Bar, PairRecord, Summary, SystemScore
from embassay.protocols.hume.resource import resource_table
from embassay.protocols.hume.results.conclusions import Contender, matrix_of, scored_pairs
from embassay.protocols.hume.study import FAMILIES, Task
from embassay.protocols.hume.tables import (
    PAIR,
    agreement_table,
    annotators_table,
    answered_by,
    every_figure,
    in_points,
)
from embassay.protocols.kernel.tables import Column, ColumnTable, Value

SIMULATED = "The annotators are scripts that stand in for people: these numbers say nothing of people."
PARTLY = "Some of the annotators are scripts that stand in for people."


def study_tables(summary: Summary, contenders: Sequence[Contender]) -> Iterator[ColumnTable]:
    """Every table that has a row, marked where annotators are simulated.

    `hume_table1`, `3` to `9`, with language models `2` and `10` to `13`; `hume_overall`, `hume_pairs`,
    `hume_win_rates`; `hume_systems`, `hume_need`, `agreement`, `quality_flags`, `annotators`, `hume_resources`;
    `hume_figure1` to `8`.
    """
    for table in _summary_tables(summary, contenders):
        if table.rows:
            yield mark_simulated(table, summary)


def _summary_tables(summary: Summary, contenders: Sequence[Contender]) -> Iterator[ColumnTable]:
    ranked = [contender.system for contender in contenders if contender.ranked]
    if scored_pairs(summary.pairs):
        yield from _as_the_paper(summary, contenders)
    yield people_table(summary, ranked)
    yield systems_table(summary)
    yield need_table(summary)
    yield agreement_table(summary)
    yield quality_table(summary)
    yield annotators_table(summary)
    yield resource_table(summary, summary.seed)
    yield from every_figure(summary)


def conditions_table(tasks: Sequence[Task], llms: Sequence[LlmAnswers], *, give_k: bool) -> ColumnTable:
    """Table `hume_conditions`: what people and systems were told and asked for in every task, and whether their scores
    are like for like (spec hume 11, 16)."""
    columns = (
        Column("family", "text"), Column("task", "text"), Column("lang", "text"), Column("scored", "text"),
        Column("people", "text"), Column("systems", "text"), Column("like_for_like", decimals=0)
    )  # fmt: skip
    rows = tuple(
        (task.family, task.name, task.lang, who, people, theirs, int(alike))
        for task in tasks
        for who, people, theirs, alike in _condition_rows(task, {llm.mode for llm in llms}, give_k)
    )
    note = (
        "Where scores are not like for like: sample with --give-k, score with --no-give-k, or ask language models with "
        "--binary."
    )
    return ColumnTable("hume_conditions", "HUME: what people and systems had to go by", columns, rows, note)


def _condition_rows(task: Task, modes: Collection[str], give_k: bool) -> Iterator[tuple[str, str, str, bool]]:
    """Who is scored, what people had, what they had, whether that is the same."""
    if task.family == "classification":
        yield "systems", "labels with their meaning", "labelled texts to learn from", False
        if modes:
            yield "language models", "labels with their meaning", "the same words", True
    elif task.family == "clustering":
        told = task.groups is not None
        words = {True: "the number of groups", False: "no number of groups"}
        yield "systems", words[told], words[give_k], told == give_k
    elif task.family == "sts":
        yield "systems", "a scale with words for its levels", "nothing: only the order counts", True
        if modes:
            yield "language models", "a scale with words for its levels", "the same words", True
    else:
        yield "systems", "each document relevant or not", "an order of all documents", False
        for mode in sorted(modes):
            asked = "each document relevant or not" if mode == "binary" else "an order of all documents"
            yield f"language models ({mode})", "each document relevant or not", asked, mode == "binary"


def _as_the_paper(summary: Summary, contenders: Sequence[Contender]) -> Iterator[ColumnTable]:
    """Systems that are not ranked stand in the tables of scores; best, median and ranks are of the others."""
    study, evaluations = as_study(summary.pairs, contenders), as_evaluations(summary.pairs)
    matrix, llms = matrix_of(summary.pairs, contenders), as_llm_scores(summary.pairs, contenders)
    yield main_table(score_matrix(evaluations, study), rounded=False)
    if llms:
        yield family_table(llms, matrix)
    yield datasets_table(study)
    for family in FAMILIES:
        if any(dataset.family == family for dataset in study.datasets):
            table = dataset_table(family, evaluations, study, every_subset=True)
            yield replace(table, note="")
    yield replace(models_table(study), note="") if study.models else models_table(study)
    if llms:
        present = {pair.family for pair in llms.pairs}
        yield from (pair_score_table(llms, family) for family in FAMILIES if family in present)
        yield difficulty_table(llms)
    if matrix.models:
        every = people_ranks(matrix)
        yield from (overall_table(matrix), pair_standing_table(every), win_table(every))


def mark_simulated(table: ColumnTable, summary: Summary) -> ColumnTable:
    """The table with a note, and people by another name, where scripts stand in for them."""
    if not summary.simulated:
        return table
    kinds = {annotator.kind for pair in summary.pairs for annotator in pair.annotators}
    name, note = (f"{HUMAN} (simulated)", SIMULATED) if kinds == {"simulated"} else (HUMAN, PARTLY)

    def cell(value: Value) -> Value:
        return name if value == HUMAN else value

    rows = tuple(tuple(cell(value) for value in row) for row in table.rows)
    return replace(table, rows=rows, note=" ".join(filter(None, (note, table.note))))


def people_table(summary: Summary, ranked: Sequence[str]) -> ColumnTable:
    """Table 8 of a study: people with interval and agreement, the best of the ranked models, whether it is outside."""
    columns = (
        *(Column(name, "text") for name in ("category", "task", "lang")),
        *(Column(name, decimals=0) for name in ("n_samples", "n_annotators", "total_annotations")),
        *(Column(name, decimals=1) for name in ("human", "ci_low", "ci_high")), Column("ci_method", "text"),
        Column("iaa_metric", "text"), Column("iaa"), Column("best_model", "text"),
        Column("best_model_score", decimals=1), Column("outside_interval", decimals=0), Column("answered_by", "text")
    )  # fmt: skip
    rows = tuple(_people_row(pair, ranked) for pair in summary.pairs)
    note = (
        "The range of the annotators is not a 95% interval, and a model outside one is not a test: the model's own "
        "uncertainty plays no part. For that see hume_systems."
    )
    return ColumnTable("hume_table8", "HUME table 8: people and the best model", columns, rows, note)


def quality_table(summary: Summary) -> ColumnTable:
    """Table `quality_flags` (15): agreement in words, models above people who disagree, other marks, what to do."""
    columns = (
        *PAIR, Column("iaa_metric", "text"), Column("iaa"), Column("agreement", "text"),
        Column("superhuman_on_noise", decimals=0), Column("advice", "text"), Column("flags", "text")
    )  # fmt: skip
    rows = tuple(_quality_row(pair) for pair in summary.pairs)
    note = "Agreement takes two annotators; it is empty for one."
    return ColumnTable("quality_flags", "HUME: how far scores can be trusted", columns, rows, note)


def systems_table(summary: Summary) -> ColumnTable:
    """Table `hume_systems`: every system beside people, on the same items: difference with interval and p, the share of
    annotators below it, and its score with people for gold beside that of people."""
    columns = (
        *PAIR, Column("system", "text"), Column("kind", "text"), Column("n", decimals=0), Column("score", decimals=1),
        Column("low", decimals=1), Column("high", decimals=1), Column("human", decimals=1),
        Column("percent_of_human", decimals=1), Column("outside_interval", decimals=0),
        Column("minus_human", "signed", 1), Column("diff_low", "signed", 1), Column("diff_high", "signed", 1),
        Column("p", "p"), Column("annotators_below"), Column("against_people", decimals=1),
        Column("ceiling", decimals=1), Column("failed", decimals=0), Column("method", "text"), Column("reason", "text")
    )  # fmt: skip
    rows = tuple(_system_row(pair, score) for pair in summary.pairs for score in (*pair.models, *pair.llms))
    note = (
        "minus_human is a paired bootstrap over the items, with these annotators. against_people takes the answers of "
        "people for gold, as ceiling does of one annotator against the others."
    )
    return ColumnTable("hume_systems", "HUME: systems compared with people", columns, rows, note)


def need_table(summary: Summary) -> ColumnTable:
    """Table `hume_need`: how many items or annotators would separate the best model from people."""
    columns = (
        *PAIR, Column("system", "text"), Column("n", decimals=0), Column("annotators", decimals=0),
        Column("items_needed", decimals=0), Column("annotators_needed", decimals=0),
        Column("smallest_difference", decimals=1), Column("note", "text")
    )  # fmt: skip
    rows = tuple(_need_row(pair) for pair in summary.pairs if pair.need)
    note = "At 80% power and a level of 5%, if the true difference is the one observed: an order of size."
    return ColumnTable(
        "hume_need", "HUME: what would separate the best model from people", columns, rows, note
    )


def best_of(pair: PairRecord, ranked: Sequence[str]) -> SystemScore | None:
    """The best of the ranked models, the first of equals; None where none has a score."""
    held = [model for model in pair.models if model.system in ranked and model.score.value is not None]
    return max(held, key=lambda score: score.score.value or 0.0, default=None)


def _people_row(pair: PairRecord, ranked: Sequence[str]) -> tuple[Value, ...]:
    best, agreement = best_of(pair, ranked), pair.agreement
    return (
        pair.family, pair.dataset, pair.lang, pair.human.n or pair.n, len(pair.annotators),
        sum(annotator.items for annotator in pair.annotators), *_bar_cells(pair.human),
        pair.human.method or pair.human.reason, AGREEMENT_METRIC[pair.family] if agreement else "",
        agreement.value.value if agreement else None, best.system if best else "",
        in_points(best.score.value) if best else None, _outside_flag(best), answered_by(pair.annotators)
    )  # fmt: skip


def _quality_row(pair: PairRecord) -> tuple[Value, ...]:
    agreement = pair.agreement
    return (
        pair.family, pair.dataset, pair.lang, AGREEMENT_METRIC[pair.family] if agreement else "",
        agreement.value.value if agreement else None, pair.trust or "", int(pair.superhuman_on_noise), pair.advice,
        "; ".join(pair.flags)
    )  # fmt: skip


def _system_row(pair: PairRecord, score: SystemScore) -> tuple[Value, ...]:
    return (
        pair.family, pair.dataset, pair.lang, score.system, score.kind, score.score.n, *_bar_cells(score.score),
        in_points(pair.human.value), score.percent_of_human, _outside_flag(score), *_bar_cells(score.difference),
        score.p,
        score.among_people, in_points(score.against_people.value) if score.against_people else None,
        in_points(pair.ceiling.value) if pair.ceiling else None, score.failed, score.score.method, score.score.reason
    )  # fmt: skip


def _need_row(pair: PairRecord) -> tuple[Value, ...]:
    need = pair.need
    assert need is not None
    return (
        pair.family, pair.dataset, pair.lang, need.system, pair.n, len(pair.annotators), need.items, need.annotators,
        in_points(need.smallest), need.note
    )  # fmt: skip


def _bar_cells(bar: Bar | None) -> Iterator[float | None]:
    yield from (
        (in_points(bar.value), in_points(bar.low), in_points(bar.high))
        if bar is not None
        else (None, None, None)
    )


def _outside_flag(score: SystemScore | None) -> int | None:
    return None if score is None or score.outside is None else int(score.outside)
