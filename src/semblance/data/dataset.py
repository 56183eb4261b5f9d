"""One dataset: which shapes it can give, and the records of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, overload

from semblance.data import flat
from semblance.data.cells import label_of
from semblance.data.grades import Gains
from semblance.data.intake import Intake, language
from semblance.data.retrieval import retrieval_set
from semblance.data.rows import Source, missing_column
from semblance.data.shapes import RETRIEVAL_PARTS, SHAPES, check_shape, missing_columns
from semblance.errors import DataError
from semblance.records import Comparisons, Documents, LabelledTexts, Loaded, Ratings, RetrievalSet

_FORMAT = "1"
"""Part of every fingerprint; raised when the same bytes are read into different records."""

_FLAT: Mapping[str, Callable[[Source, Intake, int | None, int], Any]] = {
    "documents": flat.documents,
    "summarised": flat.summarised,
    "comparisons": flat.comparisons,
    "ratings": flat.ratings,
    "labelled": flat.labelled,
}


@dataclass(frozen=True)
class Dataset:
    """Tables by the part they play: a flat shape, or `corpus`, `queries` and `qrels` of a retrieval set.

    `settings` is what besides the bytes decides what is read (mapping, split, description).
    """

    name: str
    parts: Mapping[str, Source]
    declared_lang: str = ""
    gains: Gains = field(default_factory=Gains)
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def shapes(self) -> tuple[str, ...]:
        """The shapes whose columns the dataset has."""
        return tuple(shape for shape in SHAPES if not self.missing(shape))

    def missing(self, shape: str) -> tuple[str, ...]:
        """The columns (for retrieval, the tables) that `shape` needs and the dataset lacks."""
        check_shape(shape)
        if shape == "retrieval":
            return tuple(part for part in RETRIEVAL_PARTS if part not in self.parts)
        return missing_columns(shape, self.parts[shape].columns() if shape in self.parts else ())

    @cached_property
    def lang(self) -> str:
        """The declared language, else that of the rows: `mul` for several, `und` for none stated."""
        langs: set[str] = set()
        sources = {id(source): source for source in self.parts.values() if "lang" in source.columns()}
        for source in sources.values() if not self.declared_lang else ():
            langs.update(lang for row in source.rows(["lang"]) if (lang := label_of(row, "lang")))
        return language(langs, self.declared_lang)

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits: a hash of the bytes read, wherever they lie, and of the settings."""
        digest = hashlib.sha256(json.dumps([_FORMAT, dict(self.settings)], sort_keys=True).encode())
        files = {str(file): file for part in sorted(self.parts) for file in self.parts[part].files()}
        for file in files.values():
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()[:32]

    @overload
    def load(
        self, shape: Literal["documents", "summarised"], *, limit: int | None = None, seed: int = 1337
    ) -> Loaded[Documents]: ...
    @overload
    def load(
        self, shape: Literal["comparisons"], *, limit: int | None = None, seed: int = 1337
    ) -> Loaded[Comparisons]: ...
    @overload
    def load(
        self, shape: Literal["ratings"], *, limit: int | None = None, seed: int = 1337
    ) -> Loaded[Ratings]: ...
    @overload
    def load(
        self, shape: Literal["labelled"], *, limit: int | None = None, seed: int = 1337
    ) -> Loaded[LabelledTexts]: ...
    @overload
    def load(
        self, shape: Literal["retrieval"], *, limit: int | None = None, seed: int = 1337
    ) -> Loaded[RetrievalSet]: ...
    @overload
    def load(self, shape: str, *, limit: int | None = None, seed: int = 1337) -> Loaded[Any]: ...

    def load(self, shape: str, *, limit: int | None = None, seed: int = 1337) -> Loaded[Any]:
        """The records of `shape`, `limit` of them drawn with `seed` (all without a limit).

        The draw depends on the ids alone, not on the order of the file, whose order the records keep. What is
        skipped is counted over the whole file, warnings are about what is given. The limit counts rows; for
        `labelled` rows per set, in proportion to the labels; for `retrieval` documents of the corpus, never
        fewer than the relevant ones. Without a limit the fingerprint is the dataset's, with one the draw's.

        Raises UsageError for an unknown shape or a limit below 1, DataError for a shape the dataset cannot
        give and for anything in its files that is not what it should be.
        """
        if missing := self.missing(shape):
            raise self._lacking(shape, missing)
        intake = Intake()
        if shape == "retrieval":
            data: Any = retrieval_set(self.parts, self.gains, intake, limit, seed)
        else:
            data = _FLAT[shape](self.parts[shape], intake, limit, seed)
        return Loaded(
            data,
            self.name,
            language(intake.langs, self.declared_lang),
            self.fingerprint if limit is None else self._drawn_fingerprint(shape, limit, seed),
            intake.tally.skipped(),
            intake.tally.warnings(),
        )

    def _drawn_fingerprint(self, shape: str, limit: int, seed: int) -> str:
        return hashlib.sha256(f"{self.fingerprint} {shape} {limit} {seed}".encode()).hexdigest()[:32]

    def _lacking(self, shape: str, missing: tuple[str, ...]) -> DataError:
        if shape in self.parts:
            return missing_column(self.parts[shape], missing[0])
        return DataError(
            f"the dataset {self.name!r} has no {shape}",
            expected=f"a table with {', '.join(missing)}",
            found=", ".join(self.shapes()),
        )
