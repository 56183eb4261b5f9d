"""The descriptions of real datasets, on the real files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embassay.data import open_dataset

ROOT = Path(__file__).parents[2]
DATA = ROOT / ".." / "shared" / "data"
DESCRIPTIONS = sorted((ROOT / "benchmarks" / "datasets").glob("*.yaml"))
SIZES = {
    "20newsgroups": {"labelled": 2000},
    "banking77": {"labelled": 3080},
    "banking77_intents": {"classification": 3080},
    "billsum": {"documents": 50, "summarised": 50},
    "biomedical": {"labelled": 4000},
    "cnn_dailymail": {"documents": 100, "summarised": 100},
    "cranfield": {"retrieval": 225},
    "emotion": {"classification": 1421},
    "masakhanews_hau": {"classification": 637},
    "masakhanews_swa": {"classification": 476},
    "mrpc": {"labelled_pairs": 1725},
    "scifact": {"retrieval": 300},
    "scifact_train": {"retrieval": 809},
    "sick_r": {"pairs": 5427},
    "squality": {"comparisons": 150},
    "sts12": {"pairs": 3108},
    "sts13": {"pairs": 1500},
    "sts17_ar": {"pairs": 250},
    "sts17_en": {"pairs": 250},
    "stsb": {"pairs": 1379},
    "stsb_es": {"pairs": 1379},
    "summeval": {"ratings": 1600},
    "sumpubmed": {"summarised": 150},
    "sumpubmed_abstracts": {"documents": 150},
    "wikiqa": {"reranking": 237},
}

LANGUAGES = {"masakhanews_hau": "ha", "masakhanews_swa": "sw", "sts17_ar": "ar", "stsb_es": "es"}
"""Of those that aren't in English."""

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not DATA.is_dir(), reason="the development datasets are not beside the checkout"),
]


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBASSAY_DATA", str(DATA))


def test_every_description_is_tested() -> None:
    """A new description needs its sizes here."""
    assert [path.stem for path in DESCRIPTIONS] == sorted(SIZES)


@pytest.mark.parametrize("path", DESCRIPTIONS, ids=lambda path: path.stem)
def test_description(path: Path) -> None:
    """It gives exactly its shapes, with all rows, in its language."""
    dataset = open_dataset(str(path))
    assert (dataset.name, dataset.lang) == (path.stem, LANGUAGES.get(path.stem, "en"))
    assert {shape: len(dataset.load(shape).data) for shape in dataset.shapes()} == SIZES[path.stem]


def test_cranfield_gains() -> None:
    """gain = 5 - code, the 225 rows of code -1 dropped, the two empty documents kept (spec sage 14)."""
    loaded = open_dataset(str(ROOT / "benchmarks" / "datasets" / "cranfield.yaml")).load("retrieval")
    assert [(left.reason, left.count) for left in loaded.skipped] == [("judgements of value -1", 225)]
    assert loaded.warnings == ("empty documents in the corpus: 2 (471, 995)",)
    assert len(loaded.data.corpus) == 1400
    assert loaded.data.qrels["1"]["184"] == 3.0
    named = open_dataset(str(DATA / "retrieval" / "cranfield"), mapping={"relevance": "code"}, grades="cranfield")
    assert named.load("retrieval").data.qrels == loaded.data.qrels


def test_scifact_is_the_test_split_of_beir() -> None:
    """300 claims with 339 relevant abstracts, titles joined."""
    data = open_dataset(str(ROOT / "benchmarks" / "datasets" / "scifact.yaml")).load("retrieval").data
    assert sum(len(grades) for grades in data.qrels.values()) == 339
    assert data.corpus.texts[0].startswith("Microstructural development of human newborn")
    folder = open_dataset(str(DATA / "retrieval" / "scifact"), split="dev").load("retrieval")
    assert folder.data == data


def test_preferences() -> None:
    """SummEval has its four axes without a gap, SQuALITY prefers each position about as often."""
    folder = ROOT / "benchmarks" / "datasets"
    axes = open_dataset(str(folder / "summeval.yaml")).load("ratings").data.axes
    assert list(axes) == ["coherence", "consistency", "fluency", "relevance"]
    assert not np.isnan([*axes.values()]).any()
    choice = open_dataset(str(folder / "squality.yaml")).load("comparisons").data.choice
    assert 50 < choice.sum() < 100
