"""Finished runs, as other tools are told of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from embassay.errors import DataError
from embassay.limits import bounded_entries, read_bounded
from embassay.protocols.kernel.comparisons import OVERALL, read_standings
from embassay.records import Result
from embassay.runs.files import digest
from embassay.runs.folder import RunFolder

APART = ":classical"
"""Ends the name of a scope of systems that another method scored."""
_IDENTITY = ("protocol", "kind", "step", "name", "created", "arguments")
_TITLES = {"sage": "SAGE", "pteb": "PTEB", "score": "RAG", "hume": "HUME", "mteb": "MTEB"}


@dataclass(frozen=True)
class Run:
    """A run folder read once; `scopes` are those of its comparisons.json, `headlines` task -> its headline measure."""

    path: Path
    manifest: Mapping[str, Any]
    rows: tuple[Result, ...]
    scopes: Mapping[str, Mapping[str, Any]]
    headlines: Mapping[str, str]

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.resolve().name

    @property
    def protocol(self) -> str:
        """`sage`, `pteb`, `rag`, `hume` or `mteb`."""
        return str(self.manifest.get("protocol", ""))

    @property
    def kind(self) -> str:
        """The protocol, or the command of PTEB or RAG that made the run, as `score`."""
        step = self.manifest.get("step", "run")
        return str(self.manifest.get("kind") or (self.protocol if step == "run" else step))

    @property
    def title(self) -> str:
        """What it is called for people."""
        return _TITLES.get(self.kind, self.kind)

    @cached_property
    def identity(self) -> str:
        """A fingerprint of what was asked for and when: the same while the run goes on, and wherever it is moved."""
        return digest({key: self.manifest.get(key) for key in _IDENTITY})

    @cached_property
    def content(self) -> str:
        """A fingerprint of the manifest and all rows."""
        return digest([self.manifest, [vars(row) for row in self.rows]])

    @cached_property
    def manifest_digest(self) -> str:
        """A fingerprint of the manifest."""
        return digest(self.manifest)

    @property
    def systems(self) -> tuple[str, ...]:
        """Every system with a row, in the order of the manifest, then of the rows."""
        named = [str(one["name"]) for one in self.manifest.get("systems", ())]
        found = dict.fromkeys(row.system for row in self.rows)
        return tuple(dict.fromkeys([*(name for name in named if name in found), *found]))

    def fingerprint(self, dataset: str) -> str:
        """What identifies the data of a dataset; empty where the manifest does not say."""
        known = {one.get("name"): one.get("fingerprint") for one in self.manifest.get("datasets", ())}
        return str(known.get(dataset) or "")

    def headline_of(self, task: str) -> str | None:
        """A task's headline measure; None where its measures stand side by side, as those of `rag score`."""
        return OVERALL if task == OVERALL else self.headlines.get(task)


def find_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs in folders, each itself a run or above some. DataError for a folder without one."""
    found: dict[Path, Path] = {}
    for folder in folders:
        paths = list(_below(Path(folder)))
        if not paths:
            raise DataError(
                "There is no run here", path=folder, mend="Give the folder of a run, or one above runs."
            )
        found |= {path.resolve(): path for path in paths}
    return [read_run(path) for path in found.values()]


def read_run(path: Path) -> Run:
    """Read one run folder. DataError where it holds none, or a damaged one."""
    folder = RunFolder(path)
    manifest = folder.read_manifest()
    if manifest is None:
        raise DataError("There is no run here", path=path, mend="Give the folder of a run (its --out).")
    headlines = {one.task: one.measure for one in read_standings(path)}
    return Run(path, manifest, tuple(folder.read_results()), _scopes(path / "comparisons.json"), headlines)


def _below(folder: Path) -> Iterator[Path]:
    if _is_run(folder):
        yield folder
    elif folder.is_dir():
        for path in sorted(bounded_entries(folder.iterdir(), folder)):
            # What a link leads to may be above it.
            if path.is_dir() and not path.is_symlink() and not path.name.startswith("."):
                yield from _below(path)


def _is_run(folder: Path) -> bool:
    """A stage inside a golden set has a manifest too, but of no protocol."""
    try:
        manifest = json.loads(read_bounded(folder / "manifest.json"))
    except OSError:
        return False
    except (DataError, ValueError, RecursionError):
        return True
    return isinstance(manifest, dict) and "protocol" in manifest


def _scopes(path: Path) -> Mapping[str, Mapping[str, Any]]:
    if not path.is_file():
        return {}
    try:
        scopes = json.loads(read_bounded(path)).get("scopes", {})
    except (ValueError, AttributeError, RecursionError) as error:
        raise DataError(
            "The comparisons cannot be read", path=path, found=str(error)[:80],
            mend="Run the same command again: it rebuilds them from the finished cells.",
        ) from error  # fmt: skip
    return scopes if isinstance(scopes, dict) else {}
