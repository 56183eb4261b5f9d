"""`embassay data`: what datasets there are, what one holds, and fetching them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli.options import Grades, Json, Mapping, Split, Wide, stopping_at_memory
from embassay.errors import DataError

if TYPE_CHECKING:
    from embassay.contracts import Tokenizer

app = typer.Typer(
    help="Datasets: what there is, what one holds, fetching them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Protocol(StrEnum):
    """A protocol whose datasets are meant."""

    sage = "sage"
    pteb = "pteb"
    rag = "rag"
    hume = "hume"


class Task(StrEnum):
    """A task whose datasets are meant."""

    preference = "preference"
    robustness = "robustness"
    sensitivity = "sensitivity"
    clustering = "clustering"
    retrieval = "retrieval"
    sts = "sts"
    classification = "classification"
    pair_classification = "pair_classification"
    reranking = "reranking"
    summarization = "summarization"


OfProtocol = Annotated[
    Protocol | None, typer.Option("--protocol", help="Only datasets that this protocol uses.")
]
OfTask = Annotated[Task | None, typer.Option("--task", "-t", help="Only datasets that this task uses.")]


@app.callback()
def group() -> None:
    """Datasets: what there is, what one holds, fetching them."""


@app.command("list")
def list_datasets(
    protocol: OfProtocol = None, task: OfTask = None, json: Json = False, wide: Wide = False
) -> None:
    """List the datasets of the catalogue, and where each would be read from."""
    from dataclasses import asdict

    from embassay.data.catalogue.overview import overviews

    found = list(overviews(protocol or "", task or ""))
    if json:
        from json import dumps

        typer.echo(dumps([asdict(one) for one in found], ensure_ascii=False))
        return
    from embassay.cli.terminal import show_table

    columns = [
        "name",
        "place",
        "size",
        "tasks",
        *(["protocols", "lang", "licence", "hub"] if wide else []),
        "title",
    ]
    show_table(columns, [[_cell(getattr(one, column)) for column in columns] for one in found], wide=wide)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A name of the catalogue, or a path.", metavar="NAME")],
    json: Json = False,
) -> None:
    """Show what is known of a dataset, where it would be read from, and its first rows where they are at hand."""
    from embassay.data.catalogue.card import card

    shown = card(name)
    if json:
        from json import dumps

        typer.echo(dumps(shown.as_dict(), ensure_ascii=False))
        return
    typer.echo("\n".join(shown.lines()))


@app.command("fetch")
def fetch(
    name: Annotated[list[str] | None, typer.Argument(help="Names of the catalogue.", metavar="NAME…")] = None,
    protocol: OfProtocol = None,
    task: OfTask = None,
    json: Json = False,
) -> None:
    """Download datasets from the hub into the mirror folder. What is there is left alone; the same command goes on."""
    from embassay.cli.fetching import fetch_all

    fetch_all(name or [], protocol or "", task or "", json=json)


@app.command("check")
@stopping_at_memory
def check(
    path: Annotated[str, typer.Argument(help="Your data, or a dataset of the catalogue.")],
    columns: Mapping = None,
    split: Split = None,
    grades: Grades = None,
    against: Annotated[
        str | None,
        typer.Option("--against", help="Other data (those you train on) to look for the same texts in."),
    ] = None,
    near: Annotated[
        float, typer.Option("--near", help="From which Jaccard index on two texts are near-duplicates.")
    ] = 0.8,
    by_words: Annotated[
        bool, typer.Option("--by-words", help="Compare runs of 3 words, not of 5 characters.")
    ] = False,
    no_near: Annotated[bool, typer.Option("--no-near", help="Look for exact duplicates only.")] = False,
    json: Json = False,
    wide: Wide = False,
) -> None:
    """Tell what your data are, what they can be used for, and what is wrong with them; exit code 4 if nothing can."""
    from embassay.cli.options import column_map
    from embassay.cli.waiting import Waiting
    from embassay.data.check import Check, Nearness

    nearness = None if no_near else Nearness(near, "words" if by_words else "characters")
    with Waiting() as waiting:
        report = Check(
            path, column_map(columns), split, grades, against, nearness, _tokenizer(), waiting
        ).report()
    if json:
        from json import dumps

        typer.echo(dumps(report.as_dict(), ensure_ascii=False))
    else:
        from embassay.cli.checked import show_report

        show_report(report, wide=wide)
    if not report.usable:
        raise typer.Exit(DataError.exit_code)


def _tokenizer() -> Tokenizer | None:
    """cl100k where its file is at hand: a check needs no network."""
    from embassay.text import open_tokenizer
    from embassay.text.cl100k import at_hand

    return open_tokenizer("cl100k") if at_hand() else None


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(value)
    return f"{value:,}" if isinstance(value, int) and value else "" if value == 0 else str(value)
