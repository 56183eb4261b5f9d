"""Datasets of the catalogue in miniature: files with their columns, and with texts as long as theirs are on average.

A plan is made on them where the datasets themselves are not on this machine; the words mean nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from embassay.data.catalogue.entries import CatalogueDatasetRecord

_OTHERS = {"retrieval": "queries", "reranking": "queries", "classification": "train"}

# Whatever edits change is in them (numbers, capitals, verbs to negate, several sentences), as in real texts.
_SENTENCES = (
    "The ferry was late on 14 March, and nobody in the harbour knew why.",
    "A grain store holds 300 tons, but it is rarely full before October.",
    "Most visitors come by train; they can see the old bridge from platform 2.",
    "Its engineers will repair the gauge after the flood has passed.",
    "Two of the 9 schools have asked for more time, and the council agreed.",
    "Rain fell in the hills all night, so the water is rising slowly.",
)

_DENSITY = {"Latn": 1.5, "Cyrl": 2.2, "Grek": 3.0, "Arab": 3.3, "Hebr": 3.3, "Deva": 4.4, "Thai": 4.3, "Ethi": 8.0}
_DENSE = 5.0
"""Tokens of cl100k in a character, in units of English's .22: by script, measured on texts of ten languages; of scripts
that are not there (Chinese, Japanese, Korean, those of India) about this much."""


@dataclass(frozen=True)
class DatasetItemCounts:
    """How much a dataset has: `main` documents, texts or pairs, and `other` queries or texts to train with, 0 where
    there is no such part."""

    main: float
    other: float = 0.0


def choose_representative_shape(record: CatalogueDatasetRecord) -> str:
    """The shape that stands for all that a dataset can give."""
    shapes = record.list_shapes_tables_can_give
    return next(shape for shape in (*_OTHERS, "summarised", *shapes) if shape in shapes)


def _is_one_row_per_item(record: CatalogueDatasetRecord) -> bool:
    """Whether a row of its one table is an item with all its texts."""
    return choose_representative_shape(record) not in _OTHERS or (
        not record.layout and not record.rows and len(record.tables) == 1
    )


def compute_dataset_sizes_from_record(
    record: CatalogueDatasetRecord, langs: Iterable[str] = (), limit: int | None = None
) -> DatasetItemCounts:
    """What of a dataset is in some of its languages (by default all), with `limit` items of each language and set at
    most: documents of a corpus (all relevant ones stay), queries to rerank, texts, pairs."""
    chosen = tuple(langs) or tuple(record.langs) or (record.lang,)
    most = float("inf") if limit is None else limit * record.sets
    shape = choose_representative_shape(record)
    by_lang = [_count_items_in_language(record, shape, lang) for lang in chosen]
    main = sum(min(items, most) for items in by_lang)
    share = len(chosen) / max(1, len(record.langs))
    if _is_one_row_per_item(record):
        return DatasetItemCounts(main)
    if shape == "classification":
        train = record.rows.get("train", 0) or next((t.rows or 0 for t in record.all_tables if t.part == "train"), 0)
        return DatasetItemCounts(main, min(train * share, most * len(chosen)))
    if shape == "reranking":
        candidates = _count_corpus_documents(record) * share * main / max(1, sum(by_lang))
        return DatasetItemCounts(candidates, main)
    documents = _count_corpus_documents(record) * share
    kept = documents if limit is None else max(limit, record.relevant or documents)
    return DatasetItemCounts(min(documents, kept), record.size * share)


def _count_items_in_language(record: CatalogueDatasetRecord, shape: str, lang: str) -> float:
    if shape == "summaries":
        return record.all_tables[0].rows or record.size
    return record.by_lang.get(lang) or record.size / max(1, len(record.langs))


def _count_corpus_documents(record: CatalogueDatasetRecord) -> float:
    known = next((table.rows for table in record.all_tables if table.part == "corpus"), None)
    return known or record.size * sum(record.each.values())


def write_miniature_dataset(
    record: CatalogueDatasetRecord, langs: Iterable[str], size: DatasetItemCounts, folder: Path
) -> Path:
    """Write a dataset of `size` into `folder`; the path by which it is opened."""
    chosen = tuple(langs) or tuple(record.langs) or (record.lang or "en",)
    author = _MiniatureRowMaker(record, chosen)
    shape = choose_representative_shape(record)
    main, other = int(size.main), int(size.other)
    if _is_one_row_per_item(record):
        return _write_json_lines_file(
            folder / f"{record.name}.jsonl", (author.row(shape, number) for number in range(main))
        )
    place = folder / record.name
    if shape == "classification":
        _write_json_lines_file(
            place / "train.jsonl", (author.make_labelled_row("train", number) for number in range(other))
        )
        _write_json_lines_file(
            place / "test.jsonl", (author.make_labelled_row("test", number) for number in range(main))
        )
        return place
    _write_json_lines_file(
        place / "corpus.jsonl", (author.make_filler_text_row("corpus", number) for number in range(main))
    )
    _write_json_lines_file(
        place / "queries.jsonl", (author.make_filler_text_row("queries", number) for number in range(other))
    )
    pairs = [(f"queries{number % other}", f"corpus{number}") for number in range(main)]
    judged = pairs if shape == "reranking" else pairs[: 3 * other]
    _write_json_lines_file(
        place / "qrels.jsonl",
        (_make_judgement_row(query, doc, number < other) for number, (query, doc) in enumerate(judged)),
    )
    if shape == "reranking":
        ranked: dict[str, list[str]] = {}
        for query, doc in pairs:
            ranked.setdefault(query, []).append(doc)
        _write_json_lines_file(
            place / "top_ranked.jsonl", ({"query_id": query, "doc_ids": docs} for query, docs in ranked.items())
        )
    return place


def _make_judgement_row(query: str, doc: str, relevant: bool) -> dict[str, Any]:
    return {"query_id": query, "doc_id": doc, "relevance": int(relevant)}


def _write_json_lines_file(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


@dataclass(frozen=True)
class _MiniatureRowMaker:
    """Writes the rows of a dataset in some languages, in turn."""

    record: CatalogueDatasetRecord
    langs: tuple[str, ...]

    def row(self, shape: str, number: int) -> dict[str, Any]:
        """Make a row of a table that is the whole dataset."""
        low, high = self.record.gold or (0, 4)
        turn = self._find_row_within_language(number)
        facts: dict[str, dict[str, Any]] = {
            "pairs": {"score": low + (high - low) * (turn % 5) / 4},
            "labelled_pairs": {"label": turn % 2},
            "labelled": {"label": f"topic {turn % 4}"},
            "comparisons": {"choice": turn % 2},
        }
        row = {"id": str(number), "lang": self._choose_row_language(number), **facts.get(shape, {})}
        for column in self.record.chars:
            row[column] = self._make_filler_cell_texts(column, number)
        if shape == "summaries":
            machines = self.record.each["summaries"]
            row["relevance"] = [low + (high - low) * (place % 5) / 4 for place in range(machines)]
        return row

    def make_labelled_row(self, side: str, number: int) -> dict[str, Any]:
        """A row of one side of a classification."""
        return {
            **self.make_filler_text_row(side, number),
            "label": f"topic {self._find_row_within_language(number) % 4}",
        }

    def make_filler_text_row(self, part: str, number: int) -> dict[str, Any]:
        """A row with a text as long as those of a part."""
        text = self._make_filler_text(part, number, self.record.chars.get(part, 100))
        return {"id": f"{part}{number}", "text": text, "lang": self._choose_row_language(number)}

    def _make_filler_cell_texts(self, column: str, number: int) -> str | list[str]:
        length = self.record.chars[column]
        several = self.record.each.get(column)
        if several is None:
            return self._make_filler_text(column, number, length)
        return [self._make_filler_text(f"{column} {place}", number, length) for place in range(several)]

    def _find_row_within_language(self, number: int) -> int:
        """Find which row of its language it is: every language has all labels and scores."""
        return number // len(self.langs)

    def _choose_row_language(self, number: int) -> str:
        return self.langs[number % len(self.langs)]

    def _make_filler_text(self, what: str, number: int, length: float) -> str:
        """Make filler of about as many tokens as `length` characters have, no two texts alike."""
        wanted = length * estimate_tokens_relative_to_english(self._choose_row_language(number))
        salt = sum(map(ord, what))
        first = (number * 7 + salt) % len(_SENTENCES)
        told = " ".join((*_SENTENCES[first:], *_SENTENCES[:first]))
        # No two texts are alike, for equal ones are encoded once.
        text = f"{chr(97 + salt % 26)}{number}"
        for word in cycle(told.split()):
            if len(text) + len(word) / 2 >= wanted:
                break
            text += f" {word}"
        return text


def estimate_tokens_relative_to_english(lang: str) -> float:
    """Estimate the cl100k tokens in a character of a language, in units of English's.

    >>> (estimate_tokens_relative_to_english("en"), estimate_tokens_relative_to_english("de"),
    ...     estimate_tokens_relative_to_english("zh"),
    ... estimate_tokens_relative_to_english("en-ar"))
    (1.0, 1.5, 5.0, 3.3)
    """
    from langcodes import Language

    codes = [code for code in lang.replace("_", "-").split("-") if code]
    last = codes[-1] if codes and len(codes[-1]) < 4 else lang.replace("_", "-")
    if last in ("en", "eng", "") or codes[:1] == ["eng"]:
        return 1.0
    script = Language.get(last).maximize().script
    return _DENSITY.get(script or "Latn", _DENSE)
