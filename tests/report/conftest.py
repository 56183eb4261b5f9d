"""Synthetic run folders, as the run commands write them, and a browser, for the tests of the report."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from embassay.records import ResultRow
from embassay.runs.folder import RunFolder, format_value_as_json, slugify_name, write_parquet_columns

from .pteb_run import Pteb, write_pteb
from .rag_runs import write_golden_run, write_score_run

TASKS = ("preference", "robustness", "sensitivity", "clustering", "retrieval")
HEADLINES = {
    "preference": "human_preference",
    "robustness": "robustness",
    "sensitivity": "sensitivity",
    "clustering": "v_measure",
    "retrieval": "retention",
}
AXES = ("overall", "accuracy", "coverage", "coherence")
SUPERFICIAL = ("capitalize", "delete10", "numerize")
SEMANTIC = ("negate", "sentence_shuffle", "word_shuffle")
POSITIONS = ("0", "0.5", "1")
SIZES = {"insertion": ("0.15", "0.5", "1"), "removal": ("0.15", "0.5", "0.9")}
RETRIEVAL_EDITS = (
    *SUPERFICIAL,
    *SEMANTIC,
    *(f"{kind}:p={p},q={q}" for kind in SIZES for p in ("0.15", "0.5") for q in POSITIONS),
)
SENTENCE = (
    "the boat came in before noon and the cook had salted every fish that lay on the long counter while "
    "rain fell over the harbour wall and nobody could say whether the old engine would start on a morning"
)
WORDS = tuple(SENTENCE.split())


@dataclass
class Made:
    """What a synthetic run holds; `levels` are the underlying qualities of its ranked systems."""

    systems: dict[str, str] = field(
        default_factory=lambda: {
            "aster-large": "embedding",
            "birch-base": "embedding",
            "jaccard": "classical",
            "bm25": "classical",
        }
    )
    levels: dict[str, float] = field(default_factory=dict)
    datasets: tuple[str, ...] = ("sample",)
    tasks: tuple[str, ...] = TASKS
    documents: int = 48
    queries: int = 42
    failed: tuple[tuple[str, str, str], ...] = ()
    not_run: tuple[tuple[str, str, str], ...] = ()
    texts: tuple[str, ...] = ()
    items: bool = True
    status: str = "finished"
    name: str = "made"


def write_run(path: Path, made: Made) -> Path:
    """Write the folder and return it."""
    return _Writer(path, made).write()


class _Writer:
    def __init__(self, path: Path, made: Made) -> None:
        self.made, self.folder = made, RunFolder(path)
        self.rng = random.Random(7)
        self.all = {**made.systems, "constant": "reference", "random": "reference"}
        self.levels = {
            name: made.levels.get(name, 0.9 - 0.1 * i if self.all[name] != "reference" else 0.3)
            for i, name in enumerate(self.all)
        }
        self.rows: list[ResultRow] = []

    def write(self) -> Path:
        made = self.made
        self.folder.path.mkdir(parents=True, exist_ok=True)
        for dataset in made.datasets:
            for task in made.tasks:
                done = [name for name in self.all if self.state(task, dataset, name) == "done"]
                for name in done:
                    getattr(self, f"_{task}")(dataset, name)
                for name in self.all:
                    if self.state(task, dataset, name) == "failed":
                        self.row(task, dataset, name, HEADLINES[task], None, reason="out of memory", n=0)
                if done and made.items:
                    self._texts(task, dataset)
        scopes = self._summary()
        self.folder.write_results(self.rows)
        comparisons = {"alpha": 0.05, "correction": "holm", "method": "paired bootstrap", "scopes": scopes}
        (self.folder.path / "comparisons.json").write_text(format_value_as_json(comparisons))
        self.folder.write_manifest(self._manifest())
        return self.folder.path

    def state(self, task: str, dataset: str, system: str) -> str:
        if (task, dataset, system) in self.made.failed:
            return "failed"
        return "not run" if (task, dataset, system) in self.made.not_run else "done"

    def row(
        self,
        task: str,
        dataset: str,
        system: str,
        measure: str,
        value: float | None,
        *,
        n: int = 48,
        variant: str = "",
        subset: str = "",
        half: float | None = 0.013,
        reason: str = "",
    ) -> float | None:
        low = high = None
        if value is not None and half is not None:
            low, high = value - half, value + half
        lang = "en" if dataset else ""
        self.rows.append(
            ResultRow(
                "sage",
                task,
                dataset,
                subset,
                lang,
                variant,
                system,
                measure,
                value,
                n,
                low,
                high,
                "bootstrap over documents",
                1337,
                reason,
            )
        )
        return value

    def items(self, task: str, dataset: str, system: str, rows: list[tuple[str, str, str, float | None]]) -> None:
        if not self.made.items:
            return
        columns = {name: [row[i] for row in rows] for i, name in enumerate(("item_id", "variant", "measure", "value"))}
        write_parquet_columns(self.folder.locate_cell_items(task, dataset, system), columns)

    def ids(self, kind: str, n: int) -> list[str]:
        return [f"{kind}-{i:02}" for i in range(n)]

    def near(self, system: str, spread: float = 0.1) -> float:
        return min(1.0, max(0.0, self.levels[system] + self.rng.uniform(-spread, spread)))

    def _preference(self, dataset: str, system: str) -> None:
        level, n = self.levels[system], self.made.documents
        for name in ("accuracy", "precision", "recall", "f1"):
            self.row("preference", dataset, system, name, 0.4 + 0.3 * level, n=n)
        self.row("preference", dataset, system, "tie_share", 0.02, n=n)
        for axis in AXES:
            self.row("preference", dataset, system, "score", 0.45 + 0.3 * level, variant=axis, n=2 * n)
        self.row("preference", dataset, system, "human_preference", 0.42 + 0.3 * level, n=3 * n)
        rows = []
        for item in self.ids("doc", n):
            first, second = self.near(system), self.near(system)
            rows += [(item, "first", "similarity", first), (item, "second", "similarity", second)]
            rows.append((item, "", "correct", float(first < second)))
        for item in self.ids("sum", 2 * n):
            rows.append((item, "rating", "similarity", self.near(system)))
            rows += [(item, "human", axis, None if item == "sum-00" else 4.0) for axis in AXES]
        self.items("preference", dataset, system, rows)

    def _robustness(self, dataset: str, system: str) -> None:
        level, n = self.levels[system], self.made.documents
        shares = {
            "summary_over_semantic": 0.1 * level,
            "superficial_over_summary": level,
            "superficial_over_semantic": 0.08 * level,
            "all_three": 0.01,
        }
        self.row("robustness", dataset, system, "robustness", sum(list(shares.values())[:3]) / 3, n=n)
        for name, value in shares.items():
            self.row("robustness", dataset, system, "share", value, variant=name, n=n)
        similar = {"original": 1.0, "summary": 0.5 * level, **dict.fromkeys(SUPERFICIAL + SEMANTIC, 0.9 * level)}
        for edit, value in similar.items():
            self.row("robustness", dataset, system, "similarity", value, variant=edit, n=n)
        for edit in SUPERFICIAL:
            self.row("robustness", dataset, system, "above_summary", level, variant=edit, n=n)
        for edit in SEMANTIC:
            self.row("robustness", dataset, system, "below_summary", 0.1 * level, variant=edit, n=n)
        rows = []
        for item in self.ids("doc", n):
            rows += [(item, edit, "similarity", self.near(system)) for edit in similar]
            rows.append((item, "", "robustness", self.rng.choice((0.0, 1 / 3, 2 / 3))))
        self.items("robustness", dataset, system, rows)

    def _sensitivity(self, dataset: str, system: str) -> None:
        level, n = self.levels[system], self.made.documents
        self.row("sensitivity", dataset, system, "sensitivity", 0.6 + 0.3 * level, n=n)
        rows = []
        for kind, sizes in SIZES.items():
            self.row("sensitivity", dataset, system, "sensitivity", 0.6 + 0.3 * level, variant=kind, n=n)
            self.row("sensitivity", dataset, system, "falls_at_every_step", 0.8, variant=kind, n=n)
            self.row("sensitivity", dataset, system, "sensitivity_calibrated", 0.9, variant=kind, n=n)
            for p in sizes:
                self.row(
                    "sensitivity",
                    dataset,
                    system,
                    "similarity",
                    1 - 0.5 * level * float(p),
                    n=n,
                    variant=f"{kind}:p={p}",
                )
                for q in POSITIONS:
                    variant = f"{kind}:p={p},q={q}"
                    self.row("sensitivity", dataset, system, "sensitivity", 0.8, variant=variant, n=n)
                    self.row("sensitivity", dataset, system, "similarity", 0.7, variant=variant, n=n)
                    rows += [(item, variant, "similarity", self.near(system)) for item in self.ids("doc", n)]
        self.items("sensitivity", dataset, system, rows)

    def _clustering(self, dataset: str, system: str) -> None:
        level, n = self.levels[system], self.made.documents
        half = 0.02 if len(self.made.datasets) > 1 else None
        self.row("clustering", dataset, system, "v_measure", 0.5 * level, half=half, n=n)
        self.row("clustering", dataset, system, "v_measure", 0.5 * level, half=None, variant="set", subset="1", n=n)
        rows = [("1", "set", "v_measure", 0.5 * level)]
        rows += [(item, "1", "cluster", float(self.rng.randrange(4))) for item in self.ids("text", n)]
        self.items("clustering", dataset, system, rows)

    def _retrieval(self, dataset: str, system: str) -> None:
        level, n = self.levels[system], self.made.queries
        self.row("retrieval", dataset, system, "retention", 0.5 * level, n=n)
        self.row("retrieval", dataset, system, "ndcg@10", 0.8 * level, variant="original", n=n)
        self.row("retrieval", dataset, system, "ndcg@10", 0.4 * level, variant="augmented", n=n)
        self.row("retrieval", dataset, system, "tie_share", 0.1, variant="augmented", n=n)
        self.row("retrieval", dataset, system, "retention", 0.5 * level, variant="augmented", n=n)
        self.row("retrieval", dataset, system, "retention", 0.85 * level, variant="replaced", n=n)
        rows, ranked = [], []
        for edit in RETRIEVAL_EDITS:
            self.row("retrieval", dataset, system, "retention", self.near(system), variant=f"replaced:{edit}", n=n)
        for query in self.ids("q", n):
            for variant in ("original", "augmented", *(f"replaced:{edit}" for edit in RETRIEVAL_EDITS)):
                rows.append((query, variant, "ndcg@10", self.near(system)))
            for version in ("original", "augmented"):
                for rank in range(1, 11):
                    edit = "" if version == "original" or rank % 2 else self.rng.choice(RETRIEVAL_EDITS)
                    doc = f"doc-{self.rng.randrange(self.made.documents):02}"
                    gain = float(rank == 1 and not edit)
                    ranked.append((query, version, rank, doc, edit, 1 - rank / 20, gain))
        self.items("retrieval", dataset, system, rows)
        if not self.made.items:
            return
        names = ("query_id", "version", "rank", "doc_id", "edit", "score", "gain")
        columns = {name: [row[i] for row in ranked] for i, name in enumerate(names)}
        write_parquet_columns(self.folder.locate_cell_items("retrieval", dataset, system, ".rankings"), columns)

    def _texts(self, task: str, dataset: str) -> None:
        fields: dict[str, list[str]] = {
            "preference": ["source", "first", "second"],
            "robustness": ["text", "summary"],
            "sensitivity": ["text"],
            "clustering": ["text", "label", "set"],
            "retrieval": ["document"],
        }[task]
        rows = []
        kind = "text" if task == "clustering" else "doc"
        for i, item in enumerate(self.ids(kind, self.made.documents)):
            for name in fields:
                rows.append(
                    (item, name, "1" if name == "set" else f"topic {i % 4}" if name == "label" else self._text(i))
                )
        if task == "preference":
            for i, item in enumerate(self.ids("sum", 2 * self.made.documents)):
                rows += [(item, "source", self._text(i)), (item, "summary", self._text(i + 1))]
        if task == "retrieval":
            rows += [
                (item, "query", f"what does text {i} say") for i, item in enumerate(self.ids("q", self.made.queries))
            ]
        columns = {name: [row[i] for row in rows] for i, name in enumerate(("item_id", "field", "text"))}
        write_parquet_columns(self.folder.locate_task_texts(task, dataset), columns)

    def _text(self, i: int) -> str:
        if i < len(self.made.texts):
            return self.made.texts[i]
        words = [WORDS[(i * 7 + j) % len(WORDS)] for j in range(60)]
        return " ".join(words[:20]).capitalize() + ". " + " ".join(words[20:]).capitalize() + "."

    def _summary(self) -> dict[str, Any]:
        values: dict[str, dict[str, float | None]] = {}
        for task in self.made.tasks:
            values[task] = {name: self._headline(task, name) for name in self.all}
        values["overall"] = {name: self._overall(values, name) for name in self.all}
        return {name: self._scope(values[name]) for name in ("overall", *self.made.tasks)}

    def _headline(self, task: str, name: str) -> float | None:
        states = {dataset: self.state(task, dataset, name) for dataset in self.made.datasets}
        bad = next((dataset for dataset, state in states.items() if state != "done"), "")
        if bad:
            reason = "out of memory" if states[bad] == "failed" else "not run yet"
            return self.row(task, "", name, HEADLINES[task], None, n=0, reason=f"{bad}: {reason}")
        rows = [r for r in self.rows if (r.task, r.system, r.measure) == (task, name, HEADLINES[task])]
        found = [r.value for r in rows if not r.variant and r.value is not None]
        half = None if task == "clustering" and len(self.made.datasets) == 1 else 0.013
        return self.row(task, "", name, HEADLINES[task], sum(found) / len(found), half=half)

    def _overall(self, values: dict[str, dict[str, float | None]], name: str) -> float | None:
        have = {task: values.get(task, {}).get(name) for task in TASKS}
        missing = [task for task, value in have.items() if value is None]
        known = [value for value in have.values() if value is not None]
        if not missing:
            return self.row("overall", "", name, "overall", sum(known) / 5, n=5)
        self.row("overall", "", name, "overall", None, n=0, reason=f"{missing[0]} is missing")
        if known:
            self.row("overall", "", name, "mean_of_present", sum(known) / len(known), n=len(known))
        return None

    def _scope(self, values: dict[str, float | None]) -> dict[str, Any]:
        """Ranges as the tests would give them if a difference of 0.02 were the least that can be told."""
        complete = [(v, name) for name, v in values.items() if v is not None and self.all[name] != "reference"]
        complete.sort(key=lambda one: (-one[0], one[1]))
        names = [name for _, name in complete]
        empty = {"systems": names, "rank_low": [], "rank_high": [], "best": [], "pairs": []}
        if len(names) < 2:
            return {**empty, "reason": "fewer than two systems with a value"}
        value = dict(zip(names, (v for v, _ in complete), strict=True))
        low = [1 + sum(value[other] - value[name] > 0.02 for other in names) for name in names]
        high = [len(names) - sum(value[name] - value[other] > 0.02 for other in names) for name in names]
        pairs = []
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                gap = value[a] - value[b]
                p = 0.0004 if gap > 0.02 else 0.19
                pairs.append(
                    {
                        "a": a,
                        "b": b,
                        "difference": gap,
                        "ci_low": gap - 0.015,
                        "ci_high": gap + 0.015,
                        "p": p,
                        "p_adjusted": p,
                    }
                )
        best = [name for name, one in zip(names, low, strict=True) if one == 1]
        return {"systems": names, "rank_low": low, "rank_high": high, "best": best, "pairs": pairs, "reason": ""}

    def _manifest(self) -> dict[str, Any]:
        made = self.made
        cells = []
        for task in made.tasks:
            for dataset in made.datasets:
                cells += [self._cell(task, dataset, name) for name in self.all]
        ranked = list(made.systems)
        return {
            "embassay": "0.1.0",
            "name": made.name,
            "protocol": "sage",
            "status": made.status,
            "created": "2026-11-20T14:02:10+00:00",
            "updated": "2026-11-20T14:43:10+00:00",
            "command": f"embassay sage run -s {ranked[0] if ranked else 'bm25'} --out runs/{made.name}",
            "arguments": {
                "systems": ranked,
                "tasks": [],
                "datasets": list(made.datasets),
                "limit": None,
                "seed": 1337,
                "tokenizer": "words",
                "mapping": {},
                "split": None,
                "grades": None,
                "options": {},
            },
            "tokenizer": {"name": "words", "identity": "words 1"},
            "systems": [
                {
                    "name": name,
                    "kind": kind,
                    "identity": f"{name} 1",
                    "facts": {"dims": 256, "max_tokens": 512}
                    if kind == "embedding"
                    else {"summary": "words in common"},
                }
                for name, kind in self.all.items()
            ],
            "datasets": [
                {
                    "name": dataset,
                    "source": dataset,
                    "lang": "en",
                    "fingerprint": "9f2c41ab",
                    "tasks": {task: {"n": made.documents, "skipped": [], "warnings": []} for task in made.tasks},
                }
                for dataset in made.datasets
            ],
            "hardware": {"cpu": "made", "cores": 2, "memory_gib": 24.0, "platform": "Linux x86_64"},
            "versions": {"python": "3.11.2", "numpy": "2.3.0"},
            "cells": cells,
            "sessions": [
                {
                    "started": "2026-11-20T14:02:10+00:00",
                    "ended": "2026-11-20T14:43:10+00:00",
                    "workers": 2,
                    "cells_done": len(cells),
                    "texts_encoded": 12480,
                    "texts_cached": 0,
                    "seconds": 2460.0,
                }
            ],
            "problems": {"failed_cells": len(made.failed)},
        }

    def _cell(self, task: str, dataset: str, name: str) -> dict[str, Any]:
        state = self.state(task, dataset, name)
        counts = {"documents": self.made.documents}
        if self.all[name] == "embedding":
            counts |= {"texts_encoded": 3000, "texts_cached": 0, "texts_truncated": 214 if name == "birch-base" else 0}
        return {
            "key": slugify_name(f"{task}{dataset}{name}"),
            "task": task,
            "dataset": dataset,
            "system": name,
            "status": state,
            "reason": "out of memory" if state == "failed" else "",
            "seconds": 1.2 if state == "done" else None,
            "counts": counts if state == "done" else {},
            "skipped": [],
            "warnings": [],
        }


MakeRun = Callable[..., Path]


@pytest.fixture
def make_full_run(tmp_path: Path) -> MakeRun:
    """Write a synthetic run; its fields are those of `Made`."""
    number = count()
    return lambda **fields: write_run(tmp_path / f"run-{next(number)}", Made(**fields))


@pytest.fixture
def make_run(make_full_run: MakeRun) -> MakeRun:
    """The same without items and texts, which most tests do not look at."""
    return lambda **fields: make_full_run(items=False, **fields)


@pytest.fixture(scope="session")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four systems, one of which failed a task; read only."""
    made = Made(failed=(("retrieval", "sample", "birch-base"),))
    return write_run(tmp_path_factory.mktemp("runs") / "plain", made)


class Heard:
    """What a page asked for, and what it complained of, while one test used it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._listening = {
            "request": lambda request: self.requests.append(request.url),
            "console": lambda message: self.complaints.append(message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "dialog": self._dialog,
        }
        for event, listener in self._listening.items():
            page.on(event, listener)

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def stop(self) -> None:
        for event, listener in self._listening.items():
            self.page.remove_listener(event, listener)


@pytest.fixture(scope="module")
def sheet(browser: Any) -> Iterator[Any]:
    """A page without a network that the tests of a module use one after the other: a new one costs as much as three
    reports shown in it."""
    context = browser.new_context(offline=True)
    yield context.new_page()
    context.close()


@pytest.fixture
def use(browser: Any, sheet: Any) -> Iterator[Callable[..., Heard]]:
    """The module's page as if it were new: use(width=1232, color_scheme="light"), or one without scripts:
    use(java_script_enabled=False). Complaints fail the test."""
    heard: list[Heard] = []

    def used(*, width: int = 1232, color_scheme: str = "light", java_script_enabled: bool = True) -> Heard:
        page = sheet
        if not java_script_enabled:
            page = browser.new_context(offline=True, java_script_enabled=False).new_page()
        page.goto("about:blank")
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media="screen", color_scheme=color_scheme)
        heard.append(Heard(page))
        return heard[-1]

    yield used
    for one in heard:
        one.stop()
        if one.page is not sheet:
            one.page.context.close()
    if sheet.url != "about:blank":
        sheet.evaluate("localStorage.clear()")
    assert [complaint for one in heard for complaint in one.complaints] == []


@pytest.fixture
def visit(use: Callable[..., Heard]) -> Callable[..., Any]:
    """Open a view of a report: visit(file, view, **options of `use`)."""

    def opened(file: Path, view: str, **options: Any) -> Any:
        page = use(**options).page
        page.goto(f"{file.as_uri()}#{view}")
        return page

    return opened


def turn_to(page: Any, view: str) -> None:
    """Another view by its address, and what its script draws."""
    page.evaluate("view => { location.hash = view; }", view)
    page.wait_for_selector(f"#{view.partition('?')[0]}:not([hidden])", state="attached")
    if view.startswith("items"):
        page.wait_for_selector("#item-list li", state="attached")


@pytest.fixture
def make_pteb(tmp_path: Path) -> MakeRun:
    """Write a synthetic PTEB run; its fields are those of `PtebProtocol`."""
    number = count()
    return lambda **fields: write_pteb(tmp_path / f"pteb-{next(number)}", Pteb(**fields))


@pytest.fixture(scope="session")
def pteb_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tasks, four datasets, four systems, three runs; read only."""
    return write_pteb(tmp_path_factory.mktemp("runs") / "reworded", Pteb())


@pytest.fixture(scope="session")
def score_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs scored on thirty queries; read only."""
    return write_score_run(tmp_path_factory.mktemp("runs") / "scored")


@pytest.fixture(scope="session")
def golden_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A golden set of three questions, one done, one failed, one waiting; read only."""
    return write_golden_run(tmp_path_factory.mktemp("runs") / "golden")
