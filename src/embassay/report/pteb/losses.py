"""What paraphrasing took from a system: score before, scores of all runs, the drop, at every level of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from embassay.protocols.numbers import POINTS
from embassay.protocols.pteb.analysis.drops import source_of
from embassay.protocols.pteb.summary.layout import CONTROLS
from embassay.records import Result
from embassay.report.board import Board, Row, Value, missing_value
from embassay.report.record import OVERALL, Record
from embassay.report.tasks import Task

ORIGINAL, DELTA, SD, PARAPHRASE = "original", "delta", "sd", "paraphrase:"


@dataclass(frozen=True)
class Loss:
    """One system on one dataset, or over those of a task, or over tasks (`task` None). Values are fractions.

    `original`, `score` and `delta` are of the same items, those with a usable wording; `whole` is the original score of
    all items.

    `runs` are the scores of every run where the level is a dataset; `missing` says why there is no drop.
    """

    row: Row
    task: Task | None
    dataset: str
    original: Result | None
    score: Result | None
    delta: Result | None
    sd: Result | None
    delta_sd: Result | None
    whole: Result | None
    runs: tuple[float, ...]
    missing: Value | None

    @property
    def drop(self) -> float | None:
        """Paraphrased less original; negative when points were lost."""
        return None if self.delta is None else self.delta.value

    @property
    def drop_text(self) -> str:
        """The drop in points, signed."""
        return "" if self.drop is None else POINTS.change(self.drop)

    @property
    def drop_interval(self) -> str:
        """Its 95% interval; empty where there is none."""
        row = self.delta
        if row is None or row.ci_low is None or row.ci_high is None:
            return ""
        return POINTS.interval(row.ci_low, row.ci_high)

    @property
    def spread(self) -> str:
        """`± sd` of the score over runs, empty where one run has none."""
        return _plus_minus(self.sd)

    @property
    def drop_spread(self) -> str:
        """`± sd` of the drop over runs."""
        return _plus_minus(self.delta_sd)

    @property
    def before_all(self) -> str:
        """The original score of all items, where it is printed as another number than that of the items kept."""
        if self.whole is None or self.whole.value is None or self.before.value is None:
            return ""
        text = POINTS.text(self.whole.value)
        return "" if text == POINTS.text(self.before.value) else text

    @property
    def before(self) -> Value:
        """The original score."""
        known = self.original is not None and self.original.value is not None
        return Value("value" if known else "undefined", self.original, unit=POINTS)

    @property
    def after(self) -> Value:
        """The mean score on paraphrases."""
        known = self.score is not None and self.score.value is not None
        if known:
            return Value("value", self.score, unit=POINTS)
        return self.missing or Value("undefined", self.score, unit=POINTS)

    @property
    def change(self) -> Value:
        """The drop, for sorting and CSV."""
        known = self.drop is not None
        return Value("value" if known else "undefined", self.delta, unit=POINTS)


class Losses:
    """All losses of a record, by system, task and dataset."""

    def __init__(self, record: Record, board: Board) -> None:
        self.record, self.board = record, board

    @property
    def rows(self) -> tuple[Row, ...]:
        """The systems, references last."""
        return self.board.rows

    @cached_property
    def _runs(self) -> Mapping[tuple[str, str, str, str], list[float]]:
        """The scores of all runs of a cell, in the order of the rows; those of controls are no part of the score."""
        found: dict[tuple[str, str, str, str], list[float]] = {}
        aside = controls(self.record)
        for (task, dataset, subset, variant, system, measure), row in self.record.rows.items():
            counts = variant.startswith(PARAPHRASE) and source_of(variant) not in aside
            if dataset and not subset and counts and row.value is not None:
                found.setdefault((task, dataset, system, measure), []).append(row.value)
        return found

    def overall(self, row: Row) -> Loss:
        """Over all tasks."""
        return self._loss(row, None, OVERALL, OVERALL, "")

    def on_task(self, row: Row, task: Task) -> Loss:
        """Over the datasets of a task."""
        return self._loss(row, task, task.name, task.headline, "")

    def on_dataset(self, row: Row, task: Task, dataset: str) -> Loss:
        """On one dataset."""
        return self._loss(row, task, task.name, task.headline, dataset)

    def leading(self, row: Row) -> Loss:
        """At the level of the board's leading score."""
        task = next((one for one in self.board.tasks if one.name == self.board.lead), None)
        return self.overall(row) if task is None else self.on_task(row, task)

    def _loss(self, row: Row, task: Task | None, name: str, measure: str, dataset: str) -> Loss:
        find, system = self.record.find, row.system.name
        score = find(name, system, measure, dataset=dataset)
        delta = find(name, system, DELTA, dataset=dataset)
        missing = None
        if delta is None or delta.value is None:
            cells = [
                cell
                for cell in self.record.cells
                if cell.system == system and name in (OVERALL, cell.task) and dataset in ("", cell.dataset)
            ]
            missing = missing_value(self.record, cells, score or delta)
        whole = find(name, system, measure, dataset=dataset, variant=ORIGINAL)
        kept = find(name, system, "original", dataset=dataset)
        return Loss(
            row, task, dataset,
            whole if kept is None or kept.value is None else kept, score, delta,
            find(name, system, SD, dataset=dataset), find(name, system, "delta_sd", dataset=dataset), whole,
            tuple(self._runs.get((name, dataset, system, measure), ())), missing,
        )  # fmt: skip


def _plus_minus(sd: Result | None) -> str:
    return "" if sd is None or sd.value is None else f"± {POINTS.text(sd.value)}"


def controls(record: Record) -> set[str]:
    """The labels of sources that only stand beside the others; none where there are no others."""
    sources = record.manifest.get("paraphrases", {}).get("sources", ())
    labels = {
        one.get("label", "") for one in sources if one.get("paraphraser", "").partition(":")[0] in CONTROLS
    }
    return labels if len(labels) < len(sources) else set()


def only_control(record: Record) -> str:
    """The control that all wordings of the run come from: `permuted` or `copied`; empty where something paraphrased."""
    sources = record.manifest.get("paraphrases", {}).get("sources", ())
    kinds = {one.get("paraphraser", "").partition(":")[0] for one in sources}
    return kinds.pop() if len(kinds) == 1 and kinds <= set(CONTROLS) else ""
