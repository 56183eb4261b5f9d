"""S6 as a stage: the passages that are left put in their final order, and the artefacts of that.

All questions go on together, since an engine may learn from one what the judge is like for another. Which of them set
out together is kept in `refinement.json` of the run: a question that comes later (its judge had failed before) must not
change what the others were asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from embassay.errors import DataError
from embassay.protocols.rag.golden.corpus import Work
from embassay.protocols.rag.golden.refinement import (
    CallLog,
    Entry,
    Hooks,
    RankingPool,
    Refined,
    Refinement,
    log_text,
    refine,
)
from embassay.protocols.rag.golden.stages import Asked, Done, Input, Product, input_of, lines, read_rows
from embassay.protocols.rag.judges import Passage
from embassay.protocols.rag.ranking import Candidate
from embassay.protocols.rag.ranking.engines import ENGINES
from embassay.runs.execution import Failure
from embassay.runs.folder import to_json, write_atomic
from embassay.systems.remote.calls import wait_for

_SHOWN = 200
"""Characters of a passage in the preview."""


def ranked_rows(
    refined: Refined, rows: Mapping[str, Mapping[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """All candidates, best first: `final_rank` (1 = best), `final_score`, `exposures` and `info`, after what `rows`
    (by document id) says of each."""
    ranking, ids = refined.ranking, refined.pool.ids
    return [
        {
            **(rows[ids[position]] if rows is not None else {"doc_id": ids[position]}),
            "final_rank": place,
            "final_score": ranking.scores[position],
            "exposures": ranking.exposures[position],
            "info": ranking.info[position],
        }
        for place, position in enumerate(ranking.order, start=1)
    ]


def calls_text(refinement: Refinement, refined: Refined) -> str:
    """All answers by round and place, as a log that `CallLog` reads: the same whenever they came."""
    entries: list[Entry] = [*refined.failures, *refined.calls]
    entries.sort(key=lambda entry: entry.round)
    return log_text(refinement.about(refined.pool), entries)


def checkpoint_text(refined: Refined, top: int) -> str:
    """The ranker's state as JSON, with the top ids as they stand, why it stopped, and what is claimed of the order or
    why nothing is."""
    ids, ranking = refined.pool.ids, refined.ranking
    said = {
        **refined.state,
        "calls": len(refined.calls),
        "stopped": ranking.stopped,
        "top": [ids[position] for position in ranking.order[:top]],
        "claims": dict(ranking.claims),
        "doubts": list(ranking.doubts),
    }
    return to_json(said, indent=1) + "\n"


def preview_text(refined: Refined, top: int) -> str:
    """The first `top` as Markdown: grade, times shown, score, and how the passage begins."""
    pool, ranking = refined.pool, refined.ranking
    stopped = f"stopped: {ranking.stopped}" if ranking.stopped else "not done yet"
    calls = len(refined.calls)
    answers = "answer" if calls == 1 else "answers"
    head = [f"# {_flat(pool.question.text)}", "",
            f"Question {_flat(pool.question.id)}, {calls} {answers} of the judge, {stopped}.", "",
            "| # | passage | grade | shown | score | text |", "|--:|---|--:|--:|--:|---|"]  # fmt: skip
    lines = [
        f"| {place} | {_flat(pool.ids[i])} | {_grade(pool.candidates[i].grade)} | {ranking.exposures[i]} | "
        f"{ranking.scores[i]:.3f} | {_flat(_begun(pool.passages[i].text))} |"
        for place, i in enumerate(ranking.order[:top], start=1)
    ]
    return "\n".join([*head, *lines]) + "\n"


def _grade(grade: int | None) -> str:
    return "-" if grade is None else str(grade)


def _begun(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN].rstrip() + " ..."


def _flat(text: str) -> str:
    """On one line, and nothing that a Markdown table or a browser would take for its own."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


VERSION = 3
Wave = dict[str, str]
"""Question id -> SHA-256 of what it set out with."""


@dataclass
class Order:
    """S6 for many questions at a time."""

    work: Work
    stage: str = "S6"

    @cached_property
    def refinement(self) -> Refinement:
        """Who orders, and how."""
        request = self.work.request
        engine = ENGINES.build(request.engine)
        return Refinement(self.work.judge, engine, request.seed, request.options.top)

    @property
    def parameters(self) -> Mapping[str, Any]:
        work = self.work
        return {
            "version": VERSION,
            "ranking": self.refinement.engine.name,
            "top": work.request.options.top,
            "seed": work.request.seed,
            "judge": [work.judge.name, work.judge.identity],
            "judge_question": work.request.options.judge_question,
        }

    def inputs(self, asked: Asked) -> Sequence[Input]:
        return (input_of(self._pruned(asked), self.work.run),)

    def do(self, waiting: Sequence[Asked], done: Done) -> Mapping[str, str]:
        failed: dict[str, str] = {}
        queries = {asked.id: asked for asked in self.work.queries}
        set_out = {asked.id: self.inputs(asked)[0].sha256 for asked in waiting}
        names = {asked.id for asked in waiting}
        self.work.listener.stage(f"S6 orders by {self.work.judge.name}", 0, "calls")
        for wave in _waves(self.work.run / "refinement.json", set_out):
            if names & wave.keys():
                fellows = [queries[key] for key, sha in wave.items() if self._is_as(queries[key], sha)]
                failed |= self._refine(fellows, names, done)
        return failed

    def _is_as(self, asked: Asked, sha: str) -> bool:
        """Whether a query still has what it set out with."""
        return self._pruned(asked).exists() and self.inputs(asked)[0].sha256 == sha

    def _refine(self, wave: Sequence[Asked], waiting: set[str], done: Done) -> dict[str, str]:
        """Order the pools of one wave; those that are done take part, but nothing is asked for them."""
        queries = {asked.id: asked for asked in wave}
        rows = {asked.id: read_rows(self._pruned(asked)) for asked in wave}
        pools = [self._pool(asked, rows[asked.id]) for asked in wave]
        logs = {
            pool.question.id: CallLog(
                queries[pool.question.id].folder.calls, self.refinement.about(pool), self._warn
            )
            for pool in pools
        }

        def finished(key: str, refined: Refined) -> None:
            if key in waiting and not queries[key].folder.success("S6").exists():
                done(queries[key], self._product(queries[key], rows[key], refined))

        def checkpoint(key: str, refined: Refined) -> None:
            asked = queries[key]
            if key in waiting and not asked.folder.success("S6").exists():
                write_atomic(asked.folder.checkpoint, checkpoint_text(refined, self.refinement.top))

        hooks = Hooks(self.work.listener.advanced_by, checkpoint, finished, self._warn)
        with self.work.charged("S6", self.work.judge.name):
            found = wait_for(lambda: refine(self.refinement, pools, logs=logs, hooks=hooks))
        for key, outcome in found.items():
            if isinstance(outcome, Refined):
                finished(key, outcome)
        return {
            key: f"not ordered: {outcome.reason}"
            for key, outcome in found.items()
            if isinstance(outcome, Failure) and key in waiting
        }

    def _product(self, asked: Asked, rows: Sequence[Mapping[str, Any]], refined: Refined) -> Product:
        top, folder = self.refinement.top, asked.folder
        ordered = ranked_rows(refined, {str(row["doc_id"]): row for row in reversed(rows)})
        files = {
            folder.ranked(top): lines(ordered[:top]),
            folder.order: lines({name: row[name] for name in _SHORT} for row in ordered),
            folder.calls: calls_text(self.refinement, refined),
            folder.checkpoint: checkpoint_text(refined, top),
            folder.preview: preview_text(refined, top),
        }
        return Product(files, {"ranked": len(ordered), "calls": len(refined.calls)})

    def _pool(self, asked: Asked, rows: Sequence[Mapping[str, Any]]) -> RankingPool:
        question = self.work.question(asked, rows[0]["query_rewrite"] if rows else "")
        return RankingPool.of(
            question,
            (
                (Candidate(row["doc_id"], row["grade"], row["rank_rrf"]), Passage(row["doc_id"], row["text"]))
                for row in rows
            ),
        )

    def _pruned(self, asked: Asked) -> Path:
        return asked.folder.pruned(self.work.request.options.minimum)

    def _warn(self, text: str) -> None:
        if text not in self.work.warnings:
            self.work.warnings.append(text)


_SHORT = ("qid", "doc_id", "grade", "rank_rrf", "final_rank", "final_score", "exposures", "info")


def _waves(path: Path, set_out: Mapping[str, str]) -> list[Wave]:
    """The waves of a run, with those that set out now as the last where they are new or have changed since."""
    waves: list[Wave] = _read_waves(path)
    joined = {key: sha for wave in waves for key, sha in wave.items()}
    new = {key: sha for key, sha in set_out.items() if joined.get(key) != sha}
    if new:
        waves = [left for wave in waves if (left := {k: sha for k, sha in wave.items() if k not in new})]
        waves.append(new)
        write_atomic(path, to_json({"waves": waves}, indent=1) + "\n")
    return waves


def _read_waves(path: Path) -> list[Wave]:
    if not path.exists():
        return []
    try:
        waves = json.loads(path.read_text("utf-8"))["waves"]
        return [{str(key): str(sha) for key, sha in wave.items()} for wave in waves]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(
            "the file cannot be read", path=path, found=str(error), mend="Redo the ranking: --from-stage S6."
        ) from error
