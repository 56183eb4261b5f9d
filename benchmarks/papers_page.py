"""docs/papers.md, made from docs/papers.csv: what each paper has, and the command that makes it here.

python benchmarks/papers_page.py --write     renew it after the table has changed
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from made_page import put

DOCS = Path(__file__).parents[1] / "docs"
PAGE, TABLE = DOCS / "papers.md", DOCS / "papers.csv"
HEAD = """# The papers, item by item

This page lists {items} items from the four papers and HTEB, with the command for each. The last column names the file
that `embassay demo` writes; where there is none, the item needs a language model, people or data that the demo lacks.
[Published figures](published.md) lists the printed numbers that are reproduced. A test runs every command on the
sample{untyped}.

*Made from `docs/papers.csv` by `benchmarks/papers_page.py --write`.*
"""


def read_items() -> list[dict[str, str]]:
    """The rows of the table."""
    with TABLE.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def page() -> str:
    """The whole page."""
    items = read_items()
    untyped = (f"`{row['command']}`, which {row['reason']}" for row in items if row["reason"])
    rest = "; ".join(untyped)
    head = HEAD.format(items=len(items), untyped=f", except {rest}" if rest else "")
    return "\n".join([head, *_sections(items)])


def _sections(items: list[dict[str, str]]) -> Iterator[str]:
    for paper, rows in groupby(items, lambda row: row["paper"]):
        yield f"## {paper}\n"
        yield "| Where | What | Command | In the demo |"
        yield "|---|---|---|---|"
        yield from map(_line, rows)
        yield ""


def _line(row: Mapping[str, str]) -> str:
    made = f"`{row['made']}`" if row["made"] else "–"
    return f"| {row['place']} | {row['item']} | `{row['command']}` | {made} |"


if __name__ == "__main__":
    put(page(), PAGE)
