"""How fast and how large the leaderboard is: 200 systems with 500 results each, and 2,000 run folders.

    python benchmarks/bench_leaderboard.py [--systems 200] [--results 500] [--folders 2000] [--keep DIR]

Writes runs with the schema of real ones (manifest, results.jsonl, headlines.parquet with 2,000 replicates), serves them
with `embassay serve` in a process of its own, and asks over HTTP as browsers do: zipped, on one connection.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from timing import parse_sizes

from embassay.protocols.kernel.comparisons import OVERALL, SystemHeadlineValue, SystemStanding, write_standings
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder

TASKS = {
    "preference": "human_preference", "robustness": "robustness", "sensitivity": "sensitivity",
    "clustering": "v_measure", "retrieval": "retention",
}  # fmt: skip
RESAMPLES, SEED, ITEMS = 2000, 1337, 300
REQUESTS = 300
WAIT_SECONDS = 300.0


@dataclass(frozen=True)
class Shape:
    """What a written run holds."""

    datasets: int
    results: int
    resamples: int = RESAMPLES


def main() -> None:
    """Write, serve, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=200)
    parser.add_argument("--results", type=int, default=500)
    parser.add_argument("--folders", type=int, default=2000)
    parser.add_argument("--keep", type=Path, help="Write the runs here and keep them.")
    given = parse_sizes(parser, systems=5, results=50, folders=20)
    with tempfile.TemporaryDirectory() as scratch:
        root = given.keep or Path(scratch)
        one_board, many = root / "one", root / "many"
        write_runs(one_board, given.systems, 1, Shape(5, given.results))
        measure(f"{given.systems} systems x {given.results} results, a run each", one_board, grow=True)
        versions = 10
        write_runs(many, given.folders // versions, versions, Shape(1, 40, 500))
        measure(f"{given.folders} run folders, {versions} versions of the data", many, grow=False)


def write_runs(root: Path, systems: int, versions: int, shape: Shape) -> None:
    """One run per system and version; what is there already stays."""
    for version in range(versions):
        shared = np.random.default_rng([SEED, version])
        common = shared.normal(0, 1, shape.resamples)
        for system in range(systems):
            write_run(root / f"v{version}" / f"run-{system:03}", system, version, shape, common)


def write_run(path: Path, system: int, version: int, shape: Shape, common: np.ndarray) -> None:
    """A finished SAGE run of one system. Systems differ by little, so that ranks are ranges."""
    if (path / "manifest.json").exists():
        return
    path.mkdir(parents=True)
    rng = np.random.default_rng([SEED, version, system])
    name = f"lab{system % 17}/encoder-{system:03}-base"
    standings, rows = [], []
    for task, dataset, measure in _places(shape):
        value = 0.45 + 0.0006 * system + rng.normal(0, 0.01)
        draws = value + 0.012 * common + 0.008 * rng.normal(0, 1, shape.resamples)
        headline = SystemHeadlineValue(name, value, ITEMS, draws, "bootstrap over documents")
        standings.append(SystemStanding(task, dataset, measure, headline))
        rows.append(_row(task, dataset, measure, name, value, *np.percentile(draws, [2.5, 97.5])))
    for more in range(shape.results - len(rows)):
        value = float(rng.uniform(0.2, 0.9))
        task = list(TASKS)[more % len(TASKS)]
        rows.append(
            _row(task, f"data{more % shape.datasets}", f"measure_{more}", name, value, value - 0.02, value + 0.02)
        )
    folder = RunFolder(path)
    write_standings(path, standings)
    folder.write_results(rows)
    folder.write_manifest(_manifest(path.name, name, system, version, shape))


def _places(shape: Shape) -> Iterator[tuple[str, str, str]]:
    yield OVERALL, "", OVERALL
    for task, measure in TASKS.items():
        yield task, "", measure
        if shape.datasets > 1:
            yield from ((task, f"data{number}", measure) for number in range(shape.datasets))


def _row(task: str, dataset: str, measure: str, name: str, value: float, low: float, high: float) -> ResultRow:
    return ResultRow(
        "sage", task, dataset, "", "en" if dataset else "", "", name, measure, value, ITEMS, float(low), float(high),
        "bootstrap over documents", SEED,
    )  # fmt: skip


def _manifest(run: str, name: str, system: int, version: int, shape: Shape) -> dict[str, Any]:
    datasets = [f"data{number}" for number in range(shape.datasets)]
    return {
        "embassay": "0.1.0", "protocol": "sage", "name": run, "status": "finished",
        "created": "2026-11-20T08:00:00+00:00",
        "updated": f"2026-11-{1 + version:02}T{system // 60 % 24:02}:{system % 60:02}:00+00:00",
        "command": "embassay sage run", "arguments": {"systems": [name], "tasks": [], "seed": SEED, "limit": None},
        "systems": [
            {"name": name, "kind": "embedding", "identity": name, "facts": {
                "dims": 384, "max_tokens": 512, "parameters": 22_000_000 + system, "usd_per_million_tokens": 0.02,
            }}
        ],
        "datasets": [
            {"name": one, "source": one, "lang": "en", "fingerprint": f"f{version}",
             "tasks": {task: {"n": ITEMS, "skipped": [], "warnings": []} for task in TASKS}}
            for one in datasets
        ],
        "cells": [
            {"key": f"{task}-{one}", "task": task, "dataset": one, "system": name, "status": "done", "reason": "",
             "seconds": 1.5, "counts": {"texts_encoded": 600}, "skipped": [], "warnings": []}
            for task in TASKS for one in datasets
        ],
    }  # fmt: skip


def measure(title: str, root: Path, *, grow: bool) -> None:
    """Serve a folder and print the figures."""
    print(f"\n{title}")
    began = time.perf_counter()
    with served(root) as (process, port):
        _until(port, "/health")
        _print("listens after", time.perf_counter() - began)
        client = Client(port)
        _print("first page after", _timed(lambda: client.get("/")) and time.perf_counter() - began)
        boards = json.loads(client.get("/api/boards").text)
        newest = boards["boards"][0]["id"]
        place = f"/api/boards/{newest}"
        _until_tested(client, place)
        _print("all columns tested after", time.perf_counter() - began)
        stamp = json.loads(client.get(place).text)["stamp"]
        for label, path in (
            ("page", f"/b/{newest}/"), ("board", place), ("update, nothing new", f"{place}/changes?since={stamp}"),
            ("list of boards", "/api/boards"),
        ):  # fmt: skip
            _asked(client, label, path)
        names = [one["name"] for one in json.loads(client.get(place).text)["systems"]]
        _print("compare two, first", _timed(lambda: client.get(f"{place}/compare?a={names[0]}&b={names[1]}")))
        _print("CSV, first", _timed(lambda: client.get(f"{place}/download.csv")))
        print(f"  {'CSV, zipped':28} {client.get(f'{place}/download.csv').size / 1e6:8.2f} MB")
        if grow:
            _grow(client, root, place)
        print(f"  {'memory (RSS)':28} {_rss(process.pid):8.0f} MB")


def _grow(client: Client, root: Path, place: str) -> None:
    """A run is added: how long until the board has it, how large the update is, how slow answers are meanwhile."""
    stamp = json.loads(client.get(place).text)["stamp"]
    common = np.random.default_rng([SEED, 0]).normal(0, 1, RESAMPLES)
    added = len(list((root / "v0").iterdir()))
    write_run(root / "v0" / f"run-{added:03}", added, 0, Shape(5, 500), common)
    began, slowest = time.perf_counter(), 0.0
    while time.perf_counter() - began < WAIT_SECONDS:
        asked = time.perf_counter()
        answer = client.get(f"{place}/changes?since={stamp}")
        slowest = max(slowest, time.perf_counter() - asked)
        found = json.loads(answer.text)
        if found["stamp"] != stamp:
            _print("new run seen after", time.perf_counter() - began)
            print(f"  {'its update, zipped':28} {answer.size / 1024:8.1f} KB{' (whole)' if found['whole'] else ''}")
            _print("slowest answer meanwhile", slowest)
            break
        time.sleep(0.1)
    (root / "v0" / f"run-{added:03}" / "manifest.json").unlink()
    for left in (root / "v0" / f"run-{added:03}").iterdir():
        left.unlink()
    (root / "v0" / f"run-{added:03}").rmdir()


@dataclass(frozen=True)
class Answer:
    """An answer: its size on the line, and its text."""

    status: int
    size: int
    text: str
    etag: str


class Client:
    """One connection that stays open and takes zipped answers."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)

    def get(self, path: str, etag: str = "") -> Answer:
        """Ask for a path."""
        import gzip

        headers = {"accept-encoding": "gzip", **({"if-none-match": etag} if etag else {})}
        self._connection.request("GET", path, headers=headers)
        answer = self._connection.getresponse()
        body = answer.read()
        zipped = answer.getheader("content-encoding") == "gzip"
        text = (gzip.decompress(body) if zipped else body).decode()
        return Answer(answer.status, len(body), text, answer.getheader("etag") or "")


def _asked(client: Client, label: str, path: str) -> None:
    first = client.get(path)
    times = [_timed(lambda: client.get(path)) for _ in range(REQUESTS)]
    unchanged = [_timed(lambda: client.get(path, first.etag)) for _ in range(REQUESTS)]
    assert client.get(path, first.etag).status == 304
    p50, p95 = statistics.median(times), float(np.percentile(times, 95))
    print(
        f"  {label:28} {first.size / 1024:8.1f} KB zipped  p50 {1000 * p50:5.1f} ms  p95 {1000 * p95:5.1f} ms  "
        f"304: p95 {1000 * float(np.percentile(unchanged, 95)):5.1f} ms"
    )


def _until_tested(client: Client, place: str) -> None:
    until = time.perf_counter() + WAIT_SECONDS
    while time.perf_counter() < until and "are being computed" in client.get(place).text:
        time.sleep(0.2)


def _until(port: int, path: str) -> None:
    until = time.perf_counter() + WAIT_SECONDS
    while time.perf_counter() < until:
        try:
            Client(port).get(path)
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise SystemExit("The server did not start.")


@contextmanager
def served(root: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`embassay serve` on a free port, ended with the block."""
    command = [sys.executable, "-m", "embassay", "serve", str(root), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline().rstrip("/\n").rpartition(":")[2])
    finally:
        process.terminate()
        process.wait(timeout=20)


def _timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _print(label: str, seconds: float) -> None:
    print(f"  {label:28} {seconds:8.2f} s", flush=True)


def _rss(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
