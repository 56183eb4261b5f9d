"""What docs/stability.md promises is what is there."""

from __future__ import annotations

import pytest
from promises import KEPT, changes

RENEW = "python tests/packaging/promises.py --write"


@pytest.mark.slow
def test_nothing_that_is_promised_has_changed_unnoticed() -> None:
    """Public names, how they are called, commands, options, exit codes, entry points, files and their columns: a change
    is a decision, taken by docs/stability.md and kept by one command."""
    found = changes()
    gone = [line for line in found if line.startswith("-")]
    new = [line for line in found if line.startswith("+")]
    assert not gone, f"Gone or changed, which breaks whoever uses it (docs/stability.md; then {RENEW}): {gone}, {new}"
    assert not new, f"New, and promised from now on; if that is meant: {RENEW}. {new}"


def test_the_promise_holds_what_design_names() -> None:
    """The snapshot is no empty form: it has a line for each kind of name that scripts and papers use."""
    kept = KEPT.read_text().splitlines()
    for line in (
        "embassay.stats.holm(p)",
        "embassay sage run --seed",
        "BudgetExceeded 5",
        "embassay.systems",
        "sage tasks: robustness",
        "EMBASSAY_CACHE",
        "results.jsonl: reason",
        "manifest.json: versions",
        "file: tables/sage_table3.csv",
    ):
        assert any(one == line or one.startswith(f"{line} ") for one in kept), line
