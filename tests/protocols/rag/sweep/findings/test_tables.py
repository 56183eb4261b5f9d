"""The numbered tables hold what the source's do, with every digit in CSV."""

from __future__ import annotations

import csv
import io

import pytest

from embassay.protocols.kernel.tables import ColumnTable
from embassay.protocols.rag.sweep.findings import compute_sweep_findings
from embassay.protocols.rag.sweep.findings.tables import build_sweep_tables, find_dearest_and_cheapest_reranker
from embassay.protocols.rag.sweep.stacks import StackConfiguration, SweepRules

from ..sweeps import SCENARIO, constant, scenarios

PER_1000 = {"none": 0.0, "strong": 0.025, "lite": 0.01}
ROWS = [
    (StackConfiguration("e", index=index, k=k, reranker=reranker, mode=mode), k * usd,
     100.0 + k * (reranker != "none"), {"RA-nWG@10": 0.5 + usd, "RA-nWG@30": 0.6 + usd})
    for index in ("flat", "hnsw-f32") for k in (50, 100) for reranker, usd in PER_1000.items()
    for mode in ("dense", "hybrid")
]  # type: ignore[misc]  # fmt: skip


@pytest.fixture(scope="module")
def made() -> dict[str, ColumnTable]:
    return {
        one.name: one for one in build_sweep_tables(compute_sweep_findings(constant(ROWS, SweepRules()), resamples=20))
    }  # type: ignore[arg-type]


def rows(table: ColumnTable) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.as_csv())))


def test_the_dearer_reranker_is_the_strong_one() -> None:
    assert find_dearest_and_cheapest_reranker(compute_sweep_findings(constant(ROWS, SweepRules()), resamples=5)) == (
        "strong",
        "lite",
    )  # type: ignore[arg-type]
    assert find_dearest_and_cheapest_reranker(compute_sweep_findings(scenarios(), resamples=5)) == (
        "rerank-2.5",
        "rerank-2.5-lite",
    )


def test_each_table_has_the_stacks_it_is_about(made: dict[str, ColumnTable]) -> None:
    assert {row["Mode"] + row["Reranker"] for row in rows(made["rag_table1"])} == {"densenone"}
    assert {(row["Mode"], row["Reranker"]) for row in rows(made["rag_table2"])} == {
        (mode, reranker) for mode in ("dense", "hybrid") for reranker in PER_1000
    }
    assert {row["Reranker"] for row in rows(made["rag_table15"])} == {"strong"}
    assert {row["Reranker"] for row in rows(made["rag_table16"])} == {"lite"}
    for number, k in ((17, "50"), (18, "100")):
        assert {(row["Reranker"], row["K"]) for row in rows(made[f"rag_table{number}"])} == {("lite", k)}
    assert "rag_table19" not in made
    assert "rag_table21" not in made  # no ceilings were measured


def test_a_leaderboard_is_in_order(made: dict[str, ColumnTable]) -> None:
    found = rows(made["rag_table6"])
    assert [int(row["Rank"]) for row in found] == list(range(1, len(ROWS) + 1))
    values = [float(row["RA-nWG@30"]) for row in found]
    assert values == sorted(values, reverse=True)
    assert found[0]["Reranker"] == "strong"


def test_the_published_scenarios_are_table_8() -> None:
    found = {one.name: one for one in build_sweep_tables(compute_sweep_findings(scenarios(), resamples=5))}
    by_name = {row["Scenario"]: row for row in rows(found["rag_table8"])}
    assert {name: by_name[name]["Stack"] for name in SCENARIO} == SCENARIO
    published = [(by_name[name]["USD per 1,000"], by_name[name]["p50 ms"]) for name in ("base", "saver", "push")]
    assert [tuple(map(float, pair)) for pair in published] == [
        (1.25, pytest.approx(332.9)), (0.5, pytest.approx(403.8)), (2.5, pytest.approx(478.1)),
    ]  # fmt: skip


def test_prices_stand_by_part(made: dict[str, ColumnTable]) -> None:
    row = next(row for row in rows(made["rag_stacks"]) if row["Stack"] == "e/flat/k100/dense/strong")
    assert (float(row["USD per 1,000"]), float(row["USD rerank"])) == (2.5, 2.5)
    assert row["Vector bytes, formula"] == str(1000 * 1024 * 4)
