"""Whole runs compared: two systems, all of them, and one system in two runs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.compare import (
    compare_systems,
    determine_replicate_pairing,
    list_ranked_system_groups,
    list_system_pair_tests,
    make_ranked_system_group,
    read_comparable_run,
)
from embassay.protocols.kernel.comparisons import (
    REFERENCE,
    SystemHeadlineValue,
    SystemStanding,
    compare_headlines_of_all_systems,
    read_standings,
    write_standings,
)
from embassay.protocols.kernel.tables import SCORE
from embassay.report.terminal import contrast_verdict
from embassay.stats import hodges_lehmann, holm, resample_means, wilcoxon
from written_runs import MEASURE, TASK, write_run

RNG = np.random.default_rng(11)
ITEMS = RNG.uniform(0.2, 0.8, 200)
VALUES = {
    "good": ITEMS + 0.1,
    "twin": ITEMS + 0.1 + RNG.normal(0, 0.05, 200),
    "poor": ITEMS - 0.1 + RNG.normal(0, 0.05, 200),
}


def test_two_systems(tmp_path: Path) -> None:
    run = read_comparable_run(write_run(tmp_path / "run", VALUES))
    found = compare_systems(run, "good", "poor")
    assert [one.task for one in found.contrasts] == ["overall", TASK]
    task = found.contrasts[1]
    assert task.difference == pytest.approx(float(np.mean(VALUES["good"] - VALUES["poor"])))
    assert task.p_adjusted >= task.p
    assert task.by_item is not None
    assert task.by_item.n == 200
    assert task.by_item.shift == pytest.approx(hodges_lehmann(VALUES["good"] - VALUES["poor"]).value)


def test_all_systems(tmp_path: Path) -> None:
    run = read_comparable_run(write_run(tmp_path / "run", VALUES))
    found = next(one for one in list_ranked_system_groups(run) if one.task == TASK)
    assert {one.system for one in found.entrants[:2]} == {"good", "twin"}
    assert [(one.rank_low, one.rank_high) for one in found.entrants] == [(1, 2), (1, 2), (3, 3)]
    assert found.groups == ((0, 1),)
    assert sum(one.best or 0 for one in found.entrants) == pytest.approx(1)
    assert next(iter(list_ranked_system_groups(run, measures=[MEASURE]))).measure == MEASURE


def test_the_overall_score_is_tested_alone_and_parts_among_themselves(tmp_path: Path) -> None:
    """Datasets are a third family. What did not differ on any item is no test of any."""
    path = write_run(tmp_path / "run", VALUES)
    [over] = [one for one in read_standings(path) if one.task == "overall" and one.system == "good"]
    [other] = [one for one in read_standings(path) if one.task == "overall" and one.system == "twin"]
    tasks = ("preference", "robustness", "sensitivity")
    both = over.headline, other.headline
    standings = [SystemStanding("overall", "", "overall", one) for one in both]
    standings += [SystemStanding(task, name, "m", one) for task in tasks for name in ("", "x", "y") for one in both]
    same = replace(both[0], system="twin")
    standings += [SystemStanding("clustering", "", "m", one) for one in (both[0], same)]
    write_standings(path, standings)
    found = {
        (one.task, one.dataset): one for one in compare_systems(read_comparable_run(path), "good", "twin").contrasts
    }
    assert found["overall", ""].p_adjusted == found["overall", ""].p
    assert [found[key].tests for key in (("overall", ""), ("preference", ""), ("robustness", "x"))] == [1, 3, 6]
    assert found["preference", ""].p_adjusted == pytest.approx(min(1, 3 * found["preference", ""].p))
    assert found["preference", ""].smallest > found["overall", ""].smallest
    still = found["clustering", ""]
    assert still.reason.startswith("no test")
    assert math.isnan(still.p_adjusted)
    assert math.isnan(still.smallest)


def test_one_question_has_one_answer_or_names_the_family(tmp_path: Path) -> None:
    """The pair's p is that of the run's ranks; where Holm over all pairs says otherwise, the verdict says so."""
    rng = np.random.default_rng(3)
    values = {f"s{i}": ITEMS + rng.normal(0, 0.3, 200) for i in range(6)}
    noise = rng.normal(0, 0.3, 200)
    values["s1"] = values["s0"] - 0.055 + noise - noise.mean()
    run = read_comparable_run(write_run(tmp_path / "run", values))
    found = compare_systems(run, "s0", "s1")
    pairs = compare_headlines_of_all_systems([one.headline for one in run.at(("overall", "", "overall"))])["pairs"]
    [same] = [one for one in pairs if {one["a"], one["b"]} == {"s0", "s1"}]
    assert found.among is not None
    assert found.among.pairs == 15
    assert found.contrasts[0].p == pytest.approx(same["p"])
    assert found.among.p_adjusted == pytest.approx(same["p_adjusted"])
    assert found.contrasts[0].p_adjusted < 0.05 < found.among.p_adjusted
    said = contrast_verdict(found.contrasts[0], SCORE, found.among)
    assert "beats" in said
    assert "15 pairs of the run: not significant" in said


@given(st.integers(0, 10**6))
def test_nothing_but_the_corrected_test_tells_two_apart(seed: int) -> None:
    """Ranks are those of Holm's p, whatever the intervals of single systems look like."""
    rng = np.random.default_rng(seed)
    sets = rng.uniform(0.2, 0.6, rng.integers(2, 7)) + rng.normal(0, 0.03, (rng.integers(3, 6), 1))
    draws = resample_means(sets, n_resamples=400, rng=rng).T
    known = [
        SystemStanding(TASK, "", MEASURE, SystemHeadlineValue(f"s{i}", float(column.mean()), len(sets), own))
        for i, (column, own) in enumerate(zip(sets.T, draws, strict=True))
    ]
    found = make_ranked_system_group((TASK, "", MEASURE), "", known)
    tests = list_system_pair_tests(known)
    assert [test.p_adjusted for test in tests] == holm([test.p for test in tests])
    apart = sum(test.p_adjusted < 0.05 for test in tests)
    assert sum((entrant.rank_low or 0) - 1 for entrant in found.entrants) == apart


def test_no_verdict_where_a_reference_reaches_the_leader(tmp_path: Path) -> None:
    """To keep all of what was found by knowing nothing is no merit; other tasks are as they were."""
    path = write_run(tmp_path / "run", VALUES)
    own = {one.system: one.headline for one in read_standings(path) if one.task == TASK}
    constant = replace(own["good"], system="constant")
    for task, tested in (("retrieval", False), (TASK, True)):
        standings = [SystemStanding(task, "", MEASURE, own[name]) for name in ("good", "poor")]
        write_standings(path, [*standings, SystemStanding(task, "", MEASURE, constant, REFERENCE)])
        run = read_comparable_run(path)
        [field] = list_ranked_system_groups(run)
        [pair] = compare_systems(run, "good", "poor").contrasts
        assert (field.entrants[0].rank_low is not None) == tested
        assert math.isnan(pair.p) != tested
        if not tested:
            assert "constant" in field.reason
            assert "nDCG@10 on the clean corpus" in field.reason
            assert field.reason in pair.reason


def test_lower_is_better_turns_the_ranks(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", VALUES)
    standings = [
        SystemStanding("score", "d", "Harm@10", one.headline) for one in read_standings(path) if one.task == TASK
    ]
    write_standings(path, standings)
    [found] = list_ranked_system_groups(read_comparable_run(path))
    assert found.entrants[0].system == "poor"
    assert found.entrants[0].rank_high == 1


def test_two_runs_of_the_same_items_are_paired(tmp_path: Path) -> None:
    now = read_comparable_run(write_run(tmp_path / "now", {"good": VALUES["twin"]}))
    base = read_comparable_run(write_run(tmp_path / "base", {"good": VALUES["good"]}))
    found = compare_systems(now, "good", "good", base)
    assert found.pairing.paired
    assert {(one.a, one.b) for one in found.contrasts} == {("good (now)", "good (base)")}
    other = read_comparable_run(write_run(tmp_path / "other", {"good": VALUES["good"]}, fingerprint="g"))
    apart = compare_systems(now, "good", "good", other)
    assert apart.pairing.reason == "the runs have different data for sample"
    assert apart.contrasts[1].error > 2 * found.contrasts[1].error


def test_over_datasets(tmp_path: Path) -> None:
    """The differences on several datasets are summed up by their shift and for further datasets."""
    path = write_run(tmp_path / "run", VALUES)
    draws = RNG.normal(0, 0.01, (2, 200))
    gaps = [0.02, 0.05, 0.03, 0.08, -0.01, 0.04]
    standings = [
        SystemStanding(
            TASK, f"set{i}", MEASURE, SystemHeadlineValue(name, 0.5 + gap * (name == "a"), 50, 0.5 + draws[side])
        )
        for i, gap in enumerate(gaps)
        for side, name in enumerate("ab")
    ]
    write_standings(path, standings)
    [across] = compare_systems(read_comparable_run(path), "a", "b").across
    assert across.datasets == 6
    assert across.shift.value == pytest.approx(hodges_lehmann(gaps).value)
    assert across.test.p == wilcoxon(gaps).p
    assert across.mean.low < np.mean(gaps) < across.mean.high


def test_runs_of_a_probe_are_averaged_within_their_item(tmp_path: Path) -> None:
    from embassay.protocols.run_values import ItemValues
    from embassay.runs.folder import RunFolder, write_parquet_columns

    path = RunFolder(tmp_path).locate_cell_items("noise", "d", "a")
    columns = {"item_id": ["q@0", "q@1", "r@0", "r@1"], "variant": [""] * 4, "measure": ["m"] * 4}
    write_parquet_columns(path, {**columns, "value": [0.1, 0.3, 0.6, 1.0]})
    assert ItemValues(tmp_path).find_item_values_behind_headline("noise", "d", "a", 0.5) == pytest.approx(
        {"q": 0.2, "r": 0.8}
    )
    assert ItemValues(tmp_path).find_item_values_behind_headline("noise", "d", "a", 0.7) is None


def test_names_that_are_not_there(tmp_path: Path) -> None:
    run = read_comparable_run(write_run(tmp_path / "run", VALUES))
    with pytest.raises(UsageError, match="no system 'god'") as caught:
        compare_systems(run, "god", "poor")
    assert "good" in caught.value.mend
    with pytest.raises(UsageError, match="with itself"):
        compare_systems(run, "good", "good")
    with pytest.raises(UsageError, match="no task 'x'"):
        list(list_ranked_system_groups(run, tasks=["x"]))


def test_folders_that_hold_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no run"):
        read_comparable_run(tmp_path)
    path = write_run(tmp_path / "run", VALUES)
    (path / "headlines.parquet").write_bytes(b"broken")
    with pytest.raises(DataError, match="cannot be read"):
        read_comparable_run(path)
    (path / "headlines.parquet").unlink()
    with pytest.raises(DataError, match="no headlines"):
        read_comparable_run(path)


def test_every_bit_of_a_replicate_is_kept(tmp_path: Path) -> None:
    draws = np.array([0.1, 1 / 3, math.nan, 5e-324])
    write_standings(tmp_path, [SystemStanding("t", "d", "m", SystemHeadlineValue("a", None, 0, draws, "how", "why"))])
    [read] = read_standings(tmp_path)
    assert read.headline.replicates.tobytes() == draws.tobytes()
    assert (read.headline.value, read.headline.reason) == (None, "why")


def test_pairing_asks_for_the_same_items() -> None:
    run = {"protocol": "sage", "arguments": {"seed": 1, "limit": 5}, "datasets": []}
    assert determine_replicate_pairing(run, json.loads(json.dumps(run))).paired
    assert "limit differs" in determine_replicate_pairing(run, {**run, "arguments": {"seed": 1, "limit": 6}}).reason
    assert "draw resamples differently" in determine_replicate_pairing(run, {**run, "resampling": 2}).reason
    assert "protocol differs" in determine_replicate_pairing(run, {**run, "protocol": "pteb"}).reason


def test_a_system_in_two_runs_is_compared_on_the_datasets_of_both(tmp_path: Path) -> None:
    """Over other datasets there is no difference, and none is tested."""
    june, july = ({"name": name, "fingerprint": name, "tasks": {TASK: {}}} for name in ("june", "july"))
    first = read_comparable_run(write_run(tmp_path / "first", VALUES, datasets=[june]))
    other = read_comparable_run(write_run(tmp_path / "other", VALUES, datasets=[july]))
    whole = compare_systems(first, "good", "poor", other).contrasts
    assert {one.difference for one in whole} == {None}
    assert all(math.isnan(one.p) and "july only in other" in one.reason for one in whole)
    path = write_run(tmp_path / "both", VALUES, datasets=[june, july])
    more = [replace(one, dataset="june") for one in read_standings(path) if one.task == TASK]
    write_standings(path, [*read_standings(path), *more])
    parts = compare_systems(first, "good", "poor", read_comparable_run(path)).contrasts
    assert {one.dataset for one in parts if one.difference is not None} == {"june"}


def test_two_systems_are_told_the_run_that_has_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest folder with both; without one, the form alone."""
    eb.sage.run(["jaccard", "rouge"], tasks=["sensitivity"], limit=4, tokenizer="words", out=tmp_path / "runs" / "a")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as told:
        eb.compare("rouge", "jaccard")
    assert "compare runs/a -a rouge -b jaccard" in str(told.value.mend)
    with pytest.raises(UsageError) as told:
        eb.compare("rouge", "bm25")
    assert "compare RUN -a rouge -b bm25" in str(told.value.mend)
