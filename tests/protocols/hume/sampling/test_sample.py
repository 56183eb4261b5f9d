"""A whole study drawn from data: what is in which file, and what is said."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from embassay.errors import DataError, EmbassayError, UsageError
from embassay.protocols.hume.sampling import (
    SampledStudy,
    StudySampleRequest,
    TaskSampleRequest,
    describe_task_item_defects,
    draw_study,
)
from embassay.protocols.hume.sampling.protocol import sample_study
from embassay.protocols.hume.study import read_study, write_study


def _sample(*tasks: TaskSampleRequest, seed: int = 7, limit: int | None = None) -> SampledStudy:
    return draw_study(StudySampleRequest(name="own", seed=seed, tasks=list(tasks)), limit=limit)


def _four(labelled: Path, pairs: Path, retrieval: Path) -> list[TaskSampleRequest]:
    return [
        TaskSampleRequest(data=str(labelled), family=["classification"], name="topics", n=16),
        TaskSampleRequest(data=str(labelled), family=["clustering"], name="groups", n=30),
        TaskSampleRequest(data=str(pairs), family=["sts"], name="pairs", n=10, lang=["dan"]),
        TaskSampleRequest(data=str(retrieval), family=["reranking"], name="notes", n=6),
    ]  # fmt: skip


def test_four_families_in_one_study(labelled: Path, pairs: Path, retrieval: Path, tmp_path: Path) -> None:
    """Sizes by the rules, ids that tell nothing, gold in the gold file only; the folder reads back."""
    drawn = _sample(*_four(labelled, pairs, retrieval))
    assert Counter(item.task for item in drawn.items) == {"topics": 16, "groups": 30, "pairs": 10, "notes": 6}
    folder = read_study(write_study(tmp_path / "study", drawn.study, drawn.items, drawn.gold))
    assert set(Counter(folder.gold("topics").values()).values()) == {2}
    assert sorted(Counter(folder.gold("groups").values()).values()) == [5] * 6
    assert all(len(marks) == 7 and 1 <= sum(marks) <= 3 for marks in folder.gold("notes").values())
    assert Counter(min(int(score / 0.8), 4) for score in folder.gold("pairs").values()) == dict.fromkeys(range(5), 2)
    assert [item.id for item in folder.select_task_items("notes")] == [f"notes-{k:03d}" for k in range(1, 7)]
    assert folder.task("pairs").lang == "dan"
    assert folder.task("pairs").source.lang == "da"


def test_nothing_of_the_gold_is_shown(labelled: Path, pairs: Path, retrieval: Path, tmp_path: Path) -> None:
    """Neither ids of the source nor labels, scores, numbers of groups or of relevant documents."""
    drawn = _sample(*_four(labelled, pairs, retrieval))
    out = write_study(tmp_path / "study", drawn.study, drawn.items, drawn.gold)
    shown, told = (out / "items.jsonl").read_text("utf-8"), (out / "study.json").read_text("utf-8")
    for row in drawn.gold:
        for source in (row.source_id, *row.documents):
            assert f'"{source}"' not in shown
            assert f'"{source}"' not in told
    assert {key for item in drawn.items for key in item.payload} == {"text", "text1", "text2", "query", "documents"}
    assert '"gold"' not in shown
    assert "defects" not in shown + told
    assert drawn.about_gold["groups"] == ("6 of 8 gold clusters",)
    assert not any(sign in " ".join(drawn.study.task("groups").notes) for sign in "68")
    order = [row.gold for row in drawn.gold if row.id.startswith("topics")]
    assert order != sorted(order), "items stand in the order of their labels"


def test_the_same_request_gives_the_same_study(labelled: Path, pairs: Path, retrieval: Path) -> None:
    """To the byte; another seed draws other items under another hash."""
    tasks = _four(labelled, pairs, retrieval)
    one, again, other = _sample(*tasks), _sample(*tasks), _sample(*tasks, seed=8)
    assert one == again
    assert one.study.content != other.study.content
    assert {row.source_id for row in one.gold} != {row.source_id for row in other.gold}
    assert [task.source.drawn_from for task in one.study.tasks] == ["test", "test", "", ""]
    alone = _sample(tasks[2])
    assert [row.gold for row in alone.gold] == [row.gold for row in one.gold if row.id.startswith("pairs")]


def test_leaked_repeated_and_contradicted_texts(labelled: Path, tmp_path: Path) -> None:
    """All texts on bees are in the training rows; a text of two labels and a repeated one are never asked."""
    task = TaskSampleRequest(data=str(labelled), family=["classification"], name="topics", n=88)
    drawn = _sample(task)
    rows = {row.source_id: row for row in drawn.gold}
    assert {key for key, row in rows.items() if row.defects} == {key for key in rows if key.startswith("bees")}
    assert not {"glass-test-0", "tides-test-0", "wool-test-1"} & set(rows)
    notes = drawn.study.tasks[0].notes
    assert "11 of 88 items also in the training data" in notes
    assert "1 text with several labels left out" in notes
    assert "2 repeated texts left out" in notes
    folder = read_study(write_study(tmp_path / "study", drawn.study, drawn.items, drawn.gold))
    assert describe_task_item_defects(folder, "topics") == ("11 of 88 items also in the training data",)
    clean = _sample(task.model_copy(update={"drop_leaked": True, "n": 21}))
    assert not any(row.source_id.startswith("bees") for row in clean.gold)
    assert len(clean.study.tasks[0].labels) == 8
    assert "12 texts left out because of overlap with the training data" in clean.study.tasks[0].notes


def test_practice_is_apart(labelled: Path, pairs: Path, retrieval: Path) -> None:
    """No text that is asked, in no family; the answer is on the scale, one of the labels, or as long as the texts."""
    drawn = _sample(*_four(labelled, pairs, retrieval))
    for task in drawn.study.tasks:
        asked = [item.payload for item in drawn.items if item.task == task.name]
        assert len(task.practice) == (1 if task.family == "clustering" else 3)
        assert all(one.explanation and one.payload not in asked for one in task.practice)
    topics, groups, rated, notes = (task.practice for task in drawn.study.tasks)
    assert {one.answer for one in topics} <= {label.value for label in drawn.study.tasks[0].labels}
    practised, texts = set(groups[0].payload["texts"]), {row.payload.get("text") for row in drawn.items}
    assert len(groups[0].answer) == 6
    assert not practised & texts
    assert not {word for text in practised for word in text.split()} & {
        str(row.gold) for row in drawn.gold if row.id.startswith("groups")
    }, "practice shows a topic of the study"
    assert sorted(one.answer for one in rated) == [0.0, 3.0, 4.0]
    assert all(len(one.answer) == 4 == len(one.payload["documents"]) for one in notes)


def test_languages_are_tasks(pairs: Path) -> None:
    """A task for each language, by ISO 639-3; one that is not there is named."""
    drawn = _sample(TaskSampleRequest(data=str(pairs), n=10))
    assert [(task.name, task.lang) for task in drawn.study.tasks] == [("pairs-dan", "dan"), ("pairs-ara", "ara")]
    with pytest.raises(UsageError, match=r"no items in fin") as caught:
        _sample(TaskSampleRequest(data=str(pairs), lang=["fi", "da"]))
    assert "dan, ara" in str(caught.value.mend)


def test_data_that_state_no_language(retrieval: Path) -> None:
    """It is what the request says, else undetermined."""
    assert _sample(TaskSampleRequest(data=str(retrieval), n=4)).study.tasks[0].lang == "und"
    assert _sample(TaskSampleRequest(data=str(retrieval), n=4, lang=["sv"])).study.tasks[0].lang == "swe"


def test_the_sample_data_have_all_families() -> None:
    """Two languages in the order of the data, `limit` a cap on every task; too few French texts for one of them."""
    drawn = _sample(TaskSampleRequest(data="sample", n=12), limit=8)
    families = ("classification", "clustering", "reranking", "sts")
    names = [f"sample-{family}-{lang}" for family in families for lang in ("eng", "fra")]
    assert [task.name for task in drawn.study.tasks] == [one for one in names if one != "sample-clustering-fra"]
    assert drawn.left_out == ("sample-clustering-fra: 6 items in 6 gold clusters are too few to group.",)
    assert all(task.n <= 8 for task in drawn.study.tasks)
    said = {task.name: task.notes for task in drawn.study.tasks}
    assert said["sample-reranking-eng"] == said["sample-sts-eng"] == []
    assert said["sample-reranking-fra"] == ["only 6 of 8 items available"]
    with pytest.raises(DataError, match="too few to group"):
        _sample(TaskSampleRequest(data="sample", n=12, family=["clustering"]))


def test_own_words(labelled: Path, pairs: Path) -> None:
    """Labels, question, guidelines and scale as given; the version changes with any word of them."""
    told = {"bees": {"name": "Bees!", "description": "Anything with hives."}, "rain": {"description": "Weather."}}
    task = TaskSampleRequest.model_validate(
        {"data": str(labelled), "family": "classification", "n": 16, "labels": told, "question": "Which?"}
    )
    drawn, plain = _sample(task), _sample(task.model_copy(update={"labels": {}}))
    shown = drawn.study.tasks[0]
    assert shown.question == "Which?"
    assert shown.labels[0].name == "Bees!"
    assert "- **Bees!**: Anything with hives." in shown.guidelines
    assert "- **wool**\n" in shown.guidelines
    assert drawn.study.guidelines_version != plain.study.guidelines_version
    assert drawn.study.content == plain.study.content
    own = _sample(task.model_copy(update={"guidelines": "# Mine $labels\n"}))
    assert own.study.tasks[0].guidelines == "# Mine $labels\n"
    rated = _sample(
        TaskSampleRequest.model_validate({"data": str(pairs), "n": 10, "lang": "da", "scale": {"high": 4, "step": 0.5}})
    )
    scale = rated.study.tasks[0].scale
    assert scale is not None
    assert set(scale.anchors) == {"0", "4"}
    assert "from 0 to 4" in rated.study.tasks[0].guidelines
    usual = _sample(TaskSampleRequest(data=str(pairs), n=10, lang=["da"])).study.tasks[0]
    assert usual.scale is not None
    assert len(usual.scale.anchors) == 6
    assert "gold scores run from 0 to 4, ratings from 0 to 5" in usual.notes


@pytest.mark.parametrize(
    ("data", "more", "said"),
    [
        ("labelled", {"family": ["sts"]}, "cannot be sampled for sts: it has no text2, score"),
        ("pairs", {"family": ["reranking"]}, "cannot be sampled for reranking: it has no query, label"),
        ("retrieval", {"candidates": 60, "relevant": 3}, "Nothing in notes can be sampled"),
        ("retrieval", {"negatives": "lists"}, "no data for any HUME family"),
        ("labelled", {"family": ["clustering"], "n": 2}, "too few to group"),
        ("pairs", {"map": {"tekst": "text"}}, "No task reads a column"),
    ],
)
def test_data_that_cannot_serve(data: str, more: dict[str, object], said: str, request: pytest.FixtureRequest) -> None:
    """One sentence that names the data and what they lack."""
    task = TaskSampleRequest.model_validate({"data": str(request.getfixturevalue(data)), **more})
    with pytest.raises(EmbassayError, match=said):
        _sample(task)


def test_two_tasks_of_one_name(pairs: Path) -> None:
    """They would share the ids of their items."""
    task = TaskSampleRequest(data=str(pairs), lang=["dan"], n=5)
    with pytest.raises(UsageError, match="Two tasks are called pairs"):
        _sample(task, task)


def test_another_study_is_not_overwritten(pairs: Path, tmp_path: Path) -> None:
    """The same one may be written again; people may have answered the one that is there."""
    one, other = (_sample(TaskSampleRequest(data=str(pairs), n=n, lang=["dan"])) for n in (5, 6))
    write_study(tmp_path / "s", one.study, one.items, one.gold)
    write_study(tmp_path / "s", one.study, one.items, one.gold)
    with pytest.raises(UsageError, match="contains another study"):
        write_study(tmp_path / "s", other.study, other.items, other.gold)
    assert len(read_study(tmp_path / "s").items) == 5


def test_fewer_pairs_than_asked_for(pairs: Path) -> None:
    """All that there are, and it is said."""
    task = _sample(TaskSampleRequest(data=str(pairs), n=50, lang=["dan"])).study.tasks[0]
    assert task.n == 30
    assert "only 30 of 50 items available" in task.notes


def test_the_catalogue_says_which_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_file) -> None:
    """A published sample of HUME is drawn for its own family only, and taken whole: 48 items, 8 of each label."""
    folder = tmp_path / "mirror" / "hume-emotion"
    folder.mkdir(parents=True)
    for split, each in (("train", 20), ("test", 8)):
        rows = [
            {"text": f"{split} feeling {label} number {k}", "label": label} for label in range(6) for k in range(each)
        ]
        rows_file(folder / f"{split}.jsonl", rows)
    monkeypatch.setenv("EMBASSAY_DATA", str(tmp_path / "mirror"))
    drawn = _sample(TaskSampleRequest(data="hume-emotion", n=48))
    assert [(task.name, task.family, task.n) for task in drawn.study.tasks] == [("hume-emotion", "classification", 48)]
    assert [label.value for label in drawn.study.tasks[0].labels] == list("012345")
    assert drawn.study.tasks[0].notes == []


def test_long_texts_are_said(tmp_path: Path, rows_file) -> None:
    """People have to read them."""
    rows: list[dict[str, object]] = [
        {"text": f"{k} " + "words " * (1000 if k < 4 else 3), "label": "ab"[k % 2]} for k in range(8)
    ]
    data = rows_file(tmp_path / "long.jsonl", rows)
    drawn = _sample(TaskSampleRequest(data=str(data), family=["classification"], n=8, practice=0))
    assert "4 items with a long text (over 5,000 characters)" in drawn.study.tasks[0].notes


def test_leaked_items_of_every_family_can_be_left_out(pairs: Path, retrieval: Path, tmp_path: Path, rows_file) -> None:
    """Pairs in either order, and queries, that other data have; nothing is left of data that are their own training."""
    seen = [{"text": f"DA SECOND {k}", "text2": f"da first {k}", "score": 1.0} for k in range(20)]
    other = rows_file(tmp_path / "seen.jsonl", seen)
    task = TaskSampleRequest(data=str(pairs), lang=["dan"], n=10, against=[str(other)])
    marked = _sample(task)
    numbers = {row.source_id: row.defects for row in marked.gold}
    assert all((["leaked"] if int(key[2:]) < 20 else []) == found for key, found in numbers.items())
    clean = _sample(task.model_copy(update={"drop_leaked": True}))
    assert {int(row.source_id[2:]) for row in clean.gold} == set(range(20, 30))
    own = TaskSampleRequest(data=str(retrieval), n=4, against=[str(retrieval)])
    assert "4 of 4 items also in the training data" in _sample(own).study.tasks[0].notes
    with pytest.raises(EmbassayError, match="all texts are also in the training data"):
        _sample(own.model_copy(update={"drop_leaked": True}))


def test_an_annotated_set_is_taken_whole(tmp_path: Path) -> None:
    """Every item as it is, repeated texts and contradictions with them; candidates in the order of the data."""
    pairs = tmp_path / "pairs.jsonl"
    rows = [{"text": "a b c", "text2": "a b", "score": n % 3} for n in range(7)]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    drawn = sample_study([pairs], whole=True)
    assert drawn.study.tasks[0].n == len(drawn.items) == 7
    ranked = tmp_path / "ranked.jsonl"
    texts = [f"document {n}" for n in range(9)]
    row = {"query": "which?", "positive": texts[7:], "negative": texts[:7]}
    ranked.write_text(json.dumps(row) + "\n" + json.dumps(row | {"query": "what?"}) + "\n")
    drawn = sample_study([ranked], whole=True)
    assert {len(one.payload["documents"]) for one in drawn.items} == {9}
    assert {sum(one.gold) for one in drawn.gold} == {2}


def test_whole_and_a_choice_do_not_go_together(tmp_path: Path) -> None:
    """`n`, `groups` and `drop_leaked` choose among items, of which whole takes every one."""
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"text": "a", "text2": "b", "score": 1}\n')
    with pytest.raises(UsageError, match="every item"):
        sample_study([path], whole=True, n=5)
