"""Small mirrors and repositories, written from the records of the catalogue."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import made_mirror
from embassay.data.catalogue.entries import CatalogueDatasetRecord
from embassay.data.catalogue.hub import HubTableAddress, _load_hub_tables


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty mirror that is in force."""
    monkeypatch.setenv("EMBASSAY_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def write_mirror(mirror: Path) -> Callable[[CatalogueDatasetRecord], Path]:
    """Writes a record's folder of the mirror."""
    return lambda record: made_mirror.write_mirror(record, mirror)


@dataclass(frozen=True)
class Repositories:
    """A folder that stands in for the hub: one repository per dataset, with the hub's own way of naming its parts."""

    root: Path

    def add(self, record: CatalogueDatasetRecord, copies: int = 1) -> Path:
        """Write the record's repository, the rows of every table `copies` times over."""
        folder = self.root / record.hub
        configs: dict[str, dict[str, str]] = {}
        for table in record.all_tables:
            for lang in record.langs or [""]:
                config = (record.list_hub_configs(table, lang) or ("default",))[0]
                for split in table.list_hub_split_names:
                    path = folder / config / f"{split}.jsonl"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    lines = [json.dumps(row) + "\n" for row in made_mirror.own_rows(table)]
                    path.write_text("".join(lines * copies))
                    configs.setdefault(config, {})[split] = f"{config}/{split}.jsonl"
        about = [
            {"config_name": name, "data_files": [{"split": split, "path": path} for split, path in files.items()]}
            for name, files in configs.items()
        ]
        (folder / "README.md").write_text(f"---\n{yaml.safe_dump({'configs': about})}---\n")
        return folder


@pytest.fixture
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Repositories:
    """An empty stand-in, which nothing reads yet."""
    return Repositories(tmp_path_factory.mktemp("repositories"))


@pytest.fixture
def hub(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Repositories:
    """The stand-in, which `datasets` reads in the place of the hub."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))

    def local(place: HubTableAddress, *, streamed: bool) -> list[Any]:
        if not (repositories.root / place.repo).is_dir():
            raise ConnectionError(f"no {place.repo}")
        return _load_hub_tables(datasets, replace(place, repo=str(repositories.root / place.repo)), streamed)

    monkeypatch.setattr("embassay.data.catalogue.hub.open_hub_splits", local)
    datasets.disable_progress_bars()
    return repositories
