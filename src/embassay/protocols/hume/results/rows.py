"""The record of a run as rows of results, and a run without cells on disk."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from embassay import __version__
from embassay.protocols.hume.published.standings import HUMAN
from embassay.protocols.hume.study import Who
from embassay.protocols.hume.summary.record import Bar, PairRecord, Summary, SystemScore
from embassay.protocols.kernel.outcome import moment
from embassay.protocols.kernel.tables import RunTable, write_tables
from embassay.records import Result
from embassay.runs.files import to_json, write_atomic
from embassay.runs.folder import RunFolder, hardware, versions

PROTOCOL, OVERALL = "hume", "overall"
AGREEMENT = "agreement"
"""The variant of the rows that say how people agree: a coefficient may be called as a measure is."""
_UNDEFINED = "not defined for this family"


def published_rows(summary: Summary) -> Iterator[Result]:
    """All rows of published results, datasets by their names."""
    for pair in summary.pairs:
        rows = _Rows(pair, pair.dataset, summary.seed)
        yield from rows.of_people()
        for one in (*pair.models, *pair.llms):
            yield rows.row(one.system, "", pair.measure, one.score)
    yield from _overall(summary)


def study_rows(summary: Summary) -> Iterator[Result]:
    """The rows of a study besides those of its cells; a pair goes by the name of its task, as cells do."""
    for pair in summary.pairs:
        rows = _Rows(pair, pair.task, summary.seed)
        yield from rows.of_people()
        for one in pair.llms:
            yield rows.row(one.system, "", pair.measure, one.score)
        for one in (*pair.models, *pair.llms):
            yield from rows.beside_people(one)
    yield from _overall(summary)


@dataclass(frozen=True)
class _Rows:
    """The rows of one pair."""

    pair: PairRecord
    dataset: str
    seed: int

    def of_people(self) -> Iterator[Result]:
        """The headline, each annotator and convention, agreement and ceiling."""
        pair, measure = self.pair, self.pair.measure
        yield self.row(HUMAN, "", measure, pair.human)
        for person in pair.annotators:
            said = Bar(value=person.score, n=person.items)
            yield self.row(HUMAN, f"annotator={person.id}", measure, said, {person.kind})
        for name, value in pair.conventions.items():
            yield self.row(HUMAN, f"convention={name}", measure, _bar(value, pair.human.n))
        if pair.agreement:
            yield self.row(HUMAN, AGREEMENT, pair.agreement.coefficient, pair.agreement.value)
            for name, value in pair.agreement.extras.items():
                yield self.row(HUMAN, AGREEMENT, name, _bar(value, pair.agreement.items))
        if pair.ceiling:
            yield self.row(HUMAN, "ceiling", measure, pair.ceiling)

    def beside_people(self, one: SystemScore) -> Iterator[Result]:
        """The score on what people answered, the difference there, and people as gold."""
        measure = self.pair.measure
        if one.difference:
            yield self.row(one.system, "answered_items", measure, one.score)
            yield self.row(one.system, "minus_human", measure, one.difference)
        if one.against_people:
            yield self.row(one.system, "against_people", measure, one.against_people)
        if one.among_people is not None:
            share = Bar(
                value=one.among_people, n=len(self.pair.annotators), method="share of annotators below"
            )
            yield self.row(one.system, "among_people", measure, share)

    def row(
        self, system: str, variant: str, measure: str, bar: Bar, by: Collection[Who] | None = None
    ) -> Result:
        """A value of the pair as a row; `by` are the kinds of annotators behind it, those of the pair by default."""
        pair = self.pair
        kinds = {one.kind for one in pair.annotators} if by is None else set(by)
        method = ", ".join(filter(None, (bar.method, _said_of(kinds) if system == HUMAN else "")))
        return Result(
            PROTOCOL, pair.family, self.dataset, "", pair.lang, variant, system, measure, bar.value, bar.n,
            bar.low, bar.high, method, self.seed, bar.reason if bar.value is None else "",
        )  # fmt: skip


def _said_of(kinds: Collection[Who]) -> str:
    """Whether scripts stand in for people."""
    if "simulated" not in kinds:
        return ""
    return "simulated annotators" if len(kinds) == 1 else "partly simulated annotators"


def _overall(summary: Summary) -> Iterator[Result]:
    """The mean of every system, and of people, over all pairs."""
    for one in summary.places:
        mean = one.mean
        yield Result(
            PROTOCOL, OVERALL, "", "", "", "", one.system, OVERALL, mean.value, mean.n, mean.low, mean.high,
            mean.method, summary.seed, mean.reason if mean.value is None else "",
        )  # fmt: skip


def _bar(value: float | None, n: int) -> Bar:
    return Bar(value=value, n=n, reason="" if value is not None else _UNDEFINED)


def write_finished(
    folder: RunFolder,
    *,
    request: Any,
    command: str,
    rows: Sequence[Result],
    tables: Iterable[RunTable],
    systems: Sequence[dict[str, Any]],
    datasets: Sequence[dict[str, Any]],
    extra: dict[str, Any],
) -> None:
    """Write all but the record of a run that is done in one go; once more writes it anew."""
    write_tables(folder.path, tables)
    folder.write_results(rows)
    write_atomic(folder.path / "comparisons.json", to_json({"scopes": {}}, indent=1) + "\n")
    before, now = folder.read_manifest() or {}, moment()
    folder.write_manifest(
        {
            "embassay": __version__,
            "protocol": "hume",
            "name": folder.path.resolve().name,
            "status": "finished",
            "created": before.get("created", now),
            "updated": now,
            "command": command,
            "arguments": request.as_dict(),
            "tokenizer": {"name": "", "identity": ""},
            "systems": list(systems),
            "datasets": list(datasets),
            "hardware": hardware(),
            "versions": versions(),
            "cells": [],
            "sessions": [*before.get("sessions", ()), {"started": now, "ended": now, "spent": {}}],
            "spent": {"usd": 0.0, "max_usd": None, "systems": {}},
            "problems": {"failed_cells": 0},
            **extra,
        }
    )
