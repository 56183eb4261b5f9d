"""Tables from rows: exact in CSV, rounded in Markdown, never a mean over what is missing."""

import pytest

from embassay.protocols.sage.tables import Table, tables
from embassay.records import Result

KINDS = {"minilm": "embedding", "a,b": "classical", "constant": "reference"}


def row(task, dataset, system, measure, value, variant=""):
    return Result(
        "sage", task, dataset, "", "en", variant, system, measure, value, 3, reason="" if value else "why"
    )


def made(rows):
    return {table.name: table for table in tables(rows, KINDS)}


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
    table = Table("t", "Title", ("x",), (("embedding", "minilm", (1 / 3,)), ("classical", "a,b", (None,))))
    assert table.as_csv() == f'kind,system,x\nembedding,minilm,{1 / 3!r}\nclassical,"a,b",\n'
    markdown = table.as_markdown()
    assert "| minilm | 0.333 |" in markdown
    assert "| *Classical metrics* | |" in markdown
    assert "| a,b | n/a |" in markdown
