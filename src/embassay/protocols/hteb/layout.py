"""The layout of the authors' files: what folders and files are called, which metadata are right, and which of several
files counts (spec hteb 12).

ROOT/GENERATOR/DATASET/TRANSFORMATION/SEED/data_HASH.parquet and metadata_HASH.JSON
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from embassay.errors import DataError, UsageError
from embassay.limits import parse_bounded_json, read_bounded_file
from embassay.protocols.hteb.options import TRANSFORMATIONS
from embassay.protocols.hteb.slots import find_dataset_name_in_reference, read_reference_dataset_settings

COUNTS = (
    "records_total", "records_targeted", "text_fields_total", "records_with_fallback", "text_fields_with_fallback",
    "unchanged_outputs"
)  # fmt: skip
HISTORY = ("retried_text_fields", "recovered_after_retry_text_fields", "fallback_reasons")
STATISTICS = (*COUNTS, *HISTORY)
NAMED = ("dataset", "generator_model", "seed_transform", "transformation")
REQUIRED = (
    "generator_model", "transformation", "dataset", "seed_transform", "generation_datetime", "max_model_length",
    "max_tokens", "max_retries", "generation_statistics"
)  # fmt: skip
OPTIONAL = (
    "data_filtering", "source_revision", "translation_language_selection", "max_tokens_expansion", "transform_corpus",
    "clustering_format"
)  # fmt: skip
REASONS = frozenset({
    "prompt_too_long", "invalid_json_after_retries", "invalid_text_after_retries", "output_length_after_retries",
    "backend_failure"
})  # fmt: skip
FORMATS = ("nested", "per_language", "flat")
"""How sentences to cluster are laid out in records."""
_RESERVED = re.compile(r"(con|prn|aux|nul|com[1-9]|lpt[1-9])(\..*)?", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def encode_generator_folder(model: str) -> str:
    """The folder of a generator: its hub id, percent-encoded with `~` for `%`. UsageError for a local path, and for a
    name that is too long.

    >>> encode_generator_folder("cyankiwi/gemma-4-31B-it-AWQ-4bit")
    'cyankiwi~2Fgemma-4-31B-it-AWQ-4bit'
    """
    if _is_model_path(model):
        raise UsageError(
            f"{model!r} is not a valid model name.", mend="Use the model's name on its hub: --generator ORG/MODEL."
        )
    name = quote(model, safe="").replace("~", "%7E")
    # Windows takes no dot at the end of a name.
    bare = name.rstrip(".")
    name = bare + "%2E" * (len(name) - len(bare))
    # Windows keeps these names for devices, with any suffix.
    if _RESERVED.fullmatch(name):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    name = name.replace("%", "~")
    # Most file systems take no longer names.
    if len(name.encode()) > 255:
        raise UsageError(f"{model[:60]!r}… is too long for a folder name.", mend="Use a shorter name for --generator.")
    return name


def _is_model_path(model: str) -> bool:
    return not model.strip() or model.startswith(("/", "./", "../", "~", "\\")) or bool(re.match(r"[A-Za-z]:\\", model))


def decode_generator_folder(folder: str) -> str:
    """The inverse of `encode_generator_folder`."""
    return unquote(folder.replace("~", "%"))


def hash_generation_metadata(metadata: Mapping[str, Any]) -> str:
    """Hash the metadata of files into the name that those of one generation share."""
    dated = ("generation_datetime",) if metadata["generation_datetime"] else ()
    named = {name: metadata[name] for name in (*NAMED, *dated)}
    text = json.dumps(named, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def make_transformed_set_file_names(metadata: Mapping[str, Any]) -> tuple[str, str, str]:
    """Make the names of the data, their metadata and our own file; without a date, no hash."""
    end = f"_{hash_generation_metadata(metadata)}" if metadata["generation_datetime"] else ""
    return f"data{end}.parquet", f"metadata{end}.JSON", f"embassay{end}.json"


def is_timestamp(text: object) -> bool:
    """Whether it is a moment as the files write it, `2026-09-15T12:01:47Z`, that there is."""
    if not isinstance(text, str) or not _DATE.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class MetadataLayoutFault:
    """A rule of the reference that metadata break."""

    what: str
    expected: str
    found: object


def upgrade_and_validate_metadata(metadata: Any, path: Path) -> dict[str, Any]:
    """The metadata of a file, held against the rules of the reference: no key more, and counts that add up. DataError
    with what is wrong. What the reference itself drops or fills in older files is dropped and filled."""
    told = _upgrade_metadata(metadata)
    for fault in _list_metadata_key_faults(told):
        raise DataError(
            fault.what, path=path, expected=fault.expected, found=str(fault.found)[:80], mend="Download the file again."
        )
    return dict(told)


def _upgrade_metadata(metadata: Any) -> Any:
    """Metadata without what older files had: a number of the format, how statistics came about, null for unknown."""
    if not isinstance(metadata, dict):
        return metadata
    told = {name: value for name, value in metadata.items() if name != "format_version"}
    counts = told.get("generation_statistics")
    if isinstance(counts, dict):
        told["generation_statistics"] = {
            name: "" if name in HISTORY and value is None else value
            for name, value in counts.items()
            if name not in ("source", "stages")
        }
    return told


def _list_metadata_key_faults(told: Any) -> Iterator[MetadataLayoutFault]:
    if not isinstance(told, dict):
        yield MetadataLayoutFault("the metadata is not an object", "a JSON object", type(told).__name__)
    elif missing := [name for name in REQUIRED if name not in told]:
        yield MetadataLayoutFault("the metadata lacks a key", missing[0], ", ".join(map(str, told)))
    elif more := [name for name in told if name not in (*REQUIRED, *OPTIONAL)]:
        yield MetadataLayoutFault("the metadata has an extra key", "exactly HTEB's keys", more[0])
    else:
        yield from _find_required_field_faults(told)
        yield from _find_optional_field_faults(told)
        yield from _find_metadata_statistics_faults(told["generation_statistics"], told["max_retries"])


def _find_required_field_faults(told: Mapping[str, Any]) -> Iterator[MetadataLayoutFault]:
    transformation = told["transformation"]
    if not isinstance(transformation, str) or transformation not in TRANSFORMATIONS:
        yield MetadataLayoutFault("the transformation is unknown", ", ".join(TRANSFORMATIONS), transformation)
    if not isinstance(told["dataset"], str) or not re.fullmatch(r"[^/\\]*\S[^/\\]*", told["dataset"]):
        yield MetadataLayoutFault("the dataset is not a plain name", "a text without a slash", told["dataset"])
    if not isinstance(told["generator_model"], str) or _is_model_path(told["generator_model"]):
        yield MetadataLayoutFault("the generator is not a valid model name", "ORG/MODEL", told["generator_model"])
    for name, least in (("seed_transform", 0), ("max_model_length", 1), ("max_tokens", 1), ("max_retries", 0)):
        if not _is_count(told[name]) or told[name] < least:
            yield MetadataLayoutFault(f"{name} is not a whole number", f"{least} or more", told[name])
    date = told["generation_datetime"]
    if date is not None and not is_timestamp(date):
        yield MetadataLayoutFault("the date has the wrong format", "YYYY-MM-DDTHH:MM:SSZ or null", date)


def _find_optional_field_faults(told: Mapping[str, Any]) -> Iterator[MetadataLayoutFault]:
    selection = told.get("translation_language_selection", "dataset")
    if selection != "dataset" or ("translation_language_selection" in told) > (told["transformation"] == "translation"):
        yield MetadataLayoutFault(
            "the choice of languages is invalid", '"dataset", and only for translation', selection
        )
    expansion = told.get("max_tokens_expansion")
    if expansion is not None and not (
        told["transformation"] == "summarised_expansion"
        and _is_count(expansion)
        and 0 < expansion < told["max_model_length"]
    ):
        yield MetadataLayoutFault(
            "max_tokens_expansion is invalid", "only for summarised_expansion, below max_model_length", expansion
        )
    if not re.fullmatch("[0-9a-f]{40}", str(told.get("source_revision", "0" * 40))):
        yield MetadataLayoutFault("the revision is not a commit", "40 hexadecimal digits", told["source_revision"])
    if not isinstance(told.get("transform_corpus", True), bool):
        yield MetadataLayoutFault("transform_corpus is not a boolean", "true or false", told["transform_corpus"])
    entry = read_reference_dataset_settings().get(told["dataset"], {})
    needs = entry.get("task") in ("retrieval", "reranking")
    if entry and ("transform_corpus" in told) != needs:
        yield MetadataLayoutFault(
            "transform_corpus is wrong here", "given only for retrieval and reranking", told["dataset"]
        )
    layout = told.get("clustering_format")
    if (layout is not None and layout not in FORMATS) or (entry and layout != entry.get("format")):
        yield MetadataLayoutFault(
            "clustering_format is wrong", str(entry.get("format") or " or ".join(FORMATS)), layout
        )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _find_metadata_statistics_faults(counts: Any, retries: int) -> Iterator[MetadataLayoutFault]:
    if not isinstance(counts, dict) or set(counts) != set(STATISTICS):
        yield MetadataLayoutFault("the statistics do not have HTEB's fields", ", ".join(STATISTICS), counts)
        return
    wrong = [name for name in COUNTS if not _is_count(counts[name])]
    for name in wrong:
        yield MetadataLayoutFault(f"{name} is not a count", "a whole number, 0 or more", counts[name])
    # Empty means that the reference kept no history of its retries: all of it is unknown then.
    unknown = [counts[name] == "" for name in HISTORY]
    if any(unknown) != all(unknown):
        yield MetadataLayoutFault(
            "retries are only partly known", "all three, or none", [counts[name] for name in HISTORY]
        )
    if wrong or any(unknown) != all(unknown):
        return
    total, targeted, texts, rows, failed, unchanged = (counts[name] for name in COUNTS)
    sums = {
        "fallbacks and unchanged texts: at most all texts": failed + unchanged <= texts,
        "records with texts: at most all records": targeted <= min(total, texts) and bool(targeted) == bool(texts),
        "records with fallbacks: at most all fallbacks": rows <= min(targeted, failed) and bool(rows) == bool(failed),
    }
    for what, holds in sums.items():
        if not holds:
            yield MetadataLayoutFault("the counts do not add up", what, [counts[name] for name in COUNTS])
    if not all(unknown):
        yield from _find_retry_count_faults(counts, retries)


def _find_retry_count_faults(counts: Mapping[str, Any], retries: int) -> Iterator[MetadataLayoutFault]:
    texts, failed = counts["text_fields_total"], counts["text_fields_with_fallback"]
    retried, recovered, reasons = (counts[name] for name in HISTORY)
    fits = _is_count(retried) and _is_count(recovered) and retried <= texts and (not retried or retries > 0)
    if not fits or recovered > min(retried, texts - failed):
        yield MetadataLayoutFault(
            "the retries do not add up", "recovered at most retried, retried at most all", [retried, recovered]
        )
    if not isinstance(reasons, dict) or not all(_is_count(n) and n for n in reasons.values()):
        yield MetadataLayoutFault("the reasons are not counts", "an object of whole numbers above 0", reasons)
    elif sum(reasons.values()) != failed:
        yield MetadataLayoutFault("the reasons do not add up to the fallbacks", str(failed), reasons)
    elif unknown := sorted(set(reasons) - REASONS):
        yield MetadataLayoutFault("a reason is not one of HTEB's", ", ".join(sorted(REASONS)), unknown[0])


@dataclass(frozen=True)
class ReferenceLayoutFile:
    """A file of the reference's layout, with its metadata."""

    data: Path
    metadata: Mapping[str, Any]

    @property
    def place(self) -> tuple[str, str, int]:
        """The transformation, dataset and seed of the file."""
        return self.metadata["transformation"], self.metadata["dataset"], self.metadata["seed_transform"]


def list_newest_reference_file_pairs(
    root: Path, *, generator: str = "", datasets: Sequence[str] = ()
) -> list[ReferenceLayoutFile]:
    """The newest pair of files in every folder under `root`. DataError for half a pair, two of one date, a link, and
    for metadata that are not HTEB's; UsageError where there is none, or several generators and none is named."""
    if not root.is_dir():
        raise DataError("there is no folder here", path=root, expected="ROOT/GENERATOR/DATASET/TRANSFORMATION/SEED")
    every = sorted(path for path in root.iterdir() if path.is_dir() and path.name != "raw_sources")
    chosen = [path for path in every if not generator or path.name == encode_generator_folder(generator)]
    if len(chosen) != 1:
        names = ", ".join(decode_generator_folder(path.name) for path in every) or "none"
        raise UsageError(f"{root} has the generators {names}.", mend="Name one with --generator.")
    wanted = {find_dataset_name_in_reference(dataset) for dataset in datasets}
    folders = sorted(path for path in chosen[0].glob("*/*/*") if path.is_dir())
    newest = [_find_newest_data_metadata_pair(path) for path in folders if not wanted or path.parents[1].name in wanted]
    if not newest:
        raise UsageError(
            f"{chosen[0]} has no transformed dataset" + (f" called {' or '.join(sorted(wanted))}." if wanted else "."),
            mend="Give the folder that contains the generators' folders.",
        )
    return newest


def _find_newest_data_metadata_pair(folder: Path) -> ReferenceLayoutFile:
    data = {path.stem.removeprefix("data"): path for path in sorted(folder.glob("data*.parquet"))}
    metadata = {path.stem.removeprefix("metadata"): path for path in sorted(folder.glob("metadata*.JSON"))}
    # A link could lead out of the folder that was given.
    for path in (*data.values(), *metadata.values()):
        if path.is_symlink():
            raise DataError(
                "this is a symbolic link, which is not allowed", path=path, mend="Replace it with the file itself."
            )
    if odd := sorted(data.keys() ^ metadata.keys()):
        raise DataError(
            "one file is missing from the pair", path=(data.get(odd[0]) or metadata[odd[0]]),
            expected=f"data{odd[0]}.parquet and metadata{odd[0]}.JSON", mend="Add the other file."
        )  # fmt: skip
    if not data:
        raise DataError("there is no data here", path=folder, expected="data*.parquet and metadata*.JSON")
    read = [ReferenceLayoutFile(data[end], _read_reference_metadata_file(metadata[end], end)) for end in data]
    # No date sorts first: a file with one is newer.
    read.sort(key=lambda document: document.metadata["generation_datetime"] or "")
    dates = [document.metadata["generation_datetime"] or "" for document in read]
    if len(dates) > 1 and dates[-1] == dates[-2]:
        raise DataError("two pairs of files have the same date", path=folder, found=dates[-1], mend="Remove one pair.")
    return read[-1]


def _read_reference_metadata_file(path: Path, end: str) -> dict[str, Any]:
    try:
        metadata = parse_bounded_json(read_bounded_file(path))
    except (OSError, ValueError) as error:
        raise DataError("the metadata cannot be read", path=path, found=str(error)[:80]) from error
    told = upgrade_and_validate_metadata(metadata, path)
    folders = [path.parents[i].name for i in (3, 2, 1, 0)]
    places = [encode_generator_folder(told["generator_model"]), told["dataset"], told["transformation"]]
    places.append(str(told["seed_transform"]))
    _require_equal("the metadata belongs to another folder", path, "/".join(folders), "/".join(places))
    if end:
        _require_equal(
            "the file's name and its metadata have different hashes", path, f"_{hash_generation_metadata(told)}", end
        )
    return told


def _require_equal(what: str, path: Path, expected: str, found: str) -> None:
    if expected != found:
        raise DataError(what, path=path, expected=expected, found=found)
