"""Tables from rows: exact in CSV, rounded in Markdown, never a mean over what is missing."""

import numpy as np
import pytest

from embassay.protocols.kernel.comparisons import SystemHeadlineValue, SystemStanding
from embassay.protocols.sage.tables import (
    SageTable,
    make_best_encoder_vs_metric_table,
    make_sage_tables,
    make_system_group_table,
)
from embassay.records import ResultRow

KINDS = {"minilm": "embedding", "a,b": "classical", "constant": "reference"}


def row(task, dataset, system, measure, value, variant=""):
    return ResultRow("sage", task, dataset, "", "en", variant, system, measure, value, 3, reason="" if value else "why")


def made(rows):
    return {table.name: table for table in make_sage_tables(rows, KINDS)}


def test_table_1_has_the_paper_s_columns():
    """Clustering, Human Pref., Robustness, Sensitivity, Retrieval, Overall; a missing task is empty."""
    table = made([row("robustness", "", "minilm", "robustness", 0.25)])["sage_table1"]
    assert table.columns == ("Clustering", "Human Pref.", "Robustness", "Sensitivity", "Retrieval", "Overall")
    assert table.rows[0] == ("embedding", "minilm", (None, None, 0.25, None, None, None))


def test_a_mean_over_datasets_needs_all_of_them():
    """One dataset without a value leaves the mean empty: it is not a mean of the rest."""
    rows = [row("preference", "one", "minilm", "score", 0.5, "overall"),
            row("preference", "two", "minilm", "score", None, "overall"),
            row("preference", "one", "a,b", "score", 0.2, "overall"),
            row("preference", "two", "a,b", "score", 0.4, "overall")]  # fmt: skip
    table = made(rows)["sage_table3"]
    assert [values for _, _, values in table.rows] == [(None,), (pytest.approx(0.3),), (None,)]


def test_csv_is_exact_and_markdown_is_for_people():
    """Full precision and quoted names in CSV; three decimals, n/a and groups in Markdown."""
    table = SageTable("t", "Title", ("x",), (("embedding", "minilm", (1 / 3,)), ("classical", "a,b", (None,))))
    assert table.as_csv() == f'kind,system,x\nembedding,minilm,{1 / 3!r}\nclassical,"a,b",\n'
    markdown = table.format_table_as_markdown()
    assert "| minilm | 0.333 |" in markdown
    assert "| *Classical metrics* | |" in markdown
    assert "| a,b | n/a |" in markdown


DRAWS = np.random.default_rng(5).normal(0, 0.01, (4, 400))


def standing(task, system, value, draws):
    return SystemStanding(
        task,
        "",
        task,
        SystemHeadlineValue(system, value, 40, value + draws, "bootstrap", reason="" if value else "why"),
    )


def test_groups_are_means_of_paired_draws():
    """Embeddings and classical metrics as groups: either mean, and the first minus the second drawn together."""
    kinds = {"minilm": "embedding", "e5": "embedding", "bm25": "classical", "constant": "reference"}
    values = {"minilm": 0.6, "e5": 0.4, "bm25": 0.3, "constant": 0.9}
    shared = DRAWS[0]
    standings = [standing("robustness", name, value, shared) for name, value in values.items()]
    standings += [standing("retrieval", name, value, DRAWS[i]) for i, (name, value) in enumerate(values.items())]
    (table,) = make_system_group_table(standings, kinds)
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows) == ["Robustness", "Retrieval"]
    assert [one.name for one in table.columns][1:8:3] == ["embedding (2)", "classical (1)", "difference"]
    for row in rows.values():
        assert row[::3] == pytest.approx((0.5, 0.3, 0.2))
    assert rows["Robustness"][7:] == (None, None)  # drawn alike: nothing is left to differ
    drawn = DRAWS[:2].mean(axis=0) - DRAWS[2] + 0.2
    assert rows["Retrieval"][7:] == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=4e-3)


def test_groups_need_a_member_and_every_value():
    """Nothing without a classical metric; a task that one member has no value of has none."""
    standings = [standing("robustness", "minilm", 0.6, DRAWS[0]), standing("robustness", "bm25", 0.3, DRAWS[0])]
    assert not list(make_system_group_table(standings, {"minilm": "embedding"}))
    lacking = [*standings, SystemStanding("robustness", "", "robustness", SystemHeadlineValue.none("e5", "failed"))]
    (table,) = make_system_group_table(lacking, {"minilm": "embedding", "e5": "embedding", "bm25": "classical"})
    assert table.rows == (("Robustness", None, None, None, 0.3, *table.rows[0][5:7], None, None, None),)


def test_the_best_of_each_kind_are_compared_as_the_paper_states_it():
    """SAGE's table 1: preference .682 against .591 is 15.4% higher, clustering .483 to .209 is 2.3 times as high."""
    kinds = {
        "large": "embedding",
        "small": "embedding",
        "bm25": "classical",
        "rouge": "classical",
        "random": "reference",
    }
    published = {
        "preference": {"large": 0.682, "small": 0.654, "bm25": 0.591, "rouge": 0.568, "random": 0.9},
        "clustering": {"large": 0.443, "small": 0.483, "bm25": 0.209, "rouge": 0.19, "random": 0.9},
    }
    standings = [
        standing(task, name, value, DRAWS[place % 4])
        for task, values in published.items()
        for place, (name, value) in enumerate(values.items())
    ]
    (table,) = make_best_encoder_vs_metric_table(standings, kinds)
    rows = {row[0]: dict(zip((column.name for column in table.columns), row, strict=True)) for row in table.rows}
    preference, clustering = rows["Human Pref."], rows["Clustering"]
    assert (preference["embedding"], preference["classical"]) == ("large", "bm25")
    assert preference["percent higher"] == pytest.approx(15.4, abs=0.05)
    assert (clustering["embedding"], clustering["times"]) == ("small", pytest.approx(2.3, abs=0.05))
    drawn = (0.682 + DRAWS[0]) / (0.591 + DRAWS[2])
    assert [preference[f"times {end}"] for end in ("low", "high")] == pytest.approx(np.percentile(drawn, [2.5, 97.5]))
    assert not list(make_best_encoder_vs_metric_table(standings, {"large": "embedding"}))
