"""HUME: every table that the public result files fill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from embassay.interchange.reproduction import ReproducedTableValue, make_reproduced_figure
from embassay.protocols.hume.published.conversion import convert_results_to_dataset_records
from embassay.protocols.hume.published.paper import load_hume_paper_study, read_results
from embassay.protocols.hume.published.standings import (
    HUMAN,
    ModelAndPeopleScores,
    build_score_matrix,
    count_people_wins_by_group,
    rank_models_by_mean_score,
    rank_people_on_every_pair,
)
from embassay.protocols.hume.published.tables import (
    DATASET_TABLES,
    correlate_people_with_each_llm,
    dataset_scores_table,
    family_language_table,
    family_scores_table,
    make_pair_filters_by_column,
    read_llm_scores,
)
from embassay.protocols.hume.tables import printed_people_table
from embassay.protocols.kernel.tables import ColumnTable
from reproducing.printed import rows

IN_TABLE_8 = ("human", "ci_low", "ci_high", "iaa", "best_model_score")


def human_leads(matrix: ModelAndPeopleScores) -> list[str]:
    """The columns of table 1, overall left out, where people are strictly above every model."""
    means = {
        name: matrix.average_scores_over_pairs(wanted)
        for name, wanted in make_pair_filters_by_column(matrix).items()
        if name != "overall"
    }
    return [name for name, mean in means.items() if all(mean[HUMAN] > mean[m] for m in matrix.models)]


def figures(reference: Path) -> Iterator[ReproducedTableValue]:
    """From `reference`/hume: the paper's tables, and the result files they were made from."""
    folder = reference / "hume"
    published = read_results(folder / "results.json.gz")
    matrix = build_score_matrix(published)
    llms = read_llm_scores([folder / f"table{number}.csv" for number in (10, 11, 12)])
    yield from _cells("table 1", family_language_table(matrix), folder / "table1.csv")
    yield from _families(folder, llms, matrix)
    for family, number in DATASET_TABLES.items():
        table = dataset_scores_table(family, published, every_subset=True)
        yield from _cells(f"table {number}", table, folder / f"table{number}.csv")
    people = _written(
        printed_people_table(convert_results_to_dataset_records(published, load_hume_paper_study()), matrix.models)
    )
    yield from _pairs(folder, people)
    yield from _difficulty(folder, llms)
    yield from _text(folder, matrix, people)


def _cells(name: str, table: ColumnTable, path: Path) -> Iterator[ReproducedTableValue]:
    """Every cell, by the model of its row."""
    ours = {row["model"]: row for row in _written(table)}
    for row in rows(path):
        for column, value in row.items():
            if column != "model" and row["model"] != "n_datasets":
                yield make_reproduced_figure("HUME", name, row["model"], column, value, ours[row["model"]][column])


def _families(folder: Path, llms: ModelAndPeopleScores, matrix: ModelAndPeopleScores) -> Iterator[ReproducedTableValue]:
    table = family_scores_table(llms, matrix)
    names = [column.name for column in table.columns]
    for values, row in zip(table.rows, rows(folder / "table2.csv"), strict=True):
        ours = dict(zip(names, values, strict=True))
        for column, value in row.items():
            if value and column not in ("category", "best_embedding_model"):
                yield make_reproduced_figure(
                    "HUME", "table 2", row["category"], column, value, float(ours[column] or 0)
                )


def _pairs(folder: Path, people: Sequence[Mapping[str, str]]) -> Iterator[ReproducedTableValue]:
    for mine, row in zip(people, rows(folder / "table8.csv"), strict=True):
        where = f"{row['task']} ({row['lang']})"
        for column in IN_TABLE_8:
            if row[column]:
                yield make_reproduced_figure("HUME", "table 8", where, column, row[column], mine[column])
        yield make_reproduced_figure(
            "HUME", "table 8", where, "outside the interval", row["significant"], mine["outside_interval"]
        )


def _difficulty(folder: Path, llms: ModelAndPeopleScores) -> Iterator[ReproducedTableValue]:
    for one, row in zip(correlate_people_with_each_llm(llms), rows(folder / "table13.csv"), strict=True):
        found = {"spearman_rho": one.correlation.rho, "p_value": one.correlation.p}
        for column, value in found.items():
            yield make_reproduced_figure("HUME", "table 13", row["llm"], column, row[column], float(value or 0))


def _text(
    folder: Path, matrix: ModelAndPeopleScores, people: Sequence[Mapping[str, str]]
) -> Iterator[ReproducedTableValue]:
    ours = _said(matrix, people)
    for row in rows(folder / "figure_stats.csv"):
        if row["quantity"] in ours:
            said = row["quantity"].replace("_", " ")
            yield make_reproduced_figure(
                "HUME", "text and figures", row["source"], said, row["value"], ours[row["quantity"]]
            )


def _said(matrix: ModelAndPeopleScores, people: Sequence[Mapping[str, str]]) -> Mapping[str, float]:
    """What abstract, text and captions say in numbers."""
    order = rank_models_by_mean_score(matrix)
    human = next(one for one in order if one.system == HUMAN)
    every = rank_people_on_every_pair(matrix)
    best, median, mean = count_people_wins_by_group(every)
    by_lang = {(one.group, one.reference): one for one in count_people_wins_by_group(every, "lang")}
    groups = {(one.group, one.reference): one for one in count_people_wins_by_group(every, "group")}
    (multilingual,) = (
        one for (group, against), one in groups.items() if against == best.reference and "English" not in group
    )
    (english,) = (one for (group, against), one in groups.items() if against == best.reference and "English" in group)
    outside = sum(int(row["outside_interval"]) for row in people)
    hard = sum(one.people_difficulty == "hard" for one in every)
    return {
        "human_overall": 100 * human.overall,
        "best_model_overall": 100 * order[0].overall,
        "human_rank": human.rank,
        "n_models": len(matrix.models),
        "models_beaten_by_human": len(matrix.models) + 1 - human.rank,
        "aggregated_pairs_where_human_best": len(human_leads(matrix)),
        "win_rate_vs_median_percent": 100 * median.share_won,
        "win_rate_median_percent": 100 * median.share_won,
        "win_rate_vs_best_percent": 100 * best.share_won,
        "win_rate_best_percent": 100 * best.share_won,
        "win_rate_mean_percent": 100 * mean.share_won,
        "win_rate_best_multilingual_percent": 100 * multilingual.share_won,
        "win_rate_best_english_percent": 100 * english.share_won,
        "win_rate_best_arabic_percent": 100 * by_lang["ara", best.reference].share_won,
        "win_rate_mean_arabic_percent": 100 * by_lang["ara", mean.reference].share_won,
        "tasks_human_beats_best": best.wins,
        "tasks_total": best.pairs,
        "tasks_below_0.5": hard,
        "share_easy_human_ge_0.7_percent": 100 * sum(one.people_difficulty == "easy" for one in every) / len(every),
        "tasks_outside_human_ci": outside,
    }


def _written(table: ColumnTable) -> list[dict[str, str]]:
    """The table as people read it."""
    return [
        {column.name: column.format_value_for_people(value) for column, value in zip(table.columns, row, strict=True)}
        for row in table.rows
    ]
