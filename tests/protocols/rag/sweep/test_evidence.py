"""Judged by places in documents: the same evidence however they are cut, found once most of it is in the list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.sweep.collection import GradedEvidenceSpan, PassagesToIndex, cut_collection_into_passages
from embassay.protocols.rag.sweep.config import parse_sweep_request
from embassay.protocols.rag.sweep.evidence import (
    convert_passages_to_evidence_spans,
    name_ranked_units,
    open_judged_collection,
)
from embassay.protocols.rag.sweep.protocol import read_sweep_measurements
from embassay.text import open_tokenizer
from protocols.rag.sweep.planted import entry_of, plant_machines, write_rows

QUICK = {"queries": 1, "warmup": 0, "repeats": 1, "concurrency": 1}
SMALL: dict[str, Any] = {
    "k": 10, "latency": QUICK, "measures": ["N-Recall5", "nDCG"], "cutoffs": [1, 3], "rules": {"measure": "nDCG@3"},
}  # fmt: skip


def passages(*spans: tuple[int, int, int]) -> PassagesToIndex:
    """Passages of documents at (document, start, end)."""
    rows = np.array(spans, dtype=np.int64)
    ids = [f"d#{i}" for i in range(len(rows))]
    return PassagesToIndex(ids, ids, rows[:, 0], rows[:, 1:])


def units(places: list[int], cut: PassagesToIndex, *pieces: GradedEvidenceSpan, share: float = 0.8) -> list[str]:
    """What a ranking of passages is by name."""
    ranked, scores = convert_passages_to_evidence_spans(
        places, [1.0 / (1 + i) for i in range(len(places))], cut, pieces, share
    )
    assert len(ranked) == len(scores)
    return name_ranked_units(ranked, cut, pieces)


def piece(start: int, end: int, grade: int = 5, document: int = 0) -> GradedEvidenceSpan:
    return GradedEvidenceSpan(document, start, end, grade, f"E{start}")


class TestFinding:
    """By hand: evidence of 10 characters, from 100 to 110."""

    def test_a_border_within_the_evidence(self) -> None:
        """Half of it finds nothing, and the half that completes it does, in whatever order they come."""
        cut = passages((0, 90, 105), (0, 105, 120), (0, 60, 90))
        assert units([2, 0, 1], cut, piece(100, 110)) == ["d#2", "d#0", "E100"]
        assert units([1, 2, 0], cut, piece(100, 110)) == ["d#1", "d#2", "E100"]
        assert units([0], cut, piece(100, 110)) == ["d#0"]
        assert units([0], cut, piece(100, 110), share=0.5) == ["E100"]

    def test_most_of_it_is_enough_and_it_is_found_once(self) -> None:
        """8 of 10 characters; what overlaps is not counted twice; a second passage with it is one without."""
        cut = passages((0, 90, 108), (0, 100, 120), (0, 92, 104), (0, 98, 105))
        assert units([0, 1], cut, piece(100, 110)) == ["E100", "d#1"]
        assert units([2, 3], cut, piece(100, 110)) == ["d#2", "d#3"]

    def test_a_passage_with_several_takes_a_place_for_each(self) -> None:
        """Three in one whole document are as many as in three sentences; those of low grade take none besides."""
        three = (piece(0, 10), piece(20, 30, 4), piece(40, 50))
        assert units([1, 0], passages((0, 0, 60), (1, 0, 60)), *three) == ["d#1", "E0", "E40", "E20"]
        single = passages((0, 0, 12), (0, 18, 30), (0, 38, 60), (1, 0, 60))
        assert units([3, 0, 2, 1], single, *three) == ["d#3", "E0", "E40", "E20"]
        assert units([0], passages((0, 0, 60)), piece(0, 10), piece(20, 30, 2)) == ["E0"]
        assert units([0], passages((0, 0, 60)), piece(0, 10, 1), piece(20, 30, 2)) == ["E20"]

    def test_another_document_has_none(self) -> None:
        assert units([0], passages((1, 100, 110)), piece(100, 110)) == ["d#0"]


def test_planted_evidence_is_the_same_for_every_cut(tmp_path: Path) -> None:
    """As many pieces are to be found, whether documents are whole, cut into sentences, or at every ninth token."""
    entry = plant_machines(tmp_path / "set")
    chunks = ["none", "9", "fixed?size=9", "9?context=title"]
    config = {**SMALL, "datasets": entry, "encoder": "wordllama", "chunk": chunks, "mode": ["dense", "sparse"]}
    eb.rag.sweep(config, out=tmp_path / "run")
    sweep = read_sweep_measurements(tmp_path / "run")
    by_id = {stack.configuration.id: stack.quality for stack in sweep.measured}
    # Words find the document that has the machine's name, and no passage with the evidence has it.
    assert by_id["bm25/k10/sparse"]["N-Recall5@1"].mean() == 1
    assert by_id["bm25/k10/sparse/chunk=9"]["N-Recall5@1"].mean() == 0
    # Vectors: sentences alone are told apart by chance, with their title by what they are of.
    alone, titled = (by_id[f"wordllama/flat/k10/dense/chunk=9{rest}"] for rest in ("", "?context=title"))
    assert titled["nDCG@3"].mean() > alone["nDCG@3"].mean() + 0.2
    # No run of nine tokens holds a sentence of nine that begins elsewhere: two passages are needed.
    assert by_id["wordllama/flat/k10/dense/chunk=fixed?size=9"]["N-Recall5@1"].mean() == 0
    again = eb.rag.sweep(config, out=tmp_path / "run")
    assert again.manifest["status"] == "finished"


def test_late_chunks_know_what_it_is(tmp_path: Path) -> None:
    """The same passages and texts in other vectors, which are kept for another run."""
    pytest.importorskip("onnxruntime")
    entry = plant_machines(tmp_path / "set")
    config = {**SMALL, "datasets": entry, "encoder": ["minilm", "wordllama"], "chunk": ["9", "9?context=late"]}
    eb.rag.sweep({**config, "mode": ["dense", "sparse"]}, out=tmp_path / "run")
    sweep = read_sweep_measurements(tmp_path / "run")
    by_id = {stack.configuration.id: stack for stack in sweep.measured}
    plain, late = (by_id[f"minilm/flat/k10/dense/chunk=9{rest}"] for rest in ("", "?context=late"))
    assert late.quality["nDCG@3"].mean() > plain.quality["nDCG@3"].mean() + 0.2
    reasons = {gone.configuration.id: gone.reason for gone in sweep.skipped}
    assert "minilm" in reasons["wordllama/flat/k10/dense/chunk=9?context=late"]
    assert "BM25" in reasons["bm25/k10/sparse/chunk=9?context=late"]
    assert not any(gone.failed for gone in sweep.skipped)
    # Another folder finds all vectors in the cache.
    eb.rag.sweep(config, out=tmp_path / "other")
    counts = read_sweep_measurements(tmp_path / "other").counts
    assert (counts.embedded, counts.embedded_before > 0) == (0, True)


def test_only_late_chunks_of_who_makes_none(tmp_path: Path) -> None:
    """Then nothing is left, and the reason is the error."""
    entry = plant_machines(tmp_path / "set")
    config = {**SMALL, "datasets": entry, "encoder": "wordllama", "chunk": "9?context=late"}
    with pytest.raises(UsageError, match="no contextual token vectors"):
        eb.rag.sweep(config, out=tmp_path / "run")


def read(entry: dict[str, Any], **more: Any) -> Any:
    request = parse_sweep_request({"datasets": {**entry, **more}, "encoder": "wordllama", "queries": 100})
    return open_judged_collection(request.datasets[0], request)


def test_places_count_from_the_text_and_not_from_the_title(tmp_path: Path) -> None:
    """What is indexed has the title before the text; the places of evidence are those of the column `text`."""
    collection = read(plant_machines(tmp_path / "set"))
    for pieces in collection.evidence:
        [evidence] = pieces
        assert collection.texts[evidence.document][evidence.start : evidence.end].startswith("It failed")
        assert evidence.grade == 5
    cut = cut_collection_into_passages(collection, "9", open_tokenizer("words"))
    for text, document, (start, end) in zip(cut.texts, cut.documents, cut.spans, strict=True):
        assert collection.texts[document][start:end] == text


def test_a_folder_of_documents(tmp_path: Path) -> None:
    """Documents by their paths; places in the text of the file as Embassay reads it."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "shop.md").write_text(
        "---\ntitle: The shop\n---\n# Hours\n\nIt opens at nine.\n\n# Refunds\n\nIn five days.\n"
    )
    (folder / "yard.md").write_text("# Hours\n\nIt opens at ten.\n")
    text = "# Hours\n\nIt opens at nine."
    write_rows(tmp_path / "queries.jsonl", [{"id": "q", "text": "When does the shop open?"}])
    place = {"start": text.index("It"), "end": len(text), "text": "It opens at nine."}
    write_rows(tmp_path / "spans.jsonl", [{"query_id": "q", "document": "shop.md", **place}])
    entry = {"path": str(folder), "queries": str(tmp_path / "queries.jsonl"), "spans": str(tmp_path / "spans.jsonl")}
    collection = read(entry)
    assert collection.ids == ("shop.md", "yard.md")
    cut = cut_collection_into_passages(collection, "6?context=title", open_tokenizer("words"))
    assert "The shop > Hours\nIt opens at nine." in " ".join(cut.texts).replace("# Hours\n\n", "")


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ([{"query_id": "q0", "document": "d0", "start": 0, "end": 900}], "900"),
        ([{"query_id": "q0", "document": "d0", "start": 0, "end": 3, "text": "Its"}], "'The'"),
        ([{"query_id": "q0", "document": "nowhere", "start": 0, "end": 3}], "nowhere"),
        ([{"query_id": "q0", "document": "d0", "start": 0, "end": 3, "relevance": 7}], "7"),
        ([{"query_id": "q0", "document": "d0", "start": 0, "end": 3, "relevance": 0}], "no query has evidence"),
    ],
)
def test_evidence_that_cannot_be(tmp_path: Path, spans: list[dict[str, Any]], said: str) -> None:
    """Offsets beyond the text, other words than the file quotes, other documents: never a score of nothing."""
    entry = plant_machines(tmp_path / "set")
    write_rows(tmp_path / "set" / "spans.jsonl", spans)
    with pytest.raises(DataError) as caught:
        read(entry)
    assert said in str(caught.value)


def test_evidence_that_is_left_out_is_counted(tmp_path: Path) -> None:
    """Of other queries, and in documents that the corpus lacks."""
    entry = plant_machines(tmp_path / "set")
    path = Path(entry["spans"])
    more = [
        {"query_id": "stranger", "document": "d0", "start": 0, "end": 3},
        {"query_id": "q0", "document": "gone", "start": 0, "end": 3},
    ]
    write_rows(path, [*map(json.loads, path.read_text().splitlines()), *more])
    collection = read(entry)
    assert len(collection.query_ids) == 12
    assert sorted(left.examples[0] for left in collection.skipped) == ["gone", "stranger"]


def test_the_share_is_part_of_what_is_measured(tmp_path: Path) -> None:
    """Another share is another fingerprint, as are other places; it needs evidence."""
    entry = plant_machines(tmp_path / "set")
    assert read(entry).fingerprint != read(entry, share=0.5).fingerprint
    with pytest.raises(UsageError, match="no evidence"):
        read({"path": "sample", "share": 0.5})
    with pytest.raises(UsageError, match="queries"):
        read({key: value for key, value in entry_of(tmp_path).items() if key != "queries"} | {"path": str(tmp_path)})
