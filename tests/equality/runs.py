"""The runs, as commands, and the one way to make them: what `embassay` is to a user, inside this process.

Nothing here knows a module of the package, so that these may move: the command is what pyproject.toml names.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from random import Random
from unittest import mock

from stub import StubServer
from stub.paraphrasing import reworded, share

ROOT = Path(__file__).parents[2]
PROBE = ("--queries", "3", "--runs", "2")
FEW = ("--tokenizer", "words", "--resamples", "100")
MODEL, JUDGE, SECOND = (f"ollama:{name}?name=stub" for name in ("ruler", "judge", "second"))
"""Models of the stub server; by its `name` no address is in a cell's key."""

SWEEP = """\
datasets: sample
encoder: wordllama
dims: [64, full]
k: [10, 20]
reranker: [none, overlap]
mode: [dense, hybrid]
queries: 6
latency: {queries: 2, warmup: 0, repeats: 1, concurrency: 1}
prices: {date: 2025-11-30, rerank: {overlap: 0.05}}
"""
QRELS = "".join(f"q{q} 0 d{d} {1 + (3 * q + 2 * d) % 5}\n" for q in range(8) for d in range(12) if (q + d) % 7)


def _run(name: str, step: int) -> str:
    """A TREC run: some judged documents and one that is not, with equal scores among them."""
    return "".join(
        f"q{q} Q0 d{(step * rank + q) % 13} {rank + 1} {(24 - rank) // 2} {name}\n"
        for q in range(8)
        for rank in range(10)
    )


@dataclass(frozen=True)
class Recorded:
    """A run: the commands that make it, the last with `--out` NAME; the files that these read; the patterns of files
    that are `left_out`; whether a stub server answers, and whether the command has `--workers`."""

    commands: Sequence[Sequence[str]]
    inputs: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[str] = ()
    served: bool = False
    workers: bool = False


RUNS = {
    "sage": Recorded(
        [["sage", "run", "-s", "jaccard", "-s", "wordllama", "--limit", "4", "--document-cap", "3",
          "--retrieval-edits", "delete10", "--text-tokens", "48", *FEW]],
        workers=True,
    ),
    "pteb": Recorded(
        [["pteb", "run", "-s", "jaccard", "-s", "bm25", "-p", "recorded", "--control", "--limit", "6", "--runs", "2",
          "--languages", "pooled", *FEW]],
        left_out=("tables/pteb_table8.*",),  # seconds and memory
        workers=True,
    ),
    "judge": Recorded(
        [["pteb", "judge", "-j", JUDGE, "-j", SECOND, "--limit", "30", "--resamples", "100"]], served=True
    ),
    "selection": Recorded(
        [["pteb", "paraphrasers", "-p", MODEL, "-p", "copied", "-j", JUDGE, "--cross-judge", SECOND, "--limit", "8",
          "--least-similarity", "3", "--resamples", "100"]],
        served=True,
    ),
    "golden": Recorded(
        [["rag", "golden", "-d", "sample", "-s", "wordllama", "-j", "recorded:sample", "--limit", "2", "--depth", "8",
          "--top", "4", "--minimum", "8", "--tokenizer", "words"]],
        left_out=("refinement.json",),  # digests of files that hold the time
    ),
    "scoring": Recorded(
        [["rag", "score", "--qrels", "qrels.txt", "--run", "near=near.trec", "--run", "far=far.trec", "-k", "3",
          "-k", "5", "--sensitivity", "--resamples", "100"]],
        {"qrels.txt": QRELS, "near.trec": _run("near", 1), "far.trec": _run("far", 5)},
    ),
    "sweep": Recorded(
        [["rag", "sweep", "sweep.yaml"]],
        {"sweep.yaml": SWEEP},
    ),
    "names": Recorded(
        [["rag", "probe", "names", "-s", "jaccard", "-s", "bm25", "--lang", "en", *PROBE, *FEW]],
        workers=True,
    ),
    "noise": Recorded(
        [["rag", "probe", "noise", "-s", "jaccard", "-s", "bm25", "--lang", "en", *PROBE, *FEW]],
        workers=True,
    ),
    "hteb": Recorded(
        [["hteb", "run", "-s", "jaccard", "-s", "wordllama", "--transformer", "recorded", "-t", "sts", "--limit", "14",
          "--languages", "reference", "--runs", "1", *FEW]],
        workers=True,
    ),
    "calibration": Recorded(
        [["calibrate", "-s", "jaccard", "-s", "wordllama", *FEW]],
        workers=True,
    ),
    "choice": Recorded(
        [["choose", "sample", "-s", "jaccard", "-s", "wordllama", "-s", "bm25", "--limit", "60", *FEW]],
        workers=True,
    ),
    "hume": Recorded(
        [["hume", "sample", "-d", "sample", "--lang", "eng", "--n", "12", "--out", "study"],
         ["hume", "simulate", "study"],
         ["hume", "score", "study", "-s", "jaccard", "-s", "wordllama", *FEW]],
        workers=True,
    ),
}  # fmt: skip


def make(name: str, folder: Path, *more: str) -> Path:
    """Do one of the ten in an empty folder, the last command with `more` options; the folder of the run."""
    return carry_out(RUNS[name], name, folder, *more)


def carry_out(run: Recorded, name: str, folder: Path, *more: str) -> Path:
    """The same for any run."""
    for file, text in run.inputs.items():
        (folder / file).write_text(text, encoding="utf-8")
    with ExitStack() as stack:
        stack.enter_context(chdir(folder))
        surroundings = {"EMBASSAY_CACHE": str(folder / "cache"), "COLUMNS": "100"}
        if run.served:
            surroundings["OLLAMA_HOST"] = stack.enter_context(StubServer(chat=_answer)).url
        stack.enter_context(mock.patch.dict(os.environ, surroundings))
        stack.enter_context(_stopped_clock())
        # A busy machine is said in sentences that a quiet one has no need of.
        stack.enter_context(mock.patch("os.getloadavg", return_value=(0.0, 0.0, 0.0), create=True))
        _forget()
        *before, last = run.commands
        for command in (*before, [*last, *more, "--out", name]):
            _call(command)
    return folder / name


def _forget() -> None:
    """Empty what functions of ours remember: the store of one run's cache would serve the next run of this process."""
    for module in [*sys.modules.values()]:
        if getattr(module, "__name__", "").startswith("embassay"):
            for value in [*vars(module).values()]:
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


@contextmanager
def _stopped_clock() -> Iterator[None]:
    """`time.perf_counter` says 0 meanwhile, also where a module has taken it by name: all takes no time, as often as it
    is asked, so that a choice by latency is a choice by what it may rest on next."""
    real = time.perf_counter

    def stopped() -> float:
        return 0.0

    _exchange(real, stopped)
    try:
        yield
    finally:
        _exchange(stopped, real)


def _exchange(old: object, new: object) -> None:
    for module in [*sys.modules.values()]:
        if module is time or getattr(module, "__name__", "").startswith("embassay"):
            for name, value in [*vars(module).items()]:
                if value is old:
                    setattr(module, name, new)


def _call(command: Sequence[str]) -> None:
    """`embassay COMMAND`, unheard; AssertionError with what it said where it does not end well."""
    with (ROOT / "pyproject.toml").open("rb") as stream:
        main: Callable[[], None] = resolve_name(tomllib.load(stream)["project"]["scripts"]["embassay"])
    said = io.StringIO()
    with mock.patch.object(sys, "argv", ["embassay", *command]), redirect_stdout(said), redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            if end.code not in (0, None):
                raise AssertionError(f"embassay {' '.join(command)}: {end.code}\n{said.getvalue()}") from end


def _answer(turn) -> str:
    """What the models of the stub server say: ratings of pairs, each its own way, and texts in other words."""
    if "<text1>" in turn.last:
        first, second = (set(part.lower().split()) for part in turn.last.split("<text2>"))
        common = len(first & second) / len(first | second)
        return json.dumps({"score": round(5 * min(1, common * 1.3 + share(turn.model + turn.last) / 4), 1)})
    return reworded(turn.last, Random(f"{turn.body['options'].get('seed')} {turn.last}"))
