"""The same functions on a small study whose answers can be seen by eye."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import DataError, UsageError
from embassay.protocols.hume.published.conversion import convert_results_to_dataset_records
from embassay.protocols.hume.published.paper import (
    MULTILINGUAL,
    PaperDatasetInOneLanguage,
    PublishedEvaluation,
    PublishedStudy,
    convert_to_iso_639_3,
    load_hume_paper_study,
    long_frame,
    read_results,
    round_fraction_first,
    round_points_to_two_then_one_decimal,
    round_to_points_once,
)
from embassay.protocols.hume.published.standings import (
    HUMAN,
    ModelAndPeopleScores,
    agreement_trust_level,
    build_score_matrix,
    count_people_wins_by_group,
    list_systems_outside_study,
    percent_of_human,
    rank_models_by_mean_score,
    rank_people_on_every_pair,
)
from embassay.protocols.hume.published.tables import (
    build_all_paper_tables,
    dataset_scores_table,
    datasets_table,
    family_language_table,
    model_sizes_table,
)
from embassay.protocols.hume.study import Family
from embassay.protocols.hume.tables import make_pair_trust_flags_table, printed_people_table


def test_codes_of_languages() -> None:
    """Two letters become three, of languages since split or renamed too; what is no code stays as it is."""
    codes = {
        "de": "deu", "zh-Hant": "zho", "cmn": "zho", "sh": "hbs", "tl": "tgl", "iw": "heb", "nb": "nob", "nn": "nno",
        "swa": "swa", "mul": "mul", "und": "und", "xx": "xx", "Klingon": "klingon", "c++": "c++", "": "",
    }  # fmt: skip
    assert {code: convert_to_iso_639_3(code) for code in codes} == codes


def test_folders_of_results(small: tuple[PublishedEvaluation, ...]) -> None:
    """System and revision are of the folders, the dataset is the study's, languages are ISO 639-3."""
    assert {(one.system, one.revision) for one in small} == {
        ("one/alpha", "first"), ("two/beta", "first"), ("baseline/Human", "first")
    }  # fmt: skip
    assert {one.dataset for one in small} == {"Feelings", "Topics", "Likeness"}
    assert {one.lang for one in small} == {"eng", "dan", "ara", "fra"}
    human = next(one for one in small if (one.short, one.dataset, one.lang) == ("Human", "Likeness", "eng"))
    assert (human.main_scores_per_annotator, human.headline_agreement) == ((0.7, 0.6), 0.65)


def test_a_folder_below_reads_the_same(
    small_folder: Path, small_study: PublishedStudy, small: tuple[PublishedEvaluation, ...]
) -> None:
    """The model's folder, its revision's and a single file know their system as the whole does."""
    for path in (small_folder / "one__alpha", small_folder / "one__alpha" / "first"):
        assert read_results(path, small_study) == tuple(one for one in small if one.system == "one/alpha")
    one = read_results(small_folder / "one__alpha" / "first" / "HUMEFeelings.json", small_study)
    assert [(e.system, e.revision, e.main_score) for e in one] == [("one/alpha", "first", 0.9)]


def test_one_file_of_many_systems(tmp_path: Path) -> None:
    """Compressed or not, by what it holds and not by its name; other splits are left out, NaN stays NaN."""
    entry = {"model": "a/b", "revision": "r", "task": "HUMESTS22", "hf_subset": "no", "main_score": 0.5,
             "scores": {"cosine": 0.5, "list": [1], "flag": True, "bad": math.nan}}  # fmt: skip
    text = json.dumps(
        {"results": [entry, {**entry, "split": "train"}, {**entry, "hf_subset": "ru", "main_score": None}]}
    )
    for name, raw in (("a.json.gz", gzip.compress(text.encode())), ("b.json.gz", text.encode())):
        (tmp_path / name).write_bytes(raw)
        first, second = read_results(tmp_path / name)
        assert (first.dataset, first.lang, first.subset, first.main_score) == ("STS22", "nob", "no", 0.5)
        assert set(first.metrics) == {"cosine", "bad"}
        assert second.lang == "rus"
        assert math.isnan(second.main_score)
    frame = long_frame([first])
    assert frame.filter(metric="bad")["value"].to_list() == [None]


@pytest.mark.parametrize(("text", "what"), [
    ("{", "cannot be read as JSON"), ("[1]", "does not contain MTEB results"),
    ('{"results": [1]}', "Result 1 is not an object"),
    ('{"results": []}', "No results for the test split"), ('{"scores": {"test": 3}}', "not a list"),
    ('{"results": [{"revision": "r", "task": "t"}]}', "has no model"),
    ('{"results": [{"model": "m", "revision": "r", "task": "t", "main_score": 80, "lang": "eng"}]}', "not a number"),
    ('{"results": [{"model": "m", "revision": "r", "task": "t", "main_score": 0.8}]}', "does not state its language"),
    ('{"results": [{"model": "m", "revision": "r", "task": "t", "languages": [3]}]}', "does not state its language"),
    ('{"results": [{"model": "m", "revision": "r", "task": "t", "scores": [3]}]}', "not an object"),
    ('{"scores": {"test": [{"main_score": 0.8, "languages": ["eng-Latn"]}]}}', "has no task"),
])  # fmt: skip
def test_files_that_are_no_results(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(DataError, match=what) as caught:
        read_results(tmp_path / "x.json")
    assert caught.value.mend


def test_broken_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(b'{"results": []}' * 50)[:30])
    for name, what in (("cut.json.gz", "cannot be read"), ("none", "no such file")):
        with pytest.raises(DataError, match=what):
            read_results(tmp_path / name)


def test_the_matrix(small: tuple[PublishedEvaluation, ...], small_study: PublishedStudy) -> None:
    matrix = build_score_matrix(small, small_study)
    assert matrix.models == ("alpha", "beta")
    assert matrix.values.tolist() == [[0.9, 0.4, 0.6, 0.1, 0.8], [0.7, 0.2, 0.5, 0.3, 0.8]]
    assert matrix.human.tolist() == [0.8, 0.5, 0.5, 0.6, 0.8]
    assert math.isnan(matrix.average_scores_over_pairs(lambda pair: pair.lang == "swa")["alpha"])


def test_a_missing_or_double_pair_is_refused(
    small: tuple[PublishedEvaluation, ...], small_study: PublishedStudy
) -> None:
    """A mean over fewer pairs, or over two revisions, would not compare; other systems may lack any."""
    alpha = [one for one in small if one.system == "one/alpha" and one.dataset == "Feelings"]
    with pytest.raises(DataError, match=r"alpha has no score for 1 of 5 pairs \(first: Feelings \(eng\)"):
        build_score_matrix([one for one in small if one not in alpha], small_study)
    with pytest.raises(DataError, match=r"alpha has no score"):
        build_score_matrix(
            [*(one for one in small if one not in alpha), replace(alpha[0], main_score=math.nan)], small_study
        )
    with pytest.raises(DataError, match="two results"):
        build_score_matrix([*small, replace(alpha[0], revision="second")], small_study)
    with pytest.raises(DataError, match="Human has no score for 5"):
        build_score_matrix(small, replace(small_study, human_revision="other"))
    added = [*small, replace(alpha[0], system="three/gamma")]
    assert build_score_matrix(added, small_study).models == ("alpha", "beta")
    assert list_systems_outside_study(added, small_study) == ["three/gamma"]


def test_standings_by_eye(small: tuple[PublishedEvaluation, ...], small_study: PublishedStudy) -> None:
    """A tie is no win and no worse rank."""
    every = rank_people_on_every_pair(build_score_matrix(small, small_study))
    assert [one.rank for one in every] == [2, 1, 2, 1, 1]
    assert [(one.best_model, one.best) for one in every] == [
        ("alpha", 0.9), ("alpha", 0.4), ("alpha", 0.6), ("beta", 0.3), ("alpha", 0.8)
    ]  # fmt: skip
    assert [(one.reference, one.wins, one.pairs) for one in count_people_wins_by_group(every)] == [
        ("best", 2, 5), ("median", 2, 5), ("mean", 2, 5)
    ]  # fmt: skip
    by_group = {(one.group, one.reference): one.share_won for one in count_people_wins_by_group(every, "lang")}
    assert by_group["eng", "best"] == 0
    assert by_group["ara", "best"] == 1
    assert every[0].position == pytest.approx(0.5)
    assert every[4].position is None
    assert [one.people_difficulty for one in every] == ["easy", "moderate", "moderate", "moderate", "easy"]


def test_datasets_may_weigh_the_same(small: tuple[PublishedEvaluation, ...], small_study: PublishedStudy) -> None:
    """Feelings 80, Topics 50, Likeness 70."""
    found = {one.system: one for one in rank_models_by_mean_score(build_score_matrix(small, small_study), "datasets")}
    assert found[HUMAN].overall == pytest.approx(2 / 3)
    assert found["alpha"].overall == pytest.approx((0.9 + 0.5 + 0.45) / 3)


def test_places_share_a_rank(small: tuple[PublishedEvaluation, ...], small_study: PublishedStudy) -> None:
    assert [(one.system, one.rank) for one in rank_models_by_mean_score(build_score_matrix(small, small_study))] == [
        (HUMAN, 1), ("alpha", 2), ("beta", 3)
    ]  # fmt: skip
    level = ModelAndPeopleScores(
        (PaperDatasetInOneLanguage("a", "eng", "sts", 9, 1),), ("x", "y"), np.array([[0.5], [0.4]]), np.array([0.5])
    )
    assert [(one.system, one.rank) for one in rank_models_by_mean_score(level)] == [("x", 1), (HUMAN, 1), ("y", 3)]


def test_equal_scores_are_never_a_win() -> None:
    """The mean of three times 0.7 is a little less than 0.7 in floating point."""
    (one,) = rank_people_on_every_pair(
        ModelAndPeopleScores(
            (PaperDatasetInOneLanguage("a", "eng", "sts", 9, 1),),
            ("x", "y", "z"),
            np.full((3, 1), 0.7),
            np.array([0.7]),
        )
    )
    assert [one.people_beat_models(name) for name in ("best", "median", "mean")] == [False] * 3
    assert one.mean < one.human


# To nine digits: below its tolerance a rank takes two scores for equal, where their difference is not yet 0.
scores = st.floats(0, 1).map(lambda value: round(value, 9))


@given(st.lists(scores, min_size=1, max_size=8), scores)
def test_standing_holds_together(models: list[float], human: float) -> None:
    """Best wins imply the others; rank 1 is just what no model exceeds; the position follows the gap."""
    names = tuple(f"m{i}" for i in range(len(models)))
    (one,) = rank_people_on_every_pair(
        ModelAndPeopleScores(
            (PaperDatasetInOneLanguage("a", "eng", "sts", 9, 1),), names, np.array([models]).T, np.array([human])
        )
    )
    assert one.worst <= one.median <= one.best
    assert not one.people_beat_models("best") or (one.people_beat_models("median") and one.people_beat_models("mean"))
    assert (one.rank == 1) == (one.gap() >= 0)
    assert one.rank + sum(x <= human for x in models) == one.n_models + 1
    assert one.position is None or one.spread < 1e-12 or (one.position > 1 + 1e-9) <= (one.gap() > 0)


def test_no_model() -> None:
    with pytest.raises(UsageError, match="no model"):
        rank_people_on_every_pair(
            ModelAndPeopleScores(
                (PaperDatasetInOneLanguage("a", "eng", "sts", 9, 1),), (), np.zeros((0, 1)), np.array([0.5])
            )
        )


def test_percent_of_human() -> None:
    """The paper's figures, which are of rounded scores (spec hume 8)."""
    for score, human, expected in (
        (0.85, 0.458, 185.6),
        (0.85, 0.872, 97.5),
        (0.754, 0.458, 164.6),
        (0.846, 0.492, 172.0),
    ):
        assert round(percent_of_human(score, human) or 0, 1) == expected
    assert percent_of_human(0.5, 0) is None
    assert percent_of_human(0.5, -0.1) is None


def test_too_few_items_have_no_interval(small: tuple[PublishedEvaluation, ...], small_study: PublishedStudy) -> None:
    """Three rated items: no interval, so nothing is inside or outside it."""
    datasets = tuple(
        replace(one, pairs=tuple(replace(pair, n_items=3) for pair in one.pairs)) for one in small_study.datasets
    )
    pairs = convert_results_to_dataset_records(small, replace(small_study, datasets=datasets))
    assert [score.outside for pair in pairs[3:] for score in pair.models] == [None] * 4
    lines = printed_people_table(pairs, ("alpha", "beta")).as_csv().splitlines()
    assert lines[4].startswith("sts,Likeness,ara,3,1,3,60.0,,,none")


@pytest.mark.parametrize(("score", "expected"), [
    (0.68051462, (68.1, 68.0, 68.1)), (0.922541, (92.3, 92.2, 92.3)), (0.67545242, (67.5, 67.5, 67.6)),
    (0.8125, (81.2, 81.2, 81.3)), (-0.0012, (-0.1, -0.1, -0.1)), (1.0, (100.0, 100.0, 100.0)),
])  # fmt: skip
def test_three_ways_to_round(score: float, expected: tuple[float, float, float]) -> None:
    assert (
        round_to_points_once(score),
        round_fraction_first(score),
        round_points_to_two_then_one_decimal(score),
    ) == expected


def test_table1_by_eye(small: tuple[PublishedEvaluation, ...], small_study: PublishedStudy) -> None:
    matrix = build_score_matrix(small, small_study)
    table = family_language_table(matrix)
    assert [column.name for column in table.columns] == [
        "model", "classification_eng", "clustering_dan", "clustering_eng", "sts_ara", "sts_eng", "overall"
    ]  # fmt: skip
    assert table.rows[0] == ("n_datasets", "1", "1", "1", "1", "1", "5")
    assert table.rows[-1] == (HUMAN, 80.0, 50.0, 50.0, 60.0, 80.0, 64.0)
    # Where people are strictly above every model: the paper's caption says five of fourteen, its figures give four.
    *models, people = table.rows[1:]
    ahead = [
        column.name
        for place, column in enumerate(table.columns[1:-1], 1)
        if all(people[place] > model[place] for model in models)
    ]
    assert ahead == ["clustering_dan", "sts_ara"]


def test_french_counts_only_as_printed(small: tuple[PublishedEvaluation, ...], small_study: PublishedStudy) -> None:
    """alpha's file holds French: 40, 60 and 80; people annotated none."""
    as_printed = dataset_scores_table("clustering", small, small_study, every_subset=True)
    corrected = dataset_scores_table("clustering", small, small_study, every_subset=False)
    assert [row[1] for row in as_printed.rows] == pytest.approx([60, 35, 50])
    assert [row[1] for row in corrected.rows] == pytest.approx([50, 35, 50])
    assert "French" in as_printed.note
    assert as_printed.name != corrected.name
    with pytest.raises(DataError, match="beta has no result for Topics in dan"):
        dataset_scores_table("clustering", [one for one in small if (one.short, one.lang) != ("beta", "dan")],
                      small_study, every_subset=True)  # fmt: skip


def test_table8_by_eye(small: tuple[PublishedEvaluation, ...], small_study: PublishedStudy) -> None:
    every = convert_results_to_dataset_records(small, small_study)
    assert [pair.human.method for pair in every] == [
        "95% Wilson", "95% Wilson", "range of 2 annotators", "95% Fisher z", "95% Fisher z"
    ]  # fmt: skip
    scores = [[annotator.score for annotator in pair.annotators] for pair in every]
    assert scores == [[0.75, 0.8], [0.5], [0.45, 0.55], [0.6], [0.7, 0.6]]
    assert [pair.agreement_value for pair in every] == [0.5, None, 0.2, None, 0.65]
    table = printed_people_table(every, ("alpha", "beta"))
    assert [row[-1] for row in table.rows] == [0, 0, 1, 0, 0]
    text = table.as_csv().splitlines()
    assert text[3] == ("clustering,Topics,eng,10,2,20,50.0,45.0,55.0,range of 2 annotators,ARI,0.2,alpha,60.0,1")


def test_tables_without_language_models(small: tuple[PublishedEvaluation, ...], small_study: PublishedStudy) -> None:
    """The same tables on other data, less those of language models; what does not exist is empty, not 0."""
    tables = {table.name: table for table in build_all_paper_tables(small, study=small_study)}
    assert not {"hume_table2", "hume_table10", "hume_table13"} & set(tables)
    pairs = tables["hume_pairs"]
    names = [column.name for column in pairs.columns]
    row = dict(zip(names, pairs.rows[0], strict=True))
    assert (row["gap_best"], row["gap_median"], row["model_range"]) == pytest.approx((-10, 0, 20))
    assert (row["human_rank"], row["difficulty"]) == (2, "easy")
    assert pairs.rows[4][names.index("position")] is None
    assert tables["hume_overall"].rows[0][:2] == (1, HUMAN)
    assert ("language", "ara", "best", 1, 1, 100.0) in tables["hume_win_rates"].rows


def test_own_systems_of_some_datasets(small: tuple[PublishedEvaluation, ...], small_study: PublishedStudy) -> None:
    """A row where a dataset is whole, empty cells for the others, and none in the main table."""
    pairs = {dataset.name: [pair.lang for pair in dataset.pairs] for dataset in small_study.datasets}
    own = [PublishedEvaluation("mine", "", "Likeness", lang, lang, 0.5, {}) for lang in pairs["Likeness"]]
    own += [PublishedEvaluation("half", "", "Topics", pairs["Topics"][0], pairs["Topics"][0], 0.5, {})]
    tables = {table.name: table for table in build_all_paper_tables(small, study=small_study, own=own)}
    rows = {row[0]: row[1:] for row in tables["hume_table7"].rows}
    assert rows["mine"] == pytest.approx((50.0,))
    assert "half" not in {row[0] for row in tables["hume_table4"].rows}
    assert "mine" not in {row[0] for row in tables["hume_table1"].rows}
    assert list(rows)[-1] == HUMAN


def test_quality(small: tuple[PublishedEvaluation, ...], small_study: PublishedStudy) -> None:
    """Topics (eng): agreement 0.2 and a model above everybody."""
    found = convert_results_to_dataset_records(small, small_study)
    assert [one.trust for one in found] == ["medium", None, "low", None, "medium"]
    assert [one.superhuman_on_noise for one in found] == [False, False, True, False, False]
    assert [bool(row[-2]) for row in make_pair_trust_flags_table(found).rows] == [False, False, True, False, False]


@pytest.mark.parametrize(("family", "agreement", "expected"), [
    ("classification", 0.4, "medium"), ("classification", 0.6, "medium"), ("clustering", -0.1, "low"),
    ("clustering", 0.61, "high"), ("sts", 0.6, "medium"), ("reranking", 0.71, "high"), ("sts", 0.59, "low"),
])  # fmt: skip
def test_limits_belong_to_the_middle(family: Family, agreement: float, expected: str) -> None:
    assert agreement_trust_level(family, agreement) == expected


def test_the_paper_study() -> None:
    study = load_hume_paper_study()
    families = {family: sum(pair.family == family for pair in study.pairs) for family in
                ("classification", "clustering", "reranking", "sts")}  # fmt: skip
    assert families == {"classification": 7, "clustering": 7, "reranking": 6, "sts": 6}
    assert sum(pair.group == MULTILINGUAL for pair in study.pairs) == 14
    assert sum(pair.n_annotators == 2 for pair in study.pairs) == 16
    assert study.pair(" wikipedia ", "nob") == study.pair("HUMEWikipediaRerankingMultilingual", "nob")
    assert study.pair("Wikipedia", "ara") is None
    assert study.pair("unknown", "eng") is None
    assert len(datasets_table().rows) == 16
    assert ("NovaSearch/stella_en_1.5B_v5", None) in model_sizes_table().rows
