"""The tables of a retrieval set as queries with candidates, to be reranked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from embassay.data.cells import key_of, number_of, text_of, wrong
from embassay.data.rows import Origin, Row, Source


@dataclass(frozen=True)
class Candidates:
    """The tables of a retrieval set as rows of queries and candidates.

    The candidates of a query are those that `top_ranked` names (rows of a query and a list of documents, or of
    a query and one), without it the judged ones. A candidate without a judgement is not relevant.
    """

    corpus: Source
    queries: Source
    qrels: Source
    top_ranked: Source | None = None

    @property
    def path(self) -> Path:
        """The file that errors name."""
        return self.queries.path

    def origins(self) -> tuple[Origin, ...]:
        """All that is read."""
        tables = (self.corpus, self.queries, self.qrels, self.top_ranked)
        return tuple(origin for table in tables if table is not None for origin in table.origins())

    def columns(self) -> tuple[str, ...]:
        """The columns of a candidate."""
        lang = ("lang",) if "lang" in self.queries.columns() else ()
        return ("query_id", "query", "text", "label", *lang)

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """One row per query and candidate."""
        lang = ("lang",) if "lang" in self.queries.columns() else ()
        judged = self._judged()
        shown: Mapping[str, Iterable[str]] = judged if self.top_ranked is None else _shown(self.top_ranked)
        wanted = {doc for docs in shown.values() for doc in docs}
        texts = {
            key: text_of(row, "text")
            for row in self.corpus.rows(("id", "text"))
            if (key := key_of(row, "id")) in wanted
        }
        for row in self.queries.rows(("id", "text", *lang)):
            key = key_of(row, "id")
            for doc in shown.get(key, ()):
                cells = {
                    "query_id": key,
                    "query": row.cells.get("text"),
                    "text": texts.get(doc),
                    "label": judged.get(key, {}).get(doc, 0),
                    "lang": row.cells.get("lang"),
                }
                yield Row(row.path, row.line, {column: cells.get(column) for column in columns})

    def _judged(self) -> dict[str, dict[str, float]]:
        judged: dict[str, dict[str, float]] = {}
        for row in self.qrels.rows(("query_id", "doc_id", "relevance")):
            gain = number_of(row, "relevance")
            if gain is None:
                raise wrong(row, "relevance", "a number")
            judged.setdefault(key_of(row, "query_id"), {})[key_of(row, "doc_id")] = max(gain, 0.0)
        return judged


def _shown(top_ranked: Source) -> dict[str, dict[str, None]]:
    shown: dict[str, dict[str, None]] = {}
    column = "doc_ids" if "doc_ids" in top_ranked.columns() else "doc_id"
    for row in top_ranked.rows(("query_id", column)):
        docs = row.cells.get(column)
        keys = [str(doc) for doc in docs] if isinstance(docs, list) else [key_of(row, column)]
        shown.setdefault(key_of(row, "query_id"), {}).update(dict.fromkeys(keys))
    return shown
