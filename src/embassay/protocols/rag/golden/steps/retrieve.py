"""S2: the passages nearest to each rewriting, by vectors and by words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError
from embassay.protocols.rag.golden.footprint import SHARD, searching
from embassay.protocols.rag.golden.stages import Asked, Done, Input, Product, input_of, lines
from embassay.protocols.rag.golden.steps.rewrite import read_rewrite
from embassay.protocols.rag.golden.work import Work
from embassay.runs.promise import check
from embassay.search import exact_search, merge
from embassay.search.blockwise import blocks
from embassay.search.bm25 import BM25Index
from embassay.systems.transforms import unit

VERSION = 1
Row = dict[str, Any]


@dataclass
class Retrieval:
    """S2 for many questions: the corpus is encoded and indexed once."""

    work: Work
    stage: str = "S2"

    @property
    def parameters(self) -> Mapping[str, Any]:
        work, options = self.work, self.work.request.options
        chunked = options.chunk is not None
        return {
            "version": VERSION,
            "depth": options.depth,
            "encoder": [work.encoder.name, work.encoder.identity],
            "bm25": {"k1": options.bm25_k1, "b": options.bm25_b},
            "chunk": options.chunk,
            "overlap": options.overlap if chunked else None,
            "tokenizer": work.tokenizer.identity if chunked else None,
            "mapping": dict(work.request.mapping),
        }

    def inputs(self, asked: Asked) -> Sequence[Input]:
        return (input_of(asked.folder.rewrite, self.work.run), *self.work.read.files["corpus"])

    def do(self, waiting: Sequence[Asked], done: Done) -> Mapping[str, str]:
        rewrites = [read_rewrite(asked) for asked in waiting]
        asked_words, options = [row["bm25_query"] for row in rewrites], self.work.request.options
        check(searching(self.work.encoder.system, self.work.passages.texts, asked_words, options.depth))
        dense = self._dense(np.array([row["embedding"] for row in rewrites], dtype=np.float32))
        sparse, depth = self._sparse(asked_words), options.depth
        for asked, by_vectors, by_words, rewrite in zip(waiting, dense, sparse, rewrites, strict=True):
            head = {"qid": asked.id, "question": asked.text, "query_rewrite": rewrite["text_rewrite"]}
            for row in by_words:
                row["bm25_query"] = rewrite["bm25_query"]
            files = {
                asked.folder.dense(depth): lines({**head, **row} for row in by_vectors),
                asked.folder.sparse(depth): lines({**head, **row} for row in by_words),
            }
            done(asked, Product(files, {"dense": len(by_vectors), "sparse": len(by_words)}))
        return {}

    def _dense(self, queries: NDArray[np.float32]) -> list[list[Row]]:
        """The best of each query by cosine."""
        passages, depth = self.work.passages, self.work.request.options.depth
        shards = list(blocks(len(passages), SHARD))
        self.work.listener.stage(
            f"S2 vectors by {self.work.encoder.name}", len(set(passages.texts)), "passages"
        )
        found = []
        with self.work.charged("S2", self.work.encoder.name):
            for part in shards:
                vectors = unit(self.work.encoder.vectors(list(passages.texts[part]), "document"))
                known = np.flatnonzero(np.isfinite(vectors).all(axis=1))
                if not len(known):
                    raise ModelError(f"{self.work.encoder.name!r} encoded no passage.")
                ranked = exact_search(unit(queries), vectors[known], min(depth, len(known)))
                places = np.where(ranked.indices < 0, -1, known[ranked.indices])
                found.append(type(ranked)(places, ranked.scores))
        self._warn_of_failures()
        best = merge(found, [part.start for part in shards], depth)
        return [
            [
                {**self._passage(place), "rank_dense": rank, "score_cos": score, "score_raw": score}
                for rank, (place, score) in enumerate(zip(places, scores, strict=True), start=1)
                if place >= 0
            ]
            for places, scores in zip(best.indices.tolist(), best.scores.tolist(), strict=True)
        ]

    def _warn_of_failures(self) -> None:
        """Note the passages that only the search by words can find."""
        failures = self.work.encoder.failures
        lost = [
            key
            for key, text in zip(self.work.passages.ids, self.work.passages.texts, strict=True)
            if text in failures
        ]
        if lost:
            self.work.warnings.append(
                f"passages that {self.work.encoder.name} could not encode, found by words alone: {len(lost):,} "
                f"({', '.join(lost[:3])})"
            )

    def _sparse(self, queries: Sequence[str]) -> list[list[Row]]:
        """The best of each query by BM25."""
        passages, options = self.work.passages, self.work.request.options
        index = BM25Index.of(passages.ids, passages.texts, options.bm25_k1, options.bm25_b, asked=queries)
        self.work.listener.stage("S2 search by words", len(queries), "questions")
        found = []
        for query in queries:
            hits = index.search(query, options.depth)
            found.append(
                [
                    {**self._passage(index.place(hit.id)), "rank_sparse": rank, "score_bm25": hit.score}
                    for rank, hit in enumerate(hits, start=1)
                ]
            )
            self.work.listener.advanced_by(1)
        return found

    def _passage(self, place: int) -> Row:
        passages = self.work.passages
        return {
            "doc_id": passages.ids[place],
            "text": passages.texts[place],
            "metadata": dict(passages.metadata[place]),
        }
