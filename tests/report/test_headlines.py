"""What runs say first of every system: one record for terminal, overview and cards, in a table that hides nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from embassay.errors import DataError
from embassay.protocols.hume.record import read_summary
from embassay.protocols.kernel.tables import POINTS, SCORE
from embassay.records import ResultRow
from embassay.report.board import BoardValue
from embassay.report.cards.card import make_system_cards
from embassay.report.headlines import (
    RunHeadlines,
    SystemHeadlineFigure,
    combine_run_headlines,
    find_run_headlines,
    format_headline_value_and_rank,
    iterate_headlines_of_runs,
    make_headline_table_blocks,
)
from embassay.report.html import render_whole_report_as_html
from embassay.report.runs import ReportRun, read_report_runs
from report.pages import printed

from .hume_run import write_hume_run


def _leader(
    value: float, low: float | None, high: float | None, unit: object = SCORE, **more: object
) -> SystemHeadlineFigure:
    row = ResultRow("p", "overall", "", "", "", "", "s", "overall", value, 5, low, high, "b", 0, "")
    return SystemHeadlineFigure("embedding", BoardValue("value", row, unit=unit), **more)  # type: ignore[arg-type]


SAGE = RunHeadlines(
    "SAGE", "overall", SCORE,
    {
        "a-long-name": _leader(0.4561, 0.4321, 0.4772, rank=(1, 1)),
        "b": _leader(0.4, 0.35, 0.45, rank=(2, 2)),
    },
)  # fmt: skip
HUME = RunHeadlines(
    "HUME", "mean of 3 pairs", POINTS,
    {
        "b": _leader(0.855, 0.8, 0.9, POINTS, rank=(1, 2), apart=True),
        "a-long-name": _leader(0.7, None, None, POINTS),
    },
    "people 81.0, rank 1 of 2 by the mean",
)  # fmt: skip


def test_values_carry_intervals_and_ranks() -> None:
    """Each run in its own unit; a dash where there is nothing to rank by. People stand in a note."""
    text = printed(make_headline_table_blocks([SAGE, HUME], width=100), width=100)
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in text.splitlines() if line}
    assert rows["a-long-name"] == "0.456 0.432–0.477 1 70.00 –"
    assert rows["b"] == "0.400 0.350–0.450 2 85.50 80.00–90.00 1–2*"
    assert "(100 times the measure): HUME" in text
    assert "* Ranked separately" in text
    assert "HUME: mean of 3 pairs; people 81.0, rank 1 of 2 by the mean." in text


def test_runs_that_do_not_fit_stand_below_one_another() -> None:
    """No column is dropped and no line is wider than the screen."""
    text = printed(make_headline_table_blocks([SAGE, HUME] * 2, width=80), width=80)
    tables, lines = text.split("\n\n")[:-1], text.splitlines()
    assert len(tables) == 2
    assert max(map(cell_len, lines)) <= 80
    assert text.count("0.456") == 2


def test_a_system_of_one_run_alone_is_counted_not_shown() -> None:
    """The tables keep to what can be set side by side, and say that there is more."""
    more = replace(SAGE, leaders={**SAGE.leaders, "c": _leader(0.2, 0.1, 0.3)})
    text = printed(make_headline_table_blocks([HUME, more], width=100), width=100)
    assert "\nc " not in text
    assert "Only in a later run: 1 system" in text
    assert "\nc " in printed(make_headline_table_blocks([more, HUME], width=100), width=100)


def test_ascii() -> None:
    """A terminal that knows no more gets no more."""
    assert printed(make_headline_table_blocks([SAGE, HUME], width=60), width=60, unicode=False).isascii()


def test_one_system_alone_has_no_rank() -> None:
    """Nothing is said of tests where there are none."""
    text = printed(
        make_headline_table_blocks([RunHeadlines("SAGE", "overall", SCORE, {"b": _leader(0.4, 0.35, 0.45)})])
    )
    assert "No ranks" in text
    assert "points" not in text


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    """As by the report."""
    with pytest.raises(DataError):
        read_report_runs([tmp_path / "nothing"])


@pytest.fixture(scope="module")
def runs(
    plain_run: Path, pteb_run: Path, score_run: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ReportRun, ...]:
    """One run of each protocol."""
    return read_report_runs([plain_run, pteb_run, score_run, write_hume_run(tmp_path_factory.mktemp("runs") / "hume")])


def test_terminal_overview_and_cards_agree(runs: tuple[ReportRun, ...]) -> None:
    """Every figure, interval and rank of the terminal's table stands in the overview's, and on the system's card."""
    found, table, cards = (list(iterate_headlines_of_runs(runs)), combine_run_headlines(runs), make_system_cards(runs))
    assert table is not None
    assert cards is not None
    assert [one.run for one in found] == ["SAGE", "PTEB", "RAG", "HUME"]
    page = _texts(render_whole_report_as_html(runs))
    on_cards = {card.row.label: [one for run in card.standings for one in run.scores] for card in cards}
    ranked = 0
    for line in table.lines:
        name = next(one.name for run in runs for one in run.record.systems if one.index == line.index)
        for run, leader in zip(found, (run.leaders.get(name) for run in found), strict=True):
            if leader is None or leader.value.value is None:
                continue
            value, rank = format_headline_value_and_rank(run, name)
            said = leader.value.interval or "no interval"
            said += f" rank {rank.rstrip('*')}" + " of its kind" * leader.apart if leader.rank else ""
            assert f"{leader.value.text} {said}" in page[line.label], (line.label, run.run)
            assert value == f"{leader.value.text} {leader.value.interval}".strip()
            ranked += leader.rank is not None
            if line.kind != "reference":
                assert (leader.value.text, leader.value.interval, leader.rank_range) in [
                    (one.value.text, one.value.interval, one.rank) for one in on_cards[line.label]
                ]
    assert ranked >= 8


def test_ranks_are_those_of_the_run_itself(runs: tuple[ReportRun, ...]) -> None:
    """Of a scoring by the measure it leads with; people of a study have a place by the mean, and no rank."""
    score, hume = (next(run for run in runs if run.record.kind == kind) for kind in ("score", "hume"))
    of_score = find_run_headlines(score)
    assert of_score is not None
    scope = score.record.find_task_comparisons("score")
    assert {name: one.rank for name, one in of_score.leaders.items()} == dict(scope.ranges)
    assert of_score.measure.startswith("RA-nWG@")
    of_hume = find_run_headlines(hume)
    human = next(one for one in read_summary(hume.record.path).places if one.kind == "human")
    assert of_hume is not None
    assert f"rank {human.rank} of " in of_hume.people
    assert human.system not in of_hume.leaders


def _texts(page: str) -> dict[str, str]:
    """The rows of the overview's table as texts, by their system."""
    table = page.split("id=together")[1].split("</table>")[0].split("<tbody>")[1]
    rows = [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in re.split(r"<tr[^>]*>", table)[1:]]
    return {row.split(" ")[0]: row for row in rows}
