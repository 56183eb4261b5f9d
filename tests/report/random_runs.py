"""Random runs of every protocol that ranks systems on a board: what was measured is drawn here, with ties, missing
values, failed cells, references and few items; tests and ranks are made by the real functions.

Each comes with the tables that its claims are held against, made from the drawn values and not from the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from claims import Tables, Tested
from embassay.protocols.kernel.comparisons import SystemHeadlineValue, compare_headlines_of_all_systems
from embassay.records import ResultRow
from embassay.report.board import build_record_board
from embassay.report.record import (
    PairedComparison,
    RunCellStatus,
    RunRecord,
    SystemOfRun,
    TaskSystemComparisons,
    index_rows_by_key,
)
from embassay.report.runs import ReportRun

NAMES = ("alder", "birch", "cedar", "dogwood")
REFERENCES = ("constant", "random")
RESAMPLES = 40
UNREFERRED = ("answer", "judge")
"""Kinds of runs without references."""
TASKS: Mapping[str, Mapping[str, str]] = {
    "sage": {
        "preference": "human_preference", "robustness": "robustness", "sensitivity": "sensitivity",
        "clustering": "v_measure", "retrieval": "retention",
    },
    "pteb": {"sts": "spearman", "classification": "accuracy", "retrieval": "ndcg@10"},
    "hteb": {"sts": "spearman", "classification": "accuracy"},
    "original": {"sts": "spearman", "retrieval": "ndcg@10"},
    "calibration": {"pairs": "skill"},
    "other": {"naming": "accuracy", "sorting": "tau"},
    "answer": {"answer": "accuracy"},
    "judge": {"judge": "spearman"},
}  # fmt: skip


@dataclass
class Drawn:
    """A run of a kind, drawn by its seed: values by task and system, None where it has none; their replicates."""

    kind: str
    seed: int
    most: int = 4
    rows: list[ResultRow] = field(default_factory=list)
    compared: dict[str, Any] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.seed, 43])
        self.names = NAMES[: int(self.rng.integers(1, self.most + 1))]
        self.kinds = {
            **{name: str(self.rng.choice(["embedding", "classical"])) for name in self.names},
            **{name: "reference" for name in REFERENCES if self.rng.random() < 0.6 and self.kind not in UNREFERRED},
        }
        of = TASKS[self.kind]
        # SAGE's overall score needs all its tasks, so half of its runs have them.
        some = self.rng.random(len(of)) < (0.9 if self.rng.random() < 0.5 else 0.5)
        self.tasks = {task: of[task] for task, is_in in zip(of, some, strict=True) if is_in} or dict(of)
        self.items = int(self.rng.choice([3, 8, 40, 200]))
        self.datasets = ("sea", "river")[: int(self.rng.integers(1, 3))]
        self.headlines = {task: self._headlines(task) for task in self.tasks}
        if self.has_overall:
            self.headlines["overall"] = self._overall()
        self._write()

    @property
    def has_overall(self) -> bool:
        """Whether the tasks are enough for a score over them."""
        least = {"sage": 5, "calibration": 9, "answer": 9, "judge": 9}.get(self.kind, 2)
        return len(self.tasks) >= least

    @property
    def ranked(self) -> list[str]:
        """All systems but the references."""
        return [name for name, kind in self.kinds.items() if kind != "reference"]

    def _headlines(self, task: str) -> dict[str, SystemHeadlineValue]:
        """Values with ties where they are rounded; resamples that hardly or never vary, or none at all."""
        decimals, error = int(self.rng.integers(1, 5)), float(self.rng.choice([0.0, 0.002, 0.05, 0.3]))
        bare = self.rng.random() < 0.1
        shared = self.rng.normal(size=RESAMPLES)
        made = {}
        for name in self.kinds:
            if self.rng.random() < 0.12:
                made[name] = SystemHeadlineValue.none(name, "out of memory")
                continue
            value = round(float(np.clip(self.rng.normal(0.5, 0.2), 0, 1)), decimals)
            own = self.rng.normal(size=RESAMPLES) if self.rng.random() < 0.8 else 0.0
            draws = np.empty(0) if bare else value + error * (shared + own)
            made[name] = SystemHeadlineValue(name, value, self.items, draws, "bootstrap")
        return made

    def _overall(self) -> dict[str, SystemHeadlineValue]:
        made = {}
        for name in self.kinds:
            parts = [self.headlines[task][name] for task in self.tasks]
            if any(part.value is None for part in parts):
                made[name] = SystemHeadlineValue.none(name, "a task is missing")
                continue
            lengths = {len(part.replicates) for part in parts}
            draws = np.mean([part.replicates for part in parts], axis=0) if lengths == {RESAMPLES} else np.empty(0)
            value = float(np.mean([part.value for part in parts]))
            made[name] = SystemHeadlineValue(name, value, len(parts), draws, "mean")
        return made

    def _write(self) -> None:
        for task, headlines in self.headlines.items():
            measure = self.tasks.get(task, task)
            for name, headline in headlines.items():
                low, high = headline.interval
                for dataset in ("", *(self.datasets if task in self.tasks else ())):
                    self.row(task, name, measure, headline.value, low, high, dataset=dataset)

    def row(
        self, task: str, system: str, measure: str, value: float | None, low: float | None = None,
        high: float | None = None, *, dataset: str = "", variant: str = "", subset: str = "", n: int | None = None,
    ) -> None:  # fmt: skip
        """A row of the results."""
        reason = "" if value is not None else "out of memory"
        self.rows.append(
            ResultRow(
                self.kind, task, dataset, subset, "en", variant, system, measure, value,
                self.items if n is None else n, low, high, "bootstrap", 1, reason,
            )
        )  # fmt: skip

    @cached_property
    def scopes(self) -> dict[str, dict[str, Any]]:
        """The comparisons of those that are ranked, as comparisons.json has them."""
        return {
            task: compare_headlines_of_all_systems(
                [headline for name, headline in headlines.items() if name in self.ranked]
            )
            for task, headlines in self.headlines.items()
        }

    def run(self) -> ReportRun:
        """The run as a report reads it."""
        cells = [
            RunCellStatus(task, dataset, name, "failed" if headline.value is None else "done", headline.reason)
            for task in self.tasks
            for dataset in self.datasets
            for name, headline in self.headlines[task].items()
        ]
        manifest = {
            "protocol": self.kind, "status": "finished", "command": "embassay run",
            "systems": [{"name": name, "kind": kind} for name, kind in self.kinds.items()],
            "datasets": [{"name": name, "tasks": self._counted()} for name in self.datasets],
            "arguments": {"options": {}}, **self.manifest,
        }  # fmt: skip
        systems = tuple(SystemOfRun(i, name, kind) for i, (name, kind) in enumerate(self.kinds.items()))  # type: ignore[arg-type]
        record = RunRecord(
            Path("made"), manifest, systems, tuple(cells), index_rows_by_key(self.rows),
            {name: _scope(name, scope) for name, scope in self.scopes.items()}, compared=self.compared,
        )  # fmt: skip
        return ReportRun(record, build_record_board(record))

    def _counted(self) -> dict[str, dict[str, int]]:
        return {task: {"n": self.items} for task in self.tasks}

    def tables(self, **more: Any) -> Tables:
        """Values, tests and the best references, by task."""
        values = {task: self._values(task, self.ranked) for task in self.headlines}
        floors = {task: max(known.values()) for task in self.headlines if (known := self._values(task, [*REFERENCES]))}
        pairs = {task: list(tests_of(scope)) for task, scope in self.scopes.items()}
        intervals = {
            task: {name: headlines[name].interval for name in values[task]}
            for task, headlines in self.headlines.items()
        }
        done = sum(headline.value is not None for task in self.tasks for headline in self.headlines[task].values())
        cells = (done * len(self.datasets), len(self.tasks) * len(self.kinds) * len(self.datasets))
        given = {
            "values": values, "floors": floors, "pairs": pairs, "intervals": intervals,
            "counts": {"finished": cells},
        }  # fmt: skip
        for name, extra in more.items():
            given[name] = {**given[name], **extra} if name in given else extra
        return Tables(**given)

    def _values(self, task: str, names: Sequence[str]) -> dict[str, float]:
        known = {name: self.headlines[task][name].value for name in names if name in self.headlines[task]}
        return {name: value for name, value in known.items() if value is not None}


def _scope(name: str, plain: Mapping[str, Any]) -> TaskSystemComparisons:
    ranges = dict(zip(plain["systems"], zip(plain["rank_low"], plain["rank_high"], strict=True), strict=False))
    pairs = tuple(PairedComparison(**pair) for pair in plain["pairs"])
    return TaskSystemComparisons(
        name, tuple(plain["systems"]), ranges, frozenset(plain["best"]), pairs, plain["reason"]
    )


def tests_of(plain: Mapping[str, Any]) -> Iterator[Tested]:
    """The rows of a table of pairs."""
    for pair in plain["pairs"]:
        yield Tested(pair["a"], pair["b"], pair["difference"], pair["ci_low"], pair["ci_high"], pair["p_adjusted"])


def ends_of(rng: np.random.Generator, value: float) -> tuple[float | None, float | None]:
    """An interval that holds a value, wide or narrow, or none."""
    if rng.random() < 0.15:
        return None, None
    half = float(rng.choice([0.0, 0.005, 0.03, 0.2]))
    return value - half * float(rng.uniform(0.3, 1)), value + half * float(rng.uniform(0.3, 1))
