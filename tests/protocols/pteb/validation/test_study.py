"""Drawing a study: blind, repeatable, sealed; what raters get tells them nothing."""

from __future__ import annotations

import csv
import json

import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.pteb.validation.study import Drawing, read_study
from embassay.protocols.wordings.pairs import (
    Rules,
    Sample,
    by_language,
    candidates,
    in_their_language,
    nearly_identical,
    sample_items,
    unrelated,
)
from embassay.protocols.wordings.sets import Source


def sheet_of(study, rater):
    with (study.path / "for-raters" / f"{rater}.csv").open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_language_has_its_pairs_and_dummies(draw):
    """50 pairs, one nearly identical dummy and one unrelated; a language with fewer pairs gives all it has."""
    study = draw()
    counts = {
        lang: [sum(item.kind == kind for item in own) for kind in ("pair", "nearly identical", "unrelated")]
        for lang, own in by_language(study.items).items()
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
    for lang, own in by_language(study.items).items():
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
    pool, _ = in_their_language(candidates(paraphrases, "default")["fra"], "fra", Sample(pairs=40))
    times = {}
    for seed in range(60):
        for item in sample_items(pool, "fra", Sample(pairs=40, seed=seed)):
            if item.kind == "pair":
                times[item.text] = times.get(item.text, 0) + 1
    assert len(times) == 81
    assert 12 < min(times.values()) <= max(times.values()) < 48


def test_rules_are_written_down_with_their_seal(draw):
    """In words and as data; what is read back is what was decided."""
    study = draw(rules=Rules(threshold=3.5, repeated=2))
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
    changed = [
        type(row)(**{**vars(row), "text": text + str(i), "wording": text + "!" + str(i)}) for i in range(9)
    ]
    paraphrases.keep("default", "breaks", 1337, changed)
    study = draw(drawing=Drawing(datasets=["breaks"]), pairs=3)
    assert read_study(study.path).items == study.items


@pytest.mark.parametrize(
    ("drawing", "message"),
    [
        (Drawing(langs=["fr"]), "language 'fr'. Did you mean fra"),
        (Drawing(datasets=["new"]), "no dataset 'new'"),
        (Drawing(source="other"), "no source 'other'"),
        (Drawing(run_seed=7), "with seed 7"),
    ],
)
def test_what_the_set_does_not_have_is_a_usage_error(draw, drawing, message):
    """With what there is."""
    with pytest.raises(UsageError, match=message):
        draw(drawing=drawing)


def test_of_several_sources_one_is_named(draw, paraphrases):
    """People rate one paraphraser's work at a time."""
    paraphrases.add(Source(name="second", paraphraser="ollama:other", identity="other/1"))
    with pytest.raises(UsageError, match=r"2 sources\. Name one with --source: default, second"):
        draw()
    assert draw(drawing=Drawing(source="default")).system == "openai:writer"


def test_a_study_is_never_overwritten(draw):
    """The folder must be new."""
    draw()
    with pytest.raises(UsageError, match="is not empty"):
        draw()


def test_a_folder_without_a_study_is_named(tmp_path):
    """As the error of the data that it is."""
    with pytest.raises(DataError, match="there is no study here"):
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
    found, other = nearly_identical([text], lang, 1, 0)
    assert (found, other) == (text, expected)
    assert other != text


def test_unrelated_pairs_share_the_least():
    """Of the texts, the one that has least in common with the drawn one."""
    texts = ["the cat sat on the mat", "the cat sat on a mat", "the cat sat", "bright quilts hung low"]
    for seed in range(20):
        assert "bright quilts hung low" in unrelated(texts, seed, 0)
    assert unrelated(texts, 3, 0) == unrelated(texts[::-1], 3, 0)
    with pytest.raises(ValueError, match="fewer than two"):
        unrelated(["one"], 1, 0)


def test_json_lines_are_written_where_asked(draw):
    """With the same columns."""
    study = draw(ending="jsonl", pairs=5)
    line = (study.path / "for-raters" / "fra-rater1.jsonl").read_text("utf-8").split("\n")[0]
    assert list(json.loads(line)) == ["pair_id", "lang", "text", "text2", "rater_id", "rating", "ts"]


@pytest.mark.parametrize("rules", [{"threshold": 6.0}, {"low": -1.0}, {"repeated": 0}])
def test_rules_off_the_scale_are_refused(rules):
    """Before anything is drawn."""
    with pytest.raises(UsageError):
        Rules(**rules)
