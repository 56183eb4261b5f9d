"""`semblance list`: what there is to name."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from semblance.cli.options import Json, Wide


class What(StrEnum):
    """What can be listed."""

    systems = "systems"
    rerankers = "rerankers"
    llms = "llms"
    datasets = "datasets"
    tasks = "tasks"
    measures = "measures"
    perturbations = "perturbations"
    tokenizers = "tokenizers"


def show(
    what: Annotated[What, typer.Argument(help="What to list.")], json: Json = False, wide: Wide = False
) -> None:
    """List systems, rerankers, language models, datasets, tasks, measures, perturbations or tokenizers."""
    rows = [{"name": entry.name, "summary": entry.summary, **dict(entry.facts)} for entry in _registry(what)]
    if json:
        from json import dumps

        typer.echo(dumps(rows, ensure_ascii=False))
        return
    from semblance.cli.terminal import show_table

    facts = list(dict.fromkeys(key for row in rows for key in row if key not in ("name", "summary")))
    columns = ["name", *(facts if wide else facts[:1]), "summary"]
    show_table(columns, [[str(row.get(column, "")) for column in columns] for row in rows], wide=wide)


def _registry(what: What) -> Any:
    from importlib import import_module

    homes = {
        What.systems: ("semblance.systems", "SYSTEMS"),
        What.rerankers: ("semblance.systems.rerankers", "RERANKERS"),
        What.llms: ("semblance.systems.chat", "CHAT_MODELS"),
        What.datasets: ("semblance.data", "DATASETS"),
        What.tasks: ("semblance.protocols.sage.tasks", "TASKS"),
        What.measures: ("semblance.measures", "MEASURES"),
        What.perturbations: ("semblance.text", "PERTURBATIONS"),
        What.tokenizers: ("semblance.systems", "TOKENIZERS"),
    }
    module, name = homes[what]
    return getattr(import_module(module), name)
