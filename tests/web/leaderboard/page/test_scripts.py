"""The pure parts of the scripts against the server's own functions, in a real browser."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from embassay.document.marks import fit_axis_scale
from embassay.protocols.kernel import tables as numbers
from embassay.web.leaderboard.page import rows

from .serving import Served

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def call(served: Served, visit: Callable[..., Any]) -> Callable[..., Any]:
    """Call a function of a module with each of some lists of arguments."""
    page = visit(served.board_url)

    def called(module: str, body: str, arguments: list[Any]) -> Any:
        address = f"{served.url}static/{module}"
        return page.evaluate(
            f"async ([address, all]) => {{ const m = await import(address); return all.map((x) => {body}); }}",
            [address, arguments],
        )

    return called


def test_numbers_are_printed_as_by_the_server(call: Callable[..., Any]) -> None:
    """Ties of the last decimal too, where a browser's own way differs."""
    rng = random.Random(5)
    values = [rng.uniform(-1.2, 1.2) for _ in range(500)] + [i / 16 for i in range(-20, 40)]
    values += [i / 2000 for i in range(-50, 50)] + [0.0, -0.0001, 1.0, 0.9995, 1e-9, 12345.0625]
    pairs = [[value, digits] for value in values for digits in (0, 1, 2, 3)]
    assert call("numbers.js", "m.fixed(...x)", pairs) == [numbers.format_score(*pair) for pair in pairs]
    assert call("numbers.js", "m.change(...x)", pairs) == [numbers.format_change(*pair) for pair in pairs]
    ends = [[a, a + abs(b), 3] for a, b in zip(values, reversed(values), strict=True)]
    assert call("numbers.js", "m.range(...x)", ends) == [numbers.format_interval(*one) for one in ends]
    shares = [0, 1, 0.5, 0.001, 0.999, 0.0051, 0.125]
    assert call("numbers.js", "m.percent(x)", shares) == [numbers.format_percent(share) for share in shares]


def test_facts_are_said_as_by_the_server(call: Callable[..., Any]) -> None:
    """Money, counts of parameters, speed, time and moments."""
    prices = [0.0, 0.0042, 0.02, 1.32, 1234.5, 0.00016]
    assert call("numbers.js", "m.FACTS.get('usd_per_million_tokens')[1](x)", prices) == [
        rows.format_money(one) for one in prices
    ]
    sizes = [51200, 22_713_216, 334_912_000, 7_100_000_000]
    assert call("numbers.js", "m.FACTS.get('parameters')[1](x)", sizes) == [
        rows.format_parameter_count(one) for one in sizes
    ]
    memory = [0.42, 9.96, 10.2, 10.5, 127.5, 1536.0]
    assert call("numbers.js", "m.FACTS.get('weights_mb')[1](x)", memory) == [
        rows.format_megabytes(one) for one in memory
    ]
    times = [0.338, 4.2, 59.99, 41 * 60, 3 * 3600 + 12 * 60]
    assert call("numbers.js", "m.FACTS.get('seconds')[1](x)", times) == [numbers.format_duration(one) for one in times]
    moments = ["2026-11-22T14:02:10+00:00", "no time"]
    assert call("numbers.js", "m.moment(x)", moments) == [numbers.format_time(one) for one in moments]


def test_scales_are_the_reports(call: Callable[..., Any]) -> None:
    """Limits, steps and labels of pooled values."""
    rng = random.Random(6)
    pools = [[rng.uniform(-0.2, 1) * rng.choice((0.01, 0.1, 1)) for _ in range(6)] for _ in range(200)] + [
        [0.5],
        [0.0, 1.0],
    ]
    found = call("scale.js", "(({ low, high, step, ends }) => [low, high, step, ends])(m.scaleOf(x))", pools)
    for pool, (low, high, step, ends) in zip(pools, found, strict=True):
        ours = fit_axis_scale(pool)
        assert (low, high, step) == pytest.approx((ours.low, ours.high, ours.step))
        assert ends == [ours.label(ours.low), ours.label(ours.high)]


def test_the_frontier(call: Callable[..., Any]) -> None:
    """By definition, for random points with ties, both directions of both axes."""
    rng = random.Random(7)
    for better in (1, -1):
        for cheaper in (1, -1):
            sets = [[{"x": rng.randint(0, 6), "y": rng.randint(0, 6), "i": i} for i in range(9)] for _ in range(40)]
            found = call("frontier.js", f"m.frontierOf(x, {{ better: {better}, cheaper: {cheaper} }})", sets)
            for points, lines in zip(sets, found, strict=True):
                on = {line["i"] for line in lines if line["place"]}
                assert on == {p["i"] for p in points if not any(_beats(q, p, better, cheaper) for q in points)}
                assert all(_beats(line["by"], line, better, cheaper) for line in lines if not line["place"])


def _beats(q: dict[str, int], p: dict[str, int], better: int, cheaper: int) -> bool:
    """Whether q is no worse on both and better on one."""
    score, cost = better * (q["y"] - p["y"]), cheaper * (p["x"] - q["x"])
    return score >= 0 and cost >= 0 and (score > 0 or cost > 0)


def test_what_somebody_may_have_meant(call: Callable[..., Any]) -> None:
    """A letter wrong, letters swapped, a part of a long name; nothing for what is far off."""
    known = ["birch-base", "aster-large", "all-MiniLM-L6-v2", "bm25"]
    asked = ["brich", "astr", "minilm", "bm52", "qqqqqqqq"]
    found = call("near.js", f"m.nearest(x, {known!r})", asked)
    assert found == ["birch-base", "aster-large", "all-MiniLM-L6-v2", "bm25", None]
