"""Real files laid out as a mirror: every entry that they cover opens by name and loads in each of its shapes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from embassay.data import open_dataset

ROOT = Path(__file__).parents[3]
DATA = ROOT / ".." / "shared" / "data"
SIZES = {
    "askubuntu": {"reranking": 237},
    "banking77": {"labelled": 3080, "classification": 3080},
    "billsum": {"documents": 50, "summarised": 50},
    "cnn-dailymail": {"documents": 100, "summarised": 100},
    "emotion": {"labelled": 1421, "classification": 1421},
    "masakhanews": {"labelled": 637 + 476},
    "scifact": {"retrieval": 300},
    "sib200": {"labelled": 2 * 1004},
    "sickr": {"pairs": 5427},
    "sts12": {"pairs": 3108},
    "sts13": {"pairs": 1500},
    "sts17": {"pairs": 3 * 250},
    "stsbenchmark": {"pairs": 1379},
    "summeval": {"summaries": 100},
    "sumpubmed": {"documents": 150, "summarised": 150},
    "twentynewsgroups": {"labelled": 2000},
    "twitter-semeval2015": {"labelled_pairs": 1725},
}
"""Stand-ins are askubuntu (WikiQA), emotion (TweetEval) and twitter-semeval2015 (MRPC)."""

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not DATA.is_dir(), reason="the development datasets are not beside the checkout"),
]


def _script() -> ModuleType:
    path = ROOT / "benchmarks" / "lay_out_mirror.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mirror")
    assert _script().lay_out(DATA.resolve(), folder, stand_ins=True) == sorted(SIZES)
    return folder


@pytest.fixture(autouse=True)
def _in_force(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBASSAY_DATA", str(mirror))


@pytest.mark.parametrize("name", SIZES)
def test_covered_entry(name: str) -> None:
    """All its shapes, with all rows."""
    dataset = open_dataset(name)
    assert {shape: len(dataset.load(shape).data) for shape in dataset.shapes()} == SIZES[name]


def test_numbers_of_the_papers() -> None:
    """What is known of the datasets holds for what was read."""
    sides = open_dataset("banking77").load("classification").data
    assert (len(sides.train), len({*sides.train.labels, *sides.test.labels})) == (10003, 77)
    summeval = open_dataset("summeval").load("summaries").data
    assert {len(one) for one in summeval.references} == {11}
    assert {len(one) for one in summeval.summaries} == {16}
    assert sum(map(len, open_dataset("scifact").load("retrieval").data.qrels.values())) == 339
    scores = open_dataset("stsbenchmark").load("pairs").data.scores
    assert (scores.min(), scores.max()) == (0.0, 5.0)


def test_languages_are_apart() -> None:
    """Each language is a subset, and a set of its own to cluster."""
    sib = open_dataset("sib200")
    assert {lang: len(one.load("labelled").data) for lang, one in sib.subsets("labelled").items()} == {
        "dan_Latn": 1004,
        "eng_Latn": 1004,
    }
    assert set(sib.load("labelled").data.sets) == {"dan_Latn", "eng_Latn"}
    assert open_dataset("sts17?lang=en-en").load("pairs").data.first[0] == "A person is on a baseball team."


def test_draws_keep_the_labels() -> None:
    """A limit on a classification draws each side in proportion to its labels."""
    sides = open_dataset("banking77").load("classification", limit=154, seed=1).data
    assert (len(sides.train), len(sides.test)) == (154, 154)
    assert len(set(sides.test.labels)) == 77
