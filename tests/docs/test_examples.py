"""The examples of the documentation run.

A fence under a line `<!-- run -->` is executed: Python in one namespace per page, shell in its folder.
One under `<!-- prints -->` is what the example before it must have printed, one under `<!-- shows -->` lines of it.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from page_examples import Example, examples, marks, missing_lines

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


@pytest.fixture
def _own_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an example registers is gone after its page."""
    from embassay.data import DATASETS
    from embassay.measures import MEASURES
    from embassay.protocols import pteb, sage
    from embassay.protocols.pteb.paraphrasing import PARAPHRASERS
    from embassay.report import runs as reported
    from embassay.search.indexes import INDEXES
    from embassay.systems import SYSTEMS
    from embassay.systems.chat import CHAT_MODELS
    from embassay.systems.rerankers import RERANKERS
    from embassay.text import PERTURBATIONS, TOKENIZERS

    parts = (SYSTEMS, RERANKERS, CHAT_MODELS, PARAPHRASERS, INDEXES, reported.PAGES)
    for registry in (DATASETS, MEASURES, PERTURBATIONS, TOKENIZERS, sage.TASKS, pteb.TASKS, *parts):
        # First whatever is read when it is first asked for: else it would be gone with the copy, and never read again.
        list(registry)
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))


@pytest.mark.usefixtures("_own_registries")
@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.exists() and examples(page)], ids=lambda page: page.name
)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm: Any) -> None:
    """Every marked example of the page works, in order, in an empty folder, and prints what the page says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join((warm.path, str(Path(sys.executable).parent), os.environ["PATH"])))
    namespace: dict[str, Any] = {"__name__": "example"}
    printed = ""
    for example in examples(page):
        where = f"{page.name}:{example.line}"
        if example.mark == "prints":
            assert printed.strip() == example.code.strip(), where
        elif example.mark == "shows":
            assert not missing_lines(example.code, printed), f"{where}\n{printed}"
        elif example.kind == "python":
            printed = _python(example, page, namespace)
        else:
            printed = _shell(example, where)


def _python(example: Example, page: Path, namespace: dict[str, Any]) -> str:
    # Blank lines in front, so that a traceback points to the line of the page.
    code = compile("\n" * example.line + example.code, str(page), "exec", dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, namespace)
    return printed.getvalue()


def _shell(example: Example, where: str) -> str:
    assert example.kind == "sh", f"{where}: only python and sh can be run"
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", example.code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{where}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_marks_are_spelled_right() -> None:
    """Every mark stands directly over a fence, so that no example is left out by a slip."""
    for page in PAGES:
        if page.exists():
            assert marks(page) == len(examples(page)), page.name
