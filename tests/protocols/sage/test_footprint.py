"""What a cell will hold is estimated from its data, and a cell that would hold too much fails alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from embassay.protocols.sage.options import SageOptions
from embassay.protocols.sage.tasks import estimate_task_memory
from embassay.records import Documents, LabelledTexts, RetrievalSet
from embassay.search.exact import SHARD
from embassay.systems import open_system
from embassay.text import open_tokenizer

SYSTEMS = {name: open_system(name, tokenizer=open_tokenizer("words")) for name in ("bm25", "wordllama")}


def corpus(n):
    ids = tuple(map(str, range(n)))
    documents = Documents(ids, ("some words of a text " * 20,) * n)
    return RetrievalSet(documents, Documents(("q",), ("words",)), {"q": {"0": 1.0}})


def labelled(n):
    ids = tuple(map(str, range(n)))
    return LabelledTexts(ids, ("a text",) * n, ids, ("",) * n)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_corpus_of_many_shards_takes_what_one_takes(name):
    """Retrieval does not grow with the corpus beyond a shard; below it does."""
    small, whole, large = (
        estimate_task_memory("retrieval", SYSTEMS[name], corpus(n), {}, SageOptions()).bytes
        for n in (1000, SHARD, 4 * SHARD)
    )
    assert small < whole
    assert large == pytest.approx(whole, rel=0.02)


@pytest.mark.parametrize("name", SYSTEMS)
def test_guards_hold_the_whole_corpus(name):
    """They search it in one piece, so what they need grows with it."""
    small, large = (
        estimate_task_memory("guards", SYSTEMS[name], corpus(n), {}, SageOptions()).bytes for n in (SHARD, 4 * SHARD)
    )
    assert large > 3 * small


def test_clustering_takes_its_distances_up_to_the_cap():
    """n (n - 1) / 2 numbers of 4 bytes; the cap of the kind of system limits n, and is the mend."""
    for name, cap in (("bm25", "string_cap"), ("wordllama", "embedding_cap")):
        options = SageOptions(**{cap: 3000})
        need = estimate_task_memory("clustering", SYSTEMS[name], labelled(5000), {}, options)
        assert need.parts["the distances of 3,000 texts"] == 4 * 3000 * 2999 // 2
        assert f"--{cap.replace('_', '-')}" in need.mend


def run(out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "embassay", "sage", "run", "-s", "wordllama", "--tokenizer", "words"]
    return subprocess.run(
        [*command, "--resamples", "50", "--out", str(out), *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell")
def test_a_run_keeps_its_promise_or_says_which_cell_cannot(tmp_path):
    """The cell that would hold too much fails with the figure and the mend, the other is done; what was held stands in
    the manifest, below the estimate and the promise."""
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(200)]
    rows = [{"text": " ".join(rng.choice(words, 20)), "label": str(i % 5)} for i in range(12_000)]
    data = tmp_path / "made.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    common = ("-d", str(data), "-t", "clustering", "--memory", "640MiB")
    broken = run(tmp_path / "broken", *common, "--embedding-cap", "12000")
    manifest = json.loads((tmp_path / "broken" / "manifest.json").read_text())
    cells = {cell["system"]: cell for cell in manifest["cells"]}
    assert broken.returncode == 3
    assert "275 MiB for the distances of 12,000 texts" in cells["wordllama"]["reason"]
    assert "--embedding-cap" in cells["wordllama"]["reason"]
    assert cells["constant"]["status"] == cells["random"]["status"] == "done"
    done = run(tmp_path / "done", *common, "--embedding-cap", "2000")
    manifest = json.loads((tmp_path / "done" / "manifest.json").read_text())
    assert done.returncode == 0, done.stderr
    assert manifest["memory"]["kept"]
    estimated = {cell["system"]: cell["memory_bytes"] for cell in manifest["forecast"]["cells"]}
    for cell in manifest["cells"]:
        assert cell["peak_bytes"] < min(estimated[cell["system"]], manifest["memory"]["promised_bytes"])
