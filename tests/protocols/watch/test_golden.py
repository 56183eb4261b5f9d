"""The labels of a golden set under another judge: drawn, read, and worked out by hand; intervals hold the truth."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.rag.golden.summary import GoldenRunRecord, GoldenRunSettings, write_golden_record
from embassay.protocols.watch.fingerprint import (
    Base64NumberArray,
    FingerprintItem,
    SystemAnswerFingerprint,
    read_fingerprint,
)
from embassay.protocols.watch.impact import measure_golden_effect
from embassay.protocols.watch.options import FingerprintRequest, OwnTextsAndQuestionsOptions
from embassay.protocols.watch.own import GoldenSetSample, GradedQuestion, sample_golden_set_for_judge

JUDGE = "openai:judge"


def write_run(folder: Path, grades: dict[str, list[int | None]], judge_question: str = "original") -> Path:
    """A run of `rag golden` as far as a watch reads it."""
    (folder / "export").mkdir(parents=True)
    settings = GoldenRunSettings(
        "c", "q", "e", "identity", f"{JUDGE}?temperature=0.5", "bayes", 1,
        parameters={"S4": {"judge_question": judge_question}}
    )  # fmt: skip
    write_golden_record(folder / "golden.json", GoldenRunRecord(settings, ()))
    rows = [
        {"query_id": key, "question": f"asked {key}", "rewrite": f"rewritten {key}", "doc_id": f"d{n}", "grade": grade,
         "text": f"{key} passage {n}"}
        for key, of_question in grades.items()
        for n, grade in enumerate(of_question)
    ]  # fmt: skip
    (folder / "export" / "golden.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def make_fingerprint(golden: GoldenSetSample, first: np.ndarray) -> SystemAnswerFingerprint:
    """Of a judge that gave the grades `first` (q, width) when it was recorded."""
    items = golden.items()
    return SystemAnswerFingerprint(
        "judge", JUDGE, "judge/1", 1, 1, first.shape[1], None, None, 0, "words", items, Base64NumberArray.of(first),
        Base64NumberArray.of(np.zeros((len(items), 1))), {}, golden=golden.labels(items, first.shape[1])
    )  # fmt: skip


def test_a_golden_set_is_drawn_and_read(tmp_path: Path) -> None:
    """Ten passages of a question at most; ungraded ones are not asked for; the judge reads what it read then."""
    grades: dict[str, list[int | None]] = {"a": [5, None, 1], "b": [3] * 25, "c": [None]}
    folder = write_run(tmp_path / "run", grades)
    read = sample_golden_set_for_judge(FingerprintRequest(judge=f"{JUDGE}?base_url=http://x/v1", golden=str(folder)))
    assert read is not None
    assert (read.questions, read.passages, read.name) == (2, 27, "run")
    first, second = sorted(read.drawn, key=lambda one: one.id)
    assert (first.text, first.passages, first.grades) == ("asked a", ("a passage 0", "a passage 2"), (5, 1))
    assert len(second.passages) == 10
    rewritten = write_run(tmp_path / "rewritten", grades, "rewrite")
    other = sample_golden_set_for_judge(
        FingerprintRequest(judge=JUDGE, golden=str(rewritten), own=OwnTextsAndQuestionsOptions(questions=1))
    )
    assert other is not None
    assert len(other.drawn) == 1
    assert other.drawn[0].text.startswith("rewritten")


def test_what_is_no_golden_set_of_this_judge_is_refused(tmp_path: Path) -> None:
    """Another judge, no folder, a grade of 7 with its line's file, a system in place of a judge, two corpora."""
    folder = write_run(tmp_path / "run", {"a": [5]})
    with pytest.raises(UsageError, match="graded by openai:judge"):
        sample_golden_set_for_judge(FingerprintRequest(judge="openai:other", golden=str(folder)))
    with pytest.raises(DataError, match=r"golden\.json"):
        sample_golden_set_for_judge(FingerprintRequest(judge=JUDGE, golden=str(tmp_path / "none")))
    with pytest.raises(DataError, match="grade 7"):
        sample_golden_set_for_judge(
            FingerprintRequest(judge=JUDGE, golden=str(write_run(tmp_path / "bad", {"a": [7]})))
        )
    with pytest.raises(DataError, match="no graded passages"):
        sample_golden_set_for_judge(
            FingerprintRequest(judge=JUDGE, golden=str(write_run(tmp_path / "empty", {"a": [None]})))
        )
    with pytest.raises(UsageError, match="--golden"):
        FingerprintRequest(system="minilm", golden=str(folder))
    with pytest.raises(UsageError, match="not both"):
        FingerprintRequest(judge=JUDGE, golden=str(folder), own=OwnTextsAndQuestionsOptions(corpus="sample"))


def test_labels_that_turned_are_worked_by_hand(tmp_path: Path) -> None:
    """Two questions: golden labels (relevant or not) against the judge when recorded and now, in the mean of both."""
    drawn = (GradedQuestion("a", "a", ("1", "2", "3", "4"), (5, 4, 2, 1)), GradedQuestion("b", "b", ("1", "2"), (1, 1)))
    golden = GoldenSetSample("g", drawn, 9, 80)
    # Of a one label was another when recorded (4 -> 3), of b none; now 4 of 4, and 1 of 2.
    first = np.array([[5, 3, 2, 1], [1, 2, 0, 0]], dtype=np.float32)
    now = np.array([[3, 3, 4, 5], [4, 1, 0, 0]], dtype=np.float32)
    fingerprint = make_fingerprint(golden, first)
    effect = measure_golden_effect(fingerprint, (0, 1), now)
    assert effect is not None
    assert effect.then.value == pytest.approx((1 / 4 + 0) / 2)
    assert effect.now.value == pytest.approx((1 + 1 / 2) / 2)
    assert effect.change.value == pytest.approx((3 / 4 + 1 / 2) / 2)
    # Relevant in the golden set: 2 of 4 and none; now 2 of 4 and 1 of 2.
    assert effect.relevant.value == pytest.approx((0 + 1 / 2) / 2)
    assert (effect.questions, effect.of_questions, effect.passages, effect.of_passages) == (2, 9, 6, 80)
    only = measure_golden_effect(fingerprint, (1,), now[1:])
    assert only is not None
    assert only.questions == 1
    assert only.now.value == 0.5
    assert measure_golden_effect(fingerprint, (), now[:0]) is None
    fingerprint.save(tmp_path / "f.json")
    assert read_fingerprint(tmp_path / "f.json") == fingerprint


def test_labels_that_no_judge_gave_are_refused(tmp_path: Path) -> None:
    """A grade of 6, and a row that no item has: an edited file."""
    golden = GoldenSetSample("g", (GradedQuestion("a", "a", ("1",), (5,)),), 1, 1)
    fingerprint = make_fingerprint(golden, np.array([[5]], dtype=np.float32))
    assert fingerprint.golden is not None
    for change in ({"grades": Base64NumberArray.of(np.array([[6]]), "i4")}, {"rows": (3,)}):
        replace(fingerprint, golden=replace(fingerprint.golden, **change)).save(tmp_path / "f.json")
        with pytest.raises(DataError, match="golden"):
            read_fingerprint(tmp_path / "f.json")


def test_fingerprints_without_a_golden_set_keep_their_digest() -> None:
    """The history of a fingerprint names it by its digest, which an added field must not change."""
    item = FingerprintItem("a", "golden", "a", "query", others=("1",))
    values = Base64NumberArray.of(np.ones((1, 1)))
    plain = SystemAnswerFingerprint("judge", JUDGE, "i", 1, 1, 1, None, None, 0, "words", (item,), values, values, {})
    assert "golden" not in plain.as_dict()


def test_intervals_hold_the_share_of_the_whole_golden_set() -> None:
    """Questions of unlike pools and a change that hits some questions more: of 400 draws of 40 of 300 questions, at
    least 92% of the intervals hold what all passages say."""
    rng = np.random.default_rng(5)
    sizes = rng.integers(12, 60, 300)
    graded = [rng.integers(1, 6, size) for size in sizes]
    risk = rng.beta(0.5, 2.0, 300)
    now = [np.where(rng.random(len(g)) < p, 6 - g, g) for g, p in zip(graded, risk, strict=True)]
    true = np.mean([np.mean((a >= 4) != (b >= 4)) for a, b in zip(graded, now, strict=True)])
    hits = 0
    for _ in range(400):
        chosen = rng.permutation(300)[:40]
        places = [rng.permutation(sizes[row])[:10] for row in chosen]
        drawn = tuple(
            GradedQuestion(str(row), "q", ("p",) * 10, tuple(map(int, graded[row][at])))
            for row, at in zip(chosen, places, strict=True)
        )
        golden = GoldenSetSample("g", drawn, 300, int(sizes.sum()))
        first = np.array([one.grades for one in drawn], dtype=np.float32)
        told = np.array([now[row][at] for row, at in zip(chosen, places, strict=True)], dtype=np.float32)
        effect = measure_golden_effect(make_fingerprint(golden, first), range(40), told)
        assert effect is not None
        hits += effect.now.low <= true <= effect.now.high
    assert hits / 400 >= 0.92
