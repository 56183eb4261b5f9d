"""What a run, a comparison and a gate show in a notebook, and a run as files for others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import embassay as eb
from embassay.errors import UsageError
from embassay.protocols.kernel.outcome import Run

RATED = pl.DataFrame(
    {
        "text": [f"A cat called {row} sits on the mat." for row in range(30)],
        "text2": [f"A cat called {row * 7 % 30} is on a mat." for row in range(30)],
        "score": [float(row % 6) for row in range(30)],
    }
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("notebook") / "run"
    return eb.sage.run(
        ["jaccard", "wordllama"], tasks=["robustness", "sensitivity"], limit=12, tokenizer="words", out=out
    )


def test_what_a_notebook_shows(run: Run) -> None:
    """Everything that the terminal prints, as tables; names and data are escaped, nothing is loaded."""
    shown: list[Any] = [run, eb.compare(run, a="wordllama", b="jaccard"), eb.compare(run)]
    shown.append(eb.gate(run, "sage.robustness[wordllama]>=0.2"))
    for value in shown:
        html = value._repr_html_()
        assert "<table" in html
        assert "wordllama" in html
        assert "<script" not in html
        assert "http" not in html
    heading = str(run).splitlines()[0]
    assert heading in run._repr_html_()


def test_a_run_as_files_for_others(run: Run, tmp_path: Path) -> None:
    """LaTeX as a text, every form as a file; a table that is not there is said."""
    assert r"\toprule" in run.latex()
    assert "wordllama" in run.latex("sage_table4")
    written = run.export("csv", tmp_path / "run.csv")
    assert written == tmp_path / "run.csv"
    assert len(pl.read_csv(written)) == len(run.results)
    with pytest.raises(UsageError, match="nothing_such"):
        run.latex("nothing_such")


class Arrow:
    """A frame of another library: all it has is Arrow's stream, as DuckDB's relations and narwhals' frames."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def test_frames_of_other_libraries(tmp_path: Path) -> None:
    """The same values as of the frame that they hold."""
    results = [
        eb.pteb.run(["jaccard"], datasets=[frame], original_only=True, tokenizer="words", out=tmp_path / name)
        for name, frame in (("own", RATED), ("arrow", Arrow(RATED)))
    ]
    own, arrow = (made.results.filter(pl.col("task") == "sts")["value"].to_list() for made in results)
    assert own == arrow
    assert not np.isnan(np.array(own, dtype=float)).all()


def test_rated_pairs_have_their_protocol(tmp_path: Path) -> None:
    """SAGE says which; PTEB without a paraphraser scores the texts as they are, and says so."""
    with pytest.raises(UsageError) as told:
        eb.sage.run(["jaccard"], datasets=[RATED], tokenizer="words", out=tmp_path / "sage")
    assert "embassay.pteb.run" in str(told.value.mend)
    with pytest.warns(UserWarning, match="no paraphrases"):
        made = eb.pteb.run(["jaccard"], datasets=[RATED], tokenizer="words", out=tmp_path / "pteb")
    assert made.manifest["arguments"]["original_only"]
