"""One system's results on one task, as a file of MTEB holds them: JSON with NaN, and what kind of task it is."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from embassay.errors import DataError, UsageError
from embassay.limits import bounded_walk, unpacking
from embassay.runs.folder import slug

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


MEND = "Give a results file of MTEB (.json, .json.gz), or a folder of them as org__model/revision/Task.json."
MAX_BYTES = 256 * 2**20
"""No file of one task is near this; unpacked, a bundle of the whole public repository might be."""


def read_json(path: Path, max_bytes: int = MAX_BYTES) -> Any:
    """What a file holds, unpacked where it is compressed, whatever its name says. DataError where it cannot be read, or
    is larger than `max_bytes` unpacked."""
    try:
        with path.open("rb") as stream:
            # Two bytes that open every gzip file: a name may lie.
            packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            source = unpacking(stream, path, path.stat().st_size) if packed else stream
            raw = source.read(max_bytes + 1)
        if len(raw) > max_bytes:
            raise DataError(
                "The file is too large", path=path, expected=f"{max_bytes:,} bytes at most",
                mend="Allow more with --max-mb, if it is what you mean.",
            )  # fmt: skip
        return json.loads(raw.decode("utf-8"))
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise DataError("The file cannot be read as JSON", path=path, found=str(error), mend=MEND) from error


def json_text(value: Any, *, indent: int | None = None) -> str:
    """The same value as JSON in ASCII, every digit and NaN kept.

    >>> json_text({"main_score": float("nan"), "map": 0.1})
    '{"main_score": NaN, "map": 0.1}'
    """
    # ASCII, since a text may hold half a surrogate pair, which no encoding can write.
    return json.dumps(value, ensure_ascii=True, indent=indent)


OTHER = "other"
_LONGEST_NAME = 60


@cache
def task_types() -> Mapping[str, str]:
    """Name of a task -> its type, as mteb 2.26 has it (2,087 tasks)."""
    import json

    known = json.loads(files(__package__).joinpath("task_types.json").read_text("utf-8"))
    return {name: kind for kind, names in known.items() for name in names.split()}


def task_of(document: Document) -> str:
    """A document's type as a task of ours is called, `other` where nobody knows: what we wrote into it ourselves, what
    MTEB says of the task, or the category that a bundle gives."""
    block = document.body.get(BLOCK)
    block = block if isinstance(block, dict) else {}
    run = block.get("run")
    own = run.get("task") if isinstance(run, dict) else None
    return (
        _snake(
            str(
                (own if isinstance(own, str) else "")
                or task_types().get(document.task)
                or _category(block)
                or OTHER
            )
        )
        or OTHER
    )


def _category(block: Mapping[str, object]) -> object:
    records = block.get("records")
    first = records[0] if isinstance(records, list) and records else None
    values = first.get("values") if isinstance(first, dict) else None
    return values.get("category") if isinstance(values, dict) else None


def _snake(name: str) -> str:
    """As our tasks are called.

    >>> [_snake(name) for name in ("PairClassification", "STS", "VisualSTS(eng)", "Any2AnyRetrieval")]
    ['pair_classification', 'sts', 'visual_sts_eng', 'any2any_retrieval']
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z][A-Za-z])", "_", name.replace("Any2Any", "any2any_"))
    return re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")[:_LONGEST_NAME]


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
    for place, folders, names in bounded_walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
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
