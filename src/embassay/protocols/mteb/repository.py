"""The public repository: `results/org__model/revision/Task.json`, with `model_meta.json` beside, as MTEB reads it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.errors import UsageError
from embassay.limits import bounded_walk
from embassay.protocols.mteb.document import Document, is_name, json_text
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


OWNER = "embassay"
_UNKNOWN = (
    "release_date", "n_parameters", "memory_usage_mb", "max_tokens", "embed_dim", "license", "open_weights",
    "public_training_code", "public_training_data", "similarity_fn_name", "use_instructions", "training_datasets",
)  # fmt: skip
"""Fields that MTEB wants to be there, null where nobody knows."""


def model_meta(name: str, revision: str, languages: Iterable[str], **known: Any) -> dict[str, Any]:
    """The account of a model as `mteb.ModelMeta` reads it; `known` fills fields of those it has."""
    return {
        "name": name,
        "revision": revision,
        "languages": sorted(set(languages)) or None,
        "loader": None,
        "framework": [],
        **dict.fromkeys(_UNKNOWN),
        **known,
    }


def published_name(system: str) -> str:
    """A system's name as MTEB wants it, `organization/model`: ours where it names none.

    >>> published_name("minilm"), published_name("intfloat/e5-base")
    ('embassay/minilm', 'intfloat/e5-base')
    """
    return system if "/" in system else f"{OWNER}/{system}"


def facts_of(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What an account says of a model, by our names: dims, max_tokens, parameters, weights_mb, licence, released."""
    size = meta.get("embed_dim")
    found = {
        "dims": max((one for one in size if isinstance(one, int)), default=None)
        if isinstance(size, list)
        else size,
        "max_tokens": meta.get("max_tokens"),
        "parameters": meta.get("n_parameters"),
        "weights_mb": meta.get("memory_usage_mb"),
        "licence": meta.get("license"),
        "released": meta.get("release_date"),
    }
    return {key: plain for key, value in found.items() if (plain := _plain(value)) is not None}


def _plain(value: Any) -> float | str | None:
    """A number or a name; None for what is neither."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value if math.isfinite(value) else None
    if isinstance(value, str):
        return value if is_name(value) else None
    return value if isinstance(value, int) else None


Owner = tuple[str, str, str]


@dataclass(frozen=True)
class Written:
    """So many files of tasks, models in a revision, and entries were written below `folder`."""

    folder: Path
    files: int
    models: int
    entries: int


def write_documents(
    documents: Iterable[Document], out: Path, metas: Mapping[Owner, Mapping[str, Any]] | None = None
) -> Written:
    """Write `out/results/org__model/revision/Task.json` of every document, and a `model_meta.json` for each revision:
    the one of `metas`, else one that says only the name. UsageError where two documents would be one file."""
    metas = metas or {}
    spoken: dict[Owner, set[str]] = {}
    seen: set[Path] = set()
    entries = 0
    for document in documents:
        owner = (document.model, document.revision, document.experiment)
        path = out / RESULTS / place_of(*owner) / f"{slug(document.task)}.json"
        if path in seen:
            raise UsageError(
                f"{document.model} has two results of {document.task} in revision {document.revision}.",
                mend="Export the runs they are from one by one.",
            )
        seen.add(path)
        _write(path, document.body)
        for _, entry in document.entries():
            entries += 1
            spoken.setdefault(owner, set()).update(entry.get("languages") or ())
        spoken.setdefault(owner, set())
    for owner, languages in spoken.items():
        meta = metas.get(owner) or model_meta(owner[0], owner[1], languages)
        _write(out / RESULTS / place_of(*owner) / META, meta)
    return Written(out, len(seen), len(spoken), entries)


def _write(path: Path, body: Mapping[str, Any]) -> None:
    """In one step, but without waiting for the disk: an export of many thousand files can be made again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(json_text(body, indent=2) + "\n", encoding="ascii")
    part.replace(path)
