"""What a threshold is on: a row of a run's results, found by what the threshold names."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from embassay.data.rows import find_nearest_name
from embassay.errors import DataError, UsageError
from embassay.protocols.compare import HasRunFolder, find_run_folder
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.comparisons import read_standings
from embassay.protocols.run_values import is_value_place_selected, iterate_run_time_and_memory_rows
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder, find_run_folders

End = Literal["value", "lower", "upper"]
OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt
}  # fmt: skip
KEYS = ("dataset", "variant", "lang", "subset")
_BAR = re.compile(
    r"^\s*(?P<protocol>[\w-]+)\.(?P<what>[^\[]+)\[(?P<inside>.*)\]\s*(?P<sign>>=|<=|>|<)\s*"
    r"(?P<number>[-+0-9.eE]+)\s*(?:@\s*(?P<end>lower|upper|value))?\s*$"
)
_KEY = re.compile(rf",\s*({'|'.join(KEYS)})\s*=")
_MEND = "Write PROTOCOL.TASK[SYSTEM]>=NUMBER, for example 'sage.overall[minilm]>=0.45@lower'."


@dataclass(frozen=True)
class RequiredResultScore:
    """A row of results, by protocol, task, measure (empty: the task's headline), system and other columns, and what its
    value or an end of its 95% interval must be."""

    protocol: str
    task: str
    measure: str
    system: str
    sign: str
    number: float
    end: End = "value"
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The threshold's text, as it is written."""
        what = f"{self.task}.{self.measure}" if self.measure else self.task
        inside = "".join(f",{key}={value}" for key, value in self.where.items())
        end = "" if self.end == "value" else f"@{self.end}"
        return f"{self.protocol}.{what}[{self.system}{inside}]{self.sign}{self.number:g}{end}"

    def is_met_by(self, value: float) -> bool:
        """Whether a value meets the threshold."""
        return OPERATORS[self.sign](value, self.number)


def parse_score_threshold(text: str) -> RequiredResultScore:
    """Parse a threshold from its text. Raises UsageError where it is none.

    >>> bar = parse_score_threshold("rag.score.RA-nWG@10[bm25, dataset=qrels] >= 0.6@lower")
    >>> bar.task, bar.measure, bar.system, dict(bar.where), bar.number, bar.end
    ('score', 'RA-nWG@10', 'bm25', {'dataset': 'qrels'}, 0.6, 'lower')
    >>> bar.text
    'rag.score.RA-nWG@10[bm25,dataset=qrels]>=0.6@lower'
    """
    found = _BAR.match(text)
    if found is None:
        raise UsageError(f"{text!r} is not a threshold.", mend=_MEND)
    try:
        number = float(found["number"])
    except ValueError:
        raise UsageError(f"{found['number']!r} in {text!r} is not a number.", mend=_MEND) from None
    task, _, measure = found["what"].strip().partition(".")
    system, *rest = _KEY.split(found["inside"])
    if not task or not system.strip():
        raise UsageError(f"{text!r} does not name a {'system' if task else 'task'}.", mend=_MEND)
    where = {key: value.strip() for key, value in zip(rest[::2], rest[1::2], strict=True)}
    end: End = found["end"] or "value"  # type: ignore[assignment]
    return RequiredResultScore(found["protocol"], task, measure, system.strip(), found["sign"], number, end, where)


@dataclass(frozen=True)
class ResultsForThresholds:
    """Results of runs, and the headline measure of each protocol's tasks."""

    results: tuple[ResultRow, ...]
    headlines: frozenset[tuple[str, str, str]]

    def is_headline_row(self, row: ResultRow) -> bool:
        """Whether a threshold that names no measure is on this one."""
        return (row.protocol, row.task, row.measure) in self.headlines or row.measure == row.task

    def find(self, bar: RequiredResultScore) -> ResultRow:
        """Find the row that a threshold means. Raises UsageError where there is none, or more than one."""
        rows: Sequence[ResultRow] = self.results
        for column in ("protocol", "task", "system"):
            rows = _select_rows_by_column(rows, column, getattr(bar, column), bar)
        rows = (
            _select_rows_by_column(rows, "measure", bar.measure, bar)
            if bar.measure
            else self._select_headline_rows(rows, bar)
        )
        for column in KEYS:
            rows = _select_rows_for_threshold_column(rows, column, bar)
        if len(rows) > 1:
            raise UsageError(f"{bar.text} matches {len(rows)} rows.", mend="Add dataset, variant, subset or lang.")
        self._check_threshold_not_in_points(bar, rows[0])
        return rows[0]

    def _check_threshold_not_in_points(self, bar: RequiredResultScore, row: ResultRow) -> None:
        """UsageError for a bar in points, as tables show them, on a headline that counts from 0 to 1."""
        is_headline = (bar.protocol, bar.task, row.measure) in self.headlines
        if (
            is_headline
            and numbers.choose_measure_format_of_protocol(bar.protocol) is numbers.POINTS
            and abs(bar.number) > 1
        ):
            raise UsageError(
                f"{bar.text}: no score can reach {bar.number:g}. Thresholds are between 0 and 1; tables show points.",
                mend=f"Write {bar.number / 100:g}.",
            )

    def _select_headline_rows(self, rows: Sequence[ResultRow], bar: RequiredResultScore) -> Sequence[ResultRow]:
        measures = list(dict.fromkeys(row.measure for row in rows if not row.variant))
        chosen = list(dict.fromkeys(row.measure for row in rows if self.is_headline_row(row))) or measures
        if len(chosen) != 1:
            some = ", ".join(chosen[:8])
            raise UsageError(
                f"{bar.text} names no measure, and the task has {len(chosen)}.",
                mend=f"Write {bar.protocol}.{bar.task}.MEASURE[...] with one of {some}.",
            )
        return [row for row in rows if row.measure == chosen[0]]


def read_results_for_thresholds(folder: Path) -> ResultsForThresholds:
    """The rows of the run in a folder, or of all runs below it. Raises DataError where there is none."""
    runs = list(find_run_folders(folder))
    if not runs:
        raise DataError(
            "There is no run here", path=folder, mend="Give the folder of a run, or a folder that contains runs."
        )
    results: list[ResultRow] = []
    headlines = set()
    for path in runs:
        run = RunFolder(path)
        manifest = run.read_manifest() or {}
        protocol = str(manifest.get("protocol", ""))
        results += [*run.read_results(), *iterate_run_time_and_memory_rows(manifest)]
        headlines |= {(protocol, standing.task, standing.measure) for standing in read_standings(path)}
    return ResultsForThresholds(tuple(results), frozenset(headlines))


def _select_rows_by_column(
    rows: Sequence[ResultRow], column: str, value: str, bar: RequiredResultScore
) -> Sequence[ResultRow]:
    found = [row for row in rows if getattr(row, column) == value]
    if found:
        return found
    known = list(dict.fromkeys(str(getattr(row, column)) for row in rows))
    near = find_nearest_name(value, known)
    raise UsageError(
        f"{bar.text}: no result has the {column} {value!r}.",
        mend=f"Did you mean {near!r}?" if near else f"Available: {', '.join(map(repr, known[:8]))}.",
    )


def _select_rows_for_threshold_column(
    rows: Sequence[ResultRow], column: str, bar: RequiredResultScore
) -> Sequence[ResultRow]:
    """By what the bar says; else the rows over all, where there are any; a single value needs no naming."""
    # What a threshold does not say is over all, or the only one.
    if column in bar.where:
        return _select_rows_by_column(rows, column, bar.where[column], bar)
    values = list(dict.fromkeys(getattr(row, column) for row in rows))
    if "" in values:
        return [row for row in rows if getattr(row, column) == ""]
    if len(values) > 1:
        raise UsageError(
            f"{bar.text} does not say which {column}.",
            mend=f"Add `, {column}=NAME` inside the brackets; available: {', '.join(values[:8])}.",
        )
    return rows


def list_threshold_scores(
    run: str | Path | HasRunFolder,
    *,
    systems: Sequence[str] = (),
    tasks: Sequence[str] = (),
    measures: Sequence[str] = (),
) -> tuple[tuple[str, ResultRow], ...]:
    """What a threshold can be on: the name of each score over all data, as a threshold begins, and the score. Headlines
    alone, unless `tasks` or `measures` are given; `systems` keeps these alone. What has no value is left out.

    DataError for a folder without a run.
    """
    rows = read_results_for_thresholds(find_run_folder(run))
    asked = [
        row
        for row in rows.results
        if (not systems or row.system in systems)
        and is_value_place_selected((row.task, row.dataset, row.measure), tasks, measures)
    ]
    if not (tasks or measures):
        # A run of one task may have no headline: then all that is over everything.
        plain = [row for row in asked if not (row.variant or row.subset)]
        asked = [row for row in plain if rows.is_headline_row(row)] or plain
    # Of each task what is over all its datasets, or over each where nothing is.
    whole = {(row.protocol, row.task) for row in asked if not row.dataset}
    kept = (row for row in asked if not row.dataset or (row.protocol, row.task) not in whole)
    return tuple((_format_score_as_threshold_start(row, rows), row) for row in kept if row.value is not None)


def _format_score_as_threshold_start(row: ResultRow, rows: ResultsForThresholds) -> str:
    where = {key: getattr(row, key) for key in KEYS if getattr(row, key)}
    measure = "" if rows.is_headline_row(row) else row.measure
    return RequiredResultScore(row.protocol, row.task, measure, row.system, "", 0, where=where).text.removesuffix("0")
