"""Tables of language models as annotators, read from files made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from embassay.errors import DataError
from embassay.protocols.hume.published.standings import ModelAndPeopleScores, compute_spearman_correlation
from embassay.protocols.hume.published.tables import (
    best_embedding_model,
    correlate_people_with_each_llm,
    family_scores_table,
    make_people_llm_correlation_table,
    pair_score_table,
    read_llm_scores,
)

HEADER = "dataset,lang,human,first,second\n"


@pytest.fixture
def scores(tmp_path: Path) -> ModelAndPeopleScores:
    (tmp_path / "a.csv").write_text(
        "\ufeff" + HEADER + "Emotion,eng,50,30,40\nMultilingual Sentiment,no,90,80,40\nAverage,,1,1,1\n",
        encoding="utf-8",
    )
    (tmp_path / "b.csv").write_text(HEADER + "STS12,en,70,60,40\n")
    return read_llm_scores([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_read_from_several_files(scores: ModelAndPeopleScores) -> None:
    """Any name of a dataset, any code of a language; the row of averages is left out."""
    assert [pair.name for pair in scores.pairs] == [
        "EmotionClassification (eng)", "MultilingualSentiment (nob)", "STS12 (eng)"
    ]  # fmt: skip
    assert scores.models == ("first", "second")
    assert scores.human.tolist() == pytest.approx([0.5, 0.9, 0.7])
    assert scores.values[0].tolist() == pytest.approx([0.3, 0.8, 0.6])


def test_the_average_is_over_pairs_not_families(scores: ModelAndPeopleScores) -> None:
    rows = {str(row[0]): row for row in family_scores_table(scores).rows}
    assert list(rows) == ["classification", "sts", "Average"]
    assert rows["classification"][1:4] == pytest.approx((70, 55, 40))
    assert rows["Average"][1:4] == pytest.approx((70, 170 / 3, 40))
    assert rows["classification"][4:] == (None, None)
    assert best_embedding_model(None, "sts") == (None, None)


def test_same_difficulty(scores: ModelAndPeopleScores) -> None:
    """`second` scores the same everywhere: no correlation, and not 0."""
    first, second, average = correlate_people_with_each_llm(scores)
    assert first.correlation.rho == pytest.approx(1)
    assert (second.correlation.rho, second.correlation.p) == (None, None)
    assert average.correlation.rho == pytest.approx(1)
    assert [row[1] for row in make_people_llm_correlation_table(scores).rows] == [
        pytest.approx(1),
        None,
        pytest.approx(1),
    ]
    assert compute_spearman_correlation([1, 2], [1, 2]).rho is None


def test_tables_by_family(scores: ModelAndPeopleScores) -> None:
    table = pair_score_table(scores, "classification")
    assert table.name == "hume_table10"
    assert table.rows[-1] == ("Average", "", *(pytest.approx(x) for x in (70, 55, 40)))
    assert pair_score_table(scores, "reranking").rows == (("Average", "", None, None, None),)
    assert pair_score_table(scores, "clustering").name == "hume_llm_clustering"


@pytest.mark.parametrize(("text", "what"), [
    ("a,b\n1,2\n", "Unexpected columns"), ("", "Unexpected columns"), (HEADER, "No language model scores"),
    (HEADER + "Emotion,eng,50,30\n", "have different numbers of cells"),
    (HEADER + "Emotion,fra,50,30,20\n", "no such dataset-language pair"),
    (HEADER + "Emotion,eng,50,x,20\n", "not a valid number"),
    (HEADER + "Emotion,eng,50,,20\n", "not a valid number"),
    (HEADER + "Emotion,eng,50,101,20\n", "not a valid"), (HEADER + "Emotion,eng,nan,1,20\n", "not a valid"),
    (HEADER + "Emotion,eng,.5,.3,.2\n", "are fractions"), (HEADER + "Emotion,eng,5,3,2\nEmotion,en,5,3,2\n", "twice"),
])  # fmt: skip
def test_files_that_are_no_scores(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(DataError, match=what) as caught:
        read_llm_scores([tmp_path / "x.csv"])
    assert caught.value.mend


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "Emotion,eng,50,30,40\n")
    (tmp_path / "b.csv").write_text("dataset,lang,human,first\nSTS12,eng,50,30\n")
    with pytest.raises(DataError, match="columns differ"):
        read_llm_scores([tmp_path / "a.csv", tmp_path / "b.csv"])
    with pytest.raises(DataError, match="No language model scores"):
        read_llm_scores([])
    (tmp_path / "c.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot be read as CSV"):
        read_llm_scores([tmp_path / "c.csv"])
