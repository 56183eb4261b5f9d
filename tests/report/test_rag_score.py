"""The page of a scoring says what its record says, for people."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import get_args

import pytest

from embassay.contracts import Kind
from embassay.document.blocks import Block, BulletList, Table, VerdictText, convert_sentence_to_text
from embassay.document.marks import CLASSES
from embassay.errors import DataError
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.scoring.score import ScoringRecord, read_scoring_record
from embassay.report import write_report
from embassay.report.notes import list_run_notes
from embassay.report.rag.scoring import make_scoring_page_blocks
from embassay.report.record import read_run_record
from embassay.report.runs import read_report_runs
from report.pages import every, tables

from .rag_runs import RUNS, write_score_run


def page(run: Path) -> tuple[Block, ...]:
    (one,) = read_report_runs([run])
    return tuple(make_scoring_page_blocks(one, True))


def score_of(run: Path) -> ScoringRecord:
    return read_scoring_record(run / "score.json")


def test_the_verdict_is_that_of_the_record(score_run: Path) -> None:
    """Word by word; the page makes no finding of its own."""
    made, score = page(score_run), score_of(score_run)
    (verdict,) = every(made, VerdictText)
    assert verdict.heading == (score.verdict,)
    assert verdict.lede == tuple((one,) for one in score.lede)
    assert len(score.verdict) <= 80


def test_panels_show_every_run_at_every_cutoff(score_run: Path) -> None:
    """The usual three measures; values are those of the record, the best first by the tests."""
    made, score = page(score_run), score_of(score_run)
    panels = [table for table in every(made, Table) if table.style == "marks"]
    assert [panel.title for panel in panels] == ["RA-nWG", "N-Recall4+", "Harm"]
    for panel in panels:
        assert [cutoff for cutoff, _ in panel.groups] == ["@5", "@10"]
        for cutoff, lines in panel.groups:
            comparison = score.find_measure_comparison(panel.title + cutoff)
            assert comparison is not None
            assert tuple(line.label for line in lines) == comparison.runs
            for line in lines:
                value = score.value(str(line.label), panel.title + cutoff)
                assert value is not None
                assert convert_sentence_to_text(line.entries[0].text).endswith(numbers.format_score(value.value or 0.0))


def test_pool_and_ordering_add_up(score_run: Path) -> None:
    """Reached and both losses are 1 together; the drawing has all three, and the words are those of the record."""
    made, score = page(score_run), score_of(score_run)
    lines = tables(made)["ceilings"].lines
    assert len(lines) == len(score.readings) == 2 * len(RUNS)
    for line in lines:
        mark, *figures, _ = line.entries
        assert convert_sentence_to_text(figures[2].text).endswith("%")
        reached, *_, ordering, pool = (float(entry.exact.split(",")[0]) for entry in figures)
        assert reached + ordering + pool == pytest.approx(1, abs=1e-4)
        assert convert_sentence_to_text(mark.text).count("<rect") == 3
    said = [convert_sentence_to_text(one[1:]).removeprefix(": ") for one in every(made, BulletList)[0].items]
    assert all(any(one in reading.text for reading in score.readings) for one in said)


def test_differences_name_who_beats_whom(score_run: Path) -> None:
    """The headline first; words and p are those of the record."""
    made, score = page(score_run), score_of(score_run)
    forest = tables(made)["pairs-0"]
    assert forest.title == score.headline
    comparison = score.find_measure_comparison(score.headline)
    assert comparison is not None
    for line, pair in zip(forest.lines, comparison.pairs, strict=True):
        *_, p, n, words = line.entries
        assert line.label == f"{pair.a} − {pair.b}"
        assert (p.text, n.text) == (numbers.format_p_value(pair.p_adjusted), numbers.format_count(pair.n))
        assert ("beats" in words.text) == bool(pair.better) == p.bold


def test_bold_is_who_may_be_first_where_not_all_may(score_run: Path) -> None:
    """By the ranks of the tests, measure by measure."""
    measures, score = tables(page(score_run))["measures"], score_of(score_run)
    runs = [run.name for run in score.runs]
    for line, measure in zip(measures.lines, score.measures, strict=True):
        comparison = score.find_measure_comparison(measure.name)
        first = [] if comparison is None else [
            run for run, low in zip(comparison.runs, comparison.rank_low, strict=True) if low == 1
        ]  # fmt: skip
        bold = [run for run, entry in zip(runs, line.entries, strict=True) if entry.bold]
        assert set(bold) == (set(first) if len(first) < len(runs) else set())
        assert line.label.endswith("(lower is better)") == (measure.direction == "lower")


def test_the_grid_has_24_cells_and_one_default(score_run: Path) -> None:
    """Per cutoff: four rarities, six pairs of caps."""
    grids = [table for id, table in tables(page(score_run)).items() if id.startswith("grid-")]
    assert len(grids) == 2
    for grid in grids:
        cells = [entry for line in grid.lines for entry in line.entries]
        assert len(cells) == 24
        assert [entry.small for entry in cells if entry.bold] == ["default"]


def test_the_worst_queries_come_first(score_run: Path) -> None:
    """By their mean over the runs; a query without any document of worth has no value and is not among them."""
    lines = tables(page(score_run))["worst-queries"].lines
    found = {
        convert_sentence_to_text(line.label): [float(convert_sentence_to_text(one.text)) for one in line.entries[-3:]]
        for line in lines
    }
    means = [mean for mean, *_ in found.values()]
    assert means == sorted(means)
    assert "q0" not in found
    assert all(sum(parts) == pytest.approx(1, abs=2e-3) for parts in found.values())


def test_every_note_of_the_record_is_told(score_run: Path) -> None:
    """On the method page and, the run alone, on its own page."""
    record = read_run_record(score_run)
    assert [note.what for note in list_run_notes(record)] == [note.text for note in score_of(score_run).notes]


@pytest.mark.parametrize(
    "fields",
    [
        {"runs": ("alone",)},
        {"measures": ("nDCG@10",), "sensitivity": False},
        {"cutoffs": (10,)},
        {"measures": ("R@5", "P@5", "RR"), "sensitivity": False},
        {"queries": 4},
    ],
)
def test_scorings_of_every_shape_have_a_report(tmp_path: Path, fields: dict[str, object]) -> None:
    """One run, one measure, one cutoff, no set measure, few queries."""
    text = write_report(write_score_run(tmp_path / "run", **fields)).read_text("utf-8")  # type: ignore[arg-type]
    assert "id=score " in text
    assert "Undefined" not in text
    assert ">None<" not in text
    assert ">nan" not in text


def test_a_damaged_record_is_said_so(score_run: Path, tmp_path: Path) -> None:
    """With the file and what to do."""
    run = write_score_run(tmp_path / "run", queries=5)
    plain = json.loads((run / "score.json").read_text("utf-8"))
    (run / "score.json").write_text(json.dumps({**plain, "schema": 99}))
    with pytest.raises(DataError, match="another version"):
        write_report(run)


def test_runs_are_no_systems_of_the_board(score_run: Path, plain_run: Path, tmp_path: Path) -> None:
    """In a report with a SAGE run they stand on their own page alone; two of three are no system of SAGE's, and have
    cards of their own."""
    text = write_report([plain_run, score_run], out=tmp_path / "both.html").read_text("utf-8")
    table = re.search(r"<table [^>]*id=together.*?</table>", text, re.DOTALL)
    assert table is not None
    assert "aster-large" in table.group(0)
    assert not any(run in table.group(0) for run in ("hybrid", "dense"))
    assert "3 retrieval runs" in text
    assert len(re.findall(r"<article class=\"card model\"", text)) == 8


def test_runs_have_the_kind_of_what_made_them(tmp_path: Path) -> None:
    """By names of ours and of the report; joined lists of words and vectors are hybrids, others say nothing."""
    names = ("minilm", "bm25", "wordllama+bm25", "jaccard+bm25", "found-elsewhere")
    run = write_score_run(tmp_path / "score", runs=names)
    (one,) = read_report_runs([run])
    kinds = {system.name: system.kind for system in one.record.systems}
    assert kinds == dict(zip(names, ("embedding", "classical", "hybrid", "classical", "run"), strict=True))
    drawn = next(table for table in every(make_scoring_page_blocks(one, True), Table) if table.title == "RA-nWG")
    assert {line.label: line.kind for line in drawn.lines} == kinds
    for line in drawn.lines:
        assert f" {CLASSES[kinds[str(line.label)]]} " in convert_sentence_to_text(line.entries[0].text)


def test_every_kind_has_a_sign_of_its_own() -> None:
    """A class for each, with its rules in the style sheets of the report and of the leaderboard."""
    kinds = {name: CLASSES[name] for name in get_args(Kind)}
    assert len(set(kinds.values())) == len(kinds)
    for package, file in (
        ("embassay.report", "assets/report.css"),
        ("embassay.web.leaderboard", "page/static/leaderboard.css"),
    ):
        style = (resources.files(package) / file).read_text("utf-8")
        for sign in kinds.values():
            assert re.search(rf"i\.{sign}\b|i:is\([^)]*\.{sign}\b", style), (file, sign)


def test_what_runs_have_in_common_is_said_once(score_run: Path) -> None:
    """Readings with the same reason are one bullet that names all of them."""
    said = [convert_sentence_to_text(item) for item in next(iter(every(page(score_run), BulletList))).items]
    assert len({text.partition(": ")[2] for text in said}) == len(said)
    assert sum(text.partition(": ")[0].count("@") for text in said) == len(score_of(score_run).readings)
