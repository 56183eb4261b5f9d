"""What is asked and searched: draws, grades, chunks."""

import json
from pathlib import Path

import pytest

from embassay.errors import DataError
from embassay.protocols.rag.sweep.collection import cut_collection_into_passages, read_retrieval_collection
from embassay.protocols.rag.sweep.config import DatasetEntry, LatencySettings, SweepRequest
from embassay.protocols.rag.sweep.parts import ChunkedDatasetEvaluation, OpenedSweepParts
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer


def _folder(path, qrels):
    """A BEIR folder of five documents and as many queries as are judged."""
    (path / "qrels").mkdir(parents=True)
    text = "One fish swims. Two birds fly over the sea. Three cats sleep."
    corpus = [{"_id": f"d{i}", "title": "", "text": f"{text} Number {i}."} for i in range(5)]
    queries = [{"_id": key, "text": f"which {key}"} for key in dict.fromkeys(row[0] for row in qrels)]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = "".join(f"{query}\t{doc}\t{value}\n" for query, doc, value in qrels)
    (path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + lines)
    return str(path)


def _read(folder, request=None, **entry):
    return read_retrieval_collection(DatasetEntry(folder, **entry), request or SweepRequest((), ("wordllama",)))


def test_binary_judgements_are_the_ends_of_the_scale(tmp_path):
    """0 and 1 are 1 and 5, and it is said."""
    found = _read(_folder(tmp_path / "set", [("q1", "d0", 1), ("q1", "d2", 0), ("q2", "d1", 1)]))
    assert found.grades == ({0: 5, 2: 1}, {1: 5})
    assert found.counts.tolist() == [[1, 0, 0, 0, 1], [0, 0, 0, 0, 1]]
    assert any("0 and 1" in one for one in found.warnings)


def test_grades_are_kept_and_maps_are_used(tmp_path):
    """1 to 5 are grades; other values go through the map that is named, or are refused with one that fits."""
    five = _read(_folder(tmp_path / "five", [("q", f"d{i}", i + 1) for i in range(5)]))
    assert five.grades == ({0: 1, 1: 2, 2: 3, 3: 4, 4: 5},)
    folder = _folder(tmp_path / "three", [("q", f"d{i}", i) for i in range(4)])
    assert _read(folder, grades="trec3").grades == ({0: 1, 1: 3, 2: 4, 3: 5},)
    with pytest.raises(DataError, match="not grades from 1 to 5") as caught:
        _read(folder)
    assert "trec3" in caught.value.mend


def test_judgements_from_1_to_4_may_be_either(tmp_path):
    """Without a 5 nobody can tell grades from gains: both maps are offered, and each reads them as it says."""
    folder = _folder(tmp_path / "four", [("q", f"d{i}", i + 1) for i in range(4)])
    with pytest.raises(DataError, match="grades from 1 to 5 or gains from 0 to 4") as caught:
        _read(folder)
    assert "grades: identity" in caught.value.mend
    assert "1=2,2=3,3=4,4=5" in caught.value.mend
    assert _read(folder, grades="identity").grades == ({0: 1, 1: 2, 2: 3, 3: 4},)
    assert _read(folder, grades="1=2,2=3,3=4,4=5").grades == ({0: 2, 1: 3, 2: 4, 3: 5},)


def test_a_path_is_a_path_though_the_catalogue_has_its_name(tmp_path, monkeypatch):
    """`path: ./scifact` beside the config is that folder, wherever the sweep is started."""
    _folder(tmp_path / "scifact", [("q1", "d0", 1)])
    monkeypatch.setenv("EMBASSAY_DATA", str(tmp_path / "mirror"))
    for here, base in ((tmp_path, "."), (tmp_path.parent, tmp_path.name), ("/", tmp_path)):
        monkeypatch.chdir(here)
        found = _read("./scifact", SweepRequest((), ("wordllama",), base=Path(base)))
        assert (found.source, len(found.ids)) == ("./scifact", 5)
    _folder(tmp_path / "mirror" / "scifact", [("q1", "d0", 1), ("q2", "d0", 1)])
    monkeypatch.chdir(tmp_path.parent)
    assert len(_read("scifact").query_ids) == 2
    # A folder of one's own wins over the catalogue, and that is said.
    monkeypatch.chdir(tmp_path)
    with pytest.warns(RuntimeWarning, match="is read from your own"):
        assert len(_read("scifact").query_ids) == 1


def test_a_query_by_example_may_leave_its_own_document_out(tmp_path):
    """It is not judged, a query with nothing else relevant does not count, and the cells are others."""
    folder = _folder(tmp_path / "set", [("d0", "d0", 1), ("d0", "d1", 1), ("d2", "d2", 1), ("q", "d3", 1)])
    usual, without = _read(folder), _read(folder, exclude_self=True)
    assert usual.query_ids == ("d0", "d2", "q")
    assert without.query_ids == ("d0", "q")
    assert (without.grades, without.own) == (({1: 5}, {3: 5}), (0, None))
    assert usual.fingerprint != without.fingerprint
    assert any("own document is left out: 1" in one for one in without.warnings)
    assert [one.examples for one in without.skipped if "its own" in one.reason] == [("d2",)]


def test_queries_are_drawn_by_the_seed(tmp_path):
    """As many as asked for, the same for the same seed, and those for the clock among them."""
    folder = _folder(tmp_path / "set", [(f"q{i}", "d0", 1) for i in range(20)])
    request = SweepRequest((), ("wordllama",), queries=8, latency=LatencySettings(queries=3))
    one, again = _read(folder, request), _read(folder, request)
    other = _read(folder, SweepRequest((), ("wordllama",), queries=8, seed=2))
    assert one == again
    assert len(one.query_ids) == len(one.queries) == len(one.grades) == 8
    assert len(one.timed) == 3
    assert max(one.timed) < 8
    assert one.query_ids != other.query_ids


def test_chunks_belong_to_their_documents(tmp_path):
    """Together they hold the text; a ranking of chunks is one of documents by the best chunk."""
    found = _read(_folder(tmp_path / "set", [("q", "d0", 1)]))
    whole = cut_collection_into_passages(found, "none", open_tokenizer("words"))
    assert whole.texts == found.texts
    cut = cut_collection_into_passages(found, "8", open_tokenizer("words"))
    assert len(cut) > len(whole)
    assert cut.ids[0] == "d0#1"
    for place, text in enumerate(found.texts):
        own = [cut.texts[i] for i in range(len(cut)) if cut.documents[i] == place]
        assert " ".join(own) == text
    order = [3, 0, 4, len(cut) - 1]
    expected = list(dict.fromkeys(int(cut.documents[place]) for place in order))
    bench = ChunkedDatasetEvaluation(OpenedSweepParts(SweepRequest((), ("wordllama",)), Ledger()), found, "8", "none")
    assert bench.convert_passage_ranking_to_judged_units(0, order, [4.0, 3.0, 2.0, 1.0])[0] == tuple(expected)


@pytest.mark.parametrize("chunk", ["8?context=head", "langchain:recursive?size=8"])
def test_other_chunks_belong_to_their_documents_too(tmp_path, chunk):
    """Whatever cut them."""
    if chunk.startswith("langchain"):
        pytest.importorskip("langchain_text_splitters")
    collection = _read(_folder(tmp_path / "set", [("q", "d0", 1)]))
    cut = cut_collection_into_passages(collection, chunk, open_tokenizer("words"))
    assert len(cut) > len(collection.ids)
    assert cut.ids[0] == "d0#1"
    for place, text in zip(cut.documents.tolist(), cut.texts, strict=True):
        body = text.rpartition("\n")[2]
        assert body in collection.texts[place]
