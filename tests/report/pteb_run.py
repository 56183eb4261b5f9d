"""A synthetic PTEB run folder, as `embassay pteb run` writes one, summarised by the protocol itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from embassay.protocols.kernel.estimates import bootstrap_interval
from embassay.protocols.pteb.conclusions import make_pteb_summary_and_comparisons
from embassay.protocols.wordings.records import ParaphraseOutcome
from embassay.protocols.wordings.scores import DatasetInRun, SystemInRun, TaskInRun, WordingRunSetup, WordingSourceInRun
from embassay.protocols.wordings.sets import ParaphraseSet, WordingSource
from embassay.records import HeadlineComponent, ResultRow
from embassay.runs.folder import CellRecord, RunFolder, format_value_as_json, write_parquet_columns

HEADLINES = {
    "sts": "spearman", "classification": "accuracy", "clustering": "v_measure",
    "pair_classification": "average_precision", "reranking": "map", "retrieval": "ndcg@10",
    "summarization": "spearman",
}  # fmt: skip
VECTORS = {"classification", "clustering"}
ITEMS = {"sts": ("similarity", "gold"), "classification": ("correct",), "retrieval": ("ndcg@10",)}
FIELDS = {"sts": ("first", "second"), "classification": ("test",), "retrieval": ("query",)}
RESAMPLES = 60
SENTENCES = (
    "A woman slices a large onion on a wooden board.",
    "The ferry leaves at noon unless the wind is from the north.",
    "Two children feed bread to the ducks on the pond.",
    "Nobody in the village remembers when the mill was built.",
)
REWORDED = (
    "On a board made of wood a lady cuts up a big onion.",
    "At twelve the boat departs, if it does not blow from the north.",
    "A pair of kids gives the pond's ducks some bread.",
    "When the mill went up is remembered by no villager.",
)


@dataclass
class Pteb:
    """What the run holds. `lost` are points (fractions) that a system loses on every dataset, before noise."""

    systems: dict[str, str] = field(
        default_factory=lambda: {
            "aster-large": "embedding", "birch-base": "embedding", "jaccard": "classical", "bm25": "classical"
        }
    )  # fmt: skip
    datasets: dict[str, tuple[str, ...]] = field(
        default_factory=lambda: {"sts": ("small-sts", "news-sts"), "classification": ("intents",),
                                 "retrieval": ("manuals",)}
    )  # fmt: skip
    lost: dict[str, float] = field(default_factory=dict)
    labels: tuple[str, ...] = ("",)
    runs: int = 3
    n: int = 40
    failed: tuple[tuple[str, str], ...] = ()
    name: str = "reworded"
    items: bool = True
    status: str = "finished"


def write_pteb(path: Path, made: Pteb) -> Path:
    """Write the folder and return it."""
    return _Writer(path, made).write()


class _Writer:
    def __init__(self, path: Path, made: Pteb) -> None:
        self.made, self.folder = made, RunFolder(path)
        self.rng = np.random.default_rng(11)
        self.kinds = {**made.systems, "constant": "reference", "random": "reference"}
        self.seeds = tuple(range(1337, 1337 + made.runs))
        self.rows: list[ResultRow] = []
        self.records: list[CellRecord] = []

    def write(self) -> Path:
        self.folder.path.mkdir(parents=True, exist_ok=True)
        for task, names in self.made.datasets.items():
            for dataset in names:
                for place, system in enumerate(self.kinds):
                    self._cells(task, dataset, system, place)
                if self.made.items:
                    self._texts(task, dataset)
        rows, comparisons = make_pteb_summary_and_comparisons(self._layout(), self.records)
        self._quality()
        self.folder.write_results([*self.rows, *rows])
        (self.folder.path / "comparisons.json").write_text(format_value_as_json(comparisons))
        sources = self._paraphrases() if self.made.items else []
        self.folder.write_manifest(self._manifest(sources))
        return self.folder.path

    def _layout(self) -> WordingRunSetup:
        names = dict.fromkeys(name for names in self.made.datasets.values() for name in names)
        return WordingRunSetup(
            tuple(SystemInRun(name, kind, kind == "embedding") for name, kind in self.kinds.items()),
            tuple(DatasetInRun(name, "en", self._tasks(name)) for name in names),
            tuple(TaskInRun(task, HEADLINES[task], task in VECTORS) for task in self.made.datasets),
            tuple(WordingSourceInRun(label, dict.fromkeys(names, self.seeds)) for label in self.made.labels),
            resamples=RESAMPLES,
        )  # fmt: skip

    def _tasks(self, dataset: str) -> tuple[str, ...]:
        return tuple(task for task, names in self.made.datasets.items() if dataset in names)

    def variants(self) -> list[str]:
        return [source.variant(seed) for source in self._layout().sources for seed in self.seeds]

    def _cells(self, task: str, dataset: str, system: str, place: int) -> None:
        level = 0.85 - 0.07 * place
        lost = self.made.lost.get(system, 0.02 + 0.015 * place)
        if (task, system) in self.made.failed:
            for variant in ("original", *self.variants()):
                self._record(task, dataset, system, variant, {}, "out of memory")
            return
        noise = self.rng.normal(0, 0.02, RESAMPLES)
        original = HeadlineComponent(level, self.made.n, level + noise)
        self._record(task, dataset, system, "original", {"score": original})
        self._row(task, dataset, system, "original", HEADLINES[task], original)
        for variant in self.variants():
            shift = -lost + self.rng.normal(0, 0.004)
            score = HeadlineComponent(
                level + shift, self.made.n, level + shift + noise + self.rng.normal(0, 0.005, RESAMPLES)
            )
            delta = HeadlineComponent(shift, self.made.n, score.replicates - original.replicates)
            self._record(task, dataset, system, variant, {"score": score, "original": original})
            self._row(task, dataset, system, variant, HEADLINES[task], score)
            self._row(task, dataset, system, variant, "delta", delta)
        if self.made.items and self.kinds[system] != "reference":
            for variant in ("original", *self.variants()):
                self._items(task, dataset, system, variant, level)

    def _record(
        self,
        task: str,
        dataset: str,
        system: str,
        variant: str,
        parts: Mapping[str, HeadlineComponent],
        reason: str = "",
    ) -> None:
        status = "failed" if reason else "done"
        self.records.append(
            CellRecord(f"{task}-{dataset}-{system}-{variant}", task, dataset, system, status, reason, 0.5, (), parts,
                       counts={"texts_encoded": 80, "texts_cached": 0}, variant=variant)
        )  # fmt: skip

    def _row(self, task: str, dataset: str, system: str, variant: str, measure: str, part: HeadlineComponent) -> None:
        low, high = bootstrap_interval(part.replicates, part.value)
        self.rows.append(
            ResultRow("pteb", task, dataset, "", "en", variant, system, measure, part.value, part.n, low, high,
                   "bootstrap over items", 1337)
        )  # fmt: skip

    def _quality(self) -> None:
        for names in self.made.datasets.values():
            for dataset in names:
                for variant in self.variants():
                    figures = {"edit_distance": 0.62, "length_ratio": 1.08, "copied": 0.02, "failed": 0.01,
                               "retries": 0.05, "rejected:too long": 0.01}  # fmt: skip
                    for measure, value in figures.items():
                        self.rows.append(
                            ResultRow("pteb", "paraphrases", dataset, "", "en", variant, "ollama:gemma3:27b", measure,
                                   value + float(self.rng.normal(0, 0.002)), 2 * self.made.n, method="distinct texts")
                        )  # fmt: skip

    def ids(self) -> list[str]:
        return [f"item-{i:02}" for i in range(self.made.n)]

    def _items(self, task: str, dataset: str, system: str, variant: str, level: float) -> None:
        ids, columns = self.ids(), {"item_id": [], "variant": [], "measure": [], "value": []}  # type: ignore[var-annotated]
        for measure in ITEMS.get(task, ("ap",)):
            values = np.clip(self.rng.normal(level, 0.1, len(ids)), 0, 1)
            columns["item_id"] += ids
            columns["variant"] += [""] * len(ids)
            columns["measure"] += [measure] * len(ids)
            columns["value"] += values.tolist()
        write_parquet_columns(self.folder.locate_cell_items(task, dataset, system, variant=variant), columns)

    def _texts(self, task: str, dataset: str) -> None:
        columns: dict[str, list[str]] = {"item_id": [], "field": [], "text": [], "lang": []}
        for place, name in enumerate(FIELDS.get(task, ("text",))):
            for i, item in enumerate(self.ids()):
                columns["item_id"].append(item)
                columns["field"].append(name)
                columns["text"].append(text_of(i + place))
                columns["lang"].append("en")
        write_parquet_columns(self.folder.locate_task_texts(task, dataset), columns)

    def _paraphrases(self) -> list[dict[str, Any]]:
        kept = ParaphraseSet.open_or_create_in_folder(self.folder.path / "paraphrases")
        told = []
        for label in self.made.labels:
            name = label or "recorded"
            kept.add(WordingSource(name=name, paraphraser="ollama:gemma3:27b", identity=f"{name} 1"))
            datasets = dict.fromkeys(one for names in self.made.datasets.values() for one in names)
            for dataset in datasets:
                for run, seed in enumerate(self.seeds):
                    rows = [_paraphrase(i, run) for i in range(self.made.n + 1)]
                    kept.keep(name, dataset, seed, rows, fingerprint="9f2c41ab")
            told.append(
                {
                    "name": name,
                    "identity": f"{name} 1",
                    "prompt": "default",
                    "slug": name,
                    "label": label,
                    "seeds": {dataset: list(self.seeds) for dataset in datasets},
                    "outcomes": kept.count_outcomes_by_dataset_and_seed(name),
                }
            )
        return told

    def _manifest(self, sources: list[dict[str, Any]]) -> dict[str, Any]:
        made = self.made
        ranked = [name for name, kind in self.kinds.items() if kind != "reference"]
        names = dict.fromkeys(name for of in made.datasets.values() for name in of)
        return {
            "embassay": "0.1.0", "name": made.name, "protocol": "pteb", "status": made.status,
            "created": "2026-11-21T09:00:00+00:00", "updated": "2026-11-21T09:12:00+00:00",
            "command": f"embassay pteb run -s {ranked[0]} --out runs/{made.name}",
            "arguments": {
                "systems": ranked, "tasks": list(made.datasets), "datasets": list(names), "limit": None, "seed": 1337,
                "tokenizer": "words", "mapping": {}, "split": None, "paraphrasers": ["recorded"],
                "prompts": ["default"], "runs": made.runs, "baseline": ranked[0],
                "on_failure": "leave out", "options": {},
            },
            "tokenizer": {"name": "words", "identity": "words 1"},
            "systems": [
                {"name": name, "kind": kind, "identity": f"{name} 1",
                 "facts": {"dims": 256, "max_tokens": 512} if kind == "embedding" else {}}
                for name, kind in self.kinds.items()
            ],
            "datasets": [
                {"name": name, "source": name, "lang": "en", "fingerprint": "9f2c41ab",
                 "tasks": {t: {"n": made.n, "skipped": [], "warnings": []} for t in self._tasks(name)}}
                for name in names
            ],
            "hardware": {"cpu": "made", "cores": 2, "memory_gib": 24.0, "platform": "Linux x86_64"},
            "versions": {"python": "3.11.2"},
            "cells": [
                {"key": one.key, "task": one.task, "dataset": one.dataset, "system": one.system, "variant": one.variant,
                 "status": one.status, "reason": one.reason, "seconds": 0.5, "counts": dict(one.counts), "skipped": [],
                 "warnings": []}
                for one in self.records
            ],
            "sessions": [{"started": "2026-11-21T09:00:00+00:00", "workers": 2, "cells_done": len(self.records),
                          "texts_encoded": 900, "texts_cached": 0, "seconds": 720.0}],
            "paraphrases": {"sources": sources},
            "problems": {"failed_cells": len(made.failed)},
        }  # fmt: skip


def text_of(place: int) -> str:
    """A text; they repeat after four with a number."""
    return f"{SENTENCES[place % 4]} ({place})"


def _paraphrase(place: int, run: int) -> ParaphraseOutcome:
    if place == 3 and run == 1:
        return ParaphraseOutcome(text_of(place), "en", "", "", "too long", "210 characters for 60", 6, 1338)
    wording = f"{REWORDED[place % 4]} ({place}{'abc'[run % 3]})"
    return ParaphraseOutcome(text_of(place), "en", "", wording, "ok", attempts=1, seed=1337 + run, seconds=0.2)
