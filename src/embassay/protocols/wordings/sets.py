"""Wordings written beforehand: those that datasets bring themselves, and sets on disk, to be replayed and shared.

FOLDER/manifest.json                      what wrote it, and a checksum of every file
    FOLDER/SOURCE/DATASET/seed-1337.parquet   one row per distinct text: the columns of `ParaphraseOutcome`,
    and `dataset`

A file is written first and the manifest after it, each in one step, so what the manifest lists is whole.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, Field, ValidationError

from embassay.data.rows import SourceRow, read_number_cell, read_text_cell, read_text_list_cell
from embassay.errors import DataError, UsageError
from embassay.limits import read_bounded_file
from embassay.parquet import read_parquet
from embassay.protocols.kernel.tables import format_csv_row
from embassay.protocols.wordings.records import USABLE, Outcome, ParaphraseOutcome, TextToParaphrase
from embassay.records import TextsWithParaphrases
from embassay.runs.folder import digest_json, format_value_as_json, slugify_name, write_file_atomically

COLUMNS = tuple(field.name for field in fields(ParaphraseOutcome))


class ParaphraseSet:
    """The paraphrases under `path`, by source, dataset and seed. One process writes, any number read."""

    def __init__(self, path: Path, manifest: SetManifest) -> None:
        self.path = path
        self._manifest = manifest

    @classmethod
    def open_or_create_in_folder(cls, path: Path | str) -> ParaphraseSet:
        """The set in the folder `path`, to be written or continued; a new one where there is none."""
        path = Path(path)
        return cls.open(path) if (path / "manifest.json").exists() else cls(path, SetManifest())

    @classmethod
    def open(cls, path: Path | str) -> ParaphraseSet:
        """The set in the folder `path`, or in the run folder `path`. DataError where there is none, or its manifest
        cannot be read."""
        path = Path(path)
        for folder in (path / "paraphrases", path):
            if (folder / "manifest.json").is_file():
                return cls(folder, SetManifest.read(folder / "manifest.json"))
        raise DataError(
            "there is no set of paraphrases here", path=path, expected="a folder with manifest.json",
            mend="Give the folder of a run from `embassay pteb run` or `hteb run`, or its `paraphrases` folder."
        )  # fmt: skip

    @property
    def sources(self) -> Mapping[str, WordingSource]:
        """The sources that wrote the wordings, by the name each has in the set."""
        return {source.name: source for source in self._manifest.sources}

    def source(self, name: str) -> WordingSource:
        """Find the source called `name`; UsageError with those there are."""
        if name not in self.sources:
            raise UsageError(
                f"The paraphrases in {self.path} have no source {name!r}.",
                mend=f"Available: {', '.join(self.sources) or 'none'}.",
            )
        return self.sources[name]

    def add(self, source: WordingSource) -> None:
        """Name a source before its wordings are kept; again with the same identity, what is told of it is renewed.
        UsageError for a name that is taken by another identity."""
        before = self.sources.get(source.name)
        if before is not None and before.identity != source.identity:
            raise UsageError(
                f"The paraphrases in {self.path} have another source called {source.name!r}.",
                mend="Choose another folder; sets are never overwritten.",
            )
        if before is None:
            self._manifest.sources.append(source.model_copy(deep=True))
        else:
            told = source.model_dump(exclude={"datasets"})
            # One that had nothing left to ask does not know what its server calls the model.
            told["about"] = {**before.about, **source.about}
            self._manifest.sources[self._manifest.sources.index(before)] = before.model_copy(update=told)
        self._save_paraphrase_set_manifest()

    def has_all_wordings_of_run(self, source: str, dataset: str, seed: int) -> bool:
        """Whether the wordings of this run on this dataset are all there."""
        return source in self.sources and seed in self.list_kept_seeds(source, dataset)

    def list_kept_seeds(self, source: str, dataset: str) -> tuple[int, ...]:
        """The seeds of the runs that are kept, ascending."""
        return tuple(file.seed for file in self.source(source).list_dataset_files(dataset))

    def keep(
        self, source: str, dataset: str, seed: int, rows: Sequence[ParaphraseOutcome], *, fingerprint: str = ""
    ) -> None:
        """Keep the wordings of one run on a dataset, whose data has this fingerprint; rows in the order given."""
        content = _encode_rows_as_parquet(rows, dataset)
        file = Path(slugify_name(source)) / slugify_name(dataset) / f"seed-{seed}.parquet"
        write_file_atomically(self.path / file, content)
        kept = WordingFile(
            seed=seed,
            file=file.as_posix(),
            sha256=hashlib.sha256(content).hexdigest(),
            digest=_hash_wording_rows(rows),
            texts=len(rows),
            outcomes=dict(sorted(Counter(row.outcome for row in rows).items())),
        )
        self.source(source).add_or_replace_run_file(dataset, fingerprint, kept)
        self._save_paraphrase_set_manifest()

    def rows(self, source: str, dataset: str, seed: int) -> tuple[ParaphraseOutcome, ...]:
        """Read the wordings of one run on a dataset, usable or not, in the order they were kept.

        DataError, which names the file, where it is gone or is not what was written; UsageError for what the set
        does not have.
        """
        file = self._find_run_file(source, dataset, seed)
        path = self.path / file.file
        # A manifest from elsewhere may name any file of this machine.
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise DataError("the manifest names a file outside the set", path=self.path / "manifest.json",
                            found=file.file)  # fmt: skip
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DataError("the paraphrases cannot be read", path=path, found=str(error)) from error
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 != file.sha256:
            raise DataError(
                "the paraphrases were changed after they were written", path=path,
                expected=f"sha256 {file.sha256[:16]}…", found=f"{sha256[:16]}…",
                mend="Restore the file, or run with a paraphraser and a new folder."
            )  # fmt: skip
        table = read_parquet(content, path=path)
        if missing := [name for name in COLUMNS if name not in table.columns]:
            raise DataError(
                "the paraphrases were written by another version of Embassay", path=path,
                expected=f"the columns {', '.join(COLUMNS)}", found=f"no {', '.join(missing)}",
                mend="Use the version that wrote them, or run with a paraphraser and a new folder."
            )  # fmt: skip
        table = table.select(COLUMNS)
        return tuple(ParaphraseOutcome(**row) for row in table.iter_rows(named=True))

    def wordings(
        self, source: str, dataset: str, seed: int, *, lang: str | None = None
    ) -> dict[tuple[str, str], ParaphraseOutcome]:
        """(text, place) -> what came of it, of texts in one language, or in all (then the first language wins where a
        text is in several). `place` is empty where equal texts share a wording."""
        by_text: dict[tuple[str, str], ParaphraseOutcome] = {}
        for row in self.rows(source, dataset, seed):
            if lang is None or row.lang == lang:
                by_text.setdefault((row.text, row.place), row)
        return by_text

    def digest(self, source: str, dataset: str, seed: int) -> str:
        """32 hexadecimal digits: of every text, wording and outcome, whatever their order; for cell keys."""
        return self._find_run_file(source, dataset, seed).digest

    def count_outcomes_by_dataset_and_seed(self, source: str) -> dict[str, dict[int, dict[str, int]]]:
        """Dataset -> seed -> outcome -> how many texts."""
        return {
            dataset: {file.seed: dict(file.outcomes) for file in kept.runs}
            for dataset, kept in self.source(source).datasets.items()
        }

    def describe_data_mismatches(self, source: str, fingerprints: Mapping[str, str]) -> list[str]:
        """A sentence for every dataset whose data is not what the wordings were written for, by its fingerprint."""
        kept = self.source(source).datasets
        return [
            (
                f"The paraphrases in {self.path} were written for different data of {dataset!r} (fingerprint "
                f"{kept[dataset].fingerprint[:12]}, now {now[:12]}). Texts without a paraphrase count as missing."
            )
            for dataset, now in fingerprints.items()
            if dataset in kept and kept[dataset].fingerprint and kept[dataset].fingerprint != now
        ]

    def _find_run_file(self, source: str, dataset: str, seed: int) -> WordingFile:
        for file in self.source(source).list_dataset_files(dataset):
            if file.seed == seed:
                return file
        raise UsageError(
            f"{self.path} has no paraphrases of {dataset!r} by {source!r} with seed {seed}.",
            mend=f"Datasets: {', '.join(self.source(source).datasets) or 'none'}; seeds of {dataset}: "
            f"{', '.join(map(str, self.list_kept_seeds(source, dataset))) or 'none'}.",
        )

    def _save_paraphrase_set_manifest(self) -> None:
        write_file_atomically(
            self.path / "manifest.json", format_value_as_json(self._manifest.model_dump(mode="json"), indent=1) + "\n"
        )


def _hash_wording_rows(rows: Sequence[ParaphraseOutcome]) -> str:
    # Neither seconds nor attempts: an answer from the cache is the same wording, and has to give the same cell keys.
    return digest_json(sorted([row.lang, row.text, row.place, row.wording, row.outcome] for row in rows))


def _encode_rows_as_parquet(rows: Sequence[ParaphraseOutcome], dataset: str) -> bytes:
    import polars as pl

    types = {"attempts": pl.Int64, "seed": pl.Int64, "seconds": pl.Float64}
    columns = [
        pl.Series(name, [getattr(row, name) for row in rows], dtype=types.get(name, pl.String)) for name in COLUMNS
    ]
    columns.append(pl.Series("dataset", [dataset] * len(rows), dtype=pl.String))
    buffer = io.BytesIO()
    # Statistics would repeat the least and the greatest text in the file's footer.
    pl.DataFrame(columns).write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


class WordingFile(BaseModel):
    """The wordings of one run on one dataset. `digest` is of their content, `sha256` of the file, `outcomes` count
    texts."""

    seed: int
    file: str
    sha256: str
    digest: str
    texts: int
    outcomes: dict[str, int]


class DatasetParaphraseFiles(BaseModel):
    """What there is of one dataset, whose data had this fingerprint."""

    fingerprint: str = ""
    runs: list[WordingFile] = Field(default_factory=list)


class WordingSource(BaseModel):
    """Who wrote wordings: a paraphraser with a prompt.

    `name` is what the set calls it, unique in the set; `paraphraser` its spec and `identity` all its wordings depend
    on; `prompt` its name, version and words (`Prompt.as_dict`; None where there is none); `about` what is told of the
    model: `model` as its server names it, `sampling`, `licence`.
    """

    name: str
    paraphraser: str
    identity: str
    prompt: dict[str, str] | None = None
    about: dict[str, Any] = Field(default_factory=dict)
    datasets: dict[str, DatasetParaphraseFiles] = Field(default_factory=dict)

    def list_dataset_files(self, dataset: str) -> tuple[WordingFile, ...]:
        """List the files of the runs on a dataset; none for one that it has not."""
        return tuple(self.datasets[dataset].runs) if dataset in self.datasets else ()

    def add_or_replace_run_file(self, dataset: str, fingerprint: str, file: WordingFile) -> None:
        """Add a run on a dataset, in place of one with the same seed."""
        kept = self.datasets.setdefault(dataset, DatasetParaphraseFiles())
        kept.fingerprint = fingerprint or kept.fingerprint
        kept.runs = sorted([*(run for run in kept.runs if run.seed != file.seed), file], key=lambda file: file.seed)


class SetManifest(BaseModel):
    """The file `manifest.json` of a set."""

    format: Literal["embassay-paraphrases"] = "embassay-paraphrases"
    version: Literal[1] = 1
    sources: list[WordingSource] = Field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> SetManifest:
        """Read the manifest in a file; DataError with what is wrong with it."""
        try:
            return cls.model_validate_json(read_bounded_file(path))
        except (OSError, ValidationError) as error:
            raise DataError(
                "the manifest of the paraphrases cannot be read", path=path, found=_describe_first_error(error),
                mend="Restore the folder, or run with a paraphraser and a new folder."
            ) from error  # fmt: skip


def _describe_first_error(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}"


class DatasetOwnParaphrases:
    """The wordings in datasets' own column `paraphrases`, by dataset: the first of every text for the first run, and
    so on."""

    name = "recorded"
    remote = False

    def __init__(self, recorded: Mapping[str, TextsWithParaphrases]) -> None:
        self._recorded = {dataset: wordings.map_text_to_wordings() for dataset, wordings in recorded.items()}
        self._runs = {dataset: wordings.runs for dataset, wordings in recorded.items()}
        ordered = sorted((dataset, sorted(texts.items())) for dataset, texts in self._recorded.items())
        self.identity = f"recorded:{digest_json(ordered)}"

    def seeds(self, runs: int, first: int, *, dataset: str = "") -> tuple[int, ...]:
        """first, first + 1 ...; UsageError where texts of the dataset have fewer wordings than runs."""
        there = [self._runs[dataset]] if dataset in self._runs else [] if dataset else list(self._runs.values())
        most = min(there, default=0)
        if runs > most:
            raise UsageError(
                f"{f'The dataset {dataset!r} has' if dataset else 'The datasets have'} {most} "
                f"recorded paraphrases per text, but {runs} runs need {runs}.",
                mend=f"Use --runs {most}, or name a language model as the paraphraser."
                if most
                else "Name a language model as the paraphraser, or add a column paraphrases to the data.",
            )
        return tuple(range(first, first + runs))

    def about(self) -> Mapping[str, Any]:
        """Describe nothing: the data says where it is from."""
        return {}

    def write(
        self,
        asked: Sequence[TextToParaphrase],
        *,
        seed: int,
        run: int,
        dataset: str = "",
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, ParaphraseOutcome]]:
        """Wording number `run` of each text; `missing` for a text that has none."""
        chosen = [self._recorded[dataset]] if dataset in self._recorded else list(self._recorded.values())
        for position, text in enumerate(asked):
            wordings = next((texts[text.text] for texts in chosen if text.text in texts), ())
            yield position, _make_outcome_of_recorded_wording(text, wordings, run, seed)
        hear(len(asked))


class StoredWordingSource:
    """One source of a set, replayed as it was written: the same seeds, wordings, failures and seconds."""

    remote = False

    def __init__(self, name: str, stored: ParaphraseSet, source: WordingSource) -> None:
        self.name, self._set, self._source = name, stored, source
        files = {dataset: [(file.seed, file.digest) for file in kept.runs] for dataset, kept in source.datasets.items()}
        self.identity = f"stored:{source.identity}:{digest_json(files)}"
        # Two at a time: a set of many runs should not stay in memory whole.
        self._wordings = lru_cache(maxsize=2)(self._index_run_paraphrases)

    def seeds(self, runs: int, first: int, *, dataset: str = "") -> tuple[int, ...]:
        """The stored seeds from `first` on, or from the least where that is not among them. UsageError where there
        are fewer than runs."""
        there = self._list_kept_seeds(dataset)
        begun = there[there.index(first) :] if first in there else there
        if runs > len(begun):
            of = f" of {dataset!r}" if dataset else ""
            raise UsageError(
                f"{self.name} has {len(there)} runs{of} (seeds {', '.join(map(str, there)) or 'none'}), {len(begun)} "
                f"of them from seed {first} on; {runs} were requested.",
                mend=f"Use --runs {len(begun)}, or name a language model as the paraphraser.",
            )
        return begun[:runs]

    def about(self) -> Mapping[str, Any]:
        """Describe who wrote the wordings, as the set says."""
        return {"paraphraser": self._source.paraphraser, "prompt": self._source.prompt, **self._source.about}

    def describe_data_mismatches(self, fingerprints: Mapping[str, str]) -> list[str]:
        """A sentence for every dataset whose data is not what the wordings were written for, by its fingerprint."""
        return self._set.describe_data_mismatches(self._source.name, fingerprints)

    def write(
        self,
        asked: Sequence[TextToParaphrase],
        *,
        seed: int,
        run: int,  # noqa: ARG002 - the contract's
        dataset: str = "",
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, ParaphraseOutcome]]:
        """What the set has of each text in the run with this seed; `missing` for a text that it has not."""
        chosen = self.index_known_paraphrases(dataset, seed)
        for position, text in enumerate(asked):
            kept = chosen.get((text.text, text.lang, text.place)) or chosen.get((text.text, "", text.place))
            if kept is None:
                yield (
                    position,
                    _make_missing_paraphrase(text, seed, f"{self.name} has no paraphrase with seed {seed}"),
                )
            else:
                yield position, replace(kept, lang=text.lang)
        hear(len(asked))

    def index_known_paraphrases(self, dataset: str, seed: int) -> Mapping[tuple[str, str, str], ParaphraseOutcome]:
        """(text, language, place) -> what the set has of it in the run with this seed, and with an empty language that
        of any; of all its datasets where it does not have this one."""
        return self._wordings(dataset if dataset in self._source.datasets else "", seed)

    def _list_kept_seeds(self, dataset: str) -> tuple[int, ...]:
        if dataset in self._source.datasets:
            return self._set.list_kept_seeds(self._source.name, dataset)
        common = [set(self._set.list_kept_seeds(self._source.name, name)) for name in self._source.datasets]
        return tuple(sorted(set.intersection(*common))) if common else ()

    def _index_run_paraphrases(self, dataset: str, seed: int) -> dict[tuple[str, str, str], ParaphraseOutcome]:
        """(text, language, place) -> its paraphrase, and with an empty language that of any. All datasets' where none
        is named: data may have another name where the set was written."""
        by_text: dict[tuple[str, str, str], ParaphraseOutcome] = {}
        for name in [dataset] if dataset else self._source.datasets:
            if not self._set.has_all_wordings_of_run(self._source.name, name, seed):
                continue
            for row in self._set.rows(self._source.name, name, seed):
                by_text.setdefault((row.text, row.lang, row.place), row)
                # Data may say their language otherwise than where the set was written: `en` and `eng`.
                by_text.setdefault((row.text, "", row.place), row)
        return by_text


def open_stored_source(name: str, folder: str, source: str = "") -> StoredWordingSource:
    """The source of the set in `folder` that is called `source`, or is the only one whose name has that in it.
    UsageError where it does not say which, DataError where the set cannot be read."""
    stored = ParaphraseSet.open(folder)
    meant = [source] if source in stored.sources else [name for name in stored.sources if source in name]
    if len(meant) != 1:
        raise UsageError(
            f"The paraphrases in {stored.path} come from {len(stored.sources)} sources"
            + (f", {len(meant)} of them with {source!r} in their names." if source else "."),
            mend=f"Add ?source= and a part of a name: {', '.join(map(repr, stored.sources)) or 'there is none'}.",
        )
    return StoredWordingSource(name, stored, stored.source(meant[0]))


def _make_outcome_of_recorded_wording(
    asked: TextToParaphrase, wordings: Sequence[str], run: int, seed: int
) -> ParaphraseOutcome:
    if not asked.text.strip():
        return ParaphraseOutcome(asked.text, asked.lang, asked.place, asked.text, "ok", attempts=0, seed=seed)
    if run >= len(wordings):
        return _make_missing_paraphrase(asked, seed, f"no recorded paraphrase number {run + 1}")
    wording = wordings[run]
    outcome: Outcome = "copied" if wording.strip() == asked.text.strip() else "ok"
    return ParaphraseOutcome(asked.text, asked.lang, asked.place, wording, outcome, attempts=0, seed=seed)


def _make_missing_paraphrase(asked: TextToParaphrase, seed: int, reason: str) -> ParaphraseOutcome:
    return ParaphraseOutcome(asked.text, asked.lang, asked.place, "", "missing", reason, attempts=0, seed=seed)


_LONG = ("dataset", "run_seed", *COLUMNS)
Runs = dict[tuple[str, int], list[ParaphraseOutcome]]
"""(dataset, seed) -> its rows."""


@dataclass(frozen=True)
class ExportedTextCounts:
    """How many texts were written, and how many not: those without a usable wording in every run, and those that stand
    in the file already with other wordings (of another dataset or language)."""

    texts: int
    incomplete: int = 0
    repeated: int = 0


def export_paraphrases(stored: ParaphraseSet, source: str, file: Path) -> ExportedTextCounts:
    """Write what `source` has of all datasets, as JSONL or CSV by the name of `file`.

    UsageError for another name, or where the set has not the same number of runs for every dataset (JSONL).
    """
    if file.suffix == ".csv":
        return _export_paraphrases_as_long_csv(stored, source, file)
    if file.suffix == ".jsonl":
        return _export_wordings_grouped_by_text(stored, source, file)
    raise UsageError(f"Cannot export paraphrases to {file}.", mend="Use a file name ending in .jsonl or .csv.")


def import_paraphrases(file: Path, folder: Path, *, name: str = "", seed: int = 1337) -> ParaphraseSet:
    """Make a set in `folder` of a file with the columns of either form, in any format that `embassay data` reads, to
    be used as `stored:FOLDER`.

    `name` is what the source is called, by default as the file. Wordings without seeds get `seed`, `seed` + 1 ...
    UsageError where there is a set already, DataError with the line of what cannot be read.
    """
    from embassay.data.tables import open_table_file

    if (folder / "manifest.json").exists():
        raise UsageError(f"{folder} already has a set of paraphrases.", mend="Choose another folder.")
    rows = open_table_file(file)
    columns = rows.columns()
    name = name or file.name.partition(".")[0]
    if {"text", "wording", "run_seed"} <= set(columns):
        runs = _read_wording_runs_in_long_form(rows.rows(columns), name)
    elif {"text", "paraphrases"} <= set(columns):
        runs = _read_wording_runs_in_wide_form(rows.rows(columns), name, seed)
    else:
        raise DataError(
            "the file contains no paraphrases", path=file,
            expected="columns text and paraphrases, or text, wording and run_seed", found=", ".join(columns)
        )  # fmt: skip
    content = sorted(
        (dataset, run, sorted((paraphrase.text, paraphrase.wording) for paraphrase in own))
        for (dataset, run), own in runs.items()
    )
    paraphrase_set = ParaphraseSet.open_or_create_in_folder(folder)
    paraphrase_set.add(
        WordingSource(name=name, paraphraser=f"imported:{file.name}", identity=f"imported:{digest_json(content)}")
    )
    for (dataset, run), own in runs.items():
        paraphrase_set.keep(name, dataset, run, own)
    return paraphrase_set


def _export_wordings_grouped_by_text(stored: ParaphraseSet, source: str, file: Path) -> ExportedTextCounts:
    written: dict[str, tuple[str, ...]] = {}
    lines: list[str] = []
    incomplete = repeated = 0
    for dataset in stored.source(source).datasets:
        seeds = stored.list_kept_seeds(source, dataset)
        wordings: dict[tuple[str, str, str], dict[int, str]] = defaultdict(dict)
        for seed in seeds:
            for row in stored.rows(source, dataset, seed):
                if row.text.strip():
                    known = wordings[row.text, row.lang, row.place]
                    known |= {seed: row.wording} if row.usable else {}
        for (text, lang, _), by_seed in wordings.items():
            variants = tuple(by_seed.get(seed, "") for seed in seeds)
            if not all(text.strip() for text in variants):
                incomplete += 1
            # A line of the file is a text: datasets that share one share its wordings, or the second is left out and
            # counted.
            elif text in written:
                repeated += written[text] != variants
            else:
                written[text] = variants
                lines.append(_format_paraphrases_as_json_line(text, lang, dataset, variants, seeds))
    write_file_atomically(file, "".join(lines))
    return ExportedTextCounts(len(written), incomplete, repeated)


def _format_paraphrases_as_json_line(
    text: str, lang: str, dataset: str, wordings: Sequence[str], seeds: Sequence[int]
) -> str:
    row = {"text": text, "lang": lang, "dataset": dataset, "paraphrases": wordings, "seeds": seeds}
    return json.dumps(row, ensure_ascii=False) + "\n"


def _export_paraphrases_as_long_csv(stored: ParaphraseSet, source: str, file: Path) -> ExportedTextCounts:
    lines = [format_csv_row(_LONG)]
    texts: set[tuple[str, str, str, str]] = set()
    for dataset in stored.source(source).datasets:
        for seed in stored.list_kept_seeds(source, dataset):
            for row in stored.rows(source, dataset, seed):
                cells = {"dataset": dataset, "run_seed": seed, **asdict(row)}
                lines.append(format_csv_row(cells[name] for name in _LONG))
                texts.add((dataset, row.text, row.lang, row.place))
    write_file_atomically(file, "".join(lines))
    return ExportedTextCounts(len(texts))


def _read_wording_runs_in_wide_form(rows: Iterator[SourceRow], name: str, first: int) -> Runs:

    runs: Runs = defaultdict(list)
    for row in rows:
        text = read_text_cell(row, "text")
        if text is None:
            continue
        wordings = read_text_list_cell(row, "paraphrases")
        seeds = row.cells.get("seeds") or range(first, first + len(wordings))
        if isinstance(seeds, str) or len(seeds) != len(wordings):
            raise _make_unreadable_table_cell_error(row, "seeds", f"a list of {len(wordings)} seeds", repr(seeds))
        for seed, wording in zip(seeds, wordings, strict=True):
            outcome: Outcome = "missing" if not wording else "copied" if wording.strip() == text.strip() else "ok"
            place = (_read_cell(row, "dataset") or name, int(seed))
            paraphrase = ParaphraseOutcome(
                text, _read_cell(row, "lang") or "und", "", wording or "", outcome, attempts=0, seed=int(seed)
            )
            runs[place].append(paraphrase)
    return runs


def _read_wording_runs_in_long_form(rows: Iterator[SourceRow], name: str) -> Runs:
    runs: Runs = defaultdict(list)
    for row in rows:
        wording = _read_cell(row, "wording")
        outcome = _read_cell(row, "outcome") or ("ok" if wording else "missing")
        if outcome not in get_args(Outcome):
            raise _make_unreadable_table_cell_error(row, "outcome", ", ".join(get_args(Outcome)), repr(outcome))
        text = _read_cell(row, "text")
        if outcome in USABLE and text.strip() and not wording.strip():
            raise _make_unreadable_table_cell_error(
                row, "wording", f"a text, because the outcome is {outcome!r}", "none"
            )
        run = _read_number(row, "run_seed", None)
        runs[_read_cell(row, "dataset") or name, int(run)].append(
            ParaphraseOutcome(
                text,
                _read_cell(row, "lang") or "und",
                _read_cell(row, "place"),
                wording,
                outcome,  # type: ignore[arg-type]
                _read_cell(row, "reason"),
                int(_read_number(row, "attempts", 0)),
                int(_read_number(row, "seed", run)),
                _read_number(row, "seconds", 0.0),
                _read_cell(row, "rejected"),
            )
        )
    return runs


def _read_cell(row: SourceRow, column: str) -> str:
    value = row.cells.get(column)
    if value is not None and not isinstance(value, str):
        raise _make_unreadable_table_cell_error(row, column, "a text", repr(value))
    return value or ""


def _read_number(row: SourceRow, column: str, default: float | None) -> float:

    value = read_number_cell(row, column)
    if value is None and default is None:
        raise _make_unreadable_table_cell_error(row, column, "a number", "nothing")
    return default if value is None else value  # type: ignore[return-value]


def _make_unreadable_table_cell_error(row: SourceRow, column: str, expected: str, found: str) -> DataError:
    return DataError(f"cannot read {column!r}", path=row.path, line=row.line, expected=expected, found=found)
