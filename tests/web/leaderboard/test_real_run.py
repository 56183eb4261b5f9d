"""A board of a run that is really made meanwhile, killed, and taken up again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from embassay.protocols.compare import list_ranked_system_groups, read_comparable_run

pytestmark = pytest.mark.slow


def _run(out):
    command = [
        *(sys.executable, "-m", "embassay", "sage", "run", "-s", "bm25", "-s", "jaccard", "-s", "levenshtein"),
        *("-d", "sample", "-t", "preference", "-t", "robustness", "-t", "retrieval", "--tokenizer", "words"),
        *("--out", str(out)),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "EMBASSAY_CACHE": str(out.parent.parent / "cache")}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)


def test_a_board_follows_a_real_run(tmp_path, serve) -> None:
    """Live as cells end, stale after a kill with all that was finished, done after the resumption, ranked as compare
    ranks."""
    runs = tmp_path / "runs"
    runs.mkdir()
    server = serve(runs, "--stale-after", "0.1")
    process = _run(runs / "one")

    def some_cells():
        return next((one for one in server.boards() if 0 < one["done"] < one["cells"]), None)

    line = server.until(some_cells)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert line["status"] == "live"
    stale = server.until(lambda: (found := server.board())["status"] == "stale" and found)
    values = [cell for own in stale["cells"].values() for cell in own if cell[0] is not None]
    assert values, "what was finished before the kill is shown"
    assert all(rank is None for own in stale["ranks"].values() for rank in own)
    assert _run(runs / "one").wait(300) == 0
    done = server.until(lambda: (found := server.board())["status"] == "done" and found)
    assert (done["runs"][0]["done"], done["runs"][0]["cells"]) == (15, 15)
    for field in list_ranked_system_groups(read_comparable_run(runs / "one")):
        if field.dataset:
            continue
        ranks = dict(zip((one["name"] for one in done["systems"]), done["ranks"][field.task], strict=True))
        for one in field.entrants:
            found = ranks[one.system]
            assert (found and tuple(found)) == (one.rank_low and (one.rank_low, one.rank_high)), field.task
