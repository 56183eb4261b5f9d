"""One system's results on one task, as a file of MTEB holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from embassay.errors import DataError

MAIN = "main_score"
BLOCK = "embassay"
"""Our key in a file of MTEB, beside its own, which MTEB ignores."""
_EXPECTED = (
    '{"task_name": ..., "dataset_revision": ..., "scores": {SPLIT: [{"main_score": ..., "hf_subset": ...}]}}'
)
_LONGEST = 300
Plain = Mapping[str, Any]


@dataclass(frozen=True)
class Document:
    """A file: `body` is all that it holds, untouched; `model` and `revision` say whose results these are.

    `experiment` is the folder of a run with other settings, empty for the usual one.
    """

    model: str
    revision: str
    body: Plain
    experiment: str = ""

    @property
    def task(self) -> str:
        """The task's name."""
        return str(self.body["task_name"])

    def entries(self) -> Iterator[tuple[str, Plain]]:
        """Every split's name with each of its entries: scores with `main_score`, `hf_subset` and `languages`."""
        for split, entries in self.body["scores"].items():
            for entry in entries:
                yield split, entry


def checked(document: Document, where: Any = None) -> Document:
    """The document, if a reader can work with it. DataError that says what is wrong where it is not one of MTEB."""
    for what, name in (("model", document.model), ("revision", document.revision)):
        _check_name(what, name, where)
    body = document.body
    if "mteb_dataset_name" in body:
        raise DataError(
            "This file is of MTEB before 1.11", path=where, expected=_EXPECTED,
            mend="Let mteb rewrite it: mteb.TaskResult.from_disk(path).to_disk(path).",
        )  # fmt: skip
    _check_name("task_name", body.get("task_name"), where)
    if document.experiment:
        _check_name("experiment", document.experiment, where)
    scores = body.get("scores")
    if not isinstance(scores, dict):
        raise _fault("There are no scores", where, scores)
    for split, entries in scores.items():
        _check_name("split", split, where)
        if not isinstance(entries, list):
            raise _fault(f"The scores of {split!r} are no list", where, entries)
        for entry in entries:
            _check_entry(entry, split, where)
    return document


def languages(entry: Plain) -> list[str]:
    """The languages of an entry without their scripts, as `eng`; empty where it says none."""
    return [one.split("-")[0].split("_")[0] for one in entry.get("languages") or ()]


def number(value: Any) -> float | int | None:
    """The value where it is a number, NaN included; None for everything else."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _check_entry(entry: Any, split: str, where: Any) -> None:
    if not isinstance(entry, dict):
        raise _fault(f"An entry of {split!r} is no object", where, entry)
    main = entry.get(MAIN)
    if MAIN not in entry or (main is not None and number(main) is None):
        raise _fault(f"An entry of {split!r} has a main_score that is no number", where, main)
    subset, spoken = entry.get("hf_subset", "default"), entry.get("languages") or []
    if not isinstance(subset, str) or not is_name(subset):
        raise _fault(f"An entry of {split!r} has a hf_subset that is no name", where, subset)
    if not isinstance(spoken, list) or not all(isinstance(one, str) and is_name(one) for one in spoken):
        raise _fault(f"An entry of {split!r} has languages that are no list of names", where, spoken)


def _check_name(what: str, name: Any, where: Any) -> None:
    if not isinstance(name, str) or not name or not is_name(name):
        raise _fault(f"The {what} is no name", where, name)


def is_name(text: str) -> bool:
    """Printable: names are shown, and written to files."""
    return len(text) <= _LONGEST and text.isprintable()


def _fault(what: str, where: Any, found: Any) -> DataError:
    return DataError(what, path=where, expected=_EXPECTED, found=repr(found)[:60])
