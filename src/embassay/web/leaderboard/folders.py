"""The run folders under a folder, as a leaderboard sees them: what ran, what it scored, which belong on one board."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from embassay.data.rows import unescape_spreadsheet_formula
from embassay.errors import DataError
from embassay.limits import (
    FILES,
    parse_bounded_json,
    parse_json_written_by_embassay,
    read_bounded_file,
    read_bounded_lines,
)
from embassay.protocols.kernel import tables as numbers
from embassay.records import ResultRow
from embassay.report.record import KINDS, find_run_kind_in_manifest
from embassay.runs.folder import MANIFEST, RunFolder, is_run_folder

RESULTS, HEADLINES, REPORT = "results.jsonl", "headlines.parquet", "report.html"
_CELLS = "cells"
_DEPTH = 12
Stamp = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class ScannedFolder:
    """A folder with a manifest. `name` is relative to the folder served, with `/`; `stamp` are time (ns) and size of
    what a board is made of, (0, 0) where it is not there; `touched` is the newest of these times, in seconds."""

    name: str
    path: Path
    stamp: Stamp
    touched: float
    has_report: bool


def find_run_folders(root: Path) -> Iterator[ScannedFolder]:
    """All run folders below `root`, itself included, in the order of their names. Links are not followed: what they
    lead to may lie elsewhere. A folder that cannot be listed is passed over; nothing is looked for inside a run."""
    yield from _iterate_scanned_subfolders(root, root, _DEPTH)


def _iterate_scanned_subfolders(root: Path, folder: Path, depth: int) -> Iterator[ScannedFolder]:
    try:
        with os.scandir(folder) as entries:
            # No more than the limit: a folder may hold any number of entries.
            by_name = {entry.name: entry for entry in islice(entries, FILES.most) if not entry.is_symlink()}
    except OSError:
        return
    manifest = by_name.get(MANIFEST)
    if (
        manifest is not None
        and manifest.is_file()
        and _is_run_folder(manifest.path, *_time_and_size_of_entry(manifest))
    ):
        yield _make_scanned_folder(root, folder, by_name)
        return
    below = [name for name, entry in by_name.items() if entry.is_dir(follow_symlinks=False)]
    for name in sorted(below) if depth else ():
        if not name.startswith("."):
            yield from _iterate_scanned_subfolders(root, folder / name, depth - 1)


@lru_cache(maxsize=20_000)
def _is_run_folder(path: str, at: int, size: int) -> bool:  # noqa: ARG001 - a changed file is another question
    return is_run_folder(Path(path).parent)


def _make_scanned_folder(root: Path, folder: Path, entries: dict[str, os.DirEntry[str]]) -> ScannedFolder:
    stamp = tuple(_time_and_size_of_entry(entries.get(name)) for name in (MANIFEST, RESULTS, HEADLINES, _CELLS, REPORT))
    name = folder.relative_to(root).as_posix()
    return ScannedFolder(
        root.name if name == "." else name, folder, stamp, max(at for at, _ in stamp) / 1e9, stamp[-1] != (0, 0)
    )


def _time_and_size_of_entry(entry: os.DirEntry[str] | None) -> tuple[int, int]:
    """Time and size; a folder's size says nothing, its time changes with every file that is added."""
    try:
        status = entry.stat(follow_symlinks=False) if entry is not None else None
    except OSError:
        status = None
    if status is None:
        return 0, 0
    return status.st_mtime_ns, status.st_size if stat.S_ISREG(status.st_mode) else 1


Place = tuple[str, str, str]
"""Task, dataset (empty: over all) and measure."""
Score = tuple[float | None, float | None, float | None, int, str]
"""Value, low, high, n, reason."""
_KEPT = ("status", "updated", "created", "embassay", "protocol", "arguments", "systems", "datasets")
_KNOWN = frozenset(KINDS)
_SMALL = 4096
"""A failed cell's record has no replicates, so it is small; a done one's need not be read."""


@dataclass(frozen=True)
class RunFolderCellStatus:
    """A cell of the run: `done`, `failed` or `not run`."""

    task: str
    dataset: str
    system: str
    status: str
    reason: str = ""
    seconds: float | None = None
    texts: int = 0


@dataclass(frozen=True)
class LoadedRunData:
    """One run. `manifest` has only what boards need, for thousands are held. `scores` are the rows without variant and
    subset, by place and system, in the order of the file."""

    folder: ScannedFolder
    manifest: Mapping[str, Any]
    kind: str
    scores: Mapping[Place, Mapping[str, Score]]
    work: tuple[RunFolderCellStatus, ...]
    langs: Mapping[str, str] = field(default_factory=dict)
    stacks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of a sweep: what each stack costs and takes."""
    written: Mapping[str, str] = field(default_factory=dict)
    """By the name shown, the name in the files, where these differ."""
    scripts: str = ""
    """`All` or `Some` where annotators of a study are scripts."""
    people: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Of a study, by dataset: how well people agree, in words, and how far that can be relied on."""

    def find_original_system_name(self, system: str) -> str:
        """What the run's files call a system."""
        return self.written.get(system, system)

    @property
    def name(self) -> str:
        """Its folder, relative."""
        return self.folder.name

    @property
    def is_running(self) -> bool:
        """Whether the run itself says that it is running."""
        return self.manifest.get("status") == "running"

    @property
    def updated(self) -> str:
        """When the manifest was last written, in ISO form."""
        return str(self.manifest.get("updated") or self.manifest.get("created") or "")

    @cached_property
    def cells_by_system(self) -> Mapping[str, tuple[RunFolderCellStatus, ...]]:
        """The cells by system."""
        by_system: dict[str, list[RunFolderCellStatus]] = {}
        for work in self.work:
            by_system.setdefault(work.system, []).append(work)
        return {name: tuple(works) for name, works in by_system.items()}

    @cached_property
    def described(self) -> Mapping[str, Mapping[str, Any]]:
        """What the manifest says of each system."""
        return {display_system_name(str(system["name"])): system for system in self.manifest.get("systems") or ()}

    @property
    def systems(self) -> tuple[str, ...]:
        """Everybody who has a value or is to have one; of a sweep the stacks, not what they are made of."""
        scored = dict.fromkeys(name for by_name in self.scores.values() for name in by_name)
        if self.kind == "sweep":
            return tuple(scored)
        return tuple(scored | dict.fromkeys(work.system for work in self.work))


def read_leaderboard_run(folder: ScannedFolder) -> LoadedRunData:
    """Read a run. DataError for one that cannot be read, in words that name no place on this machine."""
    run = RunFolder(folder.path)
    try:
        manifest = run.read_manifest()
        if manifest is None:
            raise DataError("it no longer has a manifest")
        if not isinstance(manifest.get("protocol"), str) or not manifest["protocol"]:
            raise DataError("its manifest names no protocol")
        kind = find_run_kind_in_manifest(manifest)
        if kind not in _KNOWN:
            raise DataError(f"this version of Embassay does not support runs of {kind[:40]!r}")
        scores, langs = _read_scores_and_languages(run.results, manifest.get("status") == "running")
        work = tuple(_read_manifest_cells(run, manifest))
        facts = {name: manifest[name] for name in _KEPT if name in manifest}
        names = [str(system["name"]) for system in manifest.get("systems") or ()]
        written = {display_system_name(name): name for name in names if display_system_name(name) != name}
        return LoadedRunData(
            folder, facts, kind, scores, work, langs, _read_sweep_stacks(folder.path, manifest), written,
            _choose_word_for_simulated_people(manifest.get("study")),
            _read_agreement_sentences_by_dataset(folder.path / "tables" / "agreement.csv")
        )  # fmt: skip
    except DataError as error:
        raise DataError(_describe_error_without_path(error, folder)) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"its files are inconsistent ({type(error).__name__})") from None


def _read_agreement_sentences_by_dataset(path: Path) -> dict[str, tuple[str, str]]:
    """The table of agreement that a scored study wrote, a sentence per dataset; empty where there is none."""
    if path.is_symlink() or not path.is_file():
        return {}
    rows = csv.DictReader(io.StringIO(read_bounded_file(path).decode("utf-8")))
    return {unescape_spreadsheet_formula(row["dataset"]): (_describe_agreement(row), row["trust"]) for row in rows}


def _describe_agreement(row: Mapping[str, str]) -> str:
    if not row["value"]:
        return "agreement not known"
    interval = ""
    if row["low"] and row["high"]:
        interval = f" ({numbers.format_interval(float(row['low']), float(row['high']), 2)})"
    words = f"{row['coefficient'].replace('_', ' ')} {numbers.format_score(float(row['value']), 2)}{interval}"
    return f"{words}, n = {row['items']}, {row['band']}"


def _choose_word_for_simulated_people(study: Any) -> str:
    """How many of a study's annotators are scripts, in a word."""
    if not isinstance(study, dict) or not study.get("simulated"):
        return ""
    return "All" if set(study.get("annotators") or ()) <= set(study["simulated"]) else "Some"


def _read_scores_and_languages(path: Path, growing: bool) -> tuple[dict[Place, dict[str, Score]], dict[str, str]]:
    scores: dict[Place, dict[str, Score]] = {}
    langs: dict[str, str] = {}
    for row in _read_result_rows(path, growing):
        if not row.variant and not row.subset:
            by_name = scores.setdefault((row.task, row.dataset, row.measure), {})
            by_name[display_system_name(row.system)] = _make_score(row)
            if row.dataset and row.lang:
                langs[row.dataset] = row.lang
    return scores, langs


def _make_score(row: ResultRow) -> Score:
    """The row's figures; what is not finite is no value."""
    value, low, high = (
        None if figure is None or not math.isfinite(figure) else figure for figure in _value_and_interval(row)
    )
    reason = row.reason or ("" if value is not None or row.value is None else f"written as {row.value}")
    return value, low, high, row.n, strip_folders_of_absolute_paths(reason)


def _value_and_interval(row: ResultRow) -> tuple[float | None, ...]:
    return row.value, row.ci_low, row.ci_high


def _read_result_rows(path: Path, growing: bool) -> Iterator[ResultRow]:
    """The rows; of a run that goes on the last line may be half written."""
    if path.is_symlink() or not path.is_file():
        return
    with path.open("rb") as stream:
        for number, line in enumerate(read_bounded_lines(stream, path), start=1):
            try:
                yield _parse_result_row(line)
            except (ValueError, TypeError) as error:
                if growing and not line.endswith(b"\n"):
                    return
                raise DataError(f"line {number} of results.jsonl is not a valid result") from error


def _parse_result_row(line: bytes) -> ResultRow:
    # What is not finite is told of further on, with its row.
    row = ResultRow(**parse_bounded_json(line, halves=True))
    texts = row.task, row.dataset, row.measure, row.system, row.variant, row.subset, row.lang, row.reason
    numbers = *_value_and_interval(row), row.n
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("not a text")
    "".join(texts).encode()  # ValueError for half of a surrogate pair
    if not all(number is None or isinstance(number, int | float) for number in numbers) or row.n is None:
        raise TypeError("not a number")
    return row


def _read_manifest_cells(run: RunFolder, manifest: Mapping[str, Any]) -> Iterator[RunFolderCellStatus]:
    """The cells of the manifest; while a run goes on, those that ended since are told by their files."""
    ended = run.path / "cells"
    live = manifest.get("status") == "running" and ended.is_dir()
    for cell in manifest.get("cells") or ():
        status, reason = str(cell["status"]), str(cell.get("reason") or "")
        if live and status == "not run":
            status, reason = _read_cell_state(ended / f"{cell['key']}.json", ended)
        counts = cell.get("counts") or {}
        yield RunFolderCellStatus(
            str(cell["task"]), str(cell["dataset"]), display_system_name(str(cell["system"])), status,
            strip_folders_of_absolute_paths(reason),
            cell.get("seconds"),
            int(counts.get("texts_encoded") or 0)
        )  # fmt: skip


def _read_cell_state(path: Path, within: Path) -> tuple[str, str]:
    if path.parent != within or not path.is_file():
        return "not run", ""
    if path.stat().st_size > _SMALL:
        return "done", ""
    record = parse_json_written_by_embassay(path.read_text("utf-8"))
    return str(record["status"]), str(record.get("reason") or "")


def _read_sweep_stacks(path: Path, manifest: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    sweep = path / "sweep.json"
    if manifest.get("kind") != "sweep" or sweep.is_symlink() or not sweep.is_file():
        return {}
    parts = parse_json_written_by_embassay(read_bounded_file(sweep)).get("parts") or ()
    return {display_system_name(str(stack["id"])): stack for part in parts for stack in part.get("stacks") or ()}


def _describe_error_without_path(error: DataError, folder: ScannedFolder) -> str:
    """What is wrong, without the path that DataError puts into its message."""
    words = f"{error.what}, found {error.found}" if error.found else error.what
    return strip_folders_of_absolute_paths(words.replace(str(folder.path), folder.name))


# A stroke that begins a path (not one within a name, a relative path or an address), and folders after it.
_PATH = re.compile(r"(?<![\w/.…~-])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\'\"()]+[/\\])+(?=[^\s/\\'\"])")
_MARK = 4


def strip_folders_of_absolute_paths(text: str) -> str:
    """The text with the folders of absolute paths left out.

    >>> strip_folders_of_absolute_paths(
    ...     "No such file: '/srv/ann/models/e5/config.json'"), strip_folders_of_absolute_paths("st:org/model")
    ("No such file: '…/config.json'", 'st:org/model')
    """
    return _PATH.sub("…/", text)


def display_system_name(system: str) -> str:
    """A system's name as it is shown. One with an absolute path gets a mark of it, for another folder's model of the
    same name is another system.

    >>> display_system_name("st:org/model"), display_system_name("openai:m?base_url=http://localhost:8000/v1")
    ('st:org/model', 'openai:m?base_url=http://localhost:8000/v1')
    >>> display_system_name("st:/srv/ann/models/e5")
    'st:…/e5 [f45a]'
    """
    short = strip_folders_of_absolute_paths(system)
    if short == system:
        return system
    return f"{short} [{hashlib.sha256(system.encode('utf-8', 'replace')).hexdigest()[:_MARK]}]"


BOARD_KINDS = {
    "sage": "SAGE", "pteb": "PTEB", "hteb": "HTEB", "score": "RAG", "sweep": "RAG sweep", "names": "Names probe",
    "noise": "Noise probe", "hume": "HUME", "mteb": "MTEB"
}  # fmt: skip
"""What makes a board, in the order of their titles; other runs (golden sets, judges of paraphrases) compare no systems.
"""
_WHO = frozenset({"systems", "encoder", "dims", "index", "k", "reranker", "mode", "rewrite", "deduplicate", "boost"})
"""Arguments that say which systems take part: these may differ between runs of a board."""
_WHERE = frozenset({"datasets", "mapping", "qrels", "pools", "answers", "study", "results", "llm_scores", "baseline"})
"""Arguments that say where the data are: what they are is told by their fingerprints."""
_ONLY_MORE = frozenset({"measures", "cutoffs"})
"""Arguments that add columns and change none."""
_SHOWN = 3
_DIGITS = 8


def digest_comparable_run_settings(run: LoadedRunData) -> str:
    """A short digest of all that must agree between runs of a board: kind, data, seed, limit, tasks and options. What
    `protocols.compare.determine_replicate_pairing` asks for is part of it."""
    # Sorted: datasets in another order are no other board.
    data = sorted(
        (str(dataset["name"]), str(dataset.get("fingerprint"))) for dataset in run.manifest.get("datasets") or ()
    )
    asked = {
        name: value
        for name, value in (run.manifest.get("arguments") or {}).items()
        if _is_board_defining_setting(name, value)
    }
    plain = json.dumps([run.kind, data, asked], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:_DIGITS]


def board_history_key(run: LoadedRunData) -> tuple[str, ...]:
    """What stays the same over the versions of a board: its kind and the names of its datasets."""
    return (run.kind, *sorted(str(dataset["name"]) for dataset in run.manifest.get("datasets") or ()))


def board_title(run: LoadedRunData) -> str:
    """A board's title.

    >>> title_run_by_datasets("sage", ["scifact", "sumpubmed", "sts-b", "quora", "yelp"])
    'SAGE on scifact, sumpubmed, sts-b and 2 more'
    """
    return title_run_by_datasets(run.kind, [str(dataset["name"]) for dataset in run.manifest.get("datasets") or ()])


def title_run_by_datasets(kind: str, datasets: list[str]) -> str:
    """The title of a run from the names of its datasets."""
    shown = datasets[:_SHOWN]
    more = len(datasets) - len(shown)
    names = ", ".join(shown) + (f" and {numbers.format_count(more)} more" if more else "")
    return f"{BOARD_KINDS[kind]} on {names}" if names else BOARD_KINDS[kind]


def dataset_language(run: LoadedRunData, dataset: Mapping[str, Any]) -> str:
    """The language of a dataset: the manifest's, or that of the rows."""
    return str(dataset.get("lang") or run.langs.get(str(dataset["name"]), ""))


def _is_board_defining_setting(name: str, value: Any) -> bool:
    # `runs` is a list of files for RAG, and the number of paraphrases for PTEB and the probes.
    return name not in _WHO | _WHERE | _ONLY_MORE and not (name == "runs" and isinstance(value, list))
