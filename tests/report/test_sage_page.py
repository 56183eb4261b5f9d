"""The SAGE page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from embassay.document import plots as plot
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.sage.sensitivity import expected as protocol_expected
from embassay.protocols.sage.tables import tables
from embassay.report.board import make_board, present
from embassay.report.record import Record, read_record
from embassay.report.sage import similarity as curves
from embassay.report.sage.similarity import BY_POSITION, RETAINED, SIDES, SagePage, sage_page

MakeRun = Callable[..., Path]


def page_of(run: Path) -> tuple[Record, SagePage]:
    record = read_record(run)
    page = sage_page(record, make_board(record))
    assert page is not None
    return record, page


def test_five_panels_on_their_own_scales_with_a_trivial_value(plain_run: Path) -> None:
    """Each panel holds the systems best first, and the value that needs no understanding."""
    record, page = page_of(plain_run)
    assert [panel.task.name for panel in page.panels] == [
        "preference", "robustness", "sensitivity", "clustering", "retrieval",
    ]  # fmt: skip
    for panel in page.panels:
        values = [one.value.value or 0.0 for one in panel.rows]
        assert values == sorted(values, reverse=True)
        assert all(one.row.system.ranked for one in panel.rows)
        assert panel.scale.low <= min(values)
        assert panel.scale.high >= max(values)
    trivial = [panel.trivial for panel in page.panels]
    assert trivial[:2] == [0.5, pytest.approx(1 / 3)]
    assert trivial[2] == record.value("sensitivity", "constant", "sensitivity")
    assert trivial[4] == record.value("retrieval", "random", "retention")


def test_what_has_no_mark_is_named_beside_the_panels(plain_run: Path) -> None:
    """A failed task is a word with its reason."""
    _, page = page_of(plain_run)
    assert [(gap.row.label, gap.task.name, gap.value.reason) for gap in page.gaps] == [
        ("birch-base", "retrieval", "out of memory")
    ]


def test_beyond_twelve_systems_the_rest_is_folded(make_run: MakeRun) -> None:
    """Twelve rows, the others as ticks; nobody is dropped."""
    _, page = page_of(make_run(systems={f"s{i}": "embedding" for i in range(40)}, tasks=("robustness",)))
    assert (len(page.panels[0].rows), len(page.panels[0].rest)) == (12, 28)
    assert sum(row.is_more for row in page.shares[0].rows) == 28
    assert len(page.shares[0].rows) == 42


def test_heat_cells_print_the_value_they_are_coloured_by(plain_run: Path) -> None:
    """The step follows the value; the caption gives n and the widest interval of a ranked system."""
    _, page = page_of(plain_run)
    for row in page.shares[0].rows:
        for cell in row.cells:
            assert cell.text == numbers.percent(cell.value.value or 0.0)
            assert cell.step == min(5, 1 + int((cell.value.value or 0.0) * 5))
    assert page.shares[0].caption == "n = 48 per row; widest 95% half-width 1.3 points."
    assert page.retained[0].caption == "n = 42 per row; widest 95% half-width 0.013."


def test_a_missing_row_keeps_its_reason(plain_run: Path) -> None:
    """A system without the task has one cell that says why."""
    _, page = page_of(plain_run)
    missing = {row.row.label: row.missing for row in page.retained[0].rows if row.missing}
    assert list(missing) == ["birch-base"]
    assert missing["birch-base"].reason == "out of memory"


def test_columns_cover_what_the_protocol_measures() -> None:
    """Eighteen positions, eighteen perturbed corpora and two summaries of them, six edits."""
    from embassay.protocols.sage.edits import INSERTIONS, REMOVALS, RETRIEVAL_EDITS

    shown = [variant for column in BY_POSITION for variant in (column.variant, *column.below)]
    assert shown == [*INSERTIONS, *REMOVALS]
    assert {variant for column in RETAINED for variant in (column.variant, *column.below)} == {
        "augmented", "replaced", *(f"replaced:{edit}" for edit in RETRIEVAL_EDITS),
    }  # fmt: skip
    assert len(SIDES) == 6


@pytest.mark.parametrize("linear", [False, True])
def test_the_dashed_curve_is_the_protocols(linear: bool) -> None:
    """Expected similarities agree with those the score is made with."""
    for size in (0.15, 0.5, 0.9, 1.0):
        wanted = protocol_expected(size, "linear" if linear else "hyperbolic")
        assert curves.expected(size, linear=linear) == pytest.approx(float(wanted))


def test_at_most_four_lines_best_and_worst(make_run: MakeRun) -> None:
    """Of many systems the two best and the two worst by score are drawn."""
    systems = {f"s{i}": "classical" for i in range(7)}
    _, page = page_of(make_run(systems=systems, tasks=("sensitivity",)))
    chart = page.curves[0].curves[0]
    assert [line.row.label for line in chart.lines] == ["s0", "s1", "s5", "s6"]
    assert "s6 0." in chart.summary


def test_labels_at_line_ends_do_not_touch(make_run: MakeRun) -> None:
    """Names are moved apart, in order, and stay in the figure."""
    placed = plot.apart([(200.0, 0), (201.0, 1), (202.0, 2), (226.0, 3)])
    heights = [height for height, _ in placed]
    assert [i for _, i in placed] == [0, 1, 2, 3]
    assert min(b - a for a, b in pairwise(heights)) >= plot.LABEL_GAP
    assert heights[-1] <= plot.HEIGHT + 8


def test_the_papers_tables_are_those_of_the_run(plain_run: Path) -> None:
    """Tables 1 to 6 hold the values that the run wrote, systems under their group."""
    record, page = page_of(plain_run)
    written = {
        table.name: {system: values for _, system, values in table.rows}
        for table in tables(list(record.rows.values()), {s.name: s.kind for s in record.systems})
    }
    assert [table.id for table in page.paper] == [f"sage_table{n}" for n in range(1, 7)]
    for table in page.paper:
        for _, rows in table.groups:
            for row, cells in rows:
                assert tuple(cell.exact for cell in cells) == written[table.id][row.system.name]
    assert [heading for heading, _ in page.paper[0].groups] == [
        "Embedding models", "Classical metrics", "Reference rows, not ranked",
    ]  # fmt: skip


def test_bold_is_the_best_and_all_not_told_apart(make_run: MakeRun) -> None:
    """In table 1 by the tests of each column; where there are none, nothing is bold."""
    run = make_run(levels={"aster-large": 0.9, "birch-base": 0.88}, datasets=("one", "two"))
    record, page = page_of(run)
    table = page.paper[0]
    column = table.columns.index("Overall")
    bold = {row.system.name for _, rows in table.groups for row, cells in rows if cells[column].bold}
    assert bold == set(record.scope("overall").best) == {"aster-large", "birch-base"}
    assert not any(
        cell.bold for one in page.paper[1:] for _, rows in one.groups for _, cells in rows for cell in cells
    )


def test_several_datasets_have_a_table_each(make_run: MakeRun) -> None:
    """Figures are per data set, and headline scores by data set stand beside each other."""
    _, page = page_of(make_run(datasets=("one", "two", "three")))
    assert [heat.title for heat in page.shares] == ["one", "two", "three"]
    assert [table.title for table in page.by_dataset] == [
        "Human preference", "Robustness", "Sensitivity", "Clustering", "Retrieval",
    ]  # fmt: skip
    assert [heading for heading, _ in page.by_dataset[0].columns] == ["one", "two", "three"]


def test_a_run_of_one_task_has_only_its_figures(make_run: MakeRun) -> None:
    """Nothing is shown empty."""
    _, page = page_of(make_run(tasks=("clustering",)))
    assert len(page.panels) == 1
    assert not [*page.shares, *page.curves, *page.retained, *page.preference]


def test_a_run_of_some_edits_says_how_many_copies_it_searched(plain_run: Path) -> None:
    """In the methods and above the table of retrieval; a run of all says 18."""

    def said(record: Record) -> tuple[str, str]:
        page = sage_page(record, make_board(record))
        assert page is not None
        return page.copies, next(task.how for task in present(record) if task.name == "retrieval")

    whole = read_record(plain_run)
    copies, how = said(whole)
    assert copies == "18 perturbed copies"
    assert how.startswith("Each document has 18 perturbed copies.")
    chosen = ("replaced:capitalize", "replaced:delete10")
    rows = {
        key: row
        for key, row in whole.rows.items()
        if not row.variant.startswith("replaced:") or row.variant in chosen
    }
    copies, how = said(replace(whole, rows=rows))
    assert copies == "2 of the paper's 18 perturbed copies (capitalize, delete10)"
    assert how.startswith(f"Each document has {copies}.")
