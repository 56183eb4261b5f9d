"""Ranks of a board are those of `embassay compare`, however the systems came together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.compare import list_ranked_system_groups, make_ranked_system_group, read_comparable_run
from embassay.protocols.kernel.comparisons import CLASSICAL, REFERENCE, SystemHeadlineValue, SystemStanding
from embassay.web.leaderboard.library import RunLibrary
from embassay.web.leaderboard.ranking import compute_pair_tests_of_column
from leaderboard_runs import write_sage

LEVELS = st.lists(st.sampled_from([0.4, 0.5, 0.505, 0.51, 0.6]), min_size=2, max_size=7)


def _standings(levels, measure="m", group=""):
    rng = np.random.default_rng(len(levels))
    shared = rng.normal(0, 0.01, 200)
    return [
        SystemStanding(
            "t", "", measure, SystemHeadlineValue(f"s{i}", level, 50, level + shared + rng.normal(0, 0.004, 200)), group
        )
        for i, level in enumerate(levels)
    ]


@given(LEVELS)
def test_ranks_and_chances_are_those_of_compare(levels) -> None:
    """The same ranges and shares, and alike is just what no test tells apart."""
    standings = _standings(levels)
    found, field = (
        compute_pair_tests_of_column(standings, higher=True),
        make_ranked_system_group(("t", "", "m"), "", standings),
    )
    for one in field.entrants:
        assert found.ranks[one.system] == (one.rank_low, one.rank_high)
        assert found.best[one.system] == one.best
        low, high = found.ranks[one.system]
        assert len(found.alike[one.system]) == high - low
    assert all(a in found.alike[b] for a in found.alike for b in found.alike[a])


@given(LEVELS, st.integers(2, 6))
def test_tests_from_before_are_not_made_again(levels, first) -> None:
    """Adding systems one by one gives what all together give; who comes from another run is tested anew."""
    standings = _standings(levels)
    origins = {one.system: "run" for one in standings}
    known = {}
    for upto in range(min(first, len(standings)), len(standings) + 1):
        found = compute_pair_tests_of_column(standings[:upto], higher=True, origins=origins, known=known)
    assert found == compute_pair_tests_of_column(standings, higher=True)
    changed = SystemStanding("t", "", "m", SystemHeadlineValue("s0", 0.9, 50, np.full(200, 0.9)))
    again = compute_pair_tests_of_column(
        [changed, *standings[1:]], higher=True, origins={**origins, "s0": "new"}, known=known
    )
    assert again == compute_pair_tests_of_column([changed, *standings[1:]], higher=True)


def test_no_verdict_on_retrieval_that_knowing_nothing_reaches() -> None:
    known = [SystemStanding("retrieval", "", "retention", one.headline, one.group) for one in _standings([0.5, 0.6])]
    nothing = SystemStanding(
        "retrieval", "", "retention", SystemHeadlineValue("constant", 0.6, 50, np.empty(0)), REFERENCE
    )
    assert compute_pair_tests_of_column(known, higher=True).ranks
    found = compute_pair_tests_of_column([*known, nothing], higher=True)
    assert not found.ranks
    assert not found.best
    assert "constant" in found.reason


def test_groups_are_ranked_apart_and_references_not_at_all() -> None:
    """Another method stands behind the score of a group."""
    standings = [
        *_standings([0.5, 0.6]),
        *(SystemStanding("t", "", "m",
            SystemHeadlineValue("c" + one.system, one.headline.value, 50, one.headline.replicates), group)
          for group, own in ((CLASSICAL, [0.9, 0.95]), (REFERENCE, [0.99])) for one in _standings(own)),
    ]  # fmt: skip
    found = compute_pair_tests_of_column(standings[:4], higher=True)
    assert found.ranks == {"s1": (1, 1), "s0": (2, 2), "cs1": (1, 1), "cs0": (2, 2)}
    assert found.top == ("s1",)
    assert "cs0" not in compute_pair_tests_of_column(standings[4:], higher=True).ranks


def test_lower_may_be_better() -> None:
    """The first is the least, and leads by a positive gap."""
    found = compute_pair_tests_of_column(_standings([0.5, 0.6], "Harm@10"), higher=False)
    assert found.ranks == {"s0": (1, 1), "s1": (2, 2)}
    assert found.gap is not None
    assert found.gap.difference == pytest.approx(0.1)


def test_two_runs_joined_are_ranked_as_one(tmp_path) -> None:
    """Replicates of runs of one version are pairs: the ranks are those of one run with all systems."""
    levels = {"a": 0.5, "b": 0.505, "c": 0.56, "d": 0.562}
    whole = write_sage(tmp_path / "whole", levels)
    write_sage(tmp_path / "parts" / "x", {"a": 0.5, "c": 0.56})
    write_sage(tmp_path / "parts" / "y", {"b": 0.505, "d": 0.562})
    library = RunLibrary(tmp_path / "parts")
    library.refresh_changed_runs()
    made = library.board(library.wait_for_snapshot().boards.boards[0].id)
    assert made is not None
    for field in list_ranked_system_groups(read_comparable_run(whole)):
        key = field.task
        ranks = {one.name: rank for one, rank in zip(made.board.systems, made.board.ranks[key], strict=True)}
        assert ranks == {one.system: (one.rank_low, one.rank_high) for one in field.entrants}, key
    row = made.board.systems[made.board.top["overall"][0]].name
    assert row == next(iter(list_ranked_system_groups(read_comparable_run(whole)))).entrants[0].system
