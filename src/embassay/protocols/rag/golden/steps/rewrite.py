"""S1: every question with its rewriting, and the vector of that."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.golden.stages import Asked, Done, Input, Product
from embassay.protocols.rag.golden.work import Work
from embassay.protocols.rag.judges import Question
from embassay.runs.files import to_json
from embassay.runs.many_calls import Failure, all_of
from embassay.systems.remote.home import wait_for

VERSION = 1


@dataclass
class Rewriting:
    """S1 for all questions of a run: their vectors must not depend on which of them are still to be done."""

    work: Work
    stage: str = "S1"

    @property
    def parameters(self) -> Mapping[str, Any]:
        work = self.work
        return {
            "version": VERSION,
            "encoder": [work.encoder.name, work.encoder.identity],
            "rewriter": [work.rewriter.name, work.rewriter.identity],
            "nfc": work.request.options.nfc,
            "input_type": "query",
        }

    def inputs(self, asked: Asked) -> Sequence[Input]:  # noqa: ARG002 - all are in one file
        return self.work.read.files["queries"]

    def do(self, waiting: Sequence[Asked], done: Done) -> Mapping[str, str]:
        rewrites, failed = self._rewrites(waiting)
        vectors = self._vectors(rewrites)
        cut = {text: self.work.encoder.cuts(text) for text in rewrites.values()}
        for asked in (one for one in waiting if one.id in rewrites):
            rewrite = rewrites[asked.id]
            vector = vectors[asked.id]
            if why := self._unfit(rewrite, vector):
                failed[asked.id] = why
            else:
                done(asked, self._product(asked, rewrite, vector, cut[rewrite]))
        return failed

    def _rewrites(self, waiting: Sequence[Asked]) -> tuple[dict[str, str], dict[str, str]]:
        """Id -> rewriting for all questions of the run, done before or now; id -> why there is none."""
        found: dict[str, str] = {}
        asked_for: list[Asked] = []
        now = {one.id for one in waiting}
        for asked in self.work.queries:
            given = self.work.posed[asked.id].rewrite
            if asked.id not in now:
                found[asked.id] = read_rewrite(asked)["text_rewrite"]
            elif given is not None:
                found[asked.id] = self._composed(given)
            else:
                asked_for.append(asked)
        failed = self._asked(asked_for, found)
        return {asked.id: found[asked.id] for asked in self.work.queries if asked.id in found}, failed

    def _asked(self, asked_for: Sequence[Asked], found: dict[str, str]) -> dict[str, str]:
        """Have these rewritten, into `found`; id -> reason for those that could not be."""
        if not asked_for:
            return {}
        work, failed = self.work, dict[str, str]()
        work.listener.stage(f"S1 rewrites by {work.rewriter.name}", len(asked_for), "questions")

        async def all_rewritten() -> None:
            jobs = [partial(work.rewriter.rewrite, Question(one.id, one.text)) for one in asked_for]
            async for position, outcome in all_of(jobs, progress=work.listener.advanced_by):
                key = asked_for[position].id
                if isinstance(outcome, Failure):
                    failed[key] = f"no rewriting: {outcome.reason}"
                else:
                    found[key] = self._composed(outcome)

        with work.charged("S1", work.rewriter.name):
            wait_for(all_rewritten)
        return failed

    def _vectors(self, rewrites: Mapping[str, str]) -> dict[str, NDArray[np.float32]]:
        encoder, texts = self.work.encoder, list(rewrites.values())
        if not texts:
            return {}
        self.work.listener.stage(f"S1 vectors by {encoder.name}", len(set(texts)), "questions")
        with self.work.charged("S1", encoder.name):
            vectors = encoder.vectors(texts, "query")
        return dict(zip(rewrites, vectors, strict=True))

    def _unfit(self, rewrite: str, vector: NDArray[np.float32]) -> str:
        """Why a vector cannot be used; empty where it can."""
        encoder, dim = self.work.encoder, self.work.encoder.about["dim"]
        if rewrite in encoder.failures:
            return f"the rewriting cannot be encoded: {encoder.failures[rewrite]}"
        if vector.shape != (dim,):
            return f"its vector has {len(vector)} dimensions, expected {dim}"
        return "" if np.isfinite(vector).all() else "its vector has values that are not finite"

    def _product(self, asked: Asked, rewrite: str, vector: NDArray[np.float32], cut: bool) -> Product:
        posed = self.work.posed[asked.id]
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
            "bm25_query": self._composed(posed.bm25_query) if posed.bm25_query else rewrite,
        }
        return Product({asked.folder.rewrite: to_json(row) + "\n"}, {"dimensions": len(vector)})

    def _composed(self, text: str) -> str:
        return unicodedata.normalize("NFC", text) if self.work.request.options.nfc else text


def read_rewrite(asked: Asked) -> dict[str, Any]:
    """What S1 made of a query."""
    row: dict[str, Any] = json.loads(asked.folder.rewrite.read_text("utf-8"))
    return row
