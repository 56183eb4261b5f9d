"""Judge runs over real HTTP: every table against a direct computation, and what happens when something is wrong."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from embassay.errors import BudgetExceeded, DataError, UsageError
from embassay.protocols.pteb.judging import forecast_judging_cost, judge, make_plan
from embassay.protocols.pteb.options import JudgeEvaluationRequest, JudgingRunOptions
from embassay.runs.folder import RunFolder
from embassay.systems.remote import NoCallsLedger

from .conftest import rating

QUICK = JudgingRunOptions(resamples=100)


def table(run, name):
    return pl.read_csv(run.path / "tables" / f"{name}.csv")


def truth(path, name, low=0.0, high=5.0):
    """Ratings, gold on 0 to 5 and mean words of a file's pairs, as the judge `name` rates them."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    gold = np.array([5 * (row["score"] - low) / (high - low) for row in rows])
    values = np.array([
        rating(name, row["text"], row["text2"], one) for row, one in zip(rows, gold, strict=True)
    ])  # fmt: skip
    words = np.array([(len(row["text"].split()) + len(row["text2"].split())) / 2 for row in rows])
    return values, gold, words


def test_all_tables_are_direct_computations(write_pairs, spec, tmp_path):
    """Judges of known noise on two datasets of different ranges."""
    names = ["sharp-27b", "blunt-4b", "flat-1b"]
    paths = {"one": write_pairs("one", 150), "two": write_pairs("two", 90, low=1, high=5)}
    run = judge(
        [spec(name) for name in names], datasets=list(paths.values()), out=tmp_path / "run", options=QUICK,
        gold=("two=1-5", "0-5"),
    )  # fmt: skip
    found = {
        (name, data): truth(path, name, *((1, 5) if data == "two" else (0, 5)))
        for name in names for data, path in paths.items()
    }  # fmt: skip
    spearman = {key: 100 * spearmanr(values, gold).statistic for key, (values, gold, _) in found.items()}
    two = table(run, "pteb_table2")
    assert two["Dataset"].to_list() == ["one", "two", "Average"]
    for name in names:
        column = two[spec(name)].to_list()
        assert column == pytest.approx([spearman[name, "one"], spearman[name, "two"], np.mean(column[:2])])
    assert two[spec("sharp-27b")][2] > two[spec("blunt-4b")][2] > two[spec("flat-1b")][2]

    three = table(run, "pteb_table3")
    assert three["Parameters (billions)"].to_list() == [1, 4, 27]
    assert three["Judge"][0] == spec("flat-1b")

    errors = table(run, "judge_error_by_gold")
    for i, name in enumerate(names):
        values, gold = (np.concatenate([found[name, data][k] for data in paths]) for k in (0, 1))
        for low, label in enumerate(("[0,1)", "[1,2)", "[2,3)", "[3,4)", "[4,5]")):
            inside = (gold >= low) & (gold < low + 1 + (low == 4))
            assert errors[label][i] == pytest.approx(np.abs(values - gold)[inside].mean())
            assert errors[f"n {label}"][i] == inside.sum()
        assert errors["all"][i] == pytest.approx(np.abs(values - gold).mean())

    lengths = table(run, "judge_by_words")
    for row, data in enumerate(paths):
        words = found["sharp-27b", data][2]
        for above, most, label in ((0, 10, "1-10"), (10, 20, "11-20"), (20, 30, "21-30"), (30, 50, "31-50")):
            inside = (words > above) & (words <= most)
            direct = [spearmanr(*(part[inside] for part in found[name, data][:2])).statistic for name in names]
            assert lengths[f"n {label}"][row] == inside.sum()
            assert lengths[label][row] == (pytest.approx(100 * np.mean(direct)) if inside.sum() >= 10 else None)
    assert run.manifest["status"] == "finished"


def test_the_mean_over_datasets_has_a_paired_interval(write_pairs, spec, tmp_path):
    """And judges of so different noise are told apart."""
    run = judge(
        [spec("sharp-27b"), spec("flat-1b")], datasets=[write_pairs("one", 80), write_pairs("two", 80)],
        out=tmp_path / "run", options=QUICK,
    )  # fmt: skip
    rows = {(row.system, row.dataset, row.measure, row.variant): row for row in RunFolder(run.path).read_results()}
    mean = rows[spec("sharp-27b"), "", "spearman", ""]
    assert mean.ci_low < mean.value < mean.ci_high
    assert (mean.n, mean.seed, mean.protocol, mean.task) == (160, 1337, "pteb", "judge")
    scope = json.loads((run.path / "comparisons.json").read_text())["scopes"]["judge"]
    assert scope["systems"] == [spec("sharp-27b"), spec("flat-1b")]
    assert scope["pairs"][0]["p_adjusted"] < 0.001
    both = rows["mean of judges", "", "spearman", ""]
    assert both.value == pytest.approx((mean.value + rows[spec("flat-1b"), "", "spearman", ""].value) / 2)
    warnings = run.manifest["datasets"][0]["tasks"]["judge"]["warnings"]
    assert warnings == ["Gold scores are assumed to range from 0 to 5. If not, pass their range: --gold one=LOW-HIGH."]


def test_answers_that_are_no_rating(write_pairs, spec, judges, tmp_path):
    """Are asked for again with other seeds, then counted; over 5% there is no score, on that dataset and over all."""
    one, two = write_pairs("one", 100), write_pairs("two", 100)
    name = "sharp-27b"
    for first, _ in list(judges.gold)[:5]:
        judges.spoil[name, first] = "Score: 4"
    for first, _ in list(judges.gold)[100:106]:
        judges.spoil[name, first] = "4/5"
    run = judge(
        [spec(name)], datasets=[one, two], out=tmp_path / "run", options=JudgingRunOptions(resamples=50, attempts=3)
    )
    rows = {(row.dataset, row.measure, row.variant): row for row in RunFolder(run.path).read_results()}
    assert rows["one", "spearman", ""].n == 95
    assert rows["one", "failed", ""].value == pytest.approx(0.05)
    reason = "6 of 100 pairs had no rating, mostly: an answer that is not a rating (over 5%, so no score)"
    assert (rows["two", "spearman", ""].value, rows["two", "spearman", ""].reason) == (None, reason)
    assert rows["", "spearman", ""].reason == f"two: {reason}"
    assert rows["", "failed", ""].value == pytest.approx(11 / 200)
    seeds = [seed for model, first, _, seed in judges.seen if (model, first) in judges.spoil]
    assert len(seeds) == 33
    assert set(seeds) == {1337, 1337 + 1_000_003, 1337 + 2_000_006}
    [cell, _] = run.manifest["cells"]
    assert cell["counts"]["ratings_failed"] == 5
    assert cell["counts"]["further_attempts"] == 10
    assert "n/a" in (run.path / "tables" / "pteb_table2.md").read_text()


def test_it_stops_at_the_limit_and_goes_on(write_pairs, spec, judges, stub, tmp_path):
    """No pair is asked twice, whatever stopped the run; the results are those of a run that was not stopped."""
    path, one = write_pairs("one", 120), spec("sharp-27b", "&price=10&price_output=10")
    whole = judge([one], datasets=[path], out=tmp_path / "whole", options=QUICK, cache=tmp_path / "whole.sqlite")
    usd = whole.manifest["spent"]["usd"]
    asked = len(judges.seen)
    assert (asked, usd > 0) == (120, True)
    judges.seen.clear()
    arguments = {"datasets": [path], "out": tmp_path / "run", "options": QUICK, "cache": tmp_path / "run.sqlite"}
    with pytest.raises(BudgetExceeded):
        judge([one], max_usd=usd / 2, **arguments)
    assert 0 < len(judges.seen) < 120
    run = judge([one], max_usd=usd * 3, **arguments)
    assert len(judges.seen) == len(set(judges.seen)) == 120
    assert RunFolder(run.path).read_results() == RunFolder(whole.path).read_results()
    assert run.manifest["spent"]["usd"] == pytest.approx(usd)
    with pytest.raises(UsageError, match="other arguments: seed was 1337, now 1"):
        judge([one], seed=1, **arguments)


def test_the_forecast_is_what_is_asked(write_pairs, spec, judges, tmp_path):
    """Requests that have no answer yet; nothing is sent for it."""
    path = write_pairs("one", 40)
    request = JudgeEvaluationRequest(
        (spec("sharp-27b", "&price=10&price_output=10"),), datasets=(str(path),), options=QUICK
    )
    [cell] = forecast_judging_cost(make_plan(request, ledger=NoCallsLedger())).cells
    assert (cell.requests, cell.texts, cell.cached, cell.items) == (40, 40, 0, 40)
    assert cell.usd > 0
    assert not judges.seen
    run = judge(request.systems, datasets=request.datasets, out=tmp_path / "run", options=QUICK)
    assert 0.5 < cell.usd / run.manifest["spent"]["usd"] < 2
    [again] = forecast_judging_cost(make_plan(request, ledger=NoCallsLedger())).cells
    assert (again.requests, again.cached, again.usd) == (0, 40, 0.0)


def test_what_cannot_be_judged(write_pairs, spec, tmp_path):
    """Is refused before anything is asked, in plain words."""
    path = write_pairs("one", 20, low=0, high=10)
    with pytest.raises(UsageError, match=r"'one' range from .* to .*, which is outside 0 to 5.*--gold one=LOW-HIGH"):
        judge([spec("sharp-27b")], datasets=[path], out=tmp_path / "run")
    with pytest.raises(UsageError, match=r"'5-1' is not a range"):
        judge([spec("sharp-27b")], datasets=[path], out=tmp_path / "run", gold=("5-1",))
    with pytest.raises(UsageError, match=r"no llm called 'opnai'.*openai"):
        judge(["opnai:x"], datasets=[path], out=tmp_path / "run")
    with pytest.raises(UsageError, match="No language model was given"):
        judge([], datasets=[path], out=tmp_path / "run")
    with pytest.raises(UsageError, match=r"price of 'openai:sharp"):
        judge([spec("sharp-27b")], datasets=["sample"], out=tmp_path / "run", max_usd=1.0)
    (tmp_path / "texts.jsonl").write_text('{"id": "a", "text": "alone"}\n')
    with pytest.raises((UsageError, DataError), match="text2"):
        judge([spec("sharp-27b")], datasets=[tmp_path / "texts.jsonl"], out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_judge_that_cannot_be_had(write_pairs, spec, stub, tmp_path):
    """Fails its cells, and the reason stands in the results; the same run goes on when it can be had."""
    path, one = write_pairs("one", 20), spec("sharp-27b", "&timeout=61")
    stub.keys = {"another"}
    run = judge([one], datasets=[path], out=tmp_path / "run", options=QUICK)
    assert run.manifest["status"] == "partial"
    row, *_ = [row for row in RunFolder(run.path).read_results() if row.dataset == "one"]
    assert (row.measure, row.value) == ("spearman", None)
    assert "API key" in row.reason
    over = next(row for row in RunFolder(run.path).read_results() if not row.dataset)
    assert over.reason == f"one: {row.reason}"
    stub.keys = None
    run = judge([one], datasets=[path], out=tmp_path / "run", options=QUICK)
    assert run.manifest["status"] == "finished"


def test_long_pairs_are_read_whole(stub, judges, tmp_path):
    """A server that must be told gets room for the longest pair of the run, the same for all calls, and is told not to
    think; how the pairs are told apart does not depend on it."""
    rows = [
        {"id": str(i), "lang": "en", "text": f"{i} " + "word " * 3000 * (i % 2), "text2": "short", "score": i % 6}
        for i in range(12)
    ]
    path = tmp_path / "long.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    stub.chat = lambda turn: "3.5" if "word" in turn.last else "1"
    run = judge([f"ollama:gemma3:27b?base_url={stub.url}"], datasets=[path], out=tmp_path / "run", options=QUICK)
    assert run.manifest["status"] == "finished"
    assert {(body["options"]["num_ctx"], body["think"]) for body in stub.bodies} == {(16384, False)}
    assert {body["options"]["seed"] for body in stub.bodies} == {1337}
    [system] = run.manifest["systems"]
    assert system["facts"]["num_ctx"] == 16384
    assert system["facts"]["licence"] == "Gemma Terms of Use"
