"""`semblance list`: what there is to name."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import typer

from semblance.cli.options import Json, Wide


class What(str, Enum):
    """What can be listed."""

    systems = "systems"
    datasets = "datasets"
    tasks = "tasks"
    measures = "measures"
    perturbations = "perturbations"
    tokenizers = "tokenizers"


def show(
    what: Annotated[What, typer.Argument(help="What to list.")], json: Json = False, wide: Wide = False
) -> None:
    """List systems, datasets, tasks, measures, perturbations or tokenizers."""
    rows = [{"name": entry.name, "summary": entry.summary, **dict(entry.facts)} for entry in _registry(what)]
    if json:
        from json import dumps

        typer.echo(dumps(rows, ensure_ascii=False))
        return
    from semblance.cli.terminal import screen
    from semblance.report.terminal import render_table

    columns = list(dict.fromkeys(key for row in rows for key in row))
    body = [[str(row.get(column, "")) for column in columns] for row in rows]
    typer.echo(render_table(columns, body, width=screen().width, wide=wide, unicode=screen().unicode))


def _registry(what: What) -> Any:
    from importlib import import_module

    homes = {
        What.systems: ("semblance.systems", "SYSTEMS"),
        What.datasets: ("semblance.data", "DATASETS"),
        What.tasks: ("semblance.protocols.sage.tasks", "TASKS"),
        What.measures: ("semblance.measures", "MEASURES"),
        What.perturbations: ("semblance.text", "PERTURBATIONS"),
        What.tokenizers: ("semblance.text", "TOKENIZERS"),
    }
    module, name = homes[what]
    return getattr(import_module(module), name)
