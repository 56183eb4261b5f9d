"""S1 to S3: every question with its rewriting, the passages nearest to that, and both lists as one."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError
from embassay.protocols.rag.golden.corpus import SHARD, GoldenRunResources, estimate_search_memory
from embassay.protocols.rag.golden.stages import (
    Done,
    QueryStageOutput,
    QueryWithFolder,
    StageInputFile,
    hash_stage_input_file,
    read_json_line_rows,
)
from embassay.protocols.rag.judges import Question
from embassay.runs.execution import CallFailure, run_concurrent_jobs
from embassay.runs.folder import format_json_lines, format_value_as_json
from embassay.runs.memory import check_memory_fits
from embassay.search import exact_search, merge
from embassay.search.bm25 import BM25Index
from embassay.search.exact import cut_range_into_blocks
from embassay.search.fusion import fuse_by_reciprocal_rank
from embassay.systems.cosine import scale_rows_to_unit_length
from embassay.systems.remote.calls import run_in_remote_loop_and_wait

VERSION = 1


@dataclass
class QuestionRewritingStage:
    """S1, which rewrites all questions of a run: vectors must not depend on which are still to do."""

    work: GoldenRunResources
    stage: str = "S1"

    @property
    def parameters(self) -> Mapping[str, Any]:
        work = self.work
        return {
            "version": VERSION,
            "encoder": [work.encoder.name, work.encoder.identity],
            "rewriter": [work.question_rewriter.name, work.question_rewriter.identity],
            "nfc": work.request.options.nfc,
            "input_type": "query",
        }

    def inputs(self, asked: QueryWithFolder) -> Sequence[StageInputFile]:  # noqa: ARG002 - all are in one file
        return self.work.read.files["queries"]

    def do(self, waiting: Sequence[QueryWithFolder], done: Done) -> Mapping[str, str]:
        rewrites, failed = self._collect_rewrites(waiting)
        vectors = self._embed_rewrites(rewrites)
        cut = {text: self.work.encoder.is_text_truncated(text) for text in rewrites.values()}
        for asked in (query for query in waiting if query.id in rewrites):
            rewrite = rewrites[asked.id]
            vector = vectors[asked.id]
            if why := self._explain_unfit_vector(rewrite, vector):
                failed[asked.id] = why
            else:
                done(asked, self._build_rewritten_query_output(asked, rewrite, vector, cut[rewrite]))
        return failed

    def _collect_rewrites(self, waiting: Sequence[QueryWithFolder]) -> tuple[dict[str, str], dict[str, str]]:
        """Id -> rewriting for all questions of the run, done before or now; id -> why there is none."""
        rewrites: dict[str, str] = {}
        asked_for: list[QueryWithFolder] = []
        now = {query.id for query in waiting}
        for asked in self.work.queries:
            rewrite = self.work.questions_by_id[asked.id].rewrite
            if asked.id not in now:
                rewrites[asked.id] = read_stored_rewrite_row(asked)["text_rewrite"]
            elif rewrite is not None:
                rewrites[asked.id] = self._normalize_rewrite(rewrite)
            else:
                asked_for.append(asked)
        failed = self._rewrite_questions_with_failures(asked_for, rewrites)
        return {asked.id: rewrites[asked.id] for asked in self.work.queries if asked.id in rewrites}, failed

    def _rewrite_questions_with_failures(
        self, asked_for: Sequence[QueryWithFolder], rewrites: dict[str, str]
    ) -> dict[str, str]:
        """Have these rewritten, into `found`; id -> reason for those that could not be."""
        if not asked_for:
            return {}
        work, failed = self.work, dict[str, str]()
        work.listener.stage(f"S1 rewrites by {work.question_rewriter.name}", len(asked_for), "questions")

        async def rewrite_all_questions() -> None:
            jobs = [partial(work.question_rewriter.rewrite, Question(query.id, query.text)) for query in asked_for]
            async for position, outcome in run_concurrent_jobs(jobs, progress=work.listener.advanced_by):
                key = asked_for[position].id
                if isinstance(outcome, CallFailure):
                    failed[key] = f"not rewritten: {outcome.reason}"
                else:
                    rewrites[key] = self._normalize_rewrite(outcome)

        with work.charge_calls_to("S1", work.question_rewriter.name):
            run_in_remote_loop_and_wait(rewrite_all_questions)
        return failed

    def _embed_rewrites(self, rewrites: Mapping[str, str]) -> dict[str, NDArray[np.float32]]:
        encoder, texts = self.work.encoder, list(rewrites.values())
        if not texts:
            return {}
        self.work.listener.stage(f"S1 vectors by {encoder.name}", len(set(texts)), "questions")
        with self.work.charge_calls_to("S1", encoder.name):
            vectors = encoder.vectors(texts, "query")
        return dict(zip(rewrites, vectors, strict=True))

    def _explain_unfit_vector(self, rewrite: str, vector: NDArray[np.float32]) -> str:
        """Why a vector cannot be used; empty where it can."""
        encoder, dim = self.work.encoder, self.work.encoder.about["dim"]
        if rewrite in encoder.failures:
            return f"the rewritten question could not be encoded: {encoder.failures[rewrite]}"
        if vector.shape != (dim,):
            return f"its vector has {len(vector)} dimensions, expected {dim}"
        return "" if np.isfinite(vector).all() else "its vector contains non-finite values"

    def _build_rewritten_query_output(
        self, asked: QueryWithFolder, rewrite: str, vector: NDArray[np.float32], cut: bool
    ) -> QueryStageOutput:
        posed = self.work.questions_by_id[asked.id]
        row = {
            "qid": asked.id,
            "text": asked.text,
            "text_rewrite": rewrite,
            "tags": list(posed.tags),
            # The shortest text that reads back as the same float32.
            "embedding": [float(str(value)) for value in vector],
            "model": self.work.encoder.name,
            "input_type": "query",
            "output_dimension": len(vector),
            "truncation": cut,
            "bm25_query": self._normalize_rewrite(posed.bm25_query) if posed.bm25_query else rewrite,
        }
        return QueryStageOutput(
            {asked.folder.rewrite_path: format_value_as_json(row) + "\n"}, {"dimensions": len(vector)}
        )

    def _normalize_rewrite(self, text: str) -> str:
        return unicodedata.normalize("NFC", text) if self.work.request.options.nfc else text


def read_stored_rewrite_row(asked: QueryWithFolder) -> dict[str, Any]:
    """What S1 made of a query."""
    row: dict[str, Any] = json.loads(asked.folder.rewrite_path.read_text("utf-8"))
    return row


Row = dict[str, Any]


@dataclass
class GoldenCandidateSearchStage:
    """S2, which searches for many questions: the corpus is encoded and indexed once."""

    work: GoldenRunResources
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

    def inputs(self, asked: QueryWithFolder) -> Sequence[StageInputFile]:
        return (hash_stage_input_file(asked.folder.rewrite_path, self.work.run), *self.work.read.files["corpus"])

    def do(self, waiting: Sequence[QueryWithFolder], done: Done) -> Mapping[str, str]:
        rewrites = [read_stored_rewrite_row(asked) for asked in waiting]
        asked_words, options = [row["bm25_query"] for row in rewrites], self.work.request.options
        check_memory_fits(
            estimate_search_memory(self.work.encoder.system, self.work.passages.texts, asked_words, options.depth)
        )
        dense = self._search_by_vectors(np.array([row["embedding"] for row in rewrites], dtype=np.float32))
        sparse, depth = self._search_by_words(asked_words), options.depth
        for asked, by_vectors, by_words, rewrite in zip(waiting, dense, sparse, rewrites, strict=True):
            head = {"qid": asked.id, "question": asked.text, "query_rewrite": rewrite["text_rewrite"]}
            for row in by_words:
                row["bm25_query"] = rewrite["bm25_query"]
            files = {
                asked.folder.dense_hits_path(depth): format_json_lines({**head, **row} for row in by_vectors),
                asked.folder.sparse_hits_path(depth): format_json_lines({**head, **row} for row in by_words),
            }
            done(asked, QueryStageOutput(files, {"dense": len(by_vectors), "sparse": len(by_words)}))
        return {}

    def _search_by_vectors(self, queries: NDArray[np.float32]) -> list[list[Row]]:
        """The best of each query by cosine."""
        passages, depth = self.work.passages, self.work.request.options.depth
        shards = list(cut_range_into_blocks(len(passages), SHARD))
        self.work.listener.stage(f"S2 vectors by {self.work.encoder.name}", len(set(passages.texts)), "passages")
        rankings = []
        with self.work.charge_calls_to("S2", self.work.encoder.name):
            for part in shards:
                vectors = scale_rows_to_unit_length(self.work.encoder.vectors(list(passages.texts[part]), "document"))
                # A passage that cannot be encoded has NaN, which would stand anywhere; words may still find it.
                usable = np.flatnonzero(np.isfinite(vectors).all(axis=1))
                if not len(usable):
                    raise ModelError(f"{self.work.encoder.name!r} could not encode any passage.")
                ranked = exact_search(scale_rows_to_unit_length(queries), vectors[usable], min(depth, len(usable)))
                places = np.where(ranked.indices < 0, -1, usable[ranked.indices])
                rankings.append(type(ranked)(places, ranked.scores))
        self._warn_of_unencoded_passages()
        self.work.warnings += self.work.encoder.list_noncosine_encoder_warnings()
        best = merge(rankings, [part.start for part in shards], depth)
        return [
            [
                {**self._make_passage_row(place), "rank_dense": rank, "score_cos": score, "score_raw": score}
                for rank, (place, score) in enumerate(zip(places, scores, strict=True), start=1)
                if place >= 0
            ]
            for places, scores in zip(best.indices.tolist(), best.scores.tolist(), strict=True)
        ]

    def _warn_of_unencoded_passages(self) -> None:
        """Note the passages that only the search by words can find."""
        failures = self.work.encoder.failures
        lost = [
            key for key, text in zip(self.work.passages.ids, self.work.passages.texts, strict=True) if text in failures
        ]
        if lost:
            self.work.warnings.append(
                f"passages that {self.work.encoder.name} could not encode, so only BM25 can find them: {len(lost):,} "
                f"({', '.join(lost[:3])})"
            )

    def _search_by_words(self, queries: Sequence[str]) -> list[list[Row]]:
        """The best of each query by BM25."""
        passages, options = self.work.passages, self.work.request.options
        # Words that no question has are not indexed: the scores are the same, the memory is not.
        index = BM25Index.of(passages.ids, passages.texts, options.bm25_k1, options.bm25_b, asked=queries)
        self.work.listener.stage("S2 search by words", len(queries), "questions")
        rankings = []
        for query in queries:
            hits = index.search(query, options.depth)
            rankings.append(
                [
                    {**self._make_passage_row(index.place(hit.id)), "rank_sparse": rank, "score_bm25": hit.score}
                    for rank, hit in enumerate(hits, start=1)
                ]
            )
            self.work.listener.advanced_by(1)
        return rankings

    def _make_passage_row(self, place: int) -> Row:
        passages = self.work.passages
        return {
            "doc_id": passages.ids[place],
            "text": passages.texts[place],
            "metadata": dict(passages.metadata[place]),
        }


_OWN = ("rank_dense", "score_cos", "score_raw", "rank_sparse", "score_bm25", "bm25_query")
_SOURCES = {(True, False): "dense", (False, True): "sparse", (True, True): "both"}


@dataclass
class FusionStage:
    """S3, which fuses the lists of hits of many questions."""

    work: GoldenRunResources
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

    def inputs(self, asked: QueryWithFolder) -> Sequence[StageInputFile]:
        depth = self.work.request.options.depth
        paths = [asked.folder.dense_hits_path(depth), asked.folder.sparse_hits_path(depth)]
        paths += [asked.folder.passages_from_runs_path] if asked.folder.passages_from_runs_path.exists() else []
        return tuple(hash_stage_input_file(path, self.work.run) for path in paths)

    def do(self, waiting: Sequence[QueryWithFolder], done: Done) -> Mapping[str, str]:
        depth, failed = self.work.request.options.depth, dict[str, str]()
        for asked in waiting:
            dense, sparse = (
                read_json_line_rows(path)
                for path in (asked.folder.dense_hits_path(depth), asked.folder.sparse_hits_path(depth))
            )
            fused = fuse_dense_and_sparse(dense, sparse, self.work.request.options.rrf_c)
            added = list(self._list_passages_added_by_runs(asked, fused))
            rows = self._add_pair_token_counts_to_rows([*fused, *added])
            if not rows:
                failed[asked.id] = "no passage was found"
                continue
            sources = [row["source"] for row in rows]
            counts = {
                "both": sources.count("both"),
                "dense_only": sources.count("dense"),
                "sparse_only": sources.count("sparse"),
            }
            if added:
                counts["added"] = len(added)
            done(
                asked,
                QueryStageOutput(
                    {asked.folder.fused_list_path: format_json_lines(rows)}, {"candidates": len(rows), **counts}
                ),
            )
        return failed

    def _list_passages_added_by_runs(self, asked: QueryWithFolder, rows: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
        """The passages that runs brought and no search of ours found, after those, in the order of their ranks."""
        if not asked.folder.passages_from_runs_path.exists():
            return
        ids = {row["doc_id"] for row in rows}
        rewrite = read_stored_rewrite_row(asked)
        for row in read_json_line_rows(asked.folder.passages_from_runs_path):
            if row["doc_id"] in ids or (place := self.work.place_by_passage_id.get(row["doc_id"])) is None:
                continue
            ids.add(row["doc_id"])
            passages = self.work.passages
            yield {
                "qid": asked.id, "question": asked.text, "query_rewrite": rewrite["text_rewrite"],
                "doc_id": row["doc_id"], "text": passages.texts[place], "metadata": dict(passages.metadata[place]),
                **dict.fromkeys(_OWN), "source": f"run {row['run']}", "rrf_score": 0.0, "rank_rrf": len(ids)
            }  # fmt: skip

    def _add_pair_token_counts_to_rows(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rows with the tokens of question and passage together: `T_cand` of spec rag 3.1."""
        if not rows:
            return []
        count = self.work.tokenizer.encode_batch
        question = len(count([rows[0]["question"]])[0])
        lengths = map(len, count([row["text"] for row in rows]))
        return [{**row, "tokens": question + length} for row, length in zip(rows, lengths, strict=True)]


def fuse_dense_and_sparse(
    dense: Sequence[Mapping[str, Any]], sparse: Sequence[Mapping[str, Any]], c: float
) -> list[dict[str, Any]]:
    """The union of two lists of S2 in the order of their fused score, with both ranks and scores; a text or metadata
    that one list lacks is taken from the other."""
    # Reversed: of an id that stands twice, the row at the better place counts.
    by_list = [{str(row["doc_id"]): row for row in reversed(rows)} for rows in (dense, sparse)]
    union = []
    fused = fuse_by_reciprocal_rank([[str(row["doc_id"]) for row in rows] for rows in (dense, sparse)], c)
    for rank, hit in enumerate(fused, start=1):
        rows = [by_id[hit.id] for by_id in by_list if hit.id in by_id]
        first = rows[0]
        row: dict[str, Any] = {name: first.get(name) for name in ("qid", "question", "query_rewrite", "doc_id")}
        for name in ("text", "metadata"):
            row[name] = next((value for other in rows if (value := other.get(name))), first.get(name))
        row |= {name: next((o[name] for o in rows if name in o), None) for name in _OWN}
        row["rank_dense"], row["rank_sparse"] = hit.ranks
        row["source"] = _SOURCES[hit.ranks[0] is not None, hit.ranks[1] is not None]
        union.append({**row, "rrf_score": hit.score, "rank_rrf": rank})
    return union
