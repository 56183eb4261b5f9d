"""The datasets of a probe, its systems, and its rows: what both pages look things up with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from embassay.records import Result
from embassay.report.names import labels
from embassay.report.record import Record, System

LANGUAGES = {"en": "English", "fr": "French"}


@dataclass(frozen=True)
class Where:
    """A record of a probe, by system and dataset."""

    record: Record

    @cached_property
    def task(self) -> str:
        return self.record.kind

    @cached_property
    def datasets(self) -> tuple[tuple[str, str], ...]:
        """Name and language of each dataset that has rows, in the order of the run."""
        langs = {row.dataset: row.lang for row in self.record.rows.values()}
        return tuple((name, langs[name]) for name in self.record.datasets(self.task) if name in langs)

    @cached_property
    def systems(self) -> tuple[System, ...]:
        return self.record.systems

    @cached_property
    def labels(self) -> dict[str, str]:
        """System -> what it is called where there is little room."""
        return labels([one.name for one in self.record.systems])

    def said(self, dataset: str, lang: str) -> str:
        """What a dataset is called: by its language where that tells it apart."""
        bare = {name: name.rpartition("-")[0] for name, _ in self.datasets if name.endswith(f"-{lang}")}
        return LANGUAGES.get(lang, lang) if bare.get(dataset) in ("bundled", "own") else dataset

    def each(self) -> Iterator[tuple[str, str, System]]:
        """Dataset, what it is called, and system: all that has a headline row."""
        for dataset, lang in self.datasets:
            for system in self.systems:
                if any(key[1] == dataset and key[4] == system.name for key in self._keys):
                    yield dataset, self.said(dataset, lang), system

    @cached_property
    def rewriters(self) -> tuple[str, ...]:
        """The rewriters of a noise probe, in order."""
        found = (key[3].partition(":")[2] for key in self.record.rows if key[3].startswith("level="))
        return tuple(dict.fromkeys(one for one in found if one))

    def find(self, dataset: str, system: str, variant: str, measure: str) -> Result | None:
        """The row, or None."""
        return self.record.find(self.task, system, measure, dataset=dataset, variant=variant)

    def value(self, dataset: str, system: str, variant: str, measure: str) -> float | None:
        """Its value, or None."""
        row = self.find(dataset, system, variant, measure)
        return None if row is None else row.value

    @cached_property
    def _keys(self) -> tuple[tuple[str, ...], ...]:
        return tuple(key for key, row in self.record.rows.items() if row.value is not None)
