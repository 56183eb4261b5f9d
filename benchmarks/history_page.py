"""The page of ratios per release, made of the history: `python benchmarks/history_page.py [--write]`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from made_page import put

ROOT = Path(__file__).parents[1]
HISTORY = ROOT / "benchmarks" / "results" / "history.jsonl"
PAGE = ROOT / "docs" / "speed_history.md"
HEAD = """# Speed by release

Each figure is the peer's time divided by ours, the median with its range over the repeats: above 1, Embassay is faster.
Compare only figures from the same kind of machine. Made from `benchmarks/results/history.jsonl`; a full `make bench`
adds a run to it, and `python benchmarks/history_page.py --write` renews this page. [How it is measured](speed.md).
"""
EMPTY = """
No full run is recorded yet. Quick runs (`make bench ARGS=--quick`) prove that the scripts work; their figures are too
noisy to show.
"""
Line = Mapping[str, Any]


def page(path: Path = HISTORY) -> str:
    """A table for each kind of machine: a row per comparison, a column per version, the newest run of each."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    full = [line for line in lines if not line["quick"] and line["comparisons"]]
    if not full:
        return HEAD + EMPTY
    kinds: dict[str, list[Line]] = {}
    for line in full:
        kinds.setdefault(name_machine(line["machine"]), []).append(line)
    return HEAD + "".join("\n".join(section(kind, runs)) for kind, runs in kinds.items())


def name_machine(machine: Line) -> str:
    """A kind of machine in words."""
    return f"{machine['processor']}, {machine['cores']} cores, {machine['system']}"


def section(kind: str, runs: Sequence[Line]) -> Iterator[str]:
    """One kind of machine."""
    newest = {run["version"]: run for run in runs}
    yield f"\n## {kind}\n"
    yield "| What | " + " | ".join(f"{version} ({run['date']})" for version, run in newest.items()) + " |"
    yield "|---|" + "---:|" * len(newest)
    ratios = {version: {name_row(row): row for row in run["comparisons"]} for version, run in newest.items()}
    for name in dict.fromkeys(name for rows in ratios.values() for name in rows):
        cells = [write_ratio(rows.get(name)) for rows in ratios.values()]
        yield f"| {name} | " + " | ".join(cells) + " |"
    yield ""


def name_row(row: Line) -> str:
    """What was compared, as a cell of a table."""
    return f"{row['title']}: {row['name']}".replace("|", "/")


def write_ratio(row: Line | None) -> str:
    """A ratio with its range; not measured where the version has none."""
    if row is None:
        return "not measured"
    return f"{row['ratio']:.2f} ({row['lowest']:.2f}–{row['highest']:.2f})"


if __name__ == "__main__":
    put(page(), PAGE)
