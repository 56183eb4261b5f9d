"""Transformed texts in the layout of the authors' code, written and read (spec hteb 12).

ROOT/GENERATOR/DATASET/TRANSFORMATION/SEED/data_HASH.parquet and metadata_HASH.JSON, and beside them embassay_HASH.json
with what their metadata has no key for: prompts and sampling.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from embassay.errors import DataError, UsageError
from embassay.limits import read_bounded
from embassay.parquet import read_parquet
from embassay.protocols.hteb.options import HtebOptions, Request
from embassay.protocols.hteb.plan import HtebPlan
from embassay.protocols.hteb.protocol import transforming
from embassay.protocols.hteb.slots import body_of, catalogue_names, reference_name
from embassay.protocols.hteb.transformations import TRANSFORMATIONS
from embassay.protocols.hteb.transformers import REASONS, StoredTransformer
from embassay.protocols.wordings import sets
from embassay.protocols.wordings.plan import PlannedDataset
from embassay.protocols.wordings.records import Paraphrase
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.work import language_at
from embassay.records import Loaded
from embassay.runs.folder import digest, to_json, write_atomic

STATISTICS = (
    "records_total", "records_targeted", "text_fields_total", "records_with_fallback", "text_fields_with_fallback",
    "unchanged_outputs", "retried_text_fields", "recovered_after_retry_text_fields", "fallback_reasons",
)  # fmt: skip
REQUIRED = (
    "generator_model", "transformation", "dataset", "seed_transform", "generation_datetime", "max_model_length",
    "max_tokens", "max_retries", "generation_statistics",
)  # fmt: skip
OPTIONAL = (
    "data_filtering", "source_revision", "translation_language_selection", "max_tokens_expansion", "transform_corpus",
    "clustering_format",
)  # fmt: skip
CONTEXT = 8192
"""The longest conversation in tokens, where a model does not say: the reference's default."""
_NAMED = ("dataset", "generation_datetime", "generator_model", "seed_transform", "transformation")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[1-9]|lpt[1-9])(\..*)?", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def generator_folder(model: str) -> str:
    """The folder of a generator: its hub id, percent-encoded with `~` for `%`. UsageError for a local path, and for a
    name that is too long.

    >>> generator_folder("cyankiwi/gemma-4-31B-it-AWQ-4bit")
    'cyankiwi~2Fgemma-4-31B-it-AWQ-4bit'
    """
    if (
        not model.strip()
        or model.startswith(("/", "./", "../", "~/", "\\"))
        or re.match(r"[A-Za-z]:\\", model)
    ):
        raise UsageError(
            f"{model!r} is not a name of a model.",
            mend="Name the model as its hub does: --generator ORG/MODEL.",
        )
    name = quote(model, safe="").replace("~", "%7E")
    if name.endswith("."):
        name = f"{name[:-1]}%2E"
    if _RESERVED.fullmatch(name):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    name = name.replace("%", "~")
    if len(name.encode()) > 255:
        raise UsageError(
            f"{model[:60]!r}… is too long for the name of a folder.", mend="Give --generator a shorter name."
        )
    return name


def generator_of(folder: str) -> str:
    """The inverse of `generator_folder`."""
    return unquote(folder.replace("~", "%"))


def file_hash(metadata: Mapping[str, Any]) -> str:
    """What the files of one generation are called by, 64 hexadecimal digits."""
    named = {name: metadata[name] for name in _NAMED}
    text = json.dumps(named, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def file_names(metadata: Mapping[str, Any]) -> tuple[str, str, str]:
    """The data, their metadata and our own file; without a date they have no hash."""
    end = f"_{file_hash(metadata)}" if metadata["generation_datetime"] else ""
    return f"data{end}.parquet", f"metadata{end}.JSON", f"embassay{end}.json"


@dataclass
class Record:
    """A row: its fields, and the slots among them, each as a field with its number (None: no list) and its place."""

    fields: dict[str, Any]
    slots: list[tuple[str, int | None, str]] = field(default_factory=list)
    lang: str = ""

    def with_texts(self, said: Callable[[str, str], str]) -> dict[str, Any]:
        """The fields with `said` of the place and the text of every slot in its place."""
        other: dict[str, Any] = {
            name: list(value) if isinstance(value, list) else value for name, value in self.fields.items()
        }
        for name, number, place in self.slots:
            if number is None:
                other[name] = said(place, other[name])
            else:
                other[name][number] = said(place, other[name][number])
        return other


def records(task: str, parts: Sequence[Loaded[Any]], options: HtebOptions) -> list[Record]:
    """The rows of a task in the order of the reference."""
    found = []
    for part in parts:
        known = part.lang not in ("", "und", "mul")
        for one in _RECORDS[task](part.data):
            if known and task != "retrieval":
                one.fields["language"] = part.lang
            one.lang = part.lang
            found.append(one)
    if options.corpus == "queries-only":
        for one in found:
            one.slots = [
                slot for slot in one.slots if not slot[2].startswith(("document:", "title:", "candidate:"))
            ]
    return found


def _classification(data: Any) -> Iterator[Record]:
    for split, side in (("train", data.train), ("test", data.test)):
        for one, text, label in zip(side.ids, side.texts, side.labels, strict=True):
            yield Record(
                {"text": text, "label": label, "_hteb_split": split}, [("text", None, f"{split}:{one}")]
            )


def _clustering(data: Any) -> Iterator[Record]:
    for name in sorted(set(data.sets)):
        rows = [row for row, own in enumerate(data.sets) if own == name]
        fields = {
            "sentences": [data.texts[row] for row in rows], "labels": [data.labels[row] for row in rows],
            "_hteb_split": "test",
        }  # fmt: skip
        yield Record(fields, [("sentences", i, f"text:{data.ids[row]}") for i, row in enumerate(rows)])


def _pairs(data: Any) -> Iterator[Record]:
    values = data.scores if hasattr(data, "scores") else data.labels
    name = "score" if hasattr(data, "scores") else "label"
    for one, first, second, value in zip(data.ids, data.first, data.second, values.tolist(), strict=True):
        fields = {"sentence1": first, "sentence2": second, name: value, "_hteb_split": "test"}
        yield Record(fields, [("sentence1", None, f"first:{one}"), ("sentence2", None, f"second:{one}")])


def _reranking(data: Any) -> Iterator[Record]:
    for row, one in enumerate(data.ids):
        gains, queries = data.relevance[row], list(data.queries[row])
        sides = [[i for i in range(len(gains)) if (gains[i] > 0) == wanted] for wanted in (True, False)]
        fields: dict[str, Any] = {"query": queries, "_hteb_split": "test"}
        slots: list[tuple[str, int | None, str]] = [
            ("query", i, f"query:{one}:{i}") for i in range(len(queries))
        ]
        for name, side in zip(("positive", "negative"), sides, strict=True):
            fields[name] = [data.candidates[row][i] for i in side]
            slots += [(name, place, f"candidate:{one}:{i}") for place, i in enumerate(side)]
        yield Record(fields, slots)


_EMPTY = {"_id": None, "title": None, "text": None, "query-id": None, "corpus-id": None, "score": None}


def _retrieval(data: Any) -> Iterator[Record]:
    titles = data.corpus.titles or ("",) * len(data.corpus)
    for one, text, title in zip(data.corpus.ids, data.corpus.texts, titles, strict=True):
        fields = {**_EMPTY, "_id": one, "title": title, "text": body_of(text, title), "_hteb_part": "corpus"}
        slots = [("title", None, f"title:{one}")] if title else []
        yield Record({**fields, "_hteb_split": "test"}, [*slots, ("text", None, f"document:{one}")])
    for one, text in zip(data.queries.ids, data.queries.texts, strict=True):
        fields = {**_EMPTY, "_id": one, "text": text, "_hteb_part": "queries", "_hteb_split": "test"}
        yield Record(fields, [("text", None, f"query:{one}")])
    for query in data.queries.ids:
        for doc, gain in data.qrels[query].items():
            fields = {
                **_EMPTY,
                "query-id": query,
                "corpus-id": doc,
                "score": int(gain),
                "_hteb_part": "qrels",
            }
            yield Record({**fields, "_hteb_split": "test"})


def _summaries(data: Any) -> Iterator[Record]:
    for row, one in enumerate(data.ids):
        fields = {
            "text": data.texts[row], "human_summaries": list(data.references[row]),
            "machine_summaries": list(data.summaries[row]), "relevance": data.relevance[row].tolist(),
            "_hteb_split": "test",
        }  # fmt: skip
        slots: list[tuple[str, int | None, str]] = []
        slots += [("human_summaries", i, f"reference:{one}:{i}") for i in range(len(data.references[row]))]
        slots += [("machine_summaries", i, f"summary:{one}:{i}") for i in range(len(data.summaries[row]))]
        yield Record(fields, slots)


_RECORDS: Mapping[str, Callable[[Any], Iterator[Record]]] = {
    "classification": _classification, "clustering": _clustering, "pair_classification": _pairs, "sts": _pairs,
    "reranking": _reranking, "retrieval": _retrieval, "summarization": _summaries,
}  # fmt: skip


@dataclass(frozen=True)
class Written:
    """A file that was written, and its statistics."""

    path: Path
    statistics: Mapping[str, Any]


def export(
    kept: ParaphraseSet, request: Request, root: Path, *, generator: str = "", date: str = ""
) -> list[Written]:
    """Write all runs that a set has of the datasets of a request, one file for each transformation and seed of each.

    UsageError for a dataset that joins several tasks (choose one with `tasks`), a date of another form, a model that is
    a path, or where the set has none of the datasets.
    """
    if date and not _DATE.fullmatch(date):
        raise UsageError(f"The date is {date!r}.", mend="Write it as 2026-09-15T12:01:47Z.")
    plan = transforming(request)
    found = []
    for dataset in plan.datasets:
        if len(dataset.tasks) != 1:
            tasks = ", ".join(one.task for one in dataset.tasks)
            raise UsageError(
                f"A file holds one task, and {dataset.name!r} is used for {tasks}.", mend="Choose it with -t."
            )
        for name, of in TRANSFORMATIONS.items():
            if name in kept.sources and (request.transformations == () or name in request.transformations):
                for seed in kept.seeds(name, dataset.name):
                    writer = _Writer(plan, dataset, kept, StoredTransformer("stored", kept, of), seed)
                    found.append(writer.write(root, generator, date))
    if not found:
        has = ", ".join(dict.fromkeys(name for one in kept.sources.values() for name in one.datasets))
        raise UsageError(
            f"The set in {kept.path} has none of {', '.join(one.name for one in plan.datasets)}.",
            mend=f"It has {has or 'nothing'}.",
        )
    return found


class _Writer:
    """Writes one run of one transformation of one dataset."""

    def __init__(
        self, plan: HtebPlan, dataset: PlannedDataset, kept: ParaphraseSet, by: StoredTransformer, seed: int
    ) -> None:
        self.plan, self.dataset, self.kept, self.by, self.seed = plan, dataset, kept, by, seed
        self.task = dataset.tasks[0].task
        [slots] = plan.slots(dataset)
        asked = list(slots.asked(by.of, seed, plan.request.generation))
        places = [place for place, *_ in slots.rows]
        rows = dict(by.write(asked, seed=seed, run=0, dataset=dataset.name))
        self.rows = {place: rows[number] for number, place in enumerate(places)}

    def write(self, root: Path, generator: str, date: str) -> Written:
        """Write the three files."""
        import polars as pl

        source = self.kept.source(self.by.of.name)
        rows = records(self.task, self.plan.parts(self.dataset, self.task), self.plan.request.options)
        said = [one.with_texts(self._said) for one in rows]
        metadata = self._metadata(rows, generator or source.paraphraser, date or None, source.about)
        folder = root / generator_folder(metadata["generator_model"]) / metadata["dataset"] / self.by.of.name
        folder = folder / str(self.seed)
        data, meta, own = file_names(metadata)
        column = f"{self.by.of.name}_seed_{self.seed}"
        original = pl.Series("original", [one.fields for one in rows])
        frame = pl.DataFrame([original, pl.Series(column, said, dtype=original.dtype)])
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd")
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / data, buffer.getvalue())
        write_atomic(folder / meta, to_json(metadata, indent=2) + "\n")
        told = {"paraphraser": source.paraphraser, "prompt": source.prompt, **source.about}
        write_atomic(folder / own, to_json(told, indent=2) + "\n")
        return Written(folder / data, metadata["generation_statistics"])

    def _said(self, place: str, text: str) -> str:
        row = self.rows.get(place)
        return text if not text.strip() else row.wording if row is not None and row.usable else ""

    def _metadata(
        self, rows: Sequence[Record], generator: str, date: str | None, about: Mapping[str, Any]
    ) -> dict[str, Any]:
        drawn, of = about.get("sampling") or {}, self.by.of
        metadata: dict[str, Any] = {
            "generator_model": generator, "transformation": of.name, "dataset": reference_name(self.dataset.name),
            "seed_transform": self.seed, "generation_datetime": date,
            "max_model_length": int(about.get("num_ctx") or CONTEXT), "max_tokens": int(drawn.get("max_tokens", 512)),
            "max_retries": int(drawn.get("retries", 3)), "generation_statistics": self._statistics(rows),
        }  # fmt: skip
        if of.common:
            metadata["translation_language_selection"] = "dataset"
        if of.name == "summarised_expansion":
            metadata["max_tokens_expansion"] = int(drawn.get("max_tokens_expansion", 1024))
        if self.task in ("retrieval", "reranking"):
            metadata["transform_corpus"] = self.plan.request.options.corpus == "reference"
        if self.task == "clustering":
            several = len(self.plan.parts(self.dataset, self.task)) > 1
            metadata["clustering_format"] = (
                "per_language" if several else "nested" if len(rows) > 1 else "flat"
            )
        return metadata

    def _statistics(self, rows: Sequence[Record]) -> dict[str, Any]:
        """Counts over slots, each as often as it occurs."""
        slots = [(one, place) for one in rows for _, _, place in one.slots]
        own = [(one, self.rows[place]) for one, place in slots if self.rows[place].text.strip()]
        failed = [(one, row) for one, row in own if not row.usable]
        steps = len(self.by.of.steps)
        known = any(row.attempts for _, row in own)
        retried = [row for _, row in own if row.attempts > steps]
        reasons: dict[str, int] = {}
        for _, row in failed:
            name = REASONS.get(row.outcome, "backend_failure")
            reasons[name] = reasons.get(name, 0) + 1
        return {
            "records_total": len(rows), "records_targeted": sum(bool(one.slots) for one in rows),
            "text_fields_total": len(own), "records_with_fallback": len({id(one) for one, _ in failed}),
            "text_fields_with_fallback": len(failed),
            "unchanged_outputs": sum(row.outcome == "copied" for _, row in own),
            "retried_text_fields": len(retried) if known else "",
            "recovered_after_retry_text_fields": sum(row.usable for row in retried) if known else "",
            "fallback_reasons": reasons if known else "",
        }  # fmt: skip


def check_metadata(metadata: Any, path: Path) -> dict[str, Any]:
    """The metadata of a file, held against the rules of the reference: no key more, and counts that add up. DataError
    with what is wrong."""

    def wrong(what: str, expected: str, found: object) -> DataError:
        return DataError(
            what, path=path, expected=expected, found=str(found)[:80], mend="Get the file again."
        )

    if not isinstance(metadata, dict):
        raise wrong("the metadata are not an object", "a JSON object", type(metadata).__name__)
    if missing := [name for name in REQUIRED if name not in metadata]:
        raise wrong("the metadata lack a key", missing[0], ", ".join(map(str, metadata)))
    if more := [name for name in metadata if name not in (*REQUIRED, *OPTIONAL)]:
        raise wrong("the metadata have a key too many", "the keys of HTEB and no other", more[0])
    if metadata["transformation"] not in TRANSFORMATIONS:
        raise wrong("the transformation is unknown", ", ".join(TRANSFORMATIONS), metadata["transformation"])
    if not isinstance(metadata["seed_transform"], int) or isinstance(metadata["seed_transform"], bool):
        raise wrong("the seed is not a whole number", "a whole number", metadata["seed_transform"])
    date = metadata["generation_datetime"]
    if date is not None and not (isinstance(date, str) and _DATE.fullmatch(date)):
        raise wrong("the date is of another form", "YYYY-MM-DDTHH:MM:SSZ or null", date)
    _check_statistics(metadata["generation_statistics"], wrong)
    return metadata


def _check_statistics(found: Any, wrong: Callable[[str, str, object], DataError]) -> None:
    if not isinstance(found, dict) or set(found) != set(STATISTICS):
        raise wrong("the statistics are not those of HTEB", ", ".join(STATISTICS), found)
    for name in STATISTICS[:6]:
        if not isinstance(found[name], int) or isinstance(found[name], bool) or found[name] < 0:
            raise wrong(f"{name} is not a count", "a whole number from 0 on", found[name])
    unknown = [found[name] == "" for name in STATISTICS[6:]]
    if any(unknown) != all(unknown):
        raise wrong(
            "retries are known in part", "all three, or all empty", [found[name] for name in STATISTICS[6:]]
        )
    if found["text_fields_with_fallback"] + found["unchanged_outputs"] > found["text_fields_total"]:
        raise wrong(
            "the counts do not add up",
            "fallbacks and unchanged texts of all texts",
            found["text_fields_total"],
        )
    if not any(unknown) and sum(found["fallback_reasons"].values()) != found["text_fields_with_fallback"]:
        raise wrong("the reasons do not sum to the fallbacks", str(found["text_fields_with_fallback"]),
                    found["fallback_reasons"])  # fmt: skip


@dataclass(frozen=True)
class Found:
    """A file of the reference's layout, with its metadata."""

    data: Path
    metadata: Mapping[str, Any]

    @property
    def place(self) -> tuple[str, str, int]:
        """Transformation, dataset and seed."""
        return self.metadata["transformation"], self.metadata["dataset"], self.metadata["seed_transform"]


def find(root: Path, *, generator: str = "", datasets: Sequence[str] = ()) -> list[Found]:
    """The newest pair of files in every folder under `root`. DataError for half a pair, two of one date, a link, and
    for metadata that are not HTEB's; UsageError where there is none, or several generators and none is named."""
    if not root.is_dir():
        raise DataError(
            "there is no folder here", path=root, expected="ROOT/GENERATOR/DATASET/TRANSFORMATION/SEED"
        )
    every = sorted(path for path in root.iterdir() if path.is_dir() and path.name != "raw_sources")
    chosen = [path for path in every if not generator or path.name == generator_folder(generator)]
    if len(chosen) != 1:
        names = ", ".join(generator_of(path.name) for path in every) or "none"
        raise UsageError(f"{root} has the generators {names}.", mend="Name one with --generator.")
    wanted = {reference_name(one) for one in datasets}
    folders = sorted(path for path in chosen[0].glob("*/*/*") if path.is_dir())
    found = [_newest(path) for path in folders if not wanted or path.parents[1].name in wanted]
    if not found:
        raise UsageError(
            f"{chosen[0]} has no transformed dataset"
            + (f" called {' or '.join(sorted(wanted))}." if wanted else "."),
            mend="Give the folder above the generators' folders.",
        )
    return found


def _newest(folder: Path) -> Found:
    data = {path.stem.removeprefix("data"): path for path in sorted(folder.glob("data*.parquet"))}
    metadata = {path.stem.removeprefix("metadata"): path for path in sorted(folder.glob("metadata*.JSON"))}
    for path in (*data.values(), *metadata.values()):
        if path.is_symlink():
            raise DataError(
                "this is a link, which the layout does not allow",
                path=path,
                mend="Put the file itself there.",
            )
    if odd := sorted(data.keys() ^ metadata.keys()):
        raise DataError(
            "half a pair of files", path=(data.get(odd[0]) or metadata[odd[0]]),
            expected=f"data{odd[0]}.parquet and metadata{odd[0]}.JSON", mend="Get the other one too.",
        )  # fmt: skip
    if not data:
        raise DataError("there is no data here", path=folder, expected="data*.parquet and metadata*.JSON")
    read = [Found(data[end], _metadata_of(metadata[end])) for end in data]
    read.sort(key=lambda one: one.metadata["generation_datetime"] or "")
    dates = [one.metadata["generation_datetime"] or "" for one in read]
    if len(dates) > 1 and dates[-1] == dates[-2]:
        raise DataError(
            "two files of one date", path=folder, found=dates[-1], mend="Remove one of the two pairs."
        )
    return read[-1]


def _metadata_of(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_bounded(path))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError("the metadata cannot be read", path=path, found=str(error)[:80]) from error
    metadata = check_metadata(found, path)
    folder = (path.parents[1].name, path.parents[2].name, path.parent.name)
    said = (metadata["transformation"], metadata["dataset"], str(metadata["seed_transform"]))
    if folder != said:
        raise DataError(
            "the metadata are of another folder", path=path, expected="/".join(folder), found="/".join(said)
        )
    return metadata


SLOTS = frozenset(
    [
        "text",
        "sentence",
        "sentences",
        "input",
        "title",
        "sentence1",
        "sentence2",
        "sent1",
        "sent2",
        "sentence_1",
        "sentence_2",
        "text_1",
        "text_2",
        "query",
        "positive",
        "negative",
        "document",
        "human_summaries",
        "machine_summaries",
    ]
)
_SECOND = frozenset({"sentence2", "sent2", "sentence_2", "text_2"})


def read_file(found: Found) -> tuple[list[Paraphrase], str]:
    """What the file has of every slot, in the order of the reference, and a digest of its originals. DataError for
    other columns, types or counts."""
    import polars as pl

    transformation, _, seed = found.place
    frame = read_parquet(found.data)
    names = ["original", f"{transformation}_seed_{seed}"]
    if frame.columns != names:
        raise DataError("these are not the two columns of HTEB", path=found.data, expected=", ".join(names),
                        found=", ".join(frame.columns))  # fmt: skip
    first, second = frame.dtypes
    if first != second or not isinstance(first, pl.Struct):
        raise DataError("the columns are not of one type of records", path=found.data, expected=str(first)[:60],
                        found=str(second)[:60])  # fmt: skip
    stated = found.metadata["generation_statistics"]["records_total"]
    if len(frame) != stated:
        raise DataError("the rows are not as many as the metadata say", path=found.data, expected=str(stated),
                        found=str(len(frame)))  # fmt: skip
    slots = []
    originals = frame["original"].to_list()
    for before, after in zip(originals, frame[names[1]].to_list(), strict=True):
        slots += list(_slots_of(before or {}, after or {}, seed))
    slots.sort(key=lambda one: one[0])
    return [row for _, row in slots], digest(originals)


def _slots_of(
    before: Mapping[str, Any], after: Mapping[str, Any], seed: int
) -> Iterator[tuple[bool, Paraphrase]]:
    label = next((before[name] for name in ("language", "lang", "languages") if before.get(name)), "und")
    label = "-".join(label) if isinstance(label, list) else str(label)
    for name, value in before.items():
        if (
            name not in SLOTS
            or (name == "text" and "human_summaries" in before)
            or before.get("_hteb_part") == "qrels"
        ):
            continue
        other = after.get(name)
        pairs = zip(value, other or [], strict=False) if isinstance(value, list) else [(value, other)]
        side = "second:" if name in _SECOND else "first:" if f"{name[:-1]}2" in before else "text:"
        for text, said in pairs:
            if isinstance(text, str) and text.strip():
                yield name in _SECOND, _row(text, said or "", language_at(side, label), seed)


def _row(text: str, said: str, lang: str, seed: int) -> Paraphrase:
    if not said.strip():
        return Paraphrase(text, lang, "", "", "failed", "stored empty by the reference", 0, seed)
    return Paraphrase(text, lang, "", said, "copied" if said == text else "ok", attempts=0, seed=seed)


@dataclass(frozen=True)
class Imported:
    """A set that was made, by transformation, dataset and seed the texts and those of them that failed."""

    kept: ParaphraseSet
    texts: Mapping[tuple[str, str, int], tuple[int, int]]


def import_(root: Path, out: Path, *, generator: str = "", datasets: Sequence[str] = ()) -> Imported:
    """Make a set in `out` of files in the reference's layout, to be used as `stored:OUT`.

    Datasets are called as in the catalogue where it has them. UsageError where there is a set already, DataError for
    files that are not whole or of which one dataset has several originals.
    """
    if (out / "manifest.json").exists():
        raise UsageError(f"{out} has a set of texts already.", mend="Choose another folder.")
    files = find(root, generator=generator, datasets=datasets)
    read = {one.place: read_file(one) for one in files}
    _check_originals(files, {place: told for place, (_, told) in read.items()})
    kept = ParaphraseSet.create(out)
    model = files[0].metadata["generator_model"]
    told: dict[tuple[str, str, int], tuple[int, int]] = {}
    for name in TRANSFORMATIONS:
        own = [one for one in files if one.place[0] == name]
        if not own:
            continue
        content = digest([[list(one.place), [row.wording for row in read[one.place][0]]] for one in own])
        about = {"model": model, "transformation": name, "sampling": _sampling(own[0].metadata)}
        kept.add(sets.Source(name=name, paraphraser=model, identity=f"imported:{content}", about=about))
        for one in own:
            rows = _numbered(read[one.place][0])
            _, dataset, seed = one.place
            kept.keep(name, catalogue_name(dataset), seed, rows)
            told[name, dataset, seed] = (len(rows), sum(not row.usable for row in rows))
    return Imported(kept, told)


def _sampling(metadata: Mapping[str, Any]) -> dict[str, Any]:
    found = {"max_tokens": metadata["max_tokens"], "retries": metadata["max_retries"]}
    expansion = metadata.get("max_tokens_expansion")
    return found if expansion is None else {**found, "max_tokens_expansion": expansion}


def _check_originals(files: Sequence[Found], told: Mapping[tuple[str, str, int], str]) -> None:
    first: dict[str, Found] = {}
    for one in files:
        known = first.setdefault(one.place[1], one)
        if told[known.place] != told[one.place]:
            raise DataError(
                f"the originals of {one.place[1]!r} are not those of another file", path=one.data,
                expected=f"the rows of {known.data}", mend="Take files that were made of one version of the data.",
            )  # fmt: skip


def _numbered(rows: Sequence[Paraphrase]) -> list[Paraphrase]:
    """Each text once where it came to one thing, else each time that it occurs, with its number in `place`."""
    by_text: dict[tuple[str, str], list[Paraphrase]] = {}
    for row in rows:
        by_text.setdefault((row.lang, row.text), []).append(row)
    found = []
    for own in by_text.values():
        same = len({one.wording for one in own}) == 1
        found += own[:1] if same else [replace(one, place=f"occurrence:{i}") for i, one in enumerate(own)]
    return found


def catalogue_name(dataset: str) -> str:
    """What the catalogue calls a dataset of the reference; another name stays.

    >>> catalogue_name("stsbenchmark-sts"), catalogue_name("mine")
    ('stsbenchmark', 'mine')
    """
    return catalogue_names().get(dataset, dataset)
