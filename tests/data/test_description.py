"""Datasets described in YAML."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from embassay.data import open_dataset
from embassay.errors import UsageError


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Documents, rated and ranked summaries in a folder that an environment variable names."""
    folder = tmp_path / "elsewhere" / "data"
    folder.mkdir(parents=True)
    documents = [{"doc": n, "body": f"document {n}", "kind": "ab"[n % 2]} for n in range(4)]
    ranks = [1, 2, 3], [1, 1, 2], [2, None, 1], [3, 2, 1]
    summaries = [
        {"id": f"{n}{s}", "doc": n, "short": f"{s} of {n}", "fluency": n + place, "rank": ranks[n][place]}
        for n in range(4)
        for place, s in enumerate("xyz")
    ]
    for name, rows in (("documents", documents), ("summaries", summaries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("OWN_DATA", str(tmp_path / "elsewhere"))
    return tmp_path


HEAD = "name: own\nlang: en\nroot: ${OWN_DATA}/data\ntables:\n"
DOCUMENTS = "  - {file: documents.jsonl, shapes: [documents], map: {id: doc, text: body}}\n"
JOIN = "    join: {file: documents.jsonl, on: doc, columns: [body]}\n    map: {text: body, summary: short}\n"
RATED = "  - file: summaries.jsonl\n    shapes: [ratings]\n    axes: {fluency: fluency}\n" + JOIN
RANKED = "  - file: summaries.jsonl\n    shapes: [comparisons]\n    pairs: {group: [doc], rank: rank}\n" + JOIN


def write(data: Path, text: str) -> str:
    (data / "own.yaml").write_text(text)
    return str(data / "own.yaml")


def test_several_shapes_from_several_tables(data: Path) -> None:
    """Each table serves its own shapes; ratings get their text by the join, and only the axes named."""
    dataset = open_dataset(write(data, HEAD + DOCUMENTS + RATED + RANKED))
    assert (dataset.name, dataset.lang) == ("own", "en")
    assert dataset.shapes() == ("documents", "comparisons", "ratings")
    assert dataset.load("documents").data.ids == ("0", "1", "2", "3")
    ratings = dataset.load("ratings").data
    assert ratings.sources[4] == "document 1"
    assert list(ratings.axes) == ["fluency"]
    np.testing.assert_array_equal(ratings.axes["fluency"][:6], [0, 1, 2, 1, 2, 3])


def test_pairs_from_ranks(data: Path) -> None:
    """Every two summaries of one group are compared, the better rank wins, ties are dropped and counted."""
    loaded = open_dataset(write(data, HEAD + RANKED)).load("comparisons")
    assert len(loaded.data) == 9
    assert [(left.reason, left.count) for left in loaded.skipped] == [("tie or no choice", 3)]
    better = {"0": "xyz", "1": "xz", "2": "zx", "3": "zyx"}
    assert set(loaded.data.choice.tolist()) == {0, 1}
    for key, one, other, choice in zip(
        loaded.data.ids, loaded.data.first, loaded.data.second, loaded.data.choice, strict=True
    ):
        order = better[key[0]]
        assert one[0] in key.split(" + ")[0]
        if {one[0], other[0]} <= set(order):
            assert choice == int(order.index(one[0]) > order.index(other[0]))


def test_first_position_is_not_favoured(tmp_path: Path) -> None:
    """Over many pairs the preferred summary comes first about half of the time."""
    rows = [{"id": f"{n}-{r}", "g": n, "text": "t", "summary": f"{n}{r}", "r": r} for n in range(400) for r in (1, 2)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = "  - {file: rows.jsonl, shapes: [comparisons], pairs: {group: [g], rank: r}}\n"
    choice = open_dataset(write(tmp_path, "name: x\ntables:\n" + table)).load("comparisons").data.choice
    assert len(choice) == 400
    assert 160 < choice.sum() < 240


def test_where_and_split(data: Path) -> None:
    """`where` keeps rows; a split replaces what it says of the column split."""
    where = DOCUMENTS.replace("map: {", "where: {split: b}, map: {split: kind, ")
    assert open_dataset(write(data, HEAD + where)).load("documents").data.ids == ("1", "3")
    assert open_dataset(write(data, HEAD + where), split="a").load("documents").data.ids == ("0", "2")


def test_gains(data: Path) -> None:
    """Values of qrels become gains; a value without one is dropped and counted."""
    files = {"q.csv": "id,text\n1,which\n", "j.csv": "query_id,doc_id,code\n1,0,1\n1,1,4\n1,2,-1\n1,3,9\n"}
    for name, text in files.items():
        (data / "elsewhere" / "data" / name).write_text(text)
    tables = (
        DOCUMENTS.replace("[documents]", "[corpus, documents]")
        + "  - {file: q.csv, shapes: [queries]}\n"
        + "  - {file: j.csv, shapes: [qrels], map: {relevance: code}, gains: {1: 4, 4: 0.5}}\n"
    )
    loaded = open_dataset(write(data, HEAD + tables)).load("retrieval")
    assert loaded.data.qrels == {"1": {"0": 4.0, "1": 0.5}}
    assert [(left.reason, left.count) for left in loaded.skipped] == [
        ("judgements of value -1", 1),
        ("judgements of value 9", 1),
    ]


def test_fingerprint_does_not_depend_on_the_root(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same files elsewhere are the same dataset; another map is another."""
    before = open_dataset(write(data, HEAD + DOCUMENTS)).fingerprint
    (data / "elsewhere").rename(data / "moved")
    monkeypatch.setenv("OWN_DATA", str(data / "moved"))
    assert open_dataset(write(data, HEAD + DOCUMENTS)).fingerprint == before
    assert open_dataset(write(data, HEAD + DOCUMENTS.replace("id: doc", "id: body"))).fingerprint != before


def test_words_that_yaml_would_take_for_truth_values(data: Path) -> None:
    """`no` is Norwegian and `on` a key, as in YAML 1.2."""
    assert open_dataset(write(data, HEAD.replace("lang: en", "lang: no") + DOCUMENTS)).lang == "no"


def test_variable_that_is_not_set(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing environment variable is named, with the mend."""
    monkeypatch.delenv("OWN_DATA")
    with pytest.raises(UsageError, match=r"own.yaml needs the environment variable OWN_DATA.*Set OWN_DATA"):
        open_dataset(write(data, HEAD + DOCUMENTS))


def test_mapping_is_refused(data: Path) -> None:
    """A description maps its own columns."""
    with pytest.raises(UsageError, match="--map cannot be used"):
        open_dataset(write(data, HEAD + DOCUMENTS), mapping={"text": "body"})
