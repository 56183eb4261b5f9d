"""S4: a grade for every passage of every question, many at once, each kept the moment it comes (spec rag 4).

A passage that gets no grade fails its question and is listed with the reason; nothing stands in for it, and the other
questions go on. What was graded before by the same judge, for the same texts, is not asked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from embassay.protocols.rag.judges import Judge, Passage, Question, Verdict
from embassay.runs.files import digest
from embassay.runs.many_calls import Failure, all_of

Key = tuple[str, str]
"""Question id and passage id."""
Pair = tuple[Question, Passage]
Keep = Callable[[Question, Passage, Verdict], None]


@dataclass(frozen=True)
class Ungraded:
    """A passage without a grade: why, and what was wrong with each answer to it."""

    query_id: str
    doc_id: str
    reason: str
    rejected: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grading:
    """The verdicts by question and passage, and what has none, both in the order in which they were asked for."""

    verdicts: Mapping[Key, Verdict]
    ungraded: tuple[Ungraded, ...]

    @property
    def failed(self) -> Mapping[str, str]:
        """Question id -> why it has failed, in one line."""
        by_query: dict[str, list[Ungraded]] = {}
        for one in self.ungraded:
            by_query.setdefault(one.query_id, []).append(one)
        return {query: _reason(own) for query, own in by_query.items()}


def key_of(pair: Pair) -> Key:
    """The ids of a question and a passage."""
    return pair[0].id, pair[1].id


async def grade_all(
    judge: Judge,
    asked: Sequence[Pair],
    kept: Mapping[Key, Verdict],
    keep: Keep,
    *,
    draw: int = 0,
    at_once: int = 256,
    progress: Callable[[int], None] | None = None,
) -> Grading:
    """A verdict for each pair that is `asked` and not `kept` already; each is given to `keep` the moment it comes.

    At most `at_once` pairs are worked on at a time; the pace of the judge decides how many requests are in flight.
    `progress` is called with 1 for each pair that was asked for. A judge that cannot be had (ModelError) and the limit
    of cost (BudgetExceeded) are raised after what was in flight has been kept.
    """
    waiting = list({key_of(pair): pair for pair in asked if key_of(pair) not in kept}.values())
    found: dict[Key, Verdict] = {}
    ungraded: dict[Key, Ungraded] = {}
    jobs = (partial(judge.grade, *pair, draw=draw) for pair in waiting)
    async for position, outcome in all_of(jobs, at_once=at_once, progress=progress):
        pair = waiting[position]
        if isinstance(outcome, Failure):
            rejected = tuple(getattr(outcome.error, "rejected", ()))
            ungraded[key_of(pair)] = Ungraded(*key_of(pair), outcome.reason, rejected)
        else:
            found[key_of(pair)] = outcome
            keep(*pair, outcome)
    keys = list(dict.fromkeys(map(key_of, asked)))
    known = {**kept, **found}
    return Grading(
        {key: known[key] for key in keys if key in known},
        tuple(ungraded[key] for key in keys if key in ungraded),
    )


def kept_row(pair: Pair, verdict: Verdict, judge: Judge, ts: str) -> dict[str, Any]:
    """A verdict as one line of the file that grows while a question is graded; `reusable` reads it back."""
    return {
        "qid": pair[0].id,
        "doc_id": pair[1].id,
        "grade": verdict.grade,
        "attempts": verdict.attempts,
        "rejected": list(verdict.rejected),
        "judge": digest(judge.identity),
        "texts": _texts(pair),
        "ts": ts,
    }


def reusable(rows: Iterable[Mapping[str, Any]], asked: Sequence[Pair], judge: Judge) -> dict[Key, Verdict]:
    """The verdicts of lines that the same judge (model, prompts, sampling) gave on the same texts; others are passed
    over, as are lines that are not whole."""
    pairs = {key_of(pair): pair for pair in asked}
    by = digest(judge.identity)
    found: dict[Key, Verdict] = {}
    for row in rows:
        key = row.get("qid", ""), row.get("doc_id", "")
        grade = row.get("grade")
        if key not in pairs or row.get("judge") != by or row.get("texts") != _texts(pairs[key]):
            continue
        if type(grade) is int and 1 <= grade <= 5:
            found[key] = Verdict(grade, int(row.get("attempts", 1)), tuple(row.get("rejected", ())))
    return found


def scored_row(
    merged: Mapping[str, Any], verdict: Verdict, judge: Judge, facts: Mapping[str, Any], ts: str
) -> dict[str, Any]:
    """A line of S4's artefact: the line of S3 as it is, with the grade and where it comes from. `facts` are
    `judges.about(judge)`."""
    return {
        **merged,
        "grade": verdict.grade,
        "model": facts["model"],
        "temperature": facts["temperature"],
        "top_p": facts["top_p"],
        "judge": digest(judge.identity),
        "attempts": verdict.attempts,
        "rejected": list(verdict.rejected),
        "ts": ts,
    }


def _texts(pair: Pair) -> str:
    return digest([pair[0].text, pair[1].text])[:16]


def _reason(ungraded: Sequence[Ungraded]) -> str:
    first = ungraded[0]
    others = f" and {len(ungraded) - 1} more" if len(ungraded) > 1 else ""
    return f"no grade for {first.doc_id}{others}: {first.reason}"
