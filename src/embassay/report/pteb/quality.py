"""What the paraphrases are like: how far from the text, how many copies and failures, by source and dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from embassay.protocols import numbers
from embassay.protocols.pteb.analysis.drops import source_of
from embassay.records import Result
from embassay.report.record import Record

TASK = "paraphrases"
REJECTED = "rejected:"
SHARES = {"copied": "Copies", "failed": "Not usable"}


@dataclass(frozen=True)
class Figure:
    """A mean over runs as text, with the least and the most of one run; `exact` is for sorting."""

    text: str
    span: str = ""
    exact: float | None = None


@dataclass(frozen=True)
class Quality:
    """The paraphrases of one dataset by one source; `rejected` says why answers were not taken, most frequent first."""

    dataset: str
    source: str
    paraphraser: str
    texts: int
    runs: int
    figures: tuple[Figure, ...]
    rejected: str


HEADINGS = ("Edit distance", "Length ratio", "Copies", "Not usable", "Retries per text")
_MEASURES = ("edit_distance", "length_ratio", "copied", "failed", "retries")


def qualities(record: Record) -> tuple[Quality, ...]:
    """A line per dataset and source."""
    found: dict[tuple[str, str, str], dict[str, list[Result]]] = {}
    for (task, dataset, subset, variant, system, measure), row in record.rows.items():
        if task == TASK and not subset and row.value is not None:
            of = found.setdefault((dataset, source_of(variant), system), {})
            of.setdefault(measure, []).append(row)
    return tuple(_quality(*key, measures) for key, measures in found.items())


def outcome_lines(record: Record) -> tuple[tuple[str, str], ...]:
    """Of each source, how many texts came to what, over all datasets and runs."""
    lines = []
    for source in record.manifest.get("paraphrases", {}).get("sources", ()):
        counts: dict[str, int] = {}
        for runs in source.get("outcomes", {}).values():
            for outcomes in runs.values():
                for name, count in outcomes.items():
                    counts[name] = counts.get(name, 0) + count
        ordered = sorted(counts.items(), key=lambda one: -one[1])
        told = ", ".join(f"{numbers.count(count)} {name}" for name, count in ordered)
        if told:
            lines.append((source["name"], told))
    return tuple(lines)


def _quality(dataset: str, source: str, system: str, measures: Mapping[str, Sequence[Result]]) -> Quality:
    rows = next(iter(measures.values()))
    rejected = {
        name.removeprefix(REJECTED): fmean(row.value or 0.0 for row in found)
        for name, found in measures.items()
        if name.startswith(REJECTED)
    }
    often = sorted(((share, name) for name, share in rejected.items() if share), reverse=True)
    return Quality(
        dataset, source, system, max(row.n for row in rows), len(rows),
        tuple(_figure(name, measures.get(name, ())) for name in _MEASURES),
        ", ".join(f"{name} {numbers.percent(share, 1)}" for share, name in often),
    )  # fmt: skip


def _figure(name: str, rows: Sequence[Result]) -> Figure:
    if not rows:
        return Figure(numbers.NONE)
    values = [row.value or 0.0 for row in rows]
    printed = [_printed(name, value) for value in (fmean(values), min(values), max(values))]
    span = f"{printed[1]}–{printed[2]}" if printed[1] != printed[2] else ""
    return Figure(printed[0], span, fmean(values))


def _printed(name: str, value: float) -> str:
    return numbers.percent(value, 1) if name in SHARES else numbers.score(value, 2)
