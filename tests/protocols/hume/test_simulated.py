"""Scripted annotators err as much as they are told to, and are never taken for people."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.measures import ari
from embassay.protocols.hume.collection import (
    KIND,
    check_nobody_answered,
    round_rating_to_scale_step,
    simulate_annotators,
    simulate_task_answers,
)
from embassay.protocols.hume.sampling import StudySampleRequest, TaskSampleRequest, draw_study
from embassay.protocols.hume.store import SubmittedAnswer, open_answer_store
from embassay.protocols.hume.study import (
    FAMILIES,
    AnnotationRow,
    Family,
    LabelChoice,
    RatingScale,
    StudyItemSource,
    StudyTask,
    read_study,
    write_annotations,
    write_study,
)

N = 4000


def _task(family: Family, scale: RatingScale | None = None) -> StudyTask:
    labels = [LabelChoice(value=value, name=value) for value in "abcd"] if family == "classification" else []
    return StudyTask(
        name="t", family=family, lang="eng", title="t", question="?", guidelines="#", n=1, labels=labels, scale=scale,
        source=StudyItemSource(dataset="d"),
    )  # fmt: skip


def _gold(family: Family, n: int = N) -> dict[str, Any]:
    values: dict[Family, Any] = {
        "classification": lambda k: "abcd"[k % 4],
        "clustering": lambda k: f"topic {k % 5}",
        "sts": lambda k: 2 + (k % 3) / 2,
        "reranking": lambda k: (1, 0, 0, k % 2, 0, 0, 0),
    }
    return {f"i{k}": values[family](k) for k in range(n)}


def _values(family: Family, noise: float, who: str = "s-1", seed: int = 1, n: int = N, **more: Any) -> list[Any]:
    rows = simulate_task_answers(_task(family, **more), _gold(family, n), who, noise=noise, seed=seed)
    return [row.value for row in rows]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_answer_is_marked(family: Family) -> None:
    """As simulated, by whom, with a time that a person could have taken; one answer an item, in order."""
    rows = simulate_task_answers(_task(family), _gold(family, 30), "s-1", noise=0.2, seed=1)
    assert [row.item_id for row in rows] == list(_gold(family, 30))
    assert {(row.kind, row.annotator_id, row.ts) for row in rows} == {("simulated", "s-1", "")}
    assert all(row.seconds is not None and 3 <= row.seconds <= 30 for row in rows)


@pytest.mark.parametrize("noise", [0.0, 0.15, 0.5, 1.0])
def test_labels_and_marks_are_wrong_so_often(noise: float) -> None:
    """The share of wrong labels and toggled marks is the noise, within four standard errors."""
    error = 4 * (noise * (1 - noise) / N) ** 0.5 + 1e-9
    labels, gold = _values("classification", noise), list(_gold("classification").values())
    wrong = [(one, own) for one, own in zip(labels, gold, strict=True) if one != own]
    assert abs(len(wrong) / N - noise) <= error
    # Drawn evenly among the other three.
    shares = [size / max(len(wrong), 1) for size in Counter(wrong).values()]
    assert all(abs(share - 1 / 12) < 0.03 for share in shares)
    marks, gold = _values("reranking", noise), list(_gold("reranking").values())
    toggled = [a != b for one, own in zip(marks, gold, strict=True) for a, b in zip(one, own, strict=True)]
    assert abs(fmean(toggled) - noise) <= error


def test_groups_are_the_gold_under_other_names() -> None:
    """Without noise the same partition, with some another one; names come in the order of the items."""
    gold = list(_gold("clustering", 400).values())
    exact, moved = (_values("clustering", noise, n=400) for noise in (0.0, 0.2))
    assert exact[:6] == [f"group {k}" for k in (1, 2, 3, 4, 5, 1)]
    assert ari(gold, exact) == 1
    assert 0.5 < ari(gold, moved) < 0.8


def test_ratings_err_by_a_share_of_the_scale() -> None:
    """Noise .1 of a scale of 0 to 20: a standard deviation of 2, besides rounding (1/12); no bias; on whole steps."""
    scale = RatingScale(low=0, high=20)
    gold = {f"i{k}": 10 for k in range(N)}
    values = [row.value for row in simulate_task_answers(_task("sts", scale), gold, "s", noise=0.1, seed=3)]
    assert abs(fmean(values) - 10) < 0.15
    assert abs(pstdev(values) - (4 + 1 / 12) ** 0.5) < 0.1
    assert all(value == int(value) for value in values)
    assert set(_values("sts", 0.0, scale=RatingScale(step=0.5))) == {2.0, 2.5, 3.0}


@given(
    st.floats(-50, 50),
    st.sampled_from(
        [RatingScale(), RatingScale(low=1, high=4), RatingScale(step=0.5), RatingScale(low=-1, high=1, step=0.4)]
    ),
)
def test_on_scale(rating: float, scale: RatingScale) -> None:
    """A step of the scale, and none is nearer."""
    steps = [scale.low + k * scale.step for k in range(int((scale.high - scale.low) / scale.step + 1e-9) + 1)]
    near = round_rating_to_scale_step(rating, scale)
    assert any(near == pytest.approx(step) for step in steps)
    assert abs(near - rating) <= min(abs(step - rating) for step in steps) + 1e-9


@pytest.mark.parametrize("family", FAMILIES)
def test_annotators_and_seeds_err_apart_and_again(family: Family) -> None:
    """Two annotators, two seeds: other answers; the same: the same, also for items in another order."""
    own = _values(family, 0.3, n=60)
    assert own == _values(family, 0.3, n=60)
    assert own != _values(family, 0.3, "s-2", n=60)
    assert own != _values(family, 0.3, seed=2, n=60)
    if family != "clustering":
        gold = dict(reversed(_gold(family, 60).items()))
        assert own[::-1] == [row.value for row in simulate_task_answers(_task(family), gold, "s-1", noise=0.3, seed=1)]


@pytest.mark.parametrize("noise", [-0.1, 1.01, float("nan")])
def test_noise_is_a_share(noise: float) -> None:
    """Anything else is refused."""
    with pytest.raises(UsageError, match="noise"):
        simulate_task_answers(_task("sts"), {}, "s", noise=noise, seed=1)


def test_scripts_never_stand_beside_people(tmp_path: Path) -> None:
    """A study that people have answered, in a file or on its pages, is refused; scripts may answer again."""
    drawn = draw_study(
        StudySampleRequest(name="s", tasks=[TaskSampleRequest(data="sample", family=["sts"], n=5, lang=["eng"])])
    )
    folder = read_study(write_study(tmp_path / "s", drawn.study, drawn.items, drawn.gold))
    write_annotations(folder.path, KIND, simulate_annotators(folder, 2, noise=0.1, seed=1))
    check_nobody_answered(folder)
    own = AnnotationRow(item_id=folder.items[0].id, annotator_id="ann", value=3.0)
    file = write_annotations(folder.path, "ann", [own])
    with pytest.raises(UsageError, match=r"People have answered this study \(ann\)"):
        check_nobody_answered(folder)
    file.unlink()
    store = open_answer_store(folder)
    store.add_annotator("bob", "person")
    store.save("bob", folder.items[0].task, SubmittedAnswer(folder.items[0].id, 3.0, 1))
    store.close()
    with pytest.raises(UsageError, match="bob"):
        check_nobody_answered(folder)
