"""A set of paraphrases on disk: the exact wordings of a run, to be replayed without a language model, and shared.

    FOLDER/manifest.json                      what wrote it, and a checksum of every file
    FOLDER/SOURCE/DATASET/seed-1337.parquet   one row per distinct text: the columns of `Paraphrase`, and `dataset`

A file is written first and the manifest after it, each in one step, so what the manifest lists is whole.
"""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from embassay.errors import DataError, UsageError
from embassay.parquet import read_parquet
from embassay.protocols.pteb.paraphrasing.manifest import File, SetManifest, Source
from embassay.protocols.pteb.paraphrasing.records import Paraphrase
from embassay.runs.files import digest, slug, to_json, write_atomic

__all__ = ["ParaphraseSet", "Source"]

COLUMNS = tuple(field.name for field in fields(Paraphrase))


class ParaphraseSet:
    """The paraphrases under `path`, by source, dataset and seed. One process writes, any number read."""

    def __init__(self, path: Path, manifest: SetManifest) -> None:
        self.path = path
        self._manifest = manifest

    @classmethod
    def create(cls, path: Path | str) -> ParaphraseSet:
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
            mend="Give the folder of a run of `embassay pteb run`, or its `paraphrases` folder.",
        )  # fmt: skip

    @property
    def sources(self) -> Mapping[str, Source]:
        """Who wrote the wordings, by the name it has in the set."""
        return {source.name: source for source in self._manifest.sources}

    def source(self, name: str) -> Source:
        """The source called `name`; UsageError with those there are."""
        if name not in self.sources:
            raise UsageError(
                f"The paraphrases in {self.path} have no source {name!r}.",
                mend=f"There are {', '.join(self.sources) or 'none'}.",
            )
        return self.sources[name]

    def add(self, source: Source) -> None:
        """Name a source before its wordings are kept; again with the same identity, what is told of it is renewed.
        UsageError for a name that is taken by another identity."""
        known = self.sources.get(source.name)
        if known is not None and known.identity != source.identity:
            raise UsageError(
                f"The paraphrases in {self.path} have another source called {source.name!r}.",
                mend="Choose another folder: a set is not changed afterwards.",
            )
        if known is None:
            self._manifest.sources.append(source.model_copy(deep=True))
        else:
            told = source.model_dump(exclude={"datasets"})
            # One that had nothing left to ask does not know what its server calls the model.
            told["about"] = {**known.about, **source.about}
            self._manifest.sources[self._manifest.sources.index(known)] = known.model_copy(update=told)
        self._save()

    def has(self, source: str, dataset: str, seed: int) -> bool:
        """Whether the wordings of this run on this dataset are all there."""
        return source in self.sources and seed in self.seeds(source, dataset)

    def seeds(self, source: str, dataset: str) -> tuple[int, ...]:
        """The seeds of the runs that are kept, ascending."""
        return tuple(file.seed for file in self.source(source).files(dataset))

    def keep(
        self, source: str, dataset: str, seed: int, rows: Sequence[Paraphrase], *, fingerprint: str = ""
    ) -> None:
        """Keep the wordings of one run on a dataset, whose data has this fingerprint; rows in the order given."""
        content = _parquet(rows, dataset)
        file = Path(slug(source)) / slug(dataset) / f"seed-{seed}.parquet"
        write_atomic(self.path / file, content)
        kept = File(
            seed=seed,
            file=file.as_posix(),
            sha256=hashlib.sha256(content).hexdigest(),
            digest=_digest(rows),
            texts=len(rows),
            outcomes=dict(sorted(Counter(row.outcome for row in rows).items())),
        )
        self.source(source).put(dataset, fingerprint, kept)
        self._save()

    def rows(self, source: str, dataset: str, seed: int) -> tuple[Paraphrase, ...]:
        """The wordings of one run on a dataset, usable or not, in the order they were kept.

        DataError, which names the file, where it is gone or is not what was written; UsageError for what the set
        does not have.
        """
        file = self._file(source, dataset, seed)
        path = self.path / file.file
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise DataError("the manifest names a file outside of the set", path=self.path / "manifest.json",
                            found=file.file)  # fmt: skip
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DataError("the paraphrases cannot be read", path=path, found=str(error)) from error
        found = hashlib.sha256(content).hexdigest()
        if found != file.sha256:
            raise DataError(
                "the paraphrases are not those that were written", path=path,
                expected=f"sha256 {file.sha256[:16]}…", found=f"{found[:16]}…",
                mend="Get the file again, or run with a paraphraser into a new folder.",
            )  # fmt: skip
        table = read_parquet(content, path=path)
        if missing := [name for name in COLUMNS if name not in table.columns]:
            raise DataError(
                "the paraphrases were written by another version of Embassay", path=path,
                expected=f"the columns {', '.join(COLUMNS)}", found=f"no {', '.join(missing)}",
                mend="Use the version that wrote them, or run with a paraphraser into a new folder.",
            )  # fmt: skip
        table = table.select(COLUMNS)
        return tuple(Paraphrase(**row) for row in table.iter_rows(named=True))

    def wordings(
        self, source: str, dataset: str, seed: int, *, lang: str | None = None
    ) -> dict[tuple[str, str], Paraphrase]:
        """(text, place) -> what came of it, of texts in one language, or in all (then the first language wins where a
        text is in several). `place` is empty where equal texts share a wording."""
        found: dict[tuple[str, str], Paraphrase] = {}
        for row in self.rows(source, dataset, seed):
            if lang is None or row.lang == lang:
                found.setdefault((row.text, row.place), row)
        return found

    def digest(self, source: str, dataset: str, seed: int) -> str:
        """32 hexadecimal digits: of every text, wording and outcome, whatever their order; for cell keys."""
        return self._file(source, dataset, seed).digest

    def outcomes(self, source: str) -> dict[str, dict[int, dict[str, int]]]:
        """Dataset -> seed -> outcome -> how many texts."""
        return {
            dataset: {file.seed: dict(file.outcomes) for file in kept.runs}
            for dataset, kept in self.source(source).datasets.items()
        }

    def mismatches(self, source: str, fingerprints: Mapping[str, str]) -> list[str]:
        """A sentence for every dataset whose data is not what the wordings were written for, by its fingerprint."""
        kept = self.source(source).datasets
        return [
            f"The paraphrases in {self.path} were written for other data of {dataset!r} (fingerprint "
            f"{kept[dataset].fingerprint[:12]}, now {now[:12]}); texts that they do not have are missing."
            for dataset, now in fingerprints.items()
            if dataset in kept and kept[dataset].fingerprint and kept[dataset].fingerprint != now
        ]

    def _file(self, source: str, dataset: str, seed: int) -> File:
        for file in self.source(source).files(dataset):
            if file.seed == seed:
                return file
        raise UsageError(
            f"The paraphrases in {self.path} have none of {dataset!r} by {source!r} with seed {seed}.",
            mend=f"Datasets: {', '.join(self.source(source).datasets) or 'none'}; seeds of this one: "
            f"{', '.join(map(str, self.seeds(source, dataset))) or 'none'}.",
        )

    def _save(self) -> None:
        write_atomic(
            self.path / "manifest.json", to_json(self._manifest.model_dump(mode="json"), indent=1) + "\n"
        )


def _digest(rows: Sequence[Paraphrase]) -> str:
    return digest(sorted([row.lang, row.text, row.place, row.wording, row.outcome] for row in rows))


def _parquet(rows: Sequence[Paraphrase], dataset: str) -> bytes:
    import polars as pl

    types = {"attempts": pl.Int64, "seed": pl.Int64, "seconds": pl.Float64}
    columns = [
        pl.Series(name, [getattr(row, name) for row in rows], dtype=types.get(name, pl.String))
        for name in COLUMNS
    ]
    columns.append(pl.Series("dataset", [dataset] * len(rows), dtype=pl.String))
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()
