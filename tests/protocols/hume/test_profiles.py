"""What annotators say of themselves: asked only where a study asks, kept apart, told of groups of people alone."""

from __future__ import annotations

import sqlite3
import statistics
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from embassay.errors import DataError, UsageError
from embassay.protocols import hume
from embassay.protocols.hume.exchange.export import export
from embassay.protocols.hume.exchange.intake import import_files
from embassay.protocols.hume.profiles import (
    UNSAID,
    check_annotator_profile_answers,
    find_groups_too_small_to_show,
    list_annotator_profile_questions,
    read_annotator_profiles,
    scores_by_profile_table,
    write_annotator_profiles,
)
from embassay.protocols.hume.store import SubmittedAnswer, open_answer_store
from embassay.protocols.hume.study import StudyFolder, read_study
from hume_small import small_study


def _asking(path: Path, *questions: str) -> StudyFolder:
    """A study of one task of six labels that asks these."""
    folder = read_study(small_study(path, 6, families=("classification",)))
    text = folder.study.model_copy(update={"profile": list(questions)}).model_dump_json()
    (path / "study.json").write_text(text)
    return read_study(path)


def _answered(folder: StudyFolder, **levels: str) -> None:
    """People who answer all of it, each one more item wrongly, and say how well they read English."""
    store = open_answer_store(folder)
    gold = folder.gold("mood")
    for place, (name, level) in enumerate(levels.items()):
        store.add_annotator(name)
        for at, (item, label) in enumerate(gold.items()):
            store.save(name, "mood", SubmittedAnswer(item, (label + (at < place % 4)) % 3, at + 1, 2.0, tab="t"))
        store.save_profile_answers(name, {"language:eng": level} if level else {})
    store.close()


def _rows(folder: StudyFolder, scores: dict[str, float], smallest: int) -> dict[str, tuple[object, ...]]:
    pair = SimpleNamespace(
        family="classification", dataset="mood", lang="eng",
        annotators=[SimpleNamespace(id=name, score=score, items=6) for name, score in scores.items()],
    )  # fmt: skip
    table = scores_by_profile_table(folder.study, [pair], read_annotator_profiles(folder), smallest)  # type: ignore[list-item]
    return {str(row[4]): row[5:] for row in table.rows}


def test_nothing_is_asked_or_taken_that_the_study_does_not_ask(tmp_path: Path) -> None:
    """Of language once for each language; another question, and an answer that is none, are refused by name."""
    folder = _asking(tmp_path / "s", "language", "age")
    assert [one.key for one in list_annotator_profile_questions(folder.study)] == ["language:eng", "age"]
    assert check_annotator_profile_answers(folder.study, {"age": "25–34", "language:eng": ""}) == {
        "age": "25–34",
        "language:eng": "",
    }
    for wrong in ({"gender": "woman"}, {"age": "old"}, {"language:dan": "native"}):
        with pytest.raises(DataError):
            check_annotator_profile_answers(folder.study, wrong)
    plain = read_study(small_study(tmp_path / "plain", 6))
    assert (list_annotator_profile_questions(plain.study), read_annotator_profiles(plain)) == ((), {})


def test_a_study_that_asks_nothing_has_the_bytes_it_always_had(tmp_path: Path) -> None:
    """Neither of the fields that came later is written."""
    text = (small_study(tmp_path / "s", 6) / "study.json").read_text()
    assert "profile" not in text
    assert "groups" not in text


def test_a_store_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """Without the table of profiles, and without writing one."""
    folder = _asking(tmp_path / "s", "language")
    _answered(folder, ann="native")
    with sqlite3.connect(folder.path / "answers.sqlite3") as connection:
        connection.execute("DROP TABLE profiles")
    connection.close()
    before = (folder.path / "answers.sqlite3").read_bytes()
    assert read_annotator_profiles(folder) == {}
    assert (folder.path / "answers.sqlite3").read_bytes() == before


def test_an_answer_can_be_changed_and_taken_back(tmp_path: Path) -> None:
    """The last one holds, and an empty one is none."""
    folder = _asking(tmp_path / "s", "language", "age")
    store = open_answer_store(folder)
    store.add_annotator("ann")
    store.save_profile_answers("ann", {"language:eng": "good", "age": "25–34"})
    store.save_profile_answers("ann", {"language:eng": "native", "age": ""})
    store.close()
    assert read_annotator_profiles(folder) == {"ann": {"language:eng": "native"}}


def test_means_of_groups_with_students_interval(tmp_path: Path) -> None:
    """Over people, as scipy has it; those who said nothing are a group too."""
    folder = _asking(tmp_path / "s", "language")
    _answered(folder, a="native", b="native", c="native", d="", e="")
    scores = {"a": 0.5, "b": 0.7, "c": 0.9, "d": 0.4, "e": 0.6}
    found = _rows(folder, scores, 2)
    n, answers, mean, low, high, reason = found["native"]
    expected = student.interval(0.95, 2, loc=0.7, scale=statistics.stdev([0.5, 0.7, 0.9]) / 3**0.5)
    assert (n, answers, reason) == (3, 18, "")
    assert (mean, low, high) == pytest.approx((70, 100 * expected[0], 100 * expected[1]))
    assert found[UNSAID][:3] == (2, 12, pytest.approx(50))


def test_small_groups_are_withheld_and_cannot_be_reckoned(tmp_path: Path) -> None:
    """One person's group takes the next smallest with it: else the total would tell of them."""
    folder = _asking(tmp_path / "s", "language")
    levels = dict.fromkeys("abcde", "native") | dict.fromkeys("fgh", "good") | {"i": "basic"}
    _answered(folder, **levels)
    found = _rows(folder, dict.fromkeys(levels, 0.5), 3)
    assert set(found) == {"native", "withheld"}
    assert found["withheld"][:5] == (4, 24, None, None, None)


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 12)), st.integers(2, 6))
def test_what_is_withheld_is_never_one_group_beside_others(sizes: dict[str, int], smallest: int) -> None:
    """Every group that is too small is in it, and it is alone only where there is no other."""
    hidden = find_groups_too_small_to_show(sizes, smallest)
    assert {name for name, n in sizes.items() if n < smallest} <= set(hidden)
    assert len(hidden) != 1 or len(sizes) == 1


def test_profiles_are_in_no_file_that_did_not_ask_for_them(tmp_path: Path) -> None:
    """Nor in the record, rows and tables of a run but the one by group; asked for, they go out and come back."""
    folder = _asking(tmp_path / "s", "language")
    _answered(folder, **dict.fromkeys("abcdef", "near-native"))
    export(folder.path, "jsonl", tmp_path / "plain.jsonl")
    export(folder.path, "csv", tmp_path / "plain.csv")
    run = hume.score(folder.path, out=tmp_path / "run", tokenizer="words", resamples=20)
    told = [path for path in run.path.rglob("*") if path.is_file() and b"near-native" in path.read_bytes()]
    assert {path.name.partition(".")[0] for path in told} == {"hume_profiles"}
    for name in ("plain.jsonl", "plain.csv"):
        assert "native" not in (tmp_path / name).read_text()
    export(folder.path, "jsonl", tmp_path / "all.jsonl", profiles=True)
    export(folder.path, "csv", tmp_path / "all.csv", profiles=True)
    assert (tmp_path / "all.csv").read_text().count("near-native") == 36
    back = _asking(tmp_path / "back", "language")
    import_files(back.path, [tmp_path / "all.jsonl"])
    assert read_annotator_profiles(back) == read_annotator_profiles(folder)
    silent = read_study(small_study(tmp_path / "silent", 6, families=("classification",)))
    done = import_files(silent.path, [tmp_path / "all.jsonl"])
    assert done.left_out == {"profiles that the study does not ask for": 6}
    assert not (silent.path / "profiles.jsonl").exists()
    with pytest.raises(UsageError, match="asks no questions"):
        export(silent.path, "csv", tmp_path / "x.csv", profiles=True)
    with pytest.raises(UsageError, match="cannot contain"):
        export(folder.path, "mteb", tmp_path / "x", profiles=True)


def test_a_line_that_is_no_answer_is_named(tmp_path: Path) -> None:
    """With file and line, whether it lies there or is brought."""
    folder = _asking(tmp_path / "s", "language")
    write_annotator_profiles(folder.path, {"ann": {"language:eng": "fluent"}})
    with pytest.raises(DataError, match=r"profiles.jsonl:1: 'fluent' is not a valid answer"):
        read_annotator_profiles(folder)
    (folder.path / "profiles.jsonl").unlink()
    file = tmp_path / "in.jsonl"
    file.write_text(
        '{"item_id": "mood-00", "annotator_id": "a", "value": 1}\n{"annotator_id": "a", "profile": {"age": "9"}}\n'
    )
    with pytest.raises(DataError, match=r"in.jsonl:2: The study does not ask about 'age'"):
        import_files(folder.path, [file])
    assert not (folder.path / "annotations").exists()
