"""The overview of several runs: one verdict, a finding per protocol, every system run by run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from embassay.document.blocks import convert_sentence_to_text
from embassay.protocols.hume.record import read_summary
from embassay.report import write_report
from embassay.report.headlines import HeadlinesTableOfRuns, combine_run_headlines
from embassay.report.overview import make_overview_page, run_verdict
from embassay.report.runs import read_report_runs

from .hume_run import study, write_hume_run

MakeRun = Callable[..., Path]


def test_the_lede_has_a_finding_per_protocol(plain_run: Path, pteb_run: Path, score_run: Path, tmp_path: Path) -> None:
    """The gap of the first run, then the headings of PTEB, RAG and HUME, word for word but for the first capital."""
    runs = read_report_runs([plain_run, pteb_run, score_run, write_hume_run(tmp_path / "hume")])
    verdict = make_overview_page(runs).verdict
    said = [convert_sentence_to_text(one) for one in verdict.lede]
    assert convert_sentence_to_text(verdict.heading).startswith("SAGE: ")
    assert len(said) == 4
    for run, sentence in zip(runs[1:], said[1:], strict=True):
        heading = convert_sentence_to_text(run_verdict(run).heading)
        assert sentence.lower() == f"{run.title}: {heading}.".lower()


def test_few_runs_are_named_and_many_counted(plain_run: Path, pteb_run: Path, score_run: Path, tmp_path: Path) -> None:
    """Up to three by name; more are counted, their kinds stand beside."""
    three, four = [plain_run, pteb_run, score_run], [write_hume_run(tmp_path / "hume")]
    assert make_overview_page(read_report_runs(three)).names == ("made", "reworded", "scored")
    assert make_overview_page(read_report_runs([*three, *four])).names == ()
    page = write_report([*three, *four], out=tmp_path / "out.html").read_text("utf-8")
    assert "<b>4 runs</b>" in page


def test_every_system_stands_once_with_its_leading_scores(plain_run: Path, pteb_run: Path, tmp_path: Path) -> None:
    """Values, ranks and bold are those of the boards; people of the study stand under the table."""
    made = study()
    runs = read_report_runs([plain_run, pteb_run, write_hume_run(tmp_path / "hume", made)])
    table = combine_run_headlines(runs)
    assert table is not None
    assert titles(table) == ["SAGE", "PTEB", "HUME"]
    human = next(one for one in read_summary(tmp_path / "hume").places if one.kind == "human")
    assert table.people[0].startswith(f"HUME: simulated annotators {100 * (human.mean.value or 0):.1f}, rank")
    names = [line.label for line in table.lines]
    assert len(set(names)) == len(names)
    assert names[-2:] == ["constant", "random"]
    for line in table.lines:
        for run, leader in zip(runs[:2], line.leaders, strict=False):
            row = next((one for one in run.board.rows if one.label == line.label), None)
            if row is None:
                assert leader is None
                continue
            assert leader is not None
            assert (leader.value, leader.rank_range) == (row.lead, row.rank)


def titles(table: HeadlinesTableOfRuns) -> list[str]:
    """What its columns begin with."""
    return [one.title.partition(",")[0] for one in table.columns]


def test_one_run_has_no_such_table(plain_run: Path) -> None:
    """Nothing to put side by side."""
    assert combine_run_headlines(read_report_runs([plain_run])) is None
    assert make_overview_page(read_report_runs([plain_run])).together is None


def test_two_runs_of_one_kind_stand_side_by_side(make_run: MakeRun, tmp_path: Path) -> None:
    """Each in its own column, under its name."""
    make_run(name="one").rename(tmp_path / "sage-one")
    make_run(name="two", datasets=("other",)).rename(tmp_path / "sage-two")
    table = combine_run_headlines(read_report_runs([tmp_path]))
    assert table is not None
    assert [one.title for one in table.columns] == ["SAGE (one), overall", "SAGE (two), overall"]


def test_links_of_the_second_run_stay_on_its_page(make_run: MakeRun, tmp_path: Path) -> None:
    """What a page of the second run links to within itself bears its ending; what is of all does not."""
    make_run(name="one").rename(tmp_path / "sage-one")
    make_run(name="two", datasets=("other",)).rename(tmp_path / "sage-two")
    page = write_report(tmp_path, out=tmp_path / "out.html").read_text("utf-8")
    second = page.split("<section class=view id=sage-2 ")[1].split("<section class=view")[0]
    links = set(re.findall(r"href=#([\w-]+)", second))
    assert "sage-paper-2" in links
    assert "reading-sage" in links
    assert "sage-paper" not in links
    assert re.search(r"<h1 id=sage-title-2>", second)


def test_columns_without_a_shown_system_are_left_out(plain_run: Path, pteb_run: Path, tmp_path: Path) -> None:
    """A study of other systems has its page, not a column of gaps."""
    made = study()
    others = tuple(
        pair.model_copy(
            update={"models": tuple(one.model_copy(update={"system": f"x-{one.system}"}) for one in pair.models)}
        )
        for pair in made.pairs
    )
    places = tuple(
        one if one.kind == "human" else one.model_copy(update={"system": f"x-{one.system}"}) for one in made.places
    )
    hume = write_hume_run(tmp_path / "hume", made.model_copy(update={"pairs": others, "places": places}))
    table = combine_run_headlines(read_report_runs([plain_run, pteb_run, hume]))
    assert table is not None
    assert titles(table) == ["SAGE", "PTEB"]
    assert not [line for line in table.lines if line.label.startswith("x-")]
