"""One dataset: which shapes it can give, and the records of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, overload

from embassay.data import flat
from embassay.data.flat import (
    read_classification_texts,
    read_judged_summaries,
    read_labelled_pairs,
    read_paraphrases,
    read_scored_pairs,
)
from embassay.data.intake import SkipRecordingReader, choose_dataset_language
from embassay.data.retrieval import GainTable, read_reranking_set, read_retrieval_set
from embassay.data.rows import RowSource, make_missing_column_error, read_label_cell
from embassay.data.shapes import RETRIEVAL_PARTS, SHAPES, check_shape_name_is_known, find_missing_columns
from embassay.data.views import FilteredRowsView
from embassay.errors import DataError
from embassay.records import (
    Classification,
    Documents,
    HumanRatedSummaries,
    LabelledTextPairs,
    LabelledTexts,
    LoadedDataset,
    RerankingSet,
    RetrievalSet,
    ScoredTextPairs,
    SkippedItems,
    SummaryComparisons,
    SummaryRatings,
    TextsWithParaphrases,
)

_FORMAT = "2"
"""Part of every fingerprint; raised when the same bytes are read into different records."""

_FLAT: Mapping[str, Callable[[RowSource, SkipRecordingReader, int | None, int], Any]] = {
    "documents": flat.read_documents,
    "summarised": flat.read_summarised_texts,
    "comparisons": flat.read_summary_comparisons,
    "ratings": flat.read_summary_ratings,
    "labelled": flat.read_labelled_texts,
    "classification": read_classification_texts,
    "pairs": read_scored_pairs,
    "labelled_pairs": read_labelled_pairs,
    "reranking": read_reranking_set,
    "summaries": read_judged_summaries,
    "paraphrases": read_paraphrases,
}


@dataclass(frozen=True)
class Dataset:
    """Tables by the part they play: a flat shape, or `corpus`, `queries` and `qrels` of a retrieval set.

    `settings` is what besides the bytes decides what is read (mapping, split, description); `notes` go before the
    warnings of every shape, and `skipped`, what was left out at the opening, before what a shape leaves out. Datasets
    of one `group` count as one in a mean over datasets. `tasks` is protocol -> the tasks it is meant for; what stands
    under "" holds in every protocol.
    """

    name: str
    parts: Mapping[str, RowSource]
    declared_lang: str = ""
    gains: GainTable = field(default_factory=GainTable)
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    group: str = ""
    skipped: tuple[SkippedItems, ...] = ()
    tasks: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def tasks_in(self, protocol: str) -> tuple[str, ...] | None:
        """The tasks it was chosen for, else those its record names for `protocol`; None where its columns decide."""
        return self.tasks.get("") or self.tasks.get(protocol)

    def shapes(self) -> tuple[str, ...]:
        """The shapes whose columns the dataset has."""
        return tuple(shape for shape in SHAPES if not self.missing(shape))

    def missing(self, shape: str) -> tuple[str, ...]:
        """The columns (for retrieval, the tables) that `shape` needs and the dataset lacks."""
        check_shape_name_is_known(shape)
        if shape == "retrieval":
            return tuple(part for part in RETRIEVAL_PARTS if part not in self.parts)
        return find_missing_columns(shape, self.parts[shape].columns() if shape in self.parts else ())

    @cached_property
    def lang(self) -> str:
        """The declared language, else that of the rows: `mul` for several, `und` for none stated."""
        return self.declared_lang or choose_dataset_language(set(self.langs))

    @cached_property
    def langs(self) -> tuple[str, ...]:
        """The languages that rows state, in the order of first appearance."""
        sources = {id(source): source for source in self.parts.values() if "lang" in source.columns()}
        rows = (row for source in sources.values() for row in source.rows(["lang"]))
        return tuple(dict.fromkeys(lang for row in rows if (lang := read_label_cell(row, "lang"))))

    def subsets(self, shape: str) -> Mapping[str, Dataset]:
        """Language -> the rows of it that `shape` is made of, for scores per language; one key, the dataset's
        language, where the rows state none or one."""
        parts = RETRIEVAL_PARTS if shape == "retrieval" else (shape,)
        sub = replace(self, parts={part: self.parts[part] for part in parts if part in self.parts})
        return {lang: sub.only(lang) for lang in sub.langs} if len(sub.langs) > 1 else {sub.lang: sub}

    def only(self, lang: str) -> Dataset:
        """The rows of one language; tables that state none stay as they are."""
        allowed = {"lang": frozenset({lang})}
        parts = {
            part: FilteredRowsView(source, allowed) if "lang" in source.columns() else source
            for part, source in self.parts.items()
        }
        return replace(self, parts=parts, declared_lang=lang, settings={**self.settings, "only": lang})

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits: a hash of the bytes read, wherever they lie, and of the settings."""
        digest = hashlib.sha256(json.dumps([_FORMAT, dict(self.settings)], sort_keys=True).encode())
        origins = {o.origin_address: o for part in sorted(self.parts) for o in self.parts[part].list_origins()}
        for origin in origins.values():
            digest.update(origin.compute_content_digest())
        return digest.hexdigest()[:32]

    @overload
    def load(
        self, shape: Literal["documents", "summarised"], *, limit: int | None = None, seed: int = 1337
    ) -> LoadedDataset[Documents]: ...
    @overload
    def load(
        self, shape: Literal["comparisons"], *, limit: int | None = None, seed: int = 1337
    ) -> LoadedDataset[SummaryComparisons]: ...
    @overload
    def load(
        self, shape: Literal["ratings"], *, limit: int | None = None, seed: int = 1337
    ) -> LoadedDataset[SummaryRatings]: ...
    @overload
    def load(
        self, shape: Literal["labelled"], *, limit: int | None = None, seed: int = 1337
    ) -> LoadedDataset[LabelledTexts]: ...
    @overload
    def load(
        self, shape: Literal["classification"], *, limit: int | None = None, seed: int = 1337
    ) -> LoadedDataset[Classification]: ...
    @overload
    def load(
        self, shape: Literal["pairs"], *, limit: int | None = None, seed: int = 1337
    ) -> LoadedDataset[ScoredTextPairs]: ...
    @overload
    def load(
        self, shape: Literal["labelled_pairs"], *, limit: int | None = None, seed: int = 1337
    ) -> LoadedDataset[LabelledTextPairs]: ...
    @overload
    def load(
        self, shape: Literal["reranking"], *, limit: int | None = None, seed: int = 1337
    ) -> LoadedDataset[RerankingSet]: ...
    @overload
    def load(
        self, shape: Literal["summaries"], *, limit: int | None = None, seed: int = 1337
    ) -> LoadedDataset[HumanRatedSummaries]: ...
    @overload
    def load(
        self, shape: Literal["paraphrases"], *, limit: int | None = None, seed: int = 1337
    ) -> LoadedDataset[TextsWithParaphrases]: ...
    @overload
    def load(
        self, shape: Literal["retrieval"], *, limit: int | None = None, seed: int = 1337
    ) -> LoadedDataset[RetrievalSet]: ...
    @overload
    def load(self, shape: str, *, limit: int | None = None, seed: int = 1337) -> LoadedDataset[Any]: ...

    def load(self, shape: str, *, limit: int | None = None, seed: int = 1337) -> LoadedDataset[Any]:
        """The records of `shape`, `limit` of them drawn with `seed` (all without a limit).

        The draw depends on the ids alone, not on the order of the file, whose order the records keep. What is
        skipped is counted over the whole file, warnings are about what is given. The limit counts rows, those
        with labels in proportion to them: for `labelled` per set, for `classification` per side. For
        `reranking` it counts queries, for `summaries` and `paraphrases` texts, and for `retrieval` documents
        of the corpus, never fewer than the relevant ones. Without a limit the fingerprint is the dataset's,
        with one the draw's.

        Raises UsageError for an unknown shape or a limit below 1, DataError for a shape the dataset cannot
        give and for anything in its files that is not what it should be.
        """
        if missing := self.missing(shape):
            raise self._make_missing_columns_error(shape, missing)
        intake = SkipRecordingReader({**self.settings, "format": _FORMAT})
        if shape == "retrieval":
            data: Any = read_retrieval_set(self.parts, self.gains, intake, limit, seed)
        else:
            data = _FLAT[shape](self.parts[shape], intake, limit, seed)
        return LoadedDataset(
            data,
            self.name,
            choose_dataset_language(intake.langs, self.declared_lang),
            self.fingerprint if limit is None else self._fingerprint_drawn_items(shape, limit, seed),
            self.skipped + intake.tally.skipped(),
            self.notes + self._list_reading_notes(shape) + intake.tally.warnings(),
        )

    def _list_reading_notes(self, shape: str) -> tuple[str, ...]:
        """List what is to be said of how the files are read."""
        parts = (*RETRIEVAL_PARTS, "top_ranked") if shape == "retrieval" else (shape,)
        origins = (o for part in parts if part in self.parts for o in self.parts[part].list_origins())
        return tuple(dict.fromkeys(note for origin in origins for note in getattr(origin, "notes", ())))

    def _fingerprint_drawn_items(self, shape: str, limit: int, seed: int) -> str:
        return hashlib.sha256(f"{self.fingerprint} {shape} {limit} {seed}".encode()).hexdigest()[:32]

    def _make_missing_columns_error(self, shape: str, missing: tuple[str, ...]) -> DataError:
        if shape in self.parts:
            return make_missing_column_error(self.parts[shape], missing[0])
        return DataError(
            f"the dataset {self.name!r} has no {shape}",
            expected=f"a table with {', '.join(missing)}",
            found=", ".join(self.shapes()),
        )
