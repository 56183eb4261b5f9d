"""Hybrid annotation: whose every item is, what stands, and when a model is not believed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.protocols.hume import score
from embassay.protocols.hume.llms.answers import LlmAnswerRow, llm_answer_path
from embassay.protocols.hume.llms.protocol import (
    decide_task_owners,
    divide_study_tasks,
    divide_task_items,
    make_records_of_tasks_divided_with_llm,
    pool_item_answers,
    write_hybrid_answers,
)
from embassay.protocols.hume.options import LlmAnswerAcceptanceOptions
from embassay.protocols.hume.record import read_tasks_divided_with_llm, write_tasks_divided_with_llm
from embassay.protocols.hume.study import read_study
from embassay.report.hume.conclusions import task_owners_view, view_items_divided_between_llm_people
from hume_scored import PEOPLE, scored_study

ALL = LlmAnswerAcceptanceOptions(check=0.0)


def _items(n: int, wrong: int = 0) -> tuple[dict[str, list[str]], dict[str, str]]:
    """A model that answers `a` to everything; people say `b` to the first `wrong` items."""
    names = [f"i{place:03d}" for place in range(n)]
    return {name: ["a", "a", "a"] for name in names}, {
        name: "b" if place < wrong else "a" for place, name in enumerate(names)
    }


def test_draws_that_disagree_are_peoples() -> None:
    """Equal draws stand, others wait for people, and what could not be read does."""
    found = divide_task_items("t", "classification", {"x": ["a", "a"], "y": ["a", "b"], "z": ["a", None]}, {}, ALL)
    assert found.why == {"x": "agreed", "y": "disagree", "z": "unread"}
    assert found.values == {"x": "a"}
    assert found.open == ("y", "z")
    assert found.share_of_people == pytest.approx(2 / 3)


def test_ratings_may_differ_a_little() -> None:
    """Within the tolerance they are equal, and the value is their mean."""
    found = divide_task_items("t", "sts", {"x": [3, 4], "y": [1, 4]}, {}, ALL)
    assert found.why == {"x": "agreed", "y": "disagree"}
    assert found.values == {"x": 3.5}


def test_a_good_model_saves_all_but_the_sample() -> None:
    """One hundred equal items: twenty are checked, the rest stand."""
    draws, people = _items(100)
    found = divide_task_items("t", "classification", draws, people)
    assert found.count_items_people_can_skip == 80
    assert found.contradicted is not None
    assert (found.contradicted.n, found.contradicted.value) == (20, 0.0)
    assert not found.biased


def test_a_biased_model_is_not_believed() -> None:
    """People contradict the sample: nothing of the model stands, whatever its draws agree on."""
    draws, people = _items(100, wrong=100)
    found = divide_task_items("t", "classification", draws, people)
    assert found.biased
    assert found.count_items_people_can_skip == 0
    assert set(found.values.values()) == {"b"}


def test_before_people_have_answered() -> None:
    """The sample waits, and nothing is said of bias."""
    draws, _ = _items(50)
    found = divide_task_items("t", "classification", draws, {})
    assert found.contradicted is None
    assert len(found.open) == 10
    assert not found.biased


def test_peoples_answers_always_stand() -> None:
    """Also where the model agrees with itself."""
    found = divide_task_items("t", "classification", {"x": ["a", "a"]}, {"x": "b", "other": "c"}, ALL)
    assert found.values == {"x": "b"}


def test_the_sample_depends_on_nothing_but_the_seed() -> None:
    """Not on what people said, nor on the order of items."""
    draws, people = _items(60, wrong=2)
    first = divide_task_items("t", "classification", draws, {}).why
    turned = divide_task_items("t", "classification", dict(reversed(draws.items())), people).why
    assert {item for item, why in first.items() if why == "check"} == {
        item for item, why in turned.items() if why == "check"
    }
    other = divide_task_items("t", "classification", draws, {}, LlmAnswerAcceptanceOptions(seed=7)).why
    assert other != first


@given(st.lists(st.lists(st.sampled_from("ab"), min_size=2, max_size=4), min_size=1, max_size=40), st.floats(0, 1))
def test_every_item_is_somebodys(draws: list[list[str]], check: float) -> None:
    """Each has one reason; a value or a place in the queue, never both; people's share is of all items."""
    named = {f"i{place}": own for place, own in enumerate(draws)}
    found = divide_task_items("t", "classification", named, {}, LlmAnswerAcceptanceOptions(check=check, least=1))
    assert set(found.why) == set(named)
    assert set(found.values).isdisjoint(found.open)
    assert set(found.values) | set(found.open) == set(named)
    assert found.count_items_people_can_skip == sum(why == "agreed" for why in found.why.values())
    assert 0 <= found.share_of_people <= 1


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=9))
def test_one_answer_of_several(values: list[str]) -> None:
    """The most frequent, of equals the smallest, whatever the order."""
    best = pool_item_answers("classification", values)
    assert all((-values.count(best), best) <= (-values.count(one), one) for one in values)
    assert pool_item_answers("classification", values[::-1]) == best


def test_what_cannot_be_done() -> None:
    """One draw cannot disagree; groups and lists have no single answer; shares are shares."""
    with pytest.raises(UsageError, match="answered x only once"):
        divide_task_items("t", "classification", {"x": ["a"]}, {})
    with pytest.raises(UsageError, match="clustering"):
        divide_task_items("t", "clustering", {}, {})
    with pytest.raises(UsageError, match="check is"):
        LlmAnswerAcceptanceOptions(check=1.5)
    with pytest.raises(UsageError, match="tolerance"):
        LlmAnswerAcceptanceOptions(tolerance=-1)


def test_a_study_of_people_and_a_model(tmp_path: Path) -> None:
    """From the files of a study: gold as the model's answers, one item doubted, people's answers in the sample."""
    path = scored_study(tmp_path, families=("classification",))
    folder = read_study(path)
    (task,) = folder.study.tasks
    gold = folder.gold(task.name)
    file = llm_answer_path(path, "stub", "ranking")
    file.parent.mkdir(parents=True, exist_ok=True)
    items = [item.id for item in folder.items]
    other = next(value for value in gold.values() if value != gold[items[0]])
    rows = [
        LlmAnswerRow(model="stub", item_id=item, task=task.name, run=run, mode="ranking", status="ok",
               value=other if run and item == items[0] else gold[item])
        for run in range(2) for item in items
    ]  # fmt: skip
    file.write_text("".join(row.model_dump_json() + "\n" for row in rows))
    (found,) = divide_study_tasks(folder)
    assert found.why[items[0]] == "disagree"
    assert found.count_items_people_can_skip + sum(why in ("check", "disagree") for why in found.why.values()) == len(
        items
    )
    assert found.contradicted is not None
    write_hybrid_answers(tmp_path / "hybrid.jsonl", [found])
    assert len((tmp_path / "hybrid.jsonl").read_text("utf-8").splitlines()) == len(items)
    assert found.scripts == ()
    # The same answers of scripts are nobody's: they may have read the gold.
    simulated = scored_study(tmp_path / "simulated", families=("classification",), kind="simulated")
    shutil.copytree(file.parent, simulated / file.parent.name)
    (alone,) = divide_study_tasks(read_study(simulated))
    assert alone.contradicted is None
    assert len(alone.open) == len(items) - alone.count_items_people_can_skip
    assert alone.scripts == make_records_of_tasks_divided_with_llm([alone])[0].scripts == tuple(sorted(PEOPLE))
    told = " ".join(
        str(block) for block in view_items_divided_between_llm_people(make_records_of_tasks_divided_with_llm([alone]))
    )
    assert all(name in told for name in PEOPLE), "it is said whose answers do not count"
    with pytest.raises(UsageError, match="'other'"):
        divide_study_tasks(folder, "other")
    # The record of it is that of the terminal, and with a scoring comes to the run's page.
    write_tasks_divided_with_llm(path, make_records_of_tasks_divided_with_llm([found]))
    (row,) = read_tasks_divided_with_llm(path)
    assert (row.llm, row.items, row.open, sum(row.counts.values())) == ("stub", len(items), len(found.open), len(items))
    assert row.contradicted.value == found.contradicted.value
    run = score(path, out=tmp_path / "run", tokenizer="words", resamples=20)
    assert read_tasks_divided_with_llm(run.path) == (row,)


def _let_answer(path: Path, task: str) -> None:
    """A model that answers a task with its gold."""
    folder = read_study(path)
    gold = folder.gold(task)
    file = llm_answer_path(path, "stub", "ranking")
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        LlmAnswerRow(model="stub", item_id=item, task=task, run=0, mode="ranking", status="ok", value=value)
        for item, value in gold.items()
    ]
    file.write_text("".join(row.model_dump_json() + "\n" for row in rows))


def test_people_keep_the_tasks_on_which_they_agree(tmp_path: Path) -> None:
    """Of every family; where they don't agree the model has the task, if it answered."""
    agreed = decide_task_owners(read_study(scored_study(tmp_path / "alike", people={"ann": 0.0, "bob": 0.0})))
    assert {task.family for task in agreed} == {"classification", "clustering", "reranking", "sts"}
    assert {(task.owner, task.trust) for task in agreed} == {("people", "high")}
    assert [task.agreement for task in agreed] == pytest.approx([1.0] * 4)
    path = scored_study(tmp_path / "apart", people={"ann": 0.9, "bob": 0.9})
    _let_answer(path, "topic")
    apart = {task.task: task for task in decide_task_owners(read_study(path))}
    assert {name for name, task in apart.items() if task.owner == "model"} == {"topic"}
    assert all(task.trust != "high" for task in apart.values())
    assert apart["pairs"].reason.endswith("no model has answered")
    told = " ".join(str(block) for block in task_owners_view(list(apart.values())))
    assert f"People keep {len(apart) - 1} of {len(apart)} tasks" in told


def test_agreement_that_nobody_knows_gives_nothing_away(tmp_path: Path) -> None:
    """One person cannot agree, scripts are no people, and a model alone decides nothing."""
    path = scored_study(tmp_path / "alone", families=("classification",), people={"ann": 0.9})
    _let_answer(path, "topic")
    (task,) = decide_task_owners(read_study(path))
    assert (task.owner, task.trust, task.agreement) == ("people", None, None)
    assert task.reason == "agreement is unknown: only one person has answered"
    scripts = scored_study(tmp_path / "scripts", families=("classification",), kind="simulated")
    with pytest.raises(UsageError, match="Nobody has answered"):
        decide_task_owners(read_study(scripts))
