"""What the tables are made of: the rows of a run, looked up by what identifies them, and what rows do not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from embassay.contracts import Kind
from embassay.protocols.pteb.analysis import DatasetUsed, LengthBin, WordCount, datasets_used
from embassay.protocols.pteb.analysis.drops import HEADLINES, is_run, source_of
from embassay.protocols.pteb.analysis.language import BOTH, ENGLISH, OTHER, group_of
from embassay.protocols.pteb.summary.layout import CONTROLS
from embassay.records import Result

ORIGINAL = "original"
POINTS = 100
"""Scores are shown in points: 0.7543 is 75.43."""


@dataclass(frozen=True)
class Given:
    """The rows of a run and its comparisons; `kinds` are the systems in display order. `words` is table 1, `lengths`
    the drop by length of (task, dataset, system), `seconds` how long a system took for a run of the STS datasets and
    `peaks` the bytes its process held at most; each may be missing."""

    rows: Sequence[Result]
    kinds: Mapping[str, Kind]
    comparisons: Mapping[str, Any] = field(default_factory=dict)
    words: Sequence[WordCount] = ()
    lengths: Mapping[tuple[str, str, str], Sequence[LengthBin]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    peaks: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def _values(self) -> dict[tuple[str, ...], Result]:
        return {
            (row.task, row.dataset, row.variant, row.system, row.measure, row.subset): row
            for row in self.rows
        }

    @cached_property
    def datasets(self) -> tuple[DatasetUsed, ...]:
        """The datasets of the run by task."""
        return datasets_used(self.rows)

    @property
    def tasks(self) -> list[str]:
        """The tasks of the run."""
        return list(dict.fromkeys(one.task for one in self.datasets))

    def find(
        self, task: str, dataset: str, system: str, measure: str, variant: str = "", *, lang: str = ""
    ) -> Result | None:
        """A row over all languages of its dataset, or of one of several."""
        return self._values.get((task, dataset, variant, system, measure, lang))

    def points(
        self, task: str, dataset: str, system: str, measure: str, variant: str = "", *, lang: str = ""
    ) -> float | None:
        """Its value in points, None where there is no row or no value."""
        row = self.find(task, dataset, system, measure, variant, lang=lang)
        return None if row is None else points(row.value)

    def runs(self, used: DatasetUsed, system: str, lang: str, measure: str = "") -> dict[str, list[float]]:
        """The scores of the runs, or their values of another measure, by source, controls beside others left out; of a
        source without a score of some run only those that are there."""
        rows = self._runs.get((used.task, used.dataset, system, measure or used.measure, lang), [])
        own = [one for one in rows if not is_control(one[0])] or rows
        found: dict[str, list[float]] = {}
        for variant, value in own:
            found.setdefault(source_of(variant), []).append(value)
        return found

    @cached_property
    def _runs(self) -> dict[tuple[str, ...], list[tuple[str, float]]]:
        found: dict[tuple[str, ...], list[tuple[str, float]]] = {}
        for row in self.rows:
            if is_run(row.variant) and row.value is not None:
                key = (row.task, row.dataset, row.system, row.measure, row.subset)
                found.setdefault(key, []).append((row.variant, row.value))
        return found

    @property
    def labels(self) -> list[str]:
        """The labels of the sources where there are several: `by=NAME`, `prompt=NAME`."""
        return list(
            dict.fromkeys(row.variant for row in self.rows if row.variant.startswith(("by=", "prompt=")))
        )

    def systems(self) -> Iterator[tuple[Kind, str]]:
        """Kind and name of every system, in display order."""
        return ((kind, name) for name, kind in self.kinds.items())


def is_control(variant: str) -> bool:
    """Whether a variant is that of a control among several sources."""
    return source_of(variant).startswith(tuple(f"by={name}" for name in CONTROLS))


def is_multilingual(used: DatasetUsed) -> bool:
    """Whether a dataset has texts in another language than English."""
    return any(group_of(lang) in (OTHER, BOTH) for lang in used.languages)


def english_part(used: DatasetUsed) -> str | None:
    """The language (`eng`, `en-en`) of a dataset's English part; empty for all of it, None where it has none."""
    if not is_multilingual(used):
        return ""
    return next((lang for lang in used.languages if group_of(lang) == ENGLISH), None)


def headline(task: str) -> str:
    """The measure of a task's score."""
    return HEADLINES.get(task, task)


def points(value: float | None) -> float | None:
    """A fraction in points."""
    return None if value is None else POINTS * value


def mean(values: Sequence[float | None]) -> float | None:
    """The plain mean; None if any is missing or there are none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
