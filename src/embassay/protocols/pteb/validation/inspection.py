"""Step 4: the list of what a person is to look at, which is also where they write down what they find."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from embassay.data.delimited import Delimited
from embassay.protocols.pteb.validation.checks import Flag
from embassay.protocols.pteb.validation.rating_file import cell, source_of
from embassay.protocols.pteb.validation.sampling import Item
from embassay.protocols.spreadsheets import inert, meant
from embassay.runs.files import write_atomic

FILE = "inspect.csv"
COLUMNS = (
    "pair_id", "rater_id", "lang", "text", "text2", "translation", "translation2", "rating", "why", "estimates",
    "inspection", "decision", "reason",
)  # fmt: skip
"""The inspector fills in `inspection` (a rating of their own); translations are for the inspector; `decision` (clear or
reject) and `reason` are about the rater."""


def keep_list(path: Path, flags: Sequence[Flag], items: Mapping[str, Item]) -> int:
    """Write the list, or add to it what it does not have: not a cell of what is there is changed, and a list that has
    everything is not touched. Returns how many rows are new."""
    header, rows, delimiter = _kept(path)
    known = {(row.get("pair_id", ""), meant(row.get("rater_id", ""))) for row in rows}
    new = [
        _row(flag, items[flag.rating.pair_id])
        for flag in flags
        if (flag.rating.pair_id, flag.rating.rater_id) not in known
    ]
    if new or not path.exists():
        columns = [*header, *(name for name in COLUMNS if name not in header)]
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, columns, delimiter=delimiter, lineterminator="\r\n", restval="")
        writer.writeheader()
        writer.writerows([*rows, *new])
        write_atomic(path, buffer.getvalue().encode("utf-8-sig"))
    return len(new)


def _kept(path: Path) -> tuple[list[str], list[dict[str, str]], str]:
    """Header, rows and separator of the list as it is."""
    if not path.exists():
        return [], [], ","
    source = source_of(path)
    columns = list(source.columns())
    rows = [{column: cell(row, column) for column in columns} for row in source.rows(columns)]
    return columns, rows, source.delimiter if isinstance(source, Delimited) else ","


def _row(flag: Flag, item: Item) -> dict[str, Any]:
    return {
        "pair_id": item.pair_id,
        "rater_id": inert(flag.rating.rater_id),
        "lang": item.lang,
        "text": inert(item.text),
        "text2": inert(item.text2),
        "rating": f"{flag.rating.value:g}",
        "why": "; ".join(flag.reasons),
        "estimates": "; ".join(f"{judge}: {value:g}" for judge, value in flag.estimates.items()),
    }
