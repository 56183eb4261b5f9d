"""What paraphrasing took from a system, at every level of a run, and what to know before trusting a drop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import POINTS
from embassay.protocols.pteb.analysis.drops import source_of
from embassay.protocols.pteb.paraphrasing.records import USABLE
from embassay.protocols.pteb.summary.runs import CONTROLS
from embassay.records import Result
from embassay.report.board import Board, Row, Task, Value, missing_value
from embassay.report.record import OVERALL, Record

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


Found = tuple[str, str, str, str]
"""Kind, what happened, what follows, what helps."""
COPIES = 0.01


def pteb_notes(record: Record) -> Iterator[Found]:
    """All of them, the gravest first."""
    yield from _control(record)
    yield from _without_score(record)
    yield from _outcomes(record)
    yield from _other_data(record)
    yield from _stopped(record)
    yield from _until_ci(record)
    yield from _few_runs(record)


def outcomes(record: Record) -> Counter[str]:
    """How many paraphrases came to what, over sources (but controls), datasets and runs."""
    counts: Counter[str] = Counter()
    aside = controls(record)
    sources = record.manifest.get("paraphrases", {}).get("sources", ())
    for source in (one for one in sources if one.get("label", "") not in aside):
        for runs in source.get("outcomes", {}).values():
            for found in runs.values():
                counts.update(found)
    return counts


def _control(record: Record) -> Iterator[Found]:
    """Nobody paraphrased."""
    if found := only_control(record):
        how = {"permuted": "stand in another order", "copied": "are as they were"}[found]
        yield (
            "control",
            f"No text was paraphrased: the words of every text {how} (the control {found}).",
            "Drops say how much a score owes to word order, and nothing about paraphrases."
            if found == "permuted"
            else "Drops are 0 but for texts that were left out.",
            "Paraphrase with a language model: -p ollama:gemma3:27b.",
        )


def _without_score(record: Record) -> Iterator[Found]:
    """Cells that were done and have no score, by reason."""
    found: dict[tuple[str, str], set[str]] = {}
    for (task, dataset, subset, variant, system, measure), row in record.rows.items():
        headline = variant.startswith(PARAPHRASE) and measure not in ("delta", "original")
        ranked = system in record.by_name and record.by_name[system].ranked
        if headline and ranked and not subset and row.value is None and row.reason:
            found.setdefault((f"{task} on {dataset}", row.reason), set()).add(system)
    for (where, reason), systems in found.items():
        who = numbers.counted(len(systems), "system")
        yield "no score", f"No score for {who} on {where}: {reason}.", "", ""


def _outcomes(record: Record) -> Iterator[Found]:
    counts = outcomes(record)
    total = sum(counts.values())
    failed = {name: count for name, count in counts.most_common() if name not in USABLE}
    if failed:
        told = ", ".join(f"{numbers.count(count)} {name}" for name, count in failed.items())
        lost = sum(failed.values())
        follows = "Their items are left out of both sides in that run."
        if record.arguments.get("on_failure") == "original":
            follows = "The original text stands for them, which makes drops smaller."
        share = numbers.share(lost / total, total)
        yield "lost", f"{share} paraphrases cannot be used: {told}.", follows, ""
    if copied := counts.get("copied", 0):
        share = numbers.share(copied / total, total)
        kept = "left out" if record.arguments.get("exclude_copied") else "kept"
        if copied >= COPIES * total:
            yield (
                "copied",
                f"{share} paraphrases equal their text and are {kept}.",
                "Copies make drops smaller.",
                "",
            )


def _other_data(record: Record) -> Iterator[Found]:
    """Sets that were written for other data."""
    for warning in record.manifest.get("paraphrases", {}).get("warnings", ()):
        yield "other data", warning, "", ""


def _stopped(record: Record) -> Iterator[Found]:
    """Datasets whose drops are not known as well as --until-ci asked."""
    points = record.arguments.get("until_ci")
    for dataset, reason in record.manifest.get("paraphrases", {}).get("stopped", {}).items():
        happened = f"Some drop on {dataset} is not known to ±{points:g} points over runs."
        yield "few runs", happened, f"No more runs: {reason.rstrip('.')}.", ""


def _until_ci(record: Record) -> Iterator[Found]:
    """What --until-ci narrowed, beside what it cannot: of each dataset, the system that is known least."""
    if record.arguments.get("until_ci") is None:
        return
    widest: dict[str, tuple[float, float, str]] = {}
    for (task, dataset, subset, variant, system, measure), row in record.rows.items():
        whole = record.find(task, system, "delta", dataset=dataset) if measure == "delta_runs" else None
        ranked = system in record.by_name and record.by_name[system].ranked
        if subset or variant or whole is None or not ranked:
            continue
        if row.ci_low is None or row.ci_high is None or whole.ci_low is None or whole.ci_high is None:
            continue
        found = ((row.ci_high - row.ci_low) / 2, (whole.ci_high - whole.ci_low) / 2, system)
        widest[f"{dataset} ({task})"] = max(found, widest.get(f"{dataset} ({task})", found))
    for where, (runs, both, system) in widest.items():
        yield (
            "until-ci",
            f"On {where} the change of {system} is known to ±{POINTS.said(runs)} points over runs, and to "
            f"±{POINTS.said(both)} over items and runs.",
            "--until-ci narrows the noise of paraphrasing alone.",
            "More items narrow the other.",
        )


def _few_runs(record: Record) -> Iterator[Found]:
    runs = {
        variant.rpartition("seed=")[2]
        for _, _, _, variant, _, _ in record.rows
        if variant.startswith(PARAPHRASE)
    }
    if len(runs) == 1:
        yield (
            "small n", "There is one run.", "Nothing is known of how other paraphrases would score.",
            "Give --runs 6, or as many as the set of paraphrases has.",
        )  # fmt: skip
