"""S4: a grade for every passage of every question, by the judge; what was graded is kept at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embassay.protocols.manifest import moment
from embassay.protocols.rag.golden.grading import (
    Grading,
    Key,
    grade_all,
    kept_row,
    key_of,
    reusable,
    scored_row,
)
from embassay.protocols.rag.golden.stages import Asked, Done, Input, Product, input_of, lines, read_rows
from embassay.protocols.rag.golden.work import Work
from embassay.protocols.rag.judges import Passage, Question, Verdict, about
from embassay.runs.files import to_json
from embassay.systems.remote.home import wait_for

VERSION = 1
Pair = tuple[Question, Passage]
Rows = list[dict[str, Any]]


@dataclass
class Grades:
    """S4 for many questions at a time."""

    work: Work
    stage: str = "S4"
    _said: dict[Key, tuple[str, str]] = field(default_factory=dict)
    """When each verdict came, and from which model by its server's name."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        work = self.work
        return {
            "version": VERSION,
            "judge": [work.judge.name, work.judge.identity],
            "judge_question": work.request.options.judge_question,
            "failed": work.request.options.failed,
        }

    def inputs(self, asked: Asked) -> Sequence[Input]:
        return (input_of(asked.folder.merged, self.work.run),)

    def do(self, waiting: Sequence[Asked], done: Done) -> Mapping[str, str]:
        work = self.work
        rows = {asked.id: read_rows(asked.folder.merged) for asked in waiting}
        pairs = {asked.id: self._pairs(asked, rows[asked.id]) for asked in waiting}
        kept = {
            key: verdict for asked in waiting for key, verdict in self._kept(asked, pairs[asked.id]).items()
        }
        wanted = [pair for own in pairs.values() for pair in own]
        work.listener.stage(f"S4 grades by {work.judge.name}", len(wanted), "passages")
        work.listener.advanced_by(len(kept))
        folders = {asked.id: asked.folder for asked in waiting}
        verdicts = dict(kept)

        def keep(question: Question, passage: Passage, verdict: Verdict) -> None:
            verdicts[question.id, passage.id] = verdict
            self._keep(folders[question.id].kept_grades, question, passage, verdict)

        try:
            with work.charged("S4", work.judge.name):
                grading = wait_for(
                    lambda: grade_all(work.judge, wanted, kept, keep, progress=work.listener.advanced_by)
                )
        except BaseException:
            whole = [one for one in waiting if all(key_of(pair) in verdicts for pair in pairs[one.id])]
            self._finish(whole, rows, Grading(verdicts, ()), done)
            raise
        return self._finish(waiting, rows, grading, done)

    def _keep(self, path: Path, question: Question, passage: Passage, verdict: Verdict) -> None:
        """Write a verdict down at once."""
        ts, model = moment("milliseconds"), about(self.work.judge)["model"]
        self._said[question.id, passage.id] = ts, model
        row = {**kept_row((question, passage), verdict, self.work.judge, ts), "model": model}
        path.parent.mkdir(parents=True, exist_ok=True)
        # In one write: a killed process leaves whole lines.
        with path.open("ab", buffering=0) as stream:
            stream.write((to_json(row) + "\n").encode())

    def _finish(
        self, waiting: Sequence[Asked], rows: Mapping[str, Rows], grading: Grading, done: Done
    ) -> Mapping[str, str]:
        """Write the artefact of every question whose passages are graded; the others have failed."""
        facts = about(self.work.judge)
        may_lack = self.work.request.options.failed == "ungraded"
        failed = dict(grading.failed)
        for asked in waiting:
            own = rows[asked.id]
            found = {row["doc_id"]: grading.verdicts.get((asked.id, row["doc_id"])) for row in own}
            if not any(found.values()) or (asked.id in failed and not may_lack):
                failed.setdefault(asked.id, "no passage was graded")
                continue
            failed.pop(asked.id, None)
            scored = [self._scored(asked, row, found[row["doc_id"]], facts) for row in own]
            graded = [row["grade"] for row in scored if row["grade"] is not None]
            counts = {f"grade_{grade}": graded.count(grade) for grade in (5, 4, 3, 2, 1)}
            attempts = sum(row["attempts"] for row in scored)
            done(
                asked,
                Product(
                    {asked.folder.scores: lines(scored)},
                    {
                        "graded": len(graded),
                        "ungraded": len(scored) - len(graded),
                        "attempts": attempts,
                        **counts,
                    },
                ),
            )
        return failed

    def _scored(
        self, asked: Asked, row: Mapping[str, Any], verdict: Verdict | None, facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        ts, model = self._said.get((asked.id, row["doc_id"])) or (moment("milliseconds"), facts["model"])
        told = {**facts, "model": model}
        if verdict is None:
            return {**scored_row(row, Verdict(1, 0), self.work.judge, told, ts), "grade": None}
        return scored_row(row, verdict, self.work.judge, told, ts)

    def _pairs(self, asked: Asked, rows: Rows) -> list[Pair]:
        question = self.work.question(asked, rows[0]["query_rewrite"])
        return [(question, Passage(row["doc_id"], row["text"])) for row in rows]

    def _kept(self, asked: Asked, pairs: Sequence[Pair]) -> dict[Key, Verdict]:
        """What the judge has said already of these passages: in a session that was killed, or in the artefact that
        this one replaces."""
        rows = [*self._scored_before(asked), *_whole_rows(asked)]
        for row in rows:
            self._said[row.get("qid", ""), row.get("doc_id", "")] = row.get("ts", ""), row.get("model", "")
        return reusable(rows, pairs, self.work.judge)

    def _scored_before(self, asked: Asked) -> Iterable[dict[str, Any]]:
        if not asked.folder.scores.exists():
            return
        for row in read_rows(asked.folder.scores):
            if row.get("grade") is None:
                continue
            question = self.work.question(
                Asked(asked.id, row["question"], asked.folder), row["query_rewrite"]
            )
            verdict = Verdict(row["grade"], row["attempts"], tuple(row["rejected"]))
            pair = (question, Passage(row["doc_id"], row["text"]))
            own = {"judge": row["judge"], "model": row["model"]}
            yield {**kept_row(pair, verdict, self.work.judge, row["ts"]), **own}


def _whole_rows(asked: Asked) -> list[dict[str, Any]]:
    """The kept verdicts; a line that a kill cut in two is not there."""
    path = asked.folder.kept_grades
    if not path.exists():
        return []
    rows = []
    for line in path.read_text("utf-8", errors="replace").split("\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows
