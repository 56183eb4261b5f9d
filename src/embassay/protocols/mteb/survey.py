"""Results of MTEB read one after another, whatever they come in, and what a set of them holds."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from embassay.errors import DataError, UsageError
from embassay.limits import open_gzip, parse_bounded_json, walk_bounded_folder
from embassay.runs.folder import slugify_name

MAIN = "main_score"
EVALUATIONS = "every eval ever"
"""What our block of a document says whose file was of Every Eval Ever."""
BLOCK = "embassay"
"""Our key in a file of MTEB, beside its own, which MTEB ignores."""
_EXPECTED = '{"task_name": ..., "dataset_revision": ..., "scores": {SPLIT: [{"main_score": ..., "hf_subset": ...}]}}'
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


def check_result_document(document: Document, where: Any = None) -> Document:
    """The document, if a reader can work with it. DataError that says what is wrong where it is not one of MTEB."""
    for what, name in (("model", document.model), ("revision", document.revision)):
        _check_printable_name(what, name, where)
    body = document.body
    if "mteb_dataset_name" in body:
        raise DataError(
            "This file was written by MTEB before 1.11", path=where, expected=_EXPECTED,
            mend="Convert it with mteb: mteb.TaskResult.from_disk(path).to_disk(path)."
        )  # fmt: skip
    _check_printable_name("task_name", body.get("task_name"), where)
    if document.experiment:
        _check_printable_name("experiment", document.experiment, where)
    scores = body.get("scores")
    if not isinstance(scores, dict):
        raise _make_mteb_result_error("There are no scores", where, scores)
    for split, entries in scores.items():
        _check_printable_name("split", split, where)
        if not isinstance(entries, list):
            raise _make_mteb_result_error(f"The scores of {split!r} are not a list", where, entries)
        for entry in entries:
            _check_result_entry(entry, split, where)
    return document


def list_entry_languages(entry: Plain) -> list[str]:
    """The languages of an entry without their scripts, as `eng`; empty where it says none."""
    return [language.split("-")[0].split("_")[0] for language in entry.get("languages") or ()]


def number_or_none(value: Any) -> float | int | None:
    """The value where it is a number, NaN included; None for everything else."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _check_result_entry(entry: Any, split: str, where: Any) -> None:
    if not isinstance(entry, dict):
        raise _make_mteb_result_error(f"An entry of {split!r} is not an object", where, entry)
    main = entry.get(MAIN)
    if MAIN not in entry or (main is not None and number_or_none(main) is None):
        raise _make_mteb_result_error(f"An entry of {split!r} has a main_score that is not a number", where, main)
    subset, spoken = entry.get("hf_subset", "default"), entry.get("languages") or []
    if not isinstance(subset, str) or not is_printable_name(subset):
        raise _make_mteb_result_error(f"An entry of {split!r} has a hf_subset that is not a name", where, subset)
    if not isinstance(spoken, list) or not all(isinstance(name, str) and is_printable_name(name) for name in spoken):
        raise _make_mteb_result_error(
            f"An entry of {split!r} has languages that are not a list of names", where, spoken
        )


def _check_printable_name(what: str, name: Any, where: Any) -> None:
    if not isinstance(name, str) or not name or not is_printable_name(name):
        raise _make_mteb_result_error(f"The {what} is not a name", where, name)


def is_printable_name(text: str) -> bool:
    """Printable: names are shown, and written to files."""
    return len(text) <= _LONGEST and text.isprintable()


def _make_mteb_result_error(what: str, where: Any, found: Any) -> DataError:
    return DataError(what, path=where, expected=_EXPECTED, found=repr(found)[:60])


MEND = "Give an MTEB results file (.json, .json.gz), or a folder of them as org__model/revision/Task.json."
MAX_BYTES = 256 * 2**20
"""No file of one task is near this; unpacked, a bundle of the whole public repository might be."""


def read_json_file(path: Path, max_bytes: int = MAX_BYTES) -> Any:
    """What a file holds, unpacked where it is compressed, whatever its name says. DataError where it cannot be read, or
    is larger than `max_bytes` unpacked."""
    try:
        with path.open("rb") as stream:
            # Two bytes that open every gzip file: a name may lie.
            packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            source = open_gzip(stream, path, path.stat().st_size) if packed else stream
            raw = source.read(max_bytes + 1)
        if len(raw) > max_bytes:
            raise DataError(
                "The file is too large", path=path, expected=f"{max_bytes:,} bytes at most",
                mend="To read it anyway, raise the limit with --max-mb."
            )  # fmt: skip
        return parse_bounded_json(raw.decode("utf-8"), halves=True)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError("The file cannot be read as JSON", path=path, found=str(error), mend=MEND) from error


def format_ascii_json(value: Any, *, indent: int | None = None) -> str:
    """The same value as JSON in ASCII, every digit and NaN kept.

    >>> format_ascii_json({"main_score": float("nan"), "map": 0.1})
    '{"main_score": NaN, "map": 0.1}'
    """
    # ASCII, since a text may hold half a surrogate pair, which no encoding can write.
    return json.dumps(value, ensure_ascii=True, indent=indent)


OTHER = "other"
_LONGEST_NAME = 60


@cache
def load_task_types() -> Mapping[str, str]:
    """Name of a task -> its type, as mteb 2.26 has it (2,087 tasks)."""
    import json

    types = json.loads(files(__package__).joinpath("task_types.json").read_text("utf-8"))
    return {name: kind for kind, names in types.items() for name in names.split()}


def find_task_of_result_document(document: Document) -> str:
    """A document's type as a task of ours is called, `other` where nobody knows: what we wrote into it ourselves, what
    MTEB says of the task, or the category that a bundle gives."""
    block = document.body.get(BLOCK)
    block = block if isinstance(block, dict) else {}
    run = block.get("run")
    task = run.get("task") if isinstance(run, dict) else None
    return (
        format_task_name(
            str(
                (task if isinstance(task, str) else "")
                or load_task_types().get(document.task)
                or _find_category_of_first_record(block)
                or OTHER
            )
        )
        or OTHER
    )


def _find_category_of_first_record(block: Mapping[str, object]) -> object:
    records = block.get("records")
    first = records[0] if isinstance(records, list) and records else None
    values = first.get("values") if isinstance(first, dict) else None
    return values.get("category") if isinstance(values, dict) else None


def format_task_name(name: str) -> str:
    """Spell a task's name as our tasks are called.

    >>> [format_task_name(name) for name in ("PairClassification", "STS", "VisualSTS(eng)", "Any2AnyRetrieval")]
    ['pair_classification', 'sts', 'visual_sts_eng', 'any2any_retrieval']
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z][A-Za-z])", "_", name.replace("Any2Any", "any2any_"))
    return re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")[:_LONGEST_NAME]


META = "model_meta.json"
RESULTS = "results"
EXPERIMENTS = "experiments"
_ASIDE = frozenset({META, "paths.json", "embassay.json"})


def make_folder_name_of_model(model: str) -> str:
    """The folder of a model, as mteb names it; a short hash is appended where more had to change.

    >>> make_folder_name_of_model("intfloat/e5 base"), make_folder_name_of_model("st:./models/mine")
    ('intfloat__e5_base', 'st_.__models__mine-82025bcc')
    """
    # mteb changes these two signs alone; what no file may be called is ours, with a hash against clashes.
    plain = model.replace("/", "__").replace(" ", "_")
    safe = slugify_name(plain)
    return safe if safe == plain else slugify_name(model.replace("/", "__"))


def decode_model_folder(folder: str) -> str:
    """The model of a folder, where no `model_meta.json` says its name.

    >>> decode_model_folder("intfloat__e5-base")
    'intfloat/e5-base'
    """
    return folder.replace("__", "/", 1)


def build_model_results_folder_path(model: str, revision: str, experiment: str = "") -> Path:
    """The folder of a model's results, below `results`."""
    place = Path(make_folder_name_of_model(model)) / slugify_name(revision)
    return place / EXPERIMENTS / slugify_name(experiment) if experiment else place


def find_model_of_results_folder(folder: Path, meta: Mapping[str, Any] | None) -> tuple[str, str, str]:
    """Model, revision and experiment of the results in a folder: by its `model_meta.json`, else by its path."""
    folder, experiment = folder.absolute(), ""
    if folder.parent.name == EXPERIMENTS:
        folder, experiment = folder.parent.parent, folder.name
    names = [(meta or {}).get(key) for key in ("name", "revision")]
    model, revision = (name if isinstance(name, str) and name else None for name in names)
    return model or decode_model_folder(folder.parent.name), revision or folder.name, experiment


def list_result_files(source: Path) -> Iterator[Path]:
    """The files of results below a folder, a clone's `results` or any part of one, in the order of their names; hidden
    folders and what links lead to are left out."""
    root = source / RESULTS if (source / RESULTS).is_dir() else source
    for place, folders, names in walk_bounded_folder(root):
        # In place, so that the walk itself goes in this order and skips these.
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith((".json", ".json.gz")) and name not in _ASIDE and not name.startswith("."):
                yield Path(place) / name


OWNER = "embassay"
_UNKNOWN_IN_WORDS = """
    release_date n_parameters memory_usage_mb max_tokens embed_dim license open_weights public_training_code
    public_training_data similarity_fn_name use_instructions training_datasets
"""
_UNKNOWN = tuple(_UNKNOWN_IN_WORDS.split())
"""Fields that MTEB wants to be there, null where nobody knows."""


def make_model_meta(name: str, revision: str, languages: Iterable[str], **known: Any) -> dict[str, Any]:
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


def make_mteb_model_name(system: str) -> str:
    """A system's name as MTEB wants it, `organization/model`: ours where it names none.

    >>> make_mteb_model_name("minilm"), make_mteb_model_name("intfloat/e5-base")
    ('embassay/minilm', 'intfloat/e5-base')
    """
    return system if "/" in system else f"{OWNER}/{system}"


def extract_model_facts_from_mteb_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What an account says of a model, by our names: dims, max_tokens, parameters, weights_mb, licence, released."""
    size = meta.get("embed_dim")
    facts = {
        "dims": max((dims for dims in size if isinstance(dims, int)), default=None) if isinstance(size, list) else size,
        "max_tokens": meta.get("max_tokens"),
        "parameters": meta.get("n_parameters"),
        "weights_mb": meta.get("memory_usage_mb"),
        "licence": meta.get("license"),
        "released": meta.get("release_date"),
    }
    return {key: plain for key, value in facts.items() if (plain := _keep_number_or_name(value)) is not None}


def _keep_number_or_name(value: Any) -> float | str | None:
    """A number or a name; None for what is neither."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value if math.isfinite(value) else None
    if isinstance(value, str):
        return value if is_printable_name(value) else None
    return value if isinstance(value, int) else None


Owner = tuple[str, str, str]


@dataclass(frozen=True)
class WrittenResultCounts:
    """So many files of tasks, models in a revision, and entries were written below `folder`."""

    folder: Path
    files: int
    models: int
    entries: int


def write_result_files(
    documents: Iterable[Document], out: Path, metas: Mapping[Owner, Mapping[str, Any]] | None = None
) -> WrittenResultCounts:
    """Write `out/results/org__model/revision/Task.json` of every document, and a `model_meta.json` for each revision:
    the one of `metas`, else one that says only the name. UsageError where two documents would be one file."""
    metas = metas or {}
    spoken: dict[Owner, set[str]] = {}
    seen: set[Path] = set()
    entries = 0
    for document in documents:
        owner = (document.model, document.revision, document.experiment)
        path = out / RESULTS / build_model_results_folder_path(*owner) / f"{slugify_name(document.task)}.json"
        if path in seen:
            raise UsageError(
                f"{document.model} has two results for {document.task} in revision {document.revision}.",
                mend="Export their runs one at a time.",
            )
        seen.add(path)
        _write_json_file(path, document.body)
        for _, entry in document.entries():
            entries += 1
            spoken.setdefault(owner, set()).update(entry.get("languages") or ())
        spoken.setdefault(owner, set())
    for owner, languages in spoken.items():
        meta = metas.get(owner) or make_model_meta(owner[0], owner[1], languages)
        _write_json_file(out / RESULTS / build_model_results_folder_path(*owner) / META, meta)
    return WrittenResultCounts(out, len(seen), len(spoken), entries)


def _write_json_file(path: Path, body: Mapping[str, Any]) -> None:
    """Write a JSON file in one step, but without waiting for the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(format_ascii_json(body, indent=2) + "\n", encoding="ascii")
    part.replace(path)


Record = Mapping[str, Any]
_TEXTS = ("model", "revision", "task")
_RECORDS = "records"
_ENTRY = ("hf_subset", "languages", "agreement")
_FIELDS = (
    *_TEXTS, "split", "hf_subset", "languages", MAIN, "scores", "agreement", "dataset_revision", "mteb_version"
)  # fmt: skip


def split_bundle_into_documents(
    records: Sequence[Any], where: Path | None = None, fault: Callable[[str], None] | None = None
) -> Iterator[Document]:
    """The documents of a bundle's records, in the order of their first records; `bundle_of` gives the records back.

    A record that is none goes to `fault` in words, or raises DataError where nobody listens.
    """
    groups: dict[tuple[str, ...], list[tuple[int, Record]]] = {}
    for place, record in enumerate(records):
        try:
            groups.setdefault(_read_model_and_experiment_of_record(record, place, where), []).append((place, record))
        except DataError as error:
            if fault is None:
                raise
            fault(error.message)
    for group in groups.values():
        try:
            yield check_result_document(_make_mteb_document_of_records(group), where)
        except DataError as error:
            if fault is None:
                raise
            fault(f"{error.message} (results {', '.join(str(place + 1) for place, _ in group)})")


def bundle_of(documents: Iterable[Document]) -> list[dict[str, Any]]:
    """The records of documents: those that came from a bundle as they were and in its order, others after them."""
    numbered = [
        # Records that no bundle placed come last; the sort is stable, so in their own order.
        (place if place is not None else float("inf"), record)
        for document in documents
        for place, record in _iterate_result_document_entries(document)
    ]
    return [record for _, record in sorted(numbered, key=lambda record: record[0])]


def _read_model_and_experiment_of_record(record: Any, place: int, where: Path | None) -> tuple[str, ...]:
    if not isinstance(record, dict):
        raise DataError(f"Result {place + 1} is not an object", path=where, found=repr(record)[:60])
    for key in _TEXTS:
        if not isinstance(record.get(key), str) or not record[key]:
            raise DataError(f"Result {place + 1} has no {key}", path=where, found=repr(record.get(key))[:60])
    if not isinstance(record.get("scores") or {}, dict):
        raise DataError(
            f"Result {place + 1} has scores that are not an object", path=where, found=repr(record["scores"])[:60]
        )
    return record["model"], record["revision"], record["task"]


def _make_mteb_document_of_records(group: Sequence[tuple[int, Record]]) -> Document:
    first = group[0][1]
    scores: dict[str, list[dict[str, Any]]] = {}
    for _, record in group:
        scores.setdefault(_read_split_name(record), []).append(_convert_record_to_entry(record))
    body: dict[str, Any] = {
        "dataset_revision": first.get("dataset_revision"),
        "task_name": first["task"],
        "mteb_version": first.get("mteb_version"),
        "scores": scores,
        "evaluation_time": None,
        "kg_co2_emissions": None,
    }
    bare = Document(first["model"], first["revision"], body)
    # The records of a document come split by split.
    ordered = [entry for split in scores for entry in group if _read_split_name(entry[1]) == split]
    kept = [
        _collect_differing_record_fields(place, record, _convert_entry_to_record(bare, split, entry))
        for (place, record), (split, entry) in zip(ordered, bare.entries(), strict=True)
    ]
    return Document(bare.model, bare.revision, {**body, BLOCK: {_RECORDS: kept}})


def _read_split_name(record: Record) -> str:
    split = record.get("split", "test")
    return split if isinstance(split, str) else "test"


def _convert_record_to_entry(record: Record) -> dict[str, Any]:
    """Convert a record to an entry of MTEB: its scores with the subset and its languages."""
    entry = {**(record.get("scores") or {}), MAIN: record.get(MAIN), "hf_subset": record.get("hf_subset", "default")}
    entry["languages"] = record.get("languages") or []
    if record.get("agreement") is not None:
        entry["agreement"] = record["agreement"]
    return entry


def _convert_entry_to_record(document: Document, split: str, entry: Record) -> dict[str, Any]:
    """A record made of an entry alone."""
    body = document.body
    return {
        "model": document.model, "revision": document.revision, "task": document.task, "split": split,
        "hf_subset": entry.get("hf_subset", "default"), "languages": entry.get("languages") or [],
        MAIN: entry.get(MAIN),
        "scores": {key: value for key, value in entry.items() if key not in _ENTRY},
        "agreement": entry.get("agreement"),
        "dataset_revision": body.get("dataset_revision"), "mteb_version": body.get("mteb_version")
    }  # fmt: skip


def _collect_differing_record_fields(place: int, record: Record, made: Record) -> dict[str, Any]:
    """What has to be known beside the entry: the record's place, its order of fields, and those that differ."""
    differ = {key: record[key] for key in record if key not in made or not are_same_json(made[key], record[key])}
    usual = tuple(record) == _FIELDS
    return {"place": place, **({} if usual else {"fields": list(record)}), "values": differ}


def _iterate_result_document_entries(document: Document) -> Iterator[tuple[int | None, dict[str, Any]]]:
    block = document.body.get(BLOCK)
    kept = block.get(_RECORDS) if isinstance(block, dict) else None
    entries = list(document.entries())
    if not isinstance(kept, list) or len(kept) != len(entries):
        kept = [None] * len(entries)
    for (split, entry), beside in zip(entries, kept, strict=True):
        made = _convert_entry_to_record(document, split, entry)
        if not isinstance(beside, dict):
            yield None, made
            continue
        place, values, fields = (beside.get(key) for key in ("place", "values", "fields"))
        whole = {**made, **(values if isinstance(values, dict) else {})}
        order = fields if isinstance(fields, list) else _FIELDS
        yield place if isinstance(place, int) else None, {key: whole[key] for key in order if key in whole}


def are_same_json(a: Any, b: Any) -> bool:
    """Whether two values of JSON are the same in every digit and type; NaN is NaN, and an object's order counts not.

    >>> are_same_json({"x": [float("nan"), 1]}, {"x": [float("nan"), 1]})
    True
    >>> are_same_json(1, 1.0), are_same_json(0.0, False)
    (False, False)
    """
    # 1, 1.0 and true are equal in Python and not in a file that is to come back as it was.
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(are_same_json(value, b[key]) for key, value in a.items())
    if isinstance(a, list):
        return len(a) == len(b) and all(map(are_same_json, a, b))
    return bool(a == b or (a != a and b != b))


MANY = "mul"
_TEST = "test"


@dataclass
class TaskDocumentCounts:
    """One task: its type, and how many documents there are of each split, version of the data and language."""

    kind: str
    splits: Counter[str] = field(default_factory=Counter)
    revisions: Counter[str] = field(default_factory=Counter)
    langs: Counter[str] = field(default_factory=Counter)
    sizes: Counter[int] = field(default_factory=Counter)
    """Numbers of items that files of Every Eval Ever state, with how many systems have each."""
    shares: int = 0
    """Main scores from -1 to 1."""

    @property
    def split(self) -> str:
        """The split that counts: `test`, else the one that most documents have."""
        if _TEST in self.splits or not self.splits:
            return _TEST
        # Equals by name, not by which file came first.
        return min(self.splits, key=lambda name: (-self.splits[name], name))

    @property
    def lang(self) -> str:
        """The only language, or `mul`."""
        return next(iter(self.langs), "") if len(self.langs) < 2 else MANY


def _read_dataset_revision(document: Document) -> str:
    name = document.body.get("dataset_revision")
    return name if isinstance(name, str) and is_printable_name(name) else ""


def is_from_every_eval_ever(document: Document) -> bool:
    """Whether the document is of a file of Every Eval Ever, which may state intervals of scores without their items."""
    block = document.body.get(BLOCK)
    return isinstance(block, dict) and block.get("source") == EVALUATIONS


def _read_stated_item_counts(document: Document) -> list[int]:
    """How many items are behind the first main score of an evaluation; nothing where it does not say."""
    rows = document.body[BLOCK].get("rows") if is_from_every_eval_ever(document) else None
    first = rows[0] if isinstance(rows, list) and rows else None
    n = first.get("n") if isinstance(first, dict) else None
    return [n] if isinstance(n, int) and n > 0 else []


@dataclass
class ResultDocumentSurvey:
    """All documents, counted as they are read."""

    documents: int = 0
    tasks: dict[str, TaskDocumentCounts] = field(default_factory=dict)
    versions: dict[str, dict[tuple[str, str], None]] = field(default_factory=dict)
    """Model -> its revisions with their experiments, in the order in which they came."""

    def add(self, document: Document) -> None:
        """Count a document in the survey."""
        self.documents += 1
        self.versions.setdefault(document.model, {})[document.revision, document.experiment] = None
        task = self.tasks.setdefault(document.task, TaskDocumentCounts(find_task_of_result_document(document)))
        task.revisions[_read_dataset_revision(document)] += 1
        task.sizes.update(_read_stated_item_counts(document))
        for split, entry in document.entries():
            task.splits[split] += 1
            task.langs.update(list_entry_languages(entry))
            main = number_or_none(entry.get(MAIN))
            task.shares += main is not None and abs(main) <= 1

    def system(self, document: Document) -> str:
        """What the document's system is called in a run; see `make_model_name_with_revision`."""
        return self.make_model_name_with_revision(document.model, document.revision, document.experiment)

    def make_model_name_with_revision(self, model: str, revision: str, experiment: str) -> str:
        """The model's name; with its revision (and experiment) where the results are of more than one."""
        if len(self.versions[model]) == 1:
            return model
        return f"{model}@{revision}" + (f"/{experiment}" if experiment else "")

    def systems(self) -> dict[str, tuple[str, str, str]]:
        """Every system's name with its model, revision and experiment, in order."""
        return {
            self.make_model_name_with_revision(model, *version): (model, *version)
            for model, versions in self.versions.items()
            for version in versions
        }

    @property
    def tasks_by_type(self) -> dict[str, list[str]]:
        """The tasks of every type of task, in order."""
        types: dict[str, list[str]] = {}
        for name, task in self.tasks.items():
            types.setdefault(task.kind, []).append(name)
        return types


Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Fault:
    """What could not be read: where, and why."""

    path: str
    reason: str

    @classmethod
    def of(cls, path: str, reason: str) -> Fault:
        """Make a fault of a path and a reason, with a mark for what no encoding can write."""
        path, reason = (text.encode("utf-8", "replace").decode() for text in (path, reason))
        return cls(path, reason)


@dataclass
class SurveyReadingFindings:
    """What reading has come upon beside the documents: files, faults, what is known of models, and a bundle's head."""

    files: int = 0
    faults: list[Fault] = field(default_factory=list)
    metas: dict[tuple[str, str, str], Mapping[str, Any]] = field(default_factory=dict)
    head: dict[str, Any] = field(default_factory=dict)
    evaluations: dict[tuple[str, str, str, str], str] = field(default_factory=dict)
    """Model, revision, evaluator and task of each result of Every Eval Ever, with the file that has it."""


def is_every_eval_ever_file(body: Any) -> bool:
    """Whether a file is one of Every Eval Ever."""
    return isinstance(body, dict) and "evaluation_results" in body and "model_info" in body


def read_documents(
    source: Path,
    reading: SurveyReadingFindings | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
) -> Iterator[Document]:
    """The documents of a source, read one by one: a clone of the public repository or a folder of its layout, a model's
    folder or a revision's, one Task.json, or a bundle `{"results": [record, ...]}`, compressed or not.

    Faults of single files and records go into `reading`. Raises DataError where there is no such source.
    """
    reading = reading if reading is not None else SurveyReadingFindings()
    if not source.exists():
        raise DataError("There is no such file or folder", path=source, mend=MEND)
    files = [source] if source.is_file() else list(list_result_files(source))
    # A folder's account is read once for its files, which come one after the other.
    meta_of = lru_cache(maxsize=16)(lambda folder: _read_model_meta(folder, reading))
    for place, path in enumerate(files):
        if progress is not None:
            progress("reading results", place, len(files))
        reading.files += 1
        try:
            yield from _read_score_documents_in_file(path, reading, meta_of, max_bytes)
        except DataError as error:
            reading.faults.append(Fault.of(_relative_path(path, source), error.message))


def _read_score_documents_in_file(
    path: Path, reading: SurveyReadingFindings, meta_of: Callable[[Path], Mapping[str, Any] | None], max_bytes: int
) -> Iterator[Document]:
    body = read_json_file(path, max_bytes)
    if isinstance(body, dict) and isinstance(body.get("results"), list):
        reading.head.update((key, value) for key, value in body.items() if key != "results")
        yield from split_bundle_into_documents(
            body["results"], path, lambda fault: reading.faults.append(Fault.of(str(path), fault))
        )
        return
    if not isinstance(body, dict):
        raise DataError("This is neither an MTEB results file nor an Every Eval Ever file", path=path, mend=MEND)
    if is_every_eval_ever_file(body):
        yield from _collect_evaluation_documents(body, path, reading)
        return
    meta = meta_of(path.parent)
    owner = find_model_of_results_folder(path.parent, meta)
    document = check_result_document(Document(*owner[:2], body, owner[2]), path)
    if meta is not None:
        reading.metas[owner] = meta
    yield document


def _collect_evaluation_documents(body: Plain, path: Path, reading: SurveyReadingFindings) -> Iterator[Document]:
    from embassay.protocols.mteb.evaluations import read_every_eval_ever_documents

    for document in read_every_eval_ever_documents(
        body, path, lambda what: reading.faults.append(Fault.of(str(path), what))
    ):
        owner = (document.model, document.revision, document.experiment, document.task)
        if owner in reading.evaluations:
            first = reading.evaluations[owner]
            what = f"{document.model} already has a result for {document.task} in {first}, which is used"
            reading.faults.append(Fault.of(str(path), what))
            continue
        reading.evaluations[owner] = path.name
        yield document


def _read_model_meta(folder: Path, reading: SurveyReadingFindings) -> Mapping[str, Any] | None:
    path = folder / META
    if not path.is_file():
        return None
    try:
        meta = read_json_file(path)
        if not isinstance(meta, dict):
            raise DataError("This does not describe a model", path=path, found=repr(meta)[:60])
    except DataError as error:
        reading.faults.append(Fault.of(str(path), error.message))
        return None
    return meta


def _relative_path(path: Path, source: Path) -> str:
    return path.name if path == source else path.relative_to(source).as_posix()
