"""A scoring on a terminal: verdict, one table, notes; 80 columns and plain ASCII where that is all there is."""

from __future__ import annotations

import pytest

import embassay as eb
from embassay.protocols.rag.scoring.score import ScoringRecord
from embassay.report.rag.tables import iterate_query_value_lines, scoring_view
from report.pages import printed
from stub.ranked import qrels, run

JUDGED = qrels(20)


def scored(runs: int, **arguments: object) -> eb.rag.Scoring:
    made = {f"run-{i}": run(JUDGED, i, skill=1 + i / 2) for i in range(runs)}
    return eb.rag.score(JUDGED, made, resamples=200, **arguments)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def records() -> dict[int, ScoringRecord]:
    return {n: scored(n, sensitivity=n == 2).record for n in (1, 2, 3, 6)}


@pytest.mark.parametrize("runs", [1, 2, 3, 6])
def test_it_fits_eighty_columns(records: dict[int, ScoringRecord], runs: int) -> None:
    """Verdict first; no line is longer, no name or number is cut."""
    text = printed(scoring_view(records[runs]))
    assert text.startswith(records[runs].verdict)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\n\n- " in text


def test_one_run_has_its_cutoffs_side_by_side(records: dict[int, ScoringRecord]) -> None:
    """A row per measure, a column per cutoff, value and interval as a pair."""
    lines = printed(scoring_view(records[1])).splitlines()
    header = next(line for line in lines if line.startswith("Measure"))
    assert "@10, 95%" in header
    assert "@30" in header
    value = records[1].value("run-0", "RA-nWG@10")
    assert value is not None
    row = next(line for line in lines if line.startswith("RA-nWG "))
    assert f"{value.value:.3f} {value.low:.3f}–{value.high:.3f}" in row
    assert any(line.startswith("Harm (lower)") for line in lines)


def test_a_few_runs_stand_side_by_side(records: dict[int, ScoringRecord]) -> None:
    """A column per run, a row per measure and cutoff."""
    text = printed(scoring_view(records[3]))
    header = next(line for line in text.splitlines() if line.startswith("Measure"))
    assert [name in header for name in ("run-0", "run-1", "run-2")] == [True] * 3


def test_many_runs_stand_below_each_other(records: dict[int, ScoringRecord]) -> None:
    """Best first, with the ranks that the tests allow; hidden columns are counted, and `wide` shows them."""
    comparison = records[6].find_measure_comparison("RA-nWG@10")
    assert comparison is not None
    lines = printed(scoring_view(records[6])).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Rank"))
    shown = [line.split() for line in lines[start + 2 : start + 8]]
    assert [cells[1] for cells in shown] == list(comparison.runs)
    assert "columns hidden, --wide shows them" in "\n".join(lines)
    assert "hidden" not in printed(scoring_view(records[6], wide=True), wide=True)


def test_sensitivity_is_a_second_table(records: dict[int, ScoringRecord]) -> None:
    """24 settings for each cutoff, the default marked."""
    lines = printed(scoring_view(records[2])).splitlines()
    cells = [line for line in lines if line.strip().startswith(("10 ", "10*", "30 ", "30*"))]
    assert len(cells) == 48
    assert sum("*" in line for line in cells) == 2


def test_plain_ascii(records: dict[int, ScoringRecord]) -> None:
    """Where the encoding is not UTF-8."""
    for record in records.values():
        printed(scoring_view(record), unicode=False).encode("ascii")


def test_values_per_query() -> None:
    """A header and a line per run, query and measure; undefined is n/a with its reason."""
    found = scored(1, measures=["RA-nWG@10", "N-Recall5@10"])
    lines = list(iterate_query_value_lines(found.per_query))
    assert lines[0].split("\t") == ["run", "query_id", "measure", "value", "reason"]
    assert len(lines) == 1 + 2 * len(JUDGED)
    undefined = [line for line in lines if "\tn/a\t" in line]
    assert undefined
    assert all(line.endswith("no document has grade 5") for line in undefined if "N-Recall5" in line)


def test_undefined_values_are_a_word() -> None:
    """n/a, never blank or 0."""
    text = printed(scoring_view(eb.rag.score({"q": {"a": 1, "b": 2}}, {"r": {"q": ["a"]}}, resamples=20).record))
    row = next(line for line in text.splitlines() if line.startswith("RA-nWG "))
    assert row.split() == ["RA-nWG", "n/a", "n/a"]
