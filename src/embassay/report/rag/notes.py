"""What to know before trusting a golden set or a scoring; kind, what, consequence and mend of each note."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.protocols import numbers
from embassay.protocols.rag.golden.summary import read_golden
from embassay.protocols.rag.scoring.record import read_score
from embassay.protocols.rag.sweep.findings.record import FILE, Findings, read_findings
from embassay.report.rag.words import failed_list
from embassay.report.record import Record

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
