"""Several judges: agreement by hand and against the library's alpha, panels, prices, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.measures import krippendorff_alpha
from embassay.protocols.rag.golden.panel import (
    JudgeGrades,
    build_judge_panel_tables,
    compare_judges_and_make_panel,
    measure_krippendorff_alpha,
    phrase_judge_panel_verdict,
    read_grades_of_one_judge,
    write_judge_panel,
)


def _judges(noise=(0.0, 0.6, 1.2), n=12, per=10, seed=2):
    rng = np.random.default_rng(seed)
    keys = [(f"q{i}", f"d{j}") for i in range(n) for j in range(per)]
    truth = rng.integers(1, 6, len(keys))
    people = JudgeGrades("people", dict(zip(keys, truth.tolist(), strict=True)))
    judges = [
        JudgeGrades(f"j{i}", {
            key: int(np.clip(round(t + rng.normal(0, sd)), 1, 5)) for key, t in zip(keys, truth, strict=True)
        }, usd=float(i)) for i, sd in enumerate(noise)
    ]  # fmt: skip
    return judges, people


def test_judges_beside_people_and_each_other():
    """The one that errs not agrees wholly; kappas fall with noise; price is per thousand grades."""
    judges, people = _judges()
    found = compare_judges_and_make_panel(judges, people)
    assert found.judges[0].people["exact"].value == 1
    kappas = [one.people["kappa"].value for one in found.judges]
    assert kappas == sorted(kappas, reverse=True)
    assert all(one.people["kappa"].low < one.people["kappa"].value for one in found.judges[1:])
    assert [one.per_thousand for one in found.judges] == [0, 1000 / 120, 2000 / 120]
    assert found.panels[0].usd == 3
    assert len(found.pairs) == 3
    assert found.learned["j0"] > found.learned["j2"]
    assert "j0" in phrase_judge_panel_verdict(found)


def test_alpha_is_krippendorff_s():
    """As the library's for ordered classes, missing grades and all."""
    judges, _ = _judges()
    keys = sorted(judges[0].grades)
    votes = np.array([[one.grades[key] - 1 for one in judges] for key in keys])
    votes[::4, 1] = -1
    own = measure_krippendorff_alpha(keys, votes)
    ratings = [[None if v < 0 else int(v) + 1 for v in row] for row in votes.T]
    assert own.value == pytest.approx(krippendorff_alpha(ratings, "ordinal"))
    assert own.low < own.value < own.high
    assert measure_krippendorff_alpha(keys, np.zeros_like(votes)).value is None


def test_a_panel_is_written_and_read_back(tmp_path):
    """Its qrels are those of the panel that was asked for; the same seed gives the same bytes."""
    judges, people = _judges()
    found = compare_judges_and_make_panel(judges, people)
    path = write_judge_panel(tmp_path / "a", found, "median")
    write_judge_panel(tmp_path / "b", compare_judges_and_make_panel(judges, people), "median")
    assert {p.name: p.read_bytes() for p in (tmp_path / "a").glob("*.*")} == {
        p.name: p.read_bytes() for p in (tmp_path / "b").glob("*.*")
    }
    assert read_grades_of_one_judge(str(path)).grades == dict(found.grades["median"])
    assert json.loads((tmp_path / "a" / "panel.json").read_text())["items"] == 120
    assert [one.name for one in build_judge_panel_tables(found)] == ["rag_judges", "rag_judge_pairs"]


def test_a_file_on_another_scale(tmp_path):
    """Through a grade map; its name may be given."""
    (tmp_path / "j.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t3\nq\tb\t0\n")
    found = read_grades_of_one_judge(f"mine={tmp_path / 'j.tsv'}", "trec3")
    assert (found.name, dict(found.grades), found.usd) == ("mine", {("q", "a"): 5, ("q", "b"): 1}, None)


def test_what_is_no_panel():
    """One judge, two of one name, nothing in common."""
    judges, _ = _judges()
    for some in (judges[:1], [judges[0], judges[0]], [judges[0], JudgeGrades("x", {("q", "d"): 1})]):
        with pytest.raises(UsageError):
            compare_judges_and_make_panel(some)
