"""The SAGE page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from embassay.document import plots as plot
from embassay.document.blocks import (
    Block,
    Figure,
    Heading,
    ParagraphBlock,
    StyledBlockGroup,
    TabbedBlocks,
    Table,
    choose_diverging_heat_step,
    convert_sentence_to_text,
)
from embassay.document.marks import fit_axis_scale
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.sage.sensitivity import compute_expected_similarity as protocol_expected
from embassay.protocols.sage.tables import make_sage_tables as written_tables
from embassay.report.board import WantedColumn, build_record_board, list_run_tasks, make_system_values_table
from embassay.report.record import RunRecord, read_run_record
from embassay.report.runs import ReportRun, read_report_runs
from embassay.report.sage import tables as curves
from embassay.report.sage.similarity import RETAINED, SIDES, make_similarity_size_position_columns, sage_page
from report.pages import every, tables

MakeRun = Callable[..., Path]


def page_of(run: Path) -> tuple[RunRecord, tuple[Block, ...]]:
    (one,) = read_report_runs([run])
    return one.record, tuple(sage_page(one, True))


def panels(page: Iterable[Block]) -> dict[str, Table]:
    return {table.title: table for table in every(page, Table) if table.style == "marks"}


def named(page: Iterable[Block], name: str) -> list[Table]:
    """The tables whose ids begin so, one per dataset."""
    return [table for id, table in tables(page).items() if id.startswith(name)]


def test_five_panels_on_their_own_scales_with_a_trivial_value(plain_run: Path) -> None:
    """Each panel holds the systems best first, and the value that needs no understanding."""
    record, page = page_of(plain_run)
    drawn = panels(page)
    assert list(drawn) == ["Human preference", "Robustness", "Sensitivity", "Clustering", "Retrieval"]
    for panel in drawn.values():
        values = [float(convert_sentence_to_text(line.entries[0].text[1:])) for line in panel.lines]
        assert values == sorted(values, reverse=True)
        assert all(record.systems_by_name[line.title].ranked for line in panel.lines)
    trivial = [convert_sentence_to_text(panel.foot[-1].entries[0].text) for panel in drawn.values()]
    for place, value in (
        (0, 0.5), (1, 1 / 3), (2, record.value("sensitivity", "constant", "sensitivity")),
        (4, record.value("retrieval", "random", "retention")),
    ):  # fmt: skip
        assert f"{numbers.format_score(value or 0.0)}<" in trivial[place]


def test_what_has_no_mark_is_named_beside_the_panels(plain_run: Path) -> None:
    """A failed task is a word with its reason."""
    _, page = page_of(plain_run)
    (box,) = (one for one in every(page, StyledBlockGroup) if Heading("Missing here", level=3) in one.blocks)
    said = [convert_sentence_to_text(one.said) for one in every(box.blocks, ParagraphBlock)]
    assert said[0].endswith("birch-base, retrieval: ✕ failed out of memory")
    assert len(said) == 2


def test_beyond_twelve_systems_the_rest_is_folded(make_run: MakeRun) -> None:
    """Twelve rows, the others as ticks; nobody is dropped."""
    _, page = page_of(make_run(systems={f"s{i}": "embedding" for i in range(40)}, tasks=("robustness",)))
    panel, shares = panels(page)["Robustness"], tables(page)["shares-0"]
    assert [sum(line.style == "more" for line in one.lines) for one in (panel, shares)] == [28, 28]
    assert (len(panel.lines), len(shares.lines)) == (40, 42)
    assert panel.foot[0].label == "28 more"


def test_heat_cells_print_the_value_they_are_coloured_by(plain_run: Path) -> None:
    """The step follows the value; the caption gives n and the widest interval of a ranked system."""
    _, page = page_of(plain_run)
    for line in tables(page)["shares-0"].lines:
        for entry in line.entries:
            value = float(entry.exact.partition(",")[0])
            assert entry.text == numbers.format_percent(value)
            assert entry.step == choose_diverging_heat_step(value - 1)
    said = [one.said for one in every(page, ParagraphBlock)]
    assert "n = 48 per row; largest half-width of a 95% interval: 1.3 points." in said
    assert "n = 42 per row; largest half-width of a 95% interval: 0.013." in said


def test_a_missing_row_keeps_its_reason(plain_run: Path) -> None:
    """A system without the task has one cell that says why."""
    _, page = page_of(plain_run)
    table = tables(page)["retained-0"]
    missing = {line.label: line.entries[0] for line in table.lines if len(line.entries) == 1}
    assert list(missing) == ["birch-base"]
    assert (missing["birch-base"].why, missing["birch-base"].span) == ("out of memory", len(table.columns))


def test_grounds_diverge_from_what_should_be() -> None:
    """Noise above the summary and changed meaning below it are on the right side; a share should be whole."""
    assert [choose_diverging_heat_step(off) for off in (-1.0, -0.3, -0.001, 0.0, 0.19, 0.9)] == [-5, -2, 0, 0, 1, 5]
    capitals, negated = (
        WantedColumn("", "similarity", edit, ideal=side)
        for edit, side in (("capitalize", "above"), ("negate", "below"))
    )
    assert (curves._pick_heat_step(0.9, capitals, 0.5), curves._pick_heat_step(0.9, negated, 0.5)) == (3, -3)
    assert curves._pick_heat_step(0.5, WantedColumn("", "share", ideal=1.0), None) == -3
    size = make_similarity_size_position_columns(False)[0]
    assert curves._pick_heat_step(1.0, size, None) == -1


def test_lines_have_the_hue_of_their_kind_and_strokes_of_their_place() -> None:
    """Two encoders are solid and dashed in one hue; a metric begins anew."""
    drawn = plot.make_system_plot_lines(
        [("embedding", ()), ("classical", ()), ("embedding", ())], fit_axis_scale([0.0, 1.0])
    )
    assert [(one.kind, one.nth) for one in drawn] == [("embedding", 1), ("classical", 1), ("embedding", 2)]


def test_columns_cover_what_the_protocol_measures() -> None:
    """Eighteen positions, eighteen perturbed corpora and two summaries of them, six edits; and the further ones."""
    from embassay.protocols.sage.tasks import INSERTIONS, REMOVALS, RETRIEVAL_EDITS
    from embassay.text import FURTHER

    shown = [
        variant
        for column in make_similarity_size_position_columns(False)
        for variant in (column.variant, *column.below)
    ]
    assert shown == [*INSERTIONS, *REMOVALS]
    assert {variant for column in RETAINED for variant in (column.variant, *column.below)} == {
        "augmented", "replaced", *(f"replaced:{edit}" for edit in (*RETRIEVAL_EDITS, *FURTHER)),
    }  # fmt: skip
    assert len(SIDES) == 6 + len(FURTHER)


@pytest.mark.parametrize("linear", [False, True])
def test_the_dashed_curve_is_the_protocols(linear: bool) -> None:
    """Expected similarities agree with those the score is made with."""
    for size in (0.15, 0.5, 0.9, 1.0):
        wanted = protocol_expected(size, "linear" if linear else "hyperbolic")
        assert curves.compute_expected_similarity_after_edit(size, linear=linear) == pytest.approx(float(wanted))


def test_at_most_four_lines_best_and_worst(make_run: MakeRun) -> None:
    """Of many systems the two best and the two worst by score are drawn."""
    systems = {f"s{i}": "classical" for i in range(7)}
    _, page = page_of(make_run(systems=systems, tasks=("sensitivity",)))
    chart = every(page, Figure)[0]
    assert re.findall(r"(s\d) 0\.", chart.summary) == ["s0", "s1", "s5", "s6"]


def test_labels_at_line_ends_do_not_touch(make_run: MakeRun) -> None:
    """Names are moved apart, in order, and stay in the figure."""
    placed = plot.spread_label_heights([(200.0, 0), (201.0, 1), (202.0, 2), (226.0, 3)])
    heights = [height for height, _ in placed]
    assert [i for _, i in placed] == [0, 1, 2, 3]
    assert min(b - a for a, b in pairwise(heights)) >= plot.LABEL_GAP
    assert heights[-1] <= plot.HEIGHT + 8


def test_the_papers_tables_are_those_of_the_run(plain_run: Path) -> None:
    """Tables 1 to 6 hold the values that the run wrote, systems under their group."""
    record, page = page_of(plain_run)
    written = {
        table.name: {system: values for _, system, values in table.rows}
        for table in written_tables(list(record.rows.values()), {s.name: s.kind for s in record.systems})
    }
    paper = named(page, "sage_table")
    assert [table.id for table in paper] == [f"sage_table{n}" for n in range(1, 7)]
    labels = {row.label: row.system.name for row in build_record_board(record).rows}
    for table in paper:
        for line in table.lines:
            values = written[table.id][labels[convert_sentence_to_text(line.label)]]
            shown = ["n/a" if value is None else numbers.format_score(value) for value in values]
            assert [entry.text for entry in line.entries] == shown
    assert [heading for heading, _ in paper[0].groups] == [
        "Embedding models", "Classical metrics", "Reference rows, not ranked",
    ]  # fmt: skip


def test_bold_is_the_best_and_all_not_told_apart(make_run: MakeRun) -> None:
    """In table 1 by the tests of each column; where there are none, nothing is bold."""
    run = make_run(levels={"aster-large": 0.9, "birch-base": 0.88}, datasets=("one", "two"))
    record, page = page_of(run)
    table, *others = named(page, "sage_table")
    column = [one.title for one in table.heads].index("Overall")
    bold = {line.label for line in table.lines if line.entries[column].bold}
    assert bold == set(record.find_task_comparisons("overall").best) == {"aster-large", "birch-base"}
    assert not any(entry.bold for one in others for line in one.lines for entry in line.entries)


def test_several_datasets_have_a_table_each(make_run: MakeRun) -> None:
    """Figures are per data set, and headline scores by data set stand beside each other."""
    _, page = page_of(make_run(datasets=("one", "two", "three")))
    shares, *_, last = every(page, TabbedBlocks)
    assert [title for title, _ in shares.panes] == ["one", "two", "three"]
    assert [title for title, _ in last.panes] == [
        "Human preference", "Robustness", "Sensitivity", "Clustering", "Retrieval",
    ]  # fmt: skip
    assert [one.title for one in named(page, "by-dataset-")[0].heads] == ["one", "two", "three"]


def test_a_run_of_one_task_has_only_its_figures(make_run: MakeRun) -> None:
    """Nothing is shown empty."""
    _, page = page_of(make_run(tasks=("clustering",)))
    assert len(panels(page)) == 1
    assert not [*every(page, Figure), *every(page, TabbedBlocks)]


def test_a_run_of_some_edits_says_how_many_copies_it_searched(plain_run: Path) -> None:
    """In the methods and above the table of retrieval; a run of all says 18."""

    def said(record: RunRecord) -> tuple[str, str]:
        page = tuple(sage_page(ReportRun(record, build_record_board(record)), True))
        (how,) = (
            convert_sentence_to_text(one.said)
            for one in every(page, ParagraphBlock)
            if "With all copies" in convert_sentence_to_text(one.said)
        )
        copies = how.partition("the corpus also contains ")[2].partition(" of every document")[0]
        return copies, next(task.how for task in list_run_tasks(record) if task.name == "retrieval")

    whole = read_run_record(plain_run)
    copies, how = said(whole)
    assert copies == "18 perturbed copies"
    assert how.startswith("Each document has 18 perturbed copies.")
    chosen = ("replaced:capitalize", "replaced:delete10")
    rows = {
        key: row for key, row in whole.rows.items() if not row.variant.startswith("replaced:") or row.variant in chosen
    }
    copies, how = said(replace(whole, rows=rows))
    assert copies == "2 of the paper's 18 perturbed copies (capitalize, delete10)"
    assert how.startswith(f"Each document has {copies}.")


def test_what_is_undefined_is_said_once(plain_run: Path) -> None:
    """Cells say n/a, and the table once why; ties have the ground of what should not be."""
    record, _ = page_of(plain_run)
    for row in [row for row in record.rows.values() if row.task == "preference" and row.system == "constant"]:
        if row.measure == "score":
            key = (row.task, row.dataset, row.subset, row.variant, row.system, row.measure)
            record.rows[key] = replace(row, value=None, reason="the similarity does not vary")
    columns = [
        WantedColumn("Share of ties", "tie_share", is_less_better=True),
        WantedColumn("Rating", "score", "overall"),
        WantedColumn("Rating 2", "score", "accuracy"),
    ]
    board = build_record_board(record)
    task = next(one for one in board.tasks if one.name == "preference")
    wanted = [replace(one, dataset="sample") for one in columns]
    made = make_system_values_table(record, board, task, wanted, name="x", title="X", is_shaded=True)
    assert made is not None
    assert convert_sentence_to_text(made.note) == "n/a: the similarity does not vary (constant)."
    entries = {line.label: line.entries for line in made.lines}
    assert [convert_sentence_to_text(one.text) for one in entries["constant"][1:]] == ["n/a", "n/a"]
    assert all(one[0].step < 0 < one[1].step for name, one in entries.items() if name != "constant")


def test_labels_of_a_scatter_stand_whole_also_on_a_phone() -> None:
    """On the side on which they fit: a long name past the middle stands on the left of its point."""
    points = [
        plot.PlotPoint(0.59, 0.5, "embedding", "sample-classification (eng)"),
        plot.PlotPoint(0.1, 0.1, "hybrid", "near the edge"),
    ]
    drawn = plot.draw_scatter_plot(
        points, plot.PlotAxis(fit_axis_scale([0.0, 1.0]), "x"), plot.PlotAxis(fit_axis_scale([0.0, 1.0]), "y")
    )
    long, short = re.findall(r'<text class="name"[^>]*>', drawn)
    assert 'text-anchor="end"' in long
    assert "text-anchor" not in short
    name, top = (float(re.search(rf'y="([\d.]+)"[^>]*>{text}<', drawn)[1]) for text in ("y", "1"))
    assert top + 4 - name > 16, "the name of the axis and its highest tick do not touch"
