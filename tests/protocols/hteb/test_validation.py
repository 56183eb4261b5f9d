"""Pairs drawn for people, and what they say: dummies, both criteria, Gwet's AC2 (spec hteb 11)."""

import csv

import numpy as np
import pytest

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.hteb.options import HtebOptions
from embassay.protocols.hteb.validation import RATERS, draw_rating_study, read_study, score_rating_study
from embassay.protocols.wordings.pairs import PairSampleSize
from embassay.protocols.wordings.sets import ParaphraseSet

SIZE = PairSampleSize(pairs=10, dummies=2, raters=3, seed=1)


@pytest.fixture
def study(transformer, tmp_path, pairs):
    _, model = transformer()
    done = eb.hteb.run(
        ["jaccard"], transformer=model, datasets=[pairs()], out=tmp_path / "run", runs=1, tokenizer="words",
        options=HtebOptions(resamples=60), transformations=("expansion", "translation"),
    )  # fmt: skip
    items = draw_rating_study(ParaphraseSet.open(done.path), tmp_path / "study", SIZE)
    return tmp_path / "study", items


def fill(folder, items, rate):
    """Fill in every file: `rate` gets the item and the rater's number, and gives adequacy and fluency."""
    key = {item.pair_id: item for item in items}
    for number, path in enumerate(sorted((folder / RATERS).glob("*.csv"))):
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
        for row in rows:
            adequacy, fluency = rate(key[row["pair_id"]], number % 3)
            turned = row["text"] != key[row["pair_id"]].text
            row |= {"adequacy": adequacy, "fluency": fluency if turned else 1, "fluency2": 1 if turned else fluency}
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def known(item):
    """What a dummy is to be rated."""
    return max(1, int(item.expected))


def test_raters_see_neither_which_text_is_which_nor_the_key(study):
    """Ten pairs and two dummies of each transformation for each of three raters, on either side."""
    folder, items = study
    assert len(items) == 24
    files = sorted((folder / RATERS).glob("*.csv"))
    assert len(files) == 6
    text = files[0].read_text("utf-8-sig")
    assert text.splitlines()[0] == "pair_id,text,text2,rater_id,adequacy,fluency,fluency2"
    assert "dummy" not in text
    assert read_study(folder)[1] == items


def test_ratings_are_summed_up_by_transformation_and_criterion(study):
    """Means over pairs, the share at 3 or more, and full agreement where all say the same."""
    folder, items = study
    fill(
        folder, items, lambda item, _: (known(item), 5) if item.is_dummy else (4 if item.lang == "expansion" else 2, 3)
    )
    scored = score_rating_study(folder)
    found = {(one.transformation, one.criterion): one for one in scored.outcomes}
    assert not scored.rejected
    assert (found["expansion", "adequacy"].mean, found["expansion", "adequacy"].share) == (4.0, 1.0)
    assert (found["translation", "adequacy"].mean, found["translation", "adequacy"].share) == (2.0, 0.0)
    assert {found[name, "fluency"].mean for name in ("expansion", "translation")} == {3.0}
    assert {one.quadratic for one in scored.outcomes} == {1.0}
    assert {(one.pairs, one.ratings, one.raters) for one in scored.outcomes} == {(10, 30, 3)}
    assert (folder / "tables" / "hteb_ratings.csv").is_file()


def test_a_rater_who_fails_a_dummy_is_left_out(study):
    """With the dummies named, and the others' ratings counted."""
    folder, items = study
    fill(folder, items, lambda item, rater: (3 if rater == 0 else known(item), 5) if item.is_dummy else (5 - rater, 5))
    scored = score_rating_study(folder)
    assert set(scored.rejected) == {"expansion-rater1", "translation-rater1"}
    adequacy = [one for one in scored.outcomes if one.criterion == "adequacy"]
    assert {(one.ratings, one.rejected, one.mean) for one in adequacy} == {(20, 1, 3.5)}
    assert all(one.linear < 1 for one in adequacy)


def test_a_system_is_asked_how_similar_it_finds_the_pairs(study):
    """Whether its similarity follows people: for each transformation and for all."""
    folder, items = study
    fill(folder, items, lambda item, rater: (known(item), 5) if item.is_dummy else (1 + len(item.text2) % 5, 4))
    scored = score_rating_study(folder, systems=("jaccard",))
    assert [(system, name, n) for system, name, _, n in scored.drift] == [
        ("jaccard", "", 20), ("jaccard", "expansion", 10), ("jaccard", "translation", 10),
    ]  # fmt: skip
    assert all(rho is None or -1 <= rho <= 1 for _, _, rho, _ in scored.drift)


@pytest.mark.parametrize("value", ["6", "0", "2.5", "five", "-1"])
def test_a_rating_off_the_scale_is_named_by_file_and_line(study, value):
    """Only whole numbers from 1 to 5."""
    folder, items = study
    fill(folder, items, lambda *_: (value, 5))
    with pytest.raises(DataError) as refused:
        score_rating_study(folder)
    assert refused.value.path.suffix == ".csv"
    assert refused.value.line == 2


def test_blank_ratings_say_nothing(study):
    """They are no disagreement, and of nothing there is no mean."""
    folder, _ = study
    scored = score_rating_study(folder)
    assert {(one.pairs, one.mean, one.quadratic) for one in scored.outcomes} == {(0, None, None)}
    assert not scored.rejected


def test_a_study_is_never_written_over(study, tmp_path):
    """Nor drawn from what is not there."""
    folder, _ = study
    kept = ParaphraseSet.open(tmp_path / "run")
    with pytest.raises(UsageError, match="not empty"):
        draw_rating_study(kept, folder, SIZE)
    with pytest.raises(UsageError, match="summarise"):
        draw_rating_study(kept, tmp_path / "other", SIZE, transformations=("summarise",))
    with pytest.raises(DataError):
        score_rating_study(tmp_path)


def test_means_are_those_of_numpy(study):
    """Of unequal ratings, over pairs and not over ratings."""
    folder, items = study
    fill(
        folder, items, lambda item, rater: (known(item), 5) if item.is_dummy else (1 + (len(item.text) + rater) % 5, 4)
    )
    of = {item.pair_id: [1 + (len(item.text) + rater) % 5 for rater in range(3)] for item in items if not item.is_dummy}
    for one in score_rating_study(folder).outcomes:
        own = [ratings for pair, ratings in of.items() if pair.startswith(one.transformation)]
        expected = np.mean(own) if one.criterion == "adequacy" else 4.0
        assert one.mean == pytest.approx(expected)
