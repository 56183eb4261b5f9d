"""S3: both lists as one, by reciprocal rank fusion; what a judge reads of each passage is counted in tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.protocols.rag.golden.stages import Asked, Done, Input, Product, input_of, lines, read_rows
from embassay.protocols.rag.golden.work import Work
from embassay.search.fusion import rrf

VERSION = 1
_OWN = ("rank_dense", "score_cos", "score_raw", "rank_sparse", "score_bm25", "bm25_query")
_SOURCES = {(True, False): "dense", (False, True): "sparse", (True, True): "both"}


@dataclass
class Fusion:
    """S3 for many questions."""

    work: Work
    stage: str = "S3"

    @property
    def parameters(self) -> Mapping[str, Any]:
        work = self.work
        return {
            "version": VERSION,
            "rrf_c": work.request.options.rrf_c,
            "depth": work.request.options.depth,
            "tokenizer": work.tokenizer.identity,
        }

    def inputs(self, asked: Asked) -> Sequence[Input]:
        depth = self.work.request.options.depth
        return tuple(
            input_of(path, self.work.run) for path in (asked.folder.dense(depth), asked.folder.sparse(depth))
        )

    def do(self, waiting: Sequence[Asked], done: Done) -> Mapping[str, str]:
        depth, failed = self.work.request.options.depth, dict[str, str]()
        for asked in waiting:
            dense, sparse = (
                read_rows(path) for path in (asked.folder.dense(depth), asked.folder.sparse(depth))
            )
            rows = self._with_tokens(merged(dense, sparse, self.work.request.options.rrf_c))
            if not rows:
                failed[asked.id] = "no passage was found"
                continue
            sources = [row["source"] for row in rows]
            counts = {
                "both": sources.count("both"),
                "dense_only": sources.count("dense"),
                "sparse_only": sources.count("sparse"),
            }
            done(asked, Product({asked.folder.merged: lines(rows)}, {"candidates": len(rows), **counts}))
        return failed

    def _with_tokens(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rows with the tokens of question and passage together: `T_cand` of spec rag 3.1."""
        if not rows:
            return []
        count = self.work.tokenizer.encode_batch
        question = len(count([rows[0]["question"]])[0])
        lengths = map(len, count([row["text"] for row in rows]))
        return [{**row, "tokens": question + length} for row, length in zip(rows, lengths, strict=True)]


def merged(
    dense: Sequence[Mapping[str, Any]], sparse: Sequence[Mapping[str, Any]], c: float
) -> list[dict[str, Any]]:
    """The union of two lists of S2 in the order of their fused score, with both ranks and scores; a text or metadata
    that one list lacks is taken from the other."""
    by_list = [{str(row["doc_id"]): row for row in reversed(rows)} for rows in (dense, sparse)]
    found = []
    fused = rrf([[str(row["doc_id"]) for row in rows] for rows in (dense, sparse)], c)
    for rank, one in enumerate(fused, start=1):
        rows = [known[one.id] for known in by_list if one.id in known]
        first = rows[0]
        row: dict[str, Any] = {
            name: first.get(name) for name in ("qid", "question", "query_rewrite", "doc_id")
        }
        for name in ("text", "metadata"):
            row[name] = next((value for other in rows if (value := other.get(name))), first.get(name))
        row |= {name: next((o[name] for o in rows if name in o), None) for name in _OWN}
        row["rank_dense"], row["rank_sparse"] = one.ranks
        row["source"] = _SOURCES[one.ranks[0] is not None, one.ranks[1] is not None]
        found.append({**row, "rrf_score": one.score, "rank_rrf": rank})
    return found
