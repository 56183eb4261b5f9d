"""The page and the terminal output of a sweep say what its record says."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from markupsafe import escape

from embassay.document.blocks import convert_sentence_to_text
from embassay.errors import DataError
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.quantities import forecast_difference_with_more_items
from embassay.protocols.rag.sweep.findings import SweepFindings, compute_sweep_findings
from embassay.protocols.rag.sweep.findings.record import FILE, AlternativeStack
from embassay.protocols.rag.sweep.stacks import SweepRules
from embassay.report import write_report
from embassay.report.board import build_record_board
from embassay.report.notes import list_run_notes
from embassay.report.rag.frontier import fit_log_scale, sweep_view
from embassay.report.rag.sweep import SweepPage, make_sweep_page, read_sweep_page, sweep_verdict
from embassay.report.record import read_run_record
from embassay.stats import Estimate
from protocols.rag.sweep.sweeps import drawn, scenarios
from report.pages import printed

from .sweep_run import write_sweep_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sweep") / "run"
    write_sweep_run(path)
    return path


@pytest.fixture(scope="module")
def findings() -> SweepFindings:
    return compute_sweep_findings(drawn({"sea": 20}, SweepRules(sla_ms=300.0)), resamples=50)


def test_the_page_says_the_recommendation_first(run: Path) -> None:
    html = write_report(run).read_text("utf-8")
    found = json.loads((run / FILE).read_text())["parts"][0]
    assert f">{found['verdict']}</h1>" in html
    for sentence in found["lede"]:
        assert escape(sentence) in html
    for title in (
        "Quality for time and money", "How sure is that?", "Where the time goes", "What each axis does",
        "Is a larger K worth it?", "More candidates only where they are needed", "What approximate search loses",
        "Every stack",
    ):  # fmt: skip
        assert f">{title}</h2>" in html
    assert "1 combination failed: minilm/64d/pq/k50/dense on sea (training broke off)." in html


def test_what_is_dominated_is_a_ring_and_what_is_not_has_a_number(findings: SweepFindings) -> None:
    part = findings.parts[0]
    plot = make_sweep_page(findings).scopes[0].plot
    order = part.frontiers[0].stacks
    assert plot.svg.count('class="pt ring') == len(part.stacks) - len(order)
    numbered = [int(one) for one in re.findall(r'class="name"[^>]*>(\d+)<', plot.svg)]
    assert numbered == sorted(set(numbered))
    assert set(numbered) <= set(range(1, len(order) + 1))
    assert plot.svg.count('class="pick"') == 1
    table = make_sweep_page(findings).scopes[0].table
    assert [re.sub("<[^>]*>", "", line.label) for line in table.lines] == [
        f"{i} {id}" for i, id in enumerate(order, start=1)
    ]


def test_rows_for_the_script_stand_in_the_order_that_decides_ties(findings: SweepFindings) -> None:
    part = findings.parts[0]
    rows = json.loads(make_sweep_page(findings).scopes[0].data)["rows"]
    stacks = [part.stack(row[0]) for row in rows]
    keys = [(one.tie_tokens, one.cost, one.latency, one.id) for one in stacks]
    assert keys == sorted(keys)
    assert [row[1:4] for row in rows] == [
        [pytest.approx(one.cost), pytest.approx(one.latency, abs=1e-4), pytest.approx(one.value("RA-nWG@10"))]
        for one in stacks
    ]


def test_over_the_limit_is_shaded(findings: SweepFindings) -> None:
    [(start, width)] = re.findall(
        r'class="shade" x="([\d.]+)%" width="([\d.]+)%"', make_sweep_page(findings).scopes[0].plot.svg
    )
    scale = fit_log_scale([100.0, 300.0])
    assert 7 < float(start) < 97
    assert float(start) + float(width) == pytest.approx(97)
    assert (scale.low, scale.high) == (50, 500)


@pytest.mark.parametrize(
    ("values", "ends"), [([3.0], (2, 5)), ([0.004, 900], (0.002, 1000)), ([], (0.5, 2)), ([5, 5], (2, 10))]
)
def test_log_scales_end_at_round_numbers(values: list[float], ends: tuple[float, float]) -> None:
    scale = fit_log_scale(values)
    assert (scale.low, scale.high) == pytest.approx(ends)
    assert all(scale.low * 0.99 <= tick <= scale.high * 1.01 for tick in scale.tick_values)


def test_routing_is_shown_where_it_saves_something(findings: SweepFindings) -> None:
    table = make_sweep_page(findings).routes
    assert table is not None
    assert all("cross" in line.label for line in table.lines)


def test_limits_that_nothing_keeps_are_said(tmp_path: Path) -> None:
    page = make_sweep_page(compute_sweep_findings(scenarios(sla_ms=300.0, budget=1.0), resamples=20))
    assert convert_sentence_to_text(page.verdict.heading) == "No stack meets the limits"
    assert not page.alternatives
    assert page.scopes[0].plot.svg.count('class="pick"') == 1
    assert 'class="band"' not in page.scopes[0].plot.svg


def test_a_sweep_of_one_stack_has_a_page(tmp_path: Path) -> None:
    write_sweep_run(tmp_path / "run", drawn({"sea": 5}, axes={"encoder": ("wordllama",)}))
    html = write_report(tmp_path / "run").read_text("utf-8")
    assert "Use wordllama/flat/k50/dense" in html
    assert "What each axis does" not in html


def test_names_are_escaped(tmp_path: Path) -> None:
    write_sweep_run(tmp_path / "run", drawn({"sea": 5}, axes={"encoder": ("<img src=x>", "a&b"), "k": (50, 100)}))
    html = write_report(tmp_path / "run").read_text("utf-8")
    assert "<img" not in html
    assert "&lt;img src=x&gt;" in html


def test_failed_combinations_are_notes_of_the_report(run: Path) -> None:
    first, *_ = list_run_notes(read_run_record(run))
    assert first.kind == "failed"
    assert first.what.startswith("1 combination failed: minilm/64d/pq/k50/dense on sea")


def test_a_run_without_findings_has_no_page(run: Path, tmp_path: Path) -> None:
    record = read_run_record(run)
    other = replace(record, path=tmp_path)
    assert read_sweep_page(other, build_record_board(other)) is None
    assert convert_sentence_to_text(sweep_verdict(other, build_record_board(other)).heading) == "Nothing finished yet"
    (tmp_path / FILE).write_text("{")
    with pytest.raises(DataError, match="cannot be read"):
        read_sweep_page(other, build_record_board(other))


def test_all_that_was_left_out_is_counted(findings: SweepFindings) -> None:
    page: SweepPage = make_sweep_page(findings)
    assert (len(page.left), page.failed, len(page.skipped), page.more_skipped) == (2, 1, 1, 0)


@pytest.mark.parametrize("unicode", [True, False])
def test_the_terminal_says_the_verdict_first_within_80_columns(findings: SweepFindings, unicode: bool) -> None:
    text = printed(sweep_view(findings, Path("runs/sweep")), unicode=unicode)
    assert text.startswith(f"{findings.parts[0].verdict}\nOf 96 stacks")
    assert max(map(len, text.splitlines())) <= 80
    assert text.endswith("Tables: runs/sweep/tables")
    assert unicode or text.isascii()
    chosen = findings.parts[0].recommendation.stack
    assert re.search(rf"^\d+\* {chosen} ", text, re.M)


def test_wide_shows_every_column_and_advice(findings: SweepFindings) -> None:
    narrow, wide = (printed(sweep_view(findings, Path("run"), wide=wide), wide=wide) for wide in (False, True))
    assert "%PROC" in wide.split("\n\n")[1]
    assert "columns hidden" in narrow
    assert "Candidate depth 100 for @30: " in wide


def test_more_queries_are_told_of_for_a_stack_that_cannot_be_told_apart(findings: SweepFindings) -> None:
    """Of two alternatives the one whose interval holds 0, with what its labels would cost; on the page too."""
    part = findings.parts[0]
    names = [one.id for one in part.stacks[:2]]
    near = AlternativeStack("cheaper", names[0], Estimate(-0.02, -0.06, 0.02, 19), -1.0, -0.1)
    far = AlternativeStack("faster", names[1], Estimate(-0.2, -0.24, -0.16, 19), -9.0, -0.1)
    found = replace(part.recommendation, alternatives=(near, far), undecided=())
    open_ = replace(findings, parts=(replace(part, recommendation=found),))
    text = printed(sweep_view(open_, Path("run"), True, 30.0, 0.1), wide=True)
    for one in forecast_difference_with_more_items(-0.02, 0.04, 19):
        cost = f"${one.more * 3:,.2f}"
        pattern = rf"{names[0]}: {one.more} more +about {one.more * 30:,} +{re.escape(cost)} +± {one.half:.3f} +"
        assert re.search(pattern + f"{numbers.format_percent(one.chance)}$", text, re.M)
    assert f"{names[1]}: 50 more" not in text
    table = make_sweep_page(open_).undecided
    assert table is not None
    assert len(table.lines) == 4
    assert (
        make_sweep_page(
            replace(open_, parts=(replace(part, recommendation=replace(found, alternatives=(far,))),))
        ).undecided
        is None
    )


def test_each_dataset_has_a_word_on_the_terminal(run: Path) -> None:
    from embassay.protocols.rag.sweep.findings import read_findings

    text = printed(sweep_view(read_findings(run / FILE), run))
    assert "- On sea alone: Use " in text
    assert "- On river alone: Use " in text
