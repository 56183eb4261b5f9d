"""Bars: how one is written, which score of a run it means, and what a verdict on it says."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from embassay.data.rows import nearest
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.comparisons import read_standings
from embassay.protocols.kernel.tables import counted
from embassay.records import Result
from embassay.runs.folder import RunFolder

End = Literal["value", "lower", "upper"]
OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt
}  # fmt: skip
KEYS = ("dataset", "variant", "lang", "subset")
_BAR = re.compile(
    r"^\s*(?P<protocol>[a-z]+)\.(?P<what>[^\[\]]+)\[(?P<inside>[^\[\]]*)\]\s*(?P<sign>>=|<=|>|<)\s*"
    r"(?P<number>[-+0-9.eE]+)\s*(?:@\s*(?P<end>lower|upper|value))?\s*$"
)
_KEY = re.compile(rf",\s*({'|'.join(KEYS)})\s*=")
_MEND = "Write PROTOCOL.TASK[SYSTEM]>=NUMBER, for example 'sage.overall[minilm]>=0.45@lower'."


@dataclass(frozen=True)
class Bar:
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
        """As it is written."""
        what = f"{self.task}.{self.measure}" if self.measure else self.task
        inside = "".join(f",{key}={value}" for key, value in self.where.items())
        end = "" if self.end == "value" else f"@{self.end}"
        return f"{self.protocol}.{what}[{self.system}{inside}]{self.sign}{self.number:g}{end}"

    def met(self, value: float) -> bool:
        """Whether a value clears it."""
        return OPERATORS[self.sign](value, self.number)


@dataclass(frozen=True)
class Verdict:
    """A bar, the value that was held against it with its interval, and whether it was met: None where there was no
    value, or no interval, to hold against it.

    `near` says that the bar lies inside the interval: another sample could have said otherwise. `reason` is filled
    where it was missed or not tested.
    """

    bar: str
    met: bool | None
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    near: bool = False
    reason: str = ""
    scale: str = ""
    """The protocol, by which numbers are printed."""
    is_change: bool = False
    """Whether the value is a difference to another run."""
    unpaired: str = ""
    """Why its test could not pair the items of the two runs, and sees less; empty where it did."""
    stops: bool = False
    """Whether the gate stops for it: missed; or not tested where it had to be, for a bar of its own, for a score that
    is gone, and for a fall that no interval can be held against."""


def summary(verdicts: Sequence[Verdict]) -> str:
    """How it went; what was not tested counts for neither side.

    >>> one = [Verdict("a", met, None) for met in (True, True, None)]
    >>> summary(one), summary(one[:2]), summary(one[2:])
    ('2 of 3 bars are met; 1 is not tested', 'All 2 bars are met', 'No bar is tested')
    """
    every, met = len(verdicts), sum(one.met is True for one in verdicts)
    missed, untested = (sum(one.met is state for one in verdicts) for state in (False, None))
    if untested == every:
        return "No bar is tested"
    rest = f"; {untested} {'is' if untested == 1 else 'are'} not tested" if untested else ""
    if missed:
        return f"{missed} of {counted(every, 'bar')} missed{rest}"
    if rest:
        return f"{met} of {counted(every, 'bar')} {'is' if met == 1 else 'are'} met{rest}"
    return "The bar is met" if every == 1 else f"All {counted(every, 'bar')} are met"


def read_bar(text: str) -> Bar:
    """A bar from its text. Raises UsageError where it is none.

    >>> bar = read_bar("rag.score.RA-nWG@10[bm25, dataset=qrels] >= 0.6@lower")
    >>> bar.task, bar.measure, bar.system, dict(bar.where), bar.number, bar.end
    ('score', 'RA-nWG@10', 'bm25', {'dataset': 'qrels'}, 0.6, 'lower')
    >>> bar.text
    'rag.score.RA-nWG@10[bm25,dataset=qrels]>=0.6@lower'
    """
    found = _BAR.match(text)
    if found is None:
        raise UsageError(f"{text!r} is no bar.", mend=_MEND)
    try:
        number = float(found["number"])
    except ValueError:
        raise UsageError(f"{found['number']!r} in {text!r} is no number.", mend=_MEND) from None
    task, _, measure = found["what"].strip().partition(".")
    system, *rest = _KEY.split(found["inside"])
    if not task or not system.strip():
        raise UsageError(f"{text!r} names no {'system' if task else 'task'}.", mend=_MEND)
    where = {key: value.strip() for key, value in zip(rest[::2], rest[1::2], strict=True)}
    end: End = found["end"] or "value"  # type: ignore[assignment]
    return Bar(found["protocol"], task, measure, system.strip(), found["sign"], number, end, where)


@dataclass(frozen=True)
class Rows:
    """Results of runs, and the headline measure of each protocol's tasks."""

    results: tuple[Result, ...]
    headlines: frozenset[tuple[str, str, str]]

    def find(self, bar: Bar) -> Result:
        """The row that a bar means. Raises UsageError where there is none, or more than one."""
        rows: Sequence[Result] = self.results
        for column in ("protocol", "task", "system"):
            rows = _having(rows, column, getattr(bar, column), bar)
        rows = _having(rows, "measure", bar.measure, bar) if bar.measure else self._headline(rows, bar)
        for column in KEYS:
            rows = _narrowed(rows, column, bar)
        if len(rows) > 1:
            raise UsageError(
                f"{bar.text} means {len(rows)} rows.", mend="Name more of dataset, variant, subset, lang."
            )
        return rows[0]

    def _headline(self, rows: Sequence[Result], bar: Bar) -> Sequence[Result]:
        measures = list(dict.fromkeys(row.measure for row in rows if not row.variant))
        known = [
            one for one in measures if (bar.protocol, bar.task, one) in self.headlines or one == bar.task
        ]
        chosen = known or measures
        if len(chosen) != 1:
            some = ", ".join(chosen[:8])
            raise UsageError(
                f"{bar.text} names no measure, and the task has {len(chosen)}.",
                mend=f"Write {bar.protocol}.{bar.task}.MEASURE[...]; there are {some}.",
            )
        return [row for row in rows if row.measure == chosen[0]]


def read_rows(folder: Path) -> Rows:
    """The rows of the run in a folder, or of the runs one level below it. Raises DataError where there is none."""
    runs = [path for path in (folder, *_below(folder)) if (path / "manifest.json").is_file()]
    if not runs:
        raise DataError(
            "There is no run here", path=folder, mend="Give the folder of a run, or one that holds runs."
        )
    results: list[Result] = []
    headlines = set()
    for path in runs:
        run = RunFolder(path)
        protocol = str((run.read_manifest() or {}).get("protocol", ""))
        results += run.read_results()
        headlines |= {(protocol, one.task, one.measure) for one in read_standings(path)}
    return Rows(tuple(results), frozenset(headlines))


def _below(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ()


def _having(rows: Sequence[Result], column: str, value: str, bar: Bar) -> Sequence[Result]:
    found = [row for row in rows if getattr(row, column) == value]
    if found:
        return found
    known = list(dict.fromkeys(str(getattr(row, column)) for row in rows))
    near = nearest(value, known)
    raise UsageError(
        f"{bar.text}: no result has the {column} {value!r}.",
        mend=f"Did you mean {near!r}?" if near else f"There are {', '.join(map(repr, known[:8]))}.",
    )


def _narrowed(rows: Sequence[Result], column: str, bar: Bar) -> Sequence[Result]:
    """By what the bar says; else the rows over all, where there are any; a single value needs no naming."""
    if column in bar.where:
        return _having(rows, column, bar.where[column], bar)
    values = list(dict.fromkeys(getattr(row, column) for row in rows))
    if "" in values:
        return [row for row in rows if getattr(row, column) == ""]
    if len(values) > 1:
        raise UsageError(
            f"{bar.text} does not say which {column}.",
            mend=f"Add , {column}=NAME inside the brackets; there are {', '.join(values[:8])}.",
        )
    return rows
