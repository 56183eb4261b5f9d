"""The calls of Python: one per question, on folders or runs, with a record that prints itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import embassay as eb
from embassay.errors import DataError, UsageError
from written_runs import write_run

ITEMS = np.random.default_rng(5).uniform(0.3, 0.7, 300)
BETTER = ITEMS + np.random.default_rng(6).uniform(0.1, 0.3, 300)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`a` ahead of `b`."""
    return write_run(tmp_path_factory.mktemp("before") / "run", {"a": BETTER, "b": ITEMS})


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`a` has fallen."""
    return write_run(tmp_path_factory.mktemp("after") / "run", {"a": ITEMS, "b": ITEMS})


def test_two_systems_of_a_run_by_folder_or_as_a_run(before: Path) -> None:
    """The same question has one answer, wherever it is asked."""
    run = eb.open_run(before)
    by_folder, by_run = eb.compare(before, a="a", b="b"), eb.compare(run, a="a", b="b")
    assert str(by_folder) == str(by_run) == str(run.compare("a", "b"))
    assert by_run.leading.difference == pytest.approx(0.2, abs=0.01)
    assert by_run.leading.low <= 0.2 <= by_run.leading.high
    assert not by_run.fields


def test_one_system_in_two_runs(before: Path, after: Path) -> None:
    """What became of it; the name stands for both sides."""
    found = eb.compare(eb.open_run(after), before, a="a")
    assert found.leading.difference == pytest.approx(-0.2, abs=0.01)
    assert found.leading.p < 0.05


def test_all_systems_of_a_run(before: Path) -> None:
    """Ranks in place of one difference, which there is not."""
    found = eb.compare(before)
    assert [one.system for one in found.fields[0].entrants] == ["a", "b"]
    assert found.contrasts == ()
    assert "a" in str(found)
    with pytest.raises(UsageError, match="Name two"):
        _ = found.leading


def test_a_gate_says_whether_it_is_passed(before: Path, after: Path) -> None:
    """Bars and an earlier run in one call; the files of CI from the same record."""
    met = eb.gate(before, "sage.overall[a]>=0.5@lower", no_worse_than=before)
    assert met.passed
    assert met.is_every_bar_met
    missed = eb.gate(eb.open_run(after), no_worse_than=eb.open_run(before))
    assert not missed.passed
    assert "a" in str(missed)
    assert "<failure" in missed.format_junit()
    assert missed.markdown().count("|") > 5


def test_what_is_missing_is_named(before: Path, tmp_path: Path) -> None:
    """No run, no bar, no second name, three runs."""
    with pytest.raises(DataError, match="no run"):
        eb.open_run(tmp_path)
    with pytest.raises(UsageError, match="no threshold"):
        eb.gate(before)
    with pytest.raises(UsageError, match="alpha"):
        eb.gate(before, no_worse_than=before, alpha=2)
    for wrong in ({"a": "a"}, {"b": "b"}):
        with pytest.raises(UsageError, match="is missing"):
            eb.compare(before, **wrong)
    with pytest.raises(UsageError, match="runs are given"):
        eb.compare(before, before, before)
    with pytest.raises(UsageError, match="dataset"):
        eb.compare(before, a="a", b="b", datasets=["d"])


def test_a_study_is_drawn_and_written(tmp_path: Path) -> None:
    """The same study as the command's, whose file of the first line is read."""
    drawn = eb.hume.sample(["sample"], out=tmp_path / "study", families=["sts"], lang=["eng"], n=4)
    assert len(drawn.items) == 4
    assert len(eb.hume.read_study(tmp_path / "study").items) == 4
    with pytest.raises(UsageError, match="colour"):
        eb.hume.sample(["sample"], colour="red")


def test_a_system_by_its_name() -> None:
    """Similarity of pairs, without anything else to open."""
    assert eb.open_system("jaccard").name == "jaccard"
    assert set(dir(eb)) >= {"sage", "compare", "gate", "open_run", "open_system"}
