"""Every shape in which results come; broken ones are named, counted, and do no harm."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from embassay.errors import DataError
from embassay.protocols.mteb.survey import (
    SurveyReadingFindings,
    decode_model_folder,
    make_folder_name_of_model,
    read_documents,
)
from published_sample import bundle, task_file


def found(source: Path) -> list[tuple[str, str, str, str]]:
    return [(one.model, one.revision, one.experiment, one.task) for one in read_documents(source)]


def test_every_part_of_a_clone(tmp_path: Path) -> None:
    """The clone, its results, a model, a revision and a file know whose they are."""
    place = tmp_path / "clone" / "results" / "org__model" / "rev"
    task_file(place)
    task_file(place / "experiments" / "dims_64")
    (tmp_path / "clone" / "paths.json").write_text("{}")
    (tmp_path / "clone" / "results" / ".cache").mkdir()
    (tmp_path / "clone" / "results" / ".cache" / "x.json").write_text("{}")
    whole = [("org/model", "rev", "", "Toy"), ("org/model", "rev", "dims_64", "Toy")]
    for source in (tmp_path / "clone", tmp_path / "clone" / "results", place.parent, place):
        assert found(source) == whole
    assert found(place / "Toy.json") == whole[:1]


def test_the_account_of_a_model_names_it(tmp_path: Path) -> None:
    """Rather than its folder, whose name had to do without some letters."""
    place = tmp_path / "org__a_b" / "1"
    task_file(place)
    (place / "model_meta.json").write_text(json.dumps({"name": "org/a b", "revision": "1.0", "n_parameters": 5}))
    reading = SurveyReadingFindings()
    (one,) = read_documents(tmp_path, reading)
    assert (one.model, one.revision) == ("org/a b", "1.0")
    assert reading.metas["org/a b", "1.0", ""]["n_parameters"] == 5


@pytest.mark.parametrize("model", ["intfloat/e5-base", "a/b c", "st:./x?y=1", "a/b/c", "ä/ö"])
def test_folders_are_safe_and_distinct(model: str) -> None:
    folder = make_folder_name_of_model(model)
    assert "/" not in folder
    assert folder not in ("", ".", "..")
    if model == "intfloat/e5-base":
        assert decode_model_folder(folder) == model
    assert len({make_folder_name_of_model(name) for name in ("a/b", "a:b", "a?b", "a b")}) == 4


BROKEN = {
    "cut": ("{", "cannot be read as JSON"),
    "list": ("[1]", "MTEB results file"),
    "empty": ("{}", "The task_name is not a name"),
    "old": ('{"mteb_dataset_name": "X", "test": {}}', "before 1.11"),
    "noscores": ('{"task_name": "X"}', "There are no scores"),
    "split": ('{"task_name": "X", "scores": {"test": 3}}', "'test' are not a list"),
    "entry": ('{"task_name": "X", "scores": {"test": [3]}}', "is not an object"),
    "main": ('{"task_name": "X", "scores": {"test": [{}]}}', "main_score that is not a number"),
    "text": ('{"task_name": "X", "scores": {"test": [{"main_score": "0.5"}]}}', "main_score that is not a number"),
    "subset": ('{"task_name": "X", "scores": {"test": [{"main_score": 1, "hf_subset": "a\\nb"}]}}', "hf_subset"),
    "langs": ('{"task_name": "X", "scores": {"test": [{"main_score": 1, "languages": [1]}]}}', "languages"),
    "name": ('{"task_name": "X\\ud800", "scores": {}}', "The task_name is not a name"),
    "deep": ("[" * 100_000, "cannot be read as JSON"),
}


def test_broken_files_are_named_and_the_others_read(tmp_path: Path) -> None:
    """Each with its path, what is wrong and what was expected."""
    place = tmp_path / "org__model" / "rev"
    task_file(place)
    for name, (text, _) in BROKEN.items():
        (place / f"{name}.json").write_text(text)
    (place / "packed.json.gz").write_bytes(gzip.compress(b'{"task_name": "Y"}')[:15])
    (place / "binary.json").write_bytes(b"\xff\xfe\x00")
    reading = SurveyReadingFindings()
    assert [one.task for one in read_documents(tmp_path, reading)] == ["Toy"]
    told = {Path(fault.path).stem: fault.reason for fault in reading.faults}
    assert len(told) == len(BROKEN) + 2 == len(reading.faults)
    for name, (_, what) in BROKEN.items():
        assert what in told[name]
    assert reading.files == len(BROKEN) + 3
    assert 'expected {"task_name"' in told["main"]


def test_a_file_may_be_too_large_unpacked(tmp_path: Path) -> None:
    """A small file that unpacks to a large one is not read into memory."""
    place = tmp_path / "org__model" / "rev"
    task_file(place)
    (place / "bomb.json.gz").write_bytes(gzip.compress(b" " * 50_000_000))
    reading = SurveyReadingFindings()
    assert len(list(read_documents(tmp_path, reading, max_bytes=10_000))) == 1
    assert "too large" in reading.faults[0].reason
    assert "10,000 bytes" in reading.faults[0].reason


def test_a_bundle_tells_its_head_and_there_must_be_a_source(tmp_path: Path) -> None:
    reading = SurveyReadingFindings()
    assert len(list(read_documents(bundle(tmp_path / "x.json"), reading))) == 6
    assert reading.head == {"source": {"commit": "f00"}, "n": 9}
    with pytest.raises(DataError, match="no such file"):
        list(read_documents(tmp_path / "none"))
