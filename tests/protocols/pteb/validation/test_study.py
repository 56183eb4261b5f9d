"""Drawing a study: blind, repeatable, sealed; what raters get tells them nothing.

Crowd platforms: what is sent out, what comes back, and which submissions count.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.pteb.options import RatingStudyPoolOptions
from embassay.protocols.pteb.validation.crowd import (
    AcceptedCrowdRatings,
    RatingBatchOptions,
    SubmissionFilters,
    read_crowd_ratings,
    write_kept_ratings,
    write_platform_batches,
)
from embassay.protocols.pteb.validation.raters import collect_ratings_from_files
from embassay.protocols.pteb.validation.scoring import score_rating_study
from embassay.protocols.pteb.validation.study import RATERS, DrawnStudy, read_study
from embassay.protocols.wordings.pairs import (
    LanguageAcceptanceRules,
    PairSampleSize,
    draw_near_identical_pair,
    draw_unrelated_pair,
    drop_candidates_in_wrong_language,
    group_candidate_wordings_by_language,
    group_pairs_by_language,
    sample_language_pairs_with_dummies,
)
from embassay.protocols.wordings.sets import WordingSource


def sheet_of(study, rater):
    with (study.path / "for-raters" / f"{rater}.csv").open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_language_has_its_pairs_and_dummies(draw):
    """50 pairs, one nearly identical dummy and one unrelated; a language with fewer pairs gives all it has."""
    study = draw()
    counts = {
        lang: [sum(item.kind == kind for item in own) for kind in ("pair", "nearly identical", "unrelated")]
        for lang, own in group_pairs_by_language(study.items).items()
    }
    assert counts == {"deu": [50, 1, 1], "fra": [50, 1, 1], "swa": [31, 1, 1]}
    assert {item.expected for item in study.items if item.kind == "nearly identical"} == {5.0}
    assert {item.expected for item in study.items if item.kind == "unrelated"} == {0.0}
    assert study.facts["languages"]["swa"] == {
        "candidates": 31, "other_language": 0, "pairs": 31, "dummies": 2, "copies": 1,
    }  # fmt: skip
    assert len({item.pair_id for item in study.items}) == len(study.items)


def test_only_usable_wordings_are_drawn_copies_too(draw):
    """A text without a wording is no pair."""
    items = draw(pairs=999).items
    assert not any("Perdu" in item.text for item in items)
    assert sum(item.outcome == "copied" for item in items) == 3
    assert not any(item.kind == "pair" and not item.text2 for item in items)


def test_texts_in_another_language_are_left_out_and_counted(draw, paraphrases):
    """A French question's candidates can be English; their language is what the data say of the question, also where
    most are."""
    pytest.importorskip("py3langid")
    rows = paraphrases.rows("default", "news", 1337)
    english = [
        f"The {thing} was closed for {number} days because nobody had repaired it."
        for thing in ("harbour", "bakery", "library", "old bridge", "swimming pool")
        for number in range(12, 32)
    ]
    odd = [type(rows[0])(text, "fra", "", f"In short: {text}", "ok") for text in english]
    paraphrases.keep("default", "news", 1337, [*rows, *odd])
    study = draw(pairs=999)
    assert study.facts["languages"]["fra"]["other_language"] == 100
    assert study.facts["languages"]["deu"]["other_language"] == 0
    assert not any(text in (item.text, item.text2) for item in study.items for text in english)


def test_raters_see_nothing_that_hints_at_the_answer(draw):
    """No dummy mark, no expected rating, no dataset; the paraphrase stands on either side, and every rater has an
    order of their own. The numbers of dummies are like the others'."""
    study = draw()
    for lang, own in group_pairs_by_language(study.items).items():
        key = {item.pair_id: item for item in own}
        first, second = (sheet_of(study, f"{lang}-rater{n}") for n in (1, 2))
        assert list(first[0]) == ["pair_id", "lang", "text", "text2", "rater_id", "rating", "ts"]
        assert {row["pair_id"] for row in first} == set(key)
        assert [row["pair_id"] for row in first] != [row["pair_id"] for row in second]
        for rows in (first, second):
            turned = [row["text"] == key[row["pair_id"]].text2 for row in rows]
            assert 0.25 < sum(turned) / len(turned) < 0.75
            for row in rows:
                item = key[row["pair_id"]]
                assert {row["text"], row["text2"]} == {item.text, item.text2}
                assert (row["rating"], row["ts"]) == ("", "")
    told = (study.path / "for-raters" / "instructions.md").read_text("utf-8")
    assert "dummy" not in told
    assert "paraphras" not in told


def test_a_draw_is_repeatable(draw):
    """The same seed gives the same bytes, another seed other pairs."""
    one, again, other = draw("one"), draw("again"), draw("other", seed=7)
    for name in ("key.jsonl", "rules.json", "for-raters/fra-rater2.csv"):
        assert (one.path / name).read_bytes() == (again.path / name).read_bytes()
    assert {item.text for item in one.items} != {item.text for item in other.items}


def test_the_draw_is_uniform_over_pairs(paraphrases):
    """Over many seeds every pair is drawn about as often: 40 of 81 each."""
    pool, _ = drop_candidates_in_wrong_language(
        group_candidate_wordings_by_language(paraphrases, "default")["fra"], "fra", PairSampleSize(pairs=40)
    )
    times = {}
    for seed in range(60):
        for item in sample_language_pairs_with_dummies(pool, "fra", PairSampleSize(pairs=40, seed=seed)):
            if item.kind == "pair":
                times[item.text] = times.get(item.text, 0) + 1
    assert len(times) == 81
    assert 12 < min(times.values()) <= max(times.values()) < 48


def test_a_list_of_several_languages_loses_none_of_them(paraphrases):
    """The most frequent language of a pooled list had driven out all others."""
    pool = [row for rows in group_candidate_wordings_by_language(paraphrases, "default").values() for row in rows]
    drawn, left = drop_candidates_in_wrong_language(pool, "mul", PairSampleSize(pairs=400))
    assert left == 0
    assert {row.paraphrase.lang for row in drawn} == {"deu", "fra", "swa"}


def test_rules_are_written_down_with_their_seal(draw):
    """In words and as data; what is read back is what was decided."""
    study = draw(rules=LanguageAcceptanceRules(threshold=3.5, repeated=2))
    words = (study.path / "rules.md").read_text("utf-8")
    assert "3.5 or more" in words
    assert study.facts["sha256"]["rules.json"] in words
    assert study.facts["sha256"]["rules.json"] in (study.path / "for-raters/instructions.md").read_text()
    again = read_study(study.path)
    assert (again.rules, again.items, again.facts) == (study.rules, study.items, study.facts)


@pytest.mark.parametrize("name", ["rules.json", "key.jsonl"])
def test_rules_and_key_cannot_be_changed_afterwards(draw, name):
    """A changed file is named."""
    study = draw()
    path = study.path / name
    path.write_text(path.read_text("utf-8").replace("3.0", "1.0").replace("5.0", "4.0"), "utf-8")
    with pytest.raises(DataError, match=rf"{name}: the file was changed after the sample was drawn"):
        read_study(study.path)


def test_texts_with_line_breaks_come_back_whole(draw, paraphrases):
    """Also with breaks that only some programs take for one."""
    text = "un\u2028deux\x85trois\nquatre cinq"
    row = paraphrases.rows("default", "news", 1337)[0]
    changed = [type(row)(**{**vars(row), "text": text + str(i), "wording": text + "!" + str(i)}) for i in range(9)]
    paraphrases.keep("default", "breaks", 1337, changed)
    study = draw(drawing=RatingStudyPoolOptions(datasets=["breaks"]), pairs=3)
    assert read_study(study.path).items == study.items


@pytest.mark.parametrize(
    ("drawing", "message"),
    [
        (RatingStudyPoolOptions(langs=["fr"]), "language 'fr'. Did you mean fra"),
        (RatingStudyPoolOptions(datasets=["new"]), "no dataset 'new'"),
        (RatingStudyPoolOptions(source="other"), "no source 'other'"),
        (RatingStudyPoolOptions(run_seed=7), "with seed 7"),
    ],
)
def test_what_the_set_does_not_have_is_a_usage_error(draw, drawing, message):
    """With what there is."""
    with pytest.raises(UsageError, match=message):
        draw(drawing=drawing)


def test_of_several_sources_one_is_named(draw, paraphrases):
    """People rate one paraphraser's work at a time."""
    paraphrases.add(WordingSource(name="second", paraphraser="ollama:other", identity="other/1"))
    with pytest.raises(UsageError, match=r"2 sources\. Choose one with --source: default, second"):
        draw()
    assert draw(drawing=RatingStudyPoolOptions(source="default")).system == "openai:writer"


def test_a_study_is_never_overwritten(draw):
    """The folder must be new."""
    draw()
    with pytest.raises(UsageError, match="is not empty"):
        draw()


def test_a_folder_without_a_study_is_named(tmp_path):
    """As the error of the data that it is."""
    with pytest.raises(DataError, match="the folder contains no study"):
        read_study(tmp_path)


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("The dog runs fast.", "eng", "The dog runs fast"),
        ("The dog runs fast", "eng", "The dog runs fast."),
        ("هل ركض الكلب بسرعة؟", "ara", "هل ركض الكلب بسرعة"),
        ("狗 跑得 很 快", "zho", "狗 跑得 很 快。"),
        ("...", "eng", ".."),
    ],
)
def test_nearly_identical_pairs_differ_in_their_last_mark(text, lang, expected):
    """Nothing else is changed."""
    found, other = draw_near_identical_pair([text], lang, 1, 0)
    assert (found, other) == (text, expected)
    assert other != text


def test_unrelated_pairs_share_the_least():
    """Of the texts, the one that has least in common with the drawn one."""
    texts = ["the cat sat on the mat", "the cat sat on a mat", "the cat sat", "bright quilts hung low"]
    for seed in range(20):
        assert "bright quilts hung low" in draw_unrelated_pair(texts, seed, 0)
    assert draw_unrelated_pair(texts, 3, 0) == draw_unrelated_pair(texts[::-1], 3, 0)
    with pytest.raises(ValueError, match="fewer than two"):
        draw_unrelated_pair(["one"], 1, 0)


def test_json_lines_are_written_where_asked(draw):
    """With the same columns."""
    study = draw(ending="jsonl", pairs=5)
    line = (study.path / "for-raters" / "fra-rater1.jsonl").read_text("utf-8").split("\n")[0]
    assert list(json.loads(line)) == ["pair_id", "lang", "text", "text2", "rater_id", "rating", "ts"]


@pytest.mark.parametrize("rules", [{"threshold": 6.0}, {"low": -1.0}, {"repeated": 0}])
def test_rules_off_the_scale_are_refused(rules):
    """Before anything is drawn."""
    with pytest.raises(UsageError):
        LanguageAcceptanceRules(**rules)


FRENCH = ("fra",)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def _right(study: DrawnStudy, pair: str) -> str:
    expected = {one.pair_id: one.expected for one in study.items}[pair]
    return "4" if expected is None else f"{expected:g}"


def _turk(study: DrawnStudy, hits: list[dict[str, str]], worker: str, **more: str) -> list[dict[str, str]]:
    """Results of a worker who does every HIT well."""
    return [
        {
            "HITId": f"h{number}", "WorkerId": worker, "AssignmentStatus": "Approved", "WorkTimeInSeconds": "600",
            **{f"Input.{name}": value for name, value in hit.items()},
            **{f"Answer.rating_{name.rpartition('_')[2]}": _right(study, pair)
               for name, pair in hit.items() if name.startswith("pair_") and pair},
            **more,
        }
        for number, hit in enumerate(hits)
    ]  # fmt: skip


def _read(
    study: DrawnStudy, *files: Path, filters: SubmissionFilters | None = None, **more: Sequence[Path]
) -> AcceptedCrowdRatings:
    return read_crowd_ratings(files, {one.pair_id: one for one in study.items}, filters or SubmissionFilters(), **more)


@pytest.fixture
def study(draw: Callable[..., DrawnStudy]) -> DrawnStudy:
    """Fifty pairs and two dummies in each of three languages, of the smallest thirty."""
    return draw(pairs=30, dummies=2, raters=2)


def test_a_hit_is_a_batch_with_its_dummies(study: DrawnStudy, tmp_path: Path) -> None:
    """Every pair once, both dummies in each HIT, and a page with as many places as the longest has."""
    files = write_platform_batches(study, "mturk", RatingBatchOptions(batch=12), tmp_path / "out")
    hits = _rows(tmp_path / "out" / "mturk-fra.csv")
    assert len(hits) == 3
    places = [[hit[name] for name in hit if name.startswith("pair_") and hit[name]] for hit in hits]
    dummies = {one.pair_id for one in study.items if one.is_dummy and one.lang == "fra"}
    assert all(dummies <= set(own) for own in places)
    proper = [pair for own in places for pair in own if pair not in dummies]
    assert sorted(proper) == sorted(one.pair_id for one in study.items if one.lang == "fra" and not one.is_dummy)
    page = files[-1].read_text("utf-8")
    named = set(re.findall(r"\$\{(\w+)\}", page))
    assert named <= set(hits[0])
    assert page.count("<section>") == 14


def test_prolific_sees_texts_and_nothing_else(study: DrawnStudy, tmp_path: Path) -> None:
    """Columns without META_ are shown: only the two texts are; a task group is a batch."""
    write_platform_batches(study, "prolific", RatingBatchOptions(batch=15), tmp_path / "out")
    rows = _rows(tmp_path / "out" / "prolific-deu.csv")
    assert [name for name in rows[0] if not name.startswith("META_")] == ["text", "text2"]
    assert {row["META_TASK_GROUP_ID"] for row in rows} == {"batch-1", "batch-2"}
    assert (tmp_path / "out" / "instructions.md").exists()


def test_results_that_leave_no_rating_write_nothing(study: DrawnStudy, tmp_path: Path) -> None:
    """Filters that leave nobody had emptied the ratings that were there. A column with nearly the name is offered."""
    row = {"Participant id": "p1", "META_pair_id": study.items[0].pair_id, "Rating": "4"}
    ratings, there = _write(tmp_path / "r.csv", [row]), tmp_path / "crowd.csv"
    there.write_text("as it was", encoding="utf-8")
    with pytest.raises(DataError) as raised:
        _read(study, ratings)
    assert "--rating Rating" in str(raised.value.mend)
    people = _write(tmp_path / "s.csv", [{"Participant id": "p1", "Status": "RETURNED"}])
    kept = _read(study, ratings, filters=SubmissionFilters(rating="Rating"), submissions=[people])
    with pytest.raises(DataError, match="1 row: returned"):
        write_kept_ratings(there, kept)
    assert there.read_text("utf-8") == "as it was"


def test_a_pilot_and_what_follows_it_share_no_pair(study: DrawnStudy, tmp_path: Path) -> None:
    """The paper's twenty first, the other ten afterwards."""
    write_platform_batches(study, "prolific", RatingBatchOptions(pilot=20), tmp_path / "out")
    write_platform_batches(study, "prolific", RatingBatchOptions(after_pilot=20), tmp_path / "out")
    dummies = {one.pair_id for one in study.items if one.is_dummy}
    pilot, main = (
        {row["META_pair_id"] for row in _rows(tmp_path / "out" / f"prolific-fra{end}.csv")} - dummies
        for end in ("-pilot", "")
    )
    assert (len(pilot), len(main)) == (20, 10)
    assert pilot.isdisjoint(main)
    with pytest.raises(UsageError, match="are left"):
        write_platform_batches(study, "prolific", RatingBatchOptions(after_pilot=30), tmp_path / "out")


def test_mturk_there_and_back(study: DrawnStudy, tmp_path: Path) -> None:
    """Two workers who do all of it well: every pair has two ratings, and the language is accepted."""
    write_platform_batches(study, "mturk", RatingBatchOptions(batch=12), tmp_path / "out")
    rows = [
        row for lang in ("fra", "deu", "swa") for worker in ("A", "B")
        for row in _turk(study, _rows(tmp_path / "out" / f"mturk-{lang}.csv"), f"{worker}{lang}")
    ]  # fmt: skip
    columns = dict.fromkeys(name for row in rows for name in row)
    kept = _read(study, _write(tmp_path / "Batch.csv", [{name: row.get(name, "") for name in columns} for row in rows]))
    write_kept_ratings(study.path / RATERS / "crowd.csv", kept)
    items = {one.pair_id: one for one in study.items}
    assert len(collect_ratings_from_files([study.path / RATERS / "crowd.csv"], items)) == 2 * len(study.items)
    assert set(score_rating_study(study).accepted) == {"fra", "deu", "swa"}


def test_the_worst_of_several_answers_to_a_dummy_counts(study: DrawnStudy, tmp_path: Path) -> None:
    """Whoever fails a dummy in one batch does not mend that by passing it in another."""
    write_platform_batches(study, "mturk", RatingBatchOptions(batch=12), tmp_path / "out")
    hits = _rows(tmp_path / "out" / "mturk-fra.csv")
    rows = _turk(study, hits, "A")
    dummy = next(one for one in study.items if one.is_dummy and one.lang == "fra" and one.expected == 5)
    place = next(name for name, value in hits[1].items() if value == dummy.pair_id).rpartition("_")[2]
    rows[1][f"Answer.rating_{place}"] = "1"
    columns = dict.fromkeys(name for row in rows for name in row)
    kept = _read(study, _write(tmp_path / "b.csv", [{name: row.get(name, "") for name in columns} for row in rows]))
    (found,) = [row["rating"] for row in kept.rows if row["pair_id"] == dummy.pair_id]
    assert found == 1.0


def test_filters_leave_out_and_count(study: DrawnStudy, tmp_path: Path) -> None:
    """Rejected, too fast, and from elsewhere: each by its reason; the others stay."""
    write_platform_batches(study, "mturk", RatingBatchOptions(batch=50), tmp_path / "out")
    hits = _rows(tmp_path / "out" / "mturk-fra.csv")
    rows = [
        *_turk(study, hits, "good"), *_turk(study, hits, "refused", AssignmentStatus="Rejected"),
        *_turk(study, hits, "hasty", WorkTimeInSeconds="20"),
    ]  # fmt: skip
    kept = _read(study, _write(tmp_path / "b.csv", rows), filters=SubmissionFilters(least_seconds=3))
    assert {row["rater_id"] for row in kept.rows} == {"good"}
    assert dict(kept.left_out) == {"rejected": 1, "under 3 s per pair": 1}


def test_prolific_with_its_submissions(study: DrawnStudy, tmp_path: Path) -> None:
    """A row per pair and person; status, time and country are in the other export."""
    pairs = [one for one in study.items if one.lang == "swa"]
    rows = [
        {"Participant id": person, "META_pair_id": one.pair_id, "score": _right(study, one.pair_id)}
        for person in ("p1", "p2", "p3") for one in pairs
    ]  # fmt: skip
    people = [
        {"Submission id": "s1", "Participant id": "p1", "Status": "APPROVED", "Time taken": "900", "Country": "Kenya"},
        {"Submission id": "s2", "Participant id": "p2", "Status": "RETURNED", "Time taken": "900", "Country": "Kenya"},
        {"Submission id": "s3", "Participant id": "p3", "Status": "APPROVED", "Time taken": "900", "Country": "Chile"},
    ]
    ratings, submissions = _write(tmp_path / "r.csv", rows), _write(tmp_path / "s.csv", people)
    how = SubmissionFilters(where="Country=Kenya", rating="score", least_seconds=3)
    kept = _read(study, ratings, filters=how, submissions=[submissions])
    assert {row["rater_id"] for row in kept.rows} == {"p1"}
    assert dict(kept.left_out) == {"returned": len(pairs), "not Country=Kenya": len(pairs)}
    fast = SubmissionFilters(rating="score", least_seconds=100)
    assert not _read(study, ratings, filters=fast, submissions=[submissions]).rows


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"a": "1"}, "not an MTurk or Prolific table"),
        ({"Participant id": "p", "META_pair_id": "xxx-001", "rating": "3"}, "not in this study"),
        ({"Participant id": "p", "META_pair_id": "fra-001", "rating": "seven"}, "not on the scale"),
    ],
)
def test_faults_have_a_place(study: DrawnStudy, tmp_path: Path, row: dict[str, str], said: str) -> None:
    """File and line of what is wrong."""
    with pytest.raises(DataError, match=said) as caught:
        _read(study, _write(tmp_path / "odd.csv", [row]))
    assert "odd.csv" in caught.value.message


def test_the_same_results_twice(study: DrawnStudy, tmp_path: Path) -> None:
    """A pair that a person rated twice is said, not averaged."""
    write_platform_batches(study, "mturk", RatingBatchOptions(batch=50), tmp_path / "out")
    path = _write(tmp_path / "b.csv", _turk(study, _rows(tmp_path / "out" / "mturk-fra.csv"), "A"))
    with pytest.raises(DataError, match="already rated"):
        _read(study, path, path)


def test_options_that_mean_nothing() -> None:
    """Numbers below what can be counted, both halves of a pilot, and a filter without a value."""
    for wrong in ({"batch": 0}, {"pilot": -1}, {"pilot": 5, "after_pilot": 5}):
        with pytest.raises(UsageError):
            RatingBatchOptions(**wrong)
    with pytest.raises(UsageError, match="--where"):
        SubmissionFilters(where="Kenya")
    with pytest.raises(UsageError, match="least_seconds"):
        SubmissionFilters(least_seconds=-1)


EXPORT = (
    "Submission id", "Participant id", "Status", "Custom study tncs accepted at", "Started at", "Completed at",
    "Reviewed at", "Archived at", "Time taken", "Completion code", "Total approvals", "Fluent languages", "Age", "Sex",
    "Country of residence",
)  # fmt: skip
"""The columns of a real export of submissions."""


def _submission(number: int, person: str, status: str, **more: str) -> dict[str, str]:
    row = dict.fromkeys(EXPORT, "") | {"Submission id": f"s{number}", "Participant id": person, "Status": status}
    return row | {"Time taken": "1150", "Country of residence": "Nigeria", **more}


def _rated(study: DrawnStudy, tmp_path: Path, *people: str) -> Path:
    write_platform_batches(study, "prolific", RatingBatchOptions(batch=50), tmp_path / "out")
    points = _rows(tmp_path / "out" / "prolific-fra.csv")
    return _write(
        tmp_path / "ratings.csv",
        [
            {**row, "Participant id": person, "rating": _right(study, row["META_pair_id"])}
            for person in people
            for row in points
        ],
    )


def test_returned_submissions_and_those_who_came_back(study: DrawnStudy, tmp_path: Path) -> None:
    """Who returned one and completed another counts; timed out, still at work and unknown people do not; times of two
    studies are added."""
    file = _rated(study, tmp_path, "back", "late", "working", "twice", "stranger")
    people = _write(
        tmp_path / "export.csv",
        [
            _submission(1, "back", "APPROVED"), _submission(2, "back", "RETURNED"),
            _submission(3, "late", "TIMED-OUT"), _submission(4, "working", "ACTIVE"),
            _submission(5, "twice", "AWAITING REVIEW", **{"Time taken": "20"}),
            _submission(6, "twice", "APPROVED", **{"Time taken": "0:00:45.5"}),
        ],
    )  # fmt: skip
    kept = _read(study, file, filters=SubmissionFilters(least_seconds=2.0), submissions=[people])
    assert {row["rater_id"] for row in kept.rows} == {"back", "twice"}
    pairs = len(kept.rows) // 2
    assert kept.left_out == {"timed-out": pairs, "active": pairs, "not among the submissions": pairs}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"Status": "EATEN"}, "export.csv:3: unknown submission status"),
        ({"Time taken": "a while"}, "export.csv:3: the time"),
        ({"Submission id": "s1"}, "export.csv:3: the submission s1 appears twice"),
    ],
)
def test_what_an_export_cannot_say_is_refused(
    study: DrawnStudy, tmp_path: Path, change: dict[str, str], said: str
) -> None:
    """With the line."""
    rows = [_submission(1, "a", "APPROVED"), _submission(2, "b", "APPROVED") | change]
    with pytest.raises(DataError, match=said):
        _read(study, _rated(study, tmp_path, "a"), submissions=[_write(tmp_path / "export.csv", rows)])


def test_a_crowd_form_writes_its_answers_as_json(study: DrawnStudy, tmp_path: Path) -> None:
    """MTurk gives them in one column, numbers as texts and radio buttons as booleans, beside 29 of its own; marked
    rejections do not count."""
    write_platform_batches(study, "mturk", RatingBatchOptions(batch=50), tmp_path / "out")
    hits = _rows(tmp_path / "out" / "mturk-fra.csv")
    plain = [*_turk(study, hits, "A"), *_turk(study, hits, "B"), *_turk(study, hits, "C", Reject="x")]
    rows = [
        {
            "Keywords": "rating, texts", "LifetimeApprovalRate": "100% (12/12)", "AssignmentId": f"a{i}",
            **{name: value for name, value in row.items() if not name.startswith("Answer.")},
            "Answer.taskAnswers": json.dumps([{
                name.removeprefix("Answer."): {"1": False, value: True} if i % 2 and value != "1" else value
                for name, value in row.items() if name.startswith("Answer.")
            }]),
            "Approve": "", "Reject": row.get("Reject", ""),
        }
        for i, row in enumerate(plain)
    ]  # fmt: skip
    kept = _read(study, _write(tmp_path / "batch.csv", rows))
    wanted = _read(study, _write(tmp_path / "plain.csv", [{**row, "Reject": row.get("Reject", "")} for row in plain]))
    assert kept.rows == wanted.rows
    assert {row["rater_id"] for row in kept.rows} == {"A", "B"}
    assert kept.left_out == {"rejected": len(hits)}
    broken = [{**rows[0], "Answer.taskAnswers": "[]"}]
    with pytest.raises(DataError, match=r"broken.csv:2: Answer.taskAnswers cannot be read"):
        _read(study, _write(tmp_path / "broken.csv", broken))


def test_tables_of_spreadsheets_are_read(study: DrawnStudy, tmp_path: Path) -> None:
    """A byte order mark, semicolons, columns in other case, and decimal commas."""
    file = _rated(study, tmp_path, "a")
    rows = [
        {name.upper() if name == "Participant id" else name: value for name, value in row.items()}
        for row in _rows(file)
    ]
    rows[0]["rating"] = "3,5"
    lines = [";".join(rows[0]), *(";".join(f'"{value}"' for value in row.values()) for row in rows)]
    odd = tmp_path / "odd.csv"
    odd.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode() + b"\r\n")
    kept = _read(study, odd)
    assert kept.rows[0]["rating"] == 3.5
    assert len(kept.rows) == len(rows)


def _report(
    study: DrawnStudy, rows: Sequence[dict[str, str]], people: Sequence[str], **more: str
) -> list[dict[str, str]]:
    """A task builder's report in the columns of Prolific's example: the dataset with everybody's answers beside it."""
    return [
        {
            "DataPoint_ID": f"d{number}", "Task_Group_ID": "g", "Task_Type": "multiple_choice",
            "Question": "How alike are they?", **row,
            **{f"Annotator{place}_{part}": value for place, person in enumerate(people, 1) for part, value in
               (("ID", person), ("Response", _right(study, row["META_pair_id"])),
                ("Timestamp", "2026-02-03T05:47:24.483Z"))},
            **more,
        }
        for number, row in enumerate(rows)
    ]  # fmt: skip


def test_a_report_of_the_task_builder(study: DrawnStudy, tmp_path: Path) -> None:
    """A line per pair with a column per person; who did not answer it has an empty one."""
    write_platform_batches(study, "prolific", RatingBatchOptions(batch=30), tmp_path)
    rows = _report(study, _rows(tmp_path / "prolific-fra.csv"), ("p1", "p2"))
    rows[0] |= {"Annotator2_ID": "", "Annotator2_Response": "", "Annotator2_Timestamp": ""}
    kept = _read(study, _write(tmp_path / "report.csv", rows))
    assert not kept.left_out
    assert len(kept.rows) == 2 * len(rows) - 1
    first = rows[0]["META_pair_id"]
    assert [one["rater_id"] for one in kept.rows if one["pair_id"] == first] == ["p1"]
    assert all(one["rating"] == float(_right(study, one["pair_id"])) for one in kept.rows)
    export = _write(tmp_path / "people.csv", [
        {"Participant id": "p1", "Status": "APPROVED"}, {"Participant id": "p2", "Status": "RETURNED"},
    ])  # fmt: skip
    kept = _read(study, tmp_path / "report.csv", submissions=[export])
    assert kept.left_out == {"returned": len(rows) - 1}
    assert len(kept.rows) == len(rows)


def test_a_report_that_cannot_be_read(study: DrawnStudy, tmp_path: Path) -> None:
    """Without the pairs' ids, or with more questions than the rating."""
    write_platform_batches(study, "prolific", RatingBatchOptions(batch=30), tmp_path)
    pairs = _rows(tmp_path / "prolific-fra.csv")
    twice = [*_report(study, pairs, ("p1",)), *_report(study, pairs, ("p1",), Question="Is it fluent?")]
    with pytest.raises(DataError, match="several questions") as caught:
        _read(study, _write(tmp_path / "two.csv", twice))
    assert caught.value.line == len(pairs) + 2
    bare = [{k: v for k, v in row.items() if not k.startswith("META_")} for row in _report(study, pairs, ("p1",))]
    with pytest.raises(DataError, match="identify the pair of each line"):
        _read(study, _write(tmp_path / "bare.csv", bare))


def test_a_table_without_ratings_is_refused(study: DrawnStudy, tmp_path: Path) -> None:
    """It would otherwise read as people who rated nothing."""
    rows = [{k: v for k, v in row.items() if k != "rating"} for row in _rows(_rated(study, tmp_path, "a"))]
    with pytest.raises(DataError, match=r"no.csv:1: no column contains ratings"):
        _read(study, _write(tmp_path / "no.csv", rows))
