"""The record that every page, verdict and table is made from: what a run folder says, read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from embassay.contracts import Kind
from embassay.errors import DataError
from embassay.limits import parse_json_written_by_embassay, read_bounded_file
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder, make_distinct_folder_names

OVERALL = "overall"
_KINDS_IN_WORDS = """
    sage pteb hteb original judge paraphrasers validation golden questions score sweep names noise sessions
    versions trace hume mteb calibration choose
"""
KINDS = tuple(_KINDS_IN_WORDS.split())
"""What a run can be, in the order of a report: a protocol, or one of the commands of PTEB and RAG."""
APART = ":classical"
"""Ends the name of a scope of systems that were compared by another method than those of the scope itself."""
FEW = 10
"""Under so many items a value is shown grey and starts no sentence."""


@dataclass(frozen=True)
class SystemOfRun:
    """A system of the run; `index` is its place in the manifest, which names it in the page's data."""

    index: int
    name: str
    kind: Kind
    identity: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ranked(self) -> bool:
        """Whether the system is ranked; references never are, nor shown as contenders."""
        return self.kind != "reference"


@dataclass(frozen=True)
class PairedComparison:
    """A paired comparison: `difference` = a - b with its 95% interval, p and p adjusted over the scope."""

    a: str
    b: str
    difference: float
    ci_low: float
    ci_high: float
    p: float
    p_adjusted: float

    def swap_sides(self) -> PairedComparison:
        """The same comparison as b - a."""
        return PairedComparison(self.b, self.a, -self.difference, -self.ci_high, -self.ci_low, self.p, self.p_adjusted)


@dataclass(frozen=True)
class TaskSystemComparisons:
    """The comparisons of one task or overall: who can be told apart; `reason` says why there are none."""

    name: str
    systems: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    best: frozenset[str] = frozenset()
    pairs: tuple[PairedComparison, ...] = ()
    reason: str = ""

    @property
    def first(self) -> tuple[str, ...]:
        """The systems whose rank range includes 1, in the order of the ranking."""
        return tuple(name for name in self.systems if self.ranges.get(name, (0, 0))[0] == 1)

    @cached_property
    def _comparisons_by_names(self) -> dict[tuple[str, str], PairedComparison]:
        pairs = {(pair.a, pair.b): pair for pair in self.pairs}
        return pairs | {(pair.b, pair.a): pair.swap_sides() for pair in self.pairs}

    def pair(self, a: str, b: str) -> PairedComparison | None:
        """The comparison a - b, whichever way round it is stored."""
        return self._comparisons_by_names.get((a, b))


@dataclass(frozen=True)
class RunCellStatus:
    """One system on one dataset for one task: done, failed or not run."""

    task: str
    dataset: str
    system: str
    status: str
    reason: str = ""
    seconds: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    skipped: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    variant: str = ""
    peak_bytes: int | None = None


Key = tuple[str, str, str, str, str, str]


@dataclass(frozen=True)
class RunRecord:
    """One run. `rows` are keyed by task, dataset, subset, variant, system and measure."""

    path: Path
    manifest: Mapping[str, Any]
    systems: tuple[SystemOfRun, ...]
    cells: tuple[RunCellStatus, ...]
    rows: Mapping[Key, ResultRow]
    scopes: Mapping[str, TaskSystemComparisons]
    alpha: float = 0.05
    correction: str = "holm"
    test: str = ""
    compared: Mapping[str, Any] = field(default_factory=dict)
    """All of comparisons.json, for what only one protocol has."""

    @property
    def list_non_reference_systems(self) -> tuple[SystemOfRun, ...]:
        """All systems but the references."""
        return tuple(system for system in self.systems if system.ranked)

    @property
    def references(self) -> tuple[SystemOfRun, ...]:
        """The reference systems of the run: `constant` and `random`."""
        return tuple(system for system in self.systems if not system.ranked)

    @cached_property
    def systems_by_name(self) -> dict[str, SystemOfRun]:
        """The systems by name."""
        return {system.name: system for system in self.systems}

    @property
    def system_labels(self) -> dict[str, str]:
        """A short label for each system, by name."""
        return shorten_names_to_labels([system.name for system in self.systems])

    @property
    def list_dataset_manifest_entries(self) -> Sequence[Any]:
        """What the manifest says of each dataset."""
        entries: Sequence[Any] = self.manifest.get("datasets", ())
        return entries

    @property
    def dataset_languages(self) -> dict[str, str]:
        """The language of each dataset, by name; empty where it is not known."""
        return {dataset["name"]: dataset.get("lang", "") for dataset in self.list_dataset_manifest_entries}

    @property
    def paraphraser_entries(self) -> Sequence[Any]:
        """What the manifest says of each paraphraser."""
        sources: Sequence[Any] = self.manifest.get("paraphrases", {}).get("sources", ())
        return sources

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What the run was asked for."""
        return dict(self.manifest.get("arguments", {}))

    @cached_property
    def protocols_with_results(self) -> tuple[str, ...]:
        """The protocols with results, or the run's own when nothing is finished."""
        names = dict.fromkeys(row.protocol for row in self.rows.values())
        return tuple(names) or (self.manifest.get("protocol", ""),)

    @cached_property
    def kind(self) -> str:
        """The kind of the run: the protocol, or for PTEB and RAG the command that made it."""
        return find_run_kind_in_manifest(
            {**self.manifest, "protocol": self.manifest.get("protocol") or self.protocols_with_results[0]}
        )

    def find(
        self, task: str, system: str, measure: str, *, dataset: str = "", variant: str = "", subset: str = ""
    ) -> ResultRow | None:
        """The row, or None where there is none."""
        return self.rows.get((task, dataset, subset, variant, system, measure))

    def value(self, task: str, system: str, measure: str, *, dataset: str = "", variant: str = "") -> float | None:
        """The value of the row with these keys, or None."""
        row = self.find(task, system, measure, dataset=dataset, variant=variant)
        return None if row is None else row.value

    @cached_property
    def _datasets_by_task(self) -> dict[str, tuple[str, ...]]:
        by_task: dict[str, dict[str, None]] = {}
        # Cells first: a dataset that failed everywhere has no row and stands in the page all the same.
        for task, dataset in [(c.task, c.dataset) for c in self.cells] + [(k[0], k[1]) for k in self.rows]:
            if dataset:
                by_task.setdefault(task, {})[dataset] = None
        return {task: tuple(names) for task, names in by_task.items()}

    def datasets(self, task: str) -> tuple[str, ...]:
        """The datasets of a task, in the order of the run."""
        return self._datasets_by_task.get(task, ())

    def find_task_comparisons(self, name: str) -> TaskSystemComparisons:
        """The comparisons of a task or `overall`; without any when there are none."""
        tested = self.scopes.get(name)
        # Everybody may have been scored by the other method, and the scope itself be empty.
        if tested is None or not tested.systems:
            tested = self.scopes.get(name + APART) or tested
        return tested or TaskSystemComparisons(name, reason="the run has no comparisons yet")

    def rank_range(self, name: str, system: str) -> tuple[int, int] | None:
        """The places that the tests allow a system: among all of the scope, or among those compared its way."""
        for scope in (self.find_task_comparisons(name), self.find_task_comparisons(name + APART)):
            if system in scope.ranges:
                return scope.ranges[system]
        return None

    def list_system_cells_of_task_by_dataset(self, task: str, system: str) -> tuple[RunCellStatus, ...]:
        """The cells of a system for a task, one per dataset."""
        return self._cells_by_task_and_system.get((task, system), ())

    @cached_property
    def _cells_by_task_and_system(self) -> dict[tuple[str, str], tuple[RunCellStatus, ...]]:
        groups: dict[tuple[str, str], list[RunCellStatus]] = {}
        for cell in self.cells:
            groups.setdefault((cell.task, cell.system), []).append(cell)
        return {key: tuple(cells) for key, cells in groups.items()}


def find_run_kind_in_manifest(manifest: Mapping[str, Any]) -> str:
    """The protocol, or for PTEB and RAG the command that made the run.

    >>> find_run_kind_in_manifest({"protocol": "sage"}), find_run_kind_in_manifest({"protocol": "rag",
    ...     "kind": "score"})
    ('sage', 'score')
    """
    protocol = str(manifest["protocol"])
    if protocol in ("hume", "mteb"):
        return protocol
    step = str(manifest.get("kind") or manifest.get("step") or "run")
    return protocol if step == "run" else step


def read_run_record(path: Path) -> RunRecord:
    """Read a run folder. DataError when it holds no run, a damaged one, or one of another schema."""
    folder = RunFolder(path)
    manifest = folder.read_manifest()
    if manifest is None:
        raise DataError(
            "there is no run here", path=path, expected="a folder with a manifest.json",
            mend="Name the folder that a run command wrote with --out."
        )  # fmt: skip
    compared = _read_comparisons(path / "comparisons.json")
    try:
        return RunRecord(
            path=path,
            manifest=manifest,
            systems=tuple(
                SystemOfRun(i, system["name"], system["kind"], system.get("identity", ""), system.get("facts") or {})
                for i, system in enumerate(manifest["systems"])
            ),
            cells=tuple(_parse_cell_status(cell) for cell in manifest["cells"]),
            rows=index_rows_by_key(folder.read_results()),
            scopes={name: _parse_task_comparisons(name, scope) for name, scope in compared.get("scopes", {}).items()},
            alpha=compared.get("alpha", 0.05),
            correction=compared.get("correction", "holm"),
            test=compared.get("method", ""),
            compared=compared,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            "the run's files are inconsistent", path=path, found=f"{type(error).__name__}: {error}",
            mend="Repeat the command to rebuild them from the finished cells."
        ) from error  # fmt: skip


def count_text_outcomes(sources: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Count the texts by outcome, over the sources of a run, their datasets and seeds."""
    counts: Counter[str] = Counter()
    for source in sources:
        for by_seed in source.get("outcomes", {}).values():
            for outcomes in by_seed.values():
                counts.update(outcomes)
    return counts


def index_rows_by_key(rows: Iterable[ResultRow]) -> dict[Key, ResultRow]:
    """Rows by their key; of two with the same key the later one holds."""
    return {(r.task, r.dataset, r.subset, r.variant, r.system, r.measure): r for r in rows}


def _read_comparisons(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return dict(parse_json_written_by_embassay(read_bounded_file(path).decode("utf-8")))
    except (ValueError, TypeError) as error:
        raise DataError(
            "the comparisons cannot be read", path=path, found=str(error),
            mend="Repeat the command to rebuild them from the finished cells."
        ) from error  # fmt: skip


def _parse_task_comparisons(name: str, plain: Mapping[str, Any]) -> TaskSystemComparisons:
    systems = tuple(plain["systems"])
    ranges = {
        system: (int(low), int(high))
        for system, low, high in zip(systems, plain["rank_low"], plain["rank_high"], strict=False)
    }
    pairs = tuple(PairedComparison(**pair) for pair in plain["pairs"])
    return TaskSystemComparisons(name, systems, ranges, frozenset(plain["best"]), pairs, plain.get("reason", ""))


def _parse_cell_status(plain: Mapping[str, Any]) -> RunCellStatus:
    return RunCellStatus(
        plain["task"], plain["dataset"], plain["system"], plain["status"], plain.get("reason") or "",
        plain.get("seconds"), plain.get("counts") or {}, tuple(plain.get("skipped") or ()),
        tuple(plain.get("warnings") or ()), plain.get("variant") or "", plain.get("peak_bytes")
    )  # fmt: skip


LONG = 28
LONGEST = 44
SERVING = {
    "base_url",
    "key",
    "price",
    "price_output",
    "rpm",
    "tpm",
    "concurrency",
    "timeout",
    "device",
    "batch_size",
    "input_type",
    "name",
}
"""Parameters that say where and how a model is asked, and not what it answers."""


def shorten_names_to_labels(names: Sequence[str]) -> dict[str, str]:
    """A label per name: names over 28 characters lose the organisation and how the model is served first, then
    their end, or their middle where they begin alike.

    Labels are distinct: names that would share one keep more, or get their number.

    >>> list(shorten_names_to_labels(["bm25", "st:sentence-transformers/all-MiniLM-L6-v2"]).values())
    ['bm25', 'all-MiniLM-L6-v2']
    >>> list(shorten_names_to_labels([f"a-model-that-was-tuned-on-our-tickets-step-{n}00" for n in (1, 2)]).values())
    ['a-model-that-was-tuned-on-…-tickets-step-100', 'a-model-that-was-tuned-on-…-tickets-step-200']
    """
    short = {name: _strip_organisation(name) for name in names}
    shared = Counter(short.values())
    kept = {name: short[name] if shared[short[name]] == 1 else name for name in names}
    ends = {name: _cut_label_in_middle(label, 0) for name, label in kept.items()}
    shared = Counter(ends.values())
    middles = {
        name: end if shared[end] == 1 else _cut_label_in_middle(kept[name], LONGEST * 2 // 5)
        for name, end in ends.items()
    }
    shared = Counter(middles.values())
    return {
        name: label if shared[label] == 1 else f"{kept[name][: LONGEST - 6]}… #{i + 1}"
        for i, (name, label) in enumerate(middles.items())
    }


def _cut_label_in_middle(label: str, tail: int) -> str:
    """The label, or its beginning and its last `tail` letters around what is left out."""
    if len(label) <= LONGEST:
        return label
    return f"{label[: LONGEST - 1 - tail]}…{label[len(label) - tail :]}"


def _strip_organisation(name: str) -> str:
    if len(name) <= LONG:
        return name
    target, question, parameters = name.partition("?")
    kept = "&".join(part for part in parameters.split("&") if part.partition("=")[0] not in SERVING)
    return target.rstrip("/").rpartition("/")[2] + (question + kept if kept else "")


def list_run_names_from_folders(kind: str, folders: Sequence[Path]) -> list[str]:
    """A name per run of one kind: that of its folder, with as many of the folders above it as tell them apart.

    >>> list_run_names_from_folders("sage", [Path("runs/sage-news"), Path("runs/sage-law")])
    ['news', 'law']
    >>> list_run_names_from_folders("sage", [Path("may/sage"), Path("june/sage")])
    ['may/sage', 'june/sage']
    """
    names = list(make_distinct_folder_names(folders))
    deep = any("/" in name for name in names)
    short = names if deep else [name.removeprefix(kind).lstrip("-_. ") or name for name in names]
    return short if len(set(short)) == len(set(names)) else names
