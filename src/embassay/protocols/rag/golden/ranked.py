"""The artefacts of S6 from what came of a query: rows of its order, its checkpoint, its log, and a page to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embassay.protocols.rag.golden.call_log import Entry, log_text
from embassay.protocols.rag.golden.refinement import Refined, Refinement
from embassay.runs.files import to_json

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
