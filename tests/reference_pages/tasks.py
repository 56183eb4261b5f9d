"""The page of tasks."""

from __future__ import annotations

from typing import Any

from embassay.data.shapes import RETRIEVAL_PARTS, SHAPES
from embassay.protocols import pteb, sage
from embassay.registry import Registry
from reference_pages.markdown import MADE, plain

HEAD = """# Tasks, one by one

{made}

A task takes every dataset that has one of its shapes; a run does every task that its data allow. [Data](../data.md)
says how columns are named, [the catalogue](../catalogue.md) which public datasets have which shape, and `embassay
list tasks` prints the names.
"""
PROTOCOLS: tuple[tuple[str, str, Registry[Any]], ...] = (
    ("SAGE", "sage.md", sage.TASKS),
    ("PTEB", "pteb.md", pteb.TASKS),
)
HUME = """## HUME

HUME has families instead, of which people annotate items: `classification`, `clustering`, `reranking` and `sts`.
[Its page](../hume.md) says how each is scored.
"""


def tasks_page() -> str:
    """The tasks of SAGE and PTEB, and the columns of every shape."""
    sections = [
        f"## {title}\n\n{_tasks(tasks)}\n\n[Its page](../{page}) has the rest.\n"
        for title, page, tasks in PROTOCOLS
    ]
    return "\n".join(
        [
            HEAD.format(made=MADE),
            *sections,
            HUME,
            f"## Shapes\n\nThe columns that each needs:\n\n{_shapes()}\n",
        ]
    )


def _tasks(registry: Registry[Any]) -> str:
    rows = []
    for one in registry:
        made = registry.build(one.name)
        shapes = ", ".join(f"`{shape}`" for shape in made.shapes)
        rows.append(f"- `{one.name}` ({shapes}; headline `{made.headline}`): {plain(one.summary)}")
    return "\n".join(rows)


def _shapes() -> str:
    rows = [f"- `{name}`: {_columns(SHAPES[name])}" for name in SHAPES if SHAPES[name]]
    rows += [f"- `retrieval`, {part}: {_columns(columns)}" for part, columns in RETRIEVAL_PARTS.items()]
    return "\n".join(rows)


def _columns(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
