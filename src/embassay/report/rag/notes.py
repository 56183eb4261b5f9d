"""What to know before trusting a golden set or scoring; what the pages of RAG call judges, stages, grades, claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.golden.summary import Query, read_golden
from embassay.protocols.rag.scoring.score import read_score
from embassay.protocols.rag.sweep.findings.record import FILE, Findings, read_findings
from embassay.report.record import Record

STOPPED = {
    "sure": "sure enough",
    "cap": "all calls used",
    "stable": "the top held still",
    "few": "too few to judge",
    "too few to judge": "too few to judge",
    "": "not ordered by the judge",
}
"""Why an engine asked no more."""
CLAIMS = {
    "set_errors_at_most_0": "P(no wrong passage among the first {top})",
    "set_errors_at_most_1": "P(at most one wrong passage among the first {top})",
    "set_errors_at_most_2": "P(at most two wrong passages among the first {top})",
    "overlap": "share of the first {top} that is right",
    "tau": "Kendall’s τ with the judge’s own order",
}
"""What an engine may claim of its order, the surest way to say it first."""
DOUBTS = {
    "fixed errors": "it puts pairs the same way again and yet in circles, so that its errors are fixed, not chance",
    "order shown": "too many answers are just the order in which passages were shown",
    "places": "what is shown first or last gains too much by its place",
    "surprises": "pairs shown again turn out otherwise than its answers let expect",
}
"""Why an engine claims nothing of its order: what it found of the judge."""


def short(name: str) -> str:
    """A judge's spec without the folder and the parameters.

    >>> short("simulated:/data/cranfield/qrels.jsonl?grades=cranfield"), short("ollama:gemma3:27b")
    ('simulated:qrels.jsonl', 'ollama:gemma3:27b')
    """
    target = name.partition("?")[0]
    kind, colon, path = target.partition(":")
    return f"{kind}{colon}{path.rpartition('/')[2]}" if path.startswith(("/", ".", "~")) else target


def told(one: Query, judge: str) -> str:
    """Why a question failed, the judge by its short name."""
    return f"{one.reason.replace(judge, short(judge)).rstrip('.')}."


def failed_list(failed: Sequence[Query], most: int = 4) -> str:
    """The first failed questions with the stage each failed in, and how many more."""
    named = ", ".join(f"{one.query_id} ({one.stage})" for one in failed[:most])
    return named + (f" and {len(failed) - most} more" if len(failed) > most else "")


NoteParts = tuple[str, str, str, str]


def rag_notes(record: Record) -> Iterator[NoteParts]:
    """The notes of the run, the gravest first; none where its record is not written yet."""
    if record.kind == "golden" and (record.path / "golden.json").exists():
        yield from _golden(record)
    if record.kind == "sweep" and (record.path / FILE).exists():
        yield from _sweep(read_findings(record.path / FILE))
    if record.kind == "score" and (record.path / "score.json").exists():
        for note in read_score(record.path / "score.json").notes:
            yield "warning", note.text, "", ""


def _sweep(findings: Findings) -> Iterator[NoteParts]:
    failed = [one for one in findings.left if one.failed]
    if failed:
        yield (
            "failed",
            f"{numbers.counted(len(failed), 'combination')} failed: {failed[0].configuration} on {failed[0].dataset} "
            f"({failed[0].reason}){', and others' if len(failed) > 1 else ''}.",
            "They are on no frontier.",
            "The same command tries them again.",
        )
    for text in findings.parts[0].notes:
        yield "warning", text, "", ""


def _golden(record: Record) -> Iterator[NoteParts]:
    golden = read_golden(record.path / "golden.json")
    failed, total = golden.failed, len(golden.queries)
    if failed:
        yield (
            "failed",
            f"{len(failed)} of {numbers.counted(total, 'question')} failed: {failed_list(failed)}.",
            "They are not in the golden set.",
            "The same command tries them again.",
        )
    waiting = [one for one in golden.queries if one.status not in ("done", "failed")]
    if waiting:
        yield (
            "not run",
            f"{len(waiting)} of {numbers.counted(total, 'question')} "
            f"{'is' if len(waiting) == 1 else 'are'} not through all stages.",
            "They are not in the golden set.",
            "The same command continues.",
        )
    for text in golden.notes:
        if not (failed and "questions failed" in text):
            yield "warning", text, "", ""
