"""`embassay list`: what there is to name."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from embassay.cli.options import Json, Wide


class What(StrEnum):
    """What can be listed."""

    systems = "systems"
    rerankers = "rerankers"
    llms = "llms"
    paraphrasers = "paraphrasers"
    judges = "judges"
    engines = "engines"
    rewriters = "rewriters"
    indexes = "indexes"
    models = "models"
    datasets = "datasets"
    suites = "suites"
    tasks = "tasks"
    measures = "measures"
    perturbations = "perturbations"
    tokenizers = "tokenizers"
    protocols = "protocols"


def show(
    what: Annotated[What, typer.Argument(help=f"One of {', '.join(What)}.")],
    json: Json = False,
    wide: Wide = False,
) -> None:
    """List what a command can name: systems, datasets, measures.

    Example: embassay list systems --wide
    """
    if what is What.models:
        rows, shown = _models(), list(_MODEL_COLUMNS)
    elif what is What.suites:
        rows, shown = list(_suites()), ["protocol", "sets", "datasets", "here"]
    else:
        rows, shown = list(_entries(what)), []
    if json:
        from json import dumps

        typer.echo(dumps(rows, ensure_ascii=False))
        return
    from embassay.cli.terminal import show_table

    facts = list(dict.fromkeys(key for row in rows for key in row if key not in ("name", "summary")))
    last = ["summary"] if any("summary" in row for row in rows) else []
    columns = ["name", *(facts if wide else shown or facts[:1]), *last]
    titles = [_MODEL_COLUMNS.get(column, column) for column in columns]
    show_table(titles, [[str(row.get(column, "")) for column in columns] for row in rows], wide=wide)


_MODEL_COLUMNS = {
    "dims": "dims",
    "context": "context",
    "usd_per_million_input": "$/M in",
    "usd_per_million_output": "$/M out",
    "priced_on": "priced on",
}


def _suites() -> Iterator[dict[str, Any]]:
    """The papers' sets of datasets: how many each counts, of how many datasets, and how many of these are here."""
    from embassay.data.catalogue.entries import place
    from embassay.data.catalogue.suites import suites

    at_hand = ("mirror", "part of mirror", "cache")
    for one in suites().values():
        here = [place(member.record) in at_hand for member in one.members if member.record]
        yield {
            "name": one.name, "protocol": one.protocol, "sets": len(one.sets), "datasets": len(one.members),
            "here": sum(here), "source": one.source, "summary": one.title,
        }  # fmt: skip


def _models() -> list[dict[str, Any]]:
    """What is known of models, without what is not."""
    from dataclasses import asdict

    from embassay.systems.models import known_models

    known = (asdict(model).items() for model in known_models())
    return [{key: value for key, value in model if value not in (None, ())} for model in known]


def _entries(what: What) -> Iterator[dict[str, Any]]:
    """What the registries of a kind hold; each task says whose it is."""
    from importlib import import_module

    homes = {
        What.systems: ("embassay.systems", "SYSTEMS"),
        What.rerankers: ("embassay.systems.rerankers", "RERANKERS"),
        What.llms: ("embassay.systems.chat", "CHAT_MODELS"),
        What.paraphrasers: ("embassay.protocols.pteb.paraphrasing.paraphrasers", "PARAPHRASERS"),
        What.judges: ("embassay.protocols.rag.judges", "JUDGES"),
        What.engines: ("embassay.protocols.rag.ranking.engines", "ENGINES"),
        What.rewriters: ("embassay.protocols.rag.rewriters", "REWRITERS"),
        What.indexes: ("embassay.search.indexes", "INDEXES"),
        What.datasets: ("embassay.data", "DATASETS"),
        What.measures: ("embassay.measures", "MEASURES"),
        What.perturbations: ("embassay.text", "PERTURBATIONS"),
        What.tokenizers: ("embassay.systems", "TOKENIZERS"),
        What.protocols: ("embassay.protocols.kernel.evaluation", "PROTOCOLS"),
    }
    tasks = [({"protocol": name}, (f"embassay.protocols.{name}", "TASKS")) for name in ("sage", "pteb")]
    no_more: dict[str, str] = {}
    for more, (module, name) in tasks if what is What.tasks else [(no_more, homes[what])]:
        for one in getattr(import_module(module), name):
            yield {"name": one.name, "summary": one.summary, **more, **dict(one.facts)}
