"""Over datasets: groups that count as one, and references that leave nothing to tell."""

from types import SimpleNamespace

import numpy as np
import pytest

from embassay.protocols.kernel.comparisons import (
    SystemHeadlineValue,
    _compare_systems_in_scope,
    _task_headline,
    make_rows_and_comparisons_over_datasets,
    make_standings,
)
from embassay.protocols.kernel.plan import PlannedDataset, PlannedTask
from embassay.protocols.sage.options import SageOptions
from embassay.protocols.sage.protocol import SageProtocol
from embassay.records import HeadlineComponent, Score
from embassay.runs.folder import CellRecord

SYSTEMS = tuple(
    SimpleNamespace(name=name, kind=kind)
    for name, kind in (("good", "classical"), ("poor", "classical"), ("constant", "reference"))
)
FORUMS = {"scifact": 0.9, "forum-a": 0.2, "forum-b": 0.4, "forum-c": 0.6}


def plan(**options):
    task = PlannedTask("retrieval", 40, 40, (), ())
    datasets = tuple(
        PlannedDataset(name, name, "en", "0", (task,), group="forums" if "forum" in name else "") for name in FORUMS
    )
    request = SimpleNamespace(options=SageOptions(**options), seed=1)
    return SimpleNamespace(datasets=datasets, systems=SYSTEMS, request=request, tasks=("retrieval",), suites=())


def records():
    draws = np.random.default_rng(0).normal(0, 0.01, 200)
    return [
        CellRecord(
            "", "retrieval", name, system.name, "done", "", 0.0, (Score("retention", value, 40),),
            {"retention": HeadlineComponent(value, 40, value + draws)},
        )
        for name, value in FORUMS.items()
        for system in SYSTEMS
    ]  # fmt: skip


def test_a_group_of_datasets_counts_as_one():
    """Twelve forums are one dataset of the headline, however the mean over datasets is taken."""
    found = _task_headline(SageProtocol(), plan(), records(), "retrieval", "good")
    assert found.value == pytest.approx((0.9 + 0.4) / 2)
    assert found.method.startswith("mean over 2 datasets")
    harmonic = _task_headline(SageProtocol(), plan(dataset_mean="harmonic"), records(), "retrieval", "good")
    assert harmonic.value == pytest.approx(2 / (1 / 0.9 + 1 / 0.4))


def test_a_group_is_shown_beside_its_members():
    """It has rows and standings of its own."""
    rows, _ = make_rows_and_comparisons_over_datasets(SageProtocol(), plan(), records())
    [row] = [one for one in rows if (one.dataset, one.system) == ("forums", "good")]
    assert row.value == pytest.approx(0.4)
    assert (row.task, row.measure) == ("retrieval", "retention")
    places = {
        one.dataset: one.headline.value
        for one in make_standings(SageProtocol(), plan(), records())
        if one.system == "good"
    }
    assert places["forums"] == pytest.approx(0.4)
    assert {*FORUMS, "forums"} <= set(places)


def headlines(**values):
    rng = np.random.default_rng(0)
    return {
        name: SystemHeadlineValue(name, value, 40, value + rng.normal(0, 0.001, 500)) for name, value in values.items()
    }


def test_no_verdict_where_a_reference_reaches_the_leader():
    """`constant` keeps all of what it never found: nobody is ranked on retrieval, and the reason names clean nDCG."""
    equal = headlines(good=1.0, poor=0.2, constant=1.0)
    found = _compare_systems_in_scope(plan(), "retrieval", equal, ["good", "poor"])
    assert (found["pairs"], found["best"], found["rank_low"]) == ([], [], [])
    assert "constant" in found["reason"]
    assert "nDCG@10 on the clean corpus" in found["reason"]
    assert _compare_systems_in_scope(plan(), "robustness", equal, ["good", "poor"])["best"] == ["good"]
    below = headlines(good=1.0, poor=0.2, constant=0.5)
    assert _compare_systems_in_scope(plan(), "retrieval", below, ["good", "poor"])["best"] == ["good"]
