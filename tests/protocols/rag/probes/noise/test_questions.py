"""The questions of a noise probe: made from authors and topics, or a retrieval dataset's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.protocols.rag.probes.options import NoiseRequest
from embassay.protocols.rag.probes.questions import list_probed_languages, load_noise_probe_questions


def folder(path: Path, grades: dict[str, dict[str, int]], lang: str = "") -> str:
    """A small retrieval set in the BEIR layout."""
    docs = {f"d{i}": f"passage {i} of tides" for i in range(6)}
    said = {"lang": lang} if lang else {}
    (path / "qrels").mkdir(parents=True)
    (path / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": k, "text": v, **said}) + "\n" for k, v in docs.items())
    )
    (path / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": q, "text": f"What is {q}?", **said}) + "\n" for q in grades)
    )
    lines = [f"{q}\t{d}\t{g}\n" for q, judged in grades.items() for d, g in judged.items()]
    (path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    return str(path)


@pytest.mark.parametrize(("lang", "need"), [("en", "works by "), ("fr", "travaux de ")])
def test_bundled_questions_have_a_need_and_a_collection(lang: str, need: str) -> None:
    request = NoiseRequest(("bm25",), queries=9)
    own = load_noise_probe_questions(request, "bundled", lang)  # type: ignore[arg-type]
    assert (own.dataset, own.role, len(own)) == (f"bundled-{lang}", "query", 9)
    assert all(text.startswith(need) for text in own.references)
    assert own.counts()[:, 4].min() >= 1
    passage = load_noise_probe_questions(NoiseRequest(("bm25",), queries=9, reference="passage"), "bundled", lang)  # type: ignore[arg-type]
    assert passage.role == "document"
    for q, text in enumerate(passage.references):
        assert own.grades[q][own.corpus.index(text)] == 5


def test_the_sample_in_both_languages() -> None:
    request = NoiseRequest(("bm25",), datasets=("sample",))
    assert list_probed_languages(request, "sample") == ("en", "fr")
    english, french = (load_noise_probe_questions(request, "sample", lang) for lang in ("en", "fr"))  # type: ignore[arg-type]
    assert (english.dataset, french.dataset) == ("sample-en", "sample-fr")
    assert not set(english.ids) & set(french.ids)
    for own in (english, french):
        assert own.role == "document"
        for q in range(len(own)):
            best = max(own.grades[q].values())
            assert own.grades[q][own.corpus.index(own.references[q])] == best


def test_grades_of_binary_and_graded_judgements(tmp_path: Path) -> None:
    binary = folder(tmp_path / "binary", {"q1": {"d0": 1, "d1": 0}, "q2": {"d2": 1}}, "en")
    three = folder(tmp_path / "three", {"q1": {"d0": 3, "d1": 1}, "q2": {"d2": 2}}, "en")
    four = folder(tmp_path / "four", {"q1": {"d0": 4, "d1": 1}, "q2": {"d2": 3}}, "en")
    found = {
        source: load_noise_probe_questions(NoiseRequest(("bm25",), datasets=(source,)), source, "en")
        for source in (binary, three, four)
    }
    assert found[binary].grades == ({0: 5, 1: 1}, {2: 5})
    assert found[three].grades == ({0: 5, 1: 3}, {2: 4})
    assert found[four].grades == ({0: 5, 1: 2}, {2: 4})
    assert "0 is 1, 1 is 5" in found[binary].warnings[-1]
    told = load_noise_probe_questions(NoiseRequest(("bm25",), datasets=(three,), grades="1=2,2=3,3=4"), three, "en")
    assert told.grades == ({0: 4, 1: 2}, {2: 3})
    assert found[binary].top(np.array([[1, 5, -1], [2, 0, 1]])).tolist() == [[1, 0, -1], [5, 0, 0]]
    assert found[binary].counts().tolist() == [[1, 0, 0, 0, 1], [0, 0, 0, 0, 1]]


def test_a_limit_draws_queries_by_their_ids(tmp_path: Path) -> None:
    source = folder(tmp_path / "many", {f"q{i}": {"d0": 1} for i in range(40)}, "en")
    some = load_noise_probe_questions(NoiseRequest(("bm25",), datasets=(source,), limit=5), source, "en")
    more = load_noise_probe_questions(NoiseRequest(("bm25",), datasets=(source,), limit=9), source, "en")
    other = load_noise_probe_questions(NoiseRequest(("bm25",), datasets=(source,), limit=5, seed=2), source, "en")
    assert len(some) == 5
    assert set(some.ids) < set(more.ids)
    assert some.ids != other.ids
    assert len(some.corpus) == 6


def test_data_without_small_talk_are_refused(tmp_path: Path) -> None:
    german = folder(tmp_path / "german", {"q1": {"d0": 1}}, "de")
    silent = folder(tmp_path / "silent", {"q1": {"d0": 1}})
    with pytest.raises(UsageError, match="'de'"):
        list_probed_languages(NoiseRequest(("bm25",), datasets=(german,)), german)
    with pytest.raises(UsageError, match="--lang"):
        list_probed_languages(NoiseRequest(("bm25",), datasets=(silent,)), silent)
    assert list_probed_languages(NoiseRequest(("bm25",), datasets=(silent,), langs=("fr",)), silent) == ("fr",)
    english = folder(tmp_path / "english", {"q1": {"d0": 1}}, "en")
    with pytest.raises(UsageError, match="'en'"):
        list_probed_languages(NoiseRequest(("bm25",), datasets=(english,), langs=("fr",)), english)
    with pytest.raises(UsageError, match="--reference passage"):
        load_noise_probe_questions(NoiseRequest(("bm25",), datasets=(english,), reference="need"), english, "en")
