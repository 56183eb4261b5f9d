"""Records of a bundle and documents of MTEB become each other without loss."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import DataError
from embassay.protocols.mteb import bundle_of, read_documents, split_bundle_into_documents, write_result_files
from embassay.protocols.mteb.survey import BLOCK, MAIN, are_same_json
from published_sample import record, records

REFERENCE = Path(__file__).parents[4] / "shared" / "reference" / "hume" / "results.json.gz"

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["a/b", "c/d"])
made_records = st.builds(
    lambda changes, scores, order: {
        key: {**record(), **changes, "scores": scores}[key] for key in sorted({*record(), *changes}, key=order)
    },
    st.fixed_dictionaries(
        {"model": names, "revision": names, "task": st.sampled_from(["T", "U"])},
        optional={
            "split": st.sampled_from(["test", "dev", 3]), "hf_subset": st.sampled_from(["default", "en"]),
            "main_score": st.none() | st.floats(), "languages": st.just(["eng-Latn"]) | st.just(None),
            "agreement": plain, "lang": plain, "dataset_revision": plain, "mteb_version": plain, "new": plain,
        },
    ),
    st.dictionaries(st.sampled_from(["map", "main_score", "hf_subset", "languages", "agreement", "x"]), plain),
    st.sampled_from([len, str, lambda name: name[::-1]]),
)  # fmt: skip


@given(st.lists(made_records, max_size=4))
def test_any_records_come_back_as_they_were(found: list[dict[str, object]]) -> None:
    """Values in every digit and type, the order of records and of their fields; whatever is in them."""
    back = bundle_of(split_bundle_into_documents(json.loads(json.dumps(found))))
    assert are_same_json(back, found)
    assert [list(one) for one in back] == [list(one) for one in found]


def test_through_folders_and_back(tmp_path: Path) -> None:
    """Written as MTEB has it, read and made records again; what MTEB has no place for is in our block."""
    written = write_result_files(split_bundle_into_documents(records()), tmp_path)
    assert (written.files, written.models, written.entries) == (6, 4, 9)
    assert are_same_json(bundle_of(read_documents(tmp_path)), records())
    body = json.loads((tmp_path / "results/other__two/r1/STS22.json").read_text())
    assert [entry["hf_subset"] for entry in body["scores"]["test"]] == ["en", "ru"]
    assert body["scores"]["dev"][0][MAIN] == 0.3
    assert body[BLOCK]["records"][0]["values"].keys() >= {"category", "task_short", "lang"}
    (tmp_path / "results/other__two/r1/STS22.json").write_text(json.dumps({**body, BLOCK: {"records": [1, {}, 2]}}))
    assert len(bundle_of(read_documents(tmp_path))) == 9  # a block that somebody broke loses no score


def test_a_broken_record_loses_no_other() -> None:
    """It is told of by its number; without a listener it is an error."""
    told: list[str] = []
    broken = [record(), 3, record(model=""), record(scores=[1]), record(task="T", main_score="high"), record(task="U")]
    documents = list(split_bundle_into_documents(broken, fault=told.append))
    assert [one.task for one in documents] == ["STS22", "U"]
    assert ["Result 2 is not an object" in told[0], "Result 3 has no model" in told[1], "results 5" in told[3]] == [
        True
    ] * 3
    with pytest.raises(DataError, match="Result 2 is not an object"):
        list(split_bundle_into_documents(broken))


@pytest.mark.shared
@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference results are not here")
def test_the_598_published_records(tmp_path: Path) -> None:
    """Exported to the public layout and read back without loss."""
    known = json.loads(gzip.decompress(REFERENCE.read_bytes()))["results"]
    written = write_result_files(split_bundle_into_documents(known), tmp_path)
    assert (written.entries, written.files) == (598, 359)
    back = bundle_of(read_documents(tmp_path))
    assert are_same_json(back, known)
    assert [list(one) for one in back] == [list(one) for one in known]


@pytest.mark.slow
@pytest.mark.mteb
@pytest.mark.shared
@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference results are not here")
def test_mteb_reads_twenty_of_them(tmp_path: Path) -> None:
    """Its main scores are those published, and it knows every model's name, by file and through its own loader."""
    mteb = pytest.importorskip("mteb")
    from mteb.models.model_meta import ModelMeta
    from mteb.results import TaskResult

    known = json.loads(gzip.decompress(REFERENCE.read_bytes()))["results"]
    write_result_files(split_bundle_into_documents(known), tmp_path)
    files = [path for path in sorted(tmp_path.glob("results/*/*/*.json")) if path.name != "model_meta.json"]
    assert len(files) == 359
    for path in files[::18][:20]:
        meta = ModelMeta.model_validate_json_resolved(path.with_name("model_meta.json").read_text())
        read = TaskResult.from_disk(path)
        ours = [one for one in known if (one["model"], one["revision"], one["task"]) == (
            meta.name, meta.revision, read.task_name)]  # fmt: skip
        assert [entry["main_score"] for entry in read.scores["test"]] == [one["main_score"] for one in ours]
        assert {entry["hf_subset"] for entry in read.scores["test"]} == {one["hf_subset"] for one in ours}
        assert read.dataset_revision == ours[0]["dataset_revision"]
    loaded = mteb.ResultCache(tmp_path).load_results(include_remote=False)
    assert {(one.model_name, one.model_revision) for one in loaded.model_results} == {
        (one["model"], one["revision"]) for one in known
    }
