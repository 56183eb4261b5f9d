"""Reads MTEB results: one file of many systems, or folders `org__model/revision/Task.json`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from embassay.errors import DataError
from embassay.protocols.hume.published.evaluations import Evaluation
from embassay.protocols.hume.published.languages import iso_639_3
from embassay.protocols.hume.published.study import Study, paper_study
from embassay.protocols.mteb.document import MAIN
from embassay.protocols.mteb.json_text import MEND, read_json
from embassay.protocols.mteb.layout import files_below, owner_of

_EXPERIMENTS, _AGREEMENT = "scores_per_experiment", "agreement"


def read_results(path: Path, study: Study | None = None) -> tuple[Evaluation, ...]:
    """All evaluations of a file or of the files below a folder, in the order of their names.

    A file is either a collection, `{"results": [{"model", "revision", "task", "hf_subset", "main_score", "scores"}]}`,
    or one task of MTEB, `{"task_name", "scores": {"test": [...]}}`, whose system and revision are the two folders
    above it. Only the test split counts. DataError for files that are neither, or cannot be read.
    """
    study = study or paper_study()
    if not path.exists():
        raise DataError("There is no such file or folder", path=path, mend=MEND)
    found = tuple(one for file in _files(path) for one in _of_file(file, study))
    if not found:
        raise DataError("No results of the test split were found", path=path, mend=MEND)
    return found


def _files(path: Path) -> Sequence[Path]:
    return [path] if path.is_file() else list(files_below(path))


def _of_file(path: Path, study: Study) -> Iterator[Evaluation]:
    document = read_json(path)
    if isinstance(document, dict) and isinstance(document.get("results"), list):
        entries = document["results"]
    elif isinstance(document, dict) and isinstance(document.get("scores"), dict):
        entries = _entries_of_task(document, path)
    else:
        raise DataError("This is no file of MTEB results", path=path, mend=MEND)
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise _fault(path, number, "is no object", entry)
        if entry.get("split", "test") == "test":
            yield _evaluation(entry, path, number, study)


def _entries_of_task(document: Mapping[str, Any], path: Path) -> list[Any]:
    """A file of one task as entries of a collection; the folders say which system it is of."""
    entries = document["scores"].get("test", [])
    if not isinstance(entries, list):
        raise DataError("Its test split is no list", path=path, found=type(entries).__name__, mend=MEND)
    model, revision, _ = owner_of(path.resolve().parent, None)
    own = {"model": model, "revision": revision, "task": document.get("task_name")}
    return [
        {"scores": entry, _AGREEMENT: entry.get(_AGREEMENT), **own, **_placed(entry)}
        if isinstance(entry, dict)
        else entry
        for entry in entries
    ]


def _placed(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("hf_subset", "languages", MAIN) if key in entry}


def _evaluation(entry: Mapping[str, Any], path: Path, number: int, study: Study) -> Evaluation:
    for key in ("model", "revision", "task"):
        if not isinstance(entry.get(key), str) or not entry[key]:
            raise _fault(path, number, f"has no {key}", entry.get(key))
    scores, agreement = entry.get("scores") or {}, entry.get(_AGREEMENT) or {}
    if not isinstance(scores, dict) or not isinstance(agreement, dict):
        raise _fault(path, number, "has scores or an agreement that are no object", entry.get("scores"))
    known = study.dataset(entry["task"])
    return Evaluation(
        system=entry["model"],
        revision=entry["revision"],
        dataset=known.name if known else entry["task"],
        lang=_language(entry, path, number),
        subset=str(entry.get("hf_subset", "default")),
        main_score=_main_score(entry, path, number),
        metrics=_numbers(scores),
        experiments=tuple(_numbers(one) for one in scores.get(_EXPERIMENTS) or () if isinstance(one, dict)),
        agreement=_numbers(agreement),
        agreement_metric=str(agreement.get("metric", "")),
        simulated=scores.get("simulated") is True,
    )


def _language(entry: Mapping[str, Any], path: Path, number: int) -> str:
    """From `languages`, which always says it; a subset's name (`default`, `en`) only where that is missing."""
    languages = entry.get("languages") or [entry.get("lang") or entry.get("hf_subset")]
    if not isinstance(languages, list) or not isinstance(languages[0], str) or languages[0] == "default":
        raise _fault(path, number, "does not say its language", languages)
    return iso_639_3(languages[0])


def _main_score(entry: Mapping[str, Any], path: Path, number: int) -> float:
    value = entry.get(MAIN)
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1:
        raise _fault(path, number, "has a main score that is no fraction from -1 to 1", value)
    return float(value)


def _numbers(block: Mapping[str, Any]) -> dict[str, float]:
    """What is a number; lists, texts and MTEB's own bookkeeping are left out."""
    return {
        key: float(value)
        for key, value in block.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and key != MAIN
    }


def _fault(path: Path, number: int, what: str, found: object) -> DataError:
    return DataError(f"Result {number + 1} {what}", path=path, found=repr(found)[:80], mend=MEND)
