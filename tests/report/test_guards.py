"""Guards on the terminal and the page: one line for each damage, with the cheapest that keeps enough."""

from __future__ import annotations

from pathlib import Path

from embassay.document.blocks import Table
from embassay.report.sage.guards import TABLE, iterate_text_damage_guard_blocks

HEAD = "dataset,system,damage,guard,kept,low,high,ms per question,cheapest\n"


def tables(run: Path) -> list[Table]:
    return [block for block in iterate_text_damage_guard_blocks(run) if isinstance(block, Table)]


def cells(table: Table) -> list[list[str]]:
    return [[str(line.label), *(str(entry.text) for entry in line.entries)] for line in table.lines]


def test_a_line_says_what_is_left_and_what_restores_it(tmp_path: Path) -> None:
    """Nothing where nothing does; a guard that is not needed is none."""
    path = tmp_path / TABLE
    path.parent.mkdir(parents=True)
    path.write_text(
        HEAD
        + "a,minilm,typos,alone,0.8,0.7,0.9,,\n"
        + "a,minilm,typos,cleaning,0.97,0.93,1.0,0.62,likely\n"
        + "a,minilm,typos,hybrid,0.99,0.96,1.0,1.7,\n"
        + "a,minilm,numerize,alone,0.1,0.05,0.2,,\n"
        + "b,minilm,speech,alone,0.99,0.98,1.0,,sure\n"
    )
    first, second = tables(tmp_path)
    assert cells(first) == [
        ["typos", "minilm", "0.800 0.700–0.900", "cleaning (likely)", "0.970 0.930–1.000", "0.62"],
        ["numerize", "minilm", "0.100 0.050–0.200", "none of them", "–", "–"],
    ]
    assert cells(second)[0][3] == "no guard needed"


def test_a_run_without_guards_says_nothing_of_them(tmp_path: Path) -> None:
    """Neither table nor how to read one."""
    assert list(iterate_text_damage_guard_blocks(tmp_path)) == []
