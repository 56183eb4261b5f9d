"""Bars on runs: values, ends of intervals, earlier runs; and the files that other programs read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.protocols.compare import read_comparable_run
from embassay.protocols.gate import (
    ThresholdVerdict,
    describe_gate_verdict,
    describe_threshold_verdict_counts,
    format_verdicts_as_junit,
    format_verdicts_as_markdown,
    gate,
    iterate_score_threshold_verdicts,
    judge_against_baseline,
    parse_system_renames,
)
from embassay.protocols.kernel.comparisons import read_standings, write_standings
from embassay.protocols.thresholds import list_threshold_scores, parse_score_threshold, read_results_for_thresholds
from embassay.records import ResultRow
from embassay.report.terminal import gate_verdicts_view
from embassay.runs.folder import RunFolder
from report.pages import printed
from written_runs import TASK, write_run

ITEMS = np.random.default_rng(5).uniform(0.3, 0.7, 300)


def verdict(run: Path, text: str) -> ThresholdVerdict:
    [found] = iterate_score_threshold_verdicts([parse_score_threshold(text)], read_results_for_thresholds(run))
    return found


def test_values_and_ends(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"a": ITEMS})
    row = read_results_for_thresholds(run).find(parse_score_threshold("sage.overall[a]>=0"))
    assert row.value is not None
    assert row.ci_low is not None
    between = (row.value + row.ci_low) / 2
    met = verdict(run, f"sage.overall[a]>={between:.6f}")
    assert met.met
    assert met.near
    missed = verdict(run, f"sage.overall[a]>={between:.6f}@lower")
    assert not missed.met
    assert "lower" in missed.reason
    assert not verdict(run, "sage.overall[a]<0.1").met
    assert not verdict(run, "sage.overall[a]>=0.9").near


def test_a_score_without_a_value_or_interval_is_not_tested(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"a": ITEMS})
    folder = RunFolder(run)
    rows = folder.read_results()
    empty = ResultRow("sage", "overall", "", "", "", "", "b", "overall", None, 0, None, None, "", 1, "retrieval failed")
    folder.write_results([*rows, empty])
    found = verdict(run, "sage.overall[b]>=0.1")
    assert (found.met, found.stops, found.reason) == (None, True, "retrieval failed")
    bare = ResultRow("sage", "overall", "", "", "", "", "c", "overall", 0.5, 9, None, None, "", 1, "")
    folder.write_results([*rows, bare])
    assert verdict(run, "sage.overall[c]>=0.1").met
    end = verdict(run, "sage.overall[c]>=0.1@lower")
    assert (end.met, end.stops, end.reason) == (None, True, "the score has no interval")


def test_what_is_not_tested_is_not_among_the_bars_that_are_met(tmp_path: Path) -> None:
    """Nothing varies in `still`: neither met nor missed, and no reason to stop unless it fell. What is the same on
    every item is no worse, and no test that others are corrected for."""
    same = {"a": ITEMS, "still": np.full(300, 0.5)}
    base = read_comparable_run(write_run(tmp_path / "base", same))
    now = read_comparable_run(write_run(tmp_path / "now", same))
    found = judge_against_baseline(now, base)
    assert {one.bar: (one.met, one.stops) for one in found} == {
        "sage.overall[a] no worse": (True, False), f"sage.{TASK}[a] no worse": (True, False),
        "sage.overall[still] no worse": (None, False), f"sage.{TASK}[still] no worse": (None, False),
    }  # fmt: skip
    assert printed(gate_verdicts_view(found)).startswith("2 of 4 thresholds are met; 2 are not tested.")
    assert format_verdicts_as_markdown(found).startswith(
        "### Embassay gate: 2 of 4 thresholds are met; 2 are not tested"
    )
    suite = ElementTree.fromstring(format_verdicts_as_junit(found))
    assert [suite.get(kind) for kind in ("tests", "failures", "errors", "skipped")] == ["4", "0", "0", "2"]
    fallen = read_comparable_run(write_run(tmp_path / "fallen", {"a": ITEMS, "still": np.full(300, 0.1)}))
    worse = {one.bar: (one.met, one.stops) for one in judge_against_baseline(fallen, base, tasks=["overall"])}
    assert worse["sage.overall[still] no worse"] == (None, True)


def test_items_that_did_not_change_correct_nothing(tmp_path: Path) -> None:
    """A fall is found at the same p whether or not another system stayed as it was."""
    noise = np.random.default_rng(6).normal(0, 0.05, 300)
    base = read_comparable_run(write_run(tmp_path / "base", {"a": ITEMS, "b": ITEMS}))
    now = read_comparable_run(write_run(tmp_path / "now", {"a": ITEMS - 0.01 + noise, "b": ITEMS}))
    alone = judge_against_baseline(now, base, systems=["a"], tasks=["overall"])
    beside = judge_against_baseline(now, base, tasks=["overall"])
    assert alone[0].reason
    assert alone[0].reason == beside[0].reason


def test_tests_are_corrected_together(tmp_path: Path) -> None:
    """A fall of p .02 is one where it is tested alone, and none among eight like it."""
    noise = np.random.default_rng(6).normal(0, 0.05, 300)
    fallen = ITEMS + (noise - noise.mean()) - 2.1 * noise.std() / np.sqrt(300)
    base = read_comparable_run(write_run(tmp_path / "base", dict.fromkeys("abcdefgh", ITEMS)))
    now = read_comparable_run(write_run(tmp_path / "now", dict.fromkeys("abcdefgh", fallen)))
    assert [one.met for one in judge_against_baseline(now, base, systems=["a"], tasks=["overall"])] == [False]
    assert [one.met for one in judge_against_baseline(now, base, tasks=["overall"])] == [True] * 8


def test_a_fall_that_is_no_loss_yet_says_what_more_items_would_buy(tmp_path: Path) -> None:
    """Of eight like it: the interval narrows as with the root of items, the chance grows, and it is printed. Nothing is
    told of a rise, of a fall within the margin, and where the loss is found."""
    noise = np.random.default_rng(6).normal(0, 0.05, 300)
    change = (noise - noise.mean()) - 2.1 * noise.std() / np.sqrt(300)
    base = read_comparable_run(write_run(tmp_path / "base", dict.fromkeys("abcdefgh", ITEMS)))
    now = read_comparable_run(
        write_run(tmp_path / "now", dict.fromkeys("abcdefg", ITEMS + change) | {"h": ITEMS - change})
    )
    *fallen, risen = judge_against_baseline(now, base, tasks=["overall"])
    for one in fallen:
        fifty, many = one.ahead
        assert (fifty.more, many.more) == (50, 400)
        assert one.low is not None
        assert one.high is not None
        assert fifty.half == pytest.approx((one.high - one.low) / 2 * (300 / 350) ** 0.5, rel=0.03)
        assert fifty.half > many.half
        assert 0 < fifty.chance < many.chance < 1
    assert risen.ahead == ()
    assert "400 more" in printed(gate_verdicts_view((*fallen, risen)), width=120)
    [found] = judge_against_baseline(now, base, systems=["a"], tasks=["overall"])
    assert (found.met, found.ahead) == (False, ())
    assert not any(one.ahead for one in judge_against_baseline(now, base, tasks=["overall"], margin=0.1))


def test_several_runs_of_a_folder(tmp_path: Path) -> None:
    write_run(tmp_path / "one", {"a": ITEMS})
    write_run(tmp_path / "two", {"b": ITEMS})
    assert verdict(tmp_path, f"sage.{TASK}[b]>=0.1").met
    with pytest.raises(UsageError, match="no result has the system 'c'"):
        verdict(tmp_path, f"sage.{TASK}[c]>=0.1")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("sage.overal[a]>=1", "task 'overal'"), ("pteb.overall[a]>=1", "protocol 'pteb'"),
     (f"sage.{TASK}.x[a]>=1", "measure 'x'"), (f"sage.{TASK}[a,dataset=z]>=1", "dataset 'z'")],
)  # fmt: skip
def test_a_bar_on_nothing_is_a_usage_error(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong):
        verdict(write_run(tmp_path / "run", {"a": ITEMS}), text)


def test_no_worse(tmp_path: Path) -> None:
    """A fall that the data can show is a miss; one within the margin is none; a rise is none."""
    noise = np.random.default_rng(6).normal(0, 0.02, 300)
    base = read_comparable_run(write_run(tmp_path / "base", {"a": ITEMS, "b": ITEMS}))
    now = read_comparable_run(write_run(tmp_path / "now", {"a": ITEMS - 0.02 + noise, "b": ITEMS + 0.02 + noise}))
    verdicts = {one.bar: one for one in judge_against_baseline(now, base)}
    assert {bar: one.met for bar, one in verdicts.items()} == {
        "sage.overall[a] no worse": False, "sage.overall[b] no worse": True,
        f"sage.{TASK}[a] no worse": False, f"sage.{TASK}[b] no worse": True,
    }  # fmt: skip
    assert all(one.met for one in judge_against_baseline(now, base, margin=0.03))
    assert len(judge_against_baseline(now, base, systems=["b"], tasks=[TASK])) == 1


def test_a_system_may_have_had_another_name(tmp_path: Path) -> None:
    """The verdicts are those of equal names, under the new one; a name that the earlier run lacks is refused."""
    noise = np.random.default_rng(6).normal(0, 0.02, 300)
    old = write_run(tmp_path / "old", {"released": ITEMS, "b": ITEMS})
    now = write_run(tmp_path / "now", {"candidate": ITEMS - 0.02 + noise, "b": ITEMS})
    alike = write_run(tmp_path / "alike", {"candidate": ITEMS, "b": ITEMS})
    found = gate(now, no_worse_than=old, names=parse_system_renames(["candidate=released"]))
    assert found.verdicts == gate(now, no_worse_than=alike).verdicts
    assert not found.passed
    with pytest.raises(UsageError, match="no system 'relased'"):
        gate(now, no_worse_than=old, names={"relased": "candidate"})
    with pytest.raises(UsageError, match="NEW=OLD"):
        parse_system_renames(["candidate"])


def test_what_is_listed_can_be_a_threshold(tmp_path: Path) -> None:
    """Each name with a sign and a number behind it is read, and means the score that is listed."""
    run = write_run(tmp_path / "run", {"a": ITEMS, "b": ITEMS})
    listed = list_threshold_scores(run)
    assert {name for name, _ in listed} == {
        f"sage.{task}[{system}]" for task in (TASK, "overall") for system in ("a", "b")
    }
    for name, row in listed:
        assert verdict(run, f"{name}>=0").value == row.value
    assert {row.system for _, row in list_threshold_scores(run, systems=["b"])} == {"b"}


def test_what_is_gone_is_not_tested_and_stops(tmp_path: Path) -> None:
    base = read_comparable_run(write_run(tmp_path / "base", {"a": ITEMS, "b": ITEMS}))
    now = read_comparable_run(write_run(tmp_path / "now", {"a": ITEMS}))
    found = {one.bar: one for one in judge_against_baseline(now, base)}
    assert found["sage.overall[b] no worse"].reason.startswith("no value now: not in this run")
    assert found["sage.overall[b] no worse"].met is None
    assert found["sage.overall[b] no worse"].stops
    # Of two that are not tested alike, the one that fails the gate is told apart, in the table and in the first line.
    words = {bar: describe_gate_verdict(one) for bar, one in found.items()}
    assert words["sage.overall[b] no worse"] != describe_gate_verdict(ThresholdVerdict(None, bar="x", met=None))
    fatal = [one for one in found.values() if one.met is None and one.stops]
    harmless = [replace(one, stops=False) for one in fatal]
    assert describe_threshold_verdict_counts(fatal) != describe_threshold_verdict_counts(harmless)
    assert describe_threshold_verdict_counts(
        [*found.values(), ThresholdVerdict(None, bar="x", met=None)]
    ) != describe_threshold_verdict_counts([*found.values()])


def test_what_never_had_a_value_is_no_bar(tmp_path: Path) -> None:
    """A score that both runs lack, such as the overall of a run of one task, is not listed as untested."""
    made = [write_run(tmp_path / name, {"a": ITEMS}) for name in ("base", "now")]
    for path in made:
        standings = read_standings(path)
        write_standings(
            path,
            [
                replace(one, headline=replace(one.headline, value=None)) if one.task == "overall" else one
                for one in standings
            ],
        )
    found = judge_against_baseline(read_comparable_run(made[1]), read_comparable_run(made[0]))
    assert [one.bar for one in found] == [f"sage.{TASK}[a] no worse"]


def test_a_test_that_is_not_paired_says_so_everywhere(tmp_path: Path) -> None:
    """Met or missed: in the line of each bar of table, Markdown and JUnit, with the reason."""
    now = read_comparable_run(write_run(tmp_path / "now", {"a": ITEMS, "b": ITEMS - 0.2}, arguments={"limit": 5}))
    base = read_comparable_run(write_run(tmp_path / "base", {"a": ITEMS, "b": ITEMS}, arguments={"limit": 9}))
    found = judge_against_baseline(now, base)
    assert {one.met for one in found} == {True, False}
    assert all(one.unpaired.startswith("limit differs: 5 and 9") for one in found)
    table = printed(gate_verdicts_view(found), width=120)
    rows = [line for line in table.splitlines() if line.startswith("sage.")]
    assert len(rows) == len(found)
    assert all(", unpaired" in row for row in rows)
    assert "Unpaired (limit differs: 5 and 9)" in table
    rows = [line for line in format_verdicts_as_markdown(found).splitlines() if "no worse" in line]
    assert all(", unpaired |" in row and "not paired: limit differs" in row for row in rows)
    cases = ElementTree.fromstring(format_verdicts_as_junit(found).encode()).findall("testcase")
    assert all(case.attrib["name"].endswith("(unpaired)") for case in cases)
    assert all("limit differs" in (case.findtext("system-out") or "") for case in cases)
    paired = printed(gate_verdicts_view(judge_against_baseline(base, base)), width=120)
    assert "npaired" not in paired


def test_junit_and_markdown() -> None:
    hostile = "sage.overall[<script>alert('x')</script>|`b`\x00]>=1"
    verdicts = [
        ThresholdVerdict(0.5, 0.4, 0.6, 50, bar="sage.overall[a]>=0.1", met=True),
        ThresholdVerdict(None, bar=hostile, met=False, reason="why & how", stops=True),
    ]
    suite = ElementTree.fromstring(format_verdicts_as_junit(verdicts))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert len(suite.findall("testcase")) == 2
    assert suite.find("testcase/failure").get("message") == "why & how"  # type: ignore[union-attr]
    text = format_verdicts_as_markdown(verdicts)
    assert text.startswith("### Embassay gate: 1 of 2 thresholds missed")
    assert "<script>" not in text
    assert all(line.count("|") - line.count("\\|") == 6 for line in text.splitlines() if line.startswith("|"))


def test_runs_of_other_data_are_not_compared(tmp_path: Path) -> None:
    """A mean over other texts says nothing of a system: neither as a fall nor as none."""
    fallen = dict.fromkeys("ab", ITEMS - 0.2)
    old = read_comparable_run(write_run(tmp_path / "old", {"a": ITEMS, "b": ITEMS}, datasets=[data("june")]))
    new = read_comparable_run(write_run(tmp_path / "new", fallen, datasets=[data("july")]))
    found = judge_against_baseline(new, old)
    assert {own.met for own in found} == {None}
    assert all(own.stops and "june only in old" in own.reason for own in found)


def test_a_run_that_has_grown_is_judged_on_the_datasets_of_both(tmp_path: Path) -> None:
    old = read_comparable_run(write_run(tmp_path / "old", {"a": ITEMS}, datasets=[data("june")]))
    fallen = ITEMS - np.random.default_rng(6).uniform(0.1, 0.3, len(ITEMS))
    path = write_run(tmp_path / "new", {"a": fallen}, datasets=[data("june"), data("july")])
    more = [replace(one, dataset="june") for one in read_standings(path) if one.task == TASK]
    write_standings(path, [*read_standings(path), *more])
    overall, own = judge_against_baseline(read_comparable_run(path), old)
    assert (overall.met, overall.stops) == (None, False)
    assert "july only in new" in overall.reason
    assert own.bar == f"sage.{TASK}[a,dataset=june] no worse"
    assert own.met is False
    same = judge_against_baseline(old, old)
    assert [one.met for one in same] == [True, True]


def data(name: str) -> dict[str, object]:
    """A dataset as a manifest has it."""
    return {"name": name, "fingerprint": name, "tasks": {TASK: {"n": len(ITEMS)}}}


def test_what_a_run_took_may_be_limited(tmp_path: Path) -> None:
    """Seconds over finished cells, the most memory of one, bytes of a vector as it is kept; not said is not tested."""
    run = write_run(tmp_path / "run", {"a": ITEMS, "b?quantize=int8": ITEMS})
    path = run / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["systems"] = [
        {"name": "a", "kind": "embedding", "facts": {"dims": 384}},
        {"name": "b?quantize=int8", "kind": "embedding", "facts": {"dims": 384}},
        {"name": "bm25", "kind": "classical", "facts": {}},
    ]
    done = {"task": "sts", "dataset": "sea", "system": "a", "status": "done"}
    failed = {**done, "key": "3", "status": "failed", "seconds": None, "peak_bytes": None}
    manifest["cells"] = [
        {**done, "key": "1", "seconds": 1.5, "peak_bytes": 3 * 2**20},
        {**done, "key": "2", "seconds": 2.5, "peak_bytes": 5 * 2**20},
        failed,
    ]
    path.write_text(json.dumps(manifest))
    assert verdict(run, "sage.cost.seconds[a]<=4").met
    assert verdict(run, "sage.cost.seconds[a]<4").met is False
    assert verdict(run, "sage.cost.memory[a]<=5").value == 5
    assert verdict(run, "sage.cost.bytes_per_vector[a]<=1536").value == 1536
    assert verdict(run, "sage.cost.bytes_per_vector[b?quantize=int8]<=384").met
    untested = verdict(run, "sage.cost.bytes_per_vector[bm25]<=1")
    assert (untested.met, untested.stops) == (None, True)
