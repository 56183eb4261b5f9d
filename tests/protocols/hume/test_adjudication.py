"""What people disagree on, in order and without names, and the gold that comes of deciding it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from embassay.data import open_dataset
from embassay.errors import UsageError
from embassay.protocols import hume, pteb
from embassay.protocols.hume.adjudication import correct_gold_by_adjudication, export_gold, list_disputed_items
from embassay.protocols.hume.collection import read_answers_of_files_and_store
from embassay.protocols.hume.options import GoldKind
from embassay.protocols.hume.store import AnswerStore, SubmittedAnswer, open_answer_store, stored_annotations
from embassay.protocols.hume.study import Family, StudyFolder, read_study
from hume_small import small_study


class Case:
    """A study of one task with a store, and people whose answers are gold unless they are given others."""

    def __init__(self, path: Path, family: Family, n: int = 6) -> None:
        self.folder: StudyFolder = read_study(small_study(path, n, families=(family,)))
        self.task = self.folder.study.tasks[0]
        self.gold = self.folder.gold(self.task.name)
        self.items = list(self.gold)
        self.store: AnswerStore = open_answer_store(self.folder)
        self.seq = 0

    def say(self, who: str, item: str, value: Any, flag: str = "", comment: str = "", kind: str = "person") -> None:
        self.store.add_annotator(who, kind)  # type: ignore[arg-type]
        self.seq += 1
        draft = SubmittedAnswer(item, value, self.seq, 1.0, flag, comment, "t")
        self.store.save(who, self.task.name, draft)

    def annotate(self, who: str, **others: Any) -> None:
        """All items; `i2=0` says 0 of the third."""
        for place, item in enumerate(self.items):
            self.say(who, item, others.get(f"i{place}", self.plain(item)))

    def plain(self, item: str) -> Any:
        gold = self.gold[item]
        return [int(grade > 0) for grade in gold] if isinstance(gold, tuple) else gold

    def decide(self, place: int, value: Any, flag: str = "", comment: str = "", who: str = "judy") -> None:
        self.say(who, self.items[place], value, flag, comment, "adjudicator")

    def disputes(self) -> list[Any]:
        return list(list_disputed_items(self.folder, self.task, read_answers_of_files_and_store(self.folder)))

    def corrections(self, kind: GoldKind = "adjudicated") -> dict[int, Any]:
        made = self.store.list_adjudicator_decisions()
        found = correct_gold_by_adjudication(
            self.folder, self.task, self.gold, read_answers_of_files_and_store(self.folder), made, kind
        )
        return {self.items.index(one.item): one for one in found}


def _other(case: Case, place: int, by: int = 1) -> int:
    return int((case.gold[case.items[place]] + by) % 3)


@pytest.fixture
def mood(tmp_path: Path) -> Case:
    """Three people on six labels: the first undisputed, the second two to one, the third one each, one unreadable."""
    case = Case(tmp_path / "study", "classification")
    case.annotate("ann")
    case.annotate("bob", i1=_other(case, 1), i2=_other(case, 2))
    case.annotate("eve", i2=_other(case, 2, 2))
    case.say("eve", case.items[3], None, "cut off", "no end")
    return case


def test_the_farthest_apart_come_first_and_names_nowhere(mood: Case) -> None:
    """Three labels before two to one; an item that somebody could not judge is disputed too."""
    found = mood.disputes()
    assert [mood.items.index(one.item) for one in found] == [2, 1, 3]
    assert [round(one.apart, 3) for one in found] == [1.0, 0.667, 0.667]
    assert (found[2].refused, found[2].remarks) == (1, ("cut off", "no end"))
    assert [value for _, value in found[0].given] == [0, 1, 2]
    assert not any(name in repr(found) for name in ("ann", "bob", "eve"))


def test_decisions_are_no_annotations(mood: Case) -> None:
    """Neither score, agreement, export nor disputes count them."""
    before = (
        mood.disputes(),
        read_answers_of_files_and_store(mood.folder),
        stored_annotations(mood.store),
        mood.store.annotators(),
    )
    mood.decide(2, 1)
    after = (
        mood.disputes(),
        read_answers_of_files_and_store(mood.folder),
        stored_annotations(mood.store),
        mood.store.annotators(),
    )
    assert after == before
    assert [one.id for one in mood.store.list_adjudicators()] == ["judy"]
    with pytest.raises(UsageError, match="judy is already an adjudicator"):
        mood.store.add_annotator("judy")


def test_gold_after_decisions(mood: Case) -> None:
    """Changed, kept, left out with the reason; what nobody disputes or has decided stays."""
    mood.decide(1, _other(mood, 1), comment="the guidelines say so")
    mood.decide(3, None, "cut off")
    found = mood.corrections()
    assert {place: one.why for place, one in found.items()} == {
        0: "undisputed", 1: "changed", 2: "open", 3: "left out", 4: "undisputed", 5: "undisputed",
    }  # fmt: skip
    assert (found[1].after, found[1].reasons) == (_other(mood, 1), ("the guidelines say so",))
    assert found[3].after is None
    assert found[2].after == mood.gold[mood.items[2]]
    mood.decide(2, mood.gold[mood.items[2]])
    assert mood.corrections()[2].why == "kept"
    assert {one.why for one in mood.corrections("original").values()} == {"undisputed"}


def test_adjudicators_who_disagree_decide_nothing(mood: Case) -> None:
    """The item's gold stays, and is said to be split; of one mind they do."""
    mood.decide(2, _other(mood, 2))
    mood.decide(2, _other(mood, 2, 2), who="kim")
    assert mood.corrections()[2].why == "split"
    mood.decide(2, _other(mood, 2), who="kim")
    assert mood.corrections()[2].why == "changed"


def test_what_all_people_say_against_gold(tmp_path: Path) -> None:
    """Is counted, and believed where it is asked for."""
    case = Case(tmp_path / "study", "classification")
    case.annotate("ann", i0=_other(case, 0))
    case.annotate("bob", i0=_other(case, 0))
    assert case.disputes() == []
    assert (case.corrections()[0].why, case.corrections()[0].after) == ("contradicted", case.gold[case.items[0]])
    found = case.corrections("consensus")[0]
    assert (found.why, found.after) == ("consensus", _other(case, 0))


def test_scripts_that_answer_are_no_people(tmp_path: Path) -> None:
    """A dispute says so where no person answered the item."""
    case = Case(tmp_path / "study", "classification")
    case.annotate("one")
    case.annotate("two", i0=_other(case, 0), i1=_other(case, 1))
    rows = [row.model_copy(update={"kind": "simulated"}) for row in read_answers_of_files_and_store(case.folder)]
    assert [one.simulated for one in list_disputed_items(case.folder, case.task, rows)] == [True, True]
    rows = [
        row.model_copy(update={"kind": "person"}) if (row.annotator_id, row.item_id) == ("one", case.items[0]) else row
        for row in rows
    ]
    found = {one.item: one.simulated for one in list_disputed_items(case.folder, case.task, rows)}
    assert found == {case.items[0]: False, case.items[1]: True}


def test_marks_that_say_what_grades_say_keep_the_grades(tmp_path: Path) -> None:
    """Others become grades of 0 and 1; a query without a relevant document has no gold."""
    case = Case(tmp_path / "study", "reranking")
    case.annotate("ann")
    case.annotate("bob", i0=[1] * 7, i1=[1] * 7, i2=[1] * 7)
    case.decide(0, case.plain(case.items[0]))
    case.decide(1, [1] * 7)
    case.decide(2, [0] * 7)
    found = case.corrections()
    assert (found[0].why, found[0].after) == ("kept", case.gold[case.items[0]])
    assert (found[1].why, found[1].after) == ("changed", (1,) * 7)
    assert (found[2].why, found[2].after) == ("left out", None)


def test_groups_are_decided_as_one(tmp_path: Path) -> None:
    """All texts are to sort; until they are, gold stays; names of groups do not count."""
    case = Case(tmp_path / "study", "clustering")
    case.annotate("ann")
    case.annotate("bob", i0="topic 1")
    assert len(case.disputes()) == 6
    assert {letter for one in case.disputes() for letter, _ in one.given} == {"A", "B"}
    for place, item in enumerate(case.items[:5]):
        case.decide(place, f"{case.gold[item][-1]} mine")
    assert {one.why for one in case.corrections().values()} == {"open"}
    case.decide(5, "2 mine")
    assert {one.why for one in case.corrections().values()} == {"kept"}
    case.decide(5, "9 alone")
    assert {place: one.why for place, one in case.corrections().items() if one.why == "changed"} == {
        2: "changed", 5: "changed"
    }  # fmt: skip


@pytest.mark.parametrize("family", ["classification", "clustering", "reranking", "sts"])
def test_every_run_reads_the_gold(tmp_path: Path, family: Family) -> None:
    """As a dataset, and as a study that is scored with people's answers; nothing names who answered or decided."""
    case = Case(tmp_path / "study", family, 8)
    wrong = {"classification": _other(case, 0) if family == "classification" else 0, "clustering": "topic 2",
             "reranking": [1, 1, 1, 1, 1, 1, 0], "sts": 0.0}[family]  # fmt: skip
    case.annotate("ann")
    case.annotate("bob", i0=wrong)
    for place in range(8) if family == "clustering" else (0,):
        case.decide(place, case.plain(case.items[place]) if place else wrong, comment="because")
    case.store.close()
    done = export_gold(case.folder.path, "adjudicated", tmp_path / "gold", answers=True)
    assert done.counts[case.task.name]["changed"] > 0
    data = tmp_path / "gold" / "data" / f"{case.task.name}.jsonl"
    shape = {"sts": "pairs", "reranking": "reranking"}.get(family, "labelled")
    assert len(open_dataset(str(data)).load(shape).data) == 8
    run = hume.score(tmp_path / "gold", out=tmp_path / "run", tokenizer="words", resamples=20)
    (pair,) = hume.read_summary(run.path).pairs
    assert {one.id for one in pair.annotators} == {"ann", "bob"}
    told = [json.loads(line) for line in (tmp_path / "gold" / "corrections.jsonl").read_text().splitlines()]
    assert [one["why"] for one in told].count("changed") == done.counts[case.task.name]["changed"]
    assert "because" in told[0]["reasons"]
    for name in ("corrections.jsonl", "gold.jsonl", "items.jsonl", "study.json", f"data/{case.task.name}.jsonl"):
        text = (tmp_path / "gold" / name).read_text()
        assert not any(f'"{who}"' in text for who in ("ann", "bob", "judy"))


def test_a_task_of_pteb_on_decided_ratings(tmp_path: Path) -> None:
    """The exported dataset with another protocol's run."""
    case = Case(tmp_path / "study", "sts", 8)
    case.annotate("ann")
    case.annotate("bob", i0=0.0)
    case.decide(0, 5.0)
    case.store.close()
    export_gold(case.folder.path, "adjudicated", tmp_path / "gold")
    data = str(tmp_path / "gold" / "data" / "pairs.jsonl")
    run = pteb.run(
        ["jaccard"],
        datasets=[data],
        tasks=["sts"],
        paraphraser="copied",
        runs=1,
        tokenizer="words",
        out=tmp_path / "run",
    )
    assert run.results.filter(run.results["measure"] == "spearman").height > 0


def test_what_cannot_be_exported(mood: Case, tmp_path: Path) -> None:
    """Another kind, the study's own folder, a folder of another study, and a study of which nothing is left."""
    path = mood.folder.path
    with pytest.raises(UsageError, match="kind of gold"):
        export_gold(path, "pure", tmp_path / "x")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="is the study's own folder"):
        export_gold(path, "original", path)
    export_gold(path, "original", tmp_path / "gold")
    mood.decide(2, 1)
    with pytest.raises(UsageError, match="contains another study"):
        export_gold(path, "adjudicated", tmp_path / "gold")
    for place in range(6):
        mood.decide(place, None, "broken")
    with pytest.raises(UsageError, match="No items are left"):
        export_gold(path, "adjudicated", tmp_path / "none")
