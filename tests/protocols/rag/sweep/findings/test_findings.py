"""A sweep's findings as a whole: what they hold together, on disk and in words."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.sweep.findings import (
    SweepFindings,
    compute_and_write_findings,
    compute_sweep_findings,
    make_findings_result_rows,
    read_findings,
)
from embassay.protocols.rag.sweep.findings.arrays import StackArrays
from embassay.protocols.rag.sweep.findings.recommendation import measure_differences_from_stack, recommend_stack
from embassay.protocols.rag.sweep.findings.record import SweepDatasetFindings
from embassay.protocols.rag.sweep.findings.sentences import (
    format_ms_per_query,
    format_ratio_as_percent,
    format_usd_per_1000_queries,
)
from embassay.protocols.rag.sweep.stacks import StackTimes, SweepMeasurements, SweepRules
from embassay.stats import Estimate

from ..sweeps import constant, drawn, scenarios

RULES = SweepRules(sla_ms=300.0, budget=1.0)
AXES = {
    "encoder": ("wordllama", "minilm"), "dims": (64,), "index": ("flat", "hnsw-f32", "hnsw-int8"), "k": (50, 100),
    "reranker": ("none", "cross"), "mode": ("dense", "hybrid"),
}  # fmt: skip


@pytest.fixture(scope="module")
def sweep() -> SweepMeasurements:
    return drawn({"sea": 30, "cran": 40}, RULES, axes=AXES)


@pytest.fixture(scope="module")
def findings(sweep: SweepMeasurements) -> SweepFindings:
    return compute_sweep_findings(sweep, resamples=100)


def test_parts_are_all_datasets_together_then_each(findings: SweepFindings) -> None:
    assert [one.dataset for one in findings.parts] == ["", "sea", "cran"]
    whole, sea, cran = findings.parts
    assert whole.queries == sea.queries + cran.queries == 70
    for stack in whole.stacks:
        parts = [part.stack(stack.id) for part in (sea, cran)]
        assert stack.value("RA-nWG@10") == pytest.approx(np.mean([one.value("RA-nWG@10") for one in parts]))
        assert stack.latency == pytest.approx(np.mean([one.latency for one in parts]))


def test_a_stack_that_failed_on_one_dataset_is_left_out_of_the_whole(sweep: SweepMeasurements) -> None:
    fewer = replace(sweep, measured=sweep.measured[:-1])
    whole, sea, cran = compute_sweep_findings(fewer, resamples=10).parts
    assert (len(whole.stacks), len(sea.stacks), len(cran.stacks)) == (47, 48, 47)


def test_values_are_means_over_the_queries_where_they_are_defined(
    sweep: SweepMeasurements, findings: SweepFindings
) -> None:
    for one in sweep.measured[:5]:
        found = findings.parts[1].stack(one.configuration.id).find_measured_quality("RA-nWG@10")
        assert found is not None
        assert found.value.value == pytest.approx(np.nanmean(one.quality["RA-nWG@10"]))
        assert found.value.n == 29
        assert found.value.low is not None
        assert found.value.low < found.value.value < found.value.high


def test_times_are_medians_of_medians_and_pooled_percentiles(sweep: SweepMeasurements, findings: SweepFindings) -> None:
    one = sweep.measured[0]
    total = findings.parts[1].stack(one.configuration.id).time("total")
    assert total is not None
    assert total.p50 == np.median(np.median(one.times.total, axis=0))
    assert total.p95 == np.percentile(one.times.total, 95)
    assert (total.samples, total.queries, total.few) == (36, 12, False)


def test_few_samples_are_flagged() -> None:
    few = drawn({"sea": 10}, axes={"encoder": ("wordllama",)}, timed=4, sessions=2)
    part = compute_sweep_findings(few, resamples=10).parts[0]
    assert part.stacks[0].times[0].few
    assert any("too few for a 95th percentile" in note for note in part.notes)


def test_the_recommended_stack_keeps_the_limits_and_is_the_best_of_those(findings: SweepFindings) -> None:
    for part in findings.parts:
        chosen = part.stack(part.recommendation.stack)
        feasible = [one for one in part.stacks if one.latency <= 300 and one.cost <= 1]
        assert chosen in feasible
        assert len(feasible) == part.recommendation.feasible
        assert chosen.value("RA-nWG@10") == max(one.value("RA-nWG@10") or 0 for one in feasible)
        assert "cost, latency" in chosen.on


def test_shares_of_winners_are_of_all_resamples(findings: SweepFindings) -> None:
    for part in findings.parts:
        found = part.recommendation
        assert found.share is not None
        assert found.among_best is not None
        assert found.share <= found.among_best
        assert found.share + sum(one.share for one in found.runners) + found.none <= 1 + 1e-9
        assert sum(one.share for one in found.by_axis if one.axis == "mode") == pytest.approx(1 - found.none)
        assert {one.name: one.share for one in found.by_axis}["cross"] == 1.0


def test_alternatives_are_what_they_are_called(findings: SweepFindings) -> None:
    for part in findings.parts:
        for one in part.recommendation.alternatives:
            assert one.kind not in ("cheaper", "cheapest alike") or one.usd < 0
            assert one.kind not in ("faster", "fastest alike") or one.milliseconds < -75
            if one.kind == "better":
                assert (one.quality.value or 0) > 0
                assert one.misses


def test_of_stacks_that_are_alike_one_is_told_of_which_more_queries_would_soonest_tell_apart() -> None:
    """Its interval holds 0, and no other's is nearer to leaving it."""
    sweep = drawn({"sea": 20}, SweepRules(sla_ms=300.0, jitter_ms=75.0), axes={**AXES, "reranker": ("none",)})
    ground = StackArrays(sweep, ["sea"], 200, measured_jitter_ms=0.0)
    found = recommend_stack(ground)
    [one] = found.undecided
    assert one.stack in found.alike
    differences = measure_differences_from_stack(ground, found.measure, found.stack)

    def near(figure: Estimate) -> float:
        return abs(figure.value or 0.0) / ((figure.high or 0.0) - (figure.low or 0.0) or 1.0)

    assert (one.quality.low or 0.0) <= 0 <= (one.quality.high or 0.0)
    assert near(one.quality) == max(near(differences[name]) for name in found.alike)


def test_effects_are_averages_of_paired_differences(findings: SweepFindings) -> None:
    found = {(one.axis, one.value): one for one in findings.parts[0].effects if one.measure == "RA-nWG@10"}
    assert found["mode", "hybrid"].quality.value == pytest.approx(0.06, abs=0.02)
    assert found["reranker", "cross"].quality.value == pytest.approx(0.12, abs=0.02)
    assert found["reranker", "cross"].other == "no reranker"
    assert found["index", "hnsw-int8"].quality.high is not None
    assert found["index", "hnsw-int8"].quality.high < 0
    assert found["k", "K 100"].pairs == len(findings.parts[0].stacks) // 2


def test_steps_say_what_is_not_told_and_what_is_jitter(findings: SweepFindings) -> None:
    steps = [one for one in findings.parts[0].steps if one.measure == "RA-nWG@10"]
    bare = [one for one in steps if not one.family.endswith("cross")]
    assert bare
    assert all(one.kind == "within jitter" and "within jitter" in one.text for one in bare)
    assert all(one.per_ms is None for one in bare)
    assert any("not distinguishable from 0" in one.text for one in steps)
    assert all(one.milliseconds > 75 for one in steps if one.family.endswith("cross"))
    stacks = findings.parts[0].stacks
    slow = {one.id: next(time.p95 for time in one.times if time.stage == "total") for one in stacks}
    assert [one.p95 for one in steps] == pytest.approx([slow[one.more] - slow[one.less] for one in steps])


def test_guidance_is_judged_where_the_sweep_can(findings: SweepFindings) -> None:
    found = {one.line: one for one in findings.parts[0].guidance}
    assert len(found) == 14
    assert found["int8 only under hard memory limits and after re-checking %PROC"].status == "holds"
    assert found["Hybrid plus the strong reranker as the default stack"].status == "holds"
    assert found["1024 dimensions by default, 2048 only for deep K"].status == "not tested"
    assert found["HNSW f32 by default, tuned until within 1-2% of flat"].status == "holds"
    assert found["Low PROC: improve the pool"].status == "holds"
    assert all(one.evidence for one in found.values() if one.status != "not tested")


def test_limits_that_nothing_keeps() -> None:
    part = compute_sweep_findings(scenarios(sla_ms=300.0, budget=1.0), resamples=10).parts[0]
    found = part.recommendation
    assert (found.stack, found.feasible, found.none) == ("", 0, 1.0)
    assert found.nearest.startswith("voyage-3.5/1024d/flat/k50")
    assert found.misses == pytest.approx({"milliseconds": 32.9, "usd": 0.25})
    assert part.verdict == "No stack meets the limits"
    assert "It would qualify with limits 32.9 ms and $0.25 per 1,000 queries higher." in part.lede


def test_a_target_that_nothing_reaches() -> None:
    part = compute_sweep_findings(scenarios(target=0.9, sla_ms=300.0), resamples=10).parts[0]
    assert part.recommendation.stack == ""
    assert "It would qualify with limits 32.9 ms higher and a target 0.096 lower." in part.lede


def test_the_folder_has_the_record_and_tables(sweep: SweepMeasurements, tmp_path: Path) -> None:
    made = compute_and_write_findings(sweep, tmp_path)
    assert read_findings(tmp_path / "sweep.json") == made
    names = {path.stem for path in (tmp_path / "tables").glob("*.csv")}
    numbered = {f"rag_table{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15, 21, 22)}
    assert names >= numbered | {"rag_frontier", "rag_steps", "rag_routing", "rag_guidance", "rag_left_out"}
    assert "rag_table16" not in names
    for path in (tmp_path / "tables").glob("*.md"):
        lines = [line for line in path.read_text("utf-8").splitlines() if line.startswith("|")]
        assert len(lines) > 2
        assert len({line.replace("\\|", "").count("|") for line in lines}) == 1


def test_the_same_sweep_gives_the_same_bytes(tmp_path: Path) -> None:
    small = drawn({"sea": 12}, axes={"encoder": ("wordllama",), "k": (50, 100)})
    for name in "ab":
        compute_and_write_findings(small, tmp_path / name)
    files = [sorted(path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*.*")) for name in "ab"]
    assert files[0] == files[1]
    assert all((tmp_path / "a" / one).read_bytes() == (tmp_path / "b" / one).read_bytes() for one in files[0])


def test_rows_have_every_measure_of_every_stack(findings: SweepFindings) -> None:
    rows = make_findings_result_rows(findings)
    assert len({row.key for row in rows}) == len(rows)
    row = next(row for row in rows if row.measure == "%PROC RA-nWG@10" and row.dataset == "sea")
    assert row.value is not None
    assert row.ci_low is not None
    assert 0 < row.value <= 1


def test_a_sweep_of_one_stack_and_one_query() -> None:
    one = constant([next(iter(_row()))], SweepRules(), queries=1)
    part = compute_sweep_findings(one, resamples=10).parts[0]
    assert part.recommendation.share == 1.0
    assert part.stacks[0].quality[0].value.reason == "no interval from one query"
    assert not (part.steps)
    assert not (part.effects)
    assert not (part.routes)
    assert not (part.indexes)


def _row() -> Any:
    from embassay.protocols.rag.sweep.stacks import StackConfiguration

    yield StackConfiguration("wordllama"), 0.0, 3.0, {"RA-nWG@10": 0.5}


def test_a_measure_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="did not measure Hit@10"):
        compute_sweep_findings(drawn(rules=SweepRules(measure="Hit@10"), axes={"encoder": ("wordllama",)}), resamples=5)


def test_a_measure_that_is_defined_for_no_query() -> None:
    sweep = constant(_row(), SweepRules())
    [one] = sweep.measured
    undefined = replace(one, quality={"RA-nWG@10": np.full(4, np.nan)})
    with pytest.raises(UsageError, match="undefined for every query"):
        compute_sweep_findings(replace(sweep, measured=(undefined,)), resamples=5)


def test_a_dataset_without_any_value_is_left_out_and_said() -> None:
    sweep = drawn({"sea": 8, "river": 9}, axes={"encoder": ("wordllama",)})
    sea, river = sweep.measured
    blank = replace(river, quality={name: np.full(9, np.nan) for name in river.quality})
    found = compute_sweep_findings(replace(sweep, measured=(sea, blank)), resamples=5)
    assert [one.dataset for one in found.parts] == ["sea"]
    assert found.parts[0].notes[-1] == "RA-nWG@10 is undefined for every query of river, which is left out."


def test_nothing_measured_is_said() -> None:
    with pytest.raises(DataError, match="measured nothing"):
        compute_sweep_findings(SweepMeasurements((), (), {}, SweepRules(), "2026-11-01", {}))


def test_stages_that_were_not_timed_together() -> None:
    sweep = drawn({"sea": 10}, axes={"encoder": ("wordllama",)})
    [one] = sweep.measured
    alone = replace(one, times=StackTimes(one.times.stages, np.empty(0), 1))
    assert compute_sweep_findings(replace(sweep, measured=(alone,)), resamples=5).parts[0].stacks[0].together is None


@pytest.mark.parametrize("content", ["", "{}", '{"schema": 1}', '{"schema": 99}', '{"schema": 1, "parts": 3}'])
def test_a_damaged_record_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(content)
    with pytest.raises(DataError):
        read_findings(tmp_path / "sweep.json")


def test_every_number_in_a_sentence_is_in_the_record(findings: SweepFindings) -> None:
    """In one of the forms in which numbers are printed; names of stacks and measures are taken out first."""
    for part in findings.parts:
        known = _printed(json.loads(json.dumps({"asked": findings.as_dict()["asked"], "part": _facts(part)})))
        known |= {"95", "50", "1,000", "75", str(part.recommendation.feasible - 1), "100"}
        names = [one.id for one in part.stacks] + list(findings.measures) + ["p50", "p95", "K 50", "K 100"]
        for sentence in _sentences(part):
            for name in sorted(names, key=len, reverse=True):
                sentence = sentence.replace(name, "")
            for number in re.findall(r"\d[\d,]*(?:\.\d+)?", sentence):
                assert number.rstrip(",") in known, (number, sentence)


def _facts(part: SweepDatasetFindings) -> dict[str, Any]:
    return {key: value for key, value in json.loads(json.dumps(part, default=lambda one: vars(one))).items()
            if key not in ("verdict", "lede", "notes")}  # fmt: skip


def _sentences(part: SweepDatasetFindings) -> list[str]:
    alternatives = [one.text for one in part.recommendation.alternatives]
    guidance = [one.text for one in part.guidance if one.status != "not tested"]
    routes = [one.text for one in part.routes]
    # How many were left out stands in the record beside the parts.
    notes = [one for one in part.notes if "not measured" not in one]
    return [part.verdict, *part.lede, *notes, *alternatives, *guidance, *routes]


def _printed(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set().union(*(_printed(one) for one in value.values())) if value else set()
    if isinstance(value, list):
        lists = {str(len(value))}
        return lists.union(*(_printed(one) for one in value))
    if isinstance(value, str):
        return set(re.findall(r"\d+", numbers.format_date(value)))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return set()
    size = abs(value)
    forms = [
        numbers.format_score(size),
        numbers.format_score(size, 1),
        numbers.format_percent(size),
        numbers.format_percent(size, 1),
        format_ratio_as_percent(size),
        format_ms_per_query(size),
        format_usd_per_1000_queries(size),
        f"{size:g}",
        f"{size:,}",
    ]
    return {number for form in forms for number in re.findall(r"\d[\d,]*(?:\.\d+)?", form)}


def test_the_jitter_is_what_sessions_differ_by() -> None:
    """Unless the config names one; a single session says nothing, and the source's stands."""
    sweep = drawn({"sea": 20})
    found = compute_sweep_findings(sweep, resamples=5)
    levels = [np.median(one.times.total, axis=1) for one in sweep.measured]
    gaps = [abs(a - b) for own in levels for a, b in combinations(own.tolist(), 2)]
    assert found.asked.jitter_measured
    assert found.asked.jitter_ms == pytest.approx(np.percentile(gaps, 95))
    assert 0 < found.asked.jitter_ms < 75
    named = compute_sweep_findings(replace(sweep, rules=SweepRules(jitter_ms=20.0)), resamples=5)
    assert (named.asked.jitter_ms, named.asked.jitter_measured) == (20.0, False)
    once = compute_sweep_findings(drawn({"sea": 20}, sessions=1), resamples=5)
    assert (once.asked.jitter_ms, once.asked.jitter_measured) == (75.0, False)


@pytest.mark.parametrize(("load", "busy"), [(5.1, True), (1.2, False), (None, False)])
def test_times_of_a_busy_machine_say_so(load: float | None, busy: bool) -> None:
    """Beside the time in the verdict, and in a note with the load average."""
    part = compute_sweep_findings(replace(drawn({"sea": 20}), load=load, cores=2), resamples=5).parts[0]
    assert any("busy machine" in one for one in part.lede) == busy
    assert any("busy during timing" in one and "5.1 on 2 cores" in one for one in part.notes) == busy
    assert any("is unknown" in one for one in part.notes) == (load is None)
