"""One run by every engine: this machine, and Ray with 1, 2 and 3 nodes; the same bytes, and what Ray costs.

    EMBASSAY_DATA=... python benchmarks/engines.py [--nodes 1 2 3] [--kill STAGE ...] [--limit N]

The nodes are processes of this machine (`ray.cluster_utils`), of one CPU each. `--kill` names stages in whose middle
a node that does it is killed, with everything on it. CPU seconds are those of all processes of a run, its
cluster's included; a busy machine changes them little, wall time a lot. With `--out` the measurements that are there
already are not made again. Needs the extras ray, test and onnx.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

RUNS: dict[str, dict[str, Any]] = {
    "scifact": {"systems": ["bm25", "wordllama"], "tasks": ["retrieval"], "source": "retrieval/scifact"},
    "minilm": {"systems": ["minilm"], "tasks": ["retrieval"], "source": "retrieval/scifact", "limit": 300},
    "newsgroups": {
        "systems": ["bm25", "wordllama"],
        "tasks": ["clustering"],
        "source": "clustering/20newsgroups_sample.jsonl.gz",
    },
}
SAME = ("results.jsonl", "comparisons.json", "headlines.parquet")
FOLDERS = ("items", "tables", "texts")
STAGES = {
    "scifact": ("perturbing", "searching", "encoding", "scoring"),
    "minilm": ("encoding", "scoring"),
    "newsgroups": ("encoding", "scoring"),
}
"""Where a run can be hit."""
CELL, PART, ENCODING = "ray::_do_there", "ray::_part", "ray::Encoding.encode"
SMALL = 3_000
STORE = 200 * 2**20


def main() -> None:
    asked = _arguments()
    if asked.one:
        _one(json.loads(asked.one))
        return
    data, work = Path(asked.data), Path(asked.out or tempfile.mkdtemp(prefix="engines-"))
    for name in asked.run:
        limit = asked.limit or RUNS[name].get("limit")
        local = _measured(data, work, name, limit, nodes=0)
        _print(name, "this machine", local, local)
        for nodes in asked.nodes:
            _print(name, f"Ray, {nodes} node{'s' * (nodes > 1)}", _measured(data, work, name, limit, nodes), local)
        for stage in [one for one in asked.kill if one in STAGES[name]]:
            what = _measured(data, work, name, limit, max(asked.nodes), stage)
            _print(name, f"Ray, {max(asked.nodes)} nodes, one killed: {stage}", what, local)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("EMBASSAY_DATA"))
    parser.add_argument("--run", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--nodes", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--kill", nargs="*", choices=STAGES["scifact"], default=[])
    parser.add_argument("--limit", type=int, help="items of each run; default: all, with minilm 300")
    parser.add_argument("--out", help="where the runs are kept, and go on; default: a temporary folder")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if not asked.data and not asked.one:
        parser.error("name the folder of the development datasets with --data or $EMBASSAY_DATA")
    return asked


def _print(name: str, engine: str, this: dict[str, Any], local: dict[str, Any]) -> None:
    same = "same bytes" if this["digest"] == local["digest"] else "OTHER BYTES"
    killed = f", killed {this['killed']}" if this["killed"] else ""
    print(
        f"{name:12} {engine:40} {same}; {this['cells']} cells done; CPU {this['cpu']:.0f} s, "
        f"wall {this['wall']:.0f} s{killed}",
        flush=True,
    )


def _measured(data: Path, work: Path, name: str, limit: int | None, nodes: int, kill: str = "") -> dict[str, Any]:
    """A run in a process of its own, with an empty cache, and the CPU seconds of all processes below it; what was
    measured before is read again."""
    out = work / f"{name}-{nodes}{kill}"
    kept = out / "measured.json"
    if kept.exists():
        return dict(json.loads(kept.read_text("utf-8")))
    shutil.rmtree(out, ignore_errors=True)
    job = {**RUNS[name], "limit": limit, "nodes": nodes, "kill": kill, "out": str(out / "run")}
    job["source"] = str(data / job["source"])
    environment = {**os.environ, "EMBASSAY_CACHE": str(out / "cache"), "RAY_USAGE_STATS_ENABLED": "0"}
    started = time.perf_counter()
    command = [sys.executable, __file__, "--one", json.dumps(job)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        watch = _Watch(process.pid)
        told, _ = process.communicate()
        watch.stop()
    if process.returncode:
        raise SystemExit(f"{name} with {nodes} nodes failed; see {out}")
    wall = time.perf_counter() - started
    found = json.loads(told.splitlines()[-1])
    measured = {**found, "digest": digest(out / "run"), "cpu": watch.seconds, "wall": wall}
    kept.write_text(json.dumps(measured), "utf-8")
    return measured


def digest(run: Path) -> str:
    """Of everything in a run that does not depend on when, where and how fast it was made."""
    found = hashlib.sha256()
    paths = [run / name for name in SAME]
    paths += [path for folder in FOLDERS for path in sorted((run / folder).rglob("*")) if path.is_file()]
    for path in paths:
        found.update(str(path.relative_to(run)).encode() + b"\0" + path.read_bytes())
    for path in sorted((run / "cells").glob("*.json")):
        record = json.loads(path.read_text("utf-8"))
        for name in ("seconds", "peak_bytes"):
            record[name] = None
        # Whether a chunk was kept already depends on which of two cells asked first.
        record["counts"] = {key: n for key, n in record["counts"].items() if not key.startswith("texts_")}
        found.update(json.dumps(record, sort_keys=True).encode())
    return found.hexdigest()


class _Watch:
    """CPU seconds of a process and all below it, those that have ended included, as far as they were seen."""

    def __init__(self, pid: int) -> None:
        import psutil

        self._root, self._seen = psutil.Process(pid), dict[tuple[int, float], float]()
        self._on = True
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    @property
    def seconds(self) -> float:
        return sum(self._seen.values())

    def stop(self) -> None:
        self._on = False
        self._thread.join()

    def _look(self) -> None:
        import psutil

        while self._on:
            try:
                for one in [self._root, *self._root.children(recursive=True)]:
                    times = one.cpu_times()
                    self._seen[one.pid, one.create_time()] = times.user + times.system
            except psutil.Error:
                pass
            time.sleep(0.3)


def _one(job: dict[str, Any]) -> None:
    """The run itself; what it comes to is printed as JSON."""
    import embassay
    from embassay.runs.execution import ProcessWorkers, RayWorkers

    nodes, stage = job["nodes"], job["kill"]
    with cluster(nodes) as found:
        killer = Killer(found, stage) if stage else None
        run = embassay.sage.run(
            job["systems"], datasets=[job["source"]], tasks=job["tasks"], limit=job["limit"], out=job["out"],
            workers=RayWorkers(found.address) if nodes else ProcessWorkers(1), listener=killer,
        )  # fmt: skip
    if killer and not killer.killed:
        raise SystemExit(f"no node was killed: none was seen {stage}")
    cells = run.manifest["cells"]
    done = sum(cell["status"] == "done" for cell in cells)
    print(json.dumps({"cells": f"{done} of {len(cells)}", "killed": killer.killed if killer else ""}))


@contextmanager
def cluster(nodes: int) -> Any:
    """A cluster of so many nodes of one CPU; the first of them, where the driver is, has none of its own if there are
    several, so that every node that works can be killed."""
    if not nodes:
        yield None
        return
    import logging

    import ray
    from ray.cluster_utils import Cluster

    logging.getLogger("ray").setLevel(logging.CRITICAL)
    # Ray's workers make way for all else; then a busy machine would hold up one engine and not the other.
    os.environ.update(RAY_worker_niceness="0")
    head = {"num_cpus": 1 if nodes == 1 else 0, "object_store_memory": STORE, "include_dashboard": False}
    found = _started(Cluster, head)
    for _ in range(nodes if nodes > 1 else 0):
        found.add_node(num_cpus=1, object_store_memory=STORE)
    try:
        yield found
    finally:
        ray.shutdown()
        found.shutdown()


def _started(kind: Any, head: dict[str, Any]) -> Any:
    """A cluster of one node; on a busy machine a daemon may take longer than the 30 s that Ray gives it."""
    for _ in range(3):
        try:
            return kind(initialize_head=True, head_node_args=head)
        except Exception as error:
            print(f"started anew: {error}", file=sys.stderr)
    raise SystemExit("no cluster could be started")


def _silent() -> type:
    from embassay.protocols.kernel.session import SilentListener

    return SilentListener


class Killer(_silent()):  # type: ignore[misc]
    """A listener that kills one node that works, once, in the middle of a stage of a cell on it: while an encoder makes
    vectors, while bm25 perturbs and reads its shards or searches them, or when there is nothing left but to score. What
    the node was at is seen in the names that Ray gives its processes."""

    def __init__(self, found: Any, stage: str) -> None:
        self.found, self.stage, self.killed = found, stage, ""
        self.texts: dict[str, int] = {}
        self.at_work: dict[str, Any] = {}
        threading.Thread(target=self._watch, daemon=True).start()

    def started(self, cell: Any) -> None:
        self.at_work[cell.key] = cell

    def advanced(self, cell: Any, texts: int) -> None:
        self.texts[cell.key] = self.texts.get(cell.key, 0) + texts

    def ended(self, cell: Any, record: Any) -> None:  # noqa: ARG002
        self.at_work.pop(cell.key, None)

    def _watch(self) -> None:
        import psutil

        while not self.killed:
            time.sleep(0.01)
            try:
                self._look()
            except psutil.Error:  # a process ended meanwhile
                continue

    def _look(self) -> None:
        wanted = self._wanted()
        if wanted is None:
            return
        families = [_family(node) for node in self.found.worker_nodes]
        if self.stage == "scoring" and any(
            PART in name or ENCODING in name for one in families for name in one.values()
        ):
            return
        for family in families:
            if any(wanted in name for name in family.values()):
                self.killed = " ".join(sorted(name for name in family.values() if name.startswith("ray::")))
                for one in family:
                    os.kill(one.pid, signal.SIGKILL)
                return

    def _wanted(self) -> str | None:
        """What a process of the node to be killed must be at; None while no cell is in that stage."""
        at_work = list(self.at_work.values())
        shares = {cell.system: self.texts.get(cell.key, 0) / max(1, cell.units) for cell in at_work}
        match self.stage:
            case "encoding":
                # A small run has encoded all before the second of its shares is heard.
                least = 0.2 if max((cell.units for cell in at_work), default=0) > SMALL else -1.0
                return ENCODING if any(least < share < 0.9 for share in shares.values()) else None
            case "perturbing":
                return PART if shares.get("bm25", 1) < 0.9 else None
            case "searching":
                return PART if shares.get("bm25", 0) >= 0.99 else None
            case _:
                return CELL if shares and min(shares.values()) >= 0.99 else None


def _family(node: Any) -> dict[Any, str]:
    """The raylet of a node and its workers, with what each is at; a node that is dead has none."""
    import psutil

    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    if raylet.status() == psutil.STATUS_ZOMBIE:
        return {}
    found = {}
    for one in [raylet, *raylet.children(recursive=True)]:
        try:
            found[one] = (one.cmdline() or [""])[0]
        except psutil.Error:  # it has ended
            continue
    return found


if __name__ == "__main__":
    main()
