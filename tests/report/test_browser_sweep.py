"""The page of a sweep in a real browser: other limits choose another stack, by the rule of the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embassay.protocols.rag.sweep.findings import SweepFindings, read_findings
from embassay.protocols.rag.sweep.findings.record import FILE
from embassay.protocols.rag.tradeoffs import StackCostLatencyQuality, StackLimits, choose_stack
from embassay.report import write_report
from protocols.rag.sweep import sweeps

from .sweep_run import AXES, RULES, write_sweep_run

pytestmark = pytest.mark.browser
Go = Callable[..., Any]
MEASURE = "RA-nWG@10"


@pytest.fixture(scope="module", params=[None, 0.7], ids=["best", "target"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sweep") / "run"
    rules = replace(RULES, target=request.param)
    write_sweep_run(path, sweeps.drawn({"sea": 25, "river": 25}, rules, axes=AXES))
    write_report(path)
    return path


@pytest.fixture
def go(visit: Go, run: Path) -> Go:
    return lambda place="sweep", **options: visit(run / "report.html", place, **options)


def chosen(found: SweepFindings, ms: float | None, usd: float | None) -> tuple[bool, str]:
    """Whether a stack keeps the limits, and which the library takes or finds nearest."""
    stacks = [
        StackCostLatencyQuality(one.id, one.cost, one.latency, {MEASURE: one.value(MEASURE) or 0.0}, one.tie_tokens)
        for one in found.parts[0].stacks
    ]
    choice = choose_stack(stacks, MEASURE, StackLimits(ms, usd, found.asked.target))
    return choice.stack is not None, choice.nearest.id


LIMITS: list[tuple[float | None, float | None]] = [
    (None, None), (300, 1), (300, 0), (11, None), (9, 1), (500, 0.6), (1000, 5), (1, 0.1), (230, 0.6), (None, 0.0001),
]  # fmt: skip


def test_other_limits_choose_as_the_library_does(go: Go, run: Path) -> None:
    found, page = read_findings(run / FILE), go()
    box = page.locator(".sweep").first
    for ms, usd in LIMITS:
        for place, value in enumerate((ms, usd)):
            box.locator("input").nth(place).fill("" if value is None else str(value))
        kept, id = chosen(found, ms, usd)
        said = box.locator("p[role=status]").inner_text()
        assert said.startswith("Use " if kept else "No stack keeps these limits; the nearest is "), (ms, usd, said)
        assert box.locator("p[role=status] bdi").inner_text() == id, (ms, usd)


def test_the_ring_lies_on_the_chosen_point(go: Go, run: Path) -> None:
    page = go()
    box = page.locator(".sweep").first
    box.locator("input").first.fill("11")
    id = box.locator("p[role=status] bdi").inner_text()
    ring, point = (
        one.evaluate("one => [parseFloat(one.getAttribute('cx')), parseFloat(one.getAttribute('cy'))]")
        for one in (box.locator(".pick"), box.locator(f".pt:has(title:text-matches('^{id}: '))"))
    )
    assert ring == pytest.approx(point)


def test_limits_stand_in_the_address_and_come_back(go: Go) -> None:
    page = go()
    page.locator(".sweep input").first.fill("10.5")
    assert "ms0=10.5" in page.evaluate("location.hash")
    again = go("sweep?ms0=10.5&usd0=0")
    values = [again.locator(".sweep input").nth(i).input_value() for i in (0, 1)]
    assert values == ["10.5", "0"]


def test_the_page_stays_inside_and_reads_without_script(go: Go) -> None:
    for width in (320, 390, 1232):
        assert go(width=width).evaluate("document.documentElement.scrollWidth") <= width
    plain = go(java_script_enabled=False)
    assert plain.locator("#sweep .sweep input").count() == 0
    assert plain.locator("#sweep .sweep svg.curve").count() == 3


def test_a_copied_table_has_whole_names(go: Go, run: Path) -> None:
    """Names are set in pieces so that they break well; the CSV has them in one."""
    page = go()
    part = read_findings(run / FILE).parts[0]
    text = page.evaluate("asCsv(document.querySelector('#frontier-0'))")
    for id in part.frontiers[0].stacks:
        assert f" {id}," in text
