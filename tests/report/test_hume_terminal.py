"""A HUME run on a terminal: verdict, one table, notes; 80 columns and plain ASCII where that is all there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from embassay.document.blocks import convert_sentence_to_text
from embassay.errors import DataError
from embassay.protocols.hume.record import Summary
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.quantities import forecast_difference_with_more_items
from embassay.report import write_report
from embassay.report.hume.conclusions import describe_hume_verdict, hume_view
from embassay.report.hume.differences import make_pair_difference_plots
from embassay.report.hume.families import list_ranked_models_per_pair
from embassay.report.terminal import make_run_terminal_blocks
from report.pages import printed

from .hume_run import published, study, write_hume_run

RUNS = {"paper": published(), "study": study()}


@pytest.fixture(scope="module", params=list(RUNS))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    made = RUNS[request.param]
    return write_hume_run(tmp_path_factory.mktemp("hume") / request.param, made), made


def test_it_fits_eighty_columns(run: tuple[Path, Summary]) -> None:
    """Verdict first; no line is longer; what is dropped is counted."""
    folder, made = run
    lines = printed(hume_view(folder)).splitlines()
    assert lines[0] == convert_sentence_to_text(describe_hume_verdict(made).heading)
    assert max(len(line) for line in lines if not line.startswith("Tables:")) <= 80
    assert any(line.endswith("hidden, --wide shows them") for line in lines)


def test_every_pair_has_its_row(run: tuple[Path, Summary]) -> None:
    """Points with the interval, agreement, and the best model's mark."""
    folder, made = run
    text = printed(hume_view(folder, wide=True), wide=True)
    for pair in made.pairs:
        row = next(line for line in text.splitlines() if line.startswith(f"{pair.name} "))
        assert f" {100 * (pair.human.value or 0.0):.1f} " in row
        best = max(pair.models, key=lambda one: one.score.value or 0.0)
        assert f" {100 * (best.score.value or 0.0):.1f}{'*' if best.outside else ' '}" in row
        assert (" !" in row) == (pair.trust == "low")
        assert ("one annotator" in row) == (pair.agreement is None)


def test_wide_shows_all_columns_and_places(run: tuple[Path, Summary]) -> None:
    folder, made = run
    text = printed(hume_view(folder, wide=True), wide=True)
    assert "hidden" not in text
    assert "Of people" in text
    assert text.count("\n    1  ") + text.count("\n    4  ") >= 1
    assert f"{made.places[0].mean.value or 0.0:.1%}".rstrip("%") in text


def test_more_items_are_told_of_where_the_best_model_and_people_cannot_be_told_apart(tmp_path: Path) -> None:
    """By the paired test of the page: for these pairs and no others, in points, with what the labels would cost."""
    made = RUNS["study"]
    folder = write_hume_run(tmp_path / "run", made)
    text = printed(hume_view(folder, True, 0.25), wide=True)
    forests = {one.title.partition(",")[0]: one.rows for one in make_pair_difference_plots(made)}
    people = {pair.name: pair for pair in made.pairs}
    told = set()
    for pair in list_ranked_models_per_pair(made):
        best, rows = pair.best, forests.get(pair.pair.name, ())
        open_ = best is not None and any(row.label == best.system and not row.sure for row in rows)
        if open_ and best is not None and best.difference is not None:
            told.add(pair.pair.name)
            bar = best.difference
            first = forecast_difference_with_more_items(
                bar.value or 0.0, ((bar.high or 0) - (bar.low or 0)) / 2, 40, len(rows)
            )[0]
            cost = 50 * 0.25 * len(people[pair.pair.name].annotators)
            line = next(one for one in text.splitlines() if f"on {pair.pair.name}: 50 more" in one)
            assert line.split()[-5:] == [
                f"{50 * len(pair.pair.annotators)}", f"${cost:.2f}", "±", f"{100 * first.half:.1f}",
                numbers.format_percent(first.chance),
            ]  # fmt: skip
    assert told
    assert told != set(people)
    assert text.count(": 400 more") == len(told)
    html = write_report(folder).read_text("utf-8")
    page = html[html.index("id=hume-undecided") :].split("</details>")[0]
    assert page.count(": 400 more") == len(told)
    assert "$" not in page


def test_plain_ascii(run: tuple[Path, Summary]) -> None:
    """Where the terminal knows no more, and nothing is lost to question marks."""
    text = printed(hume_view(run[0]), unicode=False)
    assert text.isascii()
    assert "?" not in text.replace("?model=", "")
    assert ".." in text


def test_simulated_annotators_are_said_to_be_so() -> None:
    """In the heading of the column, never as people."""
    assert "simulated annotators" in convert_sentence_to_text(describe_hume_verdict(study()).heading)
    assert "people" not in convert_sentence_to_text(describe_hume_verdict(study()).heading)


def test_it_is_the_text_of_any_hume_run(run: tuple[Path, Summary]) -> None:
    """`make_run_terminal_blocks` shows it, with the report once that is written."""
    folder, _ = run
    write_report(folder)
    assert printed(make_run_terminal_blocks(folder)) == printed(hume_view(folder))
    assert printed(hume_view(folder)).endswith(f"Report: {folder / 'report.html'}")


def test_a_folder_without_a_record_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no summary"):
        printed(hume_view(tmp_path))
