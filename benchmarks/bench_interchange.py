"""How long it takes to import and export a repository of published results, and how much memory.

python benchmarks/bench_interchange.py [--files 50000] [--out FOLDER]

Makes up a repository in the public layout (250 models, as many tasks as that takes; one to three subsets and twelve
numbers each, as mteb writes them), imports it with all numbers and with main scores alone, and exports the run again.
Every step runs in a process of its own, which says its peak memory.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from timing import parse_sizes

MODELS = 250
NUMBERS = (
    "accuracy",
    "f1",
    "f1_weighted",
    "precision",
    "recall",
    "ap",
    "map",
    "mrr",
    "spearman",
    "pearson",
    "ndcg_at_10",
)


def made_up(out: Path, files: int) -> None:
    """Write the repository."""
    rng = random.Random(7)
    for place in range(files):
        model, task = place % MODELS, place // MODELS
        folder = out / "results" / f"org{model % 40}__model-{model}" / f"{model:040x}"
        if task == 0:
            folder.mkdir(parents=True)
            (folder / "model_meta.json").write_text(
                json.dumps({"name": f"org{model % 40}/model-{model}", "revision": f"{model:040x}", "embed_dim": 384})
            )
        entries = [
            {
                **{name: round(rng.random(), 6) for name in NUMBERS}, "main_score": round(rng.random(), 6),
                "scores_per_experiment": [{"accuracy": round(rng.random(), 6)} for _ in range(10)],
                "hf_subset": subset, "languages": [f"{subset}-Latn"],
            }
            for subset in ("eng", "fra", "deu")[: task % 3 + 1]
        ]  # fmt: skip
        body = {
            "dataset_revision": f"{task:040x}", "task_name": f"Task{task}", "mteb_version": "2.10.8",
            "scores": {"test": entries}, "evaluation_time": 1.0, "kg_co2_emissions": None,
        }  # fmt: skip
        (folder / f"Task{task}.json").write_text(json.dumps(body, indent=2))


def _import(source: Path, out: Path, measures: tuple[str, ...]) -> int:
    from embassay.interchange import import_results

    return import_results(source, out, measures=measures).rows


def _export(run: Path, out: Path) -> int:
    from embassay.interchange import export

    return export([run], "mteb", out).files


def _measured(connection: Any, work: Callable[..., int], *arguments: Any) -> None:
    began = time.perf_counter()
    count = work(*arguments)
    used = resource.getrusage(resource.RUSAGE_SELF)
    connection.send((count, time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024))


def measured(name: str, work: Callable[..., int], *arguments: Any) -> None:
    """Run `work` in a process of its own and print a row."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_measured, args=(there, work, *arguments))
    process.start()
    count, seconds, cpu, peak = here.recv()
    process.join()
    print(f"| {name} | {count:,} | {seconds:.0f} s | {cpu:.0f} s | {peak:,.0f} MB |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--out", type=Path, default=None)
    given = parse_sizes(parser, files=200)
    with tempfile.TemporaryDirectory(dir=given.out) as folder:
        top = Path(folder)
        made_up(top / "repository", given.files)
        print("| Step | Rows or files | Time | CPU time | Peak memory |\n|---|---:|---:|---:|---:|")
        measured("import, main scores", _import, top / "repository", top / "main", ("main_score",))
        measured("import, every number", _import, top / "repository", top / "all", ())
        measured("export to the layout", _export, top / "main", top / "layout")
        size = {name: (top / name / "results.jsonl").stat().st_size / 2**20 for name in ("main", "all")}
        kept = (top / "main" / "originals.jsonl.gz").stat().st_size / 2**20
        print(f"\nresults.jsonl {size['main']:.0f} MB and {size['all']:.0f} MB, documents {kept:.0f} MB.")


if __name__ == "__main__":
    main()
