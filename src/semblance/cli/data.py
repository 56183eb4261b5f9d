"""`semblance data`: what datasets there are, what one holds, and fetching them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from semblance.cli.options import Grades, Json, Mapping, Split, Wide
from semblance.errors import DataError

if TYPE_CHECKING:
    from semblance.contracts import Tokenizer

app = typer.Typer(
    help="Datasets: what there is, what one holds, fetching them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_datasets(json: Json = False, wide: Wide = False) -> None:
    """List the datasets of the catalogue."""
    from semblance.cli.listing import What, show

    show(What.datasets, json=json, wide=wide)


@app.command("check")
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
    from semblance.cli.options import column_map
    from semblance.cli.waiting import Waiting
    from semblance.data.check import Check, Nearness

    nearness = None if no_near else Nearness(near, "words" if by_words else "characters")
    with Waiting() as waiting:
        report = Check(
            path, column_map(columns), split, grades, against, nearness, _tokenizer(), waiting
        ).report()
    if json:
        from json import dumps

        typer.echo(dumps(report.as_dict(), ensure_ascii=False))
    else:
        from semblance.cli.checked import show_report

        show_report(report, wide=wide)
    if not report.usable:
        raise typer.Exit(DataError.exit_code)


def _tokenizer() -> Tokenizer | None:
    """cl100k where its file is at hand: a check needs no network."""
    from semblance.text import open_tokenizer
    from semblance.text.cl100k import at_hand

    return open_tokenizer("cl100k") if at_hand() else None


@app.callback()
def group() -> None:
    """Datasets: what there is, what one holds, fetching them."""
