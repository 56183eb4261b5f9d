"""Where the public repository has things: `results/org__model/revision/Task.json`, with `model_meta.json` beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from embassay.limits import bounded_walk
from embassay.runs.files import slug

META = "model_meta.json"
RESULTS = "results"
EXPERIMENTS = "experiments"
_ASIDE = frozenset({META, "paths.json", "embassay.json"})


def folder_of(model: str) -> str:
    """The folder of a model, as mteb names it; a short hash is appended where more had to change.

    >>> folder_of("intfloat/e5 base"), folder_of("st:./models/mine")
    ('intfloat__e5_base', 'st_.__models__mine-93ed73c6')
    """
    plain = model.replace("/", "__").replace(" ", "_")
    safe = slug(plain)
    return safe if safe == plain else slug(model.replace("/", "__"))


def model_of(folder: str) -> str:
    """The model of a folder, where no `model_meta.json` says its name.

    >>> model_of("intfloat__e5-base")
    'intfloat/e5-base'
    """
    return folder.replace("__", "/", 1)


def place_of(model: str, revision: str, experiment: str = "") -> Path:
    """The folder of a model's results, below `results`."""
    place = Path(folder_of(model)) / slug(revision)
    return place / EXPERIMENTS / slug(experiment) if experiment else place


def owner_of(folder: Path, meta: Mapping[str, Any] | None) -> tuple[str, str, str]:
    """Model, revision and experiment of the results in a folder: by its `model_meta.json`, else by its path."""
    folder, experiment = folder.absolute(), ""
    if folder.parent.name == EXPERIMENTS:
        folder, experiment = folder.parent.parent, folder.name
    said = [(meta or {}).get(key) for key in ("name", "revision")]
    model, revision = (one if isinstance(one, str) and one else None for one in said)
    return model or model_of(folder.parent.name), revision or folder.name, experiment


def files_below(source: Path) -> Iterator[Path]:
    """The files of results below a folder, a clone's `results` or any part of one, in the order of their names; hidden
    folders and what links lead to are left out."""
    root = source / RESULTS if (source / RESULTS).is_dir() else source
    for place, folders, files in bounded_walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.endswith((".json", ".json.gz")) and name not in _ASIDE and not name.startswith("."):
                yield Path(place) / name
