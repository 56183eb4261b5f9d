"""A corpus larger than the object store of a Ray cluster: how full the store gets, what is spilled, and the driver.

    python benchmarks/backpressure.py --corpus FOLDER [--store 80] [--cpus 2] [--edits capitalize,delete10]

One node of this machine with a store of so many MB does SAGE's retrieval of a BEIR folder, with wordllama. Ray's
own log says how full the store was, its folder what was spilled to disk. Needs the extras ray and test.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import engines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--store", type=int, default=80, help="MB of the object store")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--edits", default="capitalize,delete10")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="backpressure-") as work:
        os.environ["EMBASSAY_CACHE"] = str(Path(work) / "cache")
        _measure(asked, Path(work))


def _measure(asked: argparse.Namespace, work: Path) -> None:
    import psutil
    from ray.cluster_utils import Cluster

    import embassay
    from embassay.protocols.sage.options import SageOptions
    from embassay.runs.cluster.connection import hold_ray_cluster_connection
    from embassay.runs.execution import RayWorkers

    head = {"num_cpus": asked.cpus, "object_store_memory": asked.store * 10**6, "include_dashboard": False}
    found = engines._started(Cluster, head)
    session = Path(found.head_node.get_session_dir_path())
    before = psutil.Process().memory_info().rss
    try:
        with hold_ray_cluster_connection(RayWorkers(found.address)), _Store(session) as store:
            run = embassay.sage.run(
                ["wordllama"], datasets=[asked.corpus], tasks=["retrieval"], out=work / "run",
                options=SageOptions(retrieval_edits=asked.edits), workers=RayWorkers(found.address),
            )  # fmt: skip
    finally:
        found.shutdown()
    status = {cell["system"]: cell["status"] for cell in run.manifest["cells"]}
    texts = sum(cell["counts"].get("texts", 0) for cell in run.manifest["cells"][:1])
    print(f"cells {status}; {texts:,} texts, their files {_bytes(Path(asked.corpus)) / 1e6:.0f} MB")
    print(
        f"store of {asked.store} MB: {store.passed / 1e6:.0f} MB passed through it, at most "
        f"{store.peak / 1e6:.0f} MB of it were full, spilled {store.spilled / 1e6:.0f} MB"
    )
    print(f"driver: {before / 1e6:.0f} MB before, at most {store.driver / 1e6:.0f} MB")


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class _Store:
    """The most that was seen: bytes in the store, spilled files, and memory of this process."""

    def __init__(self, session: Path) -> None:
        self.peak = self.passed = self.spilled = self.driver = 0
        self._session, self._done = session, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> _Store:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        import psutil

        while not self._done.wait(0.5):
            told = (self._session / "logs" / "raylet.out").read_text("utf-8", "replace")
            self.peak = max([self.peak, *map(int, re.findall(r"- bytes in use: (\d+)", told))])
            self.passed = max([self.passed, *map(int, re.findall(r"- num bytes created total: (\d+)", told))])
            spilled = self._session.glob("ray_spilled_objects*/*")
            self.spilled = max(self.spilled, sum(path.stat().st_size for path in spilled if path.exists()))
            self.driver = max(self.driver, psutil.Process().memory_info().rss)


if __name__ == "__main__":
    main()
