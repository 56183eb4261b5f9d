"""A run on a cluster of its own, whose head is killed when the first of its two cells is done."""

import os
import signal
import sys
import tempfile
from pathlib import Path

from cluster_work import started, work

from embassay.errors import EmbassayError
from embassay.runs.cluster import connection as pulse
from embassay.runs.cluster import engine
from embassay.runs.cluster.connection import import_ray
from embassay.runs.execution import RayWorkers
from embassay.runs.folder import RunCell, RunFolder


class Killer:
    """A listener."""

    def __init__(self, node):
        self.node = node

    def started(self, cell):
        pass

    def advanced(self, cell, texts):
        pass

    def ended(self, cell, record):
        print("one cell was done", flush=True)
        os.kill(self.node.all_processes["gcs_server"][0].process.pid, signal.SIGKILL)


def main():
    import_ray()

    pulse.SILENCE = 3.0
    cluster = started(num_cpus=2)
    cells = [RunCell("t", "d", f"s{i}", f"key{i}", 3, job) for i, job in enumerate(("score 0", "score 600"))]
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            engine.join_ray_cluster(RayWorkers(cluster.address), RunFolder(Path(folder))) as one,
        ):
            list(one.do(cells, work, Killer(cluster.head_node)))
    except EmbassayError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    finally:
        cluster.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
