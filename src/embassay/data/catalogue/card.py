"""A dataset on one screen: what is known of it, where it would be read from, its first rows."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from embassay.data.catalogue.entries import EntryRecord, entries, mirror_folder, place
from embassay.data.catalogue.hub import layout
from embassay.data.dataset import Dataset
from embassay.data.rows import Source
from embassay.data.shapes import OTHERWISE, PARTS, RETRIEVAL_PARTS, SHAPES, TASKS, axis_columns

ROWS, WIDTH = 3, 60


@dataclass(frozen=True)
class Card:
    """Facts in the order to show them, and the first rows by part where the dataset is at hand."""

    name: str
    facts: dict[str, str]
    tables: tuple[str, ...]
    rows: dict[str, list[dict[str, str]]]

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """For the terminal."""
        yield self.name
        width = max(map(len, self.facts))
        for name, value in self.facts.items():
            yield textwrap.fill(
                f"{name:<{width}}  {value}", 110, initial_indent="  ", subsequent_indent=" " * (width + 4)
            )
        if self.tables:
            yield "\nFiles of a mirror"
            yield from (f"  {table}" for table in self.tables)
        for part, rows in self.rows.items():
            yield f"\nFirst rows of {part}"
            for row in rows:
                yield "  " + "  ".join(f"{name}={value}" for name, value in row.items())


def card(spec: str) -> Card:
    """The card of a catalogue name or a path. Only `hub:` reads from the network.

    UsageError for a spec that is neither.
    """
    name = re.split("[:?]", spec, maxsplit=1)[0]
    record = entries().get(name)
    at_hand = record is None or "mirror" in place(record)
    dataset = _opened(spec) if at_hand else None
    facts = _known(record) if record else {}
    shapes = dataset.shapes() if dataset else record.all_shapes if record else ()
    facts |= {"shapes": " ".join(shapes), "tasks": _tasks(shapes)}
    if dataset:
        facts["language"] = " ".join(dataset.langs) or dataset.lang
    rows = {part: _first(part, dataset.parts[part]) for part in _shown(dataset)} if dataset else {}
    return Card(name if record else spec, facts, tuple(layout(record)) if record else (), rows)


def _opened(spec: str) -> Dataset:
    from embassay.data.sources import open_dataset

    return open_dataset(spec)


def _known(record: EntryRecord) -> dict[str, str]:
    pinned = record.revision if record.is_pinned else f"{record.revision} (not pinned: it may change)"
    folder = mirror_folder() / record.name
    come_from = {
        "mirror": str(folder),
        "part of mirror": f"{folder}, which holds a part of it",
        "cache": f"the hub's cache on this machine; `embassay data fetch {record.name}` makes a mirror",
        "hub": f"the hub, when it is used; `embassay data fetch {record.name}` makes a mirror in {folder}",
        "by hand": f"{folder}, once you have filled it. {record.by_hand}",
    }
    facts = {
        "what": record.title,
        "read from": come_from[place(record)],
        "hub": f"{record.hub} at {pinned}" if record.hub else "",
        "licence": record.licence,
        "language": record.lang or " ".join(record.langs),
        "size": f"{record.size:,}" if record.size else "not known",
        "scores": f"{record.gold[0]:g} to {record.gold[1]:g}" if record.gold else "",
        "used by": "; ".join(f"{by}: {', '.join(tasks)}" for by, tasks in record.protocols.items()),
        "notes": record.notes.strip(),
    }
    return {name: value for name, value in facts.items() if value}


def _tasks(shapes: tuple[str, ...]) -> str:
    return " ".join(dict.fromkeys(TASKS[shape] for shape in shapes if shape in TASKS))


def _shown(dataset: Dataset) -> list[str]:
    retrieval = () if dataset.missing("retrieval") else RETRIEVAL_PARTS
    return [*(shape for shape in dataset.shapes() if shape != "retrieval"), *retrieval]


def _first(part: str, source: Source) -> list[dict[str, str]]:
    needed = {*(PARTS.get(part) or SHAPES[part]), *OTHERWISE.get(part, ()), "id", "set", "lang"}
    axes = axis_columns(source.columns()).values() if part == "ratings" else ()
    columns = [name for name in source.columns() if name in needed or name in axes]
    rows = islice(source.rows(columns), ROWS)
    return [
        {name: _short(value) for name in columns if (value := row.cells.get(name)) is not None}
        for row in rows
    ]


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
