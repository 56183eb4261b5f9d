"""Transformed texts written in the layout of the authors' code, and read from it (spec hteb 12).

Beside a file and its metadata lies embassay_HASH.json with what their metadata have no key for: prompts and sampling.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from embassay.errors import DataError, UsageError
from embassay.parquet import read_parquet
from embassay.protocols.hteb.layout import (
    ReferenceLayoutFile,
    encode_generator_folder,
    is_timestamp,
    list_newest_reference_file_pairs,
    make_transformed_set_file_names,
)
from embassay.protocols.hteb.options import TRANSFORMATIONS, HtebOptions, HtebRequest
from embassay.protocols.hteb.protocol import HtebPlan, plan_transformation
from embassay.protocols.hteb.slots import (
    find_catalogue_name_of_dataset,
    find_dataset_name_in_reference,
    read_reference_dataset_settings,
    strip_title,
)
from embassay.protocols.hteb.transformers import REASONS, StoredTextTransformer
from embassay.protocols.wordings import sets
from embassay.protocols.wordings.protocol import PlannedDatasetToParaphrase
from embassay.protocols.wordings.records import ParaphraseOutcome
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.work import find_language_at_place
from embassay.records import LoadedDataset
from embassay.runs.folder import digest_json, write_file_atomically, write_json

CONTEXT = 8192
"""The longest conversation in tokens, where a model does not say: the reference's default."""


@dataclass
class ReferenceFileRowWithSlots:
    """A row of a reference file: its fields, and the slots among them."""

    fields: dict[str, Any]
    slots: list[tuple[str, int | None, str]] = field(default_factory=list)
    lang: str = ""

    def replace_slot_texts(self, said: Callable[[str, str], str]) -> dict[str, Any]:
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


def make_reference_rows(
    task: str, parts: Sequence[LoadedDataset[Any]], options: HtebOptions
) -> list[ReferenceFileRowWithSlots]:
    """The rows of a task in the order of the reference."""
    rows = []
    for part in parts:
        stated = part.lang not in ("", "und", "mul")
        for record in _RECORDS[task](part.data):
            if stated and task != "retrieval":
                record.fields["language"] = part.lang
            record.lang = part.lang
            rows.append(record)
    if options.corpus == "queries-only":
        for record in rows:
            record.slots = [
                slot for slot in record.slots if not slot[2].startswith(("document:", "title:", "candidate:"))
            ]
    return rows


def _list_classification_rows(data: Any) -> Iterator[ReferenceFileRowWithSlots]:
    for split, side in (("train", data.train), ("test", data.test)):
        for key, text, label in zip(side.ids, side.texts, side.labels, strict=True):
            yield ReferenceFileRowWithSlots(
                {"text": text, "label": label, "_hteb_split": split}, [("text", None, f"{split}:{key}")]
            )


def _iterate_clustering_reference_rows(data: Any) -> Iterator[ReferenceFileRowWithSlots]:
    # The layout has no ids of sets: their order has to be the same in every file.
    for name in sorted(set(data.sets)):
        rows = [row for row, name_of in enumerate(data.sets) if name_of == name]
        fields = {
            "sentences": [data.texts[row] for row in rows], "labels": [data.labels[row] for row in rows],
            "_hteb_split": "test"
        }  # fmt: skip
        yield ReferenceFileRowWithSlots(
            fields, [("sentences", i, f"text:{data.ids[row]}") for i, row in enumerate(rows)]
        )


def _iterate_reference_rows_of_pairs(data: Any) -> Iterator[ReferenceFileRowWithSlots]:
    values = data.scores if hasattr(data, "scores") else data.labels
    name = "score" if hasattr(data, "scores") else "label"
    for key, first, second, value in zip(data.ids, data.first, data.second, values.tolist(), strict=True):
        fields = {"sentence1": first, "sentence2": second, name: value, "_hteb_split": "test"}
        yield ReferenceFileRowWithSlots(
            fields, [("sentence1", None, f"first:{key}"), ("sentence2", None, f"second:{key}")]
        )


def _iterate_reranking_reference_rows(data: Any) -> Iterator[ReferenceFileRowWithSlots]:
    for row, key in enumerate(data.ids):
        gains, queries = data.relevance[row], list(data.queries[row])
        sides = [[i for i in range(len(gains)) if (gains[i] > 0) == wanted] for wanted in (True, False)]
        fields: dict[str, Any] = {"query": queries, "_hteb_split": "test"}
        slots: list[tuple[str, int | None, str]] = [("query", i, f"query:{key}:{i}") for i in range(len(queries))]
        for name, side in zip(("positive", "negative"), sides, strict=True):
            fields[name] = [data.candidates[row][i] for i in side]
            slots += [(name, place, f"candidate:{key}:{i}") for place, i in enumerate(side)]
        yield ReferenceFileRowWithSlots(fields, slots)


_EMPTY = {"_id": None, "title": None, "text": None, "query-id": None, "corpus-id": None, "score": None}


def _list_reference_rows_of_retrieval_set(data: Any) -> Iterator[ReferenceFileRowWithSlots]:
    titles = data.corpus.titles or ("",) * len(data.corpus)
    for key, text, title in zip(data.corpus.ids, data.corpus.texts, titles, strict=True):
        fields = {**_EMPTY, "_id": key, "title": title, "text": strip_title(text, title), "_hteb_part": "corpus"}
        slots = [("title", None, f"title:{key}")] if title else []
        yield ReferenceFileRowWithSlots({**fields, "_hteb_split": "test"}, [*slots, ("text", None, f"document:{key}")])
    for key, text in zip(data.queries.ids, data.queries.texts, strict=True):
        fields = {**_EMPTY, "_id": key, "text": text, "_hteb_part": "queries", "_hteb_split": "test"}
        yield ReferenceFileRowWithSlots(fields, [("text", None, f"query:{key}")])
    for query in data.queries.ids:
        for doc, gain in data.qrels[query].items():
            fields = {**_EMPTY, "query-id": query, "corpus-id": doc, "score": int(gain), "_hteb_part": "qrels"}
            yield ReferenceFileRowWithSlots({**fields, "_hteb_split": "test"})


def _iterate_reference_rows_of_summaries(data: Any) -> Iterator[ReferenceFileRowWithSlots]:
    for row, key in enumerate(data.ids):
        fields = {
            "text": data.texts[row], "human_summaries": list(data.references[row]),
            "machine_summaries": list(data.summaries[row]), "relevance": data.relevance[row].tolist(),
            "_hteb_split": "test"
        }  # fmt: skip
        slots: list[tuple[str, int | None, str]] = []
        slots += [("human_summaries", i, f"reference:{key}:{i}") for i in range(len(data.references[row]))]
        slots += [("machine_summaries", i, f"summary:{key}:{i}") for i in range(len(data.summaries[row]))]
        yield ReferenceFileRowWithSlots(fields, slots)


_RECORDS: Mapping[str, Callable[[Any], Iterator[ReferenceFileRowWithSlots]]] = {
    "classification": _list_classification_rows,
    "clustering": _iterate_clustering_reference_rows,
    "pair_classification": _iterate_reference_rows_of_pairs,
    "sts": _iterate_reference_rows_of_pairs,
    "reranking": _iterate_reranking_reference_rows,
    "retrieval": _list_reference_rows_of_retrieval_set,
    "summarization": _iterate_reference_rows_of_summaries,
}


@dataclass(frozen=True)
class WrittenFileWithStatistics:
    """A file that was written, and its statistics."""

    path: Path
    statistics: Mapping[str, Any]


def export(
    kept: ParaphraseSet, request: HtebRequest, root: Path, *, generator: str = "", date: str = ""
) -> list[WrittenFileWithStatistics]:
    """Write all runs that a set has of the datasets of a request, one file for each transformation and seed of each.

    UsageError for a dataset that joins several tasks (choose one with `tasks`), a date of another form, a model that is
    a path, or where the set has none of the datasets.
    """
    if date and not is_timestamp(date):
        raise UsageError(f"The date is {date!r}.", mend="Write it as 2026-09-15T12:01:47Z.")
    plan = plan_transformation(request)
    written = []
    for dataset in plan.datasets:
        if len(dataset.tasks) != 1:
            tasks = ", ".join(task.task for task in dataset.tasks)
            raise UsageError(
                f"A file contains one task, but {dataset.name!r} is used for {tasks}.", mend="Choose one with -t."
            )
        for name, of in TRANSFORMATIONS.items():
            if name in kept.sources and (request.transformations == () or name in request.transformations):
                for seed in kept.list_kept_seeds(name, dataset.name):
                    _check_seeds_are_not_negative(seed)
                    writer = _TransformationRunWriter(
                        plan, dataset, kept, StoredTextTransformer("stored", kept, of), seed
                    )
                    written.append(writer.write(root, generator, date))
    if not written:
        has = ", ".join(dict.fromkeys(name for source in kept.sources.values() for name in source.datasets))
        raise UsageError(
            f"The set in {kept.path} has no texts of {', '.join(dataset.name for dataset in plan.datasets)}.",
            mend=f"It has {has or 'nothing'}.",
        )
    return written


def _check_seeds_are_not_negative(seed: int) -> None:
    if seed < 0:
        raise UsageError(
            f"The set has a run with seed {seed}, but the authors' files need seeds of 0 or more.",
            mend="Transform the texts again with another --seed.",
        )


class _TransformationRunWriter:
    """Writes one run of one transformation of one dataset."""

    def __init__(
        self,
        plan: HtebPlan,
        dataset: PlannedDatasetToParaphrase,
        kept: ParaphraseSet,
        by: StoredTextTransformer,
        seed: int,
    ) -> None:
        self.plan, self.dataset, self.kept, self.by, self.seed = plan, dataset, kept, by, seed
        self.task = dataset.tasks[0].task
        [slots] = plan.list_task_slots(dataset)
        asked = list(slots.list_slots_to_fill(by.of, seed, plan.request.generation))
        places = [place for place, *_ in slots.rows]
        rows = dict(by.write(asked, seed=seed, run=0, dataset=dataset.name))
        self.rows = {place: rows[number] for number, place in enumerate(places)}

    def write(self, root: Path, generator: str, date: str) -> WrittenFileWithStatistics:
        """Write the three files of the run."""
        import polars as pl

        source = self.kept.source(self.by.of.name)
        rows = make_reference_rows(self.task, self.plan.parts(self.dataset, self.task), self.plan.request.options)
        said = [row.replace_slot_texts(self._find_wording_for_place) for row in rows]
        metadata = self._make_transformation_metadata(rows, generator or source.paraphraser, date or None, source.about)
        folder = root / encode_generator_folder(metadata["generator_model"]) / metadata["dataset"] / self.by.of.name
        folder = folder / str(self.seed)
        data, meta, file = make_transformed_set_file_names(metadata)
        column = f"{self.by.of.name}_seed_{self.seed}"
        original = pl.Series("original", [row.fields for row in rows])
        # One type for both columns: `read_outcomes_and_originals_digest` asks for it.
        frame = pl.DataFrame([original, pl.Series(column, said, dtype=original.dtype)])
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd")
        folder.mkdir(parents=True, exist_ok=True)
        write_file_atomically(folder / data, buffer.getvalue())
        write_json(folder / meta, metadata, indent=2)
        told = {"paraphraser": source.paraphraser, "prompt": source.prompt, **source.about}
        write_json(folder / file, told, indent=2)
        return WrittenFileWithStatistics(folder / data, metadata["generation_statistics"])

    def _find_wording_for_place(self, place: str, text: str) -> str:
        row = self.rows.get(place)
        return text if not text.strip() else row.wording if row is not None and row.usable else ""

    def _make_transformation_metadata(
        self, rows: Sequence[ReferenceFileRowWithSlots], generator: str, date: str | None, about: Mapping[str, Any]
    ) -> dict[str, Any]:
        drawn, of = about.get("sampling") or {}, self.by.of
        metadata: dict[str, Any] = {
            "generator_model": generator,
            "transformation": of.name,
            "dataset": find_dataset_name_in_reference(self.dataset.name),
            "seed_transform": self.seed,
            "generation_datetime": date,
            "max_model_length": int(about.get("num_ctx") or CONTEXT),
            "max_tokens": int(drawn.get("max_tokens", 512)),
            "max_retries": int(drawn.get("retries", 3)),
            "generation_statistics": self._count_slot_statistics(rows),
        }
        if of.common:
            metadata["translation_language_selection"] = "dataset"
        if of.name == "summarised_expansion":
            metadata["max_tokens_expansion"] = int(drawn.get("max_tokens_expansion", 1024))
        if self.task in ("retrieval", "reranking"):
            metadata["transform_corpus"] = self.plan.request.options.corpus == "reference"
        if self.task == "clustering":
            several = len(self.plan.parts(self.dataset, self.task)) > 1
            seen = "per_language" if several else "nested" if len(rows) > 1 else "flat"
            metadata["clustering_format"] = (
                read_reference_dataset_settings().get(metadata["dataset"], {}).get("format", seen)
            )
        return metadata

    def _count_slot_statistics(self, rows: Sequence[ReferenceFileRowWithSlots]) -> dict[str, Any]:
        """Count the statistics of slots, each as often as it occurs."""
        slots = [(record, place) for record in rows for _, _, place in record.slots]
        asked = [(record, self.rows[place]) for record, place in slots if self.rows[place].text.strip()]
        # Records have no ids, and equal ones are several.
        targeted = {id(record) for record, _ in asked}
        failed = [(record, row) for record, row in asked if not row.usable]
        steps = len(self.by.of.steps)
        counted = any(row.attempts for _, row in asked)
        retried = [row for _, row in asked if row.attempts > steps]
        reasons: dict[str, int] = {}
        for _, row in failed:
            name = REASONS.get(row.outcome, "backend_failure")
            reasons[name] = reasons.get(name, 0) + 1
        return {
            "records_total": len(rows), "records_targeted": len(targeted),
            "text_fields_total": len(asked), "records_with_fallback": len({id(record) for record, _ in failed}),
            "text_fields_with_fallback": len(failed),
            "unchanged_outputs": sum(row.outcome == "copied" for _, row in asked),
            "retried_text_fields": len(retried) if counted else "",
            "recovered_after_retry_text_fields": sum(row.usable for row in retried) if counted else "",
            "fallback_reasons": reasons if counted else ""
        }  # fmt: skip


LEFT = ("sentence1", "sent1", "sentence_1", "text_1")
RIGHT = ("sentence2", "sent2", "sentence_2", "text_2")
PLAIN = ("text", "sentence", "input", "title")


def find_record_fields_with_slots(record: Mapping[str, Any], *, corpus: bool = True) -> tuple[str, ...]:
    """The fields of a record that hold slots, as the reference chooses them; without `corpus` those of queries alone.

    >>> find_record_fields_with_slots({"text": "A fox.", "title": "Foxes", "label": 1})
    ('text',)
    >>> find_record_fields_with_slots({"_hteb_part": "corpus", "title": "Foxes", "text": "Red ones."})
    ('title', 'text')
    """
    part = record.get("_hteb_part")
    if part is not None:
        return _find_record_fields_of_part(record, str(part), corpus=corpus)
    if "positive" in record:
        return ("query", "positive", "negative") if corpus else ("query",)
    if "human_summaries" in record:
        return ("human_summaries", "machine_summaries")
    sides = [next((name for name in names if record.get(name) is not None), "") for names in (LEFT, RIGHT)]
    if all(sides):
        return tuple(sides)
    if record.get("sentences") is not None:
        return ("sentences",)
    return tuple(name for name in PLAIN if isinstance(record.get(name), str))[:1]


def _find_record_fields_of_part(record: Mapping[str, Any], part: str, *, corpus: bool) -> tuple[str, ...]:
    if part == "queries":
        return ("query",) if record.get("query") is not None else ("text",)
    if part != "corpus" or not corpus:
        return ()
    if record.get("document") is not None:
        return ("document",)
    return tuple(name for name in ("title", "text") if record.get(name) is not None)


def read_outcomes_and_originals_digest(found: ReferenceLayoutFile) -> tuple[list[ParaphraseOutcome], str]:
    """What the file has of every slot, in the order of the reference, and a digest of its originals. DataError for
    other columns, types or counts."""
    import polars as pl

    transformation, dataset, seed = found.place
    frame = read_parquet(found.data)
    names = ["original", f"{transformation}_seed_{seed}"]
    if frame.columns != names:
        raise DataError("the columns are not HTEB's two columns", path=found.data, expected=", ".join(names),
                        found=", ".join(frame.columns))  # fmt: skip
    first, second = frame.dtypes
    if first != second or not isinstance(first, pl.Struct):
        raise DataError("the columns have different record types", path=found.data, expected=str(first)[:60],
                        found=str(second)[:60])  # fmt: skip
    stated = found.metadata["generation_statistics"]["records_total"]
    if len(frame) != stated:
        raise DataError("the number of rows differs from the metadata", path=found.data, expected=str(stated),
                        found=str(len(frame)))  # fmt: skip
    slots: list[tuple[bool, ParaphraseOutcome]] = []
    originals = frame["original"].to_list()
    reader = _ReferenceRecordReader(
        found, read_reference_dataset_settings().get(dataset, {}).get("languages", ()), seed
    )
    for line, (before, after) in enumerate(zip(originals, frame[names[1]].to_list(), strict=True), start=1):
        slots += list(reader.read_slot_outcomes(before, after, line))
    if not slots:
        raise DataError("no record has a text that HTEB transforms", path=found.data,
                        found=", ".join(field.name for field in first.fields))  # fmt: skip
    slots.sort(key=lambda slot: slot[0])
    return [row for _, row in slots], digest_json(originals)


@dataclass(frozen=True)
class _ReferenceRecordReader:
    """Reads the records of a file."""

    found: ReferenceLayoutFile
    languages: Sequence[str]
    seed: int

    def read_slot_outcomes(self, before: Any, after: Any, line: int) -> Iterator[tuple[bool, ParaphraseOutcome]]:
        """Read what came of every slot of a record that is not blank."""
        for record in (before, after):
            if not record:
                raise self._make_record_error("a record is missing", line, "an original and its transformation", "null")
        label = next((before[name] for name in ("language", "lang", "languages") if before.get(name)), "")
        label = "-".join(map(str, label)) if isinstance(label, list) else str(label)
        label = label or (self.languages[0] if len(self.languages) == 1 else "und")
        for name in find_record_fields_with_slots(before, corpus=self.found.metadata.get("transform_corpus", True)):
            side = "first:" if name in LEFT else "second:" if name in RIGHT else "text:"
            for text, wording in self._pair_texts_with_wordings(before.get(name), after.get(name), name, line):
                if text.strip():
                    yield (
                        name in RIGHT,
                        _make_imported_paraphrase_outcome(
                            text, wording, find_language_at_place(side, label), self.seed
                        ),
                    )

    def _pair_texts_with_wordings(self, text: Any, wording: Any, name: str, line: int) -> Iterator[tuple[str, str]]:
        """Pair every text within a field with its wording; "" where that is missing."""
        if isinstance(text, str):
            if wording is not None and not isinstance(wording, str):
                raise self._make_record_error(f"{name} is not a text", line, "a text", repr(wording))
            yield text, wording or ""
        elif isinstance(text, list):
            others = wording or [None] * len(text)
            if not isinstance(others, list) or len(others) != len(text):
                told = f"{len(others)}" if isinstance(others, list) else repr(others)
                raise self._make_record_error(
                    f"{name} has a different number of texts", line, f"{len(text)} texts", told
                )
            for one, other in zip(text, others, strict=True):
                yield from self._pair_texts_with_wordings(one, other, name, line)
        else:
            raise self._make_record_error(f"{name} is not a text", line, "a text, or several", repr(text))

    def _make_record_error(self, what: str, line: int, expected: str, found: str) -> DataError:
        return DataError(what, path=self.found.data, line=line, expected=expected, found=found[:60])


def _make_imported_paraphrase_outcome(text: str, wording: str, lang: str, seed: int) -> ParaphraseOutcome:
    if not wording.strip():
        return ParaphraseOutcome(text, lang, "", "", "failed", "the authors' file has no text", 0, seed)
    return ParaphraseOutcome(text, lang, "", wording, "copied" if wording == text else "ok", attempts=0, seed=seed)


@dataclass(frozen=True)
class ImportedTransformationSet:
    """The set that was imported: texts and failures by transformation, dataset and seed."""

    kept: ParaphraseSet
    texts: Mapping[tuple[str, str, int], tuple[int, int]]


def import_reference_transformation_files(
    root: Path, out: Path, *, generator: str = "", datasets: Sequence[str] = ()
) -> ImportedTransformationSet:
    """Make a set in `out` of files in the reference's layout, to be used as `stored:OUT`.

    Datasets are called as in the catalogue where it has them. UsageError where there is a set already, DataError for
    files that are not whole or of which one dataset has several originals.
    """
    if (out / "manifest.json").exists():
        raise UsageError(f"{out} already has a set of texts.", mend="Choose another folder.")
    files = list_newest_reference_file_pairs(root, generator=generator, datasets=datasets)
    read = {file.place: read_outcomes_and_originals_digest(file) for file in files}
    _require_same_originals_across_files(files, {place: told for place, (_, told) in read.items()})
    kept = ParaphraseSet.open_or_create_in_folder(out)
    model = files[0].metadata["generator_model"]
    told: dict[tuple[str, str, int], tuple[int, int]] = {}
    for name in TRANSFORMATIONS:
        of_name = [file for file in files if file.place[0] == name]
        if not of_name:
            continue
        content = digest_json([[list(ask.place), [row.wording for row in read[ask.place][0]]] for ask in of_name])
        about = {"model": model, "transformation": name, "sampling": _read_sampling_settings(of_name[0].metadata)}
        kept.add(sets.WordingSource(name=name, paraphraser=model, identity=f"imported:{content}", about=about))
        for ask in of_name:
            rows = _number_texts_with_differing_wordings(read[ask.place][0])
            _, dataset, seed = ask.place
            kept.keep(name, find_catalogue_name_of_dataset(dataset), seed, rows)
            told[name, dataset, seed] = (len(rows), sum(not row.usable for row in rows))
    return ImportedTransformationSet(kept, told)


def _read_sampling_settings(metadata: Mapping[str, Any]) -> dict[str, Any]:
    settings = {"max_tokens": metadata["max_tokens"], "retries": metadata["max_retries"]}
    expansion = metadata.get("max_tokens_expansion")
    return settings if expansion is None else {**settings, "max_tokens_expansion": expansion}


def _require_same_originals_across_files(
    files: Sequence[ReferenceLayoutFile], told: Mapping[tuple[str, str, int], str]
) -> None:
    first: dict[str, ReferenceLayoutFile] = {}
    for file in files:
        earlier = first.setdefault(file.place[1], file)
        if told[earlier.place] != told[file.place]:
            raise DataError(
                f"the originals of {file.place[1]!r} differ from those in another file", path=file.data,
                expected=f"the rows in {earlier.data}", mend="Use files made from the same data version."
            )  # fmt: skip


def _number_texts_with_differing_wordings(rows: Sequence[ParaphraseOutcome]) -> list[ParaphraseOutcome]:
    """Number the texts that occur several times and came to different wordings."""
    by_text: dict[tuple[str, str], list[ParaphraseOutcome]] = {}
    for row in rows:
        by_text.setdefault((row.lang, row.text), []).append(row)
    numbered = []
    for wordings in by_text.values():
        # The layout has no ids of texts: what came out differently is told apart by its number.
        same = len({paraphrase.wording for paraphrase in wordings}) == 1
        numbered += (
            wordings[:1]
            if same
            else [replace(paraphrase, place=f"occurrence:{i}") for i, paraphrase in enumerate(wordings)]
        )
    return numbered
