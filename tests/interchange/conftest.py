"""Real runs of all four protocols, small, and copies of them that tests may change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hume_scored import scored_study


def carried_out(*arguments: Any) -> None:
    """Run a command of ours in this process."""
    from typer.testing import CliRunner

    from embassay.cli.main import app

    done = CliRunner().invoke(app, [str(one) for one in arguments])
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="session")
def real_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of SAGE, PTEB, RAG scoring and HUME."""
    from embassay.protocols.rag.scoring.protocol import score

    top = tmp_path_factory.mktemp("interchange") / "runs"
    systems: Sequence[str] = ("-s", "jaccard", "-s", "levenshtein", "--tokenizer", "words")
    carried_out("sage", "run", *systems, "-d", "sample", "-t", "preference", "--limit", "12", "--out", top / "sage")
    carried_out(
        "pteb", "run", *systems, "-d", "sample", "-t", "sts", "-t", "pair_classification", "--paraphraser", "recorded",
        "--runs", "2", "--limit", "20", "--out", top / "pteb",
    )  # fmt: skip
    judged = {f"q{i}": {f"d{i}{j}": (i + j) % 5 + 1 for j in range(12)} for i in range(8)}
    found = {
        "st:org/first one": {query: sorted(docs, key=lambda doc: -docs[doc]) for query, docs in judged.items()},
        "second": {query: sorted(docs) for query, docs in judged.items()},
    }
    score(judged, found, out=top / "rag", resamples=100)
    study = scored_study(top.parent / "study", families=("sts", "classification"))
    carried_out(
        "hume", "score", study, "-s", "jaccard", "--tokenizer", "words", "--resamples", "100", "--out", top / "hume"
    )
    return top
