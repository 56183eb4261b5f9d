"""How many runs each dataset gets: as many as asked, and more where a drop is not yet known well enough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from embassay.errors import UsageError
from embassay.protocols.planning import REFERENCES
from embassay.protocols.pteb.plan import PlannedDataset
from embassay.protocols.pteb.request import Request
from embassay.protocols.pteb.sources import Source
from embassay.protocols.pteb.summary.until_ci import more_runs_needed
from embassay.runs.cells import CellRecord


class Growth:
    """The seeds of every source on every dataset so far (`seeds`), and whether there is a round to do (`grows`).

    UsageError where a source has fewer runs than were asked for.
    """

    def __init__(
        self, request: Request, datasets: Sequence[PlannedDataset], sources: Sequence[Source]
    ) -> None:
        self.request, self.sources = request, sources
        self.runs = {dataset.name: request.runs for dataset in datasets}
        self.stopped: dict[str, str] = {}
        self.seeds = self._seeds()
        self.grows = True

    def look_at(self, records: Sequence[CellRecord]) -> None:
        """Give one run more to each dataset that needs it, by the cells of the runs so far."""
        self.grows = False
        if self.request.until_ci is None:
            return
        for dataset, runs in self.runs.items():
            if more_runs_needed(self._drops(dataset, records), self.request.until_ci):
                self._grow(dataset, runs + 1)
        self.seeds = self._seeds()

    def _grow(self, dataset: str, runs: int) -> None:
        if runs > self.request.max_runs:
            self.stopped[dataset] = f"--max-runs {self.request.max_runs} is reached"
            return
        try:
            for source in self.sources:
                source.seeds(dataset, runs, self.request)
        except UsageError as error:
            self.stopped[dataset] = error.message
            return
        self.runs[dataset], self.grows = runs, True

    def _drops(
        self, dataset: str, records: Sequence[CellRecord]
    ) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Paraphrased less original, a row for each task, ranked system and source (no control), a column for each
        run."""
        found: dict[tuple[str, ...], list[float]] = {}
        variants = {
            source.variant(seed): source.label
            for source in self.sources
            if not source.is_control
            for seed in self.seeds[source.name, dataset]
        }
        for record in records:
            if record.dataset != dataset or record.variant not in variants or record.system in REFERENCES:
                continue
            key = (record.task, record.system, variants[record.variant])
            found.setdefault(key, []).append(_drop(record))
        return np.array(list(found.values()), dtype=np.float64).reshape(len(found), self.runs[dataset])

    def _seeds(self) -> dict[tuple[str, str], tuple[int, ...]]:
        return {
            (source.name, dataset): source.seeds(dataset, runs, self.request)
            for source in self.sources
            for dataset, runs in self.runs.items()
        }


def _drop(record: CellRecord) -> float:
    """Of a cell; NaN where it has none."""
    score, original = (record.components.get(name) for name in ("score", "original"))
    if score is None or original is None or score.value is None or original.value is None:
        return float("nan")
    return score.value - original.value
