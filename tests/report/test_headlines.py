"""Every system's headline in each run, in one table that hides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from semblance.errors import DataError
from semblance.protocols.compare import Entrant
from semblance.protocols.numbers import POINTS, SCORE
from semblance.report.headlines import Headlines, read_headlines, render_headlines
from written_runs import write_run

SAGE = Headlines(
    "SAGE, 95%", SCORE,
    {
        "a-long-name": Entrant("a-long-name", 0.4561, 0.4321, 0.4772, 5, 1, 1),
        "b": Entrant("b", 0.4, 0.35, 0.45, 5, 2, 2),
    },
)  # fmt: skip
HUME = Headlines(
    "HUME, 95%",
    POINTS,
    {"b": Entrant("b", 0.855, 0.8, 0.9, 72, 1, 2), "people": Entrant("people", 0.7, None, None, 1)},
    frozenset({"b"}),
)


def test_values_carry_intervals_and_ranks() -> None:
    """Each run in its own unit; a dash where a system is not in a run, or has no interval to rank by."""
    text = str(render_headlines([SAGE, HUME], width=100))
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in text.splitlines() if line}
    assert rows["a-long-name"] == "0.456 0.432–0.477 1 – –"
    assert rows["b"] == "0.400 0.350–0.450 2 85.50 80.00–90.00 1–2*"
    assert rows["people"] == "– – 70.00 –"
    assert "HUME: points" in text
    assert "* ranked by themselves" in text


def test_runs_that_do_not_fit_stand_below_one_another() -> None:
    """No column is dropped and no line is wider than the screen; a table has rows only for systems of its runs."""
    text = str(render_headlines([SAGE, HUME] * 2, width=80))
    tables, lines = text.split("\n\n")[:-1], text.splitlines()
    assert len(tables) == 2
    assert max(map(cell_len, lines)) <= 80
    assert text.count("0.456") == 2
    narrow = str(render_headlines([SAGE, HUME], width=40)).split("\n\n")
    assert "people" not in narrow[0]
    assert "a-long-name" not in narrow[1]


def test_ascii() -> None:
    """A terminal that knows no more gets no more."""
    assert str(render_headlines([SAGE, HUME], width=60, unicode=False)).isascii()


def test_one_system_alone_has_no_rank() -> None:
    """Nothing is said of tests where there are none."""
    alone = Headlines("SAGE, 95%", SCORE, {"b": Entrant("b", 0.4, 0.35, 0.45, 5)})
    text = str(render_headlines([alone]))
    assert "No ranks" in text
    assert "points" not in text


def test_read_from_a_run(tmp_path: Path) -> None:
    """The headline over all, with the ranks that `compare` gives; a folder without a run is refused."""
    good, poor = [0.8, 0.9, 0.7, 0.85] * 10, [0.3, 0.2, 0.4, 0.25] * 10
    found = read_headlines(write_run(tmp_path / "run", {"good": good, "poor": poor}))
    assert found.title == "SAGE, 95%"
    value, rank = found.cells("good")
    assert value.startswith("0.812 0.")
    assert (rank, found.cells("poor")[1]) == ("1", "2")
    with pytest.raises(DataError, match="no run here"):
        read_headlines(tmp_path / "nothing")
